"""`python -m ingot build`: libraries for C, C++ and Fortran, compared with the functions as `ingot.jit` compiles them, bit for bit."""

import ctypes
import keyword
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot.__main__ import main
from ingot._ahead import linking, names
from ingot._ahead.c_types import DTYPES
from support import LEVELS, has_vectors, module_of, need_vectors

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "ahead_of_time"

pytestmark = pytest.mark.skipif(not linking.RUNTIME.exists(), reason="builds with sanitizers have no runtime for libraries")

CASES = '''
import collections
import math

import numpy as np

import ingot

TABLE = np.arange(12.0).reshape(3, 4)[:, ::2]
OFFSET = 0.5
FACTOR = np.array(3.0)
Pair = collections.namedtuple("Pair", "low high")


class Failure(ValueError):
    pass


@ingot.export("(bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, float32, float64, complex64, complex128)")
def numbers(a, b, c, d, e, f, g, h, i, j, k, l, m, n):
    return not a, b + b, c + c, d + d, e + e, f + f, g + g, h + h, i + i, j + j, k + k, l + l, m + m, n + n


@ingot.export("void(float64[:], float64[:])")
def shifted(x, out):
    out[1:] = x[:-1] + 1.0


@ingot.export("void(float64[:], float64[:])")
def apart(x, out):
    for i in ingot.prange(len(out) - 1):
        out[i + 1] = x[i] + 1.0


@ingot.export("(float64[:],)")
def several(x):
    new = np.exp(x)
    return {"pair": Pair(new, new[::2]), "view": x[1:], "seven": 7, "none": None, "half": np.float32(0.1), "offset": OFFSET}


@ingot.export("float64[:, :](float64[:, ::1], float64[:, :])")
def product(a, b):
    return a @ b


@ingot.export("float64(int64, int64)")
def looked_up(i, j):
    return TABLE[i, j] + OFFSET


@ingot.export("void(int64)")
def failing(n):
    if n < 0:
        raise OverflowError(f"{{{n:+08d}}} is below 0")
    if n < 2:
        raise ValueError(f"{n} is below 2")
    if n > 2:
        raise Failure(n)
    raise KeyError(int(n))


@ingot.export("int64(int64)")
def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


@ingot.export("float64[:](int64)")
def much(n):
    return np.ones(n)


@ingot.export("(float64[:],)")
def ordered(x):
    return np.sort(x), np.argsort(x, kind="stable")


@ingot.export("(int64,)")
def looked_at(i):
    return TABLE[i:, ::-1]


@ingot.export("float64(float64)")
def scaled(x):
    return FACTOR * x


@ingot.export("void(float64[:])")
def counted(x):
    for i in range(len(x)):
        x[i] = 2 * x[i] + i


@ingot.export("float64[:](uint64, int64)")
def drawn(seed, n):
    return ingot.random.normal(ingot.random.key(seed), (n,))


@ingot.export("float64(float64[::1, :])")
def columns(x):
    return np.sum(x, axis=0)[-1] + math.lgamma(x[0, 0])


@ingot.export("float64[:, :](float64[:, :], float64[:])", name="spread")
def broadcast(register, y):
    """Words of C's among the parameters; /* and */ here."""
    return np.sin(register) * y + np.cosh(y) ** 1.5
'''


def built(*arguments) -> None:
    command = [sys.executable, "-m", "ingot", "build", *map(str, arguments)]
    strict = {**os.environ, "CC": "cc -Wextra -Werror"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=strict)
    assert done.returncode == 0, done.stderr


class Array(ctypes.Structure):
    """An array of up to four axes, whose lengths come first, then strides."""

    _fields_ = [("data", ctypes.c_void_p), ("owner", ctypes.c_void_p), ("axes", ctypes.c_int64 * 8)]

    @classmethod
    def of(cls, array):
        given = cls(array.ctypes.data, 12345, (*array.shape, *array.strides))  # nobody looks at the owner of an argument
        given.array = array
        return given

    def as_numpy(self, dtype, ndim=1):
        shape, strides = self.axes[:ndim], self.axes[ndim : 2 * ndim]
        if 0 in shape:
            return np.empty(shape, dtype)
        low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides))
        size = sum(abs((n - 1) * s) for n, s in zip(shape, strides)) + np.dtype(dtype).itemsize
        memory = np.frombuffer((ctypes.c_byte * size).from_address(self.data + low), np.uint8)
        return np.ndarray(tuple(shape), dtype, memory, -low, tuple(strides)).copy()


class Library:
    """A shared library, called as C calls it."""

    def __init__(self, path, name):
        self.loaded, self.name = ctypes.CDLL(str(path)), name

    def call(self, function, *arguments):
        """Returns the status. Arrays of NumPy's, `Array`s and numbers to be filled are passed as pointers."""
        passed = [Array.of(a) if isinstance(a, np.ndarray) else a for a in arguments]
        is_filled = [isinstance(a, (Array, ctypes._SimpleCData)) and not hasattr(a, "by_value") for a in passed]
        return getattr(self.loaded, f"{self.name}_{function}")(*(ctypes.byref(a) if f else a for a, f in zip(passed, is_filled)))

    def text(self, which="last_error"):
        function = getattr(self.loaded, f"{self.name}_{which}")
        function.restype = ctypes.c_char_p
        return function().decode()

    def free(self, array):
        getattr(self.loaded, f"{self.name}_free")(ctypes.c_void_p(array.owner))


