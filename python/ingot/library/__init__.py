"""Functions of NumPy and Python in terms of others: Python that Ingot compiles in place of the originals."""

from .registry import implementations, implements
from . import iterators, linalg, mathematics, operators, python

__all__ = ["implementations", "implements", "iterators", "linalg", "mathematics", "operators", "python"]
