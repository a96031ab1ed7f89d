"""What does not depend on sizes: first calls in fresh processes, imports, and the overhead of calls."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot.tour.peers import Machine

# Each is a script that makes the arguments, imports the compiler, and prints the seconds of the first call.
FIRST_CALL = """
import time
import numpy as np
{set_up}
from bench import calls
arguments = calls.first_arguments({program!r})
function = calls.first_function({program!r}, {peer!r})
if {peer!r} == "drjit":
    arguments = [drjit.llvm.Float64(a) for a in arguments]
start = time.{clock}()
{compile}
print(time.{clock}() - start)
"""
SET_UP = {
    "ingot": "import ingot",
    "numba": "import numba",
    "jax": "import jax; jax.config.update('jax_enable_x64', True); jax.numpy.zeros(1).block_until_ready()",
    "drjit": "import drjit, drjit.llvm",
}
COMPILE = {
    "ingot": "ingot.jit(function)(*arguments)",
    "numba": "numba.njit(function)(*arguments)",
    "jax": "jax.block_until_ready(jax.jit(function, static_argnums=calls.static(arguments))(*arguments))",
    "drjit": "drjit.eval(function(*arguments))",
}
LLVM = "/usr/lib/llvm-19/lib/libLLVM.so.1"  # for Dr.Jit, which brings none
PROGRAMS = ("add_one", "quadratic", "kuramoto")
IMPORT = "import time; import numpy; start = time.process_time(); import {module}; print(time.process_time() - start)"
IMPORTS = {"ingot": "ingot", "ingot.jit": "ingot; ingot.jit(lambda x: x)"}  # the second with what a decorator loads
IMPORT_NUMPY = "import time; start = time.process_time(); import numpy; print(time.process_time() - start)"


def add_one(x):
    return x + 1.0


def add_into(x, y, out):
    out[0] = x[0] + y[0]


def add_three(x, y, z):
    return x + y + z


def double_into(x, out):
    for i in range(len(x)):
        out[i] = 2 * x[i]


def quadratic_in_drjit(a, b, c):
    import drjit

    return (-b + drjit.sqrt(b * b - 4 * a * c)) / (2 * a)


def sum_of_ten(d):
    return d["a"][0] + d["b"][0] + d["c"][0] + d["d"][0] + d["e"][0] + d["f"][0] + d["g"][0] + d["h"][0] + d["i"][0] + d["j"][0]


class Springs:
    """What a method finds in its instance: two arrays and a number."""

    def __init__(self) -> None:
        self.lengths, self.rest, self.stiffness = np.ones(1), np.ones(1), 2.0

    def pull_into(self, out):
        out[0] = (self.lengths[0] - self.rest[0]) * self.stiffness

    compiled = ingot.jit(pull_into)


class Counter:
    """What a method changes in its instance, what it calls, and what it prints."""

    def __init__(self) -> None:
        self.count, self.total, self.last = 0, 0.0, [0.0, 0.0]

    def add(self, x):
        self.count += 1
        self.total += x
        self.last[1] = x
        return self.total

    compiled = ingot.jit(add)


@ingot.host(result=float)
def next_up(x):
    return math.nextafter(x, math.inf)


def stepped(x):
    return next_up(x) + 1.0


def shown(k, x, out):
    for i in range(100):
        print("step", k + i, f"{x:.3f}")
    out[0] = x


def scale_into(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2.0


def of_ten_variables():
    """A function of ten variables of the function around it, each of which is guarded."""
    a, b, c, d, e, f, g, h, i, j = map(float, range(10))

    def total(x, out):
        out[0] = x[0] + a + b + c + d + e + f + g + h + i + j

    return total


def first_arguments(program: str) -> tuple:
    """The arguments of a first call: small, so that the compiler's work is what is measured."""
    from .workloads import bodies, streams

    if program == "add_one":
        return (np.arange(10.0),)
    return (streams.QUADRATIC if program == "quadratic" else bodies.KURAMOTO).arguments(True)


def first_function(program: str, peer: str) -> Callable:
    """What a compiler is given for a first call."""
    from .workloads import bodies, streams

    if program == "add_one":
        return add_one
    if peer == "drjit":
        return quadratic_in_drjit
    workload = streams.QUADRATIC if program == "quadratic" else bodies.KURAMOTO
    if peer != "jax":
        return workload.forms["array" if program == "quadratic" else "original"]
    import jax

    assert workload.jax is not None
    function = workload.jax
    return lambda *arguments: function(jax, *arguments)


def static(arguments: tuple) -> tuple[int, ...]:
    """The arguments that JAX takes as constants."""
    return tuple(i for i, a in enumerate(arguments) if isinstance(a, int))


def fresh_peers(program: str, machine: Machine) -> list[str]:
    """Those that compile a program: Dr.Jit, where it is installed, has no form of the loops of `kuramoto`."""
    peers = ["ingot", *(peer for peer in machine.peers if peer in SET_UP)]
    return peers + ["drjit"] * (program != "kuramoto" and importlib.util.find_spec("drjit") is not None)


