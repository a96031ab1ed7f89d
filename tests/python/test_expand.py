"""Iterations that make arrays of their own, in lanes: the arrays of a block of iterations are next to each other."""

import numpy as np
import pytest

import ingot
from support import MODES, check, jitted

COUNTS = (0, 1, 7, 8, 9, 63, 64, 65, 130)


def layer(x, a):
    y = np.empty(len(a))
    for i in range(len(a)):
        s = 0.0
        for j in range(len(x)):
            s += a[i, j] * x[j]
        y[i] = np.tanh(s) + s * s
    return y


def columns(x, a):
    """Each column of x, by steps that go back and forth through arrays of its own."""
    out = np.empty((len(a), x.shape[1]))
    for k in range(x.shape[1]):
        own = np.empty(len(a))
        sums = np.zeros(len(a))
        for i in range(len(a)):
            own[i] = x[i % x.shape[0], k] + a[i]
        for i in range(len(a)):
            for j in range(i + 1):
                sums[i] += own[j] * a[i]
            if own[i] > 0.5:
                sums[i] -= own[len(a) - 1 - i]
        for i in range(len(a)):
            out[i, k] = sums[i] + own[i]
    return out


def of_one_memory(x, a):
    """Views of an iteration's memory that begin at several locations."""
    out = np.empty((len(a), x.shape[1]))
    for k in range(x.shape[1]):
        own = np.zeros(len(a) + 2)
        inner = own[1:-1]
        for i in range(len(a)):
            inner[i] = x[i % x.shape[0], k] * a[i]
        for i in range(len(a)):
            out[i, k] = own[i] - 2.0 * own[i + 1] + own[i + 2]
    return out


def of_narrow_numbers(x, a):
    out = np.empty((len(a), x.shape[1]), np.float32)
    for k in range(x.shape[1]):
        own = np.empty(len(a), np.float32)
        flags = np.zeros(len(a), np.int64)
        for i in range(len(a)):
            own[i] = x[i % x.shape[0], k]
            if own[i] > 0:
                flags[i] = i
        for i in range(len(a)):
            out[i, k] = own[i] * flags[len(a) - 1 - i]
    return out


def of_the_iteration_before(x, a):
    """Iterations that are in order."""
    out = np.zeros((len(a), x.shape[1]))
    for k in range(1, x.shape[1]):
        own = np.empty(len(a))
        for i in range(len(a)):
            own[i] = out[i, k - 1] + x[i % x.shape[0], k]
        for i in range(len(a)):
            out[i, k] = own[len(a) - 1 - i] * a[i]
    return out


def rows(x, a):
    """Each row of x, into a row of the result."""
    out = np.empty((x.shape[0], len(a)))
    for k in range(x.shape[0]):
        own = np.zeros(len(a))
        for i in range(len(a)):
            own[i] = x[k, i % x.shape[1]] * a[i]
        for i in range(len(a)):
            out[k, i] = own[i] - own[len(a) - 1 - i]
    return out


def rows_by_a_choice(x, a):
    """One arm makes an array of its own, and loops in it depend on it."""
    out = np.zeros((x.shape[0] + 1, len(a)))
    for k in range(x.shape[0]):
        own = np.zeros(len(a))
        last = 0.0
        if len(a) > 20:
            other = np.empty(len(a))
            for i in range(len(a)):
                other[i] = x[k, 0] + a[i]
            for i in range(len(a)):
                own[i] = other[len(a) - 1 - i] * a[i]
            last = own[0]
        else:
            for i in range(len(a)):
                own[i] = x[k, i % x.shape[1]] / a[i]
                last = own[i]
        for i in range(len(a)):
            out[k + 1, i] = own[i] * last
    return out


def rows_of_the_iteration_before(x, a):
    """Each row needs the one before."""
    out = np.zeros((x.shape[0] + 1, len(a)))
    for k in range(x.shape[0]):
        own = np.empty(len(a))
        for i in range(len(a)):
            own[i] = out[k, len(a) - 1 - i] + x[k, i % x.shape[1]]
        for i in range(len(a)):
            out[k + 1, i] = own[i] * a[i]
    return out


