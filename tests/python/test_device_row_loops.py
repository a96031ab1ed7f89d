"""Loops over rows on devices, whose iterations have arrays of their own: they are one launch, as whole arrays are
(test_device_rows.py); values are those of the CPU, bit for bit."""

import functools
import os
import re
import subprocess
import sys

import ingot
import numpy as np
import pytest

rng = np.random.default_rng(31)


def softmax(x, out):
    for i in range(x.shape[0]):
        row = x[i]
        e = np.exp(row - row.max())
        out[i] = e / e.sum()


def softmax_at_once(x, out):
    for i in ingot.prange(x.shape[0]):
        row = x[i]
        e = np.exp(row - row.max())
        out[i] = e / e.sum()


def softmax_of_iterators(x, out):
    for row, target in zip(x, out, strict=True):
        e = np.exp(row - row.max())
        target[:] = e / e.sum()


def softmax_in_place(x, out):
    for i in range(x.shape[0]):
        row = x[i].copy()
        row -= row.max()
        np.exp(row, out=row)
        row /= row.sum()
        out[i] = row


def softmax_of_columns(x, out):
    for j in range(x.shape[1]):
        e = np.exp(x[:, j] - x[:, j].max())
        out[:, j] = e / e.sum()


def normalise(x, out):
    for i in range(x.shape[0]):
        row = x[i]
        out[i] = (row - row.mean()) / row.std() * 2 + 1


def numbers(x, out):
    for i in range(x.shape[0]):
        row = x[i]
        least = row.min()
        out[i, 0] = row.var()
        out[i, 1] = np.log(np.exp(row - least).sum()) + least
        out[i, 2] = row.std()


def variances(x, out):
    for i in range(x.shape[0]):
        out[i, 0] = x[i].var()


def lengths(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] / np.linalg.norm(x[i])


def products(x, out):
    for i in range(x.shape[0]):
        out[i, 1] = np.dot(x[i], x[0])


def mirrored(x, out):
    """Elements of other threads are read, of an array that the row alone has."""
    for i in range(x.shape[0]):
        y = x[i] - x[i].max()
        out[i] = y * y[::-1] - (y[::-1] * x[i]).sum()


def mapped(x, out):
    for i in range(x.shape[0]):
        y = np.exp(x[i])
        out[i] = y * y[::-1]


def running(x, out):
    for i in range(x.shape[0]):
        out[i] = np.cumsum(np.abs(x[i])) / 2


def of_several_axes(x, out):
    y, z = x.reshape(2, -1, x.shape[1]), out.reshape(2, -1, x.shape[1])
    for b in range(2):
        for i in range(y.shape[1]):
            e = np.exp(y[b, i] - y[b, i].max())
            z[b, i] = e / e.sum()


FUNCTIONS = [softmax, softmax_at_once, softmax_of_iterators, softmax_in_place, softmax_of_columns, normalise, numbers, lengths]
FUNCTIONS += [products, mirrored, mapped, running, of_several_axes]
READ_ONCE = [softmax, softmax_at_once, softmax_of_iterators, softmax_in_place, normalise, variances, lengths, mirrored]


@functools.cache
def compiled(function):
    return ingot.jit(function)


def results_of(function, x, out, device=None):
    """What a call leaves of both arrays, and its exception."""
    x, out = x.copy(), out.copy()
    given = (x, out) if device is None else (ingot.device_put(x, device), ingot.device_put(out, device))
    raised = None
    try:
        with np.errstate(all="ignore"):
            compiled(function)(*given)
    except (ValueError, IndexError) as exception:
        raised = f"{type(exception).__name__}: {exception}"
    return *(a if device is None else a.to_host() for a in given), raised


def assert_same(function, device, x, out=None):
    out = np.full_like(x, 7) if out is None else out
    expected, found = results_of(function, x, out), results_of(function, x, out, ingot.device(device))
    assert expected[2] == found[2]
    for own, other in zip(expected[:2], found[:2], strict=True):
        np.testing.assert_array_equal(other, own, err_msg=f"{function.__name__} {x.dtype} {x.shape}")
        if own.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(other), np.signbit(own), err_msg=function.__name__)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values(function):
    for shape in [(6, 3), (4, 17), (6, 100), (2, 1025), (2, 2500)]:
        assert_same(function, "emulated", rng.standard_normal(shape))


