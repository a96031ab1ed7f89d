"""`f.record(...)`: a call and the IR of each stage, as the files that `ingot-opt --replay` reads. Format: docs/replay.md."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core, _ingot
from .._ingot import Description
from .._routines import inputs, library, library_into
from .specialisation import Call, Specialisation

DTYPES: dict[str, str] = _core.DTYPES  # by the IR's names
NAMES = {name: short for short, name in DTYPES.items()}
LINE = 48
VIEW = Description(Description.ARRAY, dtype="bool", is_writable=False)  # of an array as it is


def _quoted(text: str) -> str:
    shown = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\x{ord(c):02x}" for c in shown) + '"'


def _bytes(data: bytes) -> str:
    return "".join(f"\n  {data[i : i + LINE].hex()}" for i in range(0, len(data), LINE))


def _number(dtype: str, value: Any) -> str:
    """A number's bits, with the number as a comment."""
    data = np.asarray(value, DTYPES[dtype]).tobytes()
    return f"{dtype} {data.hex()} ; {value!r}"


def _tuple(numbers: Any) -> str:
    return "(" + ", ".join(map(str, numbers)) + ")"


def _array(array: np.ndarray) -> str:
    return f"array {NAMES[array.dtype.name]} {_tuple(array.shape)}{_bytes(array.tobytes())}"


def _raised(error: BaseException) -> str:
    name = type(error).__name__
    return f"{name if name in _core.EXCEPTIONS else 'Exception'} {_quoted(str(error))}"


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """The addresses of the lowest byte of an array and of the first byte beyond it."""
    return np.lib.array_utils.byte_bounds(array) if array.size else (array.ctypes.data,) * 2


@dataclass
class Memory:
    """Bytes that arguments are in: all that overlap are in one."""

    low: int
    high: int
    before: bytes = b""

    def now(self) -> bytes:
        return ctypes.string_at(self.low, self.high - self.low)


def _memories(arrays: list[np.ndarray]) -> list[Memory]:
    """The memories of arrays, in the order in which these need them."""
    merged: list[Memory] = []
    for low, high in sorted(map(_bounds, arrays)):
        if merged and low < merged[-1].high:
            merged[-1].high = max(high, merged[-1].high)
        else:
            merged.append(Memory(low, high))
    ordered: list[Memory] = []
    for low, high in map(_bounds, arrays):
        memory = next(m for m in merged if m.low <= low and high <= m.high)
        if memory not in ordered:
            ordered.append(memory)
    return ordered


