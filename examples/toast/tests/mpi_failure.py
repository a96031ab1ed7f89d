"""Run by mpiexec: the last process fails while the others wait for it."""

from ingot_toast import Comm, mpi

mpi.abort_on_errors()
comm = Comm.of_mpi()
if comm.rank == comm.size - 1:
    raise ArithmeticError("this process fails")
comm.world.Barrier()
