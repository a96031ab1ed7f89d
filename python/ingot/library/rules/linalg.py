"""Rules of numpy.linalg.

Of a routine that reads one triangle of a matrix, the tangent and the cotangent are of that triangle, as the values are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import primitives
from ..linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult, inverse_of
from ..reductions import NoValue
from .parts import adjoint, as_cotangent, real_diagonal, reciprocal_or_0, scalars, transposed, unit


def solve_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """dx = solve(a, db - da x)."""
    a, b = primals
    da, db = tangents
    x = np.linalg.solve(a, b)
    if b.ndim == 1:
        right = db[:, None] - da @ x[..., None]
        return x, np.linalg.solve(a, right)[..., 0]
    return x, np.linalg.solve(a, db - da @ x)


def solve_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any) -> tuple[Any, ...]:
    a, b = primals
    if b.ndim == 1:
        back = np.linalg.solve(transposed(a), cotangent[..., None])
        return as_cotangent(-back * result[..., None, :], a), as_cotangent(back[..., 0], b)
    back = np.linalg.solve(transposed(a), cotangent)
    return as_cotangent(-back @ transposed(result), a), as_cotangent(back, b)


def inv_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], may_fail: bool = False) -> tuple[Any, ...]:
    """d(1/a) = -1/a da 1/a."""
    inverse = inverse_of(primals[0], may_fail)
    return inverse, -inverse @ tangents[0] @ inverse


def inv_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any, may_fail: bool = False) -> tuple[Any, ...]:
    back = transposed(result)
    return (-back @ cotangent @ back,)


def det_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sum of cofactors times tangents, which is also there where the matrix is singular."""
    determinant = np.linalg.det(primals[0])
    return determinant, np.sum(cofactors(primals[0], determinant) * tangents[0], axis=(-2, -1))


def det_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any) -> tuple[Any, ...]:
    return (scalars(cotangent) * cofactors(primals[0], result),)


def cofactors(a: Any, determinant: Any) -> Any:
    """The derivatives of the determinants of matrices by their elements."""
    is_singular = scalars(determinant) == 0
    one = unit(a.shape[-1], a)
    regular = scalars(determinant) * transposed(np.linalg.inv(np.where(is_singular, one, a)))
    if np.any(is_singular):
        return np.where(is_singular, cofactors_at_singular(np.where(is_singular, a, one)), regular)
    return regular


def cofactors_at_singular(a: Any) -> Any:
    """Cofactors of matrices that may be singular.

    With a + z u v' = b, where u and v are what a makes 0 from both sides, det(a) / det(b) = 1 - z v' (1/b) u = g, and the
    transposed cofactors are det(b) (g/b + z (1/b) u v' (1/b)), whatever u and v are. Below rank n - 1 they are 0.
    """
    n = a.shape[-1]
    u, s, vh = np.linalg.svd(primitives.primal(a, 0))
    largest = s[..., :1]
    scale = np.where(largest == 0, 1, largest).astype(s.dtype)
    is_last = np.arange(n) == n - 1
    is_null = (s <= np.finfo(s.dtype).eps * n * largest) | is_last
    added = np.where(is_null, scale, 0).astype(s.dtype)
    b = a + (u * added[..., None, :]) @ vh
    inverse = np.linalg.inv(b)
    left = inverse @ u[..., :, -1:] * scale[..., None]
    right = vh[..., -1:, :] @ inverse
    share = 1 - vh[..., -1:, :] @ left
    sign, logarithm = np.linalg.slogdet(b)
    adjugate = scalars(sign * np.exp(logarithm)) * (share * inverse + left * right)
    return transposed(np.where(scalars(np.sum(is_null, axis=-1)) > 1, 0, adjugate))


