"""Functions that the lanes of a warp call together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...library import coop, coop_items
from ._made import made


def reduce(dtype: Any, binary_op: Any, threads_in_warp: int = 32) -> Any:
    """Make a function that joins the items of the lanes of a warp.

    Parameters
    ----------
    dtype : dtype
        Of the items.
    binary_op : callable or str
        An associative function of two numbers, or one of '+', '*', 'min', 'max', '&', '|', '^'.
    threads_in_warp : int, default 32
        The lanes that work together, 1 to 32. A warp is divided into groups of so many; the last one may be smaller.

    Returns
    -------
    callable
        ``reduce(item)`` in kernels: what the items of all lanes are together, for every lane. ``reduce(item, num_valid)`` takes those of
        the first `num_valid` lanes.

    See Also
    --------
    sum, ingot.cuda.coop.block.reduce

    Notes
    -----
    Lanes join in a tree of neighbours: results depend on the number of lanes alone, and the function need not be commutative.

    Examples
    --------
    >>> from ingot import cuda
    >>> most = cuda.coop.warp.reduce(np.int64, lambda a, b: max(a, b))
    >>> @cuda.jit
    ... def kernel(x, out):
    ...     i = cuda.threadIdx.x
    ...     out[i] = most(x[i])
    >>> out = np.zeros(8, int)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 8](np.arange(8), out)
    >>> out
    array([7, 7, 7, 7, 7, 7, 7, 7])
    """
    return made(coop.warp_reduce, dtype, binary_op, threads_in_warp)


def sum(dtype: Any, threads_in_warp: int = 32) -> Any:
    """Make a function that adds the items of the lanes of a warp.

    Parameters
    ----------
    dtype : dtype
        Of the items.
    threads_in_warp : int, default 32
        The lanes that work together, 1 to 32. A warp is divided into groups of so many; the last one may be smaller.

    Returns
    -------
    callable
        ``sum(item)`` in kernels, or ``sum(item, num_valid)``, as of `reduce`; of no lanes it is 0.

    See Also
    --------
    reduce, ingot.cuda.coop.block.sum

    Examples
    --------
    >>> from ingot import cuda
    >>> total = cuda.coop.warp.sum(np.int64)
    >>> @cuda.jit
    ... def kernel(x, out):
    ...     i = cuda.threadIdx.x
    ...     out[i] = total(x[i])
    >>> out = np.zeros(8, int)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 8](np.arange(8), out)
    >>> out
    array([28, 28, 28, 28, 28, 28, 28, 28])
    """
    return made(coop.warp_sum, dtype, threads_in_warp)


def inclusive_sum(dtype: Any, threads_in_warp: int = 32) -> Any:
    """Make a function that adds each item of a warp to those before it.

    Parameters
    ----------
    dtype : dtype
        Of the items.
    threads_in_warp : int, default 32
        The lanes that work together, 1 to 32. A warp is divided into groups of so many; the last one may be smaller.

    Returns
    -------
    callable
        ``scan(item)`` in kernels.

    See Also
    --------
    exclusive_sum, ingot.cuda.coop.block.inclusive_sum
    """
    return made(coop.warp_inclusive_sum, dtype, threads_in_warp)


def exclusive_sum(dtype: Any, threads_in_warp: int = 32) -> Any:
    """Make a function that adds the items of a warp before each one.

    Parameters
    ----------
    dtype : dtype
        Of the items.
    threads_in_warp : int, default 32
        The lanes that work together, 1 to 32. A warp is divided into groups of so many; the last one may be smaller.

    Returns
    -------
    callable
        ``scan(item)`` in kernels.

    See Also
    --------
    inclusive_sum, ingot.cuda.coop.block.exclusive_sum

    Examples
    --------
    >>> from ingot import cuda
    >>> scan = cuda.coop.warp.exclusive_sum(np.int64)
    >>> @cuda.jit
    ... def kernel(x, out):
    ...     i = cuda.threadIdx.x
    ...     out[i] = scan(x[i])
    >>> out = np.zeros(6, int)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 6](np.array([3, 1, 4, 1, 5, 9]), out)
    >>> out
    array([ 0,  3,  4,  8,  9, 14])
    """
    return made(coop.warp_exclusive_sum, dtype, threads_in_warp)


def inclusive_scan(dtype: Any, scan_op: Any, initial_value: Any = None, threads_in_warp: int = 32) -> Any:
    """Make a function that joins each item of a warp with those before it.

    Parameters
    ----------
    dtype : dtype
        Of the items.
    scan_op : callable or str
        An associative function of two numbers, or one of '+', '*', 'min', 'max', '&', '|', '^'.
    initial_value : number, optional
        Comes before the first item. Without one the first item begins.
    threads_in_warp : int, default 32
        The lanes that work together, 1 to 32. A warp is divided into groups of so many; the last one may be smaller.

    Returns
    -------
    callable
        ``scan(item)`` in kernels, or ``scan(item, initial_value)``.

    See Also
    --------
    exclusive_scan, ingot.cuda.coop.block.inclusive_scan

    Notes
    -----
    Lanes join at distances 1, 2, 4, 8 and 16: results depend on the number of lanes alone, and the function need not be commutative.
    """
    return made(coop.warp_inclusive_scan, dtype, scan_op, initial_value, threads_in_warp)


def exclusive_scan(dtype: Any, scan_op: Any, initial_value: Any = None, threads_in_warp: int = 32) -> Any:
    """Make a function that joins the items of a warp before each one.

    Parameters
    ----------
    dtype : dtype
        Of the items.
    scan_op : callable or str
        An associative function of two numbers, or one of '+', '*', 'min', 'max', '&', '|', '^'.
    initial_value : number, optional
        Comes before the first item. It is the first result, and has to be given but for sums.
    threads_in_warp : int, default 32
        The lanes that work together, 1 to 32. A warp is divided into groups of so many; the last one may be smaller.

    Returns
    -------
    callable
        ``scan(item)`` in kernels, or ``scan(item, initial_value)``.

    See Also
    --------
    inclusive_scan, ingot.cuda.coop.block.exclusive_scan
    """
    return made(coop.warp_exclusive_scan, dtype, scan_op, initial_value, threads_in_warp)


def merge_sort_keys(dtype: Any, items_per_thread: int, compare_op: Any, threads_in_warp: int = 32, threads_per_block: Any = 1024) -> Any:
    """Make a function that sorts the keys of a warp by a comparison.

    Parameters
    ----------
    dtype : dtype
        Of the keys.
    items_per_thread : int
        How many items each thread has.
    compare_op : callable
        Of two keys: whether the first is to come before the second.
    threads_in_warp : int, default 32
        The lanes that work together, 1 to 32. A warp is divided into groups of so many; the last one may be smaller.
    threads_per_block : int or tuple of int, default 1024
        The most threads of the blocks that call it: memory of the block is taken for so many.

    Returns
    -------
    callable
        ``sort(keys)`` in kernels, with an array of `items_per_thread`; ``sort(keys, num_valid)`` sorts the first ones of the warp.

    See Also
    --------
    ingot.cuda.coop.block.merge_sort_keys

    Notes
    -----
    Keys of which none comes before the other stay in their order.

    Examples
    --------
    >>> from ingot import cuda
    >>> sort = cuda.coop.warp.merge_sort_keys(np.int64, 2, lambda a, b: a < b)
    >>> @cuda.jit
    ... def kernel(x):
    ...     first = 2 * cuda.threadIdx.x
    ...     sort(x[first : first + 2])  # the two items of the thread
    >>> x = np.array([3, 1, 4, 1, 5, 9])
    >>> with ingot.device("emulated"):
    ...     kernel[1, 3](x)
    >>> x
    array([1, 1, 3, 4, 5, 9])
    """
    return made(coop_items.warp_merge_sort_keys, dtype, items_per_thread, compare_op, threads_in_warp, threads_per_block)


__all__ = [
    "exclusive_scan",
    "exclusive_sum",
    "inclusive_scan",
    "inclusive_sum",
    "merge_sort_keys",
    "reduce",
    "sum",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ..._refusals.missing import error

        raise error(__name__, name)
