"""What kernels call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ingot.cuda as cuda
import ingot.cuda.atomic as atomic
import ingot.cuda.cg as cg
import ingot.cuda.const as const
import ingot.cuda.local as local
import ingot.cuda.shared as shared

from .. import primitives
from ..registry import implements


def along_axes(ndim: Any, extent: bool, name: str) -> Any:
    if ndim == 1:
        return primitives.in_grid(0, extent, name)
    if ndim == 2:
        return primitives.in_grid(0, extent, name), primitives.in_grid(1, extent, name)
    if ndim == 3:
        return primitives.in_grid(0, extent, name), primitives.in_grid(1, extent, name), primitives.in_grid(2, extent, name)
    raise ValueError("ndim is 1, 2 or 3")


@implements(cuda.grid)
def grid(ndim: int) -> Any:
    return along_axes(ndim, False, "grid")


@implements(cuda.gridsize)
def gridsize(ndim: int) -> Any:
    return along_axes(ndim, True, "gridsize")


def memory_of(make: Callable[[Any, Any], Any], shape: Any, dtype: Any) -> Any:
    """Memory of numbers, or of records: a recarray, on memory of their bytes."""
    # One return: memory that comes out of a block has strides that are not known.
    if isinstance(dtype, np.dtype) and dtype.names is not None:
        memory = primitives.records(bytes_of_records(make, shape, dtype.itemsize), np.dtype((np.record, dtype)), "recarray")
    else:
        memory = make(shape, dtype)
    return memory


def bytes_of_records(make: Callable[[Any, Any], Any], shape: Any, size: int) -> Any:
    if isinstance(shape, tuple):
        memory = make((*shape, size), np.uint8)
    elif shape == 0:
        given = make(0, np.uint8)
        memory = primitives.strided(given, (len(given) // size, size), (size, 1))
    else:
        memory = make((shape, size), np.uint8)
    return memory


@implements(shared.array)
def shared_array(shape: Any, dtype: Any) -> Any:
    return memory_of(primitives.shared_memory, shape, dtype)


@implements(local.array)
def local_array(shape: Any, dtype: Any) -> Any:
    return memory_of(primitives.local_memory, shape, dtype)


@implements(const.array_like)
def array_like(ary: Any) -> Any:
    primitives.need_kernel("const.array_like")
    return primitives.broadcast(ary, ary.shape)


@implements(cuda.syncthreads)
def syncthreads() -> None:
    primitives.barrier("block", "syncthreads")


@implements(cuda.syncthreads_count)
def syncthreads_count(predicate: Any) -> Any:
    return primitives.vote("count", "block", "syncthreads_count", predicate)


@implements(cuda.syncthreads_and)
def syncthreads_and(predicate: Any) -> Any:
    return primitives.vote("all", "block", "syncthreads_and", predicate)


@implements(cuda.syncthreads_or)
def syncthreads_or(predicate: Any) -> Any:
    return primitives.vote("any", "block", "syncthreads_or", predicate)


@implements(cuda.syncwarp)
def syncwarp(mask: Any = 0xFFFFFFFF) -> None:
    primitives.barrier("warp", "syncwarp", mask)


class GridGroup:
    """All threads of a launch."""

    def sync(self) -> None:
        primitives.barrier("device", "cg.this_grid().sync")


@implements(cg.this_grid)
def this_grid() -> Any:
    primitives.need_kernel("cg.this_grid")
    return GridGroup()


@implements(cuda.threadfence)
def threadfence() -> None:
    primitives.fence("device", "threadfence")


@implements(cuda.threadfence_block)
def threadfence_block() -> None:
    primitives.fence("block", "threadfence_block")


@implements(cuda.threadfence_system)
def threadfence_system() -> None:
    primitives.fence("system", "threadfence_system")


@implements(cuda.nanosleep)
def nanosleep(ns: Any) -> None:
    primitives.nanosleep(ns)


def number(x: Any, name: str) -> Any:
    """A number, of an array without axes, too."""
    if isinstance(x, np.ndarray):
        if x.ndim > 0:
            raise TypeError(f"`cuda.{name}` wants a number, not an array")
        return x[()]
    return x


def shuffled(source: str, name: str, mask: Any, value: Any, lane: Any, width: Any) -> Any:
    if not primitives.is_known(width) or width not in (1, 2, 4, 8, 16, 32):
        raise ValueError(f"the width of `cuda.{name}` is 1, 2, 4, 8, 16 or 32, and known when compiling")
    return primitives.shuffle(source, name, mask, number(value, name), lane, width)


@implements(cuda.shfl_sync)
def shfl_sync(mask: Any, value: Any, src_lane: Any, width: Any = 32) -> Any:
    return shuffled("index", "shfl_sync", mask, value, src_lane, width)


@implements(cuda.shfl_up_sync)
def shfl_up_sync(mask: Any, value: Any, delta: Any, width: Any = 32) -> Any:
    return shuffled("up", "shfl_up_sync", mask, value, delta, width)


@implements(cuda.shfl_down_sync)
def shfl_down_sync(mask: Any, value: Any, delta: Any, width: Any = 32) -> Any:
    return shuffled("down", "shfl_down_sync", mask, value, delta, width)


@implements(cuda.shfl_xor_sync)
def shfl_xor_sync(mask: Any, value: Any, lane_mask: Any, width: Any = 32) -> Any:
    return shuffled("exclusive", "shfl_xor_sync", mask, value, lane_mask, width)


@implements(cuda.all_sync)
def all_sync(mask: Any, predicate: Any) -> Any:
    return primitives.vote("all", "warp", "all_sync", predicate, mask)


@implements(cuda.any_sync)
def any_sync(mask: Any, predicate: Any) -> Any:
    return primitives.vote("any", "warp", "any_sync", predicate, mask)


@implements(cuda.eq_sync)
def eq_sync(mask: Any, predicate: Any) -> Any:
    return primitives.vote("equal", "warp", "eq_sync", predicate, mask)


@implements(cuda.ballot_sync)
def ballot_sync(mask: Any, predicate: Any) -> Any:
    return primitives.vote("ballot", "warp", "ballot_sync", predicate, mask)


@implements(cuda.match_any_sync)
def match_any_sync(mask: Any, value: Any) -> Any:
    return primitives.match("some", "match_any_sync", mask, number(value, "match_any_sync"))


@implements(cuda.match_all_sync)
def match_all_sync(mask: Any, value: Any) -> Any:
    lanes = primitives.match("all", "match_all_sync", mask, number(value, "match_all_sync"))
    return lanes, bool(lanes != 0)


@implements(cuda.activemask)
def activemask() -> Any:
    return primitives.active()


@implements(cuda.lanemask_lt)
def lanemask_lt() -> Any:
    primitives.need_kernel("lanemask_lt")
    return np.uint32((1 << cuda.laneid) - 1)


@implements(cuda.popc)
def popc(x: Any) -> Any:
    primitives.need_kernel("popc")
    return int(primitives.bitwise_count(primitives.bits(x)))


@implements(cuda.ffs)
def ffs(x: Any) -> Any:
    primitives.need_kernel("ffs")
    word = primitives.bits(x)
    one = primitives.at_dtype(1, word.dtype)
    below = int(primitives.bitwise_count(~word & (word - one)))
    return 0 if word == 0 else below + 1


@implements(cuda.clz)
def clz(x: Any) -> Any:
    primitives.need_kernel("clz")
    word = primitives.bits(x)
    width = 8 * word.dtype.itemsize
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < width:
            word = word | word >> primitives.at_dtype(shift, word.dtype)
    return width - int(primitives.bitwise_count(word))


@implements(cuda.brev)
def brev(x: Any) -> Any:
    primitives.need_kernel("brev")
    word = primitives.bits(x)
    width = 8 * word.dtype.itemsize
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < width:
            # The bits at the positions whose number does not have the bit `shift`.
            low = ((1 << width) - 1) // ((1 << shift) + 1)
            mask = primitives.at_dtype(low, word.dtype)
            by = primitives.at_dtype(shift, word.dtype)
            word = (word & mask) << by | word >> by & mask
    return word


@implements(cuda.cbrt)
def cbrt(x: Any) -> Any:
    primitives.need_kernel("cbrt")
    return np.cbrt(x)


@implements(cuda.selp)
def selp(a: Any, b: Any, c: Any) -> Any:
    primitives.need_kernel("selp")
    return b if a else c


def exact_sum(a: Any, b: Any) -> Any:
    """a + b, and what rounding has taken from it."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def odd_sum(a: Any, b: Any) -> Any:
    """a + b, rounded to the neighbour with an odd last bit where it is not exact: to be rounded again, to fewer bits."""
    total, rest = exact_sum(a, b)
    half = primitives.scale_by_power(primitives.mantissa(total), np.float64(52))
    if rest != 0 and np.floor(half) == half:
        total = np.nextafter(total, np.inf if rest > 0 else -np.inf)
    return total


