"""Noise of pixels: hits, inverse covariances of I, Q and U, their inverses and condition numbers.

A symmetric matrix of three rows is stored as its six numbers II, IQ, IU, QQ, QU, UU. Maps are (submaps, pixels, numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import ingot
import numpy as np

from .data import Data, Observation, PixelMap
from .kernels import Flags, Pointing, Sky, View, check_equal, check_rows, is_bad, is_flagged, local_row, spans
from .mpi import exchange
from .operator import Keys
from .operators.maps import Accumulate


@ingot.jit
def accumulate_covariance(hits, inverse: Sky, pointing: Pointing, flags: Flags | None, view: View, noise):
    """Adds what the good samples give for each pixel: to hits, int64 (n_local, n_pix_submap, 1), and to inverse covariances, 1/K².

    noise: float64 (D,), the inverse variance of a sample, 1/K². Raises IndexError for a pixel of a submap that is not local.
    """
    n_det, n_samples, n_pix_submap = len(noise), pointing.pixels.data.shape[1], hits.shape[1]
    first, last = spans(view, n_samples)
    pixels, weights = pointing.pixels, pointing.weights
    check_rows(pixels, n_det, n_samples)
    check_rows(weights, n_det, n_samples)
    check_equal(weights.data.shape[2], 3)
    if flags is not None:
        check_rows(flags.samples, n_det, n_samples)
    for d in range(n_det):
        for v in range(len(first)):
            for s in range(first[v], last[v]):
                pixel = pixels.data[pixels.rows[d], s]
                if pixel >= 0 and not is_flagged(flags, d, s) and not is_bad(view, s):
                    submap = pixel // n_pix_submap
                    local, column = local_row(inverse, submap), pixel - submap * n_pix_submap
                    i, q, u = weights.data[weights.rows[d], s]
                    hits[local, column, 0] += 1
                    inverse.values[local, column, 0] += noise[d] * i * i
                    inverse.values[local, column, 1] += noise[d] * i * q
                    inverse.values[local, column, 2] += noise[d] * i * u
                    inverse.values[local, column, 3] += noise[d] * q * q
                    inverse.values[local, column, 4] += noise[d] * q * u
                    inverse.values[local, column, 5] += noise[d] * u * u


def turned(p, q, pq, pr, qr):
    """One of Jacobi's rotations, of two axes with p, q and pq: the entries afterwards; pq becomes 0."""
    if pq == 0.0:
        return p, q, pr, qr
    t = 2 * pq / (q - p + np.copysign(np.hypot(q - p, 2 * pq), q - p))
    c = 1.0 / np.sqrt(t * t + 1.0)
    s = t * c
    return p - t * pq, q + t * pq, c * pr - s * qr, s * pr + c * qr


def eigenvalues(m):
    """The three eigenvalues of a symmetric matrix, by Jacobi's method."""
    a, ab, ac, b, bc, c = m[0], m[1], m[2], m[3], m[4], m[5]
    for _ in range(8):
        if ab == 0.0 and ac == 0.0 and bc == 0.0:
            break
        a, b, ac, bc = turned(a, b, ab, ac, bc)
        a, c, ab, bc = turned(a, c, ac, 0.0, bc)
        b, c, ab, ac = turned(b, c, bc, ab, 0.0)
        bc = 0.0
    return a, b, c


def inverted(m):
    """The inverse of a positive definite matrix, by its LDLᵀ decomposition."""
    l1, l2 = m[1] / m[0], m[2] / m[0]
    d1 = m[3] - l1 * m[1]
    l3 = (m[4] - l1 * m[2]) / d1
    d2 = m[5] - l2 * m[2] - l3 * l3 * d1
    uu = 1.0 / d2
    qu = -l3 * uu
    qq = 1.0 / d1 - l3 * qu
    iu = -l1 * qu - l2 * uu
    iq = -l1 * qq - l2 * qu
    return 1.0 / m[0] - l1 * iq - l2 * iu, iq, iu, qq, qu, uu


@ingot.jit
def invert_covariance(invcov, threshold):
    """Covariances, float64 like invcov (K²), and rcond, float64 (..., 1): smallest / largest eigenvalue.

    Pixels of which rcond is below the threshold have rcond 0 and covariance 0: they are cut.
    """
    cov, rcond = np.zeros_like(invcov), np.zeros((*invcov.shape[:2], 1))
    for i in range(invcov.shape[0]):
        for j in range(invcov.shape[1]):
            values = eigenvalues(invcov[i, j])
            if max(values) > 0.0 and min(values) / max(values) >= threshold:
                rcond[i, j, 0] = min(values) / max(values)
                cov[i, j] = inverted(invcov[i, j])
    return cov, rcond


@ingot.jit
def apply_covariance(cov, zmap, product):
    """product = covariance times noise-weighted map, pixel by pixel: float64 (n_local, n_pix_submap, 3), kelvin."""
    for i in range(zmap.shape[0]):
        for j in range(zmap.shape[1]):
            z0, z1, z2 = zmap[i, j]
            ii, iq, iu, qq, qu, uu = cov[i, j]
            product[i, j, 0] = ii * z0 + iq * z1 + iu * z2
            product[i, j, 1] = iq * z0 + qq * z1 + qu * z2
            product[i, j, 2] = iu * z0 + qu * z1 + uu * z2


class Covariance(Accumulate):
    """Hits, inverse covariance (1/K²), covariance (K²) and rcond of all pixels that this process keeps, of all processes' samples.

    Pixels of which rcond is below `threshold` are cut: covariance and rcond are 0.
    """

    kernel = accumulate_covariance
    det_flags: str | None = None
    threshold: float = 1e-3
    hits: str = "hits"
    inverse: str = "inverse_covariance"
    covariance: str = "covariance"
    rcond: str = "rcond"
    _before: dict[str, PixelMap | None] | None = field(default=None, init=False, repr=False)
    """What the sums have replaced, once they are begun."""

    def provides(self) -> Keys:
        return {"global": [self.hits, self.inverse, self.covariance, self.rcond]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        if self._before is None or self.hits not in data:
            self._before = {name: data.objects.get(name) for name in (self.hits, self.inverse)}
            data[self.hits] = PixelMap(data[self.pixel_dist], 1, np.int64, "1")
            data[self.inverse] = PixelMap(data[self.pixel_dist], 6, units="1/K2")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        pointing, flags, view, noise = self.samples(ob, detectors)
        return data[self.hits].data, data[self.inverse].local(), pointing, flags, view, noise

    def _abandon(self, data: Data) -> None:
        for name, replaced in (self._before or {}).items():
            data.remove("global", name)
            if replaced is not None:
                data[name] = replaced
        self._before = None

    def _finalize(self, data: Data) -> None:
        between = exchange(data, self.pixel_dist)
        inverse = between.collect(data[self.inverse].to_host())
        cov, rcond = invert_covariance(inverse, self.threshold)
        data[self.hits] = between.map(between.collect(data[self.hits].to_host()), "1")
        data[self.inverse] = between.map(inverse, "1/K2")
        data[self.covariance] = between.map(cov, "K2")
        data[self.rcond] = between.map(rcond, "1")
        self._before = None
