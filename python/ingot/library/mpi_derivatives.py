"""Derivatives of messages: those of all ranks' programs together, of the sum of what they give.

What moves elements between ranks is linear. In forward mode a tangent goes after each message, the same way; in reverse mode the
cotangent comes back from where the message went. All ranks call the same derivative, so whether an array varies on one of them
decides nothing: each message of floats or complex numbers has its other one. Functions here are of elements in the order of
memory (`elements_of`), so that a message goes, and is refused, as without derivatives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives
from .derivatives import is_inexact, with_rules

MPI: Any = sys.modules.get("mpi4py.MPI")


def is_derived(*buffers: Any) -> bool:
    """Whether messages of these buffers have derivatives."""
    if len(primitives.derivatives()) == 0:
        return False
    for x in buffers:
        if isinstance(x, (tuple, list)):
            primitives.refuse("the derivative of a message with a count or datatype", "pass the part of the array that is sent")
        if isinstance(x, (np.ndarray, np.generic)) and is_inexact(x):
            return True
    return False


def refuse(what: str) -> None:
    primitives.refuse(f"the derivative of `{what}`", "use Send, Recv, Sendrecv, Bcast, Reduce, Allreduce, Gather, Scatter, Allgather or Alltoall")


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


def tangent_of(x: Any, tangent: Any) -> Any:
    """The tangents of elements, which may be one number for all."""
    made = np.zeros(x.shape, x.dtype)
    made[...] = tangent
    return made


def linear(forth: Callable[[Any], Any], back: Callable[[Any], Any], x: Any) -> Any:
    """What a linear function of elements gives, and its transpose for the way back."""

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = forth(primals[0])
        return y, forth(tangent_of(primals[0], tangents[0]))

    def there(own: Any) -> tuple[Any, ...]:
        return forth(own), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (back(cotangent),)

    return with_rules(forth, rule, there, and_back, (x,), True)


def need_array(x: Any) -> None:
    if not isinstance(x, np.ndarray):
        if isinstance(x, np.generic):
            raise BufferError("scalar buffer is readonly")
        raise TypeError("message: expecting buffer or list/tuple")


def send(comm: Any, function: str, buf: Any, dest: int, tag: int) -> None:
    x = elements_of(buf)
    count, dtype = x.size, x.dtype

    def forth(own: Any) -> Any:
        comm.send(function, own, dest, tag)
        return np.zeros(1, dtype)

    def back(cotangent: Any) -> Any:
        c = np.zeros(count, dtype)
        comm.Recv(c, dest, tag)
        return c

    linear(forth, back, x)


def tag_back(came: Any) -> int:
    """The tag for the way back: from no rank there is none."""
    return came.Get_tag() if came.Get_source() != MPI.PROC_NULL else 0


def count_of(came: Any, itemsize: int) -> int:
    return came.Get_count(MPI.BYTE) // itemsize


def kept_after(count: Any, x: Any) -> Any:
    """The elements after so many, and zeros before."""
    rest = x.copy()
    rest[:count] = 0
    return rest


def recv(comm: Any, buf: Any, source: int, tag: int, status: Any) -> None:
    """The cotangent of what came goes to the rank that it came from; what stays of the buffer has its own."""
    need_array(buf)
    came = status if status is not None else MPI.Status()
    itemsize = buf.dtype.itemsize

    def forth(old: Any) -> Any:
        y = old.copy()
        comm.Recv(y, source, tag, came)
        return y

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = forth(primals[0])
        t = tangent_of(primals[0], tangents[0])
        comm.Recv(t, came.Get_source(), tag_back(came))
        return y, t

    def there(old: Any) -> tuple[Any, ...]:
        y = forth(old)
        return y, (came.Get_source(), tag_back(came), count_of(came, itemsize))

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        comm.Send(cotangent[: kept[2]], kept[0], kept[1])
        return (kept_after(kept[2], cotangent),)

    put(buf, with_rules(forth, rule, there, and_back, (elements_of(buf),), True))


def sendrecv(comm: Any, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int, status: Any) -> None:
    need_array(recvbuf)
    came = status if status is not None else MPI.Status()
    x = elements_of(sendbuf)
    count, dtype, itemsize = x.size, x.dtype, recvbuf.dtype.itemsize

    def forth(own: Any, old: Any) -> Any:
        y = old.copy()
        comm.Sendrecv(own, dest, sendtag, y, source, recvtag, came)
        return y

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = forth(*primals)
        t = tangent_of(primals[1], tangents[1])
        comm.Sendrecv(tangent_of(primals[0], tangents[0]), dest, sendtag, t, came.Get_source(), tag_back(came))
        return y, t

    def there(own: Any, old: Any) -> tuple[Any, ...]:
        y = forth(own, old)
        return y, (came.Get_source(), tag_back(came), count_of(came, itemsize))

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        c = np.zeros(count, dtype)
        comm.Sendrecv(cotangent[: kept[2]], kept[0], kept[1], c, dest, sendtag)
        return c, kept_after(kept[2], cotangent)

    put(recvbuf, with_rules(forth, rule, there, and_back, (x, elements_of(recvbuf)), True))


def bcast(comm: Any, buf: Any, root: int) -> None:
    need_array(buf)

    def forth(x: Any) -> Any:
        y = x.copy()
        comm.Bcast(y, root)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(cotangent.shape, cotangent.dtype)
        comm.Reduce(cotangent, c, MPI.SUM, root)
        return c

    y = linear(forth, back, elements_of(buf))
    if comm.Get_rank() != root or not primitives.may_be_read_only(buf):
        put(buf, y)


def need_sum(op: Any, name: str) -> None:
    if op is not MPI.SUM:
        primitives.refuse(f"the derivative of `{name}` by another op than MPI.SUM", "write it with Allgather")


def reduce(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, root: int) -> None:
    need_sum(op, "Reduce")
    is_in_place = sendbuf is MPI.IN_PLACE
    if is_in_place and comm.Get_rank() != root:
        raise TypeError("message: expecting buffer or list/tuple")

    def forth(x: Any) -> Any:
        y = np.zeros(x.shape, x.dtype)
        comm.Reduce(x, y, MPI.SUM, root)
        return y

    def back(cotangent: Any) -> Any:
        c = cotangent.copy()
        comm.Bcast(c, root)
        return c

    y = linear(forth, back, elements_of(recvbuf if is_in_place else sendbuf))
    if comm.Get_rank() == root:
        need_same(y, recvbuf)
        put(recvbuf, y)


def need_same(y: Any, recvbuf: Any) -> None:
    """Raises what the call without derivatives does."""
    need_array(recvbuf)
    if y.dtype != recvbuf.dtype:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if y.size != recvbuf.size:
        raise ValueError(f"mismatch in send count {y.size} and receive count {recvbuf.size}")


def allreduce(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    x = elements_of(recvbuf if sendbuf is MPI.IN_PLACE else sendbuf)
    need_same(x, recvbuf)
    if op is not MPI.MAX and op is not MPI.MIN:
        need_sum(op, "Allreduce")
        put(recvbuf, linear(lambda own: summed(comm, own), lambda cotangent: summed(comm, cotangent), x))
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

    put(recvbuf, with_rules(forth, rule, there, and_back, (x,), True))


def summed(comm: Any, x: Any) -> Any:
    y = np.zeros(x.shape, x.dtype)
    comm.Allreduce(x, y, MPI.SUM)
    return y


def gather(comm: Any, sendbuf: Any, recvbuf: Any, root: int) -> None:
    is_root = comm.Get_rank() == root
    if sendbuf is MPI.IN_PLACE:
        primitives.refuse("the derivative of `Gather` in place", "send a copy")
    x = elements_of(sendbuf)
    count, dtype = x.size, x.dtype
    length = 0
    if is_root:
        need_array(recvbuf)
        length = recvbuf.size
    kind = recvbuf.dtype if isinstance(recvbuf, np.ndarray) else dtype

    def forth(own: Any) -> Any:
        y = np.zeros(length, kind)
        comm.Gather(own, y, root)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(count, dtype)
        comm.Scatter(cotangent, c, root)
        return c

    y = linear(forth, back, x)
    if is_root:
        need_array(recvbuf)
        put(recvbuf, y)


def scatter(comm: Any, sendbuf: Any, recvbuf: Any, root: int) -> None:
    is_root = comm.Get_rank() == root
    if recvbuf is MPI.IN_PLACE:
        primitives.refuse("the derivative of `Scatter` in place", "receive into an array of its own")
    need_array(recvbuf)
    if sendbuf is None:
        if is_root:
            raise TypeError("message: expecting buffer or list/tuple")
        x = np.zeros(0, recvbuf.dtype)
    else:
        x = elements_of(sendbuf)
    exchange(lambda own, y: comm.Scatter(own, y, root), lambda c, own: comm.Gather(c, own, root), x, recvbuf)


def exchange(there: Callable[[Any, Any], None], back: Callable[[Any, Any], None], x: Any, recvbuf: Any) -> None:
    """Has a call fill a buffer from elements, and another one fill their cotangents from those of the buffer."""
    need_array(recvbuf)
    count, dtype = x.size, x.dtype
    length, kind = recvbuf.size, recvbuf.dtype

    def forth(own: Any) -> Any:
        y = np.zeros(length, kind)
        there(own, y)
        return y

    def transposed(cotangent: Any) -> Any:
        c = np.zeros(count, dtype)
        back(cotangent, c)
        return c

    put(recvbuf, linear(forth, transposed, x))


def allgather(comm: Any, sendbuf: Any, recvbuf: Any) -> None:
    if sendbuf is MPI.IN_PLACE:
        primitives.refuse("the derivative of `Allgather` in place", "send a copy")
    exchange(lambda own, y: comm.Allgather(own, y), lambda c, own: comm.Reduce_scatter_block(c, own, MPI.SUM), elements_of(sendbuf), recvbuf)


def alltoall(comm: Any, sendbuf: Any, recvbuf: Any) -> None:
    x = elements_of(recvbuf if sendbuf is MPI.IN_PLACE else sendbuf)
    exchange(lambda own, y: comm.Alltoall(own, y), lambda c, own: comm.Alltoall(c, own), x, recvbuf)


def reduce_scatter_block(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    need_sum(op, "Reduce_scatter_block")
    if sendbuf is MPI.IN_PLACE:
        primitives.refuse("the derivative of `Reduce_scatter_block` in place", "receive into an array of its own")
    exchange(lambda own, y: comm.Reduce_scatter_block(own, y, MPI.SUM), lambda c, own: comm.Allgather(c, own), elements_of(sendbuf), recvbuf)