def rows_that_raise(x, a):
    """The index of the last elements is out of bounds for some lengths."""
    out = np.zeros((x.shape[0], len(a)))
    for k in range(x.shape[0]):
        own = np.zeros(len(a))
        for i in range(len(a)):
            own[i] = x[k, i] * a[i]
        for i in range(len(a)):
            out[k, i] = own[len(a) - 1 - i]
    return out


def rows_of_slices(x, a):
    """Views of a row and of an iteration's memory that begin at several locations."""
    out = np.zeros((x.shape[0], len(a)))
    for k in range(x.shape[0]):
        row = x[k]
        own = np.zeros(2 * len(a) + 2)
        inner = own[1 : len(a) + 1]
        second = own[::2]
        for i in range(len(a)):
            inner[i] += row[i % len(row)] * a[i]
            second[i] -= row[0]
        for i in range(len(a)):
            out[k, i] = own[i] - 2.0 * own[i + 1] + own[i + 2]
    return out


def slices_of_results(x, a):
    """Arrays are written to parts of the result."""
    n = len(a)
    out = np.zeros((2 * x.shape[0] + 2, n))
    turned = np.zeros((n, x.shape[0]))
    for k in range(x.shape[0]):
        own = np.zeros(n)
        for i in range(n):
            own[i] = x[k, i % x.shape[1]] * a[i]
        out[k + 1] = own
        out[x.shape[0] + k, ::-1] = own - x[k, 0]
        turned[:, k] = own * 2.0
    return out[:, : n // 2 + 1] + 0.0, out, turned.T[::-1]


def into_slices(out, x, a):
    for k in range(out.shape[0]):
        own = np.zeros(len(a))
        for i in range(len(a)):
            own[i] = x[k, i] * a[i] + own[i - 1]
        out[k, 1:] = own[:-1] + own[1:]
        out[k] = own[::-1] * a
        out[k, ::2] = own[: (len(a) + 1) // 2]


def into_rows(out, x, a):
    for k in range(out.shape[0]):
        own = np.zeros(len(a))
        for i in range(len(a)):
            own[i] = x[k, i] * a[i] + own[i - 1]
        for i in range(len(a)):
            out[k, i] = own[len(a) - 1 - i]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("vectors", ["scalar", "sse", "avx2"])
@pytest.mark.parametrize(
    "function",
    [rows, rows_by_a_choice, rows_of_the_iteration_before, rows_of_slices, slices_of_results],
    ids=lambda f: f.__name__,
)
def test_rows(function, vectors, monkeypatch):
    monkeypatch.setenv("INGOT_VECTORS", vectors)
    compiled = [jitted(function, mode) for mode in MODES]
    random = np.random.default_rng(8)
    for count in (0, 1, 9, 65, 130):
        for length in (0, 1, 19, 21, 48, 49):
            x, a = random.standard_normal((count, 3)), random.standard_normal(length)
            x[::7, 0], x[::5, 1], a[::11] = -0.0, np.inf, np.nan
            for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::-2]):
                with np.errstate(all="ignore"):
                    wanted = function(given, a)
                for one in compiled:
                    assert in_bytes(one(given, a)) == in_bytes(wanted), (count, length)


def in_bytes(arrays):
    return [each.tobytes() for each in (arrays if isinstance(arrays, tuple) else (arrays,))]


def test_rows_that_raise():
    compiled = [jitted(rows_that_raise, mode) for mode in MODES]
    random = np.random.default_rng(9)
    for count in COUNTS:
        for length in (4, 5):
            x, a = random.standard_normal((count, 4)), random.standard_normal(length)
            for one in compiled:
                if length > x.shape[1] and count > 0:
                    with pytest.raises(IndexError):
                        one(x, a)
                else:
                    assert one(x, a).tobytes() == rows_that_raise(x, a).tobytes()


