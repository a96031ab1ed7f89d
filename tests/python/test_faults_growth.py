"""What a long-lived process does over and over keeps nothing: no memory, mappings, threads, files or objects."""

import contextlib
import gc
import itertools
import os
import threading
import time
from collections import Counter

import numpy as np
import pytest

import ingot
from ingot._transforms import derivatives
from ingot import _ingot, prange

pytestmark = pytest.mark.alone


def mappings():
    with open("/proc/self/maps") as file:
        return file.readlines()


def code_of(lines):
    """The mappings of code that come from no file."""
    return [line for line in lines if " r-xp " in line and line.split()[4] == "0"]


COUNTED = ("Function", "Specialisation", "Code", "ndarray")


class Figures:
    """What the process has of all that could grow."""

    def __init__(self) -> None:
        gc.collect()
        ingot.set_kept_memory_limit(0)
        with open("/proc/self/statm") as file:
            self.resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        lines = mappings()
        self.mappings = len(lines)
        self.code = len(code_of(lines))
        self.threads = len(os.listdir("/proc/self/task"))
        self.files = len(os.listdir("/proc/self/fd"))
        self.arrays = ingot.memory()["in_use"]
        kinds = Counter(type(each).__name__ for each in gc.get_objects())
        self.objects = {name: kinds[name] for name in COUNTED}

    def growth(self, since: "Figures", megabytes: float) -> list[str]:
        """What is more than it was, in words. The C library's heap and its mappings may have some more."""
        same = ("code", "threads", "files", "arrays", "objects")
        grown = [f"{name}: {getattr(since, name)} -> {getattr(self, name)}" for name in same if getattr(self, name) != getattr(since, name)]
        if self.mappings > since.mappings + 10:
            grown.append(f"mappings: {since.mappings} -> {self.mappings}")
        if self.resident > since.resident + megabytes * 2**20:
            grown.append(f"resident: {since.resident >> 10} -> {self.resident >> 10} KiB")
        return grown


@pytest.fixture(autouse=True)
def limit():
    before = ingot.memory()["limit"]
    yield
    ingot.set_kept_memory_limit(before)


def growth(act, iterations, megabytes=4.0, first=16):
    """What has grown in so many iterations, after the first ones. Many fill caches of limited size, as of trees of sources."""
    if iterations >= 1000:
        first, megabytes = max(first, 1500), 8.0
    for iteration in range(first):
        act(iteration)
    before = Figures()
    for iteration in range(first, first + iterations):
        act(iteration)
    return Figures().growth(before, megabytes)


def few_or(number, many):
    """Parameters of a test: a number of iterations for `make test`, and many, which are slow."""
    return pytest.mark.parametrize("iterations", [number, pytest.param(many, marks=pytest.mark.slow)])


def function_of(text, name="f", **space):
    exec(text, space)  # noqa: S102
    return space[name]


def made(iteration):
    """A function that nobody has compiled."""
    return ingot.jit(function_of(f"def f(a, x):\n    a[0] = x + {iteration}\n    if x > 1e9:\n        raise ValueError('far')\n    return a * x"), tier="quick")


def test_functions_that_are_compiled_and_dropped():
    a = np.ones(5)

    def act(iteration):
        assert made(iteration)(a, 2.0)[0] == 2 * (2.0 + iteration)

    assert not growth(act, 150)


def test_functions_that_are_kept_are_growth():
    kept, a = [], np.ones(5)

    def act(iteration):
        kept.append(made(iteration))
        kept[-1](a, 2.0)

    grown = [each.split(":")[0] for each in growth(act, 25)]
    assert {"code", "mappings", "objects"} <= set(grown)


def callers(iteration):
    """Functions with all that may be held: closures, calls out of them, containers, generators, derivatives."""
    shift = float(iteration)

    def closed(a):
        return a + shift

    def out(a):
        print(end="")
        return a.sum() + shift

    def generated(a):
        return sum(x * shift for x in a)

    def contained(d):
        d["y"] = d["x"] + shift
        return [d["y"], {"s": shift}]

    def square(x):
        return x * x * shift

    x = np.arange(3.0)
    assert ingot.jit(closed)(x)[1] == 1 + shift
    assert ingot.jit(out)(x) == 3 + shift
    assert ingot.jit(generated)(x) == 3 * shift
    assert ingot.jit(contained)({"x": x})[0][2] == 2 + shift
    assert ingot.grad(square)(3.0) == 6 * shift
    assert ingot.vectorize(lambda x: x + shift)(x)[0] == shift


@few_or(6, 1500)
def test_functions_that_hold_much_are_dropped(iterations, monkeypatch):
    monkeypatch.setenv("INGOT_TIERS", "quick")
    monkeypatch.setattr(derivatives, "_MOST_COMPILED", 4)
    assert not growth(callers, iterations, first=6)


