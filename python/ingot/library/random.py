"""numpy.random: the methods of Generator and RandomState, and the functions of the global stream.

What is drawn, in which order, is NumPy's: its own distributions draw (`primitives.draw`) from its own bit generators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .registry import implements

POISSON_LIMIT = float(np.iinfo(np.int64).max - np.sqrt(np.iinfo(np.int64).max) * 10)


def flat(x: Any) -> Any:
    """All elements of a new array, one after the other."""
    return primitives.reshape(x, (x.size,))


def real(x: Any) -> Any:
    """A parameter as a number, or as an array of float64."""
    x = np.asarray(x)
    return float(x[()]) if x.ndim == 0 else x.astype(np.float64)


def is_number(x: Any) -> bool:
    return np.ndim(x) == 0


def non_negative(x: Any, name: str) -> Any:
    x = real(x)
    if np.any(np.signbit(x) & (x == x)):
        raise ValueError(f"{name} < 0")
    return x


def positive(x: Any, name: str) -> Any:
    x = real(x)
    if np.any(x <= 0):
        raise ValueError(f"{name} <= 0")
    return x


def probability(x: Any, name: str, alone: bool) -> Any:
    """`alone`: the other parameters are numbers, too."""
    x = real(x)
    if is_number(x) and alone:
        if not (x >= 0 and x <= 1):
            raise ValueError(f"{name} < 0, {name} > 1 or {name} is NaN")
    elif not np.all((x >= 0) & (x <= 1)):
        raise ValueError(f"{name} < 0, {name} > 1 or {name} contains NaNs")
    return x


def positive_probability(x: Any, name: str) -> Any:
    x = real(x)
    if not np.all((x > 0) & (x <= 1)):
        raise ValueError(f"{name} <= 0, {name} > 1 or {name} contains NaNs")
    return x


def probability_below_1(x: Any, name: str) -> Any:
    x = real(x)
    if is_number(x):
        if not (x >= 0 and x < 1):
            raise ValueError(f"{name} < 0, {name} >= 1 or {name} is NaN")
    elif not np.all((x >= 0) & (x < 1)):
        raise ValueError(f"{name} < 0, {name} >= 1 or {name} contains NaNs")
    return x


def above_1(x: Any, name: str) -> Any:
    x = real(x)
    if is_number(x):
        if not x > 1:
            raise ValueError(f"{name} <= 1 or {name} is NaN")
    elif not np.all(x > 1):
        raise ValueError(f"{name} <= 1 or {name} contains NaNs")
    return x


def rate(x: Any, name: str) -> Any:
    """A parameter of the Poisson distribution."""
    x = real(x)
    if is_number(x):
        if not x >= 0:
            raise ValueError(f"{name} < 0 or {name} is NaN")
        if not x <= POISSON_LIMIT:
            raise ValueError(f"{name} value too large")
        return x
    if not np.all(x <= POISSON_LIMIT):
        raise ValueError(f"{name} value too large")
    if not np.all(x >= 0):
        raise ValueError(f"{name} < 0 or {name} contains NaNs")
    return x


def whole(x: Any, name: str) -> Any:
    """A parameter that is a count, as a number or an array of int64."""
    x = np.asarray(x)
    if x.dtype.kind not in "bi":
        primitives.refuse(f"a parameter `{name}` that is no signed integer", "convert it to int64")
    return int(x[()]) if x.ndim == 0 else x.astype(np.int64)


def count_not_negative(x: Any, name: str) -> None:
    if np.any(x < 0):
        raise ValueError(f"{name} < 0")


def kahan_sum(x: Any, count: Any) -> Any:
    """The sum of the first elements, with what rounding takes away."""
    if count == 0:
        return 0.0
    total, rest = float(x[0]), 0.0
    for i in range(1, count):
        y = float(x[i]) - rest
        t = total + y
        rest = (t - total) - y
        total = t
    return total


def filled(routine: str, stream: Any, size: Any, dtype: Any, *parameters: Any) -> Any:
    """A new array that one call of a routine fills."""
    result = np.empty(size, dtype)
    primitives.draw(routine, stream, *parameters, flat(result))
    return result


def lengths_of(size: Any) -> Any:
    return tuple(size) if isinstance(size, (tuple, list)) else (size,)


def count_of(size: Any) -> Any:
    """The number of elements of a result."""
    count = 1
    if size is not None:
        for length in lengths_of(size):
            count = count * length
    return count


def common_shape(size: Any, *parameters: Any) -> Any:
    """The shape of the result for parameters that are not all numbers."""
    shapes = [np.shape(x) for x in parameters]
    if size is None:
        return np.broadcast_shapes(*shapes)
    wanted = lengths_of(size)
    shape = np.broadcast_shapes(wanted, *shapes)
    if shape != wanted:
        raise ValueError(f"Output size {wanted} is not compatible with broadcast dimensions of inputs {shape}.")
    return shape


def each(x: Any, shape: Any) -> Any:
    """The elements of a parameter for each element of the result."""
    return np.ravel(np.broadcast_to(x, shape))


def sampled(routine: str, stream: Any, size: Any, dtype: Any, *parameters: Any) -> Any:
    """One number, or an array of numbers, drawn for parameters that are broadcast."""
    return sampled_by(lambda stream, *parameters: primitives.draw(routine, stream, *parameters), stream, size, dtype, *parameters)


def sampled_by(draw: Any, stream: Any, size: Any, dtype: Any, *parameters: Any) -> Any:
    """The same, each drawn by a function of the stream and a number of each parameter."""
    if all([is_number(x) for x in parameters]):
        if size is None:
            return draw(stream, *parameters)
        result = np.empty(size, dtype)
        numbers = flat(result)
        for i in range(len(numbers)):
            numbers[i] = draw(stream, *parameters)
        return result
    shape = common_shape(size, *parameters)
    result = np.empty(shape, dtype)
    numbers = flat(result)
    columns = [each(x, shape) for x in parameters]
    for i in range(len(numbers)):
        numbers[i] = draw(stream, *[column[i] for column in columns])
    return result


STRIP = 512
"""So many numbers are drawn at once where something is made of them, which then are in the cache."""


def strips(routine: str, fill: str, stream: Any, size: Any, make: Any, *parameters: Any) -> Any:
    """One number of a routine, or an array: what `make` makes of each number that another routine fills, and of the parameters."""
    is_one = all([is_number(x) for x in parameters])
    if is_one and size is None:
        return primitives.draw(routine, stream, *parameters)
    shape = size if is_one else common_shape(size, *parameters)
    result = np.empty(shape, np.float64)
    numbers = flat(result)
    columns = [x if is_one else each(x, shape) for x in parameters]
    for begin in range(0, len(numbers), STRIP):
        strip = numbers[begin : begin + STRIP]
        primitives.draw(fill, stream, strip)
        strip[:] = make(strip, *[x if is_one else x[begin : begin + STRIP] for x in columns])
    return result


def reals(routine: str, stream: Any, size: Any, *parameters: Any) -> Any:
    return sampled(routine, stream, size, np.float64, *parameters)


def integers_of(routine: str, stream: Any, size: Any, *parameters: Any) -> Any:
    return sampled(routine, stream, size, np.int64, *parameters)


def standard(kind: str, name: str, stream: Any, size: Any, dtype: Any, out: Any) -> Any:
    """Numbers of a distribution without parameters, which fills float64 or float32 in one call."""
    dtype = np.dtype(dtype)
    if dtype != np.float64 and dtype != np.float32:
        raise TypeError(f"Unsupported dtype {dtype!r} for {name}")
    routine = "fill_" + kind + ("" if dtype == np.float64 else "_f32")
    if out is None:
        if size is None:
            return float(filled(routine, stream, (), dtype)[()])
        return filled(routine, stream, size, dtype)
    transposed = out.T
    unfit = "Supplied output array must be contiguous, writable, aligned, and in machine byte-order."
    primitives.need_writable(out, unfit)
    if not (primitives.is_contiguous(out) or primitives.is_contiguous(transposed)):
        raise ValueError(unfit)
    if out.dtype != dtype:
        raise TypeError(f"Supplied output array has the wrong type. Expected {dtype}, got {out.dtype}")
    if size is not None:
        if lengths_of(size) != out.shape:
            raise ValueError("size must match out.shape when used together")
    if primitives.is_contiguous(out):
        primitives.draw(routine, stream, flat(out))
    else:
        primitives.draw(routine, stream, flat(transposed))
    return out


@implements(np.random.Generator.random)
def random(self: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    if size is None and out is None and np.dtype(dtype) == np.float64:
        return primitives.draw("standard_uniform", self)
    if size is None and out is None and np.dtype(dtype) == np.float32:
        return float(primitives.draw("standard_uniform_f32", self))
    return standard("standard_uniform", "random", self, size, dtype, out)


@implements(np.random.Generator.standard_normal)
def standard_normal(self: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    if size is None and out is None and np.dtype(dtype) == np.float64:
        return primitives.draw("standard_normal", self)
    if size is None and out is None and np.dtype(dtype) == np.float32:
        return float(primitives.draw("standard_normal_f32", self))
    return standard("standard_normal", "standard_normal", self, size, dtype, out)


@implements(np.random.Generator.standard_exponential)
def standard_exponential(self: Any, size: Any = None, dtype: Any = np.float64, method: Any = "zig", out: Any = None) -> Any:
    kind = "standard_exponential" if method == "zig" else "inverse_exponential"
    if kind == "standard_exponential" and size is None and out is None:
        if np.dtype(dtype) == np.float64:
            return primitives.draw("standard_exponential", self)
        if np.dtype(dtype) == np.float32:
            return float(primitives.draw("standard_exponential_f32", self))
    return standard(kind, "standard_exponential", self, size, dtype, out)


@implements(np.random.Generator.normal)
def normal(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    loc, scale = real(loc), non_negative(scale, "scale")
    return strips("normal", "fill_standard_normal", self, size, lambda x, loc, scale: loc + scale * x, loc, scale)


@implements(np.random.Generator.uniform)
def uniform(self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    low, span = span_of(low, high, "high - low range exceeds valid bounds")
    return uniform_from(self, size, low, non_negative(span, "high - low"))


def uniform_from(stream: Any, size: Any, low: Any, span: Any) -> Any:
    return strips("uniform", "fill_standard_uniform", stream, size, lambda x, low, span: low + span * x, low, span)


def span_of(low: Any, high: Any, message: str) -> Any:
    low, high = real(low), real(high)
    span = high - low
    if not np.all(np.isfinite(span)):
        raise OverflowError(message if is_number(span) else "Range exceeds valid bounds")
    return low, span


@implements(np.random.Generator.exponential)
def exponential(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
    scale = non_negative(scale, "scale")
    return strips("exponential", "fill_standard_exponential", self, size, lambda x, scale: scale * x, scale)


# Integers.


def raise_bounds(closed: Any, low: Any) -> None:
    if not np.any(low):
        raise ValueError("high < 0" if closed else "high <= 0")
    raise ValueError("low > high" if closed else "low >= high")


def is_integer(x: Any) -> bool:
    """Whether a bound is one number: of any size, if it is one of Python's."""
    return isinstance(x, int) or is_number(x)


