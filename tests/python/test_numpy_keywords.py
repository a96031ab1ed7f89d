"""The keywords of NumPy's functions for how they compute and cast, and for the layout of results."""

import numpy as np
import pytest
from support import ARRAYS, GRID, LINE, check, refused

SQUARE = np.arange(1, 10).reshape(3, 3)
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
LAYOUTS = {
    "c": GRID,
    "fortran": GRID.T.copy().T,
    "gaps": np.arange(24.0).reshape(3, 8)[:, ::2],
    "scalar": np.float64(3.0),
    "row": np.arange(4.0),
    "one": np.ones((1, 4)).T,
    "empty": np.ones((0, 4)),
}


def laid(x):
    """What can be seen of an array's layout."""
    if not isinstance(x, np.ndarray):
        return x, ()
    return x, tuple([x.strides[k] if x.shape[k] > 1 and x.size > 0 else 0 for k in range(x.ndim)])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("casting", CASTINGS)
def test_casting(casting):
    def into(x, y):
        return np.add(x, x, out=y, casting=casting)

    def at(x):
        return np.multiply(x, x, dtype=np.float32, casting=casting)

    def into_at(x, y):
        return np.add(x, 1, y, dtype=np.int16, casting=casting)

    for x in ARRAYS[::2]:
        check(at, x)
        for y in ARRAYS[::3]:
            check(into, x, y)
            check(into_at, x, y)


def test_wrong_keywords():
    check(lambda x: np.add(x, 1, casting="same"), LINE)
    check(lambda x: np.add(x, 1, casting=3), LINE)
    check(lambda x: np.add(x, 1, casting=None), LINE)
    check(lambda x: np.add(x, 1, order="Q"), LINE)
    check(lambda x: np.add(x, 1, order=1), LINE)
    check(lambda x: np.add(x, 1, subok=1), LINE)
    check(lambda x: np.add(x, 1, signature="dd->d", dtype=float), LINE)
    check(lambda x: np.add(x, 1, signature="dd->d", sig="dd->d"), LINE)
    check(lambda x: np.add(x, 1, signature="ddd"), LINE)
    check(lambda x: np.add(x, 1, signature="xx->x"), LINE)
    check(lambda x: np.add(x, 1, signature=(float, float)), LINE)
    check(lambda x: np.add(x, 1, signature=3), LINE)
    check(lambda x: np.add(x, 1, signature="d?->d"), LINE)
    check(lambda x: np.sin(x, signature="i->i"), LINE)
    check(lambda x: np.add(x, 1, axis=0), LINE)
    check(lambda x: np.add(x, 1, keepdims=True), LINE)
    check(lambda x: np.matmul(x, x, where=True), GRID)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("order", ["C", "F", "A", "K", "f", None])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_orders(order, layout):
    x = LAYOUTS[layout]

    def alone(x):
        return laid(np.negative(x, order=order))

    def both(x, y):
        return laid(np.subtract(x, y, order=order)), laid(np.hypot(y, x, order=order, dtype=np.float32))

    def several(x):
        a, b = np.divmod(x, 2, order=order)
        return laid(a), laid(b)

    check(alone, x)
    check(both, x, x, bound=1e-6)
    check(both, x, np.float32(2), bound=1e-6)
    check(several, x)


def test_signatures():
    for x in ARRAYS[:-2]:
        check(lambda x: np.add(x, x, signature="ff->f", casting="unsafe"), x)
        check(lambda x: np.add(x, 1, sig="ll->l"), x)
        check(lambda x: np.add(x, 1, sig=(None, None, np.float64)), x)
        check(lambda x: np.add(x, x, sig=(np.float32, None, None)), x)
        check(lambda x: np.equal(x, x, sig="dd->?"), x)
        check(lambda x: np.sqrt(x, signature="d->d"), x)
        check(lambda x: np.sqrt(x, signature="d"), x)
        check(lambda x: np.left_shift(x, 2, signature="ii->i"), x)
        check(lambda x: np.ldexp(x, 2, signature="fi->f"), x)
        check(lambda x: np.frexp(x, signature="f->fi", casting="unsafe"), x)


