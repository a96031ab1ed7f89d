"""Arguments that are nearly arrays: memory maps, ranges, Python's own arrays of numbers, and objects of other packages."""

import array
import dataclasses
import sys
import types

import ingot
import numpy as np
import pytest
from support import MODES, check, jitted, outcome, refused

PACKAGES = {"pandas": "use .to_numpy()", "polars": "use .to_numpy()", "xarray": "use .values", "torch": "use .numpy()",
            "awkward": "ak.to_numpy", "cupy": "use .get()", "jax": "np.asarray", "scipy": "use .toarray()", "dask": "use .compute()"}  # fmt: skip


@pytest.fixture
def mapped(tmp_path):
    def make(values, mode="r+"):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.bin"
        np.asarray(values).tofile(path)
        return np.memmap(path, np.asarray(values).dtype, mode, shape=np.asarray(values).shape)

    return make


def of_class(got, wanted):
    assert type(got) is type(wanted)
    np.testing.assert_array_equal(got, wanted, strict=True)


@pytest.mark.parametrize("mode", MODES)
def test_memory_maps_are_arrays(mapped, mode):
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total += x[i]
        return total, x + 1, x.sum(), x * np.ones(4), np.sqrt(x), x[x > 1]

    x = mapped(np.arange(4.0))
    for got, wanted in zip(jitted(f, mode)(x), f(x)):
        of_class(got, wanted)


@pytest.mark.parametrize("mode", MODES)
def test_views_of_memory_maps_are_memory_maps(mapped, mode):
    x = mapped(np.arange(12.0).reshape(3, 4))
    for view in (lambda x: x[1:], lambda x: x.T, lambda x: x.reshape(4, 3), lambda x: x[:, ::-2], lambda x: x[1]):
        got, wanted = jitted(view, mode)(x), view(x)
        of_class(got, wanted)
        assert got.filename == wanted.filename and np.shares_memory(got, x) and got.strides == wanted.strides
        assert type(got.base) is type(wanted.base)
    assert jitted(lambda x: x, mode)(x) is x
    got, same = jitted(lambda x: (x[1:], x), mode)(x)
    assert same is x and type(got) is np.memmap


@pytest.mark.parametrize("mode", MODES)
def test_memory_maps_are_written(mapped, mode):
    def f(x, y):
        x[1:] = y[:-1]
        x[0] += 1

    x = mapped(np.arange(4.0))
    jitted(f, mode)(x, x)
    assert np.fromfile(x.filename).tolist() == [1.0, 0.0, 1.0, 2.0]
    readonly = mapped(np.arange(4.0), "r")
    with pytest.raises(ValueError, match="read-only"):
        jitted(f, mode)(readonly, np.ones(4))
    private = mapped(np.arange(4.0), "c")
    jitted(f, mode)(private, np.ones(4))
    assert private[1] == 1 and np.fromfile(private.filename)[1] == 1.0


def test_memory_maps_in_containers_and_outside(mapped):
    @dataclasses.dataclass
    class Pair:
        a: np.ndarray
        n: int

    x = mapped(np.arange(4, dtype=np.float32))
    f = ingot.jit(lambda p, rows, d: p.a[p.n] + rows[0][1] + d["x"].sum() + x[2])
    for _ in range(3):
        of_class(f(Pair(x, 1), [x, x], {"x": x}), x[1] + x[1] + x.sum() + x[2])
    y = np.array(x)
    of_class(f(Pair(y, 1), [x, y], {"x": y}), x[1] + x[1] + x.sum() + x[2])
    assert len(f.specialisations) == 2


def test_memory_maps_of_signatures_and_ufuncs(mapped):
    x = mapped(np.arange(4.0))
    of_class(ingot.jit("float64(float64[:])")(lambda x: x[1] * 2)(x), np.float64(2.0))
    of_class(ingot.vectorize(lambda x: x + 1)(x), np.arange(4.0) + 1)


