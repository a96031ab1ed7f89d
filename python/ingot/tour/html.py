"""The report of the tour: one HTML file that needs nothing else, for light and for dark screens."""

from __future__ import annotations

import base64
import inspect
import io
import keyword
import tempfile
import tokenize
from html import escape
from pathlib import Path
from typing import Any

import ingot

from . import charts
from .report import PEERS, cell, families, fastest, means, peaks_text, reached, seconds

STYLE = """
:root { color-scheme: light dark; --paper: #fbfbfa; --card: #ffffff; --ink: #1b2430; --soft: #5c6878; --line: #dde2e9;
  --accent: #0b5c8a; --good: #00795a; --bad: #b3261e; --ring: #1b2430;
  --0: #0072b2; --1: #e69f00; --2: #d55e00; --3: #009e73; --4: #cc79a7; --5: #56b4e9; }
@media (prefers-color-scheme: dark) { :root { --paper: #0f1318; --card: #171d25; --ink: #e7ebf1; --soft: #9aa6b6;
  --line: #2b3442; --accent: #7cc4f0; --good: #35c79b; --bad: #ff8a80; --ring: #ffffff;
  --0: #3d9bd9; --1: #f0b429; --2: #ee7733; --3: #1fbf91; --4: #dd8fbb; --5: #8fd0f5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans",
  sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 36px 24px 80px; }
h1 { font-size: 30px; margin: 0 0 4px; letter-spacing: -0.01em; } h2 { font-size: 20px; margin: 44px 0 8px; }
h3 { font-size: 14px; margin: 0 0 8px; } p { margin: 4px 0 12px; max-width: 80ch; } .soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; margin: 24px 0 8px; }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.tile b { display: block; font-size: 25px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; } .tile i { display: block; height: 4px; border-radius: 2px; margin: 0 0 8px; }
.columns { display: flex; flex-wrap: wrap; gap: 0 16px; } .columns > div { flex: 1 1 460px; min-width: 0; }
.card { margin: 0 0 16px; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 8px 0 14px; font-size: 13px; color: var(--soft); }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; vertical-align: -1px; }
.legend .ring { border: 2px solid var(--ring); border-radius: 50%; }
svg.chart { display: block; width: 100%; height: auto; }
.chart text { font: 11px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--soft); }
.chart .name { fill: var(--ink); } .chart .value { font-size: 9px; } .chart .failed { font-size: 9.5px; fill: var(--bad); }
.grid { stroke: var(--line); } .one { stroke: var(--ink); stroke-width: 1.2; }
.roof { fill: none; stroke: var(--ink); stroke-width: 2; } .roof.all { stroke-dasharray: 6 4; stroke: var(--soft); }
.peer { opacity: 0.65; } .ingot { fill: none; stroke: var(--ring); stroke-width: 2; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 4px 10px; white-space: nowrap; } th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid var(--line); font-weight: 600; padding: 10px; }
tbody tr + tr td { border-top: 1px solid var(--line); } tbody th { color: var(--soft); font-weight: 600; padding-top: 14px; }
td.best { color: var(--good); font-weight: 700; } td.bad { color: var(--bad); } td.none { color: var(--line); }
details { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: 6px 0; }
summary { cursor: pointer; padding: 8px 14px; display: flex; gap: 16px; justify-content: space-between; }
summary code { font-weight: 600; } summary span { color: var(--soft); font-size: 13px; }
.inside { padding: 2px 16px 14px; border-top: 1px solid var(--line); overflow-x: auto; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 13px; }
pre { margin: 10px 0; line-height: 1.45; } .keyword { color: var(--accent); font-weight: 600; }
.string { color: var(--good); } .number { color: #b85400; } .comment { color: var(--soft); font-style: italic; }
@media (prefers-color-scheme: dark) { .number { color: #f0b429; } }
img { max-width: 100%; } dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 8px 0; font-size: 14px; }
dt { color: var(--soft); } dd { margin: 0; }
"""


