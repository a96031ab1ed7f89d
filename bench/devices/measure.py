"""The groups of measurements: what is measured one after the other, each with a function that measures it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot import cuda

from . import programs
from .clock import Clock

Row = dict[str, Any]
Cases = Iterator[tuple[str, Callable[[], Row]]]
"""Names, and what gives times, or raises; nothing is done before it is called, as those that have been measured before are passed over."""
BYTES = 1 << 28
"""Of each array: more than caches hold."""
QUICK_BYTES = 1 << 15


def _rate(amount: float, times: Row) -> float | None:
    """A second; None where no time has passed, as in a copy of the software device, which counts instructions."""
    return amount / times["min"] if times["min"] > 0 else None


def _there(arguments: tuple, device: Any) -> tuple:
    return tuple(ingot.device_put(a, device) if isinstance(a, np.ndarray) else a for a in arguments)


class _Copy:
    """The bytes a second of the driver's own copy on the device, measured once."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.row = clock, None

    def measure(self) -> Row:
        size = QUICK_BYTES if self.clock.quick else BYTES
        x = ingot.device_put(np.zeros(size // 8), self.clock.device)
        times = self.clock.measure(x.copy)
        self.row = {**times, "bytes": 2 * size, "bytes_per_s": _rate(2 * size, times), "share": 1.0}
        return self.row

    def share(self, rate: float | None) -> float | None:
        peak = (self.row or self.measure())["bytes_per_s"]
        return rate / peak if rate is not None and peak is not None else None


def of_programs(name: str) -> Callable[[Clock], Cases]:
    """A group of programs: bytes a second and their share of a copy's, launches, and what else they do a second."""

    def cases(clock: Clock) -> Cases:
        copied = _Copy(clock)
        if name == "bandwidth":
            yield "device copy", copied.measure
        for program in programs.GROUPS[name]:
            yield program.name, lambda program=program: _measured(clock, copied, program)

    return cases


def _measured(clock: Clock, copied: _Copy, program: programs.Program) -> Row:
    most = QUICK_BYTES if clock.quick else BYTES
    arguments = program.arguments(min(most, program.most or most))
    size = program.bytes(*arguments)
    more = {} if program.amount is None else {program.amount[0]: program.amount[1](*arguments)}
    function, there = ingot.jit(**program.options)(program.function), _there(arguments, clock.device)
    del arguments
    times = clock.measure(lambda: function(*there))
    rate = _rate(size, times)
    row = {**times, "bytes": size, "bytes_per_s": rate, "share": copied.share(rate), "goal": program.goal, **more}
    return row | {f"{what}_per_s": _rate(count, times) for what, count in more.items()} | _launches(function, there)


def _launches(function: Any, arguments: tuple) -> Row:
    """How often what runs, and the most registers and spilled bytes of a kernel."""
    found = function.explain(*arguments).launches
    needs = [launch.needs for launch in found.launches if launch.needs is not None]
    spilled = [(n.spill_stores or 0) + (n.spill_loads or 0) for n in needs]
    moved = None if found.read is None or found.written is None else found.read + found.written
    return {
        "launches": found.times,
        "moved": moved,
        "least": found.least,
        "registers": max((n.registers for n in needs), default=None),
        "spilled": max(spilled, default=None),
    }


def launches(clock: Clock) -> Cases:
    """The host's seconds for calls that launch one kernel, and the device's."""
    x = ingot.device_put(np.zeros(1), clock.device)
    others = [ingot.device_put(np.zeros(1), clock.device) for _ in range(3)]
    function = ingot.jit(programs.add_one)

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < 1:
            x[i] += 1.0

    @cuda.jit
    def of_four(a, b, c, d):
        i = cuda.grid(1)
        if i < 1:
            a[i] = b[i] + c[i] + d[i]

    def waited() -> None:
        function(x)
        x.block_until_ready()

    def host(run: Callable[[], Any]) -> Callable[[], Row]:
        return lambda: clock.host(run, 1000)

    def configured(made: Any, *arguments: Any) -> Callable[[], Row]:
        with_grid = made[1, 32]
        return host(lambda: with_grid(*arguments))

    yield "a call that launches one kernel", host(lambda: function(x))
    yield "the same, waited for", host(waited)
    yield "a launch of cuda.jit", configured(kernel, x)
    yield "a launch of cuda.jit with four arrays", configured(of_four, x, *others)
    yield "a launch of cuda.jit with a grid of its own", host(lambda: kernel[1, 32](x))
    yield "the device's time of one launch", lambda: clock.measure(lambda: function(x))
    yield "x + 1 of an array of one element", host(lambda: x + 1)
    program = _built("tests/cpp/devices/launch_cost")
    if program is not None:
        yield from _launch_cost(program, clock)


def _built(path: str) -> Path | None:
    """A program next to the build that this package is of."""
    found = Path(ingot.__file__).absolute().parents[2] / path
    return found if found.exists() else None


def _launch_cost(program: Path, clock: Clock) -> Cases:
    done = subprocess.run([program, clock.device.kind], capture_output=True, text=True, timeout=120)
    if done.returncode and clock.device.kind == "emulated":
        return  # it knows the software device by the path that it was built with
    if done.returncode:
        yield "C++: a launch", lambda: {"failed": done.stdout.strip() or str(done.returncode)}
        return
    for line in done.stdout.splitlines():
        name, nanoseconds = line.rsplit(" ", 1)
        seconds = float(nanoseconds) * 1e-9
        yield f"C++: a launch, {name}", lambda seconds=seconds: {"min": seconds, "median": seconds}


def graphs(clock: Clock) -> Cases:
    """Replays: of launches, of products and of transforms; the host's seconds of one, and the device's."""
    side, n = (16, 32) if clock.quick else (512, 1 << 20)

    def chain(x: Any) -> None:
        for _ in range(200):
            one(x)

    one = ingot.jit(programs.add_one)
    given: dict[str, tuple[Any, Callable[[], tuple]]] = {
        "of 200 launches": (chain, lambda: (np.zeros(64),)),
        "of two products": (ingot.jit(programs.stepped), lambda: (*np.random.default_rng(1).random((2, side, side)), np.zeros((side, side)))),
        "of two transforms": (ingot.jit(programs.smoothed), lambda: (np.random.default_rng(1).random(n),)),
        "of a scan": (ingot.jit(programs.scan), lambda: (np.arange(n),)),
        "of a sort": (ingot.jit(programs.sort), lambda: (np.random.default_rng(1).random(max(n, 4096)),)),
    }
    for name, (function, make) in given.items():

        def replayed(measure: Callable, function: Any = function, make: Callable = make) -> Row:
            try:
                with clock.device:
                    graph = ingot.graph(function, *_there(make(), clock.device))
            except ingot.UnsupportedError as error:
                return {"left out": str(error).splitlines()[0]}  # the device has no library for it
            return measure(graph)

        yield f"the host's time of a replay {name}", lambda replayed=replayed: replayed(lambda graph: clock.host(graph, 100))
        yield f"the device's time of a replay {name}", lambda replayed=replayed: replayed(clock.measure)


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


def first_calls(clock: Clock) -> Cases:
    """Seconds in a fresh process: the import, the device's opening, the first and the second call; cold, and with what another process has compiled."""
    for name, count in (("add_one", 1), ("quadratic", 3), ("softmax", 1), ("product", 2), ("sort", 1), ("scan", 1), ("median", 1)):
        yield f"{name}, cold", lambda name=name, count=count: _first(clock, name, count, False)
        yield f"{name}, in a second process", lambda name=name, count=count: _first(clock, name, count, True)


def _first(clock: Clock, name: str, count: int, is_second: bool) -> Row:
    """The least of some processes, each with a cache on disk that is empty or, of a second one, has what the first one has left."""
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for k in range((1 if clock.quick else 2) + is_second):
            cache = Path(folder) / ("shared" if is_second else str(k))
            clean = {"INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(cache), "CUDA_CACHE_DISABLE": "1"}
            command = [sys.executable, "-c", FIRST, str(clock.device), name, str(count)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **clean})
            if done.returncode:
                return {"failed": (done.stdout + done.stderr).strip()[-400:]}
            rounds.append(json.loads(done.stdout))
    least = {key: min(r[key] for r in rounds[is_second:]) for key in rounds[0]}
    return {"min": least["first_s"], "median": least["first_s"], **least}


def copies(clock: Clock) -> Cases:
    """Bytes a second between the host and the device, of memory that is pinned and that is not."""
    n = (1 << 16 if clock.quick else 1 << 27) // 8
    with clock.device:
        there = cuda.device_array(n)
        stream = cuda.stream()
    for name, make in (("pageable", np.zeros), ("pinned", cuda.pinned_array)):
        for title, copied in (("host to device", there.copy_to_device), ("device to host", there.copy_to_host)):

            def one(make: Callable = make, copied: Callable = copied) -> Row:
                with clock.device:
                    host = make(n)
                host[:] = 1.0

                def waited() -> None:
                    copied(host)
                    clock.device.synchronize()

                times = clock.host(waited, 5)
                return {**times, "bytes": n * 8, "bytes_per_s": _rate(n * 8, times)}

            yield f"{title}, {name}", one
    yield "host to device, pinned, in a stream", lambda: _late(clock, there, stream, n)


def _late(clock: Clock, there: Any, stream: Any, n: int) -> Row:
    """Copies that the host does not wait for, by events in their stream."""
    with clock.device:
        host = cuda.pinned_array(n)
    host[:] = 1.0
    with stream:
        times = clock.measure(lambda: there.copy_to_device(host, stream=stream))
    return {**times, "bytes": n * 8, "bytes_per_s": _rate(n * 8, times)}


def toast(clock: Clock) -> Cases:
    """The kernels of `examples/toast`: nanoseconds of a detector-sample, on the device and on one core, and whether the bits are the same."""
    os.environ["INGOT_TOAST_DEVICE"] = str(clock.device)
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from bench import toast as kernels

    sys.path.insert(0, str(kernels.EXAMPLE))
    from ingot_toast import judged

    problem = kernels.problem(2, 60, 3, 16) if clock.quick else kernels.problem(8, 100_000, 50, 512)
    for title, (name, each, at, units) in kernels.calls(problem, judged).items():

        def one(name: str = name, each: list = each, at: int = at, units: int = units) -> Row:
            kernel = getattr(judged, name)
            held = {id(a): judged.to_device(a.copy()) for call in each for a in call if isinstance(a, np.ndarray)}
            there = [tuple(held[id(a)] if isinstance(a, np.ndarray) else a for a in call) for call in each]
            written = each[0][at].copy()
            own = [tuple(written if a is each[0][at] else a for a in call) for call in each]

            def on_device() -> None:
                for call in there:
                    kernel(*call)

            def on_cpu() -> None:
                for call in own:
                    kernel(*call)

            on_device()
            on_cpu()
            is_same = judged.to_host(there[0][at]).tobytes() == written.tobytes()
            times = clock.measure(on_device)
            before = ingot.get_num_threads()
            ingot.set_num_threads(1)
            start = time.perf_counter()
            on_cpu()
            cpu = time.perf_counter() - start
            ingot.set_num_threads(before)
            row = {**times, "units": units, "ns_per_unit": times["min"] / units * 1e9, "cpu_ns_per_unit": cpu / units * 1e9}
            return row if is_same else {**row, "failed": "the bits differ from the CPU's"}

        yield title, one


def tour(clock: Clock) -> Cases:
    """The programs of the tour, compared with what the CPU gives."""
    from ingot.tour.on_devices import run_on_device
    from ingot.tour.programs import PROGRAMS

    few = ("quadratic", "sum2d", "axpy", "jax_intro_where", "accumulate")
    for program in PROGRAMS:
        if not clock.quick or program.name.startswith(few):
            yield program.name, lambda program=program: run_on_device(program, clock.device, clock.device.kind != "gpu")


GROUPS: dict[str, Callable[[Clock], Cases]] = {
    **{name: of_programs(name) for name in programs.GROUPS},
    "launches": launches,
    "graphs": graphs,
    "first_calls": first_calls,
    "copies": copies,
    "toast": toast,
    "tour": tour,
}