def value(number, kind=ctypes.c_int64):
    """A number that is passed by value."""
    it = kind(number)
    it.by_value = True
    return it


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.fixture(scope="module")
def cases_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("cases") / "cases.py"
    file.write_text(CASES)
    return file


@pytest.fixture(scope="module")
def cases_folder(cases_file):
    folder = cases_file.parent / "built"
    built(cases_file, "-o", folder)
    return folder


@pytest.fixture(scope="module", params=[2, 3, 4])
def cases(cases_folder, request):
    """The library with the code of each level of CPUs, by a copy of it for each, as a library chooses one once."""
    level = request.param
    need_vectors(LEVELS[level])
    copy = shutil.copy(cases_folder / "lib" / "libcases.so", cases_folder / f"level_{level}.so")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGOT_CPU_LEVEL", str(level))
        library = Library(copy, "cases")
        assert library.loaded.cases_cpu_level() == level
    return library


@pytest.fixture(scope="module")
def module(cases_file):
    return module_of(cases_file)


@pytest.fixture(scope="module")
def signals(tmp_path_factory):
    """The folder that the example is built into."""
    folder = tmp_path_factory.mktemp("signals") / "built"
    built(EXAMPLE / "signals.py", "-o", folder)
    return folder


@pytest.fixture(scope="module")
def programs(signals):
    """The example's programs, by CMake."""
    folder = signals.parent / "programs"
    cmake = ["cmake", "-S", EXAMPLE, "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={signals}"]
    for command in (cmake, ["cmake", "--build", folder]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def bits(number) -> str:
    return f"{np.float64(number).view(np.uint64):016x}"


@pytest.fixture(scope="module")
def expected():
    """What each program prints, by the jitted functions."""
    it = module_of(EXAMPLE / "signals.py")
    x = np.array([1.0, 2.5, -0.5, 4.0, 3.25, 0.125])
    rows = np.array([[3.0, 4.0, 12.0], [0.1, 0.2, 0.2]])
    lines = [f"moment {bits(it.moment(x, 3))}", f"backwards {bits(it.moment(x[::-2], 2))}"]
    lines += [f"smoothed {bits(v)}" for v in ingot.jit(it.smoothed)(x)]
    shorter, longest = it.normalize(rows, np.float64(1.0))
    lines += [f"shorter {shorter}", f"longest {bits(longest)}", *(f"row {bits(v)}" for v in rows[0])]
    turned = ingot.jit(it.rotated)(x, np.complex128(0.6 + 0.8j))[5]
    lines += [f"turned {bits(turned.real)}", f"turned {bits(turned.imag)}", "status 1 ValueError: there are no samples"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("level", ["", "2", "3", "4"])
@pytest.mark.parametrize("language", ["c", "cpp", "fortran"])
@pytest.mark.sampled(6)
def test_programs_in_three_languages_at_all_levels(programs, expected, language, level):
    environment = {**os.environ, "INGOT_CPU_LEVEL": level}
    done = subprocess.run([programs / f"in_{language}"], capture_output=True, text=True, timeout=60, env=environment)
    if not has_vectors(LEVELS[int(level or 2)]):
        assert done.returncode != 0
    else:
        assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)


def test_a_level_that_there_is_not(programs):
    done = subprocess.run([programs / "in_c"], capture_output=True, text=True, env={**os.environ, "INGOT_CPU_LEVEL": "5"})
    wanted = "RuntimeError: signals has no code of the level INGOT_CPU_LEVEL=5 that this CPU can run\n"
    assert (done.returncode, done.stderr) == (1, wanted)


@pytest.mark.rotated(4)
def test_libraries_need_neither_python_nor_llvm(signals, cases_folder):
    for file in (signals / "lib" / "libsignals.so", cases_folder / "lib" / "libcases.so"):
        needed = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
        assert file.stat().st_size < 1 << 20
        assert set(re.findall(r"NEEDED.*\[(.*)\]", needed)) <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
        assert f"soname: [{file.name}]" in needed
    for file in (signals / "lib" / "libsignals.a", cases_folder / "lib" / "libcases.a"):
        library = file.stem.removeprefix("lib")
        symbols = subprocess.run(["nm", "-g", file], capture_output=True, text=True, check=True).stdout
        defined = re.findall(r" [A-TV-Zu] (\w+)$", symbols, re.MULTILINE)
        assert defined and all(name.startswith(f"{library}_") for name in defined)
        undefined = re.findall(r" U (\w+)$", symbols, re.MULTILINE)
        assert undefined and not [name for name in undefined if re.match(r"Py|_Py|LLVM|_Z|ingot", name)]


def test_numbers_of_all_types(cases, module):
    given = [True, -3, 200, -300, 60000, -70000, 2**31, -(2**40), 2**63 + 1, 1.5, 0.1, 0.1, 0.1 - 2j, 0.3 + 1j]
    numbers = [np.dtype(d).type(v) for d, v in zip(DTYPES, given)]

    class C8(ctypes.Structure):
        _fields_ = [("real", ctypes.c_float), ("imag", ctypes.c_float)]

    class C16(ctypes.Structure):
        _fields_ = [("real", ctypes.c_double), ("imag", ctypes.c_double)]

    kinds = {"bool": ctypes.c_bool, "float16": ctypes.c_uint16, "float32": ctypes.c_float, "float64": ctypes.c_double}
    kinds |= {"complex64": C8, "complex128": C16}
    passed = [(kinds.get(n.dtype.name) or getattr(ctypes, f"c_{n.dtype.name}")).from_buffer_copy(n.tobytes()) for n in numbers]
    results = [np.zeros((), n.dtype) for n in numbers]
    assert cases.loaded.cases_numbers(*passed, *(ctypes.c_void_p(r.ctypes.data) for r in results)) == 0
    with np.errstate(all="ignore"):
        wanted = ingot.jit(module.numbers)(*numbers)
    assert all(same(r, np.asarray(w, r.dtype)) for r, w in zip(results, wanted))


@pytest.mark.parametrize("shift", [None, 0, 1, 7, -3])
def test_arguments_that_overlap(cases, module, shift):
    def arguments():
        memory = np.arange(50.0) ** 1.5
        return (memory, memory[10:30].copy(), np.zeros(20)) if shift is None else (memory, memory[10:30], memory[10 + shift : 30 + shift])

    memory, *given = arguments()
    wanted, *same_given = arguments()
    ingot.jit(module.shifted)(*same_given)
    assert cases.call("shifted", *given) == 0
    assert same(memory, wanted) and same(given[1], same_given[1])


def test_loops_over_prange_want_disjoint_arguments(cases):
    x, out = np.arange(20.0), np.zeros(20)
    assert cases.call("apart", x, out) == 0 and same(out[1:], x[:-1] + 1.0)
    assert cases.call("apart", x, x[1:]) == 1
    assert cases.text() == "ValueError: argument `out` shares memory with `x`, and one of them is written to"


def test_several_results(cases, module):
    x = np.linspace(0, 1, 9)
    low, high, view = Array(), Array(), Array()
    seven, half, offset = ctypes.c_int64(), ctypes.c_float(), ctypes.c_double()
    assert cases.call("several", x, low, high, view, seven, half, offset) == 0
    wanted = ingot.jit(module.several)(x)
    assert same(low.as_numpy("f8"), wanted["pair"].low) and same(view.as_numpy("f8"), x[1:])
    assert (seven.value, half.value, offset.value) == (7, np.float32(0.1), 0.5)
    # The second result is a view of the first, which may be given back before; the third is an argument's memory.
    assert view.owner is None and view.data == x.ctypes.data + 8 and low.owner == high.owner
    cases.free(low)
    assert same(high.as_numpy("f8"), wanted["pair"].high)
    cases.free(high)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (1, 4), (0, 4), (9, 65), (3, 0)])
