"""The loops of ufuncs that `ingot.vectorize` makes of functions of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives
from .ufuncs import laid_out, need_one_shape, resolved


def store(results: Any, outputs: tuple[Any, ...], i: int) -> None:
    """Puts the function's results into the outputs."""
    if isinstance(results, tuple):
        for k in range(len(outputs)):
            outputs[k][i] = results[k]
    else:
        outputs[0][i] = results


def number(x: Any, i: int) -> Any:
    """The operand of one iteration: an element, or the number that it is in all of them."""
    return x[i] if isinstance(x, np.ndarray) else x


def iterations_of(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], tuple[Any, ...]], None]:
    """The function for each element of vectors of one length."""

    def iterations(inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        for i in range(len(outputs[0])):
            store(function(*[number(x, i) for x in inputs]), outputs, i)

    return iterations


def parallel_iterations_of(function: Callable[..., Any], prange: Any) -> Callable[[tuple[Any, ...], tuple[Any, ...]], None]:
    """The same, with the iterations shared among threads."""

    def iterations(inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        for i in prange(len(outputs[0])):
            store(function(*[number(x, i) for x in inputs]), outputs, i)

    return iterations


def rows_of(function: Callable[..., Any], same: tuple[bool, ...]) -> Callable[[tuple[Any, ...], tuple[Any, ...]], None]:
    """A function of small arrays for each index of the leading axis of inputs and outputs. Some inputs are the same for all."""

    def rows(inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        for i in range(len(outputs[0])):
            function(*[x if same[k] else x[i] for k, x in enumerate(inputs)], *[x[i] for x in outputs])

    return rows


def over_rows_of(function: Callable[..., Any]) -> Callable[..., None]:
    """A function of small arrays for each index of one leading axis of all of them."""

    def rows(*arrays: Any) -> None:
        for i in range(len(arrays[0])):
            function(*[x[i] for x in arrays])

    return rows


def fold_of(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], tuple[Any, ...]], None]:
    """The number in the output and each element of a vector, put into the output."""

    def iterations(inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        total = outputs[0][0]
        for i in range(len(inputs[0])):
            total = primitives.at_dtype(function(total, inputs[0][i]), outputs[0].dtype)
        outputs[0][0] = total

    return iterations


def call(
    ufunc: Any,
    function: Callable[..., Any],
    *given: Any,
    out: Any = None,
    where: Any = True,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
    subok: Any = True,
    signature: Any = None,
    sig: Any = None,
) -> Any:
    """A call of a ufunc that `ingot.vectorize` has made of a function, in compiled code."""
    inputs = ufunc.nin
    operands, outs, where, dtypes = resolved(ufunc, given, out, where, casting, order, dtype, subok, signature, sig)
    converted = tuple([primitives.at_dtype(x, dtypes[i]) for i, x in enumerate(operands)])
    arrays = tuple([x for x in (*converted, *outs, where) if isinstance(x, np.ndarray)])
    if len(arrays) == 0:
        results = function(*converted)
        if not isinstance(results, tuple):
            return primitives.at_dtype(results, dtypes[inputs])
        return tuple([primitives.at_dtype(x, dtypes[inputs + k]) for k, x in enumerate(results)])
    given_outs = tuple([one for one in outs if one is not None])
    need_one_shape(operands + given_outs + ((where,) if isinstance(where, np.ndarray) else ()))
    whole = None
    if len([x for x in converted if isinstance(x, np.ndarray) and x.ndim > 0]) > 0:
        whole = primitives.each(function, converted)
    if whole is not None:
        parts = whole if isinstance(whole, tuple) else (whole,)
        results = tuple([primitives.at_dtype(x, dtypes[inputs + k]) for k, x in enumerate(parts)])
        return delivered(results, outs, where, order, arrays, ufunc)
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    results = tuple([np.empty(shape, t) if where is True else np.zeros(shape, t) for t in dtypes[inputs:]])
    fill(function, tuple([spread(x, shape) for x in converted]), results, spread(where, shape))
    return delivered(results, outs, where, order, arrays, ufunc)


def spread(x: Any, shape: tuple[int, ...]) -> Any:
    """An operand in the shape of the result; a number stays one."""
    return primitives.broadcast(x, shape) if isinstance(x, np.ndarray) else x


def delivered(results: tuple[Any, ...], outs: tuple[Any, ...], where: Any, order: Any, arrays: tuple[Any, ...], ufunc: Any) -> Any:
    """The results, in the outputs that were given for them."""
    given = []
    for k in range(len(results)):
        result = results[k]
        if outs[k] is not None:
            given.append(primitives.put(outs[k], primitives.at_dtype(result, outs[k].dtype), where, ufunc.__name__))
        else:
            if isinstance(where, np.ndarray) or len([one for one in outs if one is not None]) > 0:
                shape = np.broadcast_shapes(*[x.shape for x in arrays])
                if result.shape != shape:
                    result = np.copy(np.broadcast_to(result, shape))
            given.append(laid_out(result, order, arrays)[()])
    return given[0] if len(results) == 1 else tuple(given)


def fill(function: Callable[..., Any], operands: tuple[Any, ...], results: tuple[Any, ...], where: Any) -> None:
    """Computes results of one shape, where a mask holds."""
    rank = results[0].ndim
    if rank == 0:
        flat = tuple([primitives.reshape(x, (1,)) if isinstance(x, np.ndarray) else x for x in (*operands, where)])
        first(function, flat[:-1], tuple([primitives.reshape(x, (1,)) for x in results]), flat[-1])
    elif rank == 1:
        first(function, operands, results, where)
    elif rank == 2:
        second(function, operands, results, where)
    elif rank == 3:
        third(function, operands, results, where)
    elif rank == 4:
        fourth(function, operands, results, where)
    else:
        flat = tuple([np.ravel(x) if isinstance(x, np.ndarray) else x for x in (*operands, where)])
        first(function, flat[:-1], tuple([primitives.reshape(x, (x.size,)) for x in results]), flat[-1])


def first(function: Callable[..., Any], operands: tuple[Any, ...], results: tuple[Any, ...], where: Any) -> None:
    for i in range(len(results[0])):
        if number(where, i):
            store(function(*[number(x, i) for x in operands]), results, i)


def second(function: Callable[..., Any], operands: tuple[Any, ...], results: tuple[Any, ...], where: Any) -> None:
    for i in range(len(results[0])):
        first(function, tuple([number(x, i) for x in operands]), tuple([x[i] for x in results]), number(where, i))


def third(function: Callable[..., Any], operands: tuple[Any, ...], results: tuple[Any, ...], where: Any) -> None:
    for i in range(len(results[0])):
        second(function, tuple([number(x, i) for x in operands]), tuple([x[i] for x in results]), number(where, i))


def fourth(function: Callable[..., Any], operands: tuple[Any, ...], results: tuple[Any, ...], where: Any) -> None:
    for i in range(len(results[0])):
        third(function, tuple([number(x, i) for x in operands]), tuple([x[i] for x in results]), number(where, i))
