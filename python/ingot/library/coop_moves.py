"""`ingot.cuda.coop` between threads: items of other threads, runs that are decoded, and what warps load, store and exchange."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from . import primitives
from .coop import (
    at,
    before_thread,
    count_of,
    dtype_of,
    item,
    lanes_of,
    mask_of,
    need_array,
    need_int,
    need_items,
    need_memory,
    one_of,
    own_items,
    rank_in_block,
    size_of_block,
    thread_of,
    threads_of,
    valid_of,
    wait_for_block,
    warp_of,
)
from .coop_items import ALGORITHMS, Sorters, arrangement_of, scattered, sorted_by


class BlockShuffleType(enum.Enum):
    """Which items `shuffle` gives a thread: those of the thread at a distance, or the block's items moved by one place."""

    Offset = "offset"
    Rotate = "rotate"
    Up = "up"
    Down = "down"


def shuffled(value: Any, distance: Any, rotates: bool, dtype: np.dtype, threads: Any, name: str) -> Any:
    """The number of the thread at a distance; of none, the own one."""
    rank, size = rank_in_block(threads, name), size_of_block(threads)
    need_items(value, 1, name)
    need_int(distance, "distance")
    part = primitives.shared_memory(size, dtype)
    part[rank] = item(value, 0, dtype, name)
    wait_for_block()
    if rotates:
        return part[(rank + int(distance % size)) % size]
    is_there = -rank <= distance and distance < size - rank
    return part[rank + int(distance) if is_there else rank]


def moved(items: Any, out: Any, goes_up: bool, dtype: np.dtype, threads: Any, count: int, name: str) -> Any:
    """Each item's neighbour before it, or after it. The result is the item that has no place any more."""
    rank, size = rank_in_block(threads, name), size_of_block(threads)
    given = items if out is None else out
    need_items(items, count, name)
    need_array(given, count, name)
    part = primitives.shared_memory(size, dtype)
    mine = own_items(items, dtype, count, name)
    part[rank] = mine[count - 1 if goes_up else 0]
    wait_for_block()
    if goes_up:
        for k in range(1, count):
            given[k] = mine[k - 1]
        given[0] = mine[0] if rank == 0 else part[rank - 1]
    else:
        for k in range(count - 1):
            given[k] = mine[k + 1]
        given[count - 1] = mine[count - 1] if rank == size - 1 else part[rank + 1]
    return part[size - 1 if goes_up else 0]


def block_shuffle(block_shuffle_type: Any, dtype: Any, threads_per_block: Any, items_per_thread: Any = 1) -> Any:
    kind, threads, count = dtype_of(dtype), threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    if not isinstance(block_shuffle_type, BlockShuffleType):
        raise TypeError("block_shuffle_type is one of BlockShuffleType")
    if block_shuffle_type == BlockShuffleType.Up or block_shuffle_type == BlockShuffleType.Down:
        goes_up = block_shuffle_type == BlockShuffleType.Up

        def shuffle_items(items: Any, out: Any = None, *, temp_storage: Any = None) -> Any:
            return moved(items, out, goes_up, kind, threads, count, "coop.block.shuffle")

        return shuffle_items
    if count != 1:
        raise ValueError("`cuda.coop.block.shuffle` by a distance takes one item per thread")
    rotates = block_shuffle_type == BlockShuffleType.Rotate

    def shuffle(item: Any, distance: Any = 1, *, temp_storage: Any = None) -> Any:
        return shuffled(item, distance, rotates, kind, threads, "coop.block.shuffle")

    return shuffle


# Runs


class Runs:
    """The runs of a block, whose items are decoded from any offset on."""

    def __init__(self, values: Any, ends: Any, total: Any, rank: Any, dtype: np.dtype, count: int) -> None:
        self.values, self.ends, self.total_decoded_size, self.rank, self.dtype, self.count = values, ends, total, rank, dtype, count

    def decode(self, decoded_items: Any, from_decoded_offset: Any = 0, relative_offsets: Any = None) -> None:
        name = "coop.block.run_length"
        need_array(decoded_items, self.count, name)
        need_int(from_decoded_offset, "from_decoded_offset")
        if relative_offsets is not None:
            need_array(relative_offsets, self.count, name)
        if from_decoded_offset < 0:
            raise ValueError(f"`cuda.{name}` decodes from an offset that is at least 0")
        first = self.rank * self.count + (int(from_decoded_offset) if from_decoded_offset < self.total_decoded_size else self.total_decoded_size)
        run = first_above(self.ends, first)
        for k in range(self.count):
            if first + k < self.total_decoded_size:
                while self.ends[run] <= first + k:
                    run += 1
                decoded_items[k] = self.values[run]
                if relative_offsets is not None:
                    relative_offsets[k] = first + k - (0 if run == 0 else self.ends[run - 1])


