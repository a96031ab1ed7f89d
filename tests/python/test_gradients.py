"""The rules of docs/derivatives.md on reverse mode: gradients against forward mode, formulas and each other."""

import math
from typing import NamedTuple

import ingot
import numpy as np
import pytest
from support import jitted
from test_derivatives import compare, drawn, fresh, paired

RNG = np.random.default_rng(25)
X = RNG.uniform(0.3, 0.9, 6)
S = RNG.standard_normal(6)
M = RNG.standard_normal((4, 5))

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def transposed(f, *args, mode="compiled", rtol=1e-9):
    """Reverse mode is the transpose of forward mode, for structures of any kind."""
    copies = ingot.tree.map(fresh, args)
    directions = ingot.tree.map(drawn, args)
    _, tangents = jitted(lambda x, t: ingot.jvp(f, x, t), mode)(ingot.tree.map(fresh, args), directions)
    c = ingot.tree.map(drawn, tangents)
    gradients = jitted(lambda x, c: ingot.vjp(f, *x)[1](c), mode)(copies, c)
    np.testing.assert_allclose(paired(gradients, directions), paired(c, tangents), rtol=rtol, atol=rtol)


class Pair(NamedTuple):
    weight: float
    bias: np.ndarray


@pytest.mark.rotated(3)
def test_gradients_have_the_structure_of_arguments():
    def f(p, d):
        return p.weight * np.sum(p.bias) * d["q"][0] + np.sum(d["q"][1])

    p, d = ingot.grad(f, (0, 1))(Pair(2.0, X), {"q": [1.5, M]})
    assert type(p) is Pair and p.weight == pytest.approx(1.5 * X.sum()) and isinstance(p.weight, float)
    np.testing.assert_allclose(p.bias, np.full(6, 3.0))
    assert d["q"][0] == pytest.approx(2 * X.sum())
    np.testing.assert_array_equal(d["q"][1], np.ones((4, 5)))
    assert ingot.grad(lambda a, b: a * b, -1)(2.0, 3.0) == 2.0
    assert ingot.grad(lambda a, b: a * a * b, (1, 0))(2.0, 2.0) == (4.0, 8.0)
    for dtype in (np.float16, np.float32, np.float64):
        g = ingot.grad(lambda a: (a * a).sum())(X.astype(dtype))
        assert g.dtype == dtype and g.shape == (6,)
        number = ingot.grad(lambda a: a * a)(dtype(3))
        assert type(number) is dtype and number == 6
    for x in (M[::2, ::-1], np.asfortranarray(M), np.broadcast_to(X, (3, 6)), M.T):
        np.testing.assert_allclose(ingot.grad(lambda a: np.sum(a * a * a))(x), 3 * x * x)
    assert ingot.grad(lambda a: a * a)(np.array(3.0)).shape == ()


def test_values_together_with_gradients():
    value, g = ingot.value_and_grad(lambda a: np.sum(a * a))(X)
    assert value == np.sum(X * X)
    np.testing.assert_array_equal(g, 2 * X)
    (value, aux), g = ingot.value_and_grad(lambda a: (np.sum(a * a), {"n": 3, "a": a * 2.0}), has_aux=True)(X)
    assert value == np.sum(X * X) and aux["n"] == 3
    np.testing.assert_array_equal(aux["a"], 2 * X)
    g, aux = ingot.grad(lambda a: (a * a, 7), has_aux=True)(2.0)
    assert (g, aux) == (4.0, 7)


def test_vjp():
    def running(x):
        for i in range(1, x.shape[0]):
            x[i] *= x[i - 1]
        return x

    x = X.copy()
    value, pull = ingot.vjp(running, x)
    np.testing.assert_array_equal(x, value)
    for c in (np.ones(6), np.arange(6.0)):
        expected = [sum(c[k] * np.prod(X[: k + 1]) / X[i] for k in range(i, 6)) for i in range(6)]
        np.testing.assert_allclose(pull(c)[0], expected)
    value, pull = ingot.vjp(lambda a, b: (a * b, np.sin(b)), 2.0, X)
    first, second = pull((np.ones(6), np.zeros(6)))
    assert first == pytest.approx(X.sum())
    np.testing.assert_array_equal(second, np.full(6, 2.0))


def harmonic(x):
    s = 0.0
    for i in range(x.shape[0]):
        s = np.sin(s * x[i]) + x[i] ** 2 / (1.0 + s * s)
    return s


