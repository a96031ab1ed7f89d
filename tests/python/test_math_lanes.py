"""Functions of `math` and NumPy in loops that run in lanes: values, special values, and the bits of single numbers."""

import math

import numpy as np
import pytest
from support import MODES, difference, jitted

TINY = 5e-324
LEAST_NORMAL = 2.2250738585072014e-308
EDGES = [0.0, 1.0, 0.5, 2.0, 6.0, 27.0, 1e300, TINY, LEAST_NORMAL, 1e-310, 1e-20, math.inf, math.nan]
EDGES += [-x for x in EDGES]


def arguments(low, high, count=2003, seed=1):
    """Numbers of a range, of all sizes in it, and the edges that stand in it."""
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


@pytest.mark.parametrize("function, low, high", [(math.erf, -7, 7), (math.erfc, -7, 28)])
def test_error_functions_in_lanes(function, low, high):
    x = np.concatenate([arguments(low, high), EDGES])
    # Two libraries of less than 1 ulp each.
    check_lanes(function, x, np.array([function(v) for v in x]), 2)


def test_error_functions_of_what_is_no_number():
    for function in (math.erf, math.erfc):
        for mode in MODES:
            compiled = jitted(lambda x: function(x), mode)
            assert math.isnan(compiled(math.nan))
            with pytest.raises(TypeError, match="must be real number, not str"):
                compiled("1")
