"""The cache of compiled code on disk: what one process compiles, the next one loads.

`docs/cache.md` has the rules. `folder` keeps files, `entries` has what is in them, `names` describes how Python's objects
are found again.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _ingot
from .._environment import value_of
from . import entries
from .entries import CODE, FACTS, NO_FACTS, Entry, Facts, Key, Restored, Stored
from .folder import VERSION, Folder, is_on, limit, where
from .identity import build
from .names import Changed, Unnamed, form_of, refuse

if TYPE_CHECKING:
    from .._calls.function import Function
    from .claims import Claims

Fits = Callable[[Stored, tuple[Any, ...]], bool]
"""Whether what is stored can be used in this process, for arguments of a description."""

_VARIABLES = ("INGOT_VECTORS", "INGOT_THREADS", "INGOT_STREAMS")
"""What the environment specifies for the code that is made."""
_MOST_LESSONS = 8


def _registrations() -> tuple[Any, ...]:
    """What users have registered with `ingot.implements` and for `ingot.tree`. Raises Unnamed."""
    found = []
    for name in entries.REGISTRIES:
        users = getattr(sys.modules.get(name), "users", {})
        found.append(tuple(sorted((repr(form_of(what)), repr(form_of(by))) for what, by in users.items())))
    return tuple(found)


class Environment:
    """What compiled code depends on that is the same for a whole process."""

    def __init__(self) -> None:
        self.build = build(_ingot.digest)
        self._parts = (VERSION, self.build, sys.version, _ingot.cpu_features())

    def digest(self) -> bytes:
        """Raises Unnamed."""
        variables = tuple(map(value_of, _VARIABLES))
        return _ingot.digest(_ingot.encode((*self._parts, np.__version__, variables, _registrations()), refuse))


class Keys(NamedTuple):
    """Where a specialisation is stored, and what was known when it was made."""

    function: Any
    facts: Facts
    own: Key
    plain: Key
    """Of its arguments as they are described without facts."""


class Cache:
    """A folder with what this process may take from it and add to it."""

    def __init__(self) -> None:
        self.folder = Folder(where(), limit())
        self._environment = Environment()

    @functools.cached_property
    def claims(self) -> Claims:
        """What this process compiles for others, too."""
        from .claims import Claims

        return Claims(self.folder, value_of("INGOT_CACHE_WAIT"))

    def keys(self, function: Function, arguments: Any, values: list[Any]) -> Keys | None:
        """None: what is compiled for these arguments cannot be stored."""
        try:
            environment = self._environment.digest()
            source = function.__ingot_function__
            facts = Facts.of(function)
            own = entries.key_of(environment, function, arguments.key, facts)
            if facts.are_none:
                return Keys(source, facts, own, own)
            return Keys(source, facts, own, entries.key_of(environment, function, function._describe_plainly(values).key, NO_FACTS))
        except Unnamed:
            return None

    def find(self, function: Function, arguments: Any, values: list[Any], fits: Fits) -> tuple[Found | None, Any]:
        """What is stored for arguments, and fits (None: nothing), and the arguments as the function describes them by now."""
        for _ in range(_MOST_LESSONS):
            keys = self.keys(function, arguments, values)
            if keys is None:
                break
            here = self._read(keys.own.digest)
            found = _first_that_holds(function, keys, here, fits, arguments.key)
            if found is not None:
                return found, arguments
            if not self._learn(function, keys, here if keys.own is keys.plain else self._read(keys.plain.digest)):
                break
            arguments = function._describe(values)
        return None, arguments

    def first(self, function: Function, arguments: Any, values: list[Any]) -> contextlib.AbstractContextManager[None]:
        """While this process compiles a call that nothing is stored for: others wait for it, or it has waited for another."""
        keys = self.keys(function, arguments, values)
        return contextlib.nullcontext() if keys is None else self.claims.first(keys.own.digest)

    def full_code(self, keys: Keys, guards: tuple[Any, ...], stored: Stored) -> Any:
        """The full code that another process has stored for what was the same when these guards were made; None: none."""
        for entry in (each for each in self._read(keys.own.digest) if each.kind == CODE and each.tier > 0 and each.body):
            with contextlib.suppress(Changed, Unnamed, ValueError, RuntimeError):
                found = entries.restored(entry, keys.function, keys.own.objects, keys.facts)
                if found.stored == stored and entries.are_same_guards(found.guards, guards):
                    return entry.body, found.moves
        return None

    def keep(self, keys: Keys, guards: tuple[Any, ...], stored: Stored, tier: int, code: bytes) -> str:
        """Stores what has been compiled. Why it is not stored; empty: it is."""
        try:
            new = {keys.own.digest: entries.code_entry(keys.function, keys.own.objects, keys.facts, guards, stored, tier, code)}
            if keys.own is not keys.plain:
                new[keys.plain.digest] = entries.facts_entry(keys.function, keys.plain.objects, keys.facts, guards)
        except Unnamed as error:
            return str(error)
        if build(_ingot.digest) != self._environment.build:
            return "files of Ingot's have changed since it was imported"
        for key, entry in new.items():
            if not self.folder.write(key, entries.packed(entries.joined(entry, self._read(key)))):
                return f"it cannot be written into {self.folder.path}"
        return ""

    def _read(self, key: bytes) -> list[Entry]:
        content = self.folder.read(key)
        if content is None:
            return []
        try:
            return entries.unpacked(content)
        except (ValueError, RecursionError):
            return []

    def _learn(self, function: Function, keys: Keys, there: list[Entry]) -> bool:
        """Has a function describe its arguments as other processes did."""
        for entry in (each for each in there if each.kind == FACTS):
            with contextlib.suppress(Changed, Unnamed, ValueError):
                facts = entries.found_facts(entry, function.__ingot_function__, keys.plain.objects)
                if facts.are_more_than(keys.facts) and not keys.facts.are_more_than(facts):
                    facts.teach(function)
                    return True
        return False


class Found(NamedTuple):
    """What a file has for a call."""

    restored: Restored
    tier: int
    code: Any
    """None: the function wants none."""


def _first_that_holds(function: Function, keys: Keys, there: list[Entry], fits: Fits, key: Any) -> Found | None:
    for entry in (each for each in there if each.kind == CODE):
        with contextlib.suppress(Changed, Unnamed, ValueError, RuntimeError):
            found = entries.restored(entry, function.__ingot_function__, keys.own.objects, keys.facts)
            if fits(found.stored, key) and (entry.body or not function._wants_code):
                return Found(found, entry.tier, _ingot.Code.load(entry.body, function._loading.options(), found.moves) if entry.body else None)
    return None


_cache: Cache | None = Cache() if is_on() else None


def _renew() -> None:
    if _cache is not None and "claims" in vars(_cache):
        _cache.claims.renew()


os.register_at_fork(after_in_child=_renew)


def cache() -> Cache | None:
    """The process's cache; None: the environment switches it off."""
    return _cache
