"""Kernels by name, in several implementations: which one runs is chosen for all, for a pipeline, or for a kernel.

    register("scan_map", "ingot", scan_map)
    use("python")                        # the whole code; the environment's INGOT_TOAST_IMPLEMENTATION is the default
    with using("numpy"): ...             # a part of it, as a pipeline is
    use(scan_map="python")               # one kernel

The narrowest choice wins: that of a kernel before that of a pipeline before that of the whole code.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Callable, Iterator
from typing import Any

from . import timing

ON_DEVICES = {"ingot"}
"""The implementations that take arrays on a device."""

_kernels: dict[str, dict[str, Callable]] = {}
_whole: dict[str | None, str | None] = {None: None}
_part: contextvars.ContextVar[dict[str | None, str]] = contextvars.ContextVar("implementations", default={})


def register(kernel: str, implementation: str, function: Callable) -> None:
    """Adds an implementation of a kernel; a second one of the same name is a ValueError.

    With one of `ingot.jit` comes "python": the function below it, which Python runs.
    """
    found = _kernels.setdefault(kernel, {})
    if implementation in found:
        raise ValueError(f"the kernel {kernel!r} has an implementation {implementation!r} already")
    found[implementation] = function
    if hasattr(function, "__ingot_function__"):
        register(kernel, "python", function.__ingot_function__)


def kernels() -> dict[str, list[str]]:
    """The kernels and their implementations."""
    return {kernel: list(found) for kernel, found in _kernels.items()}


def use(implementation: str | None = None, **by_kernel: str | None) -> None:
    """Chooses for the whole code, or for kernels; None takes a choice back."""
    _whole.update(_checked(implementation, by_kernel) if by_kernel else _checked(implementation, {}) or {None: None})
    _whole.update({kernel: None for kernel, name in by_kernel.items() if name is None})


@contextlib.contextmanager
def using(implementation: str | None = None, **by_kernel: str) -> Iterator[None]:
    """Chooses for what runs inside."""
    token = _part.set({**_part.get(), **_checked(implementation, by_kernel)})
    try:
        yield
    finally:
        _part.reset(token)


def chosen(kernel: str) -> str:
    """The implementation of a kernel that runs now."""
    part = _part.get()
    order = (part.get(kernel), _whole.get(kernel), part.get(None), _whole[None], os.environ.get("INGOT_TOAST_IMPLEMENTATION"))
    name = next((name for name in order if name), "ingot")
    if name not in _kernels.get(kernel, {}):
        raise KeyError(f"the kernel {kernel!r} has no implementation {name!r}, only {', '.join(_kernels.get(kernel, {})) or 'none'}")
    return name


def call(kernel: str, *args: Any) -> Any:
    """Runs a kernel, timed in a row that names its implementation."""
    implementation = chosen(kernel)
    with timing.region(kernel, implementation):
        return _kernels[kernel][implementation](*args)


def _checked(implementation: str | None, by_kernel: dict[str, Any]) -> dict[str | None, str]:
    for kernel, name in by_kernel.items():
        if kernel not in _kernels or name is not None and name not in _kernels[kernel]:
            raise KeyError(f"there is no implementation {name!r} of a kernel {kernel!r}")
    if implementation is not None and all(implementation not in found for found in _kernels.values()):
        raise KeyError(f"no kernel has an implementation {implementation!r}")
    return {**({} if implementation is None else {None: implementation}), **{k: n for k, n in by_kernel.items() if n is not None}}
