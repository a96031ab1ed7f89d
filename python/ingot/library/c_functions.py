"""Arguments and results of C functions."""

from __future__ import annotations

import ctypes
from typing import Any

from . import primitives


def exact(x: int, low: int, high: int, kind: str) -> int:
    """An integer as a C type, as cffi converts it."""
    if x < low or x > high:
        raise OverflowError(f"integer {x} does not fit '{kind}'")
    return x


def positive(x: int, low: int, high: int, kind: str) -> int:
    """The same for an integer of 64 bits without sign."""
    if x < 0:
        raise OverflowError("can't convert negative number to unsigned")
    return x


def need_layout(x: Any, wants_c: bool, wants_fortran: bool, place: int, complaint: str) -> None:
    """Raises what `ndpointer` raises for an array of another layout."""
    if wants_c and not primitives.is_contiguous(x) or wants_fortran and not primitives.is_contiguous(x.T):
        raise ctypes.ArgumentError(f"argument {place}: TypeError: {complaint}")


def small(x: Any) -> Any:
    """A result of 64 bits without sign, as Python's int."""
    if x > 9223372036854775807:
        raise OverflowError("the result of a host function does not fit into 64 bits")
    return x
