"""How functions for kernels are made outside of these."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from ..._signatures import DTYPES, Type
from ...library.coop import dtype_of

Maker = TypeVar("Maker", bound=Callable[..., Any])
FUNCTIONS = ("binary_op", "scan_op", "compare_op", "difference_op", "flag_op")


DESCRIPTIONS = {
    "dtype": """dtype : dtype
    Of the items.""",
    "threads_per_block": """threads_per_block : int or tuple of int
    The threads of the blocks that call it, along one to three axes.""",
    "items_per_thread": """items_per_thread : int, default 1
    How many items each thread has.""",
    "known_items_per_thread": """items_per_thread : int
    How many items each thread has.""",
    "threads_in_warp": """threads_in_warp : int, default 32
    The lanes that work together, 1 to 32. A warp is divided into groups of so many; the last one may be smaller.""",
    "most_threads": """threads_per_block : int or tuple of int, default 1024
    The most threads of the blocks that call it: memory of the block is taken for so many.""",
    "binary_op": """binary_op : callable or str
    An associative function of two numbers, or one of '+', '*', 'min', 'max', '&', '|', '^'.""",
    "scan_op": """scan_op : callable or str
    An associative function of two numbers, or one of '+', '*', 'min', 'max', '&', '|', '^'.""",
    "compare_op": """compare_op : callable
    Of two keys: whether the first is to come before the second.""",
    "reduction_algorithm": """algorithm : {'warp_reductions', 'raking', 'raking_commutative_only'}, default 'warp_reductions'
    Accepted for CUB's sake: all are the same here.""",
    "scan_algorithm": """algorithm : {'raking', 'raking_memoize', 'warp_scans'}, default 'raking'
    Accepted for CUB's sake: all are the same here.""",
    "first_of_inclusive": """initial_value : number, optional
    Comes before the first item. Without one the first item begins.""",
    "first_of_exclusive": """initial_value : number, optional
    Comes before the first item. It is the first result, and has to be given but for sums.""",
    "scanned": """callable
    ``scan(item)`` in kernels, which returns the result of the thread's item, or ``scan(items, out)`` with arrays of `items_per_thread`;
    without `out` the results replace the items. ``initial_value=`` may be given there, too, or
    ``prefix_op=``, a function that the first warp calls with all items of the block together, and that gives its first thread the number
    before the first item.""",
    "order_of_scans": """Each thread joins its items in their order, the lanes of a warp theirs at distances 1, 2, 4, 8 and 16, and the warps follow in their
order: results depend on the number of threads and of items alone, and the function need not be commutative.""",
    "stable": """Keys of which none comes before the other stay in their order.""",
    "key_dtype": """dtype : dtype
    Of the keys: bools, integers or floats.""",
    "value_dtype": """value_dtype : dtype
    Of the values.""",
}


def described(maker: Maker) -> Maker:
    """Puts what several makers take and give into the docstring of one: a line `{name}` has the description of that name."""
    maker.__doc__ = re.sub(r"^( *)\{(\w+)\}$", lambda line: textwrap.indent(DESCRIPTIONS[line[2]], line[1]), maker.__doc__ or "", flags=re.MULTILINE)
    return maker


def made(maker: Any, *arguments: Any) -> Any:
    """The function for kernels that a maker of the library's makes, with CUDA's attributes:
    nothing is linked with the kernels that call it, and its memory is its own."""
    where, _, what = maker.__name__.partition("_")
    name = f"coop.{where}.{what}"
    given = dict(zip(inspect.signature(maker).parameters, arguments, strict=True))
    function = maker(**{parameter: _checked(parameter, value, name) for parameter, value in given.items()})
    function.files = ()
    function.temp_storage_bytes = function.temp_storage_alignment = 16
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
