"""Sequences that are computed, or that store elsewhere: the inputs and outputs of `ingot.parallel`. Run by Python, or compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives
from .batching import stacked
from .structures import leaves_of, map_leaves


class counting:
    """The numbers ``start``, ``start + step``, ``start + 2 * step`` and so on.

    Parameters
    ----------
    start, step : number, default 0 and 1
        The first number, and the difference of two.

    See Also
    --------
    constant, transformed

    Notes
    -----
    It has no length of its own: what is next to it gives one.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.map(lambda i, x: i * x, parallel.counting(1), np.array([2.0, 3.0, 5.0]))
    array([ 2.,  6., 15.])
    """

    def __init__(self, start: Any = 0, step: Any = 1) -> None:
        self.start = start
        self.step = step

    def __getitem__(self, i: Any) -> Any:
        return self.start + i * self.step


class constant:
    """The same value again and again.

    Parameters
    ----------
    value : number or tuple of numbers
        The value.

    See Also
    --------
    counting

    Notes
    -----
    It has no length of its own: what is next to it gives one.

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.group_by_reduce(lambda a, b: a + b, np.array([3, 1, 3]), parallel.constant(1))
    (array([1, 3]), array([1, 2]))
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, i: Any) -> Any:
        return self.value


class transformed:
    """The results of a function for the elements of sequences, computed where they are read.

    Parameters
    ----------
    f : callable
        ``f(x, ...)`` returns a number or a tuple of numbers.
    *xs : sequences
        Of one length.

    See Also
    --------
    map : Stores the results.
    written : The same for an output.

    Examples
    --------
    >>> from ingot import parallel
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    >>> parallel.reduce(lambda a, b: a + b, parallel.transformed(lambda a, b: a * b, x, y))
    np.float64(32.0)
    """

    def __init__(self, f: Callable[..., Any], *xs: Any) -> None:
        self.f = f
        self.xs = tuple([ready(x) for x in xs])

    def __len__(self) -> int:
        return length_of(self.xs)

    def __getitem__(self, i: Any) -> Any:
        return self.f(*element(self.xs, i))


class permuted:
    """The elements of a sequence at some indices; as an output, those elements are what is written.

    Parameters
    ----------
    xs : sequence, or output
        The elements.
    index : sequence of int
        Where each is; negative numbers count from the end of arrays.

    See Also
    --------
    gather, scatter

    Examples
    --------
    >>> from ingot import parallel
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> parallel.map(lambda a: 10 * a, parallel.permuted(x, np.array([2, 0])))
    array([30., 10.])
    >>> parallel.map(lambda a: -a, np.array([5.0, 7.0]), out=parallel.permuted(x, np.array([2, 0]))).xs
    array([-7.,  2., -5.])
    """

    def __init__(self, xs: Any, index: Any) -> None:
        self.xs = ready(xs)
        self.index = ready(index)

    def __len__(self) -> int:
        return length_of(self.index)

    def __getitem__(self, i: Any) -> Any:
        return element(self.xs, self.index[i])

    def __setitem__(self, i: Any, value: Any) -> None:
        put(self.xs, self.index[i], value)


class reversed:
    """The elements of a sequence, the last one first; also an output.

    Parameters
    ----------
    xs : sequence, or output
        The elements.

    See Also
    --------
    permuted

    Examples
    --------
    >>> from ingot import parallel
    >>> parallel.scan(lambda a, b: a + b, parallel.reversed(np.array([1, 2, 3])))
    array([3, 5, 6])
    """

    def __init__(self, xs: Any) -> None:
        self.xs = ready(xs)

    def __len__(self) -> int:
        return length_of(self.xs)

    def __getitem__(self, i: Any) -> Any:
        return element(self.xs, length_of(self.xs) - 1 - i)

    def __setitem__(self, i: Any, value: Any) -> None:
        put(self.xs, length_of(self.xs) - 1 - i, value)


class discarded:
    """An output that stores nothing.

    See Also
    --------
    written

    Examples
    --------
    >>> from ingot import parallel
    >>> total = np.zeros(3)
    >>> out = parallel.map(lambda a: (a, a * a), np.array([1.0, 2.0, 3.0]), out=(parallel.discarded(), total))
    >>> total
    array([1., 4., 9.])
    """

    def __init__(self) -> None:
        pass

    def __setitem__(self, i: Any, value: Any) -> None:
        pass


