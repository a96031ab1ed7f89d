"""New arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import primitives
from .registry import implements
from .shapes import along_diagonal, is_fortran, swapaxes


def as_array(a: Any, dtype: Any, copy: Any, order: Any, ndmin: int) -> Any:
    """What np.array and np.asarray make of an array."""
    wanted = "K" if order is None else order.upper()
    in_place = dtype is None or dtype == a.dtype
    if wanted == "F" and a.ndim > 0:
        in_place = in_place and primitives.is_contiguous(a.T)
    elif wanted == "C":
        in_place = in_place and primitives.is_contiguous(a)
    if copy or not in_place:
        if copy is False:
            raise ValueError(
                "Unable to avoid copy while creating an array as requested.\nIf using `np.array(obj, copy=False)` replace "
                "it with `np.asarray(obj)` to allow a copy when needed (no behavior change in NumPy 1.x).\nFor more "
                "details, see https://numpy.org/devdocs/numpy_2_0_migration_guide.html#adapting-to-changes-in-the-copy-"
                "keyword."
            )
        converted = a if dtype is None else a.astype(dtype)
        if wanted == "F":
            a = converted.T.copy().T
        elif wanted == "C":
            a = converted.copy()
        else:
            a = copy_as_it_lies(a).astype(converted.dtype) if wanted == "A" else np.copy(converted)
    if a.ndim < ndmin:
        return a[(*[None for _ in range(ndmin - a.ndim)], ...)]
    return a


def copy_as_it_lies(a: Any) -> Any:
    """A copy in Fortran's order where the array is in that alone, else in C order."""
    if is_fortran(a, "A"):
        return np.copy(a, "F")
    return np.copy(a, "C")


def astype_of_array(
    a: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True
) -> Any:
    """`astype` of an array or a number with all its keywords."""
    wanted = np.dtype(dtype)
    if casting == "same_value":
        primitives.refuse("the casting rule 'same_value'", "compare the array with the converted one")
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe', 'same_value' (got {casting!r})")
    if not np.can_cast(a.dtype, wanted, casting):
        what = "array data" if isinstance(a, np.ndarray) and a.ndim > 0 else "scalar"
        raise TypeError(f"Cannot cast {what} from {a.dtype!r} to {wanted!r} according to the rule '{casting}'")
    if not isinstance(a, np.ndarray):
        return a.astype(wanted)
    return as_array(a, wanted, True if copy else None, order, 0)


def need_like(like: Any) -> None:
    """Raises where `like` is no array; it has no other effect."""
    if like is not None and not isinstance(like, np.ndarray):
        raise TypeError("The `like` argument must be an array-like that implements the `__array_function__` protocol.")


