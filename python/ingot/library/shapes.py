"""Arrays in other shapes, most of them views."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import primitives
from .registry import implements


def need_castable(source: Any, target: Any, casting: Any, what: str = "array data") -> None:
    """Raises what NumPy raises where a dtype is not cast to another one."""
    if not np.can_cast(source, target, casting):
        raise TypeError(f"Cannot cast {what} from {source!r} to {target!r} according to the rule '{casting}'")


def output(out: Any) -> np.ndarray | None:
    """The array that a ufunc's `out` names, alone or in a tuple; None: it has none."""
    given = out[0] if isinstance(out, tuple) else out
    if given is not None and not isinstance(given, np.ndarray):
        raise TypeError("return arrays must be of ArrayType")
    return given


def normal_axis(axis: Any, ndim: int, name: str = "") -> int:
    """An axis counted from the front, known when compiling."""
    axis = operator.index(axis)
    if axis < -ndim or axis >= ndim:
        raise np.exceptions.AxisError(axis, ndim, name or None)
    return tuple(range(ndim))[axis]


def need_no_bool(axis: Any, message: str = "an integer is required for the axis") -> None:
    """Raises where an axis is a bool, which some of NumPy's functions take for an integer, and these do not."""
    if isinstance(axis, (bool, np.bool)):
        raise TypeError(message)


def normal_axes(axis: Any, ndim: int, name: str = "") -> tuple[int, ...]:
    """One axis or several, counted from the front; each occurs once."""
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple([normal_axis(one, ndim, name) for one in given])
    for one in axes:
        if axes.count(one) > 1:
            raise ValueError(f"repeated axis in `{name}` argument" if name else "repeated axis")
    return axes


def product(numbers: Any) -> int:
    result = 1
    for number in numbers:
        result = result * number
    return result


def text_of_shape(shape: Any) -> str:
    """As NumPy's messages show shapes."""
    text = ""
    for k in range(len(shape)):
        length = shape[k]
        shown = "newaxis" if primitives.is_known(length) and length < 0 else f"{length}"
        text = f"{text},{shown}" if k > 0 else shown
    return f"({text},)" if len(shape) == 1 else f"({text})"


def text_of_tuple(shape: tuple[int, ...]) -> str:
    """As Python shows it, made of numbers alone: the string of a tuple is a call out of compiled code, which makes calls slow."""
    text = ""
    for k in range(len(shape)):
        text = f"{text}, {shape[k]}" if k > 0 else f"{shape[k]}"
    return f"({text},)" if len(shape) == 1 else f"({text})"


def lengths_of(shape: Any) -> tuple[int, ...]:
    """A shape as NumPy's functions take it: an integer or several."""
    if isinstance(shape, (tuple, list)):
        return tuple([operator.index(length) for length in shape])
    if isinstance(shape, (float, complex, np.inexact)):
        raise TypeError(f"expected a sequence of integers or a single integer, got '{shape}'")
    return (operator.index(shape),)


def whole_shape(shape: Any, size: int) -> tuple[int, ...]:
    """A shape for so many elements; one negative length stands for what is left."""
    lengths = lengths_of(shape)
    given = 1
    unknown = 0
    for length in lengths:
        if length < 0:
            unknown = unknown + 1
        else:
            given = given * length
    if unknown > 1:
        raise ValueError("can only specify one unknown dimension")
    rest = size
    if unknown == 1:
        if given == 0 or size % given != 0:
            raise ValueError(f"cannot reshape array of size {size} into shape {text_of_shape(lengths)}")
        rest = size // given
    elif given != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {text_of_shape(lengths)}")
    return tuple([rest if length < 0 else length for length in lengths])


def place_of(number: int, shape: Any, strides: Any) -> int:
    """The offset in memory of an element, by its number in C order."""
    place = 0
    for axis in reversed(range(len(shape))):
        place = place + number % shape[axis] * strides[axis]
        number = number // shape[axis]
    return place


def in_shape(a: Any, shape: tuple[int, ...]) -> Any:
    """The elements in C order in another shape of as many: a view where strides can express it, else a copy."""
    if primitives.is_contiguous(a):
        return primitives.reshape(a, shape)
    # An axis steps from the first element to that which its index 1 names. These steps are a view's if each
    # step of the array is made of them.
    strides = tuple([place_of(product(shape[k + 1 :]), a.shape, a.strides) for k in range(len(shape))])
    is_view = True
    for k in range(a.ndim):
        if a.shape[k] > 1 and place_of(product(a.shape[k + 1 :]), shape, strides) != a.strides[k]:
            is_view = False
    if is_view:
        return primitives.strided(a, shape, strides)
    return primitives.reshape(a.copy(), shape)


