"""Compiles an export for levels of CPUs: what its parameters and results are, and the objects.

Arguments are described by the signature as a call would describe them, but that nothing is known of lengths, and of memory
only whether what is written to is shared: there is code for arguments that share none, and for any. Globals and what closures
hold are constants; arrays among them are arguments that the library itself gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import _errors, _ingot
from .._calls.function import Function, refused_argument
from .._calls.specialisation import Fact, Request, lowered
from .._errors import UnsupportedError
from .._host import HostFunction
from .._ingot import Description
from .._signatures import DTYPES, Pointer, Type
from .._signatures.parameters import parameters_of
from .collect import Wanted
from .errors import BuildError
from .export import Export
from .names import c_name


class Value(NamedTuple):
    """A parameter or a result: its dtype, by NumPy's name, and the number of its axes, or -1 for a number."""

    name: str
    dtype: str
    rank: int
    order: str = "A"
    is_written: bool = False


class Given(NamedTuple):
    """What the library does with one value that the code gives: puts it there, or nothing."""

    value: Value
    is_hidden: bool = False


class Constant(NamedTuple):
    """A result that is a number known when compiling."""

    value: Value
    number: Any


class Code(NamedTuple):
    """An object for linkers, the symbol of its entry, its metadata, and the features of CPUs that it needs."""

    object: bytes
    symbol: str
    info: bytes
    features: str


class Version(NamedTuple):
    """The code of one level: for arguments that share no memory that is written to, and for any, where both are needed."""

    apart: Code
    together: Code | None


class Compiled(NamedTuple):
    """An export, compiled."""

    export: Export
    parameters: tuple[Value, ...]
    captured: tuple[tuple[Value, np.ndarray], ...]
    """Arrays outside of the function that it reads: further parameters of the code, which takes them in C order."""
    given: tuple[Given, ...]
    """What the code gives, in order."""
    results: tuple[Given | Constant, ...]
    """Those that the caller sees, in order."""
    description: Description
    """How results are made of what the code gives, as `bindings/results` has it."""
    versions: tuple[Version, ...]
    """By level."""


def compile_export(wanted: Wanted, levels: Sequence[int]) -> Compiled:
    """Compiles for each level. BuildError and UnsupportedError for what cannot be compiled ahead of time."""
    return _Lowering(wanted).compiled(levels)


