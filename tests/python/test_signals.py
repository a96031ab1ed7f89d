"""Signals while compiled code runs or is made: the rules of docs/semantics.md on them."""

import signal
import time

import pytest

from support import SPIN, interrupt, start

pytestmark = pytest.mark.alone

pytestmark = pytest.mark.alone

BEFORE = """
import asyncio, os, signal, sys, threading, time, traceback
{before}
import numpy as np
import ingot

@ingot.jit
def add(x, y):
    return x + y

FOREVER = 2**30
add(np.ones(3), 1.0)
"""


def program(tmp_path, after, before=""):
    return start(tmp_path / "program.py", BEFORE.format(before=before) + SPIN + after)


def send(process, number, after=0.3):
    """Sends a signal to a program some time after it has printed `ready`: its exit status, output and errors."""
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(after)
        process.send_signal(number)
        out, error = process.communicate(timeout=60)
        return process.returncode, out, error
    finally:
        process.kill()


LEFT = """
print("ready", flush=True)
try:
    spin(FOREVER, FOREVER)
except {0} as error:
    print("left", error)
"""


def test_a_handler_set_after_the_import_is_asked(tmp_path):
    after = "def handler(*_):\n    raise LookupError('from the handler')\nsignal.signal(signal.SIGINT, handler)\n"
    assert interrupt(program(tmp_path, after + LEFT.format("LookupError"))) == (0, "left from the handler\n", "")


def test_a_handler_is_changed_before_each_call(tmp_path):
    """As a notebook does for each of its cells."""
    after = "signal.signal(signal.SIGINT, signal.SIG_DFL)\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    assert interrupt(program(tmp_path, after + LEFT.format("KeyboardInterrupt"))) == (0, "left \n", "")


def test_a_signal_ignored_at_the_import_is_heard_later(tmp_path):
    before = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    after = "signal.signal(signal.SIGINT, signal.default_int_handler)\n" + LEFT.format("KeyboardInterrupt")
    assert interrupt(program(tmp_path, after, before)) == (0, "left \n", "")


def test_an_ignored_signal_is_ignored(tmp_path):
    after = "signal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('ready', flush=True)\nprint(spin(14000, 14000) >= 0)"
    assert interrupt(program(tmp_path, after)) == (0, "True\n", "")


def test_the_default_action_of_a_signal_ends_the_process(tmp_path):
    after = "signal.signal(signal.SIGINT, signal.SIG_DFL)\n" + LEFT.format("KeyboardInterrupt")
    assert interrupt(program(tmp_path, after)) == (-signal.SIGINT, "", "")


def test_a_coroutine_is_cancelled_and_left_at_the_second_signal(tmp_path):
    after = """
async def main():
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    print("ready", flush=True)
    spin(FOREVER, FOREVER)
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("left")
"""
    assert interrupt(program(tmp_path, after)) == (0, "left\n", "")


@pytest.mark.parametrize("number", ["SIGALRM", "SIGUSR1", "SIGTERM"])
def test_handlers_of_other_signals_leave_the_call(tmp_path, number):
    after = f"def handler(number, frame):\n    raise TimeoutError(number)\nsignal.signal(signal.{number}, handler)\n"
    number = getattr(signal, number)
    assert send(program(tmp_path, after + LEFT.format("TimeoutError")), number) == (0, f"left {number.value}\n", "")


def test_a_timer_handled_in_a_long_call_calls_compiled_functions(tmp_path):
    after = """
iterations = []
def handler(*_):
    iterations.append((spin(30, 30), spin(4000, 4000), add(np.arange(10**6), 1).sum()))
    if len(iterations) == 3:
        raise TimeoutError
    signal.setitimer(signal.ITIMER_REAL, 0.1)
signal.signal(signal.SIGALRM, handler)
wanted = (spin(30, 30), spin(4000, 4000), add(np.arange(10**6), 1).sum())
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    spin(FOREVER, FOREVER)
except TimeoutError:
    print(len(iterations), iterations == [wanted] * 3)
"""
    out, error = program(tmp_path, after).communicate(timeout=60)
    assert (out, error) == ("3 True\n", "")


