"""Structures of values: tuples, lists, dicts, named tuples, dataclasses, None and registered classes, with leaves in them.

The names and the order of leaves are those of `jax.tree`. Here instances of dataclasses are structures, too, whose
children are their fields. These functions run in Python.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

_registered: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}


@dataclasses.dataclass(frozen=True)
class Structure:
    """A structure without its leaves. Equal structures have equal classes, keys and children.

    `kind` is the class, None for a leaf; `aux` is what the class needs besides its children.
    """

    kind: type | None
    aux: Any
    children: tuple[Structure, ...]

    @property
    def num_leaves(self) -> int:
        """How many leaves `unflatten` takes."""
        return 1 if self.kind is None else sum(child.num_leaves for child in self.children)


_LEAF = Structure(None, None, ())


def register(
    kind: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten: Callable[[Hashable, tuple[Any, ...]], Any],
) -> None:
    """Makes the instances of `kind`, not of classes derived from it, structures.

    `flatten(instance)` is the children and what else `unflatten(aux, children)` needs to make such an instance.
    Raises ValueError where the class is known already.
    """
    if kind in _registered or kind in (tuple, list, dict, OrderedDict, defaultdict, type(None)):
        raise ValueError(f"{kind.__qualname__} is registered already")
    _registered[kind] = (flatten, unflatten)


def _sorted(keys: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(keys))


def _open(tree: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """What the class of `tree` needs besides its children, and these; None for a leaf."""
    kind = type(tree)
    if kind in _registered:
        children, aux = _registered[kind][0](tree)
        return aux, tuple(children)
    if kind in (tuple, list) or (isinstance(tree, tuple) and hasattr(kind, "_fields")):
        return None, tuple(tree)
    if tree is None:
        return None, ()
    if kind in (dict, defaultdict, OrderedDict):
        keys = tuple(tree) if kind is OrderedDict else _sorted(tree)
        aux = (tree.default_factory, keys) if kind is defaultdict else keys
        return aux, tuple(tree[key] for key in keys)
    if dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(tree))
        return names, tuple(getattr(tree, name) for name in names)
    return None


def _make(kind: Any, aux: Any, children: tuple[Any, ...]) -> Any:
    if kind in _registered:
        return _registered[kind][1](aux, children)
    if kind is type(None):
        return None
    if kind in (tuple, list):
        return kind(children)
    if kind in (dict, OrderedDict):
        return kind(zip(aux, children, strict=True))
    if kind is defaultdict:
        return defaultdict(aux[0], zip(aux[1], children, strict=True))
    if issubclass(kind, tuple):
        return kind(*children)
    made = object.__new__(kind)
    for name, child in zip(aux, children, strict=True):
        object.__setattr__(made, name, child)
    return made


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    """The leaves of `tree` and its structure.

    Dicts are walked in the order of their sorted keys (TypeError where they have none), OrderedDicts in their own.
    None has no leaves. Where `is_leaf` says so, a structure is a leaf.
    """
    found: list[Any] = []

    def walk(tree: Any) -> Structure:
        opened = None if is_leaf is not None and is_leaf(tree) else _open(tree)
        if opened is None:
            found.append(tree)
            return _LEAF
        return Structure(type(tree), opened[0], tuple(walk(child) for child in opened[1]))

    shape = walk(tree)
    return found, shape


def unflatten(treedef: Structure, leaves: Iterable[Any]) -> Any:
    """The structure `treedef` with these leaves. Raises ValueError where there are too few or too many."""
    given = list(leaves)
    if len(given) != treedef.num_leaves:
        raise ValueError(f"the structure has {treedef.num_leaves} leaves, {len(given)} are given")
    rest = iter(given)

    def build(shape: Structure) -> Any:
        if shape.kind is None:
            return next(rest)
        return _make(shape.kind, shape.aux, tuple(build(child) for child in shape.children))

    return build(treedef)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of `tree`, in `flatten`'s order."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Structure:
    """The structure of `tree`."""
    return flatten(tree, is_leaf)[1]


def _parts(shape: Structure, tree: Any) -> list[Any]:
    """What stands in `tree` where `shape` has leaves."""
    if shape.kind is None:
        return [tree]
    opened = _open(tree)
    if type(tree) is not shape.kind or opened is None:
        raise ValueError(
            f"a {type(tree).__qualname__} stands where the first structure has a {shape.kind.__qualname__}"
        )
    if opened[0] != shape.aux or len(opened[1]) != len(shape.children):
        raise ValueError(f"two structures have other children in a {shape.kind.__qualname__}")
    return [part for child, of in zip(shape.children, opened[1], strict=True) for part in _parts(child, of)]


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The structure of `tree` with `f(leaf, *parts)` for each leaf; the parts are what stands there in `rest`.

    Raises ValueError where one of `rest` does not begin with the structure of `tree`.
    """
    found, shape = flatten(tree, is_leaf)
    columns = [found, *(_parts(shape, other) for other in rest)]
    return unflatten(shape, [f(*row) for row in zip(*columns, strict=True)])
