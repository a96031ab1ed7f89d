"""Random numbers by counting, noise made of them, and what is found of it in streams."""

import statistics
from pathlib import Path

import numpy as np
import pytest
from ingot_toast import Data, Observation, focalplane, noise, random

ORACLE = np.load(Path(__file__).parent / "oracle" / "rng.npz")
SHAPE = focalplane.Noise(50e-6, 0.05, 1e-5, 1.0)


@pytest.mark.parametrize("case", range(4))
def test_words_uniforms_and_normals_are_the_oracles(case):
    key, counter = ORACLE[f"in_key_{case}"], ORACLE[f"in_counter_{case}"]
    np.testing.assert_array_equal(random.random_words(key, counter, 64), ORACLE[f"out_uint64_{case}"])
    np.testing.assert_array_equal(random.random_uniforms(key, counter, 64), ORACLE[f"out_uniform_{case}"])
    assert np.abs(random.random_normals(key, counter, 64) - ORACLE[f"out_normal_{case}"]).max() < 4e-15


def test_a_number_does_not_hang_on_how_many_are_drawn():
    key, counter = np.array([5, 6], np.uint64), np.array([0, 2**64 - 3], np.uint64)
    whole = random.random_words(key, counter, 9)
    np.testing.assert_array_equal(random.random_words(key, np.array([0, 1], np.uint64), 5), whole[4:])
    np.testing.assert_array_equal(random.random_words(key, counter, 0), np.zeros(0, np.uint64))


def test_erfinv_is_the_quantile_of_the_normal_distribution():
    p = np.concatenate((np.linspace(0.001, 0.999, 999), 0.5 - np.logspace(-12, -1, 50), 1 - np.logspace(-14, -2, 50)))
    want = [statistics.NormalDist().inv_cdf(float(value)) for value in 0.5 + (2 * p - 1) / 2]
    np.testing.assert_allclose(np.sqrt(2) * random.erfinv(2 * p - 1), want, rtol=2e-15, atol=1e-15)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(random.erfinv(np.array([-1.0, 0.0, 1.0])), [-np.inf, 0.0, np.inf])


def test_normals_have_the_moments_of_normal_numbers():
    x = random.random_normals(np.array([1, 2], np.uint64), np.array([0, 0], np.uint64), 1 << 18)
    assert abs(np.mean(x)) < 0.01 and abs(np.var(x) - 1) < 0.01 and abs(np.mean(x**4) - 3) < 0.06


