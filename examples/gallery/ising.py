"""Monte Carlo: a magnet loses its magnetism at a temperature, Ising's model in two dimensions.

Spins point up or down and like to agree with their four neighbours; heat turns them at random
(Metropolis). The random numbers are those of NumPy's generator: with and without the decorator
the same spins.
"""

import ingot
import numpy as np


@ingot.jit
def sweeps(spins, temperature, count, rng):
    """So many sweeps over all spins, in place; the magnetisation after each."""
    n, m = spins.shape
    means = np.empty(count)
    for sweep in range(count):
        for i in range(n):
            for j in range(m):
                around = (
                    spins[i - 1, j]
                    + spins[(i + 1) % n, j]
                    + spins[i, j - 1]
                    + spins[i, (j + 1) % m]
                )
                cost = 2 * spins[i, j] * around
                if cost <= 0 or rng.random() < np.exp(-cost / temperature):
                    spins[i, j] = -spins[i, j]
        means[sweep] = np.abs(np.mean(spins))
    return means


def exact(temperature):
    """Onsager's magnetisation of an infinite lattice."""
    return np.clip(1 - np.sinh(2 / temperature) ** -4.0, 0, None) ** 0.125


def run(size=100, count=1500, temperatures=24):
    rng = np.random.default_rng(8)
    scale = np.linspace(1.5, 3.2, temperatures)
    magnetisation, pictures = [], []
    spins = np.ones((size, size), np.int64)
    for temperature in scale:  # heated slowly
        magnetisation.append(sweeps(spins, temperature, count, rng)[count // 3 :].mean())
        pictures.append(spins.copy())
    return scale, np.array(magnetisation), pictures


def draw(figure, temperatures, magnetisation, pictures):
    left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1))
    axes = left.subplots()
    fine = np.linspace(temperatures[0], temperatures[-1], 400)
    axes.plot(fine, exact(fine), label="Onsager, infinite lattice")
    axes.plot(temperatures, magnetisation, "o", markersize=4, label="100 × 100 spins")
    axes.set(title="Magnetisation", xlabel="temperature (J/k)", ylabel="mean of the spins")
    axes.legend()
    for ax, wanted in zip(right.subplots(3, 1), (1.6, 2.3, 3.1)):
        i = np.argmin(np.abs(temperatures - wanted))
        ax.imshow(pictures[i], cmap="cividis", vmin=-1, vmax=1)
        ax.set_title(f"T = {temperatures[i]:.2f} J/k", fontsize="medium")
        ax.set_axis_off()


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
