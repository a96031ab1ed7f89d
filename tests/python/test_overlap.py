"""Arrays that overlap themselves, and outputs that overlap what is read."""

import linecache
import signal

import numpy as np
import pytest

import ingot
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


MASKED = """
x[m] = 3
x[m] += 1
x[m] = x[m] * 2 + x[m]
x[m] = x[m] + c[m]
x[m] = c[m]
np.copyto(x, 3, where=m)
np.copyto(x, c, where=m)
np.add(x, 1, out=x, where=m)
np.putmask(x, m, 7)
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", MASKED.strip().splitlines())
def test_elements_at_one_location_have_masks_of_their_own(change, mode):
    plain = changing(change, "x, m, c")
    function = jitted(plain, mode)
    for name, make in SELF.items():
        if name == "backwards" and change.startswith("np."):
            continue  # NumPy's functions go through such an array in another order
        shape = make(np.arange(12.0)).shape
        for seed in range(3):
            g = np.random.default_rng(seed)
            m, c = g.random(shape) < 0.4, g.normal(size=shape)
            expected, found = np.arange(12.0), np.arange(12.0)
            plain(make(expected), m, c)
            function(make(found), m, c)
            np.testing.assert_array_equal(found, expected, name)


@pytest.mark.sampled(4)
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


@pytest.mark.sampled(5)
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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("strides", [(8, 8), (0, 8), (16, 8), (-8, 8), (8, 16)])
@pytest.mark.parametrize("function", [places_of_rows, short_rows, from_place_to_place, constants, onto_itself, from_above])
def test_loops_over_arrays_that_overlap_themselves_have_pythons_order(function, strides):
    """An element at two indices is written by several iterations: the last one's value stays."""
    for width in (2, 3, 12):
        y, results = np.arange(40.0), []
        for f in (function, ingot.jit(function), jitted(function, "interpreted")):
            memory = np.zeros(800)
            rows = windows(memory, (40, width), (abs(strides[0]), strides[1]))
            f(rows[::-1] if strides[0] < 0 else rows, y)
            results.append(memory)
        assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


