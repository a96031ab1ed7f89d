"""The derivative rules of NumPy's routines: against differences, reverse rules against forward ones."""

import inspect

import ingot
import numpy as np
import pytest
from ingot.library.rules import fft as fft_rules
from ingot.library.rules import linalg as linalg_rules
from stand_ins import differentiable_rules
from support import jitted

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

leaves = ingot.tree.leaves
KINDS = [("float64", ()), ("complex128", (2,)), ("float32", (2, 1)), ("complex64", ())]
"""Dtypes, and the axes of a stack for each."""


def drawn(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def adjoint(x):
    return np.conjugate(np.swapaxes(x, -1, -2))


def square(rng, batch, dtype, n=3):
    return drawn(rng, (*batch, n, n), dtype) + 2 * np.eye(n, dtype=dtype)


def definite(rng, batch, dtype):
    """Hermitian positive definite, with other numbers in the upper triangle."""
    x = drawn(rng, (*batch, 3, 3), dtype)
    return (x @ adjoint(x) + np.diag([1.0, 3.0, 6.0]) + np.triu(np.ones((3, 3)), 1)).astype(dtype)


def matrix(m, n):
    def make(rng, batch, dtype):
        return drawn(rng, (*batch, m, n), dtype) + 2 * np.eye(m, n, dtype=dtype)

    return make


def vector(rng, batch, dtype):
    return drawn(rng, 3, dtype)


def columns(rng, batch, dtype):
    return drawn(rng, (3, 2), dtype)


def rows(rng, batch, dtype):
    return drawn(rng, (*batch, 4, 6), dtype)


def real_rows(rng, batch, dtype):
    return np.real(rows(rng, batch, dtype)).copy()


def turning(rng, batch, dtype):
    """Matrices with eigenvalues that are not all real."""
    x = drawn(rng, (*batch, 3, 3), dtype)
    x[..., :2, :2] = np.array([[1, 4], [-3, 2]], dtype)
    return x


# What a routine chooses is brought near to what it chose at the point.


def turned(v, near):
    phases = np.sum(np.conjugate(v) * near, axis=-2)
    return phases / np.abs(phases)


def eigh_near(values, near):
    return values[0], values[1] * turned(values[1], near[1])[..., None, :]


def closest(q, near, k):
    """Further columns rotated among themselves."""
    u, _, vh = np.linalg.svd(adjoint(q[..., k:]) @ near[..., k:])
    return np.concatenate((q[..., :k], q[..., k:] @ (u @ vh)), -1)


def qr_near(values, near):
    return closest(values[0], near[0], values[1].shape[-1]), values[1]


def svd_near(values, near):
    u, s, v = values[0], values[1], adjoint(values[2])
    k = s.shape[-1]
    v0 = adjoint(near[2])
    phases = np.sqrt(turned(u[..., :k], near[0][..., :k]) * turned(v[..., :k], v0[..., :k]))
    phases = phases * np.sign(np.sum(np.real(np.conjugate(u[..., :k] * phases[..., None, :]) * near[0][..., :k]), -2))
    u, v = (np.concatenate((q[..., :k] * phases[..., None, :], q[..., k:]), -1) for q in (u, v))
    return closest(u, near[0], k), s, adjoint(closest(v, v0, k))


LINALG = {
    "solve": ("solve", (square, matrix(3, 2)), {}),
    "solve-vector": ("solve", (square, vector), {}),
    "solve-columns": ("solve", (square, columns), {}),
    "inv": ("inv", (square,), {}),
    "det": ("det", (square,), {}),
    "slogdet": ("slogdet", (square,), {}),
    "cholesky": ("cholesky", (definite,), {}),
    "cholesky-upper": ("cholesky", (lambda *a: np.swapaxes(definite(*a), -1, -2).copy(),), {"upper": True}),
    "qr": ("qr", (matrix(4, 3),), {}),
    "qr-square": ("qr", (square,), {}),
    "qr-wide": ("qr", (matrix(2, 4),), {}),
    "qr-complete": ("qr", (matrix(5, 3),), {"mode": "complete"}),
    "qr-r": ("qr", (matrix(4, 3),), {"mode": "r"}),
    "eigh": ("eigh", (definite,), {}),
    "eigh-upper": ("eigh", (definite,), {"UPLO": "U"}),
    "eigvalsh": ("eigvalsh", (definite,), {}),
    "eigvalsh-upper": ("eigvalsh", (definite,), {"UPLO": "U"}),
    "eig": ("eig", (turning,), {}),
    "eigvals": ("eigvals", (turning,), {}),
    "svd": ("svd", (matrix(3, 3),), {}),
    "svd-tall": ("svd", (matrix(4, 2),), {}),
    "svd-wide": ("svd", (matrix(2, 4),), {}),
    "svd-thin": ("svd", (matrix(4, 2),), {"full_matrices": False}),
    "svd-values": ("svd", (matrix(2, 4),), {"compute_uv": False}),
    "svdvals": ("svdvals", (matrix(4, 3),), {}),
    "pinv": ("pinv", (matrix(4, 3),), {}),
    "pinv-wide": ("pinv", (matrix(2, 4),), {"rtol": 1e-6}),
    "lstsq": ("lstsq", (matrix(5, 3), matrix(5, 2)), {"rcond": None}),
    "lstsq-wide": ("lstsq", (matrix(3, 4), vector), {}),
}
"""Routines, makers of their arguments, options."""

FFT = {
    "fft": ("fft", (rows,), {}),
    "fft-real": ("fft", (real_rows,), {"norm": "ortho"}),
    "fft-cut": ("fft", (rows,), {"n": 3, "axis": 0}),
    "fft-filled": ("fft", (rows,), {"n": 9, "norm": "forward"}),
    "ifft": ("ifft", (rows,), {"axis": -2}),
    "ifft-filled": ("ifft", (real_rows,), {"n": 7}),
    "rfft": ("rfft", (real_rows,), {}),
    "rfft-cut": ("rfft", (real_rows,), {"n": 3, "axis": -2, "norm": "ortho"}),
    "rfft-filled": ("rfft", (real_rows,), {"n": 9, "norm": "forward"}),
    "irfft": ("irfft", (rows,), {}),
    "irfft-cut": ("irfft", (rows,), {"n": 5, "norm": "forward"}),
    "irfft-filled": ("irfft", (real_rows,), {"n": 12, "axis": 0, "norm": "ortho"}),
}

NEAR = {"eigh": eigh_near, "svd": svd_near, "qr-complete": qr_near}
FLAT = ("lstsq",)
"""Routines that take no stacks."""


def made(cases, case, dtype, batch, seed=3):
    """A routine, its rules, options, arguments and tangents."""
    name, makers, options = cases[case]
    rng = np.random.default_rng(seed)
    module, rules = (np.linalg, linalg_rules) if cases is LINALG else (np.fft, fft_rules)
    primals = tuple(make(rng, () if name in FLAT else batch, dtype) for make in makers)
    tangents = tuple(drawn(rng, x.shape, x.dtype) for x in primals)
    return getattr(module, name), getattr(rules, f"{name}_jvp"), getattr(rules, f"{name}_vjp", None), options, primals, tangents


def as_tuple(values):
    return values if isinstance(values, tuple) else (values,)


def wide(x):
    return x.astype(np.result_type(x.dtype, np.float64))


def differences(routine, options, primals, tangents, near=None, step=1e-6):
    """Central differences in double precision."""
    at = lambda h: as_tuple(routine(*(wide(x) + h * wide(t) for x, t in zip(primals, tangents)), **options))
    brought = (lambda values: near(values, as_tuple(routine(*primals, **options)))) if near else lambda values: values
    high, low = brought(at(step)), brought(at(-step))
    return tuple((np.asarray(a) - b) / (2 * step) for a, b in zip(high, low))


def paired(c, t):
    """<c, t>: the sum of Re(c * t)."""
    return sum(float(np.sum(np.real(wide(np.asarray(a)) * b))) for a, b in zip(leaves(c), leaves(t)))


def with_options(rule, options):
    """A rule, compiled; options that are not given have their defaults."""
    known = tuple(options.get(p.name, p.default) for p in inspect.signature(rule).parameters.values() if p.default is not p.empty)
    return jitted(lambda *args: rule(*args, *known))


def check_forward(routine, rule, options, primals, tangents, near=None):
    """A rule's value and tangent: what the routine gives and differences; shapes, dtypes and structure."""
    value, tangent = with_options(rule, options)(primals, tangents)
    plain = routine(*primals, **options)
    assert type(value) is type(plain) and (type(tangent) is type(plain) or not isinstance(plain, tuple))
    eps = max(np.finfo(x.dtype).eps for x in primals)
    expected = differences(routine, options, primals, tangents, near)
    for own, known, direction, difference in zip(as_tuple(value), as_tuple(plain), as_tuple(tangent), expected):
        np.testing.assert_allclose(own, known, rtol=100 * eps, atol=100 * eps)
        if np.asarray(known).dtype.kind in "fc":
            assert np.asarray(own).dtype == np.asarray(direction).dtype == np.asarray(known).dtype
            assert np.shape(own) == np.shape(direction) == np.shape(known)
        bound = max(2e-7, 500 * eps) * max(1.0, np.max(np.abs(difference), initial=0))
        np.testing.assert_allclose(direction, difference, rtol=0, atol=bound)
    return value, tangent


def check_reverse(rule, options, primals, tangents, value, tangent):
    """A reverse rule is the transpose of what gave the tangent."""
    rng = np.random.default_rng(8)
    cotangents = ingot.tree.map(lambda y: drawn(rng, np.shape(y), np.asarray(y).dtype), value)
    back = with_options(rule, options)(primals, value, cotangents)
    for own, x in zip(back, primals, strict=True):
        assert own.dtype == x.dtype and own.shape == x.shape
    eps = max(np.finfo(x.dtype).eps for x in primals)
    scale = sum(np.sum(np.abs(np.asarray(c) * t)) for c, t in zip(leaves(cotangents), leaves(tangent)))
    np.testing.assert_allclose(paired(back, tangents), paired(cotangents, tangent), atol=200 * eps * max(1.0, scale))


def check_rule(cases, case, dtype, batch):
    routine, forward, reverse, options, primals, tangents = made(cases, case, dtype, batch)
    near = NEAR.get(case) or NEAR.get(case.split("-")[0]) if len(as_tuple(routine(*primals, **options))) > 1 else None
    value, tangent = check_forward(routine, forward, options, primals, tangents, near)
    if reverse is not None:
        check_reverse(reverse, options, primals, tangents, value, tangent)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("dtype, batch", KINDS)
@pytest.mark.parametrize("case", LINALG)
def test_rules_of_linear_algebra(case, dtype, batch):
    check_rule(LINALG, case, dtype, batch)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype, batch", KINDS)
@pytest.mark.parametrize("case", FFT)
def test_rules_of_transforms(case, dtype, batch):
    check_rule(FFT, case, dtype, batch)


@pytest.mark.parametrize("cases, case", [(cases, case) for cases in (LINALG, FFT) for case in cases])
def test_rules_are_real_linear(cases, case):
    _, rule, _, options, primals, first = made(cases, case, "complex128", ())
    second = tuple(x.real * 0.25 + x for x in first)
    one, other, both, none = (
        leaves(rule(primals, t, **options)[1])
        for t in (first, second, tuple(2 * x - 3 * y for x, y in zip(first, second)), tuple(0 * x for x in first))
    )
    for x, y, z, zero in zip(one, other, both, none, strict=True):
        np.testing.assert_allclose(z, 2 * x - 3 * y, rtol=1e-9, atol=1e-11)
        assert not np.any(zero)


@pytest.fixture(scope="module")
def differentiable(tmp_path_factory):
    return differentiable_rules(tmp_path_factory.mktemp("rules"))


def check_again(rule, plain, args, options, has_differences=True, has_transpose=True):
    """The derivative of a rule: against differences of the rule, and its transpose."""
    rng = np.random.default_rng(9)
    known = tuple(options.get(p.name, p.default) for p in inspect.signature(rule).parameters.values() if p.default is not p.empty)
    directions = ingot.tree.map(lambda x: drawn(rng, np.shape(x), np.asarray(x).dtype), args)
    whole = lambda *args: rule(*args, *known)
    at = lambda h: leaves(plain(*ingot.tree.map(lambda x, t: x + h * t, args, directions), *known))
    tangents = ingot.jvp(whole, args, directions)[1]
    for own, high, low in zip(leaves(tangents), at(1e-6), at(-1e-6), strict=True) if has_differences else ():
        difference = np.asarray(high - low) / 2e-6
        np.testing.assert_allclose(own, difference, rtol=0, atol=1e-6 * max(1.0, np.max(np.abs(difference), initial=0)))
    if not has_transpose:
        return
    cotangents = ingot.tree.map(lambda y: drawn(rng, np.shape(y), np.asarray(y).dtype), tangents)
    back = ingot.vjp(whole, *args)[1](cotangents)
    np.testing.assert_allclose(paired(back, directions), paired(cotangents, tangents), rtol=1e-9, atol=1e-7)


FREE = ("qr-complete", "svd-tall", "svd-wide")
"""Cases in which columns may rotate among themselves from one point to the next."""


@pytest.mark.rotated(4)
@pytest.mark.sampled(36)
@pytest.mark.parametrize("case", LINALG)
def test_derivatives_of_rules(case, differentiable):
    _, forward, _, options, primals, tangents = made(LINALG, case, "float64", ())
    check_again(getattr(differentiable, forward.__name__), forward, (primals, tangents), options, case not in FREE)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("case", [case for case in LINALG if hasattr(linalg_rules, f"{LINALG[case][0]}_vjp")])
def test_derivatives_of_reverse_rules(case, differentiable):
    routine, _, reverse, options, primals, _ = made(LINALG, case, "float64", ())
    value = routine(*primals, **options)
    cotangent = ingot.tree.map(lambda y: drawn(np.random.default_rng(6), np.shape(y), np.asarray(y).dtype), value)
    check_again(getattr(differentiable, reverse.__name__), reverse, (primals, tuple(value) if isinstance(value, tuple) else value,
                tuple(cotangent) if isinstance(value, tuple) else cotangent), options)  # fmt: skip


# Conventions


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtypes", [("float64", "complex128"), ("complex64", "float32"), ("float32", "float64")])
def test_rules_of_two_dtypes(dtypes):
    rng = np.random.default_rng(1)
    for make in (vector, matrix(3, 2)):
        primals = square(rng, (2,), dtypes[0]), make(rng, (), dtypes[1])
        tangents = tuple(drawn(rng, x.shape, x.dtype) for x in primals)
        value, tangent = check_forward(np.linalg.solve, linalg_rules.solve_jvp, {}, primals, tangents)
        check_reverse(linalg_rules.solve_vjp, {}, primals, tangents, value, tangent)
    primals = matrix(4, 2)(rng, (), dtypes[0]), drawn(rng, 4, dtypes[1])
    check_forward(np.linalg.lstsq, linalg_rules.lstsq_jvp, {"rcond": None}, primals, tuple(drawn(rng, x.shape, x.dtype) for x in primals))


SINGULAR = ((4.0, 2.0, 1.0), (2.0, 1.0, 3.0), (1.0, 0.5, 5.0))


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_determinants_of_singular_matrices(dtype):
    rng = np.random.default_rng(2)
    nearly = np.array([[1, 2, 3], [4, 5, 6], [5, 7, 9]], dtype)
    others = (square(rng, (), dtype), np.diag([2, 0, 0]).astype(dtype), np.zeros((3, 3), dtype), np.diag([1, 1, 0]).astype(dtype), nearly)
    points = np.stack((np.array(SINGULAR, dtype), *others))
    t = drawn(rng, points.shape, dtype)
    value, tangent = check_forward(np.linalg.det, linalg_rules.det_jvp, {}, (points,), (t,))
    assert value[0] == value[2] == 0 and tangent[0] != 0 and tangent[2] == tangent[3] == 0
    check_reverse(linalg_rules.det_vjp, {}, (points,), (t,), value, tangent)
    assert jitted(linalg_rules.det_jvp)((np.zeros((1, 1)),), (np.full((1, 1), 3.0),)) == (0.0, 3.0)
    assert jitted(linalg_rules.det_jvp)((np.eye(3) * 1e-120,), (np.eye(3),)) == (0.0, 0.0)


@pytest.mark.slow
def test_second_derivatives_of_determinants(differentiable):
    rng = np.random.default_rng(2)
    points = np.stack((np.array(SINGULAR), np.diag([1.0, 0.0, 1.0]), square(rng, (), float)))
    assert np.all((np.linalg.det(points) == 0) == [True, True, False])
    args = (points,), (drawn(rng, points.shape, float),)
    check_again(differentiable.det_jvp, linalg_rules.det_jvp, args, {}, has_transpose=False)


def test_logarithms_of_singular_matrices():
    point = np.stack((np.zeros((2, 2)), np.eye(2)))
    value, tangent = jitted(linalg_rules.slogdet_jvp)((point,), (np.ones((2, 2, 2)),))
    assert list(value.sign) == [0, 1] and list(tangent.sign) == [0, 0]
    assert np.isnan(tangent.logabsdet[0]) and tangent.logabsdet[1] == 2
    back = jitted(linalg_rules.slogdet_vjp)((point,), value, value)[0]
    assert np.all(np.isnan(back[0])) and np.all(back[1] == 0)


def test_triangles_that_are_read():
    for dtype in ("float64", "complex128"):
        rng = np.random.default_rng(1)
        x, t = definite(rng, (), dtype), drawn(rng, (3, 3), dtype)
        seen = np.tril(t) - 1j * np.diag(np.imag(np.diag(t))) if dtype == "complex128" else np.tril(t)
        for rule in (linalg_rules.cholesky_jvp, linalg_rules.eigh_jvp, linalg_rules.eigvalsh_jvp):
            for one, other in zip(leaves(rule((x,), (t,))), leaves(rule((x,), (seen,)))):
                np.testing.assert_array_equal(one, other)
        lower = np.linalg.cholesky(x)
        back = linalg_rules.cholesky_vjp((x,), lower, drawn(rng, (3, 3), dtype))[0]
        upper = linalg_rules.eigvalsh_vjp((x,), None, np.arange(3.0), "U")[0]
        assert not np.any(np.triu(back, 1)) and not np.any(np.tril(upper, -1)) and not np.any(np.imag(np.diag(back)))


def test_equal_eigenvalues():
    x, t = np.diag([2.0, 2.0, 3.0]), np.array([[1.0, 2.0, 3.0], [2.0, 5.0, 6.0], [3.0, 6.0, 9.0]])
    value, tangent = jitted(linalg_rules.eigh_jvp)((x,), (t,))
    np.testing.assert_allclose(tangent.eigenvalues, [1, 5, 9])
    assert not np.all(np.isfinite(tangent.eigenvectors)) and np.all(np.isfinite(tangent.eigenvectors[:, 2]))
    c = np.array([1.0, 2.0, 3.0])
    back = jitted(linalg_rules.eigh_vjp)((x,), value, (c, np.zeros((3, 3))))[0]
    np.testing.assert_array_equal(back, jitted(linalg_rules.eigvalsh_vjp)((x,), value.eigenvalues, c)[0])
    assert not np.all(np.isfinite(jitted(linalg_rules.eigh_vjp)((x,), value, (c, np.ones((3, 3))))[0]))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_phases_of_vectors(dtype):
    rng = np.random.default_rng(7)
    x, t = definite(rng, (), dtype), drawn(rng, (3, 3), dtype)
    diagonal = lambda v, dv: np.diag(adjoint(v) @ dv)
    v, dv = (y.eigenvectors for y in linalg_rules.eigh_jvp((x,), (t,)))
    np.testing.assert_allclose(diagonal(v, dv), 0, atol=1e-14)
    value, tangent = linalg_rules.svd_jvp((x,), (t,))
    np.testing.assert_allclose(diagonal(value.U, tangent.U), -diagonal(adjoint(value.Vh), adjoint(tangent.Vh)), atol=1e-13)
    v, dv = (y.eigenvectors for y in linalg_rules.eig_jvp((turning(rng, (), dtype),), (t,)))
    np.testing.assert_allclose(np.real(diagonal(v, dv)), 0, atol=1e-14)
    largest = np.argmax(np.where(v.imag == 0, abs(v.real), -1), axis=0)
    np.testing.assert_allclose(np.imag(dv)[largest, range(3)], 0, atol=1e-14)


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_equal_singular_values(dtype):
    rng = np.random.default_rng(4)
    x, t = 2 * np.linalg.qr(drawn(rng, (3, 3), dtype))[0], drawn(rng, (3, 3), dtype)

    def nearest_unitary(x):
        u, _, vh = np.linalg.svd(x)
        return u @ vh

    value, tangent = with_options(linalg_rules.svd_jvp, {})((x,), (t,))
    known = differences(nearest_unitary, {}, (x,), (t,))[0]
    np.testing.assert_allclose(tangent.U @ value.Vh + value.U @ tangent.Vh, known, atol=1e-8)
    for shape in ((3, 3), (4, 2)):
        tangent = with_options(linalg_rules.svd_jvp, {})((np.zeros(shape, dtype),), (drawn(rng, shape, dtype),))[1]
        assert not np.any(tangent.U) and not np.any(tangent.Vh) and np.all(np.isfinite(tangent.S))


def test_factors_of_deficient_matrices():
    x = np.stack((np.zeros((3, 2)), np.eye(3, 2)))
    tangent = jitted(linalg_rules.qr_jvp)((x,), (np.ones((2, 3, 2)),))[1]
    assert np.all(np.isnan(tangent.Q[0])) and np.all(np.isfinite(tangent.Q[1])) and np.all(np.isfinite(tangent.R[1]))
    with pytest.raises(ingot.UnsupportedError, match="the derivative of NumPy's `linalg.qr"):
        ingot.jvp(lambda x: np.linalg.qr(x, "raw"), (np.eye(2),), (np.eye(2),))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_ranks_that_stay(dtype):
    rng = np.random.default_rng(5)
    left, right, dl, dr = (drawn(rng, shape, dtype) for shape in ((5, 2), (2, 3), (5, 2), (2, 3)))
    along = lambda h: (left + h * dl) @ (right + h * dr)
    x, t = along(0), left @ dr + dl @ right
    b, db = drawn(rng, 5, dtype), drawn(rng, 5, dtype)
    value, tangent = jitted(lambda p, t: linalg_rules.pinv_jvp(p, t, 1e-8))((x,), (t,))
    np.testing.assert_allclose(tangent, (np.linalg.pinv(along(1e-6), 1e-8) - np.linalg.pinv(along(-1e-6), 1e-8)) / 2e-6, atol=1e-6)
    value, tangent = jitted(lambda p, t: linalg_rules.lstsq_jvp(p, t, 1e-8))((x, b), (t, db))
    high, low = (np.linalg.lstsq(along(h), b + h * db, 1e-8) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(tangent[0], (high[0] - low[0]) / 2e-6, atol=1e-6)
    np.testing.assert_allclose(tangent[3][:2], (high[3] - low[3])[:2] / 2e-6, atol=1e-6)
    assert value[1].shape == tangent[1].shape == (0,) and value[2] == 2 and tangent[2] == 0.0


def test_points_of_transforms():
    x, c = np.ones(6), np.ones(3, complex)
    back = jitted(lambda p, y, c: fft_rules.fft_vjp(p, y, c, 3))((x,), c, c)[0]
    assert back.dtype == np.float64 and not np.any(back[3:]) and back[0] == 3
    twice = ingot.vjp(lambda x: np.fft.fftn(x, axes=(0, -1)), x)[1](x + 0j)[0]
    np.testing.assert_allclose(twice, 6 * np.ones(6), atol=1e-12)
    halved = lambda x: fft_rules.fitted(x, 6, 0) * fft_rules.half_weights(x, 6, -1, 1.0, 2.0)
    ingot.check_grads(halved, (np.arange(12.0).reshape(3, 4) + 1j,))


@pytest.mark.rotated(4)
def test_empty_stacks():
    x = np.zeros((0, 3, 3), complex)
    for name in "inv det slogdet cholesky eigh svd qr eigvals".split():
        value, tangent = with_options(getattr(linalg_rules, f"{name}_jvp"), {})((x,), (x,))
        for own, known, direction in zip(leaves(value), leaves(getattr(np.linalg, name)(x)), leaves(tangent), strict=True):
            assert own.shape == known.shape == direction.shape
    assert jitted(linalg_rules.det_jvp)((np.zeros((0, 0)),), (np.zeros((0, 0)),)) == (1.0, 0.0)


def riccati(p, n):
    c = np.eye(2) * p[0]
    for _ in range(n):
        g = np.linalg.solve(c + np.eye(2), c).T
        c = c - g @ c + p[1] * np.eye(2)
    return np.sum(c)


def powers_of_inverse(p, n):
    c = np.eye(2)
    for _ in range(n):
        c = np.linalg.solve(np.eye(2) * 2.0 + p[0], c) + p[1] * np.linalg.inv(c)
    return np.sum(c)


@pytest.mark.slow
@pytest.mark.parametrize("f", [riccati, pytest.param(powers_of_inverse, marks=pytest.mark.slow)])
def test_second_derivatives_of_routines_in_loops(f):
    p = np.array([0.5, 0.1])
    g = ingot.grad(f)
    e = 1e-5
    expected = [(g(p + d, 4) - g(p - d, 4)) / (2 * e) for d in np.eye(2) * e]
    for of_gradient in (ingot.jacfwd(g), ingot.jacrev(g), ingot.hessian(f)):
        np.testing.assert_allclose(of_gradient(p, 4), expected, rtol=1e-6)
