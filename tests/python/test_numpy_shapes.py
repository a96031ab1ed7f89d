"""Views of arrays and their shapes, as `ingot.library.shapes` has them."""

import numpy as np
import pytest

import ingot
from support import ARRAYS, check, check_layouts, jitted, layouts, outcome, refused, with_each

CUBE = np.arange(24.0).reshape(2, 3, 4)
CUBES = [(CUBE.transpose(1, 0, 2), "compiled"), (layouts(CUBE)[3], "interpreted"), (CUBE[:, :1], "interpreted")]
LINES = [(np.arange(12)[::2], "compiled"), (np.array(3.0), "interpreted"), (np.zeros(0), "interpreted")]
IDS = range(3)
MATRICES = [
    (np.asfortranarray(np.arange(12.0).reshape(4, 3)), "compiled"),
    (np.zeros((0, 3)), "interpreted"),
    (np.arange(25).reshape(5, 5)[::2, ::-2], "interpreted"),
]


@pytest.mark.parametrize("a, mode", CUBES, ids=IDS)
def test_reshape(a, mode):
    with_each(
        [
            lambda a: a.reshape(-1),
            lambda a: a.reshape(2, -1),
            lambda a: np.reshape(a, (-1, a.shape[2])),
            lambda a: a.reshape((a.shape[0] * a.shape[1], a.shape[2]), order="F"),
            lambda a: a.reshape(-1, 2, order="A"),
            lambda a: (a + 1).reshape(4, -1),
            lambda a: np.reshape(a, [4, -1], copy=True),
            lambda a: a.ravel(),
            lambda a: a.ravel("F"),
            lambda a: a.ravel("A"),
            lambda a: a.flatten(),
            lambda a: a.flatten("F"),
            lambda a: a.reshape(5, -1),
            lambda a: a.reshape(-1, -1),
            lambda a: a.reshape(7),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", LINES, ids=IDS)
def test_reshape_of_lines(a, mode):
    with_each(
        [
            lambda a: a.reshape(-1),
            lambda a: a.reshape(2, -1),
            lambda a: a.reshape(3, 2, order="F"),
            lambda a: np.atleast_1d(a),
            lambda a: np.atleast_2d(a),
            lambda a: np.atleast_3d(a, 1, [2, 3]),
            lambda a: a.ravel(),
            lambda a: np.ravel(a, "K"),
            lambda a: a.squeeze(),
            lambda a: np.squeeze(a, 0),
            lambda a: np.broadcast_arrays(a, a),
            lambda a: np.broadcast_to(a, (2, 6)),
        ],
        a,
        modes=(mode,),
    )


def test_a_reshaped_view_is_written():
    def write(a):
        b = a.reshape(4, -1)
        b[1] = 7
        return b

    for a in [CUBE.transpose(1, 0, 2), *layouts(CUBE)]:
        check(write, a)


def test_shapes_that_are_arguments():
    check(lambda n: np.reshape(np.arange(6), (n, -1)), 3)
    check(lambda n: np.reshape(np.arange(6), (n, 2)), 4)
    check(lambda n: np.reshape(np.arange(6), n), np.int8(6))
    check(lambda n: np.reshape(np.arange(6), n), 6.0)
    check(lambda n: np.reshape(np.arange(6), (2, n)), -1)


@pytest.mark.parametrize("a, mode", CUBES, ids=IDS)
def test_axes(a, mode):
    with_each(
        [
            lambda a: np.squeeze(a[:1], 0),
            lambda a: a.squeeze(),
            lambda a: a.squeeze((1,)),
            lambda a: np.moveaxis(a, 0, -1),
            lambda a: np.moveaxis(a, (0, 1), (-1, 0)),
            lambda a: np.moveaxis(a, [2, 0], [0, 1]),
            lambda a: np.rollaxis(a, 2),
            lambda a: np.rollaxis(a, 0, 3),
            lambda a: np.rollaxis(a, 0, 4),
            lambda a: np.expand_dims(a, (0, -1)),
            lambda a: np.expand_dims(a, 1),
            lambda a: np.expand_dims(a, 5),
            lambda a: a.transpose(2, 0, 1),
            lambda a: a.transpose((2, 0, 1)),
            lambda a: np.permute_dims(a, (2, -2, 0)),
            lambda a: a.mT,
            lambda a: np.matrix_transpose(a),
            lambda a: np.swapaxes(a, 0, -1),
            lambda a: np.swapaxes(a, 0, 5),
            lambda a: np.moveaxis(a, 5, 0),
            lambda a: np.moveaxis(a, (0, 0), (0, 1)),
            lambda a: np.moveaxis(a, (0, 1), (0,)),
            lambda a: np.transpose(a, (0, 1)),
            lambda a: np.transpose(a, (0, 1, 1)),
            lambda a: np.transpose(a, (0, 1, 3)),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", CUBES, ids=IDS)
def test_broadcasting(a, mode):
    with_each(
        [
            lambda a: np.broadcast_to(a, (2,) + a.shape),
            lambda a: np.broadcast_to(a, (3, 4)),
            lambda a: np.broadcast_to(a, (2, 3, -1)),
            lambda a: np.atleast_3d(a),
            lambda a: np.size(a, 0),
            lambda a: np.size(a, (0, 1)),
            lambda a: np.shape(a),
            lambda a: np.broadcast_arrays(a, a[0], 3)[1].sum(),
            lambda a: np.broadcast_shapes(a.shape, (3, 1), 1),
            lambda a: np.broadcast_shapes((2, 1), a.shape, (2,)),
        ],
        a,
        modes=(mode,),
    )


def test_sequences_are_arrays():
    check(lambda: np.reshape([[1, 2], [3, 4]], 4))
    check(lambda: np.ravel([1, 2.5]))
    check(lambda: np.ndim([[1]]))
    check(lambda: np.shape(((1, 2), (3, 4), (5, 6))))
    check(lambda: np.size(3))


@pytest.mark.parametrize("a, mode", MATRICES, ids=IDS)
def test_diagonals(a, mode):
    with_each(
        [
            lambda a: np.diagonal(a),
            lambda a: a.diagonal(1),
            lambda a: a.diagonal(-1),
            lambda a: np.diag(a, 5),
            lambda a: np.trace(a),
            lambda a: a.trace(-1, dtype=np.float32),
            lambda a: np.fill_diagonal(a, 7),
            lambda a: np.fill_diagonal(a, [1, 2], wrap=True),
        ],
        a,
        modes=(mode,),
    )


def test_diagonals_of_more_axes():
    for a in layouts(CUBE * (1 + 2j)):
        check(lambda a: np.diagonal(a, 0, 1, 2), a)
        check(lambda a: np.trace(a, axis1=0, axis2=2), a)
        check(lambda a: np.linalg.diagonal(a, offset=1), a)
        check(lambda a: a.diagonal(0, 1, 1), a)
        check(lambda a: a.diagonal(0, 1, 5), a)
    check(lambda a: np.fill_diagonal(a, 4), np.zeros((3, 3, 3)))
    check(lambda a: np.fill_diagonal(a, 4), np.zeros((3, 3, 2)))
    check(lambda a: np.fill_diagonal(a, 4), np.zeros(3))
    check(lambda: np.diag([1, 2, 3]))
    check(lambda a: np.diag(a, -2), np.arange(3))
    check(lambda a: np.diag(a), CUBE)
    check(lambda a: np.diagflat(a, 1), CUBE[0])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("a", ARRAYS[::3] + ARRAYS[-2:], ids=lambda a: str(a.dtype))
def test_parts_of_numbers(a):
    def write(a):
        a.real[...] = 1
        return a

    with_each(
        [
            lambda a: a.real,
            lambda a: a.imag,
            lambda a: np.real(a),
            lambda a: np.imag(a[::2]),
            lambda a: a.conj(),
            lambda a: a.conjugate(),
            lambda a: (np.real(a[1]), np.imag(a[1])),
            write,
            lambda a: a.nbytes,
            lambda a: a.fill(1),
            lambda a: a.item(1),
            lambda a: a.reshape(5, 1).item((1, 0)),
            lambda a: a.reshape(5, 1).item(7),
            lambda a: a.item(),
            lambda a: a[:1].item(),
        ]
        if a.dtype != np.uint64
        else [write],
        a,
    )


def test_parts_of_pythons_numbers():
    check(lambda x: (np.real(x), np.imag(x)), 3)
    check(lambda x: (np.real(x), np.imag(x)), 3j)
    check(lambda: (np.real([1, 2j]), np.imag((1, 2))))


@pytest.mark.parametrize("a, mode", MATRICES, ids=IDS)
def test_views_of_other_elements(a, mode):
    with_each(
        [
            lambda a: a.view(np.uint64),
            lambda a: a.view(np.int32),
            lambda a: a.view("f4"),
            lambda a: a.view(),
        ],
        a,
        modes=(mode,),
    )


def test_views_of_other_sizes():
    check(lambda a: a.view(np.int32), np.arange(8, dtype="i1"))
    check(lambda a: a.view(np.int32), np.arange(7, dtype="i1"))
    check(lambda a: a[::2].view(np.int32), np.arange(8, dtype="i1"))
    check(lambda a: a.view(np.float64), CUBE * 1j)
    check(lambda a: a.view(np.int8), np.array(3.0))
    refused(lambda a: a.view(np.bool), np.arange(3, dtype="i1"))


@pytest.mark.parametrize("a, mode", MATRICES, ids=IDS)
def test_flat(a, mode):
    def write(a):
        a.flat[1] = 5
        a.flat[2:6] = [8, 9]
        a.flat[[0, 3]] = 1

    check(lambda a: (a.flat[3], a.flat[-1], a.flat[1:5], len(a.flat)), a, modes=(mode,))
    check(lambda a: a.flat[20], a, modes=(mode,))
    check(write, a)

    def iterate(a):
        total = 0.0
        for i, v in enumerate(a.flat):
            total += v
            a.flat[i] = v * 2  # what comes later is read later
            if i > 0:
                a.flat[i - 1] = total
        return total, [v + 1 for v in a.flat], sum(a.flat), max(a.flat)

    check(iterate, a, modes=(mode,))
    check(lambda a: (list(a.flat), np.sum(a.flat), np.max(a.flat), np.array(a.flat), sorted(a.flat)), a, modes=(mode,))

    def nothing(a):
        a.flat = np.zeros(0)
        a.flat[0:2] = np.zeros(0)

    check(nothing, a, modes=(mode,))
    refused(lambda a: a.flat, a)


def test_flat_of_any_rank():
    check(lambda a: [v for v in a.flat], np.array(3.0))
    check(lambda a: [v for v in a.flat], np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1))
    check(lambda a: [(v, w) for v, w in zip(a.flat, range(3))], np.arange(4.0).reshape(2, 2))

    def twice(a):
        iterated = a.flat
        return [v for v in iterated], [v for v in iterated]

    refused(twice, np.arange(4.0), words="for a second time")


def test_as_strided():
    as_strided = np.lib.stride_tricks.as_strided
    x = np.arange(12.0)
    check(lambda x: as_strided(x, (3, 2), (16, 8)), x)
    check(lambda x, n: as_strided(x, (len(x) - n + 1, n), (x.strides[0], x.strides[0])).sum(axis=1), x, 4)
    check(lambda x: as_strided(x[::-1], (3,), (-16,)), x)
    check(lambda x: as_strided(x[6:], strides=(8,)), x)
    check(lambda x: as_strided(x, (5, 2), strides=(0, 8)), x)
    check(lambda x: as_strided(x, (0, 7), (800, 800)), x)
    check(lambda x: as_strided(x, (2,), (8, 8)), x)

    def writes(x):
        as_strided(x, (4,), (24,))[...] = 7.0

    check(writes, x)

    def writes_into_read_only(x):
        as_strided(x, (2,), (8,), writeable=False)[0] = 1.0

    check(writes_into_read_only, x)
    for reach in (lambda x: as_strided(x, (13,), (8,)), lambda x: as_strided(x, (2,), (-8,)), lambda x: as_strided(x[:0], (1,), (8,))):
        error = outcome(jitted(reach), (x,))[1]
        assert type(error) is ValueError and "reaches memory outside of the array" in str(error)


def test_lists_of_known_length():
    check(lambda a: a.tolist(), np.array([[5.0]]))
    check(lambda a: a.tolist(), np.array(5))
    check(lambda: (np.ones((2, 3)) * 2).tolist())


@pytest.mark.parametrize("a, mode", MATRICES, ids=IDS)
def test_copyto(a, mode):
    with_each(
        [
            lambda a: np.copyto(a, 3),
            lambda a: np.copyto(a, 3, where=a > 4),
            lambda a: np.copyto(a, a[0] * 1.5, where=a > 4),
            lambda a: np.copyto(a, [1, 2]),
            lambda a: np.copyto(a, np.float32(2.5), casting="unsafe"),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize("a, mode", MATRICES, ids=IDS)
def test_sliding_windows(a, mode):
    with_each(
        [
            lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2)),
            lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, axis=0),
            lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2), axis=(0, -1), writeable=True),
            lambda a: np.lib.stride_tricks.sliding_window_view(a, 2),
            lambda a: np.lib.stride_tricks.sliding_window_view(a, (2,), axis=(0, 1)),
            lambda a: np.lib.stride_tricks.sliding_window_view(a, (9, 1)),
        ],
        a,
        modes=(mode,),
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.zeros((1,) * 17),
        lambda x: np.empty_like(x, shape=(1,) * 17),
        lambda x: x[(None,) * 17],
        lambda x: np.expand_dims(x, tuple(range(17))),
        lambda x: np.broadcast_to(x, (1,) * 17),
        lambda x: np.reshape(x, (1,) * 17),
        lambda x: np.array([[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]),
    ],
)
def test_arrays_of_too_many_axes_are_refused(make):
    refused(make, np.ones(1), words="more than 16 axes")


