"""Streams of devices: queues of work, each of which a thread may make its own for a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from .. import _ingot
from . import Device

spare: dict[tuple[Device, int], list[Any]] = {}
"""Streams that nobody has any more. They are not destroyed, since memory knows the stream that has used it last."""
_entered = threading.local()


class Stream:
    """A queue of a device: what is put into it is done in order, while the host goes on.

    Made by `ingot.cuda.stream`. ``with stream:`` makes it the stream of what the calling thread does on the device.

    Parameters
    ----------
    device, handle, is_kept, priority
        The device, and the driver's stream.

    See Also
    --------
    stream, event
    """

    __slots__ = ("_handle", "_is_kept", "device", "priority")

    device: Device
    priority: int

    def __init__(self, device: Device, handle: Any, is_kept: bool, priority: int = 0) -> None:
        self.device, self._handle, self._is_kept, self.priority = device, handle, is_kept, priority

    def __del__(self, spare: dict[tuple[Device, int], list[Any]] = spare) -> None:
        if getattr(self, "_is_kept", False):
            spare.setdefault((self.device, self.priority), []).append(self._handle)

    def __repr__(self) -> str:
        return f"<ingot.cuda stream of {self.device} at {self._handle.address:#x}>"

    def __enter__(self) -> Stream:
        stack = _entered.__dict__.setdefault("stack", [])
        stack.append((self, _ingot.stream_of(self.device._handle)))
        _ingot.use_stream(self.device._handle, self._handle)
        return self

    def __exit__(self, *error: Any) -> None:
        _, before = _entered.stack.pop()
        _ingot.use_stream(self.device._handle, before)

    def synchronize(self) -> None:
        """Wait for all that has been put into the stream."""
        self._handle.synchronize()

    def is_done(self) -> bool:
        """Return whether all that has been put into the stream is done.

        Returns
        -------
        bool
            The same as `query`.
        """
        return self._handle.is_done()

    query = is_done

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Wait for the stream at the end of a `with`: ``with stream.auto_synchronize():``.

        Yields
        ------
        Stream
            The stream.
        """
        yield self
        self.synchronize()


def checked_stream(stream: Any) -> Stream | None:
    """A stream of `cuda.stream()`; None for 0: that of the calling thread."""
    if stream is None or type(stream) is int and stream == 0:
        return None
    if not isinstance(stream, Stream):
        raise TypeError(f"a stream is what `cuda.stream()` gives, or 0, not {type(stream).__name__}")
    return stream


def in_stream(stream: Stream | None, device: Device | None = None) -> contextlib.AbstractContextManager[Any]:
    """What makes a stream the calling thread's for a time. ValueError if it is of another device."""
    if stream is None:
        return contextlib.nullcontext()
    if device is not None and device is not stream.device:
        raise ValueError(f"an array on {device} in a stream of {stream.device}")
    return stream
