"""`prange` is taken where the turns are shown to be independent, and refused, with both places, elsewhere."""

import numpy as np
import pytest

import ingot
from ingot import prange


def shift(x, y):
    for i in prange(len(x)):
        y[i] = 2 * x[i]


def total(x):
    s = 0.0
    for i in prange(len(x)):
        s += x[i]
    return s


def rows(x, y):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + 1


def neighbours(x):
    for i in prange(1, len(x)):
        x[i] = x[i - 1] + 1


def folded(x, y):
    for i in prange(len(x)):
        y[i % 4] += x[i]


@pytest.mark.parametrize("function", [shift, rows])
def test_independent_turns(function):
    x = np.arange(12.0).reshape(3, 4) if function is rows else np.arange(12.0)
    y, z = np.zeros_like(x), np.zeros_like(x)
    function(x, y)
    ingot.jit(function)(x, z)
    assert (y == z).all()


def test_a_reduction():
    assert ingot.jit(total)(np.arange(10.0)) == 45.0


@pytest.mark.parametrize("function, arguments", [(neighbours, 1), (folded, 2)])
def test_races_are_refused(function, arguments):
    with pytest.raises(ingot.UnsupportedError, match=r"prange loop whose turns may depend(.|\n)*test_prange.py:\d+"):
        ingot.jit(function)(*[np.zeros(8) for _ in range(arguments)])


def test_overlapping_arguments_are_refused():
    x = np.zeros(9)
    with pytest.raises(ingot.UnsupportedError, match="prange"):
        ingot.jit(shift)(x[:-1], x[1:])
