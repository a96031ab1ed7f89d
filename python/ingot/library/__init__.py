"""Functions of NumPy and Python in terms of others: Python that Ingot compiles in place of the originals."""

from .registry import implementations, implements
from . import joining, linalg, primitives, python, shapes

__all__ = ["implementations", "implements", "joining", "linalg", "primitives", "python", "shapes"]