def first_above(ends: Any, place: Any) -> Any:
    """The first of some ordered numbers that is above a place; of none, the last."""
    low, high = 0, len(ends) - 1
    while low < high:
        half = (low + high) // 2
        if ends[half] > place:
            high = half
        else:
            low = half + 1
    return low


def runs_of_block(values: Any, lengths: Any, dtype: np.dtype, threads: Any, count: int, decoded: int, name: str) -> Any:
    rank, size = rank_in_block(threads, name), size_of_block(threads)
    need_items(values, count, name)
    need_items(lengths, count, name)
    part, ends = primitives.shared_memory(size * count, dtype), primitives.shared_memory(size * count, np.int64)
    own, are_wrong = 0, False
    for k in range(count):
        length = int(item(lengths, k, np.dtype(np.int64), name))
        own += length
        are_wrong = are_wrong or length < 0 or own < 0
        part[rank * count + k] = item(values, k, dtype, name)
        ends[rank * count + k] = own
    before = before_thread(np.add, np.int64(own), 0, None, rank, size, np.dtype(np.int64), name)
    for k in range(count):
        ends[rank * count + k] += before
        are_wrong = are_wrong or ends[rank * count + k] < 0
    wait_for_block()
    if are_wrong:
        raise ValueError(f"`cuda.{name}` takes lengths that are at least 0, and together fewer than 2**63")
    return Runs(part, ends, ends[size * count - 1], rank, dtype, decoded)


def block_run_length(item_dtype: Any, threads_per_block: Any, runs_per_thread: Any, decoded_items_per_thread: Any) -> Any:
    kind, threads = dtype_of(item_dtype), threads_of(threads_per_block)
    count, decoded = count_of(runs_per_thread, "runs_per_thread"), count_of(decoded_items_per_thread, "decoded_items_per_thread")
    name = "coop.block.run_length"
    need_memory(size_of_block(threads) * count + 32, (kind.itemsize, 8), "make it for fewer threads or runs", name)

    def run_length(run_values: Any, run_lengths: Any, *, temp_storage: Any = None) -> Any:
        return runs_of_block(run_values, run_lengths, kind, threads, count, decoded, name)

    return run_length


# Warps


class WarpExchangeType(enum.Enum):
    """How `exchange` moves the items of a warp: from which arrangement into which."""

    StripedToBlocked = ("striped", "blocked")
    BlockedToStriped = ("blocked", "striped")
    ScatterToStriped = ("scattered", "striped")


def place_in_warp(arrangement: str, rank: Any, k: Any, there: Any, count: int) -> Any:
    """The position of an item of a lane among those of the warp."""
    return rank * count + k if arrangement == "blocked" else k * there + rank


def arrangement_in_warp(algorithm: str) -> str:
    return "striped" if arrangement_of(one_of(algorithm, WARP_ALGORITHMS, "algorithm")) == "striped" and algorithm != "transpose" else "blocked"


WARP_ALGORITHMS = ALGORITHMS[:4]


def warp_load(dtype: Any, items_per_thread: Any = 1, threads_in_warp: Any = 32, algorithm: Any = "direct") -> Any:
    kind, count, lanes = dtype_of(dtype), count_of(items_per_thread, "items_per_thread"), lanes_of(threads_in_warp)
    arrangement = arrangement_in_warp(algorithm)

    def load(src: Any, dst: Any, num_valid: Any = None, default: Any = None, *, temp_storage: Any = None) -> None:
        name = "coop.warp.load"
        rank, _, there = warp_of(lanes, name)
        need_array(src, 0, name)
        need_array(dst, count, name)
        valid_of(num_valid, name)
        for k in range(count):
            where = place_in_warp(arrangement, rank, k, there, count)
            if num_valid is None or where < num_valid:
                dst[k] = at(src[where], kind, name)
            elif default is not None:
                dst[k] = at(default, kind, name)

    return load


