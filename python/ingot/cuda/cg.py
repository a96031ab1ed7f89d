"""Groups of threads that wait for each other."""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def this_grid() -> Any:
    """Return all threads of the launch, as a group.

    Returns
    -------
    group
        Its method ``sync()`` waits for all threads that have not ended.

    Notes
    -----
    All blocks of such a launch run at once: `Kernel.max_cooperative_grid_blocks` is the most that there may be.
    """
    outside("cg.this_grid")


__all__ = ["this_grid"]


def __dir__() -> list[str]:
    return sorted(__all__)
