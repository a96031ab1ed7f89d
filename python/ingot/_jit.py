"""`@ingot.jit`: signatures, guards and the way from Python values to compiled code and back."""

from __future__ import annotations

import ast
import atexit
import contextlib
import ctypes
import enum
import functools
import inspect
import operator
import os
import re
import sys
import threading
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from . import _errors, _exceptions, _ingot, _source
from ._errors import Captured, Demanded, UnsupportedError, Used
from ._host import HostFunction, c_pointer
from ._signature import Signature, Type, parse_signatures

DTYPES = {
    np.dtype(n)
    for n in (
        "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
    )
}
class _Cells:
    """The numbers that compiled code puts into the caller's containers, until they are put there."""

    KINDS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
             "float16", "float32", "float64", "complex64", "complex128")  # fmt: skip
    PYTHON = (bool, int, float, complex)

    def __init__(self, containers: list[Any], layouts: tuple) -> None:
        self.containers = containers
        self.put = [put if names is None else assign for names in layouts]
        self.keys = [
            names if names is not None else list(c) if type(c) is dict else range(len(c)) for c, names in zip(containers, layouts)
        ]
        self.leaves = [
            [np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.complex128)] for n in map(len, self.keys)
        ]

    def flush(self) -> None:
        for container, store, keys, (tags, *values) in zip(self.containers, self.put, self.keys, self.leaves):
            for place in np.flatnonzero(tags):
                store(container, keys[place], self._number(int(tags[place]) - 1, values, place))
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


def assign(instance: Any, name: str, value: Any) -> None:
    """Sets an attribute of an instance, for compiled code, as `object` does it."""
    object.__setattr__(instance, name, value)


def append(container: list, value: Any) -> None:
    """`container.append(value)`, for compiled code."""
    container.append(value)


def change(container: Any, method: str, *arguments: Any) -> None:
    """A method of a container that changes its structure, for compiled code."""
    getattr(container, method)(*arguments)


def call_host(function: Callable, positional: list, keywords: dict, sites: tuple[_errors.Site, ...]) -> Any:
    """A call out of compiled code that stands at these places: they are where what it raises came through."""
    try:
        return function(*positional, **keywords)
    except BaseException as error:
        inner = error.__traceback__.tb_next  # type: ignore[union-attr]
        while inner is not None and inner.tb_frame.f_code.co_filename == __file__:
            inner = inner.tb_next
        raise error.with_traceback(_errors.traceback(sites, inner))


def text_of_codes(codes: Any) -> str:
    """The text of these code points: an array, or one number, -1 for the empty text."""
    if isinstance(codes, int):
        return chr(codes) if codes >= 0 else ""
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def sorting(items: list, reverse: bool) -> list[int]:
    """The places of items in the order in which `sorted` puts them."""
    return sorted(range(len(items)), key=items.__getitem__, reverse=reverse)


class _Objects:
    """What the objects that leave one call are made of: its arguments, and those that have left it already."""

    def __init__(self, arguments: list[Any], containers: list[Any]) -> None:
        self.arguments = arguments
        self.containers = containers
        self.kept: set[Any] = set()  # keys of memory that a callee has kept
        self.own: dict[Any, np.ndarray] = {}  # by the key of their memory: the arrays that it was made with


