"""Where detectors look: attitudes, pixels of the sky, and the weights of I, Q and U."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..data import Buffer, Data, Observation, PixelDistribution
from ..kernels import Detectors, Grid
from ..operator import KernelOperator, Keys


def detectors_of(ob: Observation, focalplane: str, detectors: Sequence[str]) -> Detectors:
    """Some detectors of a focal plane, which has their `names`, and arrays with a value for each."""
    plane = ob.meta[focalplane]
    place = {detector: row for row, detector in enumerate(plane.names)}
    rows = [place[detector] for detector in detectors]
    return Detectors(plane.quats[rows], plane.epsilon[rows], plane.angles[rows], plane.cal[rows])


class PointingDetector(KernelOperator):
    """Attitudes of detectors: `quats` float64 (D, S, 4), (x, y, z, w), from the boresight's (S, 4)."""

    kernel = kernels.pointing_detector
    focalplane: str = "focalplane"
    boresight: str = "boresight"
    quats: str = "quats"
    shared_flags: str | None = "flags"
    shared_flag_mask: int = 1

    def requires(self) -> Keys:
        return self.keys({"meta": [self.focalplane], "shared": [self.boresight, self.shared_flags]})

    def provides(self) -> Keys:
        return {"detdata": [self.quats]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        self.ensure(data, detectors, self.quats, (4,), units="1")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        view = ob.view(self.view, self.shared_flags, self.shared_flag_mask)
        return detectors_of(ob, self.focalplane, detectors), ob.shared[self.boresight].data, view, ob.samples(self.quats, detectors)


class PixelsHealpix(KernelOperator):
    """Pixels that detectors see: `pixels` int64 (D, S), -1 where flags are bad; `hit_submaps` uint8 (n_submap,) has which
    submaps are hit.

    With `create_dist`, `finalize` makes the `PixelDistribution` of these submaps, of that name.
    """

    kernel = kernels.pixels_healpix
    nside: int = 64
    nside_submap: int = 16
    nest: bool = True
    quats: str = "quats"
    pixels: str = "pixels"
    hit_submaps: str = "hit_submaps"
    create_dist: str | None = None
    shared_flags: str | None = "flags"
    shared_flag_mask: int = 1

    def requires(self) -> Keys:
        return self.keys({"detdata": [self.quats], "shared": [self.shared_flags]})

    def provides(self) -> Keys:
        return {"detdata": [self.pixels], "global": [self.hit_submaps]}

    @property
    def grid(self) -> Grid:
        return Grid(self.nside, self.nest, 12 * min(self.nside, self.nside_submap) ** 2)

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        if self.hit_submaps not in data:
            data[self.hit_submaps] = Buffer(12 * self.nside**2 // self.grid.n_pix_submap, np.uint8)
        self.ensure(data, detectors, self.pixels, (), np.int64, "1")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        view = ob.view(self.view, self.shared_flags, self.shared_flag_mask)
        return ob.samples(self.quats, detectors), view, self.grid, ob.samples(self.pixels, detectors), data[self.hit_submaps].data

    def _finalize(self, data: Data) -> PixelDistribution | None:
        if self.create_dist is None:
            return None
        made = PixelDistribution(12 * self.nside**2, self.grid.n_pix_submap, np.flatnonzero(data[self.hit_submaps].data))
        data[self.create_dist] = made
        return made


def stokes_weights(detectors, quats, hwp, view, weights, IAU):
    """The kernel for one component or for three."""
    if quats is None:
        kernels.stokes_weights_I(detectors, view, weights)
    else:
        kernels.stokes_weights_IQU(detectors, quats, hwp, view, weights, IAU)


class StokesWeights(KernelOperator):
    """What detectors see of I, Q and U: `weights` float64 (D, S, 3), or (D, S) in mode "I"."""

    kernel = stokes_weights
    mode: str = "IQU"
    focalplane: str = "focalplane"
    quats: str = "quats"
    weights: str = "weights"
    hwp: str | None = None
    IAU: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode not in ("I", "IQU"):
            raise ValueError(f"{self.name}: the modes are 'I' and 'IQU', not {self.mode!r}")

    def requires(self) -> Keys:
        if self.mode == "I":
            return self.keys({"meta": [self.focalplane]})
        return self.keys({"meta": [self.focalplane], "detdata": [self.quats], "shared": [self.hwp]})

    def provides(self) -> Keys:
        return {"detdata": [self.weights]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        self.ensure(data, detectors, self.weights, () if self.mode == "I" else (3,), units="1")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        quats = None if self.mode == "I" else ob.samples(self.quats, detectors)
        hwp = None if self.hwp is None else ob.shared[self.hwp].data
        plane = detectors_of(ob, self.focalplane, detectors)
        return plane, quats, hwp, ob.view(self.view), ob.samples(self.weights, detectors), self.IAU
