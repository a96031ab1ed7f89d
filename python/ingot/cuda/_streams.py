"""Streams and events of the host: queues of a device's work, and points in them."""

from __future__ import annotations

import operator
from typing import Any

from .. import _ingot
from .._devices import Device
from .._devices.streams import Stream, checked_stream, spare
from ._current import current_device


class Event:
    """A point in a stream, made by `ingot.cuda.event`.

    Parameters
    ----------
    device : Device
        The device.
    timing : bool
        Whether it has a time.

    See Also
    --------
    event
    """

    __slots__ = ("_handle", "device", "timing")

    device: Device
    timing: bool

    def __init__(self, device: Device, timing: bool) -> None:
        self.device, self.timing = device, timing
        self._handle = _ingot.make_event(device._handle)

    def record(self, stream: Any = 0) -> None:
        """Put the point at the end of a stream.

        Parameters
        ----------
        stream : Stream, optional
            The stream; 0 is the calling thread's.
        """
        self._handle.record(_handle_of(stream, self.device))

    def wait(self, stream: Any = 0) -> None:
        """Let what is put into a stream from now on wait for the point.

        Parameters
        ----------
        stream : Stream, optional
            The stream; 0 is the calling thread's.
        """
        self._handle.let_wait(_handle_of(stream, self.device))

    def synchronize(self) -> None:
        """Wait for the point."""
        self._handle.synchronize()

    def query(self) -> bool:
        """Return whether the point has been passed.

        Returns
        -------
        bool
            Also True where it is in no stream.
        """
        return self._handle.is_done()

    def elapsed_time(self, evtend: Event) -> float:
        """Return the time from this point to another one.

        Parameters
        ----------
        evtend : Event
            The other point. Both have been passed.

        Returns
        -------
        float
            Milliseconds.
        """
        if not (self.timing and evtend.timing):
            raise ValueError("the time between events that are made with `timing=False`")
        if self.device is not evtend.device:
            raise ValueError(f"the time between events of {self.device} and of {evtend.device}")
        return evtend._handle.since(self._handle)


def _handle_of(stream: Any, device: Device) -> Any:
    found = checked_stream(stream)
    if found is None:
        return _ingot.stream_of(device._handle)
    if found.device is not device:
        raise ValueError(f"an event of {device} in a stream of {found.device}")
    return found._handle


def stream(priority: int = 0) -> Stream:
    """Return a new stream of the current device.

    Parameters
    ----------
    priority : int, default 0
        Where work of several streams can go on, that of the greatest priority does; 0 is the least, and what is above the
        most of the device is that.

    Returns
    -------
    Stream
        The stream.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     stream = cuda.stream()
    ...     x = cuda.to_device(np.ones(3), stream)
    ...     stream.synchronize()
    >>> stream.is_done()
    True
    """
    device, priority = current_device(), max(operator.index(priority), 0)
    try:
        handle = spare.setdefault((device, priority), []).pop()
    except IndexError:
        handle = _ingot.make_stream(device._handle, min(priority, 1 << 20))
    return Stream(device, handle, True, priority)


def default_stream() -> Stream:
    """Return the current device's own stream, which work goes into where no other is given.

    Returns
    -------
    Stream
        The stream.

    See Also
    --------
    stream : A new one.
    """
    device = current_device()
    before = _ingot.stream_of(device._handle)
    _ingot.use_stream(device._handle, None)
    own = _ingot.stream_of(device._handle)
    _ingot.use_stream(device._handle, before)
    return Stream(device, own, False)


def event(timing: bool = True) -> Event:
    """Return a new event of the current device, in no stream yet.

    Parameters
    ----------
    timing : bool, default True
        Whether it has a time.

    Returns
    -------
    Event
        The event.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     first, last = cuda.event(), cuda.event()
    ...     first.record()
    ...     last.record()
    ...     last.synchronize()
    >>> cuda.event_elapsed_time(first, last) >= 0
    True
    """
    return Event(current_device(), bool(timing))


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Return the time from one event to another.

    Parameters
    ----------
    evtstart, evtend : Event
        Both have been passed.

    Returns
    -------
    float
        Milliseconds.

    See Also
    --------
    event
    """
    return evtstart.elapsed_time(evtend)
