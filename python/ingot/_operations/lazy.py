"""Lazy operations on arrays of devices: their results are computed when the elements are first read.

C++ keeps which operations wait, their operands, and which results are still referred to
(`bindings/pending`). This module has their sources, and makes functions of them: one for all operations that an array
depends on, compiled as any other.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import threading
from typing import Any

import numpy as np

from .. import _environment, _ingot
from .._calls.function import Function
from .._signatures import DTYPES
from . import functions

_texts: list[str] = []
"""By the numbers of operations: an expression with a hole for each operand."""
_functions = itertools.count()
_MOST_USES = 4096
_REDUCTIONS = frozenset("sum prod mean std var max min amax amin all any argmax argmin".split())


class lazy:
    """Set whether operations on arrays of devices wait until their results are needed.

    A context manager: ``with ingot.lazy(False):`` runs them at once in the calling thread.

    Parameters
    ----------
    on : bool, default True
        True: operations wait, and those that a result depends on are computed together.

    Notes
    -----
    Values are the same. At first it is the environment variable INGOT_LAZY, where 0 is False.

    Examples
    --------
    >>> x = ingot.device_put(np.arange(3.0), "emulated")
    >>> with ingot.lazy(False):
    ...     y = 2 * x + 1
    >>> y
    Array([1., 3., 5.], device=emulated:0)
    """

    __module__ = "ingot"

    def __init__(self, on: bool = True) -> None:
        self._on = bool(on)
        self._before: list[bool] = []

    def __enter__(self) -> lazy:
        self._before.append(_ingot.set_waiting(self._on))
        return self

    def __exit__(self, *error: Any) -> None:
        _ingot.set_waiting(self._before.pop())


class Expression(Function):
    """The function of an expression. Its numbers are arguments, and may have any values."""

    _most_values = None


def text_of_dtype(dtype: np.dtype) -> str:
    return "np.bool_" if dtype == bool else f"np.{dtype.name}"


_operations: dict[tuple[str, int, bool], Any] = {}
"""They never go: what waits refers to them."""
_lock = threading.Lock()


def _operation(text: str, operands: int, in_place: bool) -> Any:
    with _lock:
        key = (text, operands, in_place)
        if key not in _operations:
            if text not in _texts:
                _texts.append(text)
            _operations[key] = _ingot.Operation(_texts.index(text), operands, in_place)
        return _operations[key]


def wait(function: Function, text: str, operands: int, in_place: bool = False) -> None:
    """From now on calls of a compiled function with so many arguments may wait; `text` is the source of what it gives of them.
    `in_place`: the result becomes the first argument."""
    function._wait_as(_operation(text, operands, in_place))


def wait_as_numpys(function: Any, path: str, original: Any) -> None:
    """The same for the compiled function that is NumPy's of this name."""
    if isinstance(original, np.ufunc):
        if original.signature is None and original.nout == 1 and original.nin <= 3:
            wait(function, f"np.{path}({', '.join(['{}'] * original.nin)})", original.nin)
    elif original is np.where:
        wait(function, "np.where({}, {}, {})", 3)
    elif path in _REDUCTIONS:
        function._reduce_what_waits()


def _compiled(steps: list[tuple[int, list[int]]], leaves: int, given: str, statement: str = "") -> Function:
    """`statement` follows the steps."""
    def name(place: int) -> str:
        return f"t{place}" if place >= 0 else f"x{~place}"

    lines = [f"t{i} = {_texts[number].format(*map(name, places))}" for i, (number, places) in enumerate(steps)]
    lines += [*([statement] if statement else []), f"return {given}"]
    text = f"def expression({', '.join(f'x{i}' for i in range(leaves))}):\n" + "".join(f"    {line}\n" for line in lines)
    made = Expression(functions.function_of(text, f"waiting{next(_functions)}.expression", {"np": np}))
    made._only_reads()
    return made


def function_of(steps: list[tuple[int, list[int]]], leaves: int, outputs: list[int]) -> Function:
    """The function of so many leaves that does the steps - each an operation and the indices of its operands: of an
    earlier step, or `~i`: of leaf `i` - and gives what those of `outputs` give."""
    return _compiled(steps, leaves, ", ".join(f"t{place}" for place in outputs))


@functools.cache
def _alone(number: int, operands: int) -> Function:
    made = _compiled([(number, [~i for i in range(operands)])], operands, "t0")
    made._wants_code = False
    return made


