"""Memory that is missing, at each allocation: MemoryError, nothing lost, and the next call is right."""

import gc
import itertools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import ingot
from ingot import _ingot, prange
from ingot._signatures import parameters
from ingot.tour.programs import PROGRAMS
from support import difference, outcome

_testcapi = pytest.importorskip("_testcapi", reason="this Python comes without its own tests")
pytestmark = pytest.mark.alone

SHARE = 8
"""Of so many allocations one is tried in `make test`."""


@pytest.fixture(autouse=True)
def no_kept_blocks(monkeypatch):
    """Each buffer is asked of the system."""
    monkeypatch.setenv("INGOT_TIERS", "quick")
    before = ingot.memory()["limit"]
    ingot.set_kept_memory_limit(0)
    yield
    _ingot.fail_allocation(0)
    ingot.set_kept_memory_limit(before)


def runs_of(program, compiled):
    """A function that runs the program with fresh arguments: result or exception, and what it prints."""

    def run():
        arguments = program.arguments(True)
        np.random.seed(3)
        return outcome((lambda *given: program.calls(compiled, given)) if program.calls else compiled, arguments)

    return run


def is_same(got, expected):
    return type(got[1]) is type(expected[1]) and difference(got[0], expected[0]) is None and got[2] == expected[2]


def held():
    gc.collect()
    return ingot.memory()["in_use"]


def places_of(run):
    """How often a run asks the system for a block."""
    most = 1 << 40
    _ingot.fail_allocation(most)
    run()
    return most - _ingot.fail_allocation(0)


def fail_everywhere(run, share, phase=0):
    """How often a run ended with MemoryError when one of its blocks was missing."""
    expected = run()
    before, failures = held(), 0
    for place in range(1 + phase % share, places_of(run) + 1, share):
        _ingot.fail_allocation(place)
        got = run()
        assert _ingot.fail_allocation(0) == 0, "the block was not asked for"
        if isinstance(got[1], MemoryError):
            failures += 1
        else:
            assert is_same(got, expected), (place, got)
        del got
        assert held() == before, place
        assert is_same(run(), expected), place
    return failures


SLOW = pytest.mark.slow


