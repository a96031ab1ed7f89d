"""Arguments that are Python's own arrays of numbers: how they are described. `library.buffers` has what they do."""

from __future__ import annotations

import array
import functools
from typing import Any

import numpy as np

from ..library import buffers

_ARRAYS: dict[str, type[Any]] = {
    "b": buffers.ArrayB, "B": buffers.ArrayUB, "h": buffers.ArrayH, "H": buffers.ArrayUH, "i": buffers.ArrayI, "I": buffers.ArrayUI,
    "l": buffers.ArrayL, "q": buffers.ArrayL, "f": buffers.ArrayD, "d": buffers.ArrayD,
}  # fmt: skip
# An unsigned int of 64 bits need not fit an int of compiled code.
_FORMATS: dict[str, type[Any]] = {**dict.fromkeys("bBhHiIlqn", buffers.MemoryView), **dict.fromkeys("efd", buffers.MemoryViewD), "?": buffers.MemoryViewBool}
try:
    memoryview(np.zeros(1, np.float16))[0]  # type: ignore[arg-type]
except NotImplementedError:  # this Python's has no elements of the kind
    _FORMATS["e"] = buffers.MemoryViewHalf


def _named(of: type[Any], base: type[Any], letter: str, **members: Any) -> type[Any]:
    """A class that stands for another one, found in its module by its qualified name."""
    own = f"{of.__name__}_{letter}"
    name = "array.array" if of is array.array else of.__name__  # as Python's messages have it
    made = type(name, (base,), {"__module__": base.__module__, "__ingot_stands_for__": of, "__qualname__": own, **members})
    made.own = made  # type: ignore[attr-defined]
    setattr(buffers, own, made)
    return made


@functools.cache
def _class_of(of: type[Any], code: str, readonly: bool) -> type[Any] | None:
    if of is bytearray:
        return _named(of, buffers.ByteArray, code)
    if of is array.array:
        base = _ARRAYS.get(code)
        return None if base is None else _named(of, base, code)
    base = _FORMATS.get(code)
    if base is None:
        return None
    # What is no identifier is found by getattr.
    own = f"{code}_readonly" if readonly else code
    limits = np.iinfo(np.intp if code == "n" else code) if base is buffers.MemoryView else None
    low, high = (0, 0) if limits is None else (int(limits.min), int(limits.max))
    return _named(of, base, own, code=code, readonly=readonly, low=low, high=high)


def parts(value: Any) -> tuple[type[Any], np.ndarray] | None:
    """The class that stands for a buffer's, and an array on its memory; None: it has other elements, or not one axis."""
    kind: Any = type(value)
    code = value.typecode if kind is array.array else value.format.removeprefix("@") if kind is memoryview else "B"
    of = _class_of(kind, code, kind is memoryview and value.readonly)
    if of is None or kind is memoryview and value.ndim != 1:
        return None
    try:
        return of, np.asarray(memoryview(value))
    except (ValueError, TypeError):  # it has been released
        return None
