"""Who works on what: groups of processes, observations over the groups, detectors over the processes of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ingot


class Comm:
    """Processes in groups of equal size: each group has observations of its own.

    `world` is a communicator of mpi4py, one of Dask's workers (`on_dask`), or None: one process. `group_size` is a divisor of the number of processes; without
    it there is one group. The attribute `world` is the same communicator, but that a profile has a row for each of its calls;
    `unwatched` is the one that was given.
    """

    def __init__(self, world: Any = None, group_size: int | None = None) -> None:
        self.unwatched = world
        self.world: Any = None if world is None else ingot.profile.watch(world)
        self.rank: int = 0 if world is None else world.Get_rank()
        self.size: int = 1 if world is None else world.Get_size()
        self.group_size = self.size if group_size is None else group_size
        if self.group_size < 1 or self.size % self.group_size:
            raise ValueError(f"groups of {self.group_size} processes cannot be made of {self.size}: take a divisor")
        self.n_groups = self.size // self.group_size
        self.group, self.group_rank = self.rank // self.group_size, self.rank % self.group_size
        self.group_comm = None if self.world is None else self.world.Split(self.group, self.group_rank)

    @classmethod
    def of_mpi(cls, group_size: int | None = None) -> Comm:
        """All processes of MPI; ImportError without mpi4py."""
        from mpi4py import MPI

        return cls(MPI.COMM_WORLD, group_size)


def blocks(sizes: Sequence[int], parts: int) -> list[range]:
    """Contiguous blocks of items, one for each part, such that the largest sum of sizes is the least possible."""
    if parts < 1:
        raise ValueError(f"there are {parts} parts")
    low, high = max(sizes, default=0), sum(sizes)
    while low < high:
        bound = (low + high) // 2
        if len(_filled(sizes, bound)) <= parts:
            high = bound
        else:
            low = bound + 1
    ends = _filled(sizes, low)
    ends += [len(sizes)] * (parts - len(ends))
    return [range(start, stop) for start, stop in zip([0, *ends], ends)]


def _filled(sizes: Sequence[int], bound: int) -> list[int]:
    """The ends of blocks that are filled one after the other up to a bound."""
    ends, total = [], 0
    for item, size in enumerate(sizes):
        if total + size > bound and item:
            ends.append(item)
            total = 0
        total += size
    return [*ends, len(sizes)]


def evenly(count: int, parts: int) -> list[range]:
    """`count` items over the parts, in order; the first parts have one more where it does not come out even."""
    share, more = divmod(count, parts)
    starts = [part * share + min(part, more) for part in range(parts + 1)]
    return [range(start, stop) for start, stop in zip(starts, starts[1:])]


def detectors_of_ranks(places: Sequence[Any], ranks: int) -> list[range]:
    """Detectors over ranks, of which those of one position (neighbours of equal `places`) stay together."""
    starts = [d for d, place in enumerate(places) if d == 0 or place != places[d - 1]]
    if ranks > len(starts):
        raise ValueError(f"{ranks} ranks cannot share {len(starts)} positions of detectors: detectors of a position stay together")
    starts.append(len(places))
    return [range(starts[part.start], starts[part.stop]) for part in evenly(len(starts) - 1, ranks)]


def grid(group_size: int, group_rank: int, detector_ranks: int | None = None) -> tuple[int, int, int, int]:
    """The group as detector ranks x sample ranks: both numbers, and this process's position in them."""
    across = group_size if detector_ranks is None else detector_ranks
    if across < 1 or group_size % across:
        raise ValueError(f"{group_size} processes are no grid with {across} detector ranks: take a divisor")
    return across, group_size // across, group_rank // (group_size // across), group_rank % (group_size // across)
