"""The command: `python -m bench.primitives [--only NAME ...] [--sizes N ...] [--threads N] [--rounds N] [--peers PEER ...] [--json FILE]`.

`--page docs/parallel-speed.md --figures FILE ...` writes the page's tables of what runs with `--json` have measured, and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..limits import limit_threads

SIZES = (100, 10_000, 1_000_000)
# Calls of one contestant are repeated in a round until they take so many seconds.
SECONDS = 0.002


def _contestants(primitive: Any, machine: Any, arguments: tuple) -> dict[str, Callable[[], Any]]:
    import numpy as np

    from ingot.tour.peers import for_numba

    made = {"ingot": lambda: primitive.ingot(*arguments), "numpy": lambda: primitive.numpy(*arguments)}
    if primitive.numba is not None and "numba" in machine.peers:
        function = primitive.numba
        if not hasattr(function, "__code__") or function.__module__.startswith("numpy"):
            numpy_function = function
            numba = __import__("numba").njit(_call_of(numpy_function, len(arguments)))
        else:
            numba = for_numba(function, False)
        made["numba"] = lambda: numba(*arguments)
    if primitive.jax is not None and "jax" in machine.peers:
        import jax

        compiled = jax.jit(lambda *a: primitive.jax(jax, *a))
        there = [jax.numpy.asarray(a) for a in arguments]
        made["jax"] = lambda: jax.block_until_ready(compiled(*there))
    if primitive.cpp is not None and machine.kinds:
        made["c++"] = machine.library("fast" if primitive.name in _FAST else "strict").bind(primitive.cpp(*(np.copy(a) for a in arguments)))
    if primitive.pandas is not None and "pandas" in machine.peers:
        import pandas

        made["pandas"] = lambda: primitive.pandas(pandas, *arguments)
    return made


_FAST = ("reduce", "reduce_max", "reduce_of_products")
"""Sums by hand take any order, as those of Ingot and NumPy do."""


def _call_of(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A Python function that calls one of NumPy's, for Numba."""
    return (lambda x: function(x)) if count == 1 else (lambda x, y: function(x, y))


def measure(primitive: Any, machine: Any, n: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of a call in each round, by contestant; those that give something else than NumPy have none, and a message is printed."""
    from ingot.tour.peers import difference

    calls = _contestants(primitive, machine, primitive.arguments(n))
    expected = calls["numpy"]()
    counts: dict[str, int] = {}
    for name, call in list(calls.items()):
        fault = difference(call(), expected, 1e-9)
        if fault is not None:
            print(f"{primitive.name}, {n}, {name}: {fault}", file=sys.stderr)
            del calls[name]
            continue
        time.sleep(0.02)  # full code comes
        call()
        start = time.perf_counter()
        call()
        counts[name] = max(1, int(SECONDS / max(time.perf_counter() - start, 1e-7)))
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        order = list(calls)
        random.Random(number).shuffle(order)  # who comes next is better off where arrays are shared
        for name in order:
            call = calls[name]
            call()  # the others have left their memory in the caches
            start = time.perf_counter()
            for _ in range(counts[name]):
                call()
            seconds[name].append((time.perf_counter() - start) / counts[name])
    return seconds


def row(name: str, n: int, seconds: dict[str, list[float]]) -> str:
    """A line of the table: Ingot's least time, and the others' over it, of minima and medians; then the best one's."""
    own = seconds.get("ingot")
    if own is None:
        return f"{name:20}{n:>10} wrong"
    ratios = {peer: (min(s) / min(own), statistics.median(s) / statistics.median(own)) for peer, s in seconds.items() if peer != "ingot"}
    best = min(ratios, key=lambda peer: ratios[peer][0])
    cells = "  ".join(f"{peer} {least:.2f}/{median:.2f}" for peer, (least, median) in ratios.items())
    return f"{name:20}{n:>10}{min(own) * 1e6:>12.2f} us  best {ratios[best][0]:5.2f} ({best})   {cells}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.primitives", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these primitives")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N", help="numbers of elements")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each contestant that has them (1)")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="rounds in which each contestant runs (10)")
    parser.add_argument("--peers", nargs="*", metavar="PEER", choices=("cpp", "numba", "jax", "pandas"), help="only these besides NumPy")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the tables of the manual's page")
    parser.add_argument("--figures", nargs="+", type=Path, metavar="FILE", help="take what `--json` has written")
    options = parser.parse_args()
    if options.page is not None:
        if options.figures is None:
            parser.error("--page takes --figures")
        from .page import write

        write([json.loads(file.read_text()) for file in options.figures], options.page)
        return 0
    limit_threads(options.threads)
    warnings.simplefilter("ignore")

    import ingot
    from ingot.tour.peers import describe, open_machine

    from ..contestants import CPP
    from .tasks import PRIMITIVES

    ingot.set_num_threads(options.threads)
    wanted = None if options.peers is None else tuple(peer for peer in options.peers if peer != "pandas")
    machine = open_machine(options.threads, wanted, CPP)
    if options.peers is None or "pandas" in options.peers:
        machine.peers += ("pandas",)
    print(", ".join(f"{k} {v}" for k, v in describe(machine.peers).items()))
    print(f"{options.threads} thread(s), {options.rounds} round(s); ratios: the others' time over Ingot's, of the minima/of the medians")
    table: dict[str, dict[int, dict[str, list[float]]]] = {}
    for primitive in PRIMITIVES:
        if options.only and primitive.name not in options.only:
            continue
        for n in options.sizes:
            table.setdefault(primitive.name, {})[n] = measure(primitive, machine, n, options.rounds)
            print(row(primitive.name, n, table[primitive.name][n]), flush=True)
            if options.json:
                run = {"threads": options.threads, "machine": describe(machine.peers), "load": os.getloadavg()[0], "times": table}
                Path(options.json).write_text(json.dumps(run))
    return 0


if __name__ == "__main__":
    sys.exit(main())
