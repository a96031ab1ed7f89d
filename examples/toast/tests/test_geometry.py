"""Focal plane, scan, centres of pixels and the sky."""

from pathlib import Path

import numpy as np
import pytest
from ingot_toast import PixelDistribution, focalplane, healpix, kernels, pictures, scan, sky
from ingot_toast.data import Data
from ingot_toast.kernels import Grid, Samples, View

ORACLE = np.load(Path(__file__).parent / "oracle" / "workflow.npz")


def turned(q, v):
    """The vector v (3,) rotated by quaternions (n, 4)."""
    xyz, w = q[:, :3], q[:, 3:]
    t = 2 * np.cross(xyz, v)
    return v + w * t + np.cross(xyz, t)


@pytest.mark.parametrize("rings, detectors", [(1, 14), (3, 74), (6, 254)])
def test_the_hexagon_has_crossed_pairs_within_five_degrees(rings, detectors):
    plane = focalplane.hexagon(rings)
    assert len(plane) == detectors == len(set(plane.names))
    np.testing.assert_allclose(np.sum(plane.quats**2, axis=1), 1, rtol=1e-15)
    sight, direction = turned(plane.quats, np.array([0.0, 0, 1])), turned(plane.quats, np.array([1.0, 0, 0]))
    away = np.degrees(np.arctan2(np.hypot(*sight[:, :2].T), sight[:, 2]))
    assert away.min() == 0.0 and abs(away.max() - 5.0) < 1e-12
    np.testing.assert_array_equal(sight[::2].round(14), sight[1::2].round(14))
    assert np.abs(np.sum(direction[::2] * direction[1::2], axis=1)).max() < 1e-15
    assert [name[-1] for name in plane.names] == ["A", "B"] * (detectors // 2)


def test_places_are_sorted_by_ring_then_row():
    assert focalplane.places(1) == [(0, 0), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1)]


def test_the_first_detector_looks_along_the_boresight_and_the_second_across():
    plane = focalplane.hexagon(1)
    np.testing.assert_allclose(plane.quats[:2], [[0, 0, 0, 1], [0, 0, np.sqrt(0.5), np.sqrt(0.5)]], atol=1e-16)
    assert plane.noise.inverse_variance(100.0) == pytest.approx(1 / (50e-6**2 * 100), rel=1e-15)


def test_the_boresight_is_the_oracles():
    periods = float(ORACLE["prec_period"]), float(ORACLE["prec_angle"]), float(ORACLE["spin_period"]), float(ORACLE["spin_angle"])
    own = scan.boresight(scan.Scan(*periods, float(ORACLE["year"])), scan.sample_times(0, 6000, float(ORACLE["rate"])))
    assert np.abs(own - ORACLE["boresight"]).max() < 1e-12


def test_a_later_observation_goes_on_where_the_first_one_ended():
    times = scan.sample_times(0, 500, 10.0)
    np.testing.assert_array_equal(scan.sample_times(200, 300, 10.0), times[200:])
    np.testing.assert_array_equal(scan.boresight(scan.Scan(), times[200:]), scan.boresight(scan.Scan(), times)[200:])


def test_each_37th_thousand_of_samples_is_lost():
    flags = scan.lost_samples(0, 45_000)
    assert flags.dtype == np.uint8
    np.testing.assert_array_equal(np.flatnonzero(np.diff(flags, prepend=0, append=0)), [5000, 6000, 42_000, 43_000])
    np.testing.assert_array_equal(scan.lost_samples(4_900, 200), flags[4_900:5_100])


@pytest.mark.parametrize("nside", [1, 2, 4, 32])
def test_the_pixel_of_a_centre_is_the_one_it_is_of(nside):
    centres = healpix.pixel_centres(nside, np.arange(12 * nside**2))
    np.testing.assert_allclose(np.sum(centres**2, axis=1), 1, rtol=1e-15)
    half = np.arctan2(np.hypot(centres[:, 0], centres[:, 1]), centres[:, 2]) / 2
    azimuth = np.arctan2(centres[:, 1], centres[:, 0]) / 2
    s, c = np.sin(azimuth), np.cos(azimuth)
    quats = np.stack((-s * np.sin(half), c * np.sin(half), s * np.cos(half), c * np.cos(half)), axis=1)
    row, pixels, view = np.zeros(1, np.int32), np.full((1, len(centres)), -1), View(np.array([0]), np.array([len(centres)]))
    kernels.pixels_healpix(Samples(quats[None], row), view, Grid(nside, True, 12 * nside**2), Samples(pixels, row), np.zeros(1, np.uint8))
    np.testing.assert_array_equal(pixels[0], np.arange(12 * nside**2))


def test_the_sky_is_the_oracles_whatever_submaps_are_kept():
    data = Data()
    for submaps in (np.arange(16), np.array([2, 3, 11])):
        data["pixel_dist"] = PixelDistribution(3072, 192, submaps)
        sky.SimulateSky().apply(data)
        want = ORACLE["sky"].reshape(16, 192, 3)[submaps]
        assert np.abs(data["sky"].data - want).max() < 1e-12 * np.abs(want).max()


def test_a_picture_has_north_up_and_azimuth_growing_to_the_left():
    nside, width = 16, 201
    seen = pictures.mollweide(nside, width)
    centres = healpix.pixel_centres(nside, np.arange(12 * nside**2))
    assert seen.shape == (100, 201) and (seen[0, [0, -1]] == -1).all()
    middle = centres[seen[50, 100]]
    assert middle[0] > 0.99
    assert centres[seen[0, 100]][2] > 0.99 and centres[seen[-1, 100]][2] < -0.99
    assert centres[seen[50, 50]][1] > 0.99 and centres[seen[50, 150]][1] < -0.99
    counts = np.bincount(seen[seen >= 0], minlength=len(centres))
    assert counts.min() > 0 and counts.max() < 4 * counts.mean()  # equal areas