def is_fortran(a: Any, order: str) -> bool:
    """Whether an order of NumPy's means Fortran's for an array."""
    if order == "C" or order is None:
        return False
    if order == "F":
        return True
    if order == "A" or (order == "K" and a.ndim < 2):
        return a.ndim > 1 and not primitives.is_contiguous(a) and primitives.is_contiguous(a.T)
    if order != "K":
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if a.ndim == 2:
        return a.shape[0] > 1 and a.shape[1] > 1 and abs(a.strides[0]) < abs(a.strides[1])
    if primitives.is_contiguous(a.T):
        return not primitives.is_contiguous(a)
    if not primitives.is_contiguous(a):
        primitives.refuse("the order in memory of more than two axes", "name the order 'C' or 'F'")
    return False


def is_known_fortran(a: Any) -> bool:
    """Whether it is known when compiling that an array is in Fortran order."""
    if a.ndim < 2:
        return False
    in_c_order = primitives.is_contiguous(a)
    reversed_order = primitives.is_contiguous(a.T)
    if primitives.is_known(in_c_order) and in_c_order:
        return False
    return bool(primitives.is_known(reversed_order) and reversed_order)


@implements(np.reshape)
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    a = np.asarray(a)
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    if copy:
        a = np.copy(a)
    lengths = whole_shape(shape, a.size)
    if is_fortran(a, order):
        result = in_shape(a.T, lengths[::-1]).T
    else:
        result = in_shape(a, lengths)
    return result


