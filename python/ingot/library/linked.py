"""Calls of functions that are linked with kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives


def flattened(kind: tuple[Any, ...], argument: Any, name: str) -> tuple[Any, ...]:
    """The C argument for an argument."""
    if kind[0] == "complex":
        number = primitives.at_dtype(argument, kind[1])
        return number.real, number.imag
    if kind[0] == "number" or not isinstance(argument, np.ndarray):
        return (argument,)
    if kind[0] == "pointer":
        if not (primitives.is_contiguous(argument) or primitives.is_contiguous(argument.T)):
            raise ValueError(f"`{name}` is given an array with gaps for a pointer")
        return (argument,)
    if argument.ndim != kind[1]:
        raise TypeError(f"`{name}` wants an array of {kind[1]} axes, not {argument.ndim}")
    if kind[2] == "C" and not primitives.is_contiguous(argument) or kind[2] == "F" and not primitives.is_contiguous(argument.T):
        raise TypeError(f"`{name}` wants an array in {kind[2]} order")
    return 0, 0, argument.size, argument.itemsize, argument, *argument.shape, *argument.strides


def calling(declaration: Any) -> Callable[..., Any]:
    """What a kernel calls for a declaration."""
    name, kinds, types, count = declaration.name, declaration.kinds, declaration.types, len(declaration.kinds)
    result, is_plain = declaration.result, declaration.abi == "c"
    given_back = np.dtype(np.int64 if result is None else result)
    types_with_result = (f"*{given_back.name}", *types)

    def declared() -> None:
        """Stands for the declaration: the compiler parts instances into their attributes, but knows functions as they are."""

    declared.declaration = declaration  # type: ignore[attr-defined]

    def call(*arguments: Any) -> Any:
        primitives.need_kernel(name, True)
        if len(arguments) != count:
            raise TypeError(f"`{name}` takes {count} arguments, not {len(arguments)}")
        given: tuple = ()
        for kind, argument in zip(kinds, arguments):
            given = given + flattened(kind, argument, name)
        if is_plain:
            return primitives.linked(declared, result, types, given)
        out = primitives.local_memory(1, given_back)
        status = primitives.linked(declared, "int32", types_with_result, (out, *given))
        if status != 0:
            raise RuntimeError(f"`{name}` has returned the status {status}")
        return None if result is None else out[0]

    call.__name__ = call.__qualname__ = name
    return call
