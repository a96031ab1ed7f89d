"""NumPy's elementwise functions that are made of others."""

import ctypes
import mmap

import ingot
import numpy as np
import pytest
from support import DTYPES, MODES, check, raises, with_each

QUICK = ("interpreted",)
FLOATS = np.array([0.0, -0.0, 1.5, -2.5, 0.5, 1e-9, np.inf, -np.inf, np.nan, 3.0])


def sample(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return FLOATS.astype(dtype)
    if dtype.kind == "c":
        return (FLOATS + 1j * FLOATS[::-1]).astype(dtype)
    return (np.arange(10) % 7 - (3 if dtype.kind == "i" else 0)).astype(dtype)


def modes(dtype):
    return MODES if dtype in ("bool", "int16", "float32", "float64") else QUICK


@pytest.mark.parametrize("dtype", DTYPES)
def test_logic(dtype):
    x = sample(dtype)
    check(lambda x: (np.logical_and(x, 1), np.logical_or(x, x[::-1]), np.logical_xor(x, True), np.logical_not(x)), x, modes=modes(dtype))
    check(lambda x: (np.logical_and(x[0], x[1]), np.logical_not(x[2]), np.isreal(x), np.iscomplex(x)), x, modes=modes(dtype))
    check(lambda x: (np.iscomplexobj(x), np.isrealobj(x), np.isscalar(x), np.isscalar(x[0]), np.isscalar(3)), x, modes=modes(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_if_close(dtype):
    x = sample(dtype)
    if x.dtype.kind == "c":
        x = x.real.astype(dtype)
        x.imag = np.finfo(dtype).eps * 50
    check(lambda x: np.real_if_close(x), x, modes=modes(dtype))
    check(lambda x: (np.real_if_close(x[3]), np.real_if_close(x, 1000)), x, modes=modes(dtype))
    if x.dtype.kind == "c":
        for tol in (10, 1e-30):
            assert raises(lambda x, tol: np.real_if_close(x, tol=tol), x, tol)[0] is ingot.TypeChangeError
        check(lambda x: np.real_if_close(x[:0]), x)


def test_iterable():
    check(lambda x: (np.iterable(x), np.iterable(x[0]), np.iterable(x.sum()), np.iterable(np.array(3))), FLOATS)
    check(lambda x: (np.iterable([x]), np.iterable({1: x}), np.iterable("a"), np.iterable(None), np.iterable(range(3))), 1)
    check(lambda x: (np.iterable(x), np.iterable((x, x)), np.iterable(2j)), 1.5)


def test_logic_with_outputs():
    check(lambda x, out: np.logical_and(x, 1, out=out), FLOATS, np.zeros(10, bool))
    check(lambda x, out: np.logical_or(x, 1, out, where=x > 0), FLOATS, np.zeros(10))


@pytest.mark.parametrize("dtype", DTYPES)
def test_clip(dtype):
    x = sample(dtype)
    low, high = x.dtype.type(1), x.dtype.type(2)
    check(lambda x, a, b: (np.clip(x, a, b), np.clip(x, None, b), x.clip(a), np.clip(x, min=a), np.clip(x, a, None)), x, low, high, modes=modes(dtype))
    check(lambda x: (np.clip(x, 0, 1), x.clip(max=1), np.clip(x, 0, x[::-1])), x, modes=modes(dtype))


def test_clip_otherwise():
    check(lambda x, out: np.clip(x, 0, 1, out=out), FLOATS, np.zeros(10))
    check(lambda x: (np.clip(x, -500, 500), np.clip(x, None, None), x.clip(-1000)), np.arange(5, dtype=np.int8))
    check(lambda x: np.clip(x, 0, 500), np.arange(5, dtype=np.uint8))
    check(lambda x: (np.clip(x, 0, 1), np.clip(2.5, 0, 1), np.clip([1, 2, 3], 2, 2)), 0.5)
    check(lambda x: (np.clip(x, 0, [1, 3]), np.clip(x, [0, 1], [1, 3]), x.clip([1, 2])), np.array([0.5, 9.0]))
    check(lambda x: (np.clip(x, [0, 1], (1, 3)), np.clip(x, (1, 2), None)), np.array([0.5, 9.0]))
    check(lambda x: np.clip(x, 0), FLOATS)
    check(lambda x: np.clip(x, 0, 1, min=1), FLOATS)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64"])
def test_round(dtype):
    x = (sample(dtype) * 3).astype(dtype)
    check(lambda x: (np.round(x), np.round(x, 1), np.around(x, -1), x.round(2), np.round(x[3], 1), np.fix(x)), x)
    check(lambda x, out: np.round(x, 1, out=out), x, np.zeros(10))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64", "complex128"])
def test_numbers_in_place_of_nan(dtype):
    x = sample(dtype)
    check(lambda x: (np.nan_to_num(x), np.nan_to_num(x, nan=2, posinf=3, neginf=-3)), x)
    check(lambda x: np.nan_to_num(x, copy=False), x)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "float64", "complex128"])
def test_closeness(dtype):
    x = sample(dtype)
    y = x.copy()
    y[2] = y[3]
    check(lambda x, y: (np.isclose(x, y), np.allclose(x, x), np.array_equal(x, y), np.array_equal(x, x)), x, y)
    check(lambda x, y: (np.isclose(x, y, equal_nan=True), np.allclose(x, y, equal_nan=True), np.array_equal(x, x, equal_nan=True)), x, y)
    check(lambda x, y: (np.array_equal(x, y[1:]), np.array_equal(x, y[None]), np.isclose(x[0], y[1]), np.isclose(x, 1, rtol=0.5)), x, y)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int64", "float16", "float32", "float64"])
def test_parts_of_floats(dtype):
    x = sample(dtype)
    check(lambda x: (np.modf(x), np.isposinf(x), np.isneginf(x)), x)
    check(lambda x: (np.frexp(x)[0][:6], np.frexp(x)[1][:6], np.ldexp(x, 3), np.ldexp(x, -2)), x)
    check(lambda x: (np.heaviside(x, 0.5), np.heaviside(x, x)), x)
    check(lambda x: np.float_power(x, 2), x, bound=1e-15)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "float64"])
