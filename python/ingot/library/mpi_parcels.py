"""Derivatives of messages from one rank to another.

Each message of a function whose derivative is taken goes in a parcel (`bindings/mpi.h`): memory of its own, since neither a tape
nor an optimised loop keeps an array that MPI still uses. Its number goes with it, and what comes back has a tag of that
number, so cotangents find their messages in whatever order a program waits.

Six linear functions are each other's transposes, where a message goes the other way: `transmitted` and `received`, which wait;
`posted` and `arrived`, `sent` and `awaited`. Communicators are their handles. Of a message that is on its way they know the number of its parcel, an array of
one float: its token. The token's tangent is that of the message of tangents, its cotangent that of the message which comes
back, so each of them is started where the other one was waited for, and the other way round.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import primitives
from .derivatives import tangent_of, with_rules
from .mpi_derivatives import is_derived, need_array, need_own, part_of, put_part
from .mpi_messages import array_of, bounds_of, buffer_of, call, checked, code_of, packed, parts_of, run, sent_to, small, value

MPI: Any = sys.modules.get("mpi4py.MPI")

OF_LABEL = 16
"""Bytes of the number and the mark that go with a message."""


def parcel(elements: Any, fills: bool) -> tuple[int, int]:
    """The number of a new parcel for as many elements, with them if `fills`, and where it is."""
    made, place = np.zeros(1, np.int64), np.zeros(1, np.int64)
    size = elements.size * elements.dtype.itemsize
    small(size + OF_LABEL)
    if (call("parcel", size, elements, made) if fills else call("parcel", size, 0, made)) != 0:
        raise MemoryError("no memory for a message whose derivative is taken")
    call("find", made[0], place)
    return int(made[0]), int(place[0])


def of_parcel(place: int, elements: Any) -> tuple[int, int, int]:
    """The memory, count and datatype of a parcel's message."""
    return place + 16, elements.size * elements.dtype.itemsize + OF_LABEL, value("BYTE")


def freed(number: int) -> None:
    call("unpack", number, 0, np.empty(0, np.uint8), np.zeros(1, np.int64))


def need_done(code: int, number: int) -> None:
    """Raises what MPI reports; the parcel is not used any more then."""
    if code != 0:
        freed(number)
        checked(code)


def unpacked(number: int, came: Any, y: Any, sender: Any) -> None:
    """Takes what has come out of a parcel; `came` is what it would be without the number that came with it."""
    size = came.Get_count(MPI.BYTE)
    if call("unpack", number, size, y, sender) != 0:
        raise RuntimeError("a message of no derivative has come to one: send arrays of floats, on all ranks in functions whose derivative is taken")
    if size > 0:
        run("MPI_Status_set_elements", came._handle, value("BYTE"), size - OF_LABEL)


def started(function: str, comm: int, elements: Any, fills: bool, rank: int, tag: int) -> Any:
    """The token of a message that is started."""
    number, place = parcel(elements, fills)
    need_done(code_of(function, *of_parcel(place, elements), rank, tag, comm, place), number)
    call("count", 1)
    return np.array([float(number)])


def finished(token: Any, came: Any) -> int:
    """Waits for a message; the number of its parcel."""
    number, place = int(token[0]), np.zeros(1, np.int64)
    if call("find", number, place) != 0:
        raise RuntimeError("a message of a function whose derivative is taken is never waited for")
    call("count", -1)
    need_done(code_of("MPI_Wait", place[0], came._handle), number)
    return number


