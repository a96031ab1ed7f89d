"""Programs of several ranks, each run by Python and compiled: `mpiexec -n 4 python mpi_programs.py`.

Each function of `PROGRAMS` is called twice by all ranks, with arguments made anew, and gives what is compared: values,
dtypes, what it has written, and exceptions. Every rank prints what differs; the exit code is the number of programs.
"""

import sys
import traceback

import numpy as np
from mpi4py import MPI

import ingot

DTYPES = "?bhilBHILfdFD"
PROGRAMS = []


def program(make):
    """Registers a program with what makes its arguments, of a communicator."""

    def register(f):
        PROGRAMS.append((f.__name__, f, make))
        return f

    return register


def numbers(comm, dtype="d", count=8, shift=0):
    values = np.arange(count) * (comm.rank + 2) % 7 + comm.rank + shift
    return (values * (1 + 1j) if dtype in "FD" else values).astype(dtype)


def each_dtype(*others):
    """Arguments: the communicator, an array of each dtype, and what makes others of it."""
    return lambda comm: (comm, *[numbers(comm, dtype) for dtype in DTYPES], *[make(comm) for make in others])


@program(lambda comm: (comm, numbers(comm), np.zeros(8)))
def ring(comm, x, y):
    size, rank = comm.Get_size(), comm.Get_rank()
    status = np.zeros(3, np.int64)
    comm.Sendrecv(x, (rank + 1) % size, 7, y, (rank - 1) % size, 7)
    status[0] = comm.size + comm.rank
    return y.copy(), status


@program(each_dtype())
def ring_of_every_dtype(comm, *arrays):
    given = []
    for x in arrays:
        y = np.empty_like(x)
        comm.Sendrecv(x, (comm.rank + 1) % comm.size, 0, y, (comm.rank - 1) % comm.size, 0)
        given.append(y)
    return tuple(given)


@program(lambda comm: (comm, numbers(comm), MPI.Status()))
def there_and_back(comm, x, status):
    """Pairs of ranks; one without a partner sends to itself."""
    partner = comm.rank ^ 1
    if partner >= comm.size:
        partner = comm.rank
    y = np.empty(20)
    request = comm.Isend(x, partner, tag=3 + comm.rank)
    comm.Recv(y, partner, MPI.ANY_TAG, status)
    request.Wait()
    return y[: status.Get_count(MPI.DOUBLE)].copy(), status.Get_source(), status.source, status.tag, status.Get_count()


@program(lambda comm: (comm, numbers(comm), np.zeros((4, 8))))
def everything_at_once(comm, x, y):
    size, rank = comm.size, comm.rank
    requests = [comm.Irecv(y[k], (rank + k) % size, k) for k in range(4)]
    for k in range(4):
        comm.Send(x * (k + 1), dest=(rank - k) % size, tag=k)
    MPI.Request.Waitall(requests)
    return y.sum(axis=1), [bool(r) for r in requests]


@program(lambda comm: (comm, numbers(comm), np.zeros(8)))
def tested(comm, x, y):
    receive = comm.Irecv(y, (comm.rank - 1) % comm.size)
    send = comm.Issend(x, (comm.rank + 1) % comm.size)
    while not receive.Test():
        pass
    send.Wait()
    return y.copy(), bool(receive), receive == MPI.REQUEST_NULL, send != MPI.REQUEST_NULL


@program(lambda comm: (comm, numbers(comm, count=5), np.zeros(5)))
def persistent(comm, x, y):
    send = comm.Send_init(x, (comm.rank + 1) % comm.size, 2)
    receive = comm.Recv_init(y, (comm.rank - 1) % comm.size, 2)
    total = 0.0
    for step in range(3):
        x += step
        MPI.Prequest.Startall([receive, send])
        MPI.Request.Waitall([receive, send])
        total += y.sum()
    send.Free()
    receive.Free()
    return total


@program(lambda comm: (comm, numbers(comm), MPI.Status()))
def probed(comm, x, status):
    request = comm.Isend(x, (comm.rank + 1) % comm.size, 9)
    comm.Probe(MPI.ANY_SOURCE, 9, status)
    y = np.zeros(status.Get_count(MPI.DOUBLE))
    comm.Recv(y, status.Get_source(), status.Get_tag())
    request.Wait()
    return y


@program(each_dtype())
def broadcast(comm, *arrays):
    for k, x in enumerate(arrays):
        comm.Bcast(x, root=k % comm.size)
    return arrays


