"""Programs of MPI's with one fault each, for `test_mpi_simulate.py`: the lines that have to be found end in `# A` and `# B`."""

import numpy as np
from mpi4py import MPI

import ingot

FAULTS = []


def fault(kind, ranks=2, **options):
    """Registers a program with the kind of its fault and how many ranks it has."""

    def register(f):
        FAULTS.append((f, kind, ranks, options))
        return f

    return register


def ones(count=4, dtype="d"):
    return np.ones(count, dtype)


# ---- ranks that wait for each other


@fault("deadlock")
def both_receive_first(comm):
    x = ones()
    if comm.rank == 0:
        comm.Recv(x, 1)  # A
        comm.Send(x, 1)
    else:
        comm.Recv(x, 0)  # B
        comm.Send(x, 0)


@fault("deadlock")
def both_send_first(comm):
    x, y = ones(), ones()
    if comm.rank == 0:
        comm.Send(x, 1)  # A
        comm.Recv(y, 1)
    else:
        comm.Send(x, 0)  # B
        comm.Recv(y, 0)


@fault("deadlock", 3)
def a_ring_of_synchronous_sends(comm):
    x, y = ones(), ones()
    if comm.rank == 0:
        comm.Ssend(x, 1)  # A
    else:
        comm.Ssend(x, (comm.rank + 1) % comm.size)  # B
    comm.Recv(y, (comm.rank - 1) % comm.size)


@fault("deadlock")
def other_tags(comm):
    if comm.rank == 0:
        comm.Recv(ones(), 1, 1)  # A
    else:
        comm.Send(ones(), 0, 2)  # B


@fault("deadlock", 3)
def one_matching_alone(comm):
    if comm.rank == 0:
        comm.Recv(ones())
        comm.Recv(ones(), 2)  # A
    elif comm.rank == 1:
        comm.Send(ones(), 0)  # B
    else:
        comm.Send(ones(), 0)


@fault("deadlock", 4)
def one_matching_of_many(comm):
    x = ones()
    if comm.rank == 0:
        for k in range(3):
            comm.Recv(x)
            if x[0] == 3.0 and k == 0:
                comm.Recv(x, 3)  # A
    else:
        x[0] = comm.rank
        comm.Send(x, 0)  # B


@fault("deadlock", 3)
def a_sender_that_is_late(comm):
    x = ones()
    if comm.rank == 0:
        comm.Recv(x)
        comm.Recv(x, 2)  # A
    elif comm.rank == 1:
        comm.Recv(x, 2, 9)
        comm.Send(x, 0)  # B
    else:
        comm.Send(x, 1, 9)
        comm.Send(x, 0)


@fault("deadlock", 3)
def a_barrier_without_one_rank(comm):
    x = ones()
    if comm.rank < 2:
        comm.Barrier()  # A
    else:
        comm.Bsend(x, 2, 1)
        comm.Recv(x, 2, 1)  # B


@fault("deadlock")
def communicators_crosswise(comm):
    one, two = comm.Dup(), comm.Dup()
    if comm.rank == 0:
        one.Barrier()  # A
        two.Barrier()
    else:
        two.Barrier()  # B
        one.Barrier()


@fault("deadlock", 3)
def rows_and_columns_crosswise(comm):
    pair = comm.Split(0 if comm.rank < 2 else MPI.UNDEFINED)
    x, y = ones(), ones()
    if comm.rank == 0:
        comm.Allreduce(x, y)  # A
        pair.Allreduce(x, y)
    elif comm.rank == 1:
        pair.Allreduce(x, y)  # B
        comm.Allreduce(x, y)
    else:
        comm.Allreduce(x, y)


@fault("deadlock", 3)
def exchanged_with_the_wrong_neighbour(comm):
    x, y = ones(), ones()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if comm.rank == 0:
        comm.Sendrecv(x, right, 0, y, right, 0)  # A
    else:
        comm.Sendrecv(x, right, 0, y, left, 0)
    if comm.rank == 1:
        comm.Recv(y, 2)  # B


@fault("deadlock")
def waited_for_before_it_is_sent(comm):
    x, y = ones(), ones()
    request = comm.Irecv(y, 1 - comm.rank)  # A
    request.Wait()  # B
    comm.Send(x, 1 - comm.rank)


@fault("deadlock")
def a_collective_and_a_message(comm):
    if comm.rank == 0:
        comm.Barrier()  # A
        comm.Send(ones(), 1)
    else:
        comm.Recv(ones(), 0)  # B
        comm.Barrier()


