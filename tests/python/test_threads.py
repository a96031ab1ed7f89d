"""Python's threads, signals and end while compiled code runs: a long call does not hold the GIL."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import ingot
import support
from support import interrupt, start

pytestmark = pytest.mark.alone


BEFORE = """
import signal, sys, threading, time

{before}
import ingot

"""
spin = ingot.jit(support.spin)


@ingot.jit
def smooth(x, iterations):
    y = np.zeros(len(x))
    for _ in range(iterations):
        for i in range(1, len(x) - 1):
            y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3
        for i in range(len(x)):
            x[i] = y[i]
    return y


@ingot.jit
def announce(n):
    for k in range(3):
        s = 0
        for i in range(n):
            s = (s + i * k) % 1000003
        print(k, s)
    return s


class Counting(threading.Thread):
    """Counts until it is stopped; `count` is how far it has come."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self.done = False

    def run(self) -> None:
        while not self.done:
            self.count += 1

    def __enter__(self) -> "Counting":
        self.start()
        while self.count == 0:
            time.sleep(0.001)
        return self

    def __exit__(self, *_: object) -> None:
        self.done = True
        self.join()


def run_program(tmp_path: Path, text: str, before: str = "", **options: object) -> subprocess.Popen:
    return start(tmp_path / "program.py", BEFORE.format(before=before) + support.SPIN + text, **options)


def test_another_thread_runs_during_a_product_of_matrices():
    @ingot.jit
    def multiply(a, b):
        product = a @ b
        for i in range(len(b)):  # long enough to let go of the GIL as well
            for j in range(len(b)):
                a[i, j] = np.sin(b[i, j]) + a[i, j - 1]
        return product

    a, b = np.random.default_rng(3).random((2, 1500, 1500))
    want = a @ b
    multiply(a[:2, :2].copy(), b[:2, :2])
    with Counting() as other:
        before = other.count
        product = multiply(a, b)
        counted = other.count - before
    assert counted > 20000
    assert (product == want).all()


def test_another_thread_runs_during_a_long_call():
    spin(2, 2)
    with Counting() as other:
        before, start = other.count, time.monotonic()
        spin(10000, 10000)
        seconds, counted = time.monotonic() - start, other.count - before
    assert seconds > 0.1
    assert counted > 20000, f"{counted} in {seconds} s"


def test_a_loop_of_one_level_lets_go_of_the_gil_too():
    x = np.ones(10**8, np.int8)

    @ingot.jit
    def total(x):
        s = 0
        for v in x:
            s = (s * 3 + int(v)) % 1000003
        return s

    total(x[:2])
    with Counting() as other:
        before = other.count
        total(x)
        assert other.count - before > 20000


@pytest.fixture
def often():
    """Python switches threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_that_call_one_function_get_their_own_results(often):
    function = ingot.jit(smooth.__ingot_function__)
    given = [np.random.default_rng(seed).random(2000) for seed in range(8)]
    wanted = [smooth.__ingot_function__(x.copy(), 20) for x in given]
    results: list[list[np.ndarray]] = [[] for _ in given]

    def work(number: int) -> None:
        for _ in range(5):
            x = given[number].copy()
            results[number].append(function(x, 20))
            results[number].append(x)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(given))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, want in zip(results, wanted):
        assert len(got) == 10
        for array in got:
            np.testing.assert_array_equal(array, want)
    assert len(function.specialisations) == 1


def test_what_is_printed_in_a_long_call_is_printed_with_the_gil(capsys):
    announce(10)
    capsys.readouterr()
    with Counting() as other:
        before = other.count
        announce(3 * 10**7)
        assert other.count - before > 20000
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["0", "1", "2"]


def test_an_exception_after_a_long_call_is_raised():
    @ingot.jit
    def late(x, n):
        s = 0
        for i in range(n):
            s = (s + i) % 1000003
        return x[s + 1000003]

    with Counting():
        with pytest.raises(IndexError, match="out of bounds"):
            late(np.ones(3), 3 * 10**7)


def test_ctrl_c_leaves_the_call_of_the_main_thread_alone(tmp_path):
    program = """
results = []
worker = threading.Thread(target=lambda: results.append(spin(12000, 12000)))
worker.start()
print("ready", flush=True)
try:
    spin(2**30, 2**30)
except KeyboardInterrupt:
    print("left", flush=True)
worker.join()
print(results == [spin(12000, 12000)])
"""
    assert interrupt(run_program(tmp_path, program)) == (0, "left\nTrue\n", "")


def test_ctrl_c_in_a_call_of_another_thread_is_the_main_threads(tmp_path):
    program = """
results = []
worker = threading.Thread(target=lambda: results.append(spin(14000, 14000)))
worker.start()
print("ready", flush=True)
try:
    while True:
        time.sleep(10)
except KeyboardInterrupt:
    print("left", results, flush=True)
worker.join()
print(len(results))
"""
    assert interrupt(run_program(tmp_path, program)) == (0, "left []\n1\n", "")


def test_a_handler_that_returns_lets_the_call_go_on(tmp_path):
    before = "signal.signal(signal.SIGINT, lambda *_: print('handled', flush=True))"
    program = """
print("ready", flush=True)
print(spin(14000, 14000) >= 0)
"""
    assert interrupt(run_program(tmp_path, program, before)) == (0, "handled\nTrue\n", "")


def test_what_a_handler_raises_leaves_the_call(tmp_path):
    before = """
def handler(*_):
    raise LookupError("from the handler")
signal.signal(signal.SIGINT, handler)
"""
    program = """
print("ready", flush=True)
try:
    spin(2**30, 2**30)
except LookupError as error:
    print(error)
"""
    assert interrupt(run_program(tmp_path, program, before)) == (0, "from the handler\n", "")


def test_threads_with_small_stacks_compile():
    """On a stack that is large enough, where NumPy's settings for errors and the context are the caller's."""

    def medians(x):
        return np.median(x, axis=0) / np.float64(0.0), np.histogram(x, bins=4)[0], np.linalg.norm(x)

    def refused(x):
        return x.no_such_method()

    x = np.arange(12.0).reshape(4, 3)
    seen = []

    def call():
        with np.errstate(divide="ignore"):
            seen.append(ingot.jit(medians)(x))
        try:
            ingot.jit(refused)(x)
        except (AttributeError, ingot.UnsupportedError) as error:
            seen.append(error)

    before = threading.stack_size(1 << 16)
    try:
        thread = threading.Thread(target=call)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    with np.errstate(divide="ignore"):
        wanted = medians(x)
    assert all(np.array_equal(a, b) for a, b in zip(seen[0], wanted))
    assert "no_such_method" in str(seen[1])
    assert threading.stack_size() == before


def test_python_ends_during_a_long_call_of_a_daemon_thread(tmp_path):
    program = """
sys.setswitchinterval(1e-5)
for n in (3, 30, 300, 3000, 2**30):
    def work(n=n):
        while True:
            spin(n, 3000)
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("end", flush=True)
"""
    process = run_program(tmp_path, program)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (0, "end\n", "")
