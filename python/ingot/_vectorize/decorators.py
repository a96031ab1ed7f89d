"""The decorators `ingot.vectorize` and `ingot.guvectorize`."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, Protocol, overload

import numpy as np

from .._calls.function import Function
from .._calls.jit import relaxations
from .._profile import uncounted
from .._signatures import Signature, is_no_signature, parse_signatures
from .._signatures.parameters import checked_keywords, not_a_function
from . import Vectorized
from .guvectorize import GUFunction

TARGETS = {"cpu": "cpu", "parallel": "parallel", "cuda": "cuda", "gpu": "cuda"}
"""Where calls run, by their names."""


class Decorator(Protocol):
    """What `vectorize` gives for signatures and options."""

    def __call__(self, function: Callable[..., Any], /) -> Vectorized: ...


@overload
def vectorize(
    function: Callable[..., Any],
    /,
    signatures: Any = None,
    *,
    identity: Any = None,
    target: str = "cpu",
    fastmath: bool | str | Iterable[str] = False,
    nopython: bool = True,
    cache: bool = True,
) -> Vectorized: ...
@overload
def vectorize(
    function: str | Signature | tuple[Any, ...] | list[Any] | None = None,
    /,
    signatures: Any = None,
    *,
    identity: Any = None,
    target: str = "cpu",
    fastmath: bool | str | Iterable[str] = False,
    nopython: bool = True,
    cache: bool = True,
) -> Decorator: ...
@checked_keywords
def vectorize(
    function: Any = None,
    /,
    signatures: Any = None,
    *,
    identity: Any = None,
    target: str = "cpu",
    fastmath: bool | str | Iterable[str] = False,
    nopython: bool = True,
    cache: bool = True,
) -> Any:
    """Make a ufunc of a Python function of numbers.

    Used as ``@vectorize``, with options, or with signatures.

    Parameters
    ----------
    function : callable
        The function of one element: numbers in, a number or a tuple of numbers out.
    signatures : str, type, or list of these, optional
        The loops of the ufunc, such as ``["float64(float64, float64)", "float32(float32, float32)"]``: the first one that all
        inputs cast to safely is used. Without them loops are made for the dtypes of each call. May be given first.
    identity : number, "reorderable" or None, default None
        The identity of reductions.
    target : {"cpu", "parallel", "cuda", "gpu"}, default "cpu"
        ``"parallel"`` shares the elements of large arrays among threads, ``"cuda"`` and ``"gpu"`` run calls on a device.
    fastmath : bool, str or iterable of str, default False
        As of `jit`.
    nopython, cache
        Options of Numba, accepted and without effect.

    Returns
    -------
    Vectorized
        With what NumPy's ufuncs have: broadcasting, ``out=``, ``where=``, ``dtype=``, ``casting=``, `reduce`, `accumulate`,
        `reduceat`, `outer`, `at`. Compiled functions may call it on arrays and on numbers.

    Raises
    ------
    UnsupportedError
        By a call: the function cannot be compiled.
    TypeError
        No signature takes the dtypes of a call.

    See Also
    --------
    guvectorize : Functions of whole axes.
    numpy.ufunc : What it returns.

    Notes
    -----
    An exception of the function for an element leaves the call.

    Examples
    --------
    >>> @ingot.vectorize
    ... def clipped(x, most):
    ...     return x if x < most else most
    >>> clipped(np.arange(5), 3)
    array([0, 1, 2, 3, 3])
    >>> clipped.reduce(np.array([4, 2, 7]))
    np.int64(2)
    """
    if target not in TARGETS:
        raise ValueError(f"vectorize() has no target {target!r}")
    target = TARGETS[target]
    if identity is not None and identity != "reorderable" and not isinstance(identity, (bool, int, float, complex, np.generic)):
        raise ValueError(f"an identity is a number, 'reorderable' or None, not {identity!r}")
    relaxed = relaxations(fastmath)
    given = None
    function = uncounted(function)
    if isinstance(function, (types.FunctionType, Function, Vectorized)):
        given = function
    elif function is not None:
        if is_no_signature(function):
            raise not_a_function("vectorize", function)
        signatures = function
    parsed = parse_signatures(signatures) if signatures is not None else None
    kind = Vectorized
    if target == "cuda":
        from .devices import DeviceVectorized

        kind = DeviceVectorized

    def decorate(f: Any) -> Vectorized:
        f = uncounted(f)
        if not isinstance(f, (types.FunctionType, Function, Vectorized)):
            raise not_a_function("vectorize", f)
        plain = f if isinstance(f, types.FunctionType) else f.__ingot_function__
        return kind(plain, parsed or None, identity, target, relaxed)

    return decorate if given is None else decorate(given)


@checked_keywords
def guvectorize(
    signatures: Any,
    layout: str | None = None,
    *,
    target: str = "cpu",
    fastmath: bool | str | Iterable[str] = False,
    cache: bool = True,
    nopython: bool = True,
) -> Callable[[Callable[..., Any]], GUFunction]:
    """Make a generalised ufunc: a function of whole axes, applied over all axes before them.

    Parameters
    ----------
    signatures : str, type, or list of these
        As of `jit`, without a result: inputs, then outputs. With a layout alone (``@guvectorize("(n)->(n)")``) the function is
        compiled for the dtypes of each call, which has arrays for the outputs.
    layout : str
        Core dimensions in NumPy's notation: ``"(m,n),(n)->(m)"``. A number is a length. Without ``->`` there is no result: the
        function writes into its arguments.
    target : {"cpu", "parallel", "cuda", "gpu"}, default "cpu"
        ``"cuda"`` and ``"gpu"`` run calls on a device.
    fastmath, cache
        As of `jit`.
    nopython : bool
        An option of Numba, accepted and without effect.

    Returns
    -------
    callable
        The decorator. The `GUFunction` that it makes is called as NumPy's generalised ufuncs are, with ``out=``, ``axis=``,
        ``axes=``, ``keepdims=``, ``dtype=`` and ``casting=``.

    Raises
    ------
    TypeError
        No signature takes the dtypes of a call.
    ValueError
        Core dimensions of a call differ.

    See Also
    --------
    vectorize : Functions of numbers.

    Notes
    -----
    The function reads inputs and writes into outputs; an output without axes is an array of one element.

    Examples
    --------
    >>> @ingot.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    ... def mean(x, out):
    ...     out[0] = x.sum() / len(x)
    >>> mean(np.arange(6.0).reshape(2, 3))
    array([1., 4.])
    """
    if target not in TARGETS:
        raise ValueError(f"guvectorize() has no target {target!r}")
    if layout is None:
        if not isinstance(signatures, str):
            raise TypeError("guvectorize() takes a layout, such as '(n)->(n)', after the signatures")
        signatures, layout = (), signatures
        if "->" not in layout or TARGETS[target] == "cuda":
            raise TypeError("guvectorize() without signatures takes a layout with outputs, such as '(n)->(n)', and no device")
    relaxed = relaxations(fastmath)
    kind = GUFunction
    if TARGETS[target] == "cuda":
        from .devices import DeviceGUFunction

        kind = DeviceGUFunction

    def decorate(given: Any) -> GUFunction:
        function = uncounted(given)
        function = function.__ingot_function__ if isinstance(function, Function) else function
        if not isinstance(function, types.FunctionType):
            raise not_a_function("guvectorize", function)
        return kind(function, parse_signatures(signatures) if signatures else [], layout, relaxed, cache)

    return decorate
