"""`@ingot.jit`: signatures, guards and the way from Python values to compiled code and back."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import os
import re
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import _errors, _foreign, _ingot, _source
from ._errors import Captured, Demanded, UnsupportedError
from ._signature import Signature, parse_signatures

DTYPES = {
    np.dtype(n)
    for n in (
        "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
    )
}
MAX_LEAVES = 16


class _Refused(Exception):
    """An argument that is refused: its name, what it is, and what to do instead."""


class _Bridge(Exception):
    """An array argument that may share memory with two others which share none."""


class _Arguments:
    """Describes arguments, and takes them apart into the leaves that compiled code gets.

    `together`: all arrays count as sharing memory.
    """

    def __init__(self, together: bool = False) -> None:
        self.leaves: list[Any] = []
        self.arrays: list[tuple[int, np.ndarray]] = []
        self.together = together
        self.sets: list[int] = []
        self.containers: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._open: set[int] = set()

    def describe(self, value: Any, name: str) -> tuple:
        kind = type(value)
        if kind is np.ndarray:
            return self._array(value, name)
        if kind in (bool, int, float, complex):
            if kind is int and not -(2**63) <= value < 2**63:
                raise OverflowError(f"the int `{name}` does not fit 64 bits")
            self.leaves.append(value)
            return ("scalar", kind.__name__)
        if isinstance(value, np.generic):
            if kind.__module__ != "numpy" or value.dtype not in DTYPES or not value.dtype.isnative:
                return _foreign.describe(value)
            self.leaves.append(value)
            return ("scalar", f"numpy.{value.dtype.name}")
        if value is None or kind in (str, bytes) or isinstance(
            value, (type, np.dtype, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc, Function)
        ):
            return ("static", value)
        if kind is slice:
            return ("slice", *(self.describe(v, name) for v in (value.start, value.stop, value.step)))
        if kind is tuple:
            return ("tuple", tuple(self.describe(v, f"{name}[{i}]") for i, v in enumerate(value)))
        if kind in (list, dict):
            return self._container(value, name)
        return _foreign.describe(value)

    def _container(self, value: Any, name: str) -> tuple:
        if id(value) in self._open:
            raise _Refused(name, f"`{name}`, a {type(value).__name__} that holds itself,", "pass its parts")
        if id(value) in self._numbers:
            return ("same", self._numbers[id(value)])
        if len(value) > MAX_LEAVES:
            return _foreign.describe(value)
        if type(value) is dict and any(type(key) not in (str, int, bool, bytes, type(None)) for key in value):
            return _foreign.describe(value)
        self._numbers[id(value)] = len(self.containers)
        self.containers.append(value)
        self._open.add(id(value))
        described = self._described(value, name)
        self._open.remove(id(value))
        return described

    def _described(self, value: Any, name: str) -> tuple:
        if type(value) is list:
            return ("list", tuple(self.describe(v, f"{name}[{i}]") for i, v in enumerate(value)))
        return ("dict", tuple(value), tuple(self.describe(v, f"{name}[{k!r}]") for k, v in value.items()))

    def _array(self, value: np.ndarray, name: str) -> tuple:
        dtype = value.dtype
        if dtype not in DTYPES or not dtype.isnative or value.ndim > MAX_LEAVES:
            return self._foreign_array(value)
        self.arrays.append((len(self.leaves), value))
        self.leaves.append(value)
        return ("array", dtype.name, value.ndim, bool(value.flags.writeable), self._alias_set(value))

    def _foreign_array(self, value: np.ndarray) -> tuple:
        """An array of another dtype: its leaf has its shape alone."""
        description = _foreign.describe(value)
        if not 0 < value.ndim <= MAX_LEAVES:
            return description
        shape = np.broadcast_to(np.zeros((), np.bool), value.shape)
        self.arrays.append((len(self.leaves), shape))
        self.leaves.append(shape)
        return (*description[:-1], self._alias_set(shape))

    def _alias_set(self, value: np.ndarray) -> int:
        """The number of the first array argument that may share memory with this one; its own otherwise."""
        if self.together:
            return 1
        sets = {s for s, (_, other) in zip(self.sets, self.arrays) if np.may_share_memory(value, other)}
        if len(sets) > 1:
            raise _Bridge
        self.sets.append(min(sets, default=len(self.arrays)))
        return self.sets[-1]


class _Cells:
    """The numbers that compiled code puts into the caller's containers, until they are put there."""

    KINDS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
             "float16", "float32", "float64", "complex64", "complex128")  # fmt: skip
    PYTHON = (bool, int, float, complex)

    def __init__(self, containers: list[Any]) -> None:
        self.containers = containers
        self.keys = [list(c) if type(c) is dict else range(len(c)) for c in containers]
        self.leaves = [
            [np.zeros(len(c), np.int64), np.zeros(len(c), np.int64), np.zeros(len(c)), np.zeros(len(c), np.complex128)]
            for c in containers
        ]

    def flush(self) -> None:
        for container, keys, (tags, *values) in zip(self.containers, self.keys, self.leaves):
            for place in np.flatnonzero(tags):
                container[keys[place]] = self._number(int(tags[place]) - 1, values, place)
            tags[...] = 0

    def _number(self, kind: int, values: list[np.ndarray], place: int) -> Any:
        target = np.dtype(self.KINDS[kind]).type if kind < len(self.KINDS) else self.PYTHON[kind - len(self.KINDS)]
        number = values[{"f": 1, "c": 2}.get(np.dtype(target).kind, 0)][place]
        if target is np.uint64:
            return number.view(np.uint64)
        return target(number)


