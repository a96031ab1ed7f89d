"""The kernels of `cuda.reduce` and of `guvectorize(target="cuda")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ingot.cuda as cuda
import ingot.cuda.shared as shared


def tiles_of(function: Callable[..., Any], tile: int) -> Callable[[Any, Any], None]:
    """Each block joins as many elements as it has threads, which are in order all the time."""

    def tiles(values: Any, joined: Any) -> None:
        part = shared.array(tile, values.dtype)
        thread, first = cuda.threadIdx.x, cuda.blockIdx.x * tile
        if first + thread < len(values):
            part[thread] = values[first + thread]
        cuda.syncthreads()
        step = 1
        while step < tile:
            if thread % (2 * step) == 0 and thread + step < tile and first + thread + step < len(values):
                part[thread] = function(part[thread], part[thread + step])
            cuda.syncthreads()
            step *= 2
        if thread == 0:
            joined[cuda.blockIdx.x] = part[0]

    return tiles


def finish_of(function: Callable[..., Any]) -> Callable[[Any, Any, Any], None]:
    """The first element after an initial one."""

    def finish(values: Any, out: Any, init: Any) -> None:
        out[0] = function(init, values[0])

    return finish


def iterations_of(function: Callable[..., Any]) -> Callable[[int, tuple[Any, ...]], None]:
    """A function of small arrays for each index of a leading axis."""

    def iterations(count: int, arrays: tuple[Any, ...]) -> None:
        i = cuda.grid(1)
        if i < count:
            function(*[array[i] for array in arrays])

    return iterations