class _Arrays:
    """Arrays of the values that compiled code gives."""

    def __init__(self, values: list, objects: _Objects) -> None:
        self.objects = objects
        self.buffers: dict[int, tuple] = values[-1] if values and type(values[-1]) is dict else {}
        self.uses: dict[Any, int] = {key: 2 for key, _ in self.buffers.values()}  # how often lists hold one is not counted
        for value in values:
            if type(value) is tuple:
                self.uses[value[0]] = self.uses.get(value[0], 0) + 1

    def of(self, value: Any, argument: int, writable: bool, owns: bool) -> np.ndarray:
        """An array of a value; `argument`: that of the call which it is, -1: none, -2: none, and it owns its memory."""
        if isinstance(value, np.ndarray):
            return value
        if argument >= 0:
            return self.objects.arguments[argument]
        if not owns and argument != -2:
            return self._made(value, writable)
        if value[0] not in self.objects.own:
            self.objects.own[value[0]] = self._made(value, writable)
        return self.objects.own[value[0]]

    def held(
        self, buffer: int, offset: int, argument: int, shape: tuple, strides: tuple, dtype: str, writable: bool, owns: bool
    ) -> np.ndarray:
        """An array of a list of unknown length."""
        key, memory = self.buffers[buffer]
        return self.of((key, memory, offset, shape, strides, dtype), argument, writable, owns)

    def _made(self, value: tuple, writable: bool) -> np.ndarray:
        key, memory, offset, shape, strides, dtype = value
        if memory is None:
            owner = self.objects.arguments[key]
            low = sum(min(0, (n - 1) * s) for n, s in zip(owner.shape, owner.strides)) if owner.size else 0
            return _ingot.view_at(owner, low + offset, dtype, shape, strides, writable and owner.flags.writeable)
        if offset is None:  # a whole buffer: the array is made
            if not writable:
                memory.flags.writeable = False
            return memory
        if 0 in shape:
            offset, strides = 0, (0,) * len(shape)  # as NumPy's
        array = np.ndarray(shape, dtype, buffer=memory, offset=offset, strides=strides)
        if self.uses[key] == 1 and key not in self.objects.kept and array.nbytes == memory.nbytes:
            array = array.copy(order="K")
        array.flags.writeable = writable
        return array


class _Boxing:
    """Makes Python objects of the values that compiled code gives, as a description says."""

    def __init__(self, values: list, objects: _Objects) -> None:
        self.objects = objects
        self.values = iter(values)
        self.made: list[Any] = []  # arrays, containers and instances, in order
        self.arrays = _Arrays(values, objects)
        self.elements = _ingot.Elements(self.arrays.held)

    def make(self, description: tuple) -> Any:
        tag = description[0]
        if tag == "static":
            return description[1]
        if tag == "argument":
            return self.objects.containers[description[1]]
        if tag == "again":
            return self.made[description[1]]
        if tag == "object":
            return self._instance(*description[1:])
        if tag == "scalar":
            return self._scalar(description[1], next(self.values))
        if tag == "array":
            array = self._array(description)
            self.made.append(array)
            return array
        if tag == "maybe":
            there = next(self.values) == 0
            inside = self.make(description[1])
            return inside if there else None
        if tag == "letters":
            return text_of_codes(self.make(description[1][0]))
        if tag == "text":
            return description[1].format(*[self.make(d) for d in description[2]])
        if tag == "record":
            return self.elements.record(description[1], description[2], next(self.values))
        if tag == "pooled":
            for names, *lists in description[2]:
                self.elements.add_pool(names, [self._growing(growing) for growing in lists])
            result = self.make(description[1])
            self.elements.fill()
            return result
        if tag == "holding":
            return self.make(description[1])
        if tag == "mapping":
            mapping: dict[Any, Any] = {}
            self.made.append(mapping)
            keys = self.make(description[1][0])
            mapping.update(zip(keys, self.make(description[1][1])))
            return mapping
        if tag == "growing":
            place = len(self.made)
            self.made.append(None)
            self.made[place] = self.elements.list(*self._growing(description))
            return self.made[place]
        if tag == "dict":
            made = {}
            self.made.append(made)
            for key, part in zip(description[1], description[2]):
                made[key] = self.make(part)
            return made
        parts: list[Any] = []
        if tag == "list":
            self.made.append(parts)
        parts.extend(self.make(d) for d in description[-1])
        if tag == "named":
            return tuple.__new__(description[1], parts)
        return tuple(parts) if tag == "tuple" else parts

    def _growing(self, description: tuple) -> tuple[tuple, int, list[np.ndarray]]:
        """What an element of a list of unknown length is like, how many there are, and the columns of their numbers."""
        length = next(self.values)
        return description[1], length, [self._array(d) for d in description[2]]

    def _instance(self, kind: type, names: tuple, parts: tuple) -> Any:
        """Made as `object` makes and fills it: no code of the class runs."""
        instance = object.__new__(kind)
        self.made.append(instance)
        for name, part in zip(names, parts):
            assign(instance, name, self.make(part))
        return instance

    @staticmethod
    def _scalar(kind: str, value: Any) -> Any:
        return getattr(np, kind[6:])(value) if kind.startswith("numpy.") else value

    def _array(self, description: tuple) -> np.ndarray:
        _, _, _, writable, argument, owns = description
        value = next(self.values)
        if argument is None:
            argument = next(self.values)
        return self.arrays.of(value, argument, writable, owns)


