"""The page of a campaign: Markdown of what `tools/device_campaign` has found, without anything but Python's library."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

PEERS = {"cupy": "CuPy", "torch": "PyTorch", "jax": "JAX", "numba": "Numba"}


def seconds(value: float | None) -> str:
    """A time with three digits."""
    if value is None or math.isinf(value):
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def scaled(value: float | None, scale: float) -> str:
    return "-" if value is None else f"{value / scale:.3g}"


def table(header: list[str], rows: Iterable[list[str]]) -> list[str]:
    """A table of Markdown; the first column is of words, the others of numbers."""
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(["---", *["---:"] * (len(header) - 1)]) + "|"]
    return [*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows), ""]


def text(found: dict[str, Any]) -> str:
    """The page of all phases that have run."""
    phases = found["phases"]
    told = phases.get("machine", {})
    device = told.get("device", {})
    lines = [f"# {device.get('name', found['device'])}", ""]
    if device:
        memory = device["memory"] / 2**30
        lines += [f"{device['processors']} processors, {memory:.1f} GiB, code `{device['code']}`; Ingot {device['ingot']}, {told.get('commit', '')}.", ""]
        lines += [f"{told.get('driver', '')} {told['cpu']}, {told['cores']} cores; {told['system']}; {told['date']}.".strip(), ""]
    if found["quick"]:
        lines += ["A quick run: small arrays and few samples, whose times mean little.", ""]
    if found["device"].startswith("emulated"):
        lines += ["The software device counts its time in instructions of threads.", ""]
    lines += _summary(phases)
    for name, part in SECTIONS.items():
        if name in phases:
            lines += _section(name, phases[name], part, phases)
    return "\n".join(lines) + "\n"


def verdict(told: dict[str, Any]) -> str:
    """What became of a phase, in a few words."""
    if "left out" in told:
        return f"left out: {told['left out']}"
    if "failed" in told and not told.get("table") and not told.get("programs"):
        return "failed"
    end = ", without an end" if "failed" in told else ""
    if "files" in told:
        sums = [sum(part.get("counts", {}).get(kind, 0) for part in told["files"].values()) for kind in ("passed", "failed", "skipped")]
        late = sum("failed" in part for part in told["files"].values())
        return "{} passed, {} failed, {} skipped".format(*sums) + (f", {late} files without an end" if late else "")
    if "counts" in told:
        return "{passed} passed, {failed} failed, {skipped} skipped".format(**told["counts"])
    if "programs" in told:
        rows = told["programs"]
        right, bits = sum(bool(r["right"]) for r in rows), sum(bool(r.get("bits")) for r in rows)
        return f"{right} of {len(rows)} right, {bits} bit for bit, {sum(r['right'] is None for r in rows)} refused{end}"
    if "tools" in told:
        return ", ".join(f"{tool} {'good' if part['good'] else 'WRONG'}" for tool, part in told["tools"].items())
    if "functions" in told.get("table", {}):
        found = told["table"]
        return f"{found['functions']} functions on {', '.join(found['devices'])}, {len(told['failures'])} different{end}"
    rows = [row for row in told.get("table", {}).values() if isinstance(row, dict)]
    bad = sum("failed" in row for row in rows)
    goals = [row for row in rows if row.get("goal") and row.get("share") is not None]
    reached = f", {sum(row['share'] >= row['goal'] for row in goals)} of {len(goals)} goals reached" if goals else ""
    return f"{len(rows) - bad} measured, {bad} failed{reached}{end}" if rows else "done"


def _summary(phases: dict[str, Any]) -> list[str]:
    return table(["phase", "what became of it", "seconds"], ([n, verdict(p), f"{p.get('seconds', 0):.0f}"] for n, p in phases.items()))


def _section(name: str, told: dict[str, Any], part: Callable, phases: dict[str, Any]) -> list[str]:
    lines = [f"## {name.replace('_', ' ').capitalize()}", ""]
    if "left out" in told:
        return [*lines, f"Left out: {told['left out']}.", ""]
    if "failed" in told:
        lines += ["```", str(told["failed"]), "```", ""]
        if not told.get("table") and not told.get("programs"):
            return lines
    return [*lines, *part(told, phases)]


def _peer_cells(phases: dict[str, Any], name: str) -> list[str]:
    """What the peers take for the same program."""
    peers = phases.get("peers", {}).get("peers", {})
    return [seconds(peers.get(peer, {}).get("rows", {}).get(name, {}).get("min")) for peer in PEERS]


def _bandwidth(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
    rows = []
    for name, row in told["table"].items():
        if "failed" in row:
            rows.append([f"{name}: {row['failed'][:200]}", *["-"] * (9 + len(PEERS))])
            continue
        share, goal = row.get("share"), row.get("goal")
        reached = "-" if share is None else f"{share:.0%}"
        wanted = "" if goal is None else f"{goal:.0%}" + ("" if share is None else " ✓" if share >= goal else " ✗")
        moved, least = row.get("moved"), row.get("least")
        ratio = f"{moved / least:.2f}" if moved and least else "-"
        counts = ["-" if row.get(key) is None else str(row[key]) for key in ("launches", "registers", "spilled")]
        times = [seconds(row["min"]), seconds(row["median"]), scaled(row["bytes_per_s"], 1e9), reached, wanted]
        rows.append([name, *times, ratio, *counts, *_peer_cells(phases, name)])
    header = ["program", "least", "median", "GB/s", "of a copy", "goal", "moved / least", "launches", "registers", "spilled", *PEERS.values()]
    return table(header, rows)


def _rates(unit: str, key: str, scale: float) -> Callable:
    def part(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
        rows = []
        for name, row in told["table"].items():
            if "failed" in row:
                rows.append([f"{name}: {row['failed'][:200]}", *["-"] * (3 + len(PEERS))])
                continue
            rows.append([name, seconds(row["min"]), seconds(row["median"]), scaled(row.get(key), scale), *_peer_cells(phases, name)])
        return table(["program", "least", "median", unit, *PEERS.values()], rows)

    return part


def _times(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
    rows = []
    for name, row in told["table"].items():
        said = "".join(f": {row[why][:200]}" for why in ("failed", "left out") if why in row)
        rows.append([name + said, seconds(row.get("min")), seconds(row.get("median"))])
    return table(["what", "least", "median"], rows)


def _first_calls(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
    keys = ("import_s", "open_s", "first_s", "second_s")
    rows = []
    for name, row in told["table"].items():
        said = f": {row['failed'][:200]}" if "failed" in row else ""
        rows.append([name + said, *(seconds(row.get(key)) for key in keys)])
    return table(["program", "import", "opening the device", "first call", "second call"], rows)


def _failures(failures: list[dict[str, str]]) -> list[str]:
    lines = []
    for failure in failures[:60]:
        lines += [f"- `{failure['test']}`", "", "  ```", *("  " + line for line in failure["what"].splitlines()[-10:]), "  ```"]
    return [*lines, *([f"and {len(failures) - 60} more"] if len(failures) > 60 else []), ""]


def _tests(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
    if "files" not in told:
        return [verdict(told), "", *_failures(told.get("failures", []))]
    rows, failures = [], []
    for name, part in told["files"].items():
        counts = part.get("counts", {})
        rows.append([name, *(str(counts.get(kind, "-")) for kind in ("passed", "failed", "skipped")), f"{part['seconds']:.0f}"])
        failures += part.get("failures", []) + ([{"test": name, "what": part["failed"]}] if "failed" in part else [])
    return [*table(["file", "passed", "failed", "skipped", "seconds"], rows), *_failures(failures)]


def _bits(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
    return [verdict(told), "", *_failures(told.get("failures", []))]


def _tour(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
    rows = []
    for row in told["programs"]:
        said = "refused" if row["right"] is None else "bits" if row["bits"] else "close" if row["right"] else "WRONG"
        found = row.get("launches") or {}
        counts = ["-" if found.get(key) is None else str(found[key]) for key in ("launches", "registers", "spilled")]
        rows.append([row["name"], *(seconds(row.get(key)) for key in ("first_call_s", "run_s", "cpu_s")), *counts, said])
    return [*table(["program", "first call", "device", "CPU", "launches", "registers", "spilled", "right?"], rows), *_failures(told["failures"])]


def _sanitizer(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
    lines = []
    for tool, part in told["tools"].items():
        lines += [f"{tool}: {'good' if part['good'] else 'WRONG'}, {part['seconds']:.0f} s", "", "```", part["summary"], "```", ""]
    return lines


def _peers(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
    lines = []
    for peer, found in told["peers"].items():
        bad = [f"{name}: {row['failed']}" for name, row in found.get("rows", {}).items() if "failed" in row]
        said = f"absent: {found['absent']}" if "absent" in found else f"{found['version']}, {len(found['rows'])} programs"
        lines += [f"- {PEERS.get(peer, peer)} {said}", *(f"  - {one}" for one in bad)]
    return [*lines, ""]


def _toast(told: dict[str, Any], phases: dict[str, Any]) -> list[str]:
    rows = []
    for name, row in told["table"].items():
        said = f": {row['failed'][:200]}" if "failed" in row else ""
        here, there = row.get("ns_per_unit"), row.get("cpu_ns_per_unit")
        times = "-" if not here or there is None else f"{there / here:.1f}"
        rows.append([name + said, seconds(row.get("min")), scaled(here, 1), scaled(there, 1), times])
    return table(["kernel", "least", "ns a detector-sample", "of one core", "times as fast"], rows)


SECTIONS: dict[str, Callable] = {
    **dict.fromkeys(("bandwidth", "rows", "scans", "selections", "histograms", "transposes", "scatters", "tables"), _bandwidth),
    "sorts": _rates("Gkey/s", "keys_per_s", 1e9),
    "ranks": _rates("Gkey/s", "keys_per_s", 1e9),
    "products": _rates("Gflop/s", "flops_per_s", 1e9),
    "launches": _times,
    "graphs": _times,
    "first_calls": _first_calls,
    "copies": _rates("GB/s", "bytes_per_s", 1e9),
    "tour": _tour,
    "toast": _toast,
    "peers": _peers,
    "cpp": _tests,
    "own_tests": _tests,
    "together_tests": _tests,
    "shared_tests": _tests,
    "bits": _bits,
    "sanitizer": _sanitizer,
}
