"""What was fused: the loop nests of a function after `to_loops`, the ops in each, and the bytes that they move.

The text form of the IR is read (docs/ir.md), and what is outside of loops is evaluated for given arguments: lengths,
and the conditions that choose between versions of loops. What depends on the contents of arrays stays unknown; a loop
that runs an unknown number of times counts as one over all elements of the arrays that it touches.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NAMES = r"%[\w.$]+"
PLACE = re.compile(r' (?:inlined )?at ("(?:[^"\\]|\\.)*"):(\d+):(\d+)-(\d+)(?: in "(?:[^"\\]|\\.)*")?')
NODE = re.compile(rf"(?:({NAMES}(?:, {NAMES})*) = )?([a-z_0-9]+)(.*)")
LOOPS = ("for", "parallel_for", "while")
ITEMSIZE = {"bool": 1, "c64": 8, "c128": 16}


@dataclass
class Node:
    """A node of the text form; `regions` hold those inside, each region with the names of its parameters."""

    op: str
    results: list[str]
    operands: list[str]
    rest: str
    type: str
    place: tuple[str, int, int, int] | None
    regions: list[Region] = field(default_factory=list)

    @property
    def is_loop(self) -> bool:
        return self.op in LOOPS

    def inside(self) -> Iterator[Node]:
        """The nodes of all regions, at any depth, in the order of the text."""
        for region in self.regions:
            for node in region.nodes:
                yield node
                yield from node.inside()


@dataclass
class Region:
    parameters: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)


@dataclass
class View:
    """A window on memory: that of a buffer, of which `elements` are seen; None: how many is unknown."""

    buffer: Buffer
    lengths: list[int | None]
    itemsize: int
    offset: int | None = None
    """Of its first element in the buffer, in bytes."""
    strides: tuple[int | None, ...] = ()

    @property
    def elements(self) -> int | None:
        lengths = [length for length in self.lengths if length is not None]
        return math.prod(lengths) if len(lengths) == len(self.lengths) else None


@dataclass(eq=False)
class Buffer:
    """Memory: an argument's, or allocated by the function; `bytes` None: how many is unknown."""

    name: str
    bytes: int | None
    kind: str
    """`argument`, `temporary` or `result`."""
    dtype: str = ""
    shape: tuple[Any, ...] | None = None

    @property
    def itemsize(self) -> int:
        """0: it is not known."""
        return np.dtype(self.dtype).itemsize if self.dtype else 0


@dataclass(eq=False)
class Op:
    """An op of the array IR in the nest that it was fused into; `uses`: ops and buffers that it takes values from."""

    name: str
    dtype: str
    place: tuple[str, int, int, int] | None
    uses: list[Op | Buffer]
    puts: Buffer | None = None


@dataclass(eq=False)
class Nest:
    """One loop nest, or one call of a routine (`loops` 0); it runs `iterations` times."""

    ops: list[Op]
    loops: int
    iterations: int | None
    read: dict[Buffer, int | None]
    written: dict[Buffer, int | None]
    hidden: bool = False
    """Whether it touches memory besides, of which is not known whose it is."""


@dataclass
class Fusion:
    """The nests of a function in their order, the memory between them, and what must at least be moved."""

    name: str
    nests: list[Nest]
    buffers: list[Buffer]
    least: int | None

    @property
    def moved(self) -> int | None:
        """The bytes that all nests read and write, each of its arrays once a nest."""
        if any(nest.hidden for nest in self.nests):
            return None
        return _sum(b for nest in self.nests for part in (nest.read, nest.written) for b in part.values())


def _sum(numbers: Any) -> int | None:
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


