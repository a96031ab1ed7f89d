"""The parameters of Python functions, by which calls are bound: those of the function's own code.

`inspect.signature` shows others where an attribute has them (`__wrapped__`, `__signature__`, `__text_signature__`). That is how
a function is documented; what its calls take is what its code object, `__defaults__` and `__kwdefaults__` have.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from .. import _ingot

F = TypeVar("F", bound=Callable[..., Any])


class Parameters(NamedTuple):
    """Parameters in the order in which compiled code takes them: by position, `*args`, by name alone, `**kwargs`."""

    names: tuple[str, ...]
    positional: int  # how many take arguments by position
    positional_only: int  # ... of these, by position alone
    has_rest: bool  # `*args` follows them
    has_others: bool  # `**kwargs` is last

    @property
    def rest(self) -> int:
        """Where `*args` is, if there is one."""
        return self.positional

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the parameters that take one argument each."""
        gathering = {self.rest} if self.has_rest else set()
        if self.has_others:
            gathering.add(len(self.names) - 1)
        return tuple(name for i, name in enumerate(self.names) if i not in gathering)

    @property
    def by_position(self) -> tuple[str, ...]:
        """The names of those that take arguments by position."""
        return self.names[: self.positional]

    @property
    def by_name(self) -> tuple[str, ...]:
        """The names of those that take arguments by name."""
        return self.own[self.positional_only :]

    def without_first(self, count: int) -> Parameters:
        """Those that are left where the first `count` arguments are bound."""
        bound = min(count, self.positional)
        return self._replace(
            names=self.names[bound:], positional=self.positional - bound, positional_only=max(self.positional_only - bound, 0)
        )

    def without_named(self, names: set[str]) -> Parameters:
        """Those that are left where arguments of these names have a value: the first of them, and all after it, are given by name."""
        taken = next((i for i, name in enumerate(self.names[: self.positional]) if i >= self.positional_only and name in names), None)
        if taken is None:
            return self
        left = (*self.by_position, *self.names[self.positional + self.has_rest :])
        return self._replace(names=left, positional=taken, has_rest=False)


def parameters_of(function: types.FunctionType) -> Parameters:
    """The parameters of a Python function."""
    return _parameters_of(function.__code__)


@functools.lru_cache(maxsize=256)
def _parameters_of(code: types.CodeType) -> Parameters:
    count, named = code.co_argcount, code.co_kwonlyargcount
    has_rest, has_others = bool(code.co_flags & inspect.CO_VARARGS), bool(code.co_flags & inspect.CO_VARKEYWORDS)
    names, first = code.co_varnames, count + named
    rest = names[first : first + has_rest]
    others = names[first + has_rest : first + has_rest + has_others]
    return Parameters((*names[:count], *rest, *names[count:first], *others), count, code.co_posonlyargcount, has_rest, has_others)


def defaults_of(function: types.FunctionType) -> dict[str, Any]:
    """The defaults that a Python function's parameters have, by name."""
    parameters, given = parameters_of(function), function.__defaults__ or ()
    last = parameters.names[: parameters.positional][-len(given) :] if given else ()
    return {**dict(zip(reversed(last), reversed(given))), **(function.__kwdefaults__ or {})}


def checked_keywords(function: F) -> F:
    """The function, which reports for a keyword that it does not have what was meant, or what to write instead. TypeError."""
    known = parameters_of(function).by_name  # type: ignore[arg-type]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in known:
                from .._refusals.keywords import hint

                raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}: {hint(name, known)}")
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


_ADVICE: tuple[tuple[Any, str], ...] = (
    (functools.partial, "write a function that calls it"),
    (types.MethodType, "decorate the function in its class, or write one that calls the method"),
    ((staticmethod, classmethod, property, functools.partialmethod), "decorate the function first, and make it a {} then"),
    (type(functools.cache(len)), "decorate the function first, and keep its results then"),
    (type, "write a function that makes an instance"),
    (types.BuiltinFunctionType, "write a function that calls it"),
)


def not_a_function(door: str, given: Any) -> TypeError:
    """The error of a decorator that is given something else than a Python function."""
    import numpy as np

    kind = type(given).__name__
    if isinstance(given, (np.ufunc, np.vectorize)) or hasattr(type(given), "__ingot_host__"):
        return TypeError(f"{door}() takes a Python function, not {kind}: write a function that calls it")
    advice = next((text for classes, text in _ADVICE if isinstance(given, classes)), None)
    if advice is None and callable(given):
        advice = "decorate the function `__call__` of its class, or write one that calls it"
    return TypeError(f"{door}() takes a Python function, not {kind}" + (f": {advice.format(kind)}" if advice else ""))


def parameters_of_call(function: Any) -> Parameters | None:
    """What a call of an object takes: the parameters of the Python function that it runs, without those that are bound.

    None: it runs none that is known.
    """
    for _ in range(100):  # a `__call__` may have a `__call__`, and so on
        if isinstance(function, types.FunctionType):
            return parameters_of(function)
        if isinstance(function, types.MethodType):
            own = parameters_of_call(function.__func__)
            return None if own is None else own.without_first(1)
        if isinstance(function, functools.partial):
            own = parameters_of_call(function.func)
            return None if own is None else own.without_first(len(function.args)).without_named(set(function.keywords))
        if isinstance(function, type):
            made = inspect.getattr_static(function, "__init__", None)
            return parameters_of(made).without_first(1) if isinstance(made, types.FunctionType) else None
        if isinstance(function, _ingot.profile.Profiled):
            function = function.__wrapped__
        elif isinstance(function, (_ingot.Callable, _ingot.UfuncHolder)):
            function = function.__ingot_function__
        else:
            call = inspect.getattr_static(type(function), "__call__", None)
            if not isinstance(call, types.FunctionType):
                return None
            return parameters_of(call).without_first(1)
    return None


def without_body(function: types.FunctionType) -> types.FunctionType:
    """A function of the same parameters and name that gives what they are bound to, by their names."""
    result = types.FunctionType(_hollow(function.__code__), {"locals": locals}, function.__name__, function.__defaults__)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__qualname__ = function.__qualname__
    return result


@functools.lru_cache(maxsize=256)
def _hollow(code: types.CodeType) -> types.CodeType:
    flags = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + flags.bit_count()
    return _BOUND.replace(
        co_argcount=code.co_argcount,
        co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount,
        co_varnames=code.co_varnames[:count],
        co_nlocals=count,
        co_flags=_BOUND.co_flags | flags,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )


_BOUND = (lambda: locals()).__code__


def bind(function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The values of a function's parameters in a call, by their names. TypeError: the one that Python raises."""
    return without_body(function)(*args, **kwargs)
