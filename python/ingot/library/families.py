"""Families of distributions of random numbers of a key, as JAX makes them: of gamma's distribution, normal and uniform ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .distributions import log1p, real_normal
from .threefry import (
    at,
    float_dtype,
    fractions,
    fused,
    hashed_place,
    integer_dtype,
    need_shape,
    select,
    shape_for,
    shape_of,
    shaped,
    subkeys,
    words_of,
)


def one_fraction(words: Any, place: Any) -> Any:
    """The uniform float32 at an index of an array."""
    x, y = hashed_place(words, place)
    return ((x ^ y) >> np.uint32(9)).astype(np.int32).astype(np.float32) * np.float32(2.0**-23)


def one_gamma(words: Any, alpha: Any, in_logarithm: bool) -> Any:
    """A number of gamma's distribution, or its logarithm (Marsaglia and Tsang)."""
    dtype = alpha.dtype
    kind = dtype.type
    is_large = alpha >= kind(1)
    third = kind(1 / 3)
    d = (alpha if is_large else alpha + kind(1)) - third
    c = third / np.sqrt(d)
    now, last = subkeys(words, 2)
    square, cube, u = kind(0), kind(1), kind(2)
    while u >= kind(1) - kind(0.0331) * (square * square) and np.log(u) >= square * kind(0.5) + d * (
        (kind(1) - cube) + np.log(cube)
    ):
        now, of_normal, of_uniform = subkeys(now, 3)
        x, v = kind(0), kind(-1)
        while v <= kind(0):
            of_normal, this = subkeys(of_normal, 2)
            x = real_normal(this, (), dtype)
            v = fused(x, c, kind(1))
        square, cube = x * x, v * v * v
        u = fractions(of_uniform, (), dtype)
    rest = fractions(last, (), dtype)
    if in_logarithm:
        more = log1p(-rest)
        return np.log(d) + np.log(cube) + (kind(0) if is_large or more == kind(0) else more * (kind(1) / alpha))
    return d * cube * (kind(1) if is_large else (kind(1) - rest) ** (kind(1) / alpha))


