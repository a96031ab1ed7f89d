"""Derivatives of messages that are waited for: `Isend`, `Irecv` and what they have on the way back.

Four linear functions are each other's transposes, where a message goes the other way: `posted` and `arrived`, `sent` and
`awaited`. Of a message that is on its way they know the number of its parcel (`bindings/mpi.h`), an array of one float: its
token. The token's tangent is that of the message of tangents, its cotangent that of the message which comes back, so each of
them is started where the other one was waited for, and the other way round: nobody waits longer than without derivatives.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._routines.mpi import DTYPES
from .derivatives import tangent_of, with_rules
from .mpi_derivatives import back_tag, count_of, kept_after, need_array, need_one, part_of, put_part, tag_of
from .mpi_messages import buffer_of, call, checked, run, value

MPI: Any = sys.modules.get("mpi4py.MPI")


def parcel(function: str, comm: Any, elements: Any, fills: bool, rank: int, tag: int) -> Any:
    """The token of a message that is started from memory of its own, or into it."""
    made, place = np.zeros(1, np.int64), np.zeros(1, np.int64)
    size = elements.size * elements.dtype.itemsize
    if fills:
        call("parcel", size, elements, made)
    else:
        call("parcel", size, 0, made)
    call("find", made[0], place)
    run(function, place[0] + 16, elements.size, value(DTYPES[elements.dtype.name]), rank, tag, comm._handle[0], place[0])
    call("count", 1)
    return made.astype(np.float64)


def finished(token: Any, came: Any) -> int:
    """Waits for a message; the number of its parcel."""
    number, place = int(token[0]), np.zeros(1, np.int64)
    if call("find", number, place) != 0:
        raise RuntimeError("a request of a function whose derivative is taken is waited for once, and not again")
    run("MPI_Wait", place[0], came._handle)
    call("count", -1)
    return number


def posted(comm: Any, function: str, x: Any, dest: int, tag: int) -> Any:
    """Starts sending elements; the token."""
    count, dtype = x.size, x.dtype

    def start(own: Any) -> Any:
        return parcel(function, comm, own, True, dest, tag)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        token = posted(comm, function, primals[0], dest, tag)
        return token, posted(comm, function, tangent_of(primals[0], tangents[0]), dest, tag)

    def there(own: Any) -> tuple[Any, ...]:
        return posted(comm, function, own, dest, tag), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (arrived(comm, cotangent, np.zeros(count, dtype), dest, back_tag(tag), MPI.Status()),)

    return with_rules(start, rule, there, and_back, (x,), True)


def sent(comm: Any, token: Any, empty: Any, count: int, dest: int, tag: int) -> Any:
    """Waits until so many elements, of the dtype of `empty`, have been sent."""

    def wait(own: Any) -> Any:
        checked(call("unpack", finished(own, MPI.Status()), 0, empty))
        return np.zeros(1)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        done = sent(comm, primals[0], empty, count, dest, tag)
        return done, sent(comm, tangent_of(primals[0], tangents[0]), empty, count, dest, tag)

    def there(own: Any) -> tuple[Any, ...]:
        if dest == value("ANY_SOURCE") or tag > value("TAG_UB"):
            raise ValueError("a second derivative, in reverse mode, of a receive from any source or with any tag: give both")
        return sent(comm, own, empty, count, dest, tag), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (awaited(comm, np.zeros(1), empty, count, dest, back_tag(tag)),)

    return with_rules(wait, rule, there, and_back, (token,), True)


def awaited(comm: Any, nothing: Any, empty: Any, count: int, source: int, tag: int) -> Any:
    """Starts receiving so many elements of the dtype of `empty`; the token."""

    def start(own: Any) -> Any:
        return parcel("MPI_Irecv", comm, np.empty(count, empty.dtype), False, source, tag)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        if source == value("ANY_SOURCE"):
            raise ValueError("the derivative, in forward mode, of `Irecv` from any source: give the source, or use Recv")
        token = awaited(comm, primals[0], empty, count, source, tag)
        return token, awaited(comm, primals[0], empty, count, source, tag)

    def there(own: Any) -> tuple[Any, ...]:
        need_one(source, tag)
        return awaited(comm, own, empty, count, source, tag), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (sent(comm, cotangent, empty, count, source, back_tag(tag)),)

    return with_rules(start, rule, there, and_back, (nothing,), True)


def arrived(comm: Any, token: Any, old: Any, source: int, tag: int, came: Any) -> Any:
    """Waits for elements; those of the buffer, what has come before what has stayed."""
    itemsize = old.dtype.itemsize

    def wait(own: Any, elements: Any) -> Any:
        y = elements.copy()
        number = finished(own, came)
        checked(call("unpack", number, came.Get_count(MPI.BYTE), y))
        return y

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = arrived(comm, primals[0], primals[1], source, tag, came)
        t = tangent_of(primals[1], tangents[1])
        return y, arrived(comm, tangent_of(primals[0], tangents[0]), t, source, tag, MPI.Status())

    def there(own: Any, elements: Any) -> tuple[Any, ...]:
        y = arrived(comm, own, elements, source, tag, came)
        return y, (came.Get_source(), tag_of(came), count_of(came, itemsize))

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        back = posted(comm, "MPI_Isend", cotangent[: kept[2]], kept[0], back_tag(kept[1]))
        return back, kept_after(kept[2], cotangent)

    return with_rules(wait, rule, there, and_back, (token, old), True)


def isend(comm: Any, function: str, buf: Any, dest: int, tag: int) -> Any:
    """What waits for a message that is started, given a status or None."""
    x = part_of(buf)
    count, empty = x.size, np.empty(0, x.dtype)
    token = posted(comm, function, x, dest, tag)

    def wait(status: Any) -> None:
        sent(comm, token, empty, count, dest, tag)

    return wait


def irecv(comm: Any, buf: Any, source: int, tag: int) -> Any:
    need_array(buffer_of(buf))
    old = part_of(buf)
    token = awaited(comm, np.zeros(1), np.empty(0, old.dtype), old.size, source, tag)

    def wait(status: Any) -> None:
        put_part(buf, arrived(comm, token, part_of(buf), source, tag, status if status is not None else MPI.Status()))

    return wait
