"""Compares a function under Ingot with the same function under CPython and NumPy."""

import collections
import contextlib
import copy
import ctypes
import importlib.util
import inspect
import io
import os
import signal
import subprocess
import sys
import time
import types
import warnings

import numpy as np
import pytest

import ingot
from ingot._calls.function import Function

KINDS = {"scalar": (), "sse": (), "avx2": ("avx2", "fma", "f16c"), "avx512": ("avx512f", "avx512bw", "avx512dq", "avx512vl")}
"""Kinds of code (INGOT_VECTORS), and what a CPU must have for each."""


def windows(x, shape, strides):
    """A writable view of an array's memory with another shape and strides, all of it inside."""
    view = np.lib.stride_tricks.as_strided(x, shape, strides)
    (low, high), (first, last) = map(np.lib.array_utils.byte_bounds, (x, view))
    assert low <= first and last <= high, "the view reaches beyond the array: writes would go anywhere"
    return view


needs_lanes = pytest.mark.skipif(os.environ.get("INGOT_VECTORS") == "scalar", reason="the code has no lanes")
"""For tests of what only vectorised code does."""


LEVELS = {2: "sse", 3: "avx2", 4: "avx512"}
"""Levels of x86-64, and the kinds of code that their CPUs run."""


def has_vectors(kind):
    """Whether this CPU runs a kind of code."""
    flags = open("/proc/cpuinfo").read().split()
    return all(flag in flags for flag in KINDS[kind])


def need_vectors(kind):
    """Skips a test of a kind of code that this CPU does not run."""
    if not has_vectors(kind):
        pytest.skip(f"this CPU has no {kind}")


def module_of(path, name=None):
    """The module of a file, under its stem, or another name."""
    spec = importlib.util.spec_from_file_location(name or path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LISTENS = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


def start(file, text, **options):
    """A program of its own, in which Python handles Ctrl-C, whatever this process was started with."""
    file.write_text(LISTENS + text)
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, file], stdout=pipe, stderr=pipe, text=True, **options)


def spin(n, m):
    """As many iterations as are asked for, none of which can be left out."""
    s = 0
    for i in range(n):
        for j in range(m):
            s = (s + i * j) % 1000003
    return s


SPIN = f"@ingot.jit\n{inspect.getsource(spin)}\nspin(2, 2)\n"


def interrupt(process, after=0.3):
    """Sends Ctrl-C to a program some time after it has printed `ready`: its exit status, output and errors."""
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        return process.returncode, out, error
    finally:
        process.kill()


MODES = ("interpreted", "compiled")


def jitted(function, mode="compiled"):
    """`function` under Ingot, run by the interpreter or compiled."""
    return Function(function, mode=mode)


def copied(arguments):
    """A deep copy that keeps strides, order, flags, and which arguments are one object or share memory."""
    memory = {}
    objects = {}

    def array(value):
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        start = owner.__array_interface__["data"][0]
        if isinstance(value, np.void) and owner is value:
            return np.frombuffer(bytearray(value.tobytes()), value.dtype)[0]
        if id(owner) not in memory:
            raw = np.empty(owner.nbytes + 1, np.uint8)
            raw[:-1] = np.frombuffer((ctypes.c_char * owner.nbytes).from_address(start), np.uint8)
            memory[id(owner)] = raw
        raw = memory[id(owner)]
        offset = value.__array_interface__["data"][0] - start
        result = np.ndarray(value.shape, value.dtype, raw, offset if value.size else 0, value.strides)
        result.flags.writeable = value.flags.writeable
        return result

    def one(value):
        if id(value) in objects:
            return objects[id(value)]
        if type(value) is np.ndarray and not value.dtype.hasobject:
            result = array(value)
        elif isinstance(value, np.recarray):
            result = array(value).view(np.recarray)
        elif isinstance(value, np.void) and value.dtype.names and not value.dtype.hasobject:
            result = array(value)[()]
        elif type(value) in (list, tuple):
            result = type(value)(one(v) for v in value)
        elif type(value) is dict:
            result = {k: one(v) for k, v in value.items()}
        elif isinstance(value, (types.FunctionType, types.ModuleType, type, Function)):
            result = value
        else:
            result = copy.deepcopy(value)
        objects[id(value)] = result
        return result

    return tuple(one(a) for a in arguments)


