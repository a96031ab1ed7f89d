"""Order statistics, histograms, correlations; products of arrays."""

import numpy as np
import pytest
from support import MODES, check, with_each

QUICK = ("interpreted",)
GENERATOR = np.random.default_rng(0)
GRID = GENERATOR.normal(size=(3, 5))
HOLES = np.where(np.arange(15).reshape(3, 5) == 7, np.nan, GRID)
INPUTS = {
    "float64": GRID,
    "nan": HOLES,
    "int64": GENERATOR.integers(0, 9, (4, 6)),
    "float32": GRID.astype(np.float32),
    "odd": GRID[0],
    "even": GRID[0, :4],
    "reversed": GRID[::-1, ::-1],
}
METHODS = (
    "inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull "
    "median_unbiased normal_unbiased lower higher midpoint nearest"
).split()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", INPUTS)
def test_medians_and_quantiles(name):
    x = INPUTS[name]
    bound = 1e-6 if name == "float32" else 1e-12
    modes = MODES if name in ("float64", "nan") else QUICK
    check(lambda x: (np.median(x), np.median(x, axis=0), np.median(x, axis=-1, keepdims=True)), x, bound=bound, modes=modes)
    check(lambda x: (np.nanmedian(x), np.nanmedian(x, axis=-1)), x, bound=bound, modes=modes)
    check(lambda x: (np.percentile(x, 30), np.quantile(x, 0.7, axis=0), np.percentile(x, [30, 50])), x, bound=bound, modes=modes)
    check(lambda x: np.quantile(x, [0.1, 0.2], axis=0, keepdims=True), x, bound=bound, modes=QUICK)
    for method in METHODS:
        check(lambda x: np.quantile(x, [0.0, 0.1, 0.25, 0.5, 0.7, 1.0], method=method), x, bound=1e-5, modes=QUICK)


def test_quantiles_that_raise():
    check(lambda x: np.quantile(x, 1.5), GRID)
    check(lambda x: np.percentile(x, -1), GRID)


def test_counts():
    x = INPUTS["int64"][0]
    check(lambda x: (np.bincount(x), np.bincount(x, minlength=20), np.bincount(x, weights=x * 0.5), np.bincount(x[:0])), x)
    check(lambda x: np.bincount(x - 5), x)


def test_histograms():
    check(lambda x: np.histogram(x), GRID)
    check(lambda x: np.histogram(x, 5, (0, 1)), GRID)
    check(lambda x: np.histogram(x, [-1, 0, 0.5, 2.0]), GRID)
    check(lambda x: np.histogram(x, 5, density=True), GRID, bound=1e-13)
    check(lambda x: np.histogram(x, 5, weights=x), GRID, bound=1e-13)
    check(lambda x: np.histogram(x), INPUTS["int64"])
    check(lambda x: np.histogram(x, 0), GRID)
    check(lambda x: np.histogram_bin_edges(x, 7), GRID)
    check(lambda x: np.histogram2d(x[0], x[1]), GRID, bound=1e-13)
    check(lambda x: np.histogram2d(x[0], x[1], [3, 4], [[0, 1], [-1, 1]], density=True), GRID, bound=1e-13)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ("float64", "float32", "float16", "int64", "int32", "uint8", "bool", "complex128", "complex64"))
def test_weights_of_even_bins_are_added_up_as_numpy_does(dtype):
    g = np.random.default_rng(8)
    x = g.normal(size=140_003)
    weights = (g.normal(size=x.size) * 3).astype(dtype) if dtype[0] != "c" else (x + 1j * x[::-1]).astype(dtype)
    x[7::1000] = np.linspace(-1, 1, len(x[7::1000]))
    check(lambda x, w: np.histogram(x, 10, (-1, 1), weights=w), x, weights)
    check(lambda x, w: np.histogram(x, 3, weights=w), x[:65_536], weights[:65_536])
    check(lambda x, w: np.histogram(x, 3, weights=w), x[:0], weights[:0])
    check(lambda x, w: np.histogram(x, 3, weights=w[1:]), x[:9], weights[:9])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ("float64", "float32", "float16", "int64", "uint8"))
def test_edges_of_even_bins_are_numpys(dtype):
    x = (np.random.default_rng(9).random(400) * 40).astype(dtype)
    for bins, limits in ((10, (-1, 1)), (7, (0.1, 30.7)), (33, (0, 40)), (3, None)):
        check(lambda x, b, r: np.histogram(x, b, r), x, bins, limits)
        check(lambda x, b, r: np.histogram_bin_edges(x, b, r), x, bins, limits)
        check(lambda x, b, r: np.histogram(x, b, r, weights=x), x, bins, limits)


def test_too_many_bins_are_refused():
    for x in ([1.0, 1 + 2**-52, 1 + 2**-51], [0, 5e-324, 1e-323]):
        for weights in (None, np.ones(3)):
            with np.errstate(all="ignore"):
                check(lambda x, w: np.histogram(x, 10, weights=w), np.array(x), weights)
    check(lambda x: np.histogram(x, 5000), np.linspace(0, 1, 30).astype(np.float16))
    for edges in (np.ones(0), np.ones(1)):
        check(lambda x, e: np.histogram(x, e), np.ones(3), edges)


