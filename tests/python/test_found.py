"""Programs that were once wrong, most of them found by random programs."""

import math
import sys
import types

import ingot
import numpy as np
import pytest
from support import ARRAYS, MODES, check, difference, jitted, raises, refused

COMPLEX_NAN = complex(float("inf"), float("nan"))


def test_modules_named_like_numpy_are_guarded(monkeypatch):
    module = types.ModuleType("numpy_helpers")
    exec("SCALE = 2.0\nclass C:\n    K = 3", vars(module))
    monkeypatch.setitem(sys.modules, "numpy_helpers", module)
    f = ingot.jit(lambda x: (x * module.SCALE, module.C.K))
    assert f(1.0) == (2.0, 3)
    module.SCALE, module.C.K = 5.0, 7
    assert f(1.0) == (5.0, 7)
    made = {}
    exec("class C:\n    L = (1,)", made)  # of no module: builtins
    own = made["C"]
    h = ingot.jit(lambda: own.L)
    assert h() == (1,)
    own.L = (4, 5)
    assert h() == (4, 5)


def deeper(a):
    a[:] = [[1, 2, 3]]


def deeper_part(a):
    a[:2] = [[1, 2]]


def deeper_masked(a):
    a[a > 0] = [[5, 6]]


def test_sequences_deeper_than_the_part():
    for function in (deeper, deeper_part, deeper_masked):
        check(function, np.arange(3.0))
    check(deeper, np.zeros((2, 3)))


def scalar_types(n):
    return np.int16(n), np.uint8(n), np.float32(n), np.bool(n)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [np.int64(70000), np.float16("nan"), np.float64(300.7), np.complex64(7 + 1j), 7, 7.5, 300, 1j])
def test_scalar_types_cast_numpys_numbers_and_check_pythons(n):
    check(scalar_types, n)


def rounded(n):
    return np.ceil(n), np.floor(n), np.trunc(n), math.ceil(n), math.floor(n)


def truncated(n):
    return math.trunc(n)


@pytest.mark.parametrize("n", [5, True, 2.5, np.int8(3), np.bool(True), np.float16(2.5), np.float64(-2.5)])
def test_rounding_gives_numpys_numbers(n):
    check(rounded, n)
    check(truncated, n)


def rounded_remainder(n):
    return np.ceil(n) % n


def test_a_rounded_int_divides_as_numpys():
    check(rounded_remainder, 0)


def mixed(x, y):
    return np.copysign(x, y), np.hypot(x, y).dtype == np.float16, x / y


@pytest.mark.parametrize("a", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("b", ["bool", "int8", "uint16", "int32", "uint64"])
def test_each_operand_finds_the_loop_by_itself(a, b):
    check(mixed, np.ones(3, a), np.ones(3, b))


def where(m, n, x):
    return np.where(m, n, x)


@pytest.mark.parametrize("n", [-3, 300, 2.5, 1e300])
def test_where_casts_pythons_numbers(n):
    check(where, np.array([True, False]), n, np.array([1, 2], np.uint8))
    check(where, np.array([True, False]), n, np.array([1, 2], np.float32))


def of_complex(c):
    return math.sin(c), math.isnan(c), math.floor(c), int(c), float(c)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("c", [np.complex64(1.5 + 2j), np.complex128(-2 + 1j), 1j])
def test_numpys_complex_numbers_lose_their_imaginary_part(c):
    check(of_complex, c)


def ordered(a, b):
    return a < b, a <= b, a > b, a >= b


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("a", [np.complex64(COMPLEX_NAN), np.complex128(COMPLEX_NAN), np.complex64(2), 2j])
@pytest.mark.parametrize("b", [np.complex128(1), np.complex64(COMPLEX_NAN), np.int32(1), 1, np.float64(3)])
def test_complex_scalars_compare_as_numpys(a, b):
    check(ordered, a, b)
    check(ordered, b, a)


def assign(x, v, i, m):
    x[i] = v
    x[m] = v
    return x


def assign_part(x, v):
    x[0:0] = v
    x[...] = v
    return x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("v", [math.inf, np.float64("inf"), np.float64(300.7), 300.7, np.int64(300), np.complex64(300), 1j])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "bool"])
def test_indexed_assignments_cast_numpys_numbers(v, dtype):
    for index in (np.array([0]), np.array([], int)):
        check(assign, np.zeros(2, dtype), v, index, np.array([False, True]))
    check(assign_part, np.zeros(2, dtype), v)


