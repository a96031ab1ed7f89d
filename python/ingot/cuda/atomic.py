"""Changes of an element of an array that no other thread's change comes between. Each gives what the element was.

`ary` is of int32, uint32, int64, uint64, float32 or float64, `idx` an index for each of its axes: a number or a tuple.
"""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def add(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] += val`."""
    outside("atomic.add")


def sub(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] -= val`."""
    outside("atomic.sub")


def and_(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] &= val`, of integers."""
    outside("atomic.and_")


def or_(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] |= val`, of integers."""
    outside("atomic.or_")


def xor(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] ^= val`, of integers."""
    outside("atomic.xor")


def inc(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] = 0 if ary[idx] >= val else ary[idx] + 1`, of integers."""
    outside("atomic.inc")


def dec(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] = val if ary[idx] == 0 or ary[idx] > val else ary[idx] - 1`, of integers."""
    outside("atomic.dec")


def exch(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] = val`."""
    outside("atomic.exch")


def max(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] = np.maximum(ary[idx], val)`: a NaN wins."""
    outside("atomic.max")


def min(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] = np.minimum(ary[idx], val)`: a NaN wins."""
    outside("atomic.min")


def nanmax(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] = np.fmax(ary[idx], val)`: a NaN loses."""
    outside("atomic.nanmax")


def nanmin(ary: Any, idx: Any, val: Any) -> Any:
    """`ary[idx] = np.fmin(ary[idx], val)`: a NaN loses."""
    outside("atomic.nanmin")


def compare_and_swap(ary: Any, old: Any, val: Any) -> Any:
    """The first element of an array of one axis becomes `val` if its bits are those of `old`."""
    outside("atomic.compare_and_swap")


def cas(ary: Any, idx: Any, old: Any, val: Any) -> Any:
    """`ary[idx] = val` if its bits are those of `old`."""
    outside("atomic.cas")


__all__ = [
    "add",
    "and_",
    "cas",
    "compare_and_swap",
    "dec",
    "exch",
    "inc",
    "max",
    "min",
    "nanmax",
    "nanmin",
    "or_",
    "sub",
    "xor",
]


def __dir__() -> list[str]:
    return sorted(__all__)
