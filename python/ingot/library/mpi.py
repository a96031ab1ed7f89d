"""mpi4py's communicators, requests and statuses in compiled code: classes that stand for theirs, and point-to-point messages.

An instance has one attribute, an array on the handle that mpi4py's object holds. Methods have mpi4py's names and
meanings; those in lower case, which send any object, stay Python's. `mpi_messages` has what a message is,
`mpi_collectives` what all ranks call.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import mpi_collectives as collectives
from . import mpi_derivatives as derivatives
from . import primitives
from .mpi_messages import Handle, an_int, checked, message, need_contiguous, placed, run, value

MPI: Any = sys.modules.get("mpi4py.MPI")


class Status(Handle):
    """What is known of a message that was received, as ints of C's."""

    def Get_source(self) -> int:
        return int(self._handle[value("SOURCE")])

    def Get_tag(self) -> int:
        return int(self._handle[value("TAG")])

    def Get_error(self) -> int:
        return int(self._handle[value("ERROR")])

    def Set_source(self, source: int) -> None:
        self._handle[value("SOURCE")] = an_int(source)

    def Set_tag(self, tag: int) -> None:
        self._handle[value("TAG")] = an_int(tag)

    def Get_count(self, datatype: Any = None) -> int:
        return self.how_many("MPI_Get_count", datatype)

    def Get_elements(self, datatype: Any) -> int:
        return self.how_many("MPI_Get_elements", datatype)

    def how_many(self, function: str, datatype: Any) -> int:
        from .mpi_messages import datatype_of

        count = np.zeros(1, np.int32)
        run(function, self._handle, value("BYTE") if datatype is None else datatype_of(datatype), count)
        return int(count[0])

    def Is_cancelled(self) -> bool:
        flag = np.zeros(1, np.int32)
        run("MPI_Test_cancelled", self._handle, flag)
        return bool(flag[0] != 0)

    @property
    def source(self) -> int:
        return self.Get_source()

    @property
    def tag(self) -> int:
        return self.Get_tag()

    @property
    def error(self) -> int:
        return self.Get_error()

    @property
    def count(self) -> int:
        return self.Get_count()

    @property
    def cancelled(self) -> bool:
        return self.Is_cancelled()

    def __ingot_result__(self) -> Any:
        made = MPI.Status()
        made.tomemory().cast("B")[:] = self._handle.tobytes()[: MPI._sizeof(made)]
        return made


class Datatype(Handle):
    """A datatype that is not MPI's own."""

    def Get_size(self) -> int:
        size = np.zeros(1, np.int32)
        run("MPI_Type_size", self._handle[0], size)
        return int(size[0])

    def Get_extent(self) -> tuple[int, int]:
        both = np.zeros(2, np.int64)
        run("MPI_Type_get_extent", self._handle[0], both, both[1:])
        return int(both[0]), int(both[1])

    @property
    def size(self) -> int:
        return self.Get_size()

    @property
    def extent(self) -> int:
        return self.Get_extent()[1]


def status_of(status: Any) -> Any:
    """What MPI's functions are given for a status, which may be None."""
    if status is None:
        return value("STATUS_IGNORE")
    if not isinstance(status, MPI.Status):
        raise TypeError(f"Argument 'status' has incorrect type (expected mpi4py.MPI.Status, got {type(status).__name__})")
    return status._handle


def received(request: Any, status: Any, buffer: Any) -> None:
    """Waits for a message, or for a signal whose handler raises."""
    code = primitives.call_c(("mpi", "receive"), (request, status_of(status), buffer))
    if code == -1:
        raise KeyboardInterrupt
    checked(code)


