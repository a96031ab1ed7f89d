"""What is found in a program of MPI's, where, and the report."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._errors import place_text

_OWN_FILES = os.path.dirname(__file__) + os.sep


class Site(NamedTuple):
    """A line of the user's, and what a rank did there."""

    rank: int
    what: str
    file: str
    line: int

    @property
    def text(self) -> str:
        """The line itself; empty where its source is not known."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        is_near = self.file.startswith(os.getcwd() + os.sep)
        place = place_text(os.path.relpath(self.file) if is_near else self.file, self.line)
        return f"rank {self.rank}: {self.what}\n    {place}" + (f": {self.text}" if self.text else "")


def site_of_caller(rank: int, what: str) -> Site:
    """The line of the user's that is being run."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame = frame.f_back
    return Site(rank, what, frame.f_code.co_filename, frame.f_lineno)


def site_of_error(rank: int, what: str, error: BaseException) -> Site:
    """The line of the user's that an exception left last."""
    found = Site(rank, what, "?", 0)
    entry = error.__traceback__
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith(_OWN_FILES):
            found = Site(rank, what, entry.tb_frame.f_code.co_filename, entry.tb_lineno)
        entry = entry.tb_next
    return found


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a program.

    Attributes
    ----------
    kind : str
        What: "deadlock", "livelock", "timeout", "exception", "unmatched", "request", "truncation", "datatype", "collective",
        "rank", "ready", "freed", "buffer" or "race".
    message : str
        In words.
    ranks : tuple of int
        Whom it concerns.
    sites : tuple
        The lines, each with `rank`, `what`, `file`, `line` and `text`.
    seed : str
        What `simulate` is given to run the ranks in this way again.
    """

    kind: str
    message: str
    ranks: tuple[int, ...]
    sites: tuple[Site, ...]
    seed: str = ""

    @property
    def lines(self) -> tuple[int, ...]:
        """The numbers of the lines."""
        return tuple(site.line for site in self.sites)

    @property
    def key(self) -> Any:
        """What findings have in common that are one: their kind and lines."""
        return self.kind, frozenset((site.file, site.line) for site in self.sites)

    def __str__(self) -> str:
        return "\n".join([f"{self.kind}: {self.message}", *(f"  {site}" for site in self.sites), f"  again: seed={self.seed!r}"])


@dataclass(repr=False)
class Simulation:
    """What `simulate` has found. It is true if that is nothing.

    Attributes
    ----------
    ranks : int
        How many there were.
    findings : list of Finding
        Each with `kind`, `message`, `ranks`, `sites` (the lines) and `seed`.
    runs : int
        How often the ranks were run.
    complete : bool
        Whether all matchings have been run.
    results : list
        What each rank returned, in the first run; None for one that did not return.
    """

    ranks: int
    findings: list[Finding] = field(default_factory=list)
    runs: int = 0
    complete: bool = False
    results: list[Any] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        count = len(self.findings)
        found = "nothing found" if count == 0 else f"{count} finding{'s' if count > 1 else ''}"
        runs = f"{self.runs} run{'s' if self.runs > 1 else ''} of {self.ranks} rank{'s' if self.ranks > 1 else ''}"
        head = f"{found} in {runs}, {'all matchings' if self.complete else 'not all matchings'}"
        return "\n\n".join([head, *map(str, self.findings)])

    __repr__ = __str__

    def raise_(self) -> None:
        """Raises RuntimeError with the report, if something was found."""
        if self.findings:
            raise RuntimeError(str(self))
