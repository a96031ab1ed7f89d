"""Arrays evaluated where they are used, and the orders of iteration over what is reduced: the values stay those of NumPy and of
the interpreter, whatever is evaluated again, in another order of memory, or not at all.
"""

import numpy as np
import pytest
from support import MODES, check, difference, jitted

SHAPES = [(0, 9), (9, 0), (1, 1), (3, 9), (33, 10), (1030, 17), (5, 1200), (260, 8), (2, 40, 9), (1, 1100, 3), (0, 3, 9)]
DTYPES = ["?", "i1", "u8", "f2", "f4", "f8", "c8", "c16"]
SLOW_DTYPES = ["u8", "f2", "f4", "c8"]  # those that have a wider one of their kind


def layouts(x):
    yield x
    yield np.asfortranarray(x)
    yield np.repeat(x, 2, axis=-1)[..., ::2][::-1]


def array(shape, dtype):
    g = np.random.default_rng(len(shape))
    x = np.where(g.random(shape) < 0.3, -0.0, g.normal(size=shape) * 3)
    with np.errstate(all="ignore"):
        return (x + 1j * g.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def first_axis(x):
    return np.sum(x, axis=0), np.prod(x, axis=0), np.any(x, axis=0)


def last_axis(x):
    return np.sum(x, axis=-1), np.prod(x, axis=-1), np.all(x, axis=-1), np.max(x * x, axis=-1)


def turned(x):
    y = np.swapaxes(x, 0, 1)
    return np.sum(y, axis=-1), np.min(y * y, axis=-1), np.sum(x + x, axis=1), np.sum(y[..., :1] * y, axis=-1)


def two_axes(x):
    return np.sum(x, axis=(0, 1)), np.sum(x), np.all(x)


def outer_axes(x):
    return np.sum(x, axis=(0, -1)), np.sum(x * x + x, axis=0)


def extremes(x):
    return np.max(x, axis=0), np.min(x), np.max(x, axis=(0, 1))


def with_row(x):
    return np.sum(x * x[:1] + x, axis=0), np.sum(x - x[:1])


@pytest.mark.sampled(48)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [first_axis, last_axis, turned, two_axes, outer_axes, extremes, with_row])
@pytest.mark.parametrize("dtype", [pytest.param(d, marks=pytest.mark.slow) if d in SLOW_DTYPES else d for d in DTYPES])
def test_every_way_through_an_array_has_the_same_value(function, dtype):
    compiled, interpreted = jitted(function), jitted(function, "interpreted")
    for shape in SHAPES:
        for x in layouts(array(shape, dtype)):
            got, expected = [], []
            for f, outcome in ((compiled, got), (interpreted, expected)):
                try:
                    outcome.append(f(x))
                except Exception as error:
                    outcome.append((type(error), str(error)))
            assert difference(got, expected) is None, (shape, x.strides)


def columns(x):
    return np.sum(x, axis=0), np.mean(x[0]), np.sum(x * 2.0, axis=0)


def column_sums(x):
    return np.sum(x, axis=0), np.sum(x)


def product_with_vector(x, v):
    return x.T @ v, np.dot(x.T, v), (x.T * v).sum(axis=1), (v * x.T).sum(axis=1)


@pytest.mark.rotated(4)
def test_sums_along_an_axis_have_one_order():
    """In all layouts that are not known when compiling that of C order; in each layout that of the interpreter."""
    g = np.random.default_rng(4)
    compiled, interpreted = ([jitted(f, mode) for f in (product_with_vector, last_axis, columns)] for mode in ("compiled", "interpreted"))
    for shape in [(9, 33), (2050, 9), (8, 1), (1, 8), (700, 300), (129, 3), (17, 40)]:
        x, v = g.normal(size=shape), g.normal(size=shape[0])
        unknown = (np.repeat(x.T, 3, axis=1)[:, ::3].T, np.repeat(x, 2, axis=1)[:, ::2])
        for one, other, arguments in zip(compiled, interpreted, ((v,), (), ()), strict=True):
            expected = other(x, *arguments)
            for z in (x, *unknown):
                assert difference(one(z, *arguments), expected) is None, (shape, z.strides)
            for z in (np.asfortranarray(x), x[::-1], x[:, ::-1]):
                assert difference(one(z, *arguments), other(z, *arguments)) is None, (shape, z.strides)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("axes", [0, 1, 2, (0, 1), (0, 2), (1, 2)])
