"""`python -m ingot check --run SCRIPT`: what became of the functions of `ingot.jit` that a program calls."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from .._calls.function import Function, Make, type_text
from .._errors import UnsupportedError


class Outcome(NamedTuple):
    """What became of one list of arguments of a function: `message` is why it was refused, or recompiled."""

    function: Function
    values: tuple[Any, ...]
    status: str
    message: str


def run(script: str, arguments: list[str]) -> tuple[list[Outcome], int]:
    """Runs a script as `python SCRIPT ARGUMENTS` does. The outcomes in their order, and the exit status of the script."""
    outcomes: list[Outcome] = []
    with watched(outcomes):
        status = run_script(script, arguments)
    return outcomes, status


def run_script(script: str, arguments: list[str]) -> int:
    """Runs a script as `python SCRIPT ARGUMENTS` does: its exit status."""
    if not Path(script).is_file():
        raise SystemExit(f"{script} is no Python file")
    before = sys.argv, sys.path[:]
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        return _status_of(script)
    finally:
        sys.argv, sys.path[:] = before


def _status_of(script: str) -> int:
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        print(leaving.code, file=sys.stderr)
        return 1
    except Exception as error:
        inside = error.__traceback__
        while inside is not None and inside.tb_frame.f_code.co_filename != script:
            inside = inside.tb_next
        traceback.print_exception(type(error), error, inside or error.__traceback__)
        return 1
    return 0


@contextmanager
def watched(outcomes: list[Outcome]) -> Iterator[None]:
    """Has all that the functions of `ingot.jit` compile and refuse meanwhile put among the outcomes, each once."""
    prepare = Function._prepare
    seen = set()

    def watching(
        self: Function, args: tuple[Any, ...], kwargs: dict[Any, Any], bound: tuple[list[Any], Any] | None = None, make: Make | None = None
    ) -> Any:
        compiled = len(self.specialisations)
        try:
            prepared = prepare(self, args, kwargs, bound, make)
        except UnsupportedError as error:
            note(self, args, kwargs, "refused", str(error))
            raise
        if len(self.specialisations) > compiled:
            why = prepared[0].why
            note(self, args, kwargs, "compiles", "" if why == "the first call" else why)
        return prepared

    def note(function: Function, args: tuple[Any, ...], kwargs: dict[Any, Any], status: str, message: str) -> None:
        outcome = Outcome(function, (*args, *kwargs.values()), status, message)
        key = (function, tuple(map(type_text, outcome.values)), status, message)
        if status == "compiles" or key not in seen:
            seen.add(key)
            outcomes.append(outcome)

    Function._prepare = watching  # type: ignore[method-assign]
    try:
        yield
    finally:
        Function._prepare = prepare  # type: ignore[method-assign]
