"""The threads that share the iterations of parallel loops."""

import operator

from .. import _ingot


def get_num_threads() -> int:
    """Return how many threads a loop may use, the calling one included.

    Returns
    -------
    int
        The number.

    See Also
    --------
    set_num_threads : Set it.

    Examples
    --------
    >>> ingot.get_num_threads() >= 1
    True
    """
    return _ingot.get_num_threads()


def set_num_threads(count: int) -> None:
    """Set how many threads a loop may use.

    Parameters
    ----------
    count : int
        The number, the calling thread included; 1: only the calling one.

    Raises
    ------
    ValueError
        `count` is less than 1.

    Notes
    -----
    Results are the same bits for any number. At first it is the environment variable INGOT_NUM_THREADS, else the number
    of CPUs that the process may use - by its affinity and the quotas of its control groups -, or OMP_NUM_THREADS where that
    is less. `threadpoolctl.threadpool_limits` sets it, too, as for OpenMP's threads.

    Examples
    --------
    >>> before = ingot.get_num_threads()
    >>> ingot.set_num_threads(1)
    >>> ingot.get_num_threads()
    1
    >>> ingot.set_num_threads(before)
    """
    count = operator.index(count)
    if not 1 <= count <= _ingot.MAX_THREADS:
        raise ValueError(f"the number of threads is from 1 to {_ingot.MAX_THREADS}, not {count}")
    _ingot.set_num_threads(count)
