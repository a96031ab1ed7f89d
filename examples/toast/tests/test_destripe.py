"""Binning and destriping, compared with the map-maker of TOAST and with equations that are solved densely."""

import types
from pathlib import Path

import numpy as np
import pytest
from ingot_toast import Data, Observation, PixelDistribution, PixelMap, destripe
from ingot_toast.covariance import Covariance
from ingot_toast.operators import BuildNoiseWeighted, PixelsHealpix, PointingDetector, StokesWeights
from ingot_toast.pipeline import Pipeline

ORACLE = np.load(Path(__file__).parent / "oracle" / "workflow.npz")
NAMES = [f"d{n}" for n in range(6)]
FLAGS = {"det_flags": "flags"}


@pytest.fixture
def data():
    """The oracle's samples, with pixels, weights, covariance and what the solver leaves out."""
    ob = Observation("one", NAMES, 6000)
    plane = {"quats": ORACLE["focalplane"], "epsilon": np.zeros(6), "cal": np.ones(6), "angles": np.zeros(6)}
    ob.meta.update(focalplane=types.SimpleNamespace(names=NAMES, **plane), noise=dict.fromkeys(NAMES, float(ORACLE["detector_weight"])))
    ob.shared["boresight"], ob.shared["flags"] = ORACLE["boresight"], ORACLE["shared_flags"]
    ob.detdata["flags"], ob.detdata["signal"] = ORACLE["det_flags"].copy(), ORACLE["signal"].copy()
    made = Data([ob])
    pixels = PixelsHealpix(nside=16, nside_submap=int(ORACLE["nside_submap"]), create_dist="pixel_dist")
    Pipeline([PointingDetector(), pixels, StokesWeights()], keep=["pixels", "weights"]).apply(made)
    Covariance(threshold=float(ORACLE["rcond_threshold"]), **FLAGS).apply(made)
    destripe.FlagForSolver(**FLAGS).apply(made)
    return made


def binned(data):
    destripe.BinMap(build=BuildNoiseWeighted(**FLAGS)).apply(data)
    return data["map"].sky()


def off(got, want, hits=None):
    """The largest difference over the largest number; with hits up to a constant in I."""
    error = got - want
    if hits is not None:
        seen = hits > 0
        error = error.copy()
        error[seen, 0] -= np.sum((error[:, 0] * hits)[seen]) / np.sum(hits)
    return np.abs(error).max() / np.abs(want).max()


def test_hits_covariances_and_binned_map_are_the_oracles(data):
    np.testing.assert_array_equal(data["hits"].sky()[:, 0], ORACLE["out_hits"])
    assert off(data["inverse_covariance"].sky(), ORACLE["out_invcov"]) < 1e-12
    assert off(data["covariance"].sky(), ORACLE["out_cov"]) < 1e-12
    np.testing.assert_allclose(data["rcond"].sky()[:, 0], ORACLE["out_rcond"], atol=1e-12)
    assert off(binned(data), ORACLE["out_map_binned"]) < 1e-12


def test_the_signal_alone_gives_the_sky_back(data):
    data.obs[0].detdata["signal"] = ORACLE["signal_clean"].copy()
    good = ORACLE["out_rcond"] > 0
    assert off(binned(data)[good], ORACLE["sky"][good]) < 1e-12


def test_amplitudes_and_destriped_map_are_the_oracles_once_solved(data):
    state = destripe.Destripe(step_length=100, tolerance=1e-24, max_steps=300).apply(data)
    assert 150 < state["step"] < 200
    flags, got, want = ORACLE["out_amplitude_flags"], data["amplitudes"].data, ORACLE["out_amplitudes"]
    np.testing.assert_array_equal(data["amplitude_flags"].data, flags)
    assert (got[flags != 0] == 0).all()
    error = (got - want)[flags == 0]
    assert np.abs(error - error.mean()).max() < 1e-9 * np.abs(want).max()
    good = np.where(ORACLE["out_rcond"] > 0, ORACLE["out_hits"], 0)
    assert off(binned(data), ORACLE["out_map_destriped"], good) < 1e-9


