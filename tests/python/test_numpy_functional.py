"""Functions of NumPy that take functions, its iterators over indices, r_ and c_, and what is seldom used."""

import numpy as np
import pytest

import ingot
from support import ARRAYS, DTYPES, GRID, LINE, MODES, check, difference, jitted, layouts, refused

CUBE = np.arange(24.0).reshape(2, 3, 4)


def test_indices_are_iterated():
    def pairs(a):
        found = []
        for i, j in np.ndindex(a.shape):
            found.append(i * 10 + j)
        return found, [k for k in np.ndindex(2)], [k for k in np.ndindex()], sum([a[k] for k in np.ndindex(*a.shape)], np.float64(0))

    def elements(a):
        total = np.float64(0)
        for place, value in np.ndenumerate(a):
            total += value * sum(place)
        return total

    for a in [*layouts(GRID), np.zeros((0, 3)), np.ones((1, 1))]:
        check(pairs, a)
        check(elements, a)
    check(elements, CUBE)
    check(elements, LINE.astype(np.int8))


@pytest.mark.rotated(3)
def test_functions_along_axes():
    def lines(a):
        return (
            np.apply_along_axis(np.sum, 0, a),
            np.apply_along_axis(lambda x: x[::-1] * 2, -1, a),
            np.apply_along_axis(lambda x, k: x.max() - k, 1, a, 0.5),
            np.apply_along_axis(np.diag, 1, a),
            np.apply_along_axis(np.sort, axis=0, arr=a),
        )

    for a in [*layouts(GRID), CUBE, GRID.astype(np.int32), np.zeros((0, 3)), np.ones((1, 1))]:
        check(lines, a)
    check(lambda a: np.apply_along_axis(np.cumsum, 0, a), LINE)
    check(lambda a: (np.apply_over_axes(np.sum, a, (0, 2)), np.apply_over_axes(np.max, a, -1)), CUBE)


def test_pieces():
    def pieces(x):
        return (
            np.piecewise(x, [x < 1, x > 3], [-1, 1]),
            np.piecewise(x, [x < 1, x > 3], [lambda v: -v, lambda v: v * v, 7]),
            np.piecewise(x, [x > 2], [lambda v, a: v * a], 2),
        )

    for x in (LINE, LINE.astype(np.int16), GRID, np.zeros(0)):
        check(pieces, x)
    check(lambda x: np.piecewise(x, x > 2, [lambda v: v + 1, 0]), LINE)
    check(lambda x: np.piecewise(x, [x < 1], [1, 2, 3]), LINE)
    refused(lambda x: np.piecewise(x, x > 2, [1, 2]), GRID, words="an array of conditions")


def test_vectorized_functions():
    def step(x, limit):
        if x > limit:
            return x - limit
        return x * 0

    def both(x):
        return x + 1, x * 0.5

    def applied(a):
        f = np.vectorize(step)
        g = np.vectorize(both)
        return f(a, 2), f(a, a[::-1]), g(a), np.vectorize(step, otypes=[float])(a, 1)

    for a in (LINE, np.arange(6), np.arange(6, dtype=np.int8)[::-1]):
        check(applied, a)
    check(lambda a: np.vectorize(step)(a, 1), np.zeros(0))
    check(lambda a: np.vectorize(step, otypes=[np.float32])(a, np.array([[1], [2]])), LINE)
    refused(lambda a: np.vectorize(step, signature="(n)->()")(a, 2), LINE, words="signature")


def test_arrays_of_iterators():
    check(lambda n: np.fromiter((i * i for i in range(n)), np.float32), 5)
    check(lambda n: np.fromiter((i * i for i in range(n)), int, n), 0)
    check(lambda n: np.fromiter(range(n), int, 9), 5)
    check(lambda x: np.fromiter(x, np.int64, count=2), np.arange(4))


def test_brackets_join():
    def rows(a):
        return np.r_[a, 1.5, a[::-1]], np.r_[0:5, 7, 1:3], np.r_[-1:1:5j, 2.0], np.r_[a[None], a[None] + 1], np.r_["-1", a[None], a[None]]

    def columns(a):
        return np.c_[a, a * 2], np.c_[a[:, None], a], np.c_[0:6, a], np.r_["0,2", a, a], np.r_["1,2,0", a, a], np.c_[a.astype(np.int8), a]

    for a in (LINE, LINE.astype(np.float32), np.arange(6, dtype=np.int16)):
        check(rows, a)
        check(columns, a)
    check(lambda a: np.r_[np.ones(2, np.float32), 1, 2.5], LINE)
    check(lambda a: (a[np.s_[1:3]], a[np.ix_([0, 2], [1, 3])], a[np.index_exp[1:]], a[np.s_[:, ::2]]), GRID)
    refused(lambda a: np.r_["r", a], LINE, words="matrices")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("x", ARRAYS, ids=DTYPES)
def test_bits(x):
    check(lambda a: np.packbits(a), x)
    check(lambda a: np.packbits(a, bitorder="little"), np.tile(x, 4))
    if x.dtype == np.uint8:
        check(lambda a: (np.unpackbits(a), np.unpackbits(a, count=11), np.unpackbits(a, count=-3, bitorder="little")), x)
        check(lambda a: (np.packbits(a, axis=0), np.unpackbits(a, axis=0), np.unpackbits(a, axis=1, count=40)), np.tile(x, (9, 2)))


