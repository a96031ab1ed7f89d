"""Programs written for Numba: its keywords, types, signatures and decorators, as far as they change nothing."""

import pickle

import ingot
import numpy as np
import pytest
from ingot import cuda, float32, float64, int32, int64, types, uint8

DTYPES = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize(
    "keywords",
    [
        {"nogil": True},
        {"boundscheck": False},
        {"error_model": "python"},
        {"error_model": "numpy"},
        {"inline": "always"},
        {"forceinline": True},
        {"locals": {"t": float64}},
        {"nopython": True, "nogil": True, "cache": False, "fastmath": {"contract"}},
    ],
    ids=str,
)
def test_keywords_change_nothing(keywords):
    @ingot.njit(**keywords)
    def third(x, i):
        t = x[i] / 2.0
        return t

    assert third(np.array([1.0, 3.0]), 1) == 1.5
    with pytest.raises(IndexError):
        third(np.zeros(2), 2)


def test_numbers_of_python_divide_as_in_python():
    quotient = ingot.njit(error_model="numpy")(lambda a, b: a / b)
    with pytest.raises(ZeroDivisionError):
        quotient(1.0, 0.0)
    with np.errstate(divide="ignore"):
        assert quotient(np.float64(1), np.float64(0)) == np.inf


def same(x, y):
    assert type(x) is type(y) and np.asarray(x).dtype == np.asarray(y).dtype
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", DTYPES)
def test_types_convert_as_numpys_classes_do(name):
    type_, kind = getattr(types, name), getattr(np, name)

    def convert(x):
        return type_(x)

    compiled = ingot.jit(convert)
    real = np.array([0.0, 1.5, 100.25])
    for x in (True, 3, 7.75, np.int16(5), np.float32(1.25), real, real.astype(np.int32)):
        expected = kind(x)
        same(convert(x), expected)
        same(compiled(x), expected)


def test_types_convert_in_loops_and_under_grad():
    def total(x):
        s = float32(0)
        for i in ingot.prange(len(x)):
            s += float32(x[i] * x[i])
        return s

    x = np.arange(5.0)
    same(ingot.jit(total)(x), total(x))
    np.testing.assert_array_equal(ingot.grad(lambda x: float64(x) * float64(x))(3.0), 6.0)


def test_what_a_type_does_not_convert():
    with pytest.raises(TypeError, match="a signature is made of types, not of 1"):
        float64(1, 2)
    with pytest.raises(TypeError, match="a signature is made of types"):
        float64[:](1.0)
    with pytest.raises(ingot.UnsupportedError, match="an element of a Type"):
        ingot.jit(lambda x: float64[:](x))(1.0)


def test_kernels_with_types_and_sizes_from_outside():
    threads = 4

    @cuda.jit
    def multiply(a, b, c):
        left = cuda.shared.array(shape=(threads, threads), dtype=float32)
        right = cuda.shared.array((threads, threads), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0.0)
        for block in range(cuda.gridDim.x):
            left[ty, tx] = a[y, tx + block * threads]
            right[ty, tx] = b[ty + block * threads, x]
            cuda.syncthreads()
            for k in range(threads):
                total += left[ty, k] * right[k, tx]
            cuda.syncthreads()
        c[y, x] = total

    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    c = np.zeros_like(a)
    with ingot.device("emulated"):
        multiply[(2, 2), (threads, threads)](a, a.T.copy(), c)
    np.testing.assert_array_equal(c, a @ a.T)


@pytest.mark.parametrize("dynamic", [False, True])
def test_shared_memory_of_records(dynamic):
    record = np.dtype([("weight", np.float32), ("at", np.int32)])

    @cuda.jit
    def reverse(x, out):
        shared = cuda.shared.array(0 if dynamic else 8, dtype=record)
        own = cuda.local.array((2, 1), record)
        i = cuda.threadIdx.x
        shared[i].weight = x[i]
        shared[i]["at"] = int32(i)
        cuda.syncthreads()
        own[1, 0] = shared[len(shared) - 1 - i]
        out[i] = own[1, 0]["weight"] + float64(own[1, 0]["at"])

    x, out = np.arange(8) * 0.5, np.zeros(8)
    with ingot.device("emulated"):
        reverse[1, 8, 0, 8 * record.itemsize if dynamic else 0](x, out)
    np.testing.assert_array_equal(out, (x + np.arange(8))[::-1])


def sum_of_parts(pair, scale):
    a, n = pair
    return a[n] * (2.0 if scale is None else scale)


