"""What becomes of a call on a device: its launches, the bytes that they move, and what their kernels need.

The text form of the IR is read (docs/ir.md), after the last pass; what the host computes - lengths, conditions, grids - is
evaluated for given arguments. What depends on the contents of arrays stays unknown: None, `?` in the text.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import _ingot
from . import fusion
from . import occupancy as _occupancy
from .assembler import Needs, needs_of
from .drawing import bytes_text
from .fusion import Buffer, Node, Region, View, _bounded, _product, _sum

_ON_HOST = {"library", "host", "draw", "keep", "sort_line", "argsort_line"}
"""Ops that run on the host, with copies of their arrays there and back."""
_NUMBERS: dict[str, Callable[..., Any]] = {
    "right_shift": lambda a, b: a >> b if 0 <= b < 64 else None,
    "left_shift": lambda a, b: a << b if 0 <= b < 64 else None,
    "invert": lambda a: not a if type(a) is bool else ~a,
    "absolute": abs,
    "bitwise_count": lambda a: abs(a).bit_count(),
    "exponent": lambda a: math.frexp(a)[1],
}
"""Of numbers of the host, besides those of `_fusion.SCALARS`."""
_BUDGET = 300_000
"""Nodes that are read at most, where the iterations of the host's loops are read one by one."""
_HEADER = ["kernel", "times", "grid", "block", "read", "written", "registers", "spilled", "stack", "shared", "occupancy", "line"]


@dataclass
class Launch:
    """One launch. `read` and `written` are bytes of device memory, each array once a launch; `times`: how often it runs."""

    kernel: str
    function: str
    number: int
    """Among the launches of the function's text."""
    place: tuple[str, int] | None
    times: int | None
    grid: tuple[int | None, ...]
    block: tuple[int | None, ...]
    read: int | None
    written: int | None
    dynamic_shared: int | None
    waits: bool
    """Whether the host waits for it: it may raise."""
    needs: Needs | None = None
    resident_blocks: int | None = None
    """That a processor holds at once."""
    occupancy: float | None = None
    """The share of a processor's warps that these are."""


@dataclass
class OnHost:
    """What the host does between the launches, with copies of arrays there and back, each `bytes` once."""

    what: str
    place: tuple[str, int] | None
    times: int | None
    bytes: int | None


@dataclass
class Launches:
    """All of a call on a GPU that takes `code`; `least` are the bytes of what it is given and gives."""

    code: str
    launches: list[Launch]
    on_host: list[OnHost]
    least: int | None
    numbers: int | None
    """How many numbers, or small arrays, the host reads from the device's memory, each of which it waits for."""
    why: str = ""
    """Why what kernels need is not known; empty where it is."""

    @property
    def times(self) -> int | None:
        """How many launches there are."""
        return _sum(launch.times for launch in self.launches)

    @property
    def read(self) -> int | None:
        """The bytes that all launches read."""
        return _sum(_product(launch.read, launch.times) for launch in self.launches)

    @property
    def written(self) -> int | None:
        """The bytes that all launches write."""
        return _sum(_product(launch.written, launch.times) for launch in self.launches)

    @property
    def waits(self) -> int | None:
        """How often the host waits for the device."""
        return _sum([self.numbers, *(launch.times for launch in self.launches if launch.waits), *(h.times for h in self.on_host)])

    def as_dict(self) -> dict[str, Any]:
        """All of it as dicts, lists, strings and numbers, as JSON has them."""
        rows = [{**asdict(launch), "grid": list(launch.grid), "block": list(launch.block)} for launch in self.launches]
        on_host = [asdict(part) for part in self.on_host]
        for row in [*rows, *on_host]:
            row["place"] = row["place"] and list(row["place"])
        total = {"launches": self.times, "read": self.read, "written": self.written, "least": self.least, "waits": self.waits}
        return {"code": self.code, "launches": rows, "on_host": on_host, "total": total, "why": self.why}

    def __str__(self) -> str:
        rows = [_HEADER, *map(_cells, self.launches)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
        lines = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip() for row in rows]
        if not self.launches:
            lines = ["no launches"]
        lines += [f"on the host, with copies there and back: {_part(part)}" for part in self.on_host]
        lines.append(self._total())
        if self.why and self.launches:
            lines.append(f"what kernels need is not known: {self.why}")
        return "\n".join(lines) + "\n"

    def _total(self) -> str:
        moved = _sum((self.read, self.written))
        ratio = f" ({moved / self.least:.2f} times as much)" if moved is not None and self.least else ""
        counts = f"{_number(self.times)} launch{'' if self.times == 1 else 'es'}"
        size = f"{bytes_text(self.read)} read, {bytes_text(self.written)} written, at least {bytes_text(self.least)}{ratio}"
        return f"total: {counts}; {size}; the host waits {_times(self.waits)}"