@program(lambda comm: (comm, *[numbers(comm, dtype) for dtype in "bhilBHILfd"]))
def reductions(comm, *arrays):
    given = []
    for x in arrays:
        for op in (MPI.SUM, MPI.MIN):
            y = np.empty_like(x)
            comm.Allreduce(x, y, op)
            given.append(y)
        z = np.zeros_like(x)
        comm.Reduce(x, z, op=MPI.PROD, root=comm.size - 1)
        given.append(z)
    return tuple(given)


@program(lambda comm: (comm, *[numbers(comm, dtype) for dtype in "bhilBHIL"]))
def reductions_of_bits(comm, *arrays):
    given = []
    for x in arrays:
        for op in (MPI.BAND, MPI.BOR, MPI.BXOR) if x.dtype.itemsize > 2 else (MPI.LAND, MPI.LOR, MPI.LXOR):
            y = x.copy()
            comm.Allreduce(MPI.IN_PLACE, y, op=op)
            given.append(y)
    return tuple(given)


@program(lambda comm: (comm, numbers(comm), numbers(comm, "D"), numbers(comm, "f")))
def scans(comm, x, z, s):
    y, w = np.empty_like(x), np.zeros_like(s)
    comm.Scan(x, y)
    comm.Exscan(s, w, MPI.SUM)
    comm.Allreduce(MPI.IN_PLACE, z)
    comm.Scan(MPI.IN_PLACE, s, MPI.MAX)
    return y, w if comm.rank > 0 else s, z, s


@program(lambda comm: (comm, numbers(comm, "f", 4), np.zeros((comm.size, 4), "f"), np.zeros(4, "f")))
def gathered_and_scattered(comm, x, all_of_them, back):
    comm.Gather(x, all_of_them, root=0)
    if comm.rank == 0:
        all_of_them *= 2
    comm.Scatter(all_of_them, back, 0)
    rows = np.empty((comm.size, 4), np.float32)
    comm.Allgather(back, rows)
    turned = np.empty_like(rows)
    comm.Alltoall(np.ascontiguousarray(rows + comm.rank), turned)
    rows[comm.rank] *= -1
    comm.Allgather(MPI.IN_PLACE, rows)
    return back, rows, turned


@program(lambda comm: (comm, numbers(comm, "d", 4)))
def only_the_root_has_a_buffer(comm, x):
    root = comm.size - 1
    rows = np.zeros((comm.size, 4))
    if comm.rank == root:
        comm.Gather(x, rows, root)
        comm.Scatter(rows, MPI.IN_PLACE, root)
    else:
        comm.Gather(x, None, root)
        comm.Scatter(None, x, root)
    if comm.rank == root:
        comm.Reduce(MPI.IN_PLACE, rows, MPI.SUM, root)
    else:
        comm.Reduce(rows, None, MPI.SUM, root)
    return x, rows


@program(lambda comm: (comm, np.arange(comm.rank + 1) + 10.0 * comm.rank))
def of_several_counts(comm, x):
    size, rank = comm.size, comm.rank
    counts = np.arange(1, size + 1)
    displs = np.cumsum(counts) - counts
    total = int(counts.sum())
    all_of_them = np.zeros(total)
    comm.Allgatherv(x, [all_of_them, counts, displs, MPI.DOUBLE])
    at_root = np.zeros(total) if rank == 0 else np.zeros(0)
    comm.Gatherv(x, (at_root, counts), root=0)
    back = np.zeros(rank + 1)
    comm.Scatterv([all_of_them, (counts, displs)], back, root=size - 1)
    sent = np.repeat(x[:1], size * (rank + 1))
    received = np.zeros(total)
    comm.Alltoallv((sent, np.full(size, rank + 1)), (received, counts))
    return all_of_them, at_root, back, received


@program(lambda comm: (comm, np.arange(comm.rank + 1) + 10.0 * comm.rank, list(range(1, comm.size + 1))))
def counts_in_a_list(comm, x, counts):
    total = sum(counts)
    r, s, t = np.zeros(total), np.zeros(total), np.zeros(comm.rank + 1)
    comm.Gatherv(x, [r, counts], 0)
    comm.Allgatherv(x, [s, counts, MPI.DOUBLE])
    comm.Scatterv([s, counts], t, 0)
    return r, s, t


@program(lambda comm: (comm, np.arange(4.0) + comm.rank))
def a_buffer_at_the_root_alone(comm, x):
    rows, total, sent = None, None, None
    if comm.rank == 0:
        rows = np.zeros((comm.size, 4))
        total = np.zeros(4)
        sent = np.arange(4.0 * comm.size)
    comm.Gather(x, rows, root=0)
    comm.Reduce(x, total, root=0)
    part, others = np.zeros(4), np.zeros(4)
    comm.Scatter(sent, part, root=0)
    comm.Igather(x, rows, root=0).Wait()
    comm.Iscatter(sent, others, root=0).Wait()
    comm.Ireduce(x, total, root=0).Wait()
    if rows is not None and total is not None:
        return float(rows.sum()), float(total.sum()), part, others
    return 0.0, 0.0, part, others