def scalar_indices(n):
    return n[()], n[...], n[None]


def scalar_index(n, i):
    return n[i]


def test_numpys_scalars_are_indexed():
    check(scalar_indices, np.uint16(3))
    check(scalar_index, np.uint16(3), 0)


def open_index(x, y):
    return x[...], y[0, ...]


def adds_in_place(a, b):
    a += b
    return a


def test_results_of_augmented_assignments_do_not_broadcast():
    for shape, other in (((12,), (1, 12)), ((3,), (2, 3)), ((1,), (3,)), ((1, 3), (2, 3)), ((2, 1), (2, 3)), ((), (3,)), ((2, 3), (1, 3))):
        check(adds_in_place, np.ones(shape), np.ones(other))


def stores_none(a, i):
    a[i] = None
    return a


def test_none_is_a_number_where_numpy_has_one():
    for array in ARRAYS:
        for index in (0, slice(1, 3), array == 1):
            check(stores_none, array, index)


def fills(a, b):
    a[:] = b * 2
    return a + b


def test_messages_about_arrays_of_many_axes():
    shape = (2,) * 8
    check(fills, np.ones(shape), np.ones(shape[1:]))
    check(fills, np.ones(shape), np.ones((2, 3) + shape[2:]))
    check(fills, np.ones((2,) * 16), np.ones((2,) * 15 + (3,)))


def test_an_ellipsis_gives_an_array():
    check(open_index, np.array(1.5), np.arange(3))


def left_early(x, n):
    if 0:
        return x
    for _ in range(n):
        x = x[:1]
    return x


def test_an_array_carried_out_of_a_function_keeps_its_origin():
    for n in (0, 2):
        check(left_early, np.arange(3.0), n)


def printed_twice(x):
    r = x / 1
    r[1] = 2
    print(1, r)
    r[1] = 3
    print(1, r)
    return r


def test_what_is_printed_is_as_it_is_now():
    check(printed_twice, np.ones(3))


def reversed_shift(x, n):
    r = x << n
    return r[::-1]


def test_empty_views_are_returned():
    check(reversed_shift, np.empty(0, np.uint64), 0)
    check(reversed_shift, np.empty((0, 3), np.int64), 1)


def reverse_into(p, q, r):
    q[:] = r[::-1]


def test_an_array_that_bridges_two_others_shares_with_both():
    x = np.arange(8.0)
    check(reverse_into, x[0:4], x[4:8], x[2:6])
    check(reverse_into, x[0:2], x[2:4], x[6:8])


def constant_powers(x):
    return x * 2.0**1.5, x**1.5, np.float32(2) ** np.float32(0.3), abs(3 + 4j), 2**5, 2**-1


def test_powers_of_constants_are_those_of_values():
    for mode in MODES:
        got = jitted(constant_powers, mode)(2.0)
        assert got[0] == 2.0 * got[1] and got[3:] == (5.0, 32, 0.5)
        assert abs(got[2] - np.float32(2) ** np.float32(0.3)) < 1e-6


def floored(n):
    return math.floor(n), math.ceil(n)


@pytest.mark.parametrize("n", [np.int64(2**53 + 1), np.uint8(200), np.bool(True), 2**53 + 1, True])
def test_numpys_ints_are_floored_as_floats(n):
    check(floored, n)


def divide_in_place(x, n):
    x //= n
    return x


@pytest.mark.parametrize("n", [-3, 1.5, 1j, None, np.ones(7)])
def test_a_read_only_array_is_the_first_complaint(n):
    x = np.zeros(3, np.uint16)
    x.flags.writeable = False
    check(divide_in_place, x, n)


def leaves_the_outer_loop(x):
    for e in x:
        for _ in range(len(x) - 2):
            break
        else:
            x[0] = 7
            break
        x[1] += e
    return x


@pytest.mark.parametrize("n", [0, 2, 3])
def test_a_break_after_a_loop_leaves_the_loop_around(n):
    check(leaves_the_outer_loop, np.ones(n))


def column_of_no_rows(x):
    return np.tan(x)[1:, 2]


def test_an_empty_part_behind_the_end_of_its_buffer():
    check(column_of_no_rows, np.ones((1, 4), np.float16))


def power_of_scalar(x, n):
    return x**n


