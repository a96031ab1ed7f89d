"""The ways that `ingot.parallel` takes for functions that are ufuncs, and gathers: the same bits as the manual's order."""

import functools
import math
import operator
import types

import ingot
import numpy as np
import pytest
from ingot import parallel
from test_parallel_functions import BLOCK, RUN, add, all_ways, by_python, lanes_total, numbers, running, same

pytestmark = [pytest.mark.rotated(2), pytest.mark.filterwarnings("ignore:overflow encountered")]


def times(a, b):
    return a * b


def documented(a, b):
    """The sum of two numbers."""
    return a + b


class Sum:
    def add(self, a, b):
        return b + a

    def __call__(self, a, b):
        return a + b


def halved(f):
    @functools.wraps(f)
    def half(a, b):
        return f(a, b) * 0.5

    return half


def without_nan(a, b):
    if math.isnan(a):
        return b
    return a if math.isnan(b) else a + b


@pytest.mark.parametrize("n", (1, RUN, RUN + 1, 1023, 1024, 1025, 3 * 1024 + 77))
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_order_of_sums_of_floats(n, dtype):
    """Runs of 128 up to 128 elements, else 32 lanes in blocks of 1024."""
    x = numbers(n, dtype)
    for f in (add, operator.add, operator.iadd, np.add, ingot.jit(add), lambda p, q=2: q + p, documented):
        same(all_ways("reduce", f, x), lanes_total(add, x))
    for f in (times, operator.mul, operator.imul, np.multiply, ingot.jit(times), lambda a, b: b * a):
        same(all_ways("reduce", f, 1 + x / 100), lanes_total(times, 1 + x / 100))
    same(all_ways("reduce", add, x, dtype(0.5)), add(dtype(0.5), lanes_total(add, x)))
    same(all_ways("reduce", add, parallel.transformed(lambda a: a * a, x)), lanes_total(add, x * x))
    same(all_ways("reduce", add, parallel.reversed(x)), lanes_total(add, x[::-1]))
    same(ingot.jit(lambda x: parallel.reduce(add, x[::-2]))(x), lanes_total(add, x[::-2]))


@pytest.mark.parametrize("n", (RUN, RUN + 1, 5000))
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_sums_that_are_other_functions_keep_their_runs(n, dtype):
    """What is not an addition by its code is combined in runs, by both ways."""
    x = numbers(n, dtype)
    sums = (
        lambda a, b: a + b + dtype(0),
        lambda a, b: a + b if a < 1e30 else a,
        lambda a, b: a + b if a.item() < 1e30 else a,
        lambda a, b: dtype(a) + dtype(b),
        lambda a, b: a.astype(dtype) + b,
        lambda a, b: -(-a - b),
        lambda *given: given[0] + given[1],
        lambda a, b, c=0: a + b,
        functools.partial(add),
        Sum().add,
        Sum(),
    )
    for f in sums:
        same(all_ways("reduce", f, x), running(add, x)[1])
    same(all_ways("reduce", lambda a, b: a, x), x[0])
    same(all_ways("reduce", lambda a, b: b, x), x[-1])
    half = halved(add)
    same(all_ways("reduce", half, x), running(lambda a, b: (a + b) * 0.5, x)[1])
    holes = np.where(np.arange(n) % 7 == 3, dtype(np.nan), x)
    same(all_ways("reduce", without_nan, holes), running(without_nan, holes)[1])
    assert parallel.reduce(lambda a, b: a + 0.5 * b, numbers(3, np.int64)) == functools.reduce(lambda a, b: a + 0.5 * b, numbers(3, np.int64))


def test_callable_objects():
    for x in (numbers(3000), numbers(3000, np.int64)):
        same(all_ways("reduce", Sum(), x), running(add, x)[1])
        same(ingot.jit(lambda x: parallel.reduce(Sum(), x))(x), running(add, x)[1])
        same(all_ways("scan", Sum(), x), np.array(running(add, x)[0]))


@ingot.jit
def sums_of_functions_made_here(x):
    def own(a, b):
        """A sum."""
        return a + b

    def more(a, b):
        c = a + b
        return c

    one = 1

    def other(a, b):
        return a + b * one

    return (
        parallel.reduce(lambda a, b: b + a, x),
        parallel.reduce(own, x),
        parallel.reduce(lambda a, b: a + b if True else a, x),
        parallel.reduce(more, x),
        parallel.reduce(other, x),
        parallel.reduce(lambda a, b, *others: a + b, x),
    )


