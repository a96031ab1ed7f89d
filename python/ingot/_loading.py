"""What is asked of the code of kernels when it is made and loaded."""

from __future__ import annotations

from typing import Any, NamedTuple


class Loading(NamedTuple):
    """How a function's kernels are compiled and loaded; 0 is the default."""

    linked: tuple[Any, ...] = ()
    """What is linked with them: objects of `cuda.LinkableCode`."""
    max_registers: int = 0
    """Of a thread."""
    most_threads: int = 0
    """Of a block of any launch."""
    fewest_blocks: int = 0
    """That are to fit on a processor."""
