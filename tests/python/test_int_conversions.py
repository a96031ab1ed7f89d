"""Python ints together with NumPy integers, and floats on their way into integer arrays: found by random programs."""

import numpy as np
import pytest
from support import KINDS, check, difference, jitted, need_vectors


def less(a, p):
    return a < p, p < a


def less_equal(a, p):
    return a <= p, p <= a


def equal(a, p):
    return a == p, p == a


def not_equal(a, p):
    return a != p, p != a


def store(a, v):
    a[0] = v
    return a


@pytest.mark.sampled(5)
@pytest.mark.parametrize("function", [less, less_equal, equal, not_equal])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint16, np.int64, np.uint64])
def test_comparisons_with_ints_are_exact(function, dtype):
    for p in (-2, 0, 4, 300, 2**40):
        check(function, dtype(4), p)
        check(function, np.array([0, 1, 4, 100], dtype), p)


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64, np.float32, np.bool])
def test_storing_floats_and_ints(dtype):
    values = [1.5, -1.5, 3e9, 1e30, 1.8e19, float("nan"), float("inf"), -0.5, 2**31, -1, True]
    values += [np.int32(983622), np.int64(-5), np.uint8(200), np.uint64(2**63), np.bool(True)]
    values += [np.float64(3e9), np.float64(1e30), np.float64("nan"), np.float32(300), np.float16(7.5)]
    for value in values:
        check(store, np.zeros(2, dtype), value)


def reductions(x):
    return np.sum(x), np.prod(x), np.min(x), np.max(x), np.any(x), np.all(x)


@pytest.mark.parametrize("number", [0, 3, True, 2.5, np.int8(4), np.uint16(7), np.float32(0.5), np.bool(False)])
def test_reductions_of_numbers(number):
    check(reductions, number)


def as_integers(x):
    return (x.astype(np.int8), x.astype(np.uint8), x.astype(np.int16), x.astype(np.uint16), x.astype(np.int32),
            x.astype(np.uint32), x.astype(np.int64), x.astype(np.uint64))  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_become_integers_in_lanes(dtype, kind, monkeypatch):
    need_vectors(kind)
    monkeypatch.setenv("INGOT_VECTORS", kind)
    edges = [sign * (2.0**bits + step) for bits in (0, 7, 8, 15, 16, 31, 32, 53, 63, 64) for step in (-1, -0.5, 0, 0.5) for sign in (1, -1)]
    numbers = np.array([*edges, np.nan, np.inf, -np.inf, -0.0, 1e300] * 2).astype(dtype)
    assert difference(jitted(as_integers)(numbers), jitted(as_integers, "interpreted")(numbers)) is None
