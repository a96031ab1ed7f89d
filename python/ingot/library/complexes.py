"""`cmath`, by the formulas of Python's own. Values that are not finite come from its tables, for which `cmath` is called here."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from .registry import implements

_LARGE = 1.7976931348623157e308 / 4.0
_SQRT_LARGE = math.sqrt(_LARGE)
_LOG_LARGE = math.log(_LARGE)
_SQRT_SMALL = math.sqrt(2.2250738585072014e-308)
_LN2 = 0.6931471805599453094

_KINDS = (-math.inf, -2.0, -0.0, 0.0, 2.0, math.inf, math.nan)


def _answers(f: Callable[..., Any]) -> tuple[Any, ...]:
    """The result of a function of `cmath` where a part is infinite or NaN, and whether it raises there, by the kinds of both parts."""
    found: list = []
    for x in _KINDS:
        for y in _KINDS:
            try:
                found.append((f(complex(x, y)), False) if not (math.isfinite(x) and math.isfinite(y)) else (0j, False))
            except ValueError:
                found.append((0j, True))
    return tuple([value for value, _ in found]), tuple([raises for _, raises in found])


_TABLES = {f.__name__: _answers(f) for f in (cmath.acos, cmath.acosh, cmath.asinh, cmath.atanh, cmath.cosh, cmath.exp, cmath.log,
                                             cmath.sinh, cmath.sqrt, cmath.tanh)}  # fmt: skip
_ACOS = _TABLES["acos"]
_ACOSH = _TABLES["acosh"]
_ASINH = _TABLES["asinh"]
_ATANH = _TABLES["atanh"]
_COSH = _TABLES["cosh"]
_EXP = _TABLES["exp"]
_LOG = _TABLES["log"]
_SINH = _TABLES["sinh"]
_SQRT = _TABLES["sqrt"]
_TANH = _TABLES["tanh"]


def _kind(x: float) -> int:
    if math.isnan(x):
        return 6
    is_negative = math.copysign(1.0, x) < 0.0
    if math.isinf(x):
        return 0 if is_negative else 5
    if x == 0.0:
        return 2 if is_negative else 3
    return 1 if is_negative else 4


def _of_table(table: tuple[Any, ...], z: complex) -> complex:
    place = 7 * _kind(z.real) + _kind(z.imag)
    if table[1][place]:
        raise ValueError("math domain error")
    return table[0][place]


def _is_finite(z: complex) -> bool:
    return math.isfinite(z.real) and math.isfinite(z.imag)


def _checked(x: float, y: float) -> complex:
    """A value of a function that raises where it is too large."""
    if math.isinf(x) or math.isinf(y):
        raise OverflowError("math range error")
    return complex(x, y)


def _hypot(x: float, y: float) -> float:
    """That of C's library, which raises nothing."""
    return float(abs(complex(x, y))) if abs(x) < 1e300 and abs(y) < 1e300 else 4.0 * math.hypot(x / 4.0, y / 4.0)


@implements(cmath.sqrt)
def sqrt(z: Any, /) -> complex:
    z = complex(z)
    if not _is_finite(z):
        return _of_table(_SQRT, z)
    if z.real == 0.0 and z.imag == 0.0:
        return complex(0.0, z.imag)
    ax, ay = abs(z.real), abs(z.imag)
    if ax < 2.2250738585072014e-308 and ay < 2.2250738585072014e-308 and (ax > 0.0 or ay > 0.0):
        ax = math.ldexp(ax, 53)
        s = math.ldexp(math.sqrt(ax + _hypot(ax, math.ldexp(ay, 53))), -27)
    else:
        ax /= 8.0
        s = 2.0 * math.sqrt(ax + _hypot(ax, ay / 8.0))
    d = ay / (2.0 * s)
    if z.real >= 0.0:
        return complex(s, math.copysign(d, z.imag))
    return complex(d, math.copysign(s, z.imag))


