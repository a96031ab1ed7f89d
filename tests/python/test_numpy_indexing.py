"""Functions that choose elements by indices and conditions, as `ingot.library.indexing` has them."""

import math

import numpy as np
import pytest

from support import check, with_each

A = np.arange(12.0).reshape(3, 4)
BACKWARDS = np.arange(12, dtype="i2").reshape(3, 4)[::-1]
GRIDS = [(BACKWARDS, "interpreted"), (np.asfortranarray(A), "compiled")]
IDS = ["backwards", "fortran"]


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_taking(a, mode):
    with_each(
        [
            lambda a: np.take(a, [0, 2]),
            lambda a: np.take(a, [0, 2], axis=1),
            lambda a: a.take(1, axis=0),
            lambda a: np.take(a, np.array([[0, 1], [2, -1]]), 0),
            lambda a: np.take(a, 3),
            lambda a: np.take(a, [0, 9], axis=1, mode="clip"),
            lambda a: np.take(a, [-5, 9], mode="wrap"),
            lambda a: np.take(a, [99]),
            lambda a: np.take(a, [0.5]),
            lambda a: np.take(a, [0, 1], out=np.zeros(2)),
            lambda a: np.take_along_axis(a, np.argsort(a, axis=1), axis=1),
            lambda a: np.take_along_axis(a, np.array([[0, 1, 1, 0]]), 0),
            lambda a: np.take_along_axis(a, np.array([3, 1]), axis=None),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_putting(a, mode):
    with_each(
        [
            lambda a: np.put_along_axis(a, np.array([[0], [1], [2]]), 9, axis=1),
            lambda a: np.put(a, [0, 5], [7, 8]),
            lambda a: np.put(a, [0, -1, 3], [7, 8]),
            lambda a: np.put(a, [99], 1),
            lambda a: np.put(a, [99, -99], 1, mode="clip"),
            lambda a: a.put([1, 2], 5),
            lambda a: np.putmask(a, a > 4, [1, 2, 3]),
            lambda a: np.place(a, a > 4, [1, 2]),
            lambda a: np.place(a, a > 4, []),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_conditions(a, mode):
    with_each(
        [
            lambda a: np.extract(a > 3, a),
            lambda a: np.compress([True, False, True], a, axis=0),
            lambda a: a.compress([0, 1], axis=1),
            lambda a: np.compress([1, 0, 1], a),
            lambda a: np.nonzero(a),
            lambda a: a.nonzero(),
            lambda a: np.argwhere(a > 2),
            lambda a: np.flatnonzero(a),
            lambda a: np.count_nonzero(a),
            lambda a: np.count_nonzero(a, axis=1),
            lambda a: np.count_nonzero(a, axis=0, keepdims=True),
            lambda a: np.where(a > 3),
            lambda a: np.select([a > 5, a > 2], [a, a * 2], 7),
            lambda a: np.select([a > 5, a > 2], [a, 1]),
            lambda a: np.select([a > 5], [a, 1]),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_searching(a, mode):
    with_each(
        [
            lambda a: np.searchsorted(a[0], [2.5, 1, 9]),
            lambda a: np.searchsorted(a[0], 2.5, side="right"),
            lambda a: np.searchsorted(np.sort(a[0]), a, "right"),
            lambda a: np.searchsorted(a, 1),
            lambda a: np.digitize(a, [1, 4, 7]),
            lambda a: np.digitize(a, np.array([7, 4.0, 1]), right=True),
            lambda a: np.digitize(3.5, [1, 4, 7]),
            lambda a: np.digitize(a, [1, 5, 3]),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_ufuncs_at_indices(a, mode):
    with_each(
        [
            lambda a: np.add.at(a, [0, 0, 1], 1),
            lambda a: np.add.at(a, ([0, 0, 1], [1, 1, 2]), [1, 2, 3]),
            lambda a: np.subtract.at(a, (slice(None), [0, 0]), 2),
            lambda a: np.maximum.at(a, np.array([1, 1]), 5),
            lambda a: np.negative.at(a, [0, 0]),
            lambda a: np.add.at(a, a > 3, 1),
            lambda a: np.multiply.at(a, 0, 2),
            lambda a: np.add.at(a, [0], 1.5),
            lambda a: np.add.at(a, [7], 1),
        ],
        a,
        modes=(mode,),
    )


def test_choosing_and_numbering():
    with_each(
        [
            lambda: np.choose([0, 1, 2, 1], [[1, 2, 3, 4], [5, 6, 7, 8], 9]),
            lambda: np.choose([0, 1, 7], [[1, 2, 3], 4.5, 9], mode="clip"),
            lambda: np.choose([0, 1, 7], [[1, 2, 3], 4.5, 9]),
            lambda: np.unravel_index(5, (3, 4)),
            lambda: np.unravel_index([5, 11], (3, 4)),
            lambda: np.unravel_index([5, 12], (3, 4)),
            lambda: np.unravel_index([5, 11], (3, 4), order="F"),
            lambda: np.ravel_multi_index(([1, 2], [3, 0]), (3, 4)),
            lambda: np.ravel_multi_index((1, 3), (3, 4)),
            lambda: np.ravel_multi_index(([1, 2], [3, 4]), (3, 4)),
            lambda: np.ravel_multi_index(([1, 2], [3, 4]), (3, 4), mode="clip"),
            lambda: np.ravel_multi_index(([1, 2], [3, 4]), (3, 4), mode=("raise", "wrap"), order="F"),
        ]
    )
    check(lambda a: np.unravel_index(np.argmax(a), a.shape), A)


def test_special_values():
    check(lambda a: a.nonzero(), np.array(3))
    check(lambda a: np.where(a), np.array([1, 0, 2j]))
    check(lambda a, v: np.searchsorted(a, v), np.array([1, 2, np.nan, np.nan]), np.array([np.nan, 2, 0, 3]))
    check(lambda a, v: np.searchsorted(a, v, sorter=[2, 0, 1]), np.array([3, 5, 1]), np.array([3, 2, 0, 8]))
    z = np.array([complex(x, y) for x in (2.0, 1.0, np.nan) for y in (3.0, np.nan, 0.0)])
    check(lambda a, v: (np.searchsorted(a, v), np.searchsorted(a, v, "right")), np.sort(z), z)


CUBE = np.arange(120.0).reshape(2, 3, 4, 5)
ON_FIRST, ON_TWO = np.array([True, False]), np.array([[True, False, True], [False, True, False]])
ON_SECOND, ON_LAST = np.array([True, False, True]), np.array([True, False, True, True, False])


def test_indices_of_several_kinds():
    def check_each(read, write, change, *arguments):
        for function in (read, write, change):
            check(function, *arguments, modes=("interpreted",))

    def write(a):
        a[1, None, :, np.array([1, 0])] = 7

    def change(a):
        a[1, None, :, np.array([1, 0])] += 1

    check_each(lambda a: a[1, None, :, np.array([1, 0])], write, change, CUBE)

    def write(a):
        a[np.array([1, 0, 1]), :, 1] = 7

    def change(a):
        a[np.array([1, 0, 1]), :, 1] += 1

    check_each(lambda a: a[np.array([1, 0, 1]), :, 1], write, change, CUBE)

    def write(a):
        a[None, np.array([1, 0, 1]), 1] = 7

    def change(a):
        a[None, np.array([1, 0, 1]), 1] += 1

    check_each(lambda a: a[None, np.array([1, 0, 1]), 1], write, change, CUBE)

    def write(a):
        a[None, np.array([-1])] = 7

    def change(a):
        a[None, np.array([-1])] += 1

    check_each(lambda a: a[None, np.array([-1])], write, change, CUBE)

    def write(a):
        a[..., np.array([1, 0]), 1] = 7

    def change(a):
        a[..., np.array([1, 0]), 1] += 1

    check_each(lambda a: a[..., np.array([1, 0]), 1], write, change, CUBE)

    def write(a):
        a[0, :, [0, 1], None] = 7

    def change(a):
        a[0, :, [0, 1], None] += 1

    check_each(lambda a: a[0, :, [0, 1], None], write, change, CUBE)

    def write(a):
        a[:, np.array([[0, 1], [1, 0]]), ::-1] = 7

    def change(a):
        a[:, np.array([[0, 1], [1, 0]]), ::-1] += 1

    check_each(lambda a: a[:, np.array([[0, 1], [1, 0]]), ::-1], write, change, CUBE)

    def write(a):
        a[[0, 1], np.array([1, 0, 1]), np.int64(1)] = 7

    def change(a):
        a[[0, 1], np.array([1, 0, 1]), np.int64(1)] += 1

    check_each(lambda a: a[[0, 1], np.array([1, 0, 1]), np.int64(1)], write, change, CUBE)

    def write(a):
        a[np.array([1]), ..., np.array([0, 1])] = 7

    def change(a):
        a[np.array([1]), ..., np.array([0, 1])] += 1

    check_each(lambda a: a[np.array([1]), ..., np.array([0, 1])], write, change, CUBE)


@pytest.mark.rotated(4)
def test_masks_next_to_other_indices():
    def check_each(read, write, change, put, *arguments):
        for function in (read, write, change):
            check(function, *arguments, modes=("compiled",))
        check(put, *arguments, np.arange(5.0), modes=("compiled",))

    def write(a, m):
        a[m, 1] = 7

    def change(a, m):
        a[m, 1] += 1

    def put(a, m, v):
        a[m, 1] = v

    check_each(lambda a, m: a[m, 1], write, change, put, CUBE, ON_FIRST)

    def write(a, m):
        a[m, :, 1] = 7

    def change(a, m):
        a[m, :, 1] += 1

    def put(a, m, v):
        a[m, :, 1] = v

    check_each(lambda a, m: a[m, :, 1], write, change, put, CUBE, ON_FIRST)

    def write(a, m):
        a[m, [0, 1, 1][:1]] = 7

    def change(a, m):
        a[m, [0, 1, 1][:1]] += 1

    def put(a, m, v):
        a[m, [0, 1, 1][:1]] = v

    check_each(lambda a, m: a[m, [0, 1, 1][:1]], write, change, put, CUBE, ON_FIRST)

    def write(a, m):
        a[m, 1] = 7

    def change(a, m):
        a[m, 1] += 1

    def put(a, m, v):
        a[m, 1] = v

    check_each(lambda a, m: a[m, 1], write, change, put, CUBE, ON_TWO)

    def write(a, m):
        a[m, :, None] = 7

    def change(a, m):
        a[m, :, None] += 1

    def put(a, m, v):
        a[m, :, None] = v

    check_each(lambda a, m: a[m, :, None], write, change, put, CUBE, ON_TWO)

    def write(a, m):
        a[m, [1, 0, 1]] = 7

    def change(a, m):
        a[m, [1, 0, 1]] += 1

    def put(a, m, v):
        a[m, [1, 0, 1]] = v

    check_each(lambda a, m: a[m, [1, 0, 1]], write, change, put, CUBE, ON_TWO)

    def write(a, m):
        a[0, m] = 7

    def change(a, m):
        a[0, m] += 1

    def put(a, m, v):
        a[0, m] = v

    check_each(lambda a, m: a[0, m], write, change, put, CUBE, ON_SECOND)

    def write(a, m):
        a[:, m] = 7

    def change(a, m):
        a[:, m] += 1

    def put(a, m, v):
        a[:, m] = v

    check_each(lambda a, m: a[:, m], write, change, put, CUBE, ON_SECOND)

    def write(a, m):
        a[1, m, :, 2] = 7

    def change(a, m):
        a[1, m, :, 2] += 1

    def put(a, m, v):
        a[1, m, :, 2] = v

    check_each(lambda a, m: a[1, m, :, 2], write, change, put, CUBE, ON_SECOND)

    def write(a, m):
        a[..., m] = 7

    def change(a, m):
        a[..., m] += 1

    def put(a, m, v):
        a[..., m] = v

    check_each(lambda a, m: a[..., m], write, change, put, CUBE, ON_LAST)

    def write(a, m):
        a[None, m] = 7

    def change(a, m):
        a[None, m] += 1

    def put(a, m, v):
        a[None, m] = v

    check_each(lambda a, m: a[None, m], write, change, put, CUBE, ON_FIRST)

    def write(a, m):
        a[m, None] = 7

    def change(a, m):
        a[m, None] += 1

    def put(a, m, v):
        a[m, None] = v

    check_each(lambda a, m: a[m, None], write, change, put, CUBE, ON_FIRST)

    def write(a, m):
        a[m, ..., 0] = 7

    def change(a, m):
        a[m, ..., 0] += 1

    def put(a, m, v):
        a[m, ..., 0] = v

    check_each(lambda a, m: a[m, ..., 0], write, change, put, CUBE, ON_FIRST)

    def write(a, m):
        a[m, np.array([2])] = 7

    def change(a, m):
        a[m, np.array([2])] += 1

    def put(a, m, v):
        a[m, np.array([2])] = v

    check_each(lambda a, m: a[m, np.array([2])], write, change, put, CUBE, ON_FIRST)


def test_index_arrays_without_axes():
    def write(a, i):
        a[i] = 7
        a[0, i] += 1

    for i in (np.array(1), np.array(-1, "i1"), np.array(9)):
        with_each(
            [
                lambda a, i: a[i],
                lambda a, i: a[i, 2],
                lambda a, i: a[..., i],
                lambda a, i: a[i, [0, 2]],
                lambda a, i: a[0][i],
                write,
            ],
            A,
            i,
            modes=("interpreted",),
        )
    with_each([lambda a, i: a[i], lambda a, i: a[None, i]], A, np.array(True))
    check(lambda a: np.isin(a[0], [2, 1]), np.arange(3))


def test_two_ellipses():
    def write(a):
        a[..., ..., 1] = 3

    check(write, A)
    check(lambda a: a[..., 0, ...], A)


def test_shapes_are_looked_at_before_places():
    def assign(x, k, y):
        x[k] = y
        return x

    def two(x, i, j):
        return x[i, j]

    bad = np.array([9, 1])
    check(assign, np.zeros(5), bad, np.zeros(3))
    check(assign, np.zeros(5), bad, np.zeros(2))
    check(assign, np.zeros((5, 2)), bad, np.zeros((2, 3)))
    check(assign, np.zeros((5, 2)), np.array([-5, -1]), np.arange(4.0).reshape(2, 2))
    check(assign, np.zeros((5, 2)), np.array([-6, -1]), np.zeros((2, 2)))
    check(two, np.zeros((3, 4)), bad, np.array([1, 2, 3]))
    check(two, np.zeros((3, 4)), bad, np.array([1, 2]))


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


def assign(x, v, i, m):
    x[i] = v
    x[m] = v
    return x


def assign_part(x, v):
    x[0:0] = v
    x[...] = v
    return x


@pytest.mark.sampled(4)
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


def divide_in_place(x, n):
    x //= n
    return x


@pytest.mark.parametrize("n", [-3, 1.5, 1j, None, np.ones(7)])
def test_a_read_only_array_is_the_first_complaint(n):
    x = np.zeros(3, np.uint16)
    x.flags.writeable = False
    check(divide_in_place, x, n)


def column_of_no_rows(x):
    return np.tan(x)[1:, 2]


def test_an_empty_part_after_the_end_of_its_buffer():
    check(column_of_no_rows, np.ones((1, 4), np.float16))


def test_arrays_change_by_their_dtypes_before_their_shapes():
    def f(a, b):
        a //= b

    check(f, np.ones(3, bool), np.ones(0, bool))
    check(f, np.ones(3, np.int8), np.ones(2, np.float32))


def test_index_arrays_next_to_empty_ones_are_not_checked():
    def gets(x, i, j):
        return x[i, j], x[[1], j]

    def sets(x, i, j):
        x[i, j] = 0
        x[[1], j] += 1
        np.add.at(x, (i, j), 1)

    def of_number(x, j):
        return x[1, j]

    x = np.ones((1, 2))
    none = np.zeros(0, int)
    for i, j in (([1], none), ([[5], [0]], none.reshape(1, 0)), ([0], [1]), ([1], [0]), ([0], [2])):
        check(gets, x, np.array(i), np.array(j))
        check(sets, x, np.array(i), np.array(j))
    check(of_number, x, none)


@pytest.mark.parametrize("dtype", (np.uint64, np.int64, np.uint8))
def test_arrays_that_one_path_alone_gives_are_indices(dtype):
    """The other path leaves the loop, and has no end while what follows is compiled."""

    def stores(x, n):
        for i in range(n):
            if i < 2:
                x = x + 1
            else:
                break
            x[x % 2] += x
        return x

    def reads(x, n):
        y = x
        for i in range(n):
            if i == 1:
                break
            else:
                y = y[::-1] % 3
            y = y[y]
        return y

    for n in (0, 1, 2, 3):
        check(stores, np.array([1, 0, 4], dtype), n)
        check(reads, np.array([1, 0, 2], dtype), n)


def test_putting_nothing_or_into_a_number():
    check(lambda x: (np.put(x, 5, []), np.put(x, 0, 7), x.put([-1], [8, 9])), np.array(1.5))
    check(lambda x: (np.put(x, [5], []), np.put(x, [0, 1], [3])), np.zeros(2))
    check(lambda x: np.put(x, 1, 7), np.array(1.5))


def test_bounds_that_may_be_none():
    def parts(x, n):
        k = None if n > 2 else n
        return x[:k], x[k:], x[k:5:k], x[::k], x[-1:k:-1], x[..., :k]

    for n in (3, 2, 1, -2):
        check(parts, np.arange(6.0), n)
        check(parts, np.arange(16.0).reshape(4, 4).T, n)
    check(parts, np.arange(3.0), 0)

    def iterates(x, n):
        k, total = None, 0.0
        for i in range(n):
            total += x[:k].sum()
            k = i if i != 2 else None
            x[k:] += 1
            x[i : None if i % 2 else i * 2 : -1] = total
        return total

    check(iterates, np.arange(6.0), 5)

    def grown(n):
        k = None if n > 2 else n
        values = [i * i for i in range(n)]
        kept = values[:k]
        del values[k:]
        return kept, values

    for n in (3, 2, 1):
        check(grown, n)


def masked_escape(z, c, limit):
    count = np.zeros(z.shape, np.int64)
    for n in range(limit):
        inside = np.abs(z) < 2.0
        count[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    return z, count


def masked_sum_of_masked(z, c, limit):
    m = c > limit
    z[m] = z[m] * 2.0 + c[m] - z[m]
    m[1:] = c[:-1] > limit
    z[m] = z[m] + c[m]
    return z


def masked_by_another(z, c, limit):
    m = c > limit
    z[m] = z[m] + c[~m]
    return z


def masked_by_one_then_changed(z, c, limit):
    m = c > limit
    chosen = z[m]
    m[0] = not m[0]
    z[m] = chosen
    return z


def masked_stretched(z, c, limit):
    m = c > limit
    z[m] = np.broadcast_to(z[m], (5,))
    return z


def masked_plus_many(z, c, limit):
    m = c > limit
    z[m] = z[m] + np.arange(5.0)
    return z


@pytest.mark.rotated(4)
def test_what_a_mask_chooses_is_put_back_where_it_was():
    g = np.random.default_rng(6)
    c = g.normal(size=(7, 9)) + 1j * g.normal(size=(7, 9))
    check(masked_escape, np.zeros((7, 9), complex), c, 6, bound=1e-12)  # NumPy squares with fused operations
    check(masked_escape, np.zeros(63, complex), c.ravel(), 6, bound=1e-12)
    z = g.normal(size=(6, 8))
    for program in (masked_sum_of_masked, masked_by_another, masked_by_one_then_changed, masked_stretched, masked_plus_many):
        for limit in (-10.0, 0.0, np.sort(z.ravel())[-2], 10.0):
            check(program, z + 1, z, limit)
            check(program, z[0] + 1, z[0], limit)
