"""Profiles of several runs side by side: a line for each operation or path, a column for each run."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .rows import Row, path_text


class Cell(NamedTuple):
    """What a run has of a line."""

    seconds: float
    calls: int
    bytes_up: int
    bytes_down: int
    implementations: tuple[str, ...]


class Line(NamedTuple):
    """An operation, or a path: a cell of each run; None: the run has no such rows."""

    text: str
    kind: str
    cells: tuple[Cell | None, ...]

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """Of each run to the first, in seconds."""
        first = self.cells[0]
        return tuple(None if not first or not cell or not first.seconds else cell.seconds / first.seconds for cell in self.cells)

    @property
    def loss(self) -> float:
        """The seconds that the slowest of the other runs takes more than the first; of one run alone its seconds."""
        seconds = [cell.seconds if cell else 0.0 for cell in self.cells]
        return max(s - seconds[0] for s in seconds[1:]) if len(seconds) > 1 else seconds[0]


class Table(NamedTuple):
    by: str
    """`operation` or `path`."""
    runs: tuple[str, ...]
    lines: tuple[Line, ...]
    """Those where the most is lost come first."""
    total: Line
    """The rows that none is around, and whose time is no device's; its calls and bytes are those of all rows."""


def _group(row: Row) -> str:
    """Calls of one name are compared, by whichever implementation they run."""
    return "call" if row.kind in ("region", "compiled") else row.kind


def _summed(rows: Iterable[Row], left_out: set[int], own: bool = False) -> Cell:
    """`left_out`: the rows of which the seconds do not count."""
    rows = list(rows)
    named = dict.fromkeys(row.implementation for row in rows if row.implementation)
    return Cell(
        seconds=sum(row.own if own else row.seconds for row in rows if id(row) not in left_out),
        calls=sum(row.calls for row in rows),
        bytes_up=sum(row.bytes_up for row in rows),
        bytes_down=sum(row.bytes_down for row in rows),
        implementations=tuple(named),
    )


def _inside_itself(rows: Sequence[Row]) -> set[int]:
    """Rows whose seconds are those of a row around, of the same operation, too."""
    places = {(row.path, _group(row)) for row in rows}

    def is_inside(row: Row) -> bool:
        names = row.path[:-1]
        return any(names[i] == row.name and (names[: i + 1], _group(row)) in places for i in range(len(names)))

    return {id(row) for row in rows if is_inside(row)}


def _not_outermost(rows: Sequence[Row]) -> set[int]:
    """Rows that have a row around, or whose time is a device's."""
    paths = {row.path for row in rows}
    return {id(row) for row in rows if row.path[:-1] in paths or row.kind == "kernel" or row.kind == "region" and row.device}


def merged(runs: Sequence[tuple[str, Sequence[Row]]], by: str = "operation", own: bool = False) -> Table:
    """The table of runs, each a name and rows. Lines are those of all runs: where one has none, it is empty.

    `own`: seconds are those that are not in rows inside; the total is of whole seconds all the same.
    """
    found: dict[tuple[Any, ...], list[list[Row]]] = {}
    inside: set[int] = set()
    for number, (_, rows) in enumerate(runs):
        if by == "operation" and not own:
            inside |= _inside_itself(rows)
        for row in rows:
            key = (row.name if by == "operation" else row.path, _group(row))
            found.setdefault(key, [[] for _ in runs])[number].append(row)
    lines = [
        Line(what if by == "operation" else path_text(what), kind, tuple(_summed(rows, inside, own) if rows else None for rows in of_runs))
        for (what, kind), of_runs in found.items()
    ]
    lines.sort(key=lambda line: (-line.loss, line.text, line.kind))
    whole = tuple(_summed(rows, _not_outermost(rows)) for _, rows in runs)
    return Table(by, tuple(name for name, _ in runs), tuple(lines), Line("total", "call", whole))


def time_text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1e9:.3g} ns" if seconds else "0"


def line_text(line: Line) -> str:
    """What a line is called where its kind has to be named."""
    return f"{line.text} ({line.kind})" if line.kind == "kernel" else line.text


def ratio_text(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def as_text(table: Table) -> str:
    """The table for a terminal."""
    head = [table.by]
    for number, run in enumerate(table.runs):
        head += [run, ""] if number == 0 else [run, "", f"/{table.runs[0]}"]
    rows = [[_on_one_line(text) for text in head]]
    for line in (*table.lines, table.total):
        cells = [_on_one_line(line_text(line))]
        for number, (cell, ratio) in enumerate(zip(line.cells, line.ratios)):
            cells.append("-" if cell is None else time_text(cell.seconds))
            cells.append(_on_one_line(", ".join(cell.implementations)) if cell and line is not table.total else "")
            if number:
                cells.append(ratio_text(ratio))
        rows.append(cells)
    widths = [max(map(len, column)) for column in zip(*rows)]
    is_left = [place == 0 or not head[place] for place in range(len(head))]
    texts = ["  ".join(c.ljust(w) if left else c.rjust(w) for c, w, left in zip(cells, widths, is_left)).rstrip() for cells in rows]
    rule = "-" * max(map(len, texts))
    return "\n".join([texts[0], rule, *texts[1:-1], rule, texts[-1]])


def _on_one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def save_table(file: str | os.PathLike, table: Table) -> None:
    """Writes the table as CSV; the total is its last row."""
    head = [table.by, "kind", "loss"]
    for run in table.runs:
        head += [f"{run} {what}" for what in ("seconds", "ratio", "calls", "bytes_up", "bytes_down", "implementation")]
    with open(file, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(head)
        for line in (*table.lines, table.total):
            cells: list[object] = [line.text, line.kind if line is not table.total else "total", repr(line.loss)]
            for cell, ratio in zip(line.cells, line.ratios):
                if cell is None:
                    cells += [""] * 6
                    continue
                named = "" if line is table.total else ", ".join(cell.implementations)
                cells += [repr(cell.seconds), "" if ratio is None else repr(ratio), cell.calls, cell.bytes_up, cell.bytes_down, named]
            writer.writerow(cells)
