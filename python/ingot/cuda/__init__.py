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

import importlib
from typing import TYPE_CHECKING, Any

from .._errors import LibraryError
from .._signatures import CPointer
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
from ._intrinsics import Dim3, Index3, Special, outside
from ._kernel import ConfiguredKernel, DeviceFunction, Kernel, jit
from ._libraries import libraries, use_libraries
from ._linking import LTOIR, Archive, Cubin, CUSource, Fatbin, LinkableCode, LinkedFunction, Object, PTXSource, declare_device
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

if TYPE_CHECKING:
    from . import coop

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
    """Return the index of the thread in the whole grid.

    Parameters
    ----------
    ndim : {1, 2, 3}
        The number of axes.

    Returns
    -------
    int or tuple of int
        A number for one axis, else a tuple.

    Examples
    --------
    >>> from ingot import cuda
    >>> @cuda.jit
    ... def double(x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] *= 2
    >>> x = np.arange(5)
    >>> with ingot.device("emulated"):
    ...     double[2, 4](x)
    >>> x
    array([0, 2, 4, 6, 8])
    """
    outside("grid")


def gridsize(ndim: int) -> Any:
    """Return the number of threads of the whole grid.

    Parameters
    ----------
    ndim : {1, 2, 3}
        The number of axes.

    Returns
    -------
    int or tuple of int
        A number for one axis, else a tuple.

    See Also
    --------
    grid : The index of a thread.

    Examples
    --------
    >>> from ingot import cuda
    >>> @cuda.jit
    ... def fill(x):  # any number of elements
    ...     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
    ...         x[i] = i
    >>> x = np.zeros(5, int)
    >>> with ingot.device("emulated"):
    ...     fill[1, 2](x)
    >>> x
    array([0, 1, 2, 3, 4])
    """
    outside("gridsize")


def syncthreads() -> None:
    """Wait for all threads of the block that have not ended.

    What they have written before is seen after it.

    See Also
    --------
    cg.this_grid : All threads of a launch.

    Examples
    --------
    >>> from ingot import cuda
    >>> @cuda.jit
    ... def reverse(x):
    ...     part = cuda.shared.array(4, np.float64)
    ...     i = cuda.threadIdx.x
    ...     part[i] = x[i]
    ...     cuda.syncthreads()
    ...     x[i] = part[3 - i]
    >>> x = np.arange(4.0)
    >>> with ingot.device("emulated"):
    ...     reverse[1, 4](x)
    >>> x
    array([3., 2., 1., 0.])
    """
    outside("syncthreads")


def syncthreads_count(predicate: Any) -> int:
    """Wait as `syncthreads` does, and return for how many of the threads a predicate holds.

    Parameters
    ----------
    predicate : object
        Its truth value.

    Returns
    -------
    int
        The number, the same for all threads of the block.
    """
    outside("syncthreads_count")


def syncthreads_and(predicate: Any) -> bool:
    """Wait as `syncthreads` does, and return whether a predicate holds for all threads.

    Parameters
    ----------
    predicate : object
        Its truth value.

    Returns
    -------
    bool
        The same for all threads of the block.
    """
    outside("syncthreads_and")


def syncthreads_or(predicate: Any) -> bool:
    """Wait as `syncthreads` does, and return whether a predicate holds for any thread.

    Parameters
    ----------
    predicate : object
        Its truth value.

    Returns
    -------
    bool
        The same for all threads of the block.
    """
    outside("syncthreads_or")


def syncwarp(mask: int = 0xFFFFFFFF) -> None:
    """Wait for lanes of the warp.

    Parameters
    ----------
    mask : int, default 0xFFFFFFFF
        The lanes, as bits.
    """
    outside("syncwarp")


def threadfence() -> None:
    """Make the writes of the thread visible to the device, before those that follow.

    See Also
    --------
    threadfence_block, threadfence_system
    """
    outside("threadfence")