def raw_gamma(words: Any, a: Any, shape: Any, dtype: Any, in_logarithm: bool) -> Any:
    if len(shape) == 0:
        return one_gamma(hashed_place(words, np.int64(0)), at(a, dtype), in_logarithm)
    alphas = np.broadcast_to(np.asarray(a).astype(dtype), shape).reshape(-1)
    made = np.empty(alphas.size, dtype)
    for i in range(alphas.size):
        made[i] = one_gamma(hashed_place(words, np.int64(i)), alphas[i], in_logarithm)
    return shaped(made, shape)


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of the gamma distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    a : float or array
        The shape parameter.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    loggamma

    Notes
    -----
    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables".

    Examples
    --------
    >>> from ingot import random
    >>> random.gamma(random.PRNGKey(0), 2.0, (3,))
    array([1.3520308 , 1.12435945, 3.73240416])
    """
    words = words_of(key, "gamma")
    return raw_gamma(words, a, shape_for("gamma", shape, (a,)), float_dtype("gamma", dtype), False)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of the gamma distribution: their logarithms.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    a : float or array
        The shape parameter.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    gamma

    Notes
    -----
    Finite also where the numbers themselves are too small for a float.
    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables".

    Examples
    --------
    >>> from ingot import random
    >>> random.loggamma(random.PRNGKey(0), 0.001, (3,))
    array([-1113.02584633, -2280.53575798,  -853.36156626])
    """
    words = words_of(key, "loggamma")
    return raw_gamma(words, a, shape_for("gamma", shape, (a,)), float_dtype("gamma", dtype), True)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of the beta distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    a, b : float or array
        The parameters.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    gamma

    Notes
    -----
    From two numbers of the gamma distribution.

    Examples
    --------
    >>> from ingot import random
    >>> random.beta(random.PRNGKey(0), 2.0, 3.0, (3,))
    array([0.32795607, 0.61380901, 0.76013421])
    """
    words = words_of(key, "beta")
    wanted = float_dtype("beta", dtype)
    lengths = shape_for("beta", shape, (a, b))
    first, second = subkeys(words, 2)
    x, y = raw_gamma(first, a, lengths, wanted, True), raw_gamma(second, b, lengths, wanted, True)
    most = np.maximum(x, y)
    x, y = np.exp(x - most), np.exp(y - most)
    return x / (x + y)


def batch_for(name: str, shape: Any, own: Any) -> Any:
    """The shape that is asked for, to which that of the parameters' batches broadcasts, or else this one."""
    if shape is None:
        return own
    lengths = shape_of(shape)
    need_shape(name, lengths, (np.broadcast_to(0, own),))
    return lengths


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw vectors of Dirichlet's distribution: positive numbers whose sum is 1.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    alpha : array
        The parameters, along the last axis.
    shape : int or tuple of int, optional
        The first axes of the result; by default those of `alpha` before the last.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray
        Of shape ``(*shape, len(alpha))``.

    See Also
    --------
    gamma

    Notes
    -----
    From numbers of the gamma distribution.

    Examples
    --------
    >>> from ingot import random
    >>> random.dirichlet(random.PRNGKey(0), np.ones(3))
    array([0.15755158, 0.11547349, 0.72697493])
    """
    words = words_of(key, "dirichlet")
    wanted = float_dtype("dirichlet", dtype)
    given = np.asarray(alpha)
    if given.ndim < 1:
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {given.ndim}")
    lengths = batch_for("dirichlet", shape, given.shape[:-1])
    x = raw_gamma(words, given, (*lengths, given.shape[-1]), wanted, True)
    x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return x / np.sum(x, axis=-1, keepdims=True)


def raw_chisquare(words: Any, df: Any, shape: Any, dtype: Any) -> Any:
    return np.exp(raw_gamma(words, at(df, dtype) / dtype.type(2), shape, dtype, True)) * dtype.type(2)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of the chi-square distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    df : float or array
        Degrees of freedom.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    gamma

    Examples
    --------
    >>> from ingot import random
    >>> random.chisquare(random.PRNGKey(0), 3.0, (3,))
    array([1.81389348, 1.44835385, 5.98027483])
    """
    words = words_of(key, "chisquare")
    return raw_chisquare(words, df, shape_for("chisquare", shape, (df,)), float_dtype("chisquare", dtype))


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of Fisher's F distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    dfnum, dfden : float or array
        Degrees of freedom of numerator and denominator.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    chisquare

    Examples
    --------
    >>> from ingot import random
    >>> random.f(random.PRNGKey(0), 3.0, 4.0, (3,))
    array([1.54829471, 0.34078744, 0.09088248])
    """
    words = words_of(key, "f")
    wanted = float_dtype("f", dtype)
    lengths = shape_for("f", shape, (dfnum, dfden))
    below, above = subkeys(words, 2)
    return (raw_chisquare(above, dfnum, lengths, wanted) / at(dfnum, wanted)) / (
        raw_chisquare(below, dfden, lengths, wanted) / at(dfden, wanted)
    )


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of Student's t distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    df : float or array
        Degrees of freedom.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    normal

    Examples
    --------
    >>> from ingot import random
    >>> random.t(random.PRNGKey(0), 3.0, (3,))
    array([ 1.40115888, -0.60724612,  1.12196326])
    """
    words = words_of(key, "t")
    wanted = float_dtype("t", dtype)
    lengths = shape_for("t", shape, (df,))
    of_normal, of_gamma = subkeys(words, 2)
    half = at(df, wanted) / wanted.type(2)
    return real_normal(of_normal, lengths, wanted) * np.sqrt(half / raw_gamma(of_gamma, half, lengths, wanted, False))


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of Pareto's distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    b : float or array
        The exponent.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    exponential

    Examples
    --------
    >>> from ingot import random
    >>> random.pareto(random.PRNGKey(0), 3.0, (3,))
    array([1.19804395, 1.08463233, 3.06652425])
    """
    words = words_of(key, "pareto")
    wanted = float_dtype("pareto", dtype)
    lengths = shape_for("pareto", shape, (b,))
    return np.exp(-log1p(-fractions(words, lengths, wanted)) / at(b, wanted))


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of Rayleigh's distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    scale : float or array
        The scale.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    normal

    Examples
    --------
    >>> from ingot import random
    >>> random.rayleigh(random.PRNGKey(0), 2.0, (3,))
    array([2.63997102, 3.49983995, 0.53136889])
    """
    words = words_of(key, "rayleigh")
    wanted = float_dtype("rayleigh", dtype)
    lengths = shape_for("rayleigh", shape, (scale,))
    return at(scale, wanted) * np.sqrt(np.log(fractions(words, lengths, wanted)) * wanted.type(-2))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw numbers of Weibull's distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    scale, concentration : float or array
        Scale and shape parameter.
    shape : int or tuple of int, default ()
        The shape of the result; (): one number.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    exponential

    Examples
    --------
    >>> from ingot import random
    >>> random.weibull_min(random.PRNGKey(0), 1.0, 2.0, (3,))
    array([0.73625441, 0.49368328, 1.833476  ])
    """
    words = words_of(key, "weibull_min")
    wanted = float_dtype("weibull_min", dtype)
    x = -log1p(-fractions(words, shape_of(shape), wanted))
    return np.power(x, wanted.type(1) / at(concentration, wanted)) * at(scale, wanted)


def raw_maxwell(words: Any, shape: Any, dtype: Any) -> Any:
    x = real_normal(words, (*shape, 3), dtype)
    return np.sqrt(x[..., 0] * x[..., 0] + x[..., 1] * x[..., 1] + x[..., 2] * x[..., 2])


def maxwell(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw numbers of Maxwell's distribution: lengths of vectors of three normal numbers.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    shape : int or tuple of int, default ()
        The shape of the result; (): one number.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    double_sided_maxwell

    Examples
    --------
    >>> from ingot import random
    >>> random.maxwell(random.PRNGKey(0), (3,))
    array([1.98906991, 0.42460738, 1.24030791])
    """
    words = words_of(key, "maxwell")
    return raw_maxwell(words, shape_of(shape), float_dtype("maxwell", dtype))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw numbers of Maxwell's distribution with random signs.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    loc, scale : float or array
        Centre and scale.
    shape : int or tuple of int, default ()
        The first axes of the result; those of the parameters follow.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    maxwell

    Examples
    --------
    >>> from ingot import random
    >>> random.double_sided_maxwell(random.PRNGKey(0), 0.0, 1.0, (3,))
    array([ 1.98461204, -2.4782074 , -1.6334815 ])
    """
    words = words_of(key, "double_sided_maxwell")
    wanted = float_dtype("double_sided_maxwell", dtype)
    own = np.broadcast_shapes(np.shape(loc), np.shape(scale))
    given = shape_of(shape)
    lengths = (*(own if len(given) == 0 else given), *own)
    of_size, of_sign = subkeys(words, 2)
    sign = select(fractions(of_sign, lengths, np.dtype(np.float64)) < 0.5, wanted.type(1), wanted.type(-1))
    return sign * raw_maxwell(of_size, lengths, wanted) * at(scale, wanted) + at(loc, wanted)


def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of the lognormal distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    sigma : float or array, default 1.0
        The standard deviation of the logarithm.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    normal

    Examples
    --------
    >>> from ingot import random
    >>> random.lognormal(random.PRNGKey(0), 0.5, (3,))
    array([0.90219818, 0.67544544, 2.4794663 ])
    """
    words = words_of(key, "lognormal")
    wanted = float_dtype("lognormal", dtype)
    return np.exp(real_normal(words, shape_for("lognormal", shape, (sigma,)), wanted) * at(sigma, wanted))


