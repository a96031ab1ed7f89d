"""Methods of Python's numbers, and powers of integers with a modulus."""

from __future__ import annotations

from typing import Any


def int_bit_length(self: Any) -> int:
    rest = self if self >= 0 else -(self + 1)
    length = 0
    are_ones = True
    while rest > 0:
        are_ones = are_ones and rest & 1 == 1
        rest >>= 1
        length += 1
    return length + 1 if self < 0 and are_ones else length  # -2**k has a bit more than -2**k + 1


def int_bit_count(self: Any) -> int:
    rest = self if self >= 0 else -(self + 1)
    count = 0
    while rest > 0:
        rest &= rest - 1
        count += 1
    if self < 0:  # |self| is rest + 1
        low = -(self + 1)
        while low & 1:
            low >>= 1
            count -= 1
        count += 1
    return count


def int_as_integer_ratio(self: Any) -> Any:
    return int(self), 1


def float_is_integer(self: Any) -> bool:
    return self - self == 0 and self // 1 == self


def _product(a: int, b: int, modulus: int) -> int:
    """a * b modulo a positive modulus, of numbers below that."""
    if modulus <= 3037000500:
        return a * b % modulus
    result = 0
    while b > 0:
        if b & 1:
            result = result + a if result < modulus - a else result - (modulus - a)
        a = a + a if a < modulus - a else a - (modulus - a)
        b >>= 1
    return result


def _inverse(a: int, modulus: int) -> int:
    """The number whose product with a is 1."""
    rest, divisor = a % modulus, modulus
    x, y = 1, 0
    while divisor > 0:
        q = rest // divisor
        rest, divisor = divisor, rest - q * divisor
        x, y = y, x - q * y
    if rest != 1:
        raise ValueError("base is not invertible for the given modulus")
    return x % modulus


def power_modulo(base: Any, exponent: Any, modulus: Any) -> int:
    if modulus == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    size = modulus if modulus > 0 else -modulus
    left = exponent
    factor = base % size
    if exponent < 0:
        left = -exponent
        factor = _inverse(base, size)
    result = 1 % size
    while left > 0:
        if left & 1:
            result = _product(result, factor, size)
        left >>= 1
        if left > 0:
            factor = _product(factor, factor, size)
    return result + modulus if modulus < 0 and result > 0 else result
