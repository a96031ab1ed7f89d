"""Assertions for tests of numerical programs: shapes, dtypes, structures, and what compiling may not change.

Those of arrays and structures may be called in compiled functions, too, where they raise what they raise in Python.
docs/guides/test.md shows how they go together.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as _np

from ._calls.jit import jit as _jit
from ._transforms.batching import vmap as _vmap
from ._transforms.derivatives import check_grads
from .library.structures import map as _map
from .library.testing import (
    assert_dtypes,
    assert_finite,
    assert_no_nan,
    assert_ranks,
    assert_shapes,
    assert_trees_close,
    assert_trees_equal,
)

__all__ = [
    "assert_dtypes",
    "assert_finite",
    "assert_no_nan",
    "assert_ranks",
    "assert_same",
    "assert_shapes",
    "assert_trees_close",
    "assert_trees_equal",
    "check_grads",
    "limit_specialisations",
    "with_and_without_jit",
]


def _outcome(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, BaseException | None, Any]:
    """What a call gives, or raises, and its arguments afterwards."""
    args, kwargs = copy.deepcopy((args, kwargs))
    try:
        return f(*args, **kwargs), None, (args, kwargs)
    except Exception as error:
        return None, error, (args, kwargs)


def _compare(what: str, found: Any, expected: Any, rtol: float | None, atol: float) -> None:
    try:
        assert_trees_close(expected, found, rtol=rtol, atol=atol)
    except AssertionError as error:
        text = f"{error}".removeprefix("argument 1").replace("than argument 0", "than in Python", 1)
        raise AssertionError(f"{what}{text}") from None


def assert_same(
    f: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    in_axes: Any = None,
    grad: bool = False,
    rtol: float | None = None,
    atol: float = 0.0,
) -> Any:
    """Raise AssertionError unless a function does the same in Python and compiled.

    Parameters
    ----------
    f : callable
        A Python function, or one that `ingot.jit` has compiled.
    args : tuple
        Its arguments. Each call gets a copy.
    kwargs : dict, optional
        Its keyword arguments.
    in_axes : int, tuple or None
        As of `ingot.vmap`: the arguments are batches. The function is called with each element, and `ingot.vmap` of it with
        all.
    grad : bool, default False
        Check its derivatives, too, as `check_grads` does.
    rtol, atol : float, optional
        Tolerances, as of `assert_trees_close`. With ``rtol=0`` the same numbers are asked for.

    Returns
    -------
    object
        What the function gives in Python, or for each element in a list; the exception, where it raises one.

    Raises
    ------
    AssertionError
        Values, dtypes, structures, types of exceptions, their messages, or what has become of arguments differ.

    See Also
    --------
    with_and_without_jit : A test runs twice.

    Notes
    -----
    The compiled function is called twice.

    Examples
    --------
    >>> from ingot import testing
    >>> testing.assert_same(lambda x: np.sin(x) * x, (np.array([1.0, 2.0]),))
    array([0.84147098, 1.81859485])
    >>> testing.assert_same(lambda x, y: x @ y, (np.ones((4, 3)), np.arange(3.0)), in_axes=(0, None))
    [np.float64(3.0), np.float64(3.0), np.float64(3.0), np.float64(3.0)]
    """
    python, named = getattr(f, "__wrapped__", f), kwargs or {}
    if in_axes is None:
        result = _same_call(python, args, named, rtol, atol)
        if grad:
            check_grads(functools.partial(python, **named) if named else python, args)
        return result
    if named:
        raise ValueError("keyword arguments with `in_axes`: a batch is given by position")
    elements = _elements(args, in_axes)
    results = [_same_call(python, element, {}, rtol, atol) for element in elements]
    if grad:
        check_grads(python, elements[0])
    error = next((result for result in results if isinstance(result, BaseException)), None)
    found, raised, _ = _outcome(_jit(_vmap(python, in_axes)), args, {})
    _compare_exceptions("vmap", raised, error)
    if raised is None:
        _compare("vmap: the result", found, _map(lambda *parts: _np.stack(parts), *results), rtol, atol)
    return results


def _same_call(python: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], rtol: float | None, atol: float) -> Any:
    expected, error, after = _outcome(python, args, kwargs)
    compiled = _jit(python)
    for what in ("the first compiled call", "the second compiled call"):
        found, raised, own = _outcome(compiled, args, kwargs)
        _compare_exceptions(what, raised, error)
        if error is None:
            _compare(f"{what}: the result", found, expected, rtol, atol)
        for name, one, other in zip(("args", "kwargs"), own, after, strict=True):
            _compare(f"{what}: {name}", one, other, rtol, atol)
    return expected if error is None else error


def _compare_exceptions(what: str, raised: BaseException | None, expected: BaseException | None) -> None:
    if (type(raised), f"{raised}") == (type(expected), f"{expected}"):
        return
    texts = [f"{type(error).__name__}: {error}" if error is not None else "no exception" for error in (raised, expected)]
    raise AssertionError(f"{what} raises {texts[0]}\nnot {texts[1]}") from raised


def _elements(args: tuple[Any, ...], in_axes: Any) -> list[tuple[Any, ...]]:
    """The arguments of each call that a batch stands for."""
    axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(axes) != len(args):
        raise ValueError(f"in_axes has {len(axes)} entries for {len(args)} arguments")
    lengths: set[int] = set()
    for arg, axis in zip(args, axes, strict=True):
        if axis is not None:
            _map(lambda leaf, axis=axis: lengths.add(_np.shape(leaf)[axis]), arg)
    if len(lengths) != 1:
        raise ValueError(f"batches of one length are needed, not of {sorted(lengths) or 'none'}")

    def at(i: int) -> tuple[Any, ...]:
        return tuple(
            arg if axis is None else _map(lambda leaf, axis=axis: _np.take(leaf, i, axis), arg) for arg, axis in zip(args, axes, strict=True)
        )

    return [at(i) for i in range(lengths.pop())]


def with_and_without_jit(test: Callable[..., Any]) -> Callable[..., None]:
    """Run a test twice: with `ingot.jit`, and in Python.

    Parameters
    ----------
    test : callable
        A function of a decorator, `jit`, and what else it takes: fixtures and parameters of pytest.

    Returns
    -------
    callable
        The test, without its first parameter.

    See Also
    --------
    assert_same : Compare what both do.

    Examples
    --------
    >>> from ingot import testing
    >>> @testing.with_and_without_jit
    ... def test_total(jit):
    ...     total = jit(lambda x: x.sum())
    ...     assert total(np.arange(4.0)) == 6
    >>> test_total()
    """

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        before, rest = args[: int(is_method)], args[int(is_method) :]
        for name, jit in (("without jit", _plain), ("with jit", _jit)):
            try:
                test(*before, jit, *rest, **kwargs)
            except BaseException as error:
                error.add_note(f"({name})")
                raise

    parameters = list(inspect.signature(test).parameters.values())
    is_method = bool(parameters) and parameters[0].name == "self"
    if not parameters[is_method:]:
        raise TypeError(f"{test.__qualname__} takes no `jit`")
    del parameters[int(is_method)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _plain(function: Any = None, /, *signatures: Any, **options: Any) -> Any:
    """Called as `ingot.jit`, returns the function as it is."""
    is_function = callable(function) and not isinstance(function, type)
    return getattr(function, "__wrapped__", function) if is_function else _plain


@contextlib.contextmanager
def limit_specialisations(*functions: Any, most: int = 0) -> Iterator[None]:
    """Raise AssertionError where a block compiles functions more often than it may.

    Parameters
    ----------
    *functions : Function
        What `ingot.jit`, `ingot.grad`, `ingot.vmap` and the like return.
    most : int, default 0
        How many specialisations the block may add, to all together: one for each description of arguments, and one where what a
        function has read outside has changed.

    Yields
    ------
    None
        The block of ``with``.

    Raises
    ------
    AssertionError
        There are more; the message has each, and why it was made.

    Notes
    -----
    Code that comes from the cache on disk counts as if it were compiled.

    Examples
    --------
    >>> from ingot import testing
    >>> double = ingot.jit(lambda x: 2 * x)
    >>> with testing.limit_specialisations(double, most=1):
    ...     for x in (1.0, 2.0, 3.0):
    ...         _ = double(x)
    >>> with testing.limit_specialisations(double):
    ...     double(1)
    Traceback (most recent call last):
    AssertionError: 1 specialisation more, 0 are allowed:
      <specialisation (x: int): arguments of other types>
    """
    for f in functions:
        if not hasattr(f, "specialisations"):
            raise TypeError(f"a compiled function has specialisations, {f!r} has none")
    before = [list(f.specialisations) for f in functions]
    yield
    made = [one for f, known in zip(functions, before, strict=True) for one in f.specialisations if not any(one is other for other in known)]
    if len(made) > most:
        number = f"{len(made)} specialisation{'s' if len(made) > 1 else ''}"
        raise AssertionError("\n  ".join([f"{number} more, {most} are allowed:", *map(repr, made)]))


def __dir__() -> list[str]:
    return sorted(__all__)
