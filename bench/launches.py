"""The host's time of a launch, and of memory that is allocated and freed: Ingot's devices and the driver itself; and of
operations on arrays that wait, and of those that do not.
"""

from __future__ import annotations

import statistics
import subprocess
import timeit
from pathlib import Path
from typing import Any

import ingot
import numpy as np
from ingot import cuda


def launches(rounds: int) -> dict[str, dict[str, Any]]:
    """Seconds of one launch of four arguments, and of an allocation, for each kind of device that is there."""
    program = Path(ingot.__file__).absolute().parents[2] / "tests" / "cpp" / "devices" / "launch_cost"
    tables = {}
    for kind in ("emulated", "gpu"):
        title = f"launch, {kind}"
        if not program.exists():
            tables[title] = {"ingot": f"{program.name} is not built next to this package"}
            continue
        seconds: dict[str, list[float]] = {}
        for _ in range(rounds):
            done = subprocess.run([program, kind], capture_output=True, text=True)
            if done.returncode:
                tables[title] = {"ingot": done.stdout.strip() or "failed"}
                break
            for line in done.stdout.splitlines():
                name, nanoseconds = line.rsplit(" ", 1)
                seconds.setdefault(name, []).append(float(nanoseconds) * 1e-9)
        else:
            tables[title] = {n: {"min": min(s), "median": statistics.median(s)} for n, s in seconds.items()}
    return tables


def _five(a: Any, b: Any) -> Any:
    return (a * b + a) * 0.5 - b / a


def _add(a: Any, b: Any, c: Any) -> None:
    c[0] = a[0] + b[0]


def operations(rounds: int) -> dict[str, dict[str, Any]]:
    """Seconds of operations on small arrays and of what computes them, on the software device: one and five, that wait
    and that do not, and five in a compiled function."""
    device = ingot.device("emulated")
    a, b = (ingot.device_put(np.full(4, value), device) for value in (1.0, 2.0))
    compiled = ingot.jit(_five)
    kernel, added, c = cuda.jit(_add), ingot.jit(_add), ingot.device_put(np.zeros(4), device)
    forms = {
        "one, waiting": (True, lambda: (a * b).block_until_ready()),
        "one, at once": (False, lambda: (a * b).block_until_ready()),
        "five, waiting": (True, lambda: _five(a, b).block_until_ready()),
        "five, at once": (False, lambda: _five(a, b).block_until_ready()),
        "five, compiled": (False, lambda: compiled(a, b).block_until_ready()),
        "five, not looked at": (True, lambda: _five(a, b)),
        "an addition, compiled": (False, lambda: added(a, b, c)),
        "the same, a kernel of ingot.cuda": (False, lambda: kernel[1, 1](a, b, c)),
    }
    times: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(rounds + 1):
        for name, (waits, form) in forms.items():
            with ingot.lazy(waits):
                form()
                times[name].append(min(timeit.repeat(form, number=200, repeat=3)) / 200)
    return {"launch, operations": {n: {"min": min(t[1:]), "median": statistics.median(t[1:])} for n, t in times.items()}}
