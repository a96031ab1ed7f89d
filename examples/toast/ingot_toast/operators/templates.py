"""The offsets of destriping: one amplitude for each detector and step of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dispatch
from ..data import Data
from ..operator import NO_ROWS, Keys, Operator


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
            spans = ob.intervals[view].data
            self.steps[ob.name] = -(-np.maximum(spans["last"] - spans["first"], 0) // step_length)
        for detector in data.detectors(detectors):
            for ob in data.obs:
                if detector in ob.detectors:
                    self.start[ob.name, detector] = self.n_amp
                    self.n_amp += int(self.steps[ob.name].sum())


class OffsetOperator(Operator):
    """What the operators of offsets share: the layout, the amplitudes float64 (n_amp,), their flags uint8 (n_amp,)."""

    layout: str = "offsets"
    amplitudes: str = "amplitudes"
    amplitude_flags: str = "amplitude_flags"
    signal: str = "signal"
    det_mask: int = 0

    def supports_accel(self) -> bool:
        return True


class OffsetAdd(OffsetOperator):
    """Adds to the signal of each detector the amplitudes of its steps."""

    def requires(self) -> Keys:
        return {"global": [self.layout, self.amplitudes, self.amplitude_flags], "detdata": [self.signal]}

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def kernels(self) -> list[str]:
        return ["template_offset_add_to_signal"]

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        layout, amplitudes, flags = data[self.layout], data[self.amplitudes].data, data[self.amplitude_flags].data
        for ob in data.obs:
            signal, spans, steps = ob.detdata[self.signal], ob.intervals[layout.view].data, layout.steps[ob.name]
            chosen = ob.select(detectors, self.det_mask)
            for detector, row in zip(chosen, signal.indices(chosen)):
                at = layout.step_length, layout.start[ob.name, detector], steps
                dispatch.call("template_offset_add_to_signal", *at, amplitudes, flags, int(row), signal.data, spans)


class OffsetProject(OffsetOperator):
    """Adds to the amplitudes of each detector the sums of the signal over its steps, where no flags are bad."""

    det_flags: str | None = "flags"
    det_flag_mask: int = 7

    def requires(self) -> Keys:
        flags = [] if self.det_flags is None else [self.det_flags]
        return {"global": [self.layout, self.amplitudes, self.amplitude_flags], "detdata": [self.signal, *flags]}

    def provides(self) -> Keys:
        return {"global": [self.amplitudes]}

    def kernels(self) -> list[str]:
        return ["template_offset_project_signal"]

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        layout, amplitudes, bad = data[self.layout], data[self.amplitudes].data, data[self.amplitude_flags].data
        for ob in data.obs:
            chosen = ob.select(detectors, self.det_mask)
            signal, spans, steps = ob.detdata[self.signal], ob.intervals[layout.view].data, layout.steps[ob.name]
            flags = None if self.det_flags is None else ob.detdata[self.det_flags]
            flag_rows = [-1] * len(chosen) if flags is None else flags.indices(chosen)
            flag_data = NO_ROWS if flags is None else flags.data
            for detector, row, flag_row in zip(chosen, signal.indices(chosen), flag_rows):
                samples = int(row), signal.data, int(flag_row), flag_data, self.det_flag_mask
                at = layout.step_length, layout.start[ob.name, detector], steps
                dispatch.call("template_offset_project_signal", *samples, *at, amplitudes, bad, spans)


class OffsetPrecond(Operator):
    """`result` = `amplitudes` times their variance (K²), 0 where they are flagged; all float64 (n_amp,)."""

    variance: str = "offset_variance"
    amplitudes: str = "amplitudes"
    amplitude_flags: str = "amplitude_flags"
    result: str = "preconditioned"

    def requires(self) -> Keys:
        return {"global": [self.variance, self.amplitudes, self.amplitude_flags]}

    def provides(self) -> Keys:
        return {"global": [self.result]}

    def supports_accel(self) -> bool:
        return True

    def kernels(self) -> list[str]:
        return ["template_offset_apply_diag_precond"]

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        if self.result not in data:
            data[self.result] = np.zeros(data[self.amplitudes].shape)

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        names = self.variance, self.amplitudes, self.amplitude_flags, self.result
        dispatch.call("template_offset_apply_diag_precond", *(data[name].data for name in names))
