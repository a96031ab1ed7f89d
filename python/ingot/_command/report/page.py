"""The page of a report: one HTML file that needs nothing else, for light and for dark screens."""

from __future__ import annotations

import base64
import itertools
from html import escape
from pathlib import Path

from ..._reports.drawing import bytes_text
from .facts import FunctionFacts, LoopFacts, Made, Report, Wait

STYLE = """
:root { color-scheme: light dark; --paper: #fbfbfa; --card: #ffffff; --ink: #1b2430; --soft: #5c6878; --line: #dde2e9; --advice: #fdf3dd; --rim: #c98a00;
  --good: #00795a; --slow: #b3541e; --ring: #0b5c8a; }
@media (prefers-color-scheme: dark) { :root { --paper: #0f1318; --card: #171d25; --ink: #e7ebf1; --soft: #9aa6b6; --line: #2b3442; --advice: #2d2513;
  --rim: #e0a52c; --good: #35c79b; --slow: #f0a07a; --ring: #7cc4f0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 32px 24px 80px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 40px 0 4px; } h3 { font-size: 14px; margin: 18px 0 4px; }
p { margin: 4px 0 10px; max-width: 90ch; } .soft { color: var(--soft); } code, pre { font: 13px/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }
h2 code { font-size: 17px; font-weight: 700; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 10px; vertical-align: top; } th { border-bottom: 2px solid var(--line); } td.n, th.n { text-align: right; white-space: nowrap; }
tr + tr td { border-top: 1px solid var(--line); } table.source td { border: 0; padding: 0 10px; } table.source pre { margin: 0; }
table.source td.w { color: var(--soft); font-size: 12px; } .lanes { color: var(--good); } .serial { color: var(--slow); }
.advice { background: var(--advice); border-left: 4px solid var(--rim); border-radius: 4px; padding: 8px 14px; margin: 8px 0; }
.advice p { margin: 0; } details { margin: 8px 0; } summary { cursor: pointer; } img { max-width: 100%; }
svg.chart { display: block; width: 100%; height: auto; } .chart text { font: 11px system-ui, sans-serif; fill: var(--soft); } .chart .name { fill: var(--ink); }
.grid { stroke: var(--line); } .roof { fill: none; stroke: var(--ink); stroke-width: 2; } .roof.all { stroke-dasharray: 6 4; stroke: var(--soft); }
.ingot { fill: none; stroke: var(--ring); stroke-width: 2; }
"""


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns" if seconds else "0"


