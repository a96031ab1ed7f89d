"""The errors of Ingot itself."""

import linecache
import os
import re
import sys
from typing import Any


class UnsupportedError(Exception):
    """Python code that Ingot does not compile.

    The message shows the line with a caret, the reason, and what to write instead.

    Examples
    --------
    >>> @ingot.jit
    ... def f(x):
    ...     return eval(x)
    >>> try:
    ...     f("1 + 1")
    ... except ingot.UnsupportedError as error:
    ...     print(str(error).splitlines()[-1].strip())
    instead: write the code into the function
    """

    __module__ = "ingot"

    _told: tuple[str, str] = "", ""
    """Reason and advice."""
    _is_placed = True
    """Whether it is at a location of the user's."""
    _code = "other"
    """What it is about, of `base::Refusal`: "race" of iterations of a loop over `prange`, "argument" of a kind that compiled code does not have."""
    _argument = ""
    """The name of that argument, or of the part of one: `x.0`."""


class BrokenGroupError(RuntimeError):
    """Threads of a kernel that work together, of which some have ended: what made those end is raised first. Outside of kernels it is a RuntimeError."""


class TypeChangeError(TypeError):
    """A value whose Python type depends on a number: the case that was not compiled has come up.

    The message shows where, and how to have one type. It is a TypeError.

    See Also
    --------
    UnsupportedError : What is refused when compiling.
    """

    __module__ = "ingot"


class InternalError(RuntimeError):
    """A fault of Ingot itself.

    Please report it, with the function and the types of its arguments.
    """

    __module__ = "ingot"


class DeviceError(RuntimeError):
    """What a device's driver answers that it cannot do, or what a kernel has done wrong there.

    The message names the operation of the driver and its error.
    """

    __module__ = "ingot"


class LibraryError(DeviceError):
    """A vendor's library has not done what it was asked for.

    Parameters
    ----------
    message : str
        What was asked for.
    status : str
        The library's name of the error, such as ``"CUBLAS_STATUS_NOT_SUPPORTED"``; also an attribute.
    """

    __module__ = "ingot.cuda"

    def __init__(self, message: str, status: str):
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return LibraryError, (str(self), self.status)


Site = tuple[str, int, int, int, str]
"""A location of the user's: file, line, first and last column in bytes (0: not known) and the name of the function."""


_MOST_CALLERS = 3


def unsupported(
    sites: tuple[Site, ...], reason: str, advice: str, operands: list[str] | tuple[Any, ...] = (), quoted: tuple[tuple[Site, ...], ...] = ()
) -> UnsupportedError:
    """The refusal of what is at the first of some locations; the others are those of the calls that led there.

    What is written at `quoted`, likewise, is put where `{}` is in the reason."""
    if quoted:
        reason = reason.format(*map(_quotation, quoted))
    reason, operands = with_articles(shown_names(reason)), [shown_names(operand) for operand in operands]
    told = reason, advice
    if any(_is_own(site[0]) for site in sites[:1]):  # the function that is compiled is Ingot's
        sites, operands = tuple(site for site in sites if not _is_own(site[0])), []
    file, line, column, end_column, function = sites[0] if sites else ("", 0, 0, 0, "")
    parts = [f"{reason} is not supported"]
    if line:
        parts.append(f"  {place_text(file, line)}{_in(function)}")
        parts += _excerpt(file, line, column, end_column)
    if operands:
        parts.append(f"  where {', '.join(operands)}")
    callers = sites[1:]
    shown = callers if len(callers) <= _MOST_CALLERS else (*callers[: _MOST_CALLERS - 1], callers[-1])
    for number, (file, line, column, end_column, function) in enumerate(shown):
        if len(shown) < len(callers) and number == _MOST_CALLERS - 1:
            parts.append(f"  ... and {len(callers) - len(shown)} calls more")
        parts.append(f"  called at {place_text(file, line)}{_in(function)}")
        parts += _excerpt(file, line, 0, 0)[:1]
    parts.append(f"  instead: {advice}")
    error = UnsupportedError("\n".join(parts))
    error._told, error._is_placed = told, bool(sites)
    return error


