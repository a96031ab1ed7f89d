"""`ingot.einshape`: reshapes, transpositions, reductions and repetitions by formulas. Run by Python, or compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ANY, MERGED = "...", "(...)"
"""What stands for all axes that have no name: each by itself, and merged."""


def einshape(equation: str, value: Any, **sizes: int) -> Any:
    """Return an array whose axes are split, merged, reordered or repeated by an equation of letters.

    Parameters
    ----------
    equation : str
        Both sides, with a letter for each axis: ``"b(hw)c->bhwc"``. Letters in parentheses are one axis, the last one the
        fastest; ``1`` is an axis of length 1, ``...`` all axes between others.
    value : array_like
        The array.
    **sizes : int
        Lengths of letters that the array's shape does not determine, as of all but one in parentheses on the left side. A letter
        on the right side alone is a new axis, along which elements are repeated.

    Returns
    -------
    ndarray
        A view where NumPy's `reshape` and `transpose` give one; read-only where elements are repeated.

    Raises
    ------
    ValueError
        The equation is spelled wrong, or the array does not have such a shape.

    See Also
    --------
    rearrange : Names of any length.

    Examples
    --------
    >>> from ingot.einshape import einshape
    >>> einshape("b(hw)c->bchw", np.zeros((8, 12, 3)), h=4).shape
    (8, 3, 4, 3)
    >>> einshape("i->ij", np.arange(2), j=3)
    array([[0, 0, 0],
           [1, 1, 1]])
    """
    return _transformed(value, _spaced(equation), sizes, None, True)


def rearrange(x: Any, /, pattern: str, **sizes: int) -> Any:
    """Return an array whose axes are split, merged or reordered by a pattern of names.

    Parameters
    ----------
    x : array_like
        The array.
    pattern : str
        Both sides, with a name for each axis: ``"b (h w) c -> b h w c"``. Names in parentheses are one axis, the last one the
        fastest; ``1`` and ``()`` are axes of length 1, ``...`` all axes between others.
    **sizes : int
        Lengths of names that the array's shape does not determine.

    Returns
    -------
    ndarray
        A view where NumPy's `reshape` and `transpose` give one.

    Raises
    ------
    ValueError
        The pattern is spelled wrong, its sides have other names, or the array does not have such a shape.

    See Also
    --------
    einshape, reduce, repeat

    Examples
    --------
    >>> from ingot.einshape import rearrange
    >>> rearrange(np.arange(6), "(h w) -> w h", h=2)
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    return _transformed(x, pattern, sizes, None, False)


def reduce(x: Any, /, pattern: str, reduction: str | Callable[..., Any], **sizes: int) -> Any:
    """Return an array without the axes that a pattern has on its left side alone.

    Parameters
    ----------
    x : array_like
        The array.
    pattern : str
        As of `rearrange`; names on the left side alone are reduced over, and so are all numbers there: ``"(h 2) (w 2) -> h w"``.
    reduction : str or callable
        ``"sum"``, ``"mean"``, ``"max"``, ``"min"``, ``"prod"``, ``"any"``, ``"all"``, or ``f(array, axes)``.
    **sizes : int
        Lengths of names that the array's shape does not determine.

    Returns
    -------
    ndarray or number
        The array.

    Raises
    ------
    ValueError
        As of `rearrange`.

    See Also
    --------
    rearrange

    Examples
    --------
    >>> from ingot.einshape import reduce
    >>> reduce(np.arange(8.0).reshape(2, 4), "h (w 2) -> h w", "max")
    array([[1., 3.],
           [5., 7.]])
    """
    if isinstance(reduction, str) and reduction not in ("sum", "mean", "max", "min", "prod", "any", "all"):
        raise ValueError(f"reductions are sum, mean, max, min, prod, any, all, or a function of array and axes, not {reduction!r}")
    return _transformed(x, pattern, sizes, reduction, False)