def _table(heads: list[str], rows: list[list[str]], numbers: range | tuple = ()) -> str:
    """Of cells that are HTML."""
    kinds = [' class="n"' if k in numbers else "" for k in range(len(heads))]
    head = "".join(f"<th{kind}>{escape(text)}</th>" for kind, text in zip(kinds, heads))
    body = "".join("<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _overview(report: Report) -> str:
    rows = []
    for k, f in enumerate(report.functions):
        loops = [loop for made in f.made for loop in made.loops if loop.is_innermost]
        rows.append(
            [
                f'<a href="#function-{k}"><code>{escape(f.name)}</code></a>',
                f"{escape(Path(f.file).name)}:{f.first_line}",
                f"{f.calls:,}",
                "not known" if f.own is None else _time(f.own),
                _time(f.compiling),
                str(len(f.made)),
                f"{sum(loop.lanes > 1 for loop in loops)} of {len(loops)}",
                str(len(f.refused)),
                str(len(f.advice)),
            ]
        )
    heads = ["function", "where", "calls", "time in it", "compiling", "compiled", "loops with lanes", "refused", "advice"]
    return _table(heads, rows, range(2, 9))


def _compiled(f: FunctionFacts) -> str:
    rows = []
    for made in f.made:
        steps = ", ".join(f"{step} {_time(seconds)}" for step, seconds in made.seconds.items()) or "loaded from the cache"
        rows.append([f"{made.after:.3f} s", f"<code>{escape(made.arguments)}</code>", escape(made.why), escape(steps), escape(made.code), f"{made.calls:,}"])
    return _table(["after", "compiled for", "why", "took", "code", "calls"], rows, (0, 5))


def _marks(f: FunctionFacts) -> dict[int, list[str]]:
    """The remarks on each line of the function: its loops, and what is moved for it."""
    marks: dict[int, list[str]] = {}
    for made in f.made:
        for loop in made.loops:
            if loop.line[0] == f.file:
                _add(marks, loop.line[1], _loop(loop))
    for made in f.made[-1:]:
        for nest in made.nests:
            if nest.line is not None and nest.line[0] == f.file and nest.bytes is not None:
                others = [number for number in nest.lines if number != nest.line[1]]
                lines = f" with line{'s' * (len(others) > 1)} {', '.join(map(str, others))}" if others else ""
                ops = f"{nest.ops} operation{'s' * (nest.ops != 1)}"
                _add(marks, nest.line[1], escape(f"moves {bytes_text(nest.bytes)} a call{lines}, {ops} for each element"))
    return marks


def _add(marks: dict[int, list[str]], line: int, text: str) -> None:
    if text not in marks.setdefault(line, []):
        marks[line].append(text)


def _loop(loop: LoopFacts) -> str:
    checks = f"; looks for {', '.join(loop.checks)} in each iteration" if loop.checks else ""
    return f'<span class="{"lanes" if loop.lanes > 1 else "serial"}">{escape(loop.words + checks)}</span>'


def _source(f: FunctionFacts) -> str:
    marks = _marks(f)
    rows = []
    for number, text in enumerate(f.source, f.first_line):
        beside = "<br>".join(marks.get(number, ()))
        rows.append(f'<tr><td class="n soft">{number}</td><td><pre>{escape(text)}</pre></td><td class="w">{beside}</td></tr>')
    return f'<div class="scroll"><table class="source">{"".join(rows)}</table></div>'


_WHY = {
    "number": "The later ones use a number that all elements give.",
    "routine": "One of them is a routine, which works on whole arrays.",
    "reduction": "Loops that store a new array, and loops that reduce, are not put into one.",
    "": "They have other loops, or another order.",
}


def _wait(wait: Wait) -> str:
    """Why loops were not fused, as the names of reasons have it."""
    written, read = (f"line {line[1]}" if line is not None else "Ingot's own loops" for line in (wait.written, wait.read))
    return f"Not fused: {bytes_text(wait.bytes)} are written in the loops of {written} and read in those of {read}. {_WHY[wait.reason]}"


def _fused(f: FunctionFacts) -> str:
    parts = []
    for made in f.made:
        if made.drawing:
            moved = "" if made.moved is None or not made.least else f"; {bytes_text(made.moved)} moved a call, {bytes_text(made.least)} at least"
            data = base64.b64encode(made.drawing.encode()).decode()
            picture = f'<img alt="the loop nests and what they read and write" src="data:image/svg+xml;base64,{data}">'
            apart = "".join(f"<p>{escape(_wait(wait))}</p>" for wait in made.waits)
            parts.append(f"<details><summary>What was fused, for <code>{escape(made.arguments)}</code>{escape(moved)}</summary>{apart}{picture}</details>")
        elif made.failed:
            parts.append(f'<p class="soft">For <code>{escape(made.arguments)}</code> nests are not shown: {escape(made.failed)}.</p>')
    return "".join(parts)


def _advice(f: FunctionFacts) -> str:
    parts = []
    for each in f.advice:
        where = f"line {each.line[1]}: " if each.line is not None else ""
        parts.append(
            f'<div class="advice" data-code="{escape(each.code, quote=True)}"><p><b>{where}</b>{escape(each.what)}</p><p>{escape(each.instead)}</p></div>'
        )
    return "".join(parts)


def _function(k: int, f: FunctionFacts) -> str:
    refused = "".join(f"<h3>Refused for <code>{escape(given)}</code></h3><pre>{escape(message)}</pre>" for given, message in f.refused)
    if f.own is None:
        time = "others have its name: the time in it is not known"
    else:
        time = f"{_time(f.own)} in it{f', {_time(f.own / f.calls)} each' if f.calls else ''}"
    return (
        f'<h2 id="function-{k}"><code>{escape(f.name)}</code></h2>'
        f'<p class="soft">{escape(f.file)}:{f.first_line}; {f.calls:,} calls, {time}</p>'
        f"{_advice(f)}{_compiled(f) if f.made else ''}{refused}<h3>Lines</h3>{_source(f)}{_fused(f)}"
    )


def _point(f: FunctionFacts, made: Made, report: Report) -> dict | None:
    """A function with one specialisation as a row of the tour's chart: only then the time of its calls is known."""
    from ...tour.peaks import roof

    if not f.calls or not f.own or not made.moved or not made.flops or report.peaks is None:
        return None
    seconds = f.own / f.calls
    bound = roof(made.moved, made.flops, report.peaks["all"])
    if bound is None:
        return None
    return {
        "family": f.name, "name": f.name, "bytes": made.moved, "flops": made.flops, "run_s": seconds, "peers": {},
        "roof": {"s": bound[0], "bound": bound[1], "reached": bound[0] / seconds},
    }  # fmt: skip


def _roofline(report: Report) -> str:
    from ...tour.charts import roofline
    from ...tour.report import peaks_text

    if report.peaks is None:
        return ""
    rows = [row for f in report.functions if len(f.made) == 1 for made in f.made if (row := _point(f, made, report)) is not None]
    if not rows:
        return ""
    rates = [[f"<code>{escape(r['name'])}</code>", _time(r["run_s"]), _time(r["roof"]["s"]), r["roof"]["bound"], f"{r['roof']['reached']:.0%}"] for r in rows]
    return (
        f'<h2>Roofline</h2><p class="soft">What memory and arithmetic allow at most, measured on this machine: {escape(peaks_text(report.peaks))}. '
        "Functions that were compiled once; operations are counted as written, one for each element, and bytes for the arguments of the first call.</p>"
        f"{roofline(rows, report.peaks)}"
        f"{_table(['function', 'a call', 'allowed', 'bound by', 'reached'], rates, (1, 2, 4))}"
    )


def page(report: Report) -> str:
    """The page as text."""
    command = escape(" ".join([report.script, *report.arguments]))
    if not report.functions:
        body = "<p>The program called no functions of ingot.jit.</p>"
    else:
        body = f"{_overview(report)}{_roofline(report)}{''.join(itertools.starmap(_function, enumerate(report.functions)))}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Ingot: {command}</title><style>{STYLE}</style></head><body><main><h1>{command}</h1>"
        f'<p class="soft">{_time(report.seconds)} in all. Times are of this run; time in a function is without what it calls and without compiling.</p>'
        f"{body}</main></body></html>\n"
    )
