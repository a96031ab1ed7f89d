"""Functions that threads of a kernel call together, in the spelling of NVIDIA's `cuda.coop`.

    total = cuda.coop.block.sum(np.float32, 128)

    @cuda.jit
    def kernel(x, out):
        out[cuda.blockIdx.x] = total(x[cuda.grid(1)])

docs/cuda.md has the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import block, warp

__all__ = ["block", "warp"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ..._refusals.missing import error

        raise error(__name__, name)
