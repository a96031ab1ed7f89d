"""Scaling of the satellite workflow and the heat equation: `python -m bench.scaling [--rounds N] [--page docs/scaling.md] [--json FILE] [--figures FILE]`.

Measures programs on 1, 2 and 4 processes and threads, and what `python -m ingot scaling` measures on 4 ranks, each by the least of the
rounds; with `--page` the tables of the page are written, and its charts. `--figures` takes what `--json` has written, and measures nothing.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ingot._command.scaling import command, model, programs, text
from ingot._command.scaling.chart import Curve, Panel, svg

ROOT = Path(__file__).resolve().parents[1]
CHARTS = ROOT / "docs" / "benchmarks"
STRONG = ((1, 1), (1, 2), (2, 1), (4, 1))
WEAK = ((1, 1), (2, 1), (4, 1))
STAGES = ("simulating", "weighing pixels", "destriping")
SAMPLES, PIXELS = 14 * 360_000, 12 * 64**2


def ranks(processes: int, threads: int, *words: object) -> Any:
    """What rank 0 of so many processes prints, as JSON."""
    path = [os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else []
    given = {
        **os.environ, "INGOT_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join([*path, str(ROOT / "examples" / "toast")]),
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
    }  # fmt: skip
    start = ["mpiexec", "--oversubscribe", "--bind-to", "none", "-n", str(processes), sys.executable]
    done = subprocess.run([*start, *map(str, words)], env=given, cwd=ROOT, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def satellite(observations: int, by_runs: bool) -> None:
    """On each rank: the workflow of size `small`, with so many observations; rank 0 prints its figures."""
    from ingot_toast import Comm
    from ingot_toast import satellite as workflows

    workflows.SIZES["weak"] = replace(workflows.SIZES["small"], observations=observations)
    comm = Comm.of_mpi(1 if observations > 1 else None)
    found = workflows.run(workflows.Workflow("weak", comm, by_runs=by_runs))
    if comm.rank == 0:
        print(json.dumps({**{stage: found["seconds"][stage] for stage in (*STAGES, "all")}, "steps": found["steps"]}))


def heat() -> None:
    """On each rank: the heat equation; rank 0 prints its seconds."""
    from mpi4py import MPI

    from ingot._command.scaling import compiled, measure

    compiled.MPI = MPI
    found = measure.heat(measure.Ranks(MPI.COMM_WORLD, False))
    if MPI.COMM_WORLD.Get_rank() == 0:
        print(json.dumps(found))


def machine() -> dict[str, Any]:
    """What `python -m ingot scaling` finds on four ranks."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        code = "import sys; from ingot.__main__ import main; main(sys.argv[1:]); print(0)"
        ranks(4, 1, "-c", code, "scaling", "--json", file)
        return command.earlier(str(file))


def least(first: Any, second: Any, name: str = "") -> Any:
    """The least of the seconds of two rounds, and the largest rates."""
    if isinstance(first, dict):
        return {key: least(first[key], second[key], "rate" if key == "rates" or name == "rate" else key) for key in first}
    if isinstance(first, int | float) and not isinstance(first, bool):
        return max(first, second) if name in ("rate", "load") else min(first, second)
    return first


def measured(rounds: int) -> dict[str, Any]:
    """All of it, in turns; messages, which other work disturbs most, three times in each."""
    run = "import sys; from bench import scaling; scaling"
    parts: dict[str, Callable[[], Any]] = {"machine": lambda: functools.reduce(least, (machine() for _ in range(3)))}
    for processes, threads in STRONG:
        for kind in ("samples", "runs"):
            code = f"{run}.satellite(1, {kind == 'runs'})"
            parts[f"strong {kind} {processes}x{threads}"] = lambda p=processes, t=threads, code=code: ranks(p, t, "-c", code)
    for processes, threads in WEAK:
        code = f"{run}.satellite({processes}, False)"
        parts[f"weak samples {processes}x{threads}"] = lambda p=processes, t=threads, code=code: ranks(p, t, "-c", code)
    parts["heat threads"] = lambda: ranks(2, 2, "-c", f"{run}.heat()")
    found: dict[str, Any] = {}
    load = os.getloadavg()[0]
    for turn in range(rounds):
        for name, part in parts.items():
            one = part()
            one = command.numbered(one)
            found[name] = least(found[name], one) if name in found else one
            print(f"{turn + 1}/{rounds} {name}", file=sys.stderr, flush=True)
    return {"date": datetime.date.today().isoformat(), "rounds": rounds, "load": [load, os.getloadavg()[0]], **found}


# The page.


