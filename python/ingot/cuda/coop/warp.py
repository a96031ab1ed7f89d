"""Functions that the lanes of a warp call together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...library import coop, coop_moves
from ...library.coop_moves import WarpExchangeType
from ._made import described, made

WarpExchangeType.__module__ = __name__  # where users find it, and pickles name it


@described
def reduce(dtype: Any, binary_op: Any, threads_in_warp: int = 32) -> Any:
    """Make a function that joins the items of the lanes of a warp.

    Parameters
    ----------
    {dtype}
    {binary_op}
    {threads_in_warp}

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


@described
def sum(dtype: Any, threads_in_warp: int = 32) -> Any:
    """Make a function that adds the items of the lanes of a warp.

    Parameters
    ----------
    {dtype}
    {threads_in_warp}

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


@described
def inclusive_sum(dtype: Any, threads_in_warp: int = 32) -> Any:
    """Make a function that adds each item of a warp to those before it.

    Parameters
    ----------
    {dtype}
    {threads_in_warp}

    Returns
    -------
    callable
        ``scan(item)`` in kernels.

    See Also
    --------
    exclusive_sum, ingot.cuda.coop.block.inclusive_sum
    """
    return made(coop.warp_inclusive_sum, dtype, threads_in_warp)


@described
def exclusive_sum(dtype: Any, threads_in_warp: int = 32) -> Any:
    """Make a function that adds the items of a warp before each one.

    Parameters
    ----------
    {dtype}
    {threads_in_warp}

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


@described
def inclusive_scan(dtype: Any, scan_op: Any, initial_value: Any = None, threads_in_warp: int = 32) -> Any:
    """Make a function that joins each item of a warp with those before it.

    Parameters
    ----------
    {dtype}
    {scan_op}
    {first_of_inclusive}
    {threads_in_warp}

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


@described
def exclusive_scan(dtype: Any, scan_op: Any, initial_value: Any = None, threads_in_warp: int = 32) -> Any:
    """Make a function that joins the items of a warp before each one.

    Parameters
    ----------
    {dtype}
    {scan_op}
    {first_of_exclusive}
    {threads_in_warp}

    Returns
    -------
    callable
        ``scan(item)`` in kernels, or ``scan(item, initial_value)``.

    See Also
    --------
    inclusive_scan, ingot.cuda.coop.block.exclusive_scan
    """
    return made(coop.warp_exclusive_scan, dtype, scan_op, initial_value, threads_in_warp)


@described
def merge_sort_keys(dtype: Any, items_per_thread: int, compare_op: Any, threads_in_warp: int = 32, threads_per_block: Any = 1024) -> Any:
    """Make a function that sorts the keys of a warp by a comparison.

    Parameters
    ----------
    dtype : dtype
        Of the keys.
    {known_items_per_thread}
    {compare_op}
    {threads_in_warp}
    {most_threads}

    Returns
    -------
    callable
        ``sort(keys)`` in kernels, with an array of `items_per_thread`; ``sort(keys, num_valid)`` sorts the first ones of the warp.

    See Also
    --------
    ingot.cuda.coop.block.merge_sort_keys

    Notes
    -----
    {stable}

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
    return made(coop_moves.warp_merge_sort_keys, dtype, items_per_thread, compare_op, threads_in_warp, threads_per_block)


@described
def merge_sort_pairs(dtype: Any, value_dtype: Any, items_per_thread: int, compare_op: Any, threads_in_warp: int = 32, threads_per_block: Any = 1024) -> Any:
    """Make a function that sorts the keys of a warp by a comparison, and values with them.

    Parameters
    ----------
    dtype : dtype
        Of the keys.
    {value_dtype}
    {known_items_per_thread}
    {compare_op}
    {threads_in_warp}
    {most_threads}

    Returns
    -------
    callable
        ``sort(keys, values)`` in kernels, with arrays of `items_per_thread`; or ``sort(keys, values, num_valid)``.

    See Also
    --------
    merge_sort_keys, ingot.cuda.coop.block.merge_sort_pairs

    Notes
    -----
    {stable}
    """
    return made(coop_moves.warp_merge_sort_pairs, dtype, value_dtype, items_per_thread, compare_op, threads_in_warp, threads_per_block)


