"""Rows on devices: what is reduced and computed along the last axis, several times over the same elements. Threads keep a row's
elements in registers, so that each is read once; values are those of the CPU, bit for bit."""

import functools
import os
import re
import subprocess
import sys

import ingot
import numpy as np
import pytest
from test_device_counts import PTXAS, TOOL

rng = np.random.default_rng(29)


@pytest.fixture(params=["emulated", pytest.param("opencl", marks=pytest.mark.sampled(4, of="opencl"))])
def device(request):
    return ingot.device(request.param)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def normalise(x):
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def logsumexp(x):
    m = x.max(axis=-1, keepdims=True)
    return np.log(np.exp(x - m).sum(axis=-1)) + m[:, 0]


def places(x):
    return x.argmax(axis=-1), x.argmin(axis=-1)


def variance(x):
    return x.var(axis=-1)


def several(x):
    """Sums, products and extremes of what is computed on the way, which is a result, too."""
    y = x * x - x
    return y, y.sum(axis=-1), y.max(axis=-1), (y - y.min(axis=-1, keepdims=True)).prod(axis=-1)


def mirrored(x):
    """Elements of other threads are read, of an array that the row alone has."""
    y = x - x.max(axis=-1, keepdims=True)
    return y * y[:, ::-1] - (y[:, ::-1] * x).sum(axis=-1, keepdims=True)


def in_place(x):
    x -= x.max(axis=-1, keepdims=True)
    x *= x.sum(axis=-1, keepdims=True)
    x[:, 0] = x.min(axis=-1)
    return x.sum(axis=-1)


def sums(x):
    return x.sum(axis=-1), (x * x).sum(axis=-1), x.any(axis=-1)


FLOATS = [softmax, normalise, logsumexp, places, variance, several, mirrored, in_place]
LENGTHS = [1, 7, 8, 31, 32, 33, 127, 128, 129, 1000, 1024, 1025]


@functools.cache
def compiled(function):
    return ingot.jit(function)


def assert_same(function, device, x):
    on_host, on_device = x.copy(), ingot.device_put(x, device)
    with np.errstate(all="ignore"):
        expected, found = compiled(function)(on_host), compiled(function)(on_device)
    expected = [*expected, on_host] if isinstance(expected, tuple) else [expected, on_host]
    found = [*found, on_device] if isinstance(found, tuple) else [found, on_device]
    for own, other in zip(expected, found, strict=True):
        other = other.to_host()
        np.testing.assert_array_equal(other, own, err_msg=f"{function.__name__} {x.dtype} {x.shape}")
        if own.dtype.kind == "f":
            numbers = own == own
            np.testing.assert_array_equal(np.signbit(other[numbers]), np.signbit(own[numbers]), err_msg=function.__name__)


def numbers(dtype, shape):
    dtype = np.dtype(dtype)
    x = rng.standard_normal(shape) * 3
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return (x > 0 if dtype.kind == "b" else x).astype(dtype)


@pytest.mark.rotated(5)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lengths(device, dtype):
    for function in FLOATS if device.kind == "emulated" else [softmax, mirrored]:
        for length in LENGTHS if function in (softmax, variance) else LENGTHS[1::3]:
            assert_same(function, device, numbers(dtype, (3, length)))


@pytest.mark.rotated(5)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_short_rows(dtype):
    """Eight threads of a warp have a row, of which the warp's last threads may have none."""
    for function in FLOATS:
        for rows in (1, 4, 35):
            for length in (1, 3, 8, 9, 16):
                x = numbers(dtype, (rows, length))
                x[rows // 2, length // 2], x[0, 0] = np.nan, -0.0
                assert_same(function, ingot.device("emulated"), x)


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["int64", "complex64", "complex128", "float16", "bool", "uint8"])
def test_dtypes(dtype):
    device = ingot.device("emulated")
    for length in (0, 1, 16, 17, 200, 1030):
        x = numbers(dtype, (3, length))
        assert_same(sums, device, x)
        if length and x.dtype.kind in "iuf":
            assert_same(several if x.dtype.kind != "f" else softmax, device, x)
        if length and x.dtype.kind == "c":
            assert_same(normalise, device, x)


def test_rows_without_elements_and_no_rows():
    device = ingot.device("emulated")
    for shape in [(0, 5), (0, 0), (4, 0)]:
        assert_same(sums, device, np.ones(shape))
    for function in (softmax, logsumexp):
        assert_same(function, device, np.ones((0, 40)))
        with pytest.raises(ValueError, match="zero-size array"):
            compiled(function)(ingot.device_put(np.ones((4, 0)), device))


