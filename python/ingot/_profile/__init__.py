"""`ingot.profile`: where the time of a program goes, by call path. docs/profiling.md has the rules."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from .. import _ingot
from .functions import Region, counted, label_of, number_of, uncounted

if TYPE_CHECKING:
    from .rows import Row

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
    """The profile of this process: ``ingot.profile``.

    ``@ingot.profile`` counts the calls of a function, ``with ingot.profile("apply"):`` a region, in rows by call path.

    Parameters
    ----------
    given : callable or str
        A function: a function whose calls have rows with its name is returned. A name: a `Region`, for `with` or as a decorator.
    implementation : str, default ""
        Distinguishes functions that do the same: each has rows of its own.

    Raises
    ------
    TypeError
        `given` is neither a name nor a function.

    Notes
    -----
    Counting begins with `start`, or with the process where INGOT_PROFILE=FILE is in the environment. docs/profiling.md has
    the rules.

    Examples
    --------
    >>> ingot.profile.start()
    >>> with ingot.profile("sums"):
    ...     for n in range(3):
    ...         with ingot.profile("sum"):
    ...             total = sum(range(n))
    >>> ingot.profile.stop()
    >>> [(row.path, row.calls) for row in ingot.profile.rows()]
    [(('sums',), 1), (('sums', 'sum'), 3)]
    >>> ingot.profile.reset()
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
        """How many copies and kernels have no row, since their device has failed or there was no memory for them."""
        return _counting.uncounted()

    def start(self, *, trace: bool = False) -> None:
        """Count from now on, together with what was counted before.

        Parameters
        ----------
        trace : bool, default False
            Keeps each event, too, for `trace`.
        """
        _counting.start(trace)

    def stop(self) -> None:
        """End counting. Open regions count as calls that end now."""
        _counting.stop()

    def reset(self) -> None:
        """Discard what was counted. Regions that are open now are not counted when they end."""
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
        """Count calls that were measured elsewhere, in a row inside the region that is open.

        Parameters
        ----------
        name : str
            The name of the row.
        seconds : float, default 0.0
            Their time, which is no longer the region's own, unless `device` marks them as a device's.
        calls : int, default 1
            How many.
        implementation, device : str, default ""
            Columns of the row.
        bytes_up, bytes_down : int, default 0
            Bytes that were copied to a device, and from it.
        flops : float, default 0.0
            Floating-point operations.

        Raises
        ------
        ValueError
            A number is negative.
        """
        if min(seconds, calls, bytes_up, bytes_down, flops) < 0 or seconds != seconds or flops != flops:
            raise ValueError(f"what is added to a profile is not negative: {name!r}")
        if _counting.is_on():
            label = number_of(name, "region", implementation, device)
            _counting.add(label, seconds, calls, bytes_up, bytes_down, flops)

    def rows(self) -> list[Row]:
        """Return what has been counted so far.

        Returns
        -------
        list of Row
            A row for each call path, a path after the one around it.
        """
        from .rows import row_of

        return [row_of(told) for told in _counting.rows()]

    def gather(self, comm: Communicator) -> list[Row] | None:
        """Put together the rows of all processes of a communicator, by path.

        Parameters
        ----------
        comm : communicator
            Of mpi4py's, or with its `gather`. All of its processes call this.

        Returns
        -------
        list of Row or None
            The rows in process 0, None in the others.
        """
        from .rows import gathered

        every = comm.gather(self.rows(), root=0)
        return None if every is None else gathered(every)

    def watch(self, comm: Any) -> Any:
        """Return a communicator whose calls have rows, such as ``MPI.Allreduce``, of the implementation ``mpi``.

        Parameters
        ----------
        comm : communicator
            Of mpi4py's, or one like it.

        Returns
        -------
        communicator
            Communicators that it returns, such as those of `Split`, are watched as well. What needs mpi4py's own class is given
            the communicator itself.
        """
        from .mpi import Watched

        return Watched(comm)

    def save(self, file: str | os.PathLike[str], rows: Iterable[Row] | None = None) -> None:
        """Write rows as CSV.

        Parameters
        ----------
        file : str or path
            The file.
        rows : iterable of Row, optional
            By default those of this process. docs/profiling.md names the columns.
        """
        from .rows import save

        save(file, self.rows() if rows is None else rows)

    def trace(self, file: str | os.PathLike[str], comm: Communicator | None = None) -> None:
        """Write each event since ``start(trace=True)`` as JSON that Perfetto and Chrome's tracing show.

        Parameters
        ----------
        file : str or path
            The file.
        comm : communicator, optional
            All of its processes call this, and process 0 writes the events of all.

        Raises
        ------
        RuntimeError
            No events have been kept.
        """
        from .trace import events_of, write

        own = events_of(_counting.events())
        every = [own] if comm is None else comm.gather(own, root=0)
        if every is not None:
            write(file, every)

    def __repr__(self) -> str:
        return f"<ingot.profile, {'on' if self.is_on else 'off'}>"


profile: Profile = Profile()


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
