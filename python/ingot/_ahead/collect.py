"""Finds what a module exports: functions decorated by `ingot.export`, and those of `ingot.jit` with signatures."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from .._calls.function import Function
from .._profile import uncounted
from .errors import BuildError
from .export import Export, checked_name, exports_of


class Wanted(NamedTuple):
    """An export, and the object of the module that it was found as, whose options hold."""

    export: Export
    holder: Any


def load(place: str) -> types.ModuleType:
    """The module at a path, or of a name."""
    path = Path(place)
    if path.suffix != ".py":
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{place}.".startswith(f"{error.name}."):
                raise
            raise BuildError(f"there is no module {place!r}; a file is given with its suffix, .py") from None
    if not path.is_file():
        raise BuildError(f"there is no file {place}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def collect(module: types.ModuleType, names: Iterable[str] = ()) -> list[Wanted]:
    """The exports of the functions of these names; without names, all of the module's own functions that have some."""
    wanted = list(names)
    found: list[Wanted] = []
    if wanted:
        for name in wanted:
            exports = _of(_found(module, name))
            if not exports:
                raise BuildError(
                    f"`{name}` of {module.__name__} has no signature: decorate it with @ingot.export(\"float64(float64[:])\") or the like"
                )
            found += exports
    else:
        seen: set[int] = set()
        for value in list(vars(module).values()):
            own = _own(value)
            if own is not None and own.__module__ == module.__name__ and id(own) not in seen:
                exports = _of(value)
                seen.update([id(own)] if exports else [])
                found += exports
        if not found:
            raise BuildError(
                f"{module.__name__} exports nothing: decorate functions with @ingot.export(\"float64(float64[:])\") or the like, "
                "or give signatures to ingot.jit"
            )
    _check_names(found)
    return found


def _found(module: types.ModuleType, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    if value is None:
        raise BuildError(f"{module.__name__} has no function `{name}`")
    if _own(value) is None:
        raise BuildError(f"`{name}` of {module.__name__} is no function that can be compiled, but {type(value).__name__}")
    return value


def _own(value: Any) -> types.FunctionType | None:
    function = uncounted(value)
    function = function.__ingot_function__ if isinstance(function, Function) else function
    return function if isinstance(function, types.FunctionType) else None


def _of(value: Any) -> list[Wanted]:
    """What is exported of a function."""
    own = _own(value)
    assert own is not None
    exports = exports_of(own)
    if not exports and isinstance(value, Function) and value._signatures:
        if len(value._signatures) > 1:
            raise BuildError(
                f"`{own.__name__}` has {len(value._signatures)} signatures and one name: give each a name by @ingot.export(signature, name=...)"
            )
        try:
            exports = [Export(own, value._signatures[0], checked_name(own.__name__))]
        except ValueError as error:
            raise BuildError(f"{error}: give it one by @ingot.export(signature, name=...)") from None
    return [Wanted(export, value) for export in exports]


def _check_names(found: list[Wanted]) -> None:
    first: dict[str, Export] = {}
    for export, _ in found:
        other = first.setdefault(export.name, export)
        if other is not export:
            raise BuildError(
                f"two exports have the name `{export.name}`: {other.function.__qualname__} {other.signature} and "
                f"{export.function.__qualname__} {export.signature}; give each one of its own by @ingot.export(signature, name=...)"
            )
