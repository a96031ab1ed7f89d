"""What is made of the operands of all that run along a named axis: `ingot.psum` and its kin.

They are the batch elements of a `vmap`, which `batching` runs, or the shards of a mesh, which exchange them (`shards`). A collective is
described by its kind and what belongs to it: axes are those of one operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives, shards
from .derivatives import any_varies, constant_of, is_inexact, lift, own_copy, varied
from .shards import blocks, joined
from .structures import map_leaves


class Stop(BaseException):
    """A batch element has come to a collective whose result is not known yet; the argument is its operand."""


def psum(x: Any, axis_name: Any) -> Any:
    return collective(x, axis_name, ("sum",))


def pmean(x: Any, axis_name: Any) -> Any:
    return collective(x, axis_name, ("mean",))


def pmax(x: Any, axis_name: Any) -> Any:
    return collective(x, axis_name, ("max",))


def pmin(x: Any, axis_name: Any) -> Any:
    return collective(x, axis_name, ("min",))


def all_gather(x: Any, axis_name: Any, axis: int = 0, tiled: bool = False) -> Any:
    need_one(axis_name, "all_gather")
    return collective(x, axis_name, ("gather", axis, tiled))


def psum_scatter(x: Any, axis_name: Any, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    need_one(axis_name, "psum_scatter")
    return collective(x, axis_name, ("scatter", scatter_dimension, tiled))


def all_to_all(x: Any, axis_name: Any, split_axis: int, concat_axis: int, tiled: bool = False) -> Any:
    need_one(axis_name, "all_to_all")
    return collective(x, axis_name, ("exchange", split_axis, concat_axis, tiled))


def ppermute(x: Any, axis_name: Any, perm: Any) -> Any:
    need_one(axis_name, "ppermute")
    if primitives.mesh_axis(axis_name) >= 0:  # pairs may be as many as a number of run time is
        return collective(x, axis_name, ("permute", [(pair[0], pair[1]) for pair in perm]))
    pairs = tuple([(pair[0], pair[1]) for pair in perm])
    for k in range(len(pairs)):
        for other in pairs[:k]:
            if pairs[k][0] == other[0] or pairs[k][1] == other[1]:
                raise ValueError("ppermute sources and destinations must be unique")
    return collective(x, axis_name, ("permute", pairs))


def axis_size(axis_name: Any) -> Any:
    if isinstance(axis_name, (tuple, list)):
        size = 1
        for one in axis_name:
            size *= primitives.size_of_axis(one)
        return size
    return primitives.size_of_axis(axis_name)


def need_one(name: Any, what: str) -> None:
    if isinstance(name, (tuple, list)):
        primitives.refuse(f"`{what}` along several named axes", "call it for one after the other")


def collective(x: Any, name: Any, how: tuple[Any, ...]) -> Any:
    """The collective along a named axis, or along several axes one after the other."""
    if isinstance(name, (tuple, list)):
        for one in name:
            x = collective(x, one, how)
        return x
    if primitives.is_same_for_all(name, x) and how[0] in ("sum", "mean", "max", "min"):
        n = primitives.size_of_axis(name)
        return x * n if how[0] == "sum" else x / 1 if how[0] == "mean" else x
    number = primitives.mesh_axis(name)
    if number >= 0:
        axis = (number, primitives.size_of_axis(name), primitives.lane_of(name))
        return map_leaves(lambda leaf: shards.collective(leaf, axis, how), x)
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


def is_own(how: tuple[Any, ...]) -> bool:
    """Whether each batch element has a result of its own."""
    return how[0] in ("scatter", "exchange", "permute")


def of_all(operands: Any, n: int, how: tuple[Any, ...]) -> Any:
    """The result of a collective, of arrays of the operands of all batch elements; or all their results."""
    return map_leaves(lambda leaf: of_leaf(leaf, n, how), operands)


def of_leaf(x: Any, n: int, how: tuple[Any, ...]) -> Any:
    """The result of a collective, of one array."""
    kind = how[0]
    if kind == "max":
        return x.max(0)
    if kind == "min":
        return x.min(0)
    if kind == "gather":
        return joined(x, how[1], how[2], 0)
    if kind == "exchange":
        return joined(blocks(x, n, how[1], how[3], 1), how[2], how[3], 1)
    if kind == "permute":
        moved = np.zeros_like(x)
        for source, dest in how[1]:
            if source < 0 or source >= n or dest < 0 or dest >= n:
                raise ValueError(f"ppermute sources and destinations are from 0 to {n - 1}, not ({source}, {dest})")
            moved[(dest, Ellipsis)] = x[(source, Ellipsis)]
        return moved
    if kind == "scatter":
        return blocks(summed(x), n, how[1], how[2], 0)
    return summed(x) / n if kind == "mean" else summed(x)


def summed(x: Any) -> Any:
    return x.sum(0, dtype=np.int64 if x.dtype.kind == "b" else x.dtype)


def of_outer(how: tuple[Any, ...]) -> tuple[Any, ...]:
    """A collective as one of arrays with one axis more before theirs."""
    if how[0] in ("gather", "scatter"):
        return how[0], inner(how[1]), how[2]
    if how[0] == "exchange":
        return how[0], inner(how[1]), inner(how[2]), how[3]
    return how


def inner(axis: int) -> int:
    return axis + 1 if axis >= 0 else axis
