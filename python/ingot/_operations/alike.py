"""Compiled functions that take functions: one written in a call is another object each time, and the same code."""

from __future__ import annotations

import functools
import threading
import weakref
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from ..library.sequences import permuted, random, reversed, transformed, written, zipped
from .._calls.function import Function
from .functions import EagerFunction

_MOST = 256
"""How many functions of one code are known: those of values that differ."""
_DEEPEST = 5
"""How far closures in closures are compared."""
_VALUES = (bool, int, str, bytes)

_known: weakref.WeakKeyDictionary[CodeType, list[weakref.ref[Any]]] = weakref.WeakKeyDictionary()
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
    if type(value) is FunctionType or type(value) is Function:
        return _first_function(value)
    if type(value) is MethodType or type(value) is functools.partial:
        return _first_function(_as_function(value))
    if type(value) is tuple:
        parts = tuple([first_of(part) for part in value])
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if type(value) not in (transformed, permuted, random, reversed, written, zipped):
        return value
    parts_of = {name: first_of(part) for name, part in vars(value).items()}
    if all(parts_of[name] is part for name, part in vars(value).items()):
        return value
    made = object.__new__(type(value))  # the caller's keeps its functions, whose closures may change
    vars(made).update(parts_of)
    return made


def _as_function(value: Any) -> Any:
    """A method of an instance, or a partial, as a function."""
    if type(value) is MethodType:
        method, instance = value.__func__, value.__self__
        return lambda *args: method(instance, *args)
    f, given, named = value.func, value.args, value.keywords
    if not named:
        return lambda *args: f(*given, *args)
    names, values = tuple(named), tuple(named.values())
    return lambda *args: f(*given, *args, **dict(zip(names, values, strict=True)))


def _first_function(f: Any) -> Any:
    """The first one that is alike; those that were asked for last are looked at first, and kept longest."""
    for reference in tuple(_known.get(f.__code__, ())):
        other = reference()
        if other is not None and (_is_same(f, other, 0)):
            _remember(f.__code__, reference)
            return other
    _remember(f.__code__, weakref.ref(f))
    return f


def _remember(code: CodeType, reference: weakref.ref[Any]) -> None:
    references = _known.get(code)
    if references and references[0] is reference:
        return
    with _lock:
        alive = [one for one in _known.get(code, ()) if one is not reference and one() is not None]
        _known[code] = [reference, *alive[: _MOST - 1]]


def _are_alike(f: FunctionType, other: FunctionType, depth: int = 0) -> bool:
    """Whether two functions of one code do the same: with the same globals, defaults and values in their closures, as these are now."""
    if f.__globals__ is not other.__globals__ or f.__dict__ or other.__dict__ or f.__code__.co_filename != other.__code__.co_filename:
        return False
    mine, theirs = (f.__defaults__, _named(f)), (other.__defaults__, _named(other))
    if not _is_same(mine, theirs, depth):
        return False
    try:
        pairs = [(a.cell_contents, b.cell_contents) for a, b in zip(f.__closure__ or (), other.__closure__ or (), strict=True)]
    except ValueError:  # a cell without a value
        return False
    return all(_is_same(a, b, depth) for a, b in pairs)


def _named(f: FunctionType) -> tuple[Any, ...] | None:
    return None if not f.__kwdefaults__ else tuple(sorted(f.__kwdefaults__.items()))


def _is_same(a: Any, b: Any, depth: int) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is FunctionType:
        return a.__code__ == b.__code__ and depth < _DEEPEST and _are_alike(a, b, depth + 1)
    if type(a) is Function:
        return _is_plain(a) and _is_plain(b) and a._relaxed == b._relaxed and _is_same(a.__ingot_function__, b.__ingot_function__, depth)
    if type(a) is tuple:
        return len(a) == len(b) and all(_is_same(x, y, depth) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.dtype.kind in "biufcmMSU" and a.tobytes() == b.tobytes()
    if type(a) in (float, complex):
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()  # NaN and zero have signs
    return type(a) in _VALUES and a == b


def _is_plain(f: Function[..., Any]) -> bool:
    """Whether a compiled function is what `ingot.jit` makes where it is given nothing but `fastmath`."""
    asked = (f._signatures, f._device, f._made_by)
    return asked == (None, None, None) and f._mode == "compiled" and f._tier == "auto" and not (any(f._static) or f._shown or f._in_order)