def word(x: Any) -> Any:
    """An integer modulo 2**64."""
    if isinstance(x, int) and x > 2**63 - 1:
        return np.uint64(x)
    return np.uint64(x) if isinstance(x, np.uint64) else np.int64(x).astype(np.uint64)


def bounded(stream: Any, low: Any, high: Any, size: Any, dtype: Any, closed: Any, masked: int) -> Any:
    name = dtype.name
    limits = np.iinfo(dtype) if dtype.kind != "b" else np.iinfo(np.uint8)
    smallest, largest = (int(limits.min), int(limits.max)) if dtype.kind != "b" else (0, 1)
    routine = name if dtype.kind != "i" else "u" + name
    if size is not None:
        if np.prod(size) == 0:
            return np.empty(size, dtype)
    if not (is_integer(low) and is_integer(high)):
        return bounded_each(stream, low, high, size, dtype, closed, masked, routine, smallest, largest)
    low, high = int(low), int(high)
    if not closed:
        high = high - 1
    if low < smallest:
        raise ValueError(f"low is out of bounds for {name}")
    if high > largest:
        raise ValueError(f"high is out of bounds for {name}")
    if low > high:
        raise_bounds(closed, low)
    first = word(low)
    span = word(high) - first
    if size is None:
        return primitives.draw("bounded_" + routine, stream, first, span, masked).astype(dtype)
    unsigned = np.empty(size, routine)
    primitives.draw("fill_bounded_" + routine, stream, first, span, masked, flat(unsigned))
    return unsigned if dtype.kind != "i" else unsigned.view(dtype)


