"""Functions of NumPy and Python in terms of others: Python that Ingot compiles instead of the originals.

Its modules are loaded when something of theirs is compiled.
"""

from .registry import implements

__all__ = ["implements"]