def slogdet_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """With z = trace(1/a da): the logarithm's is Re(z), the sign's i Im(z) sign; NaN where a is singular."""
    sign, logarithm = np.linalg.slogdet(primals[0])
    z = np.sum(transposed_inverse_or_nan(primals[0], sign) * tangents[0], axis=(-2, -1))
    phase = 1j * np.imag(z) * sign if primals[0].dtype.kind == "c" else np.zeros_like(sign)[()]
    return SlogdetResult(sign, logarithm), SlogdetResult(phase, np.real(z))


def slogdet_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any) -> tuple[Any, ...]:
    sign = result[0]
    z = cotangent[1]
    if primals[0].dtype.kind == "c":
        z = z + 1j * np.imag(cotangent[0] * sign)
    return (scalars(z) * transposed_inverse_or_nan(primals[0], sign),)


def transposed_inverse_or_nan(a: Any, sign: Any) -> Any:
    """The transposed inverses of matrices; NaN where the sign of the determinant is 0."""
    is_singular = scalars(sign) == 0
    return np.where(is_singular, np.nan, transposed(np.linalg.inv(np.where(is_singular, unit(a.shape[-1], a), a))))


def hermitian(t: Any, is_lower: bool) -> Any:
    """The Hermitian matrices of which triangles are read."""
    strict = np.tril(t, -1) if is_lower else np.triu(t, 1)
    return strict + adjoint(strict) + np.real(t) * unit(t.shape[-1], np.real(t))


def hermitian_back(q: Any, is_lower: bool) -> Any:
    """The cotangent of what `hermitian` is given, where that of its result is transposed(q)."""
    both = transposed(q) + np.conjugate(q)
    return (np.tril(both, -1) if is_lower else np.triu(both, 1)) + np.real(q) * unit(q.shape[-1], np.real(q))


def halved_below(x: Any) -> Any:
    """The lower triangle of x, with half its diagonal."""
    return np.tril(x, -1) + x * (unit(x.shape[-1], x) / 2)


def inverse_of_lower(x: Any) -> Any:
    """The inverses of lower triangular matrices, without exchanges of rows."""
    return transposed(np.linalg.inv(transposed(x)))


def cholesky_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], upper: bool = False) -> tuple[Any, ...]:
    """dl = l half(1/l da 1/l'), where half takes the lower triangle and half the diagonal."""
    result = np.linalg.cholesky(primals[0], upper=upper)
    lower = adjoint(result) if upper else result
    inverse = inverse_of_lower(lower)
    moved = lower @ halved_below(inverse @ hermitian(tangents[0], not upper) @ adjoint(inverse))
    return result, adjoint(moved) if upper else moved


def cholesky_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any, upper: bool = False) -> tuple[Any, ...]:
    lower = adjoint(result) if upper else result
    inverse = inverse_of_lower(lower)
    c = adjoint(cotangent) if upper else cotangent
    q = adjoint(inverse) @ transposed(halved_below(transposed(lower) @ c)) @ inverse
    return (hermitian_back(q, not upper),)


def inverse_of_upper_or_nan(x: Any) -> Any:
    """The inverses of upper triangular matrices; NaN where they are singular."""
    is_singular = scalars(np.any(np.diagonal(x, axis1=-2, axis2=-1) == 0, axis=-1))
    return np.where(is_singular, np.nan, np.linalg.inv(np.where(is_singular, unit(x.shape[-1], x), x)))


def qr_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], mode: str = "reduced") -> tuple[Any, ...]:
    """dq = q w, where the diagonal of r stays real, so that w is known from q' da 1/r below its diagonal.

    Columns that "complete" adds rotate towards the others only.
    """
    a = primals[0]
    da = tangents[0]
    is_complete = mode == "complete"
    q, r = np.linalg.qr(a, "complete" if is_complete else "reduced")
    m = a.shape[-2]
    k = min(m, a.shape[-1])
    moved = da[..., :, :k] @ inverse_of_upper_or_nan(r[..., :k, :k])
    inner = adjoint(q) @ moved
    square = inner @ np.eye(k, m, dtype=a.dtype) if is_complete else inner
    below = np.tril(square, -1)
    rotation = below - adjoint(below)
    if a.dtype.kind == "c":
        rotation = rotation + 1j * np.imag(square) * unit(square.shape[-1], np.imag(square))
    dr = np.triu(adjoint(q) @ da - rotation @ r)
    if mode == "r":
        return r, dr
    dq = q @ rotation if is_complete else q @ (rotation - inner) + moved
    return QRResult(q, r), QRResult(dq, dr)


