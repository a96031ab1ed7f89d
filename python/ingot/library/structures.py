"""Structures: values in containers in each other, whose leaves are all else. Run by Python, or compiled.

`map_leaves` and its kin are the library's: they take dicts in their own order, lists and dicts also of a length that is known
only when the call runs. `map`, `flatten` and their kin are `ingot.tree`: they have a `Structure` besides the leaves, and take the
keys of dicts in order. Both have the same structures: tuples, lists, dicts, namedtuples, None, instances of dataclasses
and of classes that are registered.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from . import primitives

users: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}
"""The rules of classes that users have registered."""

changed = object()
"""Another one after each `register`."""


@dataclasses.dataclass(frozen=True)
class Structure:
    """A structure without its leaves: what `ingot.tree.structure` returns.

    Parameters
    ----------
    kind : type or None
        The class; None for a leaf.
    aux : object
        What the class needs besides its children, such as the keys of a dict.
    children : tuple of Structure
        The structures inside.

    See Also
    --------
    ingot.tree.flatten : What makes one.

    Notes
    -----
    Equal structures have equal classes, keys and children.

    Examples
    --------
    >>> from ingot import tree
    >>> tree.structure([1, (2, 3)]) == tree.structure([4, (5, 6)])
    True
    """

    kind: type | None
    aux: Any
    children: tuple[Structure, ...]

    @property
    def num_leaves(self) -> int:
        """How many leaves `ingot.tree.unflatten` takes."""
        return 1 if self.kind is None else sum([child.num_leaves for child in self.children])


Structure.__module__ = "ingot.tree"  # not in the class: `dataclass` looks annotations up in that module, which need not be loaded


def register(
    kind: type[Any],
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten: Callable[[Hashable, tuple[Any, ...]], Any],
) -> None:
    """Make the instances of a class structures.

    Parameters
    ----------
    kind : type
        The class; classes derived from it are others.
    flatten : callable
        ``flatten(instance)`` returns the children, and what else `unflatten` needs.
    unflatten : callable
        ``unflatten(aux, children)`` makes an instance.

    Raises
    ------
    ValueError
        The class is known already.

    Examples
    --------
    >>> from ingot import tree
    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> tree.register(Point, lambda p: ((p.x, p.y), None), lambda aux, parts: Point(*parts))
    >>> tree.leaves([Point(1, 2), 3])
    [1, 2, 3]
    """
    global changed
    if kind in users or kind in (tuple, list, dict, OrderedDict, defaultdict, type(None)):
        raise ValueError(f"{kind.__qualname__} is registered already")
    users[kind] = (flatten, unflatten)
    changed = object()


def rules_of(kind: Any) -> tuple[Any, ...] | None:
    """How instances of a class are opened and made: two functions, or None and the names of fields; () of namedtuples.

    None: they are leaves, or of the containers that all functions here know.
    """
    if kind in users:
        return users[kind]
    if kind is OrderedDict:
        return _ordered, _ordered_of
    if kind is defaultdict:
        return _with_default, _with_default_of
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return ()
    if dataclasses.is_dataclass(kind):
        return None, tuple(field.name for field in dataclasses.fields(kind))
    return None


def _ordered(tree: Any) -> tuple[Any, ...]:
    return tuple(tree.values()), tuple(tree)


def _ordered_of(keys: Any, children: tuple[Any, ...]) -> Any:
    return OrderedDict(zip(keys, children, strict=True))


def _with_default(tree: Any) -> tuple[Any, ...]:
    keys = tuple(sorted(tree))
    return tuple(tree[key] for key in keys), (tree.default_factory, keys)


def _with_default_of(aux: Any, children: tuple[Any, ...]) -> Any:
    return defaultdict(aux[0], zip(aux[1], children, strict=True))


def _opened(tree: Any) -> Any:
    """What the class of `tree` needs besides its children, and these; None for a leaf."""
    if tree is None:
        return None, ()
    kind = type(tree)
    rules = primitives.rules_of(kind)
    if rules is not None:
        if len(rules) == 0:
            return None, tuple(tree)
        if rules[0] is None:
            return rules[1], tuple([getattr(tree, name) for name in rules[1]])
        children, aux = rules[0](tree)
        return aux, tuple(children)
    if kind is dict:
        keys = tuple(sorted(tree))
        return keys, tuple([tree[key] for key in keys])
    if kind is list and not primitives.is_known(len(tree)):
        primitives.refuse("a list of unknown length in `ingot.tree`", "use an array, or a loop over the list")
    if kind is tuple or kind is list:
        return None, tuple(tree)
    return None


def _made(kind: Any, aux: Any, children: tuple[Any, ...]) -> Any:
    if kind is type(None):
        return None
    if kind is tuple:
        return children
    if kind is list:
        return [*children]
    if kind is dict:
        return {key: child for key, child in zip(aux, children)}
    rules = primitives.rules_of(kind)
    if len(rules) == 0:
        return kind(*children)
    if rules[0] is None:
        return primitives.instance(kind, aux, children)
    return rules[1](aux, children)


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    """Return the leaves of a structure, and the structure without them.

    Parameters
    ----------
    tree : object
        Leaves in tuples, lists, dicts, named tuples, dataclasses, None and registered classes.
    is_leaf : callable, optional
        Returns True for what is taken as a leaf.

    Returns
    -------
    leaves, structure : tuple of list and Structure
        None has no leaves.

    Raises
    ------
    TypeError
        Keys of a dict cannot be sorted.

    See Also
    --------
    unflatten : The inverse.

    Notes
    -----
    Dicts are iterated over in the order of their sorted keys, OrderedDicts in their own.

    Examples
    --------
    >>> from ingot import tree
    >>> leaves, structure = tree.flatten({"b": 1, "a": (2, 3)})
    >>> leaves
    [2, 3, 1]
    >>> tree.unflatten(structure, [20, 30, 10])
    {'a': (20, 30), 'b': 10}
    """
    found, shape = _flat(tree, is_leaf)
    return [*found], shape


def _flat(tree: Any, is_leaf: Any) -> tuple[Any, ...]:
    opened = None if is_leaf is not None and is_leaf(tree) else _opened(tree)
    if opened is None:
        return (tree,), Structure(None, None, ())
    found: tuple = ()
    shapes: tuple = ()
    for child in opened[1]:
        leaves, shape = _flat(child, is_leaf)
        found = found + leaves
        shapes = (*shapes, shape)
    return found, Structure(type(tree), opened[0], shapes)


def unflatten(treedef: Structure, leaves: Iterable[Any]) -> Any:
    """Return a structure with these leaves.

    Parameters
    ----------
    treedef : Structure
        What `flatten` or `structure` returned.
    leaves : iterable
        The leaves, in the order of `flatten`.

    Returns
    -------
    object
        The tuple, list, dict or instance.

    Raises
    ------
    ValueError
        There are too few leaves, or too many.

    See Also
    --------
    flatten : The inverse.

    Examples
    --------
    >>> from ingot import tree
    >>> tree.unflatten(tree.structure((0, [0])), "ab")
    ('a', ['b'])
    """
    given = tuple([leaf for leaf in leaves])
    if len(given) != treedef.num_leaves:
        raise ValueError(f"the structure has {treedef.num_leaves} leaves, {len(given)} are given")
    return _built(treedef, given)


def _built(shape: Structure, leaves: tuple[Any, ...]) -> Any:
    if shape.kind is None:
        return leaves[0]
    children: tuple = ()
    for child in shape.children:
        count = child.num_leaves
        children = (*children, _built(child, leaves[:count]))
        leaves = leaves[count:]
    return _made(shape.kind, shape.aux, children)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves of a structure, in the order of `flatten`.

    Parameters
    ----------
    tree, is_leaf
        As of `flatten`.

    Returns
    -------
    list
        The leaves.

    See Also
    --------
    flatten : Leaves and structure.

    Examples
    --------
    >>> from ingot import tree
    >>> tree.leaves({"b": 1, "a": (2, None)})
    [2, 1]
    """
    return [*_flat(tree, is_leaf)[0]]


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Structure:
    """Return a structure without its leaves.

    Parameters
    ----------
    tree, is_leaf
        As of `flatten`.

    Returns
    -------
    Structure
        The structure.

    See Also
    --------
    flatten : Leaves and structure.

    Examples
    --------
    >>> from ingot import tree
    >>> tree.structure((1, {"a": 2})).num_leaves
    2
    """
    return _flat(tree, is_leaf)[1]


