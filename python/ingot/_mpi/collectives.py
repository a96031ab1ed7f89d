"""Collective operations of simulated communicators, blocking and waited for; each gives its data and later takes its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpi4py.MPI as MPI
import numpy as np

from .calls import Call
from .messages import Buffer, an_int, counts_of, message, vector
from .requests import Request, watched
from .scheduler import Wait

SUM = MPI.SUM


def is_in_place(msg: Any) -> bool:
    return not isinstance(msg, (list, tuple, np.ndarray)) and msg is MPI.IN_PLACE


def _need_buffer(msg: Any) -> None:
    if (msg[0] if isinstance(msg, (list, tuple)) and msg else msg) is None:
        raise TypeError("message: expecting buffer or list/tuple")


def need_op(op: Any) -> None:
    if not isinstance(op, MPI.Op):
        raise TypeError(f"Argument 'op' has incorrect type (expected mpi4py.MPI.Op, got {type(op).__name__})")


def _same(sent: Buffer, received: Buffer, blocks: int = 1) -> None:
    if sent.type.datatype != received.type.datatype:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if sent.count != received.count * blocks:
        raise ValueError(f"mismatch in send count {sent.count} and receive count {received.count * blocks}")


def combined(op: Any, kind: Any, parts: list[bytes]) -> bytes:
    """The reduction of the data of ranks in their order, by the op's own function."""
    total = np.frombuffer(parts[0], np.uint8)
    for part in parts[1:]:
        following = np.frombuffer(part, np.uint8).copy()
        op.Reduce_local([total, kind.datatype], [following, kind.datatype])
        total = following
    return total.tobytes()


