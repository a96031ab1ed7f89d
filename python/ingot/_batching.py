"""`ingot.vmap`: a function for all lanes of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._jit import jit


def vmap(
    fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None
) -> Callable[..., Any]:
    from .library.batching import batched

    return jit(batched(fun, in_axes, out_axes, axis_size))
