"""Each kernel runs in the implementation that is chosen, which its row in a profile names, and all give the same."""

import ingot
import numpy as np
import numpy_kernels
import problem
import pytest
from ingot_toast import Data, HostBackend, KernelOperator, Memory, Pipeline, PixelMap, dispatch
from ingot_toast.operator import rows
from ingot_toast.operators import KERNELS, NoiseWeight, OffsetAdd, OffsetLayout, OffsetPrecond, OffsetProject, ScanMap, StokesWeights

for name in KERNELS:
    if "numpy" not in dispatch.kernels()[name]:
        dispatch.register(name, "numpy", getattr(numpy_kernels, name))


@pytest.fixture(autouse=True)
def profiled():
    ingot.profile.reset()
    ingot.profile.start()
    yield
    ingot.profile.stop()


@pytest.fixture(autouse=True)
def nothing_is_chosen(monkeypatch):
    monkeypatch.delenv("INGOT_TOAST_IMPLEMENTATION", raising=False)
    yield
    dispatch.use(None)
    dispatch.use(**{name: None for name in KERNELS})


def ran():
    """The implementations that ran, of each kernel: since the last time that this was asked."""
    found = {}
    for row in ingot.profile.rows():
        if row.name in KERNELS:
            assert len(row.path) == 3 and row.path[0] == "Pipeline"
            found.setdefault(row.name, set()).add(row.implementation)
    ingot.profile.reset()
    return found


def everything():
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


def data_with_amplitudes() -> Data:
    data, rng = problem.make(), np.random.default_rng(8)
    data["sky"] = PixelMap.of_sky(data["pixel_dist"], rng.standard_normal((12 * problem.NSIDE**2, 3)))
    data["offsets"] = OffsetLayout(data, 7, "scan")
    count = data["offsets"].n_amp
    data["amplitudes"], data["offset_variance"] = rng.standard_normal(count), rng.uniform(1, 2, count)
    data["amplitude_flags"] = (rng.uniform(size=count) < 0.2).astype(np.uint8)
    return data


def results(data):
    """All that operators wrote."""
    found = {name: data[name].data for name in ("zmap", "amplitudes", "preconditioned", "hit_submaps")}
    for ob in data.obs:
        found.update({f"{ob.name} {name}": item.data for name, item in ob.detdata.items()})
    return found


KEPT = ["quats", "pixels", "weights", "weights_I"]


@pytest.fixture(scope="module")
def wanted():
    data = data_with_amplitudes()
    Pipeline(everything(), device=False, keep=KEPT, implementation="numpy").apply(data)
    return results(data)


def assert_same(got, wanted):
    assert got.keys() == wanted.keys()
    for key, value in wanted.items():
        np.testing.assert_allclose(got[key], value, rtol=1e-11, atol=1e-11, err_msg=key)


@pytest.mark.parametrize("implementation", ["ingot", "python", "numpy"])
@pytest.mark.parametrize("how", ["whole", "environment", "pipeline"])
def test_each_kernel_runs_in_each_implementation(implementation, how, wanted, monkeypatch):
    if how == "whole":
        dispatch.use(implementation)
    if how == "environment":
        monkeypatch.setenv("INGOT_TOAST_IMPLEMENTATION", implementation)
    data = data_with_amplitudes()
    Pipeline(everything(), device=False, keep=KEPT, implementation=implementation if how == "pipeline" else None).apply(data)
    assert ran() == {name: {implementation} for name in KERNELS}
    assert_same(results(data), wanted)


@pytest.mark.parametrize("name", KERNELS)
def test_one_kernel_is_chosen(name, wanted):
    dispatch.use(**{name: "numpy"})
    data = data_with_amplitudes()
    Pipeline(everything(), device=False, keep=KEPT).apply(data)
    assert ran() == {kernel: {"numpy" if kernel == name else "ingot"} for kernel in KERNELS}
    assert_same(results(data), wanted)


def test_the_narrowest_choice_wins(monkeypatch):
    def now():
        return dispatch.chosen("scan_map"), dispatch.chosen("noise_weight")

    assert now() == ("ingot", "ingot")
    monkeypatch.setenv("INGOT_TOAST_IMPLEMENTATION", "numpy")
    assert now() == ("numpy", "numpy")
    dispatch.use("python")
    assert now() == ("python", "python")
    with dispatch.using("ingot"):
        assert now() == ("ingot", "ingot")
        dispatch.use(scan_map="numpy")
        assert now() == ("numpy", "ingot")
        with dispatch.using(scan_map="python", noise_weight="numpy"):
            assert now() == ("python", "numpy")
            with dispatch.using("ingot"):
                assert now() == ("python", "numpy")
        assert now() == ("numpy", "ingot")
    dispatch.use(scan_map=None)
    assert now() == ("python", "python")
    dispatch.use(None)
    assert now() == ("numpy", "numpy")


