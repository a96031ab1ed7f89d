"""Filters of time streams."""

from __future__ import annotations

from typing import Any

import ingot
import numpy as np

from . import dispatch
from .data import Data, Observation
from .kernels import check_rows, has_flags_of, spans
from .operator import KernelOperator, Keys, intervals, rows, shared, table


@ingot.jit
def filter_polynomials(
    det_data, data_index, det_flags, flag_index, det_flag_mask, shared_flags, shared_flag_mask, intervals, order
):  # fmt: skip
    """Takes the polynomial of degree `order` that fits best out of each detector's samples in each interval, in place.

    det_data: float64 (rows, samples), changed; det_flags: uint8 (rows, samples); shared_flags: uint8 (samples,); flags of another
    length mean that there are none. Flagged samples do not count in the fit; the polynomial is taken out of them, too. Where fewer
    than order + 1 samples are good, the degree is as low as they need.

    The polynomials are those orthogonal over the good samples, each made from the two before it, so no equations are solved.
    """
    n_samples = det_data.shape[1]
    first, last = spans(intervals, n_samples)
    check_rows(data_index, det_data, len(flag_index))
    has_shared_flags, has_flags = len(shared_flags) == n_samples, has_flags_of(flag_index, det_flags, n_samples)
    if has_flags:
        check_rows(flag_index, det_flags, len(data_index))
    for d in range(len(data_index)):
        for v in range(len(first)):
            here = slice(first[v], max(first[v], last[v]))
            signal = det_data[data_index[d], here]
            good = np.ones(len(signal), np.bool_)
            if has_shared_flags:
                good &= shared_flags[here] & shared_flag_mask == 0
            if has_flags:
                good &= det_flags[flag_index[d], here] & det_flag_mask == 0
            x = (2 * np.arange(len(signal)) + 1) / len(signal) - 1
            before, current, norm_before = np.zeros(len(signal)), np.ones(len(signal)), 1.0
            for _ in range(min(order + 1, np.count_nonzero(good))):
                square = np.where(good, current * current, 0.0)
                norm = np.sum(square)
                signal -= np.sum(np.where(good, signal * current, 0.0)) / norm * current
                following = (x - np.sum(square * x) / norm) * current - norm / norm_before * before
                before, current, norm_before = current, following, norm


dispatch.register("filter_polynomials", "ingot", filter_polynomials)


class FilterPolynomials(KernelOperator):
    """Takes the polynomial of degree `order` that fits best out of each detector's signal in each interval of `view`."""

    kernel = "filter_polynomials"
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

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        signal = [rows(self.signal), table(self.signal), rows(self.det_flags), table(self.det_flags), self.det_flag_mask]
        return [*signal, shared(self.shared_flags), self.shared_flag_mask, intervals(self.view), self.order]
