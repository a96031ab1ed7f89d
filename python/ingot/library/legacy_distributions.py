"""One number of each distribution of NumPy's legacy streams, as those have drawn it since NumPy 1.16.

What a Generator draws otherwise is here, over the uniform, normal and exponential numbers of the stream. Elementary
functions are those of C that NumPy's own code calls: the last bit of a number depends on them. Parameters are float64, or
int64, so that divisions are C's.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import primitives

_mathematics = ctypes.CDLL(np.random.mtrand.__file__)
"""NumPy's library, by which the mathematics that it is linked to are found."""


def _function(name: str, parameters: int) -> Any:
    """A function of C with its location here, by which the cache finds it again."""
    function = getattr(_mathematics, name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * parameters
    function.__module__, function.__qualname__ = __name__, f"_{name}"
    return function


_exp, _log, _log1p, _pow = _function("exp", 1), _function("log", 1), _function("log1p", 1), _function("pow", 2)
_cos, _acos = _function("cos", 1), _function("acos", 1)

LARGEST = np.float64(2.0**63)
LOG_2PI = 1.8378770664093453
LOG_GAMMA = (
    -1.39243221690590, 0.1796443723688307, -0.02955065359477124, 0.006410256410256410, -0.001917526917526918,
    8.417508417508418e-04, -5.952380952380952e-04, 7.936507936507937e-04, -2.777777777777778e-03, 0.08333333333333333,
)  # fmt: skip


def exp(x: Any) -> Any:
    return np.float64(_exp(x))


def log(x: Any) -> Any:
    return np.float64(_log(x))


def power_of(x: Any, y: Any) -> Any:
    return np.float64(_pow(x, y))


def uniform(stream: Any) -> Any:
    return np.float64(primitives.draw("standard_uniform", stream))


def normal(stream: Any) -> Any:
    return np.float64(primitives.draw("legacy_standard_normal", stream))


def exponential(stream: Any) -> Any:
    return np.float64(primitives.draw("legacy_standard_exponential", stream))


def as_integer(x: Any) -> Any:
    """The integer below, as C converts it where it has no 64 bits."""
    return np.floor(x).astype(np.int64)


# Gamma, and what is made of it.


def standard_gamma(stream: Any, shape: Any) -> Any:
    if shape == 1.0:
        return exponential(stream)
    if shape == 0.0:
        return np.float64(0.0)
    if shape < 1.0:
        return gamma_below_1(stream, shape)
    b = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * b)
    while True:
        x = normal(stream)
        v = 1.0 + c * x
        while v <= 0.0:
            x = normal(stream)
            v = 1.0 + c * x
        v = v * v * v
        u = uniform(stream)
        if u < 1.0 - 0.0331 * (x * x) * (x * x):
            return b * v
        if log(u) < 0.5 * x * x + b * (1.0 - v + log(v)):
            return b * v


def gamma_below_1(stream: Any, shape: Any) -> Any:
    while True:
        u = uniform(stream)
        limit = exponential(stream)
        if u <= 1.0 - shape:
            x = power_of(u, 1.0 / shape)
            if x <= limit:
                return x
        else:
            y = -log((1.0 - u) / shape)
            x = power_of(1.0 - shape + shape * y, 1.0 / shape)
            if x <= limit + y:
                return x


def gamma(stream: Any, shape: Any, scale: Any) -> Any:
    return scale * standard_gamma(stream, shape)


def beta(stream: Any, a: Any, b: Any) -> Any:
    if a <= 1.0 and b <= 1.0:
        return beta_below_1(stream, a, b)
    x = standard_gamma(stream, a)
    return x / (x + standard_gamma(stream, b))


def beta_below_1(stream: Any, a: Any, b: Any) -> Any:
    while True:
        u = uniform(stream)
        v = uniform(stream)
        x = power_of(u, 1.0 / a)
        y = power_of(v, 1.0 / b)
        if x + y <= 1.0:
            if x + y > 0.0:
                return x / (x + y)
            log_x = log(u) / a
            log_y = log(v) / b
            larger = log_x if log_x > log_y else log_y
            log_x -= larger
            log_y -= larger
            return exp(log_x - log(exp(log_x) + exp(log_y)))


