"""The derivative rules of NumPy's routines: against differences, reverse rules against forward ones."""

import inspect

import ingot
import numpy as np
import pytest
from ingot.library.rules import fft as fft_rules
from ingot.library.rules import linalg as linalg_rules
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
    """Further columns turned among themselves."""
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
    "hfft": ("hfft", (rows,), {}),
    "hfft-odd": ("hfft", (rows,), {"n": 7, "axis": 0, "norm": "forward"}),
    "ihfft": ("ihfft", (real_rows,), {}),
    "ihfft-filled": ("ihfft", (real_rows,), {"n": 7, "norm": "ortho"}),
    "fft2": ("fft2", (rows,), {}),
    "fft2-fitted": ("fft2", (real_rows,), {"s": (3, 8), "norm": "ortho"}),
    "ifft2": ("ifft2", (rows,), {"s": (5, 2)}),
    "fftn": ("fftn", (rows,), {}),
    "fftn-axes": ("fftn", (rows,), {"axes": (-1, 0), "norm": "forward"}),
    "ifftn": ("ifftn", (rows,), {"s": (5, 4), "axes": (-2, -1)}),
    "rfftn": ("rfftn", (real_rows,), {}),
    "rfftn-fitted": ("rfftn", (real_rows,), {"s": (5, 5), "axes": (-1, -2), "norm": "ortho"}),
    "irfftn": ("irfftn", (rows,), {}),
    "irfftn-fitted": ("irfftn", (rows,), {"s": (3, 7), "axes": (-2, -1), "norm": "forward"}),
    "rfft2": ("rfft2", (real_rows,), {"s": (3, 4)}),
    "irfft2": ("irfft2", (rows,), {}),
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


@pytest.mark.parametrize("case", LINALG)
def test_rules_of_linear_algebra(case):
    for dtype, batch in KINDS:
        check_rule(LINALG, case, dtype, batch)


@pytest.mark.parametrize("case", FFT)
def test_rules_of_transforms(case):
    for dtype, batch in KINDS:
        check_rule(FFT, case, dtype, batch)
