"""What devices do with much, with little, and with arrays that overlap themselves: never what the host would not."""

import linecache
import sys
import threading
import time

import numpy as np
import pytest

import ingot
from support import windows
from test_devices_calls import as_on_the_host, put, same, written

rng = np.random.default_rng(17)
MEETS = "an element in two places; make it write into a copy"


def test_arrays_with_an_element_in_two_places_are_read():
    twice = windows(np.array([3.0]), (3,), (0,))
    assert ingot.jit(lambda a, x: a + x)(put(np.ones(3)), twice).tolist() == [4, 4, 4]
    rows = windows(np.arange(4.0), (2, 3), (8, 8))
    assert ingot.jit(lambda a, x: a + x)(put(np.ones(3)), rows).tolist() == [[1, 2, 3], [2, 3, 4]]


def test_loops_that_write_an_element_in_two_places_are_refused():
    def fill(a, x):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = a[j] * i
        return x

    def add(a, x):
        x += a
        return x

    def own(a):
        y = np.zeros(a.shape[0])
        w = np.lib.stride_tricks.sliding_window_view(y, 3, writeable=True)
        for i in ingot.prange(w.shape[0]):
            for j in range(3):
                w[i, j] = i
        return y

    def copies(a, x):
        same_rows, _ = np.broadcast_arrays(a, x)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                same_rows[i, j] = i
        return a

    rows = windows(np.zeros(30), (20, 10), (8, 8))
    for function in (fill, add):
        with pytest.raises(RuntimeError, match=MEETS):
            ingot.jit(function)(put(np.ones(10)), rows)
    with pytest.raises(RuntimeError, match=MEETS):
        ingot.jit(own)(put(np.ones(10)))
    with pytest.raises(RuntimeError, match=MEETS):
        ingot.jit(copies)(put(np.ones(10)), put(np.ones((20, 10))))
    assert not rows.any()
    # An axis that is as long as the others reach over, and one of length 1, does no harm.
    apart = windows(np.zeros(39), (2, 10), (160, 16))
    as_on_the_host(fill, np.ones(10), np.zeros((2, 10)))
    ingot.jit(fill)(put(np.ones(10)), apart)
    same(apart.copy(), np.outer([0.0, 1.0], np.ones(10)))


def test_loops_of_one_thread_write_an_element_in_two_places_in_order():
    def f(a, x):
        s = 0.0
        for i in range(x.shape[0]):
            s = s * 0.5 + x[i]
            x[i] = s
        return s

    rows = windows(np.ones(1), (5,), (0,))
    expected = f(None, windows(np.ones(1), (5,), (0,)))
    assert ingot.jit(f)(put(np.ones(1)), rows) == expected and rows[0] == expected


@pytest.mark.rotated(3)
def test_parts_of_arrays_are_written():
    def f(n, m, k):
        y = np.zeros((n, m, k))
        y[1:-1, ::2, ::-1] += 2
        y[:, 1:, 1:-1] *= y[:, :-1, 2:]
        z = y.T
        z[0] = 5
        z[1:, :, ::3] += z[1:, :, 1::3][:, :, : z[1:, :, ::3].shape[2]].sum()
        np.fill_diagonal(y[0], 7)
        y.reshape(-1)[::7] = 1
        return y

    function = ingot.jit(f)
    on_device = ingot.jit(f, device="emulated")
    for shape in ((6, 7, 8), (3, 1, 5), (2, 9, 2)):
        same(on_device(*shape), function(*shape))


@pytest.mark.rotated(3)
def test_a_long_loop_that_raises_soon_raises_soon():
    def f(x, n):
        s = 0.0
        for i in range(n):
            if x[i % 7] < 0:
                raise ValueError("negative")
            s += np.exp(x[i % 7])
        return s

    def g(x, y, n):
        for i in range(n):
            y[i % 5] = np.sqrt(x[i % 7]) + x[int(x[i % 7])]

    x = np.arange(1.0, 8.0) % 7
    as_on_the_host(f, x, 1000)
    as_on_the_host(f, x, (1 << 20) + 1)
    start = time.monotonic()
    for value, error in ((-1.0, ValueError), (9.0, IndexError)):
        x[5] = value
        with pytest.raises(error):
            ingot.jit(f if error is ValueError else g)(put(x), *(() if error is ValueError else (put(np.zeros(5)),)), 10**12)
    assert time.monotonic() - start < 60


@pytest.mark.rotated(4)
def test_strips_of_iterations_carry_on():
    def f(x, k, n):
        s = 0.0
        for i in range(n):
            s = s * 0.25 + np.exp(x[k[i % 5]])
        return s

    x, k = rng.random(9), np.array([1, 8, 3, 0, 5])
    for n in (0, 1, 17, 5000, (1 << 20) + 3):
        as_on_the_host(f, x, k, n)


