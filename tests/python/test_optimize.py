"""`ingot.optimize` against SciPy's solvers: where they end, that they end, and what they return where they do not; docs/guides/optimise.md."""

import dataclasses
import pickle

import ingot
import numpy as np
import pytest
import scipy.optimize
from ingot import optimize

pytestmark = pytest.mark.rotated(3)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def beale(x):
    return (1.5 - x[0] + x[0] * x[1]) ** 2 + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2 + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2


def stretched(x):
    return np.sum(np.logspace(0, 4, len(x)) * (x - 1) ** 2)


def barrier(x):  # NaN where x < 0
    return np.sum(x - 0.1 * np.log(x))


SMOOTH = {"rosenbrock": (rosenbrock, np.full(10, -1.0)), "beale": (beale, np.ones(2)), "stretched": (stretched, np.zeros(20)), "barrier": (barrier, np.full(3, 5.0))}
MINIMA = {"rosenbrock": np.ones(10), "beale": np.array([3.0, 0.5]), "stretched": np.ones(20), "barrier": np.full(3, 0.1)}
QUASI_NEWTON = [optimize.bfgs, optimize.lbfgs]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("solver", QUASI_NEWTON, ids=["bfgs", "lbfgs"])
@pytest.mark.parametrize("name", SMOOTH)
def test_minima(name, solver):
    f, x0 = SMOOTH[name]
    for dtype, error in ((np.float64, 1e-4), (np.float32, 3e-2)):
        result = solver(f, x0.astype(dtype))
        assert result.success and result.status == 0 and result.x.dtype == result.gradient.dtype == dtype
        assert abs(result.gradient).max() <= np.finfo(dtype).eps ** (1 / 3)
        np.testing.assert_allclose(result.x, MINIMA[name], atol=error)
    if name != "barrier":
        method = "BFGS" if solver is optimize.bfgs else "L-BFGS-B"
        theirs = scipy.optimize.minimize(ingot.value_and_grad(f), x0, jac=True, method=method)
        assert result.fun <= theirs.fun + 1e-3 and result.evaluations <= 3 * theirs.nfev


@pytest.mark.parametrize("solver", QUASI_NEWTON, ids=["bfgs", "lbfgs"])
def test_what_has_no_minimum_ends(solver):
    x0 = np.array([1.0, 0.3])
    down = solver(lambda x: -np.sum(x), x0)
    assert not down.success and down.status == 2 and down.evaluations < 200
    kink = solver(lambda x: np.sum(np.abs(x)), x0)
    assert not kink.success and kink.fun < 1.3 and kink.message == "no better point was found in the direction of the step"
    nan = solver(lambda x: np.sum(np.sqrt(x)), -x0)
    assert nan.status == 3 and nan.iterations == 0 and np.array_equal(nan.x, -x0)
    flat = solver(lambda x: 0 * np.sum(x), x0)
    assert flat.success and flat.iterations == 0
    few = solver(rosenbrock, x0, iterations=3)
    assert not few.success and few.status == 1 and few.iterations == 3 and few.message == "all iterations were used"


@pytest.mark.rotated(3)
def test_points_are_numbers_and_structures():
    number = optimize.bfgs(lambda x: (x - 3) ** 2, 0.0)
    assert number.x == pytest.approx(3, abs=1e-6)
    whole = optimize.lbfgs(lambda p, y: (p["a"] - 3) ** 2 + np.sum((p["b"][0] - y) ** 2), {"a": 0, "b": [np.zeros((2, 2))]}, (np.ones((2, 2)),))
    assert whole.x["a"] == pytest.approx(3, abs=1e-5) and whole.x["b"][0] == pytest.approx(np.ones((2, 2)), abs=1e-5)
    with pytest.raises(TypeError, match="real numbers, not of complex128"):
        optimize.bfgs(lambda x: abs(x), 1j)
    with pytest.raises(TypeError, match="numbers and arrays, not of str"):
        optimize.bfgs(rosenbrock, "x")
    with pytest.raises(ValueError, match="memory is a number of steps"):
        optimize.lbfgs(rosenbrock, np.zeros(2), memory=0)


