"""The ways that `ingot.parallel` takes for functions that are ufuncs, and what threads gather: the same bits as the manual's order."""

import functools
import operator

import ingot
import numpy as np
import pytest
from ingot import parallel
from test_parallel_functions import BLOCK, RUN, add, all_ways, by_python, lanes_total, numbers, running, same

pytestmark = [pytest.mark.rotated(2), pytest.mark.filterwarnings("ignore:overflow encountered")]


def times(a, b):
    return a * b


class Scale:
    def add(self, a, b):
        return b + a


@pytest.mark.parametrize("n", (1, RUN, RUN + 1, 1023, 1024, 1025, 3 * 1024 + 77))
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_order_of_sums_of_floats(n, dtype):
    """Runs of 128 up to 128 elements, else 32 lanes in blocks of 1024."""
    x = numbers(n, dtype)
    for f in (add, operator.add, np.add, Scale().add, functools.partial(add)):
        same(all_ways("reduce", f, x), lanes_total(add, x))
    same(parallel.reduce(ingot.jit(add), x), lanes_total(add, x))
    same(all_ways("reduce", times, 1 + x / 100), lanes_total(times, 1 + x / 100))
    same(all_ways("reduce", add, x, dtype(0.5)), add(dtype(0.5), lanes_total(add, x)))
    same(all_ways("reduce", add, parallel.transformed(lambda a: a * a, x)), lanes_total(add, x * x))
    same(all_ways("reduce", add, parallel.reversed(x)), lanes_total(add, x[::-1]))
    same(ingot.jit(lambda x: parallel.reduce(add, x[::-2]))(x), lanes_total(add, x[::-2]))


def test_sums_that_are_other_functions_keep_their_runs():
    """What is more than an addition, or asks what it adds, is combined in runs."""
    x = numbers(5000)
    seen = []

    def counted(a, b):
        seen.append(1)
        return a + b

    for f in (lambda a, b: a + b + 0.0, lambda a, b: a + b if a < 1e300 else a, lambda a, b: -(-a - b)):
        same(all_ways("reduce", f, x), running(add, x)[1])
    same(all_ways("reduce", lambda a, b: a, x), x[0])
    same(all_ways("reduce", lambda a, b: b, x), x[-1])
    assert by_python("reduce")(counted, x) == lanes_total(add, x)
    assert parallel.reduce(lambda a, b: a + 0.5 * b, numbers(3, np.int64)) == functools.reduce(lambda a, b: a + 0.5 * b, numbers(3, np.int64))


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


def test_what_threads_gather():
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