def put(container: Any, key: Any, value: Any) -> None:
    """`container[key] = value`, for compiled code."""
    container[key] = value


def append(container: list, value: Any) -> None:
    """`container.append(value)`, for compiled code."""
    container.append(value)


class _Boxing:
    """Makes Python objects of the values that compiled code gives, as a description says."""

    def __init__(self, values: list, arguments: list[Any], containers: list[Any], shared: set) -> None:
        self.shared = shared
        self.values = iter(values)
        self.arguments = arguments
        self.containers = containers
        self.uses: dict[Any, int] = {}
        for value in values:
            if type(value) is tuple:
                self.uses[value[0]] = self.uses.get(value[0], 0) + 1

    def make(self, description: tuple) -> Any:
        tag = description[0]
        if tag == "static":
            return description[1]
        if tag == "argument":
            return self.containers[description[1]]
        if tag == "scalar":
            return self._scalar(description[1], next(self.values))
        if tag == "array":
            return self._array(description)
        if tag == "maybe":
            there = next(self.values) == 0
            inside = self.make(description[1])
            return inside if there else None
        if tag == "dict":
            return dict(zip(description[1], [self.make(d) for d in description[2]]))
        parts = [self.make(d) for d in description[1]]
        return tuple(parts) if tag == "tuple" else parts

    @staticmethod
    def _scalar(kind: str, value: Any) -> Any:
        return getattr(np, kind[6:])(value) if kind.startswith("numpy.") else value

    def _array(self, description: tuple) -> np.ndarray:
        _, _, _, writable, argument = description
        key, memory, offset, shape, strides, dtype = next(self.values)
        if argument is None:
            argument = next(self.values)
        if argument >= 0:
            return self.arguments[argument]
        if memory is None:
            owner = self.arguments[key]
            low = sum(min(0, (n - 1) * s) for n, s in zip(owner.shape, owner.strides)) if owner.size else 0
            array = np.lib.stride_tricks.as_strided(_bytes_at(owner, low + offset, dtype), shape, strides)
            if not writable:
                array.flags.writeable = False
            return array
        if offset is None:  # a whole buffer: the array is made
            if not writable:
                memory.flags.writeable = False
            return memory
        if 0 in shape:
            offset, strides = 0, None  # NumPy takes none that leave the buffer
        array = np.ndarray(shape, dtype, buffer=memory, offset=offset, strides=strides)
        if self.uses[key] == 1 and key not in self.shared and array.nbytes == memory.nbytes:
            array = array.copy(order="K")
        array.flags.writeable = writable
        return array


class _Memory:
    def __init__(self, interface: dict, owner: np.ndarray) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def _bytes_at(owner: np.ndarray, offset: int, dtype: str) -> np.ndarray:
    """One element of `dtype` at `offset` bytes from an array's first element; its base is the array."""
    interface = dict(owner.__array_interface__)
    interface.update(
        data=(interface["data"][0] + offset, not owner.flags.writeable), shape=(1,), strides=None, typestr=np.dtype(dtype).str
    )
    interface.pop("descr", None)
    return np.asarray(_Memory(interface, owner))


