"""Sorting, indices of extremes, and sets, as `ingot.library.sorting` has them."""

import numpy as np
import pytest
from support import DTYPES, check, difference, jitted, with_each

A = np.array([[3, 1.5, np.nan, -2], [0, -0.0, 7, 1], [2, 2, 3, np.inf]])
INTEGERS = (np.arange(12, dtype="i2") * 7 % 5).reshape(3, 4)[::-1]
GRIDS = [(A, "compiled"), (INTEGERS, "interpreted"), (np.asfortranarray(A * (1 + 1j)), "compiled")]
IDS = ["float", "integer", "complex"]


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_sorting(a, mode):
    with_each(
        [
            lambda a: np.sort(a),
            lambda a: np.sort(a,axis=0),
            lambda a: np.sort(a,None),
            lambda a: np.sort(a,kind='stable'),
            lambda a: np.sort(a,axis=2),
            lambda a: a.sort(),
            lambda a: a.sort(0),
            lambda a: np.argsort(a,kind='stable'),
            lambda a: np.argsort(a,axis=None,stable=True),
            lambda a: a.argsort(0,kind='stable'),
            lambda a: np.lexsort((a[0],a[1])),
            lambda a: np.lexsort((a,a[::-1])),
            lambda a: np.lexsort((a,a),axis=0),
            lambda a: np.partition(a,2)[:,2],
            lambda a: np.partition(a,9),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_places_of_extremes(a, mode):
    with_each(
        [
            lambda a: np.argmax(a),
            lambda a: np.argmax(a,axis=0),
            lambda a: a.argmin(1),
            lambda a: np.argmin(a,axis=1,keepdims=True),
            lambda a: a.argmax(keepdims=True),
            lambda a: np.argmax(a,axis=0,out=np.zeros(4,int)),
            lambda a: np.argmax(a[:0]),
            lambda a: np.argmax(a[:,:0],axis=1),
            lambda a: np.argmax(a[:,:0],axis=0),
            lambda a: np.argmax(a,3),
            lambda a: np.nanargmax(a),
            lambda a: np.nanargmin(a,axis=1),
            lambda a: np.nanargmax(a[:, 2:3] * np.nan, axis=1),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_unique(a, mode):
    with_each(
        [
            lambda a: np.unique(a),
            lambda a: np.unique(a,return_index=True),
            lambda a: np.unique(a,return_inverse=True),
            lambda a: np.unique(a,return_counts=True),
            lambda a: np.unique(a,True,True,True),
            lambda a: np.unique(a,axis=0),
            lambda a: np.unique(a,axis=1,return_inverse=True,return_index=True,return_counts=True),
            lambda a: np.unique(a,equal_nan=False),
            lambda a: np.unique(a[:0]),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_sets(a, mode):
    with_each(
        [
            lambda a: np.intersect1d(a,[1,2,3]),
            lambda a: np.intersect1d(a[0],a[1],return_indices=True),
            lambda a: np.intersect1d(np.array([1,2]),np.array([2,3]),assume_unique=True,return_indices=True),
            lambda a: np.union1d(a,[9,1]),
            lambda a: np.setdiff1d(a,[1,2]),
            lambda a: np.setxor1d(a,[1,2,100]),
            lambda a: np.isin(a,[1,2,np.nan]),
            lambda a: np.isin(a,[]),
            lambda a: np.isin(a,[3],invert=True),
            lambda a: np.isin(2,a),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("int64", "float64", "complex128")])
def test_dtypes(dtype):
    with_each(
        [
            lambda a: (np.sort(a), np.argsort(a, stable=True), np.argmax(a), a.argmin()),
            lambda a: np.unique(a, return_counts=True),
            lambda a: (np.isin(a, [1, 3]), np.searchsorted(np.sort(a), a)),
            lambda a: a.sort(),
        ],
        np.array([3, 1, 0, 1, 2, 0, 3]).astype(dtype),
    )


def test_partition_puts_one_element_at_its_index():
    check(lambda a: np.partition(a, 3)[3], INTEGERS.ravel())
    check(lambda a: a[np.argpartition(a, 3)][3], INTEGERS.ravel())
    check(lambda a: np.sort(np.partition(a, (1, 4))[:4]), INTEGERS.ravel())
    check(lambda a: np.argpartition(a, 30), INTEGERS.ravel())


def parts(a, k):
    """What a partition fixes: its element at k, and which ones are on either side."""
    moved = np.partition(a, k)
    order = np.argpartition(a, k)
    return [(np.sort(m[:k]), m[k], np.sort(m[k:])) for m in (moved, a[order])], np.sort(order)


LINES = {
    "random": lambda n: np.random.default_rng(1).random(n) * 200 - 100,
    "with NaN": lambda n: np.where(np.arange(n) % 3 == 0, np.nan, np.cos(np.arange(n))),
    "all NaN": lambda n: np.full(n, np.nan),
    "two numbers": lambda n: np.where(np.random.default_rng(1).random(n) < 0.3, np.inf, -0.0),
    "rising": lambda n: np.arange(n) * 1.0,
    "falling": lambda n: -np.arange(n) * 1.0,
    "tiled": lambda n: np.tile(np.arange(100.0), n // 100 + 1)[:n],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LINES)
def test_partition_of_long_lines(name):
    a = LINES[name](40_000)
    compiled = jitted(parts)
    for k in (0, 3, 12_000, 28_000, 39_998):
        assert difference(compiled(a, k), parts(a, k)) is None
    check(parts, a[:2500], 900, modes=("interpreted",))


@pytest.mark.parametrize("dtype", ("bool", "int8", "uint64", "float16", "complex64"))
@pytest.mark.sampled(4)
def test_partition_of_dtypes(dtype):
    a = (np.random.default_rng(1).random(2500) * 300).astype(dtype)
    check(parts, a, 1200, modes=("compiled",))
    check(lambda a: np.partition(a[::-2], (3, 5, -1))[[3, 5, -1]], np.tile(a, 2))
    grid = np.tile(a, (3, 1))
    grid[1] = a[::-1]
    for g, axis in ((grid, 1), (grid.T, 0), (grid, None)):
        check(lambda g, axis: np.take(np.partition(g, 7, axis), 7, axis), g, axis)


@pytest.mark.rotated(3)
def test_partition_in_place_and_its_places():
    a = np.random.default_rng(1).random(3000)

    def in_place(a):
        a.partition((17, 40))
        return a[17], a[40], np.sort(a)

    assert np.array_equal(jitted(in_place)(a.copy())[2], np.sort(a))
    assert jitted(in_place)(a.copy())[:2] == in_place(a.copy())[:2]
    for kth in (3000, -3001, (1, 3000), (), np.zeros(0, int), np.array([1, -1]), np.int8(3), 1.0, np.uint64(3)):
        check(lambda a, kth: np.partition(a, kth)[[1, -1]] * 0, a, kth, modes=("compiled",))
    check(lambda a: np.partition(a, 0), a[0])


def test_integers_in_tables():
    with_each(
        [
            lambda a: np.isin(a, [3, 5]),
            lambda a: np.isin(a, [3, 5], invert=True),
            lambda a: np.isin(a, [True]),
            lambda a: np.isin(a, [-(2**62), 2**62, 1]),
            lambda a: np.isin(a, [2**63 - 1, -(2**63)]),
            lambda a: np.isin(a, a[:0]),
            lambda a: np.isin(a[0], [2, 1]),
        ],
        np.array([1, 5, -(2**63), 2**63 - 1, 2]),
    )
    check(lambda a, b: np.isin(a, b), np.arange(3, dtype="u8"), np.array([1, 2]))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex128"])
def test_unique_as_the_standard_has_it(dtype):
    a = np.array([[3, 0, 3], [1, 0, 1]]).astype(dtype)
    for x in (a, a.T, a[:, ::-1], a[:0]):
        check(lambda x: np.unique_all(x), x)
        check(lambda x: np.unique_counts(x).counts, x)
        check(lambda x: np.unique_inverse(x), x)
        check(lambda x: np.sort(np.unique_values(x)), x)


def test_unique_keeps_each_nan():
    x = np.array([np.nan, 1.0, np.nan])
    check(lambda x: (np.unique_counts(x), np.sort(np.unique_values(x))), x)


def test_places_of_any_integer_type():
    check(lambda x, k: np.partition(x, k), np.array([3.0, 1.0, 2.0]), np.uint64(2**64 - 1))
    check(lambda x, k: np.partition(x, k), np.array([3.0, 1.0, 2.0]), np.int8(-1))
    check(lambda x, k: np.partition(x, k), np.array([3.0, 1.0, 2.0]), np.uint8(3))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_extremes_next_to_nan_of_nothing(shape, axis):
    check(lambda x: np.nanargmax(x, axis=axis), np.zeros(shape))
    check(lambda x: np.nanargmin(x, axis=axis), np.zeros(shape))


def test_places_of_partitions():
    for kth in (True, np.True_, np.array([True, False])):
        for function in (lambda x, k: np.partition(x, k), lambda x, k: np.argpartition(x, k)):
            check(function, np.arange(5.0), kth)
    for kth in (0, 1):
        check(lambda x, k: np.argpartition(x, k), np.array(3.0), kth)
        check(lambda x, k: np.argpartition(x, k, axis=1), np.array(3.0), kth)
        check(lambda x, k: np.partition(x, k), np.array(3.0), kth)


def test_places_among_numbers_out_of_order():
    x = np.array([-np.inf, -1, 0, 0.5, 1, 1.5, 2, 3, np.inf, np.nan])
    for numbers in ([0, np.nan, 1], [2, np.nan, 1, 0], [np.nan], [0, 1, np.nan], [3, 1, 2, 0], [], [1, 1]):
        check(lambda b, x: (np.searchsorted(b, x), np.searchsorted(b, x, "right"), b.searchsorted(np.nan)), np.array(numbers, float), x)
    check(lambda b, x: np.searchsorted(b, x, sorter=[1, 2, 5]), np.array([3.0, 1, 2]), x)


@pytest.mark.rotated(3)
def test_bins_with_nan():
    x = np.array([-np.inf, -1, 0, 0.5, 1, 1.5, 2, 3, np.inf, np.nan])
    for bins in ([0, 1, np.nan], [np.nan, 0, 1], [0, np.nan, 1], [2, 1, np.nan], [np.nan, np.nan], [2, np.nan, 1], [], [1, 1], [1, 1, 0], [0, 1, 0]):
        check(lambda x, b: (np.digitize(x, b), np.digitize(x, b, right=True), np.digitize(0.5, b)), x, np.array(bins, float))
    check(lambda x, b: np.digitize(x, b), x, np.array([1j, 2]))
    check(lambda x, b: np.digitize(x, b), x, np.ones((2, 2)))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0,), (0, 0), (2, 0, 3), (2, 3)])
@pytest.mark.sampled(3)
def test_unique_of_any_shape_along_any_axis(shape):
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2.0
    for axis in range(-1, len(shape)):
        check(lambda x, axis: np.unique(x, True, True, True, axis), x, axis, modes=("compiled",))
    check(lambda x: (np.unique(x, axis=0), np.unique(x), np.unique(x, return_counts=True)), x)
    check(lambda x: np.unique(x, axis=3), x)


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex128"])
def test_unique_of_nan(dtype):
    x = np.array([np.nan, 1, np.nan, -0.0, -0.0, 1, np.inf, np.nan]).astype(dtype)  # of -0.0 and 0.0, which is first depends on the CPU
    if dtype == "complex128":
        x.imag[1:5] = [np.nan, 2, 0, -0.0]
    check(lambda x: (np.unique(x), np.unique(x, True, True, True), np.unique(x, axis=0)), x)
    check(lambda x: (np.unique(x, True, equal_nan=False), np.unique(x, return_inverse=True, axis=-1), np.unique(x[:0])), x)
    check(lambda x: np.unique(np.stack((x, x)), axis=0), x)
