"""Small data of a telescope, and the pipeline that makes a map of it."""

import types

import ingot
import numpy as np
from ingot_toast import Data, HostBackend, Intervals, Observation, PixelDistribution
from ingot_toast.memory import DeviceBackend
from ingot_toast.operators import BuildNoiseWeighted, PixelsHealpix, PointingDetector, StokesWeights

BACKENDS = {"emulated": lambda: DeviceBackend("emulated"), "host": lambda: HostBackend(1 << 30)}
"""What tests of devices run on: a GPU as well, where there is one."""
if ingot.devices("gpu"):
    BACKENDS["gpu"] = lambda: DeviceBackend("gpu")
DETECTORS = ["a", "b", "c", "d"]
NSIDE, N_PIX_SUBMAP = 8, 48


def unit(rng, count):
    q = rng.standard_normal((count, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def make(lengths=(90, 50), detectors=DETECTORS, seed=3):
    """Observations of these lengths with signal, flags, an attitude, and intervals "scan"; all but the first lack a detector."""
    rng, observations = np.random.default_rng(seed), []
    plane = types.SimpleNamespace(names=detectors, quats=unit(rng, len(detectors)), epsilon=np.full(len(detectors), 0.1))
    plane.angles, plane.cal = rng.uniform(0, 3, len(detectors)), rng.uniform(0.9, 1.1, len(detectors))
    for number, count in enumerate(lengths):
        own = detectors[1:] if number else detectors
        ob = Observation(f"ob{number}", own, count, uid=number)
        ob.detdata["signal"] = rng.standard_normal((len(own), count))
        ob.detdata["flags"] = (rng.uniform(size=(len(own), count)) < 0.1).astype(np.uint8)
        ob.shared["boresight"] = unit(rng, count)
        ob.shared["flags"] = (rng.uniform(size=count) < 0.1).astype(np.uint8)
        ob.intervals["scan"] = Intervals([3, 20, 31], [17, 20, count - 2])
        ob.meta.update(focalplane=plane, noise={d: 1.0 + n for n, d in enumerate(detectors)})
        observations.append(ob)
    data = Data(observations)
    data["pixel_dist"] = PixelDistribution(12 * NSIDE**2, N_PIX_SUBMAP)
    return data


def binning(view=None):
    """Attitudes, pixels, weights, map."""
    return [
        PointingDetector(view=view),
        PixelsHealpix(view=view, nside=NSIDE, nside_submap=2),
        StokesWeights(view=view),
        BuildNoiseWeighted(view=view),
    ]
