"""The figures of the tour as text for terminals, and what text and HTML share."""

from __future__ import annotations

import math
import os
import platform
from typing import Any

from .peers import Machine, describe

PEERS = {
    "numpy": "NumPy",
    "numba": "Numba",
    "numba parallel": "Numba par.",
    "jax": "JAX",
    "c++ strict": "C++ -O3",
    "c++ fast": "C++ -Ofast",
}
"""The contestants besides Ingot, in the order of the columns."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def machine(opened: Machine) -> dict[str, Any]:
    """Where and with what the figures were taken."""
    what = describe(opened.peers)
    named = {name: what.pop(name) for name in ("date", "cpu")}
    versions = {"python": platform.python_version(), **what}
    if "cpp" in opened.peers:
        versions["g++"] = _compiler_version()
    return {**named, "cores": cores(), "system": platform.platform(), "versions": versions, "absent": opened.absent}


def _compiler_version() -> str:
    import subprocess

    return subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()


def seconds(value: float) -> str:
    """A time with three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            number = value / scale
            return f"{number:.{0 if number >= 100 else 1 if number >= 10 else 2}f} {unit}"
    return f"{value * 1e9:.0f} ns"


def cell(row: dict[Any, Any], peer: str) -> str:
    """What a table shows about a peer: its time, `refused`, `wrong`, or a dash."""
    said = row["peers"].get(peer, {})
    if "run_s" in said:
        return seconds(said["run_s"])
    return next((word for word in ("refused", "wrong") if word in said), "-")


def reached(row: dict[Any, Any]) -> str:
    """How much of the roofline Ingot reaches."""
    return "-" if row["roof"] is None else f"{row['roof']['reached']:.0%}"


def families(rows: list[dict[Any, Any]]) -> dict[str, list[dict[Any, Any]]]:
    """The rows by family, in the order in which these come."""
    found: dict[str, list[dict[Any, Any]]] = {}
    for row in rows:
        found.setdefault(row["family"], []).append(row)
    return found


def ratio(row: dict[Any, Any], peer: str) -> float | None:
    """A peer's time over Ingot's."""
    said = row["peers"].get(peer, {})
    return said["run_s"] / row["run_s"] if "run_s" in said else None


def means(rows: list[dict[Any, Any]]) -> dict[str, tuple[float, int]]:
    """The geometric means of the ratios to each peer, and over how many programs."""
    table = {}
    for peer in PEERS:
        logs = [math.log(r) for row in rows if (r := ratio(row, peer)) is not None]
        if logs:
            table[peer] = math.exp(sum(logs) / len(logs)), len(logs)
    return table


def fastest(row: dict[Any, Any]) -> str:
    """The contestant of the least time."""
    times = {"ingot": row["run_s"], **{p: s["run_s"] for p, s in row["peers"].items() if "run_s" in s}}
    return min(times, key=times.__getitem__)


def peaks_text(peaks: dict[Any, Any]) -> str:
    """The two roofs in words."""
    one = f"{peaks['core']['bytes_per_s'] / 1e9:.1f} GB/s read, {peaks['core']['flops_per_s'] / 1e9:.1f} Gflop/s"
    many = f"{peaks['all']['bytes_per_s'] / 1e9:.1f} GB/s, {peaks['all']['flops_per_s'] / 1e9:.1f} Gflop/s"
    return f"one core {one}; with prange {many}"


def _cells(row: dict[Any, Any], peers: list[str]) -> list[str]:
    rest = [cell(row, p) for p in peers if p != "numpy"]
    own = [seconds(row["first_call_s"]), seconds(row["run_s"])]
    return [f"  {row['name']}", cell(row, "numpy"), *own, *rest, reached(row), "yes" if row["right"] else "NO"]


def text(figures: dict[Any, Any], colours: bool) -> str:
    """The table of all programs by family, the means and the machine."""
    rows = figures["programs"]
    peers = [p for p in PEERS if p == "numpy" or any(p in row["peers"] for row in rows)]
    others = [p for p in peers if p != "numpy"]
    header = ["program", "NumPy", "first call", "Ingot", *(PEERS[p] for p in others), "roof", "right?"]
    columns = [None, "numpy", None, "ingot", *others, None, None]
    lines = {row["name"]: _cells(row, peers) for row in rows}
    widths = [max(len(line[i]) for line in (header, *lines.values())) for i in range(len(header))]

    def joined(cells: list[str], best: str | None = None) -> str:
        shown = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))]
        if colours and best is not None:
            shown = [f"\x1b[1;32m{c}\x1b[0m" if column == best else c for c, column in zip(shown, columns)]
        return "  ".join(shown).rstrip()

    out = [joined(header)]
    out.append("-" * len(out[0]))
    for family, members in families(rows).items():
        out.append(f"\x1b[1m{family}\x1b[0m" if colours else family)
        out += [joined(lines[row["name"]], fastest(row)) for row in members]
    return "\n".join([*out, "", *_summary(figures)])


def _summary(figures: dict[Any, Any]) -> list[str]:
    rows = figures["programs"]
    right = sum(r["right"] for r in rows)
    lines = [f"{right} of {len(rows)} right" + (" (small sizes: times mean little)" if figures["small"] else "")]
    compared = [f"{PEERS[p]} {mean:.2f} ({count})" for p, (mean, count) in means(rows).items()]
    if compared:
        lines.append("Ingot's speed over that of " + ", ".join(compared) + ": geometric means (programs)")
    lines.append(f"roof: share of what memory and arithmetic allow; {peaks_text(figures['peaks'])}")
    versions = ", ".join(f"{name} {version}" for name, version in figures["versions"].items())
    lines.append(f"{figures['date']}, {figures['cpu']}, {figures['cores']} cores; {versions}")
    lines += [f"{peer}: left out, {reason}" for peer, reason in figures["absent"].items()]
    return lines
