"""The sky that is simulated: temperature and polarisation as smooth functions of the direction."""

from __future__ import annotations

import math
from collections.abc import Sequence

import ingot
import numpy as np

from .data import Data, PixelMap
from .healpix import pixel_centres
from .operator import Keys, Operator


@ingot.jit
def sky_at(directions):
    """I, Q and U in kelvin, float64 (n, 3), in directions given by unit vectors, float64 (n, 3)."""
    x, y, z = directions[:, 0], directions[:, 1], directions[:, 2]
    temperature = 1e-4 * (x + y * z / 2 + 0.3 * np.sin(7 * x + 3 * y))
    return np.stack((temperature, 1e-5 * np.sin(5 * y - 2 * z), 1e-5 * np.cos(4 * z + 3 * x)), axis=1)


class SimulateSky(Operator):
    """The simulated sky, kelvin, on the submaps of a distribution of nested pixels."""

    pixel_dist: str = "pixel_dist"
    sky: str = "sky"

    def requires(self) -> Keys:
        return {"global": [self.pixel_dist]}

    def provides(self) -> Keys:
        return {"global": [self.sky]}

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        own = data[self.pixel_dist]
        pixels = own.submaps[:, None] * own.n_pix_submap + np.arange(own.n_pix_submap)
        seen = sky_at(pixel_centres(math.isqrt(own.n_pix // 12), pixels.ravel()))
        data[self.sky] = PixelMap(own, 3, values=seen.reshape(*pixels.shape, 3))
