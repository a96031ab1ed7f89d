"""Dicts whose keys are known only when the call runs: a list of keys and one of values, in the order of insertion, and
a table of their indices by hash, of a power of two of slots, at most two thirds of them taken; -1 is a free one."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from . import lists, primitives


def hashed(key: Any) -> Any:
    """Equal keys have equal hashes, whatever their types."""
    if isinstance(key, enum.Enum) and not isinstance(key, (int, float, complex)):
        return np.int64(0)  # there are few
    if isinstance(key, tuple):
        mixed = np.int64(41)
        for part in key:
            mixed = (mixed ^ hashed(part)) * np.int64(-7046029254386353131)
        return mixed
    if isinstance(key, (complex, np.complexfloating)):
        return hashed(key.real) if key.imag == 0 else hashed((key.real, key.imag))
    if isinstance(key, (float, np.floating)):
        number = float(key)
        if not -9e18 < number < 9e18:
            return np.int64(314159)
        whole = int(number)
        mixed = np.int64(whole) * np.int64(-7046029254386353131)
        rest = number - whole
        if rest != 0.0:
            mixed = mixed ^ (np.int64(rest * 4503599627370496.0) * np.int64(-4417276706812531889))
        return mixed ^ (mixed >> np.int64(29))
    if isinstance(key, str):
        return hashed(ord(key)) if len(key) == 1 else np.int64(len(key))
    if not isinstance(key, (int, np.integer, np.bool)):
        primitives.refuse("a key that is no number, in a dict whose keys are not known when compiling,", "use numbers as keys")
    if isinstance(key, np.uint64):
        mixed = np.int64(key & np.uint64(2**63 - 1)) * np.int64(-7046029254386353131) ^ np.int64(key >> np.uint64(63))
    else:
        mixed = np.int64(key) * np.int64(-7046029254386353131)
    return mixed ^ (mixed >> np.int64(29))


def place(keys: list[Any], table: np.ndarray, key: Any) -> int:
    """The index of a key among the keys; -1: it is not there."""
    last = np.int64(len(table) - 1)
    slot = hashed(key) & last
    while True:
        found = table[slot]
        if found < 0:
            return -1
        if keys[int(found)] == key:
            return int(found)
        slot = (slot + np.int64(1)) & last


def enter(table: np.ndarray, key: Any, number: int) -> None:
    last = np.int64(len(table) - 1)
    slot = hashed(key) & last
    while table[slot] >= 0:
        slot = (slot + np.int64(1)) & last
    table[slot] = number


def fill(table: np.ndarray, keys: list[Any]) -> None:
    """Enters all keys into a table of free slots."""
    for number in range(len(keys)):
        enter(table, keys[number], number)


def table_of(keys: list[Any], size: int) -> np.ndarray:
    table = np.full(size, -1)
    fill(table, keys)
    return table


def opened(keys: list[Any]) -> np.ndarray:
    """The table of a dict that the function is given."""
    size = 8
    while 3 * len(keys) > 2 * size:
        size *= 2
    return table_of(keys, size)


def put(keys: list[Any], values: list[Any], table: np.ndarray, key: Any, value: Any) -> np.ndarray:
    """The table afterwards."""
    found = place(keys, table, key)
    if found >= 0:
        values[found] = value
        return table
    keys.append(key)
    values.append(value)
    if 3 * len(keys) > 2 * len(table):
        return table_of(keys, 4 * len(table))
    enter(table, key, len(keys) - 1)
    return table


def item(keys: list[Any], values: list[Any], table: np.ndarray, key: Any) -> Any:
    found = place(keys, table, key)
    if found < 0:
        raise KeyError(key)
    return values[found]


def newest(keys: list[Any], values: list[Any], table: np.ndarray) -> Any:
    """The value of the key that was entered last."""
    return values[-1]


def get(keys: list[Any], values: list[Any], table: np.ndarray, key: Any, default: Any = None, /) -> Any:
    found = place(keys, table, key)
    if found < 0:
        return default
    return values[found]


def contains(keys: list[Any], table: np.ndarray, key: Any) -> bool:
    return place(keys, table, key) >= 0


def take_out(keys: list[Any], values: list[Any], table: np.ndarray, found: int) -> Any:
    """The value, whose item is gone then; the others move up."""
    value = values[found]
    lists.pop(keys, found)
    lists.pop(values, found)
    table[:] = -1
    fill(table, keys)
    return value


def pop(keys: list[Any], values: list[Any], table: np.ndarray, key: Any) -> Any:
    found = place(keys, table, key)
    if found < 0:
        raise KeyError(key)
    return take_out(keys, values, table, found)


def pop_or(keys: list[Any], values: list[Any], table: np.ndarray, key: Any, default: Any) -> Any:
    found = place(keys, table, key)
    if found < 0:
        return default
    return take_out(keys, values, table, found)


def popitem(keys: list[Any], values: list[Any], table: np.ndarray) -> Any:
    if len(keys) == 0:
        raise KeyError("popitem(): dictionary is empty")
    key = keys[-1]
    return key, take_out(keys, values, table, len(keys) - 1)


def equal(keys: list[Any], values: list[Any], others: dict[Any, Any]) -> bool:
    if len(keys) != len(others):
        return False
    for number in range(len(keys)):
        key = keys[number]
        if key not in others:
            return False
        if others[key] != values[number]:
            return False
    return True


def update(self: dict[Any, Any], other: dict[Any, Any]) -> None:
    for key, value in other.items():
        self[key] = value


def update_of_keys(self: dict[Any, Any], other: Any) -> None:
    for key in other.keys():  # noqa: SIM118
        self[key] = other[key]


def update_of_pairs(self: dict[Any, Any], pairs: Any) -> None:
    for key, value in pairs:
        self[key] = value


def common_keys(d: dict[Any, Any], other: Any) -> set[Any]:
    """`d.keys() & other`, as CPython does it: the dict is asked for each element of the other."""
    if isinstance(other, set) and len(d) <= len(other):
        return other.intersection(list(d))
    found = set()
    for element in other:
        if element in d:
            found.add(element)
    return found


def common_items(d: dict[Any, Any], other: Any) -> set[Any]:
    """`d.items() & other`."""
    if isinstance(other, set) and len(d) <= len(other):
        return other.intersection(list(d.items()))
    found = set()
    for element in other:
        if isinstance(element, tuple) and len(element) == 2 and element[0] in d and d[element[0]] == element[1]:
            found.add(element)
    return found


def common_keys_of(a: dict[Any, Any], b: dict[Any, Any]) -> set[Any]:
    """`a.keys() & b.keys()`: the larger one is asked."""
    return common_keys(b, list(a)) if len(b) > len(a) else common_keys(a, list(b))


def common_items_of(a: dict[Any, Any], b: dict[Any, Any]) -> set[Any]:
    """`a.items() & b.items()`."""
    return common_items(b, list(a.items())) if len(b) > len(a) else common_items(a, list(b.items()))


def united(a: Any, b: Any) -> set[Any]:
    """`a | b`, of which one has the elements of a view, as of the following functions; keys are a dict on the left."""
    found = set(a)
    found.update(b)
    return found


def without(a: Any, b: Any) -> set[Any]:
    """`a - b`."""
    found = set(a)
    found.difference_update(b)
    return found


def in_one(a: Any, b: Any) -> set[Any]:
    """`a ^ b`."""
    found = set(a)
    found.symmetric_difference_update(b)
    return found


def items_in_one(a: dict[Any, Any], b: dict[Any, Any]) -> set[Any]:
    """`a.items() ^ b.items()`: what the larger dict has alone is added first, then what is left of the smaller."""
    if len(a) > len(b):
        return items_in_one(b, a)
    left = a.copy()
    found = set()
    for key, value in b.items():
        if key in left and left[key] == value:
            del left[key]
        else:
            found.add((key, value))
    found.update(list(left.items()))
    return found