def test_a_pipeline_chooses_by_kernel(wanted):
    data = data_with_amplitudes()
    Pipeline(everything(), device=False, keep=KEPT, implementation={"pixels_healpix": "python"}).apply(data)
    assert {name for name, how in ran().items() if how == {"python"}} == {"pixels_healpix"}
    assert_same(results(data), wanted)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_kernels_of_ones_own_have_rows(is_compiled, monkeypatch):
    """Plain functions are distinguished from compiled ones, also where INGOT_DISABLE has left these as they are."""

    def double(signal):
        signal[...] *= 2.0

    class Double(KernelOperator):
        kernel = ingot.jit(double) if is_compiled else double

        def provides(self):
            return {"detdata": ["signal"]}

        def arguments(self, data, ob, detectors):
            return [rows("signal")]

    class Registered(Double):
        kernel = "double"

    monkeypatch.setattr(dispatch, "_kernels", dict(dispatch._kernels))
    dispatch.register("double", "ingot", Double.kernel)
    Pipeline([Double(), Registered()], device=False).apply(problem.make())
    wanted = {("Pipeline", name, "double"): "ingot" if is_compiled else "python" for name in ("Double", "Registered")}
    assert {row.path: row.implementation for row in ingot.profile.rows() if row.name == "double"} == wanted


def fused_steps():
    return [*problem.binning("scan"), ScanMap(view="scan", map="sky", subtract=True), NoiseWeight(view="scan")]


@pytest.mark.parametrize("where", ["cpu", "emulated", "host"])
def test_what_is_chosen_after_compiling_runs(where):
    """Operators that are one run one by one then, and store what they pass on to each other, which ends with them."""
    options = {"device": False} if where == "cpu" else {"memory": where}
    want = data_with_amplitudes()
    Pipeline(fused_steps(), device=False, keep=["pixels"]).apply(want)
    made = Pipeline(fused_steps(), keep=["pixels"], **options).compile()
    assert len(made.steps()) == 1
    for choice in ("python", None, "numpy", None):
        for detector_sets in ("ALL", "SINGLE"):
            ingot.profile.reset()
            made.detector_sets = detector_sets
            dispatch.use(choice)
            data = data_with_amplitudes()
            made.apply(data)
            found = {(row.name, row.implementation) for row in ingot.profile.rows() if row.implementation in ("python", "numpy", "fused")}
            assert found == ({(name, choice) for name in FUSED} if choice else {("+".join(FUSED), "fused")})
            assert all(set(ob.detdata) == {"signal", "flags", "pixels"} for ob in data.obs)
            np.testing.assert_allclose(data["zmap"].data, want["zmap"].data, rtol=1e-11, atol=1e-11)
            for ob, other in zip(data.obs, want.obs):
                np.testing.assert_allclose(ob.detdata["signal"].data, other.detdata["signal"].data, rtol=1e-11, atol=1e-11)
                np.testing.assert_array_equal(ob.detdata["pixels"].data, other.detdata["pixels"].data)
        if where != "cpu":
            assert made.memory.pool.in_use == 0


FUSED = ["pointing_detector", "pixels_healpix", "stokes_weights_IQU", "build_noise_weighted", "scan_map", "noise_weight"]


def test_operators_that_run_one_by_one_leave_nothing_where_one_fails():
    made = Pipeline([*problem.binning("scan")], device=False).compile()
    dispatch.use("python")
    data = data_with_amplitudes()
    data["pixel_dist"] = type(data["pixel_dist"])(12 * problem.NSIDE**2, problem.N_PIX_SUBMAP, [1])
    for operator in (made, made.steps()[0]):
        with pytest.raises(IndexError):
            operator.apply(data)
        assert all(set(ob.detdata) == {"signal", "flags"} for ob in data.obs)


def test_names_that_are_wrong_are_refused():
    with pytest.raises(ValueError, match="'scan_map' has an implementation 'ingot' already"):
        dispatch.register("scan_map", "ingot", print)
    with pytest.raises(KeyError, match="'scan_map' has no implementation 'fortran', only ingot, python, numpy"):
        dispatch.use(scan_map="fortran")
    with pytest.raises(KeyError, match="no kernel has an implementation 'fortran'"):
        dispatch.use("fortran")
    with pytest.raises(KeyError, match="'scan' has no implementation 'ingot'"), dispatch.using(scan="ingot"):
        pass
    assert dispatch.chosen("scan_map") == "ingot"


def test_a_name_in_the_environment_that_is_wrong_is_an_error_where_a_kernel_is_called(monkeypatch):
    monkeypatch.setenv("INGOT_TOAST_IMPLEMENTATION", "fortran")
    with pytest.raises(KeyError, match="'noise_weight' has no implementation 'fortran'"):
        NoiseWeight().apply(problem.make())


def test_implementations_that_take_no_arrays_of_a_device_run_on_the_host(wanted):
    """On the emulated device only compiled code runs; a device that is host memory takes all."""
    for where, moved in ((Memory("emulated"), True), (Memory(HostBackend()), False)):
        data = data_with_amplitudes()
        Pipeline(everything(), memory=where, keep=KEPT, implementation={"pixels_healpix": "numpy"}).apply(data)
        found = ran()
        assert found["pixels_healpix"] == {"numpy"} and found["scan_map"] == {"ingot"}
        assert_same(results(data), wanted)
        assert (where.traffic["detdata.pixels"].bytes_up > 0) == moved
