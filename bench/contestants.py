"""Makes the contestants of a workload: each a function of no arguments that runs it once and gives its result."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ingot
from ingot import _info

from . import native
from .workload import Workload

Run = Callable[[], Any]


@dataclass
class Machine:
    """What the contestants share: the number of threads, the libraries of C++, the peers that are there."""

    threads: int = 1
    peers: tuple[str, ...] = ()
    libraries: dict[str, native.Library] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


def open_machine(threads: int, wanted: tuple[str, ...] | None = None) -> Machine:
    """Finds the peers among `wanted` (all, if None) and compiles C++."""
    machine = Machine(threads)
    for peer in ("numba", "jax"):
        if wanted is not None and peer not in wanted:
            continue
        if importlib.util.find_spec(peer) is None:
            machine.absent[peer] = "not installed"
        else:
            machine.peers += (peer,)
    if wanted is None or "cpp" in wanted:
        if native.compiler() is None:
            machine.absent["cpp"] = "no g++"
        else:
            machine.libraries = {kind: native.Library(kind, threads) for kind in native.KINDS}
    if "jax" in machine.peers:
        import jax

        jax.config.update("jax_enable_x64", True)
    return machine


def describe(peers: tuple[str, ...]) -> dict[str, str]:
    """The day, the CPU and the versions, as figures must name them."""
    versions = {name: importlib.metadata.version(name) for name in ("numpy", *peers)}
    return {"date": time.strftime("%Y-%m-%d"), "cpu": _info.describe_cpu()["name"], "ingot": ingot.__version__, **versions}


def own_arguments(workload: Workload, arguments: tuple) -> tuple:
    """The arguments, with arrays of its own where the workload writes."""
    return tuple(np.copy(a) if i in workload.outputs else a for i, a in enumerate(arguments))


def _python(workload: Workload, function: Callable, arguments: tuple) -> Run:
    mine = own_arguments(workload, arguments)
    outputs = tuple(mine[i] for i in workload.outputs)

    def run() -> Any:
        result = function(*mine)
        return outputs if result is None else result

    return run


def _for_numba(function: Callable, parallel: bool) -> Callable:
    """The function compiled by Numba, which must find its own `prange` under that name, and callees compiled.

    Division by zero gives what NumPy gives, as it does for the elements of arrays everywhere else.
    """
    import numba

    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = names.get(name)
        if value is ingot.prange:
            names[name] = numba.prange
        elif isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            names[name] = numba.njit(value, error_model="numpy")
    copied = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copied.__module__ = function.__module__
    return numba.njit(copied, parallel=parallel, error_model="numpy")


def _for_jax(workload: Workload, arguments: tuple) -> Run:
    import jax

    assert workload.jax is not None
    function = workload.jax
    static = tuple(i for i, a in enumerate(arguments) if isinstance(a, int))
    compiled = jax.jit(lambda *a: function(jax, *a), static_argnums=static)
    there = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return lambda: jax.block_until_ready(compiled(*there))


def contestants(workload: Workload, machine: Machine, arguments: tuple) -> dict[str, Callable[[], Run]]:
    """By name, what makes each contestant ready; NumPy, which gives the reference, comes first."""
    made: dict[str, Callable[[], Run]] = {"numpy": lambda: _python(workload, workload.reference, arguments)}
    for form, function in workload.forms.items():
        for name, fastmath in ((form, False), (f"fast {form}", True)):
            made[f"ingot {name}"] = lambda function=function, fastmath=fastmath: _python(  # type: ignore[misc]
                workload, ingot.jit(function, fastmath=fastmath), arguments
            )
    if "numba" in machine.peers and "numba" not in workload.skipped:
        made["numba"] = lambda: _python(workload, _for_numba(workload.for_numba, False), arguments)
        if machine.threads > 1:
            made["numba parallel"] = lambda: _python(workload, _for_numba(workload.for_numba, True), arguments)
    if "jax" in machine.peers and workload.jax is not None and "jax" not in workload.skipped:
        made["jax"] = lambda: _for_jax(workload, arguments)
    if workload.cpp is not None:
        cpp = workload.cpp
        for kind, library in machine.libraries.items():
            made[f"c++ {kind}"] = lambda library=library: library.bind(cpp(*own_arguments(workload, arguments)))  # type: ignore[misc]
    if "strict" in machine.libraries:
        for name, call in workload.other_cpp.items():
            made[f"c++ {name}"] = lambda call=call: machine.libraries["strict"].bind(call(*own_arguments(workload, arguments)))  # type: ignore[misc]
    return made

