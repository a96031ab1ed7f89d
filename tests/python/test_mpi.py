"""mpi4py's communicators in compiled code: programs of several ranks, requests and statuses of callers, exceptions, signals, the cache."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI
from support import refused

import ingot

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
SELF = MPI.COMM_SELF


def environment(**more):
    found = os.environ.get("PYTHONPATH", str(Path(ingot.__file__).resolve().parents[1]))
    return {
        **os.environ, "PYTHONPATH": found, "INGOT_NUM_THREADS": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none", **more,
    }  # fmt: skip


def shared(folder):
    """A cache, by which ranks compile a function once."""
    return {"INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(folder / "cache")}


def start(count, program, *words, **more):
    command = ["mpiexec", "-n", str(count), sys.executable, program, *words]
    return subprocess.Popen(command, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def end(process):
    """Ends a job that has not ended: `mpiexec` ends its ranks, which would wait for ever without it."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def ended(process, seconds=150):
    """The exit code and what it printed; the whole job is killed if it does not end."""
    try:
        out, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        end(process)
        out, errors = process.communicate()
        pytest.fail(f"it has not ended: {out}{errors}")
    return process.returncode, out, errors


@pytest.mark.parametrize("counts", [(2, 4), pytest.param((4, 1), marks=pytest.mark.slow)], ids=str)
def test_programs_of_several_ranks(counts, tmp_path):
    for count in counts:
        code, out, errors = ended(start(count, HERE / "mpi_programs.py", **shared(tmp_path)))
        assert code == 0, errors
        assert out.count("0 differ") == count


@pytest.fixture(scope="module")
def mpich(tmp_path_factory):
    """MPICH's wheel, in a folder of its own: in that of this Python mpi4py would prefer it."""
    folder = tmp_path_factory.mktemp("mpich")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--prefix", folder, "mpich==5.0.2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"MPICH is not to be had: {done.stderr.strip().splitlines()[-1:]}")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("program", ["mpi_programs.py", "mpi_derivatives.py"])
def test_a_library_with_other_handles(mpich, program):
    """Handles are ints of 32 bits there, and constants have other values."""
    command = [mpich / "bin" / "mpiexec", "-n", "2", sys.executable, HERE / program]
    given = environment(LD_LIBRARY_PATH=str(mpich / "lib"), MPI4PY_MPIABI="mpich")
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0 and done.stdout.count("0 differ") == 2, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 4])
def test_derivatives_of_several_ranks(count):
    code, out, errors = ended(start(count, HERE / "mpi_derivatives.py"))
    assert code == 0, errors
    assert out.count("0 differ") == count


@pytest.mark.sampled(5)
@pytest.mark.parametrize("part", range(5))
def test_derivatives_of_two_ranks(part, tmp_path):
    code, out, errors = ended(start(2, HERE / "mpi_derivatives.py", str(part), "4", **shared(tmp_path)))
    assert code == 0, errors
    assert out.count("0 differ") == 2


def run(tmp_path, count, text, **more):
    file = tmp_path / "program.py"
    file.write_text("import ingot\nimport numpy as np\nfrom mpi4py import MPI\n\ncomm = MPI.COMM_WORLD\n\n" + text)
    return ended(start(count, file, **{**shared(tmp_path), **more}), 60)


def test_communicators_are_found_wherever_they_are():
    class Solver:
        def __init__(self, comm):
            self.comm = comm

        def total(self, x):
            y = np.zeros_like(x)
            self.comm.Allreduce(x, y)
            return y

    x = np.arange(3.0)
    solver, in_a_closure = Solver(SELF), MPI.COMM_SELF
    assert np.array_equal(ingot.jit(lambda s, x: s.total(x))(solver, x), x)
    assert ingot.jit(lambda: (in_a_closure.Get_size(), MPI.COMM_WORLD.rank, SELF.rank))() == (1, MPI.COMM_WORLD.rank, 0)
    assert ingot.jit(lambda c: c)(SELF) is SELF
    assert ingot.jit(lambda c: [c, c])([SELF])[0][0] is SELF


def test_one_code_for_all_communicators():
    f = ingot.jit(lambda c: c.Get_size())
    other = SELF.Dup()
    assert f(SELF) == f(other) == 1 and len(f.specialisations) == 1
    other.Free()
    with pytest.raises(MPI.Exception) as raised:
        f(other)
    assert raised.value.Get_error_class() == MPI.ERR_COMM


def test_requests_and_statuses_of_callers():
    sent, received, status = np.arange(4.0), np.zeros(4), MPI.Status()
    receive = SELF.Irecv(received, 0, 5)
    send = SELF.Isend(sent, 0, 5)

    @ingot.jit
    def wait(send, receive, status):
        send.Wait()
        receive.Wait(status)
        return status.Get_count(MPI.DOUBLE), status.tag, bool(send)

    assert wait(send, receive, status) == (4, 5, False)
    assert np.array_equal(received, sent) and status.Get_tag() == 5 and receive == MPI.REQUEST_NULL


