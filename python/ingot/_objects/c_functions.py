"""C functions that compiled code calls by their addresses: those of `ctypes` and cffi, and loops of SciPy's ufuncs.

A function is known by what Python calls it through (`CFunction.of`). Where compiled code names it is a *form*, a tuple of
how its address is found: the code asks for the address when it is loaded (`addresses`), in each process anew.
What an argument becomes, or raises, is decided by what converts it in Python, on a stand-in of its type.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple

import numpy as np

from .. import _ingot
from .._routines import mpi
from .foreign import Kind

_BY_PYTHON = 4 | 8 | 16  # FUNCFLAG_PYTHONAPI, FUNCFLAG_USE_ERRNO, FUNCFLAG_USE_LASTERROR
_INTS = (ctypes.c_byte, ctypes.c_ubyte, ctypes.c_short, ctypes.c_ushort, ctypes.c_int, ctypes.c_uint, ctypes.c_long,
         ctypes.c_ulong, ctypes.c_longlong, ctypes.c_ulonglong)  # fmt: skip
_FLOATS = (ctypes.c_float, ctypes.c_double)
_NUMBERS = {ctypes.c_bool: "bool"} | {kind: np.dtype(kind).name for kind in (*_INTS, *_FLOATS)}
INTERFACE = type(np.empty(0).ctypes)


class Address(int):
    """`x.ctypes.data`, where compiled code has it."""


_GUARDED = ("argtypes", "restype", "errcheck")


class Argument(NamedTuple):
    """What C is given for an argument: a number of a dtype, or the address of an array, dtype "*".

    `form`: "number"; of cffi's, which raise for what does not fit, "exact"; "pointer", where the array is what follows
    the argument, or an array with `flags` that are looked at when the code runs.
    """

    form: str
    dtype: str
    limits: tuple[int, int] = (0, 0)
    flags: tuple[str, ...] = ()
    words: str = ""

    def converted(self, value: Any) -> Any:
        """A number that is known, as C is given it."""
        if self.form != "number" or not self.dtype.startswith(("int", "uint")):
            return value
        bits = 8 * np.dtype(self.dtype).itemsize
        low = int(value) & ((1 << bits) - 1)
        return low - (1 << bits) if low >> (bits - 1) else low


class CFunction:
    """A function of C's as compiled code calls it."""

    def __init__(self, function: Any, name: str, arguments: tuple[Any, ...], result: str | None, form: tuple[Any, ...], guards: tuple[str, ...]) -> None:
        self.function = function
        self.name = name
        self.arguments = arguments
        self.result = result
        """The dtype of what it returns; None: nothing."""
        self.form = form
        self.guards = guards
        """Attributes of the function that mean the same."""

    def misfit(self, count: int) -> Any:
        """What Python raises for so many arguments, or what is refused, in words; None: they fit."""
        if count == len(self.arguments):
            return None
        if self.form[0] == "ctypes":
            if count > len(self.arguments):
                return f"more arguments of the C function `{self.name}` than its `argtypes` have"
            plural = "" if len(self.arguments) == 1 else "s"
            return TypeError(f"this function takes at least {len(self.arguments)} argument{plural} ({count} given)")
        return TypeError(f"'{_cffi().typeof(self.function).cname}' expects {len(self.arguments)} arguments, got {count}")

    def argument(self, place: int, given: Any) -> Any:
        """What an argument becomes (`Argument`), given something that behaves as it does; what Python raises; None: that is not known."""
        by = _by_ctypes if self.form[0] == "ctypes" else _by_cffi
        return by(self.arguments[place], place, given)


