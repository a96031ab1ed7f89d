"""Collective operations of mpi4py's communicators in compiled code: methods of `library.mpi.Comm`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._routines.mpi import OPS
from . import mpi_derivatives as derivatives
from . import primitives
from .mpi_messages import an_int, array_of, buffer_of, bytes_of_element, counts_of, is_in_place, message, need_contiguous, need_writable, run, same_handles, unpack, value, vector

MPI: Any = sys.modules.get("mpi4py.MPI")
SUM: Any = None if MPI is None else MPI.SUM

KNOWN_OPS: tuple[tuple[Any, str], ...] = () if MPI is None else tuple((getattr(MPI, name), name) for name in OPS)


def op_of(op: Any) -> int:
    """The handle of an op."""
    for known, name in KNOWN_OPS:
        if op is known:
            return value(name)
    raise TypeError(f"Argument 'op' has incorrect type (expected mpi4py.MPI.Op, got {type(op).__name__})")


def nothing() -> Any:
    """What MPI's functions are given for a buffer that does not count."""
    return np.empty(0, np.uint8)


def reduced(msg: Any, reads: bool, writes: bool) -> tuple[Any, int, int, Any]:
    """A message whose elements are combined with others."""
    if bytes_of_element(buffer_of(msg)) != 1:
        primitives.refuse("a reduction of records", "reduce an array of each field")
    return message(msg, reads=reads, writes=writes)


def need_same(count: int, most: int, datatype: int, other: int) -> None:
    if not same_handles(datatype, other):
        raise ValueError("mismatch in send and receive MPI datatypes")
    if count != most:
        raise ValueError(f"mismatch in send count {count} and receive count {most}")


def Barrier(self: Any) -> None:
    run("MPI_Barrier", self._handle[0])


def Bcast(self: Any, buf: Any, root: Any = 0) -> None:
    if derivatives.is_derived(buf):
        derivatives.bcast(self, buf, an_int(root))
        return
    elements, count, datatype, whole = message(buf, reads=True)
    is_root = self.Get_rank() == an_int(root)
    if not is_root and primitives.may_be_read_only(array_of(buffer_of(buf), False)):
        need_writable(array_of(buffer_of(buf), False))
    run("MPI_Bcast", elements, count, datatype, an_int(root), self._handle[0])
    if not is_root:
        unpack(whole, elements)