def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of the triangular distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    left, mode, right : float or array
        Bounds and peak of the density.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    uniform

    Examples
    --------
    >>> from ingot import random
    >>> random.triangular(random.PRNGKey(0), 0.0, 1.0, 2.0, (3,))
    array([0.91483016, 0.65771644, 1.73664268])
    """
    words = words_of(key, "triangular")
    wanted = float_dtype("triangular", dtype)
    lengths = shape_for("triangular", shape, (left, mode, right))
    low, top, high = at(left, wanted), at(mode, wanted), at(right, wanted)
    u = fractions(words, lengths, wanted)
    rising = low + np.sqrt(u * (high - low) * (top - low))
    falling = high - np.sqrt((wanted.type(1) - u) * (high - low) * (high - top))
    return select(u < (top - low) / (high - low), rising, falling)


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of Wald's distribution, the inverse Gaussian one.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    mean : float or array
        The mean; the shape parameter is 1.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    normal

    Notes
    -----
    J. R. Michael, W. R. Schucany and R. W. Haas, "Generating random variates using transformations with multiple roots".

    Examples
    --------
    >>> from ingot import random
    >>> random.wald(random.PRNGKey(0), 1.0, (3,))
    array([0.18700294, 1.61073217, 1.51062865])
    """
    words = words_of(key, "wald")
    wanted = float_dtype("wald", dtype)
    lengths = shape_for("wald", shape, (mean,))
    of_normal, of_uniform = subkeys(words, 2)
    centre = at(mean, wanted)
    v = real_normal(of_normal, lengths, wanted)
    y, square = v * v, centre * centre
    root = np.sqrt(wanted.type(4) * centre * y + square * (y * y))
    x = centre + square * y / wanted.type(2) - centre / wanted.type(2) * root
    return select(fractions(of_uniform, lengths, wanted) <= centre / (centre + x), x, square / x)


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw how many trials there are up to the first success.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    p : float or array
        The probability of a success.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default int64
        An integer dtype.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    bernoulli

    Examples
    --------
    >>> from ingot import random
    >>> random.geometric(random.PRNGKey(0), 0.2, (5,))
    array([4, 7, 1, 3, 3])
    """
    words = words_of(key, "geometric")
    wanted = integer_dtype("geometric", dtype)
    lengths = shape_for("geometric", shape, (p,))
    given = np.asarray(p)
    chance = (given if given.dtype.kind == "f" else given.astype(np.float64))[()]
    u = fractions(words, lengths, chance.dtype)
    u = select(u == chance.dtype.type(0), chance.dtype.type(1), u)
    return (np.floor(np.log(u) / log1p(-chance)) + chance.dtype.type(1)).astype(wanted)


def small_poisson(words: Any, rate: Any, place: Any) -> int:
    """The number at an index of an array of Poisson's distribution with a small rate (Knuth)."""
    number, total = 0, np.float32(0)
    while total > -rate:
        number += 1
        words, this = subkeys(words, 2)
        total += np.log(one_fraction(this, place))
    return 0 if rate == np.float32(0) else number - 1


