"""Messages between ranks in C, Ingot, mpi4py and numba-mpi, in turns in one run: `python -m bench.messages [--ranks N] [--quick] [--chart]`.

Wants `mpicc` (Debian's libopenmpi-dev) for the programs in C; numba-mpi takes part where it is installed. Prints the table
that docs/guides/mpi.md has; `--chart` draws its chart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .. import charts

HERE = Path(__file__).resolve().parent
CHART = charts.DOCS / "benchmarks" / "messages"
WHO = ("C", "Ingot", "numba-mpi", "mpi4py")


def measured(ranks: int, quick: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "calls.so"
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["mpicc", *flags, "-o", library, HERE / "calls.c"], check=True, timeout=120)
        command = ["mpiexec", "--oversubscribe", "-n", str(ranks), sys.executable, "-m", "bench.messages.ranks", str(library)]
        given = {**os.environ, "INGOT_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run([*command, *(["--quick"] if quick else [])], env=given, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def row(label: str, found: dict[str, float], digits: int) -> str:
    return f"| {label} | " + " | ".join(f"{found[who]:.{digits}f}" if who in found else "-" for who in WHO) + " |"


def doubles(n: str) -> str:
    return f"{int(n):,} double{'' if int(n) == 1 else 's'}".replace(",", " ")


def table(found: dict[str, Any]) -> str:
    lines = [f"| {found['ranks']} ranks | {' | '.join(WHO)} |", "|---|" + "---:|" * len(WHO)]
    for n, times in found["there_and_back"].items():
        lines.append(row(f"a message of {doubles(n)}, us", times, 2))
    for n, times in found["allreduce"].items():
        lines.append(row(f"Allreduce of {doubles(n)}, us", times, 2))
    lines.append(row("pi, with 10 000 reductions of a number, ms", found["pi"], 1))
    lines.append(row("heat equation, 1024 x 1024 a rank, 50 steps with overlapped halos, ms", found["heat"], 1))
    return "\n".join(lines)


def paint(found: dict[str, Any]) -> Any:
    def both(figure: Any) -> None:
        for axes, name, title in zip(figure.subplots(1, 2), ("there_and_back", "allreduce"), ("a message there", "Allreduce")):
            for number, who in enumerate(("Ingot", "C", "numba-mpi", "mpi4py")):
                points = [(8 * int(n), times[who]) for n, times in found[name].items() if who in times]
                if points:
                    axes.plot(*zip(*points), "osD^"[number] + "-", color=f"C{number}", label=who, markersize=4)
            axes.set(xscale="log", yscale="log", xlabel="bytes", ylabel="microseconds", title=title)
        axes.legend(frameon=False)

    return both


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few sizes and rounds, to see that it runs")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chart", action="store_true", help="draw docs/benchmarks/messages-*.svg")
    arguments = parser.parse_args()
    found = measured(arguments.ranks, arguments.quick)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))
    if arguments.chart:
        charts.draw(CHART, (9, 3.6), paint(found))
    print(table(found))


if __name__ == "__main__":
    main()
