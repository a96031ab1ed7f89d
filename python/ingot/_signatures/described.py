"""Descriptions of arguments (`bindings/signature`) to read: `x: float64[:, :]`, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _errors

_MOST_PARTS = 4  # of a container, written out
_LONGEST = 40  # of a known value


def _array(dtype: str, ndim: int, is_writable: bool, memory: int, layout: str, single: int, lengths: int | None, *mapped: str) -> str:
    """Axes as signatures have them; those of a length of 1, which it is compiled for, have that length."""
    axes = ["1" if single >> k & 1 else ":" for k in range(ndim)]
    return f"{dtype}[{', '.join(axes)}]"


def _remarks(key: tuple) -> list[str]:
    """What the text of an array does not show."""
    _, _, ndim, is_writable, memory, layout, _, lengths, *mapped = key
    remarks = []
    if layout == "F" and ndim > 1:
        remarks.append("Fortran order")
    elif layout == "A":
        remarks.append("strided")
    if not is_writable:
        remarks.append("read-only")
    if mapped:
        remarks.append("memory-mapped")
    if lengths:
        remarks.append("short axes known")
    return remarks


def _listed(parts: Sequence[Any]) -> str:
    texts = [type_text(part) for part in parts]
    return ", ".join(texts if len(texts) <= _MOST_PARTS else [*texts[: _MOST_PARTS - 1], f"... {len(texts)} in all"])


def _value(value: Any) -> str:
    """A value that is known, short."""
    shown = getattr(value, "__qualname__", None) or repr(value)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def type_text(key: tuple) -> str:
    """What the description of one argument is of."""
    tag, *parts = key
    if tag == "array":
        return _array(*parts)
    if tag == "scalar":
        return parts[0].removeprefix("numpy.")
    if tag == "static":
        return _value(parts[0])
    if tag == "tuple":
        return f"({_listed(parts[0])}{',' if len(parts[0]) == 1 else ''})"
    if tag == "list":
        kinds = dict.fromkeys(map(type_text, parts[0]))
        return f"list[{next(iter(kinds))}]" if len(kinds) == 1 else f"[{_listed(parts[0])}]"
    if tag == "dict":
        inside = [f"{_value(name)}: {type_text(each)}" for name, each in zip(*parts)]
        return f"{{{', '.join(inside if len(inside) <= _MOST_PARTS else [*inside[: _MOST_PARTS - 1], f'... {len(inside)} in all'])}}}"
    if tag in ("named", "object"):
        return parts[0].__qualname__
    if tag == "characters":
        return "str"
    if tag == "fields":
        return f"records of {_errors.dtype_text(parts[1])}"
    if tag == "same":
        return "an object that is another argument, too"
    return tag if isinstance(tag, str) else "an object"


def arguments_of(names: Sequence[str], key: tuple) -> str:
    """The arguments of a call: `x: float64[:], n: int, axis=0`."""
    parts = []
    memories = [each[4] for each in key if each[0] == "array"]
    for name, each in zip(names, key):
        if each[0] == "absent":
            continue
        remarks = _remarks(each) if each[0] == "array" else []
        if each[0] == "array" and memories.count(each[4]) > 1:
            remarks.append("shares memory")
        shown = f" ({', '.join(remarks)})" if remarks else ""
        parts.append(f"{name}{'=' if each[0] == 'static' else ': '}{type_text(each)}{shown}")
    if key and key[-1][0] == "device":
        parts.append(f"on {key[-1][1]}:{key[-1][2]}")
    return ", ".join(parts)


def _of_arrays(old: tuple, new: tuple) -> str:
    """How one array differs from another of its dtype and axes."""
    before, after = _remarks(old), _remarks(new)
    if before != after:
        return f"{', '.join(before) or 'C order'} before, {', '.join(after) or 'C order'} now"
    if old[4] != new[4]:
        return "shares its memory with another argument in one of them"
    return "axes of a length of 1, or short ones, are others"


def changes(names: Sequence[str], old: tuple, new: tuple) -> list[str]:
    """Which arguments of two calls of a function are described differently, and how."""
    found = []
    for name, before, after in zip(names, old, new):
        if before == after:
            continue
        texts = type_text(before), type_text(after)
        if texts[0] != texts[1]:
            found.append(f"{name}: {texts[0]} before, {texts[1]} now")
        elif before[0] == after[0] == "array":
            found.append(f"{name}: {_of_arrays(before, after)}")
        else:
            found.append(f"{name}: another {texts[0]}")
    if old[len(names) :] != new[len(names) :]:
        found.append("where the arrays are, or what is outside")
    return found
