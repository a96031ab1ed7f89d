"""Differences, interpolation, integration, polynomials and windows."""

import ingot
import numpy as np
import pytest
from support import check

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


@pytest.mark.sampled(5)
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
