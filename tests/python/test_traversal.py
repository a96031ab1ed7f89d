"""Loops in an order that suits memory: values, writes and their order stay those of NumPy and of the interpreter,
whatever the layouts of arrays."""

import functools
import itertools

import numpy as np
import pytest

from support import copied, difference, jitted, outcome, windows

SHAPES = [(0, 9), (9, 0), (1, 1), (1, 20), (20, 1), (7, 8), (9, 257), (256, 8), (7, 1025), (257, 1030), (2, 33, 40)]


def layouts(x):
    yield x
    yield np.asfortranarray(x)
    yield np.asfortranarray(x[::-1])[::-1]
    yield np.repeat(x.T, 2, axis=-1)[..., ::2].T
    yield np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2)


def numbers(shape, dtype="f8"):
    g = np.random.default_rng(sum(shape))
    x = g.normal(size=shape) * 9
    return (x + 1j * g.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


@functools.cache
def compiled(function):
    return jitted(function)


@functools.cache
def interpreted(function):
    return jitted(function, "interpreted")


def check(function, *arguments):
    """Compares results and the arguments afterwards, with NumPy's and bit for bit with the interpreter's."""
    seen = []
    for way in (compiled(function), interpreted(function), function):
        given = copied(arguments)
        result, error, _ = outcome(way, given)
        seen.append((result, None if error is None else (type(error), str(error)), given))
    shown = [(a.shape, a.strides) for a in arguments]
    assert difference(seen[0], seen[1]) is None, shown
    assert difference(seen[0], seen[2], 1e-12) is None, shown


def new_arrays(x, y):
    return x + 1, x * y, np.where(x == y, x, y), np.abs(x).T.copy(), x.T * 2


def cheap_ones(x, y):
    return x + y, np.where(x == y, x, y), x.T.copy(), y[::-1] + x, x.T + y.T


def long_ones(x, y):
    return np.exp(np.sin(x * 0.01)), np.exp(x.T * 0.01) + y.T, np.sqrt(np.abs(x * y))


def written(x, y):
    x += 1
    x[:] = x * y
    y[...] = 3
    return x


def written_over(x, y):
    x[:] = y.T[: x.shape[0], : x.shape[1]]
    y += y[::-1]
    x[1:] = x[:-1]


@pytest.mark.sampled(18)
@pytest.mark.parametrize("function", [new_arrays, long_ones, written])
@pytest.mark.parametrize("shape", SHAPES)
def test_elements_are_the_same_in_every_layout(function, shape):
    x, y = numbers(shape), numbers(shape) + 1
    for a, b in itertools.product(layouts(x), list(layouts(y))[:3]):
        check(function, a, b)


@pytest.mark.parametrize("shape", [(3, 9, 20, 17), (9, 9, 17, 8), (2, 2, 2, 2, 3)])
def test_elements_of_many_axes(shape):
    for x in layouts(numbers(shape)):
        check(new_arrays, x, np.asfortranarray(numbers(shape)))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "c8", "c16"])
def test_elements_of_every_size(dtype):
    for x in layouts(numbers((33, 1033), dtype)):
        for y in list(layouts(numbers((33, 1033), dtype)))[:2]:
            check(cheap_ones, x, y)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [1, 8, 9, 1030])
def test_what_is_written_may_be_what_is_read(n):
    for x in list(layouts(numbers((n, n))))[: 5 if n < 100 else 2]:
        check(written_over, x, x)
        check(written_over, x, x.T)
        check(written_over, x, np.asfortranarray(x))


def last_write_wins(x, y):
    x[:] = y


@pytest.mark.parametrize("strides", [(8, 8), (0, 8), (8, 0), (16, 24), (8, 240)])
def test_the_last_write_to_one_place_wins(strides):
    def window():
        return windows(np.zeros(40_000), (30, 1030), strides)

    y = np.asfortranarray(numbers((30, 1030)))
    results = []
    for way in (compiled(last_write_wins), interpreted(last_write_wins)):
        x = window()
        way(x, y)
        results.append(x.copy())
    assert difference(*results) is None
    if strides == (8, 8):
        assert results[0][-1, -1] == y[-1, -1] and results[0][-1, 0] == y[-1, 0]


