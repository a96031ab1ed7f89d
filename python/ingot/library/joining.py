"""Arrays joined, repeated and split."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import primitives
from .indexing import line_or_axis
from .reductions import NoValue
from .registry import implements
from .shapes import at_least, is_fortran, is_known_fortran, need_castable, need_no_bool, normal_axes, normal_axis, product, ravel


def joined(arrays: list[Any], axis: int, out: Any, dtype: Any, casting: str) -> Any:
    """Arrays one after the other along an axis."""
    if len(arrays) == 0:
        raise ValueError("need at least one array to concatenate")
    if not primitives.is_known(len(arrays)):
        return joined_list(arrays, axis, out, dtype, casting)
    ndim = arrays[0].ndim
    if ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normal_axis(axis, ndim)
    for number in range(1, len(arrays)):
        if arrays[number].ndim != ndim:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at index 0 has "
                f"{ndim} dimension(s) and the array at index {number} has {arrays[number].ndim} dimension(s)"
            )
        for k in range(ndim):
            if k != axis and arrays[number].shape[k] != arrays[0].shape[k]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"dimension {k}, the array at index 0 has size {arrays[0].shape[k]} and the array at index "
                    f"{number} has size {arrays[number].shape[k]}"
                )
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    common = out.dtype if out is not None else np.result_type(*arrays) if dtype is None else np.dtype(dtype)
    for array in arrays:
        need_castable(array.dtype, common, casting)
    if out is None:
        if len(arrays) == 1:
            return arrays[0].astype(common)
        return primitives.concat([array.astype(common) for array in arrays], axis)
    length = 0
    for array in arrays:
        length += array.shape[axis]
    need_shape(out, (*arrays[0].shape[:axis], length, *arrays[0].shape[axis + 1 :]))
    put_end_to_end(out, arrays, axis)
    return out


def need_shape(out: Any, shape: tuple[int, ...]) -> None:
    if out.shape != shape:
        raise ValueError("Output array is the wrong shape")


def put_end_to_end(result: Any, arrays: Any, axis: int) -> None:
    """Puts arrays after each other into one, which may be what they are parts of: each is read when those before are there."""
    along = np.moveaxis(result, axis, 0)
    place = 0
    for array in arrays:
        part = np.moveaxis(array, axis, 0)
        along[place : place + len(part)] = part.astype(result.dtype)
        place += len(part)


def joined_list(arrays: list[Any], axis: int, out: Any, dtype: Any, casting: str) -> Any:
    """The same of a list of unknown length, whose arrays have one dtype and as many axes."""
    first = arrays[0]
    ndim = first.ndim
    if ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normal_axis(axis, ndim)
    length = 0
    for number in range(len(arrays)):
        for k in range(ndim):
            if k != axis and arrays[number].shape[k] != first.shape[k]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"dimension {k}, the array at index 0 has size {first.shape[k]} and the array at index "
                    f"{number} has size {arrays[number].shape[k]}"
                )
        length += arrays[number].shape[axis]
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    common = out.dtype if out is not None else first.dtype if dtype is None else np.dtype(dtype)
    need_castable(first.dtype, common, casting)
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
    if out is not None:
        need_shape(out, shape)
    result = np.empty(shape, common) if out is None else out
    put_end_to_end(result, arrays, axis)
    return result


def merged(a: Any, axis: int) -> Any:
    """The parts of an array along its first axis, one after the other along an axis of theirs."""
    place = normal_axis(axis, a.ndim - 1)
    apart = np.moveaxis(a, 0, place)
    return np.reshape(apart, (*apart.shape[:place], apart.shape[place] * apart.shape[place + 1], *apart.shape[place + 2 :]))


@implements(np.concatenate)
def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    if axis is not None:
        need_no_bool(axis)
        axis = operator.index(axis)
    if isinstance(arrays, np.ndarray):
        if arrays.ndim < 1:
            raise TypeError("The first input argument needs to be a sequence")
        need_parts(arrays, "concatenate")
        if arrays.ndim < 2 and axis is not None:
            raise ValueError("zero-dimensional arrays cannot be concatenated")
        parts = [ravel(arrays) if axis is None else merged(arrays, axis)]
    elif axis is None:
        if out is None and dtype is None and len(arrays) > 0 and primitives.is_known(len(arrays)):
            dtype = np.result_type(*[np.asarray(x) if isinstance(x, (list, tuple)) else x for x in arrays])
        parts = [ravel(array) for array in arrays]
    else:
        parts = [np.asarray(array) for array in arrays]
    return joined(parts, 0 if axis is None else axis, out, dtype, casting)


def need_parts(arrays: Any, name: str) -> None:
    """Raises where an array that stands for its parts has none."""
    if len(arrays) == 0:
        raise ValueError(f"need at least one array to {name}")


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    if isinstance(arrays, np.ndarray):
        need_parts(arrays, "stack")
        return joined([np.moveaxis(arrays, 0, axis)], 0, out, dtype, casting)
    parts = [np.asarray(array) for array in arrays]
    if len(parts) == 0:
        raise ValueError("need at least one array to stack")
    for part in parts:
        if part.shape != parts[0].shape:
            raise ValueError("all input arrays must have the same shape")
    place = normal_axis(axis, parts[0].ndim + 1)
    return joined([np.expand_dims(part, place) for part in parts], place, out, dtype, casting)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    if isinstance(tup, np.ndarray):
        need_parts(tup, "concatenate")
        return joined([tup[:, None] if tup.ndim == 1 else tup if tup.ndim == 2 else merged(tup, 0)], 0, None, dtype, casting)
    return joined([at_least(part, 2) for part in tup], 0, None, dtype, casting)


if hasattr(np, "row_stack"):  # until NumPy 2.4

    @implements(np.row_stack)
    def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
        return vstack(tup, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    if isinstance(tup, np.ndarray):
        need_parts(tup, "concatenate")
        parts = [tup if tup.ndim == 1 else merged(tup, 0 if tup.ndim == 2 else 1)]
    else:
        parts = [at_least(part, 1) for part in tup]
    if not primitives.is_known(len(parts)):
        if len(parts) == 0:
            raise ValueError("need at least one array to concatenate")
        return joined(parts, 0 if parts[0].ndim == 1 else 1, None, dtype, casting)
    axis = 0 if len(parts) > 0 and parts[0].ndim == 1 else 1
    return joined(parts, axis, None, dtype, casting)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    return joined([at_least(part, 3) for part in tup], 2, None, None, "same_kind")


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    arrays = [np.asarray(part) for part in tup]
    return joined([at_least(x, 2).T if x.ndim < 2 else x for x in arrays], 1, None, None, "same_kind")


def depth_of(blocks: Any) -> int:
    """How deep lists are nested."""
    if isinstance(blocks, tuple):
        raise TypeError("arrays is a tuple. Only lists can be used to arrange blocks, and np.block does not allow implicit conversion from tuple to ndarray.")
    if not isinstance(blocks, list):
        return 0
    if len(blocks) == 0:
        raise ValueError("List at arrays[0] cannot be empty")
    return 1 + depth_of(blocks[0])


def most_axes(blocks: Any) -> int:
    if isinstance(blocks, list):
        return max([most_axes(block) for block in blocks])
    return np.ndim(blocks)


def leaves_of(blocks: Any, ndim: int) -> list[Any]:
    """The arrays in nested lists, one after the other, with so many axes."""
    if isinstance(blocks, list):
        return [leaf for block in blocks for leaf in leaves_of(block, ndim)]
    part = np.asarray(blocks)
    return [part[(*[None for _ in range(ndim - part.ndim)], ...)]]


def shape_of(blocks: Any, depth: int, ndim: int) -> tuple[int, ...]:
    """The shape of what nested lists of blocks make; raises as joining them raises."""
    if depth == 0:
        shape = np.shape(blocks)
        return (*[1 for _ in range(ndim - len(shape))], *shape)
    axis = ndim - depth
    shapes = [shape_of(block, depth - 1, ndim) for block in blocks]
    for k in range(1, len(shapes)):
        for i in range(ndim):
            if i != axis and shapes[k][i] != shapes[0][i]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, "
                    f"but along dimension {i}, the array at index 0 has size {shapes[0][i]} and the array at index {k} has size {shapes[k][i]}"
                )
    total = 0
    for shape in shapes:
        total = total + shape[axis]
    return tuple([total if i == axis else shapes[0][i] for i in range(ndim)])


def put_blocks(out: Any, blocks: Any, depth: int, ndim: int) -> None:
    if depth == 0:
        out[...] = leaves_of(blocks, ndim)[0]
        return
    axis = ndim - depth
    start = 0
    for block in blocks:
        stop = start + shape_of(block, depth - 1, ndim)[axis]
        put_blocks(part_of(out, axis, start, stop), block, depth - 1, ndim)
        start = stop


@implements(np.block)
def block(arrays: Any) -> Any:
    depth = depth_of(arrays)
    ndim = max(depth, most_axes(arrays))
    leaves = leaves_of(arrays, ndim)
    if depth == 0:
        return np.copy(leaves[0])
    shape = shape_of(arrays, depth, ndim)
    dtype = np.result_type(*leaves)
    if all([is_known_fortran(leaf) for leaf in leaves]):
        result = np.empty(shape[::-1], dtype).T
    else:
        result = np.empty(shape, dtype)
    put_blocks(result, arrays, depth, ndim)
    return result


def part_of(a: Any, axis: int, start: Any, stop: Any, step: Any = None) -> Any:
    """A slice along an axis."""
    return a[(*[slice(None) for _ in range(axis)], slice(start, stop, step), ...)]


def split_at(a: Any, places: Any, axis: int) -> list[Any]:
    """The parts of an array along an axis between indices, whose number may not be known."""
    if places.ndim > 1:
        raise TypeError("only integer scalar arrays can be converted to a scalar index")
    parts = []
    start = 0
    for place in places:
        stop = operator.index(place)
        parts.append(part_of(a, axis, start, stop))
        start = stop
    parts.append(part_of(a, axis, start, a.shape[axis]))
    return parts


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    if isinstance(ary, (bool, int, float, complex)) and not isinstance(ary, np.generic):
        raise TypeError(f"object of type '{type(ary).__name__}' has no len()")
    a = np.asarray(ary)
    if axis >= a.ndim or axis < -a.ndim:
        raise IndexError("tuple index out of range")
    axis = normal_axis(axis, a.ndim)
    length = a.shape[axis]
    if isinstance(indices_or_sections, np.ndarray) and indices_or_sections.ndim > 0:
        return split_at(a, indices_or_sections, axis)
    if isinstance(indices_or_sections, (list, tuple)):
        points = [0, *indices_or_sections, length]
    else:
        count = int(indices_or_sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        points = [k * (length // count) + min(k, length % count) for k in range(count + 1)]
    return [part_of(a, axis, points[k], points[k + 1]) for k in range(len(points) - 1)]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    is_number = np.ndim(indices_or_sections) == 0
    if is_number and not isinstance(ary, (np.ndarray, np.generic)):
        raise AttributeError(f"'{type(ary).__name__}' object has no attribute 'shape'")
    if is_number and ary.shape[axis] % indices_or_sections != 0:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    a = np.asarray(ary)
    if a.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(a, indices_or_sections, 1 if a.ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    a = np.asarray(ary)
    if a.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(a, indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    a = np.asarray(ary)
    if a.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(a, indices_or_sections, 2)


if hasattr(np, "unstack"):  # from NumPy 2.1 on

    @implements(np.unstack)
    def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
        x = np.asarray(x)
        if x.ndim == 0:
            raise ValueError("Input array must be at least 1-d.")
        parts = np.moveaxis(x, axis, 0)
        return tuple([parts[k, ...] for k in range(parts.shape[0])])


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:
    a = np.asarray(A)
    given = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    ndim = max(len(given), a.ndim)
    counts = (*[1 for _ in range(ndim - len(given))], *given)
    a = at_least(a, ndim) if ndim < 3 else a[(*[None for _ in range(ndim - a.ndim)], ...)]
    apart = [(counts[k], a.shape[k]) for k in range(ndim)]
    tiles = np.broadcast_to(np.expand_dims(a, tuple(range(0, 2 * ndim, 2))), tuple([n for pair in apart for n in pair]))
    return primitives.reshape(tiles.copy(), tuple([count * length for count, length in apart]))


def repeated(line: Any, counts: Any, size: int) -> Any:
    """Each element of a line so many times."""
    result = np.empty(size, line.dtype)
    place = 0
    for k in range(len(line)):
        for _ in range(counts[k]):
            result[place] = line[k]
            place += 1
    return result


@implements(np.repeat, np.ndarray.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    a, axis = line_or_axis(np.asarray(a), axis)
    if isinstance(repeats, np.ndarray):
        need_castable(repeats.dtype, np.dtype(np.int64), "safe")
        counts = repeats if repeats.dtype == np.int64 else repeats.astype(np.int64)
    elif isinstance(repeats, (list, tuple)):
        counts = np.asarray([int(count) for count in repeats])
    else:
        counts = np.asarray(int(repeats))
    length = a.shape[axis]
    if counts.ndim == 0 or (counts.ndim == 1 and primitives.is_known(counts.shape[0] == 1) and counts.shape[0] == 1):
        count = int(counts[(...,) if counts.ndim == 0 else 0])
        if count < 0 and length > 0:
            raise ValueError("negative dimensions are not allowed")
        count = max(count, 0)
        if a.ndim == 1:
            result = np.empty(length * count, a.dtype)
            for k in range(length):
                for j in range(count):
                    result[k * count + j] = a[k]
            return result
        shape = (*a.shape[: axis + 1], count, *a.shape[axis + 1 :])
        each = np.broadcast_to(np.expand_dims(a, axis + 1), shape).copy()
        return primitives.reshape(each, (*a.shape[:axis], length * count, *a.shape[axis + 1 :]))
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    if len(counts) != length and len(counts) != 1:
        raise ValueError(f"operands could not be broadcast together with shape ({length},) ({len(counts)},)")
    for count in counts:
        if count < 0:
            raise ValueError("repeats may not contain negative values.")
    each = np.broadcast_to(counts, (length,))
    size = int(np.sum(counts)) * (1 if len(counts) == length else length)
    if a.ndim == 1:
        return repeated(a, each, size)
    places = repeated(np.arange(length), each, size)
    return np.copy(a[(*[slice(None) for _ in range(axis)], places)], "C")


def rolled(a: Any, shift: int, axis: int) -> Any:
    length = a.shape[axis]
    first = shift % length if length > 0 else 0
    parts = primitives.concat([part_of(a, axis, length - first, None), part_of(a, axis, None, length - first)], axis)
    return primitives.reshape(parts, a.shape)


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = np.asarray(a)
    if axis is None:
        total = sum([int(one) for one in shift]) if isinstance(shift, (tuple, list)) else int(shift)
        return primitives.reshape(rolled(ravel(a), total, 0), a.shape)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if a.ndim == 0 and len(axes) == 0:
        raise ValueError("not enough values to unpack (expected 2, got 0)")
    count = 0 if len(shifts) == 0 or len(axes) == 0 else max(len(shifts), len(axes))
    if (len(shifts) != count and len(shifts) != 1) or (len(axes) != count and len(axes) != 1):
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    if count == 0:
        return a.copy()
    for k in range(count):
        place = normal_axis(axes[k if len(axes) > 1 else 0], a.ndim)
        a = rolled(a, int(shifts[k if len(shifts) > 1 else 0]), place)
    return a


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    m = np.asarray(m)
    axes = tuple(range(m.ndim)) if axis is None else normal_axes(axis, m.ndim)
    parts = tuple([slice(None, None, -1) if k in axes else slice(None) for k in range(m.ndim)])
    return m[parts]


@implements(np.fliplr)
def fliplr(m: Any) -> Any:
    m = np.asarray(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


@implements(np.flipud)
def flipud(m: Any) -> Any:
    m = np.asarray(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1, ...]


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    m = np.asarray(m)
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    for axis in axes:
        if axis >= m.ndim or axis < -m.ndim:
            raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    quarters = k % 4
    if quarters == 0:
        return m[...]
    if quarters == 2:
        return flip(flip(m, axes[0]), axes[1])
    if quarters == 1:
        return np.swapaxes(flip(m, axes[1]), axes[0], axes[1])
    return flip(np.swapaxes(m, axes[0], axes[1]), axes[1])


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    arr = np.asarray(arr)
    if axis is None:
        return concatenate((ravel(arr), ravel(values)), 0)
    return concatenate((arr, values), axis)


def bounded_index(index: Any, length: int, axis: int, limit: int) -> Any:
    if index < -length or index >= limit:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
    return index + length if index < 0 else index


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    a = np.asarray(arr)
    if axis is None:
        a = ravel(a)
        axis = a.ndim - 1
    axis = normal_axis(axis, a.ndim)
    length = a.shape[axis]
    if isinstance(obj, (int, np.integer)):
        place = bounded_index(obj, length, axis, length)
        return primitives.concat([part_of(a, axis, None, place), part_of(a, axis, place + 1, None)], axis)
    keep = np.ones(length, np.bool)
    if isinstance(obj, slice):
        keep[obj] = False
    else:
        chosen = np.asarray(obj)
        if chosen.dtype == np.bool:
            if chosen.shape != (length,):
                raise ValueError(f"boolean array argument obj to delete must be one dimensional and match the axis length of {length}")
            keep = ~chosen
        else:
            keep[chosen.astype(np.int64)] = False
    return a[(*[slice(None) for _ in range(axis)], keep)]


def in_order_of(a: Any, shape: tuple[int, ...]) -> Any:
    """New memory for a shape, in Fortran's order where an array is in that alone."""
    return np.empty(shape[::-1], a.dtype).T if is_fortran(a, "A") else np.empty(shape, a.dtype)


