"""Control: how to push a cart so that the pole on it swings up and stays there.

The motion is a loop over time; `ingot.value_and_grad` gives how each push changes the cost, which
SciPy's optimiser follows. Nothing is known of the solution beforehand, not even how often the
pole has to swing.
"""

import ingot
import numpy as np
from scipy.optimize import minimize

CART, POLE, LENGTH, GRAVITY, STEP = 1.0, 0.3, 0.5, 9.81, 0.02  # kg, kg, m, m/s², s


def motion(state, push):
    """How fast position, angle (0: hanging) and their speeds change."""
    _, angle, speed, turning = state
    s, c = np.sin(angle), np.cos(angle)
    swing = LENGTH * POLE * s * turning**2
    down = CART + POLE * s * s
    return (speed, turning, (swing + push + POLE * GRAVITY * c * s) / down,
            -(swing * c + push * c + (CART + POLE) * GRAVITY * s) / (LENGTH * down))  # fmt: skip


def simulate(pushes):
    """The states from rest on, a row after each step, by the rule of the midpoint."""
    states = np.zeros((len(pushes) + 1, 4))
    for t in range(len(pushes)):
        half = states[t] + 0.5 * STEP * np.array(motion(states[t], pushes[t]))
        states[t + 1] = states[t] + STEP * np.array(motion(half, pushes[t]))
    return states


def cost(pushes):
    """Small where the pole is up in the last fifth of the time, the cart near where it began, and
    pushes are weak."""
    states = simulate(pushes)
    end = states[4 * len(pushes) // 5 :]
    upright = np.sum(
        (1 + np.cos(end[:, 1])) ** 2
        + 0.1 * end[:, 3] ** 2
        + 0.1 * end[:, 2] ** 2
        + end[:, 0] ** 2
    )
    return upright + 0.1 * np.sum(states[:, 0] ** 4) + 1e-3 * np.sum(pushes**2)


slope = ingot.value_and_grad(cost)


def run(steps=150, iterations=400):
    start = np.random.default_rng(1).normal(size=steps)
    found = minimize(
        slope,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-15, 15)] * steps,
        options={"maxiter": iterations},
    )
    return ingot.jit(simulate)(found.x), found.x


def draw(figure, states, pushes):
    import matplotlib.pyplot as plt

    panels = figure.subplot_mosaic(
        [["scene", "angle"], ["scene", "push"]], width_ratios=(1.25, 1)
    )
    scene, time = panels["scene"], STEP * np.arange(len(states))
    for t in range(0, len(states), 3):
        x, angle = states[t, :2]
        shade = plt.get_cmap("viridis")(t / len(states))
        scene.plot(
            [x, x + LENGTH * np.sin(angle)],
            [0, -LENGTH * np.cos(angle)],
            "-o",
            color=shade,
            markevery=[1],
        )
    scene.set(title="The pole, every 60 ms", xlabel="x (m)", ylabel="y (m)", aspect="equal")
    panels["angle"].plot(time, np.degrees(states[:, 1]))
    panels["angle"].set(
        title="Angle and push", ylabel="angle (degrees)", yticks=(-90, 0, 90, 180)
    )
    panels["push"].plot(time[:-1], pushes, color="C1")
    panels["push"].set(xlabel="time (s)", ylabel="push (N)")


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