def test_division(dtype):
    x = sample(dtype)
    check(lambda x: (np.divmod(x, x.dtype.type(2)), np.positive(x)), x)
    check(lambda x, y: np.divmod(x, y), x[2], x[3])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64"])
def test_bits(dtype):
    check(lambda x: (np.bitwise_count(x), np.bitwise_count(x[1])), sample(dtype))


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
def test_special_functions(dtype):
    x = np.linspace(-9, 9, 13).astype(dtype)
    check(lambda x: (np.sinc(x), np.angle(x), np.angle(x, deg=True)), x, bound=2e-5 if dtype == "float32" else 1e-9)
    if dtype != "complex128":
        check(lambda x: np.i0(x), x, bound=1e-5 if dtype == "float32" else 1e-13)


def test_keywords_that_few_give():
    check(lambda x: np.logical_and(x, 1, dtype=bool), FLOATS)
    check(lambda x: np.clip(x, 0, 1, other=1), FLOATS)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "uint64", "float64", "bool"])
def test_exponents_of_all_dtypes(dtype):
    check(lambda x, n: np.ldexp(x, n), np.array([1.5, -3.0, np.inf]), np.array([1, 0, 3]).astype(dtype))


def test_arrays_without_axes_give_numbers():
    with_each([lambda x: np.positive(x), lambda x: np.clip(x, 0, None), lambda x: np.clip(x, None, 7)], np.array(3, np.uint8))
    check(lambda x, high: np.clip(x, None, high), np.array(3, np.uint8), 300)


def comparisons(x, k):
    return x == k, x != k, x < k, x <= k, x > k, x >= k, 3 == x, 3 < x, x == 300, x < 300, x >= -1, x > -200, x != 2**40


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_comparisons_with_numbers_that_the_dtype_has_not(dtype):
    info = np.iinfo(dtype)
    x = np.array([info.min, info.min + 1, 0, 1, 3, 44, info.max - 1, info.max], dtype)
    check(comparisons, x, 3)
    check(comparisons, x, 0)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_second_element(dtype):
    for count in (0, 1, 2, 31, 64, 65, 300):
        x = np.arange(2 * count).astype(dtype)
        check(lambda x: (x[::2].copy(), x[1::2].copy(), x[1::2] == x[::2]), x)
    z = np.arange(150) * (1 + 2j)
    check(lambda z: (z.real.copy(), z.imag.copy(), z.imag + z.real), z)
    check(lambda z: (z.real.copy(), z.imag.copy(), z.imag + z.real), z.astype(np.complex64))


