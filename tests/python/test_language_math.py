"""Rows of docs/language.md about `math` and `cmath`, against CPython."""

import cmath
import itertools
import math

import numpy as np
import pytest
from support import check, jitted, outcome

ODD = (-math.inf, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, math.inf, math.nan, 1e308, -1e308, 5e-324, -1e-310, 710.0, -709.5, 1e-170)
POINTS = [complex(x, y) for x, y in itertools.product(ODD, ODD)]
OF_CMATH = "acos acosh asin asinh atan atanh cos cosh exp isfinite isinf isnan log log10 phase polar sin sinh sqrt tan tanh".split()


def agrees(got, expected, bound):
    """Whether two values of `cmath` are one, their signs and NaNs too, but for a relative bound."""
    if isinstance(expected, tuple):
        return all(agrees(g, e, bound) for g, e in zip(got, expected, strict=True))
    if isinstance(expected, complex):
        return isinstance(got, complex) and agrees(got.real, expected.real, bound) and agrees(got.imag, expected.imag, bound)
    if type(got) is not type(expected) or math.isnan(expected) or math.isnan(got):
        return type(got) is type(expected) and math.isnan(got) and math.isnan(expected)
    close = got == expected or math.isclose(got, expected, rel_tol=bound, abs_tol=1e-320)
    return close and math.copysign(1.0, got) == math.copysign(1.0, expected)


@pytest.mark.parametrize("name", OF_CMATH)
def test_functions_of_cmath(name):
    function = getattr(cmath, name)
    rng = np.random.default_rng(1)
    parts = rng.standard_normal((60, 2)) * 10.0 ** rng.integers(-3, 3, (60, 2))
    compiled, interpreted = jitted(lambda z: function(z)), jitted(lambda z: function(z), "interpreted")
    for number, z in enumerate(POINTS + [complex(x, y) for x, y in parts]):
        expected, error, _ = outcome(function, (z,))
        if name == "phase" and isinstance(error, OverflowError):
            continue  # C's library calls the angle too small
        for call in (compiled, interpreted) if number % 16 == 0 else (compiled,):
            got, raised, _ = outcome(call, (z,))
            assert (type(raised), str(raised)) == (type(error), str(error)), (z, raised, error)
            assert error is not None or agrees(got, expected, 4e-15), (z, got, expected)


def test_numbers_of_cmath():
    check(lambda x: (cmath.sqrt(x), cmath.exp(int(x)), cmath.log(True), cmath.isfinite(x)), -4.0)
    check(lambda z: (cmath.log(z, 2), cmath.log(z, z + 1)), 3 + 4j, bound=1e-15)
    check(lambda z: cmath.log(z, 1), 3 + 4j)
    check(lambda z: (cmath.isclose(z, z + 1e-12), cmath.isclose(z, 2, rel_tol=0.5), cmath.isclose(z, z, abs_tol=1.0)), 1 + 1j)
    check(lambda z: (z * cmath.pi, cmath.e, cmath.tau, cmath.inf, cmath.infj, cmath.nan, cmath.nanj), 1j)
    check(lambda x: cmath.sqrt(x), np.complex64(-1))
    for r, phi in itertools.product(ODD, ODD):
        expected, error, _ = outcome(cmath.rect, (r, phi))
        got, raised, _ = outcome(RECT, (r, phi))
        assert type(raised) is type(error) and str(raised) == str(error)
        assert error is not None or agrees(got, expected, 4e-15), (r, phi, got, expected)


RECT = jitted(lambda r, phi: cmath.rect(r, phi))


def test_norms_of_math():
    check(lambda p, q: math.dist(p, q), (1.0, 2.0, 3.5), (4, 5, 6))
    check(lambda p, q: (math.dist(p, q), math.dist(list(p), [0.1, 0.2])), (1.0, 2.0), (4.0, math.inf))
    check(lambda p: (math.dist((), ()), math.dist([p], [2 * p]), math.dist((p, 1.0), (math.nan, 1.0))), 0.1)
    check(lambda p: math.dist((p, 1.0), (p,)), 0.1)
    dist = jitted(lambda a, b, c, x, y, z: math.dist((a, b, c), (x, y, z)))
    for row in np.random.default_rng(2).standard_normal((200, 6)) * 1e3:
        a, b, c, x, y, z = row.tolist()
        assert dist(a, b, c, x, y, z) == math.dist((a, b, c), (x, y, z))
