"""Reverse mode of loops: arrays that iterations pass on, iterations in any order, views that are swapped."""

import numpy as np
import pytest

import ingot
from support import MODES
from test_derivatives import compare

RNG = np.random.default_rng(26)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def halved(s, n):
    for _ in range(int(n)):
        s = s + 0.1 * np.sin(s)
    return np.sum(s * s)


def two_species(s, p):
    for _ in range(4):
        s = s + 0.1 * np.array([p[0] * s[0] - p[1] * s[0] * s[1], p[2] * s[0] * s[1] - p[3] * s[1]])
    return s


def until_small(s):
    while s[0] > 0.3:
        s = s * 0.7 + 0.01 * s[::-1]
    return np.sum(s * s)


def chosen(s):
    for i in range(5):
        if i % 2 == 0:
            s = np.sin(s)
        else:
            s = s * s[1]
    return s


def maybe_replaced(s):
    t = s
    for i in range(3):
        if s[i] > 0.5:
            t = t * s
    return np.sum(t * t)


def written_before_it_is_handed_on(s):
    for i in range(3):
        t = s * 0.5
        t[0] = s[1] * s[0]
        t[1:] += s[:-1]
        s = t
    return s


def written_after_it_is_handed_on(s):
    t = s
    for i in range(3):
        old = t
        t = t * 2.0
        old[0] = 0.25  # the first iteration writes into the argument
    return np.sum(t * s)


def written_by_another_name(s):
    t = s * 1.0
    kept = t
    for i in range(3):
        kept[i] = kept[i] * 0.5
        t = t + kept
    return t


def shapes_that_change(s):
    t = s[:2] * 1.0
    for _ in range(3):
        t = np.concatenate((t, s * t[0]))
    return np.sum(t * t)


def rows_of_matrices(m):
    for i in range(3):
        m = np.sin(m) + m[0] * m[:, i : i + 1]
    return m


def in_an_outer_loop(s):
    total = 0.0
    for i in range(3):
        t = s * s[i]
        for _ in range(i + 1):
            t = np.cos(t) * s
        total += np.sum(t)
    return total


def pairs_handed_on(s):
    u = s * 1.0
    v = s * 0.5
    for _ in range(4):
        u, v = v + 0.1 * u, u * v
    return np.sum(u * v)


def one_name_for_two(s):
    u = s * 1.0
    v = u
    for _ in range(3):
        w = u * v
        u, v = w, w
    return np.sum(u + v * s)


def growing(s):
    kept = []
    for _ in range(3):
        s = np.sin(s) * 1.5
        kept.append(s)
    return kept[0] * kept[2] + kept[1]


