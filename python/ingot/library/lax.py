"""Control flow as functions, with the signatures of `jax.lax`: plain loops and branches, run by Python or compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .structures import leaves_of, map_leaves


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Return the result of one of two functions.

    Parameters
    ----------
    pred : bool or number
        Which one.
    true_fun, false_fun : callable
        The functions, whose results have one structure. Only one is called.
    *operands
        Their arguments.

    Returns
    -------
    object
        The result.

    See Also
    --------
    switch : Several functions.
    select : Element by element.

    Examples
    --------
    >>> from ingot import lax
    >>> lax.cond(True, lambda x: x + 1, lambda x: x - 1, 10)
    11
    """
    return true_fun(*operands) if pred else false_fun(*operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Return the result of one of several functions.

    Parameters
    ----------
    index : int
        Which one; clipped to the range of `branches`.
    branches : sequence of callable
        The functions, whose results have one structure. Only one is called.
    *operands
        Their arguments.

    Returns
    -------
    object
        The result.

    See Also
    --------
    cond : Two functions.

    Examples
    --------
    >>> from ingot import lax
    >>> lax.switch(1, [lambda x: x, lambda x: -x], 5)
    -5
    """
    for k in range(len(branches) - 1):
        if index <= k:
            return branches[k](*operands)
    return branches[len(branches) - 1](*operands)


def fresh(tree: Any) -> Any:
    """A structure of the same leaves, which nobody else holds: another one may replace it in a loop."""
    return map_leaves(lambda leaf: leaf, tree)


def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any) -> Any:
    """Run ``value = body_fun(value)`` as long as ``cond_fun(value)`` holds.

    Parameters
    ----------
    cond_fun : callable
        The condition.
    body_fun : callable
        The body of the loop.
    init_val : object
        The first value: a number, an array, or a structure of these; the body returns one of the same structure.

    Returns
    -------
    object
        The last value.

    See Also
    --------
    fori_loop, scan

    Examples
    --------
    >>> from ingot import lax
    >>> lax.while_loop(lambda x: x < 100, lambda x: 2 * x, 3)
    192
    """
    value = fresh(init_val)
    while cond_fun(value):
        value = body_fun(value)
    return value


def fori_loop(lower: int, upper: int, body_fun: Callable[..., Any], init_val: Any) -> Any:
    """Run ``value = body_fun(i, value)`` for each i in ``range(lower, upper)``.

    Parameters
    ----------
    lower, upper : int
        The range.
    body_fun : callable
        The body of the loop.
    init_val : object
        The first value: a number, an array, or a structure of these; the body returns one of the same structure.

    Returns
    -------
    object
        The last value.

    See Also
    --------
    while_loop, scan

    Examples
    --------
    >>> from ingot import lax
    >>> lax.fori_loop(0, 5, lambda i, total: total + i, 0)
    10
    """
    value = fresh(init_val)
    for i in range(lower, upper):
        value = body_fun(i, value)
    return value


def iterations_of(xs: Any, length: Any) -> Any:
    """How many iterations a loop over the first axes of arrays has."""
    sizes = tuple(len(x) for x in leaves_of(xs))
    if length is not None:
        sizes = (length, *sizes)
    if len(sizes) == 0:
        raise ValueError("scan got no values to scan over and length not provided.")
    for size in sizes:
        if size != sizes[0]:
            raise ValueError(f"scan got arrays of {size} and {sizes[0]} iterations")
    return sizes[0]


def put(batch: Any, value: Any, k: Any) -> None:
    """Stores the k-th result in an array of results."""
    if np.shape(value) != batch.shape[1:]:
        raise ValueError("a result whose shape differs from iteration to iteration")
    batch[k] = value


def scan(f: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> tuple[Any, ...]:
    """Carry a value through calls of a function along the first axes of arrays.

    Parameters
    ----------
    f : callable
        ``carry, y = f(carry, x)``.
    init : object
        The first carry.
    xs : array or structure of arrays, optional
        Of one length; `x` is their entries, or None.
    length : int, optional
        The number of iterations, needed without `xs`. At least one.
    reverse : bool, default False
        Takes the last x first.

    Returns
    -------
    carry, ys : tuple
        The last carry, and the y of all iterations in arrays, each at the index of its x.

    Raises
    ------
    ValueError
        Lengths differ, or there is no iteration.

    See Also
    --------
    fori_loop, associative_scan

    Examples
    --------
    >>> from ingot import lax
    >>> lax.scan(lambda total, x: (total + x, total + x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([1., 3., 6.]))
    """
    n = iterations_of(xs, length)
    if n == 0:
        raise ValueError("scan without iterations, whose results have no shape")
    first = n - 1 if reverse else 0
    carry, y = f(init, map_leaves(lambda x: x[first], xs))
    ys = map_leaves(lambda leaf: np.empty((n, *np.shape(leaf)), np.asarray(leaf).dtype), y)
    map_leaves(lambda batch, leaf: put(batch, leaf, first), ys, y)
    for iteration in range(1, n):
        k = n - 1 - iteration if reverse else iteration
        carry, y = f(carry, map_leaves(lambda x: x[k], xs))
        map_leaves(lambda batch, leaf: put(batch, leaf, k), ys, y)
    return carry, ys


def map(f: Callable[..., Any], xs: Any) -> Any:
    """Return the results of a function for each entry along the first axes of arrays.

    Parameters
    ----------
    f : callable
        The function of an entry.
    xs : array or structure of arrays
        Of one length.

    Returns
    -------
    array or structure of arrays
        The results, along first axes.

    See Also
    --------
    ingot.vmap : Other axes, and several arguments.

    Examples
    --------
    >>> from ingot import lax
    >>> lax.map(lambda x: x * x, np.array([1.0, 2.0, 3.0]))
    array([1., 4., 9.])
    """
    return scan(lambda carry, x: (carry, f(x)), 0, xs)[1]


def associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Return running combinations of arrays along an axis, such as running sums.

    Parameters
    ----------
    fn : callable
        ``fn(before, now)`` of parts of length 1 along the axis; associative.
    elems : array or structure of arrays
        Of one length along the axis.
    reverse : bool, default False
        Begins at the end.
    axis : int, default 0
        The axis.

    Returns
    -------
    array or structure of arrays
        Of the shapes of `elems`.

    See Also
    --------
    scan : Any function of a carry.

    Notes
    -----
    The combinations are made in order, one after the other.

    Examples
    --------
    >>> from ingot import lax
    >>> lax.associative_scan(lambda a, b: a * b, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    moved = map_leaves(lambda x: np.moveaxis(x, axis, 0), elems)
    n = iterations_of(moved, None)
    results = map_leaves(lambda x: x.copy(), moved)
    for iteration in range(1, n):
        k = n - 1 - iteration if reverse else iteration
        last = k + 1 if reverse else k - 1
        before = map_leaves(lambda r: np.moveaxis(r[last : last + 1], 0, axis), results)
        now = map_leaves(lambda x: np.moveaxis(x[k : k + 1], 0, axis), moved)
        map_leaves(lambda r, y: put_part(r, np.moveaxis(y, axis, 0), k), results, fn(before, now))
    return map_leaves(lambda r: np.moveaxis(r, 0, axis), results)


def put_part(batch: Any, part: Any, k: Any) -> None:
    """Stores the k-th part, of length 1, in an array."""
    batch[k : k + 1] = part


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Return elements of one of two arrays.

    Parameters
    ----------
    pred : bool or array of bool
        Which one, for all elements or each.
    on_true, on_false : array or number
        Of one shape and dtype.

    Returns
    -------
    array
        The elements.

    Raises
    ------
    TypeError
        Shapes or dtypes differ.

    See Also
    --------
    numpy.where : With broadcasting.

    Examples
    --------
    >>> from ingot import lax
    >>> lax.select(np.array([True, False]), np.array([1, 2]), np.array([3, 4]))
    array([1, 4])
    """
    if np.shape(on_true) != np.shape(on_false):
        raise TypeError(f"select cases must have the same shapes, got {np.shape(on_true)} and {np.shape(on_false)}.")
    if np.asarray(on_true).dtype != np.asarray(on_false).dtype:
        raise TypeError("select cases must have the same dtypes")
    if np.ndim(pred) > 0 and np.shape(pred) != np.shape(on_true):
        raise TypeError(f"select `pred` must be scalar or have the same shape as cases, got {np.shape(pred)} and {np.shape(on_true)}.")
    return np.where(pred, on_true, on_false)
