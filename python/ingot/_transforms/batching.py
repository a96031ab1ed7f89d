"""`ingot.vmap`: a function for all batch elements of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from .._calls.function import Function, transformed
from .._calls.jit import jit
from .._signatures.parameters import checked_keywords


@checked_keywords
def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable = None,
) -> Function[..., Any]:
    """Return a compiled function that calls `fun` for each batch element of its arguments and stacks the results.

    Parameters
    ----------
    fun : callable
        The function of one batch element.
    in_axes : int, None, or structure of these, default 0
        The axis along which the arrays among the arguments are mapped; None: each batch element gets the argument itself. A
        tuple has an entry for each positional argument, in which tuples, lists and dicts follow those of the argument.
        Arguments given by name are mapped along axis 0.
    out_axes : int, None, or structure of these, default 0
        The new axis of results. Numbers become arrays of one axis.
    axis_size : int, optional
        The number of batch elements; needed where no argument is mapped.
    axis_name : hashable, optional
        The name by which `axis_index`, `psum` and the like know the axis.

    Returns
    -------
    Function
        With the parameters of `fun`.

    Raises
    ------
    ValueError
        By a call: lengths of mapped axes differ, an argument does not have the axis, a structure does not fit, arrays that `fun`
        returns differ in shape, or the axis has length 0 and `fun` returns arrays.
    TypeError
        `fun` cannot be called.
    UnsupportedError
        By a call: `fun` cannot be compiled.

    See Also
    --------
    grad : Derivatives, which can be batched.
    numpy.vectorize : The same for numbers, in Python.

    Notes
    -----
    Batch elements are views: what `fun` writes into them is written into the argument. They run as the iterations of
    ``for i in range(n)``, in order where they depend on each other; the exception is that of the lowest batch element that
    raises. `vmap` may be nested, differentiated, and called in compiled functions. docs/batching.md has the rules.

    Examples
    --------
    >>> ingot.vmap(lambda x, y: x @ y, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    from ..library.batching import batched

    if not callable(fun):
        raise TypeError(f"vmap() takes a function, not {type(fun).__name__}")
    return transformed(jit(batched(fun, in_axes, out_axes, axis_size, axis_name)), fun, "vmap", (in_axes, out_axes, axis_size, axis_name))


@checked_keywords
def pmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable = None,
) -> Function[..., Any]:
    """Return what `vmap` returns, by the name that it has in JAX for batch elements that devices share.

    Here threads share them, as those of `vmap`. `shard_map` calls a function on blocks of arrays, by threads or ranks.

    Parameters
    ----------
    fun, in_axes, out_axes, axis_size, axis_name
        As of `vmap`.

    Returns
    -------
    Function
        As of `vmap`.

    See Also
    --------
    vmap : The same.
    shard_map : Blocks in place of batch elements.

    Examples
    --------
    >>> ingot.pmap(lambda x: x / ingot.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return vmap(fun, in_axes, out_axes, axis_size, axis_name)


def axis_index(axis_name: Any) -> int:
    """Return the index of the batch element or shard that runs.

    Parameters
    ----------
    axis_name : hashable, or tuple of hashables
        The `axis_name` of a `vmap` around, or an axis of the mesh of a `shard_map`; of several, the innermost is meant. The index along
        the axes of a tuple is that of all their elements in order, the last axis varying fastest.

    Returns
    -------
    int
        From 0 on.

    Raises
    ------
    NameError
        There is no such axis.

    Examples
    --------
    >>> ingot.vmap(lambda x: x * ingot.axis_index("i"), axis_name="i")(np.array([5.0, 5.0, 5.0]))
    array([ 0.,  5., 10.])
    """
    from ..library import batching

    return batching.axis_index(axis_name)


def psum(x: Any, axis_name: Any) -> Any:
    """Return the sum of the operands of all batch elements or shards.

    Parameters
    ----------
    x : number, array or structure of these
        The operand; shapes are the same for all batch elements.
    axis_name : hashable or tuple of these
        The axes of `vmap`, or of the mesh of `shard_map`, that are summed over.

    Returns
    -------
    number, array or structure of these
        The sum, the same for each batch element.

    Raises
    ------
    NameError
        There is no such axis.
    UnsupportedError
        Not all batch elements come to this call.
    RuntimeError
        Another shard has ended without coming to this call.

    See Also
    --------
    pmean, pmax, pmin, all_gather, psum_scatter, all_to_all, ppermute

    Examples
    --------
    >>> ingot.vmap(lambda x: x / ingot.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    from ..library.collectives import psum

    return psum(x, axis_name)


def pmean(x: Any, axis_name: Any) -> Any:
    """Return the mean of the operands of all batch elements.

    Parameters
    ----------
    x, axis_name
        As of `psum`.

    Returns
    -------
    number, array or structure of these
        The mean, the same for each batch element.

    See Also
    --------
    psum : The rules.

    Examples
    --------
    >>> ingot.vmap(lambda x: x - ingot.pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    from ..library.collectives import pmean

    return pmean(x, axis_name)


def pmax(x: Any, axis_name: Any) -> Any:
    """Return the largest operand of all batch elements, element by element.

    Parameters
    ----------
    x, axis_name
        As of `psum`.

    Returns
    -------
    number, array or structure of these
        The maximum, the same for each batch element. NaN wins.

    See Also
    --------
    psum : The rules.

    Examples
    --------
    >>> ingot.vmap(lambda x: x / ingot.pmax(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0.25, 1.  ])
    """
    from ..library.collectives import pmax

    return pmax(x, axis_name)


def pmin(x: Any, axis_name: Any) -> Any:
    """Return the smallest operand of all batch elements, element by element.

    Parameters
    ----------
    x, axis_name
        As of `psum`.

    Returns
    -------
    number, array or structure of these
        The minimum, the same for each batch element. NaN wins.

    See Also
    --------
    psum : The rules.

    Examples
    --------
    >>> ingot.vmap(lambda x: x - ingot.pmin(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0., 3.])
    """
    from ..library.collectives import pmin

    return pmin(x, axis_name)


def all_gather(x: Any, axis_name: Hashable, axis: int = 0, tiled: bool = False) -> Any:
    """Return the operands of all batch elements, along one axis.

    Parameters
    ----------
    x : number, array or structure of these
        As of `psum`.
    axis_name : hashable
        The axis of `vmap`, or of the mesh.
    axis : int, default 0
        Where they are in the result.
    tiled : bool, default False
        They are joined along an axis that they have, not along a new one.

    Returns
    -------
    array or structure of arrays
        The operands, the same for each batch element.

    See Also
    --------
    psum : The rules.

    Examples
    --------
    >>> ingot.vmap(lambda x: ingot.all_gather(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([[1., 3.],
           [1., 3.]])
    """
    from ..library.collectives import all_gather

    return all_gather(x, axis_name, axis, tiled)


def psum_scatter(x: Any, axis_name: Hashable, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    """Return the block of `psum` at the index of the batch element or shard.

    Parameters
    ----------
    x : number, array or structure of these
        As of `psum`.
    axis_name : hashable
        The axis of `vmap`, or of the mesh.
    scatter_dimension : int, default 0
        The axis of `x` that is split.
    tiled : bool, default False
        The axis stays, its length divided by the number along the named axis; else its length is that number, and it goes.

    Returns
    -------
    array or structure of arrays
        The block.

    Raises
    ------
    ValueError
        The length of the axis does not fit.

    See Also
    --------
    all_gather : The way back.

    Examples
    --------
    >>> ingot.vmap(lambda x: ingot.psum_scatter(x, "i"), axis_name="i")(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    """
    from ..library.collectives import psum_scatter

    return psum_scatter(x, axis_name, scatter_dimension, tiled)


def all_to_all(x: Any, axis_name: Hashable, split_axis: int, concat_axis: int, tiled: bool = False) -> Any:
    """Return, of the operands of all batch elements or shards, the blocks at the own index.

    Parameters
    ----------
    x : array or structure of arrays
        As of `psum`.
    axis_name : hashable
        The axis of `vmap`, or of the mesh.
    split_axis : int
        The axis of `x` that is split.
    concat_axis : int
        The axis of the result along which the blocks are.
    tiled : bool, default False
        Both axes stay: one is divided, and along the other one blocks are joined. Else the first, whose length is the number along
        the named axis, goes, and the other one is new.

    Returns
    -------
    array or structure of arrays
        The blocks.

    Raises
    ------
    ValueError
        The length of the axis does not fit.

    See Also
    --------
    ppermute : Whole operands.

    Examples
    --------
    >>> ingot.vmap(lambda x: ingot.all_to_all(x, "i", 0, 0), axis_name="i")(np.array([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    from ..library.collectives import all_to_all

    return all_to_all(x, axis_name, split_axis, concat_axis, tiled)


def ppermute(x: Any, axis_name: Hashable, perm: Any) -> Any:
    """Return the operand of another batch element or shard.

    Parameters
    ----------
    x : number, array or structure of these
        As of `psum`.
    axis_name : hashable
        The axis of `vmap`, or of the mesh.
    perm : list of tuple
        Pairs of indices: where an operand comes from, and where it goes.

    Returns
    -------
    number, array or structure of these
        What goes to the own index; zeros where nothing does.

    Raises
    ------
    ValueError
        Something would come from, or go to, one index twice.

    See Also
    --------
    all_to_all : Blocks of operands.

    Examples
    --------
    >>> ingot.vmap(lambda x: ingot.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(np.array([5.0, 6.0, 7.0]))
    array([0., 5., 6.])
    """
    from ..library.collectives import ppermute

    return ppermute(x, axis_name, perm)


def axis_size(axis_name: Any) -> int:
    """Return how many batch elements or shards there are along a named axis.

    Parameters
    ----------
    axis_name : hashable or tuple of these
        As of `psum`.

    Returns
    -------
    int
        The number; of several axes the product.

    Raises
    ------
    NameError
        There is no such axis.

    Examples
    --------
    >>> ingot.vmap(lambda x: x / ingot.axis_size("i"), axis_name="i")(np.array([4.0, 8.0]))
    array([2., 4.])
    """
    from ..library.collectives import axis_size

    return axis_size(axis_name)
