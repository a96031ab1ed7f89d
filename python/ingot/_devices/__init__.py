"""Devices: which there are, the default one, their memory, and what is asked of code for them."""

from __future__ import annotations

import contextvars
import functools
import math
import os
import re
import sys
from typing import Any, NamedTuple

from .. import _ingot

KINDS = ("gpu", "emulated", "opencl", "amd", "cpu")
OLDEST = 75
"""The compute capability (times ten) of the oldest GPUs."""
AMD = ("gfx90a", "gfx942", "gfx1100")
"""AMD's GPUs that code is made for."""


class Device:
    """A device that functions run on.

    Parameters
    ----------
    handle : object
        The driver's device. Devices are looked up by `ingot.device`.

    Attributes
    ----------
    kind : {"gpu", "emulated", "opencl", "amd", "cpu"}
        A GPU, the GPU in software, a device of OpenCL's, one of AMD's GPUs, or the host.
    index : int
        Its number among those of its kind.
    name : str
        The driver's name of it.
    code : str
        What code for it is made for, such as ``"sm_90"``.
    capability : int
        The compute capability times ten.
    driver : int
        The version of a GPU's driver, 1000 times the major one: 13000. 0 where it has none.
    memory : int
        Bytes of memory.
    processors : int
        The number of multiprocessors.
    block_threads : int
        The most threads of a block.
    block_memory : int
        The most bytes that the threads of a block share.

    Notes
    -----
    ``with device:`` makes it the default one of the code inside.

    Examples
    --------
    >>> device = ingot.device("emulated")
    >>> device
    emulated:0
    >>> with device:
    ...     ingot.default_device().kind
    'emulated'
    """

    __module__ = "ingot"

    __slots__ = ("_handle", "block_memory", "block_threads", "capability", "code", "driver", "index", "kind", "memory", "name", "processors")

    kind: str
    name: str
    code: str
    index: int
    capability: int
    driver: int
    memory: int
    processors: int
    block_threads: int
    block_memory: int

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        given = handle.properties if handle is not None else {}
        for name, text in (("kind", "cpu"), ("name", "cpu"), ("code", "")):
            setattr(self, name, given.get(name, text))
        for name in ("index", "capability", "driver", "memory", "processors", "block_threads", "block_memory"):
            setattr(self, name, given.get(name, 0))

    def __repr__(self) -> str:
        return f"{self.kind}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device._restored, (self.kind, self.index)

    @classmethod
    def _restored(cls, kind: str, index: int) -> Device:
        return device(kind, index)

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: Any) -> Device:
        return self

    def __enter__(self) -> Device:
        _entered.set((*_entered.get(), _default.get()))
        _default.set(self)
        return self

    def __exit__(self, *error: Any) -> None:
        *outer, before = _entered.get()
        _entered.set(tuple(outer))
        _default.set(before)

    def synchronize(self) -> None:
        """Wait for all that the device has been given to do."""
        if self._handle is not None:
            self._handle.synchronize()


_restored = Device._restored  # as pickles of 0.1.0 name it


_default: contextvars.ContextVar[Device | None] = contextvars.ContextVar("ingot_device", default=None)
_entered: contextvars.ContextVar[tuple[Device | None, ...]] = contextvars.ContextVar("ingot_entered", default=())
"""The default devices outside of each `with`, from the outermost one on."""
_chosen: list[Device | None] = [None]  # what `set_default_device` has set


@functools.cache
def _of_kind(kind: str) -> tuple[Device, ...]:
    if kind == "cpu":
        return (Device(None),)
    found = _ingot.devices(kind)
    for handle in found:
        _ingot.set_library_folders(handle, _library_folders())
    return tuple(Device(handle) for handle in found)


def _library_folders() -> list[str]:
    """Where wheels of vendors put their libraries."""
    import glob

    places = dict.fromkeys(place or "." for place in sys.path)
    return [folder for place in places for folder in sorted(glob.glob(os.path.join(place, "nvidia", "*", "lib")), reverse=True)]


@functools.cache
def of(name: str) -> Device:
    """The device of a name such as `gpu:0`, which is there."""
    kind, _, index = name.partition(":")
    return _of_kind(kind)[int(index)]


