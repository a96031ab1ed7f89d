"""The rules of docs/derivatives.md: derivatives against differences, formulas, and each other; interpreted and compiled."""

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import ingot
from support import MODES, jitted

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(24)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def drawn(x, dtype=None):
    t = RNG.standard_normal(np.shape(x))
    if np.iscomplexobj(x):
        t = t + 1j * RNG.standard_normal(np.shape(x))
    return np.asarray(t, np.asarray(x).dtype)[()]


def fresh(x):
    return np.array(x)[()]


def paired(c, t):
    """<c, t> of structures: the sum of Re(c * t)."""
    return sum(float(np.sum(np.real(np.asarray(a) * b))) for a, b in zip(ingot.tree.leaves(c), ingot.tree.leaves(t)))


def compare(f, *args, tol=1e-6, mode="compiled", reverse=True):
    """The derivative of f in a direction against central differences; values against f's own. That of the reverse mode is its
    transpose."""
    directions = tuple(drawn(x) for x in args)
    h = jitted(lambda x, t: ingot.jvp(f, x, t), mode)
    value, tangent = h(tuple(fresh(x) for x in args), directions)
    np.testing.assert_array_equal(np.shape(value), np.shape(tangent))
    plain = f(*map(fresh, args))
    np.testing.assert_allclose(value, plain, rtol=1e-12)
    assert np.asarray(value).dtype == np.asarray(plain).dtype == np.asarray(tangent).dtype
    e = 1e-6
    high, low = (f(*(fresh(x + s * e * t) for x, t in zip(args, directions))) for s in (1, -1))
    np.testing.assert_allclose(tangent, (high - low) / (2 * e), rtol=tol, atol=tol)
    if not reverse:
        return
    c = drawn(value)
    again, cotangents = jitted(lambda x, c: vjp_at(f, x, c), mode)(tuple(fresh(x) for x in args), c)
    np.testing.assert_allclose(again, plain, rtol=1e-12)
    for x, own in zip(args, cotangents):
        assert np.asarray(own).dtype == np.asarray(x).dtype and np.shape(own) == np.shape(x)
    np.testing.assert_allclose(paired(cotangents, directions), paired(c, tangent), rtol=1e-9, atol=1e-9)


def vjp_at(f, x, c):
    value, pull = ingot.vjp(f, *x)
    return value, pull(c)


X = RNG.uniform(0.2, 0.8, 7)
Z = X + 1j * RNG.uniform(0.2, 0.8, 7)
WIDE = RNG.uniform(1.2, 1.8, 7)

ANALYTIC = ("sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh exp exp2 expm1 log log2 log10 log1p sqrt square reciprocal negative").split()
ONE = [*ANALYTIC, *"cbrt absolute degrees radians floor ceil trunc rint sign fabs conjugate positive".split()]
TWO = (
    "add subtract multiply divide power maximum minimum fmax fmin hypot arctan2 logaddexp logaddexp2 remainder fmod floor_divide copysign float_power"
).split()


@pytest.mark.parametrize("name", ONE)
@pytest.mark.sampled(4)
def test_functions_of_one_number(name):
    ufunc = getattr(np, name)
    compare(lambda x: ufunc(x), X)
    compare(lambda x: ufunc(x), 0.3)
    compare(lambda x: ufunc(x), 0.3, mode="interpreted")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*ANALYTIC, "arccosh", "absolute", "sign", "conjugate", "real", "imag"])
def test_functions_of_one_complex_number(name):
    function = getattr(np, name)
    compare(lambda z: function(z), Z)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.sampled(8)
def test_functions_of_two_numbers(name):
    ufunc = getattr(np, name)
    compare(lambda x, y: ufunc(x, y), X, WIDE)
    compare(lambda x, y: ufunc(y, x), X, WIDE)
    compare(lambda x, y: ufunc(x, y), X, 1.5)
    compare(lambda x, y: ufunc(x, y), 0.4, WIDE)
    if name in "add subtract multiply divide power".split():
        compare(lambda x, y: ufunc(x, y), Z, Z[::-1].copy())