@program(lambda comm: (comm, np.arange(4.0) + comm.rank))
def in_place_and_waited_for(comm, x):
    rows = np.zeros((comm.size, 4))
    rows[comm.rank] = x
    comm.Iallgather(MPI.IN_PLACE, rows).Wait()
    turned = rows.copy()
    comm.Ialltoall(MPI.IN_PLACE, turned).Wait()
    gathered = rows.copy()
    total = x.copy()
    if comm.rank == 0:
        comm.Igather(MPI.IN_PLACE, gathered).Wait()
        comm.Ireduce(MPI.IN_PLACE, total).Wait()
    else:
        comm.Igather(x, gathered).Wait()
        comm.Ireduce(x, total).Wait()
    return rows, turned, gathered, total


@program(lambda comm: (comm, numbers(comm)))
def truth_of_communicators(comm, x):
    part = comm.Split(0 if comm.rank == 0 else MPI.UNDEFINED, 0)
    found = (bool(part), part != MPI.COMM_NULL, part == MPI.COMM_NULL, comm == MPI.COMM_WORLD, comm != MPI.COMM_SELF)
    if part:
        part.Free()
    return found


@program(lambda comm: (comm, np.zeros(3), np.ones(3)))
def waits_for_any(comm, x, y):
    idle = comm.Recv_init(x, comm.rank, 1)
    nobody = MPI.Request.Waitany([idle, idle])
    receive = comm.Irecv(x, comm.rank, 2)
    send = comm.Isend(y, comm.rank, 2)
    first = MPI.Request.Waitany([idle, receive])
    send.Wait()
    idle.Free()
    return nobody, first, x.copy()


@program(lambda comm: (comm, numbers(comm), np.full(20, -1.0)))
def less_than_the_buffer_takes(comm, x, y):
    status = MPI.Status()
    before = status.source, status.tag, status.error
    comm.Sendrecv(x, (comm.rank + 1) % comm.size, 0, y, status=status)
    z = np.full(3, 7.0)
    comm.Recv(z, MPI.PROC_NULL)
    return y, z, before, status.source, status.Get_count(MPI.DOUBLE)


def read_only(x):
    x.flags.writeable = False
    return x


@program(lambda comm: (comm, read_only(np.full(4, comm.rank + 1.0)), np.zeros(4)))
def a_read_only_array_at_the_root(comm, x, y):
    if comm.rank == 0:
        comm.Bcast(x, 0)
        return x.sum()
    comm.Bcast(y, 0)
    return y.sum()


@program(lambda comm: (comm, np.arange(6.0 * comm.size) + comm.rank))
def reduced_and_scattered(comm, x):
    size = comm.size
    y, z, w = np.zeros(6), np.zeros(6), np.zeros(6)
    comm.Reduce_scatter_block(x, y)
    comm.Reduce_scatter(x, z, [6] * size)
    comm.Reduce_scatter(x, w, op=MPI.MAX)
    return y, z, w


@program(lambda comm: (comm, numbers(comm), np.zeros((comm.size, 8))))
def collectives_that_are_waited_for(comm, x, rows):
    y, z = np.empty_like(x), x.copy()
    first = comm.Iallreduce(x, y, MPI.MAX)
    comm.Ibarrier().Wait()
    first.Wait()
    MPI.Request.Waitall([comm.Ibcast(z, 0), comm.Iallgather(x, rows)])
    part = np.empty(8)
    comm.Iscatter(rows, part, 0).Wait()
    turned = np.empty((comm.size, 8))
    comm.Ialltoall(rows, turned).Wait()
    comm.Igather(part, turned, comm.size - 1).Wait()
    w = np.zeros(8)
    comm.Ireduce(x, w, MPI.SUM, 0).Wait()
    return y, z, rows, part, w if comm.rank == 0 else x


@program(lambda comm: (comm, np.arange(24.0).reshape(4, 6) + comm.rank, np.zeros((4, 6), order="F")))
def parts_of_messages(comm, x, y):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.Sendrecv([x, 3], right, 0, [y, (5, 2)], left, 0)
    comm.Sendrecv([x, (2, 20), MPI.DOUBLE], right, 0, [y, 2, 8, MPI.DOUBLE], left, 0)
    comm.Sendrecv([x, "d"], right, 0, [x.copy(), MPI.DOUBLE], left, 0)
    b = np.zeros(16, np.uint8)
    comm.Sendrecv([x, 16, MPI.BYTE], right, 0, [b, MPI.BYTE], left, 0)
    return y, b, np.asfortranarray(x)


