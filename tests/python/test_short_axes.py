"""Reductions along a last axis of a few elements, which are expressions in compiled code."""

import ingot
import numpy as np
import pytest
from support import MODES, check, jitted, layouts

WIDTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9)


def grid(rows, width, dtype, seed=3):
    values = np.random.default_rng(seed).standard_normal((rows, width)) * 3
    return (values > 0 if dtype == "bool" else values).astype(dtype)


def distances(x):
    return ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)


def accelerations(x):
    apart = x[None] - x[:, None]
    return (apart / ((apart**2).sum(-1) + 0.01)[..., None] ** 1.5).sum(1)


def unit(x):
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True))


def used_twice(x):
    s = (x * 2).sum(axis=1)
    return s * s - s, s.sum(), x - s[:, None]


def written_between(x):
    s = x.sum(axis=1)
    x[:, :1] = s[:, None]
    return s, x.prod(axis=1)


def nearest(x):
    return distances(x).argmin(axis=1)


def masked(x):
    return np.sum(x, axis=1, where=x > 0), np.mean(x, axis=1)


def in_a_loop(x):
    total = np.zeros(len(x))
    for k in range(3):
        total += (x * k).sum(axis=-1)
    return total


FLOATS = (distances, accelerations, unit, used_twice, written_between, nearest, masked, in_a_loop)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("function", FLOATS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_are_numpys_and_the_interpreters(function, width):
    compiled = [jitted(function, mode) for mode in MODES]
    for rows in (0, 1, 2, 13, 40):
        if function is nearest and rows == 0:
            continue
        x = grid(rows, width, "float64")
        got = [one(x.copy()) for one in compiled]
        expected = function(x.copy())
        for a, b, c in zip(*(g if isinstance(g, tuple) else (g,) for g in (*got, expected))):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
            assert np.asarray(a).dtype == np.asarray(c).dtype and np.shape(a) == np.shape(c)
            assert np.allclose(a, c, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("width", [1, 2, 3, 6, 8])
def test_dtypes(dtype, width):
    def sums(x):
        return x.sum(axis=-1), x.sum(axis=-1, dtype=x.dtype)

    def products(x):
        return x.prod(axis=-1)

    def decides(x):
        return (x != 0).any(axis=1), (x != 0).all(axis=1), np.count_nonzero(x, axis=1)

    x = grid(21, width, dtype)
    for function in (sums, products):
        got = [jitted(function, mode)(x) for mode in MODES]
        for a, b, c in zip(*(g if isinstance(g, tuple) else (g,) for g in (*got, function(x)))):
            assert a.dtype == b.dtype == c.dtype and a.tobytes() == b.tobytes()
            assert np.allclose(a, c, rtol=0.02 if dtype == "float16" else 1e-5)
    check(decides, x)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_extremes(dtype, width):
    def extremes(x):
        return x.min(axis=-1), x.max(axis=1), np.fmin.reduce(x, axis=1), np.fmax.reduce(x, axis=1)

    compiled = [jitted(extremes, mode) for mode in MODES]
    for seed in range(40):
        random = np.random.default_rng(seed)
        values = [0.0, -0.0, 1.0, -1.0, 2.5] + [np.nan] * (seed % 3)
        x = random.choice(values, (9, width)) if "f" in np.dtype(dtype).kind else grid(9, width, dtype, seed)
        x = x.astype(dtype)
        for a, b, c in zip(*(one(x) for one in (*compiled, extremes))):
            nan = a != a
            assert a.dtype == b.dtype == c.dtype and (nan == (b != b)).all()
            assert a[~nan].tobytes() == b[~nan].tobytes()
            assert np.array_equal(a, c, equal_nan=True)


def test_a_sum_of_negative_zeros_is_zero():
    for width in (1, 2, 3, 5):
        for mode in MODES:
            got = jitted(lambda x: x.sum(axis=1), mode)(np.full((3, width), -0.0))
            assert not np.signbit(got).any()


@pytest.mark.parametrize("width", [2, 3, 7])
def test_layouts(width):
    for x in layouts(grid(5, width, "float64")):
        check(lambda x: (x.sum(axis=-1), x.T.sum(axis=0)), x, bound=1e-13)


def test_shapes_of_three_axes():
    x = np.arange(60.0).reshape(4, 5, 3)
    check(lambda x: (x.sum(axis=-1), x.sum(axis=2, keepdims=True), x.sum(axis=(1, 2)), x.sum(axis=1)), x, bound=1e-14)


@pytest.mark.rotated(4)
def test_places_of_extremes_of_short_rows():
    def places(x):
        return x.argmin(axis=1), x.argmax(axis=1), x.argmin(axis=0), x.argmax()

    nan, inf = np.nan, np.inf
    odd = np.array([[nan, 1, 2], [1, nan, nan], [inf, -inf, nan], [-0.0, 0.0, -0.0], [inf, inf, inf], [-inf, -inf, 3]])
    for width in (1, 2, 3):
        check(places, odd[:, :width].copy())
    for width in (31, 32, 33, 40):
        x = grid(7, width, "float64")
        check(places, x)
        x[2, width // 2] = nan
        check(places, x)
    check(lambda x: x.argmin(axis=1), np.array([[1 + 2j, complex(nan, 1), 0j], [3j, 2j, 2j]]))
    check(lambda x: x.argmax(axis=-1), np.array([[[3, 1], [1, 3]], [[2, 2], [0, 1]]], np.uint8))


def test_other_functions_are_not_compiled_anew():
    function = ingot.jit(lambda x: x[:, 0] + x[:, -1])
    for width in range(2, 9):
        function(np.ones((3, width)))
    assert len(function.specialisations) == 1
