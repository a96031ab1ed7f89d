"""The object that `@ingot.jit` makes of a function: it binds arguments, finds or compiles their specialisation, and calls it.

Calls whose arguments are of a description that it remembers are made by the base, which is C++'s (`bindings/callable`). All
others come to `Function._call`. One thread compiles at a time.
"""

from __future__ import annotations

import ast
import atexit
import functools
import operator
import os
import re
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload

import numpy as np

from .. import _code, _errors, _ingot
from .._devices import Device, Loading, handle_of, limited_by_others, target_of
from .._errors import UnsupportedError
from .._signatures import DTYPES, Signature
from .._signatures.parameters import bind, parameters_of
from .._signatures.static import Constants, Static
from .tiers import Tier, asked_for, worker

Make = Callable[["Specialisation", Any], None]
"""Makes code of a specialisation, for a call with these arguments."""

_compiling = threading.RLock()
_is_held = False


def _alone(function: Callable[[], Any]) -> Any:
    """What a function gives that no two threads may run at once."""
    with _compiling:
        return function()


def _hold() -> None:
    """Before a fork: waits for what is being compiled, since locks that it has would stay locked in the child.

    Not for ever: it may wait for what the thread that forks has.
    """
    global _is_held
    worker.hold()
    _ingot.hold_calls_with_room(5.0)
    _is_held = True


def _go_on() -> None:
    global _is_held
    if _is_held:  # not where this module was loaded within the fork
        _is_held = False
        _ingot.let_calls_with_room_go_on()
        worker.go_on()


def _renew() -> None:
    """In the child, where there are no other threads."""
    global _compiling, _is_held
    _compiling, _is_held = threading.RLock(), False
    _ingot.let_calls_with_room_go_on()
    worker.renew()


os.register_at_fork(before=_hold, after_in_parent=_go_on, after_in_child=_renew)
atexit.register(_ingot.finish_calls_with_room)
atexit.register(worker.close)  # runs before the other, which lets the worker do no more

Q = ParamSpec("Q")
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
Owner = TypeVar("Owner")

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .._cache import Cache, Stored
    from .._reports.explanation import Explanation
    from .specialisation import Fact, Request, Specialisation

    class Base(Generic[P, R_co]):
        """The base as type checkers see it: called with what the function takes, and bound as a function is."""

        __name__: str
        __qualname__: str
        _describe: Any
        _describe_plainly: Any
        _settle_on: Any
        _fix: Any
        _remember: Any
        _demand: Any
        _wait_as: Any
        _reduce_what_waits: Any
        _only_reads: Any
        _take_alike: Any
        _profile_as: Any
        _profile_label: Any
        _measure: Any
        _buffer_lists: Any
        _open_texts: Any
        _capture: Any
        _describe_attributes: Any
        _attributes: Any
        _captures: Any
        _demanded: Any

        _bind_by: Any

        def __init__(self, function: Any, layouts: bool) -> None: ...
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        @overload
        def __get__(self, instance: None, owner: Any = None) -> Function[P, R_co]: ...
        @overload
        def __get__(self: Base[Concatenate[Owner, Q], R_co], instance: Owner, owner: Any = None) -> Callable[Q, R_co]: ...
        def __get__(self, instance: Any, owner: Any = None) -> Any: ...

else:
    Base = {(P, R_co): _ingot.Callable}  # `Base[P, R_co]` is the class of C++'s, which knows nothing of types


def _of_function(name: str) -> Any:
    """An attribute that is the function's own: read, set and deleted there."""
    return property(
        lambda self: getattr(self.__ingot_function__, name),
        lambda self, value: setattr(self.__ingot_function__, name, value),
        lambda self: delattr(self.__ingot_function__, name),
    )