def test_lengths_are_known_when_it_runs(cases, module, shape):
    a, y = np.random.default_rng(1).normal(size=shape), np.linspace(0, 1, shape[1])
    result = Array()
    for other in (y, y[:1], y[::-1]):
        assert cases.call("spread", a, other, result) == 0
        assert same(result.as_numpy("f8", 2), ingot.jit(module.broadcast)(a, other))
        cases.free(result)
    a = np.round(a * 8)
    b = np.random.default_rng(2).integers(-9, 9, (5, shape[1])).astype(float).T
    assert cases.call("product", a, b, result) == 0
    assert (result.as_numpy("f8", 2) == a @ b).all()  # of integers, whose sums are exact in any order
    cases.free(result)


def test_values_are_those_of_calls(cases, module):
    x = np.random.default_rng(3).normal(size=1001)
    first, second, result = Array(), Array(), ctypes.c_double()
    assert cases.call("ordered", x, first, second) == 0
    wanted = ingot.jit(module.ordered)(x)
    assert same(first.as_numpy("f8"), wanted[0]) and same(second.as_numpy("i8"), wanted[1])
    cases.free(first)
    cases.free(second)
    assert cases.call("drawn", value(17, ctypes.c_uint64), value(100), first) == 0
    assert same(first.as_numpy("f8"), ingot.jit(module.drawn)(np.uint64(17), np.int64(100)))
    cases.free(first)
    fortran = np.asfortranarray(np.abs(x[:1000]).reshape(20, 50))
    assert cases.call("columns", fortran, result) == 0 and same(result.value, ingot.jit(module.columns)(fortran))


def test_values_outside_are_constants(cases, module):
    result = ctypes.c_double()
    assert cases.call("looked_up", value(2), value(1), result) == 0
    assert result.value == module.TABLE[2, 1] + 0.5
    assert cases.call("scaled", value(2.5, ctypes.c_double), result) == 0 and result.value == 7.5
    assert cases.call("looked_up", value(3), value(1), result) == 3
    assert cases.text().startswith("IndexError: index 3 is out of bounds for axis 0 with size 3 (")