@implements(np.ndarray.reshape)
def reshape_method(a: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return reshape(a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


@implements(np.ravel, np.ndarray.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    a = np.asarray(a)
    if is_fortran(a, order):
        a = a.T
    if primitives.is_contiguous(a):
        return primitives.reshape(a, (a.size,))
    return primitives.reshape(a.copy(), (a.size,))


@implements(np.ndarray.flatten)
def flatten(a: Any, order: str = "C") -> Any:
    if is_fortran(a, order):
        a = a.T
    return primitives.reshape(a.copy(), (a.size,))


@implements(np.swapaxes, np.ndarray.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    a = np.asarray(a)
    first = normal_axis(axis1, a.ndim, "axis1")
    second = normal_axis(axis2, a.ndim, "axis2")
    axes = list(range(a.ndim))
    axes[first], axes[second] = axes[second], axes[first]
    return primitives.transpose(a, tuple(axes))


@implements(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    is_scalar = isinstance(a, np.generic)
    a = np.asarray(a)
    if axes is None:
        return a.T[()] if a.ndim == 0 and is_scalar else a.T
    given = axes if isinstance(axes, (tuple, list)) else (axes,)
    if len(given) != a.ndim:
        raise ValueError("axes don't match array")
    order = tuple([normal_axis(axis, a.ndim) for axis in given])
    for axis in order:
        if order.count(axis) > 1:
            raise ValueError("repeated axis in transpose")
    return primitives.transpose(a, order)


@implements(np.ndarray.transpose)
def transpose_method(a: Any, *axes: Any) -> Any:
    if len(axes) == 0:
        return a.T
    return transpose(a, axes[0] if len(axes) == 1 else axes)


@implements(np.matrix_transpose, np.ndarray.mT, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    x = np.asarray(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    a = np.asarray(a)
    moved = normal_axes(source, a.ndim, "source")
    places = normal_axes(destination, a.ndim, "destination")
    if len(moved) != len(places):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(a.ndim) if axis not in moved]
    for place in range(a.ndim):
        if place in places:
            order.insert(place, moved[places.index(place)])
    return primitives.transpose(a, tuple(order))


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    a = np.asarray(a)
    n = a.ndim
    axis = normal_axis(axis, n)
    if start < -n or start > n:
        raise np.exceptions.AxisError(f"'start' arg requires {-n} <= start < {n + 1}, but {start + n if start < 0 else start} was passed in")
    start = (tuple(range(n + 1)) + tuple(range(n)))[start]  # known when compiling, counted from the front
    if axis < start:
        start = start - 1
    if axis == start:
        return a[...]
    order = [other for other in range(n) if other != axis]
    order.insert(start, axis)
    return primitives.transpose(a, tuple(order))


@implements(np.squeeze, np.ndarray.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    is_scalar = isinstance(a, np.generic)
    a = np.asarray(a)
    if axis is None:
        for length in a.shape:
            if not primitives.is_known(length == 1):
                primitives.refuse("squeezing axes of lengths that are not known when compiling", "name the axes")
        axes = tuple([k for k in range(a.ndim) if a.shape[k] == 1])
        if len(axes) == 0:
            return a[()] if is_scalar else a
    else:
        need_no_bool(axis)
        if a.ndim == 0 and (axis == 0 or axis == -1 or axis == ()):
            return a[()] if is_scalar else a
        axes = normal_axes(axis, a.ndim)
        for k in axes:
            if a.shape[k] != 1:
                raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return a[(*[0 if k in axes else slice(None) for k in range(a.ndim)], ...)]


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    a = np.asarray(a)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = normal_axes(axis, a.ndim + len(given))
    return a[(*[None if k in axes else slice(None) for k in range(a.ndim + len(given))], ...)]


def common_length(a: Any, b: Any) -> Any:
    """The length of two broadcast together; -1: they do not fit."""
    if a == b or b == 1:
        return a
    return b if a == 1 else -1


@implements(np.broadcast_shapes)
def broadcast_shapes(*args: Any) -> tuple[int, ...]:
    shapes = [lengths_of(shape) for shape in args]
    ndim = 0
    for shape in shapes:
        ndim = max(ndim, len(shape))
    common = [1 for _ in range(ndim)]
    for number in range(len(shapes)):
        shape = shapes[number]
        for k in range(len(shape)):
            place = ndim - len(shape) + k
            length = common_length(common[place], shape[k])
            if length < 0:
                for other in range(number):
                    if len(shapes[other]) >= len(shape) - k and shapes[other][len(shapes[other]) - len(shape) + k] != 1:
                        raise ValueError(
                            "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg "
                            f"{other} with shape {text_of_tuple(shapes[other])} and arg {number} with shape {text_of_tuple(shape)}."
                        )
            common[place] = length
    return tuple(common)


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    array = np.asarray(array)
    lengths = lengths_of(shape)
    if len(lengths) == 0 and array.ndim > 0:
        raise ValueError("cannot broadcast a non-scalar to a scalar array")
    for length in lengths:
        if length < 0:
            raise ValueError("all elements of broadcast shape must be non-negative")
    if len(lengths) < array.ndim:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    front = len(lengths) - array.ndim
    for k in range(array.ndim):
        if array.shape[k] != 1 and array.shape[k] != lengths[front + k]:
            raise ValueError(
                "operands could not be broadcast together with remapped shapes [original->remapped]: "
                f"{text_of_shape(array.shape)}  and requested shape {text_of_shape(lengths)}"
            )
    primitives.need_size(lengths, array.dtype)
    return primitives.broadcast(array, lengths)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    arrays = [np.asarray(x) for x in args]
    shape = broadcast_shapes(*[x.shape for x in arrays])
    return tuple([repeated(x, shape) for x in arrays])


def repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """A view in which axes of length 1, and new leading ones, repeat: x itself where it has this shape."""
    front = len(shape) - x.ndim
    if front == 0 and x.shape == shape:
        return x
    strides = [0 for _ in range(front)]
    for k in range(x.ndim):
        strides.append(0 if x.shape[k] == 1 and shape[front + k] != 1 else x.strides[k])
    return primitives.strided(x, shape, tuple(strides))


def at_least(x: Any, ndim: int) -> Any:
    x = np.asarray(x)
    if x.ndim >= ndim:
        return x
    if ndim == 3 and x.ndim == 2:
        return x[:, :, None]
    if ndim == 3 and x.ndim == 1:
        return x[None, :, None]
    return x[(*[None for _ in range(ndim - x.ndim)], ...)]


def one_or_all(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    return one_or_all([at_least(x, 1) for x in arys])


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    return one_or_all([at_least(x, 2) for x in arys])


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    return one_or_all([at_least(x, 3) for x in arys])


@implements(np.size)
def size(a: Any, axis: Any = None) -> Any:
    a = np.asarray(a)
    if axis is None:
        return a.size
    return product([a.shape[k] for k in normal_axes(axis, a.ndim)])


@implements(np.ndim)
def ndim(a: Any) -> int:
    return np.asarray(a).ndim


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return np.asarray(a).shape


def along_diagonal(a: Any, offset: int, axis1: int = 0, axis2: int = 1) -> Any:
    """A view of diagonals, their elements along the last axis."""
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first = normal_axis(axis1, a.ndim, "axis1")
    second = normal_axis(axis2, a.ndim, "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    below = max(-offset, 0)
    right = max(offset, 0)
    length = max(min(a.shape[first] - below, a.shape[second] - right), 0)
    start = below * a.strides[first] + right * a.strides[second] if length > 0 else 0
    others = [k for k in range(a.ndim) if k != first and k != second]
    shape = (*[a.shape[k] for k in others], length)
    strides = (*[a.strides[k] for k in others], a.strides[first] + a.strides[second])
    return primitives.strided(a, shape, strides, start)


def read_only(a: Any) -> Any:
    return primitives.broadcast(a, a.shape)


@implements(np.diagonal, np.ndarray.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return read_only(along_diagonal(np.asarray(a), offset, axis1, axis2))


@implements(np.linalg.diagonal)
def diagonal_of_matrices(x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    v = np.asarray(v)
    if v.ndim == 1:
        n = v.shape[0] + abs(k)
        result = np.zeros((n, n), v.dtype)
        along_diagonal(result, k)[...] = v
        return result
    if v.ndim == 2:
        return diagonal(v, k)
    raise ValueError("Input must be 1- or 2-d.")


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    return diag(np.ravel(v), k)


@implements(np.trace, np.ndarray.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    if out is not None and not isinstance(out, np.ndarray):
        raise TypeError("output must be an array")
    return np.sum(along_diagonal(np.asarray(a), offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


@implements(np.linalg.trace)
def trace_of_matrices(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


def write_flat(a: Any, write: Any) -> None:
    """Lets a function change the elements in C order, along one axis."""
    if primitives.is_contiguous(a):
        write(primitives.reshape(a, (a.size,)))
    else:
        elements = flatten(a)
        write(elements)
        a[...] = primitives.reshape(elements, a.shape)


def put_cyclically(flat: Any, places: Any, values: Any) -> None:
    """Puts one number at all indices, or the elements of an array one after the other, again from the first after the last."""
    if isinstance(values, (np.ndarray, list, tuple)):
        elements = np.ravel(values).astype(flat.dtype)
        count = 0
        for k in range(len(places) if elements.size > 0 else 0):
            flat[places[k]] = elements[count]
            count = count + 1
            if count == elements.size:
                count = 0
    else:
        flat[places] = values


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    stop = a.size
    if a.ndim == 2:
        step = a.shape[1] + 1
        if not wrap:
            stop = min(stop, a.shape[1] * a.shape[1])
    else:
        for length in a.shape:
            if length != a.shape[0]:
                raise ValueError("All dimensions of input must be of equal length")
        step = 1 + sum([product(a.shape[:k]) for k in range(1, a.ndim)])
    write_flat(a, lambda flat: put_cyclically(flat, np.arange(0, stop, step), val))


def part_of_complex(a: Any, number: int) -> Any:
    dtype = np.float32 if a.dtype == np.complex64 else np.float64
    return primitives.strided(a, a.shape, a.strides, number * (a.itemsize // 2), dtype)


@implements(np.ndarray.real)
def real_attribute(a: Any) -> Any:
    return part_of_complex(a, 0) if a.dtype.kind == "c" else a


@implements(np.ndarray.imag)
def imag_attribute(a: Any) -> Any:
    if a.dtype.kind == "c":
        return part_of_complex(a, 1)
    return read_only(np.zeros(a.shape, a.dtype))


@implements(np.real)
def real(val: Any) -> Any:
    return np.asarray(val).real if isinstance(val, (list, tuple)) else val.real


@implements(np.imag)
def imag(val: Any) -> Any:
    return np.asarray(val).imag if isinstance(val, (list, tuple)) else val.imag


@implements(np.ndarray.conj, np.ndarray.conjugate)
def conj(a: Any) -> Any:
    return np.conjugate(a) if a.dtype.kind == "c" else a


@implements(np.ndarray.nbytes)
def nbytes(a: Any) -> int:
    return a.size * a.itemsize


@implements(np.ndarray.fill)
def fill(a: Any, value: Any) -> None:
    a[...] = value


def coordinates(number: int, shape: Any) -> tuple[int, ...]:
    """The indices of an element, of its number in C order."""
    indices: list[int] = []
    for length in reversed(shape):
        indices.insert(0, number % length)
        number = number // length
    return tuple(indices)


def flat_index(index: Any, size: int) -> int:
    if index < -size or index >= size:
        raise IndexError(f"index {index} is out of bounds for size {size}")
    return index + size if index < 0 else index


@implements(np.ndarray.item)
def item(a: Any, *args: Any) -> Any:
    a = np.asarray(a)
    if len(args) == 0:
        if a.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return primitives.python_number(a[(*[0 for _ in range(a.ndim)],)])
    indices = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    if len(indices) == 1 and a.ndim != 1:
        return primitives.python_number(a[coordinates(flat_index(indices[0], a.size), a.shape)])
    if len(indices) != a.ndim:
        raise ValueError("incorrect number of indices for array")
    return primitives.python_number(a[indices])


@implements(np.ndarray.tolist)
def tolist(a: Any) -> Any:
    if a.ndim == 0:
        return primitives.python_number(a[()])
    return [tolist(a[k, ...]) for k in range(a.shape[0])]


@implements(np.ndarray.view)
def view(a: Any, dtype: Any = None) -> Any:
    if dtype is None:
        return a[...]
    other = np.dtype(dtype)
    if other.kind == "b" and a.dtype.kind != "b":
        primitives.refuse("a view of other elements as bools", "compare with 0")
    if other.itemsize == a.itemsize:
        return primitives.strided(a, a.shape, a.strides, 0, other)
    if a.ndim == 0:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    length = a.shape[-1]
    if a.size > 0 and length != 1 and a.strides[-1] != a.itemsize:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    size = length * a.itemsize
    if size % other.itemsize != 0:
        raise ValueError("When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis of the array.")
    shape = (*a.shape[:-1], size // other.itemsize)
    return primitives.strided(a, shape, (*a.strides[:-1], other.itemsize), 0, other)


def without_first_axes(a: Any, count: int) -> Any:
    """An array without the first axes, if these have the length 1; else itself."""
    for k in range(count):
        if a.shape[k] != 1:
            return a
    return a[(*[0 for _ in range(count)], ...)]


def fits(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    """Whether an array of a shape can be broadcast to another one."""
    if len(shape) > len(larger):
        return False
    for k in range(1, len(shape) + 1):
        if shape[-k] != 1 and shape[-k] != larger[-k]:
            return False
    return True


def cast_source(src: Any, dtype: Any, casting: str) -> Any:
    """What is to be copied into an array of a dtype, where a rule allows to cast it."""
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe' (got {casting!r})")
    if not isinstance(src, (int, float, complex)) or isinstance(src, (bool, np.generic)):
        array = np.asarray(src)
        if array.ndim > 0:
            need_castable(array.dtype, dtype, casting)
        else:
            need_castable(array.dtype, dtype, casting, "scalar")
        return array
    common = np.result_type(src, np.empty((), dtype))
    name = "int" if isinstance(src, int) else "float" if isinstance(src, float) else "complex"
    if casting == "equiv" and common != np.result_type(src):
        raise TypeError(f"cannot cast Python {name} to {common} under the casting rule 'equiv'")
    need_castable(common, dtype, casting, "scalar")
    return src if common == dtype else np.asarray(src)


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, np.ndarray):
        raise TypeError(f"copyto() argument 1 must be numpy.ndarray, not {type(dst).__name__}")
    src = cast_source(src, dst.dtype, casting)
    primitives.need_writable(dst, "assignment destination is read-only")
    if isinstance(src, np.ndarray) and src.ndim > dst.ndim:
        src = without_first_axes(src, src.ndim - dst.ndim)
    if isinstance(where, bool) and primitives.is_known(where):
        if where:
            dst[...] = src
    else:
        flags = np.asarray(where)
        if isinstance(where, (np.ndarray, np.generic)):
            need_castable(flags.dtype, np.dtype(np.bool), "safe")
        if not fits(flags.shape, dst.shape):
            raise ValueError(f"could not broadcast where mask from shape {text_of_shape(flags.shape)} into shape {text_of_shape(dst.shape)}")
        mask = np.broadcast_to(flags.astype(np.bool), dst.shape)
        values = np.empty_like(dst)
        values[...] = src
        if dst.ndim == 0:
            dst[...] = np.where(mask, values, dst)
        else:
            dst[mask] = values[mask]


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Any:
    x = np.asarray(x)
    window = tuple(window_shape) if isinstance(window_shape, (tuple, list)) else (window_shape,)
    for length in window:
        if length < 0:
            raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple([k for k in range(x.ndim)])
        if len(window) != x.ndim:
            raise ValueError(
                f"Since axis is `None`, must provide window_shape for all dimensions of `x`; got {len(window)} window_shape elements and `x.ndim` is {x.ndim}."
            )
    else:
        given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
        axes = tuple([normal_axis(one, x.ndim) for one in given])
        if len(window) != len(axes):
            raise ValueError(f"Must provide matching length window_shape and axis; got {len(window)} window_shape elements and {len(axes)} axes elements.")
    shape = list(x.shape)
    for k in range(len(axes)):
        if shape[axes[k]] < window[k]:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[axes[k]] = shape[axes[k]] - window[k] + 1
    strides = (*x.strides, *[x.strides[k] for k in axes])
    result = primitives.strided(x, (*shape, *window), strides)
    return result if writeable else read_only(result)


class Flat:
    """What the attribute `flat` of an array gives."""

    __ingot_stands_for__ = np.flatiter
    __ingot_buffer__ = True

    @property
    def elements(self) -> Any:
        return ravel(self.base).copy()

    def __init__(self, base: Any) -> None:
        self.base = base
        self.is_iterated = False

    def __iter__(self) -> Any:
        if self.is_iterated:
            primitives.refuse("iterating over the `flat` of an array for a second time", "ask the array for it again")
        self.is_iterated = True
        base = self.base
        if base.ndim == 0:
            yield base[()]
        elif base.ndim == 1:
            for i in range(base.shape[0]):
                yield base[i]
        elif base.ndim == 2:
            for i in range(base.shape[0]):
                for j in range(base.shape[1]):
                    yield base[i, j]
        else:
            for k in range(base.size):
                yield base[coordinates(k, base.shape)]

    def __len__(self) -> int:
        return self.base.size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (int, np.integer)):
            return self.base[coordinates(flat_index(index, self.base.size), self.base.shape)]
        return ravel(self.base)[index].copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, (int, np.integer)):
            self.base[coordinates(flat_index(index, self.base.size), self.base.shape)] = value
        else:
            places = np.arange(self.base.size)[index]
            write_flat(self.base, lambda flat: put_cyclically(flat, places, value))


@implements(np.ndarray.flat)
def flat(a: Any) -> Flat:
    return Flat(a)


def set_flat(a: Any, value: Any) -> None:
    """`a.flat = value`: as many of its elements as fit, repeated."""
    Flat(a)[:] = value


@implements(np.lib.stride_tricks.as_strided)
def as_strided(x: Any, shape: Any = None, strides: Any = None, subok: Any = False, *, writeable: Any = True) -> Any:
    x = np.asarray(x)
    lengths = x.shape if shape is None else (tuple(shape) if isinstance(shape, (tuple, list)) else (shape,))
    steps = x.strides if strides is None else (tuple(strides) if isinstance(strides, (tuple, list)) else (strides,))
    if len(lengths) != len(steps):
        raise ValueError("mismatch in length of strides and shape")
    # What is reached of the memory of x, in bytes from its first element.
    low, high, is_empty = 0, x.itemsize, False
    for length, step in zip(lengths, steps):
        if length < 0:
            raise ValueError("negative dimensions are not allowed")
        is_empty = is_empty or length == 0
        if step < 0:
            low += (length - 1) * step
        else:
            high += (length - 1) * step
    first, last, holds_none = 0, x.itemsize, False
    for length, step in zip(x.shape, x.strides):
        holds_none = holds_none or length == 0
        if step < 0:
            first += (length - 1) * step
        else:
            last += (length - 1) * step
    if not is_empty and (holds_none or low < first or high > last):
        raise ValueError("as_strided reaches memory outside of the array, which compiled code does not do")
    result = primitives.strided(x, lengths, steps)
    return result if writeable else read_only(result)
