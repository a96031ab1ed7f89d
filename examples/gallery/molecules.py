"""Molecules: a gas of argon in two dimensions is cooled, and condenses into drops.

Atoms attract each other from afar and repel when near: Lennard and Jones's potential. Lengths are
in units of the atom's diameter, energies in depths of the potential, times in units of both (2.2
ps for argon).
"""

import ingot
import numpy as np


def forces(x, y, box):
    """The force on each atom, of all others in a periodic box, and the potential energy of
    each."""
    fx, fy, energy = np.empty(len(x)), np.empty(len(x)), np.empty(len(x))
    for i in ingot.prange(len(x)):
        dx, dy = x[i] - x, y[i] - y
        dx -= box * np.round(dx / box)
        dy -= box * np.round(dy / box)
        square = dx * dx + dy * dy
        square[i] = np.inf  # an atom does not push itself
        s = 1 / (square * square * square)
        push = 24 * s * (2 * s - 1) / square
        fx[i], fy[i] = np.sum(push * dx), np.sum(push * dy)
        energy[i] = 2 * np.sum(s * (s - 1))
    return fx, fy, energy


@ingot.jit
def simulate(x, y, vx, vy, box, steps, dt, temperature):
    """Verlet's method in place, with a thermostat; returns the energy and temperature after each
    step."""
    record = np.empty((steps, 2))
    fx, fy, energy = forces(x, y, box)
    for t in range(steps):
        vx += 0.5 * dt * fx
        vy += 0.5 * dt * fy
        x += dt * vx
        y += dt * vy
        fx, fy, energy = forces(x, y, box)
        vx += 0.5 * dt * fx
        vy += 0.5 * dt * fy
        now = 0.5 * np.mean(vx * vx + vy * vy)
        record[t] = np.mean(energy), now
        scale = np.sqrt(1 + 0.01 * (temperature / now - 1))
        vx *= scale
        vy *= scale
    return record


def gas(atoms, spacing, rng):
    """Atoms on a square lattice in a box, with speeds of temperature 1."""
    side = int(np.sqrt(atoms))
    x, y = (spacing * (np.indices((side, side)).reshape(2, -1) + 0.5)).copy()
    return x, y, *rng.normal(size=(2, side * side)), side * spacing


def run(atoms=900, steps=6000):
    *state, box = gas(atoms, 1.9, np.random.default_rng(1))
    record = simulate(*state, box, steps, 0.004, 0.35)
    return (*state[:2], box, forces(*state[:2], box)[2], record)


def draw(figure, x, y, box, energy, record):
    drops, course = figure.subplots(1, 2, width_ratios=(1, 1.1))
    dots = drops.scatter(x % box, y % box, c=energy, s=9, cmap="viridis_r", linewidth=0)
    drops.set(title="Atoms at the end", xlabel="x (σ)", ylabel="y (σ)", aspect="equal")
    figure.colorbar(
        dots, ax=drops, label="energy of an atom (ε)", orientation="horizontal", shrink=0.8
    )
    time = 0.004 * 2.2 * np.arange(len(record))
    course.plot(time, record, label=("potential energy (ε)", "temperature (ε/k)"))
    course.set(title="Cooled to 42 K", xlabel="time (ps)", ylabel="mean of an atom")
    course.legend()


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
