"""Shuffles, permutations, choices and vectors of numpy.random."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .random import STRIP, bounded, count_of, filled, flat, kahan_sum
from .reductions import known_axis
from .registry import implements
from .shapes import lengths_of


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
    last = len(x) - 1
    if last < 32:  # not worth an array of indices
        for i in range(last, 0, -1):
            j = int(primitives.draw("interval", stream, np.uint64(i)))
            x[i], x[j] = x[j], x[i]
        return
    others = np.empty(STRIP, np.uint64)
    while last > 0:
        count = min(last, STRIP)
        primitives.draw("fill_intervals", stream, np.uint64(last), others[:count])
        for k in range(count):
            i, j = last - k, int(others[k])
            x[i], x[j] = x[j], x[i]
        last -= count


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


@implements(np.random.Generator.permuted)
def permuted(self: Any, x: Any, *, axis: Any = None) -> Any:
    x = np.asarray(x)
    if x.ndim == 0:
        raise TypeError("len() of unsized object")
    if axis is None:
        is_reversed = False  # the elements are shuffled in the layout of a copy, which is of order `K`
        for i in range(x.ndim - 1):
            is_reversed = is_reversed or abs(x.strides[i]) < abs(x.strides[i + 1])
        if is_reversed:
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
            shuffle_elements(self, blocks[before, :, after])
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


def checked_probabilities(p: Any, population: Any, messages: Any) -> Any:
    p = np.asarray(p)
    precision = np.finfo(p.dtype).eps if p.dtype.kind == "f" else np.finfo(np.float64).eps
    tolerance = max(float(np.sqrt(precision)), float(np.sqrt(np.finfo(np.float64).eps)))
    if p.ndim != 1:
        raise ValueError(messages[0])
    p = p.astype(np.float64)
    if p.size != population:
        raise ValueError(messages[1])
    total = kahan_sum(p, len(p))
    if total != total:
        raise ValueError(messages[2])
    if np.any(p < 0):
        raise ValueError(messages[3])
    if abs(total - 1.0) > tolerance:
        raise ValueError(messages[4])
    return p


def by_probabilities(stream: Any, p: Any, count: Any) -> Any:
    """Indices drawn with probabilities; they may repeat."""
    sums = np.empty_like(p)
    total = 0.0
    for i in range(len(p)):
        total = total + float(p[i])
        sums[i] = total
    sums /= sums[-1]
    return np.searchsorted(sums, filled("fill_standard_uniform", stream, count, np.float64), side="right")


def different_by_probabilities(stream: Any, p: Any, count: Any, message: str) -> Any:
    """Different indices drawn with probabilities."""
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
    """Different indices: the end of a shuffled range, or by Floyd's algorithm, which keeps those that it has in a table."""
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
    """The elements at the indices that were drawn."""
    if size is None:
        place = int(places[0])
        return place if a.ndim == 0 else np.take(a, place, axis)
    lengths = lengths_of(size)
    if any(length < 0 for length in lengths):
        raise ValueError("negative dimensions are not allowed")
    shaped = primitives.reshape(places, lengths)
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


# Vectors


def checked_moments(mean: Any, cov: Any) -> tuple[Any, Any]:
    mean = np.asarray(mean)
    cov = np.asarray(cov).astype(np.float64)
    if mean.ndim != 1:
        raise ValueError("mean must be 1 dimensional")
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
        raise ValueError("cov must be 2 dimensional and square")
    if mean.shape[0] != cov.shape[0]:
        raise ValueError("mean and cov must have same length")
    return mean, cov


def need_semidefinite(holds: Any, check_valid: str) -> None:
    """NumPy's warning is silent here."""
    if check_valid not in ("warn", "raise"):
        raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
    if check_valid == "raise" and not holds:
        raise ValueError("covariance is not symmetric positive-semidefinite.")


def is_product(left: Any, right: Any, cov: Any, tol: Any) -> Any:
    return np.allclose(np.dot(left, right), cov, rtol=tol, atol=tol)


@implements(np.random.Generator.multivariate_normal)
def multivariate_normal(
    self: Any, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: Any = 1e-8, *, method: str = "svd"
) -> Any:
    if method not in ("eigh", "svd", "cholesky"):
        raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
    mean, cov = checked_moments(mean, cov)
    n = mean.shape[0]
    shape = (() if size is None else lengths_of(size)) + (n,)
    x = np.reshape(self.standard_normal(shape), (-1, n))
    if method == "cholesky":
        factor = np.linalg.cholesky(cov)
    elif method == "eigh":
        s, u = np.linalg.eigh(cov)
        if check_valid != "ignore":
            need_semidefinite(not np.any(s < -tol), check_valid)
        factor = u * np.sqrt(np.abs(s))
    else:
        u, s, vh = np.linalg.svd(cov)
        if check_valid != "ignore":
            need_semidefinite(is_product(vh.T * s, vh, cov, tol), check_valid)
        factor = u * np.sqrt(s)
    return np.reshape(mean + x @ factor.T, shape)


@implements(np.random.RandomState.multivariate_normal)
def legacy_multivariate_normal(self: Any, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: Any = 1e-8) -> Any:
    mean, cov = checked_moments(mean, cov)
    n = mean.shape[0]
    shape = (() if size is None else lengths_of(size)) + (n,)
    x = np.reshape(self.standard_normal(shape), (-1, n))
    _, s, v = np.linalg.svd(cov)
    if check_valid != "ignore":
        need_semidefinite(is_product(v.T * s, v, cov, tol), check_valid)
    return np.reshape(np.dot(x, np.sqrt(s)[:, None] * v) + mean, shape)
