"""The functions that are measured; those with messages are compiled where mpi4py is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot import prange

MPI: Any = None
"""mpi4py's module, once `measure` has found it."""


def triad(a, b, c, rounds):
    """Reads two arrays and writes one: 24 bytes an element."""
    for k in range(rounds):
        factor = 1.0 + k
        for i in prange(len(a)):
            a[i] = b[i] + factor * c[i]


def there_and_back(comm, x, rounds):
    rank = comm.Get_rank()
    for _ in range(rounds):
        if rank == 0:
            comm.Send(x, 1, 0)
            comm.Recv(x, 1, 0)
        else:
            comm.Recv(x, 0, 0)
            comm.Send(x, 0, 0)


def allreduce(comm, x, y, rounds):
    for _ in range(rounds):
        comm.Allreduce(x, y)


def bcast(comm, x, y, rounds):
    for k in range(rounds):
        comm.Bcast(x, k % comm.Get_size())  # a root that stays the same would go ahead of the others


def allgather(comm, x, y, rounds):
    for _ in range(rounds):
        comm.Allgather(x, y)


def alltoall(comm, x, y, rounds):
    for _ in range(rounds):
        comm.Alltoall(x, y)


def barrier(comm, x, y, rounds):
    for _ in range(rounds):
        comm.Barrier()


def points(u, v, first, last, left, right):
    """Rows and columns `first` .. `last` - 1 and `left` .. `right` - 1 of the next step."""
    for i in prange(first, last):
        for j in range(left, right):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def heat(comm, u, v, steps, up, down, left, right):
    """Steps of the heat equation on a block of points, around which is a row or a column of each neighbour's."""
    rows, columns = u.shape[0] - 2, u.shape[1] - 2
    sent, received = np.zeros((2, rows)), np.zeros((2, rows))
    for _ in range(steps):
        for i in range(rows):
            sent[0, i] = u[i + 1, 1]
            sent[1, i] = u[i + 1, columns]
        requests = [
            comm.Irecv(u[0, 1:-1], up, 0), comm.Irecv(u[-1, 1:-1], down, 0), comm.Irecv(received[0], left, 0), comm.Irecv(received[1], right, 0),
            comm.Isend(u[1, 1:-1], up, 0), comm.Isend(u[-2, 1:-1], down, 0), comm.Isend(sent[0], left, 0), comm.Isend(sent[1], right, 0),
        ]  # fmt: skip
        points(u, v, 2, rows, 2, columns)
        MPI.Request.Waitall(requests)
        for i in range(rows):
            u[i + 1, 0] = received[0, i]
            u[i + 1, columns + 1] = received[1, i]
        points(u, v, 1, 2, 1, columns + 1)
        points(u, v, rows, rows + 1, 1, columns + 1)
        points(u, v, 2, rows, 1, 2)
        points(u, v, 2, rows, columns, columns + 1)
        u, v = v, u