def _product(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b


def _bounded(size: int | None, bound: int | None) -> int | None:
    """The size, but no more than the bound; None is what is not known."""
    return size if bound is None or size is None else min(size, bound)


def names_of(text: str) -> list[str]:
    """The functions of the text form of a module."""
    return [name.strip('"') for name in re.findall(r'^func @("[^"]*"|[^(]*)\(', text, re.MULTILINE)]


def parse(text: str, name: str) -> Region:
    """The body of the function of that name in the text form."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(f"func @{name}(") or line.startswith(f'func @"{name}"('):
            body = Region(re.findall(rf"({NAMES}): ", line.partition(" -> ")[0]))
            _fill(body, lines)
            return body
    raise KeyError(name)


def _fill(region: Region, lines: Iterator[str]) -> bool:
    """Reads the nodes of a region; True where another region of the same node follows."""
    for line in lines:
        line = line.strip()
        if line in ("}", "} {"):
            return line == "} {"
        if line.startswith("^("):
            region.parameters = re.findall(rf"({NAMES}): ", line)
            continue
        opens = line.endswith(" {")
        node = _node(line.removesuffix(" {"))
        region.nodes.append(node)
        while opens:
            node.regions.append(Region())
            opens = _fill(node.regions[-1], lines)
    return False


def _node(line: str) -> Node:
    places = list(PLACE.finditer(line))
    place = None
    if places:
        file, *numbers = places[0].groups()
        place = (ast.literal_eval(file), *map(int, numbers))
        line = line[: places[0].start()]
    match = NODE.fullmatch(line)
    assert match is not None, line
    results, op, rest = match.groups()
    head = re.match(rf"(?: {NAMES},?)*", rest)
    operands = re.findall(NAMES, head[0]) if head else []
    kind = rest.rpartition(" : ")[2] if " : " in rest else ""
    return Node(op, re.findall(NAMES, results or ""), operands, rest, kind, place)  # type: ignore[arg-type]


def attribute(node: Node, name: str) -> str:
    """An attribute of a node as the text has it; empty: it has none of that name."""
    match = re.search(rf"[{{ ]{name}=(\[[^\]]*\]|[^,}}]*)", node.rest)
    return match[1] if match else ""


def _itemsize(dtype: str) -> int:
    return ITEMSIZE.get(dtype) or int(re.sub(r"\D", "", dtype) or 64) // 8


def _numpy_name(dtype: str) -> str:
    letters, digits = re.fullmatch(r"([a-z]*)(\d*)", dtype).groups()  # type: ignore[union-attr]
    return {"i": "int", "u": "uint", "f": "float", "c": "complex"}.get(letters, letters) + digits


def _element(kind: str) -> str:
    """The dtype of a view's type."""
    match = re.match(r"(?:view|array)<(\w+)", kind)
    return match[1] if match else kind


SCALARS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": lambda a, b: a // b if b else None,
    "remainder": lambda a, b: a % b if b else None,
    "minimum": min,
    "maximum": max,
    "negative": operator.neg,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "logical_not": operator.not_,
    "multiply_overflows": lambda a, b: not -(2**63) <= a * b < 2**63,
    "add_overflows": lambda a, b: not -(2**63) <= a + b < 2**63,
    "subtract_overflows": lambda a, b: not -(2**63) <= a - b < 2**63,
}