@pytest.mark.parametrize("share", [pytest.param(SHARE, id="some"), pytest.param(1, id="all", marks=SLOW)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@pytest.mark.sampled(12)
def test_programs_of_the_tour_without_one_block(program, share):
    fail_everywhere(runs_of(program, program.compiled(program.plain)), share)


def temporaries(a, n):
    rows = []
    for i in range(n):
        rows.append(a * i)
    b = np.concatenate((a, a + 1)) @ np.ones((2 * len(a), 3))
    try:
        c = np.sort(a)[::-1] + np.zeros(len(a))
    except ValueError:
        c = a
    return rows, {"b": b, "c": c}, np.linalg.solve(np.eye(3) * 2, b)


def in_threads(a, n):
    b = np.zeros(n)
    for i in prange(n):
        c = np.sqrt(a + i)
        b[i] = np.sort(c)[0] + c.sum()
    return b


@pytest.mark.parametrize(("function", "iterations"), [pytest.param(temporaries, 4, marks=SLOW), (in_threads, 64)])
def test_functions_without_one_block(function, iterations):
    compiled, a = ingot.jit(function), np.arange(600.0)  # no small temporaries, which are passed on
    assert fail_everywhere(lambda: outcome(compiled, (a, iterations)), 1 if function is temporaries else 9) > 3


def test_a_handler_sees_the_missing_memory():
    def guarded(a):
        try:
            return a * 2 + np.sort(a), False
        except MemoryError:
            return a, True

    compiled, a = ingot.jit(guarded), np.ones(50)
    run = lambda: compiled(a)  # noqa: E731
    assert not run()[1]
    for place in range(1, places_of(run) + 1):
        _ingot.fail_allocation(place)
        try:
            assert run()[1]
        except MemoryError:  # of the result, which is no longer the function's
            pass
        assert not run()[1]


def without_one_of_pythons(call, place):
    """What a call gives that does not get one block of those that it asks of Python."""
    _testcapi.set_nomemory(place, place + 1)
    try:
        return call()
    finally:
        _testcapi.remove_mem_hooks()


def shown(a, n):
    total = 0.0
    b = a * 2
    for i in range(n):
        total += (b * i).sum()
        if total > 1e9:
            raise ValueError(f"large: {total}")
    return b, total, [n, {"x": total}]


def test_calls_without_one_block_of_pythons():
    compiled, a = ingot.jit(shown), np.arange(5.0)
    expected, failures = compiled(a, 4), 0
    for place in itertools.count():
        try:
            got = without_one_of_pythons(lambda: compiled(a, 4), place)
        except MemoryError:
            failures += 1
        else:
            assert difference(got, expected) is None
            if place > 40:
                break
        assert difference(compiled(a, 4), expected) is None
    assert failures > 2


def test_memory_that_compiling_lacks_means_nothing_for_the_program(monkeypatch):
    def called(x):
        return x + 1

    def lacking(*_):
        raise MemoryError

    compiled = ingot.jit(lambda x: called(x, x))
    with monkeypatch.context() as now:
        now.setattr(parameters, "without_body", lacking)  # by which the compiler has Python refuse a call
        with pytest.raises(MemoryError):
            compiled(1)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        compiled(1)


HERE = pathlib.Path(__file__).parent
INGOTS, ANYBODYS = 1, 3
"""Whose allocations fail. CPython's own do in compiling thousands of times, and it does not come through all of them."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """What is preloaded into a process whose allocations are to fail."""
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the address sanitizer has an allocator of its own")
    made = tmp_path_factory.mktemp("missing") / "missing.so"
    subprocess.run(["gcc", "-O1", "-fPIC", "-shared", HERE / "missing_memory.c", "-o", made], check=True)
    return made


def attempts_at(library, scenario, owners, most, lasting):
    """What came of so many attempts, the first with all memory, the last with all of it and no new thread."""
    command = [sys.executable, HERE / "missing_memory.py", library, scenario, str(owners), str(most), "0", str(int(lasting))]
    done = subprocess.run(command, env=os.environ | {"LD_PRELOAD": str(library)}, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_attempts(library, scenario, owners, most, lasting=False):
    first, *rest, last = attempts_at(library, scenario, owners, most, lasting)
    ways = [["value", "value"], ["memory", "value"]]
    if scenario.startswith("cold"):
        ways.append(["lost", "lost"])
    for told in (first, last):
        assert (told["status"], told["came"][:2]) == (0, ways[0]), told
    # A thread's first exception ends the process with this word of the C library's, where there is no memory for it.
    ended = [told for told in rest if told["status"] == 127]
    assert len(ended) <= 1 + len(rest) // 20
    rest = [told for told in rest if told["status"] != 127]
    wrong = [told for told in rest if told["status"] != 0 or told["came"][:2] not in ways]
    assert not wrong
    return [told["came"][0] for told in rest]


WARM = ["arrays", "containers", "raised", "host", "solve", "large solve", "linalg", "large product", "fft", "large fft", "large sort", "threads"]
COLD = ["number", "arrays", "several threads", "another thread", "raised"]


@pytest.mark.parametrize("name", WARM)
@pytest.mark.parametrize("most", [6, pytest.param(10_000, marks=SLOW)], ids=["some", "all"])
@pytest.mark.sampled(4)
def test_calls_without_one_allocation_of_the_process(library, name, most):
    came = check_attempts(library, f"warm {name}", ANYBODYS, most)
    # Of a few allocations of a large sort, those of the routine's threads, which do without, may be all.
    assert name == "threads" or (name == "large sort" and most == 6) or "memory" in came


@pytest.mark.parametrize("name", COLD)
@pytest.mark.parametrize("most", [6, pytest.param(400, marks=SLOW)], ids=["some", "many"])
@pytest.mark.sampled(4)
def test_compiling_without_one_allocation(library, name, most):
    assert {"memory", "lost"} & set(check_attempts(library, f"cold {name}", INGOTS, most))


@pytest.mark.parametrize("name", ["arrays", "containers", "solve", "linalg", "large solve", "large sort"])
@pytest.mark.parametrize("most", [6, pytest.param(200, marks=SLOW)], ids=["some", "many"])
@pytest.mark.sampled(4)
def test_calls_without_any_more_memory(library, name, most):
    assert "memory" in check_attempts(library, f"warm {name}", ANYBODYS, most, lasting=True)
