"""The host's time of a launch, and of memory that is allocated and freed: Ingot's devices beside the driver itself."""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path
from typing import Any

import ingot


def launches(rounds: int) -> dict[str, dict[str, Any]]:
    """Seconds of one launch of four arguments, and of an allocation, for each kind of device that is there."""
    program = Path(ingot.__file__).absolute().parents[2] / "tests" / "cpp" / "devices" / "launch_cost"
    tables = {}
    for kind in ("emulated", "gpu"):
        title = f"launch, {kind}"
        if not program.exists():
            tables[title] = {"ingot": f"{program.name} is not built beside this package"}
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
