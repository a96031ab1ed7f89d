"""Python's own functions over anything that a loop walks."""

from __future__ import annotations

from typing import Any

from .registry import implements


@implements(sum)
def sum_(iterable: Any, /, start: Any = 0) -> Any:
    for element in iterable:
        start = start + element
    return start


@implements(any)
def any_(iterable: Any, /) -> bool:
    for element in iterable:
        if element:
            return True
    return False


@implements(all)
def all_(iterable: Any, /) -> bool:
    for element in iterable:
        if not element:
            return False
    return True


def largest(iterable: Any) -> Any:
    seen = False
    for element in iterable:
        if not seen:
            result = element
            seen = True
        elif element > result:
            result = element
    if not seen:
        raise ValueError("max() arg is an empty sequence")
    return result


def largest_or(iterable: Any, otherwise: Any) -> Any:
    result = otherwise
    seen = False
    for element in iterable:
        if not seen:
            result = element
            seen = True
        elif element > result:
            result = element
    return result


def largest_by(iterable: Any, key: Any) -> Any:
    seen = False
    for element in iterable:
        rank = key(element)
        if not seen:
            result = element
            highest = rank
            seen = True
        elif rank > highest:
            result = element
            highest = rank
    if not seen:
        raise ValueError("max() arg is an empty sequence")
    return result


def smallest_or(iterable: Any, otherwise: Any) -> Any:
    result = otherwise
    seen = False
    for element in iterable:
        if not seen:
            result = element
            seen = True
        elif element < result:
            result = element
    return result


def smallest_by(iterable: Any, key: Any) -> Any:
    seen = False
    for element in iterable:
        rank = key(element)
        if not seen:
            result = element
            lowest = rank
            seen = True
        elif rank < lowest:
            result = element
            lowest = rank
    if not seen:
        raise ValueError("min() arg is an empty sequence")
    return result


def smallest(iterable: Any) -> Any:
    seen = False
    for element in iterable:
        if not seen:
            result = element
            seen = True
        elif element < result:
            result = element
    if not seen:
        raise ValueError("min() arg is an empty sequence")
    return result
