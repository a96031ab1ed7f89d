"""What becomes of each loop, in the user's lines: how many lanes it has, whether threads share it, what is fused in it, or why not.

The core finds them in the IR that codegen is given (`Stage.loops`). A loop of the source may have become several: strips, versions
with and without checks. They are reported as one, which is as quick as the quickest of them.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._core import Loop, Stage

Line = tuple[str, int]
"""A file, and a line of it."""

_OWN = str(Path(__file__).parent.parent) + "/"
_WIDEST = 50  # of a line of the source


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
    inside, around = loop.inside, loop.around
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


def read(stage: Stage) -> list[Loop]:
    """The loops of the IR that codegen is given."""
    return stage.loops(_OWN)


def kinds(obstacles: list[Any], loop: Loop) -> tuple[str, str]:
    """The names of why a loop has no lanes, and why it is not shared (`ObstacleKind` of transform/analyses/obstacles.h); empty: there is none."""
    known = [each for each in obstacles if each[0][:2] == loop.line]
    lanes, threads = ([each[k][3] for each in known if each[k] is not None] for k in (1, 2))
    return (lanes[-1] if lanes and loop.lanes == 1 else "", threads[-1] if threads and not loop.is_shared else "")


def words_of(loop: Loop, obstacles: list[Any]) -> str:
    """What became of a loop."""
    return "; ".join(_words(loop, obstacles))


def shown(stage: Stage, obstacles: list[Any], file: str) -> str:
    """A line for each loop of the IR that codegen is given; `file` is that of the function, whose lines have numbers alone."""
    loops = sorted(read(stage), key=lambda loop: (loop.line[0] != file, loop.line[0].startswith(_OWN), loop.line))
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
