"""Batches: what users call. Compiled code has `library.batching` in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._jit import jit


class Keyed(NamedTuple):
    """A dict of axes, as closures of compiled code may hold it."""

    keys: tuple
    values: tuple


def _frozen(axes: Any) -> Any:
    """Axes in tuples."""
    if isinstance(axes, dict):
        return Keyed(tuple(axes), tuple(map(_frozen, axes.values())))
    return tuple(map(_frozen, axes)) if isinstance(axes, (tuple, list)) else axes


def vmap(f: Callable, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None) -> Callable:
    """A jitted function that calls `f` for each lane of batches of its arguments.

    `in_axes` says which axis of each argument is that of the lanes: an int for all; None: the argument is given to each lane
    as it is; or a tuple or list, by argument, whose members may be structures as the arguments are. Keywords are mapped along
    axis 0. `out_axes` says where the axis stands in what `f` gives. A lane is given views, and numbers of arrays of one axis;
    it branches, loops, writes into its part of arguments, and raises, as a call of `f` does, the lowest lane first.

    Raises ValueError where mapped axes differ in length, where no axis is mapped and `axis_size` is not given, of batches
    without lanes, and where the shape of a result differs from lane to lane. docs/batching.md has the rules.
    """
    from .library import batching

    taken, given = _frozen(in_axes), _frozen(out_axes)
    return jit(lambda *args, **kwargs: batching.vmap(f, taken, given, axis_size)(*args, **kwargs))