@program(lambda comm: (comm, np.asfortranarray(np.arange(12.0).reshape(3, 4) + comm.rank), np.zeros((4, 3))))
def the_order_of_memory(comm, x, y):
    comm.Sendrecv(x, (comm.rank + 1) % comm.size, 0, y, (comm.rank - 1) % comm.size, 0)
    return y


@program(lambda comm: (comm, numbers(comm)))
def other_modes(comm, x):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    y, z, w = np.empty_like(x), np.empty_like(x), x.copy()
    first, second = comm.Irecv(y, left, 1), comm.Irecv(z, left, 2)
    comm.Barrier()  # so that ready sends find their receives
    comm.Rsend(x, right, 1)
    ready = comm.Irsend(2 * x, right, 2)
    while not MPI.Request.Testall([first, second, ready]):
        pass
    again = comm.Ssend_init(x, right, 3)
    third = comm.Irecv(y, left, 3)
    again.Start()
    third.Wait()
    again.Wait()
    again.Free()
    comm.Sendrecv_replace(w, right, 4, left, 4)
    sums, before = np.zeros_like(x), np.zeros_like(x)
    comm.Iscan(x, sums).Wait()
    comm.Iexscan(x, before).Wait()
    fourth = comm.Irecv(y, left, 5)
    comm.Ssend(x, right, 5) if comm.rank % 2 == 0 and comm.size % 2 == 0 else comm.Isend(x, right, 5).Wait()
    fourth.Wait()
    found = comm.Iprobe(MPI.ANY_SOURCE, 77)
    return y, z, w, sums, before if comm.rank > 0 else x, found, MPI.Is_initialized()


@program(lambda comm: (comm, numbers(comm), MPI.Status()))
def buffered_and_cancelled(comm, x, status):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    y = np.empty_like(x)
    comm.Bsend(x, right, 1)
    comm.Recv(y, left, 1)
    comm.Ibsend(2 * x, right, 2).Wait()
    comm.Recv(y, left, 2, status)
    count = status.Get_elements(MPI.DOUBLE)
    never = comm.Irecv(np.empty_like(x), left, 78)
    never.Cancel()
    never.Wait(status)
    return y, count, status.Is_cancelled()


@program(lambda comm: (comm, numbers(comm)))
def nobody(comm, x):
    y = x.copy()
    comm.Send(x, MPI.PROC_NULL)
    comm.Recv(y, source=MPI.PROC_NULL)
    comm.Sendrecv(x, MPI.PROC_NULL, 0, y, MPI.PROC_NULL)
    comm.Recv(None, MPI.PROC_NULL)
    return y


@program(lambda comm: (comm, numbers(comm)))
def other_communicators(comm, x):
    half = comm.Split(comm.rank % 2, comm.rank)
    y = np.empty_like(x)
    half.Allreduce(x, y)
    sizes = half.Get_size(), half.rank
    half.Free()
    own = comm.Dup()
    own.Barrier()
    own.Free()
    grid = comm.Create_cart([comm.size], periods=[True])
    before, after = grid.Shift(0, 1)
    grid.Sendrecv(x, after, 0, y, before, 0)
    rank = grid.Get_cart_rank([comm.size - 1])
    grid.Free()
    return y, sizes, before, after, rank


@program(lambda comm: (comm, 1000))
def pi_by_small_reductions(comm, n):
    total = 0.0
    part, whole = np.zeros(1), np.zeros(1)
    for step in range(50):
        part[0] = 0.0
        for i in range(step * n + comm.rank, (step + 1) * n, comm.size):
            x = (i + 0.5) / (50 * n)
            part[0] += 4.0 / (1.0 + x * x)
        comm.Allreduce(part, whole)
        total += whole[0]
    return round(total / (50 * n), 12)


