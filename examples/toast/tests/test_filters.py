"""The polynomial filter compared with least squares."""

import numpy as np
import pytest
from ingot_toast import Data, Intervals, Observation, filters
from ingot_toast.kernels import Flags, Samples, View

FIRST, LAST = [0, 120, 130, 400], [120, 121, 390, 420]


def problem():
    rng = np.random.default_rng(5)
    signal = rng.standard_normal((3, 500)).cumsum(axis=1)
    det_flags = (rng.uniform(size=(2, 500)) < 0.2).astype(np.uint8) * 4
    shared = (rng.uniform(size=500) < 0.1).astype(np.uint8) * 2
    return signal, det_flags, shared


def expected(signal, bad, order):
    want = signal.copy()
    for first, last in zip(FIRST, LAST):
        good = ~bad[first:last]
        x = np.linspace(-1, 1, last - first) if last > first + 1 else np.zeros(1)
        degree = min(order, np.count_nonzero(good) - 1)
        if degree >= 0:
            fit = np.polynomial.Legendre.fit(x[good], signal[first:last][good], degree, domain=[-1, 1])
            want[first:last] -= fit(x)
    return want


@pytest.mark.parametrize("order", [0, 1, 3, 7])
def test_what_is_taken_out_is_the_least_squares_fit(order):
    signal, det_flags, shared = problem()
    got = signal.copy()
    rows, flag_rows = np.array([2, 0], np.int32), np.array([1, 0], np.int32)
    view = View(np.array(FIRST), np.array(LAST), shared, 2)
    filters.filter_polynomials(Samples(got, rows), Flags(Samples(det_flags, flag_rows), 4), view, order)
    for row, flag_row in zip(rows, flag_rows):
        want = expected(signal[row], (det_flags[flag_row] != 0) | (shared != 0), order)
        np.testing.assert_allclose(got[row], want, atol=1e-10 * np.abs(signal).max())
    np.testing.assert_array_equal(got[1], signal[1])
    np.testing.assert_array_equal(got[:, LAST[-1] :], signal[:, LAST[-1] :])


def test_flagged_samples_do_not_count_even_if_they_are_no_numbers():
    signal, det_flags, shared = problem()
    bad = shared != 0
    signal[0, bad] = np.nan
    want = expected(np.where(bad, 0.0, signal[0]), bad, 2)
    filters.filter_polynomials(Samples(signal, np.zeros(1, np.int32)), None, View(np.array(FIRST), np.array(LAST), shared, 255), 2)
    np.testing.assert_allclose(signal[0, ~bad], want[~bad], atol=1e-10)


def test_a_polynomial_leaves_nothing_and_few_samples_take_few_degrees():
    x = np.linspace(-1, 1, 4000)
    signal = np.polynomial.legendre.legval(x, [3.0, 1, -2, 0.5, 4, 1])[None].copy()
    flags = np.zeros(4000, np.uint8)
    flags[10:3990:2] = 1
    own = Samples(signal, np.zeros(1, np.int32))
    filters.filter_polynomials(own, None, View(np.array([0]), np.array([4000]), flags, 1), 5)
    assert np.abs(signal).max() < 1e-12
    signal[0, :3] = [1.0, 5.0, 2.0]
    filters.filter_polynomials(own, None, View(np.array([0]), np.array([3])), 5)
    assert np.abs(signal[0, :3]).max() < 1e-13


def test_the_operator_filters_in_the_intervals_of_its_view():
    signal, det_flags, shared = problem()
    ob = Observation("one", ["a", "b", "c"], 500)
    ob.detdata["signal"], ob.shared["flags"] = signal.copy(), shared
    ob.detdata["flags"] = np.zeros((3, 500), np.uint8)
    ob.intervals["scan"] = Intervals(FIRST, LAST)
    filters.FilterPolynomials(view="scan", order=3, det_flags="flags").apply(Data([ob]), ["b"])
    np.testing.assert_allclose(ob.detdata["signal"]["b"], expected(signal[1], shared != 0, 3), atol=1e-10)
    np.testing.assert_array_equal(ob.detdata["signal"]["a"], signal[0])


def test_intervals_and_rows_outside_are_errors():
    signal, det_flags, shared = problem()
    row = np.zeros(1, np.int32)
    for first, last, rows in ((0, 501, row), (-1, 5, row), (0, 5, row + 3)):
        with pytest.raises(IndexError):
            view = View(np.array([first]), np.array([last]), shared, 1)
            filters.filter_polynomials(Samples(signal, rows), Flags(Samples(det_flags, row), 1), view, 1)
