"""What to write instead of what is refused: by the function that is called, and by the type of an object. Loaded for refusals."""

from __future__ import annotations

import array
import builtins
import collections
import datetime
import decimal
import functools
import io
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from ctypes import _CFuncPtr  # type: ignore[attr-defined]
from typing import Any

import numpy as np

_DEBUG = "set INGOT_DISABLE=1 in the environment: functions run in Python then, where debuggers stop"
_OUTSIDE = "do it outside of the function, or in a function of `ingot.host`"
_FILES = "read or write the file outside of the function"
_THREADS = "start threads outside of the function; they share loops over `ingot.prange`"
_OF_MODULES = {
    **dict.fromkeys(("pdb", "ipdb", "pudb", "bdb", "code", "debugpy", "IPython", "inspect", "traceback"), _DEBUG),
    **dict.fromkeys(("io", "pathlib", "shutil", "tempfile"), _FILES),
    **dict.fromkeys(("threading", "multiprocessing", "concurrent", "asyncio"), _THREADS),
    **dict.fromkeys(("logging", "warnings", "os", "subprocess", "socket", "urllib", "re", "sys", "json", "pickle", "csv"), _OUTSIDE),
    "random": "use np.random",
    "time": "measure outside of the function",
    "datetime": "take the time outside of the function",
    "pprint": "use print",
    "ingot": "call it outside of the compiled function",
}
_OF_FUNCTIONS = {
    "breakpoint": _DEBUG,
    "sys.breakpointhook": _DEBUG,
    "sys.exit": "raise SystemExit",
    "input": "read it outside of the function",
    "open": _FILES,
    **dict.fromkeys(("locals", "globals", "vars", "dir"), "name the variables"),
    **dict.fromkeys(("eval", "exec", "compile"), "write the code into the function"),
    "id": "compare by `is`",
    "help": "call it outside of the function",
}
_OF_OBJECTS: tuple[tuple[Any, str], ...] = (
    (functools._lru_cache_wrapper, "use what it wraps, its `__wrapped__`"),
    ((set, frozenset), "use a tuple or a list of its elements"),
    ((array.array, bytearray, memoryview), "use np.asarray(...) of it, which is an array on the same memory"),
    ((collections.deque, np.ndarray), "use np.array(...) of it"),
    (Mapping, "use dict(...) of it"),
    (decimal.Decimal, "use a float"),
    ((datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64), "use a number, such as seconds"),
    (BaseException, "make it in the function"),
    (types.SimpleNamespace, "use an instance of a class of your own, or a named tuple"),
    (io.IOBase, _OUTSIDE),
    (_CFuncPtr, "give it `argtypes` and `restype`"),
    ((types.MethodDescriptorType, types.MethodType), "write a function that calls it"),
    (slice, "write the slice in the function"),
    (Iterator, "use a list of what it gives"),
    (Callable, "write a function that calls it, or call it in a function of `ingot.host`"),
)


# Of packages that are not written in Python: an attribute of objects that hold numbers, and what makes an array of these.
_OF_PACKAGES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("pandas", "polars", "pyarrow"), ("to_numpy", "use .to_numpy()")),
    "scipy": ("toarray", "use .toarray(), or .data and .indices of it"),
    **dict.fromkeys(("cupy", "cupyx", "cudf"), ("get", "use .get(), or ingot.from_dlpack(...) of it")),
    **dict.fromkeys(("jax", "jaxlib"), ("__array__", "use np.asarray(...) of it")),
    **dict.fromkeys(("h5py", "zarr"), ("__getitem__", "use [...] of it, which reads it into an array")),
    "awkward": ("__getitem__", "use ak.to_numpy(...) of it"),
    "dask": ("compute", "use .compute()"),
    "numba": ("py_func", "compile its `py_func` with ingot.jit"),
    "tensorflow": ("numpy", "use .numpy()"),
    "torch": ("numpy", "use .numpy()"),
    "xarray": ("values", "use .values"),
}
# The same of objects that call functions for their parts, which comes first.
_BY_PARTS: tuple[tuple[str, str, str], ...] = (
    ("dask", "map_blocks", "use .map_blocks(f), which calls `f` for each chunk, or .compute()"),
    ("dask", "map_partitions", "use .map_partitions(f), whose parts are pandas' or lists, or .compute()"),
    ("xarray", "variable", "use .values, or xarray.apply_ufunc(f, x)"),
    ("xarray", "data_vars", "use .values of one of its variables, or .map(f)"),
)
_ELSEWHERE = "use it outside of the function, or in a function of `ingot.host`"