def inserted_at(a: Any, index: Any, shown: Any, values: Any, axis: int, is_number: bool) -> Any:
    """An array with values before one index along an axis."""
    length = a.shape[axis]
    if index < -length or index > length:
        raise IndexError(f"index {shown} is out of bounds for axis {axis} with size {length}")
    new = np.asarray(values, a.dtype)
    new = new[(*[None for _ in range(a.ndim - new.ndim)], ...)]
    if is_number:
        new = np.moveaxis(new, 0, axis)
    if not isinstance(index, (int, np.integer)):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    place = int(index) + length if index < 0 else int(index)
    count = new.shape[axis]
    result = in_order_of(a, (*a.shape[:axis], length + count, *a.shape[axis + 1 :]))
    part_of(result, axis, None, place)[...] = part_of(a, axis, None, place)
    part_of(result, axis, place, place + count)[...] = new
    part_of(result, axis, place + count, None)[...] = part_of(a, axis, place, None)
    return result


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    a = np.asarray(arr)
    if axis is None:
        a = ravel(a)
        axis = a.ndim - 1
    axis = normal_axis(axis, a.ndim)
    length = a.shape[axis]
    given = np.arange(length)[obj] if isinstance(obj, slice) else np.asarray(obj)
    if given.dtype == np.bool:
        if not isinstance(obj, (np.ndarray, np.generic)):
            raise AttributeError(f"'{type(obj).__name__}' object has no attribute 'ndim'")
        if given.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        given = np.flatnonzero(given)
    elif given.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if given.ndim == 0:
        return inserted_at(a, given[()], given[()], values, axis, True)
    if given.shape[0] == 1:
        return inserted_at(a, given[0], f"[{given[0]}]", values, axis, False)
    if not isinstance(obj, np.ndarray) and given.shape[0] == 0:
        given = given.astype(np.int64)
    return inserted_among(a, given, values, axis)


