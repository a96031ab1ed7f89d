"""What is measured: rates of computing, messages between two ranks, collectives, and the heat equation, each by the least of several runs."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ingot

from ...tour.peaks import CHAINS, STEPS, multiply_add
from . import compiled
from .model import powers

Call = Callable[[int], object]
SIZES = (8, 64, 512, 4096, 32768, 262144, 2097152)
QUICK_SIZES = (8, 4096, 65536)
NAMES = ("allreduce", "bcast", "allgather", "alltoall", "barrier")
STRONG, WEAK = 4096, 2048
"""Points of the heat equation along a side: of all ranks, and of each."""


class Ranks:
    """The ranks of a measurement: a communicator of mpi4py, or None for one process without MPI."""

    def __init__(self, world: Any, quick: bool) -> None:
        self.world, self.quick = world, quick
        self.rank: int = 0 if world is None else world.Get_rank()
        self.size: int = 1 if world is None else world.Get_size()

    def wait(self) -> None:
        """Waits for all ranks without taking a core: others may be measured."""
        if self.world is not None:
            request = self.world.Ibarrier()
            while not request.Test():
                time.sleep(0.001)

    def least(self, call: Call) -> float:
        """The seconds of one of the rounds that a call makes, of the slowest rank: the least of many short runs."""
        self.timed(call, 1)  # compiles
        first = min(self.timed(call, 1) for _ in range(5))
        rounds = max(1, min(1000, int(0.0005 / max(first, 1e-7))))  # other work may come between in longer ones
        best, spent, runs = math.inf, 0.0, 0
        while runs < 3 or spent < 0.3 and runs < (5 if self.quick else 100):
            took = self.timed(call, rounds)  # the same on all ranks
            best, spent, runs = min(best, took), spent + took, runs + 1
        return best / rounds

    def timed(self, call: Call, rounds: int) -> float:
        if self.world is not None:
            self.world.Barrier()
        start = time.perf_counter()
        call(rounds)
        seconds = time.perf_counter() - start
        return seconds if self.world is None else self.world.allreduce(seconds, compiled.MPI.MAX)

    def among(self, members: list[int], measured: Callable[[Ranks], Any]) -> Any:
        """What the first of some ranks finds, for all ranks; the others sleep meanwhile."""
        if self.world is None:
            return measured(self)
        part = self.world.Split(0 if self.rank in members else 1, members.index(self.rank) if self.rank in members else 0)
        found = measured(Ranks(part, self.quick)) if self.rank in members else None
        self.wait()
        part.Free()
        return self.world.bcast(found, members[0])


def rates(ranks: Ranks) -> dict[str, Any]:
    """Operations a second of a rank, bytes a second of a rank by the number of ranks, and of one process by the number of threads."""
    n, iterations = (1_000_000, 2) if ranks.quick else (6_000_000, 10)
    adding, moving = ingot.jit(multiply_add), ingot.jit(compiled.triad)
    line = np.zeros(512)
    a, b, c = np.zeros(n), np.ones(n), np.ones(n)

    def flops(some: Ranks) -> float:
        seconds = some.least(lambda rounds: adding(line, 0.999, 3e-4, rounds * iterations, STEPS))
        return 2.0 * CHAINS * STEPS * iterations * line.size / seconds

    def bytes_of(some: Ranks) -> float:
        return 24.0 * n / some.least(lambda rounds: moving(a, b, c, rounds))

    threads = ingot.get_num_threads()
    found: dict[str, Any] = {"flops": ranks.among([0], flops), "bytes": {}, "threads": {}}
    try:
        for count in powers(threads):
            ingot.set_num_threads(count)
            found["threads"][count] = ranks.among([0], bytes_of)
        ingot.set_num_threads(1)
        for count in powers(ranks.size):
            found["bytes"][count] = ranks.among(list(range(count)), bytes_of)
    finally:
        ingot.set_num_threads(threads)
    return found


def nodes_of(ranks: Ranks) -> list[int]:
    """The first rank of each rank's node."""
    if ranks.world is None:
        return [0]
    node = ranks.world.Split_type(compiled.MPI.COMM_TYPE_SHARED, ranks.rank)
    first = node.bcast(ranks.rank, 0)
    node.Free()
    return ranks.world.allgather(first)


