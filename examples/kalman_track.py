"""A hidden track: how a drone moves and how exact a radar is, from the likelihood of a Kalman filter.

Gusts push a drone and the air brakes it. A radar sees where it is, with errors, and sees nothing while it is behind a hill.
Unknown are the strength of gusts, how fast speed dies away, and the errors. The filter is a loop with a branch for what is
missing; Newton's method maximises its likelihood by `ingot.value_and_grad` and `ingot.hessian`. A smoother gives the track.

    python examples/kalman_track.py [docs/images/kalman_track.png]
"""

import sys

import ingot
import numpy as np
from timing import show_times

TRUE, GUESS = np.log([1.5, 0.1, 15.0]), np.log([10.0, 1.0, 5.0])  # gusts (m/s^1.5), brake (1/s), error of the radar (m)
STEP = 0.5  # s


def motion(parameters):
    """How position and speed along one axis go on in a step, and the covariance of what gusts add."""
    gusts, brake = np.exp(parameters[0]), np.exp(parameters[1])
    kept = np.exp(-brake * STEP)
    moves = np.array([[1.0, (1 - kept) / brake], [0.0, kept]])
    return moves, gusts**2 * np.array([[STEP**3 / 3, STEP**2 / 2], [STEP**2 / 2, STEP]])


def fly(parameters, steps, random):
    """A track, as rows of position and speed with columns for x and y, and what the radar sees of it: NaN behind the hill."""
    moves, noise = motion(parameters)
    states = np.zeros((steps, 2, 2))
    for t in range(1, steps):
        states[t] = moves @ states[t - 1] + np.linalg.cholesky(noise) @ random.normal(size=(2, 2))
    seen = states[:, 0] + np.exp(parameters[2]) * random.normal(size=(steps, 2))
    seen[steps * 5 // 10 : steps * 6 // 10] = np.nan
    return states, seen


def filtered(parameters, seen):
    """The logarithm of the likelihood; means, with a column for each axis, and covariances before and after each look."""
    moves, noise = motion(parameters)
    total, mean, covariance = 0.0, np.zeros((2, 2)), np.diag(np.array([1e4, 1e2]))
    means, covariances = np.empty((2, len(seen), 2, 2)), np.empty((2, len(seen), 2, 2))
    for t in range(len(seen)):
        means[0, t], covariances[0, t] = mean, covariance
        if not np.isnan(seen[t, 0]):
            surprise, spread = seen[t] - mean[0], covariance[0, 0] + np.exp(2 * parameters[2])
            gain = covariance[:, 0] / spread
            total -= 0.5 * np.sum(surprise**2) / spread + np.log(2 * np.pi * spread)
            mean, covariance = mean + np.outer(gain, surprise), covariance - np.outer(gain, covariance[0])
        means[1, t], covariances[1, t] = mean, covariance
        mean, covariance = moves @ mean, moves @ covariance @ moves.T + noise
    return total, means, covariances


def loss(parameters, seen):
    return -filtered(parameters, seen)[0]


value, gradient, curvature = ingot.jit(loss), ingot.value_and_grad(loss), ingot.hessian(loss)


def maximise(parameters, seen, iterations=40):
    """Newton's method, its curvatures made positive: the parameters, the losses on the way, their covariance."""
    losses = []
    for _ in range(iterations):
        now, slope = gradient(parameters, seen)
        losses.append(now)
        sizes, axes = np.linalg.eigh(curvature(parameters, seen))
        if np.abs(slope).max() < 1e-6:
            break
        step = axes @ (axes.T @ slope / np.abs(sizes))
        parameters = parameters - step / max(1.0, np.abs(step).max())
    return parameters, losses, axes / sizes @ axes.T


def smoothed(parameters, seen):
    """Mean and covariance of the state at each step, of all that was seen before and after: Rauch, Tung and Striebel."""
    moves, (_, means, covariances) = motion(parameters)[0], filtered(parameters, seen)
    mean, covariance = means[1], covariances[1]
    for t in range(len(seen) - 2, -1, -1):
        gain = np.linalg.solve(covariances[0, t + 1], moves @ covariance[t]).T
        mean[t] += gain @ (mean[t + 1] - means[0, t + 1])
        covariance[t] += gain @ (covariance[t + 1] - covariances[0, t + 1]) @ gain.T
    return mean, covariance


def draw(states, seen, means, sizes, path):
    import matplotlib.pyplot as plt

    figure, (track, errors) = plt.subplots(1, 2, figsize=(11, 4.8), width_ratios=(5, 4), layout="constrained")
    for place, size in zip(means[:, 0], sizes):
        track.add_patch(plt.Circle(place, 2.45 * size, color="#cce3f0", linewidth=0))
    track.plot(*seen.T, ".", color="gray", markersize=4, label="seen by the radar")
    track.plot(*states[:, 0].T, color="black", linewidth=1, label="flown")
    track.plot(*means[:, 0].T, color="#0072b2", label="smoothed, with circles that hold 95 %")
    track.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
    figure.legend(ncols=3, loc="outside upper center")
    errors.fill_between(range(len(sizes)), 2.45 * sizes, color="#cce3f0", linewidth=0)
    errors.plot(np.hypot(*(seen - states[:, 0]).T), ".", color="gray", markersize=4)
    errors.plot(np.hypot(*(means - states)[:, 0].T), color="#0072b2")
    errors.set(xlabel=f"time (steps of {STEP} s)", ylabel="distance from the track that was flown (m)", ylim=0)
    figure.savefig(path, dpi=80, pil_kwargs={"optimize": True})


def main():
    states, seen = fly(TRUE, 400, np.random.default_rng(1))
    show_times((GUESS, seen), value=value, value_and_gradient=gradient, Hessian=curvature)
    found, losses, covariance = maximise(GUESS, seen)
    print(f"{len(losses)} iterations: log-likelihood {-losses[0]:.1f} to {-losses[-1]:.1f}")
    for name, number, variance, true in zip(("gusts", "brake", "errors"), np.exp(found), np.diag(covariance), np.exp(TRUE)):
        print(f"  {name:7} {number:7.3f} +- {number * np.sqrt(variance):.3f}, in truth {true:g}")
    means, covariances = ingot.jit(smoothed)(found, seen)
    print(f"smoothed: {np.sqrt(np.mean((means - states)[:, 0] ** 2)):.1f} m from the track along each axis")
    if len(sys.argv) > 1:
        draw(states, seen, means, np.sqrt(covariances[:, 0, 0]), sys.argv[1])


if __name__ == "__main__":
    main()
