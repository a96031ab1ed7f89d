"""Lists whose length is known only when the call runs: their methods, in terms of indices, `append` and `pop()`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import TypeChangeError
from . import primitives, rows


def listed(iterable: Any) -> list[Any]:
    result = []
    for element in iterable:
        result.append(element)
    return result


def by_index(x: list[Any]) -> Any:
    """The elements of a list whose length changes meanwhile."""
    primitives.open_list(x)
    return rows.iterated(x)


def copy(self: list[Any]) -> list[Any]:
    return listed(self)


def sliced(self: list[Any], start: int, count: int, step: int) -> list[Any]:
    result = []
    for k in range(count):
        result.append(self[start + k * step])
    return result


def joined(a: list[Any], b: list[Any]) -> list[Any]:
    result = listed(a)
    for element in b:
        result.append(element)
    return result


def repeated(self: list[Any], times: int) -> list[Any]:
    result = []
    for _ in range(times):
        for element in self:
            result.append(element)
    return result


def repeat(self: list[Any], times: int) -> None:
    """As `self *= times`."""
    if times <= 0:
        self.clear()
    elif times > 1:
        self.extend(self * (times - 1))


def extend(self: list[Any], iterable: Any, /) -> None:
    for element in listed(iterable) if isinstance(iterable, list) else iterable:
        self.append(element)


def insert(self: list[Any], index: int, element: Any, /) -> None:
    size = len(self)
    place = max(index + size, 0) if index < 0 else min(index, size)
    self.append(element)
    for k in range(size, place, -1):
        self[k] = self[k - 1]
    self[place] = element


def pop(self: list[Any], index: int, /) -> Any:
    size = len(self)
    if size == 0:
        raise IndexError("pop from empty list")
    place = index + size if index < 0 else index
    if place < 0 or place >= size:
        raise IndexError("pop index out of range")
    element = self[place]
    drop(self, place)
    return element


def drop(self: list[Any], index: int, /) -> None:
    """As `del self[index]`."""
    size = len(self)
    place = index + size if index < 0 else index
    if place < 0 or place >= size:
        raise IndexError("list assignment index out of range")
    for k in range(place, size - 1):
        self[k] = self[k + 1]
    self.pop()


def put_slice(self: list[Any], start: int, count: int, elements: Any) -> None:
    """As `self[start:start + count] = elements`."""
    new = listed(elements)
    rest = sliced(self, start + count, len(self) - start - count, 1)
    while len(self) > start:
        self.pop()
    for element in new:
        self.append(element)
    for element in rest:
        self.append(element)


def place_of(self: list[Any], element: Any) -> int:
    """The first index of an element; -1: none."""
    for k in range(len(self)):
        if self[k] == element:
            return k
    return -1


def contains(self: list[Any], element: Any) -> bool:
    return place_of(self, element) >= 0


def index(self: list[Any], element: Any, start: int = 0, stop: int = 9223372036854775807, /) -> int:
    size = len(self)
    first = max(start + size, 0) if start < 0 else start
    last = max(stop + size, 0) if stop < 0 else min(stop, size)
    for k in range(first, last):
        if self[k] == element:
            return k
    raise ValueError(f"{element!r} is not in list")


def remove(self: list[Any], element: Any, /) -> None:
    place = place_of(self, element)
    if place < 0:
        raise ValueError("list.remove(x): x not in list")
    pop(self, place)


def count(self: list[Any], element: Any, /) -> int:
    found = 0
    for one in self:
        if one == element:
            found += 1
    return found


def equal(a: list[Any], b: list[Any]) -> bool:
    if len(a) != len(b):
        return False
    for k in range(len(a)):
        if a[k] != b[k]:
            return False
    return True


def reverse(self: list[Any], /) -> None:
    size = len(self)
    for k in range(size // 2):
        self[k], self[size - 1 - k] = self[size - 1 - k], self[k]


def sort(self: list[Any], /, *, key: Any = None, reverse: bool = False) -> None:
    """A merge sort of runs of 1, 2, 4, ... elements; stable, also backwards."""
    size = len(self)
    keys = []
    for element in self:
        keys.append(element if key is None else key(element))
    order = list(range(size))
    unordered = False
    for k in keys:
        unordered = unordered or _has_nan(k)
    if unordered:
        _sort_as_cpython(keys, order, reverse)
    else:
        _merge_sort(keys, order, reverse)
    before = listed(self)
    for k in range(size):
        self[k] = before[order[k]]


def _merge_sort(keys: list[Any], order: list[int], reverse: bool) -> None:
    size = len(keys)
    merged = list(range(size))
    width = 1
    while width < size:
        for start in range(0, size, 2 * width):
            middle = min(start + width, size)
            end = min(start + 2 * width, size)
            left = start
            right = middle
            for k in range(start, end):
                takes_left = right == end
                if left < middle and right < end:
                    a = keys[order[left]]
                    b = keys[order[right]]
                    takes_left = not (a < b if reverse else b < a)
                if takes_left:
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
        for k in range(size):
            order[k] = merged[k]
        width *= 2


def _has_nan(key: Any) -> bool:
    """Whether a NaN, which is neither less nor greater than others, is among the numbers of a key."""
    if isinstance(key, tuple):
        for member in key:
            if _has_nan(member):
                return True
        return False
    return isinstance(key, (float, np.floating)) and key != key


def _sort_as_cpython(keys: list[Any], order: list[int], reverse: bool) -> None:
    """The order that CPython gives to keys which have none: that of its steps, up to 63 elements one insertion after the other."""
    size = len(keys)
    if size > 63:
        raise TypeChangeError("a NaN among 64 or more elements leaves their order to the steps of the sort (use np.sort, or take NaN out)")
    if reverse:
        order.reverse()
    run = 1
    if size > 1 and keys[order[1]] < keys[order[0]]:
        run = 2
        while run < size and keys[order[run]] < keys[order[run - 1]]:
            run += 1
        for k in range(run // 2):
            order[k], order[run - 1 - k] = order[run - 1 - k], order[k]
    else:
        while run < size and not keys[order[run]] < keys[order[run - 1]]:
            run += 1
    for k in range(run, size):
        moved = order[k]
        left, right = 0, k
        while left < right:
            middle = left + (right - left) // 2
            if keys[moved] < keys[order[middle]]:
                right = middle
            else:
                left = middle + 1
        for i in range(k, left, -1):
            order[i] = order[i - 1]
        order[left] = moved
    if reverse:
        order.reverse()


def turned(self: list[Any]) -> list[Any]:
    """As `list(reversed(...))`."""
    result = []
    for k in range(len(self) - 1, -1, -1):
        result.append(self[k])
    return result
