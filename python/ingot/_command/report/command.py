"""The command `report`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from .facts import Report, collected


def add_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("report", help="run a program, and write a page about what it compiled, with advice")
    parser.add_argument("--html", metavar="FILE", help="the page that is written (SCRIPT.report.html)")
    parser.add_argument("--no-peaks", action="store_true", help="do not measure what memory and arithmetic allow, which takes some seconds")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from .page import page

    report, status = report_of(options.script, options.arguments, measure=not options.no_peaks)
    file = Path(options.html or f"{Path(options.script).stem}.report.html")
    try:
        file.write_text(page(report), "utf-8")
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    advice = sum(len(function.advice) for function in report.functions)
    print(f"{file}: {len(report.functions)} functions, {advice} advice", file=sys.stderr)
    return status


def report_of(script: str, arguments: list[str], measure: bool) -> tuple[Report, int]:
    """What is known after a run of a script, and its exit status."""
    from ..._calls.specialisation import core
    from ..._profile import profile
    from .. import script as _check_script

    core()  # its time is none of the program's
    outcomes: list[_check_script.Outcome] = []
    started = time.time()
    profile.reset()
    profile.start()
    try:
        with _check_script.watched(outcomes):
            status = _check_script.run_script(script, arguments)
    finally:
        profile.stop()
    seconds = time.time() - started
    rows = profile.rows()
    profile.reset()
    return collected(script, arguments, started, seconds, outcomes, rows, _peaks() if measure else None), status


def _peaks() -> dict[str, dict[str, float]]:
    from ...tour.peaks import measure

    return measure(small=False)
