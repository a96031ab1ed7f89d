"""`python -m ingot tour --device DEVICE`: the programs of the tour on a device, judged by what the CPU gives."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ingot
from ingot._calls.function import Function
from ingot._devices import Device
from ingot._errors import UnsupportedError

from . import _run, same

ROUNDS = 5


def compiled_for(program: Any, device: Device) -> Callable[..., Any]:
    """The program's function, compiled for a device."""
    if program.on_device is not None:
        return program.on_device(program.plain)
    made = program.compiled(program.plain)
    return Function(made.__ingot_function__, made._signatures, made._mode, made._relaxed, made._static, device)


def _there(arguments: tuple[Any, ...], device: Device) -> tuple[Any, ...]:
    return tuple(ingot.device_put(a, device) if isinstance(a, np.ndarray) else copy.deepcopy(a) for a in arguments)


def _here(value: Any) -> Any:
    """A result with the host's arrays."""
    if isinstance(value, ingot.Array):
        return value.to_host()
    if isinstance(value, (tuple, list)):
        return type(value)(map(_here, value))
    if isinstance(value, dict):
        return {key: _here(part) for key, part in value.items()}
    return value


def _least(run: Callable[[], Any], wait: Callable[[], None], rounds: int) -> float:
    """The least seconds of a run and of what it has left to do."""
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        wait()
        least = min(least, time.perf_counter() - start)
    return least


def _seconds(program: Any, on_cpu: Callable[..., Any], on_device: Callable[..., Any], small: bool, device: Device) -> dict[str, float]:
    """Of calls that have been made before, on arrays that are where they run."""
    arguments, rounds = program.arguments(small), 1 if small else ROUNDS
    there = _there(arguments, device)
    found = {}
    for name, function, given in (("run_s", on_device, there), ("cpu_s", on_cpu, arguments)):

        def run(function: Callable[..., Any] = function, given: tuple[Any, ...] = given) -> Any:
            return _run(function, given, program.calls)

        run()
        found[name] = _least(run, device.synchronize, rounds)
    return found


def run_on_device(program: Any, device: Device, small: bool) -> dict[str, Any]:
    """Runs one program on the CPU and on a device: whether it gives the same bits, the seconds of both, what is launched.

    Where products of matrices have an order of their own, the same within the program's bound is right, too.
    """
    row: dict[str, Any] = {"name": program.name, "family": program.family}
    arguments = program.arguments(small)
    on_cpu, on_device = program.compiled(program.plain), compiled_for(program, device)
    here, there = copy.deepcopy(arguments), _there(arguments, device)
    with device:
        expected, expected_text, _ = _run(on_cpu, here, program.calls)
        got, text, first = _run(on_device, there, program.calls)
        if isinstance(got, UnsupportedError) and not isinstance(expected, UnsupportedError):
            return row | {"right": None, "refused": str(got).splitlines()[0]}
        got, left = _here(got), _here(list(there))
        row |= {"first_call_s": first, "launches": _launches(program, on_device, there)}
        bits = same(expected, got, 0) and same(list(here), left, 0) and text == expected_text
        close = bits or same(expected, got, program.bound) and same(list(here), left, program.bound) and text == expected_text
        row |= {"bits": bits, "right": bits or close}
        if not row["right"]:
            row |= {"expected": repr(expected)[:2000], "got": repr(got)[:2000]}
        return row | _seconds(program, on_cpu, on_device, small, device)


def _launches(program: Any, function: Any, arguments: tuple[Any, ...]) -> dict[str, Any] | None:
    """What `explain` shows of the call; None of programs that are several calls, or no compiled function."""
    if program.calls is not None or not isinstance(function, Function):
        return None
    found = function.explain(*arguments).launches
    if found is None:
        return None
    needs = [dataclasses.asdict(launch.needs) for launch in found.launches if launch.needs is not None]
    spilled = sum((n["spill_stores"] or 0) + (n["spill_loads"] or 0) for n in needs)
    most = max((n["registers"] for n in needs), default=None)
    return {**found.as_dict()["total"], "kernels": len(found.launches), "registers": most, "spilled": spilled if needs else None}


def text(rows: list[dict[Any, Any]], device: Device, small: bool) -> str:
    """The table of all programs."""
    from .report import seconds

    def cells(row: dict[Any, Any]) -> list[str]:
        if row["right"] is None:
            return [row["name"], *["-"] * 7, "refused"]
        found = row["launches"] or {}
        counts = ["?" if found.get(key) is None else str(found[key]) for key in ("kernels", "launches", "registers", "spilled")]
        said = "bits" if row["bits"] else "close" if row["right"] else "NO"
        return [row["name"], seconds(row["first_call_s"]), seconds(row["run_s"]), seconds(row["cpu_s"]), *counts, said]

    header = ["program", "first call", str(device), "CPU", "kernels", "launches", "registers", "spilled", "right?"]
    lines = [header, *map(cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    out = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip() for line in lines]
    out.insert(1, "-" * len(out[0]))
    right, bits = sum(bool(row["right"]) for row in rows), sum(bool(row.get("bits")) for row in rows)
    refused = [row for row in rows if row["right"] is None]
    sizes = " (small sizes: times mean little)" if small else ""
    out += ["", f"{right} of {len(rows)} right, {bits} of them bit for bit, {len(refused)} refused{sizes}; {device}: {device.name}"]
    out += [f"{row['name']}: {row['refused']}" for row in refused]
    for row in rows:
        if row["right"] is False:
            out += [f"\n{row['name']}: expected {row['expected']}\n  got {row['got']}"]
    return "\n".join(out)