def test_long_rows():
    """Of up to 32,768 elements of 4 bytes, or 16,384 of 8, a block has them in registers; longer ones are in memory."""
    for length in (5000, 16_384, 16_385, 32_768, 40_000):
        for function in (softmax, variance, several):
            assert_same(function, ingot.device("emulated"), numbers("float32", (2, length)))
    for length in (5000, 8193, 16_384, 17_000):
        for function in (softmax, mirrored, places):
            assert_same(function, ingot.device("emulated"), numbers("float64", (1, length)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_no_number(dtype):
    device = ingot.device("emulated")
    for length in (5, 40, 1500):
        x = numbers(dtype, (8, length))
        x[0, 3] = np.nan
        x[1, 2] = np.inf
        x[2, 1] = -np.inf
        x[3] = -0.0
        x[4] = np.where(np.arange(length) % 3, -0.0, 0.0)
        x[5] = np.inf
        x[6, -1] = np.nan
        for function in (softmax, normalise, logsumexp, places, several):
            assert_same(function, device, x)


@pytest.mark.rotated(3)
def test_any_layout():
    """Columns of an array, every other element, axes that are broadcast."""
    device = ingot.device("emulated")

    def columns(x):
        return softmax(x.T), softmax(x[::-1, ::2])

    def deep(x):
        y = x.reshape(3, 4, 40)
        return (y - y.max(axis=-1, keepdims=True)) * y.sum(axis=-1)[..., None]

    def broadcast(x):
        y = np.broadcast_to(x[0], (5, x.shape[1]))
        return y - y.max(axis=-1, keepdims=True)

    assert_same(columns, device, numbers("float64", (50, 60)))
    assert_same(deep, device, numbers("float32", (12, 40)))
    assert_same(broadcast, device, numbers("float32", (12, 40)))


def test_loops(device):
    """Rows that are written out, whose arrays are views of what other rows have."""

    def of_prange(x):
        out = np.empty_like(x)
        total = np.empty(x.shape[0])
        for i in ingot.prange(x.shape[0]):
            row = x[i]
            out[i] = (row - row.mean()) / (1 + row.max())
            total[i] = out[i].sum()
        return out, total

    def of_range(x):
        total = np.empty(x.shape[0])
        for i in range(x.shape[0]):
            total[i] = x[i].sum() + x[i, 0]
        return total

    for length in (10, 40, 1500):
        for function in (of_prange, of_range):
            assert_same(function, device, numbers("float64", (6, length)))


def launches_of(function, shape, dtype):
    return compiled(function).explain(np.ones(shape, dtype), device="sm_90").launches


@pytest.mark.rotated(3)
@pytest.mark.parametrize("shape, dtype", [((4000, 12), "float32"), ((400, 64), "float32"), ((400, 1024), "float64"), ((50, 16_384), "float32")])
@pytest.mark.sampled(4)
def test_each_element_is_read_once(shape, dtype):
    for function in (softmax, normalise, logsumexp, variance, lambda x: x.argmax(axis=-1)):
        found = launches_of(function, shape, dtype)
        assert len(found.launches) == 1
        assert found.read + found.written <= 1.05 * found.least, function


@pytest.mark.rotated(4)
def test_arrays_of_a_row_are_not_in_memory():
    """What the row alone has is not written; a result is."""

    def both(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e, e / e.sum(axis=-1, keepdims=True)

    size = 400 * 100 * 4
    assert launches_of(softmax, (400, 100), "float32").written == size
    assert launches_of(both, (400, 100), "float32").written == 2 * size


@pytest.mark.rotated(3)
@pytest.mark.skipif(PTXAS is None, reason="there is no ptxas, the assembler of the CUDA toolkit")
@pytest.mark.parametrize("function", [softmax, normalise, logsumexp, variance])
@pytest.mark.sampled(4)
def test_nothing_is_in_local_memory(function, tmp_path):
    for dtype, capabilities in (("float32", (75, 120)), ("float64", (90,))):
        ptx, _ = TOOL.ptx_of(function, ingot.device_put(np.ones((64, 64), dtype), ingot.device("emulated")))
        for capability in capabilities:
            source = tmp_path / "k.ptx"
            source.write_text(ptx.replace(".target sm_90", f".target sm_{min(capability, 90)}"))
            command = [PTXAS, "-v", f"-arch=sm_{capability}", str(source), "-o", str(tmp_path / "k.cubin")]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            found = re.findall(r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame", done.stderr, re.DOTALL)
            assert found and not any(int(bytes) for _, bytes in found), (dtype, capability, done.stderr)


@pytest.mark.rotated(5)
def test_nothing_races():
    """Some of this again, on the software device that looks for races, with blocks and warps in an order that is drawn."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__, "-k"]
    chosen = "lengths and emulated-float32 or short and float32 or layout or loops and emulated"
    variables = {"INGOT_EMULATOR_RACES": "1", "INGOT_EMULATOR_SEED": "7"}
    done = subprocess.run([*words, chosen], check=False, env={**os.environ, **variables}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
