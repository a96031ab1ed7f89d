"""Views that leave compiled code: their memory, base, flags and strides are those of NumPy's views."""

import linecache
import warnings

import ingot
import numpy as np
import pytest
from support import check, jitted

EXPRESSIONS = """
x
x[..., None]
x[None]
x[...]
np.expand_dims(x, 0)
np.expand_dims(x, -1)
np.atleast_1d(x)
np.atleast_2d(x)
np.atleast_3d(x)
np.array([x, x])
x.reshape(x.shape)
x.reshape(-1)
np.reshape(x, -1, order="A")
x.ravel()
x.ravel()[1:]
x.squeeze()
np.squeeze(x[None])
x.T
np.transpose(x)
np.swapaxes(x, 0, -1)
np.moveaxis(x[None], 0, -1)
np.rollaxis(x[None], 1, 0)
np.broadcast_to(x, (2,) + x.shape)
x.real
x.imag
np.real(x)
np.imag(x)
x[::-1]
x[1:]
x[..., ::2]
x[0:0]
np.flip(x)
np.diagonal(x)
x.diagonal(1)
np.diag(x)
x.view()
x.view(np.uint8)
np.asarray(x)
np.ascontiguousarray(x)
np.asfortranarray(x)
np.rot90(x)
x.T[::-1].T
x[None][0]
x.copy()
x.copy("F")
x + 1
"""


def read_only(x):
    x.flags.writeable = False
    return x


ARRAYS = {
    "C": lambda: np.arange(6.0).reshape(2, 3).copy(),
    "F": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "square": lambda: np.arange(9).reshape(3, 3),
    "one axis": lambda: np.arange(6.0),
    "gaps": lambda: np.arange(12.0)[1::2],
    "backwards": lambda: np.arange(6.0).reshape(2, 3)[::-1, ::-1],
    "three axes": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
    "complex": lambda: np.arange(6).reshape(2, 3) * (1 + 1j),
    "read-only": lambda: read_only(np.arange(6.0).reshape(2, 3).copy()),
    "read-only view": lambda: read_only(np.arange(6.0))[1:],
    "empty": lambda: np.zeros((0, 3)),
    "empty in Fortran's order": lambda: np.zeros((3, 0), order="F"),
    "empty and read-only": lambda: read_only(np.zeros(0)),
    "a part without elements": lambda: np.zeros((4, 3))[2:2],
    "no axes": lambda: np.array(3.0),
    "no axes and read-only": lambda: read_only(np.array(1j)),
    "one element": lambda: np.ones((1, 1)),
}


def compiled_text(expression):
    """A function of x that gives an expression."""
    text = f"def f(x):\n    return {expression}\n"
    name = f"<view {expression}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["f"]


def owner_of(x):
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def facts(y, x):
    """What NumPy reports of a result and the argument. Strides along one element, or none, mean nothing."""
    if not isinstance(y, np.ndarray):
        return type(y), y
    is_part = np.shares_memory(x, y)
    strides = [s for s, n in zip(y.strides, y.shape) if n > 1] if y.size else []
    found = [y.dtype, y.shape, is_part, y is x]
    if is_part or y is x:
        found += [strides, y.flags.c_contiguous, y.flags.f_contiguous]
        found += [owner_of(y) is owner_of(x), y.base is x, y.flags.owndata]
    found.append(y.flags.writeable)
    if is_part and y.flags.writeable:
        y[...] = 77
        found.append(x.tolist())
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
@pytest.mark.sampled(9)
def test_views_are_numpys(expression):
    plain = compiled_text(expression)
    functions = [jitted(plain), jitted(plain, "interpreted")]
    for name, make in ARRAYS.items():
        x = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = facts(plain(x), x)
            except Exception as error:
                expected = type(error)
        for function in [functions[0], *functions]:  # the first call takes another path
            x = make()
            try:
                found = facts(function(x), x)
            except ingot.UnsupportedError as error:
                assert "read-only array on one path" in str(error), (name, error)
                continue
            except Exception as error:
                found = type(error)
            assert found == expected, name


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_new_arrays_without_elements_have_numpys_strides(shape):
    def f(x):
        return x + 1, x.copy("F"), [x * 2, np.zeros(x.shape)]

    x = np.zeros(shape)
    function = jitted(f)
    for _ in range(2):
        a, b, (c, d) = function(x)
        assert [y.strides for y in (a, b, c, d)] == [y.strides for y in (f(x)[0], f(x)[1], *f(x)[2])]


def test_the_order_of_one_axis_with_gaps_is_a_copy():
    def f(x):
        y = np.asfortranarray(x)
        y[0] = 7
        return x, y

    check(f, np.arange(12.0)[1::2])
    check(f, np.arange(6.0))


def test_arrays_without_axes_become_numbers():
    def f(x):
        return np.flip(x), np.nan_to_num(x, copy=False)

    check(f, np.array(np.nan))
    check(f, np.array([np.nan, 2.0]))


def test_bools_have_no_positive():
    def f(x):
        return np.positive(x)

    check(f, np.array([True, False]))
    check(f, np.array(True))
    check(f, np.array([1, 2]))
