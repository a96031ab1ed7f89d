"""Order statistics, histograms and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import TypeChangeError
from . import primitives
from .reductions import NoValue, divided, known_axes, nanmean, need_output, product, with_axes_kept
from .registry import implements
from .shapes import need_castable

np_range = range  # which `range` of histograms hides
NUMBERS_OF_BLOCK = 65536  # that a histogram adds up at once


def lines_of(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """An array with the axes to be reduced as its last one, and these axes."""
    axes = known_axes(axis, x.ndim, True)
    others = tuple([i for i in range(x.ndim) if i not in axes])
    lines = primitives.transpose(x, others + axes)
    if len(axes) == 1:
        return lines, axes
    kept = lines.shape[: len(others)]
    return primitives.reshape(lines.copy(), kept + (product(lines.shape[len(others) :]),)), axes


def delivered(result: Any, out: Any) -> Any:
    """What a statistic returns: its result, or the output that it is put into."""
    if out is None:
        return result
    need_output(out, np.shape(result), (), "add")
    out[...] = result
    return out


@implements(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    lines, axes = lines_of(x, axis)
    n = lines.shape[-1]
    at = x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)
    if n == 0:
        result = np.full(lines.shape[:-1], at.type(np.nan))[()]
    else:
        ranks = np.array([(n - 1) // 2, n // 2, n - 1])
        low, high, last = primitives.ranked(lines, lines.ndim - 1, ranks)
        total = np.where(n % 2 == 0, np.add(low, high, dtype=at), low.astype(at))
        result = np.asarray(divided(total, np.int64(2 - n % 2)))[()]
        if x.dtype.kind in "fc":
            result = np.where(np.isnan(last), last, result)[()]
    return delivered(with_axes_kept(result, axes, x.ndim) if keepdims else result, out)


@implements(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = NoValue) -> Any:
    x = np.asarray(a)
    keeps = keepdims is not NoValue and keepdims
    if x.dtype.kind not in "fc":
        return median(x, axis, out, keepdims=keeps)
    lines, axes = lines_of(x, axis)
    ordered = primitives.sort(lines.copy(), lines.ndim - 1, False)
    counts = np.sum(~np.isnan(ordered), axis=-1)
    result = np.empty(ordered.shape[:-1], x.dtype)
    rows = primitives.reshape(ordered, (product(ordered.shape[:-1]), ordered.shape[-1]))
    flat = primitives.reshape(result, (rows.shape[0],))
    numbers = np.ravel(np.asarray(counts))
    for i in range(rows.shape[0]):
        n = numbers[i]
        if n == 0:
            flat[i] = np.nan
        elif n % 2 == 1:
            flat[i] = rows[i, n // 2]
        else:
            flat[i] = np.mean(rows[i, n // 2 - 1 : n // 2 + 1])
    return delivered(with_axes_kept(result[()], axes, x.ndim) if keeps else result[()], out)


METHODS = (
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
)


def place_of(n: Any, q: Any, method: str) -> Any:
    """The index of the quantile q between n sorted numbers, from 0 on."""
    if method == "linear" or method == "lower" or method == "higher" or method == "nearest":
        return (n - 1) * q
    if method == "midpoint":
        return 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    if method == "inverted_cdf" or method == "averaged_inverted_cdf":
        return n * q - 1
    if method == "closest_observation":
        return n * q - 1 - 0.5
    if method == "interpolated_inverted_cdf":
        return n * q + (0 + q * (1 - 0 - 1)) - 1
    if method == "hazen":
        return n * q + (0.5 + q * (1 - 0.5 - 0.5)) - 1
    if method == "weibull":
        return n * q + (0 + q * (1 - 0 - 0)) - 1
    if method == "median_unbiased":
        return n * q + (1 / 3.0 + q * (1 - 1 / 3.0 - 1 / 3.0)) - 1
    return n * q + (3.0 / 8.0 + q * (1 - 3.0 / 8.0 - 3.0 / 8.0)) - 1


def weight_of(place: Any, method: str) -> Any:
    """How much of the upper neighbour is in the quantile."""
    floor = np.floor(place)
    fraction = place - floor
    one = fraction.dtype.type(1)
    zero = fraction.dtype.type(0)
    half = fraction.dtype.type(0.5)
    if method == "lower":
        return fraction * 0
    if method == "higher" or method == "inverted_cdf":
        return np.where(fraction > 0, one, zero)
    if method == "averaged_inverted_cdf":
        return np.where(fraction == 0, half, one)
    if method == "closest_observation":
        return np.where((fraction == 0) & (floor % 2 == 1), zero, one)
    if method == "midpoint":
        return np.where(fraction != 0, half, zero)
    if method == "nearest":
        return np.where((fraction > 0.5) | ((fraction == 0.5) & (floor % 2 == 1)), one, zero)
    return fraction


def shares_of(x: Any, q: Any, percent: bool) -> Any:
    """Which quantiles are wanted, from 0 to 1."""
    is_weak = isinstance(q, (int, float)) and not isinstance(q, np.generic)
    if x.dtype.kind == "f" and is_weak:
        wanted = np.asarray(q).astype(x.dtype)
    else:
        wanted = np.asarray(q)
    if percent:
        wanted = wanted / (x.dtype.type(100) if x.dtype.kind == "f" else 100)
    if not np.all((wanted >= 0) & (wanted <= 1)):
        raise ValueError("Percentiles must be in the range [0, 100]" if percent else "Quantiles must be in the range [0, 1]")
    return wanted


def keeping_axes(result: Any, axes: tuple[int, ...], ndim: int, before: int) -> Any:
    """A statistic with axes of length 1 for those reduced, after its own first ones."""
    kept = tuple([None if i in axes else slice(None) for i in range(ndim)])
    return np.asarray(result)[(slice(None),) * before + kept]


def quantile_of(a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any, percent: bool) -> Any:
    if method not in METHODS:
        primitives.refuse("this method of quantiles", "use 'linear'")
    x = np.asarray(a)
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    is_weak = isinstance(q, (int, float)) and not isinstance(q, np.generic)
    wanted = shares_of(x, q, percent)
    if weights is not None:
        return weighted_quantile(x, wanted + 0.0, axis, out, method, keepdims, np.asarray(weights))
    lines, axes = lines_of(x, axis)
    n = lines.shape[-1]
    if n == 0:
        raise IndexError(f"index -1 is out of bounds for axis 0 with size {n}")
    if method != "linear" or wanted.dtype.kind not in "biu":
        wanted = wanted + 0.0
    place = np.asarray(place_of(n, wanted, method))
    is_exact = place.dtype.kind in "iu"  # an element is the result, at its own dtype
    place = place + 0.0
    floor = np.floor(place)
    low = np.where(place >= n - 1, n - 1, np.where(place < 0, 0, floor)).astype(np.int64)
    high = np.where(place >= n - 1, n - 1, np.where(place < 0, 0, floor + 1)).astype(np.int64)
    weight = np.asarray(weight_of(place, method))
    number = place.size
    ranks = np.concatenate((np.ravel(low), np.ravel(high), np.array([n - 1])))
    rows = primitives.ranked(lines, lines.ndim - 1, ranks)
    if place.ndim == 0:
        below = rows[0]
        above = rows[1]
        share = float(weight[()]) if is_weak else weight[()]
    else:
        below = np.reshape(rows[:number], low.shape + rows.shape[1:])
        above = np.reshape(rows[number:-1], low.shape + rows.shape[1:])
        share = weight[(Ellipsis,) + (None,) * (rows.ndim - 1)]
    if is_exact or method in ("lower", "higher", "nearest", "inverted_cdf", "closest_observation"):
        result = np.where(np.asarray(share) > 0, above, below)[()]
    else:
        gap = above - below
        result = np.where(np.asarray(share) >= 0.5, above - gap * (1 - share), below + gap * share)[()]
    if x.dtype.kind == "f":
        last = rows[-1]
        result = np.where(np.isnan(last), last, result)[()]
    if keepdims:
        result = keeping_axes(result, axes, x.ndim, place.ndim)
    return delivered(result, out)


def weights_like(x: Any, weights: Any, axis: Any) -> Any:
    """Weights of all elements, given for each or for those along an axis."""
    if weights.ndim == x.ndim and weights.shape == x.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = known_axes(axis, x.ndim, True)
    if weights.shape != tuple([x.shape[k] for k in axes]):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    ordered = primitives.transpose(weights, tuple([axes.index(k) for k in sorted(axes)]))
    shape = tuple([x.shape[k] if k in axes else 1 for k in range(x.ndim)])
    return primitives.broadcast(np.reshape(ordered, shape), x.shape)


def weighted_quantile(x: Any, wanted: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any) -> Any:
    """The index where the sum of the weights up to it reaches a share of all."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    weights = weights_like(x, weights, axis)
    if np.any(weights < 0):
        raise ValueError("Weights must be non-negative.")
    lines, axes = lines_of(x, axis)
    heavy, _ = lines_of(weights, axis)
    n = lines.shape[-1]
    rows = np.reshape(lines, (-1, n))
    loads = np.reshape(heavy, (-1, n))
    shares = np.ravel(wanted)
    found = np.empty((len(shares), rows.shape[0]), x.dtype)
    for i in range(rows.shape[0]):
        order = np.argsort(rows[i])
        sums = np.cumsum(loads[i][order], dtype=np.float64)
        sums = sums / sums[-1]
        if np.isnan(sums[-1]):
            raise ValueError("Weights included NaN, inf or were all zero.")
        sums = sums.astype(wanted.dtype)
        sums = np.where((sums == 0) & (sums[0] == 0), sums.dtype.type(-1), sums)
        last = rows[i, order[-1]]
        for k in range(len(shares)):
            place = min(np.searchsorted(sums, shares[k]), n - 1)
            found[k, i] = last if last != last else rows[i, order[place]]
    result = primitives.reshape(found, wanted.shape + lines.shape[:-1])
    return delivered(keeping_axes(result, axes, x.ndim, wanted.ndim) if keepdims else result, out)


