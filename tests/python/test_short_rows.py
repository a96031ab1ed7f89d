"""Loops over rows of a few elements - points, quaternions -, which vector loops load and store as a whole; and tables that name
the rows where iterations write.
"""

import numpy as np
import pytest

import ingot
from ingot import prange
from support import MODES, check, jitted

DTYPES = ("float64", "float32", "complex128", "int64", "int32", "int16", "uint8", "bool")


def turned(x, out):
    for s in range(len(x)):
        a, b, c, d = x[s]
        out[s, 0] = d
        out[s, 1] = c
        out[s, 2] = a
        out[s, 3] = b


def some_of_a_row(x, out):
    for s in range(len(x)):
        out[s, 2] = x[s, 0]
        out[s, 0] = x[s, 1]


def where_positive(x, out):
    for s in range(len(x)):
        if x[s, 1] > 0:
            out[s, 0] = x[s, 2]
            out[s, 1] = x[s, 0] + x[s, 2]
            out[s, 2] = x[s, 1]


def read_between(x, out):
    for s in range(len(x)):
        out[s, 0] = x[s, 1]
        out[s, 1] = out[s, 0] + x[s, 0]
        out[s, 2] = out[s, 2] + x[s, 2]


def twice_in_a_row(x, out):
    for s in range(len(x)):
        out[s, 0] = x[s, 2]
        out[s, 1] = x[s, 2]
        out[s, 0] = x[s, 1]
        out[s, 2] = x[s, 0]


def over_places(x, out):
    for s in range(len(x)):
        total = x[s, 0]
        for k in range(x.shape[1]):
            total += x[s, k]
            out[s, k] = total


def by_views(x, out):
    for s in range(len(x)):
        row = x[s]
        made = out[s]
        for k in range(len(row)):
            made[k] = row[len(row) - 1 - k]


FUNCTIONS = (some_of_a_row, where_positive, read_between, twice_in_a_row, over_places, by_views)


def rows(length, width, dtype, seed=2):
    values = np.random.default_rng(seed).standard_normal((length, width)) * 20
    return (values > 0 if dtype == "bool" else values.astype(dtype)) if dtype != "uint8" else np.abs(values).astype(dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [0, 1, 7, 8, 61])
def test_rows_of_any_dtype(length, dtype):
    x = rows(length, 4, dtype)
    for mode in MODES:
        out = rows(length, 4, dtype, 9)
        jitted(turned, mode)(x, out)
        assert out.tobytes() == x[:, [3, 2, 0, 1]].tobytes()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("width", [3, 5, 8, 9])
def test_rows_are_pythons(function, width):
    for length in (1, 8, 29):
        check(function, rows(length, width, "float64"), rows(length, width, "float64", 5))
    check(function, rows(29, width, "int32"), rows(29, width, "int64", 5))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_rows_with_gaps_and_of_overlapping_arrays(function):
    whole = rows(40, 6, "float64")
    check(function, whole[:, :3], rows(40, 3, "float64", 5))
    check(function, whole[::-1, ::2], rows(40, 3, "float64", 5))
    x = rows(41, 3, "float64")
    if function is not by_views:
        y, z = x.copy(), x.copy()
        function(y[1:], y[:-1])
        ingot.jit(function)(z[1:], z[:-1])
        assert y.tobytes() == z.tobytes()


def test_large_rows_go_past_the_caches():
    x = rows(400_000, 4, "float64")
    out = np.zeros_like(x)
    ingot.jit(turned)(x, out)
    assert out.tobytes() == x[:, [3, 2, 0, 1]].tobytes()


def test_each_short_length_is_compiled_once():
    f = jitted(over_places, "compiled")
    for width in (*range(2, 12), 3, 5):
        x = rows(9, width, "float64")
        wanted, out = np.zeros_like(x), np.zeros_like(x)
        over_places(x, wanted)
        f(x, out)
        assert out.tobytes() == wanted.tobytes()
    assert len(f.specialisations) <= 8


def into_rows(table, x, out):
    for d in prange(len(table)):
        row = table[d]
        for s in range(x.shape[1]):
            out[row, s] = x[d, s] * 2


def onto_rows(table, x, out):
    for d in prange(len(table)):
        row = table[d]
        for s in range(x.shape[1]):
            out[row, s] = out[row, s] * 0.5 + x[d, s]


def from_the_second(table, x, out):
    for d in prange(1, len(x)):
        row = table[d]
        for s in range(x.shape[1]):
            out[row, s] = x[d, s]


TABLES = ([0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4], [1, 1, 2, 3, 4, 5], [4, 0, 1, 2, 3, 4], [-1, 0, 1, 2, 3, 4], [-1, 5, 1, 2, 3, 4], [0, -6, 1, 2, 3, 4])