def _parts(shape: Structure, tree: Any) -> tuple[Any, ...]:
    """The parts of `tree` where `shape` has leaves."""
    if shape.kind is None:
        return (tree,)
    if type(tree) is not shape.kind:
        raise ValueError(f"a {type(tree).__qualname__} is where the first structure has a {shape.kind.__qualname__}")
    opened = _opened(tree)
    if opened[0] != shape.aux or len(opened[1]) != len(shape.children):
        raise ValueError(f"two structures have other children in a {shape.kind.__qualname__}")
    return joined(tuple([_parts(child, part) for child, part in zip(shape.children, opened[1])]))


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply a function to each leaf of a structure.

    Parameters
    ----------
    f : callable
        ``f(leaf, *others)``.
    tree : object
        The structure, as of `flatten`.
    *rest
        Structures that begin with that of `tree`; `others` are what they have in the position of the leaf.
    is_leaf : callable, optional
        Returns True for what is taken as a leaf.

    Returns
    -------
    object
        The structure of `tree` with the results.

    Raises
    ------
    ValueError
        One of `rest` does not begin with the structure of `tree`.

    Examples
    --------
    >>> from ingot import tree
    >>> tree.map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    found, shape = _flat(tree, is_leaf)
    columns = [_parts(shape, other) for other in rest]
    return _built(shape, tuple([f(found[k], *[column[k] for column in columns]) for k in range(len(found))]))


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A structure as `tree` whose leaves are the function's results for its leaves and those of the others."""
    if tree is None:
        return None
    if not is_structure(tree):
        return function(tree, *others)
    for other in others:
        need_like(tree, other)
    if isinstance(tree, list):
        return [map_leaves(function, *parts) for parts in zip(tree, *others)]
    if isinstance(tree, tuple):
        return like(tree, tuple(map_leaves(function, *parts) for parts in zip(tree, *others)))
    if isinstance(tree, dict):
        return {key: map_leaves(function, tree[key], *[other[key] for other in others]) for key in tree}
    columns = [members_of(other) for other in (tree, *others)]
    return with_members(tree, tuple([map_leaves(function, *parts) for parts in zip(*columns)]))