class Function(Base[P, R_co]):
    """A compiled function: what `ingot.jit`, `ingot.grad` and `ingot.vmap` return.

    It is called as the Python function is, and has its name, documentation and signature.

    Parameters
    ----------
    function : function
        The Python function, which is `__wrapped__`.
    signatures, mode, relaxed, static, device
        What `ingot.jit` makes of its options.

    See Also
    --------
    ingot.jit : The decorator that makes it.

    Examples
    --------
    >>> @ingot.jit
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    >>> double.compile(1.5)
    >>> len(double.specialisations)
    2
    """

    __class_getitem__: Any = classmethod(types.GenericAlias)

    _WHY: ClassVar = {
        "value": "the value of an argument must be known",
        "lengths": "the length of a short axis of an argument must be known",
        "characters": "a string is iterated over",
        "elements": "the length of a list of the caller's changes",
    }
    _most_values: int | None = 16  # of one argument whose value decides what is compiled
    _most_kept = 64  # specialisations of one description, which differ in what is outside
    _is_stored = True  # whether code is stored on disk, and taken from there
    _wants_code = True  # else what is known of calls is all that is asked for
    _is_for_device = False  # whether calls are lowered for a device wherever their arrays are, to be shown
    _tier = "auto"  # which code calls run
    _in_order = False  # whether `prange` is `range` in it, and in what it calls
    _directives: tuple[Any, ...] = ()  # of its schedule
    _shown = ""  # what its repr shows of it, where it is no function of the user's
    _made_by: tuple[str, Any, tuple[Any, ...]] | None = None  # the transform that made it, of what, and its other arguments

    def __init__(
        self,
        function: Any,
        signatures: list[Signature] | None = None,
        mode: str = "compiled",
        relaxed: tuple[str, ...] = (),
        static: Static = Static(),  # noqa: B008
        device: str | Device | None = None,
    ) -> None:
        _look_like(self, function)
        self.__ingot_function__ = function
        _code.remember(function)
        self._signatures = signatures
        self._table: dict[tuple[_ingot.Description, ...], list[Specialisation]] = {}
        self._changes: dict[tuple[int, str], int] = {}
        self._mode = mode
        self._relaxed = relaxed
        super().__init__(function, any(t.layout != "A" for s in signatures or () for t in s.parameters))
        self._take_parameters()
        self._static = static
        self._constants = Constants(static, self._parameters) if any(static) else None
        self._fixed = self._constants.parameters if self._constants is not None else ()
        self._fix(*static)
        self._device = device
        self._loading = Loading()
        self._is_settled = device is None
        self._refused: dict[str, str] = {}  # the arguments of calls that were refused, and why

    __code__: Any = _of_function("__code__")
    __defaults__: Any = _of_function("__defaults__")
    __kwdefaults__: Any = _of_function("__kwdefaults__")
    __globals__: Any = _of_function("__globals__")
    __closure__: Any = _of_function("__closure__")
    __builtins__: Any = _of_function("__builtins__")

    def __setattr__(self, name: str, value: Any) -> None:
        # `%autoreload` gives an object that has code the attributes of a function, plain or compiled.
        if name != "__dict__":
            super().__setattr__(name, value)
        elif "__ingot_function__" not in value:
            self.__dict__.update(value)

    def _take_parameters(self) -> None:
        """Has calls bound by the parameters of the code that the function has now, of whose arguments nothing is known yet."""
        self._code = self.__ingot_function__.__code__
        self._parameters = parameters_of(self.__ingot_function__)
        self._names = self._parameters.names
        self._seen: dict[int, set[_ingot.Description]] = {}
        self._opened: set[int] = set()  # the arguments whose strings are described by their characters
        self._opens_texts = True
        self._measured: set[int] = set()  # the arguments whose short axes are described by their lengths
        self._buffered: set[int] = set()  # the arguments whose lists are described as list buffers
        self._bind_by(self._code, *self._parameters)

    @property
    def specialisations(self) -> list[Specialisation]:
        """What has been compiled so far, the last first.

        Each has `why` (the reason why it was compiled: other types of arguments, a changed global, ...), `key` (the
        descriptions of its arguments), `not_stored` (why its code is not on disk; empty where it is), and `phases`: of its
        frontend, its quick code and its full code, so far as they were made here, the milliseconds of the processor's that each phase took
        (`codegen` is the sum of its parts, which have its name and their own). What a stored program's full code needs of the
        frontend is in no phase.
        """
        return [s for entries in self._table.values() for s in entries]

    def __repr__(self) -> str:
        return f"<{self._shown or f'ingot.jit function {self.__module__}.{self.__qualname__}'}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What IPython and notebooks show of it."""
        from .._reports import display

        return {"text/plain": display.as_text(self), "text/html": display.as_html(self)}

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name.startswith("__") or not name.startswith("_")]

    def __copy__(self) -> Function[P, R_co]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Function[P, R_co]:
        return self

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        """By its name, as a plain function; by cloudpickle, or where it has none, as the function that it compiles."""
        from .portable import Portable, is_pickled_by_name

        if is_pickled_by_name(self, sys._getframe(1)):
            return self.__qualname__
        options = (self._signatures, self._mode, self._relaxed, self._static, self._device, self._is_stored, self._tier, self._in_order, self._directives)
        if self._made_by is not None:
            door, of, given = self._made_by
            return _transformed_again, (door, Portable(of), given, None if options == _USUAL else options)
        return _restored, (Portable(self.__ingot_function__), *options)

    def _call(self, args: tuple[Any, ...], kwargs: dict[Any, Any], bound: tuple[list[Any], Any] | None = None) -> Any:
        """A call that the base cannot make. `bound`: what it has found out, the values of the parameters and their
        description, if it has one."""
        return self._run(*self._prepare(args, kwargs, bound, lambda made, arguments: made.code_for(arguments.leaves)))

    def _prepare(
        self, args: tuple[Any, ...], kwargs: dict[Any, Any], bound: tuple[list[Any], Any] | None = None, make: Make | None = None
    ) -> tuple[Specialisation, Any]:
        """The specialisation that arguments take, made if need be, and the flattened arguments. `make`: as of `_specialise`."""
        values, arguments = bound or (self._bind(args, kwargs), None)
        if self._device is not None and not self._is_settled:
            self._settle_on(handle_of(self._device))
            self._is_settled, arguments = True, None
        given = values
        if self._signatures is not None:
            values = self._fit(given)
        if self._constants is not None:
            values = self._constants.settle(values)
        is_as_given = all(map(operator.is_, values, given))
        try:
            described = arguments if arguments is not None and is_as_given else self._describe(values)
            specialisation, arguments = self._specialise(described, values, make)
        except UnsupportedError as error:
            self._note_refusal(values, str(error))
            raise
        if self._mode == "compiled" and is_as_given:
            self._remember(arguments, self._table[specialisation.key])
        return specialisation, arguments

    def _note_refusal(self, values: list[Any], message: str) -> None:
        """Keeps why a call was refused, for who looks at the function."""
        given = ", ".join(f"{name}: {type_text(value)}" for name, value in zip(self._names, values))
        self._refused.pop(given, None)
        self._refused[given] = message
        for earliest in list(self._refused)[: -self._most_kept]:
            self._refused.pop(earliest, None)  # another thread may have done so

    def _become(self, new: Function) -> None:
        """Does from now on what another function does, which has replaced it in a module that was loaded again. Guards
        see that the code is another one."""
        sys.modules["IPython.extensions.autoreload"].update_function(self.__ingot_function__, new.__ingot_function__)
        self._signatures, self._relaxed, self._in_order = new._signatures, new._relaxed, new._in_order
        self._directives = new._directives

    def _refusal(self, name: str, what: str, advice: str) -> UnsupportedError:
        """The refusal of an argument, shown at its parameter."""
        return refused_argument(self.__ingot_function__, name, what, advice)

    def _site(self) -> _errors.Site:
        """Where the function is defined."""
        code = self._own_function().__code__
        return (code.co_filename, code.co_firstlineno, 0, 0, code.co_name)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> list[Any]:
        if self.__ingot_function__.__code__ is not self._code:
            self._renew_parameters()
        bound = bind(self.__ingot_function__, args, kwargs)
        return [bound[name] for name in self._names]

    def _renew_parameters(self) -> None:
        """Has calls bound by the parameters of the code that the function has got since it was decorated."""
        if self._constants is not None and parameters_of(self.__ingot_function__) != self._parameters:
            what = f"a function with static arguments, `{self.__name__}`, whose code has got other parameters"
            raise _errors.unsupported((self._site(),), what, "decorate the function that has them")
        self._take_parameters()

    def _fit(self, values: list[Any]) -> list[Any]:
        for signature in self._signatures or ():
            converted = signature.match(values)
            if converted is not None:
                return converted
        listed = "\n".join(f"  {s}" for s in self._signatures or ())
        given = ", ".join(type_text(v) for v in values)
        raise TypeError(f"no signature of `{self.__name__}` takes ({given}); there are\n{listed}")

    def _specialise(self, arguments: Any, values: list[Any], make: Make | None = None) -> tuple[Specialisation, Any]:
        """The specialisation of a description, whose guards hold; made by the first thread that wants it.

        With `make`, which makes the code that is wanted, by the first process, too: the others load it.
        """
        found, _ = self._find(arguments.key)
        if found is not None:
            return found, arguments
        from .._profile import compiling

        limited_by_others()
        label = self._profile_label()
        if self._is_storable:
            with compiling(label, "cache"):
                stored, arguments = self._load(arguments, values)
            if stored is not None:
                return stored, arguments
            if make is not None:
                return self._specialise_once(arguments, values, make)
        with compiling(label, "frontend"):
            return _ingot.with_room(self._specialise_anew, arguments, values)

    def _specialise_once(self, arguments: Any, values: list[Any], make: Make) -> tuple[Specialisation, Any]:
        from .._profile import compiling

        label = self._profile_label()
        with _cache().first(self, arguments, values):  # type: ignore[union-attr]
            with compiling(label, "cache"):
                stored, arguments = self._load(arguments, values)
            if stored is not None:
                return stored, arguments
            with compiling(label, "frontend"):
                made = _ingot.with_room(self._specialise_anew, arguments, values)
            make(*made)
        return made

    @property
    def _is_storable(self) -> bool:
        if any(":" in name for each in self._directives for name in each.loops):
            return False  # another process may have the function in other lines
        return self._is_stored and self._mode == "compiled" and not self._loading.linked and _cache() is not None

    def _load(self, arguments: Any, values: list[Any]) -> tuple[Specialisation | None, Any]:
        """The specialisation that another process has stored for such arguments, if its guards hold here.

        And the arguments as the function describes them by now: it learns from what is stored, whether that holds or not.
        """
        with _compiling:
            try:
                found, _ = self._find(arguments.key)  # another thread may have loaded it
                if found is not None:
                    return found, arguments
                made, arguments = self._found(arguments, values)
            except Exception:  # guards may run code of the user's: what that raises, compiling finds out
                return None, self._describe(values)
        if made is not None and self._wants_code and made.loaded is None and not made.is_as_stored():
            return None, self._describe(values)
        if made is not None:
            self._add(made)
        return made, arguments

    def _found(self, arguments: Any, values: list[Any]) -> tuple[Specialisation | None, Any]:
        from .specialisation import Loaded, Specialisation, example_of, multiplies_by_library

        def fits(stored: Stored, key: tuple[Any, ...]) -> bool:
            return stored.by_library == multiplies_by_library(stored.multiplies, key)

        stored, arguments = _cache().find(self, arguments, values, fits)  # type: ignore[union-attr]
        if stored is None:
            return None, arguments
        lower = self._lowering(self._request(arguments.key))
        loaded = Loaded(stored.restored, functools.partial(_ingot.with_room, _alone, lower))
        specialisation = Specialisation(loaded, arguments.key, "the cache", self._loading)
        specialisation.take_captures(tuple(self._captures()))
        specialisation.wanted = self._wanted()
        specialisation.label, specialisation.names, specialisation.cause = self._profile_label(), self._names, "cache"
        specialisation.example = example_of(arguments.leaves)
        if stored.tier == Tier.QUICK:
            specialisation.keys = _cache().keys(self, arguments, values)  # type: ignore[union-attr]
        if stored.code is not None:
            specialisation.take(stored.code, Tier(stored.tier))
        return specialisation, arguments

    def _wanted(self) -> str:
        """Which code calls run. What `fastmath` allows depends on how hard the compiler works: such functions have one kind."""
        tier = asked_for(self._tier)
        return "full" if tier == "auto" and self._relaxed else tier

    def _request(self, key: tuple[Any, ...]) -> Request:
        """A call of a description as it is described for lowering, with what is known now."""
        from .specialisation import Request

        own = len(self._names)
        captures = tuple((*c, d) for c, d in zip(self._captures(), key[own:]))
        on_device = self._is_for_device or (bool(key) and key[-1].kind == _ingot.Description.DEVICE)
        return Request(key[:own], captures, self._attributes(), self._opens_texts, on_device)

    def _lowering(self, caller: Any) -> Callable[[], Any]:
        """What lowers the function for a call; `caller` describes it, and more where lowering asks for that."""
        from .specialisation import lowered

        return functools.partial(lowered, self.__ingot_function__, caller, self._relaxed, self._in_order, self._directives)

    def _specialise_anew(self, arguments: Any, values: list[Any]) -> tuple[Specialisation, Any]:
        with _compiling:
            if len(arguments.key) < len(self._names) + len(self._captures()):  # which another thread has found since
                arguments = self._describe(values)
            found, changed = self._find(arguments.key)
            if found is not None:
                return found, arguments
            why, cause = ("the first call", "first") if not self._table else ("arguments of other types", "types")
            if changed is not None:
                why, cause = _why(*changed), "changed"
                if self._keeps_changing(*changed):
                    arguments = self._describe(values)
            specialisation, arguments = self._make(arguments, values, why, cause)
            specialisation.changed_name = changed[1] if changed is not None else ""
            return specialisation, arguments

    def _find(self, key: tuple[Any, ...]) -> tuple[Specialisation | None, tuple[Any, ...] | None]:
        """A specialisation whose guards hold; else the guard of the last one looked at that does not, if any."""
        changed = None
        for candidate in tuple(self._table.get(key, ())):
            changed = candidate.changed()
            if changed is None:
                return candidate, None
        return None, changed

    def _add(self, specialisation: Specialisation) -> None:
        """Has it tried first, of those of its description. What was made first goes where there are too many."""
        entries = self._table.setdefault(specialisation.key, [])
        entries.insert(0, specialisation)
        del entries[self._most_kept :]
        if "coverage" in sys.modules:
            from .._code import coverage

            coverage.mark(self.__ingot_function__, specialisation.guards)

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

    def _make(self, arguments: Any, values: list[Any], why: str, cause: str) -> tuple[Specialisation, Any]:
        from .specialisation import Specialisation, example_of

        start, begun = time.perf_counter(), time.thread_time()
        key = arguments.key
        for i in self._demanded():
            seen = self._seen.setdefault(i, set())
            seen.add(key[i])
            if self._most_values is not None and len(seen) > self._most_values:
                name = self._name_of(i)
                raise self._refusal(
                    name,
                    f"more than {self._most_values} values of `{name}`, an argument of `{self.__name__}` whose value decides what is compiled,",
                    "make its type or shape decide, or call one function for each value",
                )
        call = _Caller(self, arguments, values, why, cause)
        try:
            program = self._lowering(call)()
        except UnsupportedError as error:
            self._opens_texts = True  # for arguments of other types
            if not error._is_placed and self._shown:
                raise _errors.unsupported((self._site(),), *error._told) from None
            raise
        arguments, why, cause = call.arguments, call.why, call.cause
        specialisation = Specialisation(program, arguments.key, why, self._loading)
        specialisation.take_captures(tuple(self._captures()))
        specialisation.wanted = self._wanted()
        specialisation.label, specialisation.names, specialisation.cause = self._profile_label(), self._names, cause
        specialisation.seconds["frontend"] = time.perf_counter() - start
        specialisation.phases["frontend"] = {"frontend": 1e3 * (time.thread_time() - begun)}
        specialisation.example = example_of(arguments.leaves)
        if self._is_storable:
            specialisation.keys = _cache().keys(self, arguments, values)  # type: ignore[union-attr]
            if not self._wants_code:
                specialisation.store(b"", Tier.QUICK)
        self._add(specialisation)
        return specialisation, arguments

    def _is_described(self, fact: Fact) -> bool:
        """Whether arguments are described with what lowering needs. So asking ends: nothing is described twice."""
        if fact.kind == "attributes":
            return set(fact.names) <= set(self._attributes().get(fact.owner, ()))
        if fact.kind == "capture":
            return any(owner is fact.owner and name == fact.names[0] for owner, name in self._captures())
        if fact.kind == "characters":
            return not self._opens_texts or fact.argument in self._opened
        if fact.kind == "elements":
            return fact.argument in self._buffered
        return fact.argument in (self._measured if fact.kind == "lengths" else self._demanded())

    def _describe_more(self, fact: Fact) -> None:
        """Has arguments described with what lowering needs of them."""
        if fact.kind == "attributes":
            self._describe_attributes(fact.owner, fact.names)
        elif fact.kind == "capture":
            self._capture(fact.owner, fact.names[0])
        elif fact.kind == "characters":
            self._opens_texts = fact.argument >= 0 and fact.argument not in self._fixed  # else strings are used where they have to be known
            self._opened = self._opened | {fact.argument} if self._opens_texts else set()
            self._open_texts(tuple(self._opened))
        elif fact.kind == "elements":
            self._buffered.add(fact.argument)
            self._buffer_lists(fact.argument)
        elif fact.kind == "lengths":
            self._measured.add(fact.argument)
            self._measure(fact.argument)
        else:
            self._demand(fact.argument)

    def _asked_again(self, fact: Fact) -> Exception:
        """What is raised where lowering asks for what it has been given."""
        if fact.kind in self._WHY:
            name = self._name_of(fact.argument) if fact.argument >= 0 else "a string"
            what = f"`{name}`, of which the {fact.kind} must be known here when compiling,"
            return _errors.unsupported(fact.sites, what, "use a constant, or a number that is an argument")
        asked = f"attributes of {fact.owner.__name__}" if fact.kind == "attributes" else f"`{fact.names[0]}`, which is outside,"
        return _errors.InternalError(f"`{self.__name__}`: {asked} are asked for again")

    def _name_of(self, argument: int) -> str:
        """Of an argument or of what is captured."""
        return [*self._names, *(n if n.isidentifier() else "a captured variable" for _, n in self._captures())][argument]

    def _run(self, specialisation: Specialisation, arguments: Any) -> Any:
        from .specialisation import Call

        if specialisation.device is not None and self._mode != "compiled":
            what = f"interpreting a call of `{self.__name__}` on {specialisation.device}"
            raise _errors.unsupported((self._site(),), what, "compile it")
        if specialisation.program.linked and self._mode != "compiled":
            what = f"interpreting `{self.__name__}`, which calls `{specialisation.program.linked[0].name}`, a function that is linked,"
            raise _errors.unsupported((self._site(),), what, "compile it")
        call = Call(specialisation, arguments)
        outcome = call.run(self._mode)
        if (error := call.error(outcome)) is not None:
            raise error
        return call.result(outcome)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the full code of a call with these arguments, without running it.

        Parameters
        ----------
        *args, **kwargs
            The arguments of the call, or others of the same types, shapes and layouts.

        Raises
        ------
        UnsupportedError
            The call cannot be compiled.

        See Also
        --------
        compile_async : The same, in a thread while the program runs.

        Examples
        --------
        >>> @ingot.jit
        ... def double(x):
        ...     return 2 * x
        >>> double.compile(np.ones(3))
        """
        self._prepare(args, kwargs, None, lambda made, _: made.complete())[0].complete()

    def compile_async(self, *args: Any, **kwargs: Any) -> Future[None]:
        """Compile the full code of a call with these arguments, in a thread while the program runs.

        Parameters
        ----------
        *args, **kwargs
            As of `compile`. Arrays may be written to meanwhile; containers may not.

        Returns
        -------
        concurrent.futures.Future
            Done when calls run full code; its `result()` is None, or raises what `compile` raises.

        Examples
        --------
        >>> @ingot.jit
        ... def double(x):
        ...     return 2 * x
        >>> double.compile_async(np.ones(3)).result()
        """
        from concurrent.futures import Future

        future: Future[None] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                self.compile(*args, **kwargs)
                future.set_result(None)
            except BaseException as error:  # is the future's
                future.set_exception(error)

        if not worker.submit(job):
            future.cancel()
        return future

    def record(self, *args: Any, path: str | os.PathLike[str], **kwargs: Any) -> Any:
        """Call the function, and write into a folder what is needed to make the call again without Python.

        Parameters
        ----------
        *args, **kwargs
            The arguments of the call.
        path : str or path
            The folder. It gets `call.txt` (arguments, what library routines and host calls were given and returned, results,
            the memory of the arguments afterwards, or the exception) and the IR after each pass: `1-frontend.ir` and on.

        Returns
        -------
        object
            What the call returns. An exception of the call leaves it.

        Raises
        ------
        UnsupportedError
            The call runs on a device, draws from a stream of NumPy's, calls C functions or changes the caller's containers.

        Notes
        -----
        ``ingot-opt --replay path`` makes the call from the IR of each stage, interpreted and compiled, and compares all bits.
        docs/replay.md has the format. A call that is interrupted (KeyboardInterrupt) leaves no replay file.

        Examples
        --------
        >>> import os, tempfile
        >>> @ingot.jit
        ... def double(x):
        ...     return 2 * x
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = double.record(np.arange(3), path=folder)
        ...     "call.txt" in os.listdir(folder)
        True
        >>> result
        array([0, 2, 4])
        """
        from .record import record

        specialisation, arguments = self._prepare(args, kwargs)
        if specialisation.device is not None:
            what = f"recording a call of `{self.__name__}` on {specialisation.device}"
            raise _errors.unsupported((self._site(),), what, "record it with arrays of NumPy's")
        if arguments.locks:
            what = f"recording `{self.__name__}`, which draws from a stream of NumPy's,"
            advice = "record a function that is given the numbers"
            raise _errors.unsupported((self._site(),), what, advice)
        if specialisation.functions:
            what = f"recording `{self.__name__}`, which calls C functions or SciPy's,"
            raise _errors.unsupported((self._site(),), what, "record a function that is given what they give")
        if specialisation.writes or specialisation.keeps:
            what = f"recording `{self.__name__}`, which changes the caller's containers,"
            advice = "record a function that gives the new values back"
            raise _errors.unsupported((self._site(),), what, advice)
        if specialisation.buffers:
            what = f"recording `{self.__name__}`, which returns arrays of which the number is not known when compiling,"
            raise _errors.unsupported((self._site(),), what, "record a function that returns np.array of them")
        return record(self._mode, specialisation, arguments, path)

    def c_pointer(self, signature: str) -> Any:
        """Return a C function pointer to the function.

        Parameters
        ----------
        signature : str
            The C function's parameters and result: ``"float64(float64, int64)"``. Arrays are pointers to elements in C order:
            ``"float64(float64[:, :])"`` is ``double f(double *x, int64_t n, int64_t m)``, where the lengths follow. With names the
            order is C's own: ``"float64(int32 n, float64[n] x, void* data)"`` is ``double f(int n, double *x, void *data)``; lengths
            are names of integer parameters, or constants.

        Returns
        -------
        ctypes function pointer
            C code may call it from any thread as long as this object is alive.

        Raises
        ------
        TypeError
            The signature has types that C does not have here.

        Notes
        -----
        A call takes the GIL and costs about as much as one from Python. An exception is printed on stderr, and the call
        returns 0. `scipy.LowLevelCallable` takes the pointer.

        Examples
        --------
        >>> @ingot.jit
        ... def square(x):
        ...     return x * x
        >>> square.c_pointer("float64(float64)")(3.0)
        9.0
        """
        from .._host import c_pointer

        return c_pointer(self, signature)

    def explain(self, *args: Any, svg: str | os.PathLike[str] | None = None, device: str | Device | None = None, **kwargs: Any) -> Explanation:
        """Show how the function is compiled for these arguments, without running it.

        Parameters
        ----------
        *args, **kwargs
            The arguments of a call.
        svg : str or path, optional
            A file for a drawing of what was fused: the loop nests, their ops, the bytes that they move and the least that
            must be moved.
        device : str or Device, optional
            What it is compiled for: a device, or an architecture such as ``"sm_90"``, of which no GPU has to be there.

        Returns
        -------
        Explanation
            A string: for each loop whether it is vectorised, shared among threads and fused with others, or why not; then
            source, array IR, loop IR, LLVM IR and assembly (for devices kernels and launches), and the milliseconds of each step.
            Its attribute `launches` has the launches of a call on a device as data, with `as_dict()`.

        Raises
        ------
        UnsupportedError
            The call cannot be compiled.
        ValueError, RuntimeError
            `device` is neither a device nor an architecture; there is no such device.

        Examples
        --------
        >>> @ingot.jit
        ... def total(x):
        ...     s = 0
        ...     for i in range(len(x)):
        ...         s += x[i]
        ...     return s
        >>> print(total.explain(np.arange(1000)).split("=== source")[0])
        === loops ===
        ...vectorised...
        """
        from .._reports.explanation import explanation

        code, there = target_of(device)
        function = self._for_device(there) if there is not None or code else self
        specialisation, arguments = function._prepare(args, kwargs)
        return explanation(self._own_function(), specialisation, arguments.leaves, code, svg)

    def _for_device(self, device: Device | None) -> Function:
        """The function as it is lowered for a device; None: for one that need not be there. It is not called."""
        made = type(self)(self.__ingot_function__, self._signatures, self._mode, self._relaxed, self._static, device)
        made._in_order, made._loading, made._is_stored, made._is_for_device = self._in_order, self._loading, False, True
        made._directives = self._directives
        return made

    def _own_function(self) -> Any:
        """The function of the user's: that of which a transform has made this one, if it has."""
        of: Any = self
        while True:
            if isinstance(of, Function):
                of = of.__wrapped__ if of._shown else of.__ingot_function__  # type: ignore[attr-defined]
            elif isinstance(of, functools.partial):
                of = of.func
            elif isinstance(of, types.MethodType):
                of = of.__func__
            else:
                break
        return of if isinstance(of, types.FunctionType) else self.__ingot_function__


