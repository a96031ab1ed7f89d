"""Rows of profiles: of one process, of several, and in files."""

from __future__ import annotations

import csv
import os
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

KINDS = ("region", "compiled", "compile", "load", "upload", "download", "zero", "kernel")
MOST_NAMES = 32
"""Of threads, in a row."""


class Row(NamedTuple):
    """What a profile has counted of one call path and implementation.

    Parameters
    ----------
    path : tuple of str
        The names of the regions, from the outermost one to this.
    kind : str
        ``"region"``, ``"compiled"`` (a call of a compiled function), ``"compile"``, ``"load"`` (a look into the cache on disk),
        ``"upload"``, ``"download"``, ``"zero"``, or ``"kernel"`` (the time of a device).
    implementation, device : str
        As they were given.
    calls : int
        How many; of several processes the sum.
    seconds, own : float
        While a call was open, and of these not in rows inside; of several processes the longest.
    shortest, longest : float or None
        Seconds of the calls that have ended.
    bytes_up, bytes_down : int
        Bytes copied to a device, and from it.
    flops : float or None
        None: not known.
    threads : int
        How many threads made the calls.
    thread_names : tuple of str
        Of these threads, the first 32.
    processes, calls_min, calls_max : int
        How many processes took part, and the fewest and most calls of one.
    seconds_min, seconds_max, seconds_mean, seconds_median : float
        Of the processes.
    """

    path: tuple[str, ...]
    """The regions, from the outermost one to this."""
    kind: str
    """`region`, `compiled` (a call of a compiled function), `compile`, `load` (a look into the cache on disk), `upload`,
    `download`, `zero`, or `kernel` (the time of a device)."""
    implementation: str
    device: str
    calls: int
    seconds: float
    """While a call was open."""
    own: float
    """Of these, not in rows inside."""
    shortest: float | None
    """Of the calls that have ended; None: none has."""
    longest: float | None
    bytes_up: int
    bytes_down: int
    flops: float | None
    """None: not known."""
    threads: int
    thread_names: tuple[str, ...] = ()
    """Of these threads, the first 32."""
    processes: int = 1
    calls_min: int = 0
    """The fewest calls of a process that took part; the next ones are like it."""
    calls_max: int = 0
    seconds_min: float = 0.0
    seconds_max: float = 0.0
    seconds_mean: float = 0.0
    seconds_median: float = 0.0

    @property
    def name(self) -> str:
        """The last name of the path."""
        return self.path[-1]


def row_of(told: tuple[Any, ...]) -> Row:
    """A row of this process, as C++ gives it."""
    path, kind, implementation, device, calls, seconds, own, shortest, longest, up, down, flops, threads, names = told
    longest = None if shortest is None else longest
    of_processes = (1, calls, calls, seconds, seconds, seconds, seconds)
    return Row(path, kind, implementation, device, calls, seconds, own, shortest, longest, up, down, flops or None, threads, names, *of_processes)


def gathered(processes: Iterable[Sequence[Row]]) -> list[Row]:
    """The rows of several processes, one for each path, kind, implementation and device."""
    same: dict[tuple[Any, ...], list[Row]] = {}
    for rows in processes:
        for row in rows:
            same.setdefault(row[:4], []).append(row)
    return [_of_all(key, rows) for key, rows in sorted(same.items(), key=lambda item: item[0][0])]


def _of_all(key: tuple[Any, ...], rows: list[Row]) -> Row:
    seconds = [row.seconds for row in rows]
    names = dict.fromkeys(name for row in rows for name in row.thread_names)
    shortest = [row.shortest for row in rows if row.shortest is not None]
    longest = [row.longest for row in rows if row.longest is not None]
    flops = [row.flops for row in rows if row.flops is not None]
    path, kind, implementation, device = key
    return Row(
        path,
        kind,
        implementation,
        device,
        calls=sum(row.calls for row in rows),
        seconds=max(seconds),
        own=max(row.own for row in rows),
        shortest=min(shortest, default=None),
        longest=max(longest, default=None),
        bytes_up=sum(row.bytes_up for row in rows),
        bytes_down=sum(row.bytes_down for row in rows),
        flops=sum(flops) if flops else None,
        threads=sum(row.threads for row in rows),
        thread_names=tuple(names)[:MOST_NAMES],
        processes=sum(row.processes for row in rows),
        calls_min=min(row.calls_min for row in rows),
        calls_max=max(row.calls_max for row in rows),
        seconds_min=min(row.seconds_min for row in rows),
        seconds_max=max(row.seconds_max for row in rows),
        seconds_mean=sum(row.seconds_mean * row.processes for row in rows) / sum(row.processes for row in rows),
        seconds_median=statistics.median(row.seconds_median for row in rows),
    )


