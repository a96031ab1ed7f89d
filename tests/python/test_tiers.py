"""Quick code at first, full code when that has paid (docs/tiers.md)."""

import functools
import gc
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

import ingot
from ingot._calls.tiers import Tier, Worker, is_long, worker
from ingot.tour.programs import PROGRAMS
from support import difference, outcome


@pytest.fixture
def both(monkeypatch):
    """The environment has no variable of tiers."""
    monkeypatch.delenv("INGOT_TIERS", raising=False)


def summed(a, n):
    total = 0.0
    for i in range(n):
        total += np.sqrt(a * i).sum()
    return total


def _tier(function):
    return function.specialisations[0].tier


def _until_full(function, *arguments):
    end = time.monotonic() + 60
    while _tier(function) is not Tier.FULL and time.monotonic() < end:
        function(*arguments)
    assert _tier(function) is Tier.FULL


def test_calls_run_quick_code_and_then_full_code(both):
    function = ingot.jit(summed)
    x = np.arange(500.0)
    first = function(x, 20)
    assert _tier(function) is Tier.QUICK
    _until_full(function, x, 20)
    assert function(x, 20) == first
    worker.wait()
    assert "ingot-compiler" not in [thread.name for thread in threading.enumerate()]


def test_short_programs_make_no_full_code(both):
    function = ingot.jit(summed)
    function(np.arange(3.0), 2)
    worker.wait()
    assert _tier(function) is Tier.QUICK


@pytest.mark.parametrize(("tier", "expected"), [("quick", Tier.QUICK), ("full", Tier.FULL), ("auto", Tier.QUICK)])
def test_a_function_states_which_code_it_wants(both, tier, expected):
    function = ingot.jit(summed, tier=tier)
    function(np.arange(3.0), 2)
    assert _tier(function) is expected


def test_unknown_tiers_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="tier is auto, quick or full, not 'fast'"):
        ingot.jit(summed, tier="fast")
    monkeypatch.setenv("INGOT_TIERS", "sometimes")
    with pytest.warns(RuntimeWarning, match="INGOT_TIERS is on, off or quick, not 'sometimes'"):
        ingot.jit(summed)(np.ones(3), 1)


@pytest.mark.parametrize(("word", "expected"), [("off", Tier.FULL), ("quick", Tier.QUICK), ("on", Tier.QUICK)])
def test_the_environment_specifies_which_code_is_made(monkeypatch, word, expected):
    monkeypatch.setenv("INGOT_TIERS", word)
    function = ingot.jit(summed)
    function(np.arange(3.0), 2)
    assert _tier(function) is expected


def test_arguments_that_promise_much_work_have_full_code_at_once(both):
    assert is_long([np.broadcast_to(0.0, 1 << 28)]) and is_long([1 << 28]) and is_long([np.zeros(1000), 300_000])
    assert not is_long([np.zeros(1000), 100]) and not is_long([-(1 << 40), 2.0])
    function = ingot.jit(summed)
    function(np.zeros(1000), 300_000)
    assert _tier(function) is Tier.FULL


