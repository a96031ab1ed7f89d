"""Checks the contestants of a workload against NumPy, then times them in interleaved rounds."""

from __future__ import annotations

import gc
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot.tour.peers import Machine, Run, difference, flat

from .contestants import contestants
from .workload import Workload


@dataclass
class Row:
    """One contestant in one workload: its times, or why there are none."""

    name: str
    times: list[float] = field(default_factory=list)
    peak_bytes: int | None = None
    wrong: str | None = None
    refused: str | None = None

    @property
    def least(self) -> float:
        return min(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)


@dataclass
class Outcome:
    """What became of a workload; `bytes` and `flops` are what it has to move and compute."""

    name: str
    rows: list[Row]
    bytes: int | None
    flops: float | None

    def row(self, name: str) -> Row | None:
        """The contestant of that name, if it was timed."""
        return next((r for r in self.rows if r.name == name and r.times), None)

    def as_json(self) -> dict:
        return asdict(self)


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


def peak_memory(run: Run) -> int | None:
    """Bytes that the process holds at most during a call beyond those before it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    before = _memory("VmRSS")
    kept = run()
    peak = _memory("VmHWM") - before
    del kept
    return max(peak, 0)


def _prepare(row: Row, make: Callable[[], Run], expected: Any, bound: float) -> Run | None:
    """Makes a contestant ready and checks its result; where that fails, the row has the reason."""
    try:
        run = make()
        result = run()
    except ingot.UnsupportedError as error:
        row.refused = str(error)
        return None
    except Exception as error:
        row.wrong = f"{type(error).__name__}: {error}"
        return None
    if expected is not None:
        row.wrong = difference(result, expected, bound)
    return run if row.wrong is None else None


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
"""What time is: that of the wall, or on a busy machine that of the processor, of all threads together."""


def measure(workload: Workload, machine: Machine, rounds: int, small: bool, clock: str = "wall") -> Outcome:
    """Runs all contestants once to check them, once for memory, then `rounds` times each, alternately."""
    now = CLOCKS[clock]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arguments = workload.arguments(small)
        rows, ready, expected = [], [], None
        for name, make in contestants(workload, machine, arguments).items():
            row = Row(name)
            rows.append(row)
            run = _prepare(row, make, expected, workload.bound)
            if run is None:
                continue
            if name == "numpy":
                expected = tuple(np.array(p) for p in flat(make()()))
            row.peak_bytes = peak_memory(run)
            ready.append((row, run))
        rows += [Row(name, refused=reason) for name, reason in workload.skipped.items()]
        gc.disable()
        try:
            for _ in range(rounds):
                for row, run in ready:
                    start = now()
                    kept = run()
                    row.times.append(now() - start)
                    del kept
        finally:
            gc.enable()
    size = workload.bytes(*arguments) if workload.bytes else None
    flops = workload.flops(*arguments) if workload.flops else None
    return Outcome(workload.name, rows, size, flops)
