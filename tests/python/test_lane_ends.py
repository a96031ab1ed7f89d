"""Loops in lanes end where their arrays do: the last lanes load and store nothing outside of them, in every kind of code (INGOT_VECTORS)."""

import ctypes
import mmap

import numpy as np
import pytest

import ingot
from support import KINDS, need_vectors

PAGE = mmap.PAGESIZE
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 19, 31, 32, 33, 34, 35, 47, 61, 62, 63, 64, 65, 67, 95, 97, 129)
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "float32", "int64", "float64", "complex64", "complex128")


class Fenced:
    """Memory between two pages that must not be touched."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 4 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        for offset in (0, 3 * PAGE):
            assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + offset), PAGE, 0) == 0

    def copy_of(self, values, at_end):
        offset = 3 * PAGE - values.nbytes if at_end else PAGE
        array = np.frombuffer(self.memory, values.dtype, values.size, offset).reshape(values.shape)
        array[...] = values
        return array


def copied(x, y):
    for i in range(len(x)):
        y[i] = x[i]


def added(x, y):
    for i in range(len(x)):
        y[i] += x[i]


def summed(x, y):
    y[...] = y + x.sum()


def chosen(x, y):
    y[...] = np.where(x == y, x, y * x)


def stored_in_some(x, y):
    for i in range(len(x)):
        if x[i] != 0:
            y[i] = x[i]


def widened(x, y):
    y[...] = (x.astype(np.complex128) * 2).real.astype(y.dtype)


def rotated(x, y):
    for i in range(len(x)):
        first = x[i, 0]
        y[i, 0] = x[i, 2]
        y[i, 2] = x[i, 1]
        y[i, 1] = first


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_last_lanes_touch_nothing_outside(dtype, kind, monkeypatch):
    need_vectors(kind)
    monkeypatch.setenv("INGOT_VECTORS", kind)
    rng = np.random.default_rng(len(dtype))
    first, second = Fenced(), Fenced()
    for function in (copied, added, summed, chosen, stored_in_some, widened, rotated):
        if dtype == "bool" and function in (added, summed):
            continue
        compiled = ingot.jit(function, tier="full")
        for length in LENGTHS:
            shape = (length, 3) if function is rotated else length
            x, y = (rng.integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype) for _ in range(2))
            expected = y.copy()
            function(x, expected)
            for at_end in (False, True):
                found = second.copy_of(y, at_end)
                compiled(first.copy_of(x, at_end), found)
                assert found.tobytes() == expected.tobytes(), (function.__name__, length, at_end)