def boxed(description: tuple, values: list) -> Any:
    """What a description makes of numbers alone."""
    return _Boxing(values, _Objects([], [])).make(description)


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


def _kept_after(function: Callable) -> int | None:
    """After how many arguments of a callee those stand that it may keep; None: it keeps none."""
    if isinstance(getattr(function, "__self__", None), HostFunction):
        return 1
    return 0 if function in (put, append, assign, change) else None


class Specialisation(_ingot.Specialisation):
    """A function compiled for arguments of one description."""

    def __init__(self, program: Any, key: tuple, why: str) -> None:
        self.program = program
        self.result = program.result
        self.buffers = program.result[2] if program.result[0] == "holding" else ()  # the results that are their numbers
        self.hosts = program.hosts
        self.writes = program.writes
        self.layouts = program.layouts
        # The sites whose callee keeps what it gets, but for so many arrays at first.
        self.keeps = {i: n for i, host in enumerate(self.hosts) if (n := _kept_after(host[0])) is not None}
        self.key = key
        self.why = why
        super().__init__(program.guards, program.result, program.errors, not self.hosts and not self.writes)

    def __repr__(self) -> str:
        return f"<specialisation {self.key}: {self.why}>"

    @property
    def code(self) -> Any:
        """The machine code, made when it is first asked for."""
        if self.loaded is None:
            self.loaded = _ingot.Code.load(self.compile()["object"])
        return self.loaded

    def compile(self, texts: bool = False) -> dict[str, Any]:
        """The object file and how it was made; with the IR and assembly if `texts`."""
        return _ingot.with_room(self.program.compile, texts, _ingot.get_num_threads())


def _why(owner: Any, name: str, expected: Any, present: bool, in_class: bool) -> str:
    shown = f"`{name}`" if name else "a captured variable"
    if in_class or bool(_ingot.held(owner, name)) == present:
        return f"{shown} has changed"
    return f"{shown} was {'deleted' if present else 'defined'}"


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
atexit.register(_ingot.finish_calls_with_room)


def disabled() -> bool:
    """Whether the environment says that nothing is to be compiled, by INGOT_DISABLE."""
    return os.environ.get("INGOT_DISABLE", "") not in ("", "0")


RELAXATIONS = ("nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")


def relaxations(fastmath: bool | str | Iterable[str]) -> tuple[str, ...]:
    """The names, in order, of what `fastmath` allows: all of them (True, "fast"), none (False), or those given."""
    if isinstance(fastmath, bool):
        return RELAXATIONS if fastmath else ()
    names = {fastmath} if isinstance(fastmath, str) else set(fastmath)
    if unknown := names - {*RELAXATIONS, "fast"}:
        raise ValueError(f"fastmath knows {', '.join(RELAXATIONS)} and fast, not {sorted(map(str, unknown))[0]!r}")
    return RELAXATIONS if "fast" in names else tuple(name for name in RELAXATIONS if name in names)


Q = ParamSpec("Q")
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
Owner = TypeVar("Owner")

if TYPE_CHECKING:

    class Base(Generic[P, R_co]):
        """The base as type checkers see it: called with what the function takes, and bound as a function is."""

        __name__: str
        __qualname__: str
        _describe: Any
        _remember: Any
        _demand: Any
        _measure: Any
        _open_texts: Any
        _capture: Any
        _describe_attributes: Any
        _attributes: Any
        _captures: Any
        _demanded: Any

        def __init__(self, function: Any, names: tuple[str, ...], **binding: Any) -> None: ...
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        @overload
        def __get__(self, instance: None, owner: Any = None) -> Function[P, R_co]: ...
        @overload
        def __get__(self: Base[Concatenate[Owner, Q], R_co], instance: Owner, owner: Any = None) -> Callable[Q, R_co]: ...
        def __get__(self, instance: Any, owner: Any = None) -> Any: ...

else:
    Base = {(P, R_co): _ingot.Callable}  # `Base[P, R_co]` is the class of C++'s, which knows nothing of types


