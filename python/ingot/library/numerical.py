"""Differences, interpolation, integration, polynomials and windows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .._errors import TypeChangeError
from . import primitives
from .reductions import NoValue, known_axis
from .registry import implements
from .shapes import need_castable, need_no_bool, normal_axis


def along(x: Any, axis: int, part: slice) -> Any:
    """A part of an array along one axis."""
    return x[(slice(None),) * axis + (part,)]


def edge(value: Any, x: Any, axis: int) -> Any:
    """What is joined before or after an array: an array, or a number repeated across the other axes."""
    y = np.asarray(value)
    if y.ndim == 0:
        return primitives.broadcast(y, tuple([1 if i == axis else x.shape[i] for i in range(x.ndim)]))
    return y


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NoValue, append: Any = NoValue) -> Any:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    x = np.asarray(a)
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = known_axis(axis, x.ndim)
    parts = [edge(prepend, x, axis)] if prepend is not NoValue else []
    parts.append(x)
    if append is not NoValue:
        parts.append(edge(append, x, axis))
    if len(parts) > 1:
        x = np.concatenate(parts, axis)
    for _ in range(n):
        later = along(x, axis, slice(1, None))
        earlier = along(x, axis, slice(None, -1))
        x = np.not_equal(later, earlier) if x.dtype == np.bool_ else later - earlier
    return x


def end_of(given: Any, dtype: np.dtype, name: str) -> Any:
    """What is joined before or after differences, at their dtype."""
    end = np.asarray(given)
    if not np.can_cast(end.dtype, dtype, "same_kind"):
        raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    return np.ravel(end).astype(dtype)


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = np.ravel(np.asarray(ary))
    parts = [] if to_begin is None else [end_of(to_begin, x.dtype, "to_begin")]
    if to_end is not None:
        end = end_of(to_end, x.dtype, "to_end")
    parts.append(np.subtract(x[1:], x[:-1]))
    if to_end is not None:
        parts.append(end)
    return primitives.concat(parts, 0) if len(parts) > 1 else parts[0]


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = np.asarray(f)
    if axis is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axis, tuple):
        axes = tuple([known_axis(one, x.ndim) for one in axis])
    else:
        axes = (known_axis(axis, x.ndim),)
    if len(varargs) == 0:
        steps = (1.0,) * len(axes)
    elif len(varargs) == 1 and np.asarray(varargs[0]).ndim == 0:
        steps = (varargs[0],) * len(axes)
    elif len(varargs) == len(axes):
        steps = varargs
    else:
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if x.dtype.kind == "b" and len(axes) > 0:
        np.subtract(x[:0], x[:0])  # raises what the difference of bools raises
    if x.dtype.kind not in "fc":
        x = x.astype(np.float64)
    results = tuple([slope(x, axes[i], steps[i], edge_order) for i in range(len(axes))])
    return results[0] if len(axes) == 1 else results


def slope(x: Any, axis: int, step: Any, edge_order: int) -> Any:
    """The derivative along one axis by central differences inside, one-sided ones at the edges."""
    if x.shape[axis] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
        )
    result = np.empty_like(x)
    inner = along(result, axis, slice(1, -1))
    before = along(x, axis, slice(None, -2))
    middle = along(x, axis, slice(1, -1))
    after = along(x, axis, slice(2, None))
    spacing = np.asarray(step)
    if spacing.ndim == 0:
        inner[...] = (after - before) / (2.0 * step)
        first = last = step
        first_two = last_two = (step, step)
    else:
        if spacing.shape[0] != x.shape[axis]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        widths = spacing[1:] - spacing[:-1]
        expanded = tuple([slice(None) if i == axis else None for i in range(x.ndim)])
        left = widths[:-1][expanded]
        right = widths[1:][expanded]
        inner[...] = -right / (left * (left + right)) * before + (right - left) / (left * right) * middle + left / (right * (left + right)) * after
        first, last = widths[0], widths[-1]
        first_two = (widths[0], widths[1] if widths.shape[0] > 1 else widths[0])
        last_two = (widths[-2] if widths.shape[0] > 1 else widths[-1], widths[-1])
    if edge_order == 1:
        along(result, axis, slice(0, 1))[...] = (along(x, axis, slice(1, 2)) - along(x, axis, slice(0, 1))) / first
        along(result, axis, slice(-1, None))[...] = (along(x, axis, slice(-1, None)) - along(x, axis, slice(-2, -1))) / last
        return result
    h, k = first_two
    if spacing.ndim == 0:
        a, b, c = -1.5 / h, 2.0 / h, -0.5 / h
    else:
        a, b, c = -(2.0 * h + k) / (h * (h + k)), (h + k) / (h * k), -h / (k * (h + k))
    along(result, axis, slice(0, 1))[...] = a * along(x, axis, slice(0, 1)) + b * along(x, axis, slice(1, 2)) + c * along(x, axis, slice(2, 3))
    h, k = last_two
    if spacing.ndim == 0:
        a, b, c = 0.5 / h, -2.0 / h, 1.5 / h
    else:
        a, b, c = k / (h * (h + k)), -(k + h) / (h * k), (2.0 * k + h) / (k * (h + k))
    along(result, axis, slice(-1, None))[...] = (
        a * along(x, axis, slice(-3, -2)) + b * along(x, axis, slice(-2, -1)) + c * along(x, axis, slice(-1, None))
    )
    return result


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    values = np.asarray(y)
    if values.ndim == 0:
        raise IndexError("list assignment index out of range")
    behind = axis
    axis = known_axis(axis, values.ndim)
    if x is None:
        widths = dx
    else:
        places = np.asarray(x)
        if places.ndim == 1:
            widths = (places[1:] - places[:-1])[tuple([slice(None) if i == axis else None for i in range(values.ndim)])]
        else:
            widths = diff(places, axis=behind)
    means = widths * (along(values, axis, slice(1, None)) + along(values, axis, slice(None, -1))) / 2.0
    return np.sum(means, behind)


def place_from(at: Any, places: Any, guess: int) -> int:
    """The last index whose value a number is not below: -1 before all, their number after the last one.

    The search begins around a guess, as NumPy's does, so that points out of order and NaN among them give what NumPy finds.
    """
    count = places.shape[0]
    if at > places[count - 1]:
        return count
    if at < places[0]:
        return -1
    if count <= 4:
        place = 1
        while place < count and at >= places[place]:
            place += 1
        return place - 1
    low = 0
    high = count
    guess = max(min(guess, count - 3), 1)
    if at < places[guess]:
        if not at < places[guess - 1]:
            return guess - 1
        high = guess - 1
        if guess > 8 and at >= places[guess - 8]:
            low = guess - 8
    else:
        if at < places[guess + 1]:
            return guess
        if at < places[guess + 2]:
            return guess + 1
        low = guess + 2
        if guess < count - 9 and at < places[guess + 8]:
            high = guess + 8
    while low < high:
        middle = (low + high) // 2
        if at >= places[middle]:
            low = middle + 1
        else:
            high = middle
    return low - 1


def between(at: Any, k: int, places: Any, values: Any, is_part: bool) -> Any:
    """The number at a point after the k-th one on the line to the next one; from there where that gives NaN."""
    run = places[k + 1] - places[k]
    rise = values[k + 1] - values[k]
    slope = rise * (1.0 / run) if is_part else rise / run
    number = slope * (at - places[k]) + values[k]
    if np.isnan(number):
        number = slope * (at - places[k + 1]) + values[k + 1]
        if np.isnan(number) and values[k] == values[k + 1]:
            number = values[k]
    return number


def interpolated(wanted: Any, places: Any, values: Any, below: Any, above: Any, unknown: Any, is_part: bool) -> Any:
    """Floats, or parts of complex numbers, on the lines between values; `unknown` instead of NaN, if it is a number."""
    result = np.empty(wanted.shape, np.float64)
    last = places.shape[0] - 1
    k = 0
    for i in range(wanted.shape[0]):
        at = wanted[i]
        if last == 0:
            result[i] = below if at < places[0] else above if at > places[0] else values[0]
        elif np.isnan(at):
            result[i] = at if unknown is None else unknown
        else:
            k = place_from(at, places, k)
            if k < 0:
                result[i] = below
            elif k > last:
                result[i] = above
            elif k == last or places[k] == at:
                result[i] = values[k]
            else:
                result[i] = between(at, k, places, values, is_part)
    return result


def in_period(wanted: Any, places: Any, values: Any, period: Any) -> tuple[Any, Any, Any]:
    """All points in one period, in order, with one more before and after them."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    if places.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if places.shape[0] != values.shape[0]:
        raise ValueError("fp and xp are not of the same length")
    wanted = np.asarray(wanted % period)
    places = places % period
    order = np.argsort(places)
    places = places[order]
    values = values[order]
    places = np.concatenate((places[-1:] - period, places, places[0:1] + period))
    return wanted, places, np.concatenate((values[-1:], values, values[0:1]))


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    places = np.asarray(xp)
    given = np.asarray(fp)
    wanted = np.asarray(x)
    is_complex = given.dtype.kind == "c"
    values = given.astype(np.complex128 if is_complex else np.float64)
    if period is not None:
        wanted, places, values = in_period(wanted.astype(np.float64), places.astype(np.float64), values, period)
        left = right = None
    for line in (values, places):
        need_line(line)
    need_castable(places.dtype, np.dtype(np.float64), "safe")
    places = places.astype(np.float64)
    need_castable(wanted.dtype, np.dtype(np.float64), "safe")
    flat = np.ravel(wanted.astype(np.float64))
    if places.shape[0] == 0:
        raise ValueError("array of sample points is empty")
    if places.shape[0] != values.shape[0]:
        raise ValueError("fp and xp are not of the same length.")
    below = values[0] if left is None else values.dtype.type(left)
    above = values[-1] if right is None else values.dtype.type(right)
    if is_complex:
        re = interpolated(flat, places, values.real, below.real, above.real, None, True)
        im = interpolated(flat, places, values.imag, below.imag, above.imag, 0.0, True)
        result = primitives.make_complex(re, im)
    else:
        result = interpolated(flat, places, values, below, above, None, False)
    return primitives.reshape(result, wanted.shape)[()]


