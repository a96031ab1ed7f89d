"""The classes of `collections` whose lengths are known only when the call runs, and `SimpleNamespace`: made in compiled code,
returned as Python's.

Each is an ordinary class over a list or a dict. `__ingot_stands_for__` is the class that it is for users; `__ingot_result__`
makes an instance of that where one leaves compiled code. Of a container of the caller's, an instance is a copy: `__ingot_take__`
makes it of what `_objects.copied` gives of the container, `__ingot_store__` gives what the container is to hold, once a method has
called `primitives.changes`, as each does that changes something.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import primitives
from .buffers import integer_of, name_of
from .registry import implements


def number_of(x: Any, is_numpys: bool) -> Any:
    """An element of an array as the number that the caller's container holds."""
    return x if is_numpys else primitives.python_number(x)


def numbers_of(array: np.ndarray, is_numpys: bool) -> list[Any]:
    return [x for x in array] if is_numpys else array.tolist()


def need_type(given: Any, is_numpys: bool, now: Any, name: str) -> None:
    """Refuses a change by which numbers that the caller has put into a container would be of another type."""
    if isinstance(given, np.ndarray) and type(number_of(given[0], is_numpys)) is not type(now):
        primitives.refuse(f"a {name} of the caller's of numbers of one type that gets those of another type", "convert them before: int(...) or float(...)")