@pytest.mark.parametrize("mode", MODES)
def test_what_distinguishes_memory_maps_from_arrays_is_refused(mapped, mode):
    x = mapped(np.arange(4.0))
    assert jitted(lambda x: isinstance(x, np.ndarray) and not isinstance(x, (list, float)), mode)(x) is True
    for use in (lambda x: x.flush(), lambda x: x.filename, lambda x: type(x) is np.ndarray, lambda x: isinstance(x, np.memmap)):
        with pytest.raises(ingot.UnsupportedError, match="in a function that is given a memory map") as error:
            jitted(use, mode)(x)
        assert "pass np.asarray(...) of the memory map" in str(error.value)
    with pytest.raises(AttributeError):
        jitted(lambda x: x.filename, mode)(np.arange(4.0))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_other_classes_of_arrays_are_refused(mapped):
    class Own(np.ndarray):
        pass

    class Mapped(np.memmap):
        pass

    x = np.arange(4.0)
    for other in (np.matrix(x), np.ma.array(x), x.view(Own), mapped(x).view(Mapped)):
        with pytest.raises(ingot.UnsupportedError, match="use np.array"):
            ingot.jit(lambda x: x + 1)(other)


@pytest.mark.parametrize("mode", MODES)
def test_ranges_are_arguments(mode):
    def f(r, n):
        total = 0
        for i in r:
            total += i * n
        return total, len(r)

    compiled = jitted(f, mode)
    for r in (range(5), range(2, 9), range(0), range(5, 1), range(0, 10, 3), range(9, 2, -2), range(-4, 4)):
        assert compiled(r, 2) == f(r, 2)
    if mode == "compiled":
        assert len(compiled.specialisations) == 2  # a step of 1, and others
    assert jitted(lambda r: (r[1], r[-1], [i for i in reversed(r)]), mode)(range(1, 9, 2)) == (3, 7, [7, 5, 3, 1])
    with pytest.raises(IndexError):
        jitted(lambda r: r[4], mode)(range(4))
    nested = jitted(lambda pair: [i * j for i in pair[0] for j in pair[1]][-1], mode)
    assert nested((range(1, 4), range(2, 5))) == 12
    with pytest.raises(OverflowError):
        jitted(lambda r: r[0], mode)(range(2**80, 2**80 + 5))


def test_ranges_are_sequences():
    def parts(n, r, i):
        own = range(n)
        slices = [list(x) for x in (own[1:4], own[::-2], own[-3:], r[i:], r[:-1], r[5:2:-1])]
        return slices, r[2:7:2].stop, r.start, r.stop, r.step, own.step, len(own[1:4]), own[-1], r[i]

    def tests(n, r, i):
        found = i in r, i in range(0, n, 2), float(i) in r, 2.5 in range(n), "a" in range(n), np.float32(3) in range(n), np.int64(i) not in range(n)
        return found, range(n) == range(0, n), range(0) == range(n, n), r != range(n), r.count(i), bool(range(n)), 1 if range(0, n, -1) else 0

    for n, i in ((9, 3), (6, 0), (7, 1)):
        check(parts, n, range(3, 40, 4), i)
        check(tests, n, range(1, 20, 2), i)
    check(lambda n, i: (range(1, n, 3).index(i), range(n).index(2)), 12, 7)
    for f in (lambda n: range(n).index(77), lambda n: range(n)[n], lambda n: range(n)["a"], lambda n: range(n)[1.5], lambda n: range(n)[::0]):
        check(f, 5)


STEPS = range(1, 7, 2)


def test_ranges_outside_are_read():
    global STEPS
    f = ingot.jit(lambda: sum(STEPS))
    assert f() == 9
    STEPS = range(10, 70, 20)
    assert f() == 90


