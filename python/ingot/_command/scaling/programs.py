"""Programs as data: what a rank computes and sends, as expressions in the number of ranks; and predictions of their times.

    name = "heat equation"
    [parameters]
    n = 16384
    [weak]
    n = "n * sqrt(p)"
    [[steps]]
    name = "points"
    bytes = "16 * n**2 / p"
"""

from __future__ import annotations

import ast
import json
import math
import operator
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .model import COLLECTIVES, Level, Machine, Piece, neighbours, powers

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {"sqrt": math.sqrt, "log2": math.log2, "ceil": math.ceil, "floor": math.floor, "min": min, "max": max}
Value = float | int | str
ANY = Machine(Level((Piece(math.inf, 1e-6, 1e-10),)), Level((Piece(math.inf, 1e-6, 1e-10),)), 64, 1e9, {1: 1e9})
"""A machine by which descriptions are tried."""


class WrongProgram(ValueError):
    """A description of a program, or an option of the command, that cannot be used; its text is for the user."""


def evaluated(expression: Value, names: Mapping[str, float]) -> float:
    """The value of a number, or of an expression of + - * / // % **, sqrt, log2, ceil, floor, min, max and names.

    Examples
    --------
    >>> evaluated("24 * n**2 / p", {"n": 10, "p": 4})
    600.0
    """

    def value(node: ast.AST) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return float(node.value)
        if isinstance(node, ast.Name):
            if node.id not in names:
                raise WrongProgram(f"{expression!r}: there is no {node.id!r}, but {', '.join(sorted(names))}")
            return float(names[node.id])
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.operand))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords:
            return float(FUNCTIONS[node.func.id](*map(value, node.args)))
        raise WrongProgram(f"{expression!r}: {ast.unparse(node)} is no number, name, + - * / // % ** or one of {', '.join(FUNCTIONS)}")

    try:
        found = value(ast.parse(str(expression).strip(), mode="eval").body)
    except (SyntaxError, TypeError, ValueError, ArithmeticError) as error:
        if isinstance(error, WrongProgram):
            raise
        raise WrongProgram(f"{expression!r}: {error}") from error
    if not isinstance(found, float) or not math.isfinite(found):
        raise WrongProgram(f"{expression!r} is {found}")
    return found


@dataclass(frozen=True)
class Step:
    """What a rank does, `times` times: it computes (the longest of `seconds`, `flops` and `bytes` of memory), or it sends.

    It sends `messages` to neighbours, or takes part in a `collective`, of `size` bytes each. What `overlap`s goes on while the program
    computes.
    """

    name: str
    times: Value = 1
    seconds: Value = 0
    flops: Value = 0
    bytes: Value = 0
    messages: Value = 0
    collective: str = ""
    size: Value = 0
    overlap: bool = False

    def cost(self, machine: Machine, p: int, names: Mapping[str, float]) -> float:
        of = {name: evaluated(getattr(self, name), names) for name in ("times", "seconds", "flops", "bytes", "messages", "size")}
        if negative := [name for name, value in of.items() if value < 0.0]:
            raise WrongProgram(f"step {self.name!r}: {negative[0]} is {of[negative[0]]:g} on {p} ranks")
        computing = max(of["seconds"], of["flops"] / machine.flops, of["bytes"] / machine.bandwidth(p))
        sending = neighbours(machine, p, of["messages"], of["size"])
        if self.collective:
            sending += COLLECTIVES[self.collective](machine, p, of["size"])
        return of["times"] * (computing + sending)

    @property
    def sends(self) -> bool:
        return bool(self.collective or self.messages)


@dataclass(frozen=True)
class Program:
    """A program; `weak` has the parameters that grow with the number of ranks p, as expressions."""

    name: str
    steps: Sequence[Step]
    about: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)
    weak: Mapping[str, Value] = field(default_factory=dict)

    def costs(self, machine: Machine, p: int, weak: bool = False) -> dict[str, float]:
        """The seconds of each step on p ranks; of what overlaps, those that computing does not hide."""
        names = {**self.parameters, "p": float(p)}
        if weak:
            names.update({name: evaluated(value, names) for name, value in self.weak.items()})
        found = {step.name: step.cost(machine, p, names) for step in self.steps}
        left = sum(found[step.name] for step in self.steps if not step.sends)
        for step in self.steps:
            if step.sends and step.overlap:
                hidden = min(left, found[step.name])
                left, found[step.name] = left - hidden, found[step.name] - hidden
        return found

    def with_parameters(self, given: Mapping[str, float]) -> Program:
        """Other values of some parameters; WrongProgram where there is none of a name."""
        chosen = {name: value for name, value in given.items() if name in self.parameters}
        return Program(self.name, self.steps, self.about, {**self.parameters, **chosen}, self.weak)


