"""Reductions and scans, with all of NumPy's keywords."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import primitives
from .registry import implements
from .shapes import need_castable, need_no_bool, normal_axes, normal_axis, output, text_of_shape

NoValue = np._NoValue
COMBINERS = (
    np.add,
    np.multiply,
    np.minimum,
    np.maximum,
    np.fmin,
    np.fmax,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.gcd,
    np.lcm,
)


def known_axis(axis: Any, ndim: int) -> int:
    """An axis counted from the front, known when compiling."""
    if isinstance(axis, np.ndarray):
        axis = operator.index(axis)
    if not isinstance(axis, (int, np.integer)):
        raise TypeError(f"'{type(axis).__name__}' object cannot be interpreted as an integer")
    normal_axis(axis, ndim)
    return tuple(range(ndim))[axis]


def known_axes(axis: Any, ndim: int, may_be_bool: bool = False) -> tuple[int, ...]:
    """The axes that an argument names, counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    for one in axis if isinstance(axis, tuple) else (axis,):
        if not may_be_bool:
            need_no_bool(one, "an integer is required")
    if not isinstance(axis, tuple):
        return (known_axis(axis, ndim),)
    axes = tuple([known_axis(one, ndim) for one in axis])
    for i in range(len(axes)):
        if axes[i] in axes[:i]:
            raise ValueError("duplicate value in 'axis'")
    return axes


def axes_of_ufunc(axis: Any, ndim: int) -> tuple[int, ...]:
    """The same for a method of a ufunc, to which a number has one axis, too."""
    is_only = ndim == 0 and isinstance(axis, (int, np.integer)) and (axis == 0 or axis == -1)
    return () if is_only and not isinstance(axis, bool) else known_axes(axis, ndim)


