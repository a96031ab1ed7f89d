"""The command: `python -m bench.schedules [--only NAME ...] [--threads N] [--rounds N] [--small] [--clock cpu] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from ..limits import limit_threads

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def measure(task: Any, small: bool, rounds: int, clock: str) -> dict[str, list[float]]:
    """Seconds of a call in each round, by contestant; those that give something else than the unscheduled function have none, and a message is printed."""
    from ingot.tour.peers import difference

    case = task.make(small)
    case.calls["unscheduled"]()
    expected = case.out.copy()
    for name, call in list(case.calls.items()):
        case.out[...] = 0
        call()
        time.sleep(0.3)  # full code comes
        call()
        fault = difference(case.out, expected, 0.0 if name == "ingot" else case.bound)
        if fault is not None:
            print(f"{task.name}, {name}: {fault}", file=sys.stderr)
            del case.calls[name]
    seconds: dict[str, list[float]] = {name: [] for name in case.calls}
    now = CLOCKS[clock]
    for _ in range(rounds):
        for name, call in case.calls.items():
            start = now()
            call()
            seconds[name].append(now() - start)
    return seconds


def row(task: Any, seconds: dict[str, list[float]]) -> str:
    """A line of the table: Ingot's least time, and the others' over it."""
    if "ingot" not in seconds:
        return f"{task.name:16} wrong"
    own = min(seconds["ingot"])
    peer, goal = task.goal
    cells = "  ".join(f"{name} {min(s) / own:.2f}" for name, s in seconds.items() if name != "ingot")
    aim = f"(to be {goal:.2f} x {peer})" if peer in seconds else f"({peer} is not there)"
    return f"{task.name:16}{own * 1e3:>10.2f} ms   {cells}   {aim}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.schedules", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only programs whose names begin so")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each contestant that has them (1)")
    parser.add_argument("--rounds", type=int, default=12, metavar="N", help="rounds in which each contestant runs (12)")
    parser.add_argument("--small", action="store_true", help="small arrays: whether all give the same")
    parser.add_argument("--clock", choices=tuple(CLOCKS), default="wall", help="what counts: with one thread, the processor's time on a busy machine")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    options = parser.parse_args()
    limit_threads(options.threads)
    os.environ["HL_NUM_THREADS"] = str(options.threads)
    warnings.simplefilter("ignore")

    import ingot
    from ingot.tour.peers import describe

    from .tasks import TASKS, has

    ingot.set_num_threads(options.threads)
    print(", ".join(f"{k} {v}" for k, v in describe(tuple(p for p in ("halide", "numba") if has(p))).items()))
    if not has("halide"):
        print("halide is not installed (requirements/peers.txt): it is left out")
    print(f"{options.threads} thread(s), {options.rounds} round(s), {options.clock} time; ratios: the others' least time over Ingot's")
    table: dict[str, dict[str, list[float]]] = {}
    for task in TASKS:
        if options.only and not task.name.startswith(tuple(options.only)):
            continue
        table[task.name] = measure(task, options.small, options.rounds, options.clock)
        print(row(task, table[task.name]), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
