"""`@ingot.stencil`: a function of an element's neighbours, as a function of whole arrays."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, overload

import numpy as np

from .. import _errors
from .._calls.function import Function, transformed
from .._calls.jit import jit
from .._code import source
from .._environment import is_disabled
from .._profile import uncounted
from .._signatures.parameters import checked_keywords, not_a_function, parameters_of

_OF_WHOLE = ("shape", "ndim", "size", "dtype")
"""What a kernel may ask of an array that it reads by relative indices."""


class Decorator(Protocol):
    """What `stencil` gives for options."""

    def __call__(self, function: Callable[..., Any], /) -> Function[..., Any]: ...


class _Kernel:
    """What the source of a kernel shows: which parameters it subscripts, and with what."""

    def __init__(self, function: types.FunctionType, standard: tuple[str, ...]) -> None:
        self.function = function
        self.node, self.file, _ = source.find(function)
        parameters = parameters_of(function)
        if parameters.positional != len(parameters.names) or not parameters.names:
            raise self.refusal(self.node, "`*args`, `**kwargs`, a keyword-only parameter, or none, of the kernel of a stencil", "name each argument")
        self.names = parameters.names
        if parameters.names[0] in standard:
            raise ValueError("the first array of a stencil has relative indices: it is not in standard_indexing")
        for name in standard:
            if name not in parameters.names:
                raise ValueError(f"standard_indexing names {name!r}, but the parameters are {', '.join(parameters.names)}")
        body = self.node.body if isinstance(self.node.body, list) else [self.node.body]
        self.parts: list[Any] = [part for statement in body for part in ast.walk(statement)]
        self.constants = dict(self._constants(body))
        self.subscripts: list[Any] = [part for part in self.parts if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)]
        for part in self.subscripts:
            if part.value.id in self.names and not isinstance(part.ctx, ast.Load):
                raise self.refusal(part, "an assignment to an array in the kernel of a stencil", "return the value of the element")
        relative = {part.value.id for part in self.subscripts} & set(self.names) - set(standard)
        self.relative = tuple(k for k, name in enumerate(self.names) if name in relative)
        self._check_whole(relative)

    def refusal(self, node: Any, what: str, advice: str) -> Exception:
        site = (self.file, node.lineno, node.col_offset, node.end_col_offset, self.function.__code__.co_name)
        return _errors.unsupported((site,), what, advice)

    def _constants(self, body: list[Any]) -> Iterator[tuple[str, Any]]:
        """The variables of the kernel itself that are assigned once; other binders of their names, in inner scopes too, rule them out."""
        bound = [name for part in self.parts for name in _bound(part)]
        for part in _of_scope(body):
            if isinstance(part, ast.Assign) and len(part.targets) == 1 and isinstance(part.targets[0], ast.Name):
                name = part.targets[0].id
                if bound.count(name) == 1 and name not in self.names:
                    yield name, part.value

    def _check_whole(self, relative: set[str]) -> None:
        """An array that has relative indices is nothing else in the kernel."""
        for part in self.parts:
            if not isinstance(part, ast.Name) and (again := relative.intersection(_bound(part))):
                site = part if hasattr(part, "lineno") else self.node
                raise self.refusal(
                    site, f"`{again.pop()}`, which has relative indices, bound again in the kernel of a stencil", "give one of them another name"
                )
        allowed = {id(part.value) for part in self.subscripts}
        for part in self.parts:
            if isinstance(part, ast.Attribute) and part.attr in _OF_WHOLE:
                allowed.add(id(part.value))
            elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "len":
                allowed.update(map(id, part.args))
        for part in self.parts:
            if isinstance(part, ast.Name) and part.id in relative and id(part) not in allowed:
                what = f"`{part.id}`, which has relative indices, as a whole in the kernel of a stencil"
                raise self.refusal(part, what, "pass the array a second time, for a parameter that is in standard_indexing")

    def bounds(self) -> tuple[tuple[int, int], ...]:
        """The least and the greatest index of each axis; they must be constants."""
        names = {self.names[k] for k in self.relative}
        subscripts = [part for part in self.subscripts if part.value.id in names]
        indices = [self._index(part) for part in subscripts]
        if not indices:
            raise self.refusal(self.node, "a kernel of a stencil without relative indices", "subscript the array, as in `a[0]`")
        axes = len(indices[0])
        for part, index in zip(subscripts, indices):
            if len(index) != axes:
                raise self.refusal(part, "an index of another number of axes in the kernel of a stencil", "give all indices the same number of parts")
        return tuple((min(0, *along), max(0, *along)) for along in zip(*indices))

    def _index(self, part: ast.Subscript) -> tuple[int, ...]:
        value = self._value(part.slice)
        index = value if isinstance(value, tuple) else (value,)
        if not all(type(each) is int for each in index):
            raise self.refusal(part.slice, "a relative index that is no constant", "give the decorator the indices that there are: neighborhood=((-2, 0),)")
        return index

    def _value(self, node: Any, within: tuple[str, ...] = ()) -> Any:
        """A constant, or None; `within` are the variables whose values are sought."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Tuple):
            return tuple(self._value(each, within) for each in node.elts)
        if isinstance(node, ast.Name) and node.id in self.constants and node.id not in within:
            return self._value(self.constants[node.id], (*within, node.id))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self._value(node.operand, within)
            return None if type(value) is not int else -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            left, right = self._value(node.left, within), self._value(node.right, within)
            if type(left) is int and type(right) is int:
                return left + right if isinstance(node.op, ast.Add) else left - right if isinstance(node.op, ast.Sub) else left * right
        return None


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _of_scope(body: list[Any]) -> Iterator[Any]:
    """The parts of statements that are of no inner scope."""
    for part in body:
        yield part
        if not isinstance(part, _SCOPES):
            yield from _of_scope(list(ast.iter_child_nodes(part)))


