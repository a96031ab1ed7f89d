"""`python -m ingot build module.py[:function,...] -o OUT`."""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from .._errors import UnsupportedError

KINDS = ("c", "extension")
LEVELS = (2, 3, 4)


def add_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("build", help="compile functions ahead of time, into a library that needs no Python, or a module that needs no compiler")
    parser.add_argument("module", help="a file, or a module's name; after a colon, the functions: model.py:mean,variance")
    parser.add_argument("-o", "--output", required=True, type=Path, help="the folder that is written into: of a library, include/ and lib/; of a module, its file")
    parser.add_argument("--kind", choices=KINDS, default="c", help="what is made: a library for C, C++ and Fortran (c), or a module for Python (extension)")
    parser.add_argument("--name", help="the library's name, which begins all of its names (the module's)")
    parser.add_argument("--package-version", default=None, help="what find_package compares (the module's __version__, or 0.0.0)")
    parser.add_argument("--levels", type=int, nargs="+", choices=LEVELS, default=list(LEVELS), help="levels of x86-64 to make code for")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from .._ahead.errors import BuildError

    try:
        for file in build(options):
            print(file)
    except (BuildError, UnsupportedError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def build(options: argparse.Namespace) -> list[Path]:
    from .._ahead import c_library, extension
    from .._ahead.collect import collect, load
    from .._ahead.errors import BuildError
    from .._ahead.lowering import compile_export

    place, _, names = options.module.partition(":")
    module = load(place)
    library = options.name or module.__name__.rpartition(".")[2]
    version = options.package_version or getattr(module, "__version__", "0.0.0")
    if not re.fullmatch(r"\d+(\.\d+){0,3}", version):
        raise BuildError(f"a version is numbers with points between them, such as 1.2.0, not {version!r}; --package-version gives one")
    levels = sorted(set(options.levels))
    wanted = collect(module, [n.strip() for n in names.split(",") if n.strip()])
    kind: Any = extension if options.kind == "extension" else c_library
    kind.check(library, [each.export.name for each in wanted])
    functions = [compile_export(each, levels) for each in wanted]
    try:
        return kind.write(options.output, library, version, functions, levels)
    except OSError as error:
        raise BuildError(f"the library cannot be written: {error}") from None
