"""Functions that the threads of a block or a warp call together, `ingot.cuda.coop`, against NumPy's."""

import functools

import ingot
import numpy as np
import pytest
from ingot import cuda
from ingot.cuda import coop

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]
SHAPES = [1, 20, 32, 50, (6, 7), (4, 3, 5), 128]


@pytest.fixture(params=["interpreted", "emulated"], autouse=True)
def machine(request, monkeypatch):
    """The interpreter, which finds races, and the software device."""
    if request.param == "interpreted":
        monkeypatch.setenv("INGOT_KERNELS", "interpreted")
        yield request.param
    else:
        with ingot.device("emulated"):
            yield request.param


def size_of(shape):
    return int(np.prod(shape))


def numbers(dtype, count, seed=0):
    """Numbers whose sums are exact."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "c":
        return (rng.integers(-3, 4, count) + 1j * rng.integers(-3, 4, count)).astype(dtype)
    return rng.integers(0 if kind in "bu" else -3, 2 if kind == "b" else 4, count).astype(dtype)


@cuda.jit(device=True)
def rank():
    return cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)


def each_item(primitive, dtype, items, result_dtype=None):
    """A kernel that gives a function the items of each thread, and stores those that it leaves."""

    @cuda.jit
    def kernel(x, out):
        own = cuda.local.array(items, dtype)
        for k in range(items):
            own[k] = x[rank() * items + k]
        primitive(own)
        for k in range(items):
            out[rank() * items + k] = own[k]

    return kernel


def each_number(primitive):
    @cuda.jit
    def kernel(x, out):
        out[rank()] = primitive(x[rank()])

    return kernel


def run(kernel, shape, x, *more):
    out = np.zeros_like(x)
    kernel[1, shape](x, out, *more)
    return out


# Reductions


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_blocks(dtype):
    for shape in (50, (4, 3, 5)) if dtype in ("int32", "float64") else (50,):
        x = numbers(dtype, size_of(shape))
        out = run(each_number(coop.block.sum(dtype, shape)), shape, x)
        assert (out == np.add.reduce(x, dtype=dtype)).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions_of_blocks_keep_the_order(shape):
    def compose(a, b):  # associative, and not commutative: the maps x -> 3 x + c, by (factor, c) in one number
        return (a // 1000) * (b // 1000) % 97 * 1000 + ((a % 1000) * (b // 1000) + b % 1000) % 97

    reduce = coop.block.reduce(np.int64, shape, compose, 3)

    @cuda.jit
    def kernel(x, out, valid):
        own = cuda.local.array(3, np.int64)
        for k in range(3):
            own[k] = x[rank() * 3 + k]
        out[rank()] = reduce(own) if valid < 0 else reduce(own, valid)

    size = size_of(shape)
    x = np.random.default_rng(1).integers(1, 97, 3 * size) * 1000 + np.random.default_rng(2).integers(0, 97, 3 * size)
    for valid in {-1, 1, size, 3 * size - 1, 3 * size + 5}:
        out = np.zeros(size, np.int64)
        kernel[1, shape](x, out, valid)
        assert (out == functools.reduce(compose, x[: valid if valid >= 0 else None])).all(), valid


def test_sums_of_the_first_items():
    total = coop.block.sum(np.float32, 70)

    @cuda.jit
    def kernel(x, out, valid):
        out[rank()] = total(x[rank()], valid)

    x = numbers("float32", 70)
    for valid in (0, 1, 31, 32, 33, 64, 69, 70, 100):
        out = run(kernel, 70, x, valid)
        assert (out == x[:valid].sum()).all()


def test_the_order_of_sums_is_stated():
    """Threads of a warp in a tree of neighbours, then warps one after the other."""
    x = np.random.default_rng(3).random(70).astype(np.float32)
    out = run(each_number(coop.block.sum(np.float32, 70)), 70, x)

    def tree(part):
        part = list(part)
        while len(part) > 1:
            part = [part[k] + part[k + 1] if k + 1 < len(part) else part[k] for k in range(0, len(part), 2)]
        return part[0]

    assert (out == (tree(x[:32]) + tree(x[32:64])) + tree(x[64:])).all()


@pytest.mark.parametrize("op, function", [("max", np.maximum), ("*", np.multiply), (np.minimum, np.minimum), ("bit_xor", np.bitwise_xor)])
def test_operators_of_reductions(op, function):
    x = numbers("int32", 40) | 1
    out = run(each_number(coop.block.reduce(np.int32, 40, op)), 40, x)
    assert (out == function.reduce(x, dtype=np.int32)).all()


def test_a_reduction_is_the_same_number_for_all_threads():
    """A loop with a barrier may depend on it."""
    total = coop.block.sum(np.int64, 33)

    @cuda.jit
    def kernel(x, out):
        rounds = 0
        while total(x[rank()]) > 0:
            x[rank()] -= 1 if x[rank()] > 0 else 0
            rounds += 1
        out[rank()] = rounds

    x = np.arange(33) % 5
    out = np.zeros(33, np.int64)
    kernel[1, 33](x, out)
    assert (out == 4).all()


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "int64", "complex128"])
@pytest.mark.parametrize("lanes", [32, 8, 5])
def test_sums_of_warps(dtype, lanes):
    x = numbers(dtype, 45)
    out = run(each_number(coop.warp.sum(dtype, lanes)), (9, 5), x)
    for warp in (x[:32], x[32:]):
        for k in range(0, len(warp), lanes):
            first = k + (32 if warp is not x[:32] and len(warp) < 32 else 0)
            assert (out[first : first + len(warp[k : k + lanes])] == np.add.reduce(warp[k : k + lanes], dtype=dtype)).all()


def test_reductions_of_the_first_lanes():
    reduce = coop.warp.reduce(np.int32, lambda a, b: a if a > b else b)

    @cuda.jit
    def kernel(x, out, valid):
        out[rank()] = reduce(x[rank()], valid)

    x = np.random.default_rng(4).permutation(64).astype(np.int32)
    for valid in (1, 13, 32):
        out = run(kernel, 64, x, valid)
        assert (out == np.repeat([x[:valid].max(), x[32 : 32 + valid].max()], 32)).all()


# Scans


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_of_blocks(dtype):
    inclusive, exclusive = coop.block.inclusive_sum(dtype, 50, 3), coop.block.exclusive_sum(dtype, 50, 3)

    @cuda.jit
    def kernel(x, out, before):
        own, other = cuda.local.array(3, dtype), cuda.local.array(3, dtype)
        for k in range(3):
            own[k] = x[rank() * 3 + k]
        exclusive(own, other)
        inclusive(own)
        for k in range(3):
            out[rank() * 3 + k], before[rank() * 3 + k] = own[k], other[k]

    x = numbers(dtype, 150)
    out, before = np.zeros_like(x), np.zeros_like(x)
    kernel[1, 50](x, out, before)
    expected = np.add.accumulate(x, dtype=dtype)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(before, [np.zeros((), dtype), *expected[:-1]])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scans_keep_the_order(shape):
    def last_not_0(a, b):
        return b if b != 0 else a

    inclusive, exclusive = coop.block.inclusive_scan(np.int32, shape, last_not_0), coop.block.exclusive_scan(np.int32, shape, last_not_0, 7)

    @cuda.jit
    def kernel(x, out, before):
        out[rank()], before[rank()] = inclusive(x[rank()]), exclusive(x[rank()])

    x = np.random.default_rng(5).integers(0, 3, size_of(shape)).astype(np.int32) * np.arange(1, size_of(shape) + 1, dtype=np.int32)
    out, before, expected = np.zeros_like(x), np.zeros_like(x), [7]
    kernel[1, shape](x, out, before)
    for value in x:
        expected.append(last_not_0(expected[-1], value))
    np.testing.assert_array_equal(before, expected[:-1])
    first = np.flatnonzero(x)[:1]
    np.testing.assert_array_equal(out[: first[0] if len(first) else None], 0)
    if len(first):
        np.testing.assert_array_equal(out[first[0] :], expected[1:][first[0] :])


def test_a_scan_goes_on_from_tile_to_tile():
    scan = coop.block.inclusive_scan(np.float64, 16, "max")
    total = coop.block.reduce(np.float64, 16, "max")

    @cuda.jit
    def kernel(x, out):
        before = -np.inf
        for first in range(0, x.size, 16):
            value = x[first + rank()]
            out[first + rank()] = scan(value, initial_value=before)
            before = max(before, total(value))

    x = np.random.default_rng(6).random(64)
    out = np.zeros(64)
    kernel[1, 16](x, out)
    np.testing.assert_array_equal(out, np.maximum.accumulate(x))


@pytest.mark.parametrize("lanes", [32, 16, 3])
def test_scans_of_warps(lanes):
    sums, before = coop.warp.inclusive_sum(np.int64, lanes), coop.warp.exclusive_sum(np.int64, lanes)
    most, least = coop.warp.inclusive_scan(np.int64, max, threads_in_warp=lanes), coop.warp.exclusive_scan(np.int64, "min", 99, lanes)

    @cuda.jit
    def kernel(x, out):
        value = x[rank()]
        out[rank()] = (sums(value), before(value), most(value), least(value))

    x, out = np.random.default_rng(7).integers(-50, 50, 45), np.zeros((45, 4), np.int64)
    kernel[1, 45](x, out)
    for start, stop in ((0, 32), (32, 45)):
        for first in range(start, stop, lanes):
            part, got = x[first : min(first + lanes, stop)], out[first : min(first + lanes, stop)]
            np.testing.assert_array_equal(got[:, 0], part.cumsum())
            np.testing.assert_array_equal(got[:, 1], part.cumsum() - part)
            np.testing.assert_array_equal(got[:, 2], np.maximum.accumulate(part))
            np.testing.assert_array_equal(got[:, 3], np.minimum.accumulate([99, *part[:-1]]))


# Sorts


def keys_of(dtype, count):
    rng = np.random.default_rng(8)
    kind = np.dtype(dtype).kind
    if kind == "f":
        x = rng.normal(size=count).astype(dtype)
        x[rng.integers(0, count, count // 4)] = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5], dtype), count // 4)
        return x
    if kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_radix_sorts(dtype):
    up, down = coop.block.radix_sort_keys(dtype, 37, 3), coop.block.radix_sort_keys_descending(dtype, 37, 3)

    @cuda.jit
    def kernel(x, ascending, descending):
        own, other = cuda.local.array(3, dtype), cuda.local.array(3, dtype)
        for k in range(3):
            own[k] = other[k] = x[rank() * 3 + k]
        up(own)
        down(other)
        for k in range(3):
            ascending[rank() * 3 + k], descending[rank() * 3 + k] = own[k], other[k]

    x = keys_of(dtype, 111)
    ascending, descending = np.zeros_like(x), np.zeros_like(x)
    kernel[1, 37](x, ascending, descending)
    np.testing.assert_array_equal(ascending, np.sort(x))
    np.testing.assert_array_equal(descending, np.sort(x)[::-1])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sorts_of_pairs_are_stable(shape):
    sort = coop.block.merge_sort_pairs(np.int16, np.float64, shape, 2, lambda a, b: a > b)

    @cuda.jit
    def kernel(x, order, valid):
        keys, values = cuda.local.array(2, np.int16), cuda.local.array(2, np.float64)
        for k in range(2):
            keys[k], values[k] = x[rank() * 2 + k], rank() * 2 + k
        sort(keys, values, valid)
        for k in range(2):
            x[rank() * 2 + k], order[rank() * 2 + k] = keys[k], values[k]

    size = 2 * size_of(shape)
    given = np.random.default_rng(9).integers(0, 9, size).astype(np.int16)
    for valid in {0, 1, size // 2 + 1, size}:
        x, order = given.copy(), np.zeros(size)
        kernel[1, shape](x, order, valid)
        expected = np.argsort(-given[:valid], kind="stable")
        np.testing.assert_array_equal(order, [*expected, *range(valid, size)])
        np.testing.assert_array_equal(x, given[order.astype(int)])


@pytest.mark.parametrize("dtype, begin, end", [("uint32", 4, 12), ("int16", 8, 16), ("float32", 23, 32), ("int64", 0, 64)])
def test_sorts_by_some_bits(dtype, begin, end):
    sort = coop.block.radix_sort_keys(dtype, 40, 1)

    @cuda.jit
    def kernel(x, out):
        own = cuda.local.array(1, dtype)
        own[0] = x[rank()]
        sort(own, begin, end)
        out[rank()] = own[0]

    x = keys_of(dtype, 40)
    x = np.where(np.isnan(x), 1, x).astype(dtype) if dtype == "float32" else x
    unsigned = f"u{x.itemsize}"
    words = (x + x.dtype.type(0)).view(unsigned)
    top = np.array(1 << (8 * x.itemsize - 1), unsigned)
    words = words if dtype[0] == "u" else words ^ top if dtype[0] == "i" else np.where(words & top, ~words, words | top)
    bits = words.astype(np.uint64) >> np.uint64(begin)
    if end - begin < 64:
        bits &= np.uint64((1 << (end - begin)) - 1)
    np.testing.assert_array_equal(run(kernel, 40, x), x[np.argsort(bits, kind="stable")])


def test_radix_sorts_of_pairs():
    up, down = coop.block.radix_sort_pairs(np.float32, np.int32, 33, 2), coop.block.radix_sort_pairs_descending(np.float32, np.int32, 33, 2)

    @cuda.jit
    def kernel(x, order):
        keys, values = cuda.local.array(2, np.float32), cuda.local.array(2, np.int32)
        for way in range(2):
            for k in range(2):
                keys[k], values[k] = x[rank() * 2 + k], rank() * 2 + k
            if way == 0:
                up(keys, values)
            else:
                down(keys, values)
            for k in range(2):
                order[way, rank() * 2 + k] = values[k]

    x = np.round(keys_of("float32", 66))
    order = np.zeros((2, 66), np.int64)
    kernel[1, 33](x, order)
    np.testing.assert_array_equal(order[0], np.argsort(x, kind="stable"))
    descending = sorted(range(66), key=lambda k: (not np.isnan(x[k]), -x[k] if not np.isnan(x[k]) else 0))
    np.testing.assert_array_equal(order[1], descending)


@pytest.mark.parametrize("lanes, items", [(32, 1), (32, 3), (8, 2), (5, 2)])
def test_sorts_of_warps(lanes, items):
    sort = coop.warp.merge_sort_keys(np.float64, items, lambda a, b: a < b, lanes, threads_per_block=64)
    x = np.random.default_rng(10).random(45 * items)
    out = run(each_item(sort, np.float64, items), (9, 5), x)
    for start, stop in ((0, 32), (32, 45)):
        for first in range(start, stop, lanes):
            part = slice(first * items, min(first + lanes, stop) * items)
            np.testing.assert_array_equal(out[part], np.sort(x[part]))


# Moving items


def striped(x, size, items):
    return x.reshape(items, size).T.reshape(-1)


def warp_striped(x, size, items):
    parts = [x[first * items : min(first + 32, size) * items] for first in range(0, size, 32)]
    return np.concatenate([striped(part, len(part) // items, items) for part in parts])


@pytest.mark.parametrize("shape", [20, 50, (4, 3, 5)], ids=str)
def test_exchanges(shape):
    size, items = size_of(shape), 3
    x = np.arange(size * items)
    kinds = coop.block.BlockExchangeType
    for kind, back, arranged in (
        (kinds.StripedToBlocked, kinds.BlockedToStriped, striped),
        (kinds.WarpStripedToBlocked, kinds.BlockedToWarpStriped, warp_striped),
    ):
        there = run(each_item(coop.block.exchange(back, np.int64, shape, items), np.int64, items), shape, x)
        np.testing.assert_array_equal(there, arranged(x, size, items))
        np.testing.assert_array_equal(run(each_item(coop.block.exchange(kind, np.int64, shape, items), np.int64, items), shape, there), x)


@pytest.mark.parametrize("kind", ["ScatterToBlocked", "ScatterToStriped"])
def test_exchanges_by_ranks(kind):
    exchange = coop.block.exchange(coop.block.BlockExchangeType[kind], np.float32, 21, 2)

    @cuda.jit
    def kernel(x, to, out):
        own, ranks, given = cuda.local.array(2, np.float32), cuda.local.array(2, np.int64), cuda.local.array(2, np.float32)
        for k in range(2):
            own[k], ranks[k] = x[rank() * 2 + k], to[rank() * 2 + k]
        exchange(own, given, ranks)
        for k in range(2):
            out[rank() * 2 + k] = given[k]

    to = np.random.default_rng(11).permutation(42)
    x, out, expected = np.arange(42, dtype=np.float32), np.zeros(42, np.float32), np.zeros(42, np.float32)
    kernel[1, 21](x, to, out)
    expected[to] = x
    np.testing.assert_array_equal(out, expected if kind == "ScatterToBlocked" else striped(expected, 21, 2))


@pytest.mark.parametrize("algorithm", ["direct", "striped", "vectorize", "transpose", "warp_transpose", "warp_transpose_timesliced"])
def test_loads_and_stores(algorithm):
    load, store = coop.block.load(np.int32, 50, 3, algorithm), coop.block.store(np.int64, 50, 3, algorithm)
    direct = coop.block.store(np.int32, 50, 3)

    @cuda.jit
    def kernel(x, held, out, valid):
        own = cuda.local.array(3, np.int32)
        load(x, own, valid, -1)
        direct(held, own)
        store(out, own, valid)

    x = np.arange(1, 151, dtype=np.int32)
    arranged = striped if algorithm == "striped" else lambda part, size, items: part
    for valid in (0, 1, 77, 149, 150, 200):
        held, out = np.zeros(150, np.int32), np.zeros(150, np.int64)
        kernel[1, 50](x[: min(valid, 150)], held, out, valid)
        expected = np.where(np.arange(150) < valid, x, -1)
        np.testing.assert_array_equal(held, arranged(expected, 50, 3))
        np.testing.assert_array_equal(out, np.where(expected > 0, expected, 0))


def test_a_load_leaves_what_is_not_valid_without_a_default():
    load, store = coop.block.load(np.float32, 10, 2, "transpose"), coop.block.store(np.float32, 10, 2)

    @cuda.jit
    def kernel(x, out):
        own = cuda.local.array(2, np.float32)
        own[0] = own[1] = 5
        load(x, own, x.size)
        store(out, own)

    out = np.zeros(20, np.float32)
    kernel[1, 10](np.arange(13, dtype=np.float32), out)
    np.testing.assert_array_equal(out, [*range(13), *[5] * 7])


def test_loads_beyond_an_array_raise():
    load = coop.block.load(np.float64, 10, 2)
    kernel = cuda.jit(lambda x: load(x, cuda.local.array(2, np.float64)))
    with pytest.raises(IndexError):
        kernel[1, 10](np.zeros(19))


# Counts and neighbours


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool"])
def test_histograms(dtype):
    count = coop.block.histogram(dtype, np.int32, 45, 4, 7)

    @cuda.jit
    def kernel(x, out, bins):
        shared = cuda.shared.array(7, np.int32)
        own = cuda.local.array(4, dtype)
        for first in range(0, x.size, 180):
            for k in range(4):
                own[k] = x[first + rank() * 4 + k]
            count(own, shared, init=first == 0)
        out[rank()] = 0
        if rank() < 7:
            bins[rank()] = shared[rank()]

    x, bins = np.random.default_rng(12).integers(0, 2 if dtype == "bool" else 7, 540).astype(dtype), np.zeros(7, np.int64)
    kernel[1, 45](x, np.zeros(45), bins)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=7))


def test_a_histogram_is_begun_again_after_it_is_read():
    count = coop.block.histogram(np.int64, np.int32, 64, 1, 8)

    @cuda.jit
    def kernel(x, out):
        counters = cuda.shared.array(8, np.int32)
        for k in range(3):
            count(x[k, rank()], counters)
            out[k, rank()] = counters[x[k, rank()]]

    x = np.random.default_rng(20).integers(0, 8, (3, 64))
    out = np.zeros_like(x)
    kernel[1, 64](x, out)
    assert (out == np.stack([np.bincount(row, minlength=8)[row] for row in x])).all()


def test_what_one_function_stores_another_loads():
    store, load = coop.block.store(np.int64, 48, 2), coop.block.load(np.int64, 48, 2, "striped")

    @cuda.jit
    def kernel(x, out):
        memory, own = cuda.shared.array(96, np.int64), cuda.local.array(2, np.int64)
        for _ in range(2):
            own[0], own[1] = x[2 * rank()], x[2 * rank() + 1]
            store(memory, own)
            load(memory, own)
        out[2 * rank()], out[2 * rank() + 1] = own[0], own[1]

    x = np.arange(96)
    assert (run(kernel, 48, x) == x.reshape(2, 48).T.reshape(-1)).all()


def test_results_where_items_are():
    """Of the own thread, shifted by one, and of the next thread."""
    scan, before = coop.block.inclusive_sum(np.int64, 8, 3), coop.block.exclusive_sum(np.int64, 8, 3)
    left = coop.block.adjacent_difference(np.int64, 8, 3)
    right = coop.block.adjacent_difference(np.int64, 8, 3, None, coop.block.BlockAdjacentDifferenceType.SubtractRight)
    heads = coop.block.discontinuity(np.int64, 8, 3)
    x = np.random.default_rng(21).integers(1, 9, 24)
    differences = np.diff(x)
    cases = [
        (scan, np.cumsum(x)),
        (before, np.cumsum(x) - x),
        (left, np.array([x[0], *differences])),
        (right, np.array([*-differences, x[-1]])),
        (heads, np.array([1, *(differences != 0)])),
    ]
    for primitive, expected in cases:
        for step in (1, 3):

            @cuda.jit
            def kernel(memory):
                first = 3 * rank()
                primitive(memory[first : first + 3], memory[first + step : first + step + 3])

            memory = np.concatenate([x, np.zeros(step, np.int64)])
            kernel[1, 8](memory)
            assert (memory[step:] == expected).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_is_last_by_bits(dtype):
    width = 8 * np.dtype(dtype).itemsize
    x = np.array([1, np.nan, np.nan, -0.0, 0, -1, np.inf, -np.inf], dtype)
    x[1] = np.copysign(x[1], -1)
    for make, expected in ((coop.block.radix_sort_keys, np.sort(x)), (coop.block.radix_sort_keys_descending, np.sort(x)[::-1])):
        sort = make(dtype, 4, 2)

        @cuda.jit
        def kernel(x):
            first = 2 * rank()
            sort(x[first : first + 2], 0, width)

        out = x.copy()
        kernel[1, 4](out)
        np.testing.assert_array_equal(out, expected)


def test_histograms_of_what_is_in_no_bin():
    count = coop.block.histogram(np.int32, np.int32, 8, 1, 4)
    kernel = cuda.jit(lambda x, bins: count(x[cuda.threadIdx.x], bins))
    for wrong in (-1, 4):
        with pytest.raises(IndexError, match="4 bins"):
            kernel[1, 8](np.full(8, wrong, np.int32), np.zeros(4, np.int32))


def test_differences_of_neighbours():
    left = coop.block.adjacent_difference(np.int32, 40, 2)
    right = coop.block.adjacent_difference(np.int32, 40, 2, lambda a, b: a * 10 + b, coop.block.BlockAdjacentDifferenceType.SubtractRight)

    @cuda.jit
    def kernel(x, out):
        own, other = cuda.local.array(2, np.int32), cuda.local.array(2, np.int32)
        for k in range(2):
            own[k] = x[rank() * 2 + k]
        right(own, other, 7)
        left(own)
        for k in range(2):
            out[0, rank() * 2 + k], out[1, rank() * 2 + k] = own[k], other[k]

    x = np.random.default_rng(13).integers(0, 9, 80).astype(np.int32)
    out = np.zeros((2, 80), np.int32)
    kernel[1, 40](x, out)
    np.testing.assert_array_equal(out[0], np.diff(x, prepend=0))
    np.testing.assert_array_equal(out[1], x * 10 + [*x[1:], 7])


def test_where_runs_begin_and_end():
    heads = coop.block.discontinuity(np.uint8, 40, 2)
    tails = coop.block.discontinuity(np.uint8, 40, 2, lambda a, b: b > a, coop.block.BlockDiscontinuityType.TAILS)

    @cuda.jit
    def kernel(x, out):
        own, first, last = cuda.local.array(2, np.uint8), cuda.local.array(2, np.bool), cuda.local.array(2, np.int32)
        for k in range(2):
            own[k] = x[rank() * 2 + k]
        heads(own, first, x[0])
        tails(own, last)
        for k in range(2):
            out[0, rank() * 2 + k], out[1, rank() * 2 + k] = first[k], last[k]

    x = np.random.default_rng(14).integers(0, 3, 80).astype(np.uint8)
    out = np.zeros((2, 80), np.int32)
    kernel[1, 40](x, out)
    np.testing.assert_array_equal(out[0], [0, *(x[1:] != x[:-1])])
    np.testing.assert_array_equal(out[1], [*(x[1:] > x[:-1]), 1])


# Uses


def test_functions_that_a_kernel_makes():
    @cuda.jit
    def kernel(x, out):
        out[rank()] = coop.block.sum(np.int32, (8, 5))(x[rank()]) + coop.warp.sum(np.int32, 1)(x[rank()])

    x = numbers("int32", 40)
    np.testing.assert_array_equal(run(kernel, (8, 5), x), x.sum() + x)


def test_many_blocks_and_calls_without_barriers_between():
    """Each call may be followed by another: none leaves memory that others still read."""
    total, scan = coop.block.sum(np.int64, 40), coop.block.exclusive_sum(np.int64, 40)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        value = x[i]
        for _ in range(4):
            value = scan(value + total(value) % 7) % 11
        out[i] = value

    x = np.random.default_rng(15).integers(0, 9, 120)
    out = np.zeros(120, np.int64)
    kernel[3, 40](x, out)
    expected = x.reshape(3, 40)
    for _ in range(4):
        own = expected + expected.sum(1, keepdims=True) % 7
        expected = (own.cumsum(1) - own) % 11
    np.testing.assert_array_equal(out, expected.reshape(-1))


@pytest.mark.parametrize("name", ["exclusive_sum", "exchange", "load", "store"])
def test_one_function_is_called_again_at_once(name):
    exclusive_sum = coop.block.exclusive_sum(np.int64, 40, 2)
    exchange = coop.block.exchange(coop.block.BlockExchangeType.StripedToBlocked, np.int64, 40, 2)
    load, store = coop.block.load(np.int64, 40, 2, "transpose"), coop.block.store(np.int64, 40, 2, "transpose")

    @cuda.jit
    def kernel(x, out):
        own = cuda.local.array(2, np.int64)
        for k in range(2):
            own[k] = x[0, rank() * 2 + k]
        for again in range(3):
            if name == "exclusive_sum":
                exclusive_sum(own)
            elif name == "exchange":
                exchange(own)
            elif name == "load":
                load(x[again], own)
            else:
                store(out[again], own)
        if name != "store":
            for k in range(2):
                out[0, rank() * 2 + k] = own[k]

    x, out = np.random.default_rng(16).integers(0, 9, (3, 80)), np.zeros((3, 80), np.int64)
    kernel[1, 40](x, out)
    if name == "store":
        np.testing.assert_array_equal(out, np.stack([x[0]] * 3))
        return
    expected = x[2] if name == "load" else x[0]
    for _ in range(0 if name == "load" else 3):
        expected = np.cumsum([0, *expected[:-1]]) if name == "exclusive_sum" else expected.reshape(40, 2).T.reshape(-1)
    np.testing.assert_array_equal(out[0], expected)


def test_blocks_of_another_size_raise():
    total = coop.block.sum(np.int32, 64)
    kernel = each_number(total)
    with pytest.raises(ValueError, match=r"`cuda.coop.block.sum` was made for blocks of 64 threads: \(64, 1, 1\); those of the launch are of \(32, 1, 1\)"):
        run(kernel, 32, np.zeros(32, np.int32))
    with pytest.raises(ValueError, match="64 threads"):
        run(kernel, (32, 2), np.zeros(64, np.int32))


def test_items_that_are_wrong():
    x = np.zeros(8, np.int32)
    with pytest.raises(TypeError, match="made for int32, and is given another kind"):
        run(each_number(coop.block.sum(np.int32, 8)), 8, np.zeros(8))
    with pytest.raises(TypeError, match="made for 2 items per thread, and is given a number"):
        run(each_number(coop.block.sum(np.int32, 8, 2)), 8, x)
    with pytest.raises(ValueError, match="made for 3 items per thread, and is given fewer"):
        run(each_item(coop.block.radix_sort_keys(np.int32, 8, 3), np.int32, 2), 8, np.zeros(16, np.int32))
    with pytest.raises(TypeError, match="takes an array of one axis"):
        run(each_number(coop.block.radix_sort_keys(np.int32, 8, 1)), 8, x)
    functions = {"block.sum": coop.block.sum(np.int32, 8), "warp.sum": coop.warp.sum(np.int32), "warp.inclusive_sum": coop.warp.inclusive_sum(np.int32)}
    for name, total in functions.items():

        def given(items, total=total):
            cuda.jit(lambda x, out: out.fill(total(items if items is None or isinstance(items, str) else x)))[1, 8](items, x.copy())

        for wrong in (np.zeros((2, 2), np.int32), np.zeros((), np.int32)):
            with pytest.raises(TypeError, match=f"cuda.coop.{name}` takes an array of one axis"):
                given(wrong)
        with pytest.raises(ValueError, match=f"cuda.coop.{name}` was made for 1 items per thread, and is given fewer"):
            given(x[:0])
        for wrong in (None, "a"):
            with pytest.raises(TypeError, match=f"cuda.coop.{name}` takes a number or an array of one axis"):
                given(wrong)
    with pytest.raises(ValueError, match="of no items"):
        run(each_number(lambda v: coop.block.reduce(np.int32, 8, "max")(v, 0)), 8, x)


def test_functions_that_cannot_be_made():
    with pytest.raises(ValueError, match="at most 1024 threads"):
        coop.block.sum(np.int32, (64, 32))
    with pytest.raises(ValueError, match="at least 1 along each axis"):
        coop.block.sum(np.int32, 0)
    with pytest.raises(ValueError, match="items_per_thread is at least 1"):
        coop.block.sum(np.int32, 32, 0)
    with pytest.raises(ValueError, match="threads_in_warp is 1 to 32"):
        coop.warp.sum(np.int32, 33)
    with pytest.raises(ValueError, match="an operator is"):
        coop.block.reduce(np.int32, 32, "-")
    with pytest.raises(ValueError, match="wants initial_value"):
        coop.block.exclusive_scan(np.int32, 32, "max")
    with pytest.raises(ValueError, match="algorithm is one of direct"):
        coop.block.load(np.int32, 32, 1, "quick")
    with pytest.raises(TypeError, match="sorts bools, integers and floats, not complex64"):
        coop.block.radix_sort_keys(np.complex64, 32, 1)
    with pytest.raises(TypeError, match="counts integers"):
        coop.block.histogram(np.float32, np.int32, 32, 1, 4)
    for wrong in (object, "U3", ">f4", np.longdouble, [("x", "f4")], ingot.float32[:], ingot.void, None):
        with pytest.raises(TypeError, match="`cuda.coop.block.sum` takes dtypes of numbers, not"):
            coop.block.sum(wrong, 32)
    for make in (lambda: coop.block.sum(np.int32, 32.0), lambda: coop.block.sum(np.int32, True), lambda: coop.block.sum(np.int32, 32, 2.0)):
        with pytest.raises(TypeError, match="is an int"):
            make()
    with pytest.raises(TypeError, match="`cuda.coop.block.reduce` takes a function of two numbers as binary_op, not None"):
        coop.block.reduce(np.int32, 32, None)
    with pytest.raises(TypeError, match="as compare_op, not '<'"):
        coop.block.merge_sort_keys(np.int32, 32, 1, "<")
    with pytest.raises(TypeError, match="BlockExchangeType"):
        coop.block.exchange("StripedToBlocked", np.int32, 32, 1)


def test_functions_that_take_more_memory_than_a_block_has():
    with pytest.raises(ValueError, match=r"merge_sort_keys` takes 65536 bytes of the 49152 that a block has: give threads_per_block"):
        coop.warp.merge_sort_keys(np.float64, 8, lambda a, b: a < b)
    coop.warp.merge_sort_keys(np.float64, 8, lambda a, b: a < b, 32, 768)
    coop.block.load(np.float64, 1024, 8)
    makers = [
        lambda: coop.block.load(np.float64, 1024, 8, "transpose"),
        lambda: coop.block.store(np.float64, 1024, 8, "warp_transpose"),
        lambda: coop.block.exchange(coop.block.BlockExchangeType.StripedToBlocked, np.float64, 1024, 8),
        lambda: coop.block.radix_sort_keys(np.float64, 1024, 8),
        lambda: coop.block.radix_sort_pairs(np.float64, np.int32, 1024, 5),
        lambda: coop.block.merge_sort_keys(np.float64, 1024, 8, lambda a, b: a < b),
        lambda: coop.block.merge_sort_pairs(np.float64, np.int32, 1024, 5, lambda a, b: a < b),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="make it for fewer threads or items"):
            make()


@pytest.mark.parametrize("dtype", [ingot.float32, float, "float32", np.float32, np.dtype(np.float32)], ids=str)
def test_dtypes_of_any_spelling(dtype):
    outside = coop.block.sum(dtype, 4)

    @cuda.jit
    def kernel(x, out):
        out[rank()] = outside(x[rank()]) + coop.warp.sum(dtype)(x[rank()])

    assert run(kernel, 4, np.arange(4, dtype=np.float32)).tolist() == [12, 12, 12, 12]


def test_numbers_that_are_wrong():
    x = np.zeros(8, np.int64)
    total, sort = coop.block.sum(np.int64, 8), coop.block.radix_sort_keys(np.int64, 8, 1)
    exchange = coop.block.exchange(coop.block.BlockExchangeType.ScatterToStriped, np.int64, 8, 1)
    counts = coop.block.histogram(np.uint64, np.int32, 8, 1, 4)
    with pytest.raises(TypeError, match="`cuda.coop.block.sum` takes num_valid"):
        run(each_number(lambda v: total(v, 2.5)), 8, x)
    with pytest.raises(TypeError, match="takes begin_bit and end_bit as ints"):
        run(each_item(lambda own: sort(own, 0.0, 4), np.int64, 1), 8, x)

    @cuda.jit
    def scatters(x, ranks):
        i = cuda.threadIdx.x
        exchange(x[i : i + 1], None, ranks[i : i + 1])

    for wrong in (-1, 8):
        with pytest.raises(IndexError, match="`cuda.coop.block.exchange` has 8 places"):
            scatters[1, 8](x, np.array([0, 1, 2, 3, 4, 5, 6, wrong]))

    @cuda.jit
    def count(x):
        counts(x[cuda.threadIdx.x], cuda.shared.array(4, np.int32))

    with pytest.raises(IndexError, match="made for 4 bins"):
        count[1, 8](np.full(8, 2**63 + 1, np.uint64))


def test_names_of_functions():
    total = coop.block.sum(np.int32, 8)
    assert (total.__name__, total.__qualname__, total.files) == ("sum", "coop.block.sum", ())
    assert "cuda.coop.block.sum" in total.__doc__
    with pytest.raises(TypeError, match=r"^coop.block.sum\(\) takes from 1 to 2 positional arguments but 3 were given"):
        run(each_number(lambda v: total(None, v, 1)), 8, np.zeros(8, np.int32))
    with pytest.raises(AttributeError, match="no attribute 'radix_rank'.*use `coop.block.radix_sort_pairs`"):
        coop.block.radix_rank  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'shuffle'.*use `cuda.shfl_sync`"):
        coop.warp.shuffle  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'TempStorage'.*drop it"):
        coop.TempStorage  # noqa: B018


def test_outside_of_kernels():
    with pytest.raises(ingot.UnsupportedError, match=r"`cuda.coop.block.sum` outside of a kernel"):
        coop.block.sum(np.int32, 32)(1)
    with pytest.raises(ingot.UnsupportedError, match=r"cuda.coop.warp.sum"):
        ingot.jit(lambda x: coop.warp.sum(np.int32)(x))(1)


def test_a_call_that_not_all_threads_come_to():
    total = coop.block.sum(np.int32, 32)

    @cuda.jit
    def kernel(x, out):
        if cuda.threadIdx.x < 16:
            out[0] = total(x[cuda.threadIdx.x])

    with pytest.raises(ingot.UnsupportedError, match="barrier|syncthreads"):
        kernel[1, 32](np.zeros(32, np.int32), np.zeros(1, np.int32))


@pytest.mark.parametrize("name", ["sum", "radix_sort_keys", "histogram", "adjacent_difference"])
def test_threads_that_have_returned(name):
    counts = coop.block.histogram(np.int64, np.int32, 40, 1, 8)
    differ = coop.block.adjacent_difference(np.int64, 40)
    total, sort = coop.block.sum(np.int64, 40), coop.block.radix_sort_keys(np.int64, 40, 1)

    @cuda.jit
    def kernel(x, out, n):
        counters = cuda.shared.array(8, np.int32)
        i = cuda.threadIdx.x
        if i >= n:
            return
        if name == "sum":
            out[i] = total(x[i])
        elif name == "radix_sort_keys":
            sort(x[i : i + 1])
        elif name == "histogram":
            counts(x[i], counters)
        else:
            differ(x[i : i + 1], out[i : i + 1])

    x = np.arange(40) % 8
    run(kernel, 40, x, 40)
    for n in (39, 32, 1):
        with pytest.raises(RuntimeError, match=rf"`cuda.coop.block.{name}` takes all threads of the block, and some have ended"):
            run(kernel, 40, x, n)


def test_lanes_that_have_returned():
    total, scan = coop.warp.sum(np.int64), coop.warp.inclusive_sum(np.int64, 8)
    sort = coop.warp.merge_sort_keys(np.int64, 1, lambda a, b: a < b, 32, 64)

    @cuda.jit
    def kernel(x, out, n, which):
        i = cuda.threadIdx.x
        if i >= n:
            return
        if which == 0:
            out[i] = total(x[i])
        elif which == 1:
            out[i] = scan(x[i])
        else:
            sort(x[i : i + 1])

    x = np.arange(40)
    for which, name in enumerate(("sum", "inclusive_sum", "merge_sort_keys")):
        for n in (32, 40):  # whole warps
            run(kernel, 40, x, n, which)
        for n in (39, 30):
            with pytest.raises(RuntimeError, match=rf"`cuda.coop.warp.{name}` takes all lanes of the warp, or of a group, and some have ended"):
                run(kernel, 40, x, n, which)
    assert run(kernel, 40, x, 24, 1)[:24].tolist() == np.cumsum(x[:24].reshape(3, 8), axis=1).reshape(-1).tolist()


def test_threads_that_are_not_known():
    kernel = cuda.jit(lambda x, n: coop.block.sum(np.int32, n)(x[0]))
    with pytest.raises(ingot.UnsupportedError, match="`threads_per_block` that is not known"):
        kernel[1, 32](np.zeros(32, np.int32), 32)