@pytest.mark.parametrize(
    "signature",
    [
        "float64(Tuple((float64[:], int64)), optional(float64))",
        "types.float64(types.Tuple([types.float64[::1], types.intp]), types.Optional(types.float64))",
        float64(types.Tuple((float64[:], int64)), types.optional(float64)),
        [(types.Tuple((float64[:], int64)), types.Optional(float64))],
    ],
    ids=str,
)
def test_signatures_of_tuples_and_of_what_may_be_none(signature):
    f = ingot.jit(signature)(sum_of_parts)
    x = np.arange(4.0)
    for scale in (None, 3.0, 5):
        assert f((x, 2), scale) == sum_of_parts((x, 2), scale)
    for pair in ((x,), (x, 2.5), [x, 2], (x.astype(np.float32), 1)):
        with pytest.raises(TypeError, match=r"no signature of `sum_of_parts` takes"):
            f(pair, None)


def test_tuples_of_one_type():
    f = ingot.jit("UniTuple(float64, 2)(UniTuple(float64, 2), Tuple((int64, UniTuple(uint8, 1))))")(lambda p, q: (p[1], p[0] + q[1][0]))
    result = f((1, 2.5), (3, (np.uint8(4),)))
    assert result == (2.5, 5.0) and [type(x) for x in result] == [np.float64, np.float64]
    assert str(types.UniTuple(float64, 2)) == "UniTuple(float64, 2)"
    assert str(types.Tuple((float64, types.Tuple((uint8,))))) == "Tuple((float64, Tuple((uint8,))))"


def test_layouts_in_tuples():
    f = ingot.jit("(Tuple((float64[:, ::1],)),)")(lambda t: t[0].sum())
    x = np.ones((3, 4))
    assert f((x,)) == 12
    with pytest.raises(TypeError, match="no signature"):
        f((x.T,))


@pytest.mark.parametrize("text", ["f(UniTuple(float64, n))", "float64(optional(void))", "float64(Tuple(float64))", "List(float64)(float64)"])
def test_signatures_that_cannot_be_read(text):
    with pytest.raises(TypeError, match="cannot read the signature|unknown type"):
        ingot.jit(text)


def test_tuples_are_arguments_of_jit_alone():
    for make in (
        lambda: ingot.vectorize("float64(Tuple((float64, float64)))")(lambda t: t[0]),
        lambda: ingot.export("float64(optional(float64))")(lambda t: 1.0),
        lambda: ingot.host(lambda t: 1.0, result="UniTuple(float64, 2)"),
    ):
        with pytest.raises(TypeError, match=r"is a type of arguments of `ingot.jit` alone"):
            make()


def test_types_are_pickled():
    for type_ in (types.boolean, float32[:, ::1], types.Tuple((int32, types.optional(float64)))):
        assert pickle.loads(pickle.dumps(type_)) == type_
    assert types.intp is ingot.intp is int64 and ingot.boolean is ingot.bool_


def test_names_of_numba_itself():
    numba = pytest.importorskip("numba")
    of_numba = numba.int32

    def count(x):
        s = 0
        for i in numba.prange(len(x)):
            s += of_numba(x[i])
        return s

    x = np.array([1.5, 2.5, -3.5])
    same(ingot.njit(parallel=True)(count)(x), count(x))


def test_dynamic_shared_memory_in_another_shape():
    @cuda.jit
    def swap(x, out):
        shared = cuda.shared.array(0, float32)
        i = cuda.threadIdx.x
        shared[i] = x[i]
        cuda.syncthreads()
        rows = shared[:8].reshape(2, 4)
        rows[0, 0] = 100
        cuda.syncthreads()
        out[i] = rows[1 - i // 4, i % 4]
        if i == 0:
            x[0] = shared[0]

    x = np.arange(8, dtype=np.float32)
    out = np.zeros_like(x)
    with ingot.device("emulated"):
        swap[1, 8, 0, 64](x, out)
    assert x[0] == 100
    np.testing.assert_array_equal(out, [4, 5, 6, 7, 100, 1, 2, 3])


def test_names_that_are_not_there():
    for module, name, words in (
        (ingot, "experimental", "use `ingot.jitclass`"),
        (ingot, "cfunc", r"use `ingot.jit\(f\).c_pointer"),
        (ingot, "typed", "drop the type"),
        (cuda, "as_cuda_array", "use `ingot.from_dlpack`"),
        (cuda, "vectorize", "use `ingot.vectorize`"),
    ):
        with pytest.raises(AttributeError, match=words) as error:
            getattr(module, name)
        assert str(error.value).startswith(f"module '{module.__name__}' has no attribute '{name}'") and error.value.name == name
    for module in (ingot, cuda):
        with pytest.raises(AttributeError, match=f"^module '{module.__name__}' has no attribute 'nothing'$"):
            module.nothing
