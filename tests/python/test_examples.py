"""The examples at small sizes: values are Python's, gradients those of differences, and their own checks hold."""

import re
import sys
from pathlib import Path

import ingot
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))

import acoustic_splitter  # noqa: E402
import kalman_track  # noqa: E402
import predators_and_prey  # noqa: E402
from timing import show_times  # noqa: E402


def along(function, x, direction, step=1e-5):
    """The derivative of a function along a direction, by differences."""
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


def directions(shape, count=2):
    return np.random.default_rng(3).normal(size=(count, *shape))


class TestPredatorsAndPrey:
    counts, start = predators_and_prey.COUNTS, predators_and_prey.START

    @pytest.mark.rotated(4)
    def test_derivatives(self):
        def error(x):
            return predators_and_prey.squared_error(x, self.counts, 20)

        value, slope = predators_and_prey.gradient(self.start, self.counts, 20)
        assert value == pytest.approx(error(self.start), rel=1e-12)
        for direction in directions(self.start.shape):
            assert slope @ direction == pytest.approx(along(error, self.start, direction), rel=1e-6)
        jacobian = predators_and_prey.slopes(self.start, self.counts, 20)
        residuals = predators_and_prey.residuals(self.start, self.counts, 20)
        np.testing.assert_allclose(2 * jacobian.T @ residuals, slope, rtol=1e-9)

    def test_the_fit(self):
        fitted, errors, covariance = predators_and_prey.fit(self.start, self.counts, 100)
        assert errors[0] > 50 and errors[-1] < 2.02 and len(errors) < 25
        assert np.abs(predators_and_prey.gradient(fitted, self.counts, 100)[1]).max() < 1e-5
        np.testing.assert_allclose(np.exp(fitted), [0.540, 0.027, 0.796, 0.024, 34.6, 5.85], rtol=0.03)
        assert (np.linalg.eigvalsh(covariance) > 0).all()


class TestKalmanTrack:
    states, seen = kalman_track.fly(kalman_track.TRUE, 150, np.random.default_rng(2))

    @pytest.mark.rotated(4)
    def test_derivatives(self):
        def loss(x):
            return kalman_track.loss(x, self.seen)

        at = kalman_track.GUESS
        value, slope = kalman_track.gradient(at, self.seen)
        curvature = kalman_track.curvature(at, self.seen)
        assert value == pytest.approx(loss(at), rel=1e-12)
        np.testing.assert_allclose(curvature, curvature.T, rtol=1e-9)
        for direction in directions(at.shape):
            assert slope @ direction == pytest.approx(along(loss, at, direction), rel=1e-6)
            bend = along(lambda x: kalman_track.gradient(x, self.seen)[1], at, direction)
            np.testing.assert_allclose(curvature @ direction, bend, rtol=1e-5)

    @pytest.mark.rotated(3)
    def test_the_numbers_and_the_track(self):
        found, losses, covariance = kalman_track.maximise(kalman_track.GUESS, self.seen)
        assert losses[-1] <= kalman_track.value(kalman_track.TRUE, self.seen) < losses[0] and len(losses) < 25
        assert (np.abs(found - kalman_track.TRUE) < 3 * np.sqrt(np.diag(covariance))).all()
        means, covariances = ingot.jit(kalman_track.smoothed)(found, self.seen)
        off = (means - self.states)[:, 0]
        assert np.sqrt(np.mean(off**2)) < 0.5 * np.exp(kalman_track.TRUE[2])
        within = np.hypot(*off.T) < 2.45 * np.sqrt(covariances[:, 0, 0])
        assert np.isnan(self.seen).any() and within.mean() > 0.85


class TestAcousticSplitter:
    drag, plate, steps = acoustic_splitter.walls(44, 66, 8), (24, 30), 150

    @pytest.mark.rotated(4)
    def test_derivatives(self):
        def loss(x):
            return acoustic_splitter.loss(x, self.steps, self.drag)

        at = 0.3 * np.random.default_rng(4).normal(size=self.plate)
        value, slope = acoustic_splitter.gradient(at, self.steps, self.drag)
        assert value == pytest.approx(loss(at), rel=1e-12)
        for direction in directions(self.plate):
            assert np.sum(slope * direction) == pytest.approx(along(loss, at, direction), rel=1e-6)

    @pytest.mark.rotated(3)
    def test_the_design(self):
        design = np.zeros(self.plate)
        before, _ = acoustic_splitter.shares(design, self.steps, self.drag)
        design, losses = acoustic_splitter.optimise(design, self.steps, self.drag, 15)
        after, _ = acoustic_splitter.shares(design, self.steps, self.drag)
        assert max(before) < 0.55 and min(after) > 0.9
        assert losses[0] > 1 and losses[-1] < 0


def test_times_are_shown(capsys):
    show_times((2.0,), the_value=lambda x: x)
    assert re.fullmatch(r"the value: first call \d+\.\d\d s, then \d+\.\d\d ms\n", capsys.readouterr().out)


def test_examples_are_short_and_their_pictures_are_there():
    named = []
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) <= 120, path
        named += re.findall(rf"python examples/{path.name} \[(docs/images/[\w.]+)\]", text)
    assert len(named) == 3
    assert {ROOT / name for name in named} == set((ROOT / "docs" / "images").glob("*.png"))
    assert all((ROOT / name).stat().st_size <= 120_000 for name in named)
