"""The figures as text, and as the page docs/derivative-speed.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from .measure import Outcome, Row
from .program import Program

TIMES_VALUE, TIMES_CPP, TIMES_JAX = 4.0, 2.0, 1.0
"""What is marked: gradients of more than so many times the value's time, or C++'s, or JAX's."""

HEAD = """# Derivatives: speed

Written by `make derivatives`; do not edit. Each program is a function and its derivative: as Ingot compiles it, in JAX, in
C++ with a derivative written by hand (`-O3 -march=native`, IEEE arithmetic in the written order but for sums), and in
HIPS/autograd. `bench/derivatives` has them. Each derivative was compared with JAX's, and that with differences, before any was timed.

All contestants of a program run alternately, {rounds} rounds; times are least ones, in ms, of calls of compiled functions. `/ value` is
how many times the value's time the derivative takes. `JAX` and `C++` are how many times Ingot's time theirs is, more than 1 where
Ingot is faster: the ratios of minima, and of medians. `first` is the first call of the derivative in a fresh process with small
arguments, in ms; `peak` is the memory in MB that a process holds at most during a call beyond what it held before. `!` marks
what costs more than {times_value:g} values, more than {times_cpp:g} times C++, or more than JAX. The machine may be busy:
compare within a program. {machine}.
"""


CLOCKS = {"wall": "wall time", "cpu": "time of the processor"}


def _ratio(row: Row, other: Row | None, middle: bool, which: int) -> float | None:
    """How many times as long the other takes, for the value (0) or the derivative (1)."""
    if other is None or not row.derivative:
        return None
    return other.median()[which] / row.median()[which] if middle else other.least()[which] / row.least()[which]


def _both(row: Row, other: Row | None, limit: float) -> str:
    least, median = _ratio(row, other, False, 1), _ratio(row, other, True, 1)
    if least is None or median is None:
        return "-"
    return f"{least:.2f} {median:.2f}" + (" !" if least < 1 / limit else "")


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3f}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def cells(outcome: Outcome, row: Row, program: Program) -> list[str]:
    """A contestant's line: name, value, derivative, their ratio, those to JAX and C++, first call, peak."""
    if not row.derivative:
        why = f"wrong: {row.wrong}" if row.wrong else f"refused: {row.refused}"
        return [row.name, " ".join(why.split())[:120].replace("|", "/"), *[""] * 6]
    value, derivative = row.least()
    ratio = derivative / value
    is_own = row.name.startswith("ingot")
    line = [row.name, _milliseconds(value), _milliseconds(derivative), f"{ratio:.1f}" + (" !" if is_own and ratio > TIMES_VALUE else "")]
    for peer, limit in ((next(iter(program.jax)), TIMES_JAX), (next(iter(program.cpp)), TIMES_CPP)):
        line.append(_both(row, outcome.row(peer), limit) if is_own else "")
    line.append("-" if row.first is None else f"{row.first * 1e3:.0f}")
    line.append("-" if row.peak is None else f"{row.peak / 1e6:.1f}")
    return line


TITLES = ["", "value", "derivative", "/ value", "JAX", "C++", "first", "peak"]


def program_text(outcome: Outcome, program: Program) -> str:
    """A table of one program for a terminal."""
    lines = [f"\n{outcome.name}"]
    for line in [TITLES] + [cells(outcome, row, program) for row in outcome.rows]:
        lines.append(("  " + f"{line[0]:16}" + " ".join(f"{c:>12}" for c in line[1:])).rstrip())
    return "\n".join(lines)


def _mean(ratios: Iterable[float | None]) -> str:
    logs = [math.log(r) for r in ratios if r is not None]
    return f"{math.exp(sum(logs) / len(logs)):.2f}" if logs else "-"


def _own(outcome: Outcome) -> list[Row]:
    return [r for r in outcome.rows if r.name.startswith("ingot") and r.derivative]


def _best(outcome: Outcome) -> list[Row]:
    return sorted(_own(outcome), key=lambda r: r.least()[1])[:1]


def means(outcomes: list[Outcome], programs: dict[str, Program]) -> list[list[str]]:
    """Geometric means of the ratios to each peer, of values and derivatives: of all forms, and of each program's fastest."""
    lines = []
    kinds: dict[str, Callable[[Outcome], list[Row]]] = {"all forms": _own, "fastest form": _best}
    for title, rows in kinds.items():
        line = [title]
        for peers in ("jax", "cpp"):
            for which in (0, 1):
                line.append(_mean(_ratio(row, o.row(next(iter(getattr(programs[o.name], peers)))), False, which) for o in outcomes for row in rows(o)))
        line.append(_mean(row.least()[1] / row.least()[0] for o in outcomes for row in rows(o)))
        lines.append(line)
    return lines


MEANS = ["geometric means", "JAX, value", "JAX, derivative", "C++, value", "C++, derivative", "derivative / value"]


def means_text(outcomes: list[Outcome], programs: dict[str, Program]) -> str:
    return "\n" + "\n".join(f"{line[0]:16}" + "".join(f"{c:>20}" for c in line[1:]) for line in [MEANS, *means(outcomes, programs)])


def _table(titles: list[str], lines: Iterable[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [titles, ["---"] * len(titles), *lines])


def page(figures: list[dict], programs: dict[str, Program]) -> str:
    """The page: for each number of threads the means and all programs."""
    rounds = "/".join(sorted({str(f["rounds"]) for f in figures}))
    machine = ", ".join(f"{k} {v}" for k, v in figures[0]["machine"].items()).replace("cpu", "CPU")
    text = HEAD.format(rounds=rounds, machine=machine[0].upper() + machine[1:], times_value=TIMES_VALUE, times_cpp=TIMES_CPP)
    text += "\n## Programs\n\n" + "\n".join(f"- {p.name}: {p.about}." for p in programs.values()) + "\n"
    for found in figures:
        outcomes = [Outcome.from_json(kept) for kept in found["programs"].values()]
        outcomes.sort(key=lambda o: list(programs).index(o.name))
        title = "One thread" if found["threads"] == 1 else f"{found['threads']} threads"
        text += f"\n## {title}, {CLOCKS[found['clock']]}\n\n"
        text += _table(MEANS, means(outcomes, programs)) + "\n\n"
        lines: list[list[str]] = []
        for outcome in outcomes:
            for number, row in enumerate(outcome.rows):
                lines.append([outcome.name if number == 0 else "", *cells(outcome, row, programs[outcome.name])])
        text += _table(["program", "contestant", *TITLES[1:]], lines) + "\n"
    notes = [f"- {p.name}, {name}: {note}." for p in programs.values() for name, note in p.notes.items()]
    return text + "\n## Notes\n\n" + "\n".join(notes) + "\n"