def test_recomputed_pointing_gives_the_same_bits(data):
    first = destripe.Destripe(step_length=100, max_steps=5).apply(data)
    signal, again = data.obs[0].detdata["signal"].data.copy(), data
    again.obs[0].detdata["signal"] = ORACLE["signal"].copy()
    for name in ("pixels", "weights"):
        again.remove("detdata", name)
    pointing = [PointingDetector(), PixelsHealpix(nside=16, nside_submap=4), StokesWeights()]
    options = {"detector_sets": "SINGLE"}
    second = destripe.Destripe(step_length=100, max_steps=5, pointing=pointing, options=options).apply(again)
    np.testing.assert_array_equal(first["x"], second["x"])
    np.testing.assert_array_equal(signal, again.obs[0].detdata["signal"].data)
    assert {"pixels", "weights", "quats", "destripe_template"}.isdisjoint(again.obs[0].detdata)


def test_runs_of_samples_give_the_same_solution(data):
    first = destripe.Destripe(step_length=100).apply(data)
    signal = data.obs[0].detdata["signal"].data.copy()
    data.obs[0].detdata["signal"] = ORACLE["signal"].copy()
    second = destripe.Destripe(step_length=100, by_runs=True).apply(data)
    assert second["step"] == first["step"]
    scale = np.abs(ORACLE["out_amplitudes"]).max()
    assert np.abs(second["x"] - first["x"]).max() < 1e-9 * scale
    assert np.abs(data.obs[0].detdata["signal"].data - signal).max() < 1e-9 * scale
    data.obs[0].detdata["signal"] = ORACLE["signal"].copy()
    for name in ("pixels", "weights"):
        data.remove("detdata", name)
    pointing = [PointingDetector(), PixelsHealpix(nside=16, nside_submap=4), StokesWeights()]
    third = destripe.Destripe(step_length=100, by_runs=True, pointing=pointing, options={"detector_sets": "SINGLE"}).apply(data)
    np.testing.assert_array_equal(third["x"], second["x"])


@pytest.mark.parametrize("by_runs", [False, True])
def test_what_the_solver_needs_for_itself_ends_with_it(data, by_runs):
    def stop(state):
        raise ArithmeticError("enough")

    before = set(data.objects), set(data.obs[0].detdata)
    with pytest.raises(ArithmeticError):
        destripe.Destripe(step_length=100, by_runs=by_runs, watch=stop).apply(data)
    left = {"amplitudes", "amplitude_flags", "offsets", "pixel_dist_exchange"}
    assert set(data.objects) - before[0] <= left and set(data.obs[0].detdata) == before[1]
    np.testing.assert_array_equal(data.obs[0].detdata["signal"].data, ORACLE["signal"])
    destripe.Destripe(step_length=100, by_runs=by_runs, max_steps=1).apply(data)
    assert set(data.objects) - before[0] <= {*left, "solver"} and set(data.obs[0].detdata) == before[1]


@pytest.mark.parametrize("existed", [False, True])
def test_a_map_that_an_exception_has_ended_does_not_count(data, existed):
    pixels, flags = data.obs[0].detdata["pixels"].data, data.obs[0].detdata["flags"].data
    sample = np.flatnonzero((flags[5] & 7 == 0) & (data.obs[0].shared["flags"].data & 15 == 0))[0]
    build = BuildNoiseWeighted(**FLAGS)
    make = destripe.BinMap(build=Pipeline([build]) if existed else build)
    if existed:
        data["zmap"] = PixelMap(data["pixel_dist"], 3)
    make.exec(data, NAMES[:5])
    kept, pixels[5, sample] = pixels[5, sample], 10**6
    with pytest.raises(IndexError):
        make.exec(data, NAMES[5:])
    assert "map" not in data and ("zmap" in data) == existed
    pixels[5, sample] = kept
    make.apply(data)
    assert off(data["map"].sky(), ORACLE["out_map_binned"]) < 1e-12 and ("zmap" in data) == existed


def changed_noise(data, detector, weight):
    data.obs[0].meta["noise"] = {**data.obs[0].meta["noise"], detector: weight}
    Covariance(threshold=float(ORACLE["rcond_threshold"]), **FLAGS).apply(data)
    destripe.FlagForSolver(**FLAGS).apply(data)