def in_place(x):
    y = x.copy()
    for i in range(1, y.shape[0]):
        y[i] = np.sin(y[i - 1]) * y[i]
    return y


@pytest.mark.rotated(3)
def test_loops():
    def energy(p):
        e = 0.0
        for i in range(p.shape[0]):
            for j in range(p.shape[1]):
                d = p[i, j] - p[i - 1, j - 1]
                e += d * d * np.exp(-d)
        return e

    for f, x in ((harmonic, X), (in_place, X), (energy, M)):
        compare(f, x)
        compare(f, x, mode="interpreted")
        compare(f, x.astype(x.dtype), tol=1e-5)

    def of_one_number(x, c):
        s = 0.0
        for i in range(x.shape[0]):
            s += np.sin(x[i] * c)
        return s

    def handed_on(x):
        s, a, b = 0.0, 1.0, 1.0
        for i in range(x.shape[0]):
            s, a, b = s + a * b, np.sin(a * x[i]), a
        return s

    transposed(of_one_number, np.tile(X, 500), 0.7)
    transposed(handed_on, X)

    def numbers(z):
        s = 1j
        for i in range(z.shape[0]):
            s = s * z[i] + np.abs(z[i]) * z[i].imag
        return s

    transposed(numbers, S[:3] + 1j * S[3:])


def test_values_that_leave_a_test():
    def f(x):
        y, i = x[0], 0
        while (y := y * 0.9) > 0.1:
            i += 1
            if i > 3:
                break
        return y * x[1]

    value, gradient = ingot.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(gradient[:2], [0.9**4 * X[1], 0.9**4 * X[0]])


def test_axes_and_places():
    transposed(lambda x: np.transpose(np.sin(x), (1, 2, 0)) * np.arange(60.0).reshape(4, 5, 3), np.outer(X[:3], M).reshape(3, 4, 5))

    def taken(v, s):
        np.subtract.at(v, np.array([1, 3, 1]), s * v[0])
        return v * v

    transposed(taken, X, S[:3])
    transposed(taken, X, S[:3], mode="interpreted")


def test_irregular_loops():
    def triangle(x):
        s = 0.0
        for i in range(x.shape[0]):
            for j in range(i):
                if x[j] > 0.5:
                    for k in range(j, i):
                        s = s * 0.9 + x[k] * x[j] * x[i] * s + x[i]
        return s

    def newton(x):
        s = 0.0
        for i in range(x.shape[0]):
            y = x[i]
            while abs(y * y - x[i]) > 1e-3:
                y = 0.5 * (y + x[i] / y)
                n = 0
                while n < 2:
                    s = s + y * s * 0.1
                    n += 1
            s += y
        return s

    def grown(x):
        y = x[0]
        while y < 1e6:
            y = y * 1.01 + x[1]
        return y

    def by_tests(x):
        s = 0.0
        for i in range(x.shape[0]):
            y = x[i]
            while (y := np.sin(y) * y) > 0.1:
                s += y * y
            s += y
        return s

    def by_views(x):
        s, k = 0.0, 0
        v, w = x[0, :2], x[:2, :2]
        while k + 2 < x.shape[0]:
            s += v[0] * v[1] * s + w[0, 1] * w[1, 0] * x[k, 0]
            w[0, 1] *= v[0]
            if v[0] > 0.6:
                v, w = x[k + 1, 2:], x[k : k + 2, ::2]
            else:
                v, w = x[k : k + 2, 1], x[k + 1 :, 1:].T
            k += 1
        return s

    for f in (triangle, newton, grown, by_tests, by_views):
        x = M if f is by_views else X
        transposed(f, x)
        transposed(f, x, mode="interpreted")
    compare(grown, X, tol=1e-3)


@pytest.mark.rotated(3)
def test_branches_and_exits():
    def both(x):
        s = 0.0
        for i in range(x.shape[0]):
            if x[i] > 0:
                s = s * x[i] + np.exp(x[i])
            else:
                s = s - x[i] ** 3
        return s

    def left(x):
        s = 0.0
        for i in range(6):
            if x[i] > 1.0:
                break
            if x[i] < -0.5:
                continue
            s += x[i] * x[i] * s + x[i]
        else:
            s *= 2.0
        return s

    def early(x):
        for i in range(6):
            for j in range(i):
                if x[i] * x[j] > 0.2:
                    return x[i] * x[0] * x[j]
        return x[1] * x[2]

    def caught(x):
        s = 0.0
        for i in range(6):
            try:
                if x[i] > 0.5:
                    raise ValueError("large")
                s += x[i] ** 2
            except ValueError:
                s -= x[i] * s
        return s

    def unbound(x):
        for i in range(6):
            y = x[i] * x[0]
        return y

    for f in (both, left, early, caught, unbound, lambda x: x[0] * x[1] if x[2] > 0 else x[3] ** 2):
        for x in (S, -S, 2 * S, X):
            transposed(f, x)
    transposed(left, S, mode="interpreted")


