"""mpi4py's communicators, requests and statuses in compiled code: classes that stand for theirs, and point-to-point messages.

An instance has one attribute, an array on the handle that mpi4py's object holds. Methods have mpi4py's names and
meanings; those in lower case, which send any object, stay Python's. `mpi_messages` has what a message is,
`mpi_collectives` what all ranks call.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._routines.mpi import hold
from . import mpi_collectives as collectives
from . import mpi_derivatives as derivatives
from . import mpi_parcels as parcels
from . import primitives
from .mpi_messages import Handle, an_int, checked, counts_of, datatype_of, message, need_contiguous, received_from, run, same_handles, sent_to, unpack, value

MPI: Any = sys.modules.get("mpi4py.MPI")
ANY: Any = ...
"""The default of a source or tag."""


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
        if isinstance(datatype, str):
            raise TypeError("Argument 'datatype' has incorrect type (expected mpi4py.MPI.Datatype, got str)")
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
    """Waits for a message; where a handler of signals raises meanwhile, the call is left."""
    checked(primitives.call_c(("mpi wait", "receive"), (request, status_of(status), buffer)))


def source_of(source: Any) -> int:
    return value("ANY_SOURCE") if source is ANY else an_int(source)


def tag_of(tag: Any) -> int:
    return value("ANY_TAG") if tag is ANY else an_int(tag)


def pending(by: int) -> None:
    """Counts what has been started and not waited for."""
    primitives.call_c(("mpi", "count"), (by,))


class Request(Handle):
    """What has been started. `buffers`: the memory that it sends from and receives into, which stays until it has ended."""

    buffers: tuple[Any, ...] = ()
    token: Any = None
    """Of a message with derivatives, as what `mpi_parcels` has of it."""

    def Wait(self, status: Any = None) -> bool:
        if self.token is not None:
            if not same_handles(self._handle[0], value("REQUEST_NULL")):
                parcels.wait(self, status)
                self._handle[0] = value("REQUEST_NULL")
            elif status is not None:
                parcels.empty(status)
            return True
        is_counted = len(self.buffers) > 0 and not same_handles(self._handle[0], value("REQUEST_NULL"))
        run("MPI_Wait", self._handle, status_of(status), *self.buffers)
        if is_counted and same_handles(self._handle[0], value("REQUEST_NULL")):
            pending(-1)
        return True

    def need_no_derivative(self, name: str) -> None:
        if self.token is not None:
            primitives.refuse(f"`{name}` of a message whose derivative is taken", "use Wait or Waitall")

    def Test(self, status: Any = None) -> bool:
        self.need_no_derivative("Test")
        flag = np.zeros(1, np.int32)
        run("MPI_Test", self._handle, flag, status_of(status), *self.buffers)
        return bool(flag[0] != 0)

    def Cancel(self) -> None:
        self.need_no_derivative("Cancel")
        run("MPI_Cancel", self._handle)

    def Free(self) -> None:
        self.need_no_derivative("Free")
        run("MPI_Request_free", self._handle)

    def __bool__(self) -> bool:
        return not same_handles(self._handle[0], value("REQUEST_NULL"))

    def __ingot_result__(self) -> Any:
        return _held(MPI.Request, self)


class Prequest(Request):
    """What can be started again and again."""

    def Start(self) -> None:
        run("MPI_Start", self._handle, *self.buffers)

    def __ingot_result__(self) -> Any:
        return _held(MPI.Prequest, self)


def _held(kind: Any, request: Any) -> Any:
    """A request of mpi4py's; the buffers stay as long as it."""
    if request.token is not None:
        raise ValueError("a request of a message whose derivative is taken ends with the function: wait for it there")
    made = kind.fromhandle(int(request._handle[0]) & _mask())
    hold(made, request.buffers)
    return made


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

    def __bool__(self) -> bool:
        return not same_handles(self._handle[0], value("COMM_NULL"))

    def Abort(self, errorcode: int = 0) -> None:
        run("MPI_Abort", self._handle[0], an_int(errorcode))

    # ---- messages from one rank to another

    def send(self, function: str, buf: Any, dest: Any, tag: Any) -> None:
        dest, tag = an_int(dest), an_int(tag)
        if derivatives.is_derived(buf):
            parcels.send(self, function, buf, dest, tag)
        else:
            elements, count, datatype, _ = sent_to(buf, dest)
            run(function, elements, count, datatype, dest, tag, self._handle[0])

    def Send(self, buf: Any, dest: Any, tag: Any = 0) -> None:
        self.send("MPI_Send", buf, dest, tag)

    def Ssend(self, buf: Any, dest: Any, tag: Any = 0) -> None:
        self.send("MPI_Ssend", buf, dest, tag)

    def Rsend(self, buf: Any, dest: Any, tag: Any = 0) -> None:
        self.send("MPI_Rsend", buf, dest, tag)

    def Bsend(self, buf: Any, dest: Any, tag: Any = 0) -> None:
        self.send("MPI_Bsend", buf, dest, tag)

    def Recv(self, buf: Any, source: Any = ANY, tag: Any = ANY, status: Any = None) -> None:
        source = source_of(source)
        tag = tag_of(tag)
        if derivatives.is_derived(buf):
            parcels.recv(self, buf, source, tag, status)
        else:
            elements, count, datatype, whole = received_from(buf, source)
            request = np.zeros(1, np.int64)
            run("MPI_Irecv", elements, count, datatype, source, tag, self._handle[0], request)
            received(request, status, elements)
            unpack(whole, elements)

    def Sendrecv(
        self, sendbuf: Any, dest: Any, sendtag: Any = 0, recvbuf: Any = None, source: Any = ANY, recvtag: Any = ANY, status: Any = None
    ) -> None:
        source = source_of(source)
        recvtag = tag_of(recvtag)
        dest = an_int(dest)
        if derivatives.is_derived(sendbuf, recvbuf):
            parcels.sendrecv(self, sendbuf, dest, an_int(sendtag), recvbuf, source, recvtag, status)
        else:
            given, count, datatype, _ = sent_to(sendbuf, dest)
            elements, most, of_received, whole = received_from(recvbuf, source)
            to, back = (dest, an_int(sendtag)), (source, recvtag)
            run("MPI_Sendrecv", given, count, datatype, *to, elements, most, of_received, *back, self._handle[0], status_of(status))
            unpack(whole, elements)

    def Sendrecv_replace(
        self, buf: Any, dest: Any, sendtag: Any = 0, source: Any = ANY, recvtag: Any = ANY, status: Any = None
    ) -> None:
        source = source_of(source)
        recvtag = tag_of(recvtag)
        dest = an_int(dest)
        if derivatives.is_derived(buf):
            parcels.sendrecv(self, buf, dest, an_int(sendtag), buf, source, recvtag, status)
            return
        elements, count, datatype, whole = message(buf, writes=True, reads=True)
        run("MPI_Sendrecv_replace", elements, count, datatype, dest, an_int(sendtag), source, recvtag, self._handle[0], status_of(status))
        unpack(whole, elements)

    def start(self, kind: Any, function: str, buf: Any, rank: Any, tag: Any, writes: bool) -> Any:
        need_contiguous(buf)
        if derivatives.is_derived(buf):
            if kind is not Request:
                derivatives.refuse(function.removeprefix("MPI_"))
            of_message = parcels.irecv(self, buf, rank, tag) if writes else parcels.isend(self, function, buf, rank, tag)
            handle, depth = np.array([int(of_message[0][0])]), len(primitives.derivatives())  # of its own, until it has ended
            names = ("_handle", "depth", "comm", "receives", "token", "elements", "count", "peer", "tag")
            return primitives.instance(Request, names, (handle, depth, self.handle, writes, *of_message))
        elements, count, datatype, _ = received_from(buf, rank) if writes else sent_to(buf, rank)
        request = np.zeros(1, np.int64)
        run(function, elements, count, datatype, rank, tag, self._handle[0], request)
        pending(1)
        return primitives.instance(kind, ("_handle", "buffers"), (request, (elements,)))

    def Isend(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.start(Request, "MPI_Isend", buf, an_int(dest), an_int(tag), False)

    def Issend(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.start(Request, "MPI_Issend", buf, an_int(dest), an_int(tag), False)

    def Irsend(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.start(Request, "MPI_Irsend", buf, an_int(dest), an_int(tag), False)

    def Ibsend(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.start(Request, "MPI_Ibsend", buf, an_int(dest), an_int(tag), False)

    def Irecv(self, buf: Any, source: Any = ANY, tag: Any = ANY) -> Any:
        source = source_of(source)
        tag = tag_of(tag)
        return self.start(Request, "MPI_Irecv", buf, source, tag, True)

    def Send_init(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.start(Prequest, "MPI_Send_init", buf, an_int(dest), an_int(tag), False)

    def Ssend_init(self, buf: Any, dest: Any, tag: Any = 0) -> Any:
        return self.start(Prequest, "MPI_Ssend_init", buf, an_int(dest), an_int(tag), False)

    def Recv_init(self, buf: Any, source: Any = ANY, tag: Any = ANY) -> Any:
        source = source_of(source)
        tag = tag_of(tag)
        return self.start(Prequest, "MPI_Recv_init", buf, source, tag, True)

    def Probe(self, source: Any = ANY, tag: Any = ANY, status: Any = None) -> bool:
        self.need_no_probe()
        while not self.Iprobe(source, tag, status):
            pass
        return True

    def need_no_probe(self) -> None:
        """What is asked for may be a cotangent, and a message has more bytes than its elements."""
        if len(primitives.derivatives()) > 0:
            primitives.refuse("probing in a function whose derivative is taken", "receive into an array that is long enough, and look at the status")

    def Iprobe(self, source: Any = ANY, tag: Any = ANY, status: Any = None) -> bool:
        self.need_no_probe()
        source = source_of(source)
        tag = tag_of(tag)
        flag = np.zeros(1, np.int32)
        run("MPI_Iprobe", source, tag, self._handle[0], flag, status_of(status))
        return bool(flag[0] != 0)

    # ---- what all ranks call

    Barrier: Any = collectives.Barrier
    Bcast: Any = collectives.Bcast
    Scatter: Any = collectives.Scatter
    Scatterv: Any = collectives.Scatterv
    Gather: Any = collectives.Gather
    Gatherv: Any = collectives.Gatherv
    Allgather: Any = collectives.Allgather
    Allgatherv: Any = collectives.Allgatherv
    Alltoall: Any = collectives.Alltoall
    Alltoallv: Any = collectives.Alltoallv
    Reduce: Any = collectives.Reduce
    Allreduce: Any = collectives.Allreduce
    Reduce_scatter: Any = collectives.Reduce_scatter
    Reduce_scatter_block: Any = collectives.Reduce_scatter_block
    Ibarrier: Any = collectives.Ibarrier
    Ibcast: Any = collectives.Ibcast
    Iallreduce: Any = collectives.Iallreduce
    Ireduce: Any = collectives.Ireduce
    Igather: Any = collectives.Igather
    Iscatter: Any = collectives.Iscatter
    Iallgather: Any = collectives.Iallgather
    Ialltoall: Any = collectives.Ialltoall

    # ---- other communicators

    def Split(self, color: Any = 0, key: Any = 0) -> Any:
        made = np.zeros(1, np.int64)
        run("MPI_Comm_split", self._handle[0], an_int(color), an_int(key), made)
        return primitives.instance(Intracomm, ("_handle",), (made,))

    def Free(self) -> None:
        if len(primitives.derivatives()) > 0:
            primitives.refuse("`Free` of a communicator in a function whose derivative is taken", "free it after the call")
        run("MPI_Comm_free", self._handle)

    def __ingot_result__(self) -> Any:
        if int(self._handle[0]) & _mask() == MPI.COMM_NULL.handle:
            return MPI.COMM_NULL
        return getattr(MPI, type(self).__name__).fromhandle(int(self._handle[0]) & _mask())


class Intracomm(Comm):
    Scan: Any = collectives.Scan
    Exscan: Any = collectives.Exscan
    Iscan: Any = collectives.Iscan
    Iexscan: Any = collectives.Iexscan

    def Dup(self, info: Any = None) -> Any:
        if info is not None:
            raise TypeError(f"Argument 'info' has incorrect type (expected mpi4py.MPI.Info, got {type(info).__name__})")
        made = np.zeros(1, np.int64)
        run("MPI_Comm_dup", self._handle[0], made)
        return primitives.instance(self.own, ("_handle",), (made,))

    def Create_cart(self, dims: Any, periods: Any = None, reorder: bool = False) -> Any:
        lengths = np.array(dims, np.int32).reshape(-1)
        wraps = np.zeros(lengths.size, np.int32)
        if isinstance(periods, (bool, np.bool)):
            wraps[...] = periods
        elif periods is not None:
            wraps[...] = counts_of(np.array(periods, np.int32), lengths.size)
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
        run("MPI_Cart_rank", self._handle[0], counts_of(np.array(coords, np.int32), self.Get_dim()), rank)
        return int(rank[0])


CLASSES: dict[Any, Any] = {}
"""Which class stands for one of mpi4py's."""

_OWN: tuple[Any, ...] = (Comm, Intracomm, Cartcomm, Request, Prequest, Status, Datatype)

if MPI is not None:
    for kind in _OWN:
        theirs: Any = getattr(MPI, kind.__name__)
        kind.__ingot_stands_for__ = theirs
        kind.own = kind
        for name in dir(theirs):
            if not name.startswith("_") and not hasattr(kind, name):
                setattr(kind, name, Handle.refused)
        CLASSES[theirs] = kind
