"""A function compiled for arguments of one description, and how it is called where Python makes the call.

The calls that need nothing of Python's, or nothing but what C++ knows how to do (`take_captures`), are made by the base, which
is C++'s (`bindings/specialisation`). All others, and those of the interpreter, are a `Call`, whose objects C++ makes as it does
its own (`bindings/results`).
"""

from __future__ import annotations

import contextlib
import functools
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import _devices, _errors, _ingot
from .._cache import Keys, Restored, Stored, cache
from .._cache.entries import are_same_guards
from .._devices import Loading
from .._host import callbacks, exceptions
from .._host.callbacks import Held, call_host, kept_after, quick_calls, watches
from .._ingot import Description
from .._profile import OF_NO_FUNCTION, compiling
from .._routines import library
from .._routines.streams import holding
from . import tiers
from .tiers import Tier


_LOOKS_AGAIN = 0.1
"""Seconds that calls have to run until it is looked whether another process has made the full code."""


@functools.cache
def core() -> tuple[Any, Any]:
    """The core and its table of builtins, loaded at the first compile."""
    from .. import _core

    return _core, _core.Registry()


class Fact(NamedTuple):
    """What lowering lacks of a call, whose arguments are then described with it."""

    kind: str
    """Of an argument its "value", the "lengths" of its arrays or the "characters" of its strings (of none: strings that are known), or the "elements" of its lists as columns; a "capture"
    as a hidden argument; "attributes" of the instances of a class."""
    argument: int
    owner: Any
    """What holds the capture, or the class."""
    names: tuple[str, ...]
    sites: tuple[_errors.Site, ...]


class Request(NamedTuple):
    """A call as it is described for lowering, which asks for nothing more: see `frontend::Request`."""

    arguments: tuple[Any, ...]
    captures: tuple[Any, ...]
    attributes: dict[type[Any], tuple[str, ...]]
    opens_texts: bool
    on_device: bool = False

    def request(self) -> Request:
        return self

    def learn(self, *fact: Any) -> None:
        raise _errors.InternalError(f"lowering a function again asks for more: {Fact(*fact)}")


def lowered(function: Any, caller: Any, relaxed: tuple[str, ...], in_order: bool = False, directives: tuple[Any, ...] = ()) -> Any:
    """The program that a Python function is for a call: `caller` describes it, and learns what the next description lacks."""
    compiler, registry = core()
    with np.errstate(all="ignore"):  # what is known is computed by NumPy
        names: list[str] = []
        if directives:
            from .schedules import names_of_loops

            names = names_of_loops(function)
        return compiler.lower(registry, function, caller, relaxed, in_order, list(directives), names)


class Loaded:
    """What `_core` gives of a function that another process has lowered. For all else that is asked of it, it is lowered."""

    def __init__(self, restored: Restored, lower: Callable[[], Any]) -> None:
        self.result, self.hosts, self.writes, self.layouts, self.errors, self.multiplies, self.functions, _, self.raises = restored.stored
        self.guards = restored.guards
        self.linked = ()
        self._lower = lower

    def __getattr__(self, name: str) -> Any:
        if name == "_program":
            self._program = self._lower()
            return self._program
        return getattr(self._program, name)

    def is_as_lowered(self) -> bool:
        """Whether it becomes the same now: code of what it is now replaces the code that was loaded."""
        it = self._program
        mine = (self.result, self.hosts, self.writes, self.layouts, self.errors, self.functions)
        return (it.result, it.hosts, it.writes, it.layouts, it.errors, it.functions) == mine and are_same_guards(self.guards, it.guards)


def device_of(key: tuple[Description, ...]) -> _devices.Device | None:
    """On which a call of such arguments runs; None: the host."""
    last = key[-1] if key else None
    return _devices.of(f"{last.device_kind}:{last.index}") if last is not None and last.kind == Description.DEVICE else None


def multiplies_by_library(multiplies: bool, key: tuple[Description, ...]) -> bool:
    """Whether a program that multiplies matrices has the device's library do it, which is opened to know."""
    device = device_of(key)
    if not multiplies or device is None or not key[-1].uses_libraries:
        return False
    return not _ingot.why_no_library(device._handle, "blas")