def test_memory():
    def windows(a):
        b = a.copy()
        v = b[1:]
        v *= a[:-1]
        b[::2] = v[0]
        w = b.reshape(2, 3)
        w[0] = w[1] * w[0]
        return b

    def swapped(a):
        b = a.copy()
        c = np.zeros(6)
        for _ in range(4):
            for i in range(1, 5):
                c[i] = b[i - 1] * b[i + 1] + b[i]
            b, c = c, b
        return b + c

    def scattered(x):
        y = np.zeros((3, 2))
        y[[0, 0, 2]] = x.reshape(3, 2)
        np.add.at(y, [1, 1], x[:2])
        y[y > 0.3] *= 2
        y[1] = x[4:]
        return y

    def mixed(x):
        out = np.zeros(3)
        for i in range(6):
            out[i % 3] += x[i] * out[(i + 1) % 3] + x[i]
            if out[i % 3] > 1:
                out[i % 3] = np.sqrt(out[i % 3])
        return out

    def empty(x):
        out = np.empty(3)
        for i in range(3):
            out[i] = x[i] * x[i + 1]
        return out * out

    for f in (windows, swapped, scattered, mixed, empty):
        transposed(f, X)
    transposed(lambda z: z.real * z.imag[::-1] + np.abs(z), S[:3] + 1j * S[3:])


def test_containers():
    class Body:
        def __init__(self, mass):
            self.mass = mass
            self.speed = 0.0

        def push(self, force):
            self.speed += force * self.mass

    def instance(x):
        body = Body(x[0])
        for i in range(6):
            body.push(x[i])
        return body.speed * body.mass

    def listed(x):
        parts = []
        for i in range(5):
            parts.append(x[i] * x[i + 1])
        return parts[0] * parts[3] + sum(parts), (parts[1], {"last": parts[-1]})

    transposed(instance, X)
    transposed(listed, X)


