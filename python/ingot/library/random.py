"""numpy.random: the methods of Generator and RandomState, and the functions of the global stream.

What is drawn, in which order, is NumPy's: its own distributions draw (`primitives.draw`) from its own bit generators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .reductions import known_axis
from .registry import implements

_global = np.random.mtrand._rand

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


def filled(routine: str, stream: Any, size: Any, dtype: Any, *parameters: Any) -> Any:
    """A new array that one call of a routine fills."""
    result = np.empty(size, dtype)
    primitives.draw(routine, stream, *parameters, flat(result))
    return result


def lengths_of(size: Any) -> Any:
    return tuple(size) if isinstance(size, (tuple, list)) else (size,)


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
    if all([is_number(x) for x in parameters]):
        if size is None:
            return primitives.draw(routine, stream, *parameters)
        result = np.empty(size, dtype)
        numbers = flat(result)
        for i in range(len(numbers)):
            numbers[i] = primitives.draw(routine, stream, *parameters)
        return result
    shape = common_shape(size, *parameters)
    result = np.empty(shape, dtype)
    numbers = flat(result)
    columns = [each(x, shape) for x in parameters]
    for i in range(len(numbers)):
        numbers[i] = primitives.draw(routine, stream, *[column[i] for column in columns])
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
    return reals("normal", self, size, real(loc), non_negative(scale, "scale"))


@implements(np.random.Generator.uniform)
def uniform(self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    low, span = span_of(low, high, "high - low range exceeds valid bounds")
    return reals("uniform", self, size, low, non_negative(span, "high - low"))


def span_of(low: Any, high: Any, message: str) -> Any:
    low, high = real(low), real(high)
    span = high - low
    if not np.all(np.isfinite(span)):
        raise OverflowError(message if is_number(span) else "Range exceeds valid bounds")
    return low, span


@implements(np.random.Generator.exponential)
def exponential(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("exponential", self, size, non_negative(scale, "scale"))


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
    if isinstance(x, int) and primitives.is_known(x):
        return np.uint64(x & (2**64 - 1))
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
    trials = np.asarray(n)
    if trials.dtype.kind not in "bi":
        primitives.refuse("binomial of a number of trials that is no signed integer", "convert it to int64")
    p = probability(p, "p", trials.ndim == 0)
    if np.any(trials < 0):
        raise ValueError("n < 0")
    if trials.ndim == 0 and is_number(p):
        if size is None:
            return primitives.draw("binomial", self, p, int(trials[()]))
        return filled("fill_binomial", self, size, np.int64, p, int(trials[()]))
    return integers_of("binomial", self, size, p, trials.astype(np.int64) if trials.ndim > 0 else int(trials[()]))


@implements(np.random.Generator.negative_binomial)
def negative_binomial(self: Any, n: Any, p: Any, size: Any = None) -> Any:
    n = real(n)
    if np.any(np.isnan(n)):
        raise ValueError("n must not be NaN")
    n, p = positive(n, "n"), positive_probability(p, "p")
    if np.any((1 - p) / p * (n + 10 * np.sqrt(n)) > POISSON_LIMIT):
        raise ValueError("n too large or p too small, see Generator.negative_binomial Notes")
    return integers_of("negative_binomial", self, size, n, p)


# The legacy streams.


@implements(np.random.RandomState.seed)
def seed(self: Any, seed: Any = None) -> None:
    primitives.reseed(self, seed)


@implements(np.random.seed)
def seed_global(seed: Any = None) -> None:
    primitives.reseed(_global, seed)


@implements(np.random.RandomState.random_sample, np.random.RandomState.random)
def random_sample(self: Any, size: Any = None) -> Any:
    if size is None:
        return primitives.draw("standard_uniform", self)
    return filled("fill_standard_uniform", self, size, np.float64)


@implements(np.random.RandomState.rand)
def rand(self: Any, *args: Any) -> Any:
    return random_sample(self, args if len(args) > 0 else None)


@implements(np.random.RandomState.standard_normal)
def legacy_standard_normal(self: Any, size: Any = None) -> Any:
    return reals("legacy_standard_normal", self, size)


@implements(np.random.RandomState.randn)
def randn(self: Any, *args: Any) -> Any:
    return legacy_standard_normal(self, args if len(args) > 0 else None)


@implements(np.random.RandomState.normal)
def legacy_normal(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("legacy_normal", self, size, real(loc), non_negative(scale, "scale"))


@implements(np.random.RandomState.uniform)
def legacy_uniform(self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    low, span = span_of(low, high, "Range exceeds valid bounds")
    return reals("uniform", self, size, low, span)


@implements(np.random.RandomState.standard_exponential)
def legacy_standard_exponential(self: Any, size: Any = None) -> Any:
    return reals("legacy_standard_exponential", self, size)


@implements(np.random.RandomState.exponential)
def legacy_exponential(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("legacy_exponential", self, size, non_negative(scale, "scale"))


@implements(np.random.RandomState.randint)
def randint(self: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    return any_integers(self, low, high, size, dtype, False, 1, "randint")


# Orders.


def shuffle_rows(stream: Any, x: Any) -> None:
    """Exchanges the rows of an array with more than one axis."""
    kept = np.empty_like(x[0])
    for i in range(len(x) - 1, 0, -1):
        j = int(primitives.draw("interval", stream, np.uint64(i)))
        if i != j:
            kept[...] = x[j]
            x[j] = x[i]
            x[i] = kept


def shuffle_elements(stream: Any, x: Any) -> None:
    for i in range(len(x) - 1, 0, -1):
        j = int(primitives.draw("interval", stream, np.uint64(i)))
        x[i], x[j] = x[j], x[i]


def shuffle_indices(stream: Any, x: Any, first: Any) -> None:
    """Of new indices, those from `first` on are exchanged with any before."""
    for i in range(len(x) - 1, first - 1, -1):
        j = int(primitives.draw("bounded", stream, np.uint64(0), np.uint64(i), 0))
        x[i], x[j] = x[j], x[i]


@implements(np.random.Generator.shuffle)
def shuffle(self: Any, x: Any, axis: Any = 0) -> None:
    if not isinstance(x, np.ndarray):
        primitives.refuse("shuffling what is no array", "make an array of it")
    if x.ndim == 0:
        raise TypeError("len() of unsized object")
    primitives.need_writable(x, "array is read-only")
    along = known_axis(axis, x.ndim)
    if x.ndim == 1:
        shuffle_elements(self, x)
    elif x.size > 0:
        shuffle_rows(self, np.swapaxes(x, 0, along))


@implements(np.random.RandomState.shuffle)
def legacy_shuffle(self: Any, x: Any) -> None:
    shuffle(self, x)


@implements(np.random.Generator.permutation)
def permutation(self: Any, x: Any, axis: Any = 0) -> Any:
    if isinstance(x, (int, np.integer)):
        numbers = np.arange(x)
        shuffle_elements(self, numbers)
        return numbers
    x = np.asarray(x)
    along = known_axis(axis, x.ndim)
    if x.ndim == 1:
        result = x.copy()
        shuffle_elements(self, result)
        return result
    places = np.arange(x.shape[along])
    shuffle_elements(self, places)
    return np.take(x, places, along)


@implements(np.random.RandomState.permutation)
def legacy_permutation(self: Any, x: Any) -> Any:
    if isinstance(x, (int, np.integer)):
        numbers = np.arange(x, dtype=np.result_type(np.asarray(x).dtype, np.int64))
        shuffle_elements(self, numbers)
        return numbers
    x = np.asarray(x)
    if x.ndim < 1:
        raise IndexError("x must be an integer or at least 1-dimensional")
    return permutation(self, x)


@implements(np.random.Generator.permuted)
def permuted(self: Any, x: Any, *, axis: Any = None) -> Any:
    x = np.asarray(x)
    if x.ndim == 0:
        raise TypeError("len() of unsized object")
    if axis is None:
        lies_backwards = False  # the elements are shuffled as they lie in a copy, which is one of order `K`
        for i in range(x.ndim - 1):
            lies_backwards = lies_backwards or abs(x.strides[i]) < abs(x.strides[i + 1])
        if lies_backwards:
            turned = x.T.copy()
            shuffle_elements(self, flat(turned))
            return turned.T
        result = x.copy()
        shuffle_elements(self, flat(result))
        return result
    along = known_axis(axis, x.ndim)
    result = x.copy()
    inner = count_of(x.shape[along + 1 :])
    blocks = primitives.reshape(result, (count_of(x.shape[:along]), x.shape[along], inner))
    for before in range(len(blocks)):
        for after in range(inner):
            line = blocks[before, :, after]
            for i in range(len(line) - 1, -1, -1):
                j = int(primitives.draw("interval", self, np.uint64(i)))
                line[i], line[j] = line[j], line[i]
    return result


# Choices.


def population_of(a: Any, axis: Any, no_sequence: str, no_number: str, empty: str, size: Any) -> Any:
    """How many there are to choose from."""
    if a.ndim == 0:
        if a.dtype.kind not in "iu":
            raise ValueError(no_sequence)
        count = int(a[()])
        if count <= 0 and count_of(size) != 0:
            raise ValueError(no_number)
        return count
    count = a.shape[axis]
    if count == 0 and count_of(size) != 0:
        raise ValueError(empty)
    return count


def count_of(size: Any) -> Any:
    """The number of elements of a result."""
    count = 1
    if size is not None:
        for length in lengths_of(size):
            count = count * length
    return count


def checked_probabilities(p: Any, population: Any, messages: Any) -> Any:
    p = np.asarray(p)
    precision = np.finfo(p.dtype).eps if p.dtype.kind == "f" else np.finfo(np.float64).eps
    tolerance = max(float(np.sqrt(precision)), float(np.sqrt(np.finfo(np.float64).eps)))
    if p.ndim != 1:
        raise ValueError(messages[0])
    p = p.astype(np.float64)
    if p.size != population:
        raise ValueError(messages[1])
    total, rest = 0.0, 0.0  # Kahan's sum
    if p.size > 0:
        total = float(p[0])
    for i in range(1, len(p)):
        y = float(p[i]) - rest
        t = total + y
        rest = (t - total) - y
        total = t
    if total != total:
        raise ValueError(messages[2])
    if np.any(p < 0):
        raise ValueError(messages[3])
    if abs(total - 1.0) > tolerance:
        raise ValueError(messages[4])
    return p


def by_probabilities(stream: Any, p: Any, count: Any) -> Any:
    """Places drawn with probabilities, the same ones again and again."""
    sums = np.empty_like(p)
    total = 0.0
    for i in range(len(p)):
        total = total + float(p[i])
        sums[i] = total
    sums /= sums[-1]
    return np.searchsorted(sums, filled("fill_standard_uniform", stream, count, np.float64), side="right")


def different_by_probabilities(stream: Any, p: Any, count: Any, message: str) -> Any:
    """Different places drawn with probabilities."""
    if np.count_nonzero(p > 0) < count:
        raise ValueError(message)
    left = p.copy()
    found = np.zeros(count, np.int64)
    known = 0
    while known < count:
        for place in by_probabilities(stream, left, count - known):
            is_new = left[place] >= 0
            if is_new:
                found[known] = place
                known += 1
                left[place] = -1.0
        left[found[:known]] = 0
    return found


def different(stream: Any, population: Any, count: Any, is_shuffled: Any) -> Any:
    """Different places: the end of a shuffled range, or by Floyd's algorithm, which remembers those it has in a table."""
    if population > 10000 and count > population // (50 if is_shuffled else 20):
        places = np.arange(population)
        shuffle_indices(stream, places, max(population - count, 1))
        return places[population - count :].copy()
    places = np.empty(count, np.int64)
    mask = 1
    while mask < int(1.2 * count):
        mask = 2 * mask + 1
    table = np.full(mask + 1, -1)
    for j in range(population - count, population):
        drawn = int(primitives.draw("bounded", stream, np.uint64(0), np.uint64(j), 0))
        at = drawn & mask
        while table[at] != -1 and table[at] != drawn:
            at = (at + 1) & mask
        if table[at] == drawn:
            drawn = j
            at = j & mask
            while table[at] != -1:
                at = (at + 1) & mask
        table[at] = drawn
        places[j - population + count] = drawn
    if is_shuffled:
        shuffle_indices(stream, places, 1)
    return places


