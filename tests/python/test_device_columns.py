"""Reductions along other axes than the last one on devices: rows are added to rows, in blocks, and blocks in a tree. Values are those
of the CPU, bit for bit."""

import functools
import os
import re
import subprocess
import sys

import ingot
import numpy as np
import pytest

rng = np.random.default_rng(31)


def columns(x):
    return x.sum(axis=0), x.max(axis=0), x.mean(axis=0), (x * x).sum(axis=0)


def products(x):
    return x.sum(axis=0), x.prod(axis=0)


def axes(x):
    return x.sum(axis=1), x.sum(axis=(0, 1)), x.prod(axis=1), x.min(axis=(0, 1))


@functools.cache
def compiled(function):
    return ingot.jit(function)


def assert_same(function, x):
    with np.errstate(all="ignore"):
        expected, found = compiled(function)(x), compiled(function)(ingot.device_put(x, "emulated"))
    for own, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other.to_host(), own, err_msg=f"{function.__name__} {x.dtype} {x.shape}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function, dtype", [(columns, "f4"), (columns, "f8"), (columns, "i8"), (products, "c16"), (products, "f2")])
def test_bits_are_the_cpus(function, dtype):
    for rows in (1, 7, 127, 128, 129, 256, 257, 384, 2048, 2049, 2177, 4229):
        assert_same(function, (rng.normal(size=(rows, 3)) * 3).astype(dtype))
    assert_same(products, np.ones((0, 4), dtype))
    assert_same(function, (rng.normal(size=(300, 33)) * 3).astype(dtype))


def test_of_axes_in_the_middle():
    for shape in [(2, 300, 3), (3, 2100, 2)]:
        assert_same(axes, rng.normal(size=shape))


def test_long_columns():
    assert_same(columns, rng.normal(size=(40_000, 1)).astype("f4"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows, launches", [(100, 2), (2048, 3), (4096, 4), (1_000_000, 6)])
def test_launches_are_few(rows, launches):
    found = compiled(lambda x: x.sum(axis=0)).explain(np.ones((rows, 64), "f4"), device="sm_90").launches
    assert found.times == launches
    assert found.read + found.written <= 1.1 * found.least


@pytest.mark.rotated(4)
def test_nothing_races():
    """Some of this again, on the software device that looks for races."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__, "-k", "columns-f4 or middle"]
    variables = {"INGOT_EMULATOR_RACES": "1", "INGOT_EMULATOR_SEED": "5"}
    done = subprocess.run(words, check=False, env={**os.environ, **variables}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
