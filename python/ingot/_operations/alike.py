"""Compiled functions that take functions: one written in a call is another object each time, and the same code."""

from __future__ import annotations

import contextlib
import dis
import functools
import operator
import threading
import weakref
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from ..library.sequences import permuted, random, reversed, transformed, written, zipped
from .._calls.function import Function, _restored
from .functions import EagerFunction

_MOST = 256
"""How many functions of one code are known: those of values that differ."""
_VALUES = (bool, int, str, bytes)
_OWN = frozenset({"__ingot_own__"})
"""The attributes of functions that `_of_its_own` has made, which the C++ part knows them by, too."""
_STORES = frozenset(dis.opmap[name] for name in ("STORE_DEREF", "DELETE_DEREF"))

_known: dict[int, tuple[weakref.ref[CodeType], list[weakref.ref[Any]]]] = {}
"""Functions by the number of their code, which is quicker than its hash; those that are compiled are kept by what was compiled."""
_lock = threading.Lock()


class HigherFunction(EagerFunction):
    """A compiled function of functions, which compiles for one of those that are alike."""

    def __init__(self, function: FunctionType, original: Any, module: str, name: str) -> None:
        super().__init__(function, original, module, name)
        self._take_alike()

    def _call(self, args: tuple[Any, ...], kwargs: dict[Any, Any], bound: tuple[list[Any], Any] | None = None) -> Any:
        first = [first_of(arg) for arg in args]
        named = {name: first_of(value) for name, value in kwargs.items()} if kwargs else kwargs
        if not (all(map(operator.is_, first, args)) and all(map(operator.is_, named.values(), kwargs.values()))):
            result = self(*first, **named)
            for name, value in named.items():
                if value is result:
                    return kwargs[name]
            return result
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
    code = f.__code__
    references = _functions_of(code)
    for reference in references:
        other = reference()
        if other is not None and _is_same(f, other, set()):
            if reference is not references[0]:
                _remember(code, reference)
            return other
    own = f if _changes_variables(f) else _of_its_own(f, {})
    if own is not f and not _is_same(f, own, set()):
        own = f
    _remember(code, weakref.ref(own))
    return own


def _changes_variables(f: Any) -> bool:
    """Whether a function, or one that it holds, assigns to a variable of what it is written in."""
    waiting, seen = [f], set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) is Function:
            waiting.append(value.__ingot_function__)
        elif type(value) is tuple:
            waiting += value
        elif type(value) is FunctionType:
            if _assigns(value.__code__, frozenset(value.__code__.co_freevars)):
                return True
            waiting += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            for cell in value.__closure__ or ():
                with contextlib.suppress(ValueError):  # a cell without a value
                    waiting.append(cell.cell_contents)
    return False


def _assigns(code: CodeType, names: frozenset[str]) -> bool:
    """Whether code, or code in it, assigns to one of some variables from outside."""
    if not names:
        return False
    if not _STORES.isdisjoint(code.co_code[::2]) and any(i.opcode in _STORES and i.argval in names for i in dis.get_instructions(code)):
        return True
    return any(_assigns(inner, names & set(inner.co_freevars)) for inner in code.co_consts if isinstance(inner, CodeType))


def _of_its_own(value: Any, made: dict[int, Any]) -> Any:
    """A function, or what one holds, that does what it does now, whatever happens to the variables of what it is written in: these
    may be those of another thread, or have other values when a function is compiled for all that are alike. A function that has
    attributes is left as it is, and is like no other."""
    if id(value) not in made:
        made[id(value)] = _made_of(value, made)
    return made[id(value)]