def threadfence_block() -> None:
    """Make the writes of the thread visible to the threads of its block, before those that follow.

    See Also
    --------
    threadfence
    """
    outside("threadfence_block")


def threadfence_system() -> None:
    """Make the writes of the thread visible to all devices and the host, before those that follow.

    See Also
    --------
    threadfence
    """
    outside("threadfence_system")


def shfl_sync(mask: int, value: Any, src_lane: int, width: int = 32) -> Any:
    """Return the value that another lane of the warp has.

    Parameters
    ----------
    mask : int
        The lanes that take part, as bits.
    value : number
        What this lane gives the others.
    src_lane : int
        The lane, which is in the mask.
    width : int, default 32
        The lanes of a group, a power of two; lanes are counted in it.

    Returns
    -------
    number
        The other lane's value.

    See Also
    --------
    shfl_up_sync, shfl_down_sync, shfl_xor_sync

    Examples
    --------
    >>> from ingot import cuda
    >>> @cuda.jit
    ... def of_lane_2(x):
    ...     i = cuda.laneid
    ...     x[i] = cuda.shfl_sync(0xFFFFFFFF, x[i], 2)
    >>> x = np.arange(32)
    >>> with ingot.device("emulated"):
    ...     of_lane_2[1, 32](x)
    >>> x[:4]
    array([2, 2, 2, 2])
    """
    outside("shfl_sync")


def shfl_up_sync(mask: int, value: Any, delta: int, width: int = 32) -> Any:
    """Return the value of the lane that is `delta` below.

    Parameters
    ----------
    mask, value, width
        As of `shfl_sync`.
    delta : int
        How many lanes.

    Returns
    -------
    number
        The other lane's value; this lane's own where there is none.

    See Also
    --------
    shfl_sync
    """
    outside("shfl_up_sync")


def shfl_down_sync(mask: int, value: Any, delta: int, width: int = 32) -> Any:
    """Return the value of the lane that is `delta` above.

    Parameters
    ----------
    mask, value, width
        As of `shfl_sync`.
    delta : int
        How many lanes.

    Returns
    -------
    number
        The other lane's value; this lane's own where there is none.

    See Also
    --------
    shfl_sync

    Examples
    --------
    >>> from ingot import cuda
    >>> @cuda.jit
    ... def warp_sum(x, out):
    ...     value = x[cuda.laneid]
    ...     for delta in (16, 8, 4, 2, 1):
    ...         value += cuda.shfl_down_sync(0xFFFFFFFF, value, delta)
    ...     if cuda.laneid == 0:
    ...         out[0] = value
    >>> out = np.zeros(1, int)
    >>> with ingot.device("emulated"):
    ...     warp_sum[1, 32](np.arange(32), out)
    >>> out
    array([496])
    """
    outside("shfl_down_sync")


def shfl_xor_sync(mask: int, value: Any, lane_mask: int, width: int = 32) -> Any:
    """Return the value of the lane whose number differs in some bits.

    Parameters
    ----------
    mask, value, width
        As of `shfl_sync`.
    lane_mask : int
        The bits.

    Returns
    -------
    number
        The other lane's value; this lane's own where there is none.

    See Also
    --------
    shfl_sync
    """
    outside("shfl_xor_sync")


def all_sync(mask: int, predicate: Any) -> bool:
    """Return whether a predicate holds for all lanes of the mask.

    Parameters
    ----------
    mask : int
        The lanes that take part, as bits.
    predicate : object
        Its truth value.

    Returns
    -------
    bool
        The same for all these lanes.
    """
    outside("all_sync")


def any_sync(mask: int, predicate: Any) -> bool:
    """Return whether a predicate holds for any lane of the mask.

    Parameters
    ----------
    mask : int
        The lanes that take part, as bits.
    predicate : object
        Its truth value.

    Returns
    -------
    bool
        The same for all these lanes.
    """
    outside("any_sync")


