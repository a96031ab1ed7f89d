"""Derivatives through messages, on several ranks: `mpiexec -n 4 python mpi_derivatives.py`.

Of each function tangents are compared with differences, and the cotangents of all ranks with the tangents of all of them: they
are transposes of each other. `mpi_derivatives.py 1 4` takes the functions 1, 5, 9, ..., and
`mpi_derivatives.py 4 4` derivatives of derivatives alone.
"""

import sys

import numpy as np
from mpi4py import MPI

import ingot

comm = MPI.COMM_WORLD
right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
root = comm.size - 1


def sendrecv(x):
    y = np.zeros_like(x)
    comm.Sendrecv(np.sin(x), right, 3, y, left, 3)
    return y * x


def send_and_recv(x):
    y = np.zeros(x.shape)
    if comm.rank % 2 == 0:
        if comm.rank + 1 < comm.size:
            comm.Send(x * x, comm.rank + 1, 5)
            comm.Recv(y, comm.rank + 1, 6)
    else:
        comm.Recv(y, comm.rank - 1, 5)
        comm.Send(np.exp(-x), comm.rank - 1, 6)
    return y + x


def from_anyone(x):
    y = np.zeros(x.shape)
    comm.Barrier()  # no message of an earlier call is taken for one of this
    if comm.rank == 0:
        total = np.zeros(x.shape)
        for _ in range(comm.size - 1):
            comm.Recv(y, MPI.ANY_SOURCE, 4)
            total += y * y
        return total
    comm.Send(x * 2, 0, 4)
    return x


def bcast(x):
    y = x * x
    comm.Bcast(y, root)
    return y * x


def reduce(x):
    y = np.zeros_like(x)
    comm.Reduce(x * x, y, MPI.SUM, root)
    return y + x


def allreduce(x):
    y = np.zeros_like(x)
    comm.Allreduce(np.sin(x), y)
    comm.Allreduce(MPI.IN_PLACE, y)
    return y * x


def largest(x):
    y, z = np.zeros_like(x), np.zeros_like(x)
    comm.Allreduce(x * x, y, MPI.MAX)
    comm.Allreduce(x, z, MPI.MIN)
    return y * x + z


def gather_and_scatter(x):
    rows = np.zeros((comm.size, len(x)))
    comm.Gather(x * x, rows, root=0)
    back = np.zeros(len(x))
    comm.Scatter(np.sin(rows), back, root=0)
    return back * x


def only_at_the_root(x):
    y = np.zeros(len(x))
    if comm.rank == 0:
        rows = np.zeros((comm.size, len(x)))
        comm.Gather(x, rows, root=0)
        comm.Scatter(rows * rows, y, root=0)
    else:
        comm.Gather(x, None, root=0)
        comm.Scatter(None, y, root=0)
    return y


def allgather(x):
    rows = np.zeros((comm.size, len(x)))
    comm.Allgather(np.cos(x), rows)
    back = np.zeros(len(x))
    comm.Reduce_scatter_block(rows * rows, back)
    return back + x


def alltoall(x):
    rows = np.zeros((comm.size, 2))
    comm.Alltoall(np.outer(np.ones(comm.size), x[:2]) * x[0], rows)
    return rows.ravel()


def in_a_loop(x):
    u = x.copy()
    for _ in range(4):
        y = np.zeros(1)
        z = np.zeros(1)
        comm.Sendrecv(u[-1:] * 1.0, right, 1, y, left, 1)
        comm.Sendrecv(u[:1] * 1.0, left, 2, z, right, 2)
        u[0] += 0.1 * y[0] * u[1]
        u[-1] -= 0.1 * z[0]
    return u


def of_complex_numbers(x):
    z = x * (1 + 2j)
    w = np.zeros_like(z)
    comm.Allreduce(z, w)
    return (w * np.conj(w)).real


def halo(x):
    up = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    down = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    u = x * x
    comm.Sendrecv(u[1:2], up, 0, u[-1:], down, 0)
    comm.Sendrecv(u[-2:-1], dest=down, recvbuf=u[:1], source=up)
    comm.Recv(u[1:2], MPI.PROC_NULL)
    return u * x


def less_than_the_buffer_takes(x):
    y = x * x
    comm.Sendrecv(np.sin(x[:2]), right, 0, y, left, 0)
    z = 3 * x
    if comm.size > 1 and comm.rank == 0:
        comm.Send(x[:3] * 2, 1)
    if comm.rank == 1:
        comm.Recv(z, 0)
    return y * z


def orders_of_memory(x):
    y = np.zeros((2, 2), order="F")
    comm.Sendrecv(x.reshape(2, 2) * 2, right, 0, y, left, 0)
    z = np.zeros((2, 2))
    comm.Allreduce(np.asfortranarray(x.reshape(2, 2) * y), z)
    w = np.zeros(4)
    comm.Allreduce(z, w)
    return w * (y * z).ravel()


def numbers_of_numpy(x):
    y = np.zeros(1)
    comm.Reduce((x * x).sum(), y, MPI.SUM, 0)
    if comm.size > 1 and comm.rank == 1:
        comm.Send(x.sum() * x[0], 0, 9)
    z = np.zeros(1)
    if comm.size > 1 and comm.rank == 0:
        comm.Recv(z, 1, 9)
    return x * (y[0] + z[0])


