"""Control flow as functions, with the signatures of `jax.lax`.

Plain loops and branches that Python runs, and compiled code inlines; with `jvp` and `vmap` as any other code. The
collectives of named axes are those of `ingot`.
"""

from ._transforms.batching import all_gather, all_to_all, axis_index, axis_size, pmax, pmean, pmin, ppermute, psum, psum_scatter
from .library.lax import associative_scan, cond, fori_loop, map, scan, select, switch, while_loop

__all__ = [
    "all_gather",
    "all_to_all",
    "associative_scan",
    "axis_index",
    "axis_size",
    "cond",
    "fori_loop",
    "map",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "scan",
    "select",
    "switch",
    "while_loop",
]


def __dir__() -> list[str]:
    return sorted(__all__)