def chosen(a: Any, places: Any, size: Any, axis: Any) -> Any:
    """What stands at the places that were drawn."""
    if size is None:
        place = int(places[0])
        return place if a.ndim == 0 else np.take(a, place, axis)
    shaped = places.reshape(size)
    if a.ndim == 0:
        return shaped
    if a.ndim == 1 and shaped.ndim == 0:
        result = np.empty((), a.dtype)
        result[()] = a[places[0]]
        return result
    return np.take(a, shaped, axis)


@implements(np.random.Generator.choice)
def choice(
    self: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: Any = 0, shuffle: Any = True
) -> Any:
    a = np.asarray(a)
    population = population_of(
        a,
        axis,
        "a must be a sequence or an integer",
        "a must be a positive integer unless no samples are taken",
        "a cannot be empty unless no samples are taken",
        size,
    )
    if p is not None:
        messages = (
            "p must be 1-dimensional",
            "a and p must have same size",
            "Probabilities contain NaN",
            "Probabilities are not non-negative",
            "Probabilities do not sum to 1. See Notes section of docstring for more information.",
        )
        p = checked_probabilities(p, population, messages)
    count = count_of(size)
    if replace:
        places = bounded(self, 0, population, (count,), np.dtype(np.int64), False, 0) if p is None else by_probabilities(self, p, count)
        return chosen(a, places, size, axis)
    if count > population:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    if count < 0:
        raise ValueError("negative dimensions are not allowed")
    if p is not None:
        return chosen(a, different_by_probabilities(self, p, count, "Fewer non-zero entries in p than size"), size, axis)
    return chosen(a, different(self, population, count, shuffle), size, axis)


