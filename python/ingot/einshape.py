"""Reshapes, transpositions, reductions and repetitions by formulas, in the spellings of einshape and of einops.

Plain functions over NumPy's `reshape` and `transpose`, which Python runs and compiled code inlines: there the formula is read
when the function is compiled.
"""

from .library.einshape import einshape, rearrange, reduce, repeat

__all__ = ["einshape", "rearrange", "reduce", "repeat"]


def __dir__() -> list[str]:
    return sorted(__all__)