BUFFERS = {
    "bytearray": lambda: bytearray(b"\1\2\3\4"),
    "memoryview": lambda: memoryview(bytearray(b"\1\2\3\4")),
    "memoryview of floats": lambda: memoryview(np.array([1.5, 2.5, 3.5, 4.5])),
    "strided memoryview": lambda: memoryview(np.arange(8, dtype=np.int32))[::2],
    "bools": lambda: memoryview(np.array([True, False, True, True])),
    **{f"array {code}": lambda code=code: array.array(code, [1, 2, 3, 4]) for code in "bBhHiIlqfd"},
}


def mutated(b):
    b[0] = 7
    b[-1] = b[1]
    return b


USES = [
    lambda b: len(b),
    lambda b: (b[0], b[-1], b[1]),
    lambda b: sum([x for x in b]),
    lambda b: [x for x in b],
    lambda b: b[4],
    lambda b: b[-5],
    lambda b: (2 in b, 9 in b),
    lambda b: b["x"],
    lambda b: b[1.0],
    lambda b: np.asarray(b) + 1,
    lambda b: np.array(b).sum(),
    lambda b: isinstance(b, bytearray),
    lambda b: [(i, x) for i, x in enumerate(b)],
    mutated,
]


def contents(b):
    return list(b) if isinstance(b, (bytearray, memoryview, array.array)) else b


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", BUFFERS)
def test_buffers_are_as_python_has_them(name):
    for mode in MODES:
        for use in USES:
            given, own = BUFFERS[name](), BUFFERS[name]()
            result, error = called(use, given)
            got, raised = called(jitted(use, mode), own)
            assert (type(raised), str(raised)) == (type(error), str(error)), (use, raised)
            if isinstance(result, np.generic):  # `long long` is int64
                assert got.dtype == result.dtype
            else:
                assert type(contents(got)) is type(contents(result)), use
            np.testing.assert_equal(contents(got), contents(result))
            if isinstance(result, (list, tuple)):
                assert [type(x) for x in got] == [type(x) for x in result]
            assert contents(own) == contents(given)
            if use is mutated:
                assert got is own


def called(use, value):
    try:
        return use(value), None
    except Exception as error:
        return None, error


VALUES = [0, 1, -1, 127, 128, 255, 256, -129, 40000, -40000, 2**31, 2**33, 1.5, True, np.int8(3), np.float32(2.5), 1j]


@pytest.mark.parametrize("name", BUFFERS)
def test_elements_are_checked_as_python_does(name):
    def put(b, v):
        b[1] = v

    compiled = jitted(put)
    for value in VALUES:
        given, own = BUFFERS[name](), BUFFERS[name]()
        _, error = called(lambda b: put(b, value), given)
        _, raised = called(lambda b: compiled(b, value), own)
        assert (type(raised), str(raised)) == (type(error), str(error)), value
        assert contents(own) == contents(given), value


def test_other_uses_of_buffers_are_refused():
    b = bytearray(b"abc")
    for use in (
        lambda b: b + b, lambda b: b * 2, lambda b: b == b, lambda b: b.append(1), lambda b: b.decode(), lambda b: np.sin(b),
    ):  # fmt: skip
        with pytest.raises(ingot.UnsupportedError) as error:
            ingot.jit(use)(b)
        assert "np.asarray(...) of it" in str(error.value)
    refused(lambda b: b[1:], b, words="a bytearray that is made in the function and leaves it")
    refused(lambda b: np.frombuffer(b, "u1"), b"abc", words="neither an array nor a buffer")
    with pytest.raises(ingot.UnsupportedError, match="`__format__` of a bytearray"):
        ingot.jit(lambda b: f"{b}")(b)
    for other in (memoryview(b"abcd").cast("B", (2, 2)), memoryview(b"abc").cast("c"), array.array("u", "abc"), array.array("Q", [1])):
        with pytest.raises(ingot.UnsupportedError, match="np.asarray"):
            ingot.jit(lambda b: b[0])(other)
    readonly = memoryview(b"abc")
    for function in (ingot.jit(mutated), mutated):
        with pytest.raises(TypeError, match="cannot modify read-only memory"):
            function(readonly)