T = np.linspace(0, 1, 30)
DECAY = 2 * np.exp(-3 * T) + 0.5 + 0.01 * np.random.default_rng(1).normal(size=30)


def decay(p, t, y):
    return p[0] * np.exp(-p[1] * t) + p[2] - y


def kowalik(x, u, y):
    return y - x[0] * (u * u + u * x[1]) / (u * u + u * x[2] + x[3])


U = np.array([4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625])
Y = np.array([0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246])
SQUARES = {
    "decay": (decay, [1.0, 1.0, 0.0], (T, DECAY)),
    "kowalik": (kowalik, [0.25, 0.39, 0.415, 0.39], (U, Y)),
    "rosenbrock": (lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]), [-1.2, 1.0], ()),
    "powell": (lambda x: np.array([x[0] + 10 * x[1], 5**0.5 * (x[2] - x[3]), (x[1] - 2 * x[2]) ** 2, 10**0.5 * (x[0] - x[3]) ** 2]), [3.0, -1, 0, 1], ()),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("solver", [optimize.levenberg_marquardt, optimize.gauss_newton], ids=["levenberg_marquardt", "gauss_newton"])
@pytest.mark.parametrize("name", SQUARES)
def test_least_squares(name, solver):
    f, x0, args = SQUARES[name]
    theirs = scipy.optimize.least_squares(f, x0, jac=ingot.jacfwd(f), args=args, method="lm", ftol=1e-12, xtol=1e-12, gtol=1e-12)
    for dtype, error in ((np.float64, 2e-4), (np.float32, 3e-2)):
        result = solver(f, np.array(x0, dtype), tuple(arg.astype(dtype) for arg in args))
        assert result.success and result.x.dtype == dtype and result.fun.dtype == dtype
        assert result.fun == pytest.approx(theirs.cost, rel=1e-4, abs=1e-11)
        np.testing.assert_allclose(result.x, theirs.x, rtol=error, atol=2e-3)


@pytest.mark.rotated(3)
def test_least_squares_that_are_not_determined():
    for solver in (optimize.levenberg_marquardt, optimize.gauss_newton):
        result = solver(lambda x: np.array([x[0] + x[1] - 2, 2 * x[0] + 2 * x[1] - 4, 0 * x[2]]), np.array([5.0, 1.0, 7.0]))
        assert result.success and result.fun < 1e-20 and result.x[2] == 7
    assert optimize.levenberg_marquardt(lambda x: np.log(x) ** 0, np.ones(2)).success
    assert optimize.levenberg_marquardt(lambda x: np.log(x), -np.ones(2)).status == 3


def test_gauss_newton_far_from_the_minimum_does_not_claim_success():
    def freudenstein(x):
        return np.array([-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1], -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1]])

    x0 = np.array([0.5, -2.0])
    result = optimize.gauss_newton(freudenstein, x0)
    assert not result.success and result.fun > 29
    assert optimize.levenberg_marquardt(freudenstein, x0).fun == pytest.approx(24.4921, abs=1e-4)


