"""Python's own functions over anything that a loop iterates."""

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


@implements(hasattr)
def has_attribute(*args: Any, **options: Any) -> bool:
    if len(options) > 0:
        raise TypeError("hasattr() takes no keyword arguments")
    if len(args) != 2:
        raise TypeError(f"hasattr expected 2 arguments, got {len(args)}")
    try:
        getattr(args[0], args[1])
    except AttributeError:
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


def extreme_or(iterable: Any, is_max: bool, otherwise: Any) -> Any:
    result = otherwise
    seen = False
    for element in iterable:
        if not seen:
            result = element
            seen = True
        elif (element > result) if is_max else (element < result):
            result = element
    return result


def extreme_by(iterable: Any, is_max: bool, key: Any) -> Any:
    seen = False
    for element in iterable:
        rank = key(element)
        if not seen:
            result = element
            best = rank
            seen = True
        elif (rank > best) if is_max else (rank < best):
            result = element
            best = rank
    if not seen:
        raise ValueError(("max" if is_max else "min") + "() arg is an empty sequence")
    return result
