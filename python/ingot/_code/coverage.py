"""Coverage of lines: what coverage.py counts of functions that are compiled. Loaded where coverage.py is.

Compiled code runs no lines of Python's. All lines of the functions that a specialisation was compiled of are counted as run,
when it is compiled, or loaded. Which branch a call took is not known; with INGOT_DISABLE=1 Python runs the functions, and coverage.py counts as ever.
"""

from __future__ import annotations

import contextlib
import os
import types
from collections.abc import Iterable
from typing import Any

import coverage

from . import inner_codes


def mark(function: Any, guards: Iterable[tuple]) -> None:
    """Counts the lines of a function that was compiled, and of all those whose code is in it."""
    with contextlib.suppress(Exception):  # no call may fail for it; a module of the user's may be called coverage, too
        current = coverage.Coverage.current()
        if current is not None and _is_own(current):
            _add(current, _lines_of(function, guards))


def _is_own(current: Any) -> bool:
    """Whether it was begun in this process. After a fork the child has its parent's, whose file it would erase: coverage.py saves nothing there."""
    return getattr(getattr(current, "_data", None), "_pid", None) in (None, os.getpid())


def _lines_of(function: Any, guards: Iterable[tuple]) -> dict[str, set[int]]:
    codes = {function.__code__} | {guard[2] for guard in guards if guard[1] == "__code__" and isinstance(guard[2], types.CodeType)}
    lines: dict[str, set[int]] = {}
    for code in codes:
        for each in (code, *inner_codes(code)):
            lines.setdefault(code.co_filename, set()).update(line for *_, line in each.co_lines() if line is not None)
    return lines


def _add(current: Any, lines: dict[str, set[int]]) -> None:
    data = current.get_data()
    lines = {file: found for file, found in lines.items() if file in data.measured_files()}  # coverage.py leaves the others out
    if current.get_option("run:branch"):
        data.add_arcs({file: _arcs(current, file, found) for file, found in lines.items()})
    else:
        data.add_lines(lines)


def _arcs(current: Any, file: str, lines: set[int]) -> set[tuple[int, int]]:
    """The ways from line to line in a file that begin and end in these lines; negative ones enter and leave functions."""
    from coverage.python import PythonFileReporter

    return {(a, b) for a, b in PythonFileReporter(file, current).arcs() if {abs(a), abs(b)} <= lines}
