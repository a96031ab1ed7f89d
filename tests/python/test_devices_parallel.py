"""What devices do in parallel although it has an order: rows, running values, sums at shared indices, sorts, selections.

Each result has the bits of the CPU's, on the software device and on a device that takes OpenCL C.
"""

import copy
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import ingot
from ingot._calls.function import Function

rng = np.random.default_rng(23)


@pytest.fixture(params=["emulated", pytest.param("opencl", marks=pytest.mark.sampled(18, of="opencl"))])
def device(request):
    return ingot.device(request.param)


def home(value):
    if isinstance(value, ingot.Array):
        return value.to_host()
    return tuple(home(v) for v in value) if type(value) is tuple else value


def same(a, b):
    """Whether two results are of the same types and bits, but for those of NaN."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind in "fc":
            parts = (a.real, b.real), (a.imag, b.imag)
            for x, y in parts:
                np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
                np.testing.assert_array_equal(np.where(np.isnan(x), 0, x), np.where(np.isnan(y), 0, y))
                np.testing.assert_array_equal(np.signbit(x)[~np.isnan(x)], np.signbit(y)[~np.isnan(y)])
        else:
            np.testing.assert_array_equal(a, b)
    elif type(a) is tuple:
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b or np.isnan([a, b]).all()


def as_on_the_host(device, function, *arguments):
    """Calls a function with arrays on the host and on the device: results, and arguments afterwards, are one."""
    compiled = function if isinstance(function, Function) else ingot.jit(function)
    mine = copy.deepcopy(arguments)
    moved = tuple(ingot.device_put(x, device) if isinstance(x, np.ndarray) else x for x in mine)
    expected = compiled(*mine)
    got = compiled(*moved)
    same(home(got), expected)
    same(tuple(home(m) for m in moved), tuple(mine))
    return expected


def numbers(dtype, shape):
    """Numbers with repeats; NaN, infinities and zeros of both signs where there are some."""
    dtype = np.dtype(dtype)
    if dtype.kind in "fc":
        x = rng.integers(-50, 50, shape) / 8
        for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            x = np.where(rng.random(shape) < 0.05, special, x)
        return (x + 1j * x[..., ::-1]).astype(dtype) if dtype.kind == "c" else x.astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    low = -100 if dtype.kind == "i" else 0
    return rng.integers(low, 100, shape).astype(dtype)


SOME = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128"]


# Rows


def softmax(a):
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def normalised(a):
    d = a - a.mean(axis=-1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5)


@pytest.mark.rotated(3)
def test_rows_of_any_length(device):
    sums = ingot.jit(lambda a: (a.sum(axis=1), (a * a).sum(axis=1), a.prod(axis=1)))
    extremes = ingot.jit(lambda a: (a.max(axis=1), a.min(axis=-1)))
    soft, normal = ingot.jit(softmax), ingot.jit(normalised)
    for length in (0, 3, 9, 16, 17, 40, 1024, 2047, 2500, 9000):
        x = rng.standard_normal((5, length)).astype("float32")
        as_on_the_host(device, sums, x)
        for function in (extremes, soft, normal):
            if length:
                as_on_the_host(device, function, x)


@pytest.mark.parametrize("dtype", SOME)
@pytest.mark.sampled(6)
def test_rows_of_any_dtype(device, dtype):
    rows = ingot.jit(lambda a: (a.sum(axis=1), a.max(axis=1), a.any(axis=1)))
    for length in (13, 100):
        as_on_the_host(device, rows, numbers(dtype, (4, length)))


def test_rows_of_several_lengths(device):
    a, b = rng.standard_normal((6, 10)), rng.standard_normal((6, 3000))

    def both(a, b):
        out = np.empty(a.shape[0])
        for i in range(a.shape[0]):
            out[i] = a[i].sum() * b[i].max()
        return out

    as_on_the_host(device, both, a, b)
    as_on_the_host(device, both, b, a)


# Running values


@pytest.mark.parametrize("dtype", SOME)
def test_running_values(device, dtype):
    running = ingot.jit(lambda a: (np.cumsum(a), np.cumprod(a[:50])))
    extremes = ingot.jit(lambda a: (np.maximum.accumulate(a), np.minimum.accumulate(a)))
    for length in (0, 70, 5000):
        x = numbers(dtype, (length,))
        as_on_the_host(device, running, x)
        if dtype != "complex128":
            as_on_the_host(device, extremes, x)


def test_running_values_along_axes(device):
    x = rng.standard_normal((3, 200, 4))
    for axis in range(3):
        as_on_the_host(device, lambda a, axis=axis: a.cumsum(axis), x)
    as_on_the_host(device, lambda a: a.cumsum(1), (x * 100).astype("int32"))


def carried(x):
    s, out = 1.5, np.empty_like(x)
    for i in range(x.shape[0]):
        s = s + x[i] * x[i]
        out[i] = s
    return s, out


def carried_twice(x):
    s, p, out = 0.25, 1.0, np.empty_like(x)
    for i in range(x.shape[0]):
        if x[i] > 0:
            s = s - x[i]
        p = p * (1 + x[i] / 1000)
        out[i] = s * p
    return s, p, out


def carried_in_place(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
        x[i] = s
    return s


def dot_by_hand(x):
    s, y = 0.0, x * 2 + 1
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    return s


def extremes(x):
    high, low, out = np.float64(-9.0), np.float64(9.0), np.empty_like(x)
    for i in range(x.shape[0]):
        high = np.maximum(high, x[i])
        low = np.minimum(low, x[i])
        out[i] = high - low
    return out


def recurrence(x):
    s, out = 0.0, np.empty_like(x)
    for i in range(x.shape[0]):
        s = s * 0.5 + x[i]
        out[i] = s
    return s, out


def depends(x):
    s, out = 0.0, np.empty_like(x)
    for i in range(x.shape[0]):
        if s < 3:
            s += x[i]
        out[i] = s
    return s, out


def decides(x):
    s, t = 0.0, 0.0
    for i in range(x.shape[0]):
        s += x[i]
        t += s * 2
    return s, t


def into_another(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
        out[i] = s
    return s


LOOPS = [carried, carried_twice, carried_in_place, dot_by_hand, extremes, recurrence, depends, decides]


@pytest.mark.parametrize("function", LOOPS)
def test_loops_that_carry_sums(device, function):
    compiled = ingot.jit(function)
    for length in (0, 63, 1024, 2600):
        as_on_the_host(device, compiled, rng.standard_normal(length))


def test_loops_that_carry_sums_into_other_arrays(device):
    for length in (0, 63, 2600):
        as_on_the_host(device, into_another, rng.standard_normal(length), np.zeros(length))
    mine, there = np.zeros(50), ingot.device_put(np.zeros(50), device)
    x = rng.standard_normal(70)
    for array, out in ((x, mine), (ingot.device_put(x, device), there)):
        with pytest.raises(IndexError, match="index 50 is out of bounds"):
            ingot.jit(into_another)(array, out)
    same(home(there), mine)


def test_sums_keep_the_sign_of_zero(device):
    x = np.array([-0.0] * 70)

    def running(x):
        s = -0.0
        out = np.empty_like(x)
        for i in range(x.shape[0]):
            s += x[i]
            out[i] = s
        return out

    as_on_the_host(device, running, x)


def test_loops_that_count(device):
    def places(x):
        k, out = 0, np.zeros_like(x)
        for i in range(x.shape[0]):
            if x[i] > 0:
                out[k] = x[i]
                k += 1
        return k, out

    def colours(x):
        low, high, out = np.int64(0), np.int64(0), np.zeros(x.shape[0], "int64")
        for i in range(x.shape[0]):
            if x[i] > 0:
                high += np.int64(i)
            else:
                low ^= np.int64(i)
            out[i] = high - low
        return low, high, out

    x = rng.standard_normal(5000)
    as_on_the_host(device, places, x)
    as_on_the_host(device, colours, x)


# Sums at indices that iterations share


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64", "complex128"])
def test_sums_at_shared_places(device, dtype):
    x = numbers(dtype, (3000,))
    x = np.where(np.isfinite(x), x, 1).astype(dtype)
    places = rng.integers(-40, 40, 3000)

    def add(x, places, n):
        out = np.ones(n, x.dtype)
        np.add.at(out, places, x)
        return out

    as_on_the_host(device, add, x, places, 40)
    as_on_the_host(device, add, x[:1], places[:1], 40)
    as_on_the_host(device, add, x[:0], places[:0], 40)


@pytest.mark.rotated(3)
def test_products_and_differences_at_shared_places(device):
    x = 1 + rng.standard_normal(2000) / 100
    i = rng.integers(0, 7, 2000)

    def multiplied(x, i):
        out = np.ones(7)
        np.multiply.at(out, i, x)
        np.subtract.at(out, i, x)
        return out

    as_on_the_host(device, multiplied, x, i)


def test_histograms_with_weights(device):
    i = rng.integers(0, 300, 4000)
    w = rng.standard_normal(4000)
    as_on_the_host(device, lambda i, w: (np.bincount(i, w), np.bincount(i)), i, w)


@pytest.mark.rotated(3)
def test_histograms_of_few_and_many_bins(device):
    def count(i, n):
        out = np.zeros(n, "int64")
        np.add.at(out, i, 3)
        return out

    i = rng.integers(0, 5, 5000)
    as_on_the_host(device, count, i, 5)
    as_on_the_host(device, count, i, 2048)
    as_on_the_host(device, count, i, 2049)


@pytest.mark.rotated(3)
@pytest.mark.sampled(2)
def test_loops_that_check_indices(device):
    def add(x, i, out):
        for k in range(x.shape[0]):
            out[i[k]] += x[k]

    def count(x, i, out):
        for k in range(x.shape[0]):
            out[i[k]] += 1

    def last(x, i, out):
        for k in range(x.shape[0]):
            out[i[k]] = x[k]

    def running(x, i, out):
        s = 0.0
        for k in range(i.shape[0]):
            s += x[i[k]]
            out[k] = s

    x = rng.standard_normal(500)
    i = rng.integers(-9, 9, 500)
    for function in (add, last):
        as_on_the_host(device, function, x, i, np.zeros(9))
    as_on_the_host(device, count, x, i, np.zeros(9, "int64"))
    as_on_the_host(device, running, x, i, np.zeros(500))
    i[300] = 9
    for function in (add, count, last):
        mine, there = np.zeros(9), ingot.device_put(np.zeros(9), device)
        with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 9"):
            ingot.jit(function)(x, i, mine)
        with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 9"):
            ingot.jit(function)(ingot.device_put(x, device), ingot.device_put(i, device), there)
        same(home(there), mine)


@pytest.mark.rotated(4)
def test_sums_at_shared_places_of_several_axes(device):
    x = rng.standard_normal((500, 3))
    i, j = rng.integers(0, 4, 500), rng.integers(0, 5, 500)

    def add(x, i, j):
        rows = np.zeros((4, 3))
        np.add.at(rows, i, x)
        both = np.zeros((4, 5))
        np.add.at(both, (i, j), x[:, 0])
        return rows, both

    as_on_the_host(device, add, x, i, j)


def test_stores_at_shared_places(device):
    x = rng.standard_normal((800, 2))
    i = rng.integers(-30, 30, 800)

    def assign(x, i):
        flat = np.zeros(30)
        flat[i] = x[:, 0]
        rows = np.zeros((30, 2))
        rows[i] = x
        return flat, rows

    as_on_the_host(device, assign, x, i)


# Sorts


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64"])
@pytest.mark.sampled(16)
def test_sorts(device, dtype):
    places = ingot.jit(lambda a: np.argsort(a, axis=1, kind="stable"))
    values = ingot.jit(lambda a: (np.sort(a, kind="stable"), np.sort(a.T, axis=0, kind="stable")))
    for length in (0, 30, 33, 700):
        x = numbers(dtype, (3, length))
        as_on_the_host(device, places, x)
        got = home(values(ingot.device_put(x, device)))
        np.testing.assert_array_equal(got[0], np.sort(x, kind="stable"))
        np.testing.assert_array_equal(got[1], np.sort(x.T, axis=0, kind="stable"))
        if np.dtype(dtype).kind not in "fc":
            as_on_the_host(device, values, x)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
@pytest.mark.sampled(8)
def test_sorts_of_long_lines(device, dtype):
    x = (numbers("float64", (2, 5000)) * 1000 if dtype == "float64" else rng.integers(-(2**31), 2**31, (2, 5000))).astype(dtype)
    as_on_the_host(device, lambda a: np.argsort(a, axis=1, kind="stable"), x)
    got = home(ingot.jit(lambda a: np.sort(a))(ingot.device_put(x, device)))
    np.testing.assert_array_equal(got, np.sort(x))


@pytest.mark.rotated(4)
def test_what_sorts(device):
    x = rng.integers(0, 60, 3000).astype("int32")
    as_on_the_host(device, lambda a: (np.unique(a), np.median(a), np.partition(a, 5)[5], np.searchsorted(np.sort(a), 30)), x)


# Selections


@pytest.mark.parametrize("dtype", SOME)
@pytest.mark.sampled(16)
def test_selections(device, dtype):
    selected = ingot.jit(lambda a, m: (a[m], a[~m], np.nonzero(a)[0]))
    for length in (0, 100, 5000):
        as_on_the_host(device, selected, numbers(dtype, (length,)), rng.random(length) < 0.3)


@pytest.mark.rotated(3)
def test_selections_of_several_axes(device):
    x = rng.standard_normal((30, 40, 3))
    as_on_the_host(device, lambda a: (a[a > 0], a[a[:, :, 0] > 1], a[a[:, 0, 0] > 0], np.argwhere(a > 1)), x)
    as_on_the_host(device, lambda a: a[a > a.mean()] * 2, x)


# Races


@pytest.mark.slow
def test_nothing_races():
    """All of this again, on the software device that looks for races."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__]
    words += ["-k", "emulated and not (bool or int8 or uint16 or float16 or uint32 or uint64 or complex128)"]
    done = subprocess.run(words, check=False, env={**os.environ, "INGOT_EMULATOR_RACES": "1"}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)


def test_iterations_that_load_what_they_have_stored(device):
    """They cannot be done twice, once without their stores."""

    def stored_first(x, y, s):
        for i in range(len(x)):
            if y[i] > 0:
                x[i] = y[i]
            s = s + x[i]
        return s

    def an_array_of_its_own(x, s):
        for i in range(len(x)):
            t = np.zeros(4, np.int64)
            t[i % 4] = i
            s = s + t[(i * 3) % 4]
        return s

    def rows(x, o):
        for r in range(x.shape[0]):
            s = 0.0
            for i in range(x.shape[1]):
                x[r, i] = 2.0
                s = s + x[r, i]
                o[r, i] = s

    as_on_the_host(device, stored_first, np.ones(1000), np.full(1000, 2.0), 0.0)
    as_on_the_host(device, an_array_of_its_own, np.ones(1030), 0)
    as_on_the_host(device, rows, np.ones((3, 100)), np.zeros((3, 100)))
