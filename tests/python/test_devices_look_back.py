"""Scans in one launch, whose blocks wait for each other: running sums and extremes, loops that carry sums and counts, selections.

Each result has the bits of the CPU's, in every order of the blocks.
"""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

import ingot

rng = np.random.default_rng(42)
device = ingot.device("emulated")

SMALLEST = 256 * 6  # no tile has fewer elements
INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def on_both(function, *arguments):
    compiled = ingot.jit(function)
    expected = compiled(*[np.copy(x) if isinstance(x, np.ndarray) else x for x in arguments])
    moved = [ingot.device_put(x, device) if isinstance(x, np.ndarray) else x for x in arguments]
    got = compiled(*moved)
    for mine, theirs in zip(_flat(got), _flat(expected), strict=True):
        mine = mine.to_host() if isinstance(mine, ingot.Array) else np.asarray(mine)
        theirs = np.asarray(theirs)
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        assert mine.tobytes() == theirs.tobytes()
    return expected


def _flat(value):
    return value if isinstance(value, tuple) else (value,)


def tile_of(function, *arguments):
    """How many elements a block of the only launch takes, of as many as the first argument has."""
    (launch,) = function.explain(*arguments, device="emulated").launches.launches
    for size in range(256, 256 * 24, 256):
        if -(-len(arguments[0]) // size) == launch.grid[0]:
            return size
    raise AssertionError(launch)


def running_sum(a):
    return np.cumsum(a)


def counted(x, limit):
    n = 0
    for i in range(len(x)):
        if x[i] > limit:
            n += 1
    return n


def places(x, out):
    n = 0
    for i in range(len(x)):
        if x[i] > 0:
            out[n] = x[i]
            n += 1
    return n


def extremes_in_place(x):
    low, high = x[0], x[0]
    for i in range(len(x)):
        low = min(low, x[i])
        high = max(high, x[i])
        x[i] = high - low
    return low, high


@pytest.mark.rotated(3)
def test_they_are_one_launch_that_moves_the_least():
    x = np.arange(1 << 20)
    for function in (np.cumsum, lambda a: np.maximum.accumulate(a), lambda a: np.bitwise_xor.accumulate(a)):
        found = ingot.jit(lambda a, function=function: function(a)).explain(x, device="emulated").launches
        assert len(found.launches) == 1
        (launch,) = found.launches
        assert found.least == 16 << 20
        assert launch.read + launch.written <= 1.05 * found.least
    found = ingot.jit(counted).explain(x, 5, device="emulated").launches
    assert len(found.launches) == 1
    assert len(ingot.jit(places).explain(x, x, device="emulated").launches.launches) == 1
    assert len(ingot.jit(lambda a: a[a > 0]).explain(x, device="emulated").launches.launches) == 2


@pytest.mark.rotated(2)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.sampled(6)
def test_lengths_around_tiles(dtype):
    def running(a):
        return np.cumsum(a), np.maximum.accumulate(a), np.bitwise_or.accumulate(a)

    long = np.ones(1 << 17, dtype)
    tiles = {tile_of(ingot.jit(f), long) for f in (running_sum, lambda a: np.maximum.accumulate(a))}
    lengths = {0, 1, 31, 32, 33, SMALLEST * 40 + 7}
    for tile in tiles:
        lengths |= {tile - 1, tile, tile + 1, 2 * tile, 33 * tile + 1}
    info = np.iinfo(dtype) if dtype != "bool" else None
    for length in sorted(lengths):
        x = rng.random(length) < 0.1 if info is None else rng.integers(info.min, info.max, length, dtype, endpoint=True)
        on_both(running, x)


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_extremes_of_floats(dtype):
    """Zeros of both signs and NaN among them."""
    for length in (0, 1, 5000, 70_001):
        x = rng.standard_normal(length).astype(dtype)
        x[rng.random(length) < 0.3] = 0.0
        x[rng.random(length) < 0.3] = -0.0
        on_both(lambda a: (np.maximum.accumulate(a), np.minimum.accumulate(a)), x)
        x[rng.random(length) < 0.001] = np.nan
        a, b = ingot.jit(lambda a: (np.maximum.accumulate(a), np.minimum.accumulate(a)))(ingot.device_put(x, device))
        np.testing.assert_array_equal(a.to_host(), np.maximum.accumulate(x))
        np.testing.assert_array_equal(b.to_host(), np.minimum.accumulate(x))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_sums_of_floats_have_the_order_of_iterations(dtype):
    for length in (0, 1, 70_001):
        on_both(running_sum, rng.standard_normal(length).astype(dtype))


@pytest.mark.rotated(4)
def test_values_that_are_skewed():
    """All in one tile, none, all: what blocks wait for comes late or at once."""
    n = 100_003
    for x in (np.zeros(n, int), np.ones(n, int), np.where(np.arange(n) < 3000, 7, 0), np.where(np.arange(n) > n - 20, 2**62, -1)):
        on_both(lambda a: (np.cumsum(a), a[a > 0], np.nonzero(a)[0]), x)
        on_both(counted, x, 0)
        on_both(places, x, np.zeros(n, int))


def several_values(x, y, out):
    total, low, bits, count = 3, y[0], np.uint8(0), np.int16(0)
    for i in range(len(x)):
        total += x[i]
        if y[i] > 0:
            low = min(low, y[i])
            count += np.int16(1)
        bits ^= np.uint8(x[i] & 255)
        out[i] = total + bits
    return total, low, bits, count


def test_loops_that_carry_several_values():
    for length in (1, 2000, 50_021):
        on_both(several_values, rng.integers(-(2**60), 2**60, length), rng.standard_normal(length).astype("f4"), np.zeros(length, int))
        on_both(extremes_in_place, rng.integers(-(2**60), 2**60, length))
        on_both(extremes_in_place, rng.standard_normal(length).astype("f4"))


def test_a_million_and_three():
    on_both(running_sum, rng.integers(-100, 100, (1 << 20) + 3).astype("int32"))
    on_both(lambda a, m: a[m], np.arange((1 << 20) + 3), rng.random((1 << 20) + 3) < 0.5)


@ingot.jit(fastmath="reassoc")
def relaxed_sum(a):
    return np.cumsum(a)


@ingot.jit(fastmath="reassoc")
def relaxed_loop(x, out):
    total, product = 1.0, 1.0
    for i in range(len(x)):
        total += x[i]
        product *= 1 + x[i] / 100_000
        out[i] = total - product
    return total, product


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_sums_of_floats_in_any_order_have_a_fixed_one(dtype):
    """Groups have 32 tiles: one less, as many, and some more than two."""
    x = np.ones(1 << 18, dtype) / 1024
    tile = tile_of(relaxed_sum, x)
    bound = 300 * np.finfo(dtype).eps
    for length in (0, 1, 31 * tile + 5, 32 * tile, 32 * tile + 1, 66 * tile + 7):
        x = (rng.random(length) / 1024).astype(dtype)
        first, second = (relaxed_sum(ingot.device_put(x, device)).to_host() for _ in range(2))
        assert first.dtype == dtype and first.tobytes() == second.tobytes()
        np.testing.assert_allclose(first, np.cumsum(x, dtype="c16" if np.iscomplexobj(x) else "f8"), rtol=bound)


def test_loops_that_carry_floats_in_a_fixed_order():
    x, out = rng.random(200_001), np.zeros(200_001)
    on_device = ingot.device_put(out, device)
    total, product = relaxed_loop(ingot.device_put(x, device), on_device)
    running, growing = 1 + np.cumsum(x), np.cumprod(1 + x / 100_000)
    np.testing.assert_allclose((total, product), (running[-1], growing[-1]), rtol=1e-12)
    np.testing.assert_allclose(on_device.to_host(), running - growing, rtol=1e-12, atol=1e-12)


def relaxed_digest():
    x = np.random.default_rng(11).random(130_001)
    out = ingot.device_put(np.zeros(len(x)), device)
    found = relaxed_loop(ingot.device_put(x, device), out)
    return hashlib.sha256(np.array(found).tobytes() + out.to_host().tobytes()).hexdigest()


def test_graphs_launch_them_again():
    x = ingot.device_put(rng.integers(0, 9, 50_000), device)
    running = ingot.jit(lambda a: np.cumsum(a) + 1)
    graph = ingot.graph(running, x)
    for _ in range(3):
        np.testing.assert_array_equal(graph().to_host(), np.cumsum(x.to_host()) + 1)
        x += 3


def test_streams_run_them_at_once():
    running = ingot.jit(lambda a: np.cumsum(a))
    arrays = [rng.integers(0, 9, 30_000 + i) for i in range(6)]
    found = []
    with device:
        streams = [ingot.cuda.stream() for _ in arrays]
    for stream, x in zip(streams, arrays, strict=True):
        with stream:
            found.append(running(ingot.device_put(x, device)))
    for stream, got, x in zip(streams, found, arrays, strict=True):
        stream.synchronize()
        np.testing.assert_array_equal(got.to_host(), np.cumsum(x))


PROGRAM = """
import numpy as np, ingot
import test_devices_look_back as t
rng = np.random.default_rng(7)
x = rng.integers(-9, 9, 60_001)
t.on_both(t.running_sum, x)
t.on_both(t.running_sum, (x & 1).astype(bool))
t.on_both(lambda a: a[a > 0], x)
t.on_both(lambda a: np.minimum.accumulate(a), x.astype("f4"))
t.on_both(t.counted, x, 3)
t.on_both(t.several_values, x, x.astype("f4"), np.zeros(60_001, int))
print(t.relaxed_digest())
"""


@pytest.mark.rotated(2)
@pytest.mark.parametrize("seed", range(1, 25))
@pytest.mark.sampled(16)
def test_orders_of_blocks(seed):
    """Blocks and warps run in an order that is drawn from the seed, several alternately; nothing races."""
    variables = {"INGOT_EMULATOR_SEED": str(seed), "INGOT_EMULATOR_RACES": str(seed % 2)}
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == [relaxed_digest()]


WAITING = """
import numpy as np, ingot
from ingot import cuda

@cuda.jit
def wait_for_the_next(flags):
    if cuda.threadIdx.x == 0:
        i = cuda.blockIdx.x
        while i + 1 < flags.size and cuda.atomic.add(flags, i + 1, 0) == 0:
            cuda.nanosleep(100)
        cuda.atomic.exch(flags, i, 1)

for blocks in (20, 500):
    flags = ingot.device_put(np.zeros(blocks, np.int32), "emulated")
    wait_for_the_next[blocks, 64](flags)
    print(blocks, flags.sum())
"""


@pytest.mark.rotated(3)
def test_a_wait_that_never_ends_is_reported(tmp_path):
    """Few blocks are there at once; of many, the first ones wait for those that cannot begin."""
    program = tmp_path / "waiting.py"
    program.write_text(WAITING)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "20 20\n"
    assert "a wait that can never end" in done.stderr and "others cannot begin" in done.stderr
    assert "in kernel `ingot_wait_for_the_next" in done.stderr and "waiting.py:9" in done.stderr
