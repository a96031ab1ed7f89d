"""Differences, interpolation, integration, polynomials and windows."""

import ingot
import numpy as np
import pytest
from support import check, difference, outcome

LINE = np.array([0.0, 1.5, 1.0, 4.0, 2.5, -3.0, 7.0])
PLACES = np.array([0.0, 1.0, 1.5, 3.0, 4.5, 5.0, 8.0])
GRID = np.array([[1.0, 4, 2, 8], [3, 3, 9, 1], [0, 5, 7, 7]])
BOUND = 1e-13


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "float64", "complex64"])
def test_differences(dtype):
    x = GRID.astype(dtype)
    check(lambda x: (np.diff(x), np.diff(x, axis=0), np.diff(x[0], 2), np.ediff1d(x) if x.dtype != bool else 0), x)


def test_differences_otherwise():
    check(lambda x: (np.diff(x, prepend=0), np.diff(x, append=x[:, :1]), np.diff(x, 0), np.diff(x, 5)), GRID)
    check(lambda x: (np.ediff1d(x, to_begin=-1), np.ediff1d(x, to_end=[8, 9]), np.diff([1, 4, 9])), GRID)
    check(lambda x: np.diff(x, -1), GRID)
    check(lambda x: np.diff(x[0, 0]), GRID)


ODD = [0.0, 1.0, np.inf, -np.inf, np.nan, -0.0]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_interpolation_among_infinities_and_nan(dtype):
    draw = np.random.default_rng(3)
    wanted = np.array([-np.inf, -1, 0, 0.5, 1, 1.5, 2, 3, np.inf, np.nan])
    f = ingot.jit(lambda x, xp, fp: (np.interp(x, xp, fp), np.interp(0.5, xp, fp), np.interp(np.nan, xp, fp)))
    for size in (1, 2, 3, 4, 5, 9, 20):
        for kind in range(6):
            places = np.sort(draw.normal(size=size))
            values = draw.normal(size=size) if kind < 3 else draw.choice(ODD, size)
            if kind % 3 == 1:
                places = np.sort(draw.choice(ODD[:4], size))
            if kind % 3 == 2:
                places[draw.integers(size)] = np.nan
            if dtype == "complex128":
                values = values + 0j
                values.imag = draw.choice(ODD, size)
            arguments = (wanted, places, values)
            assert difference(f(*arguments), outcome(f.__wrapped__, arguments)[0]) is None, arguments


def test_interpolation_in_a_period():
    check(lambda x: np.interp(x, [0, 1, 2.5], [1, 2, 4], period=2.0), PLACES)
    check(lambda x: np.interp(x, [0, 1, 2.5], [1, 2j, 4], 7, 8, period=-3), PLACES)
    check(lambda x: np.interp(x, [0, 1], [1, 2], period=0), PLACES)
    check(lambda x: np.interp(x, np.zeros((1, 2)), [1, 2], period=1), PLACES)
    check(lambda x: np.interp(x, [0.0], [1, 2], period=1), PLACES)
    check(lambda x: np.interp(x, np.array(1.0), [1, 2]), PLACES)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
def test_gradients(dtype):
    bound = 1e-5 if dtype == "float32" else BOUND
    check(lambda x: (np.gradient(x), np.gradient(x, 2.0), np.gradient(x, axis=0)), GRID.astype(dtype), bound=bound)
    check(lambda x: (np.gradient(x[0]), np.gradient(x, edge_order=2), np.gradient(x, 0.5, 2, axis=(1, 0))), GRID.astype(dtype), bound=bound)


def test_gradients_of_uneven_places():
    check(lambda x, p: (np.gradient(x, p), np.gradient(x, p, edge_order=2)), LINE, PLACES, bound=BOUND)
    check(lambda x, p: np.gradient(x, 2.0, p), GRID, PLACES[:4], bound=BOUND)
    check(lambda x: np.gradient(x[:1]), LINE)