class Specialisation:
    """A function compiled for arguments of one description."""

    def __init__(self, program: Any, key: tuple, why: str) -> None:
        self.program = program
        self._code: Any = None
        self.result = program.result
        self.guards = program.guards
        self.hosts = program.hosts
        self.errors = program.errors
        self.writes = program.writes
        self.keeps = frozenset(i for i, (function, _) in enumerate(self.hosts) if function in (put, append))
        self.key = key
        self.why = why

    def __repr__(self) -> str:
        return f"<specialisation {self.key}: {self.why}>"

    @property
    def code(self) -> Any:
        """The machine code, made when it is first asked for."""
        if self._code is None:
            self._code = _ingot.Code.load(self.program.compile()["object"])
        return self._code

    def changed(self) -> tuple | None:
        """None, or the guard (owner, name, expected, present) of what has changed outside since it was compiled."""
        for guard in self.guards:
            owner, name, expected, present = guard
            now = _held(owner, name)
            if (now is not _GONE) != present or present and not _same(now, expected):
                return guard
        return None


_GONE = object()


def _held(owner: Any, name: str) -> Any:
    """What a dict holds under a name, a cell, or an object as an attribute; _GONE: nothing."""
    if type(owner) is types.CellType:
        try:
            return owner.cell_contents
        except ValueError:
            return _GONE
    return owner.get(name, _GONE) if type(owner) is dict else getattr(owner, name, _GONE)


def _why(owner: Any, name: str, expected: Any, present: bool) -> str:
    shown = f"`{name}`" if name else "a captured variable"
    if (_held(owner, name) is not _GONE) == present:
        return f"{shown} has changed"
    return f"{shown} was {'deleted' if present else 'defined'}"


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b) or (a != a and b != b)
    if isinstance(a, (bool, int, complex, str, bytes)):
        return repr(a) == repr(b)
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return type(a) is tuple and len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))


@functools.cache
def _core() -> tuple[Any, Any]:
    """The core and its table of builtins, loaded at the first compile."""
    from . import _core as core

    return core, core.Registry()


_compiling = threading.RLock()


def _renew_lock() -> None:
    """For a forked child: the thread that held the lock may not be in it."""
    global _compiling
    _compiling = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


RELAXATIONS = ("nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")


def relaxations(fastmath: bool | str | Iterable[str]) -> tuple[str, ...]:
    """The names, in order, of what `fastmath` allows: all of them (True, "fast"), none (False), or those given."""
    if isinstance(fastmath, bool):
        return RELAXATIONS if fastmath else ()
    names = {fastmath} if isinstance(fastmath, str) else set(fastmath)
    if unknown := names - {*RELAXATIONS, "fast"}:
        raise ValueError(f"fastmath knows {', '.join(RELAXATIONS)} and fast, not {sorted(map(str, unknown))[0]!r}")
    return RELAXATIONS if "fast" in names else tuple(name for name in RELAXATIONS if name in names)