def test_every_second_element_up_to_the_end_of_memory():
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    whole = np.frombuffer(memory, np.uint8)
    whole[:] = np.arange(2 * page) % 100
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(whole.ctypes.data + page), ctypes.c_size_t(page), 0)
    try:
        for dtype in (np.int8, np.float32, np.complex64, np.complex128):
            x = whole[:page].view(dtype)
            second = ingot.jit(lambda x: (x.imag if x.dtype.kind == "c" else x[1::2]) + 0)
            expected = (x.imag if x.dtype.kind == "c" else x[1::2]) + 0
            assert (second(x) == expected).all()
    finally:
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(whole.ctypes.data + page), ctypes.c_size_t(page), 3)


@pytest.mark.parametrize("exponent", (0, 1, 2, 3, True, 2.0, np.int64(2)), ids=repr)
def test_powers_of_bools(exponent):
    """NumPy squares arrays, so that the second power has another dtype than the others."""
    x = np.array([True, False, True])
    check(lambda x, e: x**e, x, exponent)
    check(lambda x, e: x[::2].reshape(1, 2) ** e, x, exponent)
    check(lambda x, e: x[0] ** e, x, exponent)


def test_what_numpy_raises_is_made_for_each_call():
    f = ingot.jit(lambda x: np.positive(x))
    raised = []
    for _ in range(2):
        with pytest.raises(TypeError) as caught:
            f(np.array([True]))
        raised.append(caught.value)
    assert raised[0] is not raised[1] and str(raised[0]) == str(raised[1])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "float64", "complex64", "complex128"])
def test_round_to_any_decimals(dtype):
    parts = np.array([0.0, -0.0, 0.3, -0.3, 2.5, -2.5, 1234.5678])
    x = np.abs(parts).astype(dtype) if dtype == "uint8" else parts.astype(dtype)
    if dtype.startswith("complex"):
        x = (parts[:, None] + 1j * np.append(parts, [np.inf, np.nan])).astype(dtype)
        x.imag[0] = -0.0
    check(lambda x: [np.round(x, d) for d in (0, 1, 2, 5, 23, 308, 309, 400, -1, -2, -24, -308, -309, -400)], x)
    check(lambda x, d: (x.round(d), np.round(x, -d), np.round(x[0], d)), x, 309)
    check(lambda x: np.round(x, 1, out=np.zeros(x.shape, np.complex128)), x)
    check(lambda x: np.round(x, -1, out=np.zeros(x.shape, np.float32)), x)
    check(lambda x: np.round(x, 1.0), x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex128"])
def test_sinc(dtype):
    x = np.array([0.0, -0.0, 0.5, 0.25, 3, -2, 1e-3]).astype(dtype)
    check(lambda x: (np.sinc(x), np.sinc(x[0]), np.sinc(0)), x, bound=1e-3 if dtype == "float16" else 1e-6)


ORDERS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ORDERS)
def test_signed_and_unsigned_integers_are_compared_exactly(name):
    compare = getattr(np, name)
    signed = np.array([2**53, 2**53 + 1, 2**62, 2**63 - 1, -1, -(2**63), 0, 1])
    unsigned = np.array([2**53, 2**53 + 1, 2**62, 2**63, 2**64 - 1, 2**63 - 1, 0, 1], np.uint64)
    check(lambda i, u: (compare(i[:, None], u), compare(u[:, None], i), compare(i[1], u[0]), compare(u, i[4]), compare(i, u[5])), signed, unsigned)
    small = np.array([-1, 0, 1], np.int8)
    check(lambda i, u: (compare(i[:, None], u), compare(u, i[0]), compare(np.asfortranarray(i[:, None] + i), u[:3])), small, unsigned)
    check(lambda i, u: (i[1] < u[0], i[4] > u[4], np.where(i == u, 1, 0), (i != u).sum()), signed, unsigned)


def test_bools_have_no_sign():
    check(lambda x: np.sign(x), np.array([True, False]))
    check(lambda x: np.sign(x[0]), np.array([True, False]))
    check(lambda: np.sign(True))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint64", "float16", "float32", "complex64"])
def test_products_with_numbers_of_pythons(dtype):
    x = np.array([1, 0, 1], dtype)
    check(lambda x: (np.dot(x, 2), np.dot(2.5, x), x.dot(2j), np.dot(x, True), np.dot(x[0], 2), np.dot(x, 300), np.dot(x, np.array(2))), x)


def test_bounds_have_a_common_dtype():
    check(lambda x: (np.clip(x, 1, np.float32(1.5)), np.clip(x, 0, 1), np.clip(x, np.int8(0), 3)), np.array([True, False]))
