"""Distributions of random numbers of a key, as JAX makes them of uniform numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import primitives
from .threefry import at, between, float_dtype, fractions, fused, rest_of_product, select, shape_for, shape_of, subkeys, words_of

# The inverse of the error function over x by w = -log(1 - x**2), for small w and larger ones (Giles, "Approximating the
# erfinv function", 2010).
CENTRE_32 = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
TAIL_32 = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip
CENTRE = (
    -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18, 1.115787767802518096e-17,
    -1.333171662854620906e-16, 2.0972767875968561637e-17, 6.6376381343583238325e-15, -4.0545662729752068639e-14,
    -8.1519341976054721522e-14, 2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
    -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352, -0.00074070253416626697512,
    -0.0060336708714301490533, 0.24015818242558961693, 1.6536545626831027356,
)  # fmt: skip
TAIL = (
    2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
    1.5027403968909827627e-06, -4.013867526981545969e-06, 2.9234449089955446044e-06, 1.2475304481671778723e-05,
    -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
    0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066, -0.0037512085075692412107,
    0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635,
)  # fmt: skip
FAR_TAIL = (
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09, -3.7894654401267369937e-09,
    7.6157012080783393804e-09, -1.4960026627149240478e-08, 2.9147953450901080826e-08, -6.7711997758452339498e-08,
    2.2900482228026654717e-07, -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
    7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026, 1.0103004648645343977,
    4.8499064014085844221,
)  # fmt: skip

# log(1 + x) is x - x**2 / 2 + x**3 * p(x) / q(x) for small x (Cephes).
NUMERATOR = (
    4.5270000862445199635215e-5, 4.9854102823193375972212e-1, 6.5787325942061044846969e0, 2.9911919328553073277375e1,
    6.0949667980987787057556e1, 5.7112963590585538103336e1, 2.0039553499201281259648e1,
)  # fmt: skip
DENOMINATOR = (
    1.0, 1.5062909083469192043167e1, 8.3047565967967209469434e1, 2.2176239823732856465394e2, 3.0909872225312059774938e2,
    2.1642788614495947685003e2, 6.0118660497603843919306e1,
)  # fmt: skip

# erf(x) in float32 is x * p(x**2) / q(x**2) up to where it is 1 (Eigen).
ERF_NUMERATOR = (
    2.2905065861350646e-4, 3.4082910107109506e-3, 5.0955695062380861e-2, 1.8520832239976145e-1, 1.128379143519084,
)  # fmt: skip
ERF_DENOMINATOR = (
    -1.1791602954361697e-7, 2.3547966471313185e-5, 1.0179625278914885e-3, 1.4070470171167667e-2, 1.1098505178285362e-1,
    4.9746925110067538e-1, 1.0,
)  # fmt: skip
ERF_ONE = 3.832506856900711


def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """By Horner's rule, the last step of which is rounded once."""
    kind = x.dtype.type
    value = kind(coefficients[0])
    for c in coefficients[1:-1]:
        value = value * x + kind(c)
    product = value * x
    total = product + kind(coefficients[-1])
    return total + ((kind(coefficients[-1]) - total) + product + rest_of_product(value, x, product))


def log1p(x: Any) -> Any:
    """log(1 + x) as XLA computes it; float64 has errors of up to 128 ulp there, next to -0.414."""
    if x.dtype != np.float64:
        return np.log1p(x)
    ratio = plain_polynomial(NUMERATOR, x) / plain_polynomial(DENOMINATOR, x)
    square = x * x
    near = x + (-0.5 * square + x * square * ratio)
    return select(abs(x) < 0.41421356237309504880, near, np.log(1.0 + x))


def plain_polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    value = coefficients[0]
    for c in coefficients[1:]:
        value = value * x + c
    return value


def central_erf_inv(x: Any) -> Any:
    """The inverse of the error function where |x| is at most 0.999, for float64."""
    return polynomial(CENTRE, -log1p(-(x * x)) - 3.125) * x


def erf_inv(x: Any) -> Any:
    """The inverse of the error function, for a float or an array of them."""
    if x.dtype == np.float16:
        return erf_inv(x.astype(np.float32)).astype(np.float16)
    if x.dtype == np.float64 and isinstance(x, np.ndarray):
        return erf_inv_of_array(x)
    kind = x.dtype.type
    w = -log1p(-(x * x))
    root = np.sqrt(w)
    if x.dtype == np.float32:
        slope = select(w < kind(5), polynomial(CENTRE_32, w - kind(2.5)), polynomial(TAIL_32, root - kind(3)))
    else:
        tail = select(w < 16.0, polynomial(TAIL, root - 3.25), polynomial(FAR_TAIL, root - 5.0))
        slope = select(w < 6.25, polynomial(CENTRE, w - 3.125), tail)
    return select(abs(x) == kind(1), x * kind(np.inf), slope * x)