class Specialisation(_ingot.Specialisation):
    """A function compiled for arguments of one description."""

    keys: Keys | None = None
    """Where its code is stored; None: nowhere."""
    not_stored = "it was loaded, or need not be stored"
    """Why its code is not on disk; empty: it is."""
    in_any_state: Any = None
    """The code for calls in another floating-point state of the thread than the default one; None: there is none, or none yet."""
    tier: Tier | None = None
    """Of the code that calls run; None: there is none yet."""
    wanted = "full"
    """Which code calls are to have: that of a tier, or `auto`."""
    label = OF_NO_FUNCTION
    """Of the calls of its function, in profiles."""
    captures: tuple[Any, ...] = ()
    """What of outside it is given, as pairs of owner and name."""
    names: tuple[str, ...] = ()
    """Of its function's parameters."""
    example: tuple | None = None
    """Of the arguments of its first call, for drawings: numbers, and arrays of these shapes; None: it is not known."""
    drawing: str | None = None
    """Of what was fused, once it has been asked for."""
    around: Any = None
    """Makes the context in which its calls are made; None: any."""
    cause = ""
    """Why it was made, as a word: `first`, `types`, `value`, `lengths`, `characters`, `elements`, `changed`, `cache`."""
    changed_name = ""
    """The name of what has changed outside, where that is why."""
    waits_until = 0.0
    """When it stops leaving its full code to another process, on the clock `time.monotonic`; 0: it has not begun to."""
    refused = ""
    """Why no code can be made of it; empty: it can, as far as is known."""

    def __init__(self, program: Any, key: tuple[Description, ...], why: str, loading: Loading = Loading()) -> None:  # noqa: B008
        self.program = program
        self._loading = loading
        self.result = _ingot.private_of(program.result)
        self.buffers = self.result.buffers if self.result.kind == Description.HOLDING else ()  # the results that are their numbers
        self.hosts = _ingot.private_of(program.hosts)
        self.guards = _ingot.private_of(program.guards)
        self.functions = program.functions
        self.writes = program.writes
        self.layouts = program.layouts
        # The sites whose callee keeps what it gets, but for so many arrays at first.
        self.keeps = {i: n for i, host in enumerate(self.hosts) if (n := kept_after(host[0])) is not None}
        self.watched = frozenset(i for i, host in enumerate(self.hosts) if watches(host[0]))
        self.key = key
        self.device = device_of(key)
        self.why = why
        self.made_at = time.time()
        self.seconds: dict[str, float] = {}  # that each step of making it took
        self.phases: dict[str, dict[str, float]] = {}  # of each step: milliseconds of the processor's in each phase
        super().__init__(self.guards, self.result, program.errors, not self.hosts and not self.writes)

    def __repr__(self) -> str:
        from .._signatures.described import arguments_of

        return f"<specialisation ({arguments_of(self.names, self.key)}): {self.why}>"

    def take_captures(self, captures: tuple[Any, ...]) -> None:
        """Sets what it is given from outside. What calls Python in ways that C++ knows is called by C++ from then on."""
        self.captures = captures
        self.around = next((around for host in self.hosts if (around := getattr(getattr(host[0], "__self__", None), "around", None)) is not None), None)
        if self.device is not None or self.around is not None or not (self.hosts or self.writes):
            return
        quick = quick_calls(self.hosts, not captures and not self.layouts, direct=True)
        is_slow = len(quick) < len(self.hosts)
        if is_slow and not _has_no_arrays(self.result):
            return
        calls = _ingot.HostCalls(quick) if quick else None
        self._call_directly(calls, self.layouts if self.writes else None, self.keeps if is_slow else None)

    def _host_of(self, leaves: list[Any], containers: list[Any]) -> Callable[..., Any]:
        """What makes the calls of one call of the code that C++ does not; it returns what they raise."""
        call = Call(self, _Given(leaves, containers), writes=False)

        def host(site: int, values: list[Any]) -> BaseException | None:
            try:
                call.host(site, values)
            except BaseException as error:
                inner = error.__traceback__
                while inner is not None and inner.tb_frame.f_code.co_filename in _OWN:
                    inner = inner.tb_next
                return error.with_traceback(inner)
            return None

        return host

    @functools.cached_property
    def quick(self) -> Any:
        """The calls of host functions that C++ makes alone; None: there are none."""
        quick = {} if self.writes else quick_calls(self.hosts, not self.captures and not self.layouts)
        return _ingot.HostCalls(quick) if quick else None

    @property
    def code(self) -> Any:
        """The machine code, made when it is first asked for."""
        if self.loaded is None:
            if self.device is not None:
                _devices.find_toolkit()
            self._make(Tier.FULL if self.wanted == "full" or self.device is not None else Tier.QUICK)
        return self.loaded

    def code_for(self, leaves: list[Any]) -> Any:
        """The same, for a call with these arguments."""
        if self.loaded is None and self.wanted == "auto" and tiers.is_long(leaves) and tiers.is_long(self._counting(leaves)):
            self._make(Tier.FULL)
        return self.code

    def _counting(self, leaves: list[Any]) -> list[Any]:
        """The arguments without numbers that do not decide how much there is to do."""
        counts = self.program.counts
        return [leaf for leaf, may_count in zip(leaves, counts) if may_count or type(leaf) is not int]

    def complete(self) -> None:
        """Has calls run full code from now on."""
        if self.tier is not Tier.FULL:
            self._make(Tier.FULL)

    def take(self, code: Any, tier: Tier) -> None:
        """Has calls run code that was stored. Quick code where full code is wanted is left."""
        if tier is Tier.QUICK and self.wanted == "full":
            return
        self._give_other(code)
        self.loaded, self.tier = code, tier
        if tier is Tier.QUICK and self.wanted == "auto":
            self._watch(0.0)

    def is_as_stored(self) -> bool:
        """Whether other code than what was stored may be made: of what the function reads outside, all is as it was."""
        try:
            return not isinstance(self.program, Loaded) or self.program.is_as_lowered()
        except _errors.InternalError:  # lowering asks for more than it did
            return False

    def _make(self, tier: Tier) -> None:
        if not self.is_as_stored():
            if self.loaded is None:
                raise RuntimeError("what a function reads outside has changed while it was compiled: call it again")
            return
        with compiling(self.label, tier.name.lower()):
            self._make_code(tier)

    def _make_code(self, tier: Tier) -> None:
        start, begun = time.thread_time(), time.perf_counter()
        try:
            made = self.compile(quick=tier is Tier.QUICK)
        except _errors.UnsupportedError as error:
            self.refused = str(error)
            raise
        code = made["object"]
        before = time.thread_time()
        loaded = _ingot.Code.load(code, self.load_options)
        self.seconds[tier.name.lower()] = time.perf_counter() - begun
        self.phases[tier.name.lower()] = made["times"] | {"load": 1e3 * (time.thread_time() - before)}
        self._give_other(loaded)
        if tier is Tier.FULL:
            self._improve(loaded)
        elif self.loaded is None:
            self.loaded = loaded
            if self.wanted == "auto":
                self._watch(time.thread_time() - start)
        else:
            return  # another thread was quicker
        self.tier = tier
        self.store(code, tier)

    def _give_other(self, loaded: Any) -> None:
        """Has code find the C functions that it calls, and what replaces it in another floating-point state than the default one."""
        self._give_functions(loaded)
        its = weakref.ref(self)
        loaded._other_from(lambda: its()._code_in_any_state())  # type: ignore[union-attr]  # it is being called

    def _give_functions(self, loaded: Any) -> None:
        if self.functions:
            from .._objects.c_functions import addresses

            loaded._set_functions(addresses(self.functions))

    def _code_in_any_state(self) -> Any:
        if self.in_any_state is None:
            if isinstance(self.program, Loaded) and not self.program.is_as_lowered():
                raise RuntimeError("the stored code is for another floating-point state, and what it was made of has changed")
            with compiling(self.label, "quick"):
                code = self.compile(quick=True, any_state=True)["object"]
                loaded = _ingot.Code.load(code, self.load_options)
                self._give_functions(loaded)
                self.in_any_state = loaded
        return self.in_any_state

    def _has_run(self) -> None:
        """Calls of quick code have taken as long as it took to make it: full code is made while the program runs."""
        its = weakref.ref(self)

        def job() -> None:
            it = its()
            if it is not None:
                it._complete_later()

        tiers.worker.submit(job)

    def _complete_later(self) -> None:
        """In the thread that makes full code. Where it cannot be made, or is not what the quick code is of, that stays."""
        if self.changed() is not None or self.tier is Tier.FULL:
            return
        folder = cache()
        if folder is None or self.keys is None:
            self.complete()
            return
        with folder.claims.full(self.keys.own.digest) as is_others:
            if self._take_full(folder.full_code(self.keys, self.guards, self._stored())):
                return
            self.waits_until = self.waits_until or time.monotonic() + folder.claims.most
            if is_others and time.monotonic() < self.waits_until:
                self._watch(_LOOKS_AGAIN)
            else:
                self.complete()

    def _take_full(self, found: Any) -> bool:
        """Has calls run the full code that another process has made."""
        if found is None:
            return False
        loaded = _ingot.Code.load(found[0], self.load_options, found[1])
        self._give_other(loaded)
        self._improve(loaded)
        self.tier = Tier.FULL
        return True

    def _stored(self) -> Stored:
        it = self.program
        return Stored(self.result, self.hosts, it.writes, it.layouts, it.errors, it.multiplies, self.functions, self.multiplies_by_library, tuple(it.raises))

    def store(self, code: bytes, tier: Tier) -> None:
        """Has other processes load it, with its code, or without."""
        folder = cache()
        if folder is None or self.keys is None or self.program.linked:
            return
        try:
            self.not_stored = folder.keep(self.keys, self.guards, self._stored(), int(tier), code)
        except Exception as error:  # no call may fail for it
            self.not_stored = f"{type(error).__name__}: {error}"

    @property
    def load_options(self) -> Any:
        """How a device loads its kernels; None: the default."""
        return self._loading.options(tuple(each for declared in self.program.linked for each in declared.link))

    def needs_of(self, kernels: str, kernel: str, threads: int, dynamic: int) -> tuple[int, int, int, int]:
        """What the device's driver reports of a kernel in the text `kernels`, launched with blocks of so many threads and so many
        bytes of memory of their own: registers, local and shared bytes, blocks that a processor holds."""
        options = self.load_options or _ingot.load_options([], 0)
        device: Any = self.device
        return _ingot.kernel_needs(device._handle, kernels, kernel, threads, dynamic, options)

    @property
    def multiplies_by_library(self) -> bool:
        """Whether products of matrices are a library's of the device. It is opened where there are any."""
        return multiplies_by_library(self.program.multiplies, self.key)

    def compile(self, texts: bool = False, target: str = "", quick: bool = False, any_state: bool = False) -> dict[str, Any]:
        """The object file and how it was made; with the IR and assembly if `texts`. `target`: for what else than for the
        device of its arrays, by its code. `quick`: in little time. `any_state`: for any floating-point state of the thread, or
        the default one.
        """
        own = () if self.device is None else (self.device.code, self.multiplies_by_library, self._loading.most_threads, self._loading.fewest_blocks)
        code = (target,) if target else own
        threads = 1 if quick else _ingot.get_num_threads()
        assembler = None if texts or target or self.device is None or self.load_options is not None else self.device._handle.assembler
        compile = functools.partial(self.program.compile, quick=quick, any_state=any_state, assembler=assembler)
        return _ingot.with_room(compile, texts, threads, *code)


