"""Control flow as functions, with the signatures of `jax.lax`.

Plain loops and branches that Python runs, and compiled code inlines; with `jvp` and `vmap` as any other code. The
collectives of named axes are those of `ingot`.
"""

from ._transforms.batching import all_gather, axis_index, pmax, pmean, pmin, psum
from .library.lax import associative_scan, cond, fori_loop, map, scan, select, switch, while_loop

__all__ = [
    "all_gather",
    "associative_scan",
    "axis_index",
    "cond",
    "fori_loop",
    "map",
    "pmax",
    "pmean",
    "pmin",
    "psum",
    "scan",
    "select",
    "switch",
    "while_loop",
]


def __dir__() -> list[str]:
    return sorted(__all__)