@pytest.mark.parametrize("n", [-3, 2, np.int16(-1)])
@pytest.mark.parametrize("length", [0, 2])
def test_negative_powers_of_no_integers_are_none(length, n):
    check(power_of_scalar, np.full(length, 2, np.int16), n)


def bools_from(n, step):
    return np.arange(n, dtype=np.bool), np.arange(0, n, step, np.bool)


@pytest.mark.parametrize("n", [-1, 0, 2, 3, 4])
@pytest.mark.parametrize("step", [2, 1.5])
def test_a_range_of_bools_has_two_elements(n, step):
    check(bools_from, n, step)


def order(a, b):
    return a < b, a <= b, b < a, b <= a


@pytest.mark.parametrize("number", [np.bool(False), False, np.int8(0), np.float32(0), 0.0, 0j])
@pytest.mark.parametrize("real", [-1, 0, 1])
def test_numbers_beside_complex_ones_with_nan_are_in_numpys_order(number, real):
    check(order, number, np.complex64(complex(real, np.nan)))
    check(order, number, np.complex128(complex(real, 1)))


def products(a, b):
    return np.dot(a, b)


@pytest.mark.parametrize("dtype", ["float64", "int16"])
def test_dot_names_the_shapes_that_do_not_fit(dtype):
    for a, b in [(1, 2), ((2, 3), 2), (2, (3, 2)), ((2, 3), (2, 3))]:
        check(products, np.ones(a, dtype), np.ones(b))


def product_with_number(a, b):
    return a @ b


def test_matmul_names_the_number():
    check(product_with_number, np.ones(2), np.float64(2))
    check(product_with_number, np.float64(2), np.ones(2))


def nearest(n):
    return round(n)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64"])
def test_numpys_numbers_are_rounded(dtype):
    check(nearest, np.dtype(dtype).type(1))
    for value in (2.5, -0.5, np.inf, np.nan):
        if dtype.startswith("float"):
            check(nearest, np.dtype(dtype).type(value))


def conjugates(n):
    return n.conjugate(), (0.5).conjugate(), (2).conjugate(), np.float32(1).conjugate(), True.conjugate()


@pytest.mark.parametrize("n", [np.bool(True), True, np.uint8(3), 2.5, np.complex64(1j)])
def test_every_number_has_a_conjugate(n):
    check(conjugates, n)


def found_in_tuple(n):
    t = (1, 2, n, 2.0)
    return t.count(2), t.count(n), t.index(n), (1, 2).index(2)


def not_in_tuple(n):
    return (1, 2).index(n)


def test_tuples_count_and_find():
    for n in (1, 7, 2.5, np.int8(2)):
        check(found_in_tuple, n)
        check(not_in_tuple, n)


def kept(x, n):
    return np.array([v for v in x if v > n]), np.array([i for i in range(3) if 0]), np.array([i for i in range(3) if i]), np.array([1.5 for v in x if v < -9])


def test_an_array_of_what_no_condition_keeps_is_of_float64():
    check(kept, np.arange(4), 1)
    check(kept, np.arange(4.0), 7)
    for mode in MODES:
        with pytest.raises(ingot.TypeChangeError):
            jitted(kept, mode)(np.arange(4), 7)


def test_containers_take_what_may_be_none():
    def f(c):
        values, table = [1.5, 2.5], {}
        o = None
        if c:
            o = 2.5
        values[0] = o
        values.append(o)
        values.insert(0, o)
        table["a"] = o
        return values.count(o), table.setdefault("b", o), values

    for c in (0, 1):
        check(f, c)


def test_attributes_that_may_be_none_are_refused():
    class Point:
        def __init__(self):
            self.x = 1.0

    def f(c, point):
        o = None
        if c:
            o = 2.5
        point.x = o

    refused(f, 0, Point(), words="None on some paths")


def test_conditions_of_several_kinds():
    def f(i, n, r, e):
        seen = 0
        if i or (n != r) and (e != e):
            seen += 1
        while seen < 3 and (i or r):
            seen += 1
        return seen, not (i and r), 1 if r or i else 2

    for i, n, r in ((0, 1, np.float64(2)), (1, 1, np.float64(0)), (0, 2.5, np.array([0.0])), (3, 0, np.array([1]))):
        check(f, i, n, r, 2.0)


