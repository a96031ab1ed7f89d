"""Arrays that may have a copy on a device, and the memory they take there.

A `Buffer` is an array with a copy on the host and perhaps one on a device; it knows which of them are valid. A `Memory`
makes, fills and frees the copies of one device, within a limit, and counts what it moves. What a device is, two small
backends define: one of `ingot`'s devices, or a part of the host's memory that behaves like one.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import ingot
import numpy as np

Key = tuple[str, str]
"""Kind and name of an object, such as ("detdata", "signal")."""
NO_KEY: Key = ("", "")


class HostBackend:
    """A part of the host's memory that is used as a device's is: copies are disjoint from the host's arrays."""

    implementations: frozenset[str] | None = None
    """The implementations of kernels that take its arrays; None: all."""
    block_of_fused = (64, 1 << 16)
    """Detectors that fused operators work on at once, and the samples of all of them: on a CPU they stay in its cache."""

    def __init__(self, capacity: int | None = None) -> None:
        self.name, self.capacity = "host", capacity or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self.up = self.down = 0

    def block(self, nbytes: int) -> Any:
        """Memory for so many bytes, as an array uint8; MemoryError where there is none."""
        return np.empty(nbytes, np.uint8)

    def put(self, host: np.ndarray, array: Any) -> None:
        """Copies from the host."""
        with ingot.profile("upload") as region:
            array[...] = host
            region.bytes_up += host.nbytes
        self.up += host.nbytes

    def get(self, array: Any, host: np.ndarray) -> None:
        """Copies to the host."""
        with ingot.profile("download") as region:
            host[...] = array
            region.bytes_down += host.nbytes
        self.down += host.nbytes

    def moved(self) -> tuple[int, int]:
        """All bytes that were copied to the device and back so far, by whom ever."""
        return self.up, self.down

    def release(self) -> None:
        """Gives back memory that nobody uses."""


class DeviceBackend(HostBackend):
    """A device of `ingot`: "gpu", "gpu:1", "emulated" (the device in software), "opencl"."""

    implementations = frozenset(["ingot"])
    block_of_fused = (64, 1 << 22)

    def __init__(self, device: str | ingot.Device) -> None:
        self.device = ingot.device(device)
        self.name, self.capacity = str(self.device), self.device.memory

    def block(self, nbytes: int) -> Any:
        with self.device:
            return ingot.cuda.device_array(nbytes, np.uint8)

    def put(self, host: np.ndarray, array: Any) -> None:
        array.copy_to_device(host)

    def get(self, array: Any, host: np.ndarray) -> None:
        array.copy_to_host(host)

    def moved(self) -> tuple[int, int]:
        counts = ingot.memory(self.device)
        return counts["to_device"], counts["to_host"]

    def release(self) -> None:
        ingot.release_memory(self.device)