class TestRoots:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_both_find_what_scipy_finds(self, dtype):
        def f(x):
            return np.cos(x) - x

        theirs = scipy.optimize.brentq(f, 0, 1, xtol=1e-16)
        for result in (optimize.bisection(f, dtype(0), dtype(1)), optimize.newton(f, dtype(0.5))):
            assert result.success and result.x.dtype == dtype and abs(result.x - theirs) <= 4 * np.finfo(dtype).eps

    @pytest.mark.parametrize(
        ("f", "low", "high", "x"),
        [
            (lambda x: x * x - 2, 0, 2, 2**0.5),
            (lambda x: x - 0.3, 1.0, 0.0, 0.3),
            (lambda x: x - 1, 0.0, 1.0, 1.0),
            (lambda x: x, -1.0, 1e300, 0.0),
            (lambda x: x + 1e-300, -1e308, 1e308, -1e-300),
            (lambda x: -1.0 if x < 0.25 else 1.0, 0.0, 1.0, 0.25),
        ],
    )
    def test_bisection(self, f, low, high, x):
        result = optimize.bisection(f, low, high)
        assert result.success and result.x == pytest.approx(x, rel=1e-15)

    def test_bisection_that_finds_nothing(self):
        same = optimize.bisection(lambda x: x * x + 1, 0.0, 1.0)
        assert same.status == 4 and np.isnan(same.x) and same.message == "the function has the same sign at both ends"
        assert optimize.bisection(lambda x: np.log(x), -1.0, 2.0).status == 3
        assert optimize.bisection(lambda x: x, -np.inf, 1.0).status == 3
        few = optimize.bisection(lambda x: x - 0.3, 0.0, 1.0, iterations=5)
        assert few.status == 1 and abs(few.x - 0.3) < 1 / 16
        assert abs(optimize.bisection(lambda x: x - 0.3, 0.0, 1.0, tol=1e-3).x - 0.3) < 1e-3

    def test_newton_of_systems(self):
        circle = optimize.newton(lambda x: np.array([x[0] ** 2 + x[1] ** 2 - 4, x[0] - x[1]]), np.array([1.0, 2.0]))
        assert circle.success and circle.x == pytest.approx([2**0.5, 2**0.5])
        parallel = optimize.newton(lambda x: np.array([x[0] + x[1] - 4, 2 * x[0] + 2 * x[1]]), np.array([1.0, 2.0]))
        assert parallel.status == 5 and parallel.iterations == 0 and parallel.message == "the slope is 0, or the Jacobian singular"

    def test_newton_that_would_diverge(self):
        assert optimize.newton(lambda x: np.arctan(x), 20.0).x == 0
        assert optimize.newton(lambda x: np.log(x), 5.0).x == 1
        assert optimize.newton(lambda x: x * x + 1, 0.5).status == 2
        assert optimize.newton(lambda x: np.log(x), -0.5).status == 3

    def test_derivatives_of_roots(self):
        root = ingot.grad(lambda a: optimize.newton(lambda x, a: x * x - a, 3.0, (a,)).x)
        assert root(2.0) == pytest.approx(0.5 / 2**0.5)
        with pytest.raises(ingot.UnsupportedError, match="a derivative of `ingot.optimize.bisection`"):
            ingot.grad(lambda a: optimize.bisection(lambda x, a: x * x - a, 0.0, 9.0, (a,)).x)(2.0)


def test_projected_gradient():
    bounds = optimize.projected_gradient(rosenbrock, lambda x: np.clip(x, -0.5, 0.5), np.array([-1.2, 1.0]))
    theirs = scipy.optimize.minimize(ingot.value_and_grad(rosenbrock), [-0.5, 0.5], jac=True, bounds=[(-0.5, 0.5)] * 2)
    assert bounds.success and bounds.x == pytest.approx(theirs.x, abs=1e-5)
    ball = optimize.projected_gradient(lambda x: np.sum((x - 3) ** 2), lambda x: x / max(1.0, np.sqrt(np.sum(x * x))), np.zeros(3, np.float32))
    assert ball.success and ball.x.dtype == np.float32 and ball.x == pytest.approx(3**-0.5)
    down = optimize.projected_gradient(lambda x: -np.sum(x), lambda x: x, np.zeros(3))
    assert down.status == 1 and down.iterations == 1000
    assert optimize.projected_gradient(lambda x: np.sum(np.sqrt(x)), lambda x: x, -np.ones(3)).status == 3


@dataclasses.dataclass
class Line:
    slope: object
    offset: object


def loss(line, x):
    return np.mean((line.slope * x + line.offset - 3 * x - 1) ** 2)


@pytest.mark.parametrize("rule", [optimize.GradientDescent(0.05), optimize.Momentum(0.01), optimize.Momentum(0.01, 0.9, True), optimize.Adam(0.1)], ids=repr)
def test_rules(rule):
    x = np.arange(4.0)
    result = optimize.descend(rule, loss, Line(np.zeros(1), 0.0), (x,), tol=1e-6)
    assert result.success and type(result.x) is Line
    assert result.x.slope == pytest.approx([3], abs=1e-4) and result.x.offset == pytest.approx(1, abs=1e-4)
    line, state = Line(np.zeros(1), 0.0), rule.start(Line(np.zeros(1), 0.0))
    for _ in range(result.iterations):
        line, state = rule.step(line, ingot.grad(loss)(line, x), state)
    assert line.slope == pytest.approx(result.x.slope, rel=1e-12)
    assert optimize.descend(rule, lambda p: -np.sqrt(p), 0.5).status in (1, 3)


