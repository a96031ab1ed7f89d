"""Random programs under random schedules: what the schedule does not refuse is to the last bit what the program gives without one."""

from __future__ import annotations

import collections
import dataclasses
import json
import random
import re
from typing import Any

import numpy as np

import ingot

from .campaign import run_batches
from .oracle import define
from .shrink import limit, take_default_actions

BATCH = 20
SECONDS = 60  # of CPU time for one program
MODE = "--schedules"
DTYPES = (np.float64, np.float32, np.int64, np.int32, np.int16, np.uint8, np.complex128, np.bool_)
STEPS = ("split", "tile", "reorder", "fuse", "vectorize", "vectorize", "unroll", "parallel", "cache", "prefetch", *["compute_at"] * 6, *["inline"] * 3)
SHAPES = ((19, 23), (40, 9), (9, 40), (7, 3), (7, 1), (3, 7), (2, 2), (1, 1), (0, 5), (5, 0))


class _Maker:
    """Makes the source of a function of `a`, `b`, `t` (indices) and `out`; all elements of arrays that it reads are there.

    An array has `margin` rows and columns less than `a`, so that the ones next to an element are there for arrays of a larger margin.
    """

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines = ["def f(a, b, t, out):", "    h, w = a.shape"]
        self.readable = {"a": (2, 0), "b": (2, 0)}  # axes and margin
        self.nests: list[tuple[str, ...]] = []  # the names of the loops of each

    def source(self) -> tuple[str, list[tuple[str, ...]]]:
        for k in range(self.rng.randint(1, 3)):
            getattr(self, self.rng.choice(["loops", "loops", "loops", "statement", "statement", "short", "sums", "in_place"]))("pqr"[k])
        if self.rng.random() < 0.3:
            self.statement("")
        else:
            self.in_place("")
        return "\n".join(self.lines) + "\n", self.nests

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def margin(self) -> int:
        """Of what reads the arrays that there are."""
        return max(margin for _, margin in self.readable.values()) + 2

    def index(self, name: str, length: str) -> str:
        """An index into an axis, by a loop's: most are next to it."""
        if self.rng.random() < 0.75:
            return self.rng.choice([name, name, f"{name} + 1", f"{name} + 2", f"2 + {name}"])
        others = (f"{name} - 1", f"{length} - 1 - {name}", f"-1 - {name}", f"{name} // 2", f"({name} * 2) % {length}", "0")
        others += (f"min(max({name} - 1, 0), {length} - 1)", f"abs({name} - {length} // 2)", f"t[{name}] % {length}", f"t[{name}]", f"{length} - 1")
        return self.rng.choice(others)

    def element(self, y: str, x: str) -> str:
        name = self.rng.choice(list(self.readable)[-3:])
        axes = self.readable[name][0]
        row = self.index(y, f"{name}.shape[0]")
        if axes == 1:
            return f"{name}[{row}]"
        column = self.rng.choice(["0", "1", "2", f"{x} % 3"]) if axes == 3 else self.index(x, f"{name}.shape[1]")
        return f"{name}[{row}][{column}]" if self.rng.random() < 0.1 else f"{name}[{row}, {column}]"

    def expression(self, y: str, x: str) -> str:
        parts = [self.element(y, x) for _ in range(self.rng.randint(1, 3))]
        return " + ".join(f"({part} * {self.rng.choice('23')})" if self.rng.random() < 0.3 else part for part in parts)

    def nest(self, k: str, margin: int, whole: bool) -> tuple[str, str]:
        """The head of a nest; `whole`: over all elements."""
        names = f"{k}y", f"{k}x"
        for depth, name in enumerate(names):
            end = f"{'hw'[depth]} - {margin}"
            spans = [f"range({end})"] * 8 + [f"range({end} - 1, -1, -1)"] * 2
            if not whole:
                spans += [f"range(1, {end})", f"range(0, {end}, 2)"] + [f"range({names[0]}, {end})"] * depth
            self.add(1 + depth, f"for {name} in {self.rng.choice(spans)}:")
        self.nests.append(names)
        return names

    def loops(self, k: str) -> None:
        rng, own = self.rng, f"{k}s"
        margin = rng.choice([0, self.margin()])
        whole = rng.random() < 0.8
        self.add(1, f"{own} = np.{'empty' if whole else 'zeros'}((max(h - {margin}, 0), max(w - {margin}, 0)), out.dtype)")
        y, x = self.nest(k, margin, whole)
        value, depth = self.expression(y, x) if margin else f"a[{y}, {x}] + b[{y}, {x}]", 3
        if (choice := rng.random()) < 0.15:
            self.add(3, "total = out.dtype.type(0)")
            self.add(3, f"for {k}i in range({rng.choice([2, 3, 9, 12])}):")
            self.add(4, f"total += b[{y}, {k}i % w]")
            self.nests[-1] += (f"{k}i",)
            value = "total"
        elif choice < 0.2:
            self.add(3, f"{own}[{y}, {x}] = b[{y}, {x}]")
            self.add(3, f"if b[{y}, {x}] != 0:")
            depth = 4
        self.add(depth, f"{own}[{y}, {x}] = {value}")
        if rng.random() < 0.1:
            self.add(3, f"{own}[{y}, {x}] += a[{y}, {x}]")
        self.readable[own] = (2, margin)

    def statement(self, k: str) -> None:
        """Array code: the last statement writes `out`."""
        rng, margin = self.rng, self.margin()
        own = f"{k}s" if k else "out"
        if k and rng.random() < 0.4:
            parts = [rng.choice(["a", "b", "a[::-1]", "b[:, ::-1]", "a[:1]", "b[:, :1]"]) for _ in range(rng.randint(1, 3))]
            text, margin = f"{own} = ({' + '.join(['a', *parts])}).astype(out.dtype)", 0
        else:
            names = [name for name, (axes, _) in self.readable.items() if axes == 2][-3:]
            parts = []
            for _ in range(rng.randint(1, 3)):
                y, x = rng.randint(0, 2), rng.randint(0, 2)
                parts.append(f"{rng.choice(names)}[{y}:{y} + max(h - {margin}, 0), {x}:{x} + max(w - {margin}, 0)]")
            place = ":" if k else f":max(h - {margin}, 0), :max(w - {margin}, 0)"
            text = f"{own}[{place}] {'=' if k else rng.choice(['=', '=', '+='])} {' + '.join(parts)}"
            if k:
                self.add(1, f"{own} = np.empty((max(h - {margin}, 0), max(w - {margin}, 0)), out.dtype)")
        self.add(1, f"with ingot.loop('{k}y', '{k}x'):")
        self.add(2, text)
        self.nests.append((f"{k}y", f"{k}x"))
        if k:
            self.readable[own] = (2, margin)

    def short(self, k: str) -> None:
        own, y, c = f"{k}s", f"{k}y", f"{k}x"
        self.add(1, f"{own} = np.empty((h, 3), out.dtype)")
        self.add(1, f"for {y} in {self.rng.choice(['range(h)', 'range(h - 1, -1, -1)'])}:")
        self.add(2, f"for {c} in range(3):")
        self.add(3, f"{own}[{y}, {c}] = b[{y}, {self.rng.choice([f'{c} % w', '0', 'w - 1'])}]")
        self.nests.append((y, c))
        self.readable[own] = (3, 0)

    def sums(self, k: str) -> None:
        own, y, x = f"{k}s", f"{k}y", f"{k}x"
        self.add(1, f"{own} = np.empty(h, out.dtype)")
        self.add(1, f"for {y} in range(h):")
        self.add(2, f"{own}[{y}] = b[{y}, 0]")
        self.add(2, f"for {x} in range({self.rng.choice('w3')}):")
        self.add(3, f"{own}[{y}] += a[{y}, {x} % w]")
        self.nests.append((y, x))
        self.readable[own] = (1, 0)

    def in_place(self, k: str) -> None:
        """A nest that writes `out`, and may read it."""
        rng = self.rng
        y, x = self.nest(k, self.margin(), False)
        value = self.expression(y, x)
        kinds = [f"out[{y}, {x}] = {value}"] * 3 + [f"out[{y}, {x}] += {value}"]
        if k:
            kinds += [f"out[{y} + 1, {x}] = out[{y}, {x}] + b[{y}, {x}]", f"out[{y}, {x}] = out[{y} + 1, {x} + 1]"]
        guarded = rng.random() < 0.1
        if guarded:
            self.add(3, f"if a[{y}, {x}] != 0:")
        self.add(3 + guarded, rng.choice(kinds))