@pytest.mark.parametrize("shape", [(2**62, 1), (2**31, 2**31), (2**63 - 1,), (2**62, 0, 2)])
def test_broadcasts_that_are_too_big(shape):
    one, wide = np.zeros(1, np.int8), np.zeros(1)
    check(lambda x: np.broadcast_to(x, shape).shape, one)
    check(lambda x: np.broadcast_to(x, shape).shape, wide)


def test_strides_of_repeated_axes():
    def several(x, n):
        rows = []
        for _ in range(n):
            rows.append(np.broadcast_to(x, (2, len(x))))
        return [row.strides for row in rows]

    check(several, np.zeros(1), 2)
    check(several, np.zeros(3), 2)


def test_counts_of_repeats():
    line = np.arange(3.0)
    for repeats in (2.0, np.float64(2), np.float32(2.5), True, [2.0], [1, 0, 2], (2, 1.5, 0), -1, [-1], np.array(2), np.array([2])):
        check(lambda a, n: np.repeat(a, n), line, repeats)
    for repeats in (np.array([True, False, True]), np.array([1, 0, 3], np.uint8), np.array([2.0]), np.array([1, -1, 1]), float("nan")):
        check(lambda a, n: np.repeat(a, n), line, repeats)
    for shape, axis in (((0,), None), ((0, 3), 1), ((3, 0), 0), ((3, 0), 1)):
        check(lambda a, n: np.repeat(a, n, axis=axis), np.zeros(shape), -1)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "complex64"])