class _Reader:
    """Iterates a function, evaluating what it can; loops that touch memory become nests."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.makers: dict[str, list[Op]] = {}
        """The ops, in nests that came before, which a number depends on."""
        self.nests: list[Nest] = []
        self.buffers: list[Buffer] = []
        self.results: list[str] = []
        self.left: list[str] = []
        """The label that an exit has gone to, and the values that it took there, until its block ends."""
        self.unsure: set[str] = set()
        """The labels that an exit may have gone to."""

    def known(self, name: str) -> Any:
        return self.values.get(name)

    def read(self, region: Region, iterations: int | None) -> list[str]:
        """Reads a region that runs `iterations` times; the names that it yields."""
        for node in region.nodes:
            if node.op == "exit":
                self.left = node.operands
            elif node.op == "return":
                self.results = node.operands
            elif node.op == "yield":
                return node.operands
            else:
                self.visit(node, iterations)
            if self.left:
                break
        return []

    def visit(self, node: Node, iterations: int | None) -> None:
        makers = [op for name in node.operands for op in self.makers.get(name, ())]
        for name in node.results:
            self.makers[name] = makers
        if node.op == "if":
            self._if(node, iterations)
        elif node.is_loop or node.op in ("library", "call", "copy", "host"):
            self._loop(node, iterations)
        elif node.op == "block":
            given = self.read(node.regions[0], iterations)
            if self.left and self.left[0] == node.regions[0].parameters[0]:
                given, self.left = self.left[1:], []
            if node.regions[0].parameters[0] not in self.unsure:
                self._bind(node.results, given)
        elif node.results:
            self.values[node.results[0]] = self._value(node)

    def _bind(self, results: list[str], given: list[str]) -> None:
        for result, name in zip(results, given):
            self.values[result] = self.known(name)
            self.makers[result] = self.makers.get(name, [])

    def _if(self, node: Node, iterations: int | None) -> None:
        condition = self.known(node.operands[0])
        if condition is None:
            arms = []
            for region in node.regions:
                arms.append(self.read(region, iterations))
                self.unsure.update(self.left[:1])
                self.left = []
            self._bind(node.results, arms[1])
            for result, *given in zip(node.results, *arms):
                if self.known(given[0]) != self.known(given[1]):
                    self.values[result] = None
        else:
            self._bind(node.results, self.read(node.regions[0 if condition else 1], iterations))

    def _value(self, node: Node) -> Any:
        op, given = node.op, [self.known(n) for n in node.operands]
        if op == "constant":
            return _literal(node.rest.partition(" : ")[0].strip())
        if op == "length":
            view = given[0]
            return view.lengths[int(attribute(node, "axis"))] if isinstance(view, View) else None
        if op in ("buffer", "offset"):
            return getattr(given[0], op) if isinstance(given[0], View) else None
        if op == "alloc":
            self.buffers.append(Buffer("", given[0] if given else None, "temporary"))
            return self.buffers[-1]
        if op == "view":
            return self._view(node, given)
        if op == "select" and given[0] is not None:
            return given[1] if given[0] else given[2]
        if op in ("cast", "some", "value") and given:
            return given[0]
        if op in SCALARS and all(type(v) in (int, bool, float) for v in given):
            try:
                return SCALARS[op](*given)
            except OverflowError:
                return None
        return None

    def _view(self, node: Node, given: list[Any]) -> View | None:
        if not isinstance(given[0], Buffer):
            return None
        rank = (len(given) - 2) // 2
        dtype = _element(node.type)
        lengths = [n if type(n) is int else None for n in given[2 : 2 + rank]]
        offset, *strides = (n if type(n) is int else None for n in [given[1], *given[2 + rank :]])
        view = View(given[0], lengths, _itemsize(dtype), offset, tuple(strides))
        if not given[0].dtype:
            given[0].dtype, given[0].shape = _numpy_name(dtype), tuple(lengths)
            if given[0].bytes is None:
                given[0].bytes = _product(view.elements, view.itemsize)
        return view

    def _loop(self, node: Node, iterations: int | None) -> None:
        if self._holds_nests(node):
            count = self.known(node.operands[0]) if node.op != "while" else None
            for region in node.regions:
                for parameter, operand in zip(region.parameters[node.op != "while" :], node.operands[node.op != "while" :]):
                    self._bind([parameter], [operand])
                given = self.read(region, _product(iterations, count))
                self.left = []
            self._bind(node.results, given)
            return
        nest = _NestReader(self, node, iterations).nest()
        if nest is not None:
            self.nests.append(nest)

    @staticmethod
    def _holds_nests(node: Node) -> bool:
        """Whether a loop is around nests rather than being one: it allocates, calls, or holds several loops."""
        inside = list(node.inside())
        if any(n.op in ("alloc", "library") for n in inside):
            return True
        loops = [n for region in node.regions for n in _direct_loops(region)]
        return len(loops) > 1


def _direct_loops(region: Region) -> Iterator[Node]:
    for node in region.nodes:
        if node.is_loop:
            yield node
        else:
            for inner in node.regions:
                yield from _direct_loops(inner)


def _literal(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


class _NestReader:
    """Reads one nest: which memory it touches how often, and the ops on the way from loads to stores."""

    def __init__(self, outside: _Reader, node: Node, iterations: int | None) -> None:
        self.outside, self.node, self.iterations = outside, node, iterations
        self.made: dict[str, Node] = {}
        self.ops: dict[Any, Op | None] = {}
        self.order: list[Op] = []
        self.depth = 0
        self.hidden = False
        self.touched: dict[bool, dict[Buffer, int | None]] = {False: {}, True: {}}
        self.carried: dict[str, tuple[Node, int]] = {}

    def nest(self) -> Nest | None:
        if not self.node.is_loop:
            return self._routine()
        self._enter(self.node, 1, 1)
        for node in [self.node, *self.node.inside()]:
            if node.op == "store":
                self._store(node)
        for name in self.node.results:
            self.outside.makers[name] = [op for op in self._op(name) if isinstance(op, Op)]
        if not (self.order or self.touched[False] or self.touched[True] or self.hidden):
            return None
        repeated = {w: {b: _product(n, self.iterations) for b, n in t.items()} for w, t in self.touched.items()}
        return Nest(self.order, self.depth, self.iterations, repeated[False], repeated[True], self.hidden)

    def _routine(self) -> Nest | None:
        """A library routine, a copy, or a call, which takes whole arrays."""
        node = self.node
        views = [v for n in node.operands if isinstance(v := self.outside.known(n), View)]
        if not views:
            return None
        name = attribute(node, "routine").strip('"') or attribute(node, "function").strip("@") or node.op
        last = views[-1] if node.op in ("library", "copy") else None
        uses: list[Op | Buffer] = list(dict.fromkeys(v.buffer for v in views if v is not last))
        uses += [op for n in node.operands for op in self.outside.makers.get(n, ())]
        op = Op(name, "", node.place, uses, last.buffer if last else None)
        for result in node.results:
            self.outside.makers[result] = [op]
        sizes = {v.buffer: _product(_product(v.elements, v.itemsize), self.iterations) for v in views}
        written = {last.buffer: sizes.pop(last.buffer)} if last else {}
        return Nest([op], 0, self.iterations, sizes, written)

    def _enter(self, loop: Node, times: int | None, depth: int) -> None:
        self.depth = max(self.depth, depth)
        counted = loop.op != "while"
        count = self.outside.known(loop.operands[0]) if counted else None
        for region in loop.regions:
            for i, parameter in enumerate(region.parameters[counted:]):
                self.carried[parameter] = (loop, i)
            self._region(region, _product(times, count if type(count) is int else None), depth)
        for i, name in enumerate(loop.results):
            self.carried[name] = (loop, i)

    def _region(self, region: Region, times: int | None, depth: int) -> None:
        for node in region.nodes:
            for name in node.results:
                self.made[name] = node
            if node.is_loop:
                self._enter(node, times, depth + 1)
                continue
            if node.op in ("load", "store"):
                self._touch(node, times)
            elif node.op in ("view", "length", "buffer", "constant", "select") or node.op in SCALARS:
                self.outside.values[node.results[0]] = self.outside._value(node)
            for i, inner in enumerate(node.regions):
                self._region(inner, times, depth)
                if node.op == "if" and inner.nodes:
                    for j, name in enumerate(node.results):
                        self.carried[name] = (node, j)

    def _touch(self, node: Node, times: int | None) -> None:
        view = self.outside.known(node.operands[0])
        if not isinstance(view, View):
            self.hidden = True
            return
        # A view that is made in the nest is another one at each iteration; a count that is not known means all elements.
        elements = times if node.operands[0] in self.made else view.elements
        size = _product(elements if times is None else _bounded(times, elements), view.itemsize)
        known = self.touched[node.op == "store"]
        known[view.buffer] = _bounded(_sum((known.get(view.buffer, 0), size)), view.buffer.bytes)

    def _store(self, node: Node) -> None:
        uses = self._uses([node.operands[-1], *(n for name in node.operands[1:-1] for n in self._loads(name))])
        view = self.outside.known(node.operands[0])
        if isinstance(view, View):
            self.order.append(Op("store", view.buffer.dtype, node.place, uses, view.buffer))

    def _op(self, name: str) -> list[Op | Buffer]:
        """What a value comes from: an op, or those that it passes on."""
        if name in self.outside.makers and name not in self.made and name not in self.carried:
            return list(self.outside.makers[name])
        if name in self.carried:
            return self._from_carried(name)
        node = self.made.get(name)
        if node is None or node.op == "constant":
            return []
        key: Any = ("load", *node.operands) if node.op == "load" else id(node)
        if key in self.ops:
            known = self.ops[key]
            return [known] if known else []
        self.ops[key] = None
        uses: list[Op | Buffer] = []
        if node.op == "load":
            view = self.outside.known(node.operands[0])
            uses = [view.buffer] if isinstance(view, View) else []
            uses += self._uses([n for name in node.operands[1:] for n in self._loads(name)])
        else:
            uses = self._uses(node.operands)
        made = Op(node.op, _element(node.type), node.place, uses)
        self.ops[key] = made
        self.order.append(made)
        return [made]

    def _loads(self, name: str) -> list[str]:
        """The loads that an index is made of."""
        node = self.made.get(name)
        if node is None or name in self.carried or node.op == "load":
            return [name] if node is not None and node.op == "load" else []
        return list(dict.fromkeys(n for operand in node.operands for n in self._loads(operand)))

    def _uses(self, names: list[str]) -> list[Op | Buffer]:
        return list(dict.fromkeys(op for n in names for op in self._op(n)))

    def _from_carried(self, name: str) -> list[Op | Buffer]:
        """What a loop or an `if` yields at that position, and what a loop starts with."""
        node, place = self.carried.pop(name)
        found: list[Op | Buffer] = []
        for region in node.regions:
            end = region.nodes[-1] if region.nodes else None
            if end is not None and end.op == "yield":
                ends = end.operands[len(end.operands) - len(node.results) :]
                if place < len(ends):
                    found += self._op(ends[place])
        combiners = attribute(node, "combiners").strip("[]").split(", ")
        if node.op == "parallel_for" and name in node.results and combiners[0]:
            made = Op(f"reduce {combiners[place]}", "", node.place, list(dict.fromkeys(found)))
            self.order.append(made)
            found = [made]
        self.outside.makers[name] = [op for op in found if isinstance(op, Op)]
        return list(dict.fromkeys(found))


def read(text: str, name: str, leaves: list[Any]) -> Fusion:
    """What a function at the loop stage does with the arguments `leaves`."""
    body = parse(text, name)
    reader = _Reader()
    for parameter, leaf in zip(body.parameters, leaves):
        if isinstance(leaf, np.ndarray):
            shown = parameter.removeprefix("%")
            buffer = Buffer(shown, leaf.nbytes, "argument", leaf.dtype.name, leaf.shape)
            reader.buffers.append(buffer)
            reader.values[parameter] = View(buffer, list(leaf.shape), leaf.itemsize)
        elif type(leaf) in (bool, int, float):
            reader.values[parameter] = leaf
    reader.read(body, 1)
    for result in reader.results:
        view = reader.known(result)
        if isinstance(view, View) and view.buffer.kind == "temporary":
            view.buffer.kind = "result"
    return _finished(name, reader)


def _finished(name: str, reader: _Reader) -> Fusion:
    touched = {b for n in reader.nests for part in (n.read, n.written) for b in part}
    buffers = [b for b in reader.buffers if b in touched]
    for kind, letter in (("temporary", "t"), ("result", "result")):
        several = [b for b in buffers if b.kind == kind]
        for i, buffer in enumerate(several, 1):
            buffer.name = letter if kind == "result" and len(several) == 1 else f"{letter}{i}"
    arguments: dict[Buffer, int | None] = {}
    written: dict[Buffer, int | None] = {}
    for nest in reader.nests:
        for buffer, size in nest.read.items():
            if buffer.kind == "argument" and buffer not in written:
                arguments[buffer] = _most(arguments.get(buffer, 0), size, buffer.bytes)
        for buffer, size in nest.written.items():
            if buffer.kind != "temporary":
                written[buffer] = _most(written.get(buffer, 0), size, buffer.bytes)
    return Fusion(name, reader.nests, buffers, _sum([*arguments.values(), *written.values()]))


def _most(a: int | None, b: int | None, bound: int | None) -> int | None:
    """The larger of two sizes, of which `bound` is the largest."""
    return None if a is None or b is None else _bounded(max(a, b), bound)
