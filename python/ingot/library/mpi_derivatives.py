"""Derivatives of messages: those of all ranks' programs together, of the sum of what they give.

What moves elements between ranks is linear. In forward mode a tangent goes after each message, the same way; in reverse mode the
cotangent comes back from where the message went. All ranks call the same derivative, so whether an array varies on one of them
decides nothing: each message of floats or complex numbers has its other one. Functions here are of elements in the order of
memory (`elements_of`), so that a message goes, and is refused, as without derivatives.
"""

from __future__ import annotations

import array
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._routines.mpi import DTYPES
from . import primitives
from .derivatives import is_inexact, linear, tangent_of, with_rules
from .mpi_messages import CONSTANTS, bounds_of, buffer_of, counts_of, is_in_place, need_writable, parts_of, vector

MPI: Any = sys.modules.get("mpi4py.MPI")


FLOATS: tuple[Any, ...] = () if MPI is None else (MPI.FLOAT, MPI.DOUBLE, MPI.C_FLOAT_COMPLEX, MPI.C_DOUBLE_COMPLEX)


def is_derived(*messages: Any) -> bool:
    """Whether messages have derivatives."""
    if len(primitives.derivatives()) == 0:
        return False
    for msg in messages:
        x = buffer_of(msg)
        if isinstance(x, (np.ndarray, np.generic)) and is_inexact(x):
            return True
        if isinstance(x, (array.array, memoryview)) and is_inexact(x.elements):  # type: ignore[union-attr]
            primitives.refuse("the derivative of a message of floats in no array of NumPy's", "send an array of NumPy's")
        if isinstance(msg, (list, tuple)):
            for item in msg[1:]:
                if any([item is floats for floats in FLOATS]):
                    primitives.refuse("the derivative of a message of floats in an array of another dtype", "send an array of floats")
    return False


def refuse(what: str) -> None:
    primitives.refuse(f"the derivative of `{what}`", "use a call that has one, as Send, Isend, Irecv and Wait, Allreduce or Gatherv")


def elements_of(x: Any) -> Any:
    """A new array of the elements of a buffer, in the order of memory."""
    if isinstance(x, np.generic):
        return np.array([x])
    if not primitives.is_contiguous(x) and primitives.is_contiguous(x.T):
        return x.T.copy().reshape(x.size)
    return x.copy().reshape(x.size)


def put(x: Any, elements: Any) -> None:
    """Makes them the elements of an array."""
    if not primitives.is_contiguous(x) and primitives.is_contiguous(x.T):
        x.T[...] = elements.reshape(x.T.shape)
    else:
        x[...] = elements.reshape(x.shape)


def part_of(msg: Any, blocks: int = 1) -> Any:
    """The elements of a buffer that a message has, as `elements_of`."""
    buf, count, displ, datatype = parts_of(msg)
    x = elements_of(buf)
    need_own(datatype, x)
    if count is None and displ is None:
        return x
    first, length = bounds_of(count, displ, x.size, blocks)
    return x[first : first + length * blocks]


def need_own(datatype: Any, x: Any) -> None:
    if datatype is not None and not is_own(datatype, x):
        primitives.refuse("the derivative of a message of another datatype than the array's", "pass the part of the array that is sent")


def is_own(datatype: Any, x: Any) -> bool:
    if isinstance(datatype, str):
        return datatype in MPI._typedict and is_own(MPI._typedict[datatype], x)
    for known, name in CONSTANTS:
        if datatype is known:
            return name == DTYPES[x.dtype.name]
    return False


def put_part(msg: Any, elements: Any, blocks: int = 1) -> None:
    """Makes them the elements that a message has of a buffer."""
    buf, count, displ, _ = parts_of(msg)
    if count is None and displ is None:
        put(buf, elements)
        return
    x = elements_of(buf)
    first, length = bounds_of(count, displ, x.size, blocks)
    x[first : first + length * blocks] = elements
    put(buf, x)


def need_array(x: Any) -> None:
    if not isinstance(x, np.ndarray):
        if isinstance(x, np.generic):
            raise BufferError("scalar buffer is readonly")
        raise TypeError("message: expecting buffer or list/tuple")
    if primitives.may_be_read_only(x):
        need_writable(x)


