"""Schedules that copy parts of arrays (docs/guides/schedules.md): the same bits, whatever part an iteration reads."""

import numpy as np
import pytest
from test_schedules import filtered, given, product, rows, same, shown, summed, triangle

import ingot

S = ingot.schedule

BLOCKED = S().tile(i=6, j=16).split("k", 5).reorder("k_outer", "j_outer", "i_outer", "j_inner", "k_inner", "i_inner")


def windows(a, b, c):
    """Indices with steps, backwards, and constants on both sides."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(3):
                c[i, j] += a[(2 * i + k) % a.shape[0], 0] * b[b.shape[0] - 1, b.shape[1] - 1 - j]
                if i > 0:
                    c[i, j] -= b[0, j - 0] + b[-1, j]


def by_table(a, table, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = a[table[i], j] + a[i, j]


def steps(a, b, c):
    for i in range(0, c.shape[0], 2):
        for j in range(c.shape[1] - 1, -1, -3):
            c[i, j] = b[0, j] * 2 + (b[0, j + 1] if j + 1 < c.shape[1] else 0)


def in_parts(a, c):
    for i in range(c.shape[0]):
        row = a[i]
        for j in range(c.shape[1]):
            c[i, j] = row[j] + a[0, j]


COPIES = [
    (product, BLOCKED.cache("b", "j_outer").vectorize("j_inner", 16).unroll("i_inner")),
    (product, BLOCKED.cache("b", "j_outer").cache("a", "i_outer").vectorize("j_inner").unroll("i_inner")),
    (product, BLOCKED.cache("a", "k_outer").parallel("j_outer")),
    (product, S().cache("a", "i")),
    (product, S().cache("b", "i").reorder("b_i_1", "b_i_0").unroll("b_i_0", 3)),
    (product, S().cache("b", "i").vectorize("b_i_1", 4).cache("a", "i").parallel("a_i_1")),
    (product, S().cache("a", "k").cache("b", "j")),
    (product, S().cache("b", "i").parallel("i")),
    (product, S().split("k", 4).cache("b", "k_outer").unroll("k_inner")),
    (product, S().cache("b", "i").tile(j=4, k=4)),
    (summed, S().tile(i=4, j=8).cache("b", "j_outer").vectorize("j_inner")),
    (filtered, S().tile(y=4, x=8).cache("a", "x_outer").vectorize("x_inner")),
    (filtered, S().tile(y=4, x=8).cache("a", "y_outer").cache("b", "x_outer").parallel("y_outer")),
    (filtered, S().cache("a", "x").cache("a", "y")),
    (rows, S().cache("a", "i")),
    (triangle, S()),
    (windows, S().split("j", 4).cache("b", "j_outer")),
    (windows, S().cache("a", "j").cache("b", "i")),
    (windows, S().cache("a", "i").unroll("k")),
    (steps, S().split("j", 4).cache("b", "j_outer")),
    (steps, S().cache("b", "i")),
]


@pytest.mark.parametrize("f, plan", COPIES, ids=shown)
def test_results_are_the_same(f, plan):
    for shape in ((13, 11, 17), (1, 1, 1), (6, 5, 16), (7, 6, 33)):
        a, b, c = given(shape)
        same(f, plan, *((a, b, np.zeros_like(a)) if f is filtered else (a, np.ones((4, c.shape[1])), c) if f in (windows, steps) else (a, b, c)))


@pytest.mark.parametrize("f, plan", COPIES[:10:2], ids=shown)
def test_arrays_without_elements(f, plan):
    for shape in ((0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)):
        same(f, plan, *given(shape))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, np.complex128, np.bool_], ids=shown)
def test_dtypes_and_layouts(dtype):
    plan = COPIES[1][1]
    a, b, c = given(dtype=dtype)
    same(product, plan, a, b, c)
    same(product, plan, np.asfortranarray(a), b[::-1], c)
    same(product, plan, np.broadcast_to(a[:1], a.shape), b[:, ::-1], c)


def test_an_index_of_a_table_copies_the_whole_axis():
    a, table, c = np.arange(60.0).reshape(10, 6), np.array([3, 0, 9, -1, 2]), np.zeros((5, 6))
    same(by_table, S().cache("a", "i"), a, table, c)
    same(by_table, S().split("j", 4).cache("a", "j_outer").cache("table", "i"), a, table, c)
    copied = ingot.jit(by_table, schedule=S().cache("a", "i"))
    with pytest.raises(IndexError) as raised:
        copied(a, np.array([3, 10, 9, -1, 2]), c)
    with pytest.raises(IndexError) as expected:
        by_table(a, np.array([3, 10, 9, -1, 2]), c)
    assert str(raised.value) == str(expected.value)


def test_parts_that_are_read_by_views_are_read_where_they_are():
    same(in_parts, S().cache("a", "i"), np.arange(12.0).reshape(3, 4), np.zeros((3, 4)))


@pytest.mark.parametrize(
    "f, plan, words",
    [
        (product, S().cache("c", "i"), "which may write it"),
        (product, S().cache("d", "i"), "elements of `d`, which is no array among the arguments"),
        (product, S().cache("a", "q"), "the loop `q`, which this function does not have"),
        (product, S().cache("b", "j").reorder("j", "k"), "between"),
        (rows, S().cache("c", "i"), "which may write it"),
        (triangle, S().cache("a", "j"), "which reads none by its own indices"),
        (product, S().vectorize("j").cache("b", "k"), "in lanes"),
    ],
    ids=shown,
)
def test_refusals(f, plan, words):
    a, b, c = given((9, 17, 17))
    kept = c.copy()
    with pytest.raises(ingot.UnsupportedError) as refused:
        ingot.jit(f, schedule=plan)(a, b, c)
    message = str(refused.value)
    assert words in message and "test_schedules.py" in message, message
    assert np.array_equal(c, kept)


def shifted(a, c):
    for i in range(1, c.shape[0]):
        c[i] = a[i - 1] + 1


@pytest.mark.parametrize("plan", [S().split("i", 8).cache("a", "i_outer"), S().vectorize("i", 8), S().parallel("i")], ids=shown)
def test_loops_run_as_they_are_where_arguments_share_memory(plan):
    for part in (slice(None), slice(1, None), slice(None, None, -1)):
        outcomes = []
        for f in (shifted, ingot.jit(shifted, schedule=plan)):
            c = np.arange(51.0)
            f(c[part][:50], c[:50])
            outcomes.append(c)
        assert np.array_equal(*outcomes)
    same(shifted, plan, np.arange(50.0), np.zeros(50))
    a, b, c = given((9, 9, 9))
    for f in (product, ingot.jit(product, schedule=BLOCKED.cache("b", "j_outer"))):
        f(a, a, c)  # what is read may be one array


@pytest.mark.parametrize(
    "f, plan",
    [
        (product, S().prefetch("b", "k", 4)),
        (product, BLOCKED.prefetch("b", "i_outer", 2).vectorize("j_inner").unroll("i_inner")),
        (product, S().prefetch("c", "j").parallel("i")),
        (filtered, S().tile(y=4, x=8).prefetch("a", "x_outer").cache("a", "y_outer")),
        (windows, S().prefetch("a", "i", 3).prefetch("b", "j")),
    ],
    ids=shown,
)
def test_what_is_asked_for_early(f, plan):
    for shape in ((13, 11, 17), (1, 1, 1), (0, 3, 4)):
        a, b, c = given(shape)
        if f is filtered:
            c = np.zeros_like(a)
        if f is not windows or min(shape):
            compiled = same(f, plan, a, b if f is not windows else np.ones((4, c.shape[1])), c)
    assert "prefetch" in dict(compiled.explain(*given()).sections)["assembly"]


def test_explain_shows_copies():
    text = dict(ingot.jit(product, schedule=S().cache("b", "i")).explain(*given()).sections)["schedule"]
    line = product.__code__.co_firstlineno
    assert text.splitlines() == [
        f"for i:  # copy of b, line {line + 1}",
        f"  for b_i_0:  # line {line + 1}",
        f"    for b_i_1:  # line {line + 1}",
        f"  for j:  # line {line + 2}",
        f"    for k:  # line {line + 3}",
    ]


@pytest.mark.parametrize("make, error", [(lambda: S().cache("a b", "i"), ValueError), (lambda: S().cache(3, "i"), TypeError), (lambda: S().cache("a", "i j"), ValueError)])
def test_wrong_steps(make, error):
    with pytest.raises(error):
        make()
