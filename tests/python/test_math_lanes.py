"""Functions of `math` and NumPy in loops that run in lanes: values, special values, and the bits of single numbers."""

import ctypes
import math

import numpy as np
import pytest
from support import MODES, difference, jitted

TINY = 5e-324
LEAST_NORMAL = 2.2250738585072014e-308
EDGES = [0.0, 1.0, 0.5, 2.0, 6.0, 27.0, 1e300, TINY, LEAST_NORMAL, 1e-310, 1e-20, math.inf, math.nan]
EDGES += [-x for x in EDGES]


def arguments(low, high, count=2003, seed=1):
    """Numbers of a range, of all sizes in it, and the edges in it."""
    rng = np.random.default_rng(seed)
    sizes = np.ldexp(rng.uniform(low, high, count), rng.integers(-60, 1, count))
    return np.concatenate([rng.uniform(low, high, count), sizes, [x for x in EDGES if not low > x and not x > high]])


def ulps(got, expected):
    """The largest distance, in units of the last place of the expected numbers; specials must be the same."""
    special = ~np.isfinite(expected) | (expected == 0)
    assert np.array_equal(got[special], expected[special], equal_nan=True)
    assert np.array_equal(np.signbit(got[special & (expected == 0)]), np.signbit(expected[special & (expected == 0)]))
    rest = ~special
    return np.max(np.abs(got[rest] - expected[rest]) / np.spacing(np.abs(expected[rest])))


def exact(name, x):
    """The C library's long double function, rounded."""
    function = getattr(ctypes.CDLL("libm.so.6"), name)
    function.argtypes, function.restype = [ctypes.c_longdouble], ctypes.c_longdouble
    return np.array([function(v) for v in x])


def check_lanes(f, x, expected, bound):
    """A loop in lanes against `expected`, and against the same numbers one by one and by the interpreter."""

    def loop(x):
        out = np.empty(len(x))
        for i in range(len(x)):
            out[i] = f(x[i])
        return out

    got = jitted(loop)(x)
    assert ulps(got, expected) <= bound
    assert difference(jitted(loop, "interpreted")(x), got) is None
    one = jitted(lambda v: f(v))
    assert difference(np.array([one(float(v)) for v in x]), got) is None


@pytest.mark.parametrize(
    "function, name, low, high",
    [(math.gamma, "tgammal", 0, 171), (math.lgamma, "lgammal", 0, 4), (math.lgamma, "lgammal", 0, 1e6), (math.lgamma, "lgammal", 0, 1e300)],
)
def test_gamma_functions_in_lanes(function, name, low, high):
    x = arguments(low, high)
    x = np.concatenate([x[x > 1e-300], 1 + np.ldexp(1.0, np.arange(-52, -1)), 2 - np.ldexp(1.0, np.arange(-52, 0))])
    check_lanes(function, x, exact(name, x), 1)


def test_gamma_functions_of_integers_and_special_values():
    for mode in MODES:
        gamma = jitted(lambda x: math.gamma(x), mode)
        log_gamma = jitted(lambda x: math.lgamma(x), mode)
        for n in range(1, 24):
            assert gamma(float(n)) == math.factorial(n - 1)
        assert log_gamma(1.0) == log_gamma(2.0) == 0.0
        assert gamma(math.inf) == log_gamma(math.inf) == log_gamma(-math.inf) == math.inf
        assert math.isnan(gamma(math.nan)) and math.isnan(log_gamma(math.nan))
        for x in (-0.5, -1.5, -20.25, -170.5, 1e-300, -1e-300):
            assert math.isclose(gamma(x), math.gamma(x), rel_tol=1e-14)
            assert math.isclose(log_gamma(x), math.lgamma(x), rel_tol=1e-13, abs_tol=1e-14)
        for function in (math.gamma, math.lgamma):
            for x in (0.0, -0.0, -1.0, -300.0, -math.inf, 172.0, 1e306, 1e-310):
                try:
                    expected = function(x)
                except (ValueError, OverflowError) as known:
                    with pytest.raises(type(known), match=str(known)):
                        jitted(lambda x: function(x), mode)(x)
                else:
                    assert math.isclose(jitted(lambda x: function(x), mode)(x), expected, rel_tol=1e-14)


@pytest.mark.parametrize("function, low, high", [(math.erf, -7, 7), (math.erfc, -7, 28)])
def test_error_functions_in_lanes(function, low, high):
    x = np.concatenate([arguments(low, high), EDGES])
    check_lanes(function, x, exact(function.__name__ + "l", x), 1)


def test_error_functions_of_what_is_no_number():
    for function in (math.erf, math.erfc):
        for mode in MODES:
            compiled = jitted(lambda x: function(x), mode)
            assert math.isnan(compiled(math.nan))
            with pytest.raises(TypeError, match="must be real number, not str"):
                compiled("1")


PAIRS = np.array([(a, b) for a in EDGES for b in EDGES])
WIDE = [(5e300, 3.0), (1e22, 7.0), (2.0**53 + 2, 1.0), (-(2.0**70), 3.3), (5.3, TINY), (1e-310, 3e-320), (1.0, math.nextafter(1.0, 2.0))]


