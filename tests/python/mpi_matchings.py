"""MPI's rules of matching as a search of all states, and random programs: what `ingot.mpi.simulate` has to find by fewer runs."""

import numpy as np
from mpi4py import MPI

SENDS = ("send", "send", "ssend", "isend")
RECEIVES = ("recv", "recv", "irecv", "probe")


def random_program(rng, ranks):
    """Of each rank its calls: what it does, the other rank or -1, and the tag or -1. One order of all calls does not block."""
    program = [[] for _ in range(ranks)]
    under_way = []

    def receive():
        source, dest, tag = under_way.pop(rng.randrange(len(under_way)))
        program[dest].append((rng.choice(RECEIVES), -1 if rng.random() < 0.7 else source, rng.choice([-1, -1, tag])))

    for _ in range(rng.randint(4, 6)):
        source, dest = rng.sample(range(ranks), 2)
        tag = rng.choice([0, 0, 0, 1])
        program[source].append((rng.choice(SENDS), dest, tag))
        under_way.append((source, dest, tag))
        while under_way and rng.random() < 0.5:
            receive()
    while under_way:
        receive()
    return program


def run(comm, program):
    """What a rank receives: of each of its receives the rank and the number of the send."""
    found, requests, status = [], [], MPI.Status()
    for number, (what, other, tag) in enumerate(program[comm.rank]):
        x = np.array([comm.rank, number])
        if what == "send":
            comm.Send(x, other, tag)
        elif what == "ssend":
            comm.Ssend(x, other, tag)
        elif what == "isend":
            requests.append(comm.Isend(x, other, tag))
        else:
            found.append((number, x))
            if what == "irecv":
                requests.append(comm.Irecv(x, other, tag))
            elif what == "recv":
                comm.Recv(x, other, tag)
            else:
                comm.Probe(other, tag, status)
                comm.Recv(x, status.source, status.tag)
    MPI.Request.Waitall(requests)
    return tuple((number, int(x[0]), int(x[1])) for number, x in found)


def replaced(items, index, value):
    return (*items[:index], value, *items[index + 1 :])


class Search:
    """All ends of a program: what ranks have received, or "deadlock"."""

    def __init__(self, program, is_strict):
        self.program, self.is_strict, self.ranks = program, is_strict, range(len(program))
        self.ends, self._seen = set(), set()
        empty = ((),) * len(program)
        # How far each rank is, whether it is in that call, messages under way, receives posted, messages that have come, what matched.
        waiting = [((0,) * len(program), (False,) * len(program), frozenset(), empty, empty, frozenset())]
        while waiting:
            state = waiting.pop()
            if state not in self._seen:
                self._seen.add(state)
                following = list(self._following(state))
                waiting += following
                if not following:
                    self._end(state)

    def _following(self, state):
        at, inside, channels, posted, come, matched = state
        for (source, dest), messages in channels:
            message, rest = messages[0], messages[1:]
            others = (channels - {((source, dest), messages)}) | ({((source, dest), rest)} if rest else set())
            takes = next((k for k, receive in enumerate(posted[dest]) if self._takes(receive, message)), None)
            if takes is None:
                yield at, inside, others, posted, replaced(come, dest, (*come[dest], message)), matched
            else:
                pair = (dest, posted[dest][takes][0], message[0], message[1])
                left = posted[dest][:takes] + posted[dest][takes + 1 :]
                yield at, inside, others, replaced(posted, dest, left), come, matched | {pair}
        for rank in self.ranks:
            if at[rank] < len(self.program[rank]):
                yield from self._of_rank(state, rank)

    def _of_rank(self, state, rank):
        at, inside, channels, posted, come, matched = state
        number = at[rank]
        what, other, tag = self.program[rank][number]
        on = replaced(at, rank, number + 1)
        is_done = any((rank, number) in (pair[:2] if what in RECEIVES else pair[2:],) for pair in matched)
        if inside[rank]:
            if is_done:
                yield on, replaced(inside, rank, False), channels, posted, come, matched
        elif what in SENDS:
            key, queues = (rank, other), dict(channels)
            sent = frozenset({**queues, key: (*queues.get(key, ()), (rank, number, tag))}.items())
            waits = what == "ssend" or (what == "send" and self.is_strict)
            yield (at if waits else on), replaced(inside, rank, waits), sent, posted, come, matched
        else:
            receive = (number, other, tag)
            first = next((k for k, message in enumerate(come[rank]) if self._takes(receive, message)), None)
            if first is not None:
                message, left = come[rank][first], come[rank][:first] + come[rank][first + 1 :]
                yield on, inside, channels, posted, replaced(come, rank, left), matched | {(rank, number, message[0], message[1])}
            elif what != "probe":
                waits = what == "recv"
                yield (at if waits else on), replaced(inside, rank, waits), channels, replaced(posted, rank, (*posted[rank], receive)), come, matched

    @staticmethod
    def _takes(receive, message):
        return receive[1] in (-1, message[0]) and receive[2] in (-1, message[2])

    def _end(self, state):
        at, _, _, posted, _, matched = state
        is_done = all(at[rank] == len(self.program[rank]) and not posted[rank] for rank in self.ranks)
        if is_done and self.is_strict:
            sent = {pair[2:] for pair in matched}
            is_done = all((r, k) in sent for r in self.ranks for k, call in enumerate(self.program[r]) if call[0] == "isend")
        received = tuple(tuple(sorted((k, *send) for rank, k, *send in matched if rank == r)) for r in self.ranks)
        self.ends.add(received if is_done else "deadlock")
