"""Assignments to slices whose values are read from other parts of the array: whether rows overlap is found when the call runs, so
lengths here go from none over one chunk to several blocks (src/transform/arrays/in_place.cpp)."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
from support import check, jitted, windows

LENGTHS = [0, 1, 2, 7, 2047, 2049, 5000, 140_001]


def numbers(*shape, dtype="f8"):
    return (np.arange(np.prod(shape)).reshape(shape) % 251 + 1).astype(dtype)


def move(x, to, start, count):
    x[to : to + count] = x[start : start + count] * 2 - 1


def add_behind(x, by):
    x[by:] += x[: len(x) - by]


def add_ahead(x, by):
    x[: len(x) - by] += x[by:]


def both_sides(x):
    x[1:-1] = (x[:-2] + x[2:]) / 2


def reversed_(x):
    x[:] = x[::-1] + x


def half(x):
    x[: len(x) // 2] = x[::2][: len(x) // 2]


def downwards(x):
    x[:0:-1] = x[-2::-1] + 1


@pytest.mark.rotated(2)
@pytest.mark.sampled(12)
@pytest.mark.parametrize("n", LENGTHS)
def test_lines(n):
    for function in (both_sides, reversed_, half, downwards):
        check(function, numbers(n))
    for by in {0, 1, 3, n // 2, max(n - 1, 0), n}:
        check(add_behind, numbers(n), by)
        check(add_ahead, numbers(n), by)
        check(move, numbers(n), by, 0, n - by)
        check(move, numbers(n), 0, by, n - by)
    check(both_sides, np.repeat(numbers(n), 2)[::2])
    check(both_sides, numbers(n)[::-1])


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f4", "c16"])
def test_dtypes(dtype):
    x = numbers(9000, dtype="i8").astype(dtype)

    def shift(x):
        x[5:] = x[:-5]
        x[:-3] = x[3:]

    check(shift, x)


def five_points(u):
    u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def columns(u):
    u[:, 1:] += u[:, :-1]


def eliminate(u):
    u[1:, 1:] -= u[1:, :1] * u[0, 1:]


def rows_apart(u, by):
    u[by:, :] -= u[: len(u) - by, ::-1]


def rest_of(u):
    k = u.shape[0] // 2
    u[k:] = u[0] + u[-1]


def turned(u):
    n = min(u.shape)
    u[:n, :n] += u[:n, :n].T


def nine_points(u):
    u[1:-1, 1:-1] = (
        u[:-2, :-2] + u[:-2, 1:-1] + u[:-2, 2:] + u[1:-1, :-2] + u[1:-1, 1:-1] + u[1:-1, 2:] + u[2:, :-2] + u[2:, 1:-1] + u[2:, 2:]
    )


def by_mean(u):
    u[:, :] = u - u.mean(axis=0) + u[::-1]


def first_row_to_all(u):
    u[:] = u[:1] + 1


SHAPES = [(0, 5), (5, 0), (1, 1), (3, 3), (40, 50), (5, 3000), (300, 700), (3000, 60), (70_000, 3)]


@pytest.mark.sampled(15)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", [five_points, nine_points, columns, eliminate, rest_of, turned, by_mean, first_row_to_all], ids=lambda f: f.__name__)
def test_planes(function, shape):
    bound = 1e-13
    check(function, numbers(*shape), bound=bound)
    check(function, np.asfortranarray(numbers(*shape)), bound=bound)
    check(function, numbers(*shape)[::-1, ::-1], bound=bound)
    check(function, np.repeat(numbers(*shape), 2, axis=1)[:, ::2], bound=bound)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [five_points, nine_points], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_stencils_are_vectors(function, dtype):
    text = ingot.jit(function, tier="full", cache=False).explain(np.ones((40, 40), dtype))
    loops = text[text.index("=== loop IR") : text.index("=== LLVM IR")].split("{schedule=")[1:]
    most = max(loop.count("= load ") for loop in loops)
    assert most >= 5
    assert any(loop.startswith("vector") and not loop.startswith("vector, width=1}") for loop in loops if loop.count("= load ") == most)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_are_disjoint(shape):
    for by in {0, 1, 2, shape[0] // 2, shape[0]}:
        check(rows_apart, numbers(*shape), by)


def volume(u, k):
    u[k:, 1:, :-1] = u[: len(u) - k, :-1, 1:] + u[0, 1:, :-1]


@pytest.mark.parametrize("shape", [(1, 4, 5), (9, 30, 40), (400, 20, 30)])
def test_volumes(shape):
    for k in (0, 1, 3):
        check(volume, numbers(*shape), min(k, shape[0]))


def triangle(a):
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, i:] -= a[k, i] * a[k, i:]


def test_rows_of_a_triangle():
    a = np.random.default_rng(3).normal(size=(30, 30)) / 30
    check(triangle, a, bound=1e-12)
    check(triangle, a[:, :20].copy(), bound=1e-12)
    check(triangle, np.asfortranarray(a), bound=1e-12)


def imaginary_parts(z, by):
    z.imag[:, by:] = z.real[:, : z.shape[1] - by] + np.abs(z[:, : z.shape[1] - by])
    z.real[by:] = np.abs(z)[: len(z) - by]


def bytes_of(x):
    x.view(np.uint8)[3:] = x.view(np.uint16)[:-1].astype(np.uint8).repeat(2)[: 2 * len(x) - 3]


@pytest.mark.rotated(5)
def test_parts_of_elements():
    for shape in [(1, 7), (3, 5), (70, 500), (5, 9000)]:
        for by in (0, 1, 2):
            check(imaginary_parts, numbers(*shape) * (1 + 2j), min(by, *shape), bound=1e-13)
    for n in (2, 50, 30_000):
        check(bytes_of, numbers(n, dtype="u2"))


def between(x, y):
    x[1:] = y[:-1] * 2
    y[:-1] += x[1:]


@pytest.mark.rotated(3)
def test_arguments_that_overlap():
    for n in (10, 6000, 150_000):
        for first in range(4):
            memory = numbers(n + 4)
            check(between, memory[first : first + n], memory[2 : 2 + n])


def one_more(x):
    x[1:] = x[:-1] + 1


@pytest.mark.parametrize("function", [jitted(one_more), jitted(one_more, "interpreted"), one_more])
def test_places_that_are_one(function):
    memory = numbers(30)
    function(windows(memory, (10, 4), (16, 8)))
    x = windows(numbers(30), (10, 4), (16, 8))
    expected = numbers(30)
    for row, values in enumerate(x[:-1] + 1):
        expected[2 * row + 2 : 2 * row + 6] = values
    assert (memory == expected).all()


def steps(u, count):
    for _ in range(count):
        u[1:-1] = (u[:-2] + u[2:]) / 2
    return u


def test_memory_does_not_grow_with_the_number_of_iterations():
    compiled = ingot.jit(steps)
    compiled(numbers(100_000), 2)
    before = ingot.memory()["peak"]  # perhaps of another test
    x = numbers(100_000)
    compiled(x, 3000)
    assert ingot.memory()["peak"] - before < 100 * x.nbytes


THREADS = """
import numpy as np, ingot
from test_in_place import columns, five_points, numbers, rows_apart, both_sides

for function, x, *rest in [(five_points, numbers(900, 700)), (columns, numbers(900, 700)), (both_sides, numbers(400_001)),
                           (rows_apart, numbers(3000, 60), 7)]:
    expected, got = x.copy(), x.copy()
    function(expected, *rest)
    ingot.jit(function)(got, *rest)
    assert np.array_equal(got, expected), function
"""


@pytest.mark.rotated(3)
@pytest.mark.parametrize("sharing", ["always", "never"])
def test_threads(sharing):
    environment = os.environ | {
        "INGOT_THREADS": sharing,
        "INGOT_NUM_THREADS": "4",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    done = subprocess.run([sys.executable, "-c", THREADS], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