def differences(w: Any) -> Any:
    """w[j] - w[i] at i, j."""
    return w[..., None, :] - w[..., :, None]


def eigh_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], UPLO: Any = "L") -> tuple[Any, ...]:
    """With p = v' da v: dw is its diagonal, dv = v (p[i, j] / (w[j] - w[i])), 0 on the diagonal.

    The vectors of equal eigenvalues have infinite tangents, or NaN.
    """
    w, v = np.linalg.eigh(primals[0], UPLO)
    p = adjoint(v) @ hermitian(tangents[0], UPLO in ("L", "l")) @ v
    one = unit(w.shape[-1], w)
    shares = 1 / (differences(w) + one) - one
    return EighResult(w, v), EighResult(real_diagonal(p), v @ (shares * p))


def eigh_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any, UPLO: Any = "L") -> tuple[Any, ...]:
    """Vectors on which nothing depends do not count, whatever the eigenvalues are."""
    w, v = result
    one = unit(w.shape[-1], w)
    mixed = transposed(v) @ cotangent[1]
    inner = np.where(mixed == 0, 0, mixed * (1 / (differences(w) + one) - one)) + one * cotangent[0][..., None, :]
    return (hermitian_back(v @ transposed(inner) @ adjoint(v), UPLO in ("L", "l")),)


def eigvalsh_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], UPLO: Any = "L") -> tuple[Any, ...]:
    """The values are those of `eigh`."""
    w, v = np.linalg.eigh(primals[0], UPLO)
    return w, real_diagonal(adjoint(v) @ hermitian(tangents[0], UPLO in ("L", "l")) @ v)


def eigvalsh_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any, UPLO: Any = "L") -> tuple[Any, ...]:
    v = np.linalg.eigh(primals[0], UPLO)[1]
    return (hermitian_back(v * cotangent[..., None, :] @ adjoint(v), UPLO in ("L", "l")),)


def eig_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """With p = 1/v da v: dw is its diagonal, dv = v (p[i, j] / (w[j] - w[i]) + a diagonal).

    The diagonal keeps the length of vectors 1 and their largest real element real, as the routine does.
    """
    w, v = np.linalg.eig(primals[0])
    p = np.linalg.solve(v, tangents[0] @ v)
    n = w.shape[-1]
    one = unit(n, w)
    dv = v @ ((1 / (differences(w) + one) - one) * p)
    sizes = np.where(np.imag(v) == 0, np.abs(np.real(v)), -1)
    is_chosen = np.arange(n)[:, None] == np.argmax(sizes, axis=-2)[..., None, :]
    chosen = np.sum(np.where(is_chosen, np.real(v), 0), axis=-2)
    phase = np.sum(np.where(is_chosen, np.imag(dv), 0), axis=-2) / chosen
    growth = np.sum(np.real(np.conjugate(v) * dv), axis=-2)
    return EigResult(w, v), EigResult(np.diagonal(p, axis1=-2, axis2=-1).copy(), dv - v * (growth + 1j * phase)[..., None, :])


