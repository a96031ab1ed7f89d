"""Elements by their rank in long lines, without a sort: medians, percentiles and quantiles.

A launch for each digit of the elements and one more; each result has the bits of the CPU's, but for the signs of NaN and of zeros among others.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import ingot
from ingot.library.statistics import METHODS

rng = np.random.default_rng(43)
device = ingot.device("emulated")

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32", "int64", "uint64", "float64"]
IN_A_BLOCK = 2048  # lines up to this length are sorted
CHUNK = 2048  # what a block reads at once


@ingot.jit
def medians(a):
    return np.median(a)


@ingot.jit
def medians_along(a):
    return np.median(a, axis=0), np.median(a, axis=1)


@ingot.jit
def medians_of_lines(a):
    return np.median(a, axis=1)


@ingot.jit
def quantiles(a, q):
    return np.quantile(a, q)


def numbers(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.4
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape)).astype(dtype)


def bits(x):
    """All NaN are one."""
    x = np.asarray(x.to_host() if isinstance(x, ingot.Array) else x)
    return np.where(x == x, x, x.dtype.type(np.nan)).tobytes() if x.dtype.kind == "f" else x.tobytes()


def check(x, function=medians, *others):
    mine, theirs = function(ingot.device_put(x, device), *others), function(x, *others)
    if not isinstance(mine, tuple):
        mine, theirs = (mine,), (theirs,)
    for m, t in zip(mine, theirs, strict=True):
        assert bits(m) == bits(t)


def launches(function, *arguments):
    return ingot.jit(function).explain(*arguments, device="sm_90").launches


@pytest.mark.rotated(4)
def test_they_are_a_launch_for_each_digit_and_one():
    """The first two read all elements, and the others no more; a sort moves them twice for each digit."""
    n = 1 << 20
    for dtype in ("float32", "float64"):
        x = np.zeros(n, dtype)
        size = x.itemsize
        found = launches(lambda a: np.median(a), x)
        assert found.times == size + 1 + 2  # the ranks before, the median afterwards
        long = [k for k in found.launches if k.grid[0] > 1]
        assert [k.times for k in long] == [1, 1, size - 2]
        assert sum(k.times * k.read for k in long) <= 1.05 * x.nbytes * size
        assert sum(k.times * k.written for k in long) <= 1.05 * x.nbytes


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.sampled(8)
def test_lengths(dtype):
    for n in (1, 2, 33, IN_A_BLOCK, IN_A_BLOCK + 1, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1, 20_011):
        check(numbers(dtype, n))


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
def test_elements_that_are_skewed(dtype):
    """All equal, two, sorted, reversed, one digit, the highest digit alone."""
    n = 12_345
    info = np.finfo(dtype) if dtype == "float64" else np.iinfo(dtype)
    ordered = np.sort(numbers(dtype, n))
    few = np.arange(n).astype("uint8").astype(dtype)
    for x in (
        np.full(n, 7, dtype),
        np.full(n, info.max, dtype),
        np.where(np.arange(n) == n - 5, 3, 100).astype(dtype),
        ordered,
        ordered[::-1].copy(),
        few,
        np.where(few > 100, info.max, few).astype(dtype),
        np.where(rng.random(n) < 0.5, info.min, info.max).astype(dtype),
    ):
        check(x, quantiles, np.array([0.0, 0.3, 0.5, 1.0]))


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_that_are_special(dtype):
    """NaN is the last, whatever its sign; a median of zeros has theirs."""
    n = 9_001
    zeros = np.zeros(n, dtype)
    for x in (zeros, -zeros, np.full(n, np.inf, dtype), np.full(n, -np.inf, dtype)):
        check(x)
    x = numbers(dtype, n)
    x[: n // 2] = -np.inf
    check(x, quantiles, np.array([0.1, 0.4999, 0.5001, 0.9]))
    for nan in (np.nan, -np.nan):
        x[5] = nan
        got = medians(ingot.device_put(x, device))
        assert np.isnan(np.asarray(got))
    x[:] = np.nan
    assert np.isnan(np.asarray(medians(ingot.device_put(x, device))))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.sampled(8)
def test_methods(method):
    check(numbers("float64", 5_000), ingot.jit(lambda a: np.percentile(a, [3.5, 50, 90], method=method)))


def test_more_ranks_than_are_selected_at_once():
    x = numbers("float32", 5_000)
    for count in (7, 8, 30):
        check(x, quantiles, np.linspace(0, 1, count))


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_lines(dtype):
    for shape in ((3, 2049), (2500, 3)):
        x = numbers(dtype, shape)
        x[1] = x[1, 0]
        check(x, medians_along)
    check(numbers(dtype, (3, 3000)), ingot.jit(lambda a: np.percentile(a, [90, 10, 10, 50], axis=1, keepdims=True)))


def test_arrays_that_are_written_afterwards():
    def in_place(a):
        b = np.median(a)
        a[:3000] = 999
        return b, np.median(a)

    x = rng.integers(0, 999, 7001)
    own, moved = x.copy(), ingot.device_put(x, device)
    for mine, theirs in zip(ingot.jit(in_place)(moved), in_place(own), strict=True):
        assert bits(mine) == bits(theirs)


def test_elements_of_sorts():
    """A stable sort of zeros has the first zero first."""
    x = np.where(np.arange(5000) % 2 == 0, 0.0, -0.0)
    at = np.array([0, 1, 2, 4999])
    check(x, ingot.jit(lambda a, k: np.sort(a, kind="stable")[k]), at)
    check(np.arange(5000), ingot.jit(lambda a, k: np.sort(a)[k]), at)


def test_a_million_and_three():
    check(numbers("float32", (1 << 20) + 3))


def test_graphs_launch_them_again():
    x = ingot.device_put(numbers("int32", 20_000), device)
    graph = ingot.graph(ingot.jit(lambda a: np.median(a.reshape(2, 10_000), axis=1)), x)
    for _ in range(3):
        np.testing.assert_array_equal(graph().to_host(), np.median(x.to_host().reshape(2, 10_000), axis=1))
        x ^= 0x5A5A5A


PROGRAM = """
import numpy as np
import test_device_select as t
t.check(t.numbers("float32", 11_000))
t.check(np.arange(9_000) & 0xFF00, t.quantiles, np.array([0.1, 0.7]))
t.check(t.numbers("uint8", (3, 6_000)), t.medians_of_lines)
"""


@pytest.mark.rotated(4)
@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.sampled(4)
def test_nothing_races_in_any_order_of_blocks(seed):
    """Blocks and warps run in an order that is drawn from the seed, several alternately."""
    variables = {"INGOT_EMULATOR_SEED": str(seed), "INGOT_EMULATOR_RACES": "1"}
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
