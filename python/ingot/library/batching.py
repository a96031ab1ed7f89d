"""Loops over the batch elements of a function that `ingot.vmap` has made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives
from .collectives import Stop, collective, is_own, of_all, of_outer
from .shapes import normal_axis
from .structures import is_opened, is_structure, map_leaves, members_of, remade


def batched(fun: Any, in_axes: Any = 0, out_axes: Any = 0, axis_size: Any = None, axis_name: Any = None) -> Callable[..., Any]:
    """The function for all batch elements, one after the other."""
    if isinstance(in_axes, dict):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to the function, but got a dict"
        )
    given_axes = settled(in_axes)
    result_axes = settled(out_axes)

    def call(*args: Any, **kwargs: Any) -> Any:
        if isinstance(given_axes, tuple) and len(given_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
                f"passed to the function, but got len(in_axes)={len(given_axes)}, len(args)={len(args)}"
            )
        by_place, by_name = led(args, given_axes), led(kwargs, 0)
        n = size_of(lengths(by_place, given_axes) + lengths(by_name, 0), axis_size)

        def given(i: int) -> Any:
            return fun(*lane(by_place, given_axes, i), **lane(by_name, 0, i))

        if axis_name is None and not primitives.has_axes():
            return moved(stacked(given, n), result_axes)
        return moved(in_steps(given, axis_name, n, (), 0), result_axes)

    return call


def stacked(iteration: Callable[[int], Any], n: int) -> Any:
    """The results of all iterations, stacked."""
    are_numbers, dtypes = primitives.dtypes_of_lane(iteration)
    if are_numbers:
        made = numbers(dtypes, n)
        for i in range(n):
            put(made, i, iteration(i))
    else:
        if n == 0:
            raise ValueError("vmap over an axis of length 0 of a function that gives arrays, whose shapes are not known")
        first = iteration(0)
        made = room(first, dtypes, n)
        put(made, 0, first)
        for i in range(1, n):
            put(made, i, iteration(i))
    return made


def in_steps(given: Callable[[int], Any], name: Any, n: int, results: tuple[Any, ...], count: int) -> Any:
    """The results of all batch elements; `results` are those of the first `count` collectives that they come to; see `known`."""

    def iteration(i: int) -> Any:
        return primitives.in_lane(name, n, given, i, tuple([known(result, i) for result in results]))

    def stopped(i: int) -> Any:
        try:
            iteration(i)
        except Stop as stop:
            return stop.args[0]

    what = primitives.stop_of(iteration, n)
    if what is None:
        return stacked(iteration, n)
    operands = stacked(stopped, n)
    if what[0] == name:
        result = (is_own(what[1:]), of_all(operands, n, what[1:]))
    else:  # of an axis around, where all batch elements here come to it
        result = (True, collective(operands, what[0], of_outer(what[1:])))
    return in_steps(given, name, n, (*results, result), count + 1)


def known(result: tuple[Any, ...], i: int) -> Any:
    """The result of a collective for one batch element; some results are stacked by batch elements."""
    is_stacked, value = result
    return map_leaves(lambda array: array[i], value) if is_stacked else value


def axis_index(axis_name: Any) -> int:
    if isinstance(axis_name, (tuple, list)):
        index = 0
        for one in axis_name:  # the last varies fastest
            index = index * primitives.size_of_axis(one) + primitives.lane_of(one)
        return index
    return primitives.lane_of(axis_name)


def settled(axes: Any) -> Any:
    """Axes as numbers, None and tuples, which a closure holds; a dict is a tuple of a string, keys and axes, an instance one of axes."""
    if isinstance(axes, (tuple, list)):
        return tuple([settled(one) for one in axes])
    if isinstance(axes, dict):
        return ("dict", tuple([k for k in axes]), tuple([settled(axes[k]) for k in axes]))
    if is_opened(axes):
        return tuple([settled(one) for one in members_of(axes)])
    if axes is not None and (isinstance(axes, bool) or not isinstance(axes, int)):
        raise TypeError("vmap: axes must be ints, None, or tuples, lists and dicts of them")
    return axes


def is_of_dict(axes: Any) -> bool:
    """Whether axes stand for those of a dict."""
    return isinstance(axes, tuple) and len(axes) == 3 and isinstance(axes[0], str)


def part(whole: Any, key: Any) -> Any:
    """The axes or dtypes of one part of a structure."""
    if is_of_dict(whole):
        return whole[2][whole[1].index(key)]
    if isinstance(whole, (tuple, list, dict)):
        return whole[key]
    return members_of(whole)[key] if whole is not None and is_opened(whole) else whole


def need_structure(axes: Any, x: Any, name: str) -> None:
    """Raises where the axes are a structure that is not that of a value."""
    if not isinstance(axes, tuple):
        return
    if isinstance(x, dict):
        fits = is_of_dict(axes) and len(axes[1]) == len(x) and len([k for k in axes[1] if k in x]) == len(x)
    elif isinstance(x, (tuple, list)):
        fits = not is_of_dict(axes) and len(axes) == len(x)
    else:
        fits = x is not None and is_opened(x) and not is_of_dict(axes) and len(axes) == len(members_of(x))
    if not fits:
        raise ValueError(f"vmap {name} specification must be a tree prefix of the corresponding value")


def led(x: Any, axes: Any) -> Any:
    """A structure whose mapped arrays have the batch axis first."""
    if x is None:
        return None
    need_structure(axes, x, "in_axes")
    if axes is None:
        return x
    if is_structure(x):
        return remade(x, lambda one, k: led(one, part(axes, k)))
    if not isinstance(x, np.ndarray) or x.ndim == 0:
        raise ValueError(
            f"vmap was requested to map its argument along axis {axes}, which implies that its rank should be at least "
            f"{axes + 1 if axes >= 0 else -axes}, but is only 0"
        )
    if axes >= x.ndim or axes < -x.ndim:
        raise ValueError(
            f"vmap was requested to map its argument along axis {axes}, which implies that its rank should be at least "
            f"{axes + 1 if axes >= 0 else -axes}, but is only {x.ndim} (its shape is {x.shape})"
        )
    along = normal_axis(axes, x.ndim)
    return primitives.transpose(x, (along, *[k for k in range(x.ndim) if k != along]))


def lengths(x: Any, axes: Any) -> list[int]:
    """The lengths of the batch axes of the mapped arrays in a structure, which come first."""
    if x is None or axes is None:
        return []
    if not is_structure(x):
        return [len(x)]
    found: list[int] = []
    if isinstance(x, dict):
        for key in x:
            found = found + lengths(x[key], part(axes, key))
    else:
        for k, one in enumerate(x if isinstance(x, (tuple, list)) else members_of(x)):
            found = found + lengths(one, part(axes, k))
    return found


def size_of(found: list[int], axis_size: int | None) -> int:
    """The number of batch elements, which all arrays agree on."""
    if axis_size is not None:
        found = [axis_size, *found]
    if len(found) == 0:
        raise ValueError("vmap must have at least one non-None value in in_axes")
    for n in found[1:]:
        if n != found[0]:
            raise ValueError(f"vmap got inconsistent sizes for array axes to be mapped: {found[0]} and {n}")
    return found[0]


def lane(x: Any, axes: Any, i: int) -> Any:
    """The argument of one batch element, of a structure whose batch axes come first."""
    if x is None or axes is None:
        return x
    if is_structure(x):
        return remade(x, lambda one, k: lane(one, part(axes, k), i))
    return x[i]


def numbers(dtypes: Any, n: int) -> Any:
    """Arrays for the numbers that all batch elements return, in the structure of their dtypes."""
    return map_leaves(lambda dtype: np.empty(n, dtype), dtypes)


def room(x: Any, dtypes: Any, n: int) -> Any:
    """Arrays for the results of all batch elements, in the structure of one of them."""
    if x is None:
        return None
    if isinstance(x, (list, dict)) and not primitives.is_known(len(x)):
        primitives.refuse("a list or dict of unknown length that a batch element returns", "return an array of one shape for all batch elements")
    if is_structure(x):
        return remade(x, lambda one, k: room(one, part(dtypes, k), n))
    one = np.asarray(x)
    return np.empty((n, *one.shape), one.dtype if dtypes is None else dtypes)


def put(made: Any, i: int, x: Any) -> None:
    """Stores the result of one batch element."""
    map_leaves(lambda array, leaf: put_leaf(array, i, leaf), made, x)


def put_leaf(array: Any, i: int, x: Any) -> None:
    """Stores a number or an array at the index of a batch element."""
    if not isinstance(x, np.ndarray):
        array[i] = x
        return
    if x.shape != array.shape[1:]:
        raise ValueError(f"vmap: a batch element gives an array of shape {x.shape}, others of shape {array.shape[1:]}")
    array[(i, Ellipsis)] = x


def moved(x: Any, axes: Any) -> Any:
    """The results with their batch axes where they are asked for."""
    if x is None:
        return None
    need_structure(axes, x, "out_axes")
    if is_structure(x):
        return remade(x, lambda one, k: moved(one, part(axes, k)))
    if axes is None:
        primitives.refuse("`out_axes` None in ingot.vmap", "give an axis, and take one element of the result along it")
    if axes >= x.ndim or axes < -x.ndim:
        raise ValueError(f"axis {axes} is out of bounds for array of dimension {x.ndim}")
    along = normal_axis(axes, x.ndim)
    if along == 0:
        return x
    order = [*range(1, x.ndim)]
    order.insert(along, 0)
    return primitives.transpose(x, tuple(order))
