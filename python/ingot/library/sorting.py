"""Sorting, indices of extremes, and sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .indexing import insertion_point, into
from .joining import concatenate
from .registry import implements
from .shapes import need_castable, need_no_bool, normal_axis, product, ravel

UniqueAllResult = np.lib._arraysetops_impl.UniqueAllResult
UniqueCountsResult = np.lib._arraysetops_impl.UniqueCountsResult
UniqueInverseResult = np.lib._arraysetops_impl.UniqueInverseResult


def need_no_fields(order: Any) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


def is_stable(kind: Any, stable: Any) -> bool:
    if kind is not None and stable is not None:
        raise ValueError("`kind` and `stable` parameters can't be provided at the same time. Use only one of them.")
    return kind == "stable" or kind == "mergesort" or bool(stable)


def line_and_axis(a: Any, axis: Any) -> Any:
    """An array and an axis of it: all elements as one axis, if none is named."""
    if axis is None:
        return ravel(a), 0
    return a, normal_axis(axis, a.ndim)


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    need_no_fields(order)
    x, along = line_and_axis(np.asarray(a), axis)
    return primitives.sort(x, along, is_stable(kind, stable))


@implements(np.ndarray.sort)
def sort_in_place(a: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    a[...] = sort(a, axis, kind, order, stable=stable)


@implements(np.argsort, np.ndarray.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    need_no_fields(order)
    need_no_bool(axis)
    x, along = line_and_axis(np.atleast_1d(np.asarray(a)), axis)
    return primitives.argsort(x, along, is_stable(kind, stable))


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    arrays = [keys[k, ...] for k in range(keys.shape[0])] if isinstance(keys, np.ndarray) else [np.asarray(k) for k in keys]
    if len(arrays) == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    for key in arrays:
        if key.shape != arrays[0].shape:
            raise ValueError("all keys need to be the same shape")
    if arrays[0].ndim == 0 and (axis == 0 or axis == -1):
        return np.int64(0)
    along = normal_axis(axis, arrays[0].ndim)
    order = primitives.argsort(arrays[0], along, True)
    for k in range(1, len(arrays)):
        key = np.take_along_axis(arrays[k], order, along)
        order = np.take_along_axis(order, primitives.argsort(key, along, True), along)
    return order


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    x = np.asarray(a)
    result = sort(x)
    if x.dtype.kind == "c":
        return result
    is_short = x.dtype.kind in "iu" and x.dtype.itemsize <= 2
    return result.astype(np.complex64 if is_short else np.complex128)


def place_on_line(k: int, length: int, size: int) -> int:
    place = k + length if k < 0 else k
    if size != 0 and (place < 0 or place >= length):
        raise ValueError(f"kth(={place}) out of bounds ({length})")
    return place


def places_of(kth: Any, length: int, size: int) -> Any:
    """The indices that `kth` names on lines of a length, in ascending order."""
    if isinstance(kth, (int, np.integer)) and not isinstance(kth, bool):
        return (place_on_line(int(np.int64(kth) if isinstance(kth, np.integer) else kth), length, size),)
    given = np.asarray(kth)
    if given.dtype.kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if given.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    if given.ndim > 1:
        raise ValueError("object too deep for desired array")
    places = np.ravel(given).astype(np.int64)
    for k in range(len(places)):
        places[k] = place_on_line(int(places[k]), length, size)
    places.sort()
    return places


def limits_of(dtype: Any) -> tuple[Any, Any]:
    """What no element is below, and none but NaN above."""
    if dtype.kind == "f":
        return dtype.type(-np.inf), dtype.type(np.inf)
    if dtype.kind == "b":
        return False, True
    return dtype.type(np.iinfo(dtype).min), dtype.type(np.iinfo(dtype).max)


def dealt(keys: Any, elements: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """The elements whose keys are below `low`, those up to `high`, and the others."""
    below = np.empty_like(elements)
    between = np.empty_like(elements)
    above = np.empty_like(elements)
    i = 0
    j = 0
    k = 0
    for at in range(len(keys)):
        if keys[at] < low:
            below[i] = elements[at]
            i += 1
        elif keys[at] <= high:
            between[j] = elements[at]
            j += 1
        else:
            above[k] = elements[at]
            k += 1
    return below[:i], between[:j], above[:k]


def place_one(moved: Any, elements: Any, line: Any, begin: int, k: int) -> None:
    """Puts elements into `moved` from `begin` on, so that the one at k is as if all were sorted: the elements of a
    line, or the indices of the line's.

    The method of Floyd and Rivest: two elements of a sample enclose the one that is sought, most likely, and little else.
    """
    keys = elements if line is None else line if begin == 0 else line[elements]
    least, most = limits_of(keys.dtype)
    end = begin + len(elements)
    size = len(elements) + 1
    while end - begin > 2048 and size > end - begin:
        size = (end - begin) // 2
        sample = primitives.sort(keys[:: size // 256].copy(), 0, False)
        place = (k - begin) * len(sample) // len(keys)
        margin = len(sample) // 20
        low = sample[place - margin] if place >= margin else least
        high = sample[place + margin] if place + margin < len(sample) else most
        below, between, above = dealt(keys, elements, low, high)
        first = begin + len(below)
        last = first + len(between)
        moved[begin:first] = below
        moved[first:last] = between
        moved[last:end] = above
        if k < first:
            end = first
        elif k >= last:
            begin = last
        elif low == high:
            return
        else:
            begin = first
            end = last
        elements = moved[begin:end]
        keys = elements if line is None else line[elements]
    if line is None:
        moved[begin:end] = primitives.sort(elements, 0, False)
    else:
        moved[begin:end] = elements[primitives.argsort(keys, 0, False)]


def partitioned(a: Any, kth: Any, axis: Any, kind: Any, order: Any, is_order: bool) -> Any:
    if not isinstance(kind, str):
        raise TypeError(f"select kind must be str, not {type(kind).__name__}")
    if kind.lower() != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    need_no_fields(order)
    x, along = line_and_axis(np.asarray(a), axis)
    length = x.shape[along]
    places = places_of(kth, length, x.size)
    result = np.empty(x.shape, np.int64) if is_order else np.empty_like(x)
    if length <= 2048 or len(places) == 0 or len(places) > 8 or x.dtype.kind == "c":
        result[...] = primitives.argsort(x, along, False) if is_order else primitives.sort(x, along, False)
    else:
        lines = np.moveaxis(x, along, -1)
        rows = np.reshape(lines, (product(lines.shape[:-1]), length))
        moved = np.empty(rows.shape, result.dtype)
        for i in range(rows.shape[0]):
            elements = np.arange(length) if is_order else rows[i]
            begin = 0
            for k in places:
                place_one(moved[i], elements[begin:], rows[i] if is_order else None, begin, k)
                elements = moved[i]
                begin = k
        np.moveaxis(result, along, -1)[...] = primitives.reshape(moved, lines.shape)
    return result


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    return partitioned(a, kth, axis, kind, order, False)


@implements(np.ndarray.partition)
def partition_in_place(a: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    a[...] = partitioned(a, kth, axis, kind, order, False)


@implements(np.argpartition, np.ndarray.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    x = np.asarray(a)
    need_no_bool(axis)
    return partitioned(x if x.ndim > 0 else ravel(x), kth, axis, kind, order, True)


def first_place(ufunc: Any, x: Any) -> Any:
    """The first index of the extreme of a line, or of NaN."""
    if primitives.on_device():
        extreme = primitives.reduce(ufunc, x, (0,))
        is_it = x == extreme if x.dtype.kind != "f" else (x == extreme) | (x != x)
        return primitives.reduce(np.minimum, np.where(is_it, np.arange(len(x)), len(x)), (0,))
    some = 1024
    extreme = x[0]
    begin = 0
    for start in range(0, len(x), some):
        of_part = primitives.reduce(ufunc, x[start : start + some], (0,))
        # Nothing is greater or less than NaN.
        if (of_part > extreme) if ufunc is np.maximum else (of_part < extreme):
            extreme = of_part
            begin = start
        if of_part != of_part:
            extreme = of_part
            begin = start
            break
    part = x[begin : begin + some]
    is_it = part != part if extreme != extreme else part == extreme
    return np.int64(begin) + np.min(np.where(is_it, np.arange(len(part)), some))


SHORT_ROW = 32
"""Rows of up to this length are iterated over in order: vectors of them would be mostly mask."""


def places_in_rows(ufunc: Any, x: Any) -> Any:
    """The first indices of the extremes, or of NaN, along the last axis."""
    axis = x.ndim - 1
    length = x.shape[axis]
    extremes = np.asarray(primitives.reduce(ufunc, x, (axis,)))[..., None]
    is_it = x == extremes
    if x.dtype.kind == "f":
        is_it = is_it | ((x != x) & (extremes != extremes))
    return primitives.reduce(np.minimum, np.where(is_it, np.arange(length), length), (axis,))


def place_of_extreme(find: Any, name: str, a: Any, axis: Any, out: Any, keepdims: bool) -> Any:
    x = np.asarray(a)
    ufunc = np.maximum if name == "argmax" else np.minimum
    if out is not None:
        need_castable(out.dtype, np.dtype(np.int64), "safe")
    if axis is None:
        if x.size == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        if x.ndim > 0 and x.dtype.kind in "iuf":
            line = np.ravel(x)
            place = first_place(ufunc, line)
        else:
            place = find(x, None) if x.ndim > 0 else np.int64(0)
        if out is None and (not keepdims or x.ndim == 0):
            return place
        result = np.full(tuple([1 for _ in range(x.ndim)]) if keepdims else (), place)
        return into(out, result)
    need_no_bool(axis)
    along = normal_axis(axis, max(x.ndim, 1))
    if x.ndim == 0:
        return np.int64(0)
    if x.shape[along] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if along == x.ndim - 1 and x.ndim > 1 and x.dtype.kind in "iuf" and x.shape[along] > SHORT_ROW:
        places = places_in_rows(ufunc, x)
    else:
        places = find(x, along)
    if keepdims:
        places = np.expand_dims(places, along)
    return places if out is None else into(out, np.asarray(places))


@implements(np.argmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    return place_of_extreme(primitives.argmax, "argmax", a, axis, out, keepdims)


@implements(np.argmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    return place_of_extreme(primitives.argmin, "argmin", a, axis, out, keepdims)


@implements(np.ndarray.argmax)
def argmax_method(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    return argmax(a, axis, out, keepdims=keepdims)


@implements(np.ndarray.argmin)
def argmin_method(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    return argmin(a, axis, out, keepdims=keepdims)


def without_nan(a: Any, axis: Any, least: float) -> Any:
    """NaN replaced by a number that is no extreme."""
    x = np.asarray(a)
    if x.dtype.kind not in "fc":
        return x
    unknown = np.isnan(x)
    if x.size > 0 and np.any(np.all(unknown, axis=axis)):
        raise ValueError("All-NaN slice encountered")
    return np.where(unknown, x.dtype.type(least), x)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    return argmax(without_nan(a, axis, -np.inf), axis, out, keepdims=keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    return argmin(without_nan(a, axis, np.inf), axis, out, keepdims=keepdims)


def starts_of_runs(x: Any, equal_nan: bool) -> Any:
    """Where other elements than the one before begin, in a sorted line."""
    differs = x[1:] != x[:-1]
    if equal_nan and x.dtype.kind in "fc":
        differs = differs & ~(np.isnan(x[1:]) & np.isnan(x[:-1]))
    starts = np.ones(len(x), np.bool)
    starts[1:] = differs
    return starts


def order_of_rows(rows: Any) -> Any:
    """The stable order of the rows of a matrix by their elements from the left."""
    order = np.arange(rows.shape[0])
    for k in range(rows.shape[1]):
        column = rows[:, rows.shape[1] - 1 - k]
        order = order[primitives.argsort(column[order], 0, True)]
    return order


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    ar = np.asarray(ar)
    if axis is not None:
        axis = normal_axis(axis, ar.ndim)
    if axis is None or ar.ndim == 1:
        x = ravel(ar)
        if not return_index and not return_inverse:
            in_order = primitives.sort(x, 0, False)
        else:
            order = primitives.argsort(x, 0, True)
            in_order = x[order]
        starts = starts_of_runs(in_order, equal_nan)
        kept = in_order[starts]
        if x.dtype.kind == "c" and equal_nan and not return_index and not return_inverse and not return_counts:
            is_nan = np.isnan(x)
            if np.any(is_nan):
                kept[-1] = x[np.argmax(is_nan)]
    else:
        x = np.moveaxis(ar, axis, 0)
        rows = np.reshape(x, (x.shape[0], product(x.shape[1:])))
        order = order_of_rows(rows)
        in_order = rows[order]
        starts = np.ones(len(in_order), np.bool)
        starts[1:] = np.any(in_order[1:] != in_order[:-1], axis=1)
        places = np.flatnonzero(starts)
        kept = np.moveaxis(np.reshape(in_order[places], (len(places), *x.shape[1:])), 0, axis)
    results = [kept]
    if return_index:
        results.append(order[starts])
    if return_inverse:
        inverse = np.empty(len(in_order), np.int64)
        inverse[order] = np.cumsum(starts) - 1
        results.append(np.reshape(inverse, ar.shape) if axis is None or ar.ndim == 1 else inverse)
    if return_counts:
        places = np.append(np.flatnonzero(starts), len(in_order))
        results.append(places[1:] - places[:-1])
    return results[0] if len(results) == 1 else tuple(results)


@implements(np.unique_all)
def unique_all(x: Any) -> Any:
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: Any) -> Any:
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> Any:
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    return unique(x, equal_nan=False)


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(concatenate((ar1, ar2), None))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    first = ravel(ar1)
    second = ravel(ar2)
    if not assume_unique:
        if return_indices:
            first, first_places = unique(first, return_index=True)
            second, second_places = unique(second, return_index=True)
        else:
            first = unique(first)
            second = unique(second)
    both = concatenate((first, second))
    if not return_indices:
        both = primitives.sort(both, 0, False)
        return both[:-1][both[1:] == both[:-1]]
    order = primitives.argsort(both, 0, True)
    both = both[order]
    is_common = both[1:] == both[:-1]
    left = order[:-1][is_common]
    right = order[1:][is_common] - len(first)
    if not assume_unique:
        left = first_places[left]
        right = second_places[right]
    return both[:-1][is_common], left, right


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first = np.asarray(ar1) if assume_unique else unique(ar1)
    second = np.asarray(ar2) if assume_unique else unique(ar2)
    both = concatenate((first, second), None)
    if len(both) == 0:
        return both
    both = primitives.sort(both, 0, False)
    differs = np.ones(len(both) + 1, np.bool)
    differs[1:-1] = both[1:] != both[:-1]
    return both[differs[1:] & differs[:-1]]


def is_in_table(x: Any, numbers: Any, low: Any, high: Any) -> Any:
    table = np.zeros(int(high - low) + 1, np.bool)
    table[numbers - low] = True
    inside = (x >= low) & (x <= high)
    return inside & table[np.where(inside, x - low, 0)]


@implements(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
    x = np.asarray(element)
    tested = ravel(test_elements)
    dtype = np.result_type(x, tested)
    if x.dtype.kind in "bi" and tested.dtype.kind in "bi" and tested.size > 0:
        numbers = tested.astype(np.int64)
        low = np.min(numbers)
        high = np.max(numbers)
        # A table, unless the numbers are far apart; the difference may leave 64 bits.
        if high / 2 - low / 2 <= 3 * (x.size + tested.size):
            found = is_in_table(ravel(x).astype(np.int64), numbers, low, high) != invert
            return primitives.reshape(found, x.shape)
    known = primitives.sort(tested.astype(dtype), 0, False)
    wanted = ravel(x).astype(dtype)
    result = np.empty(len(wanted), np.bool)
    for k in range(len(wanted)):
        place = insertion_point(known, wanted[k], False, 0, len(known))
        result[k] = (place < len(known) and known[min(place, len(known) - 1)] == wanted[k]) != invert
    return primitives.reshape(result, x.shape)


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first = ravel(ar1) if assume_unique else unique(ar1)
    return first[isin(first, ar2, invert=True)]
