"""Neural fields: a network learns waves in a pool from what they are at a thousand places.

Layers and network are dataclasses with `__call__`, in the style of Equinox: `ingot.grad` gives a
network of gradients, and Adam of `ingot.optimize` makes a step of both.
"""

import dataclasses
from collections.abc import Callable

import ingot
import numpy as np
from ingot import optimize


@dataclasses.dataclass
class Linear:
    weights: np.ndarray
    bias: np.ndarray

    def __call__(self, x):
        return x @ self.weights + self.bias


@dataclasses.dataclass
class Network:
    layers: tuple[Linear, ...]
    activation: Callable

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


# The activation is no parameter: what makes a network anew takes it, and nothing else sees it.
ingot.tree.register(
    Network, lambda n: ((n.layers,), n.activation), lambda f, parts: Network(*parts, f)
)


def sine(x):
    return np.sin(3 * x)


def loss(network, places, heights):
    return np.mean((network(places) - heights) ** 2)


@ingot.jit
def step(network, state, rule, places, heights):
    value, slopes = ingot.value_and_grad(loss)(network, places, heights)
    return *rule.step(network, slopes, state), value


def train(network, places, heights, steps, rate):
    """The network after so many steps of Adam, and the loss before each."""
    rule, losses = optimize.Adam(rate), np.empty(steps)
    state = rule.start(network)
    for n in range(steps):
        network, state, losses[n] = step(network, state, rule, places, heights)
    return network, losses


def random_network(sizes, rng):
    layers = [
        Linear(rng.uniform(-1, 1, (a, b)) * np.sqrt(3 / a), rng.uniform(-1, 1, b))
        for a, b in zip(sizes, sizes[1:])
    ]
    return Network(tuple(layers), sine)


def waves(places):
    """Their height: rings around two stones."""
    far = [np.hypot(*(places - stone).T) for stone in ((-0.5, -0.3), (0.6, 0.4))]
    return sum(np.cos(14 * r) * np.exp(-1.5 * r) for r in far)[:, None]


def run(count=1000, width=32, steps=2000):
    rng = np.random.default_rng(3)
    places = rng.uniform(-1, 1, (count, 2))
    network = random_network((2, width, width, 1), rng)
    network, losses = train(network, places, waves(places), steps, 0.003)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 120)] * 2), axis=2).reshape(-1, 2)
    learned = network(grid).reshape(120, 120)
    return places, waves(grid).reshape(120, 120), learned, losses


def draw(figure, places, true, learned, losses):
    panels = figure.subplots(1, 3, width_ratios=(1, 1, 1.1))
    for panel, values, title in zip(panels, (true, learned), ("The waves", "What was learned")):
        panel.imshow(values, cmap="RdBu_r", origin="lower", extent=(-1, 1, -1, 1), vmin=-1.2, vmax=1.2)
        panel.set(title=title, xlabel="x", ylabel="y")
    panels[0].scatter(*places.T, c="black", s=0.5)
    panels[2].semilogy(losses)
    panels[2].set(title="On the way", xlabel="step", ylabel="mean squared error")


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