def is_structure(tree: Any) -> bool:
    """Whether `map_leaves` opens a value: None, containers, and instances that `ingot.tree` opens."""
    return tree is None or isinstance(tree, (tuple, list, dict)) or is_opened(tree)


def is_opened(tree: Any) -> bool:
    """Whether a value is an instance that is a structure: of a dataclass, or of a class that is registered."""
    return primitives.rules_of(type(tree)) is not None


def members_of(tree: Any) -> tuple[Any, ...]:
    """The members of an instance that is a structure."""
    opened = _opened(tree)
    return () if opened is None else opened[1]


def with_members(tree: Any, members: tuple[Any, ...]) -> Any:
    """An instance as `tree` with other members."""
    opened = _opened(tree)
    return None if opened is None else _made(type(tree), opened[0], members)


def need_like(tree: Any, other: Any) -> None:
    """Raises where another value is no structure of as many members."""
    if not isinstance(tree, (tuple, list, dict)):
        if type(other) is not type(tree) or len(members_of(other)) != len(members_of(tree)):
            raise ValueError(f"another structure does not match a {type(tree).__qualname__}")
        return
    kinds = dict if isinstance(tree, dict) else (tuple, list)
    if not isinstance(other, kinds) or len(other) != len(tree):
        raise ValueError(f"another structure does not match one of {len(tree)} members")
    if isinstance(tree, dict):
        for key in tree:
            if key not in other:
                raise ValueError("a dict has other keys than the first one")


def remade(tree: Any, member: Callable[[Any, Any], Any]) -> Any:
    """A structure as `tree` of the results of a function for each member and its index or key."""
    if tree is None:
        return None
    if isinstance(tree, list):
        return [member(part, k) for k, part in enumerate(tree)]
    if isinstance(tree, tuple):
        return like(tree, tuple([member(part, k) for k, part in enumerate(tree)]))
    if isinstance(tree, dict):
        return {key: member(tree[key], key) for key in tree}
    return with_members(tree, tuple([member(part, k) for k, part in enumerate(members_of(tree))]))


def like(tree: tuple[Any, ...], members: tuple[Any, ...]) -> Any:
    """A tuple of the class of another one."""
    return members if type(tree) is tuple else type(tree)(*members)


def leaves_of(tree: Any) -> tuple[Any, ...]:
    """The leaves of a structure, in order."""
    if tree is None:
        return ()
    if not is_structure(tree):
        return (tree,)
    if isinstance(tree, (tuple, list)):
        return joined(tuple(leaves_of(part) for part in tree))
    if isinstance(tree, dict):
        return joined(tuple(leaves_of(tree[key]) for key in tree))
    return joined(tuple([leaves_of(part) for part in members_of(tree)]))


def leaves_beside(tree: Any, other: Any) -> tuple[Any, ...]:
    """The parts of another structure where a tree has its leaves, in their order; None is None for each leaf there."""
    if other is None:
        return tuple([None for leaf in leaves_of(tree)])
    if tree is None:
        return ()
    if not is_structure(tree):
        return (other,)
    need_like(tree, other)
    if isinstance(tree, dict):
        return joined(tuple([leaves_beside(tree[key], other[key]) for key in tree]))
    if isinstance(tree, (tuple, list)):
        return joined(tuple([leaves_beside(part, beside) for part, beside in zip(tree, other)]))
    return joined(tuple([leaves_beside(part, beside) for part, beside in zip(members_of(tree), members_of(other))]))


def filled(tree: Any, leaves: tuple[Any, ...]) -> Any:
    """A structure as `tree` with other leaves."""
    return _filled(tree, leaves)[0]


def _filled(tree: Any, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
    """The structure, and the leaves that are left."""
    if tree is None:
        return None, leaves
    if not is_structure(tree):
        return leaves[0], leaves[1:]
    if isinstance(tree, dict):
        members = tuple([tree[key] for key in tree])
    else:
        members = tuple(tree) if isinstance(tree, (tuple, list)) else members_of(tree)
    parts: tuple = ()
    for member in members:
        part, leaves = _filled(member, leaves)
        parts = (*parts, part)
    if isinstance(tree, dict):
        return {key: part for key, part in zip(tree, parts)}, leaves
    if isinstance(tree, list):
        return list(parts), leaves
    return (like(tree, parts) if isinstance(tree, tuple) else with_members(tree, parts)), leaves


def joined(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The members of tuples in a tuple."""
    members: tuple = ()
    for part in parts:
        members = members + part
    return members
