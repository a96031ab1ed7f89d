"""The rules of docs/semantics.md, in its order: each function under Ingot against CPython and NumPy."""

import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import ingot
from support import (
    ARRAYS,
    DTYPES,
    GRID,
    LINE,
    MODES,
    SCALARS,
    check,
    copied,
    difference,
    in_both_modes,
    jitted,
    outcome,
    raises,
    refused,
)

ROOT = Path(__file__).resolve().parents[2]


# ---- The allowed differences


def test_arithmetic_is_ieee():
    def f(a, b):
        return a * b + a, a / b, a - b, np.sqrt(a)

    rng = np.random.default_rng(1)
    for dtype in ("float32", "float64"):
        a, b = (rng.uniform(0.1, 10, 1000).astype(dtype) for _ in range(2))
        check(f, a, b)
        check(f, a[0], b[0])


def test_elementary_functions_are_close():
    def f(x):
        return np.sin(x), np.exp(x), np.log(x), np.tanh(x)

    x = np.random.default_rng(2).uniform(0.1, 10, 1000)
    check(f, x, bound=2**-51)
    check(f, x.astype(np.float32), bound=2**-21)
    for mode in MODES:  # the same bits at every index
        whole = jitted(f, mode)(x)
        assert all(difference(jitted(f, mode)(x[k:]), tuple(w[k:] for w in whole)) is None for k in (1, 3, 7))


def test_reductions_have_one_order():
    def f(x):
        return np.sum(x), np.mean(x)

    x = np.random.default_rng(3).uniform(-1, 1, 5000)
    check(f, x, bound=1e-10)
    assert difference(*[jitted(f, mode)(x) for mode in MODES]) is None

    def rows(x):
        return np.sum(x, axis=1), np.sum(x, axis=0)

    y = x.reshape(50, 100)
    apart = np.repeat(y.T, 3, axis=1)[:, ::3].T  # in no order that is known when compiling
    results = [jitted(rows, mode)(z) for mode in MODES for z in (y, apart)]
    assert [difference(r, results[0]) for r in results[1:]] == [None] * 3
    results = [jitted(rows, mode)(np.asfortranarray(y)) for mode in MODES]
    results += [jitted(rows, mode)(np.ascontiguousarray(y.T))[::-1] for mode in MODES]  # in the order of memory
    assert [difference(r, results[0]) for r in results[1:]] == [None] * 3
    results = [jitted(f, mode)(z) for mode in MODES for z in (y, np.asfortranarray(y.T))]
    assert [difference(r, results[0]) for r in results[1:]] == [None] * 3


def test_the_number_of_threads_changes_no_bit():
    def f(x):
        return np.sum(x), np.mean(x), np.max(np.abs(x)), np.sin(x)

    x = np.random.default_rng(5).uniform(-1, 1, 300_001)
    function, before, results = ingot.jit(f), ingot.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            ingot.set_num_threads(count)
            results.append(function(x))
    finally:
        ingot.set_num_threads(before)
    assert [difference(r, results[0]) for r in results[1:]] == [None, None]


def test_scalar_loops_keep_their_order():
    def f(x):
        s = 0.0
        for v in x:
            s += v
        return s

    check(f, np.random.default_rng(4).uniform(-1, 1, 5000))


def test_sums_over_prange_have_the_order_of_reductions():
    def f(x):
        s = 0.0
        for i in ingot.prange(len(x)):
            s += x[i]
        return s

    x = np.random.default_rng(4).uniform(-1, 1, 5000)
    whole = jitted(lambda x: x.sum())(x)
    for mode in ("compiled", "interpreted"):
        assert difference(jitted(f, mode)(x), whole) is None


