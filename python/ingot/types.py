"""The types that signatures are made of: `float64(float64[:], int64)`."""

from ._signature import Optional, Tuple, Type

bool_ = Type("bool")
int8, int16, int32, int64 = Type("int8"), Type("int16"), Type("int32"), Type("int64")
uint8, uint16, uint32, uint64 = Type("uint8"), Type("uint16"), Type("uint32"), Type("uint64")
float16, float32, float64 = Type("float16"), Type("float32"), Type("float64")
complex64, complex128 = Type("complex64"), Type("complex128")
void = Type("void")
boolean, intp, uintp = bool_, int64, uint64
optional = Optional


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


__all__ = [
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
    "void",
]