def inserted_among(a: Any, given: Any, values: Any, axis: int) -> Any:
    """An array with one of the values before each of several indices along an axis, or with none."""
    length = a.shape[axis]
    if given.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    places = np.where(given < 0, given + length, given)
    places[np.argsort(places, stable=True)] += np.arange(len(places))
    old = np.ones(length + len(places), np.bool)
    old[places] = False
    front = (*[slice(None) for _ in range(axis)],)
    result = in_order_of(a, (*a.shape[:axis], length + len(places), *a.shape[axis + 1 :]))
    result[(*front, places)] = values
    result[(*front, old)] = a
    return result


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    shape = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    a = ravel(a)
    for length in shape:
        if length < 0:
            raise ValueError("all elements of `new_shape` must be non-negative")
    size = product(shape)
    if a.size == 0:
        return np.zeros(shape, a.dtype)
    return primitives.reshape(a[np.arange(size) % a.size], shape)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    a = np.asarray(filt)
    if a.ndim == 0 and axis is None:
        return filt
    how = trim.lower()
    if how not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = tuple(range(a.ndim)) if axis is None else normal_axes(axis, a.ndim, "axis")
    for k in axes:
        others = tuple([other for other in range(a.ndim) if other != k])
        some = np.any(a != 0, axis=others) if len(others) > 0 else a != 0
        first = 0
        while "f" in how and first < len(some) and not some[first]:
            first = first + 1
        last = len(some)
        while "b" in how and last > first and not some[last - 1]:
            last = last - 1
        a = part_of(a, k, first, last)
    return a


