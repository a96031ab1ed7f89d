"""The command: `python -m bench [--only NAME ...] [--rounds N] [--threads N] [--clock cpu] [--small] [--json FILE] [--page FILE]`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from .limits import limit_threads


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=sys.modules["bench"].__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only what begins so: workloads, `first`, `import`, `cache`, `call`, `profile`, `launch`, `toast`")
    parser.add_argument("--peers", nargs="*", metavar="PEER", choices=("cpp", "numba", "jax"), help="only these besides NumPy")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="rounds in which each contestant runs once (10)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each contestant that has them (1)")
    parser.add_argument("--small", action="store_true", help="small arguments, for tests")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="`cpu` where other work goes on (wall)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    parser.add_argument("--page", metavar="FILE", help="write the figures as a page with charts, docs/benchmarks.md")
    parser.add_argument("--figures", metavar="FILE", help="measure nothing: those that --json has written, for --page")
    options = parser.parse_args()
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads are at least 1")
    return options


def _run(options: argparse.Namespace) -> int:
    from ingot.tour.peers import describe, open_machine

    from . import calls, launches, report, stored, toast
    from .contestants import CPP
    from .measure import CLOCKS, measure
    from .peaks import peaks as measure_peaks
    from .workloads import WORKLOADS

    def chosen(name: str) -> bool:
        return not options.only or any(name.startswith(n) for n in options.only)

    extras = {
        "first": lambda: calls.first_calls(machine, min(options.rounds, 5), options.small, options.clock),
        "import": lambda: calls.imports(machine, min(options.rounds, 5)),
        "cache": lambda: stored.stored_calls(machine, min(options.rounds, 5), options.small, options.clock),
        "call": lambda: calls.overheads(machine, options.rounds, options.small),
        "profile": lambda: calls.profiles(options.rounds, options.small),
        "launch": lambda: launches.launches(min(options.rounds, 5)) | launches.operations(min(options.rounds, 5)),
    }
    workloads = [w for w in WORKLOADS if chosen(w.name)]
    if not workloads and not any(chosen(e) for e in (*extras, "toast")):
        print(f"nothing begins with {', '.join(options.only)}", file=sys.stderr)
        return 2
    machine = open_machine(options.threads, None if options.peers is None else tuple(options.peers), CPP)
    for peer, reason in machine.absent.items():
        print(f"{peer}: left out, {reason}")
    what = describe(machine.peers)
    print(", ".join(f"{k} {v}" for k, v in what.items()))
    print(f"{options.threads} thread(s), {options.rounds} round(s), {options.clock} time")
    print("ratios: the peer's time over Ingot's, of the minima and of the medians")
    peaks = measure_peaks(machine.library("fast"), options.small, CLOCKS[options.clock]) if machine.kinds else None
    if peaks:
        print(f"peaks: {peaks['bytes_per_s'] / 1e9:.1f} GB/s (triad), {peaks['flops_per_s'] / 1e9:.1f} Gflop/s")
    outcomes = []
    for workload in workloads:
        outcomes.append(measure(workload, machine, options.rounds, options.small, options.clock))
        print(report.workload_text(outcomes[-1], peaks), flush=True)
    if outcomes:
        print(report.summary_text(outcomes))
        print(report.means_text(outcomes))
    tables = {}
    for name, extra in extras.items():
        if chosen(name):
            table = extra()
            tables |= table
            print(report.calls_text(table), flush=True)
    if chosen("toast"):
        tables["toast"] = toast.kernels(options.rounds, options.threads, options.small)
        print(toast.text(tables["toast"]), flush=True)
    wrong = [f"{o.name}: {r.name}" for o in outcomes for r in o.rows if r.wrong]
    refused = sum(r.refused is not None for o in outcomes for r in o.rows)
    print(f"\n{len(outcomes)} workloads; of the contestants {refused} refused, {len(wrong)} wrong", *wrong, sep="\n  ")
    figures = {
        "machine": what,
        "absent": machine.absent,
        "peaks": peaks,
        "workloads": [o.as_json() for o in outcomes],
        "means": report.means(outcomes),
        "calls": tables,
    }
    _keep(figures, options)
    return 1 if wrong else 0


def _keep(figures: dict, options: argparse.Namespace) -> None:
    """Writes the figures where the command's options ask for them."""
    from . import page

    asked = {name: getattr(options, name) for name in ("threads", "rounds", "clock", "small")}
    figures = {"load": os.getloadavg()[0], **asked, **figures}
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    if options.page:
        page.write(figures, Path(options.page))


if __name__ == "__main__":
    options = _options()
    if options.figures:
        from .page import write

        write(json.loads(Path(options.figures).read_text()), Path(options.page or "docs/benchmarks.md"))
        sys.exit()
    limit_threads(options.threads)
    sys.exit(_run(options))
