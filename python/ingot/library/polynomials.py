"""numpy.polynomial.polynomial: series of powers, the constant first."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.polynomial.polynomial as polynomial

from .._errors import TypeChangeError
from . import primitives
from .numerical import convolve, fitted, need_points, weighed
from .registry import implements


def trimmed(c: Any) -> Any:
    """Without the zeros after the last coefficient that is not 0; one is left."""
    n = c.shape[0]
    while n > 1 and c[n - 1] == 0:
        n -= 1
    return c[:n]


def series(*given: Any) -> list[Any]:
    """Coefficients of a common inexact dtype, trimmed."""
    arrays = [np.atleast_1d(c) for c in given]
    for c in arrays:
        if c.size == 0:
            raise ValueError("Coefficient array is empty")
    for c in arrays:
        if c.ndim != 1:
            raise ValueError("Coefficient array is not 1-d")
    dtypes = [c.dtype if c.dtype.kind in "fc" else np.dtype(np.float64) for c in arrays]
    dtype = np.result_type(np.float16, *dtypes)
    return [trimmed(c).astype(dtype) for c in arrays]


def inexact(c: Any) -> Any:
    return c + 0.0 if c.dtype.kind in "biu" else c


@implements(polynomial.polyval)
def polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    c = inexact(np.atleast_1d(c))
    if isinstance(x, (tuple, list)):
        x = np.asarray(x)
    if isinstance(x, np.ndarray) and tensor:
        c = np.reshape(c, c.shape + (1,) * x.ndim)
    value = c[-1] + x * 0
    for i in range(2, len(c) + 1):
        value = c[-i] + value * x
    return value


def summed(a: Any, b: Any) -> Any:
    n = max(a.shape[0], b.shape[0])
    total = np.zeros((n,), a.dtype)
    total[: a.shape[0]] = a
    total[: b.shape[0]] += b
    return trimmed(total)


@implements(polynomial.polyadd)
def polyadd(c1: Any, c2: Any) -> Any:
    a, b = series(c1, c2)
    return summed(a, b)


@implements(polynomial.polysub)
def polysub(c1: Any, c2: Any) -> Any:
    a, b = series(c1, c2)
    return summed(a, -b)


@implements(polynomial.polymul)
def polymul(c1: Any, c2: Any) -> Any:
    a, b = series(c1, c2)
    return trimmed(convolve(a, b))


@implements(polynomial.polymulx)
def polymulx(c: Any) -> Any:
    (c,) = series(c)
    if c.shape[0] == 1 and c[0] == 0:
        return c
    return np.concatenate((c[:1] * 0, c))


@implements(polynomial.polypow)
def polypow(c: Any, pow: Any, maxpower: Any = None) -> Any:
    (c,) = series(c)
    power = int(pow)
    if power != pow or power < 0:
        raise ValueError("Power must be a non-negative integer.")
    if maxpower is not None and power > maxpower:
        raise ValueError("Power is too large")
    if power == 0:
        return np.array([1], c.dtype)
    product = c
    for _ in range(2, power + 1):
        product = convolve(product, c)
    return product


@implements(polynomial.polyder)
def polyder(c: Any, m: int = 1, scl: Any = 1, axis: int = 0) -> Any:
    c = inexact(np.atleast_1d(c)).copy()
    if m < 0:
        raise ValueError("The order of derivation must be non-negative")
    rows = np.moveaxis(c, axis, 0)
    if m >= rows.shape[0]:
        rows = rows[:1] * 0
    else:
        for _ in range(m):
            n = rows.shape[0]
            rank = np.arange(1, n)[(slice(None),) + (None,) * (rows.ndim - 1)]
            rows = (rank * (rows[1:] * scl)).astype(c.dtype)
    return np.moveaxis(rows, 0, axis)


@implements(polynomial.polyint)
def polyint(c: Any, m: int = 1, k: Any = (), lbnd: Any = 0, scl: Any = 1, axis: int = 0) -> Any:
    c = inexact(np.atleast_1d(c)).copy()
    constants = list(k) if isinstance(k, (list, tuple)) else [k]
    if m < 0:
        raise ValueError("The order of integration must be non-negative")
    if len(constants) > m:
        raise ValueError("Too many integration constants")
    rows = np.moveaxis(c, axis, 0)
    for i in range(m):
        constant = constants[i] if i < len(constants) else 0
        n = rows.shape[0]
        scaled = (rows * scl).astype(c.dtype)
        if n == 1 and np.all(scaled[0] == 0):
            rows = scaled + constant
        else:
            made = np.empty((n + 1,) + rows.shape[1:], c.dtype)
            made[0] = scaled[0] * 0
            made[1:] = scaled / np.arange(1, n + 1)[(slice(None),) + (None,) * (rows.ndim - 1)]
            made[0] += constant - polyval(lbnd, made)
            rows = made
    return np.moveaxis(rows, 0, axis)


@implements(polynomial.polyvander)
def polyvander(x: Any, deg: int) -> Any:
    if deg < 0:
        raise ValueError("deg must be non-negative")
    x = np.atleast_1d(x) + 0.0
    powers = np.empty((deg + 1,) + x.shape, x.dtype)
    powers[0] = x * 0 + 1
    for i in range(1, deg + 1):
        powers[i] = powers[i - 1] * x
    return np.moveaxis(powers, 0, -1)


@implements(polynomial.polyfit)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None) -> Any:
    if full or isinstance(deg, (list, tuple, np.ndarray)):
        primitives.refuse("`full`, or a list of degrees, of polyfit", "use np.linalg.lstsq")
    places = np.asarray(x) + 0.0
    values = np.asarray(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    need_points(places, values)
    powers = polyvander(places, deg)
    powers, values = weighed(powers, values, w)
    if rcond is None:
        rcond = places.shape[0] * np.finfo(places.dtype).eps
    scale = np.sqrt(np.sum(np.square(powers), axis=0))
    return fitted(powers, values, np.where(scale == 0, scale.dtype.type(1), scale), rcond)


@implements(polynomial.polycompanion)
def polycompanion(c: Any) -> Any:
    (c,) = series(c)
    n = c.shape[0] - 1
    if n < 1:
        raise ValueError("Series must have maximum degree of at least 1.")
    result = np.zeros((n, n), c.dtype)
    result[1:, :-1] = np.eye(n - 1, dtype=c.dtype)
    result[:, -1] -= c[:-1] / c[-1]
    return result


@implements(polynomial.polyroots)
def polyroots(c: Any) -> Any:
    (c,) = series(c)
    if c.dtype.kind != "c" and c.shape[0] < 3:
        raise TypeChangeError("a polynomial of degree 0 or 1 has roots of floats")
    if c.shape[0] < 2:
        return np.zeros((0,), np.result_type(c.dtype, np.complex64))
    return np.sort(np.linalg.eigvals(polycompanion(c)))
