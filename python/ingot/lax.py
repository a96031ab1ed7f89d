"""Control flow as functions, with the signatures of `jax.lax`.

Plain loops and branches that Python runs, and compiled code inlines; with `jvp` and `vmap` as any other code.
"""

from .library.lax import associative_scan, cond, fori_loop, map, scan, select, switch, while_loop

__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "select", "switch", "while_loop"]