class Deque:
    """A `deque`: a ring of elements in a list, of which `size` are there from the index `first` on."""

    __ingot_stands_for__ = collections.deque

    def __init__(self, iterable: Any = (), maxlen: Any = None) -> None:
        if maxlen is not None and maxlen < 0:
            raise ValueError("maxlen must be non-negative")
        self.ring: list[Any] = []
        self.first = 0
        self.size = 0
        self.changes = 0
        self._maxlen = maxlen
        for element in iterable:
            self.append(element)

    def __ingot_take__(self, known: Any, given: Any) -> None:
        maxlen, self.is_numpys = known
        self.ring = numbers_of(given, self.is_numpys) if isinstance(given, np.ndarray) else [*given]
        self.first = 0
        self.size = len(self.ring)
        self.changes = 0
        self._maxlen = maxlen
        self.changed = False
        self.given = given

    def __ingot_store__(self) -> tuple[Any, ...]:
        if self.size > 0:
            need_type(self.given, self.is_numpys, self.ring[self.first], "deque")
        return ([self.ring[self._index(i)] for i in range(self.size)],)

    def __ingot_result__(self) -> Any:
        return collections.deque([self.ring[(self.first + i) % len(self.ring)] for i in range(self.size)], self._maxlen)

    @property
    def maxlen(self) -> Any:
        return self._maxlen

    def _index(self, i: Any) -> Any:
        """Where the i-th element is, which is there."""
        k = self.first + i
        return k - len(self.ring) if k >= len(self.ring) else k

    def _checked(self, i: Any) -> Any:
        if isinstance(i, (slice, str, bytes, float, complex, np.inexact)):
            raise TypeError(f"sequence index must be integer, not '{'slice' if isinstance(i, slice) else name_of(i)}'")
        k = i + self.size if i < 0 else i
        if k < 0 or k >= self.size:
            raise IndexError("deque index out of range")
        return self._index(k)

    def _grow(self, element: Any) -> None:
        """Makes the ring twice as long; it is full, and begins at 0 then."""
        ring = [element]
        primitives.open_list(ring)
        ring.clear()
        for i in range(self.size):
            ring.append(self.ring[self._index(i)])
        for _ in range(max(self.size, 4)):
            ring.append(element)
        self.ring = ring
        self.first = 0

    def __len__(self) -> int:
        return self.size

    def __bool__(self) -> bool:
        return self.size > 0

    def __iter__(self) -> Iterator[Any]:
        changes = self.changes
        i = 0
        while True:
            if self.changes != changes:
                raise RuntimeError("deque mutated during iteration")
            if i == self.size:
                break
            yield self.ring[self._index(i)]
            i += 1

    def __reversed__(self) -> Iterator[Any]:
        changes = self.changes
        i = self.size
        while True:
            if self.changes != changes:
                raise RuntimeError("deque mutated during iteration")
            if i == 0:
                break
            i -= 1
            yield self.ring[self._index(i)]

    def __contains__(self, wanted: Any) -> bool:
        for element in self:
            if element == wanted:
                return True
        return False

    def __getitem__(self, i: Any) -> Any:
        return self.ring[self._checked(i)]

    def __setitem__(self, i: Any, element: Any) -> None:
        primitives.changes(self)
        self.ring[self._checked(i)] = element

    def append(self, element: Any, /) -> None:
        primitives.changes(self)
        if self._maxlen is not None and self.size == self._maxlen:
            if self._maxlen == 0:
                return
            self.popleft()
        if self.size == len(self.ring):
            self._grow(element)
        self.ring[self._index(self.size)] = element
        self.size += 1
        self.changes += 1

    def appendleft(self, element: Any, /) -> None:
        primitives.changes(self)
        if self._maxlen is not None and self.size == self._maxlen:
            if self._maxlen == 0:
                return
            self.pop()
        if self.size == len(self.ring):
            self._grow(element)
        self.first = len(self.ring) - 1 if self.first == 0 else self.first - 1
        self.ring[self.first] = element
        self.size += 1
        self.changes += 1

    def pop(self) -> Any:
        primitives.changes(self)
        if self.size == 0:
            raise IndexError("pop from an empty deque")
        self.size -= 1
        self.changes += 1
        return self.ring[self._index(self.size)]

    def popleft(self) -> Any:
        primitives.changes(self)
        if self.size == 0:
            raise IndexError("pop from an empty deque")
        element = self.ring[self.first]
        self.first = self._index(1)
        self.size -= 1
        self.changes += 1
        return element

    def extend(self, iterable: Any, /) -> None:
        for element in list(iterable) if iterable is self else iterable:
            self.append(element)

    def extendleft(self, iterable: Any, /) -> None:
        for element in list(iterable) if iterable is self else iterable:
            self.appendleft(element)

    def __iadd__(self, iterable: Any) -> Any:
        self.extend(iterable)
        return self

    def clear(self) -> None:
        primitives.changes(self)
        self.first = 0
        self.size = 0
        self.changes += 1

    def copy(self) -> Any:
        return Deque(self, self._maxlen)

    def count(self, wanted: Any, /) -> int:
        n = 0
        for element in self:
            if element == wanted:
                n += 1
        return n

    def index(self, wanted: Any, start: Any = 0, stop: Any = None, /) -> int:
        end = self.size if stop is None else stop
        if start < 0:
            start = max(start + self.size, 0)
        if end < 0:
            end = max(end + self.size, 0)
        for i in range(start, min(end, self.size)):
            if self.ring[self._index(i)] == wanted:
                return i
        raise ValueError(f"{wanted!r} is not in deque")

    def rotate(self, n: Any = 1, /) -> None:
        n = integer_of(n)
        if self.size > 1:
            right = n % self.size
            if 2 * right <= self.size:
                for _ in range(right):
                    self.appendleft(self.pop())
            else:
                for _ in range(self.size - right):
                    self.append(self.popleft())

    def reverse(self) -> None:
        primitives.changes(self)
        for i in range(self.size // 2):
            a, b = self._index(i), self._index(self.size - 1 - i)
            self.ring[a], self.ring[b] = self.ring[b], self.ring[a]

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, collections.deque) or len(self) != len(other):
            return False
        for i in range(self.size):
            if not self[i] == other[i]:
                return False
        return True

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __delitem__(self, i: Any) -> None:
        primitives.changes(self)
        self._checked(i)
        for k in range(i + self.size if i < 0 else i, self.size - 1):
            self.ring[self._index(k)] = self.ring[self._index(k + 1)]
        self.size -= 1
        self.changes += 1

    def __add__(self, other: Any) -> Any:
        primitives.refuse("`+` of a deque", "use copy and extend")

    def __mul__(self, n: Any) -> Any:
        primitives.refuse("`*` of a deque", "use extend")

    def __rmul__(self, n: Any) -> Any:
        primitives.refuse("`*` of a deque", "use extend")

    def __imul__(self, n: Any) -> Any:
        primitives.refuse("`*` of a deque", "use extend")

    def __lt__(self, other: Any) -> Any:
        primitives.refuse("an order of deques", "compare lists of their elements")

    def __le__(self, other: Any) -> Any:
        primitives.refuse("an order of deques", "compare lists of their elements")

    def __gt__(self, other: Any) -> Any:
        primitives.refuse("an order of deques", "compare lists of their elements")

    def __ge__(self, other: Any) -> Any:
        primitives.refuse("an order of deques", "compare lists of their elements")

    def remove(self, wanted: Any, /) -> None:
        for i in range(self.size):
            if self.ring[self._index(i)] == wanted:
                del self[i]
                return
        raise ValueError(f"{wanted!r} is not in deque")

    def insert(self, i: Any, element: Any, /) -> None:
        if self._maxlen is not None and self.size >= self._maxlen:
            raise IndexError("deque already at its maximum size")
        i = integer_of(i)
        at = min(max(i + self.size if i < 0 else i, 0), self.size)
        self.append(element)
        for k in range(self.size - 1, at, -1):
            self.ring[self._index(k)] = self.ring[self._index(k - 1)]
        self.ring[self._index(at)] = element


