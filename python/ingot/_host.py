"""Functions of Python's that compiled code calls back, and functions of C's that it calls through `ctypes`.

The result's type is declared, since compiled code has to know it before the function has run. A call goes out of
compiled code with the GIL: the function is given the numbers and arrays themselves, and puts its result into an array
that compiled code reads. The object is called in plain Python too, and then converts its results in the same way.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ._signature import Type, parse_signature

_PYTHON = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_NAMES = {kind.__name__: kind for kind in _PYTHON}


class HostFunction:
    """A function that compiled code calls in Python; its results are of one type."""

    def __init__(self, function: Callable, result: Any) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.result = result
        result = _NAMES.get(result, result) if isinstance(result, str) else result
        self.python = result if isinstance(result, type) and result in _PYTHON else None
        self.type = None if result in (None, "None") else Type(_PYTHON[self.python]) if self.python else _type(result)
        self._tickets = itertools.count()
        self._waiting: dict[int, np.ndarray] = {}

    def __call__(self, *arguments: Any) -> Any:
        return self._converted(self.function(*arguments))

    def __repr__(self) -> str:
        return f"<host {self.function!r}, result={self.result!r}>"

    def __reduce__(self) -> tuple:
        return HostFunction, (self.function, self.result)

    @property
    def form(self) -> tuple:
        """What the library wants to know: which of its functions makes the call, and that function's own arguments."""
        if self.type is None:
            return ("nothing",)
        if self.type.ndim is None:
            return ("number", self.type.dtype, self.python is not None)
        return ("array", self.type.dtype, self.type.ndim, self.take)

    def fill(self, out: np.ndarray, *arguments: Any) -> None:
        """Calls the function; puts a number into `out`, or an array's shape and the ticket that it waits under."""
        value = self(*arguments)
        if isinstance(value, np.ndarray):
            ticket = next(self._tickets)
            self._waiting[ticket] = value
            value = (*value.shape, ticket)
        if self.type is not None:
            out[...] = value

    def take(self, out: np.ndarray, ticket: int) -> None:
        """Puts the array that waits under a ticket into `out`."""
        out[...] = self._waiting.pop(int(ticket))

    def _converted(self, value: Any) -> Any:
        wanted = self.type
        if wanted is None:
            if value is None:
                return None
        elif wanted.ndim is not None:
            if isinstance(value, np.ndarray) and value.dtype == np.dtype(wanted.dtype) and value.ndim == wanted.ndim:
                return value
        elif isinstance(value, (bool, int, float, complex, np.generic)):
            if self.python is int and isinstance(value, (int, np.integer)):
                return _checked_int(operator.index(value))
            if np.can_cast(np.result_type(value), np.dtype(wanted.dtype), "same_kind"):
                return (self.python or np.dtype(wanted.dtype).type)(value)
        raise TypeError(f"{getattr(self, '__name__', 'a host function')}() returned a {type(value).__name__}, not {_shown(self.result)}")


def _checked_int(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise OverflowError("the result of a host function does not fit into 64 bits")
    return value


def _shown(result: Any) -> str:
    return result.__name__ if isinstance(result, type) else str(result)


def _type(result: Any) -> Type:
    if isinstance(result, Type):
        return result
    if isinstance(result, type) and issubclass(result, np.generic):
        return Type(np.dtype(result).name)
    if isinstance(result, str):
        (parsed,) = parse_signature(f"({result},)").parameters
        return parsed
    raise TypeError(f"the result of a host function is a type such as float, 'float64' or 'float64[:]', not {result!r}")


def host(function: Callable | None = None, /, *, result: Any) -> Any:
    """Lets compiled code call `function` in Python: `ingot.host(f, result="float64")`, or as a decorator.

    `result` says what it returns: `bool`, `int`, `float`, `complex` (or their names) are Python's numbers; "float64" and
    the like NumPy's; "float64[:, :]" arrays; None nothing. The arguments may be numbers, arrays, texts, None and tuples
    of these. What it raises leaves compiled code. It cannot be called in loops over `prange`.
    """
    if function is None:
        return functools.partial(host, result=result)
    return HostFunction(function, result)


_INTS = (ctypes.c_byte, ctypes.c_ubyte, ctypes.c_short, ctypes.c_ushort, ctypes.c_int, ctypes.c_uint, ctypes.c_long,
         ctypes.c_ulong, ctypes.c_longlong, ctypes.c_ulonglong)  # fmt: skip


def of(function: Any) -> HostFunction | None:
    """The host function that it is, or that a function of `ctypes` with declared types makes; None: something else."""
    if type(function) is HostFunction:
        return function
    if not issubclass(type(function), ctypes._CFuncPtr) or function.argtypes is None:  # type: ignore[attr-defined]
        return None
    kinds = {None: None, ctypes.c_bool: bool, ctypes.c_double: float, ctypes.c_float: float} | dict.fromkeys(_INTS, int)
    if function.restype not in kinds:
        return None
    return HostFunction(function, kinds[function.restype])


_C_TYPES = {"bool": ctypes.c_bool, "float32": ctypes.c_float, "float64": ctypes.c_double} | {
    f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def c_pointer(function: Callable, signature: str) -> Any:
    """A `ctypes` function pointer to a compiled function, for C code that takes numbers of these types."""
    parsed = parse_signature(signature)
    kinds = [*parsed.parameters, *([parsed.result] if parsed.result is not None else [])]
    if any(kind.ndim is not None or kind.dtype not in _C_TYPES for kind in kinds):
        raise TypeError(f"a C function takes and returns numbers of C's, not {signature!r}")
    types = [np.dtype(kind.dtype).type for kind in parsed.parameters]
    result = None if parsed.result is None else np.dtype(parsed.result.dtype).type

    def call(*arguments: Any) -> Any:
        value = function(*[kind(argument) for kind, argument in zip(types, arguments)])
        return None if result is None else result(value).item()

    c_result = None if parsed.result is None else _C_TYPES[parsed.result.dtype]
    return ctypes.CFUNCTYPE(c_result, *[_C_TYPES[kind.dtype] for kind in parsed.parameters])(call)