def fresh(script: str, variables: dict[str, str] | None = None) -> float | str:
    """The number that a script prints in a process of its own, or the last line of its error. `variables`: of its environment.

    Bytecode is kept between processes, as it is where packages are installed.
    """
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / f"ingot-bench-{os.getuid()}")}
    environment |= {"DRJIT_LIBLLVM_PATH": LLVM, "INGOT_TIERS": "on"} | (variables or {})
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return float(done.stdout)


def _rounds(scripts: dict[str, str], rounds: int) -> dict[str, Any]:
    """Runs the scripts alternately; the seconds of each, or why it failed."""
    seconds: dict[str, list[float]] = {name: [] for name in scripts}
    failed: dict[str, str] = {}
    for _ in range(rounds):
        for name, script in scripts.items():
            with tempfile.TemporaryDirectory() as home:  # where Dr.Jit has its cache
                outcome = fresh(script, {"INGOT_CACHE": "off", "HOME": home})
            if isinstance(outcome, str):
                failed[name] = outcome
            else:
                seconds[name].append(outcome)
    return {n: failed.get(n) or {"min": min(s), "median": statistics.median(s)} for n, s in seconds.items()}


def first_calls(machine: Machine, rounds: int, small: bool, clock: str) -> dict[str, dict]:
    """Seconds of first calls, by program and compiler: those that a user waits, or those of all threads."""
    clock = {"wall": "perf_counter", "cpu": "process_time"}[clock]
    tables = {}
    for program in PROGRAMS[:1] if small else PROGRAMS:
        scripts = {
            peer: FIRST_CALL.format(program=program, peer=peer, set_up=SET_UP[peer], compile=COMPILE[peer], clock=clock)
            for peer in fresh_peers(program, machine)
        }
        tables[f"first call: {program}"] = _rounds(scripts, rounds)
    tables["first call: programs over arrays"] = _of_programs(small, clock)
    return tables


OF_PROGRAM = """
import time
import warnings
import numpy as np
import ingot
from bench.programs import PROGRAMS
program = PROGRAMS[{name!r}]
arguments = program.arguments(True)
warnings.simplefilter("ignore")
np.seterr(all="ignore")
start = time.{clock}()
ingot.jit(program.function)(*arguments)
print(time.{clock}() - start)
"""


def _of_programs(small: bool, clock: str) -> dict[str, Any]:
    """The first calls of the programs over arrays under Ingot, each in a process of its own: of all of them the median, and the longest."""
    from .programs import PROGRAMS as OVER_ARRAYS

    names = list(OVER_ARRAYS)[: 2 if small else None]
    outcomes = {name: fresh(OF_PROGRAM.format(name=name, clock=clock), {"INGOT_CACHE": "off"}) for name in names}
    seconds = {name: outcome for name, outcome in outcomes.items() if not isinstance(outcome, str)}
    table: dict[str, Any] = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, str)}
    if seconds:
        table["ingot"] = {"min": min(seconds.values()), "median": statistics.median(seconds.values())}
        longest = max(seconds, key=lambda name: seconds[name])
        table[f"ingot, {longest}"] = {"min": seconds[longest], "median": seconds[longest]}
    return table


def imports(machine: Machine, rounds: int) -> dict[str, dict]:
    """CPU seconds of imports; those of the compilers after NumPy's."""
    modules = IMPORTS | {name: name for name in machine.peers if name in SET_UP}
    scripts = {"numpy": IMPORT_NUMPY} | {name: IMPORT.format(module=module) for name, module in modules.items()}
    return {"import": _rounds(scripts, rounds)}


