"""Runs one program in every mode and reports what differs."""

import ast
import dataclasses
import math
import os
import re
import sys
from collections.abc import Callable

import numpy as np

import ingot
from ingot._calls.function import Function
from support import difference, identities, outcome

from . import arguments
from .generate import Program
from .limits import MODULE, Endless
from .oracle import EagerDifference, define, oracle

Compiler = Callable[[Callable], Callable]


def _as(environment: dict[str, str]) -> Compiler:
    """Compiles for the kind of code that an environment asks for."""

    def compiler(f: Callable) -> Callable:
        function = Function(f, mode="compiled")

        def call(*arguments):
            before = {name: os.environ.get(name, "") for name in environment}
            os.environ.update(environment)
            try:
                return function(*arguments)
            finally:
                os.environ.update(before)

        return call

    return compiler


EVERY_KIND = "INGOT_FUZZ_EVERY_KIND"
"""A variable of the environment: programs run in every kind of code, besides the CPU's best on one thread."""

DEVICE = "INGOT_FUZZ_DEVICE"
"""A variable of the environment: programs run on a device of this kind instead."""


def _compilers() -> dict[str, Compiler]:
    if device := os.environ.get(DEVICE):
        return {device: lambda f: Function(f, mode="compiled", device=device)}
    compilers: dict[str, Compiler] = {
        "interpreted": lambda f: Function(f, mode="interpreted"),
        "compiled": lambda f: Function(f, mode="compiled"),
    }
    if os.environ.get(EVERY_KIND):
        compilers["scalar"] = _as({"INGOT_VECTORS": "scalar"})
        compilers["avx2"] = _as({"INGOT_VECTORS": "avx2"})
        compilers["quick"] = _as({"INGOT_TIERS": "quick"})
        compilers["threads"] = _as({"INGOT_THREADS": "always", "INGOT_STREAMS": "always"})
    return compilers


@dataclasses.dataclass
class Difference:
    """`kind` stays the same while a program is shrunk; `text` is what is seen."""

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


def _joins(source: str) -> bool:
    """Whether paths, iterations or elements are joined anywhere in a program, so that numbers of two kinds may become one's."""
    kinds = (ast.If, ast.IfExp, ast.For, ast.While, ast.Try, ast.Match, ast.BoolOp, ast.comprehension)

    def meets(node: ast.AST) -> bool:
        if isinstance(node, ast.Subscript):
            return not isinstance(node.slice, ast.Constant)
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in ("min", "max")
        return isinstance(node, kinds)

    return any(meets(node) for node in ast.walk(ast.parse(source)))


def _comparable(value, seen: dict[int, int] | None = None):
    """A value with instances as what they are made of: each way to run a program has classes of its own."""
    seen = {} if seen is None else seen
    if isinstance(value, dict):
        return {k: _comparable(v, seen) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_comparable(v, seen) for v in value]
        if hasattr(value, "_fields"):
            return (type(value).__name__, *parts)
        return parts if isinstance(value, list) else tuple(parts)
    if type(value).__module__ != MODULE or isinstance(value, BaseException):
        return value
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    return [type(value).__name__, {k: _comparable(v, seen) for k, v in vars(value).items()}]


def _joined(expected, got):
    """A value with the numbers that allowed difference 4 may make of it: floats of ints, NumPy's, wider ones."""
    if isinstance(expected, (tuple, list)) and type(expected) is type(got) and len(expected) == len(got):
        return type(expected)(_joined(e, g) for e, g in zip(expected, got))
    if isinstance(expected, dict) and isinstance(got, dict) and list(expected) == list(got):
        return {k: _joined(e, got[k]) for k, e in expected.items()}
    if type(expected) in (bool, int) and type(got) in (int, float, complex):
        return type(got)(expected)
    if isinstance(got, np.generic) and isinstance(expected, (bool, int, float, complex, np.generic)):
        weak = not isinstance(expected, np.generic)
        return _numbers_as(got.dtype, expected) if weak or np.can_cast(expected.dtype, got.dtype) else expected
    return expected


def _numbers_as(dtype, number):
    """The NumPy number of a Python one, or the Python one where the dtype does not hold it."""
    try:
        same = np.array(number).astype(dtype)[()]
        return same if same == number or number != number else number
    except (OverflowError, TypeError, ValueError):
        return number


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
    line = re.sub(r"\(an iteration uses .*|does not hold .*", "...", line)
    return re.sub(r"'[^']*'|\b[a-z]\d+\b", "_", re.sub(r"`[a-z]\d*_?`", "`_`", line))[:100]


def _call(name: str, texts: list[str], at_end: bool, function, expected, facts) -> tuple[Difference | None, int | None]:
    """What a call gives that Python does not, or the number of the allowed difference that explains it.

    `facts`: whether an int left its 64 bits, whether the sign of a NaN was seen, and whether kinds of numbers may join.
    """
    result, error, printed, plain = expected
    big, nan_sign, joins = facts

    def seen(kind: str, text: str) -> tuple[Difference | None, int | None]:
        return (None, 9) if nan_sign else (Difference(f"{name} {kind}", f"{name}: {text}"), None)

    given = arguments.build(texts, at_end)
    left, raised, shown = outcome(function, given)
    got, result = _comparable(left), _comparable(result)
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
        if joins and difference(got, _joined(result, got)) is None:
            return None, 4
        types = type(got).__name__, type(result).__name__
        same = type(got) is type(result) and (not hasattr(got, "dtype") or got.dtype == result.dtype)
        return seen(f"{'value' if same else 'type'} of {types[1]}", text)
    if (text := difference(given, plain, 0.0, "arguments")) is not None:
        if joins and difference(given, _joined(plain, given)) is None:
            return None, 4
        return seen("arguments", text)
    if shown != printed:
        return seen("printed", f"printed {shown!r} for {printed!r}")
    if identities(left, given) != identities(expected[0], plain):
        return Difference(f"{name} alias", f"{name}: other objects are one, or share memory"), None
    return None, None


def examine(program: Program, compilers: dict[str, Compiler] | None = None) -> Verdict:
    verdict = Verdict()
    try:
        function = define(program.source, "f", {"np": np, "math": math, "__name__": MODULE})
        expected, bounds = oracle(program.source, "f")
        under = {name: make(function) for name, make in (compilers or _compilers()).items()}
        lines = _operations(program.source)
        joins = _joins(program.source)
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
                facts = bounds.seen, bounds.nan_sign, joins
                problem, explained = _call(name, texts, at_end, compiled, (result, error, printed, plain), facts)
                if explained is not None:
                    verdict.explained.append(explained)
                if problem is not None:
                    problem.call = number
                    verdict.difference = problem
                    return verdict
    except ingot.UnsupportedError as refusal:
        verdict.refused = reason(refusal)
    return verdict
