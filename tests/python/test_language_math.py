"""Rows of docs/language.md about `math`, `cmath`, `round` and `random`, against CPython."""

import cmath
import itertools
import math
import random

import numpy as np
import pytest

from support import check, jitted, outcome, refused

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


def test_hypot_of_any_number_of_coordinates():
    check(lambda x, y: (math.hypot(x, y, 12.0), math.hypot(x), math.hypot(-x), math.hypot(), math.hypot(x, 1, True, y)), 3.0, 4.0)
    check(lambda x: (math.hypot(x, math.inf, math.nan), math.hypot(x, 1.0, math.nan), math.hypot(0.0, x * 0, 0.0)), 3.0)
    hypot = jitted(lambda a, b, c, d: math.hypot(a, b, c, d))
    for scale in (1.0, 1e-200, 1e200, 1e-315):
        for row in np.random.default_rng(3).standard_normal((100, 4)) * scale:
            assert hypot(*row.tolist()) == math.hypot(*row.tolist())


def test_logarithms_to_a_base():
    check(lambda x, b: (math.log(x, b), math.log(x, 2), math.log(8, b), math.log(x, 10.0)), 8.5, 3.0, bound=1e-15)
    check(lambda x: math.log(x, 1), 8.5)
    check(lambda x: math.log(x, 0), 8.5)
    check(lambda x: math.log(-x, 2), 8.5)


ROUNDED = (0.5, 1.5, 2.5, 2.675, 0.125, 1e22, 123456.789, 5e-324, 1e-7, -0.05, 0.0, -0.0, 1.7e308, math.inf, math.nan, 2.0**53 + 2, 4503599627370497.5)


def test_round_to_digits():
    calls = [jitted(lambda x, n: round(x, n), mode) for mode in ("compiled", "interpreted")]
    numbers = [*ROUNDED, *(np.random.default_rng(4).standard_normal(60) * 10.0 ** np.arange(-20, 40)[:60]).tolist()]
    for call in calls:
        for number, n in itertools.product(numbers[:: 1 if call is calls[0] else 7], (-330, -309, -5, -1, 0, 1, 2, 5, 16, 22, 324)):
            expected, error, _ = outcome(round, (number, n))
            got, raised, _ = outcome(call, (number, n))
            if isinstance(raised, OverflowError) and "rounded" in str(raised):
                assert n < 0
                continue
            assert type(raised) is type(error) and str(raised) == str(error), (number, n, raised, error)
            assert error is not None or agrees(got, expected, 0.0), (number, n, got, expected)
        for i, n in itertools.product((0, 5, 15, 25, -15, 149, 10**18, 4, -(10**18)), (-19, -18, -2, -1, 0, 3)):
            assert call(i, n) == round(i, n)
    check(lambda x, n: (round(x, 1), round(2.675, n), round(x > 1, n), round(5, n)), 2.25, -1)
    check(lambda x, n: (round(x, n), round(x, -n), round(x, 1)), np.float64(2.567), 2)
    check(lambda x, n: (round(x, n), round(x, 1)), np.float32(2.567), 2)
    check(lambda x, n: round(x, -n), np.int64(12567), 2)
    check(lambda x: round(x, 1.0), 2.5)
    large = jitted(lambda x: (round(x, -2), round(x, -1), round(x, -22), round(x, -270), round(x, -305)))
    for x in (1e22, -2.5e22, 1e300):
        assert repr(large(x)) == repr((round(x, -2), round(x, -1), round(x, -22), round(x, -270), round(x, -305)))
    with pytest.raises(OverflowError, match="more than 22 digits"):
        calls[0](0.5, 23)


def streams_of(program):
    """What a program draws and what comes next, in Python and compiled, after the same seed."""
    found = []
    for call in (program, jitted(program), jitted(program, "interpreted")):
        random.seed(12345)
        found.append((outcome(call, (7,))[:2], random.random(), random.gauss(0.0, 1.0), random.getrandbits(40)))
    (expected, error), *rest = found[0]
    for (got, raised), *others in found[1:]:
        assert (type(raised), str(raised)) == (type(error), str(error))
        assert others == rest and repr(got) == repr(expected), (got, expected)
    return expected