def test_requests_leave_compiled_code():
    x, y = np.arange(5.0), np.zeros(5)

    @ingot.jit
    def begin(comm, x, y):
        return comm.Irecv(y, 0, 1), comm.Isend(x * 2, 0, 1), MPI.Status()

    receive, send, status = begin(SELF, x, y)
    assert isinstance(receive, MPI.Request) and isinstance(status, MPI.Status)
    MPI.Request.Waitall([receive, send])
    assert np.array_equal(y, 2 * x)


@pytest.mark.rotated(3)
def test_buffers_stay_until_a_returned_request_has_ended(tmp_path):
    text = """
import time

begin = ingot.jit(lambda x, y: comm.Ialltoall(x * 2, y))
other = ingot.jit(lambda x: (x * 7, x * 8, x * 9))
wait = ingot.jit(lambda r: r.Wait())
for n in (20_000, 1_000_000):
    x, y = np.ones(n), np.zeros(n)
    begin(x, y).Wait()
    other(x)
    if comm.rank == 1:
        comm.Recv(np.zeros(1), 0)
    request = begin(x, y)
    assert type(request) is MPI.Request
    other(x)
    if comm.rank == 0:
        time.sleep(0.2)
        comm.Send(np.zeros(1), 1)
    wait(request)
    assert request == MPI.REQUEST_NULL and y.min() == y.max() == 2.0, (y.min(), y.max())
"""
    code, _, errors = run(tmp_path, 2, text)
    assert code == 0, errors


def test_communicators_that_are_made_leave_compiled_code():
    made = ingot.jit(lambda c: (c.Dup(), c.Create_cart([1], [True])))(SELF)
    assert type(made[0]) is MPI.Intracomm and type(made[1]) is MPI.Cartcomm and made[1].Get_dim() == 1
    for each in made:
        each.Free()


def test_views_with_gaps_are_packed():
    x = np.arange(24.0).reshape(4, 6)

    @ingot.jit
    def columns(comm, x):
        y = np.zeros((4, 6))
        request = comm.Isend(x[1], 0, 9)
        comm.Recv(y[::2, 3][:2], 0, 9) if x.shape[0] == 0 else comm.Recv(y[3], 0, 9)
        request.Wait()
        comm.Sendrecv(x[:, 1], 0, 0, y[:, 2], 0, 0)
        comm.Allreduce(x[::-1, ::2], y[:, ::2], MPI.MAX)
        comm.Bcast(y[1:3, ::-1])
        return y

    expected = np.zeros((4, 6))
    expected[3] = x[1]
    expected[:, 2] = x[:, 1]
    expected[:, ::2] = x[::-1, ::2]
    assert np.array_equal(columns(SELF, x), expected)
    with pytest.raises(BufferError, match="not contiguous"):
        ingot.jit(lambda c, x: c.Isend(x[:, 1], 0))(SELF, x)
    with pytest.raises(BufferError, match="not contiguous"):
        ingot.jit(lambda c, x: c.Send([x[:, 1], MPI.DOUBLE], 0))(SELF, x)


def test_records_go_as_bytes():
    dtype = np.dtype([("a", "i4"), ("b", "f8")])
    x = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], dtype)
    y = np.zeros(3, dtype)
    ingot.jit(lambda c, x, y: c.Sendrecv(x, 0, 0, y, 0, 0))(SELF, x, y)
    assert np.array_equal(x, y)
    z = np.zeros(3, dtype)
    ingot.jit(lambda c, x, y: c.Sendrecv([x, (1, 1)], 0, 0, [y, 1], 0, 0))(SELF, x, z)
    assert z[0] == x[1] and z[1] == np.zeros((), dtype)
    refused(lambda c, x, y: c.Allreduce(x, y), SELF, x, y, words="a reduction of records")


def test_buffers_of_python_and_datatypes_that_are_made():
    import array

    kind = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
    x, y = np.arange(6.0), np.zeros(6)
    f = ingot.jit(lambda c, x, y, kind: c.Sendrecv([x, 1, kind], 0, 0, [y, 1, kind], 0, 0))
    f(SELF, x, y, kind)
    assert np.array_equal(y, [0, 0, 2, 0, 4, 0])
    with pytest.raises(ValueError, match="too small"):
        f(SELF, np.zeros(4), y, kind)
    kind.Free()
    a, b = array.array("d", [1.0, 2.0]), bytearray(16)
    ingot.jit(lambda c, a, b: c.Sendrecv(a, 0, 0, [b, MPI.BYTE], 0, 0) if len(a) == 0 else c.Sendrecv([a, "d"], 0, 0, [b, MPI.DOUBLE], 0, 0))(SELF, a, b)
    assert bytes(b) == a.tobytes()