def test_dtypes_of_comparisons_and_logic():
    for x in ARRAYS:
        check(lambda x: np.greater(x, 1, dtype=bool), x)
        check(lambda x: np.logical_and(x, x, dtype=bool), x)
        check(lambda x: np.equal(x, x, dtype=np.float64), x)
        check(lambda x: np.true_divide(x, 2, dtype=np.float64), x)
        check(lambda x: np.true_divide(x, 2, dtype=np.int64), x)
        check(lambda x: np.logical_not(x, dtype=bool, order="F"), x)


@pytest.mark.rotated(4)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["divmod", "modf", "frexp"])
def test_functions_with_two_results(name):
    function = getattr(np, name)
    two = function.nin == 2

    def call(x, **keywords):
        return function(x, 2, **keywords) if two else function(x, **keywords)

    def by_name(x, a, b):
        return call(x, out=(a, b))

    def one(x, b):
        return call(x, out=(None, b))

    def by_place(x, a, b):
        return function(x, 2, a, b) if two else function(x, a, b)

    def first_by_place(x, a):
        return function(x, 2, a) if two else function(x, a)

    def masked(x, a, b, m):
        return call(x, out=(a, b), where=m)

    def wrong(x, a):
        return call(x, out=a)

    def short(x, a):
        return call(x, out=(a,))

    def no_array(x):
        return call(x, out=(1, None))

    for dtype in (np.float64, np.float32, np.int32):
        x = SQUARE.astype(dtype)
        for other in (np.float64, np.float32, np.int32, np.complex128):
            a, b = np.zeros((3, 3), other), np.zeros((3, 3), np.float64)
            for way in (by_name, by_place):
                check(way, x, a, b)
            check(masked, x, a, b, SQUARE % 2 == 0)
        check(one, x, np.zeros((2, 3, 3)))
        check(first_by_place, x, np.zeros((3, 3)))
        check(first_by_place, x, np.zeros((3, 2)))
        check(wrong, x, np.zeros((3, 3)))
        check(short, x, np.zeros((3, 3)))
        check(no_array, x)
        check(lambda x: call(x, casting="no"), x)
        check(lambda x: call(x, dtype=np.float32), x)


def test_products():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12).reshape(3, 4).astype(np.int32)
    check(lambda a, b: np.matmul(a, b, dtype=np.float32, casting="unsafe"), a, b)
    check(lambda a, b: np.matmul(a, b, dtype=np.float32, casting="safe"), a, b)
    check(lambda a, b: laid(np.matmul(a, b, order="F")), a, b)
    check(lambda a, b: np.matmul(a, b.T, axes=[(0, 1), (-1, -2), (1, 0)]), a, b)
    check(lambda a, b: np.matmul(a, b, axes=[(0, 1)]), a, b)
    check(lambda a, b: np.matmul(a, b, axis=0), a, b)
    check(lambda a, b: np.matmul(a, b, keepdims=False), a, b)
    check(lambda a: np.vecdot(a, a, axis=0), a)
    check(lambda a: np.vecdot(a, a, axis=0, keepdims=True), a)
    check(lambda a: np.vecdot(a, a, axes=[0, 0, ()]), a)
    check(lambda a, c: np.vecdot(a, a, out=c), a, np.zeros(2))
    check(lambda a, c: np.matvec(a, a[0], out=c, dtype=np.float64), a, np.zeros(2))
    check(lambda a, c: np.vecmat(a[:, 0], a, c, casting="no"), a, np.zeros(3))
    check(lambda a: np.vecmat(a[:, 0], a, signature="dd->d"), a)