def repeat(x: Any, /, pattern: str, **sizes: int) -> Any:
    """Return an array whose elements are repeated along the axes that a pattern has on its right side alone.

    Parameters
    ----------
    x : array_like
        The array.
    pattern : str
        As of `rearrange`; names and numbers on the right side alone are new axes: ``"h w -> (h 2) w c"``.
    **sizes : int
        Lengths of the new axes, and of others that the array's shape does not determine.

    Returns
    -------
    ndarray
        The array; where no axes are merged, a read-only view.

    Raises
    ------
    ValueError
        As of `rearrange`.

    See Also
    --------
    rearrange

    Examples
    --------
    >>> from ingot.einshape import repeat
    >>> repeat(np.array([1, 2]), "i -> (i 3)")
    array([1, 1, 1, 2, 2, 2])
    """
    return _transformed(x, pattern, sizes, None, True)


def _spaced(equation: str) -> str:
    """An equation of letters as a pattern of names."""
    need_text(equation)
    for letter in equation.replace("->", "").replace(ANY, ""):
        if letter in ">~":
            raise ValueError(f"{letter!r} in {equation!r} is no name of an axis")
    word = equation.replace(" ", "").replace("->", ">").replace(ANY, "~")
    return " ".join([letter for letter in word]).replace(">", "->").replace("~", ANY)


def need_text(pattern: Any) -> None:
    if not isinstance(pattern, str):
        raise TypeError(f"a pattern is a str, not {type(pattern).__name__}")


def _groups(side: str, pattern: str, where: str) -> tuple[Any, ...]:
    """The axes of a side, each a tuple of names; numbers have a name each, which begins with the number and is on no other side."""
    groups: tuple = ()
    inner: tuple = ()
    is_inner = False
    number = 0
    for word in side.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(" or word == ")":
            if is_inner == (word == "("):
                raise ValueError(f"parentheses in {pattern!r} are not balanced")
            groups = (*groups, inner) if is_inner else groups
            is_inner = not is_inner
            inner = ()
        else:
            if not (word.isidentifier() or word.isdecimal() or word == ANY):
                raise ValueError(f"{word!r} in {pattern!r} is no name of an axis")
            named: tuple = (MERGED,) if word == ANY and is_inner else (word,)
            named = (f"{word} {where}{number}",) if word.isdecimal() else named
            named = () if word == "1" else named
            number += 1
            inner = inner + named if is_inner else inner
            groups = groups if is_inner else (*groups, named)
    if is_inner:
        raise ValueError(f"parentheses in {pattern!r} are not balanced")
    return groups


def _names(groups: tuple[Any, ...]) -> tuple[str, ...]:
    names: tuple = ()
    for group in groups:
        names = names + group
    return names


def _opened(groups: tuple[Any, ...], inner: tuple[str, ...]) -> tuple[Any, ...]:
    """The axes of a side, with a name each for those that `...` stands for."""
    found: tuple = ()
    for group in groups:
        if group == (ANY,):
            for name in inner:
                found = (*found, (name,))
        else:
            whole: tuple = ()
            for name in group:
                whole = whole + inner if name == MERGED else (*whole, name)
            found = (*found, whole)
    return found


