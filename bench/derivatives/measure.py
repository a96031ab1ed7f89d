"""Checks the derivatives of a program, then times its contestants in interleaved rounds."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot.tour.peers import Machine, Run, difference, flat

from .contestants import Binder, Pair, contestants
from .program import Program

ROOT = Path(__file__).resolve().parents[2]
BATCH = 0.004
"""Short calls are made so often in a row that they take about as many seconds."""


@dataclass
class Row:
    """One contestant in one program: seconds of value and derivative, or why there are none."""

    name: str
    value: list[float] = field(default_factory=list)
    derivative: list[float] = field(default_factory=list)
    first: float | None = None
    """Seconds of the derivative's first call in a fresh process, small arguments given."""
    peak: int | None = None
    """Bytes that the process holds at most during a call of the derivative beyond those before it."""
    wrong: str | None = None
    refused: str | None = None

    def least(self) -> tuple[float, float]:
        return min(self.value), min(self.derivative)

    def median(self) -> tuple[float, float]:
        return statistics.median(self.value), statistics.median(self.derivative)


@dataclass
class Outcome:
    """What became of a program."""

    name: str
    rows: list[Row]

    def row(self, name: str) -> Row | None:
        """The contestant of that name, if it was timed."""
        return next((r for r in self.rows if r.name == name and r.derivative), None)

    def as_json(self) -> dict:
        return asdict(self)

    @staticmethod
    def from_json(kept: dict) -> Outcome:
        return Outcome(kept["name"], [Row(**row) for row in kept["rows"]])


def by_differences(program: Program, arguments: tuple, derivative: Any) -> str | None:
    """None, or how a derivative differs from central differences of the function in one direction, all results summed."""
    function = ingot.jit(program.value(ingot, next(iter(program.forms.values()))))
    g = np.random.default_rng(12)
    parts = flat(derivative)
    is_product = program.takes is not None
    moved = [np.asarray(arguments[i], float) for i in program.by]
    directions = [np.asarray(arguments[1])] if is_product else [g.normal(size=m.shape) for m in moved]

    def at(by: float) -> float:
        changed = list(program.taken(tuple(np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments)))
        for number, point, direction in zip(program.by, moved, directions):
            there = point + by * direction
            changed[number] = float(there) if there.ndim == 0 else there
        return float(np.sum(function(*changed)))

    step = 1e-4 if is_product else 1e-6
    found = sum(float(np.sum(p.reshape(-1, d.size) @ d.reshape(-1))) for p, d in zip(parts, directions))
    if is_product:
        expected = (at(step) - 2 * at(0.0) + at(-step)) / step**2
    else:
        expected = (at(step) - at(-step)) / (2 * step)
    error = abs(found - expected) / max(abs(expected), 1.0)
    return None if error < 1e-4 else f"{found:.9g} in one direction, differences give {expected:.9g}"


def _prepare(row: Row, make: Callable[[], Binder], arguments: tuple, check: Callable[[Any], str | None]) -> Pair | None:
    """Makes a contestant ready and checks its derivative; where that fails, the row has the reason."""
    try:
        value, derivative = make()(arguments)
        value()
        row.wrong = check(derivative())
    except ingot.UnsupportedError as error:
        row.refused = str(error)
    except Exception as error:
        row.wrong = f"{type(error).__name__}: {error}"
    return None if row.refused or row.wrong else (value, derivative)


def _count(run: Run) -> int:
    """How often a call is made in a row."""
    run()
    start = time.perf_counter()
    run()
    return max(1, min(1000, int(BATCH / max(time.perf_counter() - start, 1e-7))))


def fresh(program: Program, row: Row, threads: int, small: bool) -> None:
    """Has a process of its own find the time of the first call, and the memory."""
    command = [sys.executable, "-m", "bench.derivatives.fresh", program.name, row.name, str(threads), str(int(small))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "INGOT_CACHE": "off"})
    if done.returncode:
        row.wrong = done.stderr.strip().splitlines()[-1]
        return
    found = json.loads(done.stdout)
    row.first, row.peak = found["first"], found["peak"]


def measure(program: Program, machine: Machine, rounds: int, small: bool, now: Callable[[], float] = time.perf_counter, alone: bool = True) -> Outcome:
    """Runs all contestants once to check them, then `rounds` times each, value and derivative, alternately.

    With `alone`, each has a process of its own, too, for first calls and memory.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arguments = program.arguments(small)
        expected: list[Any] = []

        def check(result: Any) -> str | None:
            if expected:
                return difference(result, expected[0], program.bound)
            expected.append(tuple(np.array(p) for p in flat(result)))
            return by_differences(program, arguments, expected[0])

        rows, ready = [], []
        for name, make in contestants(program, machine).items():
            rows.append(Row(name))
            pair = _prepare(rows[-1], make, arguments, check)
            if pair:
                ready.append((rows[-1], *pair, _count(pair[0]), _count(pair[1])))
        gc.disable()
        try:
            for _ in range(rounds):
                for row, value, derivative, values, derivatives in ready:
                    for times, run, count in ((row.value, value, values), (row.derivative, derivative, derivatives)):
                        start = now()
                        for _ in range(count):
                            run()
                        times.append((now() - start) / count)
        finally:
            gc.enable()
        for row, *_ in ready if alone else ():
            fresh(program, row, machine.threads, small)
    return Outcome(program.name, rows)
