"""`@ingot.jit`: what the decorator takes, and what it makes of a function."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, overload

from .._devices import Device, checked, limited_by_others
from .._environment import is_disabled
from .._profile import label_of, uncounted
from .._signatures import Signature, Type, is_no_signature, parse_signatures
from .._signatures.parameters import checked_keywords, not_a_function
from .._signatures.static import static
from .function import Function, jitted_again, transformed, updated_by_autoreload
from .tiers import TIERS

if TYPE_CHECKING:
    from .schedules import Directive, Schedule

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


RELAXATIONS = ("nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")


def relaxations(fastmath: bool | str | Iterable[str]) -> tuple[str, ...]:
    """The names, in order, of what `fastmath` allows: all of them (True, "fast"), none (False), or those given."""
    if isinstance(fastmath, bool):
        return RELAXATIONS if fastmath else ()
    names = {fastmath} if isinstance(fastmath, str) else set(fastmath)
    if unknown := names - {*RELAXATIONS, "fast"}:
        raise ValueError(f"fastmath knows {', '.join(RELAXATIONS)} and fast, not {sorted(map(str, unknown))[0]!r}")
    return RELAXATIONS if "fast" in names else tuple(name for name in RELAXATIONS if name in names)


_BOUND = (types.MethodType, functools.partial)
"""Functions with values bound to them."""


def _calling(bound: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls a method or partial, of which it looks at the values in each call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return bound(*args, **kwargs)

    return call


def _directives(schedule: Any) -> tuple[Directive, ...]:
    from .schedules import Schedule

    if not isinstance(schedule, Schedule):
        raise TypeError(f"a schedule is made by ingot.schedule(), not a {type(schedule).__name__}")
    return schedule._directives


_TAKES_MORE = 0x04 | 0x08
"""The flags of code with ``*args`` or ``**kwargs``."""


def _check_arrays(directives: tuple[Directive, ...], function: types.FunctionType) -> None:
    """Raises ValueError where steps name an argument that a function does not have."""
    code = function.__code__
    if code.co_flags & _TAKES_MORE:
        return
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for each in directives:
        if each.array and each.array not in names:
            raise ValueError(f"the schedule names the array {each.array!r}, which is no argument of {function.__name__}: {', '.join(names) or 'it has none'}")


class Decorator(Protocol):
    """What `jit` gives for signatures and options."""

    def __call__(self, function: Callable[P, R_co], /) -> Function[P, R_co]: ...


@overload
def jit(
    function: Callable[P, R_co],
    /,
    signatures: Any = None,
    *,
    fastmath: bool | str | Iterable[str] = False,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    device: str | Device | None = None,
    cache: bool = True,
    tier: str = "auto",
    parallel: bool = True,
    schedule: Schedule | None = None,
    nopython: bool = True,
    nogil: bool = False,
    boundscheck: bool | None = None,
    error_model: Literal["python", "numpy"] = "python",
    inline: str | Callable[..., Any] = "never",
    forceinline: bool = False,
    locals: Mapping[str, Any] | None = None,
) -> Function[P, R_co]: ...
@overload
def jit(
    function: str | Signature | tuple[Type, ...] | list[Any] | None = None,
    /,
    signatures: Any = None,
    *,
    fastmath: bool | str | Iterable[str] = False,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    device: str | Device | None = None,
    cache: bool = True,
    tier: str = "auto",
    parallel: bool = True,
    schedule: Schedule | None = None,
    nopython: bool = True,
    nogil: bool = False,
    boundscheck: bool | None = None,
    error_model: Literal["python", "numpy"] = "python",
    inline: str | Callable[..., Any] = "never",
    forceinline: bool = False,
    locals: Mapping[str, Any] | None = None,
) -> Decorator: ...
@checked_keywords
def jit(
    function: Any = None,
    /,
    signatures: Any = None,
    *,
    fastmath: bool | str | Iterable[str] = False,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    device: str | Device | None = None,
    cache: bool = True,
    tier: str = "auto",
    parallel: bool = True,
    schedule: Schedule | None = None,
    nopython: bool = True,
    nogil: bool = False,
    boundscheck: bool | None = None,
    error_model: Literal["python", "numpy"] = "python",
    inline: str | Callable[..., Any] = "never",
    forceinline: bool = False,
    locals: Mapping[str, Any] | None = None,
) -> Any:
    """Compile a Python function for the arguments it is called with.

    Used as ``@jit``, with options (``@jit(fastmath=True)``) or with signatures (``@jit("float64(float64[:])")``). Values,
    dtypes, shapes, writes into arguments and exceptions are those of Python and NumPy.

    Parameters
    ----------
    function : callable
        The function.
    signatures : str, type, or list of these, optional
        Only these argument types are compiled, and other arguments are converted or raise TypeError. May be given first.
    fastmath : bool, str or iterable of str, default False
        What float arithmetic in the function and its callees need not keep: ``nnan``, ``ninf``, ``nsz``, ``arcp``,
        ``contract``, ``afn``, ``reassoc``; True or ``"fast"``: all of them.
    static_argnums, static_argnames : int or str, or several, optional
        Arguments whose values are constants of the code: each value has a specialisation of its own. Must be hashable.
    device : str or Device, optional
        Where calls run, for example ``"gpu"``: NumPy arrays are copied there and back. By default where the arrays are.
    cache : bool, default True
        Whether compiled code is stored on disk, from which the next process loads it.
    tier : {"auto", "quick", "full"}, default "auto"
        The code that calls run: quickly compiled code, full code, or the first until the second has been compiled.
    parallel : bool, default True
        False runs `prange` as `range`.
    schedule : Schedule, optional
        How loops run: see `schedule`.
    nopython, nogil, boundscheck, error_model, inline, forceinline, locals
        Options of Numba, accepted and without effect.

    Returns
    -------
    Function
        The compiled function, called as the Python function is; with options or signatures alone, the decorator.
        With ``INGOT_DISABLE=1`` in the environment, the Python function itself.

    Raises
    ------
    UnsupportedError
        By a call: its code cannot be compiled. The message has the line, the reason and what to write instead.
    TypeError, ValueError
        The options are wrong; by a call: no signature takes the arguments, or a static argument is not hashable.

    See Also
    --------
    vectorize : Make a ufunc of a function of numbers.
    grad : Derivatives of a function.
    vmap : A function for all elements of a batch.
    ingot.cuda.jit : Kernels.

    Notes
    -----
    The rules are in docs/semantics.md, docs/language.md (what compiles) and docs/cache.md. `njit` is `jit`.

    Examples
    --------
    >>> @ingot.jit
    ... def norm(x):
    ...     total = 0.0
    ...     for value in x:
    ...         total += value * value
    ...     return total**0.5
    >>> norm(np.array([3.0, 4.0]))
    np.float64(5.0)
    >>> norm([3, 4])
    5.0
    >>> [s.why for s in norm.specialisations]
    ['the first call', 'arguments of other types']

    With a signature, only its types are compiled:

    >>> @ingot.jit("float64(float64)")
    ... def half(x):
    ...     return x / 2
    >>> half(3)
    np.float64(1.5)
    >>> half("3")
    Traceback (most recent call last):
        ...
    TypeError: no signature of `half` takes (str); there are
      float64(float64)
    """
    relaxed = relaxations(fastmath)
    where = checked(device)
    if tier not in TIERS:
        raise ValueError(f"tier is auto, quick or full, not {tier!r}")
    directives = _directives(schedule) if schedule is not None else ()
    is_function = isinstance(uncounted(function), (types.FunctionType, Function, *_BOUND))
    if function is not None and not is_function:
        if is_no_signature(function):
            raise not_a_function("jit", function)
        signatures = function
    parsed = parse_signatures(signatures, nested=True) if signatures is not None else None
    if parsed is not None and (static_argnums is not None or static_argnames is not None):
        raise TypeError("static arguments of a function with signatures: the types of these give no values")

    def decorate(given: Any) -> Any:
        f = uncounted(given)
        if isinstance(f, _BOUND) and parsed is None and static_argnums is None and static_argnames is None:
            return transformed(decorate(_calling(f)), f, "jit") if not is_disabled() else f
        if not isinstance(f, (types.FunctionType, Function)):
            raise not_a_function("jit", f)
        own = f.__ingot_function__ if isinstance(f, Function) else f
        constant = static(own, static_argnums, static_argnames)
        _check_arrays(directives, own)
        if is_disabled():
            return own
        updated_by_autoreload()
        limited_by_others()
        made: Function = Function(own, parsed, relaxed=relaxed, static=constant, device=where)
        if isinstance(f, Function) and f._shown:
            jitted_again(made, f)
        made._is_stored, made._tier, made._in_order, made._directives = bool(cache), tier, not parallel, directives
        if (label := label_of(given)) is not None:
            made._profile_as(label)
        return made

    if is_function:
        return decorate(function)
    decorate.__pandas_udf__ = Engine  # type: ignore[attr-defined]
    return decorate


class Engine:
    """What pandas calls for `engine=ingot.jit`, as its `BaseExecutionEngine` requires."""

    @staticmethod
    def map(data: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], decorator: Any, skip_na: bool) -> Any:
        """The function of each element, as a number of Python's."""
        import numpy as np

        compiled = _compiled(func, decorator)
        values = np.asarray(data)
        made = [x if skip_na and x != x else compiled(x, *args, **kwargs) for x in values.ravel().tolist()]
        return made if values.ndim == 1 else np.array(made).reshape(values.shape)

    @staticmethod
    def apply(data: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], decorator: Any, axis: Any) -> Any:
        """The function of each column, or row, as an array."""
        import numpy as np

        if not isinstance(data, np.ndarray):
            raise ValueError("compiled functions take arrays: pass raw=True with engine=ingot.jit")
        compiled = _compiled(func, decorator)
        by_column = axis in (0, "index")
        made = [np.asarray(compiled(x, *args, **kwargs)) for x in (data.T if by_column else data)]
        return np.stack(made, axis=-1 if by_column else 0)


def _compiled(function: Callable[..., Any], decorator: Any) -> Callable[..., Any]:
    return function if isinstance(function, Function) else (decorator or jit)(function)


jit.__pandas_udf__ = Engine  # type: ignore[attr-defined]
njit = jit
