"""Functions that all threads of a block call together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...library import coop, coop_items, coop_moves
from ...library.coop_items import BlockAdjacentDifferenceType, BlockDiscontinuityType, BlockExchangeType
from ...library.coop_moves import BlockShuffleType
from ._made import described, made

for _kind in (BlockExchangeType, BlockAdjacentDifferenceType, BlockDiscontinuityType, BlockShuffleType):
    _kind.__module__ = __name__  # where users find it, and pickles name it


@described
def reduce(dtype: Any, threads_per_block: Any, binary_op: Any, items_per_thread: int = 1, algorithm: str = "warp_reductions") -> Any:
    """Make a function that joins the items of all threads of a block.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {binary_op}
    {items_per_thread}
    {reduction_algorithm}

    Returns
    -------
    callable
        ``reduce(item)`` in kernels, or ``reduce(items)`` with an array of `items_per_thread`: what the items of all threads are together,
        for every thread. ``reduce(items, num_valid)`` takes the first `num_valid` items of the block.

    See Also
    --------
    sum, inclusive_scan

    Notes
    -----
    Each thread joins its items in their order, the lanes of a warp join theirs in a tree of neighbours, and the warps follow in their order:
    results depend on the number of threads and of items alone, and the function need not be commutative.

    Examples
    --------
    >>> from ingot import cuda
    >>> most = cuda.coop.block.reduce(np.int64, 8, lambda a, b: max(a, b))
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
    return made(coop.block_reduce, dtype, threads_per_block, binary_op, items_per_thread, algorithm)


@described
def sum(dtype: Any, threads_per_block: Any, items_per_thread: int = 1, algorithm: str = "warp_reductions") -> Any:
    """Make a function that adds the items of all threads of a block.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {items_per_thread}
    {reduction_algorithm}

    Returns
    -------
    callable
        ``sum(item)`` in kernels, or ``sum(items)`` with an array of `items_per_thread`: what the items of all threads are together,
        for every thread. ``sum(items, num_valid)`` takes the first `num_valid` items of the block. Of none it is 0.

    See Also
    --------
    reduce

    Notes
    -----
    The order is that of `reduce`; sums have the dtype of the items.

    Examples
    --------
    >>> from ingot import cuda
    >>> total = cuda.coop.block.sum(np.int64, 8)
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
    return made(coop.block_sum, dtype, threads_per_block, items_per_thread, algorithm)


@described
def inclusive_sum(dtype: Any, threads_per_block: Any, items_per_thread: int = 1, algorithm: str = "raking") -> Any:
    """Make a function that adds each item of a block to those before it.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {items_per_thread}
    {scan_algorithm}

    Returns
    -------
    {scanned}

    See Also
    --------
    exclusive_sum, inclusive_scan

    Notes
    -----
    The order is that of `inclusive_scan`.

    Examples
    --------
    >>> from ingot import cuda
    >>> scan = cuda.coop.block.inclusive_sum(np.int64, 6)
    >>> @cuda.jit
    ... def kernel(x, out):
    ...     i = cuda.threadIdx.x
    ...     out[i] = scan(x[i])
    >>> out = np.zeros(6, int)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 6](np.array([3, 1, 4, 1, 5, 9]), out)
    >>> out
    array([ 3,  4,  8,  9, 14, 23])
    """
    return made(coop.block_inclusive_sum, dtype, threads_per_block, items_per_thread, algorithm)


@described
def exclusive_sum(dtype: Any, threads_per_block: Any, items_per_thread: int = 1, algorithm: str = "raking") -> Any:
    """Make a function that adds the items of a block before each one.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {items_per_thread}
    {scan_algorithm}

    Returns
    -------
    {scanned}

    See Also
    --------
    inclusive_sum, exclusive_scan

    Notes
    -----
    The order is that of `inclusive_scan`, after a 0.

    Examples
    --------
    >>> from ingot import cuda
    >>> scan = cuda.coop.block.exclusive_sum(np.int64, 6)
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
    return made(coop.block_exclusive_sum, dtype, threads_per_block, items_per_thread, algorithm)