def _product_of(numbers: Iterable[int | None]) -> int | None:
    one: int | None = 1
    return functools.reduce(_product, numbers, one)


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _times(value: int | None) -> str:
    return f"{_number(value)} time{'' if value == 1 else 's'}"


def _extents(extents: tuple[int | None, ...]) -> str:
    used = extents
    while len(used) > 1 and used[-1] == 1:
        used = used[:-1]
    return " x ".join(map(_number, used))


def _cells(launch: Launch) -> list[str]:
    needs, of_needs = launch.needs, ["?"] * 4
    if needs is not None:
        shared = _number(_sum((needs.shared, launch.dynamic_shared)))
        of_needs = [str(needs.registers), _number(_sum((needs.spill_stores, needs.spill_loads))), str(needs.stack), shared]
    occupancy = "?" if launch.occupancy is None else f"{launch.occupancy:.0%}"
    where = [_extents(launch.grid), _extents(launch.block), bytes_text(launch.read), bytes_text(launch.written)]
    line = "" if launch.place is None else str(launch.place[1])
    return [launch.kernel, _number(launch.times), *where, *of_needs, occupancy, line]


def _part(part: OnHost) -> str:
    line = "" if part.place is None else f" (line {part.place[1]})"
    return f"{part.what}{line}, {_times(part.times)}, {bytes_text(part.bytes)}"


