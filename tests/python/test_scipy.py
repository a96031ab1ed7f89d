"""SciPy inside compiled functions: ufuncs of scipy.special by their own loops, and functions by their twins of NumPy's."""

import subprocess
import sys
from pathlib import Path

import ingot
import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.special as special
from ingot.library.rules.special import PARTIALS, UNKNOWN
from support import MODES, check, jitted, refused

UFUNCS = sorted(name for name in special.__all__ if isinstance(getattr(special, name), np.ufunc))
# Of odd ones some of SciPy's own functions do not come back (1.17: mathieu_cem).
GRID = np.array([0.25, 0.5, 1.0, 2.0, 3.0])


def _arguments(ufunc, dtype):
    """Ordinary operands for a ufunc, different for each of them."""
    return [np.roll(GRID, 2 * i).astype(dtype) for i in range(ufunc.nin)]


def _same(a, b):
    a = a if isinstance(a, tuple) else (a,)
    b = b if isinstance(b, tuple) else (b,)
    assert [type(x) for x in a] == [type(x) for x in b]
    for x, y in zip(a, b):
        assert x.dtype == y.dtype and np.shape(x) == np.shape(y)
        assert np.array_equal(x, y, equal_nan=True) and np.array_equal(np.signbit(np.real(x)), np.signbit(np.real(y))), (a, b)


def _calling(ufunc):
    """A function that calls a ufunc with as many arguments as it takes."""
    names = ", ".join("abcdefg"[: ufunc.nin])
    space = {"g": ufunc}
    exec(source := f"def f({names}):\n    return g({names})\n", space)
    space["f"].__ingot_source__ = source
    return space["f"]


@pytest.mark.sampled(24)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UFUNCS)
def test_each_ufunc(name):
    ufunc = getattr(special, name)
    f = ingot.jit(_calling(ufunc))
    with np.errstate(all="ignore"):
        arrays = _arguments(ufunc, np.float64)
        if name.startswith("eval_hermite"):  # whose degree is an integer
            arrays[0] = arrays[0].astype(int)
        _same(f(*arrays), ufunc(*arrays))
        numbers = [x[1].item() for x in arrays]
        _same(f(*numbers), ufunc(*numbers))


@pytest.mark.parametrize("mode", MODES)
def test_numbers_are_scipys(mode):
    def f(x, n, z, y):
        return special.erf(x), special.jv(n, x), special.gamma(z), special.erf(y), special.airy(x), special.expit(n)

    given = (0.7, 2, 0.5 + 1j, np.float32(0.3))
    for a, b in zip(jitted(f, mode)(*given), f(*given)):
        _same(a, b)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", MODES)
def test_arrays_are_scipys(mode):
    x = np.linspace(-2, 3, 24)
    f = jitted(lambda a, b: special.xlogy(a, b), mode)
    for a, b in (
        (x, x),
        (x.reshape(4, 6), x[:6]),
        (x.reshape(4, 6).T, x.reshape(4, 6).T),
        (x[::3], 2.0),
        (x.reshape(2, 3, 4)[:, ::2], x[:4]),
        (x.reshape(2, 2, 3, 2), x.reshape(2, 1, 6, 2)[:, :, :3]),
        (x.astype(np.float32), np.float32(2)),
        (x.astype(np.int16), x),
        (np.empty((0, 3)), x[:3]),
        (np.array(2.0), 3),
        (x.astype(complex), x),
    ):
        given, wanted = f(a, b), special.xlogy(a, b)
        _same(given, wanted)
        assert np.ndim(wanted) < 2 or given.flags["F_CONTIGUOUS"] == wanted.flags["F_CONTIGUOUS"]


def test_long_arrays_and_several_results():
    x = np.linspace(0.1, 9, 20001)
    _same(ingot.jit(lambda x: special.sici(x))(x), special.sici(x))
    _same(ingot.jit(lambda x: special.erf(special.gammaln(x)) + special.j0(x))(x), special.erf(special.gammaln(x)) + special.j0(x))


