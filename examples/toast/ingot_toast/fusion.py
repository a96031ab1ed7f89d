"""Operators of a pipeline as one function, which keeps what they pass on to each other in small temporaries.

The function goes through blocks of samples of a few detectors, and calls the kernels of all operators for each: plain
Python functions, whose calls are inlined when it is compiled. A kernel finds in a block what it finds in an
observation - rows, tables, intervals -, so it needs nothing for this.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any

import ingot
import numpy as np

from . import dispatch
from .data import Data, Observation
from .memory import HostBackend, here
from .operator import Argument, Flow, KernelOperator, Keys, Operator, as_keys, keys_of

log = logging.getLogger(__name__)
Part = tuple[str, int]
"""How an argument of a block is made: "rows", "shared", "intervals" and "kept" are parts of arrays or temporaries, all else is
whole. The number is that of the temporary; of arrays it is the length of a short last axis, below 0 where they are read-only."""


def temporary(shape: tuple[int, ...], dtype: str) -> Callable:
    """The function that makes a temporary for so many detectors and samples."""
    if len(shape) == 1:  # component by component: samples are contiguous, as lanes want them
        return lambda detectors, samples: np.empty((*shape, detectors, samples), dtype).T.swapaxes(0, 1)
    return lambda detectors, samples: np.empty((detectors, samples, *shape), dtype)


def part_of(kind: str, number: int) -> Callable:
    """The function that makes an argument of a block: of the value, the first sample, their number, and the temporaries."""

    def as_it_is(value: Any) -> Any:
        return value

    def of_short_axis(value: Any) -> Any:  # whose length the compiler knows then
        return value.reshape(*value.shape[:-1], abs(number))

    def of_short_axis_read(value: Any) -> Any:
        return np.broadcast_to(of_short_axis(value), (*value.shape[:-1], abs(number)))

    known = as_it_is if not number else of_short_axis if number > 0 else of_short_axis_read
    if kind == "kept":
        return lambda value, start, samples, temporaries: temporaries[number]
    if kind == "intervals":
        return lambda value, start, samples, temporaries: {"first": np.array([0]), "last": np.array([samples])}
    if kind == "rows":
        return lambda value, start, samples, temporaries: known(value)[:, start : start + samples]
    if kind == "shared":
        return lambda value, start, samples, temporaries: known(value)[start : start + samples]
    return lambda value, start, samples, temporaries: known(value)


def step(kernel: Callable, plan: tuple[Part, ...], number: int, rest: Callable) -> Callable:
    """The function that calls a kernel for a block, then the rest."""
    parts = tuple(part_of(*how) for how in plan)

    def call(arguments: tuple, *block: Any) -> None:
        kernel(*[part(value, *block) for part, value in zip(parts, arguments[number])])
        rest(arguments, *block)

    return call


@functools.cache
def fused(kernels: tuple[Callable, ...], plans: tuple[tuple[Part, ...], ...], kept: tuple[tuple[tuple[int, ...], str], ...]) -> Callable:
    """The function of some kernels: `plans` has how the arguments of each are made, `kept` has shape and dtype of a
    sample of each temporary.
    """
    makers = tuple(temporary(*of_sample) for of_sample in kept)
    steps: Callable = lambda *block: None  # noqa: E731
    for number in reversed(range(len(kernels))):
        steps = step(kernels[number], plans[number], number, steps)

    def run(detectors: int, most: int, first: np.ndarray, last: np.ndarray, arguments: tuple) -> None:
        for v in range(len(first)):
            for start in range(first[v], last[v], most):
                samples = min(most, max(last[v] - start, 0))
                temporaries = tuple([made(detectors, samples) for made in makers])
                steps(arguments, start, samples, temporaries)

    names = [kernel.__name__ for kernel in kernels]
    run.__name__ = run.__qualname__ = "_".join(names)
    return ingot.profile("+".join(names), implementation="fused")(ingot.jit(run))


class Fused(Operator):
    """Operators as one. What they only pass on to each other is never stored, but for keys of `keep`, and those that are there."""

    operators: list[KernelOperator] = []
    keep: list[str] = []

    def __init__(self, operators: Sequence[Any], **options: Any) -> None:
        options.setdefault("name", "+".join(op.name for op in operators))
        super().__init__(operators=list(operators), **options)
        self._kept: dict[str, tuple[tuple[int, ...], str]] | None = None
        self._stored: set[str] = set()

    def _handed_on(self) -> list[str]:
        """The detector data that the operators make for each other alone."""
        return [name for kind, name in Flow(self.operators, self.keep).handed_on if kind == "detdata"]

    def requires(self) -> Keys:
        return Flow(self.operators).required

    def provides(self) -> Keys:
        left_out = self._handed_on() if self._kept is None else self._kept
        return as_keys((kind, name) for kind, name in Flow(self.operators).provided if kind != "detdata" or name not in left_out)

    def supports_accel(self) -> bool:
        return all(op.supports_accel() for op in self.operators)

    def kernels(self) -> list[str]:
        return [kernel for op in self.operators for kernel in op.kernels()]

    def _is_one(self) -> bool:
        """Whether it runs as one function: another implementation may have been chosen since it was made."""
        return all(dispatch.chosen(kernel) == "ingot" for kernel in self.kernels())

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        names = [name for name in self._handed_on() if name in self._stored or not data.buffers("detdata", name)]
        self._stored = set() if self._is_one() else set(names)
        for op in self.operators:
            op._create(data, detectors)
        names = [name for name in names if name not in self._stored]
        shapes = {name: data.buffers("detdata", name) for name in names}
        self._kept = {name: (found[0].shape[2:], found[0].dtype.name) for name, found in shapes.items() if found}
        for name in names:
            data.remove("detdata", name)

    def _plan(self, argument: Any, ob: Observation, detectors: list[str]) -> tuple[Part, Any]:
        """How an argument of a block is made, and of what."""
        assert self._kept is not None
        names, own = list(self._kept), self.operators[0].view
        if not isinstance(argument, Argument):
            if not np.isscalar(argument) and argument is not None:
                kind = type(argument).__name__
                raise TypeError(f"{self.name} gives a kernel a plain {kind}: `shared`, `each` or `whole` name the part of it that is a block's")
            return ("whole", 0), argument
        kind, value = argument.kind, argument.value
        if kind in ("rows", "table") and value in names:
            return ("kept", names.index(value)) if kind == "rows" else ("whole", 0), np.arange(len(detectors), dtype=np.int32)
        if kind == "intervals" and value != own:
            raise ValueError(f"{self.name} works on the intervals {own!r}, but a kernel is given {value!r}")
        is_cut = kind == "intervals" or kind in ("rows", "shared") and isinstance(value, str)
        found: Any = None if kind == "intervals" else argument.of(ob, detectors)
        short = found.shape[-1] if np.ndim(found) > 1 + (kind == "rows") and found.shape[-1] <= 16 else 0
        return (kind if is_cut else "whole", short if not short or found.flags.writeable else -short), found

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        assert self._kept is not None
        if not self._is_one():
            for op in self.operators:
                op._exec(data, detectors)
            self._drop_stored(data)
            return
        kernels, memory = tuple(op.plain_kernel() for op in self.operators), here().memory
        most_detectors, most_samples = (HostBackend if memory is None else memory.backend).block_of_fused
        for ob in data.obs:
            spans, chosen = ob.intervals[self.operators[0].view].data, ob.select(detectors, self.operators[0].det_mask)
            seen = spans["last"] > spans["first"]
            if chosen and seen.any() and (spans["first"][seen].min() < 0 or spans["last"][seen].max() > ob.n_samples):
                raise IndexError(f"intervals {self.operators[0].view!r} reach beyond the {ob.n_samples} samples of {ob.name}")
            longest = int(max(spans["last"] - spans["first"], default=0))
            for start in range(0, len(chosen), most_detectors):
                some = chosen[start : start + most_detectors]
                most = max(1, min(longest, most_samples // len(some)))
                made = [[self._plan(a, ob, some) for a in op.arguments(data, ob, some)] for op in self.operators]
                plans, values = (tuple(tuple(pair[i] for pair in arguments) for arguments in made) for i in (0, 1))
                fused(kernels, plans, tuple(self._kept.values()))(len(some), most, spans["first"], spans["last"], values)

    def _finalize(self, data: Data) -> Any:
        return [op.finalize(data) for op in self.operators][-1]

    def _abandon(self, data: Data) -> None:
        self._drop_stored(data)
        for op in self.operators:
            op._abandon(data)

    def _drop_stored(self, data: Data) -> None:
        for name in self._stored:
            data.remove("detdata", name)
        self._stored = set()


def groups(operators: Sequence[Operator], device: dict[str, bool]) -> list[list[Operator]]:
    """Operators in groups that can be fused; the log has why a group ends. Those that `device` names stay alone."""
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
        if type(one)._exec is not KernelOperator._exec or type(one).calls is not KernelOperator.calls:
            return f"{one.name} has a way of its own to call its kernel"
        if one.whole_detectors:
            return f"{one.name} needs all detectors in a call"
        if one.name in device:
            return f"the pipeline decides where {one.name} runs"
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