CARRIED = {
    f.__name__: f
    for f in (
        until_small,
        chosen,
        maybe_replaced,
        written_before_it_is_handed_on,
        written_after_it_is_handed_on,
        written_by_another_name,
        shapes_that_change,
        in_an_outer_loop,
        pairs_handed_on,
        one_name_for_two,
        growing,
    )
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.sampled(8)
def test_arrays_that_iterations_pass_on(name, mode):
    compare(CARRIED[name], RNG.uniform(0.4, 0.9, 5), mode=mode)
    if name != "written_after_it_is_handed_on":
        compare(CARRIED[name], RNG.uniform(0.4, 0.9, 10)[::-2], mode=mode)


@pytest.mark.rotated(3)
@pytest.mark.parametrize("mode", MODES)
def test_states_and_parameters(mode):
    compare(two_species, RNG.uniform(0.4, 0.9, 2), RNG.uniform(0.4, 0.9, 4), mode=mode)
    compare(lambda s: halved(s, 3), RNG.uniform(0.4, 0.9, 5), mode=mode)
    compare(lambda s: halved(s, 0), RNG.uniform(0.4, 0.9, 5), mode=mode)
    compare(rows_of_matrices, RNG.uniform(0.4, 0.9, (3, 4)), mode=mode)
    compare(rows_of_matrices, np.asfortranarray(RNG.uniform(0.4, 0.9, (3, 4))), mode=mode)


def test_a_result_that_is_the_argument():
    def f(s, n):
        for _ in range(n):
            s = s * s
        return s

    for n in (0, 1, 3):
        x = RNG.uniform(0.5, 0.9, 4)
        value, pull = ingot.vjp(lambda s: f(s, n), x)
        np.testing.assert_allclose(value, x ** (2**n))
        np.testing.assert_allclose(pull(np.ones(4))[0], 2**n * x ** (2**n - 1))


def neighbours(x):
    t = 0.0
    for i in range(len(x) - 1):
        a = x[i + 1] - x[i] * x[i]
        t += a * a + (1.0 - x[i]) ** 3
    return t


def stencil(x, c):
    y = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        y[i] = x[i] + c * (x[i - 1] - 2.0 * x[i] + x[i + 1]) * x[0]
    return y


def in_place(x, c):
    for i in range(len(x)):
        x[i] = np.sin(x[i]) * c
    return x


def in_place_after_a_look(x, c):
    s = 0.0
    for i in range(len(x)):
        x[i] = x[i] * c
        s += x[i] * x[i]
    return s * x[0]


def under_conditions(x, c):
    s = 0.0
    for i in range(len(x) - 1):
        if x[i] > 0.6:
            s += x[i] * x[i + 1] * c
        elif x[i] > 0.5:
            s -= np.sqrt(x[i + 1] - x[i] + 1.0)
    return s


def triangle(x, c):
    t = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            t += c * x[i] * x[j] / (1.0 + (x[i] - x[j]) ** 2)
    return t


def table(x, k):
    s = 0.0
    for i in range(len(x)):
        s += x[int(k[i]) % len(x)] * x[i] + x[len(x) - 1 - i]
    return s


def product_and_sum(x, c):
    p = 1.0
    s = 0.0
    for i in range(len(x)):
        p *= 0.5 + x[i]
        s += x[i] * p
    return s * c


def extremes(x, c):
    high = -1.0
    for i in range(len(x)):
        high = max(high, x[i] * c)
    return high


def squares(x, c):
    m = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in range(1, len(x)):
            m[i, j] = x[i] * x[j] - c * x[j - 1]
    return np.sum(m * m)


def neighbours_of_rows(x, c):
    m = np.outer(x, x)
    out = np.zeros_like(m)
    for i in range(1, m.shape[0] - 1):
        for j in range(1, m.shape[1] - 1):
            out[i, j] = c * (m[i - 1, j] + m[i + 1, j] + m[i, j - 1] + m[i, j + 1]) - m[i, j] * m[i, j]
    return out


def running(x, c):
    for i in range(1, len(x)):
        x[i] = x[i] + c * x[i - 1]
    return x


def fixed_in_both(x, c):
    s = 0.0
    for i in range(3):
        a = x[0]
        for j in range(len(x)):
            s += x[j] * a * c
    return s


def prange_sum(x, c):
    s = 0.0
    for i in ingot.prange(len(x) - 1):
        s += np.sin(x[i]) * x[i + 1] * c
    return s


LOOPS = {
    f.__name__: f
    for f in (
        stencil,
        in_place,
        in_place_after_a_look,
        under_conditions,
        triangle,
        product_and_sum,
        extremes,
        squares,
        neighbours_of_rows,
        running,
        fixed_in_both,
        prange_sum,
    )
}


@pytest.mark.parametrize("length", [0, 3, 40])
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.sampled(6)
def test_iterations_in_any_order(name, length):
    if length == 0 and name in ("extremes", "in_place_after_a_look", "stencil", "fixed_in_both"):
        return
    compare(LOOPS[name], RNG.uniform(0.4, 0.9, length), 0.7, tol=1e-5)


@pytest.mark.parametrize("name", LOOPS)
def test_iterations_in_any_order_interpreted(name):
    compare(LOOPS[name], RNG.uniform(0.4, 0.9, 34), 0.7, tol=1e-5, mode="interpreted")


def test_many_iterations():
    x = RNG.uniform(0.4, 0.9, 2600)
    compare(neighbours, x, tol=1e-4)
    compare(stencil, x, 0.3, tol=1e-4)
    compare(under_conditions, x[:2100], 0.3, tol=1e-3)
    k = RNG.integers(0, 2600, 2600).astype(float)
    a = ingot.grad(table)(x, k)
    expected = np.bincount(k.astype(int), x, 2600) + x[k.astype(int)] + 1.0
    np.testing.assert_allclose(a, expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.complex128])
def test_iterations_in_any_order_of_other_dtypes(dtype):
    def f(x):
        s = x[0] * 0.0
        for i in range(len(x) - 1):
            s += x[i] * x[i + 1] + x[0] * x[i]
        return s.real

    x = RNG.uniform(0.4, 0.9, 50).astype(dtype)
    if np.iscomplexobj(x):
        x = (x + 1j * RNG.uniform(0.4, 0.9, 50)).astype(dtype)
    expected = np.zeros(50, np.complex128)
    wide = x.astype(np.complex128)
    expected[:-1] += wide[1:] + wide[0]
    expected[1:] += wide[:-1]
    expected[0] += np.sum(wide[:-1])
    got = ingot.grad(f)(x)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected if np.iscomplexobj(x) else expected.real, rtol=2e-2 if dtype == np.float16 else 1e-5)


def swapped(x, c):
    u = x.copy()
    v = x.copy()
    for _ in range(5):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    return np.sum(u * u) + v[1]


