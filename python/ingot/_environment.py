"""The words of the environment: every variable `INGOT_...`, its values, and its default.

An empty variable is one that is not set. A word that is none of those allowed is reported once in a warning, and the default
holds; so it is for what C++ reads, too, which takes the default without a word. docs/environment.md is for users.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

_ON, _OFF = ("1", "on", "yes", "true"), ("0", "off", "no", "false")


class Variable(NamedTuple):
    """One variable of the environment."""

    allowed: str
    """Its values, for messages."""
    read: Callable[[str], Any]
    """The value of a word; None: there is no such word."""
    default: Any = None


def _switch(text: str) -> bool | None:
    word = text.strip().lower()
    return True if word in _ON else False if word in _OFF else None


def _word(*words: str) -> Callable[[str], str | None]:
    return lambda text: text if text in words else None


def _number(lowest: int, highest: int) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        is_number = text.isascii() and text.isdigit() and len(text) < 20
        return int(text) if is_number and lowest <= int(text) <= highest else None

    return read


def _folder_or_none(text: str) -> str | None:
    return text if text == "0" or os.path.isdir(text) else None


_MOST_BYTES = (1 << 63) - 1
_BYTES = f"a number of bytes from 0 to {_MOST_BYTES}"
MOST_THREADS = 256
VARIABLES = {
    "INGOT_CACHE": Variable("on or off", _switch, True),
    "INGOT_CACHE_DIR": Variable("a folder", str),
    "INGOT_CACHE_LIMIT": Variable(_BYTES, _number(0, _MOST_BYTES), 1 << 30),
    "INGOT_CACHE_WAIT": Variable("a number of seconds from 0 to 3600", _number(0, 3600), 10),
    "INGOT_DEVICE_LIBRARIES": Variable("0, or a folder that is there", _folder_or_none),
    "INGOT_DISABLE": Variable("1 or 0", _switch, False),
    "INGOT_GDB": Variable("1 or 0", _word("0", "1"), "0"),
    "INGOT_KEPT_MEMORY": Variable(_BYTES, _number(0, _MOST_BYTES)),
    "INGOT_KERNELS": Variable("compiled or interpreted", _word("compiled", "interpreted"), "compiled"),
    "INGOT_LAZY": Variable("1 or 0", _switch, True),
    "INGOT_NUM_THREADS": Variable(f"a number of threads from 1 to {MOST_THREADS}", _number(1, MOST_THREADS)),
    "INGOT_OVERLAP": Variable("1 or 0", _switch, True),
    "INGOT_PERF": Variable("1 or 0", _word("0", "1"), "0"),
    "INGOT_PROFILE": Variable("a file", str),
    "INGOT_PROFILE_TRACE": Variable("a file", str),
    "INGOT_STREAMS": Variable("large or always", _word("large", "always"), "large"),
    "INGOT_THREADS": Variable("large, always or never", _word("large", "always", "never"), "large"),
    "INGOT_TIERS": Variable("on, off or quick", _word("on", "off", "quick"), "on"),
    "INGOT_VECTORS": Variable("scalar, sse, avx2 or avx512", _word("scalar", "sse", "avx2", "avx512")),
}
_RENAMED = {"INGOT_CACHE_BYTES": "INGOT_KEPT_MEMORY"}
_told: set[tuple[str, str]] = set()


def _tell(name: str, text: str, message: str, kind: type[Warning] = RuntimeWarning) -> None:
    """Warns once of a variable's value; filters that make an error of it make none of the import."""
    if (name, text) in _told:
        return
    _told.add((name, text))
    try:
        warnings.warn(message, kind, stacklevel=2)
    except Warning as error:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(str(error), kind, stacklevel=2)


def value_of(name: str) -> Any:
    """A variable's value, or its default."""
    variable, text = VARIABLES[name], os.environ.get(name, "")
    if not text:
        return variable.default
    found = variable.read(text)
    if found is None:
        _tell(name, text, f"{name} is {variable.allowed}, not {text!r}: it is taken as not set")
        return variable.default
    return found


def is_disabled() -> bool:
    """Whether nothing is to be compiled."""
    return "INGOT_DISABLE" in os.environ and value_of("INGOT_DISABLE")


def check() -> None:
    """Warns of words that are not known."""
    for name in VARIABLES:
        if name in os.environ:
            value_of(name)
    for old, new in _RENAMED.items():
        if text := os.environ.get(old, ""):
            _tell(old, text, f"{old} is called {new} now, and will not be read by the next version", FutureWarning)
