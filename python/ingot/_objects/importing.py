"""Modules that functions import when they run: which ones are loaded, and which may be."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

from .._code import PYTHONS, is_versioned

_LOADS = frozenset(sys.stdlib_module_names) - {"this", "antigravity", "idlelib", "turtledemo", "turtle", "__hello__", "__phello__"}
"""Packages of Python's of which a module does nothing that a program sees when it is loaded."""


def loaded(name: str) -> Any:
    """The module of this name, which may be one of Python's or NumPy's that nobody has loaded yet; None: it is not loaded."""
    found = sys.modules.get(name)
    if found is not None:
        return found
    if name in sys.modules or not _is_of_python(name.partition(".")[0]):
        return None
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _is_of_python(package: str) -> bool:
    """Whether a package is Python's own or NumPy, and no file of a user's with the same name."""
    if package in sys.modules:
        return (package in _LOADS or package == "numpy") and is_versioned(package)
    if package not in _LOADS:
        return False
    spec = importlib.util.find_spec(package)
    origin = None if spec is None else spec.origin
    return origin is not None and (origin in ("built-in", "frozen") or origin.startswith(PYTHONS) and "-packages" not in origin)


def has(module: ModuleType, name: str) -> bool:
    """Whether a module has a name, or makes it when it is asked for it: those of NumPy and Ingot are asked."""
    if name in module.__dict__ or "__getattr__" not in module.__dict__:
        return name in module.__dict__
    return module.__name__.partition(".")[0] not in ("numpy", "ingot") or hasattr(module, name)


def may_be_found(name: str) -> bool:
    """Whether a module of a package that is loaded can be loaded, too."""
    package = sys.modules.get(name.rpartition(".")[0])
    if not hasattr(package, "__path__"):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return True


class _Asked(type):
    def __getattr__(cls, name: str) -> bool:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:  # what is around it is no package
            return False
        except (ImportError, ValueError, AttributeError):
            return True


class Findable(metaclass=_Asked):
    """Whether a module of the name of an attribute can be found: what guards ask of one that was not there."""


def absent(name: str) -> ImportError | None:
    """What Python raises for a module that can be found nowhere; None: it may be there."""
    package = name.rpartition(".")[0]
    if name in sys.modules or (package and package not in sys.modules) or getattr(Findable, name, True):
        return None
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        return error.with_traceback(None)
    except ImportError:
        pass
    return None


def absolute(namespace: dict[str, Any], module: str | None, level: int) -> str | None:
    """The name of the module that `from ..module import` is about; None: there is no package around."""
    if level == 0:
        return module
    package = namespace.get("__package__")
    if package is None and (spec := namespace.get("__spec__")) is not None:
        package = spec.parent
    if not isinstance(package, str) or not package:
        return None
    parts = package.split(".")
    if level > len(parts):
        return None
    return ".".join(parts[: len(parts) - level + 1] + ([module] if module else []))


def missing(module: ModuleType, name: str) -> ImportError:
    """What Python raises where a module that is loaded has no such name."""
    try:
        exec(f"from {module.__name__} import {name}", {})
    except ImportError as error:
        return error.with_traceback(None)
    return ImportError(f"cannot import name {name!r} from {module.__name__!r}", name=name)
