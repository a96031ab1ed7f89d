"""What is stored of a compiled function, and how it is found again.

Two kinds of entries are in a file, which is that of a function's code, of a description of its arguments and of the
facts that were known when they were described: *code*, with all that a specialisation is made of, and *facts*, which
name what else has to be described, and so which file to look into next.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _devices, _ingot
from .names import Changed, Finder, Namer, Unnamed, define, form_of, is_plain, refuse

if TYPE_CHECKING:
    from .._calls.function import Function

_NOTHING = _ingot.Description(_ingot.Description.STATIC, object=None)
MOST_ENTRIES = 16
"""In one file; those that were stored first go first."""
CODE, FACTS = "code", "facts"
_LIBRARY = "ingot.library."
REGISTRIES = ("ingot.library.registry", "ingot.library.structures")
"""Modules whose `changed` is guarded: what users have registered there, in `users`, is part of every key."""


class Entry(NamedTuple):
    """One entry. What is stored under one head is replaced by what is stored under it later."""

    kind: str
    steps: bytes
    """How the objects are found that the head refers to."""
    head: bytes
    tier: int
    body: bytes
    """An object file; empty: nobody has asked for code yet."""


def packed(entries: list[Entry]) -> bytes:
    return _ingot.encode(tuple(map(tuple, entries)), refuse)


def unpacked(content: bytes) -> list[Entry]:
    """ValueError: they are no entries."""
    entries = _ingot.decode(content, [])
    try:
        return [Entry(*entry) for entry in entries]
    except TypeError:
        raise ValueError("no entries") from None


def joined(new: Entry, others: list[Entry]) -> list[Entry]:
    """Entries with a new one among them, which replaces its like; one without code replaces none that has some."""
    if new.kind == CODE and not new.body and any(each[:3] == new[:3] for each in others):
        return others
    return [new, *(each for each in others if each[:3] != new[:3])][:MOST_ENTRIES]


class Facts(NamedTuple):
    """What a function knows of its arguments beyond their types when it describes them."""

    demanded: tuple[int, ...]
    measured: tuple[int, ...]
    opened: tuple[int, ...]
    buffered: tuple[int, ...]
    opens_texts: bool
    captures: tuple[tuple[Any, str], ...]
    attributes: tuple[tuple[type[Any], tuple[str, ...]], ...]

    @classmethod
    def of(cls, function: Function) -> Facts:
        return cls(
            tuple(function._demanded()),
            tuple(sorted(function._measured)),
            tuple(sorted(function._opened)),
            tuple(sorted(function._buffered)),
            function._opens_texts,
            tuple(function._captures()),
            tuple(function._attributes().items()),
        )

    @property
    def are_none(self) -> bool:
        return self == NO_FACTS

    @property
    def outline(self) -> tuple[Any, ...]:
        """All but the objects."""
        return (*self[:5], tuple(name for _, name in self.captures), tuple(names for _, names in self.attributes))

    def are_more_than(self, others: Facts) -> bool:
        """Whether all of `others` are among these."""
        return (
            set(others.demanded) <= set(self.demanded)
            and set(others.measured) <= set(self.measured)
            and others.opened in ((), self.opened)
            and set(others.buffered) <= set(self.buffered)
            and (others.opens_texts or not self.opens_texts)
            and len(others.captures) <= len(self.captures)
            and all(a is b and n == m for (a, n), (b, m) in zip(others.captures, self.captures))
            and all(any(t is u and set(names) <= set(more) for u, more in self.attributes) for t, names in others.attributes)
        )

    def are_those_of(self, others: Facts) -> bool:
        return self.outline == others.outline and self.are_more_than(others)

    def teach(self, function: Function) -> None:
        """Has a function describe its arguments so, from now on."""
        for owner, name in self.captures[len(function._captures()) :]:
            function._capture(owner, name)
        for kind, names in self.attributes:
            function._describe_attributes(kind, names)
        for argument in self.demanded:
            function._demand(argument)
        for argument in self.measured:
            function._measured.add(argument)
            function._measure(argument)
        for argument in self.buffered:
            function._buffered.add(argument)
            function._buffer_lists(argument)
        function._opened, function._opens_texts = set(self.opened), self.opens_texts
        function._open_texts(self.opened)

    def stored(self, namer: Namer) -> tuple[Any, ...]:
        """With the numbers of objects. Raises Unnamed."""
        captures = tuple((namer.number(owner), name) for owner, name in self.captures)
        return (*self[:5], captures, tuple((namer.number(kind), names) for kind, names in self.attributes))

    @classmethod
    def restored(cls, stored: tuple[Any, ...], objects: list[Any]) -> Facts:
        *plain, captures, attributes = stored
        fields = [*plain, tuple((objects[o], n) for o, n in captures), tuple((objects[t], n) for t, n in attributes)]
        return cls(*fields)


NO_FACTS = Facts((), (), (), (), True, (), ())


class Key(NamedTuple):
    """What a file is found by."""

    digest: bytes
    objects: list[Any]
    """Those in the description of the arguments, which have to be found, in order."""


def _target(description: tuple[_ingot.Description, ...]) -> tuple[Any, ...]:
    """What code for the device of such arguments depends on."""
    last = description[-1] if description else None
    if last is None or last.kind != _ingot.Description.DEVICE:
        return ()
    device = _devices.of(f"{last.device_kind}:{last.index}")
    return device.code, device.capability, device.driver


def key_of(environment: bytes, function: Function, description: tuple[_ingot.Description, ...], facts: Facts) -> Key:
    """Raises Unnamed."""
    objects: list[Any] = []

    def name(value: Any) -> int:
        objects.append(value)
        return len(objects) - 1

    plan = tuple(map(tuple, function._directives))
    options = (function._relaxed, function._in_order, plan, tuple(map(tuple, function._static)), str(function._signatures), str(function._device))
    device = (*_target(description), *function._loading[1:])
    of_function = form_of(function.__ingot_function__)
    return Key(_ingot.digest(_ingot.encode((environment, of_function, options, description, facts.outline, device), name)), objects)


def facts_entry(function: types.FunctionType, objects: list[Any], facts: Facts, guards: tuple[Any, ...]) -> Entry:
    """What has to be described of arguments with these objects in their description without facts. Raises Unnamed."""
    namer = Namer(function, objects)
    for owner, name in facts.captures:  # of what is captured, the classes have facts
        for value in _ingot.held(owner, name):
            if _ingot.is_instance(value) and namer.knows(owner) and not namer.knows(value):
                namer.add(value, ("held", namer.number(owner), name))
    for _ in _named_guards(namer, guards):
        pass
    head = _ingot.encode(facts.stored(namer), refuse)
    return Entry(FACTS, _ingot.encode(tuple(namer.steps), refuse), head, 0, b"")


def found_facts(entry: Entry, function: types.FunctionType, objects: list[Any]) -> Facts:
    """Raises Changed."""
    finder = Finder(function, objects, _ingot.decode(entry.steps, []))
    return Facts.restored(_ingot.decode(entry.head, []), finder.objects)


Guard = tuple[Any, str, Any, bool, bool]
_Seen = dict[tuple[int, str, bool], tuple[Any, bool]]
"""What was read and whether it was there, by the number of its owner, its name, and whether that is looked for in a class."""


def _is_ours(owner: Any) -> bool:
    """Whether it is a function of the library, or the dict of a module of it: its build is part of every key.

    Not if it was made by another function, for one of the user's.
    """
    if isinstance(owner, types.FunctionType):
        return owner.__closure__ is None and str(owner.__module__).startswith(_LIBRARY)
    return type(owner) is dict and str(owner.get("__name__")).startswith(_LIBRARY)


def _of_users(guards: Iterable[Guard]) -> list[Guard]:
    """The guards of what is not the library's own."""
    ours = {id(expected) for owner, name, expected, *_ in guards if name == "__kwdefaults__" and _is_ours(owner)}
    return [guard for guard in guards if id(guard[0]) not in ours and not _is_ours(guard[0])]


