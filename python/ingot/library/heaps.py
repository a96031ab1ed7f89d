"""Python's `heapq` and `bisect`, of lists of any length; `bisect` of tuples and arrays too.

A heap has its elements where CPython puts them, and elements are compared as there: by `<`, the one that is moved
first or the one that stays, so that equal elements keep their order.
"""

from __future__ import annotations

import bisect
import heapq
from typing import Any

from . import lists, primitives
from .registry import implements


def _rise(heap: list[Any], first: int, place: int) -> None:
    """Moves an element up to where its parent is no larger, at most to the index `first`."""
    element = heap[place]
    while place > first:
        parent = (place - 1) // 2
        if not element < heap[parent]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = element


def _sink(heap: list[Any], first: int, size: int) -> None:
    """Puts an element where it belongs in the heap below it: down along the smaller children, then up again."""
    element = heap[first]
    place = first
    child = 2 * first + 1
    while child < size:
        if child + 1 < size and not heap[child] < heap[child + 1]:
            child += 1
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = element
    _rise(heap, first, place)


def _need_list(heap: Any, name: str) -> None:
    if not isinstance(heap, list):
        raise TypeError(f"{name} must be list, not {type(heap).__name__}")
    primitives.open_list(heap)


@implements(heapq.heappush)
def heappush(heap: list[Any], item: Any, /) -> None:
    _need_list(heap, "heappush() argument 1")
    heap.append(item)
    primitives.open_list(heap)
    _rise(heap, 0, len(heap) - 1)


@implements(heapq.heappop)
def heappop(heap: list[Any], /) -> Any:
    _need_list(heap, "heappop() argument")
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    if len(heap) == 0:
        return last
    return heapreplace(heap, last)


@implements(heapq.heapreplace)
def heapreplace(heap: list[Any], item: Any, /) -> Any:
    _need_list(heap, "heapreplace() argument 1")
    if len(heap) == 0:
        raise IndexError("index out of range")
    smallest = heap[0]
    heap[0] = item
    _sink(heap, 0, len(heap))
    return smallest


@implements(heapq.heappushpop)
def heappushpop(heap: list[Any], item: Any, /) -> Any:
    _need_list(heap, "heappushpop() argument 1")
    if len(heap) == 0:
        return item
    if not heap[0] < item:
        return item
    return heapreplace(heap, item)


@implements(heapq.heapify)
def heapify(heap: list[Any], /) -> None:
    _need_list(heap, "heapify() argument")
    size = len(heap)
    for place in range(size // 2 - 1, -1, -1):
        _sink(heap, place, size)


def _first(n: int, iterable: Any, key: Any, reverse: bool) -> list[Any]:
    ordered = lists.listed(iterable)
    primitives.open_list(ordered)
    ordered.sort(key=key, reverse=reverse)
    return ordered[: max(n, 0)]


@implements(heapq.nsmallest)
def nsmallest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return _first(n, iterable, key, False)


@implements(heapq.nlargest)
def nlargest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return _first(n, iterable, key, True)


def _after(a: Any, x: Any, lo: int, hi: Any, key: Any) -> int:
    """The index after all elements that are not larger."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    low = lo
    high = len(a) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        element = a[middle] if key is None else key(a[middle])
        if x < element:
            high = middle
        else:
            low = middle + 1
    return low


def _before(a: Any, x: Any, lo: int, hi: Any, key: Any) -> int:
    """The index before all elements that are not smaller."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    low = lo
    high = len(a) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        element = a[middle] if key is None else key(a[middle])
        if element < x:
            low = middle + 1
        else:
            high = middle
    return low


@implements(bisect.bisect_left)
def bisect_left(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> int:
    return _before(a, x, lo, hi, key)


@implements(bisect.bisect_right, bisect.bisect)
def bisect_right(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> int:
    return _after(a, x, lo, hi, key)


@implements(bisect.insort_left)
def insort_left(a: list[Any], x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    primitives.open_list(a)
    a.insert(_before(a, x if key is None else key(x), lo, hi, key), x)


@implements(bisect.insort_right, bisect.insort)
def insort_right(a: list[Any], x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    primitives.open_list(a)
    a.insert(_after(a, x if key is None else key(x), lo, hi, key), x)
