"""Arrays that overlap themselves, and outputs that overlap what is read."""

import linecache

import ingot
import numpy as np
import pytest
from support import MODES, jitted, windows


def spread(x, shape):
    """x repeated along a first axis, writable."""
    y = np.broadcast_to(x, shape)
    y.setflags(write=True)
    return y


SELF = {
    "windows": lambda x: windows(x, (10, 3), (8, 8)),
    "repeated": lambda x: spread(x[:3], (4, 3)),
    "one element": lambda x: windows(x, (5,), (0,)),
    "columns": lambda x: windows(x, (3, 8), (8, 8)),
    "far apart": lambda x: windows(x, (3, 4), (16, 8)),
    "no overlap": lambda x: windows(x, (3, 4), (32, 8)),
    "backwards": lambda x: windows(x, (10, 3), (8, 8))[::-1, ::-1],
}

CHANGES = """
x += 1
x *= x
x -= x.mean()
x /= 3
x **= 2
x[x > 1] += 5
x[...] = x + 1
x[1:] = x[:-1]
x[:-1] += x[1:]
np.add(x, 1, out=x)
np.add(x, x, out=x)
np.exp(x, out=x)
np.sqrt(x, out=x, where=x > 2)
np.clip(x, 2, 5, out=x)
x.fill(3)
"""


def changing(change, parameters):
    text = f"def f({parameters}):\n    {change}\n"
    name = f"<change {change}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", CHANGES.strip().splitlines())
def test_arrays_that_overlap_themselves_are_changed_as_numpys(change, mode):
    plain = changing(change, "x")
    function = jitted(plain, mode)
    for name, make in SELF.items():
        expected, found = np.arange(12.0), np.arange(12.0)
        with np.errstate(all="ignore"):
            plain(make(expected))
        function(make(found))
        np.testing.assert_array_equal(found, expected, name)


PAIRS = {
    "behind": lambda a: (a[:6], a[3:9], a[2:6].reshape(2, 2)),
    "before": lambda a: (a[3:9], a[:6], a[4:8].reshape(2, 2)),
    "backwards": lambda a: (a[5::-1], a[:6], a[1:5].reshape(2, 2)),
    "the same": lambda a: (a[:6], a[:6], a[:4].reshape(2, 2)),
    "apart": lambda a: (a[:6], a[6:12], a[12:16].reshape(2, 2)),
}

OUTPUTS = """
np.concatenate((x[:2], y[1:3]), out=y[:4])
np.concatenate((x[:2], y[:2]), out=x[:4])
np.concatenate((z, z.T), out=z.reshape(2, 2).repeat(2, 0))
np.concatenate((x[:2], y[:1], x[1:2]), axis=None, out=z.reshape(-1))
np.stack((x[:2], y[:2]), out=z)
np.stack((z[0], z[1]), out=z.T)
np.stack([z[k] for k in range(len(z))], axis=1, out=z)
np.divmod(x, 2, out=(x, x))
np.modf(x, out=(x, x))
np.add(x, y, out=y)
np.subtract(y, x[::-1], out=x)
np.multiply(x[1:], 2, out=x[:-1])
np.matmul(z, z, out=z)
np.dot(z, y[:2], out=y[:2])
np.cumsum(x, out=y)
np.take(x, [2, 1, 0], out=y[:3])
np.sum(z, axis=0, out=z[0])
np.outer(x[:2], y[:2], out=z)
y[:] = x[::-1]
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("output", OUTPUTS.strip().splitlines())
def test_outputs_may_overlap_what_is_read(output, mode):
    plain = changing(output, "x, y, z")
    function = jitted(plain, mode)
    for name, make in PAIRS.items():
        expected, found = np.arange(16.0), np.arange(16.0)
        plain(*make(expected))
        function(*make(found))
        np.testing.assert_array_equal(found, expected, name)


def places_of_rows(x, y):
    for i in range(len(y)):
        x[i, 0] = y[i]
        x[i, 1] = y[i] + 100


def short_rows(x, y):
    for i in range(len(y)):
        for k in range(x.shape[1]):
            x[i, k] = y[i]


def from_place_to_place(x, y):
    for i in range(len(y)):
        x[i, 1] = x[i, 0] + y[i]


def constants(x, y):
    for i in range(len(y)):
        x[i, 0] = 5.0
        x[i, 1] = 7.0


def onto_itself(x, y):
    for i in range(len(y)):
        x[i, 0] += y[i]


def from_above(x, y):
    for i in range(1, len(x)):
        for k in range(x.shape[1]):
            x[i, k] = x[i - 1, k] * 0.5 + y[i]


@pytest.mark.parametrize("strides", [(8, 8), (0, 8), (16, 8), (-8, 8), (8, 16)])
@pytest.mark.parametrize("function", [places_of_rows, short_rows, from_place_to_place, constants, onto_itself, from_above])
def test_loops_over_arrays_that_overlap_themselves_have_pythons_order(function, strides):
    """An element in two places is written by several turns: the last one's value stays."""
    for width in (2, 3, 12):
        y, results = np.arange(40.0), []
        for f in (function, ingot.jit(function), jitted(function, "interpreted")):
            memory = np.zeros(800)
            rows = windows(memory, (40, width), (abs(strides[0]), strides[1]))
            f(rows[::-1] if strides[0] < 0 else rows, y)
            results.append(memory)
        assert (results[0] == results[1]).all() and (results[0] == results[2]).all()
