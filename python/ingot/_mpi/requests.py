"""Requests of simulated ranks: what has been started, and what may not happen to its buffer until it has been waited for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import mpi4py.MPI as MPI

from .._errors import UnsupportedError
from .findings import Site
from .matching import ANY_SOURCE, ANY_TAG, PROC_NULL, Operation
from .messages import Buffer, overlap
from .scheduler import Rank, Run, Wait


class Watched:
    """A buffer that a call uses, and what it had in it when the call began."""

    def __init__(self, buffer: Buffer, writes: bool) -> None:
        self.buffer, self.writes = buffer, writes
        self.span = buffer.span()
        self.before = buffer.get()


def watched(run: Run, rank: Rank, site: Site, buffers: Sequence[tuple[Buffer | None, bool]]) -> list[Watched]:
    """The buffers of a call: one that is written may be no other's, of this call or one that is pending."""
    made: list[Watched] = []
    for buffer, writes in buffers:
        if buffer is None:
            continue
        own = Watched(buffer, writes)
        for other in made:
            if (writes or other.writes) and overlap(own.span, other.span):
                run.find("buffer", f"the buffers of {site.what.split()[0]} overlap", [site])
        for request in rank.pending:
            for other in request.watched:
                if (writes or other.writes) and overlap(own.span, other.span):
                    name = request.operation.site.what.split()[0]
                    run.find("buffer", f"{site.what.split()[0]} uses the buffer of {name}, which has not been waited for", [request.operation.site, site])
        made.append(own)
    return made


def fill(status: Any, receive: Operation | None, members: Sequence[int] = ()) -> None:
    """Has a status know what was received; of None, nothing."""
    if status is None:
        return
    status.Set_cancelled(receive is not None and receive.is_cancelled)
    send = None if receive is None or receive.is_send else receive.partner
    if send is None:
        is_nobody = receive is not None and receive.source == PROC_NULL and not receive.is_send
        status.Set_source(PROC_NULL if is_nobody else ANY_SOURCE)
        status.Set_tag(ANY_TAG)
        status.Set_elements(MPI.BYTE, 0)
    else:
        status.Set_source(members.index(send.source))
        status.Set_tag(send.tag)
        status.Set_elements(MPI.BYTE, len(send.data))


def need_status(status: Any) -> None:
    if status is not None and not isinstance(status, MPI.Status):
        raise TypeError(f"Argument 'status' has incorrect type (expected mpi4py.MPI.Status, got {type(status).__name__})")


def receive(run: Run, rank: Rank, operation: Operation, members: Sequence[int], status: Any) -> None:
    """Ends a receive: the message is in its buffer, or too long for it."""
    run.observe(rank, operation)
    send, buffer = operation.partner, operation.buffer
    fill(status, operation, members)
    if send is None or buffer is None:
        return
    if len(send.data) > buffer.size:
        message = f"a message of {len(send.data)} bytes does not fit into {buffer.size}"
        run.raise_code(MPI.ERR_TRUNCATE, "truncation", message, [operation.site, send.site])
    if not operation.early:
        buffer.put(send.data)


