"""The other contestants - Numba, JAX, C++ - made ready for a task, and their results compared with NumPy's."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot._devices.cpu import describe_cpu

from . import native
from .tasks import Task

Run = Callable[[], Any]
PEERS = ("numba", "jax", "cpp")


@dataclass
class Machine:
    """What contestants share: the number of threads, the peers that are there, the folders of C++."""

    threads: int = 1
    peers: tuple[str, ...] = ()
    absent: dict[str, str] = field(default_factory=dict)
    folders: Sequence[Path] = (native.SOURCES,)
    _libraries: dict[tuple[str, int], native.Library] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of C++: none where there is no compiler."""
        return tuple(native.KINDS) if "cpp" in self.peers else ()

    def library(self, kind: str, threads: int | None = None) -> native.Library:
        """C++ of a kind, compiled when it is first asked for."""
        key = kind, threads or self.threads
        if key not in self._libraries:
            self._libraries[key] = native.Library(*key, self.folders)
        return self._libraries[key]


def open_machine(threads: int, wanted: tuple[str, ...] | None = None, folders: Sequence[Path] = (native.SOURCES,)) -> Machine:
    """Finds the peers among `wanted` (all, if None)."""
    machine = Machine(threads, folders=folders)
    for peer in PEERS if wanted is None else wanted:
        if peer == "cpp" and native.compiler() is None:
            machine.absent[peer] = "no g++"
        elif peer != "cpp" and importlib.util.find_spec(peer) is None:
            machine.absent[peer] = "not installed"
        else:
            machine.peers += (peer,)
    if "jax" in machine.peers:
        import jax

        jax.config.update("jax_enable_x64", True)
    return machine


def describe(peers: tuple[str, ...]) -> dict[str, str]:
    """The day, the CPU and the versions, as figures must name them."""
    versions = {name: importlib.metadata.version(name) for name in ("numpy", *peers) if name != "cpp"}
    return {"date": time.strftime("%Y-%m-%d"), "cpu": describe_cpu()["name"], "ingot": ingot.__version__, **versions}


def for_numba(function: Callable[..., Any], parallel: bool) -> Callable[..., Any]:
    """The function compiled by Numba, which must find its own `prange` under that name, and callees compiled.

    Division by zero gives what NumPy gives, as it does for the elements of arrays everywhere else.
    """
    import numba

    names = dict(function.__globals__)
    changed = False
    for name in function.__code__.co_names:
        value = names.get(name)
        if value is ingot.prange:
            names[name], changed = numba.prange, True
        elif isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            names[name], changed = numba.njit(value, error_model="numpy"), True
    if changed:
        copied = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        copied.__module__ = function.__module__
        function = copied
    return numba.njit(function, parallel=parallel, error_model="numpy")


def for_jax(task: Task, arguments: tuple[Any, ...]) -> Run:
    """The task under JAX, with its arguments where JAX wants them."""
    import jax

    assert task.jax is not None
    function = task.jax
    static = tuple(i for i, a in enumerate(arguments) if isinstance(a, int))
    compiled = jax.jit(lambda *a: function(jax, *a), static_argnums=static)
    there = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return lambda: jax.block_until_ready(compiled(*there))


def in_python(task: Task, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Run:
    """A function that takes Python's arguments; its result, or what it has written."""
    outputs = tuple(arguments[i] for i in task.outputs)

    def run() -> Any:
        result = function(*arguments)
        return outputs if result is None else result

    return run


def flat(result: Any) -> list[np.ndarray]:
    """The parts of a result, each as one row of elements."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [np.asarray(p).reshape(-1) for p in parts]


def difference(result: Any, expected: Any, bound: float) -> str | None:
    """None, or in words how a result differs from NumPy's by more than `bound` of the largest element."""
    got, wanted = flat(result), flat(expected)
    if [g.shape for g in got] != [w.shape for w in wanted]:
        return f"shapes {[g.shape for g in got]} for {[w.shape for w in wanted]}"
    for g, w in zip(got, wanted):
        if not w.size:
            continue
        if w.dtype == np.bool:
            g, w = g.astype(np.int8), w.astype(np.int8)
        error = np.max(np.abs(g - w))
        scale = max(float(np.max(np.abs(w))), 1e-300)
        if not error <= bound * scale:
            return f"differs by {float(error) / scale:.1e}, allowed {bound:.1e}"
    return None