def path_text(path: Iterable[str]) -> str:
    """The path as one string: names with `|` between them. A `|` or backslash of a name has a backslash before it."""
    return "|".join(name.replace("\\", "\\\\").replace("|", "\\|") for name in path)


def path_of(text: str) -> tuple[str, ...]:
    """The path that a string is of. ValueError: it ends with half of a name."""
    names, name, letters = [], "", iter(text)
    for letter in letters:
        if letter == "|":
            names.append(name)
            name = ""
        elif letter == "\\":
            following = next(letters, None)
            if following is None:
                raise ValueError("a path ends with a backslash")
            name += following
        else:
            name += letter
    return (*names, name)


_NUMBERS = {
    "calls": int,
    "seconds": float,
    "own": float,
    "shortest": float,
    "longest": float,
    "bytes_up": int,
    "bytes_down": int,
    "flops": float,
    "threads": int,
    "processes": int,
    "calls_min": int,
    "calls_max": int,
    "seconds_min": float,
    "seconds_max": float,
    "seconds_mean": float,
    "seconds_median": float,
}
_MAY_BE_EMPTY = ("shortest", "longest", "flops")
COLUMNS = ("path", "operation", *(name for name in Row._fields if name not in ("path", "thread_names")), "thread_names")


class WrongFile(ValueError):
    """A file that is no profile: its message begins with its name."""


def save(file: str | os.PathLike, rows: Iterable[Row]) -> None:
    """Writes rows as CSV."""
    with open(file, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        for row in rows:
            own: dict[str, Any] = row._asdict() | {"path": path_text(row.path), "operation": row.name, "thread_names": path_text(row.thread_names)}
            writer.writerow([_cell(own[name]) for name in COLUMNS])


def _cell(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def load(file: str | os.PathLike) -> list[Row]:
    """The rows of a file that `save` has written. WrongFile: it is another; OSError: it cannot be read."""
    try:
        with open(file, newline="", encoding="utf-8-sig") as lines:
            reader = csv.reader(lines, strict=True)
            header = next(reader, [])
            if missing := [name for name in COLUMNS if name not in header]:
                raise WrongFile(f"{os.fspath(file)} is no profile: it has no column `{missing[0]}`")
            return [_row(dict(zip(header, cells)), len(cells) == len(header)) for cells in reader if cells]
    except WrongFile:
        raise
    except UnicodeDecodeError:
        raise WrongFile(f"{os.fspath(file)} is no profile: it is no text") from None
    except (csv.Error, ValueError) as error:
        raise WrongFile(f"{os.fspath(file)}, line {reader.line_num}: {error}") from None


def _row(cells: dict[str, str], is_whole: bool) -> Row:
    if not is_whole:
        raise ValueError("a row has other columns than the first one")
    given: dict[str, Any] = {"kind": cells["kind"], "implementation": cells["implementation"], "device": cells["device"]}
    for name, kind in _NUMBERS.items():
        if cells[name] == "" and name in _MAY_BE_EMPTY:
            given[name] = None
            continue
        try:
            given[name] = kind(cells[name])
        except ValueError:
            raise ValueError(f"`{name}` is no number: {cells[name]!r}") from None
    if given["kind"] not in KINDS:
        raise ValueError(f"there is no kind {given['kind']!r}")
    names = path_of(cells["thread_names"]) if cells["thread_names"] else ()
    return Row(path=path_of(cells["path"]), thread_names=names, **given)
