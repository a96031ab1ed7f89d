"""The memory of results and temporaries: freed blocks are kept for the next ones."""

from __future__ import annotations

from . import _devices, _ingot


def memory(device: str | _devices.Device | None = None) -> dict[str, int]:
    """Bytes of arrays that compiled code allocated: `in_use` now, `peak` at most so far, and of freed blocks those
    `kept` for the next arrays, at most `limit`.

    Of a device, `limit` is that of both, in use and kept; 0: all of its memory. `to_device` and `to_host` are the bytes that
    copies have moved since the start.
    """
    return _ingot.memory() if device is None else _devices.memory_of(_devices.device(device))


def set_kept_memory_limit(bytes: int) -> None:
    """From now on at most `bytes` of freed memory are kept for the next arrays; what is above goes back to the system.

    0 keeps nothing. The limit is an eighth of the machine's memory, or the environment variable INGOT_KEPT_MEMORY.
    """
    if bytes < 0:
        raise ValueError(f"the limit is a number of bytes, not {bytes}")
    _ingot.set_kept_memory_limit(bytes)
