"""Which Python function stands for which host function in compiled code."""

from collections.abc import Callable
from typing import TypeVar

implementations: dict[Callable, Callable] = {}

F = TypeVar("F", bound=Callable)


def implements(function: Callable) -> Callable[[F], F]:
    """Makes the decorated Python function what compiled code runs where it calls `function`.

    Both must agree on values, dtypes, shapes and exceptions; keywords the stand-in does not name are refused.
    """

    def register(stand_in: F) -> F:
        implementations[function] = stand_in
        return stand_in

    return register
