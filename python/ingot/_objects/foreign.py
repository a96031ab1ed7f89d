"""What Python raises for arguments that compiled code does not have: objects, arrays of other dtypes, and the like.

Such an argument is described by its type alone. An operation on it is refused, unless the types decide that Python
raises there. NumPy decides about arrays and scalars of its own, on stand-ins of the same dtype and rank; about any
other object its type determines which operations it has. No code of the object runs.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _ingot
from .._errors import dtype_text
from .._ingot import Description
from . import copied

_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE


# What stands for itself in a description of arguments.
constants = (type, np.dtype, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc, _ingot.Callable)


class Kind:
    """Stands for any object of a type."""

    def __init__(self, of: type[Any]) -> None:
        self.of = of


def _of(kind: type[Any], dtype: Any = None, ndim: int = 0) -> Description:
    return Description(Description.FOREIGN, type=kind, dtype=dtype, ndim=ndim)


def describe(value: Any) -> Description:
    """The description of such an argument; dtype None and no axes for what is not NumPy's own."""
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic) and kind.__module__ == "numpy":
        return _of(kind, value.dtype, value.ndim)
    return _of(kind)


def shape(value: np.ndarray) -> np.ndarray:
    """What compiled code gets of an array: its shape alone."""
    return np.broadcast_to(np.zeros((), np.bool), value.shape)


def part(description: Description, ndim: int) -> Description | None:
    """The description of a part of an array that has so many axes; None where its type is not known."""
    dtype = description.dtype
    if ndim == 0 and dtype.kind in "OT":
        return None
    return _of(description.type if ndim else dtype.type, dtype, ndim)


def words(description: Description) -> str:
    """How a message names it: `an array of dtype object`."""
    from .._refusals.advice import name_of

    kind, dtype = description.type, description.dtype
    if kind is list:
        return "a list of more than 64 elements that are no numbers of one kind"
    if kind is dict:
        return "a dict of more than 64 elements that are no numbers of one kind, or with keys that are neither numbers nor strings"
    if kind in copied.TYPES:
        return copied.words(kind)
    if kind in (tuple, slice) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return f"a {kind.__name__} in tuples of more than 10 000 values"
    if dtype is None:
        return f"a {name_of(kind)}"
    if description.ndim > 16:
        return f"an array of {description.ndim} axes"
    swapped = "" if dtype.isnative else "byte-swapped "
    return f"{'an array' if kind is np.ndarray else 'a scalar'} of {swapped}dtype {dtype_text(dtype)}"


def hint(description: Description) -> str:
    """What to pass instead, where it is a thing of its own; else nothing."""
    from .._refusals.advice import of_type

    kind, dtype = description.type, description.dtype
    if kind is list:
        return "pass numbers of one kind, as by list(map(float, x)), tuples of them, or np.array of them; of instances an array for each attribute"
    if kind is dict:
        return "pass a dict of numbers of one kind, with keys of one kind; arrays of its keys and values; or one of at most 64 elements"
    if dtype is not None and dtype.names is not None:
        return "pass those of its fields that are numbers, in the machine's byte order"
    if dtype is not None and not dtype.isnative:
        return 'pass x.astype(x.dtype.newbyteorder("=")), a copy in the machine\'s byte order'
    return "" if kind is np.ndarray else of_type(kind)


# A string that is made when the call runs; an error that shows it is one of its value.
TEXT = "a string made when the call runs"


def stand_in(description: Description) -> Any:
    """An array or scalar of the same dtype and rank; else a Kind."""
    if description.dtype is None:
        return Kind(description.type)
    array = np.zeros((1,) * description.ndim, description.dtype)
    return array if description.type is np.ndarray else array[()]


def iterator(name: str) -> Any:
    """An iterator over nothing whose class has this name; None: not known."""
    made: list[Any] = [(None for _ in ()), zip(), enumerate(()), map(abs, ()), filter(None, ())]
    iterated: tuple[Any, ...] = ([], (), {}, {}.values(), {}.items(), range(0))
    made += [f(of) for f in (iter, reversed) for of in iterated] + [iter("")]
    return next((i for i in made if type(i).__name__ == name), None)


def _has(kind: type[Any], *names: str) -> bool:
    """Whether objects of a type may have one of these attributes; True where nobody can know."""
    if not kind.__flags__ & _IMMUTABLE and kind.__flags__ & _HEAP:
        return True  # a class of Python: it may change
    return any(name in vars(base) for base in kind.__mro__ for name in (*names, "__getattr__"))


_BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "@": "matmul",
           "** or pow()": "pow", "<<": "lshift", ">>": "rshift", "&": "and", "|": "or", "^": "xor"}  # fmt: skip
_ORDER = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def _name(value: Any) -> str:
    kind = value.of if isinstance(value, Kind) else type(value)
    return f"{kind.__module__}.{kind.__name__}" if isinstance(value, (np.generic, np.ndarray)) else kind.__name__


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic))


def _arithmetic(symbol: str, a: Any, b: Any) -> Exception | None:
    kinds = [v for v in (a, b) if isinstance(v, Kind)]
    others = [v for v in (a, b) if not isinstance(v, Kind)]
    if not all(_is_number(v) or v is None for v in others):
        return None
    names = (f"__{_BINARY[symbol]}__", f"__r{_BINARY[symbol]}__")
    if any(_has(k.of, *names, "__getitem__", "__array__", "__array_ufunc__") for k in kinds):
        return None
    return TypeError(f"unsupported operand type(s) for {symbol}: '{_name(a)}' and '{_name(b)}'")


def _by_type(operation: str, symbol: str, operands: list[Any]) -> Exception | None:
    """The exception of an operation on objects that are known by their types alone."""
    first = operands[0]
    kind = first.of if isinstance(first, Kind) else None
    if operation == "binary":
        return _arithmetic(symbol, *operands)
    if operation == "compare" and symbol in _ORDER and all(isinstance(v, (Kind, bool, int, float, complex)) for v in operands):
        kinds = [v.of for v in operands if isinstance(v, Kind)]
        if all(not _has(k) and getattr(k, _ORDER[symbol]) is getattr(object, _ORDER[symbol]) for k in kinds):
            return TypeError(f"'{symbol}' not supported between instances of '{_name(operands[0])}' and '{_name(operands[1])}'")
    if operation == "call" and kind is not None and symbol.startswith("math.") and not _has(kind, "__float__", "__index__"):
        return TypeError(f"must be real number, not {kind.__name__}")
    if kind is None:
        return None
    if operation == "unary" and not _has(kind, {"-": "__neg__", "+": "__pos__", "~": "__invert__"}[symbol]):
        return TypeError(f"bad operand type for unary {symbol}: '{kind.__name__}'")
    if operation == "subscript" and not _has(kind, "__getitem__"):
        return TypeError(f"'{kind.__name__}' object is not subscriptable")
    if operation == "store" and not _has(kind, "__setitem__"):
        return TypeError(f"'{kind.__name__}' object does not support item assignment")
    if operation == "attribute" and not kind.__dictoffset__ and not _has(kind, symbol):
        return AttributeError(f"'{kind.__name__}' object has no attribute '{symbol}'")
    if operation == "apply" and not _has(kind, "__call__"):
        return TypeError(f"'{kind.__name__}' object is not callable")
    if operation == "iterate" and not _has(kind, "__iter__", "__getitem__"):
        return TypeError(f"'{kind.__name__}' object is not iterable")
    if operation == "unpack" and not _has(kind, "__iter__", "__getitem__"):
        return TypeError(f"cannot unpack non-iterable {kind.__name__} object")
    if operation == "call" and symbol == "builtins.len" and not _has(kind, "__len__"):
        return TypeError(f"object of type '{kind.__name__}' has no len()")
    if operation == "call" and symbol in ("builtins.range", "ingot.prange") and not _has(kind, "__index__"):
        return TypeError(f"'{kind.__name__}' object cannot be interpreted as an integer")
    return None