def outcome(function, arguments):
    """What a call does: its result or exception, what it prints, and its arguments afterwards."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result, error = function(*arguments), None
        except Exception as e:
            result, error = None, e
    return result, error, printed.getvalue()


def difference(got, expected, bound=0.0, where="result", seen=()):
    """None, or in words how two values differ: type, dtype, shape, bits (or a relative bound).

    Instances are compared by their attributes, unless their class defines how; `seen` are those around.
    """
    if type(got) is not type(expected):
        return f"{where}: {type(got).__name__} {got!r} for {type(expected).__name__} {expected!r}"
    if isinstance(expected, (tuple, list, collections.deque)):
        if len(got) != len(expected):
            return f"{where}: {len(got)} elements for {len(expected)}"
        parts = (difference(g, e, bound, f"{where}[{i}]", seen) for i, (g, e) in enumerate(zip(got, expected)))
        return next((p for p in parts if p), None)
    if isinstance(expected, dict):
        if list(got) != list(expected):
            return f"{where}: keys {list(got)} for {list(expected)}"
        parts = (difference(got[k], expected[k], bound, f"{where}[{k!r}]", seen) for k in expected)
        return next((p for p in parts if p), None)
    if isinstance(expected, (np.ndarray, np.generic, float, complex)):
        g, e = np.asarray(got), np.asarray(expected)
        if g.dtype != e.dtype or g.shape != e.shape:
            return f"{where}: {g.dtype}{g.shape} for {e.dtype}{e.shape}"
        if e.dtype.names is not None:
            parts = (difference(g[name], e[name], bound, f"{where}[{name!r}]") for name in e.dtype.names)
            return next((p for p in parts if p), None)
        if e.dtype.kind in "fc" and bound:
            right = np.allclose(g, e, rtol=bound, atol=0, equal_nan=True)
        elif e.dtype.kind in "fc":
            parts = [(g, e)] if e.dtype.kind == "f" else [(g.real, e.real), (g.imag, e.imag)]
            right = all(np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a)[a == a], np.signbit(b)[b == b]) for a, b in parts)
        else:
            right = np.array_equal(g, e)
        return None if right else f"{where}: {got!r} for {expected!r}"
    has_parts = type(expected).__eq__ is object.__eq__ or type(expected) is types.SimpleNamespace
    if has_parts and hasattr(expected, "__dict__") and type(expected).__module__ != "builtins":
        if id(expected) in seen:
            return None
        return difference(vars(got), vars(expected), bound, f"vars({where})", (*seen, id(expected)))
    return None if got is expected or got == expected else f"{where}: {got!r} for {expected!r}"


def identities(result, arguments):
    """Which of the arrays, containers and instances that a call leaves are one object, and which arrays share memory.

    All that can be reached from the arguments and the result, by numbers in the order in which they are met.
    """
    numbers: dict[int, int] = {}
    arrays: list[np.ndarray] = []
    met: list[int] = []

    def iterate(value):
        is_instance = not isinstance(value, tuple) and type(value).__module__ not in ("builtins", "numpy")
        if is_instance or isinstance(value, (np.ndarray, list, dict)):
            met.append(numbers.setdefault(id(value), len(numbers)))
            if met.count(met[-1]) > 1:
                return
        if isinstance(value, np.ndarray):
            arrays.append(value)
        elif isinstance(value, (tuple, list)):
            for part in value:
                iterate(part)
        elif isinstance(value, dict) or is_instance:
            for part in (value if isinstance(value, dict) else getattr(value, "__dict__", {})).values():
                iterate(part)

    iterate(tuple(arguments))
    iterate(result)
    return met, [(i, k) for i, a in enumerate(arrays[:16]) for k, b in enumerate(arrays[:i]) if np.shares_memory(a, b)]


def check(function, *arguments, bound=0.0, modes=MODES):
    """Calls `function` plainly and under Ingot, each on its own copy of the arguments, and compares everything seen.

    Results, their types and which argument they share memory with, the arguments afterwards, what was printed, and
    the exception's type and message. Floats are compared bitwise (NaNs as equal), or within a relative `bound`.
    """
    plain = copied(arguments)
    result, error, printed = outcome(function, plain)
    calls = [(mode, jitted(function, mode)) for mode in modes]
    for mode, call in calls + calls[-1:]:  # the last one again: not its first call, which compiles
        given = copied(arguments)
        got, raised, shown = outcome(call, given)
        if error is None and raised is not None:
            raise raised
        assert type(raised) is type(error), f"{mode}: {raised!r} for {error!r}"
        if error is not None:
            assert str(raised) == str(error), f"{mode}: {raised} for {error}"
        problem = difference(got, result, bound) or difference(given, plain, bound, "arguments")
        assert problem is None, f"{mode}: {problem}"
        assert shown == printed, f"{mode}: printed {shown!r} for {printed!r}"
        assert identities(got, given) == identities(result, plain), f"{mode}: other objects are one, or share memory"
    return result


def refused(function, *arguments, words=""):
    """Asserts that Ingot refuses to compile the call, with location, reason and advice; returns the message."""
    try:
        jitted(function)(*copied(arguments))
    except ingot.UnsupportedError as error:
        message = str(error)
    else:
        raise AssertionError(f"{function.__name__} was not refused")
    assert "instead:" in message and words in message, message
    return message


def lie(value):
    """The layout of the arrays of a result: flags, and the axes of more than one index by their strides."""
    if isinstance(value, (tuple, list)):
        return [lie(part) for part in value]
    if not isinstance(value, np.ndarray):
        return None
    axes = [axis for axis in range(value.ndim) if value.shape[axis] > 1 and value.size > 0]
    order = sorted(axes, key=lambda axis: -abs(value.strides[axis]))
    return value.shape, value.flags.c_contiguous, value.flags.f_contiguous, value.flags.writeable, order


def check_layouts(functions, *arguments):
    """Checks the values of several functions, and that compiled code lays their results out as NumPy does."""
    for function in functions:
        expected = outcome(function, copied(arguments))[0]
        check(function, *arguments, bound=1e-12)
        got = jitted(function)(*copied(arguments))
        assert lie(got) == lie(expected), inspect.getsource(function)


DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
ARRAYS = [(np.arange(5) % 3).astype(d) for d in DTYPES]
SCALARS = [np.dtype(d).type(2) for d in DTYPES]
LINE = np.arange(6.0)
GRID = np.arange(12.0).reshape(3, 4)
MODES = ("interpreted", "compiled")


def in_both_modes(function, *arguments):
    """The result and the exception of a call in each mode, for rules where Python differs."""
    return [outcome(jitted(function, mode), copied(arguments))[:2] for mode in MODES]


def raises(function, *arguments):
    """The exception that both modes raise, as type and message."""
    errors = [error for _, error in in_both_modes(function, *arguments)]
    assert type(errors[0]) is type(errors[1]) and str(errors[0]) == str(errors[1]), errors
    return type(errors[0]), str(errors[0])


def layouts(array):
    """The same array in C order, in Fortran order, backwards, and with gaps."""
    gaps = np.repeat(array, 2, -1)[..., ::2] if array.ndim else array
    backwards = (slice(None, None, -1),) * array.ndim
    return [array.copy(), np.asfortranarray(array), array[backwards].copy()[backwards], gaps]


def with_each(functions, *arguments, **options):
    """Checks several functions with the same arguments."""
    for function in functions:
        check(function, *arguments, **options)
