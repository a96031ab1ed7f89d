"""What puts arrays on devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _ingot
from . import Device, default_device
from . import device as find

DTYPES = tuple(np.dtype(name) for name in (
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
))  # fmt: skip

def device_put(x: Any, device: str | Device | None = None) -> Any:
    """Put an array on a device.

    Parameters
    ----------
    x : array_like or Array
        What NumPy makes an array of, or an array on a device.
    device : str or Device, optional
        By default `default_device`. On ``"cpu"`` arrays are NumPy's.

    Returns
    -------
    Array or numpy.ndarray
        A copy there; an array that is there already is returned as it is.

    Raises
    ------
    TypeError
        The dtype cannot be on a device: objects, strings, dates, records, other byte orders.
    MemoryError
        The device has no memory for it.

    Examples
    --------
    >>> ingot.device_put([1.0, 2.0], "emulated")
    Array([1., 2.], device=emulated:0)
    """
    where = default_device() if device is None else find(device)
    if isinstance(x, _ingot.DeviceArray):
        if x.device is where:
            return x
        if where._handle is not None:
            dense = x if x.flags.forc else x.copy()
            if (copy := _ingot.copied_to(dense, where._handle)) is not None:
                return copy
        x = x.to_host()
    if where._handle is None:
        return np.asarray(x)
    return _ingot.to_device(checked_for_device(np.asarray(x)), where._handle)


def checked_for_device(array: np.ndarray) -> np.ndarray:
    """An array that can be on a device; TypeError for others."""
    if array.dtype not in DTYPES or not array.dtype.isnative:
        swapped = "" if array.dtype.isnative else "byte-swapped "
        raise TypeError(f"arrays of {swapped}dtype {array.dtype} cannot be on a device")
    if array.ndim > 16:
        raise TypeError(f"an array of {array.ndim} axes cannot be on a device: 16 are the most")
    return array
