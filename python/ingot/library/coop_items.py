"""`ingot.cuda.coop` on the items of threads: how they are moved between memory and threads, sorted, counted and compared."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives
from .coop import (
    WARP,
    at,
    count_of,
    dtype_of,
    function_of,
    item,
    need_array,
    need_items,
    need_memory,
    one_of,
    own_items,
    rank_in_block,
    size_of_block,
    threads_of,
    valid_of,
    wait_for_block,
)


class BlockExchangeType(enum.Enum):
    """How `exchange` moves items: from which arrangement into which."""

    StripedToBlocked = ("striped", "blocked")
    BlockedToStriped = ("blocked", "striped")
    WarpStripedToBlocked = ("warp-striped", "blocked")
    BlockedToWarpStriped = ("blocked", "warp-striped")
    ScatterToBlocked = ("scattered", "blocked")
    ScatterToStriped = ("scattered", "striped")


class BlockAdjacentDifferenceType(enum.Enum):
    """Which neighbour `adjacent_difference` takes: the item before, or the one after."""

    SubtractLeft = "left"
    SubtractRight = "right"


class BlockDiscontinuityType(enum.Enum):
    """What `discontinuity` marks: the first items of runs, or the last ones."""

    HEADS = "heads"
    TAILS = "tails"


# Where items are


def place(arrangement: str, rank: Any, k: Any, size: int, count: int) -> Any:
    """The position of an item of a thread among those of the block."""
    if arrangement == "blocked":
        return rank * count + k
    if arrangement == "striped":
        return k * size + rank
    first = rank // WARP * WARP
    return first * count + k * min(WARP, size - first) + (rank - first)


def exchanged(items: Any, out: Any, ranks: Any, source: str, target: str, dtype: np.dtype, threads: Any, count: int, name: str) -> None:
    rank, size = rank_in_block(threads, name), size_of_block(threads)
    given = items if out is None else out
    need_array(items, count, name)
    need_array(given, count, name)
    part = primitives.shared_memory(size * count, dtype)
    for k in range(count):
        part[scattered(ranks, k, count, size * count, name) if source == "scattered" else place(source, rank, k, size, count)] = at(items[k], dtype, name)
    wait_for_block()
    for k in range(count):
        given[k] = part[place(target, rank, k, size, count)]


def scattered(ranks: Any, k: Any, count: int, places: int, name: str) -> Any:
    if ranks is None:
        raise TypeError(f"`cuda.{name}` that scatters takes ranks")
    need_array(ranks, count, name)
    if ranks[k] < 0 or ranks[k] >= places:
        raise IndexError(f"`cuda.{name}` has {places} places, and a rank is none of them")
    return ranks[k]


def block_exchange(block_exchange_type: Any, dtype: Any, threads_per_block: Any, items_per_thread: Any = 1, warp_time_slicing: Any = False) -> Any:
    kind, threads, count = dtype_of(dtype), threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    if not isinstance(block_exchange_type, BlockExchangeType):
        raise TypeError("block_exchange_type is one of BlockExchangeType")
    need_memory(size_of_block(threads) * count, (kind.itemsize,), FEWER, "coop.block.exchange")
    source, target = block_exchange_type.value

    def exchange(items: Any, out: Any = None, ranks: Any = None, *, temp_storage: Any = None) -> None:
        exchanged(items, out, ranks, source, target, kind, threads, count, "coop.block.exchange")

    return exchange


FEWER = "make it for fewer threads or items"
ALGORITHMS = ("direct", "striped", "vectorize", "transpose", "warp_transpose", "warp_transpose_timesliced")


def arrangement_of(algorithm: str) -> str:
    """In which items are moved from and to memory."""
    if algorithm in ("direct", "vectorize"):
        return "blocked"
    return "striped" if algorithm in ("striped", "transpose") else "warp-striped"


def loaded(src: Any, dst: Any, num_valid: Any, default: Any, algorithm: str, dtype: np.dtype, threads: Any, count: int, name: str) -> None:
    rank, size, arrangement = rank_in_block(threads, name), size_of_block(threads), arrangement_of(algorithm)
    need_array(src, 0, name)
    valid_of(num_valid, name)
    need_array(dst, count, name)
    if "transpose" not in algorithm:
        for k in range(count):
            where = place(arrangement, rank, k, size, count)
            if num_valid is None or where < num_valid:
                dst[k] = at(src[where], dtype, name)
            elif default is not None:
                dst[k] = at(default, dtype, name)
        return
    part = primitives.shared_memory(size * count, dtype)
    for k in range(count):
        where = place(arrangement, rank, k, size, count)
        if num_valid is None or where < num_valid:
            part[where] = at(src[where], dtype, name)
    wait_for_block()
    for k in range(count):
        where = rank * count + k
        if num_valid is None or where < num_valid:
            dst[k] = part[where]
        elif default is not None:
            dst[k] = at(default, dtype, name)


def stored(dst: Any, src: Any, num_valid: Any, algorithm: str, dtype: np.dtype, threads: Any, count: int, name: str) -> None:
    rank, size, arrangement = rank_in_block(threads, name), size_of_block(threads), arrangement_of(algorithm)
    need_array(dst, 0, name)
    valid_of(num_valid, name)
    need_items(src, count, name)
    if "transpose" not in algorithm:
        for k in range(count):
            where = place(arrangement, rank, k, size, count)
            if num_valid is None or where < num_valid:
                dst[where] = item(src, k, dtype, name)
        return
    part = primitives.shared_memory(size * count, dtype)
    for k in range(count):
        part[rank * count + k] = item(src, k, dtype, name)
    wait_for_block()
    for k in range(count):
        where = place(arrangement, rank, k, size, count)
        if num_valid is None or where < num_valid:
            dst[where] = part[where]


def block_load(dtype: Any, threads_per_block: Any, items_per_thread: Any = 1, algorithm: Any = "direct") -> Any:
    one_of(algorithm, ALGORITHMS, "algorithm")
    kind, threads, count = dtype_of(dtype), threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    if "transpose" in algorithm:
        need_memory(size_of_block(threads) * count, (kind.itemsize,), FEWER, "coop.block.load")

    def load(src: Any, dst: Any, num_valid: Any = None, default: Any = None, *, temp_storage: Any = None) -> None:
        loaded(src, dst, num_valid, default, algorithm, kind, threads, count, "coop.block.load")

    return load


def block_store(dtype: Any, threads_per_block: Any, items_per_thread: Any = 1, algorithm: Any = "direct") -> Any:
    one_of(algorithm, ALGORITHMS, "algorithm")
    kind, threads, count = dtype_of(dtype), threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    if "transpose" in algorithm:
        need_memory(size_of_block(threads) * count, (kind.itemsize,), FEWER, "coop.block.store")

    def store(dst: Any, src: Any, num_valid: Any = None, *, temp_storage: Any = None) -> None:
        stored(dst, src, num_valid, algorithm, kind, threads, count, "coop.block.store")

    return store


# Sorts


class Sorters:
    """The threads that sort: the number of this one, where their memory begins, and how they wait for each other."""

    def __init__(self, rank: Any, base: Any, size: int, valid: Any, wait: Callable[[], None]) -> None:
        self.rank, self.base, self.size, self.valid, self.wait = rank, base, size, valid, wait


def sorted_by(sorters: Any, less: Any, keys: Any, values: Any, dtypes: Any, memory: int, count: int, name: str) -> None:
    """Sorts keys, and values with them: each thread its own, then runs of two, four, ... threads merge."""
    need_array(keys, count, name)
    part, mine = primitives.shared_memory(memory, dtypes[0]), primitives.local_memory(count, dtypes[0])
    first, valid = sorters.rank * count, sorters.valid
    others: Any = None
    other: Any = None
    if values is not None:
        need_array(values, count, name)
        others, other = primitives.shared_memory(memory, dtypes[1]), primitives.local_memory(count, dtypes[1])
    for k in range(count):
        mine[k] = at(keys[k], dtypes[0], name)
        if other is not None:
            other[k] = at(values[k], dtypes[1], name)
    insert(less, mine, other, min(max(valid - first, 0), count))
    width = count
    while width < sorters.size * count:
        for k in range(count):
            part[sorters.base + first + k] = mine[k]
            if other is not None:
                others[sorters.base + first + k] = other[k]
        sorters.wait()
        merge(less, part, others, mine, other, sorters.base, first, width, valid, count)
        sorters.wait()
        width *= 2
    for k in range(count):
        if first + k < valid:
            keys[k] = mine[k]
            if other is not None:
                values[k] = other[k]


def insert(less: Any, mine: Any, other: Any, count: Any) -> None:
    """Sorts the items of one thread."""
    for k in range(1, count):
        key, at_hole = mine[k], k
        value = None if other is None else other[k]
        while at_hole > 0 and less(key, mine[at_hole - 1]):
            mine[at_hole] = mine[at_hole - 1]
            if other is not None:
                other[at_hole] = other[at_hole - 1]
            at_hole -= 1
        mine[at_hole] = key
        if other is not None:
            other[at_hole] = value


def merge(less: Any, part: Any, others: Any, mine: Any, other: Any, base: Any, first: Any, width: Any, valid: Any, count: int) -> None:
    """The items of one thread of two sorted runs that become one, of which equal ones come from the first run."""
    start = first // (2 * width) * (2 * width)
    middle, end = min(start + width, valid), min(start + 2 * width, valid)
    diagonal = first - start
    low, high = max(0, diagonal - (end - middle)), min(diagonal, middle - start)
    while low < high:
        half = (low + high) // 2
        if less(part[base + middle + diagonal - 1 - half], part[base + start + half]):
            high = half
        else:
            low = half + 1
    left, right = start + low, middle + diagonal - low
    for k in range(count):
        if first + k < valid:
            takes_right = left >= middle or (right < end and less(part[base + right], part[base + left]))
            source = right if takes_right else left
            mine[k] = part[base + source]
            if other is not None:
                other[k] = others[base + source]
            left, right = (left, right + 1) if takes_right else (left + 1, right)


def sort_block(less: Any, keys: Any, values: Any, num_valid: Any, dtypes: Any, threads: Any, count: int, name: str) -> None:
    rank, size = rank_in_block(threads, name), size_of_block(threads)
    valid = size * count if valid_of(num_valid, name) is None else min(max(num_valid, 0), size * count)
    sorters = Sorters(rank, 0, size, valid, wait_for_block)
    sorted_by(sorters, less, keys, values, dtypes, size * count, count, name)


def block_merge_sort_keys(dtype: Any, threads_per_block: Any, items_per_thread: Any, compare_op: Any) -> Any:
    kind, threads, count = dtype_of(dtype), threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    need_memory(size_of_block(threads) * count, (kind.itemsize,), FEWER, "coop.block.merge_sort_keys")

    def sort(keys: Any, num_valid: Any = None, *, temp_storage: Any = None) -> None:
        sort_block(compare_op, keys, None, num_valid, (kind, None), threads, count, "coop.block.merge_sort_keys")

    return sort


def block_merge_sort_pairs(dtype: Any, value_dtype: Any, threads_per_block: Any, items_per_thread: Any, compare_op: Any) -> Any:
    kinds = dtype_of(dtype), dtype_of(value_dtype)
    threads, count = threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    need_memory(size_of_block(threads) * count, (kinds[0].itemsize, kinds[1].itemsize), FEWER, "coop.block.merge_sort_pairs")

    def sort(keys: Any, values: Any, num_valid: Any = None, *, temp_storage: Any = None) -> None:
        sort_block(compare_op, keys, values, num_valid, kinds, threads, count, "coop.block.merge_sort_pairs")

    return sort


def is_less(x: Any, y: Any) -> Any:
    """NumPy's order of numbers, NaN last."""
    if isinstance(x, (np.floating, float)):
        return x < y or (y != y and x == x)
    return x < y


