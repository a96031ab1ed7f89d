"""Calls of collectives: each rank's part, which waits for the others, and has to agree with theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpi4py.MPI as MPI

from .findings import Site
from .messages import Buffer
from .scheduler import Rank, Run

FROM_ROOT = ("Bcast", "Scatter", "Scatterv")
TO_ROOT = ("Gather", "Gatherv", "Reduce")


class Context:
    """What the communicators of several ranks have in common. `members`: their ranks in the world."""

    def __init__(self, run: Run, members: Sequence[int], grid: tuple[tuple[int, ...], tuple[bool, ...]] | None = None) -> None:
        run.contexts += 1
        self.number, self.members, self.grid = run.contexts, tuple(members), grid
        self.calls: list[dict[int, Call]] = []  # of each collective the parts that have come, by rank in the communicator
        self.made: list[Any] = []  # what a collective has made once for all
        self.counts = dict.fromkeys(range(len(self.members)), 0)


class Call:
    """One rank's part of a collective."""

    partner = None
    is_send = False

    def __init__(self, run: Run, rank: Rank, context: Context, local: int, site: Site, root: int | None, agreed: dict[str, Any], data: Any) -> None:
        self.run, self.rank, self.context, self.local, self.site = run, rank, context, local, site
        self.name, self.root, self.agreed, self.data = site.what.split()[0], root, agreed, data
        self.mask = rank.known
        self.deliver: Callable[[], None] | None = None
        number = context.counts[local]
        context.counts[local] += 1
        if number == len(context.calls):
            context.calls.append({})
            context.made.append(None)
        self.number, self.parts = number, context.calls[number]
        run.matching.step += 1
        for other in self.parts.values():
            self._compare(other)
        self.parts[local] = self

    def _compare(self, other: Call) -> None:
        if self.name != other.name:
            self._fail(other, f"rank {self.rank.number} calls {self.name} where rank {other.rank.number} calls {other.name}")
        for what, value in self.agreed.items():
            theirs = other.agreed.get(what)
            if value is not None and theirs is not None and value != theirs:
                self._fail(other, f"{what} {theirs} on rank {other.rank.number}, {value} on rank {self.rank.number}, in {self.name}")

    def _fail(self, other: Call, message: str) -> None:
        self.run.fail(self.rank, "collective", message, [other.site, self.site])

    @property
    def is_free(self) -> bool:
        """Whether MPI leaves open that it waits, since it does not need the data of those who have not come."""
        return self._is_complete(False)

    def is_complete(self) -> bool:
        return self._is_complete(self.run.config.is_strict)

    def _is_complete(self, is_strict: bool) -> bool:
        if len(self.parts) == len(self.context.members):
            return True
        name = self._plain_name()
        if is_strict or name not in FROM_ROOT + TO_ROOT:
            return False
        return self.local != self.root if name in TO_ROOT else self.root in self.parts

    def _plain_name(self) -> str:
        return self.name.removeprefix("I").capitalize()

    def waits_for(self, n: int) -> list[int]:
        return [rank for local, rank in enumerate(self.context.members) if local not in self.parts]

    def part(self, local: int) -> Any:
        """What a rank has given."""
        return self.parts[local].data

    def all_parts(self) -> list[Any]:
        return [self.parts[i].data for i in range(len(self.context.members))]

    def make_once(self, make: Callable[[], Any]) -> Any:
        if self.context.made[self.number] is None:
            self.context.made[self.number] = make()
        return self.context.made[self.number]

    def finish(self) -> None:
        """Gives the rank its results, when the call is complete, and what it knows by the ranks that it has waited for."""
        name, parts = self._plain_name(), list(self.parts.values())
        if not self.run.config.is_strict and name in FROM_ROOT + TO_ROOT and self.local != self.root:
            parts = [part for part in parts if name in FROM_ROOT and part.local == self.root]
        for part in parts:
            self.rank.known |= part.mask
        if self.deliver is not None:
            self.deliver()

    def receive(self, local: int, data: bytes, buffer: Buffer) -> None:
        """Puts a block of another rank into a buffer, which has to be as long."""
        if len(data) != buffer.size:
            other = self.parts[local]
            message = f"rank {other.rank.number} gives {len(data)} bytes where rank {self.rank.number} expects {buffer.size}, in {self.name}"
            if len(data) > buffer.size:
                self.run.raise_code(MPI.ERR_TRUNCATE, "truncation", message, [self.site, other.site])
            self._fail(other, message)
        buffer.put(data)
