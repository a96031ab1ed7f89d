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
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ingot

_kernels: dict[str, dict[str, Callable]] = {}
_whole: dict[str | None, str | None] = {None: None}
_part: contextvars.ContextVar[dict[str | None, str]] = contextvars.ContextVar("implementations", default={})


def register(kernel: str, implementation: str, function: Callable) -> None:
    """Adds an implementation of a kernel, whose calls a profile has in rows of both names; a second one of the same name is a ValueError.

    With "ingot", a compiled function, comes "python": the function below the decorator, which Python runs.
    """
    found = _kernels.setdefault(kernel, {})
    if implementation in found:
        raise ValueError(f"the kernel {kernel!r} has an implementation {implementation!r} already")
    plain = inspect.unwrap(function)
    runs = "python" if implementation == "ingot" and plain is function else implementation  # under INGOT_DISABLE
    found[implementation] = ingot.profile(kernel, implementation=runs)(function)
    if implementation == "ingot":
        register(kernel, "python", plain)


def kernels() -> dict[str, list[str]]:
    """The kernels and their implementations."""
    return {kernel: list(found) for kernel, found in _kernels.items()}


def use(implementation: str | None = None, **by_kernel: str | None) -> None:
    """Chooses for the whole code, or for kernels of it; None takes a choice back."""
    choices = _checked(implementation, by_kernel)
    _whole.update(choices if by_kernel else {None: implementation})


@contextlib.contextmanager
def using(implementation: str | None = None, **by_kernel: str) -> Iterator[None]:
    """Chooses for what runs inside."""
    choices = {kernel: name for kernel, name in _checked(implementation, by_kernel).items() if name is not None}
    token = _part.set({**_part.get(), **choices})
    try:
        yield
    finally:
        _part.reset(token)


def chosen(kernel: str) -> str:
    """The name of the implementation of a kernel that runs now."""
    part, whole = _part.get(), os.environ.get("INGOT_TOAST_IMPLEMENTATION") or "ingot"
    return part.get(kernel) or _whole.get(kernel) or part.get(None) or _whole[None] or whole


def call(kernel: str, *args: Any) -> Any:
    """Runs a kernel in the implementation that is chosen."""
    return implementation(kernel, chosen(kernel))(*args)


def implementation(kernel: str, name: str) -> Callable:
    """An implementation of a kernel; KeyError if it has none of that name."""
    found = _kernels.get(kernel, {})
    if name not in found:
        raise KeyError(f"the kernel {kernel!r} has no implementation {name!r}, only {', '.join(found) or 'none'}")
    return found[name]


def _checked(everywhere: str | None, by_kernel: Mapping[str, str | None]) -> dict[str | None, str | None]:
    if everywhere is not None and all(everywhere not in found for found in _kernels.values()):
        raise KeyError(f"no kernel has an implementation {everywhere!r}")
    for kernel, name in by_kernel.items():
        if name is not None:
            implementation(kernel, name)
    choices: dict[str | None, str | None] = dict(by_kernel.items())
    return choices if everywhere is None else {**choices, None: everywhere}
