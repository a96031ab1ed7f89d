"""Arguments that are containers of Python's other than lists and dicts: how they are described.

Compiled code has a copy of each, an instance of a class of the library's (`library.containers`, `library.sets`). Of numbers
of one type it gets arrays, so that code is compiled once for all lengths; all else is a part of what is known when compiling.
"""

from __future__ import annotations

import enum
import importlib
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _ingot

_MOST_ELEMENTS = 16  # that are not in an array
_DTYPES = {int: np.int64, float: np.float64, complex: np.complex128, bool: np.bool_}
_NUMPYS = np.typecodes["AllInteger"] + "efdFD?"  # the dtypes of NumPy's numbers that compiled code has
_EMPTY, _HELD = 0, 1  # states of a slot
_KEYS = (str, int, bool, bytes, type(None), enum.Enum)


def _in_array(elements: tuple[Any, ...]) -> Any:
    """Numbers of one type as an array; None: they are others, or there are none."""
    kinds = set(map(type, elements))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    dtype = kind if _is_numpys(kind) else _DTYPES.get(kind)
    try:
        return None if dtype is None else np.array(elements, dtype)
    except OverflowError:
        return None


def _is_numpys(kind: type[Any]) -> bool:
    return issubclass(kind, (np.number, np.bool_)) and np.dtype(kind).type is kind and np.dtype(kind).char in _NUMPYS


def _are_mixed(elements: tuple[Any, ...]) -> bool:
    """Whether there are numbers of several types, which compiled code would have as those of one."""
    return len({type(element) for element in elements if isinstance(element, (int, float, complex, np.generic))}) > 1


def _are_numpys(elements: tuple[Any, ...]) -> bool:
    """Whether elements that are in an array are numbers of NumPy's, not Python's."""
    return len(elements) > 0 and isinstance(elements[0], np.generic)


def _deque(value: deque[Any]) -> tuple[Any, ...] | None:
    elements = tuple(value)
    given = _in_array(elements)
    if given is None and (len(elements) > _MOST_ELEMENTS or _are_mixed(elements)):
        return None
    return "Deque", (value.maxlen, _are_numpys(elements)), elements if given is None else given


def _entries(value: dict[Any, Any]) -> tuple[Any, Any] | None:
    """What is known of a dict, and what is in it: keys that are known and their values, or arrays of both."""
    keys, values = tuple(value), tuple(value.values())
    if getattr(value, "__dict__", None) or len(keys) != len(values):
        return None
    arrays = _in_array(keys) if keys and isinstance(keys[0], (int, np.integer)) else None, _in_array(values)
    if arrays[0] is not None and arrays[1] is not None and arrays[0].dtype.kind in "iu":
        return (None, _are_numpys(keys), _are_numpys(values)), arrays
    if len(keys) > _MOST_ELEMENTS or not all(isinstance(key, _KEYS) and (type(key) in _KEYS or isinstance(key, enum.Enum)) for key in keys):
        return None
    return (keys, False, False), values


def _ordered(value: OrderedDict[Any, Any]) -> tuple[Any, ...] | None:
    entries = _entries(value)
    return None if entries is None else ("OrderedDict", *entries)


def _counter(value: Counter[Any]) -> tuple[Any, ...] | None:
    entries = _entries(value)
    return None if entries is None else ("Counter", *entries)


def _with_default(value: defaultdict[Any, Any]) -> tuple[Any, ...] | None:
    entries = _entries(value)
    return None if entries is None else ("DefaultDict", (entries[0], value.default_factory), entries[1])


def _set(value: set[Any] | frozenset[Any]) -> tuple[Any, ...] | None:
    """Numbers by the slots of a set's table, with the states of these; or all that is known of the table."""
    elements = tuple(value)
    numbers = _in_array(elements)
    slots, states, finger = _ingot.table_of_set(value)
    if numbers is not None and numbers.dtype.char in "efF":
        return None  # they are equal to numbers of other hashes
    if elements and (numbers is None or numbers.dtype.kind in "bc"):
        if len(elements) > _MOST_ELEMENTS or not all(map(_is_plain, elements)):
            return None
        return "KnownSet", (type(value), elements, tuple(states), finger), ()
    keys: Any = ()
    if numbers is not None:
        if np.isnan(numbers).any():
            return None
        keys = np.zeros(len(slots), numbers.dtype)
        keys[[i for i, state in enumerate(states) if state == _HELD]] = numbers
    name = "HashSet" if type(value) is set else "FrozenHashSet"
    return name, _are_numpys(elements), (keys, np.array(states), finger, len(states) - states.count(_EMPTY), len(elements))


def _is_plain(element: Any) -> bool:
    if type(element) is tuple:
        return all(map(_is_plain, element))
    return type(element) in (str, bytes, int, bool, float, type(None)) and element == element


# What gives the name of a container's class of the library's, what is known of it, and what is in it.
TYPES: dict[type[Any], Callable[[Any], tuple[Any, ...] | None]] = {
    deque: _deque,
    OrderedDict: _ordered,
    Counter: _counter,
    defaultdict: _with_default,
    set: _set,
    frozenset: _set,
}


def parts(value: Any) -> tuple[type[Any], Any, Any] | None:
    """The class of the library's that stands for a container's, what is known of it, and what is in it; None: it is not copied."""
    made = TYPES[type(value)](value)
    if made is None:
        return None
    name, known, given = made
    module = importlib.import_module(f"ingot.library.{'sets' if isinstance(value, (set, frozenset)) else 'containers'}")
    return getattr(module, name), known, given


def words(kind: type[Any]) -> str:
    """How a message names a container that is not copied."""
    name = kind.__name__
    article = "an" if name[0] in "aeiouAEIOU" else "a"
    if kind in (set, frozenset):
        return f"{article} {name} of other elements than Python's or NumPy's ints and floats of 64 bits, or of more than 16 that are not numbers of one type, or of NaNs"
    if kind is deque:
        return f"{article} {name} of numbers of several types, or of more than 16 elements that are no numbers"
    return f"{article} {name} of more than 16 elements, but for ints and numbers of one type, with keys that are neither numbers nor strings, or with attributes of its own"