def _log(z: complex) -> complex:
    if not _is_finite(z):
        return _of_table(_LOG, z)
    ax, ay = abs(z.real), abs(z.imag)
    if ax > _LARGE or ay > _LARGE:
        real = math.log(_hypot(ax / 2.0, ay / 2.0)) + _LN2
    elif ax < 2.2250738585072014e-308 and ay < 2.2250738585072014e-308:
        if ax == 0.0 and ay == 0.0:
            return complex(-math.inf, math.atan2(z.imag, z.real))
        real = math.log(_hypot(math.ldexp(ax, 53), math.ldexp(ay, 53))) - 53.0 * _LN2
    else:
        h = _hypot(ax, ay)
        if 0.71 <= h and h <= 1.73:
            am = max(ax, ay)
            an = min(ax, ay)
            real = math.log1p((am - 1.0) * (am + 1.0) + an * an) / 2.0
        else:
            real = math.log(h)
    return complex(real, math.atan2(z.imag, z.real))


def _checked_log(z: complex) -> complex:
    if z == 0.0:
        raise ValueError("math domain error")
    return _log(z)


@implements(cmath.log)
def log(z: Any, base: Any = None, /) -> complex:
    if base is None:
        return _checked_log(complex(z))
    value = _log(complex(z))
    scale = _checked_log(complex(base))
    if scale == 0.0:
        raise ValueError("math domain error")
    return value / scale


@implements(cmath.log10)
def log10(z: Any, /) -> complex:
    value = _checked_log(complex(z))
    return complex(value.real / 2.302585092994046, value.imag / 2.302585092994046)


@implements(cmath.exp)
def exp(z: Any, /) -> complex:
    z = complex(z)
    x, y = z.real, z.imag
    if not _is_finite(z):
        if math.isinf(x) and math.isfinite(y) and y != 0.0:
            size = 0.0 if x < 0.0 else math.inf
            return complex(math.copysign(size, math.cos(y)), math.copysign(size, math.sin(y)))
        if math.isinf(y) and (math.isfinite(x) or x > 0.0):
            raise ValueError("math domain error")
        return _of_table(_EXP, z)
    if x > _LOG_LARGE:
        size = float(math.exp(x - 1.0)) if x - 1.0 < 709.7 else math.inf
        return _checked(size * math.cos(y) * math.e, size * math.sin(y) * math.e)
    size = math.exp(x)
    return _checked(size * math.cos(y), size * math.sin(y))


def _of_large(z: complex, is_sinh: bool) -> complex:
    """`cosh` and `sinh` where `e**abs(x)` is too large, by e times that of a smaller one."""
    x = z.real - math.copysign(1.0, z.real)
    if abs(x) > 710.4:
        raise OverflowError("math range error")
    c, s = math.cosh(x), math.sinh(x)
    if is_sinh:
        return _checked(math.cos(z.imag) * s * math.e, math.sin(z.imag) * c * math.e)
    return _checked(math.cos(z.imag) * c * math.e, math.sin(z.imag) * s * math.e)


def _cosh(z: complex) -> complex:
    x, y = z.real, z.imag
    if not _is_finite(z):
        if math.isinf(x) and math.isfinite(y) and y != 0.0:
            real = math.copysign(math.inf, math.cos(y))
            imaginary = math.copysign(math.inf, math.sin(y))
            return complex(real, imaginary if x > 0.0 else -imaginary)
        if math.isinf(y) and not math.isnan(x):
            raise ValueError("math domain error")
        return _of_table(_COSH, z)
    if abs(x) > _LOG_LARGE:
        return _of_large(z, False)
    return _checked(math.cos(y) * math.cosh(x), math.sin(y) * math.sinh(x))


def _sinh(z: complex) -> complex:
    x, y = z.real, z.imag
    if not _is_finite(z):
        if math.isinf(x) and math.isfinite(y) and y != 0.0:
            real = math.copysign(math.inf, math.cos(y))
            return complex(real if x > 0.0 else -real, math.copysign(math.inf, math.sin(y)))
        if math.isinf(y) and not math.isnan(x):
            raise ValueError("math domain error")
        return _of_table(_SINH, z)
    if abs(x) > _LOG_LARGE:
        return _of_large(z, True)
    return _checked(math.cos(y) * math.sinh(x), math.sin(y) * math.cosh(x))


