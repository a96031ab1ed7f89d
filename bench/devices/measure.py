"""The groups of measurements, each a function of a clock that gives rows one by one: a name, and times or why there are none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot import cuda

from . import programs
from .clock import Clock
from .programs import PROGRAMS

Rows = Iterator[tuple[str, dict[str, Any]]]
BYTES = 1 << 28
"""Of each array: more than caches hold."""


def _row(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is measured, or the error."""
    try:
        return make()
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}


def _rate(amount: float, times: dict[str, Any]) -> float | None:
    """A second; None where no time has passed, as in a copy of the software device, which counts instructions."""
    return amount / times["min"] if times["min"] > 0 else None


def _there(arguments: tuple, device: Any) -> tuple:
    return tuple(ingot.device_put(a, device) if isinstance(a, np.ndarray) else a for a in arguments)


def bandwidth(clock: Clock) -> Rows:
    """Bytes a second, and the share of what the driver's own copy on the device reaches."""
    most = 1 << 15 if clock.quick else BYTES
    x = ingot.device_put(np.zeros(most // 8), clock.device)
    times = clock.measure(x.copy)
    peak = _rate(2 * most, times)
    yield "device copy", {**times, "bytes": 2 * most, "bytes_per_s": peak, "share": 1.0}
    del x

    def one(program: programs.Program) -> dict[str, Any]:
        arguments = program.arguments(min(most, program.most or most))
        size = program.bytes(*arguments)
        function, there = ingot.jit(program.function), _there(arguments, clock.device)
        times = clock.measure(lambda: function(*there))
        rate = _rate(size, times)
        share = rate / peak if rate is not None and peak is not None else None
        row = {**times, "bytes": size, "bytes_per_s": rate, "share": share, "goal": program.goal}
        return row | _launches(function, there)

    for program in PROGRAMS:
        yield program.name, _row(lambda program=program: one(program))
        ingot.release_memory(clock.device)


def _launches(function: Any, arguments: tuple) -> dict[str, Any]:
    """How often what runs, and the most registers and spilled bytes of a kernel."""
    found = function.explain(*arguments).launches
    needs = [launch.needs for launch in found.launches if launch.needs is not None]
    spilled = [(n.spill_stores or 0) + (n.spill_loads or 0) for n in needs]
    least = found.least
    moved = None if found.read is None or found.written is None else found.read + found.written
    return {
        "launches": found.times,
        "moved": moved,
        "least": least,
        "registers": max((n.registers for n in needs), default=None),
        "spilled": max(spilled, default=None),
    }


def sorts(clock: Clock) -> Rows:
    """Keys a second."""
    n = 1 << 10 if clock.quick else 1 << 24
    g = np.random.default_rng(3)
    for function in (programs.sort, programs.argsort):
        for dtype in ("int32", "int64", "float32", "float64"):
            keys = (g.random(n) * 2**30).astype(dtype)

            def one(function: Callable = function, keys: np.ndarray = keys) -> dict[str, Any]:
                compiled, there = ingot.jit(function), ingot.device_put(keys, clock.device)
                times = clock.measure(lambda: compiled(there))
                return {**times, "keys": n, "keys_per_s": _rate(n, times)}

            yield f"{function.__name__} {dtype}", _row(one)


def products(clock: Clock) -> Rows:
    """Operations a second of matrix products."""
    for dtype in ("float32", "float64"):
        for n in (16, 33) if clock.quick else (512, 1024, 2048):

            def one(n: int = n, dtype: str = dtype) -> dict[str, Any]:
                a, b = _there(tuple(np.random.default_rng(1).random((2, n, n)).astype(dtype)), clock.device)
                compiled = ingot.jit(programs.product)
                times = clock.measure(lambda: compiled(a, b))
                return {**times, "flops": 2 * n**3, "flops_per_s": _rate(2 * n**3, times)}

            yield f"product of {n} x {n} {dtype}", _row(one)


def launches(clock: Clock) -> Rows:
    """The host's seconds for calls that launch one kernel, and the device's."""
    x = ingot.device_put(np.zeros(1), clock.device)
    function = ingot.jit(programs.add_one)

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < 1:
            x[i] += 1.0

    def waited() -> None:
        function(x)
        x.block_until_ready()

    with clock.device:
        function(x)
        kernel[1, 32](x)
    configured = kernel[1, 32]
    yield "a call that launches one kernel", _row(lambda: clock.host(lambda: function(x), 1000))
    yield "the same, waited for", _row(lambda: clock.host(waited, 1000))
    yield "a launch of cuda.jit", _row(lambda: clock.host(lambda: configured(x), 1000))
    yield "the device's time of one launch", _row(lambda: clock.measure(lambda: function(x)))
    yield "x + 1 of an array of one element", _row(lambda: clock.host(lambda: x + 1, 1000))
    program = _built("tests/cpp/devices/launch_cost")
    if program is not None:
        yield from _launch_cost(program, clock)


def _built(path: str) -> Path | None:
    """A program next to the build that this package is of."""
    found = Path(ingot.__file__).absolute().parents[2] / path
    return found if found.exists() else None


def _launch_cost(program: Path, clock: Clock) -> Rows:
    done = subprocess.run([program, clock.device.kind], capture_output=True, text=True, timeout=120)
    if done.returncode and clock.device.kind == "emulated":
        return  # it knows the software device by the path that it was built with
    if done.returncode:
        yield "C++: a launch", {"failed": done.stdout.strip() or str(done.returncode)}
        return
    for line in done.stdout.splitlines():
        name, nanoseconds = line.rsplit(" ", 1)
        yield f"C++: a launch, {name}", {"min": float(nanoseconds) * 1e-9, "median": float(nanoseconds) * 1e-9}


FIRST = """
import json, sys, time
start = time.perf_counter()
import numpy as np
numpy_s = time.perf_counter() - start
start = time.perf_counter()
import ingot
import_s = time.perf_counter() - start
from bench.devices import programs
start = time.perf_counter()
device = ingot.device(sys.argv[1])
x = ingot.device_put(np.ones((64, 64)), device)
open_s = time.perf_counter() - start
function = ingot.jit(getattr(programs, sys.argv[2]))
arguments = [x] * int(sys.argv[3])
times = []
for _ in range(2):
    start = time.perf_counter()
    function(*arguments)
    device.synchronize()
    times.append(time.perf_counter() - start)
print(json.dumps({"import_s": import_s, "open_s": open_s, "first_s": times[0], "second_s": times[1]}))
"""


def first_calls(clock: Clock) -> Rows:
    """Seconds in a fresh process: the import, the device's opening, the first and the second call."""
    for name, count in (("add_one", 1), ("quadratic", 3), ("softmax", 1), ("product", 2), ("sort", 1)):

        def one(name: str = name, count: int = count) -> dict[str, Any]:
            command = [sys.executable, "-c", FIRST, str(clock.device), name, str(count)]
            rounds = [
                json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
                for _ in range(1 if clock.quick else 3)
            ]
            least = {key: min(r[key] for r in rounds) for key in rounds[0]}
            return {"min": least["first_s"], "median": least["first_s"], **least}

        yield name, _row(one)


def copies(clock: Clock) -> Rows:
    """Bytes a second between the host and the device, of memory that is pinned and that is not."""
    n = (1 << 16 if clock.quick else 1 << 27) // 8
    with clock.device:
        there = cuda.device_array(n)
        stream = cuda.stream()
    for name, make in (("pageable", np.zeros), ("pinned", cuda.pinned_array)):
        for title, copied in (("host to device", there.copy_to_device), ("device to host", there.copy_to_host)):

            def one(make: Callable = make, copied: Callable = copied) -> dict[str, Any]:
                with clock.device:
                    host = make(n)
                host[:] = 1.0

                def waited() -> None:
                    copied(host)
                    clock.device.synchronize()

                times = clock.host(waited, 5)
                return {**times, "bytes": n * 8, "bytes_per_s": _rate(n * 8, times)}

            yield f"{title}, {name}", _row(one)
    yield "host to device, pinned, in a stream", _row(lambda: _late(clock, there, stream, n))


def _late(clock: Clock, there: Any, stream: Any, n: int) -> dict[str, Any]:
    """Copies that the host does not wait for, by events in their stream."""
    with clock.device:
        host = cuda.pinned_array(n)
    host[:] = 1.0
    with stream:
        times = clock.measure(lambda: there.copy_to_device(host, stream=stream))
    return {**times, "bytes": n * 8, "bytes_per_s": _rate(n * 8, times)}


GROUPS: dict[str, Callable[[Clock], Rows]] = {
    "bandwidth": bandwidth,
    "sorts": sorts,
    "products": products,
    "launches": launches,
    "first_calls": first_calls,
    "copies": copies,
}
