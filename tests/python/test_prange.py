"""`prange` is taken where the iterations are shown to be independent, and refused, with both locations, elsewhere."""

import numpy as np
import pytest

import ingot
from ingot import prange
from support import check, difference, jitted


def shift(x, y):
    for i in prange(len(x)):
        y[i] = 2 * x[i]


def total(x):
    s = 0.0
    for i in prange(len(x)):
        s += x[i]
    return s


def rows(x, y):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + 1


def neighbours(x):
    for i in prange(1, len(x)):
        x[i] = x[i - 1] + 1


def folded(x, y):
    for i in prange(len(x)):
        y[i % 4] = x[i]


@pytest.mark.parametrize("function", [shift, rows])
def test_independent_iterations(function):
    x = np.arange(12.0).reshape(3, 4) if function is rows else np.arange(12.0)
    y, z = np.zeros_like(x), np.zeros_like(x)
    function(x, y)
    ingot.jit(function)(x, z)
    assert (y == z).all()


def test_a_reduction():
    assert ingot.jit(total)(np.arange(10.0)) == 45.0


@pytest.mark.parametrize("function, arguments", [(neighbours, 1), (folded, 2)])
def test_races_are_refused(function, arguments):
    with pytest.raises(ingot.UnsupportedError, match=r"prange loop whose iterations may depend(.|\n)*test_prange.py:\d+"):
        ingot.jit(function)(*[np.zeros(8) for _ in range(arguments)])


def test_overlapping_arguments_are_refused():
    x = np.zeros(9)
    with pytest.raises(ingot.UnsupportedError, match="prange"):
        ingot.jit(shift)(x[:-1], x[1:])


def largest(x, start):
    m = start
    for i in prange(len(x)):
        m = max(m, x[i])
    return m


def smallest_if(x, start):
    m = start
    for i in prange(len(x)):
        if x[i] < m:
            m = x[i]
    return m


def last_largest(x, start):
    m = start
    for i in prange(len(x)):
        if x[i] >= m:
            m = x[i]
    return m


def last_smallest(x, start):
    m = start
    for i in prange(len(x)):
        m = x[i] if m >= x[i] else m
    return m


def two_extremes(x, start):
    low = start
    high = start
    y = np.empty_like(x)
    for i in prange(len(x)):
        y[i] = x[i] * 2
        low = min(low, x[i])
        high = max(high, x[i])
    return low, high, y


SPECIAL = [0.0, -0.0, np.nan, 1.0, -1.0, np.inf, -np.inf]


@pytest.mark.sampled(6)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u8", "i8"])
@pytest.mark.parametrize("function", [largest, smallest_if, last_largest, last_smallest, two_extremes])
def test_extremes_are_those_of_the_loop_in_order(function, dtype):
    g = np.random.default_rng(3)
    functions = [jitted(function), jitted(function, "interpreted")]
    for n in (0, 1, 2, 5, 33, 1100, 2500):
        for scale in (0, 1, 100):
            x = (g.normal(size=n) * scale).astype(dtype)
            if dtype[0] == "f" and n:
                x = np.where(g.random(n) < 0.5, g.choice(np.array(SPECIAL[: 2 + scale], dtype), n), x)
            for start in x.dtype.type(3), *(x.dtype.type(s) for s in (SPECIAL if dtype[0] == "f" else [0, 1])):
                expected = function(x, start)
                for f in functions:
                    assert difference(f(x, start), expected) is None, (n, scale, start)


def counts(x):
    above, below, odd = 0, 5, 0
    for i in prange(len(x)):
        if x[i] > 0:
            above += 1
        elif x[i] < -1:
            below -= 1
        odd += 2
    return above, below, odd


def flags(x):
    any_, all_, none, found = False, True, True, False
    for i in prange(len(x)):
        any_ = any_ or x[i] > 2
        all_ = all_ and x[i] > -2
        if x[i] == 0:
            none = False
        if x[i] > 1:
            if x[i] < 1.5:
                found = True
    return any_, all_, none, found