_OWN = r"`@(\w+)(?:[.@:]\w+)*`"  # patterns are compiled when they are first used
_SUFFIX = r"`(\w+)(?:@[gw]?\d[\d:]*)+`"
_ARTICLE = r"(?<![`\w'])([Aa]) (?=[aeioAEIO])(?!one\b|once\b)"
_OWN_FILES = os.path.dirname(__file__) + os.sep
_TOUR = os.path.join(_OWN_FILES, "tour", "")
_OWN_NAMES = {"it": "what is iterated over", "items": "what is iterated over", "item": "an element", "result": "the result", "value": "an element"}


def shown_names(text: str) -> str:
    """A message in which the frontend's own names are put into words, and names of inner scopes are as they were written."""
    return re.sub(_SUFFIX, r"`\1`", re.sub(_OWN, lambda own: _OWN_NAMES.get(own[1], "a value of the loop"), text))


def _is_own(file: str) -> bool:
    """Whether a location in a file is none of the user's; programs of the tour are users' programs."""
    return file.startswith(_OWN_FILES) and not file.startswith(_TOUR)


def with_articles(text: str) -> str:
    """A message in which names that others have put after `a` have `an` before vowels."""
    return re.sub(_ARTICLE, r"\1n ", text)


def dtype_text(dtype: Any) -> str:
    """A dtype for messages; one with fields as users write it, without what alignment adds."""
    if dtype.subdtype is not None:
        return f"({dtype_text(dtype.base)}, {dtype.shape})"
    if dtype.names is None:
        return str(dtype)
    parts = []
    for name in dtype.names:
        field = dtype.fields[name][0]
        shape = f", {field.shape}" if field.subdtype is not None else ""
        text = repr(field.base.str) if field.base.names is None else dtype_text(field.base)
        parts.append(f"({name!r}, {text}{shape})")
    return f"[{', '.join(parts)}]"


def place_text(file: str, line: int) -> str:
    """A line of a file for messages; of a notebook's cell as IPython's tracebacks have it: `Cell In[3], line 2`."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name = shell.compile.format_code_name(file) if hasattr(shell, "compile") else None
    return f"{file}:{line}" if name is None else f"{' '.join(name)}, line {line}"


def _in(function: str) -> str:
    return f", in {function}" if function else ""


class _Quotation(str):
    """What a user has written, and where."""

    place = "", 0

    @property
    def carried(self) -> str:
        """Of a loop: the names that an iteration passes to the next, after a colon; where they are not known, nothing."""
        from ._refusals.carried import carried_names

        names = ", ".join(f"`{name}`" for name in carried_names(*self.place))
        return f": {names}" if names else ""


def _quotation(sites: tuple[Site, ...]) -> _Quotation:
    """What a user has written at the first of some locations that is not Ingot's; without source, the line."""
    file, line, column, end_column, _ = next((site for site in sites if not _is_own(site[0])), sites[0])
    linecache.checkcache(file)
    raw = linecache.getline(file, line).rstrip("\n").encode()
    text = " ".join(raw[column : end_column if end_column > column else len(raw)].decode(errors="replace").split())
    quotation = _Quotation(f"`{text}`" if text else f"line {line}")
    quotation.place = file, line
    return quotation


def _excerpt(file: str, line: int, column: int, end_column: int) -> list[str]:
    """A line of a source, and carets under these bytes of it; without an end, under the rest of it."""
    linecache.checkcache(file)
    source = linecache.getline(file, line).rstrip("\n")
    if not source:
        return []
    raw = source.encode()
    start = len(raw[:column].decode(errors="replace"))
    end = len(raw[:end_column].decode(errors="replace")) if end_column > column else len(source)
    start = max(start, len(source) - len(source.lstrip()))
    indent = len(source) - len(source.lstrip())
    carets = "^" * min(max(1, end - start), max(1, len(source) - start))
    return ["    " + source.strip(), "    " + " " * (start - indent) + carets]
