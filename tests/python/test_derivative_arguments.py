"""What derivatives are taken with respect to: numbers and names of arguments, ints, arrays of any layout."""

import functools

import numpy as np
import pytest

import ingot


def product(x, y=2.0):
    return x * y


def cubes(x, *, y, scale=1.0):
    return scale * x * y * y * y


def any_names(x, **others):
    return x * others["a"] * others["b"]


class Scale:
    def __init__(self, k):
        self.k = k

    def of(self, x):
        return self.k * x


@pytest.fixture
def counted(monkeypatch):
    """The calls that Python has bound the arguments of."""
    calls = []
    slow = ingot._calls.function.Function._call
    monkeypatch.setattr(ingot._calls.function.Function, "_call", lambda self, *given: calls.append(self) or slow(self, *given))
    return calls


@pytest.mark.rotated(3)
def test_arguments_are_chosen_by_number_and_name():
    for argnums, expected in [
        (0, 4.0),
        (1, 3.0),
        (-1, 3.0),
        (-2, 4.0),
        (np.int64(1), 3.0),
        ("x", 4.0),
        ("y", 3.0),
        ((0,), (4.0,)),
        ((1, 0), (3.0, 4.0)),
        ([0, -1], (4.0, 3.0)),
        (("y", "x"), (3.0, 4.0)),
        ((0, "y"), (4.0, 3.0)),
    ]:
        for of in (ingot.grad, ingot.jacfwd, ingot.jacrev):
            assert of(product, argnums)(3.0, 4.0) == expected
        assert ingot.value_and_grad(product, argnums)(3.0, 4.0) == (12.0, expected)
    for argnums, expected in [(1, 3.0), (-2, 4.0), ((1, 0), (3.0, 4.0))]:
        assert ingot.jit(lambda x, y: ingot.grad(product, argnums)(x, y))(3.0, 4.0) == expected  # noqa: B023
    assert ingot.hessian(product, (0, "y"))(3.0, 4.0) == ((0.0, 1.0), (1.0, 0.0))
    assert ingot.grad(ingot.jit(product), "y")(3.0, 4.0) == 3.0


def test_arguments_given_by_name():
    assert ingot.grad(product)(3.0, y=4.0) == ingot.jacfwd(product)(3.0, y=4.0) == ingot.jacrev(product)(3.0, y=4.0) == 4.0
    assert ingot.grad(product)(3.0) == 2.0
    assert ingot.grad(product, ("y", "x"))(y=4.0, x=3.0) == (3.0, 4.0)
    assert ingot.grad(cubes, ("y", 0))(3.0, y=2.0) == (36.0, 8.0)
    assert ingot.grad(cubes, "y")(3.0, scale=2.0, y=2.0) == 72.0
    assert ingot.hessian(cubes, ("y", 0))(3.0, y=2.0) == ((36.0, 12.0), (12.0, 0.0))
    assert ingot.grad(any_names, ("b", 0))(2.0, a=3.0, b=5.0) == (6.0, 15.0)
    x = np.arange(3.0)
    for of in (ingot.jacfwd, ingot.jacrev):
        np.testing.assert_array_equal(of(lambda x, y: x * y, "y")(x, y=x), np.diag(x))
    both = ingot.jit(lambda x: ingot.grad(cubes, ("y", 0))(x, y=x + 1))
    assert both(1.0) == (12.0, 8.0)


def test_calls_of_derivatives_need_no_python(counted):
    x = np.arange(3.0)
    calls = [
        (ingot.grad(product), (3.0, 4.0), {}),
        (ingot.value_and_grad(cubes, "y"), (3.0,), {"y": 4.0}),
        (ingot.jacfwd(np.sin), (x,), {}),
        (ingot.jacrev(np.sin), (x,), {}),
        (ingot.hessian(product), (3.0,), {}),
        (ingot.grad(Scale(2.0).of), (3.0,), {}),
        (ingot.grad(functools.partial(product, y=4.0)), (3.0,), {}),
        (ingot.vmap(lambda a: a * 2), (x,), {}),
        (ingot.vjp(product, 3.0, 4.0)[1], (1.0,), {}),
        (lambda: ingot.jvp(product, (3.0,), (1.0,)), (), {}),
        (lambda: ingot.hvp(product, (3.0,), (1.0,)), (), {}),
    ]
    for f, args, kwargs in calls:
        f(*args, **kwargs)
        counted.clear()
        f(*args, **kwargs)
        assert not counted


