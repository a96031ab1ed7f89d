"""Which loop NumPy's ufuncs choose for operands of some types and the keywords of a call, when that is compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def _emptied(value: Any) -> Any:
    """An operand of the same type of whose values nothing hangs."""
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return np.empty(0, value.dtype)
    return value


def loop(ufunc: np.ufunc, operands: tuple, outputs: tuple, keywords: dict[str, Any]) -> tuple[np.dtype, ...]:
    """The dtypes that a ufunc computes at, inputs first; raises what a call raises by its types and keywords.

    Operands are stand-ins of the same types and ranks; an output that is not given is None.
    """
    given = {k: v for k, v in keywords.items() if v is not np._NoValue and (v is not None or k == "casting")}
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
    types = [type(v) if type(v) in (int, float, complex) else np.asarray(v).dtype for v in operands]
    types += [None if out is None else out.dtype for out in outputs]
    chosen = {} if signature is None else {"signature": signature}
    return ufunc.resolve_dtypes(tuple(types), casting=given.get("casting", "same_kind"), **chosen)