def test_functions_made_in_compiled_functions():
    x = numbers(5000)
    lanes, runs = lanes_total(add, x), running(add, x)[1]
    assert lanes != runs
    found = sums_of_functions_made_here(x)
    assert found == (lanes, lanes, lanes, runs, runs, runs)
    module = types.SimpleNamespace(reduce=by_python("reduce"))
    plain = types.FunctionType(sums_of_functions_made_here.__wrapped__.__code__, {"parallel": module})
    assert plain(x) == found


def counting(x):
    calls = np.zeros(1, np.int64)

    def counted(a, b):
        calls[0] += 1
        return a + b

    return parallel.reduce(counted, x), calls[0]


def counting_in_variables(x):
    count, seen = 0, []

    def counted(a, b):
        nonlocal count
        count += 1
        seen.append(count)
        return a + b

    return parallel.reduce(counted, x), count, len(seen)


@pytest.mark.parametrize("f", (counting, counting_in_variables))
def test_how_often_functions_are_called(f):
    """As often as there are elements after the first one, whatever they do."""
    plain = types.FunctionType(f.__code__, {**globals(), "parallel": types.SimpleNamespace(reduce=by_python("reduce"))})
    for n in (2, RUN, RUN + 1, 3000):
        for x in (numbers(n), numbers(n, np.int64)):
            found = ingot.jit(f)(x)
            assert found == plain(x)
            assert found[1:] == (n - 1,) * (len(found) - 1)
            same(found[0], running(add, x)[1])


def test_elements_of_another_dtype_keep_their_runs():
    x = np.random.default_rng(6).integers(0, 2**56, 5000)
    same(all_ways("reduce", add, x, 0.5), running_total(x, np.float64(0.5)))
    y = numbers(5000, np.float32)
    same(all_ways("reduce", add, y, np.float64(0.5)), running_total(y, np.float64(0.5)))
    same(all_ways("reduce", add, y, 0.5), np.float32(0.5) + lanes_total(add, y))


def running_total(x, init):
    """Runs of 128 elements, combined in the dtype of `init`, and then with it in order."""
    total = init
    for start in range(0, len(x), RUN):
        total += functools.reduce(add, x[start : start + RUN].astype(init.dtype))
    return total


def test_warnings_of_few_elements():
    x = np.full(RUN, 1e308)
    with pytest.warns(RuntimeWarning, match="overflow encountered in scalar add"):
        assert by_python("reduce")(add, x) == np.inf


@pytest.mark.parametrize("dtype", (np.bool_, np.int8, np.uint8, np.int64, np.uint64))
def test_any_order_gives_the_same(dtype):
    """Of integers, whose sums and products wrap."""
    x = np.random.default_rng(1).integers(0, 256, BLOCK + 300).astype(dtype)
    functions = (operator.or_, operator.and_, operator.xor, max, min) + (() if dtype is np.bool_ else (add, times, np.maximum))
    for f in functions:
        with np.errstate(all="ignore"):
            found, last, _ = running(f, x)
        same(all_ways("reduce", f, x), last)
        same(all_ways("scan", f, x), np.array(found, dtype))
        same(all_ways("reduce", f, x[::-3].copy()[::-1]), running(f, x[::-3][::-1])[1])


@pytest.mark.parametrize("f", (max, min, lambda a, b: a if a >= b else b, lambda a, b: b if b < a else a))
def test_nan_and_signs_of_zeros_are_those_of_the_order(f):
    rng = np.random.default_rng(2)
    for x in (np.where(rng.random(3000) < 0.5, 0.0, -0.0), -abs(np.where(rng.random(3000) < 0.99, 0.0, numbers(3000))), numbers(3000)):
        for at in ((), (0,), (RUN,), (5, 2 * RUN), (2999,)):
            y = x.copy()
            y[list(at)] = np.nan
            expected = running(f, y)[1]
            result = all_ways("reduce", f, y)
            assert np.isnan(result) == np.isnan(expected) and (np.isnan(result) or (result == expected and np.signbit(result) == np.signbit(expected)))