def nanquantile_of(a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, weights: Any, percent: bool) -> Any:
    x = np.asarray(a)
    keeps = keepdims is not NoValue and keepdims
    if x.size == 0:
        nothing = nanmean(a, axis, out=out, keepdims=keepdims)
        model = np.asarray(quantile_of(np.ones((1,), x.dtype), q, None, None, method, False, None, percent))
        if model.ndim > 0 or (out is None and nothing.dtype != model.dtype):
            raise TypeChangeError("the quantile of no numbers is one float, their mean")
        return nothing
    if x.dtype.kind not in "fc":
        return quantile_of(x, q, axis, out, method, keeps, weights, percent)
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if weights is not None:
        primitives.refuse("`weights` together with NaN", "leave NaN out, and use np.quantile")
    # The quantile of one number has the dtype of all.
    model = np.asarray(quantile_of(np.ones((1,), x.dtype), q, None, None, method, False, None, percent))
    lines, axes = lines_of(x, axis)
    rows = np.reshape(lines, (product(lines.shape[:-1]), lines.shape[-1]))
    found = np.empty(model.shape + (rows.shape[0],), model.dtype)
    for i in range(rows.shape[0]):
        row = rows[i]
        numbers = row[~np.isnan(row)]
        if len(numbers) == 0:
            found[..., i] = np.nan
        else:
            found[..., i] = quantile_of(numbers, q, None, None, method, False, None, percent)
    result = primitives.reshape(found, model.shape + lines.shape[:-1])[()]
    return delivered(keeping_axes(result, axes, x.ndim, model.ndim) if keeps else result, out)


