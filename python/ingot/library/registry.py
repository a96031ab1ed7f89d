"""Which Python function stands for which host function in compiled code."""

from collections.abc import Callable
from typing import NoReturn, TypeVar

from ingot._errors import UnsupportedError

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


def unsupported(reason: str, advice: str) -> NoReturn:
    """Where a stand-in is compiled: refuses the call."""
    raise UnsupportedError(f"{reason} is not supported\n  instead: {advice}")