def Scatter(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> None:
    root = an_int(root)
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.scatter(self, sendbuf, recvbuf, root)
    elif self.Get_rank() != root:
        elements, most, of_received, whole = message(recvbuf, reads=True, writes=True)
        run("MPI_Scatter", nothing(), 0, value("BYTE"), elements, most, of_received, root, self._handle[0])
        unpack(whole, elements)
    elif sendbuf is None:
        raise TypeError("message: expecting buffer or list/tuple")
    else:
        given, count, datatype, _ = message(sendbuf, blocks=self.Get_size())
        if is_in_place(recvbuf):
            run("MPI_Scatter", given, count, datatype, value("IN_PLACE"), 0, value("BYTE"), root, self._handle[0])
        else:
            elements, most, of_received, whole = message(recvbuf, reads=True, writes=True)
            run("MPI_Scatter", given, count, datatype, elements, most, of_received, root, self._handle[0])
            unpack(whole, elements)


def Gather(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> None:
    root = an_int(root)
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.gather(self, sendbuf, recvbuf, root)
    elif self.Get_rank() != root:
        given, count, datatype, _ = message(sendbuf)
        run("MPI_Gather", given, count, datatype, nothing(), 0, value("BYTE"), root, self._handle[0])
    elif recvbuf is None:
        raise TypeError("message: expecting buffer or list/tuple")
    else:
        elements, most, of_received, whole = message(recvbuf, blocks=self.Get_size(), reads=True, writes=True)
        if is_in_place(sendbuf):
            run("MPI_Gather", value("IN_PLACE"), 0, value("BYTE"), elements, most, of_received, root, self._handle[0])
        else:
            given, count, datatype, _ = message(sendbuf)
            run("MPI_Gather", given, count, datatype, elements, most, of_received, root, self._handle[0])
        unpack(whole, elements)


def Scatterv(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.scatterv(self, sendbuf, recvbuf, an_int(root))
        return
    root = an_int(root)
    blocks = self.Get_size()
    if self.Get_rank() != root:
        zeros = np.zeros(blocks, np.int32)
        elements, most, of_received, whole = message(recvbuf, reads=True, writes=True)
        run("MPI_Scatterv", nothing(), zeros, zeros, value("BYTE"), elements, most, of_received, root, self._handle[0])
        unpack(whole, elements)
    elif buffer_of(sendbuf) is None:
        raise TypeError("message: expecting buffer or list/tuple")
    else:
        given, counts, places, datatype, _ = vector(sendbuf, blocks)
        if is_in_place(recvbuf):
            run("MPI_Scatterv", given, counts, places, datatype, value("IN_PLACE"), 0, value("BYTE"), root, self._handle[0])
        else:
            elements, most, of_received, whole = message(recvbuf, reads=True, writes=True)
            run("MPI_Scatterv", given, counts, places, datatype, elements, most, of_received, root, self._handle[0])
            unpack(whole, elements)


def Gatherv(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.gatherv(self, sendbuf, recvbuf, an_int(root))
        return
    root = an_int(root)
    blocks = self.Get_size()
    if self.Get_rank() != root:
        given, count, datatype, _ = message(sendbuf)
        zeros = np.zeros(blocks, np.int32)
        run("MPI_Gatherv", given, count, datatype, nothing(), zeros, zeros, value("BYTE"), root, self._handle[0])
    elif buffer_of(recvbuf) is None:
        raise TypeError("message: expecting buffer or list/tuple")
    else:
        elements, counts, places, of_received, whole = vector(recvbuf, blocks, True)
        if is_in_place(sendbuf):
            run("MPI_Gatherv", value("IN_PLACE"), 0, value("BYTE"), elements, counts, places, of_received, root, self._handle[0])
        else:
            given, count, datatype, _ = message(sendbuf)
            run("MPI_Gatherv", given, count, datatype, elements, counts, places, of_received, root, self._handle[0])
        unpack(whole, elements)


def Allgather(self: Any, sendbuf: Any, recvbuf: Any) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.allgather(self, sendbuf, recvbuf)
        return
    elements, most, of_received, whole = message(recvbuf, blocks=self.Get_size(), reads=True, writes=True)
    if is_in_place(sendbuf):
        run("MPI_Allgather", value("IN_PLACE"), 0, value("BYTE"), elements, most, of_received, self._handle[0])
    else:
        given, count, datatype, _ = message(sendbuf)
        run("MPI_Allgather", given, count, datatype, elements, most, of_received, self._handle[0])
    unpack(whole, elements)


def Allgatherv(self: Any, sendbuf: Any, recvbuf: Any) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.allgatherv(self, sendbuf, recvbuf)
        return
    elements, counts, places, of_received, whole = vector(recvbuf, self.Get_size(), True)
    if is_in_place(sendbuf):
        run("MPI_Allgatherv", value("IN_PLACE"), 0, value("BYTE"), elements, counts, places, of_received, self._handle[0])
    else:
        given, count, datatype, _ = message(sendbuf)
        run("MPI_Allgatherv", given, count, datatype, elements, counts, places, of_received, self._handle[0])
    unpack(whole, elements)


def Alltoall(self: Any, sendbuf: Any, recvbuf: Any) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.alltoall(self, sendbuf, recvbuf)
        return
    blocks = self.Get_size()
    elements, most, of_received, whole = message(recvbuf, blocks=blocks, reads=True, writes=True)
    if is_in_place(sendbuf):
        run("MPI_Alltoall", value("IN_PLACE"), 0, value("BYTE"), elements, most, of_received, self._handle[0])
    else:
        given, count, datatype, _ = message(sendbuf, blocks=blocks)
        run("MPI_Alltoall", given, count, datatype, elements, most, of_received, self._handle[0])
    unpack(whole, elements)


def Alltoallv(self: Any, sendbuf: Any, recvbuf: Any) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.alltoallv(self, sendbuf, recvbuf)
        return
    blocks = self.Get_size()
    elements, most, to, of_received, whole = vector(recvbuf, blocks, True)
    if is_in_place(sendbuf):
        zeros = np.zeros(blocks, np.int32)
        run("MPI_Alltoallv", value("IN_PLACE"), zeros, zeros, value("BYTE"), elements, most, to, of_received, self._handle[0])
    else:
        given, counts, places, datatype, _ = vector(sendbuf, blocks)
        run("MPI_Alltoallv", given, counts, places, datatype, elements, most, to, of_received, self._handle[0])
    unpack(whole, elements)


def Reduce(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM, root: Any = 0) -> None:
    root = an_int(root)
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.reduce(self, sendbuf, recvbuf, op, root)
    elif self.Get_rank() != root:
        given, count, datatype, _ = reduced(sendbuf, True, False)
        run("MPI_Reduce", given, nothing(), count, datatype, op_of(op), root, self._handle[0])
    elif recvbuf is None:
        raise TypeError("message: expecting buffer or list/tuple")
    else:
        elements, most, of_received, whole = reduced(recvbuf, True, True)
        if is_in_place(sendbuf):
            run("MPI_Reduce", value("IN_PLACE"), elements, most, of_received, op_of(op), root, self._handle[0])
        else:
            given, count, datatype, _ = reduced(sendbuf, True, False)
            need_same(count, most, datatype, of_received)
            run("MPI_Reduce", given, elements, count, datatype, op_of(op), root, self._handle[0])
        unpack(whole, elements)


def combined(self: Any, function: str, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    """A reduction whose result all ranks have, each its own."""
    if is_in_place(sendbuf):
        elements, count, datatype, whole = reduced(recvbuf, True, True)
        run(function, value("IN_PLACE"), elements, count, datatype, op_of(op), self._handle[0])
    else:
        given, count, datatype, _ = reduced(sendbuf, True, False)
        elements, most, of_received, whole = reduced(recvbuf, True, True)
        need_same(count, most, datatype, of_received)
        run(function, given, elements, count, datatype, op_of(op), self._handle[0])
    unpack(whole, elements)


def Allreduce(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.allreduce(self, sendbuf, recvbuf, op)
        return
    combined(self, "MPI_Allreduce", sendbuf, recvbuf, op)


def Scan(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.scan(self, sendbuf, recvbuf, op)
        return
    combined(self, "MPI_Scan", sendbuf, recvbuf, op)


def Exscan(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.exscan(self, sendbuf, recvbuf, op)
        return
    combined(self, "MPI_Exscan", sendbuf, recvbuf, op)


def Reduce_scatter_block(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.reduce_scatter_block(self, sendbuf, recvbuf, op)
        return
    blocks = self.Get_size()
    if is_in_place(sendbuf):
        elements, count, datatype, whole = reduced(recvbuf, True, True)
        if count % blocks != 0:
            raise ValueError(f"message: cannot infer count, number of entries {count} is not a multiple of required number of blocks {blocks}")
        run("MPI_Reduce_scatter_block", value("IN_PLACE"), elements, count // blocks, datatype, op_of(op), self._handle[0])
    else:
        elements, count, datatype, whole = reduced(recvbuf, False, True)
        given, in_all, of_sent, _ = reduced(sendbuf, True, False)
        if in_all % blocks != 0:
            raise ValueError(f"message: cannot infer count, number of entries {in_all} is not a multiple of required number of blocks {blocks}")
        need_same(in_all // blocks, count, of_sent, datatype)
        run("MPI_Reduce_scatter_block", given, elements, count, datatype, op_of(op), self._handle[0])
    unpack(whole, elements)


def Reduce_scatter(self: Any, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = SUM) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.reduce_scatter(self, sendbuf, recvbuf, recvcounts, op)
        return
    blocks, rank = self.Get_size(), self.Get_rank()
    elements, count, datatype, whole = reduced(recvbuf, True, True)
    counts = np.empty(blocks, np.int32)
    if recvcounts is None:
        own = np.array([count], np.int32)
        self.Allgather(own, counts)
    else:
        counts[...] = counts_of(recvcounts, blocks)
    total = int(np.sum(counts, dtype=np.int64))
    if is_in_place(sendbuf):
        if count != total:
            raise ValueError(f"mismatch in receive count {count} and sum(counts) {total}")
        run("MPI_Reduce_scatter", value("IN_PLACE"), elements, counts, datatype, op_of(op), self._handle[0])
    else:
        given, in_all, of_sent, _ = reduced(sendbuf, True, False)
        if not same_handles(of_sent, datatype):
            raise ValueError("mismatch in send and receive MPI datatypes")
        if in_all != total:
            raise ValueError(f"mismatch in send count {in_all} and sum(counts) {total}")
        if count != counts[rank]:
            raise ValueError(f"mismatch in receive count {count} and counts[{rank}] {counts[rank]}")
        run("MPI_Reduce_scatter", given, elements, counts, datatype, op_of(op), self._handle[0])
    unpack(whole, elements)


# ---- those that are waited for


def start(function: str, buffers: tuple[Any, ...], *operands: Any) -> Any:
    """The request of a call, which keeps what the call sends from and receives into."""
    from .mpi import Request, pending

    request = np.zeros(1, np.int64)
    run(function, *operands, request)
    if len(buffers) > 0:
        pending(1)
    return primitives.instance(Request, ("_handle", "buffers"), (request, buffers))


def Ibarrier(self: Any) -> Any:
    return start("MPI_Ibarrier", (), self._handle[0])


def Ibcast(self: Any, buf: Any, root: Any = 0) -> Any:
    if derivatives.is_derived(buf):
        derivatives.refuse("Ibcast")
    need_contiguous(buf)
    elements, count, datatype, _ = message(buf, reads=True)
    if self.Get_rank() != an_int(root) and primitives.may_be_read_only(array_of(buffer_of(buf), False)):
        need_writable(array_of(buffer_of(buf), False))
    return start("MPI_Ibcast", (elements,), elements, count, datatype, an_int(root), self._handle[0])


def start_reduction(self: Any, function: str, sendbuf: Any, recvbuf: Any, op: Any) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse(function.removeprefix("MPI_"))
    need_contiguous(recvbuf)
    elements, most, of_received, _ = reduced(recvbuf, True, True)
    if is_in_place(sendbuf):
        return start(function, (elements,), value("IN_PLACE"), elements, most, of_received, op_of(op), self._handle[0])
    need_contiguous(sendbuf)
    given, count, datatype, _ = reduced(sendbuf, True, False)
    need_same(count, most, datatype, of_received)
    return start(function, (elements, given), given, elements, count, datatype, op_of(op), self._handle[0])


def Iallreduce(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> Any:
    return start_reduction(self, "MPI_Iallreduce", sendbuf, recvbuf, op)


def Iscan(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> Any:
    return start_reduction(self, "MPI_Iscan", sendbuf, recvbuf, op)


def Iexscan(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> Any:
    return start_reduction(self, "MPI_Iexscan", sendbuf, recvbuf, op)


def start_exchange(self: Any, function: str, sendbuf: Any, recvbuf: Any, sent_blocks: int) -> Any:
    """Starts what gives all ranks a block of each."""
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse(function.removeprefix("MPI_"))
    need_contiguous(recvbuf)
    elements, most, of_received, _ = message(recvbuf, blocks=self.Get_size(), reads=True, writes=True)
    if is_in_place(sendbuf):
        return start(function, (elements,), value("IN_PLACE"), 0, value("BYTE"), elements, most, of_received, self._handle[0])
    need_contiguous(sendbuf)
    given, count, datatype, _ = message(sendbuf, blocks=sent_blocks)
    return start(function, (elements, given), given, count, datatype, elements, most, of_received, self._handle[0])


def Iallgather(self: Any, sendbuf: Any, recvbuf: Any) -> Any:
    return start_exchange(self, "MPI_Iallgather", sendbuf, recvbuf, 1)


def Ialltoall(self: Any, sendbuf: Any, recvbuf: Any) -> Any:
    return start_exchange(self, "MPI_Ialltoall", sendbuf, recvbuf, self.Get_size())


def Igather(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Igather")
    root = an_int(root)
    need_contiguous(sendbuf)
    if self.Get_rank() != root:
        given, count, datatype, _ = message(sendbuf)
        return start("MPI_Igather", (given, given), given, count, datatype, nothing(), 0, value("BYTE"), root, self._handle[0])
    if recvbuf is None:
        raise TypeError("message: expecting buffer or list/tuple")
    need_contiguous(recvbuf)
    elements, most, of_received, _ = message(recvbuf, blocks=self.Get_size(), reads=True, writes=True)
    if is_in_place(sendbuf):
        return start("MPI_Igather", (elements, elements), value("IN_PLACE"), 0, value("BYTE"), elements, most, of_received, root, self._handle[0])
    given, count, datatype, _ = message(sendbuf)
    return start("MPI_Igather", (elements, given), given, count, datatype, elements, most, of_received, root, self._handle[0])


def Iscatter(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Iscatter")
    root = an_int(root)
    need_contiguous(recvbuf)
    if self.Get_rank() != root:
        elements, most, of_received, _ = message(recvbuf, reads=True, writes=True)
        return start("MPI_Iscatter", (elements, elements), nothing(), 0, value("BYTE"), elements, most, of_received, root, self._handle[0])
    if sendbuf is None:
        raise TypeError("message: expecting buffer or list/tuple")
    need_contiguous(sendbuf)
    given, count, datatype, _ = message(sendbuf, blocks=self.Get_size())
    if is_in_place(recvbuf):
        return start("MPI_Iscatter", (given, given), given, count, datatype, value("IN_PLACE"), 0, value("BYTE"), root, self._handle[0])
    elements, most, of_received, _ = message(recvbuf, reads=True, writes=True)
    return start("MPI_Iscatter", (elements, given), given, count, datatype, elements, most, of_received, root, self._handle[0])


def Ireduce(self: Any, sendbuf: Any, recvbuf: Any, op: Any = SUM, root: Any = 0) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Ireduce")
    root = an_int(root)
    need_contiguous(sendbuf)
    if self.Get_rank() != root:
        given, count, datatype, _ = reduced(sendbuf, True, False)
        return start("MPI_Ireduce", (given, given), given, nothing(), count, datatype, op_of(op), root, self._handle[0])
    if recvbuf is None:
        raise TypeError("message: expecting buffer or list/tuple")
    need_contiguous(recvbuf)
    elements, most, of_received, _ = reduced(recvbuf, True, True)
    if is_in_place(sendbuf):
        return start("MPI_Ireduce", (elements, elements), value("IN_PLACE"), elements, most, of_received, op_of(op), root, self._handle[0])
    given, count, datatype, _ = reduced(sendbuf, True, False)
    need_same(count, most, datatype, of_received)
    return start("MPI_Ireduce", (elements, given), given, elements, count, datatype, op_of(op), root, self._handle[0])