def devices(kind: str | None = None) -> list[Device]:
    """List the devices of a kind.

    Parameters
    ----------
    kind : {"gpu", "emulated", "opencl", "amd", "cpu"}, optional
        ``"emulated"`` is a GPU in software. By default GPUs, then the CPU.

    Returns
    -------
    list of Device
        Empty where there are none.

    Raises
    ------
    ValueError
        There is no such kind.

    Examples
    --------
    >>> ingot.devices("cpu")
    [cpu:0]
    """
    if kind is None:
        return [*_of_kind("gpu"), *_of_kind("cpu")]
    if kind not in KINDS:
        raise ValueError(f"the kinds of devices are {', '.join(KINDS)}, not {kind!r}")
    return list(_of_kind(kind))


def device(kind: str | Device, index: int | None = None) -> Device:
    """Return a device.

    Parameters
    ----------
    kind : str or Device
        The kind, as of `devices`, or kind and number: ``"gpu:1"``.
    index : int, optional
        The number of the device among those of its kind, 0 by default.

    Returns
    -------
    Device
        ``with device("gpu"):`` makes it the default one of the code inside.

    Raises
    ------
    RuntimeError
        There is no such device; the message has the driver's reason.
    TypeError, ValueError
        `kind` is no device.

    Examples
    --------
    >>> ingot.device("cpu")
    cpu:0
    """
    if isinstance(kind, Device):
        return kind
    if not isinstance(kind, str):
        raise TypeError(f"a device is a Device, or a string such as 'gpu' or 'gpu:0', not {type(kind).__name__}")
    name, _, number = kind.partition(":")
    if number and (index is not None or not number.isdigit()):
        raise ValueError(f"a device is named such as 'gpu' or 'gpu:0', not {kind!r}")
    place = int(number) if number else index or 0
    found = devices(name)
    if not 0 <= place < len(found):
        why = _ingot.why_no_devices(name) if not found else f"there are {len(found)} of them" if len(found) > 1 else "there is one"
        raise RuntimeError(f"there is no device {name}:{place}: {why}")
    return found[place]


def default_device() -> Device:
    """Return the device that `device_put` and kernels use by default.

    Returns
    -------
    Device
        That of ``with device(...)``, else of `set_default_device`, else the first GPU, else the CPU.

    Examples
    --------
    >>> with ingot.device("emulated"):
    ...     ingot.default_device()
    emulated:0
    """
    return _default.get() or _chosen[0] or devices()[0]


def set_default_device(device: str | Device | None) -> None:
    """Set the default device.

    Parameters
    ----------
    device : str or Device or None
        None: the first GPU, or the CPU where there is none.

    See Also
    --------
    default_device : Which one it is.

    Examples
    --------
    >>> ingot.set_default_device("emulated")
    >>> ingot.default_device()
    emulated:0
    >>> ingot.set_default_device(None)
    """
    _chosen[0] = None if device is None else _named(device)


def _named(given: str | Device) -> Device:
    return device(given)


def checked(given: str | Device | None) -> str | Device | None:
    """The device of a function, by its name at first: a driver is not opened before the first call."""
    if given is None:
        return None
    kind = given.kind if isinstance(given, Device) else given.partition(":")[0] if isinstance(given, str) else None
    if kind is None:
        raise TypeError(f"a device is a Device, or a string such as 'gpu' or 'gpu:0', not {type(given).__name__}")
    if kind not in KINDS:
        raise ValueError(f"the kinds of devices are {', '.join(KINDS)}, not {kind!r}")
    if kind == "cpu":
        raise ValueError("a function runs on the CPU where none of its arrays is on a device: leave `device` out")
    return given


def target_of(given: str | Device | None) -> tuple[str, Device | None]:
    """The code that is made for a device, and the device: "sm_90" and "gfx90a" are code for GPUs of which none has to be
    there, and "" is that of the CPU, or of what arguments are on.
    """
    if given is None:
        return "", None
    if given in AMD:
        return str(given), None
    if isinstance(given, str) and (match := re.fullmatch(r"sm_(\d+)", given)):
        if int(match[1]) < OLDEST:
            raise ValueError(f"GPUs are those of sm_{OLDEST} and later, not {given!r}")
        return given, None
    found = _named(given)
    return found.code, None if found.kind == "cpu" else found


