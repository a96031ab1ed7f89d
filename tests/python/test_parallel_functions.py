"""`ingot.parallel`: called, compiled in functions and run by Python, against plain loops of the same order; docs/guides/parallel.md."""

import functools
import importlib
import itertools
import operator
import os
import subprocess
import sys
import traceback

import ingot
import numpy as np
import pytest
from ingot import parallel

RUN, BLOCK = 128, 2048
SIZES = (1, 2, RUN - 1, RUN, RUN + 1, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + RUN, 3 * BLOCK + 7)

pytestmark = pytest.mark.rotated(2)


def by_python(name):
    """The function as Python runs it, which is what INGOT_DISABLE=1 gives."""
    return getattr(importlib.import_module(f"ingot.library.{parallel._MODULE_OF[name]}"), name)


def same(a, b):
    if isinstance(b, tuple):
        assert isinstance(a, tuple) and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


def all_ways(name, *args, **kwargs):
    """What a function gives: the same for one thread and two, called and run by Python."""
    result = by_threads(name, *args, **kwargs)
    same(by_python(name)(*args, **kwargs), result)
    return result


def by_threads(name, *args, **kwargs):
    """What a function gives: the same for one thread and two."""
    before = ingot.get_num_threads()
    try:
        ingot.set_num_threads(1)
        result = getattr(parallel, name)(*args, **kwargs)
        ingot.set_num_threads(2)
        same(getattr(parallel, name)(*args, **kwargs), result)
    finally:
        ingot.set_num_threads(before)
    return result


def elements(xs):
    return list(zip(*xs, strict=True)) if isinstance(xs, tuple) else list(xs)


def folded(f, xs):
    value = xs[0]
    for x in xs[1:]:
        value = f(value, x)
    return value


def running(f, xs, init=None):
    """The inclusive and the exclusive scan, and the reduction, in the order that the manual has: by runs of 128."""
    xs = elements(xs)
    before, found, befores = init, [], []
    for start in range(0, len(xs), RUN):
        run = xs[start : start + RUN]
        value = before
        for x in run:
            befores.append(value)
            value = x if value is None else f(value, x)
            found.append(value)
        total = folded(f, run)
        before = total if before is None else f(before, total)
    return found, before, befores


def lanes_total(f, x):
    """An addition or multiplication of floats as the manual has it: 32 lanes in a block of 1024, then blocks in pairs."""
    if len(x) <= RUN:
        return folded(f, x)
    blocks = []
    for start in range(0, len(x), 1024):
        lanes = [x.dtype.type(0 if f(x.dtype.type(0), x.dtype.type(1)) == 1 else 1)] * 32
        for i, value in enumerate(x[start : start + 1024]):
            lanes[i % 32] = f(lanes[i % 32], value)
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [f(lanes[j], lanes[j + half]) for j in range(half)]
        blocks.append(lanes[0])

    def together(parts):
        if len(parts) == 1:
            return parts[0]
        first = max(2**k for k in range(40) if 2**k < len(parts))
        return f(together(parts[:first]), together(parts[first:]))

    return together(blocks)


def total(f, xs, init=None):
    """The reduction in the order that the manual has."""
    if not isinstance(xs, tuple) and xs.dtype in (np.float32, np.float64) and f is add:
        return lanes_total(f, xs) if init is None else f(init, lanes_total(f, xs))
    return running(f, xs, init)[1]


def columns(values, like):
    if isinstance(like, tuple):
        return tuple(np.array(column) for column in zip(*values, strict=True))
    return np.array(values)