def _highlighted(source: str) -> str:
    """Python source with marks around keywords, strings, numbers and comments."""
    kinds = {tokenize.STRING: "string", tokenize.NUMBER: "number", tokenize.COMMENT: "comment"}
    lines, parts, at = source.splitlines(keepends=True), [], (1, 0)

    def upto(end: tuple[int, int]) -> str:
        (row, column), (last, stop) = at, end
        if row == last:
            return lines[row - 1][column:stop] if row <= len(lines) else ""
        return lines[row - 1][column:] + "".join(lines[row : last - 1]) + (lines[last - 1][:stop] if last <= len(lines) else "")

    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = kinds.get(token.type)
        if token.type == tokenize.NAME and keyword.iskeyword(token.string):
            kind = "keyword"
        if kind is None:
            continue
        parts.append(escape(upto(token.start)))
        at = token.start
        parts.append(f'<span class="{kind}">{escape(upto(token.end))}</span>')
        at = token.end
    parts.append(escape(upto((len(lines) + 1, 0))))
    return "".join(parts)


def _drawing(program: Any) -> str:
    """What was fused, as an image; nothing where there is none of one call."""
    if program.calls is not None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawing.svg"
        ingot.jit(program.plain).explain(*program.arguments(True), svg=path)
        data = base64.b64encode(path.read_bytes()).decode()
    return f'<p class="soft">What was fused, for small arguments:</p><img alt="" src="data:image/svg+xml;base64,{data}">'


def _tiles(rows: list[dict[Any, Any]]) -> str:
    right = sum(row["right"] for row in rows)
    tiles = [f'<div class="tile"><i style="background: var(--ink)"></i><b>{right} of {len(rows)}</b><span>right<br>as plain Python</span></div>']
    for peer, (mean, count) in means(rows).items():
        tiles.append(
            f'<div class="tile"><i style="background: {charts.COLOURS[peer]}"></i><b>{charts.times(mean)}×</b>'
            f"<span>{escape(PEERS[peer])}<br>{count} program{'s' * (count > 1)}</span></div>"
        )
    return '<div class="tiles">' + "".join(tiles) + "</div>"


def _legend(peers: list[str], ring: bool = False) -> str:
    items = [f'<span><i style="background: {charts.COLOURS[p]}"></i>{escape(PEERS[p])}</span>' for p in peers]
    if ring:
        items.insert(0, '<span><i class="ring"></i>Ingot</span>')
    return '<div class="legend">' + "".join(items) + "</div>"


def _bars(rows: list[dict[Any, Any]]) -> str:
    """The charts of all families in two columns of about one height."""
    limits = charts.ratio_range(rows)
    columns: list[list[str]] = [[], []]
    heights = [0, 0]
    for family, members in families(rows).items():
        shorter = heights.index(min(heights))
        heights[shorter] += 6 + sum(1 + len(row["peers"]) for row in members)
        columns[shorter].append(f'<div class="card"><h3>{escape(family)}</h3>{charts.bars(members, limits)}</div>')
    return '<div class="columns">' + "".join(f"<div>{''.join(c)}</div>" for c in columns if c) + "</div>"


