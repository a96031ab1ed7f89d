"""The rules of docs/batching.md: `ingot.vmap` against a loop in Python over the batch elements."""

import dataclasses
import functools
import re
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot.library.batching import batched
from support import ARRAYS, DTYPES, MODES, copied, difference, jitted, layouts

ROOT = Path(__file__).resolve().parents[2]
Pair = namedtuple("Pair", "a b")
GRID = np.arange(12.0).reshape(3, 4)
LINE = np.arange(1.0, 6.0)


def stacked(lanes, axis=0):
    """The results of the batch elements, leaf by leaf along one axis."""
    first = lanes[0]
    if first is None:
        return None
    if isinstance(first, tuple) and type(first) is not tuple:
        return type(first)(*[stacked([lane[k] for lane in lanes], axis) for k in range(len(first))])
    if isinstance(first, (tuple, list)):
        return type(first)([stacked([lane[k] for lane in lanes], axis) for k in range(len(first))])
    if isinstance(first, dict):
        return {k: stacked([lane[k] for lane in lanes], axis) for k in first}
    return np.stack([np.asarray(lane) for lane in lanes], axis)


def same(function, *arrays, bound=0.0, modes=MODES):
    """Arrays mapped along axis 0: results and arguments afterwards are those of a loop in Python."""
    plain = copied(arrays)
    expected = stacked([function(*[x[i] for x in plain]) for i in range(len(plain[0]))])
    for mode in modes:
        given = copied(arrays)
        got = jitted(batched(function), mode)(*given)
        problem = difference(got, expected, bound) or difference(given, plain, bound, "arguments")
        assert problem is None, f"{mode}: {problem}"
    given = copied(arrays)
    assert difference(ingot.vmap(function)(*given), expected, bound) is None
    return expected


def fails(kind, words, function, *arguments, **axes):
    """The call raises, in both modes."""
    for mode in MODES:
        with pytest.raises(kind, match=words):
            jitted(batched(function, **axes), mode)(*copied(arguments))


@pytest.mark.rotated(3)
def test_numbers_become_arrays_of_one_axis():
    for array in ARRAYS:
        same(lambda v: v, array)
    same(lambda v: (v * 2.0 + 1.0, v > 2.0, 3, True, 1j), LINE)


@pytest.mark.rotated(4)
def test_arrays_get_one_axis_more():
    for dtype in DTYPES:
        same(lambda r: r, np.arange(6).reshape(3, 2).astype(dtype))
    same(lambda r: r[:, None] * r, GRID)
    same(lambda r: np.asarray(r.sum()), GRID)
    same(lambda m: (m.T, m.sum(0)), np.arange(24.0).reshape(2, 3, 4))


@pytest.mark.rotated(3)
def test_layouts_of_arguments():
    for array in layouts(GRID):
        same(lambda r: (r * 2, r[1:], r.sum()), array)


@pytest.mark.rotated(3)
def test_axes_of_arguments():
    for axis in (0, 1, 2, -1, -2, -3):
        cube = np.arange(24.0).reshape(2, 3, 4)
        got = ingot.vmap(lambda m: m * 2, axis, axis)(cube)
        assert difference(got, cube * 2) is None
        got = ingot.vmap(lambda m, c: m.sum(0) + c, (axis, None))(cube, 3.0)
        assert difference(got, np.moveaxis(cube, axis, 0).sum(1) + 3.0) is None
    assert difference(ingot.vmap(lambda r, m: m @ r, (0, None))(GRID, np.ones((2, 4))), GRID @ np.ones((4, 2))) is None
    assert difference(ingot.vmap(lambda r: r.sum(), [1])(GRID), GRID.sum(0)) is None


def test_axes_of_results():
    pair = ingot.vmap(lambda r: (r, r.sum()), 0, (1, 0))(GRID)
    assert difference(pair, (GRID.T, GRID.sum(1))) is None
    both = ingot.vmap(lambda r: {"a": r, "b": [r, r + 1]}, 0, {"a": 0, "b": [1, -1]})(GRID)
    assert difference(both, {"a": GRID, "b": [GRID.T, GRID.T + 1]}) is None


def test_structures_of_arguments_and_results():
    same(lambda r: Pair(r + 1, (r.sum(), [r, None, {"k": r[0]}])), GRID)
    got = ingot.vmap(lambda p: [p["a"] + p["b"][0], p["b"][1]], ({"a": 0, "b": (1, None)},))({"a": GRID, "b": (GRID.T.copy(), 5)})
    assert difference(got, [GRID * 2, np.full(3, 5)]) is None
    assert difference(ingot.vmap(lambda p: p.a * p.b)(Pair(GRID, GRID[:, 0])), GRID * GRID[:, :1]) is None
    assert difference(ingot.vmap(lambda x, none: x if none is None else -x)(LINE, None), LINE) is None
    assert ingot.vmap(lambda v: None)(LINE) is None


