"""Hits, inverse covariances and their inverses."""

from pathlib import Path

import numpy as np
import pytest
from ingot_toast import Data, Observation, Pipeline, PixelDistribution, covariance

ORACLE = np.load(Path(__file__).parent / "oracle" / "covariance.npz")


def full(m):
    return m[..., [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(*m.shape[:-1], 3, 3)


def test_covariances_and_conditions_are_the_oracles():
    cov, rcond = covariance.invert_covariance(ORACLE["in_invcov"].reshape(2, 48, 6), float(ORACLE["in_threshold"]))
    want = ORACLE["out_cov"]
    assert np.abs(cov.reshape(96, 6) - want).max() < 1e-12 * np.abs(want).max()
    assert np.abs(rcond.ravel() - ORACLE["out_rcond"]).max() < 1e-12
    np.testing.assert_array_equal(rcond.ravel() > 0, ORACLE["out_rcond"] > 0)
    product = np.empty((2, 48, 3))
    covariance.apply_covariance(cov, ORACLE["in_zmap"].reshape(2, 48, 3), product)
    assert np.abs(product.reshape(96, 3) - ORACLE["out_map"]).max() < 1e-12 * np.abs(ORACLE["out_map"]).max()


def test_eigenvalues_and_inverses_are_numpys_for_any_scale():
    rng = np.random.default_rng(2)
    a = rng.standard_normal((200, 3, 3)) * np.logspace(-150, 150, 200)[:, None, None]
    a[::4, 2] = a[::4, 1]  # singular
    a[1::4] = np.eye(3) * a[1::4, :1, :1]  # one eigenvalue three times
    m = (a @ a.transpose(0, 2, 1))[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    cov, rcond = covariance.invert_covariance(m[None], 1e-3)
    values = np.linalg.eigvalsh(full(m))
    want = values[:, 0] / values[:, 2]
    clear = np.abs(want - 1e-3) > 1e-9
    np.testing.assert_allclose(rcond[0, clear, 0], np.where(want >= 1e-3, want, 0)[clear], atol=1e-14)
    kept = rcond[0, :, 0] > 0
    assert 80 < kept.sum() < 190 and (cov[0, ~kept] == 0).all()
    np.testing.assert_allclose(full(cov[0, kept]) @ full(m[kept]), np.broadcast_to(np.eye(3), (kept.sum(), 3, 3)), atol=1e-11)


def test_pixels_without_hits_or_with_infinite_noise_are_cut():
    m = np.array([[0.0] * 6, [1, 0, 0, 1, 0, 0], [-1, 0, 0, -1, 0, -1], [1, 0, 0, 1, 0, 1]])
    cov, rcond = covariance.invert_covariance(m[None], 1e-3)
    np.testing.assert_array_equal(rcond[0, :, 0], [0, 0, 0, 1])
    np.testing.assert_array_equal(cov[0], [[0] * 6, [0] * 6, [0] * 6, [1, 0, 0, 1, 0, 1]])


def problem():
    rng = np.random.default_rng(8)
    ob = Observation("one", ["a", "b", "c"], 400)
    ob.detdata["pixels"] = rng.integers(-1, 24, (3, 400))
    ob.detdata["weights"] = rng.standard_normal((3, 400, 3))
    ob.detdata["flags"] = (rng.uniform(size=(3, 400)) < 0.2).astype(np.uint8) * 8  # not in the mask
    ob.detdata["flags"].data[1, 100:200] = 2
    ob.shared["flags"] = (rng.uniform(size=400) < 0.1).astype(np.uint8)
    ob.meta["noise"] = {"a": 2.0, "b": 3.0, "c": 0.5}
    data = Data([ob])
    data["pixel_dist"] = PixelDistribution(48, 12, [0, 1])
    return data, ob


def test_the_operator_sums_over_good_samples():
    data, ob = problem()
    covariance.Covariance(det_flags="flags").apply(data)
    pixels, weights = ob.detdata["pixels"].data, ob.detdata["weights"].data
    good = (pixels >= 0) & (ob.detdata["flags"].data & 7 == 0) & (ob.shared["flags"].data & 15 == 0)
    scaled = weights * np.sqrt([2.0, 3.0, 0.5])[:, None, None]
    sums = np.zeros((48, 3, 3))
    np.add.at(sums, pixels[good], scaled[good][:, :, None] * scaled[good][:, None, :])
    np.testing.assert_allclose(full(data["inverse_covariance"].sky()), sums, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(data["hits"].sky()[:, 0], np.bincount(pixels[good], minlength=48))
    np.testing.assert_allclose(full(data["covariance"].data[0, 3]), np.linalg.inv(sums[3]), rtol=1e-12)


def test_detectors_in_several_calls_add_up_and_the_next_run_begins_anew():
    data, ob = problem()
    weigh = covariance.Covariance(det_flags="flags")
    weigh.apply(data)
    want = data["hits"].data.copy(), data["inverse_covariance"].data.copy(), data["covariance"].data.copy()
    for one in (weigh, covariance.Covariance(det_flags="flags")):
        for detector in ob.detectors:
            one.exec(data, [detector])
        one.finalize(data)
        got = data["hits"].data, data["inverse_covariance"].data, data["covariance"].data
        assert all(a.tobytes() == b.tobytes() for a, b in zip(got, want))


def test_a_pixel_of_a_submap_that_is_not_local_is_an_error():
    data, ob = problem()
    ob.detdata["pixels"].data[2, 7] = 30
    ob.detdata["flags"].data[2, 7] = ob.shared["flags"].data[7] = 0
    with pytest.raises(IndexError):
        covariance.Covariance(det_flags="flags").apply(data)


@pytest.mark.parametrize("piped", [False, True])
def test_sums_that_an_exception_has_ended_do_not_count(piped):
    data, ob = problem()
    weigh = covariance.Covariance(det_flags="flags")
    run = Pipeline([weigh], detector_sets="SINGLE").apply if piped else weigh.apply
    run(data)
    names = "hits", "inverse_covariance", "covariance", "rcond"
    want = [data[name].data.tobytes() for name in names]
    for before in (True, False):  # maps of an earlier run come back, where there are some
        if not before:
            for name in names:
                del data[name]
        ob.detdata["flags"].data[2, 7] = ob.shared["flags"].data[7] = 0
        kept, ob.detdata["pixels"].data[2, 7] = ob.detdata["pixels"].data[2, 7], 30
        with pytest.raises(IndexError):
            run(data)
        ob.detdata["pixels"].data[2, 7] = kept
        assert [data[name].data.tobytes() for name in names if name in data] == (want if before else [])
        fresh = covariance.Covariance(det_flags="flags", hits="h", inverse="i", covariance="c", rcond="r")
        fresh.apply(data)
        run(data)
        want = [data[name].data.tobytes() for name in names]
        assert want == [data[name].data.tobytes() for name in "hicr"]
