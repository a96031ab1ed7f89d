"""Functions that choose elements by indices and conditions, as `ingot.library.indexing` has them."""

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
            lambda a: np.take(a,[0,2]),
            lambda a: np.take(a,[0,2],axis=1),
            lambda a: a.take(1,axis=0),
            lambda a: np.take(a,np.array([[0,1],[2,-1]]),0),
            lambda a: np.take(a,3),
            lambda a: np.take(a,[0,9],axis=1,mode='clip'),
            lambda a: np.take(a,[-5,9],mode='wrap'),
            lambda a: np.take(a,[99]),
            lambda a: np.take(a,[0.5]),
            lambda a: np.take(a,[0,1],out=np.zeros(2)),
            lambda a: np.take_along_axis(a,np.argsort(a,axis=1),axis=1),
            lambda a: np.take_along_axis(a,np.array([[0,1,1,0]]),0),
            lambda a: np.take_along_axis(a,np.array([3,1]),axis=None),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_putting(a, mode):
    with_each(
        [
            lambda a: np.put_along_axis(a,np.array([[0],[1],[2]]),9,axis=1),
            lambda a: np.put(a,[0,5],[7,8]),
            lambda a: np.put(a,[0,-1,3],[7,8]),
            lambda a: np.put(a,[99],1),
            lambda a: np.put(a,[99,-99],1,mode='clip'),
            lambda a: a.put([1,2],5),
            lambda a: np.putmask(a,a>4,[1,2,3]),
            lambda a: np.place(a,a>4,[1,2]),
            lambda a: np.place(a,a>4,[]),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_conditions(a, mode):
    with_each(
        [
            lambda a: np.extract(a>3,a),
            lambda a: np.compress([True,False,True],a,axis=0),
            lambda a: a.compress([0,1],axis=1),
            lambda a: np.compress([1,0,1],a),
            lambda a: np.nonzero(a),
            lambda a: a.nonzero(),
            lambda a: np.argwhere(a>2),
            lambda a: np.flatnonzero(a),
            lambda a: np.count_nonzero(a),
            lambda a: np.count_nonzero(a,axis=1),
            lambda a: np.count_nonzero(a,axis=0,keepdims=True),
            lambda a: np.where(a>3),
            lambda a: np.select([a>5,a>2],[a,a*2],7),
            lambda a: np.select([a>5,a>2],[a,1]),
            lambda a: np.select([a>5],[a,1]),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_searching(a, mode):
    with_each(
        [
            lambda a: np.searchsorted(a[0],[2.5,1,9]),
            lambda a: np.searchsorted(a[0],2.5,side='right'),
            lambda a: np.searchsorted(np.sort(a[0]),a,'right'),
            lambda a: np.searchsorted(a,1),
            lambda a: np.digitize(a,[1,4,7]),
            lambda a: np.digitize(a,np.array([7,4.,1]),right=True),
            lambda a: np.digitize(3.5,[1,4,7]),
            lambda a: np.digitize(a,[1,5,3]),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_ufuncs_at_indices(a, mode):
    with_each(
        [
            lambda a: np.add.at(a,[0,0,1],1),
            lambda a: np.add.at(a,([0,0,1],[1,1,2]),[1,2,3]),
            lambda a: np.subtract.at(a,(slice(None),[0,0]),2),
            lambda a: np.maximum.at(a,np.array([1,1]),5),
            lambda a: np.negative.at(a,[0,0]),
            lambda a: np.add.at(a,a>3,1),
            lambda a: np.multiply.at(a,0,2),
            lambda a: np.add.at(a,[0],1.5),
            lambda a: np.add.at(a,[7],1),
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


CUBE = np.arange(120.0).reshape(2, 3, 4, 5)
ON_FIRST, ON_TWO = np.array([True, False]), np.array([[True, False, True], [False, True, False]])
ON_SECOND, ON_LAST = np.array([True, False, True]), np.array([True, False, True, True, False])


def test_indices_of_several_kinds():
    def check_each(read, write, change, *arguments):
        for function in (read, write, change):
            check(function, *arguments, modes=("interpreted",))

    def write(a):
        a[1, None, :, np.array([1,0])] = 7

    def change(a):
        a[1, None, :, np.array([1,0])] += 1

    check_each(lambda a: a[1, None, :, np.array([1,0])], write, change, CUBE)

    def write(a):
        a[np.array([1,0,1]), :, 1] = 7

    def change(a):
        a[np.array([1,0,1]), :, 1] += 1

    check_each(lambda a: a[np.array([1,0,1]), :, 1], write, change, CUBE)

    def write(a):
        a[None, np.array([1,0,1]), 1] = 7

    def change(a):
        a[None, np.array([1,0,1]), 1] += 1

    check_each(lambda a: a[None, np.array([1,0,1]), 1], write, change, CUBE)

    def write(a):
        a[None, np.array([-1])] = 7

    def change(a):
        a[None, np.array([-1])] += 1

    check_each(lambda a: a[None, np.array([-1])], write, change, CUBE)

    def write(a):
        a[..., np.array([1,0]), 1] = 7

    def change(a):
        a[..., np.array([1,0]), 1] += 1

    check_each(lambda a: a[..., np.array([1,0]), 1], write, change, CUBE)

    def write(a):
        a[0, :, [0,1], None] = 7

    def change(a):
        a[0, :, [0,1], None] += 1

    check_each(lambda a: a[0, :, [0,1], None], write, change, CUBE)

    def write(a):
        a[:, np.array([[0,1],[1,0]]), ::-1] = 7

    def change(a):
        a[:, np.array([[0,1],[1,0]]), ::-1] += 1

    check_each(lambda a: a[:, np.array([[0,1],[1,0]]), ::-1], write, change, CUBE)

    def write(a):
        a[[0,1], np.array([1,0,1]), np.int64(1)] = 7

    def change(a):
        a[[0,1], np.array([1,0,1]), np.int64(1)] += 1

    check_each(lambda a: a[[0,1], np.array([1,0,1]), np.int64(1)], write, change, CUBE)

    def write(a):
        a[np.array([1]), ..., np.array([0,1])] = 7

    def change(a):
        a[np.array([1]), ..., np.array([0,1])] += 1

    check_each(lambda a: a[np.array([1]), ..., np.array([0,1])], write, change, CUBE)


def test_masks_beside_other_indices():
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
        a[m, [0,1,1][:1]] = 7

    def change(a, m):
        a[m, [0,1,1][:1]] += 1

    def put(a, m, v):
        a[m, [0,1,1][:1]] = v

    check_each(lambda a, m: a[m, [0,1,1][:1]], write, change, put, CUBE, ON_FIRST)

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
        a[m, [1,0,1]] = 7

    def change(a, m):
        a[m, [1,0,1]] += 1

    def put(a, m, v):
        a[m, [1,0,1]] = v

    check_each(lambda a, m: a[m, [1,0,1]], write, change, put, CUBE, ON_TWO)

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
