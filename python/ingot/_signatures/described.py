"""Descriptions of arguments (`bindings/signature`) to read: `x: float64[:, :]`, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _errors
from .._ingot import Description

_MOST_PARTS = 4  # of a container, written out
_LONGEST = 40  # of a known value


def _array(it: Description) -> str:
    """Axes as signatures have them; those of a length of 1, which it is compiled for, have that length."""
    axes = ["1" if (it.ones or 0) >> k & 1 else ":" for k in range(it.ndim)]
    return f"{it.dtype}[{', '.join(axes)}]"


def _remarks(it: Description) -> list[str]:
    """What the text of an array does not show."""
    remarks = []
    if it.layout == "F" and it.ndim > 1:
        remarks.append("Fortran order")
    elif it.layout == "A":
        remarks.append("strided")
    if not it.is_writable:
        remarks.append("read-only")
    if it.is_mapped:
        remarks.append("memory-mapped")
    if it.last:
        remarks.append("short axes known")
    return remarks


def _listed(parts: Sequence[Description]) -> str:
    texts = [type_text(part) for part in parts]
    return ", ".join(texts if len(texts) <= _MOST_PARTS else [*texts[: _MOST_PARTS - 1], f"... {len(texts)} in all"])


def _value(value: Any) -> str:
    """A value that is known, short."""
    shown = getattr(value, "__qualname__", None) or repr(value)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def type_text(it: Description) -> str:
    """What the description of one argument is of."""
    match it.kind:
        case Description.ARRAY:
            return _array(it)
        case Description.SCALAR:
            return it.number.removeprefix("numpy.")
        case Description.STATIC:
            return _value(it.object)
        case Description.TUPLE if it.type is None:
            return f"({_listed(it.parts)}{',' if len(it.parts) == 1 else ''})"
        case Description.TUPLE | Description.INSTANCE:
            return getattr(it.type, "__ingot_stands_for__", it.type).__qualname__
        case Description.LIST:
            kinds = dict.fromkeys(map(type_text, it.parts))
            return f"list[{next(iter(kinds))}]" if len(kinds) == 1 else f"[{_listed(it.parts)}]"
        case Description.LIST_BUFFER:
            return f"list[{type_text(it.parts[0])}]"
        case Description.MAPPING:
            return f"dict[{', '.join(type_text(each.parts[0]) for each in it.parts)}]"
        case Description.DICT:
            inside = [f"{_value(name)}: {type_text(each)}" for name, each in zip(it.keys, it.parts)]
            return f"{{{', '.join(inside if len(inside) <= _MOST_PARTS else [*inside[: _MOST_PARTS - 1], f'... {len(inside)} in all'])}}}"
        case Description.CHARACTERS:
            return "str"
        case Description.RECORDS:
            return f"records of {_errors.dtype_text(it.dtype)}"
        case Description.SAME:
            return "an object that is another argument, too"
    return it.kind_name


def arguments_of(names: Sequence[str], key: tuple[Description, ...]) -> str:
    """The arguments of a call: `x: float64[:], n: int, axis=0`."""
    parts = []
    memories = [each.alias_set for each in key if each.kind == Description.ARRAY]
    for name, each in zip(names, key):
        if each.kind == Description.ABSENT:
            continue
        is_array = each.kind == Description.ARRAY
        remarks = _remarks(each) if is_array else []
        if is_array and memories.count(each.alias_set) > 1:
            remarks.append("shares memory")
        shown = f" ({', '.join(remarks)})" if remarks else ""
        parts.append(f"{name}{'=' if each.kind == Description.STATIC else ': '}{type_text(each)}{shown}")
    if key and key[-1].kind == Description.DEVICE:
        parts.append(f"on {key[-1].device_kind}:{key[-1].index}")
    return ", ".join(parts)


def _of_arrays(old: Description, new: Description) -> str:
    """How one array differs from another of its dtype and axes."""
    before, after = _remarks(old), _remarks(new)
    if before != after:
        return f"{', '.join(before) or 'C order'} before, {', '.join(after) or 'C order'} now"
    if old.alias_set != new.alias_set:
        return "shares its memory with another argument in one of them"
    return "axes of a length of 1, or short ones, are others"


def changes(names: Sequence[str], old: tuple[Description, ...], new: tuple[Description, ...]) -> list[str]:
    """Which arguments of two calls of a function are described differently, and how."""
    found = []
    for name, before, after in zip(names, old, new):
        if before == after:
            continue
        texts = type_text(before), type_text(after)
        if texts[0] != texts[1]:
            found.append(f"{name}: {texts[0]} before, {texts[1]} now")
        elif before.kind == after.kind == Description.ARRAY:
            found.append(f"{name}: {_of_arrays(before, after)}")
        else:
            found.append(f"{name}: another {texts[0]}")
    if old[len(names) :] != new[len(names) :]:
        found.append("where the arrays are, or what is outside")
    return found
