"""Neurons: a thousand cells that fire, and find a rhythm together.

Izhikevich's model (IEEE Transactions on Neural Networks 14, 2003): 800 cells excite the others,
200 inhibit them, all get noise. Each has a voltage v (mV) and a recovery u; it fires at 30 mV.
Spikes are collected in lists.
"""

import ingot
import numpy as np


@ingot.jit
def simulate(weights, noise, a, b, c, d, milliseconds, rng):
    """The time and the cell of each spike. Row i of the weights is what a spike of cell i gives
    to the others."""
    v, u = np.full(len(a), -65.0), -65.0 * b
    times, cells = [], []
    for t in range(milliseconds):
        current = noise * rng.normal(size=len(a))
        for i in range(len(a)):
            if v[i] >= 30:
                times.append(t)
                cells.append(i)
                v[i] = c[i]
                u[i] += d[i]
                current += weights[i]
        for _ in range(2):  # half a millisecond each
            v += 0.5 * (0.04 * v * v + 5 * v + 140 - u + current)
        u += a * (b * v - u)
    return np.array(times), np.array(cells)


def network(excite, inhibit, rng):
    """Weights and the parameters of all cells, no two alike."""
    p, q = rng.random(excite), rng.random(inhibit)
    a = np.concatenate((np.full(excite, 0.02), 0.02 + 0.08 * q))
    b = np.concatenate((np.full(excite, 0.2), 0.25 - 0.05 * q))
    c = np.concatenate((-65 + 15 * p**2, np.full(inhibit, -65.0)))
    d = np.concatenate((8 - 6 * p**2, np.full(inhibit, 2.0)))
    cells = excite + inhibit
    weights = (
        rng.random((cells, cells))
        * np.repeat([0.5, -1.0], [excite, inhibit])[:, None]
        * 1000
        / cells
    )
    return weights, np.repeat([5.0, 2.0], [excite, inhibit]), a, b, c, d


def run(excite=800, inhibit=200, milliseconds=1000):
    rng = np.random.default_rng(5)
    return *simulate(*network(excite, inhibit, rng), milliseconds, rng), excite, milliseconds


def draw(figure, times, cells, excite, milliseconds):
    raster, rate = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    exciting = cells < excite
    raster.plot(times[exciting], cells[exciting], ".", markersize=1.5, label="exciting")
    raster.plot(times[~exciting], cells[~exciting], ".", markersize=1.5, label="inhibiting")
    raster.set(title="Spikes of 1000 cells", ylabel="cell")
    raster.legend(loc="upper right", markerscale=6, framealpha=0.9)
    rate.fill_between(
        np.arange(milliseconds),
        np.bincount(times, minlength=milliseconds),
        step="mid",
        linewidth=0,
    )
    rate.set(xlabel="time (ms)", ylabel="spikes a ms", xlim=(0, milliseconds), ylim=0)


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