def test_adam_is_the_papers():
    rng = np.random.default_rng(0)
    w, m, v = np.ones(3), np.zeros(3), np.zeros(3)
    own, state = w, optimize.Adam(0.1).start(w)
    for t in range(1, 6):
        g = rng.normal(size=3)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        own, state = optimize.Adam(0.1).step(own, g, state)
    np.testing.assert_allclose(own, w, rtol=1e-14)


class TestBatches:
    """Each problem ends where it ends alone; one that fails leaves the others as they are."""

    def test_bisection(self):
        a, high = np.array([4.0, 2.0, 9.0, 100.0]), np.array([3.0, 3.0, 10.0, 5.0])
        found = ingot.vmap(lambda a, high: optimize.bisection(lambda x, a: x * x - a, 0.0, high, (a,)))(a, high)
        assert found.status.tolist() == [0, 0, 0, 4] and found.message[3] == "the function has the same sign at both ends"
        np.testing.assert_allclose(found.x, [2, 2**0.5, 3, np.nan], rtol=1e-15)

    def test_newton(self):
        found = ingot.vmap(lambda a: optimize.newton(lambda x, a: x**3 - a, 3.0, (a,)))(np.array([1.0, 2.0, -8.0]))
        assert found.success.all() and found.x == pytest.approx([1, 2 ** (1 / 3), -2])

    def test_levenberg_marquardt(self):
        curves = np.array([a * np.exp(-b * T) for a, b in ((1, 2), (3, 1), (2, 5), (np.nan, 1))])

        def fit(y):
            return optimize.levenberg_marquardt(lambda p, y: p[0] * np.exp(-p[1] * T) - y, np.ones(2), (y,))

        found = ingot.vmap(fit)(curves)
        assert found.success.tolist() == [True, True, True, False] and found.status[3] == 3
        np.testing.assert_allclose(found.x[:3], [[1, 2], [3, 1], [2, 5]], rtol=1e-6)
        for k in range(3):
            np.testing.assert_allclose(found.x[k], fit(curves[k]).x, rtol=1e-9)

    def test_bfgs(self):
        found = ingot.vmap(lambda x: optimize.bfgs(rosenbrock, x))(np.array([[0.0, 0.0], [2.0, 3.0], [np.nan, 0.0]]))
        assert found.success.tolist() == [True, True, False]
        np.testing.assert_allclose(found.x[:2], np.ones((2, 2)), atol=1e-5)


def test_inside_of_compiled_functions():
    @ingot.jit
    def nearest(points):
        total = 0.0
        for k in range(len(points)):
            result = optimize.newton(lambda x, a: x * x - a, 1.0, (points[k],))
            total += result.x if result.success else 0.0
        return total

    assert nearest(np.array([4.0, 9.0, -1.0])) == pytest.approx(5)


def test_calls_with_other_numbers_compile_nothing():
    f = ingot.jit(lambda x, a: optimize.bfgs(lambda x, a: np.sum((x - a) ** 2), x, (a,)).x)
    with ingot.testing.limit_specialisations(f, optimize.lbfgs, most=2):
        for a in (1.0, 2.0, 3.0):
            assert f(np.zeros(2), a) == pytest.approx(np.full(2, a))
            assert optimize.lbfgs(lambda x, a: np.sum((x - a) ** 2), np.zeros(2), (a,)).x == pytest.approx(np.full(2, a))


def test_results_are_pickled_by_public_names():
    result = pickle.loads(pickle.dumps(optimize.newton(lambda x: x - 1, 0.0)))
    assert type(result) is optimize.Result and result.x == 1 and result.message == "converged"


