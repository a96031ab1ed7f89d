"""Workers of Dask instead of processes of MPI: `run` starts the same program on each as a rank, with a communicator.

A `World` has those methods of mpi4py's communicators that this package calls. A message goes from worker to worker into a
`Mailbox`, an actor of Dask's on the worker of the rank that receives. Sums are made along a tree whose order depends on the number of
ranks alone.
"""

from __future__ import annotations

import contextlib
import operator
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from .comm import Comm

_mailboxes: dict[tuple[str, int], Mailbox] = {}
"""Those on this worker, by job and rank."""


class Mailbox:
    """Where the messages for one rank arrive. An actor: its methods are called from any worker."""

    def __init__(self, job: str, rank: int) -> None:
        self._changed, self._failed = threading.Condition(), ""
        self._waiting: dict[Hashable, deque[Any]] = defaultdict(deque)
        _mailboxes[job, rank] = self
        self._own = job, rank

    def post(self, name: Hashable, message: Any) -> None:
        """Keeps a message until it is taken."""
        with self._changed:
            self._waiting[name].append(message)
            self._changed.notify_all()

    def fail(self, why: str) -> None:
        """Ends all waiting, now and later."""
        with self._changed:
            self._failed = why
            self._changed.notify_all()

    def close(self) -> None:
        """Ends the rank where it still waits; no program finds the mailbox from now on."""
        self.fail("the job has ended")
        _mailboxes.pop(self._own, None)

    def check(self) -> None:
        """RuntimeError where another rank has failed."""
        if self._failed:
            raise RuntimeError(self._failed)

    def take(self, name: Hashable) -> Any:
        """The next message of this name, waited for: by the rank itself. RuntimeError where another rank has failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._failed or self._waiting[name])
            self.check()
            return self._waiting[name].popleft()


class World:
    """A communicator of ranks on Dask's workers, as far as this package needs one.

    `ranks` are the numbers that its members have in the job, in order; `rank` is this member's position in them. All members call the
    methods together, as with MPI.
    """

    def __init__(self, mailboxes: Sequence[Any], own: Mailbox, nodes: Sequence[str], ranks: Sequence[int], rank: int, name: tuple[Hashable, ...]) -> None:
        self._mailboxes, self._own, self._nodes = mailboxes, own, nodes
        self._ranks, self._rank, self._name, self._splits = list(ranks), rank, name, 0

    def Get_rank(self) -> int:
        return self._rank

    def Get_size(self) -> int:
        return len(self._ranks)

    def Split(self, color: int, key: int = 0) -> World:
        """The members of one colour, in the order of their keys."""
        self._splits += 1
        chosen = sorted((k, place) for place, (c, k) in enumerate(self.allgather((color, key))) if c == color)
        places = [place for _, place in chosen]
        ranks, name = [self._ranks[place] for place in places], (*self._name, self._splits, color)
        return World(self._mailboxes, self._own, self._nodes, ranks, places.index(self._rank), name)

    def of_node(self) -> World:
        """The members on this host."""
        hosts = [self._nodes[rank] for rank in self._ranks]
        return self.Split(hosts.index(hosts[self._rank]), self._rank)

    def Free(self) -> None:
        """Nothing: messages have names."""

    # Messages of Python's objects, arrays among them; those from one member arrive in their order.

    def _post(self, message: Any, to: int) -> Any:
        if isinstance(message, np.ndarray):
            message = message.copy()  # workers may be threads of one process, where messages are passed by reference
        return self._mailboxes[self._ranks[to]].post((self._name, self._rank), message)

    def _arrived(self, posted: Any) -> None:
        """Waits until a message has arrived; what waits for a lost worker would not end by itself."""
        while True:
            try:
                return posted.result(timeout=1.0)
            except TimeoutError:
                self._own.check()

    def send(self, message: Any, dest: int) -> None:
        self._arrived(self._post(message, dest))

    def recv(self, source: int) -> Any:
        return self._own.take((self._name, source))

    def Send(self, message: Sequence[Any], dest: int) -> None:
        """Sends `[array, ...]`; what follows the array MPI alone needs."""
        self.send(message[0], dest)

    def Recv(self, message: Sequence[Any], source: int) -> None:
        message[0][...] = self.recv(source)

    def Alltoallv(self, sent: Sequence[Any], received: Sequence[Any]) -> None:
        """`[array, counts, ...]`: so many rows of the array to each member, in order, and from each."""
        (values, counts), (result, expected) = sent[:2], received[:2]
        parts, places = list(_rows(values, counts)), list(_rows(result, expected))
        posted = [self._post(parts[to], to) for to in self._others()]
        places[self._rank][...] = parts[self._rank]
        for source in self._others():
            places[source][...] = self.recv(source)
        for each in posted:
            self._arrived(each)

    def _others(self) -> list[int]:
        """All members but this one, the next first: not all send to one at a time."""
        return [(self._rank + step) % self.Get_size() for step in range(1, self.Get_size())]

    # Collectives along a binomial tree, whose root is member 0.

    def _children(self) -> Iterator[int]:
        step = 1
        while step < self.Get_size() and not self._rank & step:
            if self._rank + step < self.Get_size():
                yield self._rank + step
            step *= 2

    def _reduced(self, value: Any, add: Callable[[Any, Any], Any]) -> Any:
        """All members' values, put together in the order of the tree, at member 0."""
        for child in self._children():
            value = add(value, self.recv(child))
        if self._rank:
            self.send(value, self._rank & (self._rank - 1))
        return value

    def _broadcast(self, value: Any) -> Any:
        if self._rank:
            value = self.recv(self._rank & (self._rank - 1))
        for child in reversed(list(self._children())):
            self.send(value, child)
        return value

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        if root != 0:
            raise ValueError(f"the root is 0 here, not {root}")
        kept = self._reduced([value], operator.add)
        return kept if self._rank == 0 else None

    def allgather(self, value: Any) -> list[Any]:
        return self._broadcast(self._reduced([value], operator.add))

    def allreduce(self, value: Any) -> Any:
        return self._broadcast(self._reduced(value, operator.add))

    def Allreduce(self, sent: np.ndarray, received: np.ndarray) -> None:
        received[...] = self.allreduce(sent)

    def Barrier(self) -> None:
        self.allgather(None)


