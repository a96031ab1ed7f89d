"""`ingot.vectorize`: ufuncs of compiled functions, against NumPy's own and the same functions for each element."""

import math
import pickle
import subprocess
import sys
import warnings

import cloudpickle
import numpy as np
import pytest

import ingot
from ingot import float32, float64, int64
from support import check, jitted

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()


def elements(function, *operands):
    """The function for each element of operands that are broadcast together, at the dtype of what it gives."""
    arrays = np.broadcast_arrays(*operands)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = [function(*[a[i] for a in arrays]) for i in np.ndindex(arrays[0].shape)]
    return np.array(results).reshape(arrays[0].shape)


def same(a, b):
    assert type(a) is type(b)
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(a, b)


@ingot.vectorize
def mixed(a, b):
    """Adds or subtracts."""
    return a * b + a if a > 0 else b - a


def plain_mixed(a, b):
    return a * b + a if a > 0 else b - a


@ingot.vectorize(["float64(float64, float64)", "float32(float32, float32)"])
def eager(a, b):
    return a + 2 * b


@ingot.vectorize(identity=0)
def plus(a, b):
    return a + b


@ingot.vectorize
def divided(a, b):
    if b == 0:
        raise ZeroDivisionError(f"no quotient of {a}")
    return a / b


def samples(dtype, count=40, seed=1):
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return generator.integers(0, 2, count).astype(bool)
    values = generator.integers(1, 90, count)
    return (values / 4).astype(dtype) if np.dtype(dtype).kind in "fc" else values.astype(dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_and_dtypes(dtype):
    def function(a, b):
        return a * b + a

    f = ingot.vectorize(function)
    a, b = samples(dtype), samples(dtype, seed=2)
    grid = a.reshape(5, 8)
    for x, y in ((a, b), (a[::2], b[::2]), (a[::-1], b), (grid, b[:8]), (grid.T, b[:5]), (a[:1], b), (a[:0], b[:0])):
        expected = elements(function, x, y)
        result = f(x, y)
        assert result.shape == expected.shape
        if expected.size:
            same(result, expected)
    same(f(a[0], b[0]), function(a[0], b[0]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_arrays(dtype):
    def function(a, b):
        return a + b if b == a else a * b

    f = ingot.vectorize(function)
    a, b = samples(dtype, 3000), samples(dtype, 3000, 2)
    same(f(a, b), elements(function, a, b))
    same(f(a, b[5]), elements(function, a, b[5]))
    same(f(a[7], b), elements(function, a[7], b))
    same(f(a[::3], b[::3]), elements(function, a[::3], b[::3]))


def test_mixed_dtypes_are_compiled_for_each():
    f = ingot.vectorize(lambda a, b: a * b)
    for x, y in (("int8", "float32"), ("int64", "int64"), ("float64", "int64"), ("uint8", "complex64"), ("int64", "uint64")):
        a, b = samples(x), samples(y)
        same(f(a, b), elements(lambda a, b: a * b, a, b))
    assert f.types == ["bf->f", "ll->l", "dl->d", "BF->F", "lL->d"]
    assert f.ntypes == 5


def test_numbers_of_pythons_count_as_in_numpy():
    f = ingot.vectorize(lambda a, b: a * b)
    for x, y in ((np.float32(2.5), 2), (np.int8(3), 2), (np.int8(3), 2.5), (np.float32(2), 2j), (2, 3), (2.5, 3), (True, 2)):
        same(f(x, y), np.multiply(x, y))
    same(f(np.ones(3, "f4"), 2), np.full(3, 2, "f4"))
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        f(np.int8(3), 300)
    same(f([1, 2], (3, 4)), np.array([3, 8]))


def test_lazy_ufuncs_do_not_depend_on_what_was_called_before():
    f = ingot.vectorize(lambda a: a + a)
    f(np.ones(2))
    same(f(np.ones(2, "i4")), np.full(2, 2, "i4"))
    same(f(np.ones(2, np.longlong)), np.full(2, 2))
    same(f(np.ones(2, ">f8")), np.full(2, 2.0))


def test_eager_signatures():
    assert eager.types == ["dd->d", "ff->f"]
    same(eager(np.float32(1), np.float32(2)), np.float32(5))
    same(eager(np.float16(1), np.float16(2)), np.float64(5))  # the first loop that they cast to safely
    same(eager(np.arange(3), 1), np.arange(3) + 2.0)
    same(eager(np.arange(3, dtype="f4"), np.float32(1), dtype="f4"), np.arange(3, dtype="f4") + np.float32(2))
    with pytest.raises(TypeError) as own:
        eager(1j, 2)
    with pytest.raises(TypeError) as numpys:
        np.hypot(1j, 2)
    assert str(own.value) == str(numpys.value).replace("hypot", "eager")
    rising = ingot.vectorize([float32(float32), float64(float64)])(lambda x: x * x)
    same(rising(np.int8(3)), np.float32(9))
    same(rising(np.int64(3)), np.float64(9))
    assert ingot.vectorize(int64(float64))(lambda x: x).types == ["d->l"]
    same(ingot.vectorize("int64(float64)")(lambda x: x)(np.array([2.7, -2.7])), np.array([2, -2]))
    assert ingot.vectorize("(float64, int8)")(lambda x, n: x * n).types == ["db->d"]


def test_wrong_signatures():
    with pytest.raises(TypeError, match="signatures of numbers"):
        ingot.vectorize("float64(float64[:])")(lambda x: x)
    with pytest.raises(TypeError, match="has 2 parameters"):
        ingot.vectorize("float64(float64, float64)")(lambda x: x)
    with pytest.raises(TypeError, match="several results"):
        ingot.vectorize("float64(float64)")(lambda x: (x, x))
    with pytest.raises(ValueError, match="no target 'tpu'"):
        ingot.vectorize(target="tpu")
    with pytest.raises(TypeError, match="unexpected keyword argument 'nopyhton'"):
        ingot.vectorize(nopyhton=True)
    with pytest.raises(ValueError, match="an identity is"):
        ingot.vectorize(identity="one")
    with pytest.raises(TypeError, match="takes a Python function, not builtin"):
        ingot.vectorize()(len)


def test_several_results():
    @ingot.vectorize
    def both(a, b):
        if a > b:
            return a, b
        return b, a

    assert (both.nin, both.nout, both.nargs) == (2, 2, 4)
    a, b = samples("float64"), samples("float64", seed=2)
    high, low = both(a, b)
    same(high, np.maximum(a, b))
    same(low, np.minimum(a, b))
    out = np.empty(40), np.empty(40, "c16")
    assert both(a, b, out=out)[1] is out[1]
    same(out[1], np.minimum(a, b).astype("c16"))
    both(a, b, out=(a, b))
    same(a, high)
    same(b, low)
    parts = ingot.vectorize("(float64,)")(lambda x: (x // 1, x % 1, x > 2))
    assert parts.types == ["d->dd?"]
    assert parts(np.float64(2.5)) == (2.0, 0.5, True)


def test_keywords_of_calls():
    a, b = samples("float64"), samples("float64", seed=2)
    expected = elements(plain_mixed, a, b)
    out = np.zeros(40)
    assert mixed(a, b, out) is out
    same(out, expected)
    assert mixed(a, b, out=(out,)) is out
    masked = mixed(a, b, out=np.zeros(40), where=a > 9)
    same(masked, np.where(a > 9, expected, 0))
    same(mixed(a, b, out=np.zeros(40, "f4"), casting="same_kind"), expected.astype("f4"))
    for keywords in ({"out": np.zeros(40, int)}, {"out": np.zeros(3)}, {"foo": 1}, {"casting": "no", "out": np.zeros(40, "f4")}):
        with pytest.raises((TypeError, ValueError)) as own:
            mixed(a, b, **keywords)
        with pytest.raises((TypeError, ValueError)) as numpys:
            np.hypot(a, b, **keywords)
        assert type(own.value) is type(numpys.value)
        assert str(own.value) == str(numpys.value).replace("hypot", "mixed")
    same(plus(1, 2, dtype="f4"), np.float32(3))
    same(plus(np.ones(2, "i1"), np.ones(2, "i1"), dtype="i8"), np.full(2, 2))
    same(mixed(a.reshape(5, 8), b[:5, None]), elements(plain_mixed, a.reshape(5, 8), b[:5, None]))
    assert mixed(a.reshape(5, 8).T, b[:5], order="C").flags.c_contiguous


def test_wrong_numbers_of_arguments():
    for args in ((1,), (), (1, 2, np.zeros(3), 4)):
        with pytest.raises(TypeError) as own:
            mixed(*args)
        with pytest.raises(TypeError) as numpys:
            np.hypot(*args)
        assert str(own.value) == str(numpys.value).replace("hypot", "mixed")


@pytest.mark.parametrize("dtype", ["O", "U3", "M8[s]", "longdouble"])
def test_dtypes_that_there_is_no_loop_for(dtype):
    x = np.zeros(3, dtype)
    with pytest.raises(TypeError, match="ufunc 'mixed' did not contain a loop with signature matching types") as error:
        mixed(x, x)
    assert isinstance(error.value, np._core._exceptions.UFuncTypeError)


def test_memory_that_outputs_share_with_inputs():
    a, b = samples("float64", 300), samples("float64", 300, 2)
    for x, y, out in ((a, b, a), (a, b, b), (a[1:], b[1:], a[:-1]), (a[:-1], b[1:], a[1:]), (a[::-1], b, a), (a, a[3], a)):
        expected = elements(plain_mixed, x.copy(), y.copy())
        mixed(x, y, out=out)
        same(out, expected)
    swap = ingot.vectorize(lambda a, b: (b, a))
    c, d = a.copy(), b.copy()
    swap(a, b, out=(a, b))
    same(a, d)
    same(b, c)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype):
    a = samples(dtype, 60).reshape(6, 10)
    f = ingot.vectorize(lambda a, b: a * b, identity=1)
    kind = a.dtype
    for axis in (0, 1, -1, None, (0, 1)):
        for x in (a, a.T, a[::2, ::-1]):
            same(f.reduce(x, axis=axis), np.multiply.reduce(x, axis=axis, dtype=kind))
    same(f.accumulate(a, axis=1), np.multiply.accumulate(a, axis=1, dtype=kind))
    same(f.accumulate(a), np.multiply.accumulate(a, dtype=kind))
    same(f.reduceat(a[0], [0, 4, 2]), np.multiply.reduceat(a[0], [0, 4, 2], dtype=kind))
    same(f.outer(a[0], a[1]), np.multiply.outer(a[0], a[1]))
    same(f.reduce(a[:0]), np.ones(10, kind))
    keywords = {"keepdims": True, "where": a != 3, "initial": 2}
    same(f.reduce(a, **keywords), np.multiply.reduce(a, dtype=kind, **keywords))
    x = a[0].copy()
    f.at(x, [1, 1, 3], x[2])
    y = a[0].copy()
    np.multiply.at(y, [1, 1, 3], y[2])
    same(x, y)


def test_reductions_of_ufuncs_that_give_other_dtypes():
    f = ingot.vectorize(lambda a, b: a + 0.5 * b)
    same(f.reduce(np.arange(4)), np.float64(3.0))
    with pytest.raises(ValueError, match="which has no identity"):
        f.reduce(np.zeros(0))
    with pytest.raises(ValueError, match="reduce only supported for binary functions"):
        ingot.vectorize(lambda x: x).reduce([1])
    long = np.random.default_rng(1).integers(0, 100, 5000)
    assert ingot.vectorize(lambda a, b: a if a > b else b).reduce(long) == long.max()


def test_identities():
    assert ingot.vectorize(identity=1)(lambda a, b: a * b).identity == 1
    assert mixed.identity is None
    least = ingot.vectorize(identity="reorderable")(lambda a, b: a if a < b else b)
    assert least.identity is None
    same(least.reduce(np.arange(6).reshape(2, 3), axis=(0, 1)), np.int64(0))
    with pytest.raises(ValueError, match="not reorderable"):
        mixed.reduce(np.arange(6).reshape(2, 3), axis=(0, 1))
    assert ingot.vectorize(identity=-np.inf)(lambda a, b: max(a, b)).reduce(np.zeros(0)) == -np.inf
    assert plus.reduce(np.zeros(0, int)) == 0


def test_exceptions_leave_the_call():
    same(divided(np.arange(3), 2), np.arange(3) / 2)
    with pytest.raises(ZeroDivisionError, match="no quotient of 3"):
        divided(np.arange(4), np.array([1, 1, 1, 0]))
    with pytest.raises(ZeroDivisionError):
        divided(1.0, 0.0)
    with pytest.raises(ZeroDivisionError):
        divided(np.ones((400, 500)), np.zeros(500))
    with pytest.raises(ZeroDivisionError):
        divided.reduce(np.zeros(3))

    class Own(Exception):
        pass

    @ingot.vectorize
    def raises(x):
        if x > 2:
            raise Own("three")
        return math.sqrt(x)

    with pytest.raises(Own, match="three"):
        raises(np.arange(5.0))
    with pytest.raises(ValueError, match="math domain error"):
        raises(np.array([1.0, -1.0]))
    same(raises(np.arange(3.0)), np.sqrt(np.arange(3.0)))


def test_tracebacks_show_the_function():
    with pytest.raises(ZeroDivisionError) as error:
        divided(np.ones(3), np.zeros(3))
    shown = [(entry.name, entry.path.name) for entry in error.traceback]
    assert ("divided", "test_vectorize.py") in shown
    assert all("vectorized.py" not in file for _, file in shown)


def test_what_it_is_to_others():
    assert repr(mixed) == "<ufunc 'mixed'>"
    assert (mixed.__name__, mixed.__doc__, mixed.signature) == ("mixed", "Adds or subtracts.", None)
    assert isinstance(mixed.ufunc, np.ufunc)
    assert "Adds or subtracts." in mixed.ufunc.__doc__

    class Other:
        def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
            return ufunc.__name__, method, len(inputs), keywords

    assert mixed(Other(), 1) == ("mixed", "__call__", 2, {})
    assert plus.reduce(Other(), axis=1) == ("plus", "reduce", 1, {"axis": 1})

    class Array(np.ndarray):
        pass

    assert type(mixed(np.ones(3).view(Array), 1)) is Array
    assert mixed(np.ma.masked_array([1.0, 2.0], [True, False]), 1).mask.tolist() == [True, False]


scale = 2


def test_what_is_outside_is_guarded():
    global scale

    @ingot.vectorize
    def scaled(x):
        return x * scale

    scale = 2
    x = np.arange(3)
    same(scaled(x), x * 2)
    scale = 3
    same(scaled(x), x * 3)
    scale = 2.5
    same(scaled(x), x * 2.5)
    same(scaled.ufunc(x), x * 2.5)
    old = scaled.ufunc
    scale = 4
    with pytest.raises(ingot.TypeChangeError, match="have other dtypes than before"):
        old(x)
    same(scaled(x), x * 4)


def test_arrays_outside_are_read():
    table = np.array([1.5, 2.5, 3.5])
    f = ingot.vectorize(lambda i: table[i])
    same(f(np.array([2, 0, 1, 1])), table[[2, 0, 1, 1]])
    table[0] = 7
    same(f(np.zeros((2, 100), int)), np.full((2, 100), 7.0))
    with pytest.raises(IndexError):
        f(np.array([1, 3]))
    same(f(1), np.float64(2.5))


def test_calls_of_python():
    said = []

    def told(x):
        said.append(float(x))
        return x + 1

    ask = ingot.host(told, result="float64")
    f = ingot.vectorize(lambda x: ask(x) * 2)
    same(f(np.arange(3.0)), (np.arange(3.0) + 1) * 2)
    assert said == [0.0, 1.0, 2.0]


def test_several_threads_share_the_elements():
    f = ingot.vectorize(target="parallel")(lambda a, b: a * b + 1)
    a, b = samples("float64", 200_000), samples("float64", 200_000, 2)
    same(f(a, b), a * b + 1)
    same(f(a, 2.0), a * 2.0 + 1)
    same(f.reduce(a[:100]), elements_folded(lambda a, b: a * b + 1, a[:100]))
    f(a, b, out=a)
    g = ingot.vectorize(["float64(float64)"], target="parallel")(lambda x: math.sqrt(x) if x > 1 else 0.0)
    same(g(b), np.array([math.sqrt(x) if x > 1 else 0.0 for x in b]))


def elements_folded(function, values):
    total = values[0]
    for value in values[1:]:
        total = function(total, value)
    return total


def test_what_is_refused():
    for function, words in (
        (lambda *x: x[0], r"`\*args`"),
        (lambda: 1, "without parameters"),
        (lambda x, *, n=1: x, "keyword-only"),
    ):
        with pytest.raises(ingot.UnsupportedError, match=words):
            ingot.vectorize(function)

    @ingot.vectorize
    def nothing(x):
        x + 1

    with pytest.raises(ingot.UnsupportedError, match="a result that is no number"):
        nothing(1.0)
    with pytest.raises(ingot.UnsupportedError, match="a result that is no number"):
        ingot.vectorize(lambda x: np.array([x]))(1.0)
    with pytest.raises(ingot.UnsupportedError, match="2 results where the `return` statements show 1"):
        ingot.vectorize("(float64,)")(lambda x: divmod(x, 2.0))
    with pytest.raises(ingot.UnsupportedError):
        ingot.vectorize(lambda x: open(x))(1.0)


@pytest.mark.rotated(3)
def test_ufuncs_are_pickled():
    assert pickle.loads(pickle.dumps(mixed)) is mixed
    inner = cloudpickle.loads(cloudpickle.dumps(ingot.vectorize("float64(float64)")(lambda x: x + 3)))
    assert inner.types == ["d->d"]
    same(inner(1.0), np.float64(4.0))
    program = (
        "import ingot, cloudpickle, sys\n"
        "k = 3\n"
        "@ingot.vectorize(identity=1)\n"
        "def times(a, b):\n    return a * b * k\n"
        "sys.stdout.write(cloudpickle.dumps(times).hex())\n"
    )
    done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, timeout=120, check=False)
    times = cloudpickle.loads(bytes.fromhex(done.stdout))
    same(times(np.arange(3), 2), np.arange(3) * 6)
    assert times.identity == 1


def test_nothing_is_compiled_where_the_environment_disables_it(monkeypatch):
    monkeypatch.setenv("INGOT_DISABLE", "1")

    @ingot.vectorize(["float64(float64, float64)"])
    def f(a, b):
        return a * b

    assert not hasattr(f._loops[np.dtype("f8"), np.dtype("f8")]._kernel("apart"), "specialisations")
    same(f(np.arange(3.0), 2), np.arange(3.0) * 2)
    same(f.reduce(np.arange(1.0, 4.0)), np.float64(6))


def test_recursion_and_loops_inside():
    @ingot.vectorize
    def escapes(re, im):
        z = 0j
        for iteration in range(50):
            z = z * z + complex(re, im)
            if abs(z) > 2:
                return iteration
        return 50

    re, im = np.linspace(-2, 1, 30), np.linspace(-1, 1, 20)[:, None]
    expected = [[escapes.__wrapped__(float(x), float(y)) for x in re] for y in im[:, 0]]
    same(escapes(re, im), np.array(expected))

    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    same(ingot.vectorize(factorial)(np.arange(10)), np.array([math.factorial(n) for n in range(10)]))


def test_calls_of_other_ufuncs():
    f = ingot.vectorize(lambda x: mixed(x, np.hypot(x, 2.0)))
    x = np.linspace(-2, 2, 9)
    same(f(x), mixed(x, np.hypot(x, 2.0)))


@pytest.mark.rotated(5)
def test_ufuncs_are_called_in_compiled_functions():
    x = np.linspace(-2, 3, 12)
    arrays = (x, x.astype("f4"), np.arange(-6, 6), np.arange(-6, 6, dtype="i1"))

    def on_arrays(x, y):
        return mixed(x, y), mixed(x, 2), mixed(1.5, y) + 1, mixed(x[::2], y[1::2]), mixed(mixed(x, y), x) * 2

    for x in arrays:
        for y in arrays:
            check(on_arrays, x, y)

    def on_numbers(x, y):
        return mixed(x, y), mixed(x, 2), mixed(2, 3), mixed(2.5, y), eager(x, y)

    for x in (1, 2.5, np.float32(2), np.int8(3), np.int64(-1)):
        check(on_numbers, x, np.float64(2))
        check(on_numbers, x, 3)
    shapes = [((3, 4), (4,)), ((3, 4), (3, 1)), ((2, 3, 2), (3, 1)), ((1, 2, 3, 2), (2,)), ((1, 2, 1, 3, 2), (1,))]
    for shape, other in [*shapes, ((0, 4), (4,)), ((), (3,)), ((), ())]:
        x = np.arange(float(np.prod(shape))).reshape(shape)
        check(lambda x, y: mixed(x, y), x, np.arange(float(np.prod(other))).reshape(other))


@pytest.mark.rotated(3)
def test_keywords_of_calls_in_compiled_functions():
    x = np.linspace(-2, 3, 12)

    def with_out(x, out):
        returned = mixed(x, 2.0, out=out)
        mixed(x, x[::-1], returned, where=x > 0)
        return returned is out

    check(with_out, x, np.zeros(12))
    check(with_out, x, np.zeros(12, "c8"))
    check(lambda x: mixed(x[1:], x[:-1], out=x[:-1]), x.copy())
    check(lambda x: plus(x, 1, dtype="f4"), x)
    check(lambda x, out: mixed(x, 1, out=out), x, np.zeros(12, int))
    check(lambda x, out: mixed(x, 1, out=out), x, np.zeros(3))
    check(lambda x: mixed(x), x)
    check(lambda x: mixed(x, x[:5]), x)
    check(lambda x: divided(x, 0), x)
    check(lambda x: divided(x, np.where(x > 0, 1, 0), out=np.ones(12), where=x > 0), x)
    check(lambda x: eager(x, 1j), x)


def test_several_results_in_compiled_functions():
    both = ingot.vectorize(lambda a, b: (a + b, a > b))
    x = np.linspace(-2, 3, 12)

    def results(x):
        total, greater = both(x, x[::-1])
        return total[greater], both(2, 3.5), both(x, 1, out=(np.zeros(12), np.zeros(12, bool)))

    check(results, x)


def test_ufuncs_in_loops_of_compiled_functions():
    def loops(x):
        result = np.zeros(len(x))
        for i in ingot.prange(len(x)):
            result[i] = mixed(x[i], 2.0)
        for i in range(len(x)):
            try:
                result[i] += divided(1.0, x[i])
            except ZeroDivisionError:
                result[i] = -1
        return result

    check(loops, np.arange(-5.0, 5.0))

    @ingot.guvectorize("(float64[:], float64[:])", "(n)->(n)")
    def rows(x, out):
        out[:] = mixed(x, 2.0)

    x = np.linspace(-2, 3, 12).reshape(3, 4)
    same(rows(x), mixed(x, 2.0))


def test_compiled_functions_see_that_a_ufunc_has_changed():
    global scale

    scaled = ingot.vectorize(lambda x: x * scale)
    f = jitted(lambda x: scaled(x))
    scale = 2
    same(f(np.arange(3)), np.arange(3) * 2)
    scale = 2.5
    same(f(np.arange(3)), np.arange(3) * 2.5)


def test_reductions_in_compiled_functions_are_refused():
    with pytest.raises(ingot.UnsupportedError, match="the method `reduce` of a ufunc"):
        jitted(lambda x: plus.reduce(x))(np.arange(3))


@pytest.mark.rotated(3)
def test_branches_in_compiled_functions():
    def clipped(x, low, high):
        if x < low:
            return low
        elif x > high:
            return high
        return x

    def nested(a, b):
        if a > 0:
            if b > 0:
                return a + b
            c = a - b
        else:
            c = a * b
            if c > 1:
                return 2 * c
        return c if b > a else -c

    def looping(a, b):
        total = a
        for _ in range(3):
            total = total * b
        return total

    x = np.linspace(-3, 3, 20)
    y = np.linspace(2, -3, 20)

    def called(f):
        check(lambda x, y: f(x, y), x, y)
        check(lambda x, y: f(x * 2, y[:, None]) + 1, x, y)
        check(lambda x, y: f(x, 0.5) - f(2, y), x.astype("f4"), y)

    called(ingot.vectorize(nested))
    called(ingot.vectorize(looping))
    clip = ingot.vectorize(clipped)
    check(lambda x: clip(x, -1.0, 1.0), x)
    check(lambda x, y: clip(x, y, y + 1), x, y)
    check(lambda x: clip(x, -1, 1), np.arange(-5, 5))
    constant = ingot.vectorize(lambda a, b: 1.0)
    check(lambda x: constant(x, 2), x)
    first = ingot.vectorize(lambda a, b: a)
    check(lambda x, y: first(x, y[:, None]), x, y)
    check(lambda x, y: first(2.5, y), x, y)


def test_elementwise_ufuncs_fuse():
    def loops_of(function):
        x = np.linspace(-3, 3, 20)
        f = jitted(function)
        f(x, x)
        passes = f.specialisations[0].compile(texts=True)["passes"]
        text = next(text for name, text in passes if name == "fuse_nests")
        return text.count("  for "), text.count("= alloc")

    f = ingot.vectorize(lambda a, b: a * b + 1 if a > b else a - b)
    own = loops_of(lambda x, y: f(x * 2, y) + 1)
    assert own == loops_of(lambda x, y: np.where(x * 2 > y, x * 2 * y + 1, x * 2 - y) + 1)
