"""Structures: tuples, lists, dicts and namedtuples in each other, whose leaves are all else; None has no leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def map_leaves(function: Callable, tree: Any, *others: Any) -> Any:
    """A structure as `tree` whose leaves are what the function gives of its leaves and those of the others."""
    if tree is None:
        return None
    if isinstance(tree, list):
        return [map_leaves(function, *parts) for parts in zip(tree, *others)]
    if isinstance(tree, tuple):
        parts = tuple(map_leaves(function, *parts) for parts in zip(tree, *others))
        return parts if type(tree) is tuple else type(tree)(*parts)
    if isinstance(tree, dict):
        return {key: map_leaves(function, tree[key], *[other[key] for other in others]) for key in tree}
    return function(tree, *others)


def leaves_of(tree: Any) -> tuple:
    """The leaves of a structure, in order."""
    if tree is None:
        return ()
    if isinstance(tree, (tuple, list)):
        return joined(tuple(leaves_of(part) for part in tree))
    if isinstance(tree, dict):
        return joined(tuple(leaves_of(tree[key]) for key in tree))
    return (tree,)


def filled(tree: Any, leaves: tuple) -> Any:
    """A structure as `tree` with other leaves."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        keys = tuple(tree)
        values = filled(tuple(tree[key] for key in keys), leaves)
        return {key: value for key, value in zip(keys, values)}
    if isinstance(tree, (tuple, list)):
        parts: tuple = ()
        for part in tree:
            count = len(leaves_of(part))
            parts = (*parts, filled(part, leaves[:count]))
            leaves = leaves[count:]
        if isinstance(tree, list):
            return list(parts)
        return parts if type(tree) is tuple else type(tree)(*parts)
    return leaves[0]


def joined(parts: tuple) -> tuple:
    """The members of tuples in a tuple."""
    members: tuple = ()
    for part in parts:
        members = members + part
    return members
