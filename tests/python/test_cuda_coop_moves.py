"""What functions of `ingot.cuda.coop` move between threads: shuffles, runs, prefixes, and what warps load, store, exchange and sort."""

import numpy as np
import pytest
from ingot import cuda
from ingot.cuda import coop
from test_cuda_coop import DTYPES, machine, numbers, rank, size_of  # noqa: F401

Shuffle = coop.block.BlockShuffleType


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [1, 40, (6, 7)], ids=str)
def test_shuffles_by_a_distance(dtype, shape):
    offset, rotate = coop.block.shuffle(Shuffle.Offset, dtype, shape), coop.block.shuffle(Shuffle.Rotate, dtype, shape)

    @cuda.jit
    def kernel(x, out, distance):
        out[0, rank()], out[1, rank()], out[2, rank()] = offset(x[rank()], distance), rotate(x[rank()], distance), offset(x[rank()])

    size = size_of(shape)
    x, places = numbers(dtype, size, 1), np.arange(size)
    for distance in (-3, 2):
        out = np.zeros((3, size), dtype)
        kernel[1, shape](x, out, distance)
        there = (places + distance >= 0) & (places + distance < size)
        np.testing.assert_array_equal(out[0], x[np.where(there, places + distance, places)])
        np.testing.assert_array_equal(out[1], np.roll(x, -distance))
        np.testing.assert_array_equal(out[2], [*x[1:], x[-1]])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 3])
def test_items_that_move_by_one_place(dtype, count):
    up, down = coop.block.shuffle(Shuffle.Up, dtype, 40, count), coop.block.shuffle(Shuffle.Down, dtype, 40, count)

    @cuda.jit
    def kernel(x, out, ends):
        own, other = cuda.local.array(count, dtype), cuda.local.array(count, dtype)
        for k in range(count):
            own[k] = x[rank() * count + k]
        last, first = up(own, other), down(own)
        if rank() == 7:
            ends[0], ends[1] = last, first
        for k in range(count):
            out[0, rank() * count + k], out[1, rank() * count + k] = other[k], own[k]

    x, out, ends = numbers(dtype, 40 * count, 2), np.zeros((2, 40 * count), dtype), np.zeros(2, dtype)
    kernel[1, 40](x, out, ends)
    np.testing.assert_array_equal(out, [[x[0], *x[:-1]], [*x[1:], x[-1]]])
    np.testing.assert_array_equal(ends, [x[-1], x[0]])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_are_decoded(dtype):
    run_length = coop.block.run_length(dtype, 40, 2, 3)

    @cuda.jit
    def kernel(values, lengths, out, places):
        i = 2 * rank()
        runs = run_length(values[i : i + 2], lengths[i : i + 2])
        own, place = cuda.local.array(3, dtype), cuda.local.array(3, np.int32)
        for first in range(0, runs.total_decoded_size, 3 * 40):
            runs.decode(own, first, place)
            for k in range(3):
                at = first + 3 * rank() + k
                if at < runs.total_decoded_size:
                    out[at], places[at] = own[k], place[k]

    rng = np.random.default_rng(3)
    for most in (1, 2, 9):
        values, lengths = numbers(dtype, 80, 3), rng.integers(0, most, 80).astype(np.int16)
        expected = np.repeat(values, lengths)
        out, places = np.zeros_like(expected), np.zeros(len(expected), int)
        kernel[1, 40](values, lengths, out, places)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(places, [k for length in lengths for k in range(length)])


def test_what_is_beyond_the_last_run_stays():
    run_length = coop.block.run_length(np.int64, 4, 1, 2)

    @cuda.jit
    def kernel(lengths, out, first):
        i = rank()
        run_length(i + 1, lengths[i]).decode(out[2 * i : 2 * i + 2], first)

    out = np.full(8, -1)
    kernel[1, 4](np.array([0, 2, 0, 3]), out, 1)
    assert out.tolist() == [2, 4, 4, 4, -1, -1, -1, -1]
    with pytest.raises(ValueError, match="lengths that are at least 0"):
        kernel[1, 4](np.array([0, 2, -1, 3]), out, 1)
    with pytest.raises(ValueError, match="an offset that is at least 0"):
        kernel[1, 4](np.array([0, 2, 0, 3]), out, -1)


class Running:
    """What all tiles so far have together."""

    def __init__(self, total, op):
        self.total, self.op = total, op

    def __call__(self, tile):
        before = self.total
        self.total = self.op(before, tile)
        return before