def _transformed(value: Any, pattern: str, sizes: dict[str, int], reduction: Any, may_repeat: bool) -> Any:
    need_text(pattern)
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"a pattern has two sides with '->' between them, not {pattern!r}")
    left = _groups(sides[0], pattern, "left")
    right = _groups(sides[1], pattern, "right")
    for side in (left, right):
        words = [ANY if name == MERGED else name for name in _names(side)]
        if len(set(words)) != len(words):
            raise ValueError(f"a name is twice on one side of {pattern!r}")
    x = np.asarray(value) if isinstance(value, (bool, int, float, complex, tuple, list)) else value
    is_open = ANY in _names(left)
    if MERGED in _names(left) or ((ANY in _names(right) or MERGED in _names(right)) and not is_open):
        raise ValueError(f"'...' in {pattern!r} is an axis of its own on the left side")
    rest = x.ndim - len(left) + 1 if is_open else 0
    if rest < 0 or (not is_open and x.ndim != len(left)):
        raise ValueError(f"the left side of {pattern!r} has {len(left) - is_open} axes, the array has {x.ndim}")
    inner = tuple([f".{k}" for k in range(rest)])
    before = _opened(left, inner)
    after = _opened(right, inner if is_open else ())
    lengths = _lengths(x.shape, before, after, sizes, pattern)
    names = _names(before)
    kept = tuple([name for name in names if name in _names(after)])
    new = tuple([name for name in _names(after) if name not in names])
    if len(kept) < len(names) and reduction is None:
        raise ValueError(f"{_shown([name for name in names if name not in kept])} is on the left side of {pattern!r} alone")
    if len(new) > 0 and not may_repeat:
        raise ValueError(f"{_shown(new)} is on the right side of {pattern!r} alone")
    if any([len(group) != 1 for group in before]):
        x = x.reshape(tuple([lengths[name] for name in names]))
    reduced = tuple([k for k in range(len(names)) if names[k] not in kept])
    if len(reduced) > 0:
        x = _reduced(x, reduced, reduction)
    order = [kept.index(name) for name in _names(after) if name in kept]
    if order != list(range(len(kept))):
        x = x.transpose(tuple(order))
    if len(new) > 0:
        x = x.reshape(tuple([1 if name in new else lengths[name] for name in _names(after)]))
        x = np.broadcast_to(x, tuple([lengths[name] for name in _names(after)]))
        if any([len(group) > 1 for group in after]):
            x = x.copy()
    if any([len(group) != 1 for group in after]):
        x = x.reshape(tuple([_product([lengths[name] for name in group]) for group in after]))
    return x


def _lengths(shape: tuple[int, ...], before: tuple[Any, ...], after: tuple[Any, ...], sizes: dict[str, int], pattern: str) -> dict[str, Any]:
    """The length of each name."""
    lengths: dict[str, Any] = {}
    for name in sizes:
        if not name.isidentifier() or (name not in _names(before) and name not in _names(after)):
            raise ValueError(f"{name!r} is not in {pattern!r}")
        if sizes[name] < 0:
            raise ValueError(f"{name!r} in {pattern!r} has a length, not {sizes[name]}")
        lengths[name] = sizes[name]
    for name in _names(before) + _names(after):
        if " " in name:
            lengths[name] = int(name.split()[0])
    for k in range(len(before)):
        open_names = [name for name in before[k] if name not in lengths]
        if len(open_names) > 1:
            raise ValueError(f"the lengths of {_shown(open_names)} in {pattern!r} are not known: give all but one")
        known = _product([lengths[name] for name in before[k] if name in lengths])
        if len(open_names) == 1:
            if known <= 0 or shape[k] % known != 0:
                raise ValueError(f"axis {k} has the length {shape[k]}, which is no multiple of {known}: {pattern!r}")
            lengths[open_names[0]] = shape[k] // known
        elif known != shape[k]:
            raise ValueError(f"axis {k} has the length {shape[k]}, not {known}: {pattern!r}")
    for name in _names(after):
        if name not in lengths:
            raise ValueError(f"{name!r} is on the right side of {pattern!r} alone: give its length")
    return lengths


def _shown(names: Any) -> str:
    return " and ".join([repr(name.split()[0]) for name in names])


def _product(lengths: list[Any]) -> Any:
    product = 1
    for length in lengths:
        product *= length
    return product


def _reduced(x: Any, axes: tuple[int, ...], reduction: Any) -> Any:
    if not isinstance(reduction, str):
        made = reduction(x, axes)
        if np.ndim(made) != x.ndim - len(axes):
            raise ValueError(f"a reduction over {len(axes)} of {x.ndim} axes returns an array of {np.ndim(made)} axes")
        return made
    if reduction == "sum":
        return x.sum(axis=axes)
    if reduction == "mean":
        return x.mean(axis=axes)
    if reduction == "max":
        return x.max(axis=axes)
    if reduction == "min":
        return x.min(axis=axes)
    if reduction == "prod":
        return x.prod(axis=axes)
    return x.any(axis=axes) if reduction == "any" else x.all(axis=axes)