@described
def inclusive_scan(dtype: Any, threads_per_block: Any, scan_op: Any, initial_value: Any = None, items_per_thread: int = 1, algorithm: str = "raking") -> Any:
    """Make a function that joins each item of a block with those before it.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {scan_op}
    {first_of_inclusive}
    {items_per_thread}
    {scan_algorithm}

    Returns
    -------
    {scanned}

    See Also
    --------
    exclusive_scan, inclusive_sum

    Notes
    -----
    {order_of_scans}

    Examples
    --------
    >>> from ingot import cuda
    >>> scan = cuda.coop.block.inclusive_scan(np.int64, 6, "max")
    >>> @cuda.jit
    ... def kernel(x, out):
    ...     i = cuda.threadIdx.x
    ...     out[i] = scan(x[i])
    >>> out = np.zeros(6, int)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 6](np.array([3, 1, 4, 1, 5, 9]), out)
    >>> out
    array([3, 3, 4, 4, 5, 9])
    """
    return made(coop.block_inclusive_scan, dtype, threads_per_block, scan_op, initial_value, items_per_thread, algorithm)


@described
def exclusive_scan(dtype: Any, threads_per_block: Any, scan_op: Any, initial_value: Any = None, items_per_thread: int = 1, algorithm: str = "raking") -> Any:
    """Make a function that joins the items of a block before each one.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {scan_op}
    {first_of_exclusive}
    {items_per_thread}
    {scan_algorithm}

    Returns
    -------
    {scanned}

    See Also
    --------
    inclusive_scan, exclusive_sum

    Notes
    -----
    {order_of_scans}

    Examples
    --------
    >>> from ingot import cuda
    >>> scan = cuda.coop.block.exclusive_scan(np.int64, 6, "max", 0)
    >>> @cuda.jit
    ... def kernel(x, out):
    ...     i = cuda.threadIdx.x
    ...     out[i] = scan(x[i])
    >>> out = np.zeros(6, int)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 6](np.array([3, 1, 4, 1, 5, 9]), out)
    >>> out
    array([0, 3, 3, 4, 4, 5])
    """
    return made(coop.block_exclusive_scan, dtype, threads_per_block, scan_op, initial_value, items_per_thread, algorithm)