def kept_axes(axes: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return tuple([axis for axis in range(ndim) if axis not in axes])


def with_axes_kept(result: Any, axes: tuple[int, ...], ndim: int) -> Any:
    """A reduction's result with axes of length 1 where it has been reduced."""
    if ndim == 0 or len(axes) == 0:
        return result
    return result[tuple([None if axis in axes else slice(None) for axis in range(ndim)])]


def need_output(out: Any, shape: tuple[int, ...], axes: tuple[int, ...], name: str, keepdims: Any = False) -> None:
    """Raises where an output has not the axes of a reduction of a shape along some axes, or other lengths."""
    if out is None:
        return
    ndim = len(shape)
    if out.ndim != (ndim if keepdims else ndim - len(axes)):
        hint = " (must match the operand's when keepdims=True)" if keepdims else ""
        raise ValueError(
            f"output parameter for reduction operation {name} has the wrong number of dimensions: "
            f"Found {out.ndim} but expected {ndim if keepdims else ndim - len(axes)}{hint}"
        )
    places = tuple(range(ndim)) if keepdims else kept_axes(axes, ndim)
    for i in range(out.ndim):
        if places[i] not in axes and out.shape[i] != shape[places[i]] and out.shape[i] != 1:
            raise ValueError(
                "operands could not be broadcast together with remapped shapes [original->remapped]: "
                f"{text_of_shape(out.shape)}->({remapped(out.shape, places, ndim)}) {text_of_shape(shape)} "
            )
    for i in range(out.ndim - 1, -1, -1):
        if places[i] in axes and out.shape[i] != 1:
            raise ValueError(
                f"operand was set up as a reduction along axis {i}, but the length of the axis is {out.shape[i]} (it has to be 1)"
            )
        if out.shape[i] != shape[places[i]] and places[i] not in axes:
            raise ValueError(
                f"output operand requires a reduction along dimension {i}, but the reduction is not enabled. "
                f"The dimension size of {out.shape[i]} does not match the expected output shape."
            )
    primitives.need_writable(out, "output array is read-only")


def remapped(shape: tuple[int, ...], places: tuple[int, ...], ndim: int) -> str:
    """The lengths of an output at the positions of their axes, as NumPy's messages show them."""
    text = ""
    first = places[0] if len(places) > 0 else ndim
    for k in range(first, ndim):
        shown = f"{shape[places.index(k)]}" if k in places else "newaxis"
        text = f"{text},{shown}" if k > first else shown
    return text


def delivered(result: Any, out: Any, name: str, keepdims: Any = False) -> Any:
    """What a reduction returns: its result, or the output that it is put into."""
    out = output(out)
    if out is None:
        return result
    need_output(out, np.asarray(result).shape, (), name)
    out[...] = result
    return out


def is_absent(where: Any) -> bool:
    """Whether there is no mask, or one that is known to let everything through."""
    return where is NoValue or where is None or (isinstance(where, bool) and primitives.is_known(where) and where)


def is_given(value: Any) -> bool:
    return value is not NoValue and value is not None


def need_mask_dtype(where: Any) -> None:
    if not is_absent(where):
        need_castable(np.asarray(where).dtype, np.dtype(np.bool_), "safe")


def mask_of(where: Any, x: Any) -> Any:
    """A mask of the elements of x that are taken; None: all of them."""
    if is_absent(where):
        return None
    mask = np.asarray(where)
    need_mask_dtype(where)
    if mask.ndim > x.ndim:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    for k in range(1, mask.ndim + 1):
        if mask.shape[-k] != 1 and mask.shape[-k] != x.shape[-k]:
            raise ValueError(
                "operands could not be broadcast together with remapped shapes [original->remapped]: "
                f"{text_of_shape(x.shape)} {text_of_shape(mask.shape)} "
            )
    return mask if x.ndim == 0 else primitives.broadcast(mask, x.shape)


def product(numbers: Any) -> int:
    result = 1
    for number in numbers:
        result = result * number
    return result


def reduction(ufunc: Any, a: Any, axis: Any, dtype: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """`ufunc.reduce` with `axis=None` for all axes."""
    x = np.asarray(a)
    need_mask_dtype(where)
    out = output(out)
    keeps = keepdims is not NoValue and keepdims
    axes = axes_of_ufunc(axis, x.ndim)
    x = x.astype(reduction_dtype(ufunc, "reduce", x, dtype, out))
    if len(axes) > 1 and ufunc.identity is None and ufunc not in (np.minimum, np.maximum, np.fmin, np.fmax):
        raise ValueError(f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified")
    need_output(out, x.shape, axes, ufunc.__name__, keeps)
    mask = mask_of(where, x)
    combiner = ufunc
    if ufunc is np.logical_and:
        combiner = np.bitwise_and
    elif ufunc is np.logical_or:
        combiner = np.bitwise_or
    elif ufunc is np.logical_xor:
        combiner = np.bitwise_xor
    if combiner in COMBINERS:
        result = combined(combiner, x, axes, initial, mask)
    else:
        result = folded(ufunc, x, axes, initial, mask)
    if keeps:
        result = with_axes_kept(result, axes, x.ndim)
    if out is None:
        return result
    out[...] = result
    return out


def reduction_dtype(ufunc: Any, method: str, x: Any, dtype: Any, out: Any) -> np.dtype:
    """What operands are cast to before a method of a ufunc combines them; raises what it raises for such types."""
    return primitives.loop(ufunc, (x,), (out,), method=method, dtype=dtype)[0]


def combined(ufunc: Any, x: Any, axes: tuple[int, ...], initial: Any, mask: Any) -> Any:
    """A reduction in any order."""
    has_identity = ufunc.identity is not None
    if not has_identity and mask is not None and not is_given(initial):
        raise ValueError(f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to specify 'initial'")
    if is_given(initial):
        start = x.dtype.type(initial)
        if has_identity:
            return ufunc(start, primitives.reduce(ufunc, x, axes, mask))
        if mask is not None:
            x = np.asarray(np.where(mask, x, start))
        # What has no identity cannot be reduced where there is nothing.
        if x.size == 0:
            result = np.full(tuple([x.shape[i] for i in kept_axes(axes, x.ndim)]), start)[()]
        else:
            result = ufunc(start, primitives.reduce(ufunc, x, axes))
        return result
    if not has_identity:
        need_elements(ufunc, x, axes)
    result = primitives.reduce(ufunc, x, axes, mask)
    # An element alone is added to 0, which leaves no -0.0.
    return result + x.dtype.type(0) if ufunc is np.add and len(axes) == 0 and x.dtype.kind in "fc" else result


def need_elements(ufunc: Any, x: Any, axes: tuple[int, ...]) -> None:
    if product([x.shape[i] for i in axes]) == 0:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")


def folded(ufunc: Any, x: Any, axes: tuple[int, ...], initial: Any, mask: Any) -> Any:
    """A reduction from the first element to the last."""
    if mask is not None:
        primitives.refuse("a mask of a reduction in order", "select the elements before")
    if len(axes) == 0:
        return x[()]
    rows = primitives.transpose(x, axes + kept_axes(axes, x.ndim))
    if len(axes) > 1:
        kept = rows.shape[len(axes) :]
        rows = primitives.reshape(rows.copy(), (product(rows.shape[: len(axes)]),) + kept)
    if not is_given(initial):
        initial = ufunc.identity
    if is_given(initial):
        result = np.full(rows.shape[1:], x.dtype.type(initial))[()]
    else:
        need_elements(ufunc, x, axes)
        result = rows[0].copy() if rows.ndim > 1 else rows[0]
    for k in range(0 if is_given(initial) else 1, rows.shape[0]):
        result = ufunc(result, rows[k])
    return result


@implements(np.ufunc.reduce)
def reduce(ufunc: Any, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = NoValue, where: Any = True) -> Any:
    if ufunc.nin != 2:
        raise ValueError("reduce only supported for binary functions")
    return reduction(ufunc, array, axis, dtype, out, keepdims, initial, where)


@implements(np.sum, np.ndarray.sum)
def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue) -> Any:
    return reduction(np.add, a, axis, dtype, out, keepdims, initial, where)


@implements(np.prod, np.ndarray.prod)
def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue) -> Any:
    return reduction(np.multiply, a, axis, dtype, out, keepdims, initial, where)


@implements(np.min, np.amin, np.ndarray.min)
def min(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue) -> Any:
    return reduction(np.minimum, a, axis, None, out, keepdims, initial, where)


@implements(np.max, np.amax, np.ndarray.max)
def max(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue) -> Any:
    return reduction(np.maximum, a, axis, None, out, keepdims, initial, where)


@implements(np.any, np.ndarray.any)
def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue) -> Any:
    return reduction(np.logical_or, a, axis, None, out, keepdims, NoValue, where)


@implements(np.all, np.ndarray.all)
def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue) -> Any:
    return reduction(np.logical_and, a, axis, None, out, keepdims, NoValue, where)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue) -> Any:
    largest = reduction(np.maximum, a, axis, None, out, keepdims, NoValue, NoValue)
    smallest = reduction(np.minimum, a, axis, None, None, keepdims, NoValue, NoValue)
    return np.subtract(largest, smallest) if out is None else np.subtract(largest, smallest, out=out)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return reduction(np.add, np.asarray(a) != 0, axis, np.int64, None, keepdims, NoValue, NoValue)


