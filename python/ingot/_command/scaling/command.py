"""The command `scaling`."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from .model import Level, Machine, Piece, fit, fit_add, no_less
from .programs import ANY, OWN, Program, WrongProgram, predicted, program_of, read

STARTED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "SLURM_STEP_NUM_TASKS")
"""Variables by which a process sees that it is one of several."""


def add_command(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "scaling", help="what this machine gives on many ranks: measures messages and computing, predicts programs",
        description="Measures rates of computing and, below mpiexec, messages and collectives; predicts programs on many ranks.",
        epilog="mpiexec -n 8 python -m ingot scaling --plot scaling.svg",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="few sizes and rounds: to see that it runs")
    parser.add_argument("--json", metavar="FILE", help="write all figures")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw the predicted curves")
    parser.add_argument("--from", dest="earlier", metavar="FILE", help="measure nothing: take what --json has written")
    parser.add_argument("--program", action="append", default=[], metavar="FILE", help="predict this program, TOML or JSON, instead of Ingot's own; repeatable")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another value of a program's parameter; repeatable")
    parser.add_argument("--ranks", type=int, default=4096, metavar="N", help="predict up to so many ranks (4096)")
    parser.add_argument("--per-node", type=int, metavar="N", help="ranks on a node in predictions (those measured where there are two nodes, else 64)")
    parser.add_argument("--latency", type=float, default=1.5, metavar="US", help="microseconds between nodes, where there is only one (1.5)")
    parser.add_argument("--bandwidth", type=float, default=12.0, metavar="GB/S", help="of a node, between nodes, where there is only one (12)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    world = None
    try:
        world = communicator() if options.earlier is None else None
        check(options)
        chosen = programs(options)
        found = _measured(world, options.quick) if options.earlier is None else earlier(options.earlier)
    except WrongProgram as error:
        if world is None or world.Get_rank() == 0:
            print(error, file=sys.stderr)
        return 2
    if world is not None and world.Get_rank() != 0:
        return 0
    from . import text

    print(text.measured(found))
    if "messages" in found:
        machine = machine_of(found, options)
        curves = [(program, predicted(program, machine, options.ranks)) for program in chosen]
        print(text.predictions(machine, found, curves, options.ranks))
        found = {**found, "model": text.as_json(machine, found, curves)}
    elif options.plot:
        print(f"{options.plot} is not drawn: there are no predictions", file=sys.stderr)
    try:
        if options.json:
            Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
        if options.plot and "model" in found:
            from .chart import svg

            Path(options.plot).write_text(svg(text.panels(curves)))
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def check(options: argparse.Namespace) -> None:
    """WrongProgram where an option has no value that can be."""
    if options.ranks < 2:
        raise WrongProgram(f"--ranks {options.ranks}: predictions are for 2 ranks and more")
    if options.per_node is not None and options.per_node < 1:
        raise WrongProgram(f"--per-node {options.per_node}: a node has 1 rank or more")
    for name in ("latency", "bandwidth"):
        if not 0.0 < getattr(options, name) < math.inf:
            raise WrongProgram(f"--{name} {getattr(options, name):g}: it is above 0")
    if options.plot and not options.plot.endswith(".svg"):
        raise WrongProgram(f"--plot {options.plot}: the picture is SVG, so its name ends with .svg")


def programs(options: argparse.Namespace) -> list[Program]:
    """The programs of the command's options, or Ingot's own, with the parameters that are set."""
    chosen = [read(file) for file in options.program] or [program_of(each, each["name"]) for each in OWN]
    given: dict[str, float] = {}
    for word in options.set:
        name, _, value = word.partition("=")
        if not any(name in program.parameters for program in chosen):
            raise WrongProgram(f"--set {word}: no program has a parameter {name!r}, but {', '.join(sorted({n for p in chosen for n in p.parameters}))}")
        try:
            given[name] = float(value)
        except ValueError as error:
            raise WrongProgram(f"--set {word}: {value!r} is no number") from error
    chosen = [program.with_parameters(given) for program in chosen]
    for program in chosen:
        predicted(program, ANY, options.ranks)  # what is wrong is found before anything is measured
    return chosen


def communicator() -> Any:
    """mpi4py's, of all ranks; None for one process."""
    started = max((int(os.environ[name]) for name in STARTED if os.environ.get(name, "").isdigit()), default=1)
    try:
        from mpi4py import MPI
    except ImportError as error:
        if started > 1:
            raise WrongProgram(f"{started} processes were started, but mpi4py, by which they find each other, is not there: {error}") from error
        return None
    except RuntimeError as error:  # mpi4py without a library of MPI
        if started > 1:
            raise WrongProgram(f"mpi4py cannot load MPI: {error}") from error
        return None
    from . import compiled

    compiled.MPI = MPI
    if MPI.COMM_WORLD.Get_size() > 1:
        return MPI.COMM_WORLD
    if started > 1:
        raise WrongProgram(f"{started} processes were started, but mpi4py finds one: mpiexec is of another MPI than {MPI.Get_library_version().split(',')[0]}")
    return None


def _measured(world: Any, quick: bool) -> dict[str, Any]:
    from .measure import measured

    return measured(world, quick)


def numbered(value: Any) -> Any:
    """What JSON has, with numbers as keys again."""
    if not isinstance(value, dict):
        return value
    return {int(key) if isinstance(key, str) and key.isdigit() else key: numbered(each) for key, each in value.items()}


def earlier(file: str, has: str = "rates") -> dict[str, Any]:
    """What an earlier run has written, with numbers as keys; `has` is one of its names."""
    try:
        found = numbered(json.loads(Path(file).read_text("utf-8")))
    except OSError as error:
        raise WrongProgram(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise WrongProgram(f"{file}: {error}") from error
    if not isinstance(found, dict) or has not in found:
        raise WrongProgram(f"{file}: it is not what `python -m ingot scaling --json` writes")
    found.pop("model", None)
    return found


def machine_of(found: dict[str, Any], options: argparse.Namespace) -> Machine:
    """The machine that was measured; what was not is assumed, and named in `assumed`."""
    assumed, between, per_node = [], found["messages"]["between"], options.per_node
    on_node = found["messages"]["node"]
    if between is None:
        assumed.append(f"between nodes {options.latency:g} us and {options.bandwidth:g} GB/s, which the ranks of a node share")
        level = Level((Piece(math.inf, options.latency * 1e-6, 1e-9 / options.bandwidth),))
    else:
        level = Level(fit(between))
    if per_node is None:
        per_node = found["per_node"] if between is not None else 64
        if between is None:
            assumed.append("64 ranks a node")
    node = Level(fit(on_node)) if on_node is not None else level
    rates = found["rates"]
    bandwidth = no_less(rates["bytes"], found["cores"])  # more ranks than cores wait for cores, not for memory
    if per_node > max(bandwidth):
        assumed.append(f"memory as fast for each of {per_node} ranks as for {max(bandwidth)} here")
    machine = Machine(node, level, per_node, rates["flops"], bandwidth, assumed=tuple(assumed))
    every, cores = found["collectives"]["allreduce"], found["cores"] * found["nodes"]
    add = fit_add(machine.on_nodes_of(found["per_node"]), {p: times for p, times in every.items() if p <= max(2, cores)})
    return replace(machine, add=add)

