"""Quick code and full code, and first calls: `python -m bench.tiers [--only NAME ...] [--small] [--phases] [--json FILE]`.

The programs over arrays (`bench.programs`), and models of loops around small arrays with their gradients.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    os.environ["INGOT_CACHE"] = "off"

import argparse
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ingot

from . import programs

# First calls, each of a compiled form of its own, are made so often; code is run so often and so long. The least time counts.
FIRST, ROUNDS, SECONDS = 3, 5, 0.5
TIERS = ("quick", "full")


def _rotate(r, x):
    square = np.sum(np.square(r))
    if square != 0.0:
        angle = np.sqrt(square)
        c, s = np.cos(angle), np.sin(angle)
        w = (1.0 / angle) * r
        return x * c + np.cross(w, x) * s + w * (np.dot(w, x) * (1.0 - c))
    return x + np.cross(r, x)


def _seen(camera, x):
    y = _rotate(camera[0:3], x - camera[3:6])
    y = y[0:2] / y[2]
    square = np.sum(np.square(y))
    return y * (1.0 + camera[9] * square + camera[10] * square * square) * camera[6] + camera[7:9]


def bundle_adjustment(cameras, points, seen, weights, places):
    """How far points are seen from where cameras should see them."""
    errors = np.empty((len(seen), 2))
    for i in range(len(seen)):
        errors[i] = weights[i] * (_seen(cameras[seen[i, 0]], points[seen[i, 1]]) - places[i])
    return errors, 1.0 - np.square(weights)


def bundle_error(cameras, points, seen, weights, places):
    errors, slack = bundle_adjustment(cameras, points, seen, weights, places)
    return np.sum(errors * errors) + np.sum(slack * slack)


def _bundle(small: bool) -> tuple:
    g = np.random.default_rng(1)
    n = 50 if small else 10_000
    cameras = g.normal(size=(20, 11)) * np.where(np.arange(11) < 9, 1.0, 0.01)
    seen = np.stack([g.integers(0, 20, n), g.integers(0, 500, n)], axis=1)
    return cameras, g.normal(size=(500, 3)) + 4, seen, g.random(n), g.normal(size=(n, 2))


def _sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def _cell(weights, bias, hidden, cell, x):
    gates = np.concatenate((x, hidden, x, hidden)) * weights + bias
    n = len(hidden)
    change = np.tanh(gates[3 * n :])
    cell = cell * _sigmoid(gates[:n]) + _sigmoid(gates[n : 2 * n]) * change
    return _sigmoid(gates[2 * n : 3 * n]) * np.tanh(cell), cell


def lstm(weights, extra, state, sequence):
    """The loss of a network of memory cells that guesses the next character."""
    total = 0.0
    s = state.copy()
    for t in range(len(sequence) - 1):
        x = sequence[t] * extra[0]
        for i in range(0, len(s), 2):
            hidden, cell = _cell(weights[i], weights[i + 1], s[i], s[i + 1], x)
            s[i] = hidden
            s[i + 1] = cell
            x = hidden
        y = x * extra[1] + extra[2]
        total += np.sum(sequence[t + 1] * (y - np.log(np.sum(np.exp(y)) + 2)))
    return -total / ((len(sequence) - 1) * sequence.shape[1])


def _letters(small: bool) -> tuple:
    g = np.random.default_rng(2)
    n = 5 if small else 600
    return g.normal(size=(4, 56)), g.normal(size=(3, 14)), g.normal(size=(4, 14)), 1.0 * (g.random((n, 14)) > 0.8)


def _pull(x, mass, out):
    for i in range(len(mass)):
        ax = ay = az = 0.0
        for j in range(len(mass)):
            if i != j:
                dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                square = dx * dx + dy * dy + dz * dz + 1e-3
                f = mass[j] / (square * np.sqrt(square))
                ax += f * dx
                ay += f * dy
                az += f * dz
        out[i, 0], out[i, 1], out[i, 2] = ax, ay, az


def orbits_loop(x0, v0, mass, steps, dt):
    x, v, a = x0.copy(), v0.copy(), np.zeros_like(x0)
    _pull(x, mass, a)
    for _ in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        _pull(x, mass, a)
        v += 0.5 * dt * a
    return np.sum(x * x) + np.sum(v * v)


def orbits_array(x0, v0, mass, steps, dt):
    x, v = x0.copy(), v0.copy()
    for _ in range(steps):
        d = x[None, :, :] - x[:, None, :]
        square = np.sum(d * d, axis=2) + 1e-3
        v = v + dt * np.sum((mass / (square * np.sqrt(square)))[:, :, None] * d, axis=1)
        x = x + dt * v
    return np.sum(x * x) + np.sum(v * v)


def _stars(small: bool) -> tuple:
    g = np.random.default_rng(3)
    n, steps = (4, 3) if small else (20, 200)
    return g.normal(size=(n, 3)), 0.1 * g.normal(size=(n, 3)), g.uniform(0.5, 1.5, n) / n, steps, 0.01


MODELS: dict[str, tuple[Callable, Callable[[bool], tuple]]] = {
    "bundle_adjustment": (bundle_adjustment, _bundle),
    "bundle_gradient": (ingot.grad(bundle_error, (0, 1)), _bundle),
    "lstm": (lstm, _letters),
    "lstm_gradient": (ingot.grad(lstm, (0, 1)), _letters),
    "orbits_loop": (orbits_loop, _stars),
    "orbits_loop_gradient": (ingot.grad(orbits_loop, (0, 1)), _stars),
    "orbits_array": (orbits_array, _stars),
    "orbits_array_gradient": (ingot.grad(orbits_array, (0, 1)), _stars),
}
ALL = {name: (p.function, p.arguments) for name, p in programs.PROGRAMS.items()} | MODELS


def _first(function: Callable, arguments: Callable[[bool], tuple], tier: str) -> float:
    """The processor's seconds of a first call with small arguments."""
    given = arguments(True)
    start = time.process_time()
    ingot.jit(function, tier=tier)(*given)
    return time.process_time() - start