class Collectives:
    """The methods, which communicators inherit."""

    run: Any
    owner: Any
    context: Any

    def _arrive(self: Any, name: str, buffers: list[tuple[Buffer | None, bool]], data: Any = None, root: int | None = None, op: Any = None,
                block: Buffer | None = None, is_started: bool = False, **agreed: Any) -> tuple[Call, Any]:  # fmt: skip
        """Begins a collective; gives the rank's part, and what ends it: of a deliverer, None or the request."""
        name = "I" + name.lower() if is_started else name
        if root is not None and not 0 <= root < self.size:
            raise MPI.Exception(MPI.ERR_ROOT)
        site = self._begin(name + ("" if root is None else f" with root {root}"))
        if block is not None:
            agreed.update({"bytes": block.size, "datatype": block.type.code})
        if op is not None:
            agreed["op"] = next(each for each in (*_OPS, "an op of its own") if each == "an op of its own" or getattr(MPI, each) == op)
        uses = watched(self.run, self.owner, site, buffers)
        call = Call(self.run, self.owner, self.context, self.rank, site, root, {"root": root, **agreed}, data)

        def end(deliver: Callable[[], None] | None = None) -> Any:
            call.deliver = deliver
            if is_started:
                request = Request.of(self.run, self.owner, self.context.members)
                request.activate(call, uses)
                return request
            self.run.block(self.owner, call.is_complete, Wait(site, (call,)))
            return call.finish()

        return call, end

    # ---- one root

    def Barrier(self, *, is_started: bool = False) -> Any:
        return self._arrive("Barrier", [], is_started=is_started)[1]()

    def Bcast(self: Any, buf: Any, root: int = 0, *, is_started: bool = False) -> Any:
        root = an_int(root)
        is_root = self.rank == root
        buffer = message(buf, writes=not is_root, gaps=not is_started)
        call, end = self._arrive("Bcast", [(buffer, not is_root)], buffer.get() if is_root else None, root, block=buffer, is_started=is_started)
        return end(None if is_root else lambda: call.receive(root, call.part(root), buffer))

    def Scatter(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0, *, is_started: bool = False) -> Any:
        root = an_int(root)
        is_root, sent, received = self.rank == root, None, None
        if is_root:
            _need_buffer(sendbuf)
            sent = message(sendbuf, blocks=self.size, gaps=not is_started)
        if not (is_root and is_in_place(recvbuf)):
            received = message(recvbuf, writes=True, gaps=not is_started)
        data = [sent.block(i).get() for i in range(self.size)] if sent is not None else None
        whole = None if sent is None else Buffer(sent.memory, sent.offset, sent.count * self.size, sent.type, sent.whole)
        call, end = self._arrive("Scatter", [(whole, False), (received, True)], data, root, block=sent or received, is_started=is_started)
        return end(None if received is None else lambda: call.receive(root, call.part(root)[self.rank], received))

    def Scatterv(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        root = an_int(root)
        is_root, sent, received = self.rank == root, [], None
        if is_root:
            _need_buffer(sendbuf)
            sent = vector(sendbuf, self.size)
        if not (is_root and is_in_place(recvbuf)):
            received = message(recvbuf, writes=True)
        code = sent[0].type.code if sent else None if received is None else received.type.code
        call, end = self._arrive("Scatterv", [*((b, False) for b in sent), (received, True)], [b.get() for b in sent], root, datatype=code)
        end(None if received is None else lambda: call.receive(root, call.part(root)[self.rank], received))

    def Gather(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0, *, is_started: bool = False) -> Any:
        root = an_int(root)
        is_root, sent, received = self.rank == root, None, None
        if is_root:
            _need_buffer(recvbuf)
            received = message(recvbuf, blocks=self.size, writes=True, gaps=not is_started)
        if not (is_root and is_in_place(sendbuf)):
            sent = message(sendbuf, gaps=not is_started)
        return self._gather("Gather", root, sent, None if received is None else [received.block(i) for i in range(self.size)], is_started, sent or received)

    def Gatherv(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        root = an_int(root)
        sent, received = None, None
        if self.rank == root:
            _need_buffer(recvbuf)
            received = vector(recvbuf, self.size, writes=True)
        if not (self.rank == root and is_in_place(sendbuf)):
            sent = message(sendbuf)
        self._gather("Gatherv", root, sent, received, False, None)

    def _gather(self: Any, name: str, root: int, sent: Buffer | None, received: list[Buffer] | None, is_started: bool, block: Buffer | None) -> Any:
        data = None if sent is None else sent.get()
        buffers = [(sent, False), *((b, True) for b in received or ())]
        call, end = self._arrive(name, buffers, data, root, block=block, is_started=is_started)

        def deliver() -> None:
            for i, part in enumerate(call.all_parts() if received is not None else ()):
                if part is not None and received is not None:
                    call.receive(i, part, received[i])

        return end(deliver)

    # ---- all to all

    def Allgather(self: Any, sendbuf: Any, recvbuf: Any, *, is_started: bool = False) -> Any:
        received = message(recvbuf, blocks=self.size, writes=True, gaps=not is_started)
        sent = None if is_in_place(sendbuf) else message(sendbuf, gaps=not is_started)
        return self._allgather("Allgather", sent, [received.block(i) for i in range(self.size)], is_started, sent or received)

    def Allgatherv(self: Any, sendbuf: Any, recvbuf: Any) -> None:
        received = vector(recvbuf, self.size, writes=True)
        self._allgather("Allgatherv", None if is_in_place(sendbuf) else message(sendbuf), received, False, None)

    def _allgather(self: Any, name: str, sent: Buffer | None, received: list[Buffer], is_started: bool, block: Buffer | None) -> Any:
        data = received[self.rank].get() if sent is None else sent.get()
        call, end = self._arrive(name, [(sent, False), *((b, True) for b in received)], data, block=block, is_started=is_started)

        def deliver() -> None:
            for i, part in enumerate(call.all_parts()):
                call.receive(i, part, received[i])

        return end(deliver)

    def Alltoall(self: Any, sendbuf: Any, recvbuf: Any, *, is_started: bool = False) -> Any:
        received = message(recvbuf, blocks=self.size, writes=True, gaps=not is_started)
        sent = None if is_in_place(sendbuf) else message(sendbuf, blocks=self.size, gaps=not is_started)
        of_sent = None if sent is None else [sent.block(i) for i in range(self.size)]
        return self._alltoall("Alltoall", of_sent, [received.block(i) for i in range(self.size)], is_started, sent or received)

    def Alltoallv(self: Any, sendbuf: Any, recvbuf: Any) -> None:
        received = vector(recvbuf, self.size, writes=True)
        self._alltoall("Alltoallv", None if is_in_place(sendbuf) else vector(sendbuf, self.size), received, False, None)

    def _alltoall(self: Any, name: str, sent: list[Buffer] | None, received: list[Buffer], is_started: bool, block: Buffer | None) -> Any:
        data = [b.get() for b in (received if sent is None else sent)]
        buffers = [*((b, False) for b in sent or ()), *((b, True) for b in received)]
        call, end = self._arrive(name, buffers, data, block=block, is_started=is_started)

        def deliver() -> None:
            for i, part in enumerate(call.all_parts()):
                call.receive(i, part[self.rank], received[i])

        return end(deliver)

    # ---- reductions

    def Reduce(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM, root: int = 0, *, is_started: bool = False) -> Any:
        root = an_int(root)
        need_op(op)
        received = sent = None
        if self.rank == root:
            _need_buffer(recvbuf)
            received = message(recvbuf, writes=True, gaps=not is_started)
        if not (self.rank == root and is_in_place(sendbuf)):
            sent = message(sendbuf, gaps=not is_started)
        if sent is not None and received is not None:
            _same(sent, received)
        given: Any = received if sent is None else sent
        call, end = self._arrive("Reduce", [(sent, False), (received, True)], given.get(), root, op, given, is_started)
        return end(None if received is None else lambda: received.put(combined(op, given.type, call.all_parts())))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, is_started: bool = False) -> Any:
        return self._reduction("Allreduce", sendbuf, recvbuf, op, is_started, lambda call: call.all_parts())

    def Scan(self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, is_started: bool = False) -> Any:
        return self._reduction("Scan", sendbuf, recvbuf, op, is_started, lambda call: call.all_parts()[: call.local + 1])

    def Exscan(self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, is_started: bool = False) -> Any:
        return self._reduction("Exscan", sendbuf, recvbuf, op, is_started, lambda call: call.all_parts()[: call.local])

    def _reduction(self: Any, name: str, sendbuf: Any, recvbuf: Any, op: Any, is_started: bool, parts_of: Callable[[Call], list[bytes]]) -> Any:
        need_op(op)
        sent = None if is_in_place(sendbuf) else message(sendbuf, gaps=not is_started)
        received = message(recvbuf, writes=True, gaps=not is_started)
        if sent is not None:
            _same(sent, received)
        given = received if sent is None else sent
        call, end = self._arrive(name, [(sent, False), (received, True)], given.get(), None, op, given, is_started)

        def deliver() -> None:
            parts = parts_of(call)
            if parts:
                received.put(combined(op, given.type, parts))

        return end(deliver)

    def Reduce_scatter_block(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> None:
        need_op(op)
        received = message(recvbuf, writes=True)
        sent = received if is_in_place(sendbuf) else message(sendbuf)
        if sent.count % self.size != 0:
            raise ValueError(f"message: cannot infer count, number of entries {sent.count} is not a multiple of required number of blocks {self.size}")
        if sent is not received:
            _same(sent, received, self.size)
        counts = [sent.count // self.size] * self.size
        self._reduce_scatter("Reduce_scatter_block", sent, received, counts, op)

    def Reduce_scatter(self: Any, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = SUM) -> None:
        need_op(op)
        received = message(recvbuf, writes=True)
        if recvcounts is None:
            counts = np.zeros(self.size, np.int32)
            self.Allgather(np.array([received.count], np.int32), counts)
            recvcounts = counts
        counts_of_all = counts_of(recvcounts, self.size)
        total = sum(counts_of_all)
        sent = received if is_in_place(sendbuf) else message(sendbuf)
        if sent is received and received.count != total:
            raise ValueError(f"mismatch in receive count {received.count} and sum(counts) {total}")
        if sent is not received:
            if sent.type.datatype != received.type.datatype:
                raise ValueError("mismatch in send and receive MPI datatypes")
            if sent.count != total:
                raise ValueError(f"mismatch in send count {sent.count} and sum(counts) {total}")
            if received.count != counts_of_all[self.rank]:
                raise ValueError(f"mismatch in receive count {received.count} and counts[{self.rank}] {counts_of_all[self.rank]}")
        self._reduce_scatter("Reduce_scatter", sent, received, counts_of_all, op)

    def _reduce_scatter(self: Any, name: str, sent: Buffer, received: Buffer, counts: list[int], op: Any) -> None:
        buffers: list[tuple[Buffer | None, bool]] = [(sent if sent is not received else None, False), (received, True)]
        call, end = self._arrive(name, buffers, sent.get(), None, op, sent, counts=counts)
        first, size = sum(counts[: self.rank]) * sent.type.size, counts[self.rank] * sent.type.size
        end(lambda: received.put(combined(op, sent.type, call.all_parts())[first : first + size]))


_OPS = ("SUM", "PROD", "MIN", "MAX", "LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR", "MINLOC", "MAXLOC", "REPLACE", "NO_OP")


def _started(name: str) -> Any:
    def start(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs, is_started=True)

    start.__name__ = "I" + name.lower()
    return start


for _name in ("Barrier", "Bcast", "Scatter", "Gather", "Allgather", "Alltoall", "Reduce", "Allreduce", "Scan", "Exscan"):
    setattr(Collectives, "I" + _name.lower(), _started(_name))
