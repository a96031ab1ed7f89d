"""Which Python function stands for which host function in compiled code."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

implementations: dict[Any, Callable] = {}
"""Ingot's own."""

users: dict[Any, Callable] = {}
"""Those of users; `changed` is another object after each registration."""

changed = object()

F = TypeVar("F", bound=Callable)


def implements(*functions: Any) -> Callable[[F], F]:
    """Makes the decorated Python function what compiled code runs where it calls one of `functions`.

    These are functions, methods (`np.ndarray.clip`, given the array first), attributes of arrays (`np.ndarray.real`),
    and objects that are subscripted (`np.mgrid`, given the index). They and the stand-in must agree on values, dtypes,
    shapes and exceptions; keywords that the stand-in does not name are refused. Users' own functions, classes and
    methods may have stand-ins too, and those of other packages::

        @ingot.implements(scipy.special.expit)
        def expit(x):
            return 1 / (1 + np.exp(-x))

    A class's stand-in is called where an instance would be made; a method's (`Table.find`) is given the instance first.
    Functions that Ingot knows itself keep their meaning.
    """

    def register(stand_in: F) -> F:
        global changed
        own = stand_in.__module__.startswith("ingot.library.")
        for function in functions:
            (implementations if own else users)[function] = stand_in
        if not own:
            changed = object()
        return stand_in

    return register


def routine(function: F) -> F:
    """Has calls of a Python function stay calls in compiled code until all passes that look for them have run.

    The function's body runs instead of those calls that no pass has replaced.
    """
    if inspect.isgeneratorfunction(function):
        raise TypeError(f"{function.__qualname__} is a generator's function, which is no routine")
    function.__ingot_routine__ = True  # type: ignore[attr-defined]
    return function