class _Lowering:
    def __init__(self, wanted: Wanted) -> None:
        self.export = wanted.export
        self.function = wanted.export.function
        self.relaxed: tuple[str, ...] = ()
        self.in_order = False
        self.directives: tuple[Any, ...] = ()
        if isinstance(wanted.holder, Function):
            self.relaxed, self.in_order = wanted.holder._relaxed, wanted.holder._in_order
            self.directives = wanted.holder._directives
            self._refuse_options(wanted.holder)
        self.captures: list[tuple[Any, str]] = []
        self.names = self._parameter_names()

    def _error(self, what: str) -> BuildError:
        code = self.function.__code__
        return BuildError(f"{code.co_filename}:{code.co_firstlineno}: `{self.function.__name__}` {what}")

    def _refuse_options(self, holder: Function) -> None:
        if any(holder._static):
            raise self._error("has static arguments, whose values no signature has")
        if holder._device is not None:
            raise self._error("runs on a device: code ahead of time is for CPUs")

    def _parameter_names(self) -> list[str]:
        parameters, types = parameters_of(self.function), self.export.signature.parameters
        names = list(parameters.by_position)
        if len(names) != len(parameters.names):
            raise self._error("takes other arguments than positional ones, which no signature describes")
        if len(names) != len(types):
            raise self._error(f"takes {len(names)} arguments, and the signature {self.export.signature} has {len(types)}")
        for type_ in types:
            if isinstance(type_, Pointer) or np.dtype(type_.dtype) not in DTYPES:
                raise self._error(f"is exported for {self.export.signature}: {type_} is no type of its arguments")
        return names

    def compiled(self, levels: Sequence[int]) -> Compiled:
        apart = self._program(together=False)
        made = [self._object(apart, level) for level in levels]
        written = _written(made)
        own = len(self.names)
        arrays = [t.ndim is not None for t in self.export.signature.parameters]
        together = self._together() if any(written[:own]) and sum(arrays) > 1 else None
        results, given = self._results(apart, made[0]["results"])
        others: list[Any] = [None] * len(levels)
        if together is not None:
            others = [self._object(together, level) for level in levels]
            written = [a or b for a, b in zip(written, _written(others), strict=True)]
            if self._results(together, others[0]["results"]) != (results, given) or together.result != apart.result:
                raise _errors.InternalError(f"`{self.function.__name__}` gives other results where arguments share memory")
        captured = self._captured(written[own:])
        versions = [Version(_code(a), b and _code(b)) for a, b in zip(made, others)]
        return Compiled(self.export, self._values(written), captured, given, results, apart.result, tuple(versions))

    def _together(self) -> Any:
        """The program for arguments that may share memory. None: loops over `prange` need them disjoint."""
        try:
            return self._program(together=True)
        except UnsupportedError as error:
            if error._code != "race":
                raise
            return None

    def _program(self, together: bool) -> Any:
        directives = () if together else self.directives  # which may need what is written to be disjoint
        return _ingot.with_room(lowered, self.function, _Caller(self, together), self.relaxed, self.in_order, directives)

    def request(self, together: bool) -> Request:
        """The exported signature, with the arrays outside that are known to be read. `together`: all may share memory."""
        descriptions = [_description(t, 1 if together else 1 + i) for i, t in enumerate(self.export.signature.parameters)]
        sets = len(descriptions) + 1
        captures = tuple((*c, self._held(*c, sets + i)) for i, c in enumerate(self.captures))
        return Request(tuple(descriptions), captures, {}, True)

    def learn(self, fact: Fact) -> None:
        """Has requests describe an array outside. Refuses what no signature describes."""
        if fact.kind == "attributes":
            raise self._error(f"uses an instance of {fact.owner.__name__}: only numbers and arrays are compiled ahead of time")
        if fact.kind != "capture":
            name = self.names[fact.argument] if 0 <= fact.argument < len(self.names) else "an argument"
            raise refused_argument(
                self.function,
                name,
                f"`{name}` in `{self.function.__name__}`, whose value decides what is compiled, as an argument ahead of time,",
                "let its type decide, or export one function for each value",
            )
        (name,) = fact.names
        if any(owner is fact.owner and name == known for owner, known in self.captures):
            raise _errors.InternalError(f"what is outside, `{name}`, is asked for again")
        self.captures.append((fact.owner, name))

    def _held(self, owner: Any, name: str, alias_set: int) -> Description:
        value, shown = self._array(owner, name), name or "a captured variable"
        if type(value) is not np.ndarray or value.dtype not in DTYPES:
            what = f"`{shown}` outside of `{self.function.__name__}`, of type {type(value).__name__}, ahead of time,"
            raise _errors.unsupported((self._site(),), what, "use numbers, arrays, or tuples of them")
        return _description(Type(value.dtype.name, value.ndim, "C"), alias_set)

    @staticmethod
    def _array(owner: Any, name: str) -> Any:
        (value,) = _ingot.held(owner, name)
        return value

    def _captured(self, written: list[bool]) -> tuple[tuple[Value, np.ndarray], ...]:
        captured = []
        for number, ((owner, name), is_written) in enumerate(zip(self.captures, written)):
            if is_written:
                what = f"writing to `{name}`, an array outside of `{self.function.__name__}`, ahead of time,"
                raise _errors.unsupported((self._site(),), what, "make it an argument")
            array = self._array(owner, name)
            captured.append((Value(f"captured_{number}", array.dtype.name, array.ndim, "C"), array))
        return tuple(captured)

    def _site(self) -> _errors.Site:
        code = self.function.__code__
        return (code.co_filename, code.co_firstlineno, 0, 0, code.co_name)

    def _object(self, program: Any, level: int) -> dict[str, Any]:
        made = _ingot.with_room(program.compile_ahead, level, _ingot.get_num_threads())
        if made["outside"]:
            self._refuse_outside(program, made["outside"])
        return made

    def _refuse_outside(self, program: Any, calls: list[tuple[Any, ...]]) -> None:
        """The refusal of what only a process of Python's has, at the first of its locations."""

        def shown(what: str, number: int) -> str:
            if what.startswith("C "):
                return f"the C function `{what[2:]}`"
            if what != "host":
                return f"NumPy's routine `{what}`"
            function = program.hosts[number][0]
            owner = getattr(function, "__self__", None)
            named = owner if isinstance(owner, HostFunction) else function
            return f"`{getattr(named, '__name__', type(named).__name__)}` in Python"

        what, number, sites = calls[0]
        others = sorted({shown(w, n) for w, n, _ in calls[1:]} - {shown(what, number)})
        besides = f" (and {', '.join(others)})" if others else ""
        where = sites or (self._site(),)
        reason = f"calling {shown(what, number)}{besides} in `{self.function.__name__}`, compiled ahead of time,"
        raise _errors.unsupported(where, reason, "give the function what it would give, as an argument")

    def _values(self, written: list[bool]) -> tuple[Value, ...]:
        taken: set[str] = set()
        values = []
        for name, type_, is_written in zip(self.names, self.export.signature.parameters, written):
            rank = -1 if type_.ndim is None else type_.ndim
            values.append(Value(c_name(name, taken), type_.dtype, rank, type_.layout, is_written and rank >= 0))
        return tuple(values)

    def _results(self, program: Any, slots: list[tuple[str, int]]) -> tuple[tuple[Given | Constant, ...], tuple[Given, ...]]:
        flat = _Flat(self, iter(slots), {v.name.lower() for v in self._values([False] * len(self.names))})
        flat.add(program.result, "result")
        self._check_result(flat.results)
        return tuple(flat.results), tuple(flat.given)

    def _check_result(self, results: list[Given | Constant]) -> None:
        declared = self.export.signature.result
        if declared is None:
            return
        shown = [str(Type(r.value.dtype, None if r.value.rank < 0 else r.value.rank)) for r in results]
        wanted = [] if declared.dtype == "void" else [str(Type(declared.dtype, declared.ndim))]
        if shown != wanted:
            says = "nothing" if not shown else shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
            raise self._error(f"returns {says}, and the signature has {declared}")


