"""docs/benchmarks.md, of the figures that `python -m bench --json` writes: where Ingot is slower comes first."""

from __future__ import annotations

import math
from pathlib import Path

from . import charts
from .bounds import BOUNDS

PEERS = {"c++ strict": "C++", "c++ fast": "C++ `-Ofast`", "numba": "Numba", "jax": "JAX", "numpy": "NumPy"}
LEVEL = 0.95
"""Ratios from here to 1 are taken for level."""
LOST = 0.9
"""Of what is slower than this the page states what bounds it."""


def least(workload: dict, name: str) -> float | None:
    return next((min(r["times"]) for r in workload["rows"] if r["name"] == name and r["times"]), None)


def peak(workload: dict, name: str) -> int | None:
    return next((r.get("peak_bytes") for r in workload["rows"] if r["name"] == name), None)


def forms(figures: dict) -> list[dict]:
    """Each form under Ingot with its seconds and the ratios to its peers; C++ with -Ofast is compared with Ingot's fastmath."""
    found = []
    for workload in figures["workloads"]:
        for row in workload["rows"]:
            name = row["name"]
            if not name.startswith("ingot ") or name.startswith("ingot fast ") or not row["times"]:
                continue
            form, mine = name.removeprefix("ingot "), min(row["times"])
            ratios = {}
            for peer in PEERS:
                own = least(workload, f"ingot fast {form}") if peer == "c++ fast" else mine
                other = least(workload, peer)
                if own is not None and other is not None:
                    ratios[peer] = other / own
            peaks = [peak(workload, name), peak(workload, "numpy")]
            found.append({"workload": workload["name"], "form": form, "seconds": mine, "ratios": ratios, "peaks": peaks})
    return sorted(found, key=lambda f: min(f["ratios"].values(), default=math.inf))


def means(found: list[dict]) -> dict[str, float]:
    """Geometric means of the ratios to each peer."""
    table = {}
    for peer in PEERS:
        logs = [math.log(f["ratios"][peer]) for f in found if peer in f["ratios"]]
        if logs:
            table[peer] = math.exp(sum(logs) / len(logs))
    return table


def picture(name: str, alternative: str) -> str:
    """An image for light pages, and one for dark pages."""
    parts = [f"```{{image}} benchmarks/{name}-{theme}.svg\n:alt: {alternative}\n:class: only-{theme}\n```" for theme in ("light", "dark")]
    return "\n".join(parts)


def table(found: list[dict]) -> str:
    heads = ["program", "form", "Ingot, ms", *PEERS.values(), "Ingot, MB", "NumPy, MB"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|--:|" + "--:|" * (len(PEERS) + 2)]
    for f in found:
        cells = []
        for peer in PEERS:
            ratio = f["ratios"].get(peer)
            cells.append("-" if ratio is None else f"**{ratio:.2f}**" if ratio < LEVEL else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}")
        cells += ["-" if peak is None else f"{peak / 1e6:.1f}" for peak in f["peaks"]]
        lines.append(f"| `{f['workload']}` | {f['form']} | {1e3 * f['seconds']:.3g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def bounds(found: list[dict]) -> str:
    """What bounds each form that a peer is clearly faster at."""
    lines = ["| program | form | least ratio | what bounds it |", "|---|---|--:|---|"]
    for f in found:
        lowest = min(f["ratios"].values(), default=math.inf)
        if lowest < LOST:
            told = BOUNDS.get((f["workload"], f["form"]), "not looked into yet")
            lines.append(f"| `{f['workload']}` | {f['form']} | {lowest:.2f} | {told} |")
    return "\n".join(lines)


def calls(figures: dict) -> str:
    """What is measured of calls, not of programs: first calls, loading, overheads."""
    lines = []
    for title, rows in figures.get("calls", {}).items():
        if title == "toast" or not any(isinstance(r, dict) for r in rows.values()):
            continue
        scale, unit = (1e9, "ns") if title.startswith(("call", "launch", "profile")) else (1e3, "ms")
        cells = [f"{name} {r['min'] * scale:.3g}" for name, r in rows.items() if isinstance(r, dict)]
        lines.append(f"| {title} | {unit} | " + ", ".join(cells) + " |")
    if not lines:
        return ""
    return "\n".join(["## Calls\n", "Least times; first calls compile.\n", "| what | | |", "|---|---|---|", *lines]) + "\n"


def write(figures: dict, path: Path) -> None:
    """The page, and its charts into the folder of its name."""
    found, machine = forms(figures), figures["machine"]
    average, folder = means(found), path.with_suffix("")
    slower = [f for f in found if any(r < LEVEL for r in f["ratios"].values())]
    labels = {p: name.replace("`", "") for p, name in PEERS.items()}
    rows = [("Ingot", 1.0, "1"), *((labels[p], v, f"{v:.2g}") for p, v in average.items())]
    charts.bars(folder / "means", rows, f"Mean of {len(found)} forms of {len(figures['workloads'])} programs", "geometric mean of the peer's time over Ingot's")
    shown = [(f"{f['workload']}, {f['form']}", {labels[p]: r for p, r in f["ratios"].items()}) for f in found]
    charts.ratios(folder / "ratios", shown, [labels[p] for p in average])
    versions = ", ".join(f"{name} {machine[name]}" for name in ("ingot", "numpy", "numba", "jax") if name in machine)
    clock = "times of the processor" if figures["clock"] == "cpu" else "times"
    threads = "one thread" if figures["threads"] == 1 else f"{figures['threads']} threads"
    counts = {p: sum(f["ratios"].get(p, 1.0) < LEVEL for f in found) for p in average}
    by_peer = ", ".join(f"{PEERS[p]} in {count}" for p, count in counts.items())
    load = figures.get("load")
    busy = f" The machine was busy ({load:.0f} processes ran): caches and memory were shared with them." if load and load > 2 else ""
    text = f"""# Benchmarks

Written by `make bench ARGUMENTS="--page docs/benchmarks.md"`; do not edit. Programs are those of `bench/workloads`: what each contestant runs is there, and in
`bench/cpp`. Each result was compared with NumPy's before any was timed. All contestants of a program run alternately, in {figures["rounds"]} rounds,
with {threads} each; figures are least {clock}.

{machine["date"]}, {machine["cpu"]}; {versions}; C++ is g++ `-O3 -march=native -ffp-contract=off`.{busy}

{picture("means", "Geometric means of times over Ingot's, for each peer")}

## Where Ingot is slower

Ratios are the peer's time over Ingot's: below 1, in bold, Ingot is slower. C++ with `-Ofast` is compared with Ingot's `fastmath`.
{len(slower)} of {len(found)} rows have one below {LEVEL}: {by_peer}. Memory is what the process holds at most during a call
beyond what it held before.

{table(slower)}

### What bounds them

Rows below {LOST}, as far as assembly, profiles and the IR show it. A strict C++ keeps Ingot's promise, `-Ofast` does not: sums there are in any order.

{bounds(slower)}

## The others

{table([f for f in found if f not in slower])}

## In one picture

{picture("ratios", "For each program how many times Ingot's time each peer takes; those that Ingot loses come first")}

{calls(figures)}"""
    path.write_text(text.rstrip() + "\n")