def test_copyto_casts_numbers_by_a_rule(dtype):
    x = np.zeros(3, dtype)
    for casting, values in (("same_kind", (2.5, 2, True, -1, 2j, np.float32(1), np.array(2.5))), ("equiv", (2, 2.5)), ("unsafe", (2j,)), ("odd", (1,))):
        for value in values:
            check(lambda x, value: np.copyto(x, value, casting), x, value, modes=("compiled",))
    check(lambda x: (np.copyto(x, 2), np.copyto(x, [True, False, True])), x)


def test_copyto_where():
    x = np.zeros((2, 3))
    check(lambda x, y, m: np.copyto(x, y, where=m), x, np.arange(3.0), np.array([True, False, True]))
    check(lambda x: (np.copyto(x, 1, where=[1, 0, 1]), np.copyto(x, 2, where=False), np.copyto(x, 3, where=[[True], [False]])), x)
    check(lambda x, m: np.copyto(x, 1, where=m), x, np.array([1, 0, 1]))
    check(lambda x, m: np.copyto(x, 1, where=m), x, np.array([True, False]))


def test_axes_of_numbers():
    """Of arrays of no axis: what has an axis 0, and -1, all the same."""
    x = np.array(2.5)
    check(lambda x: (np.nanmean(x, 0), np.nanvar(x, -1), np.nanstd(x, 0), np.nansum(x, -1), np.max(x, 0), np.any(x, -1)), x)
    check(lambda x: (np.repeat(x, 2, 0), np.repeat(x, [3], -1), np.take(x, [0, 0], 0), np.compress([True], x, -1)), x)
    check(lambda x: (np.squeeze(x[()], ()), np.squeeze(x, 0), np.packbits(x > 0, 0), np.unpackbits(x.astype(np.uint8), -1)), x)
    for function in (
        lambda x: np.mean(x, 0),
        lambda x: np.nanmean(x, 1),
        lambda x: np.repeat(x, 2, 1),
        lambda x: np.nanmean(x.astype(np.int64), 0),
        lambda x: np.average(x, 0),
        lambda x: np.unwrap(x, axis=0),
        lambda x: np.roll(x, 1, ()),
        lambda x: np.add.accumulate(x, 0),
    ):
        check(function, x)


