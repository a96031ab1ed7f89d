"""The rules of docs/semantics.md on numbers, indexing, assignment and arrays; the others: test_semantics.py."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from support import ARRAYS, DTYPES, GRID, LINE, MODES, SCALARS, check, difference, in_both_modes, jitted, layouts, refused


# ---- Python's numbers


@pytest.mark.parametrize("a, b", [(7, 2), (-7, 2), (7, -2), (-7, -2), (7, 0), (1, 3), (0, 5)])
def test_int_operators(a, b):
    for function in (
        lambda a, b: (a // b, a % b),
        lambda a, b: a % b,
        lambda a, b: a - b,
        lambda a, b: (a & b, a | b, a ^ b, ~b),
        lambda a, b: (a < b, a == b, a != b, a < b <= 5, a and b, a or b, not a),
        lambda a, b: min(a, b) + max(a, b, 3) + 0,
    ):
        check(function, a, b)


def test_int_division_is_rounded_once():
    for a, b in ((7, 2), (1, 3), (-1, 3), (2**53, 3), (1, 0)):
        check(lambda a, b: a / b, a, b)


@pytest.mark.rotated(3)
def test_shifts_and_powers():
    for a, b in ((1, 3), (1, 62), (0, 100), (-1, 63), (1, -1), (100, 3), (-100, 3)):
        check(lambda a, b: a << b, a, b)
        check(lambda a, b: a >> b, a, b)
    for a, b in ((2, 3), (2, 0), (0, 0), (-2, 3), (3, 39), (2.0, 3), (2, 0.5), (0.0, -1.0), (1e200, 2.0), (-8.0, 2.0)):
        check(lambda a, b: a**b, a, b)
    for a, b in itertools.product((0.0, -0.0, 0, 0.5, -1.0, np.inf, -np.inf, np.nan), (-np.inf, np.inf, np.nan, -0.0, -3.0)):
        check(lambda a, b: a**b, a, b)
        check(lambda a, b: math.pow(a, b), a, b)


@pytest.mark.parametrize("a, b", [(7.5, 2.0), (-7.5, 2.0), (-0.0, 3.0), (1.0, 0.0), (5.0, math.inf), (-5.0, math.inf)])
def test_float_operators(a, b):
    for function in (lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b, lambda a, b: a - b * a):
        check(function, a, b)


@pytest.mark.rotated(3)
def test_ints_and_floats_are_compared_exactly():
    def compared(i, x):
        y = x + 0.0
        return i == y, i != y, i < y, i <= y, i > y, i >= y, y == i, y < i, y <= i, y > i, y >= i, y in [i, 0], (i,) == (y,)

    def with_complex(i, x):
        z = complex(x, 0)
        return i == z, z == i, i != z, i == complex(x, 1)

    def constant(x):
        return x == 2**53 + 1, x < 2**63 - 1, 2**53 + 1 > x, x >= -(2**63), x < 2**64 + 1, x > -(10**400), 10**400 != x

    for i in (2**63 - 1, 2**53 + 1, 2**53, -(2**63), -(2**63) + 1, 0, 3):
        for x in (2.0**63, 2.0**53, -(2.0**63), 0.0, -0.0, 3.0, 3.5, np.nan, np.inf, -np.inf, 1e300):
            check(compared, i, x, modes=("compiled",))
    for i, x in ((2**63 - 1, 2.0**63), (2**53 + 1, 2.0**53), (3, 3.0), (3, 2.5), (-(2**63), -(2.0**63))):
        check(compared, i, x)
        check(with_complex, i, x)
        check(constant, x)


def test_division_by_zero():
    for a, b in ((1, 0), (1.0, 0), (1j, 0j), (True, False)):
        check(lambda a, b: a / b, a, b)  # Python's numbers raise
    for a, b in ((np.float64(1), 0), (1, np.float64(0)), (np.int64(1), 0), (np.int32(1), np.int32(0))):
        check(lambda a, b: a / b, a, b)  # NumPy's do not
        check(lambda a, b: a // b, a, b)
        check(lambda a, b: a % b, a, b)


def test_complex_numbers():
    for a, b in ((1j, 2), (1j, 1 + 1j), (1j, np.float64(2)), (np.float64(2), 1j), (np.complex64(1j), 2)):
        check(lambda a, b: (a + b, a * b, a == b, a - b), a, b)
    check(lambda a: a // 2, 1j)
    check(lambda a: a % 2, 1j)


def test_conversions():
    for x in (2.5, -2.5, 3, True, math.nan, math.inf, np.float32(1.5), np.int8(-3), np.uint64(5)):
        check(lambda x: (float(x), bool(x)), x)
        check(lambda x: int(x), x)
    for x in (2.5, -2.5, 7.0, math.nan, math.inf):
        check(lambda x: (math.floor(x), math.ceil(x), math.trunc(x)), x)


# ---- The functions of math


@pytest.mark.sampled(4)
@pytest.mark.parametrize("x", [2.5, -1.0, 0.0, math.nan, math.inf, -math.inf, 3, True, 1000.0, np.float32(2)])
def test_math_errors(x):
    for function in (
        lambda x: math.sqrt(x),
        lambda x: math.log(x),
        lambda x: math.exp(x),
        lambda x: math.asin(x),
        lambda x: math.sin(x),
        lambda x: math.log1p(x),
        lambda x: math.fmod(x, 0.0),
        lambda x: math.pow(x, -1.0),
        lambda x: math.pow(x, 0.5),
    ):
        check(function, x, bound=2**-51)
    for bad in ("a", None, 1j):
        check(lambda x: math.sqrt(x), bad)


# ---- Indexing


@pytest.mark.parametrize("i", [0, 5, -6, 6, -7, np.int8(2), np.uint64(3), 1.0, None, np.float64(1)])
def test_indices(i):
    check(lambda a, i: a[i], LINE, i)

    def write(a, i):
        a[i] = 9

    check(write, LINE, i)


def test_indices_of_several_axes():
    for i, j in ((0, 0), (2, -1), (3, 0), (0, 4), (-4, 0)):
        check(lambda a, i, j: a[i, j], GRID, i, j)
        check(lambda a, i, j: a[i][j], GRID, i, j)
    check(lambda a: a[1, 2, 3], GRID)
    check(lambda a: (a[None], a[:, None], a[..., 0], a[1], a[1:, ::-2]), GRID)


def test_slices():
    for i, j, k in ((1, 4, 1), (4, 1, -1), (-100, 100, 2), (5, 0, -2), (1, 4, 0), (1.5, 2, 1), (None, None, -1)):
        check(lambda a, i, j, k: a[i:j:k], LINE, i, j, k)


def test_boolean_arrays():
    def write(a, m):
        a[m] = -1
        a[m] += 5
        return a[m]

    for a, m in ((LINE, LINE > 2), (LINE, LINE > 200), (GRID, GRID > 4), (GRID, GRID[:, 0] > 1), (LINE, LINE[:3] > 1)):
        check(write, a, m)

    def values(a, m, v):
        a[m] = v

    check(values, LINE, LINE > 2, np.arange(3.0))
    check(values, LINE, LINE > 2, LINE)


def test_integer_arrays():
    def write(a, i):
        a[i] = 5
        a[i] += 1
        return a[i]

    for i in ([0, 2, -1], [1, 1, 1], [0, 6], [[0, 1], [2, 3]], []):
        check(write, LINE, np.array(i, dtype=np.int64))
    check(lambda a, i: a[i], LINE, np.array([1, 2], np.uint8))
    check(lambda a, i: a[i], LINE, np.array([0.0]))
    for j in ([1, 3], [1, 2, 3], [9, 9]):
        check(lambda a, i, j: a[i, j], GRID, np.array([0, 2]), np.array(j))
    check(lambda a, i: (a[:, i], a[i, 1:], a[i, :, None], a[None, i], a[..., i]), GRID, np.array([0, 2]))
    for n in (0, 2, 4):
        check(lambda a, n: (a[range(n)], a[:, range(n)]), GRID, n)
    check(lambda a: a[[1, 0], range(2)], GRID)


def test_unpacking():
    def f(t):
        a, b = t
        return b, a

    for t in ((1, 2.5), (1,), (1, 2, 3), LINE[:2], LINE, LINE[:1], 5, [1, 2]):
        check(f, t)


# ---- Assignment


@pytest.mark.sampled(6)
@pytest.mark.parametrize("a", ARRAYS, ids=DTYPES)
def test_assignment_casts(a):
    def element(a, v):
        a[0] = v
        a[1] = a[2]

    def whole(a, v):
        a[:] = v

    for v in (2.7, -1, 300, True, 2**40, math.nan):
        check(element, a, v)
    for v in SCALARS[:12] if a.dtype.kind != "c" else SCALARS:
        check(element, a, v)
    for v in ARRAYS[:12] if a.dtype.kind != "c" else ARRAYS:
        check(whole, a, v)
    check(element, a, 1j)


@pytest.mark.rotated(3)
@pytest.mark.sampled(16)
@pytest.mark.parametrize("a", ARRAYS, ids=DTYPES)
def test_augmented_assignment_keeps_the_dtype(a):
    def f(a, b):
        a += b

    def part(a, b):
        a[1:4] += b[:3] if np.ndim(b) else b

    def some(a, b):
        a[a > 0] += b[0] if np.ndim(b) else b
        a[[0, 2]] *= b[:2] if np.ndim(b) else b

    for b in [*ARRAYS, *SCALARS, 1, 1.5]:
        for each in (f, part, some):
            check(each, a, b)


@pytest.mark.rotated(3)
def test_assignment_through_the_mask_of_the_value():
    def halves(a, b):
        m = a > b
        a[m] = a[m] / 2 + b[m] * -a[m]
        a[~m] -= b[~m]
        return m

    def changes_the_mask(a, b):
        m = a > 2
        some = a[m]
        m[:2] = True, False
        a[m] = some[0]
        b[m] = b[a > 2][0]
        return some

    def rows(a, b):
        m = a[:, 0] > 1
        a[m] = b[m]
        a[m] += b[m, 0]

    def other_sizes(a, b):
        a[a > 2] = b[b > 2][:2]

    def shifted(a, b):
        a[1:][a[1:] > 2] = a[:-1][a[1:] > 2]

    def written_twice(a, b):
        a[np.abs(a) > 1] = 2 * a[np.abs(a) > 1] + 1
        a[a > b] = a[a >= b][: a[a > b].size]

    for a in layouts(LINE):
        for each in (halves, changes_the_mask, other_sizes, shifted, written_twice):
            check(each, a, LINE[::-1].copy())
    for a in layouts(GRID):
        check(halves, a, np.full((3, 4), 2.5))
        check(written_twice, a, np.full((3, 4), 2.5))
        check(rows, a, GRID - 10)
    check(halves, np.arange(6), np.arange(6)[::-1])  # NumPy casts no floats to integers in place
    check(halves, np.zeros(0), np.zeros(0))


def test_sequences_are_assigned():
    def f(a, x):
        a[1:3] = (7, x)
        a[a > 6] = [x]
        a[[0, 1]] = range(2)
        a[-2:] = [a[0], x]
        a[-1:] = []

    def rows(a, x):
        a[:, :2] = [[1, 2], (3, x), [5, 6]]
        a[1] = (a[0, 0], 2, x)
        a[2] = [v for v in a[1] if v > x]

    for a in ARRAYS:
        check(f, a, 2)
    check(f, np.arange(5), 2.5)
    check(rows, GRID.reshape(3, 4)[:, :3], 2)
    check(rows, GRID, 2)


def test_assignment_broadcasts():
    def f(a, b):
        a[:] = b

    for b in (LINE[::-1], np.empty(0), np.ones(1), GRID, 2.0):
        check(f, LINE, b)
    check(lambda a, b: a + b, GRID, LINE[:4])
    check(lambda a, b: a + b, GRID, LINE[:3])


def test_read_only_arrays():
    frozen = np.arange(4.0)
    frozen.flags.writeable = False

    def element(a):
        a[0] = 1

    def part(a):
        a[1:3] = 1

    def in_place(a):
        a += 1

    for function in (element, part, in_place, lambda a: (a.sum(), a[1:], a * 2)):
        check(function, frozen)


def test_arrays_read_only_on_one_path():
    frozen = np.arange(6.0).reshape(2, 3)
    frozen.flags.writeable = False  # its ravel is a view, and read-only; that of its transpose is a copy

    def written(a):
        r = np.ravel(a)
        r[0] = 1

    check(written, frozen)
    check(lambda a: np.ravel(a), frozen)
    for a in (frozen.T, frozen[::2]):
        check(lambda a: (np.ravel(a).sum(), np.ravel(a) * 2), a)
        refused(written, a, words="writing into an array that is read-only on one path only")
        refused(lambda a: np.ravel(a), a, words="a result that is a read-only array on one path only")


# ---- Arrays


@pytest.mark.sampled(4)
@pytest.mark.parametrize("a", ARRAYS, ids=DTYPES)
def test_reductions(a):
    check(lambda a: (a.sum(), a.prod(), a.min(), a.max(), a.any(), a.all()), a)
    if a.dtype != np.float16:
        check(lambda a: (a.mean(), np.cumsum(a)), a)


def test_short_axes_make_specialisations():
    def lengths(a):
        return np.sqrt((a * a).sum(axis=1))

    def rows(a):
        return a.sum(axis=0)

    for function, counts in ((lengths, (8, 8)), (rows, (1, 1))):
        compiled = [jitted(function, mode) for mode in MODES]
        for width in (*range(2, 20), 3, 5):
            a = np.arange(6.0 * width).reshape(6, width)
            for one in compiled:
                got = one(a)
                assert got.dtype == np.float64 and np.allclose(got, function(a), rtol=1e-15)
            assert compiled[0](a).tobytes() == compiled[1](a).tobytes()
        assert tuple(len(one.specialisations) for one in compiled) == counts


@dataclasses.dataclass(frozen=True)
class Rows:
    data: np.ndarray
    table: np.ndarray


@dataclasses.dataclass(frozen=True)
class Pair:
    first: Rows
    second: Rows | None = None


def test_short_axes_in_instances_make_specialisations():
    """As those of arguments do, also in instances in instances: of 2 to 8 each, of all others together."""

    def norms(pair, out):
        for d in range(len(pair.first.table)):
            for s in range(pair.first.data.shape[1]):
                total = 0.0
                for k in range(pair.first.data.shape[2]):
                    total += pair.first.data[pair.first.table[d], s, k] ** 2
                out[d, s] = total

    compiled = [jitted(norms, mode) for mode in MODES]
    for width in (3, 4, 20, 21, 3):
        for rows in (2, 5):
            pair, wanted = Pair(Rows(np.arange(rows * 6.0 * width).reshape(rows, 6, width), np.array([1, 0]))), np.zeros((2, 6))
            norms(pair, wanted)
            for one in compiled:
                out = np.zeros((2, 6))
                one(pair, out)
                assert out.tobytes() == wanted.tobytes()
    assert [len(one.specialisations) for one in compiled] == [3, 3]


@dataclasses.dataclass
class Held:
    data: np.ndarray


def test_short_axes_outside_make_specialisations():
    """Of an instance that is read as a global and of a dict: each time the lengths are those of now."""
    table, rows = {"a": np.arange(8.0).reshape(2, 4)}, Held(np.arange(12.0).reshape(2, 6))

    def weighted(x):
        total = 0.0
        for i in range(2):
            for k in range(rows.data.shape[1]):
                total += rows.data[i, k] * x
            for k in range(table["a"].shape[1]):
                total -= table["a"][i, k]
        return total

    compiled = [jitted(weighted, mode) for mode in MODES]
    for width in (6, 3, 20, 6):
        rows.data, table["a"] = np.arange(2.0 * width).reshape(2, width), np.ones((2, width + 1))
        for one in compiled:
            assert one(2.5) == weighted(2.5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("a", [*SCALARS, *ARRAYS], ids=[*DTYPES, *(f"{d}[:]" for d in DTYPES)])
def test_unary_operators(a):
    for function in (lambda a: +a, lambda a: -a, lambda a: ~a, lambda a: abs(a)):
        if a.dtype.kind in "fc" and function(np.int8(1)) == ~np.int8(1):
            continue
        check(function, a)


@pytest.mark.parametrize("a", ARRAYS, ids=DTYPES)
def test_scalar_loops_over_arrays(a):
    def f(a):
        s = 0
        for v in a:
            s += v
        return s, a.dtype, a.shape, a.ndim, a.size

    with np.errstate(over="ignore"):
        check(f, a)


def strides(array):
    """Those that matter: of an array that is not empty, along axes of several elements."""
    return [s for s, n in zip(array.strides, array.shape) if n > 1 and array.size > 0]


@pytest.mark.rotated(3)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", MODES)
def test_new_arrays_have_numpys_layouts(mode):
    def made(a, b):
        return a + b, -a, np.sqrt(np.abs(b)), a > b, a > 1, a.T + 1, (a + b).T, np.where(a > 0, a, b), np.minimum(a, 0) * b

    def copied(a, b):
        return a.astype(np.float32), np.copy(a), a.copy(), (a + b).copy(), np.array(a), np.zeros_like(a), np.ones_like(b)

    def likes(a, b):
        return np.empty_like(a), np.empty_like(b, np.int8), np.empty_like(a + b)

    def parts(a, b):
        return a[1:] * 2, a[:, ::-1] + b[:, ::-1], a * b[0], b[:, 0][:, None] + a, a[..., None] + b[..., None], a[None] * 2

    def named(a, b):
        c = a * b + 1
        c[0] = 5
        d = c - a
        c += b
        return c, d, d.T, (c + d)[1:]

    def branches(a, b):
        c = a + 1 if a.size > 5 else a - 1
        d = a * 2 if b.size > 5 else a / 2
        return c, c * 2, d, d - 1

    for shape in ((3, 4), (3, 3, 4), (3, 1), (1, 6), (3, 3, 0), (4, 4, 4, 3)):
        orders = [f(np.arange(1.0, np.prod(shape) + 1).reshape(shape)) for f in (np.copy, np.asfortranarray)]
        orders.append(np.ones(shape[::-1]).T)
        for a, b in itertools.product(orders, orders):
            for function in (made, copied, parts, named, likes, branches):
                got, expected = jitted(function, mode)(a.copy("K"), b.copy("K")), function(a.copy("K"), b.copy("K"))
                assert [*map(strides, got)] == [*map(strides, expected)], (function.__name__, shape, a.strides, b.strides)
                assert function is likes or difference(got, expected, 1e-15) is None
    numbers = np.asfortranarray(np.arange(6, dtype=np.uint64).reshape(2, 3))
    for number in (3, -3):
        assert strides(jitted(lambda a, n: a > n, mode)(numbers, number)) == [1, 2]

    def in_c_order(a):
        return np.sort(a), np.sort(a, 0)

    def in_fortran_order(a):
        return np.insert(a, 1, 0.0, axis=0), np.pad(a, 1), np.block([[a], [a]]), np.fft.fft(a), np.fft.rfft(a, axis=0)

    f = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    for got, expected in zip(jitted(in_c_order, mode)(f), in_c_order(f), strict=True):
        assert got.flags.c_contiguous and np.array_equal(got, expected)
    for got, expected in zip(jitted(in_fortran_order, mode)(f), in_fortran_order(f), strict=True):
        assert got.flags.f_contiguous and expected.flags.f_contiguous and np.allclose(got, expected)


# ---- What NumPy leaves open


def test_complex_products_round_each_operation():
    def f(x, y):
        return x * y

    rng = np.random.default_rng(5)
    x, y = (rng.normal(size=100) + 1j * rng.normal(size=100) for _ in range(2))
    expected = np.array([a * b for a, b in zip(x.tolist(), y.tolist())])  # Python's complex rounds each
    for mode in MODES:
        assert difference(jitted(f, mode)(x, y), expected) is None
    check(f, x, y, bound=2**-45)


def test_the_larger_of_two_zeros():
    def f(x, y):
        return np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, y)

    x, y = np.zeros(17), -np.zeros(17)
    results = [jitted(f, mode)(x, y) for mode in MODES]
    assert difference(*results) is None
    for result in results[0]:
        assert not result.any() and len(set(np.signbit(result))) == 1


def test_order_of_equal_elements():
    x = np.random.default_rng(1).integers(0, 4, 1000)
    for dtype in (np.bool, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64, np.complex64, np.complex128):
        for keys in (x.astype(dtype), x.astype(dtype).reshape(20, 50).T):
            for mode, kind in (("compiled", None), ("interpreted", "stable")):
                got = jitted(lambda x: np.argsort(x), mode)(keys)
                assert difference(got, np.argsort(keys, kind=kind)) is None
                got = jitted(lambda x: np.argsort(x, 0, "stable"), mode)(keys)
                assert difference(got, np.argsort(keys, 0, "stable")) is None


@pytest.mark.rotated(3)
def test_partition_sorts():
    for a in layouts(np.array([[3, 1, 2, 0], [5, 7, 4, 6]])):
        for got, error in in_both_modes(lambda a: (np.partition(a, 2), np.argpartition(a, 1, axis=0)), a):
            assert error is None
            assert np.array_equal(got[0], np.sort(a)) and np.array_equal(got[1], np.argsort(a, axis=0))


def test_order_of_unique_values():
    for a in layouts(np.array([[3, 1, 2, 3], [5, 7, 1, 6]])):
        for got, error in in_both_modes(lambda a: np.unique_values(a), a):
            assert error is None
            assert np.array_equal(got, np.sort(np.unique_values(a)))


def test_casts_out_of_range():
    def f(x):
        return x.astype(np.uint32), x.astype(np.int8), x.astype(np.int64)

    for value in (-1.0, 3e9, 1e30, np.inf, np.nan):
        for dtype in (np.float32, np.float64):
            results = [jitted(f, mode)(np.full(37, value, dtype)) for mode in MODES]
            assert difference(*results) is None
            assert all(len(set(r.tolist())) == 1 for r in results[0])


def test_masked_assignment_reads_first():
    def f(x):
        x[x > 0] = x[::-1]
        return x

    for mode in MODES:
        assert jitted(f, mode)(np.array([1.0, 2.0, 3.0])).tolist() == [3.0, 2.0, 1.0]


# ---- Printing


def test_printing():
    def f(n, a):
        print("n", n, 1.5, None, True, (n,), [n])
        print(n, end="")
        print(a, a[1], a.shape, sep="-")

    for n in (5, 2.5, True, np.float32(1.5), np.int8(3), 1j):
        check(f, n, LINE)
