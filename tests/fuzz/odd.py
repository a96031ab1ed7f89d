"""Calls the programs of the tour with bad and odd argument lists, in processes of their own, and compares."""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import json
import math
import os
import re
import resource
from typing import Any

import numpy as np

import ingot
from ingot._vectorize import guvectorize
from ingot.tour import sources
from support import MODES, difference, identities, outcome

from .campaign import run_batches
from .examine import Difference, allowed
from .odd_arguments import OddCall, build, by_name, odd_call
from .oracle import EagerDifference, namespace
from .shrink import SECONDS, limit, take_default_actions

BATCH = 50
SHOWN = 8  # lists of one kind of difference that a report shows
MEMORY = 8 << 30  # bytes of address space: what asks for more gets MemoryError


@dataclasses.dataclass
class Verdict:
    refused: str | None = None
    python: str | None = None
    """What plain Python raised where Ingot refused."""
    explained: list[int] = dataclasses.field(default_factory=list)
    difference: Difference | None = None


class _Programs:
    """The programs under the oracle and under Ingot, made once a process."""

    def __init__(self) -> None:
        self.space, self.bounds = namespace(inspect.getsource(sources), math.inf)
        self.compiled: dict[tuple[str, str], Any] = {}

    def under(self, name: str, mode: str) -> Any:
        if (name, mode) not in self.compiled:
            program = by_name(name)
            made = program.compiled(program.plain)
            function = made._core if isinstance(made, guvectorize.GUFunction) else made
            function._mode = mode
            self.compiled[name, mode] = made
        return self.compiled[name, mode]

    def plain(self, name: str) -> Any:
        """The oracle's function. Where there are eager signatures, they choose and convert the arguments first."""
        program = by_name(name)
        function = self.space[program.plain.__name__]
        made = program.compiled(program.plain)
        if isinstance(made, guvectorize.GUFunction):
            made._core = function
            return made
        if made._signatures is not None:
            return lambda *args, **keywords: function(*made._fit(made._bind(args, keywords)))
        return function


@functools.cache
def _programs() -> _Programs:
    return _Programs()


def _large(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_large, value))
    if isinstance(value, dict):
        return any(map(_large, value.values()))
    return isinstance(value, (int, np.uint64)) and not -(2**63) <= int(value) < 2**63


def complete(message: str) -> bool:
    """Whether a refusal has file, line, source with caret, reason and advice."""
    lines = message.split("\n")
    place = next((i for i, line in enumerate(lines) if ".py:" in line and line.startswith("  ")), -1)
    caret = 0 < place < len(lines) - 2 and set(lines[place + 2].strip()) == {"^"}
    return lines[0].endswith("is not supported") and caret and any(line.startswith("  instead: ") for line in lines)


