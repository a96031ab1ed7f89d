"""Ufuncs of `scipy.special`, by their own loops: values are SciPy's, bit by bit, at the dtypes that NumPy chooses."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .derivatives import merged, others_of, with_jvp
from .ufuncs import need_one_shape, resolved
from .vectorized import delivered

PIECE = 8192
"""So many elements at a time: between pieces a call can be left."""


def call(
    special: Any,
    partials: Any,
    unknown: tuple[Any, ...],
    ufunc: Any,
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
    """A call of one of these ufuncs. `special` is the module, `partials` the derivative (`rules.special`), or None,
    `unknown` the operands by which it is not known."""
    inputs, most = ufunc.nin, ufunc.nin + ufunc.nout
    if len(given) < inputs or len(given) > most:
        raise TypeError(f"{ufunc.__name__}() takes from {inputs} to {most} positional arguments but {len(given)} were given")
    operands, outs, where, dtypes = resolved(ufunc, given, out, where, casting, order, dtype, subok, signature, sig)
    converted = tuple([primitives.at_dtype(x, dtypes[i]) for i, x in enumerate(operands)])
    arrays = tuple([x for x in (*converted, *outs, where) if isinstance(x, np.ndarray)])
    if len(arrays) == 0:
        return valued(special, partials, unknown, ufunc, dtypes, converted)
    given_outs = tuple([one for one in outs if one is not None])
    need_one_shape(operands + given_outs + ((where,) if isinstance(where, np.ndarray) else ()))
    whole_results = valued(special, partials, unknown, ufunc, dtypes, converted)
    results = whole_results if isinstance(whole_results, tuple) else (whole_results,)
    return delivered(results, outs, where, order, arrays, ufunc)


def valued(special: Any, partials: Any, unknown: tuple[Any, ...], ufunc: Any, dtypes: tuple[Any, ...], operands: tuple[Any, ...]) -> Any:
    """The value at the loop's dtypes, with the derivative where one is taken."""
    if partials is None or len(primitives.derivatives()) == 0:
        return plain(ufunc, dtypes, operands)

    def rule(*given: Any) -> tuple[Any, ...]:
        tangents = given[-1]
        own = merged(given[:-2], given[-2], unknown)
        y = valued(special, partials, unknown, ufunc, dtypes, own)
        total: Any = None
        for slope, t in zip(others_of(partials(special, y, *own), unknown), tangents):
            if t is not None:
                total = slope * t if total is None else total + slope * t
        return y, primitives.at_dtype(total, dtypes[-1])

    return with_jvp(lambda *own: plain(ufunc, dtypes, own), rule, unknown, operands)


def plain(ufunc: Any, dtypes: tuple[Any, ...], operands: tuple[Any, ...]) -> Any:
    if len([x for x in operands if isinstance(x, np.ndarray)]) == 0:
        return primitives.of_loop(ufunc, dtypes, operands)
    results = whole(ufunc, dtypes, ufunc.nin, operands)
    return results[0] if len(results) == 1 else results


def whole(ufunc: Any, dtypes: tuple[Any, ...], inputs: int, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results for arrays and numbers of the loop's dtypes."""
    arrays = tuple([x for x in operands if isinstance(x, np.ndarray)])
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    if len(shape) > 1 and all([x.ndim == len(shape) and not primitives.is_contiguous(x) and primitives.is_contiguous(x.T) for x in arrays]):
        turned = in_rows(ufunc, dtypes, inputs, tuple([x.T if isinstance(x, np.ndarray) else x for x in operands]), shape[::-1])
        return tuple([x.T for x in turned])
    return in_rows(ufunc, dtypes, inputs, operands, shape)


def in_rows(ufunc: Any, dtypes: tuple[Any, ...], inputs: int, operands: tuple[Any, ...], shape: tuple[Any, ...]) -> tuple[Any, ...]:
    results = tuple([np.empty(shape, t) for t in dtypes[inputs:]])
    size = results[0].size
    flat = tuple([np.reshape(x, (size,)) for x in results])
    if all([not isinstance(x, np.ndarray) or x.shape == shape and primitives.is_contiguous(x) for x in operands]):
        first(ufunc, dtypes, tuple([np.reshape(x, (size,)) if isinstance(x, np.ndarray) else spread(x, (size,)) for x in operands]), flat)
        return results
    views = tuple([spread(x, shape) for x in operands])
    if len(shape) == 1:
        first(ufunc, dtypes, views, results)
    elif len(shape) == 2:
        second(ufunc, dtypes, views, results)
    elif len(shape) == 3:
        third(ufunc, dtypes, views, results)
    else:
        first(ufunc, dtypes, tuple([np.reshape(np.copy(x), (size,)) for x in views]), flat)
    return results


def spread(x: Any, shape: tuple[Any, ...]) -> Any:
    """An operand as a view of the results' shape."""
    return np.broadcast_to(x if isinstance(x, np.ndarray) else np.full(1, x), shape)


def first(ufunc: Any, dtypes: tuple[Any, ...], operands: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    n = len(results[0])
    for k in range(0, n, PIECE):
        end = min(k + PIECE, n)
        primitives.run_loop(ufunc, dtypes, tuple([x[k:end] for x in operands]), tuple([x[k:end] for x in results]))


def second(ufunc: Any, dtypes: tuple[Any, ...], operands: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    for i in range(len(results[0])):
        first(ufunc, dtypes, tuple([x[i] for x in operands]), tuple([x[i] for x in results]))


def third(ufunc: Any, dtypes: tuple[Any, ...], operands: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    for i in range(len(results[0])):
        second(ufunc, dtypes, tuple([x[i] for x in operands]), tuple([x[i] for x in results]))