def example_of(leaves: list) -> tuple | None:
    """Numbers as they are, and arrays of the same shapes, which have no memory. None: there is something else."""
    kept: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, np.ndarray):
            kept.append(np.broadcast_to(np.empty((), leaf.dtype), leaf.shape))
        elif isinstance(leaf, (bool, int, float, complex, np.generic)):
            kept.append(leaf)
        else:
            return None
    return tuple(kept)


_OWN = (__file__, callbacks.__file__)


class _Given(NamedTuple):
    """What a call gets of its arguments."""

    leaves: list[Any]
    containers: list[Any]
    locks: tuple[Any, ...] = ()
    target: Any = None


_ARE_NO_ARRAYS = (Description.STATIC, Description.SCALAR, Description.ARGUMENT, Description.TUPLE, Description.TEXT, Description.MAYBE)


def _has_no_arrays(result: Description) -> bool:
    """Whether no part of what a function returns may be what a host function has kept."""
    return result.kind in _ARE_NO_ARRAYS and all(map(_has_no_arrays, result.parts))


class Call:
    """One call that Python makes, of a specialisation's code or of the interpreter; or C++ does (not `writes`)."""

    def __init__(self, specialisation: Specialisation, arguments: Any, writes: bool = True) -> None:
        self.specialisation = specialisation
        self.leaves, self.containers, self.locks = arguments.leaves, arguments.containers, arguments.locks
        self.target = arguments.target
        self.cells = _ingot.Cells(specialisation.layouts, self.containers, self.leaves) if writes and specialisation.writes else None
        self.kept: list[Any] | None = None  # the memories of buffers that the interpreter has kept; None: compiled code keeps them
        self.objects = _ingot.Objects(self.leaves, self.containers)
        self.held = Held(specialisation, self.leaves, self.containers) if specialisation.watched else None

    def host(self, site: int, values: list[Any]) -> None:
        """A call out of the function."""
        if self.cells is not None:
            self.cells.flush(self.kept)
        function, (positional, keywords), sites = self.specialisation.hosts[site]
        if site in self.specialisation.keeps:
            objects = self.objects
            objects.keep(values)
        else:
            objects = _ingot.Objects(self.leaves, self.containers)
        before = self.held.state() if self.held is not None and site in self.specialisation.watched else None
        call_host(function, objects.make(Description(Description.TUPLE, positional), values), keywords, sites)
        if self.held is not None and before is not None:
            self.held.need(before, function.__self__, sites)

    def check(self, site: int) -> None:
        """After a call that C++ has made. What compiled code changes itself is in no captures or containers then."""
        function, _, sites = self.specialisation.hosts[site]
        self.held.need(self.before, function.__self__, sites)  # type: ignore[union-attr]

    def run(self, mode: str, host: Callable[..., Any] | None = None, routines: Callable[..., Any] | None = None) -> list[Any] | tuple[Any, ...]:
        """What is given: values, as a list, or a failure: the arguments of `_exceptions.exception`.

        `host` and `routines` replace `host` and of `_routines`' functions.
        """
        with self.specialisation.around() if self.specialisation.around is not None else contextlib.nullcontext():
            return self._run(mode, host, routines)

    def _run(self, mode: str, host: Callable | None, routines: Callable | None) -> list | tuple:
        it = self.specialisation
        it._add_call()
        quick = it.quick if it.hosts and host is None else None
        if quick is not None and self.held is not None:
            self.before = self.held.state()
        host = host or self.host
        if it.writes and _ingot.is_recording():
            raise _errors.unsupported((), "changing a container of the caller's in a graph", "give the new values back")
        given = self.leaves if self.cells is None else self.leaves + self.cells.arrays
        with holding(self.locks):
            if mode == "interpreted":
                return self._interpret(given, host, routines or library)
            code = it.code_for(self.leaves)
            start = time.perf_counter()
            outcome = code.run(given, host, routines, it.keeps, it.buffers, self.target, it.errors, quick, self.check, self.cells)
            it._add_run(time.perf_counter() - start)
            return outcome

    def _interpret(self, given: list, host: Callable, routines: Callable) -> list | tuple:
        self.kept = []
        try:
            return self.specialisation.program.interpret(given, host, routines, self.specialisation.keeps, memories=self.kept)
        finally:
            if self.cells is not None:
                self.cells.flush(self.kept)

    def error(self, outcome: list[Any] | tuple[Any, ...]) -> BaseException | None:
        """The exception that a failure is."""
        if type(outcome) is not tuple:
            return None
        failure = [*outcome, self.specialisation.errors]
        return exceptions.exception(*failure)

    def result(self, outcome: Any) -> Any:
        """What the function returns that has given these values."""
        return self.objects.make(self.specialisation.result, outcome)