@described
def radix_sort_keys(dtype: Any, threads_per_block: Any, items_per_thread: int) -> Any:
    """Make a function that sorts the keys of a block.

    Parameters
    ----------
    {key_dtype}
    {threads_per_block}
    {known_items_per_thread}

    Returns
    -------
    callable
        ``sort(keys)`` in kernels, with an array of `items_per_thread`, which is sorted with those of the other threads: the first thread gets
        the first ones. ``sort(keys, begin_bit, end_bit)`` orders by these bits alone.

    See Also
    --------
    radix_sort_keys_descending, radix_sort_pairs, merge_sort_keys

    Notes
    -----
    The order is NumPy's, with NaN at its end; equal keys stay in their order. It is a merge of runs, for any number of threads. Bits are those
    of unsigned integers in the order of the keys: the sign of signed ones is inverted, and all bits of negative floats are.

    Examples
    --------
    >>> from ingot import cuda
    >>> sort = cuda.coop.block.radix_sort_keys(np.int64, 3, 2)
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
    return made(coop_items.block_radix_sort_keys, dtype, threads_per_block, items_per_thread)


@described
def radix_sort_keys_descending(dtype: Any, threads_per_block: Any, items_per_thread: int) -> Any:
    """Make a function that sorts the keys of a block, the largest first.

    Parameters
    ----------
    {key_dtype}
    {threads_per_block}
    {known_items_per_thread}

    Returns
    -------
    callable
        As of `radix_sort_keys`.

    See Also
    --------
    radix_sort_keys

    Notes
    -----
    NaN is first; equal keys stay in their order.

    Examples
    --------
    >>> from ingot import cuda
    >>> sort = cuda.coop.block.radix_sort_keys_descending(np.int64, 3, 2)
    >>> @cuda.jit
    ... def kernel(x):
    ...     first = 2 * cuda.threadIdx.x
    ...     sort(x[first : first + 2])  # the two items of the thread
    >>> x = np.array([3, 1, 4, 1, 5, 9])
    >>> with ingot.device("emulated"):
    ...     kernel[1, 3](x)
    >>> x
    array([9, 5, 4, 3, 1, 1])
    """
    return made(coop_items.block_radix_sort_keys_descending, dtype, threads_per_block, items_per_thread)


@described
def radix_sort_pairs(dtype: Any, value_dtype: Any, threads_per_block: Any, items_per_thread: int) -> Any:
    """Make a function that sorts the keys of a block, and values with them.

    Parameters
    ----------
    {key_dtype}
    {value_dtype}
    {threads_per_block}
    {known_items_per_thread}

    Returns
    -------
    callable
        ``sort(keys, values)`` in kernels, with arrays of `items_per_thread`; or ``sort(keys, values, begin_bit, end_bit)``.

    See Also
    --------
    radix_sort_keys, merge_sort_pairs

    Notes
    -----
    The order is NumPy's, with NaN at its end; equal keys stay in their order.

    Examples
    --------
    >>> from ingot import cuda
    >>> sort = cuda.coop.block.radix_sort_pairs(np.int64, np.int64, 4, 1)
    >>> @cuda.jit
    ... def kernel(keys, values):
    ...     i = cuda.threadIdx.x
    ...     sort(keys[i : i + 1], values[i : i + 1])
    >>> keys, values = np.array([3, 1, 4, 1]), np.arange(4)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 4](keys, values)
    >>> values
    array([1, 3, 0, 2])
    """
    return made(coop_items.block_radix_sort_pairs, dtype, value_dtype, threads_per_block, items_per_thread)


@described
def radix_sort_pairs_descending(dtype: Any, value_dtype: Any, threads_per_block: Any, items_per_thread: int) -> Any:
    """Make a function that sorts the keys of a block, the largest first, and values with them.

    Parameters
    ----------
    {key_dtype}
    {value_dtype}
    {threads_per_block}
    {known_items_per_thread}

    Returns
    -------
    callable
        As of `radix_sort_pairs`.

    See Also
    --------
    radix_sort_pairs

    Notes
    -----
    NaN is first; equal keys stay in their order.

    Examples
    --------
    >>> from ingot import cuda
    >>> sort = cuda.coop.block.radix_sort_pairs_descending(np.int64, np.int64, 4, 1)
    >>> @cuda.jit
    ... def kernel(keys, values):
    ...     i = cuda.threadIdx.x
    ...     sort(keys[i : i + 1], values[i : i + 1])
    >>> keys, values = np.array([3, 1, 4, 1]), np.arange(4)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 4](keys, values)
    >>> values
    array([2, 0, 1, 3])
    """
    return made(coop_items.block_radix_sort_pairs_descending, dtype, value_dtype, threads_per_block, items_per_thread)


@described
def merge_sort_keys(dtype: Any, threads_per_block: Any, items_per_thread: int, compare_op: Any) -> Any:
    """Make a function that sorts the keys of a block by a comparison.

    Parameters
    ----------
    dtype : dtype
        Of the keys.
    {threads_per_block}
    {known_items_per_thread}
    {compare_op}

    Returns
    -------
    callable
        ``sort(keys)`` in kernels, with an array of `items_per_thread`, which is sorted with those of the other threads.
        ``sort(keys, num_valid)`` sorts the first `num_valid` keys of the block, and leaves the others.

    See Also
    --------
    merge_sort_pairs, radix_sort_keys, ingot.cuda.coop.warp.merge_sort_keys

    Notes
    -----
    {stable}

    Examples
    --------
    >>> from ingot import cuda
    >>> sort = cuda.coop.block.merge_sort_keys(np.int64, 3, 2, lambda a, b: a > b)
    >>> @cuda.jit
    ... def kernel(x):
    ...     first = 2 * cuda.threadIdx.x
    ...     sort(x[first : first + 2])  # the two items of the thread
    >>> x = np.array([3, 1, 4, 1, 5, 9])
    >>> with ingot.device("emulated"):
    ...     kernel[1, 3](x)
    >>> x
    array([9, 5, 4, 3, 1, 1])
    """
    return made(coop_items.block_merge_sort_keys, dtype, threads_per_block, items_per_thread, compare_op)


@described
def merge_sort_pairs(dtype: Any, value_dtype: Any, threads_per_block: Any, items_per_thread: int, compare_op: Any) -> Any:
    """Make a function that sorts the keys of a block by a comparison, and values with them.

    Parameters
    ----------
    dtype : dtype
        Of the keys.
    {value_dtype}
    {threads_per_block}
    {known_items_per_thread}
    {compare_op}

    Returns
    -------
    callable
        ``sort(keys, values)`` in kernels, with arrays of `items_per_thread`; or ``sort(keys, values, num_valid)``.

    See Also
    --------
    merge_sort_keys

    Notes
    -----
    {stable}

    Examples
    --------
    >>> from ingot import cuda
    >>> sort = cuda.coop.block.merge_sort_pairs(np.int64, np.int64, 4, 1, lambda a, b: a < b)
    >>> @cuda.jit
    ... def kernel(keys, values):
    ...     i = cuda.threadIdx.x
    ...     sort(keys[i : i + 1], values[i : i + 1])
    >>> keys, values = np.array([3, 1, 4, 1]), np.arange(4)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 4](keys, values)
    >>> values
    array([1, 3, 0, 2])
    """
    return made(coop_items.block_merge_sort_pairs, dtype, value_dtype, threads_per_block, items_per_thread, compare_op)


@described
def exchange(block_exchange_type: BlockExchangeType, dtype: Any, threads_per_block: Any, items_per_thread: int = 1, warp_time_slicing: bool = False) -> Any:
    """Make a function that moves items between the threads of a block.

    Parameters
    ----------
    block_exchange_type : BlockExchangeType
        From which arrangement into which.
    {dtype}
    {threads_per_block}
    {items_per_thread}
    warp_time_slicing : bool, default False
        Accepted for CUB's sake.

    Returns
    -------
    callable
        ``exchange(items, out)`` in kernels, with arrays of `items_per_thread`; without `out` the items are replaced. Where they scatter,
        ``exchange(items, out, ranks)`` with the position of each item in the block.

    See Also
    --------
    load, store

    Notes
    -----
    Item k of thread t is at t * items_per_thread + k in a blocked arrangement, and at k * threads + t in a striped one; in a
    warp-striped one each warp is striped.

    Examples
    --------
    >>> from ingot import cuda
    >>> kind = cuda.coop.block.BlockExchangeType.StripedToBlocked
    >>> exchange = cuda.coop.block.exchange(kind, np.int64, 3, 2)
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
    return made(coop_items.block_exchange, block_exchange_type, dtype, threads_per_block, items_per_thread, warp_time_slicing)