def stat_of(a: Any, axis: int, mode: str, count: Any, at_end: bool) -> Any:
    """The padding before or after an axis for the modes that look at several elements."""
    length = a.shape[axis]
    taken = length if count is None else min(count, length)
    if taken < 1:
        raise ValueError("stat_length of 0 yields no value for padding")
    part = part_of(a, axis, length - taken, None) if at_end else part_of(a, axis, None, taken)
    if mode == "maximum":
        return np.max(part, axis=axis, keepdims=True)
    if mode == "minimum":
        return np.min(part, axis=axis, keepdims=True)
    if mode == "mean":
        middle = np.mean(part, axis=axis, keepdims=True)
    else:
        middle = np.median(part, axis=axis, keepdims=True)
    if a.dtype.kind in "iu":
        middle = np.rint(middle)
    return middle.astype(a.dtype)


def pairs_of(value: Any, ndim: int) -> Any:
    """What an argument of np.pad specifies for each axis: before and after."""
    if not isinstance(value, (tuple, list)):
        return [(value, value) for _ in range(ndim)]
    if len(value) == 1 and isinstance(value[0], (tuple, list)):
        return [(value[0][0], value[0][-1]) for _ in range(ndim)]
    if len(value) == 1:
        return [(value[0], value[0]) for _ in range(ndim)]
    if isinstance(value[0], (tuple, list)):
        if len(value) != ndim:
            raise ValueError(
                f"operands could not be broadcast together with remapped shapes [original->remapped]: ({len(value)},2)  and requested shape ({ndim},2)"
            )
        return [(pair[0], pair[-1]) for pair in value]
    if len(value) != 2:
        raise ValueError(f"operands could not be broadcast together with remapped shapes [original->remapped]: ({len(value)},)  and requested shape ({ndim},2)")
    return [(value[0], value[1]) for _ in range(ndim)]


