"""What the modules over vendors' libraries have in common: which there are, and what arrays they take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import _ingot
from .._arrays.array import Array
from .._devices.streams import Stream, checked_stream
from .._devices.streams import in_stream as in_stream
from ._current import current_device

NAMES = ("blas", "fft", "solver", "random", "sparse")
FLOATS = tuple(np.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))


def libraries() -> dict[str, str]:
    """Return which of the vendor's libraries the current device has.

    Returns
    -------
    dict of str to str
        For `blas`, `fft`, `solver`, `random` and `sparse` path and version, or why there is none. All of them are opened.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     sorted(cuda.libraries())
    ['blas', 'fft', 'random', 'solver', 'sparse']
    """
    handle = current_device()._handle
    return {name: _ingot.why_no_library(handle, name) or _ingot.library_description(handle, name) for name in NAMES}


def use_libraries(used: bool) -> bool:
    """Set whether compiled code on the current device uses the vendor's libraries for `@`, `np.linalg` and `np.fft`.

    Parameters
    ----------
    used : bool
        Whether it does.

    Returns
    -------
    bool
        Whether it did.

    Raises
    ------
    DeviceError
        The device has no libraries.

    Notes
    -----
    At first it does on GPUs, and does not on the software device, whose libraries are stand-ins.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     cuda.use_libraries(False)
    False
    """
    handle = current_device()._handle
    before = _ingot.uses_libraries(handle)
    _ingot.set_uses_libraries(handle, bool(used))
    return before


def operands(*arrays: Any, dtypes: Iterable[np.dtype] = FLOATS, stream: Any = 0) -> Stream | None:
    """Checks arrays that one call takes: on one device, of one dtype, which is among `dtypes`. The stream that is meant."""
    queue = checked_stream(stream)
    device = queue.device if queue is not None else None
    for array in arrays:
        if not isinstance(array, Array):
            raise TypeError(f"an ingot.Array is wanted, not {type(array).__name__}: ingot.cuda.to_device makes one")
        device = device or array.device
        if array.device is not device:
            raise ValueError(f"an array is on {array.device}, and another one, or the stream, on {device}")
        if array.dtype not in dtypes:
            raise TypeError(f"arrays of dtype {array.dtype} are not taken here: {', '.join(map(str, dtypes))} are")
        if array.dtype != arrays[0].dtype:
            raise TypeError(f"arrays of dtypes {arrays[0].dtype} and {array.dtype} in one call: they have to be the same")
    return queue


def written(*arrays: Array) -> None:
    """Raises where an array that is written into is read-only."""
    for array in arrays:
        if not array._writable:
            raise ValueError("assignment destination is read-only")


def overlap(x: Array, y: Array) -> bool:
    """Whether two arrays may share elements."""
    return np.may_share_memory(_ingot.stand_in(x), _ingot.stand_in(y))


def apart(source: Array, target: Array) -> Array:
    """What is read: a copy, if it may share elements with what is written."""
    return source.copy() if overlap(source, target) else source


def lies_like(x: Array, y: Array) -> bool:
    return (x._address, x.shape, x.strides) == (y._address, y.shape, y.strides)