REALS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
MIDDLE, POSITIVE, LARGE = (-0.8, -0.3, 0.2, 0.6), (0.5, 0.9, 1.6, 4.0), (1.25, 1.75, 2.5, 6.0)
WHOLE = (-3.2, -0.7, 0.4, 2.6)
UFUNCS = [
    ("sin cos exp exp2 expm1 sinh cosh tanh arctan arcsinh square negative reciprocal", WHOLE, REALS + COMPLEX),
    ("tan arcsin arccos arctanh log1p", MIDDLE, REALS + COMPLEX),
    ("sqrt log log2 log10", POSITIVE, REALS + COMPLEX),
    ("arccosh", LARGE, REALS + COMPLEX),
    ("absolute conjugate sign", WHOLE, COMPLEX),
    ("absolute cbrt degrees radians", WHOLE, REALS),
    ("add subtract multiply divide", (WHOLE, POSITIVE), REALS + COMPLEX),
    ("power", (POSITIVE, WHOLE), REALS + COMPLEX),
    ("maximum minimum fmax fmin hypot arctan2 logaddexp logaddexp2 copysign", (WHOLE, WHOLE[::-1]), REALS),
    ("remainder fmod", (POSITIVE, LARGE), REALS),
    ("hypot arctan2", ((300.0, 500.0), (400.0, -200.0)), REALS),
    ("arctan arcsinh", (300.0, -500.0), REALS),
]
"""Ufuncs, their operands, and dtypes."""


def wide_difference(ufunc, operands, tangents):
    """The derivative in long double, by differences of sixth order, and how far rounding may bring it off."""
    wide = np.clongdouble if np.iscomplexobj(operands[0]) else np.longdouble
    points, directions = ([np.asarray(x, wide) for x in xs] for xs in (operands, tangents))
    h = np.longdouble(2.0**-13)
    at = lambda steps: ufunc(*(x + steps * h * t for x, t in zip(points, directions)))
    noise = 4 * np.finfo(np.longdouble).eps / h * np.abs(at(0)).max()
    return (45 * (at(1) - at(-1)) - 9 * (at(2) - at(-2)) + at(3) - at(-3)) / (60 * h), float(noise)


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
@pytest.mark.sampled(8)
def test_ufuncs_of_each_dtype(dtype):
    eps = np.finfo(dtype).eps
    rng = np.random.default_rng(5)
    for names, points, dtypes in UFUNCS:
        if dtype not in dtypes:
            continue
        for name in names.split():
            ufunc = getattr(np, name)
            operands = [np.array(p) for p in (points if ufunc.nin == 2 else (points,))]
            tangents = [rng.uniform(-1, 1, len(x)) for x in operands]
            if dtype in COMPLEX:
                operands = [x + 1j * rng.uniform(0.2, 0.8, len(x)) for x in operands]
                tangents = [t + 1j * rng.uniform(-1, 1, len(t)) for t in tangents]
            operands, tangents = (tuple(x.astype(dtype) for x in xs) for xs in (operands, tangents))
            f = (lambda x: ufunc(x)) if ufunc.nin == 1 else (lambda x, y: ufunc(x, y))
            value, tangent = ingot.jvp(f, operands, tangents)
            assert value.dtype == tangent.dtype == ufunc(*operands).dtype
            expected, noise = wide_difference(ufunc, operands, tangents)
            size = max(np.abs(t).max() for t in tangents)
            np.testing.assert_allclose(tangent, expected, rtol=8 * eps, atol=8 * eps * size + noise, err_msg=name)