def test_functions_that_hold_nothing_are_compiled_once():
    assert ingot.grad(product) is ingot.grad(product) is not ingot.grad(product, 1)
    assert ingot.grad(product, 0) is not ingot.value_and_grad(product, 0)
    assert ingot.grad(product, (0,)) is ingot.grad(product, [0]) is not ingot.grad(product, 0)
    assert ingot.grad(product, has_aux=True) is not ingot.grad(product)
    scale = Scale(2.0)
    assert ingot.grad(scale.of) is ingot.grad(scale.of) is not ingot.grad(Scale(2.0).of)
    assert ingot.grad(scale.of)(3.0) == 2.0
    scale.k = 5.0
    assert ingot.grad(scale.of)(3.0) == 5.0
    power = 3.0
    cube = lambda x: x**power
    assert ingot.grad(cube) is not ingot.grad(cube)
    power = 2.0
    assert ingot.grad(cube)(3.0) == 6.0


@pytest.mark.parametrize("of", [ingot.grad, ingot.value_and_grad, ingot.jacfwd, ingot.jacrev, ingot.hessian])
def test_wrong_numbers_and_names(of):
    for argnums, error in [(1.0, TypeError), (None, TypeError), ((0, 1.5), TypeError), ("z", ValueError), (("x", "z"), ValueError), ((), ValueError)]:
        with pytest.raises(error):
            of(product, argnums)
    with pytest.raises(TypeError, match="a function is wanted"):
        of(3)
    too_few = TypeError if of in (ingot.grad, ingot.value_and_grad) else ValueError
    with pytest.raises(too_few, match="argnums=5"):
        of(product, 5)(1.0, 2.0)
    with pytest.raises(too_few, match="argnums=0"):
        of(product)(x=1.0)
    with pytest.raises(ValueError, match="argnums=-3"):
        of(product, -3)(1.0, 2.0)
    with pytest.raises(TypeError, match="respect to y, which is not given"):
        of(product, "y")(1.0)
    for argnums in ((0, 0), (0, -2), ("x", 0)):
        with pytest.raises(ValueError, match="an argument twice"):
            of(product, argnums)(1.0, 2.0)


def test_gradients_of_ints():
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs.* or set allow_int to True"):
        ingot.grad(product, (0, 1))(3.0, 2)
    assert ingot.grad(product, (0, 1), allow_int=True)(3.0, 2) == (2.0, 0.0)
    n = np.arange(4).reshape(2, 2)
    (a, b, c), d = ingot.grad(lambda t, x: np.sum(t[0] * t[1] * x), (0, 1), allow_int=True)((n, 2.0, True), np.ones(2))
    assert d.tolist() == [4.0, 8.0] and b == 6.0 and c == 0.0
    assert a.shape == n.shape and a.dtype == np.float64 and not a.any()
    value, g = ingot.value_and_grad(product, allow_int=True)(3, 4.0)
    assert (value, g) == (12.0, 0.0)
    with pytest.raises(TypeError, match="numbers and arrays"):
        ingot.grad(lambda x, y: y, allow_int=True)("text", 1.0)


@pytest.mark.parametrize("result", [None, "text", {"a": 1.0}, (1.0, 2.0), [1.0], 3, True])
def test_results_without_a_gradient(result):
    with pytest.raises(TypeError, match="gradients are those of"):
        ingot.grad(lambda x: result)(3.0)


def test_results_that_are_no_pair():
    for f in (lambda x: x, lambda x: (x, x, x), lambda x: {"a": x, "b": x}):
        with pytest.raises(TypeError, match="a function gives a pair"):
            ingot.grad(f, has_aux=True)(3.0)
    assert ingot.grad(lambda x: [x * x, "aux"], has_aux=True)(3.0) == (6.0, "aux")