def _runs(calls: dict[str, Callable], arguments: Callable[[], tuple]) -> dict[str, float]:
    """The least of the processor's seconds that a call of each takes, run alternately."""
    for call in calls.values():
        call(*arguments())
    least = dict.fromkeys(calls, math.inf)
    done, end = 0, time.perf_counter() + SECONDS
    while done < ROUNDS or (time.perf_counter() < end and done < 20 * ROUNDS):
        for name, call in calls.items():
            given = arguments()
            start = time.process_time()
            call(*given)
            least[name] = min(least[name], time.process_time() - start)
        done += 1
    return least


def measure(name: str, small: bool = False) -> dict[str, float]:
    """The processor's seconds of first calls and of others, in quick and in full code; of one thread."""
    function, arguments = ALL[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        first = {f"first {tier}": min(_first(function, arguments, tier) for _ in range(FIRST)) for tier in TIERS}
        found = _runs({tier: ingot.jit(function, tier=tier) for tier in TIERS}, lambda: arguments(small))
    return first | found


def row(name: str, found: dict[str, float]) -> str:
    """A line of the table."""
    cells = "".join(f"{found[k] * 1e3:12.2f}" for k in ("first quick", "first full", "quick", "full"))
    return f"{name:24}{cells}{found['quick'] / found['full']:8.2f}"


# What the columns of the table of phases are, by the names of phases; all others are Ingot's own passes.
COLUMNS = {"frontend": "frontend", "emit": "codegen: emit", "LLVM passes": "codegen: passes", "LLVM code": "codegen: select", "seal": "seal", "load": "load"}


def phases(name: str, tier: str) -> dict[str, float]:
    """The milliseconds of the processor's that each phase of a first call takes, the least of some."""
    function, arguments = ALL[name]
    least: dict[str, float] = {}
    for _ in range(FIRST):
        compiled = ingot.jit(function, tier=tier)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            compiled(*arguments(True))
        for step in compiled.specialisations[0].phases.values():
            for phase, milliseconds in step.items():
                least[phase] = min(least.get(phase, math.inf), milliseconds)
    least.pop("codegen", None)  # the sum of its parts
    return least


def in_columns(found: dict[str, float]) -> dict[str, float]:
    """Phases put together as the columns of the table have them."""
    cells = {column: found.get(phase, 0.0) for column, phase in COLUMNS.items()}
    own = sum(found.values()) - sum(cells.values())
    return {"frontend": cells.pop("frontend"), "passes": own, **cells}


def show_phases(names: list[str], tier: str) -> dict[str, dict[str, float]]:
    """Prints the table of phases, with the two of Ingot's passes that take longest."""
    table = {}
    for name in names:
        found = table[name] = phases(name, tier)
        cells = in_columns(found)
        if len(table) == 1:
            print(f"{tier + ' code, milliseconds':24}" + "".join(f"{column:>12}" for column in (*cells, "all")))
        passes = sorted((n for n in found if n not in COLUMNS.values()), key=lambda n: -found[n])[:2]
        longest = ", ".join(f"{n} {found[n]:.1f}" for n in passes)
        print(f"{name:24}" + "".join(f"{ms:12.2f}" for ms in (*cells.values(), sum(cells.values()))) + f"  {longest}", flush=True)
    every = [in_columns(found) for found in table.values()]
    if every:
        medians = [statistics.median(cells[column] for cells in every) for column in every[0]]
        total = statistics.median(sum(cells.values()) for cells in every)
        print(f"{'median':24}" + "".join(f"{ms:12.2f}" for ms in (*medians, total)))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.tiers", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only what begins so")
    parser.add_argument("--small", action="store_true", help="small arguments")
    parser.add_argument("--phases", action="store_true", help="what first calls of quick and of full code take, by phase")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    options = parser.parse_args()
    names = [n for n in ALL if not options.only or any(n.startswith(each) for each in options.only)]
    if not names:
        print(f"nothing begins with {', '.join(options.only)}", file=sys.stderr)
        return 2
    ingot.set_num_threads(1)
    ingot.jit(lambda x: np.sin(x) + 1, tier="full")(np.ones(9))  # what the compiler does once
    if options.phases:
        found = {tier: show_phases(names, tier) for tier in TIERS}
        if options.json:
            Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
        return 0
    table: dict[str, Any] = {}
    print(f"{'milliseconds':24}{'first quick':>12}{'first full':>12}{'quick':>12}{'full':>12}{'ratio':>8}")
    for name in names:
        table[name] = measure(name, options.small)
        print(row(name, table[name]), flush=True)
    for group, members in (("programs", programs.PROGRAMS), ("models", MODELS)):
        chosen = [table[n] for n in members if n in table]
        if chosen:
            first, ratio = ([f[a] / f[b] for f in chosen] for a, b in (("first quick", "first full"), ("quick", "full")))
            milliseconds = statistics.median(f["first quick"] for f in chosen) * 1e3
            print(f"{group}: first call {milliseconds:.1f} ms in the median, {statistics.median(first):.2f} of that of full code;"
                  f" quick code runs {statistics.median(ratio):.2f} times as long in the median, {max(ratio):.2f} at most")  # fmt: skip
    if options.json:
        Path(options.json).write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
