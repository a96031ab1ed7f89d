"""Loops that become one, go into the nests in them, or carry arrays of one shape (src/transform/loops/fuse_nests.cpp,
interchange.cpp, slot_shapes.cpp): values, mutations and exceptions stay those of statements one after the other."""

import numpy as np
import pytest

from support import check, jitted, needs_lanes, windows

LENGTHS = [0, 1, 63, 64, 65, 1023, 2049, 5000]
SHAPES = [(0, 5), (5, 0), (1, 1), (7, 130), (130, 7), (3, 5000), (5000, 3), (2, 30, 40)]


def numbers(*shape, dtype="f8"):
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) * 7 % 251 / 64 - 1).astype(dtype)


def loops_of(function, *arguments):
    """The numbers of `for` in the IR before and after nests are fused."""
    f = jitted(function)
    f(*arguments)
    passes = dict(f.specialisations[0].compile(texts=True)["passes"])
    return passes["dce"].count(" for "), passes["fuse_nests"].count(" for ")


# Statements one after the other.


def chain(y, w):
    y *= 2
    y += w
    y[y > 1] = 0.25
    y -= w * y


def copied_chain(x, w):
    y = x.copy()
    y *= 2
    y += w
    y[y < 0] *= -1
    y[y > 1] = 1
    return y


def two_arrays(x, v):
    x += v * 0.25
    v -= x * 0.25
    x += v * 0.5


def neighbours(x, w):
    x *= 2
    x[1:] += w[:-1]
    x[:-1] -= x[1:] * 0.5
    w += x


def sums_between(x):
    x += 1
    total = x.sum()
    x *= total
    return total, x.max()


@pytest.mark.parametrize("function", [chain, copied_chain, two_arrays, neighbours], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.sampled(6)
def test_statements(function, dtype):
    if dtype == "c16" and function in (chain, copied_chain):
        pytest.skip("complex numbers have no order")
    for n in LENGTHS:
        check(function, numbers(n, dtype=dtype), numbers(n, dtype=dtype) + 1)
    for n in (1, 100):
        check(function, numbers(2 * n, dtype=dtype)[::2], numbers(n, dtype=dtype)[::-1])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES)
def test_statements_on_planes(shape):
    for function in (chain, copied_chain, two_arrays):
        check(function, numbers(*shape), numbers(*shape) + 1)
        check(function, np.asfortranarray(numbers(*shape)), numbers(*shape) + 1)
        check(function, numbers(*shape), numbers(*shape[1:]))
    check(sums_between, numbers(*shape) if 0 not in shape else np.ones((2, 2)))


def test_statements_become_one_loop():
    before, after = loops_of(copied_chain, numbers(100), numbers(100))
    assert before >= 4
    assert after == 1


def test_arguments_that_overlap():
    def both(a, b):
        a += 1
        b *= 2
        a -= b

    for n in (10, 3000):
        x = numbers(n + 8)
        for first, second in ((x[:n], x[3 : n + 3]), (x[3 : n + 3], x[:n]), (x[:n], x[:n]), (x[n - 1 :: -1], x[:n])):
            check(both, first, second)


@pytest.mark.rotated(3)
def test_what_a_failing_statement_leaves():
    def fails(y, w):
        y *= 2
        y += w
        y *= 3

    def catches(x, w):
        y = x.copy()
        try:
            y *= 2
            y += w
        except ValueError:
            y -= 1
        return y

    def keeps(x, w):
        made = []
        for i in range(3):
            y = x + i
            made.append(y)
            try:
                y *= 2
                y += w
            except ValueError:
                y -= 1
        return np.array(made)

    def fails_between(x, w):
        y = x.copy()
        y *= 2
        if len(w) > len(x):
            raise KeyError(len(w))
        y += w
        return y

    for function in (fails, catches, keeps, fails_between):
        check(function, numbers(100), numbers(100))
        check(function, numbers(100), numbers(99))
        check(function, numbers(100), numbers(101))