@pytest.mark.parametrize("count", [5, 2**31])
def test_counts_that_do_not_fit(count):
    x = np.zeros(4)
    with pytest.raises(ValueError, match="too small"):
        ingot.jit(lambda c, x, n: c.Send([x, n], 0))(SELF, x, count)
    with pytest.raises(ValueError, match="too small"):
        ingot.jit(lambda c, x, n: c.Recv([x, n, MPI.DOUBLE], 0))(SELF, x, count)


def test_counts_beyond_ints():
    x = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**31 + 5,), (0,))
    from ingot.library.mpi_messages import small

    with pytest.raises(OverflowError, match="does not fit an int"):
        ingot.jit(small)(x.size)


def test_read_only_arrays_are_not_received_into():
    x = np.zeros(4)
    x.flags.writeable = False
    ingot.jit(lambda c, x: c.Isend(x, 0).Free())(SELF, x)
    SELF.Recv(np.zeros(4), 0)
    with pytest.raises(BufferError, match="not writable"):
        ingot.jit(lambda c, x: c.Recv(x, 0))(SELF, x)


def test_exceptions_are_at_the_users_line():
    @ingot.jit
    def f(comm, x):
        comm.Barrier()
        comm.Send(x, 99)

    with pytest.raises(MPI.Exception) as raised:
        f(SELF, np.zeros(3))
    assert raised.value.Get_error_class() == MPI.ERR_RANK
    last = raised.traceback[-1]
    assert last.path == Path(__file__) and "comm.Send(x, 99)" in str(last.statement)


def test_what_is_refused():
    x = np.zeros(3)
    own = MPI.Op.Create(lambda a, b, kind: None)
    refused(lambda c, x: c.allreduce(x), SELF, x, words="this attribute of an object of mpi4py's")
    refused(lambda c, x: c.Alltoallw(x, x), SELF, x, words="this attribute of an object of mpi4py's")
    refused(lambda c, x: c.Allreduce(x, x.copy(), own), SELF, x, words="op")
    own.Free()

    def in_prange(comm, x):
        for i in ingot.prange(3):
            comm.Send(x[i : i + 1], 0)

    refused(in_prange, SELF, x, words="prange")


@pytest.mark.rotated(3)
def test_the_cache_has_no_handles(tmp_path):
    text = """
@ingot.jit
def f(comm, x):
    y = np.empty_like(x)
    comm.Allreduce(x, y, MPI.MAX)
    MPI.Request.Waitall([MPI.COMM_WORLD.Ibarrier()])
    try:
        comm.Allreduce(MPI.IN_PLACE, [y, MPI.DOUBLE])
    except MPI.Exception:
        return x
    return y

print(f(MPI.COMM_SELF, np.arange(3.0)), f.specialisations[0].why)
"""
    runs = [run(tmp_path, 1, text) for _ in range(2)]
    assert [out.strip() for _, out, _ in runs] == ["[0. 1. 2.] the first call", "[0. 1. 2.] the cache"], runs


FAILS = """
@ingot.jit
def f(comm, x):
    if comm.rank == 1:
        x[len(x)] = 0.0
    comm.Barrier()

f(comm, np.zeros(3))
"""


def test_an_exception_ends_the_job(tmp_path):
    code, _, errors = run(tmp_path, 2, FAILS)
    assert code != 0 and "IndexError" in errors and "x[len(x)] = 0.0" in errors


@pytest.mark.rotated(3)
def test_exceptions_may_be_pythons_alone(tmp_path):
    text = """
import atexit
import ingot.mpi

ingot.mpi.errors("raise")
atexit.register(print, "at exit")

@ingot.jit
def f(comm, x):
    if comm.rank == 1:
        x[len(x)] = 0.0

f(comm, np.zeros(3))
"""
    code, out, errors = run(tmp_path, 2, text)
    assert code != 0 and "IndexError" in errors and out.count("at exit") == 2
    assert ingot.mpi.errors("abort") == "abort"
    with pytest.raises(ValueError, match="'abort' or 'raise'"):
        ingot.mpi.errors("ignore")


WAITS = """
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)

@ingot.jit
def f(comm, x):
    comm.Recv(x, comm.rank, 77)

x = np.zeros(4)
f_before = ingot.jit(lambda c: c.Get_size())(comm)
if comm.rank == 0:
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        f(comm, x)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    other = comm.Isend(np.ones(4), 0, 77)
    f(comm, x)
    print(x, flush=True)
"""