def test_branch_cuts():
    for name in "arcsin arccos arccosh arctanh arctan sqrt log".split():
        ufunc = getattr(np, name)
        points = np.array([complex(x, zero) for x in (-2.5, -1.5, 1.5, 2.5) for zero in (0.0, -0.0)])
        tangent = ingot.jvp(lambda z: ufunc(z), (points,), (np.ones(len(points), complex),))[1]
        h = 1e-5
        moved = [np.array([complex(z.real + s, z.imag) for z in points]) for s in (h, -h)]
        expected = (ufunc(moved[0]) - ufunc(moved[1])) / (2 * h)
        np.testing.assert_allclose(tangent, expected, rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.rotated(3)
def test_special_functions():
    for name in ("erf", "erfc", "gamma", "lgamma"):
        function = getattr(math, name)
        for point in (0.3, 1.7, -0.4, 5.5, -2.3, 12.25):
            compare(lambda x: function(x), point)


def test_conventions():
    """By function: a point, and the derivative there."""
    table = [
        (lambda x: np.abs(x), 0.0, 1.0),
        (lambda x: np.abs(x), -0.0, 1.0),
        (lambda x: np.maximum(x, 1.0), 1.0, 0.5),
        (lambda x: np.minimum(1.0, x), 1.0, 0.5),
        (lambda x: np.fmax(x, 1.0), 1.0, 0.0),
        (lambda x: np.fmin(1.0, x), 1.0, 1.0),
        (lambda x: np.sqrt(x), 0.0, np.inf),
        (lambda x: np.cbrt(x), 0.0, np.inf),
        (lambda x: x**0.0, 0.0, 0.0),
        (lambda x: np.power(0.0, x), 2.0, 0.0),
        (lambda x: np.hypot(x, 0.0), 0.0, 0.5),
        (lambda x: np.sign(x), 0.0, 0.0),
        (lambda x: np.floor(x), 1.0, 0.0),
        (lambda x: np.rint(x), 0.5, 0.0),
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, 0.0),
        (lambda x: np.logaddexp(x, -np.inf), 1.0, 1.0),
        (lambda x: np.logaddexp(x, -np.inf), -np.inf, 0.5),
        (lambda x: np.copysign(x, -1.0), 0.0, -1.0),
        (lambda x: np.fmod(3.9, x), 1.3, -2.0),
        (lambda x: np.array([x, 1.0, x]).max(), 1.0, 2 / 3),
        (lambda x: np.prod(np.array([x, 2.0, 3.0])), 0.0, 6.0),
        (lambda x: np.clip(x, 0.0, 1.0), 0.0, 0.5),
    ]
    for f, point, slope in table:
        assert ingot.jacfwd(f)(point) == slope
    modulus = ingot.jit(lambda z, t: ingot.jvp(lambda z: np.abs(z), (z,), (t,)))
    assert modulus(0j, 1 + 1j) == (0.0, 0.0)


def test_complex_tangents_are_real_linear():
    z, t = 1 + 2j, 0.5 - 0.25j
    value, tangent = ingot.jvp(lambda z: z * z.conjugate() * np.exp(z), (z,), (t,))
    expected = t * z.conjugate() * np.exp(z) + z * t.conjugate() * np.exp(z) + z * z.conjugate() * np.exp(z) * t
    np.testing.assert_allclose(tangent, expected, rtol=1e-14)
    assert type(value) is type(tangent) is np.complex128
    assert ingot.jvp(lambda x: np.imag(np.exp(1j * x)), (0.0,), (1.0,)) == (0.0, 1.0)