def _made_of(value: Any, made: dict[int, Any]) -> Any:
    if type(value) is tuple:
        parts = tuple([_of_its_own(part, made) for part in value])
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if type(value) is Function and _is_plain(value):
        inner = _of_its_own(value.__ingot_function__, made)
        return value if inner is value.__ingot_function__ else _restored(inner, None, value._mode, value._relaxed, value._static)
    if type(value) is not FunctionType or value.__dict__ or _has_nothing(value):
        return value
    cells = None if value.__closure__ is None else tuple([CellType() for _ in value.__closure__])
    own = made[id(value)] = FunctionType(value.__code__, value.__globals__, value.__name__, None, cells)
    own.__qualname__, own.__module__, own.__doc__ = value.__qualname__, value.__module__, value.__doc__
    own.__defaults__ = _of_its_own(value.__defaults__, made)
    if value.__kwdefaults__:
        own.__kwdefaults__ = {name: _of_its_own(part, made) for name, part in value.__kwdefaults__.items()}
    for cell, its in zip(cells or (), value.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a cell without a value
            cell.cell_contents = _of_its_own(its.cell_contents, made)
    own.__ingot_own__ = True  # type: ignore[attr-defined]
    return own


def _has_nothing(f: FunctionType) -> bool:
    """Whether a function is its code, and holds nothing that may change."""
    return f.__closure__ is None and f.__defaults__ is None and not f.__kwdefaults__


def _functions_of(code: CodeType) -> list[weakref.ref[Any]]:
    """A list that nobody changes."""
    known = _known.get(id(code))
    return known[1] if known is not None and known[0]() is code else []


def _remember(code: CodeType, reference: weakref.ref[Any]) -> None:
    number = id(code)
    with _lock:
        known = _known.get(number)
        if known is None or known[0]() is not code:
            known = weakref.ref(code, lambda gone: _forget(number, gone)), []
        alive = [one for one in known[1] if one is not reference and one() is not None]
        _known[number] = known[0], [reference, *alive[: _MOST - 1]]


def _forget(number: int, code: weakref.ref[CodeType]) -> None:
    known = _known.get(number)
    if known is not None and known[0] is code:
        _known.pop(number, None)


def _are_alike(f: FunctionType, other: FunctionType, known: set[tuple[int, int]]) -> bool:
    """Whether two functions of one code do the same: with the same globals, defaults and values in their closures, as these are now.
    The other one is not a user's, or has nothing that may change."""
    if f.__globals__ is not other.__globals__ or f.__code__.co_filename != other.__code__.co_filename or _called(f) != _called(other):
        return False
    if f.__dict__.keys() - _OWN or not (other.__dict__.keys() == _OWN or (_has_nothing(other) and not other.__dict__)):
        return False
    mine, theirs = f.__closure__, other.__closure__
    if f.__defaults__ is not None or other.__defaults__ is not None or f.__kwdefaults__ or other.__kwdefaults__:
        if not _is_same((f.__defaults__, _named(f)), (other.__defaults__, _named(other)), known):
            return False
    if mine is None or theirs is None:
        return mine is theirs
    try:
        pairs = [(a.cell_contents, b.cell_contents) for a, b in zip(mine, theirs, strict=True)]
    except ValueError:  # a cell without a value
        return False
    return all(_is_same(a, b, known) for a, b in pairs)


def _called(f: FunctionType) -> tuple[Any, ...]:
    return f.__name__, f.__qualname__, f.__module__, f.__doc__


def _named(f: FunctionType) -> tuple[Any, ...] | None:
    return None if not f.__kwdefaults__ else tuple(sorted(f.__kwdefaults__.items()))


def _is_same(a: Any, b: Any, known: set[tuple[int, int]]) -> bool:
    """`known`: the functions and tuples that have been compared, or are being compared, by their numbers."""
    if a is b or (id(a), id(b)) in known:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is FunctionType:
        known.add((id(a), id(b)))
        return a.__code__ == b.__code__ and _are_alike(a, b, known)
    if type(a) is Function:
        return _is_plain(a) and _is_plain(b) and a._relaxed == b._relaxed and _is_same(a.__ingot_function__, b.__ingot_function__, known)
    if type(a) is tuple:
        if len(a) != len(b) or not all(_is_same(x, y, known) for x, y in zip(a, b, strict=True)):
            return False
        known.add((id(a), id(b)))
        return True
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.dtype.kind in "biufcmMSU" and a.tobytes() == b.tobytes()
    if type(a) in (float, complex):
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()  # NaN and zero have signs
    return type(a) in _VALUES and a == b


def _is_plain(f: Function[..., Any]) -> bool:
    """Whether a compiled function is what `ingot.jit` makes where it is given nothing but `fastmath`."""
    asked = (f._signatures, f._device, f._made_by)
    return asked == (None, None, None) and f._mode == "compiled" and f._tier == "auto" and not (any(f._static) or f._shown or f._in_order or f._directives)
