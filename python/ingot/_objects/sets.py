"""Sets that are known when compiling. A set is described by what was done to make it, so that making it once more gives a
set that is iterated over in the same order."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

from .. import _ingot
from .._code import constant_key


class History(tuple):
    """`(class, iterable or None)`, or `(history, method, arguments, changes)`: the set itself then, or the result."""


def build(value: Any) -> Any:
    """A new set of this history; other values as they are."""
    if not isinstance(value, History):
        return value
    steps = []
    while len(value) != 2:
        steps.append(value)
        value = value[0]
    kind, iterable = value
    made = kind() if iterable is None else kind(build(iterable))
    for _, method, arguments, changes in reversed(steps):
        result = getattr(made, method)(*[build(argument) for argument in arguments])
        made = made if changes else result
    return made


def empty() -> History:
    return History((set, None))


def made(kind: type[Any], iterable: Any) -> History:
    return History((kind, iterable))


def then(history: History, method: str, arguments: tuple[Any, ...], changes: bool) -> History:
    return History((history, method, arguments, changes))


def of_table(known: tuple[Any, ...]) -> History:
    """The history of a set of the caller's, which begins with its table: its class, elements, slots and where `pop` looks first."""
    return History((_of_table, known))


def _of_table(known: tuple[Any, ...]) -> Any:
    kind, elements, states, finger = known
    remaining = iter(elements)
    slots = [next(remaining) if state == 1 else None for state in states]
    if kind is frozenset:
        return _ingot.frozenset_of_table(slots, list(states), finger)
    made: set[Any] = set()
    _ingot.fill_set(made, slots, list(states), finger)
    return made


def packed(value: Any) -> tuple[Any, ...]:
    """A history as plain tuples, which the cache on disk holds."""
    if not isinstance(value, History):
        return (False, value)
    if len(value) == 2:
        return (True, value[0], packed(value[1]))
    return (True, packed(value[0]), value[1], tuple(map(packed, value[2])), value[3])


def unpacked(value: tuple[Any, ...]) -> Any:
    if not value[0]:
        return value[1]
    if len(value) == 3:
        return History((value[1], unpacked(value[2])))
    return History((unpacked(value[1]), value[2], tuple(map(unpacked, value[3])), value[4]))


class Stored(History):
    """A history that has been repeated for the caller's set."""


def stored(history: History) -> History:
    return Stored(history)


def steps(history: History) -> tuple[Any, ...]:
    """What was done to a set of the caller's since it was stored last, for `replay`."""
    all: list[Any] = []
    while len(history) != 2 and not isinstance(history, Stored):
        before, method, arguments, _ = history
        all.append((method, tuple(map(packed, arguments))))
        history = before
    return tuple(reversed(all))


def replay(container: set[Any], done: tuple[Any, ...]) -> None:
    """Does to a set of the caller's what compiled code has done to its own."""
    for method, arguments in done:
        getattr(container, method)(*[build(unpacked(argument)) for argument in arguments])


def display(node: Any, function: Any = None) -> History | None:
    """The history of a display of constants, which is in a function; None: it is another."""
    plain = (ast.Set, ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)
    if not all(isinstance(part, plain) for part in ast.walk(node)):
        return None
    try:
        # CPython makes longer ones of a frozenset.
        constants = [c for c in compile(ast.Expression(node), "<set>", "eval").co_consts if isinstance(c, frozenset)]
        if len(constants) == 1:
            return then(empty(), "update", (_constant_of(getattr(function, "__code__", None), constants[0]),), True)
        history = empty()
        for element in node.elts:
            history = then(history, "add", (ast.literal_eval(element),), True)
        return history
    except (ValueError, TypeError):
        return None


def _constant_of(code: types.CodeType | None, constant: frozenset[Any]) -> frozenset[Any]:
    """The set that a function's code has for a constant: its order is that of the program, which may have been read from a file."""
    key = constant_key(constant)
    return next((own for own in _sets_of(code) if constant_key(own) == key), constant)


def _sets_of(code: types.CodeType | None) -> Iterator[frozenset[Any]]:
    constants = () if code is None else code.co_consts
    yield from (constant for constant in constants if isinstance(constant, frozenset))
    for constant in constants:
        if isinstance(constant, types.CodeType):
            yield from _sets_of(constant)