@program(lambda comm: (comm, np.sin(np.arange(120.0).reshape(10, 12) + comm.rank)))
def heat(comm, u):
    up = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    down = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    for _ in range(5):
        requests = [comm.Irecv(u[0], up, 1), comm.Irecv(u[-1], down, 2), comm.Isend(u[1], up, 2), comm.Isend(u[-2], down, 1)]
        inner = u[2:-2, 1:-1] + 0.1 * (u[1:-3, 1:-1] + u[3:-1, 1:-1] + u[2:-2, 2:] + u[2:-2, :-2] - 4 * u[2:-2, 1:-1])
        MPI.Request.Waitall(requests)
        first = u[1, 1:-1] + 0.1 * (u[0, 1:-1] + u[2, 1:-1] + u[1, 2:] + u[1, :-2] - 4 * u[1, 1:-1])
        last = u[-2, 1:-1] + 0.1 * (u[-3, 1:-1] + u[-1, 1:-1] + u[-2, 2:] + u[-2, :-2] - 4 * u[-2, 1:-1])
        u[2:-2, 1:-1] = inner
        u[1, 1:-1] = first
        u[-2, 1:-1] = last
    return u


# ---- what is raised; MPI's own codes by their class


@program(lambda comm: (comm, numbers(comm), 1))
def too_many_elements(comm, x, n):
    small = np.zeros(n)
    comm.Sendrecv(x, comm.rank, 0, small, comm.rank, 0)
    return small


@program(lambda comm: (comm, numbers(comm)))
def no_such_rank(comm, x):
    comm.Send(x, comm.size)


@program(lambda comm: (comm, numbers(comm)))
def no_such_root(comm, x):
    comm.Bcast(x, -7)


@program(lambda comm: (comm, numbers(comm)))
def a_rank_beyond_ints(comm, x):
    comm.Send(x, 2**32 + MPI.PROC_NULL)


@program(lambda comm: (comm, numbers(comm)))
def a_tag_beyond_ints(comm, x):
    comm.Send(x, comm.rank, tag=2**32 + 5)


@program(lambda comm: (comm, numbers(comm)))
def a_count_that_is_no_integer(comm, x):
    comm.Send([x, 1.7], 0)


@program(lambda comm: (comm, numbers(comm)))
def received_into_a_number(comm, x):
    comm.Recv(x[0], 0)


@program(lambda comm: (comm, numbers(comm), np.zeros(8)))
def no_op(comm, x, y):
    comm.Allreduce(x, y, None)


@program(lambda comm: (comm, numbers(comm)))
def too_many_parts(comm, x):
    comm.Send([x, (1, 2, 3)], 0)


@program(lambda comm: (comm, numbers(comm)))
def no_message(comm, x):
    comm.Send("text", 0)


@program(lambda comm: (comm, numbers(comm)))
def too_few_items(comm, x):
    comm.Send([x], 0)


@program(lambda comm: (comm, numbers(comm), np.zeros(3)))
def other_counts(comm, x, y):
    comm.Allreduce(x, y)


@program(lambda comm: (comm, numbers(comm), np.zeros(8, "f")))
def other_datatypes(comm, x, y):
    comm.Allreduce(x, y)


@program(lambda comm: (comm, np.zeros(3 * comm.size + 1), np.zeros(3)))
def no_equal_blocks(comm, x, y):
    comm.Alltoall(x, y)


@program(lambda comm: (comm, numbers(comm)))
def a_negative_count(comm, x):
    comm.Send([x, -1], 0)


@program(lambda comm: (comm, numbers(comm)))
def a_displacement_outside(comm, x):
    comm.Send([x, (0, 100)], 0)


@program(lambda comm: (comm, numbers(comm), -1))
def an_exception_of_the_program(comm, x, n):
    comm.Barrier()
    if n < 0:
        raise ValueError(f"n is {n}")


@program(lambda comm: (comm, numbers(comm)))
def a_caught_exception(comm, x):
    try:
        comm.Send(x, comm.size + 3)
    except MPI.Exception:
        return 1
    return 0


def outcome(f, arguments):
    try:
        given = f(*arguments)
    except MPI.Exception as error:
        return "raised", "MPI.Exception", error.Get_error_class()
    except Exception as error:
        return "raised", type(error).__name__, str(error)
    return "gave", given, [x for x in arguments if isinstance(x, np.ndarray)]


def equal(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a == b


def main(names):
    comm = MPI.COMM_WORLD
    MPI.Attach_buffer(np.zeros(1 << 16, np.uint8))
    failed = 0
    for name, f, make in PROGRAMS:
        if names and name not in names:
            continue
        expected = outcome(f, make(comm))
        comm.Barrier()
        try:
            given = outcome(ingot.jit(f), make(comm))
        except BaseException:
            traceback.print_exc()
            comm.Abort(2)
        if not equal(expected, given):
            failed += 1
            print(f"rank {comm.rank} of {comm.size}: {name}: {expected} wanted, {given} given", file=sys.stderr, flush=True)
        comm.Barrier()
    print(f"rank {comm.rank} of {comm.size}: {len(PROGRAMS)} programs, {failed} differ", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