class Function(Base[P, R_co]):
    """A Python function that is compiled when it is called.

    The base makes the calls whose arguments are of a description that it remembers; all others come here.
    """

    __class_getitem__: Any = classmethod(types.GenericAlias)

    WHY: ClassVar = {
        "value": "the value of an argument must be known",
        "lengths": "the length of a short axis of an argument must be known",
        "letters": "a text is walked",
    }
    most_values: int | None = 16  # of one argument whose value decides what is compiled

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
        kinds = [p.kind for p in self._parameters.parameters.values()]
        self._simple = all(k is inspect.Parameter.POSITIONAL_OR_KEYWORD for k in kinds)
        self._names = list(self._parameters.parameters)
        self._signatures = signatures
        self._table: dict[tuple, list[Specialisation]] = {}
        self._changes: dict[tuple[int, str], int] = {}
        self._seen: dict[int, set[str]] = {}
        self._opened: set[int] = set()  # the arguments whose texts are described by their letters
        self._opens_texts = True
        self._mode = mode
        self._relaxed = relaxed
        super().__init__(
            function,
            tuple(self._names),
            positional=kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) + kinds.count(inspect.Parameter.POSITIONAL_ONLY),
            positional_only=kinds.count(inspect.Parameter.POSITIONAL_ONLY),
            plain=_has_own_parameters(function, kinds),
            layouts=any(t.layout != "A" for s in signatures or () for t in s.parameters),
        )

    @property
    def specialisations(self) -> list[Specialisation]:
        """What has been compiled so far, in order, each with the reason why."""
        return [s for entries in self._table.values() for s in entries]

    def __repr__(self) -> str:
        return f"<ingot.jit function {self.__module__}.{self.__qualname__}>"

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        return self

    def __reduce_ex__(self, protocol: Any) -> str | tuple:
        """By its name, as a plain function; by cloudpickle, or where it has none, as the function that it compiles."""
        by_value = "cloudpickle" in sys._getframe(1).f_globals.get("__name__", "")
        found = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self and not (by_value and self.__module__ == "__main__"):
            return self.__qualname__
        source = _source.text_of(self.__ingot_function__)
        return _restored, (self.__ingot_function__, self._signatures, self._mode, self._relaxed, source)

    def _call(self, args: tuple, kwargs: dict) -> Any:
        """A call that the base cannot make."""
        return self._run(*self._prepare(args, kwargs))

    def _prepare(self, args: tuple, kwargs: dict) -> tuple[Specialisation, Any]:
        """The specialisation that arguments take, made if need be, and the arguments taken apart."""
        values = given = self._bind(args, kwargs)
        if self._signatures is not None:
            values = self._fit(given)
        specialisation, arguments = self._specialise(self._describe(values), values)
        if self._mode == "compiled" and all(map(operator.is_, values, given)):
            self._remember(arguments, self._table[_hashable(specialisation.key)])
        return specialisation, arguments

    def _refusal(self, name: str, what: str, advice: str) -> UnsupportedError:
        """The refusal of an argument, shown at its parameter."""
        node, file, _ = _source.find(self.__ingot_function__)
        root = re.match(r"\w*", name).group()  # type: ignore[union-attr]
        place = next((a for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.arg == root), node)
        end = place.end_col_offset if place.end_lineno == place.lineno else place.col_offset + 1
        site = (file, place.lineno, place.col_offset, end, self.__name__)
        return _errors.unsupported((site,), what, advice)

    def _site(self) -> _errors.Site:
        """Where the function is defined."""
        code = self.__ingot_function__.__code__
        return (code.co_filename, code.co_firstlineno, 0, 0, code.co_name)

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

    def _specialise(self, arguments: Any, values: list[Any]) -> tuple[Specialisation, Any]:
        """The specialisation of a description, whose guards hold; made by the first thread that wants it."""
        found, _ = self._find(arguments.key)
        if found is not None:
            return found, arguments
        return _ingot.with_room(self._specialise_anew, arguments, values)

    def _specialise_anew(self, arguments: Any, values: list[Any]) -> tuple[Specialisation, Any]:
        with _compiling:
            found, changed = self._find(arguments.key)
            if found is not None:
                return found, arguments
            why = "the first call" if not self._table else "arguments of other types"
            if changed is not None:
                why = _why(*changed)
                if self._keeps_changing(*changed):
                    arguments = self._describe(values)
            return self._make(arguments, values, why)

    def _find(self, key: tuple) -> tuple[Specialisation | None, tuple | None]:
        """A specialisation whose guards hold; else the guard of the last one looked at that does not, if any."""
        changed = None
        for candidate in tuple(self._table.get(_hashable(key), ())):
            changed = candidate.changed()
            if changed is None:
                return candidate, None
        return None, changed

    def _keeps_changing(self, owner: Any, name: str, expected: Any, present: bool, in_class: bool) -> bool:
        """Counts a change; a number that changes for the second time becomes a hidden argument."""
        if in_class or not (_is_number(expected) and all(map(_is_number, _ingot.held(owner, name)))):
            return False
        place = (id(owner), name)
        self._changes[place] = self._changes.get(place, 0) + 1
        if self._changes[place] < 2:
            return False
        self._capture(owner, name)
        return True

    def _make(self, arguments: Any, values: list[Any], why: str) -> tuple[Specialisation, Any]:
        key, own = arguments.key, len(self._names)
        for i in self._demanded():
            seen = self._seen.setdefault(i, set())
            seen.add(repr(key[i]))
            if self.most_values is not None and len(seen) > self.most_values:
                name = [*self._names, *(n or "a captured variable" for _, n in self._captures())][i]
                raise self._refusal(
                    name,
                    f"more than {self.most_values} values of `{name}`, an argument of `{self.__name__}` whose value decides what is compiled,",
                    "make its type or shape decide, or call one function for each value",
                )
        while True:
            core, registry = _core()
            try:
                key = arguments.key
                captures = tuple((*c, d) for c, d in zip(self._captures(), key[own:]))
                program = core.lower(registry, self.__ingot_function__, key[:own], captures, self._attributes(), self._relaxed, self._opens_texts)
            except Demanded as demand:
                self._settle(demand)
                arguments = self._describe(values)
                why = self.WHY[demand.what]
                continue
            except Used as used:
                self._describe_attributes(used.type, used.names)
                arguments = self._describe(values)
                continue
            except Captured as captured:
                self._capture(captured.owner, captured.name)
                arguments = self._describe(values)
                continue
            except UnsupportedError:
                self._opens_texts = True  # for arguments of other types
                raise
            specialisation = Specialisation(program, key, why)
            self._table.setdefault(_hashable(key), []).insert(0, specialisation)
            return specialisation, arguments

    def _settle(self, demand: Demanded) -> None:
        """Has arguments described with what compiling needs of them."""
        if demand.what == "letters":
            self._opens_texts = demand.argument >= 0  # else texts are used in ways that need them known
            self._opened = self._opened | {demand.argument} if self._opens_texts else set()
            self._open_texts(tuple(self._opened))
        elif demand.what == "lengths":
            self._measure(demand.argument)
        else:
            self._demand(demand.argument)

    def _run(self, specialisation: Specialisation, arguments: Any) -> Any:
        leaves, containers = arguments.leaves, arguments.containers
        cells = _Cells(containers, specialisation.layouts) if specialisation.writes else _Cells([], ())
        objects = _Objects(leaves, containers)
        given = leaves + [leaf for four in cells.leaves for leaf in four]

        def host(site: int, values: list) -> None:
            cells.flush()
            function, (positional, keywords), sites = specialisation.hosts[site]
            keeps = site in specialisation.keeps
            if keeps:
                objects.kept.update(v[0] for v in values if type(v) is tuple)
            boxing = _Boxing(values, objects if keeps else _Objects(leaves, containers))
            call_host(function, [boxing.make(d) for d in positional], keywords, sites)

        with _holding(arguments.locks):
            try:
                if self._mode == "interpreted":
                    outcome = specialisation.program.interpret(given, host, _library, specialisation.keeps)
                else:
                    outcome = specialisation.code.run(given, host, None, specialisation.keeps, specialisation.buffers)
            finally:
                cells.flush()
        if type(outcome) is tuple:
            raise _exceptions.exception(*outcome, specialisation.errors)
        return _Boxing(outcome, objects).make(specialisation.result)

    def record(self, *args: Any, path: str | os.PathLike, **kwargs: Any) -> Any:
        """Calls the function, and writes into the folder `path` what is needed to make the call again without Python.

        The files are `call.txt` - arguments, what library routines and host calls were given and gave, results, the
        arguments' memory afterwards, or the exception - and the IR after each pass, `1-frontend.ir`
        and on. `ingot-opt --replay path` makes the call from each of the texts, interpreted and compiled, and compares
        all bits; docs/replay.md has the format. Returns or raises what the call does. A call that is interrupted (KeyboardInterrupt) leaves no record.
        """
        from ._record import record

        specialisation, arguments = self._prepare(args, kwargs)
        if arguments.locks:
            what = f"recording `{self.__name__}`, which draws from a stream of NumPy's,"
            advice = "record a function that is given the numbers"
            raise _errors.unsupported((self._site(),), what, advice)
        if specialisation.writes or specialisation.keeps:
            what = f"recording `{self.__name__}`, which changes the caller's containers,"
            advice = "record a function that gives the new values back"
            raise _errors.unsupported((self._site(),), what, advice)
        if specialisation.buffers:
            what = f"recording `{self.__name__}`, which returns arrays of which the number is not known when compiling,"
            raise _errors.unsupported((self._site(),), what, "record a function that returns np.array of them")
        return record(self._mode, specialisation, arguments, path)

    def c_pointer(self, signature: str) -> Any:
        """A C function pointer to the function, made by `ctypes`: `f.c_pointer("float64(float64, int64)")`.

        C code may call it as long as the object lives, from any thread; SciPy takes it in a `LowLevelCallable`. A call
        takes the GIL, and costs about what one in Python does. What it raises is shown on stderr, and gives 0.

        Arrays are pointers to elements in C order. `float64(float64[:, :])` is `double f(double *x, int64_t n, int64_t m)`:
        the lengths follow. With names the signature has C's own order: `float64(int32 n, float64[n] x, void* data)` is
        `double f(int n, double *x, void *data)`; of these parameters the function is given those that have names of its own.
        Lengths are names of integers among the parameters, or constants.
        """
        return c_pointer(self, signature)

    def explain(self, *args: Any, svg: str | os.PathLike | None = None, **kwargs: Any) -> str:
        """What becomes of the function for these arguments, as text: source, array IR, loop IR, LLVM IR, assembly,
        and the milliseconds of CPU time that each step took. The function is compiled but not run.

        `svg` names a file for a drawing of what was fused: the loop nests, the ops in each, and the bytes that they
        move for these arguments beside those that must be moved at least.
        """
        specialisation, arguments = self._prepare(args, kwargs)
        stages = specialisation.compile(texts=True)
        if svg is not None:
            from . import _drawing, _fusion

            loops = next(text for name, text in stages["passes"] if name == "to_loops")
            drawing = _drawing.svg(_fusion.read(loops, specialisation.program.interface[0], arguments.leaves))
            with open(svg, "w", encoding="utf-8") as file:
                file.write(drawing)
        sections = [("source", _source.shown(self.__ingot_function__)), ("array IR", specialisation.program.text())]
        sections += [(name, stages[name]) for name in ("loop IR", "LLVM IR", "assembly")]
        times = "".join(f"{name:12} {ms:8.3f} ms\n" for name, ms in stages["times"].items())
        from ._explanation import Explanation

        return Explanation("\n".join(f"=== {name} ===\n{text}" for name, text in [*sections, ("times", times)]))


