"""`@cuda.reduce`: the reduction that a function of two numbers makes."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays.array import Array
from .._devices.streams import checked_stream, in_stream
from ._kernel import jit
from ._memory import device_array, to_device

TILE = 256
"""Elements that a block makes one of."""


def _function_of(given: Any) -> Callable[..., Any]:
    return given if isinstance(given, types.FunctionType) else getattr(given, "__ingot_function__", given)


class Reduce:
    """A reduction by a function of two numbers: what `ingot.cuda.reduce` makes.

    Parameters
    ----------
    function : callable
        The function, which is associative.

    See Also
    --------
    reduce : The decorator.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, _function_of(function))
        self._function = _function_of(function)

    def __repr__(self) -> str:
        return f"<ingot.cuda reduction {self.__module__}.{self.__qualname__}>"  # type: ignore[attr-defined]

    @functools.cached_property
    def _kernels(self) -> tuple[Any, Any]:
        from . import _launches

        return jit(_launches.tiles_of(self._function, TILE)), jit(_launches.finish_of(self._function))

    def __call__(self, arr: Any, size: int | None = None, res: Array | None = None, init: Any = 0, stream: Any = 0) -> Any:
        """Reduces the first `size` elements, and `init` before them. Gives a number of NumPy's; or writes it into
        `res[0]`, an array on the device, and gives None. `init` None: there is none."""
        queue = checked_stream(stream)
        if arr.ndim != 1:
            raise TypeError(f"a reduction takes an array of one axis, not of {arr.ndim}")
        count = arr.size if size is None else operator.index(size)
        if not 0 <= count <= arr.size:
            raise ValueError(f"a reduction of {count} elements of an array that has {arr.size}")
        if count == 0 and init is None:
            raise ValueError("a reduction of no elements without an initial one")
        with in_stream(queue, arr.device if isinstance(arr, Array) else None):
            values = arr if isinstance(arr, Array) else to_device(arr, stream)
            with values.device:
                return self._reduced(values[:count], res, None if init is None else values.dtype.type(init))

    def _reduced(self, values: Any, res: Array | None, init: np.generic | None) -> Any:
        tiles, finish = self._kernels
        out = device_array(1, values.dtype) if res is None else res
        if values.size == 0:
            out[:1] = init
        else:
            while values.size > 1:
                joined = device_array(-(-values.size // TILE), values.dtype)
                tiles[joined.size, TILE](values, joined)
                values = joined
            if init is None:
                out[:1] = values
            else:
                finish[1, 1](values, out, init)
        return out.copy_to_host()[0] if res is None else None


def reduce(function: Callable[..., Any]) -> Reduce:
    """Make a reduction of a function of two numbers; a decorator.

    Parameters
    ----------
    function : callable
        The function, which is associative.

    Returns
    -------
    Reduce
        Called with an array of one axis, on the host or a device, it returns a number.

    Notes
    -----
    Neighbours are combined, then what they gave, in a tree that depends on the length alone.

    Examples
    --------
    >>> from ingot import cuda
    >>> @cuda.reduce
    ... def total(a, b):
    ...     return a + b
    >>> with ingot.device("emulated"):
    ...     print(total(np.arange(10)))
    45
    """
    return Reduce(function)