def test_cumsum_along_axes():
    def f(a, axis):
        return np.cumsum(a), a.cumsum(), np.cumsum(a, axis), a.cumsum(axis=axis), np.cumsum(a, axis=None)

    for dtype in ("bool", "int8", "uint16", "float32", "complex128"):
        for shape in ((3, 4), (2, 3, 2), (0, 3), (3, 0), (1, 1)):
            a = (np.arange(np.prod(shape)) % 5).astype(dtype).reshape(shape)
            for given in (a, a.T, a[::-1]):
                for axis in (0, 1, -1):
                    check(f, given, axis)
    check(f, np.ones((2, 2)), 2)


def test_loops_see_what_they_change_in_a_list():
    def adds(values):
        for i, x in enumerate(values):
            values[1] += x
        return values

    def grows(values):
        seen = []
        for x in values:
            if len(values) < 6:
                values.append(x * 2)
            seen.append(x)
        return seen

    def shrinks(values):
        seen = [values.pop() for x in values]
        for x in values:
            values.pop()
        return seen

    def keys(table):
        for key in table:
            table[key] = table[key] + 1
        for key in table:
            table[key + 1] = 0

    check(adds, [0.1, 0.5, -0.0])
    check(adds, [1, 2.5, 3])
    check(grows, [1, 2.5, 3])
    check(shrinks, [1, 2.5, 3, 4, 5, 6])
    check(keys, {1: 2.0, 2: 3})
    check(keys, {})


def test_augmented_items_change_the_objects_themselves():
    def f(values):
        inner = [1]
        outer = [inner, 2.5, np.ones(2)]
        outer[0] += [2]
        outer[1] += 1
        outer[2] *= 3
        values[0] += [5]
        return inner, outer, values

    check(f, [[1, 2], 3])


def test_classes_without_source_are_refused():
    space = {}
    exec("class Point:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, o):\n        return True", space)
    point = space["Point"]
    refused(lambda x: point(x).x, 1.5)
    refused(lambda p: p == 1, point(1.5))


def test_names_of_a_pattern_have_the_types_of_their_case():
    def f(a, n):
        match (a, np.negative(n)):
            case [0, k]:
                pass
            case [k, 0 | 1]:
                return k
            case [k, *rest] if rest[0] > 2:
                rest.append(k)
                return len(rest) + k
        return 5

    for a, n in ((0, 0), (1, 0), (2, -1), (2, 1), (2, -3)):
        check(f, a, n)

    def exchanged(n, m):
        r = m
        match (n, 1.0):
            case [k, 0 | 1] if n:
                r, k = k, r
        return r

    check(exchanged, np.uint8(3), np.uint8(1))

    def changed_by_guard(n, m):
        def add():
            nonlocal j
            j += 10
            return j > 0

        j = 0
        match (n, m):
            case [k, i] if (k := i + 1) > 2:
                return k, i
            case [j, i] if add() and i < 2:
                return j, i
        return j, 7

    for n in range(-12, 4, 3):
        check(changed_by_guard, n, n + 1)


def test_numbers_that_may_be_unbound_are_joined():
    def f(c, x):
        if c > 0:
            if c > 1:
                k = x
        else:
            k = np.float64(2.5)
        return k

    check(f, 0, np.float32(1.5))
    check(f, 2, np.float64(1.5))
    for mode in MODES:
        assert jitted(f, mode)(2, np.float32(1.5)) == 1.5
        with pytest.raises(UnboundLocalError):
            jitted(f, mode)(1, np.float32(1.5))


def test_results_of_functions_and_elements_may_be_none():
    def f(n, a):
        o = None
        if n > 1:
            o = n
        values, table = [o], {"a": o}
        v = values[0]
        seen = values[0] is None, v is None, table["a"] is None, table.get("a") is None, (w := values[0]) is None
        return seen, v, w, (lambda: o)() is None

    def used(n, a):
        o = None
        if n > 1:
            o = n
        a[0] += (lambda: o)()
        return (lambda: o)() + 1

    for n in (1, 2):
        check(f, n, np.ones(2))
    check(used, 2, np.ones(2))
    for mode in MODES:
        with pytest.raises(TypeError):
            jitted(used, mode)(1, np.ones(2))


def test_nan_is_found_by_identity_alone():
    def f(n):
        r = n / n
        values = [r, r]
        m = n / r
        return r in values, m in values, values.index(r)

    check(f, np.float64(0))
    check(f, np.float64(2))


