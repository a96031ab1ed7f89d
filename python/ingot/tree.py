"""Structures of values: tuples, lists, dicts, named tuples, dataclasses, None and registered classes, with leaves in them.

The names and the order of leaves are those of `jax.tree`. Here instances of dataclasses are structures, too, whose
children are their fields. These functions run in Python, and in compiled code.
"""

from .library.structures import Structure, flatten, leaves, map, register, structure, unflatten

__all__ = ["Structure", "flatten", "leaves", "map", "register", "structure", "unflatten"]


def __dir__() -> list[str]:
    return sorted(__all__)