@pytest.mark.rotated(3)
def test_signals_end_a_receive(tmp_path):
    code, out, errors = run(tmp_path, 1, WAITS)
    assert code == 0 and out.split("\n")[:2] == ["interrupted", "[1. 1. 1. 1.]"], (out, errors)


CATCHES = """
import os, signal, threading

class Timeout(Exception):
    pass

def handle(number, frame):
    raise Timeout("late")

signal.signal(signal.SIGALRM, handle)

@ingot.jit
def f(comm, x, z):
    try:
        comm.Recv(x, 0, 7)
    except BaseException:
        z[0] = 5
    z[1] = 2
    return 3

@ingot.jit
def g(comm, x):
    comm.Recv(x, 0, 7)

x, z = np.zeros(4), np.zeros(2)
ingot.jit(lambda c: c.Get_size())(comm)
signal.setitimer(signal.ITIMER_REAL, 1.0)
try:
    print(f(comm, x, z), z)
except Timeout as error:
    print(error, z)
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    g(comm, x)
except Timeout as error:
    print("late:", error)
"""


@pytest.mark.rotated(3)
def test_what_handlers_raise_in_a_receive_leaves_the_call(tmp_path):
    code, out, errors = run(tmp_path, 1, CATCHES)
    assert code == 0 and out.strip() == "late [0. 0.]\nlate: late", (out, errors)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_mpiexec_ends_a_job_that_waits(tmp_path, signal_number):
    file = tmp_path / "program.py"
    file.write_text(
        "import ingot\nimport numpy as np\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
        "f = ingot.jit(lambda c: c.Barrier())\nf(comm)\nprint('here', flush=True)\n"
        "f(comm) if comm.rank == 0 else comm.Recv(np.zeros(1), 0, 99)\n"
    )
    process = start(2, file)
    try:
        assert process.stdout.readline().startswith("here")
        time.sleep(0.5)
        process.send_signal(signal_number)
        code, _, _ = ended(process, 60)
        assert code != 0
    finally:
        if process.poll() is None:
            end(process)


def test_the_level_of_threads_is_looked_at(tmp_path):
    text = """
import threading

@ingot.jit
def f(comm, x):
    comm.Bcast(x)
    return x

def elsewhere():
    try:
        f(comm, np.ones(2))
    except RuntimeError as error:
        print(error)

print(f(comm, np.ones(2)))
other = threading.Thread(target=elsewhere)
other.start()
other.join()
"""
    file = tmp_path / "program.py"
    file.write_text("import mpi4py\nmpi4py.rc.thread_level = 'funneled'\nimport ingot\nimport numpy as np\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n" + text)
    code, out, errors = ended(start(1, file), 60)
    assert code == 0 and out.split("\n")[:2] == ["[1. 1.]", "MPI was initialized for calls of the main thread alone, and another one calls"], (out, errors)


@pytest.mark.rotated(3)
def test_a_killed_rank_ends_the_job(tmp_path):
    code, _, errors = run(
        tmp_path,
        2,
        "import os, signal\nf = ingot.jit(lambda c: c.Barrier())\nf(comm)\nif comm.rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\nf(comm)\n",
    )
    assert code != 0 and "signal 9" in errors


def test_one_communicator_serves_both_sides(tmp_path):
    text = """
@ingot.jit
def f(comm, x, step):
    comm.Send(x, (comm.rank + 1) % comm.size, step)

for step in range(50):
    request = comm.irecv(source=MPI.ANY_SOURCE, tag=1000 + step)
    comm.send({"step": step}, (comm.rank + 1) % comm.size, tag=1000 + step)
    x = np.full(3, float(step))
    y = np.zeros(3)
    receive = comm.Irecv(y, MPI.ANY_SOURCE, step)
    f(comm, x, step)
    receive.Wait()
    assert y[0] == step and request.wait()["step"] == step
print("fine")
"""
    code, out, errors = run(tmp_path, 2, text)
    assert code == 0 and out.count("fine") == 2, errors


PROGRAM = re.compile(r"^```py\n# (\w+\.py): mpiexec -n (\d) python \1\n(.*?)^```$", re.M | re.S)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(4))
def test_programs_of_the_guide_run(number, tmp_path):
    found = PROGRAM.findall((DOCS / "guides" / "mpi.md").read_text())
    assert [name for name, _, _ in found] == ["pi.py", "halo.py", "fit.py", "slope.py"]
    expected = {"pi.py": "3.141592653598", "halo.py": "(66, 64)", "fit.py": "[ 1.  -2.   0.5]", "slope.py": "[-16.   0.   0.   0.]"}
    name, _, text = found[number]
    (tmp_path / name).write_text(text)
    code, out, errors = ended(start(2, tmp_path / name), 60)
    assert code == 0 and expected[name] in out, (name, out, errors)
