"""Oceans: after weeks of west wind the Pacific is 20 m too deep in its middle. Where does the
warm water go?

Shallow water on a plane that turns, faster away from the equator: a Kelvin wave goes east along
the equator and splits at the coast of America, slow Rossby waves go west. El Niño begins so. The
code is NumPy's, slices written in place, and gives NumPy's bits.
"""

import ingot
import numpy as np

GRAVITY, DEPTH = 0.04, 150.0  # m/s², of the light water on top; m
BETA = 2.3e-11  # 1/(m s): how fast the plane's rotation grows with the distance from the equator
CELL, STEP = 25e3, 3600.0  # m, s


@ingot.jit
def waves(h, u, v, steps):
    """Depth at the cells' centres, speeds at their sides, changed in place by so many steps."""
    rows = len(h)
    fu = BETA * CELL * (np.arange(rows) - (rows - 1) / 2)[:, None]
    fv = 0.5 * (fu[1:] + fu[:-1])
    slope, stretch = GRAVITY * STEP / CELL, DEPTH * STEP / CELL
    for _ in range(steps):
        north = 0.25 * (v[:-1, :-1] + v[1:, :-1] + v[:-1, 1:] + v[1:, 1:])
        u[:, 1:-1] += STEP * fu * north - slope * (h[:, 1:] - h[:, :-1])
        east = 0.25 * (u[:-1, :-1] + u[:-1, 1:] + u[1:, :-1] + u[1:, 1:])
        v[1:-1] -= STEP * fv * east + slope * (h[1:] - h[:-1])
        h -= stretch * (u[:, 1:] - u[:, :-1] + v[1:] - v[:-1])


def pacific(rows, columns):
    """A bulge on the equator, in water at rest."""
    y, x = (np.mgrid[:rows, :columns] + 0.5) * CELL
    x, y = x - 0.4 * columns * CELL, y - 0.5 * rows * CELL
    h = 20 * np.exp(-((x / 1.2e6) ** 2) - (y / 4e5) ** 2)
    return h, np.zeros((rows, columns + 1)), np.zeros((rows + 1, columns))


def run(rows=240, columns=560, days=30):
    h, u, v = pacific(rows, columns)
    depths = [h.copy()]
    for _ in range(3):
        waves(h, u, v, days * 24)
        depths.append(h.copy())
    return depths, days


def draw(figure, depths, days):
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    extent = (
        np.array([0, depths[0].shape[1], -depths[0].shape[0] / 2, depths[0].shape[0] / 2])
        * CELL
        / 1e6
    )
    for n, (ax, depth) in enumerate(zip(axes.flat, depths)):
        image = ax.imshow(depth, origin="lower", extent=extent, cmap="RdBu_r", vmin=-8, vmax=8)
        ax.set(title=f"Day {n * days}", ylim=(-2, 2))
        ax.axhline(0, color="gray", linewidth=0.5)
    figure.supylabel("north of the equator (1000 km)", fontsize="medium")
    figure.supxlabel("east of the coast of Asia (1000 km)", fontsize="medium")
    figure.colorbar(image, ax=axes, label="depth, above the mean (m)", extend="both")


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
