"""What a program is: a function to differentiate, as each contestant has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ingot.tour.tasks import CppCall

__all__ = ["CppCall", "Derivative", "Program", "gradient"]

Derivative = Callable[[Any, Callable], Callable]
"""A derivative as a user asks for it: of a module that has `grad` and the like, and of a function."""


def gradient(*numbers: int) -> Derivative:
    """The gradient by the arguments of these numbers."""
    return lambda module, f: module.grad(f, numbers)


@dataclass(frozen=True, kw_only=True)
class Program:
    """A function, its derivative, and arguments: first those of the function, then what the derivative takes besides them."""

    name: str
    about: str
    """What is computed, and by which arguments it is differentiated."""
    arguments: Callable[[bool], tuple]
    """The arguments, small or not."""
    forms: dict[str, Callable]
    """The functions that Ingot compiles, by name."""
    jax: dict[str, Callable[[Any], Callable]]
    """The functions of JAX, each from the module; the first one is what ratios are to."""
    cpp: dict[str, Callable[..., tuple[CppCall, CppCall]]]
    """Calls of C++ for the value and for the derivative, from the arguments; the first one is what ratios are to."""
    derivative: Derivative
    value: Derivative = lambda module, f: f
    """What the derivative is held against, made in the same way."""
    autograd: Callable[[Any], Callable] | None = None
    """The function for HIPS/autograd, from its NumPy."""
    takes: int | None = None
    """How many of the arguments the function takes: all, if None."""
    by: tuple[int, ...] = (0,)
    """The arguments that it is differentiated by."""
    bound: float = 1e-9
    """The largest difference from the reference, relative to the largest element."""
    notes: dict[str, str] = field(default_factory=dict)
    """What has to be known of a contestant to read its figures."""

    def taken(self, arguments: tuple) -> tuple:
        """The arguments of the function."""
        return arguments[: self.takes]
