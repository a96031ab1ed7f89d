"""Minima, least squares and roots of functions, by compiled loops and the derivatives that the compiler makes.

Each function is compiled for the arguments that it is called with, as `ingot.jit` does it, and is inlined in compiled functions, also
under `ingot.vmap`. docs/guides/optimise.md shows when to use SciPy's instead.
"""

from __future__ import annotations

from typing import Any

from ._environment import is_disabled as _disabled

_CLASSES = ("Adam", "GradientDescent", "Momentum", "Result")
_FUNCTIONS = ("bfgs", "bisection", "descend", "gauss_newton", "lbfgs", "levenberg_marquardt", "newton", "projected_gradient")

__all__ = [*_CLASSES, *_FUNCTIONS]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .library import optimize

    made = getattr(optimize, name)
    if name in _FUNCTIONS and not _disabled():
        from ._operations.alike import HigherFunction

        made = HigherFunction(made, made, __name__, name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted(__all__)