def plan_for(rng: random.Random, nests: list[tuple[str, ...]]) -> Any:
    """A schedule, which may be refused."""
    plan = ingot.schedule()
    loops = [list(nest) for nest in nests]
    for _ in range(rng.randint(1, 6)):
        k = rng.randrange(len(loops))
        own, at = loops[k], rng.randrange(len(loops[k]))
        last = loops[-1]
        match rng.choice(STEPS):
            case "split":
                plan = plan.split(own[at], rng.randint(1, 9))
                own[at : at + 1] = [f"{own[at]}_outer", f"{own[at]}_inner"]
            case "tile" if len(own) == 2:
                plan = plan.tile({own[0]: rng.randint(1, 9), own[1]: rng.randint(1, 9)})
                loops[k] = [f"{own[0]}_outer", f"{own[1]}_outer", f"{own[0]}_inner", f"{own[1]}_inner"]
            case "reorder" if len(own) > 1:
                rng.shuffle(own)
                plan = plan.reorder(*own)
            case "fuse" if at + 1 < len(own):
                plan = plan.fuse(own[at], own[at + 1])
                own[at : at + 2] = [f"{own[at]}_{own[at + 1]}"]
            case "vectorize":
                plan = plan.vectorize(own[-1] if rng.random() < 0.7 else own[at], rng.choice([None, 2, 4, 8, 16]))
            case "unroll":
                plan = plan.unroll(own[at], rng.choice([None, 2, 3, 4]))
            case "parallel":
                plan = plan.parallel(own[0] if rng.random() < 0.7 else own[at], grain=rng.choice([None, 1, 3]))
            case "cache":
                plan = plan.cache(rng.choice("abt"), own[at])
            case "prefetch":
                plan = plan.prefetch(rng.choice("abt"), own[at], rng.randint(1, 9))
            case "compute_at" if k < len(loops) - 1:
                into = last if rng.random() < 0.7 else loops[rng.randrange(k + 1, len(loops))]
                where = rng.randrange(len(into))
                plan = plan.compute_at(own[0], into[where])
                if where > 0 and rng.random() < 0.4:
                    plan = plan.store_at(own[0], into[rng.randrange(where)])
            case "inline" if k < len(loops) - 1:
                plan = plan.inline(own[0])
    return plan


