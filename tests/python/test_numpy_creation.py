"""New arrays, as `ingot.library.creation` has them."""

import ingot
import numpy as np
import pytest
from support import MODES, check, jitted, refused, with_each

A = np.arange(12.0).reshape(3, 4)
BACKWARDS = np.arange(12, dtype="i2").reshape(3, 4)[::-1]
GRIDS = [(BACKWARDS, "interpreted"), (np.asfortranarray(A), "compiled")]
IDS = ["backwards", "fortran"]


def test_linspace():
    with_each(
        [
            lambda: np.linspace(0,1),
            lambda: np.linspace(0,10,5),
            lambda: np.linspace(0,10,5,endpoint=False),
            lambda: np.linspace(1,2,3,retstep=True),
            lambda: np.linspace(0,10,4,dtype=int),
            lambda: np.linspace([0,1],[2,3],3),
            lambda: np.linspace([0,1],[2,3],3,axis=1),
            lambda: np.linspace(5,5,3),
            lambda: np.linspace(0,1,1),
            lambda: np.linspace(0,1,0),
            lambda: np.linspace(0,1,-1),
            lambda: np.linspace(1j,2,3),
            lambda: np.linspace(np.float32(0),np.float32(1),3),
            lambda: np.linspace(0,10,4,dtype='f4'),
            lambda: np.linspace(2,1,1,endpoint=False,retstep=True),
        ],
    )


def test_matrices():
    with_each(
        [
            lambda: np.eye(3),
            lambda: np.eye(2,3,1),
            lambda: np.eye(3,k=-1,dtype=int),
            lambda: np.eye(3,order='F'),
            lambda: np.identity(2),
            lambda: np.tri(3),
            lambda: np.tri(2,4,1,dtype=int),
            lambda: np.vander([1,2,3]),
            lambda: np.vander([1.5,2],4,increasing=True),
        ],
    )


def test_filled():
    with_each(
        [
            lambda: np.full((2,2),3),
            lambda: np.full(3,[1,2,3]),
            lambda: np.full((2,3),2.5,order='F'),
            lambda: np.zeros((2,3),order='F'),
            lambda: np.ones(3,dtype='i1'),
            lambda: np.full(2,7,dtype=np.float32),
            lambda: np.zeros((2,3),int,'F'),
            lambda: np.empty((2,2),order='F').shape,
        ],
    )


def test_arrays_of_sequences():
    with_each(
        [
            lambda: np.array([1,2],dtype=float),
            lambda: np.array([300],dtype=np.int8),
            lambda: np.array([1.7],dtype=int),
            lambda: np.array(3,dtype='f4'),
            lambda: np.array([[1,2],[3,4]],ndmin=3),
            lambda: np.array(5,ndmin=2),
            lambda: np.asarray([1,2],dtype=np.float32),
            lambda: np.asarray(2.5,int),
            lambda: np.array([True,2]),
            lambda: np.array([1,2j],dtype='c8'),
            lambda: np.array(((1,2),(3,4.5))),
            lambda: np.arange(3),
            lambda: np.arange(1,7,2,dtype=float),
        ],
    )