@described
def exchange(warp_exchange_type: WarpExchangeType, dtype: Any, items_per_thread: int = 1, threads_in_warp: int = 32, threads_per_block: Any = 1024) -> Any:
    """Make a function that moves items between the lanes of a warp.

    Parameters
    ----------
    warp_exchange_type : WarpExchangeType
        From which arrangement into which.
    {dtype}
    {items_per_thread}
    {threads_in_warp}
    {most_threads}

    Returns
    -------
    callable
        ``exchange(items, out)`` in kernels, with arrays of `items_per_thread`; without `out` the items are replaced. Where they scatter,
        ``exchange(items, out, ranks)`` with the position of each item in the warp.

    See Also
    --------
    load, ingot.cuda.coop.block.exchange

    Notes
    -----
    Item k of lane i is at i * items_per_thread + k in a blocked arrangement, and at k * lanes + i in a striped one.

    Examples
    --------
    >>> from ingot import cuda
    >>> kind = cuda.coop.warp.WarpExchangeType.StripedToBlocked
    >>> exchange = cuda.coop.warp.exchange(kind, np.int64, 2)
    >>> @cuda.jit
    ... def kernel(x):
    ...     first = 2 * cuda.threadIdx.x
    ...     exchange(x[first : first + 2])
    >>> x = np.array([0, 3, 1, 4, 2, 5])
    >>> with ingot.device("emulated"):
    ...     kernel[1, 3](x)
    >>> x
    array([0, 1, 2, 3, 4, 5])
    """
    return made(coop_moves.warp_exchange, warp_exchange_type, dtype, items_per_thread, threads_in_warp, threads_per_block)


@described
def load(dtype: Any, items_per_thread: int = 1, threads_in_warp: int = 32, algorithm: str = "direct") -> Any:
    """Make a function by which the lanes of a warp read an array.

    Parameters
    ----------
    {dtype}
    {items_per_thread}
    {threads_in_warp}
    algorithm : {'direct', 'vectorize', 'transpose', 'striped'}, default 'direct'
        'striped' gives item k of lane i from k * lanes + i; the others give each lane items that are next to each other.

    Returns
    -------
    callable
        ``load(src, items)`` in kernels fills an array of `items_per_thread` from an array of one axis, that of the warp.
        ``load(src, items, num_valid, default)`` reads the first `num_valid` elements; the other items are `default`, or left as they are.

    See Also
    --------
    store, ingot.cuda.coop.block.load

    Examples
    --------
    >>> from ingot import cuda
    >>> load = cuda.coop.warp.load(np.float64, 2)
    >>> store = cuda.coop.warp.store(np.float64, 2, algorithm="striped")
    >>> @cuda.jit
    ... def kernel(x, out):
    ...     items = cuda.local.array(2, np.float64)
    ...     load(x, items, x.size, 0.0)
    ...     store(out, items)
    >>> out = np.empty(8)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 4](np.arange(1.0, 8.0), out)
    >>> out
    array([1., 3., 5., 7., 2., 4., 6., 0.])
    """
    return made(coop_moves.warp_load, dtype, items_per_thread, threads_in_warp, algorithm)


@described
def store(dtype: Any, items_per_thread: int = 1, threads_in_warp: int = 32, algorithm: str = "direct") -> Any:
    """Make a function by which the lanes of a warp write an array.

    Parameters
    ----------
    {dtype}
    {items_per_thread}
    {threads_in_warp}
    algorithm : {'direct', 'vectorize', 'transpose', 'striped'}, default 'direct'
        As of `load`.

    Returns
    -------
    callable
        ``store(dst, items)`` in kernels writes an array of `items_per_thread`, or a number, into an array of one axis, that of the warp.
        ``store(dst, items, num_valid)`` writes its first `num_valid` elements.

    See Also
    --------
    load, ingot.cuda.coop.block.store
    """
    return made(coop_moves.warp_store, dtype, items_per_thread, threads_in_warp, algorithm)


__all__ = [
    "WarpExchangeType",
    "exchange",
    "exclusive_scan",
    "exclusive_sum",
    "inclusive_scan",
    "inclusive_sum",
    "load",
    "merge_sort_keys",
    "merge_sort_pairs",
    "reduce",
    "store",
    "sum",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ..._refusals.missing import error

        raise error(__name__, name)