def rotated(x, c):
    a, b, d = x * 1.0, x * 2.0, x * x
    for k in range(7):
        for i in range(len(x)):
            d[i] = c * a[i] + b[i] * b[i]
        a, b, d = b, d, a
    return a * b + d


def swapped_in_an_outer_loop(x, c):
    u, v = x * 1.0, x * 0.5
    for k in range(3):
        for _ in range(k):
            v[0] = u[1] * c
            u, v = v, u
        u[1] += v[0]
    return u * v


def swapped_sometimes(x, c):
    u, v = x * 1.0, x * 0.5
    for k in range(6):
        if k % 3 != 1:
            u, v = v, u
        u[k % 2] = u[k % 2] * v[1] + c
    return u * v


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [swapped, rotated, swapped_in_an_outer_loop, swapped_sometimes])
@pytest.mark.sampled(3)
def test_views_that_are_swapped(f, mode):
    for length in (4, 40):
        compare(f, RNG.uniform(0.4, 0.9, length), 0.3, mode=mode, tol=1e-4)
    compare(lambda x, c: ingot.grad(lambda y: np.sum(f(y, 0.3)))(x) * c, RNG.uniform(0.4, 0.9, 4), 0.3, mode=mode, tol=1e-4)


def test_extremes_over_prange():
    def f(x):
        high = -1.0
        s = 0.0
        for i in ingot.prange(len(x)):
            high = max(high, x[i] * x[1])
            s += x[i]
        return high * s

    x = np.array([0.3, 0.5, 0.9, 0.7])
    expected = np.full(4, 0.45) + 2.4 * np.array([0.0, 0.9, 0.5, 0.0])
    np.testing.assert_allclose(ingot.grad(f)(x), expected)

    def product(x):
        p = 1.0
        for i in ingot.prange(len(x)):
            p *= x[i]
        return p

    np.testing.assert_allclose(ingot.grad(product)(x), np.prod(x) / x)
    direction = np.array([1.0, 2.0, -1.0, 0.5])
    np.testing.assert_allclose(ingot.jvp(f, (x,), (direction,))[1], expected @ direction)
    with pytest.raises(ingot.UnsupportedError, match="iterations may depend on each other"):
        ingot.jvp(product, (x,), (x,))


def diagonal_handed_on(x):
    m = x * 2.0
    d = np.diagonal(m)
    t = x[0]
    s = 0.0
    for _ in range(3):
        m[0, 0] = m[1, 1] * m[0, 0]
        s += t[0]
        t = d
    return s


def part_handed_on(x):
    m = x * (1.0 + 0.5j)
    t = x[0]
    s = 0.0
    for _ in range(3):
        m[0, 0] = m[1, 1] * m[0, 0]
        s += t[0]
        t = m.imag[0]
    return s


def repeated_handed_on(x):
    m = x[0] * 1.0
    t = np.broadcast_to(m, (3, 2))
    u = np.broadcast_to(m[::-1], (3, 2))
    s = 0.0
    for _ in range(2):
        s += np.sum(t)
        m[0] = m[0] * 0.5
        t, u = u, t
    return s


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [diagonal_handed_on, part_handed_on, repeated_handed_on])
def test_other_views_that_are_handed_on(f, mode):
    compare(f, np.array([[1.0, 0.1], [0.2, 0.7]]), mode=mode)


def test_arrays_that_overlap_in_one_variable():
    def f(x, y):
        t = x if y[1] > 0 else y
        x[0] = 0.5 * x[0]
        return t[1] * y[0]

    b = np.array([2.0, 3.0])
    with pytest.raises(ingot.UnsupportedError, match="may overlap another"):
        ingot.jvp(f, (b, b), (np.ones(2), np.ones(2)))
    assert ingot.grad(f)(b.copy(), b.copy())[1] == 2.0


@pytest.mark.parametrize("mode", MODES)
def test_loops_next_to_their_derivative(mode):
    """What is not there before two loops is no memory that they have in common."""

    def final(p, n):
        s = np.eye(2)
        for _ in range(n):
            gain = np.linalg.solve(s + p[0], s)
            s = s - gain * p[1]
        return s.sum()

    def beside(p, n):
        return final(p, n), ingot.jvp(lambda q: final(q, n), (p,), (np.ones(2),))[1], ingot.jacfwd(lambda q: final(q, n))(p), ingot.grad(final)(p, n)

    point, h = np.array([1.3, 0.2]), 1e-6
    slopes = [(final(point + d, 3) - final(point - d, 3)) / (2 * h) for d in h * np.eye(2)]
    value, slope, forward, reverse = ingot._calls.function.Function(beside, mode=mode)(point, 3)
    np.testing.assert_allclose(value, final(point, 3), rtol=1e-12)
    np.testing.assert_allclose(slope, sum(slopes), rtol=1e-6)
    np.testing.assert_allclose((forward, reverse), (slopes, slopes), rtol=1e-6)
