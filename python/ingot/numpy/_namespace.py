"""NumPy's functions as compiled ones, each made when it is first asked for.

A function of NumPy's is the library's function for it (`ingot.library`), or one that calls it, where the compiler has
it itself; its name, parameters and meaning are NumPy's.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import linecache
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .._arrays.array import device_put
from .._calls.function import Function
from .._devices import Device
from .._errors import UnsupportedError
from .._operations import lazy
from .._signatures import DTYPES
from .._signatures.parameters import defaults_of
from ..library._index import CORE, INDEX
from ..library.registry import implementations
from . import _standard

# What computes nothing over arrays: it takes arrays in, makes views, or returns types and shapes. It is NumPy's own.
HOST = frozenset(
    "array asarray asanyarray from_dlpack result_type promote_types can_cast isdtype issubdtype min_scalar_type "
    "broadcast_shapes shape ndim size isscalar iscomplexobj isrealobj may_share_memory shares_memory errstate "
    "unstack s_ index_exp common_type ndindex ndenumerate vectorize LinAlgError __array_namespace_info__".split()
)
OWN_TYPES = frozenset(
    {np.ndarray, np.dtype, np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger}
    | {np.inexact, np.floating, np.complexfloating, *(dtype.type for dtype in DTYPES)}
)
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


class Creation(EagerFunction):
    """A compiled function that makes arrays, on the `ingot.Device` that its argument `device` is, or on "cpu"."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        where = kwargs.get("device")
        if isinstance(where, Device):
            del kwargs["device"]
        made = super().__call__(*args, **kwargs)
        return made if where is None else device_put(made, where)


# The parameters of the methods of ufuncs.
METHODS = {
    "reduce": "array, /, axis=0, dtype=None, out=None, keepdims=False, initial=no_value, where=True",
    "accumulate": "array, /, axis=0, dtype=None, out=None",
    "reduceat": "array, /, indices, axis=0, dtype=None, out=None",
    "outer": "A, B, /, *, out=None, where=True, casting='same_kind', order='K', dtype=None, subok=True, signature=None",
    "at": "a, indices, b=None, /",
}


class EagerUfunc(EagerFunction):
    """A compiled ufunc, with the methods that NumPy's has, each made when it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS or "_original" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        words = [parameter.partition("=")[0] for parameter in METHODS[name].split(", ")]
        first = words.index("/")
        passed = words[:first] + [f"{word}={word}" for word in words[first + 1 :] if word != "*"]
        text = f"def {name}({METHODS[name]}):\n    return ufunc.{name}({', '.join(passed)})\n"
        path = f"{self.__name__}.{name}"
        function = function_of(text, path, {"ufunc": self._original, "no_value": np._NoValue})
        made = self.__dict__[name] = EagerFunction(function, getattr(self._original, name), self.__module__, path)
        return made


class Subscripted:
    """An object whose subscripts are compiled, such as `mgrid`."""

    def __init__(self, function: EagerFunction) -> None:
        self._function = function

    def __getitem__(self, index: Any) -> Any:
        return self._function(index)


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


def forwarding(path: str, original: Any) -> FunctionType:
    """A function of NumPy's parameters that calls NumPy's."""
    parameters = list(signature_of(original).parameters.values())
    if isinstance(original, np.ufunc):  # of which some refuse `keepdims` even where it is False
        parameters = [p.replace(default=np._NoValue) if p.name == "keepdims" else p for p in parameters]
    passed = [
        p.name if p.kind is p.POSITIONAL_ONLY else f"*{p.name}" if p.kind is p.VAR_POSITIONAL else f"{p.name}={p.name}"
        for p in parameters
    ]
    name = path.rpartition(".")[2]
    shown = str(inspect.Signature(parameters)).replace(repr(np._NoValue), "no_value")
    text = f"def {name}{shown}:\n    return np.{path}({', '.join(passed)})\n"
    return function_of(text, path, {"np": np, "no_value": np._NoValue})


@functools.cache
def registered() -> dict[int, tuple[str, str]]:
    """By the identity of NumPy's functions: where the library has it, as module and path, or the compiler (no module)."""
    found = {id(getattr(np, name)): ("", name) for name in CORE}
    for module, path, subject in INDEX:
        if module.partition(".")[0] == "numpy":
            try:
                original = functools.reduce(getattr, path.split("."), importlib.import_module(module))
            except AttributeError:
                continue  # the NumPy of the build has it, this one has not
            found[id(original)] = (subject, path)
    return found


def is_own(name: str, original: Any) -> bool:
    """Whether an object of NumPy's is in the namespace as it is."""
    if isinstance(original, type) and name not in HOST:
        return original in OWN_TYPES
    return name in HOST or original is None or isinstance(original, (int, float, str, np.generic))


class Namespace:
    """The names of a module of NumPy's that Ingot has, with what the standard adds to them."""

    def __init__(self, name: str, original: ModuleType, parts: tuple[str, ...] = ()) -> None:
        self.name = name
        self.original = original
        self.parts = parts
        self.standard = _standard.COMPILED.get(original.__name__, {})
        self.own = _standard.OWN.get(original.__name__, {})

    def names(self) -> list[str]:
        of_numpy = {name for name in (*self.original.__all__, *HOST) if hasattr(self.original, name)} - {"__version__"}
        return sorted({*filter(self._has, of_numpy), *self.own, *self.parts})

    def _has(self, name: str) -> bool:
        original = getattr(self.original, name)
        return is_own(name, original) or id(original) in registered()

    def make(self, name: str) -> Any:
        """What a name stands for; raises AttributeError where there is nothing."""
        if name == "__all__":
            return self.names()
        if name in self.parts:
            return importlib.import_module(f"{self.name}.{name}")
        if name in self.own:
            return self.own[name]
        if name in self.names():
            original = getattr(self.original, name)
            return original if is_own(name, original) else self._compiled(name, original)
        missing = f"module {self.name!r} has no attribute {name!r}"
        if name in self.original.__all__:
            missing += f": Ingot does not compile {self.original.__name__}.{name}"
        raise AttributeError(missing)

    def _compiled(self, name: str, original: Any) -> Any:
        subject, path = registered()[id(original)]
        function: Any
        if name in self.standard:
            function = self.standard[name]
        elif subject and not isinstance(original, np.ufunc):
            importlib.import_module(f"ingot.library.{subject}")
            function = implementations[original]
        else:
            function = forwarding(path, original)
        kind = EagerUfunc if isinstance(original, np.ufunc) else EagerFunction
        if "device" in function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]:
            kind = Creation
        made = kind(function, original, self.name, name)
        if self.original is np and name not in self.standard:
            lazy.wait_as_numpys(made, path, original)
        return made if callable(original) else Subscripted(made)
