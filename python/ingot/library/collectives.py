"""What batch elements of a named axis make of all their values: `ingot.psum` and its kin. `batching` runs the batch elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .derivatives import any_varies, constant_of, is_inexact, lift, own_copy, varied
from .shapes import normal_axis
from .structures import map_leaves


class Stop(BaseException):
    """A batch element has come to a collective whose result is not known yet; the argument is its operand."""


def psum(x: Any, axis_name: Any) -> Any:
    return collective(x, axis_name, ("sum", 0, False))


def pmean(x: Any, axis_name: Any) -> Any:
    return collective(x, axis_name, ("mean", 0, False))


def pmax(x: Any, axis_name: Any) -> Any:
    return collective(x, axis_name, ("max", 0, False))


def pmin(x: Any, axis_name: Any) -> Any:
    return collective(x, axis_name, ("min", 0, False))


def all_gather(x: Any, axis_name: Any, axis: int = 0, tiled: bool = False) -> Any:
    if isinstance(axis_name, (tuple, list)):
        primitives.refuse("`all_gather` along several named axes", "call it for one after the other")
    return collective(x, axis_name, ("gather", axis, tiled))


def collective(x: Any, name: Any, how: tuple[Any, ...]) -> Any:
    """The collective over all batch elements of an axis, or of several axes one after the other."""
    if isinstance(name, (tuple, list)):
        for one in name:
            x = collective(x, one, how)
        return x
    if primitives.is_same_for_all(x) and how[0] != "gather":
        n = primitives.size_of_axis(name)
        return x * n if how[0] == "sum" else x / 1 if how[0] == "mean" else x
    around = primitives.derivatives()
    if len(around) <= primitives.derivatives_of_lanes():
        return met(x, name, how)
    derivative, is_reverse = around[-1]

    def inside(call: Any) -> Any:
        return primitives.with_derivatives(around[:-1], call)

    if not any_varies(varied(x), derivative):
        return inside(lambda: collective(x, name, how))
    if is_reverse or how[0] in ("max", "min"):
        primitives.refuse("the derivative, by a batch element, of a collective of a named axis", "take the derivative of the batch")
    plain = map_leaves(lambda leaf: constant_of(leaf, derivative) if is_inexact(leaf) else own_copy(leaf), x)
    tangents = map_leaves(lambda leaf: primitives.tangent(leaf, derivative) if is_inexact(leaf) else own_copy(leaf), x)
    value = inside(lambda: collective(plain, name, how))
    tangent = inside(lambda: collective(tangents, name, how))
    return map_leaves(lambda y, t: lift(y, t, derivative) if is_inexact(y) else y, value, tangent)


def met(x: Any, name: Any, how: tuple[Any, ...]) -> Any:
    """The result of a collective, if it is known; else the batch element stops."""
    given = primitives.meeting(name, (name, *how))
    if len(given) == 0:
        raise Stop(x)
    return given[0]


def of_all(operands: Any, n: int, how: tuple[Any, ...]) -> Any:
    """The result of a collective, of arrays of the operands of all batch elements."""
    return map_leaves(lambda leaf: of_leaf(leaf, n, how), operands)


def of_leaf(x: Any, n: int, how: tuple[Any, ...]) -> Any:
    """The result of a collective, of one array."""
    kind, axis, tiled = how
    if kind == "max":
        return x.max(0)
    if kind == "min":
        return x.min(0)
    if kind != "gather":
        total = x.sum(0, dtype=np.int64 if x.dtype.kind == "b" else x.dtype)
        return total / n if kind == "mean" else total
    along = normal_axis(axis, x.ndim - 1 if tiled else x.ndim)
    moved = np.moveaxis(x, 0, along)
    if not tiled:
        return moved
    return moved.reshape((*moved.shape[:along], -1, *moved.shape[along + 2 :]))


def of_outer(how: tuple[Any, ...]) -> tuple[Any, ...]:
    """A collective as one of arrays with one axis more before theirs."""
    kind, axis, tiled = how
    return kind, axis + 1 if axis >= 0 else axis, tiled