def word_of(x: Any, dtype: np.dtype) -> Any:
    """An unsigned integer whose order is that of the numbers, 0.0 and -0.0 the same, NaN last."""
    if dtype.kind == "b":
        return primitives.at_dtype(x, np.uint8)
    if dtype.kind == "u":
        return x
    unsigned = np.dtype(f"u{dtype.itemsize}")
    top = primitives.at_dtype(1, unsigned) << primitives.at_dtype(8 * dtype.itemsize - 1, unsigned)
    if dtype.kind == "i":
        return primitives.bits(x) ^ top
    if x != x:
        return ~primitives.at_dtype(0, unsigned)
    word = np.asarray(primitives.at_dtype(x + primitives.at_dtype(0, dtype), dtype)).view(unsigned)[()]
    return ~word if word & top != 0 else word | top


def digits_of(x: Any, begin: Any, end: Any, dtype: np.dtype) -> Any:
    """Some bits of a key's word, as a 64-bit number."""
    word, one = primitives.at_dtype(word_of(x, dtype), np.uint64), primitives.at_dtype(1, np.uint64)
    word = word >> primitives.at_dtype(begin, np.uint64)
    return word if end - begin >= 64 else word & ((one << primitives.at_dtype(end - begin, np.uint64)) - one)


def radix_order(is_descending: bool, begin_bit: Any, end_bit: Any, dtype: np.dtype, name: str) -> Any:
    width = 8 * dtype.itemsize
    for bit in (begin_bit, end_bit):
        if bit is not None and (not isinstance(bit, (int, np.integer)) or isinstance(bit, bool)):
            raise TypeError(f"`cuda.{name}` takes begin_bit and end_bit as ints")
    begin, end = 0 if begin_bit is None else begin_bit, width if end_bit is None else end_bit
    if begin_bit is None and end_bit is None:
        return (lambda x, y: is_less(y, x)) if is_descending else is_less
    if not 0 <= begin < end <= width:
        raise ValueError(f"`cuda.{name}` takes bits from 0 to {width}, begin_bit before end_bit")
    if is_descending:
        return lambda x, y: digits_of(y, begin, end, dtype) < digits_of(x, begin, end, dtype)
    return lambda x, y: digits_of(x, begin, end, dtype) < digits_of(y, begin, end, dtype)


