"""Ufuncs: which loop NumPy's choose for operands of some types and the keywords of a call, and what holds those that were made here."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import numpy as np


def _emptied(value: Any) -> Any:
    """An operand of the same type of whose values nothing hangs."""
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return np.empty(0, value.dtype)
    return value


def _method(ufunc: np.ufunc, name: str, operands: tuple[Any, ...], out: Any, given: dict[str, Any]) -> tuple[np.dtype, ...]:
    """The same of a method of a ufunc: the dtype at which it combines."""
    arrays = [np.ones(1, value.dtype) for value in operands]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if name == "at":
            ufunc.at(arrays[0], [0], *arrays[1:])
            return (arrays[0].dtype,)
        result = None if out is None else np.ones(() if name == "reduce" else 1, out.dtype)
        getattr(ufunc, name)(arrays[0], *([[0]] if name == "reduceat" else []), out=result, **given)
    own = arrays[0].dtype
    at = given.get("dtype")
    if at is None and out is None and ufunc in (np.add, np.multiply) and own.kind in "biu":
        at = np.uint64 if own.kind == "u" else np.int64  # sums and products of integers have at least 64 bits
    chosen = {} if at is None else {"signature": (np.dtype(at), None, None)}
    types = (None if out is None else out.dtype, own, None)
    return ufunc.resolve_dtypes(types, reduction=True, casting="unsafe", **chosen)[:1]


def loop(ufunc: np.ufunc, operands: tuple[Any, ...], outputs: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[np.dtype, ...]:
    """The dtypes that a ufunc computes at, inputs first; raises what a call raises by its types and keywords.

    Operands are stand-ins of the same types and ranks; an output that is not given is None. `method` names a method of
    the ufunc that is called on arrays.
    """
    given = {k: v for k, v in keywords.items() if v is not np._NoValue and (v is not None or k == "casting")}
    if method := given.pop("method", None):
        return _method(ufunc, method, operands, outputs[0] if outputs else None, given)
    outs = outputs
    if getattr(np, ufunc.__name__, None) is not ufunc:  # one of `ingot.vectorize`: no element is computed
        operands = tuple(np.empty(0, value.dtype) if isinstance(value, np.generic) else value for value in operands)
        given.setdefault("where", np.empty(0, bool))
    if ufunc.signature is None:
        operands = tuple(_emptied(value) for value in operands)
        outs = tuple(None if out is None else np.empty(0, out.dtype) for out in outputs)
        given["where"] = _emptied(given.get("where", True))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ufunc(*operands, out=outs, **given)
    signature = given.get("signature", given.get("sig"))
    if signature is None and given.get("dtype") is not None:
        signature = (*[None] * ufunc.nin, *[given["dtype"]] * ufunc.nout)
    types: list[Any] = [type(v) if type(v) in (int, float, complex) else np.asarray(v).dtype for v in operands]
    types += [None if out is None else out.dtype for out in outputs]
    chosen = {} if signature is None else {"signature": signature}
    return ufunc.resolve_dtypes(tuple(types), casting=given.get("casting", "same_kind"), **chosen)


_made: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def remember(holder: Any) -> None:
    """Has `made_of` know what holds a ufunc."""
    _made[id(holder.ufunc)] = holder


def made_of(ufunc: np.ufunc) -> Any:
    """What was made of a function, and holds the ufunc; None: it is none of these."""
    found = _made.get(id(ufunc))
    return found if found is not None and found.ufunc is ufunc else None
