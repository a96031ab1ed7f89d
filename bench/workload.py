"""What a workload is: one task, written for each contestant, with arguments, and what it costs at least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ingot.tour.tasks import ELEMENTARY, CppCall, Task

__all__ = ["ELEMENTARY", "CppCall", "Workload"]


@dataclass(frozen=True)
class Workload(Task):
    """`forms` are the Python functions that Ingot compiles as they are, by name (`array`, `loop`, ...).

    NumPy's function is by default the array form, Numba's the loop form.
    """

    name: str
    arguments: Callable[[bool], tuple]
    forms: dict[str, Callable]
    other_cpp: dict[str, Callable[..., CppCall]] = field(default_factory=dict)
    """Other versions in C++, by name, with the flags of the strict ones."""
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
