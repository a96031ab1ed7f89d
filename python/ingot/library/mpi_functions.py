"""What is called by its name in `mpi4py.MPI` in compiled code: classes, and methods of classes."""

from __future__ import annotations

from typing import Any

import mpi4py.MPI as MPI
import numpy as np

from . import primitives
from .mpi import Status
from .mpi_messages import run, value
from .registry import implements


@implements(MPI.Status)
def new_status() -> Any:
    return primitives.instance(Status, ("_handle",), (np.zeros(8, np.int32),))


@implements(MPI.Request.Waitall, MPI.Prequest.Waitall)
def waitall(requests: Any, statuses: Any = None) -> bool:
    for i, request in enumerate(requests):
        request.Wait(None if statuses is None else statuses[i])
    return True


@implements(MPI.Request.Testall, MPI.Prequest.Testall)
def testall(requests: Any, statuses: Any = None) -> bool:
    done = True
    for request in requests:
        flag = np.zeros(1, np.int32)
        run("MPI_Request_get_status", request._handle[0], flag, value("STATUS_IGNORE"))
        done = done and bool(flag[0] != 0)
    if done:
        waitall(requests, statuses)
    return done


@implements(MPI.Request.Waitany, MPI.Prequest.Waitany)
def waitany(requests: Any, status: Any = None) -> int:
    while True:
        some = False
        for i, request in enumerate(requests):
            if request.is_active():
                some = True
                if request.Test(status):
                    return i
        if not some:
            return value("UNDEFINED")


@implements(MPI.Prequest.Startall)
def startall(requests: Any) -> None:
    for request in requests:
        request.Start()


@implements(MPI.Is_initialized)
def is_initialized() -> bool:
    flag = np.zeros(1, np.int32)
    run("MPI_Initialized", flag)
    return bool(flag[0] != 0)