@pytest.mark.parametrize("by_runs", [False, True])
def test_a_detector_of_weight_0_has_no_amplitudes_and_harms_no_other(data, by_runs):
    changed_noise(data, "d2", 0.0)
    others = [name for name in NAMES if name != "d2"]
    signal = data.obs[0].detdata["signal"]
    want = destripe.Destripe(step_length=100, max_steps=5).apply(data, others)["x"]
    cleaned = signal.data.copy()
    signal.data[:] = ORACLE["signal"]
    found = destripe.Destripe(step_length=100, max_steps=5, by_runs=by_runs).apply(data)["x"].reshape(6, 60)
    scale = np.abs(want).max()
    assert scale > 0 and np.abs(np.delete(found, 2, 0).ravel() - want).max() < 1e-9 * scale
    assert (found[2] == 0).all() and (data["amplitude_flags"].data.reshape(6, 60)[2] == 1).all()
    assert np.abs(signal.data - cleaned).max() < 1e-9 * np.abs(cleaned).max()


@pytest.mark.parametrize("by_runs", [False, True])
@pytest.mark.parametrize("what", ["sample", "weight"])
def test_what_is_not_finite_is_told_before_the_signal_is_touched(data, by_runs, what):
    signal = data.obs[0].detdata["signal"].data
    good = np.flatnonzero(data.obs[0].detdata["solver_flags"].data[3] == 0)
    if what == "sample":
        signal[3, good[0]] = np.nan
    else:
        data.obs[0].meta["noise"] = {**data.obs[0].meta["noise"], "d3": np.inf}
    before = signal.copy()
    with pytest.raises(ArithmeticError, match="not finite"):
        destripe.Destripe(step_length=100, by_runs=by_runs).apply(data)
    np.testing.assert_array_equal(signal, before)
    assert "amplitudes" not in data


def test_a_covariance_is_taken_as_it_is(data):
    """By runs too, and one that was read, not made here."""
    changed = PixelMap(data["pixel_dist"], 6, units="K2", values=0.5 * data["covariance"].data)
    del data["covariance"]
    data["covariance"] = changed
    data.remove("global", "pixel_dist_exchange")
    found = []
    for by_runs in (False, True):
        data.obs[0].detdata["signal"].data[:] = ORACLE["signal"]
        found.append(destripe.Destripe(step_length=100, max_steps=3, by_runs=by_runs).apply(data)["x"])
    assert np.abs(found[1] - found[0]).max() < 1e-9 * np.abs(found[0]).max()


def test_names_of_the_user_stay(data):
    ob = data.obs[0]
    ob.detdata["template"] = np.full((6, 6000), 3.0)
    own = "residual", "preconditioned", "projected", "offset_variance", "good_samples", "solver_map", "solver_zmap"
    for name in own:
        data[name] = np.arange(5.0)
    destripe.Destripe(step_length=100, max_steps=1).apply(data)
    assert (ob.detdata["template"].data == 3.0).all() and all((data[name].data == np.arange(5.0)).all() for name in own)
    assert not [name for name in (*data.objects, *ob.detdata) if name.startswith("destripe")]
    kept, data["destripe_residual"] = data["amplitudes"].data.copy(), np.arange(5.0)
    with pytest.raises(ValueError, match="destripe_residual"):
        destripe.Destripe(step_length=100, max_steps=1).apply(data)
    assert (data["destripe_residual"].data == np.arange(5.0)).all() and (data["amplitudes"].data == kept).all()


def test_what_the_solver_provides_is_there(data):
    op = destripe.Destripe(step_length=100, max_steps=1)
    op.apply(data)
    assert set(op.provides()["global"]) <= set(data.objects)


def test_parts_of_the_detectors_are_refused(data):
    before = data.obs[0].detdata["signal"].data.copy()
    with pytest.raises(ValueError, match="Destripe"):
        Pipeline([destripe.Destripe(step_length=100)], detector_sets="SINGLE").apply(data)
    np.testing.assert_array_equal(data.obs[0].detdata["signal"].data, before)
    clean = Pipeline([destripe.Destripe(step_length=100), BuildNoiseWeighted(**FLAGS)])
    with pytest.raises(ValueError, match="BinMap"):
        Pipeline([destripe.BinMap(build=clean)], detector_sets="SINGLE").apply(data)
    Pipeline([destripe.BinMap(build=BuildNoiseWeighted(**FLAGS))], detector_sets="SINGLE").apply(data)
    assert off(data["map"].sky(), ORACLE["out_map_binned"]) < 1e-12


