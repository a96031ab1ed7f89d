"""Copies with their axes in another order, and what is computed with such arrays, on devices: in squares that a block of
threads loads along one axis and stores along another. Values are those of the CPU.
"""

import itertools
import os
import re
import subprocess
import sys

import ingot
import numpy as np
import pytest

rng = np.random.default_rng(11)


@pytest.fixture(params=["emulated", pytest.param("opencl", marks=pytest.mark.sampled(4, of="opencl"))])
def device(request):
    return ingot.device(request.param)


def as_on_the_cpu(device, function, *arguments):
    compiled = ingot.jit(function)
    expected = compiled(*[x.copy() for x in arguments])
    moved = [ingot.device_put(x, device) for x in arguments]
    result = compiled(*moved).to_host()
    assert (result.dtype, result.shape, result.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


def numbers(shape, dtype="float64"):
    return (rng.random(shape) * 100).astype(dtype)


def transposed(x):
    return np.ascontiguousarray(x.T)


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "int32", "float32", "float64", "complex64", "complex128"])
def test_all_dtypes_and_sizes(device, dtype):
    for shape in [(70, 50), (16, 16), (33, 31), (15, 40), (100, 1), (0, 20), (64, 128), (129, 65)]:
        as_on_the_cpu(device, transposed, numbers(shape, dtype))
    as_on_the_cpu(device, lambda x: np.ascontiguousarray(x[1:, :-1].T), numbers((40, 50), dtype))


@pytest.mark.parametrize("axes", list(itertools.permutations(range(4)))[::3])
def test_any_order_of_axes(device, axes):
    as_on_the_cpu(device, lambda x: np.ascontiguousarray(x.transpose(axes)), numbers((17, 18, 5, 19)))


def test_what_is_computed_with_them(device):
    a, b = numbers((70, 50)), numbers((50, 70))
    as_on_the_cpu(device, lambda a, b: a.T * 2 + b, a, b)
    as_on_the_cpu(device, lambda a, b: a + b.T * np.sin(a) - b.T, a, b)
    as_on_the_cpu(device, lambda a, b: np.where(a > b.T, a, b.T).astype(np.float32), a, b)
    as_on_the_cpu(device, lambda a, b: a.T + b[:, :1] + b[0], a, b)


def test_loops(device):
    def along_the_stores(x):
        out = np.zeros((x.shape[1], x.shape[0]))
        for j in range(x.shape[1]):
            for i in range(x.shape[0]):
                out[j, i] = x[i, j] * 2 + x[0, j]
        return out

    def along_the_loads(x):
        out = np.zeros((x.shape[1], x.shape[0]))
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[j, i] = x[i, j] * 2
        return out

    def in_place(x):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                if i < j:
                    x[i, j] = x[j, i]
        return x

    for loops in (along_the_stores, along_the_loads, in_place):
        as_on_the_cpu(device, loops, numbers((40, 40)))


def test_into_arrays_that_may_overlap(device):
    def halves(x):
        x[:20] = x[20:].T
        return x

    as_on_the_cpu(device, halves, numbers((40, 20)))
    as_on_the_cpu(device, lambda x, y: np.copyto(x, y.T) or x, numbers((30, 40)), numbers((40, 30)))


@pytest.mark.parametrize("dtype, edge", [("float64", 32), ("float32", 32), ("uint16", 64), ("int8", 64)])
def test_a_launch_of_squares_moves_each_byte_once(dtype, edge):
    x = ingot.device_put(np.zeros((256, 128), dtype), "emulated")
    (launch,) = ingot.jit(transposed).explain(x, device="sm_90").launches.launches
    assert launch.grid[0] == x.size // edge**2
    assert launch.read == launch.written == x.nbytes
    (launch,) = ingot.jit(transposed).explain(x[:, :8], device="sm_90").launches.launches  # too few columns
    assert launch.read == launch.written == x[:, :8].nbytes


@pytest.mark.rotated(5)
def test_nothing_races():
    """All of this again, on the software device that looks for races."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__]
    words += ["-k", "emulated and not (bool or int8 or float16 or int32 or complex64)"]
    done = subprocess.run(words, check=False, env={**os.environ, "INGOT_EMULATOR_RACES": "1"}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
