"""The memory of results and temporaries: freed blocks are kept for the next ones."""

from __future__ import annotations

from .. import _devices, _ingot


def memory(device: str | _devices.Device | None = None) -> dict[str, int]:
    """Return how many bytes arrays take.

    Parameters
    ----------
    device : str or Device, optional
        A device; by default the host, where arrays of compiled code count.

    Returns
    -------
    dict of str to int
        Bytes: `in_use` now, `peak` so far, `kept` of freed blocks for the next arrays, and `limit` of those kept. Of a device
        `limit` is that of both together (0: all of its memory), and `to_device` and `to_host` are the bytes copied so far.

    See Also
    --------
    set_kept_memory_limit, set_memory_limit, release_memory, reset_memory_peak

    Examples
    --------
    >>> sorted(ingot.memory())
    ['in_use', 'kept', 'limit', 'peak']
    """
    return _ingot.memory() if device is None else _devices.memory_of(_devices.device(device))


def set_kept_memory_limit(bytes: int) -> None:
    """Set how many bytes of freed host memory are kept for the next arrays.

    Parameters
    ----------
    bytes : int
        The limit; 0 keeps nothing. What is above it goes back to the system.

    Raises
    ------
    ValueError
        `bytes` is negative.

    Notes
    -----
    At first it is the environment variable INGOT_KEPT_MEMORY, else an eighth of the machine's memory.

    Examples
    --------
    >>> before = ingot.memory()["limit"]
    >>> ingot.set_kept_memory_limit(2**28)
    >>> ingot.memory()["limit"]
    268435456
    >>> ingot.set_kept_memory_limit(before)
    """
    if bytes < 0:
        raise ValueError(f"the limit is a number of bytes, not {bytes}")
    _ingot.set_kept_memory_limit(bytes)
