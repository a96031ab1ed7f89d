"""The focal plane: positions on a hexagon, two detectors of crossed polarisation at each, and quaternions for both."""

import math
from dataclasses import dataclass

import numpy as np

FIELD = math.radians(10.0)  # width of the hexagon, corner to corner


@dataclass(frozen=True)
class Noise:
    """The noise of a detector: its white part, K sqrt(s), the frequencies of its knee and of its lower end, Hz, and the slope."""

    net: float = 50e-6
    f_knee: float = 0.05
    f_min: float = 1e-5
    alpha: float = 1.0

    def inverse_variance(self, rate: float) -> float:
        """1/K²: what white noise of this NET has at `rate` Hz."""
        return 1.0 / (self.net**2 * rate)


@dataclass(frozen=True)
class FocalPlane:
    """Detectors in the order of their positions; the two of a position follow each other.

    quats: float64 (detectors, 4), rotations of a detector's frame into that of the boresight, (x, y, z, w).
    angles: float64 (detectors,), direction of polarisation in the focal plane, radians.
    epsilon, cal: float64 (detectors,), leakage of polarisation and calibration.
    """

    names: tuple[str, ...]
    quats: np.ndarray
    angles: np.ndarray
    epsilon: np.ndarray
    cal: np.ndarray
    noise: Noise = Noise()

    def __len__(self) -> int:
        return len(self.names)


def product(p, q):
    """The rotation q, then p: quaternions as tuples (x, y, z, w) of numbers or arrays."""
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return (
        pw * qx + qw * px + py * qz - pz * qy,
        pw * qy + qw * py + pz * qx - px * qz,
        pw * qz + qw * pz + px * qy - py * qx,
        pw * qw - px * qx - py * qy - pz * qz,
    )


def places(rings: int) -> list[tuple[int, int]]:
    """Hexagonal coordinates (i, j) of all positions up to `rings` rings round the middle one, the inner rings first."""
    reach = range(-rings, rings + 1)

    def ring(i, j):
        return max(abs(i), abs(j), abs(i + j))

    return sorted(((i, j) for j in reach for i in reach if ring(i, j) <= rings), key=lambda p: (ring(*p), p[1], p[0]))


def hexagon(rings: int, noise: Noise = Noise()) -> FocalPlane:
    """`3 rings (rings + 1) + 1` positions, twice as many detectors."""
    names, quats, angles = [], [], []
    spacing = FIELD / (2 * rings)
    for number, (i, j) in enumerate(places(rings)):
        x, y = spacing * (i + j / 2), spacing * j * math.sqrt(3) / 2
        rho = math.hypot(x, y)
        lift = (0.0, 0.0, 0.0, 1.0)
        if rho > 0.0:
            lift = (-y / rho * math.sin(rho / 2), x / rho * math.sin(rho / 2), 0.0, math.cos(rho / 2))
        for b in range(2):
            angle = math.radians(45.0 * (i % 2) + 90.0 * b)
            quats.append(product(lift, (0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2))))
            angles.append(angle)
            names.append(f"D{number:03d}{'AB'[b]}")
    count = len(names)
    return FocalPlane(tuple(names), np.array(quats), np.array(angles), np.zeros(count), np.ones(count), noise)