class Recorder:
    """Takes down one call, from before it is made to its end."""

    def __init__(self, specialisation: Specialisation, leaves: list[Any]) -> None:
        self.specialisation = specialisation
        self.program = specialisation.program
        self.leaves = leaves
        self.name, self.parameters, self.results, self.operands = self.program.interface
        self.memories = _memories([leaf for leaf in leaves if isinstance(leaf, np.ndarray)])
        for memory in self.memories:
            memory.before = memory.now()
        self.arguments = [f"argument {self._argument(*a)}" for a in zip(self.parameters, leaves)]
        self.calls: list[str] = []

    def _memory_of(self, array: np.ndarray) -> int:
        low, high = _bounds(array)
        return next(i for i, m in enumerate(self.memories) if m.low <= low and high <= m.high)

    def _argument(self, dtype: str, leaf: Any) -> str:
        if not isinstance(leaf, np.ndarray):
            return _number(dtype, leaf)
        memory = self._memory_of(leaf)
        offset = leaf.ctypes.data - self.memories[memory].low
        return f"view {dtype} in {memory} at {offset} lengths {_tuple(leaf.shape)} strides {_tuple(leaf.strides)}"

    def host(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """A host call that is taken down."""

        def recorded(site: int, values: list[Any]) -> None:
            operands = [self._operand(*o) for o in zip(self.operands[site], values)]
            self._take_down(f"host {site}", operands, lambda: call(site, values))

        return recorded

    def library(self, call: Callable[..., Any], fills: bool) -> Callable[..., Any]:
        """A library routine that is taken down; `fills`: its last operand is what it fills, of a gufunc its outputs."""

        def recorded(routine: str, values: list[Any]) -> Any:
            count = inputs(routine) if "." in routine else len(values) - 1 if fills else len(values)
            given = values[:count]
            operands = [_array(v) if isinstance(v, np.ndarray) else _number("i64", v) for v in given]
            result = self._take_down(f"library {_quoted(routine)}", operands, lambda: call(routine, values))
            for array in values[count:] or [result]:
                self.calls[-1] += f"\n  gives {_array(array)}"
            return result

        return recorded

    def _take_down(self, what: str, operands: list[str], call: Callable[..., Any]) -> Any:
        self.calls.append(f"{what} (" + "".join(f"\n  {o}\n  ," for o in operands).removesuffix(",") + ")")
        try:
            return call()
        except BaseException as error:
            self.calls[-1] += f"\n  raises {_raised(error)}"
            raise

    def _operand(self, dtype: str, value: Any) -> str:
        if type(value) is not tuple:
            return _number(dtype, value)
        return _array(_ingot.Objects(self.leaves, []).make(VIEW, [value]))

    def write(self, folder: Path, outcome: Any, result: Description) -> None:
        """Writes the files, and how the call ended: the outcome that the code gave, described by `result`."""
        folder.mkdir(parents=True, exist_ok=True)
        texts = [("frontend", self.program.text(spans=True)), *self.specialisation.compile(texts=True)["passes"]]
        parts = ["; A recorded call; `ingot-opt --replay` makes it again.\nrecord 1", f"function @{_quoted(self.name)}"]
        for number, (stage, text) in enumerate(texts, 1):
            file = f"{number}-{stage}.ir"
            (folder / file).write_text(text, "utf-8")
            parts.append(f"stage {_quoted(file)}")
        parts += [f"memory {i} bytes {len(m.before)} at {m.low % 64}{_bytes(m.before)}" for i, m in enumerate(self.memories)]
        parts += self.arguments + self.calls
        parts += self._raised(*outcome) if type(outcome) is tuple else self._returned(outcome, result)
        for i, memory in enumerate(self.memories):
            if (after := memory.now()) != memory.before:
                parts.append(f"after {i} bytes {len(after)}{_bytes(after)}")
        (folder / "call.txt").write_text("\n".join(parts) + "\n", "utf-8", "replace")

    @staticmethod
    def _raised(kind: str, message: str, sites: tuple[Any, ...], pending: Any, _: Any) -> list[str]:
        if pending is not None:
            return [f"raised {_raised(pending)}"]
        place = f" at {_quoted(sites[0][0])}:{sites[0][1]}" if sites else ""
        return [f"raised {kind} {_quoted(message)}{place}"]

    def _returned(self, outcome: list[Any], result: Description) -> list[str]:
        memories: dict[int, int] = {}
        lines = []
        for dtype, value, specified in zip(self.results, outcome, _specified(result, iter(outcome))):
            if type(value) is not tuple:
                lines.append(f"result {_number(dtype, value) if specified else dtype + ' unspecified'}")
                continue
            owner, offset, shape, strides, _ = value
            offset = offset or 0
            if isinstance(owner, int):
                number = self._memory_of(self.leaves[owner])
                offset += _bounds(self.leaves[owner])[0] - self.memories[number].low
            else:
                if id(owner) not in memories:
                    memories[id(owner)] = len(self.memories) + len(memories)
                    data = owner.ravel("K").tobytes()
                    lines.append(f"memory {memories[id(owner)]} bytes {len(data)} at 0{_bytes(data)}")
                number = memories[id(owner)]
            lines.append(f"result view {dtype} in {number} at {offset} lengths {_tuple(shape)} strides {_tuple(strides)}")
        return ["returned", *lines]


def _specified(description: Description, values: Iterator[Any]) -> Iterator[bool]:
    """For each value that code gives for a description whether it means something: what comes with a None does not."""
    match description.kind:
        case Description.SCALAR | Description.MEMBER | Description.POOLED:
            next(values)
            yield True
        case Description.ARRAY:
            for _ in range(1 if description.argument is not None else 2):
                next(values)
                yield True
        case Description.MAYBE:
            there = next(values) == 0
            yield True
            yield from (there and inside for inside in _specified(description.parts[0], values))
        case Description.LIST_BUFFER:
            next(values)
            yield True
            for column in description.parts[1:]:
                yield from _specified(column, values)
        case Description.POOLS:
            for part in (*description.parts[1:], description.parts[0]):
                yield from _specified(part, values)
        case _:
            for part in description.parts:
                yield from _specified(part, values)


def record(mode: str, specialisation: Specialisation, arguments: Any, path: str | os.PathLike) -> Any:
    """Makes a call and writes its replay files; what `Function.record` does."""
    call = Call(specialisation, arguments)
    recorder = Recorder(specialisation, call.leaves)
    is_interpreted = mode == "interpreted"
    routines = recorder.library(library if is_interpreted else library_into, fills=not is_interpreted)
    outcome = call.run(mode, recorder.host(call.host), routines)
    raised = call.error(outcome)
    if not isinstance(raised, KeyboardInterrupt):
        recorder.write(Path(path), outcome, specialisation.result)
    if raised is not None:
        raise raised
    return call.result(outcome)