_RELOADED = (lambda old, new: isinstance(old, Function) and isinstance(new, Function), Function._become)


def updated_by_autoreload() -> None:
    """Has IPython's `%autoreload`, where it is in use, update compiled functions that others have imported, as it does
    plain ones."""
    rules = getattr(sys.modules.get("IPython.extensions.autoreload"), "UPDATE_RULES", None)
    if rules is not None and _RELOADED not in rules:
        rules.append(_RELOADED)


def _cache() -> Cache | None:
    """The process's cache on disk, if there is one."""
    from .._cache import cache

    return cache()


def _look_like(made: Function, function: types.FunctionType) -> None:
    """Gives what is made of a function the function's attributes, but for those that have a name of the class's."""
    functools.update_wrapper(made, function)
    for name in function.__dict__:
        if not name.startswith("__") and hasattr(type(made), name):
            del made.__dict__[name]


F = TypeVar("F", bound=Callable[..., Any])


def transformed(made: F, of: Callable[..., Any], door: str = "", given: tuple[Any, ...] = ()) -> F:
    """What a transform, such as `grad`, makes of a callable, with its name, module, documentation and parameters. `given` are
    the transform's other arguments.
    """
    named: Any = of
    while isinstance(named, functools.partial):
        named = named.func
    named = named if hasattr(named, "__name__") else type(named)
    functools.update_wrapper(made, named, ("__module__", "__name__", "__qualname__", "__doc__"), ())
    made.__wrapped__ = of  # type: ignore[attr-defined]
    if isinstance(made, Function) and door:
        own = repr(of)[1:-1] if isinstance(of, Function) else repr(of)
        if isinstance(of, types.FunctionType):
            own = f"{of.__module__}.{of.__qualname__}"
        made._shown = f"ingot.{door} of {own}"
        made._made_by = door, of, given
    return made


