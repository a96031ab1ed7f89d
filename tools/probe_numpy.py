#!/usr/bin/env python3
"""Calls NumPy's functions and the same calls under Ingot with random arguments, and reports where they differ.

    tools/probe_numpy.py                                    all functions of docs/numpy.md, 20 calls of each
    tools/probe_numpy.py --functions take linalg.norm       some of them
    tools/probe_numpy.py --functions take --call 17 --seed 3   one call
    tools/probe_numpy.py --calls 100 --budget 600           100 calls of each, or as many as 600 seconds suffice for

Arguments have every dtype, and any shape and layout; values are compared with the sign of zero, types, dtypes, shapes,
which argument the result is or shares memory with, the arguments afterwards, and exceptions. A refusal
(`ingot.UnsupportedError`) and a `TypeChangeError` are counted separately. Exit status 1 if a call differs. Needs ingot on the path.
"""

from __future__ import annotations

import argparse
import importlib
import json
import linecache
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from probe_calls import OPEN_VALUES, Call, chosen

import ingot
import ingot.numpy
from ingot._calls.function import Function
from ingot.numpy._namespace import Subscripted

PARTS = {"": np, "linalg": np.linalg, "fft": np.fft}
# Which zero of two equal ones these give depends on the position of an element, or on a library.
OPEN_ZEROS = re.compile(
    r"(a|nan)?(max|min)\b|maximum|minimum|fmax|fmin|ptp|clip|sort|.*partition|unique|union1d|intersect1d|set|.*median"
    r"|.*percentile|.*quantile|linalg|fft|einsum|dot|inner|matmul|vecdot|matvec|vecmat|vdot|tensordot|kron"
)
WRITES = re.compile(r"dtype|out=|astype|copyto|put|place|fill|full|insert|\bat\b|pad|append|clip|choose|select|round|around")
BOUNDS = {"e": 4e-3, "f": 4e-6, "d": 1e-11}
SECONDS_A_CALL = 30.0
# Of verdicts: the same, a refusal, a TypeChangeError, an exception of another message or class, and all else that differs.
KINDS = ("same", "refused", "changed", "message", "exception", "wrong")


def functions() -> dict[str, tuple[Any, Any]]:
    """Ingot's and NumPy's functions of the namespace by their path, as docs/numpy.md lists them."""
    found = {}
    for part, original in PARTS.items():
        module = importlib.import_module(f"ingot.numpy.{part}".rstrip("."))
        for name in dir(module):
            if isinstance(getattr(module, name), (Function, Subscripted)):
                found[f"{part}.{name}".lstrip(".")] = (getattr(module, name), getattr(original, name))
    return found


def copied(value: Any) -> Any:
    """A copy that keeps layout and flags."""
    if not isinstance(value, np.ndarray):
        return list(value) if isinstance(value, list) else value
    if value.size and any(stride == 0 and length > 1 for stride, length in zip(value.strides, value.shape)):
        return np.broadcast_to(value[:1].copy(), value.shape)
    backwards: Any = (..., *(slice(None, None, -1 if stride < 0 else 1) for stride in value.strides))
    gaps = value.ndim > 0 and value.size > 0 and abs(value.strides[-1]) > value.itemsize and not value.flags.f_contiguous
    result = np.repeat(value, 2, -1)[..., ::2] if gaps else value[backwards].copy(order="K")[backwards]
    result.flags.writeable = value.flags.writeable
    return result


@dataclass
class Outcome:
    """What a call does: its result or exception, and its arguments afterwards."""

    result: Any
    error: Exception | None
    arguments: list[Any]