def erf_inv_of_array(x: np.ndarray) -> np.ndarray:
    """That of float64, of which few are in the tails."""
    flat = x.reshape(-1)
    made = central_erf_inv(flat)
    for i in range(flat.size):
        if abs(flat[i]) > 0.999:
            made[i] = erf_inv(flat[i])
    return primitives.reshape(made, x.shape)


def real_normal(words: Any, shape: Any, dtype: Any) -> Any:
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    return dtype.type(np.sqrt(2)) * erf_inv(fractions(words, shape, dtype) * dtype.type(2) + low)


def normal(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw numbers of the standard normal distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    shape : int or tuple of int, default ()
        The shape of the result; (): one number.
    dtype : dtype, default float64
        A float or complex dtype.

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
    multivariate_normal, truncated_normal

    Notes
    -----
    The inverse of the error function of uniform numbers, by the polynomials of M. Giles, "Approximating the erfinv function".

    Examples
    --------
    >>> from ingot import random
    >>> random.normal(random.PRNGKey(0), (2, 2))
    array([[-0.20584214, -0.78476578],
           [ 1.81608667,  0.18784401]])
    """
    words = words_of(key, "normal")
    wanted = np.dtype(np.float64 if dtype is None else dtype)
    lengths = shape_of(shape)
    if wanted.kind == "f":
        return real_normal(words, lengths, wanted)
    if wanted.kind != "c":
        raise ValueError(f"dtype argument to `normal` must be a float or complex dtype, got {wanted}")
    part = np.dtype(np.float64 if wanted.itemsize == 16 else np.float32)
    real_key, imaginary_key = subkeys(words, 2)
    root = part.type(np.sqrt(2))
    real = real_normal(real_key, lengths, part) / root
    return primitives.make_complex(real, real_normal(imaginary_key, lengths, part) / root)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low") -> Any:
    """Draw True with a probability.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    p : float or array, default 0.5
        The probability, whose dtype decides how many bits are drawn.
    shape : int or tuple of int, optional
        The shape of the result, to which the parameters broadcast; by default theirs.
    mode : {"low", "high"}, default "low"
        ``"high"`` draws twice as many bits, for small probabilities.

    Returns
    -------
    ndarray of bool, or NumPy bool
        What was drawn.

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    rademacher

    Examples
    --------
    >>> from ingot import random
    >>> random.bernoulli(random.PRNGKey(0), 0.2, 5)
    array([False, False, False, False, False])
    """
    if mode != "high" and mode != "low":
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    words = words_of(key, "bernoulli")
    dtype = np.asarray(p).dtype
    if dtype.kind != "f":
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype}.")
    lengths = shape_for("bernoulli", shape, (p,))
    limit = at(p, dtype)
    if mode == "low":
        return between(words, lengths, dtype, 0.0, 1.0) < limit
    both = between(words, (2, *lengths), dtype, 0.0, 1.0)
    return both[1] * dtype.type(2.0 ** -np.finfo(dtype).nmant) < limit - both[0]


def exponential(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw numbers of the exponential distribution with mean 1.

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

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    uniform

    Notes
    -----
    The inverse of its distribution function: ``-log1p(-u)``.

    Examples
    --------
    >>> from ingot import random
    >>> random.exponential(random.PRNGKey(0), 3)
    array([0.54207056, 0.24372319, 3.36163426])
    """
    words = words_of(key, "exponential")
    wanted = float_dtype("exponential", dtype)
    return -log1p(-between(words, shape_of(shape), wanted, 0.0, 1.0))


def tiny(dtype: Any) -> Any:
    """The smallest normal number of a dtype."""
    return np.finfo(dtype).tiny


def above_zero(words: Any, shape: Any, dtype: Any) -> Any:
    """Uniform numbers from the smallest normal number of a dtype on, below 1."""
    return fractions(words, shape, dtype) + tiny(dtype)


def raw_gumbel(words: Any, shape: Any, dtype: Any, mode: Any) -> Any:
    if mode is None or mode == "low":
        return -np.log(-np.log(above_zero(words, shape, dtype)))
    if mode != "high" and mode != "highest":
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    if mode == "highest" and dtype == np.float32:
        primitives.refuse('the mode "highest" for float32', 'give mode="high", or dtype=np.float64')
    both = between(words, (2, *shape), dtype, 0.0, 1.0)
    upper, lower = both[0], both[1]
    finer = upper + dtype.type(2.0 ** -np.finfo(dtype).nmant) * lower + tiny(dtype)
    x = select(upper >= dtype.type(0.5), upper, finer)
    return -np.log(-log1p(-x))


def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None) -> Any:
    """Draw numbers of Gumbel's distribution.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    shape : int or tuple of int, default ()
        The shape of the result; (): one number.
    dtype : dtype, default float64
        float16, float32 or float64.
    mode : {"low", "high"}, optional
        ``"high"`` draws twice as many bits, for large numbers. By default ``"low"``.

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
    categorical : What it is drawn for.

    Notes
    -----
    The inverse of its distribution function: ``-log(-log(u))``.

    Examples
    --------
    >>> from ingot import random
    >>> random.gumbel(random.PRNGKey(0), 3)
    array([ 0.13790566, -0.42599294,  3.34403911])
    """
    words = words_of(key, "gumbel")
    return raw_gumbel(words, shape_of(shape), float_dtype("gumbel", dtype), mode)


