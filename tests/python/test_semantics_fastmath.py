"""What fastmath relaxes: the rules of docs/semantics.md under "fastmath", in its order."""

from fractions import Fraction

import numpy as np
import pytest
from support import check, needs_lanes

import ingot
from ingot._calls.function import Function
from ingot._calls.jit import RELAXATIONS, relaxations

RANDOM = np.random.default_rng(41)
LENGTHS = (0, 1, 7, 31, 32, 33, 64, 1023, 1024, 1025, 4133)


def once(a, b, c):
    """a * b + c, rounded once."""
    return [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a.tolist(), b.tolist(), c.tolist())]


@needs_lanes  # which have a fused multiply-add
def test_contract_rounds_once():
    def f(a, b, c):
        return a * b + c

    a, b, c = RANDOM.normal(size=(3, 1000))
    exact = ingot.jit(f)(a, b, c)
    assert exact.tobytes() == f(a, b, c).tobytes()
    if "fma" not in open("/proc/cpuinfo").read().split():
        pytest.skip("this CPU has no fused multiply-add")
    contracted = ingot.jit(fastmath="contract")(f)(a, b, c)
    assert contracted.tolist() == once(a, b, c)
    assert (contracted != exact).any()


def test_arcp_multiplies_by_the_reciprocal():
    def f(a):
        return a / 7.0

    a = RANDOM.normal(size=1000)
    assert (ingot.jit(f)(a) == a / 7.0).all()
    assert (ingot.jit(fastmath={"arcp"})(f)(a) == a * (1 / 7.0)).all()
    assert (a * (1 / 7.0) != a / 7.0).any()


def total(x):
    s = x.dtype.type(0)
    for i in range(len(x)):
        s += x[i]
    return s


def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def of_positive(x):
    p = 1.0
    s = 0.5
    for i in range(len(x)):
        if x[i] > 0:
            s += x[i]
            s -= 1.0
        else:
            p *= 1.0 + x[i] / 1000.0
    return p, s


def sum_of_rows(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i] += x[i, j]
    return out


@pytest.mark.sampled(4)
@needs_lanes
@pytest.mark.parametrize("length", LENGTHS)
def test_reassoc_sums_loops_in_any_order(length):
    relaxed = {f: ingot.jit(f, fastmath="reassoc") for f in (total, dot, of_positive)}
    for dtype in ("float32", "float64"):
        x = RANDOM.normal(size=length).astype(dtype)
        got = relaxed[total](x)
        assert type(got) is type(total(x))
        assert got == ingot.jit(lambda x: np.sum(x))(x)  # the order of a reduction
        assert abs(float(got) - float(np.sum(x, dtype=float))) <= 1e-6 * (1 + np.abs(x).sum())
    x, y = RANDOM.normal(size=(2, length))
    for step in (1, 2, -1):
        assert relaxed[dot](x[::step], y[::step]) == pytest.approx(dot(x[::step], y[::step]), rel=1e-10, abs=1e-10)
    assert relaxed[of_positive](x) == pytest.approx(of_positive(x), rel=1e-10)
    assert ingot.jit(total)(x) == total(x)
    if length == 4133:
        assert relaxed[total](x) != total(x)


def test_all_relaxations_keep_ordinary_numbers():
    def f(x, y):
        a = np.sqrt(x * x + y * y) / (1.0 + y)
        for i in range(len(a)):
            a[i] = max(a[i], -y[i]) + min(x[i], y[i])
        return a, np.sum(a), np.max(x), np.sin(x)

    x, y = RANDOM.uniform(0.5, 2, size=(2, 1003))
    got = ingot.jit(fastmath=True)(f)(x, y)
    for a, b in zip(got, f(x, y)):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    assert got[3].tobytes() == ingot.jit(lambda x: np.sin(x))(x).tobytes()
    z = np.zeros((5, 7))
    z[:] = np.arange(35.0).reshape(5, 7)
    np.testing.assert_allclose(ingot.jit(sum_of_rows, fastmath=True)(z, np.ones(5)), sum_of_rows(z, np.ones(5)))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "uint64"])
def test_integers_are_combined_in_any_order(dtype, length):
    def f(x, y):
        s = x.dtype.type(3)
        p = x.dtype.type(1)
        bits = x.dtype.type(5)
        count = np.int64(0)
        for i in range(len(x)):
            s += x[i] * y[i]
            p *= y[i] | x.dtype.type(1)
            bits ^= x[i]
            if x[i] > y[i]:
                count += np.int64(1)
        return s, p, bits, count

    info = np.iinfo(dtype)
    x, y = RANDOM.integers(info.min, info.max, (2, length), dtype, endpoint=True)
    with np.errstate(over="ignore"):
        check(f, x, y)
        check(f, x[::-1], y)


def test_unknown_relaxations_raise():
    with pytest.raises(ValueError, match="fastmath knows nnan.*not 'speed'"):
        ingot.jit(fastmath={"contract", "speed"})
    assert relaxations(True) == relaxations("fast") == RELAXATIONS
    assert relaxations(["reassoc", "nnan"]) == ("nnan", "reassoc")
    assert relaxations(False) == relaxations(()) == ()
    from ingot import _core

    assert _core.RELAXATIONS == RELAXATIONS
    function = Function(total, relaxed=("contract", "nnan"))
    function(np.ones(3))
    assert "relaxed(nnan, contract)" in function.specialisations[0].program.text()
