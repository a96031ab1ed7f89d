"""Functions that choose elements of arrays by indices and conditions."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .reductions import NoValue
from .registry import implements
from .shapes import fits, need_castable, need_no_bool, normal_axis, product, put_cyclically, ravel, write_flat


def in_mode(indices: Any, length: int, mode: str) -> Any:
    """Indices as np.take's `mode` interprets them; those that it does not map are checked separately."""
    if mode == "wrap":
        return indices % length
    if mode == "clip":
        return np.minimum(np.maximum(indices, 0), length - 1)
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    return indices


def into(out: Any, result: Any) -> Any:
    """A result, put into the array for it if there is one."""
    if out is None:
        return result
    need_shape(out, result.shape)
    out[...] = result
    return out


def need_shape(out: Any, shape: tuple[int, ...]) -> None:
    if out.shape != shape:
        raise ValueError("output array does not match result of ndarray.take")


def line_or_axis(a: Any, axis: Any) -> Any:
    """An array and an axis of it: all elements in one line where none is named, or there is none."""
    need_no_bool(axis)
    if axis is None or (a.ndim == 0 and (axis == 0 or axis == -1)):
        return ravel(a), 0
    return a, normal_axis(axis, max(a.ndim, 1))


@implements(np.take, np.ndarray.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    a, axis = line_or_axis(np.asarray(a), axis)
    chosen = np.asarray(indices)
    if isinstance(indices, np.ndarray):
        need_castable(chosen.dtype, np.dtype(np.int64), "same_kind")
    chosen = chosen.astype(np.int64)
    if out is not None:
        need_shape(out, (*a.shape[:axis], *chosen.shape, *a.shape[axis + 1 :]))
    if a.shape[axis] == 0 and chosen.size > 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    chosen = in_mode(chosen, a.shape[axis], mode)
    if out is not None:
        need_castable(out.dtype, a.dtype, "safe")
    part = a[(*[slice(None) for _ in range(axis)], chosen[()] if chosen.ndim == 0 else chosen)]
    if out is not None:
        return into(out, part)
    return np.copy(part, "C") if isinstance(part, np.ndarray) else part


def along_axis(arr: Any, indices: Any, axis: int) -> Any:
    """The index that names, for each of `indices` along an axis, the element there in the same line."""
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if indices.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return tuple(
        [indices if k == axis else np.reshape(np.arange(arr.shape[k]), tuple([-1 if other == k else 1 for other in range(arr.ndim)])) for k in range(arr.ndim)]
    )


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return ravel(arr)[along_axis(ravel(arr), indices, 0)]
    return arr[along_axis(arr, indices, normal_axis(axis, arr.ndim))]


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        put_flat(arr, indices, values)
    else:
        arr[along_axis(arr, indices, normal_axis(axis, arr.ndim))] = values


def put_flat(arr: Any, indices: Any, values: Any) -> None:
    def write(flat: Any) -> None:
        flat[indices] = values

    write_flat(arr, write)


@implements(np.put, np.ndarray.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if isinstance(a, np.generic):
        a = np.asarray(a)
    if not isinstance(a, np.ndarray):
        raise TypeError(f"argument 1 must be numpy.ndarray, not {type(a)!r}")
    if isinstance(ind, np.ndarray):
        need_castable(ind.dtype, np.dtype(np.int64), "safe")
    primitives.need_writable(a, "put: output array is read-only")
    places = ravel(ind).astype(np.int64)
    size = a.size
    if size == 0 and len(places) > 0:
        raise IndexError("cannot replace elements of an empty array")
    if np.size(v) == 0:
        return
    if mode == "raise":
        for place in places:
            if place < -size or place >= size:
                raise IndexError(f"index {place} is out of bounds for axis 0 with size {size}")
    write_flat(a, lambda flat: put_cyclically(flat, in_mode(places, size, mode), v))


@implements(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    if not isinstance(a, np.ndarray):
        raise TypeError("putmask: first argument must be an array")
    chosen = np.asarray(mask).astype(np.bool)
    primitives.need_writable(a, "putmask: output array is read-only")
    if chosen.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    given = ravel(values)

    def write(flat: Any) -> None:
        flags = ravel(chosen)
        new = given.astype(a.dtype)
        for k in range(len(flat)):
            if flags[k]:
                flat[k] = new[k % len(new)]

    if given.size > 0:
        write_flat(a, write)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    if not isinstance(arr, np.ndarray):
        raise TypeError(f"place() argument 1 must be numpy.ndarray, not {type(arr).__name__}")
    chosen = np.asarray(mask).astype(np.bool)
    primitives.need_writable(arr, "WRITEBACKIFCOPY base is read-only")
    if chosen.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    given = ravel(vals)
    if isinstance(vals, (np.ndarray, np.generic)):
        need_castable(given.dtype, arr.dtype, "safe")

    def write(flat: Any) -> None:
        flags = ravel(chosen)
        new = given.astype(arr.dtype)
        count = 0
        for k in range(len(flat)):
            if flags[k]:
                if len(new) == 0:
                    raise ValueError("Cannot insert from an empty array!")
                flat[k] = new[count]
                count = count + 1
                if count == len(new):
                    count = 0

    write_flat(arr, write)


@implements(np.mask_indices)
def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[Any, ...]:
    return nonzero(mask_func(np.ones((n, n), int), k) != 0)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return chosen_of(ravel(arr), 0, ravel(condition) != 0)


def chosen_of(a: Any, axis: int, flags: Any) -> Any:
    """The parts of an array along an axis whose flags, of which there may be fewer or more, are set."""
    before = (*[slice(None) for _ in range(axis)],)
    if len(flags) == a.shape[axis]:
        return a[(*before, flags)]
    if a.shape[axis] == 0 and np.any(flags):
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return a[(*before, np.flatnonzero(flags))]


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    flags = np.asarray(condition)
    if flags.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if out is not None:
        return take(a, flatnonzero(flags), axis, out)
    array, along = line_or_axis(np.asarray(a), axis)
    return np.copy(chosen_of(array, along, flags != 0), "C")


@implements(np.ndarray.compress)
def compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return compress(condition, a, axis, out)


@implements(np.nonzero, np.ndarray.nonzero)
def nonzero(a: Any) -> tuple[Any, ...]:
    a = np.asarray(a)
    if a.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    places = np.arange(a.size)[ravel(a) != 0]
    if a.ndim == 1:
        return (places,)
    found = []
    for k in range(a.ndim - 1, 0, -1):
        length = max(a.shape[k], 1)
        found.append(places % length)
        places = places // length
    return (places, *found[::-1])


@implements(np.where)
def where(condition: Any, x: Any = NoValue, y: Any = NoValue, /) -> Any:
    if x is NoValue and y is NoValue:
        return nonzero(condition)
    if x is NoValue or y is NoValue:
        raise ValueError("either both or neither of x and y should be given")
    if x is None or y is None:
        primitives.refuse("np.where of None", "give numbers or arrays")
    given = [np.asarray(part) if isinstance(part, (list, tuple)) else part for part in (condition, x, y)]
    return primitives.select(given[0], given[1], given[2])


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    a = np.asarray(a)
    if a.ndim == 0:
        return np.zeros((int(np.count_nonzero(a)), 0), np.int64)
    return np.stack(nonzero(a)).T


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return nonzero(ravel(a))[0]


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    index = np.asarray(a)
    if isinstance(a, np.ndarray):
        need_castable(index.dtype, np.dtype(np.int64), "safe")
    index = index.astype(np.int64)
    if isinstance(choices, np.ndarray):
        primitives.refuse("np.choose of an array of choices", "give it a list of arrays")
    dtype = np.result_type(*[np.asarray(x) if isinstance(x, (list, tuple)) else x for x in choices])
    given = [np.asarray(choice) for choice in choices]
    shape = np.broadcast_shapes(index.shape, *[choice.shape for choice in given])
    if mode == "raise":
        if np.any((index < 0) | (index >= len(given))):
            raise ValueError("invalid entry in choice array")
    else:
        index = in_mode(index, len(given), mode)
    index = np.broadcast_to(index, shape)
    result = np.broadcast_to(given[0], shape).astype(dtype)
    for k in range(1, len(given)):
        result = np.where(index == k, np.broadcast_to(given[k], shape).astype(dtype), result)
    if out is None:
        return result[()] if len(shape) == 0 else np.copy(result, "C")
    return into(out, result)


@implements(np.ndarray.choose)
def choose_method(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    return choose(a, choices, out, mode)


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    choicelist = [np.asarray(x) if isinstance(x, (list, tuple)) else x for x in choicelist]
    dtype = np.result_type(*choicelist, default)
    for k in range(len(condlist)):
        if np.asarray(condlist[k]).dtype != np.bool:
            raise TypeError(f"invalid entry {k} in condlist: should be boolean ndarray")
    shape = np.broadcast_shapes(*[np.shape(x) for x in condlist], *[np.shape(x) for x in choicelist])
    result = np.broadcast_to(np.asarray(default).astype(dtype), shape)
    for k in reversed(range(len(condlist))):
        result = np.where(condlist[k], np.asarray(choicelist[k]).astype(dtype), result)
    return np.broadcast_to(result, shape).copy()


def comes_before(x: Any, y: Any) -> Any:
    """Whether x is sorted before y: NaN comes last, in the real part after one in the imaginary part alone."""
    if x.dtype.kind == "c":
        if (x.real == x.real) != (y.real == y.real):
            return x.real == x.real
        if (x.imag == x.imag) != (y.imag == y.imag):
            return x.imag == x.imag
        return x.real < y.real or (not y.real < x.real and x.imag < y.imag)
    if x.dtype.kind == "f":
        return x < y or (y != y and x == x)
    return x < y


def is_before(x: Any, y: Any, right: bool) -> Any:
    """Whether y is inserted after x: on the right also where they are equal."""
    return not comes_before(y, x) if right else comes_before(x, y)


def insertion_point(a: Any, value: Any, right: bool, low: int, high: int) -> int:
    """The index between two others of a sorted array where a value belongs."""
    while low < high:
        middle = (low + high) // 2
        if is_before(a[middle], value, right):
            low = middle + 1
        else:
            high = middle
    return low


@implements(np.searchsorted, np.ndarray.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    a = np.asarray(a)
    if a.ndim != 1:
        raise ValueError("object too deep for desired array" if a.ndim > 1 else "object of too small depth for desired array")
    if side != "left" and side != "right":
        raise ValueError(f"search side must be 'left' or 'right' (got '{side}')")
    values = np.asarray(v)
    dtype = np.result_type(a, values)
    values = values.astype(dtype, copy=False)
    if sorter is not None:
        order = np.asarray(sorter)
        if len(order) != len(a):
            raise ValueError("sorter.size must equal a.size")
        if np.any((order < 0) | (order >= len(a))):
            raise ValueError("Sorter index out of range.")
        a = a[order]
    a = a.astype(dtype, copy=False)
    right = side == "right"
    if values.ndim == 0:
        return np.int64(insertion_point(a, values[()], right, 0, len(a)))
    wanted = ravel(values)
    result = np.empty(len(wanted), np.int64)
    # As NumPy, each search begins where the one before ended, which what is found in arrays out of order depends on.
    low = 0
    high = len(a)
    for k in range(len(wanted)):
        if k > 0 and is_before(wanted[k - 1], wanted[k], right):
            high = len(a)
        else:
            low = 0
            high = min(high + 1, len(a))
        low = insertion_point(a, wanted[k], right, low, high)
        high = low
        result[k] = low
    return primitives.reshape(result, values.shape)


def order_of_edges(edges: Any) -> int:
    """1 where numbers never fall, -1 where they never rise, else 0: NaN is neither above nor below."""
    k = 1
    while k < len(edges) and edges[k] == edges[0]:
        k += 1
    if k >= len(edges):
        return 1
    rises = edges[k - 1] < edges[k]
    for i in range(k + 1, len(edges)):
        if edges[i - 1] > edges[i] if rises else edges[i - 1] < edges[i]:
            return 0
    return 1 if rises else -1


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    x = np.asarray(x)
    bins = np.asarray(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    need_castable(bins.dtype, np.dtype(np.float64), "safe")
    order = order_of_edges(ravel(bins).astype(np.float64))
    if order == 0:
        raise ValueError("bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    if order > 0:
        return searchsorted(bins, x, side)
    return len(bins) - searchsorted(bins[::-1], x, side)


@implements(np.ufunc.at)
def at(ufunc: Any, a: Any, indices: Any, b: Any = None, /) -> None:
    if not isinstance(a, np.ndarray):
        raise TypeError("first operand must be array")
    given = None if b is None else np.asarray(b)
    primitives.loop(ufunc, (a,) if b is None else (a, given), (), method="at")
    places = np.reshape(np.arange(a.size), a.shape)[indices]
    wanted = ravel(places)
    if b is None:
        primitives.need_writable(a, "operand array with iterator write flag set is read-only")

        def change(flat: Any) -> None:
            for place in wanted:
                flat[place] = ufunc(flat[place]).astype(a.dtype)

        write_flat(a, change)
    else:
        shape = np.shape(places)
        if not fits(given.shape, shape):
            raise ValueError("array is not broadcastable to correct shape")
        primitives.need_writable(a, "operand array with iterator write flag set is read-only")
        values = ravel(np.broadcast_to(given, shape))

        def write(flat: Any) -> None:
            for k in range(len(wanted)):
                flat[wanted[k]] = ufunc(flat[wanted[k]], values[k]).astype(a.dtype)

        write_flat(a, write)


def at_number(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of an element by its number in C order."""
    place: tuple[int, ...] = ()
    for length in shape[::-1]:
        place = (number % length, *place)
        number = number // length
    return place


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    given = np.asarray(indices)
    if given.dtype.kind not in "biu":
        raise TypeError("only int indices permitted")
    size = product(lengths)
    number = given.astype(np.int64)
    rest = number[()] if given.ndim == 0 else number
    if given.ndim == 0:
        if rest < 0 or rest >= size:
            raise ValueError(f"index {rest} is out of bounds for array with size {size}")
    else:
        for one in ravel(number):
            if one < 0 or one >= size:
                raise ValueError(f"index {one} is out of bounds for array with size {size}")
    places: list[Any] = []
    for k in range(len(lengths)):
        if order == "C":
            length = lengths[len(lengths) - 1 - k]
            places.insert(0, rest % length)
        else:
            length = lengths[k]
            places.append(rest % length)
        rest = rest // length
    return tuple(places)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    lengths = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    if isinstance(multi_index, np.ndarray):
        if len(multi_index) != len(lengths):
            raise ValueError("parameter multi_index must be a sequence of length " + str(len(lengths)))
        given = [multi_index[k] for k in range(len(lengths))]
    else:
        given = [np.asarray(index) for index in multi_index]
    if len(given) != len(lengths):
        raise ValueError("parameter multi_index must be a sequence of length " + str(len(lengths)))
    for index in given:
        if index.dtype.kind not in "biu":
            raise TypeError("only int indices permitted")
    result = np.int64(0)
    for place in range(len(lengths)):
        k = place if order == "C" else len(lengths) - 1 - place
        how = mode[k] if isinstance(mode, tuple) else mode
        index = given[k].astype(np.int64)
        if how == "raise":
            if np.any((index < 0) | (index >= lengths[k])):
                raise ValueError("invalid entry in coordinates array")
        result = result * lengths[k] + in_mode(index, lengths[k], how)
    return result
