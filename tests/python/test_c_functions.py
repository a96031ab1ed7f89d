"""Calls of C functions in compiled code, by ctypes and cffi: values, conversions, exceptions, effects, threads, the cache."""

import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path

import cffi
import ingot
import numpy as np
import pytest
import scipy.special as special
from support import MODES, check, jitted, refused

SOURCE = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdbool.h>
#include <complex.h>
int8_t i8(int8_t x) { return x + 1; }
uint8_t u8(uint8_t x) { return x + 1; }
int16_t i16(int16_t x) { return x + 1; }
uint16_t u16(uint16_t x) { return x + 1; }
int32_t i32(int32_t x) { return x + 1; }
uint32_t u32(uint32_t x) { return x + 1; }
int64_t i64(int64_t x) { return x + 1; }
uint64_t u64(uint64_t x) { return x + 1; }
float f32(float x) { return x * 0.1f; }
double f64(double x) { return x * 0.1; }
bool truth(bool x) { return !x; }
double many(double a, int8_t b, float c, uint16_t d, double e, int64_t f, float g, double h, double i, double j,
            int32_t k, int32_t l, int32_t m, double n) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n;
}
double complex turned(double complex z, double t) { return z * (t * I); }
float complex turned32(float complex z) { return z * I; }
double complex nested(double a, double b, double c, double d, double e, double f, double complex z, double h) {
  return z * (a + b + c + d + e + f) + h;
}
double complex split(double a, double b, double c, double d, double e, double f, double g, double complex z) { return z * g; }
int64_t counted = 0;
int64_t count(void) { return ++counted; }
void shown(int x) { printf("%d\n", x); fflush(stdout); }
double sum(const double *x, int n) { double s = 0; for (int i = 0; i < n; ++i) s += x[i]; return s; }
void scale(double *x, int n, double by) { for (int i = 0; i < n; ++i) x[i] *= by; }
int32_t first(const int32_t *x) { return x[0]; }
"""
NUMBERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64")
KINDS = {
    **{f"{sign}{bits}": getattr(ctypes, f"c_{'u' if sign == 'u' else ''}int{bits}") for sign in "iu" for bits in (8, 16, 32, 64)},
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("c")
    (folder / "some.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", folder / "some.so", folder / "some.c"], check=True, timeout=60)
    return folder / "some.so"


@pytest.fixture
def c(library):
    """The functions, with types of ctypes."""
    lib = ctypes.CDLL(str(library))
    for name, kind in KINDS.items():
        getattr(lib, name).argtypes, getattr(lib, name).restype = [kind], kind
    lib.truth.argtypes, lib.truth.restype = (ctypes.c_bool,), ctypes.c_bool
    d, f, i = ctypes.c_double, ctypes.c_float, ctypes.c_int32
    lib.many.argtypes = [d, ctypes.c_int8, f, ctypes.c_uint16, d, ctypes.c_int64, f, d, d, d, i, i, i, d]
    lib.many.restype = d
    lib.count.argtypes, lib.count.restype = [], ctypes.c_int64
    lib.shown.argtypes, lib.shown.restype = [ctypes.c_int], None
    lib.sum.argtypes, lib.sum.restype = [ctypes.POINTER(d), ctypes.c_int], d
    lib.scale.argtypes, lib.scale.restype = [ctypes.c_void_p, ctypes.c_int, d], None
    lib.first.argtypes, lib.first.restype = [np.ctypeslib.ndpointer(np.int32, ndim=1, flags="C_CONTIGUOUS")], ctypes.c_int32
    return lib


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_converted_as_ctypes_does(c, name):
    f = getattr(c, name)
    check(lambda x: f(x), 100)
    check(lambda x: f(x), True)
    if name == "u64":
        with pytest.raises(OverflowError, match="does not fit into 64 bits"):
            ingot.jit(lambda x: f(x))(-3)
        return
    check(lambda x: f(x), -3)
    check(lambda x: (f(x), f(300), f(-1), f(2**40 + 7)), 2**33 + 5)
    if name in ("f32", "f64"):
        for x in (1.5, np.float32(0.1), np.float64(2.5), np.int16(3), np.True_):
            check(lambda x: f(x), x)


def test_functions_as_attributes_of_their_library(c):
    check(lambda x: c.f64(x) + c.f64(2.0), 1.5)
    f = ingot.jit(lambda x: c.i32(x))
    assert f(2**32 + 7) == c.i32(2**32 + 7)
    c.i32.argtypes, c.i32.restype = [ctypes.c_double], ctypes.c_double
    try:
        with pytest.raises(ctypes.ArgumentError):
            f("a")
    finally:
        c.i32.argtypes, c.i32.restype = [ctypes.c_int32], ctypes.c_int32
    assert f(2**32 + 7) == c.i32(2**32 + 7)


def test_many_arguments(c):
    many = c.many
    check(lambda x, n: many(x, n, x, n, x, n, x, x, x, x, n, n, n, x), 1.5, 7)
    truth = c.truth
    check(lambda x: (truth(x), truth(x > 1)), 0.0)


def test_what_ctypes_refuses_is_raised(c):
    i32, f64 = c.i32, c.f64
    check(lambda x: i32(x), 1.5)
    check(lambda x: i32(x), np.int64(1))
    check(lambda x: f64(x), 1j)
    check(lambda x: f64(), 1)
    check(lambda x: i32("a"), 1)
    refused(lambda x: f64(x, x), 1.0, words="more arguments of the C function `f64` than its `argtypes` have")
    refused(lambda x: f64(x=x), 1.0, words="a keyword of a C function")


@pytest.mark.parametrize("mode", MODES)
def test_calls_happen_in_order_and_each(c, mode):
    count = c.count

    def f(n):
        s = 0
        for i in range(n):
            s = s * 3 + count()
            count()
        return s

    start = c.count()
    given = jitted(f, mode)(4)
    s = 0
    for i in range(4):
        s = s * 3 + start + 1 + 2 * i
    assert given == s and c.count() == start + 9


def test_arrays_are_given_by_pointers(c):
    total, scale, first = c.sum, c.scale, c.first
    pointer = ctypes.POINTER(ctypes.c_double)
    x = np.arange(6.0)

    def f(x):
        scale(x.ctypes.data, len(x), 2.0)
        y = np.ones(3)
        scale(y.ctypes.data_as(ctypes.c_void_p), 2, 5.0)
        return total(x.ctypes.data_as(pointer), len(x)), x[1], y, total(y.ctypes.data_as(pointer), 3)

    check(f, x)
    check(lambda x: first(x), np.arange(3, 6, dtype=np.int32))
    check(lambda x: first(x), np.arange(3.0))
    check(lambda x: first(x), np.arange(8, dtype=np.int32)[::2])
    check(lambda x: total(x, 3), x)
    refused(lambda x: x.ctypes.data + 1, x, words="`Address`|Address")


def test_loops_over_prange(c):
    f64 = c.f64

    def f(x):
        y = np.empty_like(x)
        for i in ingot.prange(len(x)):
            y[i] = f64(x[i])
        return y

    x = np.arange(10000.0)
    before = ingot.get_num_threads()
    try:
        ingot.set_num_threads(4)
        assert np.array_equal(ingot.jit(f)(x), x * 0.1)
    finally:
        ingot.set_num_threads(before)


def test_other_types_are_another_function(c):
    f64 = c.f64

    def f(x):
        return f64(x)

    compiled = ingot.jit(f)
    assert compiled(2) == 0.2
    f64.restype = None
    assert compiled(2) is None
    f64.restype = ctypes.c_double
    assert compiled(2) == 0.2


def test_no_derivative(c):
    f64 = c.f64
    with pytest.raises(ingot.UnsupportedError, match="the derivative of the C function `f64`"):
        ingot.grad(lambda x: f64(x))(1.0)


CDEF = (
    "int8_t i8(int8_t); uint8_t u8(uint8_t); int32_t i32(int32_t); uint64_t u64(uint64_t); float f32(float); double f64(double);"
    "_Bool truth(_Bool); int64_t count(void);"
)


def test_functions_of_cffi(library):
    ffi = cffi.FFI()
    ffi.cdef(CDEF)
    lib = ffi.dlopen(str(library))
    i8, u64, i32, f32, f64, truth = lib.i8, lib.u64, lib.i32, lib.f32, lib.f64, lib.truth
    check(lambda n, x: (i8(n), i32(n), u64(n), f32(x), f64(x), truth(n > 2), f64(n)), 3, 1.5)
    for bad in (300, -200):
        check(lambda n: i8(n), bad)
    check(lambda n: i8(n), np.int16(5))
    check(lambda x: i32(x), 1.5)
    check(lambda x: f64(x), 1j)
    check(lambda x: f64(x, x), 1.0)
    count = lib.count
    assert ingot.jit(lambda: count() - count())() == -1


@pytest.mark.rotated(3)
def test_functions_that_cffi_has_compiled(tmp_path, monkeypatch):
    complex_types = "double _Complex turned(double _Complex, double); float _Complex turned32(float _Complex);"
    nested = "double _Complex nested(double, double, double, double, double, double, double _Complex, double);"
    nested += "double _Complex split(double, double, double, double, double, double, double, double _Complex);"
    ffi = cffi.FFI()
    ffi.cdef(CDEF + complex_types + nested)
    ffi.set_source("_ingot_test_of_cffi", SOURCE, extra_compile_args=["-O0"])
    ffi.compile(str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    import _ingot_test_of_cffi as module

    f64, turned, turned32, nested = module.lib.f64, module.lib.turned, module.lib.turned32, module.lib.nested
    check(lambda z, t: (f64(t), turned(z, t), turned32(z), nested(t, t, t, t, t, t, z, t)), 1 + 2j, 3.0)
    split = module.lib.split
    refused(lambda z, t: split(t, t, t, t, t, t, t, z), 1j, 3.0, words="a call of `_ingot_test_of_cffi.Lib.split`")


PROGRAM = """
import ctypes, sys
import numpy as np
import ingot

