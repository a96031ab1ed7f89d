"""Sequences of `ingot.parallel`: indices from the end, and the dtypes of what is combined."""

import functools

import numpy as np
import pytest

import ingot
from ingot import parallel
from ingot._operations import alike


def test_indices_from_the_end_of_what_counts():
    """What has no length of its own has that of what is next to it."""
    x, key = np.array([10, 11, 12, 13]), ingot.random.PRNGKey(0)
    pair = (x, parallel.counting())

    def chosen(x, index):
        pair = (x, parallel.counting())
        products = parallel.transformed(lambda a, b: 100 * a + b, *pair)
        nested = (x, parallel.transformed(lambda i: i * i, parallel.counting()))
        return parallel.gather(pair, index), parallel.gather(products, index), parallel.gather(nested, index), parallel.zipped(*pair)[-1]

    for index in (np.array([-1, 3, -4]), np.array([-1, 3, -4], np.int8)):
        for f in (chosen, ingot.jit(chosen)):
            (values, numbers), products, nested, last = f(x, index)
            assert values.tolist() == [13, 13, 10] and numbers.tolist() == [3, 3, 0]
            assert products.tolist() == [1303, 1303, 1000] and nested[1].tolist() == [9, 9, 0] and last == (13, 3)
    drawn = parallel.gather((x, parallel.random(ingot.random.uniform, key)), [-1, 3])[1]
    assert drawn[0] == drawn[1]
    for i in (4, -5):
        for ask in (lambda i: parallel.zipped(*pair)[i], lambda i: parallel.gather(pair, [i])):
            with pytest.raises(IndexError, match="out of bounds for 4 elements"):
                ask(i)
    assert parallel.permuted(parallel.counting(5), [-1, 2])[0] == 4


def test_indices_of_small_dtypes_from_either_end():
    x = np.arange(1000.0)
    index = np.array([3, -1], np.int8)
    assert parallel.gather(parallel.reversed(x), index).tolist() == [996.0, 0.0]
    parallel.scatter(np.array([-1.0, -2.0]), index, parallel.reversed(x))
    assert (x[996], x[0]) == (-1.0, -2.0)


def ints(a, b):
    return int(a) + int(b)


@pytest.mark.parametrize("compiled", [False, True])
def test_dtypes_of_init_where_the_function_returns_numbers_of_python(compiled):
    def all_of(x, keys, offsets, init):
        return (
            parallel.reduce(ints, x, init),
            parallel.scan(ints, x, init),
            parallel.segmented_reduce(ints, x, offsets, init),
            parallel.segmented_scan(ints, x, offsets, init),
            parallel.group_by_reduce(ints, keys, x, init)[1],
        )

    f = ingot.jit(all_of) if compiled else all_of
    results = f(np.array([1, 2], np.int8), np.zeros(2, np.int64), np.array([0, 0, 2]), np.int64(1000))
    assert [np.asarray(r).tolist() for r in results] == [1003, [1001, 1003], [1000, 1003], [1001, 1003], [1003]]
    assert {r.dtype for r in results} == {np.dtype(np.int64)}


def test_dtypes_of_init_of_exclusive_scans():
    def scans(x, y):
        first = parallel.scan(ints, x, 0.5, exclusive=True), parallel.scan(lambda a, b: a > b, x, 0.5, exclusive=True)
        return *first, parallel.scan(lambda a, b: abs(a - b), y, 2j, exclusive=True)

    for f in (scans, ingot.jit(scans)):
        numbers, bools, absolute = f(np.array([7, 8]), np.array([7.0, 8.0]))
        assert numbers.tolist() == [0.5, 7.0] and bools.tolist() == [0.5, 0.0]
        assert absolute.tolist() == [2j, abs(2j - 7.0)]


def _holders(h):
    """Functions that call one, which holds a number, in each way in which they may hold it."""
    jitted, pair = ingot.jit(h), (h,)
    return {
        "closure": lambda v: h(v),
        "jitted": lambda v: jitted(v),
        "itself": jitted,
        "tuple": lambda v: pair[0](v),
        "default": lambda v, h=h: h(v),
        "keyword": lambda v, *, h=h: h(v),
        "partial": functools.partial(lambda h, v: h(v), h),
        "keyword of a partial": functools.partial(lambda v, h: h(v), h=h),
    }


@pytest.mark.parametrize("kind", list(_holders(lambda v: v)))
def test_what_is_compiled_for_many_has_no_variables_of_one(kind):
    """A function is compiled for all that do the same: the first one may change its number, as a thread does meanwhile."""

    def made(c):
        h = lambda v: v * c  # noqa: E731

        def change(value):
            h.__closure__[0].cell_contents = value

        return _holders(h)[kind], change

    (f, change), (g, _) = made(2.0), made(2.0)
    first = alike.first_of(f)
    assert alike.first_of(g) is first
    change(5.0)
    assert first(1.0) == 2.0 and f(1.0) == 5.0
    assert alike.first_of(f) is not first and alike.first_of(g) is first


def test_functions_that_change_their_own_variables_are_theirs():
    def made():
        count = 0

        def counted(x):
            nonlocal count
            count += 1
            return 2 * x

        return counted, lambda: count

    def factorial(n):
        return 1 if n <= 1 else n * factorial(n - 1)

    (f, of_f), (g, of_g) = made(), made()
    for function, expected in ((f, (3, 0)), (g, (3, 3)), (f, (6, 3)), (g, (6, 6))):
        assert parallel.map(function, np.arange(3)).tolist() == [0, 2, 4] and (of_f(), of_g()) == expected
    assert parallel.map(factorial, np.arange(5)).tolist() == [1, 1, 2, 6, 24]


@pytest.mark.parametrize("attribute", ["__name__", "__qualname__", "__doc__"])
def test_functions_of_other_names_are_others(attribute):
    def made(text):
        inner = lambda v: v  # noqa: E731
        setattr(inner, attribute, text)
        return lambda x: x + len(getattr(inner, attribute))

    for text in ("a", "three", "a"):
        f = made(text)
        if attribute == "__qualname__":
            assert alike.first_of(f)(0) == len(text)
        else:
            assert parallel.map(f, np.arange(2)).tolist() == [len(text), len(text) + 1]
