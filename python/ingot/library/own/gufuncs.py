"""Generalised ufuncs of `ingot.guvectorize` in compiled code: their functions are called for each index of the leading axes."""

from __future__ import annotations

from typing import Any

import numpy as np

import ingot._vectorize.guvectorize as public

from .. import primitives
from ..indexing import at_number
from ..registry import implements
from ..shapes import product


@implements(public.GUFunction.__call__)
def call(self: Any, *args: Any, out: Any = None) -> Any:
    function, inputs, outputs, signatures = self._plan
    given = args if out is None else args + (out if isinstance(out, tuple) else (out,))
    count = len(inputs)
    whole = count + len(outputs)
    if len(given) != whole and (len(given) != count or len(signatures) == 0):
        raise TypeError(f"{self.__name__}() takes {count} arguments, and {len(outputs)} for outputs")
    if len(outputs) == 0:
        primitives.refuse("a generalised ufunc without outputs in compiled code", "call the function itself in a loop")
    number = chosen(signatures, given[:count]) if len(signatures) > 0 else -1
    if number is None:
        raise TypeError(f"ufunc '{self.__name__}' did not contain a loop with signature matching types of the arguments")
    arrays = tuple([np.asarray(x) for x in given])
    wanted = tuple([(x.dtype.name, len(core) or (None if k < count else 1)) for k, (x, core) in enumerate(zip(arrays, inputs + outputs))])
    wanted = wanted if number < 0 else signatures[number]
    operands = tuple([primitives.at_dtype(x, np.dtype(kind[0])) for x, kind in zip(arrays[:count], wanted)])
    for x, core in zip(arrays, inputs + outputs):
        if x.ndim < len(core):
            raise ValueError(f"{self.__name__}: an operand does not have enough dimensions for its core")
    lead = np.broadcast_shapes(*[x.shape[: x.ndim - len(core)] for x, core in zip(operands, inputs)])
    known = lengths(arrays, inputs + outputs, ())
    shapes = tuple([lead + shape_of(core, known) for core in outputs])
    made = started(shapes, tuple([np.dtype(kind[0]) for kind in wanted[count:]]), arrays[count:])
    spread = tuple([np.broadcast_to(x, lead + x.shape[x.ndim - len(core) :]) for x, core in zip(operands, inputs)])
    run(function, spread, made, tuple([kind[1] is None for kind in wanted[:count]]), lead, inputs, outputs)
    return delivered(made, arrays[count:])


def chosen(signatures: Any, given: tuple[Any, ...]) -> Any:
    """The number of the signature that the inputs have, or of the first one that they cast to safely."""
    for number, signature in enumerate(signatures):
        if all([has(x, kind[0]) for x, kind in zip(given, signature)]):
            return number
    for number, signature in enumerate(signatures):
        if all([fits(x, kind[0]) for x, kind in zip(given, signature)]):
            return number
    return None


def has(x: Any, name: str) -> bool:
    return x.dtype == np.dtype(name) if isinstance(x, (np.ndarray, np.generic)) else fits(x, name)


def fits(x: Any, name: str) -> bool:
    """Whether NumPy casts an operand to a dtype; a number of Python's takes the dtype of others."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.can_cast(x.dtype, np.dtype(name))
    if isinstance(x, (bool, list, tuple)):
        return np.can_cast(np.asarray(x).dtype, np.dtype(name))
    if isinstance(x, int):
        return np.can_cast(np.int8, np.dtype(name)) or np.can_cast(np.uint8, np.dtype(name))
    return np.can_cast(np.float16 if isinstance(x, float) else np.complex64, np.dtype(name))


def lengths(arrays: tuple[Any, ...], cores: Any, known: Any) -> Any:
    """The lengths of core axes, by name."""
    found = known
    for x, core in zip(arrays, cores):
        own = x.shape[x.ndim - len(core) :]
        for k in range(len(core)):
            before = length_of(core[k], found)
            if before is None:
                found = (*found, (core[k], own[k]))
            elif before != own[k]:
                raise ValueError("operands have a mismatch in a core dimension")
    return found


def length_of(name: str, known: Any) -> Any:
    if name.isdigit():
        return int(name)
    for other, length in known:
        if other == name:
            return length
    return None


def shape_of(core: Any, known: Any) -> Any:
    for name in core:
        if length_of(name, known) is None:
            raise ValueError("a core dimension of an output is not known: give the output")
    return tuple([length_of(name, known) for name in core])


def started(shapes: Any, dtypes: Any, outs: tuple[Any, ...]) -> Any:
    """Arrays for the function to write into, with the values of the outputs that are given."""
    if len(outs) == 0:
        return tuple([np.empty(shape, dtype) for shape, dtype in zip(shapes, dtypes)])
    for x, shape, dtype in zip(outs, shapes, dtypes):
        if x.shape != shape:
            raise ValueError("an output of a generalised ufunc has another shape than the result")
        if not np.can_cast(dtype, x.dtype, "same_kind"):
            raise TypeError("an output of a generalised ufunc has a dtype that the result does not cast to")
    return tuple([copied(x, dtype) for x, dtype in zip(outs, dtypes)])


def copied(x: Any, dtype: Any) -> Any:
    """An array of the values of another one, or of zeros where they are of a kind that the dtype does not hold."""
    made = np.zeros(x.shape, dtype)
    if np.can_cast(x.dtype, dtype, "same_kind"):
        made[...] = primitives.at_dtype(x, dtype)
    return made


def run(function: Any, operands: Any, made: Any, are_numbers: Any, lead: Any, inputs: Any, outputs: Any) -> None:
    """Calls the function for each index of the leading axes; operands without core axes are numbers, or arrays of one element."""
    for number in range(product(lead)):
        place = at_number(number, lead)
        given = [one(x, place, core, is_number) for x, core, is_number in zip(operands, inputs, are_numbers)]
        function(*given, *[one(x, place, core, False) for x, core in zip(made, outputs)])


def one(x: Any, place: Any, core: Any, is_number: bool) -> Any:
    if len(core) > 0:
        return x[(*place, Ellipsis)]
    return x[place] if is_number else x[(*place, None)]


def delivered(made: tuple[Any, ...], outs: tuple[Any, ...]) -> Any:
    """The results, in the outputs that were given."""
    results = made
    if len(outs) > 0:
        for x, y in zip(outs, made):
            x[...] = primitives.at_dtype(y, x.dtype)
        results = outs
    results = tuple([x[()] for x in results])
    return results[0] if len(results) == 1 else results
