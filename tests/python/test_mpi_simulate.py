"""`ingot.mpi.simulate`: planted faults are found with their lines, programs without faults give what they give in MPI, nothing stays changed."""

import builtins
import inspect
import os
import pickle
import random
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import mpi_faults
import mpi_matchings
import mpi_programs
import numpy as np
import pytest
from mpi4py import MPI
from test_mpi import ended, start

import ingot
import ingot.mpi
from ingot._mpi.exploration import Exploration
from ingot.mpi import simulate

HERE = Path(__file__).resolve().parent
WORLD = MPI.COMM_WORLD
comm = MPI.COMM_WORLD
counter = 0


def marked(f):
    """The numbers of a fault's lines."""
    lines, first = inspect.getsourcelines(f)
    own = [number for number, line in enumerate(lines, first) if line.rstrip().endswith(("# A", "# B"))]
    whole = inspect.getsource(mpi_faults).splitlines()
    return {*own, *(number for number, line in enumerate(whole, 1) if f"# of `{f.__name__}`: " in line)}


@pytest.mark.parametrize("fault", mpi_faults.FAULTS, ids=lambda fault: fault[0].__name__)
def test_faults_are_found_with_their_lines(fault):
    f, kind, ranks, options = fault
    lines = marked(f)
    assert lines
    simulation = simulate(f, ranks, WORLD, **options)
    found = [finding for finding in simulation.findings if finding.kind == kind and lines <= set(finding.lines)]
    assert found, simulation
    assert found == simulation.findings, "something else is found, too"
    again = simulate(f, ranks, WORLD, seed=found[0].seed, **options)
    assert again.runs == 1
    assert any(finding.kind == kind and lines <= set(finding.lines) for finding in again.findings), again


@pytest.mark.parametrize("program", mpi_faults.CORRECT, ids=lambda program: program[0].__name__)
def test_nothing_is_found_where_nothing_is_wrong(program):
    f, ranks = program
    simulation = simulate(f, ranks, WORLD)
    assert simulation and simulation.complete, simulation


RESULTS = """
import pickle, sys
import numpy as np
from mpi4py import MPI
sys.path.insert(0, sys.argv[2])
import mpi_programs

comm = MPI.COMM_WORLD
MPI.Attach_buffer(np.zeros(1 << 16, np.uint8))
found = {}
for name, f, make in mpi_programs.PROGRAMS:
    found[name] = mpi_programs.outcome(f, make(comm))
    comm.Barrier()
found = comm.gather(found)
if comm.rank == 0:
    with open(sys.argv[1], "wb") as file:
        pickle.dump(found, file)
"""


