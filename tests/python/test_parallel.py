"""Loops whose iterations threads share: the same bits for any number of threads, and what raises, forks, is interrupted or
is in another such loop."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import ingot
from ingot import prange
from ingot.tour import programs as tour
from support import interrupt, start, windows

COUNTS = (1, 2, 3, 7, 16)
LARGE = 300_007


@pytest.fixture(autouse=True)
def number_of_threads():
    before = ingot.get_num_threads()
    yield
    ingot.set_num_threads(before)


def chain(x, y):
    return np.sin(x) * y + np.sqrt(np.abs(x)) / (1 + y * y)


def reductions(x, y):
    return np.sum(x * y), np.prod(1 + x / 1e6), np.max(x - y), np.min(x + y), np.any(x > y), np.sum(x > y), np.mean(y)


def rows(x, y):
    a = x[:1500, None] + y[None, :401]
    return a.sum(axis=1), (a * 2).max(axis=1), a.sum(axis=0), a + a, a.max()


def iterations(x, y):
    out = np.zeros(len(x))
    for i in prange(len(x)):
        if x[i] > y[i]:
            out[i] = np.exp(x[i]) - y[i]
        else:
            out[i] = 2 * y[i] + i
    return out


def own_memory(x, y):
    out = np.zeros(len(x) // 100)
    for i in prange(len(x) // 100):
        part = x[100 * i : 100 * i + 100] + y[i]
        out[i] = np.sum(part * part)
    return out


def triangle(x, y):
    n = min(len(x), 700)
    out = np.zeros((n, n))
    for i in prange(n):
        for j in range(i):
            out[i, j] = x[j] * y[i] + out[i, i]
    return out


def counts(x, y):
    n = np.int64(0)
    m = np.uint8(1)
    for i in range(len(x)):
        if x[i] < y[i]:
            n += np.int64(3)
        m *= np.uint8(7)
    return n, m


def steps(x, y):
    for _ in range(5):
        x = x + 0.1 * np.sin(y - x)
        y = np.where(x > y, y, x * 2)
    return x, y, x.sum()


PROGRAMS = (chain, reductions, rows, iterations, own_memory, triangle, counts, steps)


def texts(value):
    if isinstance(value, dict):
        return [*map(str, value), *texts(list(value.values()))]
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in texts(part)]
    array = np.asarray(value)
    return [str(array.dtype), str(array.shape), array.tobytes().hex() if array.dtype != object else repr(value)]


def bits(result):
    return hashlib.sha256(" ".join(texts(result)).encode()).hexdigest()


def arguments(length):
    random = np.random.default_rng(length)
    return random.normal(size=length), random.normal(size=length)


def all_results(lengths, functions):
    return {f"{program.__name__} {length}": bits(function(*arguments(length))) for program, function in functions for length in lengths}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_large_loops_have_the_same_bits_for_any_number_of_threads(program):
    function = ingot.jit(program)
    ingot.set_num_threads(1)
    wanted = all_results((LARGE, 1_000_000), [(program, function)])
    for count in COUNTS[1:]:
        ingot.set_num_threads(count)
        assert all_results((LARGE, 1_000_000), [(program, function)]) == wanted


SMALL = (1, 2, 3, 7, 8, 63, 64, 65, 700, 1023, 1024, 1025, 2048, 5000)


@pytest.mark.rotated(5)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("sharing", ["always", "never"])
def test_small_loops_have_the_bits_of_the_interpreter(sharing):
    environment = {**os.environ, "INGOT_THREADS": sharing, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    wanted = all_results(SMALL[:10], [(p, ingot._calls.function.Function(p, mode="interpreted")) for p in PROGRAMS if p is not triangle])
    for count, results in json.loads(run.stdout.splitlines()[-1]).items():
        assert {name: results[name] for name in wanted} == wanted, count


def tour_result(program, function):
    given = program.arguments(True)
    try:
        result = program.calls(function, given) if program.calls else function(*given)
    except (TypeError, np.linalg.LinAlgError) as error:
        return repr(error)  # which Python raises too
    return bits([result, list(given)])


def run_small():
    results = {}
    functions = [(p, ingot.jit(p)) for p in PROGRAMS]
    is_random = ("spca_unopt_int",)
    of_tour = [(p, p.compiled(p.plain)) for p in tour.PROGRAMS if p.name not in is_random]
    for count in COUNTS:
        ingot.set_num_threads(count)
        results[count] = all_results(SMALL, functions)
        for program, function in of_tour:
            results[count][f"tour {program.name}"] = tour_result(program, function)
    assert all(r == results[1] for r in results.values())
    print("\n" + json.dumps(results))


def test_nothing_to_do():
    ingot.set_num_threads(4)
    empty = np.zeros(0)
    assert len(ingot.jit(chain)(empty, empty)) == len(ingot.jit(iterations)(empty, empty)) == 0
    assert ingot.jit(counts)(empty, empty) == (0, 1)


def gather(x, where, y):
    for i in prange(len(where)):
        y[i] = np.sin(x[where[i]])


@pytest.mark.parametrize("count", COUNTS)
def test_the_lowest_iteration_that_raises_wins(count):
    ingot.set_num_threads(count)
    function = ingot.jit(gather)
    x = np.ones(LARGE)
    for first in (0, 1, 4095, 123_456, LARGE - 1):
        where = np.arange(LARGE)
        where[first::1001] += LARGE
        y = np.zeros(LARGE)
        with pytest.raises(IndexError, match=f"index {LARGE + first} is out of bounds"):
            function(x, where, y)
        assert (y[:first] == np.sin(1.0)).all(), "all iterations below it have run"
        if count == 1:
            assert (y[first:] == 0).all()


def test_serial_loops_that_raise_stay_exact():
    @ingot.jit
    def serial(x, y):
        for i in range(len(x)):
            if x[i] == 0:
                raise ValueError("zero")
            y[i] = 1

    ingot.set_num_threads(4)
    x, y = np.ones(LARGE), np.zeros(LARGE)
    x[1000] = 0
    with pytest.raises(ValueError, match="zero"):
        serial(x, y)
    assert y.sum() == 1000


@pytest.mark.rotated(4)
def test_elements_that_occur_twice_are_written_in_order():
    def fill(x):
        for i in range(len(x)):
            x[i] = np.sqrt(i)

    def fill_rows(x):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = np.sqrt(i)

    ingot.set_num_threads(4)
    for shape, strides in (((LARGE,), (0,)), ((1000, 300), (0, 8)), ((1000, 300), (8, 8)), ((1000, 300), (16, 24))):
        given = [windows(np.zeros(12_000), shape, strides) for _ in range(2)]
        function = fill if len(shape) == 1 else fill_rows
        for x, f in zip(given, (function, ingot.jit(function))):
            f(x)
        np.testing.assert_array_equal(*given)


def test_reversed_and_strided_arrays_are_shared():
    ingot.set_num_threads(3)
    x, y = arguments(LARGE)
    function = ingot.jit(gather)
    for part in (slice(None, None, -1), slice(None, None, 2)):
        out = np.zeros(LARGE)
        function(x[part], np.arange(len(x[part])), out[part])
        np.testing.assert_allclose(out[part], np.sin(x[part]), rtol=1e-14)


def test_a_loop_in_a_shared_loop_runs_on_its_thread():
    @ingot.jit
    def nested(x):
        for i in prange(x.shape[0]):
            for j in prange(x.shape[1]):
                x[i, j] = np.sin(x[i, j] + i - j)

    x = np.random.default_rng(1).random((300, 1000))
    wanted = None
    for count in COUNTS:
        ingot.set_num_threads(count)
        y = x.copy()
        nested(y)
        wanted = y if wanted is None else wanted
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.alone
def test_many_callers_at_once():
    ingot.set_num_threads(4)
    function = ingot.jit(steps)
    given = [arguments(LARGE + k) for k in range(8)]
    wanted = [bits(function(*a)) for a in given]
    got = [[] for _ in given]

    def work(k):
        for _ in range(6):
            got[k].append(bits(function(*given[k])))

    callers = [threading.Thread(target=work, args=(k,)) for k in range(len(given))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=120)
        assert not caller.is_alive()
    assert got == [[w] * 6 for w in wanted]


@pytest.mark.alone
def test_forked_children_have_their_own_threads():
    ingot.set_num_threads(3)
    function = ingot.jit(chain)
    x, y = arguments(LARGE)
    wanted = bits(function(x, y))
    stop = threading.Event()

    def keep_calling():
        while not stop.is_set():
            function(x, y)

    caller = threading.Thread(target=keep_calling)
    caller.start()
    try:
        for _ in range(10):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if bits(function(x, y)) == wanted == bits(function(x, y)) else 1)
            assert bits(function(x, y)) == wanted
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        caller.join()


INTERRUPTED = """
import signal, threading, time
import numpy as np
import ingot
from ingot import prange

