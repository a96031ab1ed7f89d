"""Functions of `math` in terms of others."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .registry import implements


@implements(math.prod)
def prod(iterable: Any, /, *, start: Any = 1) -> Any:
    for element in iterable:
        start = start * element
    return start


@implements(math.gcd)
def gcd(*integers: Any) -> int:
    result = 0
    for given in [operator.index(integer) for integer in integers]:
        result = _gcd(result, given)
    return result


def _gcd(a: int, b: int) -> int:
    return abs(int(np.gcd(np.int64(a), np.int64(b))))


@implements(math.lcm)
def lcm(*integers: Any) -> int:
    result = 1
    for given in [operator.index(integer) for integer in integers]:
        if result != 0:
            result = 0 if given == 0 else abs(result // _gcd(result, given) * given)
    return result


@implements(math.comb)
def comb(n: Any, k: Any, /) -> int:
    n, k = operator.index(n), operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    result = 1
    for i in range(min(k, n - k)):
        # No number is larger than the next result.
        common = _gcd(n - i, i + 1)
        result = result // ((i + 1) // common) * ((n - i) // common)
    return result


@implements(math.perm)
def perm(n: Any, k: Any = None, /) -> int:
    if k is None:
        return factorial(n)
    n, k = operator.index(n), operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    result = 0 if k > n else 1
    if k <= n:
        for i in range(k):
            result = result * (n - i)
    return result


@implements(math.factorial)
def factorial(x: Any, /) -> int:
    n = operator.index(x)
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    result = 1
    for i in range(2, n + 1):
        result = result * i
    return result


@implements(math.isqrt)
def isqrt(n: Any, /) -> int:
    n = operator.index(n)
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    while root > 0 and root > n // root:
        root -= 1
    while root + 1 <= n // (root + 1):
        root += 1
    return root


def _real(x: Any) -> float:
    return math.modf(x)[0] + math.modf(x)[1]


@implements(math.isclose)
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> bool:
    a, b, rel_tol, abs_tol = _real(a), _real(b), _real(rel_tol), _real(abs_tol)
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(b - a)
    return difference <= abs(rel_tol * b) or difference <= abs(rel_tol * a) or difference <= abs_tol


@implements(math.nextafter)
def nextafter(x: Any, y: Any, /) -> float:
    return float(np.nextafter(_real(x), _real(y)))


@implements(math.ulp)
def ulp(x: Any, /) -> float:
    x = abs(_real(x))
    if math.isnan(x) or math.isinf(x):
        return x
    gap = float(np.spacing(x))
    return x - float(np.nextafter(x, 0.0)) if math.isinf(gap) else gap


@implements(math.remainder)
def remainder(x: Any, y: Any, /) -> float:
    x, y = _real(x), _real(y)
    if (math.isinf(x) and not math.isnan(y)) or (y == 0.0 and not math.isnan(x)):
        raise ValueError("math domain error")
    size, divisor = abs(x), abs(y)
    rest = float(np.fmod(size, divisor))
    other = divisor - rest
    if rest > other:
        rest = -other
    elif rest == other:
        # Half-way: to the even quotient.
        rest = rest - 2.0 * float(np.fmod(0.5 * (size - rest), divisor))
    return -rest if math.copysign(1.0, x) < 0.0 else rest


@implements(math.fsum)
def fsum(seq: Any, /) -> float:
    # Shewchuk's partial sums, which do not overlap: no more than 40 of them fit into the exponents there are.
    partials = np.empty(64)
    count = 0
    special = 0.0
    infinities = 0.0
    for element in seq:
        x = given = _real(element)
        kept = 0
        for j in range(count):
            y = partials[j]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                partials[kept] = low
                kept += 1
            x = high
        count = kept
        if x != 0.0:
            if not math.isfinite(x):
                if math.isfinite(given):
                    raise OverflowError("intermediate overflow in fsum")
                if math.isinf(given):
                    infinities += given
                special += given
                count = 0
            else:
                partials[count] = x
                count += 1
    if special != 0.0:
        if math.isnan(infinities):
            raise ValueError("-inf + inf in fsum")
        return special
    high = 0.0
    if count > 0:
        count -= 1
        high = float(partials[count])
        low = 0.0
        while count > 0:
            x = high
            count -= 1
            y = float(partials[count])
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                break
        # Half-way cases are rounded by what is left.
        if count > 0 and ((low < 0.0 and partials[count - 1] < 0.0) or (low > 0.0 and partials[count - 1] > 0.0)):
            y = low * 2.0
            x = high + y
            if y == x - high:
                high = x
    return high


def log_to_base(x: Any, base: Any) -> float:
    """`math.log(x, base)`."""
    return math.log(x) / math.log(base)


def hypot_of(*coordinates: Any) -> float:
    """`math.hypot` of any number of coordinates."""
    sizes = [abs(_real(x)) for x in coordinates]
    return norm_of(sizes)


@implements(math.dist)
def dist(p: Any, q: Any, /) -> float:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    sizes = [abs(_real(x) - _real(y)) for x, y in zip(p, q)]
    return norm_of(sizes)


def norm_of(sizes: Any) -> float:
    """The norm of a vector of sizes, rounded as Python does it: squares are split, sums keep what they lose."""
    largest = 0.0
    is_unknown = False
    for x in sizes:
        is_unknown = is_unknown or math.isnan(x)
        if x > largest:
            largest = x
    if math.isinf(largest):
        return largest
    if is_unknown:
        return math.nan
    if largest == 0.0 or len(sizes) <= 1:
        return largest
    exponent = math.frexp(largest)[1]
    total, first, second, third = 1.0, 0.0, 0.0, 0.0
    if exponent < -1023:
        for x in sizes:
            x = x / largest * (x / largest)
            before = total
            total += x
            first += (before - total) + x
        return largest * math.sqrt(total - 1.0 + first)
    scale = math.ldexp(1.0, -exponent)
    for x in sizes:
        x = x * scale
        high = x * 134217729.0 - (x * 134217729.0 - x)
        low = x - high
        x = high * high
        before = total
        total += x
        first += (before - total) + x
        x = 2.0 * high * low
        before = total
        total += x
        second += (before - total) + x
        third += low * low
    root = math.sqrt(total - 1.0 + (first + second + third))
    high = root * 134217729.0 - (root * 134217729.0 - root)
    low = root - high
    x = -high * high
    before = total
    total += x
    first += (before - total) + x
    x = -2.0 * high * low
    before = total
    total += x
    second += (before - total) + x
    x = -low * low
    before = total
    total += x
    third += (before - total) + x
    rest = total - 1.0 + (first + second + third)
    return (root + rest / (2.0 * root)) / scale


_TENS = tuple([float(10**n) for n in range(23)])
"""Those that are floats as they are."""


def product_of(a: float, b: float) -> tuple[Any, ...]:
    """A product of two floats, none of them very large or small, and what its rounding has lost."""
    product = a * b
    high = a * 134217729.0 - (a * 134217729.0 - a)
    low = a - high
    other_high = b * 134217729.0 - (b * 134217729.0 - b)
    other_low = b - other_high
    return product, ((high * other_high - product) + high * other_low + low * other_high) + low * other_low


def round_float(x: Any, n: Any) -> float:
    """`round(x, n)` of a float, as exact as Python's: by the decimal digits of x, halves to even."""
    x = _real(x)
    if n > 323 or not math.isfinite(x) or x == 0.0:
        return x
    if n < -308:
        return 0.0 * x
    size = abs(x)
    if n >= 0:
        if n > 15 and size * 10.0 ** min(n, 300) >= 1e300:
            return x
        if n > 22:
            if size >= 1.0:
                return x
            raise OverflowError("float to be rounded to more than 22 digits")
        if size >= 9007199254740992.0 / _TENS[n]:
            return x
        if size < 1e-200:
            return math.copysign(0.0, x)
        product, lost = product_of(size, _TENS[n])
        whole = math.floor(product)
        rest = product - whole - 0.5
        # The sign of `rest + lost`, of which the first is exact.
        if rest + lost > 0.0 or (rest + lost == 0.0 and whole % 2 == 1):
            whole += 1
        return math.copysign(whole / _TENS[n], x)
    power = 10.0**-n
    if size >= power * 36028797018963968.0:  # its neighbours are farther away than what it is rounded to
        return x
    if -n > 22:
        if size < power * 0.49:
            return 0.0 * x
        raise OverflowError("float to be rounded to more than 22 digits before the point")
    unit = _TENS[-n]
    if size < unit / 2.0:
        return 0.0 * x
    if size / unit >= 4503599627370496.0 or size > 1e290:
        raise OverflowError("float of more than 15 digits to be rounded before the point")
    whole = math.floor(size / unit)
    product, lost = product_of(float(whole), unit)
    rest = (size - product) - lost
    if rest < 0.0:
        whole -= 1
        rest += unit
    if rest > unit / 2.0 or (rest == unit / 2.0 and whole % 2 == 1):
        whole += 1
    return math.copysign(whole * unit, x)


def round_int(i: Any, n: Any) -> int:
    """`round(i, n)` of an int, halves to even."""
    i = operator.index(i)
    if n >= 0:
        return int(i)
    if n < -19:
        return 0
    if n == -19:
        if i > 5000000000000000000 or i < -5000000000000000000:
            raise OverflowError("int that is rounded leaves 64 bits")
        return 0
    unit = 10 ** -n
    quotient = i // unit
    rest = i - quotient * unit
    if rest > unit - rest or (rest == unit - rest and quotient % 2 == 1):
        quotient += 1
    return quotient * unit


def times_one(z: complex) -> complex:
    """`(1 + 0j) * z`, which is z but for signs of zeros, infinities and NaN."""
    size = abs(z.real) + abs(z.imag)
    if size < math.inf and z.real * z.imag != 0.0:
        return z
    return complex(z.real - 0.0 * z.imag, z.imag + 0.0 * z.real)


def power_of_complex(x: complex, size: int) -> complex:
    """`x ** size` as CPython multiplies it, beginning with 1."""
    result = complex(1.0, 0.0)
    square = x
    bit = 1
    while bit <= size:
        if size & bit:
            result = times_one(square) if size & (bit - 1) == 0 else result * square
        bit = bit << 1
        square = square * square
    return result