def count_of(x: Any, axes: tuple[int, ...], where: Any, keepdims: bool) -> Any:
    """How many elements a reduction takes in, as NumPy's integers."""
    mask = mask_of(where, x)
    if mask is None:
        return np.int64(product([x.shape[i] for i in axes]))
    counts = primitives.reduce(np.add, mask.astype(np.int64), axes)
    return with_axes_kept(counts, axes, x.ndim) if keepdims else counts


def float_dtype(dtype: np.dtype) -> np.dtype:
    """At what means are taken: integers and bools as float64."""
    return dtype if dtype.kind == "f" or dtype.kind == "c" else np.dtype(np.float64)


def divided(total: Any, count: Any) -> Any:
    """A sum by a count, in the sum's dtype."""
    return np.divide(total, count).astype(total.dtype)


def spread(where: Any, x: Any) -> Any:
    """A mask of the shape of x, if there is one."""
    return where if is_absent(where) else np.broadcast_to(where, x.shape)


@implements(np.mean, np.ndarray.mean)
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue) -> Any:
    x = np.asarray(a)
    keeps = keepdims is not NoValue and keepdims
    known_axes(axis, x.ndim, True)
    axes = known_axes(axis, x.ndim)
    where = spread(where, x)
    at = float_dtype(x.dtype) if dtype is None else np.dtype(dtype)
    is_half = dtype is None and x.dtype == np.float16
    total = reduction(np.add, x, axis, np.float32 if is_half else at, None, keepdims, NoValue, where)
    result = divided(total, count_of(x, axes, where, keeps))
    if is_half:
        result = result.astype(np.float16)
    return delivered(result, out, "add", keeps)


