"""Parallel primitives: functions of all elements of arrays, tuples of arrays and iterators.

Each function is compiled for the arguments that it is called with, as `ingot.jit` does it, and is inlined in compiled functions.
Results are the same bits for any number of threads. docs/guides/parallel.md shows how they go together.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ._calls.jit import jit as _jit
from ._environment import is_disabled as _disabled

_MODULES = {
    "sequences": "constant counting discarded permuted random reversed transformed written zipped",
    "parallel": "map reduce scan segmented_reduce segmented_scan zip_with",
    "parallel_merges": "merge merge_by_key",
    "parallel_orders": "argsort compact gather group_by_reduce histogram k_select partition scatter searchsorted sort sort_by_key "
    "top_k unique unique_by_key",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted([*_MODULE_OF, "fuse"])  # noqa: PLE0605


def fuse(f: Callable[..., Any], *others: Callable[..., Any]) -> Any:
    """Compose functions: the first one is called first.

    Parameters
    ----------
    f : callable
        A function of any arguments.
    *others : callable
        Functions of one argument, the result of the function before.

    Returns
    -------
    Function
        The compiled composition; with ``INGOT_DISABLE=1`` a Python function.

    See Also
    --------
    jit

    Examples
    --------
    >>> h = ingot.fuse(lambda x, y: x + y, lambda s: s * s)
    >>> h(1.0, 2.0)
    9.0
    """

    def fused(*args: Any, **kwargs: Any) -> Any:
        value = f(*args, **kwargs)
        for other in others:
            value = other(value)
        return value

    return _jit(fused)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = getattr(importlib.import_module(f"ingot.library.{_MODULE_OF[name]}"), name)
    if isinstance(made, type):
        made.__module__ = __name__
    elif not _disabled():
        from ._operations.alike import HigherFunction

        made = HigherFunction(made, made, __name__, name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return list(__all__)
