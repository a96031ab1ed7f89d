"""What `format % values` specifies for each value, in the words of `str.format`."""

from __future__ import annotations

import re

_FIELD = re.compile(r"%(?:\((?P<key>[^()]*)\))?(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<digits>\d*))?[hlL]?(?P<letter>[diouxXeEfFgGrsa%])")


def pieces(form: str) -> list | None:
    """The strings between the values, and for each value its key (None: the next value), its field alone, the same for `format`, and as what it is taken.

    None: it has what `format` has not.
    """
    found: list = []
    end = 0
    while (start := form.find("%", end)) >= 0:
        found.append(form[end:start])
        field = _FIELD.match(form, start)
        if field is None:
            return None
        end = field.end()
        if field["letter"] == "%":
            found.append("%")
        elif (made := _made(field)) is None:
            return None
        else:
            alone = form[start:end] if field["key"] is None else "%" + form[start + len(field["key"]) + 3 : end]
            found.append((field["key"], alone, *made))
    return [*found, form[end:]]


def _made(field: re.Match) -> tuple[str, str] | None:
    flags, width, digits, letter = field["flags"], field["width"], field["digits"], field["letter"]
    is_left = "-" in flags
    precision = "" if digits is None else f".{digits or 0}"
    if letter in "rsa":
        spec = (("<" if is_left else ">") + width if width else "") + precision
        return f"{{!{letter}:{spec}}}" if spec else f"{{!{letter}}}", "text"
    if letter in "diouxX" and precision:
        return None
    sign = "+" if "+" in flags else " " if " " in flags else ""
    zeros = "0" if "0" in flags and not is_left else ""
    as_written = {"i": "d", "u": "d"}.get(letter, letter)
    other = "#" if "#" in flags and as_written != "d" else ""
    spec = f"{'<' if is_left else ''}{sign}{other}{zeros}{width}{precision}{as_written}"
    kind = "int" if as_written == "d" else "integer" if letter in "oxX" else "float"
    return f"{{:{spec}}}", kind
