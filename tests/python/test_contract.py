"""Arrays of which each iteration of a loop has a part: rows of them alone are made."""

import os
import subprocess
import sys

import numpy as np
import pytest

from support import MODES, jitted

SHAPES = ((0, 3), (1, 1), (1, 5000), (3, 5000), (50, 700), (700, 3), (2500, 2), (17, 0))


def pulls(x, y):
    dx = x[None, :] - y[:, None]
    pull = 1 / (dx * dx + 1.0)
    return np.sum(pull * dx, axis=1), np.sum(pull, axis=1), np.sum(pull * pull, axis=1)


def softmax(x, y):
    e = np.exp(x[None, :] * y[:, None] / 10)
    return np.sum(e, axis=1), e.max(axis=1)


def rows_twice(x, y):
    a = np.sqrt(np.abs(x[None, :] + y[:, None]))
    s = a.sum(axis=1)
    return s, (a * x).sum(axis=1)


def columns(x, y):
    a = np.sqrt(np.abs(x[:, None] + y[None, :]))
    return a.sum(axis=0), (a * a).sum(axis=0)


def is_kept(x, y):
    a = np.sqrt(np.abs(x[None, :] + y[:, None]))
    return a, a.sum(axis=1)


def in_a_loop(x, y):
    total = np.zeros(len(y))
    for k in range(3):
        a = np.sqrt(np.abs(x[None, :] * k + y[:, None]))
        total += a.sum(axis=1) + (a * a).sum(axis=1)
    return total


def by_hand(x, y):
    a = np.empty((len(y), len(x)))
    total = np.zeros(len(y))
    for i in range(len(y)):
        for j in range(len(x)):
            a[i, j] = x[j] * y[i]
        for j in range(len(x)):
            total[i] += a[i, j] * a[i, j]
    return total


FUNCTIONS = (pulls, softmax, rows_twice, columns, is_kept, in_a_loop, by_hand)


@pytest.mark.parametrize("threads", ["never", "always"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values(function, threads, monkeypatch):
    monkeypatch.setenv("INGOT_THREADS", threads)
    compiled = [jitted(function, mode) for mode in MODES]
    for rows, width in SHAPES:
        if function is softmax and width == 0:
            continue
        random = np.random.default_rng(rows + width)
        x, y = random.standard_normal(width), random.standard_normal(rows)
        got = [one(x, y) for one in compiled]
        for a, b, c in zip(*(g if isinstance(g, tuple) else (g,) for g in (*got, function(x, y)))):
            assert a.tobytes() == b.tobytes() and a.dtype == c.dtype and a.shape == c.shape
            assert np.allclose(a, c, rtol=1e-11, atol=1e-11)


PROGRAM = """
import ingot, numpy as np
from test_contract import pulls

x = np.linspace(0.0, 1.0, 3000)
before = ingot.memory()["peak"]
ingot.jit(pulls)(x, x)
print(ingot.memory()["peak"] - before)
"""


def test_memory_is_that_of_a_few_rows():
    """Of 3000 * 3000 pulls, 72 MB, a row at a time is in memory."""
    environment = {**os.environ, "INGOT_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert 0 < int(run.stdout) < 2_000_000
