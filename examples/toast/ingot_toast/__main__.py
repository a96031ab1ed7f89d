"""python -m ingot_toast: simulate a satellite's samples, make maps of them, compare these with the sky."""

from __future__ import annotations

import argparse
import logging
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ingot
import numpy as np

from . import mpi, on_dask, pictures, satellite
from .checkpoint import Checkpoint
from .comm import Comm
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
    made.add_argument("--size", choices=list(satellite.SIZES), default="tiny")
    made.add_argument("--noise", choices=["1/f", "white", "none"], default="1/f")
    made.add_argument("--realization", type=number(int, 0, REALIZATIONS - 1), default=0, help="number of the noise")
    made.add_argument("--device", default="cpu", help='"cpu", or a device of Ingot: "gpu", "emulated", "opencl"')
    made.add_argument("--limit", type=number(float, 0, 1, above=True), help="the share of the device's memory that may be used, up to 1")
    made.add_argument("--threads", type=count, help="of each process")
    made.add_argument("--mpi", action="store_true", help="run as one of the processes that mpiexec has started")
    made.add_argument("--dask", type=workers, metavar="N|ADDRESS", help="run on so many workers of Dask here, or on all of a scheduler's")
    made.add_argument("--group-size", type=count, help="processes that share an observation; all, without it")
    made.add_argument("--detector-ranks", type=count, help="processes of a group along the detectors; the others are along the samples")
    made.add_argument("--allreduce", action="store_true", help="sum maps by Allreduce instead of between owners of submaps")
    made.add_argument("--by-runs", action="store_true", help="let the solver go through runs of samples in a pixel, not samples")
    made.add_argument("--out", type=Path, help="folder for maps, pictures, figures and the profile")
    made.add_argument("--trace", type=Path, help="file for each event of the profile, as JSON for Perfetto")
    made.add_argument("--checkpoint", type=Path, help="folder to go on from where the run was interrupted")
    made.add_argument("--every", type=count, default=10, help="steps of the solver between checkpoints")
    return made


def device_of(arguments: argparse.Namespace, comm: Comm) -> ingot.Device | None:
    """The device of this process, of whose memory it takes its share at most."""
    if arguments.device == "cpu":
        return None
    device, share = mpi.share_of_device(comm, arguments.device)
    ingot.set_memory_limit(device, int(device.memory * (share if arguments.limit is None else arguments.limit)))
    return device


def workers(word: str) -> str:
    """Reads a number of workers, 1 or more, or a scheduler's address."""
    if "://" not in word:
        number(int, 1, math.inf)(word)
    return word


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    if arguments.mpi and arguments.dask:
        parser().error("--mpi and --dask are two ways to have processes: give one")
    if arguments.dask:
        return on_workers(arguments)
    if arguments.mpi:
        mpi.abort_on_errors()
    comm = Comm.of_mpi(arguments.group_size) if arguments.mpi else Comm()
    if comm.rank == 0:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    found = one_rank(comm, arguments)
    return ended(arguments, found) if comm.rank == 0 else 0


def on_workers(arguments: argparse.Namespace) -> int:
    """The program on Dask's workers."""
    try:
        cluster, client = on_dask.connected(arguments.dask, arguments.threads)
    except (ImportError, OSError) as error:
        print(f"--dask {arguments.dask}: {error}", file=sys.stderr)
        return 2
    for name in ("out", "trace", "checkpoint"):
        if path := getattr(arguments, name):
            setattr(arguments, name, path.resolve())  # workers may have another current folder
    with cluster, client:
        found = on_dask.run(one_rank, arguments, client=client, group_size=arguments.group_size)
    return ended(arguments, found)


def one_rank(comm: Comm, arguments: argparse.Namespace) -> dict[str, Any]:
    """The program of each process; what was found, on rank 0."""
    if arguments.threads:
        ingot.set_num_threads(arguments.threads)
    if arguments.out or arguments.trace:
        ingot.profile.start(trace=arguments.trace is not None)
    checkpoint = None
    if arguments.checkpoint:
        names = "size", "noise", "realization", "device", "group_size", "detector_ranks", "allreduce", "by_runs"
        chosen = {name: getattr(arguments, name) for name in names}
        checkpoint = Checkpoint(arguments.checkpoint, comm, {**chosen, "processes": comm.size}, arguments.every)
    work = satellite.Workflow(
        arguments.size, comm, arguments.noise, {"device": device_of(arguments, comm)}, arguments.allreduce, arguments.detector_ranks,
        arguments.by_runs, arguments.realization,
    )  # fmt: skip
    found = satellite.run(work, checkpoint, arguments.out)
    if arguments.trace:
        arguments.trace.parent.mkdir(parents=True, exist_ok=True)
        ingot.profile.trace(arguments.trace, comm.world)
    if comm.rank == 0 and arguments.out:
        with np.load(arguments.out / "maps.npz") as maps:
            pictures.draw(maps, work.data, arguments.out)
    return found


def ended(arguments: argparse.Namespace, found: dict[str, Any]) -> int:
    """Prints what was found; 1 where it differs from the reference."""
    print(satellite.report(found))
    wrong = satellite.validate(arguments.size, arguments.noise, found)
    for line in wrong:
        print(f"differs from the reference: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