@pytest.mark.slow
def test_more_values_than_a_launch_takes():
    def sums(n):
        names = [f"a{i}" for i in range(n)]
        lines = ["    o = np.empty(a0.shape)\n"]
        lines += ["    for i in ingot.prange(a0.shape[0]):\n", "        for j in range(a0.shape[1]):\n"]
        lines += ["            o[i, j] = " + " + ".join(f"{name}[i, j] * {k}" for k, name in enumerate(names)) + "\n"]
        return written(f"sums{n}", f"def sums{n}({', '.join(names)}):\n", lines + ["    return o\n"])

    for n in (20, 70, 150):
        wholes = [rng.standard_normal((10, 6)) for _ in range(n)]
        wholes[n // 2] = (wholes[n // 2] * 10).astype(np.int16)
        wholes[1] = wholes[1] > 0
        compiled = ingot.jit(sums(n))
        same(compiled(*[put(x)[::2, ::2] for x in wholes]).to_host(), compiled(*[x[::2, ::2] for x in wholes]))

    def first(n):
        names = [f"a{i}" for i in range(n)]
        lines = ["    for i in ingot.prange(a0.shape[0]):\n", "        for j in range(a0.shape[1]):\n"]
        lines += ["            s = " + " + ".join(f"{name}[i, j]" for name in names) + "\n"]
        lines += ["            if s < 0:\n", "                raise ValueError('negative')\n", "            a0[i, j] = s\n"]
        return written(f"first{n}", f"def first{n}({', '.join(names)}):\n", lines)

    wholes = [np.ones((10, 6)) for _ in range(150)]
    a = put(wholes[0])[::2, ::2]
    compiled = ingot.jit(first(150))
    compiled(a, *[put(x)[::2, ::2] for x in wholes[1:]])
    same(a.to_host(), np.full((5, 3), 150.0))
    wholes[149][4, 2] = -1000
    with pytest.raises(ValueError, match="negative"):
        compiled(a, *[put(x)[::2, ::2] for x in wholes[1:]])


@pytest.mark.rotated(5)
def test_rows_with_sums_of_many_dtypes():
    dtypes = ("float64", "complex128", "int64", "float32", "int8", "complex64", "bool", "uint16")

    def rows(n):
        lines = ["    for i in range(a.shape[0]):\n"]
        for k in range(n):
            lines.append(f"        o[i, {k}] = (a[i] * {k + 1}).astype(np.{dtypes[k % len(dtypes)].replace('bool', 'bool_')}).sum()\n")
        return written(f"rows{n}", f"def rows{n}(a, o):\n", lines)

    for n in (4, 8, 24):
        as_on_the_host(rows(n), np.round(rng.standard_normal((3, 2500)) * 9), np.zeros((3, n), complex))


def test_what_a_call_that_raises_has_put_into_containers():
    def f(d, c):
        x = np.ones(3)
        if c:
            d["x"] = x
        d["y"] = x[1:]
        x += 1
        x[2] = 9
        return x[5]

    on_device = ingot.jit(f, device="emulated")
    for c in (True, False):
        expected, got = {"x": 0, "y": 0}, {"x": 0, "y": 0}
        for function, d in ((f, expected), (on_device, got)):
            with pytest.raises(IndexError):
                function(d, c)
        same(got["y"], expected["y"])
        assert type(got["x"]) is type(expected["x"])
        if c:
            same(got["x"], expected["x"])
            assert np.shares_memory(got["x"], got["y"])


def test_files_may_have_any_name():
    text = "def f(x):\n    return x + 1\n"
    for file in ('<cell "one">', "C:\\new\\table.py", "it's.py"):
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        space = {}
        exec(compile(text, file, "exec"), space)
        for device in ("emulated", "opencl"):
            same(ingot.jit(space["f"], device=device)(np.arange(3.0)), np.arange(3.0) + 1)


@pytest.mark.alone
def test_others_run_while_a_launch_is_waited_for():
    def f(x, n):
        for k in range(n):
            x[0] = x[0] * 0.5 + k
            if x[0] < 0:
                raise ValueError("negative")

    def g(x, n):
        s = 0.0
        for k in range(n):
            s = s * x[0] + k
        return s

    for function in (f, g):
        compiled = ingot.jit(function)
        a = put(np.full(1, 0.5))
        compiled(a, 3)
        times = []
        done = threading.Event()

        def tick():
            while not done.is_set():
                times.append(time.monotonic())
                time.sleep(0.001)

        ticking = threading.Thread(target=tick)
        ticking.start()
        start = time.monotonic()
        try:
            compiled(a, 300_000)
        finally:
            took = time.monotonic() - start
            done.set()
            ticking.join()
        longest = max(b - a for a, b in zip(times, times[1:]))
        assert longest < max(took / 2, 2 * sys.getswitchinterval()), (longest, took)