def test_names_are_mapped_along_axis_0():
    got = ingot.vmap(lambda r, *, k: r * k, 1)(GRID.T.copy(), k=LINE[:3])
    assert difference(got, GRID * LINE[:3, None]) is None


def test_defaults_are_those_of_the_function():
    def scaled(r, by=2.0, *, shift=1.0, **others):
        return r * by + shift + others["more"] if "more" in others else r * by + shift

    same(scaled, GRID)
    for mode in MODES:
        call = jitted(batched(scaled, (0,)), mode)
        assert difference(call(GRID, shift=LINE[:3]), GRID * 2 + LINE[:3, None]) is None
        call = jitted(batched(scaled, (1, None)), mode)
        assert difference(call(GRID.T.copy(), 3.0), GRID * 3 + 1) is None
        call = jitted(batched(scaled, None), mode)
        assert difference(call(2.0, by=LINE, shift=LINE), LINE * 3) is None
        with pytest.raises(ValueError, match="is only 0"):
            jitted(batched(scaled), mode)(GRID, shift=1.0)
        call = jitted(batched(lambda *, pair, none: pair["a"] + pair["b"] if none is None else -1.0, ()), mode)
        assert difference(call(pair={"a": LINE, "b": LINE}, none=None), LINE * 2) is None


def test_the_number_of_batch_elements():
    assert difference(ingot.vmap(lambda: 1.5, axis_size=3)(), np.full(3, 1.5)) is None
    assert difference(ingot.vmap(lambda c: c * 2, None, axis_size=2)(GRID), np.stack([GRID * 2, GRID * 2])) is None
    fails(ValueError, "inconsistent sizes for array axes to be mapped: 3 and 4", lambda a, b: a, GRID, GRID.T)
    fails(ValueError, "inconsistent sizes for array axes to be mapped: 2 and 3", lambda a: a, GRID, axis_size=2)
    fails(ValueError, "at least one non-None value in in_axes", lambda a: a, GRID, in_axes=None)


def test_no_batch_elements():
    got = ingot.vmap(lambda v: (v > 0, [v, {"n": None, "k": 1}]))(np.zeros(0))
    assert difference(got, (np.zeros(0, bool), [np.zeros(0), {"n": None, "k": np.zeros(0, int)}])) is None
    fails(ValueError, "an axis of length 0 of a function that gives arrays", lambda r: r, np.zeros((0, 2)))


def test_each_lane_takes_its_branches():
    same(lambda v: -v if v > 2 else v * v, LINE)

    def sign(r):
        if r.sum() > 20:
            return r[::-1].copy()
        return r + 1

    same(sign, GRID)


def test_each_lane_leaves_its_loops():
    def root(a):
        y = a
        iterations = 0
        while abs(y * y - a) > 1e-12 * a:
            y = 0.5 * (y + a / y)
            iterations += 1
            if iterations > 50:
                break
        return y, iterations

    same(root, LINE)


@pytest.mark.rotated(3)
def test_writes_are_written_into_the_argument():
    def write(r):
        r[0] = r[1:].sum()
        r += 1
        return r.sum()

    for array in layouts(GRID):
        same(write, array)
    given = GRID.copy()
    result = ingot.vmap(write, 1)(given)
    plain = GRID.copy()
    assert difference(result, np.array([write(plain[:, k]) for k in range(4)])) is None
    assert difference(given, plain) is None


def test_what_is_not_mapped_is_one_for_all_batch_elements():
    def count(v, seen):
        seen[0] += v
        return seen[0]

    seen = np.zeros(1)
    assert difference(ingot.vmap(count, (0, None))(LINE, seen), np.cumsum(LINE)) is None
    assert seen[0] == LINE.sum()


def test_the_lowest_batch_element_raises():
    def need(v, out):
        if v > 2.5:
            raise ValueError(f"lane of {int(v)}")
        out[0] = v
        return v

    for mode in MODES:
        out = np.zeros((5, 1))
        with pytest.raises(ValueError, match="lane of 3"):
            jitted(batched(need), mode)(LINE, out)
        assert list(out[:, 0]) == [1, 2, 0, 0, 0]
    fails(IndexError, "out of range", lambda v: [][0], LINE)


def test_batch_elements_print_in_order(capsys):
    def show(v):
        print("lane", v)
        return v

    ingot.vmap(show)(LINE[:2])
    assert capsys.readouterr().out == "lane 1.0\nlane 2.0\n"