def of_package(kind: type[Any]) -> str:
    """What to do with objects of a class that is of a package not written in Python; empty: it is of none."""
    packages = [getattr(base, "__module__", "").partition(".")[0] for base in kind.__mro__]
    for package, attribute, advice in _BY_PARTS:
        if package in packages and hasattr(kind, attribute):
            return advice
    for attribute, advice in (_OF_PACKAGES[package] for package in packages if package in _OF_PACKAGES):
        return advice if hasattr(kind, attribute) or attribute == "py_func" else _ELSEWHERE
    return ""


_FUNCTIONS = (types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType)
_NO_FUNCTIONS = (type, types.GenericAlias, _CFuncPtr)


def name_of(kind: Any) -> str:
    """The name of a function or class as users know it: with its module, but for builtins and modules that are not public."""
    name = getattr(kind, "__qualname__", getattr(kind, "__name__", type(kind).__name__))
    module = getattr(kind, "__module__", None) or type(getattr(kind, "__self__", None)).__module__
    if getattr(builtins, name, None) is kind:
        return name
    name = name.removesuffix(".__init__")
    public = [part for part in module.split(".") if not part.startswith("_")]
    if not public and module.lstrip("_") in sys.modules:
        public = [module.lstrip("_")]
    return name if module in ("builtins", "__main__") else ".".join([*(public or [module]), name])


def of_call(function: Any) -> tuple[str, str]:
    """The name of a function that Ingot does not know, and what to use instead."""
    name = name_of(function)
    package = name.partition(".")[0] if "." in name else ""
    advice = _OF_FUNCTIONS.get(name, _OF_MODULES.get(package))
    if advice is None and package in _OF_PACKAGES:
        advice = "use NumPy's, or do it outside of the function, or in a function of `ingot.host`"
    return name, advice or "use NumPy, math, a function written in Python, or ingot.host"


def of_type(kind: type[Any]) -> str:
    """What to use instead of objects of a type; empty: that is not known."""
    if kind.__module__ == "_cffi_backend":
        return "give a function of C a name of its own outside, as in `cos = lib.cos`; other objects of cffi do not compile"
    return of_package(kind) or next((advice for classes, advice in _OF_OBJECTS if issubclass(kind, classes)), "")


def of_outside(name: str, value: Any) -> tuple[str, str]:
    """The refusal of an object that a function finds outside under a name, and what to use instead."""
    advice = of_package(type(value))
    if advice and (not hasattr(value, "__name__") or hasattr(value, "py_func")):
        return f"`{name}`, a {name_of(type(value))} from outside the function,", advice
    if isinstance(value, _FUNCTIONS) or callable(value) and hasattr(value, "__name__") and not isinstance(value, _NO_FUNCTIONS):
        known, advice = of_call(value)
        return f"`{known}`, a function that Ingot does not know,", advice
    advice = of_type(type(value)) or _ELSEWHERE
    if isinstance(value, _CFuncPtr) and value.argtypes is not None:
        advice = "functions of numbers, and of pointers to arrays, are called: call this one in a function of `ingot.host`"
    return f"`{name}`, a {type(value).__name__} from outside the function,", advice


def of_import(names: tuple[str, ...]) -> str:
    """What to do instead of importing modules inside a function."""
    is_debugger = any(_OF_MODULES.get(name.partition(".")[0]) is _DEBUG for name in names)
    return _DEBUG if is_debugger else "import it at the top of the file"
