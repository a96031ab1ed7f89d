"""Communicators of simulated ranks: mpi4py's methods that send arrays, among threads of one process."""

from __future__ import annotations

from typing import Any, Literal, NoReturn

import mpi4py.MPI as MPI
import numpy as np

from .._errors import UnsupportedError
from .calls import Context
from .collectives import Collectives
from .findings import Site
from .matching import ANY_SOURCE, ANY_TAG, PROC_NULL, Operation
from .messages import Buffer, an_int, message
from .objects import Objects
from .requests import Look, Nothing, Prequest, Request, fill, need_status, receive, watched
from .scheduler import Rank, Run, Wait

_TAG_UB = 2**31 - 1


class Comm(Collectives, Objects):
    """What intracommunicators and grids have in common."""

    run: Run
    owner: Rank
    context: Context
    freed: Site | None = None

    @classmethod
    def of(cls, run: Run, owner: Rank, context: Context) -> Any:
        made: Any = cls()
        made.run, made.owner, made.context = run, owner, context
        return made

    def Get_rank(self) -> int:
        return self.context.members.index(self.owner.number)

    def Get_size(self) -> int:
        return len(self.context.members)

    rank = property(Get_rank)
    size = property(Get_size)
    is_intra = property(lambda self: True)
    is_inter = property(lambda self: False)

    def Is_intra(self) -> bool:
        return True

    def Is_inter(self) -> bool:
        return False

    def Abort(self, errorcode: int = 0) -> NoReturn:
        site = self._begin(f"Abort({errorcode})")
        self.run.fail(self.owner, "exception", f"rank {self.owner.number} calls Abort", [site])

    def __bool__(self) -> bool:
        return self.freed is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MPI.Comm):
            return NotImplemented
        if not isinstance(other, Comm):
            return self.freed is not None and other == MPI.COMM_NULL
        return self.context is other.context and self.owner is other.owner and self.freed is other.freed

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.context.number, self.owner.number))

    def __repr__(self) -> str:
        return f"<simulated communicator of {self.size} ranks>"

    def _begin(self, what: str) -> Site:
        site = self.run.begin(self.owner, what)
        if self.freed is not None:
            self.run.raise_code(MPI.ERR_COMM, "freed", f"{what.split()[0]} on a communicator that was freed", [self.freed, site])
        return site

    # ---- messages from one rank to another

    def _send(self, name: str, buf: Any, dest: Any, tag: Any, mode: str, gaps: bool = True) -> tuple[Operation | None, Buffer | None, Site]:
        """A send that has not been posted; None: to nobody."""
        buffer = None if buf is None and an_int(dest) == PROC_NULL else message(buf, gaps=gaps)
        operation, site = self._envelope(name, dest, tag, mode, buffer)
        return operation, None if operation is None else buffer, site

    def _envelope(self, name: str, dest: Any, tag: Any, mode: str, buffer: Buffer | None = None) -> tuple[Operation | None, Site]:
        dest, tag = an_int(dest), an_int(tag)
        site = self._begin(f"{name} to {_name(dest)}, tag {tag}")
        if dest == PROC_NULL:
            return None, site
        self._need_rank(dest, site)
        if not 0 <= tag <= _TAG_UB:
            raise MPI.Exception(MPI.ERR_TAG)
        return Operation(True, site, self.context.number, self.owner.number, self.context.members[dest], tag, buffer, mode), site

    @staticmethod
    def _name_of(rank: int) -> str:
        return _name(rank)

    def _receive(self, name: str, buf: Any, source: Any, tag: Any, gaps: bool = True) -> tuple[Operation, Site]:
        source, tag = an_int(source), an_int(tag)
        site = self._begin(f"{name} from {_name(source)}, tag {'ANY_TAG' if tag == ANY_TAG else tag}")
        buffer = None if buf is None and source == PROC_NULL else message(buf, writes=True, gaps=gaps)
        return self._probe(source, tag, site, buffer), site

    def _probe(self, source: int, tag: int, site: Site, buffer: Buffer | None = None) -> Operation:
        if source not in (ANY_SOURCE, PROC_NULL):
            self._need_rank(source, site)
            source = self.context.members[source]
        if tag != ANY_TAG and not 0 <= tag <= _TAG_UB:
            raise MPI.Exception(MPI.ERR_TAG)
        return Operation(False, site, self.context.number, source, self.owner.number, tag, buffer)

    def _need_rank(self, rank: int, site: Site) -> None:
        if not 0 <= rank < self.size:
            self.run.raise_code(MPI.ERR_RANK, "rank", f"there is no rank {rank} among {self.size}", [site])

    def _post(self, operation: Operation) -> None:
        operation.mask = self.owner.known
        self.run.matching.post(operation)
        if not operation.is_send:
            self.owner.known |= operation.post

    def _complete(self, site: Site, *operations: Operation) -> None:
        run = self.run
        run.block(self.owner, lambda: all(run.is_complete(o) for o in operations), Wait(site, operations))

    def _send_now(self, name: str, buf: Any, dest: Any, tag: Any, mode: str = "") -> None:
        operation, buffer, site = self._send(name, buf, dest, tag, mode)
        if operation is not None:
            watched(self.run, self.owner, site, [(buffer, False)])
            self._post(operation)
            self._complete(site, operation)
            self.run.observe(self.owner, operation)

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._send_now("Send", buf, dest, tag)

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._send_now("Ssend", buf, dest, tag, "synchronous")

    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._send_now("Rsend", buf, dest, tag, "ready")

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._send_now("Bsend", buf, dest, tag, "buffered")

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> None:
        need_status(status)
        operation, site = self._receive("Recv", buf, source, tag)
        if operation.source == PROC_NULL:
            fill(status, operation)
            return
        watched(self.run, self.owner, site, [(operation.buffer, True)])
        self._post(operation)
        self._complete(site, operation)
        receive(self.run, self.owner, operation, self.context.members, status)

    def Sendrecv(self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE, recvtag: int = ANY_TAG,
                 status: Any = None) -> None:  # fmt: skip
        need_status(status)
        self._exchange("Sendrecv", sendbuf, dest, sendtag, recvbuf, source, recvtag, status)

    def Sendrecv_replace(self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG, status: Any = None) -> None:
        need_status(status)
        self._exchange("Sendrecv_replace", buf, dest, sendtag, buf, source, recvtag, status)

    def _exchange(self, name: str, sendbuf: Any, dest: Any, sendtag: Any, recvbuf: Any, source: Any, recvtag: Any, status: Any) -> None:
        send, sent, site = self._send(name, sendbuf, dest, sendtag, "")
        got, to_receive = self._receive(name, recvbuf, source, recvtag)
        replaces = name == "Sendrecv_replace"
        watched(self.run, self.owner, site, [(None if replaces else sent, False), (got.buffer if got.source != PROC_NULL else None, True)])
        site = site._replace(what=f"{site.what}, {to_receive.what.removeprefix(name).strip()}")
        self.owner.last = site
        operations = []
        for operation in (got if got.source != PROC_NULL else None, send):
            if operation is not None:
                operation.site = site
                self._post(operation)
                operations.append(operation)
        self._complete(site, *operations)
        if send is not None:
            self.run.observe(self.owner, send)
        if got.source == PROC_NULL:
            fill(status, got)
        else:
            receive(self.run, self.owner, got, self.context.members, status)

    # ---- what is waited for

    def _start_send(self, name: str, buf: Any, dest: Any, tag: Any, mode: str, request: Any = None, site: Site | None = None) -> Any:
        operation, buffer, own = self._send(name, buf, dest, tag, mode, gaps=False)
        request = Request.of(self.run, self.owner, self.context.members) if request is None else request
        if operation is not None:
            operation.site = site or own
            uses = watched(self.run, self.owner, operation.site, [(buffer, False)])
            self._post(operation)
            request.activate(operation, uses)
        else:
            request.activate(Nothing(site or own), [])
        return request

    def _start_receive(self, name: str, buf: Any, source: Any, tag: Any, request: Any = None, site: Site | None = None) -> Any:
        operation, own = self._receive(name, buf, source, tag, gaps=False)
        request = Request.of(self.run, self.owner, self.context.members) if request is None else request
        if operation.source == PROC_NULL:
            request.activate(Nothing(operation.site), [])
            return request
        site = operation.site = site or own
        uses = watched(self.run, self.owner, site, [(operation.buffer, True)])
        operation.early = self.run.line_of(site)[0] == self.run.config.early
        self._post(operation)
        request.activate(operation, uses)
        if operation.early:
            self.run.pause(self.owner, site)
        return request

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        return self._start_send("Isend", buf, dest, tag, "")

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        return self._start_send("Issend", buf, dest, tag, "synchronous")

    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        return self._start_send("Irsend", buf, dest, tag, "ready")

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        return self._start_send("Ibsend", buf, dest, tag, "buffered")

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Any:
        return self._start_receive("Irecv", buf, source, tag)

    def _persistent_send(self, name: str, buf: Any, dest: Any, tag: Any, mode: str) -> Any:
        self._send(name, buf, dest, tag, mode, gaps=False)  # raises what is wrong with it
        made = Prequest.of(self.run, self.owner, self.context.members)
        made.again = lambda request, site: self._start_send(f"Start of {name}", buf, dest, tag, mode, request, site)
        return made

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Any:
        return self._persistent_send("Send_init", buf, dest, tag, "")

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Any:
        return self._persistent_send("Ssend_init", buf, dest, tag, "synchronous")

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Any:
        self._receive("Recv_init", buf, source, tag, gaps=False)
        made = Prequest.of(self.run, self.owner, self.context.members)
        made.again = lambda request, site: self._start_receive("Start of Recv_init", buf, source, tag, request, site)
        return made

    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Literal[True]:
        self._look("Probe", source, tag, status, True)
        return True

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> bool:
        return self._look("Iprobe", source, tag, status, False)

    def _look(self, name: str, source: Any, tag: Any, status: Any, waits: bool) -> bool:
        need_status(status)
        source, tag = an_int(source), an_int(tag)
        site = self._begin(f"{name} of {_name(source)}, tag {'ANY_TAG' if tag == ANY_TAG else tag}")
        probe = self._probe(source, tag, site)
        if source == PROC_NULL:
            fill(status, probe)
            return True
        probe.mask = self.owner.known
        matching = self.run.matching
        want = Look(self.run, self.owner, probe) if source == ANY_SOURCE else None
        wait = Wait(site, (probe,))
        if waits:
            self.run.block(self.owner, lambda: matching.first(probe, probe.source) is not None, wait, want)
        elif not self.run.ask(self.owner, lambda: matching.first(probe, probe.source) is not None, wait, (site.file, site.line), want):
            return False
        send: Any = matching.first(probe, probe.source) if want is None else want.send
        self.owner.known |= send.mask | (want.event if want is not None else 0)
        probe.partner = send
        fill(status, probe, self.context.members)
        return True

    # ---- other communicators

    def _make(self, name: str, data: Any, members_of: Any, kind: Any = None, grid: Any = None, **agreed: Any) -> Any:
        """A collective that makes communicators: `members_of` gives, of what all ranks have given, the members of each, by rank."""
        call, end = self._arrive(name, [], data, **agreed)
        end()

        def make() -> dict[int, Context]:
            groups = members_of(call.all_parts())
            made = {members: Context(self.run, members, grid) for members in dict.fromkeys(groups.values())}
            return {local: made[members] for local, members in groups.items()}

        context = call.make_once(make).get(self.rank)
        return MPI.COMM_NULL if context is None else (kind or type(self)).of(self.run, self.owner, context)

    def Split(self, color: int = 0, key: int = 0) -> Any:
        def members_of(parts: list[tuple[int, int]]) -> dict[int, tuple[int, ...]]:
            order = sorted(range(len(parts)), key=lambda i: (parts[i][1], i))
            return {i: tuple(self.context.members[j] for j in order if parts[j][0] == c) for i, (c, _) in enumerate(parts) if c != MPI.UNDEFINED}

        color = an_int(color)
        if color < 0 and color != MPI.UNDEFINED:
            raise MPI.Exception(MPI.ERR_ARG)
        return self._make("Split", (color, an_int(key)), members_of, Intracomm)

    def Dup(self, info: Any = None) -> Any:
        return self._make("Dup", None, lambda parts: dict.fromkeys(range(len(parts)), self.context.members), grid=self.context.grid)

    Clone = Dup

    def Create_cart(self, dims: Any, periods: Any = None, reorder: bool = False) -> Any:
        lengths = tuple(int(d) for d in np.ravel(dims))
        wraps = (bool(periods),) * len(lengths) if periods is None or isinstance(periods, (bool, np.bool)) else tuple(bool(p) for p in periods)
        if len(wraps) != len(lengths):
            raise ValueError(f"expecting {len(lengths)} items, got {len(wraps)}")
        count = int(np.prod(lengths))
        if count > self.size or min(lengths, default=1) < 0:
            raise MPI.Exception(MPI.ERR_DIMS if min(lengths) < 0 else MPI.ERR_ARG)
        members = self.context.members[:count]
        return self._make("Create_cart", None, lambda parts: dict.fromkeys(range(count), members), Cartcomm, (lengths, wraps), dims=lengths, periods=wraps)

    def Free(self) -> None:
        _, end = self._arrive("Free", [])
        site = self.owner.last
        end()
        self.freed = site


