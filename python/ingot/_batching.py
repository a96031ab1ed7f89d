"""`ingot.vmap`: a function for all batch elements of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from ._function import Function, transformed
from ._jit import jit
from ._parameters import checked_keywords


@checked_keywords
def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable = None,
) -> Function[..., Any]:
    """Returns a compiled function that calls `fun` for each batch element of its arguments and stacks the results.

    `in_axes` is the axis along which the arrays among the arguments are mapped: an int, None (every batch element gets the
    argument itself), or a structure of these as the arguments have it, or the beginning of it: a tuple with one entry
    for each positional argument, in which tuples, lists and dicts stand for those of the arguments. Arguments given by
    name are mapped along axis 0. `out_axes` does so for results, whose numbers become arrays of one axis, and whose
    arrays get one more. Structures are tuples, named tuples, lists, dicts, instances of
    dataclasses and None.

    Batch elements are views, `x[i]`: what `fun` writes into them is written into the argument. They run as the
    iterations of `for i in range(n)`, in order where they depend on each other; the exception is that of the lowest batch element
    that raises. Arrays that `fun` returns have one shape for all batch elements, else ValueError. Lengths that differ
    along the mapped axes, axes that arguments do not have, and structures that do not fit raise ValueError, too, and so
    does an axis of length 0 where `fun` returns arrays.

    `axis_size` is the number of batch elements, needed where no argument is mapped; `axis_name` is what `axis_index` knows the
    axis by. Works inside compiled functions and itself. docs/batching.md has the rules.
    """
    from .library.batching import batched

    if not callable(fun):
        raise TypeError(f"vmap() takes a function, not {type(fun).__name__}")
    return transformed(jit(batched(fun, in_axes, out_axes, axis_size, axis_name)), fun, "vmap", (in_axes, out_axes, axis_size, axis_name))


@checked_keywords
def pmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable = None,
) -> Function[..., Any]:
    """`vmap`, by the name that it has for batch elements that devices share: here threads share them, as those of `vmap`."""
    return vmap(fun, in_axes, out_axes, axis_size, axis_name)


def axis_index(axis_name: Hashable) -> int:
    """The index of the batch element that runs, of the innermost `vmap` with this `axis_name`; NameError where there is none."""
    from .library.primitives import lane_of

    return lane_of(axis_name)


def psum(x: Any, axis_name: Any) -> Any:
    """The sum of the operands of all batch elements, of the `vmap` with this `axis_name` (of several: a tuple of names).

    `x` is a number, an array or a structure of these, whose shapes are one for all batch elements, all of which have to come here.
    Raises NameError where there is no such axis. docs/batching.md has the rules.
    """
    from .library.collectives import psum

    return psum(x, axis_name)


def pmean(x: Any, axis_name: Any) -> Any:
    """As `psum`, the mean."""
    from .library.collectives import pmean

    return pmean(x, axis_name)


def pmax(x: Any, axis_name: Any) -> Any:
    """As `psum`, the largest, element by element."""
    from .library.collectives import pmax

    return pmax(x, axis_name)


def pmin(x: Any, axis_name: Any) -> Any:
    """As `psum`, the smallest, element by element."""
    from .library.collectives import pmin

    return pmin(x, axis_name)


def all_gather(x: Any, axis_name: Hashable, axis: int = 0, tiled: bool = False) -> Any:
    """The operands of all batch elements, as `psum` takes them, along a new axis, or `tiled` along one that they have."""
    from .library.collectives import all_gather

    return all_gather(x, axis_name, axis, tiled)