def test_bools_are_axes_of_some_functions_only():
    x = np.arange(6.0).reshape(2, 3)
    check(lambda x: (np.moveaxis(x, True, 0), np.median(x, True), np.sort(x, True), np.diff(x, axis=True), np.linalg.norm(x, axis=False)), x)
    for function in (
        lambda x, a: x.sum(a),
        lambda x, a: x.max(axis=(a,)),
        lambda x, a: np.mean(x, a),
        lambda x, a: np.std(x, a),
        lambda x, a: np.nanvar(x, a),
        lambda x, a: np.add.reduce(x, a),
        lambda x, a: np.add.accumulate(x, a),
        lambda x, a: np.cumsum(x, a),
        lambda x, a: np.argmax(x, a),
        lambda x, a: np.argsort(x, a),
        lambda x, a: np.argpartition(x, 0, a),
        lambda x, a: np.take(x, 0, a),
        lambda x, a: np.repeat(x, 2, a),
        lambda x, a: np.squeeze(x, a),
        lambda x, a: np.unwrap(x, axis=a),
    ):
        check(function, x, True, modes=("compiled",))
    check(lambda x: x.sum(axis=np.True_), x)


@pytest.mark.rotated(4)
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_results_have_numpys_layouts(shape):
    """In C order, or in Fortran's where NumPy asks for that of its operands alone."""
    x = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    for given in (x, np.asfortranarray(x)):
        check_layouts(
            [
                lambda x: (np.take(x, [0, 1], 1), np.take(x, 0, 1), np.compress([True, False, True], x, 1), np.repeat(x, [1, 2, 1], 1)),
                lambda x: (np.insert(x, 0, 5, 1), np.insert(x, [0, 1], 5, 0), np.pad(x, 1), np.pad(x, 1, "edge"), np.block([[x], [x]])),
                lambda x: np.choose(x.astype(int) % 2, [x, -x]),
            ],
            given,
        )


def test_elements_that_a_view_repeats_are_changed_in_order():
    as_strided = np.lib.stride_tricks.as_strided

    def one(x):
        s = as_strided(x, (64,), (0,))
        for i in range(64):
            s[i] += 1.0
        return x

    def two(x):
        s = as_strided(x, (16, 16), (0, 0))
        for i in range(16):
            for j in range(16):
                s[i, j] += 1.0
        return x

    def half(x):
        s = as_strided(x, (60,), (4,))
        for i in range(60):
            s[i] = 0.5 * i
        return x

    for each in (one, two, half):
        check(each, np.zeros(40))


def test_rows_that_repeat_elements_are_not_shared():
    def windows(x):
        v = np.lib.stride_tricks.sliding_window_view(x, 5, writeable=True)
        for i in ingot.prange(len(v)):
            v[i] = i
        return x

    def new_rows(n):
        y = np.empty((n, 10))
        for i in ingot.prange(n):
            y[i] = i
        return y

    refused(windows, np.zeros(40), words="may depend on each other")
    check(new_rows, 7)
