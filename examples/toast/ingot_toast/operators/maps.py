"""From maps to samples and back: scanning, weighting by the noise, accumulating."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..data import Data, Observation, PixelMap
from ..kernels import Pointing
from ..operator import KernelOperator, Keys


def of_detectors(ob: Observation, name: str | None, detectors: Sequence[str]) -> np.ndarray:
    """The numbers float64 (D,) that a dict in `meta` has for detectors; without a name 1."""
    return np.ones(len(detectors)) if name is None else np.array([ob.meta[name][d] for d in detectors], np.float64)


class ScanMap(KernelOperator):
    """Adds to the signal what detectors see of a map (`map`), times `scale`; or subtracts it, or multiplies by it."""

    kernel = kernels.scan_map
    map: str = "map"
    signal: str = "signal"
    pixels: str = "pixels"
    weights: str = "weights"
    scale: float = 1.0
    zero: bool = False
    subtract: bool = False
    multiply: bool = False

    def requires(self) -> Keys:
        return self.keys({"global": [self.map], "detdata": [None if self.zero else self.signal, self.pixels, self.weights]})

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        self.ensure(data, detectors, self.signal)

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        pointing = Pointing(ob.samples(self.pixels, detectors), ob.samples(self.weights, detectors))
        how = float(self.scale), self.zero, self.subtract, self.multiply
        return data[self.map].local(), pointing, ob.samples(self.signal, detectors), ob.view(self.view), *how


class NoiseWeight(KernelOperator):
    """Multiplies the signal by the inverse variance of each detector (1/K²): the dict `noise` in `meta`."""

    kernel = kernels.noise_weight
    signal: str = "signal"
    noise: str | None = "noise"

    def requires(self) -> Keys:
        return self.keys({"meta": [self.noise], "detdata": [self.signal]})

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        return ob.samples(self.signal, detectors), ob.view(self.view), of_detectors(ob, self.noise, detectors)


class Accumulate(KernelOperator):
    """What accumulates samples that are good into maps of a distribution of pixels."""

    pixel_dist: str = "pixel_dist"
    pixels: str = "pixels"
    weights: str = "weights"
    noise: str | None = "noise"
    det_flags: str | None = "flags"
    det_flag_mask: int = 7
    shared_flags: str | None = "flags"
    shared_flag_mask: int = 15

    def requires(self) -> Keys:
        detdata = [self.pixels, self.weights, self.det_flags]
        return self.keys({"global": [self.pixel_dist], "meta": [self.noise], "shared": [self.shared_flags], "detdata": detdata})

    def samples(self, ob: Observation, detectors: list[str]) -> tuple[Any, ...]:
        """Pointing, flags, view and inverse variances."""
        pointing = Pointing(ob.samples(self.pixels, detectors), ob.samples(self.weights, detectors))
        flags = ob.flags(self.det_flags, self.det_flag_mask, detectors)
        view = ob.view(self.view, self.shared_flags, self.shared_flag_mask)
        return pointing, flags, view, of_detectors(ob, self.noise, detectors)


class BuildNoiseWeighted(Accumulate):
    """Accumulates the signal, weighted by the noise (the dict `noise` in `meta`), into the map `zmap`, where no flags are bad."""

    kernel = kernels.build_noise_weighted
    zmap: str = "zmap"
    signal: str = "signal"

    def requires(self) -> Keys:
        keys = super().requires()
        return {**keys, "detdata": [self.signal, *keys["detdata"]]}

    def provides(self) -> Keys:
        return {"global": [self.zmap]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        if self.zmap not in data:
            shapes = [ob.detdata[self.weights].shape for ob in data.obs]
            data[self.zmap] = PixelMap(data[self.pixel_dist], (*shapes[0], 1)[2] if shapes else 3, units="1/K")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        pointing, flags, view, noise = self.samples(ob, detectors)
        return data[self.zmap].local(), pointing, ob.samples(self.signal, detectors), flags, view, noise
