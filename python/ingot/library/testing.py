"""`ingot.testing`: what is asserted of arrays and structures of values. Run by Python, or compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .structures import leaves, structure


def assert_shapes(shapes: str, /, *arrays: Any, **sizes: int) -> None:
    """Raise AssertionError unless arrays have these shapes, in which a name is one length wherever it is.

    Parameters
    ----------
    shapes : str
        A shape for each array, as in signatures of generalised ufuncs: ``"(n,3),(n),()"`` of names, numbers and ``_`` for any
        length; ``...`` at the beginning of a shape is any number of axes.
    *arrays : array_like
        The arrays.
    **sizes : int
        Lengths of names that are known.

    Raises
    ------
    AssertionError
        A shape is another one.
    ValueError
        `shapes` is not spelled so, or not for so many arrays, or has no such name.
    TypeError
        An argument is no array.

    See Also
    --------
    assert_ranks, assert_dtypes

    Examples
    --------
    >>> from ingot import testing
    >>> testing.assert_shapes("(n,3),(n)", np.zeros((5, 3)), np.zeros(5))
    >>> testing.assert_shapes("(n,3),(n)", np.zeros((5, 3)), np.zeros(4))
    Traceback (most recent call last):
    AssertionError: argument 1 has the shape (4,), not (n): n is 5
    """
    if not isinstance(shapes, str):
        raise TypeError(f"shapes are a str, not {type(shapes).__name__}")
    spelled = _shapes_of(shapes)
    if len(spelled) != len(arrays):
        raise ValueError(f"{len(spelled)} shapes for {len(arrays)} arrays: {shapes!r}")
    for name in sizes:
        if name == "_" or not any([name in names for names in spelled]):
            raise ValueError(f"{name!r} is not in {shapes!r}")
    known = dict(sizes)
    for k in range(len(arrays)):
        _need_array(arrays[k], k)
        shape = np.shape(arrays[k])
        names = spelled[k]
        is_open = len(names) > 0 and names[0] == "..."
        if is_open:
            names = names[1:]
        if len(names) != len(shape) if not is_open else len(names) > len(shape):
            raise AssertionError(f"argument {k} has the shape {shape}, not ({','.join(spelled[k])})")
        for name, length in zip(names, shape[len(shape) - len(names) :]):
            if name.isdecimal():
                if length != int(name):
                    raise AssertionError(f"argument {k} has the shape {shape}, not ({','.join(spelled[k])})")
            elif name in known:
                if length != known[name]:
                    raise AssertionError(f"argument {k} has the shape {shape}, not ({','.join(spelled[k])}): {name} is {known[name]}")
            elif name != "_":
                known[name] = length


def _shapes_of(text: str) -> list[list[str]]:
    """The names of the axes of each array."""
    words = text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    apart = all([words[k] in "()," or words[k + 1] in "()," for k in range(len(words) - 1)])
    bare = "".join(words)
    parts = [part.removesuffix(",") if part != "," else part for part in bare.removeprefix("(").removesuffix(")").split("),(")]
    found = [[name for name in part.split(",") if part != ""] for part in parts]
    names = [name for part in found for name in (part[1:] if part[:1] == ["..."] else part)]
    if not (apart and bare.startswith("(") and bare.endswith(")") and all([name.isdecimal() or name.isidentifier() for name in names])):
        raise ValueError(f"shapes are spelled as in '(n,3),(n),()', not {text!r}")
    return found


def _need_array(x: Any, k: int) -> None:
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex, tuple, list)) or hasattr(x, "shape"):
        return
    raise TypeError(f"argument {k} is no array: {type(x).__name__}")


def assert_ranks(ranks: Any, *arrays: Any) -> None:
    """Raise AssertionError unless arrays have so many axes.

    Parameters
    ----------
    ranks : int or tuple of int
        The number of axes; with a tuple, any of these.
    *arrays : array_like
        The arrays.

    Raises
    ------
    AssertionError
        An array has another number of axes.

    See Also
    --------
    assert_shapes

    Examples
    --------
    >>> from ingot import testing
    >>> testing.assert_ranks((0, 2), 1.5, np.zeros((2, 3)))
    """
    wanted = ranks if isinstance(ranks, tuple) else (ranks,)
    for k in range(len(arrays)):
        _need_array(arrays[k], k)
        if np.ndim(arrays[k]) not in wanted:
            raise AssertionError(f"argument {k} has {np.ndim(arrays[k])} axes, not {' or '.join([str(rank) for rank in wanted])}")


def assert_dtypes(dtype: Any, *trees: Any) -> None:
    """Raise AssertionError unless all arrays have a dtype, or one of a kind.

    Parameters
    ----------
    dtype : dtype or type
        A dtype, which has to be equal in its byte order, unit, length and fields, too; or a type of NumPy's for many: ``np.floating``,
        ``np.str_``.
    *trees : object
        Arrays and numbers, and structures of these.

    Raises
    ------
    AssertionError
        An array has another dtype.

    See Also
    --------
    assert_shapes

    Examples
    --------
    >>> from ingot import testing
    >>> testing.assert_dtypes(np.float32, {"w": np.zeros(3, np.float32), "b": np.float32(1)})
    >>> testing.assert_dtypes(np.floating, np.zeros(3, np.float32), 1.0)
    """
    if dtype is None or len(trees) == 0:
        raise TypeError("a dtype and arrays are needed")
    for k in range(len(trees)):
        found = _leaves(trees[k])
        if len(found) == 0:
            raise AssertionError(f"argument {k} has no arrays")
        for i in range(len(found)):
            own = np.asarray(found[i]).dtype
            if not (np.issubdtype(own, dtype) if _is_kind(dtype) else own == np.dtype(dtype)):
                name = _name_of(dtype) if _is_kind(dtype) else _other_name(np.dtype(dtype), own)
                raise AssertionError(f"argument {k}{_place(structure(trees[k]), i)} is {_other_name(own, dtype)}, not {name}")


def _leaves(tree: Any) -> list[Any]:
    """The leaves of a structure; arrays of devices are copied to the host."""
    return [on_host(leaf) for leaf in leaves(tree)]


def on_host(x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex, str)):
        return x  # and so is an array of a device in compiled functions, which read it
    return x.to_host() if hasattr(x, "to_host") else x


def _is_kind(dtype: Any) -> bool:
    """Whether a type of NumPy's stands for many dtypes."""
    abstract = (np.number, np.inexact, np.floating, np.complexfloating, np.integer, np.signedinteger, np.unsignedinteger, np.generic)
    for kind in (*abstract, np.character, np.flexible, np.str_, np.bytes_, np.void, np.datetime64, np.timedelta64):
        if dtype is kind:
            return True
    return False


