"""The exceptions that leave compiled code."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _errors, _ingot

_MADE = re.compile("\x1f(\\d+)\x1f")
"""How the message of an exception begins that says of what it is made, by a number: numbers follow, each with \\x1f after it."""

_READERS: dict[str, Callable[[str], Any]] = {"b": "True".__eq__, "i": int, "f": float}


def built(known: tuple, arguments: tuple, sites: tuple[_errors.Site, ...], errors: dict) -> BaseException:
    """The first of some exceptions, of which is known: class or kind, which ones are cause and context, and where each was raised.

    Where making one of them raises, it is what that raises, as in Python.
    """
    made: dict[int | None, BaseException | None] = {None: None}
    for place, (kind, _, context, _, places) in reversed(tuple(enumerate(known))):
        given = arguments[place]
        try:
            made[place] = _new_exception(kind, given[0], sites or places, errors) if type(kind) is str else kind(*given)
        except BaseException as error:
            error.__context__ = made.get(context)
            return error.with_traceback(None)
    for place, (_, cause, context, is_suppressing, places) in enumerate(known):
        error = made[place]
        error.__cause__, error.__context__ = made[cause], made[context]
        error.__suppress_context__ = is_suppressing
        error.__traceback__ = _errors.traceback(places)
    return made[0]


def throw(known: tuple, arguments: tuple, errors: dict) -> None:
    """Raises such an exception, for compiled code."""
    raise built(known, arguments, (), errors)


def _of_number(number: int, message: str, sites: tuple[_errors.Site, ...], errors: dict) -> BaseException:
    """The exception that a message says how to make."""
    known, description, letters = errors[number]
    texts = message.split("\x1f")[2:]
    values = [_READERS[letter](text) for letter, text in zip(letters, texts)]
    return built(known, _ingot.Objects([], []).make(description, values), sites, errors)


def exception_type(kind: str, message: str, errors: dict) -> type:
    """The class of an exception of compiled code, whose message may have holes."""
    try:
        return type(exception(kind, message.replace("{}", "1"), (), None, errors))
    except (ValueError, SyntaxError):
        return getattr(builtins, kind)


_NO_MEMORY = re.compile(r"Unable to allocate an array with shape \((.*)\) and data type (\w+)")


def exception(kind: str, message: str, sites: tuple[_errors.Site, ...], pending: Any, errors: dict) -> BaseException:
    """What a call raises, which has failed at these places; pending: what has been raised in Python already."""
    if pending is not None:
        return pending
    return _new_exception(kind, message, sites, errors).with_traceback(_errors.traceback(sites))


def _new_exception(kind: str, message: str, sites: tuple[_errors.Site, ...], errors: dict) -> BaseException:
    if (match := _MADE.match(message)) and int(match[1]) in errors:
        return _of_number(int(match[1]), message, sites, errors)
    if message in errors:
        known = errors[message]
        error = type(known).__new__(type(known), *known.args)
        error.__dict__.update(known.__dict__)
        for name in (name for parent in type(known).__mro__ for name in getattr(parent, "__slots__", ())):
            if hasattr(known, name):
                setattr(error, name, getattr(known, name))
        return error
    if kind == "KeyboardInterrupt":
        return KeyboardInterrupt()
    if kind == "LinAlgError":
        return np.linalg.LinAlgError(message)
    if kind == "TypeChangeError":
        return _errors.TypeChangeError(f"{message} ({sites[0][0]}:{sites[0][1]})" if sites else message)
    if kind == "ValueError" and (match := re.fullmatch(r"axis (-?\d+) is out of bounds for array of dimension (\d+)", message)):
        return np.exceptions.AxisError(int(match[1]), int(match[2]), None)
    if kind == "KeyError" and message:
        if match := re.fullmatch(r"np\.(\w+)\((.*)\)", message):
            return KeyError(getattr(np, match[1])(ast.literal_eval(match[2])))
        return KeyError(ast.literal_eval(message))  # the message of a KeyError is the repr of its key
    if kind == "MemoryError" and (match := _NO_MEMORY.fullmatch(message)):
        shape, dtype = match.groups()
        return np._core._exceptions._ArrayMemoryError(tuple(int(n) for n in re.findall(r"\d+", shape)), np.dtype(dtype))
    if kind == "TypeError" and (error := _ufunc_error(message)) is not None:
        return error
    return getattr(builtins, kind)(*([message] if message else []))


_NO_CAST = re.compile(
    r"Cannot cast ufunc '(\w+)' (input|output)(?: (\d+))? from dtype\('(\w+)'\) to dtype\('(\w+)'\) "
    r"with casting rule '(\w+)'"
)


def _ufunc_error(message: str) -> TypeError | None:
    """NumPy's own subclass of TypeError, where it has one for a message."""
    errors = np._core._exceptions
    if match := _NO_CAST.fullmatch(message):
        name, which, number, given, wanted, casting = match.groups()
        ufunc = getattr(np._core.umath, name, None) or getattr(np.fft._pocketfft_umath, name)
        error = errors._UFuncOutputCastingError if which == "output" else errors._UFuncInputCastingError
        operand = ufunc.nin if which == "output" else int(number or 0)
        return error(ufunc, casting, np.dtype(given), np.dtype(wanted), operand)
    if message.startswith("ufunc 'positive' did not contain a loop"):
        return errors._UFuncNoLoopError(np.positive, (np.dtypes.BoolDType, None))
    return None