def test_exact_reductions_over_prange_are_those_of_the_loop():
    def f(x):
        high, low, count, some, xor = x[0], x[0], 0, False, 0
        for i in ingot.prange(len(x)):
            high = max(high, x[i])
            if x[i] < low:
                low = x[i]
            if x[i] > 0:
                count += 1
            some = some or x[i] > 1
            xor ^= int(x[i])
        return high, low, count, some, xor

    for x in (np.random.default_rng(4).normal(size=5000), np.array([np.nan, 0.0, -0.0]), np.array([0.0, np.inf])[::-1][1:]):
        check(f, x)


def test_accumulations_over_prange_are_those_of_the_loop():
    def f(index, x, h):
        for i in ingot.prange(len(index)):
            h[index[i]] += x[i]

    g = np.random.default_rng(4)
    index = g.integers(0, 7, 3000)
    check(f, index, g.normal(size=3000), np.ones(7))
    check(f, index, g.integers(-100, 100, 3000, np.int8), np.ones(7, np.int8))


def test_python_ints_have_64_bits():
    def product(a, b):
        return a * b

    def shift(a, b):
        return a << b

    def power(a, b):
        return a**b

    def negate(a):
        return -a

    for function, arguments in ((product, (2**62, 2)), (shift, (1, 63)), (power, (3, 40)), (negate, (-(2**63),))):
        assert raises(function, *arguments)[0] is OverflowError
    with pytest.raises(OverflowError):
        jitted(product)(2**70, 1)
    with np.errstate(over="ignore"):
        check(product, np.int64(2**62), np.int64(2))


def test_types_that_depend_on_numbers():
    def power(a, b):
        return a**b

    def either(n):
        if n > 0:
            return 1
        return 0.5

    def total(a):
        s = 0
        for v in a:
            s += v
        return s

    def strong(c, x):
        if c:
            return 0.5
        return x

    assert [difference(r, np.float64(0.5)) for r, _ in in_both_modes(strong, True, np.float64(3))] == [None, None]
    check(power, 2, 10)
    assert raises(power, 2, -1)[0] is ingot.TypeChangeError
    assert raises(power, -4.0, 0.5)[0] is ingot.TypeChangeError
    assert [difference(r, 1.0) for r, _ in in_both_modes(either, 1)] == [None, None]
    assert [difference(r, np.float64(0)) for r, _ in in_both_modes(total, np.empty(0))] == [None, None]


def test_parallel_loops_raise_what_the_lowest_iteration_raises():
    def f(a, indices):
        for i in ingot.prange(len(indices)):
            a[i] = a[indices[i]] * 0 + i
        return a

    def fails(a, divisors):
        for i in ingot.prange(len(divisors)):
            a[i] = 10 // int(divisors[i])

    assert raises(fails, np.zeros(5), np.array([1.0, 0.0, 2.0, np.nan, 0.0]))[0] is ZeroDivisionError


def test_floating_point_warnings_are_silent(recwarn):
    def f(x):
        return x / 0, np.log(x - x)

    for mode in MODES:
        jitted(f, mode)(np.ones(3))
    assert not recwarn.list


