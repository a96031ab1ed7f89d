"""NumPy's functions as compiled ones, each made when it is first asked for.

A function of NumPy's is the library's function for it (`ingot.library`), or one that calls it, where the compiler has
it itself; its name, parameters and meaning are NumPy's.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .._devices import Device
from .._devices.transfers import device_put
from .._operations import lazy
from .._operations.functions import EagerFunction, function_of, signature_of
from .._signatures import DTYPES
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
        return sorted({*filter(self._has, (*self.original.__all__, *HOST)), *self.own, *self.parts})

    def _has(self, name: str) -> bool:
        """Whether a name is NumPy's and stands for something here. NumPy imports some modules when their names are asked for."""
        if name == "__version__" or (name not in self.original.__all__ and name not in HOST) or not hasattr(self.original, name):
            return False
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
        if self._has(name):
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