class Request(Handle):
    """What has been started. `buffer`: what it sends from, or receives into."""

    buffer: Any = None
    receives: bool = False

    def Wait(self, status: Any = None) -> bool:
        if self.receives:
            received(self._handle, status, self.buffer)
        elif self.buffer is None:
            run("MPI_Wait", self._handle, status_of(status))
        else:
            run("MPI_Wait", self._handle, status_of(status), self.buffer)
        return True

    def Test(self, status: Any = None) -> bool:
        flag = np.zeros(1, np.int32)
        if self.buffer is None:
            run("MPI_Test", self._handle, flag, status_of(status))
        else:
            run("MPI_Test", self._handle, flag, status_of(status), self.buffer)
        return bool(flag[0] != 0)

    def Cancel(self) -> None:
        run("MPI_Cancel", self._handle)

    def Free(self) -> None:
        run("MPI_Request_free", self._handle)

    def is_active(self) -> bool:
        return bool((self._handle[0] & value("HANDLE_MASK")) != (value("REQUEST_NULL") & value("HANDLE_MASK")))

    def __bool__(self) -> bool:
        return self.is_active()

    def __ingot_result__(self) -> Any:
        return _held(MPI.Request, self)


class Prequest(Request):
    """What can be started again and again."""

    def Start(self) -> None:
        if self.buffer is None:
            run("MPI_Start", self._handle)
        else:
            run("MPI_Start", self._handle, self.buffer)

    def __ingot_result__(self) -> Any:
        return _held(MPI.Prequest, self)


def _held(kind: Any, request: Any) -> Any:
    """A request of mpi4py's, which keeps the buffer."""
    of_python = _OF_PYTHON.get(kind)
    if of_python is None:
        of_python = _OF_PYTHON[kind] = type(kind.__name__, (kind,), {"__module__": kind.__module__})
    made = of_python(kind.fromhandle(int(request._handle[0]) & _mask()))
    made.buffer = request.buffer
    return made


_OF_PYTHON: dict[Any, Any] = {}


def _mask() -> int:
    return 2**32 - 1 if MPI._sizeof(MPI.REQUEST_NULL) == 4 else 2**64 - 1


