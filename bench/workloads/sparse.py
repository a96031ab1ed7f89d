"""Irregular accesses: a sparse matrix times a vector, intervals of detectors."""

from __future__ import annotations

import numpy as np

from ingot import prange

from ..workload import CppCall, Workload

PER_ROW = 10


def _csr_arguments(small):
    g = np.random.default_rng(20)
    rows = 101 if small else 1_000_000
    columns = g.integers(0, rows, rows * PER_ROW)
    return np.arange(0, rows * PER_ROW + 1, PER_ROW), columns, g.random(rows * PER_ROW), g.random(rows)


def csr_loop(starts, columns, values, x):
    out = np.empty(len(starts) - 1)
    for i in prange(len(out)):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        out[i] = total
    return out


def _csr_jax(jax, starts, columns, values, x):
    rows = jax.numpy.repeat(jax.numpy.arange(len(starts) - 1), PER_ROW, total_repeat_length=len(values))
    return jax.ops.segment_sum(values * x[columns], rows, num_segments=len(starts) - 1, indices_are_sorted=True)


def _csr_cpp(starts, columns, values, x):
    out = np.empty(len(starts) - 1)
    return CppCall("csr", (starts, columns, values, x, out, len(out)), out)


CSR = Workload(
    "csr_matvec",
    _csr_arguments,
    {"loop": csr_loop},
    numpy=lambda starts, columns, values, x: np.add.reduceat(values * x[columns], starts[:-1]),
    jax=_csr_jax,
    cpp=_csr_cpp,
    bytes=lambda starts, columns, values, x: starts.nbytes + columns.nbytes + values.nbytes + 2 * x.nbytes,
    flops=lambda starts, columns, values, x: 2 * len(values),
)


def _interval_arguments(small):
    """Detectors, samples each, and intervals that do not overlap, from one random bound to the next."""
    g = np.random.default_rng(20)
    detectors, samples, intervals = (3, 500, 5) if small else (100, 200_000, 50)
    bounds = np.sort(g.choice(samples, 2 * intervals, replace=False))
    return g.random((detectors, samples)), g.random(detectors), bounds[::2].copy(), bounds[1::2].copy(), np.zeros((detectors, samples))


def intervals_slices(signal, gains, starts, stops, out):
    for d in prange(len(gains)):
        for k in range(len(starts)):
            out[d, starts[k]:stops[k]] = gains[d] * signal[d, starts[k]:stops[k]] + 0.5


def intervals_loop(signal, gains, starts, stops, out):
    for d in prange(len(gains)):
        for k in range(len(starts)):
            for i in range(starts[k], stops[k]):
                out[d, i] = gains[d] * signal[d, i] + 0.5


def _intervals_jax(jax, signal, gains, starts, stops, out):
    jnp = jax.numpy
    steps = jnp.zeros(signal.shape[1] + 1, jnp.int64).at[starts].add(1).at[stops].add(-1)
    return jnp.where(jnp.cumsum(steps)[:-1] > 0, gains[:, None] * signal + 0.5, out)


INTERVALS = Workload(
    "irregular_intervals",
    _interval_arguments,
    {"slices": intervals_slices, "loop": intervals_loop},
    numpy=intervals_slices,
    jax=_intervals_jax,
    cpp=lambda signal, gains, starts, stops, out: CppCall(
        "intervals", (signal, gains, starts, stops, out, *signal.shape, len(starts)), out
    ),
    outputs=(4,),
    bytes=lambda signal, gains, starts, stops, out: 16 * int(np.sum(stops - starts)) * len(gains),
    flops=lambda signal, gains, starts, stops, out: 2 * int(np.sum(stops - starts)) * len(gains),
)

WORKLOADS = [CSR, INTERVALS]
