"""Loops that find elements by tables, and loops that collect elements: what is asked for early, and what is stored together,
changes nothing, whatever the tables and masks hold."""

import numpy as np
import pytest

from support import check

LARGE = 70_001  # more bytes of doubles than a core's caches keep


def summed(table, x, out):
    for i in range(len(out)):
        total = 0.0
        for k in range(3 * i, 3 * i + 3):
            total += x[table[k]]
        out[i] = total


def counted(table, x, out):
    for k in range(len(table)):
        x[table[k]] += 1


def scattered(table, x, out):
    for k in range(len(table)):
        x[table[k]] = k


def chosen(table, x, out):
    for k in range(len(table)):
        if table[k] % 3 != 0:
            out[k // 3] += x[table[k]]


def moved_tables(table, x, out):
    """An iteration changes the table that later ones read."""
    for k in range(len(table) - 1):
        x[table[k]] += 1.0
        table[k + 1] = (table[k + 1] + table[k]) % 7


def rows(table, x, out):
    pixels = x[: len(x) // 2 * 2].reshape(-1, 2)
    for k in range(len(out)):
        out[k] = pixels[table[k] // 2, 0] + 2.0 * pixels[table[k] // 2, 1]


def chained(table, x, out):
    """The table's elements are found by a table, too."""
    for k in range(len(table)):
        out[k // 3] += x[table[abs(table[k]) % len(table)]]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("function", [summed, counted, scattered, chosen, moved_tables, rows, chained])
@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 1000])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_elements_found_by_tables(function, count, dtype):
    generator = np.random.default_rng(count)
    table = generator.integers(0, 200 if dtype == "uint8" else LARGE, 3 * count).astype(dtype)
    if dtype != "uint8":
        table[::5] -= LARGE
    check(function, table, generator.random(LARGE), np.zeros(count))


@pytest.mark.parametrize("function", [summed, counted, scattered])
@pytest.mark.parametrize("wrong", [LARGE, -LARGE - 1, 2**62, -(2**63)])
@pytest.mark.parametrize("place", [0, 40, 98])
def test_an_index_out_of_range_raises_where_it_is_reached(function, wrong, place):
    table = np.arange(99) * 7
    table[place] = wrong
    check(function, table, np.zeros(LARGE), np.zeros(33))


def positives(a, b, out, other):
    c = d = 0
    for i in range(len(a)):
        if a[i] > 0:
            out[c] = a[i]
            other[c] = b[i]
            c += 1
        if b[i] < 2:
            d += 1
    return c, d


def in_place(a, b, out, other):
    c = 0
    for i in range(len(a)):
        if a[i] > b[i]:
            a[c] = a[i]
            c += 1
    return c


def twice(a, b, out, other):
    """The second store counts."""
    c = 0
    for i in range(len(a)):
        if a[i] > 1:
            out[c] = b[i]
            out[c] = a[i]
            c += 1
    return c


def two_cursors(a, b, out, other):
    c = d = 0
    for i in range(len(a)):
        if a[i] > 1:
            out[c] = b[i]
            c += 1
        else:
            other[d] = a[i]
            d += 1
    return c, d


def by_rows(a, b, out, other):
    lines = np.full((3, len(a)), 7, a.dtype)
    for k in range(3):
        c = 0
        for i in range(len(a)):
            if a[i] > k:
                lines[k, c] = a[i]
                c += 1
    return lines


@pytest.mark.sampled(5)
@pytest.mark.parametrize("function", [positives, in_place, twice, two_cursors, by_rows])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int16", "int8", "bool"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.98, 1.0])
def test_collected_elements(function, dtype, share):
    generator = np.random.default_rng(7)
    for count in (0, 1, 5, 8, 63, 64, 65, 129, 700):
        a = (generator.random(count) < share).astype(dtype) * generator.integers(1, 4, count).astype(dtype)
        b = generator.integers(0, 3, count).astype(dtype)
        check(function, a.astype(dtype), b, np.full(count, 9, dtype), np.full(count + 2, 5, dtype), modes=("compiled",))


@pytest.mark.parametrize("distance", [-3, -1, 0, 1, 2])
def test_two_outputs_of_one_cursor_that_overlap(distance):
    def both(a, memory, first):
        one, other = memory[10 : 10 + len(a)], memory[first : first + len(a)]
        c = 0
        for i in range(len(a)):
            if a[i] > 0:
                one[c] = a[i]
                other[c] = -a[i]
                c += 1
        return c

    check(both, np.arange(1.0, 201.0), np.zeros(300), 10 + distance, modes=("compiled",))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float16", "uint64", "uint16"])
def test_selected_elements(dtype):
    generator = np.random.default_rng(9)
    for count in (0, 3, 64, 129, 1000):
        a = generator.integers(0, 100, count).astype(dtype)
        for share in (0.0, 0.5, 1.0):
            check(lambda a, m: a[m], a, generator.random(count) < share)