@implements(collections.deque)
def deque(iterable: Any = (), maxlen: Any = None) -> Any:
    return Deque(iterable, maxlen)


class Mapping:
    """What dicts of other classes have in common: `entries` is the dict."""

    entries: dict[Any, Any]

    def _take(self, known: Any, given: Any) -> None:
        keys, keys_are_numpys, self.is_numpys = known
        self.entries = {}
        self.given = None
        if keys is None:
            names, self.given = given
            for i in range(len(names)):
                self.entries[number_of(names[i], keys_are_numpys)] = number_of(self.given[i], self.is_numpys)
        else:
            for key, value in zip(keys, given):
                self.entries[key] = value
        self.changed = False

    def __ingot_take__(self, known: Any, given: Any) -> None:
        self._take(known, given)

    def _need_type(self) -> None:
        if self.given is not None and len(self.entries) > 0:
            for value in self.entries.values():
                need_type(self.given, self.is_numpys, value, "dict")
                break

    def __ingot_store__(self) -> tuple[Any, ...]:
        self._need_type()
        return (self.entries,)

    def __len__(self) -> int:
        return len(self.entries)

    def __bool__(self) -> bool:
        return len(self.entries) > 0

    def __iter__(self) -> Iterator[Any]:
        for key in self.entries:  # noqa: UP028
            yield key

    def __contains__(self, key: Any) -> bool:
        return key in self.entries

    def __setitem__(self, key: Any, value: Any) -> None:
        primitives.changes(self)
        self.entries[key] = value

    def __delitem__(self, key: Any) -> None:
        primitives.changes(self)
        del self.entries[key]

    def keys(self) -> Any:
        return self.entries.keys()

    def values(self) -> Any:
        return self.entries.values()

    def items(self) -> Any:
        return self.entries.items()

    def get(self, key: Any, default: Any = None, /) -> Any:
        return self.entries.get(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        primitives.changes(self)
        return self.entries.pop(key, *default)

    def setdefault(self, key: Any, default: Any = None, /) -> Any:
        primitives.changes(self)
        return self.entries.setdefault(key, default)

    def clear(self) -> None:
        primitives.changes(self)
        self.entries.clear()

    def popitem(self) -> Any:
        primitives.changes(self)
        if len(self.entries) == 0:
            raise KeyError("popitem(): dictionary is empty")
        key = list(self.entries)[-1]
        return key, self.entries.pop(key)

    def __or__(self, other: Any) -> Any:
        primitives.refuse("`|` of such dicts", "use copy and update")

    def __ror__(self, other: Any) -> Any:
        primitives.refuse("`|` of such dicts", "use copy and update")

    def __ior__(self, other: Any) -> Any:
        primitives.refuse("`|=` of such dicts", "use update")

    def __eq__(self, other: Any) -> Any:
        return self.entries == (other.entries if isinstance(other, Mapping) else other)

    def __ne__(self, other: Any) -> Any:
        return not self == other


class DefaultDict(Mapping):
    """A `defaultdict`."""

    __ingot_stands_for__ = collections.defaultdict

    def __init__(self, default_factory: Any, entries: dict[Any, Any]) -> None:
        self._factory = default_factory
        self.entries = entries

    def __ingot_take__(self, known: Any, given: Any) -> None:
        self._take(known[0], given)
        self._factory = known[1]

    def __ingot_store__(self) -> tuple[Any, ...]:
        self._need_type()
        return self.entries, self._factory

    def __ingot_result__(self) -> Any:
        return collections.defaultdict(self._factory, self.entries)

    @property
    def default_factory(self) -> Any:
        return self._factory

    @default_factory.setter
    def default_factory(self, factory: Any) -> None:
        primitives.changes(self)
        self._factory = factory

    def __getitem__(self, key: Any) -> Any:
        if self._factory is not None and key not in self.entries:
            primitives.changes(self)
            self.entries[key] = self._factory()
        return self.entries[key]

    def copy(self) -> Any:
        return DefaultDict(self._factory, self.entries.copy())

    def update(self, *given: Any, **named: Any) -> None:
        primitives.changes(self)
        self.entries.update(*given, **named)


@implements(collections.defaultdict)
def defaultdict(default_factory: Any = None, /, *given: Any, **named: Any) -> Any:
    return DefaultDict(default_factory, dict(*given, **named))


class Counter(Mapping):
    """A `Counter`."""

    __ingot_stands_for__ = collections.Counter

    def __init__(self, entries: dict[Any, Any]) -> None:
        self.entries = entries

    def __ingot_result__(self) -> Any:
        return collections.Counter(self.entries)

    def __getitem__(self, key: Any) -> Any:
        return self.entries.get(key, 0)

    def copy(self) -> Any:
        return Counter(self.entries.copy())

    def update(self, iterable: Any = None, /) -> None:
        primitives.changes(self)
        if isinstance(iterable, (dict, Mapping)):
            if len(self.entries) == 0:
                for key, count in iterable.items():
                    self.entries[key] = count
            else:
                for key, count in iterable.items():
                    self.entries[key] = count + self.entries.get(key, 0)
        elif iterable is not None:
            for key in iterable:
                self.entries[key] = self.entries.get(key, 0) + 1

    def subtract(self, iterable: Any = None, /) -> None:
        primitives.changes(self)
        if isinstance(iterable, (dict, Mapping)):
            for key, count in iterable.items():
                self.entries[key] = self.entries.get(key, 0) - count
        elif iterable is not None:
            for key in iterable:
                self.entries[key] = self.entries.get(key, 0) - 1

    def __delitem__(self, key: Any) -> None:
        if key in self.entries:
            primitives.changes(self)
            del self.entries[key]

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Counter):
            return NotImplemented
        result = Counter({})
        for key, count in self.entries.items():
            if count + other[key] > 0:
                result.entries[key] = count + other[key]
        for key, count in other.entries.items():
            if key not in self.entries and count > 0:
                result.entries[key] = count
        return result

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, Counter):
            return NotImplemented
        result = Counter({})
        for key, count in self.entries.items():
            if count - other[key] > 0:
                result.entries[key] = count - other[key]
        for key, count in other.entries.items():
            if key not in self.entries and count < 0:
                result.entries[key] = 0 - count
        return result

    def __and__(self, other: Any) -> Any:
        primitives.refuse("`&` of Counters", "take the smaller counts in a loop")

    def __or__(self, other: Any) -> Any:
        primitives.refuse("`|` of Counters", "take the larger counts in a loop")

    def __neg__(self) -> Any:
        primitives.refuse("a sign of a Counter", "use a loop")

    def __pos__(self) -> Any:
        primitives.refuse("a sign of a Counter", "use a loop")

    def __lt__(self, other: Any) -> Any:
        primitives.refuse("an order of Counters", "compare their counts in a loop")

    def __le__(self, other: Any) -> Any:
        primitives.refuse("an order of Counters", "compare their counts in a loop")

    def __gt__(self, other: Any) -> Any:
        primitives.refuse("an order of Counters", "compare their counts in a loop")

    def __ge__(self, other: Any) -> Any:
        primitives.refuse("an order of Counters", "compare their counts in a loop")

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, Counter):
            return self.entries == (other.entries if isinstance(other, Mapping) else other)
        for key, count in self.entries.items():
            if count != other[key]:
                return False
        for key, count in other.entries.items():
            if count != self[key]:
                return False
        return True

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def total(self) -> Any:
        return sum(self.entries.values())

    def elements(self) -> Iterator[Any]:
        for key, count in self.entries.items():
            for _ in range(count):
                yield key

    def most_common(self, n: Any = None) -> Any:
        ordered = sorted(self.entries.items(), key=lambda item: item[1], reverse=True)
        return ordered if n is None else ordered[: max(n, 0)]


