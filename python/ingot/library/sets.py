"""Sets whose elements are known only when the call runs: tables of CPython's, so that elements come in its order.

A set is a table of slots: `keys` has the element of each slot, `state` is whether there is one. Where an element goes, when the
table is made anew, and how two sets become one are as in CPython, whose iteration goes through the slots. Sets of the caller's come
with their tables, and tables become sets of Python's as they are (`bindings/sets`).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from .. import _ingot
from .._errors import TypeChangeError
from . import primitives
from .containers import numbers_of

_EMPTY, _HELD, _GONE = 0, 1, 2
_PROBES = 9  # slots after one that are looked at before another one is
_SHIFT = 5
_PRIME = (1 << 61) - 1


def hash_of(x: Any) -> int:
    """`hash(x)` of numbers, and of tuples of them."""
    if isinstance(x, tuple):
        return _hash_of_tuple(x)
    if isinstance(x, (float, np.float16, np.float32)):
        return _hash_of_float(float(x))
    if not isinstance(x, (int, np.integer, np.bool_)) or isinstance(x, np.uint64):
        primitives.refuse("an element of a set that is not known when compiling, and no int of 64 bits, float or tuple of these", "use a list")
    n = int(x)
    h = n % _PRIME if n >= 0 else -((-(n + 1)) % _PRIME + 1)
    if h == -_PRIME:
        h = 0
    return -2 if h == -1 else h


def _hash_of_float(x: float) -> int:
    if x != x:
        raise TypeChangeError("a NaN in a set is found by its identity, which numbers of compiled code do not have (take NaN out)")
    if x - x != 0:
        return 314159 if x > 0 else -314159
    m, e = math.frexp(x)
    is_negative = m < 0
    m = abs(m)
    h = 0
    while m != 0:
        h = ((h & ((1 << 33) - 1)) << 28) | h >> 33
        m *= 268435456.0
        e -= 28
        digit = int(m)
        m -= digit
        h += digit
        if h >= _PRIME:
            h -= _PRIME
    e = e % 61 if e >= 0 else 60 - (-1 - e) % 61
    h = ((h & ((1 << (61 - e)) - 1)) << e) | h >> (61 - e)
    if is_negative:
        h = -h
    return -2 if h == -1 else h


def _hash_of_tuple(x: tuple[Any, ...]) -> int:
    h: Any = np.uint64(2870177450012600261)
    for element in x:
        lane = np.asarray(np.int64(hash_of(element))).astype(np.uint64)
        h = np.add(h, np.multiply(lane, np.uint64(14029467366897019727)))
        h = np.bitwise_or(np.left_shift(h, np.uint64(31)), np.right_shift(h, np.uint64(33)))
        h = np.multiply(h, np.uint64(11400714785074694791))
    h = np.add(h, np.uint64(len(x) ^ (2870177450012600261 ^ 3527539)))
    return 1546275796 if h == np.uint64(0xFFFFFFFFFFFFFFFF) else int(np.asarray(h).astype(np.int64))


class Table:
    """What a `set` and a `frozenset` have in common."""

    keys: list[Any]
    state: list[int]
    finger: int  # where `pop` looks first
    mask: int
    fill: int
    used: int

    def __ingot_take__(self, known: Any, given: Any) -> None:
        keys, states, self.finger, self.fill, self.used = given
        self.keys = numbers_of(keys, known) if isinstance(keys, np.ndarray) else []
        self.state = states.tolist()
        self.mask = len(states) - 1
        self.changed = False

    def _clear(self) -> None:
        self.state.clear()
        for _ in range(8):
            self.state.append(_EMPTY)
        self.mask = 7
        self.fill = 0
        self.used = 0

    def _slot(self, key: Any, h: int) -> int:
        """Where an element is, or would be put: into the last slot on the way whose element is gone, else into the empty one."""
        gone = -1
        perturb = h
        at = h & self.mask
        while True:
            last = at + _PROBES if at + _PROBES <= self.mask else at
            for i in range(at, last + 1):
                if self.state[i] == _EMPTY:
                    return gone if gone >= 0 else i
                if self.state[i] == _GONE:
                    gone = i
                elif self.keys[i] == key:
                    return i
            perturb = (perturb >> _SHIFT) & ((1 << (64 - _SHIFT)) - 1) if perturb < 0 else perturb >> _SHIFT
            at = (at * 5 + 1 + perturb) & self.mask

    def _put(self, i: int, key: Any) -> None:
        """Fills a slot without an element."""
        primitives.changes(self)
        while len(self.keys) <= self.mask:
            self.keys.append(key)
        self.keys[i] = key
        if self.state[i] == _EMPTY:
            self.fill += 1
        self.state[i] = _HELD
        self.used += 1

    def _resize(self, most: int) -> None:
        """Makes the table anew, of more than so many slots."""
        primitives.changes(self)
        held = [self.keys[i] for i in range(min(self.mask + 1, len(self.keys))) if self.state[i] == _HELD]
        size = 8
        while size <= most:
            size *= 2
        if size == 8 and self.mask == 7 and self.fill == self.used:
            return
        self.state.clear()
        for _ in range(size):
            self.state.append(_EMPTY)
        self.mask = size - 1
        self.fill = 0
        self.used = 0
        for key in held:
            self._put(self._slot(key, hash_of(key)), key)

    def _grow(self) -> None:
        self._resize(self.used * 2 if self.used > 50000 else self.used * 4)

    def _add(self, key: Any) -> None:
        i = self._slot(key, hash_of(key))
        if self.state[i] == _HELD:
            return
        is_new = self.state[i] == _EMPTY
        self._put(i, key)
        if is_new and self.fill * 5 >= self.mask * 3:
            self._grow()

    def __contains__(self, key: Any) -> bool:
        return self.used > 0 and self.state[self._slot(key, hash_of(key))] == _HELD

    def __len__(self) -> int:
        return self.used

    def __bool__(self) -> bool:
        return self.used > 0

    def __iter__(self) -> Iterator[Any]:
        used = self.used
        i = 0
        while True:
            if self.used != used:
                raise RuntimeError("Set changed size during iteration")
            while i <= self.mask and self.state[i] != _HELD:  # the table may be another one by now
                i += 1
            if i > self.mask:
                break
            yield self.keys[i]
            i += 1

    def _take(self, key: Any) -> bool:
        """Takes an element out; whether it was there."""
        if self.used == 0:
            return False
        i = self._slot(key, hash_of(key))
        if self.state[i] != _HELD:
            return False
        primitives.changes(self)
        self.state[i] = _GONE
        self.used -= 1
        return True

    def _merge(self, other: Any) -> None:
        """Adds the elements of another such set."""
        if other is self or other.used == 0:
            return
        if (self.fill + other.used) * 5 >= self.mask * 3:
            self._resize((self.used + other.used) * 2)
        if self.fill == 0 and self.mask == other.mask and other.fill == other.used:
            for i in range(self.mask + 1):
                if other.state[i] == _HELD:
                    self._put(i, other.keys[i])
            return
        is_clean = self.fill == 0
        for i in range(other.mask + 1):
            if other.state[i] == _HELD:
                if is_clean:
                    self._put(self._slot(other.keys[i], hash_of(other.keys[i])), other.keys[i])
                else:
                    self._add(other.keys[i])

    def _update(self, iterable: Any) -> None:
        if isinstance(iterable, Table):
            self._merge(iterable)
            return
        if isinstance(iterable, dict) and (self.fill + len(iterable)) * 5 >= self.mask * 3:
            self._resize((self.used + len(iterable)) * 2)
        for key in iterable:
            self._add(key)

    def isdisjoint(self, other: Any, /) -> bool:
        for key in other:
            if key in self:
                return False
        return True

    def issubset(self, other: Any, /) -> bool:
        rest = other if isinstance(other, (Table, set, frozenset)) else of(other)
        if self.used > len(rest):
            return False
        for key in self:
            if key not in rest:
                return False
        return True

    def issuperset(self, other: Any, /) -> bool:
        for key in other:
            if key not in self:
                return False
        return True

    def __eq__(self, other: Any) -> Any:
        return is_set(other) and self.used == len(other) and self.issubset(other)

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __le__(self, other: Any) -> Any:
        return self.issubset(other) if is_set(other) else NotImplemented

    def __lt__(self, other: Any) -> Any:
        return self.used < len(other) and self.issubset(other) if is_set(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return self.issuperset(other) if is_set(other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return self.used > len(other) and self.issuperset(other) if is_set(other) else NotImplemented


class HashSet(Table):
    """A `set`."""

    __ingot_stands_for__ = set

    def __init__(self) -> None:
        self.keys = []
        self.state = [_EMPTY]
        primitives.open_list(self.state)
        self.finger = 0
        self._clear()

    def __ingot_store__(self) -> tuple[Any, ...]:
        return self.keys, self.state, self.finger

    def __ingot_result__(self) -> Any:
        made: set[Any] = set()
        _ingot.fill_set(made, self.keys, self.state, self.finger)
        return made

    def clear(self) -> None:
        primitives.changes(self)
        self._clear()

    def add(self, key: Any, /) -> None:
        self._add(key)

    def discard(self, key: Any, /) -> None:
        self._take(key)

    def remove(self, key: Any, /) -> None:
        if not self._take(key):
            raise KeyError(key)

    def pop(self) -> Any:
        if self.used == 0:
            raise KeyError("pop from an empty set")
        i = self.finger & self.mask
        while self.state[i] != _HELD:
            i = i + 1 if i < self.mask else 0
        primitives.changes(self)
        self.state[i] = _GONE
        self.used -= 1
        self.finger = i + 1
        return self.keys[i]

    def update(self, *others: Any) -> None:
        for other in others:
            self._update(other)

    def copy(self) -> Any:
        return of(self)

    def union(self, *others: Any) -> Any:
        result = self.copy()
        result.update(*others)
        return result

    def _common(self, other: Any) -> Any:
        result = HashSet()
        if isinstance(other, Table):
            if other.used > self.used:
                for key in self:
                    if key in other:
                        result.add(key)
            else:
                for key in other:
                    if key in self:
                        result.add(key)
        else:
            for key in other:
                if key in self:
                    result.add(key)
        return result

    def intersection(self, *others: Any) -> Any:
        result = self.copy()
        for other in others:
            result = result._common(other)
        return result

    def _become(self, other: Any) -> None:
        primitives.changes(self)
        self.keys, self.state = other.keys, other.state
        self.mask, self.fill, self.used = other.mask, other.fill, other.used

    def intersection_update(self, *others: Any) -> None:
        self._become(self.intersection(*others))

    def _remove_all(self, other: Any) -> None:
        if other is self:
            self.clear()
            return
        if isinstance(other, Table) and other.used >> 3 > self.used:
            for key in self._common(other):
                self._take(key)
        else:
            for key in other:
                self._take(key)
        if self.fill - self.used > self.mask // 4:
            self._grow()

    def difference_update(self, *others: Any) -> None:
        for other in others:
            self._remove_all(other)

    def _without(self, other: Any) -> Any:
        if not isinstance(other, (Table, dict)) or self.used >> 2 > len(other):
            result = self.copy()
            result._remove_all(other)
            return result
        result = HashSet()
        for key in self:
            if key not in other:
                result.add(key)
        return result

    def difference(self, *others: Any) -> Any:
        if len(others) == 0:
            return self.copy()
        result = self._without(others[0])
        for other in others[1:]:
            result._remove_all(other)
        return result

    def symmetric_difference_update(self, other: Any, /) -> None:
        if other is self:
            self.clear()
            return
        rest = other if isinstance(other, (Table, dict)) else of(other)
        for key in rest:
            if not self._take(key):
                self.add(key)

    def symmetric_difference(self, other: Any, /) -> Any:
        result = of(other)
        result.symmetric_difference_update(self)
        return result

    def __or__(self, other: Any) -> Any:
        return self.union(other) if is_set(other) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return of(other).union(self) if is_set(other) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return self._common(as_set(other)) if is_set(other) else NotImplemented

    def __rand__(self, other: Any) -> Any:
        return of(other)._common(self) if is_set(other) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self._without(as_set(other)) if is_set(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return of(other)._without(self) if is_set(other) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return self.symmetric_difference(as_set(other)) if is_set(other) else NotImplemented

    def __rxor__(self, other: Any) -> Any:
        return of(other).symmetric_difference(self) if is_set(other) else NotImplemented

    def __ior__(self, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        self._update(as_set(other))
        return self

    def __iand__(self, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        self._become(self._common(as_set(other)))
        return self

    def __isub__(self, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        self._remove_all(as_set(other))
        return self

    def __ixor__(self, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        self.symmetric_difference_update(as_set(other))
        return self


class FrozenHashSet(Table):
    """A `frozenset` of the caller's."""

    __ingot_stands_for__ = frozenset

    def _refused(self) -> NoReturn:
        primitives.refuse("a frozenset that is made of one with elements that are not known when compiling", "make a set of it: set(...)")

    def copy(self) -> Any:
        return self

    def union(self, *others: Any) -> Any:
        self._refused()

    def intersection(self, *others: Any) -> Any:
        self._refused()

    def difference(self, *others: Any) -> Any:
        self._refused()

    def symmetric_difference(self, other: Any, /) -> Any:
        self._refused()

    def __or__(self, other: Any) -> Any:
        self._refused()

    def __and__(self, other: Any) -> Any:
        self._refused()

    def __sub__(self, other: Any) -> Any:
        self._refused()

    def __xor__(self, other: Any) -> Any:
        self._refused()

    def __ror__(self, other: Any) -> Any:
        self._refused()

    def __rand__(self, other: Any) -> Any:
        self._refused()

    def __rsub__(self, other: Any) -> Any:
        self._refused()

    def __rxor__(self, other: Any) -> Any:
        self._refused()


class KnownSet:
    """A set of known elements: one of the caller's, or a result, which is made by what was done to make it."""

    __ingot_stands_for__ = set

    history: tuple[Any, ...]

    @staticmethod
    def __ingot_history__(known: tuple[Any, ...]) -> Any:
        return importlib.import_module("ingot._objects.sets").of_table(known)

    def __ingot_result__(self) -> Any:
        sets = importlib.import_module("ingot._objects.sets")
        return sets.build(sets.unpacked(self.history))


def is_set(x: Any) -> bool:
    return isinstance(x, (set, frozenset, Table))


def as_set(x: Any) -> Any:
    return x if isinstance(x, Table) else of(x)


def of(iterable: Any) -> Any:
    """`set(iterable)`."""
    made = HashSet()
    made._update(iterable)
    return made


def display(elements: tuple[Any, ...]) -> Any:
    """`{a, b}`."""
    made = HashSet()
    for element in elements:
        made.add(element)
    return made


HashSet.__name__ = "set"  # as messages have it
FrozenHashSet.__name__ = "frozenset"