def bcast(comm: Any, buf: Any, root: int) -> None:
    if not isinstance(buffer_of(buf), np.ndarray):
        need_array(buffer_of(buf))

    def forth(x: Any) -> Any:
        y = x.copy()
        comm.Bcast(y, root)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(cotangent.shape, cotangent.dtype)
        comm.Reduce(cotangent, c, MPI.SUM, root)
        return c

    y = linear(forth, back, part_of(buf))
    if comm.Get_rank() != root or not primitives.may_be_read_only(buffer_of(buf)):
        put_part(buf, y)


def need_sum(op: Any, name: str) -> None:
    if op is not MPI.SUM:
        primitives.refuse(f"the derivative of `{name}` by another op than MPI.SUM", "write it with Allgather")


def need_two(name: str, *messages: Any) -> None:
    for msg in messages:
        if is_in_place(msg):
            primitives.refuse(f"the derivative of `{name}` in place", "send a copy, or receive into an array of its own")


def reduce(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, root: int) -> None:
    need_sum(op, "Reduce")
    if is_in_place(sendbuf) and comm.Get_rank() != root:
        raise TypeError("message: expecting buffer or list/tuple")

    def forth(x: Any) -> Any:
        y = np.zeros(x.shape, x.dtype)
        comm.Reduce(x, y, MPI.SUM, root)
        return y

    def back(cotangent: Any) -> Any:
        c = cotangent.copy()
        comm.Bcast(c, root)
        return c

    y = linear(forth, back, part_of(recvbuf if is_in_place(sendbuf) else sendbuf))
    if comm.Get_rank() == root:
        need_same(y, recvbuf)
        put_part(recvbuf, y)


def need_same(y: Any, recvbuf: Any) -> None:
    """Raises what the call without derivatives does."""
    need_array(buffer_of(recvbuf))
    into = part_of(recvbuf)
    if y.dtype != into.dtype:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if y.size != into.size:
        raise ValueError(f"mismatch in send count {y.size} and receive count {into.size}")


def reduced(sendbuf: Any, recvbuf: Any) -> Any:
    """The elements of a rank that are combined with those of others, as many as are received."""
    x = part_of(recvbuf if is_in_place(sendbuf) else sendbuf)
    need_same(x, recvbuf)
    return x


