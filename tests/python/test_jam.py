"""Loops several iterations of which run together: values, writes and their order stay those of Python, whatever the counts,
the strides and what overlaps."""

import numpy as np
import pytest

from ingot import prange
from support import check

COUNTS = [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (7, 5, 9), (8, 8, 8), (9, 2, 33), (17, 17, 17), (40, 3, 70)]


def product(a, b):
    out = np.zeros((len(a), b.shape[1]), a.dtype)
    for i in range(len(a)):
        for j in range(b.shape[1]):
            total = a.dtype.type(0)
            for t in range(len(b)):
                total += a[i, t] * b[t, j]
            out[i, j] = total
    return out


def product_of_threads(a, b):
    out = np.empty((len(a), b.shape[1]))
    for i in prange(len(a)):
        for j in range(b.shape[1]):
            total = 0.0
            for t in range(len(b)):
                total += a[i, t] * b[t, j]
            out[i, j] = total
    return out


def several_sums(a, b):
    out = np.zeros((3, len(a), b.shape[1]))
    for i in range(len(a)):
        for j in range(b.shape[1]):
            total, largest, other = 0.0, -np.inf, 0.0
            for t in range(len(b)):
                total += a[i, t] * b[t, j]
                other += b[t, j]
                largest = max(largest, other)
            out[0, i, j] = total
            out[1, i, j] = largest
            out[2, i, j] = other
    return out


def triangle(a, b):
    out = np.zeros((len(a), b.shape[1]))
    for i in range(len(a)):
        for j in range(b.shape[1]):
            total = 0.0
            for t in range(min(i, len(b))):
                total += a[i, t] * b[t, j]
            out[i, j] = total
    return out


def scaled_rows(a, b):
    """A number of the row goes into the loop and comes out of it."""
    out = np.zeros((len(a), b.shape[1]))
    for i in range(len(a)):
        scale = len(a) - i
        for j in range(b.shape[1]):
            total = scale * 0.5
            for t in range(len(b)):
                total = total * 0.5 + b[t, j] * scale
            out[i, j] = total / scale
    return out


def three_loops_inside(a, b):
    out = np.zeros((len(a), b.shape[1]))
    for i in range(len(a)):
        for j in range(b.shape[1]):
            total = 0.0
            for t in range(len(b)):
                for s in range(3):
                    total += a[i, t] * b[t, j] + s * i
            out[i, j] += total
            for t in range(len(b)):
                out[i, j] -= b[t, j]
    return out


def into_the_second(a, b):
    """Rows read what rows before them wrote."""
    for i in range(min(len(a), len(b))):
        for j in range(b.shape[1]):
            total = 0.0
            for t in range(len(b)):
                total += a[i, t] * b[t, j]
            b[i, j] = total
    return b


def into_the_first(a, b):
    for i in range(len(a)):
        for j in range(min(a.shape[1], b.shape[1])):
            total = 0.0
            for t in range(len(b)):
                total += a[i, t] * b[t, j]
            a[i, j] = total
    return a


def rows_backwards(a, b):
    out = np.zeros((len(a), b.shape[1]))
    for i in range(len(a) - 1, -1, -1):
        for j in range(b.shape[1]):
            total = 0.0
            for t in range(len(b)):
                total += a[i, t] * b[t, j]
            out[i, j] = total
    return out


def normalised(a, b):
    """Sums of rows, one after the other."""
    out = np.zeros((len(a), a.shape[1]))
    for i in range(len(a)):
        total = -0.0
        for j in range(a.shape[1]):
            total += a[i, j]
        mean = total / max(a.shape[1], 1)
        squares = 0.0
        for j in range(a.shape[1]):
            squares += (a[i, j] - mean) * (a[i, j] - mean)
        for j in range(a.shape[1]):
            out[i, j] = (a[i, j] - mean) * squares
    return out


def sums_of_threads(a, b):
    out = np.empty(len(a))
    for i in prange(len(a)):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j]
        out[i] = total
    return out


def running_rows(a, b):
    """Each row is summed over what the one before has written."""
    out = a.copy()
    for i in range(1, len(a)):
        total = 0.0
        for j in range(a.shape[1]):
            total += out[i - 1, j]
        for j in range(a.shape[1]):
            out[i, j] = total + a[i, j]
    return out


FUNCTIONS = [
    normalised,
    sums_of_threads,
    running_rows,
    product,
    product_of_threads,
    several_sums,
    triangle,
    scaled_rows,
    three_loops_inside,
    into_the_second,
    into_the_first,
    rows_backwards,
]


def layouts(x):
    yield x
    yield np.asfortranarray(x)
    yield np.repeat(x, 2, axis=1)[::-1, ::2]


@pytest.mark.rotated(2)
@pytest.mark.sampled(8)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_iterations_that_run_together(function):
    for n, m, k in COUNTS:
        g = np.random.default_rng(n * 100 + m)
        a, b = g.normal(size=(n, m)), g.normal(size=(m, k))
        for x, y in zip(layouts(a), layouts(b)):
            check(function, x, y)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["i1", "u8", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_products_of_dtypes(dtype):
    for n, m, k in COUNTS:
        g = np.random.default_rng(n)
        a, b = (g.integers(0, 9, shape).astype(dtype) for shape in ((n, m), (m, k)))
        check(product, a, b)


def test_sums_of_what_is_no_number():
    """The bits are Python's: also of NaN, infinities, and zeros of both signs."""
    x = np.random.default_rng(3).choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1e308, 1.5], (19, 7), p=[0.2, 0.2, 0.05, 0.05, 0.05, 0.05, 0.4])
    with np.errstate(all="ignore"):
        for y in layouts(x):
            check(sums_of_threads, y, y)
            check(normalised, y, y)
            check(normalised, y.astype(np.float32), y)


def test_products_of_parts_of_one_array():
    """Rows read what other rows write."""

    def on_itself(a):
        for i in range(10):
            for j in range(20):
                total = 0.0
                for t in range(10):
                    total += a[i, t] * a[t + 10, j]
                a[i + 5, j + 20] = total
        return a

    check(on_itself, np.random.default_rng(1).normal(size=(20, 40)))
