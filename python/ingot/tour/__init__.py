"""`python -m ingot tour`: programs as people write them, under Ingot and its peers, compared and timed."""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import gc
import io
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CHUNK = 1 << 20
SECONDS = 1.0
"""For how long the contestants of a program run alternately: two rounds at least, but one where that takes long."""
LONG = 60.0
ROUNDS = 20
LARGE = 1 << 30
"""Bytes of arguments above which JAX, which wants arrays of its own, runs when the others have."""


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


def _run(function: Callable[..., Any], arguments: tuple[Any, ...], calls: Any) -> tuple[Any, str, float]:
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


def _called(program: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as the program calls it, with arguments one by one."""
    return function if program.calls is None else lambda *arguments: program.calls(function, arguments)


def _contestants(program: Any, machine: Any) -> dict[str, Callable[[tuple[Any, ...]], Callable[..., Any]]]:
    """By name, what makes a run of each contestant from arguments; Ingot is not among them."""
    from . import peers

    task = program.task
    made: dict[str, Callable[[tuple[Any, ...]], Callable[..., Any]]] = {}

    def in_numba(parallel: bool) -> Callable[[tuple[Any, ...]], Callable[..., Any]]:
        compiled = functools.cache(lambda: _called(program, peers.for_numba(program.for_numba, parallel)))
        return lambda arguments: peers.in_python(task, compiled(), arguments)

    if task.numpy is not None or program.reduced is None:
        made["numpy"] = lambda arguments: peers.in_python(task, _called(program, task.numpy or program.reference), arguments)
    if "numba" in machine.peers and program.for_numba is not None:
        made["numba"] = in_numba(False)
        if program.parallel:
            made["numba parallel"] = in_numba(True)
    if "jax" in machine.peers and task.jax is not None:
        made["jax"] = lambda arguments: peers.for_jax(task, arguments)
    if task.cpp is not None:
        threads = machine.threads if program.parallel else 1
        for kind in machine.kinds:
            made[f"c++ {kind}"] = lambda arguments, kind=kind: machine.library(kind, threads).bind(task.cpp(*arguments))  # type: ignore[misc]
    return made


def _verdict(make: Callable[..., Any], arguments: tuple[Any, ...], expected: Any, bound: float) -> dict[Any, Any]:
    """What a contestant makes of the arguments: nothing, or `refused` or `wrong` with the reason."""
    from . import peers

    np.random.seed(7)
    try:
        result = make(arguments)()
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        if type(error) is type(expected):
            return {}
        return {"refused": f"{type(error).__name__}: {' '.join(lines[:2])}"}
    if isinstance(expected, BaseException):
        return {"wrong": f"gives a result where NumPy raises {type(expected).__name__}"}
    single = any(p.dtype in (np.float32, np.complex64) for p in peers.flat(expected))
    try:
        wrong = peers.difference(result, expected, max(bound, 1e-5 if single else 1e-10))
    except TypeError as error:
        wrong = str(error)
    return {"wrong": wrong} if wrong else {}


def _time(runs: dict[str, Callable[..., Any]], raises: bool, small: bool) -> tuple[dict[str, float], dict[str, dict[Any, Any]]]:
    """The least seconds of each run, alternately, and what is wrong with those that fail; `raises`: all do, rightly."""
    repeats, least, failed = dict.fromkeys(runs, 1), dict.fromkeys(runs, float("inf")), {}
    begin = time.perf_counter()
    gc.disable()
    try:
        for number in range(2 if small else ROUNDS):
            if number and time.perf_counter() - begin > (LONG if number == 1 else SECONDS):
                break
            for name, run in runs.items():
                if name in failed:
                    continue
                start = time.perf_counter()
                try:
                    for _ in range(repeats[name]):
                        run()
                except Exception as error:
                    if not raises:
                        failed[name] = {"refused": f"{type(error).__name__}: {error}"}
                        continue
                taken = (time.perf_counter() - start) / repeats[name]
                least[name] = min(least[name], taken)
                repeats[name] = 1 if raises or small else max(1, min(1000, int(1e-3 / taken)))
    finally:
        gc.enable()
    return {name: s for name, s in least.items() if name not in failed}, failed


def _compare(program: Any, machine: Any, arguments: tuple[Any, ...], compiled: Callable[..., Any], expected: Any, small: bool) -> dict[Any, Any]:
    """What the other contestants give, and the seconds of all, Ingot among them."""
    from . import peers

    made = _contestants(program, machine) if machine else {}
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        fresh = program.reduced if not small and program.reduced is not None else lambda: copy.deepcopy(arguments)
        said = {name: _verdict(make, fresh(), expected, program.bound) for name, make in made.items()}
        able = [name for name in made if not said[name]]
        large = sum(a.nbytes for a in arguments if isinstance(a, np.ndarray)) > LARGE
        times: dict[str, float] = {}
        failed: dict[str, dict[Any, Any]] = {}
        for i in program.task.outputs:
            arguments[i][...] = arguments[i]  # pages of fresh memory are for no one to pay
        for group in ([n for n in able if n != "jax"], ["jax"]) if large and "jax" in able else (able,):
            runs = {name: made[name](arguments) for name in group}
            if not times:
                runs = {"ingot": peers.in_python(program.task, _called(program, compiled), arguments), **runs}
            found, wrong = _time(runs, isinstance(expected, Exception), small)
            times |= found
            failed |= wrong
    if "ingot" in failed:
        raise RuntimeError(f"{program.name} under Ingot: {failed['ingot']['refused']}")
    return {"run_s": times.pop("ingot"), "peers": said | failed | {name: {"run_s": s} for name, s in times.items()}}


def run_program(program: Any, small: bool, machine: Any = None, peaks: dict[Any, Any] | None = None) -> dict[Any, Any]:
    """Runs one program in plain Python, under Ingot and, with a machine, under its peers.

    Returns whether Ingot agrees with Python, the seconds of each, and how near Ingot is to the roofline.
    """
    from .peaks import roof

    arguments = program.arguments(small)
    reduced = not small and program.reduced is not None
    checked = program.reduced() if reduced else copy.deepcopy(arguments)
    compared = copy.deepcopy(checked)
    compiled = program.compiled(program.plain)
    expected, expected_text, plain_seconds = _run(program.reference, checked, program.calls)
    result, text, first_seconds = _run(compiled, compared, program.calls)
    for specialisation in getattr(compiled, "specialisations", ()):
        specialisation.complete()  # what is timed is full code
    right = same(expected, result, program.bound) and expected_text == text
    right = right and same(list(checked), list(compared), program.bound)
    wanted = tuple(checked[i] for i in program.task.outputs) if expected is None else expected
    figures = _compare(program, machine, arguments, compiled, wanted, small)
    task, specialisations = program.task, getattr(compiled, "specialisations", [])
    size = task.bytes(*arguments) if task.bytes else None
    flops = task.flops(*arguments) if task.flops else None
    bound = roof(size, flops, peaks and peaks["all" if program.parallel else "core"])
    return {
        "name": program.name,
        "family": program.family,
        "right": right,
        "first_call_s": first_seconds,
        **figures,
        "plain_s": plain_seconds,
        "plain_reduced": reduced,
        "parallel": program.parallel,
        "bytes": size,
        "flops": flops,
        "roof": bound and {"s": bound[0], "bound": bound[1], "reached": bound[0] / figures["run_s"]},
        "host_calls": sum(len(s.hosts) for s in specialisations),
        "notes": program.notes,
        **({} if right else {"expected": repr(expected)[:200], "got": repr(result)[:2000]}),
    }


def _progress(number: int, count: int, name: str) -> None:
    if sys.stderr.isatty():
        done = "#" * (30 * number // count)
        print(f"\r[{done:30}] {number}/{count} {name:40}", end="", file=sys.stderr, flush=True)


def run(options: argparse.Namespace) -> int:
    from . import peaks, peers, report
    from .programs import PROGRAMS

    chosen = [p for p in PROGRAMS if not options.only or any(p.name.startswith(name) for name in options.only)]
    if not chosen:
        print(f"no program of the tour begins with {', '.join(options.only)}", file=sys.stderr)
        return 2
    if options.device is not None:
        return _run_on_device(chosen, options)
    machine = peers.open_machine(report.cores(), None if options.peers is None else tuple(options.peers))
    limits = peaks.measure(options.small)
    rows = []
    for number, program in enumerate(chosen, 1):
        _progress(number, len(chosen), program.name)
        rows.append(run_program(program, options.small, machine, limits))
    if sys.stderr.isatty():
        print("\r" + " " * 90 + "\r", end="", file=sys.stderr)
    figures = {"small": options.small, **report.machine(machine), "peaks": limits, "programs": rows}
    print(report.text(figures, sys.stdout.isatty()))
    for row in rows:
        if not row["right"]:
            print(f"\n{row['name']}: expected {row['expected']}\n  got {row['got']}")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    if options.html:
        from . import html

        Path(options.html).write_text(html.page(figures, {p.name: p for p in chosen}), encoding="utf-8")
    return 0 if all(r["right"] for r in rows) else 1


def _run_on_device(chosen: list[Any], options: argparse.Namespace) -> int:
    from .. import device
    from . import on_devices

    if options.html:
        print("the page with charts is one of the CPU's: leave --html or --device out", file=sys.stderr)
        return 2
    try:
        there = device(options.device)
    except (RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    small = options.small or there.kind != "gpu"
    rows = []
    for number, program in enumerate(chosen, 1):
        _progress(number, len(chosen), program.name)
        rows.append(on_devices.run_on_device(program, there, small))
    if sys.stderr.isatty():
        print("\r" + " " * 90 + "\r", end="", file=sys.stderr)
    print(on_devices.text(rows, there, small))
    if options.json:
        figures = {"small": small, "device": str(there), "name": there.name, "code": there.code, "programs": rows}
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if any(row["right"] is False for row in rows) else 0


def add_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("tour", help="run the programs of the tour, compare with plain Python and with peers")
    parser.add_argument("--small", action="store_true", help="small arguments, for tests")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only programs whose names begin so")
    parser.add_argument("--peers", nargs="*", metavar="PEER", choices=("numba", "jax", "cpp"), help="only these besides NumPy")
    parser.add_argument("--device", metavar="DEVICE", help="on a device, compared with the CPU: gpu, or emulated with small arguments")
    parser.add_argument("--html", metavar="FILE", help="write a report with charts, sources and all figures")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    parser.set_defaults(run=run)
