"""Groups of threads that wait for each other."""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def this_grid() -> Any:
    """All threads of the launch, with `sync()`, which waits for all of them that have not ended."""
    outside("cg.this_grid")


__all__ = ["this_grid"]


def __dir__() -> list[str]:
    return sorted(__all__)