def bounded_each(
    stream: Any, low: Any, high: Any, size: Any, dtype: Any, closed: Any, masked: int, routine: str, smallest: int, largest: int
) -> Any:
    """Integers between bounds that are arrays."""
    if np.asarray(low).dtype.kind not in "bi" or np.asarray(high).dtype.kind not in "bi" or dtype.kind == "u" and dtype.itemsize == 8:
        primitives.refuse("integers between arrays of bounds that are not signed integers", "give bounds of dtype int64")
    first = np.asarray(low).astype(np.int64)
    last = np.asarray(high).astype(np.int64)
    if np.any(first < smallest):
        raise ValueError(f"low is out of bounds for {dtype.name}")
    if np.any(last > largest if closed else last - 1 > largest):
        raise ValueError(f"high is out of bounds for {dtype.name}")
    if np.any(first > last if closed else first >= last):
        raise_bounds(closed, low)
    if size is None:
        shape = np.broadcast_shapes(first.shape, last.shape)
    else:
        shape = np.broadcast_shapes(first.shape, last.shape, lengths_of(size))
    lows = each(first, shape).astype(np.uint64)
    spans = each(last if closed else last - 1, shape).astype(np.uint64) - lows
    result = np.empty(shape, routine)
    numbers = flat(result)
    if routine == "uint64":
        for i in range(len(numbers)):
            numbers[i] = primitives.draw("bounded", stream, lows[i], spans[i], masked)
    else:
        primitives.draw("each_bounded_" + routine, stream, masked, lows, spans, numbers)
    return result if dtype.kind != "i" else result.view(dtype)