def test_results_that_are_views_of_values_outside(cases, module):
    view, result = Array(), ctypes.c_double()
    assert cases.call("looked_at", value(1), view) == 0 and view.owner is None
    assert same(view.as_numpy("f8", 2), module.TABLE[1:, ::-1])
    # As in Python, who writes to the view writes to the array, which the library has once.
    row = Array(view.data, None, (2, view.axes[3]))
    after = np.array([6.0, 7.0])
    assert same(row.as_numpy("f8"), [6.0, 4.0]) and cases.call("shifted", row, row) == 0 and same(row.as_numpy("f8"), after)
    assert cases.call("looked_up", value(1), value(0), result) == 0 and result.value == 7.5
    ctypes.c_double.from_address(view.data + view.axes[3]).value = 4.0


def test_arrays_have_any_layout(cases):
    """At addresses and with strides that are no multiples of the element's size; and one element many times."""
    memory, wanted = np.zeros(2000, np.uint8), np.arange(70.0)
    for i in range(70):
        wanted[i] = 2 * wanted[i] + i
    for offset in range(9):
        x = memory[offset : offset + 560].view("f8")
        x[:] = np.arange(70.0)
        assert cases.call("counted", x) == 0 and same(x, wanted)
    x = np.lib.stride_tricks.as_strided(memory[1:9].view("f8"), (70,), (11,))
    x[:] = np.arange(70.0)
    assert cases.call("counted", x) == 0 and same(x, wanted)
    again = np.lib.stride_tricks.as_strided(np.ones(1), (10,), (0,))
    assert cases.call("counted", again) == 0 and again[0] == 2.0**10 + sum(i * 2.0 ** (9 - i) for i in range(10))


def line_of(text: str) -> int:
    return CASES[: CASES.index(text)].count("\n") + 1


def test_exceptions_are_statuses(cases, cases_file):
    result = ctypes.c_int64(99)
    for n, status, kind, message in ((1, 1, "ValueError", "1 is below 2"), (2, 4, "KeyError", "2"), (3, 1, "ValueError", "Failure: 3")):
        assert cases.call("failing", value(n)) == status
        assert (cases.text("last_error_kind"), cases.text("last_error_message")) == (kind, message)
        place = line_of(("raise ValueError", "raise KeyError", "raise Failure")[n - 1])
        assert cases.text("last_error_file") == str(cases_file) and cases.loaded.cases_last_error_line() == place
        assert cases.text() == f"{kind}: {message} ({cases_file}:{place}, in failing)"
    assert cases.call("failing", value(-5)) > 0 and cases.text().startswith("OverflowError: {-5} is below 0 (")
    assert cases.call("deep", value(1000), result) == 0 and result.value == 1000
    assert cases.call("deep", value(2**40), result) == 14 and result.value == 1000
    assert cases.text().startswith("RecursionError: maximum recursion depth exceeded")
    array = Array()
    assert cases.call("much", value(2**44), array) == 19 and array.data is None
    assert cases.text().startswith("MemoryError: Unable to allocate")


def test_errors_are_the_threads_own(cases):
    assert cases.call("failing", value(1)) == 1
    seen = []
    thread = threading.Thread(target=lambda: seen.append((cases.text(), cases.text("last_error_kind"), cases.text("last_error_file"))))
    thread.start()
    thread.join()
    assert seen == [("", "", "")] and cases.text("last_error_message") == "1 is below 2"


def test_bad_arguments(cases):
    x, result = np.arange(12.0).reshape(3, 4), Array()
    y = np.arange(4.0)

    def refused(message, function, *arguments):
        assert cases.call(function, *arguments) == 1 and cases.text() == f"ValueError: {message}"

    refused("argument `x` is not in F order without gaps", "columns", x, ctypes.c_double())
    refused("argument `a` is not in C order without gaps", "product", x[:, ::2], x, result)
    negative = Array(x.ctypes.data, None, (-1, 4, 32, 8))
    refused("argument `register_` has a negative length", "spread", negative, y, result)
    refused("argument `register_` has more elements than memory", "spread", Array(x.ctypes.data, None, (2**40, 2**40, 0, 0)), y, result)
    refused("argument `register_` has no elements: its pointer is null", "spread", Array(None, None, (3, 4, 32, 8)), y, result)
    refused("argument `register_` is a null pointer", "spread", None, y, result)
    refused("argument `result` is a null pointer", "spread", x, y, None)
    assert cases.call("spread", x, y[:3], result) == 1 and "could not be broadcast" in cases.text()
    far = Array(x.ctypes.data, None, (3, 4, 2**62, -(2**62)))
    refused("argument `register_` has strides that reach beyond memory", "spread", far, y, result)
    refused("argument `register_` has strides that reach beyond memory", "spread", Array(8, None, (3, 4, 8, -32)), y, result)
    # Each result has a location of its own, one whose number is known when compiling, too.
    low, high, view = Array(), Array(), Array()
    seven, half, offset = ctypes.c_int64(), ctypes.c_float(), ctypes.c_double()
    refused("argument `result_pair_high` is the memory of `result_pair_low`, too", "several", y, low, low, view, seven, half, offset)
    refused("argument `result_seven` is a null pointer", "several", y, low, high, view, None, half, offset)
    assert low.data is None and half.value == 0
    # Strides along axes of one element, and of none, mean nothing.
    loose = Array(x.ctypes.data, None, (1, 4, 7, 8))
    assert cases.call("product", loose, x.T.copy(), result) == 0
    assert same(result.as_numpy("f8", 2), x[:1] @ x.T)
    cases.free(result)
    assert cases.call("spread", Array(None, None, (0, 4, 0, 0)), y, result) == 0 and list(result.axes[:2]) == [0, 4]
    cases.free(result)


