"""Minima, least squares and roots of functions, by compiled loops and the derivatives that the compiler makes.

Each function is compiled for the arguments that it is called with, as `ingot.jit` does it, and is inlined in compiled functions, also
under `ingot.vmap`. docs/guides/optimise.md shows when to use SciPy's instead.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._environment import is_disabled as _disabled

_MODULES = {
    "descent": "Adam GradientDescent Momentum Result descend",
    "optimize": "bfgs bisection gauss_newton lbfgs levenberg_marquardt newton projected_gradient",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = getattr(importlib.import_module(f"ingot.library.{_MODULE_OF[name]}"), name)
    if not isinstance(made, type) and not _disabled():
        from ._operations.alike import HigherFunction

        made = HigherFunction(made, made, __name__, name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return list(__all__)
