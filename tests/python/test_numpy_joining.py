"""Arrays joined, repeated and split, as `ingot.library.joining` has them."""

import numpy as np
import pytest
from support import check, with_each

A = np.arange(12.0).reshape(3, 4)
BACKWARDS = np.arange(12, dtype="i2").reshape(3, 4)[::-1]
GRIDS = [(BACKWARDS, "interpreted"), (np.asfortranarray(A), "compiled")]
IDS = ["backwards", "fortran"]
PAIRS = [(A, BACKWARDS, "compiled"), (A[:0], A, "interpreted")]
CUBE = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("a, b, mode", PAIRS, ids=IDS)
def test_joining(a, b, mode):
    with_each(
        [
            lambda a, b: np.concatenate((a,b)),
            lambda a, b: np.concatenate([a,b],axis=1),
            lambda a, b: np.concatenate((a,b),axis=None),
            lambda a, b: np.concatenate((a,b),-3),
            lambda a, b: np.concatenate((a,b),dtype=np.float32),
            lambda a, b: np.concatenate((a,b),dtype='i4'),
            lambda a, b: np.concatenate((a,b),dtype='i4',casting='unsafe'),
            lambda a, b: np.concatenate((a,b),out=np.zeros((6,4))),
            lambda a, b: np.stack((a,b)),
            lambda a, b: np.stack([a,b],axis=-1),
            lambda a, b: np.stack((a,b),1),
            lambda a, b: np.vstack((a,b)),
            lambda a, b: np.hstack((a,b)),
            lambda a, b: np.dstack((a,b)),
            lambda a, b: np.column_stack((a,b)),
            lambda a, b: np.block([[a,b],[b,a]]),
            lambda a, b: np.block([a,1]),
            lambda a, b: np.concatenate((a,b[0])),
            lambda a, b: np.concatenate((a,b[:,1:])),
            lambda a, b: np.stack((a,b[1:])),
            lambda a, b: np.append(a,b),
            lambda a, b: np.append(a,b,axis=0),
            lambda a, b: np.append(a,b[0],0),
            lambda a, b: np.vstack((a,b[0])),
            lambda a, b: np.hstack((a[0],b[1])),
            lambda a, b: np.column_stack((a[:,0],b)),
            lambda a, b: np.concatenate(()),
            lambda a, b: np.concatenate((a[0,0],b)),
        ],
        a, b,
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_splitting(a, mode):
    with_each(
        [
            lambda a: np.split(a,3),
            lambda a: np.split(a,2),
            lambda a: np.array_split(a,2),
            lambda a: np.split(a,[1,2],axis=1),
            lambda a: np.hsplit(a,2),
            lambda a: np.vsplit(a,[1]),
            lambda a: np.dsplit(a,2),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_repeating(a, mode):
    with_each(
        [
            lambda a: np.tile(a,2),
            lambda a: np.tile(a,(2,1,3)),
            lambda a: np.tile(a,(2,)),
            lambda a: np.repeat(a,2),
            lambda a: np.repeat(a,2,axis=1),
            lambda a: np.repeat(a,[1,2,0],0),
            lambda a: np.repeat(a,[1,2],0),
            lambda a: np.repeat(a,-1),
            lambda a: a.repeat(np.array([2]),1),
            lambda a: np.resize(a,(2,3)),
            lambda a: np.resize(a,17),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_turning(a, mode):
    with_each(
        [
            lambda a: np.roll(a,2),
            lambda a: np.roll(a,-1,axis=0),
            lambda a: np.roll(a,(1,-2),axis=(0,1)),
            lambda a: np.roll(a,(1,2),axis=1),
            lambda a: np.roll(a,5,axis=3),
            lambda a: np.flip(a),
            lambda a: np.flip(a,1),
            lambda a: np.flip(a,(0,1)),
            lambda a: np.fliplr(a),
            lambda a: np.flipud(a),
            lambda a: np.rot90(a),
            lambda a: np.rot90(a,2),
            lambda a: np.rot90(a,-1),
            lambda a: np.rot90(a,k=4,axes=(1,0)),
            lambda a: np.rot90(a,1,(1,1)),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_deleting(a, mode):
    with_each(
        [
            lambda a: np.delete(a,1),
            lambda a: np.delete(a,1,0),
            lambda a: np.delete(a,-1,1),
            lambda a: np.delete(a,[0,2],0),
            lambda a: np.delete(a,slice(None,None,2),1),
            lambda a: np.delete(a,9,1),
            lambda a: np.delete(a,[True,False,True],0),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.rotated(3)
def test_inserting_at_one_place_and_several():
    x = np.arange(5.0)
    grid = np.arange(6).reshape(2, 3)
    check(lambda x: (np.insert(x, [2], [98, 99]), np.insert(x, slice(1, 2), [7, 8]), np.insert(x, [-1], []), np.insert(x, [], 3)), x)
    check(lambda x, k, v: (np.insert(x, k, v), np.insert(x, k[0], v), np.insert(x, k, 2.5)), x, np.array([1]), np.array([7, 8, 9]))
    check(lambda x, k, v: np.insert(x, k, v), x, np.array([3, -5]), np.array([7, 8]))
    check(lambda x: (np.insert(x, 1, [[7], [8]], 0), np.insert(x, [1], [[7], [8]], 0), np.insert(x, [1], [7, 8, 9], 1)), grid)
    check(lambda x: (np.insert(x, 1, 7, -1), np.insert(x, [0, 2], [7, 8], None)), grid)
    check(lambda x: np.insert(x, [1], [[7, 8]]), x)
    check(lambda x: np.insert(x, [1.0], [7]), x)
    check(lambda x: np.insert(x, [0, 1.5], 7), x)
    check(lambda x: np.insert(x, True, 7), x)
    check(lambda x: np.insert(x, [True, False, True, False, True], 7), x)
    check(lambda x: np.insert(x, [6], 7), x)
    check(lambda x: np.insert(x, -6, 7), x)
    check(lambda x: np.insert(x, [0, 9], 7), x)
    check(lambda x: np.insert(x, 1, 300), x.astype(np.uint8))
    check(lambda x: np.insert(x, 1, 2j), x)


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_inserting(a, mode):
    with_each(
        [
            lambda a: np.insert(a,1,7),
            lambda a: np.insert(a,1,7,axis=0),
            lambda a: np.insert(a,1,[1,2,3],axis=1),
            lambda a: np.insert(a,-1,[1,2,3,4],axis=0),
            lambda a: np.insert(a,[0,2],[5,6],axis=None),
            lambda a: np.insert(a,[1,1,3],7,axis=0),
            lambda a: np.insert(a,9,1,0),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_padding(a, mode):
    with_each(
        [
            lambda a: np.pad(a,1),
            lambda a: np.pad(a,((1,2),(0,3))),
            lambda a: np.pad(a,(2,1),constant_values=5),
            lambda a: np.pad(a,2,constant_values=((1,2),(3,4))),
            lambda a: np.pad(a,1,'empty').shape,
            lambda a: np.pad(a,3,mode='edge'),
            lambda a: np.pad(a,5,mode='wrap'),
            lambda a: np.pad(a,5,mode='reflect'),
            lambda a: np.pad(a,5,mode='symmetric'),
            lambda a: np.pad(a,2,mode='maximum'),
            lambda a: np.pad(a,(1,2),mode='minimum',stat_length=2),
            lambda a: np.pad(a,-1),
            lambda a: np.pad(a,1,mode='odd'),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_trimming(a, mode):
    with_each(
        [
            lambda a: np.trim_zeros(a),
            lambda a: np.trim_zeros(a[0],'f'),
            lambda a: np.trim_zeros(a,axis=1),
        ],
        a,
        modes=(mode,),
    )


def test_an_array_of_arrays():
    with_each(
        [
            lambda a: np.concatenate(a),
            lambda a: np.concatenate(a,1),
            lambda a: np.vstack(a),
            lambda a: np.hstack(a),
            lambda a: np.stack(a,2),
            lambda a: np.dsplit(a,2),
            lambda a: np.rot90(a,1,(1,2)),
            lambda a: np.tile(a,2),
            lambda a: np.roll(a,1,1),
            lambda a: np.pad(a,1,'edge'),
            lambda a: np.trim_zeros(a),
        ],
        CUBE,
    )
    with_each(
        [
            lambda a: np.concatenate(a),
            lambda a: np.vstack(a),
            lambda a: np.hstack(a),
            lambda a: np.stack(a, 1),
        ],
        BACKWARDS,
    )
    check(lambda: np.unstack(np.ones((2, 3)), axis=1))


def test_sequences_and_numbers():
    check(lambda: np.concatenate(([1, 2], [3.5])))
    check(lambda: np.tile([1, 2], 3))
    check(lambda: np.tile(5, (2, 2)))
    check(lambda: np.repeat(3, 4))
    check(lambda: np.hstack((1, 2, [3, 4])))
    check(lambda: np.block([[1, 2], [3, 4]]))
    check(lambda n: np.append([1, 2, 3], n), 7)


def test_counts_that_are_arguments():
    check(lambda n: np.repeat(np.arange(3), n), 2)
    check(lambda n: np.roll(np.arange(5), n), 7)
    check(lambda a: np.roll(a, 1), np.zeros(0))
    check(lambda a, n: np.array_split(a, n), np.arange(7), 3)
    check(lambda a, n: np.rot90(a, n), A, 3)
    check(lambda a: np.trim_zeros(a), np.array([0, 0, 1, 2, 0]))


def test_splitting_numbers_lists_and_at_places_of_an_array():
    x = np.arange(12.0).reshape(4, 3)
    check(lambda x, k: (np.split(x, k), np.array_split(x, k, 1), np.split(x, np.array([1, -1])), np.hsplit(x, k)), x, np.array([1, 2]))
    check(lambda x: (np.array_split([1, 2, 3], 2), np.split([1, 2, 3], [1]), np.split(x, np.array(2)), np.split(x, True)), x)
    for function in (
        lambda x: np.split(x[0, 0], 1),
        lambda x: np.split(np.array(1.5), 1),
        lambda x: np.array_split(np.array(1.5), 2),
        lambda x: np.array_split(1.5, 2),
        lambda x: np.split(1.5, [1]),
        lambda x: np.split([1, 2], 2),
        lambda x: np.split(x, 2, 2),
        lambda x: np.array_split(x, 2, -3),
    ):
        check(function, x)


def test_records_next_to_numbers():
    x = np.zeros(2, [("a", int), ("b", float)])
    check(lambda x: np.concatenate((x, 1.5)), x)
    check(lambda x: np.concatenate((x, [1.5, 2])), x)
    check(lambda x: np.stack((x, 1.5)), x)
    check(lambda x: np.append(x, 1.5), x)