def centred_squares(x: Any, axes: tuple[int, ...], at: np.dtype, where: Any, mean: Any) -> Any:
    """The squared distances of the elements from their mean."""
    if mean is NoValue:
        total = with_axes_kept(primitives.reduce(np.add, x.astype(at), axes, mask_of(where, x)), axes, x.ndim)
        mean = divided(total, count_of(x, axes, where, True))
    distances = np.asarray(x - mean)
    if distances.dtype.kind == "c" and x.dtype.kind in "cb":
        return np.square(primitives.real(distances)) + np.square(primitives.imaginary(distances))
    return distances * distances


def variance(a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any) -> Any:
    x = np.asarray(a)
    keeps = keepdims is not NoValue and keepdims
    known_axes(axis, x.ndim, True)
    axes = known_axes(axis, x.ndim)
    where = spread(where, x)
    if correction is not NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    at = float_dtype(x.dtype) if dtype is None else np.dtype(dtype)
    squares = centred_squares(x, axes, at, where, mean)
    real = np.finfo(at).dtype if at.kind == "c" and x.dtype.kind == "c" else at
    total = reduction(np.add, squares, axis, real, None, keepdims, NoValue, where)
    count = np.maximum(count_of(x, axes, where, keeps) - ddof, 0)
    return divided(total, count)


def root(variance: Any) -> Any:
    """A deviation of the dtype of its square."""
    if isinstance(variance, np.ndarray):
        return np.sqrt(variance, out=variance)
    return variance.dtype.type(np.sqrt(variance))


@implements(np.var, np.ndarray.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NoValue,
    *,
    where: Any = NoValue,
    mean: Any = NoValue,
    correction: Any = NoValue,
) -> Any:
    result = variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    return delivered(result, out, "add", keepdims is not NoValue and keepdims)