def test_arrays_change_by_their_dtypes_before_their_shapes():
    def f(a, b):
        a //= b

    check(f, np.ones(3, bool), np.ones(0, bool))
    check(f, np.ones(3, np.int8), np.ones(2, np.float32))


def test_messages_show_complex_numbers():
    def index(x):
        return [1, 2.5].index(x)

    def key(x):
        return {}[x]

    def caught(x):
        try:
            return [1].index(x)
        except ValueError as e:
            print(e)

    for x in (2, 1j, 2 + 0j, np.complex64(0.1), np.float16(0.1)):
        for function in (index, key, caught):
            check(function, x)


def test_what_nobody_has_written_is_one_number():
    def f():
        small = np.empty(4, np.int64)
        k = small[1]
        return k > 5, k <= 5, k + 1 - k

    for mode in ("compiled", "interpreted"):
        more, less, one = jitted(f, mode)()
        assert more != less and one == 1


def test_a_view_on_one_path_shares_memory():
    def f(x, c):
        r = np.copy(x)
        v = r
        if c:
            r = v[:1]
        r[0] = 7.0
        return r, v

    for mode in ("compiled", "interpreted"):
        for c in (True, False):
            r, v = jitted(f, mode)(np.arange(3.0), c)
            assert np.shares_memory(r, v) and r[0] == v[0] == 7.0 and len(r) == (1 if c else 3)


def test_numbers_and_arrays_beside_what_no_number_is_equal_to():
    def compared(x):
        return x == None, x != None, None == x, x == "text", x != "text"  # noqa: E711

    def with_sequences(n):
        return n == (1, 2), n != [1, 2], (1,) == n

    def perhaps(x, n):
        o = None
        if n:
            o = n
        return x != o, 3 == o, (1, 2) == o, (x == o) + x

    for x in (np.arange(3), np.zeros((0, 2)), np.array(2.0), np.float64(2), np.int8(1), np.bool(True), 1j, 3, True):
        check(compared, x)
    for n in (3, 2.5, True):
        check(with_sequences, n)
    for n in (2, 0):
        check(perhaps, np.arange(3), n)


def test_functions_of_numpy_at_their_edges():
    f = np.asfortranarray([[0.0, 1.0], [2.0, 3.0]])
    g = np.arange(24.0).reshape(2, 3, 4)
    check(lambda a, b: (np.kron(a, b), np.kron(b, a)), f, np.array([[1.0, 10.0]]))
    check(lambda a, b: np.kron(a, b), g.T, np.ones((2, 1, 2)))
    for flags in (np.array([True, False, True]), np.zeros(0, bool), [True, True, False]):
        check(lambda x: np.bincount(x), flags)
        check(lambda x: np.bincount(x, minlength=5), flags)
    check(lambda x, w: np.bincount(x, w), np.array([True, False, True]), np.array([1.0, 2.0, 4.0]))
    check(lambda x, w: np.bincount(x, weights=w), np.array([1, 2]), np.array([1, 2j]))
    check(lambda: (np.bincount([]), np.bincount([3, 1])))
    for flag in (True, np.True_, np.array([True])):
        check(lambda x: np.negative(x), flag)
    for shape in (0, (3, 0)):
        check(lambda x: (np.partition(x, 0), np.argpartition(x, 2)), np.zeros(shape))
    check(lambda: (np.arange(stop=5), np.arange(3), np.arange(1, 2, 0.5)))
    for step in (0, 2, -1):
        check(lambda s: np.arange(1, 5, s), step)
    for dtype in (np.float64, np.int32, np.int64):
        check(lambda a, o: np.argmax(a, 0, o), np.arange(4.0).reshape(2, 2), np.zeros(2, dtype))
    for dtype in (np.float16, np.float32, np.float64):
        zeros = np.tile(np.array([0.0, -0.0, 1.0, 0.0], dtype), 10)
        check(lambda x: np.sort(x, kind="stable"), zeros)
        check(lambda x: np.sort(x[::-1], stable=True), zeros)
    for function in (lambda a: np.where(a > 0, a, None), lambda a: np.equal(a, None)):
        with pytest.raises(ingot.UnsupportedError):
            ingot.jit(function)(np.arange(3.0))