def chisquare(stream: Any, df: Any) -> Any:
    return 2.0 * standard_gamma(stream, df / 2.0)


def noncentral_chisquare(stream: Any, df: Any, nonc: Any) -> Any:
    if nonc == 0.0:
        return chisquare(stream, df)
    if df > 1.0:
        central = chisquare(stream, df - 1.0)
        x = normal(stream) + np.sqrt(nonc)
        return central + x * x
    pairs = primitives.draw("poisson", stream, nonc / 2.0)
    result = chisquare(stream, df + np.float64(2 * pairs))
    return nonc if nonc != nonc else result


def f(stream: Any, dfnum: Any, dfden: Any) -> Any:
    upper = chisquare(stream, dfnum) * dfden
    return upper / (chisquare(stream, dfden) * dfnum)


def noncentral_f(stream: Any, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    upper = noncentral_chisquare(stream, dfnum, nonc) * dfden
    return upper / (chisquare(stream, dfden) * dfnum)


def standard_t(stream: Any, df: Any) -> Any:
    x = normal(stream)
    return np.sqrt(df / 2.0) * x / np.sqrt(standard_gamma(stream, df / 2.0))


def negative_binomial(stream: Any, n: Any, p: Any) -> Any:
    return primitives.draw("poisson", stream, gamma(stream, n, (1.0 - p) / p))


# Others of floats.


def standard_cauchy(stream: Any) -> Any:
    x = normal(stream)
    return x / normal(stream)


def pareto(stream: Any, a: Any) -> Any:
    return exp(exponential(stream) / a) - 1.0


def weibull(stream: Any, a: Any) -> Any:
    if a == 0.0:
        return np.float64(0.0)
    return power_of(exponential(stream), 1.0 / a)


def power(stream: Any, a: Any) -> Any:
    return power_of(1.0 - exp(-exponential(stream)), 1.0 / a)


def rayleigh(stream: Any, scale: Any) -> Any:
    return scale * np.sqrt(-2.0 * np.float64(_log1p(-uniform(stream))))


def lognormal(stream: Any, mean: Any, sigma: Any) -> Any:
    return exp(mean + sigma * normal(stream))


def wald(stream: Any, mean: Any, scale: Any) -> Any:
    ratio = mean / (2.0 * scale)
    x = normal(stream)
    y = mean * x * x
    x = mean + ratio * (y - np.sqrt(4.0 * scale * y + y * y))
    if uniform(stream) <= mean / (mean + x):
        return x
    return mean * mean / x


def vonmises(stream: Any, mu: Any, kappa: Any) -> Any:
    if kappa != kappa:
        return kappa
    if kappa < 1e-8:
        return np.pi * (2.0 * uniform(stream) - 1.0)
    if kappa < 1e-5:
        s = 1.0 / kappa + kappa
    else:
        r = 1.0 + np.sqrt(1.0 + 4.0 * kappa * kappa)
        rho = (r - np.sqrt(2.0 * r)) / (2.0 * kappa)
        s = (1.0 + rho * rho) / (2.0 * rho)
    while True:
        z = np.float64(_cos(np.pi * uniform(stream)))
        w = (1.0 + s * z) / (s + z)
        y = kappa * (s - w)
        v = uniform(stream)
        if y * (2.0 - y) - v >= 0.0 or log(y / v) + 1.0 - y >= 0.0:
            break
    angle = np.float64(_acos(w))
    if uniform(stream) < 0.5:
        angle = -angle
    angle += mu
    turned = np.fmod(np.abs(angle) + np.pi, 2.0 * np.pi) - np.pi
    return -turned if angle < 0.0 else turned


# Others of integers.


def binomial(stream: Any, p: Any, n: Any) -> Any:
    rarer = p if p <= 0.5 else 1.0 - p
    if not rarer * np.float64(n) <= 30.0:
        return primitives.draw("binomial", stream, p, n)
    found = binomial_by_inversion(stream, n, rarer)
    return found if p <= 0.5 else n - found


def binomial_by_inversion(stream: Any, n: Any, p: Any) -> Any:
    count = np.float64(n)
    q = 1.0 - p
    first = exp(count * log(q))
    mean = count * p
    most = mean + 10.0 * np.sqrt(mean * q + 1.0)
    bound = as_integer(count if count < most else most)
    x = 0
    density = first
    u = uniform(stream)
    while u > density:
        x += 1
        if x > bound:
            x = 0
            density = first
            u = uniform(stream)
        else:
            u -= density
            density = np.float64(n - x + 1) * p * density / (np.float64(x) * q)
    return x


def geometric(stream: Any, p: Any) -> Any:
    if p >= 0.333333333333333333333333:
        return primitives.draw("geometric", stream, p)
    return int(np.ceil(np.float64(_log1p(-uniform(stream))) / log(1.0 - p)).astype(np.int64))


def logseries(stream: Any, p: Any) -> Any:
    r = log(1.0 - p)
    while True:
        v = uniform(stream)
        if v >= p:
            return 1
        q = 1.0 - exp(r * uniform(stream))
        if v <= q * q:
            found = int(as_integer(1.0 + log(v) / log(q)))
            if found >= 1 and v != 0.0:
                return found
        elif v >= q:
            return 1
        else:
            return 2


def zipf(stream: Any, a: Any) -> Any:
    exponent = a - 1.0
    b = power_of(2.0, exponent)
    while True:
        u = 1.0 - uniform(stream)
        v = uniform(stream)
        x = np.floor(power_of(u, -1.0 / exponent))
        if not (x > LARGEST or x < 1.0):
            t = power_of(1.0 + 1.0 / x, exponent)
            if v * x * (t - 1.0) / (b - 1.0) <= t / b:
                return int(x.astype(np.int64))


def hypergeometric(stream: Any, good: Any, bad: Any, sample: Any) -> Any:
    if sample > 10:
        return hypergeometric_by_rejection(stream, good, bad, sample)
    fewer = np.float64(min(good, bad))
    rest = bad + good - sample
    left = fewer
    k = sample
    while left > 0.0:
        left -= np.floor(uniform(stream) + left / np.float64(rest + k))
        k -= 1
        if k == 0:
            break
    found = int(as_integer(fewer - left))
    return sample - found if good > bad else found


def log_gamma(k: Any) -> Any:
    """The logarithm of the gamma function of a positive integer."""
    if k == 1 or k == 2:
        return np.float64(0.0)
    x = np.float64(max(k, 7))
    square = (1.0 / x) * (1.0 / x)
    series = np.float64(LOG_GAMMA[0])
    for c in LOG_GAMMA[1:]:
        series = series * square + c
    result = series / x + 0.5 * LOG_2PI + (x - 0.5) * log(x) - x
    for i in range(6, k - 1, -1):
        result -= log(np.float64(i))
    return result


def log_gammas(a: Any, b: Any, c: Any, d: Any) -> Any:
    return log_gamma(a) + log_gamma(b) + log_gamma(c) + log_gamma(d)


def hypergeometric_by_rejection(stream: Any, good: Any, bad: Any, sample: Any) -> Any:
    fewer, more = min(good, bad), max(good, bad)
    population = good + bad
    m = min(sample, population - sample)
    share = np.float64(fewer) / np.float64(population)
    centre = np.float64(m) * share + 0.5
    spread = np.sqrt(np.float64(population - m) * np.float64(sample) * share * (1.0 - share) / np.float64(population - 1) + 0.5)
    width = 1.7155277699214135 * spread + 0.8989161620588988
    mode = int(as_integer(np.float64(m + 1) * np.float64(fewer + 1) / np.float64(population + 2)))
    peak = log_gammas(mode + 1, fewer - mode + 1, m - mode + 1, more - m + mode + 1)
    end = min(np.float64(min(m, fewer)) + 1.0, np.floor(centre + 16.0 * spread))
    while True:
        x = uniform(stream)
        y = uniform(stream)
        w = centre + width * (y - 0.5) / x
        if w < 0.0 or w >= end:
            continue
        found = int(as_integer(w))
        t = peak - log_gammas(found + 1, fewer - found + 1, m - found + 1, more - m + found + 1)
        if x * (4.0 - x) - 3.0 <= t:
            break
        if not x * (x - t) >= 1.0 and 2.0 * log(x) <= t:
            break
    if good > bad:
        found = m - found
    return good - found if m < sample else found