def _name_of(kind: Any) -> str:
    return kind.__name__


def _other_name(dtype: Any, other: Any) -> str:
    """The name of a dtype; with all that it has besides where another one has the same name."""
    if _is_kind(other) or dtype.name != np.dtype(other).name:
        return dtype.name
    return str(dtype)


def _place(shape: Any, number: int) -> str:
    """Where the leaf of a number is in a structure, as Python spells it."""
    if shape.kind is None:
        return ""
    before = 0
    for k in range(len(shape.children)):
        child = shape.children[k]
        if number < before + child.num_leaves:
            inner = _place(child, number - before)
            if shape.kind is dict:
                return f"[{shape.aux[k]!r}]{inner}"
            rules = primitives.rules_of(shape.kind)
            if rules is not None and len(rules) == 0:
                return f".{shape.kind._fields[k]}{inner}"
            if rules is not None and rules[0] is None:
                return f".{shape.aux[k]}{inner}"
            return f"[{k}]{inner}"
        before += child.num_leaves
    return ""


def assert_finite(*trees: Any) -> None:
    """Raise AssertionError where a number is infinite or NaN.

    Parameters
    ----------
    *trees : object
        Arrays and numbers, and structures of these.

    Raises
    ------
    AssertionError
        A number is not finite, or a time is NaT.
    TypeError
        There is something else than numbers, times and strings, which cannot be read: sets, generators, arrays of objects.

    See Also
    --------
    assert_no_nan : Infinite numbers may be there.

    Examples
    --------
    >>> from ingot import testing
    >>> testing.assert_finite({"w": np.array([1.0, np.inf])})
    Traceback (most recent call last):
    AssertionError: argument 0['w'] is inf at [1]; 1 of 2 numbers are not finite
    """
    for k in range(len(trees)):
        found = _leaves(trees[k])
        for i in range(len(found)):
            x = np.asarray(found[i])
            if x.dtype.kind in "fcmM":
                are_right = np.isfinite(x) if x.dtype.kind in "fc" else x == x
                if not are_right.all():
                    raise AssertionError(f"argument {k}{_place(structure(trees[k]), i)} {_wrong(x, are_right, 'finite')}")
            elif x.dtype.kind not in "biuSU" and not isinstance(found[i], int):
                raise TypeError(f"argument {k}{_place(structure(trees[k]), i)} has no numbers that can be read: {_what(found[i])}")