@implements(collections.Counter)
def counter(iterable: Any = None, /) -> Any:
    made = Counter({})
    made.update(iterable)
    return made


class OrderedDict(Mapping):
    """An `OrderedDict`."""

    __ingot_stands_for__ = collections.OrderedDict

    def __init__(self, entries: dict[Any, Any]) -> None:
        self.entries = entries

    def __ingot_result__(self) -> Any:
        return collections.OrderedDict(self.entries)

    def __getitem__(self, key: Any) -> Any:
        return self.entries[key]

    def copy(self) -> Any:
        return OrderedDict(self.entries.copy())

    def update(self, *given: Any, **named: Any) -> None:
        primitives.changes(self)
        self.entries.update(*given, **named)

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, OrderedDict):
            return list(self.entries.items()) == list(other.entries.items())
        return self.entries == (other.entries if isinstance(other, Mapping) else other)

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def move_to_end(self, key: Any, last: bool = True) -> None:
        primitives.changes(self)
        value = self.entries.pop(key)
        if last:
            self.entries[key] = value
        else:
            rest = self.entries.copy()
            self.entries.clear()
            self.entries[key] = value
            for other, kept in rest.items():
                self.entries[other] = kept

    def popitem(self, last: bool = True) -> Any:
        primitives.changes(self)
        if len(self.entries) == 0:
            raise KeyError("dictionary is empty")
        keys = list(self.entries)
        key = keys[-1] if last else keys[0]
        return key, self.entries.pop(key)


@implements(collections.OrderedDict)
def ordered_dict(*given: Any, **named: Any) -> Any:
    return OrderedDict(dict(*given, **named))


class Namespace:
    """A `SimpleNamespace`: an instance of the attributes that it is given."""

    __ingot_stands_for__ = types.SimpleNamespace
    __ingot_plain__ = True  # what leaves compiled code is one with the same attributes

    def __eq__(self, other: object) -> Any:
        primitives.refuse("a comparison of SimpleNamespaces", "compare their attributes")

    def __ne__(self, other: object) -> Any:
        primitives.refuse("a comparison of SimpleNamespaces", "compare their attributes")

    __hash__ = None  # type: ignore[assignment]


@implements(types.SimpleNamespace)
def namespace(*given: Any, **named: Any) -> Any:
    if len(given) > 0:
        primitives.refuse("a SimpleNamespace of a mapping", "give its attributes by name")
    return primitives.instance(Namespace, tuple(named), tuple(named.values()))


Namespace.__name__ = "types.SimpleNamespace"  # as messages have it
for _class in (Deque, DefaultDict, OrderedDict):
    _class.__name__ = f"collections.{_class.__ingot_stands_for__.__name__}"
