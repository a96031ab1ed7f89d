"""Images: noise is removed and edges stay, by a bilateral filter.

Each pixel becomes a mean of those around it, which count the less the farther away and the more
different they are. The picture is Shepp and Logan's, with which scanners are tested: ellipses of
equal brightness.
"""

import ingot
import numpy as np

ELLIPSES = (  # brightness, half axes, centre, angle in degrees
    (1.0, 0.69, 0.92, 0.0, 0.0, 0), (-0.8, 0.6624, 0.874, 0.0, -0.0184, 0), (-0.2, 0.11, 0.31, 0.22, 0.0, -18),
    (-0.2, 0.16, 0.41, -0.22, 0.0, 18), (0.1, 0.21, 0.25, 0.0, 0.35, 0), (0.1, 0.046, 0.046, 0.0, 0.1, 0),
    (0.1, 0.046, 0.046, 0.0, -0.1, 0), (0.1, 0.046, 0.023, -0.08, -0.605, 0), (0.1, 0.023, 0.023, 0.0, -0.606, 0),
    (0.1, 0.023, 0.046, 0.06, -0.605, 0),
)  # fmt: skip


@ingot.jit
def bilateral(image, reach, distance, contrast):
    """The filtered image; how much a neighbour counts falls over a distance in pixels, and over a
    contrast."""
    height, width = image.shape
    out = np.empty_like(image)
    for y in ingot.prange(height):
        for x in range(width):
            total = weights = 0.0
            for j in range(max(0, y - reach), min(height, y + reach + 1)):
                for i in range(max(0, x - reach), min(width, x + reach + 1)):
                    apart = ((i - x) ** 2 + (j - y) ** 2) / distance**2
                    unlike = ((image[j, i] - image[y, x]) / contrast) ** 2
                    weight = np.exp(-0.5 * (apart + unlike))
                    total += weight * image[j, i]
                    weights += weight
            out[y, x] = total / weights
    return out


def phantom(size):
    y, x = np.mgrid[1 : -1 : size * 1j, -1 : 1 : size * 1j]
    image = np.zeros((size, size))
    for brightness, a, b, x0, y0, angle in ELLIPSES:
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        p, q = (x - x0) * c + (y - y0) * s, (y - y0) * c - (x - x0) * s
        image[(p / a) ** 2 + (q / b) ** 2 <= 1] += brightness
    return image


def run(size=256, noise=0.08):
    clean = phantom(size)
    noisy = clean + noise * np.random.default_rng(2).normal(size=clean.shape)
    return clean, noisy, bilateral(bilateral(noisy, 6, 3.0, 0.25), 6, 3.0, 0.08)


def draw(figure, clean, noisy, filtered):
    axes = figure.subplots(1, 2, sharey=True)
    for ax, image, name in zip(axes, (noisy, filtered), ("with noise", "filtered twice")):
        error = np.sqrt(np.mean((image - clean) ** 2))
        shown = ax.imshow(image, cmap="gray", vmin=-0.05, vmax=0.55)
        ax.set(title=f"{name}: error {error:.3f}", xlabel="x (pixels)")
    axes[0].set_ylabel("y (pixels)")
    figure.colorbar(shown, ax=axes, label="brightness", shrink=0.75, extend="both")


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
