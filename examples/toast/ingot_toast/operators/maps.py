"""From maps to samples and back: scanning, weighting by the noise, accumulating."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data import Data, Observation, PixelMap
from ..operator import KernelOperator, Keys, each, intervals, rows, shared, table, whole


def of_detectors(ob: Observation, name: str | None, detectors: Sequence[str]) -> np.ndarray:
    """The numbers float64 (D,) that a dict in `meta` has for detectors; without a name 1."""
    return np.ones(len(detectors)) if name is None else np.array([ob.meta[name][d] for d in detectors], np.float64)


class ScanMap(KernelOperator):
    """Adds to the signal what detectors see of a map (`map`), times `scale`; or subtracts it, or multiplies by it."""

    kernel = "scan_map"
    samplewise = True
    pixel_dist: str = "pixel_dist"
    map: str = "map"
    signal: str = "signal"
    pixels: str = "pixels"
    weights: str = "weights"
    scale: float = 1.0
    zero: bool = False
    subtract: bool = False
    multiply: bool = False

    def requires(self) -> Keys:
        detdata = [None if self.zero else self.signal, self.pixels, self.weights]
        return self.keys({"global": [self.pixel_dist, self.map], "detdata": detdata})

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        self.ensure(data, detectors, self.signal)

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        sky, distribution = data[self.map], data[self.pixel_dist]
        if sky.distribution is not distribution:
            raise ValueError(f"the map {self.map!r} has another distribution of pixels than {self.pixel_dist!r}")
        pointing = [rows(self.pixels), table(self.pixels), rows(self.weights), table(self.weights), intervals(self.view)]
        how = [float(self.scale), self.zero, self.subtract, self.multiply]
        own = [rows(self.signal), table(self.signal)]
        return [whole(distribution.global2local), distribution.n_pix_submap, whole(sky), *own, *pointing, *how]


class NoiseWeight(KernelOperator):
    """Multiplies the signal by the inverse variance of each detector (1/K²): the dict `noise` in `meta`."""

    kernel = "noise_weight"
    samplewise = True
    signal: str = "signal"
    noise: str | None = "noise"

    def requires(self) -> Keys:
        return self.keys({"meta": [self.noise], "detdata": [self.signal]})

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        return [rows(self.signal), table(self.signal), intervals(self.view), each(of_detectors(ob, self.noise, detectors))]


class BuildNoiseWeighted(KernelOperator):
    """Accumulates the signal, weighted by the noise (the dict `noise` in `meta`), into the map `zmap`, where no flags are bad."""

    kernel = "build_noise_weighted"
    samplewise = True
    pixel_dist: str = "pixel_dist"
    zmap: str = "zmap"
    signal: str = "signal"
    pixels: str = "pixels"
    weights: str = "weights"
    noise: str | None = "noise"
    det_flags: str | None = "flags"
    det_flag_mask: int = 7
    shared_flags: str | None = "flags"
    shared_flag_mask: int = 15

    def requires(self) -> Keys:
        detdata = [self.signal, self.det_flags, self.pixels, self.weights]
        return self.keys(
            {"global": [self.pixel_dist], "meta": [self.noise], "shared": [self.shared_flags], "detdata": detdata}
        )

    def provides(self) -> Keys:
        return {"global": [self.zmap]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        if self.zmap not in data:
            shapes = [ob.detdata[self.weights].shape for ob in data.obs]
            data[self.zmap] = PixelMap(data[self.pixel_dist], (*shapes[0], 1)[2] if shapes else 3, units="1/K")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        pointing = [table(self.pixels), rows(self.pixels), table(self.weights), rows(self.weights)]
        samples = [table(self.signal), rows(self.signal), table(self.det_flags), rows(self.det_flags)]
        noise = each(of_detectors(ob, self.noise, detectors))
        flags = [self.det_flag_mask, intervals(self.view), shared(self.shared_flags), self.shared_flag_mask]
        sky = [whole(data[self.pixel_dist].global2local), whole(data[self.zmap])]
        return [*sky, *pointing, *samples, noise, *flags]