def _seen(guards: Iterable[Guard]) -> _Seen | None:
    """What was read, of the user's objects; None: something has changed between two looks at it."""
    found: _Seen = {}
    for owner, name, expected, present, in_class in _of_users(guards):
        before = found.setdefault((id(owner), name, in_class), (expected, present))
        if not _is_equal(before, (expected, present)):
            return None
    return found


def are_same_guards(some: Iterable[Guard], others: Iterable[Guard]) -> bool:
    """Whether code was made of the same, of the user's objects and numbers, whatever these are by now."""
    mine, theirs = _seen(some), _seen(others)
    return mine is not None and theirs is not None and mine.keys() == theirs.keys() and _agree(mine, theirs)


def do_agree(some: Iterable[Guard], others: Iterable[Guard]) -> bool:
    """Whether what both have looked at was the same."""
    mine, theirs = _seen(some), _seen(others)
    return mine is not None and theirs is not None and _agree(mine, theirs)


def _agree(mine: _Seen, theirs: _Seen) -> bool:
    return all(_is_equal(mine[key], theirs[key]) for key in mine.keys() & theirs.keys())


def _is_equal(a: tuple[Any, bool], b: tuple[Any, bool]) -> bool:
    (value, is_there), (other, is_other_there) = a, b
    if is_there is not is_other_there or not is_there or value is other:
        return is_there is is_other_there
    return is_plain(value) and is_plain(other) and _ingot.encode(value, refuse) == _ingot.encode(other, refuse)


