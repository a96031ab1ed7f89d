"""Processes that are forked, spawned and ended, and threads that call, while functions are compiled."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.alone


def run(folder, text, *arguments, timeout=120, **environment):
    """What a program prints that ends well and quietly."""
    file = folder / "program.py"
    file.write_text(textwrap.dedent(text))
    given = os.environ | {"INGOT_TIERS": "on", "INGOT_CACHE": "off", "PYTHONWARNINGS": "ignore"} | environment
    done = subprocess.run([sys.executable, file, *map(str, arguments)], capture_output=True, text=True, env=given, timeout=timeout)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def few_or(number, many):
    """Parameters of a test: a number of iterations for `make test`, and many, which are slow."""
    return pytest.mark.parametrize("iterations", [number, pytest.param(many, marks=pytest.mark.slow)])


STARTED = """
import multiprocessing, sys, threading
import numpy as np
import ingot
from ingot import prange

@ingot.jit
def shared(x):
    y = np.zeros(len(x))
    for i in prange(len(x)):
        y[i] = np.sqrt(x[i]) * i
    return y

@ingot.jit
def summed(a, n):
    total = 0.0
    for i in range(n):
        total += np.sqrt(a * i).sum()
    return total

@ingot.vectorize
def half(x):
    return x / 2

def bits(function, *arguments):
    return np.asarray(function(*arguments)).tobytes()

def work(function, arguments):
    ingot.set_num_threads(2)
    first = bits(function, *arguments)
    return first, bits(ingot.jit(lambda x: x * 3 + 1), np.arange(7.0)), bits(function, *arguments)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    ingot.set_num_threads(2)
    jobs = [(shared, (np.arange(100_000.0),)), (summed, (np.arange(50.0), 9)), (half, (np.arange(9.0),))]
    wanted = [bits(function, *arguments) for function, arguments in jobs]
    other = bits(ingot.jit(lambda x: x * 3 + 1), np.arange(7.0))
    stop = threading.Event()

    def keep_calling():
        while not stop.is_set():
            shared(*jobs[0][1])

    caller = threading.Thread(target=keep_calling)
    caller.start()
    summed.specialisations[0]._has_run()
    try:
        with context.Pool(2) as pool:
            results = pool.starmap(work, jobs * 2, chunksize=1)
    finally:
        stop.set()
        caller.join()
    assert results == [(want, other, want) for want in wanted * 2]
    print("right")
"""


@pytest.mark.parametrize("method", ["fork", "spawn", pytest.param("forkserver", marks=pytest.mark.slow)])
def test_functions_are_passed_to_processes(tmp_path, method):
    assert run(tmp_path, STARTED, method) == "right\n"


FORKED = """
import os, signal, sys, threading, time
import numpy as np
import ingot

x = np.arange(7.0)

def made(k):
    space = {"np": np}
    exec(f"def f(a, n):\\n    total = 0.0\\n    for i in range(n):\\n        total += np.sqrt(a * i + {k}).sum()\\n    return total", space)
    return ingot.jit(space["f"], tier="full" if k % 2 else "quick")

def is_right(k):
    return abs(made(k)(x, 3) - sum(np.sqrt(x * i + k).sum() for i in range(3))) < 1e-9

stop = threading.Event()

def keep_compiling():
    k = 0
    while not stop.is_set():
        made(k)(x, 3)
        k += 1

wrong = 0
if sys.argv[2] == "loaded":
    made(0)(x, 3)
compiler = threading.Thread(target=keep_compiling)
compiler.start()
for iteration in range(int(sys.argv[1])):
    time.sleep(0.0007 * (iteration % 23))
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if is_right(iteration) else 1)
    wrong += os.waitpid(child, 0)[1] != 0