@pytest.mark.parametrize("count", [3, 2000])
def test_loops_of_ufuncs_are_left(tmp_path, count):
    """NumPy calls those over few elements with the GIL, and lets go of it for others; other threads run meanwhile."""
    after = f"""
@ingot.vectorize
def slow(x):
    for _ in range(FOREVER):
        x = x * 0.999 + 1.0
    return x

iterations = []
def count():
    while True:
        iterations.append(time.sleep(0.005))

def handler(*_):
    raise LookupError("from the handler")

threading.Thread(target=count, daemon=True).start()
signal.signal(signal.SIGALRM, handler)
for _ in range(2):
    del iterations[:]
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        slow(np.ones({count}))
    except LookupError as error:
        print("left", error, len(iterations) > 9)
"""
    out, error = program(tmp_path, after).communicate(timeout=60)
    assert (out, error) == ("left from the handler True\n" * 2, "")


def test_shared_loops_are_left(tmp_path):
    after = """
@ingot.jit
def shared(x, n):
    for _ in range(n):
        for i in ingot.prange(len(x)):
            x[i] = x[i] * 0.5 + 1.0
x = np.zeros(10**6)
shared(x, 1)
def handler(*_):
    shared(np.zeros(10**6), 3)
    raise TimeoutError("in time")
signal.signal(signal.SIGUSR1, handler)
print("ready", flush=True)
try:
    shared(x, FOREVER)
except TimeoutError as error:
    print("left", error)
"""
    assert send(program(tmp_path, after), signal.SIGUSR1) == (0, "left in time\n", "")


LONG = """
text = "def long(x):\\n" + "".join(f"    x = np.sort(x) + np.roll(x, {k}) * np.median(x)\\n" for k in range(80)) + "    return x\\n"
with open(sys.argv[0] + "_long.py", "w") as file:
    file.write("import numpy as np\\n" + text)
import importlib.util
spec = importlib.util.spec_from_file_location("long", sys.argv[0] + "_long.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
np.seterr(all="ignore")
long = ingot.jit(module.long)
wanted = module.long(np.arange(5.0))
"""


def test_ctrl_c_while_compiling_is_raised_at_the_users_line(tmp_path):
    after = (
        LONG
        + """
print("ready", flush=True)
start = time.monotonic()
try:
    long(np.arange(5.0))
except KeyboardInterrupt as error:
    frames = traceback.extract_tb(error.__traceback__)
    print([frame.line for frame in frames], time.monotonic() - start < 1.5)
print(np.array_equal(long(np.arange(5.0)), wanted, equal_nan=True))
"""
    )
    expected = (0, "['long(np.arange(5.0))'] True\nTrue\n", "")
    assert interrupt(program(tmp_path, after.replace("{{", "{").replace("}}", "}")), after=0.4) == expected


def test_ctrl_c_ends_what_is_being_compiled(tmp_path):
    """In the frontend, which has the GIL, and in the passes; what follows is compiled, and the thread is gone."""
    after = r"""
def made(name, line, count):
    text = f"def {name}(x):\n" + "".join(line.format(i) for i in range(count)) + "    return x\n"
    scope = {"np": np}
    exec(compile(text, f"<{name}>", "exec"), scope)
    scope[name].__ingot_source__ = text
    return scope[name]

def tasks():
    return len(os.listdir("/proc/self/task"))

frontend = made("frontend", "    x = np.sort(x) + np.median(x) + {}\n", 5000)
passes = made("passes", "    x[1:] = x[:-1] * {} + np.sin(x[1:])\n", 5000)
small = made("small", "    x = np.sort(x) + {}\n", 2)
before = tasks()
for function in (frontend, passes):
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        ingot.jit(function)(np.arange(5.0))
    except KeyboardInterrupt:
        start = time.monotonic()
        ingot.jit(small)(np.arange(5.0))  # waits for what is being compiled
        while tasks() > before and time.monotonic() - start < 20:
            time.sleep(0.01)
        print(time.monotonic() - start < 20)
"""
    out, error = program(tmp_path, after).communicate(timeout=100)
    assert (out, error) == ("True\nTrue\n", "")


def test_what_a_handler_raises_while_compiling_is_no_part_of_the_program(tmp_path):
    after = (
        LONG
        + """
def handler(*_):
    raise ValueError("too late")
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
for _ in range(4):
    try:
        long(np.arange(5.0))
    except ValueError as error:
        print(error)
signal.setitimer(signal.ITIMER_REAL, 0)
print(np.array_equal(long(np.arange(5.0)), wanted, equal_nan=True))
"""
    )
    out, error = program(tmp_path, after).communicate(timeout=60)
    assert (out, error) == ("too late\n" * 4 + "True\n", "")


