"""ingot.tree: flattening, rebuilding and mapping structures of values."""

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple

import pytest

import ingot
from ingot import tree

Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Pair:
    left: object
    right: object


class Box:
    def __init__(self, content, label):
        self.content, self.label = content, label


tree.register(Box, lambda box: ((box.content,), box.label), lambda label, children: Box(children[0], label))

NESTED = {"b": [1, (2, None)], "a": Point(3, Pair(4, ())), "c": OrderedDict(z=5, y=6), "d": defaultdict(int, k=7)}


def test_leaves_stand_in_the_order_of_sorted_keys():
    assert tree.leaves(NESTED) == [3, 4, 1, 2, 5, 6, 7]


def test_unflatten_makes_what_was_flattened():
    found, shape = tree.flatten(NESTED)
    made = tree.unflatten(shape, found)
    assert made == NESTED and shape.num_leaves == 7
    assert type(made["a"]) is Point and type(made["c"]) is OrderedDict and made["d"].default_factory is int


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_leaves_is_refused(count):
    with pytest.raises(ValueError, match=f"2 leaves, {count} are given"):
        tree.unflatten(tree.structure((1, 2)), range(count))


def test_map_takes_several_structures_and_prefixes():
    assert tree.map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"b": [20], "a": 10}) == {"a": 11, "b": [22]}
    assert tree.map(lambda x, part: (x, part), [1, 2], [(3, 4), None]) == [(1, (3, 4)), (2, None)]
    assert tree.map(lambda x: x + 1, None) is None and tree.map(lambda x: x + 1, 1) == 2


@pytest.mark.parametrize("other", [(1, 2), [1], [1, 2, 3], 5, None])
def test_map_refuses_other_structures(other):
    with pytest.raises(ValueError, match="structure"):
        tree.map(lambda x, y: x, [1, 2], other)


def test_is_leaf_ends_the_walk():
    assert tree.leaves([(1, 2), None], is_leaf=lambda x: x is None or isinstance(x, tuple)) == [(1, 2), None]


def test_registered_classes():
    made = tree.map(lambda x: 2 * x, Box([1, 2], "label"))
    assert made.content == [2, 4] and made.label == "label"
    with pytest.raises(ValueError, match="registered already"):
        tree.register(Box, None, None)


def test_structures_compare():
    assert tree.structure([1, 2]) == tree.structure([3, 4]) != tree.structure((3, 4))
    assert tree.structure({"a": 1}) != tree.structure({"b": 1})
    assert hash(tree.structure([1, {"a": 2}])) == hash(tree.structure([3, {"a": 4}]))


def by_map(x):
    return ingot.tree.map(lambda leaf: 2 * leaf, (x, [x]))


def by_leaves(x):
    return ingot.tree.leaves((x, [x]))


@pytest.mark.parametrize("function", [by_map, by_leaves])
def test_compiled_code_refuses_them(function):
    with pytest.raises(ingot.UnsupportedError, match="not supported"):
        ingot.jit(function)(1.5)
