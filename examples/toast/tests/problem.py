"""Small data of a telescope, and the pipeline that makes a map of it."""

import types

import ingot
import numpy as np
from ingot_toast import Data, Intervals, Observation, PixelDistribution, PixelMap
from ingot_toast.operators import BuildNoiseWeighted, PixelsHealpix, PointingDetector, StokesWeights

DEVICES = ["emulated", *(["gpu"] if ingot.devices("gpu") else [])]
"""What tests of devices run on."""
PLACES = [None, *DEVICES]
"""... and the host."""
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


def with_sky(**options):
    data = make(**options)
    sky = np.random.default_rng(5).standard_normal((data["pixel_dist"].n_local, N_PIX_SUBMAP, 3))
    data["sky"] = PixelMap(data["pixel_dist"], 3, values=sky)
    return data


def everything(data):
    """All arrays that there are, by name."""
    found = {name: item.to_host().copy() for name, item in data.objects.items() if hasattr(item, "data")}
    for ob in data.obs:
        found.update({f"{ob.name} detdata {name}": item.to_host().copy() for name, item in ob.detdata.items()})
        found.update({f"{ob.name} shared {name}": item.to_host().copy() for name, item in ob.shared.items()})
    return found


def assert_same(got, wanted, tolerance=1e-12):
    assert got.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(got[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


def assert_home(data):
    """Nothing is on a device any more."""
    assert not any(
        buffer.is_there for kind in ("global", "detdata", "shared") for store in data.stores(kind) for n in store for buffer in data.buffers(kind, n)
    )