def bits(x):
    a, o, e, p, s = -1, 0, 0, np.int32(1), np.uint8(0)
    for i in prange(len(x)):
        k = int(x[i] * 100)
        a &= k
        o |= k
        e ^= k
        p *= np.int32(k)
        s += np.uint8(k & 255)
    return a, o, e, p, s


def sums_of_ints(x):
    s, p = 0, 1
    for i in prange(len(x)):
        s += i * i
        s -= 3
        p *= -1
    return s, p


@pytest.mark.sampled(5)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [0, 1, 2, 40, 1030, 3000])
@pytest.mark.parametrize("function", [counts, flags, bits, sums_of_ints])
def test_what_is_exact_is_what_the_loop_in_order_gives(function, n):
    if n == 0 and function is flags:
        return  # whose bools would be Python's
    g = np.random.default_rng(n)
    for _ in range(3):
        check(function, g.normal(size=n))
    check(function, np.zeros(n))


def overflowing(x, start):
    c = start
    for i in prange(len(x)):
        if x[i] > 0:
            c += 1
    return c


def overflowing_sum(n, step):
    s = 2**62
    for i in prange(n):
        s += step
        s -= step
    return s


def test_python_ints_that_leave_64_bits_raise():
    most = 2**63 - 1
    for f in (jitted(overflowing), jitted(overflowing, "interpreted")):
        assert f(np.ones(9), most - 9) == most
        assert f(np.zeros(9), most) == most
        with pytest.raises(OverflowError):
            f(np.ones(9), most - 8)
    for f in (jitted(overflowing_sum), jitted(overflowing_sum, "interpreted")):
        assert f(100, 2**62 - 1) == 2**62
        with pytest.raises(OverflowError):
            f(1, 2**62)


def sums(x):
    s = x[0] * 0
    p = x[0] * 0 + 1
    for i in prange(len(x)):
        s += x[i]
        p *= 1 + x[i] / 1000
    return s, p


def sums_and_writes(x):
    s = 0.0
    y = np.empty_like(x)
    for i in prange(len(x)):
        y[i] = np.sqrt(x[i])
        if i % 3 == 0:
            s -= y[i]
        else:
            s += y[i] * 2
    return s, y


def sums_and_additions(x, y):
    s, t, p = 0.0, 0.0, 1.0
    for i in prange(len(x)):
        y[i] += 1
        s += x[i]
        t += y[i]
        p *= x[i]
    return s, t, p, y


def sums_and_one_place(x, y):
    s = 0.0
    for i in prange(len(x)):
        y[i] += x[i]
        s += x[i]
    return s, y[0]


def test_an_array_may_have_an_element_in_two_places():
    x = np.arange(1, 50.0)
    for f in (sums_and_one_place, jitted(sums_and_one_place), jitted(sums_and_one_place, "interpreted")):
        assert f(x, np.lib.stride_tricks.as_strided(np.zeros(1), x.shape, (0,))) == (1225.0, 1225.0)


def sums_of_rows(x):
    s = 0.0
    for i in prange(x.shape[0]):
        t = 0.0
        for j in range(x.shape[1]):
            t += x[i, j]
        s += t
    return s


def through_loops_inside(x):
    s, m, c, f = np.float64(0.0), np.float64(-0.0), 0, False
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            s += x[i, j]
            m = max(m, x[i, j])
            if x[i, j] > 0.5:
                c += 1
            f |= bool(x[i, j] < -2)
    return s, m, c, f


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (40, 7), (3, 1200), (2100, 3)])
def test_reductions_go_through_loops_inside(shape):
    x = np.random.default_rng(1).normal(size=shape)
    check(through_loops_inside, x, bound=1e-12)
    check(through_loops_inside, np.where(x > 0, -0.0, x), bound=1e-12)
    check(through_loops_inside, np.where(x > 0, np.nan, 0.0))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("n", [1, 2, 33, 1025, 70000])
