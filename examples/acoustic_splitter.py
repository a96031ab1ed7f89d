"""A plate that sorts sound by pitch, found by the derivative of a wave solver that writes in place.

A loudspeaker sends a low and a high tone into a room of 1.5 m by 1 m. A plate is in the middle; in each of its 4200 cells
sound may be as fast as in air or half as fast. Where must it be slow, for a microphone in one corner to hear the low tone
alone, and one in the other corner the high tone? The solver is a loop over slices that are written in place, as one would
write it for NumPy; `ingot.value_and_grad` goes back through all of its steps. It takes some ten seconds.

    python examples/acoustic_splitter.py [docs/images/acoustic_splitter.png]
"""

import sys
import time

import ingot
import numpy as np
from timing import show_times

HEIGHT, WIDTH, STEPS = 100, 150, 480  # cells of 1 cm, steps of 17.5 µs
FAST, SLOW = 0.6, 0.3  # cells a step: 343 m/s and half of it
PERIODS = (26.0, 18.0)  # steps: tones of 2.2 and 3.2 kHz
CELL, STEP = 0.01, 0.6 * 0.01 / 343  # m, s


def walls(height, width, depth=14):
    """How strongly each cell damps waves: nothing inside, more and more towards the walls, so that they do not echo."""
    i, j = np.ogrid[:height, :width]
    inwards = np.minimum(np.minimum(i, height - 1 - i), np.minimum(j, width - 1 - j))
    return 0.15 * np.clip(1 - inwards / depth, 0, 1) ** 2


def speeds(design, drag):
    """The speed of sound in each cell. Neighbours are mixed, so that no detail is finer than a wave can see."""
    for _ in range(2):
        d = np.pad(design, 1, mode="edge")
        design = (d[1:-1, 1:-1] + d[:-2, 1:-1] + d[2:, 1:-1] + d[1:-1, :-2] + d[1:-1, 2:]) / 5
    speed = np.full(drag.shape, FAST)
    top, left = (drag.shape[0] - design.shape[0]) // 2, (drag.shape[1] - design.shape[1]) // 2
    speed[top : top + design.shape[0], left : left + design.shape[1]] = FAST + (SLOW - FAST) / (1 + np.exp(-4 * design))
    return speed


def sound(speed, period, steps, drag):
    """The pressure after all steps of a tone, and what the two microphones have heard of it."""
    (height, width), heard, before, now = drag.shape, np.zeros(2), np.zeros(drag.shape), np.zeros(drag.shape)
    square, inside = speed[1:-1, 1:-1] ** 2, drag[1:-1, 1:-1]
    for t in range(steps):
        p = now[1:-1, 1:-1]
        bend = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4 * p
        before[1:-1, 1:-1] = (2 * p - (1 - inside) * before[1:-1, 1:-1] + square * bend) / (1 + inside)
        before[height // 2, 15] += np.sin(2 * np.pi * t / period) * min(1.0, t / (3 * period))
        before, now = now, before
        if t >= steps // 2:
            for k, row in enumerate((3 * height // 10, 7 * height // 10)):
                heard[k] += np.sum(now[row - 3 : row + 4, width - 15] ** 2)
    return now, heard


def loss(design, steps, drag):
    """Small where each microphone hears its own tone: alone, and, with less weight, loud."""
    total, speed = 0.0, speeds(design, drag)
    for own, period in enumerate(PERIODS):
        heard = sound(speed, period, steps, drag)[1]
        total -= np.log(heard[own] / (heard[0] + heard[1])) + 0.1 * np.log(heard[own])
    return total


value, gradient = ingot.jit(loss), ingot.value_and_grad(loss)


def optimise(design, steps, drag, iterations, rate=0.15):
    """The design after some iterations of Adam, and the loss before each."""
    losses, mean, square = [], np.zeros_like(design), np.zeros_like(design)
    for n in range(1, iterations + 1):
        now, slope = gradient(design, steps, drag)
        losses.append(now)
        mean += 0.1 * (slope - mean)
        square += 0.01 * (slope**2 - square)
        design = design - rate * (mean / (1 - 0.9**n)) / (np.sqrt(square / (1 - 0.99**n)) + 1e-9)
    return design, losses


def shares(design, steps, drag):
    """Of what both microphones hear of each tone, the part of the right one; and the pressures."""
    tones = [ingot.jit(sound)(speeds(design, drag), period, steps, drag) for period in PERIODS]
    return [heard[own] / heard.sum() for own, (_, heard) in enumerate(tones)], [now for now, _ in tones]


def draw(design, drag, own, waves, path):
    import matplotlib.pyplot as plt

    figure, (plate, *rooms) = plt.subplots(1, 3, figsize=(12, 4.1), layout="constrained")
    speed, grid = speeds(design, drag), {"extent": (0, WIDTH * CELL, HEIGHT * CELL, 0), "interpolation": "nearest"}
    image = plate.imshow(speed * CELL / STEP, cmap=plt.get_cmap("cividis", 24), **grid)
    figure.colorbar(image, ax=plate, label="speed of sound (m/s)", orientation="horizontal", shrink=0.8)
    plate.set(title=f"Speed in a plate of {design.size} cells", ylabel="y (m)")
    for ax, wave, part, period, row, name in zip(rooms, waves, own, PERIODS, (0.3, 0.7), ("Low", "High")):
        image = ax.imshow(wave / np.quantile(np.abs(wave), 0.98), cmap=plt.get_cmap("RdBu", 24), vmin=-1, vmax=1, **grid)
        ax.contour(speed, [(FAST + SLOW) / 2], colors="black", linewidths=0.6, extent=grid["extent"])
        ax.plot(0.15, 0.5, "k*", 1.35, row, "ko", markersize=9, markerfacecolor="gold")
        ax.set_title(f"{name} tone, {1e-3 / period / STEP:.1f} kHz: {part:.1%} heard at the dot")
    figure.colorbar(image, ax=rooms, label="pressure at the end (arbitrary units)", orientation="horizontal", shrink=0.4)
    plt.setp((plate, *rooms), xlabel="x (m)")
    figure.savefig(path, dpi=80, pil_kwargs={"optimize": True})


def main():
    drag, design = walls(HEIGHT, WIDTH), np.zeros((60, 70))
    show_times((design, STEPS, drag), value=value, value_and_gradient=gradient)
    start = time.perf_counter()
    design, losses = optimise(design, STEPS, drag, 60)
    print(f"{len(losses)} iterations in {time.perf_counter() - start:.1f} s: loss {losses[0]:.3f} to {losses[-1]:.3f}")
    own, waves = shares(design, STEPS, drag)
    print(f"heard at the right microphone: low tone {own[0]:.2%}, high tone {own[1]:.2%}")
    if len(sys.argv) > 1:
        draw(design, drag, own, waves, sys.argv[1])


if __name__ == "__main__":
    main()
