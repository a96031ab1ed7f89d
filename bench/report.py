"""The figures as text."""

from __future__ import annotations

import math
from typing import Any

from ingot.tour.peaks import roof as lower_roof

from .measure import Outcome, Row

PEERS = ("c++ strict", "c++ fast", "numba", "jax", "numpy")


def _ratio(row: Row, other: Row | None, median: bool) -> float | None:
    """How many times as fast as the other a contestant is."""
    if other is None or not row.times:
        return None
    return other.median / row.median if median else other.least / row.least


def _against(row: Row, other: Row | None) -> str:
    least, median = _ratio(row, other, False), _ratio(row, other, True)
    return "-" if least is None or median is None else f"{least:.2f} {median:.2f}"


def _one_line(text: str, width: int = 150) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 3] + "..."


def roof(outcome: Outcome, peaks: dict[str, float] | None) -> tuple[float, str] | None:
    """The least seconds that the machine's peaks allow, and which of the two peaks it is."""
    return lower_roof(outcome.bytes, outcome.flops, peaks)


def workload_text(outcome: Outcome, peaks: dict[str, float] | None) -> str:
    """A table of one workload: a line for each contestant, and the roofline."""
    roofline = roof(outcome, peaks)
    head = f"{'':20}{'min ms':>10}{'median':>10}{'peak MB':>9}{'GB/s':>7}{'roof':>6}   "
    head += "".join(f"{'/ ' + p:>13}" for p in PEERS)
    lines = [f"\n{outcome.name}", head]
    for row in outcome.rows:
        if not row.times:
            lines.append(f"  {row.name:18}  " + _one_line(f"WRONG: {row.wrong}" if row.wrong else f"refused: {row.refused}"))
            continue
        rate = f"{outcome.bytes / row.least / 1e9:.1f}" if outcome.bytes and roofline and roofline[1] == "memory" else "-"
        reached = f"{roofline[0] / row.least:.0%}" if roofline else "-"
        peak = "-" if row.peak_bytes is None else f"{row.peak_bytes / 1e6:.1f}"
        line = f"  {row.name:18}{row.least * 1e3:10.3f}{row.median * 1e3:10.3f}{peak:>9}{rate:>7}{reached:>6}   "
        if row.name.startswith("ingot"):
            line += "".join(f"{_against(row, outcome.row(p)):>13}" for p in PEERS)
        lines.append(line.rstrip())
    if roofline:
        bytes_text = f"{outcome.bytes / 1e6:.1f} MB" if outcome.bytes else "-"
        flops_text = f"{outcome.flops / 1e6:.1f} Mflop" if outcome.flops else "-"
        lines.append(f"  {'roofline':18}{roofline[0] * 1e3:10.3f}   {roofline[1]}: {bytes_text}, {flops_text}")
    return "\n".join(lines)


def summary_text(outcomes: list[Outcome]) -> str:
    """A line for each form under Ingot: its least time and the ratios of minima; `<` marks what is below 0.95."""
    lines = [f"\n{'ratios of minima':42}{'min ms':>10}" + "".join(f"{'/ ' + p:>13}  " for p in PEERS).rstrip()]
    for outcome in outcomes:
        for row in outcome.rows:
            if not row.name.startswith("ingot"):
                continue
            line = f"  {outcome.name + ' ' + row.name.removeprefix('ingot '):40}"
            if not row.times:
                lines.append(line + ("     wrong" if row.wrong else "   refused"))
                continue
            line += f"{row.least * 1e3:10.3f}"
            for peer in PEERS:
                ratio = _ratio(row, outcome.row(peer), False)
                line += f"{'-':>13}  " if ratio is None else f"{ratio:13.2f} {'<' if ratio < 0.95 else ' '}"
            lines.append(line.rstrip())
    return "\n".join(lines)


def _is_fair(name: str, peer: str) -> bool:
    """Whether a mean over a peer counts a contestant: fastmath is held against -Ofast, IEEE arithmetic against all others."""
    return name.startswith("ingot ") and name.startswith("ingot fast ") == (peer == "c++ fast")


def means(outcomes: list[Outcome]) -> dict[str, dict[str, float]]:
    """Geometric means over the forms under Ingot (those with fastmath for C++ with -Ofast) of the ratios of minima and of medians to each peer."""
    table = {}
    for peer in PEERS:
        logs: dict[bool, list[float]] = {False: [], True: []}
        for outcome in outcomes:
            for row in outcome.rows:
                for median in (False, True) if _is_fair(row.name, peer) else ():
                    ratio = _ratio(row, outcome.row(peer), median)
                    if ratio is not None:
                        logs[median].append(math.log(ratio))
        if logs[False]:
            least, middle = (math.exp(sum(v) / len(v)) for v in (logs[False], logs[True]))
            table[peer] = {"min": least, "median": middle, "count": float(len(logs[False]))}
    return table


def means_text(outcomes: list[Outcome]) -> str:
    lines = ["\nIngot's speed over each peer's (1: level), geometric means", f"  {'':18}{'min':>8}{'median':>8}{'forms':>7}"]
    lines += [f"  {p:18}{m['min']:8.2f}{m['median']:8.2f}{m['count']:7.0f}" for p, m in means(outcomes).items()]
    return "\n".join(lines)


def calls_text(tables: dict[str, dict[str, Any]]) -> str:
    """First calls in ms, imports in CPU ms, calls, profiles and launches in ns."""
    lines = []
    for title, table in tables.items():
        scale, unit = (1e9, "ns") if title.startswith(("call", "launch", "profile")) else (1e3, "ms" if title.startswith(("first", "cache")) else "CPU ms")
        digits = 2 if title.startswith("cache") else 1
        lines += [f"\n{title}, {unit}", f"  {'':24}{'min':>10}{'median':>10}"]
        for name, figures in table.items():
            if isinstance(figures, str):
                lines.append(f"  {name:24}  " + _one_line(f"refused: {figures}"))
            else:
                lines.append(f"  {name:24}{figures['min'] * scale:10.{digits}f}{figures['median'] * scale:10.{digits}f}")
    return "\n".join(lines)