def dividends(dtype):
    """Pairs of a dtype: quotients of all sizes, near integers, and the edges."""
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-1e4, 1e4, 3001), rng.uniform(-10, 10, 3001)
    multiples = rng.integers(-50, 50, 500) * b[:500]
    far = np.ldexp(rng.uniform(-1, 1, 300), rng.integers(-100, 100, 300)), np.ldexp(rng.uniform(-1, 1, 300), rng.integers(-100, 100, 300))
    with np.errstate(all="ignore"):
        left = np.concatenate([a, multiples, np.nextafter(multiples, 0), far[0], PAIRS[:, 0], [w[0] for w in WIDE]]).astype(dtype)
        right = np.concatenate([b, b[:500], b[:500], far[1], PAIRS[:, 1], [w[1] for w in WIDE]]).astype(dtype)
    return left, right


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("function", [np.fmod, np.remainder, np.floor_divide, np.divmod, np.nextafter])
def test_exact_functions_in_lanes_are_numpys(function, dtype):
    left, right = dividends(dtype)
    with np.errstate(all="ignore"):
        expected = function(left, right)
    for mode in MODES:
        assert difference(jitted(lambda a, b: function(a, b), mode)(left, right), expected) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_spacing_and_multiples_by_powers_in_lanes_are_numpys(dtype):
    x = dividends(dtype)[0]
    powers = np.random.default_rng(6).integers(-40, 40, len(x)).astype(np.int32)
    powers[::7] *= 60
    powers[::31] = 2**31 - 1
    powers[::37] = -(2**31)
    with np.errstate(all="ignore"):
        expected = np.spacing(x), np.ldexp(x, powers)
    for mode in MODES:
        assert difference(jitted(lambda x, n: (np.spacing(x), np.ldexp(x, n)), mode)(x, powers), expected) is None


def test_remainders_of_loops_are_pythons():
    def loop(a, b):
        out = np.empty((len(a), 3))
        for i in range(len(a)):
            out[i, 0] = math.fmod(a[i], b[i])
            out[i, 1] = float(a[i]) % float(b[i])
            out[i, 2] = float(a[i]) // float(b[i])
        return out

    left, right = dividends(np.float64)
    keep = np.isfinite(left) & np.isfinite(right) & (right != 0)
    left, right = left[keep], right[keep]
    expected = loop(left, right)
    for mode in MODES:
        assert difference(jitted(loop, mode)(left, right), expected) is None
    for a, b in ((1.0, 0.0), (math.inf, 1.0), (math.nan, 0.0)):
        wrong = np.array([3.0, a]), np.array([2.0, b])
        with pytest.raises((ValueError, ZeroDivisionError)) as known:
            loop(*(x.tolist() for x in wrong))
        for mode in MODES:
            with pytest.raises(type(known.value), match=str(known.value)):
                jitted(loop, mode)(*wrong)


def test_neighbours_and_remainders_of_math():
    def loop(x, y):
        out = np.empty((len(x), 3))
        for i in range(len(x)):
            out[i, 0] = math.nextafter(x[i], y[i])
            out[i, 1] = math.ulp(x[i])
            out[i, 2] = math.remainder(x[i], y[i])
        return out

    left, right = dividends(np.float64)
    halves = np.array([(k / 2 * y, y) for k in range(-9, 10) for y in (1.0, -3.0, 0.25, 5e-324)])
    left, right = np.concatenate([left, halves[:, 0]]), np.concatenate([right, halves[:, 1]])
    fails = (np.isinf(left) & ~np.isnan(right)) | ((right == 0) & ~np.isnan(left))
    expected = loop(left[~fails], right[~fails])
    for mode in MODES:
        assert difference(jitted(loop, mode)(left[~fails], right[~fails]), expected) is None
        for x, y in zip(left[fails], right[fails]):
            with pytest.raises(ValueError, match="math domain error"):
                jitted(lambda x, y: math.remainder(x, y), mode)(float(x), float(y))
        assert jitted(lambda x: math.ulp(x), mode)(1.7976931348623157e308) == 2.0**971
        for function in (math.nextafter, math.remainder):
            with pytest.raises(TypeError, match="must be real number, not str"):
                jitted(lambda x: function(x, 1.0), mode)("a")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_common_divisors_in_lanes_are_numpys(dtype):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(8)
    a, b = (rng.integers(limits.min, limits.max, 1001, dtype, endpoint=True) for _ in range(2))
    small = rng.integers(0, 100, (2, 500)).astype(dtype)
    edges = np.array([(x, y) for x in (limits.min, limits.max, 0, 1, 96) for y in (limits.min, limits.max, 0, 1, 36)], dtype)
    a = np.concatenate([a, small[0], edges[:, 0]])
    b = np.concatenate([b, small[1], edges[:, 1]])
    expected = np.gcd(a, b), np.lcm(a, b), np.gcd.reduce(small[0]), np.lcm.reduce(small[0][:2])
    for mode in MODES:
        function = jitted(lambda a, b, s: (np.gcd(a, b), np.lcm(a, b), np.gcd.reduce(s), np.lcm.reduce(s[:2])), mode)
        assert difference(function(a, b, small[0]), expected) is None
    assert difference(jitted(lambda a, b: (np.gcd(a, b), np.lcm(a, b)))(a[3], b[3]), (np.gcd(a[3], b[3]), np.lcm(a[3], b[3]))) is None