def pending(x):
    y = np.zeros(x.shape)
    r = comm.Irecv(y, left, 3)
    s = comm.Isend(np.sin(x), right, 3)
    z = x * x
    r.Wait()
    s.Wait()
    return y * x + z


def halos(x):
    up = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    down = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    u = x * x
    for step in range(3):
        requests = [comm.Irecv(u[:1], up), comm.Irecv(u[-1:], down), comm.Isend(u[1:2], up), comm.Isend(u[-2:-1], down)]
        new = np.zeros_like(u)
        new[1:-1] = 0.5 * u[1:-1] + 0.25 * x[1:-1]
        MPI.Request.Waitall(requests)
        new[1:-1] += 0.25 * (u[2:] * u[:-2])
        u[1:-1] = new[1:-1]
    return u


def counted(x):
    y = np.zeros(6)
    y[4:] = x[:2]
    comm.Sendrecv([x * 2, 2], right, 0, [y, (2, 1)], left, 0)
    r = comm.Irecv([y, (2, 2), MPI.DOUBLE], left, 7)
    comm.Send([x, (2, 1), MPI.DOUBLE], right, 7)
    r.Wait()
    comm.Allreduce([x * x, 2], [y, 2])
    comm.Sendrecv_replace(y, right, 1, left, 1)
    return y * y


def scans(x):
    y, z = np.zeros(4), x * 3
    comm.Scan(np.sin(x), y)
    comm.Exscan(x * x, z)
    return y * z


def blocks(x):
    counts = np.arange(comm.size) % 2 + 1
    mine = counts[comm.rank]
    total = int(counts.sum())
    rows = np.zeros(total + 2)
    rows[:] = x[0]
    places = np.zeros(comm.size, np.int64)
    for i in range(1, comm.size):
        places[i] = places[i - 1] + counts[i - 1]
    comm.Gatherv(x[:mine] * x[0], [rows, (counts, places + 1)], 0)
    back = np.zeros(mine)
    comm.Scatterv([np.sin(rows), counts], back, root=0)
    every = np.zeros(total)
    comm.Allgatherv(back, [every, counts])
    own = np.zeros(mine)
    comm.Reduce_scatter(every * every, own, counts)
    other = np.zeros(comm.size)
    ones = np.ones(comm.size, np.int64)
    comm.Alltoallv([np.cos(every[: comm.size]), ones], [other, ones])
    return np.concatenate((x[:mine] * own, other))


def waited_in_another_order(x):
    """Messages of one tag: what comes back finds the one that it belongs to."""
    y, z, w = np.zeros(4), np.zeros(2), np.zeros(1)
    r, q = comm.Irecv(y, left), comm.Irecv(z, left)
    s = comm.Isend(np.sin(x), right)
    comm.Send(x[:2] * x[1], right)
    p = comm.Isend(x[2:3] * 3, right)
    q.Wait()
    comm.Recv(w, left)
    MPI.Request.Waitall([p, r, s])
    r.Wait()
    return y * x + 3 * z[1] * w[0] * (2.0 if s else 1.0)


def on_one_side_only(x):
    """Some halos in a list of unknown length, and integers one way, floats the other."""
    y, z, k = np.zeros(4), np.zeros(4), np.zeros(4, np.int64)
    requests = []
    if comm.rank > 0:
        requests.append(comm.Irecv(y, comm.rank - 1, 1))
        requests.append(comm.Isend(x * x, comm.rank - 1, 2))
    if comm.rank + 1 < comm.size:
        requests.append(comm.Isend(x[::-1] * 2, comm.rank + 1, 1))
        requests.append(comm.Irecv(z, comm.rank + 1, 2))
    MPI.Request.Waitall(requests)
    if comm.size > 1 and comm.rank == 0:
        comm.Sendrecv(x * x, 1, 0, k, 1)
        comm.Sendrecv(x, 1, 3, None, MPI.PROC_NULL)
    if comm.rank == 1:
        comm.Sendrecv(np.arange(4), 0, 0, y, 0)
        comm.Sendrecv(None, MPI.PROC_NULL, 0, z, 0, 3)
    return y * x + z * k + z * z


def counts_of_each_block(x):
    rows = np.zeros((comm.size, 4))
    rows[:] = x
    comm.Allgather([x * x, 2], [rows, 2])
    half = np.zeros(2)
    comm.Scatter([np.sin(rows), 2], half, 0)
    comm.Gather(half, [rows, 2], 0)
    comm.Alltoall([rows, 1], [rows.copy(), 1])
    return rows[0] * half[0]


def from_anyone_at_last(x):
    """Ranks whose messages have been received are on their way back before others have sent theirs."""
    y = np.zeros(x.shape)
    comm.Barrier()
    if comm.rank == 0:
        total = x.copy()
        for _ in range(comm.size - 1):
            comm.Recv(y, MPI.ANY_SOURCE, 4)
            total += y * y
        return total
    if comm.rank % 2 == 0:
        z = np.zeros(1)
        comm.Recv(z, comm.rank - 1, 8)
    comm.Send(x * 2, 0, 4)
    if comm.rank % 2 == 1 and comm.rank + 1 < comm.size:
        comm.Send(np.ones(1), comm.rank + 1, 8)
    return x