class _Caller(NamedTuple):
    """Calls of an export, whose arguments share memory or not."""

    lowering: _Lowering
    together: bool

    def request(self) -> Request:
        return self.lowering.request(self.together)

    def learn(self, *fact: Any) -> None:
        self.lowering.learn(Fact(*fact))


class _Flat:
    """What a function returns, as results in a row."""

    OTHERS: ClassVar = {
        Description.TEXT: "a string",
        Description.RECORDS: "records",
        Description.CHARACTERS: "a string",
        Description.MEMBER: "a member of an Enum",
        Description.MAYBE: "None or something else",
        Description.LIST_BUFFER: "a list whose length is not known when compiling",
        Description.MAPPING: "a dict whose keys are not known when compiling",
        Description.INSTANCE: "an instance of a class",
        Description.POOLED: "an instance of a class",
        Description.POOLS: "instances or lists whose number is not known when compiling",
        Description.HOLDING: "arrays whose number is not known when compiling",
        Description.SAME: "one object twice",
    }

    def __init__(self, lowering: _Lowering, slots: Any, taken: set[str]) -> None:
        self.lowering = lowering
        self.slots = slots
        self.taken = taken
        self.results: list[Given | Constant] = []
        self.given: list[Given] = []

    def add(self, description: Description, name: str) -> None:
        parts = description.parts
        match description.kind:
            case Description.SCALAR:
                self._take(name)
            case Description.ARRAY:
                self._take(name)
                if description.argument is None:
                    self.given.append(Given(Value("hidden", *next(self.slots)), is_hidden=True))
            case Description.STATIC:
                self._add_constant(description.object, name)
            case Description.TUPLE if description.type is not None:
                self._add_all(parts, name, description.type._fields)
            case Description.TUPLE | Description.LIST:
                self._add_all(parts, name, range(len(parts)))
            case Description.DICT if all(isinstance(key, str) for key in description.keys):
                self._add_all(parts, name, description.keys)
            case kind:
                self._refuse(self.OTHERS.get(kind, "this"))

    def _refuse(self, shown: str) -> None:
        what = f"returning {shown} from `{self.lowering.function.__name__}`, compiled ahead of time,"
        raise _errors.unsupported((self.lowering._site(),), what, "return numbers, arrays, and tuples and dicts of them")

    def _take(self, name: str) -> None:
        given = Given(Value(c_name(name, self.taken), *next(self.slots)))
        self.given.append(given)
        self.results.append(given)

    def _add_all(self, parts: tuple[Description, ...], name: str, names: Any) -> None:
        for part, suffix in zip(parts, names):
            self.add(part, f"{name}_{suffix}")

    def _add_constant(self, value: Any, name: str) -> None:
        if value is None:
            return
        if not isinstance(value, (bool, int, float, complex, np.generic)) or np.asarray(value).dtype not in DTYPES:
            self._refuse(type(value).__name__)
        self.results.append(Constant(Value(c_name(name, self.taken), np.asarray(value).dtype.name, -1), value))


def _written(made: Sequence[dict[str, Any]]) -> list[bool]:
    """Which parameters the code of some level writes to."""
    return [any(of_level) for of_level in zip(*(m["written"] for m in made))]


def _code(made: dict[str, Any]) -> Code:
    return Code(made["object"], made["symbol"], made["info"], made["features"])


def _description(type_: Type, alias_set: int) -> Description:
    """As a call describes an argument: see `bindings/signature`. Nothing is known of lengths."""
    if type_.ndim is None:
        return Description(Description.SCALAR, number=f"numpy.{type_.dtype}")
    return Description(Description.ARRAY, dtype=type_.dtype, ndim=type_.ndim, is_writable=type_.ndim > 0, alias_set=alias_set, layout=type_.layout)
