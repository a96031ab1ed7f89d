"""`python -m ingot COMMAND`. A command is a module with `add_command(subparsers)`, which sets `run`."""

import argparse
import sys

from . import __version__, tour
from ._command import build, cache, check, info, profile
from ._command.report import command as report
from ._command.scaling import command as scaling

COMMANDS = (build, cache, check, info, profile, report, scaling, tour)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ingot")
    parser.add_argument("--version", action="version", version=f"ingot {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_command(subparsers)
    options = parser.parse_args(arguments)
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