def _restored(function: Any, signatures: Any, mode: str, relaxed: tuple[str, ...], source: str) -> Function:
    """A function that has been pickled, with the source that it had."""
    function.__ingot_source__ = source
    return Function(function, signatures, mode, relaxed)


def shown_to_profilers(function: Function) -> Callable:
    """A function of Python's that calls a compiled one, and has the name, file and line of what that compiles."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        return _ingot.call_behind_profile(function, arguments, keywords)

    own = function.__ingot_function__.__code__
    call.__code__ = call.__code__.replace(
        co_name=own.co_name, co_qualname=own.co_qualname, co_filename=own.co_filename, co_firstlineno=own.co_firstlineno
    )
    return call


def _holding(locks: list) -> contextlib.AbstractContextManager:
    """What holds locks, in the order in which the base takes them."""
    held = contextlib.ExitStack()
    for lock in sorted(locks, key=id):
        held.enter_context(lock)
    return held


def _has_own_parameters(function: Any, kinds: list[Any]) -> bool:
    """Whether a function's signature is that of its code, without `*args` and `**kwargs`."""
    variadic = inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.VAR_KEYWORD in kinds
    return not variadic and not hasattr(function, "__wrapped__") and not hasattr(function, "__signature__")


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
        if isinstance(part, enum.Enum):
            return (type(part), part._name_)
        return (type(part), repr(part)) if isinstance(part, (float, complex, np.inexact)) else (type(part), part)

    return one(key)


