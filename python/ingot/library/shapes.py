"""Views of arrays, and arrays joined and taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .registry import implements


def normal_axis(axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    if axis < -ndim or axis >= ndim:
        raise np.exceptions.AxisError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis + ndim if axis < 0 else axis


@implements(np.swapaxes, np.ndarray.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    a = np.asarray(a)
    first = normal_axis(axis1, a.ndim)
    second = normal_axis(axis2, a.ndim)
    axes = list(range(a.ndim))
    axes[first], axes[second] = axes[second], axes[first]
    return primitives.transpose(a, tuple(axes))


@implements(np.transpose, np.ndarray.transpose)
def transpose(a: Any, axes: Any = None) -> Any:
    a = np.asarray(a)
    if axes is None:
        return a.T
    return primitives.transpose(a, tuple([normal_axis(axis, a.ndim) for axis in axes]))