@ingot.jit
def raising(a, kind, call):
    b = a * 2
    rows = [b + 1, b + 2]
    for i in range(3):
        c = rows[i % 2] + b
        if kind == 0 and i == 2:
            raise ValueError(f"value {c[0]}")
        if kind == 1 and i == 1:
            return c[len(c) + i]
        if kind == 2:
            return c / (kind - 2) + 1 // (kind - 2)
        if kind == 3:
            call(c)
    return b


@ingot.jit
def raising_in_threads(a, n):
    b = np.zeros(n)
    for i in prange(n):
        c = a + i
        if i == n // 2:
            raise KeyError(i)
        b[i] = c.sum()
    return b


def refuse(c):
    raise LookupError(c)


def raised(function, *arguments):
    with pytest.raises(Exception) as caught:
        function(*arguments)
    return type(caught.value)


@few_or(1000, 10_000)
def test_exceptions_with_live_arrays(iterations):
    a = np.ones(200)
    out = ingot.jit(function_of("def f(a):\n    b = a * 2\n    refuse(b)\n    return b", refuse=refuse))
    wanted = [ValueError, IndexError, ZeroDivisionError]

    def act(iteration):
        kind = iteration % 5
        if kind < 3:
            assert raised(raising, a, kind, None) is wanted[kind]
        elif kind == 3:
            assert raised(out, a) is LookupError
        else:
            assert raised(raising_in_threads, a, 64) is KeyError

    assert not growth(act, iterations)


@few_or(3000, 100_000)
def test_tiers_that_change_between_calls(iterations):
    function = ingot.jit(lambda a, x: a * x + 1, tier="quick")
    a = np.ones(5)
    function(a, 2.0)
    it = function.specialisations[0]
    objects = [it.compile(quick=quick)["object"] for quick in (True, False)]

    def act(iteration):
        it._improve(_ingot.Code.load(objects[iteration % 2]))
        assert function(a, 2.0)[0] == 3.0

    assert not growth(act, iterations)


def test_code_that_is_replaced_while_threads_run_it():
    def summed(a, n):
        total = 0.0
        for i in range(n):
            total += (a * i).sum()
        return total

    function = ingot.jit(summed, tier="quick")
    a = np.arange(300.0)
    expected, wrong, done = function(a, 200), [], threading.Event()
    it = function.specialisations[0]
    objects = [it.compile(quick=quick)["object"] for quick in (True, False)]

    def calls():
        while not done.is_set():
            if function(a, 200) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=calls) for _ in range(3)]
    for thread in threads:
        thread.start()
    before = len(code_of(mappings()))
    for iteration in range(300):
        it._improve(_ingot.Code.load(objects[iteration % 2]))
        if iteration % 20 == 0:
            time.sleep(0.002)
    done.set()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not wrong
    assert len(code_of(mappings())) <= before + 2  # a call may hold what was replaced when `before` was counted


@few_or(15, 1000)
def test_functions_of_each_tier(iterations):
    a = np.ones(5)

    def act(iteration):
        function = ingot.jit(lambda a, x: a * x + iteration, tier=("quick", "full", "auto")[iteration % 3])
        assert function(a, 2.0)[0] == 2.0 + iteration
        if iteration % 2:
            function.compile(a, 2.0)

    assert not growth(act, iterations, first=9)


def test_many_specialisations_of_one_function():
    def total(values):
        s = 0.0
        for v in values:
            s += v
        return s

    def act(iteration):
        function = ingot.jit(total, tier="quick")
        for _ in range(2):
            for length in range(1, 9):
                assert function((1.0,) * length) == length
        kinds = [np.dtype(c) for c in "biqQfd"]
        for kind, writable in itertools.product(kinds, (True, False)):
            x = np.ones(3, kind)
            x.flags.writeable = writable
            assert function(x) == 3
        assert len(function.specialisations) == 20

    assert not growth(act, 3, first=2)


@few_or(40, 3000)
def test_values_outside_change_over_and_over(iterations):
    f = ingot.jit(function_of("def f(a):\n    return h(a) * 2"), tier="quick")
    space = f.__ingot_function__.__globals__
    a = np.ones(5)

    def act(iteration):
        space["h"] = function_of(f"def h(a):\n    return a + {iteration}", "h")
        assert f(a)[0] == 2 * (1 + iteration)

    for iteration in range(f._most_kept):
        act(iteration)
    assert not growth(act, iterations)
    assert len(f.specialisations) == f._most_kept


def test_calls_that_are_refused_keep_nothing():
    a = np.ones(5)

    def act(iteration):
        function = ingot.jit(function_of(f"def f(a):\n    exec('{iteration}')\n    return a"))
        with pytest.raises(ingot.UnsupportedError):
            function(a)
        with contextlib.suppress(TypeError):
            function(a, iteration)

    assert not growth(act, 25)
