"""Random numbers of NumPy's streams: whole arrays, and one number after the other."""

from __future__ import annotations

import numpy as np

from ..workload import Workload

OTHERS = {
    "numba": "makes no generator in compiled code",
    "jax": "has no streams of NumPy's",
    "c++ strict": "the standard library has no PCG64",
    "c++ fast": "the standard library has no PCG64",
}


def _length(small):
    return (4099 if small else 5_000_000,)


def uniform_array(n):
    return np.random.default_rng(20).random(n)


def normal_array(n):
    return np.random.default_rng(20).normal(1.0, 2.0, n)


def integers_array(n):
    return np.random.default_rng(20).integers(0, 1000, n)


def permutation_array(n):
    return np.random.default_rng(20).permutation(n)


def normal_walk(n):
    g = np.random.default_rng(20)
    path = np.empty(n)
    x = 0.0
    for i in range(n):
        x += g.standard_normal()
        path[i] = x
    return path


def _walk_numpy(n):
    return np.cumsum(np.random.default_rng(20).standard_normal(n))


def _drawn(name, form):
    return Workload(f"draw_{name}", _length, {"array": form}, bytes=lambda n: 8 * n, skipped=OTHERS)


WORKLOADS = [
    _drawn("uniform", uniform_array),
    _drawn("normal", normal_array),
    _drawn("integers", integers_array),
    _drawn("permutation", permutation_array),
    Workload("draw_walk", _length, {"loop": normal_walk}, numpy=_walk_numpy, bytes=lambda n: 8 * n, skipped=OTHERS),
]
