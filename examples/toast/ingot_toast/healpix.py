"""HEALPix: where the centres of nested pixels are."""

import ingot
import numpy as np

COLUMNS = np.array([1, 3, 5, 7, 0, 2, 4, 6, 1, 3, 5, 7])  # of the middles of the twelve faces, in eighths of a turn


def even_bits(v):
    """The bits of `v` at positions 0, 2, 4, ... side by side."""
    v = v & 0x5555555555555555
    v = (v | v >> 1) & 0x3333333333333333
    v = (v | v >> 2) & 0x0F0F0F0F0F0F0F0F
    v = (v | v >> 4) & 0x00FF00FF00FF00FF
    v = (v | v >> 8) & 0x0000FFFF0000FFFF
    return (v | v >> 16) & 0x00000000FFFFFFFF


@ingot.jit
def pixel_centres(nside, pixels):
    """Unit vectors, float64 (n, 3), to the centres of the nested `pixels`, int64 (n,)."""
    face, place = pixels // nside**2, pixels % nside**2
    x, y = even_bits(place), even_bits(place >> 1)
    ring = (face // 4 + 2) * nside - x - y - 1
    north, south = ring < nside, ring > 3 * nside
    quarter = np.where(north, ring, np.where(south, 4 * nside - ring, nside))  # pixels in a quarter of the ring
    cap = quarter**2 / (3 * nside**2)
    z = np.where(north, 1 - cap, np.where(south, cap - 1, 2 * (2 * nside - ring) / (3 * nside)))
    shift = np.where(north | south, 0, (ring - nside) & 1)
    k = (COLUMNS[face] * quarter + x - y + 1 + shift) // 2
    k = (k - 1) % (4 * quarter) + 1
    phi = (k - (shift + 1) / 2) * np.pi / (2 * quarter)
    radius = np.sqrt(np.where(north | south, cap * (2 - cap), 1 - z**2))
    return np.stack((radius * np.cos(phi), radius * np.sin(phi), z), axis=1)
