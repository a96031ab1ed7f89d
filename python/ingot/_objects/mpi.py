"""Objects of mpi4py's as compiled code has them: instances of classes of `library.mpi`, with an array on their handle."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._routines import mpi as library


def constants() -> list[Any]:
    """The objects that stand for themselves."""
    return library.constants()


def layout_of(held: Any) -> tuple[type[Any], int, int, int] | None:
    """Of the class of an object: the one that stands for it, where its objects have their handle, NumPy's number of the
    dtype that it is read at, and how many elements it has; None: compiled code has nothing of them."""
    from ..library import mpi

    own = mpi.CLASSES.get(type(held))
    if own is None:
        return None
    offset = library.module()._addressof(held) - id(held)
    if own is mpi.Status:
        return own, offset, np.dtype(np.int32).num, library.module()._sizeof(held) // 4
    return own, offset, np.dtype(np.int64).num, 1
