"""The functions of `ingot.parallel` that move elements: by masks, indices and order. Run by Python, or compiled."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .parallel import columns_of, filled, kinds_of, segmented_reduce
from .sequences import (
    chosen,
    element,
    index_at,
    is_python,
    is_sequence,
    is_stored,
    length_of,
    need_function,
    need_indices,
    permuted,
    put,
    put_chosen,
    ready,
    results,
    sample_of,
    stored,
)
from .sorting import limits_of, starts_of_runs
from .structures import leaves_of, map_leaves


def masked(xs: Any, where: Any) -> tuple[Any, Any]:
    """The elements in arrays, and an array of which of them a mask has, or a function chooses."""
    xs = ready(xs)
    if not is_sequence(where):
        need_function(where)
        n = length_of(xs)
        return stored(xs, n), results(lambda i: bool(where(element(xs, i))), n, lambda: True)
    if isinstance(where, list) and len(where) == 0:
        where = np.empty(0, np.bool)
    where = ready(where)
    n = length_of((xs, where))
    mask = stored(where, n)
    if mask.dtype.kind != "b" or mask.ndim != 1:
        raise TypeError(f"a mask is bools along one axis, not {mask.dtype} along {mask.ndim}: `gather` takes indices")
    return stored(xs, n), mask


def need_numbers(arrays: Any) -> None:
    """Raises where elements are rows."""
    for x in leaves_of(arrays):
        if x.ndim != 1:
            raise ValueError("elements here are numbers or tuples of numbers, not rows")


def compact(xs: Any, where: Any) -> Any:
    """Return the elements of a sequence that a mask or a function chooses.

    Parameters
    ----------
    xs : sequence
        The elements.
    where : sequence of bool, or callable
        Which; a function is called with each element.

    Returns
    -------
    array or tuple of arrays
        Those, in order.

    Raises
    ------
    ValueError
        Lengths differ.

    See Also
    --------
    partition : The others, too.

    Notes
    -----
    The result does not depend on the number of threads.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.compact(np.array([3.0, -1.0, 4.0]), lambda a: a > 0)
    array([3., 4.])
    """
    arrays, mask = masked(xs, where)
    return map_leaves(lambda x: x[mask], arrays)


def partition(xs: Any, where: Any) -> Any:
    """Return the elements that a mask or a function chooses, and the others.

    Parameters
    ----------
    xs, where
        As of `compact`.

    Returns
    -------
    chosen, others : tuple
        Arrays or tuples of arrays; each in order.

    Raises
    ------
    ValueError
        Lengths differ.

    See Also
    --------
    compact

    Notes
    -----
    The result does not depend on the number of threads.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.partition(np.array([3, 1, 4, 1]), lambda a: a % 2 == 0)
    (array([4]), array([3, 1, 1]))
    """
    arrays, mask = masked(xs, where)
    return map_leaves(lambda x: x[mask], arrays), map_leaves(lambda x: x[~mask], arrays)


def gather(xs: Any, index: Any) -> Any:
    """Return the elements of a sequence at some indices.

    Parameters
    ----------
    xs : sequence
        The elements.
    index : sequence of int
        Where each is; negative numbers count from the end of arrays.

    Returns
    -------
    array or tuple of arrays
        An element for each index.

    Raises
    ------
    IndexError
        An index is out of bounds.

    See Also
    --------
    permuted : Without storing them.
    scatter : The reverse.

    Notes
    -----
    The result does not depend on the number of threads.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.gather(np.array([3.0, 1.0, 4.0]), np.array([2, 0, 2]))
    array([4., 3., 4.])
    """
    elements = permuted(xs, index)
    n = length_of(elements)
    if n == 0 and is_stored(elements.xs) and (not isinstance(elements.index, np.ndarray) or elements.index.ndim == 1):
        return map_leaves(lambda x: x[:0].copy(), elements.xs)
    return results(lambda i: elements[i], n, lambda: sample_of(elements))


def scatter(xs: Any, index: Any, out: Any, combine: Callable[..., Any] | None = None) -> Any:
    """Store or combine elements of a sequence at some indices of an output.

    Parameters
    ----------
    xs : sequence
        The elements.
    index : sequence of int
        Where each goes; negative numbers count from the end.
    out : array or tuple of arrays
        What is changed.
    combine : callable, optional
        ``combine(stored, x)`` is stored; without it `x` is.

    Returns
    -------
    array or tuple of arrays
        `out`.

    Raises
    ------
    IndexError
        An index is out of bounds.
    ValueError
        Lengths differ.

    See Also
    --------
    gather : The reverse.

    Notes
    -----
    Elements go one after the other, so that of several with one index the last one is stored, and floats are added in order.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.scatter(np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.zeros(2), lambda a, b: a + b)
    array([2., 4.])
    >>> parallel.scatter(np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.zeros(2))
    array([2., 3.])
    """
    xs = ready(xs)
    index = ready(index)
    need_indices(index)
    n = length_of((xs, index))
    if combine is not None:
        need_function(combine)
    for i in range(n):
        at = index_at(index, i)
        put_chosen(out, at, element(xs, i) if combine is None else combine(chosen(out, at), element(xs, i)))
    return out


def sort(xs: Any, key: Callable[..., Any] | None = None, less: Callable[..., Any] | None = None) -> Any:
    """Return the elements of a sequence in ascending order.

    Parameters
    ----------
    xs : sequence
        Numbers, or tuples of numbers, of which the first ones count most.
    key : callable, optional
        ``key(x)`` returns what elements are compared by, a number or a tuple of numbers.
    less : callable, optional
        ``less(a, b)``: whether a comes before b; a strict weak order. With `key`, of what that returns.

    Returns
    -------
    array or tuple of arrays
        The elements, NaN last; equal ones in their order before.

    See Also
    --------
    argsort, sort_by_key

    Notes
    -----
    The result does not depend on the number of threads. With `less`, one thread merges.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.sort((np.array([2, 1, 2]), np.array([0.5, 2.0, 0.25])))
    (array([1, 2, 2]), array([2.  , 0.25, 0.5 ]))
    >>> parallel.sort(np.array([3, -1, -2]), key=abs)
    array([-1, -2,  3])
    >>> parallel.sort(np.array([3, -1, -2]), less=lambda a, b: a > b)
    array([ 3, -1, -2])
    """
    xs = ready(xs)
    arrays = stored(xs, length_of(xs))
    need_numbers(arrays)
    if isinstance(arrays, np.ndarray) and key is None and less is None:
        return sorted_numbers(arrays)
    order = order_by(arrays, key, less)
    return map_leaves(lambda x: x[order], arrays)


def sorted_numbers(x: Any) -> Any:
    """Numbers in stable order. Those that are equal are the same, but for the signs of zeros and the bits of NaN."""
    if x.dtype.kind not in "biuf":
        return np.sort(x, kind="stable")
    made = np.sort(x)
    n = len(made)
    if x.dtype.kind != "f" or n == 0:
        return made
    if made[n - 1] != made[n - 1]:
        unordered = x[x != x]
        made[n - len(unordered) :] = unordered
    zero = made.dtype.type(0)  # another dtype would have all elements converted
    begin = int(np.searchsorted(made, zero))
    end = int(np.searchsorted(made, zero, "right"))
    if end - begin > 1:
        made[begin:end] = x[x == 0]
    return made


def order_by(arrays: Any, key: Any, less: Any) -> Any:
    """The stable order of elements by what a key makes of them, in an order."""
    keys = arrays
    n = length_of(arrays)
    if key is not None:
        need_function(key)
        keys = results(lambda i: key(element(arrays, i)), n, lambda: key(sample_of(arrays)))
    if less is None:
        return order_of(keys)
    need_function(less)
    need_numbers(keys)
    order = np.arange(n)
    merged = np.empty(n, np.int64)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            merge_by(keys, less, order, merged, start, min(start + width, n), min(start + 2 * width, n))
        order, merged = merged, order
        width *= 2
    return order


def merge_by(keys: Any, less: Any, order: Any, merged: Any, start: int, middle: int, end: int) -> None:
    """Merges two runs of an order."""
    i = start
    j = middle
    for k in range(start, end):
        if j >= end or (i < middle and not less(element(keys, order[j]), element(keys, order[i]))):
            merged[k] = order[i]
            i += 1
        else:
            merged[k] = order[j]
            j += 1


def order_of(arrays: Any) -> Any:
    """The stable order of elements; of tuples by their numbers from the left."""
    need_numbers(arrays)
    keys = leaves_of(arrays)
    order = order_of_one(keys[-1])
    for k in range(1, len(keys)):
        order = order[order_of_one(keys[-1 - k][order])]
    return order


def order_of_one(x: Any) -> Any:
    """The stable order of numbers: integers that are near each other are counted."""
    low, count = values_of(x)
    return np.argsort(x, kind="stable") if count == 0 else counted_order(x, low, count)


def values_of(x: Any) -> tuple[int, int]:
    """The least of integers that are near each other, and how many there are from it to the largest one; else 0 of them."""
    if x.dtype.kind in "iu" and (x.dtype.kind == "i" or x.dtype.itemsize < 8) and len(x) > 0:
        low, high = int(x[0]), int(x[0])
        for value in x:
            low, high = min(low, int(value)), max(high, int(value))
        if low >= -(2**62) and high < 2**62 and high - low < 2 * len(x):
            return low, high - low + 1
    return 0, 0


def counted_order(x: Any, low: int, count: int) -> Any:
    """The stable order of integers from `low` on, of `count` values at most."""
    places = np.zeros(count + 1, np.int64)
    for value in x:
        places[int(value) - low + 1] += 1
    for k in range(count):
        places[k + 1] += places[k]
    order = np.empty(len(x), np.int64)
    for i in range(len(x)):
        at = int(x[i]) - low
        order[places[at]] = i
        places[at] += 1
    return order


def argsort(xs: Any, key: Callable[..., Any] | None = None, less: Callable[..., Any] | None = None) -> Any:
    """Return the indices of the elements of a sequence in ascending order.

    Parameters
    ----------
    xs, key, less
        As of `sort`.

    Returns
    -------
    array of int64
        Equal elements in the order of their indices, NaN last.

    See Also
    --------
    sort

    Notes
    -----
    The result does not depend on the number of threads.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.argsort(np.array([2, 1, 2, 1]))
    array([1, 3, 0, 2])
    """
    xs = ready(xs)
    return order_by(stored(xs, length_of(xs)), key, less)


def sort_by_key(keys: Any, *values: Any) -> Any:
    """Return keys in ascending order, and sequences of values in the order of their keys.

    Parameters
    ----------
    keys : sequence
        As of `sort`.
    *values : sequences
        Of as many elements.

    Returns
    -------
    tuple of arrays
        The keys, and the values of each sequence; values of equal keys in their order before.

    Raises
    ------
    ValueError
        Lengths differ.

    See Also
    --------
    argsort, group_by_reduce

    Notes
    -----
    The result does not depend on the number of threads.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.sort_by_key(np.array([2, 1, 2]), np.array([10.0, 20.0, 30.0]))
    (array([1, 2, 2]), array([20., 10., 30.]))
    """
    everything = (ready(keys), *[ready(value) for value in values])
    n = length_of(everything)
    arrays = stored(everything, n)
    order = order_of(arrays[0])
    return map_leaves(lambda x: x[order], arrays)


def k_select(xs: Any, k: int) -> Any:
    """Return the element that is at an index of the sorted sequence.

    Parameters
    ----------
    xs : sequence
        Numbers.
    k : int
        The index: 0 for the least element; negative numbers count from the end.

    Returns
    -------
    number
        The element.

    Raises
    ------
    IndexError
        There is no such index.

    See Also
    --------
    top_k, sort

    Notes
    -----
    The result does not depend on the number of threads. Which of 0.0 and -0.0 it has, which are equal, is not stated.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.k_select(np.array([3.0, 1.0, 4.0, 1.5]), 1)
    np.float64(1.5)
    """
    xs = ready(xs)
    n = length_of(xs)
    k = operator.index(k)
    if k < -n or k >= n:
        raise IndexError(f"index {k} is out of bounds for {n} elements")
    place = k + n if k < 0 else k
    x = stored(xs, n)
    need_numbers(x)
    return selected(x, place) if x.dtype.kind in "iuf" else np.partition(x, place)[place]


SAMPLE = 1024
"""How many elements of a line decide what all are compared with."""


def selected(x: Any, place: int) -> Any:
    """The element at an index of a line if it were sorted: two elements of a sample enclose it, most likely, and few others."""
    least, most = limits_of(x.dtype)
    line = x
    while len(line) > 4 * SAMPLE:
        sample = np.sort(line[:: len(line) // SAMPLE])
        middle = place * len(sample) // len(line)
        margin = SAMPLE // 20
        low = sample[middle - margin] if middle >= margin else least
        high = sample[middle + margin] if middle + margin < len(sample) else most
        below = int(np.count_nonzero(line < low))
        between = enclosed(line, low, high)
        if place < below or place >= below + len(between) or 2 * len(between) > len(line):
            return np.partition(line, place)[place]
        place -= below
        line = between
        if low == high:
            return line[place]
    return np.sort(line)[place]


def enclosed(x: Any, low: Any, high: Any) -> Any:
    """The elements of a line from one number to another."""
    found = np.empty(len(x), x.dtype)
    count = 0
    for value in x:
        if low <= value and value <= high:
            found[count] = value
            count += 1
    return found[:count]


def top_k(xs: Any, k: int) -> Any:
    """Return the largest elements of a sequence, and their indices.

    Parameters
    ----------
    xs : sequence
        Numbers.
    k : int
        How many.

    Returns
    -------
    values, indices : tuple of arrays
        In descending order, NaN first; of equal elements those of the lowest indices, in their order.

    Raises
    ------
    ValueError
        There are not as many elements.

    See Also
    --------
    k_select, argsort

    Notes
    -----
    The result does not depend on the number of threads.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.top_k(np.array([3.0, 1.0, 4.0, 4.0]), 3)
    (array([4., 4., 3.]), array([2, 3, 0]))
    """
    xs = ready(xs)
    n = length_of(xs)
    k = operator.index(k)
    if k < 0 or k > n:
        raise ValueError(f"the {k} largest of {n} elements")
    x = stored(xs, n)
    need_numbers(x)
    places = candidates(x, k, n)
    best = x[places]
    # Of equal elements the ascending order of the reversed ones, read backwards, has those of the lowest indices first.
    order = (len(best) - 1 - np.argsort(best[::-1], kind="stable")[::-1])[:k]
    return best[order], places[order]


def candidates(x: Any, k: int, n: int) -> Any:
    """The indices of the elements that are not below the k-th largest, in order."""
    if k == 0 or 4 * k > n:
        return np.arange(n)
    if n > 4 * SAMPLE:
        sample = np.sort(x[:: n // SAMPLE])
        expected = k * len(sample) // n
        rank = expected + 4 * int(np.sqrt(expected)) + 4
        if rank < len(sample) // 2:
            places = places_from(x, sample[len(sample) - 1 - rank])
            if len(places) >= k:
                return places
    return places_from(x, np.partition(x, n - k)[n - k])


def places_from(x: Any, least: Any) -> Any:
    """The indices of the elements that are not below a number, NaN among them."""
    places = np.empty(len(x), np.int64)
    count = 0
    for i in range(len(x)):
        if not x[i] < least:
            places[count] = i
            count += 1
    return places[:count]


def same_keys(keys: Any) -> Any:
    """The stable order of keys, and where other keys than the one before begin in it."""
    order = order_of(keys)
    starts = np.zeros(len(order), np.bool)
    for key in leaves_of(keys):
        starts = starts | starts_of_runs(key[order], True)
    return order, np.flatnonzero(starts)


def unique(xs: Any) -> Any:
    """Return the different elements of a sequence in ascending order.

    Parameters
    ----------
    xs : sequence
        As of `sort`.

    Returns
    -------
    array or tuple of arrays
        Each once; NaN is equal to NaN.

    See Also
    --------
    unique_by_key, group_by_reduce

    Notes
    -----
    The result does not depend on the number of threads. Which of 0.0 and -0.0 it has, which are equal, is not stated.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.unique((np.array([2, 1, 2]), np.array([5, 5, 5])))
    (array([1, 2]), array([5, 5]))
    """
    xs = ready(xs)
    arrays = stored(xs, length_of(xs))
    if isinstance(arrays, np.ndarray) and arrays.ndim == 1:
        return np.unique(arrays)
    order, starts = same_keys(arrays)
    first = order[starts]
    return map_leaves(lambda x: x[first], arrays)


def unique_by_key(keys: Any, *values: Any) -> Any:
    """Return the different keys in ascending order, and the values of the first element with each.

    Parameters
    ----------
    keys : sequence
        As of `sort`.
    *values : sequences
        Of as many elements.

    Returns
    -------
    tuple of arrays
        The keys, and the values of each sequence.

    Raises
    ------
    ValueError
        Lengths differ.

    See Also
    --------
    unique, group_by_reduce

    Notes
    -----
    The result does not depend on the number of threads.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.unique_by_key(np.array([2, 1, 2]), np.array([10.0, 20.0, 30.0]))
    (array([1, 2]), array([20., 10.]))
    """
    everything = (ready(keys), *[ready(value) for value in values])
    arrays = stored(everything, length_of(everything))
    order, starts = same_keys(arrays[0])
    first = order[starts]
    return map_leaves(lambda x: x[first], arrays)


def group_by_reduce(f: Callable[..., Any], keys: Any, values: Any, init: Any = None) -> Any:
    """Combine the values of each key.

    Parameters
    ----------
    f : callable
        ``f(before, after)``; any function, given the values of a key in order.
    keys : sequence
        As of `sort`.
    values : sequence
        Numbers or tuples of numbers, as many.
    init : number or tuple of numbers, optional
        What comes before the first value of each key.

    Returns
    -------
    keys, combinations : tuple
        The different keys in ascending order, and what `f` makes of the values of each.

    Raises
    ------
    ValueError
        Lengths differ.

    See Also
    --------
    segmented_reduce, unique

    Notes
    -----
    The values of a key are combined one after the other. Threads have keys each; of keys that are integers near each other, one
    thread has all.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.group_by_reduce(lambda a, b: a + b, np.array([2, 1, 2]), np.array([10.0, 20.0, 30.0]))
    (array([1, 2]), array([20., 40.]))
    """
    keys = ready(keys)
    values = ready(values)
    n = length_of((keys, values))
    arrays = stored(keys, n)
    if isinstance(arrays, np.ndarray):
        need_numbers(arrays)
        low, count = values_of(arrays)
        if count > 0:
            return combined_in_table(f, arrays, values, init, low, count)
    order, starts = same_keys(arrays)
    offsets = np.empty(len(starts) + 1, np.int64)
    offsets[: len(starts)] = starts
    offsets[len(starts)] = n
    first = order[starts]
    return map_leaves(lambda x: x[first], arrays), segmented_reduce(f, permuted(values, order), offsets, init)


def combined_in_table(f: Callable[..., Any], keys: Any, values: Any, init: Any, low: int, count: int) -> tuple[Any, Any]:
    """`group_by_reduce` of integers from `low` on, of `count` values at most, whose combinations are in a table."""
    need_function(f)
    n = len(keys)
    has = np.zeros(count, np.bool)
    if is_python():
        for key in keys:
            has[int(key) - low] = True
    kinds = kinds_of(f, values, n, init, init is not None or np.count_nonzero(has) < n)
    table = columns_of(kinds, count)
    if init is not None:
        for k in range(count):
            put(table, k, init)
    has[:] = False
    found = 0
    begin = 0
    while begin < n and found < count:
        at = int(keys[begin]) - low
        value = element(values, begin)
        put(table, at, value if init is None and not has[at] else f(element(table, at), value))
        found += 0 if has[at] else 1
        has[at] = True
        begin += 1
    for i in range(begin, n):  # all keys have been found
        at = int(keys[i]) - low
        put(table, at, f(element(table, at), element(values, i)))
    places = np.flatnonzero(has)
    combined = filled(table)
    return (places + low).astype(keys.dtype), map_leaves(lambda x: x[places], combined)


def searchsorted(xs: Any, values: Any, side: Any = "left") -> Any:
    """Return where values would be inserted in a sorted sequence.

    Parameters
    ----------
    xs : sequence
        Numbers in ascending order.
    values : sequence
        Numbers.
    side : {"left", "right"}, default "left"
        Before or after equal elements.

    Returns
    -------
    array of int64
        The indices.

    See Also
    --------
    merge
    numpy.searchsorted

    Notes
    -----
    The result does not depend on the number of threads.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.searchsorted(np.array([1, 3, 5]), np.array([0, 3, 9]))
    array([0, 1, 3])
    """
    xs = ready(xs)
    values = ready(values)
    arrays = stored(xs, length_of(xs)), stored(values, length_of(values))
    need_numbers(arrays)
    x, wanted = arrays
    if side not in ("left", "right") or x.dtype != wanted.dtype or x.dtype.kind not in "iuf" or len(x) == 0:
        return np.searchsorted(x, wanted, side)
    return searched(x, wanted, side == "right")


TOGETHER = 16
"""How many values are searched for at the same time."""


def searched(x: Any, wanted: Any, is_right: bool) -> Any:
    """Where values are in a sorted array that has elements: several at the same time, whose loads do not wait for each other."""
    made = np.empty(len(wanted), np.int64)
    blocks = len(wanted) // TOGETHER
    for b in range(blocks):
        places = np.zeros(TOGETHER, np.int64)
        left = len(x)
        while left > 1:
            half = left // 2
            for k in range(TOGETHER):
                places[k] = further(x, places[k], half, wanted[b * TOGETHER + k], is_right)
            left -= half
        for k in range(TOGETHER):
            made[b * TOGETHER + k] = further(x, places[k], 1, wanted[b * TOGETHER + k], is_right)
    for i in range(blocks * TOGETHER, len(wanted)):
        place = 0
        left = len(x)
        while left > 1:
            half = left // 2
            place = further(x, place, half, wanted[i], is_right)
            left -= half
        made[i] = further(x, place, 1, wanted[i], is_right)
    return made


def further(x: Any, place: Any, half: Any, value: Any, is_right: bool) -> Any:
    """The place after so many elements more, if all of them come before a value."""
    last = x[min(max(place + half - 1, 0), len(x) - 1)]
    if is_right:
        before = (last <= value) | (value != value)
    else:
        before = (last < value) | ((value != value) & (last == last))
    return place + half if before else place


def histogram(index: Any, length: int, weights: Any = None) -> Any:
    """Return how often each number from 0 on is in a sequence.

    Parameters
    ----------
    index : sequence of int
        The numbers; transform values to the numbers of their bins.
    length : int
        How many numbers there are.
    weights : sequence, optional
        What each counts, instead of 1.

    Returns
    -------
    array
        The counts, int64, or the sums of weights, of their dtype.

    Raises
    ------
    IndexError
        A number is not below `length`, or negative.
    ValueError
        Lengths differ.

    See Also
    --------
    scatter, group_by_reduce
    numpy.histogram : Bins by their edges.

    Notes
    -----
    Weights are added one after the other.

    Examples
    --------
    >>> from ingot import parallel
    >>> x = np.array([0.1, 0.7, 0.8, 0.2, 0.9])
    >>> parallel.histogram(parallel.transformed(lambda a: int(4 * a), x), 4)
    array([2, 0, 1, 2])
    """
    index = ready(index)
    if weights is None:
        n = length_of(index)
        made = np.zeros(length, np.int64)
    else:
        weights = ready(weights)
        n = length_of((index, weights))
        of = stored(weights, n)
        need_numbers(of)
        made = np.zeros(length, of.dtype)
    need_indices(index)
    if isinstance(index, np.ndarray):
        need_numbers(index)
    for i in range(n):
        at = index_at(index, i)
        if at < 0 or at >= length:
            raise IndexError(f"bin {at} is out of bounds for {length}")
        made[at] += 1 if weights is None else weights[i]
    return made
