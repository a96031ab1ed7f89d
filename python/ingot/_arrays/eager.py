"""Operations on arrays of devices outside of compiled functions: each is a compiled function of its own, made when it is
first asked for, which is called as any other.

`a + b`, `a.sum()`, `numpy.add(a, b)` and `ingot.numpy.add(a, b)` come here. Those that are elementwise may wait (`_operations.lazy`).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _ingot
from .._errors import UnsupportedError
from .._operations import lazy
from .._operations.functions import EagerFunction, function_of
from .._routines.ufuncs import made_of

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_UNARY = {"neg": "-{}", "pos": "+{}", "invert": "~{}", "abs": "abs({})"}

# Methods that are NumPy's functions of the same name and parameters.
_FUNCTIONS = """
    sum prod mean std var max min all any argmax argmin cumsum cumprod clip dot round take repeat searchsorted compress
    choose argsort argpartition nonzero trace conj conjugate
""".split()
# Those that are not, by their parameters and what they do.
_METHODS = {
    "sort": ("a, axis=-1, kind=None, order=None", "a.sort(axis, kind, order)"),
    "partition": ("a, kth, axis=-1, kind='introselect', order=None", "a.partition(kth, axis, kind, order)"),
    "fill": ("a, value", "a.fill(value)"),
}


@functools.cache
def _made(name: str, parameters: str, *lines: str, waits: str = "", in_place: bool = False) -> Any:
    """The compiled function of these lines. `waits`: what it gives of its operands, so that it may wait; what it does
    `in_place` becomes the first of them."""
    text = f"def {name}({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
    function = function_of(text, f"operations.{name}", {"np": np})
    made = _Operation(EagerFunction, function, name)
    made.__doc__ = f"As `numpy.ndarray.{name}`."
    if lines[0].startswith("return"):
        made._only_reads()
    if waits:
        lazy.wait(made, waits, parameters.count(",") + 1, in_place)
    return made


def _Operation(kind: type[Any], function: Any, name: str) -> Any:
    class Operation(kind):  # type: ignore[misc]
        """An operator, which leaves it to others what it does not take."""

        def _call(self, args: tuple[Any, ...], kwargs: dict[Any, Any], bound: tuple[list[Any], Any] | None = None) -> Any:
            if name.startswith("__"):
                args = tuple(np.asarray(value) if isinstance(value, (list, tuple)) else value for value in args)
                if name in ("__eq__", "__ne__") and (args[1] is None or isinstance(args[1], (str, bytes))):
                    return _compared(args[0], name == "__ne__")
                if not all(map(_is_operand, args)):
                    return NotImplemented
            return super()._call(args, kwargs)

    return Operation(function, function, "ingot.Array", name)


def _is_operand(value: Any) -> bool:
    return isinstance(value, (_ingot.DeviceArray, np.ndarray, np.generic, bool, int, float, complex))


def _compared(array: Any, differs: bool) -> Any:
    """An array compared with what no number equals."""
    return _ingot.to_device(np.full(array.shape, differs), array._handle)


class _Deferred:
    """A method that is made when it is first asked for, and then replaces itself."""

    def __init__(self, owner: type[Any], name: str, make: Callable[[], Any]) -> None:
        self.owner, self.name, self.make = owner, name, make

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        made = self.make()
        setattr(self.owner, self.name, made)
        return made.__get__(instance, owner)


def _namespace() -> Any:
    return importlib.import_module("ingot.numpy")


def add_methods(owner: type[Any]) -> None:
    """Gives a class of arrays its operators and methods."""

    def add(name: str, make: Callable[[], Any]) -> None:
        setattr(owner, name, _Deferred(owner, name, make))

    for name, symbol in _BINARY.items():
        ways = {} if name == "matmul" else {"": f"{{0}} {symbol} {{1}}", "r": f"{{1}} {symbol} {{0}}"}
        made = functools.partial(_made, waits=ways.get("", ""))
        add(f"__{name}__", functools.partial(made, f"__{name}__", "a, b", f"return a {symbol} b"))
        add(f"__i{name}__", functools.partial(made, f"__i{name}__", "a, b", f"a {symbol}= b", "return a", in_place=True))
        add(f"__r{name}__", functools.partial(_made, f"__r{name}__", "a, b", f"return b {symbol} a", waits=ways.get("r", "")))
    for name, symbol in _COMPARISONS.items():
        add(f"__{name}__", functools.partial(_made, f"__{name}__", "a, b", f"return a {symbol} b", waits=f"{{}} {symbol} {{}}"))
    for name, text in _UNARY.items():
        add(f"__{name}__", functools.partial(_made, f"__{name}__", "a", f"return {text.format('a')}", waits=text))
    add("__divmod__", functools.partial(_made, "__divmod__", "a, b", "return divmod(a, b)"))
    add("__rdivmod__", functools.partial(_made, "__rdivmod__", "a, b", "return divmod(b, a)"))
    for name in _FUNCTIONS:
        add(name, functools.partial(lambda name: getattr(_namespace(), name), name))
    for name, (parameters, text) in _METHODS.items():
        add(name, functools.partial(_made, name, parameters, text))


def take(array: Any, key: Any) -> Any:
    """`array[key]` for arrays as indices."""
    return _made("take", "a, key", "return a[key]")(array, key)


def put(array: Any, key: Any, value: Any) -> None:
    """`array[key] = value` for arrays as indices."""
    _made("put", "a, key, value", "a[key] = value")(array, key, value)


# Values of the host up to this size are converted there.
_SMALL = 1 << 16


def assign(target: Any, value: Any) -> None:
    """`target[...] = value`."""
    if not isinstance(value, _ingot.DeviceArray):
        given = np.asarray(value)
        if given.shape == target.shape or target.nbytes <= _SMALL:
            converted = np.empty_like(_ingot.stand_in(target))
            converted[...] = given
            if target.size == 1 or target.flags.forc:
                _ingot.write_into(target, converted)
                return
            value = converted
        elif given.ndim == 0:
            value = given[()]
    _made("assign", "a, value", "a[...] = value")(target, value)


def copy(array: Any, order: str) -> Any:
    return _made("copy", "a, order", "return a.copy(order)")(array, order)


def astype(array: Any, dtype: np.dtype, order: str) -> Any:
    if order == "K":
        text = f"{{}}.astype({lazy.text_of_dtype(dtype)})"
        return _made(f"astype_{dtype.name}", "a", f"return {text.format('a')}", waits=text)(array)
    return _made("astype", "a, dtype, order", "return a.astype(dtype, order)")(array, dtype, order)


def ufunc(function: np.ufunc, method: str, inputs: tuple[Any, ...], keywords: dict[Any, Any]) -> Any:
    """What NumPy asks of its ufuncs where one of the operands is on a device."""
    out = keywords.pop("out", ())
    if len(out) == 1:
        keywords["out"] = out[0]
    elif out:
        keywords["out"] = out
    compiled = _applied(function, inputs, keywords) or compiled_function(function)
    return (compiled if method == "__call__" else getattr(compiled, method))(*inputs, **keywords)


def _applied(function: np.ufunc, inputs: tuple[Any, ...], keywords: dict[Any, Any]) -> Any:
    """A compiled function that applies one of `ingot.vectorize`; None: the ufunc is none of these."""
    holder = made_of(function)
    if holder is None:
        return None
    if function.signature is not None:
        raise UnsupportedError(
            f"`{holder.__name__}`, of `ingot.guvectorize`, with an ingot.Array is not supported\n"
            '  instead: give `ingot.guvectorize` target="cuda"'
        )
    if keywords:
        raise UnsupportedError(
            f"the keyword `{next(iter(keywords))}` of `{holder.__name__}`, of `ingot.vectorize`, with an ingot.Array is not supported\n"
            "  instead: leave it out"
        )
    known = holder.__dict__.setdefault("_on_devices", {})
    if len(inputs) not in known:
        names = ", ".join(f"x{i}" for i in range(len(inputs)))
        text = f"def apply({names}):\n    return f({names})\n"
        known[len(inputs)] = EagerFunction(function_of(text, f"operations.apply{len(inputs)}.apply", {"f": holder}), holder, __name__, "apply")
    return known[len(inputs)]


# Functions that return types and shapes, which look at no element.
_TOLD: dict[Callable[..., Any], Callable[..., Any]] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.copyto: lambda dst, src, casting="same_kind", where=True: _copy_to(dst, src, casting, where),
    np.array_repr: lambda arr, *rest: repr(arr),
    np.array_str: lambda a, *rest: str(a),
}
_OF_TYPES = (np.result_type, np.can_cast, np.common_type, np.min_scalar_type)


def _copy_to(target: Any, source: Any, casting: Any, where: Any) -> None:
    if isinstance(target, np.ndarray):
        np.copyto(target, source.to_host(), casting, where if where is True else np.asarray(where))
        return
    if where is True:
        _made("copyto", "a, value, casting", "np.copyto(a, value, casting)")(target, source, casting)
    else:
        _made("copyto_where", "a, value, casting, where", "np.copyto(a, value, casting, where)")(target, source, casting, where)


def function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """What NumPy asks of its functions where one of the arguments is on a device."""
    if function in _TOLD:
        return _TOLD[function](*args, **kwargs)
    if function in _OF_TYPES:
        known = [np.empty((0,) * a.ndim, a.dtype) if isinstance(a, _ingot.DeviceArray) else a for a in args]
        return function(*known, **kwargs)
    return compiled_function(function)(*args, **kwargs)


@functools.cache
def _compiled() -> dict[int, tuple[Any, str]]:
    """By the identity of NumPy's functions: the namespace and the name of the compiled one."""
    found: dict[int, tuple[Any, str]] = {}
    for part in ("", ".linalg", ".fft"):
        space = importlib.import_module(f"ingot.numpy{part}")
        original = importlib.import_module(f"numpy{part}")
        for name in dir(space):
            if hasattr(original, name):
                found.setdefault(id(getattr(original, name)), (space, name))
    return found


def compiled_function(original: Callable[..., Any]) -> Any:
    """The compiled function that a function of NumPy's is."""
    space, name = _compiled().get(id(original), (None, ""))
    if space is None or getattr(space, name) is original:
        called = getattr(original, "__qualname__", getattr(original, "__name__", repr(original)))
        raise UnsupportedError(
            f"{getattr(original, '__module__', None) or 'numpy'}.{called} of an ingot.Array is not supported\n"
            "  instead: bring the array to the host with `.to_host()`"
        )
    return getattr(space, name)