def cleared_copy_or_view(v):
    p = v.ravel()
    p[...] = 0
    return v * 1.0


def cleared_rows(v):
    p = v.reshape(-1)
    p[:2] = 0
    return v * 1.0


LAYOUTS = {
    "contiguous": lambda: np.arange(1.0, 7.0),
    "backwards": lambda: np.arange(1.0, 7.0)[::-1],
    "gaps": lambda: np.arange(1.0, 13.0)[::2],
    "fortran": lambda: np.arange(1.0, 7.0).reshape(3, 2).T,
    "inner gaps": lambda: np.arange(1.0, 13.0).reshape(2, 6)[:, ::2],
    "outer gaps": lambda: np.arange(1.0, 13.0).reshape(2, 6)[:, :3],
    "one row": lambda: np.arange(1.0, 13.0).reshape(1, 12)[:, ::2],
    "rows backwards": lambda: np.arange(1.0, 7.0).reshape(2, 3)[::-1],
    "all backwards": lambda: np.arange(1.0, 7.0).reshape(2, 3)[::-1, ::-1],
    "permuted": lambda: np.arange(1.0, 13.0).reshape(2, 3, 2).transpose(1, 0, 2),
    "cut": lambda: np.arange(1.0, 25.0).reshape(4, 3, 2)[:2, :1],
    "none": lambda: np.zeros((2, 0))[::-1],
    "misaligned": lambda: np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64)[::-1],
}


@pytest.mark.parametrize("f", [cleared_copy_or_view, cleared_rows])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.sampled(14)
def test_copies_are_viewed_and_copied_as_arguments_are(layout, f):
    """Which elements `f` clears depends on whether it gets a view: what is cleared has no derivative."""
    cleared = np.ones(LAYOUTS[layout]().shape)
    x = LAYOUTS[layout]()
    x[...] = 1.0
    cleared[...] = f(x) != 0
    ones = np.ones(cleared.shape)
    np.testing.assert_array_equal(ingot.grad(lambda v: np.sum(f(v)))(LAYOUTS[layout]()), cleared)
    pull = ingot.vjp(f, LAYOUTS[layout]())[1]
    np.testing.assert_array_equal(pull(ones)[0], cleared)
    np.testing.assert_array_equal(pull(ones)[0], cleared)
    jacobian = np.diag(cleared.ravel()).reshape(cleared.shape * 2)
    if layout != "none":
        for of in (ingot.jacfwd, ingot.jacrev):
            np.testing.assert_array_equal(of(f)(LAYOUTS[layout]()), jacobian)
    fixed = LAYOUTS[layout]()
    fixed.flags.writeable = False
    if layout != "none" and not np.shares_memory(fixed.ravel(), fixed) and f is cleared_copy_or_view:
        np.testing.assert_array_equal(ingot.grad(lambda v: np.sum(f(v)))(fixed), ones)
        np.testing.assert_array_equal(ingot.vjp(f, fixed)[1](ones)[0], ones)


def test_copies_share_memory_as_arguments_do():
    def both(a, b):
        return np.sum(a * b)

    def changed(a, b):
        a[0] = 5.0
        return np.sum(a * b)

    z = np.arange(4.0)
    for a, b in ((z, z), (z[:3], z[1:]), (z, z[::-1])):
        x, y = ingot.vjp(both, a, b)[1](1.0)
        np.testing.assert_array_equal(x, b)
        np.testing.assert_array_equal(y, a)
        with pytest.raises(ingot.UnsupportedError, match="known by two names"):
            ingot.vjp(changed, a.copy(), b)[1] and ingot.vjp(changed, a, b)[1](1.0)
    one = np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,))
    expected = ingot.grad(np.sum)(one)
    np.testing.assert_array_equal(ingot.vjp(np.sum, one)[1](1.0)[0], expected)


def test_strings_next_to_values_have_no_tangent():
    assert ingot.jvp(lambda x: (x * x, "text", 3), (3.0,), (1.0,)) == ((9.0, "text", 3), (6.0, None, 0))
