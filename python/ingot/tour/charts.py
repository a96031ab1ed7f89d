"""The charts of the tour's report: SVG whose colours are the page's."""

from __future__ import annotations

import math
import os
from html import escape
from typing import Any

from .report import PEERS, ratio, seconds

COLOURS = {peer: f"var(--{i})" for i, peer in enumerate(PEERS)}
"""Those of contestants; the page gives them for light and for dark."""

LABELS, BARS, PITCH, THICK = 236, 300, 11, 8


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'<text{marked} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _decades(low: float, high: float) -> tuple[int, int]:
    return math.floor(math.log10(low)), math.ceil(math.log10(high))


def _power(exponent: int) -> str:
    return f"{10.0**exponent:g}"


def times(value: float) -> str:
    """A ratio with three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio_range(rows: list[dict[Any, Any]]) -> tuple[float, float]:
    """The least and the largest ratio that bars must show, at least from half to twice."""
    found = [r for row in rows for p in PEERS if (r := ratio(row, p)) is not None]
    return min([0.5, *found]), max([2.0, *found])


def bars(rows: list[dict[Any, Any]], limits: tuple[float, float]) -> str:
    """For each program how many times as long its peers take, as bars from 1, to a logarithmic scale."""
    low, high = (math.log10(v) for v in limits)

    def at(value: float) -> float:
        return LABELS + (math.log10(value) - low) / (high - low) * BARS

    parts, y = [], 26.0
    for row in rows:
        shown = [p for p in PEERS if row["peers"].get(p) is not None]
        height = max(len(shown), 1) * PITCH
        parts.append(_text(LABELS - 12, y + height / 2 + 4, row["name"], "end", "name"))
        for place, peer in enumerate(shown):
            parts.append(_bar(row, peer, y + place * PITCH, at))
        y += height + 9
    marks = []
    for exponent in range(math.ceil(low), math.floor(high) + 1):
        x = at(10.0**exponent)
        kind = "one" if exponent == 0 else "grid"
        marks.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{y - 4:.1f}"/>')
        marks.append(_text(x, 12, _power(exponent) + "×", "middle", "axis"))
    width = LABELS + BARS + 52
    return f'<svg class="chart" viewBox="0 0 {width} {y:.0f}" role="img">' + "".join(marks + parts) + "</svg>"


def _bar(row: dict[Any, Any], peer: str, y: float, at: Any) -> str:
    said, value, one = row["peers"][peer], ratio(row, peer), at(1.0)
    if value is None:
        word, reason = next(iter(said.items()))
        return f'<g><title>{escape(PEERS[peer])}: {escape(reason)}</title>' + _text(
            one + 5, y + THICK, f"{PEERS[peer]}: {word}", kind="failed"
        ) + "</g>"
    x = at(value)
    left, width = min(one, x), max(abs(x - one), 1.0)
    title = f"{PEERS[peer]}: {seconds(said['run_s'])}, Ingot {seconds(row['run_s'])}"
    number = _text(max(x, one) + 4, y + THICK - 0.5, times(value), kind="value")
    return (
        f'<g><title>{escape(title)}</title><rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{THICK}" rx="1.5" '
        f'fill="{COLOURS[peer]}"/>{number}</g>'
    )


def _points(rows: list[dict[Any, Any]]) -> dict[tuple[str, float], list[dict[Any, Any]]]:
    """The programs that have an intensity, in groups of one family and intensity."""
    groups: dict[tuple[str, float], list[dict[Any, Any]]] = {}
    for row in rows:
        if row["roof"] and row["bytes"] and row["flops"]:
            groups.setdefault((row["family"], round(row["flops"] / row["bytes"], 6)), []).append(row)
    return groups


def roofline(rows: list[dict[Any, Any]], peaks: dict[Any, Any]) -> str:
    """Operations a second over operations a byte, under the two roofs: Ingot as rings, its peers as points."""
    groups = _points(rows)
    if not groups:
        return ""
    width, height, left, bottom = 1080.0, 460.0, 70.0, 44.0
    rates = [row["flops"] / row["run_s"] for g in groups.values() for row in g]
    rates += [row["flops"] / s["run_s"] for g in groups.values() for row in g for s in row["peers"].values() if "run_s" in s]
    x0, x1 = _decades(min(i for _, i in groups) * 0.8, max(i for _, i in groups) * 1.2)
    y0, y1 = _decades(min(rates), max(*rates, peaks["core"]["flops_per_s"], peaks["all"]["flops_per_s"]))

    def at_x(intensity: float) -> float:
        return left + (math.log10(intensity) - x0) / (x1 - x0) * (width - left - 20)

    def at_y(rate: float) -> float:
        return height - bottom - (math.log10(rate) - y0) / (y1 - y0) * (height - bottom - 24)

    parts = []
    for e in range(x0, x1 + 1):
        x = at_x(10.0**e)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="24" y2="{height - bottom:.1f}"/>')
        parts.append(_text(x, height - bottom + 16, _power(e), "middle", "axis"))
    for e in range(y0, y1 + 1):
        y = at_y(10.0**e)
        parts.append(f'<line class="grid" x1="{left}" x2="{width - 20}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(left - 8, y + 4, _power(e - 9), "end", "axis"))
    parts.append(_text((left + width) / 2, height - 8, "operations per byte", "middle", "axis"))
    parts.append(_text(left - 8, 14, "Gflop/s", "end", "axis"))
    parts += [_roof(peaks[who], who, (x0, x1), y0, at_x, at_y) for who in ("all", "core")]
    taken = [(at_x(i) - 7, at_x(i) + 7, at_y(row["flops"] / row["run_s"])) for (_, i), g in groups.items() for row in g]
    for (family, intensity), members in groups.items():
        parts += _group(family, members, at_x(intensity), at_y, taken, width)
    return f'<svg class="chart" viewBox="0 0 {width:.0f} {height:.0f}" role="img">' + "".join(parts) + "</svg>"


def _roof(peak: dict[Any, Any], who: str, x_range: tuple[int, int], y0: int, at_x: Any, at_y: Any) -> str:
    ridge = peak["flops_per_s"] / peak["bytes_per_s"]
    start = max(10.0 ** x_range[0], 10.0**y0 / peak["bytes_per_s"])
    ends = [(start, start * peak["bytes_per_s"])]
    if ridge < 10.0 ** x_range[1]:
        ends += [(ridge, peak["flops_per_s"]), (10.0 ** x_range[1], peak["flops_per_s"])]
    else:
        ends.append((10.0 ** x_range[1], 10.0 ** x_range[1] * peak["bytes_per_s"]))
    line = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in ends)
    label = "one core" if who == "core" else "prange"
    x, y = at_x(ends[-1][0]), at_y(ends[-1][1])
    return f'<polyline class="roof {who}" points="{line}"/>' + _text(x - 6, y + (14 if who == "core" else -6), label, "end", "axis")


def _group(
    family: str, members: list[dict[Any, Any]], x: float, at_y: Any, taken: list[tuple[float, float, float]], width: float
) -> list[str]:
    """The points of programs of one intensity, and their name where nothing else of `taken` is."""
    parts = []
    for row in members:
        for peer, said in row["peers"].items():
            if "run_s" in said:
                title = f"{row['name']}: {PEERS[peer]} {seconds(said['run_s'])}"
                place = f'cx="{x:.1f}" cy="{at_y(row["flops"] / said["run_s"]):.1f}"'
                parts.append(f'<circle class="peer" {place} r="3" fill="{COLOURS[peer]}"><title>{escape(title)}</title></circle>')
    heights = [at_y(row["flops"] / row["run_s"]) for row in members]
    for row, y in zip(members, heights):
        title = f"{row['name']}: {seconds(row['run_s'])}, {row['roof']['reached']:.0%} of the roof"
        parts.append(f'<circle class="ingot" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{escape(title)}</title></circle>')
    label = os.path.commonprefix([row["name"] for row in members]).rstrip("_")
    label = label if len(label) > 3 else family
    label += f" ({len(members)})" if len(members) > 1 else ""
    size = len(label) * 6.3
    side = 1 if x + size + 24 < width else -1
    low, high = (x + 9, x + 14 + size) if side > 0 else (x - 14 - size, x - 9)
    start = min(heights)
    places = [start + 13 * step for n in range(20) for step in ((n, -n) if n else (0,))]
    free = [y for y in places if all(abs(y - o) >= 12 or b < low or high < a for a, b, o in taken)]
    y = free[0] if free else start
    taken.append((low, high, y))
    if y != start:
        parts.append(f'<line class="grid" x1="{x + 5 * side:.1f}" y1="{start:.1f}" x2="{x + 11 * side:.1f}" y2="{y:.1f}"/>')
    parts.append(_text(x + 12 * side, y + 4, label, "start" if side > 0 else "end", "name"))
    return parts
