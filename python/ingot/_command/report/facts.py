"""What is known of the functions that a program compiled, as data."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._calls.function import Function
from ..._calls.specialisation import Specialisation
from ..._ingot import Description
from ..._profile.rows import Row
from ..._reports import display
from ..._reports import loops as _loops
from ..script import Outcome
from .advice import advice_of

if TYPE_CHECKING:
    from ..._core import Fusion, Nest

_OWN = str(Path(__file__).parents[2]) + "/"
Line = tuple[str, int]


@dataclass
class LoopFacts:
    """A loop of the user's: what became of it, and the names of why it has no lanes, and is not shared."""

    line: Line
    words: str
    lanes: int
    is_innermost: bool
    has_lanes_inside: bool
    no_lanes: str
    not_shared: str
    checks: tuple[str, ...]
    """The kinds of exceptions that are looked for in each of its iterations."""


@dataclass
class NestFacts:
    """Loops over arrays that were fused, or a routine: what one call moves and computes there; None: not known."""

    line: Line | None
    lines: tuple[int, ...]
    ops: int
    bytes: int | None
    flops: float | None


@dataclass
class Wait:
    """Memory that loops write and later ones read, since they could not be fused."""

    bytes: int | None
    written: Line | None
    read: Line | None
    reason: str
    """`number`: the later ones use what all elements gave, as a sum; `routine`: one of them is a routine; `reduction`: the later ones
    reduce, which loops that store an array do not do; empty: another one."""


@dataclass
class Made:
    """One specialisation."""

    arguments: str
    key: tuple
    names: tuple[str, ...]
    why: str
    cause: str
    changed_name: str
    known: tuple[str, ...]
    """The arguments whose values are known."""
    after: float
    """Seconds since the program began."""
    seconds: dict[str, float]
    code: str
    calls: int
    loops: list[LoopFacts] = field(default_factory=list)
    nests: list[NestFacts] = field(default_factory=list)
    moved: int | None = None
    least: int | None = None
    waits: list[Wait] = field(default_factory=list)
    drawing: str = ""
    failed: str = ""
    """Why its loops and nests are not known."""

    @property
    def flops(self) -> float | None:
        known = [nest.flops for nest in self.nests]
        return sum(f for f in known if f is not None) if any(known) else None


@dataclass
class FunctionFacts:
    """One function, with the seconds and calls that the profile has counted."""

    name: str
    file: str
    first_line: int
    source: list[str]
    calls: int
    own: float | None
    """Seconds; None: not known, since the profile, which goes by names, has others of this name."""
    made: list[Made]
    refused: list[tuple[str, str]]
    advice: list[Any] = field(default_factory=list)

    @property
    def compiling(self) -> float:
        return sum(sum(made.seconds.values()) for made in self.made)


@dataclass
class Report:
    """One run of a program."""

    script: str
    arguments: list[str]
    seconds: float
    functions: list[FunctionFacts]
    peaks: dict[str, dict[str, float]] | None


def collected(script: str, arguments: list[str], started: float, seconds: float, outcomes: list[Outcome], rows: Sequence[Row], peaks: dict | None) -> Report:
    called: list[Any] = list(dict.fromkeys(outcome.function for outcome in outcomes))
    alike: dict[tuple[Any, str], list[Function[..., Any]]] = {}
    for function in called:  # closures and functions of loops are many of one definition
        alike.setdefault((function._own_function().__code__, function._shown), []).append(function)
    named = Counter(functions[0].__name__ for functions in alike.values())
    functions = [_function(group, started, rows if named[group[0].__name__] == 1 else None) for group in alike.values()]
    for each in functions:
        each.advice = list(advice_of(each))
    functions.sort(key=lambda f: -((f.own or 0.0) + f.compiling))
    return Report(script, arguments, seconds, functions, peaks)


def _function(alike: list[Function[..., Any]], started: float, rows: Sequence[Row] | None) -> FunctionFacts:
    """Of functions of one definition; `rows`: None, the profile has others of their name."""
    own = alike[0]._own_function().__code__
    name = alike[0].__name__
    counted = [row for row in rows or () if row.kind == "compiled" and row.name == name]
    made = [(it, display.why(found, k)) for found in map(_in_order, alike) for k, it in enumerate(found)]
    made.sort(key=lambda each: each[0].made_at)
    refused = dict(row for function in alike for row in display.refused_of(function))
    return FunctionFacts(
        name,
        own.co_filename,
        own.co_firstlineno,
        _source(own),
        sum(row.calls for row in counted) if rows is not None else sum(it.calls for it, _ in made),
        sum(row.own for row in counted) if rows is not None else None,
        [_made(it, why, started) for it, why in made],
        list(refused.items()),
    )