@pytest.mark.parametrize("function", [into_rows, into_slices], ids=lambda f: f.__name__)
def test_rows_that_overlap(function):
    """Rows of the result that share elements, with each other and with what is read, are written in order."""
    compiled = [jitted(function, mode) for mode in MODES]
    random = np.random.default_rng(10)
    for count in (0, 1, 9, 66):
        for length in (1, 3, 8):
            a = random.standard_normal(length)
            memory = random.standard_normal(2 * (count + 1) * length + 8)

            def view(memory, first, step, count=count, length=length):
                return np.lib.stride_tricks.as_strided(memory[first:], (count, length), (8 * step, 8))

            for step, first, other in ((1, 0, 2), (length, 0, length), (1, 3, 0), (0, 1, 0), (length, 0, 0), (2, 5, 1)):
                wanted = memory.copy()
                function(view(wanted, first, step), view(wanted, other, step), a)
                for one in compiled:
                    got = memory.copy()
                    one(view(got, first, step), view(got, other, step), a)
                    assert got.tobytes() == wanted.tobytes(), (count, length, step, first, other)


def valley(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return total


def valley_of_slices(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.rotated(4)
@pytest.mark.parametrize("function", [valley, valley_of_slices], ids=lambda f: f.__name__)
def test_gradients_of_rows(function):
    """The gradients at many points are those at each of them."""
    one, all_rows = ingot.jit(ingot.grad(function)), ingot.jit(ingot.vmap(ingot.grad(function)))
    random = np.random.default_rng(11)
    for count in (1, 9, 66):
        for length in (1, 2, 3, 16, 31, 33, 48, 50):
            x = random.standard_normal((count, length))
            x[count // 2, length // 2] = np.nan
            windows = np.lib.stride_tricks.sliding_window_view(x.ravel(), length)
            for given in (x, np.asfortranarray(x), x[:, ::-1], windows):
                wanted = np.stack([one(np.ascontiguousarray(row)) for row in given])
                assert np.array_equal(all_rows(given), wanted, equal_nan=True), (count, length)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("vectors", ["scalar", "sse", "avx2"])
@pytest.mark.parametrize("function", [columns, of_one_memory, of_narrow_numbers, of_the_iteration_before], ids=lambda f: f.__name__)
def test_values(function, vectors, monkeypatch):
    monkeypatch.setenv("INGOT_VECTORS", vectors)
    compiled = [jitted(function, mode) for mode in MODES]
    random = np.random.default_rng(5)
    for count in COUNTS:
        for length in (1, 5, 40):
            x, a = random.standard_normal((3, count)), random.standard_normal(length)
            for one in compiled:
                assert one(x, a).tobytes() == function(x, a).tobytes(), (count, length)


def test_arrays_that_a_cache_does_not_hold():
    random = np.random.default_rng(6)
    x, a = random.standard_normal((3, 70)), random.standard_normal(6_000)
    assert ingot.jit(of_one_memory)(x, a).tobytes() == of_one_memory(x, a).tobytes()


def first_stored_again(x, out):
    n = out.shape[1]
    for k in range(out.shape[0]):
        own = np.zeros(n)
        for i in range(n):
            own[i] = x[k, i]
        for i in range(n):
            out[k, i] = own[i]
        out[k, 0] = 7.0


def ends_stored_again(x, out):
    n = out.shape[1]
    for k in range(out.shape[0]):
        own = np.zeros(n)
        for i in range(n):
            own[i] = x[k, i] * 2
        for i in range(n):
            out[k, i] = own[i]
            out[k, n - 1 - i] = own[i] + 1
        out[k, 0] = 7.0


@pytest.mark.parametrize("function", [first_stored_again, ends_stored_again])
@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_elements_of_short_rows_that_are_stored_again(function, columns):
    for rows in (1, 7, 8, 9, 13, 40):
        check(function, np.random.default_rng(rows).standard_normal((rows, columns)), np.zeros((rows, columns)))


@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
def test_jacobians(mode):
    """Of so many columns, in blocks and what is left of them."""
    random = np.random.default_rng(7)
    for inputs, outputs in ((1, 1), (3, 9), (9, 3), (64, 64), (65, 66), (130, 7), (7, 130)):
        x, a = random.standard_normal(inputs), random.standard_normal((outputs, inputs)) / inputs
        s = a @ x
        wanted = (1 - np.tanh(s) ** 2 + 2 * s)[:, None] * a
        got = getattr(ingot, mode)(layer)(x, a)
        assert got.shape == wanted.shape
        assert np.allclose(got, wanted, rtol=1e-11, atol=1e-13)
