"""The functions of `ingot.parallel` that merge sorted sequences. Run by Python, or compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .parallel_orders import need_numbers
from .sequences import length_of, ready, store, stored
from .structures import map_leaves


def merge(xs: Any, ys: Any) -> Any:
    """Return the elements of two sorted sequences in ascending order.

    Parameters
    ----------
    xs, ys : sequences
        Numbers in ascending order, NaN last.

    Returns
    -------
    array
        All elements; of equal ones, those of `xs` first.

    See Also
    --------
    merge_by_key, sort, searchsorted

    Notes
    -----
    One thread reads both once.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.merge(np.array([1, 3, 5]), np.array([2, 3]))
    array([1, 2, 3, 3, 5])
    """
    xs = ready(xs)
    ys = ready(ys)
    a = stored(xs, length_of(xs))
    b = stored(ys, length_of(ys))
    need_numbers((a, b))
    made = np.empty(len(a) + len(b), np.result_type(a.dtype, b.dtype))
    m = numbers_of(a)
    n = numbers_of(b)
    merge_parts(a[:m], b[:n], made)
    made[m + n : len(a) + n] = a[m:]
    made[len(a) + n :] = b[n:]
    return made


PARTS = 4
"""How many parts of a result are merged at the same time: each waits for its last comparison."""


def numbers_of(x: Any) -> int:
    """How many elements of a sorted line are before NaN."""
    n = len(x)
    if x.dtype.kind not in "fc" or n == 0 or x[n - 1] == x[n - 1]:
        return n
    low = 0
    while low < n:
        middle = (low + n) // 2
        if x[middle] == x[middle]:
            low = middle + 1
        else:
            n = middle
    return low


def part_before(a: Any, b: Any, count: int) -> int:
    """How many of the first elements of two merged lines are of the first one."""
    low = max(0, count - len(b))
    high = min(count, len(a))
    while low < high:
        middle = (low + high) // 2
        if b[count - 1 - middle] < a[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def merge_parts(a: Any, b: Any, made: Any) -> None:
    """Merges lines without NaN: parts of the result at the same time, as long as none has come to the end of one of its lines."""
    ends = tuple([(len(a) + len(b)) * p // PARTS for p in range(PARTS + 1)])
    cuts: tuple = (0,)
    for p in range(PARTS):
        most = cuts[p] + ends[p + 1] - ends[p]
        cuts = (*cuts, min(max(part_before(a, b, ends[p + 1]), cuts[p]), most))  # between these if the lines are in order
    i = cuts[:PARTS]
    done = 0
    while True:
        steps = ends[PARTS]
        for p in range(PARTS):
            steps = min(steps, cuts[p + 1] - i[p], ends[p + 1] - cuts[p + 1] - (ends[p] + done - i[p]))
        if steps <= 0:
            break
        for _ in range(steps):
            i = tuple([i[p] + int(not put_less(a, i[p], b, made, ends[p] + done)) for p in range(PARTS)])
            done += 1
    for p in range(PARTS):
        merge_rest(a, b, made, i[p], cuts[p + 1], ends[p] + done, ends[p + 1])


def put_less(a: Any, i: int, b: Any, made: Any, k: int) -> bool:
    """Puts the less of two elements at an index, without a branch that cannot be foreseen; whether it is of the other line."""
    x, y = a[i], b[k - i]
    takes = y < x
    made[k] = made.dtype.type(y) if takes else made.dtype.type(x)
    return takes


def merge_rest(a: Any, b: Any, made: Any, i: int, end: int, k: int, last: int) -> None:
    """Merges elements from i to `end` of one line and those of the other that go before index `last`."""
    while i < end and k - i < last - end:
        i += int(not put_less(a, i, b, made, k))
        k += 1
    if i < end:
        made[k:last] = a[i:end]
    else:
        made[k:last] = b[k - i : last - end]


def is_first(a: Any, i: Any, b: Any, j: Any) -> bool:
    """Whether an element of one sorted array comes before that of another one."""
    return i < len(a) and (j >= len(b) or not (b[j] < a[i] or (a[i] != a[i] and b[j] == b[j])))


def merge_by_key(x_keys: Any, y_keys: Any, x_values: Any, y_values: Any) -> Any:
    """Return the keys of two sorted sequences in ascending order, and their values in the order of the keys.

    Parameters
    ----------
    x_keys, y_keys : sequences
        Numbers in ascending order, NaN last.
    x_values, y_values : sequences
        Of as many elements; tuples, too.

    Returns
    -------
    keys, values : tuple
        Of equal keys, those of `x_keys` first.

    Raises
    ------
    ValueError
        Lengths differ.

    See Also
    --------
    merge, sort_by_key

    Notes
    -----
    One thread reads both once.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.merge_by_key(np.array([1, 3]), np.array([1, 2]), np.array([0.1, 0.3]), np.array([1.0, 2.0]))
    (array([1, 1, 2, 3]), array([0.1, 1. , 2. , 0.3]))
    """
    xs = (ready(x_keys), ready(x_values))
    ys = (ready(y_keys), ready(y_values))
    x = stored(xs, length_of(xs))
    y = stored(ys, length_of(ys))
    need_numbers((x[0], y[0]))
    n = len(x[0]) + len(y[0])
    keys = np.empty(n, np.result_type(x[0].dtype, y[0].dtype))
    values = map_leaves(lambda a, b: np.empty((n, *a.shape[1:]), np.result_type(a.dtype, b.dtype)), x[1], y[1])
    i = 0
    j = 0
    for k in range(n):
        if is_first(x[0], i, y[0], j):
            keys[k] = x[0][i]
            map_leaves(lambda made, a: store(made, k, a[i]), values, x[1])  # noqa: B023 - called here
            i += 1
        else:
            keys[k] = y[0][j]
            map_leaves(lambda made, a: store(made, k, a[j]), values, y[1])  # noqa: B023
            j += 1
    return keys, values
