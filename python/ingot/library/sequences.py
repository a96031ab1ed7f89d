"""Sequences that are computed, or that store elsewhere: the inputs and outputs of `ingot.parallel`. Run by Python, or compiled."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import primitives
from .batching import stacked
from .structures import leaves_of, map_leaves
from .threefry import fold_in


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
        return self.f(*chosen(self.xs, i))


class zipped:
    """Sequences of one length as one, whose elements are tuples; also an output.

    Parameters
    ----------
    *xs : sequences, or outputs
        Of one length.

    See Also
    --------
    transformed

    Notes
    -----
    It is what a tuple of sequences is where functions here take one, with a length and elements of its own: a structure of
    arrays that is given on, indexed, or an element of another structure.

    Examples
    --------
    >>> from ingot import parallel
    >>> particles = parallel.zipped(np.array([1.0, 2.0]), np.array([0.5, 0.25]))
    >>> parallel.reduce(lambda a, b: (a[0] + b[0], max(a[1], b[1])), particles)
    (np.float64(3.0), np.float64(0.5))
    >>> parallel.map(lambda p: (p[0] + p[1], -p[1]), particles, out=particles) is particles
    True
    >>> particles[1]
    (np.float64(2.25), np.float64(-0.25))
    """

    def __init__(self, *xs: Any) -> None:
        self.xs = tuple([ready(x) for x in xs])

    def __len__(self) -> int:
        return length_of(self.xs)

    def __getitem__(self, i: Any) -> Any:
        return chosen(self.xs, i)

    def __setitem__(self, i: Any, value: Any) -> None:
        put_chosen(self.xs, i, value)


class random:
    """Random numbers, computed where they are read: those of keys that are made of a key and the index.

    Parameters
    ----------
    draw : callable
        ``draw(key)`` returns a number or a tuple of numbers, as `ingot.random.normal` does.
    key : array
        A key of `ingot.random`; element i has ``ingot.random.fold_in(key, i)``.

    See Also
    --------
    ingot.random.fold_in
    transformed

    Notes
    -----
    It has no length of its own: what is next to it gives one. Any number of threads, and any order in which elements are read,
    gives the same numbers.

    Examples
    --------
    >>> from ingot import parallel
    >>> noise = parallel.random(ingot.random.uniform, ingot.random.PRNGKey(0))
    >>> x = parallel.map(lambda a, b: a + b, np.array([10.0, 20.0, 30.0]), noise)
    >>> (np.floor(x) == [10.0, 20.0, 30.0]).all()
    np.True_
    """

    def __init__(self, draw: Callable[..., Any], key: Any) -> None:
        self.draw = draw
        self.key = key

    def __getitem__(self, i: Any) -> Any:
        return drawn(self, i) if is_python() else self.draw(fold_in(self.key, i))


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
        need_indices(self.index)

    def __len__(self) -> int:
        return length_of(self.index)

    def __getitem__(self, i: Any) -> Any:
        return chosen(self.xs, index_at(self.index, i))

    def __setitem__(self, i: Any, value: Any) -> None:
        put_chosen(self.xs, index_at(self.index, i), value)


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
        return chosen(self.xs, length_of(self.xs) - 1 - from_start(i, length_of(self.xs)))

    def __setitem__(self, i: Any, value: Any) -> None:
        put_chosen(self.xs, length_of(self.xs) - 1 - from_start(i, length_of(self.xs)), value)


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
        put_chosen(self.out, i, self.f(value))


def drawn(numbers: random, i: Any) -> Any:
    """What Python draws, whose words of 32 bits overflow in silence."""
    with np.errstate(all="ignore"):
        return numbers.draw(fold_in(numbers.key, i))


def ready(xs: Any) -> Any:
    """A sequence, made of a list if it is one."""
    return np.asarray(xs) if isinstance(xs, list) else xs


def element(xs: Any, i: Any) -> Any:
    """The i-th element, where i is from 0 to the length: of a structure of sequences, the structure of theirs."""
    return map_leaves(lambda x: read(x, i), xs)


def read(x: Any, i: Any) -> Any:
    if isinstance(x, reversed):
        return element(x.xs, length_of(x.xs) - 1 - i)
    if isinstance(x, transformed):
        return x.f(*element(x.xs, i))
    if isinstance(x, range):
        return x.start + i * x.step
    return element(x.xs, i) if isinstance(x, zipped) else x[i]


def put(out: Any, i: Any, value: Any) -> None:
    """Stores the i-th result, where i is from 0 to the length."""
    map_leaves(lambda leaf, part: store(leaf, i, part), out, value)


def store(leaf: Any, i: Any, value: Any) -> None:
    if isinstance(leaf, reversed):
        put(leaf.xs, length_of(leaf.xs) - 1 - i, value)
    elif isinstance(leaf, written):
        put(leaf.out, i, leaf.f(value))
    elif isinstance(leaf, zipped):
        put(leaf.xs, i, value)
    else:
        leaf[i] = value


def chosen(xs: Any, i: Any) -> Any:
    """The element at an index that a user gives, which may be out of bounds."""
    if has_endless(xs) and len(lengths(xs)) > 0:
        return element(xs, from_start(i, length_of(xs)))
    return map_leaves(lambda x: x[i], xs)


def has_endless(xs: Any) -> bool:
    """Whether a sequence that has no length of its own depends on the index."""
    for leaf in leaves_of(xs):
        if isinstance(leaf, (counting, random)):
            return True
        if isinstance(leaf, (transformed, zipped)) and len(lengths(leaf.xs)) == 0:
            return True
    return False


def put_chosen(out: Any, i: Any, value: Any) -> None:
    """Stores at an index that a user gives."""
    map_leaves(lambda leaf, part: store_chosen(leaf, i, part), out, value)


def store_chosen(leaf: Any, i: Any, value: Any) -> None:
    leaf[i] = value


def from_start(i: Any, n: int) -> int:
    """An index that a user gives, which is negative where it counts from the end."""
    at = operator.index(i)
    if at < -n or at >= n:
        raise IndexError(f"index {at} is out of bounds for {n} elements")
    return at + n if at < 0 else at


def need_indices(index: Any) -> None:
    if isinstance(index, np.ndarray) and index.dtype.kind == "b":
        raise TypeError("indices are ints, not bools: `compact` takes a mask")


def index_at(index: Any, i: Any) -> Any:
    at = index[i]
    if isinstance(at, (bool, np.bool)):
        raise TypeError("indices are ints, not bools: `compact` takes a mask")
    return at


def lengths(xs: Any) -> tuple[int, ...]:
    """The lengths of the sequences of a structure that have one."""
    found: tuple = ()
    for leaf in leaves_of(xs):
        found = found + own_lengths(leaf)
    return found


def own_lengths(leaf: Any) -> tuple[int, ...]:
    if isinstance(leaf, (counting, constant, random)):
        return ()
    if isinstance(leaf, (transformed, reversed, zipped)):
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
        if isinstance(leaf, written):
            need_room(leaf.out, n)
        elif isinstance(leaf, zipped):
            need_room(leaf.xs, n)
        elif not isinstance(leaf, discarded) and len(leaf) != n:
            raise ValueError(f"an output of {len(leaf)} elements for {n} results")


def is_sequence(xs: Any) -> bool:
    """Whether a value is one of the sequences here, and no function."""
    return isinstance(xs, (np.ndarray, list, counting, constant, random, transformed, zipped, permuted, reversed))


def need_function(f: Any) -> None:
    if is_sequence(f) or isinstance(f, (bool, int, float, complex, str, tuple, dict, np.generic)):
        raise TypeError(f"the first argument is a function, not {type(f).__name__}")


def is_stored(xs: Any) -> bool:
    """Whether all sequences of a structure are arrays."""
    for leaf in leaves_of(xs):
        if not isinstance(leaf, np.ndarray):
            return False
    return True


def is_python() -> bool:
    """Whether this is not compiled."""
    return primitives.dtypes_of_lane(lambda i: i)[1] is None


def results(iteration: Callable[[int], Any], n: int, sample: Callable[[], Any]) -> Any:
    """The results of all iterations, in arrays; Python makes those of none like what a sample gives, whose numbers do not count."""
    if is_python():
        return columns([iteration(i) for i in range(n)]) if n > 0 else nothing_like(sample)
    if n == 0 and not primitives.dtypes_of_lane(iteration)[0]:
        raise ValueError("no elements, of a function that gives arrays, whose shapes are not known")
    return stacked(iteration, n)


def columns(values: list[Any]) -> Any:
    """Arrays of the numbers or arrays that Python made, of the dtype that fits all of them."""
    parts = iter([column(list(part)) for part in zip(*[leaves_of(value) for value in values], strict=True)])
    return map_leaves(lambda x: next(parts), values[0])


def column(values: list[Any]) -> Any:
    shapes = {np.shape(value) for value in values}
    if len(shapes) > 1:
        raise ValueError(f"a function gives arrays of shapes {' and '.join(str(shape) for shape in sorted(shapes))}")
    return np.array(values, dtype_of(values))


def dtype_of(values: Iterable[Any]) -> Any:
    """The dtype of numbers together: those of Python's take the dtype of NumPy's, as in arithmetic."""
    kinds = {value.dtype if isinstance(value, (np.generic, np.ndarray)) else type(value) for value in values}
    if any(isinstance(kind, type) and kind not in (bool, int, float, complex) for kind in kinds):
        return None  # NumPy's choice
    return np.result_type(*[kind(0) if isinstance(kind, type) else kind for kind in kinds])


def nothing_like(sample: Callable[[], Any]) -> Any:
    """Arrays without elements, of the dtypes of a value; of floats where it cannot be computed."""
    value = tried(sample)
    return np.empty(0) if value is None else map_leaves(lambda x: column([x])[:0], value)


def tried(compute: Callable[[], Any]) -> Any:
    """What Python computes, whose numbers do not count; None where it raises."""
    try:
        with np.errstate(all="ignore"):
            return compute()
    except Exception:
        return None


def sample_of(xs: Any) -> Any:
    """An element with the dtypes of a sequence's, of zeros. For Python alone."""
    return map_leaves(sample_of_one, xs)


def sample_of_one(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return np.zeros(x.shape[1:], x.dtype)[()]
    if isinstance(x, (permuted, reversed, zipped)):
        return sample_of(x.xs)
    if isinstance(x, transformed):
        return x.f(*sample_of(x.xs))
    return 0 if isinstance(x, range) else x[0]


def stored(xs: Any, n: int) -> Any:
    """The first n elements, in arrays."""
    if is_stored(xs):
        return xs
    return results(lambda i: element(xs, i), n, lambda: sample_of(xs))


def near(xs: Any, at: int, count: int) -> tuple[Any, Any]:
    """Arrays that have some elements, and the index of the first one: those of iterators are computed, all at the same time."""
    if is_stored(xs) or is_python():
        return xs, at
    return stacked(lambda i: element(xs, at + i), count), 0
