"""Ufuncs with the keywords for the dtypes at which they compute and the layout of their results."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .shapes import text_of_shape


def array_or_number(x: Any) -> Any:
    """An operand as it is, or the array that NumPy makes of a sequence."""
    return np.asarray(x) if isinstance(x, (list, tuple)) else x


def outputs_of(ufunc: Any, given: Any, out: Any) -> Any:
    """The output for each of a ufunc's results, or None."""
    by_place = given[ufunc.nin :]
    if len(by_place) > 0:
        if out is not None:
            raise TypeError("cannot specify 'out' as both a positional and keyword argument")
        outs = by_place + (None,) * (ufunc.nout - len(by_place))
    elif isinstance(out, tuple):
        if len(out) != ufunc.nout:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        outs = out
    elif out is not None and ufunc.nout > 1:
        raise TypeError("'out' must be a tuple of arrays")
    else:
        outs = (out,) + (None,) * (ufunc.nout - 1)
    for one in outs:
        if one is not None and not isinstance(one, np.ndarray):
            raise TypeError("return arrays must be of ArrayType")
    return outs


def lies_in_fortran_order(x: Any) -> bool:
    return primitives.is_contiguous(x.T) if isinstance(x, np.ndarray) else True


def laid_out(result: Any, order: Any, operands: Any) -> Any:
    """A new result in one of NumPy's orders; its own is K."""
    letter = "K" if order is None else order.upper()
    if letter == "K" or not isinstance(result, np.ndarray) or result.ndim < 2:
        return result
    if letter != "A":
        return np.copy(result, order=letter)
    for x in operands:
        if not lies_in_fortran_order(x):
            return np.copy(result, order="C")
    return np.copy(result, order="F")


def resolved(ufunc: Any, given: Any, out: Any, where: Any, casting: Any, order: Any, dtype: Any, subok: Any, signature: Any, sig: Any) -> Any:
    """The operands of a call of a ufunc, its outputs, its mask, and the dtypes at which it computes; raises what NumPy raises."""
    operands = tuple([array_or_number(x) for x in given[: ufunc.nin]])
    outs = outputs_of(ufunc, given, out)
    if isinstance(where, (list, tuple)):
        where = np.asarray(where, dtype=bool)
    dtypes = primitives.loop(
        ufunc, operands, outs, where=where, casting=casting, order=order, dtype=dtype, subok=subok, signature=signature, sig=sig
    )
    for one in outs:
        if one is not None:
            primitives.need_writable(one, "output array is read-only")
    return operands, outs, where, dtypes


def with_keywords(
    ufunc: Any,
    *given: Any,
    out: Any = None,
    where: Any = True,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
    subok: Any = True,
    signature: Any = None,
    sig: Any = None,
) -> Any:
    """A call of a ufunc whose operands and results have shapes of their own."""
    operands, outs, where, dtypes = resolved(ufunc, given, out, where, casting, order, dtype, subok, signature, sig)
    converted = operands
    if dtype is not None or signature is not None or sig is not None:
        converted = tuple([primitives.at_dtype(x, dtypes[i]) for i, x in enumerate(operands)])
    if ufunc.nout > 1:
        return several(ufunc, operands, converted, outs, where, order)
    one = outs[0]
    if one is None:
        return laid_out(ufunc(*converted, where=where), order, operands + (where,))
    if np.can_cast(dtypes[-1], one.dtype, "same_kind"):
        return ufunc(*converted, out=one, where=where)
    return primitives.put(one, primitives.at_dtype(ufunc(*converted), one.dtype), where, ufunc.__name__)


def several(ufunc: Any, operands: Any, converted: Any, outs: Any, where: Any, order: Any) -> Any:
    """The results of a ufunc that has more than one, all of the shape that operands, outputs and mask have together."""
    arrays = tuple([one for one in outs if one is not None])
    if isinstance(where, np.ndarray):
        arrays = arrays + (where,)
    need_one_shape(operands + arrays)
    results = ufunc(*converted)
    for one in outs:
        if one is not None:
            shape = np.broadcast_shapes(np.shape(results[0]), *[x.shape for x in arrays])
            if one.shape != shape:
                raise ValueError(
                    f"non-broadcastable output operand with shape {text_of_shape(one.shape)} "
                    f"doesn't match the broadcast shape {text_of_shape(shape)}"
                )
    delivered = ()
    for i in reversed(range(len(outs))):  # where outputs overlap, NumPy writes the first one last
        result = results[i]
        if outs[i] is not None:
            result = primitives.put(outs[i], primitives.at_dtype(result, outs[i].dtype), where, ufunc.__name__)
        else:
            if len(arrays) > 0:
                shape = np.broadcast_shapes(np.shape(result), *[x.shape for x in arrays])
                if np.shape(result) != shape:
                    result = np.copy(np.broadcast_to(result, shape))
            result = laid_out(result, order, operands + arrays)
        delivered = (result, *delivered)
    return delivered


