"""`ingot.lax`: run by Python and compiled, against plain loops."""

import re
from pathlib import Path
from typing import NamedTuple

import ingot
import numpy as np
import pytest
from ingot import lax
from support import MODES, jitted

ROOT = Path(__file__).resolve().parents[2]

X = np.random.default_rng(3).standard_normal((6, 3))


def both(f, *args):
    """What f gives, the same by Python, compiled and interpreted."""
    expected = f(*args)
    for mode in MODES:
        assert_same(jitted(f, mode)(*args), expected)
    return expected


def assert_same(a, b):
    if isinstance(b, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(b, dict):
        assert_same(list(a.items()), list(b.items()))
    elif isinstance(b, str):
        assert a == b
    else:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_cond():
    for x in (-2.0, 3.0):
        assert both(lambda x: lax.cond(x > 0, lambda a, b: a * b, lambda a, b: a - b, x, 2.0), x) == (6.0 if x > 0 else -4.0)


def test_switch():
    f = lambda i, x: lax.switch(i, [lambda x: x, lambda x: x * x, lambda x: -x], x)  # noqa: E731
    assert [both(f, i, 3.0) for i in (-5, 0, 1, 2, 9)] == [3.0, 3.0, 9.0, -3.0, -3.0]


def test_while_loop():
    def collatz(n):
        return lax.while_loop(lambda s: s[0] != 1, lambda s: (s[0] // 2 if s[0] % 2 == 0 else 3 * s[0] + 1, s[1] + 1), (n, 0))[1]

    assert both(collatz, 27) == 111


def test_fori_loop():
    assert both(lambda n: lax.fori_loop(2, n, lambda i, v: v * i, 1.0), 7) == 720.0
    assert both(lambda n: lax.fori_loop(3, n, lambda i, v: v * i, 1.0), 2) == 1.0


class Moments(NamedTuple):
    mean: np.ndarray
    largest: float


def test_scan():
    total, sums = both(lambda x: lax.scan(lambda c, row: (c + row.sum(), c), 0.0, x), X)
    np.testing.assert_allclose(sums, np.concatenate(([0.0], np.cumsum(X.sum(axis=1))[:-1])), rtol=1e-12)
    np.testing.assert_allclose(total, X.sum(), rtol=1e-12)
    _, back = both(lambda x: lax.scan(lambda c, v: (c + v, c + v), 0.0, x, reverse=True), X[:, 0].copy())
    np.testing.assert_allclose(back, np.cumsum(X[::-1, 0])[::-1], rtol=1e-12)
    _, powers = both(lambda n: lax.scan(lambda c, _: (c * 2, {"p": c}), 1, None, length=n), 5)
    np.testing.assert_array_equal(powers["p"], [1, 2, 4, 8, 16])

    def moments(x, w):
        return lax.scan(lambda c, s: (c, Moments(s[0] * s[1]["w"], s[0].max())), 0, (x, {"w": w}))[1]

    result = jitted(moments, "compiled")(X, np.arange(6.0))
    assert type(result) is Moments
    np.testing.assert_array_equal(result.mean, X * np.arange(6.0)[:, None])


def test_map():
    np.testing.assert_allclose(both(lambda x: lax.map(lambda row: row / row.sum(), x), X), X / X.sum(axis=1)[:, None], rtol=1e-12)


def test_associative_scan():
    for axis in (0, 1):
        for reverse in (False, True):
            result = both(lambda x: lax.associative_scan(lambda a, b: a + b, x, reverse, axis), X)  # noqa: B023
            flipped = np.flip(X, axis) if reverse else X
            expected = np.cumsum(flipped, axis)
            np.testing.assert_allclose(result, np.flip(expected, axis) if reverse else expected, rtol=1e-12)

    def linear(a, b):  # of x -> a x + b, one after the other
        return lax.associative_scan(lambda f, g: (f[0] * g[0], g[0] * f[1] + g[1]), (a, b))[1]

    a, b = np.array([0.5, 0.25, 2.0]), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(both(linear, a, b), [1.0, 2.25, 7.5])


def test_select():
    y = X * 2
    np.testing.assert_array_equal(both(lambda x, y: lax.select(x > 0, x, y), X, y), np.where(X > 0, X, y))
    np.testing.assert_array_equal(both(lambda p, x, y: lax.select(p, x, y), True, X, y), X)
    with pytest.raises(TypeError, match="same shapes"):
        lax.select(True, X, y[:2])


def test_errors():
    def pairs(x, y):
        return lax.scan(lambda c, s: (c, c), 0.0, (x, y))

    for f in (pairs, ingot.jit(pairs)):
        with pytest.raises(ValueError, match="scan got arrays of 2 and 6 iterations"):
            f(X, X[:2])
        with pytest.raises(ValueError, match="scan without iterations"):
            f(X[:0], X[:0])
    with pytest.raises(ValueError, match="no values to scan over"):
        lax.scan(lambda c, x: (c, c), 0.0)


def test_structures_of_any_depth_are_carried():
    def grown(x):
        start = {"a": 0.0, "b": {"c": [1.0, (2.0, x)]}}
        step = lambda i, v: {"a": v["a"] + x[i], "b": {"c": [v["b"]["c"][0] * 2, (v["a"], v["b"]["c"][1][1] * 2)]}}  # noqa: E731
        return lax.fori_loop(0, len(x), step, start), start["a"], start["b"]["c"][0]

    result, a, c = both(grown, np.arange(3.0))
    assert (result["a"], a, c) == (3.0, 0.0, 1.0)
    both(lambda x: lax.while_loop(lambda v: v["a"] < 3, lambda v: {**v, "a": v["a"] + 1}, {"a": 0.0, "v": x}), np.arange(3.0))
    both(lambda x: lax.scan(lambda v, e: ({"a": v["a"] + e, "t": (v["t"][0] + 1,)}, {"y": v["a"]}), {"a": 0.0, "t": (0,)}, x), X[0])

    def changes(x):
        def step(i, v):
            v["a"] += x[i]
            return v

        kept = {"a": 0.0}
        return lax.fori_loop(0, len(x), step, kept)["a"], kept["a"]

    assert both(changes, np.arange(3.0)) == (3.0, 0.0)
    sum_of = lambda y: lax.fori_loop(0, 3, lambda i, v: {"s": v["s"] + y[i] * v["p"][0], "p": [v["p"][0] * y[i]]}, {"s": 0.0, "p": [1.0]})["s"]  # noqa: E731
    np.testing.assert_allclose(ingot.grad(sum_of)(np.array([2.0, 3.0, 5.0])), [1 + 3 + 15, 2 + 10, 6], rtol=1e-12)


def test_derivatives_and_batches():
    def decay(rate):
        return lax.scan(lambda c, x: (c * np.exp(-rate * x), c), 1.0, np.arange(1.0, 4.0))[0]

    np.testing.assert_allclose(ingot.jacfwd(decay)(0.1), -6.0 * np.exp(-0.6), rtol=1e-12)
    np.testing.assert_allclose(ingot.vmap(decay)(np.array([0.1, 0.2])), np.exp([-0.6, -1.2]), rtol=1e-12)
    root = lambda a: lax.while_loop(lambda y: abs(y * y - a) > 1e-14 * a, lambda y: 0.5 * (y + a / y), a)  # noqa: E731
    np.testing.assert_allclose(ingot.jacfwd(root)(2.0), 0.5 / np.sqrt(2.0), rtol=1e-12)


def test_each_rule_has_its_test():
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "lax.md").read_text())
    defined = re.findall(r"^def (test_\w+)", Path(__file__).read_text(), flags=re.M)
    assert sorted(set(named)) == sorted(set(defined) - {"test_each_rule_has_its_test"})