def test_vmap_of_vmap():
    assert difference(ingot.vmap(ingot.vmap(lambda v: v * 2))(GRID), GRID * 2) is None
    product = ingot.vmap(ingot.vmap(np.dot, (None, 1)), (0, None))
    assert difference(product(GRID, GRID.T.copy()), np.array([[a @ b for b in GRID] for a in GRID])) is None

    def outer(r):
        return ingot.vmap(lambda v, w: v * w, in_axes=(0, None))(r, r)

    assert difference(ingot.vmap(outer)(GRID), np.stack([np.outer(r, r) for r in GRID])) is None


def test_vmap_inside_compiled_functions():
    @ingot.jit
    def total(m, c):
        return ingot.vmap(lambda r: r.sum() * c, in_axes=1)(m).sum()

    assert total(GRID, 2.0) == GRID.sum() * 2
    mapped = ingot.vmap(lambda r: r.sum())
    assert difference(ingot.jit(lambda m: mapped(m) + 1)(GRID), GRID.sum(1) + 1) is None
    assert difference(ingot.jit(lambda m: ingot.pmap(np.sort)(m))(-GRID), np.sort(-GRID, 1)) is None


@dataclasses.dataclass
class Layer:
    w: object
    b: object


def test_batch_elements_take_and_return_dataclasses():
    def f(layer):
        return Layer({"y": layer.w * layer.b}, (layer.b, np.sum(layer.w)))

    batch = Layer(GRID, LINE[:3])
    for mapped in (ingot.vmap(f), ingot.vmap(f, (Layer(0, 0),)), ingot.jit(lambda batch: ingot.vmap(f, (0,))(batch))):
        made = mapped(batch)
        assert type(made) is Layer and difference(made.w["y"], GRID * LINE[:3, None]) is None
        assert difference(made.b, (LINE[:3], GRID.sum(1))) is None
    made = ingot.vmap(f, (Layer(1, None),), Layer(1, 0))(Layer(GRID, 3.0))
    assert difference(made.w["y"], GRID * 3) is None and difference(made.b, (np.full(GRID.shape[1], 3.0), GRID.sum(0))) is None
    mixed = ingot.vmap(lambda x: Layer(1 if x > 0 else 0.5, x))(np.array([1.0, -1.0]))
    assert difference(mixed.w, np.array([1.0, 0.5])) is None
    assert ingot.vmap(lambda x: Layer(x, 1))(np.zeros(0)).w.shape == (0,)
    for axes in (Layer(0, 0), (0, 0)):
        fails(ValueError, "tree prefix", lambda d: d["w"], {"w": GRID}, in_axes=(axes,))
    fails(ValueError, "tree prefix", f, batch, in_axes=((0, 0, 0),))
    fails(TypeError, "axes must be ints", f, batch, in_axes=(Layer("0", 0),))


def test_compiled_functions_methods_and_instances_are_mapped():
    class Scale:
        def __init__(self, k):
            self.k = k

        def of(self, v):
            return v * self.k

        def __call__(self, v):
            return v + self.k

    scale = Scale(3.0)
    assert difference(ingot.vmap(ingot.jit(lambda v: v + 1))(LINE), LINE + 1) is None
    of = ingot.vmap(scale.of)
    assert difference(of(GRID), GRID * 3) is None
    assert difference(ingot.vmap(scale)(GRID), GRID + 3) is None
    scale.k = 4.0
    assert difference(of(GRID), GRID * 4) is None
    assert difference(ingot.vmap(lambda s, v: s.k * v, (None, 0))(scale, LINE), LINE * 4) is None
    assert of.__name__ == "of"
    assert difference(ingot.vmap(functools.partial(pow, 2))(LINE), 2**LINE) is None
    assert difference(ingot.vmap(functools.partial(scale.of))(GRID), GRID * 4) is None


FACTOR = 2.0


def test_what_batch_elements_read_is_never_stale(monkeypatch):
    shift = 1.0

    def read(v):
        return v * FACTOR + shift

    mapped = ingot.vmap(read)
    assert difference(mapped(LINE), LINE * 2 + 1) is None
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    shift = 3.0
    assert difference(mapped(LINE), LINE * 5 + 3) is None


@pytest.mark.rotated(3)
def test_bodies_of_whole_arrays():
    rng = np.random.default_rng(1)
    squares, rows = rng.random((4, 3, 3)) + np.eye(3), rng.random((4, 3))
    same(np.linalg.solve, squares, rows, bound=1e-12)
    same(lambda m, r: m @ r, squares, rows, bound=1e-12)
    same(np.sort, rows)
    same(np.argsort, rows)
    same(np.fft.fft, rows, bound=1e-12)
    same(np.cumsum, rows)
    same(lambda r: np.where(r > 0.5, r, 0.0).max(), rows)