@pytest.mark.rotated(4)
def test_values_of_softmax():
    for dtype in ("float32", "complex128", "int64"):
        for shape in [(6, 3), (4, 17), (2, 1025)]:
            x = rng.standard_normal(shape).astype(dtype)
            assert_same(lengths if dtype == "complex128" else softmax, "emulated", x)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", [softmax, normalise, mapped, running])
def test_values_without_warps(function):
    for shape in [(6, 3), (4, 40)]:
        assert_same(function, "opencl", rng.standard_normal(shape))


def test_long_rows():
    for function in (softmax, mapped):
        for length in (20_000, 40_000):
            assert_same(function, "emulated", rng.standard_normal((2, length)).astype("float32"))


@pytest.mark.rotated(3)
def test_what_is_no_number():
    for length in (5, 40, 1500):
        x = rng.standard_normal((4, length))
        x[0, 3], x[1, 2], x[2] = np.nan, np.inf, -0.0
        for function in (softmax, normalise):
            assert_same(function, "emulated", x)


@pytest.mark.rotated(3)
def test_rows_that_depend_on_each_other():
    """They are done in their order: what a row is made of may be what another one was."""

    def next_row(x, out):
        for i in range(x.shape[0] - 1):
            e = np.exp(x[i] - x[i].max())
            x[i + 1] = e / e.sum() + x[i + 1]

    def shifted(x, out):
        softmax(x[:-1], x[1:])

    def itself(x, out):
        softmax(x, x)

    for function in (next_row, shifted, itself):
        assert_same(function, "emulated", rng.standard_normal((5, 40)))


def test_rows_that_are_summed():
    """Few rows, and rows whose loop gives a sum, are the host's."""

    def total(x, out):
        s = 0.0
        for i in ingot.prange(x.shape[0]):
            e = np.exp(x[i] - x[i].max())
            s += (e / e.sum() * e[::-1]).sum()
        out[0, 0] = s

    def two(x, out):
        for i in range(2):
            y = np.cumsum(x[i]) + 1
            out[i] = np.cumsum(y * y[::-1])

    for function in (total, two):
        assert_same(function, "emulated", rng.standard_normal((5, 40)))


def test_exceptions():
    """They are the CPU's, and so is what has been written before."""
    for function in (softmax, softmax_at_once, normalise):
        for shape in [(4, 0), (0, 4), (0, 0)]:
            assert_same(function, "emulated", np.ones(shape))
    for shape in [(2, 40), (4, 39), (0, 40)]:
        assert_same(softmax, "emulated", rng.standard_normal((3, 40)), np.ones(shape))


def launches_of(function, shape, dtype):
    return compiled(function).explain(np.empty(shape, dtype), np.empty(shape, dtype), device="sm_90").launches


@pytest.mark.rotated(3)
@pytest.mark.sampled(8)
@pytest.mark.parametrize("function", READ_ONCE)
def test_they_are_one_launch_that_moves_the_least(function):
    for shape, dtype in [((400, 1000), "float64"), ((40, 16_000), "float32")]:
        found = launches_of(function, shape, dtype)
        assert [launch.times for launch in found.launches] == [1]
        if function is not mirrored:
            assert found.read + found.written <= 1.05 * found.least


@pytest.mark.rotated(4)
@pytest.mark.sampled(6)
@pytest.mark.parametrize("function", [softmax_of_columns, numbers, products, mapped, running, of_several_axes])
def test_launches_are_few(function):
    few, many = (launches_of(function, (rows, 200), "float64") for rows in (30, 300))
    assert sum(launch.times for launch in few.launches) == sum(launch.times for launch in many.launches) <= 3


@pytest.mark.rotated(4)
def test_memory_of_rows_is_bounded():
    """Arrays of rows that are in memory take up to 512 MiB, unless that of one row is more."""
    assert sum(launch.times for launch in launches_of(mapped, (200_000, 1024), "float64").launches) == 4
    assert sum(launch.times for launch in launches_of(mapped, (2, 100_000_000), "float64").launches) == 2


@pytest.mark.rotated(4)
def test_nothing_races():
    """Some of this again, on the software device that looks for races, with blocks and warps in an order that is drawn."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__, "-k"]
    variables = {"INGOT_EMULATOR_RACES": "1", "INGOT_EMULATOR_SEED": "7"}
    done = subprocess.run(
        [*words, "of_softmax or test_values and mapped and not without"], check=False, env={**os.environ, **variables}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
