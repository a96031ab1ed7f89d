"""Rows of times: one for each path of nested regions, with the implementation that ran and the bytes that were moved."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter


@dataclass
class Row:
    """What a path of regions took in all."""

    path: str
    implementation: str | None = None
    calls: int = 0
    seconds: float = 0.0
    bytes_up: int = 0
    bytes_down: int = 0


rows: dict[tuple[str, str | None], Row] = {}
_path: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("path", default=())


@contextlib.contextmanager
def region(name: str, implementation: str | None = None) -> Iterator[Row]:
    """Times what is inside; the row of its path takes bytes as well: `row.bytes_up += n`."""
    path = (*_path.get(), name)
    row = rows.setdefault(("|".join(path), implementation), Row("|".join(path), implementation))
    token, start = _path.set(path), perf_counter()
    try:
        yield row
    finally:
        row.calls += 1
        row.seconds += perf_counter() - start
        _path.reset(token)