def _overhead(calls: dict[str, tuple[Callable, tuple]], rounds: int, small: bool) -> dict[str, Any]:
    timers, table = {}, {}
    for name, (function, arguments) in calls.items():
        try:
            function(*arguments)
        except Exception as error:
            table[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
            continue
        passed = ", ".join(f"a{i}" for i in range(len(arguments)))
        names = {f"a{i}": a for i, a in enumerate(arguments)} | {"function": function}
        timers[name] = timeit.Timer(f"function({passed})", globals=names)
    count = 100 if small else 20_000
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            seconds[name].append(timer.timeit(count) / count)
    return table | {n: {"min": min(s), "median": statistics.median(s)} for n, s in seconds.items()}


def overheads(machine: Machine, rounds: int, small: bool) -> dict[str, dict]:
    """Seconds of one call with arrays of one element: output given, output new, a dict of ten, a method, ten captured variables;
    of calls that change an instance, call a function of Python's and print; of loops over 1000 elements that overlap those written, and
    over every second one; and of a generalised ufunc with 1000 rows of 8 elements."""
    x, y, z = np.ones(1), np.ones(1), np.ones(1)
    ten = {name: np.ones(1) for name in "abcdefghij"}
    given: dict = {"numpy": (np.add, (x, y, z)), "ingot": (ingot.jit(add_into), (x, y, z))}
    new: dict = {"numpy": (add_three, (x, y, z)), "ingot": (ingot.jit(add_three), (x, y, z))}
    tree: dict = {"numpy": (sum_of_ten, (ten,)), "ingot": (ingot.jit(sum_of_ten), (ten,))}
    springs = Springs()
    method: dict = {"python": (springs.pull_into, (z,)), "ingot": (springs.compiled, (z,))}
    captured: dict = {"python": (of_ten_variables(), (x, z)), "ingot": (ingot.jit(of_ten_variables()), (x, z))}
    rows, doubled = np.ones((1000, 8)), np.empty((1000, 8))
    over_rows = "(float64[:], float64[:])", "(n)->(n)"
    gufunc: dict = {"numpy": (np.multiply, (rows, 2.0, doubled)), "ingot": (ingot.guvectorize(*over_rows)(double_into), (rows, doubled))}
    counter = Counter()
    changing: dict = {"python": (counter.add, (1.0,)), "ingot": (counter.compiled, (1.0,))}
    outward: dict = {"python": (stepped, (1.0,)), "ingot": (ingot.jit(stepped), (1.0,))}
    printing: dict = {"python": (_unseen(shown), (1, 0.5, z)), "ingot": (_unseen(ingot.jit(shown)), (1, 0.5, z))}
    memory = np.ones(2000)
    places = {"one array": (memory[:1000], memory[:1000]), "a later part": (memory[1:1001], memory[:1000]), "strided": (memory[::2], memory[1::2])}
    loops: dict = {name: {"numpy": (np.multiply, (a, 2.0, b)), "ingot": (ingot.jit(scale_into), (a, b))} for name, (a, b) in places.items()}
    if "numba" in machine.peers:
        import numba

        for name, (a, b) in places.items():
            loops[name]["numba"] = numba.njit(scale_into), (a, b)
        gufunc["numba"] = numba.guvectorize([over_rows[0]], over_rows[1])(double_into), (rows, doubled)
        given["numba"] = numba.njit(add_into), (x, y, z)
        new["numba"] = numba.njit(add_three), (x, y, z)
        tree["numba"] = numba.njit(sum_of_ten), (ten,)
        captured["numba"] = numba.njit(of_ten_variables()), (x, z)
    if "jax" in machine.peers:
        import jax

        there = tuple(jax.numpy.ones(1) for _ in range(3))
        new["jax"] = jax.jit(add_three), there
        tree["jax"] = jax.jit(sum_of_ten), ({n: jax.numpy.ones(1) for n in ten},)
    calls = {
        "call, output given": given,
        "call, new output": new,
        "call, dict of 10 arrays": tree,
        "call, method": method,
        "call, 10 captured variables": captured,
        "call, method that changes its instance": changing,
        "call, host function": outward,
        "call, 100 prints": printing,
        "call, guvectorize of 1000 rows": gufunc,
    } | {f"call, loop over 1000 elements, {name}": loop for name, loop in loops.items()}
    return {name: _overhead(c, rounds, small) for name, c in calls.items()}


def _unseen(function: Callable) -> Callable:
    """The function, whose prints are thrown away."""
    nowhere = open(os.devnull, "w")  # noqa: SIM115

    def call(*arguments: Any) -> None:
        with contextlib.redirect_stdout(nowhere):
            function(*arguments)

    return call


def profiles(rounds: int, small: bool) -> dict[str, dict]:
    """Seconds of one call, or of an empty `with`, while `ingot.profile` is off and on, alternately; `plain` is what has no profile."""

    def nothing() -> None:
        pass

    class Thing:
        def plain(self) -> None:
            pass

        counted = ingot.profile(plain)

    def steps() -> Iterator[int]:
        yield from range(100)

    x, thing = np.ones(1), Thing()
    compiled, region = ingot.jit(add_into), ingot.profile("region")
    names = {"plain": nothing, "counted": ingot.profile(nothing), "thing": thing, "compiled": compiled, "x": x, "region": region}
    names |= {"also": ingot.profile(ingot.jit(add_into)), "ingot": ingot, "steps": steps, "counted_steps": ingot.profile(steps)}
    compiled(x, x, x)
    names["also"](x, x, x)
    statements = {
        "profile, function": ("plain()", "counted()", 1),
        "profile, method": ("thing.plain()", "thing.counted()", 1),
        "profile, compiled call": (None, "compiled(x, x, x)", 1),
        "profile, decorated compiled call": (None, "also(x, x, x)", 1),
        "profile, with a region": ("pass", "with region: pass", 1),
        "profile, with a name": ("pass", "with ingot.profile('name'): pass", 1),
        "profile, step of a generator": ("for _ in steps(): pass", "for _ in counted_steps(): pass", 100),
    }
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in statements}
    was_on, count = ingot.profile.is_on, 50 if small else 5000
    for _ in range(rounds):
        for state, switch in (("off", ingot.profile.stop), ("on", ingot.profile.start)):
            switch()
            for name, (plain, statement, steps_of) in statements.items():
                for what, text in (("plain", plain), (state, statement)):
                    if text is not None:
                        times = -(-count // steps_of)
                        took = timeit.timeit(text, globals=names, number=times) / times / steps_of
                        seconds[name].setdefault(what, []).append(took)
    (ingot.profile.start if was_on else ingot.profile.stop)()
    return {name: {what: {"min": min(s), "median": statistics.median(s)} for what, s in of.items()} for name, of in seconds.items()}