@implements(np.random.RandomState.choice)
def legacy_choice(self: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:
    a = np.asarray(a)
    if a.ndim > 1:
        raise ValueError("a must be 1-dimensional")
    population = population_of(
        a,
        0,
        "a must be 1-dimensional or an integer",
        "a must be greater than 0 unless no samples are taken",
        "'a' cannot be empty unless no samples are taken",
        size,
    )
    if p is not None:
        messages = (
            "'p' must be 1-dimensional",
            "'a' and 'p' must have same size",
            "probabilities contain NaN",
            "probabilities are not non-negative",
            "probabilities do not sum to 1",
        )
        p = checked_probabilities(p, population, messages)
    count = count_of(size)
    if replace:
        places = bounded(self, 0, population, (count,), np.dtype(np.int64), False, 1) if p is None else by_probabilities(self, p, count)
        return chosen(a, places, size, 0)
    if count > population:
        raise ValueError("Cannot take a larger sample than population when 'replace=False'")
    if count < 0:
        raise ValueError("Negative dimensions are not allowed")
    if p is not None:
        return chosen(a, different_by_probabilities(self, p, count, "Fewer non-zero entries in p than size"), size, 0)
    return chosen(a, legacy_permutation(self, population)[:count], size, 0)


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


# The functions of the global stream.


@implements(np.random.random_sample, np.random.random, np.random.ranf, np.random.sample)
def global_random(size: Any = None) -> Any:
    return random_sample(_global, size)


@implements(np.random.rand)
def global_rand(*args: Any) -> Any:
    return rand(_global, *args)


@implements(np.random.randn)
def global_randn(*args: Any) -> Any:
    return randn(_global, *args)


@implements(np.random.standard_normal)
def global_standard_normal(size: Any = None) -> Any:
    return legacy_standard_normal(_global, size)


@implements(np.random.normal)
def global_normal(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return legacy_normal(_global, loc, scale, size)


@implements(np.random.uniform)
def global_uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    return legacy_uniform(_global, low, high, size)


@implements(np.random.standard_exponential)
def global_standard_exponential(size: Any = None) -> Any:
    return legacy_standard_exponential(_global, size)


@implements(np.random.exponential)
def global_exponential(scale: Any = 1.0, size: Any = None) -> Any:
    return legacy_exponential(_global, scale, size)


@implements(np.random.randint)
def global_randint(low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    return randint(_global, low, high, size, dtype)


@implements(np.random.laplace)
def global_laplace(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return laplace(_global, loc, scale, size)


@implements(np.random.gumbel)
def global_gumbel(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return gumbel(_global, loc, scale, size)


@implements(np.random.logistic)
def global_logistic(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return logistic(_global, loc, scale, size)


@implements(np.random.triangular)
def global_triangular(left: Any, mode: Any, right: Any, size: Any = None) -> Any:
    return triangular(_global, left, mode, right, size)


@implements(np.random.poisson)
def global_poisson(lam: Any = 1.0, size: Any = None) -> Any:
    return poisson(_global, lam, size)


@implements(np.random.choice)
def global_choice(a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:
    return legacy_choice(_global, a, size, replace, p)


@implements(np.random.shuffle)
def global_shuffle(x: Any) -> None:
    legacy_shuffle(_global, x)


@implements(np.random.permutation)
def global_permutation(x: Any) -> Any:
    return legacy_permutation(_global, x)