def warp_store(dtype: Any, items_per_thread: Any = 1, threads_in_warp: Any = 32, algorithm: Any = "direct") -> Any:
    kind, count, lanes = dtype_of(dtype), count_of(items_per_thread, "items_per_thread"), lanes_of(threads_in_warp)
    arrangement = arrangement_in_warp(algorithm)

    def store(dst: Any, src: Any, num_valid: Any = None, *, temp_storage: Any = None) -> None:
        name = "coop.warp.store"
        rank, _, there = warp_of(lanes, name)
        need_array(dst, 0, name)
        need_items(src, count, name)
        valid_of(num_valid, name)
        for k in range(count):
            where = place_in_warp(arrangement, rank, k, there, count)
            if num_valid is None or where < num_valid:
                dst[where] = item(src, k, kind, name)

    return store


def own_part(most: int, rank: Any, count: int, name: str) -> Any:
    """Where the memory of a group of lanes begins in that of a block of at most so many threads."""
    thread, extents, _ = thread_of()
    if size_of_block(extents) > most:
        raise ValueError(f"`cuda.{name}` was made for blocks of at most {most} threads")
    return (thread - rank) * count


def wait_for_lanes(first: Any, lanes: int) -> None:
    primitives.barrier("warp", "syncwarp", mask_of(first, lanes))


SMALLER_BLOCKS = "give threads_per_block, the most threads of the blocks that call it"


def warp_exchange(warp_exchange_type: Any, dtype: Any, items_per_thread: Any = 1, threads_in_warp: Any = 32, threads_per_block: Any = 1024) -> Any:
    kind, count, lanes = dtype_of(dtype), count_of(items_per_thread, "items_per_thread"), lanes_of(threads_in_warp)
    if not isinstance(warp_exchange_type, WarpExchangeType):
        raise TypeError("warp_exchange_type is one of WarpExchangeType")
    source, target = warp_exchange_type.value
    most, name = size_of_block(threads_of(threads_per_block)), "coop.warp.exchange"
    need_memory(most * count, (kind.itemsize,), SMALLER_BLOCKS, name)

    def exchange(items: Any, out: Any = None, ranks: Any = None, *, temp_storage: Any = None) -> None:
        rank, first, there = warp_of(lanes, name)
        given = items if out is None else out
        need_array(items, count, name)
        need_array(given, count, name)
        base, part = own_part(most, rank, count, name), primitives.shared_memory(most * count, kind)
        for k in range(count):
            where = scattered(ranks, k, count, there * count, name) if source == "scattered" else place_in_warp(source, rank, k, there, count)
            part[base + where] = at(items[k], kind, name)
        wait_for_lanes(first, lanes)
        for k in range(count):
            given[k] = part[base + place_in_warp(target, rank, k, there, count)]
        wait_for_lanes(first, lanes)

    return exchange


def sort_warp(less: Any, keys: Any, values: Any, num_valid: Any, dtypes: Any, most: int, lanes: int, count: int, name: str) -> None:
    rank, first, there = warp_of(lanes, name)
    base = own_part(most, rank, count, name)
    valid = there * count if valid_of(num_valid, name) is None else min(max(num_valid, 0), there * count)
    sorters = Sorters(rank, base, lanes, valid, lambda: wait_for_lanes(first, lanes))
    sorted_by(sorters, less, keys, values, dtypes, most * count, count, name)


def warp_merge_sort_keys(dtype: Any, items_per_thread: Any, compare_op: Any, threads_in_warp: Any = 32, threads_per_block: Any = 1024) -> Any:
    kind, count, lanes = dtype_of(dtype), count_of(items_per_thread, "items_per_thread"), lanes_of(threads_in_warp)
    most, name = size_of_block(threads_of(threads_per_block)), "coop.warp.merge_sort_keys"
    need_memory(most * count, (kind.itemsize,), SMALLER_BLOCKS, name)

    def sort(keys: Any, num_valid: Any = None, *, temp_storage: Any = None) -> None:
        sort_warp(compare_op, keys, None, num_valid, (kind, None), most, lanes, count, name)

    return sort


def warp_merge_sort_pairs(
    dtype: Any, value_dtype: Any, items_per_thread: Any, compare_op: Any, threads_in_warp: Any = 32, threads_per_block: Any = 1024
) -> Any:
    kinds = dtype_of(dtype), dtype_of(value_dtype)
    count, lanes = count_of(items_per_thread, "items_per_thread"), lanes_of(threads_in_warp)
    most, name = size_of_block(threads_of(threads_per_block)), "coop.warp.merge_sort_pairs"
    need_memory(most * count, (kinds[0].itemsize, kinds[1].itemsize), SMALLER_BLOCKS, name)

    def sort(keys: Any, values: Any, num_valid: Any = None, *, temp_storage: Any = None) -> None:
        sort_warp(compare_op, keys, values, num_valid, kinds, most, lanes, count, name)

    return sort
