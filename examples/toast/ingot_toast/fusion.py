"""Operators of a pipeline as one function, which keeps what they hand on to each other in small temporaries.

The function goes through blocks of samples of a few detectors, and calls the kernels of all operators for each: plain
Python functions, whose calls are inlined when it is compiled. A kernel finds in a block what it finds in an
observation - rows, tables, intervals -, so it needs nothing for this.
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import ingot
import numpy as np

from . import dispatch, timing
from .data import Data, Observation
from .memory import HostBackend, here
from .operator import Argument, KernelOperator, Keys, Operator, as_keys, handed_on, keys_of, provided, required

log = logging.getLogger(__name__)
Part = tuple[str, int]
"""How an argument of a block is made - "rows", "table", "shared", "each", "intervals", "whole", "kept" - and of which temporary."""


@functools.cache
def fused(
    kernels: tuple[Callable, ...], plans: tuple[tuple[Part, ...], ...], kept: tuple[tuple[tuple[int, ...], str], ...], size: tuple[int, int]
) -> Callable:
    """The function of some kernels: `plans` says how the arguments of each are made, `kept` has shape and dtype of a
    sample of each temporary, `size` the samples and detectors of a block.
    """
    most_samples, most_detectors = size
    sizes = tuple(math.prod(shape) for shape, _ in kept)

    def part(how: Part, value: Any, block: tuple[int, int], some: tuple[int, int], span: dict, room: Any, own_rows: Any) -> Any:
        kind, number = how
        (start, samples), (first, detectors) = block, some
        if kind == "rows":
            return value[:, start : start + samples]
        if kind == "shared":
            return value[start : start + samples]
        if kind in ("table", "each"):
            return value[first : first + detectors]
        if kind == "intervals":
            return span
        if kind == "kept":
            shape = (detectors, samples, *kept[number][0])
            return room[number][: detectors * samples * sizes[number]].reshape(shape)
        return own_rows[:detectors] if kind == "own table" else value

    def step(number: int, rest: Callable) -> Callable:
        """Calls a kernel for a block, then the rest."""
        kernel, plan = kernels[number], plans[number]

        def call(arguments: tuple, block: Any, some: Any, span: dict, room: Any, own_rows: Any) -> None:
            kernel(*[part(how, value, block, some, span, room, own_rows) for how, value in zip(plan, arguments[number])])
            rest(arguments, block, some, span, room, own_rows)

        return call

    steps = functools.reduce(lambda rest, number: step(number, rest), reversed(range(len(kernels))), lambda *block: None)

    def run(n_detectors: int, first: np.ndarray, last: np.ndarray, arguments: tuple) -> None:
        room = tuple([np.empty(most_detectors * most_samples * size, dtype) for size, (_, dtype) in zip(sizes, kept)])
        own_rows = np.arange(most_detectors)
        span = {"first": np.zeros(1, np.int64), "last": np.zeros(1, np.int64)}
        for v in range(len(first)):
            for start in range(first[v], last[v], most_samples):
                block = (start, min(most_samples, last[v] - start))
                span["last"][0] = block[1]
                for d in range(0, n_detectors, most_detectors):
                    some = (d, min(most_detectors, n_detectors - d))
                    steps(arguments, block, some, span, room, own_rows)

    run.__name__ = run.__qualname__ = "_".join(kernel.__name__ for kernel in kernels)
    return ingot.jit(run)


class Fused(Operator):
    """Operators as one. What they only hand on to each other is never stored, but for keys of `keep`, and those that are there."""

    operators: list[KernelOperator] = []
    keep: list[str] = []

    def __init__(self, operators: Sequence[Any], **options: Any) -> None:
        options.setdefault("name", "+".join(op.name for op in operators))
        super().__init__(operators=list(operators), **options)
        self._kept: dict[str, tuple[tuple[int, ...], str]] | None = None

    def _handed_on(self) -> list[str]:
        """The detector data that the operators make for each other alone."""
        return [name for kind, name in handed_on(self.operators, self.keep) if kind == "detdata"]

    def requires(self) -> Keys:
        return required(self.operators)

    def provides(self) -> Keys:
        left_out = self._handed_on() if self._kept is None else self._kept
        return as_keys((kind, name) for kind, name in provided(self.operators) if kind != "detdata" or name not in left_out)

    def supports_accel(self) -> bool:
        return all(op.supports_accel() for op in self.operators)

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        names = [name for name in self._handed_on() if not data.buffers("detdata", name)]
        for op in self.operators:
            op._create(data, detectors)
        shapes = {name: data.buffers("detdata", name) for name in names}
        self._kept = {name: (found[0].shape[2:], found[0].dtype.name) for name, found in shapes.items() if found}
        for name in names:
            data.remove("detdata", name)

    def _plan(self, argument: Any, ob: Observation, detectors: list[str]) -> tuple[Part, Any]:
        """How an argument of a block is made, and of what."""
        assert self._kept is not None
        names = list(self._kept)
        if not isinstance(argument, Argument):
            return ("whole", 0), argument
        kind, value = argument.kind, argument.value
        if kind in ("rows", "table") and value in names:
            return ("kept" if kind == "rows" else "own table", names.index(value)), None
        if kind == "intervals" and value != self.operators[0].view:
            raise ValueError(f"{self.name} works on the intervals {self.operators[0].view!r}, but a kernel is given {value!r}")
        is_placeholder = kind == "rows" and value is None or kind == "shared" and not isinstance(value, str)
        return ("whole" if is_placeholder else kind, 0), None if kind == "intervals" else argument.of(ob, detectors)

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        assert self._kept is not None
        kernels, memory = tuple(op.plain_kernel() for op in self.operators), here().memory
        size = (HostBackend if memory is None else memory.backend).block_of_fused
        for ob in data.obs:
            chosen = ob.select(detectors, self.operators[0].det_mask)
            if not chosen:
                continue
            made = [[self._plan(a, ob, chosen) for a in op.arguments(data, ob, chosen)] for op in self.operators]
            plans = tuple(tuple(how for how, _ in arguments) for arguments in made)
            values = tuple(tuple(value for _, value in arguments) for arguments in made)
            spans = ob.intervals[self.operators[0].view].columns
            with timing.region("+".join(kernel.__name__ for kernel in kernels), "fused"):
                fused(kernels, plans, tuple(self._kept.values()), size)(len(chosen), spans["first"], spans["last"], values)

    def _finalize(self, data: Data) -> Any:
        return [op.finalize(data) for op in self.operators][-1]


def groups(operators: Sequence[Operator], device: dict[str, bool]) -> list[list[Operator]]:
    """Operators in groups that can be fused; the log says why a group ends. Those that `device` names stay alone."""
    found: list[list[Operator]] = []
    for op in operators:
        why = _why_not(found[-1], op, device) if found else ""
        if why:
            log.info("%s is not fused with %s: %s", op.name, found[-1][-1].name, why)
        if why or not found:
            found.append([])
        found[-1].append(op)
    return found


def _why_not(group: Sequence[Operator], op: Operator, device: dict[str, bool]) -> str:
    """Why an operator cannot come into a group; empty if it can."""
    for one in (group[-1], op):
        if not isinstance(one, KernelOperator):
            return f"{one.name} is no operator of a kernel"
        if not one.samplewise:
            return f"{one.name} does not treat each sample for itself"
        if one.name in device:
            return f"the pipeline says where {one.name} runs"
        if other := [name for name in map(dispatch.chosen, one.kernels()) if name != "ingot"]:
            return f"{one.name} runs as {other[0]!r}"
    for one in group:
        if any(getattr(one, name) != getattr(op, name) for name in ("view", "det_mask")):
            return f"{one.name} works on other intervals or detectors"
        for first, then in ((one, op), (op, one)):
            for kind, name in set(keys_of(first.provides())) & {*keys_of(then.requires()), *keys_of(then.provides())}:
                if kind != "detdata":
                    return f"{first.name} changes {kind} {name!r}, which {then.name} uses"
    return ""