def test_sums_of_floats_have_the_order_of_reductions(dtype, n):
    x = np.random.default_rng(n).random(n).astype(dtype)
    whole = jitted(lambda x: (x.sum(), (1 + x / 1000).prod()))(x)
    results = [jitted(sums)(x)]
    if n < 2000:
        results.append(jitted(sums, "interpreted")(x))
    before = ingot.get_num_threads()
    for threads in (1, 2, 5):
        ingot.set_num_threads(threads)
        results.append(jitted(sums)(x))
    ingot.set_num_threads(before)
    for result in results:
        assert difference(result, results[0]) is None
    if dtype != "f2":
        assert difference(results[0], whole) is None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [1, 2, 40, 1030, 3000])
def test_sums_next_to_writes(n):
    x = np.random.default_rng(n).random((n, 3))
    check(sums_and_writes, x[:, 0], bound=1e-12)
    check(sums_of_rows, x, bound=1e-12)
    check(sums_and_additions, 1 + x[:, 0] / n, x[:, 1].copy(), bound=1e-12)
    assert difference(jitted(sums_and_writes)(x[:, 0]), jitted(sums_and_writes, "interpreted")(x[:, 0])) is None


def gathered(x, index):
    s = 0.0
    m = -1.0
    for i in prange(len(index)):
        s += x[index[i]]
        m = max(m, x[index[i]])
    return s, m


def test_the_lowest_iteration_that_fails_raises():
    x = np.arange(10.0)
    index = np.arange(5000) % 10
    check(gathered, x, index, bound=1e-12)
    index[[4000, 3000, 4500]] = [10, 11, 12]
    check(gathered, x, index)


def previous(x):
    last = 0.0
    s = 0.0
    for i in prange(len(x)):
        s += x[i] - last
        last = x[i]
    return s


def running(x, y):
    m = 0.0
    for i in prange(len(x)):
        m = max(m, x[i])
        y[i] = m
    return m


def raises_only_while_false(x):
    found = False
    for i in prange(len(x)):
        found = found or x[i + 1] > 0
    return found


@pytest.mark.parametrize("function", [previous, running, raises_only_while_false])
def test_what_depends_on_iterations_before_is_refused(function):
    arguments = (np.ones(4), np.zeros(4))[: function.__code__.co_argcount]
    name = {"previous": "last", "running": "m", "raises_only_while_false": "found"}[function.__name__]
    with pytest.raises(ingot.UnsupportedError, match=f"an iteration uses what the one before gave: `{name}`; line"):
        ingot.jit(function)(*arguments)


def histogram(x, h):
    for i in prange(len(x)):
        h[int(x[i] * 8)] += 1


def weighted(index, v, h):
    for i in prange(len(index)):
        h[index[i]] += v[i]
        h[-index[i]] -= v[i]


def largest_of_each(index, v, h):
    for i in prange(len(index)):
        h[index[i]] = np.maximum(h[index[i]], v[i])


def of_two_axes(index, v, h):
    out = np.empty(len(index), v.dtype)
    for i in prange(len(index)):
        out[i] = v[i] * 2
        for j in range(3):
            h[index[i], (j + i) % h.shape[1]] ^= v[i]
    return out


def flags_of_each(index, v, h):
    for i in prange(len(index)):
        h[index[i]] |= v[i] > 3


def histogram_and_count(x, h):
    count = 0
    for i in prange(len(x)):
        if x[i] > 0.5:
            h[int(x[i] * 8)] += 1
            count += 1
    return count


def two_arrays(index, v, h):
    g = np.zeros(5, np.int64)
    for i in prange(len(index)):
        h[index[i]] += v[i]
        g[index[i] % 5] += 1
    return g