@pytest.mark.parametrize(
    "function, counts",
    [
        (lambda a, n: a[0] + n, False),
        (lambda a, n: a * n if n > 3 else a, False),
        (lambda a, n: a.reshape(20_000, n // (1 << 14)).sum(), False),
        (lambda a, n: np.arange(n // 1000).sum() + a[0], True),
        (lambda a, n: sum(a[0] for _ in range(n // 1000)), True),
        (lambda a, n: a[: n // 2].sum(), True),
        (lambda a, n: a[0] + (np.zeros(n // 1000) if n > 3 else a)[0], True),
        (lambda a, n: np.repeat(a[:2], np.full(2, n // 1000)).sum(), True),
        (lambda a, n: np.arange(3) + n, False),
    ],
    ids=["number", "elements", "shape", "length", "loop", "slice", "branch", "table", "integers"],
)
def test_numbers_that_decide_nothing_about_the_work_promise_none(both, function, counts):
    """What is not known to do no more for a larger number may do so."""
    compiled = ingot.jit(function)
    compiled(np.zeros(20_000), 1 << 14)
    assert compiled.specialisations[0].program.counts == [False, counts]
    assert _tier(compiled) is (Tier.FULL if counts else Tier.QUICK)


def steps(a, b, n):
    for _ in range(n):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def _code(function, *arguments, quick):
    compiled = ingot.jit(function, tier="quick")
    compiled(*arguments)
    return compiled.specialisations[0].compile(texts=True, quick=quick)


@pytest.mark.skipif(os.environ.get("INGOT_THREADS") == "always", reason="all loops are shared")
def test_quick_code_has_few_versions_of_loops(both):
    """One of steps around nests, and none in tiles: slow paths are not shared, either."""
    loops = [_code(steps, np.ones((9, 9)), np.ones((9, 9)), 2, quick=quick)["loop IR"].count(" for ") for quick in (True, False)]
    assert loops[0] <= loops[1] / 3


def test_quick_code_has_vectors_of_one_register(both):
    """Of doubles, but where the lanes of a sum are combined."""

    def means(x):
        return (x - x.mean()) / np.sqrt((x * x).sum())

    def widths(quick):
        text = _code(means, np.ones(100), quick=quick)["LLVM IR"]
        return [int(width) for width in re.findall(r"<(\d+) x double>", text)]

    lanes = {"scalar": 1, "sse": 2, "avx2": 4, "avx512": 8}.get(os.environ.get("INGOT_VECTORS", ""), 8)
    assert max(widths(True), default=1) <= lanes
    assert lanes == 1 or max(widths(False)) > max(widths(True))


def _reductions(x, y, z):
    return x.sum(), x.max(), x.min(), x.prod(), (x * y).sum(), np.exp(x).sum(), (x > 0).any(), (x > 9).all(), (x > 0).sum(), z.sum(), np.argmax(x)


def _rows(x):
    return x.sum(axis=-1), x.sum(axis=0), x.max(axis=-1), np.float32(x).mean(axis=-1), (x + 1j * x).sum(axis=-1)


def _same(a, b):
    return all(np.asarray(x).dtype == np.asarray(y).dtype and np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in zip(a, b, strict=True))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i2", "u1", "c16", "c8"])
def test_reductions_of_quick_code_have_the_bits_of_full_code(both, dtype):
    """Of any length: lanes take whole registers, what is left is taken one by one, of any stride."""
    random = np.random.default_rng(7)
    quick, full = (ingot.jit(_reductions, tier=tier) for tier in ("quick", "full"))
    if dtype[0] == "c":
        quick, full = (ingot.jit(lambda x, y, z: (x.sum(), x.prod(), (x * y).sum(), np.abs(x).max(), z.sum()), tier=tier) for tier in ("quick", "full"))
    for length in (1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 65, 1023, 1024, 1025, 1031, 2048, 5000):
        values = (random.standard_normal(3 * length) * 3).astype(dtype)
        values[random.integers(0, 3 * length, 2)] = 0
        for step in (1, 2, -1, 3):
            x, y, z = values[: 2 * length][::step], values[::-1][: 2 * length][::step], values.reshape(length, 3)
            with np.errstate(all="ignore"):
                assert _same(quick(x, y, z), full(x, y, z)), (length, step)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (5, 3), (40, 33), (33, 1030), (1030, 33)])
def test_rows_of_quick_code_have_the_bits_of_full_code(both, shape):
    values = np.random.default_rng(8).standard_normal(shape)
    values[0, 0] = np.nan if shape[0] > 3 else 1.0
    quick, full = (ingot.jit(_rows, tier=tier) for tier in ("quick", "full"))
    for x in (values, values.T, values[::-1, ::-1], np.asfortranarray(values), values[::2], values[:, ::2]):
        assert _same(quick(x), full(x))


def test_what_each_phase_took_is_known(both):
    function = ingot.jit(summed)
    function(np.arange(3.0), 2)
    function.compile(np.arange(3.0), 2)
    phases = function.specialisations[0].phases
    assert set(phases) == {"frontend", "quick", "full"} and list(phases["frontend"]) == ["frontend"]
    for tier in ("quick", "full"):
        took = phases[tier]
        assert {"simplify", "to_loops", "codegen: emit", "codegen: passes", "codegen: select", "load"} <= set(took)
        assert all(milliseconds >= 0 for milliseconds in took.values())
        assert took["codegen"] >= took["codegen: select"] > 0


def test_full_code_is_made_on_request(both):
    function = ingot.jit(summed)
    function.compile(np.arange(3.0), 2)
    assert _tier(function) is Tier.FULL
    other = ingot.jit(summed)
    future = other.compile_async(np.arange(3.0), 2)
    assert future.result(60) is None and _tier(other) is Tier.FULL
    refused = ingot.jit(lambda x: {x: 1 for _ in range(3)}.popitem(1, 2))
    with pytest.raises((ingot.UnsupportedError, TypeError)):
        refused.compile_async(object()).result(60)
    with pytest.raises(TypeError):
        ingot.jit(summed).compile(1, 2, 3)


def _calls(program, compiled, *arguments):
    return program.calls(compiled, arguments) if program.calls else compiled(*arguments)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@pytest.mark.sampled(6)
def test_both_kinds_have_the_same_bits(monkeypatch, program, capsys):
    found = []
    for word in ("quick", "off"):
        monkeypatch.setenv("INGOT_TIERS", word)
        arguments = program.arguments(True)
        compiled = program.compiled(program.plain)
        np.random.seed(3)
        call = functools.partial(_calls, program, compiled)
        found.append((outcome(call, arguments), arguments))
    assert difference(found[0][1], found[1][1]) is None
    (result, error, printed), (other, *rest) = (each[0] for each in found)
    assert difference(result, other) is None and [repr(error), printed] == [repr(rest[0]), rest[1]]


@pytest.mark.parametrize("quick", [True, False])
def test_quick_code_stores_through_the_caches(both, quick):
    function = ingot.jit(lambda x, out: np.add(x, 1.0, out))
    function(np.ones(9), np.ones(9))
    stages = function.specialisations[0].compile(texts=True, quick=quick)
    assert ("!nontemporal" in stages["LLVM IR"]) is not quick


def test_quick_code_is_what_is_selected_fast(both):
    def clipped(x, low, high):
        return sum(min(max(i, low), high) - abs(i) for i in range(-len(x), 3))

    function = ingot.jit(clipped)
    assert function(np.ones(9), -2, 1) == clipped(np.ones(9), -2, 1)
    quick, full = (function.specialisations[0].compile(texts=True, quick=quick)["LLVM IR"] for quick in (True, False))
    scalar = re.compile(r"call i64 @llvm\.(smin|smax|umin|umax|abs)\.")
    assert scalar.search(full) and not scalar.search(quick)
    values = re.findall(r"^ +(%[\w.]+) = (?:[fi]cmp|[a-z]+ (?:nuw |nsw )*[^@(]+$)", quick, re.MULTILINE)
    assert values and all(re.search(rf"{re.escape(value)}\b(?! =)", quick) for value in values)  # none is unused


def _stages(function, quick, *arguments):
    compiled = ingot.jit(function)
    compiled(*arguments)
    return compiled.specialisations[0].compile(texts=True, quick=quick)


def test_vectors_wait_in_aligned_memory(both):
    """What is read back from two lines of the cache takes ten times as long: a product with a vector took 16 times as long."""
    assembly = _stages(lambda x: np.sum(x * x), True, np.ones(9))["assembly"]
    vectors = re.findall(r"vmov([au])\w+\s+(?:%[yz]mm\d+, \d*\(%rsp\)|\d*\(%rsp\), %[yz]mm\d+)$", assembly, re.MULTILINE)
    assert "u" not in vectors
    assert vectors or "zmm" not in assembly


def test_quick_code_selects_without_branches(both):
    def chosen(x, y, flag):
        total = 0.0
        for i in range(len(x)):
            total += x[i] if flag else y[i]
        return total, np.where(flag, x, y)

    quick, full = (_stages(chosen, quick, np.ones(99), np.zeros(99), True)["LLVM IR"] for quick in (True, False))
    by_number = re.compile(r"select i1 %[\w.]+, (double|<\d+ x double>)")
    assert by_number.search(full) and not by_number.search(quick)


def test_what_a_loop_does_not_change_is_before_it(both):
    def filled(x, out):
        for i in range(len(x)):
            for j in range(x.shape[1] - 1):
                out[i, j + 1] = out[i, j] / 2 + x[i, j]

    text = _stages(filled, True, np.ones((9, 9)), np.ones((9, 9)))["LLVM IR"]
    iterations = [block for block in re.split(r"\n\n", text) if " fdiv " in block]
    assert iterations and not any(re.search(r" mul i64 %\w+, %", block) for block in iterations)


def test_relaxed_functions_have_one_kind_of_code(both):
    function = ingot.jit(lambda x, y: x * y + 1.0, fastmath=True)
    function(2.0, 3.0)
    assert _tier(function) is Tier.FULL


def test_the_tier_is_pickled():
    code = "import numpy as np\ndef f(x): return x + 1\n"
    space = {"__name__": "elsewhere"}
    exec(code, space)  # noqa: S102
    assert ingot.jit(space["f"], tier="quick").__reduce_ex__(2)[1][-4:-2] == (True, "quick")


def test_exceptions_are_the_same(monkeypatch):
    def raising(a, i):
        if a[0] > 5:
            raise ValueError(f"large: {a[0]}")
        return a[i]

    found = []
    for word in ("quick", "off"):
        monkeypatch.setenv("INGOT_TIERS", word)
        function = ingot.jit(raising)
        for arguments in ((np.ones(3), 7), (np.full(3, 9.0), 0)):
            with pytest.raises((IndexError, ValueError)) as caught:
                function(*arguments)
            found.append((type(caught.value), str(caught.value), caught.traceback[-1].lineno))
    assert found[:2] == found[2:]


def test_code_is_swapped_under_threads(both):
    function = ingot.jit(summed)
    x = np.arange(300.0)
    expected, wrong = ingot.jit(summed, tier="full")(x, 30), []

    def calls():
        for _ in range(300):
            if function(x, 30) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=calls) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worker.wait()
    assert not wrong


def test_changes_of_tier_keep_nothing(both):
    function = ingot.jit(summed)
    codes_result = function(np.arange(3.0), 2)
    it = function.specialisations[0]
    codes = [ingot._ingot.Code.load(it.compile(quick=quick)["object"], None) for quick in (True, False)]
    for code in codes:
        it._improve(code)
    before = _mappings(), sys.getrefcount(codes[0]), sys.getrefcount(codes[1])
    for iteration in range(100_000):
        it._improve(codes[iteration % 2])
    assert (_mappings(), sys.getrefcount(codes[0]), sys.getrefcount(codes[1])) == before
    assert function(np.arange(3.0), 2) == codes_result


def _mappings():
    with open("/proc/self/maps") as maps:
        return sum("rwxp" in line or "r-xp" in line for line in maps)


@pytest.mark.rotated(4)
def test_functions_that_are_gone_are_not_compiled(both):
    blocked = threading.Event()
    worker.submit(blocked.wait)
    function = ingot.jit(summed)
    function(np.arange(3.0), 2)
    function.specialisations[0]._has_run()
    gone = weakref.ref(function.specialisations[0])
    del function
    gc.collect()
    assert gone() is None
    blocked.set()
    worker.wait()


def test_what_has_changed_is_not_compiled(both):
    space = {"np": np, "K": 2.0}
    exec("def f(x):\n    return x * K\n", space)  # noqa: S102
    function = ingot.jit(space["f"])
    assert function(3.0) == 6.0
    old = function.specialisations[0]
    space["K"] = 5.0
    old._complete_later()
    assert old.tier is Tier.QUICK and function(3.0) == 15.0


def _script(text, *, tiers="on"):
    environment = os.environ | {"INGOT_TIERS": tiers, "INGOT_CACHE": "off"}
    command = [sys.executable, "-c", "import os, sys, time, threading\nimport numpy as np\nimport ingot\n" + textwrap.dedent(text)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


SUMMED = """
def summed(a, n):
    total = 0.0
    for i in range(n):
        total += np.sqrt(a * i).sum()
    return total
functions = [ingot.jit(lambda a, n, k=k: summed(a, n) + k) for k in range(6)]
x = np.arange(100.0)
expected = [f(x, 5) for f in functions]
for f in functions: f.specialisations[0]._has_run()
"""


@pytest.mark.rotated(3)
def test_a_process_ends_amid_the_work():
    done = _script(SUMMED + "sys.exit(3)")
    assert done.returncode == 3 and not done.stderr
    done = _script(SUMMED + "raise KeyboardInterrupt")
    assert "KeyboardInterrupt" in done.stderr and done.returncode in (1, 130, -2)


def test_a_process_forks_amid_the_work():
    done = _script(
        SUMMED
        + """
    for iteration in range(5):
        child = os.fork()
        if child == 0:
            good = [f(x, 5) == expected[k] for k, f in enumerate(functions)]
            functions[5].compile(x.astype("f4"), 5)
            os._exit(0 if all(good) and threading.active_count() == 1 else 1)
        assert os.waitpid(child, 0)[1] == 0
    print("ended")
    """.replace("\n    ", "\n")
    )
    assert done.stdout == "ended\n", done.stderr


def test_a_worker_goes_on_after_failures():
    own, done = Worker(), []
    assert own.submit(lambda: 1 / 0) and own.submit(lambda: done.append(1))
    own.wait()
    assert done == [1]
    own.close()
    assert not own.submit(lambda: done.append(2)) and done == [1]
