"""The command: `python -m bench.derivatives [--only NAME ...] [--rounds N] [--threads N] [--small] [--page]`.

Figures are kept in build/derivatives-THREADS.json, so that some programs can be measured again without the others; `--page`
writes docs/derivative-speed.md of all that is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..limits import limit_threads

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("jax", "cpp", "autograd")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.derivatives", description=__doc__)
    parser.add_argument("--only", nargs="*", metavar="NAME", help="only the programs whose names begin so")
    parser.add_argument("--peers", nargs="*", metavar="PEER", choices=PEERS, help="only these besides Ingot")
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="rounds in which each contestant runs (15)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each contestant that has them (1)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="`cpu` where other work goes on (wall)")
    parser.add_argument("--small", action="store_true", help="small arguments, for tests; nothing is kept")
    parser.add_argument("--no-fresh", action="store_true", help="without first calls and memory, which take processes of their own")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--page", action="store_true", help="write the page afterwards; with --only and no name, only that")
    return parser.parse_args()


def _kept(threads: int) -> Path:
    return ROOT / "build" / f"derivatives-{threads}.json"


def _run(options: argparse.Namespace) -> int:
    from ingot.tour.peers import describe

    from ..measure import CLOCKS
    from .contestants import machine_of
    from .measure import measure
    from .programs import PROGRAMS
    from .report import means_text, page, program_text

    by_name = {p.name: p for p in PROGRAMS}
    chosen = [p for p in PROGRAMS if options.only is None or any(p.name.startswith(n) for n in options.only)]
    if not chosen and not options.page:
        print("nothing begins so", file=sys.stderr)
        return 2
    machine = machine_of(options.threads, options.peers)
    for peer, reason in machine.absent.items():
        print(f"{peer}: left out, {reason}")
    what = describe(machine.peers)
    print(", ".join(f"{k} {v}" for k, v in what.items()))
    outcomes = []
    for program in chosen:
        outcomes.append(measure(program, machine, options.rounds, options.small, CLOCKS[options.clock], not options.no_fresh))
        print(program_text(outcomes[-1], program), flush=True)
    if outcomes:
        print(means_text(outcomes, by_name))
    figures = {
        "machine": what,
        "threads": options.threads,
        "rounds": options.rounds,
        "clock": options.clock,
        "programs": {o.name: o.as_json() for o in outcomes},
    }
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    if not options.small and outcomes:
        path = _kept(options.threads)
        if path.exists():
            figures["programs"] = json.loads(path.read_text())["programs"] | figures["programs"]
        path.write_text(json.dumps(figures, indent=1) + "\n")
    if options.page:
        kept = [json.loads(path.read_text()) for path in (_kept(1), _kept(2)) if path.exists()]
        (ROOT / "docs" / "derivative-speed.md").write_text(page(kept, by_name))
    return 1 if any(r.wrong for o in outcomes for r in o.rows) else 0


if __name__ == "__main__":
    options = _options()
    limit_threads(options.threads)
    sys.exit(_run(options))
