"""Where detectors look: attitudes, pixels of the sky, and the weights of I, Q and U."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..data import Data, Observation, PixelDistribution
from ..memory import Buffer
from ..operator import KernelOperator, Keys, each, intervals, rows, shared, table, whole


def column(ob: Observation, focalplane: str, name: str, detectors: Sequence[str]) -> np.ndarray:
    """A column of the focal plane (`names`, and arrays with a value for each), of these detectors: (D[, k])."""
    plane = ob.meta[focalplane]
    place = {detector: row for row, detector in enumerate(plane.names)}
    return np.asarray(getattr(plane, name))[[place[detector] for detector in detectors]]


class PointingDetector(KernelOperator):
    """Attitudes of detectors: `quats` float64 (D, S, 4), (x, y, z, w), from the boresight's (S, 4)."""

    kernel = "pointing_detector"
    samplewise = True
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

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        plane = column(ob, self.focalplane, "quats", detectors)
        flags = shared(self.shared_flags)
        return [each(plane), shared(self.boresight), table(self.quats), rows(self.quats), intervals(self.view), flags, self.shared_flag_mask]


class PixelsHealpix(KernelOperator):
    """Pixels that detectors see: `pixels` int64 (D, S), -1 where flags are bad; `hit_submaps` uint8 (n_submap,) has which
    submaps are hit.

    With `create_dist`, `finalize` makes the `PixelDistribution` of these submaps, of that name.
    """

    kernel = "pixels_healpix"
    samplewise = True
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
    def n_pix_submap(self) -> int:
        return 12 * min(self.nside, self.nside_submap) ** 2

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        if self.hit_submaps not in data:
            data[self.hit_submaps] = Buffer(12 * self.nside**2 // self.n_pix_submap, np.uint8)
        self.ensure(data, detectors, self.pixels, (), np.int64, "1")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        flags = [shared(self.shared_flags), self.shared_flag_mask]
        out = [table(self.pixels), rows(self.pixels), intervals(self.view), whole(data[self.hit_submaps])]
        return [table(self.quats), rows(self.quats), *flags, *out, self.n_pix_submap, self.nside, self.nest]

    def _finalize(self, data: Data) -> PixelDistribution | None:
        if self.create_dist is None:
            return None
        made = PixelDistribution(12 * self.nside**2, self.n_pix_submap, np.flatnonzero(data[self.hit_submaps].to_host()))
        data[self.create_dist] = made
        return made


class StokesWeights(KernelOperator):
    """What detectors see of I, Q and U: `weights` float64 (D, S, 3), or (D, S) in mode "I"."""

    samplewise = True
    mode: Literal["I", "IQU"] = "IQU"
    focalplane: str = "focalplane"
    quats: str = "quats"
    weights: str = "weights"
    hwp: str | None = None
    IAU: bool = False

    def requires(self) -> Keys:
        if self.mode == "I":
            return self.keys({"meta": [self.focalplane]})
        return self.keys({"meta": [self.focalplane], "detdata": [self.quats], "shared": [self.hwp]})

    def provides(self) -> Keys:
        return {"detdata": [self.weights]}

    def kernels(self) -> list[str]:
        return [f"stokes_weights_{self.mode}"]

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        self.ensure(data, detectors, self.weights, () if self.mode == "I" else (3,), units="1")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        epsilon, gamma, cal = (each(column(ob, self.focalplane, name, detectors)) for name in ("epsilon", "angles", "cal"))
        out = [table(self.weights), rows(self.weights)]
        if self.mode == "I":
            return [*out, intervals(self.view), cal]
        angles = shared(self.hwp, np.float64)
        return [table(self.quats), rows(self.quats), *out, angles, intervals(self.view), epsilon, gamma, cal, self.IAU]
