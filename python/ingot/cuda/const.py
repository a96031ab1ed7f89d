"""Memory that kernels read."""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def array_like(ary: Any) -> Any:
    """A read-only array with the elements that `ary`, from outside of the kernel, has when the kernel is launched."""
    outside("const.array_like")


__all__ = ["array_like"]


def __dir__() -> list[str]:
    return sorted(__all__)