# The logarithm of the gamma function by Lanczos's sum.
LANCZOS = (
    676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894,
    -176.61502916214059906584551354, 12.507343278686904814458936853, -0.13857109526572011689554707,
    9.984369578019570859563e-6, 1.50563273514931155834e-7,
)  # fmt: skip


def lgamma_of_next(k: Any) -> Any:
    """The logarithm of the factorial of a float32, as XLA computes it."""
    kind = np.float32
    series = kind(1)
    for i in range(len(LANCZOS)):
        series += kind(LANCZOS[i]) / (k + kind(i + 1))
    logarithm = np.log1p(k * kind(1 / 7.5)) + kind(math.log(7.5))
    return fused(k + kind(0.5) - (k + kind(7.5)) / logarithm, logarithm, kind(0.5 * math.log(2 * math.pi))) + np.log(series)


def large_poisson(first: Any, second: Any, rate: Any, place: Any) -> Any:
    """A try of that with a rate of 10 or more, and whether it holds (Hörmann); rounded as JAX rounds it."""
    kind = np.float32
    b = fused(np.sqrt(rate), kind(2.53), kind(0.931))
    a = fused(b, kind(0.02483), kind(-0.059))
    u = one_fraction(first, place) - kind(0.5)
    v = one_fraction(second, place)
    edge = kind(0.5) - abs(u)
    k = np.floor(fused(kind(2) * a / edge + b, u, rate) + kind(0.43))
    if edge >= kind(0.07) and v <= kind(0.9277) - kind(3.6224) / (b - kind(2)):
        return k, True
    if k < kind(0) or (edge < kind(0.013) and v > edge):
        return k, False
    odds = np.log(v * (kind(1.1239) + kind(1.1328) / (b - kind(3.4))) / (a / (edge * edge) + b))
    return k, bool(odds <= fused(k, np.log(rate), -rate) - lgamma_of_next(k))


