"""Functions of NumPy and Python in terms of others: Python that Ingot compiles in place of the originals."""

from .registry import implementations, implements
from . import elementwise, fft, linalg, numerical, primitives, products, python, reductions, shapes, statistics

__all__ = ["implementations", "implements", "linalg", "primitives", "python"]