@implements(np.random.Generator.integers)
def integers(self: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: Any = False) -> Any:
    return any_integers(self, low, high, size, dtype, endpoint, 0, "integers")


def any_integers(stream: Any, low: Any, high: Any, size: Any, dtype: Any, closed: Any, masked: int, name: str) -> Any:
    if high is None:
        low, high = 0, low
    wanted = np.dtype(dtype)
    if wanted.kind not in "biu":
        raise TypeError(f"Unsupported dtype {wanted!r} for {name}")
    result = bounded(stream, low, high, size, wanted, closed, masked)
    if size is None and (dtype is bool or dtype is int) and is_number(result):
        return dtype(result)
    return result


# Other distributions of a Generator.


@implements(np.random.Generator.beta)
def beta(self: Any, a: Any, b: Any, size: Any = None) -> Any:
    return reals("beta", self, size, positive(a, "a"), positive(b, "b"))


@implements(np.random.Generator.standard_gamma)
def standard_gamma(self: Any, shape: Any, size: Any = None, dtype: Any = np.float64) -> Any:
    if np.dtype(dtype) != np.float64:
        primitives.refuse("standard_gamma of another dtype than float64", "convert what it gives")
    return reals("standard_gamma", self, size, non_negative(shape, "shape"))


@implements(np.random.Generator.gamma)
def gamma(self: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("gamma", self, size, non_negative(shape, "shape"), non_negative(scale, "scale"))


@implements(np.random.Generator.f)
def f(self: Any, dfnum: Any, dfden: Any, size: Any = None) -> Any:
    return reals("f", self, size, positive(dfnum, "dfnum"), positive(dfden, "dfden"))


@implements(np.random.Generator.noncentral_f)
def noncentral_f(self: Any, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Any:
    first, second = positive(dfnum, "dfnum"), positive(dfden, "dfden")
    return reals("noncentral_f", self, size, first, second, non_negative(nonc, "nonc"))


@implements(np.random.Generator.chisquare)
def chisquare(self: Any, df: Any, size: Any = None) -> Any:
    return reals("chisquare", self, size, positive(df, "df"))


@implements(np.random.Generator.noncentral_chisquare)
def noncentral_chisquare(self: Any, df: Any, nonc: Any, size: Any = None) -> Any:
    return reals("noncentral_chisquare", self, size, positive(df, "df"), non_negative(nonc, "nonc"))


@implements(np.random.Generator.standard_cauchy)
def standard_cauchy(self: Any, size: Any = None) -> Any:
    return reals("standard_cauchy", self, size)


@implements(np.random.Generator.standard_t)
def standard_t(self: Any, df: Any, size: Any = None) -> Any:
    return reals("standard_t", self, size, positive(df, "df"))


@implements(np.random.Generator.vonmises)
def vonmises(self: Any, mu: Any, kappa: Any, size: Any = None) -> Any:
    return reals("vonmises", self, size, real(mu), non_negative(kappa, "kappa"))


@implements(np.random.Generator.pareto)
def pareto(self: Any, a: Any, size: Any = None) -> Any:
    return reals("pareto", self, size, positive(a, "a"))


@implements(np.random.Generator.weibull)
def weibull(self: Any, a: Any, size: Any = None) -> Any:
    return reals("weibull", self, size, non_negative(a, "a"))


@implements(np.random.Generator.power)
def power(self: Any, a: Any, size: Any = None) -> Any:
    return reals("power", self, size, positive(a, "a"))


@implements(np.random.Generator.laplace, np.random.RandomState.laplace)
def laplace(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("laplace", self, size, real(loc), non_negative(scale, "scale"))


@implements(np.random.Generator.gumbel, np.random.RandomState.gumbel)
def gumbel(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("gumbel", self, size, real(loc), non_negative(scale, "scale"))


@implements(np.random.Generator.logistic, np.random.RandomState.logistic)
def logistic(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("logistic", self, size, real(loc), non_negative(scale, "scale"))


@implements(np.random.Generator.lognormal)
def lognormal(self: Any, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    return reals("lognormal", self, size, real(mean), non_negative(sigma, "sigma"))


@implements(np.random.Generator.rayleigh)
def rayleigh(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("rayleigh", self, size, non_negative(scale, "scale"))


@implements(np.random.Generator.wald)
def wald(self: Any, mean: Any, scale: Any, size: Any = None) -> Any:
    return reals("wald", self, size, positive(mean, "mean"), positive(scale, "scale"))


@implements(np.random.Generator.triangular, np.random.RandomState.triangular)
def triangular(self: Any, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
    left, mode, right = real(left), real(mode), real(right)
    if np.any(left > mode):
        raise ValueError("left > mode")
    if np.any(mode > right):
        raise ValueError("mode > right")
    if np.any(left == right):
        raise ValueError("left == right")
    return reals("triangular", self, size, left, mode, right)


@implements(np.random.Generator.poisson, np.random.RandomState.poisson)
def poisson(self: Any, lam: Any = 1.0, size: Any = None) -> Any:
    return integers_of("poisson", self, size, rate(lam, "lam"))


@implements(np.random.Generator.geometric)
def geometric(self: Any, p: Any, size: Any = None) -> Any:
    return integers_of("geometric", self, size, positive_probability(p, "p"))


@implements(np.random.Generator.zipf)
def zipf(self: Any, a: Any, size: Any = None) -> Any:
    return integers_of("zipf", self, size, above_1(a, "a"))


@implements(np.random.Generator.logseries)
def logseries(self: Any, p: Any, size: Any = None) -> Any:
    return integers_of("logseries", self, size, probability_below_1(p, "p"))


@implements(np.random.Generator.binomial)
def binomial(self: Any, n: Any, p: Any, size: Any = None) -> Any:
    trials = whole(n, "n")
    p = probability(p, "p", is_number(trials))
    count_not_negative(trials, "n")
    if is_number(trials) and is_number(p) and size is not None:
        return filled("fill_binomial", self, size, np.int64, p, trials)
    return integers_of("binomial", self, size, p, trials)


@implements(np.random.Generator.hypergeometric)
def hypergeometric(self: Any, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Any:
    good, bad, sample = whole(ngood, "ngood"), whole(nbad, "nbad"), whole(nsample, "nsample")
    if np.any(good >= 10**9) or np.any(bad >= 10**9):
        raise ValueError("both ngood and nbad must be less than 1000000000")
    if np.any(good + bad < sample):
        raise ValueError("ngood + nbad < nsample")
    count_not_negative(good, "ngood")
    count_not_negative(bad, "nbad")
    count_not_negative(sample, "nsample")
    return integers_of("hypergeometric", self, size, good, bad, sample)


def multinomial_probabilities(given: Any, p: Any) -> Any:
    """Those of an array, which was made of what was given."""
    numbers = probability(p.astype(np.float64), "pvals", False)
    if len(p) > 0 and kahan_sum(numbers, len(p) - 1) > 1.0 + 1e-12:
        if isinstance(given, np.ndarray) and p.dtype.kind == "f" and p.dtype != np.float64 and p.sum() < 1.0001:
            raise ValueError(
                "sum(pvals[:-1].astype(np.float64)) > 1.0. The pvals array is cast to 64-bit floating point prior to "
                "checking the sum. Precision changes when casting may cause problems even if the sum of the original "
                "pvals is valid."
            )
        raise ValueError("sum(pvals[:-1]) > 1.0")
    return numbers


@implements(np.random.Generator.multinomial)
def multinomial(self: Any, n: Any, pvals: Any, size: Any = None) -> Any:
    p = np.array(pvals)
    if p.ndim > 1 or np.ndim(n) > 0:
        primitives.refuse("multinomial of several numbers or lists of probabilities", "draw them in a loop")
    if p.ndim == 0 or p.size == 0:
        raise ValueError("pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0.")
    trials = whole(n, "n")
    p = multinomial_probabilities(pvals, p)
    count_not_negative(trials, "n")
    result = np.zeros((() if size is None else lengths_of(size)) + (len(p),), np.int64)
    rows = primitives.reshape(result, (count_of(size), len(p)))
    for i in range(len(rows)):
        primitives.draw("multinomial", self, trials, p, rows[i])
    return result


@implements(np.random.Generator.dirichlet)
def dirichlet(self: Any, alpha: Any, size: Any = None) -> Any:
    alpha = np.asarray(alpha).astype(np.float64)
    if alpha.ndim != 1:
        primitives.refuse("dirichlet of what is no vector", "give a vector")
    if np.any(alpha < 0):
        raise ValueError("alpha < 0")
    k = len(alpha)
    result = np.zeros((() if size is None else lengths_of(size)) + (k,))
    rows = primitives.reshape(result, (count_of(size), k))
    if k > 0 and np.all(alpha < 0.1):
        break_sticks(self, alpha, rows)
        return result
    for i in range(len(rows)):
        total = np.float64(0.0)
        for j in range(k):
            rows[i, j] = primitives.draw("standard_gamma", self, alpha[j])
            total = total + rows[i, j]
        inverse = np.float64(1.0) / total
        for j in range(k):
            rows[i, j] = rows[i, j] * inverse
    return result


def break_sticks(stream: Any, alpha: Any, rows: Any) -> None:
    """Dirichlet's distribution of small parameters, by that of beta: of what is left, each takes its part."""
    k = len(alpha)
    rest = np.empty(k)
    total = 0.0
    for j in range(k - 1, -1, -1):
        total += float(alpha[j])
        rest[j] = total
    if total > 0:
        for i in range(len(rows)):
            left = 1.0
            for j in range(k - 1):
                part = primitives.draw("beta", stream, alpha[j], rest[j + 1])
                rows[i, j] = left * part
                left = left * (1.0 - part)
                if rest[j + 1] == 0:
                    break
            rows[i, k - 1] = left


@implements(np.random.Generator.negative_binomial)
def negative_binomial(self: Any, n: Any, p: Any, size: Any = None) -> Any:
    n = real(n)
    if np.any(np.isnan(n)):
        raise ValueError("n must not be NaN")
    n, p = positive(n, "n"), positive_probability(p, "p")
    if np.any((1 - p) / p * (n + 10 * np.sqrt(n)) > POISSON_LIMIT):
        raise ValueError("n too large or p too small, see Generator.negative_binomial Notes")
    return integers_of("negative_binomial", self, size, n, p)


# New streams.


@implements(np.random.default_rng)
def default_rng(seed: Any = None) -> Any:
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return primitives.new_stream(np.zeros(0, np.int64), 0)
    numbers = np.asarray(seed)
    if numbers.dtype.kind not in "biu" or numbers.ndim > 1:
        primitives.refuse("a seed that is no integer and no sequence of integers", "make the Generator outside")
    numbers = numbers.astype(np.uint64 if numbers.dtype == np.uint64 else np.int64)
    return primitives.new_stream(np.atleast_1d(numbers), 1 if numbers.ndim == 0 else 2)