@pytest.mark.rotated(3)
def test_streams_of_random():
    streams_of(lambda n: [random.random() for _ in range(700)])
    streams_of(lambda n: [random.getrandbits(k) for k in (1, 5, 31, 32, 33, 50, 63)])
    streams_of(lambda n: (random.uniform(1.0, 2.5), random.uniform(n, 2), random.triangular(), random.triangular(1.0, 4.0, 2.0)))
    streams_of(lambda n: [random.randint(1, 6) for _ in range(40)])
    streams_of(lambda n: [random.randrange(n), random.randrange(3, 50), random.randrange(3, 50, n), random.randrange(50, 3, -4)])
    streams_of(lambda n: random.randrange(n, 3))
    streams_of(lambda n: random.randrange(0))
    streams_of(lambda n: [random.choice([1.5, 2.5, 3.5]) for _ in range(n)])
    streams_of(lambda n: random.choice(np.arange(10.0)))
    streams_of(lambda n: random.choice([]))
    streams_of(lambda n: [random.normalvariate(0.0, 2.0) for _ in range(30)])
    streams_of(lambda n: (random.gauss(1.0, 2.0), random.gauss(), random.gauss(0, 3)))
    streams_of(lambda n: (random.expovariate(1.5), random.lognormvariate(0.0, 0.25), random.paretovariate(3.0), random.weibullvariate(1.0, 1.5)))
    streams_of(lambda n: [(random.gammavariate(a, 2.0), random.betavariate(a, 1.5)) for a in (0.5, 1.0, 3.5)])
    streams_of(lambda n: random.vonmisesvariate(0.5, 2.0))

    def shuffles(n):
        places = list(range(20))
        random.shuffle(places)
        numbers = np.arange(9.0)
        random.shuffle(numbers)
        grown = [i for i in range(n)]
        random.shuffle(grown)
        return places, numbers.tolist(), grown

    streams_of(shuffles)

    def seeds(n):
        random.seed(n)
        first = random.random()
        random.seed(n)
        return first, random.random(), random.gauss()

    streams_of(seeds)

    def iterates(n):
        x = y = 0
        for _ in range(1000):
            if random.random() < 0.5:
                x += random.choice((-1, 1))
            else:
                y += random.randint(-1, 1)
        return x, y

    streams_of(iterates)


@pytest.mark.rotated(4)
def test_streams_that_are_made_in_the_function():
    def drawn(seed):
        r = random.Random(seed)
        numbers = [1, 2, 3, 4, 5]
        r.shuffle(numbers)
        first = r.random(), r.randint(1, 10), r.uniform(1, 2), r.choice([1, 2, 3]), r.getrandbits(40), numbers
        return first, r.choices(numbers, k=3), r.sample(range(100), 5), r.randrange(5), isinstance(r, random.Random)

    for seed in (5, 0, -7, 2**40, 2.5, True, "abc", None):
        if seed is not None:
            check(drawn, seed)
    assert 0 <= jitted(lambda: random.Random().random())() < 1
    check(lambda seed: random.Random(seed).random(), np.int64(3))
    check(lambda seed: [random.Random(seed + i).random() for i in range(3)], 4)

    def normal(seed):
        r = random.Random(seed)
        first = r.gauss(0.0, 1.0), r.gauss(1.0, 2.0), r.gauss(0.0, 1.0)
        r.seed(seed)
        return first, r.gauss(0.0, 1.0), random.Random(seed).gauss(0.0, 1.0)

    check(normal, 3, bound=1e-14)

    def inside(n):
        r, count = random.Random(42), 0
        for _ in range(n):
            if r.random() ** 2 + r.random() ** 2 < 1:
                count += 1
        return count

    check(inside, 2000)
    refused(lambda seed: random.Random(seed), 3, words="a Random that is made in the function and leaves it")
    refused(lambda seed: random.Random(seed).getstate(), 3, words="this attribute of a `random.Random`")


def test_samples_of_random():
    streams_of(lambda n: random.sample([1, 2, 3, 4, 5], 3))
    streams_of(lambda n: (random.sample(range(1000), n), random.sample(range(100), 0)))
    streams_of(lambda n: random.sample(range(3), n + 1))
    streams_of(lambda n: random.sample(range(100), 40))
    streams_of(lambda n: random.sample(np.arange(3), 1))
    refused(lambda n: random.sample([1, 2], counts=[n, 2], k=1), 3)


def test_methods_of_ints_and_powers_with_a_modulus():
    def bits(n):
        return n.bit_length(), n.bit_count(), n.as_integer_ratio()

    numbers = (0, 1, -1, 5, -8, 2**62, 2**63 - 1, -(2**63) + 1)
    for n in numbers:
        check(bits, n)
    for base, exponent, modulus in ((3, 1000, 7), (2, 10**6, 10**18 + 9), (-5, 3, -7), (7, -1, 40), (2, -1, 4), (2, 3, 0), (5, 0, 1)):
        check(lambda a, b, m: pow(a, b, m), base, exponent, modulus)
    check(lambda x: (x.is_integer(), (x * 0.3).is_integer()), 4.0)
    check(lambda x: x.is_integer(), np.inf.__float__())
