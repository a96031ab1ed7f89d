"""The floating-point state of the thread that calls: arithmetic follows it, elementary functions do not, nothing traps."""

import ctypes
import math
import subprocess
import sys
from contextlib import contextmanager

import ingot
import numpy as np
import pytest
from caching import run
from ingot._ahead import linking
from ingot._calls.specialisation import Specialisation
from support import MODES, jitted

C_SOURCE = """
#include <xmmintrin.h>
unsigned read_state(void) { return _mm_getcsr() & 0xffc0; }
void write_state(unsigned state) { _mm_setcsr(state); }
"""

DEFAULT = 0x1F80
STATES = {"down": 0x3F80, "up": 0x5F80, "zero": 0x7F80, "flushes": 0x9FC0, "flushes and rounds up": 0xDFC0}


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    source, library = folder / "state.c", folder / "libstate.so"
    source.write_text(C_SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.write_state.restype = None
    return loaded


@contextmanager
def within(state, word):
    """The thread's state, and that it is still so at the end."""
    state.write_state(word)
    try:
        yield
        after = state.read_state()
    finally:
        state.write_state(DEFAULT)
    assert after == word & 0xFFC0


@contextmanager
def threads(count):
    before = ingot.get_num_threads()
    ingot.set_num_threads(count)
    try:
        yield
    finally:
        ingot.set_num_threads(before)


def numbers(dtype, n=60_000):
    """Numbers of all sizes, denormal ones among them."""
    rng = np.random.default_rng(5)
    least = np.finfo(dtype).tiny
    values = rng.uniform(-3, 3, (2, n)).astype(dtype)
    values[:, ::7] *= least
    values[:, ::11] = rng.uniform(0.5, 2, values[:, ::11].shape).astype(dtype) * least
    return values


def arithmetic(a, b):
    return a + b, a - b, a * b, a / b, np.sqrt(np.abs(a)), a < b, a == 0


def elementary(x):
    return (np.exp(x), np.sin(x), np.cos(x), np.cbrt(x), np.tanh(x), np.log1p(np.abs(x)), np.power(np.abs(x), x), np.hypot(x, x),
            np.arctan2(x, 3), x % 1, x // 0.3, np.nextafter(x, 1))  # fmt: skip


def mixed(x, y):
    return np.exp(x) + y * y


def summed(x):
    return np.sum(x), np.mean(x * x), np.sum(np.exp(x) * x)


def loop(x):
    s = 0.0
    for i in range(len(x)):
        s = s / 3 + math.exp(x[i]) * x[i]
    return s


def same(a, b):
    return all(np.asarray(v).tobytes() == np.asarray(w).tobytes() for v, w in zip(a, b, strict=True))


@pytest.mark.parametrize("word", STATES.values(), ids=STATES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arithmetic_follows_the_state(state, word, dtype):
    """The threads of the pool have started in another state."""
    a, b = numbers(dtype)
    for mode in MODES:
        f = jitted(arithmetic, mode)
        for count in (1, 2):
            with threads(count):
                few = slice(None) if mode == "compiled" else slice(1000)
                f(a[few], b[few])
                with within(state, word):
                    got, wanted = f(a[few], b[few]), arithmetic(a[few], b[few])
                assert same(got, wanted)
                assert not same(got, arithmetic(a[few], b[few]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("word", STATES.values(), ids=STATES)
def test_elementary_functions_do_not(state, word):
    for dtype in ("float32", "float64"):
        x = numbers(dtype)[0]
        for mode, few in zip(MODES, (slice(1000), slice(None)), strict=True):
            f = jitted(elementary, mode)
            wanted = f(x[few] + 0), f(x[3])
            with within(state, word):
                y = x[few].copy()
                got = f(y), f(y[3])
                with threads(2):
                    again = f(y)
            assert same(got[0], wanted[0]) and same(got[1], wanted[1]) and same(again, wanted[0])


@pytest.mark.parametrize("word", STATES.values(), ids=STATES)
def test_both_in_one_function(state, word):
    x, y = np.random.default_rng(6).uniform(-3, 3, (2, 50_000))
    for mode, few in zip(MODES, (1000, None), strict=True):
        x, y = x[:few], y[:few]
        exact = jitted(lambda v: np.exp(v), mode)(x)
        f, g, h = (jitted(function, mode) for function in (mixed, summed, loop))
        f(x, y), g(x), h(x)
        with within(state, word):
            wanted = exact + y * y
            alone = f(x, y), g(x), h(x)
            by_hand = loop_by_hand(exact, x)
            with threads(2):
                shared = f(x, y), g(x), h(x)
        assert same(alone[:1], (wanted,)) and same(alone[2:], (by_hand,))
        assert same(alone[1], shared[1]) and same(alone[::2], shared[::2])


def loop_by_hand(exact, x):
    s = 0.0
    for e, v in zip(exact.tolist(), x.tolist(), strict=True):
        s = s / 3 + e * v
    return s


def test_interpreter_and_code_have_the_same_sums(state):
    x = np.random.default_rng(7).uniform(-3, 3, 5000)
    with within(state, STATES["up"]):
        assert same(*(jitted(summed, mode)(x) for mode in MODES))


def test_complex_numbers_and_halves(state):
    def f(z):
        return z * z + z, z / (z + 1), np.abs(z), np.sqrt(z), np.exp(z), np.sign(z)

    def g(x, y):
        return x * y, x + y, np.exp(x), (x.astype(np.float32) * 3).astype(np.float16)

    rng = np.random.default_rng(8)
    z = rng.normal(size=3000) + 1j * rng.normal(size=3000)
    x, y = rng.normal(size=(2, 3000)).astype(np.float16)
    for mode in MODES:
        nearest = jitted(f, mode)(z)
        halves = jitted(g, mode)(x, y)
        with within(state, STATES["up"]):
            up = jitted(f, mode)(z)
            assert same(jitted(g, mode)(x, y), halves)  # rounded to nearest, as NumPy's are
            assert same(up[2:], nearest[2:])
            assert same((up[0].real,), (z.real * z.real - z.imag * z.imag + z.real,))
        assert not same(up[:1], nearest[:1])


def test_functions_that_call_each_other(state):
    def growing(x, n):
        if n == 0:
            return math.exp(x)
        return growing(x / 3, n - 1) / 7 + math.sin(x)

    f = jitted(growing)
    x = 1.25
    f(x, 6)
    operands = [x]
    with within(state, STATES["up"]):
        for _ in range(6):
            operands.append(operands[-1] / 3)
    values = [f(operands[-1], 0)] + [ingot.jit(lambda v: math.sin(v))(v) for v in operands[5::-1]]
    with within(state, STATES["up"]):
        wanted = values[0]
        for value in values[1:]:
            wanted = wanted / 7 + value
        assert f(x, 6) == wanted


def test_ufuncs_and_parallel_loops(state):
    def element(x, y):
        return math.exp(x) / y

    def parallel(x, out):
        s = 0.0
        for i in ingot.prange(len(x)):
            out[i] = math.exp(x[i]) / 3
            s += out[i]
        return s

    x = np.random.default_rng(9).uniform(-3, 3, 40_000)
    exact = ingot.jit(lambda v: np.exp(v))(x)
    ufunc, shared = ingot.vectorize(element), ingot.jit(parallel)
    outs = np.zeros((3, len(x)))
    ufunc(x, 3.0), shared(x, outs[0])
    with within(state, STATES["down"]):
        wanted = exact / 3.0
        assert same((ufunc(x, 3.0),), (wanted,))
        with threads(1):
            alone = shared(x, outs[1])
        with threads(2):
            assert shared(x, outs[2]) == alone
    assert same(outs[1:], (wanted, wanted))


def test_the_state_is_kept_when_a_call_raises(state):
    def f(x, i):
        return np.exp(x)[i]

    compiled = ingot.jit(f)
    for word in STATES.values():
        with within(state, word), pytest.raises(IndexError):
            compiled(np.ones(3), 5)


def test_compiling_folds_in_the_default_state(state):
    def f():
        return math.exp(0.3), 1.0 / 3.0

    wanted = f()[1]
    with within(state, STATES["up"]):
        got = ingot.jit(lambda: (math.exp(0.3), 1.0 / 3.0))()
    assert got == (ingot.jit(lambda x: math.exp(x))(0.3), wanted)


def test_what_is_called_changes_the_state_from_the_end_of_the_call(state):
    set_up = state.write_state

    round_up = ingot.host(lambda: set_up(STATES["up"]), result=None)
    told = ingot.host(lambda: state.read_state(), result="int")

    def f(x):
        before = x / 3 + np.exp(x)
        round_up()
        return before, x / 3 + np.exp(x), told()

    compiled = ingot.jit(f)
    x = np.random.default_rng(10).uniform(-3, 3, 100)
    try:
        before, after, seen = compiled(x)
        assert same((before,), (after,)) and seen == STATES["up"] == state.read_state()
    finally:
        state.write_state(DEFAULT)


def test_code_for_other_states_is_made_when_a_call_has_one(state, monkeypatch):
    made, compile = [], Specialisation.compile

    def counted(self, *arguments, **keywords):
        stages = compile(self, *arguments, **keywords)
        made.append((keywords.get("any_state", False), b"enter_default_state" in stages["object"]))
        return stages

    monkeypatch.setattr(Specialisation, "compile", counted)
    x, y = np.random.default_rng(11).uniform(-3, 3, (2, 100))
    f, g, h = ingot.jit(mixed), ingot.jit(lambda v: v * v / 3), ingot.vectorize(lambda v, w: math.exp(v) / w)
    nearest = f(x, y), g(x), h(x, y)
    assert made and not any(any(each) for each in made)
    made.clear()
    with within(state, STATES["up"]):
        for _ in range(2):
            assert not any(same((a,), (b,)) for a, b in zip(nearest, (f(x, y), g(x), h(x, y)), strict=True))
    assert made == [(True, True)] * 2  # of f and of h: what g does follows the state by itself
    assert same((f(x, y), g(x), h(x, y)), nearest) and len(made) == 2


STORED = """
import ctypes
from module import f
libm = ctypes.CDLL("libm.so.6")
x = np.linspace(-3, 3, 50)
given = [f(x).tolist()] if sys.argv[1] == "nearest" else []
libm.fesetround(0x800)
given.append(f(x).tolist())
libm.fesetround(0)
given.append(f(x).tolist())
print(json.dumps([f.specialisations[0].why, given[-2:]]))
"""


@pytest.mark.parametrize("tiers", ["off", "on"])
def test_stored_code_is_called_in_any_state(tmp_path, tiers):
    source = "import ingot, numpy as np\n@ingot.jit\ndef f(x): return np.exp(x) * x / 3\n"
    (tmp_path / "module.py").write_text(source)
    why, (up, nearest) = run(tmp_path / "cache", STORED, "up", cwd=tmp_path, INGOT_TIERS=tiers)
    assert why != "the cache" and up != nearest
    for first in ("nearest", "up"):
        assert run(tmp_path / "cache", STORED, first, cwd=tmp_path, INGOT_TIERS=tiers) == ["the cache", [up, nearest]]


def test_stored_code_that_would_be_another_now_has_none_for_other_states(tmp_path):
    source = "import ingot, numpy as np\n@ingot.jit\ndef f(x): return np.exp(x) * x / 3\n"
    (tmp_path / "module.py").write_text(source)
    run(tmp_path / "cache", STORED, "up", cwd=tmp_path)
    changed = "from ingot._calls.specialisation import Loaded\nLoaded.is_as_lowered = lambda self: False\n"
    caught = "libm.fesetround(0x800)\ntry: f(x)\nexcept RuntimeError as error: print(json.dumps(str(error)))\nelse: print(0)\n"
    found = run(tmp_path / "cache", changed + STORED.partition("libm.fesetround(0x800)")[0] + caught, "nearest", cwd=tmp_path)
    assert found == "the stored code is for another floating-point state, and what it was made of has changed"


TRAPS = """
import ctypes, math, sys
import numpy as np, ingot
libm = ctypes.CDLL("libm.so.6")

@ingot.jit
def f(x, y):
    return np.where(x > 0, 1.0 / x, 0.0) + np.exp(x), np.sqrt(y)

@ingot.jit
def g(x):
    s = 0.0
    for i in ingot.prange(len(x)):
        if x[i] != 0.0:
            s += 1.0 / x[i] + math.log(x[i])
    return s

ingot.set_num_threads(2)
x = np.zeros(100_000)
x[::3] = 2.0
y = np.full(10, -1.0)
wanted = f(x, y)[0].sum(), g(x)
libm.feenableexcept(29)
got = f(x, y)[0], g(x)
enabled = libm.fegetexcept()
libm.fedisableexcept(29)
print(enabled, (got[0].sum(), got[1]) == wanted)
"""


def test_nothing_traps():
    done = subprocess.run([sys.executable, "-c", TRAPS], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "29 True\n", "")


AHEAD = '''
import numpy as np
import ingot

@ingot.export("float64(float64)")
def both(x):
    return np.exp(x) / 3.0
'''


@pytest.mark.rotated(3)
@pytest.mark.skipif(not linking.RUNTIME.exists(), reason="builds with sanitizers have no runtime for libraries")
def test_libraries_follow_the_state(state, tmp_path):
    source = tmp_path / "exported.py"
    source.write_text(AHEAD)
    build = [sys.executable, "-m", "ingot", "build", source, "--levels", "3", "--output", tmp_path]
    done = subprocess.run(build, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(next((tmp_path / "lib").glob("*.so"))))
    exact = ingot.jit(lambda v: np.exp(v))(1.25)
    result = ctypes.c_double()
    for word in STATES.values():
        with within(state, word):
            assert library.exported_both(ctypes.c_double(1.25), ctypes.byref(result)) == 0
            wanted = exact / 3.0
        assert result.value == wanted