@dataclasses.dataclass
class Case:
    """A program, a schedule of it, and what it is called with."""

    source: str
    plan: Any
    dtype: type
    seed: int

    def arrays(self, shape: tuple[int, int], kind: str) -> list[np.ndarray]:
        rng = np.random.default_rng(self.seed)
        made = [(rng.random(shape) * 20 - 5).astype(self.dtype) for _ in range(3)]
        if np.issubdtype(self.dtype, np.inexact) and made[0].size:
            made[0].flat[rng.integers(made[0].size)] = np.nan
            made[1].flat[rng.integers(made[1].size)] = -0.0
        if kind == "strided":
            made = [np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3] for x in made]
        if kind == "F":
            made = [np.asfortranarray(x) for x in made]
        if kind == "shared":
            made[2] = made[0]
        table = rng.integers(0, max(shape[0], 1) + (kind == "beyond"), max(shape))
        return [made[0], made[1], table, made[2]]

    def __str__(self) -> str:
        return f"{self.source}# {self.plan}, {self.dtype.__name__}, seed {self.seed}"


def case(seed: int, number: int) -> Case:
    rng = random.Random(f"{seed} {number}")
    source, nests = _Maker(rng).source()
    return Case(source, plan_for(rng, nests), rng.choice(DTYPES), number)


