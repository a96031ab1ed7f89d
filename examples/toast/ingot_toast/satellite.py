"""The satellite workflow: simulated samples of a sky, and the maps that are made of them."""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import ingot
import numpy as np

from .comm import Comm, blocks, detectors_of_ranks, evenly, grid
from .covariance import Covariance
from .data import Data, Observation
from .destripe import BinMap, Destripe, FlagForSolver, staged
from .focalplane import hexagon
from .mpi import DistributePixels, NodeSharing, exchange, total
from .noise import SimulateNoise
from .operators import BuildNoiseWeighted, PixelsHealpix, PointingDetector, ScanMap, StokesWeights
from .pipeline import Pipeline
from .scan import SimulateScan
from .sky import SimulateSky


@dataclass(frozen=True)
class Size:
    """How large the simulation is. `rate` in Hz; `step`, of the destriping, in seconds."""

    rings: int
    observations: int
    samples: int
    rate: float
    nside: int
    stored: bool = True
    """Whether pixels and weights are kept; else they are made again each time they are needed, detector by detector."""
    step: float = 10.0

    @property
    def detectors(self) -> int:
        return 2 * (3 * self.rings * (self.rings + 1) + 1)

    @property
    def nside_submap(self) -> int:
        return min(16, self.nside // 4)


SIZES = {
    "tiny": Size(1, 1, 6_000, 10.0, 16),
    "small": Size(1, 1, 360_000, 100.0, 64),
    "medium": Size(3, 2, 360_000, 100.0, 256),
    "large": Size(6, 6, 360_000, 100.0, 1024, stored=False),
}


def distribute(size: Size, comm: Comm, detector_ranks: int | None = None) -> Data:
    """The observations of this process, without samples: its group's, of the detectors and samples of its position in the group.

    Detectors of one position of the focal plane stay together, and so do the samples of one step.
    """
    plane = hexagon(size.rings)
    across, along, column, row = grid(comm.group_size, comm.group_rank, detector_ranks)
    own = detectors_of_ranks([name[:-1] for name in plane.names], across)[column]
    names = plane.names[own.start : own.stop]
    step = round(size.step * size.rate)
    steps = -(-size.samples // step)
    if along > steps:
        raise ValueError(f"{along} processes along the samples cannot share {steps} steps")
    part = evenly(steps, along)[row]
    samples = range(part.start * step, min(part.stop * step, size.samples))
    data, sharing = Data([], comm), NodeSharing(comm, comm.group * along + row)
    for number in blocks([size.samples] * size.observations, comm.n_groups)[comm.group]:
        ob = Observation(f"science-{number:02d}", names, len(samples), uid=number)
        whole = range(number * size.samples, (number + 1) * size.samples)
        ob.meta.update(focalplane=plane, rate=size.rate, whole=whole, first=whole[samples.start], sharing=sharing)
        ob.meta["noise"] = dict.fromkeys(names, plane.inverse_variance(size.rate))
        data.obs.append(ob)
    return data


class Workflow:
    """The workflow on the data of one process; each step is a method.

    `noise` is "1/f", "white" or "none"; `options` are those of all pipelines: `memory`, `device`, ...; with `allreduce` maps are
    summed by Allreduce, else between owners of submaps; `detector_ranks` of the processes of a group are along the detectors;
    with `fused` operators of a pipeline are one function where they can be; with `by_runs` the solver goes through runs of samples in
    a pixel instead of samples; each `realization` of the noise is another.
    """

    def __init__(
        self, size: str, comm: Comm | None = None, noise: str = "1/f", options: dict[str, Any] | None = None, allreduce: bool = False,
        detector_ranks: int | None = None, fused: bool = False, by_runs: bool = False, realization: int = 0,
    ) -> None:  # fmt: skip
        self.name, self.size, self.noise, self.allreduce, self.fused = size, SIZES[size], noise, allreduce, fused
        self.by_runs, self.realization = by_runs, realization
        self.options = {**({} if self.size.stored else {"detector_sets": "SINGLE"}), **(options or {})}
        self.data = distribute(self.size, comm or Comm(), detector_ranks)

    def pipeline(self, *operators: Any, **options: Any) -> Pipeline:
        made = Pipeline(operators, **self.options, **options)
        return made.compile() if self.fused else made

    def pixels(self) -> list[Any]:
        return [PointingDetector(), PixelsHealpix(nside=self.size.nside, nside_submap=self.size.nside_submap)]

    def pointing(self, weights: bool = True) -> list[Any]:
        """What makes pixels and weights where they are not stored."""
        return [] if self.size.stored else [*self.pixels(), *([StokesWeights()] if weights else [])]

    def simulate(self, checkpoint: Checkpoint | None = None) -> None:
        """Scan, sky and noise: `signal`, and where pointing is stored `pixels` and `weights`. A checkpoint has the signal."""
        data = self.data
        SimulateScan().apply(data)
        keep = ["pixels", "weights"] if self.size.stored else []
        more = [StokesWeights()] if self.size.stored else []
        distribute = DistributePixels(n_pix=12 * self.size.nside**2, allreduce=self.allreduce)
        self.pipeline(*self.pixels(), *more, distribute, keep=keep).apply(data)
        SimulateSky().apply(data)
        written = checkpoint and checkpoint.load("signal")
        if written:
            for ob in data.obs:
                ob.detdata.ensure("signal").data[:] = written[ob.name]
            return
        self.pipeline(*self.pointing(), ScanMap(map="sky", zero=True), keep=["sky"]).apply(data)
        if self.noise != "none":
            self.pipeline(SimulateNoise(white=self.noise == "white", realization=self.realization)).apply(data)
        if checkpoint is not None:
            checkpoint.save("signal", 0, {ob.name: ob.detdata["signal"].data for ob in data.obs})

    def weigh(self) -> None:
        """Hits, covariance and what the solver leaves out."""
        self.pipeline(*self.pointing(), Covariance()).apply(self.data)
        self.pipeline(*self.pointing(weights=False), FlagForSolver()).apply(self.data)

    def bin(self, name: str) -> None:
        """The binned map of the signal as it is."""
        build = self.pipeline(*self.pointing(), BuildNoiseWeighted(det_flags=None))
        BinMap(build=build, map=name, options=self.options).apply(self.data)

    def destripe(self, **options: Any) -> dict[str, Any]:
        """Takes the offsets out of the signal; the state of the solver."""
        step = round(self.size.step * self.size.rate)
        own = {"pointing": self.pointing(), "options": self.options, "fused": self.fused, "by_runs": self.by_runs}
        return Destripe(step_length=step, **own, **options).apply(self.data)


def figures(data: Data, name: str) -> dict[str, Any]:
    """How far a map is from the sky in good pixels, on rank 0; an empty dict on others.

    rms: of I, Q, U in µK, once the hit-weighted mean of I is taken out; chi2: per number, by the inverse covariance; worst: the
    largest error, K.
    """
    whole = {key: exchange(data).sky(data[key].data) for key in (name, "sky", "hits", "inverse_covariance", "rcond")}
    if data.comm.rank:
        return {}
    good = whole["rcond"][:, 0] > 0.0
    error, hits, m = (whole[name] - whole["sky"])[good], whole["hits"][good, 0], whole["inverse_covariance"][good]
    error[:, 0] -= np.sum(hits * error[:, 0]) / np.sum(hits)
    i, q, u = error.T
    squares = m[:, 0] * i * i + m[:, 3] * q * q + m[:, 5] * u * u + 2 * (m[:, 1] * i * q + m[:, 2] * i * u + m[:, 4] * q * u)
    rms = 1e6 * np.std(error, axis=0)
    return {"rms": rms.tolist(), "chi2": float(np.sum(squares) / (3 * len(error))), "worst": float(np.abs(error).max())}


REFERENCE = {
    ("tiny", "1/f"): ((70_000, 1352, 1253, 840, 142), 72, (31.262, 231.019, 198.869, 1.59132), (36.793, 231.130, 200.395, 1.98840)),
    ("small", "white"): (
        (4_900_000, 22_996, 21_026, 5040, 148), 50, (38.279, 234.288, 227.039, 0.99825), (39.039, 234.174, 230.152, 1.04170),
    ),
    ("small", "1/f"): (
        (4_900_000, 22_996, 21_026, 5040, 148), 49, (41.272, 251.253, 242.999, 1.20981), (40.818, 239.831, 236.136, 1.13938),
    ),
}  # fmt: skip
"""What compiled TOAST made of the same samples: hits, pixels hit and good, amplitudes and flagged ones; steps; rms (µK) and chi2."""


def validate(size: str, noise: str, found: dict[str, Any]) -> list[str]:
    """What differs from the reference figures, if there are some: none of the counts, no digit of the binned map's, the
    destriped one's by one of the fourth digit, the steps by 2."""
    if (size, noise) not in REFERENCE or found["realization"] != 0:
        return []
    counts, steps, binned, destriped = REFERENCE[size, noise]
    names = ("hits", "pixels_hit", "pixels_good", "amplitudes", "amplitudes_flagged")
    wrong = [f"{name}: {found[name]}, not {want}" for name, want in zip(names, counts) if found[name] != want]
    if abs(found["steps"] - steps) > 2:
        wrong.append(f"steps: {found['steps']}, not {steps} ± 2")
    for name, wanted in (("binned", binned), ("destriped", destriped)):
        for label, got, want, digits in zip("IQUχ", (*found[name]["rms"], found[name]["chi2"]), wanted, (3, 3, 3, 5)):
            unit = 10.0 ** -digits if name == "binned" else 10.0 ** (math.floor(math.log10(want)) - 3)
            if not abs(got - want) <= (0.5000001 if name == "binned" else 1.0) * unit:
                wrong.append(f"{name} {label}: {got:.{digits}f}, not {want:.{digits}f}")
    return wrong


class Progress:
    """One line on a terminal: what is being done and how much of it is; nothing where there is no terminal."""

    def __init__(self, shown: bool) -> None:
        self.shown, self.width = shown and sys.stderr.isatty(), 0

    def show(self, what: str, share: float) -> None:
        filled = round(30 * min(max(share, 0.0), 1.0))
        self.write(f"{what:28} [{'#' * filled}{'.' * (30 - filled)}] {100 * share:3.0f} %")

    def write(self, line: str, end: str = "") -> None:
        if self.shown:
            sys.stderr.write(f"\r{line:{self.width}}{end}")
            sys.stderr.flush()
            self.width = len(line)


class Checkpoint:
    """A folder from which an interrupted run goes on: the simulated signal, and the solver's state after each `every` steps.

    Each process has files of its own. What is written is valid at once, or not at all: a small file names the step that all
    processes have written. A file that cannot be read is a ValueError with its name.
    """

    def __init__(self, folder: Path, comm: Comm, settings: dict[str, Any], every: int = 10) -> None:
        if every < 1:
            raise ValueError(f"a checkpoint is written each so many steps, 1 or more, not each {every}")
        self.folder, self.comm, self.every = folder, comm, every
        if comm.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            written = folder / "settings.json"
            if not written.exists():
                self._replace(written, json.dumps(settings).encode())
        self._together()
        found = self._read(folder / "settings.json")
        if found != settings:
            raise ValueError(f"the checkpoint in {folder} is of another run: {found}, not {settings}")

    def save(self, stage: str, step: int, arrays: dict[str, Any]) -> None:
        """Writes what this process has; valid when all have written theirs."""
        self._replace(self._file(stage, step), arrays)
        self._together()
        last = self.last(stage)
        self._together()
        if self.comm.rank == 0:
            self._replace(self.folder / f"{stage}.json", json.dumps({"step": step}).encode())
        self._together()
        if last is not None and last != step:
            self._file(stage, last).unlink(missing_ok=True)

    def last(self, stage: str) -> int | None:
        """The last step that all processes have written."""
        written = self.folder / f"{stage}.json"
        if not written.exists():
            return None
        step = self._read(written)
        if not isinstance(step, dict) or not isinstance(step.get("step"), int):
            raise damaged(written, "it names no step")
        return step["step"]

    def load(self, stage: str) -> dict[str, np.ndarray] | None:
        """What this process wrote at the last step, or None."""
        step = self.last(stage)
        if step is None:
            return None
        return self._read(self._file(stage, step))

    def _read(self, path: Path) -> Any:
        try:
            if path.suffix == ".json":
                return json.loads(path.read_text())
            with open(path, "rb") as file:
                if not zipfile.is_zipfile(file):
                    raise ValueError("it is no file of arrays")
                file.seek(0)
                with np.load(file) as arrays:
                    return dict(arrays)
        except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
            raise damaged(path, str(error)) from error

    def _file(self, stage: str, step: int) -> Path:
        return self.folder / f"{stage}-{step}-{self.comm.rank}.npz"

    def _replace(self, path: Path, content: bytes | dict[str, Any]) -> None:
        part = path.with_name(path.name + ".part")
        with open(part, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                np.savez(file, **content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    def _together(self) -> None:
        if self.comm.size > 1:
            self.comm.world.Barrier()


def damaged(path: Path, why: str) -> ValueError:
    """What is raised where a file of a checkpoint cannot be read."""
    return ValueError(f"the checkpoint's {path} cannot be read ({why}): remove its folder to begin anew")


def run(
    work: Workflow, checkpoint: Checkpoint | None = None, progress: Progress | None = None, folder: Path | None = None
) -> dict[str, Any]:  # fmt: skip
    """Runs the whole workflow; the figures, on rank 0. What `write` writes is in the folder then, the maps before any figure is made."""
    progress, seconds, start = progress or Progress(False), {}, perf_counter()
    data, comm = work.data, work.data.comm

    def watch(state: dict[str, Any]) -> None:
        left = np.log(max(state["squares"][-1] / state["squares"][0], 1e-300)) / np.log(Destripe.tolerance)
        progress.show(f"destriping, step {state['step']}", left)
        if checkpoint is not None and state["step"] % checkpoint.every == 0:
            checkpoint.save("solver", state["step"], state)

    def stage(label: str, share: float, step: Any, *args: Any, **options: Any) -> Any:
        progress.show(label, share)
        begin = perf_counter()
        result = step(*args, **options)
        seconds[label] = perf_counter() - begin
        return result

    names = ["signal", "pixels", "weights"] if work.size.stored else ["signal"]
    for name, shape, dtype in (("signal", (), np.float64), ("pixels", (), np.int64), ("weights", (3,), np.float64))[: len(names)]:
        for ob in data.obs:
            ob.detdata.ensure(name, shape, dtype, "K" if name == "signal" else "1")
    maps = 8 * 20 * 12 * work.size.nside**2  # bytes of those with six, three and one numbers a pixel
    with staged(data, work.options, {"detdata": names}, maps):
        stage("simulating", 0.0, work.simulate, checkpoint)
        stage("weighing pixels", 0.3, work.weigh)
        stage("binning", 0.6, work.bin, "binned")
        state = None if checkpoint is None else checkpoint.load("solver")
        found = stage("destriping", 0.0, work.destripe, watch=watch, state=state and solver_state(state))
        stage("binning again", 1.0, work.bin, "destriped")
        for name in names[1:]:
            data.remove("detdata", name)
    begin = perf_counter()
    skies = None if folder is None else write_maps(data, folder)
    start += perf_counter() - begin  # "all" is without what is written
    result = summary(work, found)
    progress.write("", "\r")
    if comm.rank == 0:
        result["seconds"] = {**seconds, "all": perf_counter() - start}
    if folder is not None:
        write_summary(work, result, folder, skies)
    return result


def summary(work: Workflow, state: dict[str, Any]) -> dict[str, Any]:
    """What a run has found, on rank 0; an empty dict on others. `state` is the solver's."""
    data, comm = work.data, work.data.comm
    hits, rcond = (exchange(data).sky(data[key].data) for key in ("hits", "rcond"))
    peaks = peak_memory(work)
    counts = total(comm, np.array([len(state["x"]), int(data["amplitude_flags"].data.sum())]))
    result = {"binned": figures(data, "binned"), "destriped": figures(data, "destriped")}
    if comm.rank:
        return {}
    seen = {"hits": int(hits.sum()), "pixels_hit": int(np.count_nonzero(hits)), "pixels_good": int(np.count_nonzero(rcond))}
    seen.update(amplitudes=int(counts[0]), amplitudes_flagged=int(counts[1]), steps=int(state["step"]))
    about: dict[str, Any] = {"size": work.name, "noise": work.noise, "realization": work.realization}
    about.update(processes=comm.size, threads=ingot.get_num_threads(), memory=peaks)
    return {**about, **seen, **result}


def peak_memory(work: Workflow) -> dict[str, list[int]] | None:
    """The most bytes that each process has taken so far, of the host and of its device; on rank 0."""
    memory = work.options.get("memory")
    own = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0 if memory is None else memory.pool.peak
    parts = [own] if work.data.comm.size == 1 else work.data.comm.world.gather(own)
    return None if parts is None else {"host": [host for host, _ in parts], "device": [device for _, device in parts]}


def solver_state(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The state of `conjugate_gradients` as it was before it was written."""
    state: dict[str, Any] = {name: arrays[name] for name in ("x", "residual", "direction")}
    return {**state, "step": int(arrays["step"]), "rz": float(arrays["rz"]), "squares": arrays["squares"].tolist()}


def amplitudes(data: Data) -> list[tuple[int, int, int, np.ndarray]] | None:
    """Detector, observation, first sample there and amplitudes (K) of all processes, in this order; on rank 0."""
    layout, values, own = data["offsets"], data["amplitudes"].data, []
    for ob in data.obs:
        for detector in ob.detectors:
            start = layout.start[ob.name, detector]
            number = ob.meta["focalplane"].names.index(detector)
            own.append((number, ob.uid, ob.meta["first"], values[start : start + int(layout.steps[ob.name].sum())]))
    parts = [own] if data.comm.size == 1 else data.comm.world.gather(own)
    return None if parts is None else sorted((item for part in parts for item in part), key=lambda item: item[:3])


MAPS = {
    "hits": "1", "inverse_covariance": "1/K2", "covariance": "K2", "rcond": "1", "sky": "K", "binned": "K", "destriped": "K",
}  # fmt: skip


def write(work: Workflow, found: dict[str, Any], folder: Path) -> dict[str, np.ndarray] | None:
    """Maps as maps.npz (and maps.h5 where h5py is there), amplitudes, figures, the profile and counters; the maps, on rank 0.

    All maps are whole skies in nested order, (pixels, numbers).
    """
    maps = write_maps(work.data, folder)
    write_summary(work, found, folder, maps)
    return maps


def write_maps(data: Data, folder: Path) -> dict[str, np.ndarray] | None:
    """maps.npz and amplitudes.npz; the maps, on rank 0."""
    maps = {name: exchange(data).sky(data[name].data) for name in MAPS}
    offsets = amplitudes(data)
    if offsets is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "maps.npz", allow_pickle=False, **maps)
    places = np.array([item[:3] for item in offsets], np.int64)
    lengths = np.array([len(item[3]) for item in offsets], np.int64)
    np.savez(folder / "amplitudes.npz", places=places, lengths=lengths, values=np.concatenate([item[3] for item in offsets]))
    return maps


def write_summary(work: Workflow, found: dict[str, Any], folder: Path, maps: dict[str, np.ndarray] | None) -> None:
    """What `write` writes besides `write_maps`, whose maps it is given."""
    comm, memory = work.data.comm, work.options.get("memory")
    rows = ingot.profile.rows() if comm.size == 1 else ingot.profile.gather(comm.world)
    if maps is None:
        return
    write_hdf5(maps, found, folder / "maps.h5")
    (folder / "summary.json").write_text(json.dumps(found, indent=1) + "\n")
    ingot.profile.save(folder / "timing.csv", rows)
    counters = {} if memory is None else {**memory.statistics(), "keys": {k: asdict(t) for k, t in memory.traffic.items()}}
    (folder / "counters.json").write_text(json.dumps(counters, indent=1) + "\n")


def write_hdf5(maps: dict[str, np.ndarray], found: dict[str, Any], path: Path) -> None:
    """The maps with units, and the figures as an attribute, where h5py is there."""
    try:
        import h5py
    except ImportError:
        return
    with h5py.File(path, "w") as file:
        file.attrs["summary"] = json.dumps(found)
        for name, values in maps.items():
            file.create_dataset(name, data=values).attrs["units"] = MAPS[name]


def report(found: dict[str, Any]) -> str:
    """The figures of a run as lines for a terminal."""
    lines = [f"{found['size']}, {found['noise']} noise, processes x threads {found['processes']} x {found['threads']}"]
    lines.append(f"hits {found['hits']}, pixels {found['pixels_hit']} hit, {found['pixels_good']} good")
    lines.append(f"amplitudes {found['amplitudes']}, {found['amplitudes_flagged']} flagged; {found['steps']} steps")
    for name in ("binned", "destriped"):
        i, q, u = found[name]["rms"]
        chi2, worst = found[name]["chi2"], found[name]["worst"]
        lines.append(f"{name:10} rms I {i:.3f}, Q {q:.3f}, U {u:.3f} µK; chi2 {chi2:.5f}; worst {worst:.3g} K")
    lines += [f"{label:16} {seconds:9.3f} s" for label, seconds in found["seconds"].items()]
    return "\n".join(lines)
