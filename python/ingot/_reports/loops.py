"""What becomes of each loop, in the user's lines: how many lanes it has, whether threads share it, what is fused in it, or why not.

The text form of the IR that codegen is given is read (docs/ir.md). A loop of the source may have become several: strips, versions
with and without checks. They are reported as one, which is as quick as the quickest of them.
"""

from __future__ import annotations

import ast
import functools
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import fusion

Line = tuple[str, int]
"""A file, and a line of it."""

_LANES_OF_REDUCTIONS = 32  # of base/reduction.h
_OWN = str(Path(__file__).parent.parent) + "/"
_WIDEST = 50  # of a line of the source
_NO_WORK = {"yield", "exit", "return", "constant", "result", "length", "stride"}


@dataclass
class Loop:
    """A loop of the source, or several in one line."""

    line: Line
    lanes_of_plain: int = 0
    """How many iterations run at once; 0: there are reductions alone."""
    lanes_of_reductions: int = 1
    """The same of reductions, as which what a loop may raise is looked for, too."""
    is_shared: bool = False
    is_inside_shared: bool = False
    inside: dict[Line, Loop] = field(default_factory=dict)
    around: dict[Line, Loop] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)
    """Those of the operations in it, in the same file."""

    @property
    def lanes(self) -> int:
        return self.lanes_of_plain or self.lanes_of_reductions


def _line_of(node: fusion.Node) -> Line | None:
    """The line of a node; of a loop of Ingot's own, as what comes of derivatives is written by, that of the last operation in it."""
    if node.place is None or not node.is_loop or not node.place[0].startswith(_OWN):
        return None if node.place is None else node.place[:2]
    users = [inner.place[:2] for inner in node.inside() if inner.place is not None and not inner.place[0].startswith(_OWN)]
    return users[-1] if users else node.place[:2]


class _Reader:
    """Reads functions of the text form, and puts the loops of one line together."""

    def __init__(self) -> None:
        self.loops: dict[Line, Loop] = {}

    def read(self, region: fusion.Region, around: list[Loop], is_shared: bool) -> None:
        for node in region.nodes:
            line = _line_of(node)
            inner = around
            if node.is_loop and line is not None:
                loop = self.loops.setdefault(line, Loop(line))
                self._add(loop, node, is_shared)
                for outer in around:
                    if outer is not loop:
                        outer.inside[line] = loop
                        loop.around[outer.line] = outer
                inner = [*around, loop]
            elif node.op not in _NO_WORK and line is not None:
                for outer in around:
                    if line[0] == outer.line[0]:
                        outer.lines.add(line[1])
            for each in node.regions:
                self.read(each, inner, is_shared or node.op == "share")

    @staticmethod
    def _add(loop: Loop, node: fusion.Node, is_shared: bool) -> None:
        schedule = re.search(r"schedule=(\w+)", node.rest)
        word = schedule[1] if schedule else "serial"
        width = re.search(r"width=(\d+)", node.rest)
        count = int(width[1]) if width is not None and "vector" in word else 0
        if node.op == "parallel_for" and "vector" in word:
            loop.lanes_of_reductions = max(loop.lanes_of_reductions, count or _LANES_OF_REDUCTIONS)
        elif count > 1 or "vector" not in word and not any(inner.is_loop for inner in node.inside()):
            loop.lanes_of_plain = max(loop.lanes_of_plain, count, 1)
        shares = is_shared and "threads" in word
        loop.is_shared = loop.is_shared or shares
        loop.is_inside_shared = loop.is_inside_shared or (is_shared and not shares)


@functools.lru_cache(maxsize=8)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _statement(line: Line) -> ast.stmt | None:
    """The innermost statement that a line is in."""
    tree = _tree("".join(linecache.getlines(line[0])))
    found: ast.stmt | None = None
    nodes: list[ast.AST] = [] if tree is None else [tree]
    while nodes:
        node = nodes.pop()
        for child in ast.iter_child_nodes(node):
            first, last = getattr(child, "lineno", None), getattr(child, "end_lineno", None)
            if first is None or last is None or first <= line[1] <= last:
                nodes.append(child)
                if isinstance(child, ast.stmt) and (found is None or child.lineno >= found.lineno):
                    found = child
    return found


def _listed(lines: list[int]) -> str:
    """`line 3`, `lines 3 and 5`, `lines 3, 5 and 8`."""
    if len(lines) == 1:
        return f"line {lines[0]}"
    return f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"