@implements(np.nanquantile)
def nanquantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = NoValue, *, weights: Any = None) -> Any:
    return nanquantile_of(a, q, axis, out, method, keepdims, weights, False)


@implements(np.nanpercentile)
def nanpercentile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = NoValue, *, weights: Any = None) -> Any:
    return nanquantile_of(a, q, axis, out, method, keepdims, weights, True)


@implements(np.quantile)
def quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> Any:
    return quantile_of(a, q, axis, out, method, keepdims, weights, False)


@implements(np.percentile)
def percentile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> Any:
    return quantile_of(a, q, axis, out, method, keepdims, weights, True)


# Histograms


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    # Lists of any numbers are taken, of arrays those that lose nothing.
    places = np.asarray(x).astype(np.int64) if isinstance(x, (list, tuple)) else np.asarray(x)
    if places.ndim != 1:
        raise ValueError("object too deep for desired array")
    if places.dtype.kind == "b":
        places = places.astype(np.int64)
    if places.dtype.kind not in "iu":
        raise TypeError(f"Cannot cast array data from dtype('{places.dtype}') to dtype('int64') according to the rule 'safe'")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    length = minlength
    if len(places) > 0:
        if np.min(places) < 0:
            raise ValueError("'list' argument must have no negative elements")
        length = max(int(np.max(places)) + 1, minlength)
    if weights is None:
        counts = np.zeros((length,), np.int64)
        for place in places:
            counts[place] += 1
        return counts
    given = np.asarray(weights)
    need_castable(given.dtype, np.dtype(np.float64), "safe")
    if len(places) == 0:
        raise TypeChangeError("the weights of no numbers make integers")
    added = given.astype(np.float64)
    if added.shape[0] != places.shape[0]:
        raise ValueError("The weights and list don't have the same length.")
    sums = np.zeros((length,), np.float64)
    for i in range(places.shape[0]):
        sums[places[i]] += added[i]
    return sums