class Function:
    """A Python function that is compiled when it is called."""

    def __init__(
        self,
        function: Callable,
        signatures: list[Signature] | None = None,
        mode: str = "compiled",
        relaxed: tuple[str, ...] = (),
    ) -> None:
        functools.update_wrapper(self, function)
        self.__ingot_function__ = function
        self._defaults = (function.__defaults__, function.__kwdefaults__)
        self._parameters = inspect.signature(function)
        self._kinds = [p.kind for p in self._parameters.parameters.values()]
        self._simple = all(k is inspect.Parameter.POSITIONAL_OR_KEYWORD for k in self._kinds)
        self._names = list(self._parameters.parameters)
        self._signatures = signatures
        self._table: dict[tuple, list[Specialisation]] = {}
        self._static: set[int] = set()
        self._captures: list[tuple[Any, str]] = []
        self._changes: dict[tuple[int, str], int] = {}
        self._seen: dict[int, set[str]] = {}
        self._mode = mode
        self._relaxed = relaxed

    @property
    def specialisations(self) -> list[Specialisation]:
        """What has been compiled so far, in order, each with the reason why."""
        return [s for entries in self._table.values() for s in entries]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*self._prepare(args, kwargs))

    def _prepare(self, args: tuple, kwargs: dict) -> tuple[Specialisation, _Arguments]:
        """The specialisation that arguments take, made if need be, and the arguments taken apart."""
        values = self._bind(args, kwargs)
        if self._signatures is not None:
            values = self._fit(values)
        arguments, key = self._describe(values)
        return self._specialise(key, arguments, values)

    def _describe(self, values: list[Any], together: bool = False) -> tuple[_Arguments, tuple]:
        arguments = _Arguments(together)
        try:
            key = tuple(
                ("static", v) if i in self._static and _is_number(v) else arguments.describe(v, n)
                for i, (n, v) in enumerate(zip(self._names, values))
            )
            if self._captures:
                key += tuple(self._capture(arguments, len(key) + i, *c) for i, c in enumerate(self._captures))
        except _Refused as refused:
            raise self._refusal(*refused.args) from None
        except _Bridge:
            return self._describe(values, together=True)
        return arguments, key

    def _capture(self, arguments: _Arguments, number: int, owner: Any, name: str) -> tuple:
        """Describes a hidden argument; what is now no array and no number is guarded instead."""
        value = _held(owner, name)
        if number in self._static and _is_number(value):
            return ("static", value)
        small = type(value) is not int or -(2**63) <= value < 2**63
        if type(value) is np.ndarray or _is_number(value) and small:
            return arguments.describe(value, name or "a captured variable")
        return ("guarded",)

    def _refusal(self, name: str, what: str, advice: str) -> UnsupportedError:
        """The refusal of an argument, shown at its parameter."""
        node, file, _ = _source.find(self.__ingot_function__)
        root = re.match(r"\w*", name).group()  # type: ignore[union-attr]
        place = next((a for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.arg == root), node)
        end = place.end_col_offset if place.end_lineno == place.lineno else place.col_offset + 1
        return _errors.unsupported(file, place.lineno, place.col_offset, end, what, advice)

    def _bind(self, args: tuple, kwargs: dict) -> list[Any]:
        if self._simple and not kwargs and len(args) == len(self._names):
            return list(args)
        function = self.__ingot_function__
        now = (function.__defaults__, function.__kwdefaults__)
        if now != self._defaults or any(a is not b for a, b in zip(now, self._defaults)):
            self._defaults, self._parameters = now, inspect.signature(function)
        try:
            bound = self._parameters.bind(*args, **kwargs)
        except TypeError:
            _without_body(function)(*args, **kwargs)  # raises Python's own message
            raise
        bound.apply_defaults()
        return [bound.arguments[n] for n in self._names]

    def _fit(self, values: list[Any]) -> list[Any]:
        for signature in self._signatures or ():
            converted = signature.match(values)
            if converted is not None:
                return converted
        listed = "\n".join(f"  {s}" for s in self._signatures or ())
        given = ", ".join(_type_text(v) for v in values)
        raise TypeError(f"no signature of `{self.__name__}` takes ({given}); there are\n{listed}")

    def _specialise(
        self, key: tuple, arguments: _Arguments, values: list[Any]
    ) -> tuple[Specialisation, _Arguments]:
        """The specialisation of a description, whose guards hold; made by the first thread that wants it."""
        found, _ = self._find(key)
        if found is not None:
            return found, arguments
        with _compiling:
            found, changed = self._find(key)
            if found is not None:
                return found, arguments
            why = "the first call" if not self._table else "arguments of other types"
            if changed is not None:
                why = _why(*changed)
                if self._keeps_changing(*changed):
                    arguments, key = self._describe(values)
            return self._make(key, arguments, values, why)

    def _find(self, key: tuple) -> tuple[Specialisation | None, tuple | None]:
        """A specialisation whose guards hold; else the guard of the last one looked at that does not, if any."""
        changed = None
        for candidate in tuple(self._table.get(_hashable(key), ())):
            changed = candidate.changed()
            if changed is None:
                return candidate, None
        return None, changed

    def _keeps_changing(self, owner: Any, name: str, expected: Any, present: bool) -> bool:
        """Counts a change; a number that changes for the second time becomes a hidden argument."""
        if not (_is_number(expected) and _is_number(_held(owner, name))):
            return False
        place = (id(owner), name)
        self._changes[place] = self._changes.get(place, 0) + 1
        if self._changes[place] < 2:
            return False
        self._captures.append((owner, name))
        return True

    def _make(
        self, key: tuple, arguments: _Arguments, values: list[Any], why: str
    ) -> tuple[Specialisation, _Arguments]:
        for i in self._static:
            seen = self._seen.setdefault(i, set())
            seen.add(repr(key[i]))
            if len(seen) > 16:
                name = [*self._names, *(n or "a captured variable" for _, n in self._captures)][i]
                raise self._refusal(
                    name,
                    f"more than 16 values of `{name}`, an argument of `{self.__name__}` whose value decides what is compiled,",
                    "make its type or shape decide, or call one function for each value",
                )
        while True:
            core, registry = _core()
            try:
                own = len(self._names)
                captures = tuple((*c, d) for c, d in zip(self._captures, key[own:]))
                program = core.lower(registry, self.__ingot_function__, key[:own], captures, self._relaxed)
            except Demanded as demand:
                self._static.add(demand.argument)
                arguments, key = self._describe(values)
                why = "the value of an argument must be known"
                continue
            except Captured as captured:
                self._captures.append((captured.owner, captured.name))
                arguments, key = self._describe(values)
                continue
            specialisation = Specialisation(program, key, why)
            self._table.setdefault(_hashable(key), []).insert(0, specialisation)
            return specialisation, arguments

    def _run(self, specialisation: Specialisation, arguments: _Arguments) -> Any:
        leaves, containers = arguments.leaves, arguments.containers
        cells = _Cells(containers if specialisation.writes else [])
        shared: set = set()
        given = leaves + [leaf for four in cells.leaves for leaf in four]

        def host(site: int, values: list) -> None:
            cells.flush()
            function, (positional, keywords) = specialisation.hosts[site]
            if site in specialisation.keeps:
                shared.update(v[0] for v in values if type(v) is tuple)
            boxing = _Boxing(values, leaves, containers, shared)
            function(*[boxing.make(d) for d in positional], **keywords)

        try:
            if self._mode == "interpreted":
                outcome = specialisation.program.interpret(given, host, _library, specialisation.keeps)
            else:
                outcome = specialisation.code.run(given, host, _library_into, specialisation.keeps)
        finally:
            cells.flush()
        if type(outcome) is tuple:
            raise _exception(*outcome, specialisation.errors)
        return _Boxing(outcome, leaves, containers, shared).make(specialisation.result)

    def record(self, *args: Any, path: str | os.PathLike, **kwargs: Any) -> Any:
        """Calls the function, and writes into the folder `path` what is needed to make the call again without Python.

        The files are `call.txt` - arguments, what library routines and host calls were given and gave, results, the
        arguments' memory afterwards, or the exception - and the IR after each pass, `1-frontend.ir`
        and on. `ingot-opt --replay path` makes the call from each of the texts, interpreted and compiled, and compares
        all bits; docs/replay.md has the format. Returns or raises what the call does. A call that is interrupted (KeyboardInterrupt) leaves no record.
        """
        from ._record import record

        specialisation, arguments = self._prepare(args, kwargs)
        if specialisation.writes or specialisation.keeps:
            node, file, _ = _source.find(self.__ingot_function__)
            what = f"recording `{self.__name__}`, which changes the caller's containers,"
            advice = "record a function that gives the new values back"
            raise _errors.unsupported(file, node.lineno, node.col_offset, node.col_offset + 1, what, advice)
        return record(self._mode, specialisation, arguments, path)

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """What becomes of the function for these arguments, as text: source, array IR, loop IR, LLVM IR, assembly,
        and the milliseconds of CPU time that each step took. The function is compiled but not run.
        """
        specialisation, _ = self._prepare(args, kwargs)
        stages = specialisation.program.compile(texts=True)
        sections = [("source", inspect.getsource(self.__ingot_function__)), ("array IR", specialisation.program.text())]
        sections += [(name, stages[name]) for name in ("loop IR", "LLVM IR", "assembly")]
        times = "".join(f"{name:12} {ms:8.3f} ms\n" for name, ms in stages["times"].items())
        return "\n".join(f"=== {name} ===\n{text}" for name, text in [*sections, ("times", times)])


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float, complex) or isinstance(value, np.generic) and value.dtype in DTYPES


