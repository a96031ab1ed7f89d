"""Assertions for tests of numerical programs: shapes, dtypes, structures, and what compiling may not change.

Those of arrays and structures may be called in compiled functions, too, where they raise what they raise in Python.
docs/guides/test.md shows how they go together.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as _np
from numpy.lib.array_utils import byte_bounds as _byte_bounds

from ._calls.function import Function as _Function
from ._calls.jit import jit as _jit
from ._environment import is_disabled as _is_disabled
from ._transforms.batching import vmap as _vmap
from ._transforms.derivatives import check_grads
from .library.structures import leaves as _leaves
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
    args, kwargs = _copied((args, kwargs))
    try:
        return f(*args, **kwargs), None, (args, kwargs)
    except Exception as error:
        return None, error, (args, kwargs)


def _copied(tree: Any) -> Any:
    """A copy whose arrays have the strides and flags of the others, and share memory where these do."""
    found = {id(x): x for x in _leaves(tree) if type(x) is _np.ndarray and not x.dtype.hasobject and x.nbytes > 0}
    ranges = sorted((*_byte_bounds(x), key) for key, x in found.items())
    known: dict[int, Any] = {}
    while ranges:
        low, high, _ = ranges[0]
        together = []
        while ranges and ranges[0][0] < high:
            _, end, key = ranges.pop(0)
            high = max(high, end)
            together.append(found[key])
        room = _np.empty(high - low + 64, _np.uint8)
        shift = (low - room.ctypes.data) % 64
        ctypes.memmove(room.ctypes.data + shift, low, high - low)
        for x in together:
            own: Any = _np.ndarray(x.shape, x.dtype, room, x.ctypes.data - low + shift, x.strides)
            own.flags.writeable = x.flags.writeable
            known[id(x)] = own
    return copy.deepcopy(tree, known)


def _ways(f: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A function as Python runs it, and compiled: with the options of `ingot.jit` where it has made the function."""
    if _is_jitted(f):
        return f.__ingot_function__, f
    return f, _jit(f)