@fault("deadlock")
def a_broadcast_taken_for_one_that_returns(comm):
    x = ones()
    if comm.rank == 0:
        comm.Bcast(x)  # A
        comm.Send(x, 1)
    else:
        comm.Recv(x, 0)  # B
        comm.Bcast(x)


@fault("deadlock")
def probed_with_another_tag(comm):
    if comm.rank == 0:
        comm.Probe(1, 3)  # A
        comm.Recv(ones(), 1, 3)
    else:
        comm.Send(ones(), 0, 4)  # B


@fault("deadlock")
def a_collective_that_is_waited_for_in_another_order(comm):
    x, y = ones(), ones()
    if comm.rank == 0:
        comm.Ibarrier().Wait()  # A
        comm.Ssend(x, 1)
    else:
        comm.Recv(y, 0)  # B
        comm.Ibarrier().Wait()


@fault("livelock")
def asked_for_ever(comm):
    if comm.rank == 0:
        while not comm.Iprobe(1, 5):  # A
            pass
    else:
        comm.Send(ones(), 0, 4)  # B


@fault("livelock")
def tested_for_ever(comm):
    request = comm.Irecv(ones(), 1 - comm.rank, 5)  # A
    while not request.Test():  # B
        pass


@fault("timeout", timeout=0.4)
def computes_for_ever(comm):
    if comm.rank == 0:
        comm.Recv(ones(), 1)  # A
    sum(1 for _ in iter(int, 1))  # B


# ---- messages and requests that are left


@fault("unmatched")
def one_message_too_many(comm):
    if comm.rank == 0:
        comm.Bsend(ones(), 1)
        comm.Bsend(ones(), 1)  # A
    else:
        comm.Recv(ones(), 0)  # B


@fault("unmatched", 3)
def sent_to_the_wrong_rank(comm):
    if comm.rank == 0:
        comm.Send(ones(), 2)  # A
    comm.Barrier()  # B


@fault("request")
def a_send_that_nobody_waits_for(comm):
    if comm.rank == 0:
        comm.Isend(ones(), 1)  # A
    else:
        comm.Recv(ones(), 0)  # B


@fault("request")
def a_receive_that_nobody_waits_for(comm):
    if comm.rank == 0:
        comm.Send(ones(), 1)  # B
    else:
        request = comm.Irecv(ones(), 0)  # A


@fault("request")
def all_but_the_last_are_waited_for(comm):
    requests = []
    for k in range(3):
        if comm.rank == 0:
            requests.append(comm.Isend(ones(), 1, k))  # A
        else:
            requests.append(comm.Irecv(ones(), 0, k))  # B
    MPI.Request.Waitall(requests[:-1])


@fault("request")
def started_while_it_is_active(comm):
    x = ones()
    if comm.rank == 0:
        request = comm.Send_init(x, 1)
        request.Start()  # A
        request.Start()  # B
        request.Wait()
    else:
        comm.Recv(x, 0)
        comm.Recv(x, 0)


# ---- messages that do not fit


@fault("truncation")
def longer_than_the_buffer(comm):
    if comm.rank == 0:
        comm.Send(ones(5), 1)  # B
    else:
        comm.Recv(ones(4), 0)  # A


@fault("truncation", 3)
def longer_from_one_sender(comm):
    if comm.rank == 0:
        comm.Recv(ones(4))  # A
        comm.Recv(ones(9))
    elif comm.rank == 1:
        comm.Send(ones(3), 0)
    else:
        comm.Send(ones(9), 0)  # B


@fault("truncation")
def a_block_that_is_too_long(comm):
    if comm.rank == 0:
        comm.Gatherv(ones(2), [ones(4), [2, 2]])  # A
    else:
        comm.Gatherv(ones(3), None)  # B


@fault("datatype")
def floats_for_ints(comm):
    if comm.rank == 0:
        comm.Send(ones(), 1)  # A
    else:
        comm.Recv(ones(4, "l"), 0)  # B


@fault("datatype")
def single_precision_for_double(comm):
    if comm.rank == 0:
        comm.Send(ones(8, "f"), 1)  # A
    else:
        comm.Irecv([ones(4), MPI.DOUBLE], 0).Wait()  # B


@fault("rank")
def a_rank_that_is_not_there(comm):
    comm.Send(ones(), comm.rank + 1)  # A


@fault("ready")
def ready_before_the_receive(comm):
    if comm.rank == 0:
        comm.Recv(ones(), 1)  # A
    else:
        comm.Rsend(ones(), 0)  # B


# ---- collectives that do not agree