def test_conjugate_gradients_solve_and_go_on_from_any_step():
    rng = np.random.default_rng(4)
    a = rng.standard_normal((30, 30))
    matrix, rhs = a @ a.T + np.eye(30), rng.standard_normal(30)
    diagonal = 1 / np.diag(matrix)
    states = []
    solve = dict(inner=destripe.dot, tolerance=1e-20, max_steps=200)
    found = destripe.conjugate_gradients(lambda x: matrix @ x, lambda r: diagonal * r, rhs, watch=states.append, **solve)
    np.testing.assert_allclose(found["x"], np.linalg.solve(matrix, rhs), rtol=1e-8)
    assert found["step"] == len(states) == len(found["squares"]) - 1 and found["squares"][-1] < 1e-20 * found["squares"][0]
    for step in (1, 7):
        again = destripe.conjugate_gradients(lambda x: matrix @ x, lambda r: diagonal * r, rhs, state=states[step], **solve)
        np.testing.assert_array_equal(again["x"], found["x"])
        assert again["squares"] == found["squares"]


def test_nothing_is_solved_where_there_is_nothing():
    found = destripe.conjugate_gradients(None, lambda r: r, np.zeros(3), destripe.dot, 1e-12, 100)
    assert found["step"] == 0 and (found["x"] == 0).all()


def test_variances_of_steps_hang_on_how_many_samples_are_good():
    good, length = np.array([0.0, 50, 51, 100, 20, 21]), np.array([100.0, 100, 100, 100, 40, 40])
    want = [0, 0, 1 / (51 * 4.0), 1 / (100 * 4.0), 0, 1 / (21 * 4.0)]
    np.testing.assert_array_equal(destripe.offset_variance(good, length, np.full(6, 4.0)), want)
    weight = np.array([4.0, 0.0, 0.0, -4.0, np.inf, np.nan])
    np.testing.assert_array_equal(destripe.offset_variance(length, length, weight), [1 / 400.0, 0, 0, 0, 0, 0])


def test_equations_without_an_answer_are_told():
    solve = dict(inner=destripe.dot, tolerance=1e-12, max_steps=10)
    with pytest.raises(ArithmeticError, match="not finite"):
        destripe.conjugate_gradients(lambda x: x, lambda r: r, np.array([1.0, np.nan]), **solve)
    with pytest.raises(ArithmeticError, match="not finite"):
        destripe.conjugate_gradients(lambda x: x * np.inf, lambda r: r, np.ones(2), **solve)
    with pytest.raises(ArithmeticError, match="after 0 steps"):
        destripe.conjugate_gradients(lambda x: 0 * x, lambda r: r, np.ones(2), **solve)


def test_what_the_solver_leaves_out():
    ob = Observation("one", ["a"], 7)
    ob.detdata["pixels"] = np.array([[0, 5, -1, 0, 0, 5, 1]])
    ob.detdata["flags"] = np.array([[0, 0, 0, 1, 8, 0, 0]], np.uint8)
    ob.shared["flags"] = np.array([0, 0, 0, 0, 0, 8, 0], np.uint8)
    data = Data([ob])
    data["pixel_dist"] = PixelDistribution(8, 4)
    rcond = np.zeros((2, 4, 1))
    rcond[0, 0], rcond[1, 1] = 0.5, 0.1
    data["rcond"] = PixelMap(data["pixel_dist"], values=rcond)
    destripe.FlagForSolver(**FLAGS).apply(data)
    np.testing.assert_array_equal(ob.detdata["solver_flags"].data, [[0, 0, 1, 1, 0, 1, 1]])
    data["pixel_dist"] = PixelDistribution(8, 4, [0])
    data["rcond"] = PixelMap(data["pixel_dist"], values=rcond[:1])
    with pytest.raises(IndexError):
        destripe.FlagForSolver(**FLAGS).apply(data)
