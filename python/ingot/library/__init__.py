"""Functions of NumPy and Python in terms of others: Python that Ingot compiles in place of the originals."""

from importlib import import_module
from typing import Any

from . import registry
from .registry import implements

__all__ = ["implementations", "implements"]

SUBJECTS = (
    "creation",
    "elementwise",
    "fft",
    "indexing",
    "iterators",
    "joining",
    "linalg",
    "mathematics",
    "numerical",
    "operators",
    "products",
    "python",
    "reductions",
    "shapes",
    "sorting",
    "statistics",
)


def __getattr__(name: str) -> Any:
    """`implementations`: the library is loaded when something is compiled, not with the package."""
    if name != "implementations":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for subject in SUBJECTS:
        import_module(f"{__name__}.{subject}")
    return registry.implementations