def whole(x):
    return np.sum(x), np.max(x), np.sum(x * x + x), np.any(x > 20), np.prod(x)


def whole_of_turned(x):
    return whole(x.T)


@pytest.mark.rotated(2)
@pytest.mark.sampled(24)
@pytest.mark.parametrize("shape", [(3, 2049), (300, 2100), (20, 2050), (2, 40, 9), (0, 3000), (5000, 3)])
@pytest.mark.parametrize("dtype", ["i8", "i2", "f4", "f8", "c16"])
def test_whole_arrays_have_one_value_in_each_layout(shape, dtype):
    x = numbers(shape, dtype)
    for a in layouts(x):
        expected = outcome(interpreted(whole), (a,))
        result, error, _ = outcome(compiled(whole), (a,))
        assert difference(result, expected[0]) is None and str(error) == str(expected[1]), a.strides


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_whole_arrays_are_summed_in_their_layout(dtype):
    x = numbers((300, 2100), dtype)
    as_it_lies = compiled(whole)(x)
    for a in (np.asfortranarray(x.T), x.T):
        assert difference(compiled(whole)(a), as_it_lies) is None
    cube = numbers((4, 5, 90), dtype)
    assert difference(compiled(whole_of_turned)(cube), compiled(whole)(cube)) is None


def mixed(x, y):
    return np.sum(x * y.T), (x + y.T).sum(axis=1), (x * y.T).sum(axis=0)


@pytest.mark.rotated(4)
def test_arrays_of_different_orders_join():
    for shape in [(20, 2100), (70, 33)]:
        x, y = numbers(shape), numbers(shape[::-1])
        for a, b in itertools.product(layouts(x), layouts(y)):
            assert difference(compiled(mixed)(a, b), interpreted(mixed)(a, b)) is None


def of_rows(x, y):
    z = x * y + 1
    return z, -z, np.sum(x - y), np.max(x), np.any(x > y)


def in_place_of_rows(x, y):
    x += y
    x[1:] *= x.dtype.type(1)
    return x.sum()


@pytest.mark.sampled(30)
@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (1, 1), (1, 7), (9, 1), (11, 3), (4, 3, 2), (3, 1, 5)])
@pytest.mark.parametrize("dtype", ["?", "u1", "f4", "f8", "c16"])
def test_short_rows(shape, dtype):
    """Arrays without gaps are iterated over by the number of their elements, others by their axes."""
    rng = np.random.default_rng(6)
    x, y = (rng.integers(0, 9, shape).astype(dtype) for _ in range(2))
    apart = np.repeat(y, 2, axis=-1)[..., ::2]
    for function in (of_rows, in_place_of_rows):
        if (0 in shape or dtype in ("?", "c16")) and function is of_rows:
            function = elements
        for other in (y, apart, np.asfortranarray(y), y[:1], y[..., :1], y[::-1]):
            if other.size or function is elements:
                check(function, x, other)
                check(function, np.asfortranarray(x), other)


def elements(x, y):
    return np.where(x == y, x, y), x.sum()


def dear(m, d, r):
    return (m[None, :, None] * d / np.exp(r[:, :, None]) ** 1.5).sum(axis=1), np.sqrt(r)[:, :, None] + d


def test_what_is_repeated_is_computed_once():
    rng = np.random.default_rng(7)
    check(dear, rng.random(20), rng.random((20, 20, 3)), rng.random((20, 20)))
    check(dear, rng.random(1), rng.random((1, 1, 1)), rng.random((1, 1)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", [None, 0, 1023, 1024, 2500, 99_999])
def test_any_and_all_stop(place):
    x = np.zeros(100_000)
    if place is not None:
        x[place] = 1
    check(lambda a: (np.any(a), np.any(a > 0), np.all(a == 0), np.all(1 - a), np.any(a, where=a >= 0)), x)
    check(lambda a: (np.any(a, axis=0), np.all(a == 0, axis=1)), x.reshape(4, -1))
