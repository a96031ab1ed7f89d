"""What tests run on workers of Dask: programs of a rank."""

import functools
import os

import numpy as np
from ingot_toast import destripe, satellite

SIZE = satellite.Size(1, 2, 1_500, 10.0, 16)


def workflow(comm, folder, options):
    """The problem of `mpi_runs`, with a third of the solver's steps."""
    satellite.SIZES["pair"], init = SIZE, destripe.Destripe.__init__
    destripe.Destripe.__init__ = functools.partialmethod(init, tolerance=1e-4)
    try:
        return satellite.run(satellite.Workflow("pair", comm, **options), folder=folder)
    finally:
        destripe.Destripe.__init__ = init


def collectives(comm):
    """What each of four ranks sees of all methods."""
    world = comm.world
    rank, size = world.Get_rank(), world.Get_size()
    pair, buffer = world.Split(rank % 2, -rank), np.full(3, float(rank))
    seen = [world.allgather(rank * rank), world.allreduce(10**rank), pair.allgather(rank), world.of_node().Get_size()]
    world.Allreduce(buffer, buffer)
    counts = [[(source + to) % 3 for to in range(size)] for source in range(size)]
    sent = np.repeat([10.0 * rank + to for to in range(size)], counts[rank])
    received = np.empty(sum(counts[source][rank] for source in range(size)))
    world.Alltoallv([sent, counts[rank], None], [received, [counts[source][rank] for source in range(size)], None])
    assert received.tolist() == [10.0 * source + rank for source in range(size) for _ in range(counts[source][rank])]
    if rank == 0:
        world.Send([np.arange(4.0)], size - 1)
    elif rank == size - 1:
        last = np.empty(4)
        world.Recv([last], 0)
        assert last.tolist() == [0.0, 1.0, 2.0, 3.0]
    world.Barrier()
    return world.gather((seen, buffer.tolist()))


def failing(comm):
    """The last rank raises while the others wait for it."""
    if comm.rank == comm.size - 1:
        raise ArithmeticError("this rank fails")
    comm.world.Barrier()


def lost(comm):
    """The last rank's worker ends while the others wait for it."""
    if comm.rank == comm.size - 1:
        os._exit(7)
    comm.world.Barrier()
