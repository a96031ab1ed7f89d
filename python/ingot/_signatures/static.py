"""Which arguments `static_argnums` and `static_argnames` of `ingot.jit` are about, and what their values are."""

from __future__ import annotations

import enum
import operator
import types
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .. import _ingot
from .parameters import Parameters, parameters_of

_DESCRIBED = (enum.Enum, int, float, complex, str, bytes, tuple, np.generic, type, types.FunctionType, types.ModuleType, np.dtype)


class Static(NamedTuple):
    """The arguments that are constants of what is compiled."""

    parameters: tuple[int, ...] = ()
    places: tuple[int, ...] = ()  # in *args
    names: tuple[str, ...] = ()  # in **kwargs


def _numbers(given: Any) -> tuple[int, ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        number: Any = given
        return (operator.index(number),)
    return tuple(map(operator.index, given))


def _names(given: Any) -> tuple[str, ...]:
    names = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"argument is not a string: {name!r}")
    return names


def static(function: types.FunctionType, argnums: Any, argnames: Any) -> Static:
    """The arguments of a function that are static. ValueError: it has no such ones."""
    numbers, names = _numbers(argnums), _names(argnames)
    if not numbers and not names:
        return Static()
    parameters = parameters_of(function)
    count, has_rest = parameters.positional, parameters.has_rest
    places = {n + count if n < 0 and not has_rest else n for n in numbers}
    if any(n < 0 or n >= count and not has_rest for n in places):
        raise ValueError(f"Jitted function has static_argnums={numbers}, but only accepts {count} positional arguments.")
    own = {name: parameters.names.index(name) for name in parameters.own}
    others = sorted(set(names) - set(own))
    if others and not parameters.has_others:
        raise ValueError(f"Jitted function has invalid argnames {set(others)} in static_argnames. Function does not take these args.")
    fixed = {n for n in places if n < count} | {own[name] for name in names if name in own}
    return Static(tuple(sorted(fixed)), tuple(sorted(n - count for n in places if n >= count)), tuple(others))


class Constants:
    """The values of static arguments: of objects that are known by identity, the first of those that are equal."""

    def __init__(self, which: Static, parameters: Parameters) -> None:
        self.which = which
        self._rest = parameters.rest if which.places else -1
        last = (len(parameters.names) - 1,) if which.names else ()
        self.parameters = (*which.parameters, self._rest, *last)  # all that static values are in
        self._known: dict[Hashable, Any] = {}

    def settle(self, values: list[Any]) -> list[Any]:
        """The values of the parameters, with constants for static ones. ValueError: one is not hashable."""
        settled = list(values)
        for i in self.which.parameters:
            settled[i] = self._constant(values[i])
        if self.which.places:
            rest = values[self._rest]
            own = tuple(self._constant(x) if k in self.which.places else x for k, x in enumerate(rest))
            settled[self._rest] = rest if all(map(operator.is_, own, rest)) else own
        for name in self.which.names:
            value = values[-1].get(name)
            constant = self._constant(value)
            if constant is not value:
                settled[-1] = {**settled[-1], name: constant}
        return settled

    def _constant(self, value: Any) -> Any:
        try:
            hash(value)
        except TypeError as error:
            raise ValueError(
                "Non-hashable static arguments are not supported. An error occurred while trying to hash an object of type "
                f"{type(value)}, {value}. The error was:\nTypeError: {error}\n"
            ) from None
        if value is None or isinstance(value, _DESCRIBED) or _ingot.is_instance(value):
            return value
        own = frozenset((type(x), x) for x in value) if type(value) is frozenset else value
        return self._known.setdefault((type(value), own), value)