def of(function: Any) -> CFunction | None:
    """None: it is none, or one whose calls need Python."""
    kind = type(function)
    if issubclass(kind, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return _of_ctypes(function)
    backend = sys.modules.get("_cffi_backend")
    if backend is None:
        return None
    if issubclass(kind, backend._CDataBase) or kind.__module__ == "_cffi_backend":
        return _of_cffi(function)
    owner = getattr(function, "__self__", None)
    return _of_cffi_library(function) if type(owner) is backend.Lib else None


def is_c_function(value: Any) -> bool:
    """Whether an object is one that `of` takes, of ctypes or cffi."""
    return of(value) is not None


def is_pointer(kind: Any) -> bool:
    """Whether it is ctypes' type of addresses, or of those of numbers."""
    if kind is ctypes.c_void_p:
        return True
    return isinstance(kind, type) and issubclass(kind, ctypes._Pointer) and kind._type_ in _NUMBERS


def stand_in(kind: Any, array: np.ndarray) -> Any:
    """What behaves as the address of such an array."""
    if kind is INTERFACE:
        return array.ctypes
    return 1 if kind is Address else array.ctypes.data_as(kind)


def _is_pointer(kind: Any) -> bool:
    if is_pointer(kind):
        return True
    return isinstance(kind, type) and issubclass(kind, np.ctypeslib._ndptr)  # type: ignore[attr-defined]


def _of_ctypes(function: Any) -> CFunction | None:
    arguments, result = function.argtypes, function.restype
    if arguments is None or type(function)._flags_ & _BY_PYTHON or getattr(function, "errcheck", None) is not None:
        return None
    if any(type(kept).__name__ == "CThunkObject" for kept in (function._objects or {}).values()):  # a function of Python's
        return None
    if result is not None and result not in _NUMBERS or not all(kind in _NUMBERS or _is_pointer(kind) for kind in arguments):
        return None
    name = getattr(function, "__name__", "") or "a function of ctypes"
    return CFunction(function, name, tuple(arguments), result and _NUMBERS[result], ("ctypes", function), _GUARDED)


def _by_ctypes(kind: Any, place: int, given: Any) -> Any:
    if isinstance(given, Kind) or type(given) in (list, tuple, dict):
        return None
    try:
        kind.from_param(given)
    except Exception as error:
        return ctypes.ArgumentError(f"argument {place + 1}: {type(error).__name__}: {error}")
    if kind in _NUMBERS:
        return Argument("number", _NUMBERS[kind])
    if given is None:
        return Argument("null", "*")
    if isinstance(given, np.ndarray):
        flags = kind._flags_ or 0
        names = tuple(name for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE") if flags & _FLAG_BITS[name])
        if kind._shape_ is not None:
            return None
        return Argument("array", "*", flags=names, words=_complaint(kind, given))
    return Argument("pointer", "*")


def _complaint(kind: Any, array: np.ndarray) -> str:
    """What `ndpointer` raises for an array whose layout its flags exclude."""
    odd = np.zeros((4, *(4,) * (array.ndim - 1)), array.dtype)[::2] if array.ndim else array
    odd.flags.writeable = False
    try:
        kind.from_param(odd)
    except TypeError as error:
        return str(error)
    return ""


_FLAG_BITS = {"C_CONTIGUOUS": 1, "F_CONTIGUOUS": 2, "ALIGNED": 0x100, "WRITEABLE": 0x400}


def _cffi() -> Any:
    return sys.modules["_cffi_backend"]


def _of_cffi(function: Any) -> CFunction | None:
    try:
        kind = _cffi().typeof(function)
    except TypeError:
        return None
    return _of_cffi_type(function, kind, ("cffi", function), "a function of cffi's") if kind.kind == "function" else None


def _of_cffi_library(function: Any) -> CFunction | None:
    try:
        kind = _cffi().FFI().typeof(function)
    except TypeError:
        return None
    module = repr(function.__self__).removeprefix("<Lib object for '").removesuffix("'>")
    if kind.kind != "function" or getattr(sys.modules.get(module), "lib", None) is not function.__self__:
        return None
    return _of_cffi_type(function, kind, ("cffi library", module, function.__name__), function.__name__)


def _of_cffi_type(function: Any, kind: Any, form: tuple[Any, ...], name: str) -> CFunction | None:
    result = None if kind.result.kind == "void" else _cffi_number(kind.result)
    is_variadic = kind.ellipsis and form[0] == "cffi"  # those of compiled libraries are no builtin functions
    if is_variadic or kind.result.kind != "void" and result is None:
        return None
    if not all(_cffi_number(each) or each.kind == "pointer" for each in kind.args):
        return None
    if _is_split([_cffi_number(each) or "*" for each in kind.args]):
        return None
    return CFunction(function, name, tuple(kind.args), result, form, ())


def _is_split(dtypes: list[str]) -> bool:
    """Whether a complex number is to be passed where one register of the eight is left: it goes into memory then."""
    floats = 0
    for dtype in dtypes:
        if dtype == "complex128" and floats == 7:
            return True
        floats += {"float32": 1, "float64": 1, "complex64": 1, "complex128": 2}.get(dtype, 0)
    return False


def _cffi_number(kind: Any) -> str | None:
    """The dtype of a type of C's; None: it has none."""
    if kind.kind != "primitive":
        return None
    name = kind.cname
    if name in ("float", "double"):
        return "float32" if name == "float" else "float64"
    if name in ("float _Complex", "double _Complex", "_cffi_float_complex_t", "_cffi_double_complex_t"):
        return "complex64" if "float" in name else "complex128"
    if name == "_Bool":
        return "bool"
    if "char" in name and name not in ("signed char", "unsigned char") or name in ("long double", "wchar_t"):
        return None
    size = _cffi().sizeof(kind)
    is_signed = int(_cffi().cast(kind, -1)) < 0
    return f"{'int' if is_signed else 'uint'}{8 * size}"


def _by_cffi(kind: Any, place: int, given: Any) -> Any:
    if isinstance(given, Kind) or type(given) in (list, tuple, dict, str, bytes):
        return None
    backend = _cffi()
    dtype = _cffi_number(kind)
    if dtype is not None:
        try:
            backend.newp(backend.new_pointer_type(kind), given)
        except OverflowError as error:
            return error
        except Exception as error:
            return type(error)(str(error))
        if dtype.startswith(("int", "uint")) or dtype == "bool":
            if isinstance(given, np.floating):
                return None
            info = (0, 1) if dtype == "bool" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
            return Argument("exact", dtype, info, words=kind.cname)
        return Argument("number", dtype)
    return None


def is_of_scipy(ufunc: np.ufunc) -> bool:
    """Whether it is one of `scipy.special`'s, under its own name."""
    special = sys.modules.get("scipy.special")
    return special is not None and special.__dict__.get(ufunc.__name__) is ufunc and ufunc.signature is None


def loop_form(ufunc: np.ufunc, dtypes: list[np.dtype]) -> tuple[Any, ...]:
    """The form of that loop of a ufunc which is of these dtypes."""
    for types in ufunc.types:
        if [np.dtype(c) for c in types.replace("->", "")] == dtypes:
            return ("loop", ufunc, types)
    raise TypeError(f"no loop of {ufunc.__name__} is of {dtypes}")


def addresses(forms: tuple[Any, ...]) -> list[tuple[int, int]]:
    """The address of each function, and the data of a loop of a ufunc."""
    return [_FINDERS[form[0]](*form[1:]) for form in forms]


def _loop(ufunc: np.ufunc, types: str) -> tuple[int, int]:
    return _ingot.loop_of_ufunc(ufunc, ufunc.types.index(types))


def _library_function(module: str, name: str) -> tuple[int, int]:
    it = sys.modules[module]
    return int(it.ffi.cast("uintptr_t", it.ffi.addressof(it.lib, name))), 0


_FINDERS: dict[str, Any] = {
    "ctypes": lambda function: (ctypes.cast(function, ctypes.c_void_p).value, 0),
    "cffi": lambda function: (int(_cffi().cast(_cffi().new_primitive_type("uintptr_t"), function)), 0),
    "cffi library": _library_function,
    "loop": _loop,
    "mpi": mpi.address_of,
    "mpi wait": mpi.address_of,
    "mpi value": mpi.value_of,
    "shards": lambda name: (_ingot.address_of_shards_exchange(), 0),
}


def interpreted(forms: tuple[Any, ...], number: int, is_loop: bool, operands: list[Any], dtypes: list[str], wanted: list[str]) -> list[Any]:
    """What the interpreter has of a call: numbers and arrays go in, numbers come out.

    Dtypes of operands that are arrays begin with a star.
    """
    if forms[number][0] == "mpi value":
        return [np.uint64(mpi.value_of(forms[number][1])[1]).astype(np.int64)]
    if is_loop:
        ufunc, types = forms[number][1:]
        chars = types.partition("->")
        signature = tuple(np.dtype(c) for c in chars[0] + chars[2])
        with np.errstate(all="ignore"):
            if not wanted:
                ufunc(*operands[: ufunc.nin], out=tuple(operands[ufunc.nin :]), signature=signature, casting="unsafe")
                return []
            given = ufunc(*operands, signature=signature, casting="unsafe")
        return list(given) if isinstance(given, tuple) else [given]
    form = forms[number]
    if form[0].startswith("cffi"):
        function = form[1] if form[0] == "cffi" else getattr(sys.modules[form[1]].lib, form[2])
        given = function(*[getattr(x, "item", lambda x=x: x)() for x in operands])
        return [np.dtype(wanted[0]).type(given)] if wanted else []
    ((address, _),) = addresses((form,))
    kinds = [ctypes.c_void_p if dtype.startswith("*") else _C_OF[dtype] for dtype in dtypes]
    prototype = ctypes.CFUNCTYPE(_C_OF[wanted[0]] if wanted else None, *kinds)
    passed = [x.ctypes.data if dtype.startswith("*") else getattr(x, "item", lambda x=x: x)() for x, dtype in zip(operands, dtypes)]
    given = prototype(address)(*passed)
    return [np.dtype(wanted[0]).type(given)] if wanted else []


_C_OF: dict[str, Any] = {"bool": ctypes.c_bool, "float32": ctypes.c_float, "float64": ctypes.c_double} | {
    f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)
}