def eq_sync(mask: int, predicate: Any) -> bool:
    """Return whether a predicate is the same for all lanes of the mask.

    Parameters
    ----------
    mask : int
        The lanes that take part, as bits.
    predicate : object
        Its truth value.

    Returns
    -------
    bool
        The same for all these lanes.
    """
    outside("eq_sync")


def ballot_sync(mask: int, predicate: Any) -> Any:
    """Return the lanes of the mask for which a predicate holds.

    Parameters
    ----------
    mask : int
        The lanes that take part, as bits.
    predicate : object
        Its truth value.

    Returns
    -------
    uint32
        The lanes, as bits.
    """
    outside("ballot_sync")


def match_any_sync(mask: int, value: Any) -> Any:
    """Return the lanes of the mask that have the same value.

    Parameters
    ----------
    mask : int
        The lanes that take part, as bits.
    value : number
        What is compared, bit for bit.

    Returns
    -------
    uint32
        The lanes, as bits, this one among them.
    """
    outside("match_any_sync")


def match_all_sync(mask: int, value: Any) -> tuple[Any, bool]:
    """Return whether all lanes of the mask have the same value.

    Parameters
    ----------
    mask : int
        The lanes that take part, as bits.
    value : number
        What is compared, bit for bit.

    Returns
    -------
    lanes, same : tuple of uint32 and bool
        The mask and True, or 0 and False.
    """
    outside("match_all_sync")


def activemask() -> Any:
    """Return the lanes of the warp that are at this location together.

    Returns
    -------
    uint32
        The lanes, as bits, this one among them.
    """
    outside("activemask")


def lanemask_lt() -> Any:
    """Return the lanes below this one.

    Returns
    -------
    uint32
        The lanes, as bits.
    """
    outside("lanemask_lt")


def popc(x: int) -> int:
    """Return how many bits are set.

    Parameters
    ----------
    x : int
        An integer.

    Returns
    -------
    int
        The number.
    """
    outside("popc")


def brev(x: int) -> Any:
    """Return the bits in the opposite order.

    Parameters
    ----------
    x : int
        An integer.

    Returns
    -------
    unsigned integer
        Of the same width.
    """
    outside("brev")


def clz(x: int) -> int:
    """Return how many of the highest bits are 0 before the first that is not.

    Parameters
    ----------
    x : int
        An integer.

    Returns
    -------
    int
        The number.
    """
    outside("clz")


def ffs(x: int) -> int:
    """Return the position of the lowest bit that is set.

    Parameters
    ----------
    x : int
        An integer.

    Returns
    -------
    int
        From 1 on; 0 if no bit is set.
    """
    outside("ffs")


def cbrt(x: Any) -> Any:
    """Return the cube root.

    Parameters
    ----------
    x : float
        A number.

    Returns
    -------
    float
        The root, of the dtype of `x`.
    """
    outside("cbrt")


def fma(a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c``, rounded once.

    Parameters
    ----------
    a, b, c : float
        Numbers of one dtype.

    Returns
    -------
    float
        Of that dtype.
    """
    outside("fma")


def selp(a: Any, b: Any, c: Any) -> Any:
    """Return one of two values, both of which are evaluated.

    Parameters
    ----------
    a : object
        Its truth value.
    b, c : number
        The value if it is true, and if not.

    Returns
    -------
    number
        `b` or `c`.
    """
    outside("selp")


def nanosleep(ns: int) -> None:
    """Suspend the thread for about so many nanoseconds.

    Parameters
    ----------
    ns : int
        Nanoseconds.
    """
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
    "coop",
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

for _public in map(globals().get, __all__):
    if isinstance(_public, type):
        _public.__module__ = __name__  # where users find it, and pickles name it
del _public


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "coop":
            return importlib.import_module(f"{__name__}.coop")
        from .._refusals.missing import error

        raise error(__name__, name)