def test_sums_of_arrays_of_three_axes_have_numpys_layouts(axes):
    x = np.random.default_rng(5).integers(-9, 9, (5, 130, 7)).astype(float)
    for mode in MODES:
        function = jitted(lambda y: (y.sum(axis=axes), np.sum(y, axis=axes, where=y > 0)), mode)
        for z in (x, np.asfortranarray(x), x.transpose(1, 0, 2), x.transpose(2, 0, 1), x[:, ::2], x[:0], x[:, :0]):
            for got, wanted in zip(function(z), (z.sum(axis=axes), np.sum(z, axis=axes, where=z > 0)), strict=True):
                assert np.array_equal(got, wanted)
                assert z.size == 0 or not z.flags.forc or got.strides == wanted.strides


@pytest.mark.parametrize("shape", [(3000, 20), (7, 300), (300, 9)])
def test_sums_are_numpys_within_their_rounding(shape):
    x = np.random.default_rng(1).random(shape)
    check(column_sums, x, bound=1e-13)
    check(column_sums, (x * 1000).astype(np.int32))


def pairs(p):
    d = p[:, :, None] - p[:, None, :]
    return np.sqrt(d[0] * d[0] + d[1] * d[1])


def shifted(x):
    y = x * 2.0
    return y[1:] - y[:-1], y[::-1] + y


def written_between(x):
    y = x + 1.0
    z = y[1:] * y[:-1]
    x[:] = 0.0
    return z, y[::2] - y[1::2]


@pytest.mark.parametrize("n", [0, 1, 2, 9, 100])
def test_what_is_evaluated_again_has_the_same_value(n):
    g = np.random.default_rng(2)
    check(pairs, g.random((2, n)))
    check(shifted, g.random(n + 1))
    check(written_between, g.random(2 * n + 2))


def chain(x):
    # fmt: off
    x = x + x[::-1]; x = x * x[::-1]; x = x - x[::-1]; x = x + x[::-1]; x = x * x[::-1]; x = x + x[::-1]
    x = x + x[::-1]; x = x * x[::-1]; x = x - x[::-1]; x = x + x[::-1]; x = x * x[::-1]; x = x + x[::-1]
    x = x + x[::-1]; x = x * x[::-1]; x = x - x[::-1]; x = x + x[::-1]; x = x * x[::-1]; x = x + x[::-1]
    x = x + x[::-1]; x = x * x[::-1]; x = x - x[::-1]; x = x + x[::-1]; x = x * x[::-1]; x = x + x[::-1]
    # fmt: on
    return x


def test_a_chain_is_not_evaluated_again_and_again():
    x = np.random.default_rng(3).random(50) * 0.1
    check(chain, x)
    text = jitted(chain).explain(x)
    loops = text[text.index("=== loop IR") : text.index("=== LLVM IR")]
    assert loops.count(" = load ") <= 8 * 24


def two_results(x):
    a = x * 2 + 1
    b = np.sqrt(x) - a
    return a, b


def leapfrog(x, v, dt):
    a = np.sin(x)
    w = v - dt * a
    return x + dt * w, w, a


def moments(x):
    return x.sum(), x.max(), (x * x).mean(), x.mean()


def rows_and_columns(x):
    y = np.exp(x) / (1 + x * x)
    return np.sum(y * x, axis=1), np.max(y, axis=1), np.sum(y, axis=0), np.max(y - x, axis=0)