def test_integers_and_places():
    def counts(at, n):
        total = np.zeros(n, np.int64)
        seen = np.zeros(n, np.int32)
        for i in range(n):
            total[i] = i
        for i in range(n):
            seen[at[i]] += 1
        for i in range(n):
            total[i] += seen[i]
        return total, seen

    def backwards(x):
        for i in range(len(x)):
            x[i] += 1
        for i in range(len(x)):
            x[len(x) - 1 - i] *= 2
        for i in range(len(x) - 1):
            x[i + 1] += x[i]

    for n in (0, 1, 5, 1000):
        check(counts, np.arange(n)[::-1] // 2, n)
        check(backwards, numbers(n))


# Loops around nests.


def convolved(x, kernel):
    rows, columns = kernel.shape
    out = np.zeros((x.shape[0] - rows + 1, x.shape[1] - columns + 1))
    for i in range(rows):
        for j in range(columns):
            out += kernel[i, j] * x[i : i + out.shape[0], j : j + out.shape[1]]
    return out


def filtered(x, taps):
    out = np.zeros(len(x) - len(taps) + 1)
    for k in range(len(taps)):
        out += taps[k] * x[k : k + len(out)]
    return out


def steps(x, v, n):
    for _ in range(n):
        v -= 0.125 * x
        x += 0.125 * v


def smoothed(x, n):
    for _ in range(n):
        x[1:-1] = 0.5 * (x[:-2] + x[2:])


def shifted(x, n):
    for i in range(n):
        x[: len(x) - i] += x[i:] * 0.5


def products(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def rows_added(x, n):
    total = np.zeros(x.shape[1])
    for i in range(n):
        total += x[i]
    return total


@pytest.mark.rotated(2)
@pytest.mark.sampled(12)
@pytest.mark.parametrize("n", LENGTHS)
def test_steps(n):
    for count in (0, 1, 3, 4, 9):
        check(steps, numbers(n), numbers(n) + 1, count)
        check(steps, numbers(2 * n)[::2], numbers(n)[::-1], count)
        check(shifted, numbers(n), min(count, n))
        check(smoothed, numbers(n), count)
    for count in (1, 2, 5):
        if n >= count:
            check(filtered, numbers(n), numbers(count))
    x = numbers(n + 3)
    check(steps, x[:n], x[3:], 5)


@pytest.mark.parametrize("shape", [(5, 5), (5, 400), (400, 6), pytest.param((70, 3000), marks=pytest.mark.slow)])
@pytest.mark.sampled(4)
def test_planes(shape):
    for kernel in ((1, 1), (3, 3), (5, 4), (4, 5)):
        check(convolved, numbers(*shape), numbers(*kernel))
        check(convolved, np.asfortranarray(numbers(*shape)), numbers(*kernel).T.copy().T)
    for count in (0, 1, 3, 4, 9):
        check(steps, numbers(*shape), numbers(*shape) + 1, count)
        check(steps, np.asfortranarray(numbers(*shape)), numbers(*shape) + 1, count)
    check(products, numbers(*shape), numbers(shape[1], 50))
    check(rows_added, numbers(*shape), shape[0])
    check(rows_added, numbers(*shape), shape[0] + 1)


def test_an_iteration_that_fails():
    def added(out, x):
        for i in range(5):
            out += x[i : i + len(out)]

    def added_with_reason(out, x):
        for i in range(5):
            if i == 3:
                raise ValueError(i)
            out += x[i : i + len(out)]

    for n in (50, 5000):
        for more in (0, 3, 4, 5):
            check(added, numbers(n), numbers(n + more))
            check(added_with_reason, numbers(n), numbers(n + more))


@needs_lanes
def test_taps_are_one_pass():
    """Windows whose lengths are written in two ways are of one length: all taps of a row are added in one nest."""
    for taps in ((3, 3), (4, 5), (7, 7)):
        f = jitted(convolved)
        f(numbers(20, 30), numbers(*taps))
        passes = dict(f.specialisations[0].compile(texts=True)["passes"])
        assert passes["fuse_nests"].count(" store ") == 2  # zeros, and all taps of a row


def moved_on(x, n):
    for _ in range(n):
        x[1:] = x[:-1]


@needs_lanes
def test_loops_around_go_inside():
    def loops(function, *arguments):
        f = jitted(function)
        f(*arguments)
        passes = dict(f.specialisations[0].compile(texts=True)["passes"])
        return [passes[name].count("schedule=independent") for name in ("dce", "interchange")]

    for function, arguments in ((filtered, (numbers(100), numbers(5))), (steps, (numbers(100), numbers(100), 3))):
        before, after = loops(function, *arguments)
        assert before < after
    # What an iteration writes is what the next one reads elsewhere.
    before, after = loops(moved_on, numbers(9), 3)
    assert before == after


# Rows that are reduced, and gone through again.


def normed(x):
    spread = np.sqrt(np.var(x, axis=1, keepdims=True) + 0.5)
    return (x - np.mean(x, axis=1, keepdims=True)) / spread


def normed_in_place(x):
    x -= x.mean(axis=1)[:, None]
    x /= np.sqrt((x * x).sum(axis=1) + 0.5)[:, None]


def normed_into(x, out):
    out[...] = x - x.sum(axis=1)[:, None]
    out /= 0.5 + np.abs(out).max(axis=1)[:, None]


def of_the_next_row(x):
    total = x.sum(axis=1)
    y = np.zeros_like(x)
    y[1:] = x[1:] * total[:-1, None]
    return y, x * total[::-1, None]


def rows_by_loops(x, total, out):
    for i in range(x.shape[0]):
        total[i] = x[i].sum()
    for i in range(x.shape[0]):
        out[i] = x[i] * total[i]


def rows_backwards(x, total, out):
    for i in range(x.shape[0]):
        total[i] = x[i].sum()
    for i in range(x.shape[0]):
        out[i] = x[x.shape[0] - 1 - i] * total[i]


def rows_that_fail(x, w, most):
    total = x.sum(axis=1)
    x -= total[:, None]
    if total.max() > most:
        raise ValueError(most)
    x *= w
    return x / np.abs(x).sum(axis=1)[:, None]


def sums_again(x, n):
    first = x.sum(axis=1)
    for i in range(n):
        x[i] += x.sum(axis=1)[i]
    second = x.sum(axis=1)
    x[:, 0] = first - second
    return first, second, x.sum(axis=1)


@pytest.mark.rotated(3)
@pytest.mark.sampled(6)
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (7, 13), (300, 10), (50, 400), (3, 20000)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_rows_again(shape, dtype):
    bound = 1e-9 if dtype == "f8" else 1e-3
    x = numbers(*shape, dtype=dtype)
    for each in (x, np.asfortranarray(x), numbers(2 * shape[0], shape[1], dtype=dtype)[::-2], x[:, ::-1]):
        check(normed_in_place, each, bound=bound)
        check(of_the_next_row, each, bound=bound)
        if shape[1] > 0:
            check(normed, each, bound=bound)
            check(normed_into, each, np.empty_like(each), bound=bound)
        if shape[1] > 0 and dtype == "f8":
            check(sums_again, each, min(2, shape[0]), bound=bound)
        check(rows_by_loops, each, np.empty(shape[0], dtype), np.empty_like(each), bound=bound)
        check(rows_backwards, each, np.empty(shape[0], dtype), np.empty_like(each), bound=bound)
    if shape[1] > 0:
        x[shape[0] // 2 :, -1] = np.nan
        check(normed, x, bound=bound)


@pytest.mark.rotated(5)
def test_rows_again_that_overlap():
    for rows, columns in ((40, 30), (300, 7), (9, 3000)):
        base = numbers(rows + 3, columns)
        for x, out in (
            (base[:-3], base[3:]),
            (base[3:], base[:-3]),
            (base[:-3], base[:-3][::-1]),
            (base[:-3], base[:-3]),
        ):
            check(normed_into, x, out, bound=1e-9)
            check(rows_by_loops, x, np.empty(rows), out)
            check(rows_backwards, x, np.empty(rows), out)
            check(rows_by_loops, x, x[:, 0], out)
            check(rows_by_loops, x, base.reshape(-1)[1 : rows + 1], np.empty((rows, columns)))
        flat = numbers(rows * columns)
        overlapping = windows(flat, (rows, columns), (8 * (columns - 1), 8))
        check(normed_in_place, overlapping, bound=1e-9)
        check(normed, windows(flat, (rows, columns), (8, 8)), bound=1e-9)
        check(rows_by_loops, overlapping, np.empty(rows), overlapping)


@pytest.mark.rotated(3)
def test_rows_again_that_fail():
    x = numbers(60, 50)
    for w in (numbers(50), numbers(60, 1), numbers(49)):
        for most in (-1e9, 1e9):
            check(rows_that_fail, x, w, most, bound=1e-9)


@needs_lanes
def test_rows_go_through_the_cache_once():
    f = jitted(normed)
    f(numbers(50, 400))
    passes = dict(f.specialisations[0].compile(texts=True)["passes"])
    before, after = passes["dce"], passes["fuse_nests"]
    # The mean is known when the variance asks for it; all loops go through one strip of rows.
    assert before.count(" parallel_for ") == after.count(" parallel_for ") == 2
    assert [text.count("\n  for ") for text in (before, after)] == [5, 1]


# Arrays that loops carry and branches give.


def logistic(x, n):
    for _ in range(n):
        x = 3.5 * x * (1 - x)
    return x


def until(x, w):
    iterations = 0
    while np.abs(x).max() > 0.01 and iterations < 40:
        x = x * 0.5 + w * 0.001
        iterations += 1
    return x, iterations


def exchanged(u, v, n):
    for _ in range(n):
        u, v = v, u + v
    return u, v


def swapped(u, v, n):
    for _ in range(n):
        u, v = v, u
    return u, v


def turned(x, n):
    for _ in range(n):
        x = x.T * 2
    return x


def turned_view(x, n):
    for _ in range(n):
        x = x.T
    x[:1] += 1
    return x


def shortened(x, n):
    for _ in range(n):
        x = x[1:]
    return x


def thinned(x, n):
    for _ in range(n):
        x = x[::-2] + 1
    return x


def lengthened(x, n):
    for _ in range(n):
        x = np.concatenate((x, x[:1]))
    return x


def widened(x, w, n):
    for _ in range(n):
        x = x + w
    return x


def chosen(x, w, flag):
    y = x * 2 if flag else w
    y[:1] = 7
    return y, y.sum()


def chosen_in_iterations(x, w, n):
    y = x
    for i in range(n):
        if i % 3 == 0:
            y = y + w
        elif i % 3 == 1:
            y = w
        else:
            continue
        if y.sum() > 1e9:
            break
    return y


def nested(x, n):
    for _ in range(n):
        y = x
        for _ in range(2):
            y = y + x
        x = y * 0.5
    return x


def leaves(x, n):
    for i in range(n):
        x = x * 1.5
        if x.size and x.max() > 50:
            return x, i
    return x, -1


@pytest.mark.sampled(16)
@pytest.mark.parametrize("n", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2)), 5])
@pytest.mark.parametrize("shape", [(0,), (1,), (9,), (3000,), (4, 4), (3, 5), (1, 5), (0, 4)])
def test_arrays_that_loops_carry(shape, n):
    x, w = numbers(*shape), numbers(*shape) + 1
    for a in (x, np.repeat(x, 2, axis=-1)[..., ::2], x[::-1], np.asfortranarray(x)):
        for function in (logistic, turned_view, turned, shortened, thinned, lengthened, nested, leaves):
            if function in (thinned, lengthened, shortened) and len(a) < n + 1:
                continue
            check(function, a, n)
        for function in (exchanged, swapped, widened, chosen_in_iterations):
            check(function, a, w, n)
        if a.size:
            check(until, a, w)
        check(chosen, a, w, True)
        check(chosen, a, w, False)
    check(widened, x[:1], w, n)
    check(widened, w, x[:1], n)
    check(chosen_in_iterations, x[:1], w, n)
    check(swapped, x, w[:1], n)


def test_shapes_that_loops_keep_are_known():
    f = jitted(logistic)
    f(numbers(40, 50), 3)
    passes = dict(f.specialisations[0].compile(texts=True)["passes"])
    # One loop over all elements, in one version; and the copy that the iterations write to.
    assert passes["checks"].count("store") == 2
