"""The threads that share the iterations of parallel loops."""

import operator

from . import _ingot


def get_num_threads() -> int:
    """How many threads a loop may use, the calling one included."""
    return _ingot.get_num_threads()


def set_num_threads(count: int) -> None:
    """From now on loops use at most `count` threads; 1: only the calling one. Results are the same bits for any number.

    At first it is the environment variable INGOT_NUM_THREADS, else the number of CPUs that the process may use.
    """
    count = operator.index(count)
    if not 1 <= count <= _ingot.MAX_THREADS:
        raise ValueError(f"the number of threads is from 1 to {_ingot.MAX_THREADS}, not {count}")
    _ingot.set_num_threads(count)
