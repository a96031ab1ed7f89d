"""Derivatives of messages: those of all ranks' programs together, of the sum of what they give.

What moves elements between ranks is linear. In forward mode a tangent goes after each message, the same way; in reverse mode the
cotangent comes back from where the message went. All ranks call the same derivative, so whether an array varies on one of them
decides nothing: each message of floats or complex numbers has its other one.
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
    """Whether messages of these arrays have derivatives."""
    if len(primitives.derivatives()) == 0:
        return False
    for x in buffers:
        if isinstance(x, (tuple, list)):
            primitives.refuse("the derivative of a message with a count or datatype", "pass the part of the array that is sent")
        if isinstance(x, np.ndarray) and is_inexact(x):
            return True
    return False


def refuse(what: str) -> None:
    primitives.refuse(f"the derivative of `{what}`", "use Send, Recv, Sendrecv, Bcast, Reduce, Allreduce, Gather, Scatter, Allgather or Alltoall")


def moved(forth: Callable[[Any], Any], back: Callable[[Any], Any], x: Any) -> Any:
    """What a linear function of an array gives, and its transpose for the way back."""

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = forth(primals[0])
        return y, forth(np.asarray(tangents[0]))

    def there(own: Any) -> tuple[Any, ...]:
        return forth(own), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (back(cotangent),)

    return with_rules(forth, rule, there, and_back, (x,), True)


def send(comm: Any, function: str, buf: Any, dest: int, tag: int) -> None:
    shape, dtype = buf.shape, buf.dtype

    def forth(x: Any) -> Any:
        comm.send(function, x, dest, tag)
        return np.zeros(1, dtype)

    def back(cotangent: Any) -> Any:
        c = np.zeros(shape, dtype)
        comm.Recv(c, dest, tag)
        return c

    moved(forth, back, buf)


def recv(comm: Any, buf: Any, source: int, tag: int, status: Any) -> None:
    """The cotangent goes to the rank that the message came from."""
    like = np.zeros(buf.shape, buf.dtype)
    came = status if status is not None else MPI.Status()

    def forth(x: Any) -> Any:
        y = np.zeros(x.shape, x.dtype)
        comm.Recv(y, source, tag, came)
        return y

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = forth(primals[0])
        t = np.zeros(y.shape, y.dtype)
        comm.Recv(t, came.Get_source(), came.Get_tag())
        return y, t

    def there(x: Any) -> tuple[Any, ...]:
        y = forth(x)
        return y, (came.Get_source(), came.Get_tag())

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        comm.Send(cotangent, kept[0], kept[1])
        return (np.zeros(like.shape, like.dtype),)

    buf[...] = with_rules(forth, rule, there, and_back, (like,), True)


def sendrecv(comm: Any, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int) -> None:
    """From a known rank, under a known tag."""
    shape, dtype = sendbuf.shape, sendbuf.dtype
    got, kind = recvbuf.shape, recvbuf.dtype

    def forth(x: Any) -> Any:
        y = np.zeros(got, kind)
        comm.Sendrecv(x, dest, sendtag, y, source, recvtag)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(shape, dtype)
        comm.Sendrecv(cotangent, source, recvtag, c, dest, sendtag)
        return c

    recvbuf[...] = moved(forth, back, sendbuf)


def bcast(comm: Any, buf: Any, root: int) -> None:
    def forth(x: Any) -> Any:
        y = x.copy()
        comm.Bcast(y, root)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(cotangent.shape, cotangent.dtype)
        comm.Reduce(cotangent, c, MPI.SUM, root)
        return c

    buf[...] = moved(forth, back, buf)


def need_sum(op: Any, name: str) -> None:
    if op is not None and op is not MPI.SUM:
        primitives.refuse(f"the derivative of `{name}` by another op than MPI.SUM", "write it with Allgather")


def reduce(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, root: int) -> None:
    need_sum(op, "Reduce")
    x = recvbuf if sendbuf is MPI.IN_PLACE else sendbuf

    def forth(own: Any) -> Any:
        y = np.zeros(own.shape, own.dtype)
        comm.Reduce(own, y, MPI.SUM, root)
        return y

    def back(cotangent: Any) -> Any:
        c = cotangent.copy()
        comm.Bcast(c, root)
        return c

    y = moved(forth, back, x)
    if recvbuf is not None and comm.Get_rank() == root:
        recvbuf[...] = y


def allreduce(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    x = recvbuf if sendbuf is MPI.IN_PLACE else sendbuf
    if op is not MPI.MAX and op is not MPI.MIN:
        need_sum(op, "Allreduce")
        recvbuf[...] = moved(lambda own: summed(comm, own), lambda cotangent: summed(comm, cotangent), x)
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
        return y, summed(comm, shares(primals[0], y) * np.asarray(tangents[0]))

    def there(own: Any) -> tuple[Any, ...]:
        y = forth(own)
        return y, shares(own, y)

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (kept * summed(comm, cotangent),)

    recvbuf[...] = with_rules(forth, rule, there, and_back, (x,), True)


def summed(comm: Any, x: Any) -> Any:
    y = np.zeros(x.shape, x.dtype)
    comm.Allreduce(x, y, MPI.SUM)
    return y


def gather(comm: Any, sendbuf: Any, recvbuf: Any, root: int) -> None:
    size, is_root = comm.Get_size(), comm.Get_rank() == root
    if sendbuf is MPI.IN_PLACE:
        primitives.refuse("the derivative of `Gather` in place", "send a copy")
    shape, dtype = sendbuf.shape, sendbuf.dtype
    count = sendbuf.size

    def forth(x: Any) -> Any:
        y = np.zeros(size * count if is_root else 0, dtype)
        comm.Gather(x, y, root)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(shape, dtype)
        comm.Scatter(cotangent, c, root)
        return c

    y = moved(forth, back, sendbuf)
    if recvbuf is not None and is_root:
        recvbuf[...] = y.reshape(recvbuf.shape)


def scatter(comm: Any, sendbuf: Any, recvbuf: Any, root: int) -> None:
    if recvbuf is MPI.IN_PLACE:
        primitives.refuse("the derivative of `Scatter` in place", "receive into an array of its own")
    shape, dtype = recvbuf.shape, recvbuf.dtype
    given = np.zeros(0, dtype) if sendbuf is None else sendbuf

    def forth(x: Any) -> Any:
        y = np.zeros(shape, dtype)
        comm.Scatter(x, y, root)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(given.shape, given.dtype)
        comm.Gather(cotangent, c, root)
        return c

    recvbuf[...] = moved(forth, back, given)


def allgather(comm: Any, sendbuf: Any, recvbuf: Any) -> None:
    if sendbuf is MPI.IN_PLACE:
        primitives.refuse("the derivative of `Allgather` in place", "send a copy")
    shape, dtype = sendbuf.shape, sendbuf.dtype
    got = recvbuf.shape

    def forth(x: Any) -> Any:
        y = np.zeros(got, dtype)
        comm.Allgather(x, y)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(shape, dtype)
        comm.Reduce_scatter_block(cotangent, c, MPI.SUM)
        return c

    recvbuf[...] = moved(forth, back, sendbuf)


def alltoall(comm: Any, sendbuf: Any, recvbuf: Any) -> None:
    x = recvbuf if sendbuf is MPI.IN_PLACE else sendbuf
    shape, got, dtype = x.shape, recvbuf.shape, x.dtype

    def forth(own: Any) -> Any:
        y = np.zeros(got, dtype)
        comm.Alltoall(own, y)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(shape, dtype)
        comm.Alltoall(cotangent, c)
        return c

    recvbuf[...] = moved(forth, back, x)


def reduce_scatter_block(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    need_sum(op, "Reduce_scatter_block")
    if sendbuf is MPI.IN_PLACE:
        primitives.refuse("the derivative of `Reduce_scatter_block` in place", "receive into an array of its own")
    shape, got, dtype = sendbuf.shape, recvbuf.shape, sendbuf.dtype

    def forth(own: Any) -> Any:
        y = np.zeros(got, dtype)
        comm.Reduce_scatter_block(own, y, MPI.SUM)
        return y

    def back(cotangent: Any) -> Any:
        c = np.zeros(shape, dtype)
        comm.Allgather(cotangent, c)
        return c

    recvbuf[...] = moved(forth, back, sendbuf)
