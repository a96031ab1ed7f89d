"""Random numbers of keys, with the names, parameters and bits of `jax.random`.

A key is an array of two words, uint32, as `jax.random.PRNGKey` makes it; what is drawn is a function of the key, the shape,
the dtype and the parameters alone. Each function is compiled for the arguments that it is called with, as `ingot.jit` does
it, and can be called in compiled functions too. docs/random.md has the rules.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as _numpy

from ._environment import is_disabled as _disabled

_MODULES = {
    "threefry": "PRNGKey bits fold_in key randint split uniform",
    "distributions": "bernoulli cauchy exponential gumbel laplace logistic normal rademacher truncated_normal",
    "choices": "categorical choice permutation",
    "families": "ball beta chisquare dirichlet double_sided_maxwell f gamma generalized_normal geometric loggamma lognormal maxwell "
    "multivariate_normal pareto poisson rayleigh t triangular wald weibull_min",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605


def _by_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the library's, run by Python, where words of 32 bits overflow in silence."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _numpy.errstate(all="ignore"):
            return function(*args, **kwargs)

    return call


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(importlib.import_module(f"ingot.library.{_MODULE_OF[name]}"), name)
    if _disabled():
        made = _by_python(function)
    else:
        from ._operations.functions import EagerFunction

        made = EagerFunction(function, function, __name__, name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return list(__all__)
