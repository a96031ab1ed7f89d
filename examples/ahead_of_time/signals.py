"""Functions for programs in C, C++ and Fortran: `python -m ingot build signals.py -o built`."""

import numpy as np

import ingot

__version__ = "1.2.0"

WEIGHTS = np.array([0.25, 0.5, 0.25])  # a constant of the library


@ingot.jit("float64(float64[:], int64)")
def moment(x, order):
    """The central moment of this order."""
    if len(x) == 0:
        raise ValueError("there are no samples")
    return np.mean((x - np.mean(x)) ** order)


@ingot.export("float64[:](float64[::1])")
def smoothed(x):
    """Each sample with its neighbours, by weights."""
    padded = np.concatenate((x[:1], x, x[-1:]))
    return WEIGHTS[0] * padded[:-2] + WEIGHTS[1] * padded[1:-1] + WEIGHTS[2] * padded[2:]


@ingot.export("(float64[:, :], float64)")
@ingot.export("(float32[:, :], float32)", name="normalize_f32")
@ingot.jit
def normalize(rows, floor):
    """Divides each row by its norm, in place. Returns the number of rows that are shorter than `floor`, and the longest norm."""
    short = 0
    longest = rows.dtype.type(0)
    for i in range(rows.shape[0]):
        norm = np.sqrt(np.sum(rows[i] * rows[i]))
        longest = max(longest, norm)
        if norm < floor:
            short += 1
        else:
            rows[i] /= norm
    return short, longest


@ingot.export("complex128[:](float64[:], complex128)")
def rotated(x, factor):
    """Samples as complex numbers, the next one turned by `factor` once more."""
    result = np.empty(len(x), np.complex128)
    turn = 1 + 0j
    for i in range(len(x)):
        result[i] = turn * x[i]
        turn *= factor
    return result


@ingot.export("float64(float64[:, ::1])")
def energy(field):
    """The sum of squares, by threads."""
    total = 0.0
    for i in ingot.prange(field.shape[0]):
        row = 0.0
        for j in range(field.shape[1]):
            row += field[i, j] * field[i, j]
        total += row
    return total
