"""Reductions, scans, compactions and histograms."""

from __future__ import annotations

import numpy as np

from ingot import prange
from ingot.tour import sources, tasks

from ..workload import ELEMENTARY, CppCall, Workload


def _line(full):
    return lambda small: (np.random.default_rng(20).random(4099 if small else full),)


def _plane(dtype=np.float64):
    def arguments(small):
        g = np.random.default_rng(20)
        return (g.normal(size=(37, 65) if small else (4096, 1024)).astype(dtype),)

    return arguments


def softmax_array(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def softmax_loop(x):
    rows, columns = x.shape
    out = np.empty_like(x)
    for i in prange(rows):
        largest = x[i, 0]
        for j in range(1, columns):
            largest = max(largest, x[i, j])
        total = np.float32(0.0)
        for j in range(columns):
            e = np.exp(x[i, j] - largest)
            out[i, j] = e
            total += e
        for j in range(columns):
            out[i, j] /= total
    return out


def _softmax_cpp(x):
    out = np.empty_like(x)
    return CppCall("softmax", (x, out, *x.shape), out)


SOFTMAX = Workload(
    "softmax",
    _plane(np.float32),
    {"array": softmax_array, "loop": softmax_loop},
    jax=lambda jax, x: jax.nn.softmax(x, axis=1),
    cpp=_softmax_cpp,
    bytes=lambda x: 2 * x.nbytes,
    flops=lambda x: (ELEMENTARY + 4) / 2 * x.size,
    bound=1e-5,
)


def logsumexp_array(x):
    largest = np.max(x, axis=1)
    return largest + np.log(np.sum(np.exp(x - largest[:, None]), axis=1))


def logsumexp_loop(x):
    rows, columns = x.shape
    out = np.empty(rows)
    for i in prange(rows):
        largest = x[i, 0]
        for j in range(1, columns):
            largest = max(largest, x[i, j])
        total = 0.0
        for j in range(columns):
            total += np.exp(x[i, j] - largest)
        out[i] = largest + np.log(total)
    return out


def _rows_cpp(function, axis):
    def call(x):
        out = np.empty(x.shape[axis])
        return CppCall(function, (x, out, *x.shape), out)

    return call


LOGSUMEXP = Workload(
    "logsumexp",
    _plane(),
    {"array": logsumexp_array, "loop": logsumexp_loop},
    jax=lambda jax, x: jax.nn.logsumexp(x, axis=1),
    cpp=_rows_cpp("logsumexp", 0),
    bytes=lambda x: x.nbytes,
    flops=lambda x: (ELEMENTARY + 3) * x.size,
)


def row_sums_array(x):
    return np.sum(x, axis=1)


def row_sums_loop(x):
    rows, columns = x.shape
    out = np.empty(rows)
    for i in prange(rows):
        total = 0.0
        for j in range(columns):
            total += x[i, j]
        out[i] = total
    return out


def column_sums_array(x):
    return np.sum(x, axis=0)


def column_sums_loop(x):
    rows, columns = x.shape
    out = np.zeros(columns)
    for i in range(rows):
        for j in range(columns):
            out[j] += x[i, j]
    return out


ROW_SUMS = Workload(
    "row_sums",
    _plane(),
    {"array": row_sums_array, "loop": row_sums_loop},
    jax=lambda jax, x: jax.numpy.sum(x, axis=1),
    cpp=_rows_cpp("row_sums", 0),
    bytes=lambda x: x.nbytes,
    flops=lambda x: x.size,
)
COLUMN_SUMS = Workload(
    "column_sums",
    _plane(),
    {"array": column_sums_array, "loop": column_sums_loop},
    jax=lambda jax, x: jax.numpy.sum(x, axis=0),
    cpp=_rows_cpp("column_sums", 1),
    bytes=lambda x: x.nbytes,
    flops=lambda x: x.size,
)


def transposed_product_array(a, v):
    return a.T @ v


def transposed_product_loop(a, v):
    rows, columns = a.shape
    out = np.zeros(columns)
    for i in range(rows):
        for j in range(columns):
            out[j] += a[i, j] * v[i]
    return out


def _transposed_product_arguments(small):
    g = np.random.default_rng(20)
    shape = (37, 65) if small else (4000, 4000)
    return g.random(shape), g.random(shape[0])


def _transposed_product_cpp(a, v):
    out = np.empty(a.shape[1])
    return CppCall("transposed_product", (a, v, out, *a.shape), out)


TRANSPOSED_PRODUCT = Workload(
    "transposed_product",
    _transposed_product_arguments,
    {"array": transposed_product_array, "loop": transposed_product_loop},
    jax=lambda jax, a, v: a.T @ v,
    cpp=_transposed_product_cpp,
    bytes=lambda a, v: a.nbytes,
    flops=lambda a, v: 2 * a.size,
)


SUM2D = Workload(
    "sum2d",
    lambda small: (np.arange(12 if small else 4_000_000).reshape(3 if small else 2000, -1),),
    {"loop": sources.sum2d},
    **vars(tasks.SUM2D),
)
REDUCE = Workload("reduce_elements", _line(10_000_000), {"loop": sources.reduce}, bound=1e-10, **vars(tasks.REDUCE))


def sum_array(x):
    return np.sum(x)


SUM = Workload("sum", _line(10_000_000), {"array": sum_array}, bound=1e-10, **vars(tasks.REDUCE))


def sum_greater_loop(arr):
    total = 0.0
    for x in arr:
        if x > 3.0:
            total += x
    return total


SUM_GREATER = Workload(
    "sum_greater_than_three",
    lambda small: (np.random.default_rng(20).uniform(0, 10, 4099 if small else 10_000_000),),
    {"array": sources.sum_greater_than_three, "loop": sum_greater_loop},
    bound=1e-10,
    **vars(tasks.SUM_GREATER),
)


def compress_array(a):
    return a[a > 0.3]


def compress_loop(a):
    out = np.empty_like(a)
    count = 0
    for x in a:
        if x > 0.3:
            out[count] = x
            count += 1
    return out[:count]


def _compress_cpp(a):
    out, count = np.empty_like(a), np.zeros(1, np.int64)
    return CppCall("compress", (a, out, count, a.size), lambda: out[: count[0]])


COMPRESS = Workload(
    "compress",
    _line(10_000_000),
    {"array": compress_array, "loop": compress_loop},
    cpp=_compress_cpp,
    bytes=lambda a: a.nbytes * 17 // 10,
    flops=lambda a: a.size,
    skipped={"jax": "refuses boolean masks under jit: the shape of the result is not static"},
)

BINS = 1000


def histogram_array(x):
    return np.bincount((x * BINS).astype(np.int64), minlength=BINS)


def histogram_loop(x):
    counts = np.zeros(BINS, np.int64)
    for i in range(len(x)):
        counts[int(x[i] * BINS)] += 1
    return counts


def _histogram_cpp(x):
    counts = np.zeros(BINS, np.int64)
    return CppCall("histogram", (x, counts, x.size, BINS), counts)


HISTOGRAM = Workload(
    "histogram",
    _line(10_000_000),
    {"loop": histogram_loop},
    numpy=histogram_array,
    jax=lambda jax, x: jax.numpy.bincount((x * BINS).astype(jax.numpy.int64), length=BINS),
    cpp=_histogram_cpp,
    bytes=lambda x: x.nbytes,
    flops=lambda x: x.size,
)


def prefix_sum_array(x):
    return np.cumsum(x)


def prefix_sum_loop(x):
    out = np.empty_like(x)
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        out[i] = total
    return out


def _prefix_sum_cpp(x):
    out = np.empty_like(x)
    return CppCall("prefix_sum", (x, out, x.size), out)


PREFIX_SUM = Workload(
    "prefix_sum",
    _line(10_000_000),
    {"array": prefix_sum_array, "loop": prefix_sum_loop},
    jax=lambda jax, x: jax.numpy.cumsum(x),
    cpp=_prefix_sum_cpp,
    bytes=lambda x: 2 * x.nbytes,
    flops=lambda x: x.size,
    bound=1e-10,
)

GOLDEN, MIX1, MIX2 = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
S11, S27, S30, S31 = (np.uint64(c) for c in (11, 27, 30, 31))
UNIT = 2.0**-53


def uniform(counter):
    """A number of [0, 1) from each counter: SplitMix64 with the counter as its state."""
    z = counter * GOLDEN
    z = (z ^ (z >> S30)) * MIX1
    z = (z ^ (z >> S27)) * MIX2
    return ((z ^ (z >> S31)) >> S11).astype(np.float64) * UNIT


def pi_array(n):
    counter = np.arange(n, dtype=np.uint64)
    x = uniform(counter)
    y = uniform(counter + np.uint64(n))
    return 4.0 * np.sum(x * x + y * y < 1.0) / n


def uniform_one(counter):
    z = counter * GOLDEN
    z = (z ^ (z >> S30)) * MIX1
    z = (z ^ (z >> S27)) * MIX2
    return np.float64((z ^ (z >> S31)) >> S11) * UNIT


def pi_loop(n):
    inside = 0
    for i in range(n):
        x = uniform_one(np.uint64(i))
        y = uniform_one(np.uint64(i + n))
        if x * x + y * y < 1.0:
            inside += 1
    return 4.0 * inside / n


def _pi_jax(jax, n):
    jnp = jax.numpy

    def draw(counter):
        z = counter * GOLDEN
        z = (z ^ (z >> S30)) * MIX1
        z = (z ^ (z >> S27)) * MIX2
        return ((z ^ (z >> S31)) >> S11).astype(jnp.float64) * UNIT

    counter = jnp.arange(n, dtype=jnp.uint64)
    x, y = draw(counter), draw(counter + np.uint64(n))
    return 4.0 * jnp.sum(x * x + y * y < 1.0) / n


def _pi_cpp(n):
    out = np.zeros(1)
    return CppCall("monte_carlo_pi", (out, n), out)


PI = Workload(
    "monte_carlo_pi",
    lambda small: (4099 if small else 10_000_000,),
    {"array": pi_array, "loop": pi_loop},
    jax=_pi_jax,
    cpp=_pi_cpp,
    flops=lambda n: 26 * n,
)

WORKLOADS = [SOFTMAX, LOGSUMEXP, ROW_SUMS, COLUMN_SUMS, TRANSPOSED_PRODUCT, SUM2D, SUM, REDUCE, SUM_GREATER, COMPRESS,
             HISTOGRAM, PREFIX_SUM, PI]
