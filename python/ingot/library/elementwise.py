"""Elementwise functions that are made of others."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._errors import TypeChangeError
from . import primitives
from .registry import implements
from .shapes import need_castable, output
from .ufuncs import need_one_shape


def finished(result: Any, out: Any, where: Any, name: str) -> Any:
    """What an elementwise function returns: its result, or the output that it is put into, where a mask holds."""
    out = output(out)
    if out is None:
        return result
    return primitives.put(out, result, where, name)


def is_true(x: Any) -> Any:
    """Whether numbers are not zero."""
    return np.not_equal(x, 0)


@implements(np.logical_not)
def logical_not(x: Any, /, out: Any = None, *, where: Any = True) -> Any:
    return np.equal(x, 0, out=out, where=where)


@implements(np.logical_and)
def logical_and(x1: Any, x2: Any, /, out: Any = None, *, where: Any = True) -> Any:
    return np.bitwise_and(is_true(x1), is_true(x2), out=out, where=where)


@implements(np.logical_or)
def logical_or(x1: Any, x2: Any, /, out: Any = None, *, where: Any = True) -> Any:
    return np.bitwise_or(is_true(x1), is_true(x2), out=out, where=where)


@implements(np.logical_xor)
def logical_xor(x1: Any, x2: Any, /, out: Any = None, *, where: Any = True) -> Any:
    return np.not_equal(is_true(x1), is_true(x2), out=out, where=where)


@implements(np.positive)
def positive(x: Any, /, out: Any = None, *, where: Any = True) -> Any:
    given = np.asarray(x)
    primitives.loop(np.positive, (given,), (output(out),))
    result = np.copy(given) if given.ndim > 0 else given[()]
    return finished(result, out, where, "positive")


@implements(np.float_power)
def float_power(x1: Any, x2: Any, /, out: Any = None, *, where: Any = True) -> Any:
    a = np.asarray(x1)
    b = np.asarray(x2)
    at = np.complex128 if a.dtype.kind == "c" or b.dtype.kind == "c" else np.float64
    # Of one exponent, `np.power` takes roots, which have another sign of zero.
    exponents = np.broadcast_to(b.astype(at), np.broadcast_shapes(a.shape, b.shape))
    return finished(np.power(a.astype(at), exponents), out, where, "float_power")


@implements(np.heaviside)
def heaviside(x1: Any, x2: Any, /, out: Any = None, *, where: Any = True) -> Any:
    # A NaN is the result; copysign computes nothing, but gives the common dtype.
    like = np.copysign(x2, x1)
    zero = like.dtype.type(0)
    one = like.dtype.type(1)
    chosen = np.where(np.equal(x1, 0), np.asarray(x2).astype(like.dtype), np.where(np.less(x1, 0), zero, one))
    result = np.where(np.isnan(x1), np.asarray(x1).astype(like.dtype), chosen)[()]
    return finished(result, out, where, "heaviside")


@implements(np.divmod)
def divmod(x1: Any, x2: Any, /) -> Any:
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


@implements(np.modf)
def modf(x: Any, /) -> Any:
    need_real("modf", x)
    whole = np.trunc(np.add(x, inexact_zero(x)))
    number = np.add(x, inexact_zero(x))
    fraction = np.where(np.isinf(number), number.dtype.type(0), number - whole)
    return np.copysign(fraction, number)[()], whole


def need_real(name: str, x: Any) -> None:
    if np.asarray(x).dtype.kind == "c":
        raise TypeError(
            f"ufunc '{name}' not supported for the input types, and the inputs could not be safely coerced to any "
            "supported types according to the casting rule ''safe''"
        )


def inexact_zero(x: Any) -> Any:
    """-0.0 of the dtype that ufuncs of floats compute numbers at."""
    dtype = np.asarray(x).dtype
    if dtype.kind == "f":
        return dtype.type(-0.0)
    if dtype.itemsize == 1:
        return np.float16(-0.0)
    return np.float32(-0.0) if dtype.itemsize == 2 else np.float64(-0.0)


@implements(np.frexp)
def frexp(x: Any, /) -> Any:
    need_real("frexp", x)
    number = np.add(x, inexact_zero(x))
    return primitives.mantissa(number), primitives.exponent(number)


@implements(np.ldexp)
def ldexp(x1: Any, x2: Any, /, out: Any = None, *, where: Any = True) -> Any:
    number = np.add(x1, inexact_zero(x1))
    if isinstance(x1, int) and isinstance(x2, (np.ndarray, np.generic)):  # the smallest float that is safe
        number = np.float16(x1)
    given = np.asarray(x2).dtype
    if given.kind not in "biu" or given == np.uint64 or number.dtype.kind == "c":
        raise TypeError(
            "ufunc 'ldexp' not supported for the input types, and the inputs could not be safely coerced to any "
            "supported types according to the casting rule ''safe''"
        )
    # Beyond these every number is 0 or infinite.
    power = np.minimum(np.maximum(np.asarray(x2).astype(np.int64), -5000), 5000)
    if number.dtype == np.float16:
        result = primitives.scale_by_power(number.astype(np.float32), power.astype(np.float32)).astype(np.float16)
    else:
        result = primitives.scale_by_power(number, power.astype(number.dtype))
    return finished(result, out, where, "ldexp")


@implements(np.bitwise_count)
def bitwise_count(x: Any, /, out: Any = None, *, where: Any = True) -> Any:
    return finished(primitives.bitwise_count(np.asarray(x)).astype(np.uint8)[()], out, where, "bitwise_count")


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    return np.logical_and(np.isinf(x), np.logical_not(np.signbit(x)), out)


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    return np.logical_and(np.isinf(x), np.signbit(x), out)


def imaginary_of(x: Any) -> Any:
    """The imaginary parts of numbers, without memory of their own."""
    return primitives.imaginary(x) if x.dtype.kind == "c" else np.zeros(x.shape, x.dtype)


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return np.not_equal(imaginary_of(np.asarray(x)), 0)[()]


@implements(np.isreal)
def isreal(x: Any) -> Any:
    return np.equal(imaginary_of(np.asarray(x)), 0)[()]


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return np.asarray(x).dtype.kind == "c"


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return np.asarray(x).dtype.kind != "c"


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    x = np.asarray(a)
    if x.dtype.kind != "c":
        return x
    bound = np.finfo(x.dtype).eps * tol if tol > 1 else tol
    if not np.all(np.abs(x.imag) < bound):
        raise TypeChangeError("numbers that are not all close to real ones stay complex (take them as they are, or their `.real`)")
    return x.real


@implements(np.isscalar)
def isscalar(element: Any) -> bool:
    return isinstance(element, (int, float, complex, str, bytes, np.generic)) and not isinstance(element, np.ndarray)


@implements(np.clip)
def clip(a: Any, a_min: Any = np._NoValue, a_max: Any = np._NoValue, out: Any = None, *, min: Any = np._NoValue, max: Any = np._NoValue) -> Any:
    if a_min is np._NoValue and a_max is np._NoValue:
        return between(a, None if min is np._NoValue else min, None if max is np._NoValue else max, out)
    if a_min is np._NoValue or a_max is np._NoValue:
        missing = "a_min" if a_min is np._NoValue else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    if min is not np._NoValue or max is not np._NoValue:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    return between(a, a_min, a_max, out)


@implements(np.ndarray.clip)
def clip_method(a: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    return between(a, min, max, out)


def between(a: Any, low: Any, high: Any, out: Any) -> Any:
    x = np.asarray(a)
    # Python's ints that no number of the dtype reaches bound nothing.
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        if isinstance(low, int) and not isinstance(low, bool) and low <= limits.min:
            low = None
        if isinstance(high, int) and not isinstance(high, bool) and high >= limits.max:
            high = None
    if low is None and high is None:
        return positive(x, out)
    if low is None:
        return np.minimum(x, high, out=out)
    if high is None:
        return np.maximum(x, low, out=out)
    low = np.asarray(low) if isinstance(low, (list, tuple)) else low
    high = np.asarray(high) if isinstance(high, (list, tuple)) else high
    if out is not None:
        need_one_shape((x, low, high, out))
    elif np.ndim(low) > 0 or np.ndim(high) > 0:
        need_one_shape((x, low, high))
    x = x.astype(np.result_type(x, low, high))
    return finished(np.minimum(np.maximum(x, low), high), out, True, "clip")


def power_of_ten(n: int) -> float:
    """As NumPy multiplies it up, which rounds more than once for large ones, up to infinity."""
    if n < 9:
        return float((1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000)[n])
    power = 1e9
    for _ in range(min(n, 400) - 9):
        power *= 10.0
    return power


def rounded_parts(x: Any, decimals: int, out: Any) -> Any:
    """Complex numbers, rounded part by part."""
    re = round(primitives.real(x), decimals)
    im = round(primitives.imaginary(x), decimals)
    if out is None:
        return primitives.make_complex(re, im)
    out.real[...] = re
    if out.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    out.imag[...] = im
    return out


@implements(np.round, np.around, np.ndarray.round)
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    x = np.asarray(a)
    decimals = operator.index(decimals)
    if x.dtype.kind == "c":
        return rounded_parts(x, decimals, out)
    if decimals >= 0 and x.dtype.kind in "iu":
        if out is None:
            return np.copy(x)[()]
        need_castable(x.dtype, out.dtype, "same_kind")
        out[...] = x
        return out
    if decimals == 0:
        return np.rint(x) if out is None else np.rint(x, out=out)
    if x.dtype.kind == "b" and out is None:
        out = np.zeros_like(x)  # raises: NumPy computes in place
    power = power_of_ten(abs(decimals))
    if out is not None:
        scaled = np.multiply(x, power, out=out) if decimals > 0 else np.divide(x, power, out=out)
        whole = np.rint(scaled, out=out)
        return np.divide(whole, power, out=out) if decimals > 0 else np.multiply(whole, power, out=out)
    result = np.rint(x * power) / power if decimals > 0 else np.rint(x / power) * power
    return result.astype(x.dtype)[()] if x.dtype.kind in "iu" else result


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    return np.trunc(x, out=out)


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    a = np.asarray(x)
    if a.dtype.kind not in "fc":
        return (a.copy() if copy else a)[()] if a.ndim == 0 else (a.copy() if copy else a)
    if a.dtype.kind == "c":
        re = numbered(primitives.real(a), nan, posinf, neginf)
        im = numbered(primitives.imaginary(a), nan, posinf, neginf)
        result = primitives.make_complex(re, im)
    else:
        result = numbered(a, nan, posinf, neginf)
    if not copy:
        a[...] = result
        return a[()] if a.ndim == 0 else a
    return np.asarray(result)[()]


def numbered(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """Floats with numbers instead of NaN and infinities."""
    limits = np.finfo(x.dtype)
    most = x.dtype.type(limits.max if posinf is None else posinf)
    least = x.dtype.type(limits.min if neginf is None else neginf)
    finite = np.where(x == np.inf, most, np.where(x == -np.inf, least, x))
    return np.where(np.isnan(x), x.dtype.type(nan), finite)


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    x = np.asarray(a)
    y = np.asarray(b)
    if y.dtype.kind not in "fc":
        y = y.astype(np.result_type(y.dtype, np.float64 if y.dtype.kind != "b" else np.float64))
    close = np.less_equal(np.absolute(x - y), atol + rtol * np.absolute(y)) & np.isfinite(y) | (x == y)
    if equal_nan and x.dtype.kind in "fc":
        close = close | (np.isnan(x) & np.isnan(y))
    return close


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    x = np.asarray(a1)
    y = np.asarray(a2)
    for k in range(1, min(x.ndim, y.ndim) + 1):
        if x.shape[-k] != y.shape[-k] and x.shape[-k] != 1 and y.shape[-k] != 1:
            return False
    return bool(np.all(x == y))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    x = np.asarray(a1)
    y = np.asarray(a2)
    if x.ndim != y.ndim:
        return False
    if x.shape != y.shape:
        return False
    same = x == y
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        same = same | (np.isnan(x) & np.isnan(y))
    return bool(np.all(same))


@implements(np.sinc)
def sinc(x: Any) -> Any:
    given = np.asarray(x)
    angle = np.pi * (given if given.dtype.kind in "fc" else given.astype(np.float64))
    eps = np.finfo(angle.dtype).eps if given.dtype.kind != "c" else angle.dtype.type(1e-20)
    angle = np.where(angle == 0, eps, angle)
    return np.sin(angle) / angle


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    x = np.asarray(z)
    if x.dtype.kind == "c":
        result = np.arctan2(primitives.imaginary(x), primitives.real(x))
    else:
        result = np.arctan2(0, x)
    return result * (180 / np.pi) if deg else result


def chebyshev(x: Any, coefficients: tuple[float, ...]) -> Any:
    """A sum of Chebyshev polynomials by Clenshaw's recurrence."""
    first = np.full(x.shape, coefficients[0])
    second = np.zeros(x.shape)
    third = np.zeros(x.shape)
    for coefficient in coefficients[1:]:
        third = second
        second = first
        first = x * second - third + coefficient
    return 0.5 * (first - third)