def test_bounds_of_random_integers_are_lengths():
    def drawn(r):
        a = np.zeros(5)
        return r.integers(0, len(a)), r.integers(0, a.shape[0], 2), r.integers(a.shape[0]), r.choice(np.arange(5), 2), r.choice(a, 2)

    def large(r):
        return r.integers(0, 2**64 - 1, dtype=np.uint64), r.integers(2**63, 2**64, dtype=np.uint64), r.integers(-3, 3)

    for function in (drawn, large):
        for mode in MODES:
            assert difference(jitted(function, mode)(np.random.default_rng(3)), function(np.random.default_rng(3))) is None


def test_what_a_second_reading_of_the_library_found():
    for shape in ((2, 3), (3, 2), (1, 3), (2, 2)):
        for subscripts in ("ii", "ii->i", "ij,jj->i", "ii,ij"):
            a = np.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape)
            if "," not in subscripts:
                check(lambda a: np.einsum(subscripts, a), a)
            elif shape[0] == shape[1] or subscripts == "ii,ij":
                check(lambda a: np.einsum(subscripts, a, a), a)
    check(lambda a: np.einsum("ij,jj->i", a, a[:, :1] * np.ones(4)), np.ones((3, 3)))
    for empty in (np.zeros(0), np.zeros(0, np.float32)):
        check(lambda a: np.polymul(a, a), empty)
        check(lambda a: np.polymul(a, [1, 2]), empty)
        check(lambda a: np.polymul([1, 2], a), empty)
    check(lambda a: np.common_type(a), np.array([True]))
    check(lambda a, b: np.common_type(a, b), np.ones(2, np.float32), np.array([True]))
    for function in (lambda z: np.frexp(z), lambda z: np.modf(z)):
        check(function, np.ones(2, np.complex64))
        check(function, np.complex128(1j))
    for line, number in ((np.ones(2, np.int8), 300), (np.ones(2, np.uint8), -1), (np.ones(2, np.int8), 100), (np.ones(2), 2**40)):
        check(lambda a, n: np.r_[a, n], line, number)
        check(lambda a, n: np.r_[n, 1:3, a], line, number)
    for dtype in ("float16", "float32", "int32"):
        a = np.arange(8).reshape(4, 2).astype(dtype)
        check(lambda a: np.histogramdd(a, bins=[2, 3]), a)
        check(lambda a: np.histogramdd([a[:, 0], a[:, 1]], bins=2), a)
        check(lambda a: np.histogram2d(a[:, 0], a[:, 1], bins=2), a)
        check(lambda a: np.histogram2d(a[:, 0], a[:, 1], bins=[3, 2], range=[[0, 5], [0.5, 7]]), a)
        check(lambda a: np.histogramdd(a, bins=[3, 2], range=[[0, 5], [0.5, 7]]), a)
    with pytest.raises(ingot.UnsupportedError):
        ingot.jit(lambda a: np.histogramdd([a], bins=2))(np.ones(3, np.complex64))


def test_loops_of_no_turns_bind_nothing():
    def joined(n):
        v = n
        for _ in range(0):
            v = 1.5
        else:
            v += 2
        return v ^ 5

    def unbound(n):
        for i in range(3, 3):
            x = i
        return x + n

    for function in (joined, unbound):
        check(function, 4)


def test_containers_equal_themselves():
    """What a list or dict holds is itself, NaN too."""

    def lists(x):
        g = []
        for v in x:
            g.append(v * 1.0)
        return g == g, g != g

    def dicts(x):
        d = {}
        for i in range(len(x)):
            d[i] = x[i]
        return d == d, d != d

    for function in (lists, dicts):
        check(function, np.array([1.0, np.nan]))


def test_places_of_partitions():
    for kth in (True, np.True_, np.array([True, False])):
        for function in (lambda x, k: np.partition(x, k), lambda x, k: np.argpartition(x, k)):
            check(function, np.arange(5.0), kth)
    for kth in (0, 1):
        check(lambda x, k: np.argpartition(x, k), np.array(3.0), kth)
        check(lambda x, k: np.argpartition(x, k, axis=1), np.array(3.0), kth)
        check(lambda x, k: np.partition(x, k), np.array(3.0), kth)


def test_counts_of_repeats():
    line = np.arange(3.0)
    for repeats in (2.0, np.float64(2), np.float32(2.5), True, [2.0], [1, 0, 2], (2, 1.5, 0), -1, [-1], np.array(2), np.array([2])):
        check(lambda a, n: np.repeat(a, n), line, repeats)
    for repeats in (np.array([True, False, True]), np.array([1, 0, 3], np.uint8), np.array([2.0]), np.array([1, -1, 1]), float("nan")):
        check(lambda a, n: np.repeat(a, n), line, repeats)
    for shape, axis in (((0,), None), ((0, 3), 1), ((3, 0), 0), ((3, 0), 1)):
        check(lambda a, n: np.repeat(a, n, axis=axis), np.zeros(shape), -1)


