"""What notebooks and IPython show of a compiled function: what was compiled for which arguments, in what time and why, what was
refused, and the drawing of what was fused. Pages have no style of their own, so they are as light or dark as the notebook is."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from .._errors import place_text
from .._signatures import described

if TYPE_CHECKING:
    from .._calls.function import Function
    from .._calls.specialisation import Specialisation

_MOST_DRAWN = 2.0  # seconds that compiling took: the drawing compiles once more
_CELL = "text-align:left;vertical-align:top;padding:.15em 1.2em .15em 0;"
_SOFT = "opacity:.7;"


def signature_of(function: Function) -> str:
    """The function's name and parameters, as its definition has them."""
    import inspect

    name = getattr(function, "__name__", "function")
    try:
        return f"{name}{inspect.signature(function)}"
    except (TypeError, ValueError):
        return f"{name}(...)"


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def made_in(it: Specialisation) -> str:
    """What making it took."""
    if not it.seconds:
        return "loaded from the cache"
    total = _milliseconds(sum(it.seconds.values()))
    return f"{total} ({', '.join(f'{step} {_milliseconds(seconds)}' for step, seconds in it.seconds.items())})"


def code_of(it: Specialisation) -> str:
    """Which code its calls run."""
    if it.refused:
        return "refused"
    return "not yet made" if it.tier is None else f"{it.tier.name.lower()} code"


def arguments_text(it: Specialisation) -> str:
    """The arguments that it is compiled for."""
    return described.arguments_of(it.names, it.key) or "no arguments"


def rows_of(function: Function) -> list[tuple[str, ...]]:
    """What was compiled, in its order: arguments, calls, code, time, and why."""
    found = sorted(function.specialisations, key=lambda it: it.made_at)
    return [(arguments_text(it), f"{it.calls:,}", code_of(it), made_in(it), why(found, k)) for k, it in enumerate(found)]


def why(found: list[Specialisation], place: int) -> str:
    """Why one of some specialisations was compiled; where it was for other arguments, which they are."""
    it = found[place]
    if it.cause != "types":
        return it.why
    earlier = [described.changes(it.names, other.key, it.key) for other in found[:place]]
    nearest = min(filter(None, earlier), key=len, default=[])
    return "; ".join(nearest) or it.why


def refused_of(function: Function) -> list[tuple[str, str]]:
    """What was refused: arguments and message."""
    later = [(arguments_text(it), it.refused) for it in function.specialisations if it.refused]
    return [*function._refused.items(), *later]


def as_text(function: Function) -> str:
    """What a prompt of IPython shows: what `repr` is, and a line for each specialisation."""
    lines = [repr(function)]
    for given, calls, code, time, reason in rows_of(function):
        lines.append(f"  {given}: {calls} call{'s' * (calls != '1')}, {code}, {time}; {reason}")
    lines += [f"  {given}: refused: {message.splitlines()[0]}" for given, message in refused_of(function)]
    return "\n".join(lines)


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f'<th style="{_CELL}">{escape(each)}</th>' for each in heads)
    styles = [_CELL, *[_CELL + "white-space:nowrap;"] * 2, *(_CELL for _ in heads[3:])]
    body = "".join("<tr>" + "".join(f'<td style="{style}">{part}</td>' for style, part in zip(styles, row)) + "</tr>" for row in rows)
    return f'<table style="border-collapse:collapse;"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def preformatted(text: str) -> str:
    """Text whose columns line up; notebooks' own styles need not do so."""
    return f"<pre style=\"font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;line-height:1.3\">{escape(text)}</pre>"


def folded(summary: str, inside: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(summary)}</summary>{inside}</details>"


def _drawing(function: Function) -> str:
    """The drawing of what was fused in the newest specialisation that can be drawn, made once."""
    for it in sorted(function.specialisations, key=lambda it: -it.made_at):
        if it.example is None or it.device is not None or it.refused or it.program.linked or sum(it.seconds.values()) > _MOST_DRAWN:
            continue
        if it.drawing is None:
            it.drawing = _drawn(it, it.example)
        if it.drawing:
            data = base64.b64encode(it.drawing.encode()).decode()
            picture = f'<img alt="the loop nests and what they read and write" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
            return folded(f"What was fused, for {arguments_text(it)}", picture)
    return ""


def _drawn(it: Specialisation, example: tuple) -> str:
    """Empty: it has no loops over arrays, or cannot be drawn."""
    from . import drawing as _drawing

    try:
        fusion = it.compile(texts=True)["nests"].fusion(it.program.interface[0], list(example))
    except Exception:  # a function is shown whatever becomes of its drawing
        return ""
    return _drawing.svg(fusion) if fusion.nests else ""


def as_html(function: Function) -> str:
    """What notebooks show."""
    code = function._own_function().__code__
    parts = [
        f"<div><code><b>{escape(signature_of(function))}</b></code> "
        f'<span style="{_SOFT}">{escape(repr(function)[1:-1])}, {escape(place_text(code.co_filename, code.co_firstlineno))}</span></div>'
    ]
    rows = rows_of(function)
    if rows:
        shown = [tuple(f"<code>{escape(part)}</code>" if k == 0 else escape(part) for k, part in enumerate(row)) for row in rows]
        parts.append(_table(("compiled for", "calls", "code", "made in", "why"), shown))
    elif not function._refused:
        parts.append(f'<div style="{_SOFT}">Not compiled yet: the first call does.</div>')
    for given, message in refused_of(function):
        parts.append(folded(f"Refused for {given or 'no arguments'}: {message.splitlines()[0]}", preformatted(message)))
    parts.append(_drawing(function))
    return f'<div class="ingot-function">{"".join(parts)}</div>'
