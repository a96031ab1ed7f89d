"""Code: when two code objects are one program - what Python runs is the same, from any file, line or unit of compiling -, and which
modules' code has a version."""

import __future__

import functools
import inspect
import operator
import os
import struct
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

FUTURE = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
"""The flags of code for what its source has imported from `__future__`."""
# What those change is in the code, and where functions are nested in their names and cells.
_SAID_ELSEWHERE = FUTURE | inspect.CO_NESTED

VERSIONED = frozenset({"numpy", "ingot"})
"""The packages whose versions are part of every key of the cache, so that a path identifies an object; Python's own too."""
PYTHONS = os.path.dirname(os.__file__) + os.sep


def is_versioned(module: str) -> bool:
    package = module.partition(".")[0]
    if package in VERSIONED:
        return True
    if package not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(package), "__file__", None)  # a user's module may have the name of one of Python's
    return package in sys.builtin_module_names if file is None else file.startswith(PYTHONS) and "-packages" not in file


_parts = operator.attrgetter(
    "co_code",
    "co_exceptiontable",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_name",
)


def same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two functions do the same. Their lines may differ, and what they are nested in."""
    if _parts(a) != _parts(b) or (a.co_flags ^ b.co_flags) & ~_SAID_ELSEWHERE or len(a.co_consts) != len(b.co_consts):
        return False
    for x, y in zip(a.co_consts, b.co_consts):
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
            if _name_in(x, a) != _name_in(y, b) or not same_code(x, y):
                return False
        elif constant_key(x) != constant_key(y):
            return False
    return True


def _name_in(inner: types.CodeType, outer: types.CodeType) -> str:
    """The qualified name of a function, from the one on that it is nested in."""
    return inner.co_qualname.removeprefix(outer.co_qualname + ".")


def constant_key(constant: Any) -> Any:
    """What distinguishes constants of code. The order of sets does not: it depends on who made them, from a source or a pyc file."""
    kind = type(constant)
    if kind is tuple:
        return kind, *map(constant_key, constant)
    if kind is frozenset:
        return kind, frozenset(map(constant_key, constant))
    if kind is float:
        return kind, struct.pack("d", constant)
    if kind is complex:
        return kind, struct.pack("2d", constant.real, constant.imag)
    return kind, repr(constant)


def inner_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code objects inside of one, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from inner_codes(constant)


_of_files: weakref.WeakValueDictionary[str, types.FunctionType] = weakref.WeakValueDictionary()


def remember(function: types.FunctionType) -> None:
    """Has what is asked of a file know one of its functions."""
    _of_files[function.__code__.co_filename] = function


def function_of(file: str) -> types.FunctionType | None:
    """A function that was defined in a file; None: none of them is known any more."""
    return _of_files.get(file)