class Request(MPI.Request):
    """What a rank has started. `operation`: a send, a receive, or the call of a collective; None when it has ended."""

    operation: Any = None
    watched: Sequence[Watched] = ()
    members: Sequence[int] = ()
    run: Any = None
    owner: Any = None
    again: Any = None  # starts it again, if it is persistent
    freed: Site | None = None
    was_active = False

    @classmethod
    def of(cls, run: Run, rank: Rank, members: Sequence[int]) -> Any:
        made: Any = cls()
        made.run, made.owner, made.members = run, rank, members
        return made

    def activate(self, operation: Any, buffers: list[Watched]) -> None:
        self.operation, self.watched = operation, buffers
        self.owner.pending.append(self)

    def is_complete(self) -> bool:
        return self.operation is None or bool(self.run.is_complete(self.operation))

    def end(self, site: Site, status: Any) -> None:
        """What a wait does when the operation has ended."""
        operation = self.operation
        if operation is None:
            if self.freed is not None and self.was_active:
                self.run.find("freed", f"{site.what.split()[0]} of a request that was freed waits for nothing", [self.freed, site])
            fill(status, None)
            return
        self.owner.pending.remove(self)
        self.operation = None
        self._check(operation, site)
        if not isinstance(operation, Operation):
            operation.finish()
            fill(status, None)
            if status is not None and isinstance(operation, Nothing):
                status.Set_source(PROC_NULL)
        elif operation.is_send:
            self.run.observe(self.owner, operation)
            fill(status, operation)
        else:
            if operation.buffer is not None:
                self.run.line_of(operation.site)[1].append(site)
            receive(self.run, self.owner, operation, self.members, status)

    def _check(self, operation: Any, site: Site) -> None:
        name = operation.site.what.split()[0]
        for each in self.watched:
            is_delivered = isinstance(operation, Operation) and operation.early
            if not is_delivered and each.buffer.get() != each.before:
                self.run.find("buffer", f"the buffer of {name} was changed before the request had been waited for", [operation.site, site])

    def _begin(self, what: str) -> Site:
        return self.run.begin(self.owner, what)  # type: ignore[no-any-return]

    def Wait(self, status: Any = None) -> Literal[True]:
        return wait_all("Wait", [self], None if status is None else [status])

    def Test(self, status: Any = None) -> bool:
        return test_all("Test", [self], None if status is None else [status])

    @classmethod
    def Waitall(cls, requests: Any, statuses: Any = None) -> Literal[True]:
        return wait_all("Waitall", requests, statuses)

    @classmethod
    def Testall(cls, requests: Any, statuses: Any = None) -> bool:
        return test_all("Testall", requests, statuses)

    @classmethod
    def Waitany(cls, requests: Any, status: Any = None) -> int:
        need_status(status)
        own = [r for r in requests if isinstance(r, Request) and r.run is not None]
        active = [r for r in own if r.operation is not None]
        if own:
            site = own[0]._begin("Waitany")
        if not active:
            fill(status, None)
            return MPI.UNDEFINED
        want = AnyOf(active[0].owner, requests, site)
        active[0].run.block(active[0].owner, bool, Wait(site, tuple(r.operation for r in active)), want)
        active[0].owner.known |= want.event
        requests[want.index].end(site, status)
        return want.index

    def wait(self, status: Any = None) -> Any:
        operation = self.operation
        wait_all("wait", [self], None if status is None else [status])
        return operation.received() if isinstance(operation, Operation) else None

    def test(self, status: Any = None) -> tuple[bool, Any]:
        operation = self.operation
        is_done = test_all("test", [self], None if status is None else [status])
        return is_done, operation.received() if is_done and isinstance(operation, Operation) else None

    @classmethod
    def waitall(cls, requests: Any, statuses: Any = None) -> Any:
        operations = [request.operation if isinstance(request, Request) else None for request in requests]
        wait_all("waitall", requests, statuses)
        return [operation.received() if isinstance(operation, Operation) else None for operation in operations]

    def Cancel(self) -> None:
        if self.run is not None and self.operation is not None:
            self._begin("Cancel")
            if isinstance(self.operation, Operation):
                self.run.matching.cancel(self.operation)

    def Free(self) -> None:
        if self.run is None or self.freed is not None or self.is_null():
            raise MPI.Exception(MPI.ERR_REQUEST)
        self.freed, self.was_active = self._begin("Free"), self.operation is not None
        if self.operation is not None:
            self.owner.pending.remove(self)
            if isinstance(self.operation, Operation) and not self.operation.is_send:
                self.operation.early = True  # nobody else has the message put into the buffer
                if self.operation.partner is not None and self.operation.buffer is not None:
                    self.operation.buffer.put(self.operation.partner.data[: self.operation.buffer.size])
            self.operation = None

    def is_null(self) -> bool:
        return self.run is None or self.freed is not None or (self.operation is None and self.again is None)

    def __bool__(self) -> bool:
        return not self.is_null()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MPI.Request):
            return NotImplemented
        is_null = other.is_null() if isinstance(other, Request) else True
        return self is other or (self.is_null() and is_null)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = object.__hash__


class Prequest(Request, MPI.Prequest):
    """What can be started again."""

    def Start(self) -> None:
        site = self._begin("Start")
        if self.freed is not None:
            self.run.raise_code(MPI.ERR_REQUEST, "freed", "Start of a request that was freed", [self.freed, site])
        if self.operation is not None:
            self.run.raise_code(MPI.ERR_REQUEST, "request", "Start of a request that is active", [self.operation.site, site])
        self.again(self, site)

    @classmethod
    def Startall(cls, requests: Any) -> None:
        for request in requests:
            request.Start()


