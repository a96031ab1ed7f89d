"""`ingot.vectorize` and `ingot.guvectorize` with `target="cuda"`: the functions run on a device."""

from __future__ import annotations

import contextlib
import functools
import math
from typing import Any

import numpy as np

from .. import _ingot
from .._arrays.array import Array
from .._devices import Device
from .._devices.streams import checked_stream, in_stream
from .._devices.transfers import device_put
from ..cuda import Reduce, jit
from ..cuda._current import current_device
from ..cuda._launches import iterations_of
from . import Vectorized
from .guvectorize import GUFunction

_THREADS = 128


def _device_of(args: tuple[Any, ...], stream: Any) -> tuple[Device, contextlib.AbstractContextManager[Any], bool]:
    """Where a call runs, what has it run in the stream, and whether arrays of a device are among the arguments."""
    queue = checked_stream(stream)
    found = next((arg.device for arg in args if isinstance(arg, Array)), None)
    return found or (current_device() if queue is None else queue.device), in_stream(queue, found), found is not None


class DeviceVectorized(Vectorized):
    """A ufunc whose calls run on a device: that of its arrays, or the current one, where its results are NumPy's then."""

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        device, scope, stays = _device_of((*args, out), stream)
        with scope:
            given = [np.asarray(arg) if isinstance(arg, (list, tuple)) else arg for arg in args]
            if not stays and not any(isinstance(arg, np.ndarray) for arg in given):
                return super().__call__(*given, out=out)
            moved = [device_put(arg, device) if isinstance(arg, np.ndarray) else arg for arg in given]
            if not any(isinstance(arg, Array) for arg in moved):
                moved[0] = device_put(moved[0], device)
            made = super().__call__(*moved)
            if out is not None:
                for target, result in zip(out if isinstance(out, tuple) else (out,), made if isinstance(made, tuple) else (made,)):
                    np.copyto(target, result, "same_kind")
                return out
            if stays:
                return made
            return tuple(one.to_host()[()] for one in made) if isinstance(made, tuple) else made.to_host()[()]

    def reduce(self, array: Any, stream: Any = 0) -> Any:  # type: ignore[override]
        """The reduction of an array of one axis, as `cuda.reduce` makes it, without an initial element."""
        return self._reduction(array, init=None, stream=stream)

    @functools.cached_property
    def _reduction(self) -> Any:
        return Reduce(self.__ingot_function__)


class DeviceGUFunction(GUFunction):
    """A compiled core that the threads of a kernel run, one for each index of the leading axes."""

    def __call__(self, *args: Any, stream: Any = 0) -> Any:
        if len(args) not in (len(self.inputs), len(self.inputs) + len(self.outputs)):
            raise TypeError(f"{self.__name__}() takes {len(self.inputs)} arguments, {len(args)} given")
        device, scope, stays = _device_of(args, stream)
        with scope:
            return self._run(args, device, stays)

    def _run(self, args: tuple[Any, ...], device: Device, stays: bool) -> Any:
        cores, count = self.inputs + self.outputs, len(self.inputs)
        shown = [np.broadcast_to(np.zeros((), a.dtype), a.shape) if isinstance(a, Array) else a for a in args]
        signature = self._signature_of(tuple(shown))
        given: list[Any] = [a if isinstance(a, (Array, np.ndarray)) else np.asarray(a, t.dtype) for a, t in zip(args, signature.parameters)]
        lengths: dict[str, int] = {}
        leading = [self._leading(a, core, lengths) for a, core in zip(given, cores)]
        shape = np.broadcast_shapes(*leading[:count])
        iterations = math.prod(shape)
        arrays = [self._flat(a, shape, t, core, device) for a, t, core in zip(given, signature.parameters, cores)]
        for core, kind in list(zip(self.outputs, signature.parameters[count:]))[len(given) - count :]:
            full = shape + tuple(lengths[axis] for axis in core)
            given.append(_ingot.new_array(full, np.dtype(kind.dtype), False, device._handle))
            arrays.append(self._flat(given[-1], shape, kind, core, device))
        if iterations > 0:
            self._kernel[-(-iterations // _THREADS), _THREADS](iterations, tuple(arrays))
        for target, flat in list(zip(given, arrays))[count if self.outputs else 0 :]:
            self._bring_back(target, flat)
        made = given[count:] if stays else [a.to_host() if isinstance(a, Array) else a for a in given[count:]]
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    @staticmethod
    def _flat(array: Any, shape: tuple[int, ...], kind: Any, core: tuple[str, ...], device: Device) -> Any:
        """The array on the device with one leading axis: a view where it can be. One that is spread over the leading axes is
        read-only, as NumPy's are."""
        moved = device_put(array, device)
        inner = moved.shape[moved.ndim - len(core) :]
        lies = _ingot.stand_in(moved)
        is_spread = moved.shape != shape + inner
        wide = moved._like(np.broadcast_to(lies, shape + inner)).copy() if is_spread else moved
        if not core and kind.ndim is not None:
            inner = (1,)
        flat = wide.reshape((math.prod(shape), *inner))
        if is_spread or not array.flags.writeable:
            flat = flat[...]
            flat.flags.writeable = False
        return flat

    @staticmethod
    def _bring_back(target: Any, flat: Any) -> None:
        """What a kernel has written into a copy."""
        if not flat.flags.writeable:
            return
        if isinstance(target, Array):
            if not np.shares_memory(_ingot.stand_in(target), _ingot.stand_in(flat)):
                target[...] = flat.reshape(target.shape)
        else:
            target[...] = flat.to_host().reshape(target.shape)

    @functools.cached_property
    def _kernel(self) -> Any:
        return jit(iterations_of(self.__wrapped__), fastmath=self._relaxed)  # type: ignore[attr-defined]
