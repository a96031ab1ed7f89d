"""The satellite workflow: simulated samples of a sky, and the maps that are made of them."""

from __future__ import annotations

import json
import logging
import math
import resource
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import ingot
import numpy as np

from .checkpoint import Checkpoint
from .comm import Comm, blocks, detectors_of_ranks, evenly, grid
from .covariance import Covariance
from .data import Data, Observation
from .destripe import BinMap, Destripe, FlagForSolver, resident
from .focalplane import hexagon
from .mpi import DistributePixels, NodeSharing, exchange, total
from .noise import SimulateNoise
from .operators import BuildNoiseWeighted, PixelsHealpix, PointingDetector, ScanMap, StokesWeights
from .pipeline import Pipeline
from .scan import SimulateScan
from .sky import SimulateSky


log = logging.getLogger(__name__)


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
        ob.meta["noise"] = dict.fromkeys(names, plane.noise.inverse_variance(size.rate))
        data.obs.append(ob)
    return data


class Workflow:
    """The workflow on the data of one process; each step is a method.

    `noise` is "1/f", "white" or "none"; `options` are those of all pipelines: `device`, ...; with `allreduce` maps are
    summed by Allreduce, else between owners of submaps; `detector_ranks` of the processes of a group are along the detectors;
    with `by_runs` the solver goes through runs of samples in a pixel instead of samples; each `realization` of the noise is another.
    """

    def __init__(
        self, size: str, comm: Comm | None = None, noise: str = "1/f", options: dict[str, Any] | None = None, allreduce: bool = False,
        detector_ranks: int | None = None, by_runs: bool = False, realization: int = 0,
    ) -> None:  # fmt: skip
        self.name, self.size, self.noise, self.allreduce = size, SIZES[size], noise, allreduce
        self.by_runs, self.realization = by_runs, realization
        self.options = {**({} if self.size.stored else {"detector_sets": "SINGLE"}), **(options or {})}
        self.data = distribute(self.size, comm or Comm(), detector_ranks)

    def pipeline(self, *operators: Any, **options: Any) -> Pipeline:
        return Pipeline(operators, **self.options, **options)

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
        own = {"pointing": self.pointing(), "options": self.options, "by_runs": self.by_runs}
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
            unit = 10.0**-digits if name == "binned" else 10.0 ** (math.floor(math.log10(want)) - 3)
            if not abs(got - want) <= (0.5000001 if name == "binned" else 1.0) * unit:
                wrong.append(f"{name} {label}: {got:.{digits}f}, not {want:.{digits}f}")
    return wrong


def run(work: Workflow, checkpoint: Checkpoint | None = None, folder: Path | None = None) -> dict[str, Any]:
    """Runs the whole workflow; the figures, on rank 0. A folder gets maps, amplitudes, figures and profile, the
    maps before any figure is made."""
    seconds: dict[str, float] = {}
    data, comm, start = work.data, work.data.comm, perf_counter()

    def watch(state: dict[str, Any]) -> None:
        if state["step"] % 10 == 0:
            log.info("step %d: residual %.1e", state["step"], math.sqrt(state["squares"][-1] / state["squares"][0]))
        if checkpoint is not None and state["step"] % checkpoint.every == 0:
            checkpoint.save("solver", state["step"], state)

    def stage(label: str, step: Any, *args: Any, **options: Any) -> Any:
        log.info("%s", label)
        begin = perf_counter()
        result = step(*args, **options)
        seconds[label] = perf_counter() - begin
        return result

    names = ["signal", "pixels", "weights"] if work.size.stored else ["signal"]
    for name, shape, dtype in (("signal", (), np.float64), ("pixels", (), np.int64), ("weights", (3,), np.float64))[: len(names)]:
        for ob in data.obs:
            ob.detdata.ensure(name, shape, dtype, "K" if name == "signal" else "1")
    with resident(data, work.options.get("device"), {"detdata": names}):
        stage("simulating", work.simulate, checkpoint)
        stage("weighing pixels", work.weigh)
        stage("binning", work.bin, "binned")
        state = None if checkpoint is None else checkpoint.load("solver")
        found = stage("destriping", work.destripe, watch=watch, state=state and solver_state(state))
        stage("binning again", work.bin, "destriped")
        for name in names[1:]:
            data.remove("detdata", name)
    begin = perf_counter()
    if folder is not None:
        write_maps(data, folder)
    start += perf_counter() - begin  # "all" is without what is written
    result = summary(work, found)
    if comm.rank == 0:
        result["seconds"] = {**seconds, "all": perf_counter() - start}
    if folder is not None:
        write_summary(work, result, folder)
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
    device = work.options.get("device")
    own = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0 if device is None else ingot.memory(ingot.device(device))["peak"]
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


MAPS = ["hits", "inverse_covariance", "covariance", "rcond", "sky", "binned", "destriped"]


def write_maps(data: Data, folder: Path) -> dict[str, np.ndarray] | None:
    """maps.npz, whole skies in nested order, (pixels, numbers), and amplitudes.npz; the maps, on rank 0."""
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


def write_summary(work: Workflow, found: dict[str, Any], folder: Path) -> None:
    """Figures and profile of a run."""
    comm = work.data.comm
    rows = ingot.profile.rows() if comm.size == 1 else ingot.profile.gather(comm.world)
    if comm.rank == 0:
        (folder / "summary.json").write_text(json.dumps(found, indent=1) + "\n")
        ingot.profile.save(folder / "timing.csv", rows)


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
