"""The types of C that numbers and arrays have in a library."""

from __future__ import annotations

import numpy as np

from .lowering import Value

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128")
"""By their numbers in base/dtype.h."""

_NUMBERS = {"bool": "bool", "float16": "uint16_t", "float32": "float", "float64": "double"} | {
    f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


class Types:
    """Those of one library, whose name begins all that are not C's."""

    def __init__(self, library: str) -> None:
        self.library = library

    def number(self, dtype: str) -> str:
        return _NUMBERS.get(dtype) or f"{self.library}_{dtype}"

    def array(self, value: Value) -> str:
        return f"{self.library}_{value.dtype}_{value.rank}d"

    def literal(self, dtype: str, number: object) -> str:
        """A number as an initializer, with all its bits."""
        data = np.asarray(number, dtype)
        if data.dtype.kind == "c":
            half = f"float{data.dtype.itemsize * 4}"
            return "{" + ", ".join(self.literal(half, part) for part in (data.real, data.imag)) + "}"
        if dtype == "float16":
            return hex(int(data.view("uint16")))
        if data.dtype.kind == "f":
            value = float(data)
            if np.isnan(value):
                return "NAN"
            if np.isinf(value):
                return "INFINITY" if value > 0 else "-INFINITY"
            return value.hex() + ("f" if dtype == "float32" else "")
        if data.dtype.kind == "b":
            return "true" if data else "false"
        if dtype == "int64" and int(data) == -(2**63):
            return "INT64_MIN"
        suffix = {"int64": "LL", "uint64": "ULL"}.get(dtype, "")
        return f"{int(data)}{suffix}"
