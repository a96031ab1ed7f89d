"""Control flow as functions, with the signatures of `jax.lax`: plain loops and branches, run by Python or compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .structures import leaves_of, map_leaves


def cond(pred: Any, true_fun: Callable, false_fun: Callable, *operands: Any) -> Any:
    """The result of `true_fun` or `false_fun` for the operands; the other is not called."""
    return true_fun(*operands) if pred else false_fun(*operands)


def switch(index: Any, branches: Sequence[Callable], *operands: Any) -> Any:
    """The result of the branch of this number for the operands; a number out of range stands for the nearest in it."""
    for k in range(len(branches) - 1):
        if index <= k:
            return branches[k](*operands)
    return branches[len(branches) - 1](*operands)


def fresh(tree: Any) -> Any:
    """A structure of the same leaves, which nobody else holds: another one may replace it in a loop."""
    return map_leaves(lambda leaf: leaf, tree)


def while_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    """The first of `init_val`, `body_fun(init_val)`, ... for which `cond_fun` does not hold. Values are structures of any depth."""
    value = fresh(init_val)
    while cond_fun(value):
        value = body_fun(value)
    return value


def fori_loop(lower: int, upper: int, body_fun: Callable, init_val: Any) -> Any:
    """`value = body_fun(i, value)` for each i from `lower` up to `upper`, from `init_val` on, structures of any depth."""
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


def scan(f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> tuple:
    """Carries a value through calls of `f` along the first axes of arrays.

    `carry, y = f(carry, x)` for each x of `xs`: an array or a structure of arrays of one length, of which `x` is the
    entries, or None, with `length`. Returns the last carry, and the y of all iterations in arrays, each at the index of its x;
    `reverse` takes the last x first. At least one iteration.
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


def map(f: Callable, xs: Any) -> Any:
    """The results of `f` for each entry along the first axes of arrays, in arrays."""
    return scan(lambda carry, x: (carry, f(x)), 0, xs)[1]


def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Running combinations along an axis of arrays: `fn(before, now)` of parts of length 1 along it, in order."""
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
    """By element, one of two arrays of one shape and dtype; `pred` is a bool, or bools of that shape."""
    if np.shape(on_true) != np.shape(on_false):
        raise TypeError(f"select cases must have the same shapes, got {np.shape(on_true)} and {np.shape(on_false)}.")
    if np.asarray(on_true).dtype != np.asarray(on_false).dtype:
        raise TypeError("select cases must have the same dtypes")
    if np.ndim(pred) > 0 and np.shape(pred) != np.shape(on_true):
        raise TypeError(f"select `pred` must be scalar or have the same shape as cases, got {np.shape(pred)} and {np.shape(on_true)}.")
    return np.where(pred, on_true, on_false)
