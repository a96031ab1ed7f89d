"""Maps: binned ones, and destriped ones, of which slow noise is taken out as offsets of short steps.

The offsets a of data d solve  Mᵀ N⁻¹ Z M a = Mᵀ N⁻¹ Z d  with  Z = 1 - P B: M adds a step's offset to its samples, P scans a
map, B bins one. Conjugate gradients need M, its transpose, P and B, which are pipelines of kernels.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

import ingot

from .covariance import apply_covariance
from .data import Buffer, Data, Observation, PixelMap, clear
from .kernels import (
    Flags, Offsets, Pointing, Samples, Sky, View, check_equal, check_rows, is_bad, is_flagged, local_row, spans, steps,
)  # fmt: skip
from .mpi import exchange, total
from .operator import KernelOperator, Keys, Operator
from .operators import BuildNoiseWeighted, NoiseWeight, OffsetAdd, OffsetLayout, OffsetPrecond, OffsetProject, ScanMap
from .pipeline import Pipeline


@ingot.jit
def copy_samples(source: Samples, target: Samples, view: View):
    """target = source in the intervals."""
    n_det, n_samples = len(target.rows), target.data.shape[1]
    first, last = spans(view, n_samples)
    check_rows(source, n_det, n_samples)
    check_rows(target, n_det, n_samples)
    for v in range(len(first)):
        for d in range(n_det):
            for s in range(first[v], last[v]):
                target.data[target.rows[d], s] = source.data[source.rows[d], s]


@ingot.jit
def fill_samples(target: Samples, value, view: View):
    """target = value in the intervals."""
    n_det, n_samples = len(target.rows), target.data.shape[1]
    first, last = spans(view, n_samples)
    check_rows(target, n_det, n_samples)
    for v in range(len(first)):
        for d in range(n_det):
            for s in range(first[v], last[v]):
                target.data[target.rows[d], s] = value


@ingot.jit
def flag_for_solver(rcond: Sky, pixels: Samples, flags: Flags | None, view: View, solver_flags: Samples):
    """solver_flags = 1 where flags are bad, the pixel is -1 or cut (rcond 0), else 0."""
    n_det, n_samples, n_pix_submap = len(pixels.rows), pixels.data.shape[1], rcond.values.shape[1]
    first, last = spans(view, n_samples)
    check_rows(pixels, n_det, n_samples)
    check_rows(solver_flags, n_det, n_samples)
    if flags is not None:
        check_rows(flags.samples, n_det, n_samples)
    for v in range(len(first)):
        for d in range(n_det):
            for s in range(first[v], last[v]):
                pixel = pixels.data[pixels.rows[d], s]
                solver_flags.data[solver_flags.rows[d], s] = 1
                if pixel >= 0 and not is_flagged(flags, d, s) and not is_bad(view, s):
                    submap = pixel // n_pix_submap
                    local, column = local_row(rcond, submap), pixel - submap * n_pix_submap
                    solver_flags.data[solver_flags.rows[d], s] = rcond.values[local, column, 0] == 0.0


@dataclass
class Runs:
    """Neighbouring good samples of a step in one pixel are a run: run r of amplitude a has the number start[a] + r."""

    counts: np.ndarray  # int64 (n_amp,): runs of each step
    start: np.ndarray  # int64 (n_amp + 1,)
    pixel: np.ndarray  # int64 (runs,), in a map (n_local * n_pix_submap, 3)
    weights: np.ndarray  # float64 (runs, 3): the sum of the weights of its samples
    scale: np.ndarray  # float64 (n_amp,): the inverse variance of a sample
    good: np.ndarray  # float64 (n_amp,): how many samples are good


@ingot.jit
def count_runs(sky: Sky, pointing: Pointing, flags: Samples, offsets: Offsets, view: View, runs: Runs, filled):
    """Counts the runs of each step, or, with `filled`, writes down pixels and weights. Samples are good where flags are 0."""
    n_det, n_samples, n_pix_submap = len(offsets.start), flags.data.shape[1], sky.values.shape[1]
    first, last, begin = steps(offsets, view, n_samples)
    pixels, weights = pointing.pixels, pointing.weights
    check_rows(pixels, n_det, n_samples)
    check_rows(weights, n_det, n_samples)
    check_rows(flags, n_det, n_samples)
    check_equal(weights.data.shape[2], 3)
    for d in range(n_det):
        for v in range(len(first)):
            a = offsets.start[d] + begin[v]
            for step in range(first[v], last[v], offsets.step_length):
                before = np.int64(-1)
                run = np.int64(-1)
                for s in range(step, min(step + offsets.step_length, last[v])):
                    pixel = pixels.data[pixels.rows[d], s]
                    if flags.data[flags.rows[d], s] == 0 and offsets.flags[a] == 0:
                        if pixel != before:
                            before = pixel
                            run += 1
                            if filled:
                                submap = pixel // n_pix_submap
                                local = local_row(sky, submap)
                                runs.pixel[runs.start[a] + run] = local * n_pix_submap + pixel - submap * n_pix_submap
                        if filled:
                            i, q, u = weights.data[weights.rows[d], s]
                            runs.weights[runs.start[a] + run, 0] += i
                            runs.weights[runs.start[a] + run, 1] += q
                            runs.weights[runs.start[a] + run, 2] += u
                runs.counts[a] = run + 1
                a += 1


@ingot.jit
def bin_runs(runs: Runs, amplitudes, zmap):
    """Adds to zmap, float64 (pixels, 3), what offsets make of it: float64 (n_amp,) amplitudes."""
    for a in range(len(amplitudes)):
        value = runs.scale[a] * amplitudes[a]
        for r in range(runs.start[a], runs.start[a + 1]):
            zmap[runs.pixel[r], 0] += value * runs.weights[r, 0]
            zmap[runs.pixel[r], 1] += value * runs.weights[r, 1]
            zmap[runs.pixel[r], 2] += value * runs.weights[r, 2]


@ingot.jit
def project_runs(runs: Runs, amplitudes, seen, projected):
    """projected[a] = scale (good * amplitude - the sum of what the step's samples see of a map): float64 (n_amp,)."""
    for a in range(len(amplitudes)):
        total = 0.0
        for r in range(runs.start[a], runs.start[a + 1]):
            i, q, u = seen[runs.pixel[r]]
            total += runs.weights[r, 0] * i + runs.weights[r, 1] * q + runs.weights[r, 2] * u
        projected[a] = runs.scale[a] * (runs.good[a] * amplitudes[a] - total)


@ingot.jit
def offset_variance(good, length, weight):
    """The variances (K²) of steps of which so many of `length` samples are good: float64 (n,); 0 for half of them or fewer.

    It is 0 as well where the weight, 1/K², of a sample is 0, negative or not finite.
    """
    known = (weight > 0.0) & (weight < np.inf)
    return np.where((good > 0.5 * length) & known, 1.0 / (np.where(known, weight, 1.0) * np.maximum(good, 1.0)), 0.0)


@ingot.jit
def dot(a, b):
    """The scalar product of two vectors, in an order that depends on their length alone."""
    return np.sum(a * b)


@ingot.jit
def add_scaled(a, factor, b):
    """a + factor b, vectors of one length."""
    return a + factor * b


TEMPLATE = "destripe_template"
"""Samples that the solver works on, in detdata."""


class OfTemplate(KernelOperator):
    """What works on samples of the detectors from `source` to `signal`: both in detdata, float64."""

    signal: str = TEMPLATE

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        self.ensure(data, detectors, self.signal)


class CopySignal(OfTemplate):
    """`signal` becomes a copy of `source`."""

    kernel = copy_samples
    source: str = "signal"

    def requires(self) -> Keys:
        return self.keys({"detdata": [self.source]})

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        return ob.samples(self.source, detectors), ob.samples(self.signal, detectors), ob.view(self.view)


class FillSignal(OfTemplate):
    """`signal` becomes `value`."""

    kernel = fill_samples
    value: float = 0.0

    def requires(self) -> Keys:
        return self.keys({})

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        return ob.samples(self.signal, detectors), float(self.value), ob.view(self.view)


class FlagForSolver(KernelOperator):
    """`solver_flags` uint8 (D, S): 1 for samples that the destriping leaves out, those of cut pixels among them."""

    kernel = flag_for_solver
    rcond: str = "rcond"
    pixels: str = "pixels"
    det_flags: str | None = None
    det_flag_mask: int = 7
    shared_flags: str | None = "flags"
    shared_flag_mask: int = 15
    solver_flags: str = "solver_flags"

    def requires(self) -> Keys:
        return self.keys({"global": [self.rcond], "detdata": [self.pixels, self.det_flags], "shared": [self.shared_flags]})

    def provides(self) -> Keys:
        return {"detdata": [self.solver_flags]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        self.ensure(data, detectors, self.solver_flags, (), np.uint8, "1")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        flags = ob.flags(self.det_flags, self.det_flag_mask, detectors)
        view = ob.view(self.view, self.shared_flags, self.shared_flag_mask)
        return data[self.rcond].local(), ob.samples(self.pixels, detectors), flags, view, ob.samples(self.solver_flags, detectors)


class ApplyCovariance(Operator):
    """`map` (K) = `covariance` (K²) times `zmap` (1/K), pixel by pixel."""

    on_device = True
    pixel_dist: str = "pixel_dist"
    covariance: str = "covariance"
    zmap: str = "zmap"
    map: str = "map"

    def requires(self) -> Keys:
        return {"global": [self.covariance, self.zmap]}

    def provides(self) -> Keys:
        return {"global": [self.map]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        if self.map not in data:
            data[self.map] = PixelMap(data[self.pixel_dist], 3)

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        apply_covariance(*(data[name].data for name in (self.covariance, self.zmap, self.map)))


class ClearMap(Operator):
    """`map` becomes 0."""

    on_device = True
    map: str = "zmap"

    def provides(self) -> Keys:
        return {"global": [self.map]}

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        clear(data[self.map].data)


class BinMap(Operator):
    """The binned map of a signal, kelvin: covariance times the noise-weighted map that the operators `build` accumulate.

    `build` adds this process's samples to `zmap`, and `finalize` those of the other processes. `options` are those of pipelines. A
    `zmap` that is there is used, and stays.
    """

    build: Operator = field(default_factory=BuildNoiseWeighted)
    zmap: str = "zmap"
    covariance: str = "covariance"
    pixel_dist: str = "pixel_dist"
    map: str = "map"
    options: dict[str, Any] = field(default_factory=dict)
    _begun: bool = field(default=False, init=False)
    _existed: bool = field(default=False, init=False)

    @property
    def whole_detectors(self) -> bool:  # type: ignore[override]
        """Whether `build` needs all detectors in a call."""
        return self.build.whole_detectors

    def requires(self) -> Keys:
        keys = self.build.requires()
        return {**keys, "global": [*keys.get("global", []), self.covariance]}

    def provides(self) -> Keys:
        return {"global": [self.map, self.zmap]}

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        if not self._begun:
            self._begun, self._existed = True, self.zmap in data
            if self._existed:
                self._pipeline(ClearMap(map=self.zmap)).apply(data)
        self.build.exec(data, detectors)

    def _abandon(self, data: Data) -> None:
        self.build._abandon(data)
        if self._begun and not self._existed:
            data.remove("global", self.zmap)
        self._begun = False

    def _finalize(self, data: Data) -> None:
        self.build.finalize(data)
        between = exchange(data, self.pixel_dist)
        if between.world is not None:
            data[self.zmap].data[...] = between.spread(between.collect(data[self.zmap].to_host()))
        names = {"pixel_dist": self.pixel_dist, "covariance": self.covariance, "zmap": self.zmap, "map": self.map}
        self._pipeline(ApplyCovariance(**names)).apply(data)
        if not self._existed:
            del data[self.zmap]
        self._begun = False

    def _pipeline(self, *operators: Operator) -> Pipeline:
        return Pipeline(operators, **{name: value for name, value in self.options.items() if name != "detector_sets"})


@contextlib.contextmanager
def resident(data: Data, device: ingot.Device | str | None, keys: Keys) -> Iterator[None]:
    """Keeps objects on the device of several pipelines, from one to the next; those that are removed meanwhile end there."""

    def buffers() -> list[Buffer]:
        return [buffer for kind, names in keys.items() for name in names for buffer in data.buffers(kind, name)]

    held: list[Buffer] = []
    try:
        if device is not None:
            held = [buffer for buffer in buffers() if buffer.place(ingot.device(device))]
        yield
    finally:
        left = {id(buffer) for buffer in buffers()}
        for buffer in held:
            if id(buffer) in left:
                buffer.place(None)


def conjugate_gradients(
    apply: Callable[[np.ndarray], np.ndarray], precondition: Callable[[np.ndarray], np.ndarray], rhs: np.ndarray,
    inner: Callable[[np.ndarray, np.ndarray], float], tolerance: float, max_steps: int, state: dict[str, Any] | None = None,
    watch: Callable[[dict[str, Any]], None] = lambda state: None,
) -> dict[str, Any]:  # fmt: skip
    """Solves apply(x) = rhs, of a symmetric matrix, from 0 on, until |rhs - apply(x)|² < tolerance |rhs|².

    `inner` is the scalar product; ArithmeticError where one is not finite, or is 0 and divided by. The state after each step, which
    `watch` is shown and from which the solver goes on when it is given: step, the vectors x, residual and direction, and the
    numbers rz and squares (|residual|² of all steps, the first one |rhs|²).
    """

    def checked(value: float, step: int) -> float:
        if not math.isfinite(value):
            why = "is a sample, a weight or a covariance not finite?"
            raise ArithmeticError(f"a scalar product of the solver is {value} after {step} steps: {why}")
        return value

    if state is None:
        z = precondition(rhs)
        state = {"step": 0, "x": np.zeros_like(rhs), "residual": rhs, "direction": z, "rz": inner(rhs, z), "squares": [inner(rhs, rhs)]}
    checked(state["rz"] + state["squares"][-1], state["step"])
    while state["step"] < max_steps and state["squares"][-1] >= tolerance * state["squares"][0] and state["squares"][-1] > 0.0:
        x, residual, direction, rz = (state[name] for name in ("x", "residual", "direction", "rz"))
        product = apply(direction)
        curvature = checked(inner(direction, product), state["step"])
        if curvature == 0.0 or rz == 0.0:
            raise ArithmeticError(f"the solver cannot go on after {state['step']} steps: the equations do not determine the residual")
        factor = rz / curvature
        x, residual = add_scaled(x, factor, direction), add_scaled(residual, -factor, product)
        z = precondition(residual)
        following = inner(residual, z)
        state = {
            "step": state["step"] + 1, "x": x, "residual": residual, "direction": add_scaled(z, following / rz, direction),
            "rz": following, "squares": [*state["squares"], inner(residual, residual)],
        }  # fmt: skip
        checked(following + state["squares"][-1], state["step"])
        watch(state)
    return state


class CountRuns(KernelOperator):
    """Counts the runs of `runs`, or writes them down."""

    kernel = count_runs
    on_device = False
    covariance: str = "covariance"
    pixels: str = "pixels"
    weights: str = "weights"
    solver_flags: str = "solver_flags"
    runs: Runs
    filled: bool = False

    def requires(self) -> Keys:
        return {"global": [self.covariance, "offsets", "amplitude_flags"], "detdata": [self.pixels, self.weights, self.solver_flags]}

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        layout, flags = data["offsets"], data["amplitude_flags"].data
        pointing = Pointing(ob.samples(self.pixels, detectors), ob.samples(self.weights, detectors))
        offsets, view = layout.of(ob, detectors, np.zeros(len(flags)), flags), ob.view(layout.view)
        return data[self.covariance].local(), pointing, ob.samples(self.solver_flags, detectors), offsets, view, self.runs, self.filled


class ByRuns:
    """The left side of the solver's equations by runs, of which a step has far fewer than samples where pixels are large.

    M and P depend on the pointing alone: for each amplitude the pixels that its good samples see, and the sums of their weights.
    `pipeline` makes pipelines, `pointing` are operators that make pixels and weights where they are not stored.
    """

    def __init__(
        self, data: Data, pipeline: Callable[..., Pipeline], pointing: Sequence[Operator], noise: str, names: dict[str, str],
        pixel_dist: str, detectors: Sequence[str] | None,
    ) -> None:  # fmt: skip
        layout = data["offsets"]
        self.data, self.pixel_dist, self.covariance = data, pixel_dist, names["covariance"]
        scale = np.zeros(layout.n_amp)
        for ob in data.obs:
            for detector in ob.select(detectors):
                own = layout.start[ob.name, detector]
                scale[own : own + layout.steps[ob.name].sum()] = ob.meta[noise][detector]
        none, counts, good = np.zeros(0, np.int64), np.zeros(layout.n_amp, np.int64), data["destripe_good_samples"].to_host()
        self.runs = Runs(counts, none, none, np.zeros((0, 3)), scale, good)
        pipeline(*pointing, CountRuns(runs=self.runs, **names)).apply(data, detectors)
        start = np.concatenate(([0], np.cumsum(counts)))
        self.runs = Runs(counts, start, np.zeros(start[-1], np.int64), np.zeros((start[-1], 3)), scale, good)
        pipeline(*pointing, CountRuns(runs=self.runs, filled=True, **names)).apply(data, detectors)

    def apply(self, amplitudes: np.ndarray) -> np.ndarray:
        """Mᵀ N⁻¹ Z M of amplitudes, which are 0 where they are flagged."""
        between = exchange(self.data, self.pixel_dist)
        local = np.zeros((between.distribution.n_local, between.distribution.n_pix_submap, 3))
        bin_runs(self.runs, amplitudes, local.reshape(-1, 3))
        zmap = between.spread(between.collect(local))
        seen, projected = np.empty_like(zmap), np.zeros_like(amplitudes)
        apply_covariance(self.data[self.covariance].to_host(), zmap, seen)
        project_runs(self.runs, amplitudes, seen.reshape(-1, 3), projected)
        return projected


class Destripe(Operator):
    """Takes offsets of steps of `step_length` samples out of `signal`, of all detectors at once; `finalize` gives the solver's state.

    The amplitudes stay as global `amplitudes` float64 (n_amp,), in the order of `OffsetLayout` (`offsets`), with
    `amplitude_flags`: steps of which half of the samples or fewer are good, and those of detectors whose weight is not above 0,
    have none. `pointing` are operators that make pixels and weights again each time they are needed, where they are not stored;
    `options` are those of all pipelines. Names that begin with `destripe_` are the solver's own and end with it: a ValueError
    where one is there before. The signal is as it was where the solver raises ArithmeticError.
    """

    step_length: int = 1000
    signal: str = "signal"
    noise: str = "noise"
    pixel_dist: str = "pixel_dist"
    covariance: str = "covariance"
    solver_flags: str = "solver_flags"
    tolerance: float = 1e-12
    max_steps: int = 100
    pointing: Sequence[Operator] = ()
    options: dict[str, Any] = field(default_factory=dict)
    by_runs: bool = False
    """Whether the left side goes `ByRuns`, once for each run of samples in a pixel, instead of by kernels, once for each sample."""
    watch: Any = None
    """Is shown the state of the solver after each step."""
    state: dict[str, Any] | None = None
    """From which state the solver goes on."""
    whole_detectors = True
    _own: ClassVar[tuple[str, ...]] = tuple(f"destripe_{name}" for name in ("residual", "preconditioned", "projected", "direction", "variance", "good_samples"))

    def requires(self) -> Keys:
        return {"global": [self.pixel_dist, self.covariance], "detdata": [self.signal, self.solver_flags], "meta": [self.noise]}

    def provides(self) -> Keys:
        return {"detdata": [self.signal], "global": ["amplitudes", "amplitude_flags", "offsets", "solver"]}

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        maps = "destripe_zmap", "destripe_map"
        own = [("detdata", TEMPLATE), *(("global", name) for name in (*maps, *self._own))]
        if taken := [name for kind, name in own if any(name in store for store in data.stores(kind))]:
            raise ValueError(f"{', '.join(taken)}: {self.name} makes and removes what has this name")
        kept = [TEMPLATE, self.solver_flags, *([] if self.pointing else ["pixels", "weights"])]

        def remove() -> None:
            for kind, name in own:
                data.remove(kind, name)

        try:
            for name in maps:
                data[name] = PixelMap(data[self.pixel_dist], 3)
            if not self.pointing:
                for ob in data.obs:
                    ob.detdata.ensure(TEMPLATE, detectors=ob.select(detectors))
            with resident(data, self.options.get("device"), {"detdata": kept, "global": [*maps, self.covariance, self.pixel_dist]}):
                try:
                    self._solve(data, detectors)
                finally:
                    remove()  # before what is left is copied back
        finally:
            remove()

    def _solve(self, data: Data, detectors: Sequence[str] | None) -> None:
        self._prepare(data, detectors)
        rhs = self._projected(data, detectors, CopySignal(source=self.signal))

        def by_kernels(direction: np.ndarray) -> np.ndarray:
            data["destripe_direction"] = direction
            return self._projected(data, detectors, FillSignal(), OffsetAdd(signal=TEMPLATE, amplitudes="destripe_direction"))

        def precondition(residual: np.ndarray) -> np.ndarray:
            data["destripe_residual"] = residual
            names = {"variance": "destripe_variance", "amplitudes": "destripe_residual", "result": "destripe_preconditioned"}
            OffsetPrecond(**names).apply(data)
            return data["destripe_preconditioned"].to_host().copy()

        def inner(a: np.ndarray, b: np.ndarray) -> float:
            return float(total(data.comm, dot(a, b)))

        apply: Callable[[np.ndarray], np.ndarray] = by_kernels
        watch = self.watch or (lambda state: None)
        if self.by_runs:
            names = {"covariance": self.covariance, "solver_flags": self.solver_flags}
            apply = ByRuns(data, self._pipeline, self.pointing, self.noise, names, self.pixel_dist, detectors).apply
        found = conjugate_gradients(apply, precondition, rhs, inner, self.tolerance, self.max_steps, self.state, watch)
        data["solver"] = found
        data["destripe_direction"] = -found["x"]
        self._pipeline(OffsetAdd(signal=self.signal, amplitudes="destripe_direction")).apply(data, detectors)
        data["amplitudes"] = found["x"]

    def _finalize(self, data: Data) -> dict[str, Any]:
        return data["solver"]

    def _prepare(self, data: Data, detectors: Sequence[str] | None) -> None:
        """Layout, flags and variances of the amplitudes, from how many samples of each step are good."""
        layout = OffsetLayout(data, self.step_length, detectors=detectors)
        data["offsets"] = layout
        data["amplitude_flags"] = np.zeros(layout.n_amp, np.uint8)
        data["destripe_projected"] = np.zeros(layout.n_amp)
        self._pipeline(FillSignal(value=1.0), self._project()).apply(data, detectors)
        length, weight = np.zeros(layout.n_amp), np.ones(layout.n_amp)
        for ob in data.obs:
            steps = np.minimum(self.step_length, ob.n_samples - self.step_length * np.arange(layout.steps[ob.name].sum()))
            for detector in ob.select(detectors):
                own = slice(layout.start[ob.name, detector], layout.start[ob.name, detector] + len(steps))
                length[own], weight[own] = steps, ob.meta[self.noise][detector]
        good = data["destripe_projected"].to_host().copy()
        variance = offset_variance(good, length, weight)
        data["destripe_good_samples"], data["destripe_variance"] = good, variance
        data["amplitude_flags"] = (variance == 0.0).astype(np.uint8)

    def _pipeline(self, *operators: Operator, keep: Sequence[str] = ()) -> Pipeline:
        return Pipeline(operators, keep=keep, **self.options)

    def _project(self) -> OffsetProject:
        return OffsetProject(signal=TEMPLATE, amplitudes="destripe_projected", det_flags=self.solver_flags, det_flag_mask=1)

    def _projected(self, data: Data, detectors: Sequence[str] | None, *source: Operator) -> np.ndarray:
        """Mᵀ N⁻¹ Z of what `source` makes of the template."""
        flags: dict[str, Any] = {"det_flags": self.solver_flags, "det_flag_mask": 1, "shared_flags": None}
        accumulate = BuildNoiseWeighted(signal=TEMPLATE, zmap="destripe_zmap", noise=self.noise, pixel_dist=self.pixel_dist, **flags)
        stored = not self.pointing
        build = self._pipeline(*source, *self.pointing, accumulate, keep=[TEMPLATE] if stored else [])
        names = {"covariance": self.covariance, "pixel_dist": self.pixel_dist, "zmap": "destripe_zmap", "map": "destripe_map"}
        BinMap(build=build, options=self.options, **names).apply(data, detectors)
        data["destripe_projected"] = np.zeros(data["offsets"].n_amp)
        back = [ScanMap(map="destripe_map", signal=TEMPLATE, subtract=True), NoiseWeight(signal=TEMPLATE, noise=self.noise)]
        self._pipeline(*([] if stored else [*source, *self.pointing]), *back, self._project()).apply(data, detectors)
        return data["destripe_projected"].to_host().copy()