TABLE = array.array("d", [1.0, 2.0])


def test_buffers_outside_and_in_containers():
    f = ingot.jit(lambda i: TABLE[i])
    assert f(1) == 2.0
    TABLE[1] = 5.0
    assert f(1) == 5.0
    b = bytearray(b"ab")
    assert ingot.jit(lambda pair: pair[0][1] + pair[1]["b"][0])((b, {"b": b})) == 98 + 97
    b.append(3)  # nothing holds its memory any more
    assert len(b) == 3


def test_byte_swapped_arrays_report_what_to_pass():
    for function, arguments in ((lambda x: x + 1, (np.arange(3, dtype=">f8"),)), (lambda x: x[0], (np.arange(3, dtype=">i4"),))):
        with pytest.raises(ingot.UnsupportedError, match=r'pass x.astype\(x.dtype.newbyteorder\("="\)\)'):
            ingot.jit(function)(*arguments)


def of_package(package, name="Thing"):
    """A class as one of a package's, written in Python."""

    def looked_up(self, key):
        return self.parts[key]

    members = dict.fromkeys(("to_numpy", "toarray", "get", "__array__", "compute", "numpy", "values"))
    members |= {"__module__": f"{package}.core.things", "__init__": lambda self: setattr(self, "parts", [1.0]), "__getitem__": looked_up}
    return type(name, (), members)


@pytest.mark.parametrize("package", PACKAGES)
def test_objects_of_packages_that_are_not_python(package):
    global THING
    THING = of_package(package)()
    for use in (lambda x: x[0], lambda x: x.parts, lambda x: x + 1, lambda x: x.mean(), lambda x: [y for y in x]):
        with pytest.raises(ingot.UnsupportedError) as error:
            ingot.jit(use)(THING)
        text = str(error.value)
        assert "Thing" in text and PACKAGES[package] in text and text.count("  /") + text.count('File "') <= 1 and __file__ in text
    with pytest.raises(ingot.UnsupportedError, match="an? .*Thing from outside the function,") as error:
        ingot.jit(lambda: THING[0])()
    assert PACKAGES[package] in str(error.value)

    other = type("Other", (), {"__module__": f"{package}.others"})()
    with pytest.raises(ingot.UnsupportedError, match="Other") as error:
        ingot.jit(lambda x: x.y)(other)
    assert package == "awkward" or "use it outside of the function" in str(error.value)

    class Own(of_package(package)):
        pass

    with pytest.raises(ingot.UnsupportedError) as error:
        ingot.jit(lambda x: x[0])(Own())
    assert PACKAGES[package] in str(error.value)


def test_functions_and_classes_of_packages_are_not_looked_into(monkeypatch):
    module = types.ModuleType("pandas")
    exec("def half(x):\n    return nothing / x\n", vars(module))
    module.half.__module__ = "pandas.core.halves"
    module.Thing = of_package("pandas")
    monkeypatch.setitem(sys.modules, "pandas", module)
    for use, name in ((lambda x: module.half(x), "pandas.core.halves.half"), (lambda x: module.Thing(), "pandas.core.things.Thing")):
        with pytest.raises(ingot.UnsupportedError, match=f"a call of `{name}` is not supported") as error:
            ingot.jit(use)(1.0)
        assert "in a function of `ingot.host`" in str(error.value)


def test_objects_of_pandas_report_what_to_pass():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2.0])
    for value in (series, series.to_frame(), series.index):
        with pytest.raises(ingot.UnsupportedError, match="use .to_numpy()"):
            ingot.jit(lambda x: x.sum())(value)
    with pytest.raises(ingot.UnsupportedError, match="a call of `pandas"):
        ingot.jit(lambda x: pandas.Series(x))(np.ones(2))