def outcome(f: Any, arguments: list[np.ndarray]) -> tuple[Any, ...]:
    """What a call leaves in the arrays, and what it raises; the sign of a NaN may be any."""
    said: tuple[Any, ...] = ()
    with np.errstate(all="ignore"):
        try:
            f(*arguments)
        except (ValueError, IndexError, OverflowError, ZeroDivisionError) as error:
            said = (type(error).__name__, str(error))
    parts = []
    for x in arguments:
        if np.issubdtype(x.dtype, np.inexact):
            parts += [np.where(np.isnan(part), np.nan, part).astype(part.dtype).tobytes() for part in (x.real, x.imag)]
        else:
            parts.append(x.tobytes())
    return (*said, *parts)


def examine(given: Case) -> dict[str, Any]:
    """What is seen of a case: `kind` and `text` of a difference, or why the schedule is refused, or how often it ran."""
    function = define(given.source, "f", {"np": np, "ingot": ingot})
    try:
        plain = ingot.jit(function)
        plain(*given.arrays((4, 4), "C"))
    except ingot.UnsupportedError as refused:
        return {"refused": ["the program: " + _pattern(refused)], "calls": 0}
    except (ValueError, IndexError, OverflowError, TypeError, ZeroDivisionError):
        pass
    fast, calls, refusals = ingot.jit(function, schedule=given.plan), 0, []
    rng = random.Random(given.seed)
    for shape in SHAPES[:1] + tuple(rng.sample(SHAPES[1:], 3)):
        for kind in ("C", rng.choice(["strided", "F", "shared", "beyond"])) if shape == SHAPES[0] else ("C",):
            arguments = given.arrays(shape, kind)
            try:
                expected = outcome(plain, [x.copy() if kind != "shared" else x for x in given.arrays(shape, kind)])
            except (ingot.UnsupportedError, TypeError):
                continue
            try:
                got = outcome(fast, arguments)
            except ingot.UnsupportedError as refused:
                refusals.append(_pattern(refused))
                lines = str(refused).splitlines()
                if not lines[0].startswith("a schedule with") or not any(", in f" in line for line in lines[1:]) or "instead:" not in lines[-1]:
                    return {"kind": "unclear refusal", "text": f"{shape} {kind}\n{refused}"}
                continue
            calls += 1
            if got != expected:
                return {"kind": "wrong result" if got[0] == expected[0] else f"{got[0]!s:.40} for {expected[0]!s:.40}", "text": f"{shape} {kind}"}
    return {"refused": refusals, "calls": calls}


def _pattern(refused: Exception) -> str:
    return re.sub(r"`[^`]*`", "…", str(refused).splitlines()[0])[:110]


@dataclasses.dataclass
class Campaign:
    seed: int
    programs: int = 0
    accepted: int = 0
    calls: int = 0
    refused: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    found: list[tuple[int, str, str]] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def add(self, number: int, row: dict) -> None:
        self.programs += 1
        if row.get("kind"):
            self.found.append((number, row["kind"], row["text"]))
            return
        self.refused.update(row["refused"])
        self.accepted += row["calls"] > 0
        self.calls += row["calls"]

    def report(self) -> str:
        lines = [
            f"seed {self.seed}: {self.programs} programs in {self.seconds:.1f} s; {self.accepted} ran, {self.calls} calls agree, {self.refused.total()} were refused; {len(self.found)} differ",
            *(f"  {n:6} {text}" for text, n in self.refused.most_common()),
            *(f"DIFFERS {number}: {kind}\n{text}\n{case(self.seed, number)}" for number, kind, text in self.found),
        ]
        return "\n".join(lines)


def work(seed: int, start: int, count: int, rows: Any) -> None:
    """Examines programs one after another; writes a line before and after each."""
    take_default_actions()
    for number in range(start, start + count):
        print(json.dumps({"begin": number}), file=rows, flush=True)
        limit(SECONDS)
        try:
            row = examine(case(seed, number))
        except Exception as error:  # whatever it is, it is found
            row = {"kind": f"{type(error).__name__}: {str(error)[:80]}", "text": str(error)[:2000]}
        limit(0)
        print(json.dumps({"number": number, **row}), file=rows, flush=True)


def run(seed: int, programs: int, jobs: int = 1, seconds: float | None = None) -> Campaign:
    """Examines the first programs of a seed, as many as asked for."""
    campaign = Campaign(seed)
    run_batches(campaign, programs, BATCH, jobs, seconds, (MODE,))
    return campaign