@pytest.mark.sampled(16)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [0, 1, 7, 100, 3000])
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f4", "f8", "c16"])
def test_accumulations_are_those_of_the_loop_in_order(dtype, n):
    g = np.random.default_rng(n)
    index = g.integers(0, 9, n)
    v = (g.normal(size=n) * 100).astype(dtype)
    h = (np.arange(40) * 3).astype(dtype)
    for function in (weighted, two_arrays):
        for target in (h[:9], h[::-4], h[20:29]):
            check(function, index, v, target)
    check(histogram, g.random(n), h[:8])
    check(histogram_and_count, g.random(n), h[:8])
    if dtype[0] in "iu":
        check(largest_of_each, index, v, h[:9])
        check(of_two_axes, index, v, h[:36].reshape(9, 4))
        check(of_two_axes, index, v, h[:36].reshape(4, 9).T)
        check(flags_of_each, index, v, g.random(9) > 0.5)


def test_accumulations_have_one_value_for_any_number_of_threads():
    g = np.random.default_rng(1)
    n = 400_000
    index, v = g.integers(0, 100, n), g.integers(-9, 9, n)
    before, results = ingot.get_num_threads(), []
    for threads in (1, 2, 5):
        ingot.set_num_threads(threads)
        h = np.arange(100)
        ingot.jit(weighted)(index, v, h)
        results.append(h)
    ingot.set_num_threads(before)
    expected = np.arange(100)
    np.add.at(expected, index, v)
    np.subtract.at(expected, -index, v)
    for h in results:
        assert (h == expected).all()


def test_an_iteration_of_an_accumulation_may_raise():
    for function in (ingot.jit(weighted), jitted(weighted, "interpreted")):
        index, h = np.arange(2000) % 9, np.zeros(9, np.int64)
        index[1500] = 9
        with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 9"):
            function(index, np.ones(2000, np.int64), h)


def two_ops(index, h):
    for i in prange(len(index)):
        h[index[i]] += 1
        h[index[i] - 1] *= 2


def exchanged(index, h):
    for i in prange(len(index)):
        t = h[index[i]]
        h[index[i] - 1] += 1
        h[index[i]] = t + 1


def into_itself(h):
    for i in prange(len(h)):
        h[h[i]] += 1


@pytest.mark.parametrize("function", [two_ops, exchanged, into_itself])
def test_other_uses_of_what_is_accumulated_are_refused(function):
    arguments = [np.arange(3) for _ in range(function.__code__.co_argcount)]
    with pytest.raises(ingot.UnsupportedError, match=r"may be one element"):
        ingot.jit(function)(*arguments)


def sums_at_two_depths(x):
    s, n, t = np.float64(0.0), 0, np.float64(0.0)
    for i in prange(x.shape[0]):
        s += x[i, 0]
        row = 0.0
        for j in range(x.shape[1]):
            if x[i, j] > 0.5:
                s += x[i, j]
                n += 1
            row += x[i, j]
        if row > 1:
            t -= row
            n += 1
        t += 2
    return s, n, t


def integers_at_two_depths(x):
    s, e = np.int64(3), 0
    for i in prange(x.shape[0]):
        s += np.int64(i)
        for j in range(x.shape[1]):
            for k in range(j):
                s -= np.int64(k)
                e ^= i * j
        if i % 3 == 0:
            e ^= 7
            s += np.int64(1)
    return s, e


def extremes_in_two_places(x, start):
    low, high, most = start, start, start
    for i in prange(x.shape[0]):
        low = min(low, x[i, 0])
        high = max(high, x[i, 0])
        for j in range(x.shape[1]):
            if x[i, j] > high:
                high = x[i, j]
            low = min(low, x[i, j])
            if j > 1:
                low = min(low, -x[i, j])
        if i % 2 == 0:
            most = max(most, x[i, 0])
        else:
            most = max(most, x[i, -1])
    return low, high, most


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [(0, 2), (1, 1), (40, 7), (1100, 3)])
def test_reductions_in_several_places(shape):
    g = np.random.default_rng(2)
    x = g.normal(size=shape)
    check(sums_at_two_depths, x, bound=1e-12)
    check(integers_at_two_depths, x)
    for y in (x, np.where(x > 0, -0.0, 0.0), np.where(x > 1, np.nan, -0.0), (x * 9).astype("i4")):
        for start in y.dtype.type(0), -y.dtype.type(0), y.dtype.type(2):
            check(extremes_in_two_places, y, start)