def _is_jitted(f: Any) -> bool:
    return isinstance(f, _Function) and not f._shown


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
    raises: type[Exception] | tuple[type[Exception], ...] = (),
    rtol: float | None = None,
    atol: float = 0.0,
) -> Any:
    """Raise AssertionError unless a function does the same in Python and compiled.

    Parameters
    ----------
    f : callable
        A Python function, or one that `ingot.jit` has compiled, whose options it keeps. Others, such as those of decorators and of
        `ingot.grad`, are called as they are, and compiled as they are.
    args : tuple or list
        Its arguments. Each call gets a copy, in which arrays share memory, and have the strides and flags, as here.
    kwargs : dict, optional
        Its keyword arguments.
    in_axes : int, tuple or None
        As of `ingot.vmap`: the arguments are batches. The function is called with each element, and `ingot.vmap` of it with
        all.
    grad : bool, default False
        Check its derivatives, too, as `check_grads` does; of a batch for each element. Where it raises, there are none.
    raises : type or tuple of types, optional
        The exception that it has to raise, of a batch for one element at least. Any other one is raised.
    rtol, atol : float, optional
        Tolerances, as of `assert_trees_close`. With ``rtol=0`` the same numbers are asked for: 0.0 and -0.0 are, and so is any NaN.

    Returns
    -------
    object
        What the function gives in Python, or for each element in a list; the exception, where it raises one.

    Raises
    ------
    AssertionError
        Values, dtypes, structures, types of exceptions, their messages, or what has become of arguments differ; or nothing is raised
        where `raises` is given.
    TypeError
        `args` is no tuple or list.

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
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args is a tuple of arguments, not {type(args).__name__}")
    (python, compiled), named, args = _ways(f), kwargs or {}, tuple(args)
    same = functools.partial(_same_call, python, compiled, raises=raises, rtol=rtol, atol=atol)
    if in_axes is None:
        result, error, _ = same(args, named)
        if raises and error is None:
            raise AssertionError(f"no exception is raised, not {_named(raises)}")
        if grad and error is None:
            check_grads(functools.partial(python, **named) if named else python, args)
        return result if error is None else error
    if named:
        raise ValueError("keyword arguments with `in_axes`: a batch is given by position")
    elements = _elements(args, in_axes)
    outcomes = [same(element, {}) for element in elements]
    error = next((error for _, error, _ in outcomes if error is not None), None)
    if raises and error is None:
        raise AssertionError(f"no exception is raised, not {_named(raises)}")
    if grad:
        for element, (_, raised, _) in zip(elements, outcomes, strict=True):
            if raised is None:
                check_grads(python, element)
    found, raised, (own, _) = _outcome(_jit(_vmap(python, in_axes)), args, {})
    _compare_exceptions("vmap", raised, error)
    if raised is None:
        _compare("vmap: the result", found, _map(lambda *parts: _np.stack(parts), *[result for result, _, _ in outcomes]), rtol, atol)
        _compare("vmap: args", _elements(own, in_axes), [after for _, _, (after, _) in outcomes], rtol, atol)
    return [result if error is None else error for result, error, _ in outcomes]


def _same_call(
    python: Callable[..., Any], compiled: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], raises: Any, rtol: Any, atol: float
) -> tuple[Any, BaseException | None, Any]:
    expected, error, after = _outcome(python, args, kwargs)
    if error is not None and not isinstance(error, raises):
        error.add_note("(in Python; give `raises` where it has to be raised)")
        raise error
    for what in ("the first compiled call", "the second compiled call"):
        found, raised, own = _outcome(compiled, args, kwargs)
        _compare_exceptions(what, raised, error)
        if error is None:
            _compare(f"{what}: the result", found, expected, rtol, atol)
        for name, one, other in zip(("args", "kwargs"), own, after, strict=True):
            _compare(f"{what}: {name}", one, other, rtol, atol)
    return expected, error, after


def _named(raises: Any) -> str:
    return " or ".join(kind.__name__ for kind in (raises if isinstance(raises, tuple) else (raises,)))


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
        _along(arg, axis, lambda leaf, axis: lengths.add(_np.shape(leaf)[axis]))
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"batches of one length are needed, not of {sorted(lengths) or 'none'}")

    def element(i: int) -> tuple[Any, ...]:
        return tuple(_along(arg, axis, lambda leaf, axis: _np.take(leaf, i, axis)) for arg, axis in zip(args, axes, strict=True))

    return [element(i) for i in range(lengths.pop())]


def _along(arg: Any, axis: Any, f: Callable[[Any, int], Any]) -> Any:
    """An argument with f(array, axis) for each array of a batch; the axis of a structure is one for all arrays, or a structure."""
    if axis is None:
        return arg
    if isinstance(axis, dict) and isinstance(arg, dict) and axis.keys() == arg.keys():
        return {key: _along(arg[key], axis[key], f) for key in arg}
    if isinstance(axis, (tuple, list)) and type(arg) is type(axis) and len(axis) == len(arg):
        return type(arg)([_along(part, own, f) for part, own in zip(arg, axis, strict=True)])
    if not isinstance(axis, int):
        raise TypeError(f"in_axes has numbers, None and structures of these as the arguments are, not {axis!r}")

    def of_leaf(leaf: Any) -> Any:
        if not -_np.ndim(leaf) <= axis < _np.ndim(leaf):
            raise ValueError(f"in_axes is {axis} for an array of the shape {_np.shape(leaf)}")
        return f(leaf, axis)

    return _map(of_leaf, arg)


def with_and_without_jit(test: Callable[..., Any]) -> Callable[..., None]:
    """Run a test twice: with `ingot.jit`, and in Python.

    Parameters
    ----------
    test : callable
        A function of a decorator, the parameter `jit`, and what else it takes: fixtures and parameters of pytest.

    Returns
    -------
    callable
        The test, without the parameter `jit`.

    Raises
    ------
    TypeError
        The test has no such parameter, or is a coroutine or generator, which a call does not run.

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

    signature = inspect.signature(test)
    found = signature.parameters.get("jit")
    if found is None or found.kind in (found.VAR_POSITIONAL, found.VAR_KEYWORD):
        raise TypeError(f"{test.__qualname__} takes no `jit`")
    if inspect.iscoroutinefunction(test) or inspect.isgeneratorfunction(test) or inspect.isasyncgenfunction(test):
        raise TypeError(f"{test.__qualname__} is a coroutine or generator: calling it runs nothing")
    shown = signature.replace(parameters=[one for one in signature.parameters.values() if one is not found])

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        given = shown.bind(*args, **kwargs).arguments
        for name, jit in (("without jit", _plain), ("with jit", _jit)):
            own = inspect.BoundArguments(signature, OrderedDict({**given, "jit": jit}))
            try:
                test(*own.args, **own.kwargs)
            except BaseException as error:
                error.add_note(f"({name})")
                raise

    run.__signature__ = shown  # type: ignore[attr-defined]
    return run


def _plain(function: Any = None, /, *signatures: Any, **options: Any) -> Any:
    """Called as `ingot.jit`, returns the function as it is."""
    is_function = callable(function) and not isinstance(function, type)
    if not is_function:
        return _plain
    return function.__ingot_function__ if _is_jitted(function) else function


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
    Code that comes from the cache on disk counts as if it were compiled. Where ``INGOT_DISABLE`` is set, nothing is.

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
    if not functions:
        raise TypeError("no function is given")
    if _is_disabled():
        yield
        return
    for f in functions:
        if not hasattr(f, "specialisations"):
            raise TypeError(f"a compiled function has specialisations, {f!r} has none")
    functions = tuple({id(f): f for f in functions}.values())
    before = [list(f.specialisations) for f in functions]
    yield
    made = [one for f, known in zip(functions, before, strict=True) for one in f.specialisations if not any(one is other for other in known)]
    if len(made) > most:
        number = f"{len(made)} specialisation{'s' if len(made) > 1 else ''}"
        raise AssertionError("\n  ".join([f"{number} more, {most} are allowed:", *map(repr, made)]))


def __dir__() -> list[str]:
    return sorted(__all__)
