"""NumPy's routines that compiled code calls by their names: matrix products, linear algebra, Fourier transforms, and the rest.

`library` gives a routine's result, as the interpreter takes it; `library_into` puts it into the last operand, as compiled
code takes it. A name with a point is that of a gufunc, whose outputs are operands, and which returns whether it failed.
"""

from __future__ import annotations

import importlib
import operator
from typing import Any

import numpy as np

from .streams import default_stream


def library(routine: str, operands: list[Any]) -> Any:
    """What a routine of the library table gives."""
    if "." in routine:
        return gufunc(routine, operands)
    if routine == "default_rng":
        return default_stream(*operands)
    return operator.attrgetter(routine)(np)(*operands)


def _gufunc_of(routine: str) -> np.ufunc:
    _pocketfft_umath = importlib.import_module("numpy.fft._pocketfft_umath")
    from numpy.linalg import _umath_linalg

    module, name = routine.split(".")
    return getattr({"fft": _pocketfft_umath, "linalg": _umath_linalg}[module], name)


def inputs(routine: str) -> int:
    """How many of the operands of a gufunc it only reads."""
    return _gufunc_of(routine).nin


def gufunc(routine: str, operands: list[Any]) -> None:
    """Calls one of NumPy's gufuncs on inputs, outputs, and whether it failed."""
    function = _gufunc_of(routine)
    *given, failed = operands
    failed[...] = 0
    with np.errstate(all="ignore", invalid="call", call=lambda *_: failed.fill(1)):
        function(*given[: function.nin], out=tuple(given[function.nin :]))


def library_into(routine: str, operands: list[Any]) -> None:
    """The same, put into the last operand."""
    if "." in routine:
        return gufunc(routine, operands)
    *given, result = operands
    result[...] = library(routine, given)