def radix_sorter(is_descending: bool, dtype: Any, threads_per_block: Any, items_per_thread: Any, name: str) -> Any:
    kind, threads, count = radix_key(dtype, name), threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    need_memory(size_of_block(threads) * count, (kind.itemsize,), FEWER, name)

    def sort(keys: Any, begin_bit: Any = None, end_bit: Any = None, *, temp_storage: Any = None) -> None:
        less = radix_order(is_descending, begin_bit, end_bit, kind, name)
        sort_block(less, keys, None, None, (kind, None), threads, count, name)

    return sort


def radix_pairs_sorter(is_descending: bool, dtype: Any, value_dtype: Any, threads_per_block: Any, items_per_thread: Any, name: str) -> Any:
    kinds = radix_key(dtype, name), dtype_of(value_dtype)
    threads, count = threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    need_memory(size_of_block(threads) * count, (kinds[0].itemsize, kinds[1].itemsize), FEWER, name)

    def sort(keys: Any, values: Any, begin_bit: Any = None, end_bit: Any = None, *, temp_storage: Any = None) -> None:
        less = radix_order(is_descending, begin_bit, end_bit, kinds[0], name)
        sort_block(less, keys, values, None, kinds, threads, count, name)

    return sort


def radix_key(dtype: Any, name: str) -> Any:
    kind = dtype_of(dtype)
    if kind.kind not in "biuf":
        raise TypeError(f"`cuda.{name}` sorts bools, integers and floats, not {kind.name}: merge_sort_keys takes their order")
    return kind


