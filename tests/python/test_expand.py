"""Iterations that make arrays of their own, in lanes: the arrays of a block of iterations are next to each other."""

import numpy as np
import pytest

import ingot
from support import MODES, jitted

COUNTS = (0, 1, 7, 8, 9, 63, 64, 65, 130)


def layer(x, a):
    y = np.empty(len(a))
    for i in range(len(a)):
        s = 0.0
        for j in range(len(x)):
            s += a[i, j] * x[j]
        y[i] = np.tanh(s) + s * s
    return y


def columns(x, a):
    """Each column of x, by steps that go back and forth through arrays of its own."""
    out = np.empty((len(a), x.shape[1]))
    for k in range(x.shape[1]):
        own = np.empty(len(a))
        sums = np.zeros(len(a))
        for i in range(len(a)):
            own[i] = x[i % x.shape[0], k] + a[i]
        for i in range(len(a)):
            for j in range(i + 1):
                sums[i] += own[j] * a[i]
            if own[i] > 0.5:
                sums[i] -= own[len(a) - 1 - i]
        for i in range(len(a)):
            out[i, k] = sums[i] + own[i]
    return out


def of_one_memory(x, a):
    """Views of an iteration's memory that begin at several locations."""
    out = np.empty((len(a), x.shape[1]))
    for k in range(x.shape[1]):
        own = np.zeros(len(a) + 2)
        inner = own[1:-1]
        for i in range(len(a)):
            inner[i] = x[i % x.shape[0], k] * a[i]
        for i in range(len(a)):
            out[i, k] = own[i] - 2.0 * own[i + 1] + own[i + 2]
    return out


def of_narrow_numbers(x, a):
    out = np.empty((len(a), x.shape[1]), np.float32)
    for k in range(x.shape[1]):
        own = np.empty(len(a), np.float32)
        flags = np.zeros(len(a), np.int64)
        for i in range(len(a)):
            own[i] = x[i % x.shape[0], k]
            if own[i] > 0:
                flags[i] = i
        for i in range(len(a)):
            out[i, k] = own[i] * flags[len(a) - 1 - i]
    return out


def of_the_iteration_before(x, a):
    """Iterations that are in order."""
    out = np.zeros((len(a), x.shape[1]))
    for k in range(1, x.shape[1]):
        own = np.empty(len(a))
        for i in range(len(a)):
            own[i] = out[i, k - 1] + x[i % x.shape[0], k]
        for i in range(len(a)):
            out[i, k] = own[len(a) - 1 - i] * a[i]
    return out


@pytest.mark.parametrize("vectors", ["scalar", "sse", "avx2"])
@pytest.mark.parametrize("function", [columns, of_one_memory, of_narrow_numbers, of_the_iteration_before], ids=lambda f: f.__name__)
def test_values(function, vectors, monkeypatch):
    monkeypatch.setenv("INGOT_VECTORS", vectors)
    compiled = [jitted(function, mode) for mode in MODES]
    random = np.random.default_rng(5)
    for count in COUNTS:
        for length in (1, 5, 40):
            x, a = random.standard_normal((3, count)), random.standard_normal(length)
            for one in compiled:
                assert one(x, a).tobytes() == function(x, a).tobytes(), (count, length)


def test_arrays_that_a_cache_does_not_hold():
    random = np.random.default_rng(6)
    x, a = random.standard_normal((3, 70)), random.standard_normal(6_000)
    assert ingot.jit(of_one_memory)(x, a).tobytes() == of_one_memory(x, a).tobytes()


@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
def test_jacobians(mode):
    """Of so many columns, in blocks and what is left of them."""
    random = np.random.default_rng(7)
    for inputs, outputs in ((1, 1), (3, 9), (9, 3), (64, 64), (65, 66), (130, 7), (7, 130)):
        x, a = random.standard_normal(inputs), random.standard_normal((outputs, inputs)) / inputs
        s = a @ x
        wanted = (1 - np.tanh(s) ** 2 + 2 * s)[:, None] * a
        got = getattr(ingot, mode)(layer)(x, a)
        assert got.shape == wanted.shape
        assert np.allclose(got, wanted, rtol=1e-11, atol=1e-13)
