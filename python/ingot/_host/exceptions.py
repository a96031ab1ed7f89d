"""The exceptions that leave compiled code."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import types
from typing import Any

import numpy as np

from .. import _errors, _ingot
from . import frames


def built(known: tuple[Any, ...], arguments: tuple[Any, ...], sites: tuple[_errors.Site, ...]) -> BaseException:
    """The first of some exceptions, of which is known: class, kind or the exception itself, which ones are cause and
    context, and where each was raised.

    Where making one of them raises, it is what that raises, as in Python.
    """
    made: dict[int | None, Any] = {None: None}
    for place, (kind, _, context, _, places) in reversed(tuple(enumerate(known))):
        given = arguments[place]
        try:
            made[place] = _of_kind(kind, given, sites or places)
        except BaseException as error:
            error.__context__ = made.get(context)
            return error.with_traceback(None)
    for place, (_, cause, context, is_suppressing, places) in enumerate(known):
        raised = made[place]
        raised.__cause__, raised.__context__ = made[cause], made[context]
        raised.__suppress_context__ = is_suppressing
        raised.__traceback__ = frames.traceback(places)
    return made[0]


def _of_kind(kind: Any, given: tuple[Any, ...], sites: tuple[_errors.Site, ...]) -> BaseException:
    if isinstance(kind, BaseException):
        return _copied(kind)
    return _new_exception(kind, given[0], sites) if type(kind) is str else kind(*given)


def _copied(known: BaseException) -> BaseException:
    error = type(known).__new__(type(known), *known.args)
    if not isinstance(type(known).__init__, types.FunctionType):
        type(known).__init__(error, *known.args)  # Python's own keep some arguments besides `args`
    error.__dict__.update(known.__dict__)
    for name in (name for parent in type(known).__mro__ for name in getattr(parent, "__slots__", ())):
        if hasattr(known, name):
            setattr(error, name, getattr(known, name))
    return error


def throw(known: tuple[Any, ...], arguments: tuple[Any, ...]) -> None:
    """Raises such an exception, for compiled code."""
    raise built(known, arguments, ())


def exception_type(kind: str, message: str) -> type[Any]:
    """The class of an exception of compiled code, whose message may have holes."""
    try:
        return type(_new_exception(kind, message.replace("{}", "1"), ()))
    except (ValueError, SyntaxError):
        return getattr(builtins, kind)


_NO_MEMORY = r"Unable to allocate an array with shape \((.*)\) and data type (\w+)"


def exception(
    kind: str, message: str, sites: tuple[_errors.Site, ...], pending: Any, made: tuple[int, list[Any]] | None, errors: list[Any]
) -> BaseException:
    """What a call raises, which has failed at these locations; pending: what has been raised in Python already.

    `made` has the number of what it is made of, among `errors`, and the numbers in that; None: its kind and message are all.
    """
    if pending is not None:
        return pending
    if made is not None:
        number, values = made
        known, description = errors[number]
        return built(known, _ingot.Objects([], []).make(description, values), sites).with_traceback(frames.traceback(sites))
    return _new_exception(kind, message, sites).with_traceback(frames.traceback(sites))


def _new_exception(kind: str, message: str, sites: tuple[_errors.Site, ...]) -> BaseException:
    if kind == "KeyboardInterrupt":
        return KeyboardInterrupt()
    if kind == "LinAlgError":
        return np.linalg.LinAlgError(message)
    if kind == "UnsupportedError":
        reason, _, advice = message.partition("\n")
        return _errors.unsupported(sites, reason, advice)
    if kind == "DeviceError":
        return _errors.DeviceError(message)
    if kind == "BrokenGroupError":
        return RuntimeError(message)
    if kind == "TypeChangeError":
        return _errors.TypeChangeError(f"{message} ({_errors.place_text(*sites[0][:2])})" if sites else message)
    if kind == "ValueError" and (match := re.fullmatch(r"axis (-?\d+) is out of bounds for array of dimension (\d+)", message)):
        return np.exceptions.AxisError(int(match[1]), int(match[2]), None)
    if kind == "KeyError" and message:
        if match := re.fullmatch(r"np\.(\w+)\((.*)\)", message):
            return KeyError(getattr(np, match[1])(ast.literal_eval(match[2])))
        return KeyError(ast.literal_eval(message))  # the message of a KeyError is the repr of its key
    if kind == "MemoryError" and (match := re.fullmatch(_NO_MEMORY, message)):
        shape, dtype = match.groups()
        errors = importlib.import_module("numpy._core._exceptions")
        return errors._ArrayMemoryError(tuple(int(n) for n in re.findall(r"\d+", shape)), np.dtype(dtype))
    if kind == "TypeError" and (error := _ufunc_error(message)) is not None:
        return error
    return getattr(builtins, kind)(*([message] if message else []))


_NO_CAST = (
    r"Cannot cast ufunc '(\w+)' (input|output)(?: (\d+))? from dtype\('(\w+)'\) to dtype\('(\w+)'\) "
    r"with casting rule '(\w+)'"
)


def _ufunc_error(message: str) -> TypeError | None:
    """NumPy's own subclass of TypeError, where it has one for a message."""
    errors = importlib.import_module("numpy._core._exceptions")
    if match := re.fullmatch(_NO_CAST, message):
        name, which, number, given, wanted, casting = match.groups()
        ufunc = getattr(importlib.import_module("numpy._core.umath"), name, None)
        ufunc = ufunc or getattr(importlib.import_module("numpy.fft._pocketfft_umath"), name, None)
        if ufunc is None:
            return None  # one of a user's
        error = errors._UFuncOutputCastingError if which == "output" else errors._UFuncInputCastingError
        operand = ufunc.nin if which == "output" else int(number or 0)
        return error(ufunc, casting, np.dtype(given), np.dtype(wanted), operand)
    if message.startswith("ufunc 'positive' did not contain a loop"):
        return errors._UFuncNoLoopError(np.positive, (np.dtypes.BoolDType, None))
    return None