def block_radix_sort_keys(dtype: Any, threads_per_block: Any, items_per_thread: Any) -> Any:
    return radix_sorter(False, dtype, threads_per_block, items_per_thread, "coop.block.radix_sort_keys")


def block_radix_sort_keys_descending(dtype: Any, threads_per_block: Any, items_per_thread: Any) -> Any:
    return radix_sorter(True, dtype, threads_per_block, items_per_thread, "coop.block.radix_sort_keys_descending")


def block_radix_sort_pairs(dtype: Any, value_dtype: Any, threads_per_block: Any, items_per_thread: Any) -> Any:
    return radix_pairs_sorter(False, dtype, value_dtype, threads_per_block, items_per_thread, "coop.block.radix_sort_pairs")


def block_radix_sort_pairs_descending(dtype: Any, value_dtype: Any, threads_per_block: Any, items_per_thread: Any) -> Any:
    name = "coop.block.radix_sort_pairs_descending"
    return radix_pairs_sorter(True, dtype, value_dtype, threads_per_block, items_per_thread, name)


# Counts and neighbours


def block_histogram(item_dtype: Any, counter_dtype: Any, threads_per_block: Any, items_per_thread: Any, bins: Any) -> Any:
    kind, counter = dtype_of(item_dtype), dtype_of(counter_dtype)
    threads, count, most = threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread"), count_of(bins, "bins")
    if kind.kind not in "biu" or counter.kind not in "iu" or counter.itemsize < 4:
        raise TypeError("`cuda.coop.block.histogram` counts integers in int32, uint32, int64 or uint64")

    def histogram(items: Any, counters: Any, init: Any = True, *, temp_storage: Any = None) -> None:
        name = "coop.block.histogram"
        rank = rank_in_block(threads, name)
        need_items(items, count, name)
        need_array(counters, most, name)
        if init:
            for k in range(rank, most, size_of_block(threads)):
                counters[k] = 0
            wait_for_block()
        for k in range(count):
            own = item(items, k, kind, name)
            bin = most if kind == np.uint64 and own >= most else int(own)
            if bin < 0 or bin >= most:
                raise IndexError(f"`cuda.{name}` was made for {most} bins, and an item is in none of them")
            primitives.atomic("add", counters, bin, 1, "add")
        wait_for_block()

    return histogram