class written:
    """An output that stores what a function returns for each value.

    Parameters
    ----------
    f : callable
        The function of a value.
    out : output
        Where its results are stored.

    See Also
    --------
    transformed : The same for an input.

    Examples
    --------
    >>> from ingot import parallel
    >>> rounded = np.zeros(3, np.int64)
    >>> out = parallel.scan(lambda a, b: a + b, np.array([0.4, 0.4, 0.4]), out=parallel.written(round, rounded))
    >>> rounded
    array([0, 1, 1])
    """

    def __init__(self, f: Callable[..., Any], out: Any) -> None:
        self.f = f
        self.out = out

    def __setitem__(self, i: Any, value: Any) -> None:
        put(self.out, i, self.f(value))


def ready(xs: Any) -> Any:
    """A sequence, made of a list if it is one."""
    return np.asarray(xs) if isinstance(xs, list) else xs


def element(xs: Any, i: Any) -> Any:
    """The i-th element: of a structure of sequences, the structure of theirs."""
    return map_leaves(lambda x: x[i], xs)


def put(out: Any, i: Any, value: Any) -> None:
    """Stores the i-th result."""
    map_leaves(lambda leaf, part: store(leaf, i, part), out, value)


def store(leaf: Any, i: Any, value: Any) -> None:
    leaf[i] = value


def lengths(xs: Any) -> tuple[int, ...]:
    """The lengths of the sequences of a structure that have one."""
    found: tuple = ()
    for leaf in leaves_of(xs):
        found = found + own_lengths(leaf)
    return found


def own_lengths(leaf: Any) -> tuple[int, ...]:
    if isinstance(leaf, (counting, constant)):
        return ()
    if isinstance(leaf, (transformed, reversed)):
        return lengths(leaf.xs)
    if isinstance(leaf, permuted):
        return lengths(leaf.index)
    return (len(leaf),)


def length_of(xs: Any) -> int:
    """The one length of the sequences of a structure."""
    sizes = lengths(xs)
    if len(sizes) == 0:
        raise ValueError("no sequence here has a length: give an array, or `permuted(counting(), np.arange(n))`")
    for size in sizes:
        if size != sizes[0]:
            raise ValueError(f"sequences of {sizes[0]} and {size} elements")
    return sizes[0]


def need_room(out: Any, n: int) -> None:
    """Raises where an output has another length."""
    for leaf in leaves_of(out):
        if not isinstance(leaf, (discarded, written)) and len(leaf) != n:
            raise ValueError(f"an output of {len(leaf)} elements for {n} results")


def is_sequence(xs: Any) -> bool:
    """Whether a value is one of the sequences here, and no function."""
    return isinstance(xs, (np.ndarray, list, counting, constant, transformed, permuted, reversed))


def need_function(f: Any) -> None:
    if is_sequence(f) or isinstance(f, (bool, int, float, complex, str, tuple, dict, np.generic)):
        raise TypeError(f"the first argument is a function, not {type(f).__name__}")


def is_stored(xs: Any) -> bool:
    """Whether all sequences of a structure are arrays."""
    for leaf in leaves_of(xs):
        if not isinstance(leaf, np.ndarray):
            return False
    return True


def results(iteration: Callable[[int], Any], n: int) -> Any:
    """The results of all iterations, in arrays."""
    are_numbers, dtypes = primitives.dtypes_of_lane(iteration)
    if n == 0 and dtypes is None:
        return np.empty(0)
    return stacked(iteration, n)


def stored(xs: Any, n: int) -> Any:
    """The first n elements, in arrays."""
    if is_stored(xs):
        return xs
    return results(lambda i: element(xs, i), n)


def near(xs: Any, at: int, count: int) -> tuple[Any, Any]:
    """Arrays that have some elements, and the index of the first one: those of iterators are computed, all at the same time."""
    if is_stored(xs):
        return xs, at
    return stacked(lambda i: element(xs, at + i), count), 0
