"""Elements that loops accumulate in are carried in registers (`carry`): values, writes and exceptions stay those of Python."""

import numpy as np
import pytest

import ingot
from support import check

S = np.linspace(-1.0, 1.0, 600).reshape(20, 30)


def rows(a, out):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            out[i] += a[i, k]


def columns(a, out):
    for k in range(a.shape[1]):
        for i in range(a.shape[0]):
            out[k] = out[k] * 0.5 + a[i, k]


def neighbours(a, out):
    """What is added depends on an element next to it."""
    for i in range(1, a.shape[0]):
        for k in range(a.shape[1]):
            out[i] += a[i, k] * out[i - 1]


def several(a, out):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            out[0] += a[i, k]
            out[1] *= 1.0001
            out[0] -= out[1]
        out[0] *= 2


def in_branches(a, out):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            if a[i, k] > 0.5:
                out[i] += a[i, k]


def triangles(a, out):
    for i in range(a.shape[0]):
        for j in range(min(i, a.shape[1])):
            for k in range(j):
                out[i] += a[i, k] * a[k % 20, j]


def left(a, out):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            if a[i, k] > 0.75:
                break
            out[i] += a[i, k]


def stored_first(a, out):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            out[i] = a[i, k]
            out[i] += 1


@pytest.mark.parametrize("f", [rows, columns, neighbours, several, in_branches, triangles, left, stored_first])
def test_programs(f):
    for shape in ((20, 30), (20, 0), (0, 30), (1, 1), (2, 9)):
        check(f, S[: shape[0], : shape[1]].copy(), np.ones(30))


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "u8", "c8", "?"])
def test_dtypes(dtype):
    check(rows, np.arange(600).reshape(20, 30).astype(dtype), np.ones(30, dtype))


def test_memory_that_is_shared():
    def row(n):
        a = np.arange(400.0).reshape(20, 20)
        return a, a[n]

    def repeated():
        a = np.arange(400.0).reshape(20, 20)
        return a, np.lib.stride_tricks.as_strided(a[0], (20,), (0,))

    def overlapping():
        x = np.arange(60.0)
        return x[:40].reshape(2, 20), x[30:50]

    for given in (lambda: row(3), lambda: row(19), repeated, overlapping, lambda: (S[::-1, ::-2], np.ones(40)[::2])):
        for f in (rows, columns, neighbours):
            own, mine = given(), given()
            f(*own)
            ingot.jit(f)(*mine)
            assert all(x.tobytes() == y.tobytes() for x, y in zip(own, mine)), f


def windows(c, n):
    for k in range(n):
        c[0, 1] += 1
        c[1, 0] += c[0, 1]


def test_elements_of_windows():
    """Other indices may be the same location."""
    for strides in ((8, 8), (0, 8), (8, 0), (16, 8)):
        own, mine = np.zeros(8), np.zeros(8)
        windows(np.lib.stride_tricks.as_strided(own, (2, 2), strides), 9)
        ingot.jit(windows)(np.lib.stride_tricks.as_strided(mine, (2, 2), strides), 9)
        assert np.array_equal(own, mine), strides


def at(x, out, n, i):
    for k in range(n):
        out[i] += x[k]


def at_two(x, out, i, j):
    for k in range(len(x)):
        out[i] += x[k]
        out[j] *= 1.01


def test_elements_that_are_not_there():
    """A loop without iterations touches none."""
    check(at, np.ones(5), np.ones(0), 0, 7)
    check(at, np.ones(50), np.ones(30), 40, 7)
    check(at, np.ones(50), np.ones(30), 40, -3)
    with pytest.raises(IndexError):
        ingot.jit(at)(np.ones(50), np.ones(3), 40, 7)


def test_elements_that_may_be_one():
    for i, j in ((1, 1), (1, -3), (1, 2), (-1, 3)):
        check(at_two, np.linspace(0, 1, 100), np.ones(4), i, j)


def test_derivatives():
    def total(a):
        out = np.zeros(a.shape[0])
        for i in range(a.shape[0]):
            for k in range(a.shape[1]):
                out[i] += a[i, k] * a[i, k]
        return out.sum()

    assert np.array_equal(ingot.grad(total)(S), 2 * S)
    assert np.allclose(ingot.jvp(total, (S,), (np.ones_like(S),))[1], (2 * S).sum())