class TestNewtonsRules:
    @pytest.mark.parametrize(("f", "x0", "status"), [(lambda x: np.cos(x) - x, 0.0, 0), (lambda x: x + x * x, 0.5, 0), (lambda x: x * x + 1, 0.5, 2)])
    def test_float32_near_0(self, f, x0, status):
        result = optimize.newton(f, np.float32(x0), tol=1e-4)
        assert result.status == status and result.x.dtype == np.float32 and result.success == (status == 0)
        assert ingot.vmap(lambda x: optimize.newton(f, x, iterations=10).x)(np.full(2, x0, np.float32)).dtype == np.float32

    @pytest.mark.parametrize("x0", [1.0, 3.0, 2.0])
    def test_derivatives_are_those_of_the_root(self, x0):
        def root(a):
            return optimize.newton(lambda x, a: x * x - a, x0, (a,)).x

        assert ingot.grad(root)(9.0) == pytest.approx(1 / 6, rel=1e-14)
        assert ingot.grad(ingot.grad(root))(9.0) == pytest.approx(-1 / 108, rel=1e-13)
        assert ingot.jvp(root, (9.0,), (1.0,))[1] == pytest.approx(1 / 6, rel=1e-14)
        assert ingot.vmap(ingot.grad(root))(np.array([4.0, 9.0])) == pytest.approx([1 / 4, 1 / 6], rel=1e-14)

    def test_derivatives_of_systems(self):
        for jacobian in (ingot.jacfwd, ingot.jacrev):
            found = jacobian(lambda a: optimize.newton(lambda x, a: x * x - a, np.full(2, 2.0), (a,)).x)(np.array([4.0, 9.0]))
            np.testing.assert_allclose(found, np.diag([1 / 4, 1 / 6]), atol=1e-15)

    def test_the_slope_is_that_at_the_point(self):
        result = optimize.newton(lambda x: x**3 - 2, 1.0)
        assert result.gradient == pytest.approx(3 * result.x**2, rel=1e-15)

    @pytest.mark.parametrize(
        ("f", "x0", "error", "text"),
        [
            (lambda x: x[:1] - 1, np.zeros(2), ValueError, "as many equations as variables are needed"),
            (lambda x: np.concatenate((x, x)), np.zeros(2), ValueError, "as many equations as variables are needed"),
            (lambda x: x[0] - 1, [0.0], TypeError, "a number or an array of one axis"),
            (lambda x: x * x - 2, np.ones((2, 2)), TypeError, "a number or an array of one axis"),
            (lambda x: [x[0], x[1]], np.ones(2), TypeError, "returns a number or an array"),
            (lambda x: x * 1j, 1.0, TypeError, "begin at a complex point"),
        ],
    )
    def test_misuse(self, f, x0, error, text):
        with pytest.raises(error, match=text):
            optimize.newton(f, x0)


LEAST_SQUARES = pytest.mark.parametrize("solver", [optimize.levenberg_marquardt, optimize.gauss_newton], ids=["levenberg_marquardt", "gauss_newton"])


@LEAST_SQUARES
class TestLeastSquaresRules:
    def test_the_gradient_is_that_at_the_point(self, solver):
        result = solver(decay, np.ones(3), (T, DECAY), tol=1e-2)
        expected = ingot.jacfwd(decay)(result.x, T, DECAY).T @ decay(result.x, T, DECAY)
        assert result.success and abs(expected).max() > 1e-12
        np.testing.assert_allclose(result.gradient, expected, rtol=1e-2, atol=1e-14)

    @pytest.mark.parametrize("x0", [20.0, 30.0])
    def test_slopes_that_shrink(self, x0, solver):
        result = solver(lambda x: np.exp(x) - 1, np.full(1, x0))
        assert result.success and abs(result.x[0]) < 1e-4 and result.evaluations <= 40

    def test_parameters_of_other_sizes(self, solver):
        result = solver(lambda p: np.array([p[0] - 1e9, p[1] ** 2 - 2]), np.array([1e9, 5.0]))
        assert result.success and result.x[1] == pytest.approx(2**0.5, rel=1e-12)
        mixed = solver(lambda p: np.array([1e-8 * (p[0] - 3), 1e8 * (p[1] - 2), p[0] * p[1] * 1e-9]), np.zeros(2))
        assert mixed.success and mixed.x == pytest.approx([75 / 26, 2], rel=1e-6)
        y = 1e7 + 3 * np.exp(-0.7 * 10 * T)
        fit = optimize.levenberg_marquardt(lambda p: p[0] + p[1] * np.exp(-p[2] * 10 * T) - y, np.array([1e7, 1.0, 2.0]))
        assert fit.success and fit.x == pytest.approx([1e7, 3, 0.7], rel=1e-6)

    def test_dtypes_of_residuals(self, solver):
        mixed = solver(lambda x, a: x * x - a, np.ones(2, np.float32), (np.full(2, 2.0),))
        assert mixed.success and mixed.x.dtype == np.float32 and mixed.fun.dtype == np.float64