def allreduce(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    x = reduced(sendbuf, recvbuf)
    if op is not MPI.MAX and op is not MPI.MIN:
        need_sum(op, "Allreduce")
        put_part(recvbuf, linear(lambda own: summed(comm, own), lambda cotangent: summed(comm, cotangent), x))
        return

    def forth(own: Any) -> Any:
        y = np.zeros(own.shape, own.dtype)
        comm.Allreduce(own, y, op)
        return y

    def shares(own: Any, y: Any) -> Any:
        """1 where an element is the result, shared among all ranks that have it."""
        mine = np.where(own == y, np.ones(own.shape, own.dtype), np.zeros(own.shape, own.dtype))
        return mine / summed(comm, mine)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = forth(primals[0])
        return y, summed(comm, shares(primals[0], y) * tangent_of(primals[0], tangents[0]))

    def there(own: Any) -> tuple[Any, ...]:
        y = forth(own)
        return y, shares(own, y)

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (kept * summed(comm, cotangent),)

    put_part(recvbuf, with_rules(forth, rule, there, and_back, (x,), True))


def summed(comm: Any, x: Any) -> Any:
    y = np.zeros(x.shape, x.dtype)
    comm.Allreduce(x, y, MPI.SUM)
    return y


def scan(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    need_sum(op, "Scan")
    put_part(recvbuf, summed_up_to(comm, "MPI_Scan", reduced(sendbuf, recvbuf), False))


def exscan(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    """Rank 0 keeps what it has in the buffer, and no cotangent comes from there."""
    need_sum(op, "Exscan")
    y = summed_up_to(comm, "MPI_Exscan", reduced(sendbuf, recvbuf), False)
    if comm.Get_rank() != 0:
        put_part(recvbuf, y)


def summed_up_to(comm: Any, function: str, x: Any, is_backwards: bool) -> Any:
    """The sum over the ranks up to one's own, or from it on: each is the other's transpose."""

    def plain(own: Any) -> Any:
        y = np.zeros(own.shape, own.dtype)
        ranks = comm.Split(0, -comm.Get_rank()) if is_backwards else comm
        if function == "MPI_Scan":
            ranks.Scan(own, y, MPI.SUM)
        else:
            ranks.Exscan(own, y, MPI.SUM)
        if is_backwards:
            ranks.Free()
        return y

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = summed_up_to(comm, function, primals[0], is_backwards)
        return y, summed_up_to(comm, function, tangent_of(primals[0], tangents[0]), is_backwards)

    def there(own: Any) -> tuple[Any, ...]:
        return summed_up_to(comm, function, own, is_backwards), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (summed_up_to(comm, function, cotangent, not is_backwards),)

    return with_rules(plain, rule, there, and_back, (x,), True)


def linear_into(forth: Callable[[Any, Any], None], back: Callable[[Any, Any], None], x: Any, old: Any, reached: Any) -> Any:
    """What a call makes of a buffer's elements that it fills from others; `back` fills the cotangents of the latter.

    `reached`: where, and how many, are the elements that it fills; the rest of the buffer keeps what it had.
    """
    count, dtype = x.size, x.dtype

    def filled(own: Any, elements: Any) -> Any:
        y = elements.copy()
        forth(own, y)
        return y

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = filled(*primals)
        return y, filled(tangent_of(primals[0], tangents[0]), tangent_of(primals[1], tangents[1]))

    def there(own: Any, elements: Any) -> tuple[Any, ...]:
        return filled(own, elements), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        c = np.zeros(count, dtype)
        back(cotangent, c)
        rest = cotangent.copy()
        places, counts = reached
        for i in range(counts.size):
            rest[places[i] : places[i] + counts[i]] = 0
        return c, rest

    return with_rules(filled, rule, there, and_back, (x, old), True)


def exchange(there: Callable[[Any, Any], None], back: Callable[[Any, Any], None], x: Any, recvbuf: Any, blocks: int = 1) -> None:
    """Has a call fill the part of a buffer that a message has, and another one fill cotangents from those of the part."""
    need_array(buffer_of(recvbuf))
    old = part_of(recvbuf, blocks)
    whole = np.array([old.size])
    put_part(recvbuf, linear_into(there, back, x, old, (np.zeros(1, np.int64), whole)), blocks)


def gather(comm: Any, sendbuf: Any, recvbuf: Any, root: int) -> None:
    need_two("Gather", sendbuf)
    x = part_of(sendbuf)
    if comm.Get_rank() != root:
        exchange(lambda own, y: comm.Gather(own, None, root), lambda c, own: comm.Scatter(None, own, root), x, np.zeros(0, x.dtype))
    else:
        exchange(lambda own, y: comm.Gather(own, y, root), lambda c, own: comm.Scatter(c, own, root), x, recvbuf, comm.Get_size())


def scatter(comm: Any, sendbuf: Any, recvbuf: Any, root: int) -> None:
    need_two("Scatter", recvbuf)
    need_array(buffer_of(recvbuf))
    if comm.Get_rank() != root:
        x = np.zeros(0, buffer_of(recvbuf).dtype)
        exchange(lambda own, y: comm.Scatter(None, y, root), lambda c, own: comm.Gather(c, None, root), x, recvbuf)
    elif sendbuf is None:
        raise TypeError("message: expecting buffer or list/tuple")
    else:
        x = part_of(sendbuf, comm.Get_size())
        exchange(lambda own, y: comm.Scatter(own, y, root), lambda c, own: comm.Gather(c, own, root), x, recvbuf)


def allgather(comm: Any, sendbuf: Any, recvbuf: Any) -> None:
    need_two("Allgather", sendbuf)
    x, blocks = part_of(sendbuf), comm.Get_size()
    exchange(lambda own, y: comm.Allgather(own, y), lambda c, own: comm.Reduce_scatter_block(c, own, MPI.SUM), x, recvbuf, blocks)


def alltoall(comm: Any, sendbuf: Any, recvbuf: Any) -> None:
    blocks = comm.Get_size()
    x = part_of(recvbuf if is_in_place(sendbuf) else sendbuf, blocks)
    exchange(lambda own, y: comm.Alltoall(own, y), lambda c, own: comm.Alltoall(c, own), x, recvbuf, blocks)


def reduce_scatter_block(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    need_sum(op, "Reduce_scatter_block")
    need_two("Reduce_scatter_block", sendbuf)
    x = part_of(sendbuf)
    exchange(lambda own, y: comm.Reduce_scatter_block(own, y, MPI.SUM), lambda c, own: comm.Allgather(c, own), x, recvbuf)


def reduce_scatter(comm: Any, sendbuf: Any, recvbuf: Any, recvcounts: Any, op: Any) -> None:
    need_sum(op, "Reduce_scatter")
    need_two("Reduce_scatter", sendbuf)
    need_array(buffer_of(recvbuf))
    counts = np.empty(comm.Get_size(), np.int32)
    if recvcounts is None:
        comm.Allgather(np.array([part_of(recvbuf).size], np.int32), counts)
    else:
        counts[...] = counts_of(recvcounts, comm.Get_size())
    x = part_of(sendbuf)
    exchange(lambda own, y: comm.Reduce_scatter(own, y, counts, MPI.SUM), lambda c, own: comm.Allgatherv(c, [own, counts]), x, recvbuf)


# ---- blocks of several counts


def blocks_of(msg: Any, blocks: int, writes: bool) -> tuple[Any, Any, Any]:
    """The elements of a buffer, and how many each block has, and where."""
    need_array(buffer_of(msg))
    _, _, _, datatype = parts_of(msg, tuple)
    x = elements_of(buffer_of(msg))
    need_own(datatype, x)
    _, counts, places, _, _ = vector(msg, blocks, writes)
    return x, counts, places


def gatherv(comm: Any, sendbuf: Any, recvbuf: Any, root: int) -> None:
    need_two("Gatherv", sendbuf)
    x = part_of(sendbuf)
    if comm.Get_rank() != root:
        exchange(lambda own, y: comm.Gatherv(own, None, root), lambda c, own: comm.Scatterv(None, own, root), x, np.zeros(0, x.dtype))
        return
    old, counts, places = blocks_of(recvbuf, comm.Get_size(), True)
    y = linear_into(
        lambda own, y: comm.Gatherv(own, [y, (counts, places)], root),
        lambda c, own: comm.Scatterv([c, (counts, places)], own, root), x, old, (places, counts),
    )  # fmt: skip
    put(buffer_of(recvbuf), y)


def scatterv(comm: Any, sendbuf: Any, recvbuf: Any, root: int) -> None:
    need_two("Scatterv", recvbuf)
    need_array(buffer_of(recvbuf))
    if comm.Get_rank() != root:
        x = np.zeros(0, buffer_of(recvbuf).dtype)
        exchange(lambda own, y: comm.Scatterv(None, y, root), lambda c, own: comm.Gatherv(c, None, root), x, recvbuf)
        return
    x, counts, places = blocks_of(sendbuf, comm.Get_size(), False)
    exchange(
        lambda own, y: comm.Scatterv([own, (counts, places)], y, root),
        lambda c, own: comm.Gatherv(c, [own, (counts, places)], root), x, recvbuf,
    )  # fmt: skip


def allgatherv(comm: Any, sendbuf: Any, recvbuf: Any) -> None:
    need_two("Allgatherv", sendbuf)
    old, counts, places = blocks_of(recvbuf, comm.Get_size(), True)

    def back(cotangent: Any, c: Any) -> None:
        packed = np.zeros(np.sum(counts, dtype=np.int64), cotangent.dtype)
        first = 0
        for i in range(counts.size):
            packed[first : first + counts[i]] = cotangent[places[i] : places[i] + counts[i]]
            first += counts[i]
        comm.Reduce_scatter(packed, c, counts, MPI.SUM)

    y = linear_into(lambda own, y: comm.Allgatherv(own, [y, (counts, places)]), back, part_of(sendbuf), old, (places, counts))
    put(buffer_of(recvbuf), y)


def alltoallv(comm: Any, sendbuf: Any, recvbuf: Any) -> None:
    need_two("Alltoallv", sendbuf)
    x, sent, at = blocks_of(sendbuf, comm.Get_size(), False)
    old, counts, places = blocks_of(recvbuf, comm.Get_size(), True)
    y = linear_into(
        lambda own, y: comm.Alltoallv([own, (sent, at)], [y, (counts, places)]),
        lambda c, own: comm.Alltoallv([c, (counts, places)], [own, (sent, at)]), x, old, (places, counts),
    )  # fmt: skip
    put(buffer_of(recvbuf), y)