def source_of(place: Any, length: int, mode: str) -> Any:
    """The index of the element that is copied to a position before, in or after an axis."""
    if mode == "edge":
        return np.minimum(np.maximum(place, 0), length - 1)
    if mode == "wrap":
        return place % length
    if mode == "symmetric":
        phase = place % (2 * length)
        return np.where(phase < length, phase, 2 * length - 1 - phase)
    phase = place % max(2 * length - 2, 1)
    return np.where(phase < length, phase, 2 * length - 2 - phase)


def put_ends(rows: Any, before: int, length: int, mode: str) -> None:
    """Fills the rows before and after the inner ones with some of them."""
    for place in range(before):
        rows[place] = rows[before + source_of(place - before, length, mode)]
    for place in range(before + length, len(rows)):
        rows[place] = rows[before + source_of(place - before, length, mode)]


def is_left_out(value: Any) -> bool:
    return not isinstance(value, (tuple, list)) and value is NoValue


def given_or(value: Any, default: Any) -> Any:
    """A keyword's value, or its default."""
    return default if is_left_out(value) else value


def need_keywords(mode: str, given: Any) -> None:
    """Raises for keywords of np.pad that mean nothing in a mode, and for an unknown mode."""
    if mode in ("empty", "edge", "wrap"):
        allowed = ""
    elif mode == "constant":
        allowed = "constant_values"
    elif mode == "linear_ramp":
        allowed = "end_values"
    elif mode in ("maximum", "mean", "median", "minimum"):
        allowed = "stat_length"
    elif mode in ("reflect", "symmetric"):
        allowed = "reflect_type"
    else:
        raise ValueError(f"mode '{mode}' is not supported")
    names = [name for name, value in given if not is_left_out(value) and name != allowed]
    if len(names) > 0:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {{{', '.join([repr(name) for name in names])}}}")