def _table(rows: list[dict[Any, Any]], peers: list[str]) -> str:
    heads = ["program", "plain Python", "first call", "Ingot", *(PEERS[p] for p in peers), "roof", "right"]
    body = []
    for family, members in families(rows).items():
        body.append(f'<tr><th colspan="{len(heads)}">{escape(family)}</th></tr>')
        for row in members:
            best = fastest(row)
            cells = [f"<td><code>{escape(row['name'])}</code></td>"]
            cells.append(f"<td>{seconds(row['plain_s'])}{'*' if row['plain_reduced'] else ''}</td>")
            cells.append(f"<td>{seconds(row['first_call_s'])}</td>")
            cells.append(f"<td{' class=best' if best == 'ingot' else ''}>{seconds(row['run_s'])}</td>")
            for peer in peers:
                shown, said = cell(row, peer), row["peers"].get(peer, {})
                reason = said.get("refused") or said.get("wrong")
                kind = "best" if best == peer else "bad" if reason else "none" if shown == "-" else ""
                title = f' title="{escape(reason)}"' if reason else ""
                cells.append(f'<td class="{kind}"{title}>{"–" if shown == "-" else shown}</td>')
            cells.append(f"<td>{reached(row).replace('-', '–')}</td>")
            cells.append(f"<td{'' if row['right'] else ' class=bad'}>{'yes' if row['right'] else 'NO'}</td>")
            body.append("<tr>" + "".join(cells) + "</tr>")
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def _sources(rows: list[dict[Any, Any]], programs: dict[str, Any]) -> str:
    drawn: dict[Any, str] = {}
    parts = []
    for row in rows:
        program = programs[row["name"]]
        if program.plain not in drawn:
            drawn[program.plain] = _drawing(program)
        facts = {PEERS[p]: f"{k}: {v}" for p, s in row["peers"].items() for k, v in s.items() if k in ("refused", "wrong")}
        if row["notes"]:
            facts["note"] = row["notes"]
        if row["roof"]:
            facts["roof"] = f"{seconds(row['roof']['s'])}, of {row['roof']['bound']}; {reached(row)} reached"
        listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
        parts.append(
            f"<details><summary><code>{escape(row['name'])}</code><span>{seconds(row['run_s'])}</span></summary>"
            f'<div class="inside"><pre>{_highlighted(inspect.getsource(program.plain))}</pre>'
            f"{f'<dl>{listed}</dl>' if listed else ''}{drawn[program.plain]}</div></details>"
        )
    return "".join(parts)


def page(figures: dict[Any, Any], programs: dict[str, Any]) -> str:
    """The report of figures as `run` makes them; `programs` by name, for their sources."""
    rows = figures["programs"]
    peers = [p for p in PEERS if any(p in row["peers"] for row in rows)]
    versions = ", ".join(f"{escape(n)} {escape(v)}" for n, v in figures["versions"].items())
    absent = "".join(f" {escape(p)} is left out: {escape(r)}." for p, r in figures["absent"].items())
    small = " Small arguments: times mean little." if figures["small"] else ""
    plot = charts.roofline(rows, figures["peaks"])
    roofline = f"""<h2>Roofline</h2>
<p class="soft">What memory and arithmetic allow at most, measured by kernels that Ingot compiles:
{escape(peaks_text(figures["peaks"]))}. Programs that compute nothing or whose work is not counted are left out.</p>
{_legend(peers, ring=True)}<div class="card">{plot}</div>"""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Ingot's tour, {escape(figures["date"])}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>Ingot's tour</h1>
<p class="soft">{escape(figures["date"])} · {escape(figures["cpu"])}, {figures["cores"]} cores · {escape(figures["system"])}<br>{versions}</p>
<p>Programs as people write them, run by plain Python, by Ingot and by its peers. Each result is compared with plain
Python's; times are the least of several rounds, taken alternately.{small}{absent}</p>
{_tiles(rows)}
<p class="soft">A peer's time over Ingot's: geometric means over the programs that the peer runs rightly.</p>
<h2>Times over Ingot's</h2>
<p class="soft">Bars to the right of 1: the peer takes that many times as long as Ingot; to the left: Ingot takes longer.
C++ and Numba run on one core; Numba par. and the C++ of programs with prange use all, JAX as it likes.</p>
{_legend(peers)}
{_bars(rows)}
{roofline if plot else ""}
<h2>All figures</h2>
{_table(rows, peers)}
<p class="soft">* at a reduced size. Roof: the share of what memory or arithmetic allows that Ingot reaches.
Dashes: there is no natural form, or it is not installed.</p>
<h2>Sources</h2>
{_sources(rows, programs)}
</main>
</body>
</html>
"""