def test_correlations():
    check(lambda x: (np.cov(x), np.corrcoef(x), np.cov(x, ddof=0)), GRID, bound=1e-12)
    check(lambda x: (np.cov(x[0]), np.cov(x[0], x[1]), np.cov(x, rowvar=False), np.corrcoef(x[0], x[1])), GRID, bound=1e-12)


LEFT, RIGHT, STACK, LINE = (GENERATOR.normal(size=s) for s in ((3, 4), (4, 5), (2, 3, 4), (4,)))


def test_products():
    check(lambda a, v: (np.outer(a, v), np.inner(a, v), np.inner(a, a), np.inner(v, v), np.vdot(v, v)), LEFT, LINE, bound=1e-12)
    check(lambda a, v: (np.vecdot(a, v), np.matvec(a, v)), LEFT, LINE, bound=1e-12)
    check(lambda a, v: np.vecmat(v, a), RIGHT, LINE, bound=1e-12)
    check(lambda c, b: (np.tensordot(c, b, 1), np.tensordot(b, b, 0)), STACK, RIGHT, bound=1e-12)
    check(lambda c, a: np.tensordot(c, a, ([1, 2], [0, 1])), STACK, LEFT, bound=1e-12)
    check(lambda a, b: (np.kron(a, b), np.kron(a[0], b), np.kron(a, b[0, 0])), LEFT, RIGHT)
    check(lambda a, b: np.inner(a, b[1:]), LEFT, LINE)


def test_product_in_place():
    def multiplied(a, b):
        a @= b
        return a

    check(multiplied, LEFT.copy(), GENERATOR.normal(size=(4, 4)), bound=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("subscripts", ["ij,jk", "ij,jk->ik", "ij,jk->ki", "ij,jk->", "ij,jk->j"])
def test_sums_of_products_of_two(subscripts):
    check(lambda a, b: np.einsum(subscripts, a, b), LEFT, RIGHT, bound=1e-12)
    check(lambda a, b: np.einsum(subscripts, a, b), (LEFT * 9).astype(np.int32), (RIGHT * 9).astype(np.int32))


def test_sums_of_products():
    check(lambda a: (np.einsum("ij->ji", a), np.einsum("ij->", a), np.einsum("ij->i", a)), LEFT, bound=1e-12)
    check(lambda a: (np.einsum("ii", a[:, :3]), np.einsum("ii->i", a[:, :3])), LEFT, bound=1e-12)
    check(lambda c, a: (np.einsum("bij,ij->b", c, a), np.einsum("...ij,kj->...ik", c, a)), STACK, LEFT, bound=1e-12)
    check(lambda a, b, v: np.einsum("ij,jk,j->ik", a, b, v), LEFT, RIGHT, LINE, bound=1e-12)
    check(lambda v: (np.einsum("i,i", v, v), np.einsum("i,j->ij", v, v)), LINE, bound=1e-12)


def test_vecdot_along_an_axis():
    a = np.arange(12.0).reshape(3, 4)
    with_each(
        [
            lambda a: np.vecdot(a, a, axis=0),
            lambda a: np.vecdot(a, a[:, :1]),
            lambda a: np.vecdot(a, a[0, 0]),
            lambda a: np.vecdot(a, a, axis=2),
            lambda a: np.vecdot(a * 1j, a),
            lambda a: np.vecdot(a > 2, a > 5),
        ],
        a,
        bound=1e-13,
    )


def test_a_product_is_put_into_an_output():
    a = np.arange(6.0).reshape(2, 3)
    for out in (np.zeros((2, 2)), np.zeros((2, 2), order="F"), np.zeros((2, 2), np.complex64), np.zeros((2, 2), int)):
        check(lambda a, out: np.matmul(a, a.T, out=out), a, out)
    check(lambda a, out: np.matmul(a, a.T, (out,)), a, np.zeros((2, 2)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "subscripts, left, right",
    [
        ("ii,ij->j", (2, 2), (3, 2)),
        ("ij,jk->ik", (2, 4), (3, 2)),
        ("...i,...i", (5, 4), (3, 4)),
        ("...ij,...jk->...ik", (5, 2, 4), (4, 4, 2)),
        ("iBj,jak->ki", (5, 2, 4), (3, 4, 2)),
        ("i,i", (4,), (5,)),
        ("ij,jk->ik", (2, 1), (3, 2)),
        ("ij,ij->i", (2, 1), (2, 3)),
    ],
)
def test_lengths_of_one_label(subscripts, left, right):
    check(lambda a, b: np.einsum(subscripts, a, b), np.ones(left), np.ones(right))
    check(lambda a, b: np.einsum(subscripts, a[..., : b.shape[-1] + 9], b), np.ones(left), np.ones(right))


def test_labels_of_three_operands():
    check(lambda a, b, c: np.einsum("i,j,i", a, b, c), np.ones(4), np.ones(3), np.ones(5))
    check(lambda a, b, c: np.einsum("i,,i", a, b, c), np.ones(4), np.float64(3), np.ones(5))


def test_densities_are_divided_in_numpys_order():
    g = np.random.default_rng(5)
    for _ in range(5):
        check(lambda a, b: np.histogram2d(a, b, bins=[3, 7], density=True), g.random(31), g.random(31))