def exact_product(a: Any, b: Any) -> Any:
    """a * b in two parts, of numbers between 1/2 and 1."""
    high_a = a * 134217729.0 - (a * 134217729.0 - a)
    high_b = b * 134217729.0 - (b * 134217729.0 - b)
    low_a, low_b = a - high_a, b - high_b
    product = a * b
    return product, ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b


def fma_of_float64(a: Any, b: Any, c: Any) -> Any:
    """Boldo's and Melquiond's emulation, on numbers scaled to be near 1. A result below the smallest normal number is
    rounded where its last bit is, by a number added that has it there."""
    if not (np.isfinite(a) and np.isfinite(b)) or a == 0 or b == 0:
        return a * b + c
    if not np.isfinite(c):
        return c
    if c == 0:
        return a * b
    power = np.float64(primitives.exponent(a)) + np.float64(primitives.exponent(b))
    distance = np.float64(primitives.exponent(c)) - power
    shift = min(max(distance, np.float64(-200)), np.float64(200))
    if distance > shift:
        power = power + (distance - shift)
    product, rest = exact_product(primitives.mantissa(a), primitives.mantissa(b))
    high, low = exact_sum(primitives.scale_by_power(primitives.mantissa(c), shift), rest)
    total, more = exact_sum(product, high)
    tail = odd_sum(low, more)
    result = total + tail
    if result != 0 and np.float64(primitives.exponent(result)) + power < -1021:
        large = primitives.scale_by_power(np.copysign(np.float64(1), result), np.float64(-1022) - power)
        total, more = exact_sum(large, total)
        result = (total + odd_sum(more, tail)) - large
    return primitives.scale_by_power(result, power)


