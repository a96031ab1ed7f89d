"""What a workload is: one task, written for each contestant, with arguments, and what it costs at least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ELEMENTARY = 16
"""The flops that a call of an elementary function counts in the roofline."""


@dataclass(frozen=True)
class CppCall:
    """A call of a C++ function: arrays go as pointers, ints as int64_t, floats as double, np.float32 as float."""

    function: str
    arguments: tuple
    result: Any
    """What it has written, or a function that gives it."""


@dataclass(frozen=True)
class Workload:
    """`forms` are the Python functions that Ingot compiles as they stand, by name (`array`, `loop`, ...).

    A function returns its result, or returns None and has written the arguments that `outputs` counts. `numpy` is the
    function that gives the reference (by default the array form), `numba` the one that Numba compiles (by default
    the loop form), `jax` takes the module and the arguments, `cpp` makes the call from the arguments.
    """

    name: str
    arguments: Callable[[bool], tuple]
    forms: dict[str, Callable]
    numpy: Callable | None = None
    numba: Callable | None = None
    jax: Callable | None = None
    cpp: Callable[..., CppCall] | None = None
    other_cpp: dict[str, Callable[..., CppCall]] = field(default_factory=dict)
    """Other ways of C++ to do it, by name, with the flags of the strict ones."""
    outputs: tuple[int, ...] = ()
    bytes: Callable[..., int] | None = None
    """Bytes that must at least be read and written, from the arguments."""
    flops: Callable[..., float] | None = None
    """Operations on doubles, those on floats counting half."""
    bound: float = 1e-12
    """The largest difference from NumPy's result, relative to that result's largest element."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Contestants that cannot do it, each with the reason."""

    @property
    def reference(self) -> Callable:
        return self.numpy or self.forms["array"]

    @property
    def for_numba(self) -> Callable:
        return self.numba or self.forms.get("loop") or self.forms["array"]