def rows_added(x, labels, h):
    for i in prange(len(x)):
        h[labels[i]] += x[i]


def arrays_carried(x):
    total, squares = np.zeros(x.shape[1]), np.ones(x.shape[1])
    for i in prange(len(x)):
        total = total + x[i]
        squares *= 1 + x[i]
    return total, squares


def rows_and_columns_added(x, h):
    for i in prange(len(x)):
        h[i % len(h), :2] += x[i, :2]
        h[:, i % h.shape[1]] += x[i, 0]


@pytest.mark.parametrize("dtype", ["f8", "i4", "c16"])
def test_arrays_that_are_added_to(dtype):
    g = np.random.default_rng(3)
    x = (g.normal(size=(300, 4)) * 9).astype(dtype)
    check(rows_added, x, g.integers(-5, 5, 300), np.ones((5, 4), dtype))
    check(rows_and_columns_added, x, np.ones((5, 4), dtype))
    if dtype == "f8":
        check(arrays_carried, x / 100)


def scattered(table, x, y):
    for i in prange(len(table)):
        t = x[i]
        for _ in range(20):
            t = np.sin(t) + 1
        y[table[i]] = t


def scattered_and_counted(table, x, y):
    n = 0
    for i in prange(len(table)):
        y[table[i]] = x[i]
        n += 1
    return n


def reads_what_it_adds(table, x, y):
    out = np.empty(len(table))
    for i in prange(len(table)):
        y[table[i]] += 1
        out[i] = y[table[i]]
    return out.sum()


def gathered_and_scattered(table, x, y):
    for i in prange(1, len(table)):
        y[table[i]] = y[table[i]] * x[i] + table[i - 1]


@pytest.mark.rotated(4)
@pytest.mark.parametrize("sharing", [1, 4])
def test_places_that_a_table_names(sharing):
    g = np.random.default_rng(5)
    n = 20_000
    before = ingot.get_num_threads()
    ingot.set_num_threads(sharing)
    for table in (g.permutation(n), g.integers(0, n, n), g.integers(-n, n, n), g.permutation(n).astype("i4"), np.full(n, 3)):
        for function in (scattered, scattered_and_counted, gathered_and_scattered, reads_what_it_adds):
            y = np.ones(n)
            wanted = np.ones(n)
            x = g.random(n)
            assert jitted(function)(table, x, y) == jitted(function, "interpreted")(table, x, wanted)
            assert difference(y, wanted) is None
    check(scattered_and_counted, g.integers(0, 50, 99), g.random(99), np.zeros(50))
    check(scattered_and_counted, np.arange(99), g.random(99), np.zeros(50))
    ingot.set_num_threads(before)


def rows_that_may_be_empty(t, m):
    for i in prange(4):
        for j in range(m):
            t[i * m + j] = i
        t[i * m] = i


def rows_that_wrap(t, m):
    step = np.int64(m)
    for i in prange(4):
        if i != 2:
            t[i * step] = i


def rows_too_long(t, m):
    for i in prange(4):
        for j in range(m + 1):
            t[i * m + j] = i


def mirrored_with_the_diagonal_below(t, m):
    n = len(t)
    for i in prange(n):
        for j in range(i - 1, n):
            t[i] = t[j] = m


def stencil_in_place(t, m):
    for i in prange(1, len(t) - 1):
        t[i] = 0.5 * (t[i - 1] + t[i + 1])