@implements(cuda.fma)
def fma(a: Any, b: Any, c: Any) -> Any:
    primitives.need_kernel("fma")
    dtype = np.result_type(a, b, c)
    if dtype != np.float64 and dtype != np.float32 and dtype != np.float16:
        raise TypeError("`cuda.fma` wants floats")
    x, y, z = primitives.at_dtype(a, np.float64), primitives.at_dtype(b, np.float64), primitives.at_dtype(c, np.float64)
    if dtype == np.float64:
        return fma_of_float64(x, y, z)
    product = x * y
    if np.isfinite(product) and np.isfinite(z):
        return primitives.at_dtype(odd_sum(product, z), dtype)
    return primitives.at_dtype(product + z, dtype)


@implements(atomic.add)
def add(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("add", ary, idx, val, "add")


@implements(atomic.sub)
def sub(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("subtract", ary, idx, val, "sub")


@implements(atomic.and_)
def and_(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("bitwise_and", ary, idx, val, "and_")


@implements(atomic.or_)
def or_(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("bitwise_or", ary, idx, val, "or_")


@implements(atomic.xor)
def xor(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("bitwise_xor", ary, idx, val, "xor")


@implements(atomic.inc)
def inc(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("count_up", ary, idx, val, "inc")


@implements(atomic.dec)
def dec(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("count_down", ary, idx, val, "dec")


@implements(atomic.exch)
def exch(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("exchange", ary, idx, val, "exch")


@implements(atomic.max)
def atomic_max(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("maximum", ary, idx, val, "max")


@implements(atomic.min)
def atomic_min(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("minimum", ary, idx, val, "min")


@implements(atomic.nanmax)
def nanmax(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("fmax", ary, idx, val, "nanmax")


@implements(atomic.nanmin)
def nanmin(ary: Any, idx: Any, val: Any) -> Any:
    return primitives.atomic("fmin", ary, idx, val, "nanmin")


@implements(atomic.compare_and_swap)
def compare_and_swap(ary: Any, old: Any, val: Any) -> Any:
    return primitives.compare_exchange("compare_and_swap", ary, 0, old, val)


@implements(atomic.cas)
def cas(ary: Any, idx: Any, old: Any, val: Any) -> Any:
    return primitives.compare_exchange("cas", ary, idx, old, val)
