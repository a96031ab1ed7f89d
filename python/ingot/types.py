"""The types that signatures are made of: `float64(float64[:], int64)`."""

import types as _types
from typing import Any

from ._signatures import Optional, Tuple, Type
from ._signatures import Text as _Text

bool_: Type = Type("bool")
int8: Type = Type("int8")
int16: Type = Type("int16")
int32: Type = Type("int32")
int64: Type = Type("int64")
uint8: Type = Type("uint8")
uint16: Type = Type("uint16")
uint32: Type = Type("uint32")
uint64: Type = Type("uint64")
float16: Type = Type("float16")
float32: Type = Type("float32")
float64: Type = Type("float64")
complex64: Type = Type("complex64")
complex128: Type = Type("complex128")
void: Type = Type("void")
boolean: Type = bool_
intp: Type = int64
uintp: Type = uint64
optional = Optional
unicode_type: _Text = _Text()


def UniTuple(of: Type, count: int) -> Tuple:  # noqa: N802
    """Return the type of a tuple of `count` parts of one type.

    Parameters
    ----------
    of : Type
        The type of the parts.
    count : int
        How many.

    Returns
    -------
    Tuple
        The type.

    Examples
    --------
    >>> from ingot import types
    >>> print(types.UniTuple(types.float64, 3))
    UniTuple(float64, 3)
    """
    return Tuple((of,) * count)


def ListType(of: Any) -> _types.GenericAlias:  # noqa: N802
    """Return the type of a list, for a field of `ingot.jitclass`.

    Parameters
    ----------
    of : Type
        The type of the elements, which are not looked at.

    Returns
    -------
    types.GenericAlias
        The type.

    Examples
    --------
    >>> from ingot import types
    >>> types.ListType(str)
    list[str]
    """
    return _types.GenericAlias(list, (of,))


def DictType(key: Any, value: Any) -> _types.GenericAlias:  # noqa: N802
    """Return the type of a dict, for a field of `ingot.jitclass`.

    Parameters
    ----------
    key, value : Type
        The types of keys and values, which are not looked at.

    Returns
    -------
    types.GenericAlias
        The type.

    Examples
    --------
    >>> from ingot import types
    >>> types.DictType(str, int)
    dict[str, int]
    """
    return _types.GenericAlias(dict, (key, value))


__all__ = [
    "DictType",
    "ListType",
    "Optional",
    "Tuple",
    "UniTuple",
    "bool_",
    "boolean",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "intp",
    "optional",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintp",
    "unicode_type",
    "void",
]