def _bound(part: Any) -> Iterator[str]:
    """The names that a part of a syntax tree binds itself."""
    if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
        yield part.id
    elif isinstance(part, ast.arg):
        yield part.arg
    elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        if part.name is not None:
            yield part.name
    elif isinstance(part, ast.MatchMapping) and part.rest is not None:
        yield part.rest
    elif isinstance(part, ast.alias):
        yield (part.asname or part.name).partition(".")[0]
    elif isinstance(part, (ast.Global, ast.Nonlocal)):
        yield from part.names


def _bounds_of(given: Any) -> tuple[tuple[int, int], ...]:
    """A neighbourhood as ints."""
    try:
        made = tuple((operator.index(low), operator.index(high)) for low, high in given)
    except (TypeError, ValueError):
        raise ValueError(f"neighborhood is a pair of ints for each axis, such as ((-1, 1), (0, 0)), not {given!r}") from None
    if not made or any(low > high for low, high in made):
        raise ValueError(f"neighborhood has the least and the greatest index of each axis, not {given!r}")
    return made


def _made(function: types.FunctionType, cval: Any, neighborhood: Any, standard: tuple[str, ...]) -> Callable[..., Any]:
    from ..library import stencils

    kernel = _Kernel(function, standard)
    bounds = kernel.bounds() if neighborhood is None else _bounds_of(neighborhood)
    relative, apply = kernel.relative, stencils.in_python if is_disabled() else stencils.applied

    def stencil(*args: Any, out: Any = None) -> Any:
        return apply(function, args, out, relative, bounds, cval)

    stencil.__name__, stencil.__qualname__ = function.__name__, function.__qualname__
    return stencil