class _Caller:
    """A call that a function is lowered for, described with all that lowering asks for."""

    def __init__(self, function: Function, arguments: Any, values: list[Any], why: str, cause: str) -> None:
        self._function = function
        self._values = values
        self.arguments, self.why, self.cause = arguments, why, cause
        self._errors = np.geterr()

    def request(self) -> Request:
        return self._function._request(self.arguments.key)

    def learn(self, *given: Any) -> None:
        from .specialisation import Fact

        fact, function, key = Fact(*given), self._function, self.arguments.key
        is_known = function._is_described(fact)
        if not is_known:
            function._describe_more(fact)
        with np.errstate(**self._errors):  # describing may run code of the user's
            self.arguments = function._describe(self._values)
        if is_known and self.arguments.key == key:  # else it became known after these were described
            raise function._asked_again(fact)
        if fact.kind in function._WHY:
            self.why, self.cause = function._WHY[fact.kind], fact.kind


def refused_argument(function: Any, name: str, what: str, advice: str) -> UnsupportedError:
    """The refusal of an argument of a Python function, shown at its parameter."""
    from .._code import source as _source

    node, file, _ = _source.find(function)
    root = re.match(r"\w*", name).group()  # type: ignore[union-attr]
    place: Any = next((a for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.arg == root), node)
    end = place.end_col_offset if place.end_lineno == place.lineno else place.col_offset + 1
    site = (file, place.lineno, place.col_offset, end, function.__name__)
    return _errors.unsupported((site,), what, advice)