def edges_of(x: Any, bins: Any, range: Any) -> Any:
    """The edges of bins: those given, or so many of equal width over a range or all values."""
    if x.dtype.kind == "c":
        primitives.refuse("a histogram of complex numbers", "give their real parts")
    if isinstance(bins, str):
        primitives.refuse("a rule for the number of bins", "give the number")
    given = np.asarray(bins)
    if given.ndim == 1:
        if np.any(given[:-1] > given[1:]):
            raise ValueError("`bins` must increase monotonically, when an array")
        return given
    if given.ndim > 1:
        raise ValueError("`bins` must be 1d, when an array")
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    if range is not None:
        low = range[0] + 0.0
        high = range[1] + 0.0
        if low > high:
            raise ValueError("max must be larger than min in range parameter.")
    elif x.size == 0:
        low = 0.0
        high = 1.0
    else:
        low = np.min(x) + 0.0
        high = np.max(x) + 0.0
    if not (np.isfinite(low) and np.isfinite(high)):
        if range is not None:
            raise ValueError(f"supplied range of [{low}, {high}] is not finite")
        raise ValueError(f"autodetected range of [{low}, {high}] is not finite")
    if low == high:
        low = low - 0.5
        high = high + 0.5
    at = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    wide = np.result_type(np.asarray(low).dtype, np.asarray(high).dtype)  # float64 for numbers of Python
    start = wide.type(low)
    step = (wide.type(high) - start) / wide.type(bins)
    exact = np.arange(0, bins + 1).astype(wide) * step + start
    exact[-1] = high
    edges = exact.astype(at)
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {bins} finite-sized bins.")
    return edges


def bin_of(at: Any, edges: Any) -> Any:
    """The bin of a number; the last one takes its upper edge as well; -1: none."""
    last = edges.shape[0] - 1
    if last < 1 or not (at >= edges[0] and at <= edges[last]):
        return -1
    low = 0
    high = last
    while high - low > 1:
        middle = (low + high) // 2
        if at >= edges[middle]:
            low = middle
        else:
            high = middle
    return low


