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
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _ingot
from .._signatures import Type, parse_signature
from .._signatures.parameters import checked_keywords

_PYTHON = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_NAMES = {kind.__name__: kind for kind in _PYTHON}


class HostFunction:
    """A function that compiled code calls in Python; its results are of one type."""

    __ingot_host__ = True  # as an argument it stands for itself, as functions do
    raises = True  # what a `try` of compiled code might catch
    around: Any = None  # makes the context in which compiled code that may call it is run; None: any

    def __init__(self, function: Callable[..., Any], result: Any, pure: bool = False) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.result = result
        self.pure = pure
        result = _NAMES.get(result, result) if isinstance(result, str) else result
        self.python = result if isinstance(result, type) and result in _PYTHON else None
        self.type = None if result in (None, "None") else Type(_PYTHON[self.python]) if self.python else _type(result)
        self._tickets = itertools.count()
        self._waiting: dict[int, np.ndarray] = {}

    def __call__(self, *arguments: Any) -> Any:
        return self._converted(self.function(*arguments))

    def __repr__(self) -> str:
        return f"<host {self.function!r}, result={self.result!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return HostFunction, (self.function, self.result, self.pure)

    @property
    def form(self) -> tuple[Any, ...]:
        """What the library wants to know: which of its functions makes the call, and that function's own arguments."""
        if self.type is None:
            return ("nothing",)
        if self.type.ndim is None:
            return ("number", self.type.dtype, self.python is not None)
        return ("array", self.type.dtype, self.type.ndim, self.take)

    def fill(self, out: np.ndarray, *arguments: Any) -> None:
        """Calls the function; puts a number into `out`, or an array's shape and the ticket that it waits under."""
        value = self(*arguments)
        if isinstance(value, _ingot.DeviceArray):
            value = value.to_host()
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
        if type(value) is self.python and self.python is not int:
            return value
        if self.python is float and type(value) is np.float64:
            return float(value)
        wanted = self.type
        if wanted is None:
            if value is None:
                return None
        elif wanted.ndim is not None:
            if isinstance(value, (np.ndarray, _ingot.DeviceArray)) and value.dtype == np.dtype(wanted.dtype) and value.ndim == wanted.ndim:
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


@checked_keywords
def host(function: Callable[..., Any] | None = None, /, *, result: Any, pure: bool = False) -> Any:
    """Let compiled code call a function in Python.

    Used as ``ingot.host(f, result="float64")``, or as a decorator with `result` alone.

    Parameters
    ----------
    function : callable
        What is called. Its arguments may be numbers, arrays, strings, None and tuples of these.
    result : type or str or None
        What it returns: `bool`, `int`, `float`, `complex` (or their names) are Python's numbers; ``"float64"`` and the like
        NumPy's; ``"float64[:, :]"`` arrays; None nothing.
    pure : bool, default False
        Promises that the function changes nothing that compiled code holds; then nothing is compared after its calls.

    Returns
    -------
    callable
        A function that Python and compiled code call. An exception of it leaves compiled code.

    Raises
    ------
    UnsupportedError
        It is called in a loop over `prange`; or it has changed a global, an attribute, a list, a dict, an instance or
        the shape of an array that compiled code holds.

    Notes
    -----
    The function may write into arrays.

    Examples
    --------
    >>> @ingot.host(result=float)
    ... def measured(i):
    ...     return [0.5, 1.5, 2.5][i]
    >>> @ingot.jit
    ... def total():
    ...     return measured(0) + measured(2)
    >>> total()
    3.0
    """
    if function is None:
        return functools.partial(host, result=result, pure=pure)
    return HostFunction(function, result, pure)


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


def c_pointer(function: Callable[..., Any], signature: str) -> Any:
    """A `ctypes` function pointer to a compiled function, for C code with these parameters: see `Function.c_pointer`."""
    result, parameters = _c_signature(signature)
    names = [name for name, _, _ in parameters]
    own = function._names  # type: ignore[attr-defined]
    if any(names):
        passed = [names.index(name) for name in own if name in names]
    else:
        passed = [i for i, (_, kind, _) in enumerate(parameters) if kind is not None]
        lengths = {place for _, _, shape in parameters for place, _ in shape or ()}
        passed = [i for i in passed if i not in lengths]
    described = [(_name_in_ir(kind or "int64"), shape) for _, kind, shape in parameters]
    entry = _ingot.CFunction(function, described, passed, result and _name_in_ir(result))
    pointer: Any = ctypes.CFUNCTYPE(_C_TYPES.get(result), *[_c_type(kind, shape) for _, kind, shape in parameters])(entry.address)
    pointer.entry = entry  # lives as long
    return pointer


def _name_in_ir(kind: str) -> str:
    return kind if kind == "bool" else kind[0] + kind.lstrip("uintfloa")


def _c_type(kind: str | None, shape: list[Any] | None) -> Any:
    if kind is None:
        return ctypes.c_void_p
    return _C_TYPES[kind] if shape is None else ctypes.POINTER(_C_TYPES[kind])


_PARAMETER = r"(void ?\*|\w+)\s*(?:\[([^\]]*)\])?\s*(\w*)"


def _c_signature(signature: str) -> tuple[str | None, list[tuple[str, str | None, list[tuple[int, int]] | None]]]:
    """Reads `float64(int32 n, float64[n] x)`: the result's dtype, and of each parameter of C's name, dtype and lengths.

    A dtype of None is that of memory nobody looks into. A length is (number of a parameter, 0) or (-1, a constant).
    """
    whole = re.fullmatch(r"\s*(\w*)\s*\((.*)\)\s*", signature)
    refusal = TypeError(f"a C function takes numbers of C's and arrays of them, and returns a number, not {signature!r}")
    if whole is None or whole[1] not in ("", "void", "None", *_C_TYPES):
        raise refusal
    read = [re.fullmatch(_PARAMETER, part.strip()) for part in re.split(r",(?![^\[]*\])", whole[2]) if part.strip()]
    parameters: list[tuple[str, str | None, list[Any] | None]] = []
    for part in read:
        kind = part[1] if part is not None and part[1] in _C_TYPES else None
        if part is None or kind is None and not (part[1].startswith("void") and part[2] is None):
            raise refusal
        lengths = [length.strip() for length in (part[2] or "").split(",")] if part[2] is not None else None
        if lengths is None or not all(length in ("", ":", "::1") for length in lengths):
            parameters.append((part[3], kind, lengths and [_length(length, read, refusal) for length in lengths]))
            continue
        # By the array's own lengths, which follow it.
        after = range(len(parameters) + 1, len(parameters) + 1 + len(lengths))
        parameters += [(part[3], kind, [(i, 0) for i in after]), *(("", "int64", None) for _ in after)]
    named = [name for name, _, _ in parameters]
    if any(named) and any(kind for name, kind, _ in parameters if not name):
        raise TypeError(f"all parameters of a C function have names, or none has, in {signature!r}")
    return whole[1] if whole[1] in _C_TYPES else None, parameters


def _length(text: str, read: list[Any], refusal: TypeError) -> tuple[int, int]:
    if text.isdigit():
        return -1, int(text)
    names = [part and part[3] for part in read]
    if not text or text not in names or read[names.index(text)][2] is not None or not read[names.index(text)][1].lstrip("u").startswith("int"):
        raise refusal
    return names.index(text), 0