@ingot.jit
def spin(y, n):
    for i in prange(len(y)):
        s = 0
        for j in range(n):
            s = (s + i * j) % 1000003
        y[i] = s

ingot.set_num_threads(4)
y = np.zeros(4000)
spin(y, 3)
print("ready", flush=True)
begin = time.time()
try:
    spin(y, 10**9)
except KeyboardInterrupt:
    print(time.time() - begin - 0.5, flush=True)
spin(y, 1000)
want = y.copy()
ingot.set_num_threads(1)
spin(y, 1000)
print((y == want).all())
"""


@pytest.mark.alone
def test_ctrl_c_leaves_a_shared_loop_at_once(tmp_path):
    process = start(tmp_path / "program.py", INTERRUPTED)
    status, out, error = interrupt(process, 0.5)
    assert status == 0, error
    left, rest = out.splitlines()
    assert rest == "True"
    assert float(left) < 2, left  # 0.1 s where the machine does nothing else


@pytest.mark.alone
def test_python_ends_while_threads_run(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        INTERRUPTED.split("spin(y, 3)")[0]
        + "spin(y, 3)\nthreading.Thread(target=lambda: spin(y, 10**9), daemon=True).start()\n"
        + "time.sleep(0.3)\nprint('end', flush=True)\n"
    )
    run = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "end\n", "")


def run_python(text, **environment):
    return subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_number_of_threads():
    show = "import ingot; print(ingot.get_num_threads())"
    assert run_python(show, INGOT_NUM_THREADS="5").stdout == "5\n"
    default = {name: value for name, value in os.environ.items() if name != "INGOT_NUM_THREADS"}
    run = subprocess.run([sys.executable, "-c", show], env=default, capture_output=True, text=True, check=True)
    assert 1 <= int(run.stdout) <= len(os.sched_getaffinity(0))
    ingot.set_num_threads(3)
    assert ingot.get_num_threads() == 3
    for wrong in (0, -1, 257):
        with pytest.raises(ValueError, match="number of threads"):
            ingot.set_num_threads(wrong)
    with pytest.raises(TypeError):
        ingot.set_num_threads(2.0)


def _threads_with(**variables):
    own = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    show = "import ingot; print(ingot.get_num_threads())"
    return int(subprocess.run([sys.executable, "-c", show], env=own | variables, capture_output=True, text=True, check=True).stdout)


def test_variables_of_openmp_bound_the_number_of_threads():
    usual = _threads_with()
    assert _threads_with(OMP_NUM_THREADS="1") == _threads_with(OMP_NUM_THREADS="1,4") == 1
    assert _threads_with(OMP_NUM_THREADS="200") == _threads_with(OMP_NUM_THREADS="many") == usual
    assert _threads_with(OMP_NUM_THREADS="1", INGOT_NUM_THREADS="3") == 3


def test_a_process_has_the_threads_of_its_affinity():
    text = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}}); import ingot; print(ingot.get_num_threads())"
    own = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    assert subprocess.run([sys.executable, "-c", text], env=own, capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.parametrize("order", ["threadpoolctl, ingot", "ingot, threadpoolctl"])
def test_threadpoolctl_bounds_the_number_of_threads(order):
    text = f"""
import {order}
import numpy as np
f = ingot.jit(lambda x: x + 1)
counts = []
ingot.set_num_threads(4)
f(np.ones(3))
for limits in ({{"limits": 1}}, {{"limits": 2, "user_api": "openmp"}}, {{"limits": 1, "user_api": "blas"}}, {{"limits": {{"openmp": 3}}}}, {{"limits": 1000}}):
    with threadpoolctl.threadpool_limits(**limits):
        counts.append(ingot.get_num_threads())
    assert ingot.get_num_threads() == 4
shown, = (each for each in threadpoolctl.threadpool_info() if each["internal_api"] == "ingot")
print(counts, shown["num_threads"], shown["version"] == ingot.__version__)
"""
    run = run_python(text)
    assert run.stdout == "[1, 2, 4, 3, 256] 4 True\n", run.stderr


if __name__ == "__main__":
    run_small()