class _Reader(fusion._Reader):
    """Iterates what the host does; launches become `Launch`es, in the order of the text."""

    def __init__(self, function: str, body: Region) -> None:
        super().__init__()
        self.function = function
        inside = (inner for node in body.nodes for inner in (node, *node.inside()))
        self.numbers_of = {id(node): number for number, node in enumerate(n for n in inside if n.op == "launch")}
        self.launches: list[Launch] = []
        self.touched: list[tuple[dict[Buffer, int | None], dict[Buffer, int | None]]] = []
        self.on_host: list[OnHost] = []
        self.numbers: int | None = 0
        self.shared: set[Buffer] = set()
        """Of arguments that may share memory."""
        self.budget = _BUDGET

    def visit(self, node: Node, iterations: int | None) -> None:
        if node.op == "launch":
            self._launch(node, iterations)
        elif node.op in _ON_HOST:
            self._host(node, iterations)
        elif (node.op == "load" and not self._is_of_host(node)) or (node.op == "copy" and self._is_of_host(node)):
            self.numbers = _sum((self.numbers, iterations))
        elif node.is_loop:
            self._iterations(node, iterations)
        elif node.op not in ("load", "copy", "call"):
            super().visit(node, iterations)

    def _is_of_host(self, node: Node) -> bool:
        """Whether a node loads from memory of the host's own, or copies there."""
        view = self.known(node.operands[0])
        return isinstance(view, View) and view.buffer.kind == "host"

    def _if(self, node: Node, iterations: int | None) -> None:
        is_known = self.known(node.operands[0]) is not None
        super()._if(node, iterations if is_known else None)

    def _iterations(self, node: Node, iterations: int | None) -> None:
        """A loop of the host's: iteration by iteration, or, where its numbers are not known or there are very many, all at once."""
        kept = self.launches, self.touched, self.on_host, self.numbers
        self.launches, self.touched, self.on_host = list(self.launches), list(self.touched), list(self.on_host)
        if not self._each_iteration(node, iterations):
            self.launches, self.touched, self.on_host, self.numbers = kept
            self._all_iterations(node, iterations)

    def _each_iteration(self, node: Node, iterations: int | None) -> bool:
        """False: a number is not known, or it takes too long."""
        counted = node.op != "while"
        count = self.known(node.operands[0]) if counted else None
        cost = 1 + sum(1 for _ in node.inside())
        if counted and (type(count) is not int or count * cost > self.budget):
            return False
        carried, iteration = [self.known(name) for name in node.operands[counted:]], 0
        while count is None or iteration < count:
            self.budget -= cost
            if self.budget < 0:
                return False
            self.values.update(zip(node.regions[0].parameters, [iteration, *carried] if counted else carried))
            given = self.read(node.regions[0], iterations)
            if not counted and not self.left:
                goes_on, *carried = map(self.known, given)
                if type(goes_on) is not bool:
                    return False
                if not goes_on:
                    break
                self.values.update(zip(node.regions[1].parameters, carried))
                given = self.read(node.regions[1], iterations)
            if self.left:
                return True
            carried, iteration = [self.known(name) for name in given], iteration + 1
        self.values.update(zip(node.results, carried))
        return True

    def _all_iterations(self, node: Node, iterations: int | None) -> None:
        """What the loop carries is known if it is an array; the number of the iteration is not."""
        counted = node.op != "while"
        count = self.known(node.operands[0]) if counted else None
        times = _product(iterations, count if type(count) is int else None)
        given: list[str] = []
        for region in node.regions:
            self.values.update(dict.fromkeys(region.parameters[:counted]))
            self._carry(region.parameters[counted:], node.operands[counted:])
            given = self.read(region, times)
            self.left = []
        self._carry(node.results, given[len(given) - len(node.results) :])

    def _carry(self, to: list[str], given: list[str]) -> None:
        for name, one in zip(to, given):
            known = self.known(one)
            self.values[name] = known if isinstance(known, (View, Buffer)) else None

    def _value(self, node: Node) -> Any:
        given = [self.known(name) for name in node.operands]
        if node.op in _NUMBERS and all(type(v) in (int, bool) or type(v) is float and node.op == "exponent" for v in given):
            return _NUMBERS[node.op](*given)
        if node.op == "alloc" and fusion.attribute(node, "life") == "stack":
            return Buffer("", given[0], "host")
        if node.op == "stride" and isinstance(given[0], View) and given[0].strides:
            return given[0].strides[int(fusion.attribute(node, "axis"))]
        if node.op == "same_object" and all(isinstance(v, Buffer) for v in given):
            return True if given[0] is given[1] else None if self.shared.issuperset(given) else False
        return super()._value(node)

    def _host(self, node: Node, iterations: int | None) -> None:
        views = [v for name in node.operands if isinstance(v := self.known(name), View)]
        size = _sum(_product(v.elements, v.itemsize) for v in views)
        what = _attribute_text(node, "routine") or _attribute_text(node, "what") or node.op
        self.on_host.append(OnHost(what, _line_of(node), iterations, size))

    def _launch(self, node: Node, iterations: int | None) -> None:
        extents = [known if type(known := self.known(name)) is int else None for name in node.operands[:7]]
        reader = _KernelReader(self, node, extents)
        place = next((line for n in (node, *node.inside()) if (line := _line_of(n)) is not None), None)
        read, written = (_sum(side.values()) for side in (reader.read, reader.written))
        dynamic = extents[6] if len(extents) > 6 else 0
        waits = any(n.op in ("check", "raise") for n in node.inside())
        grid, block = tuple(extents[:3]), tuple(extents[3:6])
        number = self.numbers_of[id(node)]
        self.launches.append(Launch("", self.function, number, place, iterations, grid, block, read, written, dynamic, waits))
        self.touched.append((reader.read, reader.written))

    def least(self) -> int | None:
        """The bytes of arguments that are read before they are written, and of arguments and results that are written."""
        results = {view.buffer for name in self.results if isinstance(view := self.known(name), View)}
        arguments: dict[Buffer, int | None] = {}
        written: dict[Buffer, int | None] = {}
        for read, wrote in self.touched:
            for buffer, size in read.items():
                if buffer.kind == "argument" and buffer not in written:
                    arguments[buffer] = fusion._most(arguments.get(buffer, 0), size, buffer.bytes)
            for buffer, size in wrote.items():
                if buffer.kind == "argument" or buffer in results:
                    written[buffer] = fusion._most(written.get(buffer, 0), size, buffer.bytes)
        return _sum([*arguments.values(), *written.values()])