@implements(np.std, np.ndarray.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NoValue,
    *,
    where: Any = NoValue,
    mean: Any = NoValue,
    correction: Any = NoValue,
) -> Any:
    result = root(variance(a, axis, dtype, ddof, keepdims, where, mean, correction))
    return delivered(result, out, "add", keepdims is not NoValue and keepdims)


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NoValue) -> Any:
    x = np.asarray(a)
    axes = tuple(range(x.ndim)) if axis is None else normal_axes(axis, x.ndim, "axis")
    axis = None if axis is None else axes
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        scale = result.dtype.type(count_of(x, axes, NoValue, False))
    else:
        w = np.asarray(weights)
        at = np.result_type(x.dtype, w.dtype, np.float64) if x.dtype.kind in "biu" else np.result_type(x.dtype, w.dtype)
        if w.ndim != x.ndim:
            if axis is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            if w.shape != tuple([x.shape[i] for i in axes]):
                raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
            w = with_axes_kept(w, kept_axes(axes, x.ndim), x.ndim)
        elif w.shape != x.shape:
            if axis is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        scale = reduction(np.add, w, axis, at, None, keepdims, NoValue, NoValue)
        if np.any(scale == 0.0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        result = reduction(np.add, np.multiply(x, w, dtype=at), axis, at, None, keepdims, NoValue, NoValue) / scale
    if returned:
        return result, np.zeros(np.asarray(result).shape, scale.dtype)[()] + scale
    return result


# Scans


def scanned(ufunc: Any, x: Any, axis: int) -> Any:
    if ufunc in COMBINERS:
        return primitives.scan(ufunc, x, axis)
    result = x.copy()
    rows = primitives.transpose(result, (axis,) + kept_axes((axis,), x.ndim))
    for k in range(1, rows.shape[0]):
        rows[k] = ufunc(rows[k - 1], rows[k])
    return result


def one_axis(axis: Any, ndim: int, method: str) -> int:
    """The axis that a method of a ufunc runs along."""
    axes = axes_of_ufunc(axis, ndim)
    if ndim == 0:
        raise TypeError(f"cannot {method} on a scalar")
    if len(axes) != 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return axes[0]


@implements(np.ufunc.accumulate)
def accumulate(ufunc: Any, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    if ufunc.nin != 2:
        raise ValueError("accumulate only supported for binary functions")
    x = np.asarray(array)
    along = one_axis(axis, x.ndim, "accumulate")
    out = output(out)
    at = reduction_dtype(ufunc, "accumulate", x, dtype, out)
    if ufunc is np.logical_and or ufunc is np.logical_or or ufunc is np.logical_xor:
        primitives.refuse("a scan of a logical function", "scan bools with a bitwise one")
    need_scan_output(out, x.shape, x.dtype == at and (out is None or out.dtype == at))
    return put_scan(scanned(ufunc, x.astype(at), along), out)


def need_scan_output(out: Any, shape: tuple[int, ...], is_plain: bool) -> None:
    """Raises where an output is not one for a scan's result, which is put into it as it is or cast."""
    if out is None:
        return
    if out.ndim < len(shape) or (is_plain and len(shape) == 1 and out.shape != shape):
        raise ValueError("provided out is the wrong size for the accumulation.")
    own = tuple([out.shape[k] for k in range(len(shape))])
    if out.ndim != len(shape) or own != shape:
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{text_of_shape(out.shape)}->{text_of_shape(own)} {text_of_shape(shape)}->{text_of_shape(shape)} "
        )
    primitives.need_writable(out, "output array is read-only")


def put_scan(result: Any, out: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


def scan_along(ufunc: Any, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """A scan of an array, flat without an axis."""
    x = np.asarray(a)
    if axis is not None:
        need_no_bool(axis)
        axis = operator.index(axis)
    if axis is None or x.ndim == 0:
        if axis is not None and axis != 0 and axis != -1:
            raise np.exceptions.AxisError(axis, 1, None)
        return accumulate(ufunc, np.ravel(x), 0, dtype, out)
    return accumulate(ufunc, x, axis, dtype, out)


@implements(np.cumsum, np.ndarray.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return scan_along(np.add, a, axis, dtype, out)


@implements(np.cumprod, np.ndarray.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return scan_along(np.multiply, a, axis, dtype, out)


def cumulative(ufunc: Any, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool) -> Any:
    x = np.asarray(x)
    x = x[None] if x.ndim == 0 else x
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    if out is not None and include_initial:
        along = known_axis(axis, x.ndim)
        out[(slice(None),) * along + (0,)] = ufunc.identity
        accumulate(ufunc, x, axis, dtype, out[(slice(None),) * along + (slice(1, None),)])
        return out
    result = accumulate(ufunc, x, axis, dtype, out)
    if not include_initial:
        return result
    along = known_axis(axis, x.ndim)
    lengths = tuple([1 if i == along else x.shape[i] for i in range(x.ndim)])
    return primitives.concat((np.full(lengths, ufunc.identity, result.dtype), result), along)


if hasattr(np, "cumulative_sum"):  # from NumPy 2.1 on

    @implements(np.cumulative_sum)
    def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False) -> Any:
        return cumulative(np.add, x, axis, dtype, out, include_initial)


if hasattr(np, "cumulative_prod"):  # from NumPy 2.1 on

    @implements(np.cumulative_prod)
    def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False) -> Any:
        return cumulative(np.multiply, x, axis, dtype, out, include_initial)


@implements(np.ufunc.outer)
def outer(ufunc: Any, /, *arrays: Any, **keywords: Any) -> Any:
    if ufunc.signature is not None:
        raise TypeError("method outer is not allowed in ufunc with non-trivial signature")
    if ufunc.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    if len(arrays) != 2:
        raise TypeError("exactly two arguments expected")
    a = np.asarray(arrays[0])
    b = np.asarray(arrays[1])
    return ufunc(a[(Ellipsis,) + (None,) * b.ndim], b, **keywords)


@implements(np.ufunc.reduceat)
def reduceat(ufunc: Any, array: Any, /, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    if ufunc.nin != 2:
        raise ValueError("reduceat only supported for binary functions")
    x = np.asarray(array)
    starts = np.asarray(indices)
    if not isinstance(indices, (list, tuple)) or len(indices) > 0:
        need_castable(starts.dtype, np.dtype(np.int64), "safe")
    starts = starts.astype(np.int64)
    along = one_axis(axis, x.ndim, "reduceat")
    if starts.ndim != 1:
        raise ValueError("object too deep for desired array" if starts.ndim > 1 else "object of too small depth for desired array")
    out = output(out)
    length = x.shape[along]
    for start in starts:
        if start < 0 or start >= length:
            raise IndexError(f"index {start} out-of-bounds in {ufunc.__name__}.reduceat [0, {length})")
    x = x.astype(reduction_dtype(ufunc, "reduceat", x, dtype, out))
    others = kept_axes((along,), x.ndim)
    result = np.empty_like(x, shape=tuple([starts.shape[0] if i == along else x.shape[i] for i in range(x.ndim)]))
    need_scan_output(out, result.shape, True)
    rows = primitives.transpose(x, (along,) + others)
    to = primitives.transpose(result, (along,) + others)
    for k in range(len(starts)):
        to[k] = rows[starts[k]]
        end = starts[k + 1] if k + 1 < len(starts) else length
        for i in range(starts[k] + 1, end):
            to[k] = ufunc(to[k], rows[i])
    return put_scan(result, out)


def without_nan(a: Any, value: Any) -> Any:
    """The array with another value instead of NaN."""
    x = np.asarray(a)
    return np.where(np.isnan(x), x.dtype.type(value), x) if x.dtype.kind in "fc" else x


def numbers_of(a: Any, where: Any) -> Any:
    """A mask of what is no NaN, and in a mask."""
    x = np.asarray(a)
    if x.dtype.kind not in "fc":
        return where
    return ~np.isnan(x) if is_absent(where) else np.logical_and(~np.isnan(x), where)


@implements(np.nansum)
def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue) -> Any:
    return sum(without_nan(a, 0), axis, dtype, out, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue) -> Any:
    return prod(without_nan(a, 1), axis, dtype, out, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue) -> Any:
    return reduction(np.fmin, a, axis, None, out, keepdims, initial, where)


@implements(np.nanmax)
def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue) -> Any:
    return reduction(np.fmax, a, axis, None, out, keepdims, initial, where)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return cumsum(without_nan(a, 0), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return cumprod(without_nan(a, 1), axis, dtype, out)


def need_inexact(dtype: Any, out: Any) -> None:
    """Raises where a function that leaves NaN out is to return other dtypes than floats."""
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    if out is not None and out.dtype.kind not in "fc":
        raise TypeError("If a is inexact, then out must be inexact")


@implements(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue) -> Any:
    x = np.asarray(a)
    if x.dtype.kind not in "fc":
        return mean(x, axis, dtype, out, keepdims, where=where)
    need_inexact(dtype, out)
    keeps = keepdims is not NoValue and keepdims
    total = sum(without_nan(x, 0), axis, dtype, None, keepdims, NoValue, where)
    count = count_of(x, axes_of_ufunc(axis, x.ndim), numbers_of(x, where), keeps)
    return delivered(divided(total, count), out, "add", keeps)


def nan_variance(a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any) -> Any:
    x = np.asarray(a)
    if x.dtype.kind not in "fc":
        return variance(x, axis, dtype, ddof, keepdims, where, mean, correction)
    if correction is not NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    need_inexact(dtype, out)
    axes = axes_of_ufunc(axis, x.ndim)
    mask = numbers_of(x, where)
    at = x.dtype if dtype is None else np.dtype(dtype)
    squares = centred_squares(x, axes, at, mask, mean)
    real = np.finfo(at).dtype if x.dtype.kind == "c" else at
    total = reduction(np.add, squares, axis, real, None, keepdims, NoValue, mask)
    count = count_of(x, axes, mask, keepdims is not NoValue and keepdims)
    freedom = count - ddof
    return np.where(freedom <= 0, real.type(np.nan), divided(total, freedom))[()]


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NoValue,
    *,
    where: Any = NoValue,
    mean: Any = NoValue,
    correction: Any = NoValue,
) -> Any:
    result = nan_variance(a, axis, dtype, out, ddof, keepdims, where, mean, correction)
    return delivered(result, out, "add", keepdims is not NoValue and keepdims)


@implements(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NoValue,
    *,
    where: Any = NoValue,
    mean: Any = NoValue,
    correction: Any = NoValue,
) -> Any:
    result = root(nan_variance(a, axis, dtype, out, ddof, keepdims, where, mean, correction))
    return delivered(result, out, "add", keepdims is not NoValue and keepdims)
