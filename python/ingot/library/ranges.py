"""What Python does with a `range` other than iterating over it."""

from __future__ import annotations

from typing import Any

import numpy as np


def contains(r: range, x: Any) -> bool:
    if not isinstance(x, (int, np.integer, float)):
        for number in r:  # as Python does it
            if number == x:
                return True
        return False
    size = len(r)
    if size == 0:
        return False
    last = r.start + (size - 1) * r.step
    if x < min(r.start, last) or x > max(r.start, last):
        return False
    whole = int(x) if x == x else 0
    return whole == x and (whole - r.start) % r.step == 0


def item(r: range, i: Any) -> int:
    place = int(i)
    if place < 0:
        place += len(r)
    if place < 0 or place >= len(r):
        raise IndexError("range object index out of range")
    half = place // 2  # a product of the whole index need not fit 64 bits
    return r.start + half * r.step + half * r.step + (place - 2 * half) * r.step


def bound(given: Any, otherwise: int, size: int, low: Any, high: Any) -> int:
    """A bound of a slice of so many elements, between two places."""
    if given is None:
        return otherwise
    if not isinstance(given, (int, np.integer)):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    place = int(given)
    return max(place + size, low) if place < 0 else min(place, high)


def part(r: range, start: Any, stop: Any, step: Any) -> range:
    by = bound(step, 1, 0, step, step) if step is None or not isinstance(step, (int, np.integer)) else int(step)
    if by == 0:
        raise ValueError("slice step cannot be zero")
    size = len(r)
    if by < 0:
        first, end = bound(start, size - 1, size, -1, size - 1), bound(stop, -1, size, -1, size - 1)
    else:
        first, end = bound(start, 0, size, 0, size), bound(stop, size, size, 0, size)
    return range(r.start + first * r.step, r.start + end * r.step, r.step * by)


def equal(a: range, b: range) -> bool:
    size = len(a)
    if size != len(b):
        return False
    return size == 0 or a.start == b.start and (size == 1 or a.step == b.step)


def index(r: range, x: Any, /) -> int:
    place = 0
    if isinstance(x, (int, np.integer)):
        if contains(r, x):
            return (int(x) - r.start) // r.step
        raise ValueError(f"{x!r} is not in range")
    for number in r:
        if number == x:
            return place
        place += 1
    raise ValueError("sequence.index(x): x not in sequence")


def count(r: range, x: Any, /) -> int:
    return int(contains(r, x))
