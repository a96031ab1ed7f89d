"""What one rank measures: all contestants in one process and on one communicator, in turns. Rank 0 prints JSON."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import ingot

from . import programs

Call = Callable[..., Any]
comm = MPI.COMM_WORLD


def of_c(library: str) -> dict[str, Call]:
    lib = ctypes.CDLL(library)
    handle = ctypes.c_void_p(MPI._addressof(comm))
    lib.pi.restype = ctypes.c_double
    number = ctypes.c_long

    def pointer(x: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(x.ctypes.data)

    return {
        "there_and_back": lambda x, rounds: lib.there_and_back(handle, pointer(x), number(x.size), number(rounds)),
        "allreduce": lambda x, y, rounds: lib.allreduce(handle, pointer(x), pointer(y), number(x.size), number(rounds)),
        "pi": lambda n, steps: lib.pi(handle, number(n), number(steps)),
        "heat": lambda u, v, steps: lib.heat(handle, pointer(u), pointer(v), number(u.shape[0]), number(u.shape[1]), number(steps)),
    }


def of_ingot() -> dict[str, Call]:
    compiled = {name: ingot.jit(getattr(programs, name)) for name in ("there_and_back", "allreduce", "pi", "heat")}
    return {name: lambda *given, f=f: f(comm, *given) for name, f in compiled.items()}


def of_mpi4py() -> dict[str, Call]:
    import numba

    part_of = numba.njit(programs.part_of_pi)  # the loop is compiled; what is between the loops is not
    return {
        "there_and_back": lambda *given: programs.there_and_back(comm, *given),
        "allreduce": lambda *given: programs.allreduce(comm, *given),
        "pi": lambda n, steps: programs.pi(comm, n, steps, part_of),
    }


def of_numba_mpi() -> dict[str, Call]:
    import numba
    import numba_mpi

    part_of = numba.njit(programs.part_of_pi)

    @numba.njit
    def there_and_back(x: np.ndarray, rounds: int) -> None:
        rank = numba_mpi.rank()
        for _ in range(rounds):
            if rank == 0:
                numba_mpi.send(x, 1, 0)
                numba_mpi.recv(x, 1, 0)
            elif rank == 1:
                numba_mpi.recv(x, 0, 0)
                numba_mpi.send(x, 0, 0)

    @numba.njit
    def allreduce(x: np.ndarray, y: np.ndarray, rounds: int) -> None:
        for _ in range(rounds):
            numba_mpi.allreduce(x, y, numba_mpi.Operator.SUM)

    @numba.njit
    def pi(n: int, steps: int) -> float:
        rank, size = numba_mpi.rank(), numba_mpi.size()
        part, whole = np.zeros(1), np.zeros(1)
        total = 0.0
        for step in range(steps):
            part[0] = part_of(step, n, steps, rank, size)
            numba_mpi.allreduce(part, whole, numba_mpi.Operator.SUM)
            total += whole[0]
        return total / (steps * n)

    return {"there_and_back": there_and_back, "allreduce": allreduce, "pi": pi}


def timed(contestants: dict[str, dict[str, Call]], name: str, make: Callable[[], tuple[Any, ...]], turns: int) -> dict[str, float]:
    """The least seconds of each contestant's calls, which take turns on the same arrays: where these are in memory matters."""
    least: dict[str, float] = {}
    given = make()
    for turn in range(turns + 1):
        for who, calls in contestants.items():
            if name not in calls:
                continue
            comm.Barrier()
            start = time.perf_counter()
            calls[name](*given)
            seconds = comm.allreduce(time.perf_counter() - start, MPI.MAX)
            if turn > 0:
                least[who] = min(least.get(who, seconds), seconds)
    return least


def main(library: str, quick: bool) -> None:
    contestants = {"C": of_c(library), "Ingot": of_ingot(), "mpi4py": of_mpi4py()}
    if importlib.util.find_spec("numba_mpi") is not None:
        contestants["numba-mpi"] = of_numba_mpi()
    found: dict[str, Any] = {"ranks": comm.size, "there_and_back": {}, "allreduce": {}}
    turns = 3 if quick else 9
    for n in (1, 64) if quick else (1, 8, 64, 512, 4096, 32768, 262144):
        rounds = max(20, min(2000, 2_000_000 // (n + 500)))
        for name, make in {
            "there_and_back": lambda: (np.zeros(n), rounds),
            "allreduce": lambda: (np.ones(n), np.zeros(n), rounds),
        }.items():
            if name == "allreduce" or comm.size > 1:
                all_of_them = timed(contestants, name, make, turns)
                parts = 2 * rounds if name == "there_and_back" else rounds
                found[name][n] = {who: 1e6 * seconds / parts for who, seconds in all_of_them.items()}
    found["pi"] = {who: 1e3 * s for who, s in timed(contestants, "pi", lambda: (100, 1000 if quick else 10_000), turns).items()}

    def plate() -> tuple[np.ndarray, np.ndarray, int]:
        u = np.random.default_rng(comm.rank).random((1026, 1024))
        return u, u.copy(), 4 if quick else 50

    found["heat"] = {who: 1e3 * s for who, s in timed(contestants, "heat", plate, turns).items()}
    if comm.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], "--quick" in sys.argv)
