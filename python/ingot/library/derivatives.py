"""Derivatives. One lifts its variables, calls the function, and asks for tangents (`primitives`); the compiler does the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ingot._derivatives as public

from . import primitives
from .registry import implements
from .structures import map_leaves


def is_inexact(x: Any) -> bool:
    """Whether a number or array is of floats or complex numbers."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex, np.floating, np.complexfloating))


def shadow(x: np.ndarray) -> np.ndarray:
    """Zeros that lie in memory as x does."""
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
    """A copy of t, of the dtype of x, that lies in memory as x does."""
    is_contiguous = primitives.is_contiguous(x)
    if primitives.is_known(is_contiguous) and is_contiguous:
        return np.array(t, x.dtype, order="C")
    tangents = shadow(x)
    tangents[...] = t
    return tangents


def lift(x: Any, t: Any, derivative: int) -> Any:
    """A number or array as a variable with a tangent."""
    if not is_inexact(x):
        raise TypeError("derivatives are taken with respect to floats and complex numbers, not to ints, bools or other objects")
    if np.asarray(t).dtype.kind == "c" and np.asarray(x).dtype.kind != "c":
        raise TypeError("a complex tangent for a real variable")
    if isinstance(x, np.ndarray):
        if np.shape(t) != x.shape:
            raise ValueError(f"a tangent of shape {np.shape(t)} for an array of shape {x.shape}")
        own = x.copy() if primitives.may_be_read_only(x) else x  # elements of read-only arrays may be the same memory
        return primitives.lift(own, laid_out(t, own), derivative)
    if isinstance(t, np.ndarray):
        if t.ndim != 0:
            raise ValueError(f"a tangent of shape {t.shape} for a number")
        return primitives.lift(x, t[()], derivative)
    return primitives.lift(x, t, derivative)


def own_copy(x: Any) -> Any:
    """An array that may be written into; others as they are."""
    return x.copy() if isinstance(x, np.ndarray) else x


@implements(public.jvp)
def jvp(f: Callable, primals: Any, tangents: Any) -> tuple:
    if len(primals) != len(tangents):
        raise ValueError(f"{len(primals)} primals and {len(tangents)} tangents")
    derivative = primitives.new_derivative()
    variables = tuple(map_leaves(lambda x, t: lift(x, t, derivative), x, t) for x, t in zip(primals, tangents))
    result = f(*variables)
    values = map_leaves(lambda y: primitives.primal(y, derivative), result)
    return values, map_leaves(lambda y: primitives.tangent(y, derivative), result)


@implements(public.linearize)
def linearize(f: Callable, *primals: Any) -> tuple:
    def linear(*tangents: Any) -> Any:
        return jvp(f, primals, tangents)[1]

    return f(*primals), linear


@implements(public.jacfwd)
def jacfwd(f: Callable, argnums: Any = 0) -> Callable:
    def jacobian(*args: Any) -> Any:
        if isinstance(argnums, tuple):
            return tuple(along(f, args, number) for number in argnums)
        return along(f, args, argnums)

    return jacobian


def along(f: Callable, args: tuple, argnum: int) -> Any:
    """The derivative of f with respect to all elements of one argument, whose axes come last."""
    at = argnum + len(args) if argnum < 0 else argnum
    if at < 0 or at >= len(args):
        raise ValueError(f"argnums {argnum} of a function that is given {len(args)} arguments")

    def of_one(x: Any) -> Any:
        return f(*tuple(x if i == at else map_leaves(own_copy, args[i]) for i in range(len(args))))

    point = args[at]
    if not isinstance(point, np.ndarray):
        return jvp(of_one, (point,), (1.0,))[1]
    flat = np.zeros(point.size, point.dtype)
    direction = flat.reshape(point.shape)
    flat[:1] = 1.0
    first = jvp(of_one, (point.copy(),), (direction,))[1]
    columns = map_leaves(lambda y: np.empty((point.size, *np.shape(y)), np.asarray(y).dtype), first)
    put_all(columns, first, 0)
    for k in range(1, point.size):
        flat[k - 1] = 0.0
        flat[k] = 1.0
        put_all(columns, jvp(of_one, (point.copy(),), (direction,))[1], k)
    return map_leaves(lambda c: np.moveaxis(c, 0, -1).reshape(c.shape[1:] + point.shape), columns)


def put_all(columns: Any, values: Any, k: int) -> None:
    """Sets the k-th of each array of a structure, if it is there."""

    def put(column: Any, value: Any) -> None:
        column[k : k + 1] = value

    map_leaves(put, columns, values)


@implements(public.hessian)
def hessian(f: Callable, argnums: Any = 0) -> Callable:
    return jacfwd(jacfwd(f, argnums), argnums)


@implements(public.stop_gradient)
def stop_gradient(x: Any) -> Any:
    return map_leaves(lambda leaf: primitives.primal(leaf, 0) if is_inexact(leaf) else leaf, x)
