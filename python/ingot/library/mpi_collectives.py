"""Collective operations of mpi4py's communicators in compiled code: methods of `library.mpi.Comm`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._routines.mpi import OPS
from . import mpi_derivatives as derivatives
from . import primitives
from .mpi_messages import an_int, array_of, call, message, need_contiguous, parts_of, placed, room, run, value, vector

MPI: Any = sys.modules.get("mpi4py.MPI")

KNOWN_OPS: tuple[tuple[Any, str], ...] = () if MPI is None else tuple((getattr(MPI, name), name) for name in OPS)


def op_of(op: Any) -> int:
    """The handle of an op; None: SUM."""
    if op is None:
        return value("SUM")
    for known, name in KNOWN_OPS:
        if op is known:
            return value(name)
    raise TypeError(f"Argument 'op' has incorrect type (expected mpi4py.MPI.Op, got {type(op).__name__})")


def is_in_place(msg: Any) -> bool:
    return not isinstance(msg, (tuple, list)) and msg is MPI.IN_PLACE


def nothing() -> Any:
    """What MPI's functions are given for a buffer that does not count."""
    return np.empty(0, np.uint8)


def reduced(msg: Any, reads: bool, writes: bool) -> tuple[Any, int, int, Any]:
    """A message whose elements are combined with others."""
    buf = parts_of(msg)[0]
    if isinstance(buf, np.ndarray) and buf.dtype.names is not None:
        primitives.refuse("a reduction of records", "reduce an array of each field")
    return message(msg, reads=reads, writes=writes)


def need_same(count: int, most: int, datatype: int, other: int) -> None:
    if datatype != other:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if count != most:
        raise ValueError(f"mismatch in send count {count} and receive count {most}")


def Barrier(self: Any) -> None:
    run("MPI_Barrier", self._handle[0])


def Bcast(self: Any, buf: Any, root: Any = 0) -> None:
    if derivatives.is_derived(buf):
        derivatives.bcast(self, buf, an_int(root))
        return
    elements, count, datatype, whole = message(buf, reads=True, writes=True)
    run("MPI_Bcast", elements, count, datatype, an_int(root), self._handle[0])
    placed(whole, elements)