def test_outer_takes_keywords():
    x = np.arange(3)
    check(lambda x: laid(np.add.outer(x, x, order="F")), x)
    check(lambda x: np.add.outer(x, x, dtype=np.float32, casting="unsafe"), x)
    check(lambda x: np.divmod.outer(x, x + 1, dtype=np.float64), x)
    check(lambda x, y: np.add.outer(x, x, y, casting="unsafe"), x, np.zeros((3, 3), np.int8))
    check(lambda x: np.add.outer(x), x)
    check(lambda x: np.negative.outer(x, x), x)
    check(lambda x: np.matmul.outer(x, x), x)
    check(lambda x, y: np.add.outer(x, x, out=y, where=y > 0), x, np.ones((3, 3)))


def test_masks_that_are_lists():
    check(lambda x, y: np.add(x, 1, out=y, where=[True, False, True], casting="unsafe"), np.arange(3.0), np.ones(3))
    check(lambda x, y: np.add(x, 1, out=y, where=[1, 0, 1], casting="unsafe"), np.arange(3.0), np.ones(3))
    check(lambda x, y: np.add(x, 1, out=y, where=[True, False], casting="unsafe"), np.arange(3.0), np.ones(3))
    for where in ([True, False, True], [1, 0, 1], (1, 0, 1), [0.0, 2.0, 3.0]):
        check(lambda x, y, where: np.add(x, 1, out=y, where=where), np.arange(3.0), np.ones(3), where)


def test_keywords_of_arguments():
    check(lambda x, axis: np.vecdot(x, x, axis=axis), np.arange(6.0).reshape(2, 3), 0)
    check(lambda x, order: laid(np.add(x, 1, order=order)), np.ones((2, 3)), "F")
    refused(lambda n: np.add([1], 1, dtype=f"f{n}"), 8, words="a dtype that is not known when compiling")
    refused(lambda x, n: np.add(x, 1, casting=f"saf{n}"), np.ones(2), 1, words="a keyword that is not known when compiling")
    refused(lambda n: np.zeros(3, f"f{n}"), 8, words="a dtype that is not known when compiling")


def test_outputs_by_place_are_arrays():
    x = np.ones((3, 3))
    for given in ((x.copy(),), [x.copy()], [1.0, 2.0, 3.0]):
        check(lambda x, given: np.add(x, x, given), x, given)
        check(lambda x, given: np.matmul(x, x, given), x, given)


def test_sequences_are_arrays():
    for a, b in (((1, 2), [3.0, 4.0]), ([1, 2], (3, 4)), ((), ()), ([[1, 2], [3, 4]], ((1, 2), (3, 4)))):
        check(lambda a, b: (np.add(a, b), np.maximum(a, b, dtype=np.float32), np.divmod(a, b)), a, b)
        check(lambda a, b: (np.matmul(a, b), np.dot(a, b)), a, b)
    check(lambda x: np.add(x, (1, 2, 3)), np.ones((2, 3)))


@pytest.mark.parametrize("dtype", [None, np.int64, np.float32])
def test_columns_do_not_change_the_order(dtype):
    x, column = np.arange(12).reshape(3, 4).T, np.ones((4, 1), np.int32)
    check(lambda x, column: laid(np.add(x, column, dtype=dtype)), x, column)
    check(lambda x, column: laid(x + (column + 1) + column * 2), x, column)
    check(lambda x, column: laid(x + column[:, :0] if x.size == 0 else (column - 1) - x), x, column)


def test_numbers_that_a_dtype_has_not():
    check(lambda x: laid(np.less(x, 300, order="F")), np.ones((2, 3), np.uint8))
    check(lambda x: np.add(x, 300, order="F"), np.ones((2, 3), np.uint8))
    for number in (-1, 300, 70000, True, 2.0):
        check(lambda x, n: (np.ldexp(x, n), np.ldexp(x, n, order="F"), np.ldexp(x, 3)), number, np.ones((3, 1), np.int32))
        check(lambda x, n: np.ldexp(x, n), number, np.int8(2))