def close(a, b):
    """Equal, but for the order in which ranks are summed."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, rtol=1e-6, equal_nan=True)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(close, a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_programs_give_what_they_give_in_mpi(ranks, tmp_path):
    code, _, errors = ended(start(ranks, "-c", RESULTS, str(tmp_path / "found"), str(HERE)))
    assert code == 0, errors
    expected = pickle.loads((tmp_path / "found").read_bytes())
    for name, f, make in mpi_programs.PROGRAMS:
        simulation = simulate(lambda c, f=f, make=make: mpi_programs.outcome(f, make(c)), ranks, WORLD)
        assert simulation and simulation.complete, f"{name}: {simulation}"
        for rank, given in enumerate(simulation.results):
            if name == "too_many_elements":  # some libraries cut what a rank sends itself, without a word
                assert given == ("raised", "MPI.Exception", MPI.ERR_TRUNCATE)
            else:
                assert close(expected[rank][name], given), f"{name}, rank {rank}: {expected[rank][name]} in MPI, {given}"


def test_a_report_has_both_lines():
    simulation = simulate(mpi_faults.both_receive_first, 2, WORLD)
    text = str(simulation)
    assert text == repr(simulation) and text.startswith("1 finding in 2 runs of 2 ranks, all matchings\n\ndeadlock: ")
    assert "rank 0 waits for rank 1; rank 1 waits for rank 0" in text
    assert "rank 0: Recv from rank 1, tag ANY_TAG\n" in text and "comm.Recv(x, 1)  # A" in text and "comm.Recv(x, 0)  # B" in text
    assert simulation.findings[0].ranks == (0, 1) and not simulation
    with pytest.raises(RuntimeError, match="deadlock"):
        simulation.raise_()
    assert simulate(mpi_faults.two_buffers_in_turn, 2, WORLD).raise_() is None


def test_whether_sends_buffer():
    f = mpi_faults.both_send_first
    assert "if Send waits for other ranks, which MPI leaves open" in simulate(f, 2, WORLD).findings[0].message
    assert simulate(f, 2, WORLD, buffered=True)
    assert simulate(f, 2, WORLD, buffered=False).findings[0].kind == "deadlock"


def from_anyone(c):
    x, order = np.zeros(1), 0
    if c.rank == 0:
        for _ in range(c.size - 1):
            c.Recv(x, MPI.ANY_SOURCE)
            order = 10 * order + int(x[0])
        return order
    c.Send(np.array([float(c.rank)]), 0)
    return 0


def test_each_matching_is_run_once():
    simulation = simulate(from_anyone, 4, WORLD, buffered=True)
    assert simulation.complete and simulation.runs == 6 + 1  # and once more, to see that the same run gives the same
    assert simulation.results[0] == 123
    orders = {simulate(from_anyone, 4, WORLD, seed=f"b:0.0={a},0.1={b}").results[0] for a in (1, 2, 3) for b in (1, 2, 3) if a != b}
    assert orders == {123, 132, 213, 231, 312, 321}
    for limit in (1, 2, 20):
        some = simulate(from_anyone, 6, WORLD, limit=limit)
        assert not some.complete and some.runs <= limit + 1


def test_a_limit_leaves_no_kind_of_run_out():
    """Its thousands of matchings are all right, but for ranks whose sends wait."""

    def f(c):
        from_anyone(c)
        x = np.zeros(1)
        if c.rank in (1, 2):
            c.Send(x, 3 - c.rank)
            c.Recv(x, 3 - c.rank)

    (finding,) = (f for f in simulate(f, 7, WORLD, limit=10).findings if f.kind != "race")
    assert finding.kind == "deadlock" and finding.message.startswith("if Send waits")


def test_independent_wildcards():
    """What two ranks receive from any source are two things, each with two matchings."""

    def f(c):
        x = np.zeros(1)
        if c.rank < 2:
            c.Recv(x)
            c.Recv(x)
        else:
            c.Send(x, 0)
            c.Send(x, 1)

    simulation = simulate(f, 4, WORLD, buffered=True)
    assert simulation and simulation.complete and simulation.runs == 4


@pytest.mark.parametrize("is_strict", [False, True])
def test_all_matchings_are_found(monkeypatch, is_strict):
    """Of random programs the runs end in each way in which a search of all states ends, and in no other."""
    ends = set()
    plain = Exploration.run

    def recorded(self, *args):
        found = plain(self, *args)
        if not found.is_infeasible:
            ends.add(tuple(rank.result for rank in found.ranks) if all(rank.has_returned for rank in found.ranks) else "deadlock")
        return found

    monkeypatch.setattr(Exploration, "run", recorded)
    several = 0
    for number in range(30):
        rng = random.Random(number)
        program = mpi_matchings.random_program(rng, rng.choice([2, 3, 3, 4]))
        ends.clear()
        simulation = simulate(mpi_matchings.run, len(program), WORLD, program, buffered=not is_strict)
        expected = mpi_matchings.Search(program, is_strict).ends
        assert simulation.complete and ends == expected, (number, program)
        assert ("deadlock" in expected) == any(finding.kind == "deadlock" for finding in simulation.findings)
        several += len(expected) > 1
    assert several > 5


# ---- what ranks see


def test_communicators_wherever_they_are():
    in_a_closure = MPI.COMM_WORLD

    class Solver:
        def __init__(self, c):
            self.comm = c

        def total(self, x):
            y = np.zeros_like(x)
            self.comm.Allreduce(x, y)
            return y

    def everywhere(given, solver, x):
        from mpi4py import MPI as again

        found = (given.size, comm.size, in_a_closure.Get_size(), MPI.COMM_WORLD.size, again.COMM_WORLD.size, MPI.COMM_SELF.size)
        assert given == comm == in_a_closure == again.COMM_WORLD != MPI.COMM_SELF
        assert isinstance(comm, MPI.Comm) and isinstance(comm, MPI.Intracomm) and comm != MPI.COMM_NULL
        return found, solver.total(x), Solver(comm).total(x)

    simulation = simulate(everywhere, 3, WORLD, Solver(WORLD), np.ones(2))
    simulation.raise_()
    found, *totals = simulation.results[2]
    assert found == (3, 3, 3, 3, 3, 1) and all(np.array_equal(t, [3.0, 3.0]) for t in totals)
    assert simulate(Solver(WORLD).total, 2, np.ones(1)).results[1] == 2.0


def test_compiled_functions_run_as_python():
    @ingot.jit
    def inner(c, x):
        y = np.zeros_like(x)
        c.Sendrecv(x, (c.rank + 1) % c.size, 0, y, (c.rank - 1) % c.size)
        return y

    @ingot.jit
    def outer(x):
        later = ingot.jit(lambda c, x: inner(c, x) + 1)
        return later(comm, x * comm.rank)

    simulation = simulate(outer, 3, np.ones(2))
    simulation.raise_()
    assert [float(x[0]) for x in simulation.results] == [3.0, 1.0, 2.0]
    assert not outer.specialisations and not inner.specialisations


def test_transforms_are_compiled_where_they_send_nothing():
    slope = ingot.grad(lambda w: (w * w).sum())
    simulation = simulate(lambda c: slope(np.full(2, c.rank + 1.0)), 2, WORLD)
    simulation.raise_()
    assert np.array_equal(simulation.results[1], [4.0, 4.0])

    def loss(w):
        y = np.zeros_like(w)
        comm.Allreduce(w, y)
        return y.sum()

    with pytest.raises(ingot.UnsupportedError, match="a transform of a function that sends messages"):
        simulate(lambda: ingot.grad(loss)(np.ones(2)) if False else outside(np.ones(2)), 2)


def allreduced(w):
    y = np.zeros_like(w)
    comm.Allreduce(w, y)
    return y.sum()


outside = ingot.grad(allreduced)


def counts():
    global counter
    counter += comm.rank + 1
    comm.Barrier()
    return counter


def test_ranks_have_globals_of_their_own():
    assert simulate(counts, 3).results == [1, 2, 3] and counter == 0


def test_arguments_are_copied():
    x = np.zeros(6)
    values = [x, x[2:]]

    def f(values, read_only):
        values[1][0] = 1.0 + comm.rank
        return values[0], read_only.flags.writeable

    y = np.ones(2)
    y.flags.writeable = False
    simulation = simulate(f, 2, values, y)
    assert not x.any() and simulation.results[1][0][2] == 2.0 and simulation.results[1][1] is False


def test_nothing_stays_changed():
    before = (MPI.COMM_WORLD, MPI.Request, builtins.__import__, builtins.print, threading.active_count(), np.random.get_state()[1].copy())
    for f, n in ((mpi_faults.both_receive_first, 2), (mpi_faults.an_exception_of_one_rank, 2), (lambda: np.random.rand(3), 2)):
        simulate(f, n, *([WORLD] if f.__name__ != "<lambda>" else []))
    with pytest.raises(ingot.UnsupportedError):
        simulate(lambda: comm.Get_group(), 2)
    end = time.monotonic() + 5
    while threading.active_count() > before[4] and time.monotonic() < end:
        time.sleep(0.01)
    after = (MPI.COMM_WORLD, MPI.Request, builtins.__import__, builtins.print, threading.active_count(), np.random.get_state()[1].copy())
    assert all(a is b for a, b in zip(before[:4], after[:4])) and after[4] <= before[4] and np.array_equal(before[5], after[5])
    assert MPI.COMM_WORLD.Get_size() == 1 and comm is MPI.COMM_WORLD


def test_it_prints_once(capsys):
    simulate(lambda: (print("here", comm.rank), from_anyone(comm)), 3)
    assert sorted(capsys.readouterr().out.split("\n")) == ["", "here 0", "here 1", "here 2"]


def test_nobody_and_nothing():
    def f(c):
        status, x = MPI.Status(), np.ones(2)
        requests = [c.Isend(x, MPI.PROC_NULL), c.Irecv(x, MPI.PROC_NULL)]
        before = [bool(r) for r in requests]
        MPI.Request.Waitall(requests, [MPI.Status(), status])
        first = (status.source, status.tag, status.count, [bool(r) for r in requests])
        c.Recv(x, MPI.PROC_NULL, status=status)
        idle = c.Recv_init(x, 0)
        idle.Wait(status)
        idle.Free()
        return before, first, status.source, MPI.Request.Waitany(requests), requests[0] == MPI.REQUEST_NULL, MPI.Request.Testall(requests)

    simulation = simulate(f, 1, WORLD)
    simulation.raise_()
    assert simulation.results == [f(MPI.COMM_SELF)]


def test_objects_are_sent(tmp_path):
    """Methods in lower case give what they give in MPI."""

    def f(c):
        right, left = (c.rank + 1) % c.size, (c.rank - 1) % c.size
        request = c.isend({"a": [c.rank]}, right, 3)
        found = [c.recv(source=left, tag=3)]
        request.wait()
        later = c.irecv(source=left)
        c.send((c.rank, "x"), right) if c.rank % 2 == 0 else c.issend((c.rank, "x"), right).wait()
        found.append(later.wait())
        found.append(c.sendrecv(c.rank, right, 1, source=left, recvtag=1))
        found += [c.bcast([1, 2] if c.rank == 0 else None), c.gather(c.rank, 1), c.allgather(c.rank), c.scatter(list("ab") if c.rank == 0 else None)]
        found += [c.alltoall([c.rank, -c.rank]), c.reduce(c.rank + 1), c.allreduce([c.rank]), c.allreduce(c.rank, MPI.MAX), c.scan(c.rank + 1)]
        c.barrier()
        return [*found, c.exscan(c.rank + 1)]

    simulation = simulate(f, 2, WORLD)
    simulation.raise_()
    text = "import sys\nfrom mpi4py import MPI\nc = MPI.COMM_WORLD\n" + textwrap.dedent(inspect.getsource(f))
    text += "\nfound = c.gather(f(c))\nif c.rank == 0:\n    print(found)\n"
    code, out, errors = ended(start(2, "-c", text))
    assert code == 0 and eval(out) == simulation.results, (out, errors)


def test_objects_and_arrays_do_not_mix():
    def f(c):
        if c.rank == 0:
            c.send(np.ones(2), 1)
        else:
            c.Recv(np.ones(2), 0)

    assert simulate(f, 2, WORLD).findings[0].kind == "datatype"
    assert simulate(lambda c: c.bcast(1, c.rank), 2, WORLD).findings[0].kind == "collective"
    assert simulate(lambda c: c.bcast(1) if c.rank else c.Bcast(np.ones(1)), 2, WORLD).findings[0].kind == "collective"
    (finding,) = simulate(lambda c: c.send(1, 1 - c.rank), 2, WORLD).findings
    assert finding.kind == "unmatched"


# ---- what is refused


def test_what_is_not_taken():
    with pytest.raises(TypeError, match="simulate takes a function, not int"):
        simulate(3, 2)
    with pytest.raises(ValueError, match="a program has one rank at least, not 0"):
        simulate(counts, 0)
    with pytest.raises(TypeError):
        simulate(counts, 1.5)
    with pytest.raises(ValueError, match="run once at least"):
        simulate(counts, 1, limit=0)
    with pytest.raises(ValueError, match="some seconds"):
        simulate(counts, 1, timeout=0)
    for seed in ("x", 3, "b:1"):
        with pytest.raises(ValueError, match="the seed is one of a finding"):
            simulate(counts, 1, seed=seed)
    for f, words in (
        (lambda c: c.Get_group(), "`Get_group` of a communicator"),
        (lambda c: MPI.Request.Waitsome([c.Irecv(np.zeros(1))]), "`Waitsome` of a request"),
    ):
        with pytest.raises(ingot.UnsupportedError, match=words):
            simulate(f, 2, WORLD)


def test_an_exception_has_the_users_line():
    simulation = simulate(lambda c: np.zeros(2)[c.rank], 3, WORLD)
    (finding,) = simulation.findings
    assert finding.kind == "exception" and finding.ranks == (2,) and "IndexError" in finding.message
    assert "np.zeros(2)[c.rank]" in finding.sites[0].text


def test_it_is_quick():
    begin = time.process_time()
    assert simulate(from_anyone, 6, WORLD, buffered=True).complete
    assert time.process_time() - begin < 10.0  # 120 matchings


@pytest.mark.rotated(3)
def test_in_other_processes(tmp_path):
    text = "import sys, ingot, ingot.mpi\nassert 'ingot._mpi' not in sys.modules and 'mpi4py' not in sys.modules\n"
    text += "from mpi4py import MPI\nimport numpy as np\ncomm = MPI.COMM_WORLD\n"
    text += "@ingot.jit\ndef f():\n    comm.Recv(np.zeros(1), 1 - comm.rank)\n"
    text += "print(ingot.mpi.simulate(f, 2).findings[0].lines)\n"
    (tmp_path / "program.py").write_text(text)
    for disable, command in (("1", ["-c", text]), ("0", [str(tmp_path / "program.py")])):
        ran = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=60, env={**os.environ, "INGOT_DISABLE": disable})
        assert ran.stdout == "(8, 8)\n", ran.stderr
