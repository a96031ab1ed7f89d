"""`python -m ingot tour`: programs as people write them, under plain Python and under Ingot, compared."""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CHUNK = 1 << 20


def _same_arrays(a: np.ndarray, b: np.ndarray, bound: float) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.size and not a.flags.c_contiguous:
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    x, y = a.reshape(-1), b.reshape(-1)
    for start in range(0, x.size, CHUNK):
        p, q = x[start : start + CHUNK], y[start : start + CHUNK]
        if bound == 0:
            if not np.array_equal(p, q, equal_nan=p.dtype.kind in "fc"):
                return False
        elif not np.allclose(p, q, rtol=bound, atol=bound, equal_nan=True):
            return False
    return True


def same(a: Any, b: Any, bound: float) -> bool:
    """Whether two results are one: type, dtype, shape, and value within a relative `bound` (0: bitwise)."""
    if isinstance(a, BaseException):
        return isinstance(b, type(a)) and str(a) == str(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return _same_arrays(a, b, bound)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same(x, y, bound) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k], bound) for k in a)
    if isinstance(a, (float, complex, np.inexact)):
        return bool(np.isclose(a, b, rtol=bound, atol=0, equal_nan=True))
    return a == b


def _run(function: Callable, arguments: tuple, calls: Any) -> tuple[Any, str, float]:
    """The result or exception, what was printed, and the seconds of one run."""
    np.random.seed(7)
    printed = io.StringIO()
    start = time.perf_counter()
    try:
        with contextlib.redirect_stdout(printed):
            result = calls(function, arguments) if calls else function(*arguments)
    except Exception as error:  # the exception is what is compared
        result = error
    return result, printed.getvalue(), time.perf_counter() - start


def run_program(program: Any, small: bool) -> dict:
    """Runs one program both ways; says whether they agree, and the seconds of each."""
    arguments = program.arguments(small)
    reduced = not small and program.reduced is not None
    checked = program.reduced() if reduced else copy.deepcopy(arguments)
    compared = copy.deepcopy(checked)
    compiled = program.compiled(program.plain)
    expected, expected_text, plain_seconds = _run(program.plain, checked, program.calls)
    result, text, first_seconds = _run(compiled, compared, program.calls)
    right = same(expected, result, program.bound) and expected_text == text
    right = right and same(list(checked), list(compared), program.bound)
    _, _, seconds = _run(compiled, arguments, program.calls)
    specialisations = getattr(compiled, "specialisations", [])
    return {
        "name": program.name,
        "right": right,
        "first_call_s": first_seconds,
        "run_s": seconds,
        "plain_s": plain_seconds,
        "plain_reduced": reduced,
        "host_calls": sum(len(s.hosts) for s in specialisations),
        "notes": program.notes,
        **({} if right else {"expected": repr(expected)[:200], "got": repr(result)[:2000]}),
    }


def _seconds(value: float) -> str:
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.2f} ms" if value >= 1e-3 else f"{value * 1e6:.0f} µs"


def _table(rows: list[dict]) -> str:
    header = ("program", "first call", "run", "plain Python", "host calls", "right?")
    lines = [header]
    for r in rows:
        plain = _seconds(r["plain_s"]) + (" (reduced size)" if r["plain_reduced"] else "")
        lines.append(
            (r["name"], _seconds(r["first_call_s"]), _seconds(r["run_s"]), plain, str(r["host_calls"]), "yes" if r["right"] else "NO")
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    text = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([text[0], "-" * len(text[0]), *text[1:]])


def run(options: argparse.Namespace) -> int:
    from .programs import PROGRAMS

    chosen = [p for p in PROGRAMS if not options.only or any(p.name.startswith(name) for name in options.only)]
    if not chosen:
        print(f"no program of the tour begins with {', '.join(options.only)}", file=sys.stderr)
        return 2
    rows = []
    for number, program in enumerate(chosen, 1):
        if sys.stderr.isatty():
            done = "#" * (30 * number // len(chosen))
            print(f"\r[{done:30}] {number}/{len(chosen)} {program.name:40}", end="", file=sys.stderr, flush=True)
        rows.append(run_program(program, options.small))
    if sys.stderr.isatty():
        print("\r" + " " * 90 + "\r", end="", file=sys.stderr)
    print(_table(rows))
    for row in rows:
        if not row["right"]:
            print(f"\n{row['name']}: expected {row['expected']}\n  got {row['got']}")
    right = sum(r["right"] for r in rows)
    print(f"\n{right} of {len(rows)} right" + (" (small sizes)" if options.small else ""))
    if options.json:
        Path(options.json).write_text(json.dumps({"small": options.small, "programs": rows}, indent=1) + "\n")
    return 0 if right == len(rows) else 1


def add_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("tour", help="run the programs of the tour and compare with plain Python")
    parser.add_argument("--small", action="store_true", help="small arguments, for tests")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only programs whose names begin so")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    parser.set_defaults(run=run)