stop.set()
compiler.join()
print(wrong, is_right(1000))
"""


@few_or(3, 40)
def test_a_process_is_forked_while_the_compiler_is_loaded(tmp_path, iterations):
    for _ in range(1 if iterations == 3 else 10):
        assert run(tmp_path, FORKED, iterations, "at first") == "0 True\n"


@few_or(6, 500)
def test_a_process_is_forked_while_a_thread_compiles(tmp_path, iterations):
    assert run(tmp_path, FORKED, iterations, "loaded", timeout=600) == "0 True\n"


def test_a_function_is_compiled_between_the_hooks_of_a_fork(tmp_path):
    text = """
    import os
    import numpy as np
    import ingot

    def compiled(k):
        assert ingot.jit(lambda x: x + k)(np.ones(3))[0] == 1 + k

    import ingot._calls.function  # hooks before a fork run in the reverse of their order
    os.register_at_fork(before=lambda: compiled(1), after_in_parent=lambda: compiled(2), after_in_child=lambda: compiled(3))
    child = os.fork()
    if child == 0:
        compiled(4)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    compiled(5)
    print("ended")
    """
    assert run(tmp_path, text) == "ended\n"


CALLED = """
import sys, threading
import numpy as np
import ingot

iterations, count = int(sys.argv[1]), 16

def summed(a, n):
    total = 0.0
    for i in range(n):
        total += (a * i).sum()
    return total

def raising(a, i):
    b = a * 2
    return b[i]

one, other = ingot.jit(summed), ingot.jit(raising)
kinds = [np.arange(5.0), np.arange(5.0, dtype="f4"), np.arange(5), np.arange(10.0)[::2], np.arange(6.0).reshape(2, 3)]
wanted = [summed(a, 4) for a in kinds]
wrong = []
gate = threading.Barrier(count)

def calls(number):
    gate.wait()
    for iteration in range(iterations):
        k = (iteration + number) % len(kinds)
        if one(kinds[k], 4) != wanted[k]:
            wrong.append(("sum", number, iteration))
        if iteration % 8 == 0:
            try:
                other(kinds[k], 9)
                wrong.append(("raise", number, iteration))
            except IndexError:
                pass
        if iteration % (1 + iterations // 5) == 0 and ingot.jit(lambda x: x * 2 + iteration)(1.5) != 3 + iteration:
            wrong.append(("own", number, iteration))

threads = [threading.Thread(target=calls, args=(number,)) for number in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(wrong)
"""


@few_or(200, 10_000)
def test_threads_call_while_functions_are_compiled(tmp_path, iterations):
    assert run(tmp_path, CALLED, iterations, timeout=900) == "[]\n"


@pytest.mark.parametrize("seconds", [0.02, *(pytest.param(s, marks=pytest.mark.slow) for s in (0.0, 0.01, 0.05, 0.1))])
def test_a_process_ends_while_another_thread_makes_code(tmp_path, seconds):
    text = """
    import sys, time
    import numpy as np
    import ingot

    def summed(a, n):
        total = 0.0
        for i in range(n):
            total += np.sqrt(a * i).sum() + np.sort(a)[0] + np.median(a)
        return total

    functions = [ingot.jit(lambda a, n, k=k: summed(a, n) + k) for k in range(3)]
    for function in functions:
        function(np.arange(20.0), 2)
        function.specialisations[0]._has_run()
    time.sleep(float(sys.argv[1]))
    print("ended")
    """
    assert run(tmp_path, text, seconds) == "ended\n"


def test_other_interpreters_are_refused(tmp_path):
    text = """
    import _xxsubinterpreters as interpreters
    import numpy as np
    import ingot

    function = ingot.jit(lambda x: x + 1)
    function(np.ones(3))
    inner = '''
    try:
        import ingot
        ingot.jit
    except ImportError:
        print("refused", flush=True)
    '''
    for _ in range(2):
        it = interpreters.create()
        interpreters.run_string(it, __import__("textwrap").dedent(inner))
        interpreters.destroy(it)
        assert function(np.ones(3))[0] == 2 and ingot.jit(lambda x: x * 2)(3.0) == 6
    """
    assert run(tmp_path, text) == "refused\n" * 2
