"""What is called by its name in `mpi4py.MPI` in compiled code: classes, and methods of classes."""

from __future__ import annotations

from typing import Any

import mpi4py.MPI as MPI
import numpy as np

from . import primitives
from .mpi import Status, status_of
from .mpi_messages import run, value
from .registry import implements


@implements(MPI.Status)
def new_status() -> Any:
    made = primitives.instance(Status, ("_handle",), (np.zeros(8, np.int32),))
    made.Set_source(value("ANY_SOURCE"))
    made.Set_tag(value("ANY_TAG"))
    return made


@implements(MPI.Request.Waitall, MPI.Prequest.Waitall)
def waitall(requests: Any, statuses: Any = None) -> bool:
    need_statuses(requests, statuses)
    for i, request in enumerate(requests):
        request.Wait(None if statuses is None else statuses[i])
    return True


def need_statuses(requests: Any, statuses: Any) -> None:
    if statuses is not None and len(statuses) < len(requests):
        primitives.refuse("fewer statuses than requests", "pass as many")


@implements(MPI.Request.Testall, MPI.Prequest.Testall)
def testall(requests: Any, statuses: Any = None) -> bool:
    need_statuses(requests, statuses)
    done = True
    for request in requests:
        request.need_no_derivative("Testall")
        flag = np.zeros(1, np.int32)
        run("MPI_Request_get_status", request._handle[0], flag, value("STATUS_IGNORE"), *request.buffers)
        done = done and bool(flag[0] != 0)
    if done:
        waitall(requests, statuses)
    return done


@implements(MPI.Request.Waitany, MPI.Prequest.Waitany)
def waitany(requests: Any, status: Any = None) -> int:
    """The handles go as an array, each of as many bytes as the library's have."""
    count = len(requests)
    index = np.zeros(1, np.int32)
    for request in requests:
        request.need_no_derivative("Waitany")
    buffers = tuple([buffer for request in requests for buffer in request.buffers])
    if value("HANDLE_MASK") == -1:
        handles = np.array([request._handle[0] for request in requests], np.int64)
        run("MPI_Waitany", count, handles, index, status_of(status), *buffers)
        for i, request in enumerate(requests):
            request._handle[0] = handles[i]
    else:
        halves = np.array([request._handle[0] & 0xFFFFFFFF for request in requests], np.int64).astype(np.int32)
        run("MPI_Waitany", count, halves, index, status_of(status), *buffers)
        for i, request in enumerate(requests):
            request._handle[:1].view(np.int32)[0] = halves[i]
    return int(index[0])


@implements(MPI.Prequest.Startall)
def startall(requests: Any) -> None:
    for request in requests:
        request.Start()


@implements(MPI.Is_initialized)
def is_initialized() -> bool:
    flag = np.zeros(1, np.int32)
    run("MPI_Initialized", flag)
    return bool(flag[0] != 0)
