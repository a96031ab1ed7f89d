"""python -m ingot_toast satellite | sweep: the satellite's workflow, and how it scales with processes and threads."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ingot
import numpy as np

from . import mpi, pictures, satellite
from .comm import Comm
from .memory import Memory
from .noise import REALIZATIONS


def number(kind: type[int] | type[float], low: float, high: float, above: bool = False) -> Callable[[str], int | float]:
    """Reads a number from `low`, or above it, to `high`; argparse reports to the user where it is none."""

    def read(word: str) -> int | float:
        try:
            value = kind(word)
        except ValueError:
            value = kind(low) - 1
        if low <= value <= high and not (above and value == low):
            return value
        bounds = f"{'above' if above else 'from'} {low:g}" + (f" to {high:g}" if high < math.inf else " on")
        raise argparse.ArgumentTypeError(f"{word!r} is no {'whole ' if kind is int else ''}number {bounds}")

    return read


def parser() -> argparse.ArgumentParser:
    count = number(int, 1, math.inf)
    made = argparse.ArgumentParser(prog="python -m ingot_toast", description=__doc__)
    commands = made.add_subparsers(dest="command", required=True)
    one = commands.add_parser("satellite", help="simulate a satellite's samples, make maps of them, compare these with the sky")
    one.add_argument("--size", choices=list(satellite.SIZES), default="tiny")
    one.add_argument("--noise", choices=["1/f", "white", "none"], default="1/f")
    one.add_argument("--realization", type=number(int, 0, REALIZATIONS - 1), default=0, help="number of the noise")
    one.add_argument("--device", default="cpu", help='"cpu", or a device of Ingot: "gpu", "emulated", "opencl"')
    one.add_argument("--limit", type=number(float, 0, 1, above=True), help="the share of the device's memory that may be used, up to 1")
    one.add_argument("--threads", type=count, help="of each process")
    one.add_argument("--mpi", action="store_true", help="run as one of the processes that mpiexec has started")
    one.add_argument("--group-size", type=count, help="processes that share an observation; all, without it")
    one.add_argument("--detector-ranks", type=count, help="processes of a group along the detectors; the others are along the samples")
    one.add_argument("--allreduce", action="store_true", help="sum maps by Allreduce instead of between owners of submaps")
    one.add_argument("--fused", action="store_true", help="make one function of the operators of a pipeline where they can be")
    one.add_argument("--by-runs", action="store_true", help="let the solver go through runs of samples in a pixel, not samples")
    one.add_argument("--out", type=Path, help="folder for maps, pictures, the profile and counters")
    one.add_argument("--trace", type=Path, help="file for each event of the profile, as JSON for Perfetto")
    one.add_argument("--checkpoint", type=Path, help="folder to go on from where the run was interrupted")
    one.add_argument("--every", type=count, default=10, help="steps of the solver between checkpoints")
    many = commands.add_parser("sweep", help="processes x threads at a fixed number of cores: times, memory, Amdahl's bound")
    many.add_argument("--size", choices=list(satellite.SIZES), default="small")
    many.add_argument("--device", nargs="*", default=["cpu"])
    many.add_argument("--cores", type=count, help="all of this process, without it")
    many.add_argument("--out", type=Path, help="folder for the table and the times of each run")
    return made


def options_of(arguments: argparse.Namespace, comm: Comm) -> dict[str, Any]:
    """What all pipelines are given: the device, with this process's share of it."""
    if arguments.device == "cpu":
        return {"device": False}
    device, share = mpi.share_of_device(comm, arguments.device)
    return {"memory": Memory(device, share if arguments.limit is None else arguments.limit), "device": True}


def run_satellite(arguments: argparse.Namespace) -> int:
    if arguments.mpi:
        mpi.abort_on_errors()
    comm = Comm.of_mpi(arguments.group_size) if arguments.mpi else Comm()
    if arguments.threads:
        ingot.set_num_threads(arguments.threads)
    if arguments.out or arguments.trace:
        ingot.profile.start(trace=arguments.trace is not None)
    checkpoint = None
    if arguments.checkpoint:
        names = "size", "noise", "realization", "device", "group_size", "detector_ranks", "allreduce", "fused", "by_runs"
        chosen = {name: getattr(arguments, name) for name in names}
        checkpoint = satellite.Checkpoint(arguments.checkpoint, comm, {**chosen, "processes": comm.size}, arguments.every)
    work = satellite.Workflow(
        arguments.size, comm, arguments.noise, options_of(arguments, comm), arguments.allreduce, arguments.detector_ranks,
        arguments.fused, arguments.by_runs, arguments.realization,
    )  # fmt: skip
    found = satellite.run(work, checkpoint, satellite.Progress(comm.rank == 0), arguments.out)
    if arguments.trace:
        arguments.trace.parent.mkdir(parents=True, exist_ok=True)
        ingot.profile.trace(arguments.trace, comm.world)
    if comm.rank:
        return 0
    print(satellite.report(found))
    if arguments.out:
        with np.load(arguments.out / "maps.npz") as maps:
            pictures.draw(maps, work.data, arguments.out)
    wrong = satellite.validate(arguments.size, arguments.noise, found)
    for line in wrong:
        print(f"differs from the reference: {line}", file=sys.stderr)
    return 1 if wrong else 0


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    if arguments.command == "satellite":
        return run_satellite(arguments)
    print(mpi.sweep(arguments.size, arguments.device, arguments.cores, arguments.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