def test_python_ends_while_a_call_that_was_left_is_still_compiled(tmp_path):
    after = (
        LONG
        + """
print("ready", flush=True)
long(np.arange(5.0))
"""
    )
    code, out, error = interrupt(program(tmp_path, after), after=0.2)
    assert code in (1, -signal.SIGINT) and out == "" and error.endswith("KeyboardInterrupt\n") and "terminate" not in error


def test_python_ends_while_daemon_threads_compile(tmp_path):
    after = """
import itertools
sys.setswitchinterval(1e-5)
def work(number):
    for k in itertools.count():
        exec(compile(f"def made(x):\\n    return np.sort(x) + np.median(x) + {k} + x.sum()\\n", "<made>", "exec"), scope := {{"np": np}})
        made = scope["made"]
        made.__ingot_source__ = f"def made(x):\\n    return np.sort(x) + np.median(x) + {k} + x.sum()\\n"
        ingot.jit(made)(np.ones(3))
for number in range(3):
    threading.Thread(target=work, args=(number,), daemon=True).start()
time.sleep(0.5)
print("end", flush=True)
""".replace("{{", "{").replace("}}", "}")
    for _ in range(3):
        process = program(tmp_path, after)
        out, error = process.communicate(timeout=60)
        assert (process.returncode, out, error) == (0, "end\n", "")


def test_a_child_forked_while_another_thread_compiles_ends(tmp_path):
    after = (
        LONG
        + """
thread = threading.Thread(target=lambda: long(np.arange(5.0)))
thread.start()
time.sleep(0.1)
child = os.fork()
if child == 0:
    print(add(np.ones(3), 2.0), flush=True)
    sys.exit(0)
print(os.waitpid(child, 0)[1])
thread.join()
"""
    )
    out, error = program(tmp_path, after).communicate(timeout=60)
    assert (out, error) == ("[3. 3. 3.]\n0\n", "")


def test_functions_are_compiled_while_python_ends(tmp_path):
    before = "import atexit\natexit.register(lambda: print(late(2.0), flush=True))"
    after = "late = ingot.jit(lambda x: x * 3)\n"
    process = program(tmp_path, after, before)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (0, "6.0\n", "")


ROUTINES = """
@ingot.jit
def transforms(x, n):
    for _ in range(n):
        x = np.fft.ifft(np.fft.fft(x))
    return x

@ingot.jit
def products(x, n):
    for _ in range(n):
        x = x @ x * 0.5
    return x

@ingot.jit
def solved(a, b, n):
    for _ in range(n):
        b = np.linalg.solve(a, b)
    return b

@ingot.jit
def drawn(rng, k, n):
    s = 0.0
    for _ in range(n):
        s += rng.standard_normal(k).sum()
    return s

@ingot.jit
def ordered(x, n):
    s = 0
    for _ in range(n):
        s += np.argsort(np.sort(x))[0]
    return s

rng = np.random.default_rng(1)
square = rng.normal(size=(40, 40))
LOOPS = [(transforms, square[0] + 0j), (products, square), (solved, square, square[0]), (drawn, rng, 1000), (ordered, square[0])]
for function, *arguments in LOOPS:
    function(*arguments, 1)
"""


def interrupted_each(process):
    """Sends Ctrl-C to a program whenever it prints that it is ready: how long it took each time, by what it prints then."""
    lines, started = [], None
    try:
        for line in process.stdout:
            if line == "ready\n":
                time.sleep(0.2)  # the call begins after this line
                process.send_signal(signal.SIGINT)
                started = time.monotonic()
            else:
                lines.append((line.strip(), time.monotonic() - (started or time.monotonic())))
        _, error = process.communicate(timeout=60)
        assert (process.returncode, error) == (0, "")
        return lines
    finally:
        process.kill()


def test_loops_of_library_routines_are_left(tmp_path):
    after = (
        ROUTINES
        + """
for function, *arguments in LOOPS:
    print("ready", flush=True)
    try:
        function(*arguments, FOREVER)
    except KeyboardInterrupt:
        print("left", flush=True)
"""
    )
    lines = interrupted_each(program(tmp_path, after))
    assert [line for line, _ in lines] == ["left"] * 5 and max(seconds for _, seconds in lines) < 3


