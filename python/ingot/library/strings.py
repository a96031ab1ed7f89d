"""Strings whose characters are known only when the call runs, as arrays of their code points."""

from __future__ import annotations

from typing import Any


def equal(a: Any, b: Any) -> bool:
    if len(a) != len(b):
        return False
    for k in range(len(a)):
        if int(a[k]) != int(b[k]):
            return False
    return True


def order(a: Any, b: Any) -> int:
    """Below 0 where `a` comes first, above 0 where `b` does."""
    for k in range(min(len(a), len(b))):
        if int(a[k]) != int(b[k]):
            return int(a[k]) - int(b[k])
    return len(a) - len(b)


def contains(whole: Any, part: Any) -> bool:
    for start in range(len(whole) - len(part) + 1):
        if equal(whole[start : start + len(part)], part):
            return True
    return False