_SEEN = {("ValueError", "lengths"), ("OverflowError", "numbers")}
"""What an operation may raise that is seen when it is called: of shapes, and of Python's ints (`bindings/pending`)."""


def result_of(number: int, kinds: list[Any]) -> np.dtype | None:
    """The dtype that an operation gives with operands of these kinds: (dtype,) of an array, dtype of a number of
    NumPy's, type of one of Python's. None: it does not wait, since it cannot be compiled, or what it raises depends on
    elements.
    """
    values = [np.empty(2, k[0]) if type(k) is tuple else k.type(1) if isinstance(k, np.dtype) else k(1) for k in kinds]
    try:
        specialisation, _ = _alone(number, len(kinds))._prepare(tuple(values), {})
    except Exception:
        return None  # it is raised by the call itself
    result = specialisation.result
    if result.kind != _ingot.Description.ARRAY or specialisation.hosts or specialisation.writes:
        return None
    return np.dtype(result.dtype) if _SEEN.issuperset(specialisation.program.raises) else None


_uses: dict[tuple[Any, ...], Function] = {}
"""What uses an expression at once, by its key and the text of the use."""


def _using(expression: Any, use: str, leaves: list[Any], given: str, statement: str = "") -> Any:
    """Computes an expression and what uses it at once - `given`, or a statement -: what that gives, or NotImplemented,
    where the one is to be done after the other."""
    outputs = expression.outputs
    key = (expression.key, use)
    made = _uses.get(key)
    if made is None:
        steps = expression.steps
        values = [*([given] if given else []), *(f"t{place}" for place in outputs)]
        if len(_uses) == _MOST_USES:
            _uses.clear()
        made = _uses[key] = _compiled(steps, len(leaves), ", ".join(values) or "None", statement)
    try:
        result = made(*leaves)
    except MemoryError:
        raise
    except Exception:
        return NotImplemented  # it is raised by the call itself
    if outputs and given:
        expression.finish(list(result[1:]))
        return result[0]
    if outputs:
        expression.finish(list(result) if len(outputs) > 1 else [result])
    return result


def _expression(array: Any, is_dropped: bool) -> Any:
    """None: another thread has computed it."""
    try:
        return _ingot.Expression(array, is_dropped)
    except TypeError:
        return None


def _text_of(value: Any) -> str | None:
    """What stands for a value in a program; None: it has no source of its own."""
    if value is None or type(value) in (bool, int) or type(value) is tuple and all(type(v) is int for v in value):
        return repr(value)
    if isinstance(value, type) and (issubclass(value, np.generic) or value in (float, int, bool, complex)):
        value = np.dtype(value)
    return text_of_dtype(value) if isinstance(value, np.dtype) and value in DTYPES else None


def reduced(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], is_dropped: bool) -> Any:
    """What a reduction gives of an array that waits, by one function; NotImplemented: they are computed one after the
    other. `is_dropped`: nobody looks at the array itself later."""
    texts: list[Any] = [*map(_text_of, arguments[1:]), *map(_text_of, keywords.values())]
    if None in texts or (expression := _expression(arguments[0], is_dropped)) is None:
        return NotImplemented
    passed = [f"t{len(expression.steps) - 1}", *texts[: len(arguments) - 1]]
    passed += [f"{name}={text}" for name, text in zip(keywords, texts[len(arguments) - 1 :])]
    use = f"np.{function.__name__}({', '.join(passed)})"
    return _using(expression, use, expression.leaves, use)


def written_by(operation: int | None, target: Any, value: Any, is_dropped: bool) -> Any:
    """Writes into an array what waits, by one function: by an operation in place, or (None) its elements. The array, or
    NotImplemented: they are done one after the other. `is_dropped`: nobody looks at the value itself later."""
    if not target._writable or (reads := _ingot.prepare_write(target, value)) is None:
        return NotImplemented
    if (expression := _expression(value, is_dropped and not reads)) is None:
        return NotImplemented
    leaves = expression.leaves
    place = next((i for i, leaf in enumerate(leaves) if leaf is target), len(leaves))
    if place == len(leaves):
        leaves.append(target)
    left = f"x{place}[...] =" if operation is None else f"x{place} {_texts[operation].split()[1]}="
    statement = f"{left} t{len(expression.steps) - 1}"
    return target if _using(expression, statement, leaves, "", statement) is not NotImplemented else NotImplemented


_ingot.wait_at_first(_environment.value_of("INGOT_LAZY"))
os.register_at_fork(after_in_child=_ingot.renew_access)
atexit.register(_ingot.forget_expressions)
