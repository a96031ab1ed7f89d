"""Communicators whose calls are regions."""

from __future__ import annotations

from typing import Any

from .functions import counted


class Watched:
    """A communicator as it was given, but that calls of its methods have rows `MPI.Allreduce` and the like."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self._known: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        known = self._known.get(name)
        if known is not None:
            return known
        found = getattr(self._comm, name)
        if not callable(found):
            return found
        made = self._known[name] = counted(_of_communicators(found, type(self._comm)), f"MPI.{name}", "mpi")
        return made

    def __repr__(self) -> str:
        return f"<ingot.profile.watch({self._comm!r})>"


def _of_communicators(method: Any, kind: type[Any]) -> Any:
    """A method that gives a watched communicator where it gives a communicator: `Split`, `Dup`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(each._comm if isinstance(each, Watched) else each for each in args)
        given = method(*args, **kwargs)
        return Watched(given) if isinstance(given, kind) else given

    return call
