"""What is measured: plain functions of arrays, the bytes that they must move, and the share of a copy's bandwidth that is the goal.

Nothing here needs Ingot: `peers` measures its libraries with the same arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STREAM_GOAL, REDUCTION_GOAL, TOGETHER_GOAL, HISTOGRAM_GOAL = 0.92, 0.85, 0.80, 0.75


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
    """The largest n: where the work of one thread is what is measured, or n is what others measure with."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of `ingot.jit`."""
    amount: tuple[str, Callable[..., int]] | None = None
    """What else is done, and how much of it: "keys" or "flops"."""
    lists_all: bool = True
    """Whether `explain` knows the bytes that its launches move, and these are all that must be moved."""


@functools.lru_cache(maxsize=4)
def _random(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(size)


def numbers(n: int, dtype: Any, count: int, seed: int = 7) -> tuple:
    """Arrays of n bytes between 0 and 1."""
    return tuple(_random(n // np.dtype(dtype).itemsize, seed + i).astype(dtype) for i in range(count))


def whole(n: int, dtype: Any, below: int, seed: int = 7) -> np.ndarray:
    """An array of n bytes of numbers from 0 on."""
    return (_random(n // np.dtype(dtype).itemsize, seed) * below).astype(dtype)


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


def heat(to, x):
    to[1:-1, 1:-1] = x[1:-1, 1:-1] + 0.1 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4.0 * x[1:-1, 1:-1])


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def normalise(x):
    return (x - np.mean(x, axis=1, keepdims=True)) / np.std(x, axis=1, keepdims=True)


def logsumexp(x):
    most = np.max(x, axis=1)
    return np.log(np.sum(np.exp(x - most[:, None]), axis=1)) + most


def places(x):
    return np.argmax(x, axis=1)


def row_variances(x):
    return np.var(x, axis=1)


def softmax_by_rows(to, x):
    for i in range(len(x)):
        e = np.exp(x[i] - x[i].max())
        to[i] = e / e.sum()


def normalise_by_rows(to, x):
    for i in range(len(x)):
        row = x[i]
        to[i] = (row - row.mean()) / row.std()


def scan(x):
    return np.cumsum(x)


def running_maximum(x):
    return np.maximum.accumulate(x)


def carried(to, x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
        to[i] = s


def chosen(x, least):
    return x[x > least]


def chosen_indices(x, least):
    return np.nonzero(x > least)[0]


def histogram(x, bins):
    return np.bincount(x, minlength=bins)


def weighted_histogram(x, w, bins):
    return np.bincount(x, w, minlength=bins)


def transposed(to, x):
    to[:] = x.T


def last_axis_first(to, x):
    to[:] = x.transpose(2, 0, 1)


def scattered(to, index, x):
    np.add.at(to, index, x)


def scattered_by_loops(to, index, x):
    for i in range(len(index)):
        for c in range(x.shape[1]):
            to[index[i], c] += 0.5 * x[i, c]


def gathered(to, index, x):
    to[:] = x[index]


def rows_of_table(to, table, x):
    for d in range(len(table)):
        row = table[d]
        for s in range(x.shape[1]):
            to[row, s] = x[d, s] * 2


def added_to_rows(to, table, x):
    for d in range(len(table)):
        row = table[d]
        for s in range(x.shape[1]):
            to[row, s] += x[d, s]


def intervals_of_rows(to, table, first, last, x, flags):
    for d in range(len(table)):
        row, w = table[d], x[d]
        for v in range(len(first)):
            for s in range(first[v], last[v]):
                if flags[d, s] & 1 == 0:
                    to[row, s] *= w


def sort(x):
    return np.sort(x)


def argsort(x):
    return np.argsort(x)


def sorted_rows(x):
    return np.sort(x, axis=1)


def median(x):
    return np.median(x, keepdims=True)


def percentile(x):
    return np.percentile(x, 99, keepdims=True)


def quantiles(x):
    return np.quantile(x, np.array([0.05, 0.25, 0.5, 0.75, 0.95]))


def row_medians(x):
    return np.median(x, axis=1)


def product(a, b):
    return a @ b


def add_one(x):
    x += 1.0


def smoothed(x):
    return np.fft.ifft(np.fft.fft(x) * 2).real + 1


def stepped(a, x, out):
    out[:] = (a * 2 @ x + 1) @ x


def _rows(length: int, dtype: Any, count: int = 1) -> Callable[[int], tuple]:
    row = length * np.dtype(dtype).itemsize
    return lambda n: tuple(x.reshape(-1, length) for x in numbers(max(n // row, 1) * row, dtype, count))


def _square(dtype: Any, count: int) -> Callable[[int], tuple]:
    def make(n: int) -> tuple:
        side = int((n / np.dtype(dtype).itemsize) ** 0.5) // 8 * 8
        return tuple(x[: side * side].reshape(side, side) for x in numbers(n, dtype, count))

    return make


def _box(n: int) -> tuple:
    side = int((n / 4) ** (1 / 3)) // 8 * 8
    x, to = (x[: side**3].reshape(side, side, side) for x in numbers(n, np.float32, 2))
    return to, x


def _all(*arguments: Any) -> int:
    return sum(a.nbytes for a in arguments if isinstance(a, np.ndarray))


def _twice(x: np.ndarray) -> int:
    return 2 * x.nbytes


def _to(to: np.ndarray, *others: Any) -> int:
    return to.nbytes + _all(*others)


def _into(to: np.ndarray, *others: Any) -> int:
    return 2 * to.nbytes + _all(*others)


def _of(*dtypes: Any) -> Callable[[int], tuple]:
    """An array of each dtype."""
    return lambda n: tuple(numbers(n, dtype, 1, 7 + i)[0] for i, dtype in enumerate(dtypes))


def _streams() -> list[Program]:
    f4, f8 = np.float32, np.float64
    stream: dict[str, Any] = {"bytes": _all, "goal": STREAM_GOAL}
    reduction: dict[str, Any] = {"bytes": _all, "goal": REDUCTION_GOAL, "lists_all": False}
    found = [
        Program("stream copy", copy, _of(f8, f8), **stream),
        Program("stream scale", scale, lambda n: (*numbers(n, f8, 2), 3.0), **stream),
        Program("stream add", add, _of(f8, f8, f8), **stream),
        Program("stream triad", triad, lambda n: (*numbers(n, f8, 3), 3.0), **stream),
        Program("copy of bytes", copy, _of(np.int8, np.int8), **stream),
        Program("copy of columns", copy, lambda n: tuple(x.copy("F") for x in _square(f8, 2)(n)), **stream),
        Program("fused chain (quadratic formula)", quadratic, _of(f8, f8, f8), lambda a, b, c: 4 * a.nbytes, STREAM_GOAL),
        Program("variance float64", variance, _of(f8), _twice, REDUCTION_GOAL, lists_all=False),
        Program("sums of columns float32", column_sums, _rows(1024, f4), lambda x: x.nbytes + x[0].nbytes, STREAM_GOAL),
        Program("sums of rows float32", row_sums, _rows(1024, f4), _all, REDUCTION_GOAL),
        Program("heat in two dimensions float64", heat, _square(f8, 2), **stream),
    ]
    for dtype in (f4, f8):
        name = np.dtype(dtype).name

        def axpy_arguments(n: int, dtype: Any = dtype) -> tuple:
            return (*numbers(n, dtype, 2), dtype(2.5))

        found += [
            Program(f"axpy {name}", axpy, axpy_arguments, lambda y, x, a: 3 * y.nbytes, STREAM_GOAL),
            Program(f"sum {name}", total, _of(dtype), **reduction),
            Program(f"maximum {name}", largest, _of(dtype), **reduction),
            Program(f"dot {name}", dot, _of(dtype, dtype), **reduction),
        ]
    return found


LENGTHS = (8, 16, 32, 64, 256, 1024, 4096, 16384)


def _of_rows() -> list[Program]:
    """What is done with each row; of float64 with few lengths, and so are loops over rows."""

    def one_each(dtype: Any) -> Callable[[np.ndarray], int]:
        return lambda x: x.nbytes + len(x) * np.dtype(dtype).itemsize

    found = []
    for dtype, lengths in ((np.float32, LENGTHS), (np.float64, (64, 1024, 16384))):
        name = np.dtype(dtype).name
        each: list[tuple[str, Callable, Callable[..., int]]] = [
            ("softmax", softmax, _twice),
            ("normalisation", normalise, _twice),
            ("logarithm of the sum of exponentials", logsumexp, one_each(dtype)),
            ("argmax", places, one_each(np.int64)),
            ("variance", row_variances, one_each(dtype)),
        ]
        for length in lengths:
            found += [Program(f"{what} of rows of {length}, {name}", f, _rows(length, dtype), size, STREAM_GOAL) for what, f, size in each]
    for length in (64, 1024, 16384):
        of_two: dict[str, Any] = {"arguments": _rows(length, np.float32, 2), "bytes": _to, "goal": STREAM_GOAL}
        found += [
            Program(f"softmax by a loop over rows of {length}, float32", softmax_by_rows, **of_two),
            Program(f"normalisation by a loop over rows of {length}, float32", normalise_by_rows, **of_two),
        ]
    return found


def _scans() -> list[Program]:
    f4, f8, any_order = np.float32, np.float64, {"fastmath": "reassoc"}
    found = [
        Program(f"scan {dtype}", scan, lambda n, dtype=dtype: (whole(n, dtype, 100),), lambda x: x.nbytes + 8 * x.size, TOGETHER_GOAL)
        for dtype in ("int64", "int32")
    ]
    return [
        *found,
        Program("running maximum float64", running_maximum, _of(f8), _twice, TOGETHER_GOAL),
        Program("scan float64, in order", scan, _of(f8), _twice, None, most=1 << 19),
        Program("scan float64, any order", scan, _of(f8), _twice, TOGETHER_GOAL, options=any_order),
        Program("scan float32, any order", scan, _of(f4), _twice, TOGETHER_GOAL, options=any_order),
        Program("loop that carries a sum, any order", carried, _of(f8, f8), _to, TOGETHER_GOAL, options=any_order),
    ]


def _selections() -> list[Program]:
    def selection(name: str, function: Callable, dtype: Any, share: float, size: int) -> Program:
        def made(n: int) -> tuple:
            return (*numbers(n, dtype, 1), 1.0 - share)

        def moved(x: np.ndarray, least: float) -> int:
            return x.nbytes + int(share * x.size) * size

        return Program(name, function, made, moved, TOGETHER_GOAL, lists_all=False)

    return [
        selection("selection float64", chosen, np.float64, 0.5, 8),
        selection("selection float64, one of a hundred", chosen, np.float64, 0.01, 8),
        selection("selection float32", chosen, np.float32, 0.5, 4),
        selection("indices that are chosen, float64", chosen_indices, np.float64, 0.5, 8),
    ]


def _histograms() -> list[Program]:
    def counts(name: str, bins: int, indices: Callable[[np.ndarray], np.ndarray], goal: float | None = HISTOGRAM_GOAL) -> Program:
        def made(n: int) -> tuple:
            return indices(_random(n // 8, 7)).astype(np.int64), bins

        return Program(name, histogram, made, lambda x, bins: x.nbytes, goal, lists_all=False)

    found = [counts(f"histogram of {bins}", bins, lambda x, bins=bins: x * bins) for bins in (16, 256, 1024, 4096, 8192)]
    found += [counts(f"histogram of {bins}, most of one", bins, lambda x, bins=bins: np.where(x < 0.9, 3, x * bins)) for bins in (256, 4096)]
    return [
        *found,
        counts("histogram of 1048576", 1 << 20, lambda x: x * (1 << 20), None),
        Program(
            "histogram of 256 with weights", weighted_histogram, lambda n: (whole(n, np.int64, 256), *numbers(n, np.float64, 1, 8), 256),
            lambda x, w, bins: x.nbytes + w.nbytes, most=1 << 26, lists_all=False,
        ),
        Program(
            "histogram of 256 with weights, any order", weighted_histogram,
            lambda n: (whole(n, np.int64, 256), *numbers(n, np.float64, 1, 8), 256), lambda x, w, bins: x.nbytes + w.nbytes,
            options={"fastmath": "reassoc"}, lists_all=False,
        ),
    ]  # fmt: skip


def _transposes() -> list[Program]:
    found = [Program(f"transposed copy {np.dtype(d).name}", transposed, _square(d, 2), _all, REDUCTION_GOAL) for d in (np.float32, np.float64, np.int8)]
    return [*found, Program("last of three axes first, float32", last_axis_first, _box, _all, REDUCTION_GOAL)]


def _scatters() -> list[Program]:
    """Into 2^20 elements, or fewer than there are summands."""

    def elements(n: int) -> int:
        return min(1 << 20, max(n // 64, 8))

    def into_elements(n: int) -> tuple:
        return np.zeros(elements(n)), whole(n, np.int64, elements(n)), *numbers(n, np.float64, 1, 8)

    def into_rows(n: int) -> tuple:
        x = numbers(n // 24 * 24, np.float64, 1, 8)[0].reshape(-1, 3)
        return np.zeros((elements(n), 3)), whole(8 * len(x), np.int64, elements(n)), x

    def from_elements(n: int) -> tuple:
        return np.zeros(n // 8), whole(n, np.int64, elements(n)), numbers(8 * elements(n), np.float64, 1, 8)[0]

    more: dict[str, Any] = {"bytes": _into, "lists_all": False}
    return [
        Program("scatter-add float64", scattered, into_elements, **more),
        Program("scatter-add float64, any order", scattered, into_elements, **more, options={"fastmath": "reassoc"}),
        Program("scatter-add of rows of 3 by loops, float64", scattered_by_loops, into_rows, **more),
        Program("gather float64", gathered, from_elements, _to, lists_all=False),
    ]


def _tables() -> list[Program]:
    """Rows, as many as a telescope has detectors, at numbers of a table."""
    count = 64

    def rows(n: int) -> tuple:
        length = max(n // 8 // count, 8)
        to, x = (x.reshape(count, length) for x in numbers(8 * count * length, np.float64, 2))
        return to, np.random.default_rng(5).permutation(count).astype(np.int32), x

    def intervals(n: int) -> tuple:
        to, table, x = rows(n)
        ends = np.linspace(0, to.shape[1], 9).astype(np.int64)
        return to, table, ends[:-1].copy(), ends[1:].copy(), 1.0 + x[:, 0], np.zeros(to.shape, np.uint8)

    return [
        Program("rows of a table, stored", rows_of_table, rows, _to, STREAM_GOAL, lists_all=False),
        Program("rows of a table, added", added_to_rows, rows, _into, STREAM_GOAL, lists_all=False),
        Program("intervals of a table's rows, with flags", intervals_of_rows, intervals, _into, STREAM_GOAL, lists_all=False),
    ]


def _keys(dtype: Any) -> Callable[[int], tuple]:
    return lambda n: ((np.random.default_rng(3).random(n // np.dtype(dtype).itemsize) * 2**30).astype(dtype),)


def _of_keys(name: str, function: Callable, dtype: Any, arguments: Callable[[int], tuple] | None = None) -> Program:
    size = np.dtype(dtype).itemsize
    made = _keys(dtype) if arguments is None else arguments
    return Program(name, function, made, _all, most=size << 24, amount=("keys", lambda x: x.size), lists_all=False)


def _sorts() -> list[Program]:
    found = [_of_keys(f"{f.__name__} {d}", f, d) for f in (sort, argsort) for d in ("int32", "int64", "float32", "float64")]
    return [*found, _of_keys("sort of rows of 16384, float32", sorted_rows, np.float32, _rows(16384, np.float32))]


def _ranks() -> list[Program]:
    return [
        *(_of_keys(f"median {d}", median, d) for d in ("int32", "float32", "float64")),
        _of_keys("percentile float64", percentile, np.float64),
        _of_keys("five quantiles float32", quantiles, np.float32),
        _of_keys("medians of rows of 16384, float32", row_medians, np.float32, _rows(16384, np.float32)),
    ]


def _products() -> list[Program]:
    def one(side: int, dtype: str) -> Program:
        def made(n: int) -> tuple:
            own = min(side, int((n / 8) ** 0.5))
            return tuple(np.random.default_rng(1).random((2, own, own)).astype(dtype))

        return Program(f"product of {side} x {side} {dtype}", product, made, _all, amount=("flops", lambda a, b: 2 * len(a) ** 3), lists_all=False)

    return [one(side, dtype) for dtype in ("float32", "float64") for side in (512, 1024, 2048)]


GROUPS: dict[str, list[Program]] = {
    "bandwidth": _streams(),
    "rows": _of_rows(),
    "scans": _scans(),
    "selections": _selections(),
    "histograms": _histograms(),
    "transposes": _transposes(),
    "scatters": _scatters(),
    "tables": _tables(),
    "sorts": _sorts(),
    "ranks": _ranks(),
    "products": _products(),
}
"""What is measured together."""

PROGRAMS = [program for group in GROUPS.values() for program in group]
