"""Maps: binned ones, and destriped ones, of which slow noise is taken out as offsets of short steps.

The offsets a of data d solve  Mᵀ N⁻¹ Z M a = Mᵀ N⁻¹ Z d  with  Z = 1 - P B: M adds a step's offset to its samples, P scans a
map, B bins one. Conjugate gradients need M, its transpose, P and B, which are pipelines of kernels.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import ingot

from . import dispatch
from .covariance import apply_covariance  # noqa: F401 (registers kernels)
from .data import Data, Observation, PixelMap
from .kernels import check_equal, check_rows, has_flags_of, local_row, spans
from .memory import size_class
from .mpi import exchange, total
from .operator import KernelOperator, Keys, Operator, each, intervals, rows, shared, table, whole
from .operators import BuildNoiseWeighted, NoiseWeight, OffsetAdd, OffsetLayout, OffsetPrecond, OffsetProject, ScanMap
from .pipeline import Pipeline


@ingot.jit
def copy_samples(source, source_index, target, target_index, intervals):
    """target = source in the intervals: float64 (rows, samples)."""
    first, last = spans(intervals, target.shape[1])
    check_rows(source_index, source, len(target_index))
    check_rows(target_index, target, len(source_index))
    check_equal(source.shape[1], target.shape[1])
    for v in range(len(first)):
        for d in range(len(target_index)):
            for s in range(first[v], last[v]):
                target[target_index[d], s] = source[source_index[d], s]


@ingot.jit
def fill_samples(target, target_index, value, intervals):
    """target = value in the intervals: float64 (rows, samples)."""
    first, last = spans(intervals, target.shape[1])
    check_rows(target_index, target, len(target_index))
    for v in range(len(first)):
        for d in range(len(target_index)):
            for s in range(first[v], last[v]):
                target[target_index[d], s] = value


@ingot.jit
def flag_for_solver(
    global2local, rcond, pixels, pixel_index, det_flags, flag_index, det_flag_mask, shared_flags, shared_flag_mask,
    solver_flags, solver_index, intervals,
):  # fmt: skip
    """solver_flags = 1 where flags are bad, the pixel is -1 or cut (rcond 0), else 0: uint8 (rows, samples).

    rcond: float64 (n_local, n_pix_submap, 1); the other arguments are those of `build_noise_weighted`.
    """
    n_samples, n_pix_submap = pixels.shape[1], rcond.shape[1]
    first, last = spans(intervals, n_samples)
    check_rows(pixel_index, pixels, len(solver_index))
    check_rows(solver_index, solver_flags, len(pixel_index))
    check_equal(solver_flags.shape[1], n_samples)
    has_shared_flags, has_flags = len(shared_flags) == n_samples, has_flags_of(flag_index, det_flags, n_samples)
    if has_flags:
        check_rows(flag_index, det_flags, len(pixel_index))
    for v in range(len(first)):
        for d in range(len(pixel_index)):
            for s in range(first[v], last[v]):
                pixel = pixels[pixel_index[d], s]
                bad = has_flags and det_flags[flag_index[d], s] & det_flag_mask != 0
                bad_for_all = has_shared_flags and shared_flags[s] & shared_flag_mask != 0
                solver_flags[solver_index[d], s] = 1
                if pixel >= 0 and not bad and not bad_for_all:
                    submap = pixel // n_pix_submap
                    local, column = local_row(global2local, submap), pixel - submap * n_pix_submap
                    solver_flags[solver_index[d], s] = rcond[local, column, 0] == 0.0


@ingot.jit
def count_runs(
    global2local, n_pix_submap, pixel_index, pixels, weight_index, weights, flag_index, flags, step_length, start, amplitude_flags,
    intervals, counts, run_start, run_pixel, run_weights, filled,
):  # fmt: skip
    """Neighbouring good samples of a step in one pixel are a run: counts them, int64 (n_amp,), or writes them down.

    start: int64 (detectors,), the first amplitude of each; steps with amplitude_flags, uint8 (n_amp,), have none. With `filled`,
    run r of amplitude a goes to run_start[a] + r: run_pixel, int64 (runs,), its pixel in a map (n_local * n_pix_submap, 3), and
    run_weights, float64 (runs, 3), the sum of its weights. Samples are good where flags, uint8 (rows, samples), are 0.
    """
    n_samples = pixels.shape[1]
    first, last = spans(intervals, n_samples)
    check_rows(pixel_index, pixels, len(start))
    check_rows(weight_index, weights, len(start))
    check_rows(flag_index, flags, len(start))
    check_equal(weights.shape[1:], (n_samples, 3))
    check_equal(flags.shape[1], n_samples)
    for d in range(len(start)):
        a = start[d]
        for v in range(len(first)):
            for begin in range(first[v], last[v], step_length):
                before = np.int64(-1)
                run = np.int64(-1)
                for s in range(begin, min(begin + step_length, last[v])):
                    pixel = pixels[pixel_index[d], s]
                    if flags[flag_index[d], s] == 0 and amplitude_flags[a] == 0:
                        if pixel != before:
                            before = pixel
                            run += 1
                            if filled:
                                submap = pixel // n_pix_submap
                                local = local_row(global2local, submap)
                                run_pixel[run_start[a] + run] = local * n_pix_submap + pixel - submap * n_pix_submap
                        if filled:
                            i, q, u = weights[weight_index[d], s]
                            run_weights[run_start[a] + run, 0] += i
                            run_weights[run_start[a] + run, 1] += q
                            run_weights[run_start[a] + run, 2] += u
                counts[a] = run + 1
                a += 1


@ingot.jit
def bin_runs(run_start, run_pixel, run_weights, scale, amplitudes, zmap):
    """Adds to zmap, float64 (pixels, 3), what offsets make of it: float64 (n_amp,) amplitudes and their inverse variances `scale`."""
    for a in range(len(amplitudes)):
        value = scale[a] * amplitudes[a]
        for r in range(run_start[a], run_start[a + 1]):
            zmap[run_pixel[r], 0] += value * run_weights[r, 0]
            zmap[run_pixel[r], 1] += value * run_weights[r, 1]
            zmap[run_pixel[r], 2] += value * run_weights[r, 2]


@ingot.jit
def project_runs(run_start, run_pixel, run_weights, scale, good, amplitudes, seen, projected):
    """projected[a] = scale (good * amplitude - the sum of what the step's samples see of a map): float64 (n_amp,).

    good: how many samples of each step are; seen: the map, float64 (pixels, 3).
    """
    for a in range(len(amplitudes)):
        total = 0.0
        for r in range(run_start[a], run_start[a + 1]):
            i, q, u = seen[run_pixel[r]]
            total += run_weights[r, 0] * i + run_weights[r, 1] * q + run_weights[r, 2] * u
        projected[a] = scale[a] * (good[a] * amplitudes[a] - total)


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


for function in (copy_samples, fill_samples, flag_for_solver, count_runs, bin_runs, project_runs):
    dispatch.register(function.__name__, "ingot", function)


TEMPLATE = "destripe_template"
"""Samples that the solver works on, in detdata."""


class Samples(KernelOperator):
    """What works on samples of the detectors from `source` to `signal`: both in detdata, float64."""

    signal: str = TEMPLATE

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        self.ensure(data, detectors, self.signal)


class CopySignal(Samples):
    """`signal` becomes a copy of `source`."""

    kernel, samplewise = "copy_samples", True
    source: str = "signal"

    def requires(self) -> Keys:
        return self.keys({"detdata": [self.source]})

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        return [rows(self.source), table(self.source), rows(self.signal), table(self.signal), intervals(self.view)]


class FillSignal(Samples):
    """`signal` becomes `value`."""

    kernel, samplewise = "fill_samples", True
    value: float = 0.0

    def requires(self) -> Keys:
        return self.keys({})

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        return [rows(self.signal), table(self.signal), float(self.value), intervals(self.view)]


class FlagForSolver(KernelOperator):
    """`solver_flags` uint8 (D, S): 1 for samples that the destriping leaves out, those of cut pixels among them."""

    kernel, samplewise = "flag_for_solver", True
    pixel_dist: str = "pixel_dist"
    rcond: str = "rcond"
    pixels: str = "pixels"
    det_flags: str | None = None
    det_flag_mask: int = 7
    shared_flags: str | None = "flags"
    shared_flag_mask: int = 15
    solver_flags: str = "solver_flags"

    def requires(self) -> Keys:
        maps, detdata = [self.pixel_dist, self.rcond], [self.pixels, self.det_flags]
        return self.keys({"global": maps, "detdata": detdata, "shared": [self.shared_flags]})

    def provides(self) -> Keys:
        return {"detdata": [self.solver_flags]}

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        self.ensure(data, detectors, self.solver_flags, (), np.uint8, "1")

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        seen = [whole(data[self.pixel_dist].global2local), whole(data[self.rcond]), rows(self.pixels), table(self.pixels)]
        flags = [rows(self.det_flags), table(self.det_flags), self.det_flag_mask, shared(self.shared_flags), self.shared_flag_mask]
        return [*seen, *flags, rows(self.solver_flags), table(self.solver_flags), intervals(self.view)]


class ApplyCovariance(Operator):
    """`map` (K) = `covariance` (K²) times `zmap` (1/K), pixel by pixel."""

    pixel_dist: str = "pixel_dist"
    covariance: str = "covariance"
    zmap: str = "zmap"
    map: str = "map"

    def requires(self) -> Keys:
        return {"global": [self.covariance, self.zmap]}

    def provides(self) -> Keys:
        return {"global": [self.map]}

    def supports_accel(self) -> bool:
        return True

    def kernels(self) -> list[str]:
        return ["apply_covariance"]

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        if self.map not in data:
            data[self.map] = PixelMap(data[self.pixel_dist], 3)

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        dispatch.call("apply_covariance", *(data[name].data for name in (self.covariance, self.zmap, self.map)))


class ClearMap(Operator):
    """`map` becomes 0."""

    map: str = "zmap"

    def provides(self) -> Keys:
        return {"global": [self.map]}

    def supports_accel(self) -> bool:
        return True

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        data[self.map].data[...] = 0


class BinMap(Operator):
    """The binned map of a signal, kelvin: covariance times the noise-weighted map that the operators `build` accumulate.

    `build` adds this process's samples to `zmap`, and `finalize` those of the other processes. `options` are those of pipelines. A
    `zmap` that is there is used, and stays.
    """

    build: Operator = BuildNoiseWeighted()
    zmap: str = "zmap"
    covariance: str = "covariance"
    pixel_dist: str = "pixel_dist"
    map: str = "map"
    options: dict[str, Any] = {}
    _begun = _existed = False

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
def staged(data: Data, options: dict[str, Any], keys: Keys, beside: int = 0) -> Iterator[None]:
    """Keeps objects on the device of pipelines with these options, from one to the next, if there is memory for all that they need.

    That is taken as two and a half times the objects, and `beside` bytes. Without so much memory pipelines copy what they need, and
    may go through parts of the detectors; so they do where they are asked to, and then nothing is kept either.
    """
    memory: Any = options.get("memory")
    held: list[Any] = []
    if memory is not None and options.get("device") is not False and options.get("detector_sets", "ALL") == "ALL":
        found = [buffer for kind, names in keys.items() for name in names for buffer in data.buffers(kind, name)]
        held = [buffer for buffer in found if buffer.memory is None]
        if memory.pool.in_use + 2.5 * sum(size_class(buffer.nbytes) for buffer in held) + beside > memory.pool.limit:
            held = []
    try:
        with contextlib.suppress(MemoryError):
            for buffer in held:
                memory.stage(buffer)
        yield
    finally:
        for buffer in held:
            if buffer.memory is not None:
                buffer.to_host()
                buffer.memory.free(buffer)


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

    kernel = "count_runs"
    pixel_dist: str = "pixel_dist"
    pixels: str = "pixels"
    weights: str = "weights"
    solver_flags: str = "solver_flags"
    runs: Any = None
    filled: bool = False

    def requires(self) -> Keys:
        return {"global": [self.pixel_dist, "offsets", "amplitude_flags"], "detdata": [self.pixels, self.weights, self.solver_flags]}

    def supports_accel(self) -> bool:
        return False

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        layout, runs = data["offsets"], self.runs
        sky = [whole(data[self.pixel_dist].global2local), data[self.pixel_dist].n_pix_submap]
        samples = [table(self.pixels), rows(self.pixels), table(self.weights), rows(self.weights)]
        flags = [table(self.solver_flags), rows(self.solver_flags)]
        start = each(np.array([layout.start[ob.name, detector] for detector in detectors], np.int64))
        steps = [layout.step_length, start, whole(data["amplitude_flags"]), intervals(layout.view)]
        return [*sky, *samples, *flags, *steps, runs.counts, runs.start, runs.pixel, runs.weights, self.filled]


class Runs:
    """The left side of the solver's equations by runs, of which a step has far fewer than samples where pixels are large.

    M and P depend on the pointing alone: for each amplitude the pixels that its good samples see, and the sums of their weights.
    `pipeline` makes pipelines, `pointing` are operators that make pixels and weights where they are not stored.
    """

    def __init__(
        self, data: Data, pipeline: Callable[..., Pipeline], pointing: Sequence[Operator], names: dict[str, str], noise: str,
        covariance: str, detectors: Sequence[str] | None,
    ) -> None:  # fmt: skip
        layout = data["offsets"]
        self.data, self.pixel_dist, self.covariance = data, names["pixel_dist"], covariance
        self.scale, self.good = np.zeros(layout.n_amp), data["destripe_good_samples"].to_host()
        for ob in data.obs:
            for detector in ob.select(detectors):
                own = layout.start[ob.name, detector]
                self.scale[own : own + layout.steps[ob.name].sum()] = ob.meta[noise][detector]
        self.counts, self.start = np.zeros(layout.n_amp, np.int64), np.zeros(0, np.int64)
        self.pixel, self.weights = np.zeros(0, np.int64), np.zeros((0, 3))
        pipeline(*pointing, CountRuns(runs=self, **names)).apply(data, detectors)
        self.start = np.concatenate(([0], np.cumsum(self.counts)))
        self.pixel, self.weights = np.zeros(self.start[-1], np.int64), np.zeros((self.start[-1], 3))
        pipeline(*pointing, CountRuns(runs=self, filled=True, **names)).apply(data, detectors)

    def apply(self, amplitudes: np.ndarray) -> np.ndarray:
        """Mᵀ N⁻¹ Z M of amplitudes, which are 0 where they are flagged."""
        between = exchange(self.data, self.pixel_dist)
        local = np.zeros((between.distribution.n_local, between.distribution.n_pix_submap, 3))
        dispatch.call("bin_runs", self.start, self.pixel, self.weights, self.scale, amplitudes, local.reshape(-1, 3))
        zmap = between.spread(between.collect(local))
        seen, projected = np.empty_like(zmap), np.zeros_like(amplitudes)
        dispatch.call("apply_covariance", self.data[self.covariance].to_host(), zmap, seen)
        runs = self.start, self.pixel, self.weights, self.scale, self.good
        dispatch.call("project_runs", *runs, amplitudes, seen.reshape(-1, 3), projected)
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
    pointing: list[Operator] = []
    options: dict[str, Any] = {}
    fused: bool = False
    """Whether what can be one function is one."""
    by_runs: bool = False
    """Whether the left side goes by `Runs`, once for each run of samples in a pixel, instead of by kernels, once for each sample."""
    watch: Any = None
    """Is shown the state of the solver after each step."""
    state: dict[str, Any] | None = None
    """From which state the solver goes on."""
    whole_detectors = True
    _own = tuple(f"destripe_{name}" for name in ("residual", "preconditioned", "projected", "direction", "variance", "good_samples"))

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
            with staged(data, self.options, {"detdata": kept, "global": [*maps, self.covariance, self.pixel_dist]}):
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
            names = {"pixel_dist": self.pixel_dist, "solver_flags": self.solver_flags}
            apply = Runs(data, self._pipeline, self.pointing, names, self.noise, self.covariance, detectors).apply
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
        made = Pipeline(operators, keep=list(keep), **self.options)
        return made.compile() if self.fused else made

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
