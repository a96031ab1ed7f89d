"""Ranges at the ends of 64 bits."""

import inspect
import linecache

import numpy as np
import pytest
from support import MODES, check, jitted

M = 2**63
RANGES = [
    (M - 4, M - 1, 1), (M - 4, M - 1, 2), (M - 5, M - 1, 3), (-M + 3, -M, -1), (-M + 4, -M, -2), (-M + 4, -M, -3),
    (-M, -M + 3, 1), (M - 1, M - 4, -1), (M - 3, M - 1, M - 1), (-M, M - 1, M - 1), (M - 1, -M, -M), (M - 1, -M, -M + 1),
    (-M, M - 1, 2**62), (0, M - 1, 2**62), (0, -M, -(2**62)), (-M, -M, 1), (M - 1, M - 1, -1), (-M, M - 1, -1),
    (M - 1, -M, 1), (0, 5, M - 1), (5, 0, -M), (-M, 0, M - 1), (-M, M - 1, 2**61 + 1), (-1, -M, -M), (0, -M, -M),
]  # fmt: skip


def counted(a, b, s):
    c = 0
    last = None
    for i in range(a, b, s):
        c += 1
        last = i
    return c, last


def collected(a, b, s):
    return [i for i in range(a, b, s)], list(range(a, b, s)), len(range(a, b, s))


def numbered(a, b, s):
    t = (0, 0)
    for k, i in enumerate(range(a, b, s)):
        t = (k, i)
    for i, j in zip(range(2), range(a, b, s)):
        t = (*t[:1], i - j // 2)
    return t


def ends(a, b, s):
    return range(a, b, s)[0], range(a, b, s)[-1]


def fixed(function, bounds):
    """The same function of these bounds."""
    text = inspect.getsource(function).replace("(a, b, s):", "():").replace("range(a, b, s)", f"range{bounds}")
    name = f"<{function.__name__}{bounds}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space[function.__name__]


@pytest.mark.parametrize("function", [counted, collected, numbered, ends])
def test_ranges_at_the_ends_of_64_bits(function):
    compiled = [jitted(function, mode) for mode in MODES]
    for bounds in RANGES:
        try:
            expected = function(*bounds)
        except IndexError:
            expected = IndexError
        for each in compiled:
            try:
                found = each(*bounds)
            except IndexError:
                found = IndexError
            assert found == expected, bounds


@pytest.mark.parametrize("bounds", RANGES)
def test_ranges_of_known_bounds_at_the_ends_of_64_bits(bounds):
    check(fixed(counted, bounds))
    check(fixed(collected, bounds))


def first_of(a, b, s):
    for i in range(a, b, s):
        return i


@pytest.mark.parametrize("bounds", [(-M, M - 1, 1), (M - 1, -M, -1), (-M, M - 1, 2)])
def test_ranges_of_more_than_64_bits_are_refused(bounds):
    for mode in MODES:
        with pytest.raises(OverflowError, match="more than 2\\*\\*63 numbers"):
            jitted(first_of, mode)(*bounds)