def even_bin_of(at: Any, edges: Any, scale: Any) -> Any:
    """The same for bins of equal width: the index is computed, and moved where it was rounded."""
    last = edges.shape[0] - 1
    if not (at >= edges[0] and at <= edges[last]):
        return -1
    place = int((at - edges[0]) * scale)
    if place >= last:
        place = last - 1
    if at < edges[place]:
        place -= 1
    elif at >= edges[place + 1] and place != last - 1:
        place += 1
    return place


def bins_of_one(edges: Any) -> Any:
    """How many bins of equal width a range of length one has."""
    return (edges.shape[0] - 1) / (np.float64(edges[-1]) - np.float64(edges[0]))


def weight_of_even_bins(x: Any, weights: Any, edges: Any) -> Any:
    """The weight in each of some bins of equal width: NumPy's, which adds up the sums of blocks at the weights' dtype."""
    count = edges.shape[0] - 1
    at = np.dtype(np.complex128 if weights.dtype.kind == "c" else np.float64)
    scale = bins_of_one(edges)
    result = np.zeros((count,), weights.dtype)
    for first in range(0, x.shape[0], NUMBERS_OF_BLOCK):
        sums = np.zeros((count,), at)
        for i in range(first, min(first + NUMBERS_OF_BLOCK, x.shape[0])):
            place = even_bin_of(x[i], edges, scale)
            if place >= 0:
                sums[place] += weights[i]
        if weights.dtype.kind == "c":
            result = (result + sums).astype(weights.dtype)
        else:
            result += sums.astype(weights.dtype)
    return result


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    return edges_of(np.ravel(np.asarray(a)), bins, range)


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    x = np.ravel(np.asarray(a))
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    edges = edges_of(x, bins, range)
    count = max(edges.shape[0] - 1, 0)
    if weights is None:
        result = np.zeros((count,), np.int64)
        if np.asarray(bins).ndim == 0:
            scale = bins_of_one(edges)
            for at in x:
                place = even_bin_of(at, edges, scale)
                if place >= 0:
                    result[place] += 1
        else:
            for at in x:
                place = bin_of(at, edges)
                if place >= 0:
                    result[place] += 1
    else:
        given = np.asarray(weights)
        if given.shape != np.asarray(a).shape:
            raise ValueError("weights should have the same shape as a.")
        flat = np.ravel(given)
        result = np.zeros((count,), flat.dtype)
        if np.asarray(bins).ndim == 0:
            result = weight_of_even_bins(x, flat, edges)
        else:
            for i in np.arange(x.shape[0]):
                place = bin_of(x[i], edges)
                if place >= 0:
                    result[place] += flat[i]
    if density:
        widths = (edges[1:] - edges[:-1]).astype(np.float64)
        return result / widths / np.sum(result), edges
    return result, edges


def columns_of(sample: Any) -> list[Any]:
    """Coordinates at one dtype, an inexact one."""
    columns = [np.asarray(x) for x in sample]
    dtype = np.result_type(*[x.dtype for x in columns])
    if dtype.kind == "c":
        primitives.refuse("a histogram of complex numbers", "give their real parts")
    at = dtype if dtype.kind == "f" else np.dtype(np.float64)
    return [x.astype(at) for x in columns]


def edges_of_column(x: Any, bins: Any, range: Any) -> Any:
    """The edges of one of several axes: over a range that is given they have its dtype."""
    return edges_of(x if range is None else x.astype(np.float64), bins, range)


@implements(np.histogram2d)
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    a, b = columns_of((x, y))
    if a.shape[0] != b.shape[0]:
        raise ValueError("x and y must have the same length.")
    if isinstance(bins, (tuple, list)) and len(bins) == 2:
        first, second = bins[0], bins[1]
    else:
        first, second = bins, bins
    rows = edges_of_column(a, first, None if range is None else range[0])
    columns = edges_of_column(b, second, None if range is None else range[1])
    result = np.zeros((rows.shape[0] - 1, columns.shape[0] - 1), np.float64)
    for i in np.arange(a.shape[0]):
        row = bin_of(a[i], rows)
        column = bin_of(b[i], columns)
        if row >= 0 and column >= 0:
            result[row, column] += 1.0 if weights is None else weights[i]
    if density:
        result = result / (rows[1:] - rows[:-1])[:, None] / (columns[1:] - columns[:-1]) / np.sum(result)
    return result, rows, columns