@pytest.mark.parametrize("dtype", ["int16", "uint64", "float16", "float64", "complex128"])
@pytest.mark.parametrize("count", [1, 2])
def test_prefixes_of_scans_from_tile_to_tile(dtype, count):
    """The first warp calls the function with what the tile has together; its first thread's result comes before the tile."""
    exclusive, inclusive = coop.block.exclusive_sum(dtype, 40, count), coop.block.inclusive_scan(dtype, 40, np.add, None, count)

    @cuda.jit
    def kernel(x, out):
        own, other = cuda.local.array(count, dtype), cuda.local.array(count, dtype)
        first, second = Running(x[0], lambda a, b: a + b), Running(x[0], lambda a, b: a + b)
        for tile in range(3):
            for k in range(count):
                own[k] = x[(tile * 40 + rank()) * count + k]
            inclusive(own, other, prefix_op=first)
            exclusive(own, prefix_op=second)
            for k in range(count):
                at = (tile * 40 + rank()) * count + k
                out[0, at], out[1, at] = other[k], own[k]

    x = numbers(dtype, 120 * count, 4)
    out = np.zeros((2, len(x)), dtype)
    kernel[1, 40](x, out)
    sums = x[0] + np.cumsum(x, dtype=dtype)
    np.testing.assert_array_equal(out, [sums, [x[0], *sums[:-1]]])


def test_prefixes_of_numbers_and_what_replaces_the_initial_number():
    most = coop.block.exclusive_scan(np.int64, 40, "max", -100)

    @cuda.jit
    def kernel(x, out):
        running = Running(5, max)
        for tile in range(2):
            i = tile * 40 + rank()
            out[i] = most(x[i], prefix_op=running)

    x, out = np.random.default_rng(5).integers(0, 90, 80), np.zeros(80, int)
    kernel[1, 40](x, out)
    assert out.tolist() == np.maximum.accumulate([5, *x[:-1]]).tolist()

    @cuda.jit
    def both(x, out):
        out[rank()] = most(x[rank()], initial_value=1, prefix_op=lambda tile: tile)

    with pytest.raises(ValueError, match="initial_value or prefix_op, not both"):
        both[1, 40](x, out)


def test_storage_that_the_caller_gives_is_taken_and_not_needed():
    total, sort = coop.block.sum(np.int64, 40), coop.block.radix_sort_keys(np.int64, 40, 1)
    size = total.temp_storage_bytes

    @cuda.jit
    def kernel(x, out):
        storage = cuda.shared.array(size, np.uint8)
        sort(x[rank() : rank() + 1], temp_storage=storage)
        out[rank()] = total(x[rank()], temp_storage=storage) + coop.warp.sum(np.int64, 1)(x[rank()], temp_storage=storage)

    x, out = np.random.default_rng(6).integers(0, 9, 40), np.zeros(40, int)
    expected = x.sum() + np.sort(x)
    kernel[1, 40](x, out)
    assert out.tolist() == expected.tolist()


# Warps


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("algorithm", ["direct", "striped"])
def test_loads_and_stores_of_warps(dtype, algorithm):
    load, store = coop.warp.load(dtype, 2, 8, algorithm), coop.warp.store(dtype, 2, 8)

    @cuda.jit
    def kernel(x, out, valid):
        own = cuda.local.array(2, dtype)
        part = rank() // 8 * 16
        load(x[part : part + 16], own, valid, 1)
        store(out[part : part + 16], own, 15)

    x, out = numbers(dtype, 80, 7), np.zeros(80, dtype)
    kernel[1, 40](x, out, 13)
    expected = x.reshape(5, 16).copy()
    expected[:, 13:] = 1
    if algorithm == "striped":
        expected = expected.reshape(5, 2, 8).transpose(0, 2, 1).reshape(5, 16)
    expected[:, 15] = 0
    np.testing.assert_array_equal(out, expected.reshape(-1))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [8, 32])
