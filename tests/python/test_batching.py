"""The rules of docs/batching.md: `ingot.vmap` against the function called for each lane; interpreted and compiled."""

import re
from pathlib import Path
from typing import NamedTuple

import ingot
import numpy as np
import pytest
from support import MODES, jitted

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(8)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def compare(f, *batches, axis=0, out=0):
    """Each leaf that `vmap` gives, against the lanes' own, stacked; in both modes, alone and in compiled code."""
    count = batches[0].shape[axis]
    lanes = [f(*(np.moveaxis(b, axis, 0)[k].copy() for b in batches)) for k in range(count)]
    expected = [np.stack(leaves, axis=out) for leaves in zip(*(r if isinstance(r, tuple) else (r,) for r in lanes), strict=True)]
    for mode in MODES:
        h = jitted(lambda *b: ingot.vmap(f, axis, out)(*b), mode)
        result = h(*(b.copy() for b in batches))
        for one, other in zip(result if isinstance(result, tuple) else (result,), expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-12)
    result = ingot.vmap(f, axis, out)(*(b.copy() for b in batches))
    assert type(result) is (tuple if isinstance(lanes[0], tuple) else np.ndarray)


X = RNG.standard_normal((5, 4))
POSITIVE = RNG.uniform(1, 9, 6)


def test_lanes_of_arrays():
    compare(lambda v: v.sum(), X)
    compare(lambda v: v * 2 + v[::-1], X)
    compare(lambda v, w: v @ w, X, X[::-1].copy())
    compare(lambda v: (v.max(), v.argmax(), v > 0, v.astype(np.float32)), X)
    compare(lambda s: s * s, POSITIVE)
    compare(lambda s: s, np.arange(4, dtype=np.int8))
    compare(lambda v: v[1] * 1j, X[::2, ::-1])
    compare(lambda m: m.T, RNG.standard_normal((3, 2, 4)))


def test_axes():
    for axis in (0, 1, -1):
        for out in (0, 1, -1):
            compare(lambda v: v * 2, X, axis=axis, out=out)
    f = ingot.vmap(lambda v, s, t: v * s + t, in_axes=(1, None, 0))
    t = np.arange(4.0)
    np.testing.assert_array_equal(f(X, 2.0, t), X.T * 2.0 + t[:, None])
    pair = ingot.vmap(lambda v: (v, v.sum()), out_axes=(1, 0))
    np.testing.assert_array_equal(pair(X)[0], X.T)


class Pair(NamedTuple):
    a: np.ndarray
    b: float


def test_structures():
    f = ingot.vmap(lambda p, d, l: Pair(p.a * d["s"], p.b + l[0]), in_axes=(0, {"s": None}, [0]))
    result = f(Pair(X, np.arange(5)), {"s": 3.0}, [np.ones(5)])
    assert type(result) is Pair
    np.testing.assert_array_equal(result.a, X * 3)
    np.testing.assert_array_equal(result.b, np.arange(5) + 1.0)
    named = ingot.vmap(lambda v, w: {"sum": v + w, "none": None})(X, w=np.arange(5))
    np.testing.assert_array_equal(named["sum"], X + np.arange(5)[:, None])
    assert named["none"] is None


def test_lanes_branch_and_loop_on_their_own():
    def newton(a):
        y, n = a, 0
        while abs(y * y - a) > 1e-12:
            y = 0.5 * (y + a / y)
            n += 1
            if n == 30:
                break
        return y, n

    def steps(v):
        total = 0.0
        for x in v:
            if x > 1.0:
                return total
            total += x if x > 0 else -2 * x
        return -total

    compare(newton, POSITIVE)
    compare(steps, X)


def test_lanes_write_in_place():
    def f(v):
        v += 1.0
        v[0] = v.sum()
        return v[0]

    for mode in MODES:
        given, expected = X.copy(), X.copy()
        result = jitted(lambda x: ingot.vmap(f)(x), mode)(given)
        np.testing.assert_allclose(result, [f(row) for row in expected], rtol=1e-12)
        np.testing.assert_allclose(given, expected, rtol=1e-12)


def test_the_lowest_lane_raises():
    def f(v):
        if v > 2:
            raise ValueError(f"lane of {v}")
        return v

    with pytest.raises(ValueError, match=r"^lane of 3$"):
        ingot.vmap(f)(np.array([1, 2, 3, 4, 5]))


def test_routines():
    matrices = RNG.standard_normal((4, 3, 3)) + 3 * np.eye(3)
    compare(lambda m, v: np.linalg.solve(m, v), matrices, RNG.standard_normal((4, 3)))
    compare(lambda v: np.sort(v), X)
    compare(lambda v: np.fft.fft(v), X)
    compare(lambda m: np.linalg.inv(m) @ m, matrices)


def test_batches_of_batches():
    x, y = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((3, 4))
    every = ingot.vmap(ingot.vmap(lambda a, b: a @ b, in_axes=(0, None)), in_axes=(None, 0))
    np.testing.assert_allclose(every(y, x[0]), (y @ x[0].T).T, rtol=1e-12)
    np.testing.assert_array_equal(ingot.vmap(ingot.vmap(lambda a: a.sum()))(x).shape, (2, 3))
    inside = ingot.jit(lambda x: ingot.vmap(np.sum)(x) * 2)
    np.testing.assert_allclose(inside(X), X.sum(axis=1) * 2, rtol=1e-12)
    scale = ingot.jit(lambda v: v * 2)
    np.testing.assert_array_equal(ingot.vmap(scale)(X), X * 2)


def test_batches_and_derivatives():
    each = ingot.vmap(ingot.jacfwd(lambda v: (v * v).sum()))(X)
    np.testing.assert_allclose(each, 2 * X, rtol=1e-14)
    whole = ingot.jacfwd(ingot.vmap(lambda v: (v * v).sum()))(X[:2, :2])
    np.testing.assert_allclose(whole, np.einsum("ij,jk->ijk", np.eye(2), 2 * X[:2, :2]), rtol=1e-14)


def test_functions_are_seen_anew():
    scale = 2.0

    def f(v):
        return v * scale

    h = ingot.vmap(f)
    np.testing.assert_array_equal(h(X), X * 2)
    scale = 3.0
    np.testing.assert_array_equal(h(X), X * 3)


def test_sizes():
    np.testing.assert_array_equal(ingot.vmap(lambda: 3.0, axis_size=4)(), np.full(4, 3.0))
    cases = [
        (ingot.vmap(lambda v, w: v), (X, np.ones(3)), "mapped axes of lengths 5 and 3"),
        (ingot.vmap(lambda v: v), (np.ones((0, 2)),), "a batch without lanes"),
        (ingot.vmap(lambda v: v), (2.0,), "a number has no axis to map"),
        (ingot.vmap(lambda v: v, in_axes=2), (X,), "in_axes 2 for an array of 2 axes"),
        (ingot.vmap(lambda v: v, in_axes=None), (X,), "no argument is mapped"),
        (ingot.vmap(lambda v, w: v, in_axes=(0,)), (X, X), "in_axes has 1 entries where the argument has 2"),
        (ingot.vmap(lambda v: v, out_axes=None), (X,), "out_axes is None"),
        (ingot.vmap(lambda v: np.ones(int(v))), (np.array([1.0, 2.0]),), "whose shape differs from lane to lane"),
    ]
    for f, arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            f(*arguments)


def test_each_rule_has_its_test():
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "batching.md").read_text())
    defined = re.findall(r"^def (test_\w+)", Path(__file__).read_text(), flags=re.M)
    assert sorted(set(named)) == sorted(set(defined) - {"test_each_rule_has_its_test"})