def assert_no_nan(*trees: Any) -> None:
    """Raise AssertionError where a number is NaN.

    Parameters
    ----------
    *trees : object
        Arrays and numbers, and structures of these.

    Raises
    ------
    AssertionError
        A number is NaN, or a time is NaT.
    TypeError
        As of `assert_finite`.

    See Also
    --------
    assert_finite

    Examples
    --------
    >>> from ingot import testing
    >>> testing.assert_no_nan(np.inf, np.array([1.0, 2.0]))
    """
    for k in range(len(trees)):
        found = _leaves(trees[k])
        for i in range(len(found)):
            x = np.asarray(found[i])
            if x.dtype.kind in "fcmM":
                are_right = x == x
                if not are_right.all():
                    raise AssertionError(f"argument {k}{_place(structure(trees[k]), i)} {_wrong(x, are_right, 'numbers')}")
            elif x.dtype.kind not in "biuSU" and not isinstance(found[i], int):
                raise TypeError(f"argument {k}{_place(structure(trees[k]), i)} has no numbers that can be read: {_what(found[i])}")


def _what(x: Any) -> str:
    return f"an array of {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__


def _wrong(x: Any, are_right: Any, what: str) -> str:
    """What is wrong with the numbers of an array, and where the first one is."""
    places = np.flatnonzero(~are_right)
    return f"is {x.ravel()[places[0]]}{_at(x, places[0])}; {len(places)} of {x.size} numbers are not {what}"


def _at(x: Any, place: Any) -> str:
    """An index in C order as Python spells it."""
    if x.ndim == 0:
        return ""
    index = np.unravel_index(place, x.shape)
    text = f"{index[0]}"
    for i in index[1:]:
        text = f"{text}, {i}"
    return f" at [{text}]"


def assert_trees_equal(*trees: Any) -> None:
    """Raise AssertionError unless all structures are equal: their containers, dtypes, shapes and values.

    Parameters
    ----------
    *trees : object
        Structures of arrays, numbers and other values.

    Raises
    ------
    AssertionError
        One differs from the first, which is taken for what is expected.

    See Also
    --------
    assert_trees_close : Values may differ by little.

    Notes
    -----
    NaN is equal to NaN, and -0.0 to 0.0. A number of Python's has the dtype that NumPy gives it: 1.0 is equal to ``np.float64(1)``
    and not to ``np.float32(1)``.

    Examples
    --------
    >>> from ingot import testing
    >>> testing.assert_trees_equal({"a": np.array([1.0, np.nan])}, {"a": np.array([1.0, np.nan])})
    >>> testing.assert_trees_equal((1.0, [2]), (1.0, [3]))
    Traceback (most recent call last):
    AssertionError: argument 1[1][0] is 3, not 2
    """
    for k in range(1, len(trees)):
        _need_same_structure(k, trees[k], trees[0])
        pairs = list(zip(_leaves(trees[k]), _leaves(trees[0])))
        for i in range(len(pairs)):
            place = f"argument {k}{_place(structure(trees[0]), i)}"
            if _are_arrays(*pairs[i], place):
                x, y = np.asarray(pairs[i][0]), np.asarray(pairs[i][1])
                equal = (x == y) | ((x != x) & (y != y))
                if not equal.all():
                    raise AssertionError(f"{place} {_difference(x, y, equal)}")


