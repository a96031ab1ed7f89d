"""Which device `ingot.cuda` means, and what it reports of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import _devices, _ingot
from .._devices import Device, default_device, devices


def current_device() -> Device:
    """The default device (`ingot.default_device`), which runs kernels."""
    device = default_device()
    if device.kind == "cpu":
        why = "kernels run on GPUs, and there is none"
        raise RuntimeError(f"{why}: `with ingot.device('emulated'):` runs them on a GPU in software")
    return device


class Gpu:
    """A device by the names that Numba has for its properties.

    Parameters
    ----------
    device : Device
        The device, also an attribute.

    See Also
    --------
    get_current_device, gpus

    Notes
    -----
    Its attributes are `id`, `name`, `compute_capability`, `WARP_SIZE`, `MULTIPROCESSOR_COUNT`, `MAX_THREADS_PER_BLOCK`,
    `MAX_SHARED_MEMORY_PER_BLOCK` and `MAX_GRID_DIM_X`, `_Y` and `_Z`. ``with gpu:`` makes it the current one of the code inside.
    """

    def __init__(self, device: Device) -> None:
        self.device: Device = device
        properties = device._handle.properties
        self.id: int = device.index
        self.name: str = device.name
        self.compute_capability: tuple[int, int] = divmod(device.capability, 10)
        self.WARP_SIZE: int = properties["warp"]
        self.MULTIPROCESSOR_COUNT: int = device.processors
        self.MAX_THREADS_PER_BLOCK: int = device.block_threads
        self.MAX_SHARED_MEMORY_PER_BLOCK: int = device.block_memory
        self.MAX_GRID_DIM_X: int = properties["grid"][0]
        self.MAX_GRID_DIM_Y: int = properties["grid"][1]
        self.MAX_GRID_DIM_Z: int = properties["grid"][2]

    def __repr__(self) -> str:
        return f"<ingot.cuda device {self.device}: {self.name}>"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Gpu) and other.device is self.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __enter__(self) -> Gpu:
        self.device.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.device.__exit__(*error)


class MemoryInfo(NamedTuple):
    """Bytes of a device's memory."""

    free: int
    total: int


class Context:
    """A device in use: what `current_context` returns.

    Parameters
    ----------
    device : Device
        The device.

    See Also
    --------
    current_context
    """

    def __init__(self, device: Device) -> None:
        self.device: Gpu = Gpu(device)

    def get_memory_info(self) -> MemoryInfo:
        """Return the bytes that arrays can still have, and all bytes of the device.

        Returns
        -------
        MemoryInfo
            `free`, with memory that is kept for later arrays, and `total`.
        """
        device = self.device.device
        return MemoryInfo(_ingot.free_memory(device._handle) + device._handle.memory["kept"], device.memory)

    def synchronize(self) -> None:
        """Wait for all streams of the device."""
        self.device.device.synchronize()


class _Gpus:
    """The devices of the current kind, looked for when they are asked for."""

    def _all(self) -> list[Device]:
        kind = default_device().kind
        return devices("gpu" if kind == "cpu" else kind)

    def __len__(self) -> int:
        return len(self._all())

    def __getitem__(self, index: int) -> Gpu:
        return Gpu(self._all()[index])

    def __iter__(self) -> Iterator[Gpu]:
        return map(Gpu, self._all())

    def __repr__(self) -> str:
        return f"<ingot.cuda devices: {', '.join(map(str, self._all())) or 'none'}>"

    @property
    def current(self) -> Gpu:
        return get_current_device()


gpus: _Gpus = _Gpus()
"""The devices that kernels run on."""


def get_current_device() -> Gpu:
    """Return the device that is used where none is named.

    Returns
    -------
    Gpu
        The default device, `ingot.default_device`.

    Raises
    ------
    RuntimeError
        There is no device for kernels.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     cuda.get_current_device().WARP_SIZE
    32
    """
    return Gpu(current_device())


def current_context(devnum: int | None = None) -> Context:
    """Return the context of a device.

    Parameters
    ----------
    devnum : int, optional
        The number of the device; by default the current one.

    Returns
    -------
    Context
        The device in use.

    Raises
    ------
    RuntimeError
        There is no device for kernels.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     info = cuda.current_context().get_memory_info()
    >>> 0 < info.free <= info.total
    True
    """
    return Context(current_device() if devnum is None else gpus[devnum].device)


def select_device(device_id: int) -> Gpu:
    """Make a device the current one of the calling thread.

    Parameters
    ----------
    device_id : int
        Its number.

    Returns
    -------
    Gpu
        The device.

    Raises
    ------
    RuntimeError
        There is no such device.
    """
    found = gpus._all()
    if not 0 <= device_id < len(found):
        kind = default_device().kind
        _devices.device("gpu" if kind == "cpu" else kind, device_id)  # raises with the reason
    _devices._default.set(found[device_id])
    return Gpu(found[device_id])


def is_available() -> bool:
    """Return whether there is a device that kernels run on.

    Returns
    -------
    bool
        Without a GPU True inside ``with ingot.device("emulated")``.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     cuda.is_available()
    True
    """
    return len(gpus) > 0


def detect() -> bool:
    """Print which devices there are.

    Returns
    -------
    bool
        Whether there are any.
    """
    found = list(gpus)
    if not found:
        print(f"no devices: {_ingot.why_no_devices('gpu')}")
    for gpu in found:
        major, minor = gpu.compute_capability
        print(f"{gpu.device}: {gpu.name}, compute capability {major}.{minor}, {gpu.device.memory / 2**30:.3g} GiB")
    return bool(found)


def synchronize() -> None:
    """Wait for all streams of the current device.

    Raises
    ------
    RuntimeError
        There is no device for kernels.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     cuda.synchronize()
    """
    current_device().synchronize()
