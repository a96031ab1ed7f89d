"""The methods in lower case of simulated communicators, which send any object: each rank has a copy of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal

import mpi4py.MPI as MPI

from .collectives import need_op
from .matching import ANY_SOURCE, ANY_TAG, PROC_NULL, Operation
from .messages import an_int
from .requests import Nothing, Request, fill, need_status

SUM = MPI.SUM


class Objects:
    """The methods, which communicators inherit."""

    def _send_object(self: Any, name: str, obj: Any, dest: Any, tag: Any, mode: str) -> Any:
        """A send that has been posted; None: to nobody."""
        operation = self._envelope(name, dest, tag, mode)[0]
        if operation is not None:
            operation.content = (copy.deepcopy(obj),)
            self._post(operation)
        return operation

    def _send_object_now(self: Any, name: str, obj: Any, dest: Any, tag: Any, mode: str = "") -> None:
        operation = self._send_object(name, obj, dest, tag, mode)
        if operation is not None:
            self._complete(operation.site, operation)
            self.run.observe(self.owner, operation)

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        self._send_object_now("send", obj, dest, tag)

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        self._send_object_now("ssend", obj, dest, tag, "synchronous")

    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        self._send_object_now("bsend", obj, dest, tag, "buffered")

    def recv(self: Any, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Any:
        need_status(status)
        operation = self._receive_object("recv", source, tag)
        if operation.source == PROC_NULL:
            fill(status, operation)
            return None
        self._complete(operation.site, operation)
        return self._content(operation, status)

    def _receive_object(self: Any, name: str, source: Any, tag: Any) -> Operation:
        source, tag = an_int(source), an_int(tag)
        site = self._begin(f"{name} from {self._name_of(source)}, tag {'ANY_TAG' if tag == ANY_TAG else tag}")
        operation: Operation = self._probe(source, tag, site)
        operation.content = ()
        if source != PROC_NULL:
            self._post(operation)
        return operation

    def _content(self: Any, operation: Operation, status: Any) -> Any:
        self.run.observe(self.owner, operation)
        fill(status, operation, self.context.members)
        return operation.received()

    def sendrecv(self: Any, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE, recvtag: int = ANY_TAG,
                 status: Any = None) -> Any:  # fmt: skip
        need_status(status)
        receive = self._receive_object("sendrecv", source, recvtag)
        send = self._send_object("sendrecv", sendobj, dest, sendtag, "")
        both = [operation for operation in (receive if receive.source != PROC_NULL else None, send) if operation is not None]
        self._complete(receive.site, *both)
        if send is not None:
            self.run.observe(self.owner, send)
        return self._content(receive, status)

    def _start_object(self: Any, name: str, obj: Any, dest: Any, tag: Any, mode: str) -> Any:
        operation = self._send_object(name, obj, dest, tag, mode)
        request = Request.of(self.run, self.owner, self.context.members)
        request.activate(Nothing(self.owner.last) if operation is None else operation, [])
        return request

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Any:
        return self._start_object("isend", obj, dest, tag, "")

    def issend(self, obj: Any, dest: int, tag: int = 0) -> Any:
        return self._start_object("issend", obj, dest, tag, "synchronous")

    def irecv(self: Any, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Any:
        operation = self._receive_object("irecv", source, tag)
        request = Request.of(self.run, self.owner, self.context.members)
        request.activate(Nothing(operation.site) if operation.source == PROC_NULL else operation, [])
        return request

    def probe(self: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Literal[True]:
        self.Probe(source, tag, status)
        return True

    def iprobe(self: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> bool:
        return bool(self.Iprobe(source, tag, status))

    # ---- what all ranks call

    def _all(self: Any, name: str, obj: Any, root: int | None, result: Callable[[list[Any]], Any], op: Any = None) -> Any:
        """What a rank makes of the objects of all."""
        found: list[Any] = []
        call, end = self._arrive(name, [], copy.deepcopy(obj), None if root is None else an_int(root), op)
        end(lambda: found.append(copy.deepcopy(result([call.parts[i].data if i in call.parts else None for i in range(self.size)]))))
        return found[0]

    def barrier(self: Any) -> None:
        self._all("barrier", None, None, lambda parts: None)

    def bcast(self, obj: Any, root: int = 0) -> Any:
        return self._all("bcast", obj, root, lambda parts: parts[root])

    def gather(self: Any, sendobj: Any, root: int = 0) -> Any:
        return self._all("gather", sendobj, root, lambda parts: parts if self.rank == root else None)

    def scatter(self: Any, sendobj: Any, root: int = 0) -> Any:
        if self.rank == root and len(sendobj) != self.size:
            raise ValueError(f"expecting {self.size} items, got {len(sendobj)}")
        return self._all("scatter", list(sendobj) if self.rank == root else None, root, lambda parts: parts[root][self.rank])

    def allgather(self, sendobj: Any) -> Any:
        return self._all("allgather", sendobj, None, lambda parts: parts)

    def alltoall(self: Any, sendobj: Any) -> Any:
        if len(sendobj) != self.size:
            raise ValueError(f"expecting {self.size} items, got {len(sendobj)}")
        return self._all("alltoall", list(sendobj), None, lambda parts: [part[self.rank] for part in parts])

    def reduce(self: Any, sendobj: Any, op: Any = SUM, root: int = 0) -> Any:
        need_op(op)
        return self._all("reduce", sendobj, root, lambda parts: _combined(op, parts) if self.rank == root else None, op)

    def allreduce(self, sendobj: Any, op: Any = SUM) -> Any:
        need_op(op)
        return self._all("allreduce", sendobj, None, lambda parts: _combined(op, parts), op)

    def scan(self: Any, sendobj: Any, op: Any = SUM) -> Any:
        need_op(op)
        return self._all("scan", sendobj, None, lambda parts: _combined(op, parts[: self.rank + 1]), op)

    def exscan(self: Any, sendobj: Any, op: Any = SUM) -> Any:
        need_op(op)
        return self._all("exscan", sendobj, None, lambda parts: _combined(op, parts[: self.rank]), op)


def _combined(op: Any, parts: list[Any]) -> Any:
    total = parts[0] if parts else None
    for part in parts[1:]:
        total = op(total, part)
    return total