def numbers(n, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "c":
        return (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(dtype)
    return rng.standard_normal(n).astype(dtype) if np.dtype(dtype).kind == "f" else rng.integers(0, 100, n).astype(dtype)


def add(a, b):
    return a + b


def affine(a, b):
    """First a, then b: associative, not commutative."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def product(a, b):
    return a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]


@pytest.mark.parametrize("n", SIZES)
def test_orders_of_reduce_and_scan(n):
    for f, xs in ((add, numbers(n)), (affine, (numbers(n, seed=1), numbers(n, seed=2)))):
        found, _, _ = running(f, xs)
        same(all_ways("reduce", f, xs), total(f, xs))
        same(all_ways("scan", f, xs), columns(found, xs))


@pytest.mark.parametrize("init", (None, 0.5))
def test_scan_goes_on_from_part_to_part(init):
    x = numbers(2 * 256 * RUN + 5 * BLOCK + 77)
    found, _, befores = running(add, x, init)
    same((by_threads if init is None else all_ways)("scan", add, x, init), np.array(found))
    if init is not None:
        same(by_threads("scan", add, x, init, exclusive=True), np.array(befores))
    out = x.copy()
    assert parallel.scan(add, out, init, out=out) is out
    same(out, np.array(found))


def test_orders_of_arrays_beyond_the_caches():
    x = numbers(33 * 2**17 + 5 * BLOCK)
    runs = x.reshape(-1, RUN)
    scanned = np.add.accumulate(runs, axis=1)
    before = np.add.accumulate(scanned[:, -1])
    same(parallel.reduce(lambda a, b: -(-a - b), x), before[-1])
    found = runs.copy()
    found[1:, 0] = before[:-1] + runs[1:, 0]
    same(parallel.scan(add, x), np.add.accumulate(found, axis=1).ravel())
    same(parallel.reduce(max, x), x.max())


@pytest.mark.parametrize("n", (1, RUN, BLOCK + 1, 3 * BLOCK + 7))
def test_what_comes_before(n):
    for f, xs, init in ((add, numbers(n), 0.5), (affine, (numbers(n, seed=1), numbers(n, seed=2)), (2.0, 0.5))):
        found, _, befores = running(f, xs, init)
        last = total(f, xs, init)
        same(all_ways("reduce", f, xs, init), columns([last], xs)[0] if not isinstance(xs, tuple) else last)
        same(all_ways("scan", f, xs, init), columns(found, xs))
        same(all_ways("scan", f, xs, init, True), columns(befores, xs))


@pytest.mark.parametrize("dtype", (np.bool_, np.int8, np.int32, np.int64, np.uint8, np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128))
def test_dtypes(dtype):
    x = numbers(BLOCK + 300, dtype)
    with np.errstate(all="ignore"):
        found, _, _ = running(add, x)
        same(all_ways("reduce", add, x), total(add, x))
        same(all_ways("scan", add, x), np.array(found, dtype))
        same(all_ways("map", lambda a: a + a, x), x + x)


@pytest.mark.rotated(4)
def test_products_of_matrices():
    n = 3 * BLOCK + 7
    xs = tuple(numbers(n, np.int64, seed) for seed in range(4))
    with np.errstate(all="ignore"):
        expected = np.eye(2, dtype=np.int64)
        for a, b, c, d in zip(*xs, strict=True):
            expected = expected @ np.array([[a, b], [c, d]])
        same(all_ways("reduce", product, xs), tuple(expected.ravel()))
        scanned = all_ways("scan", product, xs)
    same(tuple(column[-1] for column in scanned), tuple(expected.ravel()))


def test_functions_of_python_and_numpy():
    x = numbers(5000)
    for f, expected in ((max, x.max()), (np.minimum, x.min()), (operator.add, total(add, x))):
        same(all_ways("reduce", f, x), expected)
    x[[70, 4000]] = np.nan
    assert np.isnan(all_ways("reduce", np.maximum, x))


def test_the_dtype_is_that_of_results():
    x = numbers(1000, np.int64)
    same(parallel.reduce(lambda a, b: a + 0.5 * b, x).dtype, np.dtype(np.float64))
    same(parallel.scan(add, x, 0.5).dtype, np.dtype(np.float64))
    assert parallel.scan(add, x, 0.5)[0] == x[0] + 0.5


def test_empty_input():
    for x in (np.zeros(0), (np.zeros(0), np.zeros(0, np.int64))):
        with pytest.raises(ValueError, match="reduce of an empty sequence without `init`"):
            parallel.reduce(lambda a, b: a, x)
    assert parallel.reduce(add, np.zeros(0), 3) == by_python("reduce")(add, np.zeros(0), 3) == 3
    same(all_ways("scan", add, np.zeros(0, np.float32)), np.zeros(0, np.float32))
    same(parallel.map(lambda a: (int(a), a > 0), np.zeros(0)), (np.zeros(0, np.int64), np.zeros(0, np.bool_)))
    for name in ("sort", "unique", "argsort"):
        assert len(all_ways(name, np.zeros(0))) == 0
    same(all_ways("compact", np.zeros(0), np.zeros(0, np.bool_)), np.zeros(0))
    same(all_ways("scan", add, range(0)), np.zeros(0, np.int64))
    same(all_ways("scan", lambda a, b: (a[0] + b[0], a[1]), parallel.zipped(range(0), np.zeros(0, np.int16))), (np.zeros(0, np.int64), np.zeros(0, np.int16)))
    same(by_python("map")(lambda i: (i, i / 2), range(0)), (np.zeros(0, np.int64), np.zeros(0)))
    for name in ("sort", "unique"):
        same(by_python(name)(range(0)), np.zeros(0, np.int64))
    same(by_python("compact")(range(0), np.zeros(0, np.bool_)), np.zeros(0, np.int64))
    same(by_python("sort_by_key")(range(0), range(0)), (np.zeros(0, np.int64), np.zeros(0, np.int64)))
    keys, sums = parallel.group_by_reduce(add, np.zeros(0, np.int64), np.zeros(0))
    assert len(keys) == len(sums) == 0
    values, places = parallel.top_k(np.zeros(0), 0)
    assert len(values) == len(places) == 0


def test_map():
    x, y = numbers(1000), numbers(1000, seed=1)
    same(all_ways("map", lambda a, b: (a * b, a > b), x, y), (x * y, x > y))
    same(all_ways("map", lambda row: row.sum(), np.ones((5, 3))), np.full(5, 3.0))
    same(all_ways("map", lambda row: row * 2, np.ones((5, 3))), np.full((5, 3), 2.0))
    same(all_ways("map", lambda a: a * 2, [1, 2, 3]), np.array([2, 4, 6]))
    same(all_ways("map", lambda p, c: p[0] + p[1] * c, (x, y), x), x + y * x)


@pytest.mark.rotated(4)
def test_iterators_for_input():
    x, index = numbers(3000), np.random.default_rng(3).integers(0, 3000, 2500)
    for xs, plain in (
        (parallel.transformed(lambda a: a * a, x), x * x),
        (parallel.transformed(lambda a, i: a * i, x, parallel.counting(1, 2)), x * (1 + 2 * np.arange(3000))),
        (parallel.permuted(x, index), x[index]),
        (parallel.reversed(x), x[::-1]),
        (parallel.permuted(parallel.counting(), index), index),
        (parallel.transformed(lambda a, b: a + b, parallel.reversed(x), parallel.constant(2.0)), x[::-1] + 2.0),
    ):
        assert len(xs) == len(plain)
        same(all_ways("reduce", add, xs), total(add, plain))
        same(all_ways("scan", add, xs), np.array(running(add, plain)[0]))
        same(all_ways("map", lambda a: a, xs), plain)


@pytest.mark.rotated(4)
def test_zip_with_and_zipped():
    x, y = numbers(3000), numbers(3000, seed=1)
    same(all_ways("zip_with", lambda a, b: (a * b, a > b), x, y), (x * y, x > y))
    same(all_ways("zip_with", lambda a, b, c: a + b * c, x, y, parallel.counting()), x + y * np.arange(3000))
    for f in (parallel.zip_with, by_python("zip_with")):
        with pytest.raises(TypeError):
            f(abs, x)
    pairs = parallel.zipped(x, y)
    assert len(pairs) == 3000 and pairs[-1] == (x[-1], y[-1])
    same(all_ways("reduce", affine, pairs), running(affine, (x, y))[1])
    same(all_ways("scan", affine, pairs), columns(running(affine, (x, y))[0], (x, y)))
    same(all_ways("map", lambda p, c: p[0][0] * p[1] + c, parallel.zipped(pairs, y), x), x * y + x)
    same(all_ways("sort", parallel.zipped(np.array([2, 1, 2]), np.array([3.0, 1.0, 2.0]))), (np.array([1, 2, 2]), np.array([1.0, 2.0, 3.0])))
    same(all_ways("gather", pairs, np.array([2, -1])), (x[[2, -1]], y[[2, -1]]))
    for name, f in (("map", lambda p: (p[1], p[0])), ("scan", affine)):
        expected = getattr(parallel, name)(f, pairs)
        for call in (getattr(parallel, name), by_python(name)):
            out = parallel.zipped(np.zeros(3000), np.zeros(3000))
            assert call(f, pairs, out=out) is out
            same(out.xs, expected)
    for call in (lambda: parallel.reduce(affine, parallel.zipped(x, y[:5])), lambda: parallel.map(abs, x, out=parallel.zipped(x[:5], y))):
        with pytest.raises(ValueError):
            call()


def test_random_numbers_by_key():
    key = ingot.random.PRNGKey(3)
    expected = np.array([ingot.random.normal(ingot.random.fold_in(key, i)) for i in range(300)])
    draws = parallel.random(ingot.random.normal, key)
    same(all_ways("map", lambda a, b: b, np.zeros(300), draws), expected)
    index = np.array([7, 0, 7])
    same(parallel.map(lambda a: a, parallel.permuted(draws, index)), expected[index])
    between = parallel.random(lambda k: ingot.random.uniform(k, minval=2.0, maxval=3.0), key)
    found = ingot.jit(lambda x, between: parallel.reduce(max, parallel.transformed(lambda a, b: b, x, between)))(np.zeros(5000), between)
    assert 2.99 < found < 3.0
    with pytest.raises(ValueError, match="no sequence here has a length"):
        parallel.map(abs, draws)


def test_outputs_that_overlap():
    """As if what is read were copied before, as in NumPy."""
    x = numbers(5000)
    inside = ingot.jit(lambda f, a, out: parallel.map(f, a, out=out))
    for f in (parallel.map, by_python("map"), lambda g, a, out: inside(g, a, out)):
        for window, other in ((np.s_[:-1], np.s_[1:]), (np.s_[1:], np.s_[:-1])):
            w, expected = x.copy(), x.copy()
            np.add(expected[window], 1.0, out=expected[other])
            f(lambda a: a + 1.0, w[window], out=w[other])
            same(w, expected)
    for given in (lambda w: w[::-1], parallel.reversed, lambda w: parallel.permuted(w, np.arange(5000)[::-1])):
        for f in (parallel.map, by_python("map")):
            w = x.copy()
            f(lambda a: a + 1.0, given(w), out=w)
            same(w, x[::-1] + 1.0)
    expected = parallel.scan(add, x[:-1])
    for f in (parallel.scan, by_python("scan")):
        w = x.copy()
        f(add, w[:-1], out=w[1:])
        same(w[1:], expected)
        w = x.copy()
        f(add, w[:-1], out=parallel.reversed(w[1:]))
        same(w[1:], expected[::-1])


def test_functions_that_are_bound():
    x, one = numbers(300), Scaled(2.0)
    add_k = functools.partial(lambda k, a: a + k, 3.0)
    bound = one.method
    for f, expected in (
        (lambda x: parallel.map(Scaled(3.0).method, x), x * 3.0),
        (lambda x: parallel.map(one.method, x), x * 2.0),
        (lambda x: parallel.map(bound, x), x * 2.0),
        (lambda x: parallel.map(functools.partial(operator.mul, 4.0), x), x * 4.0),
        (lambda x: parallel.map(add_k, x), x + 3.0),
        (lambda x: parallel.reduce(max, parallel.transformed(one.method, x)), (x * 2.0).max()),
    ):
        same(f(x), expected)
        same(ingot.jit(f)(x), expected)
    same(ingot.jit(lambda x, f: parallel.map(f, x))(x, one.method), x * 2.0)
    same(ingot.jit(lambda x, f: parallel.map(f, x))(x, add_k), x + 3.0)


class Squares:
    """A sequence of a user's."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i * i


def test_sequences_of_users():
    assert parallel.reduce(add, Squares(5000)) == sum(i * i for i in range(5000))
    assert ingot.jit(lambda n: parallel.reduce(add, Squares(n)))(5000) == sum(i * i for i in range(5000))


def test_outputs():
    x = numbers(3000)
    for name in ("map", "scan"):
        f = (lambda a: a * 2) if name == "map" else add
        expected = getattr(parallel, name)(f, x)
        out = np.zeros(3000)
        assert getattr(parallel, name)(f, x, out=out) is out
        same(out, expected)
        getattr(parallel, name)(f, x, out=parallel.reversed(out))
        same(out[::-1], expected)
        order = np.random.default_rng(0).permutation(3000)
        getattr(parallel, name)(f, x, out=parallel.permuted(out, order))
        same(out[order], expected)
        getattr(parallel, name)(f, x, out=parallel.written(lambda a: -a, out))
        same(-out, expected)
        given = x.copy()
        same(getattr(parallel, name)(f, given, out=given), expected)
    total = np.zeros(3000)
    parallel.map(lambda a: (a, a + 1), x, out=(parallel.discarded(), total))
    same(total, x + 1)


def test_in_compiled_functions():
    @ingot.jit
    def f(x, y):
        products = parallel.map(lambda a, b: a * b, x, y)
        order = parallel.argsort(products)
        return parallel.reduce(add, products), parallel.scan(max, products), parallel.top_k(products, 3), parallel.gather(x, order)

    x, y = numbers(5000), numbers(5000, seed=1)
    order = np.argsort(x * y, kind="stable")
    same(f(x, y), (total(add, x * y), np.maximum.accumulate(x * y), ((x * y)[order[::-1][:3]], order[::-1][:3]), x[order]))


def test_fuse():
    h = ingot.fuse(lambda x, y: x + y, lambda s: s * s, np.sqrt)
    assert h(3.0, -5.0) == 2.0
    x = numbers(100)
    same(ingot.jit(lambda x: parallel.map(ingot.fuse(lambda a: a + 1, lambda a: a * 3), x))(x), (x + 1) * 3)


def test_nothing_is_stored_between():
    x = numbers(100_000)

    @ingot.jit
    def maps(x):
        return parallel.map(lambda a: a * 2 + 1, parallel.map(lambda a: a * a, x))

    @ingot.jit
    def sums(x):
        return parallel.reduce(add, parallel.transformed(lambda a, b: a * b, x, x))

    same(maps(x), x * x * 2 + 1)
    same(sums(x), total(add, x * x))
    text = str(maps.explain(x))
    assert text[text.index("=== loop IR") : text.index("=== LLVM IR")].count(" alloc ") == 1  # the result
    code = "import ingot, numpy as np\nfrom ingot import parallel\nx = np.ones(1_000_000)\n"
    for statement, most in (
        ("parallel.reduce(lambda a, b: a + b, parallel.transformed(lambda a, b: a * b, x, x))", x.nbytes // 4),
        ("parallel.scan(lambda a, b: a + b, x)", 8_900_000),
    ):
        out = subprocess.run([sys.executable, "-c", f"{code}{statement}\nprint(ingot.memory()['peak'])"], capture_output=True, text=True, check=True)
        assert int(out.stdout) < most


def test_functions_that_are_alike_are_compiled_once():
    x = numbers(10)

    def scaled(k):
        return parallel.map(lambda a: a * k, x), parallel.reduce(add, parallel.transformed(lambda a: a * k, x))

    for k in (2.0, 3.0):
        same(scaled(k), (x * k, total(add, x * k)))
    counts = [len(f.specialisations) for f in (parallel.map, parallel.reduce)]
    for k in (2.0, 3.0, 2.0):
        same(scaled(k), (x * k, total(add, x * k)))
    assert [len(f.specialisations) for f in (parallel.map, parallel.reduce)] == counts

    def by_variable():
        k = 1.0
        f = lambda a: a * k  # noqa: E731
        first = parallel.map(f, x)
        k = 5.0
        return first, parallel.map(f, x), parallel.map(lambda a: a * k, x)

    same(by_variable(), (x, x * 5.0, x * 5.0))
    same(by_variable(), (x, x * 5.0, x * 5.0))


def test_functions_that_are_alike_are_called_without_python(monkeypatch):
    x = numbers(10)
    y = numbers(10, seed=1)

    def all_of(k, f, shift):
        return (
            parallel.map(lambda a: a * k + f(a), x),
            parallel.zip_with(lambda a, b: (a, k), x, y),
            parallel.reduce(add, parallel.transformed(lambda a: a * k + shift[0], x)),
        )

    def double(a):
        return 2 * a

    shift = np.array([1.0])
    expected = {k: all_of(k, double, shift) for k in (2.0, -0.0, 0.0)}
    for k in (2.0, -0.0, 0.0):
        all_of(k, double, shift)
    for name in ("map", "zip_with", "reduce"):
        monkeypatch.setattr(type(getattr(parallel, name)), "_call", None)
    for k in (2.0, float("2")):
        same(all_of(k, double, shift), expected[2.0])
    monkeypatch.undo()
    for k in (-0.0, 0.0):
        same(all_of(k, double, shift), expected[k])
        assert (np.signbit(all_of(k, double, shift)[1][1]) == np.signbit(k)).all()
    shift[0] = 3.0
    same(all_of(2.0, double, shift)[2], parallel.reduce(add, x * 2.0 + 3.0))
    same(all_of(2.0, lambda a: 3 * a, shift)[0], x * 2.0 + 3 * x)
    other = lambda a: a + 1  # noqa: E731
    first = parallel.map(other, x)
    other.__code__ = (lambda a: a + 2).__code__
    same((first, parallel.map(other, x)), (x + 1, x + 2))


class Scaled:
    def __init__(self, k):
        self.k = k

    def method(self, a):
        return a * self.k


def test_values_of_functions_are_compared():
    x = numbers(10)
    sign = lambda k: lambda a: (a, k)  # noqa: E731
    for k in (np.nan, -np.nan, np.copysign(np.nan, -1.0), 0.0, -0.0):
        assert (np.signbit(parallel.map(sign(float(k)), x)[1]) == np.signbit(k)).all()
    for made in (
        lambda: lambda a, k=np.float64(2.0): a * k,
        lambda: (lambda t: lambda a: a * t[0][1])(((1.0, float("2")), "a")),
        lambda: lambda a, *, k=2.0: a * k,
        lambda: ingot.jit(lambda a: a * 2.0),
        lambda: ingot.fuse(lambda a: a + a, lambda a: a * 1.0),
        lambda: functools.partial(operator.mul, 2.0),
        lambda: functools.partial(lambda a, k: a * k, k=2.0),
    ):
        same(parallel.map(made(), x), x * 2.0)
        count = len(parallel.map.specialisations)
        same(parallel.map(made(), x), x * 2.0)
        assert len(parallel.map.specialisations) == count
    one = Scaled(2.0)
    same(parallel.map(one.method, x), x * 2.0)
    one.k = 3.0
    same(parallel.map(one.method, x), x * 3.0)
    same(parallel.map(Scaled(7.0).method, x), x * 7.0)


def test_without_compiling():
    code = """if True:
        import ingot, numpy as np
        from ingot import parallel
        x = np.arange(300.0)
        print(parallel.reduce(max, x), parallel.scan(lambda a, b: a + b, x)[-1], ingot.fuse(abs, lambda a: a + 1)(-2), parallel.top_k(x, 1)[1])
        print(type(parallel.reduce).__name__)
    """
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "INGOT_DISABLE": "1"})
    assert out.stdout.split("\n")[:2] == ["299.0 44850.0 3 [299]", "function"]


def test_compact_and_partition():
    x = numbers(3000)
    same(all_ways("compact", x, lambda a: a > 0), x[x > 0])
    same(all_ways("compact", x, x > 0.5), x[x > 0.5])
    same(all_ways("compact", (x, parallel.counting()), x > 0.5), (x[x > 0.5], np.flatnonzero(x > 0.5)))
    same(all_ways("partition", (x, -x), lambda p: p[0] > p[1]), ((x[x > 0], -x[x > 0]), (x[x <= 0], -x[x <= 0])))
    same(all_ways("compact", parallel.counting(), x > 2), np.flatnonzero(x > 2))


def test_gather_and_scatter():
    rng = np.random.default_rng(5)
    x, index = numbers(2000), rng.integers(-50, 50, 2000)
    same(all_ways("gather", x[:50], index), x[:50][index])
    same(all_ways("gather", np.arange(6).reshape(3, 2), np.array([2, 0])), np.array([[4, 5], [0, 1]]))
    for combine, ufunc in ((add, np.add), (min, np.minimum), (max, np.maximum)):
        expected = np.zeros(50)
        ufunc.at(expected, index, x)
        for scatter in (parallel.scatter, by_python("scatter")):
            same(scatter(x, index, np.zeros(50), combine), expected)
    out = np.zeros(50)
    assert parallel.scatter(x, index, out) is out
    expected = np.zeros(50)
    for i, v in zip(index, x, strict=True):
        expected[i] = v
    same(out, expected)


def test_sorts():
    x = numbers(3000)
    x[[5, 100, 2000]] = np.nan
    x[::7] = x[3]
    few = np.random.default_rng(0).integers(-20, 20, 3000)
    wide = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 500)
    for keys in (x, few, wide, few.astype(np.int8), few.astype(np.uint64), (x > 0)):
        order = np.argsort(keys, kind="stable")
        same(all_ways("argsort", keys), order)
        same(all_ways("sort", keys), keys[order])
        same(all_ways("sort_by_key", keys, parallel.counting(), np.arange(len(keys)) * 0.5), (keys[order], order, order * 0.5))
    order = np.lexsort((x, few))
    same(all_ways("argsort", (few, x)), order)
    same(all_ways("sort", (few, x)), (few[order], x[order]))


