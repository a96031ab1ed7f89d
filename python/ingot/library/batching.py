"""Functions over the lanes of batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ingot._batching as public

from .registry import implements
from .structures import map_leaves


def at_key(axes: Any, key: Any) -> Any:
    """The axes of an entry of a dict."""
    if isinstance(axes, public.Keyed):
        return axes.values[axes.keys.index(key)]
    return axes[key] if isinstance(axes, dict) else axes


def sizes(x: Any, axes: Any) -> tuple:
    """The lengths of the mapped axes, leaf by leaf."""
    if axes is None or x is None:
        return ()
    if isinstance(x, (tuple, list)):
        if isinstance(axes, (tuple, list)):
            if len(axes) != len(x):
                raise ValueError(f"vmap: in_axes has {len(axes)} entries where the argument has {len(x)}")
            parts = tuple(sizes(part, axis) for part, axis in zip(x, axes))
        else:
            parts = tuple(sizes(part, axes) for part in x)
        return flat(parts)
    if isinstance(x, dict):
        return flat(tuple(sizes(x[key], at_key(axes, key)) for key in x))
    if np.ndim(x) == 0:
        raise ValueError("vmap: a number has no axis to map; give it None in in_axes")
    axis = axes + np.ndim(x) if axes < 0 else axes
    if axis < 0 or axis >= np.ndim(x):
        raise ValueError(f"vmap: in_axes {axes} for an array of {np.ndim(x)} axes")
    return (x.shape[axis],)


def flat(parts: tuple) -> tuple:
    """The members of tuples in a tuple."""
    all: tuple = ()
    for part in parts:
        all = all + part
    return all


def lane(x: Any, axes: Any, k: Any) -> Any:
    """What lane k is given of an argument: views, and numbers of arrays of one axis."""
    if axes is None or x is None:
        return x
    if isinstance(x, (tuple, list)):
        if isinstance(axes, (tuple, list)):
            parts = tuple(lane(part, axis, k) for part, axis in zip(x, axes))
        else:
            parts = tuple(lane(part, axes, k) for part in x)
        if isinstance(x, list):
            return list(parts)
        return parts if type(x) is tuple else type(x)(*parts)
    if isinstance(x, dict):
        return {key: lane(x[key], at_key(axes, key), k) for key in x}
    return np.moveaxis(x, axes, 0)[k]


def gathered(result: Any, axes: Any) -> Any:
    """Arrays whose first axis is that of the lanes, with it where `out_axes` wants it."""
    if result is None:
        return None
    if isinstance(result, (tuple, list)):
        if isinstance(axes, (tuple, list)):
            parts = tuple(gathered(part, axis) for part, axis in zip(result, axes))
        else:
            parts = tuple(gathered(part, axes) for part in result)
        if isinstance(result, list):
            return list(parts)
        return parts if type(result) is tuple else type(result)(*parts)
    if isinstance(result, dict):
        return {key: gathered(result[key], at_key(axes, key)) for key in result}
    if axes is None:
        raise ValueError("vmap: out_axes is None for a result that each lane has its own of")
    return result if axes == 0 else np.moveaxis(result, 0, axes)


def put(batch: Any, value: Any, k: Any) -> None:
    """Gives a batch its k-th part."""
    if np.shape(value) != batch.shape[1:]:
        raise ValueError("vmap: a result whose shape differs from lane to lane")
    batch[k] = value


@implements(public.vmap)
def vmap(f: Callable, in_axes: Any = 0, out_axes: Any = 0, axis_size: Any = None) -> Callable:
    def batched(*args: Any, **kwargs: Any) -> Any:
        lengths = sizes(args, in_axes) + sizes(kwargs, 0)
        if axis_size is not None:
            lengths = lengths + (axis_size,)
        if len(lengths) == 0:
            raise ValueError("vmap: no argument is mapped, and axis_size is not given")
        size = lengths[0]
        for length in lengths:
            if length != size:
                raise ValueError(f"vmap: mapped axes of lengths {size} and {length}")
        if size == 0:
            raise ValueError("vmap: a batch without lanes")
        first = f(*lane(args, in_axes, 0), **lane(kwargs, 0, 0))
        batches = map_leaves(lambda y: np.empty((size, *np.shape(y)), np.asarray(y).dtype), first)
        map_leaves(lambda batch, y: put(batch, y, 0), batches, first)
        for k in range(1, size):
            map_leaves(lambda batch, y: put(batch, y, k), batches, f(*lane(args, in_axes, k), **lane(kwargs, 0, k)))
        return gathered(batches, out_axes)

    return batched