def test_shapes_that_differ_by_batch_element_raise():
    fails(ValueError, r"shape \(2,\), others of shape \(1,\)", lambda k: np.arange(int(k)), np.array([1, 2]))
    fails(ValueError, r"shape \(1,\), others of shape \(2,\)", lambda r: r[r > 0], np.array([[1, 2], [0, 1]]))


def test_the_batch_element_that_runs():
    for mode in MODES:
        index = jitted(batched(lambda: ingot.axis_index("i") ** 2, axis_size=4, axis_name="i"), mode)
        assert difference(index(), np.arange(4) ** 2) is None
    inner = ingot.vmap(lambda v: v * 0 + 10 * ingot.axis_index("i") + ingot.axis_index("j"), axis_name="j")
    expected = 10.0 * np.arange(3)[:, None] + np.arange(4)
    assert difference(ingot.vmap(inner, axis_name="i")(GRID), expected) is None
    kinds = ingot.vmap(lambda: 1 if ingot.axis_index("i") == 0 else 2.5, axis_size=3, axis_name="i")
    assert difference(kinds(), np.array([1, 2.5, 2.5])) is None
    mixed = ingot.vmap(lambda r: (1 if ingot.axis_index("i") == 0 else 2.5, r), axis_name="i")
    assert difference(mixed(GRID), (np.array([1, 2.5, 2.5]), GRID)) is None
    fails(NameError, "unbound axis name: k", lambda v: ingot.axis_index("k"), LINE, axis_name="i")
    with pytest.raises(NameError, match="unbound axis name: i"):
        ingot.axis_index("i")


def test_axes_that_arguments_do_not_have():
    fails(ValueError, "rank should be at least 1, but is only 0", lambda v: v, 3.0)
    fails(ValueError, r"rank should be at least 3, but is only 2 \(its shape is \(3, 4\)\)", lambda v: v, GRID, in_axes=2)
    fails(ValueError, "rank should be at least 3, but is only 2", lambda v: v, GRID, in_axes=-3)
    fails(ValueError, r"len\(in_axes\)=2, len\(args\)=1", lambda v: v, GRID, in_axes=(0, 0))
    fails(ValueError, "in_axes specification must be a tree prefix", lambda v: v, GRID, in_axes=({"a": 0},))
    fails(ValueError, "out_axes specification must be a tree prefix", lambda v: v, GRID, out_axes=(0, 1))
    fails(np.exceptions.AxisError, "axis 3 is out of bounds for array of dimension 2", lambda v: v, GRID, out_axes=3)
    with pytest.raises(TypeError, match="axes must be ints, None"):
        ingot.vmap(lambda v: v, "0")
    with pytest.raises(TypeError, match="but got a dict"):
        ingot.vmap(lambda v: v, {"v": 0})
    with pytest.raises(TypeError, match="axes must be ints, None"):
        ingot.vmap(lambda v: v, out_axes=True)


def test_what_is_refused():
    class Point:
        def __init__(self, x):
            self.x = x

    fails(ingot.UnsupportedError, "`out_axes` None", lambda v: v, LINE, out_axes=None)
    fails(ingot.UnsupportedError, "a Point", lambda v: Point(v), LINE)
    fails(ValueError, "is only 0", lambda p: p.x, Point(LINE))
    fails(ingot.UnsupportedError, "unknown length that a batch element returns", lambda v: [k for k in range(int(v))], LINE)
    fails(ingot.UnsupportedError, "unknown length that a batch element returns", lambda v: {k: v for k in range(int(v))}, LINE)

    def deep(k):
        return ingot.axis_index("i") if k <= 0 else deep(k - 1)

    fails(ingot.UnsupportedError, "in a recursive function", lambda v: deep(int(v)), LINE, axis_name="i")


def test_without_the_compiler():
    plain = batched(lambda r: (r.sum(), ingot.axis_index("i")), axis_name="i")
    assert difference(plain(GRID), (GRID.sum(1), np.arange(3))) is None


def test_batches_and_derivatives():
    x = GRID[:2, :2]
    each = ingot.vmap(ingot.jacfwd(lambda v: (v * v).sum()))(GRID)
    np.testing.assert_allclose(each, 2 * GRID, rtol=1e-14)
    whole = ingot.jacfwd(ingot.vmap(lambda v: (v * v).sum()))(x)
    np.testing.assert_allclose(whole, np.einsum("ij,jk->ijk", np.eye(2), 2 * x), rtol=1e-14)


def test_each_rule_has_its_test():
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "batching.md").read_text())
    files = [Path(__file__), Path(__file__).with_name("test_collectives.py")]
    defined = [name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), flags=re.M)]
    assert sorted({*named, "test_each_rule_has_its_test"}) == sorted(set(defined))
