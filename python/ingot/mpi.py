"""MPI in compiled functions: what happens when a rank fails, and ranks that are simulated, to find what is wrong with a program.

The calls themselves are methods of mpi4py's communicators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._routines import exits

if TYPE_CHECKING:
    from ._mpi.findings import Simulation

__all__ = ["errors", "simulate"]


def errors(policy: str) -> str:
    """Choose what an exception that nothing catches does to the other ranks.

    Parameters
    ----------
    policy : {"abort", "raise"}
        ``"abort"``, which holds until this is called: once compiled code has called MPI, such an exception prints its
        traceback and ends the job by `MPI_Abort`, since other ranks may wait for this one. ``"raise"``: it is Python's alone.

    Returns
    -------
    str
        The policy before.

    Raises
    ------
    ValueError
        `policy` is none of these.

    Examples
    --------
    >>> import ingot.mpi
    >>> ingot.mpi.errors("raise")
    'abort'
    >>> ingot.mpi.errors("abort")
    'raise'
    """
    if policy not in ("abort", "raise"):
        raise ValueError(f"the policy is 'abort' or 'raise', not {policy!r}")
    return exits.set_policy(policy)


def simulate(
    f: Callable[..., Any],
    n: int,
    *args: Any,
    limit: int = 1000,
    buffered: bool | None = None,
    timeout: float = 60.0,
    seed: str | None = None,
) -> Simulation:
    """Run a program of `n` ranks in this process, once for each way in which messages may match, and report what is wrong with it.

    Parameters
    ----------
    f : function
        What each rank runs. It runs as Python, and so do the compiled functions that it calls.
    n : int
        How many ranks.
    *args
        Its arguments. Each rank has copies of them, anew in each run; a communicator is the rank's own.
    limit : int, optional
        The most runs.
    buffered : bool, optional
        Whether `Send` returns before its message is received, which MPI leaves open, and whether `Bcast` and `Reduce` do not wait
        for ranks whose data they do not need. By default both are tried.
    timeout : float, optional
        The most seconds of a run.
    seed : str, optional
        The `seed` of a finding: that run alone is made again.

    Returns
    -------
    Simulation
        It has `findings`, each with `kind`, `message`, `ranks`, `sites` (lines) and `seed`; `runs`; `complete`, whether all
        matchings have been run; `results`, what each rank returned in the first run. It is true if nothing was found, its text
        is a report, and `raise_()` raises RuntimeError if something was.

    Raises
    ------
    TypeError
        `f` cannot be called.
    ValueError
        There are no ranks, no runs, no seconds, or the seed is none.
    ModuleNotFoundError
        mpi4py is not installed.

    See Also
    --------
    errors : What an exception does to other ranks in a job of MPI's.

    Notes
    -----
    No message goes through the MPI library, and nothing outside of the function's copies is changed. Ranks have their own globals, as processes
    have. Random numbers of NumPy's and Python's global generators are the same in each run. `print` prints in the first run.

    Examples
    --------
    >>> import ingot.mpi
    >>> from mpi4py import MPI
    >>> def ring(comm, x):
    ...     y = np.empty_like(x)
    ...     comm.Sendrecv(x, (comm.rank + 1) % comm.size, 0, y, (comm.rank - 1) % comm.size)
    ...     return y + comm.rank
    >>> simulation = ingot.mpi.simulate(ring, 3, MPI.COMM_WORLD, np.ones(1))
    >>> bool(simulation), simulation.complete
    (True, True)
    >>> simulation.results
    [array([1.]), array([2.]), array([3.])]
    """
    from ._mpi.exploration import simulate as run

    return run(f, n, args, limit, buffered, timeout, seed)
