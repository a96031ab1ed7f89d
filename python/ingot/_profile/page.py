"""The table of runs as a page of HTML: one file, without scripts, with bars for each line."""

from __future__ import annotations

import os
from html import escape

from .merge import Cell, Line, Table, line_text, ratio_text, time_text

_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c1f23; --faint: #6a727c; --rule: #d5d9de; --lane: #eef0f3;
  --r0: #2f6fb3; --r1: #c4612a; --r2: #3f8f52; --r3: #8a56b0; --r4: #a38a1d; --r5: #b0486e; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e6e9ed; --faint: #98a1ac; --rule: #343a42; --lane: #22272d;
    --r0: #6ba7e6; --r1: #e8935f; --r2: #74c487; --r3: #bd92df; --r4: #d6bd55; --r5: #e286a8; } }
body { background: var(--paper); color: var(--ink); font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0 0 .3rem; }
p { color: var(--faint); margin: 0 0 1.2rem; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; border-bottom: 2px solid var(--rule); padding: .3rem .5rem; }
td { padding: .1rem .5rem; vertical-align: middle; }
tbody { border-bottom: 1px solid var(--rule); }
tbody tr:first-child td { padding-top: .4rem; } tbody tr:last-child td { padding-bottom: .4rem; }
td.name { vertical-align: top; overflow-wrap: anywhere; width: 26%; }
td.run { color: var(--faint); white-space: nowrap; } td.bar { width: 34%; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.kind { color: var(--faint); font-size: .85em; }
.lane { background: var(--lane); height: .8rem; border-radius: 2px; } .lane div { height: 100%; border-radius: 2px; min-width: 1px; }
.missing td { color: var(--faint); font-style: italic; }
tfoot td { font-weight: 600; } tfoot tr:first-child td { padding-top: .6rem; }
"""
_COLOURS = 6


def save_page(file: str | os.PathLike, table: Table) -> None:
    """Writes the page."""
    with open(file, "w", encoding="utf-8") as out:
        out.write(as_page(table))


def as_page(table: Table) -> str:
    longest = max((cell.seconds for line in table.lines for cell in line.cells if cell), default=0.0)
    runs = ", ".join(map(escape, table.runs))
    order = "where most is lost compared with the first run, first" if len(table.runs) > 1 else "longest first"
    parts = [
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Profiles: {runs}</title>',
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>',
        f"<h1>{runs}</h1>\n<p>Seconds by {table.by}, {order}.</p>\n<table>",
        f'<thead><tr><th>{table.by}</th><th>run</th><th class="number">time</th><th></th><th class="number">ratio</th>'
        '<th class="number">calls</th><th class="number">bytes up</th><th class="number">bytes down</th><th>implementation</th></tr></thead>',
        *("<tbody>" + "".join(_rows(table, line, longest)) + "</tbody>" for line in table.lines),
        "<tfoot>" + "".join(_rows(table, table.total, max((c.seconds for c in table.total.cells if c), default=0.0))) + "</tfoot>",
        "</table></body></html>\n",
    ]
    return "\n".join(parts)


def _rows(table: Table, line: Line, longest: float) -> list[str]:
    rows = []
    for number, (run, cell, ratio) in enumerate(zip(table.runs, line.cells, line.ratios)):
        name = f'<td class="name" rowspan="{len(table.runs)}">{escape(line_text(line))}</td>' if number == 0 else ""
        if cell is None:
            rows.append(f'<tr class="missing">{name}<td class="run">{escape(run)}</td><td class="number">-</td><td colspan="6">not in this run</td></tr>')
        else:
            rows.append(f"<tr>{name}<td class=\"run\">{escape(run)}</td>{_cells(cell, ratio, number, longest, line is table.total)}</tr>")
    return rows


def _cells(cell: Cell, ratio: float | None, number: int, longest: float, is_total: bool) -> str:
    width = 100 * cell.seconds / longest if longest else 0
    bar = f'<div class="lane"><div style="width:{width:.2f}%;background:var(--r{number % _COLOURS})"></div></div>'
    named = "" if is_total else escape(", ".join(cell.implementations))
    numbers = (ratio_text(ratio) if number else "", f"{cell.calls:,}", f"{cell.bytes_up:,}", f"{cell.bytes_down:,}")
    right = "".join(f'<td class="number">{text}</td>' for text in numbers)
    return f'<td class="number">{time_text(cell.seconds)}</td><td class="bar">{bar}</td>{right}<td>{named}</td>'