def _library(routine: str, operands: list) -> Any:
    """What a routine of the library table gives."""
    if "." in routine:
        return _gufunc(routine, operands)
    if routine == "default_rng":
        return default_stream(*operands)
    return operator.attrgetter(routine)(np)(*operands)


def reseed(stream: np.random.RandomState, seed: Any) -> None:
    """`stream.seed(seed)`, for compiled code."""
    stream.seed(seed)


def default_stream(seed: np.ndarray, kind: np.int64, length: np.int64) -> np.ndarray:
    """The words of the stream of `np.random.default_rng`, as the routine `settle_pcg64` takes them.

    `kind` says what the seed is: nothing, a number, or numbers.
    """
    bits = np.random.default_rng((None, int(seed[0]) if len(seed) else None, seed)[int(kind)]).bit_generator
    state = bits.state["state"]
    interface = bits.ctypes
    words = np.zeros(length, np.uint64)
    functions = (interface.next_uint64, interface.next_uint32, interface.next_double, interface.next_uint64)
    words[1:5] = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
    low = 2**64 - 1
    words[8:] = [state["state"] & low, state["state"] >> 64, state["inc"] & low, state["inc"] >> 64]
    return words


def _gufunc_of(routine: str) -> np.ufunc:
    from numpy.fft import _pocketfft_umath
    from numpy.linalg import _umath_linalg

    module, name = routine.split(".")
    return getattr({"fft": _pocketfft_umath, "linalg": _umath_linalg}[module], name)


