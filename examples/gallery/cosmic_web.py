"""Cosmology: how gravity makes a web of almost even matter in two dimensions, by a mesh.

The particle-mesh method: particles are spread to a mesh, the potential is found by Fourier
transforms, and the particles fall. The universe is flat and full of matter; the clock is its
scale a, today 1. Lengths are in cells.
"""

import ingot
import numpy as np


def spread(x, y, n):
    """The density on a periodic mesh, its mean 1 where there is a particle for each cell: clouds
    in cells."""
    density = np.zeros((n, n))
    for p in range(len(x)):
        i, j = int(x[p]), int(y[p])
        s, t = x[p] - i, y[p] - j
        i, j, k, m = i % n, j % n, (i + 1) % n, (j + 1) % n
        density[i, j] += (1 - s) * (1 - t)
        density[k, j] += s * (1 - t)
        density[i, m] += (1 - s) * t
        density[k, m] += s * t
    return density


def pull(density, kx, ky):
    """The acceleration at each point of the mesh: minus the gradient of the potential."""
    square = kx * kx + ky * ky
    square[0, 0] = 1.0
    potential = -np.fft.rfft2(density - density.mean()) / square
    ax, ay = -1j * kx * potential, -1j * ky * potential
    return np.fft.irfft2(ax, density.shape), np.fft.irfft2(ay, density.shape)


def at(field, x, y, p):
    n = len(field)
    i, j = int(x[p]), int(y[p])
    s, t = x[p] - i, y[p] - j
    i, j, k, m = i % n, j % n, (i + 1) % n, (j + 1) % n
    low, high = (1 - s) * field[i, j] + s * field[k, j], (1 - s) * field[i, m] + s * field[k, m]
    return (1 - t) * low + t * high


@ingot.jit
def evolve(x, y, px, py, kx, ky, start, end, steps):
    """Particles and their momenta, moved in place from one scale of the universe to another;
    their density."""
    n, da = len(kx), (end - start) / steps
    for step in range(steps):
        a = start + step * da
        ax, ay = pull(1.5 / a * spread(x, y, n), kx, ky)
        kick, drift = np.sqrt(a) * da, da / (a + 0.5 * da) ** 1.5
        for p in ingot.prange(len(x)):
            px[p] += kick * at(ax, x, y, p)
            py[p] += kick * at(ay, x, y, p)
            x[p] = (x[p] + drift * px[p]) % n
            y[p] = (y[p] + drift * py[p]) % n
    return spread(x, y, n)


def young(n, start, rng):
    """A particle for each cell, moved a little by a random field of waves, and the wave
    numbers."""
    kx, ky = 2 * np.pi * np.fft.fftfreq(n)[:, None], 2 * np.pi * np.fft.rfftfreq(n)[None, :]
    k = np.hypot(kx, ky)
    k[0, 0] = np.inf
    waves = np.fft.rfft2(rng.normal(size=(n, n))) * 2.5 * k**-0.6 * np.exp(-((k * 1.5) ** 2))
    psi = np.stack(
        [np.fft.irfft2(1j * component / k**2 * waves) for component in (kx, ky)]
    ).reshape(2, -1)
    places = (np.indices((n, n)).reshape(2, -1) + start * psi) % n
    return *places, *(start**1.5 * psi), kx, ky


def run(n=320, steps=120):
    return (evolve(*young(n, 0.02, np.random.default_rng(9)), 0.02, 1.0, steps),)


def draw(figure, density):
    axes = figure.subplots()
    n = len(density)
    coarse = density.reshape(n // 2, 2, n // 2, 2).mean(axis=(1, 3))
    image = axes.imshow(
        np.log10(coarse + 0.1), cmap="inferno", vmin=-0.9, vmax=1.3, extent=(0, n, n, 0)
    )
    axes.set(title=f"{density.size:,} particles, today", xlabel="x (cells)", ylabel="y (cells)")
    figure.colorbar(image, ax=axes, label="logarithm of density over its mean")


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
