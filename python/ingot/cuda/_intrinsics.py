"""What names of `ingot.cuda` are outside of kernels."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from .._errors import UnsupportedError


def outside(name: str) -> NoReturn:
    """Refuses what means nothing outside of a kernel."""
    raise UnsupportedError(
        f"`cuda.{name}` outside of a kernel is not supported\n"
        "  instead: use it in a function of `cuda.jit`, or in one that such a function calls"
    )


class Index3(NamedTuple):
    """An index in a block or a grid, with `x`, `y` and `z`.

    Parameters
    ----------
    x, y, z : int
        Along each axis; x counts fastest.
    """

    x: int
    y: int
    z: int


class Dim3(NamedTuple):
    """The extents of a block or a grid, with `x`, `y` and `z`.

    Parameters
    ----------
    x, y, z : int
        Along each axis.
    """

    x: int
    y: int
    z: int


class Special:
    """What each thread has for itself; it is known in kernels."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<ingot.cuda.{self._name}>"

    @property
    def x(self) -> int:
        outside(f"{self._name}.x")

    @property
    def y(self) -> int:
        outside(f"{self._name}.y")

    @property
    def z(self) -> int:
        outside(f"{self._name}.z")

    def __index__(self) -> int:
        outside(self._name)
