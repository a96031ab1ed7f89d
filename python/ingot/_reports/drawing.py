"""Draws what was fused as SVG: memory as boxes, loop nests as frames around their ops, bytes at the edges.

The layout is in layers, as Sugiyama's: each node is below those that it takes from, edges over several layers run
through empty positions, nodes of a layer are ordered and placed by the mean of their neighbours.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._core import Buffer, Fusion, Nest, Op

CHARACTER = 7.3
"""The width of a character of 12 pixels in a monospaced font."""
HEIGHT = 24
STYLE = """
svg { --paper: #ffffff; --ink: #1c2430; --soft: #667080; --frame: #c3cad5; --nest: #f3f6fa; --op: #ffffff;
  --read: #0072b2; --write: #b85400; --memory: #e6f1f8; --temporary: #fdf0dc; --result: #e2f4ee; --sum: #009e73; }
@media (prefers-color-scheme: dark) { svg { --paper: #12161c; --ink: #e6eaf0; --soft: #98a3b3; --frame: #3c4656;
  --nest: #1a2029; --op: #242c38; --read: #56b4e9; --write: #e69f00; --memory: #16303f; --temporary: #3a2d14;
  --result: #143529; --sum: #2bc69a; } }
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: var(--ink); }
.soft { fill: var(--soft); } .small { font-size: 11px; } .title { font-size: 15px; font-weight: bold; }
.paper { fill: var(--paper); } .nest { fill: var(--nest); stroke: var(--frame); }
.op { fill: var(--op); stroke: var(--frame); } .load { stroke: var(--read); } .store { stroke: var(--write); }
.reduce { stroke: var(--sum); stroke-width: 2; } .routine { stroke: var(--ink); }
.argument { fill: var(--memory); stroke: var(--read); } .temporary { fill: var(--temporary); stroke: var(--write); }
.temporary { stroke-dasharray: 4 3; } .result { fill: var(--result); stroke: var(--sum); }
.edge { fill: none; stroke: var(--soft); stroke-width: 1.2; } .number { stroke: var(--sum); stroke-dasharray: 5 3; }
.reads { stroke: var(--read); opacity: 0.75; } .writes { stroke: var(--write); opacity: 0.75; }
.bytes { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; font-size: 11px; }
"""


@dataclass(eq=False)
class Box:
    """A node of a layout; `x` and `y` are its centre's."""

    width: float
    height: float
    thing: Any = None
    x: float = 0.0
    y: float = 0.0
    layer: int = 0
    title: str = ""
    inside: Layout | None = None


@dataclass
class Layout:
    """Boxes in layers, and the paths of the edges between them."""

    boxes: list[Box] = field(default_factory=list)
    edges: list[tuple[Box, Box]] = field(default_factory=list)
    ways: dict[tuple[Box, Box], list[Box]] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0

    def arrange(self, across: float, down: float) -> None:
        """Places the boxes, with gaps of `across` and `down` between them; the upper left corner is (0, 0)."""
        self.edges = list(dict.fromkeys(self.edges))
        after: dict[Box, list[Box]] = {b: [] for b in self.boxes}
        before: dict[Box, list[Box]] = {b: [] for b in self.boxes}
        for a, b in self.edges:
            after[a].append(b)
            before[b].append(a)
        for box in _topological(self.boxes, before):
            box.layer = 1 + max((a.layer for a in before[box]), default=-1)
        for box in reversed(_topological(self.boxes, before)):
            if not before[box] and after[box]:  # what is only read is close above
                box.layer = min(b.layer for b in after[box]) - 1
        layers: list[list[Box]] = [[] for _ in range(1 + max((b.layer for b in self.boxes), default=-1))]
        for box in self.boxes:
            layers[box.layer].append(box)
        up: dict[Box, list[Box]] = {b: [] for b in self.boxes}
        low: dict[Box, list[Box]] = {b: [] for b in self.boxes}
        for a, b in self.edges:
            way = [a]
            for layer in range(a.layer + 1, b.layer):
                way.append(Box(8, 0, layer=layer))
                layers[layer].append(way[-1])
                up[way[-1]], low[way[-1]] = [], []
            way.append(b)
            for p, q in zip(way, way[1:]):
                low[p].append(q)
                up[q].append(p)
            self.ways[a, b] = way
        self._order(layers, up, low)
        self._place(layers, up, low, across)
        y = 0.0
        for row in layers:
            height = max((b.height for b in row), default=0)
            for box in row:
                box.y = y + height / 2
            y += height + down
        self.height = y - down if layers else 0
        everything = [b for row in layers for b in row]
        left = min((b.x - b.width / 2 for b in everything), default=0)
        for box in everything:
            box.x -= left
        self.width = max((b.x + b.width / 2 for b in everything), default=0)

    @staticmethod
    def _order(layers: list[list[Box]], up: dict[Any, Any], low: dict[Any, Any]) -> None:
        for sweep in range(8):
            rows, near = (layers, up) if sweep % 2 == 0 else (layers[::-1], low)
            for previous, row in zip(rows, rows[1:]):
                position = {b: i for i, b in enumerate(previous)}
                own = {b: i * len(previous) / max(len(row), 1) for i, b in enumerate(row)}
                row.sort(key=lambda b: _mean([position[n] for n in near[b]], own[b]))

    @staticmethod
    def _place(layers: list[list[Box]], up: dict[Any, Any], low: dict[Any, Any], across: float) -> None:
        for row in layers:
            _spread(row, [0.0] * len(row), across)
        for sweep in range(12):
            rows, near = (layers[1:], up) if sweep % 2 == 0 else (layers[-2::-1], low)
            for row in rows:
                _spread(row, [_mean([n.x for n in near[b]], b.x) for b in row], across)


def _mean(numbers: list[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _topological(boxes: list[Box], before: dict[Box, list[Box]]) -> list[Box]:
    done: dict[Box, None] = {}

    def visit(box: Box) -> None:
        stack = [(box, iter(before[box]))]
        while stack:
            top, rest = stack[-1]
            following = next((b for b in rest if b not in done), None)
            if following is None:
                done[top] = None
                stack.pop()
            else:
                stack.append((following, iter(before[following])))

    for box in boxes:
        if box not in done:
            visit(box)
    return list(done)


def _spread(row: list[Box], wanted: list[float], gap: float) -> None:
    """Gives the boxes of a row the positions nearest to those wanted at which none overlap (pools of neighbours)."""
    offsets, at = [], 0.0
    for i, box in enumerate(row):
        at += (row[i - 1].width + box.width) / 2 + gap if i else 0.0
        offsets.append(at)
    pools: list[tuple[float, int]] = []
    for place, offset in zip(wanted, offsets):
        pools.append((place - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n)]
    starts = [start for start, count in pools for _ in range(count)]
    for box, start, offset in zip(row, starts, offsets):
        box.x = start + offset


def bytes_text(size: int | None) -> str:
    """A number of bytes in words."""
    if size is None:
        return "? B"
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"


def _source(place: tuple[Any, ...] | None) -> str:
    """The piece of source that an op comes from."""
    if place is None:
        return ""
    file, line, start, end = place
    text = linecache.getline(file, line).encode()[start:end].decode(errors="replace") if end > start else ""
    return f"line {line}" + (f": {text}" if text else "")


def _op_class(op: Op, nest: Nest) -> str:
    if not nest.loops:
        return "op routine"
    return f"op {op.kind}" if op.kind in ("load", "store", "reduce") else "op"


def _op_box(op: Op) -> Box:
    label = op.name
    if op.kind == "load":
        label += " " + ", ".join(buffer.name for buffer in op.reads)
    elif op.puts is not None:
        label += " " + op.puts.name
    box = Box(len(label) * CHARACTER + 18, HEIGHT, op, title=label)
    return box


def _nest_text(number: int, nest: Nest) -> str:
    lines = sorted({op.place[1] for op in nest.ops if op.place and op.kind != "store"}) or [op.place[1] for op in nest.ops if op.place]
    where = "" if not lines else f", line {lines[0]}" if lines[0] == lines[-1] else f", lines {lines[0]}-{lines[-1]}"
    times = "" if nest.iterations == 1 else f", run {'?' if nest.iterations is None else nest.iterations} times"
    what = f"routine {number}" if not nest.loops else f"nest {number}: {nest.loops} loop{'s' * (nest.loops > 1)}"
    return what + where + times


def _nest_box(number: int, nest: Nest) -> Box:
    boxes = {op: _op_box(op) for op in nest.ops}
    inside = Layout(list(boxes.values()), [(boxes[u], boxes[o]) for o in nest.ops for u in o.takes if u in boxes])
    inside.arrange(14, 20)
    title = _nest_text(number, nest)
    width = max(inside.width, len(title) * 6.8) + 32
    return Box(width, inside.height + 54, nest, title=title, inside=inside)


def _buffer_box(buffer: Buffer) -> Box:
    lengths = ["?" if n is None else str(n) for n in buffer.shape or ()]
    title = f"{buffer.dtype} ({', '.join(lengths)}{',' if len(lengths) == 1 else ''})"
    width = max(len(buffer.name) * CHARACTER, len(title) * 6.8, 60) + 20
    return Box(width, 40, buffer, title=title)


class _Drawing:
    """Collects the boxes and edges of all nests, and writes them."""

    def __init__(self, fusion: Fusion) -> None:
        self.fusion = fusion
        self.layout = Layout()
        self.parts: list[str] = []
        self.flows: list[tuple[Box, Box, str, int | None]] = []
        self.nest_of: dict[Op, Box] = {}
        self._connect()
        self.layout.arrange(46, 58)

    def _connect(self) -> None:
        """Makes a box for each state of memory: what is written after it was read is a new one."""
        current: dict[Buffer, Box] = {}
        fresh: set[Buffer] = set()
        for number, nest in enumerate(self.fusion.nests, 1):
            box = _nest_box(number, nest)
            self.layout.boxes.append(box)
            for buffer, size in nest.read.items():
                if buffer not in current:
                    current[buffer] = self._memory(buffer)
                fresh.discard(buffer)
                self._flow(current[buffer], box, "reads", size)
            for op in nest.ops:
                self.nest_of[op] = box
            for maker in dict.fromkeys(self.nest_of[u] for o in nest.ops for u in o.takes):
                if maker is not box:
                    self._flow(maker, box, "number", None)
            for buffer, size in nest.written.items():
                if buffer not in fresh:
                    current[buffer] = self._memory(buffer)
                    fresh.add(buffer)
                self._flow(box, current[buffer], "writes", size)

    def _memory(self, buffer: Buffer) -> Box:
        self.layout.boxes.append(_buffer_box(buffer))
        return self.layout.boxes[-1]

    def _flow(self, a: Box, b: Box, kind: str, size: int | None) -> None:
        self.layout.edges.append((a, b))
        self.flows.append((a, b, kind, size))

    def text(self) -> str:
        margin, top = 24.0, 76.0
        heading, summary = f"{self.fusion.name}", self._summary()
        width = max(self.layout.width, len(summary) * 7, 360) + 2 * margin
        left = (width - self.layout.width) / 2
        height = self.layout.height + top + margin
        for flow in self.flows:
            self._edge(*flow)
        edges, self.parts = self.parts, []
        for box in self.layout.boxes:
            self._nest(box) if box.inside else self._buffer(box)
        labels = [self._label(*flow) for flow in self.flows]
        return (
            "\n".join(
                [
                    f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
                    f"<title>{escape(heading)}: {escape(summary)}</title>",
                    f"<style>{STYLE}</style>",
                    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
                    'orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0 8 4 0 8z" fill="context-stroke"/></marker></defs>',
                    f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
                    f'<text class="title" x="{margin}" y="32">{escape(heading)}</text>',
                    f'<text class="soft" x="{margin}" y="52">{escape(summary)}</text>',
                    f'<g transform="translate({left:.1f} {top})">',
                    *edges,
                    *self.parts,
                    *labels,
                    "</g>",
                    "</svg>",
                ]
            )
            + "\n"
        )

    def _summary(self) -> str:
        nests = self.fusion.nests
        loops = sum(1 for n in nests if n.loops)
        ops = sum(1 for n in nests for o in n.ops if o.kind not in ("load", "store"))
        moved, least = self.fusion.moved, self.fusion.least
        ratio = f" ({moved / least:.2f} times)" if moved and least else ""
        counts = f"{ops} {'op' if ops == 1 else 'ops'} in {loops} {'nest' if loops == 1 else 'nests'}"
        return f"{counts}; {bytes_text(moved)} moved, {bytes_text(least)} at least{ratio}"

    def _points(self, a: Box, b: Box) -> list[tuple[float, float]]:
        between = [(p.x, p.y) for p in self.layout.ways[a, b][1:-1]]
        return [(self._port(a, b, 0), a.y + a.height / 2), *between, (self._port(b, a, -1), b.y - b.height / 2)]

    def _port(self, box: Box, other: Box, end: int) -> float:
        """Where along its lower (`end` 0) or upper side an edge ends at a box: next to the others, in their order."""
        ways = [way for edge, way in self.layout.ways.items() if edge[end] is box]
        ways.sort(key=lambda way: way[1 if end == 0 else -2].x)
        place = next(i for i, way in enumerate(ways) if way[-1 if end == 0 else 0] is other)
        gap = min(26.0, (box.width - 30) / len(ways))
        return box.x + (place - (len(ways) - 1) / 2) * gap

    def _edge(self, a: Box, b: Box, kind: str, size: int | None) -> None:
        largest = max((s or 0 for *_, s in self.flows), default=0)
        width = 1.5 if not size or not largest else 1.5 + 3.5 * size / largest
        path = _curve(self._points(a, b))
        self.parts.append(f'<path class="edge {kind}" style="stroke-width: {width:.2f}px" d="{path}" marker-end="url(#tip)"/>')

    def _label(self, a: Box, b: Box, kind: str, size: int | None) -> str:
        text = "a number" if kind == "number" else bytes_text(size)
        points = self._points(a, b)
        (x0, y0), (x1, y1) = points[:2] if a.inside is None else points[-2:]
        return f'<text class="bytes" text-anchor="middle" x="{(x0 + x1) / 2:.1f}" y="{(y0 + y1) / 2 + 4:.1f}">{text}</text>'

    def _buffer(self, box: Box) -> None:
        buffer: Buffer = box.thing
        x, y = box.x - box.width / 2, box.y - box.height / 2
        self.parts += [
            f'<g class="memory"><title>{escape(buffer.name)}: {escape(box.title)}, {bytes_text(buffer.bytes)}</title>',
            f'<rect class="{buffer.kind}" x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height}" rx="3"/>',
            f'<text text-anchor="middle" x="{box.x:.1f}" y="{box.y - 3:.1f}">{escape(buffer.name)}</text>',
            f'<text class="soft small" text-anchor="middle" x="{box.x:.1f}" y="{box.y + 12:.1f}">{escape(box.title)}</text></g>',
        ]

    def _nest(self, box: Box) -> None:
        nest: Nest = box.thing
        assert box.inside is not None
        x, y = box.x - box.width / 2, box.y - box.height / 2
        self.parts += [
            f'<g class="nest-group"><title>{escape(box.title)}</title>',
            f'<rect class="nest" x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="8"/>',
            f'<text class="soft small" x="{x + 12:.1f}" y="{y + 18:.1f}">{escape(box.title)}</text>',
            f'<g transform="translate({box.x - box.inside.width / 2:.1f} {y + 36:.1f})">',
        ]
        for a, b in box.inside.edges:
            way = box.inside.ways[a, b]
            points = [(a.x, a.y + a.height / 2), *((p.x, p.y) for p in way[1:-1]), (b.x, b.y - b.height / 2)]
            self.parts.append(f'<path class="edge" d="{_curve(points)}" marker-end="url(#tip)"/>')
        for op in box.inside.boxes:
            self.parts += [
                f"<g><title>{escape(_source(op.thing.place))} {escape(op.thing.dtype)}</title>",
                f'<rect class="{_op_class(op.thing, nest)}" x="{op.x - op.width / 2:.1f}" y="{op.y - HEIGHT / 2:.1f}" '
                f'width="{op.width:.1f}" height="{HEIGHT}" rx="12"/>',
                f'<text text-anchor="middle" x="{op.x:.1f}" y="{op.y + 4:.1f}">{escape(op.title)}</text></g>',
            ]
        self.parts.append("</g></g>")


def _curve(points: list[tuple[float, float]]) -> str:
    """A smooth way down through points."""
    x0, y0 = points[0]
    path = f"M{x0:.1f} {y0:.1f}"
    for x1, y1 in points[1:]:
        middle = (y0 + y1) / 2
        path += f" C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
        x0, y0 = x1, y1
    return path


def svg(fusion: Fusion) -> str:
    """The drawing as the contents of an SVG file, which needs nothing else."""
    return _Drawing(fusion).text()