_USUAL = (None, "compiled", (), Static(), None, True, "auto", False, ())


def _transformed_again(door: str, of: Any, given: tuple[Any, ...], options: tuple[Any, ...] | None) -> Function:
    """What a transform made that has been pickled; with options, what `jit` made of it."""
    import ingot

    made: Function = getattr(ingot, door)(of, *given)
    if options is None:
        return made
    again = _restored(made.__ingot_function__, *options)
    return jitted_again(again, made)


def jitted_again(made: Function, of: Function) -> Function:
    """What `jit` makes of a transform's function."""
    transformed(made, of.__wrapped__)  # type: ignore[attr-defined]
    made._shown, made._made_by = of._shown, of._made_by
    return made


def _restored(
    function: Any,
    signatures: Any,
    mode: str,
    relaxed: tuple[str, ...],
    static: Static,
    device: Any = None,
    is_stored: bool = True,
    tier: str = "auto",
    in_order: bool = False,
    directives: tuple[Any, ...] = (),
) -> Function:
    """A function that has been pickled."""
    made: Function = Function(function, signatures, mode, relaxed, static, device)
    made._is_stored, made._tier, made._in_order, made._directives = is_stored, tier, in_order, directives
    return made


def shown_to_profilers(function: Function) -> Callable[..., Any]:
    """A function of Python's that calls a compiled one, and has the name, file and line of what that compiles."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        return _ingot.call_behind_profile(function, arguments, keywords)

    own = function.__ingot_function__.__code__
    call.__code__ = call.__code__.replace(co_name=own.co_name, co_qualname=own.co_qualname, co_filename=own.co_filename, co_firstlineno=own.co_firstlineno)
    return call


def _why(owner: Any, name: str, expected: Any, present: bool, in_class: bool) -> str:
    shown = f"`{name}`" if name else "a captured variable"
    if in_class or bool(_ingot.held(owner, name)) == present:
        return f"{shown} has changed"
    return f"{shown} was {'deleted' if present else 'defined'}"


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float, complex) or isinstance(value, np.generic) and value.dtype in DTYPES


def type_text(value: Any) -> str:
    """What an argument is, for messages: `float64[:, :]`, `int`."""
    if isinstance(value, _ingot.DeviceArray):
        shown: Any = value
        return f"{value.dtype}[{', '.join(':' * value.ndim)}] on {shown.device}"
    if isinstance(value, np.ndarray):
        return f"{_errors.dtype_text(value.dtype)}[{', '.join(':' * value.ndim)}]"
    if isinstance(value, np.void) and value.dtype.names is not None:
        return f"a record of {_errors.dtype_text(value.dtype)}"
    return type(value).__name__