def test_threads(signals):
    library = Library(signals / "lib" / "libsignals.so", "signals")
    field = np.random.default_rng(5).normal(size=(2000, 500))
    wanted = ctypes.c_double()
    library.loaded.signals_set_num_threads(1)
    assert library.call("energy", field, wanted) == 0
    assert same(wanted.value, ingot.jit(module_of(EXAMPLE / "signals.py").energy)(field))
    library.loaded.signals_set_num_threads(4)
    assert library.loaded.signals_num_threads() == 4
    wrong = []

    def work():
        for _ in range(10):
            result, smooth = ctypes.c_double(), Array()
            x = np.ones(1000)
            statuses = [library.call("energy", field, result), library.call("smoothed", x, smooth)]
            if statuses != [0, 0] or result.value != wanted.value or not same(smooth.as_numpy("f8"), x):
                wrong.append((statuses, result.value))
            library.free(smooth)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    library.loaded.signals_trim_memory()


TWO = """
#include <math.h>
#include <stdio.h>
#include "cases.h"
#include "signals.h"
int main(void) {
  double samples[3] = {1, 2, 3}, moment;
  signals_float64_1d x = signals_float64_1d_of(samples, 3);
  cases_float64_1d y = cases_float64_1d_of(samples, 3);
  signals_float64_1d empty = signals_float64_1d_of(samples, 0);
  cases_float64_1d first, second, third;
  int64_t seven; float half; double offset;
  if (signals_moment(&x, 2, &moment) || cases_several(&y, &first, &second, &third, &seven, &half, &offset)) return 1;
  if (fabs(moment - 2.0 / 3) > 1e-15 || first.data[0] != exp(1.0)) return 2;
  if (!signals_moment(&empty, 2, &moment) || !cases_failing(1)) return 3;
  printf("%s\\n%s\\n", signals_last_error_message(), cases_last_error_message());
  cases_free(first.owner);
  cases_free(second.owner);
  return 0;
}
"""


@pytest.mark.parametrize("kind", ["static", "shared"])
def test_two_libraries_in_one_program(signals, cases_folder, tmp_path, kind):
    (tmp_path / "two.c").write_text(TWO)
    folders = (signals, cases_folder)
    names = ("signals", "cases")
    if kind == "static":
        libraries = [f / "lib" / f"lib{n}.a" for f, n in zip(folders, names)]
    else:
        libraries = [flag for f, n in zip(folders, names) for flag in (f"-L{f}/lib", f"-l{n}", f"-Wl,-rpath,{f}/lib")]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    includes = [f"-I{f}/include" for f in folders]
    program = tmp_path / "two"
    subprocess.run(["cc", *strict, *includes, tmp_path / "two.c", "-o", program, *libraries, "-lm"], check=True, timeout=60)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "there are no samples\n1 is below 2\n")