@implements(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    need_like(like)
    a = np.asarray(a, dtype, order="C")
    return a[None] if a.ndim == 0 else a


@implements(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    need_like(like)
    a = np.asarray(a, dtype, order="F")
    return a[None] if a.ndim == 0 else a


@implements(np.ndarray)
def ndarray(shape: Any, dtype: Any = float, buffer: Any = None, offset: Any = 0, strides: Any = None, order: Any = None) -> Any:
    if buffer is not None or strides is not None:
        primitives.refuse("`np.ndarray` of a buffer or with strides", "use np.frombuffer, or as_strided")
    return np.empty(shape, dtype, "C" if order is None else order)


def numbers_between(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """`np.arange` at a dtype: the steps from the first number to the second one, repeated at that dtype."""
    at = np.dtype(dtype)
    length = np.float64((stop - start) / step)
    if length != length:
        raise ValueError("arange: cannot compute length")
    if np.ceil(length) >= 2.0**63:
        raise ValueError("Maximum allowed size exceeded")
    count = max(int(np.ceil(length)), 0)
    if at.kind == "b" and count > 2:
        raise TypeError("arange() is only supported for booleans when the result has at most length 2.")
    first = at.type(start) if count > 0 else at.type(0)
    second = at.type(start + step) if count > 1 else first
    places = np.arange(count)
    if at.kind == "b":
        return np.where(places == 0, first, second)
    if at == np.float16:
        return (np.float32(first) + places.astype(np.float32) * (np.float32(second) - np.float32(first))).astype(at)
    return first + places.astype(at) * (second - first)


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    steps = num - 1 if endpoint else num
    first = np.asarray(start)
    last = np.asarray(stop)
    numbers = [x if isinstance(x, (int, float, complex, np.generic)) else np.asarray(x) for x in (start, stop)]
    common = np.result_type(*numbers, 0.0)
    distance = np.asarray(last.astype(common) - first.astype(common))
    count = np.arange(num, device=device).astype(common)[(slice(None), *[None for _ in range(distance.ndim)])]
    if steps <= 0:
        places = count * distance
    else:
        step = distance / steps
        if np.any(step == 0):
            places = count / steps * distance
        else:
            places = count * step
    result = places + first.astype(common)
    if endpoint and num > 1:
        result[-1, ...] = last
    if axis != 0:
        result = np.moveaxis(result, 0, axis)
    if dtype is not None:
        if np.issubdtype(dtype, np.integer):
            result = np.floor(result)
        result = result.astype(dtype)
    if not retstep:
        return result
    if steps <= 0:
        return result, np.nan
    return result, step[()] if distance.ndim == 0 else step


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    if isinstance(base, (list, tuple, np.ndarray)) and np.ndim(base) > 0:
        most = max(np.ndim(start), np.ndim(stop), np.ndim(base))
        start, stop, base = (with_axes(np.asarray(x), most) for x in (start, stop, base))
        base = np.expand_dims(base, axis)
    powers = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return powers if dtype is None else powers.astype(dtype)


def with_axes(x: Any, ndim: int) -> Any:
    """An array with axes of length 1 before its own."""
    return x[(*[None for _ in range(ndim - x.ndim)], ...)]


@implements(np.geomspace)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    first = np.asarray(start)
    last = np.asarray(stop)
    if np.any(first == 0) or np.any(last == 0):
        raise ValueError("Geometric sequence cannot include zero")
    given = np.dtype(np.float64) if dtype is None else np.dtype(dtype)
    common = np.result_type(first.dtype, last.dtype, 0.0, given)
    first = first.astype(common)
    sign = np.sign(first)
    first = first / sign
    last = last.astype(common) / sign
    result = np.asarray(logspace(np.log10(first), np.log10(last), num, endpoint, 10.0, common))
    if num > 0:
        result[0, ...] = first
        if num > 1 and endpoint:
            result[-1, ...] = last
    result = result * sign
    if axis != 0:
        result = np.moveaxis(result, 0, axis)
    return result.astype(common if dtype is None else dtype)


@implements(np.eye)
def eye(N: int, M: Any = None, k: int = 0, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    columns = N if M is None else M
    result = np.zeros((N, columns), dtype, order, device=device, like=like)
    along_diagonal(result, operator.index(k))[...] = 1
    return result


@implements(np.identity)
def identity(n: int, dtype: Any = None, *, like: Any = None) -> Any:
    return eye(n, dtype=float if dtype is None else dtype, like=like)


@implements(np.tri)
def tri(N: int, M: Any = None, k: int = 0, dtype: Any = float, *, like: Any = None) -> Any:
    need_like(like)
    columns = N if M is None else M
    return (np.arange(N)[:, None] >= np.arange(columns) - k).astype(dtype)


def split_at_diagonal(m: Any, k: int, lower: bool) -> Any:
    m = np.asarray(m)
    if m.ndim == 0:
        raise TypeError("tri() missing 1 required positional argument: 'N'")
    rows = m.shape[-2] if m.ndim > 1 else m.shape[0]
    below = np.arange(rows)[:, None] >= np.arange(m.shape[-1]) - k
    return np.where(below, m, np.zeros(1, m.dtype)) if lower else np.where(below, np.zeros(1, m.dtype), m)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    return split_at_diagonal(m, k, True)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    return split_at_diagonal(m, k - 1, False)


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = len(x) if N is None else N
    result = np.empty((len(x), columns), np.promote_types(x.dtype, np.int64))
    powers = result if increasing else result[:, ::-1]
    for row in range(len(x)):
        power = np.ones(1, result.dtype)[0]
        for k in range(columns):
            powers[row, k] = power
            power = power * x[row]
    return result


@implements(np.fromfunction)
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any) -> Any:
    need_like(like)
    return function(*indices(shape, dtype, sparse=False, apart=True), **kwargs)


@implements(np.indices)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False, *, apart: bool = False) -> Any:
    shape = tuple(dimensions)
    lines = [
        np.reshape(np.arange(shape[k], dtype=dtype), tuple([-1 if other == k else 1 for other in range(len(shape))]))
        for k in range(len(shape))
    ]
    if sparse:
        return tuple(lines)
    grids = [primitives.broadcast(line, shape) for line in lines]
    if apart:
        return tuple([grid.copy() for grid in grids])
    return np.stack(grids) if len(grids) > 0 else np.empty((0,), dtype)


def line_of(part: slice, dtype: Any, alone: bool) -> Any:
    """The numbers that a slice names; an imaginary step is how many there are, both ends among them."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        count = int(abs(step))
        return np.arange(count) * ((part.stop - start) / (count - 1) if count > 1 else step.imag) + start
    count = int(np.ceil((part.stop - start) / (step * 1.0)))
    if count < 0 and not alone:
        raise ValueError("negative dimensions are not allowed")
    return (np.arange(count).astype(dtype) * step + start).astype(dtype)


def lines_of(parts: Any) -> list[Any]:
    given = [number for part in parts for number in (part.start, part.stop, part.step) if number is not None]
    dtype: Any = np.int64
    for number in given:
        if not isinstance(number, (int, np.integer)):
            dtype = np.float64
    return [line_of(part, dtype, len(parts) == 1) for part in parts]


@implements(np.mgrid)
def mgrid(index: Any) -> Any:
    if not isinstance(index, tuple):
        return lines_of((index,))[0]
    if len(index) == 0:
        return np.empty((0,), np.int64)
    return np.stack(meshgrid(*lines_of(index), copy=False, indexing="ij"))


@implements(np.ogrid)
def ogrid(index: Any) -> Any:
    if not isinstance(index, tuple):
        return lines_of((index,))[0]
    return meshgrid(*lines_of(index), copy=False, sparse=True, indexing="ij")


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    if indexing != "xy" and indexing != "ij":
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    flat = [np.ravel(x) for x in xi]
    lines = [np.reshape(flat[k], tuple([-1 if other == k else 1 for other in range(n)])) for k in range(n)]
    if indexing == "xy" and n > 1:
        lines = [swapaxes(line, 0, 1) for line in lines]
    if not sparse:
        lines = list(np.broadcast_arrays(*lines))
    return tuple([line.copy() if copy else line for line in lines])


@implements(np.s_)
def s_(index: Any) -> Any:
    return index


@implements(np.index_exp)
def index_exp(index: Any) -> Any:
    return index if isinstance(index, tuple) else (index,)


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    lines = []
    for k in range(len(args)):
        line = np.asarray(args[k])
        if line.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if isinstance(args[k], (list, tuple)) and len(args[k]) == 0:
            line = line.astype(np.int64)
        if line.dtype == np.bool:
            line = np.flatnonzero(line)
        lines.append(np.reshape(line, tuple([-1 if other == k else 1 for other in range(len(args))])))
    return tuple(lines)


@implements(np.tril_indices)
def tril_indices(n: int, k: int = 0, m: Any = None) -> tuple[Any, ...]:
    return np.nonzero(tri(n, m, k, bool))


@implements(np.triu_indices)
def triu_indices(n: int, k: int = 0, m: Any = None) -> tuple[Any, ...]:
    return np.nonzero(~tri(n, m, k - 1, bool))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tril_indices(arr.shape[-2], k, arr.shape[-1])


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


@implements(np.diag_indices)
def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    line = np.arange(n)
    return tuple([line for _ in range(ndim)])


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    for length in arr.shape:
        if length != arr.shape[0]:
            raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if not isinstance(x, (np.ndarray, np.generic, int, float, complex)):
        raise TypeError(f"Input should be a NumPy array or scalar. It is a {type(x)} instead.")
    need_cpu(device)
    if isinstance(x, np.ndarray) and not copy and x.dtype == np.dtype(dtype):
        return x
    return x.astype(dtype)


def need_cpu(device: Any) -> None:
    if device is not None and device != "cpu":
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')


@implements(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    result = np.asarray(a, dtype, order)
    if result.dtype.kind in "fc" and not np.all(np.isfinite(result)):
        raise ValueError("array must not contain infs or NaNs")
    return result


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    for a in arrays:
        if a.dtype.kind == "b":
            raise TypeError("can't get common type for non-numeric array")
    dtypes = [a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64) for a in arrays]
    return np.result_type(np.float16, *dtypes).type


@implements(np.isfortran)
def isfortran(a: Any) -> bool:
    return primitives.is_contiguous(a.T) and not primitives.is_contiguous(a)