@pytest.mark.parametrize("mode", MODES)
def test_copies_of_memory_maps_are_plain_arrays(mapped, mode):
    x = mapped(np.arange(4.0))
    for copied in (lambda x: x.copy(), lambda x: x.astype(np.float32), lambda x: np.sort(x), lambda x: np.zeros_like(x)):
        got, wanted = jitted(copied, mode)(x), copied(x)
        assert type(got) is np.ndarray and type(wanted) is np.memmap and not hasattr(wanted, "_mmap") or wanted._mmap is None
        np.testing.assert_array_equal(got, np.asarray(wanted), strict=True)
    assert jitted(lambda x: np.asarray(x), mode)(x) is x  # NumPy makes a plain array on its memory


def test_derivatives_and_batches_of_memory_maps(mapped):
    x = mapped(np.arange(4.0))
    of_class(ingot.grad(lambda x: (x**2).sum())(x), 2 * np.arange(4.0))
    value, slopes = ingot.value_and_grad(lambda x: x[0] * x[1])(x)
    assert value == 0.0 and slopes.tolist() == [1.0, 0.0, 0.0, 0.0]
    of_class(ingot.vmap(lambda x: x * 2)(x), np.arange(4.0) * 2)
    assert ingot.jacfwd(lambda x: x[:2] * 2)(x).shape == (2, 4)


def test_slices_of_buffers():
    def parts(b, i):
        own = b[1:5]
        own[0] = 7
        return b[1], own[0], len(own), sum(b[::2]), list(b[i:])[0], 7 in b[2:], max(b[-3:][1:])

    values = [1, 2, 3, 4, 5, 6]
    for make in (bytearray, lambda v: array.array("d", v), lambda v: array.array("h", v), lambda v: memoryview(bytearray(v)), lambda v: memoryview(array.array("d", v))):
        plain, given = make(values), make(values)
        assert jitted(parts)(given, 2) == parts(plain, 2) and list(given) == list(plain)
    check(lambda b: b[1:]["a"], bytearray(b"abc"))
    refused(lambda b: b.__setitem__(slice(1, 2), b), bytearray(b"abc"))
    half = memoryview(np.arange(4, dtype=np.float16))
    for use in (lambda b: b[1], lambda b: b[9], lambda b: [x for x in b], lambda b: b[1:][0], lambda b: len(b)):
        plain, given = outcome(use, [half]), outcome(jitted(use), [half])
        assert plain[0] == given[0] and repr(plain[1]) == repr(given[1])


def test_arrays_of_buffers():
    for keywords in ({}, {"count": 3}, {"count": 3, "offset": 6}, {"offset": 9}, {"offset": -1}, {"dtype": np.int32, "offset": 1}, {"dtype": np.int16, "count": 1, "offset": 3}):
        given = {"dtype": np.uint8} | keywords
        plain, got = (outcome(f, [bytearray(b"abcdefgh")]) for f in (lambda b: np.frombuffer(b, **given), jitted(lambda b: np.frombuffer(b, **given))))
        assert repr(plain) == repr(got)
    check(lambda x: np.frombuffer(x, np.int32), np.arange(4.0))
    check(lambda x: np.frombuffer(x[::2], np.int32), np.arange(4.0))

    def written(b):
        x = np.frombuffer(b, np.uint16)
        x[0] = 7
        return b[0], x.sum(), np.sum(b), np.max(b), np.frombuffer(b[1:], np.uint8)[0]

    b, c = bytearray(8), bytearray(8)
    assert jitted(written)(b) == written(c) and b == c
    gaps = memoryview(bytearray(8))[::2]
    for f in (lambda b: np.frombuffer(b, np.uint8), jitted(lambda b: np.frombuffer(b, np.uint8))):
        with pytest.raises(BufferError, match="memoryview: underlying buffer is not C-contiguous"):
            f(gaps)
