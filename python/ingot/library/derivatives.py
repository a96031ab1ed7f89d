"""Derivatives. One lifts its variables, calls the function, and asks for tangents (`primitives`); the compiler does the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives
from .structures import filled, is_structure, leaves_beside, leaves_of, map_leaves


def is_inexact(x: Any) -> bool:
    """Whether a number or array is of floats or complex numbers."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex, np.floating, np.complexfloating))


def is_number(x: Any) -> bool:
    """Whether x is a number, or an array of them."""
    return isinstance(x, (np.ndarray, np.generic, bool, int, float, complex))


def shadow(x: np.ndarray) -> np.ndarray:
    """Zeros of the layout of x."""
    low = 0
    span = x.itemsize
    for length, stride in zip(x.shape, x.strides):
        reach = max(length - 1, 0) * abs(stride)
        span += reach
        if stride < 0:
            low += reach
    memory = np.zeros((span + x.itemsize - 1) // x.itemsize, x.dtype)
    return primitives.strided(memory, x.shape, x.strides, low)


def laid_out(t: Any, x: np.ndarray) -> np.ndarray:
    """A copy of t, of the dtype and layout of x."""
    if is_without_gaps(x):
        return np.array(t, x.dtype, order="C")
    tangents = shadow(x)
    tangents[...] = t
    return tangents


def is_without_gaps(x: np.ndarray) -> bool:
    """Whether x is known to be contiguous in C order."""
    is_contiguous = primitives.is_contiguous(x)
    return primitives.is_known(is_contiguous) and is_contiguous


def copied(x: np.ndarray) -> np.ndarray:
    """A copy of x of which the same views and copies can be made: it has a gap where x has one, or goes back."""
    if is_without_gaps(x):
        return x.copy()
    if x.ndim > 1 and is_without_gaps(x.T):
        return x.T.copy().T
    lengths: tuple = ()
    places: tuple = (0,)
    wanted = x.itemsize
    for axis in range(x.ndim - 1, -1, -1):
        lengths = (x.shape[axis], *lengths)
        places = (slice(x.shape[axis]), *places)
    lengths = (*lengths, 1)
    for axis in range(x.ndim - 1, -1, -1):
        if x.shape[axis] != 1:
            gap = 0 if x.strides[axis] == wanted else 1
            wanted = x.strides[axis] * x.shape[axis]
        else:
            gap = 0
        lengths = (*lengths[: axis + 1], lengths[axis + 1] + gap, *lengths[axis + 2 :])
    copy = np.empty(lengths, x.dtype)[places]
    copy[...] = x
    return copy


def lift(x: Any, t: Any, derivative: int) -> Any:
    """A number or array as a variable with a tangent."""
    if not is_inexact(x):
        refuse_variable(x, "jvp")
    if is_structure(t):
        raise ValueError("the tangent is a structure where the primal is a number or an array")
    if np.asarray(t).dtype.kind == "c" and np.asarray(x).dtype.kind != "c":
        raise TypeError("a complex tangent for a real variable")
    if isinstance(x, np.ndarray):
        if np.shape(t) != x.shape:
            raise ValueError(f"a tangent of shape {np.shape(t)} for an array of shape {x.shape}")
        own = owned(x)
        return primitives.lift(own, laid_out(t, own), derivative)
    if isinstance(t, np.ndarray):
        if t.ndim != 0:
            raise ValueError(f"a tangent of shape {t.shape} for a number")
        return primitives.lift(x, t[()], derivative)
    return primitives.lift(x, t, derivative)


def owned(x: Any) -> Any:
    """A copy of an array whose elements may be the same memory, as those of read-only ones; others as they are."""
    return copied(x) if isinstance(x, np.ndarray) and primitives.may_be_read_only(x) else x


def own_copy(x: Any) -> Any:
    """An array that may be written into; others as they are."""
    return copied(x) if isinstance(x, np.ndarray) else x


def own_copies(tree: Any) -> Any:
    """A structure with copies of its arrays."""
    return map_leaves(own_copy, tree)


def plain_copies(tree: Any) -> Any:
    """A structure with copies of its arrays in C order."""
    return map_leaves(lambda x: x.copy() if isinstance(x, np.ndarray) else x, tree)


def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> tuple[Any, ...]:
    if len(primals) != len(tangents):
        raise ValueError(f"{len(primals)} primals and {len(tangents)} tangents")
    derivative = primitives.new_derivative()
    variables = tuple(map_leaves(lambda x, t: lift(x, t, derivative), x, t) for x, t in zip(primals, tangents))
    around = (*primitives.derivatives(), (derivative, False))
    result = primitives.with_derivatives(around, lambda: f(*variables))
    values = map_leaves(lambda y: primitives.primal(y, derivative) if is_inexact(y) else y, result)
    slopes = map_leaves(lambda y: primitives.tangent(y, derivative) if is_number(y) else None, of_pair(result, has_aux))
    return (values[0], slopes, values[1]) if has_aux else (values, slopes)


def of_pair(result: Any, has_aux: bool) -> Any:
    """What a function gives that is differentiated: with `has_aux` the first of a pair."""
    if not has_aux:
        return result
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError("with `has_aux`, a function gives a pair: its value and something else")
    return result[0]


def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    before = own_copies(primals)

    def linear(*tangents: Any) -> Any:
        return jvp(f, own_copies(before), tangents, has_aux)[1]

    value = f(*primals)
    return (of_pair(value, has_aux), linear, value[1]) if has_aux else (value, linear)


def place_of(number: Any, args: tuple[Any, ...], kwargs: Any, names: tuple[Any, ...]) -> Any:
    """Where the argument of a number or name is: its position, or its name where it is given by name."""
    if isinstance(number, str):
        if number in kwargs:
            return number
        if number not in names[: len(args)]:
            raise TypeError(f"differentiating with respect to {number}, which is not given")
        return names.index(number)
    if isinstance(number, float):
        raise TypeError("argnums are ints or names")
    if number < -len(args) or number >= len(args):
        raise ValueError(f"differentiating with respect to argnums={number} of {len(args)} arguments that are given by position")
    return number + len(args) if number < 0 else number


def places_of(argnums: Any, args: tuple[Any, ...], kwargs: Any, names: tuple[Any, ...]) -> tuple[Any, ...]:
    """The positions of all arguments that derivatives are taken with respect to."""
    if isinstance(argnums, (tuple, list)):
        places = tuple(place_of(number, args, kwargs, names) for number in argnums)
    else:
        places = (place_of(argnums, args, kwargs, names),)
    if len(places) == 0:
        raise ValueError("argnums is empty: there is nothing to differentiate with respect to")
    for i in range(1, len(places)):
        if places[i] in places[:i]:
            raise ValueError("argnums has an argument twice")
    return places


def need_given(argnums: Any, args: tuple[Any, ...]) -> None:
    """Raises TypeError where there are fewer arguments than these positions need."""
    for number in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
        if not isinstance(number, (str, float)) and number >= len(args):
            raise TypeError(
                f"differentiating with respect to argnums={number} requires at least {number + 1} positional arguments to be passed "
                f"by the caller, but got only {len(args)} positional arguments."
            )


def given_at(place: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The argument at a position."""
    return kwargs[place] if isinstance(place, str) else args[place]


def called_with(f: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, places: tuple[Any, ...], variables: tuple[Any, ...]) -> Any:
    """The result of f with other arguments at some positions."""
    for place, variable in zip(places, variables):
        if isinstance(place, str):
            kwargs = {**kwargs, place: variable}
        else:
            args = (*args[:place], variable, *args[place + 1 :])
    return f(*args, **kwargs)


def called_with_copies(f: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, places: tuple[Any, ...], variables: tuple[Any, ...]) -> Any:
    """The result of f with other arguments at some positions, and copies of all others."""
    own = tuple(args[i] if i in places else own_copies(args[i]) for i in range(len(args)))
    named = {key: kwargs[key] if key in places else own_copies(kwargs[key]) for key in kwargs}
    return called_with(f, own, named, places, variables)


def jacobian(
    f: Callable[..., Any], argnums: Any, has_aux: bool, holomorphic: bool, names: tuple[Any, ...], name: str, derived: Callable[..., Any]
) -> Callable[..., Any]:
    """A function of the arguments of f that gives all derivatives of what f gives, by `derived`, as `along`."""

    def all_slopes(*args: Any, **kwargs: Any) -> Any:
        places = places_of(argnums, args, kwargs, names)
        point = tuple(given_at(place, args, kwargs) for place in places)
        map_leaves(lambda x: need_variable(x, holomorphic, name), point)

        def of_point(*variables: Any) -> Any:
            return called_with_copies(f, args, kwargs, places, variables)

        def differentiated(*variables: Any) -> Any:
            return of_pair(of_point(*variables), has_aux)

        result = of_point(*own_copies(point))
        value = of_pair(result, has_aux)
        map_leaves(lambda y: need_value(y, holomorphic, name), value)
        slopes = derived(differentiated, point, point if isinstance(argnums, (tuple, list)) else point[0], value)
        return (slopes, result[1]) if has_aux else slopes

    return all_slopes


def need_variable(x: Any, holomorphic: bool, name: str) -> None:
    """Raises TypeError unless a leaf of an argument is what all derivatives can be taken with respect to."""
    if not is_inexact(x):
        refuse_variable(x, name)
    is_complex = np.asarray(x).dtype.kind == "c"
    if holomorphic and not is_complex:
        raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, but got {dtype_name(x)}.")
    if is_complex and not holomorphic and name != "jacrev":
        raise TypeError(
            f"{name} requires real-valued inputs, but got {dtype_name(x)}. For holomorphic differentiation, pass holomorphic=True. "
            "For functions of complex numbers that are not holomorphic, use ingot.jvp."
        )


def need_value(y: Any, holomorphic: bool, name: str) -> None:
    """Raises TypeError where a leaf of a value is complex, or with `holomorphic` where it is not."""
    is_complex = is_inexact(y) and np.asarray(y).dtype.kind == "c"
    if holomorphic and is_number(y) and not is_complex:
        raise TypeError(f"{name} with holomorphic=True requires outputs with complex dtype, but got {dtype_name(y)}.")
    if is_complex and not holomorphic and name != "jacfwd":
        raise TypeError(
            f"{name} requires real-valued outputs, but got {dtype_name(y)}. For holomorphic differentiation, pass holomorphic=True. "
            "For functions that are not holomorphic, use ingot.vjp."
        )


def refuse_variable(x: Any, name: str) -> None:
    """Raises the TypeError for values that no derivative is taken with respect to."""
    if not is_number(x):
        raise TypeError(
            f"{name} requires real- or complex-valued inputs, but got a value of another type: derivatives are taken with respect to "
            "numbers, arrays and structures of them."
        )
    others = " or set allow_int to True" if name == "grad" else ""
    raise TypeError(
        f"{name} requires real- or complex-valued inputs, not ints or bools, but got {dtype_name(x)}. Convert them to floats{others}."
    )


def dtype_name(x: Any) -> str:
    """The name of the dtype of a number or array, for messages."""
    dtype = np.asarray(x).dtype
    return dtype.name if dtype.names is None else "records"


def jacfwd(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, names: tuple[Any, ...] = ()) -> Callable[..., Any]:
    return jacobian(f, argnums, has_aux, holomorphic, names, "jacfwd", along)


def jacrev(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, names: tuple[Any, ...] = ()) -> Callable[..., Any]:
    return jacobian(f, argnums, has_aux, holomorphic, names, "jacrev", across)


def hessian(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, names: tuple[Any, ...] = ()) -> Callable[..., Any]:
    return jacobian(f, argnums, has_aux, holomorphic, names, "hessian", twice)


def twice(f: Callable[..., Any], point: tuple[Any, ...], inner: Any, value: Any) -> Any:
    """As `along`, the derivatives of the derivatives: forward mode over reverse mode."""
    slopes = map_leaves(lambda y: map_leaves(lambda x: like_block(y, x), inner) if is_number(y) else None, value)
    return along(lambda *variables: across(f, variables, inner, value, True), point, inner, slopes)


def along(f: Callable[..., Any], point: tuple[Any, ...], inner: Any, value: Any) -> Any:
    """The derivatives of f by all elements of a tuple of structures, in forward mode.

    They are the value, of which only types and shapes count, with each leaf replaced by a structure as `inner`, whose leaves are those of the tuple.
    """
    variables = leaves_of(point)
    if len(variables) == 1 and not isinstance(variables[0], np.ndarray):
        slopes = jvp(f, point, filled(point, (1.0,)))[1]
        return map_leaves(lambda y, slope: filled(inner, (slope,)) if is_number(y) else None, value, slopes)
    starts = starts_of(variables)
    columns = map_leaves(lambda y: room_of(starts[-1], y) if is_number(y) else None, value)
    for k in range(starts[-1]):
        slopes = jvp(f, own_copies(point), filled(point, parts_of(unit(k, starts[-1]), variables, starts)))[1]
        put_all(columns, slopes, k)

    def blocks(y: Any, column: Any) -> Any:
        parts = [column_block(window(column, i, j), y, x) for x, i, j in zip(variables, starts, starts[1:])]
        return filled(inner, tuple(parts))

    return map_leaves(lambda y, column: blocks(y, column) if is_number(y) else None, value, columns)


def across(f: Callable[..., Any], point: tuple[Any, ...], inner: Any, value: Any, is_own: bool = False) -> Any:
    """As `along`, in reverse mode; `is_own`: of a point that nothing else uses."""

    def row(variables: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
        return leaves_of(pulled(f, variables, lambda values: cotangents)[1])

    variables = leaves_of(point)
    outputs = varied(value)
    starts = starts_of(outputs)
    if len(outputs) == 1 and not isinstance(outputs[0], np.ndarray):
        of_outputs: tuple = (filled(inner, row(point if is_own else own_copies(point), map_leaves(lambda y: 1.0, value))),)
    else:
        rows = tuple([room_of(starts[-1], x) for x in variables])
        for k in range(starts[-1]):
            slopes = row(own_copies(point), with_floats(value, parts_of(unit(k, starts[-1]), outputs, starts)))
            put_all(rows, slopes, k)
        of_outputs = ()
        for y, i, j in zip(outputs, starts, starts[1:]):
            of_outputs = (*of_outputs, filled(inner, tuple([row_block(window(r, i, j), y, x) for r, x in zip(rows, variables)])))
    leaves: tuple = ()
    for y in leaves_of(value):
        if is_inexact(y):
            leaves = (*leaves, of_outputs[0])
            of_outputs = of_outputs[1:]
        else:
            leaves = (*leaves, map_leaves(lambda x: no_block(y, x), inner) if is_number(y) else None)  # noqa: B023
    return filled(value, leaves)


def starts_of(leaves: tuple[Any, ...]) -> tuple[Any, ...]:
    """Where the elements of each leaf begin, if all are in a row, and their number."""
    starts: tuple = (0,)
    for leaf in leaves:
        starts = (*starts, starts[-1] + np.size(leaf))
    return starts


def unit(k: int, count: int) -> np.ndarray:
    """So many numbers, the k-th of them 1, all others 0."""
    return np.where(np.arange(count) == k, 1.0, 0.0)


def parts_of(elements: np.ndarray, leaves: tuple[Any, ...], starts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The elements in a row as numbers and arrays like leaves."""
    parts: tuple = ()
    for leaf, i, j in zip(leaves, starts, starts[1:]):
        if isinstance(leaf, np.ndarray):
            parts = (*parts, primitives.reshape(window(elements, i, j), leaf.shape))
        else:
            parts = (*parts, elements[i])
    return parts


def window(columns: np.ndarray, i: Any, j: Any) -> np.ndarray:
    """The columns of a new array from i to j, which it has: a view."""
    return primitives.strided(columns, (*columns.shape[:-1], j - i), columns.strides, i * columns.itemsize)


def room_of(count: int, x: Any) -> np.ndarray:
    """An array for so many derivatives like x, its columns: they are computed next to each other. Those of ints and bools are 0.0."""
    return np.empty((*np.shape(x), count), np.asarray(x).dtype if is_inexact(x) else np.float64)


def column_block(columns: np.ndarray, y: Any, x: Any) -> Any:
    """The derivative of y by x, of those by each element of x."""
    if is_one_number(y, x):
        return number_like(y, columns[0])
    return primitives.reshape(columns.copy(), np.shape(y) + np.shape(x))


def row_block(columns: np.ndarray, y: Any, x: Any) -> Any:
    """The derivative of y by x, of those of each element of y."""
    if is_one_number(y, x):
        return number_like(x, columns[0])
    first = primitives.transpose(columns, (columns.ndim - 1, *range(columns.ndim - 1)))
    return primitives.reshape(first.copy(), np.shape(y) + np.shape(x))


def no_block(y: Any, x: Any) -> Any:
    """The derivative of an int or bool, or of an array of them."""
    return 0.0 if is_one_number(y, x) else np.zeros(np.shape(y) + np.shape(x))


def like_block(y: Any, x: Any) -> Any:
    """What has the type and the shape of the derivative of y by x."""
    return x if is_one_number(y, x) else np.empty(np.shape(y) + np.shape(x), np.asarray(x).dtype)


def is_one_number(y: Any, x: Any) -> bool:
    """Whether the derivative of y by x is a number."""
    return not isinstance(y, np.ndarray) and not isinstance(x, np.ndarray)


def number_like(x: Any, number: Any) -> Any:
    """A number of NumPy's as the type of x has it."""
    if type(x) is complex:
        return complex(number)
    return number if isinstance(x, np.generic) else float(number)


def put_all(columns: Any, values: Any, k: int) -> None:
    """Sets the k-th column of each array of a structure, if it is there."""

    def put(columns: Any, value: Any) -> None:
        primitives.strided(columns, columns.shape[:-1], columns.strides[:-1], k * columns.itemsize)[...] = value

    map_leaves(put, columns, values)


def room_for(x: Any) -> Any:
    """Zeros to which the derivative by x is added."""
    if not is_inexact(x):
        refuse_variable(x, "vjp")
    if not isinstance(x, np.ndarray):
        return 0.0
    return np.zeros(x.shape, x.dtype) if is_without_gaps(x) else shadow(x)


def seed(y: Any, c: Any) -> Any:
    """The cotangent c of a number or array y, as y is."""
    if np.shape(c) != np.shape(y):
        raise ValueError(f"a cotangent of shape {np.shape(c)} for a result of shape {np.shape(y)}")
    if np.asarray(c).dtype.kind == "c" and np.asarray(y).dtype.kind != "c":
        raise TypeError("a complex cotangent for a real result")
    if isinstance(y, np.ndarray):
        return np.array(c, y.dtype)
    return c[()] if isinstance(c, np.ndarray) else c


def seeds(y: Any, c: Any) -> tuple[Any, ...]:
    """The floats and complex numbers among the leaves of y, and their cotangents."""
    ys: tuple = ()
    cs: tuple = ()
    for leaf, own in zip(leaves_of(y), leaves_beside(y, c)):
        if is_inexact(leaf):
            ys = (*ys, leaf)
            cs = (*cs, seed(leaf, own))
    return ys, cs


def gathered(room: Any, number: Any) -> Any:
    """The cotangent of a variable."""
    if isinstance(room, np.ndarray):
        return np.conj(room) if room.dtype.kind == "c" else room
    return number


def pulled(
    f: Callable[..., Any], variables: tuple[Any, ...], cotangents_of: Callable[..., Any], part_of: Callable[..., Any] = lambda result: result
) -> tuple[Any, ...]:
    """What f gives, and the cotangents of its variables, from those that `cotangents_of` gives for a part of a result."""
    derivative = primitives.new_derivative()
    own = map_leaves(owned, variables)
    rooms = map_leaves(room_for, own)
    lifted = map_leaves(lambda x, t: primitives.lift(x, t, derivative), own, rooms)
    leaves = leaves_of(lifted)  # f may change containers
    around = (*primitives.derivatives(), (derivative, True))
    result = primitives.with_derivatives(around, lambda: f(*lifted))
    values = map_leaves(lambda y: primitives.primal(y, derivative) if is_inexact(y) else y, result)
    ys, cs = seeds(part_of(result), cotangents_of(part_of(values)))
    numbers = primitives.pull(derivative, ys, cs, leaves)
    return values, filled(own, tuple(gathered(room, number) for room, number in zip(leaves_of(rooms), numbers)))


def pulled_back(f: Callable[..., Any], variables: tuple[Any, ...], cotangents: Any, has_aux: bool) -> tuple[Any, ...]:
    """The cotangents of variables, of those of what f gives of them."""
    return pulled(lambda *own: of_pair(f(*own), has_aux), variables, lambda values: cotangents)[1]


def varied(tree: Any) -> tuple[Any, ...]:
    """The floats and complex numbers among the leaves of a structure."""
    chosen: tuple = ()
    for leaf in leaves_of(tree):
        if is_inexact(leaf):
            chosen = (*chosen, leaf)
    return chosen


def with_rules(f: Callable[..., Any], jvp_rule: Any, forth: Any, and_back: Any, args: tuple[Any, ...], always: bool = False) -> Any:
    """What f gives of arguments, whose derivatives are those of rules; a function that has none of one mode has None there.

    `jvp_rule(args, tangents)` gives the value and its tangent, `forth(*args)` the value and what `and_back(kept, cotangents)` wants
    besides the cotangents of the value to return those of the arguments. `always`: whether an argument varies or not.
    """
    around = primitives.derivatives()
    if len(around) == 0:
        return f(*args)
    derivative, is_reverse = around[-1]
    others = around[:-1]
    if not always and not any_varies(varied(args), derivative):
        return primitives.with_derivatives(others, lambda: with_rules(f, jvp_rule, forth, and_back, args))
    plain = map_leaves(lambda x: constant_of(x, derivative) if is_inexact(x) else x, plain_copies(args))

    def inside(call: Callable[..., Any]) -> Any:
        return primitives.with_derivatives(others, call)

    if is_reverse:
        return there_and_back(jvp_rule, forth, and_back, args, plain, derivative, inside)
    if jvp_rule is None:
        raise TypeError("a function with `custom_vjp` alone has no derivative in forward mode")
    tangents = map_leaves(lambda x: primitives.tangent(x, derivative) if is_inexact(x) else None, args)
    value, tangent = inside(lambda: jvp_rule(plain, tangents))
    # A copy: the rule's own names of the value are of no variable.
    return map_leaves(lambda y, t: lift(plain_copies(y), t, derivative) if is_inexact(y) else y, value, tangent)


def tangent_of(x: Any, tangent: Any) -> Any:
    """The tangents of elements, which may be one number for all."""
    made = np.zeros(x.shape, x.dtype)
    made[...] = tangent
    return made


def linear(forth: Callable[[Any], Any], back: Callable[[Any], Any], x: Any) -> Any:
    """What a linear function of elements gives, and its transpose for the way back."""

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        y = forth(primals[0])
        return y, forth(tangent_of(primals[0], tangents[0]))

    def there(own: Any) -> tuple[Any, ...]:
        return forth(own), ()

    def and_back(kept: Any, cotangent: Any) -> tuple[Any, ...]:
        return (back(cotangent),)

    return with_rules(forth, rule, there, and_back, (x,), True)


def constant_of(x: Any, derivative: int) -> Any:
    """A copy of a variable, as a constant of a derivative."""
    return primitives.constant(primitives.primal(x, derivative))


def routine(f: Callable[..., Any], jvp_rule: Callable[..., Any], vjp_rule: Any, primals: tuple[Any, ...], options: tuple[Any, ...]) -> Any:
    """What one of NumPy's routines gives of arrays and options, with rules of `library.rules` where derivatives are taken."""
    if len(primitives.derivatives()) == 0:
        return f(*primals, *options)
    arrays = tuple(inexact(x) for x in primals)

    def of_arrays(*own: Any) -> Any:
        return f(*own, *options)

    def rule(own: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        return jvp_rule(own, tangents, *options)

    if vjp_rule is None:
        return with_rules(of_arrays, rule, None, None, arrays)

    def forth(*own: Any) -> tuple[Any, ...]:
        result = routine(f, jvp_rule, vjp_rule, own, options)
        return result, (own, result)

    def back(kept: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
        return vjp_rule(kept[0], kept[1], cotangents, *options)

    return with_rules(of_arrays, rule, forth, back, arrays)


def inexact(x: Any) -> Any:
    """An array of floats or complex numbers."""
    x = np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def any_varies(leaves: tuple[Any, ...], derivative: int) -> bool:
    """Whether one of them may vary in a derivative."""
    for leaf in leaves:
        if primitives.may_vary(leaf, derivative):
            return True
    return False


def there_and_back(
    jvp_rule: Any, forth: Any, and_back: Any, args: tuple[Any, ...], plain: tuple[Any, ...], derivative: int, inside: Callable[..., Any]
) -> Any:
    """`with_rules` in reverse mode; without a rule for it, that of forward mode is gone through backwards."""
    zeros = map_leaves(lambda x: zero_like(x) if is_inexact(x) else None, plain)
    value, kept = inside(lambda: forth(*plain)) if forth is not None else inside(lambda: (jvp_rule(plain, zeros)[0], None))
    own = plain_copies(value)
    lifted = map_leaves(lambda y: primitives.lift(y, room_for(y), derivative) if is_inexact(y) else y, own)

    def back() -> None:
        cotangents = map_leaves(lambda y: gathered_at(y, derivative), lifted)
        if and_back is not None:
            given = inside(lambda: and_back(kept, cotangents))
        else:
            given = inside(lambda: pulled(lambda t: tangents_of(jvp_rule(plain, t)), (zeros,), lambda values: cotangents)[1][0])
        if len(given) != len(args):
            raise TypeError(f"{len(given)} cotangents for {len(args)} arguments")
        for arg, of_arg in zip(args, given):
            for x, c in zip(leaves_of(arg), leaves_beside(arg, of_arg)):
                if is_inexact(x) and c is not None:
                    primitives.give(x, seed(x, c), derivative)

    primitives.back(derivative, back)
    return lifted


def merged(fixed: tuple[Any, ...], others: tuple[Any, ...], places: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of those at some positions, in order, and all others."""
    if len(places) == 0:
        return others
    if 0 in places:
        return (fixed[0], *merged(fixed[1:], others, tuple(place - 1 for place in places if place > 0)))
    return (others[0], *merged(fixed, others[1:], tuple(place - 1 for place in places)))


def by_position(f: Callable[..., Any], names: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[Any, Any]) -> tuple[Any, ...]:
    """The arguments of a call as rules take them: those that are given by name at the positions of their parameters."""
    if len(kwargs) == 0:
        return args
    named = names[len(args) : len(args) + len(kwargs)]
    if len(named) < len(kwargs) or not all([name in kwargs for name in named]):
        f(*args, **kwargs)  # raises where Python would
        raise TypeError("a function with a rule of its own takes arguments in the order of its parameters, without leaving one out")
    return (*args, *[kwargs[name] for name in named])


def with_jvp(f: Callable[..., Any], rule: Any, places: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    """What `custom_jvp` makes of a call."""
    if len(places) == 0:
        return with_rules(f, rule, None, None, args)
    fixed = tuple(args[place] for place in places)

    def of_others(*others: Any) -> Any:
        return f(*merged(fixed, others, places))

    def rule_of_others(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        return rule(*fixed, primals, tangents)

    return with_rules(of_others, rule_of_others, None, None, others_of(args, places))


def with_vjp(f: Callable[..., Any], forth: Any, and_back: Any, places: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    """What `custom_vjp` makes of a call."""
    if len(places) == 0:
        return with_rules(f, None, forth, and_back, args)
    fixed = tuple(args[place] for place in places)

    def of_others(*others: Any) -> Any:
        return f(*merged(fixed, others, places))

    def forth_of_others(*others: Any) -> Any:
        return forth(*merged(fixed, others, places))

    def back_of_others(kept: Any, cotangents: Any) -> Any:
        return and_back(*fixed, kept, cotangents)

    return with_rules(of_others, None, forth_of_others, back_of_others, others_of(args, places))


def others_of(args: tuple[Any, ...], places: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments that are not at some positions."""
    return tuple(args[place] for place in range(len(args)) if place not in places)


def with_floats(tree: Any, floats: tuple[Any, ...]) -> Any:
    """A structure with other floats and complex numbers among its leaves."""
    leaves: tuple = ()
    for leaf in leaves_of(tree):
        if is_inexact(leaf):
            leaves = (*leaves, floats[0])
            floats = floats[1:]
        else:
            leaves = (*leaves, leaf)
    return filled(tree, leaves)


def recomputed(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What `checkpoint` makes of a call: its arguments are kept, and it is called again where the sweep comes to it."""

    def forth(*own: Any) -> tuple[Any, ...]:
        return f(*plain_copies(own)), own

    def back(own: tuple[Any, ...], cotangents: Any) -> Any:
        def of_floats(*floats: Any) -> Any:
            return f(*with_floats(plain_copies(own), floats))

        given = pulled(of_floats, plain_copies(varied(own)), lambda values: values_of(values, cotangents))[1]
        return with_floats(own, given)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
        def of_floats(*floats: Any) -> Any:
            return f(*with_floats(primals, floats))

        return jvp(of_floats, varied(primals), leaves_of(tangents))

    return with_rules(f, rule, forth, back, args)


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    # One that is made inside may hold variables of a derivative, which are no arguments: it keeps what it needs.
    return f


def values_of(values: Any, cotangents: Any) -> Any:
    """Cotangents of all that varies, and what has none as it is."""
    return map_leaves(lambda y, c: c if is_inexact(y) else y, values, cotangents)


def tangents_of(pair: tuple[Any, ...]) -> Any:
    """Of a value and its tangent, the tangent, 0 where the value has none."""
    return map_leaves(lambda y, t: t if is_inexact(y) else 0.0, pair[0], pair[1])


def zero_like(x: Any) -> Any:
    """A zero, or an array of zeros."""
    return np.zeros(x.shape, x.dtype) if isinstance(x, np.ndarray) else x * 0.0


def gathered_at(y: Any, derivative: int) -> Any:
    """In `back`: the cotangent of a leaf of a value."""
    if not is_inexact(y):
        return 0.0
    own = primitives.cotangent(y, derivative)
    return gathered(own, own)


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    before = own_copies(primals)

    def pull(cotangents: Any) -> Any:
        return pulled_back(f, own_copies(before), cotangents, has_aux)

    value = f(*primals)
    return (of_pair(value, has_aux), pull, value[1]) if has_aux else (value, pull)


def kept(tree: Any) -> tuple[Any, ...]:
    primitives.refuse(
        "a function of `ingot.vjp` or `ingot.linearize` for arrays that share memory, in compiled code,", "give them copies of the arrays"
    )


def value_and_grad(
    f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False, names: tuple[Any, ...] = ()
) -> Callable[..., Any]:
    def differentiated(result: Any) -> Any:
        return of_pair(result, has_aux)

    def ones(value: Any) -> Any:
        return one(value, holomorphic)

    def both(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        need_given(argnums, args)
        places = places_of(argnums, args, kwargs, names)
        variables = tuple(given_at(place, args, kwargs) for place in places)

        def of_variables(*variables: Any) -> Any:
            return called_with(f, args, kwargs, places, variables)

        def of_floats(*floats: Any) -> Any:
            return of_variables(*with_floats(variables, floats))

        if holomorphic:
            map_leaves(need_complex, variables)
        elif not allow_int:
            map_leaves(need_inexact, variables)
        if allow_int:
            values, slopes = pulled(of_floats, varied(variables), ones, differentiated)
            gradients = with_zeros(variables, slopes)
        else:
            values, gradients = pulled(of_variables, variables, ones, differentiated)
        return values, (gradients if isinstance(argnums, (tuple, list)) else gradients[0])

    return both


def one(value: Any, holomorphic: bool) -> Any:
    """The cotangent of a number whose gradient is asked for."""
    if not is_number(value):
        raise TypeError("gradients are those of functions that give a number")
    if np.shape(value) != ():
        raise TypeError(f"gradients are those of functions that give a number, not an array of shape {np.shape(value)}")
    kind = np.asarray(value).dtype.kind
    if kind != ("c" if holomorphic else "f"):
        raise TypeError("gradients are those of real functions, or with `holomorphic` of complex ones")
    return np.ones((), np.asarray(value).dtype) if isinstance(value, np.ndarray) else 1.0


def with_zeros(tree: Any, slopes: tuple[Any, ...]) -> Any:
    """A structure with the gradients of its floats and complex numbers, and zeros for ints and bools."""
    leaves: tuple = ()
    for leaf in leaves_of(tree):
        if is_inexact(leaf):
            leaves = (*leaves, slopes[0])
            slopes = slopes[1:]
        elif isinstance(leaf, np.ndarray):
            leaves = (*leaves, np.zeros(leaf.shape))
        elif isinstance(leaf, (bool, int, np.generic)):
            leaves = (*leaves, 0.0)
        else:
            raise TypeError("derivatives are taken with respect to numbers and arrays, not to other objects")
    return filled(tree, leaves)


def need_inexact(x: Any) -> None:
    """Raises TypeError unless a variable is of floats or complex numbers."""
    if not is_inexact(x):
        refuse_variable(x, "grad")


def need_complex(x: Any) -> None:
    """Raises TypeError unless a variable is complex."""
    if np.asarray(x).dtype.kind != "c":
        raise TypeError("with `holomorphic`, gradients are taken with respect to complex numbers")


def grad(
    f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False, names: tuple[Any, ...] = ()
) -> Callable[..., Any]:
    def gradient(*args: Any, **kwargs: Any) -> Any:
        values, gradients = value_and_grad(f, argnums, has_aux, holomorphic, allow_int, names)(*args, **kwargs)
        return (gradients, values[1]) if has_aux else gradients

    return gradient


def hvp(f: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, ...]:
    def gradients(*variables: Any) -> tuple[Any, ...]:
        return grad(f, tuple(range(len(primals))))(*variables)

    return jvp(gradients, primals, tangents)[1]


def stop_gradient(x: Any) -> Any:
    return map_leaves(lambda leaf: primitives.primal(leaf, 0) if is_inexact(leaf) else leaf, x)
