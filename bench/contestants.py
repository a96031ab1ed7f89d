"""Makes the contestants of a workload: each a function of no arguments that runs it once and gives its result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import ingot
from ingot.tour import native
from ingot.tour.peers import Machine, Run, for_jax, for_numba, in_python

from .workload import Workload

CPP = (native.SOURCES, Path(__file__).resolve().parent / "cpp")
"""The folders of C++: the tour's and the benchmarks'."""


def own_arguments(workload: Workload, arguments: tuple) -> tuple:
    """The arguments, with arrays of its own where the workload writes."""
    return tuple(np.copy(a) if i in workload.outputs else a for i, a in enumerate(arguments))


def _python(workload: Workload, function: Callable, arguments: tuple) -> Run:
    return in_python(workload, function, own_arguments(workload, arguments))


def contestants(workload: Workload, machine: Machine, arguments: tuple) -> dict[str, Callable[[], Run]]:
    """By name, what makes each contestant ready; NumPy, which gives the reference, comes first."""
    made: dict[str, Callable[[], Run]] = {"numpy": lambda: _python(workload, workload.reference, arguments)}
    for form, function in workload.forms.items():
        for name, fastmath in ((form, False), (f"fast {form}", True)):
            made[f"ingot {name}"] = lambda function=function, fastmath=fastmath: _python(  # type: ignore[misc]
                workload, ingot.jit(function, fastmath=fastmath), arguments
            )
    if "numba" in machine.peers and "numba" not in workload.skipped:
        made["numba"] = lambda: _python(workload, for_numba(workload.for_numba, False), arguments)
        if machine.threads > 1:
            made["numba parallel"] = lambda: _python(workload, for_numba(workload.for_numba, True), arguments)
    if "jax" in machine.peers and workload.jax is not None and "jax" not in workload.skipped:
        made["jax"] = lambda: for_jax(workload, arguments)
    if workload.cpp is not None:
        cpp = workload.cpp
        for kind in machine.kinds:
            made[f"c++ {kind}"] = lambda kind=kind: machine.library(kind).bind(cpp(*own_arguments(workload, arguments)))  # type: ignore[misc]
    if machine.kinds:
        for name, call in workload.other_cpp.items():
            made[f"c++ {name}"] = lambda call=call: machine.library("strict").bind(call(*own_arguments(workload, arguments)))  # type: ignore[misc]
    return made
