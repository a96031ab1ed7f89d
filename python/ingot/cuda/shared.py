"""Memory of a block."""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def array(shape: Any, dtype: Any) -> Any:
    """An array that all threads of the block share, of a shape known when compiling; its elements are unspecified.

    Of shape 0: the block's dynamic shared memory, whose bytes the launch gives (`kernel[blocks, threads, stream, bytes]`),
    as an array of one axis. All such arrays are the same memory.
    """
    outside("shared.array")


__all__ = ["array"]


def __dir__() -> list[str]:
    return sorted(__all__)
