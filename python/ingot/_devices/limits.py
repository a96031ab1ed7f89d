"""Ingot's threads among those that threadpoolctl limits. Loaded where a program has imported threadpoolctl."""

from __future__ import annotations

import sys
from typing import Any

from .. import _ingot
from .threads import set_num_threads

_known_to: set[Any] = set()


def make_known() -> None:
    """Has `threadpoolctl.threadpool_limits` limit the threads of loops, as those of OpenMP."""
    library = sys.modules.get("threadpoolctl")
    if library is None or library in _known_to or not hasattr(library, "register"):  # which is new in 3.2
        return
    _known_to.add(library)

    class Controller(library.LibController):  # type: ignore[misc, name-defined]
        """The threads of loops."""

        user_api = "openmp"
        internal_api = "ingot"
        filename_prefixes = ("_ingot",)

        def get_num_threads(self) -> int:
            return _ingot.get_num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            set_num_threads(max(1, min(num_threads, _ingot.MAX_THREADS)))

        def get_version(self) -> str:
            return str(sys.modules["ingot"].__version__)

    library.register(Controller)
