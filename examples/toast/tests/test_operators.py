"""Each operator gives its kernel what belongs to it: a second implementation, of NumPy alone, gives the same."""

import types

import ingot
import numpy as np
import numpy_kernels
import problem
import pytest
from ingot_toast import KernelOperator, Pipeline, operators
from ingot_toast.operator import Operator
from ingot_toast.operators import NoiseWeight, OffsetAdd, OffsetLayout, OffsetPrecond, OffsetProject, ScanMap, StokesWeights
from problem import PLACES

KEPT = ["quats", "pixels", "weights", "weights_I"]


def steps():
    """An operator for each kernel."""
    return [
        *problem.binning("scan"),
        StokesWeights(view="scan", mode="I", weights="weights_I"),
        ScanMap(view="scan", map="sky", subtract=True, scale=0.5),
        NoiseWeight(view="scan"),
        OffsetAdd(),
        OffsetProject(),
        OffsetPrecond(),
    ]


def data_with_amplitudes():
    data, rng = problem.with_sky(), np.random.default_rng(8)
    data["offsets"] = OffsetLayout(data, 7, "scan")
    count = data["offsets"].n_amp
    data["amplitudes"], data["offset_variance"] = rng.standard_normal(count), rng.uniform(1, 2, count)
    data["amplitude_flags"] = (rng.uniform(size=count) < 0.2).astype(np.uint8)
    return data


def by_numpy(data):
    """All that the operators write, made by NumPy's kernels."""
    n_pix, nside, layout = problem.N_PIX_SUBMAP, problem.NSIDE, data["offsets"]
    local, sky, flags = data["pixel_dist"].global2local.data, data["sky"].data, data["amplitude_flags"].data
    zmap, hits, amplitudes = np.zeros_like(sky), np.zeros(12 * nside**2 // n_pix, np.uint8), data["amplitudes"].data.copy()
    found = {"zmap": zmap, "hit_submaps": hits, "amplitudes": amplitudes}
    for ob in data.obs:
        n_det, n, plane, own = len(ob.detectors), ob.n_samples, ob.meta["focalplane"], ob.meta["noise"]
        of = [plane.names.index(d) for d in ob.detectors]
        rows, noise = np.arange(n_det, dtype=np.int32), np.array([own[d] for d in ob.detectors])
        view = {"first": ob.intervals["scan"].first, "last": ob.intervals["scan"].last}
        signal, bad, shared = ob.detdata["signal"].data.copy(), ob.detdata["flags"].data, ob.shared["flags"].data
        quats, pixels, weights = np.zeros((n_det, n, 4)), np.zeros((n_det, n), np.int64), np.zeros((n_det, n, 3))
        of_I, plate = np.zeros((n_det, n)), np.zeros(0)
        numpy_kernels.pointing_detector(plane.quats[of], ob.shared["boresight"].data, rows, quats, view, shared, 1)
        numpy_kernels.pixels_healpix(rows, quats, shared, 1, rows, pixels, view, hits, n_pix, nside, True)
        numpy_kernels.stokes_weights_IQU(rows, quats, rows, weights, plate, view, plane.epsilon[of], plane.angles[of], plane.cal[of], False)
        pointing = rows, pixels, rows, weights
        numpy_kernels.build_noise_weighted(local, zmap, *pointing, rows, signal, rows, bad, noise, 7, view, shared, 15)
        numpy_kernels.stokes_weights_I(rows, of_I, view, plane.cal[of])
        numpy_kernels.scan_map(local, n_pix, sky, signal, rows, pixels, rows, weights, rows, view, 0.5, False, True, False)
        numpy_kernels.noise_weight(signal, rows, view, noise)
        for row, detector in enumerate(ob.detectors):
            at = 7, layout.start[ob.name, detector], layout.steps[ob.name]
            numpy_kernels.template_offset_add_to_signal(*at, data["amplitudes"].data, flags, row, signal, view)
        made = {"signal": signal, "flags": bad, "quats": quats, "pixels": pixels, "weights": weights, "weights_I": of_I}
        found.update({f"{ob.name} {name}": values for name, values in made.items()})
    for ob in data.obs:
        for row, detector in enumerate(ob.detectors):
            at = 7, layout.start[ob.name, detector], layout.steps[ob.name]
            view = {"first": ob.intervals["scan"].first, "last": ob.intervals["scan"].last}
            given = row, found[f"{ob.name} signal"], row, ob.detdata["flags"].data, 7, *at, amplitudes, flags, view
            numpy_kernels.template_offset_project_signal(*given)
    found["preconditioned"] = np.zeros_like(amplitudes)
    numpy_kernels.template_offset_apply_diag_precond(data["offset_variance"].data, amplitudes, flags, found["preconditioned"])
    return found


@pytest.fixture(scope="module")
def wanted():
    return by_numpy(data_with_amplitudes())


@pytest.mark.parametrize("device", PLACES)
def test_each_operator_gives_what_numpy_gives(device, wanted):
    data = data_with_amplitudes()
    Pipeline(steps(), keep=KEPT, device=device).apply(data)
    got = {name: data[name].data for name in ("zmap", "hit_submaps", "amplitudes", "preconditioned")}
    for ob in data.obs:
        got.update({f"{ob.name} {name}": item.data for name, item in ob.detdata.items()})
    assert got.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-11, atol=1e-11, err_msg=name)


def test_there_is_an_operator_for_each_kernel():
    kernels = {getattr(op.kernel, "__name__", "") for op in vars(operators).values() if isinstance(op, type) and hasattr(op, "kernel")}
    assert kernels == {"pointing_detector", "pixels_healpix", "stokes_weights", "scan_map", "noise_weight", "build_noise_weighted",
                       "template_offset_add_to_signal", "template_offset_project_signal"}  # fmt: skip
    assert issubclass(operators.OffsetPrecond, Operator)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_kernels_of_ones_own_have_rows(is_compiled):
    """Plain functions are operators' kernels, too; a profile has rows of those that are compiled."""

    def double(samples):
        samples.data[samples.rows] *= 2.0

    class Double(KernelOperator):
        kernel = ingot.jit(double) if is_compiled else double

        def provides(self):
            return {"detdata": ["signal"]}

        def arguments(self, data, ob, detectors):
            return [ob.samples("signal", detectors)]

    data, before = problem.make(), problem.make()
    ingot.profile.reset()
    ingot.profile.start()
    Pipeline([Double()]).apply(data, ["a"])
    ingot.profile.stop()
    rows = {row.path: row.implementation for row in ingot.profile.rows() if row.name == "double"}
    assert rows == ({("Pipeline", "Double", "double"): "ingot"} if is_compiled else {})
    signal, was = data.obs[0].detdata["signal"].data, before.obs[0].detdata["signal"].data
    assert (signal[0] == 2.0 * was[0]).all() and (signal[1:] == was[1:]).all()


def test_focal_planes_of_any_class_are_taken():
    data = problem.make()
    assert isinstance(data.obs[0].meta["focalplane"], types.SimpleNamespace)
    taken = operators.pointing.detectors_of(data.obs[0], "focalplane", ["c", "a"])
    np.testing.assert_array_equal(taken.gamma, data.obs[0].meta["focalplane"].angles[[2, 0]])
