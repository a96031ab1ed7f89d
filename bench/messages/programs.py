"""The programs that ranks run, for mpi4py and Ingot as they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpi4py import MPI


def there_and_back(comm: MPI.Intracomm, x: np.ndarray, rounds: int) -> None:
    rank = comm.Get_rank()
    for _ in range(rounds):
        if rank == 0:
            comm.Send(x, 1, 0)
            comm.Recv(x, 1, 0)
        elif rank == 1:
            comm.Recv(x, 0, 0)
            comm.Send(x, 0, 0)


def allreduce(comm: MPI.Intracomm, x: np.ndarray, y: np.ndarray, rounds: int) -> None:
    for _ in range(rounds):
        comm.Allreduce(x, y)


def part_of_pi(step: int, n: int, steps: int, rank: int, size: int) -> float:
    part = 0.0
    for i in range(step * n + rank, (step + 1) * n, size):
        x = (i + 0.5) / (steps * n)
        part += 4.0 / (1.0 + x * x)
    return part


def pi(comm: MPI.Intracomm, n: int, steps: int, part_of: Callable[..., float] = part_of_pi) -> float:
    rank, size = comm.Get_rank(), comm.Get_size()
    part, whole = np.zeros(1), np.zeros(1)
    total = 0.0
    for step in range(steps):
        part[0] = part_of(step, n, steps, rank, size)
        comm.Allreduce(part, whole)
        total += whole[0]
    return total / (steps * n)


def heat(comm: MPI.Intracomm, u: np.ndarray, v: np.ndarray, steps: int) -> None:
    """Rows are divided among ranks; the first and the last are those of neighbours."""
    rank, size = comm.Get_rank(), comm.Get_size()
    up = rank - 1 if rank > 0 else MPI.PROC_NULL
    down = rank + 1 if rank < size - 1 else MPI.PROC_NULL
    rows = u.shape[0]
    for _ in range(steps):
        requests = [comm.Irecv(u[0], up, 0), comm.Irecv(u[-1], down, 0), comm.Isend(u[1], up, 0), comm.Isend(u[-2], down, 0)]
        v[2:-2, 1:-1] = 0.25 * (u[1:-3, 1:-1] + u[3:-1, 1:-1] + u[2:-2, :-2] + u[2:-2, 2:])
        MPI.Request.Waitall(requests)
        for i in (1, rows - 2):
            v[i, 1:-1] = 0.25 * (u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, :-2] + u[i, 2:])
        u, v = v, u