def every_other_meets(t, m):
    for i in prange(len(t) // 2 - 1):
        t[2 * i] = t[2 * i + 2]


def factor_may_be_zero(t, m):
    for i in prange(4):
        t[m * i] = i


def both_ends(t, m):
    for i in prange(len(t)):
        t[len(t) - 1 - i] = t[i]


def windows_overlap(t, m):
    for i in prange(4):
        t[2 * i : 2 * i + 3] = i


def lengths_too_long(t, m):
    for i in prange(4):
        t[i * m : i * m + m + 1] = i


def guarded_too_late(t, m):
    for i in prange(len(t) - 1):
        t[i] = m
        if i > 3:
            t[i + 1] = i


def table_and_more(t, m):
    table = np.arange(4)
    for i in prange(4):
        t[table[i]] = i
        t[i + m] = i


def quotients(t, m):
    for i in prange(len(t)):
        t[i // 2] = i


def negative_index(t, m):
    for i in prange(4):
        t[-i] = i
        t[i] = i


@pytest.mark.parametrize(
    "function",
    [
        rows_that_wrap,
        rows_too_long,
        mirrored_with_the_diagonal_below,
        stencil_in_place,
        every_other_meets,
        both_ends,
        windows_overlap,
        lengths_too_long,
        guarded_too_late,
        table_and_more,
        quotients,
        negative_index,
    ],
)
def test_what_nearly_is_independent_is_refused(function):
    for mode in ("compiled", "interpreted"):
        with pytest.raises(ingot.UnsupportedError, match=r"\((`t\[.*\]` and `t\[.*\]` may be one element|`t\[.*\]` may be one element in two of them)\)"):
            jitted(function, mode)(np.arange(16.0), 3)
    given, expected = np.arange(16.0), np.arange(16.0)
    ingot.jit(parallel=False)(function)(given, 3)
    function(expected, 3)
    assert difference(given, expected) is None


def lengths_from_outside(t, m, start, stop):
    for i in prange(4):
        t[i * m : i * m + m] += i + 1
    for i in prange(start, stop):
        t[i] = i


def places_of_flat(t, width):
    for p in prange(t.size):
        t[p // width, p % width] = p


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_what_numbers_from_outside_decide_is_decided_at_each_call(mode):
    f, g = jitted(lengths_from_outside, mode), jitted(places_of_flat, mode)
    for function in (rows_that_may_be_empty, factor_may_be_zero):
        for m in (0, 1, 3, 4, -1, -3):
            check(function, np.zeros(16), m, modes=[mode])
    for m in (0, 1, 3, 5, 20, -1, -3):
        for start, stop in ((0, 16), (3, 9), (-5, 14), (-16, 16), (-3, -1)):
            t, expected = np.zeros(16), np.zeros(16)
            f(t, m, start, stop)
            lengths_from_outside(expected, m, start, stop)
            assert difference(t, expected) is None, (m, start, stop)
    for width, shape in ((4, (3, 4)), (-4, (5, 4)), (-4, (3, 4))):
        t, expected = np.zeros(shape), np.zeros(shape)
        for function, array in ((g, t), (places_of_flat, expected)):
            try:
                function(array, width)
            except IndexError:
                array[:] = -1
        assert difference(t, expected) is None


def calls_what_runs_in_order(x):
    in_order(x)
    return x.sum()


@ingot.jit(parallel=False)
def in_order(x):
    for i in prange(1, len(x)):
        x[i] = x[i - 1] + 1


def test_prange_is_range_without_parallel():
    x = np.zeros(9)
    in_order(x)
    assert (x == np.arange(9.0)).all()
    assert ingot.jit(calls_what_runs_in_order)(np.zeros(9)) == 36.0
    with pytest.raises(ingot.UnsupportedError, match="prange"):
        ingot.jit(in_order.__wrapped__, parallel=True)(x)
    assert ingot.jit(calls_what_runs_in_order, parallel=False)(np.zeros(9)) == 36.0
    gradient = ingot.grad(ingot.jit(lambda x: sums_and_last(x)[0], parallel=False))
    assert (gradient(np.ones(5)) == 2.0).all()


def sums_and_last(x):
    s, last = 0.0, x[0] * 0
    for i in prange(len(x)):
        s += x[i] + last
        last = x[i]
    return s + last, last


def different_ops_apart(x, h):
    for i in prange(len(x)):
        h[0] += 1
        h[1] ^= i
        h[2] *= 3


def test_different_ops_at_different_elements():
    check(different_ops_apart, np.zeros(3000), np.arange(5))
