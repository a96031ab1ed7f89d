"""Memory of a thread."""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def array(shape: Any, dtype: Any) -> Any:
    """An array of the thread's own, of a shape known when compiling; its elements are unspecified."""
    outside("local.array")


__all__ = ["array"]


def __dir__() -> list[str]:
    return sorted(__all__)