def polar(x, y):
    r = np.sqrt(x * x + y * y)
    return x / r, y / r, r


def chosen_twice(x, y):
    d = np.log(x / y)
    below = np.where(d > 0.0, 2.0 + np.exp(d), np.exp(-d))
    return x * below + y, y * (5.0 + below) + x


def turned_and_straight(x):
    y = np.exp(x)
    return y.T * 2, y + x, y - x[::-1], y


def normalised(x):
    y = x - x.mean()
    z = y / np.sqrt((y * y).mean())
    return y, z, (z * z).sum(), z.max()


def changed_after(x):
    a = np.exp(x)
    b = a * 3
    c = a[::-1] * 2
    a[0] = 5
    d = a * 3
    return a, b, c, d


def changed_between(x):
    a = np.exp(x)
    b = a * 3
    x[:] = 1
    c = np.exp(x) + a
    a[1:] = b[:-1]
    a += c
    return a, b, c, x


def kept_in_branch(x, flag):
    a = np.exp(x)
    b = a + x
    s = b.sum()
    if flag:
        a[:1] = s
        b = b * a
    for _ in range(3):
        b = b + a
        a[:1] += 1
    return a, b, s


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [0, 1, 2, 7, 100, 1030, 2100])
@pytest.mark.sampled(4)
def test_what_is_written_by_one_nest_has_numpys_values(n):
    g = np.random.default_rng(n)
    x, y = g.random(n) + 0.1, g.random(n) + 0.1
    bound = 1e-12
    check(two_results, x, bound=bound)
    check(leapfrog, x, y, 0.1, bound=bound)
    check(moments, x, bound=bound)
    check(moments, (x * 100).astype(np.int32), bound=bound)
    check(polar, x, y[::-1], bound=bound)
    check(normalised, x, bound=bound)
    check(chosen_twice, x, y, bound=bound)
    check(chosen_twice, x, y[:1], bound=bound)
    for function in (changed_after, changed_between):
        check(function, x, bound=bound)
    for flag in (False, True):
        check(kept_in_branch, x, flag, bound=bound)


@pytest.mark.rotated(2)
@pytest.mark.parametrize("shape", [(1, 1), (3, 9), (40, 33), (1100, 3), (5, 1200)])
@pytest.mark.sampled(6)
def test_arrays_of_two_axes_are_written_by_one_nest(shape):
    x = np.random.default_rng(1).random(shape)
    for layout in layouts(x):
        check(rows_and_columns, layout, bound=1e-12)
        check(turned_and_straight, layout, bound=1e-12)
        check(polar, layout, layout[::-1], bound=1e-12)


def nests_of(function, *arguments):
    """The outermost loops of a function."""
    text = jitted(function).explain(*arguments)
    lines = text[text.index("=== loop IR") : text.index("=== LLVM IR")].splitlines()
    depths = [len(line) - len(line.lstrip()) for line in lines]
    shared = [depth == 4 and "share %" in before for depth, before in zip(depths, ["", *lines])]
    return sum("for %" in line and (depth == 2 or is_shared) for line, depth, is_shared in zip(lines, depths, shared))


@pytest.mark.rotated(3)
def test_arrays_of_the_same_lengths_are_written_by_one_nest():
    x = np.random.default_rng(1).random((40, 50))
    assert nests_of(two_results, x[0]) == 1
    assert nests_of(leapfrog, x[0], x[1], 0.1) == 1
    assert nests_of(polar, x, x) <= 2
    assert nests_of(moments, x[0]) == 1
    assert nests_of(chosen_twice, x[0] + 0.5, x[1] + 0.5) == 1
    assert nests_of(normalised, x[0]) <= 5


def test_arrays_that_share_nothing_are_written_separately():
    x = np.random.default_rng(1).random((3, 50))
    assert nests_of(lambda x, y: (x + 1, y + 2), x[0].copy(), x[1].copy()) == 2
