"""The front page's program, timed: `python -m bench.front [--rounds N] [--picture]` writes its table and picture.

The program is the one that README.md shows, taken from there. NumPy runs it without the decorator, Numba with its own, JAX in
its spelling; all take all cores. First calls are in this process, without a cache; the rounds alternate, and the least counts.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    os.environ["INGOT_CACHE"] = "off"
    os.environ.pop("INGOT_TIERS", None)  # first calls are what a user sees; full code is waited for afterwards

import argparse
import importlib.util
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import charts

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
STEPS, SIZE = 100, 1000


def program(text: str) -> ModuleType:
    """The first program of a page, as a module."""
    code = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert code is not None
    path = ROOT / "build" / "front_page.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(code[1])
    spec = importlib.util.spec_from_file_location("front_page", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["front_page"] = module
    spec.loader.exec_module(module)
    return module


def in_jax(u: Any, steps: int) -> Any:
    import jax

    def step(_: int, u: Any) -> Any:
        return u.at[1:-1, 1:-1].add(0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]))

    return jax.lax.fori_loop(0, steps, step, u)


def contestants(module: ModuleType) -> dict[str, Callable]:
    """Each by the name of its row; its function takes an array that it may change, and the steps."""
    import jax
    import numba

    jax.config.update("jax_enable_x64", True)
    plain, compiled = module.diffuse.__wrapped__, jax.jit(in_jax, static_argnums=1)
    return {
        f"NumPy {_short(np)}": plain,
        "**Ingot**": module.diffuse,
        f"Numba {_short(numba)}": numba.njit(plain),
        "Numba, `parallel=True`": numba.njit(plain, parallel=True),
        f"JAX {_short(jax)}, with `u.at[...].add` and `fori_loop`": lambda u, steps: np.asarray(compiled(u, steps)),
    }


def _short(module: Any) -> str:
    return ".".join(module.__version__.split(".")[:2])


def verdict(found: np.ndarray, expected: np.ndarray) -> str:
    if np.array_equal(found, expected):
        return "NumPy's, bit for bit"
    worst = float(np.max(np.abs(found - expected)))
    return "differs in the last bits" if worst < 1e-12 else f"differs by {worst:.1g}: iterations race"


def measure(module: ModuleType, size: int, rounds: int) -> list[tuple[str, float, float, str]]:
    """For each contestant the first call and the least other one in s, and how its result compares with NumPy's."""
    start = np.random.default_rng(1).random((size, size))
    made, rows, expected = contestants(module), {}, None
    for name, run in made.items():
        u = start.copy()
        begin = time.perf_counter()
        found = run(u, STEPS)
        seconds = time.perf_counter() - begin
        expected = found if expected is None else expected
        rows[name] = [seconds, np.inf, "" if run is module.diffuse.__wrapped__ else verdict(found, expected)]
    for specialisation in module.diffuse.specialisations:
        specialisation.complete()
    for _ in range(rounds):
        for name, run in made.items():
            u = start.copy()
            begin = time.perf_counter()
            run(u, STEPS)
            rows[name][1] = min(rows[name][1], time.perf_counter() - begin)
    return [(name, *row) for name, row in rows.items()]


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f}".replace(",", " ") + " ms"


def table(rows: list[tuple[str, float, float, str]], size: int, rounds: int, where: str) -> str:
    lines = [f"{STEPS} steps on {size} x {size} doubles, {where}; the least of {rounds} calls:", ""]
    lines += ["| | first call | then | result |", "|---|---|---|---|"]
    for n, (name, first, least, result) in enumerate(rows):
        then = f"**{_ms(least)}**" if "Ingot" in name else _ms(least)
        lines.append(f"| {name} | {_ms(first) if n else ''} | {then} | {result} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def place() -> str:
    """The machine and the day."""
    from ingot._devices.cpu import describe_cpu

    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    busy = f" while {load:.0f} processes ran" if load > 1.5 * cores else ""
    words = {1: "one core", 2: "two cores", 4: "four cores"}.get(cores, f"{cores} cores")
    return f"{words} of an {describe_cpu()['name']}{busy}, {time.strftime('%Y-%m-%d')}"


def bars(text: str) -> list[tuple[str, float, str]]:
    """Of the page's table each contestant with its time in ms, as a number and as it is written; Ingot first."""
    found = re.findall(r"^\| ([^|]+?) \| [^|]*\| \*{0,2}([\d ]+) ms\*{0,2} \|([^|]*)\|", text, re.M)
    rows = [(re.sub(r"[*`]|, with .*", "", name), float(ms.replace(" ", "")), f"{ms} ms" + ", a wrong result" * ("race" in result)) for name, ms, result in found]
    return sorted(rows, key=lambda row: row[0] != "Ingot")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.front", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="rounds in which each contestant runs (7)")
    parser.add_argument("--picture", action="store_true", help="measure nothing: draw what the table has")
    options = parser.parse_args()
    text = README.read_text()
    if not options.picture:
        lines = table(measure(program(text), SIZE, options.rounds), SIZE, options.rounds, place())
        print(lines)
        text = re.sub(rf"^{STEPS} steps on .*?\n\n(?:\|.*\n)+", lambda _: lines, text, flags=re.M)
        title = ", ".join(f"{name} {ms}" for name, _, ms in sorted(bars(text), key=lambda row: row[1]))
        text = re.sub(r'alt="Times of the program above: [^"]*"', lambda _: f'alt="Times of the program above: {title}"', text)
        README.write_text(text)
    title = f"{STEPS} steps of diffusion on {SIZE} × {SIZE} doubles"
    charts.bars(ROOT / "docs" / "images" / "front", bars(text), title, "ms, less is better")


if __name__ == "__main__":
    main()