def _in_order(function: Function[..., Any]) -> list[Specialisation]:
    return sorted(function.specialisations, key=lambda it: it.made_at)


def _source(code: Any) -> list[str]:
    """The lines of a function, from its first one on."""
    last = max((line for *_, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    lines = linecache.getlines(code.co_filename)
    return [line.rstrip("\n") for line in lines[code.co_firstlineno - 1 : last]]


def _made(it: Specialisation, why: str, started: float) -> Made:
    known = tuple(name for name, each in zip(it.names, it.key) if each.kind == Description.STATIC)
    made = Made(
        display.arguments_text(it),
        it.key,
        it.names,
        why,
        it.cause,
        it.changed_name,
        known,
        it.made_at - started,
        dict(it.seconds),
        display.code_of(it),
        it.calls,
    )
    if it.refused or it.device is not None or it.program.linked:
        made.failed = "it was refused" if it.refused else "it runs on a device"
        return made
    try:
        stages = it.compile(texts=True)
    except Exception as error:  # what is not known is no reason to show nothing
        made.failed = f"{type(error).__name__}: {error}"
        return made
    made.loops = _loops_of(stages)
    if it.example is None:
        made.failed = "the bytes of its arguments are not known"
    else:
        _add_nests(made, it, stages)
    return made


def _loops_of(stages: dict[str, Any]) -> list[LoopFacts]:
    obstacles = stages["obstacles"]
    facts = []
    for loop in sorted(_loops.read(stages["final"]), key=lambda loop: loop.line):
        if loop.line[0].startswith(_OWN):
            continue
        no_lanes, not_shared = _loops.kinds(obstacles, loop)
        left = loop.checks if loop.lanes == 1 else ()
        facts.append(
            LoopFacts(
                loop.line,
                _loops.words_of(loop, obstacles),
                loop.lanes,
                not loop.inside,
                any(inner.lanes > 1 for inner in loop.inside),
                no_lanes,
                not_shared,
                tuple(left),
            )
        )
    return facts


def _add_nests(made: Made, it: Specialisation, stages: dict[str, Any]) -> None:
    from ..._reports import drawing as _drawing

    fusion = stages["nests"].fusion(it.program.interface[0], list(it.example or ()))
    made.moved, made.least = fusion.moved, fusion.least
    made.nests = [_nest(nest) for nest in fusion.nests]
    made.waits = list(_waits(fusion, made.nests))
    if fusion.nests:
        made.drawing = _drawing.svg(fusion)


def _nest(nest: Nest) -> NestFacts:
    places = [op.place for op in nest.ops if op.place is not None and not op.place[0].startswith(_OWN)]
    files = [place[0] for place in places]
    lines = tuple(sorted({place[1] for place in places if place[0] == files[0]})) if places else ()
    computing = [op for op in nest.ops if op.kind in ("compute", "reduce")]
    own = [op.place[1] for op in computing if op.place is not None and files and op.place[0] == files[0]] or lines
    elements = _elements(nest)
    flops = None if elements is None or not nest.loops else float(len(computing) * elements)
    return NestFacts((files[0], max(own)) if places else None, lines, len(computing), nest.moved, flops)


def _waits(fusion: Fusion, facts: list[NestFacts]) -> Iterator[Wait]:
    """One for each array that is temporary, and each nest that reads it."""
    nest_of = {op: k for k, nest in enumerate(fusion.nests) for op in nest.ops}
    for k, nest in enumerate(fusion.nests):
        for buffer in nest.read:
            maker = next((m for m in range(k) if buffer in fusion.nests[m].written), None)
            if buffer.kind != "temporary" or maker is None:
                continue
            reason = "routine" if not nest.loops or not fusion.nests[maker].loops else ""
            numbers = [use for op in nest.ops for use in op.takes if maker <= nest_of.get(use, k) < k]
            reduces = any(op.kind == "reduce" for op in nest.ops)
            yield Wait(buffer.bytes, facts[maker].line, facts[k].line, reason or ("number" if numbers else "reduction" if reduces else ""))


def _elements(nest: Nest) -> int | None:
    """How many elements of its largest array it iterates over; None: not known."""
    counts = []
    for part in (nest.read, nest.written):
        for buffer, size in part.items():
            if size is not None and buffer.itemsize:
                counts.append(size // buffer.itemsize)
    return max(counts, default=None)