@overload
def stencil(
    func_or_mode: Callable[..., Any], /, cval: Any = None, neighborhood: Sequence[Sequence[int]] | None = None, standard_indexing: Sequence[str] = ()
) -> Function[..., Any]: ...
@overload
def stencil(
    func_or_mode: str = "constant",
    cval: Any = None,
    neighborhood: Sequence[Sequence[int]] | None = None,
    standard_indexing: Sequence[str] = (),
) -> Decorator: ...
@checked_keywords
def stencil(
    func_or_mode: Any = "constant",
    cval: Any = None,
    neighborhood: Sequence[Sequence[int]] | None = None,
    standard_indexing: Sequence[str] = (),
) -> Any:
    """Make a function of arrays of a function of one element and its neighbours.

    Used as ``@stencil``, with options (``@stencil(cval=1.0)``), or as ``stencil(lambda a: a[-1] + a[1])``. In the function,
    `a[0, 0]` is the element that is computed, and `a[-1, 0]` the one before it along the first axis.

    Parameters
    ----------
    func_or_mode : callable or "constant"
        The function of one element, which returns a number. ``"constant"`` is the one mode: what has not all neighbours
        is `cval`.
    cval : number, optional
        The value of elements that have not all neighbours; by default 0.
    neighborhood : sequence of pairs of int, optional
        The least and the greatest relative index of each axis, such as ``((-3, 0),)``. Needed where an index is no constant;
        else it is found in the function.
    standard_indexing : sequence of str
        The parameters that are arrays with indices as usual, such as weights.

    Returns
    -------
    Function
        A compiled function of arrays. The first argument has the shape of the result; others that have relative indices have
        this shape, or are larger; numbers and other arguments are passed on. The keyword `out` is an array for the result:
        what has not all neighbours is left there as it is, but for a `cval` that is given.

    Raises
    ------
    ValueError
        An option is wrong; by a call: shapes do not fit.
    UnsupportedError
        An index is no constant, and there is no `neighborhood`; the kernel cannot be compiled.

    See Also
    --------
    jit : Compile a function.
    guvectorize : Functions of whole axes.

    Notes
    -----
    The dtype of the result is that of what the function returns. Compiled functions may call a stencil, and `grad` and `vmap`
    take it. Its loops run in several threads.

    Examples
    --------
    >>> @ingot.stencil
    ... def smoothed(a):
    ...     return (a[-1] + a[0] + a[1]) / 3
    >>> smoothed(np.array([3.0, 0.0, 6.0, 3.0, 0.0]))
    array([0., 3., 3., 3., 0.])

    >>> @ingot.stencil(neighborhood=((-2, 0),), cval=-1.0)
    ... def last_three(a):
    ...     total = 0.0
    ...     for k in range(-2, 1):
    ...         total += a[k]
    ...     return total
    >>> last_three(np.arange(5.0))
    array([-1., -1.,  3.,  6.,  9.])
    """
    given = None if isinstance(func_or_mode, str) else uncounted(func_or_mode)
    if isinstance(func_or_mode, str) and func_or_mode != "constant":
        raise ValueError(f"the mode of a stencil is 'constant', not {func_or_mode!r}")
    if cval is not None and not isinstance(cval, (bool, int, float, complex, np.number, np.bool)):
        raise ValueError(f"cval is a number, not {cval!r}")
    standard = (standard_indexing,) if isinstance(standard_indexing, str) else tuple(standard_indexing)

    def decorate(function: Any) -> Any:
        function = uncounted(function)
        if not isinstance(function, (types.FunctionType, Function)):
            raise not_a_function("stencil", function)
        if isinstance(function, Function) and function.__ingot_function__.__code__.co_filename == __file__:
            raise TypeError("stencil() takes a kernel, which subscripts its arrays, and this is a stencil already: decorate it once")
        plain = function.__ingot_function__ if isinstance(function, Function) else function
        made = _made(plain, cval, neighborhood, standard)
        if is_disabled():
            return transformed(made, plain)
        return transformed(jit(made), plain, "stencil", (cval, neighborhood, standard))

    return decorate if given is None else decorate(given)