def _store(container: Any, index: Any, value: Any) -> None:
    container[index] = value


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "subscript": operator.getitem,
    "store": _store,
    "attribute": getattr,
    "iterate": iter,
    "unpack": iter,
    "delete": operator.delitem,
}
_SYMBOLS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "** or pow()": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_IN_PLACE: dict[str, Callable[..., Any]] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "@=": operator.imatmul, "<<=": operator.ilshift, ">>=": operator.irshift,
    "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor,
}  # fmt: skip
_UNARY: dict[str, Callable[..., Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}

_BY_RANK = ("too many indices", "invalid index to scalar", "only integers, slices")


def _contains(value: Any, of: Callable[[Any], bool]) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_contains(v, of) for v in value)
    if isinstance(value, dict):
        return any(_contains(v, of) for v in value.values())
    if isinstance(value, slice):
        return any(_contains(v, of) for v in (value.start, value.stop, value.step))
    return of(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.hasobject


# Of these an empty one shows what all of them do with numbers.
_EMPTY: dict[Any, Any] = {kind: kind() for kind in (set, frozenset, bytearray, dict, list)} | {range: range(0)}


def _empty(operands: list[Any]) -> list[Any] | None:
    """The operands with an empty container for each that is known by its type; None where that shows nothing."""
    if any(isinstance(v, Kind) and v.of not in _EMPTY or isinstance(v, np.ndarray) for v in operands):
        return None
    made = [_EMPTY[v.of] if isinstance(v, Kind) else v for v in operands]
    return None if _contains(made, lambda v: isinstance(v, Kind)) else made


def probe(operation: str, symbol: str, function: Any, operands: list[Any], keywords: dict[Any, Any] | None = None) -> Exception | None:
    """The exception that Python raises for any operands of these types; None where that depends on them."""
    keywords = keywords or {}
    if operation == "call" and function is not None:
        symbol = f"{getattr(function, '__module__', '')}.{symbol}"
    if operation == "call" and symbol in _SHAPED and (error := _shape_error([*operands, *keywords.values()])) is not None:
        return error
    if _contains([*operands, keywords], lambda v: isinstance(v, Kind)):
        if symbol == "@" and (error := _no_dimensions(operands)) is not None:
            return error
        empty = _empty(operands) if operation in ("binary", "compare", "subscript") and not keywords else None
        if empty is None:
            return _by_type(operation, symbol, operands)
        operands = empty
    if _contains([*operands, keywords], _is_object) and operation != "attribute":
        return None  # what its elements are decides
    if operation == "apply":
        return TypeError(f"'{_name(operands[0])}' object is not callable")
    if operation == "attribute":
        operands = [operands[0], symbol]
    if operation == "call" and (not _is_pure(function) or _calls(function, operands, keywords)):
        return None
    run = function or _OPERATIONS.get(operation) or {"unary": _UNARY, "in place": _IN_PLACE}.get(operation, _SYMBOLS)[symbol]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            run(*operands, **keywords)
    except (TypeError, AttributeError) as error:
        return None if TEXT in str(error) or f"length {len(TEXT)}" in str(error) else error.with_traceback(None)
    except ValueError as error:
        return error.with_traceback(None) if "does not have enough dimensions" in str(error) else None
    except IndexError as error:
        return error.with_traceback(None) if str(error).startswith(_BY_RANK) else None
    except Exception:
        return None
    return None


# Functions whose first argument is a shape.
_SHAPED = ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full")


def _shape_error(given: list[Any]) -> Exception | None:
    """The TypeError of a shape among whose lengths is what cannot be one."""
    for length in given[0] if given and isinstance(given[0], tuple) else given[:1]:
        if isinstance(length, Kind) and not _has(length.of, "__index__", "__len__", "__getitem__", "__iter__"):
            return TypeError(f"'{length.of.__name__}' object cannot be interpreted as an integer")
        if isinstance(length, np.ndarray) and length.ndim == 0 and length.dtype.kind not in "biu":
            return TypeError("only integer scalar arrays can be converted to a scalar index")
    return None


def _no_dimensions(operands: list[Any]) -> Exception | None:
    """The ValueError of `@` between an array and an object of which NumPy makes one without axes."""
    names = ("__array__", "__array_interface__", "__array_struct__", "__len__", "__getitem__", "__matmul__", "__rmatmul__",
             "__array_ufunc__", "__buffer__")  # fmt: skip
    arrays = [isinstance(v, np.ndarray) and v.ndim > 0 for v in operands]
    for number, (value, other) in enumerate(zip(operands, reversed(arrays))):
        if isinstance(value, Kind) and other and not _has(value.of, *names) and value.of not in (bytearray, memoryview):
            return ValueError(
                f"matmul: Input operand {number} does not have enough dimensions (has 0, gufunc core with signature "
                "(n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    return None


def _calls(function: Any, operands: list[Any], keywords: dict[Any, Any]) -> bool:
    """Whether a function calls another that is among its arguments."""
    return "key" in keywords or function is functools.reduce and len(operands) > 1


def _is_pure(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    own = isinstance(function, (types.BuiltinFunctionType, np.ufunc, type)) or module.startswith("numpy")
    # What makes random numbers is there only where somebody has imported it.
    state = "numpy.random" in sys.modules and isinstance(getattr(function, "__self__", None), np.random.RandomState)
    return own and function is not print and "random" not in module and not state