def test_constants_beyond_64_bits():
    """On a path that is not taken they are nothing; no clause catches Ingot's own limit."""

    def arm(a, n):
        if a > n:
            a = 9223372036854775807 + 1
        return a

    def expression(a, n):
        return -(2**63) * 3 if a > n else a

    def loop(a, n):
        t = 0
        for i in range(n):
            if i > a:
                t = 2**63
        return t

    def elements(a, n):
        return [i if i < n else 2**65 for i in range(a)]

    def growing(a, n):
        kept = []
        while n > 0:
            kept.append(n if n < a else 2**70)
            n -= 1
        return kept

    def caught(a, n):
        try:
            if a > n:
                a = a + 2**64
        except OverflowError:
            a = 7
        return a

    for function, inside, beyond in (
        (arm, (1, 100), (101, 100)),
        (expression, (1, 100), (101, 100)),
        (loop, (9, 3), (0, 3)),
        (elements, (3, 3), (5, 3)),
        (growing, (5, 3), (3, 3)),
        (caught, (1, 100), (101, 100)),
    ):
        check(function, *inside)
        assert raises(function, *beyond) == (OverflowError, "a Python int leaves 64 bits here")


def test_constants_that_raise():
    def operations(a, n):
        try:
            if a == n:
                a = 5 // 0
            elif a == n + 1:
                a = 1 << -1
            elif a == n + 2:
                a = 0 % 0
            elif a == n + 3:
                a = a * 1.5 + 10**400
            elif a == n + 4:
                a = 0**-1
        except ValueError:
            a = -1
        return a

    for n in range(7):
        check(operations, n + 1, 2)


def test_ints_beyond_64_bits_are_compared():
    def compares(a):
        return a < 2**64, a > -(2**64), a == 2**70, 2**63 + 1 > a, a != 2**80, a <= 10**400, 2**63 == a

    for a in (5, True, np.int64(-3), np.uint8(3), np.uint64(2**63), np.uint64(2**64 - 1), np.arange(3), np.arange(3, dtype=np.uint64) + 2**63):
        check(compares, a)


def test_ints_beyond_64_bits_in_functions():
    for function in (lambda x: np.log1p(2**126), lambda x: np.log1p(2**63), lambda x: np.add(2**70, 5), lambda x: np.sqrt(-(2**70)), lambda x: x + 2**70):
        for x in (1.5, np.float32(2), np.int64(3)):
            check(function, x)


def test_slices_beyond_64_bits_are_clipped():
    for k, l, s in ((-1, -99, -(2**63)), (0, 99, 2**63 - 1), (None, None, -(2**63))):
        check(lambda a, k, l, s: a[k:l:s], np.arange(2), k, l, s)
        check(lambda a, k, l, s: a[k:l:s], np.arange(2), k, l, np.int64(s))
    check(lambda a: (a[: 2**70], a[-(2**70) :: 2**70], a[:: -(2**64)], a[2**64 :]), np.arange(5.0))


def test_indices_beyond_64_bits():
    def stores(a):
        a[2**70] = 1.0

    for function in (
        lambda a: a[2**63],
        lambda a: a[2**64],
        lambda a: a[..., -(2**63) - 1],
        lambda a: a[2**64 - 1, :],
        stores,
        lambda a: [1, 2, 3][2**63],
        lambda a: (1, 2, 3)[-(2**70)],
        lambda a: [v for v in a][2**70],
        lambda a: range(3)[2**64],
        lambda a: np.zeros(2**63),
        lambda a: np.ones((2, -(2**70))),
    ):
        check(function, np.ones((2, 3)))


def test_a_loop_of_one_turn_is_its_body():
    def changes_kind():
        v = 1.0
        for _ in range(1):
            v = 0
            v ^= 0
        return v

    def leaves(x):
        v = 1.0
        for i in range(5, 6):
            if x > 0:
                break
            v = i
        else:
            v = 7.0
        return v, i

    check(changes_kind)
    for x in (-1, 0, 1, 3):
        check(leaves, x)