def test_the_density_is_white_above_the_knee_and_0_at_0():
    density = noise.noise_density(np.array([0.0, 0.05, 1e6]), SHAPE)
    np.testing.assert_allclose(density / 50e-6**2, [0, 0.1 / 0.05001, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(noise.noise_density(np.array([0.0, 3.0]), focalplane.Noise(2.0, 0.0, 0.0, 1.0)), [0.0, 4.0])


def test_a_stream_is_made_as_written_by_hand():
    count, rate, first = 100, 10.0, 700
    n = 256
    g = random.random_normals(noise.noise_key(3, 2), np.array([0, 2 * first], np.uint64), n)
    m = np.arange(n // 2 + 1)
    a = np.sqrt(noise.noise_density(m * rate / n, SHAPE) * rate * n / 2)
    waves = np.array([a[0] * g[0], *(a[k] * (g[k] + 1j * g[n - k]) for k in range(1, n // 2)), a[n // 2] * g[n // 2]])
    want = np.fft.irfft(waves, n)[78:178]
    np.testing.assert_allclose(noise.noise_stream(noise.noise_key(3, 2), first, count, rate, SHAPE), want - want.mean(), atol=1e-17)


def test_keys_hold_realization_telescope_component_session_and_detector():
    np.testing.assert_array_equal(noise.noise_key(77, 12345, 7, 3, 1), np.array([30064967681, 53021371269197], np.uint64))
    np.testing.assert_array_equal(ORACLE["in_key_2"], noise.noise_key(77, 12345, 7, 3, 1))
    largest = {"detector": 2**32, "session": 2**32, "realization": 2**32, "telescope": 2**16, "component": 2**16}
    top = noise.noise_key(**{name: bound - 1 for name, bound in largest.items()})
    np.testing.assert_array_equal(top, np.full(2, 2**64 - 1, np.uint64))
    for name, bound in largest.items():
        for value in (-1, bound):
            with pytest.raises(ValueError, match=f"the {name} .* not {value}"):
                noise.noise_key(**{"detector": 0, "session": 0, name: value})


@pytest.mark.parametrize("shape", [SHAPE, focalplane.Noise(50e-6, 0.0, 0.0, 1.0)], ids=str)
def test_periodograms_have_the_density_in_each_octave(shape):
    rate, streams = 10.0, 64
    spectra = [noise.periodogram(noise.noise_stream(noise.noise_key(d, 0), 0, 16_384, rate, shape), rate) for d in range(streams)]
    frequencies = spectra[0][0]
    mean = np.mean([density for _, density in spectra], axis=0) / noise.noise_density(frequencies, shape)
    found = noise.octaves(frequencies, mean)[1][5:-1]  # octaves of 32 frequencies and more
    assert np.abs(found - 1).max() < 0.05


def test_the_variance_of_white_noise_is_net_squared_times_the_rate():
    stream = noise.noise_stream(noise.noise_key(1, 0), 0, 1 << 16, 100.0, focalplane.Noise(50e-6, 0.0, 0.0, 1.0))
    assert np.var(stream) == pytest.approx(50e-6**2 * 100.0, rel=0.02) and abs(np.mean(stream)) < 1e-18


def observation(count, plane, first=0, whole=None):
    ob = Observation("one", plane.names, count, uid=4)
    ob.meta.update(focalplane=plane, rate=10.0, first=first, whole=whole or range(first, first + count))
    ob.detdata["signal"] = np.ones((len(plane), count))
    ob.shared["flags"] = np.zeros(count, np.uint8)
    return ob


def test_each_process_makes_its_part_of_the_same_noise():
    plane = focalplane.hexagon(1)
    whole, part = observation(600, plane, first=1200), observation(200, plane, 1500, range(1200, 1800))
    simulate = noise.SimulateNoise()
    simulate.apply(Data([whole]))
    simulate.apply(Data([part]), plane.names[2:4])
    np.testing.assert_array_equal(part.detdata["signal"].data[2:4], whole.detdata["signal"].data[2:4, 300:500])
    assert (part.detdata["signal"].data[4:] == 1.0).all()
    assert len({row.tobytes() for row in whole.detdata["signal"].data}) == len(plane)


def test_net_and_knee_are_found_in_streams_with_gaps():
    plane = focalplane.hexagon(1, focalplane.Noise(f_knee=0.5))
    ob = observation(40_000, plane)
    noise.SimulateNoise().apply(Data([ob]))
    ob.shared["flags"].data[10_000:15_000] = 1
    ob.detdata["signal"].data[:, 10_000:15_000] = np.nan
    noise.EstimateNoise(lags=512).apply(Data([ob]))
    found = ob.meta["noise_estimate"]
    assert np.mean([found[d]["net"] for d in plane.names]) == pytest.approx(plane.noise.net, rel=0.05)
    assert np.mean([found[d]["f_knee"] for d in plane.names]) == pytest.approx(0.5, rel=0.2)
    assert len(found["D000A"]["frequencies"]) == len(found["D000A"]["density"]) == 513


def test_what_is_too_little_for_an_estimate_is_told():
    rng = np.random.default_rng(6)
    for count, flagged, options in ((3, 0, {}), (7, 0, {}), (400, 400, {}), (400, 393, {}), (400, 0, {"lags": 1})):
        ob = observation(count, focalplane.hexagon(1))
        ob.detdata["signal"].data[:] = rng.standard_normal((14, count))
        ob.shared["flags"].data[:flagged] = 1
        with pytest.raises(ValueError, match=f"{count - flagged} good samples of D000A in one with"):
            noise.EstimateNoise(**options).apply(Data([ob]))
    with pytest.raises(ValueError, match="no noise"):
        noise.EstimateNoise().apply(Data([observation(50, focalplane.hexagon(1))]))  # all samples are equal
    ob = observation(8, focalplane.hexagon(1))
    ob.detdata["signal"].data[:] = [1, -1, 2, -1, 1, -3, 0, 1]
    noise.EstimateNoise().apply(Data([ob]))
    assert all(np.isfinite(found["net"]) for found in ob.meta["noise_estimate"].values())


def test_the_estimate_of_white_noise_is_flat():
    rng = np.random.default_rng(1)
    stream = rng.standard_normal(200_000)
    frequencies, density = noise.noise_estimate(stream, np.ones(len(stream), np.bool_), 20.0, 64)
    assert frequencies[-1] == 10.0
    np.testing.assert_allclose(density[2:] * 20.0, 1, atol=0.08)