def markdown(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(["| " + " | ".join(row) + " |" for row in (head, ["---", *["---:"] * (len(head) - 1)], *rows)])


def milliseconds(value: float) -> str:
    return text.number(1e3 * value)


def constants(found: dict[str, Any]) -> dict[str, float]:
    """The satellite's parameters, as one process measured them."""
    one, by_steps = found["strong samples 1x1"], found["strong samples 1x1"]["steps"] + 2
    ns = {"ns_simulate": one["simulating"], "ns_weigh": one["weighing pixels"], "ns_solver": one["destriping"] / by_steps}
    return {"solver": by_steps, **{name: round(1e9 * value / SAMPLES, 1) for name, value in ns.items()}}


def blocks(found: dict[str, Any]) -> tuple[dict[str, str], dict[str, list[Panel]]]:
    """The tables of the page by name, and its charts."""
    here = found["machine"]
    options = argparse.Namespace(per_node=None, latency=1.5, bandwidth=12.0)
    made = command.machine_of(here, options)
    given = constants(found)
    chosen = [programs.program_of(each, "").with_parameters(given) for each in programs.OWN]
    curves = [(program, programs.predicted(program, made, 4096)) for program in chosen]
    load = f"load {min(found['load']):.1f} to {max(found['load']):.1f}"
    tables = {
        "when": f"{found['date']}, {load}, the least of {text.counted(found['rounds'], 'round')}.",
        "satellite": satellite_table(found), "satellite weak": weak_table(found), "heat": heat_table(found, made), "constants": constants_table(made, here),
        "errors": errors_table(made, found, given), "strong": strong_table(curves), "weak": weak_predicted(curves), "crossings": crossings_table(made, curves),
        "parameters": ", ".join(f"`{name}` {value:g}" for name, value in given.items()),
    }  # fmt: skip
    return tables, {"scaling": text.panels(curves), "scaling-model": model_panels(made, here)}


def satellite_table(found: dict[str, Any]) -> str:
    rows = []
    for processes, threads in STRONG:
        one, runs = (found[f"strong {kind} {processes}x{threads}"] for kind in ("samples", "runs"))
        rows.append([f"{processes} x {threads}", *(f"{one[stage]:.1f}" for stage in (*STAGES, "all")), f"{runs['destriping']:.1f}", f"{runs['all']:.1f}"])
    return markdown(["processes x threads", "simulating", "weighing pixels", "destriping", "all", "destriping by runs", "all, by runs"], rows)


def weak_table(found: dict[str, Any]) -> str:
    rows, first = [], found["weak samples 1x1"]
    for processes, threads in WEAK:
        one = found[f"weak samples {processes}x{threads}"]
        step, before = (each["destriping"] / (each["steps"] + 2) for each in (one, first))
        rows.append([f"{processes} x {threads}", f"{one['simulating']:.1f}", f"{one['weighing pixels']:.1f}", milliseconds(step), f"{before / step:.2f}"])
    return markdown(["processes x threads", "simulating, s", "weighing pixels, s", "a step of the solver, ms", "its efficiency"], rows)


def heat_table(found: dict[str, Any], made: model.Machine) -> str:
    every = text.heat_rows(made, found["machine"])
    rows = [[f"{p} x 1, {kind}", milliseconds(took), milliseconds(guess), f"{guess / took:.2f}"] for kind, p, took, guess in every]
    for p in (1, 2):
        rows += [[f"{p} x 2, {kind}", milliseconds(found["heat threads"][kind][p]), "-", "-"] for kind in ("strong", "weak")]
    return markdown(["processes x threads", "measured, ms", "predicted, ms", "ratio"], sorted(rows, key=lambda row: (row[0].partition(", ")[2], row[0])))


def constants_table(made: model.Machine, here: dict[str, Any]) -> str:
    rows = []
    for name, level in (("within a node, measured", made.node), ("between nodes, assumed", made.between)):
        for piece in level.pieces:
            upto = "" if piece.up_to == float("inf") else f", up to {text.size(piece.up_to)}"
            rows.append([name + upto, f"{text.seconds(piece.alpha)}, {1e-9 / piece.beta:.1f} GB/s"])
    rows.append(["a reduction adds a byte in", f"{1e12 * made.add:.0f} ps"])
    rows += [[f"memory of each of {text.counted(p, 'rank')} (triad)", f"{rate / 1e9:.1f} GB/s"] for p, rate in made.bytes.items()]
    rows.append(["a core, in vectors", f"{made.flops / 1e9:.1f} Gflop/s"])
    return markdown(["constant", "value"], rows)


def errors_table(made: model.Machine, found: dict[str, Any], given: dict[str, float]) -> str:
    own, shared = (text.errors_of(made, found["machine"], many) for many in (False, True))
    for processes in (2, 4):
        program = programs.program_of(programs.SATELLITE, "").with_parameters({**given, "samples": SAMPLES, "pixels": PIXELS, "seen": 0.94})
        costs = program.costs(made.on_nodes_of(4), processes)
        took = found[f"strong samples {processes}x1"]
        begins = dict(zip(STAGES, ("simulating", "weighing", "solver")))
        stages = {stage: sum(value for step, value in costs.items() if step.startswith(begin)) for stage, begin in begins.items()}
        (shared if processes > found["machine"]["cores"] else own)["satellite, its stages"] = [(took[stage], guess) for stage, guess in stages.items()]
    rows = [[name, text.off(own[name]), text.off(shared[name])] for name in own]
    return markdown(["factor between predicted and measured (median, worst)", "2 ranks, a core each", "4 ranks on 2 cores"], rows)


def strong_table(curves: text.Curves) -> str:
    return predicted_table(curves, False, lambda curve, place: f"{text.seconds(curve.seconds(False)[place])}, {100 * curve.efficiency(False)[place]:.0f} %")


def weak_predicted(curves: text.Curves) -> str:
    return predicted_table(curves, True, lambda curve, place: f"{text.seconds(curve.seconds(True)[place])}, {100 * curve.efficiency(True)[place]:.0f} %")


def predicted_table(curves: text.Curves, weak: bool, cell: Callable[[Any, int], str]) -> str:
    first = curves[0][1]
    places = [place for place, p in enumerate(first.ranks) if p in text.SHOWN]
    rows = [[program.name, *(cell(curve, place) for place in places)] for program, curve in curves if curve.weak or not weak]
    return markdown(["weak" if weak else "strong", *(f"{first.ranks[place]:,}".replace(",", " ") for place in places)], rows)


def crossings_table(made: model.Machine, curves: text.Curves) -> str:
    rows = [
        [f"{program.name}: {name}", f"from {p} ranks on" if p else "on none of up to 4 096"]
        for program, curve in curves for name, p in programs.crossings(program, curve).items()
    ]  # fmt: skip
    levels = (("within a node", made.node), ("between nodes", made.between))
    sizes = [[f"a message {name}: bandwidth longer than latency", f"{text.size(level.even())}"] for name, level in levels]
    for name in ("allreduce", "bcast", "alltoall"):
        places = ", ".join(text.size(model.even_size(name, made, p)) for p in (64, 4096))
        sizes.append([f"{name} on 64, and on 4 096 ranks: twice as long as of 8 bytes", places])
    return markdown(["longer than computing", "where"], rows) + "\n\n" + markdown(["", "from so many bytes on"], sizes)


def model_panels(made: model.Machine, here: dict[str, Any]) -> list[Panel]:
    """Measured times, as dots, and the model, as lines."""
    times = here["messages"]["node"]
    dense = [8 * 2**k for k in range(19)]
    there = [Curve("the model", [(n, 1e6 * made.node.seconds(n)) for n in dense]), Curve("measured", [(n, 1e6 * t) for n, t in times.items()], dots=True, colour=0)]
    own = made.on_nodes_of(here["per_node"])
    every = []
    for number, (p, of_size) in enumerate(here["collectives"]["allreduce"].items()):
        every.append(Curve(f"the model, {p} ranks", [(n, 1e6 * model.allreduce(own, p, n)) for n in dense], colour=number))
        every.append(Curve(f"measured, {p} ranks", [(n, 1e6 * t) for n, t in of_size.items()], dots=True, colour=number))
    return [Panel("a message within a node", "bytes", "microseconds", there), Panel("Allreduce within a node", "bytes", "microseconds", every)]


def write(found: dict[str, Any], page: Path) -> None:
    """Fills in the page's parts between `<!-- NAME -->` and `<!-- end -->`, and draws its charts."""
    tables, charts = blocks(found)
    words = page.read_text()
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, _, rest = words.partition(begin)
        if not rest:
            raise SystemExit(f"{page} has no {begin.strip()}")
        words = f"{before}{begin}\n{table}\n\n{end}{rest.partition(end)[2]}"
    page.write_text(words)
    for name, panels in charts.items():
        for theme in ("light", "dark"):
            (CHARTS / f"{name}-{theme}.svg").write_text(svg(panels, theme))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--figures", type=Path, metavar="FILE")
    parser.add_argument("--page", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    found = command.earlier(str(arguments.figures), "machine") if arguments.figures else measured(arguments.rounds)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.page:
        write(found, arguments.page)
    else:
        print("\n\n".join(f"{name}\n{table}" for name, table in blocks(found)[0].items()))


if __name__ == "__main__":
    main()
