"""What kernels are compiled as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import primitives


def entry(kernel: Callable[..., None], with_shared: bool) -> Callable[..., None]:
    """The function that launches a kernel, with the bytes of dynamic shared memory that it is given or without any."""

    def launch(gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared_bytes: int, *arguments: Any) -> None:
        primitives.launch((gx, gy, gz, bx, by, bz), 0, kernel, arguments)

    def launch_with_shared(gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared_bytes: int, *arguments: Any) -> None:
        primitives.launch((gx, gy, gz, bx, by, bz), shared_bytes, kernel, arguments)

    made = launch_with_shared if with_shared else launch
    made.__name__ = kernel.__name__
    return made
