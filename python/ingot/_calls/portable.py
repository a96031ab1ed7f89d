"""Functions on their way to other processes: by name, or with their source."""

from __future__ import annotations

import sys
import types
from typing import Any


def is_pickled_by_name(made: Any, frame: types.FrameType) -> bool:
    """Whether what a decorator has made is pickled by its name, as a plain function is; not by cloudpickle, of `__main__`."""
    found: Any = sys.modules.get(made.__module__)
    for name in made.__qualname__.split("."):
        found = getattr(found, name, None)
    by_value = "cloudpickle" in frame.f_globals.get("__name__", "")
    return found is made and not (by_value and made.__module__ == "__main__")


class Portable:
    """A callable on its way to another process: a plain function takes its source along."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        from .._code import source as _source

        has_source = isinstance(self.function, types.FunctionType) and not is_pickled_by_name(self.function, sys._getframe(1))
        return _arrived, (self.function, _source.portable(self.function) if has_source else None)


def _arrived(function: Any, source: Any) -> Any:
    if source is not None:
        from .._code import source as _source

        function.__ingot_source__ = _source.whole(source)
    return function
