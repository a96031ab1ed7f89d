"""`ingot.parallel`: functions of all elements, in a fixed order for any number of threads. Run by Python, or compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._code import combiners
from . import primitives
from .batching import numbers, stacked
from .sequences import dtype_of, element, is_python, length_of, near, need_function, need_room, put, ready, results, sample_of, stored, tried
from .structures import leaves_of, map_leaves

RUN = 128
"""How many elements `reduce` and `scan` combine one after the other."""
LANES = 16
"""How many runs are combined at the same time."""
FEW = 4
"""How many runs after the last block are scanned at the same time."""
TOGETHER = 8
"""How many segments are combined at the same time."""
IN_ORDER = 2**21
"""Fewer integers are scanned in one pass, which takes as long as reading and writing them."""
NEAR = 512
"""How many runs `scan` reads twice before it goes on."""


def map(f: Callable[..., Any], *xs: Any, out: Any = None) -> Any:
    """Return the results of a function for each element of sequences.

    Parameters
    ----------
    f : callable
        ``f(x, ...)`` of an element of each sequence returns a number, an array of one shape, or a tuple of these.
    *xs : sequences
        Arrays along their first axes, tuples of these, and iterators such as `counting`; of one length.
    out : output, optional
        Where results are stored: an array, a tuple of outputs, `zipped`, `permuted`, `reversed`, `written` or `discarded`. It may
        overlap what is read.

    Returns
    -------
    array or tuple of arrays
        The results, or `out`.

    Raises
    ------
    ValueError
        Lengths differ, or no sequence has one.
    TypeError
        `f` is no function.

    See Also
    --------
    zip_with : Of two or more sequences.
    transformed : Results that are not stored.

    Notes
    -----
    Elements are independent of each other: any number of threads gives the same bits.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.map(lambda a, b: (a + b, a * b), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    (array([4., 6.]), array([3., 8.]))
    """
    need_function(f)
    given = tuple([ready(x) for x in xs])
    n = length_of(given)

    def iteration(i: int) -> Any:
        return f(*element(given, i))

    if out is None:
        return results(iteration, n, lambda: f(*sample_of(given)))
    need_room(out, n)
    if n > 0:
        made = results(iteration, n, lambda: f(*sample_of(given)))  # compiled code stores it only where `out` may be what is read
        for i in range(n):
            put(out, i, element(made, i))
    return out


def zip_with(f: Callable[..., Any], x: Any, y: Any, *others: Any, out: Any = None) -> Any:
    """Return what a function makes of elements that are at the same index of several sequences.

    Parameters
    ----------
    f : callable
        ``f(a, b, ...)`` of an element of each sequence.
    x, y, *others : sequences
        Two or more, of one length.
    out : output, optional
        Where results are stored.

    Returns
    -------
    array or tuple of arrays
        The results, or `out`.

    Raises
    ------
    ValueError
        Lengths differ, or no sequence has one.
    TypeError
        `f` is no function, or there is one sequence alone.

    See Also
    --------
    map : The same of any number of sequences.
    transformed : Results that are not stored.

    Notes
    -----
    Elements are independent of each other: any number of threads gives the same bits.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.zip_with(lambda a, b: a * b, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([3., 8.])
    """
    return map(f, x, y, *others, out=out)


def kinds_of(f: Callable[..., Any], xs: Any, n: int, init: Any, is_called: bool = True) -> Any:
    """The dtypes of what is combined: of elements, of what comes before them and of the function's results.

    Run by Python, `Kind`s that the results change, and those of a trial where the function is not called.
    """

    def combined(x: Any) -> Any:
        both = f(x, x)
        if init is not None:
            both = map_leaves(together, f(init, both), init)
        return map_leaves(lambda last, before, first: together(together(last, before), first), f(both, both), both, x)

    for leaf in leaves_of(xs):
        if isinstance(leaf, np.ndarray) and leaf.ndim != 1:
            refuse_rows()
    if is_python():
        return python_kinds(combined, xs, n, init, is_called)
    are_numbers, dtypes = primitives.dtypes_of_lane(lambda i: combined(element(xs, i)))
    if dtypes is not None and not are_numbers:
        refuse_rows()
    if dtypes is None:
        combined(element(xs, 0))  # raises
        return map_leaves(lambda x: np.dtype(object), element(xs, 0))
    return dtypes


def refuse_rows() -> None:
    primitives.refuse("combining elements that are arrays", "combine numbers or tuples of numbers, or reduce an array along an axis")


def together(x: Any, y: Any) -> Any:
    """A number of the dtype that fits both."""
    return primitives.select(True, x, y)[()]


def in_lanes(ufunc: Any, x: Any) -> Any:
    """What Python combines in the order of compiled sums: 32 lanes in a block of 1024 elements, and blocks in pairs."""
    with np.errstate(all="ignore"):
        blocks = [lanes_of_block(ufunc, x[i : i + 1024]) for i in range(0, len(x), 1024)]
        total = of_blocks(ufunc, blocks)
    return -total if ufunc is np.add and total == 0 and np.signbit(x).all() and not x.any() else total


def lanes_of_block(ufunc: Any, x: Any) -> Any:
    lanes = np.full(32, ufunc.identity, x.dtype)
    for i in range(0, len(x), 32):
        some = x[i : i + 32]
        lanes[: len(some)] = ufunc(lanes[: len(some)], some)
    while len(lanes) > 1:
        lanes = ufunc(lanes[: len(lanes) // 2], lanes[len(lanes) // 2 :])
    return lanes[0]


def of_blocks(ufunc: Any, blocks: list[Any]) -> Any:
    if len(blocks) == 1:
        return blocks[0]
    first = 1 << (len(blocks) - 1).bit_length() - 1
    return ufunc(of_blocks(ufunc, blocks[:first]), of_blocks(ufunc, blocks[first:]))


class Kind:
    """The dtype of what Python combines."""

    def __init__(self, *values: Any) -> None:
        self.dtype = dtype_of(values)


class Column:
    """Numbers that Python combines, of a dtype that may become another one."""

    def __init__(self, kind: Kind, n: int) -> None:
        self.kind = kind
        self.array = np.empty(n, kind.dtype)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, i: Any) -> Any:
        return self.now()[i]

    def __setitem__(self, i: Any, value: Any) -> None:
        if getattr(value, "dtype", None) != self.kind.dtype:
            self.kind.dtype = np.result_type(self.kind.dtype, value)
        self.now()[i] = value

    def now(self) -> np.ndarray:
        if self.array.dtype != self.kind.dtype:
            self.array = self.array.astype(self.kind.dtype)
        return self.array


def python_kinds(combined: Callable[[Any], Any], xs: Any, n: int, init: Any, is_called: bool) -> Any:
    x = tried(lambda: sample_of(xs)) if n == 0 else element(xs, 0)
    if x is None:
        return Kind(0.0) if init is None else map_leaves(Kind, init)
    for leaf in leaves_of(x):
        if np.ndim(leaf) > 0:
            refuse_rows()
    tuples = [value for value in (x, init) if value is not None]
    if n == 0 or not is_called:
        found = tried(lambda: combined(x))
        if found is not None:
            tuples.append(found)
    return map_leaves(Kind, *tuples)


def at_kinds(kinds: Any, value: Any) -> Any:
    """What is combined, of its dtypes."""
    return map_leaves(at_kind, kinds, value)


def at_kind(kind: Any, x: Any) -> Any:
    if not isinstance(kind, Kind):
        return primitives.at_dtype(x, kind)
    if getattr(x, "dtype", None) != kind.dtype:
        kind.dtype = np.result_type(kind.dtype, x)
    return kind.dtype.type(x)


def combined(f: Callable[..., Any], xs: Any, begin: int, end: int, value: Any, kinds: Any) -> Any:
    """A value combined with elements, in order."""
    now = at_kinds(kinds, value)
    for i in range(begin, end):
        now = at_kinds(kinds, f(now, element(xs, i)))
    return now


def columns_of(kinds: Any, n: int) -> Any:
    """Arrays of n numbers of some dtypes."""
    return map_leaves(lambda kind: Column(kind, n), kinds) if is_python() else numbers(kinds, n)


def run_totals(f: Callable[..., Any], xs: Any, runs: int, n: int, kinds: Any) -> Any:
    """What a function makes of each of the runs of elements, of which the last one may be shorter."""
    totals = columns_of(kinds, runs)
    whole = n // RUN
    blocks = whole // LANES
    block_totals(f, xs, 0, blocks, kinds, totals)
    for r in range(blocks * LANES, whole):
        run, begin = run_of(xs, r, n)
        put(totals, r, combined(f, run, begin + 1, begin + RUN, element(run, begin), kinds))
    if whole < runs:
        run, begin = run_of(xs, whole, n)
        put(totals, whole, combined(f, run, begin + 1, begin + n - whole * RUN, element(run, begin), kinds))
    return totals


def block_totals(f: Callable[..., Any], xs: Any, first: int, blocks: int, kinds: Any, totals: Any) -> None:
    """What a function makes of each of the runs in some blocks, from a run on."""
    for b in range(blocks):
        x, at = near(xs, (first + b * LANES) * RUN, RUN * LANES)
        now = columns_of(kinds, LANES)
        for k in range(LANES):
            put(now, k, element(x, at + k * RUN))
        for j in range(1, RUN):
            for k in range(LANES):
                put(now, k, f(element(now, k), element(x, at + k * RUN + j)))
        for k in range(LANES):
            put(totals, b * LANES + k, element(now, k))


def run_of(xs: Any, r: int, n: int) -> tuple[Any, Any]:
    """Arrays that have a run's elements, computed all at the same time, and the index of the first one; after the last one, it again."""
    if is_python():
        return xs, r * RUN
    return stacked(lambda i: element(xs, min(r * RUN + i, n - 1)), RUN), 0


def ufunc_of(f: Callable[..., Any], xs: Any, kinds: Any) -> Any:
    """The ufunc that a function of numbers is, whose elements may be combined in another order than any function's; None: none.

    What adds or multiplies floats is known by its code, and Python has the same order of them. Of the rest all orders give the same.
    """
    if is_python():
        return combiners.ufunc_of(f) if isinstance(kinds, Kind) and kinds.dtype in (np.float32, np.float64) else None
    if not isinstance(kinds, np.dtype) or kinds.kind not in "biuf" or kinds == np.float16:
        return None
    if primitives.dtypes_of_lane(lambda i: element(xs, i))[1] != kinds:
        return None
    found = primitives.combiner_of(lambda: f, kinds)
    if found in (np.minimum, np.maximum) and kinds.kind != "b":
        # Derivatives of those that are equal are those of the order.
        return None if kinds.kind == "f" and len(primitives.derivatives()) > 0 else found
    if found in (np.bitwise_and, np.bitwise_or, np.bitwise_xor):
        return found
    return found if found in (np.add, np.multiply) and kinds.kind != "b" else None


def total_of(ufunc: Any, f: Callable[..., Any], xs: Any, n: int, kinds: Any) -> Any:
    """What a function that is a ufunc makes of elements; there are some."""
    if is_python():
        x = stored(xs, n)
        return in_lanes(ufunc, x) if n > RUN and x.dtype == kinds.dtype else in_runs(f, x, n, kinds)
    if kinds.kind != "f":
        return primitives.reduce(ufunc, stored(xs, n), (0,))
    return of_few(f, xs, n, kinds) if n <= RUN else of_many(ufunc, f, stored(xs, n), n, kinds)


def of_few(f: Callable[..., Any], xs: Any, n: int, kinds: Any) -> Any:
    """The combination in order of elements that are computed all at the same time."""
    run = columns_of(kinds, RUN)
    for i in range(n):
        put(run, i, element(xs, i))
    return combined(f, run, 1, n, element(run, 0), kinds)


def of_many(ufunc: Any, f: Callable[..., Any], x: Any, n: int, kinds: Any) -> Any:
    """The combination of floats in lanes."""
    if ufunc is np.add:
        total, has_positive = sum_of(x, n, kinds)
        return total if total != 0 or has_positive else -total  # it began with 0, and negative zeros alone give one
    total = primitives.reduce(ufunc, x, (0,))
    if ufunc is not np.multiply and (total != total or total == 0):  # which NaN and which zero depends on the order
        return in_runs(f, x, n, kinds)
    return at_kinds(kinds, total)


def sum_of(x: Any, n: int, kinds: Any) -> tuple[Any, Any]:
    """The sum of floats, and whether there is one that has no minus."""
    from .. import prange

    total = at_kinds(kinds, 0)
    has_positive = np.bool(False)
    for i in prange(n):
        value = x[i]
        total += value
        has_positive |= ~np.signbit(value)
    return total, has_positive


def in_runs(f: Callable[..., Any], xs: Any, n: int, kinds: Any) -> Any:
    """What any function makes of elements; there are some."""
    runs = (n + RUN - 1) // RUN
    totals = run_totals(f, xs, runs, n, kinds)
    return combined(f, totals, 1, runs, element(totals, 0), kinds)


def reduce(f: Callable[..., Any], xs: Any, init: Any = None) -> Any:
    """Combine all elements of a sequence.

    Parameters
    ----------
    f : callable
        ``f(before, after)``; associative. It need not be commutative.
    xs : sequence
        Numbers or tuples of numbers.
    init : number or tuple of numbers, optional
        What comes before the first element.

    Returns
    -------
    number or tuple of numbers
        The combination, of the dtype that fits the elements, `init` and what `f` returns.

    Raises
    ------
    ValueError
        There is no element, and no `init`.

    See Also
    --------
    scan : All combinations on the way.
    segmented_reduce, group_by_reduce

    Notes
    -----
    Runs of 128 elements are combined in order, and what they give is combined in order. Where `f` is the addition or the
    multiplication of floats, as ``lambda a, b: a + b`` and `operator.add` are, and there are more than 128, it is in the
    order of compiled sums, `x.sum()`: 32 lanes in each block of 1024 elements. Any number of threads gives the same bits; an
    `f` that is not associative, as the addition of floats, gives those of its order.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.reduce(max, np.array([3, 1, 4, 1, 5]))
    np.int64(5)
    """
    need_function(f)
    xs = ready(xs)
    n = length_of(xs)
    if n == 0 and init is None:
        raise ValueError("reduce of an empty sequence without `init`")
    kinds = kinds_of(f, xs, n, init, init is not None or n > 1)
    ufunc = ufunc_of(f, xs, kinds)
    if ufunc is not None:
        if init is None:
            return total_of(ufunc, f, xs, n, kinds)
        first = at_kinds(kinds, init)
        return at_kinds(kinds, f(first, total_of(ufunc, f, xs, n, kinds))) if n > 0 else first
    if init is None:
        return in_runs(f, xs, n, kinds)
    runs = (n + RUN - 1) // RUN
    return combined(f, run_totals(f, xs, runs, n, kinds), 0, runs, init, kinds)


def befores(f: Callable[..., Any], totals: Any, value: Any, kinds: Any, runs: int) -> Any:
    """Replaces the total of each run by what comes before it; gives what comes after the last one."""
    for r in range(runs):
        total = element(totals, r)
        put(totals, r, value)
        value = at_kinds(kinds, f(value, total))
    return value


def scan_run(f: Callable[..., Any], xs: Any, out: Any, begin: int, end: int, before: Any, kinds: Any, exclusive: bool) -> Any:
    """Scans elements one after the other, of which `before` comes before; what comes after them."""
    now = at_kinds(kinds, before)
    for i in range(begin, end):
        if exclusive:
            put(out, i, now)
        now = at_kinds(kinds, f(now, element(xs, i)))
        if not exclusive:
            put(out, i, now)
    return now


def scan(f: Callable[..., Any], xs: Any, init: Any = None, exclusive: bool = False, out: Any = None) -> Any:
    """Return the combinations of the elements up to each one, such as running sums.

    Parameters
    ----------
    f : callable
        ``f(before, after)``; associative. It need not be commutative.
    xs : sequence
        Numbers or tuples of numbers.
    init : number or tuple of numbers, optional
        What comes before the first element.
    exclusive : bool, default False
        Whether each combination is without the element itself; the first is `init`.
    out : output, optional
        Where results are stored. It may overlap what is read.

    Returns
    -------
    array or tuple of arrays
        The combinations, of the dtype that fits the elements, `init` and what `f` returns, or `out`.

    Raises
    ------
    ValueError
        It is exclusive, and there is no `init`.

    See Also
    --------
    reduce : The last one.
    segmented_scan
    numpy.cumsum : Floats are added one after the other.

    Notes
    -----
    Each run of 128 elements begins with what the runs before it give, combined in order, and is combined in order. Any
    number of threads gives the same bits. Elements are read twice. The last one of floats may differ from `reduce` by
    rounding, as the first elements of a run from those of an exclusive scan.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.scan(lambda a, b: a + b, np.array([3, 1, 4]))
    array([3, 4, 8])
    >>> parallel.scan(lambda a, b: a + b, np.array([3, 1, 4]), 0, exclusive=True)
    array([0, 3, 4])
    """
    need_function(f)
    xs = ready(xs)
    n = length_of(xs)
    if exclusive and init is None:
        raise ValueError("an exclusive scan needs `init`, its first result")
    kinds = kinds_of(f, xs, n, init, init is not None or n > 1)
    made = columns_of(kinds, n) if out is None else out
    need_room(made, n)
    # Where `out` is, it cannot be what is read. Compiled code stores that only where it may be.
    read = xs if out is None else results(lambda i: element(xs, i), n, lambda: sample_of(xs))
    if n > 0:
        scan_runs(f, read, n, init, exclusive, kinds, made, out is None)
    return filled(made) if out is None else out


def scan_runs(f: Callable[..., Any], xs: Any, n: int, init: Any, exclusive: bool, kinds: Any, out: Any, is_new: bool) -> None:
    if takes_any_order(f, xs, kinds) and n < IN_ORDER:
        if init is None:
            first = at_kinds(kinds, element(xs, 0))
            put(out, 0, first)
            scan_run(f, xs, out, 1, n, first, kinds, exclusive)
        else:
            scan_run(f, xs, out, 0, n, init, kinds, exclusive)
    else:
        scan_in_runs(f, xs, n, init, exclusive, kinds, out, is_new)


def takes_any_order(f: Callable[..., Any], xs: Any, kinds: Any) -> bool:
    """Whether a function gives the same in any order: integers' ufuncs do."""
    return not is_python() and ufunc_of(f, xs, kinds) is not None and kinds.kind != "f"


def scan_in_runs(f: Callable[..., Any], xs: Any, n: int, init: Any, exclusive: bool, kinds: Any, out: Any, is_new: bool) -> None:
    start = 0
    if init is None:
        start = 1
        value = at_kinds(kinds, element(xs, 0))
        put(out, 0, value)
        value = scan_run(f, xs, out, 1, min(RUN, n), value, kinds, exclusive)
    else:
        value = at_kinds(kinds, init)
    groups = max(n // RUN - start, 0) // NEAR
    for g in range(groups):
        value = scan_blocks(f, xs, start + g * NEAR, NEAR // LANES, value, exclusive, kinds, out, is_new)
    first = start + groups * NEAR
    blocks = max(n // RUN - first, 0) // LANES
    if blocks > 0:
        value = scan_blocks(f, xs, first, blocks, value, exclusive, kinds, out, is_new)
    scan_rest(f, xs, (first + blocks * LANES) * RUN, n, value, exclusive, kinds, out)


def scan_blocks(f: Callable[..., Any], xs: Any, first: int, blocks: int, value: Any, exclusive: bool, kinds: Any, out: Any, is_new: bool) -> Any:
    """Scans the runs of some blocks, whose elements are in the cache when they are read again; what comes after them."""
    from .. import prange

    totals = columns_of(kinds, blocks * LANES)
    block_totals(f, xs, first, blocks, kinds, totals)
    value = befores(f, totals, value, kinds, blocks * LANES)
    if is_new:
        for b in prange(blocks):
            scan_block(f, xs, totals, kinds, first, b, exclusive, out)
    else:  # it may be what is read
        for b in range(blocks):
            scan_block(f, xs, totals, kinds, first, b, exclusive, out)
    return value


def held(xs: Any, begin: int) -> Any:
    """Arrays that have the elements of a few runs."""
    return stacked(lambda i: element(xs, begin + i), RUN * FEW)


def scan_rest(f: Callable[..., Any], xs: Any, begin: int, n: int, value: Any, exclusive: bool, kinds: Any, out: Any) -> None:
    """Scans the runs after the last block: a few at the same time, and then the last ones."""
    quads = max(n - begin, 0) // (RUN * FEW)
    for q in range(quads):
        to = begin + q * RUN * FEW
        x, at = (xs, to) if is_python() else (held(xs, to), 0)
        now = tuple([at_kinds(kinds, element(x, at + k * RUN)) for k in range(FEW)])
        for j in range(1, RUN):
            now = tuple([at_kinds(kinds, f(now[k], element(x, at + k * RUN + j))) for k in range(FEW)])
        before: tuple = ()
        for k in range(FEW):
            before = (*before, value)
            value = at_kinds(kinds, f(value, now[k]))
        for j in range(RUN):
            after = tuple([at_kinds(kinds, f(before[k], element(x, at + k * RUN + j))) for k in range(FEW)])
            for k in range(FEW):
                put(out, to + k * RUN + j, before[k] if exclusive else after[k])
            before = after
    for start in range(begin + quads * RUN * FEW, n, RUN):
        end = min(start + RUN, n)
        scan_run(f, xs, out, start, end, value, kinds, exclusive)
        if end < n:
            value = at_kinds(kinds, f(value, combined(f, xs, start + 1, end, element(xs, start), kinds)))


def scan_block(f: Callable[..., Any], xs: Any, before: Any, kinds: Any, first: int, b: int, exclusive: bool, out: Any) -> None:
    """Scans some runs at the same time."""
    to = (first + b * LANES) * RUN
    x, at = near(xs, to, RUN * LANES)
    now = columns_of(kinds, LANES)
    for k in range(LANES):
        put(now, k, element(before, b * LANES + k))
    made = columns_of(kinds, RUN * LANES)
    for j in range(RUN):
        for k in range(LANES):
            if exclusive:
                put(made, k * RUN + j, element(now, k))
            put(now, k, f(element(now, k), element(x, at + k * RUN + j)))
            if not exclusive:
                put(made, k * RUN + j, element(now, k))
    for i in range(RUN * LANES):  # to memory in its order
        put(out, to + i, element(made, i))


def filled(made: Any) -> Any:
    """Results as arrays."""
    return map_leaves(lambda x: x.now(), made) if is_python() else made


def offsets_of(segments: Any, n: int) -> Any:
    """The offsets of segments, which are given so, or by flags of their first elements."""
    given = ready(segments)
    found = given if isinstance(given, np.ndarray) else stored(given, length_of(given))
    if found.dtype.kind != "b":
        return found
    if len(found) != n:
        raise ValueError(f"{len(found)} flags of first elements for {n} elements")
    heads = np.flatnonzero(found)
    others = 1 if n > 0 and not found[0] else 0
    offsets = np.zeros(others + len(heads) + 1, np.int64)
    offsets[others : others + len(heads)] = heads
    offsets[others + len(heads)] = n
    return offsets


def need_offsets(offsets: Any, n: int) -> None:
    if len(offsets) == 0:
        raise ValueError("offsets of n segments are n + 1 numbers")
    for s in range(len(offsets) - 1):
        if offsets[s] > offsets[s + 1]:
            raise ValueError("the offsets of segments ascend")
    if offsets[0] < 0 or offsets[len(offsets) - 1] > n:
        raise IndexError(f"offsets of segments are from 0 to {n}, the number of elements")


def segmented_reduce(f: Callable[..., Any], xs: Any, offsets: Any, init: Any = None) -> Any:
    """Combine the elements of each segment of a sequence.

    Parameters
    ----------
    f : callable
        ``f(before, after)``; any function, given the elements of a segment in order.
    xs : sequence
        Numbers or tuples of numbers.
    offsets : sequence of int, or of bool
        Segment s has the elements from ``offsets[s]`` to ``offsets[s + 1]``, that one not included. Bools are as many as elements,
        and true where a segment begins; the first element begins one.
    init : number or tuple of numbers, optional
        What comes before the first element of each segment.

    Returns
    -------
    array or tuple of arrays
        A combination for each segment, of the dtype that fits the elements, `init` and what `f` returns.

    Raises
    ------
    ValueError
        Offsets descend, or a segment is empty and there is no `init`.
    IndexError
        An offset is out of bounds.

    See Also
    --------
    group_by_reduce, reduce

    Notes
    -----
    Threads have segments each. In a segment all is done in order.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.segmented_reduce(lambda a, b: a + b, np.array([1, 2, 3, 4]), np.array([0, 3, 3, 4]), 0)
    array([6, 0, 4])
    >>> parallel.segmented_reduce(max, np.array([1, 2, 3, 4]), np.array([True, False, True, False]))
    array([2, 4])
    """
    need_function(f)
    xs = ready(xs)
    n = length_of(xs)
    offsets = offsets_of(offsets, n)
    need_offsets(offsets, n)
    count = len(offsets) - 1
    if init is None:
        for s in range(count):
            if offsets[s] == offsets[s + 1]:
                raise ValueError(f"segment {s} is empty, and there is no `init`")
    from .. import prange

    kinds = kinds_of(f, xs, n, init, init is not None or count < n)
    made = columns_of(kinds, count)
    if is_python() or count < 8 * TOGETHER:
        for s in prange(count):
            combine_segment(f, xs, offsets, s, init, kinds, made)
    else:
        for g in prange(count // TOGETHER):
            combine_segments(f, xs, offsets, g * TOGETHER, init, kinds, made)
        for s in range(count // TOGETHER * TOGETHER, count):
            combine_segment(f, xs, offsets, s, init, kinds, made)
    return filled(made)


def combine_segment(f: Callable[..., Any], xs: Any, offsets: Any, s: int, init: Any, kinds: Any, made: Any) -> None:
    begin = offsets[s]
    if init is None:
        put(made, s, combined(f, xs, begin + 1, offsets[s + 1], element(xs, begin), kinds))
    else:
        put(made, s, combined(f, xs, begin, offsets[s + 1], init, kinds))


def combine_segments(f: Callable[..., Any], xs: Any, offsets: Any, first: int, init: Any, kinds: Any, made: Any) -> None:
    """Combines some segments at the same time, as far as the shortest one goes: they do not wait for each other's elements."""
    begins = tuple([offsets[first + k] for k in range(TOGETHER)])
    common = offsets[first + 1] - begins[0]
    for k in range(1, TOGETHER):
        common = min(common, offsets[first + k + 1] - begins[k])
    start = 0 if init is not None else 1
    now = tuple([at_kinds(kinds, element(xs, begins[k]) if init is None else init) for k in range(TOGETHER)])
    for j in range(start, common):
        now = tuple([at_kinds(kinds, f(now[k], element(xs, begins[k] + j))) for k in range(TOGETHER)])
    for k in range(TOGETHER):
        put(made, first + k, now[k])
    for k in range(TOGETHER):
        put(made, first + k, combined(f, xs, offsets[first + k] + common, offsets[first + k + 1], element(made, first + k), kinds))


def segmented_scan(f: Callable[..., Any], xs: Any, offsets: Any, init: Any = None, exclusive: bool = False) -> Any:
    """Return the combinations up to each element in its segment.

    Parameters
    ----------
    f, xs, offsets, init
        As of `segmented_reduce`; all elements are in segments. Empty segments need no `init`.
    exclusive : bool, default False
        Whether each combination is without the element itself; the first of a segment is `init`.

    Returns
    -------
    array or tuple of arrays
        A combination for each element, of the dtype that fits the elements, `init` and what `f` returns.

    Raises
    ------
    ValueError
        Offsets descend or do not cover all elements, or it is exclusive and there is no `init`.
    IndexError
        An offset is out of bounds.

    See Also
    --------
    scan

    Notes
    -----
    One thread goes through the elements in order.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.segmented_scan(lambda a, b: a + b, np.array([1, 2, 3, 4]), np.array([0, 2, 4]))
    array([1, 3, 3, 7])
    """
    need_function(f)
    xs = ready(xs)
    n = length_of(xs)
    offsets = offsets_of(offsets, n)
    need_offsets(offsets, n)
    if offsets[0] != 0 or offsets[len(offsets) - 1] != n:
        raise ValueError("the segments of a scan cover all elements")
    if exclusive and init is None:
        raise ValueError("an exclusive scan needs `init`, its first result")
    kinds = kinds_of(f, xs, n, init, init is not None or len(offsets) - 1 < n)
    made = columns_of(kinds, n)
    for s in range(len(offsets) - 1):
        begin = offsets[s]
        end = offsets[s + 1]
        if begin == end:
            continue
        if init is None:
            first = at_kinds(kinds, element(xs, begin))
            put(made, begin, first)
            scan_run(f, xs, made, begin + 1, end, first, kinds, exclusive)
        else:
            scan_run(f, xs, made, begin, end, init, kinds, exclusive)
    return filled(made)
