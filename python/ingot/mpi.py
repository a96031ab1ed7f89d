"""MPI in compiled functions: what happens when a rank fails. The calls themselves are methods of mpi4py's communicators."""

from __future__ import annotations

from ._routines import exits

__all__ = ["errors"]


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
