"""Runs one program every way and says what differs."""

import ast
import dataclasses
import math
import re
import sys
from collections.abc import Callable

import ingot
import numpy as np
from ingot import _jit
from support import difference, outcome

from . import arguments
from .generate import Program
from .limits import Endless
from .oracle import EagerDifference, define, oracle

Compiler = Callable[[Callable], Callable]

COMPILERS: dict[str, Compiler] = {
    "interpreted": lambda f: _jit.Function(f, mode="interpreted"),
    "compiled": lambda f: _jit.Function(f, mode="compiled"),
}


@dataclasses.dataclass
class Difference:
    """`kind` stays the same while a program is shrunk; `text` says what is seen."""

    kind: str
    text: str
    call: int = 0


@dataclasses.dataclass
class Verdict:
    refused: str | None = None
    difference: Difference | None = None
    endless: bool = False
    explained: list[int] = dataclasses.field(default_factory=list)
    operations: int = 0


def _operations(source: str) -> dict[int, int]:
    """How many operations each line holds."""
    kinds = (ast.BinOp, ast.Compare, ast.Call, ast.Subscript, ast.UnaryOp, ast.BoolOp, ast.AugAssign, ast.IfExp, ast.For)
    counts: dict[int, int] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, kinds):
            counts[node.lineno] = counts.get(node.lineno, 0) + 1
    return counts


def _count(function, given: list, lines: dict[int, int]) -> int:
    total = 0
    file = function.__code__.co_filename

    def trace(frame, event, _):
        nonlocal total
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            total += lines.get(frame.f_lineno, 0)
        return trace

    sys.settrace(trace)
    try:
        outcome(function, given)
    finally:
        sys.settrace(None)
    return total


def _floats(value):
    """The value with Python's numbers as floats: what allowed difference 4 may make of an int or a bool."""
    if type(value) in (int, bool):
        return float(value)
    return type(value)(_floats(v) for v in value) if type(value) in (tuple, list) else value


def _inner(values) -> list:
    """The arrays, lists and dicts among some values, and those inside them."""
    found = []
    for value in values:
        found += [value] if isinstance(value, (np.ndarray, list, dict)) else []
        if isinstance(value, (list, tuple, dict)):
            found += _inner(value.values() if isinstance(value, dict) else value)
    return found


def _shared(result, parts: list):
    """Which parts of the arguments the result and what is in it are, or share memory with."""
    if isinstance(result, np.ndarray):
        return [(result is p, isinstance(p, np.ndarray) and np.shares_memory(result, p)) for p in parts]
    if isinstance(result, (list, tuple, dict)):
        inside = result.values() if isinstance(result, dict) else result
        return [result is p for p in parts], [_shared(r, parts) for r in inside]
    return None


def allowed(error: BaseException | None, raised: BaseException | None, big: bool) -> int | None:
    """The number of the allowed difference that explains how a call ended, if one does."""
    if isinstance(raised, OverflowError) and big:
        return 3
    if isinstance(raised, ingot.TypeChangeError):
        return 4
    return None


def reason(error: ingot.UnsupportedError) -> str:
    """The first line of a refusal, without what is particular to the program."""
    line = str(error).splitlines()[0]
    return re.sub(r"'[^']*'|\b[a-z]\d+\b", "_", re.sub(r"`[a-z]\d*`", "`_`", line))[:100]


def _call(name: str, texts: list[str], at_end: bool, function, expected, big: bool) -> tuple[Difference | None, int | None]:
    result, error, printed, plain = expected
    given = arguments.build(texts, at_end)
    got, raised, shown = outcome(function, given)
    if isinstance(raised, ingot.UnsupportedError):
        raise raised
    number = allowed(error, raised, big)
    if number is not None:
        return None, number
    if type(raised) is not type(error):
        wrong = lambda e: type(e).__name__ if e else "none"  # noqa: E731
        return Difference(f"{name} exception {wrong(raised)} for {wrong(error)}", f"{name}: {raised!r} for {error!r}"), None
    if str(error).startswith("odd") and str(raised) != str(error):
        return Difference(f"{name} text of an exception", f"{name}: {str(raised)!r} for {str(error)!r}"), None
    if (text := difference(got, result)) is not None:
        if difference(_floats(got), _floats(result)) is None:
            return None, 4
        types = type(got).__name__, type(result).__name__
        same = type(got) is type(result) and (not hasattr(got, "dtype") or got.dtype == result.dtype)
        return Difference(f"{name} {'value' if same else 'type'} of {types[1]}", f"{name}: {text}"), None
    if (text := difference(given, plain, 0.0, "arguments")) is not None:
        return Difference(f"{name} arguments", f"{name}: {text}"), None
    if shown != printed:
        return Difference(f"{name} printed", f"{name}: printed {shown!r} for {printed!r}"), None
    if _shared(got, _inner(given)) != _shared(result, _inner(plain)):
        return Difference(f"{name} alias", f"{name}: the result shares other memory"), None
    return None, None


def examine(program: Program, compilers: dict[str, Compiler] | None = None) -> Verdict:
    verdict = Verdict()
    try:
        function = define(program.source, "f", {"np": np, "math": math})
        expected, bounds = oracle(program.source, "f")
        under = {name: make(function) for name, make in (compilers or COMPILERS).items()}
        lines = _operations(program.source)
        for number, texts in enumerate(program.arguments):
            at_end = number % 2 == 0
            plain = arguments.build(texts, at_end)
            bounds.reset()
            bounds.seen = any(type(a) is int and not -(2**63) <= a < 2**63 for a in plain)
            result, error, printed = outcome(expected, plain)
            if isinstance(error, Endless):
                verdict.endless = True
                return verdict
            if isinstance(error, EagerDifference):
                verdict.difference = Difference(f"eager {str(error).split(' of ')[0]}", str(error), number)
                return verdict
            verdict.operations = max(verdict.operations, _count(function, arguments.build(texts, at_end), lines))
            for name, compiled in under.items():
                problem, explained = _call(name, texts, at_end, compiled, (result, error, printed, plain), bounds.seen)
                if explained is not None:
                    verdict.explained.append(explained)
                if problem is not None:
                    problem.call = number
                    verdict.difference = problem
                    return verdict
    except ingot.UnsupportedError as refusal:
        verdict.refused = reason(refusal)
    return verdict
