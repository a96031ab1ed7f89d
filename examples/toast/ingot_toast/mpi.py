"""Sums over processes: of maps, of which each process has its own submaps, and of numbers.

Each submap that some process hits has one owner. A sum sends all local copies to the owners, which add them in the order of
ranks and send the totals back. With one process all of this is nothing.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ingot
import numpy as np

from .comm import Comm, evenly
from .data import Data, PixelDistribution, PixelMap
from .operator import Keys, Operator


class Exchange:
    """The submaps of a distribution among its processes: who owns which, and who has copies.

    `submaps` are the numbers of those that this process owns.
    """

    def __init__(self, distribution: PixelDistribution, comm: Comm) -> None:
        self.distribution, self.world = distribution, comm.world if comm.size > 1 else None
        self.submaps = distribution.submaps
        if self.world is None:
            return
        kept = self.world.allgather(distribution.submaps)
        hit = np.unique(np.concatenate(kept))
        shares = [hit[part.start : part.stop] for part in evenly(len(hit), comm.size)]
        self.submaps = shares[comm.rank]
        owner = np.zeros(distribution.n_submap, np.int64)
        for rank, share in enumerate(shares):
            owner[share] = rank
        owners = owner[distribution.submaps]  # local submaps are sorted, and so are the shares: those of an owner follow each other
        self.to_owners = [int(np.count_nonzero(owners == rank)) for rank in range(comm.size)]
        copies = [share[owner[share] == comm.rank] for share in kept]
        self.from_ranks = [len(share) for share in copies]
        self.copies = np.searchsorted(self.submaps, np.concatenate(copies))  # rows of `submaps` that the others' copies are of

    def collect(self, values: np.ndarray) -> np.ndarray:
        """The totals on the owned submaps of what all processes have: (local submaps, pixels, numbers) -> (owned, ...)."""
        if self.world is None:
            return values
        received = self._move(values, self.to_owners, self.from_ranks)
        total = np.zeros((len(self.submaps), *values.shape[1:]), values.dtype)
        for row, part in zip(self.copies, received):
            total[row] += part
        return total

    def spread(self, totals: np.ndarray) -> np.ndarray:
        """The owners' totals on all local submaps."""
        if self.world is None:
            return totals
        return self._move(totals[self.copies], self.from_ranks, self.to_owners)

    def map(self, totals: np.ndarray, units: str) -> PixelMap:
        """The owners' totals as a map on the local submaps."""
        values = self.spread(totals)
        return PixelMap(self.distribution, values.shape[2], values.dtype, units, values)

    def sky(self, local: np.ndarray) -> np.ndarray:
        """The whole sky (n_pix, numbers) of a map that is equal wherever it is kept, on rank 0; without pixels on others."""
        own = self.distribution
        kept = [own.submaps] if self.world is None else self.world.gather(own.submaps)
        if kept is None:
            self._send(local)
            return np.zeros((0, local.shape[2]), local.dtype)
        whole = np.zeros((own.n_submap, own.n_pix_submap, local.shape[2]), local.dtype)
        for rank, submaps in enumerate(kept):
            whole[submaps] = self._received(rank, (len(submaps), *local.shape[1:]), local.dtype) if rank else local
        return whole.reshape(-1, local.shape[2])[: own.n_pix]

    # Messages are counted in submaps: MPI counts up to 2³¹, and a map may have more bytes.

    def _move(self, values: np.ndarray, sent: list[int], received: list[int]) -> np.ndarray:
        assert self.world is not None
        result = np.empty((sum(received), *values.shape[1:]), values.dtype)
        with submap_type(self.world, values) as kind:
            self.world.Alltoallv([np.ascontiguousarray(values), sent, kind], [result, received, kind])
        return result

    def _send(self, values: np.ndarray) -> None:
        assert self.world is not None
        with submap_type(self.world, values) as kind:
            self.world.Send([np.ascontiguousarray(values), len(values), kind], 0)

    def _received(self, rank: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        assert self.world is not None
        values = np.empty(shape, dtype)
        with submap_type(self.world, values) as kind:
            self.world.Recv([values, len(values), kind], rank)
        return values


@contextlib.contextmanager
def submap_type(world: Any, values: np.ndarray) -> Iterator[Any]:
    """MPI's type of a row of an array (submaps, pixels, numbers); None for Dask's workers, which send rows."""
    if not is_mpi(world):
        yield None
        return
    from mpi4py import MPI

    kind = MPI._typedict[values.dtype.char].Create_contiguous(math.prod(values.shape[1:])).Commit()
    try:
        yield kind
    finally:
        kind.Free()


class DenseExchange(Exchange):
    """The same sums by Allreduce, in pieces of all submaps of the sky; each process owns what it keeps."""

    piece = 64  # submaps

    def __init__(self, distribution: PixelDistribution, comm: Comm) -> None:
        self.distribution, self.world = distribution, comm.world if comm.size > 1 else None
        self.submaps = distribution.submaps

    def collect(self, values: np.ndarray) -> np.ndarray:
        if self.world is None:
            return values
        total, own = np.empty_like(values), self.distribution
        for start in range(0, own.n_submap, self.piece):
            buffer = np.zeros((min(self.piece, own.n_submap - start), *values.shape[1:]), values.dtype)
            here = slice(*np.searchsorted(own.submaps, (start, start + len(buffer))))
            buffer[own.submaps[here] - start] = values[here]
            summed = np.empty_like(buffer)
            self.world.Allreduce(buffer, summed)
            total[here] = summed[own.submaps[here] - start]
        return total

    def spread(self, totals: np.ndarray) -> np.ndarray:
        return totals


class DistributePixels(Operator):
    """`finalize` makes the distribution of the submaps that this process hits, and who owns which, by all processes together.

    It reads `hit_submaps` then, once all detectors have been worked on; `exec` does not, so these may come in parts. Maps are summed
    between owners of submaps, or with `allreduce` by Allreduce.
    """

    on_device = True
    n_pix: int = 49152
    pixels: str = "pixels"
    hit_submaps: str = "hit_submaps"
    pixel_dist: str = "pixel_dist"
    allreduce: bool = False

    def requires(self) -> Keys:
        return {"detdata": [self.pixels]}

    def _finalize(self, data: Data) -> None:
        hit = data[self.hit_submaps].to_host()
        distribution = PixelDistribution(self.n_pix, -(-self.n_pix // len(hit)), np.flatnonzero(hit))
        data[self.pixel_dist] = distribution
        data[f"{self.pixel_dist}_exchange"] = (DenseExchange if self.allreduce else Exchange)(distribution, data.comm)


def exchange(data: Data, pixel_dist: str = "pixel_dist") -> Exchange:
    """The exchange of a distribution; where none was made, all processes make one together."""
    distribution, name = data[pixel_dist], f"{pixel_dist}_exchange"
    if name not in data or data[name].distribution is not distribution:
        data[name] = Exchange(distribution, data.comm)
    return data[name]


def total(comm: Comm, value: Any) -> Any:
    """The sum over all processes of a number, or of an array."""
    return value if comm.size == 1 else comm.world.allreduce(value)


def is_mpi(world: Any) -> bool:
    """Whether a communicator is mpi4py's, not one of Dask's workers."""
    return world is not None and not hasattr(world, "of_node")


def node_of(world: Any) -> Any:
    """The processes of a communicator that are on this machine."""
    if not is_mpi(world):
        return world.of_node()
    from mpi4py import MPI

    return world.Split_type(MPI.COMM_TYPE_SHARED)


class NodeSharing:
    """Processes of a node that work on the same samples: what they share is in memory once. `color` is whose samples they are."""

    def __init__(self, comm: Comm, color: int) -> None:
        self.world: Any = None
        if is_mpi(comm.unwatched) and comm.size > 1:  # workers of Dask have arrays of their own
            node = node_of(comm.unwatched)
            self.world = node.Split(color, comm.rank)
            node.Free()
        self.windows: list[Any] = []

    def array(self, shape: tuple[int, ...], dtype: Any, make: Callable[[], np.ndarray]) -> np.ndarray:
        """An array that one of the processes makes, for all: called by all of them together."""
        if self.world is None or self.world.Get_size() == 1:
            return make()
        from mpi4py import MPI

        bytes_of = np.dtype(dtype).itemsize
        first = self.world.Get_rank() == 0
        window = MPI.Win.Allocate_shared(math.prod(shape) * bytes_of if first else 0, bytes_of, comm=self.world)
        self.windows.append(window)  # the array lives as long as it
        whole: Any = window.Shared_query(0)[0]
        array = np.ndarray(shape, dtype, memoryview(whole))
        if first:
            array[...] = make()
        ingot.profile.watch(self.world).Barrier()  # windows take the communicator itself
        return array


def share_of_device(comm: Comm, kind: str) -> tuple[ingot.Device, float]:
    """The device of a kind ("gpu"; "gpu:1" is just that one) that this process uses, and its share of the memory.

    The processes of a node have the devices in consecutive blocks.
    """
    devices = [ingot.device(kind)] if ":" in kind else ingot.devices(kind) or [ingot.device(kind)]
    place, count = 0, 1
    if comm.size > 1:
        node = node_of(comm.world)
        place, count = node.Get_rank(), node.Get_size()
        node.Free()
    return shared_device(devices, place, count)


def shared_device(devices: Sequence[Any], place: int, count: int) -> tuple[Any, float]:
    """The device of one of `count` processes, and its share: consecutive ones share a device."""
    number = place * len(devices) // count
    return devices[number], 1.0 / sum(other * len(devices) // count == number for other in range(count))


def abort_on_errors() -> None:
    """From now on an exception that nobody catches ends all processes, once its traceback is printed."""
    from mpi4py import MPI

    show = sys.excepthook

    def end(kind: Any, value: Any, traceback: Any) -> None:
        show(kind, value, traceback)
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)

    sys.excepthook = end