def test_exchanges_of_warps(dtype, lanes):
    kinds = coop.warp.WarpExchangeType
    blocked, striped, scatter = (
        coop.warp.exchange(kind, dtype, 2, lanes, 64) for kind in (kinds.StripedToBlocked, kinds.BlockedToStriped, kinds.ScatterToStriped)
    )

    @cuda.jit
    def kernel(x, ranks, out):
        own, other, place = cuda.local.array(2, dtype), cuda.local.array(2, dtype), cuda.local.array(2, np.int32)
        for k in range(2):
            own[k], place[k] = x[2 * rank() + k], ranks[2 * rank() % (2 * lanes) + k]
        scatter(own, other, place)
        for k in range(2):
            out[0, 2 * rank() + k] = other[k]
        blocked(own, other)
        striped(own)
        for k in range(2):
            out[1, 2 * rank() + k], out[2, 2 * rank() + k] = other[k], own[k]

    x, ranks, out = numbers(dtype, 128, 8), np.random.default_rng(8).permutation(2 * lanes), np.zeros((3, 128), dtype)
    kernel[1, 64](x, ranks, out)
    groups = x.reshape(-1, 2 * lanes)
    scattered = np.zeros_like(groups)
    scattered[:, ranks] = groups

    def to_striped(items):
        return items.reshape(-1, 2, lanes).transpose(0, 2, 1).reshape(-1)

    np.testing.assert_array_equal(out[0], to_striped(scattered))
    np.testing.assert_array_equal(out[1], groups.reshape(-1, lanes, 2).transpose(0, 2, 1).reshape(-1))
    np.testing.assert_array_equal(out[2], to_striped(groups))
    with pytest.raises(IndexError, match=f"`cuda.coop.warp.exchange` has {2 * lanes} places"):
        kernel[1, 64](x, ranks + 1, out)


def test_sorts_of_pairs_of_warps():
    sort = coop.warp.merge_sort_pairs(np.int32, np.float64, 2, lambda a, b: a > b, 8, 64)

    @cuda.jit
    def kernel(keys, values):
        i = 2 * rank()
        sort(keys[i : i + 2], values[i : i + 2], 15)

    keys, values = np.random.default_rng(9).integers(0, 5, 80).astype(np.int32), np.arange(80.0)
    expected = []
    for first in range(0, 80, 16):
        order = first + np.argsort(-keys[first : first + 15], kind="stable")
        expected += [*order, first + 15]
    given = keys.copy()
    kernel[1, 40](keys, values)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(keys, given[expected])


# Errors


@pytest.mark.parametrize("name", ["block", "warp"])
def test_what_ended_a_thread_is_raised_and_not_that_it_ended(name):
    total = coop.block.sum(np.int64, 32) if name == "block" else coop.warp.sum(np.int64)

    @cuda.jit
    def kernel(x, out):
        out[cuda.grid(1)] = total(x[cuda.grid(1)])

    x = np.arange(128)
    out = np.zeros(128, int)
    kernel[4, 32](x, out)
    for there in (127, 101):  # the last threads find no element, and the others miss them
        with pytest.raises(IndexError, match=f"index {there} is out of bounds for axis 0 with size {there}"):
            kernel[4, 32](x[:there], out)


def test_a_broken_group_is_a_runtime_error_that_may_be_caught():
    total = coop.block.sum(np.int64, 32)

    @cuda.jit
    def kernel(x, out, n):
        if cuda.threadIdx.x >= n:
            return
        try:
            out[cuda.threadIdx.x] = total(x[cuda.threadIdx.x])
        except RuntimeError:
            out[cuda.threadIdx.x] = -1

    out = np.zeros(32, int)
    kernel[1, 32](np.arange(32), out, 31)
    assert out.tolist() == [-1] * 31 + [0]


def test_moves_that_cannot_be_made():
    with pytest.raises(TypeError, match="one of BlockShuffleType"):
        coop.block.shuffle("Up", np.int32, 32)
    with pytest.raises(ValueError, match="one item per thread"):
        coop.block.shuffle(Shuffle.Rotate, np.int32, 32, 2)
    with pytest.raises(TypeError, match="one of WarpExchangeType"):
        coop.warp.exchange(coop.block.BlockExchangeType.StripedToBlocked, np.int32)
    with pytest.raises(ValueError, match="algorithm is one of direct"):
        coop.warp.load(np.int32, 2, 32, "warp_transpose")
    with pytest.raises(ValueError, match="make it for fewer threads or runs"):
        coop.block.run_length(np.float64, 1024, 4, 4)
    with pytest.raises(ValueError, match="give threads_per_block"):
        coop.warp.exchange(coop.warp.WarpExchangeType.StripedToBlocked, np.float64, 8)
    exchange = coop.warp.exchange(coop.warp.WarpExchangeType.StripedToBlocked, np.float64, 1, 32, 32)
    kernel = cuda.jit(lambda x: exchange(x[rank() : rank() + 1]))
    with pytest.raises(ValueError, match="at most 32 threads"):
        kernel[1, 64](np.zeros(64))
    shuffle = coop.block.shuffle(Shuffle.Offset, np.float64, 4)
    with pytest.raises(TypeError, match="distance is an int"):
        cuda.jit(lambda x: shuffle(x[rank()], 1.0))[1, 4](np.zeros(4))