lib = ctypes.CDLL(sys.argv[1])
f64 = lib.f64
f64.argtypes, f64.restype = [ctypes.c_double], ctypes.c_double

@ingot.jit
def f(x):
    s = 0.0
    for i in range(len(x)):
        s += f64(x[i])
    return s

x = np.arange(10.0)
assert f(x) == f.__wrapped__(x)
print("_core" in str([m for m in sys.modules if m.startswith("ingot._core")]))
"""


def test_a_stored_call_finds_the_function_again(library, tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    monkeypatch.setenv("INGOT_CACHE", "on")
    monkeypatch.setenv("INGOT_CACHE_DIR", str(tmp_path / "cache"))
    shown = [
        subprocess.run([sys.executable, program, str(Path(library))], capture_output=True, text=True, timeout=120) for _ in range(2)
    ]
    assert [each.stdout.strip() for each in shown] == ["True", "False"], shown[-1].stderr


def test_c_functions_on_a_device(c):
    f64, total = c.f64, c.sum
    x = ingot.device_put(np.arange(4.0), ingot.device("emulated"))
    given = ingot.jit(lambda x: f64(x[1]) + x)(x)
    assert np.array_equal(given.to_host(), f64(1.0) + np.arange(4.0))
    pointer = ctypes.POINTER(ctypes.c_double)
    with pytest.raises(ingot.UnsupportedError, match="a C function that is given an array on a device"):
        ingot.jit(lambda x: total(x.ctypes.data_as(pointer), 4))(x)
    with pytest.raises(ingot.UnsupportedError, match="C function .* on a device"):
        ingot.jit(lambda x: special.erf(x[2]) * x)(x)


def test_a_recording_is_refused(c, tmp_path):
    f64 = c.f64
    with pytest.raises(ingot.UnsupportedError, match="which calls C functions or SciPy's"):
        ingot.jit(lambda x: f64(x)).record(1.0, path=tmp_path / "call")
