"""The satellite workflow: simulated samples of a sky, and the maps that are made of them."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from . import timing
from .comm import Comm, blocks, detectors_of_ranks, evenly, grid
from .covariance import Covariance
from .data import Data, Observation
from .destripe import BinMap, Destripe, FlagForSolver
from .focalplane import hexagon
from .mpi import exchange, total
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
    """Whether pixels and weights are kept; else they are made anew each time they are needed, detector by detector."""
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
    """The observations of this process, without samples: its group's, of the detectors and samples of its place in the group.

    Detectors of one place of the focal plane stay together, and so do the samples of one step.
    """
    plane = hexagon(size.rings)
    across, along, column, row = grid(comm.group_size, comm.group_rank, detector_ranks)
    own = detectors_of_ranks([name[:-1] for name in plane.names], across)[column]
    names = plane.names[own.start : own.stop]
    step = round(size.step * size.rate)
    part = evenly(-(-size.samples // step), along)[row]
    samples = range(part.start * step, min(part.stop * step, size.samples))
    data = Data([], comm)
    for number in blocks([size.samples] * size.observations, comm.n_groups)[comm.group]:
        ob = Observation(f"science-{number:02d}", names, len(samples), uid=number)
        whole = range(number * size.samples, (number + 1) * size.samples)
        ob.meta.update(focalplane=plane, rate=size.rate, whole=whole, first=whole[samples.start])
        ob.meta["noise"] = dict.fromkeys(names, plane.inverse_variance(size.rate))
        data.obs.append(ob)
    return data


@dataclass
class Workflow:
    """The steps of the workflow on the data of one process."""

    size: Size
    data: Data
    noise: str = "1/f"
    """Or "white", or "none"."""
    options: dict[str, Any] | None = None
    """Of all pipelines: `memory`, `device`, ..."""

    def pipeline(self, *operators: Any, **options: Any) -> Pipeline:
        sets = {} if self.size.stored else {"detector_sets": "SINGLE"}
        return Pipeline(operators, **{**sets, **(self.options or {}), **options})

    def pixels(self, **options: Any) -> list[Any]:
        quats = PointingDetector()
        return [quats, PixelsHealpix(nside=self.size.nside, nside_submap=self.size.nside_submap, **options)]

    def pointing(self) -> list[Any]:
        """What makes pixels and weights where they are not stored."""
        return [] if self.size.stored else [*self.pixels(), StokesWeights()]

    def simulate(self) -> None:
        """Scan, sky and noise: `signal`, and where pointing is stored `pixels` and `weights`."""
        data = self.data
        SimulateScan().apply(data)
        keep = ["pixels", "weights"] if self.size.stored else []
        self.pipeline(*self.pixels(create_dist="pixel_dist"), StokesWeights(), keep=keep).apply(data)
        if not self.size.stored:
            data.remove("detdata", "pixels")
            data.remove("detdata", "weights")
        SimulateSky().apply(data)
        self.pipeline(*self.pointing(), ScanMap(map="sky", zero=True), keep=["sky"]).apply(data)
        if self.noise != "none":
            SimulateNoise(white=self.noise == "white").apply(data)

    def weigh(self) -> None:
        """Hits, covariance and what the solver leaves out."""
        self.pipeline(*self.pointing(), Covariance()).apply(self.data)
        self.pipeline(*self.pointing(), FlagForSolver()).apply(self.data)

    def bin(self, name: str) -> None:
        """The binned map of the signal as it is."""
        build = self.pipeline(*self.pointing(), BuildNoiseWeighted(det_flags=None))
        BinMap(build=build, map=name).apply(self.data)

    def destripe(self, **options: Any) -> dict[str, Any]:
        """Takes the offsets out of the signal; the state of the solver."""
        sets = {} if self.size.stored else {"detector_sets": "SINGLE"}
        step = round(self.size.step * self.size.rate)
        pipelines = {**sets, **(self.options or {})}
        return Destripe(step_length=step, pointing=self.pointing(), options=pipelines, **options).apply(self.data)


def figures(data: Data, name: str) -> dict[str, Any]:
    """How far a map is from the sky in good pixels: rms of I, Q, U (µK), the hit-weighted mean of I taken out, and chi2."""
    own = exchange(data)
    skies = [own.sky(data[key].data) for key in (name, "sky", "hits", "inverse_covariance", "rcond")]
    if skies[0] is None:
        return {}
    seen, sky, hits, inverse, rcond = skies
    good = rcond[:, 0] > 0.0
    error, hits, m = (seen - sky)[good], hits[good, 0], inverse[good]
    error[:, 0] -= np.sum(hits * error[:, 0]) / np.sum(hits)
    i, q, u = error.T
    squares = m[:, 0] * i * i + m[:, 3] * q * q + m[:, 5] * u * u + 2 * (m[:, 1] * i * q + m[:, 2] * i * u + m[:, 4] * q * u)
    return {"rms": (1e6 * np.std(error, axis=0)).tolist(), "chi2": float(np.sum(squares) / (3 * len(error))), "worst": float(np.abs(error).max())}
