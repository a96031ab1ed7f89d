"""What is timed: each primitive, and how NumPy, Numba, JAX, pandas and C++ do the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingot import parallel
from ingot.tour.tasks import CppCall

K = 100
"""How many elements are selected, bins, groups, and elements of a segment."""


def add(a, b):
    return a + b


@dataclass(frozen=True)
class Primitive:
    """A function of arrays by `arguments(n)`; `numba` is compiled, `jax` is given the module, `cpp` makes the call."""

    name: str
    arguments: Callable[[int], tuple]
    ingot: Callable[..., Any]
    numpy: Callable[..., Any]
    numba: Callable[..., Any] | None = None
    jax: Callable[..., Any] | None = None
    cpp: Callable[..., CppCall] | None = None
    pandas: Callable[..., Any] | None = None


def _generator(n: int) -> np.random.Generator:
    return np.random.default_rng(n)


def line(n: int) -> tuple:
    return (_generator(n).random(n),)


def two(n: int) -> tuple:
    g = _generator(n)
    return g.random(n), g.random(n)


def ints(n: int) -> tuple:
    return (_generator(n).integers(0, 1000, n),)


def indexed(n: int) -> tuple:
    g = _generator(n)
    return g.random(n), g.integers(0, n, n)


def binned(n: int) -> tuple:
    g = _generator(n)
    return g.random(n), g.integers(0, K, n)


def segments(n: int) -> tuple:
    return _generator(n).random(n), np.append(np.arange(0, n, K), n)


def ascending(n: int) -> tuple:
    g = _generator(n)
    return np.sort(g.random(n)), np.sort(g.random(n))


def searched(n: int) -> tuple:
    g = _generator(n)
    return np.sort(g.random(n)), g.random(n)


def _into(name: str, *more: Any, dtype: Any = None, length: Callable[[int], int] = lambda n: n) -> Callable[..., CppCall]:
    """A call of C++ with the arguments, an output and its length, and other numbers."""

    def call(*arrays: np.ndarray) -> CppCall:
        n = len(arrays[0])
        out = np.empty(length(n), dtype or arrays[0].dtype)
        return CppCall(f"primitive_{name}", (*arrays, out, n, *more), out)

    return call


def _number(name: str) -> Callable[..., CppCall]:
    def call(*arrays: np.ndarray) -> CppCall:
        out = np.empty(1)
        return CppCall(f"primitive_{name}", (*arrays, out, len(arrays[0])), lambda: out[0])

    return call


def _counted(name: str) -> Callable[..., CppCall]:
    def call(x: np.ndarray) -> CppCall:
        out, count = np.empty_like(x), np.zeros(1, np.int64)
        return CppCall(f"primitive_{name}", (x, out, count, len(x)), lambda: out[: count[0]])

    return call


def _segmented_cpp(x: np.ndarray, offsets: np.ndarray) -> CppCall:
    out = np.empty(len(offsets) - 1)
    return CppCall("primitive_segmented_reduce", (x, offsets, out, len(out)), out)


def _scattered_cpp(x: np.ndarray, index: np.ndarray) -> CppCall:
    out = np.empty(len(x))
    return CppCall("primitive_scatter", (x, index, out, len(x), len(x)), out)


def _sorted_cpp(keys: np.ndarray, values: np.ndarray) -> CppCall:
    out, moved = np.empty_like(keys), np.empty_like(values)
    return CppCall("primitive_sort_by_key", (keys, values, out, moved, len(keys)), lambda: (out, moved))


def _selected_cpp(x: np.ndarray) -> CppCall:
    copy = np.empty_like(x)
    return CppCall("primitive_k_select", (x, copy, len(x), len(x) // 2), lambda: copy[len(x) // 2])


def _top_cpp(x: np.ndarray) -> CppCall:
    order = np.empty(len(x), np.int64)
    k = _few(x)
    return CppCall("primitive_top_k", (x, order, len(x), k), lambda: (x[order[:k]], order[:k]))


def _merged_cpp(x: np.ndarray, y: np.ndarray) -> CppCall:
    out = np.empty(len(x) + len(y))
    return CppCall("primitive_merge", (x, y, out, len(x)), out)


def _grouped_cpp(values: np.ndarray, keys: np.ndarray) -> CppCall:
    out = np.empty(K)
    return CppCall("primitive_group", (keys, values, out, len(keys), K), lambda: (np.arange(K), out))


def _few(x: np.ndarray) -> int:
    return min(K, len(x) // 2)


def map_loop(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * x[i] + 1
    return out


def zip_loop(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * y[i]
    return out


def sum_loop(x):
    total = 0.0
    for a in x:
        total += a
    return total


def max_loop(x):
    most = x[0]
    for a in x:
        most = max(most, a)
    return most


def product_loop(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def scan_loop(x):
    out = np.empty_like(x)
    total = x[0] * 0
    for i in range(len(x)):
        total += x[i]
        out[i] = total
    return out


def segmented_loop(x, offsets):
    out = np.empty(len(offsets) - 1)
    for s in range(len(out)):
        total = x[offsets[s]]
        for i in range(offsets[s] + 1, offsets[s + 1]):
            total += x[i]
        out[s] = total
    return out


def gather_loop(x, index):
    out = np.empty(len(index))
    for i in range(len(index)):
        out[i] = x[index[i]]
    return out


def scatter_loop(x, index):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[index[i]] += x[i]
    return out


def compact_loop(x):
    out = np.empty_like(x)
    count = 0
    for a in x:
        if a > 0.5:
            out[count] = a
            count += 1
    return out[:count]


def histogram_loop(x, index):
    out = np.zeros(K, np.int64)
    for i in index:
        out[i] += 1
    return out


def group_loop(values, keys):
    out = np.zeros(K)
    for i in range(len(keys)):
        out[keys[i]] += values[i]
    return np.arange(K), out


def merge_loop(x, y):
    out = np.empty(len(x) + len(y))
    i = j = 0
    for k in range(len(out)):
        if i < len(x) and (j >= len(y) or x[i] <= y[j]):
            out[k] = x[i]
            i += 1
        else:
            out[k] = y[j]
            j += 1
    return out


def _numpy_scatter(x, index):
    out = np.zeros(len(x))
    np.add.at(out, index, x)
    return out


def _numpy_by_key(keys, values):
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def _numpy_top(x):
    k = _few(x)
    places = np.argpartition(x, len(x) - k)[len(x) - k :]
    places = places[np.argsort(x[places])[::-1]]
    return x[places], places


def _numpy_group(values, keys):
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    return found, np.add.reduceat(values[order], starts)


def _pandas_group(pandas, values, keys):
    found = pandas.Series(values).groupby(keys).sum()
    return found.index.to_numpy(), found.to_numpy()


PRIMITIVES = [
    Primitive("map", line, lambda x: parallel.map(lambda a: a * a + 1, x), lambda x: x * x + 1, map_loop, lambda jax, x: x * x + 1, _into("map")),
    Primitive("zip_with", two, lambda x, y: parallel.zip_with(lambda a, b: a * b, x, y), np.multiply, zip_loop, lambda jax, x, y: x * y, _into("zip_with")),
    Primitive("reduce", line, lambda x: parallel.reduce(add, x), np.sum, sum_loop, lambda jax, x: x.sum(), _number("sum")),
    Primitive("reduce_max", line, lambda x: parallel.reduce(max, x), np.max, max_loop, lambda jax, x: x.max(), _number("max")),
    Primitive(
        "reduce_of_products",
        two,
        lambda x, y: parallel.reduce(add, parallel.transformed(lambda a, b: a * b, x, y)),
        lambda x, y: np.sum(x * y),
        product_loop,
        lambda jax, x, y: (x * y).sum(),
        _number("product_sum"),
    ),
    Primitive("scan", line, lambda x: parallel.scan(add, x), np.cumsum, scan_loop, lambda jax, x: jax.numpy.cumsum(x), _into("scan")),
    Primitive("scan_of_ints", ints, lambda x: parallel.scan(add, x), np.cumsum, scan_loop, lambda jax, x: jax.numpy.cumsum(x), _into("scan_of_ints")),
    Primitive(
        "segmented_reduce",
        segments,
        lambda x, offsets: parallel.segmented_reduce(add, x, offsets),
        lambda x, offsets: np.add.reduceat(x, offsets[:-1]),
        segmented_loop,
        None,
        _segmented_cpp,
    ),
    Primitive("gather", indexed, parallel.gather, lambda x, i: x[i], gather_loop, lambda jax, x, i: x[i], _into("gather")),
    Primitive(
        "scatter",
        indexed,
        lambda x, i: parallel.scatter(x, i, np.zeros(len(x)), add),
        _numpy_scatter,
        scatter_loop,
        lambda jax, x, i: jax.numpy.zeros(x.shape).at[i].add(x),
        _scattered_cpp,
    ),
    Primitive("compact", line, lambda x: parallel.compact(x, lambda a: a > 0.5), lambda x: x[x > 0.5], compact_loop, None, _counted("compact")),
    Primitive(
        "histogram",
        binned,
        lambda x, i: parallel.histogram(i, K),
        lambda x, i: np.bincount(i, minlength=K),
        histogram_loop,
        lambda jax, x, i: jax.numpy.bincount(i, length=K),
        lambda x, i: _into("histogram", K, dtype=np.int64, length=lambda n: K)(i),
    ),
    Primitive("sort", line, lambda x: parallel.sort(x), np.sort, np.sort, lambda jax, x: jax.numpy.sort(x), _into("sort")),
    Primitive(
        "argsort",
        line,
        lambda x: parallel.argsort(x),
        lambda x: np.argsort(x, kind="stable"),
        None,
        lambda jax, x: jax.numpy.argsort(x),
        _into("argsort", dtype=np.int64),
    ),
    Primitive("sort_by_key", two, parallel.sort_by_key, _numpy_by_key, None, lambda jax, k, v: jax.lax.sort((k, v), num_keys=1), _sorted_cpp),
    Primitive("k_select", line, lambda x: parallel.k_select(x, len(x) // 2), lambda x: np.partition(x, len(x) // 2)[len(x) // 2], None, None, _selected_cpp),
    Primitive("top_k", line, lambda x: parallel.top_k(x, _few(x)), _numpy_top, None, lambda jax, x: jax.lax.top_k(x, _few(x)), _top_cpp),
    Primitive("unique", ints, lambda x: parallel.unique(x), np.unique, np.unique, None, _counted("unique")),
    Primitive(
        "merge",
        ascending,
        parallel.merge,
        lambda x, y: np.sort(np.concatenate((x, y)), kind="stable"),
        merge_loop,
        lambda jax, x, y: jax.numpy.sort(jax.numpy.concatenate((x, y))),
        _merged_cpp,
    ),
    Primitive(
        "searchsorted",
        searched,
        parallel.searchsorted,
        np.searchsorted,
        np.searchsorted,
        lambda jax, x, y: jax.numpy.searchsorted(x, y),
        _into("searchsorted", dtype=np.int64),
    ),
    Primitive(
        "group_by_reduce",
        binned,
        lambda v, k: parallel.group_by_reduce(add, k, v),
        _numpy_group,
        group_loop,
        None,
        _grouped_cpp,
        _pandas_group,
    ),
]
"""All of them, in the order in which they are shown."""