class AnyOf:
    """A `Waitany` that waits for the decision which of the requests it gives."""

    operation = None
    is_chosen = False
    index = event = 0

    def __init__(self, rank: Rank, requests: Any, site: Site) -> None:
        self.rank, self.site = rank, site
        self.active = {i: (r, r.operation) for i, r in enumerate(requests) if isinstance(r, Request) and r.operation is not None}
        self.run = next(iter(self.active.values()))[0].run

    @property
    def key(self) -> tuple[int, int]:
        return self.run.matching.next_key(self.rank.number)  # type: ignore[no-any-return]

    def options(self) -> dict[int, Any]:
        return {i: r for i, (r, operation) in self.active.items() if not self.is_chosen and self.run.is_complete(operation)}

    def choose(self, index: int, event: int) -> None:
        self.index, self.event, self.is_chosen = index, event, True

    def sites(self, index: int) -> tuple[Site, ...]:
        return self.site, self.active[index][1].site

    def others(self) -> list[tuple[int, int]]:
        """The requests that may end first as well, with what happened before."""
        found = []
        for i, (_, operation) in self.active.items():
            if self.run.is_complete(operation):
                partner = operation.partner if isinstance(operation, Operation) else None
                found.append((i, partner.mask | operation.decision if partner is not None else 0 if isinstance(operation, Operation) else operation.mask))
        return found


class Nothing:
    """A message from or to nobody, which has ended."""

    is_free = False
    mask = 0

    def __init__(self, site: Site) -> None:
        self.site = site

    def is_complete(self) -> bool:
        return True

    def finish(self) -> None:
        pass

    def waits_for(self, n: int) -> list[int]:
        return []


class Look:
    """A probe of any source, which waits for the decision whose message it sees."""

    is_chosen = False
    event = 0
    send: Any = None
    others = None

    def __init__(self, run: Run, rank: Rank, operation: Operation) -> None:
        self.run, self.rank, self.operation = run, rank, operation

    @property
    def key(self) -> tuple[int, int]:
        return self.run.matching.next_key(self.rank.number)

    def options(self) -> dict[int, Operation]:
        return {} if self.is_chosen else self.run.matching.candidates(self.operation)

    def choose(self, source: int, event: int) -> None:
        self.send, self.event, self.is_chosen = self.options()[source], event, True


def _refused(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"`{name}` of a request, in a simulated rank, is not supported\n  instead: use Wait, Test, Waitall, Testall or Waitany")

    return refuse


for _each in dir(MPI.Prequest):
    if not _each.startswith("_") and _each not in vars(Request) and _each not in vars(Prequest):
        setattr(Request, _each, staticmethod(_refused(_each)) if callable(getattr(MPI.Prequest, _each)) else property(_refused(_each)))


def _own(requests: Any, statuses: Any) -> list[tuple[Request, Any]]:
    """The requests that are none of `MPI.REQUEST_NULL`, with their statuses."""
    if statuses is not None:
        for status in statuses:
            need_status(status)
    pairs = zip(requests, statuses if statuses is not None else [None] * len(requests))
    return [(r, status) for r, status in pairs if isinstance(r, Request) and r.run is not None]


def wait_all(what: str, requests: Any, statuses: Any) -> Literal[True]:
    pairs = _own(requests, statuses)
    if pairs:
        first = pairs[0][0]
        site = first._begin(what)
        active = [r for r, _ in pairs if r.operation is not None]
        if active:
            first.run.block(first.owner, lambda: all(r.is_complete() for r in active), Wait(site, tuple(r.operation for r in active)))
        for request, status in pairs:
            request.end(site, status)
    return True


def test_all(what: str, requests: Any, statuses: Any) -> bool:
    pairs = _own(requests, statuses)
    active = [r for r, _ in pairs if r.operation is not None]
    if not pairs:
        return True
    first = pairs[0][0]
    site = first._begin(what)
    if active:
        wait = Wait(site, tuple(r.operation for r in active))
        if not first.run.ask(first.owner, lambda: all(r.is_complete() for r in active), wait, tuple(r.operation for r in active)):
            return False
    for request, status in pairs:
        request.end(site, status)
    return True
