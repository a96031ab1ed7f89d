"""Learning: a small network learns to distinguish two spirals.

Three layers in plain NumPy; `ingot.value_and_grad` differentiates the loss by all weights at
once, and the training loop with Adam's method is compiled as a whole.
"""

import ingot
import numpy as np


def network(weights, points):
    """How sure the network is that each point is of the second spiral, from 0 to 1."""
    a, p, b, q, c, r = weights
    hidden = np.tanh(np.tanh(points @ a + p) @ b + q)
    return 1 / (1 + np.exp(-(hidden @ c + r)))


def loss(weights, points, labels):
    sure = network(weights, points)
    return -np.mean(labels * np.log(sure) + (1 - labels) * np.log(1 - sure))


@ingot.jit
def train(weights, points, labels, iterations, rate):
    """The weights after so many iterations of Adam's method over all points, and the loss before
    each."""
    losses = np.empty(iterations)
    mean = square = tuple([np.zeros_like(w) for w in weights])
    for n in range(iterations):
        losses[n], slopes = ingot.value_and_grad(loss)(weights, points, labels)
        mean = tuple([0.9 * m + 0.1 * g for m, g in zip(mean, slopes)])
        square = tuple([0.999 * s + 0.001 * g * g for s, g in zip(square, slopes)])
        size = rate * np.sqrt(1 - 0.999 ** (n + 1)) / (1 - 0.9 ** (n + 1))
        weights = tuple(
            [w - size * m / (np.sqrt(s) + 1e-8) for w, m, s in zip(weights, mean, square)]
        )
    return weights, losses


def spirals(points, rng):
    turn = np.sqrt(rng.random(points)) * 3 * np.pi
    labels = np.arange(points) % 2
    angle = turn + np.pi * labels
    places = np.stack((np.cos(angle), np.sin(angle)), axis=1) * turn[:, None] / 9
    places += 0.03 * rng.normal(size=(points, 2))
    return places, labels[:, None].astype(float)


def random_weights(width, rng):
    return (
        2 * rng.normal(size=(2, width)),
        rng.normal(size=width),
        rng.normal(size=(width, width)) / np.sqrt(width),
        np.zeros(width),
        rng.normal(size=(width, 1)) / np.sqrt(width),
        np.zeros(1),
    )


def run(points=400, width=32, iterations=2000):
    rng = np.random.default_rng(12)
    places, labels = spirals(points, rng)
    weights, losses = train(random_weights(width, rng), places, labels, iterations, 0.01)
    grid = np.stack(np.meshgrid(*[np.linspace(-1.25, 1.25, 160)] * 2), axis=2).reshape(-1, 2)
    return places, labels[:, 0], ingot.jit(network)(weights, grid).reshape(160, 160), losses


def draw(figure, places, labels, sure, losses):
    plane, course = figure.subplots(1, 2, width_ratios=(1.2, 1))
    image = plane.imshow(
        sure, cmap="RdBu", origin="lower", extent=(-1.25, 1.25, -1.25, 1.25), vmin=-0.4, vmax=1.4
    )
    plane.scatter(*places.T, c=labels, cmap="RdBu", s=8, edgecolors="black", linewidths=0.3)
    plane.set(title="What it has learned", xlabel="x", ylabel="y")
    bar = figure.colorbar(
        image, ax=plane, label="probability of blue", orientation="horizontal", shrink=0.8
    )
    bar.ax.set_xlim(0, 1)
    course.semilogy(losses)
    course.set(title="On the way", xlabel="iteration", ylabel="mean loss of a point (nats)")


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
