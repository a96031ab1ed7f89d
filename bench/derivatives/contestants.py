"""Makes the contestants of a program: each a pair of functions of no arguments, for the value and for the derivative."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import ingot
from ingot.tour.peers import Machine, Run, open_machine

from .program import Program

Pair = tuple[Run, Run]
Binder = Callable[..., Pair]
"""Takes the arguments; with `ahead`, all is compiled before the first call of what it gives."""
CPP = (Path(__file__).resolve().parent / "cpp",)


def machine_of(threads: int, peers: list[str] | None = None) -> Machine:
    """The machine with the peers that have derivatives, those named or all."""
    machine = open_machine(threads, tuple(p for p in ("jax", "cpp") if peers is None or p in peers), CPP)
    if peers is None or "autograd" in peers:
        if importlib.util.find_spec("autograd") is None:
            machine.absent["autograd"] = "not installed"
        else:
            machine.peers += ("autograd",)
    return machine


def _ingot(program: Program, function: Callable) -> Binder:
    value = ingot.jit(program.value(ingot, function))
    derivative = program.derivative(ingot, function)

    def bind(arguments: tuple, ahead: bool = False) -> Pair:
        taken = program.taken(arguments)
        if ahead:
            derivative(*program.arguments(True))
        return lambda: value(*taken), lambda: derivative(*arguments)

    return bind


def _jax(program: Program, make: Callable[[Any], Callable]) -> Binder:
    import jax

    function = make(jax)

    def bind(arguments: tuple, ahead: bool = False) -> Pair:
        static = tuple(i for i, a in enumerate(arguments) if isinstance(a, int))
        there = tuple(jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments)
        taken = program.taken(there)
        value = jax.jit(program.value(jax, function), static_argnums=static)
        derivative = jax.jit(program.derivative(jax, function), static_argnums=static)
        if ahead:
            derivative = derivative.lower(*there).compile()
            there = tuple(a for i, a in enumerate(there) if i not in static)
        return lambda: jax.block_until_ready(value(*taken)), lambda: jax.block_until_ready(derivative(*there))

    return bind


def _autograd(program: Program) -> Binder:
    import autograd
    import autograd.numpy as numpy

    assert program.autograd is not None
    function = program.autograd(numpy)
    module = SimpleNamespace(grad=autograd.grad, jacrev=autograd.jacobian, make_hvp=autograd.make_hvp)
    derivative = program.derivative(module, function)

    def bind(arguments: tuple, ahead: bool = False) -> Pair:
        taken = program.taken(arguments)
        return lambda: function(*taken), lambda: derivative(*arguments)

    return bind


def _cpp(machine: Machine, calls: Callable) -> Binder:
    library = machine.library("strict")

    def bind(arguments: tuple, ahead: bool = False) -> Pair:
        value, derivative = calls(*arguments)
        return library.bind(value), library.bind(derivative)

    return bind


def contestants(program: Program, machine: Machine) -> dict[str, Callable[[], Binder]]:
    """By name, what makes each contestant; JAX, which gives the reference, comes first."""
    made: dict[str, Callable[[], Binder]] = {}
    if "jax" in machine.peers:
        for name, form in program.jax.items():
            made[name] = lambda form=form: _jax(program, form)  # type: ignore[misc]
    for name, function in program.forms.items():
        made[f"ingot {name}"] = lambda function=function: _ingot(program, function)  # type: ignore[misc]
    if "cpp" in machine.peers:
        for name, calls in program.cpp.items():
            made[name] = lambda calls=calls: _cpp(machine, calls)  # type: ignore[misc]
    if "autograd" in machine.peers and program.autograd is not None:
        made["autograd"] = lambda: _autograd(program)
    return made
