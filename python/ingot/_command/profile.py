"""`python -m ingot profile`: programs with a profile, and profiles side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._profile import profile
from .._profile.merge import as_text, merged, save_table
from .._profile.page import save_page
from .._profile.rows import Row, WrongFile, gathered, load, save


def add_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("profile", help="where time goes: profiles of programs, side by side")
    commands = parser.add_subparsers(required=True, metavar="WHAT")
    compare = commands.add_parser("merge", help="profiles side by side: a line for each operation, a column for each file")
    compare.add_argument("files", nargs="+", metavar="FILE.csv", help="what ingot.profile.save or INGOT_PROFILE has written; ratios are to the first")
    compare.add_argument("--by", choices=("operation", "path"), default="operation", help="what a line is (operation)")
    compare.add_argument("--own", action="store_true", help="compare the seconds that are not in rows inside, such as those of compiling")
    compare.add_argument("--html", metavar="FILE", help="write a page with bars")
    compare.add_argument("--csv", metavar="FILE", help="write the table as CSV")
    compare.set_defaults(run=run_merge)
    ranks = commands.add_parser("gather", help="the files of the processes of one run, as one")
    ranks.add_argument("files", nargs="+", metavar="FILE.csv", help="one of each process")
    ranks.add_argument("--csv", metavar="FILE", required=True, help="what is written")
    ranks.set_defaults(run=run_gather)
    program = commands.add_parser("run", help="runs a program with a profile, as `python SCRIPT ARGUMENTS` does")
    program.add_argument("--csv", metavar="FILE", help="write the rows as CSV; else they are shown at the end")
    program.add_argument("--trace", metavar="FILE", help="write each event as JSON for Perfetto")
    program.add_argument("script", metavar="SCRIPT")
    program.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS")
    program.set_defaults(run=run_program)


def _loaded(files: Sequence[str]) -> list[list[Row]] | None:
    """The rows of files; None: one is no profile, which has been reported."""
    try:
        return [load(file) for file in files]
    except WrongFile as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return None


def names_of(files: Sequence[str]) -> list[str]:
    """What runs are called: the files without folders and ending, or as they were given where two are alike."""
    stems = [Path(file).stem for file in files]
    names = [stem if stems.count(stem) == 1 else file for stem, file in zip(stems, files)]
    return [name if names.count(name) == 1 else f"{name} #{place}" for place, name in enumerate(names, 1)]


def run_merge(options: argparse.Namespace) -> int:
    runs = _loaded(options.files)
    if runs is None:
        return 2
    table = merged(list(zip(names_of(options.files), runs)), options.by, options.own)
    print(as_text(table))

    def write() -> None:
        if options.csv:
            save_table(options.csv, table)
        if options.html:
            save_page(options.html, table)

    return _written(write)


def run_gather(options: argparse.Namespace) -> int:
    processes = _loaded(options.files)
    return 2 if processes is None else _written(lambda: save(options.csv, gathered(processes)))


def _written(write: Any) -> int:
    try:
        write()
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def run_program(options: argparse.Namespace) -> int:
    from .script import run_script

    profile.start(trace=options.trace is not None)
    status = run_script(options.script, options.arguments)
    profile.stop()
    if options.csv is None:
        print(as_text(merged([(Path(options.script).stem, profile.rows())])), file=sys.stderr)
    written = _written(lambda: _save_run(options))
    return status or written


def _save_run(options: argparse.Namespace) -> None:
    if options.csv is not None:
        profile.save(options.csv)
    if options.trace is not None:
        profile.trace(options.trace)