def Scatter(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.scatter(self, sendbuf, recvbuf, an_int(root))
        return
    root = an_int(root)
    is_root = self.Get_rank() == root
    if sendbuf is None:
        if is_root:
            raise TypeError("message: expecting buffer or list/tuple")
        given, count, datatype = nothing(), 0, value("BYTE")
    else:
        given, count, datatype, _ = message(sendbuf, blocks=self.Get_size()) if is_root else message(sendbuf)
    if is_in_place(recvbuf):
        need_root(is_root)
        run("MPI_Scatter", given, count, datatype, value("IN_PLACE"), 0, value("BYTE"), root, self._handle[0])
    else:
        elements, most, of_received, whole = message(recvbuf, writes=True)
        run("MPI_Scatter", given, count, datatype, elements, most, of_received, root, self._handle[0])
        placed(whole, elements)


def need_root(is_root: bool) -> None:
    if not is_root:
        raise TypeError("message: expecting buffer or list/tuple")


def Gather(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.gather(self, sendbuf, recvbuf, an_int(root))
        return
    root = an_int(root)
    is_root = self.Get_rank() == root
    if recvbuf is None:
        if is_root:
            raise TypeError("message: expecting buffer or list/tuple")
        given, count, datatype, _ = message(sendbuf)
        run("MPI_Gather", given, count, datatype, nothing(), 0, value("BYTE"), root, self._handle[0])
    else:
        blocks = self.Get_size() if is_root else 1
        elements, most, of_received, whole = message(recvbuf, blocks=blocks, reads=True, writes=True)
        if is_in_place(sendbuf):
            need_root(is_root)
            run("MPI_Gather", value("IN_PLACE"), 0, value("BYTE"), elements, most, of_received, root, self._handle[0])
        else:
            given, count, datatype, _ = message(sendbuf)
            run("MPI_Gather", given, count, datatype, elements, most, of_received, root, self._handle[0])
        if is_root:
            placed(whole, elements)


def Scatterv(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Scatterv")
    root = an_int(root)
    is_root = self.Get_rank() == root
    blocks = self.Get_size()
    if sendbuf is None or parts_of(sendbuf)[0] is None:
        if is_root:
            raise TypeError("message: expecting buffer or list/tuple")
        given, counts, places, datatype = nothing(), np.zeros(blocks, np.int32), np.zeros(blocks, np.int32), value("BYTE")
    elif is_root:
        given, counts, places, datatype, _ = vector(sendbuf, blocks)
    else:
        given, counts, places, datatype = room(array_of(parts_of(sendbuf)[0]), True), np.zeros(blocks, np.int32), np.zeros(blocks, np.int32), value("BYTE")
    if is_in_place(recvbuf):
        need_root(is_root)
        run("MPI_Scatterv", given, counts, places, datatype, value("IN_PLACE"), 0, value("BYTE"), root, self._handle[0])
    else:
        elements, most, of_received, whole = message(recvbuf, writes=True)
        run("MPI_Scatterv", given, counts, places, datatype, elements, most, of_received, root, self._handle[0])
        placed(whole, elements)


def Gatherv(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Gatherv")
    root = an_int(root)
    is_root = self.Get_rank() == root
    blocks = self.Get_size()
    if not is_root or recvbuf is None or parts_of(recvbuf)[0] is None:
        need_root(not is_root)
        given, count, datatype, _ = message(sendbuf)
        zeros = np.zeros(blocks, np.int32)
        run("MPI_Gatherv", given, count, datatype, nothing(), zeros, zeros, value("BYTE"), root, self._handle[0])
    else:
        elements, counts, places, of_received, whole = vector(recvbuf, blocks, True)
        if is_in_place(sendbuf):
            run("MPI_Gatherv", value("IN_PLACE"), 0, value("BYTE"), elements, counts, places, of_received, root, self._handle[0])
        else:
            given, count, datatype, _ = message(sendbuf)
            run("MPI_Gatherv", given, count, datatype, elements, counts, places, of_received, root, self._handle[0])
        placed(whole, elements)


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
    placed(whole, elements)


def Allgatherv(self: Any, sendbuf: Any, recvbuf: Any) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Allgatherv")
    elements, counts, places, of_received, whole = vector(recvbuf, self.Get_size(), True)
    if is_in_place(sendbuf):
        run("MPI_Allgatherv", value("IN_PLACE"), 0, value("BYTE"), elements, counts, places, of_received, self._handle[0])
    else:
        given, count, datatype, _ = message(sendbuf)
        run("MPI_Allgatherv", given, count, datatype, elements, counts, places, of_received, self._handle[0])
    placed(whole, elements)


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
    placed(whole, elements)


def Alltoallv(self: Any, sendbuf: Any, recvbuf: Any) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Alltoallv")
    blocks = self.Get_size()
    elements, most, to, of_received, whole = vector(recvbuf, blocks, True)
    if is_in_place(sendbuf):
        zeros = np.zeros(blocks, np.int32)
        run("MPI_Alltoallv", value("IN_PLACE"), zeros, zeros, value("BYTE"), elements, most, to, of_received, self._handle[0])
    else:
        given, counts, places, datatype, _ = vector(sendbuf, blocks)
        run("MPI_Alltoallv", given, counts, places, datatype, elements, most, to, of_received, self._handle[0])
    placed(whole, elements)


def Reduce(self: Any, sendbuf: Any, recvbuf: Any, op: Any = None, root: Any = 0) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.reduce(self, sendbuf, recvbuf, op, an_int(root))
        return
    root = an_int(root)
    is_root = self.Get_rank() == root
    if recvbuf is None:
        need_root(not is_root)
        given, count, datatype, _ = reduced(sendbuf, True, False)
        run("MPI_Reduce", given, nothing(), count, datatype, op_of(op), root, self._handle[0])
    elif is_in_place(sendbuf):
        need_root(is_root)
        elements, count, datatype, whole = reduced(recvbuf, True, True)
        run("MPI_Reduce", value("IN_PLACE"), elements, count, datatype, op_of(op), root, self._handle[0])
        placed(whole, elements)
    else:
        given, count, datatype, _ = reduced(sendbuf, True, False)
        if is_root:
            elements, most, of_received, whole = reduced(recvbuf, True, True)
            need_same(count, most, datatype, of_received)
            if are_same(given, elements):
                run("MPI_Reduce", value("IN_PLACE"), elements, count, datatype, op_of(op), root, self._handle[0])
            else:
                run("MPI_Reduce", given, elements, count, datatype, op_of(op), root, self._handle[0])
            placed(whole, elements)
        else:
            run("MPI_Reduce", given, nothing(), count, datatype, op_of(op), root, self._handle[0])


def are_same(given: Any, elements: Any) -> bool:
    """Whether what is sent is the memory that is received into, as with `IN_PLACE`."""
    return call("same", given, elements) != 0


def combined(self: Any, function: str, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    """A reduction whose result all ranks have, each its own."""
    if is_in_place(sendbuf):
        elements, count, datatype, whole = reduced(recvbuf, True, True)
        run(function, value("IN_PLACE"), elements, count, datatype, op_of(op), self._handle[0])
    else:
        given, count, datatype, _ = reduced(sendbuf, True, False)
        elements, most, of_received, whole = reduced(recvbuf, True, True)
        need_same(count, most, datatype, of_received)
        if are_same(given, elements):
            run(function, value("IN_PLACE"), elements, count, datatype, op_of(op), self._handle[0])
        else:
            run(function, given, elements, count, datatype, op_of(op), self._handle[0])
    placed(whole, elements)


def Allreduce(self: Any, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.allreduce(self, sendbuf, recvbuf, op)
        return
    combined(self, "MPI_Allreduce", sendbuf, recvbuf, op)


def Scan(self: Any, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Scan")
    combined(self, "MPI_Scan", sendbuf, recvbuf, op)


def Exscan(self: Any, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Exscan")
    combined(self, "MPI_Exscan", sendbuf, recvbuf, op)


def Reduce_scatter_block(self: Any, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
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
    placed(whole, elements)


def Reduce_scatter(self: Any, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = None) -> None:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Reduce_scatter")
    blocks, rank = self.Get_size(), self.Get_rank()
    elements, count, datatype, whole = reduced(recvbuf, True, True)
    counts = np.empty(blocks, np.int32)
    if recvcounts is None:
        own = np.array([count], np.int32)
        self.Allgather(own, counts)
    else:
        given_counts = np.asarray(recvcounts)
        if given_counts.size != blocks:
            raise ValueError(f"expecting {blocks} items, got {given_counts.size}")
        counts[...] = given_counts
    total = int(np.sum(counts, dtype=np.int64))
    if is_in_place(sendbuf):
        if count != total:
            raise ValueError(f"mismatch in receive count {count} and sum(counts) {total}")
        run("MPI_Reduce_scatter", value("IN_PLACE"), elements, counts, datatype, op_of(op), self._handle[0])
    else:
        given, in_all, of_sent, _ = reduced(sendbuf, True, False)
        if of_sent != datatype:
            raise ValueError("mismatch in send and receive MPI datatypes")
        if in_all != total:
            raise ValueError(f"mismatch in send count {in_all} and sum(counts) {total}")
        if count != counts[rank]:
            raise ValueError(f"mismatch in receive count {count} and counts[{rank}] {counts[rank]}")
        run("MPI_Reduce_scatter", given, elements, counts, datatype, op_of(op), self._handle[0])
    placed(whole, elements)


# ---- those that are waited for


def pending(request: Any, *buffers: Any) -> Any:
    """A request that keeps its buffers."""
    from .mpi import Request

    return primitives.instance(Request, ("_handle", "buffer", "other_buffer"), (request, buffers[0], buffers[-1]))


def Ibarrier(self: Any) -> Any:
    request = np.zeros(1, np.int64)
    run("MPI_Ibarrier", self._handle[0], request)
    return pending(request, request)


def Ibcast(self: Any, buf: Any, root: Any = 0) -> Any:
    if derivatives.is_derived(buf):
        derivatives.refuse("Ibcast")
    need_contiguous(buf)
    request = np.zeros(1, np.int64)
    elements, count, datatype, _ = message(buf, reads=True, writes=True)
    run("MPI_Ibcast", elements, count, datatype, an_int(root), self._handle[0], request)
    return pending(request, elements)


def started(self: Any, function: str, sendbuf: Any, recvbuf: Any, op: Any) -> Any:
    request = np.zeros(1, np.int64)
    need_contiguous(recvbuf)
    if is_in_place(sendbuf):
        elements, count, datatype, _ = reduced(recvbuf, True, True)
        run(function, value("IN_PLACE"), elements, count, datatype, op_of(op), self._handle[0], request)
        return pending(request, elements)
    need_contiguous(sendbuf)
    given, count, datatype, _ = reduced(sendbuf, True, False)
    elements, most, of_received, _ = reduced(recvbuf, True, True)
    need_same(count, most, datatype, of_received)
    run(function, given, elements, count, datatype, op_of(op), self._handle[0], request)
    return pending(request, elements, given)


def Iallreduce(self: Any, sendbuf: Any, recvbuf: Any, op: Any = None) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Iallreduce")
    return started(self, "MPI_Iallreduce", sendbuf, recvbuf, op)


def Iscan(self: Any, sendbuf: Any, recvbuf: Any, op: Any = None) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Iscan")
    return started(self, "MPI_Iscan", sendbuf, recvbuf, op)


def Iexscan(self: Any, sendbuf: Any, recvbuf: Any, op: Any = None) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Iexscan")
    return started(self, "MPI_Iexscan", sendbuf, recvbuf, op)


def moved(self: Any, function: str, sendbuf: Any, recvbuf: Any, sent_blocks: int, received_blocks: int, root: Any) -> Any:
    """Starts what moves blocks between ranks; `root`: None where there is none."""
    request = np.zeros(1, np.int64)
    if recvbuf is None:
        elements, most, of_received = nothing(), 0, value("BYTE")
    else:
        need_contiguous(recvbuf)
        elements, most, of_received, _ = message(recvbuf, blocks=received_blocks, reads=True, writes=True)
    if sendbuf is None:
        given, count, datatype = nothing(), 0, value("BYTE")
    else:
        need_contiguous(sendbuf)
        given, count, datatype, _ = message(sendbuf, blocks=sent_blocks)
    if root is None:
        run(function, given, count, datatype, elements, most, of_received, self._handle[0], request)
    else:
        run(function, given, count, datatype, elements, most, of_received, root, self._handle[0], request)
    return pending(request, elements, given)


def Iallgather(self: Any, sendbuf: Any, recvbuf: Any) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Iallgather")
    return moved(self, "MPI_Iallgather", sendbuf, recvbuf, 1, self.Get_size(), None)


def Ialltoall(self: Any, sendbuf: Any, recvbuf: Any) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Ialltoall")
    return moved(self, "MPI_Ialltoall", sendbuf, recvbuf, self.Get_size(), self.Get_size(), None)


def Igather(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Igather")
    is_root = self.Get_rank() == an_int(root)
    return moved(self, "MPI_Igather", sendbuf, recvbuf, 1, self.Get_size() if is_root else 1, an_int(root))


def Iscatter(self: Any, sendbuf: Any, recvbuf: Any, root: Any = 0) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Iscatter")
    is_root = self.Get_rank() == an_int(root)
    return moved(self, "MPI_Iscatter", sendbuf, recvbuf, self.Get_size() if is_root else 1, 1, an_int(root))


def Ireduce(self: Any, sendbuf: Any, recvbuf: Any, op: Any = None, root: Any = 0) -> Any:
    if derivatives.is_derived(sendbuf, recvbuf):
        derivatives.refuse("Ireduce")
    request = np.zeros(1, np.int64)
    root = an_int(root)
    need_contiguous(sendbuf)
    given, count, datatype, _ = reduced(sendbuf, True, False)
    if recvbuf is None:
        need_root(self.Get_rank() != root)
        run("MPI_Ireduce", given, nothing(), count, datatype, op_of(op), root, self._handle[0], request)
        return pending(request, given)
    need_contiguous(recvbuf)
    elements, most, of_received, _ = reduced(recvbuf, True, True)
    if self.Get_rank() == root:
        need_same(count, most, datatype, of_received)
    run("MPI_Ireduce", given, elements, count, datatype, op_of(op), root, self._handle[0], request)
    return pending(request, elements, given)