def test_seldom_used():
    for a in layouts(GRID):
        check(lambda a: (np.isfortran(a), np.array_equiv(a, a[:1]), np.array_equiv(a, a[0, 0]), np.array_equiv(a, a[:2, :3])), a)
    check(lambda a: np.array_equiv(a, a), np.zeros(0))
    check(lambda a: np.asarray_chkfinite(a), LINE)
    check(lambda a: np.asarray_chkfinite(a), np.array([1.0, np.inf]))
    check(lambda n: (np.mask_indices(n, np.triu), np.mask_indices(n, np.tril, -1)), 4)
    for x in ARRAYS:
        check(lambda a: np.sort_complex(a), x)
    check(lambda a: np.zeros(2, np.common_type(a, a.astype(np.float32))), LINE)


def test_polynomials():
    for p in (LINE[1:], np.array([2, 1, -3]), np.array([1.0 + 1j, 2.0])):
        check(lambda p: (np.polyint(p), np.polyint(p, 2), np.polyint(p, 2, [1, 2]), np.polydiv(p, p[:2])), p, bound=1e-14)
        check(lambda p: np.poly(p), p, bound=1e-14)
    check(lambda p: np.roots(p), np.array([1.0, 0.0, 1.0, 0.0]), bound=1e-12)
    check(lambda p: np.roots(p), np.array([1, 2 + 1j, -3, 0]), bound=1e-12)
    with pytest.raises(ingot.TypeChangeError, match="real make floats"):
        jitted(lambda p: np.roots(p))(np.array([1.0, -3.0, 2.0]))


def test_eigenvalues_of_general_matrices():
    turned = np.array([[0.0, -1.0, 0.3], [1.0, 0.0, 0.1], [0.2, 0.5, 2.0]])
    for a in (turned, turned.astype(np.float32), turned + 1j, np.stack([turned, 2 * turned]), (4 * turned).astype(int)):
        check(lambda a: np.linalg.eigvals(a), a, bound=1e-5 if a.dtype == np.float32 else 1e-12)

        def largest(a):
            values, vectors = np.linalg.eig(a)
            found = np.linalg.eig(a)
            return np.abs(values).max(), np.abs(a @ vectors - vectors * values[..., None, :]).max() < 1e-5, found.eigenvalues.dtype, vectors.dtype

        check(largest, a, bound=1e-5 if a.dtype == np.float32 else 1e-12)
    for a in (turned[:2], turned[0], np.array([[np.nan, 1.0], [1.0, 1.0]])):
        check(lambda a: np.linalg.eigvals(a), a)
    for mode in MODES:
        with pytest.raises(ingot.TypeChangeError, match="real make floats"):
            jitted(lambda a: np.linalg.eig(a), mode)(np.diag([1.0, 2.0]))
    shaped = np.eye(24).reshape(4, 6, 8, 3) + 0.1
    check(lambda a: np.linalg.tensorinv(a), shaped, bound=1e-10)
    check(lambda a: np.linalg.tensorsolve(np.eye(24).reshape(6, 4, 2, 3, 4) + 0.1, a), np.ones((6, 4)), bound=1e-10)


@pytest.mark.rotated(4)
def test_quantiles_without_nan_and_with_weights():
    holes = np.array([[1.0, np.nan, 2.0, 5.0], [4.0, 0.5, np.nan, 1.0], [np.nan] * 4])
    for x in (holes, holes.astype(np.float32), GRID.astype(int)):
        check(lambda x: (np.nanquantile(x, 0.4), np.nanpercentile(x, [10, 60], axis=1), np.nanquantile(x, 0.5, axis=0, keepdims=True)), x, bound=1e-6)
        check(lambda x: np.nanquantile(x, 0.3, axis=(0, 1), method="lower"), x)
    weights = np.array([1.0, 0.0, 2.0, 0.5])
    for x in (GRID, GRID[:, ::-1].astype(int), GRID.astype(np.float32)):
        for q in (0.0, 0.3, 1.0):
            check(lambda x, w, q: np.quantile(x, q, axis=1, weights=w, method="inverted_cdf"), x, weights, q)
        check(lambda x, w: np.percentile(x, [0, 25, 60], axis=1, weights=w, method="inverted_cdf", keepdims=True), x, weights)
        check(lambda x: np.quantile(x, 0.7, weights=x + 1, method="inverted_cdf"), x)
    check(lambda x, w: np.quantile(x, 0.5, axis=1, weights=w), GRID, weights)
    check(lambda x, w: np.quantile(x, 0.5, weights=w, method="inverted_cdf"), GRID, weights)


def test_histograms_of_many_axes():
    g = np.random.default_rng(1)
    x, y, z = g.normal(size=(3, 50))

    def three(x, y, z):
        return np.histogramdd((x, y, z), (3, 4, np.array([-1.0, 0.0, 2.0])))

    check(three, x, y, z)
    check(lambda a: np.histogramdd(a, (3, 4, 2), density=True), np.stack([x, y, z], 1), bound=1e-14)
    check(lambda a, b: np.histogramdd([a, b], 4, ((-1, 1), (0, 2)), weights=a), x, y, bound=1e-12)


def test_results_of_two_types_have_the_common_one():
    """NumPy takes the type of the first one; see difference 4."""
    for mode in MODES:
        mixed = jitted(lambda x: np.vectorize(lambda v: 1 if v < 2 else 2.5)(x), mode)
        assert difference(mixed(np.arange(3.0)), np.array([1.0, 1.0, 2.5])) is None
        lines = jitted(lambda x: np.apply_along_axis(lambda r: 1.5 if r[0] > 1 else 1, 1, x), mode)
        assert difference(lines(np.arange(4).reshape(2, 2)), np.array([1.0, 1.5])) is None


@pytest.mark.rotated(3)
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


@pytest.mark.rotated(4)
def test_functions_of_the_library_at_their_edges():
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
