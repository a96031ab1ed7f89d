"""The tables of docs/parallel-speed.md, of the files that `python -m bench.primitives --json` writes."""

from __future__ import annotations

import re
from pathlib import Path

NAMES = {"c++": "C++", "numpy": "NumPy", "numba": "Numba", "jax": "JAX", "pandas": "pandas"}
LEVEL = 0.95
"""From here on a function is as fast as the best of the others."""
BOUNDS = {
    "map": "calls, of few elements; the memory of the result, which C++ has at hand",
    "zip_with": "calls, of few elements; the memory of the result, which C++ has at hand",
    "reduce": "calls, of few elements; memory",
    "reduce_max": "calls, of few elements; memory",
    "reduce_of_products": "of few elements, the object that Python makes for `transformed`",
    "scan": "its order: elements are read twice, where the others add one after the other",
    "scan_of_ints": "calls, of few elements; the memory of the result, which C++ has at hand",
    "segmented_reduce": "eight segments are read side by side, which prefetching follows less well",
    "gather": "memory that is read in no order; each index is checked",
    "scatter": "memory that is written in no order; each index is checked",
    "compact": "elements are read twice: first those that are kept are counted; C++ has memory for all at hand",
    "sort": "from 2^24 elements on a copy is sorted on a thread of its own, so that Ctrl-C leaves it",
    "histogram": "each index is checked, and counts of one bin wait for each other",
    "top_k": "calls of a few functions for few elements",
    "merge": "the search for the parts that are merged at the same time",
    "group_by_reduce": "the least and largest key are found first; the others are given the number of groups",
}
CALLS = "what is done once for a call, which few elements do not hide"


def least(times: dict[str, list[float]]) -> dict[str, float]:
    """The least seconds of each contestant that has been timed."""
    return {name: min(seconds) for name, seconds in times.items() if seconds}


def best(times: dict[str, list[float]]) -> tuple[float, float, str] | None:
    """Ingot's seconds, how many times as long the best of the others takes, and its name."""
    found = least(times)
    own = found.pop("ingot", None)
    if own is None or not found:
        return None
    name = min(found, key=lambda peer: found[peer])
    return own, round(found[name] / own, 2), name


def in_words(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            return f"{seconds / scale:.3g} {unit}"
    raise AssertionError


def ratio(value: float) -> str:
    text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
    return f"**{text}**" if value < LEVEL else text


def merged(runs: list[dict]) -> dict[int, dict[str, dict[int, dict[str, list[float]]]]]:
    """The times of all runs by threads, function, size and contestant; of what was timed again, the later run's."""
    found: dict[int, dict[str, dict[int, dict[str, list[float]]]]] = {}
    for run in runs:
        for name, sizes in run["times"].items():
            for size, times in sizes.items():
                found.setdefault(run["threads"], {}).setdefault(name, {})[int(size)] = times
    return found


def table(functions: dict[str, dict[int, dict[str, list[float]]]]) -> str:
    """A row for each function: at each size Ingot's time, and the ratio to the best of the others."""
    sizes = sorted({size for found in functions.values() for size in found})
    heads = [f"10{power(size)}" for size in sizes]
    lines = ["| function | " + " | ".join(heads) + " |", "|---|" + "---|" * len(sizes)]
    for name, found in functions.items():
        cells = []
        for size in sizes:
            measured = best(found[size]) if size in found else None
            cells.append("-" if measured is None else f"{in_words(measured[0])}, {ratio(measured[1])} {NAMES[measured[2]]}")
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def power(size: int) -> str:
    exponent = len(str(size)) - 1
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(exponent))


def bounds(functions: dict[str, dict[int, dict[str, list[float]]]]) -> str:
    """What bounds the functions that are slower than the best of the others, at the sizes where they are."""
    lines = ["| function | slower at | what bounds it |", "|---|---|---|"]
    for name, found in functions.items():
        slower = [size for size in sorted(found) if (measured := best(found[size])) is not None and measured[1] < LEVEL]
        if not slower:
            continue
        told = CALLS if slower == [100] else BOUNDS.get(name, "not looked into yet")
        lines.append(f"| `{name}` | {', '.join(f'10{power(size)}' for size in slower)} | {told} |")
    return "\n".join(lines)


def counted(functions: dict[str, dict[int, dict[str, list[float]]]]) -> str:
    """At each size, how many functions are at least as fast as the best of the others."""
    parts = []
    for size in sorted({size for found in functions.values() for size in found}):
        all_here = [measured for found in functions.values() if size in found and (measured := best(found[size])) is not None]
        parts.append(f"{sum(measured[1] >= LEVEL for measured in all_here)} of {len(all_here)} at 10{power(size)}")
    return ", ".join(parts)


def measured_on(runs: list[dict]) -> str:
    machine = {key: value for run in runs for key, value in run["machine"].items()}
    versions = ", ".join(f"{name} {machine[name]}" for name in ("numpy", "numba", "jax", "pandas") if name in machine)
    load = max(run["load"] for run in runs)
    busy = f" The machine was busy: up to {load:.0f} processes ran on its cores, with which caches and memory were shared." if load > 2 else ""
    return f"{machine['date']}, {machine['cpu']}; {versions}. Least times of rounds in which all take turns.{busy}"


def write(runs: list[dict], page: Path) -> None:
    """Fills in the page's parts between `<!-- NAME -->` and `<!-- end -->`."""
    found = merged(runs)
    parts = {"machine": measured_on(runs)}
    for threads, functions in found.items():
        summary = f"At least {LEVEL} times as fast as the best of the others: {counted(functions)} elements."
        parts[f"threads-{threads}"] = f"{summary}\n\n{table(functions)}"
    parts["bounds"] = bounds(found[1])
    text = page.read_text()
    for name, part in parts.items():
        text, count = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, part=part: f"{m[1]}{part}\n{m[2]}", text, flags=re.S)
        if count != 1:
            raise SystemExit(f"{page} has no <!-- {name} -->")
    page.write_text(text)
