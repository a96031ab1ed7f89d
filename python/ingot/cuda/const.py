"""Memory that kernels read."""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def array_like(ary: Any) -> Any:
    """Return a read-only array with the elements of an array from outside of the kernel.

    Parameters
    ----------
    ary : numpy.ndarray
        Its elements are those when the kernel is launched.

    Returns
    -------
    array
        It cannot be written into.
    """
    outside("const.array_like")


__all__ = ["array_like"]


def __dir__() -> list[str]:
    return sorted(__all__)