def test_grids():
    with_each(
        [
            lambda: np.fromfunction(lambda i,j: i+j,(3,3)),
            lambda: np.fromfunction(lambda i,j: i*j,(2,3),dtype=int),
            lambda: np.indices((2,3)),
            lambda: np.indices((2,3),dtype=float,sparse=True),
            lambda: np.meshgrid([1,2,3],[4,5]),
            lambda: np.meshgrid([1,2,3],[4,5],indexing='ij'),
            lambda: np.meshgrid([1,2],[3,4,5],[6,7],sparse=True),
            lambda: np.meshgrid([1,2],indexing='no'),
            lambda: np.ix_([0,2],[1,3]),
            lambda: np.ix_([True,False,True],[1,3]),
            lambda: np.ix_([[1]]),
            lambda: np.tril_indices(3),
            lambda: np.triu_indices(3,1),
            lambda: np.tril_indices(3,-1,4),
            lambda: np.diag_indices(3),
            lambda: np.diag_indices(2,3),
        ],
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_arrays_of_arrays(a, mode):
    with_each(
        [
            lambda a: np.array(a),
            lambda a: np.asarray(a),
            lambda a: np.asarray(a,dtype=float),
            lambda a: np.array(a,copy=False),
            lambda a: np.array(a,dtype='f4',copy=False),
            lambda a: np.array(a,copy=None),
            lambda a: np.array(a,order='F'),
            lambda a: np.asarray(a,order='C'),
            lambda a: np.asarray(a,order='F'),
            lambda a: np.asanyarray(a),
            lambda a: np.ascontiguousarray(a),
            lambda a: np.asfortranarray(a),
            lambda a: np.ascontiguousarray(a,dtype='f4'),
            lambda a: np.array(a,ndmin=3),
            lambda a: np.array([a[0],a[1]]),
            lambda a: np.array([a,a],dtype='f4'),
            lambda a: np.array([[a[0],a[1]],[a[2],a[0]]]),
            lambda a: np.array([a[0],a[:,0]]),
            lambda a: np.array([a[0,0],a[1,1],3]),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_likes(a, mode):
    with_each(
        [
            lambda a: np.zeros_like(a),
            lambda a: np.ones_like(a,dtype=int),
            lambda a: np.full_like(a,7),
            lambda a: np.full_like(a,7.5,dtype=float,order='F'),
            lambda a: np.zeros_like(a,shape=(2,2)),
            lambda a: np.empty_like(a,order='C').shape,
            lambda a: np.full_like(a,3,shape=5),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_triangles(a, mode):
    with_each(
        [
            lambda a: np.tril(a),
            lambda a: np.triu(a,1),
            lambda a: np.tril(a,-1),
            lambda a: np.triu(a[0]),
            lambda a: np.tril_indices_from(a),
            lambda a: np.triu_indices_from(a,k=1),
            lambda a: a[np.tril_indices(3)],
            lambda a: np.diag_indices_from(a),
            lambda a: a[np.ix_([0,2],[1,3])],
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_linspace_of_arrays(a, mode):
    with_each(
        [
            lambda a: np.linspace(a,a+1,3).shape,
            lambda a: np.linspace(a[0],2*a[1],4),
        ],
        a,
        modes=(mode,),
    )


def test_powers():
    check(lambda: np.logspace(0, 2, 3), bound=1e-14)
    check(lambda: np.logspace(0, 2, 3, base=2, dtype=int), bound=1e-14)
    check(lambda a: np.logspace(a[0], 2, 3), BACKWARDS, bound=1e-14)
    check(lambda: np.geomspace(1, 1000, 4), bound=1e-14)
    check(lambda: np.geomspace(-2, -1000.0, 5, endpoint=False), bound=1e-14)
    check(lambda: np.geomspace(0, 1, 4))


def test_sizes_that_are_arguments():
    check(lambda: np.zeros_like([1, 2]))
    check(lambda: np.full_like(3, 2.5))
    check(lambda n: np.eye(n), 3)
    check(lambda n: np.linspace(0, 1, n), 1)
    check(lambda n: np.linspace(0, 1, n), 4)


def test_grids_of_slices():
    with_each(
        [
            lambda: np.mgrid[0:3, 0:4],
            lambda: np.mgrid[0:5],
            lambda: np.mgrid[0:1:5j],
            lambda: np.mgrid[0:1:5j, 0:3],
            lambda: np.mgrid[-1:2:0.5, 1:3],
            lambda: np.ogrid[0:3, 0:4],
            lambda: np.ogrid[0:1:3j, 0:2],
            lambda: np.mgrid[:3, :2],
            lambda: np.ogrid[:4],
            lambda: np.mgrid[3:0],
            lambda: np.mgrid[3:0, 0:2],
        ]
    )
    check(lambda n: np.mgrid[0:n, 0:n], 4)


def test_keywords_of_arange():
    with_each(
        [
            lambda: np.arange(2, stop=7),
            lambda: np.arange(2, 9, step=3),
            lambda: np.arange(7, step=2, dtype=np.float32),
            lambda: np.arange(5, None, 2),
            lambda: np.arange(3, device="cpu"),
            lambda: np.arange(3, device="gpu"),
        ],
    )


def test_devices():
    with_each([lambda: np.zeros(3, device="cpu"), lambda: np.full(2, 1.5, device="gpu"), lambda: np.eye(2, device="gpu")])
    with_each([lambda: np.linspace(0, 1, 3, device="gpu"), lambda: np.fft.fftfreq(3, device="gpu")])
    check(lambda a: (np.zeros_like(a, device="cpu"), np.ones_like(a, device="gpu")), A)


@pytest.mark.parametrize("a, mode", GRIDS, ids=IDS)
def test_copies(a, mode):
    with_each(
        [
            lambda a: [c.strides for c in (np.copy(a), np.copy(a, "C"), np.copy(a, order="F"), a.copy(), a.copy("F"), a.copy("K"))],
            lambda a: (np.copy(a, order="F"), a.copy("K"), a.copy(order="X")),
            lambda a: (np.astype(a, np.float32), np.astype(a, a.dtype, copy=False), np.astype(a, np.complex64, device="cpu")),
            lambda a: np.astype(a, a.dtype),
            lambda a: np.astype([1, 2], np.int8),
            lambda a: np.astype(a, np.int8, device="gpu"),
        ],
        a,
        modes=(mode,),
    )


def kept(x, n):
    return np.array([v for v in x if v > n]), np.array([i for i in range(3) if 0]), np.array([i for i in range(3) if i]), np.array([1.5 for v in x if v < -9])


def test_an_array_of_what_no_condition_keeps_is_of_float64():
    check(kept, np.arange(4), 1)
    check(kept, np.arange(4.0), 7)
    for mode in MODES:
        with pytest.raises(ingot.TypeChangeError):
            jitted(kept, mode)(np.arange(4), 7)


SPACED = ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", SPACED)
def test_dtypes_of_evenly_spaced_numbers(dtype):
    one = np.dtype(dtype).type(1)
    bound = 1e-2 if dtype == "float16" else 1e-6
    check(lambda x: (np.linspace(0, x, 3), np.linspace(x, 2, 3), np.linspace(x, 2.5, 3), np.linspace(x, x, 3, True, True)), one)
    check(lambda x: (np.linspace(x, 2, 1, True, True)[0], np.linspace(x, 2, 0), np.linspace(0, np.array([x, x]), 4)), one)
    check(lambda x: (np.linspace(0, 5, 1, retstep=True), np.linspace(x, 7, 3, dtype=np.int32), np.linspace(0, 5, 3, False)), one)
    check(lambda x: (np.logspace(0, x, 3), np.logspace(x, 2, 3, base=2), np.logspace(0, 1, 3, base=[2.0, 3.0])), one, bound=bound)
    check(lambda x: (np.geomspace(x, 4, 3), np.geomspace(1, x, 2), np.geomspace([x, x], [2, 4], 3, axis=1)), one, bound=bound)


def test_grids_of_no_axes():
    check(lambda: (np.indices(()), np.indices((), float), np.indices((), sparse=True), np.mgrid[()], np.indices((2, 0))))
    check(lambda: np.indices((2, 3), bool))
    check(lambda: np.indices((2, 2), bool))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint64", "float16", "float32", "float64"])
def test_dtypes_of_counted_numbers(dtype):
    n = np.dtype(dtype).type(1 if dtype == "bool" else 3)
    check(lambda n: (np.arange(n), np.arange(0, n), np.arange(n, 5), np.arange(0, 4, n), np.arange(n, 4.5), np.arange(n, dtype=np.float32)), n)
    check(lambda n: np.arange(n, n, n), n)
    check(lambda: (np.arange(0, 2, 0.3, dtype), np.arange(2, dtype=dtype), np.arange(0.5, 1.6, 0.5)[:1].astype(dtype)))
    check(lambda: np.arange(0, 5, 0.7, dtype))


def test_counted_numbers_are_steps_from_the_first_to_the_second():
    check(lambda: (np.arange(300, dtype=np.uint8), np.arange(2**24, 2**24 + 4, dtype=np.float32), np.arange(0, -5, -0.7, np.float16)))
    check(lambda: (np.arange(2**62, 2**63, 2**61), np.arange(np.uint64(2**63), np.uint64(2**63 + 3)), np.arange(np.uint8(5), np.uint8(2))))
    for function in (
        lambda: np.arange(255, 300, dtype=np.uint8),
        lambda: np.arange(1, np.nan),
        lambda: np.arange(0, 1e20),
        lambda: np.arange(0, 1.0, 0.0),
        lambda: np.arange(np.True_, np.False_),
    ):
        check(function)


def test_numbers_of_another_class_are_cast_when_they_fill():
    check(lambda x: (np.full(2, 3j, np.float32), np.full((), 2.7, np.int8), np.full_like(x, 3j), np.full_like(x, 2.5, np.uint8)), np.zeros(2))
    check(lambda: np.full(2, 300, np.uint8))


def test_the_class_of_arrays_makes_new_ones():
    def made(n):
        a = np.ndarray((n, 3), dtype=np.float32)
        b = np.ndarray(n)
        c = np.ndarray([n, 2], np.int8, order="F")
        for x in (a, b, c):
            x[:] = 1
        return a, b, c, isinstance(a, np.ndarray), type(b) is np.ndarray

    check(made, 4)
    check(lambda n: np.ndarray((n,)), -1)
    refused(lambda x: np.ndarray((2,), x.dtype, x), np.ones(4), words="np.frombuffer")
