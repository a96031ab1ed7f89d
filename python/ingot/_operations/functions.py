"""Compiled functions that are called as any function of NumPy's: of one written for an operation, or of a function of the library."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .._calls.function import Function
from .._errors import UnsupportedError
from .._signatures.parameters import defaults_of

# Parameters whose numbers are always known when compiling, as flags are.
KNOWN = {"axis", "axes", "ord"}


class EagerFunction(Function):
    """A compiled function of the namespace, of any number of values that decide what is compiled."""

    _most_values = None

    def __init__(self, function: FunctionType, original: Any, module: str, name: str) -> None:
        super().__init__(function)
        defaults = defaults_of(function)
        for number, parameter in enumerate(self._names):
            if isinstance(defaults.get(parameter), bool) or parameter in KNOWN:
                self._demand(number)
        self.__module__, self.__name__, self.__qualname__ = module, name, name
        self.__doc__ = original.__doc__
        self._original = original

    def __repr__(self) -> str:
        return f"<compiled function {self.__module__}.{self.__name__}>"

    def _bind(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> list[Any]:
        try:
            return super()._bind(args, kwargs)
        except TypeError:
            self._refuse(args, kwargs)
            raise

    def _refuse(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> None:
        """Refuses what NumPy's function takes and this one does not; what neither takes is an error of the caller's."""
        try:
            bound = signature_of(self._original).bind(*args, **kwargs)
        except (TypeError, ValueError):
            return
        kinds = {name: parameter.kind for name, parameter in bound.signature.parameters.items()}
        missing = [name for name in bound.arguments if name not in self._names and kinds[name] is not inspect.Parameter.VAR_KEYWORD]
        if missing:
            raise UnsupportedError(
                f"the keyword `{missing[0]}` of `{self.__module__}.{self.__name__}` is not supported\n"
                f"  instead: leave it out, or call NumPy's function"
            )


def function_of(text: str, path: str, names: dict[str, Any]) -> FunctionType:
    """The function that a source defines, whose source can be found."""
    file = f"<ingot.numpy.{path}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names[path.rpartition(".")[2]]


# The parameters of functions that do not state them before NumPy 2.4.
_STATED: dict[str, Callable[..., Any]] = {
    "arange": lambda start_or_stop, /, stop=None, step=1, *, dtype=None, device=None, like=None: None,
    "dot": lambda a, b, out=None: None,
    "empty": lambda shape, dtype=None, order="C", *, device=None, like=None: None,
    "empty_like": lambda prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None: None,
    "zeros": lambda shape, dtype=None, order="C", *, device=None, like=None: None,
}


def signature_of(original: Any) -> inspect.Signature:
    """A function's parameters; of ufuncs and others that do not state theirs before NumPy 2.4, those that they have there."""
    if not isinstance(original, np.ufunc):
        return inspect.signature(_STATED.get(getattr(original, "__name__", ""), original))
    kinds = inspect.Parameter
    names = ["x"] if original.nin == 1 else [f"x{i + 1}" for i in range(original.nin)]
    out = None if original.nout == 1 else (None,) * original.nout
    special: dict[str, Any] = {"axes": np._NoValue, "axis": np._NoValue, "keepdims": False} if original.signature else {"where": True}
    common = {"casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}
    parameters = [kinds(name, kinds.POSITIONAL_ONLY) for name in names]
    parameters.append(kinds("out", kinds.POSITIONAL_OR_KEYWORD, default=out))
    parameters += [kinds(name, kinds.KEYWORD_ONLY, default=value) for name, value in (special | common).items()]
    return inspect.Signature(parameters)