@fault("collective")
def other_roots(comm):
    if comm.rank == 0:
        comm.Bcast(ones(), 0)  # A
    else:
        comm.Bcast(ones(), 1)  # B


@fault("collective", 4)
def a_root_by_the_wrong_rank(comm):
    half = comm.Split(comm.rank // 2)
    root = comm.rank // 2
    if half.rank == 0:
        half.Reduce(ones(), ones(), MPI.SUM, 0)  # A
    else:
        half.Reduce(ones(), ones(), MPI.SUM, root)  # B


@fault("collective")
def other_ops(comm):
    if comm.rank == 0:
        comm.Allreduce(ones(), ones(), MPI.SUM)  # A
    else:
        comm.Allreduce(ones(), ones(), MPI.MAX)  # B


@fault("collective")
def another_order(comm):
    if comm.rank == 0:
        comm.Barrier()  # A
        comm.Allreduce(ones(), ones())
    else:
        comm.Allreduce(ones(), ones())  # B
        comm.Barrier()


@fault("collective")
def other_counts(comm):
    if comm.rank == 0:
        comm.Bcast(ones(4))  # A
    else:
        comm.Bcast(ones(3))  # B


@fault("collective")
def other_datatypes(comm):
    if comm.rank == 0:
        comm.Allreduce(ones(4), ones(4))  # A
    else:
        comm.Allreduce(ones(4, "l"), ones(4, "l"))  # B


@fault("collective", 3)
def one_that_is_waited_for_and_one_that_is_not(comm):
    if comm.rank == 0:
        comm.Barrier()  # A
    else:
        comm.Ibarrier().Wait()  # B


@fault("freed")
def a_communicator_that_was_freed(comm):
    other = comm.Dup()
    other.Free()  # A
    other.Barrier()  # B


@fault("freed")
def started_after_it_was_freed(comm):
    request = comm.Recv_init(ones(), 1 - comm.rank)
    request.Free()  # A
    request.Start()  # B


@fault("freed")
def waited_for_after_it_was_freed(comm):
    if comm.rank == 0:
        y = ones()
        request = comm.Irecv(y, 1)
        request.Free()  # A
        request.Wait()  # B
    else:
        comm.Send(ones(), 0)


# ---- buffers


@fault("buffer")
def written_while_it_is_sent(comm):
    x = ones()
    if comm.rank == 0:
        request = comm.Isend(x, 1)  # A
        x[0] = 2.0
        request.Wait()  # B
    else:
        comm.Recv(x, 0)


@fault("buffer")
def one_buffer_for_a_loop(comm):
    x, requests = ones(), []
    if comm.rank == 0:
        for k in range(3):
            x[:] = k
            requests.append(comm.Isend(x, 1))  # A
        MPI.Request.Waitall(requests)  # B
    else:
        for _ in range(3):
            comm.Recv(x, 0)


@fault("buffer")
def received_twice_into_one(comm):
    x = ones(8)
    if comm.rank == 0:
        first = comm.Irecv(x[:5], 1, 1)  # A
        second = comm.Irecv(x[4:], 1, 2)  # B
        MPI.Request.Waitall([first, second])
    else:
        comm.Send(x[:5], 0, 1)
        comm.Send(x[4:], 0, 2)


@fault("buffer")
def received_into_what_is_sent(comm):
    x = ones()
    request = comm.Isend(x, 1 - comm.rank)  # A
    comm.Recv(x, 1 - comm.rank)  # B
    request.Wait()


@fault("buffer")
def read_before_it_has_come(comm):
    x = ones()
    if comm.rank == 0:
        request = comm.Irecv(x, 1)  # A
        y = 2 * x
        request.Wait()  # B
        return y
    comm.Send(3 * x, 0)
    return x


@fault("buffer")
def written_before_it_has_come(comm):
    x = ones()
    if comm.rank == 0:
        request = comm.Irecv(x, 1)  # A
        x[1] = 5.0
        request.Wait()  # B
    else:
        comm.Send(x, 0)


@fault("buffer")
def one_buffer_for_both(comm):
    x = ones()
    comm.Allreduce(x, x)  # A


@fault("buffer")
def summed_before_the_sum_has_come(comm):
    x, y = ones(), ones()
    request = comm.Iallreduce(x, y)  # A
    x += 1.0
    request.Wait()  # B


# ---- exceptions and races


@fault("exception")
def an_exception_of_one_rank(comm):
    x = ones()
    if comm.rank == 0:
        raise ValueError(f"a bad {x[0]}")  # A
    comm.Recv(x, 0)  # B


@fault("exception", 3)
def an_index_outside(comm):
    x = np.zeros(2)
    x[comm.rank] = 1.0  # A
    comm.Barrier()  # B


@fault("race", 3)
def the_first_is_the_result(comm):
    x = ones()
    if comm.rank == 0:
        comm.Recv(x)  # A
        comm.Recv(ones())
        return x[0]
    comm.Send(x * comm.rank, 0)  # B
    return 0.0


@fault("race", 3)
def whichever_request_ends_first(comm):
    x, y = ones(), ones()
    if comm.rank == 0:
        requests = [comm.Irecv(x, 1), comm.Irecv(y, 2)]
        first = MPI.Request.Waitany(requests)  # A
        MPI.Request.Waitall(requests)
        return first
    comm.Send(x, 0)
    return 0


@fault("deadlock")
def in_a_compiled_function(comm):
    exchange(comm, ones())


@ingot.jit
def exchange(comm, x):
    if comm.rank == 0:
        comm.Ssend(x, 1, 1)  # of `in_a_compiled_function`: A
    else:
        comm.Recv(x, 0, 2)  # of `in_a_compiled_function`: B
    return x


# ---- programs that look as if they had one


CORRECT = []


def correct(ranks):
    def register(f):
        CORRECT.append((f, ranks))
        return f

    return register


@correct(4)
def a_sum_of_what_comes_in_any_order(comm):
    x = np.array([0.1 * comm.rank])
    if comm.rank > 0:
        comm.Send(x, 0)
        return 0.0
    total = 0.0
    for _ in range(comm.size - 1):
        comm.Recv(x, MPI.ANY_SOURCE)
        total += x[0]
    return total


@correct(3)
def answers_to_whom_it_asks(comm):
    status, x = MPI.Status(), np.zeros(1)
    if comm.rank == 0:
        for _ in range(4):
            comm.Recv(x, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
            comm.Send(x * 2, status.source, status.tag)
        return 0.0
    found = 0.0
    for k in range(2):
        comm.Send(np.array([comm.rank + 10.0 * k]), 0, k)
        comm.Recv(x, 0, k)
        found += x[0]
    return found


@correct(2)
def ready_after_a_barrier(comm):
    x, y = ones(), ones()
    request = comm.Irecv(y, 1 - comm.rank)
    comm.Barrier()
    comm.Rsend(x, 1 - comm.rank)
    request.Wait()
    return y


@correct(3)
def two_buffers_in_turn(comm):
    buffers = np.zeros((2, 4))
    total, request = 0.0, None
    for k in range(6):
        x = buffers[k % 2]
        x[:] = k
        following = comm.Isend(x, (comm.rank + 1) % comm.size, k)
        y = np.zeros(4)
        comm.Recv(y, (comm.rank - 1) % comm.size, k)
        total += y.sum()
        if request is not None:
            request.Wait()
        request = following
        request.Wait() if k == 5 else None
    return total


@correct(2)
def asked_until_it_is_there(comm):
    x, count = ones(), 0
    if comm.rank == 0:
        request = comm.Irecv(x, 1)
        while not request.Test():
            count += 1
        return x.sum()
    comm.Recv(np.zeros(1), 1) if count else None
    comm.Send(2 * x, 0)
    return 0.0


@correct(4)
def rows_and_columns(comm):
    grid = comm.Create_cart([2, 2], [True, False])
    above, below = grid.Shift(0, 1)
    before, after = grid.Shift(1, 1)
    x, y, z = np.full(3, grid.rank + 1.0), np.zeros(3), np.zeros(3)
    grid.Sendrecv(x, below, 0, y, above, 0)
    grid.Sendrecv(x, after, 1, z, before, 1)
    row = grid.Split(grid.rank // 2, grid.rank)
    total = np.zeros(3)
    row.Allreduce(x, total)
    row.Free()
    grid.Free()
    return y, z, total


@correct(2)
def a_column_between_others(comm):
    u = np.zeros((4, 5))
    u[:, 1 + comm.rank] = comm.rank + 1
    columns = MPI.DOUBLE.Create_vector(4, 1, 5).Commit()
    comm.Sendrecv([u.ravel()[1 + comm.rank :], 1, columns], 1 - comm.rank, 0, u[:, 3].copy(), 1 - comm.rank, 0)
    comm.Sendrecv(u[:, 1 + comm.rank], 1 - comm.rank, 0, u[:, 3], 1 - comm.rank, 0)
    columns.Free()
    return u


@correct(3)
def an_exception_that_all_catch(comm):
    try:
        comm.Send(ones(), comm.size + 1)
    except MPI.Exception:
        comm.Barrier()
        return 1
    return 0
