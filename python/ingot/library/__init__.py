"""Functions of NumPy and Python in terms of others: Python that Ingot compiles in place of the originals."""

from .registry import implementations, implements
from . import creation, indexing, joining, linalg, primitives, python, shapes, sorting

__all__ = ["creation", "implementations", "implements", "indexing", "joining", "linalg", "primitives", "python", "shapes", "sorting"]