@described
def load(dtype: Any, threads_per_block: Any, items_per_thread: int = 1, algorithm: str = "direct") -> Any:
    """Make a function by which the threads of a block read an array.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {items_per_thread}
    algorithm : str, default 'direct'
        'direct' and 'vectorize' give each thread items that are next to each other; 'striped' gives item k of thread t from
        k * threads + t. 'transpose', 'warp_transpose' and 'warp_transpose_timesliced' give what 'direct' does, and read as neighbours do.

    Returns
    -------
    callable
        ``load(src, items)`` in kernels fills an array of `items_per_thread` from an array of one axis. ``load(src, items, num_valid, default)``
        reads the first `num_valid` elements; the other items are `default`, or left as they are.

    See Also
    --------
    store, exchange

    Examples
    --------
    >>> from ingot import cuda
    >>> load = cuda.coop.block.load(np.float64, 4, 2)
    >>> store = cuda.coop.block.store(np.float64, 4, 2, "striped")
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
    return made(coop_items.block_load, dtype, threads_per_block, items_per_thread, algorithm)


@described
def store(dtype: Any, threads_per_block: Any, items_per_thread: int = 1, algorithm: str = "direct") -> Any:
    """Make a function by which the threads of a block write an array.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {items_per_thread}
    algorithm : str, default 'direct'
        As of `load`.

    Returns
    -------
    callable
        ``store(dst, items)`` in kernels writes an array of `items_per_thread`, or a number, into an array of one axis.
        ``store(dst, items, num_valid)`` writes its first `num_valid` elements.

    See Also
    --------
    load, exchange
    """
    return made(coop_items.block_store, dtype, threads_per_block, items_per_thread, algorithm)


@described
def histogram(item_dtype: Any, counter_dtype: Any, threads_per_block: Any, items_per_thread: int, bins: int) -> Any:
    """Make a function that counts the items of a block by their values.

    Parameters
    ----------
    item_dtype : dtype
        Of the items: integers from 0 on.
    counter_dtype : dtype
        int32, uint32, int64 or uint64.
    {threads_per_block}
    {known_items_per_thread}
    bins : int
        How many values are counted; another one raises IndexError.

    Returns
    -------
    callable
        ``histogram(items, counters)`` in kernels, with an array of `bins` elements of the block's memory or of the device's.
        ``histogram(items, counters, init=False)`` adds to what is there.

    Examples
    --------
    >>> from ingot import cuda
    >>> histogram = cuda.coop.block.histogram(np.int64, np.int64, 6, 1, 4)
    >>> @cuda.jit
    ... def kernel(x, counters):
    ...     histogram(x[cuda.threadIdx.x], counters)
    >>> counters = np.empty(4, int)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 6](np.array([3, 1, 3, 0, 1, 3]), counters)
    >>> counters
    array([1, 2, 0, 3])
    """
    return made(coop_items.block_histogram, item_dtype, counter_dtype, threads_per_block, items_per_thread, bins)


@described
def adjacent_difference(
    dtype: Any, threads_per_block: Any, items_per_thread: int = 1, difference_op: Any = None, block_adjacent_difference_type: Any = None
) -> Any:
    """Make a function of each item of a block and its neighbour.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {items_per_thread}
    difference_op : callable or str, optional
        Of an item and its neighbour; by default the difference.
    block_adjacent_difference_type : BlockAdjacentDifferenceType, optional
        SubtractLeft, the default: the neighbour is the item before; SubtractRight: the one after.

    Returns
    -------
    callable
        ``adjacent_difference(items, out)`` in kernels, with arrays of `items_per_thread`; without `out` the items are replaced. The item
        at the end that has no neighbour stays, or has the one that ``adjacent_difference(items, out, beyond)`` is given.

    See Also
    --------
    discontinuity

    Examples
    --------
    >>> from ingot import cuda
    >>> difference = cuda.coop.block.adjacent_difference(np.int64, 4)
    >>> @cuda.jit
    ... def kernel(x):
    ...     i = cuda.threadIdx.x
    ...     difference(x[i : i + 1])
    >>> x = np.array([3, 4, 8, 6])
    >>> with ingot.device("emulated"):
    ...     kernel[1, 4](x)
    >>> x
    array([ 3,  1,  4, -2])
    """
    return made(coop_items.block_adjacent_difference, dtype, threads_per_block, items_per_thread, difference_op, block_adjacent_difference_type)


@described
def discontinuity(dtype: Any, threads_per_block: Any, items_per_thread: int = 1, flag_op: Any = None, block_discontinuity_type: Any = None) -> Any:
    """Make a function that finds where runs of a block begin or end.

    Parameters
    ----------
    {dtype}
    {threads_per_block}
    {items_per_thread}
    flag_op : callable, optional
        Of two neighbours: whether a run ends between them; by default, whether they differ.
    block_discontinuity_type : BlockDiscontinuityType, optional
        HEADS, the default, marks the first items of runs, TAILS the last ones.

    Returns
    -------
    callable
        ``discontinuity(items, flags)`` in kernels, with arrays of `items_per_thread`. The first item of the block is a head, the last one
        a tail, or compared with the one that ``discontinuity(items, flags, beyond)`` is given.

    See Also
    --------
    adjacent_difference

    Examples
    --------
    >>> from ingot import cuda
    >>> heads = cuda.coop.block.discontinuity(np.int64, 5)
    >>> @cuda.jit
    ... def kernel(x, flags):
    ...     i = cuda.threadIdx.x
    ...     heads(x[i : i + 1], flags[i : i + 1])
    >>> flags = np.empty(5, bool)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 5](np.array([7, 7, 2, 2, 7]), flags)
    >>> flags
    array([ True, False,  True, False,  True])
    """
    return made(coop_items.block_discontinuity, dtype, threads_per_block, items_per_thread, flag_op, block_discontinuity_type)


@described
def shuffle(block_shuffle_type: BlockShuffleType, dtype: Any, threads_per_block: Any, items_per_thread: int = 1) -> Any:
    """Make a function that gives the threads of a block items of other threads.

    Parameters
    ----------
    block_shuffle_type : BlockShuffleType
        Offset and Rotate: the item of the thread at a distance; Up and Down: all items of the block, moved by one place.
    {dtype}
    {threads_per_block}
    {items_per_thread}

    Returns
    -------
    callable
        Of Offset and Rotate ``shuffle(item, distance)`` in kernels, the distance 1 if none is given: the item of the thread so many
        further on. Rotate goes on with the block's first thread after its last one; with Offset, threads that have none at that
        distance get their own item.
        Of Up and Down ``shuffle(items, out)``, with arrays of `items_per_thread`; without `out` the items are replaced. Up gives each item's
        place the item before it, Down the one after; the item at the end that has none stays. The result
        is the item that has no place any more, for every thread.

    See Also
    --------
    exchange, adjacent_difference, ingot.cuda.shfl_sync

    Examples
    --------
    >>> from ingot import cuda
    >>> rotate = cuda.coop.block.shuffle(cuda.coop.block.BlockShuffleType.Rotate, np.int64, 4)
    >>> @cuda.jit
    ... def kernel(x, out):
    ...     i = cuda.threadIdx.x
    ...     out[i] = rotate(x[i], -1)
    >>> out = np.zeros(4, int)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 4](np.array([3, 1, 4, 7]), out)
    >>> out
    array([7, 3, 1, 4])
    """
    return made(coop_moves.block_shuffle, block_shuffle_type, dtype, threads_per_block, items_per_thread)


@described
def run_length(item_dtype: Any, threads_per_block: Any, runs_per_thread: int, decoded_items_per_thread: int) -> Any:
    """Make a function that decodes the runs of a block: items, and how often each is there.

    Parameters
    ----------
    item_dtype : dtype
        Of the items.
    {threads_per_block}
    runs_per_thread : int
        How many runs each thread has.
    decoded_items_per_thread : int
        How many items each thread gets at once.

    Returns
    -------
    callable
        ``run_length(run_values, run_lengths)`` in kernels, with arrays of `runs_per_thread`, gives the runs. They have the number of items,
        `total_decoded_size`, and ``decode(decoded_items, from_decoded_offset, relative_offsets)``, by which each thread gets its
        `decoded_items_per_thread` of those from an offset on, 0 if none is given, and the place of each in its run. What is beyond the
        last item is left as it is.

    See Also
    --------
    discontinuity, inclusive_sum

    Notes
    -----
    The runs are in memory of the block, which the next call for the same place in the source takes.

    Examples
    --------
    >>> from ingot import cuda
    >>> run_length = cuda.coop.block.run_length(np.int64, 3, 1, 2)
    >>> @cuda.jit
    ... def kernel(values, lengths, out):
    ...     i = cuda.threadIdx.x
    ...     runs = run_length(values[i], lengths[i])
    ...     runs.decode(out[2 * i : 2 * i + 2])
    >>> out = np.zeros(6, int)
    >>> with ingot.device("emulated"):
    ...     kernel[1, 3](np.array([7, 8, 9]), np.array([3, 0, 2]), out)
    >>> out
    array([7, 7, 7, 9, 9, 0])
    """
    return made(coop_moves.block_run_length, item_dtype, threads_per_block, runs_per_thread, decoded_items_per_thread)


__all__ = [
    "BlockAdjacentDifferenceType",
    "BlockDiscontinuityType",
    "BlockExchangeType",
    "BlockShuffleType",
    "adjacent_difference",
    "discontinuity",
    "exchange",
    "exclusive_scan",
    "exclusive_sum",
    "histogram",
    "inclusive_scan",
    "inclusive_sum",
    "load",
    "merge_sort_keys",
    "merge_sort_pairs",
    "radix_sort_keys",
    "radix_sort_keys_descending",
    "radix_sort_pairs",
    "radix_sort_pairs_descending",
    "reduce",
    "run_length",
    "shuffle",
    "store",
    "sum",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ..._refusals.missing import error

        raise error(__name__, name)