def _tanh(z: complex) -> complex:
    x, y = z.real, z.imag
    if not _is_finite(z):
        if math.isinf(x) and math.isfinite(y) and y != 0.0:
            sign = math.copysign(0.0, 2.0 * math.sin(y) * math.cos(y))
            return complex(1.0 if x > 0.0 else -1.0, sign)
        if math.isinf(y) and math.isfinite(x):
            raise ValueError("math domain error")
        return _of_table(_TANH, z)
    if abs(x) > _LOG_LARGE:
        return complex(math.copysign(1.0, x), 4.0 * math.sin(y) * math.cos(y) * math.exp(-2.0 * abs(x)))
    tx, ty = math.tanh(x), math.tan(y)
    cx = 1.0 / math.cosh(x)
    txty = tx * ty
    denominator = 1.0 + txty * txty
    return complex(tx * (1.0 + ty * ty) / denominator, ((ty / denominator) * cx) * cx)


@implements(cmath.cosh)
def cosh(z: Any, /) -> complex:
    return _cosh(complex(z))


@implements(cmath.sinh)
def sinh(z: Any, /) -> complex:
    return _sinh(complex(z))


@implements(cmath.tanh)
def tanh(z: Any, /) -> complex:
    return _tanh(complex(z))


def _turned(z: complex) -> complex:
    """i times a number."""
    return complex(-z.imag, z.real)


def _turned_back(z: complex) -> complex:
    return complex(z.imag, -z.real)


@implements(cmath.cos)
def cos(z: Any, /) -> complex:
    return _cosh(_turned(complex(z)))


@implements(cmath.sin)
def sin(z: Any, /) -> complex:
    return _turned_back(_sinh(_turned(complex(z))))


@implements(cmath.tan)
def tan(z: Any, /) -> complex:
    return _turned_back(_tanh(_turned(complex(z))))


def _asinh(z: complex) -> complex:
    x, y = z.real, z.imag
    if not _is_finite(z):
        return _of_table(_ASINH, z)
    if abs(x) > _LARGE or abs(y) > _LARGE:
        size = math.log(_hypot(x / 2.0, y / 2.0)) + _LN2 * 2.0
        return complex(math.copysign(size, x), math.atan2(y, abs(x)))
    a = sqrt(complex(1.0 + y, -x))
    b = sqrt(complex(1.0 - y, x))
    return complex(math.asinh(a.real * b.imag - b.real * a.imag), math.atan2(y, a.real * b.real - a.imag * b.imag))


@implements(cmath.asinh)
def asinh(z: Any, /) -> complex:
    return _asinh(complex(z))


@implements(cmath.asin)
def asin(z: Any, /) -> complex:
    return _turned_back(_asinh(_turned(complex(z))))


@implements(cmath.acos)
def acos(z: Any, /) -> complex:
    z = complex(z)
    x, y = z.real, z.imag
    if not _is_finite(z):
        return _of_table(_ACOS, z)
    if abs(x) > _LARGE or abs(y) > _LARGE:
        size = math.log(_hypot(x / 2.0, y / 2.0)) + _LN2 * 2.0
        return complex(math.atan2(abs(y), x), math.copysign(size, -y) if x >= 0.0 else -math.copysign(size, y))
    a = sqrt(complex(1.0 - x, -y))
    b = sqrt(complex(1.0 + x, y))
    return complex(2.0 * math.atan2(a.real, b.real), math.asinh(b.real * a.imag - b.imag * a.real))


@implements(cmath.acosh)
def acosh(z: Any, /) -> complex:
    z = complex(z)
    x, y = z.real, z.imag
    if not _is_finite(z):
        return _of_table(_ACOSH, z)
    if abs(x) > _LARGE or abs(y) > _LARGE:
        return complex(math.log(_hypot(x / 2.0, y / 2.0)) + _LN2 * 2.0, math.atan2(y, x))
    a = sqrt(complex(x - 1.0, y))
    b = sqrt(complex(x + 1.0, y))
    return complex(math.asinh(a.real * b.real + a.imag * b.imag), 2.0 * math.atan2(a.imag, b.real))


