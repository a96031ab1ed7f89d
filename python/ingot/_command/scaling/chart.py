"""Curves to logarithmic scales as SVG, in colours for light pages, for dark ones, or for both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

LIGHT = ("1f2328", "d0d7de", "c2560a", "0a6c9c", "2e7d4f", "8b4bb0", "a07a10", "5c6670")
DARK = ("d8dee4", "3d444d", "ffb26b", "62b8ea", "7fd3a0", "cf9df0", "e6c65c", "a3adb8")
"""Of text, of the grid, and of curves."""
WIDTH, HEIGHT, LEFT, TOP, WIDE, HIGH = 400, 330, 58, 34, 320, 190


class Curve(NamedTuple):
    """A line through points, or dots; `dashed` for what is ideal. Without a `colour` it has that of its position."""

    label: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    dots: bool = False
    colour: int | None = None


class Panel(NamedTuple):
    """A chart: to logarithmic scales, but that `y` may be linear from 0 to 1."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    share: bool = False


def svg(panels: Sequence[Panel], theme: str = "") -> str:
    """A picture of panels side by side; the theme is "light", "dark" or empty: that of the reader's page."""
    legend = max(len(panel.curves) for panel in panels)
    width, height = WIDTH * len(panels), HEIGHT - 60 + 16 * legend
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="12">']
    rules = [_style(DARK if theme == "dark" else LIGHT)]
    if not theme:
        rules.append(f"@media (prefers-color-scheme: dark) {{ {_style(DARK)} }}")
    parts.append(f"<style>{' '.join(rules)}</style>")
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({number * WIDTH},0)">')
        parts.extend(_panel(panel))
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _style(colours: Sequence[str]) -> str:
    text, grid, *curves = colours
    rules = [f"text {{ fill: #{text} }}", f".g {{ stroke: #{grid}; stroke-width: 0.6; fill: none }}"]
    for number, colour in enumerate(curves):
        rules += [f".c{number} {{ stroke: #{colour}; stroke-width: 1.6; fill: none }}", f".d{number} {{ fill: #{colour} }}"]
    return " ".join(rules)


def _panel(panel: Panel) -> Iterator[str]:
    points = [point for curve in panel.curves for point in curve.points]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    bottom, top = (0.0, 1.0) if panel.share else _decades([y for _, y in points])

    def across(x: float) -> float:
        return LEFT + WIDE * (math.log(x / low) / math.log(high / low) if high > low else 0.5)

    def up(y: float) -> float:
        share = y if panel.share else (math.log10(y) - bottom) / (top - bottom)
        return TOP + HIGH * (1.0 - min(max(share, 0.0), 1.05))

    yield _text(LEFT + WIDE / 2, 18, panel.title, "middle", 14)
    for x in _marks(low, high):
        yield f'<path class="g" d="M{across(x):.1f} {TOP}v{HIGH}"/>'
        yield _text(across(x), TOP + HIGH + 15, _count(x), "middle")
    for y in (0.0, 0.25, 0.5, 0.75, 1.0) if panel.share else [10.0**k for k in range(int(bottom), int(top) + 1)]:
        yield f'<path class="g" d="M{LEFT} {up(y):.1f}h{WIDE}"/>'
        yield _text(LEFT - 6, up(y) + 4, f"{y:g}", "end")
    yield _text(LEFT + WIDE / 2, TOP + HIGH + 32, panel.x, "middle")
    yield f'<text transform="translate(13,{TOP + HIGH / 2}) rotate(-90)" text-anchor="middle">{escape(panel.y)}</text>'
    for place, curve in enumerate(panel.curves):
        number = (place if curve.colour is None else curve.colour) % 6
        dash = ' stroke-dasharray="5 4"' if curve.dashed else ""
        places = [(across(x), up(y)) for x, y in curve.points]
        if curve.dots:
            yield from (f'<circle class="d{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
        else:
            yield f'<polyline class="c{number}"{dash} points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>'
        y = TOP + HIGH + 48 + 16 * place
        yield f'<circle class="d{number}" cx="{LEFT + 11}" cy="{y}" r="3"/>' if curve.dots else f'<path class="c{number}"{dash} d="M{LEFT} {y}h22"/>'
        yield _text(LEFT + 28, y + 4, curve.label, "start")


def _text(x: float, y: float, words: str, anchor: str, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'


def _decades(values: Sequence[float]) -> tuple[float, float]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _count(x: float) -> str:
    """A number, of many bytes in Ki or Mi."""
    for unit, scale in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if x >= max(scale, 1 << 13):
            return f"{x / scale:g} {unit}"
    return f"{x:g}"


def _marks(low: float, high: float) -> list[float]:
    """Up to seven powers of two from the lowest on."""
    every = max(1, math.ceil(math.log2(max(high / low, 2)) / 6))
    found, x = [], low
    while x <= high * 1.001:
        found.append(x)
        x *= 2**every
    return found