def _inputs(routine: str) -> int:
    """How many of the operands of a gufunc it only reads."""
    return _gufunc_of(routine).nin


def _gufunc(routine: str, operands: list) -> None:
    """Calls one of NumPy's gufuncs on inputs, outputs, and what tells whether it failed."""
    function = _gufunc_of(routine)
    *given, failed = operands
    failed[...] = 0
    with np.errstate(all="ignore", invalid="call", call=lambda *_: failed.fill(1)):
        function(*given[: function.nin], out=tuple(given[function.nin :]))


def _library_into(routine: str, operands: list) -> None:
    """The same, put into the last operand."""
    if "." in routine:
        return _gufunc(routine, operands)
    *given, result = operands
    result[...] = _library(routine, given)


def _type_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(':' * value.ndim)}]"
    return type(value).__name__


class Decorator(Protocol):
    """What `jit` gives for signatures and options."""

    def __call__(self, function: Callable[P, R_co], /) -> Function[P, R_co]: ...


@overload
def jit(
    function: Callable[P, R_co],
    /,
    signatures: Any = None,
    *,
    fastmath: bool | str | Iterable[str] = False,
    nopython: bool = ...,
    parallel: bool = ...,
    cache: bool = ...,
) -> Function[P, R_co]: ...
@overload
def jit(
    function: str | Signature | tuple[Type, ...] | list[Any] | None = None,
    /,
    signatures: Any = None,
    *,
    fastmath: bool | str | Iterable[str] = False,
    nopython: bool = ...,
    parallel: bool = ...,
    cache: bool = ...,
) -> Decorator: ...
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

    Where INGOT_DISABLE=1 stands in the environment, for debugging, it gives the function back as it is.
    """
    unknown = set(options) - {"nopython", "parallel", "cache"}
    if unknown:
        raise TypeError(f"jit() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    relaxed = relaxations(fastmath)
    if isinstance(function, (types.FunctionType, Function)):
        return _made(function, parse_signatures(signatures) if signatures is not None else None, relaxed)
    if function is not None:
        signatures = function
    parsed = parse_signatures(signatures) if signatures is not None else None

    def decorate(f: Any) -> Any:
        if not isinstance(f, (types.FunctionType, Function)):
            raise TypeError(f"jit() takes a Python function, not {type(f).__name__}")
        return _made(f, parsed, relaxed)

    return decorate


def _made(f: types.FunctionType | Function, signatures: list[Signature] | None, relaxed: tuple[str, ...]) -> Any:
    """What `jit` makes of a function, or of one that it has made."""
    function = f.__ingot_function__ if isinstance(f, Function) else f
    return function if disabled() else Function(function, signatures, relaxed=relaxed)
