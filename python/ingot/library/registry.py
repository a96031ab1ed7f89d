"""Which Python function stands for which host function in compiled code."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

implementations: dict[Any, Callable] = {}
"""Ingot's own."""

users: dict[Any, Callable] = {}
"""Those of users; `changed` is another object after each registration."""

changed = object()

F = TypeVar("F", bound=Callable[..., Any])


def implements(*functions: Any) -> Callable[[F], F]:
    """Give a function or class a definition that compiled code runs instead.

    Parameters
    ----------
    *functions : callable, or descriptor
        Functions, methods (``np.ndarray.clip``, given the array first), attributes of arrays (``np.ndarray.real``), objects
        that are subscripted (``np.mgrid``, given the index), and classes, whose stand-in is called where an instance
        would be made.

    Returns
    -------
    callable
        A decorator, which registers its function and returns it.

    Raises
    ------
    UnsupportedError
        When compiling: a call has keywords that the stand-in does not have.

    Notes
    -----
    Both must agree on values, dtypes, shapes and exceptions. Functions that Ingot knows itself keep their meaning.

    Examples
    --------
    >>> def mean_of(values):  # of another package, and written in C
    ...     return sum(values) / len(values)
    >>> @ingot.implements(mean_of)
    ... def compiled_mean(values):
    ...     total = 0.0
    ...     for value in values:
    ...         total += value
    ...     return total / len(values)
    >>> ingot.jit(lambda x: mean_of(x))(np.array([1.0, 2.0]))
    np.float64(1.5)
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
