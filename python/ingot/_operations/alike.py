"""Compiled functions that take functions: one written in a call is another object each time, and the same code."""

from __future__ import annotations

import threading
import weakref
from types import CodeType, FunctionType
from typing import Any

from ..library.sequences import permuted, reversed, transformed, written
from .functions import EagerFunction

_MOST = 64
"""How many functions of one code are known: those of values that differ."""
_DEEPEST = 4
"""How far closures in closures are compared."""
_VALUES = (bool, int, float, complex, str, bytes, type(None))

_known: weakref.WeakKeyDictionary[CodeType, list[weakref.ref[FunctionType]]] = weakref.WeakKeyDictionary()
"""Functions by their code; those that are compiled are kept by what was compiled."""
_lock = threading.Lock()


class HigherFunction(EagerFunction):
    """A compiled function of functions, which compiles for one of those that are alike."""

    def _call(self, args: tuple[Any, ...], kwargs: dict[Any, Any], bound: tuple[list[Any], Any] | None = None) -> Any:
        first = tuple([first_of(arg) for arg in args])
        named = {name: first_of(value) for name, value in kwargs.items()}
        if any(a is not b for a, b in zip((*first, *named.values()), (*args, *kwargs.values()), strict=True)):
            result = self(*first, **named)
            return next((kwargs[name] for name, value in named.items() if value is result), result)
        return super()._call(args, kwargs)  # not as bound: what sequences call may be another function now


def first_of(value: Any) -> Any:
    """The first function of those that do the same as one; of sequences, those that call that."""
    if type(value) is FunctionType:
        return _first_function(value)
    if type(value) is tuple:
        parts = tuple([first_of(part) for part in value])
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if type(value) not in (transformed, permuted, reversed, written):
        return value
    parts_of = {name: first_of(part) for name, part in vars(value).items()}
    if all(parts_of[name] is part for name, part in vars(value).items()):
        return value
    made = object.__new__(type(value))  # the caller's keeps its functions, whose closures may change
    vars(made).update(parts_of)
    return made


def _first_function(f: FunctionType) -> FunctionType:
    for reference in _known.get(f.__code__, ()):
        other = reference()
        if other is not None and (other is f or _are_alike(f, other)):
            return other
    with _lock:
        alive = [reference for reference in _known.get(f.__code__, ()) if reference() is not None]
        _known[f.__code__] = [*alive[-_MOST:], weakref.ref(f)]
    return f


def _are_alike(f: FunctionType, other: FunctionType, depth: int = 0) -> bool:
    """Whether two functions of one code do the same: with the same globals, defaults and values in their closures, as these are now."""
    if f.__globals__ is not other.__globals__ or f.__kwdefaults__ or other.__kwdefaults__ or f.__dict__ or other.__dict__:
        return False
    mine, theirs = f.__defaults__ or (), other.__defaults__ or ()
    if len(mine) != len(theirs) or not all(_is_same(a, b, depth) for a, b in zip(mine, theirs, strict=True)):
        return False
    try:
        pairs = [(a.cell_contents, b.cell_contents) for a, b in zip(f.__closure__ or (), other.__closure__ or (), strict=True)]
    except ValueError:  # a cell without a value
        return False
    return all(_is_same(a, b, depth) for a, b in pairs)


def _is_same(a: Any, b: Any, depth: int) -> bool:
    if a is b:
        return True
    if type(a) is FunctionType and type(b) is FunctionType and a.__code__ is b.__code__:
        return depth < _DEEPEST and _are_alike(a, b, depth + 1)
    return type(a) is type(b) and type(a) in _VALUES and repr(a) == repr(b)
