"""The errors of Ingot itself."""

import linecache


class UnsupportedError(Exception):
    """Python code that Ingot does not compile. The message shows where it stands and what to write instead."""


class TypeChangeError(TypeError):
    """A value whose Python type hangs on a number: the case that was not compiled has come up."""


class InternalError(RuntimeError):
    """A fault of Ingot itself: please report it, with the function and the types of its arguments."""


class Demanded(Exception):
    """Compiling needs the value of the scalar argument of this number; never leaves the package."""

    def __init__(self, argument: int):
        super().__init__(argument)
        self.argument = argument


class Captured(Exception):
    """Compiling needs what `owner` holds under this name as a hidden argument; never leaves the package."""

    def __init__(self, owner: object, name: str):
        super().__init__(name)
        self.owner = owner
        self.name = name


class Used(Exception):
    """Compiling needs these attributes of the instances of a class; never leaves the package."""

    def __init__(self, type: type, names: tuple):
        super().__init__(type, names)
        self.type = type
        self.names = names


def unsupported(file: str, line: int, column: int, end_column: int, reason: str, advice: str) -> UnsupportedError:
    source = linecache.getline(file, line).rstrip("\n") if line else ""
    parts = [f"{reason} is not supported"]
    if line:
        parts.append(f"  {file}:{line}")
    if source:
        width = max(1, end_column - column) if end_column > column else 1
        indent = len(source) - len(source.lstrip())
        parts.append("    " + source.strip())
        parts.append("    " + " " * max(0, column - indent) + "^" * min(width, max(1, len(source) - column)))
    parts.append(f"  instead: {advice}")
    return UnsupportedError("\n".join(parts))
