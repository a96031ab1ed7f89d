"""What the array API standard has beyond NumPy: functions of NumPy's with further keywords."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NoValue = np._NoValue


def clip(a: Any, min: Any = None, max: Any = None, out: Any = None, *, a_min: Any = NoValue, a_max: Any = NoValue) -> Any:
    return np.clip(a, min if a_min is NoValue else a_min, max if a_max is NoValue else a_max, out)


def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    result = np.sort(a, axis, kind, order, stable=stable)
    return np.flip(result, 0 if axis is None else axis) if descending else result


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    if not descending:
        return np.argsort(a, axis, kind, order, stable=stable)
    # Backwards twice, so that equal elements stay in order.
    x = np.ravel(a) if axis is None else np.asarray(a)
    along = 0 if axis is None else axis
    places = np.argsort(np.flip(x, along), along, kind, order, stable=stable)
    return x.shape[along] - 1 - np.flip(places, along)


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    result = np.fft.fftfreq(n, d, device)
    return result if dtype is None else result.astype(dtype)


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    result = np.fft.rfftfreq(n, d, device)
    return result if dtype is None else result.astype(dtype)


def iinfo(type: Any, /) -> np.iinfo:
    """`numpy.iinfo` of a dtype or of an array's."""
    return np.iinfo(type.dtype if isinstance(type, (np.ndarray, np.generic)) else type)


class finfo:
    """`numpy.finfo` of a dtype or of an array's; its numbers are Python's."""

    __module__ = "ingot.numpy"

    def __init__(self, type: Any, /) -> None:
        self._info = np.finfo(type.dtype if isinstance(type, (np.ndarray, np.generic)) else type)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._info, name)
        return float(value) if isinstance(value, np.floating) else value

    def __repr__(self) -> str:
        return repr(self._info)


COMPILED: dict[str, dict[str, Callable[..., Any]]] = {
    "numpy": {"clip": clip, "sort": sort, "argsort": argsort},
    "numpy.fft": {"fftfreq": fftfreq, "rfftfreq": rfftfreq},
}
OWN: dict[str, dict[str, Any]] = {"numpy": {"finfo": finfo, "iinfo": iinfo}}