def test_keywords_of_ufuncs():
    x = np.linspace(0.1, 1, 6)

    def f(x, out, mask):
        special.erf(x, out=out)
        y = special.erf(x, dtype=np.float32)
        special.ndtr(x, out, where=mask)
        return out, y, special.erf(x, np.empty(6, np.float32), casting="same_kind")

    mask = x > 0.5
    for a, b in zip(ingot.jit(f)(x, np.zeros(6), mask), f(x, np.zeros(6), mask)):
        _same(a, b)
    check(lambda x, y: special.beta(x, y), x, x[:4])
    check(lambda x: special.erf(x, out=np.zeros(3)), x)
    check(lambda x: special.erf(x > 2, x, x), x)


def test_ufuncs_in_loops_over_prange():
    def f(x):
        y = np.empty_like(x)
        for i in ingot.prange(len(x)):
            y[i] = special.gammaln(x[i]) * special.jv(1, x[i])
        return y

    x = np.linspace(0.5, 30, 5000)
    before = ingot.get_num_threads()
    try:
        ingot.set_num_threads(4)
        assert np.array_equal(ingot.jit(f)(x), special.gammaln(x) * special.jv(1, x))
    finally:
        ingot.set_num_threads(before)


def test_batches():
    x = np.linspace(0.5, 3, 12).reshape(4, 3)
    assert np.array_equal(ingot.vmap(lambda row: special.erf(row))(x), special.erf(x))