def test_results_have_the_dtypes_of_points():
    mixed = optimize.bfgs(lambda p: (p["a"] - 1) ** 2 + (p["b"] - 2) ** 2, {"a": np.float32(0), "b": 0.0})
    assert mixed.x["a"].dtype == mixed.gradient["a"].dtype == np.float32 and mixed.x["b"].dtype == np.float64
    root = optimize.newton(lambda x, a: x * x - a, np.ones(2, np.float32), (np.full(2, 2.0),))
    assert root.success and root.x.dtype == np.float32


def test_projected_gradient_of_large_functions():
    result = optimize.projected_gradient(lambda x: 1e12 * np.sum((x - 2) ** 2), lambda x: np.clip(x, 0, [3, 1]), np.zeros(2))
    assert result.success and result.x == pytest.approx([2, 1])


def test_bisection_is_as_narrow_as_tol():
    for tol in (1e-1, 1e-3):
        result = optimize.bisection(lambda x: x - 0.3, 0.0, 1.0, tol=tol)
        assert result.success and 0.5 ** (result.iterations - 1) <= tol < 0.5 ** (result.iterations - 2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: optimize.bfgs(rosenbrock, np.zeros(2), tol=np.nan), ValueError, "tol is a number that is not negative, not nan"),
        (lambda: optimize.newton(lambda x: x, 1.0, tol=-1.0), ValueError, "tol is a number that is not negative, not -1.0"),
        (lambda: optimize.bisection(lambda x: x, -1.0, 1.0, tol=-1.0), ValueError, "tol is a number that is not negative"),
        (lambda: optimize.descend(optimize.Adam(), rosenbrock, np.zeros(2), tol=-1.0), ValueError, "tol is a number that is not negative"),
        (lambda: optimize.bfgs(lambda x: 1.0, ()), TypeError, "a point is of numbers and arrays: there are none"),
        (lambda: optimize.lbfgs(lambda x: 1.0, None), TypeError, "a point is of numbers and arrays: there are none"),
        (lambda: optimize.bfgs(lambda x, a: np.sum(x - a), np.zeros(2), np.ones(1)), TypeError, "args is a tuple of further arguments, not ndarray"),
        (lambda: optimize.descend(optimize.Adam, rosenbrock, np.zeros(2)), TypeError, "a rule is an instance"),
    ],
)
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("solver", [optimize.bfgs, optimize.levenberg_marquardt, optimize.projected_gradient], ids=["bfgs", "levenberg_marquardt", "projected_gradient"])
def test_batches_of_batches(solver):
    def solved(a):
        if solver is optimize.levenberg_marquardt:
            return solver(lambda x, a: x - a, np.zeros(2), (a,))
        if solver is optimize.projected_gradient:
            return solver(lambda x, a: np.sum((x - a) ** 2), lambda x: x, np.zeros(2), (a,))
        return solver(lambda x, a: np.sum((x - a) ** 2), np.zeros(2), (a,))

    a = np.arange(4.0).reshape(2, 2)
    found = ingot.vmap(ingot.vmap(solved))(a)
    assert found.success.all() and found.status.shape == (2, 2)
    np.testing.assert_allclose(found.x, np.stack([a, a], -1), atol=1e-6)


@pytest.mark.rotated(3)
def test_batches_of_batches_of_structures():
    def solved(a):
        return optimize.projected_gradient(lambda p, a: (p["a"] - a) ** 2 + (p["b"] - a) ** 2, lambda p: p, {"a": 0.0, "b": 0.0}, (a,))

    a = np.arange(4.0).reshape(2, 2)
    found = ingot.vmap(ingot.vmap(solved))(a)
    assert found.success.all()
    np.testing.assert_allclose([found.x["a"], found.x["b"]], [a, a], atol=1e-6)