@implements(np.pad)
def pad(
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    stat_length: Any = NoValue,
    constant_values: Any = NoValue,
    end_values: Any = NoValue,
    reflect_type: Any = NoValue,
) -> Any:
    a = np.asarray(array)
    widths = pairs_of(pad_width, a.ndim)
    for before, behind in widths if a.ndim > 0 else pairs_of(pad_width, 1):
        if before < 0 or behind < 0:
            raise ValueError("index can't contain negative values")
    need_keywords(
        mode,
        [
            ("stat_length", stat_length),
            ("constant_values", constant_values),
            ("end_values", end_values),
            ("reflect_type", reflect_type),
        ],
    )
    stat_length = given_or(stat_length, None)
    constant_values = given_or(constant_values, 0)
    end_values = given_or(end_values, 0)
    reflect_type = given_or(reflect_type, "even")
    if mode in ("edge", "wrap", "symmetric", "reflect"):
        if reflect_type != "even":
            primitives.refuse("np.pad with another reflect_type than 'even'", "compute what is reflected")
        for k in range(a.ndim):
            before, behind = widths[k]
            if a.shape[k] == 0 and before + behind > 0:
                raise ValueError(f"can't extend empty axis {k} using modes other than 'constant' or 'empty'")
        shape = tuple([before + a.shape[k] + behind for k, (before, behind) in enumerate(widths)])
        result = in_order_of(a, shape)
        inside = tuple([slice(widths[k][0], widths[k][0] + a.shape[k]) for k in range(a.ndim)])
        result[inside] = a
        for k in range(a.ndim):
            # The axes before k are complete by now, those after it are not yet.
            whole = result[(*[slice(None) for _ in range(k + 1)], *inside[k + 1 :])]
            put_ends(np.moveaxis(whole, k, 0), widths[k][0], a.shape[k], mode)
        return result
    shape = tuple([before + a.shape[k] + behind for k, (before, behind) in enumerate(widths)])
    result = in_order_of(a, shape)
    inside = tuple([slice(widths[k][0], widths[k][0] + a.shape[k]) for k in range(a.ndim)])
    result[inside] = a
    constants = pairs_of(constant_values, a.ndim)
    ends = pairs_of(end_values, a.ndim)
    lengths = pairs_of(stat_length, a.ndim)
    for k in range(a.ndim):
        # The axes before k are complete by now, those after it are not yet.
        whole = result[(*[slice(None) for _ in range(k + 1)], *inside[k + 1 :])]
        filled = whole[(*[slice(None) for _ in range(k)], inside[k])]
        for side in range(2):
            width = widths[k][side]
            edge = part_of(whole, k, None, width) if side == 0 else part_of(whole, k, whole.shape[k] - width, None)
            if mode == "constant":
                edge[...] = np.asarray(constants[k][side]).astype(a.dtype)
            elif mode == "linear_ramp":
                inner = part_of(filled, k, None, 1) if side == 0 else part_of(filled, k, filled.shape[k] - 1, None)
                ramp = np.linspace(ends[k][side], np.squeeze(inner, k), num=width, endpoint=False, dtype=a.dtype, axis=k)
                edge[...] = ramp if side == 0 else np.flip(ramp, k)
            elif mode != "empty" and width > 0:
                edge[...] = stat_of(filled, k, mode, lengths[k][side], side == 1)
    return result