A = RNG.standard_normal((4, 5))
ARRAYS = {
    "sum": lambda a: a.sum(),
    "sums": lambda a: a.sum(axis=0),
    "kept": lambda a: a.sum(axis=1, keepdims=True) * a,
    "masked": lambda a: np.sum(a, where=a > 0),
    "prod": lambda a: a.prod(),
    "prods": lambda a: np.prod(a.reshape(2, 2, 5), axis=(0, 2)),
    "max": lambda a: a.max(axis=0),
    "min": lambda a: a.min(),
    "mean": lambda a: a.mean(axis=1),
    "var": lambda a: a.var(axis=1),
    "std": lambda a: a.std(),
    "cumsum": lambda a: a.cumsum(axis=1),
    "cumprod": lambda a: np.cumprod(a),
    "cumprods": lambda a: np.cumprod(a, axis=0),
    "running": lambda a: np.maximum.accumulate(a, axis=1),
    "sort": lambda a: np.sort(a, axis=0),
    "median": lambda a: np.median(a, axis=1),
    "matrices": lambda a: a @ a.T,
    "stack": lambda a: np.stack((a, a)) @ a.T,
    "vector": lambda a: a @ a[0],
    "vectors": lambda a: a[0] @ a[1],
    "outer": lambda a: np.outer(a[0], a[1]),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "concat": lambda a: np.concatenate((a, np.ones((2, 5)))),
    "take": lambda a: a[[1, 1, 0]],
    "mask": lambda a: a[a > 0],
    "where": lambda a: np.where(a > 0, a, 2.0 * a),
    "repeat": lambda a: np.repeat(a, 2, axis=0),
    "tile": lambda a: np.tile(a, (2, 1)),
    "roll": lambda a: np.roll(a, 1, axis=0),
    "pad": lambda a: np.pad(a, 1),
    "diff": lambda a: np.diff(a, axis=1),
    "clip": lambda a: np.clip(a, -0.5, 0.5),
    "norm": lambda a: np.linalg.norm(a),
    "trace": lambda a: np.trace(a),
    "logsumexp": lambda a: np.log(np.sum(np.exp(a), axis=1)),
    "interp": lambda a: np.interp(a[0], np.arange(-3.0, 4.0), np.arange(7.0) ** 2),
    "transposed": lambda a: a.T.copy(),
    "shaped": lambda a: a.reshape(2, 10)[:, ::-3],
    "broadcast": lambda a: a[:, None, :] - a[None, :, :],
    "diagonal": lambda a: np.diag(np.diag(a)),
    "polynomial": lambda a: np.polyval(a[0], 1.5) * a[1],
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.sampled(18)
def test_functions_of_arrays(name):
    for mode in MODES:
        compare(ARRAYS[name], A, mode=mode)
    compare(ARRAYS[name], np.asfortranarray(A))


def test_layouts_and_dtypes():
    whole = np.arange(1.0, 25.0).reshape(4, 6)
    for x in (whole[::2, ::-1], whole.T, whole[1:, 2], whole[:0], np.array(2.0)):
        t = np.asarray(drawn(x))
        value, tangent = ingot.jvp(lambda x: x * x, (x,), (t,))
        np.testing.assert_array_equal(value, x * x)
        np.testing.assert_allclose(tangent, 2 * x * t, rtol=1e-15)
    wide = np.broadcast_to(np.array([1.0, 2.0]), (3, 2))
    t = drawn(wide)
    np.testing.assert_allclose(ingot.jvp(lambda x: x * x, (wide,), (t,))[1], 2 * wide * t, rtol=1e-15)
    inside = ingot.jit(lambda x, t: ingot.jvp(lambda y: y * y, (np.broadcast_to(x, (3, 2)),), (t,))[1])
    np.testing.assert_allclose(inside(np.array([1.0, 2.0]), t), 2 * wide * t, rtol=1e-15)
    for dtype in ("float16", "float32", "float64", "complex64", "complex128"):
        x = np.array([1, 2, 4], dtype)
        value, tangent = ingot.jvp(lambda x: np.sqrt(x) * 2, (x,), (np.ones(3, dtype),))
        assert value.dtype == tangent.dtype == x.dtype
        np.testing.assert_allclose(tangent, 1 / np.sqrt(x), rtol=2e-3)
    value, tangent = ingot.jvp(lambda x: x.astype(np.float32) * 2, (whole,), (whole,))
    assert tangent.dtype == np.float32


class Pair(NamedTuple):
    a: float
    b: np.ndarray


def test_structures():
    def f(p, q):
        s = p.a
        n = 0
        while s < 100.0:
            s = s * 1.5 + p.b[n % 3]
            n += 1
            if n > 50:
                break
        q["out"][1:] += p.b * s
        return Pair(s, p.b[::-1] * q["out"][0]), n, [q["out"]], None

    p, t = Pair(1.0, np.array([0.1, 0.2, 0.3])), Pair(1.0, np.zeros(3))
    for mode in MODES:
        h = jitted(lambda p, q, dp, dq: ingot.jvp(f, (p, q), (dp, dq)), mode)
        given = {"out": np.arange(4.0)}
        value, tangent = h(p, given, t, {"out": np.zeros(4)})
        expected = f(p, {"out": np.arange(4.0)})
        assert type(value[0]) is type(tangent[0]) is Pair
        assert value[3] is None and tangent[3] is None and tangent[1] == 0
        np.testing.assert_array_equal(given["out"], expected[2][0])
        slope = 1.5 ** expected[1]
        np.testing.assert_allclose(tangent[0].a, slope, rtol=1e-14)
        np.testing.assert_allclose(tangent[2][0][1:], p.b * slope, rtol=1e-14)

    def changes(d, x):
        s = d["a"] * d["l"][0]
        d["a"] = x
        d["l"].extend([s, 2.0])
        return d["l"][-2] * d["a"]

    for mode in MODES:
        h = jitted(lambda d, x: ingot.grad(changes, (0, 1))(d, x), mode)
        assert h({"a": 2.0, "l": [3.0]}, 5.0) == ({"a": 15.0, "l": [10.0]}, 6.0)


def test_results_that_share_memory():
    def f(v):
        w = v * v
        return w, w[1:], w.reshape(2, 2), w

    v, t = np.arange(4.0), np.array([1.0, 2.0, 3.0, 5.0])
    for mode in MODES:
        _, tangent = jitted(lambda v, t: ingot.jvp(f, (v,), (t,)), mode)(v.copy(), t)
        for got, expected in zip(tangent, f(v)):
            np.testing.assert_array_equal(got, 2 * (v * t)[-expected.size :].reshape(expected.shape))
        assert np.shares_memory(tangent[0], tangent[1])


def test_writes_in_place():
    def running(x):
        for i in range(1, len(x)):
            x[i] = x[i] * x[i - 1]
        return x

    def swaps(x):
        u, v = x.copy(), np.zeros_like(x)
        for _ in range(5):
            for i in range(1, len(x) - 1):
                v[i] = u[i - 1] - 2 * u[i] * u[i] + u[i + 1]
            u, v = v, u
        return u

    def counted(x):
        out = np.zeros(3)
        np.add.at(out, np.array([0, 1, 1, 2, 0]), x)
        out[[0, 2]] = out[[2, 0]] * out[1]
        return out

    for f in (running, swaps, counted):
        for mode in MODES:
            compare(f, RNG.uniform(0.5, 1.0, 5), mode=mode)


def test_loops_and_branches():
    def newton(a, n):
        x = a
        while abs(x * x - a) > 1e-13:
            x = 0.5 * (x + a / x)
        return x * n

    def early(x):
        total = 0.0
        for i in range(10):
            if x * i > 3.0:
                return total * x
            if i == 2:
                continue
            total += x**i
        return total

    def caught(x):
        try:
            if x > 0.5:
                raise ValueError
            return x * 2
        except ValueError:
            return x * x

    def parallel(x):
        out = np.empty(64)
        total = 0.0
        for i in ingot.prange(64):
            out[i] = np.sin(x * i)
            total += out[i] * x
        return total + out[3]

    for mode in MODES:
        compare(lambda a: newton(a, 3.0), 2.0, mode=mode)
        for f in (early, caught, parallel):
            compare(f, 0.7, mode=mode)
            compare(f, 0.3, mode=mode)


def test_exceptions_leave():
    def f(x):
        if x[0] > 1.0:
            raise ValueError(f"{x[0]} is too much")
        return x[3]

    with pytest.raises(ValueError, match=r"^2.0 is too much$"):
        ingot.jvp(f, (np.array([2.0]),), (np.ones(1),))
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        ingot.jvp(f, (np.array([1.0]),), (np.ones(1),))


def test_derivatives_of_derivatives():
    power = lambda x: x**5 * np.sin(x)  # noqa: E731
    f = power
    values = [f(0.7)]
    for _ in range(4):
        f = ingot.jacfwd(f)
        values.append(f(0.7))
    x, s, c = 0.7, np.sin(0.7), np.cos(0.7)
    fourth = (120 * x - 20 * 4 * 0 + x**5) * s - 20 * x**4 * c + 240 * x**2 * c - 120 * x**3 * s
    np.testing.assert_allclose(values[4], fourth, rtol=1e-12)
    h = ingot.hessian(lambda x: (x**3).sum() + x[0] * x[1])(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(h, [[6, 1, 0], [1, 12, 0], [0, 0, 18]], rtol=1e-15)
    mixed = ingot.hessian(lambda v: v[0] ** v[1])(np.array([2.0, 0.0]))
    np.testing.assert_allclose(mixed, [[0.0, 0.5], [0.5, np.log(2.0) ** 2]], rtol=1e-14)
    curvature = ingot.hessian(lambda v: np.logaddexp(v[0], v[1]))
    for a, b in ((0.0, 0.0), (3.0, 2.0), (0.0, 1000.0), (1000.0, 0.0), (1.0, -np.inf)):
        weight = 1 / (1 + np.exp(b - a))
        np.testing.assert_allclose(curvature(np.array([a, b])), weight * (1 - weight) * np.array([[1, -1], [-1, 1]]), rtol=1e-14, atol=1e-300)
    curved = lambda x: np.arcsin(x) * np.arccos(x) + np.arcsinh(x) * np.arctanh(x) + np.arctan2(x, 0.7) * np.arctan2(1.3, x)  # noqa: E731
    ingot.check_grads(curved, (-0.8,), order=2)
    ingot.check_grads(lambda x: math.lgamma(x), (-1.7,), order=2)
    # The inner derivative takes the outer variable for a constant.
    assert ingot.jacfwd(lambda x: x * ingot.jacfwd(lambda y: x + y)(1.0))(1.0) == 1.0
    ingot.check_grads(lambda x, y: np.sin(x) * y + np.prod(x), (np.array([1.0, 2.0, 3.0]), 2.0), order=3)


def test_derivatives_one_after_the_other():
    @ingot.jit
    def fit(x):
        log = np.zeros(4)

        def loss(v):
            log[0] = v
            return (v - 2.0) ** 2 + log[1]

        for k in range(4):
            value, slope = ingot.jvp(loss, (x,), (1.0,))
            log[k] = value
            x = x - 0.25 * slope
        return x, log[3]

    x, _ = fit(0.0)
    assert x == 2.0 - 2.0 * 0.5**4


def test_a_derivative_begins_without_tangents():
    @ingot.jit
    def f(x):
        state = np.zeros(2)
        out = 0.0

        def loss(v):
            r = state[0] * v
            state[0] = v * 3.0
            return r

        for _ in range(3):
            _, slope = ingot.jvp(loss, (x,), (1.0,))
            out = out * 10 + slope
            x = x + 1.0
        return out

    assert f(1.0) == 36.0  # slopes 0, 3 and 6: what the state holds from the iteration before is a constant


def test_captured_arrays():
    @ingot.jit
    def f(x):
        buffer = np.zeros(3)

        def g(v):
            buffer[1] = v * v
            return buffer.sum()

        return ingot.jvp(g, (x,), (1.0,))

    assert f(3.0) == (9.0, 6.0)


def test_arrays_known_by_two_names():
    def product(x, y):
        return x[0] * y[0]

    def changed(x, y):
        x[0] = x[0] * 2
        return x[0] * y[0]

    a, t = np.array([3.0, 4.0]), np.ones(2)
    assert ingot.jvp(product, (a, a), (t, t)) == (9.0, 6.0)
    assert ingot.jvp(changed, (a.copy(), a.copy()), (t, t)) == (18.0, 12.0)
    for x, y in ((a, a), (a[:1], a)):
        with pytest.raises(ingot.UnsupportedError, match="changed and known by two names"):
            ingot.jvp(changed, (x, y), (np.ones(len(x)), t))


def test_bits():
    def seen(z):
        return z.view(np.float64) * 2

    def written(x):
        x.view(np.int64)[0] = 0
        return x * 2

    value, tangent = ingot.jvp(seen, (np.array([1 + 2j]),), (np.array([3 + 4j]),))
    np.testing.assert_array_equal(tangent, [6.0, 8.0])
    with pytest.raises(ingot.UnsupportedError, match="the derivative of `store`"):
        ingot.jvp(written, (np.ones(2),), (np.ones(2),))


def test_what_is_printed(capsys):
    def f(x):
        print("x is", x)
        return x * x

    assert ingot.jvp(f, (2.0,), (1.0,)) == (4.0, 4.0)
    assert capsys.readouterr().out == "x is 2.0\n"


def test_lists_and_instances():
    class Held:
        def __init__(self, a):
            self.a = a

    def grown(x):
        parts = []
        for i in range(int(x) + 3):
            parts.append(x * i)
        return sum(parts)

    assert ingot.jvp(grown, (2.5,), (1.0,)) == (25.0, 10.0)
    assert ingot.jvp(lambda x: Held(x * 2).a * 3, (2.5,), (1.0,)) == (15.0, 6.0)


def test_jacobians():
    x = np.array([1.0, 2.0, 3.0])
    f = lambda x: np.array([x[0] * x[1], x[1] ** 2, x[0] + x[2]])  # noqa: E731
    np.testing.assert_array_equal(ingot.jacfwd(f)(x), [[2, 1, 0], [0, 4, 0], [1, 0, 1]])
    blocks = ingot.jacfwd(lambda x, y: {"a": x * y, "b": (x.sum(), y)}, argnums=(0, 1))(x, 2.0)
    np.testing.assert_array_equal(blocks["a"][0], 2 * np.eye(3))
    np.testing.assert_array_equal(blocks["a"][1], x)
    np.testing.assert_array_equal(blocks["b"][0][0], np.ones(3))
    assert blocks["b"][0][1] == 0.0 and blocks["b"][1][1] == 1.0
    np.testing.assert_array_equal(blocks["b"][1][0], np.zeros(3))
    assert ingot.jacfwd(lambda m: m @ m)(np.ones((2, 2))).shape == (2, 2, 2, 2)
    assert ingot.jacfwd(lambda x: np.outer(x, x))(np.ones(0)).shape == (0, 0, 0)
    given = x.copy()

    def in_place(x):
        x *= x
        return x

    np.testing.assert_array_equal(ingot.jacfwd(in_place)(given), np.diag(2 * x))
    np.testing.assert_array_equal(given, x)


def test_linearize():
    x = np.array([1.0, 2.0])
    value, linear = ingot.linearize(lambda x, y: x * y, x, 3.0)
    np.testing.assert_array_equal(value, 3 * x)
    np.testing.assert_array_equal(linear(np.ones(2), 1.0), 3 + x)
    inside = ingot.jit(lambda x: ingot.linearize(lambda x: x * x, x)[1](np.ones(2)))
    np.testing.assert_array_equal(inside(x), 2 * x)


def test_stop_gradient():
    assert ingot.jacfwd(lambda x: x * ingot.stop_gradient(x))(3.0) == 3.0
    assert ingot.jacfwd(lambda x: ingot.stop_gradient({"a": (x, 1)})["a"][0] * x)(3.0) == 3.0
    assert ingot.stop_gradient(2.0) == 2.0
    np.testing.assert_array_equal(ingot.jit(lambda x: ingot.stop_gradient(x) * 2)(X), X * 2)


def test_what_may_be_differentiated():
    assert ingot.jvp(np.sin, (0.0,), (1.0,)) == (0.0, 1.0)
    assert ingot.jvp(ingot.jit(lambda x: x * x), (3.0,), (1.0,)) == (9.0, 6.0)
    assert ingot.jvp(math.exp, (0.0,), (2.0,)) == (1.0, 2.0)


def test_functions_are_seen_anew():
    scale = 2.0

    def f(x):
        return x * scale

    assert ingot.jvp(f, (3.0,), (1.0,)) == (6.0, 2.0)
    scale = 5.0
    assert ingot.jvp(f, (3.0,), (1.0,)) == (15.0, 5.0)
    assert ingot.jacfwd(ingot.jit(f))(1.0) == 5.0


def test_check_grads():
    ingot.check_grads(lambda x: np.sin(x), (0.5,), order=2)
    ingot.check_grads(lambda x: np.sin(x), (np.array([0.5, 1.0], np.float32),))
    ingot.check_grads(lambda z: np.exp(z) * z, (0.5 + 0.25j,))
    with pytest.raises(AssertionError):
        ingot.check_grads(lambda x: x * ingot.stop_gradient(x), (0.5,))


def test_errors():
    f = lambda x: x * 2  # noqa: E731
    with pytest.raises(TypeError, match="jvp requires real- or complex-valued inputs, not ints or bools, but got int64"):
        ingot.jvp(f, (1,), (1.0,))
    with pytest.raises(TypeError, match="jvp requires real- or complex-valued inputs, not ints or bools, but got int64"):
        ingot.jvp(f, (np.arange(3),), (np.ones(3),))
    with pytest.raises(TypeError, match="a complex tangent for a real variable"):
        ingot.jvp(f, (1.0,), (1j,))
    with pytest.raises(TypeError, match="a complex tangent for a real variable"):
        ingot.jvp(f, (np.ones(2),), (np.ones(2, complex),))
    with pytest.raises(ValueError, match=r"a tangent of shape \(2,\) for an array of shape \(3,\)"):
        ingot.jvp(f, (np.ones(3),), (np.ones(2),))
    for x, t in (([1.0, 2.0], [1.0]), ({"a": 1.0}, {"b": 1.0}), ({"a": 1.0}, [1.0]), ([1.0], 1.0), (1.0, [1.0])):
        with pytest.raises(ValueError, match="does not match|other keys|is a structure where"):
            ingot.jvp(lambda x: 2.0, (x,), (t,))
    with pytest.raises(ValueError, match="1 primals and 0 tangents"):
        ingot.jvp(f, (1.0,), ())
    with pytest.raises(ValueError, match="argnums=3 of 1 arguments"):
        ingot.jacfwd(f, 3)(1.0)


def test_without_the_compiler():
    program = "import ingot\ntry:\n    ingot.jvp(lambda x: x, (1.0,), (1.0,))\nexcept ingot.UnsupportedError as e:\n    print(e, ingot.stop_gradient(2.0))"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "INGOT_DISABLE": "1"}, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("derivatives without the compiler")
    assert done.stdout.endswith("unset INGOT_DISABLE 2.0\n")


def test_what_has_no_derivative_is_refused():
    def fact(x, n):
        return x if n == 0 else x * fact(x, n - 1)

    def sampled(x):
        return np.random.default_rng(0).normal(x)

    programs = [
        (lambda x: np.linalg.qr(x, "raw")[1], np.eye(2), r"the derivative of NumPy's `linalg.qr_r_raw`"),
        (lambda x: fact(x, int(x) + 3), 0.5, r"the derivative of a recursive function"),
        (sampled, 0.5, r"the derivative of a random number"),
    ]
    for f, x, message in programs:
        with pytest.raises(ingot.UnsupportedError, match=message):
            ingot.jvp(f, (x,), (x,))
        with pytest.raises(ingot.UnsupportedError, match=message):
            ingot.vjp(f, x)[1](x)


def test_each_rule_has_its_test():
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "derivatives.md").read_text())
    others = ("test_derivatives_jax.py", "test_gradients.py", "test_gradient_loops.py", "test_rules.py", "test_derivative_arguments.py")
    sources = [Path(__file__), *(Path(__file__).with_name(name) for name in others)]
    defined = [name for path in sources for name in re.findall(r"^def (test_\w+)", path.read_text(), flags=re.M)]
    assert sorted(set(named)) == sorted(set(defined) - {"test_each_rule_has_its_test"})