@pytest.mark.rotated(3)
def test_library():
    def softmax(a):
        e = np.exp(a - a.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    functions = [
        softmax,
        lambda a: np.roll(a, 1, axis=0) * np.linalg.norm(a),
        lambda a: np.einsum("ij,kj->ik", a, a),
        lambda a: np.sort(a, axis=0)[::-1] * a.ravel()[np.argmax(a)],
        lambda a: np.cumprod(a, axis=1) + np.prod(a, axis=0) * np.median(a),
        lambda a: ingot.lax.scan(lambda c, v: (c * v + 1.0, c * c), a[0], a),
        lambda a: ingot.lax.fori_loop(0, 4, lambda i, s: s * a[i, 0] + a[0, i], 1.0),
    ]
    for f in functions:
        transposed(f, M)
    transposed(lambda a, b: a @ b, RNG.standard_normal((2, 3, 4)), RNG.standard_normal((4, 5)))
    transposed(lambda a, b: a @ b, RNG.standard_normal((2, 3, 4)), RNG.standard_normal((2, 4, 5)))
    transposed(lambda a, b: a @ b + b.T @ a, RNG.standard_normal(4), RNG.standard_normal((4, 5))[:, 0])


def test_arguments_change():
    def f(x):
        for i in range(1, 6):
            x[i] = x[i] * x[i - 1]
        return x.sum()

    x, y = X.copy(), X.copy()
    value, g = ingot.value_and_grad(f)(x)
    assert value == pytest.approx(f(y), rel=1e-15)
    np.testing.assert_array_equal(x, y)
    e = 1e-6
    for i in range(6):
        step = e * np.eye(6)[i]
        assert g[i] == pytest.approx((f(X + step) - f(X - step)) / (2 * e), rel=1e-6)


def test_views_that_overlap():
    transposed(lambda a: np.tile(a, (2, 3)), M)
    transposed(lambda a: np.repeat(a, 3), X)

    def copied(w):
        n = len(w)
        return np.broadcast_to(w[:, None], (n, n)).copy() * 2.0

    def loaded(w):
        n = len(w)
        b = np.broadcast_to(w[:, None], (n, n))
        s = np.empty((n, n))
        for i in range(n):
            for j in range(n):
                s[i, j] = b[i, j]
        return s

    def added(v, s):
        np.add.at(v, np.arange(len(v)), s)
        return v * v

    transposed(copied, X)
    transposed(loaded, X)
    transposed(added, X, 0.5)
    transposed(lambda a: np.broadcast_to(a, (3, 6)) * np.arange(18.0).reshape(3, 6), X)
    transposed(lambda a: np.lib.stride_tricks.sliding_window_view(a, 3).sum(axis=1) ** 2, X)
    np.testing.assert_array_equal(ingot.grad(lambda a: np.sum(np.tile(a, 3) * np.arange(6.0)))(np.ones(2)), [6.0, 9.0])


def recurrent(w, x):
    h = np.zeros(4)
    for t in range(5):
        h = np.tanh(w @ h + x[t])
    return h


@pytest.mark.rotated(3)
def test_arrays_made_in_loops():
    def until(w, x):
        h = np.ones(4)
        n = 0
        while np.sum(h * h) > 0.5 and n < 7:
            h = np.tanh(w @ h * 0.5 + x[0])
            n += 1
        return h.sum()

    def listed(x):
        parts = []
        for i in range(4):
            parts.append(x * x[i] + (parts[-1] if i > 0 else 1.0))
            parts.append(x[::-1])
        parts[0][1] = x[2]
        s = 0.0
        for part in parts:
            s += np.sum(part * part)
        return s

    def by_key(x):
        parts = {}
        for i in range(3):
            parts[i] = x * float(i)
        return (parts[0] + parts[2] * parts[1]).sum()

    def growing(x):
        y = x
        for _ in range(3):
            y = np.concatenate((y, y * x[0]))
        return y[::5]

    def joined(x):
        for i in range(3):
            x[i] *= np.sum(np.concatenate((np.ones(i), x, np.append(x[:i], 1.5))) ** 2)
        return x

    transposed(recurrent, M[:, :4].copy(), X)
    transposed(until, M[:, :4].copy(), X)
    for f in (listed, by_key, growing, joined):
        transposed(f, X)


def test_parallel_loops():
    def f(x):
        s = 0.0
        out = np.zeros(x.shape[0])
        for i in ingot.prange(x.shape[0]):
            s += np.sin(x[i]) * x[0]
            out[i] = x[i] * x[1] + s * 0.0
        return s, out

    def g(x):
        s = 0.0
        out = np.zeros(x.shape[0])
        for i in ingot.prange(x.shape[0]):
            s += np.sin(x[i]) * x[0]
            out[i] = x[i] * x[1]
        return s * np.sum(out * out)

    transposed(lambda x: g(x), X)
    large = RNG.standard_normal(100_000)
    before = ingot.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            ingot.set_num_threads(threads)
            results.append(ingot.grad(g)(large))
    finally:
        ingot.set_num_threads(before)
    np.testing.assert_array_equal(*results)


def triangular(x, over):
    y = np.empty_like(x)
    for i in over(len(x)):
        t = 0.0
        for k in range(i):
            t = t * x[k] + 0.1
        y[i] = t
    return np.sum(y * y)


def until_break(x, over):
    s, n, m = 0.5, 0, 0
    for i in over(len(x)):
        t = x[i]
        for k in range(100):
            t = np.sin(t) + x[i] * t
            if t > 1.1:
                break
        n += 1
        m = max(m, i % 3)
        s += t * x[i]
    return s * n * (m + 1)


def nested(x, over):
    s, j = 0.0, 0
    while j < 2:
        for i in over(len(x) - j):
            t = 0.0
            for q in over(len(x)):
                u, k = x[q], q % 3
                while k > 0:
                    u, k = u * x[i + j], k - 1
                t += u
            s += t * t
        j += 1
    return s


def of_triangles(x, over):
    s = 1.0
    for i in over(len(x)):
        a = np.sin(x[:i] * x[i])
        a[:1] *= 0.3
        b = np.cos(a) * x[i]
        s += np.sum(b * b)
    return s


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
@pytest.mark.parametrize("f", [triangular, until_break, nested, of_triangles])
@pytest.mark.sampled(10)
def test_parallel_loops_around_irregular_ones(f, mode):
    def g(x):
        return f(x, ingot.prange)

    for n in (0, 1, 7, 70):
        x = RNG.uniform(0.1, 0.9, n)
        value, gradient = jitted(lambda x: ingot.value_and_grad(g)(x), mode)(x)
        assert value == ingot.jit(g)(x)
        np.testing.assert_allclose(gradient, ingot.grad(lambda x: f(x, range))(x), rtol=1e-10)
    direction = RNG.uniform(0.1, 0.9, 5)
    second = jitted(lambda x, d: ingot.hvp(g, (x,), (d,))[0], mode)(X[:5], direction)
    np.testing.assert_allclose(second, ingot.hvp(lambda x: f(x, range), (X[:5],), (direction,))[0], rtol=1e-9)


ORDERS = {
    "loop": (harmonic, X),
    "in place": (lambda x: in_place(x)[-1], X),
    "while": (lambda x: until_large(x), X),
    "arrays": (lambda x: np.sum(np.tanh(x[:, None] * x[None, :]) @ x), X),
    "made in loops": (lambda x: np.sum(recurrent(np.outer(x[:4], x[:4]), x)), X),
}


def until_large(x):
    y = x[0]
    while y < 40.0:
        y = y * 1.3 + np.exp(x[1])
    return y * y


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.sampled(8)
def test_orders(name):
    f, x = ORDERS[name]
    v = RNG.standard_normal(6)
    h = ingot.hessian(f)(x)
    np.testing.assert_allclose(h, h.T, rtol=1e-8, atol=1e-9)
    e = 1e-6
    g = ingot.grad(f)
    np.testing.assert_allclose(h @ v, (g(x + e * v) - g(x - e * v)) / (2 * e), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ingot.hvp(f, (x,), (v,))[0], h @ v, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ingot.grad(lambda x: np.sum(ingot.grad(f)(x) * v))(x), h @ v, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ingot.jacrev(g)(x), h, rtol=1e-8, atol=1e-9)
    if name == "loop":
        d = lambda x: np.sin(x) * x**3
        fourth = ingot.grad(ingot.grad(ingot.grad(ingot.grad(d))))
        x = 1.3
        expected = x**3 * math.sin(x) - 12 * x**2 * math.cos(x) - 36 * x * math.sin(x) + 24 * math.cos(x)
        assert fourth(x) == pytest.approx(expected, rel=1e-12)


def test_gradients_in_programs():
    def fit(x):
        w = x.copy()
        for _ in range(5):
            w -= 0.1 * ingot.grad(harmonic)(w)
        return w

    np.testing.assert_allclose(ingot.jit(fit)(X), fit(X), rtol=1e-12)

    def trained(rate):
        w = np.array([0.3, 0.2])
        for _ in range(4):
            w = w - rate * ingot.grad(lambda w: np.sum(np.sin(w) ** 2))(w)
        return np.sum(w * w)

    e = 1e-6
    assert ingot.grad(trained)(0.3) == pytest.approx((trained(0.3 + e) - trained(0.3 - e)) / (2 * e), rel=1e-6)
    np.testing.assert_allclose(ingot.jit(ingot.grad(ingot.jit(harmonic)))(X), ingot.grad(harmonic)(X))

    def never(x, y):
        if len(x) < 0:
            y = ingot.grad(lambda q: q * q)(y)
        return y * x[0]

    assert ingot.jit(never)(X, 2.0) == 2.0 * X[0]
    assert ingot.grad(never, 1)(X, 2.0) == X[0]


def test_gradients_and_batches():
    lanes = np.stack([X, 2 * X, X[::-1]])
    each = [ingot.grad(harmonic)(x) for x in lanes]
    np.testing.assert_allclose(ingot.vmap(ingot.grad(harmonic))(lanes), each, rtol=1e-12)
    np.testing.assert_allclose(ingot.grad(lambda m: ingot.vmap(harmonic)(m).sum())(lanes), each, rtol=1e-12)
    transposed(lambda m: ingot.vmap(lambda v: np.sum(v * v) * v)(m), M)


def test_jacrev():
    j = ingot.jacrev(lambda x: np.array([x[0] * x[1], np.sin(x[2])]))(X)
    np.testing.assert_allclose(j, [[X[1], X[0], 0, 0, 0, 0], [0, 0, math.cos(X[2]), 0, 0, 0]])
    assert ingot.jacrev(lambda m: m @ m.T)(M).shape == (4, 4, 4, 5)
    np.testing.assert_allclose(ingot.jacrev(lambda m: m @ m.T)(M), ingot.jacfwd(lambda m: m @ m.T)(M), atol=1e-12)
    np.testing.assert_array_equal(ingot.jacrev(lambda x: np.sum(x * x))(X), 2 * X)
    first, second = ingot.jacrev(lambda a, b: a * b, (0, 1))(2.0, X)
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, 2 * np.eye(6))