def _fused(loop: Loop) -> str:
    """The lines whose operations the loop does besides those of its own statement."""
    own = _statement(loop.line)
    span = range(loop.line[1], loop.line[1] + 1) if own is None else range(own.lineno, (own.end_lineno or own.lineno) + 1)
    others = sorted(number for number in loop.lines if number not in span)
    return f"fused with {_listed(others)}" if others else ""


def _because(obstacle: tuple[Any, ...], loop: Loop) -> str:
    """An obstacle with its lines, where these are neither the loop's own nor that of the function."""
    what, *places = obstacle[:3]
    numbers = {place[1] for place in places if place[0] == loop.line[0]} - {loop.line[1]}
    lines = sorted(number for number in numbers if not isinstance(_statement((loop.line[0], number)), ast.FunctionDef))
    return f"{what} ({_listed(lines)})" if lines else what


def _why(obstacles: list[tuple[Any, ...]], loop: Loop, which: int) -> str:
    """Why a loop has no lanes (1), or is not shared (2); empty: that is not known."""
    known = [each[which] for each in obstacles if each[0][:2] == loop.line and each[which] is not None]
    return _because(known[-1], loop) if known else ""  # that of what is innermost


def _lines_of(loops: list[Loop]) -> str:
    return _listed(sorted({loop.line[1] for loop in loops}))


def _words(loop: Loop, obstacles: list[tuple[Any, ...]]) -> Iterator[str]:
    lanes, threads = _why(obstacles, loop, 1), _why(obstacles, loop, 2)
    inside, around = list(loop.inside.values()), list(loop.around.values())
    is_shared = loop.is_shared or loop.is_inside_shared
    refused = ""
    if loop.lanes > 1:
        yield f"vectorised by {loop.lanes}"
    elif outer := [each for each in around if each.lanes > 1]:
        yield f"in the lanes of {_lines_of(outer)}"
    elif quick := [each for each in inside if each.lanes > 1]:
        yield f"vectorised in {_lines_of(quick)}"
    else:
        refused = f"not vectorised: {lanes}" if lanes else "not vectorised"
    if refused and lanes == threads and lanes and not is_shared:
        yield f"neither vectorised nor shared: {lanes}"
        return
    if refused:
        yield refused
    if loop.is_shared:
        yield "shared among threads if it is long"
    elif not is_shared and (shared := [each for each in inside if each.is_shared]):
        yield f"shared among threads in {_lines_of(shared)}"
    elif not is_shared and threads:
        yield f"not shared: {threads}"
    if fused := _fused(loop):
        yield fused


def read(text: str) -> list[Loop]:
    """The loops in the text form of a module."""
    reader = _Reader()
    for name in fusion.names_of(text):
        reader.read(fusion.parse(text, name), [], False)
    return list(reader.loops.values())


def kinds(obstacles: list[Any], loop: Loop) -> tuple[str, str]:
    """The names of why a loop has no lanes, and why it is not shared (`ObstacleKind` of transform/obstacles.h); empty: there is none."""
    known = [each for each in obstacles if each[0][:2] == loop.line]
    lanes, threads = ([each[k][3] for each in known if each[k] is not None] for k in (1, 2))
    return (lanes[-1] if lanes and loop.lanes == 1 else "", threads[-1] if threads and not loop.is_shared else "")


def words_of(loop: Loop, obstacles: list[Any]) -> str:
    """What became of a loop."""
    return "; ".join(_words(loop, obstacles))


def shown(text: str, obstacles: list[Any], file: str) -> str:
    """A line for each loop in the text form of a module; `file` is that of the function, whose lines have numbers alone."""
    loops = sorted(read(text), key=lambda loop: (loop.line[0] != file, loop.line[0].startswith(_OWN), loop.line))
    if not loops:
        return "none"
    rows = []
    for loop in loops:
        name, number = loop.line
        if name.startswith(_OWN):
            rows.append(("Ingot", "a loop of its own", words_of(loop, obstacles)))
            continue
        written = linecache.getline(name, number).strip()
        if len(written) > _WIDEST:
            written = f"{written[: _WIDEST - 1]}…"
        where = f"line {number}" if name == file else f"{Path(name).name}:{number}"
        rows.append((where, written, words_of(loop, obstacles)))
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    return "\n".join(f"{where:{first}}  {written:{second}}  {words}" for where, written, words in rows)
