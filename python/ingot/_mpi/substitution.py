"""What a simulated rank sees of the program: as a process of its own, it has functions, globals and data of its own.

Functions are made anew, with globals that are looked up in the program's and replaced when they are first read: communicators by simulated
ones, functions that are compiled by the Python functions, data by copies. Nothing of the program's is changed.
"""

from __future__ import annotations

import abc
import builtins
import copy
import functools
import os
import sys
import types
from typing import Any

import mpi4py.MPI as MPI
import numpy as np

from .._errors import UnsupportedError
from .calls import Context
from .communicator import Comm, Intracomm
from .requests import Prequest, Request
from .scheduler import Rank, Run

_KEPT = frozenset({"numpy", "scipy", "ingot", "mpi4py"}) | sys.stdlib_module_names
_KEPT_FILES = tuple(os.path.dirname(str(module.__file__)) + os.sep for module in (os, np, MPI)) + (
    os.path.dirname(os.path.dirname(__file__)) + os.sep,
    "<frozen ",
)
_INSTALLED = f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}"
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, type(...), np.generic, np.dtype, np.ufunc, types.CodeType, types.BuiltinFunctionType)

_FIRST = ("__slots__", "__orig_bases__", "__module__", "__qualname__")  # what a class is made with


class Globals(dict):  # type: ignore[type-arg]
    """The globals of a module, as a rank sees them."""

    def __init__(self, view: View, of: dict[str, Any]) -> None:
        super().__init__({"__builtins__": view.builtins})
        self._view, self._of = view, of

    def __missing__(self, name: str) -> Any:
        found = self[name] = self._view.of(self._of[name])
        return found


class Module(types.ModuleType):
    """A module, as a rank sees it."""

    def __init__(self, view: View, of: types.ModuleType, names: dict[str, Any]) -> None:
        super().__init__(of.__name__, of.__doc__)
        self.__dict__.update(names)
        self.__dict__["__ingot_view__"] = view, of

    def __getattr__(self, name: str) -> Any:
        view, of = self.__dict__["__ingot_view__"]
        found = self.__dict__[name] = view.of(getattr(of, name))
        return found


