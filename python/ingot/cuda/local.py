"""Memory of a thread."""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def array(shape: Any, dtype: Any) -> Any:
    """Return an array of the thread's own.

    Parameters
    ----------
    shape : int or tuple of int
        Known when compiling.
    dtype : dtype
        Its dtype.

    Returns
    -------
    array
        Its elements are unspecified.
    """
    outside("local.array")


__all__ = ["array"]


def __dir__() -> list[str]:
    return sorted(__all__)
