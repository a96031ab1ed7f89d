"""`python -m ingot COMMAND`. A command is a module with `add_command(subparsers)`, which sets `run`."""

import argparse
import sys

from . import _check, _info, tour
from ._ahead import command as _build
from ._cache import command as _cache
from ._profile import command as _profile
from ._report import command as _report

COMMANDS = (_build, _cache, _check, _info, _profile, _report, tour)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ingot")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_command(subparsers)
    options = parser.parse_args(arguments)
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