def need_line(x: Any) -> None:
    if x.ndim != 1:
        raise ValueError("object too deep for desired array" if x.ndim > 1 else "object of too small depth for desired array")


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    x = np.asarray(a)
    y = np.asarray(v)
    x = x[None] if x.ndim == 0 else x
    y = y[None] if y.ndim == 0 else y
    if x.shape[0] == 0:
        raise ValueError("a cannot be empty")
    if y.shape[0] == 0:
        raise ValueError("v cannot be empty")
    need_line(x)
    need_line(y)
    return slid(x, y[::-1], mode) if x.shape[0] >= y.shape[0] else slid(y, x[::-1], mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    x = np.asarray(a)
    y = np.asarray(v)
    need_line(x)
    need_line(y)
    if x.shape[0] == 0:
        raise ValueError("first array argument cannot be empty")
    if y.shape[0] == 0:
        raise ValueError("second array argument cannot be empty")
    return slid(x, np.conjugate(y) if y.dtype.kind == "c" else y, mode)


def slid(x: Any, y: Any, mode: str) -> Any:
    """The sums of products of y with the elements of x below it while it slides along x."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got '{mode}')")
    dtype = np.result_type(x.dtype, y.dtype)
    m = x.shape[0]
    n = y.shape[0]
    longer = m if m > n else n
    shorter = n if m > n else m
    if mode == "full":
        count = longer + shorter - 1
        first = 1 - n
    elif mode == "same":
        count = longer
        first = -(n // 2) if m >= n else m // 2 - (n - 1)
    else:
        count = longer - shorter + 1
        first = 0 if m >= n else m - n
    result = np.zeros((count,), dtype)
    a = x.astype(dtype)
    b = y.astype(dtype)
    # All of y is over x from one of these on, and before the other.
    whole = min(max(-first, 0), count)
    behind = max(min(m - n + 1 - first, count), whole)
    if dtype.kind == "b" or dtype == np.float16 or m < n:
        behind = whole
    else:
        under = a[first + whole : first + behind + n - 1]
        inside = result[whole:behind]
        for k in range(len(inside)):
            total = dtype.type(0)
            for j in range(n):
                total += under[k + j] * b[j]
            inside[k] = total
    for k in itertools.chain(range(whole), range(behind, count)):
        start = first + k
        low = 0 if start > 0 else -start
        high = n if start + n <= m else m - start
        result[k] = np.dot(a[start + low : start + high], b[low:high])
    return result


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    x = np.asarray(a)
    y = np.asarray(b)
    if axis is not None:
        axisa = axisb = axisc = axis
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("At least one array has zero dimension")
    i = normal_axis(axisa, x.ndim, "axisa")
    j = normal_axis(axisb, y.ndim, "axisb")
    x = primitives.transpose(x, tuple([k for k in range(x.ndim) if k != i]) + (i,))
    y = primitives.transpose(y, tuple([k for k in range(y.ndim) if k != j]) + (j,))
    for length in (x.shape[-1], y.shape[-1]):
        if length != 2 and length != 3:
            raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if x.shape[-1] == 2 or y.shape[-1] == 2:
        raise TypeChangeError("the cross product of vectors of two numbers may be a number (append a 0 to them)")
    first = x[..., 1] * y[..., 2] - x[..., 2] * y[..., 1]
    second = x[..., 2] * y[..., 0] - x[..., 0] * y[..., 2]
    third = x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    if x.ndim == 1 and y.ndim == 1:
        result = np.empty((3,), first.dtype)
    else:
        result = np.empty(first.shape + (3,), first.dtype)
    result[..., 0] = first
    result[..., 1] = second
    result[..., 2] = third
    to = known_axis(axisc, result.ndim)
    order = list(range(result.ndim - 1))
    order.insert(to, result.ndim - 1)
    return primitives.transpose(result, tuple(order))


@implements(np.linalg.cross)
def cross_of_vectors(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x = np.asarray(x1)
    y = np.asarray(x2)
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {x.shape[axis]} and {y.shape[axis]} dimensional instead."
        )
    return cross(x, y, axis=axis)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 6.283185307179586) -> Any:
    x = np.asarray(p)
    steps = diff(x, 1, axis)
    need_no_bool(axis)
    axis = known_axis(axis, x.ndim)
    if discont is None:
        discont = period / 2
    dtype = np.result_type(steps.dtype, np.float64) if x.dtype.kind in "iub" else x.dtype
    if x.dtype.kind in "iu" and isinstance(period, int):
        primitives.refuse("np.unwrap of ints with an int period", "convert to floats")
    high = period / 2
    low = -high
    wrapped = np.remainder(steps - low, period) + low
    wrapped = np.where((wrapped == low) & (steps > 0), wrapped.dtype.type(high), wrapped)
    correct = np.where(np.absolute(steps) < discont, wrapped.dtype.type(0), wrapped - steps)
    result = x.astype(dtype)
    along(result, axis, slice(1, None))[...] = along(x, axis, slice(1, None)) + np.cumsum(correct, axis)
    return result


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    coefficients = np.asarray(p)
    if coefficients.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    places = np.asarray(x)
    result = np.zeros(places.shape, places.dtype)[()]
    if coefficients.shape[0] == 0:
        if places.ndim < max(coefficients.ndim - 1, 1) or np.result_type(places, coefficients) != places.dtype:
            raise TypeChangeError("a polynomial without coefficients is an array of the points' dtype and shape")
        return result
    value = result * places + coefficients[0]
    for k in range(1, coefficients.shape[0]):
        value = value * places + coefficients[k]
    return value


def need_points(places: Any, values: Any) -> None:
    if places.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if places.shape[0] == 0:
        raise TypeError("expected non-empty vector for x")
    if values.ndim < 1 or values.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if places.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")


def weighed(powers: Any, values: Any, w: Any) -> tuple[Any, Any]:
    if w is None:
        return powers, values
    weights = np.asarray(w) + 0.0
    return np.multiply(powers, weights[:, None], out=powers), np.multiply(
        values, weights[:, None] if values.ndim == 2 else weights, out=values
    )


def fitted(powers: Any, values: Any, scale: Any, rcond: float) -> Any:
    """The coefficients of powers, whose columns are scaled first, that come closest to values."""
    solution = np.linalg.lstsq(powers / scale, values, rcond)[0]
    return solution / scale[:, None] if values.ndim == 2 else solution / scale


@implements(np.polyfit)
def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    if full or (not isinstance(cov, bool)) or cov:
        primitives.refuse("`full` or `cov` of np.polyfit", "use np.linalg.lstsq")
    places = np.asarray(x) + 0.0
    values = np.asarray(y) + 0.0
    need_points(places, values)
    if rcond is None:
        rcond = places.shape[0] * np.finfo(np.float64).eps
    powers = places[:, None] ** np.arange(deg, -1, -1)
    powers, values = weighed(powers, values, w)
    return fitted(powers, values, np.sqrt(np.sum(powers * powers, axis=0)), rcond)


def added(a1: Any, a2: Any, sign: int) -> Any:
    a = np.atleast_1d(a1)
    b = np.atleast_1d(a2)
    missing = len(b) - len(a)
    if missing > 0:
        a = np.concatenate((np.zeros(missing, a.dtype), a))
    elif missing < 0:
        b = np.concatenate((np.zeros(-missing, b.dtype), b))
    return np.add(a, b) if sign > 0 else np.subtract(a, b)


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    return added(a1, a2, 1)


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    return added(a1, a2, -1)


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    return convolve(coefficients(a1), coefficients(a2))


def coefficients(a: Any) -> Any:
    """Those from the first that is not 0 on; of none, 0."""
    x = np.atleast_1d(a)
    if x.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    first = 0
    while first < x.shape[0] and x[first] == 0:
        first += 1
    return np.zeros(1, x.dtype) if first == x.shape[0] else x[first:]


def need_length(x: Any) -> None:
    if x.ndim == 0:
        raise TypeError("len() of unsized object")


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    x = np.asarray(p)
    need_length(x)
    for _ in range(m):
        n = x.shape[0] - 1
        x = x[:-1] * np.arange(n, 0, -1)
    return x


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    x = np.asarray(p)
    given = np.atleast_1d(0.0 if k is None else k)
    if len(given) < m and len(given) != 1:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    if m > 0:
        need_length(x)
    constants = [given[i if len(given) > 1 else 0] for i in range(m)]
    for constant in constants:
        parts = x / np.arange(x.shape[0], 0, -1)
        x = np.concatenate((parts, np.reshape(np.asarray(constant), (1,))))
    return x


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    dividend = np.atleast_1d(u) + 0.0
    divisor = np.atleast_1d(v) + 0.0
    dtype = np.result_type(dividend, divisor)
    if len(dividend) == 0 or len(divisor) == 0:
        raise IndexError("index 0 is out of bounds for axis 0 with size 0")
    degree = divisor.shape[0] - 1
    count = dividend.shape[0] - degree
    scale = 1.0 / divisor[0]
    quotient = np.zeros((max(count, 1),), dtype)
    rest = dividend.astype(dtype)
    for k in range(count):
        factor = scale * rest[k]
        quotient[k] = factor
        rest[k : k + degree + 1] -= factor * divisor
    first = 0
    while first < rest.shape[0] - 1 and np.allclose(rest[first], 0, rtol=1e-14):
        first += 1
    return quotient, rest[first:]


def need_several(x: Any) -> None:
    if np.ndim(x) == 0:
        raise TypeError("dispatcher for __array_function__ did not return an iterable")


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    need_several(seq_of_zeros)
    zeros = np.atleast_1d(seq_of_zeros)
    if zeros.ndim > 2:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if zeros.ndim == 2:
        zeros = np.linalg.eigvals(zeros)
    dtype = zeros.dtype if zeros.dtype.kind in "fc" and zeros.dtype != np.float16 else np.dtype(np.float64)
    if zeros.shape[0] == 0:
        raise TypeChangeError("the polynomial of no zeros is a number")
    result = np.zeros((zeros.shape[0] + 1,), dtype)
    result[0] = 1
    for k in range(zeros.shape[0]):
        result[1 : k + 2] = result[1 : k + 2] - zeros[k] * result[: k + 1]
    if dtype.kind == "c" and np.all(np.sort(zeros) == np.sort(np.conjugate(zeros))):
        raise TypeChangeError("zeros of which each has its conjugate make floats")
    return result


@implements(np.roots)
def roots(p: Any) -> Any:
    need_several(p)
    p = np.atleast_1d(p)
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    places = np.flatnonzero(p)
    if len(places) == 0:
        raise TypeChangeError("a polynomial without coefficients has no roots, of float64")
    first = places[0]
    last = places[-1]
    dtype = p.dtype if p.dtype.kind in "fc" else np.dtype(np.float64)
    given = p[first : last + 1].astype(dtype)
    degree = len(given) - 1
    if degree == 0:
        raise TypeChangeError("a polynomial of one coefficient has roots of float64")
    companion = np.zeros((degree, degree), dtype)
    companion[1:, :-1] = np.eye(degree - 1, dtype=dtype)
    companion[0] = -given[1:] / given[0]
    found = np.linalg.eigvals(companion)
    return np.concatenate((found, np.zeros((len(p) - last - 1,), found.dtype)))


@implements(np.hanning)
def hanning(M: Any) -> Any:
    if M < 1:
        return np.zeros((0,), np.float64)
    if M == 1:
        return np.full((1,), 1.0)
    n = np.arange(1 - M, M, 2)
    return 0.5 + 0.5 * np.cos(np.pi * n / (M - 1))


@implements(np.hamming)
def hamming(M: Any) -> Any:
    if M < 1:
        return np.zeros((0,), np.float64)
    if M == 1:
        return np.full((1,), 1.0)
    n = np.arange(1 - M, M, 2)
    return 0.54 + 0.46 * np.cos(np.pi * n / (M - 1))


@implements(np.blackman)
def blackman(M: Any) -> Any:
    if M < 1:
        return np.zeros((0,), np.float64)
    if M == 1:
        return np.full((1,), 1.0)
    n = np.arange(1 - M, M, 2)
    return 0.42 + 0.5 * np.cos(np.pi * n / (M - 1)) + 0.08 * np.cos(2.0 * np.pi * n / (M - 1))


@implements(np.bartlett)
def bartlett(M: Any) -> Any:
    if M < 1:
        return np.zeros((0,), np.float64)
    if M == 1:
        return np.full((1,), 1.0)
    n = np.arange(1 - M, M, 2)
    return np.where(n <= 0, 1 + n / (M - 1), 1 - n / (M - 1))


@implements(np.kaiser)
def kaiser(M: Any, beta: Any) -> Any:
    if M < 1:
        return np.zeros((0,), np.float64)
    if M == 1:
        return np.full((1,), 1.0)
    n = np.arange(0, M)
    alpha = (M - 1) / 2.0
    return np.i0(beta * np.sqrt(1 - ((n - alpha) / alpha) ** 2.0)) / np.i0(np.float64(beta))