RANK = comm.rank  # known when compiling


def nothing_varies_at_one_rank(x):
    y = np.zeros(len(x))
    if comm.size > 1 and RANK == 0:
        comm.Send(np.arange(4.0), 1)
        comm.Recv(y, 1)
        return y * 2
    if RANK == 1:
        comm.Recv(y, 0)
        comm.Send(x * y, 0)
    return x


def nothing_is_given_back(x):
    if comm.size > 1 and RANK == 0:
        comm.Send(np.arange(4.0), 1)
        return np.ones(4)
    y = np.ones(4)
    if RANK == 1:
        comm.Recv(y, 0)
    return x * y


FUNCTIONS = [
    nothing_varies_at_one_rank, nothing_is_given_back,
    halo, less_than_the_buffer_takes, orders_of_memory, numbers_of_numpy,
    sendrecv, send_and_recv, from_anyone, bcast, reduce, allreduce, largest, gather_and_scatter, only_at_the_root, allgather, alltoall, in_a_loop,
    of_complex_numbers, pending, halos, counted, scans, blocks, from_anyone_at_last,
    waited_in_another_order, on_one_side_only, counts_of_each_block,
]  # fmt: skip


def summed(value):
    return comm.allreduce(float(value))


def differences(f, x, t):
    h = 1e-6
    return (f(x + h * t) - f(x - h * t)) / (2 * h)


def second(x, t):
    """Of messages and scans: differences of gradients, and the derivatives of gradients in both modes."""

    def squares(x):
        y, z = np.zeros(2), np.zeros(2)
        r, s = comm.Irecv(y, left), comm.Isend(x[:2] * x[1:3], right)
        MPI.Request.Waitall([r, s])
        comm.Scan(y * x[2:], z)
        return (z * z).sum()

    def slope(x):
        return ingot.grad(squares)(x)

    expected = differences(slope, x, t)
    forward, reverse = ingot.jvp(slope, (x,), (t,))[1], ingot.grad(lambda x: slope(x) @ t)(x)
    return np.allclose(forward, expected, atol=1e-6) and np.allclose(reverse, expected, atol=1e-6)


def requests_stay_themselves(x):
    """Handles differ until they are null, a second status is empty, and no other derivative waits for a message."""

    def told(x):
        y, z, status = np.zeros(4), np.zeros(4), MPI.Status()
        r, q = comm.Irecv(y, 0, 1), comm.Irecv(z, 0, 2)
        differ = r == q
        MPI.Request.Waitall([comm.Isend(x, 0, 1), comm.Isend(x, 0, 2), r, q])
        r.Wait(status)
        return x.sum() * (1.0 if differ else 2.0) * (3.0 if r == q else 1.0) * status.Get_tag()

    def elsewhere(x):
        r = comm.Irecv(np.zeros(4), MPI.PROC_NULL)

        def inner(u):
            r.Wait()
            return u.sum()

        return ingot.grad(inner)(x).sum()

    is_fine = ingot.value_and_grad(told)(x)[0] == told(x)
    try:
        ingot.grad(elsewhere)(x)
    except RuntimeError as error:
        return is_fine and "in the function of that derivative" in str(error)
    return False


def main(part=0, parts=1):
    rng = np.random.default_rng(comm.rank)
    failed = 0
    functions = FUNCTIONS[part::parts] if part < parts else []
    for f in functions:
        x, t = rng.normal(size=4), rng.normal(size=4)
        value, slope = ingot.jvp(f, (x,), (t,))
        expected = differences(f, x, t)
        c = rng.normal(size=value.shape)
        again, pull = ingot.vjp(f, x)
        (back,) = pull(c)
        forth, other = summed(slope @ c), summed(t @ back)
        fine = np.allclose(value, f(x)) and np.allclose(again, value) and np.allclose(slope, expected, atol=1e-6) and abs(forth - other) < 1e-9 * (1 + abs(forth))
        if not fine:
            failed += 1
            print(f"rank {comm.rank}: {f.__name__}: {value} {f(x)}, tangents {slope} {expected}, {forth} {other}", file=sys.stderr, flush=True)
        comm.Barrier()
        if comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG):
            failed += 1
            print(f"rank {comm.rank}: {f.__name__}: a message is left", file=sys.stderr, flush=True)
        comm.Barrier()
    if comm.size == 1 and not requests_stay_themselves(np.ones(4)):
        failed += 1
        print("requests are not themselves", file=sys.stderr, flush=True)
    if comm.size == 2 and (parts == 1 or part == parts) and not second(rng.normal(size=4), rng.normal(size=4)):
        failed += 1
        print(f"rank {comm.rank}: second derivatives differ", file=sys.stderr, flush=True)
    print(f"rank {comm.rank}: {len(functions)} functions, {failed} differ", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
