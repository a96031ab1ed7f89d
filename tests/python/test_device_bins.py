"""Histograms on devices: few elements that many iterations add whole numbers to, or take extremes of. Blocks of threads have
copies of their own; what is counted by known numbers has 32 bits there. Values are those of the CPU."""

import functools
import os
import re
import shutil
import subprocess
import sys

import ingot
import numpy as np
import pytest

rng = np.random.default_rng(13)


@pytest.fixture(params=["emulated", pytest.param("opencl", marks=pytest.mark.sampled(4, of="opencl"))])
def device(request):
    return ingot.device(request.param)


def counts(x, out):
    for i in range(x.size):
        out[x[i]] += 1


def several_numbers(x, out):
    for i in range(x.size):
        out[x[i]] += 3
        if x[i] > 2:
            out[x[i]] -= 1000


def in_loops_inside(x, out):
    for i in range(x.size):
        for _ in range(x[i] % 5):
            out[x[i]] += 1


def sums(x, out):
    for i in range(x.size):
        out[x[i]] += i * 100_000_000


def extremes(x, out):
    for i in range(x.size):
        out[x[i]] = max(out[x[i]], i)


def lowest(x, out):
    for i in range(x.size):
        out[x[i]] = min(out[x[i]], -i)


FUNCTIONS = [counts, several_numbers, in_loops_inside, sums, extremes, lowest]


@functools.cache
def compiled(function):
    return ingot.jit(function)


@pytest.mark.parametrize(
    "bins, size, functions", [(1, 500, 6), (7, 600, 6), (256, 4200, 6), (256, 300, 2), (2100, 34_000, 1), (8188, 140_000, 1), (9000, 1000, 1)]
)
@pytest.mark.parametrize("skew", [None, 3])
def test_counts_of_any_skew(device, bins, size, functions, skew):
    x = np.minimum(rng.integers(0, bins, size), skew or bins)
    for function in FUNCTIONS[:functions]:
        expected, out = np.zeros(bins + 4, np.int64), ingot.device_put(np.zeros(bins + 4, np.int64), device)
        compiled(function)(x, expected)
        compiled(function)(ingot.device_put(x, device), out)
        np.testing.assert_array_equal(out.to_host(), expected)


def bits(x, out):
    for i in range(x.size):
        out[x[i]] |= i & 5


def flips(x, out):
    for i in range(x.size):
        out[x[i]] ^= i


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "uint64"])
def test_counts_of_dtypes(device, dtype):
    x = rng.integers(0, 100, 2000)
    for function in (counts,) if dtype in ("int8", "uint16") else (counts, extremes, bits, flips):
        expected, out = np.ones(100, dtype), ingot.device_put(np.ones(100, dtype), device)
        compiled(function)(x, expected)
        compiled(function)(ingot.device_put(x, device), out)
        np.testing.assert_array_equal(out.to_host(), expected)


def products(x, out):
    for i in range(x.size):
        out[x[i]] *= 3


def masks(x, out):
    for i in range(x.size):
        out[x[i]] |= x[i] > 30


def common(x, out):
    for i in range(x.size):
        out[x[i]] &= x[i] > 30


@pytest.mark.parametrize("function, dtype", [(products, "int64"), (products, "uint32"), (masks, "bool"), (common, "bool")])
def test_products_and_masks(device, function, dtype):
    x = rng.integers(0, 60, 3000)
    expected, out = np.ones(60, dtype), ingot.device_put(np.ones(60, dtype), device)
    compiled(function)(x, expected)
    compiled(function)(ingot.device_put(x, device), out)
    np.testing.assert_array_equal(out.to_host(), expected)


def spread(x, out):
    for i in range(x.size):
        out[i & 3] += 1


@pytest.mark.rotated(3)
@pytest.mark.skipif(
    shutil.which("ptxas", path=f"{os.environ['PATH']}:/usr/local/cuda/bin") is None, reason="there is no ptxas, the assembler of the CUDA toolkit"
)
def test_blocks_have_as_much_memory_as_bins_need():
    """The part of a block is 16 KiB for few bins, and 32 KiB, which every device has, for up to 8,192 that are counted in 32 bits."""
    for size, bins, expected in [(100_000, 4096, 16), (100_000, 4097, 32), (200_000, 8192, 32), (200_000, 8193, 0), (100_000, 8192, 0)]:
        report = ingot.jit(spread).explain(np.zeros(size, np.int64), np.zeros(bins, np.int64), device="sm_90")
        assert max(launch.needs.shared >> 10 for launch in report.launches.launches) == expected, (size, bins)


@pytest.mark.rotated(3)
def test_blocks_have_copies_of_32_bits_where_known_numbers_are_added():
    def ones(x, out):
        for i in range(x.size):
            out[x[i]] += 1

    def numbers_up_to_the_limit(x, out):
        for i in range(x.size):
            out[x[i]] += 1000
            out[x[i]] -= 24

    def a_number_above_it(x, out):
        for i in range(x.size):
            out[x[i]] += 1025

    x, out = np.zeros(100, np.int64), np.zeros(4, np.int64)
    for function, bits in [(ones, 32), (numbers_up_to_the_limit, 32), (a_number_above_it, 64), (sums, 64)]:
        loops = str(ingot.jit(function).explain(x, out, device="sm_90")).split("=== loop IR ===")[1].split("\n=== ")[0]
        assert re.search(rf"view<i{bits}, 1, shared>", loops), function


def test_functions_of_numpys(device):
    x = rng.integers(0, 300, 6000)
    np.testing.assert_array_equal(ingot.jit(lambda x: np.bincount(x))(ingot.device_put(x, device)).to_host(), np.bincount(x))
    y = rng.normal(size=2000)
    histogram = ingot.jit(lambda y: np.histogram(y, 64, (-3.0, 3.0))[0])
    np.testing.assert_array_equal(histogram(ingot.device_put(y, device)).to_host(), histogram(y))


def test_counts_beyond_32_bits_stay_exact(device):
    """Numbers that are not known, or that are large, are added in 64 bits."""

    def large(x, out):
        for i in range(x.size):
            out[x[i]] += 1_000_000_007

    x = np.zeros(2000, np.int64)
    out = ingot.device_put(np.zeros(4, np.int64), device)
    ingot.jit(large)(ingot.device_put(x, device), out)
    np.testing.assert_array_equal(out.to_host(), [2000 * 1_000_000_007, 0, 0, 0])


@pytest.mark.rotated(5)
def test_nothing_races():
    """All of this again, on the software device that looks for races."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__, "-k", "emulated and (256 or dtypes or numpys)"]
    done = subprocess.run(words, check=False, env={**os.environ, "INGOT_EMULATOR_RACES": "1"}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