def _attribute_text(node: Node, name: str) -> str:
    match = re.search(rf'[{{ ]{name}="((?:[^"\\]|\\.)*)"', node.rest)
    return ast.literal_eval(f'"{match[1]}"') if match else ""


def _line_of(node: Node) -> tuple[str, int] | None:
    return None if node.place is None else node.place[:2]


class _KernelReader:
    """The bytes of device memory that a launch reads and writes, by buffer: each view's once, no more than there are."""

    def __init__(self, host: _Reader, launch: Node, extents: list[int | None]) -> None:
        self.host = host
        self.sizes: tuple[dict[tuple[Any, ...], tuple[Buffer, int | None]], ...] = ({}, {})
        """Of what is read, and of what is written: by view and the elements of it that all iterations share."""
        self.own: set[str] = set(launch.regions[0].parameters)
        """The values that differ between threads or iterations."""
        self._region(launch.regions[0], _product_of(extents[:6]))
        self.read, self.written = map(self._by_buffer, self.sizes)

    def _region(self, region: Region, times: int | None) -> None:
        """`times`: how often it runs at most, by all threads; None: that is not known."""
        for node in region.nodes:
            self._node(node, times)
            count = self.host.known(node.operands[0]) if node.op in ("for", "parallel_for") else None
            inner = _product(times, count if type(count) is int else None) if node.is_loop else times
            for part in node.regions:
                self.own.update(part.parameters)
                self._region(part, inner)

    def _node(self, node: Node, times: int | None) -> None:
        reads = node.op in ("load", "atomic", "compare_exchange")
        if node.regions or reads or any(name in self.own for name in node.operands):
            self.own.update(node.results)
        if reads:
            self._touch(node, times, False)
        if node.op in ("store", "stream", "atomic", "compare_exchange"):
            self._touch(node, times, True)
        elif node.op == "view":
            self.host.values[node.results[0]] = self.host._view(node, [self.host.known(name) for name in node.operands])
        elif node.op in ("constant", "length", "buffer", "offset", "stride", "select", *fusion.SCALARS, *_NUMBERS):
            is_known = node.op == "buffer" or not any(name in self.own for name in node.operands)
            self.host.values[node.results[0]] = self.host._value(node) if is_known else None

    def _touch(self, node: Node, times: int | None, writes: bool) -> None:
        view = self.host.known(node.operands[0])
        if not isinstance(view, View):
            return  # the thread's own memory, or the block's
        indices = ["" if name in self.own else name for name in node.operands[1 : 1 + len(view.lengths)]]
        elements = _product_of(1 if index else length for index, length in zip(indices, view.lengths))
        if elements is None or node.operands[0] in self.own:
            elements = times  # each iteration has a view of its own
        size = _product(_bounded(elements, times), view.itemsize)
        key = (node.operands[0], *indices)
        before = self.sizes[writes].get(key, (view.buffer, 0))[1]
        self.sizes[writes][key] = (view.buffer, None if before is None or size is None else max(before, size))

    @staticmethod
    def _by_buffer(sizes: dict[tuple[Any, ...], tuple[Buffer, int | None]]) -> dict[Buffer, int | None]:
        found: dict[Buffer, int | None] = {}
        for buffer, size in sizes.values():
            found[buffer] = _sum((found.get(buffer, 0), size))
        return {buffer: _bounded(buffer.bytes if size is None else size, buffer.bytes) for buffer, size in found.items()}


def _functions(text: str) -> Iterator[str]:
    """The names of the functions of a module in the text form."""
    for match in re.finditer(r'^func @(?:"((?:[^"\\]|\\.)*)"|([\w.$]+))\(', text, re.MULTILINE):
        yield match[1] or match[2]


