"""Functions of NumPy that are given functions, and its iterators over indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .creation import need_like
from .indexing import at_number
from .registry import implements
from .shapes import normal_axis, product


@implements(np.ndindex)
def ndindex(*shape: Any) -> Any:
    lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    for length in lengths:
        if length < 0:
            raise ValueError("negative dimensions are not allowed")
    return _indices(lengths)


def _indices(shape: tuple[int, ...]) -> Any:
    for number in range(product(shape)):
        yield at_number(number, shape)


@implements(np.ndenumerate)
def ndenumerate(arr: Any) -> Any:
    return _enumerated(np.asarray(arr))


def _enumerated(a: Any) -> Any:
    for number in range(a.size):
        place = at_number(number, a.shape)
        yield place, a[place]


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    arr = np.asarray(arr)
    axis = normal_axis(axis, arr.ndim)
    others = tuple([k for k in range(arr.ndim) if k != axis])
    lines = primitives.transpose(arr, (*others, axis))
    outer = lines.shape[:-1]
    if product(outer) == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    first = np.asarray(func1d(lines[(*at_number(0, outer), Ellipsis)], *args, **kwargs))
    made = np.zeros(outer + first.shape, first.dtype)
    made[(*at_number(0, outer), Ellipsis)] = first
    for number in range(1, product(outer)):
        place = (*at_number(number, outer), Ellipsis)
        made[place] = np.asarray(func1d(lines[place], *args, **kwargs))
    own = tuple(range(len(outer), made.ndim))
    return primitives.transpose(made, (*range(axis), *own, *range(axis, len(outer))))


@implements(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    value = np.asarray(a)
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        along = 0 if value.ndim == 0 and (axis == 0 or axis == -1) else normal_axis(axis, value.ndim)
        result = np.asarray(func(value, along))
        if value.ndim == 0 and len(axes if isinstance(axes, (tuple, list)) else (axes,)) == 1:
            return result[()]
        if result.ndim != value.ndim:
            result = np.expand_dims(result, normal_axis(axis, value.ndim))
        if result.ndim != value.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    x = np.asarray(x)
    if isinstance(condlist, np.ndarray) and condlist.ndim > 1:
        primitives.refuse("np.piecewise of an array of conditions", "give a list of arrays")
    is_one = isinstance(condlist, (np.ndarray, bool, np.bool))
    if not is_one and x.ndim > 0:
        is_one = not isinstance(condlist[0], (list, np.ndarray))
    conditions = [np.asarray(c).astype(bool) for c in ([condlist] if is_one else condlist)]
    count = len(conditions)
    if count == len(funclist) - 1:
        otherwise = np.zeros(x.shape, bool)
        for condition in conditions:
            otherwise = otherwise | condition
        conditions = [*conditions, ~otherwise]
    elif count != len(funclist):
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected")
    result = np.zeros_like(x)
    for k in range(len(funclist)):
        function = funclist[k]
        if isinstance(function, (bool, int, float, complex, np.generic, np.ndarray)):
            result[conditions[k]] = function
            continue
        chosen = x[conditions[k]]
        if chosen.size > 0:
            result[conditions[k]] = function(chosen, *args, **kw)
    return result


@implements(np.vectorize)
def vectorize(pyfunc: Any, otypes: Any = None, doc: Any = None, excluded: Any = None, cache: bool = False, signature: Any = None) -> Any:
    if excluded is not None or signature is not None:
        primitives.refuse("`excluded` or `signature` of np.vectorize", "write a loop, or use ingot.guvectorize")

    def call(*args: Any) -> Any:
        given = np.broadcast_arrays(*args)
        arrays = [np.asarray(a) for a in given]
        shape = arrays[0].shape
        flat = [np.ravel(a) for a in arrays]
        size = product(shape)
        if otypes is None:
            if size == 0:
                raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
            # NumPy calls the function for the types of its results, too.
            first = pyfunc(*[a[0] for a in flat])
            is_one = not isinstance(first, tuple)
            dtypes = [np.asarray(part).dtype for part in ((first,) if is_one else first)]
        else:
            dtypes = [np.dtype(t) for t in otypes]
            is_one = len(dtypes) == 1
        results = [np.empty(size, dtype) for dtype in dtypes]
        for i in range(size):
            values = pyfunc(*[primitives.python_number(a[i]) for a in flat])
            if is_one:
                results[0][i] = values
            else:
                for k in range(len(results)):
                    results[k][i] = values[k]
        shaped = tuple([primitives.reshape(result, shape) for result in results])
        return shaped[0] if is_one else shaped

    return call


@implements(np.fromiter)
def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    need_like(like)
    dtype = np.float64 if dtype is None else dtype
    values = list(iter)
    if count < 0:
        return np.array(values, dtype)
    if len(values) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(values)} items.")
    return np.array(values[:count], dtype)