def test_nothing_to_do():
    nothing = np.zeros(0)
    assert ingot.grad(lambda a: a.sum())(nothing).shape == (0,)
    assert ingot.grad(harmonic)(nothing).shape == (0,)
    assert ingot.grad(lambda a: 3.0)(2.0) == 0.0
    first, second = ingot.grad(lambda a, b: a.sum(), (0, 1))(X, M)
    np.testing.assert_array_equal(first, np.ones(6))
    np.testing.assert_array_equal(second, np.zeros((4, 5)))
    np.testing.assert_array_equal(ingot.grad(lambda a: np.floor(a).sum())(X), np.zeros(6))
    assert ingot.grad(until_large)(np.array([50.0, 1.0]))[0] == 100.0


def test_exceptions_leave_gradients():
    def f(x):
        s = 0.0
        for i in range(3):
            s += x[i] * x[i]
            if s > 100.0:
                raise ValueError("too much")
        return s

    g = ingot.grad(f)
    np.testing.assert_array_equal(g(X)[:3], 2 * X[:3])
    with pytest.raises(ValueError, match="too much"):
        g(100 * X)
    with pytest.raises(IndexError):
        g(X[:2])
    np.testing.assert_array_equal(g(X)[:3], 2 * X[:3])


def test_complex_gradients():
    z = 0.4 + 0.7j
    assert ingot.grad(lambda z: z**3, holomorphic=True)(z) == pytest.approx(3 * z * z)
    assert ingot.grad(lambda z: np.abs(z) ** 2)(z) == pytest.approx(2 * np.conj(z))
    assert ingot.grad(lambda z: z.real * z.imag**2)(z) == pytest.approx(0.49 - 2j * 0.4 * 0.7)
    zs = S[:3] + 1j * S[3:]
    np.testing.assert_allclose(ingot.grad(lambda z: np.sum(z.real * z.imag))(zs), zs.imag - 1j * zs.real)
    g = ingot.grad(lambda z: np.sum(np.exp(z)), holomorphic=True)(zs)
    np.testing.assert_allclose(g, np.exp(zs))
    transposed(lambda z: np.sum(np.exp(z) * np.conj(z)) + z[0].real * z.imag[1], zs)

    def stored(z):
        w = z.copy()
        w.imag[1:] = z.real[:-1]
        w[0] = np.conj(z[2]) * w[1]
        return w

    transposed(stored, zs)
    transposed(lambda x: np.fft.fftshift(x * 1j), X)