@implements(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    if isinstance(sample, (list, tuple)):
        columns = columns_of(sample)
    elif isinstance(bins, (list, tuple)):
        if sample.shape[1] != len(bins):
            raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
        columns = columns_of([sample[:, k] for k in np_range(len(bins))])
    else:
        primitives.refuse("np.histogramdd of columns of which the number is not known", "give a list of arrays, or of bins")
    d = len(columns)
    given = list(bins) if isinstance(bins, (list, tuple)) else [bins] * d
    if len(given) != d:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if range is not None and len(range) != d:
        raise ValueError("range argument must have one entry per dimension")
    edges = [edges_of_column(columns[k], given[k], None if range is None else range[k]) for k in np_range(d)]
    result = np.zeros(tuple([line.shape[0] - 1 for line in edges]), np.float64)
    flat = primitives.reshape(result, (result.size,))
    added = None if weights is None else np.asarray(weights).astype(np.float64)
    for i in np_range(columns[0].shape[0]):
        place = 0
        is_inside = True
        for k in np_range(d):
            one = bin_of(columns[k][i], edges[k])
            is_inside = is_inside and one >= 0
            place = place * result.shape[k] + one
        if is_inside:
            flat[place] += 1.0 if added is None else added[i]
    if density:
        total = np.sum(result)
        for k in np_range(d):
            widths = edges[k][1:] - edges[k][:-1]
            result = result / np.reshape(widths, tuple([-1 if other == k else 1 for other in np_range(d)]))
        result = result / total
    return result, edges


# Correlations


@implements(np.cov)
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None, aweights: Any = None, *, dtype: Any = None) -> Any:
    if fweights is not None or aweights is not None:
        primitives.refuse("weights of np.cov", "repeat the observations")
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = np.asarray(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if dtype is not None:
        at = np.dtype(dtype)
    elif y is None:
        at = np.result_type(x.dtype, np.float64)
    else:
        at = np.result_type(x.dtype, np.asarray(y).dtype, np.float64)
    rows = np.atleast_2d(x)
    rows = rows if rowvar or x.ndim == 1 else rows.T
    if x.ndim == 2 and rows.shape[0] == 0:
        if at != np.float64:
            raise TypeChangeError("the covariance of no variables is of float64")
        return np.zeros((0, 0))
    values = rows.astype(at)
    if y is not None:
        other = np.asarray(y)
        if other.ndim > 2:
            raise ValueError("y has more than 2 dimensions")
        more = np.atleast_2d(other)
        more = more if rowvar or more.shape[0] == 1 else more.T
        values = np.concatenate((values, more.astype(at)), 0)
    if ddof is None:
        ddof = 0 if bias else 1
    mean = np.mean(values, axis=1, keepdims=True)
    centred = np.subtract(values, mean, out=values)
    freedom = max(values.shape[1] - ddof, 0)
    products = np.dot(centred, np.conjugate(centred.T) if at.kind == "c" else centred.T)
    result = np.multiply(products, np.true_divide(1, freedom), out=products)
    if x.ndim < 2 and y is None:
        return np.asarray(result[0, 0])
    if result.shape[0] == 1:
        raise TypeChangeError("the covariance of one variable is a number")
    return result


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if np.asarray(c).ndim == 0:
        return c / c
    index = np.arange(c.shape[0])
    diagonal = c[index, index]
    spread = np.sqrt(primitives.real(diagonal) if c.dtype.kind == "c" else diagonal)
    result = c / spread[:, None] / spread[None, :]
    if c.dtype.kind == "c":
        return primitives.make_complex(np.clip(primitives.real(result), -1, 1), np.clip(primitives.imaginary(result), -1, 1))
    return np.clip(result, -1, 1)
