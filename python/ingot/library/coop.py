"""What `ingot.cuda.coop` makes: functions that the threads of a block, or of a warp, call together.

Each maker checks its arguments and returns a function for kernels, which holds the number of threads, of items and the dtype. The
memory of the block that a function uses is its own, and all threads wait for each other where they enter: calls may follow each
other without barriers between, also where one reads what the other wrote.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._errors import BrokenGroupError
from .._signatures import Type
from . import primitives

WARP = 32
ALL_LANES = 0xFFFFFFFF
OPERATORS: dict[str, Any] = {
    **dict.fromkeys(("+", "add", "plus"), np.add),
    **dict.fromkeys(("*", "mul", "multiplies"), np.multiply),
    **dict.fromkeys(("min", "minimum"), np.minimum),
    **dict.fromkeys(("max", "maximum"), np.maximum),
    **dict.fromkeys(("&", "bit_and"), np.bitwise_and),
    **dict.fromkeys(("|", "bit_or"), np.bitwise_or),
    **dict.fromkeys(("^", "bit_xor"), np.bitwise_xor),
}
SUMS = (np.add, operator.add)
MOST_BYTES = 48 * 1024  # of memory that a block has


# What makers are given


def threads_of(given: Any) -> tuple[int, int, int]:
    """The threads of a block along x, y and z."""
    parts = given if isinstance(given, tuple) else (given,)
    if not 1 <= len(parts) <= 3:
        raise ValueError("threads_per_block is an int or a tuple of up to three")
    for part in parts:
        if not primitives.is_known(part):
            primitives.refuse("`threads_per_block` that is not known when compiling", "write the number, or give the kernel a constant from outside")
        need_int(part, "threads_per_block")
        if part < 1:
            raise ValueError("threads_per_block has at least 1 along each axis")
    x, y, z = (*parts, 1, 1)[:3]
    if x * y * z > 1024:
        raise ValueError("a block has at most 1024 threads")
    return x, y, z


def count_of(given: Any, name: str) -> Any:
    """How many items, bins or lanes there are."""
    if not primitives.is_known(given):
        primitives.refuse(f"`{name}` that is not known when compiling", "write the number, or give the kernel a constant from outside")
    need_int(given, name)
    if given < 1:
        raise ValueError(f"{name} is at least 1")
    return given


def need_int(given: Any, name: str) -> None:
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool):
        raise TypeError(f"{name} is an int")


def dtype_of(given: Any) -> Any:
    """The dtype that any spelling of one is, `ingot.float32` among them."""
    return given(0).dtype if isinstance(given, Type) else np.dtype(given)


def need_memory(count: int, sizes: tuple[int, ...], advice: str, name: str) -> None:
    """Refuses what takes more bytes than a block has."""
    size = count * sum(sizes)
    if size > MOST_BYTES:
        raise ValueError(f"`cuda.{name}` takes {size} bytes of the {MOST_BYTES} that a block has: {advice}")


def lanes_of(given: Any) -> Any:
    if not 1 <= count_of(given, "threads_in_warp") <= WARP:
        raise ValueError("threads_in_warp is 1 to 32")
    return given


def function_of(given: Any) -> Any:
    """The function of two numbers that an operator of CUDA's names is."""
    if isinstance(given, str):
        if given not in OPERATORS:
            raise ValueError("an operator is a function of two numbers or one of '+', '*', 'min', 'max', '&', '|', '^'")
        return OPERATORS[given]
    return given


def one_of(given: Any, names: tuple[str, ...], what: str) -> Any:
    if given not in names:
        raise ValueError(f"{what} is one of {', '.join(names)}")
    return given


# What threads know of themselves


def thread_of() -> Any:
    """The thread's number in its block, along x first, the extents of the block, and the thread's lane."""
    import ingot

    index, extents = ingot.cuda.threadIdx, ingot.cuda.blockDim
    return index.x + extents.x * (index.y + extents.y * index.z), (extents.x, extents.y, extents.z), ingot.cuda.laneid