def read_launches(text: str, name: str, leaves: list[Any], code: str, kernels: str) -> Launches:
    """Of the module's function `name`, given `leaves`; what other functions launch runs an unknown number of times."""
    found = Launches(code, [], [], None, 0)
    for function in sorted(_functions(text), key=lambda own: own != name):
        body = fusion.parse(text, function)
        reader = _Reader(function, body)
        is_entry = function == name
        if is_entry:
            _give(reader, body, leaves, text)
        reader.read(body, 1 if is_entry else None)
        _name(reader, kernels)
        found.launches += _together(reader.launches)
        found.on_host += reader.on_host
        found.numbers = _sum((found.numbers, reader.numbers))
        if is_entry:
            found.least = reader.least()
    return found


def _together(launches: list[Launch]) -> list[Launch]:
    """Those of one kernel that are alike as one, which runs as often as all of them."""
    found: dict[tuple[Any, ...], Launch] = {}
    for launch in launches:
        key = launch.number, launch.grid, launch.block, launch.read, launch.written, launch.dynamic_shared, launch.times is None
        if key in found:
            found[key].times = _sum((found[key].times, launch.times))
        else:
            found[key] = dataclasses.replace(launch)
    return list(found.values())


def _give(reader: _Reader, body: Region, leaves: list[Any], text: str) -> None:
    """Gives the parameters their values; arrays that share memory with no other have a buffer that begins with them."""
    head = next(line for line in text.splitlines() if line.startswith((f"func @{reader.function}(", f'func @"{reader.function}"(')))
    aliases = dict(re.findall(rf"({fusion.NAMES}): view<[^>]*> alias (\d+)", head))
    known: dict[int, View] = {}
    for parameter, leaf in zip(body.parameters, leaves):
        if id(leaf) in known:
            reader.values[parameter] = known[id(leaf)]
        elif isinstance(leaf, (np.ndarray, _ingot.DeviceArray)):
            is_alone = list(aliases.values()).count(aliases.get(parameter)) == 1
            buffer = Buffer(parameter.removeprefix("%"), leaf.nbytes, "argument", leaf.dtype.name, leaf.shape)
            view = View(buffer, list(leaf.shape), leaf.itemsize, 0 if is_alone else None, leaf.strides)
            reader.values[parameter] = known[id(leaf)] = view
            if not is_alone:
                reader.shared.add(buffer)
        elif isinstance(leaf, (bool, int, float, np.bool, np.integer, np.floating)):
            reader.values[parameter] = leaf.item() if isinstance(leaf, np.generic) else leaf


def _name(reader: _Reader, kernels: str) -> None:
    """Gives launches the names of their kernels, which are numbered in the order of the text."""
    stem = "ingot_" + re.sub(r"[^0-9A-Za-z]", "_", reader.function)
    own = sorted(set(map(int, re.findall(rf"\b{stem}_(\d+)(?:\s*\(|:)", kernels))))
    if len(own) == len(reader.numbers_of):
        for launch in reader.launches:
            launch.kernel = f"{stem}_{own[launch.number]}"


def add_needs(found: Launches, kernels: str, ask: Callable[[str, int, int], tuple[int, int, int, int]] | None) -> None:
    """Adds what the kernels need, as the assembler reports it; or as their device does, if that is there: `ask` gives the
    registers, bytes of local and of shared memory, and resident blocks of a kernel with so many threads a block and
    bytes of dynamic shared memory.
    """
    needs, found.why = needs_of(kernels, found.code) if found.launches else ({}, "")
    capability = int(found.code.removeprefix("sm_")) if found.code.startswith("sm_") else 0
    for launch in found.launches:
        launch.needs = needs.get(launch.kernel)
        threads, dynamic = _product_of(launch.block), launch.dynamic_shared
        if not launch.kernel or threads is None or dynamic is None:
            continue
        if ask is not None:
            registers, local, shared, launch.resident_blocks = ask(launch.kernel, threads, dynamic)
            spills = (None, None) if launch.needs is None else (launch.needs.spill_stores, launch.needs.spill_loads)
            launch.needs = Needs(registers, *spills, local, shared, "the driver")
        elif launch.needs is not None:
            shared = launch.needs.shared + dynamic
            launch.resident_blocks = _occupancy.resident_blocks(capability, threads, launch.needs.registers, shared)
        if launch.resident_blocks is not None:
            launch.occupancy = _occupancy.occupancy(capability, threads, launch.resident_blocks)
    if ask is not None:
        found.why = ""