def _named_guards(namer: Namer, guards: tuple[Guard, ...]) -> Iterator[tuple[Any, ...]]:
    """Guards with numbers instead of objects. What an owner is found by may be guarded later. Raises Unnamed."""
    waiting = _of_users(guards)
    while waiting:
        later = []
        for guard in waiting:
            owner, name, expected, present, in_class = guard
            try:
                number = namer.number(owner)
            except Unnamed:
                later.append(guard)
                continue
            if not present or is_plain(expected):
                yield (number, name, False, expected, present, in_class)
                continue
            try:
                held = namer.number(expected)
            except Unnamed:
                held = namer.add(expected, ("class" if in_class else "held", number, name))
            yield (number, name, True, held, present, in_class)
        if len(later) == len(waiting):
            namer.number(later[0][0])
        waiting = later


class Stored(NamedTuple):
    """What a specialisation is made of."""

    result: _ingot.Description
    hosts: tuple[Any, ...]
    writes: bool
    layouts: tuple[Any, ...]
    errors: list[Any]
    multiplies: bool
    functions: tuple[Any, ...]
    by_library: bool
    """Whether a device's library multiplies its matrices."""
    raises: tuple[tuple[str, str], ...]
    """What it may raise, and of what kind that is."""


def code_entry(
    function: types.FunctionType, objects: list[Any], facts: Facts, guards: tuple[Guard, ...], stored: Stored, tier: int, body: bytes
) -> Entry:
    """Raises Unnamed."""
    namer = Namer(function, objects)
    named = tuple(_named_guards(namer, guards))
    registries = tuple(r for r in REGISTRIES if any(type(owner) is dict and owner.get("__name__") == r and n == "changed" for owner, n, *_ in guards))
    parts = _ingot.encode(tuple(stored), namer.number)
    own_facts = facts.stored(namer)
    places = tuple((code.co_filename, *_lines(code), number) for code, number in namer.codes.items())
    head = _ingot.encode((named, registries, own_facts, places, parts), refuse)
    return Entry(CODE, _ingot.encode(tuple(namer.steps), refuse), head, tier, body)


class Restored(NamedTuple):
    """What `code_entry` was given, in this process."""

    stored: Stored
    guards: tuple[Guard, ...]
    moves: tuple[tuple[Any, ...], ...]
    """Where functions are now that were elsewhere: file, first and last line, the file now, and by how many lines."""


def restored(entry: Entry, function: types.FunctionType, objects: list[Any], facts: Facts) -> Restored:
    """Raises Changed."""
    finder = Finder(function, objects, _ingot.decode(entry.steps, []))
    named, registries, own_facts, places, parts = _ingot.decode(entry.head, [])
    own = finder.objects
    if not Facts.restored(own_facts, own).are_those_of(facts):
        raise Changed
    guards = [(own[owner], name, own[held] if is_object else held, *rest) for owner, name, is_object, held, *rest in named]
    for owner, name, *_ in guards:
        define(owner, name)
    for registry in registries:
        module = __import__(registry, fromlist=("changed",))
        guards.append((module.__dict__, "changed", module.changed, True, False))
    if _ingot.Specialisation(tuple(guards), _NOTHING, [], False).changed() is not None:
        raise Changed
    moves = tuple(_moves(places, own))
    stored = Stored(*_ingot.decode(parts, own))
    if moves:
        where = mover(moves)
        stored = stored._replace(hosts=moved(stored.hosts, where), errors=moved(stored.errors, where))
    return Restored(stored, tuple(guards), moves)


def _lines(code: types.CodeType) -> tuple[int, int]:
    """The first and last line of a code object, with those inside it."""
    last = max([code.co_firstlineno, *(line for *_, line in code.co_lines() if line is not None)])
    inside = [_lines(constant)[1] for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return code.co_firstlineno, max([last, *inside])


def _moves(places: tuple[Any, ...], objects: list[Any]) -> Iterator[tuple[Any, ...]]:
    all_places = [(file, first, last, objects[number].__code__) for file, first, last, number in places]
    if any(code.co_filename != file or code.co_firstlineno != first for file, first, _, code in all_places):
        yield from ((file, first, last, code.co_filename, code.co_firstlineno - first) for file, first, last, code in all_places)


def mover(moves: tuple[tuple[Any, ...], ...]) -> Callable[[str, int], tuple[str, int]]:
    """Where a line of a file is now."""

    def where(file: str, line: int) -> tuple[str, int]:
        for old, first, last, new, lines in moves:
            if file == old and first <= line <= last:
                return new, line + lines
        return file, line

    return where


def moved(value: Any, where: Callable[[str, int], tuple[str, int]]) -> Any:
    """A value with its sites - (file, line, column, end, function) - where they are now."""
    if type(value) is _ingot.Description:
        return value.with_objects(lambda each: moved(each, where))
    if type(value) is list:
        return [moved(each, where) for each in value]
    if type(value) is not tuple:
        return value
    if len(value) == 5 and [type(each) for each in value] == [str, int, int, int, str]:
        return (*where(value[0], value[1]), *value[2:])
    return tuple(moved(each, where) for each in value)