def eigvals_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values are those of `eig`."""
    w, v = np.linalg.eig(primals[0])
    return w, np.diagonal(np.linalg.solve(v, tangents[0] @ v), axis1=-2, axis2=-1).copy()


def svd_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], full_matrices: bool = True, compute_uv: bool = True) -> tuple[Any, ...]:
    """With p = u' da v: ds is its real diagonal; of its Hermitian part x and the rest y, u rotates by
    x / (s[j] - s[i]) + y / (s[i] + s[j]), and v by the difference of both.

    What is divided by 0, up to rounding, is left out: equal singular values do not mix, and the vectors of singular values 0 do not rotate.
    Vectors that full_matrices adds rotate towards the others only.
    """
    if not compute_uv:
        return svdvals_jvp(primals, tangents)
    da = tangents[0]
    u, s, vh = np.linalg.svd(primals[0], full_matrices)
    k = s.shape[-1]
    u1, v1 = u[..., :, :k], adjoint(vh[..., :k, :])
    out, back = da @ v1, adjoint(da) @ u1
    p = adjoint(u1) @ out
    limit = np.max(s, axis=-1, keepdims=True, initial=0) * (np.finfo(s.dtype).eps * max(u.shape[-2], vh.shape[-1]))
    even = (p + adjoint(p)) / 2 * reciprocal_or_0(differences(s), limit[..., None])
    odd = (p - adjoint(p)) / 2 * reciprocal_or_0(s[..., None, :] + s[..., :, None], limit[..., None])
    inverse = reciprocal_or_0(s, limit)[..., None, :]
    du = u1 @ (even + odd) + (out - u1 @ p) * inverse
    dv = v1 @ (even - odd) + (back - v1 @ adjoint(p)) * inverse
    if full_matrices:
        du = np.concatenate((du, -(u1 * inverse) @ (adjoint(out) @ u[..., :, k:])), -1)
        dv = np.concatenate((dv, -(v1 * inverse) @ (adjoint(back) @ adjoint(vh[..., k:, :]))), -1)
    return SVDResult(u, s, vh), SVDResult(du, real_diagonal(p), adjoint(dv))


def svdvals_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values are those of `svd` with vectors."""
    u, s, vh = np.linalg.svd(primals[0], False)
    return s, real_diagonal(adjoint(u) @ tangents[0] @ adjoint(vh))


def svdvals_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any) -> tuple[Any, ...]:
    u, _, vh = np.linalg.svd(primals[0], False)
    return (np.conjugate(u * cotangent[..., None, :] @ vh),)


def pinv_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], rcond: Any = None, rtol: Any = NoValue) -> tuple[Any, ...]:
    """With r = pinv(a): dr = r r' da' (1 - a r) + (1 - r a) da' r' r - r da r, which holds while the rank stays."""
    inverse = np.linalg.pinv(primals[0], rcond) if rtol is NoValue else np.linalg.pinv(primals[0], rtol=rtol)
    back = adjoint(inverse)
    turned = adjoint(tangents[0])
    right = inverse @ back @ turned
    left = turned @ back @ inverse
    kept = right @ primals[0] @ inverse + inverse @ primals[0] @ left
    return inverse, right + left - kept - inverse @ tangents[0] @ inverse


def lstsq_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], rcond: Any = None) -> tuple[Any, ...]:
    """The solution's is that of pinv(a) b; the residuals' is 2 Re(r' (db - da x)) with r = b - a x; the rank's is 0."""
    x, residuals, rank, s = np.linalg.lstsq(*primals, rcond)
    a, b = primals[0].astype(x.dtype), primals[1].astype(x.dtype)
    da, db = tangents[0].astype(x.dtype), tangents[1].astype(x.dtype)
    eps = np.finfo(x.dtype).eps
    limit = eps * max(a.shape[0], a.shape[1]) if rcond is None else (eps if rcond < 0 else rcond)
    inverse = np.linalg.pinv(a, limit)
    back = adjoint(inverse)
    error = b - a @ x
    moved = db - da @ x
    across = adjoint(da) @ (back @ x)
    dx = inverse @ (moved + back @ (adjoint(da) @ error) - a @ across) + across
    products = np.real(np.conjugate(error) * moved) * 2
    sums = np.sum(products[:, None] if b.ndim == 1 else products, axis=0)
    u, _, vh = np.linalg.svd(a, False)
    ds = real_diagonal(adjoint(u) @ da @ adjoint(vh))
    return (x, residuals, rank, s), (dx, sums[: residuals.shape[0]], 0.0, ds)
