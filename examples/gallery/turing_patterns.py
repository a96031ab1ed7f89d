"""Reaction and diffusion: spots that divide, by Gray and Scott's model.

A substance v feeds on another one, u, and decays; u flows in, and diffuses twice as fast. From a
few seeds spots grow and divide until they fill the dish. Ten lines of NumPy, slices written in
place.
"""

import ingot
import numpy as np


def bend(x):
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]


@ingot.jit
def react(u, v, steps, feed, kill):
    """So many steps, in place; the border keeps its values."""
    p, q = u[1:-1, 1:-1], v[1:-1, 1:-1]
    for _ in range(steps):
        eaten = p * q * q
        du = 0.16 * bend(u) - eaten + feed * (1 - p)
        dv = 0.08 * bend(v) + eaten - (feed + kill) * q
        p += du
        q += dv


def dish(size, seeds, rng):
    u, v = np.ones((size, size)), np.zeros((size, size))
    for i, j in rng.integers(4, size - 8, (seeds, 2)):
        u[i : i + 5, j : j + 5], v[i : i + 5, j : j + 5] = 0.5, 0.25
    return u, v


def run(size=200, steps=9000):
    kinds = ("spots", 0.035, 0.065), ("a maze", 0.040, 0.060), ("holes", 0.039, 0.058)
    grown = []
    for name, feed, kill in kinds:
        u, v = dish(size, 40, np.random.default_rng(3))
        react(u, v, steps, feed, kill)
        grown.append((f"{name}: feed {feed}, kill {kill}", v))
    return (grown,)


def draw(figure, grown):
    axes = figure.subplots(1, 3, sharey=True)
    for ax, (title, v) in zip(axes, grown):
        image = ax.imshow(v, cmap="magma", vmin=0, vmax=0.4)
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel("x (cells)")
    axes[0].set_ylabel("y (cells)")
    figure.colorbar(
        image, ax=axes, label="concentration of v", orientation="horizontal", shrink=0.4
    )


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