def _loose(value: Any) -> Any:
    """The value with its numbers as floats: an int may have become one where paths join."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    return type(value)(map(_loose, value)) if type(value) in (list, tuple) else value


def _compare(name: str, given: list, plain: list, seen: tuple, expected: tuple) -> Difference | None:
    got, raised, shown = seen
    result, error, printed = expected
    if type(raised) is not type(error):
        wrong = lambda e: type(e).__name__ if e else "none"  # noqa: E731
        return Difference(f"{name} exception {wrong(raised)} for {wrong(error)}", f"{name}: {raised!r} for {error!r}")
    joined = type(result) in (int, float) and difference(_loose(got), _loose(result)) is None
    if (text := difference(got, result)) is not None and not joined:
        return Difference(f"{name} result", f"{name}: {text}")
    if (text := difference(given, plain, 0.0, "arguments")) is not None:
        return Difference(f"{name} arguments", f"{name}: {text}")
    if shown != printed:
        return Difference(f"{name} printed", f"{name}: printed {shown!r} for {printed!r}")
    if identities(got, given) != identities(result, plain):
        return Difference(f"{name} alias", f"{name}: other objects are one, or share memory")
    return None


def _comparable(value: Any) -> Any:
    """A value with the types of those parts that no comparison sees into."""
    if type(value) in (list, tuple):
        return type(value)(map(_comparable, value))
    if isinstance(value, dict):
        return {k: _comparable(v) for k, v in value.items()}
    seen = (np.ndarray, np.generic, bool, int, float, complex, str, bytes, type(None))
    return value if isinstance(value, seen) and not (isinstance(value, np.ndarray) and value.dtype.kind in "OTV") else type(value)


def _reason(refusal: ingot.UnsupportedError) -> str:
    """The first line of a refusal, without names, numbers and what is particular to an element."""
    line = re.sub(r"\(iterations? .*|`[\w.\[\]']+`", "_", str(refusal).splitlines()[0])
    return re.sub(r"\b\d+\b", "_", line)[:110]


def examine(call: OddCall, at_end: bool) -> Verdict:
    """Calls one program plainly, interpreted and compiled, each with fresh arguments, and compares all that is seen."""
    verdict = Verdict()
    programs = _programs()
    sources.do_sum = programs.space["do_sum"] = call.do_sum

    def run(function: Any) -> tuple[list, list, tuple]:
        positional, keywords = build(call, at_end)
        np.random.seed(7)
        seen = outcome(lambda *_: function(*positional, **keywords), ())
        given = [*positional, *keywords.values()]
        return given, _comparable(given), seen

    programs.bounds.seen = False
    plain, plain_seen, expected = run(programs.plain(call.program))
    big = programs.bounds.seen or any(map(_large, plain))
    if isinstance(expected[1], EagerDifference):
        verdict.difference = Difference("eager", str(expected[1]))
        return verdict
    for mode in MODES:
        given, given_seen, seen = run(programs.under(call.program, mode))
        raised = seen[1]
        if isinstance(raised, ingot.UnsupportedError):
            verdict.refused = _reason(raised)
            verdict.python = type(expected[1]).__name__ if expected[1] is not None else None
            if not complete(str(raised)):
                verdict.difference = Difference("a refusal without its place", str(raised))
            continue
        number = allowed(expected[1], raised, big)
        if number is not None:
            verdict.explained.append(number)
            continue
        problem = _compare(mode, given_seen, plain_seen, seen, expected)
        if problem is not None:
            verdict.difference = problem
            return verdict
    return verdict


@dataclasses.dataclass
class Campaign:
    seed: int
    calls: int = 0
    raised_alike: int = 0
    refused: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    refused_for_raised: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    explained: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    found: list[tuple[int, str, str]] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def add(self, number: int, row: dict) -> None:
        self.calls += 1
        if row.get("kind"):
            self.found.append((number, row["kind"], row["text"]))
        if row.get("refused"):
            self.refused[row["refused"]] += 1
            if row["python"]:
                self.refused_for_raised[f"{row['python']}: {row['refused']}"] += 1
        self.explained.update(row.get("explained", ()))

    def report(self) -> str:
        kinds = collections.Counter(kind for _, kind, _ in self.found)
        lines = [
            f"seed {self.seed}: {self.calls} argument lists in {self.seconds:.1f} s; {len(self.found)} differ",
            f"refused: {sum(self.refused.values())}",
            *(f"  {n:6} {text}" for text, n in self.refused.most_common()),
            f"of these, where Python raised: {sum(self.refused_for_raised.values())}",
            *(f"  {n:6} {text}" for text, n in self.refused_for_raised.most_common()),
            "allowed differences met, by number: " + (", ".join(f"{k}: {n}" for k, n in sorted(self.explained.items())) or "none"),
            *(f"DIFFERS {n:4} {kind}" for kind, n in kinds.most_common()),
        ]
        seen: collections.Counter = collections.Counter()
        for number, kind, text in sorted(self.found, key=lambda f: f[1]):
            seen[kind] += 1
            if seen[kind] > SHOWN:
                continue
            shown = "\n".join(f"    {line[:300]}" for line in text.splitlines()[:6])
            lines.append(f"{number}: {kind}\n    {odd_call(self.seed, number)}\n{shown}")
        return "\n".join(lines)


def work(seed: int, start: int, count: int, rows: Any) -> None:
    """Examines argument lists one after another; writes a line before and after each."""
    take_default_actions()
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # whose own memory is terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(start, start + count):
        print(json.dumps({"begin": number}), file=rows, flush=True)
        limit(4 * SECONDS)
        verdict = examine(odd_call(seed, number), number % 2 == 0)
        limit(0)
        row = dataclasses.asdict(verdict) | {"number": number, "kind": None, "text": None}
        if verdict.difference is not None:
            row |= {"kind": verdict.difference.kind, "text": verdict.difference.text}
        print(json.dumps(row), file=rows, flush=True)


def run(seed: int, calls: int, jobs: int = 1, seconds: float | None = None) -> Campaign:
    """Examines the first argument lists of a seed, as many as asked for."""
    campaign = Campaign(seed)
    run_batches(campaign, calls, BATCH, jobs, seconds, ("--odd",))
    return campaign
