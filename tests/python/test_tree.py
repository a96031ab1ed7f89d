"""ingot.tree: flattening, rebuilding and mapping structures of values."""

import dataclasses
import re
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot import tree
from support import MODES, jitted

ROOT = Path(__file__).resolve().parents[2]

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


def test_leaves_are_in_the_order_of_sorted_keys():
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


def test_is_leaf_ends_the_traversal():
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


def doubled(x):
    return tree.map(lambda leaf: leaf * 2, x)


def taken_apart(x):
    found, shape = tree.flatten(x)
    return found, shape, tree.leaves(x), tree.structure(x) == shape, shape.num_leaves


def made_anew(x):
    found, shape = tree.flatten(x)
    return tree.unflatten(shape, [leaf + 1 for leaf in found])


def kept_apart(x):
    return tree.map(lambda part, other: (part, other), x, x, is_leaf=lambda part: isinstance(part, tuple))


STRUCTURES = (
    1.5,
    None,
    (),
    [1, (2.0, [None, ()])],
    {"b": 1, "a": [2, {"c": 3}]},
    Point(1, Point(2.0, (3,))),
    [Pair(1.0, 2), {"k": Pair([3], None)}],
)


@pytest.mark.parametrize("function", [doubled, taken_apart, made_anew, kept_apart])
@pytest.mark.parametrize("mode", MODES)
def test_compiled_code_has_them(function, mode):
    for structure in STRUCTURES:
        assert repr(jitted(function, mode)(structure)) == repr(function(structure))


def prefixed(x, y):
    return tree.map(lambda leaf, part: (leaf, part), x, y)


def test_compiled_code_refuses_other_structures():
    assert jitted(prefixed)([1, 2], [(3, 4), None]) == [(1, (3, 4)), (2, None)]
    for x, y in (([1, 2], (1, 2)), ([1, 2], [1]), ({"a": 1}, {"b": 1}), (Point(1, 2), (1, 2)), ([1], None)):
        with pytest.raises(ValueError) as plain:
            prefixed(x, y)
        with pytest.raises(ValueError, match=str(plain.value)):
            jitted(prefixed)(x, y)


def test_structures_are_given_to_compiled_code():
    shape = tree.structure([1, {"a": (2, 3)}])
    assert jitted(tree.unflatten)(shape, [4, 5, 6]) == [4, {"a": (5, 6)}]
    with pytest.raises(ValueError, match="3 leaves, 1 are given"):
        jitted(tree.unflatten)(shape, [4])


class Guarded:
    """Registered while compiled code is in use, which takes its rules for those of others."""

    def __init__(self, content):
        self.content = content


def test_registered_classes_in_compiled_code():
    box = jitted(doubled)(Box([1, 2], "label"))
    assert type(box) is Box and box.content == [2, 4] and box.label == "label"
    count = jitted(lambda x: len(tree.leaves(x)))
    assert count(Guarded((1, 2, 3))) == 1
    tree.register(Guarded, lambda guarded: ((guarded.content,), None), lambda aux, children: Guarded(children[0]))
    assert count(Guarded((1, 2, 3))) == 3


def test_steps_along_gradients():
    def loss(params, x, y):
        return ((x @ params["w"] + params["b"] - y) ** 2).sum()

    def step(params, x, y):
        return tree.map(lambda p, g: p - 0.1 * g, params, ingot.grad(loss)(params, x, y))

    params = {"w": np.array([1.0, -2.0]), "b": 0.5}
    x, y = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]), np.array([1.0, 0.0, 2.0])
    error = 2 * (x @ params["w"] + params["b"] - y)
    got = jitted(step)(params, x, y)
    np.testing.assert_allclose(got["w"], params["w"] - 0.1 * (error @ x), rtol=1e-13)
    np.testing.assert_allclose(got["b"], params["b"] - 0.1 * error.sum(), rtol=1e-13)


def positive(x):
    found = []
    for v in x:
        if v > 0:
            found.append(v)
    return tree.leaves(found)


def test_what_compiled_code_refuses():
    with pytest.raises(ingot.UnsupportedError, match="a list of unknown length in `ingot.tree`"):
        jitted(positive)(np.arange(3.0))
    with pytest.raises(ingot.UnsupportedError, match="what has a length that is not known"):
        jitted(doubled)(OrderedDict({3: 1}))
    assert jitted(doubled)(OrderedDict(b=1, a=2.5)) == OrderedDict(b=2, a=5.0)


def test_each_rule_has_its_test():
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "tree.md").read_text())
    defined = re.findall(r"^def (test_\w+)", Path(__file__).read_text(), flags=re.M)
    assert sorted({*named, "test_each_rule_has_its_test"}) == sorted(set(defined))