def program_of(given: Any, where: str) -> Program:
    """A program from what a file has; WrongProgram where something in it is wrong."""

    def wrong(why: str) -> WrongProgram:
        return WrongProgram(f"{where}: {why}")

    known = {"name", "about", "parameters", "weak", "steps"}
    if not isinstance(given, dict) or not isinstance(given.get("steps"), list) or not given["steps"]:
        raise wrong("a program has a list of [[steps]]")
    if others := sorted(given.keys() - known):
        raise wrong(f"{others[0]!r} is none of {', '.join(sorted(known))}")
    steps, fields = [], Step.__dataclass_fields__
    for each in given["steps"]:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            raise wrong("a step has a name")
        if others := sorted(each.keys() - fields.keys()):
            raise wrong(f"step {each['name']!r}: {others[0]!r} is none of {', '.join(fields)}")
        if each.get("collective") and each["collective"] not in COLLECTIVES:
            raise wrong(f"step {each['name']!r}: {each['collective']!r} is none of {', '.join(COLLECTIVES)}")
        steps.append(Step(**each))
    if len({step.name for step in steps}) < len(steps):
        raise wrong("two steps have one name")
    parameters, weak = given.get("parameters", {}), given.get("weak", {})
    for name, value in parameters.items():
        if type(value) not in (int, float):
            raise wrong(f"parameter {name!r} is {value!r}, no number")
    if others := sorted(weak.keys() - parameters.keys()):
        raise wrong(f"[weak] has {others[0]!r}, which is no parameter")
    program = Program(str(given.get("name", where)), steps, str(given.get("about", "")), parameters, weak)
    for p in (1, 4096):
        for grows in (False, True):
            try:
                program.costs(ANY, p, grows)
            except WrongProgram as error:
                raise wrong(f"{error}") from error
    return program


def read(file: str) -> Program:
    """A program from a file in TOML or JSON; WrongProgram where it cannot be read."""
    try:
        text = Path(file).read_text("utf-8")
        given = json.loads(text) if file.endswith(".json") else tomllib.loads(text)
    except OSError as error:
        raise WrongProgram(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise WrongProgram(f"{file}: {error}") from error
    return program_of(given, file)


@dataclass(frozen=True)
class Curve:
    """Predictions: ranks, and for each the seconds of each step, of a program of one size (strong), or one that grows (weak)."""

    ranks: list[int]
    strong: list[dict[str, float]]
    weak: list[dict[str, float]]

    def seconds(self, weak: bool) -> list[float]:
        return [sum(each.values()) for each in (self.weak if weak else self.strong)]

    def efficiency(self, weak: bool) -> list[float]:
        """T1 / (p Tp), or T1 / Tp of the weak one."""
        every = self.seconds(weak)
        return [every[0] / (seconds * (1 if weak else p)) for p, seconds in zip(self.ranks, every)]


def predicted(program: Program, machine: Machine, most: int) -> Curve:
    ranks = powers(most)
    strong, weak = ([program.costs(machine, p, grows) for p in ranks] for grows in (False, True))
    return Curve(ranks, strong, weak if program.weak else [])


def crossings(program: Program, curve: Curve) -> dict[str, int | None]:
    """For each step that sends, the first of the curve's numbers of ranks at which it takes longer than all computing; None: at none."""
    computing = [sum(at[step.name] for step in program.steps if not step.sends) for at in curve.strong]
    return {
        step.name: next((p for p, at, own in zip(curve.ranks, curve.strong, computing) if at[step.name] > own), None)
        for step in program.steps if step.sends
    }  # fmt: skip


HEAT: dict[str, Any] = {
    "name": "heat equation",
    "about": "a step on n x n points in blocks, halos sent while the inner points are computed",
    "parameters": {"n": 16384},
    "weak": {"n": "2048 * sqrt(p)"},
    "steps": [
        {"name": "points", "bytes": "16 * n**2 / p", "flops": "4 * n**2 / p"},
        {"name": "halos", "messages": "min(4, 2 * (sqrt(p) - 1))", "size": "8 * n / sqrt(p)", "overlap": True},
    ],
}
SATELLITE: dict[str, Any] = {
    "name": "satellite",
    "about": "the workflow of examples/toast, size medium, maps summed between owners of submaps",
    "parameters": {"samples": 51840000, "pixels": 786432, "seen": 0.68, "solver": 50, "ns_simulate": 900, "ns_weigh": 180, "ns_solver": 40},
    "weak": {"samples": "5040000 * p"},
    "steps": [
        {"name": "simulating", "seconds": "1e-9 * ns_simulate * samples / p"},
        {"name": "weighing", "seconds": "1e-9 * ns_weigh * samples / p"},
        {"name": "weighing's maps", "times": 6, "collective": "alltoall", "size": "28 * pixels * seen / p"},
        {"name": "solver's samples", "times": "solver", "seconds": "1e-9 * ns_solver * samples / p"},
        {"name": "solver's pixels", "times": "solver", "bytes": "(120 + 120 * min(1, p - 1)) * pixels * seen"},
        {"name": "solver's maps", "times": "2 * solver", "collective": "alltoall", "size": "24 * pixels * seen / p"},
        {"name": "solver's products", "times": "3 * solver", "collective": "allreduce", "size": 8},
    ],
}
PIECE = 196608
"""Pixels that an Allreduce of examples/toast sums at once."""
_DENSE = {
    "weighing's maps": {"times": f"ceil(pixels / {PIECE})", "collective": "allreduce", "size": f"56 * min(pixels, {PIECE})"},
    "solver's maps": {"times": f"solver * ceil(pixels / {PIECE})", "collective": "allreduce", "size": f"24 * min(pixels, {PIECE})"},
}
DENSE = {
    **SATELLITE,
    "name": "satellite, Allreduce",
    "about": "the same, maps summed by Allreduce of whole skies",
    "steps": [{"name": step["name"], **_DENSE.get(step["name"], step)} for step in SATELLITE["steps"]],
}
OWN = (HEAT, SATELLITE, DENSE)
"""Programs that are predicted where none is given."""