SHAPES = (
    ((3, 4), (4, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
    ((65, 70), (70, 33)), ((4,), (4,)), ((0,), (0,)), ((3, 4), (4,)), ((3, 0), (0,)), ((4,), (4, 5)), ((2, 3, 4), (4,)),
    ((4,), (2, 4, 3)),
)  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_dot_is_numpys(shapes):
    def f(a, b):
        return a @ b

    random = np.random.default_rng(3)
    for dtype in (np.float32, np.float64, np.complex64, np.complex128, np.int8, np.uint64, np.bool, np.float16):
        if dtype is np.float16 and max(map(len, shapes)) > 2 and min(map(len, shapes)) == 1:
            continue
        a, b = ((7 * random.random(s)).astype(dtype) for s in shapes)
        for mode in MODES:
            for x, y in ((a, b), (np.asfortranarray(a), b[..., ::-1][..., ::-1])):
                want = x @ y  # whose bits may depend on the layout
                got = jitted(f, mode)(x, y)
                assert type(got) is type(want) and got.dtype == want.dtype and got.shape == want.shape
                if min(map(len, shapes)) > 1 and (mode == "compiled" or x.flags.c_contiguous):  # else without layout
                    assert got.tobytes() == want.tobytes()
                np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps if np.dtype(dtype).kind in "fc" else 0)
    check(f, np.ones((3, 4)), np.ones((5, 2)))
    check(f, np.ones(3), np.ones((2, 2)))
    check(lambda a, b: np.dot(a, b), np.ones((3, 4)), np.ones((4, 2)))


def test_nan_has_no_sign():
    def f(x):
        return x - x, np.sqrt(-x)

    check(f, np.array([np.inf, 1.0]))


def test_eager_signatures_convert_python_scalars():
    @ingot.jit("float64(float64, float64[:])")
    def f(scale, x):
        return scale * x[0]

    assert difference(f(2, np.ones(1)), np.float64(2.0)) is None
    with pytest.raises(TypeError, match="no signature of `f` takes"):
        f(2.0, np.ones(1, np.float32))


# ---- Scalar kinds and joins


@pytest.mark.parametrize("a", SCALARS, ids=DTYPES)
def test_numpy_scalars_promote(a):
    def f(a, b):
        return a + b, a * b, a == b, a < b

    for b in SCALARS:
        check(f, a, b)


@pytest.mark.parametrize("a", [*SCALARS, *ARRAYS], ids=[*DTYPES, *(f"{d}[:]" for d in DTYPES)])
def test_python_numbers_are_weak(a):
    def f(a, b):
        return a + b, b * a, a == b

    for b in (True, 2, 2.5, 1j):
        check(f, a, b)


def test_python_ints_must_fit():
    def f(a, b):
        return a + b

    for a in ARRAYS[1:7]:
        for b in (300, -1, 70000, 2**40):
            check(f, a, b)
    check(lambda x: x + 2**70, 1.5)
    check(lambda x: x + 2**70, np.arange(3))


def test_branches_join_kinds():
    def f(c, x):
        y = 1 if c else 2
        if c:
            z = 0.5
        else:
            z = x
        return y, z

    check(f, True, 1.5)
    check(f, False, 1.5)
    check(f, False, np.float64(3))

    def lossy(c, x):
        z = 0.1
        if c:
            z = x
        return z + x

    check(lossy, True, np.float32(2))
    assert raises(lossy, False, np.float32(2))[0] is ingot.TypeChangeError

    def incompatible(c, a, b):
        x = a
        if c[0]:
            x = b
        return x

    refused(incompatible, np.array([True]), np.int64(1), np.uint64(2), words="int64")

    def masks(x):
        v = 0
        for e in x:
            v = e
        return v & 2

    refused(masks, np.ones(2), words="different paths")


# ---- Facts and loops


def test_loops_find_their_types():
    def widens(n):
        s = 0
        for i in range(n):
            s = s * 2 + i
        return s

    def rotates(n):
        a, b, c = 1, 2, 3
        for _ in range(n):
            a, b, c = b, c, a
        return a, b, c

    def newton(x):
        g = x
        for _ in range(20):
            g = 0.5 * (g + x / g)
        return g

    check(widens, 7)
    check(rotates, 4)
    for x in (2, 2.0, np.float32(2)):
        check(newton, x)


def test_first_iteration_is_peeled():
    def f(x, start):
        s = 0.1
        for i in range(len(x)):
            s += x[i]
        t = start
        for v in x:
            t = t + v
        return s, t

    check(f, np.linspace(0, 1, 7, dtype=np.float32), 0.3)
    check(f, np.arange(5), 7)

    def nested(m):
        s = 0.1
        for i in range(m.shape[0]):
            for j in range(m.shape[1]):
                s += m[i, j]
        return s

    check(nested, GRID.astype(np.float32))


def test_loops_unroll_on_demand():
    def f(n):
        t = (n, 2.5, True)
        total = 0.0
        for i in range(3):
            total += t[i]
        return total

    check(f, 4)
    check(lambda t: [t[0], len(t)], (1, 2.5))


def test_arguments_are_static_on_demand():
    def f(a, axis):
        return np.sum(a, axis)

    for axis in (0, 1, -1, 2):
        check(f, GRID, axis)
    compiled = jitted(f)
    compiled(GRID, 1), compiled(GRID, 0), compiled(GRID, 1)
    assert len(compiled.specialisations) == 2
    for axes in ((0,), (1, 0), (0, 2), ()):
        check(f, GRID, axes)
    check(lambda a, axes: np.moveaxis(a, *axes), GRID, ([0, 1], [1, 0]))
    check(lambda a, axes: (np.flip(a, axes[0]), axes), GRID, [(1,), [2]])


def test_loop_control():
    def f(n, m):
        c = 0
        for i in range(n):
            for j in range(m):
                if j == i:
                    continue
                if j > i + 2:
                    break
                c += i * j
            else:
                c += 1000
                continue
            c += 7
        else:
            c += 100000
        while c > 50:
            c -= 17
            if c % 13 == 0:
                break
        else:
            c = -c
        return c

    for n in range(5):
        check(f, n, 5)

    def rebinds(n):
        s = 0
        for i in range(n):
            s += i
            i = 100
            n = 7
        return s, i, n

    check(rebinds, 3)
    check(rebinds, 0)


def test_ranges():
    def f(a, b, c):
        s = 1
        for i in range(a, b, c):
            s = (s * 31 + i) % 1000003
        return s, len(range(a, b, c))

    for bounds in ((0, 10, 1), (10, 0, -3), (0, 10, -1), (5, 5, 1), (0, 10, 0), (-5, 6, 4), (True, 4, 1)):
        check(f, *bounds)
    check(f, np.int8(1), np.uint16(9), np.int64(2))
    check(f, 1.5, 2, 1)


def test_iteration():
    def f(a, b):
        s = 0.0
        for i, (x, y) in enumerate(zip(a, b), 2):
            s += i * x * y
        for row in a[None]:
            row[0] = s
        return s

    check(f, LINE, LINE[::-1])
    check(f, LINE, LINE[:2])


# ---- Shadow heap and write-back


def test_containers_are_pythons():
    def f(n):
        values = [0, 0.5, n]
        values[0] = n
        values[-1] = values[0] + 1
        values.append(n * 2)
        table = {"a": n, "b": values[1]}
        table["c"] = len(table)
        total = 0.0
        for key in table:
            total += table[key]
        for _, v in table.items():
            total += v
        return values, table, total

    check(f, 3)

    def lookup(d, l):
        return d["a"] + l[1], l[-1], len(d)

    check(lookup, {"a": 1, "b": 2}, [1, 2.5])
    check(lookup, {"b": 2}, [1, 2.5])
    check(lookup, {"a": 1}, [])


def test_arguments_in_containers_are_written():
    def f(d, l):
        d["x"][0] = 7
        l[0][1:] = 3
        return d["x"]

    a = np.arange(4.0)
    check(f, {"x": a}, [a])


def test_instances_are_kept_until_the_call_ends():
    class Link:
        def __init__(self, value, next):
            self.value = value
            self.next = next

    class Weight:
        def __init__(self, value):
            self.value = value

    def churn(n):
        total = 0
        head = None
        for i in range(n):
            head = Link(i, head if i % 4 else None)
            total += head.value
        return total

    def joined(n):
        weights = []
        for i in range(n):
            weights.append(Weight(i))
            if i == 2:
                weights.append(Weight(0.5))
        return [w.value for w in weights]

    before = ingot.memory()["in_use"]
    assert jitted(churn)(100_000) == churn(100_000)
    assert ingot.memory()["in_use"] <= before
    for values, error in in_both_modes(joined, 4):
        assert error is None and repr(values) == "[0.0, 1.0, 2.0, 0.5, 3.0]"


# ---- Exits


@pytest.mark.parametrize("mode", MODES)
def test_elements_of_lists_in_lists_have_one_type(mode):
    def mixed(n):
        rows = []
        for _ in range(n):
            rows.append([True])
        rows[0].append(1)
        rows[1].append(2)
        return rows

    def with_floats(n):
        rows = []
        for _ in range(n):
            rows.append([])
        rows[0].append(1)
        rows[1].append(2.5)
        return rows

    for function, wanted in ((mixed, [[1, 1], [1, 2], [1]]), (with_floats, [[1.0], [2.5], []])):
        got = jitted(function, mode)(3)
        assert repr(got) == repr(wanted)


def test_returns_from_loops():
    def f(a):
        for i in range(len(a)):
            for j in range(i):
                if a[i] * a[j] == 6:
                    return i * 10 + j
        return -1

    check(f, LINE)
    check(f, np.empty(0))

    def pairs(x):
        if x > 0:
            return x, True
        return -x, False

    check(pairs, 3)
    check(pairs, -3)


def test_raise_and_assert():
    def f(n):
        if n < 0:
            raise ValueError("negative {n}")
        if n == 1:
            raise KeyError("one")
        if n == 2:
            raise RuntimeError
        return n

    for n in (-1, 0, 1, 2):
        check(f, n)


def test_writes_before_an_exception_stay():
    def f(a, i):
        a[0] = 5
        a[1] = a[i]
        a[2] = 9

    check(f, LINE, 2)
    check(f, LINE, 77)


def endless(n):
    return endless(n + 1)


def endless_in_iteration(x, n):
    y = x + n
    return other_iteration(y, n) + y[0]


def other_iteration(x, n):
    return endless_in_iteration(x * 2, n + 1)


def deep(n):
    return 0 if n == 0 else deep(n - 1) + 1


def stopped(n):
    try:
        return endless(n)
    except RecursionError as error:
        return str(error)


def how_deep(a):
    a[0] += 1
    try:
        how_deep(a)
    except RecursionError:
        a[1] += 1


def test_recursion_error():
    """Raised where the thread's stack, but for a reserve, is used up: later than Python raises it."""
    for f in (endless, lambda n: endless_in_iteration(np.ones(2), n)):
        assert raises(f, 0) == (RecursionError, "maximum recursion depth exceeded")
    assert in_both_modes(stopped, 0) == [("maximum recursion depth exceeded", None)] * 2
    for mode in MODES:
        a = np.zeros(2, np.int64)
        jitted(how_deep, mode)(a)
        assert a[0] > 900 and a[1] == 1
    assert jitted(deep)(sys.getrecursionlimit() * 5) == sys.getrecursionlimit() * 5


def test_recursion_error_on_small_stacks():
    function = jitted(endless_in_iteration)
    seen = []

    def call():
        seen.append(outcome(function, (np.ones(2), 0))[1])

    for size in (1 << 16, 1 << 18, 1 << 20):
        before = threading.stack_size(size)
        try:
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
        finally:
            threading.stack_size(before)
    assert [type(error) for error in seen] == [RecursionError] * 3


# ---- Optional and unbound


def test_none_on_some_paths():
    def f(n):
        if n > 0:
            return n * 2

    def conditional(n):
        x = n if n > 0 else None
        y = x
        if y is None:
            return -1
        return y

    def falsy(n):
        x = n if n > 0 else None
        if not x:
            return 0
        return x

    def default(n, w=None):
        if w is None:
            return n
        return n * w

    for function in (f, conditional, falsy, default):
        check(function, 3)
        check(function, -3)
    check(default, 3, 2)
    check(lambda n: n if n > 0 else None, -1)


def test_none_is_stored_and_compared():
    def kept(c, a):
        o = None
        if c:
            o = 2
        v = o
        a[0] = v
        a[1:3] = v
        return not v, v == 2, v != None, v == None, v == o, v in (1, 2), [v, 3] == [2, 3]  # noqa: E711

    def chosen(c):
        o = None
        if c:
            o = 2.5
        return (o or 4.5), (o and 1.5)

    def matched(c):
        o = None
        if c:
            o = 2
        seen = 0
        for i in range(3):
            match (i, o):
                case [0, None]:
                    seen += 1
                case [1, 2]:
                    seen += 10
                case [2, other]:
                    seen += 100 if other is None else other * 1000
        return seen

    for c in (0, 1):
        for dtype in ("float64", "bool", "complex64", "int8"):
            check(kept, c, np.ones(3, dtype))
        check(chosen, c)
        check(matched, c)


def test_indices_that_may_be_none():
    def f(a, c):
        i = None
        if c:
            i = 1
        return a[i], a[:i], a[i:, ..., ::i]

    def write(a, c):
        i = None
        if c:
            i = 1
        a[i] = 7
        a[i] += 1

    for array in (LINE, GRID):
        for function in (f, write):
            check(function, array, 1)
            for mode in MODES:
                with pytest.raises(ingot.TypeChangeError, match="None"):
                    jitted(function, mode)(array.copy(), 0)


def test_unbound_names():
    def f(a, n):
        for i in range(len(a)):
            if i == n:
                z = a[i]
        return z

    def deleted(c):
        y = 1
        if c:
            del y
        return y

    def index(n):
        for i in range(n):
            pass
        return i

    check(f, LINE, 3)
    check(f, LINE, 100)
    check(deleted, False)
    check(deleted, True)
    check(index, 3)
    check(index, 0)
    check(lambda: undefined_name)  # noqa: F821


# ---- Views and aliasing


def test_slices_are_views():
    def f(a):
        b = a[1:]
        b[0] = 50
        c = b
        c += 1
        d = a
        d = d + 1
        d[0] = 0
        return a, b, c, d, a.T

    check(f, LINE)
    check(f, GRID)
    check(f, np.asfortranarray(GRID)[::-1, ::2])


def test_results_are_the_arguments_or_views_of_them():
    def f(a, c):
        if c:
            b = a[1:]
        else:
            b = a[:-1]
        b[0] = 7
        return a, b, [a, b]

    check(f, LINE, True)
    check(f, LINE, False)

    def either(a, c):
        if c:
            return a
        return a * 2

    check(either, LINE, True)
    check(either, LINE, False)


def test_objects_stay_one_object():
    def made(a, c):
        x = a + 1
        y = a * 2
        v = x[1:]
        w = v
        inner = [x, v]
        table = {"x": x, "inner": inner}
        either = x if c else y
        part = a[1:] if c else y[1:]
        return x, y, v, w, v[:], x[1:], inner, table, either, part, [part, either, v.T, a.T], a, [a], x is inner[0]

    def iterations(a, n):
        x = np.zeros(3)
        y = np.ones(3)
        seen = [x, y]
        for i in range(n):
            x, y = y, x
            if i % 3 == 2:
                y = np.full(3, i * 1.5)
        return x, y, seen, [x, y]

    def given(d, l, a):
        x = a + 1
        d["x"] = x
        d["a"] = a
        l[0] = x
        l[1] = d["y"]
        v = x[1:]
        y = d.pop("y")
        x[0] = 7
        d.setdefault("z", a * 3)
        return x, y, v, d["z"], [d["x"]], d

    for c in (True, False):
        check(made, LINE, c)
    for n in range(5):
        check(iterations, LINE, n)
    check(given, {"y": np.zeros(2), "z": 1}, [1, 2], LINE)
    check(given, {"y": np.zeros(2)}, [LINE, 2], LINE)


@pytest.mark.parametrize("arrays", [(LINE, LINE), (LINE[:-1], LINE[1:]), (LINE[1:], LINE[:-1]), (LINE, LINE[::-1])])
def test_arguments_may_share_memory(arrays):
    def whole(a, b):
        a[:] = b * 2
        a += b
        return b[0]

    def loop(a, b):
        for i in range(1, len(a)):
            a[i] = b[i - 1] + 1
        return a

    check(whole, *arrays)
    check(loop, *arrays)


def test_overlapping_assignment_reads_first():
    def f(a):
        a[1:] = a[:-1]
        a[:-1] += a[1:]
        a[::-1] = a
        return a

    check(f, LINE)


def test_buffers_swap():
    def f(u, v, n):
        for _ in range(n):
            u, v = v, u
            u[0] += 1
        return u

    check(f, LINE, LINE[::-1], 3)
    check(f, LINE, LINE[::-1], 4)


LAYOUTS = {
    "strided": LINE[::2],
    "reversed": LINE[::-1],
    "reversed-strided": LINE[::-2],
    "transposed": GRID.T,
    "mixed": GRID[::-1, ::2],
    "fortran": np.asfortranarray(GRID),
    "empty": np.empty((0, 3)),
    "empty-inside": np.empty((3, 0)),
    "one": np.ones((1, 1, 1)),
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "misaligned": np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    def f(a):
        return a + 1, a * a, a.sum(), a.copy(), -a, a[-1:], a[::-1], a[:2], a > 1, np.where(a > 1, a, 0), len(a)

    def first(a):
        return a[0], a[-1]

    def write(a):
        a[...] = 2
        a[:1] = 3
        return a

    for function in (f, first, write):
        check(function, LAYOUTS[layout])


@pytest.mark.slow
def test_lengths_of_one_and_layouts_make_specialisations():
    def f(a, b):
        return a + b, np.sqrt(a * a + 1) * b, (a - b).sum()

    def write(a, b):
        a[...] = b
        a += b
        return a[:1], a.T

    def same(compiled, function, a, b):
        plain = copied([a, b])
        result, error, _ = outcome(function, plain)
        for one in compiled:
            given = copied([a, b])
            got, raised, _ = outcome(one, given)
            assert type(raised) is type(error) and str(raised) == str(error)
            assert difference(got, result) is None and difference(given, plain) is None

    for function in (f, write):
        compiled = [jitted(function, mode) for mode in MODES]
        for n in (3, 2, 1, 0, 17, 1, 3):
            for m in (3, 2, 1, 0, 17):
                same(compiled, function, np.arange(float(n)), np.ones(m) / 3)
        assert [len(one.specialisations) for one in compiled] == [4, 4]
        same(compiled, function, np.arange(6.0)[::2], np.ones(6)[::-2])
        assert [len(one.specialisations) for one in compiled] == [5, 5]
    grids = [np.arange(12.0).reshape(s) for s in ((3, 4), (4, 3), (12, 1), (1, 12), (12,))]
    grids += [g.T for g in grids[:4]]
    grids += [np.arange(48.0).reshape(4, 12)[:, ::3], np.ones((1, 1)), np.ones((3, 0)), np.ones((0, 1)).T]
    for function in (f, write):
        compiled = [jitted(function, mode) for mode in MODES]
        for a in grids:
            for b in grids:
                same(compiled, function, a, b)


# ---- The document


def test_the_document_names_all_tests_of_its_files():
    listed = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "semantics.md").read_text())
    rules = {"test_semantics", "test_numpy_ufuncs", "test_signals", "test_numpy_random"}
    names = re.compile(r"^def (test_\w+)", re.M)
    tests = {f.stem: set(names.findall(f.read_text())) for f in Path(__file__).parent.glob("test_*.py")}
    wanted = set().union(*(tests[s] for s in tests if s in rules or s.startswith("test_semantics_")))
    assert len(set(listed)) == len(listed) and set(listed) <= set().union(*tests.values())
    assert wanted - set(listed) == {"test_the_document_names_all_tests_of_its_files"}