def rank_in_block(threads: tuple[int, int, int], name: str) -> Any:
    """The number of the thread in a block that has to be of so many, all of which come here and wait for each other."""
    primitives.need_kernel(name)
    x, y, z = threads
    thread, extents, _ = thread_of()
    if extents[0] != x or extents[1] != y or extents[2] != z:
        raise ValueError(f"`cuda.{name}` was made for blocks of {x * y * z} threads: ({x}, {y}, {z}); those of the launch are of {extents}")
    if primitives.vote("count", "block", "syncthreads_count", True) != x * y * z:
        raise BrokenGroupError(f"`cuda.{name}` takes all threads of the block, and some have ended: by `return`, or by an exception")
    return thread


def valid_of(given: Any, name: str) -> Any:
    """How many items are valid; None: all."""
    if given is not None and (not isinstance(given, (int, np.integer)) or isinstance(given, bool)):
        raise TypeError(f"`cuda.{name}` takes num_valid, the number of items that are valid, as an int; temp_storage is given by its name")
    return given


def size_of_block(threads: tuple[int, int, int]) -> int:
    return threads[0] * threads[1] * threads[2]


def warp_of(lanes: int, name: str) -> Any:
    """The rank of the thread among those that it works with, the lane where these begin, and how many there are."""
    primitives.need_kernel(name)
    thread, extents, lane = thread_of()
    first = lane // lanes * lanes
    there = min(lanes, WARP - first, size_of_block(extents) - thread // WARP * WARP - first)
    if primitives.vote("ballot", "warp", "ballot_sync", True, mask_of(first, lanes)) != (1 << there) - 1 << first:
        raise BrokenGroupError(f"`cuda.{name}` takes all lanes of the warp, or of a group, and some have ended: by `return`, or by an exception")
    return lane - first, first, there


def mask_of(first: Any, lanes: int) -> Any:
    """The lanes of a warp, or of a part of it, as bits."""
    return ALL_LANES if lanes == WARP else ((1 << lanes) - 1 << first) & ALL_LANES


def wait_for_block() -> None:
    primitives.barrier("block", "syncthreads")


def lane_value(mask: Any, value: Any, lane: Any) -> Any:
    """The number of another lane."""
    return primitives.shuffle("index", "shfl_sync", mask, value, lane, WARP)


# Items


def at(x: Any, dtype: np.dtype, name: str) -> Any:
    """A number at a dtype of its kind."""
    if not is_of_kind(x, dtype):
        raise TypeError(f"`cuda.{name}` was made for {dtype.name}, and is given another kind of numbers")
    return primitives.at_dtype(x, dtype)


def is_of_kind(x: Any, dtype: np.dtype) -> Any:
    if isinstance(x, (np.ndarray, np.generic)):
        return np.can_cast(x.dtype, dtype, "same_kind")
    return np.can_cast(np.complex64 if isinstance(x, complex) else np.float16 if isinstance(x, float) else np.bool, dtype, "same_kind")


def is_array(items: Any) -> bool:
    return isinstance(items, np.ndarray)


def item(items: Any, k: Any, dtype: np.dtype, name: str) -> Any:
    """One of the items of a thread, which is given a number or an array."""
    return at(items[k] if is_array(items) else items, dtype, name)


def need_items(items: Any, count: int, name: str) -> None:
    if is_array(items):
        need_array(items, count, name)
    elif not isinstance(items, (np.generic, int, float, complex)):
        raise TypeError(f"`cuda.{name}` takes a number or an array of one axis for the items of a thread")
    elif count > 1:
        raise TypeError(f"`cuda.{name}` was made for {count} items per thread, and is given a number")


def own_items(items: Any, dtype: np.dtype, count: int, name: str) -> Any:
    """A copy of a thread's items: results may be written where items of any thread are."""
    mine = primitives.local_memory(count, dtype)
    for k in range(count):
        mine[k] = item(items, k, dtype, name)
    return mine


def need_array(items: Any, count: int, name: str) -> None:
    if not isinstance(items, np.ndarray) or items.ndim != 1:
        raise TypeError(f"`cuda.{name}` takes an array of one axis for the items of a thread")
    if len(items) < count:
        raise ValueError(f"`cuda.{name}` was made for {count} items per thread, and is given fewer")


# Reductions


def joined_lanes(value: Any, rank: Any, first: Any, there: Any, lanes: int, op: Any, dtype: np.dtype) -> Any:
    """The numbers of the first `there` of some lanes, joined in a tree whose neighbours are in order: of use to the first lane."""
    mask, total = mask_of(first, lanes), value
    for step in (1, 2, 4, 8, 16):
        if step < lanes:
            takes = rank % (2 * step) == 0 and rank + step < there
            other = lane_value(mask, total, first + rank + step if takes else first + rank)
            if takes:
                total = primitives.at_dtype(op(total, other), dtype)
    return total


def reduced_by_block(op: Any, items: Any, num_valid: Any, empty: Any, dtype: np.dtype, threads: tuple[int, int, int], count: int, name: str) -> Any:
    """The items of all threads joined, for all of them. Without items it is `empty`; None: that raises."""
    rank, size = rank_in_block(threads, name), size_of_block(threads)
    need_items(items, count, name)
    if valid_of(num_valid, name) is not None and empty is None and num_valid < 1:
        raise ValueError(f"`cuda.{name}` of no items")
    valid = size * count if num_valid is None else min(num_valid, size * count)
    total = item(items, 0, dtype, name)
    for k in range(1, count):
        if num_valid is None or rank * count + k < valid:
            total = primitives.at_dtype(op(total, item(items, k, dtype, name)), dtype)
    ranks, number = (valid + count - 1) // count, rank // WARP
    total = joined_lanes(total, rank % WARP, 0, ranks - number * WARP, WARP, op, dtype)
    warps = (size + WARP - 1) // WARP
    parts = primitives.shared_memory(warps, dtype)
    if rank % WARP == 0:
        parts[number] = total
    wait_for_block()
    total = parts[0]
    for k in range(1, warps):
        if k * WARP < ranks:
            total = primitives.at_dtype(op(total, parts[k]), dtype)
    if empty is not None and valid < 1:
        total = primitives.at_dtype(empty, dtype)
    return total


def reducer_of_blocks(op: Any, empty: Any, dtype: Any, threads_per_block: Any, items_per_thread: Any, algorithm: Any, name: str) -> Any:
    one_of(algorithm, ("raking", "raking_commutative_only", "warp_reductions"), "algorithm")
    kind, threads, count = dtype_of(dtype), threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")

    def reduce(items: Any, num_valid: Any = None, *, temp_storage: Any = None) -> Any:
        return reduced_by_block(op, items, num_valid, empty, kind, threads, count, name)

    return reduce


def block_reduce(dtype: Any, threads_per_block: Any, binary_op: Any, items_per_thread: Any = 1, algorithm: Any = "warp_reductions") -> Any:
    return reducer_of_blocks(function_of(binary_op), None, dtype, threads_per_block, items_per_thread, algorithm, "coop.block.reduce")


def block_sum(dtype: Any, threads_per_block: Any, items_per_thread: Any = 1, algorithm: Any = "warp_reductions") -> Any:
    return reducer_of_blocks(np.add, 0, dtype, threads_per_block, items_per_thread, algorithm, "coop.block.sum")


def reduced_by_warp(op: Any, value: Any, num_valid: Any, empty: Any, dtype: np.dtype, lanes: int, name: str) -> Any:
    rank, first, there = warp_of(lanes, name)
    need_items(value, 1, name)
    if valid_of(num_valid, name) is not None and empty is None and num_valid < 1:
        raise ValueError(f"`cuda.{name}` of no items")
    valid = there if num_valid is None else min(num_valid, there)
    total = joined_lanes(item(value, 0, dtype, name), rank, first, valid, lanes, op, dtype)
    total = lane_value(mask_of(first, lanes), total, first)
    if empty is not None and valid < 1:
        total = primitives.at_dtype(empty, dtype)
    return total


def warp_reduce(dtype: Any, binary_op: Any, threads_in_warp: Any = 32) -> Any:
    op, kind, lanes = function_of(binary_op), dtype_of(dtype), lanes_of(threads_in_warp)

    def reduce(item: Any, num_valid: Any = None, *, temp_storage: Any = None) -> Any:
        return reduced_by_warp(op, item, num_valid, None, kind, lanes, "coop.warp.reduce")

    return reduce


def warp_sum(dtype: Any, threads_in_warp: Any = 32) -> Any:
    kind, lanes = dtype_of(dtype), lanes_of(threads_in_warp)

    def sum(item: Any, num_valid: Any = None, *, temp_storage: Any = None) -> Any:
        return reduced_by_warp(np.add, item, num_valid, 0, kind, lanes, "coop.warp.sum")

    return sum


# Scans


def scanned_lanes(value: Any, rank: Any, first: Any, lanes: int, op: Any, dtype: np.dtype) -> Any:
    """What the number of a lane and those of the lanes before it are together, and those alone: of no use to the first lane."""
    mask, total = mask_of(first, lanes), value
    for step in (1, 2, 4, 8, 16):
        if step < lanes:
            other = lane_value(mask, total, first + rank - step if rank >= step else first + rank)
            if rank >= step:
                total = primitives.at_dtype(op(other, total), dtype)
    return total, lane_value(mask, total, first + rank - 1 if rank >= 1 else first + rank)


def before_thread(op: Any, total: Any, initial: Any, prefix_op: Any, rank: Any, size: int, dtype: np.dtype, name: str) -> Any:
    """What the threads of a block before this one have together, the initial number before them: of no use to the first one
    where there is none. `prefix_op` gives it for what all threads have together."""
    warps, number = (size + WARP - 1) // WARP, rank // WARP
    together, before = scanned_lanes(total, rank % WARP, 0, WARP, op, dtype)
    parts = primitives.shared_memory(warps, dtype)
    if rank % WARP == WARP - 1 or rank == size - 1:
        parts[number] = together
    wait_for_block()
    if prefix_op is not None:
        initial = number_before_block(op, prefix_op, parts, rank, warps, dtype, name)
    if initial is None:
        prefix = before
        if number > 0:
            prefix = parts[0]
            for k in range(1, number):
                prefix = primitives.at_dtype(op(prefix, parts[k]), dtype)
            if rank % WARP > 0:
                prefix = primitives.at_dtype(op(prefix, before), dtype)
    else:
        prefix = at(initial, dtype, name)
        for k in range(number):
            prefix = primitives.at_dtype(op(prefix, parts[k]), dtype)
        if rank % WARP > 0:
            prefix = primitives.at_dtype(op(prefix, before), dtype)
    return prefix


def number_before_block(op: Any, prefix_op: Any, parts: Any, rank: Any, warps: int, dtype: np.dtype, name: str) -> Any:
    """What a function that the first warp calls with all items of the block gives its first thread."""
    given = primitives.shared_memory(1, dtype)
    if rank < WARP:
        whole = parts[0]
        for k in range(1, warps):
            whole = primitives.at_dtype(op(whole, parts[k]), dtype)
        number = at(prefix_op(whole), dtype, name)
        if rank == 0:
            given[0] = number
    wait_for_block()
    return given[0]


def scanned_by_block(
    op: Any, items: Any, out: Any, is_inclusive: bool, initial: Any, prefix_op: Any, dtype: np.dtype, threads: tuple[int, int, int], count: int, name: str
) -> Any:
    rank, size = rank_in_block(threads, name), size_of_block(threads)
    need_items(items, count, name)
    if not is_array(items):
        value = at(items, dtype, name)
        if out is not None:
            raise TypeError(f"`cuda.{name}` of a number returns its result: it takes no output")
        prefix = before_thread(op, value, initial, prefix_op, rank, size, dtype, name)
        return with_prefix(op, value, prefix, is_inclusive, rank > 0 or initial is not None or prefix_op is not None, dtype)
    target = items if out is None else out
    need_array(target, count, name)
    mine = own_items(items, dtype, count, name)
    total = mine[0]
    for k in range(1, count):
        total = primitives.at_dtype(op(total, mine[k]), dtype)
    prefix = before_thread(op, total, initial, prefix_op, rank, size, dtype, name)
    has_prefix = rank > 0 or initial is not None or prefix_op is not None
    for k in range(count):
        value = with_prefix(op, mine[k], prefix, True, has_prefix, dtype)
        target[k] = value if is_inclusive else prefix
        prefix, has_prefix = value, True
    return None


def with_prefix(op: Any, value: Any, prefix: Any, is_inclusive: bool, has_prefix: Any, dtype: np.dtype) -> Any:
    if not is_inclusive:
        return prefix
    return primitives.at_dtype(op(prefix, value), dtype) if has_prefix else value


def scanner_of_blocks(
    scan_op: Any, is_inclusive: bool, initial: Any, dtype: Any, threads_per_block: Any, items_per_thread: Any, algorithm: Any, name: str
) -> Any:
    one_of(algorithm, ("raking", "raking_memoize", "warp_scans"), "algorithm")
    op, kind = function_of(scan_op), dtype_of(dtype)
    threads, count = threads_of(threads_per_block), count_of(items_per_thread, "items_per_thread")
    start = initial_of(op, initial, is_inclusive, name)

    def scan(items: Any, out: Any = None, initial_value: Any = None, prefix_op: Any = None, *, temp_storage: Any = None) -> Any:
        if prefix_op is not None and initial_value is not None:
            raise ValueError(f"`cuda.{name}` takes initial_value or prefix_op, not both")
        given = start if initial_value is None else initial_value
        return scanned_by_block(op, items, out, is_inclusive, given, prefix_op, kind, threads, count, name)

    return scan


def initial_of(op: Any, initial: Any, is_inclusive: bool, name: str) -> Any:
    if initial is not None or is_inclusive:
        return initial
    if op in SUMS:
        return 0
    raise ValueError(f"`cuda.{name}` of another function than the sum wants initial_value, which the first item becomes")


def block_exclusive_sum(dtype: Any, threads_per_block: Any, items_per_thread: Any = 1, algorithm: Any = "raking") -> Any:
    return scanner_of_blocks(np.add, False, None, dtype, threads_per_block, items_per_thread, algorithm, "coop.block.exclusive_sum")


def block_inclusive_sum(dtype: Any, threads_per_block: Any, items_per_thread: Any = 1, algorithm: Any = "raking") -> Any:
    return scanner_of_blocks(np.add, True, None, dtype, threads_per_block, items_per_thread, algorithm, "coop.block.inclusive_sum")


def block_exclusive_scan(
    dtype: Any, threads_per_block: Any, scan_op: Any, initial_value: Any = None, items_per_thread: Any = 1, algorithm: Any = "raking"
) -> Any:
    return scanner_of_blocks(scan_op, False, initial_value, dtype, threads_per_block, items_per_thread, algorithm, "coop.block.exclusive_scan")


def block_inclusive_scan(
    dtype: Any, threads_per_block: Any, scan_op: Any, initial_value: Any = None, items_per_thread: Any = 1, algorithm: Any = "raking"
) -> Any:
    return scanner_of_blocks(scan_op, True, initial_value, dtype, threads_per_block, items_per_thread, algorithm, "coop.block.inclusive_scan")


def scanned_by_warp(op: Any, value: Any, is_inclusive: bool, initial: Any, dtype: np.dtype, lanes: int, name: str) -> Any:
    rank, first, _ = warp_of(lanes, name)
    need_items(value, 1, name)
    own = item(value, 0, dtype, name)
    together, before = scanned_lanes(own, rank, first, lanes, op, dtype)
    if initial is None:
        return together
    start = at(initial, dtype, name)
    if is_inclusive:
        return primitives.at_dtype(op(start, together), dtype)
    return primitives.at_dtype(op(start, before), dtype) if rank > 0 else start


def scanner_of_warps(scan_op: Any, is_inclusive: bool, initial: Any, dtype: Any, threads_in_warp: Any, name: str) -> Any:
    op, kind, lanes = function_of(scan_op), dtype_of(dtype), lanes_of(threads_in_warp)
    start = initial_of(op, initial, is_inclusive, name)

    def scan(item: Any, initial_value: Any = None, *, temp_storage: Any = None) -> Any:
        return scanned_by_warp(op, item, is_inclusive, start if initial_value is None else initial_value, kind, lanes, name)

    return scan


def warp_exclusive_sum(dtype: Any, threads_in_warp: Any = 32) -> Any:
    return scanner_of_warps(np.add, False, None, dtype, threads_in_warp, "coop.warp.exclusive_sum")


def warp_inclusive_sum(dtype: Any, threads_in_warp: Any = 32) -> Any:
    return scanner_of_warps(np.add, True, None, dtype, threads_in_warp, "coop.warp.inclusive_sum")


def warp_exclusive_scan(dtype: Any, scan_op: Any, initial_value: Any = None, threads_in_warp: Any = 32) -> Any:
    return scanner_of_warps(scan_op, False, initial_value, dtype, threads_in_warp, "coop.warp.exclusive_scan")


def warp_inclusive_scan(dtype: Any, scan_op: Any, initial_value: Any = None, threads_in_warp: Any = 32) -> Any:
    return scanner_of_warps(scan_op, True, initial_value, dtype, threads_in_warp, "coop.warp.inclusive_scan")
