"""Kernels: functions that are run once for each thread of a grid of blocks, in the spelling of Numba's `cuda` module.

    from ingot import cuda

    @cuda.jit
    def add(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + y[i]

    add[blocks, threads](x, y, out)

Values, dtypes, bounds checks and exceptions are Python's and NumPy's, as everywhere in Ingot. docs/cuda.md has the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._errors import LibraryError
from . import atomic, blas, cg, const, fft, local, rand, shared, solver, sparse
from ._current import (
    Context,
    Gpu,
    current_context,
    detect,
    get_current_device,
    gpus,
    is_available,
    select_device,
    synchronize,
)
from .._signature import CPointer
from ._intrinsics import Dim3, Index3, Special, outside
from ._kernel import ConfiguredKernel, DeviceFunction, Kernel, jit
from ._libraries import libraries, use_libraries
from ._linking import LTOIR, Archive, CUSource, Cubin, Fatbin, LinkableCode, LinkedFunction, Object, PTXSource, declare_device
from ._memory import (
    device_array,
    device_array_like,
    managed_array,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from ._reduce import Reduce, reduce
from ._streams import Event, Stream, default_stream, event, event_elapsed_time, stream

warpsize = 32
"""The threads that go in step."""

threadIdx: Any = Special("threadIdx")
"""The index of the thread in its block: `.x`, `.y`, `.z`."""
blockIdx: Any = Special("blockIdx")
"""The index of the block in the grid."""
blockDim: Any = Special("blockDim")
"""The threads of a block along each axis."""
gridDim: Any = Special("gridDim")
"""The blocks of the grid along each axis."""
laneid: Any = Special("laneid")
"""The number of the thread in its warp."""


def grid(ndim: int) -> Any:
    """The index of the thread in the whole grid: a number (`ndim` 1), or a tuple of two or three."""
    outside("grid")


def gridsize(ndim: int) -> Any:
    """The threads of the whole grid, as `grid` counts them."""
    outside("gridsize")


def syncthreads() -> None:
    """Waits for all threads of the block that have not ended; what they have written before is seen after it."""
    outside("syncthreads")


def syncthreads_count(predicate: Any) -> int:
    """As `syncthreads`: for how many of the threads the predicate holds."""
    outside("syncthreads_count")


def syncthreads_and(predicate: Any) -> bool:
    """As `syncthreads`: whether the predicate holds for all."""
    outside("syncthreads_and")


def syncthreads_or(predicate: Any) -> bool:
    """As `syncthreads`: whether the predicate holds for any."""
    outside("syncthreads_or")


def syncwarp(mask: int = 0xFFFFFFFF) -> None:
    """Waits for the lanes of the mask."""
    outside("syncwarp")


def threadfence() -> None:
    """What the thread has written before is seen by the device before what it writes after it."""
    outside("threadfence")


def threadfence_block() -> None:
    """As `threadfence`, seen by the block."""
    outside("threadfence_block")


def threadfence_system() -> None:
    """As `threadfence`, seen by other devices and the host."""
    outside("threadfence_system")


def shfl_sync(mask: int, value: Any, src_lane: int, width: int = 32) -> Any:
    """The value of another lane, which has to be in the mask."""
    outside("shfl_sync")


def shfl_up_sync(mask: int, value: Any, delta: int, width: int = 32) -> Any:
    """The value of the lane so many below; one's own where there is none."""
    outside("shfl_up_sync")


def shfl_down_sync(mask: int, value: Any, delta: int, width: int = 32) -> Any:
    """The value of the lane so many above; one's own where there is none."""
    outside("shfl_down_sync")


def shfl_xor_sync(mask: int, value: Any, lane_mask: int, width: int = 32) -> Any:
    """The value of the lane whose number differs in these bits."""
    outside("shfl_xor_sync")


def all_sync(mask: int, predicate: Any) -> bool:
    """Whether the predicate holds for all lanes of the mask."""
    outside("all_sync")


def any_sync(mask: int, predicate: Any) -> bool:
    """Whether the predicate holds for any lane of the mask."""
    outside("any_sync")


def eq_sync(mask: int, predicate: Any) -> bool:
    """Whether the predicate is the same for all lanes of the mask."""
    outside("eq_sync")


def ballot_sync(mask: int, predicate: Any) -> Any:
    """The lanes of the mask for which the predicate holds, as bits of a uint32."""
    outside("ballot_sync")


def match_any_sync(mask: int, value: Any) -> Any:
    """The lanes of the mask that have the same value, bit for bit."""
    outside("match_any_sync")


def match_all_sync(mask: int, value: Any) -> tuple[Any, bool]:
    """(the mask, True) if all of its lanes have the same value, else (0, False)."""
    outside("match_all_sync")


def activemask() -> Any:
    """The lanes of the warp that are at this location together, the own one among them."""
    outside("activemask")


def lanemask_lt() -> Any:
    """The lanes below the own one."""
    outside("lanemask_lt")


def popc(x: int) -> int:
    """How many bits are set."""
    outside("popc")


def brev(x: int) -> Any:
    """The bits in the opposite order, as an unsigned integer of the same width."""
    outside("brev")


def clz(x: int) -> int:
    """How many of the highest bits are 0 before the first that is not."""
    outside("clz")


def ffs(x: int) -> int:
    """The position of the lowest bit that is set, from 1 on; 0 if none is."""
    outside("ffs")


def cbrt(x: Any) -> Any:
    """The cube root."""
    outside("cbrt")


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c of floats, rounded once."""
    outside("fma")


def selp(a: Any, b: Any, c: Any) -> Any:
    """b if a, else c; both are evaluated."""
    outside("selp")


def nanosleep(ns: int) -> None:
    """Lets other threads go on, for so many nanoseconds about."""
    outside("nanosleep")


__all__ = [
    "Archive",
    "CPointer",
    "CUSource",
    "ConfiguredKernel",
    "Context",
    "Cubin",
    "DeviceFunction",
    "Dim3",
    "Event",
    "Fatbin",
    "Gpu",
    "Index3",
    "Kernel",
    "LibraryError",
    "LTOIR",
    "LinkableCode",
    "LinkedFunction",
    "Object",
    "PTXSource",
    "Reduce",
    "Stream",
    "activemask",
    "all_sync",
    "any_sync",
    "atomic",
    "ballot_sync",
    "blas",
    "blockDim",
    "blockIdx",
    "brev",
    "cbrt",
    "cg",
    "clz",
    "const",
    "current_context",
    "declare_device",
    "default_stream",
    "detect",
    "device_array",
    "device_array_like",
    "eq_sync",
    "event",
    "event_elapsed_time",
    "ffs",
    "fft",
    "fma",
    "get_current_device",
    "gpus",
    "grid",
    "gridDim",
    "gridsize",
    "is_available",
    "jit",
    "laneid",
    "lanemask_lt",
    "libraries",
    "local",
    "managed_array",
    "mapped_array",
    "mapped_array_like",
    "match_all_sync",
    "match_any_sync",
    "nanosleep",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "popc",
    "rand",
    "reduce",
    "select_device",
    "selp",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "solver",
    "sparse",
    "stream",
    "synchronize",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadIdx",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "to_device",
    "use_libraries",
    "warpsize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from .._missing import error

        raise error(__name__, name)
