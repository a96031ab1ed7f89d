"""Sets that are known when compiling. A set is described by what was done to make it, so that making it once more gives a
set that is iterated over in the same order."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

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