def array_of_arrays(parts: Any) -> Any:
    """What np.array makes of nested lists of arrays and numbers."""
    if not isinstance(parts, (list, tuple)):
        return np.asarray(parts)
    arrays = [array_of_arrays(part) for part in parts]
    for part in arrays:
        if part.shape != arrays[0].shape:
            raise ValueError(
                "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 "
                f"dimensions. The detected shape was ({len(arrays)},) + inhomogeneous part."
            )
    return stack(arrays)


def line_of_slice(part: slice) -> Any:
    """The numbers that a slice in the brackets of np.r_ names."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return np.linspace(start, part.stop, int(abs(step)))
    return np.arange(start, part.stop, step)


def with_ndim(x: Any, ndmin: int, first: int) -> Any:
    """An array of at least so many axes, its own from the position `first` on (-1: they are the last)."""
    missing = ndmin - x.ndim
    if missing <= 0:
        return x
    before = missing if first == -1 else first if first >= 0 else first + missing + 1
    return x[(None,) * before + (slice(None),) * x.ndim + (None,) * (missing - before)]


def concatenated(index: Any, axis: int, ndmin: int, first: int) -> Any:
    """What np.r_ and np.c_ make of their indices."""
    parts = index if isinstance(index, tuple) else (index,)
    if isinstance(parts[0], str):
        if parts[0] in ("r", "c"):
            primitives.refuse("matrices", "use arrays of two axes")
        numbers = [int(word) for word in parts[0].split(",")]
        axis = numbers[0]
        ndmin = numbers[1] if len(numbers) > 1 else ndmin
        first = numbers[2] if len(numbers) > 2 else first
        parts = parts[1:]
    given = [line_of_slice(part) if isinstance(part, slice) else part for part in parts]
    numbers = [part if isinstance(part, (bool, int, float, complex, np.generic)) else np.asarray(part) for part in given]
    dtype = np.result_type(*[x.dtype if isinstance(x, np.ndarray) else x for x in numbers])
    for x in numbers:
        if isinstance(x, int) and not isinstance(x, bool):
            dtype.type(x)  # raises what a number out of bounds raises
    # The axis of a slice is moved to the number `first`; the axes of arrays begin there.
    arrays = [
        (with_ndim(np.asarray(numbers[k]), ndmin, -1).swapaxes(-1, first) if first != -1 else with_ndim(np.asarray(numbers[k]), ndmin, -1))
        if isinstance(parts[k], slice) and ndmin > 1
        else with_ndim(np.asarray(numbers[k]), ndmin, first)
        for k in range(len(parts))
    ]
    return concatenate([x.astype(dtype) for x in arrays], axis)


@implements(np.r_)
def r_(index: Any) -> Any:
    return concatenated(index, 0, 1, -1)


@implements(np.c_)
def c_(index: Any) -> Any:
    return concatenated(index, -1, 2, 0)
