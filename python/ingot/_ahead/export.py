"""`@ingot.export`: which functions of a module `python -m ingot build` compiles, for which types and under which names."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from .._calls.function import Function
from .._profile import uncounted
from .._signatures import Signature, parse_signatures
from .._signatures.parameters import checked_keywords, not_a_function

F = TypeVar("F", bound=Callable[..., Any])


class Export(NamedTuple):
    """One function of a library to be."""

    function: Any
    signature: Signature
    name: str


@checked_keywords
def export(signature: Any, name: str | None = None) -> Callable[[F], F]:
    """Have ``python -m ingot build`` compile a function for arguments of these types.

    Parameters
    ----------
    signature : str or type
        ``"float64(float64[:], int64)"``, with or without the type of the result, or ``ingot.float64(ingot.float64[:])``.
    name : str, optional
        The name in the library; by default that of the function.

    Returns
    -------
    callable
        A decorator, which returns its function unchanged. Several of them give a function several signatures, each with
        its own name. The function may be one of `ingot.jit`, whose options then hold.

    Raises
    ------
    TypeError
        `signature` is none, or what is decorated is no function.
    ValueError
        C does not have such a name.

    Notes
    -----
    docs/ahead-of-time.md has the rules.

    Examples
    --------
    >>> @ingot.export("float64(float64[:])")
    ... def total(x):
    ...     return x.sum()
    >>> total(np.ones(3))
    np.float64(3.0)
    """
    parsed = parse_signatures(signature)
    if len(parsed) != 1:
        raise TypeError(f"export() takes one signature, not {len(parsed)}: each has a name of its own, so use the decorator once for each")
    if name is not None:
        checked_name(name)

    def decorate(function: F) -> F:
        own = uncounted(function)
        own = own.__ingot_function__ if isinstance(own, Function) else own
        if not isinstance(own, types.FunctionType):
            raise not_a_function("export", function)
        exports = [*exports_of(own)]
        exports.insert(0, Export(own, parsed[0], name if name is not None else checked_name(own.__name__)))
        own.__ingot_exports__ = exports  # type: ignore[attr-defined]
        return function

    return decorate


def exports_of(function: types.FunctionType) -> list[Export]:
    """The exports of a function, in the order of the decorators. Those of what it wraps are not its own."""
    return [each for each in getattr(function, "__ingot_exports__", ()) if each.function is function]


def checked_name(name: Any) -> str:
    """The name, if C has it."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"the name of an export is an identifier of C, such as `mean_f64`, not {name!r}")
    return name