def _without_body(function: types.FunctionType) -> types.FunctionType:
    """A function of the same parameters and name that does nothing."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    flags = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    nothing = (lambda: None).__code__
    hollow = nothing.replace(
        co_argcount=code.co_argcount,
        co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount,
        co_varnames=code.co_varnames[:count],
        co_nlocals=count,
        co_flags=nothing.co_flags | flags,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )
    result = types.FunctionType(hollow, {}, function.__name__, function.__defaults__)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__qualname__ = function.__qualname__
    return result


def _hashable(key: tuple) -> tuple:
    def one(part: Any) -> Any:
        if type(part) is tuple:
            return tuple(one(p) for p in part)
        return (type(part), repr(part)) if isinstance(part, (float, complex)) else (type(part), part)

    return one(key)


def _library(routine: str, operands: list) -> Any:
    """What a routine of the library table gives."""
    function = {"randn": np.random.randn, "solve": np.linalg.solve, "matmul": np.matmul}[routine]
    return function(*operands)


def _library_into(routine: str, operands: list) -> None:
    """The same, put into the last operand."""
    *given, result = operands
    result[...] = _library(routine, given)


_NO_MEMORY = re.compile(r"Unable to allocate an array with shape \((.*)\) and data type (\w+)")


def _exception(kind: str, message: str, file: str, line: int, pending: Any, errors: dict) -> BaseException:
    if pending is not None:
        return pending
    if message in errors:
        known = errors[message]
        error = type(known).__new__(type(known), *known.args)
        error.__dict__.update(known.__dict__)
        return error
    if kind == "KeyboardInterrupt":
        return KeyboardInterrupt()
    if kind == "LinAlgError":
        return np.linalg.LinAlgError(message)
    if kind == "TypeChangeError":
        return _errors.TypeChangeError(f"{message} ({file}:{line})")
    if kind == "ValueError" and (match := re.fullmatch(r"axis (-?\d+) is out of bounds for array of dimension (\d+)", message)):
        return np.exceptions.AxisError(int(match[1]), int(match[2]))
    if kind == "KeyError" and message:
        return KeyError(ast.literal_eval(message))  # the message of a KeyError is the repr of its key
    if kind == "MemoryError" and (match := _NO_MEMORY.fullmatch(message)):
        shape, dtype = match.groups()
        return np._core._exceptions._ArrayMemoryError(tuple(int(n) for n in re.findall(r"\d+", shape)), np.dtype(dtype))
    if kind == "TypeError" and (error := _ufunc_error(message)) is not None:
        return error
    return getattr(builtins, kind)(*([message] if message else []))


def _ufunc_error(message: str) -> TypeError | None:
    """NumPy's own subclass of TypeError, where it has one for a message."""
    errors = np._core._exceptions
    if match := re.fullmatch(
        r"Cannot cast ufunc '(\w+)' output from dtype\('(\w+)'\) to dtype\('(\w+)'\) with casting rule '(\w+)'", message
    ):
        ufunc, given, wanted, casting = match.groups()
        ufunc = getattr(np, ufunc)
        return errors._UFuncOutputCastingError(ufunc, casting, np.dtype(given), np.dtype(wanted), ufunc.nin)
    if message.startswith("ufunc 'positive' did not contain a loop"):
        return errors._UFuncNoLoopError(np.positive, (np.dtypes.BoolDType, None))
    return None


