"""Arrays on devices, and memory of the host that devices copy from and to while the host goes on."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _devices, _ingot
from .._arrays.array import Array
from .._devices import Device
from .._devices.streams import Stream, checked_stream, in_stream
from .._devices.transfers import DTYPES, checked_for_device, device_put
from .._errors import UnsupportedError
from .._signatures import Type
from ._current import current_device


def _place(stream: Stream | None) -> Device:
    return current_device() if stream is None else stream.device


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Array | None = None) -> Any:
    """Copy an array to the current device.

    Parameters
    ----------
    obj : array_like or Array
        What is copied; an array that is on a device is returned as it is.
    stream : Stream, optional
        The copy is put there, and pinned memory is read later.
    copy : bool, default True
        False leaves the elements unspecified.
    to : Array, optional
        An array on a device that takes the elements, and is returned.

    Returns
    -------
    Array
        The array on the device.

    See Also
    --------
    ingot.device_put : The same without streams.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     cuda.to_device([1.0, 2.0])
    Array([1., 2.], device=emulated:0)
    """
    queue = checked_stream(stream)
    if to is not None:
        to.copy_to_device(obj, stream)
        return to
    if isinstance(obj, Array):
        return obj
    if not copy:
        return device_array_like(np.asarray(obj), stream)
    array = checked_for_device(np.asarray(obj))
    if queue is None:
        return device_put(array, current_device())
    with queue:
        return _ingot.to_device(array, queue.device._handle, True)


def _dtype(given: Any) -> np.dtype:
    dtype = np.dtype(given.dtype if isinstance(given, Type) and given.ndim is None else given)
    if dtype not in DTYPES or not dtype.isnative:
        raise TypeError(f"arrays of dtype {dtype} cannot be on a device")
    return dtype


def _shape(given: Any) -> tuple[int, ...]:
    lengths = tuple(map(operator.index, given)) if isinstance(given, (tuple, list)) else (operator.index(given),)
    if any(length < 0 for length in lengths):
        raise ValueError("negative dimensions are not allowed")
    return lengths


def _check(strides: Any, order: str) -> None:
    if order not in ("C", "F"):
        raise ValueError(f"the order of a new array is 'C' or 'F', not {order!r}")
    if strides is not None:
        raise UnsupportedError("strides of a new array are not supported\n  instead: give an order, and take a view")


def device_array(shape: Any, dtype: Any = np.float64, strides: None = None, order: str = "C", stream: Any = 0) -> Array:
    """Return a new array on the current device, of unspecified elements.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape.
    dtype : dtype, default float64
        Its dtype.
    strides : None
        Only None.
    order : {"C", "F"}, default "C"
        Its layout.
    stream : Stream, optional
        The array is on its device.

    Returns
    -------
    Array
        The array.

    See Also
    --------
    to_device, device_array_like

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     cuda.device_array((2, 3)).shape
    (2, 3)
    """
    _check(strides, order)
    queue = checked_stream(stream)
    with in_stream(queue):
        return _ingot.new_array(_shape(shape), _dtype(dtype), order == "F", _place(queue)._handle)


def _order_of(ary: Any) -> str:
    return "F" if ary.flags.f_contiguous and not ary.flags.c_contiguous else "C"


def device_array_like(ary: Any, stream: Any = 0) -> Array:
    """Return a new array on the current device of the shape, dtype and order of another one.

    Parameters
    ----------
    ary : array_like or Array
        The other one.
    stream : Stream, optional
        The array is on its device.

    Returns
    -------
    Array
        Its elements are unspecified.

    See Also
    --------
    device_array
    """
    return device_array(ary.shape, ary.dtype, None, _order_of(ary), stream)


def _pinned(shape: Any, dtype: Any, strides: None, order: str, of_kind: str) -> np.ndarray:
    _check(strides, order)
    lengths, kind, device = _shape(shape), np.dtype(dtype.dtype if isinstance(dtype, Type) else dtype), current_device()
    if kind.hasobject:
        raise TypeError(f"arrays of dtype {kind} cannot be pinned")
    size = math.prod(lengths) * kind.itemsize
    memory = _ingot.pinned_bytes(device._handle, max(size, 1), of_kind)
    if memory is None:
        place, why = (str(device), f"it has {device.memory} bytes") if of_kind == "managed" else ("the host", f"{device} pins no more")
        raise _devices.no_memory(lengths, kind.name, place, why)
    return np.ndarray(lengths, kind, memory, order=order)  # type: ignore[arg-type]


def pinned_array(shape: Any, dtype: Any = np.float64, strides: None = None, order: str = "C") -> np.ndarray:
    """Return a new array of NumPy's in pinned memory.

    Copies in a stream read and write it while the host goes on.

    Parameters
    ----------
    shape, dtype, strides, order
        As of `device_array`.

    Returns
    -------
    numpy.ndarray
        Its elements are unspecified.

    See Also
    --------
    mapped_array, managed_array, pinned
    """
    return _pinned(shape, dtype, strides, order, "pinned")


def pinned_array_like(ary: Any) -> np.ndarray:
    """Return a new array in pinned memory of the shape, dtype and order of another one.

    Parameters
    ----------
    ary : array_like
        The other one.

    Returns
    -------
    numpy.ndarray
        Its elements are unspecified.

    See Also
    --------
    pinned_array
    """
    return pinned_array(ary.shape, ary.dtype, None, _order_of(ary))


def mapped_array(shape: Any, dtype: Any = np.float64, strides: None = None, order: str = "C", stream: Any = 0) -> np.ndarray:
    """Return a new array of NumPy's in pinned memory that kernels read and write themselves.

    Parameters
    ----------
    shape, dtype, strides, order, stream
        As of `device_array`.

    Returns
    -------
    numpy.ndarray
        Calls do not copy it. Its elements are unspecified.

    See Also
    --------
    managed_array
    """
    checked_stream(stream)
    return _pinned(shape, dtype, strides, order, "mapped")


def managed_array(
    shape: Any, dtype: Any = np.float64, strides: None = None, order: str = "C", stream: Any = 0, attach_global: bool = True
) -> np.ndarray:
    """Return a new array of NumPy's in managed memory, which kernels and the host both use.

    Parameters
    ----------
    shape, dtype, strides, order, stream
        As of `device_array`.
    attach_global : bool
        An option of Numba.

    Returns
    -------
    numpy.ndarray
        Calls do not copy it. Its elements are unspecified.

    Raises
    ------
    MemoryError
        It is larger than the device's memory.

    See Also
    --------
    mapped_array
    """
    checked_stream(stream)
    if not attach_global:
        raise UnsupportedError("managed memory of one stream is not supported\n  instead: leave `attach_global` out")
    return _pinned(shape, dtype, strides, order, "managed")


def mapped_array_like(ary: Any, stream: Any = 0) -> np.ndarray:
    """Return a new array in mapped memory of the shape, dtype and order of another one.

    Parameters
    ----------
    ary : array_like
        The other one.
    stream : Stream, optional
        The array is for its device.

    Returns
    -------
    numpy.ndarray
        Its elements are unspecified.

    See Also
    --------
    mapped_array
    """
    return mapped_array(ary.shape, ary.dtype, None, _order_of(ary), stream)


@contextlib.contextmanager
def pinned(*arrays: np.ndarray) -> Iterator[None]:
    """Pin the memory of arrays of NumPy's for a time: ``with cuda.pinned(x, y):``.

    Parameters
    ----------
    *arrays : numpy.ndarray
        The arrays.

    Yields
    ------
    None
        At the end all streams are waited for.

    See Also
    --------
    pinned_array
    """
    device = current_device()
    for array in arrays:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"arrays of NumPy's can be pinned, not {type(array).__name__}")
        if not array.flags.forc:
            raise ValueError("an array whose elements are not contiguous cannot be pinned")
    held: list[np.ndarray] = []
    try:
        for array in arrays:
            if array.nbytes > 0:
                _ingot.pin(device._handle, array)
                held.append(array)
        yield
    finally:
        for array in held:
            _ingot.unpin(device._handle, array)