def test_integrals():
    check(lambda y, x: (np.trapezoid(y), np.trapezoid(y, x), np.trapezoid(y, dx=0.5)), LINE, PLACES, bound=BOUND)
    check(lambda y, x: (np.trapezoid(y), np.trapezoid(y, axis=0), np.trapezoid(y, x)), GRID, PLACES[:4], bound=BOUND)


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128"])
def test_interpolation(dtype):
    values = LINE.astype(dtype)
    wanted = np.array([[-1.0, 0, 0.3, 1.0], [2.0, 8.0, 9.0, np.nan]])
    check(lambda x, p, v: (np.interp(x, p, v), np.interp(x[0, 2], p, v), np.interp(1.2, p, v)), wanted, PLACES, values, bound=BOUND)
    check(lambda x, p, v: np.interp(x, p, v, left=-5, right=7), wanted, PLACES, values, bound=BOUND)
    check(lambda x, p, v: np.interp(x, p, v[1:]), wanted, PLACES, values)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(mode, dtype):
    x, y = LINE.astype(dtype), PLACES[:4].astype(dtype)
    bound = 1e-4 if dtype == "float32" else 1e-12
    check(lambda x, y: (np.convolve(x, y, mode), np.convolve(y, x, mode), np.convolve(x, y[:3], mode)), x, y, bound=bound)
    check(lambda x, y: (np.correlate(x, y, mode), np.correlate(y, x, mode), np.correlate(y[:3], x, mode)), x, y, bound=bound)
    check(lambda x, y: np.convolve(x, y[:0], mode), x, y)


def test_cross_products():
    x, y = GRID[:, :3], GRID[::-1, 1:]
    check(lambda x, y: (np.cross(x, y), np.cross(x[0], y[0]), np.cross(x, y[0]), np.cross(x, y, axis=0)), x, y, bound=BOUND)
    check(lambda x, y: np.cross(x, y, axisa=0, axisc=0), x, y, bound=BOUND)


def test_unwrapped_angles():
    check(lambda x: (np.unwrap(x), np.unwrap(x, period=4), np.unwrap(x, 5.0)), LINE * 2, bound=BOUND)
    check(lambda x: (np.unwrap(x, axis=0), np.unwrap(x.astype(np.float32))), GRID, bound=1e-5)


def test_polynomials():
    check(lambda p, x: (np.polyval(p, x), np.polyval(p, 2.0), np.polyval([1, 2], x)), LINE, GRID, bound=BOUND)
    check(lambda a, b: (np.polyadd(a, b), np.polysub(b, a), np.polymul(a, b), np.polyder(a), np.polyder(a, 2)), LINE, PLACES[:3], bound=BOUND)
    check(lambda x, y: (np.polyfit(x, y, 2), np.polyfit(x, y, 1, w=x + 1), np.polyfit(x, y[:, None], 3)), PLACES, LINE, bound=1e-9)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 12])
def test_windows(count):
    check(lambda n: (np.hamming(n), np.bartlett(n), np.kaiser(n, 14.0)), count, bound=1e-12)
    near = ingot.jit(lambda n: (np.hanning(n), np.blackman(n)))(count)
    for got, wanted in zip(near, (np.hanning(count), np.blackman(count))):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape and np.allclose(got, wanted, rtol=0, atol=1e-15)


@pytest.mark.rotated(3)
def test_polynomials_of_numbers():
    check(lambda: (np.polymul(3, 2), np.polymul([1, 2, 3], 2.5), np.polymul(2j, [0, 0]), np.polymul([-0.0], 1), np.polymul([], [1])))
    check(lambda x: (np.polymul(x[0], np.float32(2)), np.polydiv(3, 2), np.polyadd(3, [1, 2]), np.polyint([1, 2], 2, [3, 4, 5])), GRID)
    check(lambda x: (np.polyder([1, 2, 3], 1.5), np.polyint([1.0], 1.5), np.polyval(x, 2.0)), GRID)
    for function in (
        lambda x: np.polyval(3, 2),
        lambda x: np.polyder(3),
        lambda x: np.polyint(3),
        lambda x: np.polyint([1], 3, [1, 2]),
        lambda x: np.polymul(x, [1, 2]),
        lambda x: np.polydiv(x, [1, 2]),
        lambda x: np.polydiv([1.0, 2], x),
        lambda x: np.poly(3),
        lambda x: np.roots(3),
    ):
        check(function, GRID)
