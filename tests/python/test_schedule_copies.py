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
                c[i, j] += a[min(2 * i + k, a.shape[0] - 1), 0] * b[b.shape[0] - 1, b.shape[1] - 1 - j]
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
    (windows, S().split("j", 4).cache("b", "j_outer")),
    (windows, S().cache("a", "j").cache("b", "i")),
    (windows, S().cache("a", "i").unroll("k")),
    (steps, S().split("j", 4).cache("b", "j_outer")),
    (steps, S().cache("b", "i")),
]


@pytest.mark.parametrize("f, plan", COPIES, ids=shown)
def test_results_are_the_same(f, plan):
    for shape in ((13, 11, 17), (7, 6, 33)) if plan in [each for _, each in COPIES[:3]] else ((13, 11, 17), (1, 1, 1), (6, 5, 16), (7, 6, 33)):
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


def test_what_a_table_finds_is_not_copied():
    a, table, c = np.arange(60.0).reshape(10, 6), np.array([3, 0, 9, -1, 2]), np.zeros((5, 6))
    for plan in (S().cache("a", "i"), S().prefetch("a", "i")):
        with pytest.raises(ingot.UnsupportedError, match="no sum of those of the loops inside"):
            ingot.jit(by_table, schedule=plan)(a, table, c)


def from_an_argument(a, x, n, c):
    """The bounds of the index wrap, in iterations that do not use it."""
    for i in range(c.shape[0]):
        for k in range(20):
            if k < n:
                j = max(x - k * 2, 3)
                if j < a.shape[0]:
                    c[i] += a[j]


def far_apart(a, c):
    """Left before it ends: bounds of all iterations are beyond what integers hold."""
    for i in range(c.shape[0]):
        for k in range(2**60):
            if k * 16 >= a.shape[0]:
                break
            c[i] += a[k * 16]


def halves(a, x, c):
    for i in range(c.shape[0]):
        for k in range(4):
            if k > 2:
                c[i] += a[(x - k) // 2 + 2**62]


def test_bounds_do_not_wrap():
    a = np.arange(1000.0)
    for x, n in ((np.int64(-(2**63) + 10), 1), (np.int64(50), 30), (50, 30)):  # numbers, which `same` would make arrays of
        out, expected = np.zeros(3), np.zeros(3)
        ingot.jit(from_an_argument, schedule=S().cache("a", "i"))(a, x, n, out)
        from_an_argument(a, x, n, expected)
        assert np.array_equal(out, expected)
    with pytest.raises(ingot.UnsupportedError, match="no sum of those of the loops inside"):
        ingot.jit(halves, schedule=S().cache("a", "i"))(a, np.int64(-(2**63) + 33), np.zeros(3))
    for plan in (S().cache("a", "i"), S().cache("a", "k"), S().prefetch("a", "i")):
        same(far_apart, plan, a, np.zeros(3))


def named_as_a_copy(b, c):
    for j in range(b.shape[0]):
        for b_j_1 in range(1, b.shape[1]):
            c[j, b_j_1] = c[j, b_j_1 - 1] + b[j, b_j_1]


def test_names_of_the_program_are_its_own():
    b = np.ones((4, 9))
    with pytest.raises(ingot.UnsupportedError, match="a second loop named `b_j_1`"):
        ingot.jit(named_as_a_copy, schedule=S().cache("b", "j"))(b, np.zeros((4, 9)))
    with pytest.raises(ingot.UnsupportedError, match="shared by threads"):
        ingot.jit(named_as_a_copy, schedule=S().parallel("b_j_1"))(b, np.zeros((4, 9)))


def broadcast(a, b, c):
    with ingot.loop("y", "x"):
        c[:] = a + b


def test_shapes_that_are_broadcast():
    a = np.arange(90.0).reshape(9, 10)
    for shape in ((9, 10), (10,), (9, 1), (1, 10), (1, 1), ()):
        for plan in (S().cache("b", "y"), S().split("x", 4).cache("b", "x_outer"), S().prefetch("b", "y", 2)):
            same(broadcast, plan, a, np.ones(shape) * 3, np.zeros((9, 10)))
    for b in (2.5, 3, np.float32(1)):
        given = np.zeros((9, 10))
        ingot.jit(broadcast, schedule=S().cache("b", "y"))(a, b, given)
        assert np.array_equal(given, a + b)


def either(a, b, c):
    for i in range(c.shape[0]):
        c[i] = a[i] + (b[i] if b is not None else 0)


def test_arrays_that_a_call_does_not_have():
    c = np.zeros(5)
    fast = ingot.jit(either, schedule=S().cache("b", "i").cache("a", "i"))
    fast(np.ones(5), None, c)
    assert np.array_equal(c, np.ones(5))
    fast(np.ones(5), np.ones(5), c)
    assert np.array_equal(c, np.full(5, 2.0))


def summed_again(x, n):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    return total + summed_again(x, n - 1) if n > 0 else total


def with_callee(a, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = a[i, j]
        c[i, 0] += summed_again(c[i], i)


def test_copies_are_of_the_function_itself():
    same(with_callee, S().cache("a", "j"), np.arange(12.0).reshape(3, 4), np.zeros((3, 4)))


def rows_alone(a, c):
    for i in range(c.shape[0]):
        row = a[i]
        for j in range(c.shape[1]):
            c[i, j] = row[j] * 2


def test_parts_that_are_read_by_views():
    a, c = np.arange(12.0).reshape(3, 4), np.zeros((3, 4))
    same(in_parts, S().cache("a", "i"), a, c)
    same(rows_alone, S().cache("a", "j"), a, c)


@pytest.mark.parametrize(
    "f, plan, words",
    [
        (product, S().cache("c", "i"), "which may be written in it"),
        (product, S().cache("a", "q"), "the loop `q`, which this function does not have"),
        (product, S().cache("b", "j").reorder("j", "k"), "between"),
        (rows, S().cache("c", "i"), "which may be written in it"),
        (triangle, S().cache("a", "j"), "of which it reads none"),
        (product, S().vectorize("j").cache("b", "k"), "in lanes"),
        (product, S().cache("b", "i").cache("b", "j"), "of which it reads none, or a copy"),
        (product, S().cache("b", "i").cache("b", "i"), "a second copy of `b` for the loop `i`"),
        (product, S().cache("b", "i").unroll("b_i_7"), "which no copy has"),
        (product, S().cache("b", "i").unroll("b_j_0"), "the loop `b_j_0`, which this function does not have"),
        (product, S().prefetch("b", "k").vectorize("j"), "in lanes, which ask for elements early"),
        (product, S().prefetch("b", "j").vectorize("j"), "in lanes, which ask for elements early"),
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
        f"for i:  # copy of `b`, line {line + 1}",
        f"  for b_i_0:  # line {line + 1}",
        f"    for b_i_1:  # line {line + 1}",
        f"  for j:  # line {line + 2}",
        f"    for k:  # line {line + 3}",
    ]


@pytest.mark.parametrize("make, error", [(lambda: S().cache("a b", "i"), ValueError), (lambda: S().cache(3, "i"), TypeError), (lambda: S().cache("a", "i j"), ValueError), (lambda: S().prefetch("a", "i", 0), ValueError), (lambda: ingot.jit(product, schedule=S().cache("d", "i")), ValueError)])
def test_wrong_steps(make, error):
    with pytest.raises(error):
        make()