LONG_ROUTINES = """
ingot.set_num_threads(1)
rng = np.random.default_rng(1)
large = rng.normal(size=(900, 900))
line = rng.normal(size=4_000_000)

@ingot.jit
def decomposed(x):
    return np.linalg.svd(x)

@ingot.jit
def order(x):
    return np.argsort(x, kind="stable")

@ingot.jit
def sort(x):
    x.sort(kind="stable")

@ingot.jit
def drawn(rng, n):
    return rng.standard_normal(n)

few = line[:100_000].copy()
part = large[:200, :200].copy()  # laid out as what is decomposed later
np.testing.assert_allclose(decomposed(part)[1], np.linalg.svd(part)[1])
assert np.array_equal(order(few), np.argsort(few, kind="stable"))
sort(few)
assert np.array_equal(few, np.sort(line[:100_000]))
assert np.array_equal(drawn(np.random.default_rng(3), 100_001), np.random.default_rng(3).standard_normal(100_001))

def tasks():
    return len(os.listdir("/proc/self/task"))

def leave(function, *arguments):
    '''Sends Ctrl-C while a routine runs on a thread of its own: whether the thread goes on when the call has been left.'''
    usual = -1
    while usual != (usual := tasks()):  # threads that have ended their work are still on their way out
        time.sleep(0.05)
    def send():
        while tasks() < usual + 2:  # this thread, and that of the routine
            time.sleep(0.001)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        function(*arguments)
        return False
    except KeyboardInterrupt:
        sender.join()
        return tasks() > usual

def left(function, *arguments):
    '''The same, and waits until the thread has ended.'''
    usual = tasks()
    goes_on = leave(function, *arguments)
    while tasks() > usual:
        time.sleep(0.01)
    return goes_on
"""


def test_long_routines_are_left_and_touch_nothing(tmp_path):
    after = (
        LONG_ROUTINES
        + """
before = large.copy(), line.copy()
print(left(decomposed, large), left(order, line), left(sort, line))
print(np.array_equal(before[0], large), np.array_equal(before[1], line))
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    drawn(rng, 2 * 10**8)
except KeyboardInterrupt:
    print("left")
"""
    )
    out, error = program(tmp_path, after).communicate(timeout=120)
    assert (out, error) == ("True True True\nTrue True\nleft\n", "")


def test_routines_on_threads_of_their_own_give_what_they_give_here(tmp_path):
    after = """
cases = []
rng = np.random.default_rng(2)
a = rng.normal(size=(640, 700))
functions = {
    "products": (lambda a: (a @ a.T, a.T @ a, a[::2, ::2] @ a.T[::2], a[:, :600] @ a[:600], a[None] @ a.T[None])),
    "solve": (lambda a: (np.linalg.solve(a[:, :640], a[:, 60:]), np.linalg.solve(a[:, :640].T, a[:, 0]))),
    "svd": (lambda a: np.linalg.svd(a, full_matrices=False)),
    "eigh": (lambda a: np.linalg.eigh(a @ a.T)),
    "fft": (lambda a: (np.fft.fft(a, axis=0), np.fft.rfft2(a), np.fft.irfft(a.astype(complex)))),
    "det": (lambda a: (np.linalg.det(a[:, :640] * 0.01), np.linalg.slogdet(a[:, :640]))),
}
def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [np.asarray(value)]
for name, function in functions.items():
    compiled = ingot.jit(function)
    here = []
    thread = threading.Thread(target=lambda: here.extend(flat(compiled(a))))  # no signals are handled there
    thread.start()
    thread.join()
    there = flat(compiled(a))
    print(name, [np.allclose(v, w, rtol=1e-9, atol=1e-9) for v, w in zip(here, there, strict=True)].count(False), len(here))
def singular(a):
    return np.linalg.solve(a, a[0])
try:
    ingot.jit(singular)(np.zeros((400, 400)))
except np.linalg.LinAlgError as error:
    print(error)
"""
    out, error = program(tmp_path, after).communicate(timeout=120)
    counts = [("products", 5), ("solve", 2), ("svd", 3), ("eigh", 2), ("fft", 3), ("det", 3)]
    assert (out, error) == ("".join(f"{name} 0 {count}\n" for name, count in counts) + "Singular matrix\n", "")


def test_python_ends_and_forks_after_a_routine_that_was_left(tmp_path):
    """Both wait for it: the child's libraries would else be as that thread has left them."""
    after = (
        LONG_ROUTINES
        + """
print(leave(decomposed, large), flush=True)
child = os.fork()
if child == 0:
    print(np.isfinite(decomposed(large[:300, :300])[1]).all(), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], leave(decomposed, large), flush=True)
"""
    )
    process = program(tmp_path, after)
    out, error = process.communicate(timeout=120)
    assert (process.returncode, out, error) == (0, "True\nTrue\n0 True\n", "")