SMALL_BESSEL = tuple([float(c) for c in getattr(np.lib._function_base_impl, "_i0A")])
LARGE_BESSEL = tuple([float(c) for c in getattr(np.lib._function_base_impl, "_i0B")])


@implements(np.i0)
def i0(x: Any) -> Any:
    y = np.asarray(x)
    if y.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    if y.dtype.kind != "f":
        y = y.astype(np.float64)
    y = np.absolute(y)
    small = np.exp(y) * chebyshev(y / 2.0 - 2, SMALL_BESSEL)
    large = np.exp(y) * chebyshev(32.0 / y - 2.0, LARGE_BESSEL) / np.sqrt(y)
    return np.where(y <= 8.0, small, large).astype(y.dtype)


# Bits


def bits_of(x: Any, bitorder: str) -> Any:
    """The bit at each index of a byte."""
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return np.arange(7, -1, -1).astype(np.uint8) if bitorder == "big" else np.arange(8).astype(np.uint8)


@implements(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    x = np.asarray(a)
    if x.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    axis = 0 if x.ndim == 0 and axis == -1 else axis
    x = np.ravel(x) if axis is None or x.ndim == 0 else np.moveaxis(x, axis, -1)
    size = x.shape[-1]
    whole = np.zeros(x.shape[:-1] + ((size + 7) // 8 * 8,), np.uint8)
    whole[..., :size] = x != 0
    bytes = np.reshape(whole, x.shape[:-1] + ((size + 7) // 8, 8))
    packed = np.sum(bytes << bits_of(x, bitorder), axis=-1, dtype=np.uint8)
    return packed if axis is None else np.moveaxis(packed, -1, axis).copy()


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    x = np.asarray(a)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    axis = 0 if x.ndim == 0 and axis == -1 else axis
    x = np.ravel(x) if axis is None or x.ndim == 0 else np.moveaxis(x, axis, -1)
    bits = (x[..., None] >> bits_of(x, bitorder)) & np.uint8(1)
    flat = np.reshape(bits, x.shape[:-1] + (x.shape[-1] * 8,))
    if count is not None:
        if count < 0:
            if -count > flat.shape[-1]:
                raise ValueError("-count larger than number of elements")
            flat = flat[..., :count]
        else:
            longer = np.zeros(x.shape[:-1] + (count,), np.uint8)
            kept = min(count, flat.shape[-1])
            longer[..., :kept] = flat[..., :kept]
            flat = longer
    return flat if axis is None else np.moveaxis(flat, -1, axis).copy()
