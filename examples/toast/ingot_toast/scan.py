"""How a satellite looks round the sky: it spins about an axis that goes round a third one, which follows the sun."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import ingot
import numpy as np

from .comm import Comm
from .data import Data
from .focalplane import product
from .mpi import NodeSharing
from .operator import Keys, Operator

INVALID = 1  # the shared flag of samples that are lost


@dataclass(frozen=True)
class Scan:
    """Periods in seconds, angles in radians: of the spin axis from the precession axis, of the boresight from the spin axis."""

    precession_period: float = 613.0
    precession_angle: float = math.radians(65.0)
    spin_period: float = 47.0
    spin_angle: float = math.radians(30.0)
    year: float = 365.25 * 86400.0


def about_x(angle):
    return (np.sin(angle / 2), 0.0, 0.0, np.cos(angle / 2))


def about_y(angle):
    return (0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2))


def about_z(angle):
    return (0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2))


def turns(v):
    """The angle of `v` turns, whole ones left out."""
    return 2 * np.pi * (v - np.floor(v))


@ingot.jit
def sample_times(first, count, rate):
    """Seconds since the mission's start of samples first .. first + count - 1; float64 (count,)."""
    return (first + np.arange(count)) / rate


@ingot.jit
def boresight(scan: Scan, times):
    """The boresight's quaternions at `times` (seconds): float64 (samples, 4)."""
    q = product(about_z(2 * np.pi * times / scan.year), about_y(np.pi / 2))
    q = product(q, about_z(turns(times / scan.precession_period)))
    q = product(q, about_x(scan.precession_angle))
    q = product(q, about_z(turns(times / scan.spin_period)))
    q = product(q, about_x(scan.spin_angle))
    x, y, z, w = product(q, about_z(np.pi / 2))
    return np.stack((x, y, z, w), axis=1)


@ingot.jit
def lost_samples(first, count):
    """Shared flags, uint8 (count,): each 37th stretch of 1000 samples of the mission is lost."""
    numbers = (first + np.arange(count)) // 1000
    return np.where(numbers % 37 == 5, INVALID, 0).astype(np.uint8)


class SimulateScan(Operator):
    """Times (s), attitude of the boresight and flags of each observation, of which `meta` has the first sample and the rate.

    Where `meta` has a `NodeSharing` as "sharing", the processes of a node that have the same samples have them once in memory.
    """

    scan: Scan = Scan()
    times: str = "times"
    boresight: str = "boresight"
    flags: str = "flags"

    def requires(self) -> Keys:
        return {"meta": ["first", "rate"]}

    def provides(self) -> Keys:
        return {"shared": [self.times, self.boresight, self.flags]}

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        for ob in data.obs:
            sharing = ob.meta.get("sharing") or NodeSharing(Comm(), 0)
            first, count = ob.meta["first"], ob.n_samples
            times = sharing.array((count,), np.float64, lambda: sample_times(first, count, ob.meta["rate"]))  # noqa: B023
            ob.shared[self.times] = times
            ob.shared[self.boresight] = sharing.array((count, 4), np.float64, lambda: boresight(self.scan, times))  # noqa: B023
            ob.shared[self.flags] = sharing.array((count,), np.uint8, lambda: lost_samples(first, count))  # noqa: B023