@pytest.mark.parametrize("dtype", (np.float64, np.float32, np.int64, np.uint64, np.int32, np.uint32))
@pytest.mark.parametrize("n", (1024, 1025, 20_000))
def test_orders_of_many_numbers(dtype, n):
    """Radix sorts: of numbers that vary in many bits or few, in clusters, with outliers, and with many that are equal."""
    rng = np.random.default_rng(n)
    if np.dtype(dtype).kind == "f":
        xs = [
            rng.standard_normal(n),
            rng.standard_normal(n).round(1),
            10.0 ** rng.uniform(-30, 30, n),
            np.repeat(rng.random(n // 50 + 1), 50)[:n],
            np.where(rng.random(n) < 0.001, 1e30, 1 + rng.random(n) * 1e-6),
            rng.choice([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0], n),
            np.arange(n)[::-1] / 3,
            np.sin(np.arange(n)),
        ]
    else:
        info = np.iinfo(dtype)
        xs = [
            rng.integers(info.min, info.max, n, dtype=dtype),
            rng.integers(0, 100_000, n),
            np.where(rng.random(n) < 0.5, info.max, rng.integers(0, 5000, n).astype(dtype)),
            np.arange(n) % 7,
        ]
    inside = ingot.jit(lambda x: (np.argsort(x, kind="stable"), parallel.sort(x)))
    for x in [x.astype(dtype) for x in xs]:
        for given in (x, x[::-1], x[: n // 2 * 2].reshape(-1, 2)[:, 0]):
            order = np.argsort(given, kind="stable")
            same(parallel.argsort(given), order)
            found, values = inside(given)
            same(found, order)
            same(np.signbit(values), np.signbit(given[order]))
            same(values, given[order])


def test_searches():
    rng = np.random.default_rng(2)
    for x in (np.sort(rng.integers(0, 50, 333)), np.sort(rng.random(100)), np.array([1.0]), np.array([1.0, np.nan, np.nan]), np.zeros(0), np.array([2, 3], np.uint8)):
        for count in (0, 5, 16, 50):
            wanted = rng.choice(np.append(x, [x.dtype.type(7)]), count)
            for values in (wanted, np.append(wanted, np.nan), wanted[::-1], wanted.astype(np.float32)):
                for side in ("left", "right"):
                    same(all_ways("searchsorted", x, values, side), np.searchsorted(x, values, side))
    for f in (parallel.searchsorted, by_python("searchsorted")):
        with pytest.raises(ValueError):
            f(np.array([1.0]), np.array([1.0]), "middle")


@pytest.mark.parametrize("n", (0, 1, 2, 7, 1000))
def test_sorts_by_key_and_comparison(n):
    x, few = numbers(n), np.random.default_rng(n).integers(-5, 5, n)
    same(all_ways("sort", few, key=abs), few[np.argsort(abs(few), kind="stable")])
    same(all_ways("argsort", few, key=lambda a: (abs(a), -a)), np.lexsort((-few, abs(few))))
    same(all_ways("sort", few, less=lambda a, b: a > b), few[np.argsort(-few, kind="stable")])
    order = np.argsort(few % 3, kind="stable")
    same(all_ways("argsort", (few, x), less=lambda a, b: a[0] % 3 < b[0] % 3), order)
    same(all_ways("sort", (few, x), key=lambda a: a[0] % 3), (few[order], x[order]))
    same(all_ways("argsort", few, key=lambda a: a % 3, less=lambda a, b: a < b), order)


@pytest.mark.parametrize("n", (5, 3000, 20_000))
def test_selections(n):
    x = numbers(n)
    x[::3] = 0.25
    for k in (0, n // 2, n - 1, -1):
        same(all_ways("k_select", x, k), np.sort(x)[k])
    few = np.random.default_rng(0).integers(0, 5, n)
    for keys in (few, np.arange(n), np.arange(n)[::-1], np.where(np.arange(n) % 64 == 0, np.nan, x), np.full(n, np.nan)):
        same(parallel.k_select(keys, n // 3), np.sort(keys)[n // 3])
    with_nan = x.copy()
    with_nan[[1, 4]] = np.nan
    for keys in (x, few, with_nan, np.where(np.arange(n) % 64 == 0, np.nan, x)):
        order = sorted(range(n), key=lambda i: (not np.isnan(keys[i]), -keys[i] if not np.isnan(keys[i]) else 0, i))
        for k in (0, 1, 3, n // 2, n):
            same(all_ways("top_k", keys, k), (keys[order[:k]], np.array(order[:k], np.int64)))


@pytest.mark.rotated(4)
def test_keys():
    rng = np.random.default_rng(1)
    keys, other, values = rng.integers(0, 20, 4000), rng.integers(0, 3, 4000) * 0.5, numbers(4000)
    groups = {}
    for k, v in zip(keys, values, strict=True):
        groups.setdefault(k, []).append(v)
    expected = np.array(sorted(groups)), np.array([folded(add, groups[k]) for k in sorted(groups)])
    same(all_ways("group_by_reduce", add, keys, values), expected)
    same(all_ways("group_by_reduce", lambda a, b: (a[0] + b[0], max(a[1], b[1])), keys, (parallel.constant(1), values))[1][0], np.bincount(keys))
    scaled = (keys * 2**40).astype(np.int64), keys.astype(np.uint64), keys.astype(np.int8) - np.int8(30), keys * 0.5
    for given in scaled:
        same(all_ways("group_by_reduce", add, given, values)[1], expected[1])
        same(all_ways("group_by_reduce", add, given, values)[0], np.unique(given))
        with_init = all_ways("group_by_reduce", affine, given, (values, other), (1.0, 0.5))
        for s, k in enumerate(sorted(groups)):
            pairs = [(1.0, 0.5), *zip(values[keys == k], other[keys == k], strict=True)]
            assert tuple(column[s] for column in with_init[1]) == folded(affine, pairs)
    assert len(all_ways("group_by_reduce", add, keys[:0], values[:0])[0]) == 0
    same(all_ways("group_by_reduce", add, keys[:1], values[:1]), (keys[:1], values[:1]))
    same(all_ways("unique", keys), np.unique(keys))
    places = np.unique(keys, return_index=True)[1]
    same(all_ways("unique_by_key", keys, values), (keys[places], values[places]))
    pairs = sorted(set(zip(keys, other, strict=True)))
    same(all_ways("unique", (keys, other)), columns(pairs, (0, 0)))
    same(all_ways("unique", np.array([np.nan, 1.0, np.nan])), np.array([1.0, np.nan]))


def test_segments():
    x = numbers(2000)
    offsets = np.array([0, 0, 5, 1000, 1000, 2000])
    pieces = [list(x[a:b]) for a, b in itertools.pairwise(offsets)]
    same(all_ways("segmented_reduce", add, x, offsets, 0.25), np.array([folded(add, [0.25, *piece]) for piece in pieces]))
    same(all_ways("segmented_reduce", max, x, offsets[[0, 2, 3, 5]]), np.array([x[:5].max(), x[5:1000].max(), x[1000:].max()]))
    same(all_ways("segmented_scan", add, x, offsets), np.concatenate([np.cumsum(piece) for piece in pieces]))
    exclusive = np.concatenate([np.cumsum([0.5, *piece])[:-1] for piece in pieces])
    same(all_ways("segmented_scan", add, x, offsets, 0.5, True), exclusive)
    heads = np.zeros(2000, np.bool_)
    heads[[5, 1000]] = True
    three = np.array([folded(add, list(x[a:b])) for a, b in ((0, 5), (5, 1000), (1000, 2000))])
    for first in (False, True):
        heads[0] = first
        same(all_ways("segmented_reduce", add, x, heads), three)
        same(all_ways("segmented_reduce", add, x, list(heads)), three)
        same(all_ways("segmented_scan", add, x, heads), np.concatenate([np.cumsum(x[:5]), np.cumsum(x[5:1000]), np.cumsum(x[1000:])]))
    same(all_ways("segmented_scan", max, x, parallel.transformed(lambda i: i % 2 == 0, np.arange(2000)))[1::2], np.maximum(x[::2], x[1::2]))
    assert len(all_ways("segmented_reduce", add, x[:0], heads[:0])) == 0
    for f in (parallel.segmented_scan, by_python("segmented_scan")):
        with pytest.raises(ValueError, match="3 flags of first elements for 2000 elements"):
            f(add, x, heads[:3])
    for wrong, error in (([0, 5, 3], ValueError), ([0, 2001], IndexError), ([-1, 4], IndexError)):
        with pytest.raises(error):
            parallel.segmented_reduce(add, x, np.array(wrong), 0.0)
    with pytest.raises(ValueError, match="segment 0 is empty"):
        parallel.segmented_reduce(add, x, offsets)


def test_merge_search_and_histogram():
    a, b = np.sort(numbers(500)), np.sort(numbers(300, seed=2))
    a[-1] = b[-1] = np.nan
    same(all_ways("merge", a, b), np.sort(np.concatenate([a, b])))
    for one, other in (("i8", "u8"), ("u8", "i1"), ("i8", "f8"), ("f4", "i8"), ("u8", "c16"), ("f2", "i2")):
        xs, ys = np.array([1, 5, 100]).astype(one), np.array([2, 3, 7]).astype(other)
        made = all_ways("merge", xs, ys)
        same(made, np.sort(np.concatenate([xs, ys]), kind="stable"))
    order = np.argsort(np.concatenate([a, b]), kind="stable")
    rows = np.arange(600.0).reshape(300, 2)
    keys, values = all_ways("merge_by_key", a, b, (parallel.counting(), np.ones((500, 2))), (parallel.counting(500), rows))
    same((keys, values[0]), (np.concatenate([a, b])[order], order))
    same(values[1], np.concatenate([np.ones((500, 2)), rows])[order])
    for f in (parallel.merge_by_key, by_python("merge_by_key")):
        with pytest.raises(ValueError):
            f(a, b, a[:5], b)
    same(all_ways("searchsorted", a, b), np.searchsorted(a, b))
    same(all_ways("searchsorted", np.array([1, 2, 2]), [2, 5], "right"), np.array([3, 3]))
    bins = np.random.default_rng(0).integers(0, 9, 1000)
    same(all_ways("histogram", bins, 10), np.bincount(bins, minlength=10))
    same(all_ways("histogram", bins, 9, numbers(1000)), np.bincount(bins, numbers(1000)))
    for wrong in ([-1], [9]):
        with pytest.raises(IndexError, match="out of bounds for 9"):
            parallel.histogram(wrong, 9)


def test_masks_and_indices():
    x, ints = numbers(3), np.array([1, 0, 1])
    for name in ("compact", "partition"):
        for mask in (ints, [1, 0, 1], np.ones((3, 1), np.bool_), parallel.transformed(lambda a: int(a > 0), x)):
            for f in (getattr(parallel, name), by_python(name), ingot.jit(lambda x, mask, f=getattr(parallel, name): f(x, mask))):
                with pytest.raises(TypeError, match="a mask is bools along one axis"):
                    f(x, mask)
    same(all_ways("compact", ints, lambda a: a & 1), np.array([1, 1]))
    same(all_ways("compact", x[:0], []), x[:0])
    bools = np.array([True, False, True])
    for index in (bools, parallel.transformed(lambda a: a > 0, x), [True, False, True]):
        for name, args in (("gather", (x, index)), ("scatter", (x, index, np.zeros(3))), ("histogram", (index, 2))):
            for f in (getattr(parallel, name), by_python(name)):
                with pytest.raises(TypeError, match="indices are ints, not bools"):
                    f(*args)
    with pytest.raises(TypeError, match="indices are ints, not bools"):
        parallel.permuted(x, bools)
    with pytest.raises(IndexError):
        parallel.gather(x, np.array([1.0]))


def test_reversed_is_bounded():
    x = numbers(3)
    same(all_ways("gather", parallel.reversed(x), np.array([0, 2, -1, -3])), x[[2, 0, 0, 2]])
    assert (parallel.reversed(x)[-1], parallel.reversed(x)[2]) == (x[0], x[0])
    for wrong in (3, 5, -4):
        for name in ("gather", "scatter"):
            args = (parallel.reversed(x), [wrong]) if name == "gather" else (x[:1], [wrong], parallel.reversed(np.zeros(3)))
            for f in (getattr(parallel, name), by_python(name)):
                with pytest.raises(IndexError, match="out of bounds for 3"):
                    f(*args)
        with pytest.raises(IndexError, match="out of bounds for 3"):
            parallel.gather(parallel.transformed(lambda a: a, parallel.reversed(x)), [wrong])


def test_rows():
    rows = np.ones((4, 2))
    for name, args in (
        *((name, (rows,)) for name in ("sort", "argsort", "unique")),
        *((name, (rows, 1)) for name in ("top_k", "k_select")),
        *((name, pair) for name in ("merge", "searchsorted") for pair in ((rows, rows[:, 0]), (rows[:, 0], rows))),
        ("histogram", (rows.astype(np.int64), 3)),
        ("histogram", (np.zeros(4, np.int64), 3, rows)),
    ):
        for f in (getattr(parallel, name), by_python(name)):
            with pytest.raises(ValueError, match="numbers or tuples of numbers, not rows"):
                f(*args)
    for f in (parallel.reduce, by_python("reduce"), parallel.scan, by_python("scan")):
        with pytest.raises(ingot.UnsupportedError, match="combining elements that are arrays"):
            f(affine, [(0.5, 1.0), (2.0, 0.0)])
    same(all_ways("gather", rows, np.zeros(0, np.int64)), rows[:0])
    same(by_python("map")(lambda row: row * 2, rows[:0]), rows[:0])
    with pytest.raises(ValueError, match="no elements, of a function that gives arrays"):
        parallel.map(lambda row: row * 2, rows[:0])
    for f in (parallel.map, by_python("map")):
        with pytest.raises(ValueError, match="an output of 3 elements for 4 results"):
            f(abs, rows[:, 0], out=parallel.written(abs, np.zeros(3)))


@pytest.mark.rotated(4)
def test_dtypes_of_all_that_is_combined():
    ints = np.array([1, 2, 3])
    same(all_ways("scan", lambda a, b: b, ints, 0.5, True), np.array([0.5, 1.0, 2.0]))
    same(all_ways("reduce", lambda a, b: a > b, np.array([3.7])), np.float64(3.7))
    same(all_ways("reduce", lambda a, b: a + 0.5 * b, ints[:1]), np.float64(1.0))
    same(all_ways("reduce", lambda a, b: a + 0.5 * b, ints), np.float64(3.5))
    same(all_ways("map", lambda a: max(a, 0), np.array([-1.0, 2.5])), np.array([0.0, 2.5]))
    same(all_ways("sort", parallel.transformed(lambda a: max(a, 0), np.array([-1.0, 2.5]))), np.array([0.0, 2.5]))
    same(all_ways("reduce", add, np.array([True, True]), 0), np.int64(2))
    same(all_ways("scan", add, np.array([True, True]), 0), np.array([1, 2]))
    same(all_ways("reduce", add, np.full(5, 100, np.int8), np.int64(0)), np.int64(500))
    same(all_ways("scan", add, np.array([3, 1], np.int32), 0, True), np.array([0, 3], np.int32))
    same(all_ways("segmented_scan", add, np.array([3, 1], np.float32), [0, 2], 0.0, True), np.array([0, 3], np.float32))
    same(all_ways("group_by_reduce", add, np.array([0, 0]), np.array([True, True]), 0), (np.array([0]), np.array([2])))
    for name, args in (
        ("map", (lambda a: (int(a), a > 0), np.zeros(0))),
        ("scan", (add, np.zeros(0, np.int64), 0.5)),
        ("scan", (add, parallel.transformed(lambda a: int(a), np.zeros(0)))),
        ("segmented_reduce", (add, np.zeros(0, np.int64), [0, 0], 0.5)),
        ("group_by_reduce", (add, np.zeros(0, np.int64), parallel.constant(1))),
        ("compact", (np.zeros(0), lambda a: a > 0)),
        ("sort_by_key", (np.zeros(0, np.int64), parallel.counting())),
    ):
        all_ways(name, *args)


def test_errors():
    x = numbers(10)
    for call in (lambda: parallel.map(add, x, x[:3]), lambda: parallel.compact(x, x[:3] > 0), lambda: parallel.map(abs, x, out=np.zeros(3))):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(ValueError, match="no sequence here has a length"):
        parallel.map(lambda i: i, parallel.counting())
    with pytest.raises(TypeError, match="the first argument is a function"):
        parallel.reduce(x, x)
    with pytest.raises(ValueError, match="an exclusive scan needs `init`"):
        parallel.scan(add, x, exclusive=True)
    for call in (lambda: parallel.gather(x, [10]), lambda: parallel.scatter(x[:1], [-11], x), lambda: parallel.k_select(x, 10)):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(ValueError, match="the 11 largest of 10"):
        parallel.top_k(x, 11)


def test_exceptions_of_functions():
    def checked(a, b):
        if b > 100:
            raise ValueError("too large")  # here
        return a + b

    x = numbers(5000)
    x[4000] = 1000.0
    for call in (lambda: parallel.reduce(checked, x), lambda: parallel.scan(checked, x), lambda: parallel.map(lambda a: checked(0.0, a), x)):
        with pytest.raises(ValueError, match="too large") as error:
            call()
        assert any("# here" in (frame.line or "") for frame in traceback.extract_tb(error.value.__traceback__))


def test_derivatives():
    x = numbers(300) + 3.0
    same(ingot.grad(lambda x: parallel.reduce(add, parallel.transformed(lambda a: a * a, x)))(x), 2 * x)
    np.testing.assert_allclose(ingot.grad(lambda x: parallel.reduce(operator.mul, x))(x[:6]), x[:6].prod() / x[:6], rtol=1e-12)
    weights = numbers(300, seed=4)
    np.testing.assert_allclose(ingot.grad(lambda x: (weights * parallel.scan(add, x)).sum())(x), weights[::-1].cumsum()[::-1], rtol=1e-10)
    index = np.array([2, 0, 2])
    same(ingot.grad(lambda x: parallel.gather(x, index).sum())(x[:4]), np.array([1.0, 0.0, 2.0, 0.0]))
    same(ingot.grad(lambda x: (parallel.sort(x) * np.arange(3.0)).sum())(np.array([3.0, 1.0, 2.0])), np.array([2.0, 0.0, 1.0]))
    same(ingot.grad(lambda x: parallel.group_by_reduce(add, index, x)[1][1])(x[:3]), np.array([1.0, 0.0, 1.0]))
    same(ingot.grad(lambda x: parallel.top_k(x, 2)[0].sum())(np.array([3.0, 1.0, 2.0])), np.array([1.0, 0.0, 1.0]))
    same(ingot.grad(lambda x: parallel.scatter(x, index, np.zeros(3), add)[2])(x[:3]), np.array([1.0, 0.0, 1.0]))
    same(ingot.grad(lambda x: parallel.map(lambda a: a * a, x).sum())(x), 2 * x)
    same(ingot.grad(lambda x: parallel.reduce(add, parallel.zip_with(lambda a, b: a * b, x, x)))(x), 2 * x)
    same(ingot.grad(lambda x: parallel.sort(x, key=lambda a: -a)[0])(x[:3]), (x[:3] == x[:3].max()).astype(np.float64))
    same(ingot.grad(lambda x: parallel.merge_by_key(index[:1], index[1:2], x[:1], x[1:2])[1][0])(x[:2]), np.array([0.0, 1.0]))
    heads = np.array([True, False, True])
    same(ingot.grad(lambda x: parallel.segmented_reduce(operator.mul, x, heads)[0])(x[:3]), np.array([x[1], x[0], 0.0]))
    same(ingot.grad(lambda x: parallel.map(lambda p: p[0] * p[1], parallel.zipped(x, x)).sum())(x), 2 * x)


def test_batches():
    x = numbers(60).reshape(3, 20)
    same(ingot.vmap(lambda row: parallel.reduce(add, row))(x), np.array([total(add, row) for row in x]))
    same(ingot.vmap(lambda row: parallel.scan(max, row))(x), np.maximum.accumulate(x, 1))
    same(ingot.vmap(lambda row: parallel.sort(row))(x), np.sort(x))
    same(ingot.vmap(lambda row: parallel.map(lambda a: a + 1, row))(x), x + 1)
    same(ingot.vmap(lambda row: parallel.top_k(row, 2)[0])(x), -np.sort(-x)[:, :2])
    same(ingot.vmap(lambda row: parallel.zip_with(lambda a, b: a * b, row, row))(x), x * x)
    same(ingot.vmap(lambda row: parallel.sort(row, less=lambda a, b: a > b))(x), -np.sort(-x))
    same(ingot.vmap(lambda row: parallel.reduce(affine, parallel.zipped(row, row))[0])(x), np.array([running(affine, (row, row))[1][0] for row in x]))
    same(ingot.vmap(lambda row: parallel.segmented_scan(add, row, np.arange(20) % 10 == 0))(x)[:, :10], np.cumsum(x[:, :10], 1))
    offsets = np.array([0, 5, 20])
    same(ingot.vmap(lambda row: parallel.segmented_reduce(add, row, offsets))(x)[:, 0], np.array([folded(add, row[:5]) for row in x]))
    long = numbers(2 * (3 * BLOCK)).reshape(2, -1)
    same(ingot.vmap(lambda row: parallel.scan(add, row))(long), np.array([running(add, row)[0] for row in long]))
    weights = numbers(3 * BLOCK)
    slope = ingot.grad(lambda x: (weights * parallel.scan(add, x)).sum())(long[0])
    np.testing.assert_allclose(slope, weights[::-1].cumsum()[::-1], rtol=1e-9, atol=1e-9)


def test_random_numbers_by_index():
    """Random numbers that are not stored: those of keys made of the index."""
    key = ingot.random.PRNGKey(0)
    xs = parallel.transformed(lambda i: ingot.random.uniform(ingot.random.fold_in(key, i)), parallel.permuted(parallel.counting(), np.arange(500)))
    plain = np.array([ingot.random.uniform(ingot.random.fold_in(key, i)) for i in range(500)])
    same(parallel.map(lambda a: a, xs), plain)


def test_sequences_keep_their_functions():
    """Those that are alike when called share what is compiled, and may differ later."""

    def made(k):
        def f(a):
            return a * k

        def change(value):
            nonlocal k
            k = value

        return f, change

    x = np.arange(5.0)
    (f, _), (g, change) = made(2.0), made(2.0)
    one, other = parallel.transformed(f, x), parallel.transformed(g, x)
    assert parallel.reduce(max, one) == parallel.reduce(max, other) == 8.0
    change(10.0)
    assert (parallel.reduce(max, one), parallel.reduce(max, other)) == (8.0, 40.0)
    outputs = [parallel.written(lambda v: v + 1, np.zeros(5)) for _ in range(2)]
    assert all(parallel.map(lambda v: v, x, out=out) is out for out in outputs)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64])
def test_selections_by_numbers_of_any_dtype(dtype):
    x = np.random.default_rng(0).permutation(9000)
    for k in (0, 3, 100):
        assert parallel.k_select(x, dtype(k)) == k
        values, places = parallel.top_k(x, dtype(k))
        assert np.array_equal(values, np.arange(8999, 8999 - k, -1)) and np.array_equal(x[places], values)
    if dtype in (np.int8, np.int64):
        assert parallel.k_select(x, dtype(-1)) == 8999
    for wrong in (2.5, "1"):
        with pytest.raises((TypeError, ingot.UnsupportedError)):
            parallel.k_select(x, wrong)