def scaled(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 3 + 1


def twice(x, y):
    for i in range(len(x)):
        y[i] = x[i] + 1
        x[i] = y[i] * 2


def read_behind(x, y):
    for i in range(len(x)):
        if x[i] > 20:
            y[i] = x[i] - 1
        x[i] += y[i]


def backwards(x, y):
    n = len(x)
    for i in range(n):
        y[n - 1 - i] = x[n - 1 - i] * 2


def against(x, y):
    for i in range(len(x)):
        y[i] = x[len(x) - 1 - i] * 2


def every_third(x, y):
    for i in range(len(x) // 3):
        y[3 * i] = x[3 * i + 1] + x[3 * i + 2]


def one_place(x, y):
    for i in range(len(x)):
        y[0] = y[0] + x[i]
        x[i] = y[0]


def of_three(x, y):
    z = x[2:]
    for i in range(len(z)):
        y[i] = z[i] + x[i]
        x[i] = 7


OVERLAPPING = (scaled, twice, read_behind, backwards, against, every_third, one_place, of_three)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("function", OVERLAPPING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "c16"])
def test_loops_over_overlapping_arguments_have_pythons_order(function, dtype):
    """At each distance, by steps of one element and others: also less than an element, and so far that all lanes are disjoint."""
    size = np.dtype(dtype).itemsize
    if dtype == "c16" and function is read_behind:
        return
    compiled = ingot.jit(function)
    for step in (1, 2, -1, 3):
        for distance in (0, 1, 2, 7, 8, 9, 63, 64, 65, 100, 200, -1, -2, -9, -64, -150):
            for bytes_more in (0, 1) if size > 1 and distance in (0, 1, -1) else (0,):
                found = (np.arange(8 * 1000 * size // 8, dtype="u1") * 5 % 7).copy()
                expected = found.copy()
                for f, memory in ((function, expected), (compiled, found)):
                    x = np.ndarray(100, dtype, memory, 310 * size, (step * size,))
                    y = np.ndarray(100, dtype, memory, (310 + distance) * size + bytes_more, (step * size,))
                    x[...] = np.arange(100)
                    with np.errstate(all="ignore"):
                        f(x, y)
                assert (found == expected).all(), (step, distance, bytes_more)


def parts_of_one(a, s, t, n):
    for i in range(n):
        a[t + i] = a[s + i] * 2


def halves(a, s, t, n):
    x, y = a[s : s + n], a[t : t + n]
    for i in range(n):
        y[i] = x[i] - 1
        x[i] = i


def two_stores(a, s, t, n):
    for i in range(n):
        a[s + i] = i
        a[t + i] = -i


def difference(a, s, t, n):
    for i in range(n):
        a[i] = a[i + 1] - a[i]


def moved(a, s, t, n):
    for i in range(n):
        a[i + 1] = a[i] * 2


def chosen(a, s, t, n):
    b = a[s:] if n % 2 else a[t:].copy()
    for i in range(n):
        b[i] = a[t + i] + 1


@pytest.mark.parametrize("function", [parts_of_one, halves, two_stores, difference, moved, chosen], ids=lambda f: f.__name__)
def test_loops_over_parts_of_one_array_have_pythons_order(function):
    compiled = ingot.jit(function)
    for s in (0, 1, 5, 50, 64, 130):
        for t in (0, 1, 3, 51, 66, 129):
            for n in (0, 1, 9, 64, 101):
                found, expected = np.arange(260.0), np.arange(260.0)
                function(expected, s, t, n)
                compiled(found, s, t, n)
                assert (found == expected).all(), (s, t, n)


def test_parts_of_records_and_complex_numbers_have_pythons_order():
    def swapped(z):
        re, im = z.real, z.imag
        for i in range(len(z)):
            t = re[i]
            re[i] = im[i] * 2
            im[i] = t

    def fields(r):
        a, b = r["a"], r["b"]
        for i in range(len(r)):
            a[i] = b[i] + 1
            b[i] = a[i] * 2

    def pair(a, b):
        for i in range(1, len(a)):
            a[i] = b[i - 1] * 2

    def of_record(r):
        pair(r["a"], r["b"])

    def of_complex(z):
        pair(z.real, z.imag)

    z = np.arange(40) * (1 + 2j)
    records = np.zeros(40, [("a", "f8"), ("c", "i2"), ("b", "f8")])
    records["a"], records["b"] = np.arange(40.0), np.arange(40.0) / 4
    for function, given in ((swapped, z), (fields, records), (of_record, records), (of_complex, z)):
        found, expected = given.copy(), given.copy()
        function(expected)
        ingot.jit(function)(found)
        assert (found == expected).all()
    found, expected = records.copy(), records.copy()
    pair(expected["a"], expected["b"])
    ingot.jit(pair)(found["a"], found["b"])
    assert (found == expected).all()


@pytest.mark.parametrize(
    "function, arguments",
    [
        (scaled, lambda a: (a[:50], a[:50])),
        (scaled, lambda a: (a[1:51], a[:50])),
        (parts_of_one, lambda a: (a, 0, 64, 50)),
        (two_stores, lambda a: (a, 0, 64, 50)),
        (difference, lambda a: (a, 0, 0, 50)),
    ],
)
def test_loops_over_arrays_that_may_overlap_have_lanes(function, arguments):
    assert "vectorised by" in str(ingot.jit(function).explain(*arguments(np.arange(200.0)))).split("=== source")[0]


def scaled_and_moved(x, w):
    for i in range(len(w)):
        for j in range(w.shape[1]):
            w[i, j] *= 0.5
    for i in range(len(w)):
        for j in range(w.shape[1]):
            w[i, j] += x[0]


def moved_and_summed(x, w):
    for i in range(len(w)):
        for j in range(w.shape[1]):
            w[i, j] -= 2.0
    for i in range(len(w)):
        s = 0.0
        for j in range(w.shape[1]):
            s += w[i, j]
        x[i] = s


def rows_in_turns(x, w):
    n = min(w.shape[1], len(x))
    for k in range(len(w) - 1):
        for i in range(n):
            w[k + 1, i] = x[i]
        for i in range(n):
            w[k, n - 1 - i] = x[i] * 2.0


def backwards_through_own(x, w):
    """An iteration stores several elements, through an array of its own."""
    for j in range(w.shape[1]):
        t = np.empty(len(w))
        for k in range(len(w)):
            t[k] = x[j] * k
        for k in range(len(w)):
            w[k, j] = t[len(w) - 1 - k]


def carried_down(x, w):
    for j in range(w.shape[1]):
        s = x[j]
        for k in range(len(w)):
            s = s * 0.5 + k
            w[k, j] = s


def added_down(x, w):
    for j in range(w.shape[1]):
        s = x[j]
        for k in range(len(w)):
            s = s * 0.5 + k
            w[k, j] += s


def running_sums(x, w):
    """Rows of sums, each stored as it grows."""
    for i in range(len(w)):
        s = x[i]
        for j in range(w.shape[1]):
            s += x[j]
            w[i, j] = s


def sums_and_more(x, w):
    for i in range(len(w)):
        s = 0.0
        for j in range(w.shape[1]):
            s += x[j] * i
        w[i, 0] = s
        for j in range(w.shape[1]):
            w[i, j] += j


WITH_WINDOWS = (backwards_through_own, carried_down, added_down, running_sums, sums_and_more, scaled_and_moved, moved_and_summed, rows_in_turns)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("function", WITH_WINDOWS)
@pytest.mark.parametrize("shape", [(5, 20), (8, 20), (19, 20), (24, 5), (70, 20), (7, 70)])
@pytest.mark.parametrize("strides", [(8, 8), (16, 8), (0, 8), (8, 0), (8, 16)])
def test_loops_that_store_through_windows(function, shape, strides):
    def whole(x, memory):
        w = windows(memory, shape, strides)
        jitted(function)(x, w) if compiled else function(x, w)
        return np.concatenate([memory, x])

    x, results = np.arange(1.0, 101.0)[: max(shape)], []
    for compiled in (False, True):
        results.append(whole(x.copy(), np.zeros(2000)))
    assert np.array_equal(*results)


def test_a_copy_stays_when_a_handler_changes_what_was_copied():
    def copied_and_summed(a, n):
        b = a.copy()
        s = 0.0
        for i in range(n):
            s += b[i % len(b)]
        return s, b[0] + b[len(b) - 1]

    compiled = ingot.jit(copied_and_summed)
    compiled(np.ones(8), 10)
    a = np.ones(8)
    before = signal.signal(signal.SIGALRM, lambda *_: a.fill(2.0))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert compiled(a, 10**8) == (1e8, 2.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert a[0] == 2.0