def neighbours(op: Any, items: Any, out: Any, beyond: Any, ends: Any, is_left: bool, flags: bool, dtype: Any, threads: Any, count: int, name: str) -> None:
    """Of each item, and the one before or after it, what a function gives. `ends`, or the item itself: at the end without a neighbour."""
    rank, size = rank_in_block(threads, name), size_of_block(threads)
    need_items(items, count, name)
    given = items if out is None else out
    need_array(given, count, name)
    part = primitives.shared_memory(size, dtype)
    mine = own_items(items, dtype, count, name)
    part[rank] = mine[count - 1 if is_left else 0]
    wait_for_block()
    at_end = rank == 0 if is_left else rank == size - 1
    other = at(0 if beyond is None else beyond, dtype, name) if at_end else part[rank - 1 if is_left else rank + 1]
    has_other = beyond is not None or not at_end
    for number in range(count):
        k = number if is_left else count - 1 - number
        own = mine[k]
        if not has_other:
            given[k] = own if ends is None else ends
        elif flags and is_left:
            given[k] = op(other, own)
        else:
            given[k] = op(own, other)
        other, has_other = own, True


def block_adjacent_difference(
    dtype: Any, threads_per_block: Any, items_per_thread: Any = 1, difference_op: Any = None, block_adjacent_difference_type: Any = None
) -> Any:
    kind, threads, count = dtype_of(dtype), threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    op = np.subtract if difference_op is None else function_of(difference_op)
    types = BlockAdjacentDifferenceType
    which = types.SubtractLeft if block_adjacent_difference_type is None else block_adjacent_difference_type
    if not isinstance(which, types):
        raise TypeError("block_adjacent_difference_type is one of BlockAdjacentDifferenceType")
    is_left = which == types.SubtractLeft

    def adjacent_difference(items: Any, out: Any = None, beyond: Any = None, *, temp_storage: Any = None) -> None:
        neighbours(op, items, out, beyond, None, is_left, False, kind, threads, count, "coop.block.adjacent_difference")

    return adjacent_difference


def block_discontinuity(dtype: Any, threads_per_block: Any, items_per_thread: Any = 1, flag_op: Any = None, block_discontinuity_type: Any = None) -> Any:
    kind, threads, count = dtype_of(dtype), threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    op = np.not_equal if flag_op is None else flag_op
    types = BlockDiscontinuityType
    which = types.HEADS if block_discontinuity_type is None else block_discontinuity_type
    if not isinstance(which, types):
        raise TypeError("block_discontinuity_type is one of BlockDiscontinuityType")
    is_left = which == types.HEADS

    def discontinuity(items: Any, flags: Any, beyond: Any = None, *, temp_storage: Any = None) -> None:
        neighbours(op, items, flags, beyond, True, is_left, True, kind, threads, count, "coop.block.discontinuity")

    return discontinuity
