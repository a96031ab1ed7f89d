"""What is measured: plain functions of arrays, the bytes that they must move, and the share of a copy's bandwidth that is the goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

STREAM_GOAL, REDUCTION_GOAL = 0.92, 0.85


@dataclass(frozen=True)
class Program:
    """`arguments(n)` are those for arrays of n bytes each; `bytes` of them must at least be moved."""

    name: str
    function: Callable
    arguments: Callable[[int], tuple]
    bytes: Callable[..., int]
    goal: float | None = None
    """Of a device copy's bytes a second."""
    most: int | None = None
    """The largest n, where the work of one thread is what is measured."""


def numbers(n: int, dtype: Any, count: int) -> tuple:
    g = np.random.default_rng(7)
    return tuple(g.random(n // np.dtype(dtype).itemsize).astype(dtype) for _ in range(count))


def copy(to, x):
    to[:] = x


def scale(to, x, s):
    to[:] = s * x


def add(to, x, y):
    to[:] = x + y


def triad(to, x, y, s):
    to[:] = x + s * y


def axpy(y, x, a):
    y += a * x


def quadratic(a, b, c):
    return (-b + np.sqrt(b**2 - 4 * a * c)) / (2 * a)


def total(x):
    return np.sum(x, keepdims=True)


def largest(x):
    return np.max(x, keepdims=True)


def variance(x):
    return np.var(x, keepdims=True)


def dot(x, y):
    return np.sum(x * y, keepdims=True)


def column_sums(x):
    return np.sum(x, axis=0)


def row_sums(x):
    return np.sum(x, axis=1)


def scan(x):
    return np.cumsum(x)


def positive(x):
    return x[x > 0.5]


def histogram(x):
    return np.bincount(x, minlength=256)


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def transposed(to, x):
    to[:] = x.T


def heat(to, x):
    to[1:-1, 1:-1] = x[1:-1, 1:-1] + 0.1 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4.0 * x[1:-1, 1:-1])


def _rows(length: int, dtype: Any) -> Callable[[int], tuple]:
    row = length * np.dtype(dtype).itemsize
    return lambda n: (numbers(max(n // row, 1) * row, dtype, 1)[0].reshape(-1, length),)


def _square(dtype: Any, count: int) -> Callable[[int], tuple]:
    def make(n: int) -> tuple:
        side = int((n / np.dtype(dtype).itemsize) ** 0.5) // 8 * 8
        return tuple(x[: side * side].reshape(side, side) for x in numbers(n, dtype, count))

    return make


def _all(*arguments: Any) -> int:
    return sum(a.nbytes for a in arguments if isinstance(a, np.ndarray))


def _twice(x: np.ndarray) -> int:
    return 2 * x.nbytes


def _programs() -> list[Program]:
    f4, f8 = np.float32, np.float64
    stream: dict[str, Any] = {"bytes": _all, "goal": STREAM_GOAL}
    reduction: dict[str, Any] = {"bytes": _all, "goal": REDUCTION_GOAL}
    found = [
        Program("stream copy", copy, lambda n: numbers(n, f8, 2), **stream),
        Program("stream scale", scale, lambda n: (*numbers(n, f8, 2), 3.0), **stream),
        Program("stream add", add, lambda n: numbers(n, f8, 3), **stream),
        Program("stream triad", triad, lambda n: (*numbers(n, f8, 3), 3.0), **stream),
        Program("copy of bytes", copy, lambda n: numbers(n, np.int8, 2), **stream),
        Program("copy of columns", copy, lambda n: (_square(f8, 1)(n)[0].copy("F"), _square(f8, 1)(n)[0].copy("F")), **stream),
    ]
    for dtype in (f4, f8):
        name = np.dtype(dtype).name

        def axpy_arguments(n: int, dtype: Any = dtype) -> tuple:
            return (*numbers(n, dtype, 2), dtype(2.5))

        def one(n: int, dtype: Any = dtype) -> tuple:
            return numbers(n, dtype, 1)

        def two(n: int, dtype: Any = dtype) -> tuple:
            return numbers(n, dtype, 2)

        found += [
            Program(f"axpy {name}", axpy, axpy_arguments, lambda y, x, a: 3 * y.nbytes, STREAM_GOAL),
            Program(f"sum {name}", total, one, **reduction),
            Program(f"maximum {name}", largest, one, **reduction),
            Program(f"dot {name}", dot, two, **reduction),
            Program(f"softmax of rows of 64, {name}", softmax, _rows(64, dtype), _twice, REDUCTION_GOAL),
            Program(f"softmax of rows of 1024, {name}", softmax, _rows(1024, dtype), _twice, REDUCTION_GOAL),
            Program(f"softmax of rows of 16384, {name}", softmax, _rows(16384, dtype), _twice, REDUCTION_GOAL),
        ]
    found += [
        Program("fused chain (quadratic formula)", quadratic, lambda n: numbers(n, f8, 3), lambda a, b, c: 4 * a.nbytes, STREAM_GOAL),
        Program("variance float64", variance, lambda n: numbers(n, f8, 1), lambda x: 2 * x.nbytes, REDUCTION_GOAL),
        Program("sums of columns float32", column_sums, _rows(1024, f4), **reduction),
        Program("sums of rows float32", row_sums, _rows(1024, f4), **reduction),
        Program("scan int64", scan, lambda n: ((numbers(n, f8, 1)[0] * 100).astype(np.int64),), _twice, REDUCTION_GOAL),
        Program("scan float64, in order", scan, lambda n: numbers(n, f8, 1), _twice, None, most=1 << 19),
        Program("selection float64", positive, lambda n: numbers(n, f8, 1), lambda x: x.nbytes + x.nbytes // 2, REDUCTION_GOAL),
        Program("histogram of 256", histogram, lambda n: ((numbers(n, f8, 1)[0] * 256).astype(np.int64),), **reduction),
        Program("transposed copy float32", transposed, _square(f4, 2), **stream),
        Program("heat in two dimensions float64", heat, _square(f8, 2), **stream),
    ]
    return found


PROGRAMS = _programs()


def sort(x):
    return np.sort(x)


def argsort(x):
    return np.argsort(x)


def product(a, b):
    return a @ b


def add_one(x):
    x += 1.0
