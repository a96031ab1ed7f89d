"""Compiled functions of a module, for engines that move them to other processes by their names."""

import ingot
import numpy as np


@ingot.jit
def smooth(block):
    out = block.copy()
    out[1:-1] = (block[:-2] + block[1:-1] + block[2:]) / 3
    return out


@ingot.jit
def root(x):
    if x < 0:
        raise ValueError("a negative number")
    return x**0.5


@ingot.vectorize
def limited(a, highest):
    return a if a < highest else highest


@ingot.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def spread(row, out):
    out[0] = row.max() - row.min()


@ingot.jit
def threads_and_total(x):
    total = 0.0
    for i in ingot.prange(len(x)):
        total += np.sqrt(x[i])
    return total


def how_compiled(function):
    """The reasons why a function was compiled, where it has been."""
    return [each.why for each in function.specialisations]


def threads():
    return ingot.get_num_threads()