def need_one_shape(operands: Any) -> None:
    """Raises where operands, outputs among them, do not broadcast together."""
    rank = 0
    for x in operands:
        rank = max(rank, np.ndim(x))
    for k in range(1, rank + 1):
        common = 1
        for x in operands:
            if np.ndim(x) >= k and np.shape(x)[-k] != 1:
                length = np.shape(x)[-k]
                if common != 1 and length != common:
                    shapes = ""
                    for each in operands:
                        shapes = f"{shapes}{text_of_shape(np.shape(each))} "
                    raise ValueError(f"operands could not be broadcast together with shapes {shapes}")
                common = length


def core_axes(ufunc: Any, x: Any, y: Any) -> tuple[int, int, int]:
    """How many axes of two operands and of the result a ufunc runs along itself."""
    if ufunc is np.matmul:
        first = min(x.ndim, 2)
        second = min(y.ndim, 2)
        return first, second, first + second - 2
    if ufunc is np.vecdot:
        return 1, 1, 0
    return (2, 1, 1) if ufunc is np.matvec else (1, 2, 1)


def at_end(x: Any, axes: Any, count: int) -> Any:
    """An operand with these axes, of which there are so many, last."""
    return x if axes is None else np.moveaxis(x, axes, tuple(range(-count, 0)))


def with_core_and_keywords(
    ufunc: Any,
    x1: Any,
    x2: Any,
    out: Any = None,
    axes: Any = np._NoValue,
    axis: Any = np._NoValue,
    keepdims: Any = np._NoValue,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
    subok: Any = True,
    signature: Any = None,
    sig: Any = None,
) -> Any:
    """A call of a ufunc that runs along some axes of its operands itself."""
    x = np.asarray(x1)
    y = np.asarray(x2)
    outs = outputs_of(ufunc, (x, y), out)
    dtypes = primitives.loop(
        ufunc, (x, y), outs, axes=axes, axis=axis, keepdims=keepdims, casting=casting, order=order, dtype=dtype,
        subok=subok, signature=signature, sig=sig,
    )  # fmt: skip
    one = outs[0]
    if one is not None:
        primitives.need_writable(one, "output array is read-only")
    keepdims = keepdims is not np._NoValue and keepdims
    first, second, third = core_axes(ufunc, x, y)
    if keepdims:
        third = 1
    places = [None, None, None]
    if axis is not np._NoValue:
        places = [axis, axis, axis if keepdims else None]
    elif axes is not np._NoValue:
        for i in range(len(axes)):
            places[i] = axes[i]
    a = at_end(primitives.at_dtype(x, dtypes[0]), places[0], first)
    b = at_end(primitives.at_dtype(y, dtypes[1]), places[1], second)
    result = ufunc(a, b)
    if keepdims:
        result = np.asarray(result)[..., None]
    if one is not None:
        need_core(ufunc, result, at_end(one, places[2], third), third)
    if third > 0 and places[2] is not None:
        result = np.moveaxis(result, tuple(range(-third, 0)), places[2])
    if one is not None:
        return primitives.put(one, primitives.at_dtype(result, one.dtype), True, ufunc.__name__)
    return laid_out(result, order, (x, y))


def need_core(ufunc: Any, result: Any, out: Any, count: int) -> None:
    """Raises where an output does not have the lengths of the result along the axes of the core."""
    for i in range(count):
        own = out.shape[out.ndim - count + i]
        wanted = result.shape[result.ndim - count + i]
        if own != wanted:
            raise ValueError(
                f"{ufunc.__name__}: Output operand 0 has a mismatch in its core dimension {i}, with gufunc signature "
                f"{ufunc.signature} (size {own} is different from {wanted})"
            )