class Comm(Handle):
    """A communicator."""

    def Get_rank(self) -> int:
        return self.number("MPI_Comm_rank")

    def Get_size(self) -> int:
        return self.number("MPI_Comm_size")

    def Is_inter(self) -> bool:
        return self.number("MPI_Comm_test_inter") != 0

    def Is_intra(self) -> bool:
        return self.number("MPI_Comm_test_inter") == 0

    @property
    def rank(self) -> int:
        return self.Get_rank()

    @property
    def size(self) -> int:
        return self.Get_size()

    def number(self, function: str) -> int:
        given = np.zeros(1, np.int32)
        run(function, self._handle[0], given)
        return int(given[0])

    def Abort(self, errorcode: int = 0) -> None:
        run("MPI_Abort", self._handle[0], an_int(errorcode))

    # ---- messages from one rank to another

    def send(self, function: str, buf: Any, dest: Any, tag: Any) -> None:
        dest, tag = an_int(dest), an_int(tag)
        if derivatives.is_derived(buf):
            derivatives.send(self, function, buf, dest, tag)
        else:
            elements, count, datatype, _ = message(buf, dest)
            run(function, elements, count, datatype, dest, tag, self._handle[0])

    def Send(self, buf: Any, dest: Any, tag: Any = 0) -> None:
        self.send("MPI_Send", buf, dest, tag)

    def Ssend(self, buf: Any, dest: Any, tag: Any = 0) -> None:
        self.send("MPI_Ssend", buf, dest, tag)

    def Rsend(self, buf: Any, dest: Any, tag: Any = 0) -> None:
        self.send("MPI_Rsend", buf, dest, tag)

    def Bsend(self, buf: Any, dest: Any, tag: Any = 0) -> None:
        self.send("MPI_Bsend", buf, dest, tag)

    def Recv(self, buf: Any, source: Any = None, tag: Any = None, status: Any = None) -> None:
        source = value("ANY_SOURCE") if source is None else an_int(source)
        tag = value("ANY_TAG") if tag is None else an_int(tag)
        if derivatives.is_derived(buf):
            derivatives.recv(self, buf, source, tag, status)
        else:
            elements, count, datatype, whole = message(buf, source, writes=True)
            request = np.zeros(1, np.int64)
            run("MPI_Irecv", elements, count, datatype, source, tag, self._handle[0], request)
            received(request, status, elements)
            placed(whole, elements)

    def Sendrecv(
        self, sendbuf: Any, dest: Any, sendtag: Any = 0, recvbuf: Any = None, source: Any = None, recvtag: Any = None, status: Any = None
    ) -> None:
        source = value("ANY_SOURCE") if source is None else an_int(source)
        recvtag = value("ANY_TAG") if recvtag is None else an_int(recvtag)
        dest = an_int(dest)
        if derivatives.is_derived(sendbuf, recvbuf):
            if status is not None:
                primitives.refuse("the derivative of `Sendrecv` with a status", "leave it out, and name the source and the tag")
            derivatives.sendrecv(self, sendbuf, dest, an_int(sendtag), recvbuf, source, recvtag)
            return
        given, count, datatype, _ = message(sendbuf, dest)
        elements, most, of_received, whole = message(recvbuf, source, writes=True)
        run("MPI_Sendrecv", given, count, datatype, dest, an_int(sendtag), elements, most, of_received, source, recvtag, self._handle[0], status_of(status))
        placed(whole, elements)

    def Sendrecv_replace(
        self, buf: Any, dest: Any, sendtag: Any = 0, source: Any = None, recvtag: Any = None, status: Any = None
    ) -> None:
        source = value("ANY_SOURCE") if source is None else an_int(source)
        recvtag = value("ANY_TAG") if recvtag is None else an_int(recvtag)
        dest = an_int(dest)
        if derivatives.is_derived(buf):
            derivatives.refuse("Sendrecv_replace")
        elements, count, datatype, whole = message(buf, 0, writes=True, reads=True)
        run("MPI_Sendrecv_replace", elements, count, datatype, dest, an_int(sendtag), source, recvtag, self._handle[0], status_of(status))
        placed(whole, elements)

    def started(self, kind: Any, function: str, buf: Any, rank: Any, tag: Any, writes: bool) -> Any:
        if derivatives.is_derived(buf):
            derivatives.refuse(function.removeprefix("MPI_"))
        need_contiguous(buf)
        elements, count, datatype, _ = message(buf, rank, writes=writes)
        request = np.zeros(1, np.int64)
        run(function, elements, count, datatype, rank, tag, self._handle[0], request)
        return primitives.instance(kind, ("_handle", "buffer", "receives"), (request, elements, writes))

    def Isend(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.started(Request, "MPI_Isend", buf, an_int(dest), an_int(tag), False)

    def Issend(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.started(Request, "MPI_Issend", buf, an_int(dest), an_int(tag), False)

    def Irsend(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.started(Request, "MPI_Irsend", buf, an_int(dest), an_int(tag), False)

    def Ibsend(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.started(Request, "MPI_Ibsend", buf, an_int(dest), an_int(tag), False)

    def Irecv(self, buf: Any, source: Any = None, tag: Any = None) -> Any:
        source = value("ANY_SOURCE") if source is None else an_int(source)
        tag = value("ANY_TAG") if tag is None else an_int(tag)
        return self.started(Request, "MPI_Irecv", buf, source, tag, True)

    def Send_init(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.started(Prequest, "MPI_Send_init", buf, an_int(dest), an_int(tag), False)

    def Ssend_init(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.started(Prequest, "MPI_Ssend_init", buf, an_int(dest), an_int(tag), False)

    def Recv_init(self, buf: Any, source: Any = None, tag: Any = None) -> Any:
        source = value("ANY_SOURCE") if source is None else an_int(source)
        tag = value("ANY_TAG") if tag is None else an_int(tag)
        return self.started(Prequest, "MPI_Recv_init", buf, source, tag, True)

    def Probe(self, source: Any = None, tag: Any = None, status: Any = None) -> bool:
        while not self.Iprobe(source, tag, status):
            pass
        return True

    def Iprobe(self, source: Any = None, tag: Any = None, status: Any = None) -> bool:
        source = value("ANY_SOURCE") if source is None else an_int(source)
        tag = value("ANY_TAG") if tag is None else an_int(tag)
        flag = np.zeros(1, np.int32)
        run("MPI_Iprobe", source, tag, self._handle[0], flag, status_of(status))
        return bool(flag[0] != 0)

    # ---- what all ranks call

    Barrier = collectives.Barrier
    Bcast = collectives.Bcast
    Scatter = collectives.Scatter
    Scatterv = collectives.Scatterv
    Gather = collectives.Gather
    Gatherv = collectives.Gatherv
    Allgather = collectives.Allgather
    Allgatherv = collectives.Allgatherv
    Alltoall = collectives.Alltoall
    Alltoallv = collectives.Alltoallv
    Reduce = collectives.Reduce
    Allreduce = collectives.Allreduce
    Reduce_scatter = collectives.Reduce_scatter
    Reduce_scatter_block = collectives.Reduce_scatter_block
    Ibarrier = collectives.Ibarrier
    Ibcast = collectives.Ibcast
    Iallreduce = collectives.Iallreduce
    Ireduce = collectives.Ireduce
    Igather = collectives.Igather
    Iscatter = collectives.Iscatter
    Iallgather = collectives.Iallgather
    Ialltoall = collectives.Ialltoall

    # ---- other communicators

    def Split(self, color: Any = 0, key: Any = 0) -> Any:
        made = np.zeros(1, np.int64)
        run("MPI_Comm_split", self._handle[0], an_int(color), an_int(key), made)
        return primitives.instance(Intracomm, ("_handle",), (made,))

    def Free(self) -> None:
        run("MPI_Comm_free", self._handle)

    def __ingot_result__(self) -> Any:
        return getattr(MPI, type(self).__name__).fromhandle(int(self._handle[0]) & _mask())


class Intracomm(Comm):
    Scan = collectives.Scan
    Exscan = collectives.Exscan
    Iscan = collectives.Iscan
    Iexscan = collectives.Iexscan

    def Dup(self, info: Any = None) -> Any:
        if info is not None:
            raise TypeError(f"Argument 'info' has incorrect type (expected mpi4py.MPI.Info, got {type(info).__name__})")
        made = np.zeros(1, np.int64)
        run("MPI_Comm_dup", self._handle[0], made)
        return primitives.instance(self.own, ("_handle",), (made,))

    def Create_cart(self, dims: Any, periods: Any = None, reorder: bool = False) -> Any:
        lengths = np.array(dims, np.int32).reshape(-1)
        wraps = np.zeros(lengths.size, np.int32)
        if periods is not None:
            wraps[...] = np.array(periods)
        made = np.zeros(1, np.int64)
        run("MPI_Cart_create", self._handle[0], lengths.size, lengths, wraps, int(reorder), made)
        return primitives.instance(Cartcomm, ("_handle",), (made,))


class Cartcomm(Intracomm):
    def Get_dim(self) -> int:
        return self.number("MPI_Cartdim_get")

    @property
    def ndim(self) -> int:
        return self.Get_dim()

    def Shift(self, direction: Any, disp: Any) -> tuple[int, int]:
        both = np.zeros(2, np.int32)
        run("MPI_Cart_shift", self._handle[0], an_int(direction), an_int(disp), both, both[1:])
        return int(both[0]), int(both[1])

    def Get_cart_rank(self, coords: Any) -> int:
        rank = np.zeros(1, np.int32)
        run("MPI_Cart_rank", self._handle[0], np.array(coords, np.int32), rank)
        return int(rank[0])


CLASSES: dict[Any, Any] = {}
"""Which class stands for one of mpi4py's."""

_OWN: tuple[Any, ...] = (Intracomm, Cartcomm, Request, Prequest, Status, Datatype)

if MPI is not None:
    for kind in _OWN:
        theirs: Any = getattr(MPI, kind.__name__)
        kind.__ingot_stands_for__ = theirs
        kind.own = kind
        for name in dir(theirs):
            if not name.startswith("_") and not hasattr(kind, name):
                setattr(kind, name, Handle.other)
        CLASSES[theirs] = kind