@pytest.mark.parametrize("function", [into_rows, onto_rows, from_the_second], ids=lambda f: f.__name__)
@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint16"])
@pytest.mark.sampled(6)
def test_threads_share_rows_that_a_table_names_where_it_names_each_once(function, table, dtype):
    if dtype == "uint16" and min(table) < 0:
        return
    before = ingot.get_num_threads()
    x, start = rows(6, 60_000, "float64"), rows(7, 60_000, "float64", 4)
    wanted = start.copy()
    for d in range(1 if function is from_the_second else 0, 6):
        wanted[table[d]] = wanted[table[d]] * 0.5 + x[d] if function is onto_rows else x[d] * (2 if function is into_rows else 1)
    try:
        for threads in (1, 3):
            ingot.set_num_threads(threads)
            out = start.copy()
            ingot.jit(function)(np.array(table, dtype), x, out)
            assert out.tobytes() == wanted.tobytes()
    finally:
        ingot.set_num_threads(before)


def test_tables_in_order_by_the_interpreter():
    for table in TABLES:
        check(onto_rows, np.array(table), rows(6, 5, "float64"), rows(7, 5, "float64", 4))


@pytest.mark.parametrize("table", [[0, 1, 2], [0, 1, 2, 7, 4, 5], [0, 1, 2, -8, 4, 5], [0, 1, 2, 2**20, 4, 5]], ids=str)
def test_tables_that_are_too_short_or_name_no_row_raise(table):
    x, out = rows(6, 60_000, "float64"), rows(7, 60_000, "float64", 4)
    with pytest.raises(IndexError, match="out of bounds"):
        ingot.jit(from_the_second)(np.array(table), x, out)


def test_a_table_that_iterations_write_into_is_refused():
    def moved(table, x):
        for d in prange(len(table)):
            x[table[d]] = d
            table[0] = d

    with pytest.raises(ingot.UnsupportedError, match="prange"):
        ingot.jit(moved)(np.arange(5), np.zeros(9))


def into_narrowed_rows(table, x, out):
    for d in prange(len(table)):
        for s in range(x.shape[1]):
            out[np.int8(table[d]), s] = x[d, s]


def test_a_table_whose_numbers_may_become_one_is_refused():
    """1 and 257 are different, and name one row."""
    with pytest.raises(ingot.UnsupportedError, match="may be one element in two of them"):
        ingot.jit(into_narrowed_rows)(np.array([1, 257]), np.ones((2, 8)), np.zeros((4, 8)))


def marks(places, seen):
    for i in range(len(places)):
        if places[i] > 2:
            seen[min(max(places[i] // 3, 0), len(seen) - 1)] = True


def marks_and_reads(places, seen):
    count = 0
    for i in range(len(places)):
        if seen[places[i]]:
            count += 1
        seen[places[i]] = True
    return count


@pytest.mark.parametrize("function", [marks, marks_and_reads], ids=lambda f: f.__name__)
def test_stores_of_one_value_at_one_place(function):
    places = np.random.default_rng(8).integers(-50, 50, 300)
    for n in (100, 57, 50):
        check(function, places, np.zeros(n, np.bool_))
        check(function, places % 7, np.zeros(n, np.uint8))


def in_cells(x, table, cells, width):
    lost = 0
    for i in range(len(x)):
        cell = x[i] // width
        within = x[i] - cell * width
        place = table[cell] if x[i] >= 0 else np.int64(-1)
        if place >= 0:
            cells[place, within] += 1.5
        else:
            lost += 1
    return lost


@pytest.mark.parametrize("bad", [None, 900, -400])
def test_divisions_in_strips_before_sums_at_places_that_are_found(bad):
    x = np.random.default_rng(1).integers(-20, 300, 1000)
    if bad is not None:
        x[777] = bad
    table = np.array([2, -1, 0, 1, 3])
    check(in_cells, x, table, np.zeros((4, 64)), 64)
    check(in_cells, x, table, np.zeros((3, 64)), 64)


def quotients(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] // y[i]


def test_quotients_of_small_and_large_words():
    edges = np.array([0, 1, -1, 2**51, -(2**51), 2**51 + 1, -(2**51) - 1, 2**52, 2**62, -(2**63), 2**63 - 1, 7, -7], np.int64)
    rng = np.random.default_rng(6)
    small = rng.integers(-(2**51), 2**51 + 1, 4000)
    by = np.concatenate([rng.integers(1, 5, 2000), rng.integers(1, 2**52, 2000)])
    cases = [(small, by), (by * (small // by), by), (by * (small // by) - 1, by), (small, np.full(4000, 2**52 - 1)), (np.repeat(edges, 13), np.tile(edges, 13))]
    for x, y in cases:
        with np.errstate(all="ignore"):
            wanted = x // y
        out = np.empty_like(wanted)
        ingot.jit(quotients)(x, y, out)
        assert np.array_equal(out, wanted)
