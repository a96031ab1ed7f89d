"""Shards: the calls of one function on all positions of a mesh, and what they exchange (`ingot.shard_map`).

An axis is its number in the mesh, how many shards it has, and the index of this one: the first is known when compiling, the others
when the shard runs. Within a collective it has one number more, which all shards come with alike (`tag_of`). What they exchange, and
add in the order of their indices, `bindings/shards` does, so that threads and ranks give the same bits. What moves is linear: in reverse mode cotangents come back the other way, and the derivative is that of the sum
of what all shards give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives
from .derivatives import is_inexact, linear, tangent_of, with_rules
from .shapes import normal_axis

GATHER, ALL_TO_ALL, SEND, SUM, MAX, MIN, SCATTER = range(7)  # of `bindings/shards`
KINDS = ("sum", "mean", "max", "min", "gather", "scatter", "exchange", "permute")
DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
"""In the order of `base/dtype`."""


def on_shards(fun: Callable[..., Any], names: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of one shard: of the sizes of its mesh, its index along each axis, and its arguments."""

    def innermost(sizes: Any, indices: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    run = innermost
    for number in range(len(names)):
        run = within(run, names[number], number)

    def call(sizes: tuple[int, ...], indices: tuple[int, ...], /, *args: Any, **kwargs: Any) -> Any:
        return run(sizes, indices, args, kwargs)

    return call


def within(run: Callable[..., Any], name: Any, number: int) -> Callable[..., Any]:
    """What runs a shard within one more axis."""

    def shard(sizes: Any, indices: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        return primitives.on_mesh(name, number, sizes[number], indices[number], lambda: run(sizes, indices, args, kwargs))

    return shard


def collective(x: Any, axis: tuple[int, Any, Any], how: tuple[Any, ...]) -> Any:
    """What a shard gets of a collective, of a number or an array."""
    kind = how[0]
    own = np.asarray(x)
    if own.dtype.name not in DTYPES:
        primitives.refuse(f"a collective of a mesh of {own.dtype}", "give it numbers")
    if kind in ("sum", "mean", "scatter") and own.dtype.kind == "b":
        own = own.astype(np.int64)
    axis = (axis[0], axis[1], axis[2], tag_of(own, how))
    if kind == "gather":
        whole = gathered(elements_of(own), axis).reshape((axis[1], *own.shape))
        return joined(whole, how[1], how[2], 0)
    if kind == "scatter":
        parts = blocks(own, axis[1], how[1], how[2], 0)
        return scattered(elements_of(parts), axis).reshape(parts.shape[1:])
    if kind == "exchange":
        parts = blocks(own, axis[1], how[1], how[3], 0)
        return joined(exchanged(elements_of(parts), axis).reshape(parts.shape), how[2], how[3], 0)
    if kind == "permute":
        got = permuted(elements_of(own), axis, how[1], False)
    elif kind in ("sum", "mean"):
        got = summed(elements_of(own), axis)
    else:
        got = extreme(elements_of(own), axis, kind)
    result = got.reshape(own.shape) if isinstance(x, np.ndarray) else got[0]
    return result / axis[1] if kind == "mean" else result


def tag_of(x: Any, how: tuple[Any, ...]) -> int:
    """A number for a collective of an operand, which is the same in all shards: of its kind, shape, axes and pairs."""
    tag = mixed(KINDS.index(how[0]), x.ndim)
    for length in x.shape:
        tag = mixed(tag, length)
    if how[0] == "permute":
        for pair in how[1]:
            tag = mixed(mixed(tag, pair[0]), pair[1])
        return tag
    for one in how[1:]:
        if isinstance(one, bool):
            tag = mixed(tag, 1 if one else 0)
        else:  # an axis, which may be counted from the end
            tag = mixed(tag, one % (x.ndim + 1 if how[0] == "gather" and not how[2] else max(x.ndim, 1)))
    return tag


def mixed(tag: int, number: int) -> int:
    return (tag * 1000003 + number) % 2147483647


def elements_of(x: Any) -> Any:
    """The elements of an array, in C order, in the machine's order of bytes and without gaps."""
    return np.ascontiguousarray(x.reshape(x.size), x.dtype.name)


def joined(x: Any, axis: int, tiled: bool, lead: int) -> Any:
    """Blocks, along the axis after `lead` others, as a new axis of theirs, or, tiled, one after the other along an axis that they have."""
    if tiled and x.ndim == lead + 1:
        raise ValueError("tiled blocks are joined along an axis that they have, and numbers have none: leave out `tiled`")
    along = lead + normal_axis(axis, x.ndim - lead - 1 if tiled else x.ndim - lead)
    moved = np.moveaxis(x, lead, along)
    if not tiled:
        return moved
    return moved.reshape((*moved.shape[:along], moved.shape[along] * moved.shape[along + 1], *moved.shape[along + 2 :]))


def blocks(x: Any, n: int, axis: int, tiled: bool, lead: int) -> Any:
    """The n blocks that an array has along an axis, which is not counted after `lead` others, first; of tiled ones the axis stays."""
    along = lead + normal_axis(axis, x.ndim - lead)
    length = x.shape[along]
    if tiled:
        if length % n != 0:
            raise ValueError(f"the length of the axis that is split, {length}, is no multiple of the {n} along the named axis")
        parts = x.reshape((*x.shape[:along], n, length // n, *x.shape[along + 1 :]))
        return np.moveaxis(parts, along, 0)
    if length != n:
        raise ValueError(f"the length of the axis that is split, {length}, is not that of the named axis, {n}")
    return np.moveaxis(x, along, 0)


# ---- of elements, and their derivatives


def is_derived(x: Any) -> bool:
    return len(primitives.derivatives()) > 0 and is_inexact(x)


def summed(x: Any, axis: Any) -> Any:
    """The sum of what all have."""
    if is_derived(x):
        return linear(lambda own: summed(own, axis), lambda cotangent: summed(cotangent, axis), x)
    return between_shards(SUM, axis, x, x.size, x.size)


def extreme(x: Any, axis: Any, kind: str) -> Any:
    """The largest or smallest of what all have; those that have it share its derivative."""
    if not is_derived(x):
        return between_shards(MAX if kind == "max" else MIN, axis, x, x.size, x.size)

    def forth(own: Any) -> Any:
        return extreme(own, axis, kind)

    def shares(own: Any, y: Any) -> Any:
        mine = np.where(own == y, np.ones(own.shape, own.dtype), np.zeros(own.shape, own.dtype))
        return mine / summed(mine, axis)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = forth(primals[0])
        return y, summed(shares(primals[0], y) * tangent_of(primals[0], tangents[0]), axis)

    def there(own: Any) -> tuple[Any, ...]:
        y = forth(own)
        return y, shares(own, y)

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (kept * summed(cotangent, axis),)

    return with_rules(forth, rule, there, and_back, (x,), True)


def gathered(x: Any, axis: Any) -> Any:
    """The elements of all, one after the other."""
    if is_derived(x):
        return linear(lambda own: gathered(own, axis), lambda cotangent: scattered(cotangent, axis), x)
    return between_shards(GATHER, axis, x, x.size, axis[1] * x.size)


def scattered(x: Any, axis: Any) -> Any:
    """Of the sum of what all have, the block at the own index."""
    if is_derived(x):
        return linear(lambda own: scattered(own, axis), lambda cotangent: gathered(cotangent, axis), x)
    return between_shards(SCATTER, axis, x, x.size // axis[1], x.size // axis[1])


def exchanged(x: Any, axis: Any) -> Any:
    """Of each the block at the own index."""
    if is_derived(x):
        return linear(lambda own: exchanged(own, axis), lambda cotangent: exchanged(cotangent, axis), x)
    return between_shards(ALL_TO_ALL, axis, x, x.size // axis[1], x.size)


def permuted(x: Any, axis: Any, perm: Any, is_back: bool) -> Any:
    """What the shard has that a pair names as the source of this one, or, on the way back, as its destination; zeros where none is."""
    if is_derived(x):
        return linear(lambda own: permuted(own, axis, perm, is_back), lambda cotangent: permuted(cotangent, axis, perm, not is_back), x)
    n, own = axis[1], axis[2]
    source, dest = -1, -1
    sends, receives = np.zeros(n, np.bool), np.zeros(n, np.bool)
    for pair in perm:
        if pair[0] < 0 or pair[0] >= n or pair[1] < 0 or pair[1] >= n:
            raise ValueError(f"ppermute sources and destinations are from 0 to {n - 1}, not ({pair[0]}, {pair[1]})")
        if sends[pair[0]] or receives[pair[1]]:
            raise ValueError("ppermute sources and destinations must be unique")
        sends[pair[0]] = receives[pair[1]] = True
        if pair[0] == own:
            dest = pair[1]
        if pair[1] == own:
            source = pair[0]
    return between_shards(SEND, axis, x, x.size, x.size, dest if is_back else source, source if is_back else dest)


def between_shards(exchange: int, axis: Any, x: Any, count: Any, length: Any, source: Any = -1, dest: Any = -1) -> Any:
    """So many elements, which the shards of an axis give for blocks of a count."""
    got = np.zeros(length, x.dtype)
    code = primitives.call_c(("shards", "exchange"), (exchange, axis[0], DTYPES.index(x.dtype.name), axis[3], count, source, dest, x, got))
    if code != 0:
        failed(code)
    return got


def failed(code: int) -> None:
    if code == 1:
        raise RuntimeError("another shard has ended without coming to this collective")
    if code == 2:
        raise ValueError("the shards of an axis come to different collectives, or with operands of different shapes or dtypes")
    if code == 3:
        raise RuntimeError("a shard comes to a collective in a thread that does not run it")
    if code == 4:
        raise OverflowError("a rank sends more than 2147483647 bytes at once: split the array")
    raise MemoryError("no memory for what other ranks send")
