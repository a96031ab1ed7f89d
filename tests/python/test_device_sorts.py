"""Sorts by one sweep for each digit, whose blocks wait for each other: every dtype, any lengths and lines, any skew.

Each result has the bits of NumPy's stable sort, in every order of the blocks.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import ingot

rng = np.random.default_rng(42)
device = ingot.device("emulated")

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32", "int64", "uint64", "float64"]
IN_A_BLOCK = 2048  # lines up to this length are one block's


@ingot.jit
def both(a):
    return np.sort(a, kind="stable"), np.argsort(a, kind="stable")


@ingot.jit
def values(a):
    return np.sort(a, kind="stable")


@ingot.jit
def along(a):
    return np.sort(a, axis=0, kind="stable"), np.argsort(a, axis=0, kind="stable"), np.argsort(a, axis=1, kind="stable")


def numbers(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.4
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape)
    for value, share in ((0.0, 0.1), (-0.0, 0.1), (np.inf, 0.02), (-np.inf, 0.02), (np.nan, 0.05), (-np.nan, 0.05)):
        x[rng.random(shape) < share] = value
    return x.astype(dtype)


def check(x):
    got, places = both(ingot.device_put(x, device))
    expected = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(places.to_host(), expected)
    assert got.to_host().tobytes() == np.take_along_axis(x, expected, -1).tobytes()


def launches(function, *arguments, device="emulated"):
    return ingot.jit(function).explain(*arguments, device=device).launches


def sweeps(dtype, order):
    """The elements of a tile, of a sort and of one that gives indices."""
    function = np.argsort if order else np.sort
    found = launches(lambda a: function(a, kind="stable"), np.zeros(1 << 18, dtype))
    (tiles,) = {launch.grid[0] for launch in found.launches[2:]}
    (size,) = [k * 256 for k in range(8, 25) if -(-(1 << 18) // (k * 256)) == tiles]
    return size


@pytest.mark.rotated(4)
def test_they_are_a_launch_for_each_digit_that_moves_the_least():
    """After one that counts digits, and one that adds these up; what is contiguous is not copied before."""
    n = 1 << 20
    for dtype in ("int32", "float32", "int64", "float64"):
        size = np.dtype(dtype).itemsize
        found = launches(lambda a: np.sort(a), np.zeros(n, dtype))
        assert found.times == 2 + size
        assert found.read + found.written <= 1.05 * n * size * (1 + 2 * size)
    assert launches(lambda a: np.argsort(a), np.zeros(n, "int32")).times == 2 + 4


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.sampled(8)
def test_lengths_around_tiles(dtype):
    tiles = {sweeps(dtype, order) for order in (False, True)}
    lengths = {IN_A_BLOCK + 1, 20_011}
    for tile in tiles:
        lengths |= {tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1}
    for length in [0, 1, 2, 33, IN_A_BLOCK, *sorted(lengths)]:
        check(numbers(dtype, length))


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
def test_keys_that_are_skewed(dtype):
    """All equal, two, sorted, reversed, one digit, the highest digit alone: sweeps that move nothing are left out."""
    n = 12_345
    info = np.finfo(dtype) if dtype == "float64" else np.iinfo(dtype)
    sorted_ones = np.sort(numbers(dtype, n))
    few = np.arange(n).astype("uint8").astype(dtype)
    for x in (
        np.full(n, 7, dtype),
        np.full(n, info.max, dtype),
        np.where(np.arange(n) == n - 5, 3, 200).astype(dtype),
        sorted_ones,
        sorted_ones[::-1].copy(),
        few,
        np.where(few > 100, info.max, few).astype(dtype),
        np.where(rng.random(n) < 0.001, info.min, info.max).astype(dtype),
    ):
        check(x)


@pytest.mark.rotated(3)
def test_digits_between_that_are_the_same():
    """Elements are where the digits before have left them."""
    n = 9_001
    for mask in (0xFF, 0xFF00, 0xFF00FF, 0xFF0000FF00, 0xFF00FF00FF00FF, 0xFF << 56, 0xFFFF << 48):
        x = numbers("uint64", n) & np.uint64(mask)
        check(x)
        check(x.view("float64"))


@pytest.mark.rotated(2)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
@pytest.mark.sampled(4)
def test_lines(dtype):
    """Tiles do not cross lines; lines with and without digits that all keys share are neighbours."""
    for shape in ((3, 2049), (2, 5000), (7, 2600)):
        x = numbers(dtype, shape)
        x[1] = x[1, 0]
        x[0] = np.abs(np.nan_to_num(x[0], posinf=0, neginf=0) // 2).astype("uint8").astype(dtype)
        check(x)
    x = numbers(dtype, (2500, 3))
    for mine, theirs in zip(along(ingot.device_put(x, device)), along(x), strict=True):
        np.testing.assert_array_equal(mine.to_host(), theirs)
    check(numbers(dtype, (0, 3000)))


@pytest.mark.rotated(3)
def test_arrays_that_are_not_contiguous():
    def parts(a):
        return np.sort(a[10:]), np.sort(a[::2]), np.argsort(a[7:-3], kind="stable"), np.sort(a[::-1])

    x = rng.integers(0, 999, 9001)
    for mine, theirs in zip(ingot.jit(parts)(ingot.device_put(x, device)), parts(x), strict=True):
        np.testing.assert_array_equal(mine.to_host(), theirs)


def test_arrays_that_are_written_afterwards():
    """What is sorted is read where it is."""

    def in_place(a):
        b = np.sort(a)
        a[0] = 999
        c = np.sort(a)
        a[:] = np.sort(a % 100)
        return b, c

    x = rng.integers(0, 999, 7001)
    own, moved = x.copy(), ingot.device_put(x, device)
    for mine, theirs in zip(ingot.jit(in_place)(moved), in_place(own), strict=True):
        np.testing.assert_array_equal(mine.to_host(), theirs)
    np.testing.assert_array_equal(moved.to_host(), own)


@pytest.mark.rotated(5)
def test_what_sorts():
    x = rng.integers(0, 300, 5000).astype("int32")
    a = rng.standard_normal(5000).astype("float32")

    def all_of_them(x, a):
        u, counts = np.unique(x, return_counts=True)
        return u, counts, np.partition(a, 100)[100], np.median(a), np.argpartition(a, 9)[9], np.searchsorted(np.sort(a), a[:9])

    compiled = ingot.jit(all_of_them)
    for mine, theirs in zip(compiled(*(ingot.device_put(v, device) for v in (x, a))), compiled(x, a), strict=True):
        np.testing.assert_array_equal(mine.to_host() if isinstance(mine, ingot.Array) else mine, theirs)


@pytest.mark.rotated(3)
def test_sums_at_places_that_are_sorted():
    def add(x, i):
        out = np.zeros(70_000)
        np.add.at(out, i, x)
        return out

    for most in (1, 200, 70_000):
        x, i = rng.standard_normal(6000), rng.integers(0, most, 6000)
        got = ingot.jit(add)(ingot.device_put(x, device), ingot.device_put(i, device))
        assert got.to_host().tobytes() == add(x, i).tobytes()


@pytest.mark.rotated(4)
def test_a_million_and_three():
    x = numbers("int32", (1 << 20) + 3)
    np.testing.assert_array_equal(values(ingot.device_put(x, device)).to_host(), np.sort(x))


def test_graphs_launch_them_again():
    x = ingot.device_put(numbers("int32", 20_000), device)
    graph = ingot.graph(ingot.jit(lambda a: np.sort(a) ^ 1), x)
    for _ in range(3):
        np.testing.assert_array_equal(graph().to_host(), np.sort(x.to_host()) ^ 1)
        x ^= 0x5A5A5A


PROGRAM = """
import numpy as np
import test_device_sorts as t
t.check(t.numbers("int16", 20_001))
t.check(t.numbers("float32", 11_000))
t.check(t.numbers("uint8", (3, 6_000)))
t.check(np.arange(9_000) & 0xFF00)
"""


@pytest.mark.rotated(3)
@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.sampled(6)
def test_nothing_races_in_any_order_of_blocks(seed):
    """Blocks and warps run in an order that is drawn from the seed, several alternately."""
    variables = {"INGOT_EMULATOR_SEED": str(seed), "INGOT_EMULATOR_RACES": "1"}
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