def back_tag(number: int) -> int:
    """The tag of what comes back for a message: not one that another rank may still wait for from any source."""
    return value("TAG_UB") - number % (value("TAG_UB") // 2)


def need_one(source: int, tag: int) -> None:
    """Cotangents come while other ranks may still wait for messages, which those from any source with any tag would match."""
    if source == value("ANY_SOURCE") and tag == value("ANY_TAG"):
        raise ValueError("the derivative, in reverse mode, of a receive from any source with any tag: give the tag or the source")


def tag_of(came: Any) -> int:
    """The tag of what came: from no rank there is none."""
    return came.Get_tag() if came.Get_source() != MPI.PROC_NULL else 0


def count_of(came: Any, itemsize: int) -> int:
    return came.Get_count(MPI.BYTE) // itemsize


def kept_after(count: Any, x: Any) -> Any:
    """The elements after so many, and zeros before."""
    rest = x.copy()
    rest[:count] = 0
    return rest


# ---- those that wait


def transmitted(comm: int, function: str, x: Any, dest: int, tag: int) -> Any:
    """Sends elements; the token."""
    count, dtype = x.size, x.dtype

    def plain(own: Any) -> Any:
        number, place = parcel(own, True)
        code = code_of(function, *of_parcel(place, own), dest, tag, comm)
        freed(number)
        checked(code)
        return np.array([float(number)])

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        token = transmitted(comm, function, primals[0], dest, tag)
        return token, transmitted(comm, function, tangent_of(primals[0], tangents[0]), dest, tag)

    def there(own: Any) -> tuple[Any, ...]:
        token = transmitted(comm, function, own, dest, tag)
        return token, int(token[0])

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (received(comm, np.zeros(count, dtype), dest, back_tag(kept), MPI.Status(), np.zeros(1, np.int64)),)

    return with_rules(plain, rule, there, and_back, (x,), True)


def received(comm: int, old: Any, source: int, tag: int, came: Any, sender: Any) -> Any:
    """The elements of a buffer, with what has come before what has stayed; `sender` becomes the number that came with it."""
    itemsize = old.dtype.itemsize

    def plain(elements: Any) -> Any:
        y = elements.copy()
        number, place = parcel(y, False)
        need_done(code_of("MPI_Irecv", *of_parcel(place, y), source, tag, comm, place), number)
        need_done(primitives.call_c(("mpi wait", "receive"), (place, came._handle)), number)
        unpacked(number, came, y, sender)
        return y

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = received(comm, primals[0], source, tag, came, sender)
        t = tangent_of(primals[0], tangents[0])
        return y, received(comm, t, came.Get_source(), tag_of(came), MPI.Status(), np.zeros(1, np.int64))

    def there(elements: Any) -> tuple[Any, ...]:
        need_one(source, tag)
        y = received(comm, elements, source, tag, came, sender)
        return y, (came.Get_source(), int(sender[0]), count_of(came, itemsize))

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        transmitted(comm, "MPI_Send", cotangent[: kept[2]], kept[0], back_tag(kept[1]))
        return (kept_after(kept[2], cotangent),)

    return with_rules(plain, rule, there, and_back, (old,), True)


# ---- those that are waited for


def posted(comm: int, function: str, x: Any, dest: int, tag: int) -> Any:
    """Starts sending elements; the token."""
    count, dtype = x.size, x.dtype

    def plain(own: Any) -> Any:
        return started(function, comm, own, True, dest, tag)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        token = posted(comm, function, primals[0], dest, tag)
        return token, posted(comm, function, tangent_of(primals[0], tangents[0]), dest, tag)

    def there(own: Any) -> tuple[Any, ...]:
        return posted(comm, function, own, dest, tag), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (arrived(comm, cotangent, np.zeros(count, dtype), dest, 0, MPI.Status(), np.zeros(1, np.int64)),)

    return with_rules(plain, rule, there, and_back, (x,), True)


def sent(comm: int, token: Any, like: Any, count: int, dest: int, came: Any) -> Any:
    """Waits until so many elements, of the dtype of `like`, have been sent."""
    dtype = like.dtype

    def plain(own: Any) -> Any:
        freed(finished(own, came))
        return np.zeros(1)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        done = sent(comm, primals[0], np.empty(0, dtype), count, dest, came)
        return done, sent(comm, tangent_of(primals[0], tangents[0]), np.empty(0, dtype), count, dest, MPI.Status())

    def there(own: Any) -> tuple[Any, ...]:
        return sent(comm, own, np.empty(0, dtype), count, dest, came), int(own[0])

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (awaited(comm, np.zeros(1), np.empty(0, dtype), count, dest, back_tag(kept)),)

    return with_rules(plain, rule, there, and_back, (token,), True)


def awaited(comm: int, nothing: Any, like: Any, count: int, source: int, tag: int) -> Any:
    """Starts receiving so many elements of the dtype of `like`; the token."""
    dtype = like.dtype

    def plain(own: Any) -> Any:
        return started("MPI_Irecv", comm, np.empty(count, dtype), False, source, tag)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        if source == value("ANY_SOURCE"):
            raise ValueError("the derivative, in forward mode, of `Irecv` from any source: give the source, or use Recv")
        token = awaited(comm, primals[0], np.empty(0, dtype), count, source, tag)
        return token, awaited(comm, primals[0], np.empty(0, dtype), count, source, tag)

    def there(own: Any) -> tuple[Any, ...]:
        need_one(source, tag)
        return awaited(comm, own, np.empty(0, dtype), count, source, tag), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        if any([is_reverse for _, is_reverse in primitives.derivatives()]) and source == value("ANY_SOURCE"):
            raise ValueError("a second derivative, in reverse mode, of `Irecv` from any source: give the source, or use Recv")
        return (sent(comm, cotangent, np.empty(0, dtype), count, source, MPI.Status()),)

    return with_rules(plain, rule, there, and_back, (nothing,), True)


def arrived(comm: int, token: Any, old: Any, source: int, tag: int, came: Any, sender: Any) -> Any:
    """Waits for elements; those of the buffer, as `received`."""
    itemsize = old.dtype.itemsize

    def plain(own: Any, elements: Any) -> Any:
        y = elements.copy()
        unpacked(finished(own, came), came, y, sender)
        return y

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = arrived(comm, primals[0], primals[1], source, tag, came, sender)
        t = tangent_of(primals[1], tangents[1])
        return y, arrived(comm, tangent_of(primals[0], tangents[0]), t, source, tag, MPI.Status(), np.zeros(1, np.int64))

    def there(own: Any, elements: Any) -> tuple[Any, ...]:
        y = arrived(comm, own, elements, source, tag, came, sender)
        return y, (came.Get_source(), int(sender[0]), count_of(came, itemsize))

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        back = posted(comm, "MPI_Isend", cotangent[: kept[2]], kept[0], back_tag(kept[1]))
        return back, kept_after(kept[2], cotangent)

    return with_rules(plain, rule, there, and_back, (token, old), True)


# ---- methods of communicators and requests


def function_of(function: str) -> str:
    """How messages are sent: no rank is known to wait for tangents."""
    if function in ("MPI_Bsend", "MPI_Ibsend"):
        primitives.refuse("the derivative of a buffered message", "use Isend")
    return {"MPI_Rsend": "MPI_Send", "MPI_Irsend": "MPI_Isend"}.get(function, function)


def send(comm: Any, function: str, buf: Any, dest: int, tag: int) -> None:
    transmitted(comm.handle, function_of(function), part_of(buf), dest, tag)


def recv(comm: Any, buf: Any, source: int, tag: int, status: Any) -> None:
    need_array(buffer_of(buf))
    came = status if status is not None else MPI.Status()
    put_part(buf, received(comm.handle, part_of(buf), source, tag, came, np.zeros(1, np.int64)))


def sendrecv(comm: Any, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int, status: Any) -> None:
    """Each of the two may be of integers, without derivatives, or None, to nobody."""
    if is_derived(sendbuf):
        x = part_of(sendbuf)
        token = posted(comm.handle, "MPI_Isend", x, dest, sendtag)
        comm.Recv(recvbuf, source, recvtag, status)
        sent(comm.handle, token, np.empty(0, x.dtype), x.size, dest, MPI.Status())
    else:
        elements, count, datatype, _ = sent_to(sendbuf, dest)
        request = np.zeros(1, np.int64)
        run("MPI_Isend", elements, count, datatype, dest, sendtag, comm._handle[0], request)
        comm.Recv(recvbuf, source, recvtag, status)
        run("MPI_Wait", request, value("STATUS_IGNORE"), elements)


def empty(status: Any) -> None:
    """Makes a status that of a request which has ended."""
    status.Set_source(value("ANY_SOURCE"))
    status.Set_tag(value("ANY_TAG"))
    run("MPI_Status_set_elements", status._handle, value("BYTE"), 0)


def isend(comm: Any, function: str, buf: Any, dest: int, tag: int) -> tuple[Any, ...]:
    """What a request has of a message, for `wait`: its token, no elements of a buffer, how many it has, and to where."""
    x = part_of(buf)
    return posted(comm.handle, function_of(function), x, dest, tag), np.empty(0, x.dtype), x.size, dest, tag


def irecv(comm: Any, buf: Any, source: int, tag: int) -> tuple[Any, ...]:
    need_array(buffer_of(buf))
    elements = view_of(buf)
    return awaited(comm.handle, np.zeros(1), np.empty(0, elements.dtype), elements.size, source, tag), elements, elements.size, source, tag


def view_of(msg: Any) -> Any:
    """The elements of a buffer without gaps that a message has, in the order of memory."""
    buf, count, displ, datatype = parts_of(msg)
    elements = packed(array_of(buf, True), True)
    need_own(datatype, elements)
    first, length = bounds_of(count, displ, elements.size, 1)
    return elements[first : first + length]


def wait(request: Any, status: Any) -> None:
    """Waits for a message with derivatives."""
    if request.depth != len(primitives.derivatives()):
        raise RuntimeError("a message whose derivative is taken is waited for in the function of that derivative that started it")
    came = status if status is not None else MPI.Status()
    if request.receives:
        elements = request.elements
        elements[...] = arrived(request.comm, request.token, elements.copy(), request.peer, request.tag, came, np.zeros(1, np.int64))
    else:
        sent(request.comm, request.token, request.elements, request.count, request.peer, came)