POINTS = {
    "logit": [0.3], "erfinv": [0.3], "erfcinv": [0.7], "ndtri": [0.3], "ellipk": [0.3], "ellipe": [0.3], "betainc": [1.5, 2.5, 0.3],
    "rel_entr": [0.4, 0.7], "kl_div": [0.4, 0.7], "spence": [0.4], "huber": [1.0, 2.5], "expn": [2, 0.7], "yn": [2, 0.7], "kn": [2, 0.7],
    "boxcox": [1.3, 0.7], "boxcox1p": [1.3, 0.7], "binom": [3.3, 1.2],
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", sorted(set(PARTIALS) - {"hankel1", "hankel2"}))
def test_derivatives_of_ufuncs(name):
    ufunc = getattr(special, name)
    point = POINTS.get(name, [0.7, 1.3][: ufunc.nin])
    h = 1e-5
    for place in range(ufunc.nin):
        if place in UNKNOWN.get(name, ()):
            continue
        moved = [[x + (step * h if i == place else 0) for i, x in enumerate(point)] for step in (1, -1)]
        wanted = (ufunc(*moved[0]) - ufunc(*moved[1])) / (2 * h)
        fixed = [ingot.grad(_calling(ufunc), argnums=place)(*point)]
        tangents = [1.0 if i == place else 0.0 for i in range(ufunc.nin)]
        if name not in UNKNOWN:
            fixed.append(ingot.jvp(_calling(ufunc), tuple(point), tuple(tangents))[1])
        assert np.allclose(fixed, wanted, rtol=1e-6, atol=1e-8), (name, place, fixed, wanted)


def test_derivatives_of_arrays_and_of_derivatives():
    x = np.linspace(0.5, 2, 5)
    slope = ingot.grad(lambda x: special.erf(x).sum())(x)
    assert np.allclose(slope, 2 / np.sqrt(np.pi) * np.exp(-x * x), rtol=1e-15)
    assert np.isclose(ingot.grad(ingot.grad(lambda x: special.gammaln(x)))(1.7), special.polygamma(1, 1.7), rtol=1e-13)
    assert np.isclose(ingot.grad(lambda x: special.psi(x))(-0.3), special.polygamma(1, -0.3), rtol=1e-13)


def test_derivatives_of_complex_ufuncs():
    for ufunc in (special.hankel1, special.hankel2):
        slope = ingot.jvp(lambda x: ufunc(2.0, x), (1.5,), (1.0,))[1]
        assert np.isclose(slope, (ufunc(1, 1.5) - ufunc(3, 1.5)) / 2, rtol=1e-13)
    slope = ingot.grad(lambda z: special.erf(z), holomorphic=True)(0.3 + 0.2j)
    assert np.isclose(slope, 2 / np.sqrt(np.pi) * np.exp(-((0.3 + 0.2j) ** 2)), rtol=1e-13)


def test_derivatives_that_are_not_known():
    with pytest.raises(ingot.UnsupportedError, match="the derivative of the C function `jv`"):
        ingot.grad(lambda v: special.jv(v, 0.5))(0.3)
    with pytest.raises(ingot.UnsupportedError, match="the derivative of the C function `struve`"):
        ingot.grad(lambda x: special.struve(1.0, x))(0.3)


@pytest.mark.rotated(3)
def test_transforms():
    x = np.random.default_rng(0).standard_normal((4, 6))
    z = x[:, :5] + 1j * x[:, 1:]

    def close(f, *args):
        for a, b in zip(ingot.jit(f)(*args), f(*args)):
            assert a.dtype == b.dtype and a.shape == b.shape
            assert np.allclose(a, b, rtol=1e-14 if a.itemsize > 8 or a.dtype == np.float64 else 1e-5, atol=1e-13 if a.dtype != np.complex64 else 1e-5)

    close(lambda x, z: (scipy.fft.fft(x), scipy.fft.ifft(z, 8, axis=0), scipy.fft.rfft(x, norm="ortho"), scipy.fft.irfft(z)), x, z)
    close(lambda x, z: (scipy.fft.fft2(x), scipy.fft.ifft2(z, workers=2), scipy.fft.rfft2(x), scipy.fft.irfft2(z)), x, z)
    close(lambda x, z: (scipy.fft.fftn(x), scipy.fft.ifftn(z), scipy.fft.rfftn(x, overwrite_x=True), scipy.fft.irfftn(z)), x, z)
    close(lambda x, z: (scipy.fft.hfft(z), scipy.fft.ihfft(x), scipy.fft.fftshift(x), scipy.fft.ifftshift(x, axes=1)), x, z)
    close(lambda n, d: (scipy.fft.fftfreq(n, d), scipy.fft.rfftfreq(n)), 7, 0.5)
    close(lambda x: (scipy.fft.fft(x),), x.astype(np.float32))
    check(lambda x, n: scipy.fft.fft(x, n), x, 0)


@pytest.mark.rotated(3)
def test_linear_algebra():
    r = np.random.default_rng(0)
    a, b = r.standard_normal((5, 5)), r.standard_normal(5)

    def f(a, b):
        return scipy.linalg.solve(a, b), scipy.linalg.inv(a), scipy.linalg.det(a), scipy.linalg.norm(b), scipy.linalg.norm(a)

    for dtype in (np.float64, np.float32, np.complex128):
        given = ingot.jit(f)(a.astype(dtype), b.astype(dtype))
        for x, y in zip(given, f(a.astype(dtype), b.astype(dtype))):
            assert type(x) is type(y) and np.shape(x) == np.shape(y) and np.result_type(x) == np.result_type(y)
            assert np.allclose(x, y, rtol=1e-3 if dtype is np.float32 else 1e-11)
    assert np.allclose(ingot.jit(lambda a, b: scipy.linalg.solve(a, b, transposed=True))(a, b), scipy.linalg.solve(a.T, b))
    check(lambda a, b: scipy.linalg.solve(a, b, transposed=True), a + 0j, b)
    singular = np.ones((3, 3))
    check(lambda a: scipy.linalg.inv(a), singular)
    check(lambda a, b: scipy.linalg.solve(a, b), singular, b[:3])
    check(lambda a, b: scipy.linalg.solve(a, b), a, b[:3])
    check(lambda a: scipy.linalg.inv(a), a[:3])
    check(lambda a: scipy.linalg.det(a), a[:3])
    check(lambda a: scipy.linalg.inv(a), np.full((2, 2), np.nan))


def _agrees(f, *arguments, bound=1e-10):
    """Values within a bound, dtypes and layouts of results, or the exception."""

    def outcome(call):
        try:
            with np.errstate(all="ignore"):
                result = call(*arguments)
        except (ValueError, np.linalg.LinAlgError) as error:
            return None, repr(error)
        return result if isinstance(result, tuple) else (result,), None

    (expected, error), (given, raised) = outcome(f), outcome(ingot.jit(f))
    assert raised == error
    assert len(given or ()) == len(expected or ())
    for x, y in zip(given or (), expected or ()):
        assert type(x) is type(y)
        if isinstance(y, np.ndarray):
            assert (x.dtype, x.shape, x.flags.f_contiguous, x.flags.c_contiguous) == (y.dtype, y.shape, y.flags.f_contiguous, y.flags.c_contiguous)
        assert np.allclose(x, y, rtol=bound, atol=bound)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_factors_of_matrices(dtype):
    r = np.random.default_rng(0)
    bound = 2e-3 if dtype is np.float32 else 1e-10
    a = (4 * r.standard_normal((5, 5)) + (1j * r.standard_normal((5, 5)) if dtype is np.complex128 else 0)).astype(dtype)
    s = (a @ a.conj().T + 5 * np.eye(5)).astype(dtype)
    t = (a + 20 * np.eye(5)).astype(dtype)
    b, c = np.arange(5).astype(dtype), np.arange(15).reshape(5, 3).astype(dtype)
    linalg = scipy.linalg
    for lower in (True, False):
        _agrees(lambda s: (linalg.cholesky(s, lower=lower), *linalg.cho_factor(s, lower=lower)), s, bound=bound)
        _agrees(lambda s, b, c: (linalg.cho_solve(linalg.cho_factor(s, lower=lower), b), linalg.cho_solve((s, lower), c)), s, b, c, bound=bound)
        _agrees(lambda t, b, c: (linalg.solve_triangular(t, b, lower=lower), linalg.solve_triangular(t, c, 2, lower=lower)), t, b, c, bound=bound)
        _agrees(lambda t, c: linalg.solve_triangular(t, c, "T", lower=lower, unit_diagonal=True), t / 64, c, bound=bound)
        _agrees(lambda s: (linalg.eigvalsh(s, lower=lower), linalg.eigh(s, lower=lower, eigvals_only=True)), s, bound=bound)
    for part in (slice(None), slice(3)):
        _agrees(lambda a: (*linalg.lu_factor(a), *linalg.qr(a), *linalg.qr(a, mode="r"), linalg.svdvals(a)), a[part].copy(), bound=bound)
        _agrees(lambda a: (*linalg.lu_factor(a), *linalg.qr(a, mode="economic")), a[:, part].copy(), bound=bound)
    _agrees(lambda a, b, c: tuple([linalg.lu_solve(linalg.lu_factor(a), x, k) for x in (b, c) for k in (0, 1, 2)]), a, b, c, bound=bound)
    if dtype is not np.float32:
        _agrees(lambda a: (*linalg.svd(a), *linalg.svd(a[:3], full_matrices=False)), a, bound=bound)
        _agrees(lambda s: linalg.eigh(s, driver="evd"), s, bound=bound)
    _agrees(lambda a, b, c: (linalg.expm(a), linalg.expm(b), linalg.expm(c)), *[(a * (s / np.linalg.norm(a, 1))).astype(dtype) for s in (0.3, 2, 8)], bound=bound * 3000)


@pytest.mark.rotated(5)
def test_structures_of_matrices():
    r = np.random.default_rng(1)
    a = r.standard_normal((5, 5)) + 4 * np.eye(5)
    b = r.standard_normal(5)
    for structure in ("pos", "sym", "her", "diagonal", "tridiagonal", "upper triangular", "lower triangular", "gen"):
        lower = structure != "her"
        _agrees(lambda a, b: scipy.linalg.solve(a, b, assume_a=structure, lower=lower), a, b)
    whole = np.arange(1, 10).reshape(3, 3) + 20 * np.eye(3, dtype=int)
    _agrees(lambda a, b: (scipy.linalg.cholesky(a + a.T), *scipy.linalg.lu_factor(a), scipy.linalg.expm(a / 30)), whole, b)
    _agrees(lambda a, b: scipy.linalg.solve(a, b, assume_a="her"), a + 0.5j * a.T, b)
    for f in (np.triu, np.tril, lambda a: np.diag(np.diag(a)), lambda a: a * 0):
        _agrees(lambda a: scipy.linalg.expm(a), f(a) / 4)
    bad = a @ a.T
    bad[2, 2] = -5
    _agrees(lambda a: scipy.linalg.cholesky(a), bad)
    _agrees(lambda a: scipy.linalg.cholesky(a, lower=True), bad)
    _agrees(lambda a, b: scipy.linalg.solve(a, b, assume_a="pos"), bad, b)
    _agrees(lambda a, b: scipy.linalg.solve(a, b, assume_a="none"), a, b)
    _agrees(lambda a, b: scipy.linalg.solve_triangular(a, b), np.diag([1.0, 0.0, 1.0]), b[:3])
    for f in (scipy.linalg.cholesky, scipy.linalg.expm, scipy.linalg.eigvalsh):
        _agrees(lambda a: f(a), a[:3])
        refused(lambda a: f(a), np.stack([a, a]), words="of a stack of matrices")
    refused(lambda a: scipy.linalg.eigh(a), a, words="driver='evd'")
    refused(lambda a: scipy.linalg.svd(a), a.astype(np.float32), words="at single precision")
    refused(lambda a: scipy.linalg.qr(a, pivoting=True), a, words="with pivots")


@pytest.mark.rotated(3)
def test_derivatives_of_factors():
    a = np.array([[3.0, 1.0], [1.0, 2.0]])
    for f in (lambda a: scipy.linalg.cholesky(a).sum(), lambda a: scipy.linalg.solve(a, a[0]).sum()):
        given = ingot.grad(f)(a)
        for i in range(2):
            step = np.zeros((2, 2))
            step[0, i] = step[i, 0] = 1e-6
            assert np.isclose(np.sum(given * step) / 1e-6, (f(a + step) - f(a - step)) / 2e-6, atol=1e-6)


@pytest.mark.rotated(4)
def test_integrals_of_samples():
    x = np.linspace(0, 2, 12) ** 1.5
    y = np.sin(x)

    def f(y, x):
        given = (scipy.integrate.trapezoid(y), scipy.integrate.trapezoid(y, x), scipy.integrate.simpson(y), scipy.integrate.simpson(y, x=x))
        return (*given, scipy.integrate.simpson(y, dx=0.5), scipy.integrate.trapezoid(y, dx=0.5))

    for n in (2, 3, 5, 6, 11, 12):
        assert np.allclose(ingot.jit(f)(y[:n], x[:n]), f(y[:n], x[:n]), rtol=1e-14), n


@pytest.mark.rotated(3)
def test_sums_of_exponentials():
    x = np.array([[1.0, 1000.0, -3.0], [2.0, 2.0, -np.inf]])

    def f(x):
        return special.logsumexp(x), special.logsumexp(x, axis=1), special.softmax(x, axis=1), special.log_softmax(x, axis=1)

    def g(x):
        return special.logsumexp(x, axis=0, keepdims=True), special.softmax(x), special.log_softmax(x)

    for h, given in ((f, x), (g, x), (f, x.astype(np.float32)), (g, x[:, :2].astype(int)), (f, np.array([[np.inf, 1], [-np.inf, -np.inf]]))):
        with np.errstate(all="ignore"):
            for a, b in zip(ingot.jit(h)(given), h(given)):
                assert np.result_type(a) == np.result_type(b) and np.shape(a) == np.shape(b)
                assert np.allclose(a, b, rtol=1e-14 if np.result_type(a) == np.float64 else 1e-6, equal_nan=True)


def test_other_functions_are_refused():
    a = np.eye(3)
    refused(lambda a: scipy.linalg.lstsq(a, a), a, words="`scipy.linalg.lstsq`, a function of SciPy's,")
    refused(lambda x: scipy.optimize.brentq(np.sin, x, 4.0), 3.0, words="a function of SciPy's,")
    refused(lambda x: special.zeta(x), 3.0, words="`scipy.special.zeta`, a function of SciPy's,")
    refused(lambda x: scipy.fft.dct(x), a, words="`scipy.fft.dct`|`scipy.fft")


PROGRAM = """
import sys
import numpy as np
import scipy.special
from scipy.special import erf
import ingot

@ingot.jit
def f(x):
    return erf(x) + scipy.special.jv(1, x)

x = np.linspace(0, 1, 9)
assert np.array_equal(f(x), erf(x) + scipy.special.jv(1, x))
print("ingot._core" in sys.modules)
"""


@pytest.mark.rotated(4)
def test_a_stored_call_of_scipy(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    monkeypatch.setenv("INGOT_CACHE", "on")
    monkeypatch.setenv("INGOT_CACHE_DIR", str(tmp_path / "cache"))
    shown = [subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120) for _ in range(2)]
    assert [each.stdout.strip() for each in shown] == ["True", "False"], shown[0].stderr + shown[1].stderr


@pytest.mark.rotated(3)
def test_the_page_is_current():
    tool = Path(__file__).resolve().parents[2] / "tools" / "scipy_docs.py"
    assert subprocess.run([sys.executable, tool, "--check"], timeout=60).returncode == 0


@pytest.mark.rotated(4)
@pytest.mark.parametrize("mode", MODES)
def test_products_of_sparse_matrices(mode):
    r = np.random.default_rng(0)
    dense = np.where(r.random((9, 7)) < 0.3, r.standard_normal((9, 7)), 0)
    x, several = r.standard_normal(7), r.standard_normal((7, 3))
    for dtype in (np.float64, np.float32, np.int32, np.complex128):
        for kind in (scipy.sparse.csr_array, scipy.sparse.csr_matrix):
            matrix = kind((dense * 10).astype(dtype))
            product, dotted = jitted(lambda a, x: a @ x, mode), jitted(lambda x: matrix.dot(x), mode)
            for right in (x, several, x.astype(np.float32), np.arange(7)):
                _same(product(matrix, right), matrix @ right)
                _same(dotted(right), matrix @ right)


def test_what_sparse_matrices_do_not_take():
    matrix = scipy.sparse.csr_array(np.eye(3))
    check(lambda x: matrix @ x, np.ones(4))
    check(lambda x: matrix @ x, np.ones((4, 2)))
    words = "a product of sparse matrices other than of a CSR matrix"
    refused(lambda a, x: a @ x, scipy.sparse.csc_array(np.eye(3)), np.ones(3), words=words)
    refused(lambda a, x: a @ x, matrix, matrix, words=words)


@pytest.mark.filterwarnings("ignore")
def test_exceptions_of_loops_leave_the_call_before_python_is_called():
    seen = []
    noted = ingot.host(lambda x: seen.append(x) or x, result=float)

    def f(x, y):
        a = special.gammaln(x)
        b = noted(x)
        y[0] = 5.0
        return a + b

    compiled = ingot.jit(f)
    assert compiled(2.0, np.zeros(1)) == 2.0
    seen.clear()
    with special.errstate(all="raise"), pytest.raises(special.SpecialFunctionError):
        compiled(-1.0, np.zeros(1))
    assert seen == [] and compiled(2.0, np.zeros(1)) == 2.0

    @ingot.jit
    def raises(x):
        if special.gammaln(x) > 0:
            raise ValueError(x)

    with special.errstate(all="raise"), pytest.raises(special.SpecialFunctionError):
        raises(-1.0)
    with pytest.raises(ValueError):
        raises(-1.0)