WORDS = [word for word in sorted(names.RESERVED | names.RESERVED_IN_FORTRAN) if not keyword.iskeyword(word)]
WORDS += "ingot_this ingot_function_0 ingot_levels Function end result data array owner size shape if_ If IF type value bind α β".split()
LONG = "x" * 90


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A library whose parameters have the names of all that is in its sources; and names that Fortran does not have."""
    folder = tmp_path_factory.mktemp("words")
    functions = ["import ingot\n"]
    for i in range(0, len(WORDS), 50):
        part = WORDS[i : i + 50]
        total = " + ".join(f"{k} * {word}" for k, word in enumerate(part))
        functions.append(f"@ingot.export('({'int64, ' * len(part)})')\ndef f{i}({', '.join(part)}):\n    return {total}\n")
    for name in ("f", "F", LONG, f"{LONG}y"):
        functions.append(f"@ingot.export('(float64[:], int64)')\ndef {name}({LONG}, {LONG}y):\n    return {LONG}[{LONG}y] + {len(name)}\n")
    (folder / "words.py").write_text("\n".join(functions))
    built(folder / "words.py", "-o", folder / "built", "--levels", "2")
    return folder / "built"


@pytest.mark.rotated(4)
def test_names_may_be_any(words, tmp_path):
    library = Library(words / "lib" / "libwords.so", "words")
    result = ctypes.c_int64()
    for i in range(0, len(WORDS), 50):
        count = len(WORDS[i : i + 50])
        assert library.call(f"f{i}", *(value(k + 1) for k in range(count)), result) == 0
        assert result.value == sum(k * (k + 1) for k in range(count))
    number = ctypes.c_double()
    for name in ("f", "F", LONG, f"{LONG}y"):
        assert library.call(name, np.arange(3.0), value(2), number) == 0 and number.value == 2 + len(name)
    includes = "#include <complex.h>\n#include <errno.h>\n#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    (tmp_path / "it.c").write_text(f'{includes}#include "words.h"\n')
    (tmp_path / "it.cpp").write_text('#include "words.h"\n')
    checked = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{words}/include"]
    for standard in ("c99", "c11", "gnu17", "c2x"):
        subprocess.run(["cc", f"-std={standard}", *checked, tmp_path / "it.c"], check=True, timeout=60)
    for standard in ("c++11", "gnu++17", "c++20"):
        subprocess.run(["c++", f"-std={standard}", *checked, tmp_path / "it.cpp"], check=True, timeout=60)


def test_headers_hold_in_fortran(words, cases_folder, tmp_path):
    for source in (cases_folder / "include" / "cases.f90", words / "include" / "words.f90"):
        subprocess.run(["gfortran", "-std=f2018", "-Wall", "-fsyntax-only", source], check=True, timeout=60, cwd=tmp_path)


def test_headers_hold_in_cpp(cases_folder, tmp_path):
    (tmp_path / "it.cpp").write_text('#include "cases.h"\nint main() { return cases_cpu_level() > 0 ? 0 : 1; }\n')
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    subprocess.run(["c++", *strict, f"-I{cases_folder}/include", tmp_path / "it.cpp"], check=True, timeout=60)


LOADED = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cases.h"
#include "signals.h"

static int (*energy)(const signals_float64_2d *, double *);
static double field[1000 * 1000];

static int is_right(void) {
  const signals_float64_2d all = signals_float64_2d_of(field, 1000, 1000);
  double sum = 0;
  return energy(&all, &sum) == 0 && sum == 4e6;
}

static void *fall(void *library) {
  int (*deep)(int64_t, int64_t *) = (int (*)(int64_t, int64_t *))dlsym(library, "cases_deep");
  int64_t result = 0;
  const int fails = deep(INT64_MAX / 2, &result) == CASES_RECURSION_ERROR;
  return fails && deep(20, &result) == 0 && result == 20 ? library : NULL;
}

int main(int count, char **files) {
  for (int i = 0; i < 1000 * 1000; ++i) field[i] = 2;
  for (int i = 1; i < count - 1; ++i) { /* what has started threads is unloaded */
    void *library = dlopen(files[i], RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) return puts(dlerror()), 1;
    energy = (int (*)(const signals_float64_2d *, double *))dlsym(library, "signals_energy");
    void (*share)(int32_t) = (void (*)(int32_t))dlsym(library, "signals_set_num_threads");
    share(4);
    if (!is_right()) return 2;
    for (int k = 0; k < 3; ++k) { /* a child has threads of its own */
      const pid_t child = fork();
      if (child == 0) _exit(is_right() ? 0 : 1);
      int status = 1;
      if (waitpid(child, &status, 0) != child || status != 0 || !is_right()) return 3;
    }
    dlclose(library);
    usleep(20000);
  }
  void *library = dlopen(files[count - 1], RTLD_NOW);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_t thread;
  void *done = NULL;
  if (pthread_create(&thread, &small, fall, library) != 0 || pthread_join(thread, &done) != 0) return 4;
  return done == library ? 0 : 5;
}
"""

PLUGIN = """cmake_minimum_required(VERSION 3.18)
project(plugin LANGUAGES C)
find_package(signals REQUIRED)
add_library(plugin MODULE plugin.c)
target_link_libraries(plugin PRIVATE signals::static)
"""


