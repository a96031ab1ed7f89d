"""How functions for kernels are made outside of these."""

from __future__ import annotations

import inspect
from typing import Any

from ..._signatures import DTYPES, Type
from ...library.coop import dtype_of

FUNCTIONS = ("binary_op", "scan_op", "compare_op", "difference_op", "flag_op")


def made(maker: Any, *arguments: Any) -> Any:
    """The function for kernels that a maker of the library's makes, with CUDA's attribute `files`: nothing is linked with the kernels that call it."""
    where, _, what = maker.__name__.partition("_")
    name = f"coop.{where}.{what}"
    given = dict(zip(inspect.signature(maker).parameters, arguments, strict=True))
    function = maker(**{parameter: _checked(parameter, value, name) for parameter, value in given.items()})
    function.files = ()
    function.__name__, function.__qualname__ = what, name
    function.__doc__ = f"What `cuda.{name}` has made: a function that threads of a kernel call together."
    return function


def _checked(parameter: str, value: Any, name: str) -> Any:
    if parameter.endswith("dtype"):
        is_array = isinstance(value, Type) and value.ndim is not None
        kind = None if value is None or is_array else dtype_of(value)
        if kind not in DTYPES:
            raise TypeError(f"`cuda.{name}` takes dtypes of numbers, not {value if kind is None else kind}")
        return kind
    if parameter in FUNCTIONS and not callable(value) and not (isinstance(value, str) and parameter not in ("compare_op", "flag_op")):
        is_optional = parameter in ("difference_op", "flag_op")
        if value is not None or not is_optional:
            raise TypeError(f"`cuda.{name}` takes a function of two numbers as {parameter}, not {value!r}")
    return value