def test_errors_of_gradients():
    cases = [
        (lambda: ingot.grad(lambda x: x)(X), TypeError, r"not an array of shape \(6,\)"),
        (lambda: ingot.grad(lambda x: 1)(2.0), TypeError, "gradients are those of real functions"),
        (lambda: ingot.grad(lambda x: 1j * x)(2.0), TypeError, "gradients are those of real functions"),
        (lambda: ingot.grad(lambda x: x * 2)(2), TypeError, "not ints or bools, but got int64. .* or set allow_int"),
        (lambda: ingot.grad(lambda x: x["a"] * 2.0)({"a": True}), TypeError, "grad requires .*, not ints or bools, but got bool"),
        (lambda: ingot.grad(lambda z: z * z, holomorphic=True)(2.0), TypeError, "complex"),
        (lambda: ingot.grad(lambda x: x, 1)(2.0), TypeError, "argnums=1 requires at least 2 positional arguments"),
        (lambda: ingot.vjp(lambda x: x, X)[1](np.ones(3)), ValueError, r"shape \(3,\) for a result of shape \(6,\)"),
        (lambda: ingot.vjp(lambda x: x, 2.0)[1](1j), TypeError, "a complex cotangent for a real result"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()


def test_arms_not_chosen():
    x = np.array([-1.0, 0.0, 4.0])
    np.testing.assert_array_equal(ingot.grad(lambda v: np.sum(np.where(v > 0, np.sqrt(v), 1.25)))(x), [0.0, 0.0, 0.25])

    def by_branch(v):
        s = 0.0
        for i in range(3):
            s += np.sqrt(v[i]) if v[i] > 0 else 0.5
        return s

    def computed_before(v):
        s = 0.0
        for i in range(3):
            a = 1.0 / v[i]
            if v[i] > 0:
                s += a * v[i] * v[i]
        return s

    def twice(v):
        a = np.sqrt(v)
        return np.sum(np.where(v > 0, a, 1.25) + np.where(v > 1, a, 2.0))

    def twice_by_branch(v):
        s = 0.0
        for i in range(3):
            a = np.sqrt(v[i])
            s += (a if v[i] > 0 else 0.5) + (a if v[i] > 1 else 0.25)
        return s

    np.testing.assert_array_equal(ingot.grad(by_branch)(x), [0.0, 0.0, 0.25])
    np.testing.assert_array_equal(ingot.grad(twice)(x), [0.0, 0.0, 0.5])
    np.testing.assert_array_equal(ingot.grad(twice_by_branch)(x), [0.0, 0.0, 0.5])
    np.testing.assert_array_equal(ingot.grad(computed_before)(x), [0.0, 0.0, 1.0])


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_values_that_nobody_uses(mode):
    root = ingot.custom_vjp(np.sqrt)
    root.defvjp(lambda x: (np.sqrt(x), x), lambda x, c: (c / (2.0 * np.sqrt(x)),))

    def of_library(v):
        s = 1.5
        s += v.reshape(1, 3).std(axis=0)
        return np.sum(v)

    def stored(v):
        s, t = np.empty(3), 0.0
        for i in range(3):
            s[i] = np.sqrt(v[i])
            t += v[i]
        return t, s

    def carried(v):
        s, t, i = 1.0, 0.0, 0
        while i < 3:
            s = s / v[i]
            if v[i] < 1:
                t, s = t + v[i], s * np.log(v[i])
            i += 1
        return t, s

    def by_rule(v):
        return np.sum(v), root(v)

    def in_parallel(v):
        s, t = 0.0, 0.0
        for i in ingot.prange(3):
            s += np.sqrt(v[i])
            t += v[i]
        return t, s

    assert np.all(jitted(lambda v: ingot.grad(of_library)(v), mode)(np.zeros(3)) == 1)
    for f in (stored, carried, by_rule, in_parallel):
        assert np.all(jitted(lambda v: ingot.grad(f, has_aux=True)(v)[0], mode)(np.zeros(3)) == 1), f
    used = jitted(lambda v: ingot.grad(lambda x: np.sum(x) + np.sum(np.sqrt(x) * 0.0))(v), mode)
    assert np.all(np.isnan(used(np.zeros(3))))


@pytest.mark.slow
def test_routines_in_programs():
    a = RNG.standard_normal((3, 3)) + 3 * np.eye(3)
    s, b = a @ a.T, RNG.standard_normal(3)

    def steps(a, v):
        for i in range(3):
            if v[0] > -100.0:
                v = np.linalg.solve(a, v) + np.linalg.det(a) * 0.01 * i
        return v

    transposed(steps, a, b)
    transposed(lambda a: (np.linalg.inv(a), np.linalg.slogdet(a)), a)
    transposed(lambda s: (np.linalg.eigh(s), np.linalg.cholesky(s, upper=True), np.linalg.svd(s)), s)
    transposed(lambda a: (np.linalg.cond(a), np.linalg.matrix_power(a, -2), np.linalg.norm(a, 2), np.linalg.qr(a)), a)
    transposed(lambda a, b: np.linalg.lstsq(a[:, :2], b)[0], a, b)
    transposed(lambda x: (np.fft.rfft(x), np.fft.hfft(x + 1j), np.fft.fft2(np.outer(x, x))), X)

    def f(a):
        return np.linalg.det(a) * np.sum(np.linalg.inv(a)) + np.sum(np.abs(np.fft.fft(a)) ** 2)

    e = 1e-6
    g = ingot.grad(f)
    np.testing.assert_allclose(ingot.hvp(f, (a,), (s,))[0], (g(a + e * s) - g(a - e * s)) / (2 * e), rtol=1e-5, atol=1e-5)
    h = ingot.hessian(lambda a: np.linalg.slogdet(a)[1])(s)
    np.testing.assert_allclose(h, ingot.jacrev(ingot.grad(lambda a: np.linalg.slogdet(a)[1]))(s), rtol=1e-9)


def test_custom_rules():
    @ingot.custom_jvp
    def f(x, n):
        return x**n

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, n), (t, none) = primals, tangents
        return f(x, n), 3.0 * n * x ** (n - 1) * t

    assert f(2.0, 3) == 8.0 and f.__name__ == "f"
    assert ingot.grad(lambda x: f(x, 3))(2.0) == 36.0
    assert ingot.jvp(lambda x: f(x, 3), (2.0,), (1.0,)) == (8.0, 36.0)
    assert ingot.grad(ingot.grad(lambda x: f(x, 3)))(2.0) == 36.0
    np.testing.assert_array_equal(ingot.grad(lambda x: np.sum(f(x, 2)))(X), 6 * X)

    @ingot.custom_vjp
    def clipped(x, most):
        return x * x

    def forth(x, most):
        return x * x, (x, most)

    def back(kept, c):
        x, most = kept
        return np.clip(2 * x * c, -most, most), None

    clipped.defvjp(forth, back)
    assert ingot.grad(lambda x: clipped(x, 1.0))(2.0) == 1.0
    np.testing.assert_allclose(ingot.grad(lambda x: np.sum(clipped(x, 1.5)))(X), np.minimum(2 * X, 1.5))

    def loop(x):
        s = 0.0
        for i in range(6):
            if x[i] > 0.4:
                s += clipped(x[i] + 0.1 * s, 100.0) * x[0]
        return s

    def plain(x):
        s = 0.0
        for i in range(6):
            if x[i] > 0.4:
                s += (x[i] + 0.1 * s) ** 2 * x[0]
        return s

    np.testing.assert_allclose(ingot.grad(loop)(X), ingot.grad(plain)(X), rtol=1e-12)
    with pytest.raises(TypeError, match="no derivative in forward mode"):
        ingot.jvp(lambda x: clipped(x, 1.0), (2.0,), (1.0,))

    def square(n, x):
        return x * x * n

    scaled = ingot.custom_jvp(square, nondiff_argnums=(0,))
    scaled.defjvp(lambda n, primals, tangents: (square(n, primals[0]), 10.0 * n * tangents[0]))
    assert ingot.grad(lambda x: scaled(3, x))(2.0) == 30.0


def test_rules_of_calls_of_python():
    calls = []

    @ingot.host(result=float)
    def slow(x):
        calls.append(x)
        return math.sin(x)

    with pytest.raises(ingot.UnsupportedError, match="a call of Python"):
        ingot.grad(lambda x: slow(x) * x)(0.5)
    sine = ingot.custom_jvp(lambda x: slow(x))
    sine.defjvp(lambda primals, tangents: (sine(primals[0]), math.cos(primals[0]) * tangents[0]))
    assert ingot.grad(lambda x: sine(x) * x)(0.5) == pytest.approx(math.sin(0.5) + 0.5 * math.cos(0.5))
    assert set(calls) == {0.5}


def test_checkpoints():
    def block(x, n):
        for _ in range(n):
            x = np.sin(x) * x + 0.1
        return x

    def plain(x):
        for _ in range(4):
            x = block(x, 3)
        return np.sum(x)

    kept = ingot.checkpoint(block)

    def spared(x):
        for _ in range(4):
            x = kept(x, 3)
        return np.sum(x)

    np.testing.assert_allclose(ingot.grad(spared)(X), ingot.grad(plain)(X), rtol=1e-12)
    np.testing.assert_allclose(ingot.jvp(spared, (X,), (X,))[1], ingot.jvp(plain, (X,), (X,))[1], rtol=1e-12)
    v = np.arange(6.0)
    np.testing.assert_allclose(ingot.hvp(spared, (X,), (v,))[0], ingot.hvp(plain, (X,), (v,))[0], rtol=1e-10)
    assert kept(0.5, 2) == block(0.5, 2)


def test_arguments_that_the_value_does_not_depend_on_change():
    def f(v, w):
        w[1:] = w[:-1] * 2.0
        return np.sum(v)

    for argnums in (0, 1, (0, 1)):
        w = X.copy()
        ingot.grad(f, argnums)(X, w)
        np.testing.assert_array_equal(w[1:], X[:-1] * 2.0)


def test_arguments_that_overlap_themselves():
    def f(x):
        x[0, 1] = x[0, 1] * 5.0
        return x[1, 0]

    def given():
        return np.lib.stride_tricks.as_strided(np.array([1.0, 2.0, 3.0]), (2, 2), (8, 8))

    expected = [[0.0, 5.0], [5.0, 0.0]]  # of one memory
    np.testing.assert_array_equal(ingot.grad(f)(given()), expected)
    np.testing.assert_array_equal(ingot.vjp(f, given())[1](1.0)[0], expected)