def messages(ranks: Ranks, nodes: list[int]) -> dict[str, dict[int, float] | None]:
    """Seconds of a message by bytes, within a node and between two; None where there are no such ranks."""
    call = ingot.jit(compiled.there_and_back)

    def pair(some: Ranks) -> dict[int, float]:
        found = {}
        for size in QUICK_SIZES if ranks.quick else SIZES:
            x = np.zeros(size // 8)
            found[size] = some.least(lambda rounds: call(some.world, x, rounds)) / 2  # noqa: B023
        return found

    partners = {
        "node": next((rank for rank in range(1, ranks.size) if nodes[rank] == nodes[0]), None),
        "between": next((rank for rank in range(1, ranks.size) if nodes[rank] != nodes[0]), None),
    }
    return {level: None if rank is None else ranks.among([0, rank], pair) for level, rank in partners.items()}


def collectives(ranks: Ranks) -> dict[str, dict[int, dict[int, float]]]:
    """Seconds by collective, number of ranks and bytes: those of the whole array, or that one rank gives another."""
    sizes = QUICK_SIZES if ranks.quick else SIZES
    found: dict[str, dict[int, dict[int, float]]] = {}
    for name in NAMES:
        call = ingot.jit(getattr(compiled, name))

        def all_sizes(some: Ranks, name: str = name, call: Any = call) -> dict[int, float]:
            times = {}
            for size in (0,) if name == "barrier" else sizes:
                parts = {"allgather": (1, some.size), "alltoall": (some.size, some.size)}.get(name, (1, 1))
                if size * some.size > 1 << 26 and max(parts) > 1:
                    continue
                x, y = (np.zeros(part * size // 8) for part in parts)
                times[size] = some.least(lambda rounds: call(some.world, x, y, rounds))  # noqa: B023
            return times

        found[name] = {p: ranks.among(list(range(p)), all_sizes) for p in powers(ranks.size, 2)}
    return found


def heat(ranks: Ranks) -> dict[str, Any]:
    """Seconds of a step of the heat equation by ranks: strong, of one size, and weak, of one size a rank."""
    call, side = ingot.jit(compiled.heat), (256, 128) if ranks.quick else (STRONG, WEAK)

    def step(some: Ranks, strong: bool) -> float:
        dims = compiled.MPI.Compute_dims(some.size, 2)
        cart = some.world.Create_cart(dims)
        (up, down), (left, right) = cart.Shift(0, 1), cart.Shift(1, 1)
        shape = (max(2, side[0] // dims[0]), max(2, side[0] // dims[1])) if strong else (side[1], side[1])
        u = np.zeros((shape[0] + 2, shape[1] + 2))
        u[shape[0] // 2, shape[1] // 2] = 1.0
        v = u.copy()
        seconds = some.least(lambda rounds: call(cart, u, v, 4 * rounds, up, down, left, right)) / 4
        cart.Free()
        return seconds

    found: dict[str, Any] = {
        kind: {p: ranks.among(list(range(p)), lambda some: step(some, kind == "strong")) for p in powers(ranks.size)}  # noqa: B023
        for kind in ("strong", "weak")
    }
    return {**found, "points": dict(zip(("strong", "weak"), side))}


def measured(world: Any, quick: bool) -> dict[str, Any]:
    """All of it, the same on all ranks; without a communicator only rates. A rank has one thread, but where threads are measured."""
    ranks, threads = Ranks(world, quick), ingot.get_num_threads()
    nodes = nodes_of(ranks)
    found: dict[str, Any] = {
        "ranks": ranks.size, "nodes": len(set(nodes)), "per_node": max(nodes.count(first) for first in nodes), "cores": os.cpu_count(),
        "processor": platform.processor() or platform.machine(), "load": os.getloadavg()[0], "quick": quick, "rates": rates(ranks),
    }  # fmt: skip
    if ranks.size > 1:
        ingot.set_num_threads(1)
        try:
            found.update(messages=messages(ranks, nodes), collectives=collectives(ranks), heat=heat(ranks))
        finally:
            ingot.set_num_threads(threads)
    return found
