"""Fluids: the street of vortices downstream of a cylinder, by the lattice Boltzmann method.

Each cell has nine populations of particles, which move to the neighbours and collide. The wind
comes from the left; the cylinder throws particles back. Lengths are in cells, times in steps.
"""

import ingot
import numpy as np

EX = (0, 1, 0, -1, 0, 1, -1, -1, 1)
EY = (0, 0, 1, 0, -1, 1, 1, -1, -1)
BACK = (0, 3, 4, 1, 2, 7, 8, 5, 6)
WEIGHT = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)


def equilibrium(k, density, ux, uy):
    along = EX[k] * ux + EY[k] * uy
    return WEIGHT[k] * density * (1 + 3 * along + 4.5 * along * along - 1.5 * (ux * ux + uy * uy))


def step(old, new, solid, wind, rate):
    """Particles of `old` move and collide; those that come in from the left have the speed of the
    wind."""
    height, width = solid.shape
    for y in ingot.prange(height):
        for x in range(1, width - 1):
            density = ux = uy = 0.0
            for k in range(9):
                came = old[k, (y - EY[k]) % height, x - EX[k]]
                new[k, y, x] = came
                density += came
                ux += came * EX[k]
                uy += came * EY[k]
            ux, uy = ux / density, uy / density
            if solid[y, x]:
                for k in range(9):
                    new[k, y, x] = old[BACK[k], (y + EY[k]) % height, x + EX[k]]
            else:
                for k in range(9):
                    new[k, y, x] += rate * (equilibrium(k, density, ux, uy) - new[k, y, x])
    new[:, :, -1] = new[:, :, -2]
    for k in range(9):
        new[k, :, 0] = equilibrium(k, 1.0, wind, 0.0)


@ingot.jit
def flow(f, solid, wind, rate, steps):
    """The velocities after so many steps (an even number), which change `f`."""
    other = np.empty_like(f)
    for _ in range(steps // 2):
        step(f, other, solid, wind, rate)
        step(other, f, solid, wind, rate)
    density = f.sum(axis=0)
    ux = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) / density
    uy = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) / density
    return np.where(solid, 0.0, ux), np.where(solid, 0.0, uy)


def channel(height, width, wind):
    y, x = np.mgrid[:height, :width]
    solid = (x - width / 5) ** 2 + (y - height / 2 + 1) ** 2 < (height / 10) ** 2
    sway = 0.2 * wind * np.sin(2 * np.pi * x / width)  # else both sides would stay the same
    f = np.stack([equilibrium(k, 1.0, wind, sway) for k in range(9)])
    return f, solid


def run(height=120, width=360, steps=20000, wind=0.1):
    f, solid = channel(height, width, wind)
    return *flow(f, solid, wind, 1.8, steps), solid


def draw(figure, ux, uy, solid):
    axes = figure.subplots()
    spin = np.gradient(uy, axis=1) - np.gradient(ux, axis=0)
    image = axes.imshow(np.where(solid, np.nan, spin), cmap="RdBu_r", vmin=-0.02, vmax=0.02)
    axes.set(
        title="Vortices downstream of a cylinder, Reynolds number 130",
        xlabel="x (cells)",
        ylabel="y (cells)",
    )
    figure.colorbar(
        image,
        ax=axes,
        label="vorticity (1/step)",
        orientation="horizontal",
        shrink=0.5,
        ticks=(-0.02, 0, 0.02),
    )


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