def _atanh(z: complex) -> complex:
    if not _is_finite(z):
        return _of_table(_ATANH, z)
    if z.real < 0.0 or (z.real == 0.0 and math.copysign(1.0, z.real) < 0.0):
        value = _atanh_of_right(complex(-z.real, -z.imag))
        return complex(-value.real, -value.imag)
    return _atanh_of_right(z)


def _atanh_of_right(z: complex) -> complex:
    x, y = z.real, z.imag
    ay = abs(y)
    if x > _SQRT_LARGE or ay > _SQRT_LARGE:
        h = _hypot(x / 2.0, y / 2.0)
        return complex(x / 4.0 / h / h, -math.copysign(math.pi / 2.0, -y))
    if x == 1.0 and ay < _SQRT_SMALL:
        if ay == 0.0:
            raise ValueError("math domain error")
        return complex(-math.log(math.sqrt(ay) / math.sqrt(_hypot(ay, 2.0))), math.copysign(math.atan2(2.0, -ay) / 2.0, y))
    real = math.log1p(4.0 * x / ((1.0 - x) * (1.0 - x) + ay * ay)) / 4.0
    return complex(real, -math.atan2(-2.0 * y, (1.0 - x) * (1.0 + x) - ay * ay) / 2.0)


@implements(cmath.atanh)
def atanh(z: Any, /) -> complex:
    return _atanh(complex(z))


@implements(cmath.atan)
def atan(z: Any, /) -> complex:
    return _turned_back(_atanh(_turned(complex(z))))


@implements(cmath.phase)
def phase(z: Any, /) -> float:
    z = complex(z)
    return math.atan2(z.imag, z.real)


@implements(cmath.polar)
def polar(z: Any, /) -> tuple[float, float]:
    z = complex(z)
    return abs(z), math.atan2(z.imag, z.real)


@implements(cmath.rect)
def rect(r: Any, phi: Any, /) -> complex:
    r = math.modf(r)[0] + math.modf(r)[1]
    phi = math.modf(phi)[0] + math.modf(phi)[1]
    if math.isinf(phi) and r != 0.0 and not math.isnan(r):
        raise ValueError("math domain error")
    if math.isinf(phi) or math.isnan(phi):
        return _of_rect(r, phi)
    if math.isinf(r):
        if phi == 0.0:
            return complex(r, phi if r > 0.0 else -phi)
        real, imaginary = math.copysign(math.inf, math.cos(phi)), math.copysign(math.inf, math.sin(phi))
        return complex(real, imaginary) if r > 0.0 else complex(-real, -imaginary)
    if math.isnan(r):
        return complex(math.nan, 0.0 if phi == 0.0 else math.nan)
    if phi == 0.0:
        return complex(r, r * phi)
    return complex(r * math.cos(phi), r * math.sin(phi))


def _of_rect(r: float, phi: float) -> complex:
    """Of an angle that is not finite."""
    if r == 0.0:
        return complex(0.0, 0.0)
    return complex(math.inf if math.isinf(r) else math.nan, math.nan)


@implements(cmath.isfinite)
def isfinite(z: Any, /) -> bool:
    return _is_finite(complex(z))


@implements(cmath.isnan)
def isnan(z: Any, /) -> bool:
    z = complex(z)
    return math.isnan(z.real) or math.isnan(z.imag)


@implements(cmath.isinf)
def isinf(z: Any, /) -> bool:
    z = complex(z)
    return math.isinf(z.real) or math.isinf(z.imag)


@implements(cmath.isclose)
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> bool:
    a, b = complex(a), complex(b)
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if isinf(a) or isinf(b):
        return False
    difference = abs(a - b)
    return difference <= rel_tol * abs(b) or difference <= rel_tol * abs(a) or difference <= abs_tol
