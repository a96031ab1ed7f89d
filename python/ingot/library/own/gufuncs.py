"""Generalised ufuncs of `ingot.guvectorize` in compiled code: their functions are called for each index of the leading axes."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import numpy as np

import ingot._vectorize.guvectorize as public

from .. import primitives
from ..indexing import at_number
from ..registry import implements
from ..shapes import normal_axis, product


CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


@implements(public.GUFunction.__call__)
def call(self: Any, *args: Any, out: Any = ..., axis: Any = ..., axes: Any = ..., keepdims: Any = False, dtype: Any = None, casting: Any = "same_kind") -> Any:
    function, inputs, outputs, signatures = self._plan
    name, count = self.__name__, len(inputs)
    if len(outputs) == 0:
        primitives.refuse("a generalised ufunc without outputs in compiled code", "call the function itself in a loop")
    outs = given_outputs(name, args, out, count, len(outputs))
    if len(args) < count and len(signatures) > 0:
        raise counts_wrong(name, count, len(outputs), len(args))
    if len(args) < count or len(signatures) == 0 and any([x is None for x in outs]):
        raise TypeError(f"{name}() takes {count} arguments, and {len(outputs)} for outputs")
    check_keywords(keepdims, casting)
    cores = outputs if not keepdims else kept(name, inputs, outputs)
    places = places_of(name, axis, axes, inputs, outputs, inputs + cores)
    arrays = tuple([moved(np.asarray(args[k]), places[k], inputs[k], k) for k in range(count)])
    targets = tuple([None if x is None else moved(x, places[count + k], cores[k], count + k) for k, x in enumerate(outs)])
    wanted = kinds_of(name, signatures, args[:count], arrays, outs, inputs + outputs, dtype, casting)
    operands = tuple([primitives.at_dtype(x, np.dtype(kind[0])) for x, kind in zip(arrays, wanted)])
    needed = arrays + tuple([x for x in targets if x is not None])
    of_needed = inputs + tuple([core for core, x in zip(cores, targets) if x is not None])
    for x, core in zip(needed, of_needed):
        if x.ndim < len(core):
            raise ValueError(f"{name}: an operand does not have enough dimensions for its core")
    lead = np.broadcast_shapes(*[x.shape[: x.ndim - len(core)] for x, core in zip(arrays, inputs)])
    for x, core in zip(targets, cores):
        lead = lead if x is None else widened(lead, x.shape[: x.ndim - len(core)])
    known = lengths(needed, of_needed, ())
    shapes = tuple([lead + shape_of(core, known) for core in cores])
    made = started(name, shapes, tuple([np.dtype(kind[0]) for kind in wanted[count:]]), targets, casting)
    spread = tuple([np.broadcast_to(x, lead + x.shape[x.ndim - len(core) :]) for x, core in zip(operands, inputs)])
    run(function, spread, made, tuple([kind[1] is None for kind in wanted[:count]]), lead, inputs, cores, len(inputs[0]) - 1 if keepdims else 0)
    return delivered(made, targets, outs, places, cores)


def given_outputs(name: str, args: tuple[Any, ...], out: Any, inputs: int, outputs: int) -> Any:
    """The outputs that a call is given, None for others; `...` as `out`: it is not given."""
    given = args[inputs:]
    if not isinstance(out, EllipsisType):
        if len(given) > 0:
            raise TypeError("cannot specify 'out' as both a positional and keyword argument")
        if not isinstance(out, tuple) and outputs > 1:
            raise TypeError("'out' must be a tuple of arrays")
        given = out if isinstance(out, tuple) else (out,)
        if len(given) != outputs:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    for x in given:
        if x is not None and not isinstance(x, np.ndarray):
            raise TypeError("return arrays must be of ArrayType")
    if len(given) > outputs:
        raise counts_wrong(name, inputs, outputs, len(args))
    return given + (None,) * (outputs - len(given))


def counts_wrong(name: str, inputs: int, outputs: int, given: int) -> Exception:
    return TypeError(f"{name}() takes from {inputs} to {inputs + outputs} positional arguments but {given} were given")


def check_keywords(keepdims: Any, casting: Any) -> None:
    if not isinstance(keepdims, bool):
        raise TypeError("'keepdims' must be a boolean")
    if not isinstance(casting, str):
        raise TypeError("casting must be str")
    if casting not in CASTINGS:
        raise ValueError(f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe' (got '{casting}')")


# Axes


def text_of(cores: Any) -> str:
    return ",".join(["(" + ",".join(core) + ")" for core in cores])


def kept(name: str, inputs: Any, outputs: Any) -> Any:
    """The core axes of outputs that keep those of the inputs, with length 1."""
    for core in inputs:
        if len(core) != len(inputs[0]):
            raise no_keepdims(name, inputs, outputs)
    for core in outputs:
        if len(core) > 0:
            raise no_keepdims(name, inputs, outputs)
    return tuple([("1",) * len(inputs[0]) for core in outputs])


def no_keepdims(name: str, inputs: Any, outputs: Any) -> Exception:
    return TypeError(
        f"{name} does not support keepdims: its signature {text_of(inputs)}->{text_of(outputs)} has others; keepdims can only be used when all inputs "
        "have the same number of core dimensions and all outputs have no core dimensions."
    )


def places_of(name: str, axis: Any, axes: Any, inputs: Any, outputs: Any, cores: Any) -> Any:
    """Where the core axes of each operand are; None: they are its last ones. `cores` has axes that are kept, too."""
    if isinstance(axis, EllipsisType):
        return (None,) * len(cores) if isinstance(axes, EllipsisType) else places_of_axes(name, axes, outputs, cores)
    if not isinstance(axes, EllipsisType):
        raise TypeError("cannot specify both 'axis' and 'axes'")
    place = whole(axis)
    names = [axis for core in inputs + outputs for axis in core]
    for number, core in enumerate(inputs + outputs):
        if len(core) > 1 or any([axis != names[0] for axis in core]):
            distinct = len([k for k in range(len(names)) if names[k] not in names[:k]])
            raise TypeError(
                f"{name}: axis can only be used with a single shared core dimension, not with the {distinct} distinct ones implied by signature "
                f"{text_of(inputs)}->{text_of(outputs)}."
            )
    return tuple([(place,) if len(core) > 0 else None for core in cores])


def places_of_axes(name: str, axes: Any, outputs: Any, cores: Any) -> Any:
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    if len(axes) != len(cores) and (len(axes) != len(cores) - len(outputs) or any([len(core) > 0 for core in outputs])):
        raise ValueError(
            f"axes should be a list with an entry for all {len(cores)} inputs and outputs; entries for outputs can only be omitted if none of them has core axes."
        )
    found = tuple([places_of_operand(name, number, entry, len(core)) for number, (entry, core) in enumerate(zip(axes, cores))])
    return found + (None,) * (len(cores) - len(axes))


def places_of_operand(name: str, number: int, entry: Any, count: int) -> Any:
    if isinstance(entry, tuple):
        if len(entry) != count:
            raise np.exceptions.AxisError(f"{name}: operand {number} has {count} core dimensions, but {len(entry)} dimensions are specified by axes tuple.")
        return tuple([whole(axis) for axis in entry])
    if count != 1 and not isinstance(entry, (int, np.integer)):
        raise TypeError(f"{name}: axes item {number} should be a tuple.")
    if count != 1:
        raise np.exceptions.AxisError(f"{name}: operand {number} has {count} core dimensions, but the axes item is a single integer.")
    return (whole(entry),)


def whole(axis: Any) -> Any:
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool):
        raise TypeError("an axis cannot be interpreted as an integer")
    if not primitives.is_known(axis):
        primitives.refuse("an axis of a generalised ufunc that is not known when compiling", "write the number, or move the axes of the array before")
    return axis


def moved(x: Any, places: Any, core: Any, operand: int) -> Any:
    """A view with the core axes last."""
    if places is None:
        return x
    return np.moveaxis(x, normal_places(places, x.ndim, operand), tuple(range(-len(core), 0)))


def moved_back(x: Any, places: Any, core: Any, operand: int) -> Any:
    if places is None:
        return x
    return np.moveaxis(x, tuple(range(-len(core), 0)), normal_places(places, x.ndim, operand))


def normal_places(places: Any, ndim: int, operand: int) -> Any:
    found = tuple([normal_axis(axis, ndim) for axis in places])
    for k in range(len(found)):
        if found[k] in found[:k]:
            raise ValueError(f"axes item {operand} has value {found[k]} repeated")
    return found


# Dtypes


def kinds_of(name: str, signatures: Any, given: Any, arrays: Any, outs: Any, cores: Any, dtype: Any, casting: Any) -> Any:
    """The dtype of each operand in the loop, and its number of axes there; None: it is a number."""
    if len(signatures) == 0:
        if dtype is not None:
            raise TypeError("cannot specify both 'signature' and 'dtype'")
        whole = arrays + tuple(outs)
        return tuple([(x.dtype.name, len(core) or (None if k < len(arrays) else 1)) for k, (x, core) in enumerate(zip(whole, cores))])
    count = len(given)
    number = chosen(signatures, given) if dtype is None else chosen_by_outputs(signatures, given, np.dtype(dtype), casting)
    if number is None and dtype is not None:
        raise TypeError(f"No loop matching the specified signature and casting was found for ufunc {name}")
    if number is None:
        raise TypeError(
            f"ufunc '{name}' not supported for the input types, and the inputs could not be safely coerced to any supported types according to the "
            "casting rule ''safe''"
        )
    found = signatures[number]
    for k in range(count):
        if not casts(given[k], found[k][0], casting):
            which = "input" if count == 1 else f"input {k}"
            raise TypeError(f"Cannot cast ufunc '{name}' {which} from {dtype_text(arrays[k].dtype)} to {dtype_text(found[k][0])} with casting rule '{casting}'")
    return found


def dtype_text(dtype: Any) -> str:
    return f"dtype('{np.dtype(dtype).name}')"


def casts(x: Any, name: str, casting: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic)):
        return np.can_cast(x.dtype, np.dtype(name), casting)
    return fits(x, name) or casting == "unsafe" or casting == "same_kind" and np.can_cast(np.asarray(x).dtype, np.dtype(name), casting)


def chosen_by_outputs(signatures: Any, given: tuple[Any, ...], dtype: Any, casting: Any) -> Any:
    """The number of the signature whose outputs have a dtype: that of the inputs, or one that they are cast to, or any."""
    numbers = [number for number, signature in enumerate(signatures) if all([np.dtype(kind[0]) == dtype for kind in signature[len(given) :]])]
    for number in numbers:
        if all([has(x, kind[0]) for x, kind in zip(given, signatures[number])]):
            return number
    for number in numbers:
        if all([casts(x, kind[0], casting) for x, kind in zip(given, signatures[number])]):
            return number
    return numbers[0] if len(numbers) > 0 else None


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


def widened(lead: Any, shape: Any) -> Any:
    """The leading axes of an output, to which those of the inputs are broadcast."""
    for k in range(len(lead)):
        if len(shape) < len(lead) or lead[k] != 1 and lead[k] != shape[len(shape) - len(lead) + k]:
            raise ValueError("an output of a generalised ufunc has another shape than the result")
    return shape


def started(name: str, shapes: Any, dtypes: Any, targets: Any, casting: Any) -> Any:
    """Arrays for the function to write into, with the values of the outputs that are given."""
    for k, (x, shape, dtype) in enumerate(zip(targets, shapes, dtypes)):
        if x is not None:
            if x.shape != shape:
                raise ValueError("an output of a generalised ufunc has another shape than the result")
            if not np.can_cast(dtype, x.dtype, casting):
                which = "output" if len(targets) == 1 else f"output {k}"
                raise TypeError(f"Cannot cast ufunc '{name}' {which} from {dtype_text(dtype)} to {dtype_text(x.dtype)} with casting rule '{casting}'")
    return tuple([np.empty(shape, dtype) if x is None else copied(x, dtype) for x, shape, dtype in zip(targets, shapes, dtypes)])


def copied(x: Any, dtype: Any) -> Any:
    """An array of the values of another one, or of zeros where they are of a kind that the dtype does not hold."""
    made = np.zeros(x.shape, dtype)
    if np.can_cast(x.dtype, dtype, "same_kind"):
        made[...] = primitives.at_dtype(x, dtype)
    return made


def run(function: Any, operands: Any, made: Any, are_numbers: Any, lead: Any, inputs: Any, outputs: Any, more: int) -> None:
    """Calls the function for each index of the leading axes; operands without core axes are numbers, or arrays of one element.
    Outputs have so many axes of length 1 more than the function knows."""
    for number in range(product(lead)):
        place = at_number(number, lead)
        given = [one(x, place, core, is_number) for x, core, is_number in zip(operands, inputs, are_numbers)]
        function(*given, *[one(x, place + (0,) * more, core, False) for x, core in zip(made, outputs)])


def one(x: Any, place: Any, core: Any, is_number: bool) -> Any:
    if len(core) > 0:
        return x[(*place, Ellipsis)]
    return x[place] if is_number else x[(*place, None)]


def delivered(made: tuple[Any, ...], targets: Any, outs: Any, places: Any, cores: Any) -> Any:
    """The results, in the outputs that were given."""
    for x, y in zip(targets, made):
        if x is not None:
            x[...] = primitives.at_dtype(y, x.dtype)
    first = len(places) - len(made)
    results = tuple([moved_back(made[k], places[first + k], cores[k], first + k)[()] if outs[k] is None else outs[k] for k in range(len(made))])
    return results[0] if len(results) == 1 else results
