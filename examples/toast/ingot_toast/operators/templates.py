"""The offsets of destriping: one amplitude for each detector and step of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..data import Data, Observation
from ..kernels import Offsets
from ..operator import KernelOperator, Keys, Operator


class OffsetLayout:
    """Where the amplitudes of detectors are: detector by detector, observation by observation, step by step.

    `n_amp` is how many there are, `start[observation, detector]` the first one of a detector, `steps[observation]`
    int64 (V,) how many each interval has. A step has `step_length` samples; the last one of an interval may be short.
    """

    def __init__(self, data: Data, step_length: int, view: str | None = None, detectors: Sequence[str] | None = None) -> None:
        self.step_length, self.view, self.n_amp = step_length, view, 0
        self.start: dict[tuple[str, str], int] = {}
        self.steps = {}
        for ob in data.obs:
            self.steps[ob.name] = -(-(ob.intervals[view].last - ob.intervals[view].first) // step_length)
        for detector in data.detectors(detectors):
            for ob in data.obs:
                if detector in ob.detectors:
                    self.start[ob.name, detector] = self.n_amp
                    self.n_amp += int(self.steps[ob.name].sum())

    def of(self, ob: Observation, detectors: Sequence[str], amplitudes: Any, flags: Any) -> Offsets:
        """The amplitudes of some detectors, of all amplitudes."""
        start = np.array([self.start[ob.name, detector] for detector in detectors], np.int64)
        return Offsets(self.step_length, start, self.steps[ob.name], amplitudes, flags)


class OffsetOperator(KernelOperator):
    """What the operators of offsets share: the layout, the amplitudes float64 (n_amp,), their flags uint8 (n_amp,)."""

    layout: str = "offsets"
    amplitudes: str = "amplitudes"
    amplitude_flags: str = "amplitude_flags"
    signal: str = "signal"

    def requires(self) -> Keys:
        return self.keys({"global": [self.layout, self.amplitudes, self.amplitude_flags], "detdata": [self.signal]})

    def offsets(self, data: Data, ob: Observation, detectors: list[str]) -> Offsets:
        return data[self.layout].of(ob, detectors, data[self.amplitudes].data, data[self.amplitude_flags].data)


class OffsetAdd(OffsetOperator):
    """Adds to the signal of each detector the amplitudes of its steps."""

    kernel = kernels.template_offset_add_to_signal

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        return self.offsets(data, ob, detectors), ob.samples(self.signal, detectors), ob.view(data[self.layout].view)


class OffsetProject(OffsetOperator):
    """Adds to the amplitudes of each detector the sums of the signal over its steps, where no flags are bad."""

    kernel = kernels.template_offset_project_signal
    det_flags: str | None = "flags"
    det_flag_mask: int = 7

    def requires(self) -> Keys:
        keys = super().requires()
        return {**keys, "detdata": [self.signal, *([] if self.det_flags is None else [self.det_flags])]}

    def provides(self) -> Keys:
        return {"global": [self.amplitudes]}

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        flags = ob.flags(self.det_flags, self.det_flag_mask, detectors)
        return self.offsets(data, ob, detectors), ob.samples(self.signal, detectors), flags, ob.view(data[self.layout].view)


class OffsetPrecond(Operator):
    """`result` = `amplitudes` times their variance (K²), 0 where they are flagged; all float64 (n_amp,)."""

    on_device = True
    variance: str = "offset_variance"
    amplitudes: str = "amplitudes"
    amplitude_flags: str = "amplitude_flags"
    result: str = "preconditioned"

    def requires(self) -> Keys:
        return {"global": [self.variance, self.amplitudes, self.amplitude_flags]}

    def provides(self) -> Keys:
        return {"global": [self.result]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        if self.result not in data:
            data[self.result] = np.zeros(data[self.amplitudes].shape)

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        names = self.variance, self.amplitudes, self.amplitude_flags, self.result
        kernels.template_offset_apply_diag_precond(*(data[name].data for name in names))