def _type_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(':' * value.ndim)}]"
    return type(value).__name__


def jit(
    function: Any = None, /, signatures: Any = None, *, fastmath: bool | str | Iterable[str] = False, **options: Any
) -> Any:
    """Compiles a Python function for the arguments it is called with.

    Used bare (`@jit`), with options (`@jit(...)`), or with signatures (`@jit("float64(float64[:])")`, a type,
    or a list of them), which compile for just those argument types. The function keeps its behaviour: values,
    dtypes, shapes, writes into arguments and exceptions are those of Python and NumPy. What cannot be compiled
    raises `ingot.UnsupportedError` when it is called with such arguments.

    `fastmath` names what float arithmetic, in the function and in what it calls, need not keep (docs/semantics.md):
    `nnan`, `ninf`, `nsz`, `arcp`, `contract`, `afn`, `reassoc`, one or several; True or "fast": all. Without it
    arithmetic is NumPy's, bit for bit.
    """
    unknown = set(options) - {"nopython", "parallel", "cache"}
    if unknown:
        raise TypeError(f"jit() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    relaxed = relaxations(fastmath)
    if isinstance(function, Function):
        function = function.__ingot_function__
    if isinstance(function, types.FunctionType):
        return Function(function, parse_signatures(signatures) if signatures is not None else None, relaxed=relaxed)
    if function is not None:
        signatures = function
    parsed = parse_signatures(signatures) if signatures is not None else None

    def decorate(f: Any) -> Function:
        if not isinstance(f, (types.FunctionType, Function)):
            raise TypeError(f"jit() takes a Python function, not {type(f).__name__}")
        return Function(getattr(f, "__ingot_function__", f), parsed, relaxed=relaxed)

    return decorate
