"""Loops after each other that add to windows of one array: they become one, which adds to each element in their order."""

import numpy as np
import pytest

import ingot
from support import MODES, jitted

LENGTHS = (2, 3, 4, 5, 8, 9, 33, 100)


def back_and_forth(x):
    sums = np.zeros(len(x))
    sums[:-1] += x[1:]
    sums[1:] += x[:-1] * 0.1
    sums[:-1] -= x[:-1] / 3.0
    return sums


def far_windows(x):
    sums = np.ones(len(x))
    sums[2:] += x[:-2]
    sums[1:-1] *= x[1:-1]
    sums[:-2] -= x[2:]
    sums[1:-1] += x[:-2]
    return sums


def reads_neighbours(x):
    sums = np.zeros(len(x))
    sums[:-1] += x[1:]
    sums[1:] += sums[:-1]
    sums[:-1] += x[:-1]
    return sums


def by_hand(x):
    sums = np.zeros(len(x))
    n = len(x) - 1
    for i in range(n):
        sums[i] += x[i]
    for i in range(n):
        sums[i + 1] += x[i] * x[i]
    for i in range(n):
        sums[i] *= x[i + 1]
    return sums


@pytest.mark.parametrize("vectors", ["scalar", "avx2"])
@pytest.mark.parametrize("function", [back_and_forth, far_windows, reads_neighbours, by_hand], ids=lambda f: f.__name__)
def test_values(function, vectors, monkeypatch):
    monkeypatch.setenv("INGOT_VECTORS", vectors)
    compiled = [jitted(function, mode) for mode in MODES]
    for length in LENGTHS:
        x = np.random.default_rng(length).standard_normal(length)
        for one in compiled:
            assert one(x).tobytes() == function(x).tobytes(), length


def valley(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("length", [0, 1, *LENGTHS])
def test_gradients_of_neighbours(length):
    x = np.random.default_rng(length).standard_normal((3, length))
    wanted = np.zeros_like(x)
    a = x[:, 1:] - x[:, :-1] ** 2
    wanted[:, :-1] -= 400 * x[:, :-1] * a + 2 * (1 - x[:, :-1])
    wanted[:, 1:] += 200 * a
    for function in (ingot.vmap(ingot.grad(valley)), lambda x: np.stack([ingot.grad(valley)(row) for row in x])):
        assert np.allclose(function(x), wanted, rtol=1e-12, atol=1e-12)