def laplace(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw numbers of Laplace's distribution, whose density is ``exp(-abs(x)) / 2``.

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

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    uniform

    Examples
    --------
    >>> from ingot import random
    >>> random.laplace(random.PRNGKey(0), 3)
    array([ 0.17803369,  0.83796278, -2.66848708])
    """
    words = words_of(key, "laplace")
    wanted = float_dtype("laplace", dtype)
    low = wanted.type(-1) + np.finfo(wanted).epsneg
    u = fractions(words, shape_of(shape), wanted) * wanted.type(2) + low
    return np.sign(u) * log1p(-abs(u))


def logistic(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw numbers of the logistic distribution.

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

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    uniform

    Notes
    -----
    The inverse of its distribution function: ``log(u / (1 - u))``.

    Examples
    --------
    >>> from ingot import random
    >>> random.logistic(random.PRNGKey(0), 3)
    array([-0.32911032, -1.28738678,  3.32634015])
    """
    words = words_of(key, "logistic")
    wanted = float_dtype("logistic", dtype)
    x = above_zero(words, shape_of(shape), wanted)
    return np.log(x) - log1p(-x)


def cauchy(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw numbers of Cauchy's distribution.

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

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    uniform

    Notes
    -----
    The inverse of its distribution function: ``tan(pi * (u - 1 / 2))``.

    Examples
    --------
    >>> from ingot import random
    >>> random.cauchy(random.PRNGKey(0), 3)
    array([-0.26192951, -1.23784602,  9.14252843])
    """
    words = words_of(key, "cauchy")
    wanted = float_dtype("cauchy", dtype)
    u = between(words, shape_of(shape), wanted, np.finfo(wanted).eps, 1.0)
    return np.tan(wanted.type(np.pi) * (u - wanted.type(0.5)))


def rademacher(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw -1 and 1 with equal probabilities.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    shape : int or tuple of int, default ()
        The shape of the result; (): one number.
    dtype : dtype, default int64
        Any numeric dtype.

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
    bernoulli

    Examples
    --------
    >>> from ingot import random
    >>> random.rademacher(random.PRNGKey(0), 5)
    array([ 1,  1, -1, -1, -1])
    """
    words = words_of(key, "rademacher")
    wanted = np.dtype(np.int64 if dtype is None else dtype)
    is_one = between(words, shape_of(shape), np.dtype(np.float64), 0.0, 1.0) < 0.5
    return (2 * is_one.astype(np.int8) - 1).astype(wanted)


def erf(x: Any) -> Any:
    """The error function of a float, for float32 as XLA computes it."""
    if x.dtype == np.float64:
        return np.float64(math.erf(float(x)))
    kind = np.float32
    near = min(max(x.astype(kind), -kind(ERF_ONE)), kind(ERF_ONE))
    square = near * near
    upper, lower = kind(ERF_NUMERATOR[0]), kind(ERF_DENOMINATOR[0])
    for c in ERF_NUMERATOR[1:]:
        upper = fused(upper, square, kind(c))
    for c in ERF_DENOMINATOR[1:]:
        lower = fused(lower, square, kind(c))
    return (near * upper / lower).astype(x.dtype)


def error_function(x: Any) -> Any:
    """The error function of a float or of an array of them."""
    if not isinstance(x, np.ndarray):
        return erf(x)
    flat = x.reshape(-1)
    made = np.empty(flat.size, x.dtype)
    for i in range(flat.size):
        made[i] = erf(flat[i])
    return primitives.reshape(made, x.shape)


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Draw numbers of the standard normal distribution between two bounds.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    lower, upper : float or array
        The bounds.
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
    normal

    Examples
    --------
    >>> from ingot import random
    >>> random.truncated_normal(random.PRNGKey(0), -1.0, 1.0, 3)
    array([-0.13999612, -0.50631466,  0.90652156])
    """
    words = words_of(key, "truncated_normal")
    wanted = float_dtype("truncated_normal", dtype)
    lengths = shape_for("truncated_normal", shape, (lower, upper))
    low, high = at(lower, wanted), at(upper, wanted)
    root = wanted.type(np.sqrt(2))
    made = root * erf_inv(between(words, lengths, wanted, error_function(low / root), error_function(high / root)))
    infinity = wanted.type(np.inf)
    return np.minimum(np.maximum(made, np.nextafter(low, infinity)), np.nextafter(high, -infinity))