def test_sums_of_zeros():
    for n in (1, RUN, RUN + 1, 5000):
        zeros = np.full(n, -0.0)
        assert np.signbit(all_ways("reduce", add, zeros))
        zeros[n // 2] = 0.0
        assert not np.signbit(all_ways("reduce", add, zeros)) or n == 1
    assert not np.signbit(all_ways("reduce", add, np.tile([1.0, -1.0], 500)))


def test_scans_of_many_integers():
    x = numbers(2**21 + 5 * BLOCK + 3, np.int64)
    same(parallel.scan(add, x), np.cumsum(x))
    same(parallel.scan(add, x[: 2**21 - 1], 5, exclusive=True), np.append(5, 5 + np.cumsum(x[: 2**21 - 2])))
    out = x.copy()
    same(parallel.scan(max, out[:-1], out=out[1:]), np.maximum.accumulate(x[:-1]))


def test_derivatives_and_batches_of_sums():
    x = numbers(3000)
    value, slope = ingot.value_and_grad(lambda x: parallel.reduce(add, x * x))(x)
    same(value, lanes_total(add, x * x))
    same(slope, 2 * x)
    near_one = 1 + x / 1000
    np.testing.assert_allclose(ingot.grad(lambda x: parallel.reduce(times, x))(near_one), np.prod(near_one) / near_one, rtol=1e-10)
    slope = ingot.grad(lambda x: parallel.reduce(max, x))(x)
    assert slope[x.argmax()] == 1.0 and np.count_nonzero(slope) == 1
    rows = x.reshape(3, 1000)
    same(ingot.vmap(lambda row: parallel.reduce(add, row))(rows), np.array([lanes_total(add, row) for row in rows]))


@pytest.mark.parametrize("f", (max, np.maximum, lambda a, b: a if a > b else b, lambda a, b: a if a >= b else b))
def test_slopes_of_equal_elements(f):
    """Those of the order, for each length."""
    for n in (RUN, RUN + 1, 300):
        x = np.where(np.isin(np.arange(n), (3, 9, 40)), 2.0, -1.0)
        slope = ingot.grad(lambda x: parallel.reduce(f, x))(x)
        expected = np.zeros(n)
        if f is np.maximum:
            expected[[3, 9, 40]] = 0.25, 0.25, 0.5
        else:
            expected[3 if math.copysign(1, f(0.0, -0.0)) > 0 else 40] = 1.0  # the first of equal ones, or the last
        same(slope, expected)
        same(ingot.jvp(lambda x: parallel.reduce(f, x), (x,), (np.arange(float(n)),))[1], np.sum(expected * np.arange(n)))


@pytest.mark.parametrize("f", (np.maximum, np.minimum))
def test_the_first_of_two_nan(f):
    x = np.array([np.nan, -np.nan, np.nan, -np.nan, np.nan, 1.0, -np.nan, 1.0, 2.0])
    y = np.array([-np.nan, np.nan, np.nan, -np.nan, 1.0, np.nan, 1.0, -np.nan, 3.0])
    for dtype in (np.float32, np.float64):
        a, b = x.astype(dtype), y.astype(dtype)
        same(ingot.jit(lambda a, b: np.signbit(f(a, b)))(a, b), np.signbit(f(a, b)))


def test_gathers():
    x = numbers(100_000)
    for dtype in (np.int8, np.uint16, np.int64, np.uint64):
        index = np.random.default_rng(3).integers(0, 100, 300_000).astype(dtype)
        same(all_ways("gather", x[:100], index[:500]), x[index[:500]])
        same(parallel.gather(x, index), x[index])
        same(parallel.gather(x[::-2], index[::-3]), x[::-2][index[::-3]])
    index = np.random.default_rng(4).integers(-len(x), len(x), 300_000)
    same(parallel.gather(x, index), x[index])
    same(parallel.gather((x, x.astype(np.int32)), index), (x[index], x.astype(np.int32)[index]))
    for bad in (len(x), -len(x) - 1, 2**62, -(2**63)):
        wrong = index.copy()
        wrong[[200_000, 250_000]] = bad, -(2**40)
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size {len(x)}"):
            parallel.gather(x, wrong)
    with pytest.raises(IndexError):
        parallel.gather(x[:0], index)
    assert len(all_ways("gather", x[:0], index[:0])) == 0
    slope = ingot.grad(lambda x: parallel.reduce(add, parallel.gather(x, index) * 2.0))(x)
    same(slope, 2.0 * np.bincount(index % len(x), minlength=len(x)))
    rows = x.reshape(10, -1)
    same(ingot.vmap(lambda row: parallel.gather(row, index[:50] % 100))(rows), rows[:, index[:50] % 100])


@ingot.jit
def first_or_all(x, index):
    try:
        return parallel.gather(x, index)
    except IndexError:
        return x


def test_gathers_in_try():
    x = np.arange(3.0)
    same(first_or_all(x, np.array([0, -1])), x[[0, -1]])
    same(first_or_all(x, np.array([0, 5])), x)