def _rows(values: np.ndarray, counts: Sequence[int]) -> Iterator[np.ndarray]:
    ends = np.cumsum(counts).tolist()
    return (values[stop - count : stop] for stop, count in zip(ends, counts))


def run(program: Callable[..., Any], *arguments: Any, client: Any, ranks: int | None = None, group_size: int | None = None) -> Any:
    """Calls `program(comm, *arguments)` on `ranks` workers of a client's cluster at the same time (all, if None); what rank 0 returns.

    Where a rank raises, the others end, and its exception is raised here; where a worker is lost, RuntimeError.
    """
    workers = sorted(client.nthreads())
    count = len(workers) if ranks is None else ranks
    if not 1 <= count <= len(workers):
        raise ValueError(f"{count} ranks cannot have a worker each: the cluster has {len(workers)}")
    workers, job = workers[:count], uuid.uuid4().hex
    pinned = [{"workers": [worker], "allow_other_workers": False, "pure": False} for worker in workers]
    kept = [client.submit(Mailbox, job, rank, actor=True, **pinned[rank]) for rank in range(count)]
    mailboxes = [each.result() for each in kept]
    nodes = [worker.rpartition(":")[0] for worker in workers]
    futures = [
        client.submit(_one_rank, program, arguments, job, rank, mailboxes, nodes, group_size, key=f"rank-{rank}-{job}", **pinned[rank])
        for rank in range(count)
    ]
    try:
        return _watched(client, workers, mailboxes, futures)
    finally:
        for worker, mailbox in zip(workers, mailboxes):
            if worker in client.nthreads():
                with contextlib.suppress(OSError, RuntimeError, TimeoutError):  # it is lost just now
                    mailbox.close().result(timeout=10.0)


def _one_rank(
    program: Callable[..., Any], arguments: tuple[Any, ...], job: str, rank: int, mailboxes: Sequence[Any], nodes: Sequence[str], group_size: int | None
) -> Any:
    world = World(mailboxes, _mailboxes[job, rank], nodes, range(len(mailboxes)), rank, ())
    result = program(Comm(world, group_size), *arguments)
    return result if rank == 0 else None


def _watched(client: Any, workers: Sequence[str], mailboxes: Sequence[Any], futures: Sequence[Any]) -> Any:
    """Waits for all ranks, and ends them where one fails."""
    from distributed import wait

    pending, failed, lost = list(futures), None, ""
    while pending:
        try:
            done, left = wait(pending, timeout=0.5, return_when="FIRST_COMPLETED")
        except TimeoutError:
            done, left = set(), set(pending)
        pending = [each for each in pending if each in left]
        ill = [each for each in futures if each in done and each.status != "finished"]
        gone = [rank for rank, worker in enumerate(workers) if worker not in client.nthreads()]
        if failed is None and not lost and (ill or gone):
            failed = None if gone else ill[0]
            lost = f"the worker of rank {gone[0]}, {workers[gone[0]]}, is lost" if gone else f"rank {futures.index(ill[0])} has failed"
            for rank, mailbox in enumerate(mailboxes):
                if rank not in gone:
                    mailbox.fail(lost).result()
        if gone:
            client.cancel([futures[rank] for rank in gone])
            pending = [each for each in pending if futures.index(each) not in gone]
    if failed is not None:
        failed.result()  # raises
    if lost:
        raise RuntimeError(lost)
    return futures[0].result()


def connected(where: str, threads: int | None = None) -> tuple[contextlib.AbstractContextManager[Any], Any]:
    """A client of Dask's of so many processes on this machine, or of a scheduler's address; what ends with it comes first."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError(f"{error}; workers of Dask want `pip install distributed`") from error
    if not where.isdigit():
        return contextlib.nullcontext(), Client(where)
    with dask.config.set({"distributed.nanny.pre-spawn-environ.OMP_NUM_THREADS": threads or 1}):
        cluster = LocalCluster(n_workers=int(where), threads_per_worker=1, dashboard_address=None)
    return cluster, Client(cluster)