class Intracomm(Comm, MPI.Intracomm):
    """What `MPI.COMM_WORLD` is in a simulated rank."""


class Cartcomm(Comm, MPI.Cartcomm):
    """A grid of ranks."""

    def Get_dim(self) -> int:
        return len(self._grid()[0])

    ndim = dim = property(Get_dim)

    def _grid(self) -> Any:
        return self.context.grid

    def Get_topo(self) -> tuple[list[int], list[int], list[int]]:
        return list(self._grid()[0]), [int(p) for p in self._grid()[1]], self.Get_coords(self.rank)

    topo = property(Get_topo)
    dims = property(lambda self: self.Get_topo()[0])
    periods = property(lambda self: self.Get_topo()[1])
    coords = property(lambda self: self.Get_topo()[2])

    def Get_coords(self, rank: int) -> list[int]:
        return [int(c) for c in np.unravel_index(rank, self._grid()[0])] if self._grid()[0] else []

    def Get_cart_rank(self, coords: Any) -> int:
        lengths, wraps = self._grid()
        found = 0
        for c, length, wrap in zip(np.ravel(coords), lengths, wraps, strict=True):
            if not wrap and not 0 <= c < length:
                raise MPI.Exception(MPI.ERR_ARG)
            found = found * length + int(c) % length
        return found

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        def at(by: int) -> int:
            coords = self.Get_coords(self.rank)
            coords[direction] += by
            length, wrap = self._grid()[0][direction], self._grid()[1][direction]
            return self.Get_cart_rank(coords) if wrap or 0 <= coords[direction] < length else PROC_NULL

        if not 0 <= direction < self.Get_dim():
            raise MPI.Exception(MPI.ERR_DIMS)
        return at(-disp), at(disp)


def _name(rank: int) -> str:
    return "any rank" if rank == ANY_SOURCE else "nobody" if rank == PROC_NULL else f"rank {rank}"


def _refused(name: str) -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"`{name}` of a communicator, in a simulated rank, is not supported\n  instead: simulate a function without it")

    return refuse


for _kind, _theirs in ((Intracomm, MPI.Intracomm), (Cartcomm, MPI.Cartcomm)):
    for _each in dir(_theirs):
        if not _each.startswith("_") and not hasattr(Comm, _each) and _each not in vars(_kind):
            is_method = callable(getattr(_theirs, _each))
            setattr(_kind, _each, _refused(_each) if is_method else property(_refused(_each)))
