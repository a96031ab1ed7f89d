"""Which Python function stands for which host function in compiled code."""

from collections.abc import Callable
from typing import Any, TypeVar

implementations: dict[Any, Callable] = {}

F = TypeVar("F", bound=Callable)


def implements(*functions: Any) -> Callable[[F], F]:
    """Makes the decorated Python function what compiled code runs where it calls one of `functions`.

    These are functions, methods (`np.ndarray.clip`, given the array first), attributes of arrays (`np.ndarray.real`),
    and objects that are subscripted (`np.mgrid`, given the index). They and the stand-in must agree on values, dtypes,
    shapes and exceptions; keywords that the stand-in does not name are refused.
    """

    def register(stand_in: F) -> F:
        for function in functions:
            implementations[function] = stand_in
        return stand_in

    return register
