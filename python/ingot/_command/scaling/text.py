"""What is measured and predicted, as text, as JSON and as curves."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .chart import Curve as Line
from .chart import Panel
from .model import COLLECTIVES, Machine, even_size, no_less, relative_errors
from .programs import HEAT, Curve, Program, crossings, program_of

Curves = Sequence[tuple[Program, Curve]]
SHOWN = (1, 4, 16, 64, 256, 1024, 4096)


def seconds(value: float) -> str:
    """With a unit and three digits.

    Examples
    --------
    >>> seconds(0.0000015), seconds(12.0)
    ('1.50 us', '12.0 s')
    """
    if value == 0.0:
        return "0"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if value >= scale or unit == "ns":
            return f"{number(value / scale)} {unit}"
    raise AssertionError


def number(value: float) -> str:
    """With three digits at least."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def counted(count: int, what: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "rank"), counted(2, "rank")
    ('1 rank', '2 ranks')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def size(value: float) -> str:
    """Bytes with a unit."""
    if value == math.inf:
        return "-"
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= scale:
            return f"{number(value / scale)} {unit}"
    return f"{value:.0f} B"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns, the first to the left and the others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return "\n".join(
        "  ".join(word.ljust(width) if column == 0 else word.rjust(width) for column, (word, width) in enumerate(zip(row, widths))).rstrip()
        for row in (head, *rows)
    )


def measured(found: dict[str, Any]) -> str:
    """What was measured."""
    rates = found["rates"]
    parts = [f"{counted(found['ranks'], 'rank')}, {counted(found['nodes'], 'node')} of {counted(found['cores'], 'core')}, load {found['load']:.1f}"]
    parts.append(f"a rank: {rates['flops'] / 1e9:.1f} Gflop/s in vectors")
    for label, by_count in (("memory, GB/s of each of so many ranks", rates["bytes"]), ("memory, GB/s of so many threads", rates["threads"])):
        parts.append(f"\n{table([label, *map(str, by_count)], [['triad', *(f'{rate / 1e9:.1f}' for rate in by_count.values())]])}")
    if found["ranks"] > found["cores"] * found["nodes"]:
        parts.append("\nMore ranks than cores: where all take part they share cores, and times are longer than a machine with a core for each has.")
    if "messages" not in found:
        parts.append("\nOne rank: no message was sent. Messages, collectives and predictions: mpiexec -n N python -m ingot scaling")
        return "\n".join(parts)
    levels = {level: times for level, times in found["messages"].items() if times is not None}
    sizes = sorted({n for times in levels.values() for n in times})
    parts.append("\n" + table(["a message", *map(size, sizes)], [[level, *(seconds(times[n]) for n in sizes)] for level, times in levels.items()]))
    every = sorted({n for by_ranks in found["collectives"].values() for times in by_ranks.values() for n in times})
    rows = [
        [f"{name} on {p}", *(seconds(times[n]) if n in times else "" for n in every)]
        for name, by_ranks in found["collectives"].items() for p, times in by_ranks.items()
    ]  # fmt: skip
    parts.append("\n" + table(["a collective", *map(size, every)], rows))
    return "\n".join(parts)


def heat_rows(machine: Machine, found: dict[str, Any]) -> list[tuple[str, int, float, float]]:
    """Which size ("strong" or "weak"), ranks, seconds of a step of the heat equation measured and predicted."""
    rows = []
    here = replace(machine, per_node=found["per_node"], bytes=no_less(found["rates"]["bytes"], found["ranks"]))
    for kind in ("strong", "weak"):
        for p, took in found["heat"][kind].items():
            n = found["heat"]["points"][kind] * (1.0 if kind == "strong" else p**0.5)
            program = program_of({**HEAT, "parameters": {"n": n}, "weak": {}}, "heat")
            rows.append((kind, p, took, sum(program.costs(here, p).values())))
    return rows


def errors_of(machine: Machine, found: dict[str, Any], shared: bool) -> dict[str, list[tuple[float, float]]]:
    """Seconds measured and predicted by collective, and of the heat equation: where ranks share cores, or where they do not."""
    cores, pairs = found["cores"] * found["nodes"], dict[str, list[tuple[float, float]]]()
    every = [(name, p, took, guess) for name, p, _, took, guess in relative_errors(machine.on_nodes_of(found["per_node"]), found["collectives"])]
    every += [("heat equation", p, took, guess) for _, p, took, guess in heat_rows(machine, found)]
    for name, ranks, took, guess in every:
        if (ranks > cores) == shared:
            pairs.setdefault(name, []).append((took, guess))
    return pairs


def factor_of(a: float, b: float) -> float:
    return max(a / b, b / a) if a > 0.0 and b > 0.0 else math.inf


def off(pairs: Sequence[tuple[float, float]]) -> str:
    """By which factor predictions are off: median and worst."""
    factors = [factor_of(a, b) for a, b in pairs]
    return f"{statistics.median(factors):.2f}, {max(factors):.2f}"