def assert_trees_close(*trees: Any, rtol: float | None = None, atol: float = 0.0) -> None:
    """Raise AssertionError unless all structures have equal containers, dtypes and shapes, and values that differ by little.

    Parameters
    ----------
    *trees : object
        Structures of arrays, numbers and other values.
    rtol : float, optional
        How much numbers may differ, relative to those of the first structure; by default the square root of the dtype's `eps`:
        1.5e-8 for float64, 3.5e-4 for float32.
    atol : float, default 0
        How much they may differ besides.

    Raises
    ------
    AssertionError
        One differs from the first, which is taken for what is expected.

    See Also
    --------
    assert_trees_equal

    Notes
    -----
    Integers and bools, NaN and infinite numbers have to be equal.

    Examples
    --------
    >>> from ingot import testing
    >>> testing.assert_trees_close([np.array([1.0, 2.0])], [np.array([1.0, 2.0 + 1e-12])])
    >>> testing.assert_trees_close([np.array([1.0, 2.0])], [np.array([1.0, 2.1])])
    Traceback (most recent call last):
    AssertionError: argument 1[0] is 2.1 at [1], not 2.0; 1 of 2 numbers differ
    """
    for k in range(1, len(trees)):
        _need_same_structure(k, trees[k], trees[0])
        pairs = list(zip(_leaves(trees[k]), _leaves(trees[0])))
        for i in range(len(pairs)):
            place = f"argument {k}{_place(structure(trees[0]), i)}"
            if _are_arrays(*pairs[i], place):
                x, y = np.asarray(pairs[i][0]), np.asarray(pairs[i][1])
                if x.dtype.kind in "fc":
                    relative = float(np.finfo(x.dtype).eps) ** 0.5 if rtol is None else rtol
                    with np.errstate(over="ignore", invalid="ignore"):
                        close = np.isclose(x, y, rtol=relative, atol=atol, equal_nan=True)
                else:
                    close = x == y
                if not close.all():
                    raise AssertionError(f"{place} {_difference(x, y, close)}")


def _need_same_structure(k: int, tree: Any, first: Any) -> None:
    own = structure(tree)
    other = structure(first)
    if own != other:
        raise AssertionError(f"argument {k} has another structure than argument 0: {_text_of(own)}, not {_text_of(other)}")


def _text_of(shape: Any) -> str:
    """A structure, with * for its leaves."""
    if shape.kind is None:
        return "*"
    parts = [_text_of(child) for child in shape.children]
    if shape.kind is tuple:
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if shape.kind is list:
        return f"[{', '.join(parts)}]"
    if shape.kind is dict:
        return "{" + ", ".join([f"{key!r}: {part}" for key, part in zip(shape.aux, parts)]) + "}"
    return "None" if shape.kind is type(None) else f"{shape.kind.__name__}({', '.join(parts)})"


def _are_arrays(actual: Any, expected: Any, place: str) -> bool:
    """Whether two leaves are arrays or numbers, whose dtypes and shapes are equal; raises where leaves differ in what they are."""
    numbers = (np.ndarray, np.generic, bool, int, float, complex)
    if not isinstance(actual, numbers) or not isinstance(expected, numbers):
        if isinstance(actual, numbers) or isinstance(expected, numbers) or not _are_equal(actual, expected):
            raise AssertionError(f"{place} is {actual!r}, not {expected!r}")
        return False
    x, y = np.asarray(actual), np.asarray(expected)
    if x.dtype != y.dtype:
        raise AssertionError(f"{place} is {_other_name(x.dtype, y.dtype)}, not {_other_name(y.dtype, x.dtype)}")
    if x.shape != y.shape:
        raise AssertionError(f"{place} has the shape {x.shape}, not {y.shape}")
    return True


def _are_equal(x: Any, y: Any) -> bool:
    equal = x == y
    return bool(equal.all()) if isinstance(equal, np.ndarray) else bool(equal)


def _difference(x: Any, y: Any, equal: Any) -> str:
    places = np.flatnonzero(~np.asarray(equal))
    first = places[0]
    if x.ndim == 0:
        return f"is {x[()]}, not {y[()]}"
    return f"is {x.ravel()[first]}{_at(x, first)}, not {y.ravel()[first]}; {len(places)} of {x.size} numbers differ"
