"""Refusals of messages of MPI's, with a function and arguments each: examples for refusals.py."""

import array

import numpy as np
from mpi4py import MPI

import ingot

SELF = MPI.COMM_SELF
X = np.zeros(3)
RECORDS = np.zeros(3, [("x", "f8"), ("n", "i8")])


def of_derivative(send):
    return lambda c, x: ingot.jvp(lambda own: send(c, own), (x,), (x,))


EXAMPLES = [
    (lambda c, x: c.allreduce(x), SELF, X),
    (lambda c, r: c.Allreduce(MPI.IN_PLACE, r), SELF, RECORDS),
    (lambda c, r: c.Allgatherv(r, r), SELF, RECORDS),
    (of_derivative(lambda c, x: c.Allreduce(MPI.IN_PLACE, [x, 3, MPI.BYTE])), SELF, X),
    (of_derivative(lambda c, x: c.Allreduce(x, x.copy(), MPI.PROD)), SELF, X),
    (of_derivative(lambda c, x: c.Allgather(MPI.IN_PLACE, x)), SELF, X),
    (of_derivative(lambda c, x: c.Gather(MPI.IN_PLACE, x)), SELF, X),
    (of_derivative(lambda c, x: c.Scatter(x, MPI.IN_PLACE)), SELF, X),
    (of_derivative(lambda c, x: c.Reduce_scatter_block(MPI.IN_PLACE, x)), SELF, X),
    (lambda c, x: c.Send(b"abc", 0), SELF, X),
    (lambda a, b, s: MPI.Request.Waitall([a, b], [s]), MPI.Request(), MPI.Request(), MPI.Status()),
    (of_derivative(lambda c, x: c.Iallreduce(x, x.copy()).Wait()), SELF, X),
    (of_derivative(lambda c, x: c.Send_init(x, 0).Start()), SELF, X),
    (of_derivative(lambda c, x: c.Irecv(x, 0).Test()), SELF, X),
    (of_derivative(lambda c, x: c.Bsend(x, 0)), SELF, X),
    (lambda c, x, a: ingot.jvp(lambda own: c.Send(a, 0), (x,), (x,)), SELF, X, array.array("d", [1.0])),
    (of_derivative(lambda c, x: c.Probe(0)), SELF, X),
    (of_derivative(lambda c, x: c.Split(0, 0).Free()), SELF, X),
    (of_derivative(lambda c, x: c.Recv([np.zeros(24, np.uint8), MPI.DOUBLE], 0)), SELF, X),
    (of_derivative(lambda c, x: MPI.Request.Testall([c.Irecv(x, 0)])), SELF, X),
]
