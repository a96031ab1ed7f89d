"""Filters of time streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ingot
import numpy as np

from .data import Data, Observation
from .kernels import Flags, Samples, View, check_rows, spans
from .operator import KernelOperator, Keys


@ingot.jit
def filter_polynomials(signal: Samples, flags: Flags | None, view: View, order):
    """Takes the polynomial of degree `order` that fits best out of each detector's samples in each interval, in place.

    Flagged samples do not count in the fit; the polynomial is taken out of them, too. Where fewer than order + 1 samples are
    good, the degree is as low as they need.

    The polynomials are those orthogonal over the good samples, each made from the two before it, so no equations are solved.
    """
    n_det, n_samples = len(signal.rows), signal.data.shape[1]
    first, last = spans(view, n_samples)
    check_rows(signal, n_det, n_samples)
    if flags is not None:
        check_rows(flags.samples, n_det, n_samples)
    for d in range(n_det):
        for v in range(len(first)):
            here = slice(first[v], last[v])
            values = signal.data[signal.rows[d], here]
            good = np.ones(len(values), np.bool_)
            if view.flags is not None:
                good &= view.flags[here] & view.mask == 0
            if flags is not None:
                good &= flags.samples.data[flags.samples.rows[d], here] & flags.mask == 0
            x = (2 * np.arange(len(values)) + 1) / len(values) - 1
            before, current, norm_before = np.zeros(len(values)), np.ones(len(values)), 1.0
            for _ in range(min(order + 1, np.count_nonzero(good))):
                square = np.where(good, current * current, 0.0)
                norm = np.sum(square)
                values -= np.sum(np.where(good, values * current, 0.0)) / norm * current
                following = (x - np.sum(square * x) / norm) * current - norm / norm_before * before
                before, current, norm_before = current, following, norm


class FilterPolynomials(KernelOperator):
    """Takes the polynomial of degree `order` that fits best out of each detector's signal in each interval of `view`."""

    kernel = filter_polynomials
    order: int = 1
    signal: str = "signal"
    det_flags: str | None = None
    det_flag_mask: int = 7
    shared_flags: str | None = "flags"
    shared_flag_mask: int = 15

    def requires(self) -> Keys:
        return self.keys({"detdata": [self.signal, self.det_flags], "shared": [self.shared_flags]})

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        flags = ob.flags(self.det_flags, self.det_flag_mask, detectors)
        return ob.samples(self.signal, detectors), flags, ob.view(self.view, self.shared_flags, self.shared_flag_mask), self.order
