"""`ingot.profile`: where the time of a program goes, by call path. docs/profiling.md has the rules."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from .. import _ingot
from ._functions import Region, counted, label_of, number_of, uncounted

if TYPE_CHECKING:
    from ._rows import Row

F = TypeVar("F", bound=Callable[..., Any])

_counting = _ingot.profile
_labels: dict[str, int] = {}

__all__ = ["Profile", "Region", "compiling", "label_of", "profile", "uncounted"]


class Communicator(Protocol):
    """What is asked of a communicator: that of mpi4py has it."""

    def gather(self, sendobj: Any, root: int = 0) -> Any: ...


if TYPE_CHECKING:

    class Base:
        """The base as type checkers see it: it makes regions."""

        def __init__(self, type: Any, labels: dict[str, int]) -> None: ...

else:
    Base = _counting.Maker


class Profile(Base):
    """The profile of this process, and what has calls counted: `@ingot.profile`, `with ingot.profile("apply"):`.

    `profile(function)` returns a function whose calls are counted in rows with its name; `profile("name")` a region, which
    is used by `with`, or as a decorator. `implementation` distinguishes functions that do the same: each has
    rows of its own. TypeError for what is neither a name nor a function.

    Nothing is counted before `start()`, or INGOT_PROFILE=FILE in the environment; docs/profiling.md has the rules.
    """

    if TYPE_CHECKING:

        @overload
        def __call__(self, function: F, /, *, implementation: str = "") -> F: ...
        @overload
        def __call__(self, name: str | None = None, /, *, implementation: str = "") -> Region: ...
        def __call__(self, given: Any = None, /, *, implementation: str = "") -> Any: ...

    def __init__(self) -> None:
        super().__init__(Region, _labels)

    def _made(self, given: Any = None, /, *, implementation: str = "") -> Any:
        """What a call gives; C++ has made it where a name alone is given that it knows."""
        if given is None:
            return lambda function: counted(function, None, implementation)
        if not isinstance(given, str):
            return counted(given, None, implementation)
        label = number_of(given, "region", implementation)
        if type(given) is str and not implementation:
            _labels[given] = label
        return Region(label)

    def __reduce__(self) -> str:
        return "profile"

    @property
    def is_on(self) -> bool:
        """Whether calls are counted now."""
        return _counting.is_on()

    @property
    def uncounted(self) -> int:
        """How many copies and kernels have no row: their device has failed, or there was no memory for them."""
        return _counting.uncounted()

    def start(self, *, trace: bool = False) -> None:
        """Counts from now on, together with what was counted before. `trace`: keeps each event, too, for `trace(file)`."""
        _counting.start(trace)

    def stop(self) -> None:
        """Ends counting. Open regions count as calls that end now."""
        _counting.stop()

    def reset(self) -> None:
        """Discards what was counted. Regions that are open now are not counted when they end."""
        _counting.reset()

    def add(
        self,
        name: str,
        seconds: float = 0.0,
        *,
        calls: int = 1,
        implementation: str = "",
        device: str = "",
        bytes_up: int = 0,
        bytes_down: int = 0,
        flops: float = 0.0,
    ) -> None:
        """Counts calls that were measured elsewhere, in a row inside the region that is open.

        Their seconds are no longer that region's own ones, unless `device` marks them as a device's. Bytes are those
        moved to a device and from it. Nothing is counted where the profile is off. ValueError: a number is negative.
        """
        if min(seconds, calls, bytes_up, bytes_down, flops) < 0 or seconds != seconds or flops != flops:
            raise ValueError(f"what is added to a profile is not negative: {name!r}")
        if _counting.is_on():
            label = number_of(name, "region", implementation, device)
            _counting.add(label, seconds, calls, bytes_up, bytes_down, flops)

    def rows(self) -> list[Row]:
        """What has been counted so far, a row for each call path, a path after the one around it."""
        from ._rows import row_of

        return [row_of(told) for told in _counting.rows()]

    def gather(self, comm: Communicator) -> list[Row] | None:
        """The rows of all processes of a communicator, put together by path, in process 0; None in the others.

        All of them call it. `comm` is a communicator of mpi4py's, or has its `gather`.
        """
        from ._rows import gathered

        every = comm.gather(self.rows(), root=0)
        return None if every is None else gathered(every)

    def watch(self, comm: Any) -> Any:
        """A communicator of mpi4py's, or what is like one, whose calls have rows: `MPI.Allreduce`, of the implementation `mpi`.

        Communicators that it gives, such as those of `Split`, are watched as well. What wants mpi4py's own class is given the
        communicator itself.
        """
        from ._mpi import Watched

        return Watched(comm)

    def save(self, file: str | os.PathLike, rows: Iterable[Row] | None = None) -> None:
        """Writes the rows, or those given, as CSV; docs/profiling.md names the columns."""
        from ._rows import save

        save(file, self.rows() if rows is None else rows)

    def trace(self, file: str | os.PathLike, comm: Communicator | None = None) -> None:
        """Writes each event since `start(trace=True)` as JSON that Perfetto and Chrome's tracing show.

        With a communicator all its processes call it, and process 0 writes the events of all. RuntimeError: no events
        have been kept.
        """
        from ._trace import events_of, write

        own = events_of(_counting.events())
        every = [own] if comm is None else comm.gather(own, root=0)
        if every is not None:
            write(file, every)

    def __repr__(self) -> str:
        return f"<ingot.profile, {'on' if self.is_on else 'off'}>"


profile = Profile()


def compiling(around: int, tier: str) -> Any:
    """A row for what the compiler does, inside the call of a function of which `around` is the label."""
    return _counting.Compiling(around, _COMPILING[tier])


_COMPILING = {tier: _counting.label("compile", "compile", tier) for tier in ("frontend", "quick", "full")}
_COMPILING["cache"] = _counting.label("load", "load", "cache")
OF_NO_FUNCTION = _counting.label("compiled code", "compiled", "ingot")
"""What compiles code of which no function is known."""


# ---- Forks, and the environment's words

os.register_at_fork(after_in_child=_counting.begin_in_child)

_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
_FIRST = "INGOT_PROFILE_PROCESS"


def _own_file(file: str) -> str:
    """A file for this process: another one than those of other ranks, and of processes that this one has begun from."""
    rank = next((os.environ[name] for name in _RANKS if os.environ.get(name)), "")
    process = "" if os.environ.get(_FIRST) == f"{os.getpid()}" else f"{os.getpid()}"
    root, dot, ending = file.rpartition(".")
    if not dot or os.sep in ending:
        root, dot, ending = file, "", ""
    return ".".join(filter(None, (root, rank, process))) + dot + ending


def _write_at_exit(write: Callable[[str], None], file: str) -> None:
    try:
        write(_own_file(file))
    except Exception as error:  # the program has ended, and its exit status is its own
        print(f"ingot.profile: {type(error).__name__}: {error}", file=sys.stderr)


def _obey_environment() -> None:
    file, trace = os.environ.get("INGOT_PROFILE", ""), os.environ.get("INGOT_PROFILE_TRACE", "")
    if not file and not trace:
        return
    os.environ.setdefault(_FIRST, str(os.getpid()))
    profile.start(trace=bool(trace))
    if trace:
        atexit.register(_write_at_exit, profile.trace, trace)
    if file:
        atexit.register(_write_at_exit, profile.save, file)


_obey_environment()