@pytest.mark.rotated(3)
def test_libraries_are_loaded_forked_and_closed(signals, cases_folder, tmp_path):
    """Also a plug-in that has the static library inside. Threads of theirs run on after the last close."""
    (tmp_path / "CMakeLists.txt").write_text(PLUGIN)
    kept = "const void *kept[] = {(const void *)signals_energy, (const void *)signals_set_num_threads};"
    (tmp_path / "plugin.c").write_text(f'#include "signals.h"\n{kept}\n')
    (tmp_path / "loaded.c").write_text(LOADED)
    includes = [f"-I{folder}/include" for folder in (signals, cases_folder)]
    commands = [
        ["cmake", "-S", tmp_path, "-B", tmp_path / "b", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={signals}"],
        ["cmake", "--build", tmp_path / "b"],
        ["cc", "-std=gnu99", "-Wall", "-Werror", *includes, tmp_path / "loaded.c", "-o", tmp_path / "loaded", "-ldl", "-lpthread"],
        [tmp_path / "loaded", tmp_path / "b" / "libplugin.so", signals / "lib" / "libsignals.so", cases_folder / "lib" / "libcases.so"],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


FAILING = """
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "signals.h"

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_memalign(size_t, size_t);
static long left = -1, asked = 0; /* how many allocations are made before one fails, and how many there were */
static int fails(void) { return ++asked, left >= 0 && left-- == 0; }
void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }

static double samples[6] = {1, 2.5, -0.5, 4, 3.25, 0.125};
static signals_float64_1d before = {samples, samples, {7}, {7}}, result;

static int call(int which, const signals_float64_1d *x, const signals_float64_1d *empty) {
  double moment;
  if (which == 0) return signals_smoothed(x, &result);
  return which == 1 ? signals_moment(empty, 2, &moment) : signals_moment(NULL, 2, &moment);
}

int main(void) {
  const signals_float64_1d x = signals_float64_1d_of(samples, 6), empty = signals_float64_1d_of(samples, 0);
  for (int which = 0; which < 3; ++which) {
    for (long count = 0;; ++count) {
      signals_trim_memory();
      result = before;
      asked = 0;
      left = count;
      const int status = call(which, &x, &empty);
      left = -1;
      if (asked <= count) {
        printf("%d ", count > 0);
        break;
      }
      const int is_right = status == (which == 0 ? SIGNALS_OK : SIGNALS_VALUE_ERROR); /* without what it could not get */
      if (!is_right && status != SIGNALS_MEMORY_ERROR) return 1;
      if (status != SIGNALS_OK && (result.owner != before.owner || result.data != samples || result.lengths[0] != 7)) return 2;
      if (status == SIGNALS_OK) signals_free(result.owner);
      if (signals_smoothed(&x, &result) != SIGNALS_OK || result.data[5] != 0.90625) return 3;
      signals_free(result.owner);
    }
  }
  return 0;
}
"""


def test_any_allocation_may_fail(signals, tmp_path):
    (tmp_path / "failing.c").write_text(FAILING)
    command = ["cc", "-std=gnu99", "-Wall", f"-I{signals}/include", tmp_path / "failing.c", "-o", tmp_path / "failing", signals / "lib" / "libsignals.a", "-lm"]
    subprocess.run(command, check=True, timeout=60)
    done = subprocess.run([tmp_path / "failing"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 1 1 ", "")


REFUSED = [
    ("@ingot.export('(float64[:, :], float64[:])')\ndef f(a, b):\n    return np.linalg.solve(a, b)", "NumPy's routine `linalg.solve1` in `f`, compiled"),
    ("def log(x):\n    pass\nlog = ingot.host(log, result=None)\n@ingot.export('(float64,)')\ndef f(x):\n    log(x)", "calling `log` in Python in `f`, compiled ahead of time, is not supported\n  {file}:9, in f"),
    ("@ingot.export('(float64,)')\ndef f(x):\n    print(x)", "calling `print` in Python in `f`, compiled ahead of time, is not supported\n  {file}:6, in f"),
    ("@ingot.export('(float64[:], int64)')\ndef f(x, n):\n    return np.expand_dims(x, n)", "{file}:5, in f"),
    ("@ingot.export('(float64[:],)')\ndef f(x):\n    raise ValueError(x)", "in `f`, compiled ahead of time"),
    ("table = [1.0, 2.0]\n@ingot.export('(int64,)')\ndef f(i):\n    return table[i]", "`table` outside of `f`, of type list, ahead of time,"),
    ("total = np.zeros(3)\n@ingot.export('(int64,)')\ndef f(i):\n    total[i] = 1", "writing to `total`, an array outside of `f`"),
    ("@ingot.export('(int64,)')\ndef f(i):\n    return f'{i}'", "returning a string from `f`"),
    ("@ingot.export('(int64,)')\ndef f(i):\n    return [k for k in range(i)]", "returning a list whose length is not known when compiling"),
    ("@ingot.export('float32(int64)')\ndef f(i):\n    return i", "`f` returns int64, and the signature has float32"),
    ("@ingot.export('(int64, int64)')\ndef f(i):\n    return i", "`f` takes 1 arguments, and the signature (int64, int64) has 2"),
    ("@ingot.export('(int64,)')\ndef f(*i):\n    return i", "takes other arguments than positional ones"),
    ("@ingot.export('(int64,)')\n@ingot.jit(static_argnums=0)\ndef f(i):\n    return i", "`f` has static arguments"),
    ("@ingot.jit(['int64(int64)', 'float64(float64)'])\ndef f(i):\n    return i", "`f` has 2 signatures and one name"),
    ("@ingot.export('(int64,)')\n@ingot.export('(float64,)')\ndef f(i):\n    return i", "two exports have the name `f`"),
    ("@ingot.export('(int64,)')\ndef free(i):\n    return i", "`free` is a name of each library's own"),
    ("@ingot.export('(float64[:],)')\ndef float64_1d_of(x):\n    return x", "`float64_1d_of` is a name of each library's own"),
    ("@ingot.export('(float64[:],)')\ndef f(x):\n    y = x + 1\n    return y, y", "returning one object twice from `f`"),
    ("def f(i):\n    return i", "module exports nothing: decorate functions"),
    ("__version__ = 'one'\n@ingot.export('(int64,)')\ndef f(i):\n    return i", "a version is numbers with points between them"),
]  # fmt: skip


@pytest.mark.parametrize("text, message", REFUSED, ids=lambda text: re.sub(r"\W+", " ", text)[:30])
def test_refusals(tmp_path, text, message, capsys):
    file = tmp_path / "module.py"
    file.write_text(f"import numpy as np\nimport ingot\n\n{text}\n")
    assert main(["build", str(file), "-o", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and message.format(file=file) in error
    assert not (tmp_path / "out").exists()


def test_functions_are_chosen(tmp_path, capsys):
    file = tmp_path / "chosen.py"
    file.write_text("import ingot\n@ingot.export('(int64,)')\ndef f(i):\n    return i\n@ingot.jit('(int64,)')\ndef g(i):\n    return i\ndef h(i):\n    return i\n")
    out = tmp_path / "out"
    assert main(["build", f"{file}:g", "-o", str(out), "--name", "other", "--levels", "3", "--package-version", "2.5"]) == 0
    assert sorted(capsys.readouterr().out.split()) == sorted(str(path) for path in out.rglob("*") if path.is_file())
    header = (out / "include" / "other.h").read_text()
    assert "other_g(int64_t i, int64_t *result);" in header and "int32_t other_f(" not in header
    library = Library(out / "lib" / "libother.so", "other")
    result = ctypes.c_int64()
    assert library.call("g", value(7), result) == 0 and result.value == 7
    assert library.loaded.other_cpu_level() == 3
    for names, message in ((":h", "`h` of chosen has no signature"), (":k", "chosen has no function `k`"), (":ingot", "is no function that can")):
        assert main(["build", f"{file}{names}", "-o", str(out)]) == 1
        assert message in capsys.readouterr().err
    assert main(["build", str(tmp_path / "none.py"), "-o", str(out)]) == 1 and "there is no file" in capsys.readouterr().err
    for name, message in (("a-b", "no identifier of C"), ("math", "'math' is the name of a header"), ("x" * 41, "is longer than 40 characters")):
        assert main(["build", str(file), "-o", str(out), "--name", name]) == 1 and message in capsys.readouterr().err
    file.write_text("import ingot\n@ingot.export('(int64,)', name='OK')\ndef f(i):\n    return i\n")
    assert main(["build", str(file), "-o", str(out), "--name", "X"]) == 1
    assert "`OK` is a name of each library's own" in capsys.readouterr().err


@pytest.mark.rotated(3)
def test_nothing_is_written_unless_all_is_made(tmp_path, capsys, monkeypatch):
    file, out = tmp_path / "one.py", tmp_path / "out"
    file.write_text("import ingot\n@ingot.export('(int64,)')\ndef f(i):\n    return i\n")
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nfor word in "$@"; do [ "$word" = -shared ] && echo no space >&2 && exit 1; done\nexec cc "$@"\n')
    compiler.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("CC", str(compiler))
        assert main(["build", str(file), "-o", str(out)]) == 1
    assert "no space" in capsys.readouterr().err and not out.exists()
    out.write_text("a file")
    assert main(["build", str(file), "-o", str(out)]) == 1
    assert "error: the library cannot be written: " in capsys.readouterr().err and out.read_text() == "a file"


def test_a_missing_compiler_is_named(cases_file, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    assert main(["build", str(cases_file), "-o", str(tmp_path)]) == 1
    assert "error: `no-such-compiler` is not found" in capsys.readouterr().err


VERSIONS = """cmake_minimum_required(VERSION 3.18)
project(versions NONE)
find_package(signals {wanted} CONFIG REQUIRED)
"""


@pytest.mark.parametrize("wanted, fits", [("", True), ("1", True), ("1.2", True), ("1.2.0 EXACT", True), ("1.3", False), ("2", False), ("0.9", False)])
def test_versions_of_the_package(signals, tmp_path, wanted, fits):
    (tmp_path / "CMakeLists.txt").write_text(VERSIONS.format(wanted=wanted))
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={signals}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == fits, done.stdout + done.stderr


def test_export_changes_nothing_of_the_function():
    def plain(x):
        return x

    assert ingot.export("float64(float64)")(plain) is plain
    jitted = ingot.jit(lambda x: x + 1)
    assert ingot.export("(float64,)", name="next_one")(jitted) is jitted and jitted(1.0) == 2.0
    with pytest.raises(ValueError, match="identifier of C, such as `mean_f64`, not 'a-b'"):
        ingot.export("(float64,)", name="a-b")
    with pytest.raises(ValueError, match="not '<lambda>'"):
        ingot.export("(float64,)")(lambda x: x)
    with pytest.raises(TypeError, match="takes a Python function, not type"):
        ingot.export("(float64,)")(int)
    with pytest.raises(TypeError, match="takes one signature, not 2"):
        ingot.export(["(float64,)", "(int64,)"])
    with pytest.raises(TypeError, match="cannot read the signature"):
        ingot.export("float64(")


@pytest.mark.rotated(3)
@pytest.mark.parametrize("name", ["functions", "library", "module"])
def test_any_name_of_a_module(tmp_path, name):
    """Those of files of Ingot's own, too."""
    module = tmp_path / f"{name}.py"
    module.write_text('import ingot\n\n\n@ingot.export("float64(float64)")\ndef twice(x):\n    return x * 2\n')
    built(module, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "lib" / f"lib{name}.so").exists()