def size_class(nbytes: int) -> int:
    """The size of the block for so many bytes: of the next power of two some eighths, and at least 256."""
    step = max(256, 1 << max((nbytes - 1).bit_length() - 4, 0))
    return max(step, -(-nbytes // step) * step)


class Pool:
    """Blocks of a device's memory, which are kept when they are freed, for the next ones of their size.

    `limit` is a number of bytes (int) or a share of the device (float, up to 1.0): with a share each, several processes
    use one device. In use and cached blocks together stay within it; what kernels allocate themselves comes on top.
    """

    def __init__(self, backend: HostBackend, limit: int | float | None = None) -> None:
        if isinstance(limit, float) and not 0 < limit <= 1 or limit is not None and limit < 0:
            raise ValueError(f"the limit is a number of bytes or a share between 0.0 and 1.0, not {limit}")
        self.backend = backend
        self.limit = backend.capacity if limit is None else int(limit * backend.capacity) if isinstance(limit, float) else limit
        self.in_use = self.peak = self.cached = self.allocations = self.reuses = 0
        self._kept: dict[int, list[Any]] = defaultdict(list)

    @property
    def free_bytes(self) -> int:
        """What could be allocated once the cached blocks are released."""
        return self.limit - self.in_use

    def allocate(self, nbytes: int) -> Any:
        """A block of at least so many bytes (uint8); MemoryError where the limit or the device does not allow it."""
        size = size_class(nbytes)
        if self._kept[size]:
            block = self._kept[size].pop()
            self.cached -= size
            self.reuses += 1
        else:
            if self.in_use + self.cached + size > self.limit:
                self.release()
            if size > self.free_bytes:
                raise MemoryError(f"{size} bytes are wanted, {max(self.free_bytes, 0)} of {self.limit} are free")
            try:
                block = self.backend.block(size)
            except MemoryError:
                self.release()
                block = self.backend.block(size)
            self.allocations += 1
        self.in_use += size
        self.peak = max(self.peak, self.in_use)
        return block

    def free(self, block: Any) -> None:
        """Keeps a block for the next one of its size."""
        self._kept[block.nbytes].append(block)
        self.in_use -= block.nbytes
        self.cached += block.nbytes

    def release(self) -> int:
        """Gives the cached blocks back to the device: how many bytes."""
        released, self.cached = self.cached, 0
        self._kept.clear()
        self.backend.release()
        return released

    def statistics(self) -> dict[str, int]:
        """Bytes in use, their peak, cached, the limit; blocks that the device gave and that were used again."""
        return {name: getattr(self, name) for name in ("in_use", "peak", "cached", "limit", "allocations", "reuses")}


@dataclass
class Traffic:
    """What was moved of one object: copies, bytes, seconds."""

    uploads: int = 0
    downloads: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    zeroed: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Place:
    """Where the running operator is, and what it may touch; None for keys: everything."""

    memory: Memory | None = None
    operator: str = ""
    reads: frozenset[Key] | None = None
    writes: frozenset[Key] | None = None

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        with contextlib.nullcontext() if self.memory is None else self.memory.holding(()):
            token = _place.set(self)
            try:
                yield
            finally:
                _place.reset(token)


_place: contextvars.ContextVar[Place] = contextvars.ContextVar("place", default=Place())


def here() -> Place:
    """The side of the running operator; the host, outside of operators."""
    return _place.get()


class Buffer:
    """An array with a copy on the host and perhaps one on a device.

    A new one holds zeros, and takes memory where it is first used. `shape` and `dtype` are those on the host.
    """

    def __init__(self, shape: Sequence[int] | int = (), dtype: Any = np.float64, *, values: Any = None) -> None:
        host = None if values is None else np.ascontiguousarray(values)
        given = (shape,) if isinstance(shape, int) else tuple(shape)
        self.shape: tuple[int, ...] = given if host is None else host.shape
        self.dtype = np.dtype(dtype) if host is None else host.dtype
        self.key = NO_KEY
        self.memory: Memory | None = None
        self.host_valid, self.device_valid, self.lost = host is not None, False, ""
        self._host = host
        self._block: Any = None
        self._device: Any = None
        self._runs: list[tuple[int, int]] | None = None

    def __repr__(self) -> str:
        places = [name for name, valid in (("host", self.host_valid), (str(self.memory), self.device_valid)) if valid]
        return f"<{type(self).__name__} {self.label} {self.dtype}{self.shape}, valid on {' and '.join(places) or 'neither'}>"

    @property
    def label(self) -> str:
        return ".".join(self.key)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def data(self) -> Any:
        """The array, where the running operator is: NumPy's on the host, an `ingot.Array` on a device.

        An operator gets read-only what it does not provide. Outside of operators it is the host's array, which may be
        written into: a copy on a device is out of date from then on.
        """
        place = here()
        writes = place.writes is None or self.key in place.writes
        if not writes and place.reads is not None and self.key not in place.reads:
            raise KeyError(f"{place.operator} uses {self.label}, which is neither in its requires() nor in its provides()")
        if place.memory is not None:
            place.memory.stage(self)
            place.memory.needed.add(id(self))
        array = self.to_host() if place.memory is None else self._device
        if writes:
            self.host_valid, self.device_valid = place.memory is None, place.memory is not None
            return array
        shown = array[...]
        shown.setflags(write=False)
        return shown

    def to_host(self) -> np.ndarray:
        """The host's array, brought up to date; what is on a device stays valid: only for reading."""
        if not self.host_valid:
            if self.lost:
                raise RuntimeError(f"{self.label} has no valid copy: {self.lost}")
            if self._host is None:
                self._host = np.zeros(self.shape, self.dtype)
            if self.device_valid:
                assert self.memory is not None
                self.memory.download(self)
            self.host_valid = True
        return self._host  # type: ignore[return-value]

    def rows_on_device(self, detectors: Sequence[str] | None) -> list[tuple[int, int]] | None:
        """The runs of rows that a copy for these detectors has; None: it has all that the host has."""
        return None

    def device_shape(self, detectors: Sequence[str] | None) -> tuple[int, ...]:
        runs = self.rows_on_device(detectors)
        return self.shape if runs is None else (sum(stop - start for start, stop in runs), *self.shape[1:])

    def device_bytes(self, detectors: Sequence[str] | None) -> int:
        return math.prod(self.device_shape(detectors)) * self.dtype.itemsize


def buffers_of(item: Any) -> list[Buffer]:
    """The arrays of an object that can be on a device: itself, those that its `buffers()` names, or none."""
    return [item] if isinstance(item, Buffer) else list(item.buffers()) if hasattr(item, "buffers") else []


@dataclass(eq=False)
class Memory:
    """The copies on one device: made, filled, brought back and freed, within a limit, and counted; of one thread at a time.

    `where` is a device of `ingot` ("gpu", "emulated", ...), "host", or a backend; `limit` that of its `Pool`.
    """

    where: Any
    limit: int | float | None = None
    needed: set[int] = field(default_factory=set)
    """The `id`s of what the running operator needs or was given: it is not dropped."""

    def __post_init__(self) -> None:
        self.backend: HostBackend = self.where
        if isinstance(self.where, (str, ingot.Device)):
            self.backend = HostBackend() if self.where == "host" else DeviceBackend(self.where)
        self.pool = Pool(self.backend, self.limit)
        self.traffic: dict[str, Traffic] = defaultdict(Traffic)
        self.staged: dict[int, Buffer] = {}
        self._before = self.backend.moved()

    def __str__(self) -> str:
        return self.backend.name

    @contextlib.contextmanager
    def holding(self, buffers: Sequence[Buffer]) -> Iterator[None]:
        """Drops none of these inside, nor what is given to an operator there."""
        before, self.needed = self.needed, {*self.needed, *map(id, buffers)}
        try:
            yield
        finally:
            self.needed = before

    def create(self, buffer: Buffer, detectors: Sequence[str] | None = None) -> None:
        """Allocates a copy, whose elements are not yet valid; of detector data, for the rows of `detectors`."""
        if buffer.memory is not None:
            buffer.memory.free(buffer)
        block = self._room(buffer, buffer.device_bytes(detectors))
        flat = block[: buffer.device_bytes(detectors)].view(buffer.dtype)
        buffer._block, buffer._device, buffer.memory = block, flat.reshape(buffer.device_shape(detectors)), self
        buffer._runs = buffer.rows_on_device(detectors)
        self.staged[id(buffer)] = buffer

    def upload(self, buffer: Buffer, detectors: Sequence[str] | None = None) -> None:
        """Copies an object to the device."""
        host = buffer.to_host()
        if not self.holds(buffer, detectors):
            self.create(buffer, detectors)
        with self._counted(buffer) as traffic:
            traffic.bytes_up += self._copy(self.backend.put, host, buffer)
            traffic.uploads += 1
        buffer.device_valid = True

    def download(self, buffer: Buffer) -> None:
        """Copies an object back to the host."""
        if not buffer.device_valid:
            raise RuntimeError(f"{buffer.label} has no valid copy on {self}")
        if buffer._host is None:
            buffer._host = np.zeros(buffer.shape, buffer.dtype)
        with self._counted(buffer) as traffic:
            traffic.bytes_down += self._copy(lambda host, array: self.backend.get(array, host), buffer._host, buffer)
            traffic.downloads += 1
        buffer.host_valid = True

    def zero(self, buffer: Buffer, detectors: Sequence[str] | None = None) -> None:
        """Makes an object on the device zero; the host's copy is out of date then."""
        if not self.holds(buffer, detectors):
            self.create(buffer, detectors)
        with self._counted(buffer) as traffic, ingot.profile("zero"):
            traffic.zeroed += buffer._device.nbytes
            buffer._block.view(np.int64).fill(0)
        buffer.host_valid, buffer.device_valid, buffer.lost = False, True, ""

    def free(self, buffer: Buffer, why: str = "it was freed on the device") -> None:
        """Frees the copy. If it was the only valid one, the object cannot be read any more."""
        if buffer.memory is not self:
            return
        if buffer.device_valid and not buffer.host_valid:
            buffer.lost = why
        self.staged.pop(id(buffer), None)
        self.pool.free(buffer._block)
        buffer._block = buffer._device = buffer.memory = buffer._runs = None
        buffer.device_valid = False

    def holds(self, buffer: Buffer, detectors: Sequence[str] | None = None) -> bool:
        """Whether there is a copy for these detectors, valid or not."""
        return buffer.memory is self and (detectors is None or buffer._runs == buffer.rows_on_device(detectors))

    def stage(self, buffer: Buffer, detectors: Sequence[str] | None = None) -> None:
        """Makes the copy on the device valid: by a copy of the host's, or zero where there is none yet."""
        if buffer.device_valid and self.holds(buffer, detectors):
            self.staged[id(buffer)] = self.staged.pop(id(buffer))  # the one used last
            return
        if buffer.device_valid and not buffer.host_valid:
            buffer.to_host()
        if buffer.host_valid or buffer.lost:
            self.upload(buffer, detectors)
        else:
            self.zero(buffer, detectors)

    def statistics(self) -> dict[str, Any]:
        """The pool's numbers, for each key what was moved (`Traffic`), and the bytes that calls moved themselves, up and down.

        The latter are small arguments that stay on the host: index tables, intervals, numbers of detectors.
        """
        up, down = (now - before for now, before in zip(self.backend.moved(), self._before))
        apart = up - self.total("bytes_up"), down - self.total("bytes_down")
        return {**self.pool.statistics(), "keys": dict(self.traffic), "apart": apart}

    def total(self, name: str) -> int:
        """The sum over all keys of one number of `Traffic`, as "bytes_up"."""
        return sum(getattr(traffic, name) for traffic in self.traffic.values())

    def _copy(self, move: Any, host: np.ndarray, buffer: Buffer) -> int:
        runs = buffer._runs
        at = 0
        for start, stop in runs or ():
            move(host[start:stop], buffer._device[at : at + stop - start])
            at += stop - start
        if runs is None:
            move(host, buffer._device)
        return buffer._device.nbytes

    @contextlib.contextmanager
    def _counted(self, buffer: Buffer) -> Iterator[Traffic]:
        traffic, start = self.traffic[buffer.label], perf_counter()
        yield traffic
        traffic.seconds += perf_counter() - start

    def _room(self, buffer: Buffer, nbytes: int) -> Any:
        """A block. Where memory is missing, cached blocks are released, then copies dropped that the host has, too."""
        droppable = [b for b in self.staged.values() if id(b) not in self.needed and (b.host_valid or not b.device_valid)]
        while True:
            try:
                return self.pool.allocate(nbytes)
            except MemoryError:
                if not droppable:
                    free, size = max(self.pool.free_bytes, 0), size_class(nbytes)
                    limit = f"of the limit of {self.pool.limit} bytes {free} are free"
                    why = f"{limit}, so much would fit" if size > free else f"{limit}, but so much the device itself does not have"
                    raise MemoryError(f"{buffer.label} needs {size} bytes on {self}: {why}") from None
                self.free(droppable.pop(0))


@functools.cache
def default_memory() -> Memory | None:
    """The memory of the first GPU, which pipelines use where none is named; None where there is no GPU."""
    device = ingot.devices()[0]
    return None if device.kind == "cpu" else Memory(device)