def predictions(machine: Machine, found: dict[str, Any], curves: Curves, most: int) -> str:
    """The model, how far it is from what was measured, and what it predicts."""
    parts = ["", "Model: a message of n bytes takes alpha + beta n"]
    for name, level in (("within a node", machine.node), ("between nodes", machine.between)):
        for piece in level.pieces:
            upto = "" if piece.up_to == math.inf else f", up to {size(piece.up_to)}"
            rate = f"{1e-9 / piece.beta:.1f} GB/s" if piece.beta > 0.0 else "no time for bytes"
            parts.append(f"  {name}: {seconds(piece.alpha)}, {rate}{upto}")
        parts.append(f"  {name}: bandwidth takes longer than latency from {size(level.even())} on")
    parts.append(f"  a reduction adds a byte in {machine.add * 1e12:.0f} ps; {machine.per_node} ranks a node")
    parts += [f"  assumed: {each}" for each in machine.assumed]
    parts.append("\nPredicted and measured differ by a factor of (median, worst):")
    kinds = {"": errors_of(machine, found, False), " (shared cores)": errors_of(machine, found, True)}
    parts.append(table(["", ""], [[name + kind, off(pairs)] for kind, every in kinds.items() for name, pairs in every.items()]).lstrip())
    all_of_them = [factor_of(a, b) for pairs in kinds[""].values() for a, b in pairs]
    if all_of_them and statistics.median(all_of_them) > 3.0:
        parts.append("These are far apart: other programs run here, or messages are not what the model takes them for. Measure again before you trust what follows.")
    parts.append("\nBytes from which on a collective takes twice as long as of 8 bytes:")
    ranks = [p for p in (2, *SHOWN[1:]) if p <= most]
    every = [[name, *(size(even_size(name, machine, p)) for p in ranks)] for name in COLLECTIVES if name != "barrier"]
    parts.append(table(["ranks", *map(str, ranks)], every))
    return "\n".join([*parts, *(one_program(program, curve) for program, curve in curves)])


def one_program(program: Program, curve: Curve) -> str:
    """Strong and weak times of a program, and from how many ranks on sending takes longer than computing."""
    chosen = [place for place, p in enumerate(curve.ranks) if p in SHOWN or p == curve.ranks[-1]]
    parts = [f"\n{program.name}: {program.about}" if program.about else f"\n{program.name}"]
    settings = ", ".join(f"{name} {value:g}" for name, value in program.parameters.items())
    for kind, at in (("strong", curve.strong), ("weak", curve.weak)):
        if not at:
            continue
        every, efficient = curve.seconds(kind == "weak"), curve.efficiency(kind == "weak")
        rows = [[step.name, *(seconds(at[place][step.name]) for place in chosen)] for step in program.steps]
        rows += [["all", *(seconds(every[place]) for place in chosen)], ["efficiency", *(f"{100 * efficient[place]:.0f} %" for place in chosen)]]
        about = settings if kind == "strong" else ", ".join(f"{name} = {value}" for name, value in program.weak.items())
        parts.append(f"{kind} ({about})\n" + table(["ranks", *(str(curve.ranks[place]) for place in chosen)], rows))
    fastest = min(range(len(curve.ranks)), key=curve.seconds(False).__getitem__)
    parts.append(f"the strong one is fastest on {counted(curve.ranks[fastest], 'rank')}, {seconds(curve.seconds(False)[fastest])}")
    for name, p in crossings(program, curve).items():
        parts.append(f"{name}: longer than computing " + (f"from {p} ranks on" if p else f"on none of up to {curve.ranks[-1]} ranks"))
    return "\n".join(parts)


def as_json(machine: Machine, found: dict[str, Any], curves: Curves) -> dict[str, Any]:
    """The model, its errors and its predictions."""

    def pieces(level: Any) -> list[dict[str, float | None]]:
        return [{"up_to": None if each.up_to == math.inf else each.up_to, "alpha": each.alpha, "beta": each.beta} for each in level.pieces]

    every = relative_errors(machine.on_nodes_of(found["per_node"]), found["collectives"])
    return {
        "node": pieces(machine.node), "between": pieces(machine.between), "per_node": machine.per_node, "add": machine.add, "assumed": list(machine.assumed),
        "collectives": [dict(zip(("name", "ranks", "bytes", "measured", "predicted"), row)) for row in every],
        "heat": [dict(zip(("kind", "ranks", "measured", "predicted"), row)) for row in heat_rows(machine, found)],
        "programs": [
            {
                "name": program.name, "parameters": dict(program.parameters), "ranks": curve.ranks, "strong": curve.strong, "weak": curve.weak,
                "efficiency": {kind: curve.efficiency(kind == "weak") for kind in ("strong", "weak") if kind == "strong" or curve.weak},
                "crossings": crossings(program, curve),
            }
            for program, curve in curves
        ],
    }  # fmt: skip


def panels(curves: Curves) -> list[Panel]:
    """Speed-up and efficiency by ranks."""
    ranks = curves[0][1].ranks
    strong = [Line(program.name, [(p, p * e) for p, e in zip(curve.ranks, curve.efficiency(False))]) for program, curve in curves]
    strong.append(Line("ideal", [(p, p) for p in ranks], dashed=True))
    weak = [Line(program.name, list(zip(curve.ranks, curve.efficiency(True)))) for program, curve in curves if curve.weak]
    found = [Panel("strong: one size", "ranks", "times as fast as one rank", strong)]
    return [*found, Panel("weak: a size for each rank", "ranks", "efficiency", weak, share=True)] if weak else found