def handle_of(given: str | Device) -> Any:
    """A device for the extension; None: the host."""
    return _named(given)._handle


def memory_of(device: Device) -> dict[str, int]:
    return _ingot.memory() if device._handle is None else device._handle.memory


def set_memory_limit(device: str | Device, bytes: int) -> None:
    """Limit the bytes of a device's memory that arrays take, together with memory kept for later arrays.

    Parameters
    ----------
    device : str or Device
        A device with memory of its own.
    bytes : int
        The limit; 0: none.

    Raises
    ------
    ValueError
        `bytes` is negative, or the device is the host.
    MemoryError
        By a later operation: its arrays do not fit.

    Examples
    --------
    >>> ingot.set_memory_limit("emulated", 2**30)
    >>> ingot.memory("emulated")["limit"]
    1073741824
    >>> ingot.set_memory_limit("emulated", 0)
    """
    if bytes < 0:
        raise ValueError(f"the limit is a number of bytes, not {bytes}")
    handle = handle_of(device)
    if handle is None:
        raise ValueError("the limit is one of a device's memory; ingot.set_kept_memory_limit sets what the host keeps")
    handle.set_memory_limit(bytes)


def reset_memory_peak(device: str | Device) -> None:
    """Set the `peak` of a device's memory to what is in use now.

    Parameters
    ----------
    device : str or Device
        The device.

    See Also
    --------
    memory : `peak` and other figures.

    Examples
    --------
    >>> ingot.reset_memory_peak("emulated")
    >>> ingot.memory("emulated")["peak"] == ingot.memory("emulated")["in_use"]
    True
    """
    if (handle := handle_of(device)) is not None:
        handle.reset_memory_peak()


def release_memory(device: str | Device) -> int:
    """Free the memory of a device that is kept for later arrays.

    Parameters
    ----------
    device : str or Device
        The device.

    Returns
    -------
    int
        How many bytes were freed.

    Examples
    --------
    >>> released = ingot.release_memory("emulated")
    >>> ingot.memory("emulated")["kept"]
    0
    """
    handle = handle_of(device)
    return 0 if handle is None else handle.release_memory()


_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def no_memory(shape: tuple[int, ...], dtype: str, device: str, why: str) -> MemoryError:
    """The exception for an array that a device has no memory for."""
    import numpy as np

    size = float(math.prod(shape) * np.dtype(dtype).itemsize)
    unit = min(int(math.log(size, 1024)) if size >= 1 else 0, len(_UNITS) - 1)
    amount = f"{size / 1024**unit:.3g} {_UNITS[unit]}"
    return MemoryError(f"Unable to allocate {amount} for an array with shape {shape} and data type {dtype} on {device}: {why}")


@functools.cache
def find_toolkit() -> None:
    """Sets where Python's packages have the vendor's compilers, before they are needed."""
    import importlib.util

    found = importlib.util.find_spec("nvidia")
    parts = ("cu13", "cuda_nvrtc", "nvjitlink")
    folders = [os.path.join(place, part, "lib") for place in (found and found.submodule_search_locations or ()) for part in parts]
    _ingot.set_toolkit_folders([folder for folder in folders if os.path.isdir(folder)])


class Loading(NamedTuple):
    """How a function's kernels are compiled and loaded; 0 is the default."""

    linked: tuple[Any, ...] = ()
    """What is linked with them: objects of `cuda.LinkableCode`."""
    max_registers: int = 0
    """Of a thread."""
    most_threads: int = 0
    """Of a block of any launch."""
    fewest_blocks: int = 0
    """That are to fit on a processor."""

    def options(self, linked: tuple[Any, ...] = ()) -> Any:
        """How a device's driver loads them, with more that is linked; None: the default."""
        words = [each.words for each in dict.fromkeys((*self.linked, *linked))]
        return _ingot.load_options(words, self.max_registers) if words or self.max_registers else None


def limited_by_others() -> None:
    """Has threadpoolctl, where it is in use, limit the threads of loops."""
    if "threadpoolctl" in sys.modules:
        from .limits import make_known

        make_known()