def raw_poisson(words: Any, rates: np.ndarray) -> np.ndarray:
    """Numbers for rates. As in JAX, all are tried again until each has held once, as 100,000 if small; the last that held stays."""
    made = np.zeros(rates.size, np.int64)
    is_open = np.ones(rates.size, np.bool_)
    left = rates.size if np.any(rates >= np.float32(10)) else 0
    now = words
    while left > 0:
        now, first, second = subkeys(now, 3)
        for i in range(rates.size):
            k, holds = large_poisson(first, second, rates[i] if rates[i] >= np.float32(10) else np.float32(1e5), np.int64(i))
            if holds:
                made[i] = int(k)
                if is_open[i]:
                    is_open[i] = False
                    left -= 1
    for i in range(rates.size):
        if not rates[i] >= np.float32(10):
            made[i] = small_poisson(words, rates[i], np.int64(i))
    return made


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of Poisson's distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    lam : float or array
        The rate.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    dtype : dtype, default int64
        An integer dtype.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    geometric

    Notes
    -----
    D. Knuth's method for rates below 10, else W. Hörmann, "The transformed rejection method for generating Poisson random
    variables".

    Examples
    --------
    >>> from ingot import random
    >>> random.poisson(random.PRNGKey(0), 4.0, (5,))
    array([0, 1, 5, 5, 2])
    """
    words = words_of(key, "poisson")
    wanted = integer_dtype("poisson", dtype)
    lengths = shape_for("poisson", shape, (lam,))
    made = raw_poisson(words, np.broadcast_to(np.asarray(lam).astype(np.float32), lengths).reshape(-1)).astype(wanted)
    return made[0] if len(lengths) == 0 else shaped(made, lengths)


def raw_generalized_normal(words: Any, p: Any, shape: Any, dtype: Any) -> Any:
    of_size, of_sign = subkeys(words, 2)
    size = raw_gamma(of_size, 1 / p, shape, dtype, False)
    sign = select(fractions(of_sign, shape, np.dtype(np.float64)) < 0.5, dtype.type(1), dtype.type(-1))
    return sign * size ** at(1 / p, dtype)


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw numbers of the generalised normal distribution, whose density is proportional to ``exp(-abs(x)**p)``.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    p : float
        The exponent.
    shape : int or tuple of int, default ()
        The shape of the result; (): one number.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    See Also
    --------
    normal

    Examples
    --------
    >>> from ingot import random
    >>> random.generalized_normal(random.PRNGKey(0), 3.0, (3,))
    array([ 0.74663734, -1.07920374, -0.1386478 ])
    """
    words = words_of(key, "generalized_normal")
    return raw_generalized_normal(words, p, shape_of(shape), float_dtype("generalized_normal", dtype))


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None) -> Any:
    """Draw points of the unit ball of a p-norm, uniformly.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    d : int
        The dimension.
    p : float, default 2
        The norm.
    shape : int or tuple of int, default ()
        The first axes of the result.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray
        Of shape ``(*shape, d)``.

    See Also
    --------
    generalized_normal

    Notes
    -----
    F. Barthe et al., "A probabilistic approach to the geometry of the l_p^n-ball".

    Examples
    --------
    >>> from ingot import random
    >>> random.ball(random.PRNGKey(0), 2, shape=(3,))
    array([[-0.87015073, -0.45473046],
           [ 0.07910167, -0.18007603],
           [-0.32087895, -0.66130135]])
    """
    words = words_of(key, "ball")
    wanted = float_dtype("ball", dtype)
    lengths = shape_of(shape)
    of_point, of_radius = subkeys(words, 2)
    x = raw_generalized_normal(of_point, p, (*lengths, d), wanted)
    rest = -log1p(-fractions(of_radius, lengths, wanted))
    size = (np.sum(abs(x) ** at(p, wanted), axis=-1) + rest) ** at(1 / p, wanted)
    return x / np.asarray(size)[..., None]


def multivariate_normal(key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: str = "cholesky") -> Any:
    """Draw vectors of a normal distribution with a mean and a covariance.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    mean : array
        The mean, along the last axis.
    cov : array
        The covariance, along the last two axes.
    shape : int or tuple of int, optional
        The first axes of the result; by default those of the parameters.
    dtype : dtype, optional
        A float dtype; by default that of the parameters.
    method : {"cholesky", "eigh", "svd"}, default "cholesky"
        How the covariance is factorised; ``"eigh"`` and ``"svd"`` take singular ones.

    Returns
    -------
    ndarray
        Of shape ``(*shape, len(mean))``.

    See Also
    --------
    normal

    Examples
    --------
    >>> from ingot import random
    >>> random.multivariate_normal(random.PRNGKey(0), np.zeros(2), np.eye(2))
    array([-0.20584214, -0.78476578])
    """
    words = words_of(key, "multivariate_normal")
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    centre, spread = np.asarray(mean), np.asarray(cov)
    if centre.ndim < 1:
        raise ValueError(f"multivariate_normal requires mean.ndim >= 1, got mean.ndim == {centre.ndim}")
    if spread.ndim < 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {spread.ndim}")
    own = np.result_type(centre.dtype, spread.dtype)
    wanted = float_dtype("multivariate_normal", (own if own.kind == "f" else np.float64) if dtype is None else dtype)
    n = centre.shape[-1]
    if spread.shape[-2:] != (n, n):
        raise ValueError(f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got cov.shape == {spread.shape}.")
    lengths = batch_for("normal", shape, np.broadcast_shapes(centre.shape[:-1], spread.shape[:-2]))
    spread = spread.astype(wanted)
    if method == "cholesky":
        factor = np.linalg.cholesky(spread)
    elif method == "eigh":
        sizes, axes = np.linalg.eigh(spread)
        factor = axes * np.sqrt(sizes[..., None, :])
    else:
        left, values, _ = np.linalg.svd(spread)
        factor = left * np.sqrt(values[..., None, :])
    x = real_normal(words, (*lengths, n), wanted)
    return centre.astype(wanted) + np.matmul(factor, x[..., None])[..., 0]