class View:
    """What one rank sees in one run."""

    def __init__(self, run: Run, rank: Rank, uses: dict[str, bool]) -> None:
        self.run, self.rank, self.uses = run, rank, uses
        self._made: dict[int, tuple[Any, Any]] = {}  # by id, with the object, which stays
        self._globals: dict[int, Globals] = {}
        self.builtins = {**vars(builtins), "__import__": self._import, "print": self._print}
        world = Intracomm.of(run, rank, _shared(run, "world", range(run.n)))
        own = Intracomm.of(run, rank, _shared(run, ("self", rank.number), [rank.number]))
        names = {"COMM_WORLD": world, "COMM_SELF": own, "Request": Request, "Prequest": Prequest, "Init": _nothing, "Finalize": _nothing}
        for given, made in ((MPI.COMM_WORLD, world), (MPI.COMM_SELF, own), (MPI.Request, Request), (MPI.Prequest, Prequest), (builtins.print, self._print)):
            self._made[id(given)] = given, made
        self._keep(MPI, Module(self, MPI, names))
        jit = sys.modules.get("ingot._calls.jit")
        for door in (jit.jit, jit.njit) if jit is not None else ():
            self._keep(door, _plain)

    def _keep(self, given: Any, made: Any) -> Any:
        self._made[id(given)] = given, made
        return made

    def of(self, x: Any) -> Any:
        """What the rank sees of an object."""
        if isinstance(x, _PLAIN) and not isinstance(x, types.BuiltinMethodType):
            return x
        if id(x) in self._made:
            return self._made[id(x)][1]
        make = _MAKERS.get(type(x))
        if make is not None:
            return make(self, x)
        for kind, make in _BASES:
            if isinstance(x, kind):
                return make(self, x)
        return self._instance(x)

    def _import(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:  # noqa: A002
        plain = globals._of if isinstance(globals, Globals) else globals
        return self.of(builtins.__import__(name, plain, locals, fromlist, level))

    def _print(self, *args: Any, **kwargs: Any) -> None:
        if self.run.is_first or kwargs.get("file") not in (None, sys.stdout):
            builtins.print(*args, **kwargs)

    # ---- kinds of objects

    def _function(self, f: types.FunctionType) -> Any:
        file = f.__code__.co_filename
        is_installed = any(each in file for each in _INSTALLED)
        if file.startswith(_KEPT_FILES) and (not is_installed or file.startswith(_KEPT_FILES[1:])):
            return self._keep(f, f)
        if is_installed and f.__closure__ is None and not self._is_of_user(f.__module__ or ""):
            return self._keep(f, f)
        cells = tuple(types.CellType() for _ in f.__closure__ or ())
        made = self._keep(f, types.FunctionType(f.__code__, self.globals_of(f.__globals__), f.__name__, None, cells or None))
        made.__kwdefaults__ = self.of(f.__kwdefaults__)
        made.__defaults__ = self.of(f.__defaults__)
        made.__qualname__, made.__doc__, made.__module__ = f.__qualname__, f.__doc__, f.__module__
        made.__dict__.update({name: self.of(value) for name, value in f.__dict__.items()})
        for cell, other in zip(cells, f.__closure__ or ()):
            try:
                cell.cell_contents = self.of(other.cell_contents)
            except ValueError:
                pass  # it is empty
        return made

    def globals_of(self, given: dict[str, Any]) -> Globals:
        if id(given) not in self._globals:
            self._globals[id(given)] = Globals(self, given)
        return self._globals[id(given)]

    def _compiled(self, f: Any) -> Any:
        """A compiled function runs as Python; one that a transform has made is compiled still, and may not send messages."""
        if f._made_by is None:
            return self._keep(f, self.of(f.__ingot_function__))

        def refuse_messages(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(x, MPI.Comm) for x in (*args, *kwargs.values())) or _sends(f.__ingot_function__, set()) or _sends(f._made_by[1], set()):
                raise UnsupportedError(
                    f"{f!r}, a transform of a function that sends messages, is not supported in a simulated rank\n  instead: simulate the function itself"
                )
            return f(*args, **kwargs)

        return self._keep(f, refuse_messages)

    def _class(self, kind: type) -> Any:
        """A class of the program's has methods that see what the rank sees. Exceptions, and classes of other metaclasses, stay."""
        name = kind.__module__ or ""
        if (
            type(kind) not in (type, abc.ABCMeta)
            or issubclass(kind, (BaseException, tuple, MPI.Comm, MPI.Request))
            or name == "builtins"
            or not self._is_of_user(name)
        ):
            return self._keep(kind, kind)
        bases = tuple(self.of(base) for base in kind.__bases__)
        slots = kind.__dict__.get("__slots__", ())
        left_out = {"__dict__", "__weakref__", *([slots] if isinstance(slots, str) else slots)}
        try:
            make: Any = type(kind)
            made = make(kind.__name__, bases, {name: kind.__dict__[name] for name in _FIRST if name in kind.__dict__})
        except Exception:
            return self._keep(kind, kind)  # it wants more of those that derive from it
        self._keep(kind, made)
        for name, value in kind.__dict__.items():
            if name not in left_out and name not in (*_FIRST, "__abstractmethods__", "_abc_impl"):
                replaced = self.of(value)
                setattr(made, name, replaced)
                if hasattr(type(replaced), "__set_name__"):
                    replaced.__set_name__(made, name)
        if type(kind) is abc.ABCMeta:
            abc.update_abstractmethods(made)
        return made

    def _module(self, module: types.ModuleType) -> Any:
        name = module.__name__
        if name == "mpi4py":
            return self._keep(module, Module(self, module, {}))
        if name == "ingot":
            return self._keep(module, Module(self, module, {"jit": _plain, "njit": _plain}))
        return self._keep(module, Module(self, module, {}) if self._is_of_user(name) else module)

    def _is_of_user(self, name: str) -> bool:
        """Whether a module is of a package of the program's that uses MPI, or compiled functions."""
        top = name.partition(".")[0]
        if top not in self.uses:
            self.uses[top] = top not in _KEPT
            if self.uses[top] and top != "__main__":
                modules = [module for each, module in list(sys.modules.items()) if each.partition(".")[0] == top]
                self.uses[top] = any(_uses(value) for module in modules for value in list(getattr(module, "__dict__", {}).values()))
        return self.uses[top]

    def _array(self, x: np.ndarray) -> Any:
        """A copy; views of one array are views of one copy."""
        root = x
        while isinstance(root.base, np.ndarray):
            root = root.base
        if root is x or x.dtype.hasobject or not (root.flags.c_contiguous or root.flags.f_contiguous):
            made = copy.deepcopy(x) if x.dtype.hasobject else x.copy(order="K")
        else:
            whole, start = self.of(root), root.__array_interface__["data"][0]
            memory = whole.reshape(-1, order="A").view(np.uint8) if whole.size else whole
            made = np.ndarray(x.shape, x.dtype, memory, x.__array_interface__["data"][0] - start, x.strides) if x.size and whole.size else x.copy()
        made.flags.writeable = x.flags.writeable
        return self._keep(x, made)

    def _list(self, x: list[Any]) -> Any:
        made: list[Any] = self._keep(x, [])
        made += [self.of(each) for each in x]
        return made

    def _dict(self, x: dict[Any, Any]) -> Any:
        made: dict[Any, Any] = self._keep(x, {})
        made.update((self.of(key), self.of(value)) for key, value in x.items())
        return made

    def _tuple(self, x: tuple[Any, ...]) -> Any:
        made = [self.of(each) for each in x]
        if all(a is b for a, b in zip(made, x)):
            return x
        return self._keep(x, tuple(made) if type(x) is tuple else type(x)._make(made) if hasattr(x, "_make") else x)

    def _set(self, x: Any) -> Any:
        return self._keep(x, type(x)(self.of(each) for each in x))

    def _method(self, x: Any) -> Any:
        owner = self.of(x.__self__)
        if isinstance(x, types.MethodType) and isinstance(x.__func__, types.FunctionType):
            return types.MethodType(self.of(x.__func__), owner)
        return x if owner is x.__self__ else getattr(owner, x.__name__)

    def _comm(self, x: Any) -> Any:
        if x == MPI.COMM_NULL or isinstance(x, Comm):
            return x
        if isinstance(x, MPI.Topocomm) or x.Is_inter():
            raise UnsupportedError(f"a {type(x).__name__} that was made outside is not supported in a simulated rank\n  instead: make it in the function")
        if MPI.Comm.Compare(x, MPI.COMM_WORLD) == MPI.IDENT:
            return self._made[id(MPI.COMM_WORLD)][1]
        return self._keep(x, Intracomm.of(self.run, self.rank, _shared(self.run, ("outside", id(x)), range(self.run.n))))

    def _request(self, x: Any) -> Any:
        if x != MPI.REQUEST_NULL:
            raise UnsupportedError("a request that was made outside is not supported in a simulated rank\n  instead: make it in the function")
        return x

    def _instance(self, x: Any) -> Any:
        """An object has its attributes replaced; one of Python's, NumPy's or a container is copied as `copy.deepcopy` does."""
        kind = type(x)
        if hasattr(kind, "_made_by"):
            return self._compiled(x)
        if hasattr(kind, "__ingot_host__"):
            made = self._keep(x, copy.copy(x))
            made.function = self.of(x.function)
            return made
        replaced = self.of(kind)
        if (kind.__module__ or "").partition(".")[0] not in _KEPT and not any(hasattr(kind, name) for name in ("__deepcopy__", "__setstate__")):
            try:
                made = object.__new__(replaced)
            except TypeError:
                pass  # it is a container, or of C's
            else:
                self._keep(x, made)
                names = [name for each in kind.__mro__ for name in _slots(each)]
                values = {**{name: getattr(x, name) for name in names if hasattr(x, name)}, **getattr(x, "__dict__", {})}
                for name, value in values.items():
                    object.__setattr__(made, name, self.of(value))
                return made
        try:
            return self._keep(x, copy.deepcopy(x, _Memo(self)))
        except Exception:
            return self._keep(x, x)  # what cannot be copied - files, locks - all ranks have


class _Memo(dict):  # type: ignore[type-arg]
    """What `copy.deepcopy` asks for copies: objects within others are as the rank sees them."""

    def __init__(self, view: View) -> None:
        super().__init__({key: made for key, (_, made) in view._made.items()})


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return tuple(name for name in ((slots,) if isinstance(slots, str) else slots) if name not in ("__dict__", "__weakref__"))


def _shared(run: Run, name: Any, members: Any) -> Context:
    if name not in run.shared:
        run.shared[name] = Context(run, members)
    return run.shared[name]  # type: ignore[no-any-return]


def _nothing(*args: Any, **kwargs: Any) -> None:
    """`MPI.Init` and `MPI.Finalize`."""


def _plain(*args: Any, **options: Any) -> Any:
    """`ingot.jit`: functions are not compiled."""
    if args and callable(args[0]):
        return getattr(args[0], "__ingot_function__", args[0])
    return _plain


def _uses(x: Any) -> bool:
    """Whether a name of a module is MPI's, or a compiled function."""
    if isinstance(x, type):
        return x in (MPI.Request, MPI.Prequest)
    return x is MPI or isinstance(x, (MPI.Comm, MPI.Request)) or hasattr(type(x), "_made_by")


_SENDING = {name for name in dir(Comm) if name[0].isupper() and not name.startswith(("Get_", "Is_"))}


def _sends(f: Any, seen: set[int]) -> bool:
    """Whether a function may call methods that send messages, by their names."""
    f = getattr(f, "__ingot_function__", f)
    code = getattr(f, "__code__", None)
    if code is None or id(f) in seen or (getattr(f, "__module__", "") or "").startswith("ingot."):
        return False
    seen.add(id(f))
    names = [name for each in _codes(code) for name in each.co_names]
    values = [f.__globals__.get(name) for name in names]
    for cell in f.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            pass  # it is empty
    return any(name in _SENDING for name in names) or any(_sends(value, seen) for value in values)


def _codes(code: types.CodeType) -> list[types.CodeType]:
    return [code, *(inner for each in code.co_consts if isinstance(each, types.CodeType) for inner in _codes(each))]


_MAKERS: dict[type, Any] = {
    types.FunctionType: View._function,
    types.MethodType: View._method,
    types.BuiltinMethodType: View._method,
    types.ModuleType: View._module,
    list: View._list,
    dict: View._dict,
    tuple: View._tuple,
    set: View._set,
    frozenset: View._set,
    np.ndarray: View._array,
    staticmethod: lambda view, x: staticmethod(view.of(x.__func__)),
    classmethod: lambda view, x: classmethod(view.of(x.__func__)),
    property: lambda view, x: property(view.of(x.fget), view.of(x.fset), view.of(x.fdel), x.__doc__),
    functools.partial: lambda view, x: functools.partial(view.of(x.func), *view.of(x.args), **view.of(x.keywords)),
    functools.cached_property: lambda view, x: functools.cached_property(view.of(x.func)),
    type(functools.lru_cache(_nothing)): lambda view, x: view._keep(x, functools.lru_cache(**x.cache_parameters())(view.of(x.__wrapped__))),
    MPI.Status: lambda view, x: view._keep(x, MPI.Status(x)),
    types.MemberDescriptorType: lambda view, x: x,
    types.GetSetDescriptorType: lambda view, x: x,
    Module: lambda view, x: x,
}

_BASES: tuple[tuple[Any, Any], ...] = (
    (MPI.Comm, View._comm),
    (MPI.Request, View._request),
    ((MPI.Datatype, MPI.Op, MPI.Group, MPI.Info, type(MPI.IN_PLACE), type(MPI.BOTTOM)), lambda view, x: x),
    (type, View._class),
    (types.ModuleType, View._module),
    (tuple, View._tuple),
    (np.random.Generator, lambda view, x: view._keep(x, copy.deepcopy(x))),
)
