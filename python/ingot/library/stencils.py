"""Stencils: a kernel of neighbours, for each element of an array."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives

Bounds = tuple[tuple[int, int], ...]
"""For each axis, the least and the greatest of relative indices."""


class Relative:
    """An array as a kernel sees it: indices count from the element that is computed."""

    def __init__(self, array: Any, place: tuple[int, ...]) -> None:
        self.array = array
        self.place = place

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            if len(index) != len(self.place):
                raise ValueError("a relative index of a stencil has as many parts as the array has axes")
            return self.array[tuple([moved(part, here) for part, here in zip(index, self.place)])]
        if len(self.place) != 1:
            raise ValueError("a relative index of a stencil has as many parts as the array has axes")
        return self.array[moved(index, self.place[0])]

    def __len__(self) -> int:
        return len(self.array)

    @property
    def shape(self) -> Any:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def size(self) -> int:
        return self.array.size

    @property
    def dtype(self) -> Any:
        return self.array.dtype


def moved(part: Any, here: int) -> Any:
    """A part of a relative index, counted from the first element."""
    if isinstance(part, slice):
        if part.start is None or part.stop is None or part.step is not None:
            raise ValueError("a relative slice of a stencil has a start and a stop, and no step")
        return slice(part.start + here, part.stop + here)
    return part + here


def bounds_of(given: Any) -> Any:
    """A neighbourhood as ints."""
    try:
        made = tuple([(operator.index(low), operator.index(high)) for low, high in given])
    except (TypeError, ValueError):
        raise ValueError("neighborhood is a pair of ints for each axis, such as ((-1, 1), (0, 0))") from None
    if len(made) == 0:
        raise ValueError("neighborhood has the least and the greatest index of each axis")
    for low, high in made:
        if low > high:
            raise ValueError("neighborhood has the least and the greatest index of each axis")
    return made


def made_in_place(kernel: Callable[..., Any], bounds: Bounds, cval: Any) -> Callable[..., Any]:
    """The stencil of a kernel of compiled code, which subscripts all arrays by relative indices."""

    def stencil(*args: Any, out: Any = None) -> Any:
        return applied(kernel, args, out, tuple([k for k, x in enumerate(args) if isinstance(x, np.ndarray)]), bounds, cval)

    return stencil


def placed(args: tuple[Any, ...], relative: tuple[int, ...], place: tuple[int, ...]) -> tuple[Any, ...]:
    """The arguments of a kernel for one element."""
    return tuple([Relative(x, place) if k in relative else x for k, x in enumerate(args)])


def checked(args: tuple[Any, ...], relative: tuple[int, ...], bounds: Bounds) -> None:
    """Raises for arguments that a stencil does not take."""
    if len(args) == 0 or not isinstance(args[0], np.ndarray):
        raise TypeError("the first argument of a stencil is an array")
    x = args[0]
    if x.ndim == 0:
        raise ValueError("an array without axes has no neighbours for a stencil")
    if x.ndim != len(bounds):
        raise ValueError(f"the stencil is of {len(bounds)} axes, the array has {x.ndim}")
    for k in relative:
        if k < len(args):
            if not isinstance(args[k], np.ndarray):
                raise TypeError("what a stencil reads by relative indices is an array")
            if args[k].ndim != x.ndim:
                raise ValueError("arrays of a stencil have the same number of axes")
            for axis in range(x.ndim):
                if args[k].shape[axis] < x.shape[axis]:
                    raise ValueError("an array of a stencil is shorter than the first one")


def applied(kernel: Callable[..., Any], args: tuple[Any, ...], out: Any, relative: tuple[int, ...], bounds: Bounds, cval: Any) -> Any:
    """The kernel for all elements whose neighbours are there; the others have `cval`."""
    checked(args, relative, bounds)
    shape = args[0].shape
    if out is None:
        made = np.empty(shape, dtype_of(kernel, args, relative, bounds))
        border(made, bounds, 0 if cval is None else cval)
        fill(kernel, args, made, relative, ranges_of(shape, bounds))
        return made
    if isinstance(out, np.ndarray) and out.dtype.kind != "c" and np.dtype(dtype_of(kernel, args, relative, bounds)).kind == "c":
        raise ValueError("the kernel of a stencil returns complex numbers, and out= has a real dtype")
    return written(kernel, args, out, relative, bounds, cval)


def written(kernel: Callable[..., Any], args: tuple[Any, ...], out: Any, relative: tuple[int, ...], bounds: Bounds, cval: Any) -> Any:
    """`applied` to an array that is given for the result."""
    shape = args[0].shape
    if not isinstance(out, np.ndarray) or out.ndim != len(shape):
        raise ValueError("out= of a stencil is an array with the axes of the first argument")
    for axis in range(len(shape)):
        if out.shape[axis] < shape[axis]:
            raise ValueError("out= of a stencil is shorter than the first argument")
    if cval is not None:
        out[...] = suited(cval, out.dtype)
    fill(kernel, args, out, relative, ranges_of(shape, bounds))
    return out


def ranges_of(shape: Any, bounds: Bounds) -> Any:
    """Along each axis, the first element whose neighbours are there, and the one after the last."""
    return tuple([(-min(0, low), n - max(0, high)) for n, (low, high) in zip(shape, bounds)])


def dtype_of(kernel: Callable[..., Any], args: tuple[Any, ...], relative: tuple[int, ...], bounds: Bounds) -> Any:
    """The dtype of what a kernel gives, which does not run."""

    def iteration(i: int) -> Any:
        return number_of(kernel(*placed(args, relative, (i,) * len(bounds))))

    are_numbers, dtype = primitives.dtypes_of_lane(iteration)
    if not are_numbers:
        if dtype is None:
            dtype = np.asarray(iteration(0)).dtype  # it is refused here
        raise TypeError("the kernel of a stencil returns a number")
    if isinstance(dtype, (tuple, list, dict)) or dtype is None:
        raise TypeError("the kernel of a stencil returns a number")
    return dtype


def suited(cval: Any, dtype: Any) -> Any:
    """The value at the border, where the result can hold it."""
    if isinstance(cval, (complex, np.complexfloating)) and dtype.kind != "c":
        raise ValueError("cval is complex, and the result of the stencil is not")
    return cval


def border(made: np.ndarray, bounds: Bounds, cval: Any) -> None:
    """Writes a value where neighbours are missing."""
    value = suited(cval, made.dtype)
    for axis in range(len(bounds)):
        low, high = bounds[axis]
        before = (slice(None),) * axis
        if low < 0:
            made[(*before, slice(None, -low))] = value
        if high > 0:
            made[(*before, slice(-high, None))] = value


def number_of(value: Any) -> Any:
    """What a kernel gives, which is not None."""
    if value is None:
        raise TypeError("the kernel of a stencil returns a number, and here None")
    return value


def fill(kernel: Callable[..., Any], args: tuple[Any, ...], made: np.ndarray, relative: tuple[int, ...], ranges: Bounds) -> None:
    """Computes all elements within some ranges."""
    rank = len(ranges)
    if rank == 1:
        for i in range(ranges[0][0], ranges[0][1]):
            made[i] = number_of(kernel(*placed(args, relative, (i,))))
    elif rank == 2:
        for i in range(ranges[0][0], ranges[0][1]):
            for j in range(ranges[1][0], ranges[1][1]):
                made[i, j] = number_of(kernel(*placed(args, relative, (i, j))))
    elif rank == 3:
        for i in range(ranges[0][0], ranges[0][1]):
            for j in range(ranges[1][0], ranges[1][1]):
                for k in range(ranges[2][0], ranges[2][1]):
                    made[i, j, k] = number_of(kernel(*placed(args, relative, (i, j, k))))
    elif rank == 4:
        for i in range(ranges[0][0], ranges[0][1]):
            for j in range(ranges[1][0], ranges[1][1]):
                for k in range(ranges[2][0], ranges[2][1]):
                    for m in range(ranges[3][0], ranges[3][1]):
                        made[i, j, k, m] = number_of(kernel(*placed(args, relative, (i, j, k, m))))
    else:
        primitives.refuse("a stencil of more than 4 axes", "write loops over the indices")


def in_python(kernel: Callable[..., Any], args: tuple[Any, ...], out: Any, relative: tuple[int, ...], bounds: Bounds, cval: Any) -> Any:
    """`applied` where nothing is compiled: the dtype of the result is that of the values."""
    checked(args, relative, bounds)
    if out is None:
        shape = args[0].shape
        ranges = [range(-min(0, low), n - max(0, high)) for n, (low, high) in zip(shape, bounds)]
        sample = tuple([np.ones([high - low + 1 for low, high in bounds], x.dtype) if k in relative else x for k, x in enumerate(args)])
        found = {np.asarray(kernel(*placed(sample, relative, tuple([-low for low, _ in bounds])))).dtype} if not all(ranges) else set()
        for place in np.ndindex(*map(len, ranges)):
            here = tuple([r[k] for r, k in zip(ranges, place)])
            value = np.asarray(kernel(*placed(args, relative, here)))
            if value.ndim > 0:
                raise TypeError("the kernel of a stencil returns a number")
            found.add(value.dtype)
        out = np.empty(shape, np.result_type(*found))
        border(out, bounds, 0 if cval is None else cval)
        cval = None
    return written(kernel, args, out, relative, bounds, cval)