def outcome(function: Callable[..., Any], call: Call) -> Outcome:
    arguments = [copied(value) for value in call.arguments.values()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Outcome(function(*arguments), None, arguments)
        except Exception as error:
            return Outcome(None, error, arguments)


def defined(call: Call) -> Callable[..., Any]:
    """The call as a function whose source is found."""
    source = call.source()
    file = f"<probe {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), space)
    return space["probe"]


def with_outputs(call: Call, stream: random.Random) -> Call:
    """The call with outputs in place of `@out`, mostly of the shape and dtype that the result has without them."""
    if "@out" not in call.text:
        return call
    bare = Call(call.name, re.sub(r"(, )?out=@out", "", call.text).removeprefix(", "), call.arguments)
    results = outcome(defined(bare), bare).result
    results = results if isinstance(results, tuple) else (results,)
    names: list[str] = []
    for result in results:
        like = np.asarray(result) if isinstance(result, (np.ndarray, np.generic, int, float, complex)) else np.zeros(3)
        shape = like.shape if stream.random() < 0.8 else stream.choice([(), (3,), (2, *like.shape), (1,) * like.ndim])
        if shape == () and re.search("accumulate|cum", call.name):
            shape = like.shape  # NumPy writes beyond an output without axes
        dtype = like.dtype if stream.random() < 0.6 else np.dtype(stream.choice("b,i1,i4,i8,u1,f2,f4,f8,c8,c16".split(",")))
        names.append(f"out{len(names)}")
        call.arguments[names[-1]] = np.full(shape, 7, "?" if dtype.char == "b" else dtype)
    written = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return Call(call.name, call.text.replace("@out", written), call.arguments)


# How two outcomes differ


def signs_differ(got: np.ndarray, expected: np.ndarray) -> bool:
    zeros = (got == 0) & (expected == 0)
    return bool(np.any(np.signbit(got)[zeros] != np.signbit(expected)[zeros]))


def floats_differ(got: np.ndarray, expected: np.ndarray, bound: float, scale: float) -> bool:
    wide, other = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        near = abs(wide - other) <= bound * (abs(other) + scale)
        return not bool(np.all(near | (wide == other) | (np.isnan(wide) & np.isnan(other))))


@dataclass
class Judge:
    """What may be open in the results of a call."""

    values: bool
    casts: bool
    zeros: bool
    scale: float
    bound: float

    def values_differ(self, got: np.ndarray, expected: np.ndarray) -> str | None:
        if self.values or (self.casts and expected.dtype.kind in "iu"):
            return None
        if expected.dtype.kind not in "fc":
            return None if np.array_equal(got, expected) else "values"
        parts = [(got, expected)] if expected.dtype.kind == "f" else [(got.real, expected.real), (got.imag, expected.imag)]
        infinite = expected.dtype.kind == "c" and ~(np.isfinite(got) & np.isfinite(expected))
        for own, right in parts:
            bound = max(self.bound, BOUNDS[right.dtype.char])
            if floats_differ(np.where(infinite, 0, own), np.where(infinite, 0, right), bound, self.scale):
                return "values"
            if not self.zeros and expected.dtype.kind == "f" and signs_differ(own, right):
                return "sign of zero"
        return None

    def difference(self, got: Any, expected: Any) -> str | None:
        if type(got) is not type(expected):
            return f"type {type(got).__name__} for {type(expected).__name__}"
        if isinstance(expected, (tuple, list)):
            if len(got) != len(expected):
                return f"{len(got)} elements for {len(expected)}"
            return next((found for g, e in zip(got, expected) if (found := self.difference(g, e))), None)
        if isinstance(expected, (np.ndarray, np.generic, float, complex)):
            g, e = np.asarray(got), np.asarray(expected)
            if g.dtype != e.dtype:
                return f"dtype {g.dtype} for {e.dtype}"
            return f"shape {g.shape} for {e.shape}" if g.shape != e.shape else self.values_differ(g, e)
        return None if got is expected or got == expected else "values"


def arrays_of(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from arrays_of(part)


def kinship(done: Outcome) -> list[tuple[bool, bool]]:
    """For each array of the result and each argument: whether they are one object, and whether they share memory."""
    given = [value for value in done.arguments if isinstance(value, np.ndarray)]
    return [(a is b, np.may_share_memory(a, b)) for a in arrays_of(done.result) for b in given]


def scale_of(call: Call) -> float:
    """What errors of rounding are measured by: the square of the largest finite number among the arguments."""
    parts = [abs(np.asarray(v).astype(np.complex128)).ravel() for v in call.arguments.values()]
    numbers = np.concatenate([np.ones(1), *parts])
    with np.errstate(over="ignore"):
        return float(min(np.max(numbers[np.isfinite(numbers)]) ** 2, 1e300))


def bound_of(call: Call) -> float:
    """How exact the least exact of the arguments and dtypes is."""
    chars = {"e" if re.search("float16", call.text) else "f" if re.search("float32", call.text) else "d"}
    chars |= {np.empty(0, np.asarray(v).dtype).real.dtype.char for v in call.arguments.values()}
    return max(BOUNDS.get(char, 0.0) for char in chars)


def leaves_casts_open(call: Call) -> bool:
    """Whether floats that the integer dtype of a cast may not hold are among the arguments."""
    values = [np.asarray(value) for value in call.arguments.values()]
    floats = [value for value in values if value.dtype.kind in "fc"]
    return bool(WRITES.search(f"{call.name} {call.text}")) and any(not np.all(np.isfinite(v)) or np.any(v.real < 0) or np.any(v.real > 127) for v in floats)


@dataclass
class Verdict:
    kind: str  # one of KINDS
    words: str = ""


def judged(call: Call, done: Outcome, right: Outcome) -> Verdict:
    if isinstance(done.error, ingot.UnsupportedError):
        return Verdict("refused", str(done.error).splitlines()[0])
    if isinstance(done.error, ingot.TypeChangeError):
        return Verdict("changed", str(done.error))
    if type(done.error) is not type(right.error):
        got, expected = (repr(o.error) if o.error else f"{o.result!r}" for o in (done, right))
        both = done.error and right.error and not isinstance(done.error, ingot.InternalError)
        return Verdict("exception" if both else "wrong", f"{got[:300]} for {expected[:300]}")
    if right.error is not None and str(done.error) != str(right.error):
        return Verdict("message", f"{done.error!r} for {right.error!r}"[:600])
    judge = Judge(call.name in OPEN_VALUES, leaves_casts_open(call), bool(OPEN_ZEROS.match(call.name)), scale_of(call), bound_of(call))
    found = judge.difference(done.result, right.result)
    if found:
        return Verdict("wrong", f"{found}: {done.result!r} for {right.result!r}"[:900])
    if found := judge.difference(done.arguments, right.arguments):
        return Verdict("wrong", f"arguments: {found}: {done.arguments!r} for {right.arguments!r}"[:900])
    return Verdict("same") if kinship(done) == kinship(right) else Verdict("wrong", "memory shared with the arguments")


# Running


def shown(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    layout = f" strides {value.strides}" if not value.flags.c_contiguous else ""
    return f"{value.dtype}{value.shape} {' '.join(str(value).split())}{layout}{'' if value.flags.writeable else ' read-only'}"


def described(call: Call) -> str:
    arguments = "".join(f"\n        {name}: {shown(value)}" for name, value in call.arguments.items())
    return f"np.{call.name}({call.text}){arguments}"


def made(name: str, number: int, seed: int) -> Call:
    stream = random.Random(f"{seed} {name} {number}")
    return with_outputs(chosen(name, *functions_once()[name], stream), stream)


_functions: dict[str, tuple[Any, Any]] = {}


def functions_once() -> dict[str, tuple[Any, Any]]:
    if not _functions:
        _functions.update(functions())
    return _functions


def examine(name: str, number: int, seed: int) -> tuple[Call, Verdict]:
    call = made(name, number, seed)
    plain = defined(call)
    right = outcome(plain, call)
    return call, judged(call, outcome(ingot.jit(plain), call), right)


def work(name: str, first: int, count: int, seed: int, until: float) -> None:
    """Examines calls and prints a line before and after each one."""
    for number in range(first, first + count):
        if time.time() > until:
            return
        print(json.dumps([number]), flush=True)
        call, verdict = examine(name, number, seed)
        text = described(call) if verdict.kind != "same" else ""
        print(json.dumps([number, verdict.kind, verdict.words, text]), flush=True)


Record = tuple[str, int, str, str, str]
"""The name of a function, the number of a call, the kind of verdict, its words, and the call."""


def records(name: str, numbers: range, seed: int, until: float) -> Iterator[Record]:
    """Calls of a function in processes of their own: what ends one of them counts as wrong."""
    first = numbers.start
    while first < numbers.stop and time.time() < until:
        with tempfile.TemporaryFile("w+") as output:
            order = json.dumps([name, first, numbers.stop - first, seed, until])
            command = [sys.executable, __file__, "--work", order]
            limit = min(max(until - time.time(), 1.0), SECONDS_A_CALL * len(numbers)) + SECONDS_A_CALL
            try:
                ended = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, timeout=limit, text=True)
                status = f"{ended.returncode} {ended.stderr[-300:]}".strip()
            except subprocess.TimeoutExpired:
                status = "timeout"
            output.seek(0)
            lines = [json.loads(line) for line in output.read().splitlines() if line.endswith("]")]
        yield from ((name, *line) for line in lines if len(line) == 4)
        if status == "0":
            return
        last = lines[-1][0] if lines else first
        yield name, last, "wrong", f"the process ended: {status}", ""
        first = last + 1


def report(name: str, found: list[Record], kinds: set[str], most: int) -> None:
    """Prints what was found in the calls of one function, if there is something to show."""
    own = [record for record in found if record[2] in kinds]
    if own:
        counts = Counter(record[2] for record in found)
        print(f"{name}: {', '.join(f'{count} {kind}' for kind, count in sorted(counts.items()))}")
    for _, number, kind, words, text in own[:most]:
        print(f"  --call {number}  {kind}: {words}\n      {text}", flush=True)


def arguments_of(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--calls", type=int, default=20, help="of each function")
    parser.add_argument("--call", type=int, help="the one call of this number")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=1e9, metavar="SECONDS")
    parser.add_argument("--show", nargs="+", default=["wrong", "exception", "message"], help="kinds of verdicts that are shown")
    parser.add_argument("--most", type=int, default=1000, help="shown of each function")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    given = arguments_of(words)
    if given.work:
        work(*json.loads(given.work))
        return 0
    names = given.functions or list(functions_once())
    numbers = range(given.calls) if given.call is None else range(given.call, given.call + 1)
    end = time.time() + given.budget
    found: list[Record] = []
    for place, name in enumerate(names):
        until = time.time() + (end - time.time()) / (len(names) - place)
        own = list(records(name, numbers, given.seed, until))
        report(name, own, set(given.show), given.most)
        found += own
    counts = Counter(record[2] for record in found)
    total = f"{len(found)} calls of {len(names)} functions"
    print(f"{total}: " + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS))
    return int(any(record[2] in ("wrong", "exception", "message") for record in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
