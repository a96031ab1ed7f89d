"""Arrays of records (structured dtypes), and single records, in terms of their fields and of the arrays of their bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives
from .shapes import normal_axis, whole_shape

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
ATTRIBUTES: dict[str, Callable[..., Any]] = {}


def of_records(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers functions for NumPy's where these are given records, or a dtype of such."""

    def enter(implementation: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            FUNCTIONS[function] = implementation
        return implementation

    return enter


def method(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers functions for methods of arrays of records, and of records."""

    def enter(implementation: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            METHODS[name] = implementation
        return implementation

    return enter


def attribute(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function for an attribute of records."""

    def enter(implementation: Callable[..., Any]) -> Callable[..., Any]:
        ATTRIBUTES[name] = implementation
        return implementation

    return enter


# What records are.


def is_one(x: Any) -> bool:
    """Whether a value is a single record."""
    return isinstance(x, np.void)


def holds_records(x: Any) -> bool:
    """Whether a value is an array of records, or a record."""
    return isinstance(x, (np.ndarray, np.void)) and x.dtype.names is not None


def holder_of(x: Any) -> str:
    return "record" if isinstance(x, np.void) else "recarray" if isinstance(x, np.recarray) else "ndarray"


def alike(bytes: Any, x: Any) -> Any:
    """Records on an array of their bytes, held as `x` is."""
    return primitives.records(bytes, x.dtype, holder_of(x))


def inner_axes(field: Any, of: Any) -> int:
    """How many axes of a field are those of arrays in the records."""
    return np.ndim(field) - of.ndim


# Assignments.


def fill(target: Any, value: Any) -> None:
    """Assigns to all records of an array, or to one: records, a tuple, a number for all fields, or a sequence of such."""
    if holds_records(value):
        fill_by_records(target, value)
    elif isinstance(value, (list, range)):
        if is_one(target):
            raise ValueError("setting an array element with a sequence.")
        fill_apart(target, array_of(value, target.dtype))
    elif is_one(target):
        fill_one(target, value)
    elif isinstance(value, np.ndarray):
        fill_by_numbers(target, value)
    else:
        fill_apart(target, array_of(value, target.dtype))


def fill_one(target: Any, value: Any) -> None:
    """Assigns a tuple, or a number for all fields, to one record."""
    names = target.dtype.names
    if isinstance(value, tuple):
        if len(value) != len(names):
            raise ValueError(f"could not assign tuple of length {len(value)} to structure with {len(names)} fields.")
        for k in range(len(names)):
            fill_member(target, names[k], value[k])
    else:
        if isinstance(value, np.ndarray) and value.ndim > 0:
            if value.size != 1:
                raise ValueError("setting an array element with a sequence.")
            value = value[(*[0 for _ in range(value.ndim)],)]
        for name in names:
            target[name] = value


def fill_member(target: Any, name: str, value: Any) -> None:
    """Assigns a member of a tuple to a field of a record."""
    is_sequence = isinstance(value, (list, tuple, range)) or (isinstance(value, np.ndarray) and value.ndim > 0)
    if is_sequence and len(target.dtype[name].shape) == 0 and target.dtype[name].names is None:
        raise ValueError("setting an array element with a sequence.")
    target[name] = value


def fill_by_numbers(target: Any, value: Any) -> None:
    """Assigns an array of numbers: each to all fields of a record."""
    apart = np.copy(value)
    for name in target.dtype.names:
        extra = inner_axes(target[name], target)
        target[name] = apart[(..., *[None for _ in range(extra)])]


def need_fields(target: Any, value: Any) -> None:
    """Raises where records have not as many fields as those that they are assigned to."""
    if len(target.dtype.names) != len(value.dtype.names):
        rule = "." if is_one(value) else " according to the rule 'unsafe'"
        raise TypeError(f"Cannot cast array data from {value.dtype!r} to {target.dtype!r}{rule}")
    for k in range(len(target.dtype.names)):
        ours = target.dtype[target.dtype.names[k]]
        theirs = value.dtype[value.dtype.names[k]]
        if ours.shape != theirs.shape and (len(theirs.shape) > 0 or theirs.names is not None):
            primitives.refuse("an assignment between arrays of different shapes in records", "assign field by field")
        if (ours.base.names is None) != (theirs.base.names is None):
            primitives.refuse("an assignment between a field that is a record and one that is not", "assign field by field")


def fill_apart(target: Any, value: Any) -> None:
    """Assigns records that share no memory with those that they are assigned to."""
    fill_by_records(target, value, True)


def fill_by_records(target: Any, value: Any, is_apart: bool = False) -> None:
    """Assigns records, field by field in the order of their names. Memory may be shared."""
    need_fields(target, value)
    if is_one(target) and not is_one(value) and value.ndim > 0:
        if value.size != 1:
            raise ValueError("setting an array element with a sequence.")
        value = value[(*[0 for _ in range(value.ndim)],)]
    names = target.dtype.names
    others = value.dtype.names
    if not is_apart and (not is_one(target) or not is_one(value) or target.dtype != value.dtype):
        value = value.copy()  # NumPy reads only a single record of the same dtype while it writes
    for k in range(len(names)):
        part = value[others[k]]
        extra = len(target.dtype[names[k]].shape) - len(value.dtype[others[k]].shape)
        if extra > 0 and isinstance(part, np.ndarray):
            part = part[(..., *[None for _ in range(extra)])]
        target[names[k]] = part

def put(target: Any, index: tuple[Any, ...], value: Any) -> None:
    """Assigns to the records that an index with arrays takes."""
    apart = tuple([np.copy(part) if isinstance(part, np.ndarray) else part for part in index])
    if isinstance(value, np.ndarray) and value.dtype.names is None:
        numbers = np.copy(value)
        for name in target.dtype.names:
            extra = inner_axes(target[name], target)
            put_field(target[name], apart, numbers[(..., *[None for _ in range(extra)])])
        return
    if not holds_records(value):
        value = array_of(value, target.dtype)
    need_fields(target, value)
    records = value.copy()  # a field may be read after another has been written
    names = target.dtype.names
    others = records.dtype.names
    for k in range(len(names)):
        part = records[others[k]]
        extra = len(target.dtype[names[k]].shape) - len(records.dtype[others[k]].shape)
        if extra > 0 and isinstance(part, np.ndarray):
            part = part[(..., *[None for _ in range(extra)])]
        put_field(target[names[k]], apart, part)


def no_places() -> Any:
    """An empty list as an index."""
    return np.empty(0, np.intp)


def put_field(field: Any, index: tuple[Any, ...], value: Any) -> None:
    field[index] = value


# New records.


def shape_of(shape: Any) -> tuple[Any, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def new(shape: tuple[Any, ...], dtype: Any) -> Any:
    """An array of records in C order whose bytes mean nothing."""
    return primitives.records(np.empty((*shape, dtype.itemsize), np.uint8), dtype, "ndarray")


def zeroed(shape: tuple[Any, ...], dtype: Any) -> Any:
    return primitives.records(np.zeros((*shape, dtype.itemsize), np.uint8), dtype, "ndarray")


def need_c_order(order: Any) -> None:
    if order not in ("C", "K", "A", None):
        primitives.refuse("records in Fortran order", "leave `order` out")


@of_records(np.empty)
def empty(shape: Any, dtype: Any = float, order: Any = "C") -> Any:
    need_c_order(order)
    return new(shape_of(shape), np.dtype(dtype))


@of_records(np.zeros)
def zeros(shape: Any, dtype: Any = float, order: Any = "C") -> Any:
    need_c_order(order)
    return zeroed(shape_of(shape), np.dtype(dtype))


@of_records(np.ones)
def ones(shape: Any, dtype: Any = None, order: Any = "C") -> Any:
    return full(shape, 1, dtype, order)


@of_records(np.full)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Any:
    need_c_order(order)
    made = new(shape_of(shape), fill_value.dtype if dtype is None else np.dtype(dtype))
    if isinstance(fill_value, tuple):
        primitives.refuse("np.full with a tuple", "assign it to all of np.empty")
    made[...] = fill_value
    return made


def shape_of_list(value: Any) -> tuple[int, ...]:
    """The shape of nested lists, whose elements are tuples, numbers or records."""
    if isinstance(value, list):
        if primitives.is_known(len(value)) and len(value) > 0:
            return (len(value), *shape_of_list(value[0]))
        return (len(value),)
    return (len(value),) if isinstance(value, range) else value.shape if isinstance(value, np.ndarray) else ()


def array_of(value: Any, dtype: Any) -> Any:
    """A new array of records of a dtype: of a tuple or a number, or of sequences of such."""
    made = new(shape_of_list(value), dtype)
    if isinstance(value, (list, range)):
        for k in range(len(value)):
            put_element(made, k, value[k])
    elif isinstance(value, np.ndarray):
        made[...] = value
    else:
        fill_one(made[()], value)
    return made


def put_element(made: Any, k: int, value: Any) -> None:
    """Makes an element of a sequence a part of an array."""
    if made.ndim == 1:
        made[k] = value
        return
    part = made[k]
    if not isinstance(value, list) or len(value) != part.shape[0]:
        primitives.refuse("an array of records of lists of different lengths", "use lists of one length")
    for i in range(len(value)):
        put_element(part, i, value[i])


def dtype_inside(value: Any) -> Any:
    """The dtype of the records in nested sequences."""
    if holds_records(value):
        return value.dtype
    if not isinstance(value, (list, tuple)) or len(value) == 0:
        primitives.refuse("an array of records and something else", "give it a dtype")
    dtype = dtype_inside(value[0])
    for one in value:
        if dtype_inside(one) != dtype:
            primitives.refuse("an array of records of several dtypes", "give it a dtype")
    return dtype


@of_records(np.array)
def array(a: Any, dtype: Any = None, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0) -> Any:
    need_c_order(order)
    if ndmin != 0:
        primitives.refuse("`ndmin` of an array of records", "reshape it")
    if not holds_records(a):
        if dtype is not None:
            return array_of(a, np.dtype(dtype))
        return array_of([one for one in a] if isinstance(a, tuple) else a, dtype_inside(a))
    if dtype is not None and np.dtype(dtype) != a.dtype:
        return astype(a, dtype)
    return as_it_lies(a, subok) if copy else as_ndarray(a)


@of_records(np.asarray)
def asarray(a: Any, dtype: Any = None, order: Any = None) -> Any:
    return array(a, dtype, False, order)


@of_records(np.asanyarray)
def asanyarray(a: Any, dtype: Any = None, order: Any = None) -> Any:
    return a if isinstance(a, np.recarray) and dtype is None else array(a, dtype, False, order)


def as_ndarray(a: Any) -> Any:
    """What np.asarray makes of an array of records, or of a record, whose memory NumPy shares."""
    return primitives.records(primitives.bytes_of(a), a.dtype, "ndarray") if isinstance(a, (np.recarray, np.void)) else a


def as_it_lies(a: Any, subok: bool = False) -> Any:
    """A copy with axes in the order of memory; NumPy copies no single record."""
    if is_one(a):
        return as_ndarray(a)
    return primitives.records(np.copy(primitives.bytes_of(a)), a.dtype, holder_of(a) if subok else "ndarray")


@of_records(np.copy)
def copied(a: Any, order: Any = "K", subok: bool = False) -> Any:
    need_c_order(order)
    return as_it_lies(a, subok)


@method("copy")
def copy(a: Any, order: Any = "C") -> Any:
    need_c_order(order)
    return alike(primitives.bytes_of(a).copy(), a)


@of_records(np.empty_like)
def empty_like(prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
    need_c_order(order)
    if dtype is not None and np.dtype(dtype).names is None:
        return np.empty(prototype.shape if shape is None else shape, dtype)
    if shape is not None or not holds_records(prototype):
        return new(prototype.shape if shape is None else shape_of(shape), prototype.dtype if dtype is None else np.dtype(dtype))
    if dtype is not None and np.dtype(dtype) != prototype.dtype:
        return new(prototype.shape, np.dtype(dtype))
    bytes = np.empty_like(primitives.bytes_of(prototype))
    return primitives.records(bytes, prototype.dtype, "recarray" if subok and isinstance(prototype, np.recarray) else "ndarray")


@of_records(np.zeros_like)
def zeros_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
    made = empty_like(a, dtype, order, subok, shape)
    made[...] = 0
    return made


@of_records(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
    made = empty_like(a, dtype, order, subok, shape)
    made[...] = 1
    return made


@method("astype")
def astype(a: Any, dtype: Any) -> Any:
    other = np.dtype(dtype)
    if other.names is None and len(a.dtype.names) == 1 and a.dtype[0].names is None and other.subdtype is None and len(a.dtype[0].shape) == 0:
        return a[a.dtype.names[0]].astype(other)
    if other.names is None:
        raise TypeError(f"Cannot cast array data from {a.dtype!r} to {other!r} according to the rule 'unsafe'")
    made = new(a.shape, other)
    made[...] = a
    if is_one(a):
        return made[()]
    return made.view(np.recarray) if isinstance(a, np.recarray) else made


# The same records in other shapes.


@attribute("nbytes")
def nbytes(a: Any) -> int:
    return a.size * a.itemsize


@of_records(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return a.shape


@of_records(np.ndim)
def ndim(a: Any) -> int:
    return a.ndim


@of_records(np.size)
def size(a: Any) -> int:
    return a.size


def in_shape(a: Any, shape: tuple[Any, ...]) -> Any:
    return alike(primitives.bytes_of(a).reshape((*whole_shape(shape, a.size), a.itemsize)), a)


@method("reshape")
def reshape(a: Any, *shape: Any) -> Any:
    return in_shape(a, shape_of(shape[0]) if len(shape) == 1 else shape)


@of_records(np.reshape)
def reshaped(a: Any, shape: Any) -> Any:
    return in_shape(a, shape_of(shape))


@of_records(np.ravel)
@method("ravel")
def ravel(a: Any) -> Any:
    bytes = primitives.bytes_of(a)
    return in_shape(a, (-1,)) if primitives.is_contiguous(bytes) else flatten(a)


@method("flatten")
def flatten(a: Any) -> Any:
    return alike(primitives.bytes_of(a).copy().reshape((a.size, a.itemsize)), a)


@method("transpose")
def transpose(a: Any, *axes: Any) -> Any:
    if len(axes) == 0 or axes[0] is None:
        return a.T
    wanted = axes[0] if isinstance(axes[0], (tuple, list)) else axes
    if len(wanted) != a.ndim:
        raise ValueError("axes don't match array")
    order = tuple([normal_axis(axis, a.ndim) for axis in wanted])
    return alike(primitives.bytes_of(a).transpose((*order, a.ndim)), a)


@of_records(np.transpose)
def transposed(a: Any, axes: Any = None) -> Any:
    return transpose(a, axes)


@of_records(np.swapaxes)
@method("swapaxes")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return alike(primitives.bytes_of(a).swapaxes(normal_axis(axis1, a.ndim), normal_axis(axis2, a.ndim)), a)


def need_one_axis(axis: Any) -> None:
    if isinstance(axis, (tuple, list)):
        primitives.refuse("several axes of records", "give one at a time")


@of_records(np.expand_dims)
def expand_dims(a: Any, axis: int) -> Any:
    need_one_axis(axis)
    return alike(np.expand_dims(primitives.bytes_of(a), normal_axis(axis, a.ndim + 1)), a)


@of_records(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    need_one_axis(axis)
    axes = tuple([k for k in range(m.ndim)]) if axis is None else (normal_axis(axis, m.ndim),)
    return alike(np.flip(primitives.bytes_of(m), axes), m)


@of_records(np.broadcast_to)
def broadcast_to(array: Any, shape: Any) -> Any:
    np.broadcast_to(first_bytes(array), shape_of(shape))  # raises what NumPy raises
    bytes = np.broadcast_to(primitives.bytes_of(array), (*shape_of(shape), array.itemsize))
    return primitives.records(bytes, array.dtype, "ndarray")


def first_bytes(a: Any) -> Any:
    """An array of the shape of records."""
    return primitives.bytes_of(a)[..., 0]


def shapes_of(arrays: Any) -> Any:
    return [one.shape if holds_records(one) else np.shape(one) for one in arrays]


def need_as_many_axes(shapes: Any) -> None:
    if len(shapes[0]) == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    for k in range(len(shapes)):
        if len(shapes[k]) != len(shapes[0]):
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at index 0 has "
                f"{len(shapes[0])} dimension(s) and the array at index {k} has {len(shapes[k])} dimension(s)"
            )


def joined_dtype(arrays: Any) -> Any:
    """The dtype of several arrays of records, which have one."""
    for one in arrays:
        if not holds_records(one) or one.dtype != arrays[0].dtype:
            np.result_type(*[each.dtype if holds_records(each) else np.asarray(each).dtype for each in arrays])
            primitives.refuse("joining arrays of different dtypes with fields", "convert them by astype")
    return arrays[0].dtype


@of_records(np.concatenate)
def concatenate(arrays: Any, axis: Any = 0) -> Any:
    if axis is not None:
        need_as_many_axes(shapes_of(arrays))
    dtype = joined_dtype(arrays)
    if axis is None:
        flat = [primitives.bytes_of(one).reshape((one.size, dtype.itemsize)) for one in arrays]
        return primitives.records(np.concatenate(flat), dtype, "ndarray")
    along = normal_axis(axis, arrays[0].ndim)
    np.concatenate([first_bytes(one) for one in arrays], along)  # raises what NumPy raises
    return primitives.records(np.concatenate([primitives.bytes_of(one) for one in arrays], along), dtype, "ndarray")


@of_records(np.stack)
def stack(arrays: Any, axis: int = 0) -> Any:
    shapes = shapes_of(arrays)
    for shape in shapes:
        if shape != shapes[0]:
            raise ValueError("all input arrays must have the same shape")
    dtype = joined_dtype(arrays)
    along = normal_axis(axis, arrays[0].ndim + 1)
    return primitives.records(np.stack([primitives.bytes_of(one) for one in arrays], along), dtype, "ndarray")


@of_records(np.take)
@method("take")
def take(a: Any, indices: Any, axis: Any = None) -> Any:
    if axis is None:
        return ravel(a)[indices]
    return a[(*[slice(None) for _ in range(normal_axis(axis, a.ndim))], indices)]


@method("view")
def view(a: Any, dtype: Any = None) -> Any:
    if dtype is None:
        return alike(primitives.bytes_of(a), a)
    if dtype is np.recarray:
        return primitives.records(primitives.bytes_of(a), np.dtype((np.record, a.dtype)), "recarray")
    if dtype is np.ndarray:
        return primitives.records(primitives.bytes_of(a), a.dtype, "ndarray")
    other = np.dtype(dtype)
    if other.names is None or other.itemsize != a.itemsize:
        primitives.refuse("a view of records as other elements", "use a view of a field")
    return primitives.records(primitives.bytes_of(a), other, holder_of(a))


# Values.


@method("fill")
def fill_all(a: Any, value: Any) -> None:
    a[...] = value


@method("item")
def item(a: Any, *args: Any) -> Any:
    if is_one(a):
        return tuple([number_of(a[name]) for name in a.dtype.names])
    indices = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    if len(indices) == 0:
        if a.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return item(a[(*[0 for _ in range(a.ndim)],)])
    if len(indices) != a.ndim:
        primitives.refuse("`item` of records by one number", "give an index for each axis")
    return item(a[indices])


def number_of(x: Any) -> Any:
    """A member of the tuple that a record is in Python."""
    if holds_records(x):
        return item(x) if is_one(x) else x
    return x.copy() if isinstance(x, np.ndarray) else primitives.python_number(x)


def equal(a: Any, b: Any) -> Any:
    return compared(a, b, True)


def not_equal(a: Any, b: Any) -> Any:
    return compared(a, b, False)


def compared(a: Any, b: Any, wants_equal: bool) -> Any:
    """Whether all fields are equal, or some are not, as arrays of records or records are broadcast together."""
    if isinstance(a, np.recarray) or isinstance(b, np.recarray):
        primitives.refuse("a comparison of recarrays, which makes a recarray of bools", "compare x.view(np.ndarray)")
    if a.dtype.names != b.dtype.names:
        raise TypeError(
            "Cannot compare structured arrays unless they have a common dtype.  I.e. `np.result_type(arr1, arr2)` must be "
            "defined."
        )
    result: Any = wants_equal
    for k in range(len(a.dtype.names)):
        name = a.dtype.names[k]
        if a.dtype[name].shape != b.dtype[name].shape:
            primitives.refuse("a comparison of arrays of different shapes in records", "compare fields")
        one = field_compared(a[name], b[name], len(a.dtype[name].shape), wants_equal)
        result = one if k == 0 else (result & one if wants_equal else result | one)
    return result


def field_compared(x: Any, y: Any, inner: int, wants_equal: bool) -> Any:
    """The same of a field, which has so many axes inside records."""
    one = compared(x, y, wants_equal) if holds_records(x) else x == y if wants_equal else x != y
    if inner == 0:
        return one
    axes = tuple([k for k in range(-inner, 0)])
    return np.all(one, axes) if wants_equal else np.any(one, axes)


def contains(a: Any, x: Any) -> bool:
    return bool(np.any(equal(a, x)))


@of_records(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if equal_nan or not holds_records(a1) or not holds_records(a2):
        primitives.refuse("np.array_equal of records with something else, or with `equal_nan`", "compare their fields")
    if a1.ndim != a2.ndim:
        return False
    for k in range(a1.ndim):
        if a1.shape[k] != a2.shape[k]:
            return False
    return bool(np.all(equal(a1, a2)))


@of_records(np.where)
def where(condition: Any, x: Any, y: Any) -> Any:
    dtype = joined_dtype((x, y))
    np.where(condition, first_bytes(x), first_bytes(y))  # raises what NumPy raises
    chosen = np.where(np.asarray(condition)[..., None], primitives.bytes_of(x), primitives.bytes_of(y))
    return primitives.records(chosen, dtype, "ndarray")
