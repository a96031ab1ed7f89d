"""numpy.linalg by NumPy's own inner loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import TypeChangeError
from . import primitives
from .derivatives import routine
from .reductions import NoValue, known_axes, reduction, with_axes_kept
from .registry import implements
from .shapes import product

EigResult = np.linalg._linalg.EigResult
EighResult = np.linalg._linalg.EighResult
QRResult = np.linalg._linalg.QRResult
SlogdetResult = np.linalg._linalg.SlogdetResult
SVDResult = np.linalg._linalg.SVDResult


def result_dtype(x: Any) -> np.dtype:
    """The dtype of results for an array: float64 for integers and bools."""
    if x.dtype == np.float16:
        raise TypeError("array type float16 is unsupported in linalg")
    return x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)


def common_dtype(x: Any, y: Any) -> np.dtype:
    return np.result_type(result_dtype(x), result_dtype(y))


def loop_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype that everything is computed at."""
    return np.dtype(np.complex128) if dtype.kind == "c" else np.dtype(np.float64)


def real_dtype(dtype: np.dtype) -> np.dtype:
    return np.finfo(dtype).dtype


def need_stacked(x: Any) -> None:
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")


def need_square(x: Any) -> None:
    need_stacked(x)
    if x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def stacked(x: Any, batch: tuple[int, ...], core: int, dtype: np.dtype) -> Any:
    """An array with other leading axes before its last ones."""
    x = x.astype(dtype)
    return primitives.broadcast(x, batch + x.shape[x.ndim - core :])


def common_batch(x: Any, y: Any, core: int) -> tuple[int, ...]:
    """The leading axes that matrices x and what has `core` last axes are broadcast to."""
    a = x.shape[:-2]
    b = y.shape[: y.ndim - core]
    longer = a if len(a) >= len(b) else b
    shorter = b if len(a) >= len(b) else a
    gap = len(longer) - len(shorter)
    lengths = []
    for i in range(len(longer)):
        if i < gap:
            lengths.append(longer[i])
        else:
            one, other = longer[i], shorter[i - gap]
            if one != other and one != 1 and other != 1:
                raise ValueError("operands could not be broadcast together")
            lengths.append(other if one == 1 else one)
    return tuple(lengths)


def plain_solve(a: Any, b: Any) -> Any:
    a = np.asarray(a)
    need_square(a)
    b = np.asarray(b)
    dtype = common_dtype(a, b)
    at = loop_dtype(dtype)
    core = 1 if b.ndim == 1 else 2
    n = a.shape[-1]
    if b.ndim == 0:
        raise ValueError(
            "solve: Input operand 1 does not have enough dimensions (has 0, gufunc core with signature (m,m),(m,n)->(m,n) requires 2)"
        )
    if b.shape[b.ndim - core] != n:
        name = "solve1" if core == 1 else "solve"
        raise ValueError(f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
                         f"{'(m,m),(m)->(m)' if core == 1 else '(m,m),(m,n)->(m,n)'} (size {b.shape[b.ndim - core]} is different from {n})")  # fmt: skip
    batch = common_batch(a, b, core)
    x = np.empty(batch + b.shape[b.ndim - core :], at)
    if primitives.gufunc("linalg.solve1" if core == 1 else "linalg.solve", (stacked(a, batch, 2, at), stacked(b, batch, core, at)), (x,)):
        raise np.linalg.LinAlgError("Singular matrix")
    return x.astype(dtype)


def plain_inv(a: Any, may_fail: bool = False) -> Any:
    """The inverses of matrices, or NaN where there is none and that is allowed."""
    a = np.asarray(a)
    need_square(a)
    dtype = result_dtype(a)
    result = np.empty(a.shape, loop_dtype(dtype))
    if primitives.gufunc("linalg.inv", (a.astype(loop_dtype(dtype)),), (result,)) and not may_fail:
        raise np.linalg.LinAlgError("Singular matrix")
    return result.astype(dtype)


def inverse_of(a: Any, may_fail: bool) -> Any:
    return routine(plain_inv, rules.inv_jvp, rules.inv_vjp, (a,), (may_fail,))


def plain_det(a: Any) -> Any:
    a = np.asarray(a)
    need_square(a)
    dtype = result_dtype(a)
    result = np.empty(a.shape[:-2], loop_dtype(dtype))
    primitives.gufunc("linalg.det", (a.astype(loop_dtype(dtype)),), (result,))
    return result.astype(dtype)[()]


def plain_slogdet(a: Any) -> Any:
    a = np.asarray(a)
    need_square(a)
    dtype = result_dtype(a)
    at = loop_dtype(dtype)
    sign = np.empty(a.shape[:-2], at)
    logarithm = np.empty(a.shape[:-2], np.float64)
    primitives.gufunc("linalg.slogdet", (a.astype(at),), (sign, logarithm))
    return SlogdetResult(sign.astype(dtype)[()], logarithm.astype(real_dtype(dtype))[()])


def plain_cholesky(a: Any, upper: bool = False) -> Any:
    a = np.asarray(a)
    need_square(a)
    dtype = result_dtype(a)
    result = np.empty(a.shape, loop_dtype(dtype))
    if primitives.gufunc("linalg.cholesky_up" if upper else "linalg.cholesky_lo", (a.astype(loop_dtype(dtype)),), (result,)):
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return result.astype(dtype)


def plain_qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    a = np.asarray(a)
    need_stacked(a)
    dtype = result_dtype(a)
    at = loop_dtype(dtype)
    m, n = a.shape[-2], a.shape[-1]
    k = m if m < n else n
    batch = a.shape[:-2]
    factored = np.empty(a.shape, at)
    factored[...] = a
    tau = np.empty(batch + (k,), at)
    if primitives.gufunc("linalg.qr_r_raw", (factored,), (tau,)):
        raise np.linalg.LinAlgError("Incorrect argument found while performing QR factorization")
    if mode == "r":
        return upper_triangle(factored[..., :k, :]).astype(dtype)
    if mode == "raw":
        axes = tuple(range(a.ndim - 2)) + (a.ndim - 1, a.ndim - 2)
        return primitives.transpose(factored, axes).astype(dtype), tau.astype(dtype)
    # Where there are no more rows than columns, all columns are as many as the reduced ones.
    columns = m if mode == "complete" else k
    q = np.empty(batch + (m, columns), at)
    if mode == "complete" and m > n:
        failed = primitives.gufunc("linalg.qr_complete", (factored, tau), (q,))
    else:
        failed = primitives.gufunc("linalg.qr_reduced", (factored, tau), (q,))
    if failed:
        raise np.linalg.LinAlgError("Incorrect argument found while performing QR factorization")
    return QRResult(q.astype(dtype), upper_triangle(factored[..., :columns, :]).astype(dtype))


def upper_triangle(x: Any) -> Any:
    rows = np.arange(x.shape[-2])
    columns = np.arange(x.shape[-1])
    return np.where(rows[:, None] <= columns, x, x.dtype.type(0))


def plain_svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    a = np.asarray(a)
    need_stacked(a)
    dtype = result_dtype(a)
    at = loop_dtype(dtype)
    batch = a.shape[:-2]
    m, n = a.shape[-2], a.shape[-1]
    k = m if m < n else n
    s = np.empty(batch + (k,), np.float64)
    if not compute_uv:
        if primitives.gufunc("linalg.svd", (a.astype(at),), (s,)):
            raise np.linalg.LinAlgError("SVD did not converge")
        return s.astype(real_dtype(dtype))
    u = np.empty(batch + (m, m if full_matrices else k), at)
    vh = np.empty(batch + (n if full_matrices else k, n), at)
    if primitives.gufunc("linalg.svd_f" if full_matrices else "linalg.svd_s", (a.astype(at),), (u, s, vh)):
        raise np.linalg.LinAlgError("SVD did not converge")
    return SVDResult(u.astype(dtype), s.astype(real_dtype(dtype)), vh.astype(dtype))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return svd(x, compute_uv=False)


def plain_eigh(a: Any, UPLO: str = "L") -> Any:
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    a = np.asarray(a)
    need_square(a)
    dtype = result_dtype(a)
    at = loop_dtype(dtype)
    values = np.empty(a.shape[:-1], np.float64)
    vectors = np.empty(a.shape, at)
    if primitives.gufunc("linalg.eigh_lo" if UPLO in ("L", "l") else "linalg.eigh_up", (a.astype(at),), (values, vectors)):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    return EighResult(values.astype(real_dtype(dtype)), vectors.astype(dtype))


def need_finite(a: Any) -> None:
    if not np.all(np.isfinite(a)):
        raise np.linalg.LinAlgError("Array must not contain infs or NaNs")


def need_complex(values: Any, a: Any) -> None:
    """Raises where eigenvalues of a real matrix are real: NumPy gives arrays of floats then."""
    if a.dtype.kind != "c" and np.all(primitives.imaginary(values) == 0.0):
        raise TypeChangeError("eigenvalues that are all real make floats (give a complex matrix, or use eigh if it is symmetric)")


def find_eigenvalues(routine: str, a: Any, found: tuple[Any, ...]) -> None:
    """Puts the eigenvalues of square matrices into the first of some arrays, and the routine's other results into the next ones."""
    need_finite(a)
    if primitives.gufunc(routine, (a.astype(loop_dtype(result_dtype(a))),), found):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    need_complex(found[0], a)


def plain_eig(a: Any) -> Any:
    a = np.asarray(a)
    need_square(a)
    dtype = np.result_type(result_dtype(a), np.complex64)
    values = np.empty(a.shape[:-1], np.complex128)
    vectors = np.empty(a.shape, np.complex128)
    find_eigenvalues("linalg.eig", a, (values, vectors))
    return EigResult(values.astype(dtype), vectors.astype(dtype))


def plain_eigvals(a: Any) -> Any:
    a = np.asarray(a)
    need_square(a)
    dtype = np.result_type(result_dtype(a), np.complex64)
    values = np.empty(a.shape[:-1], np.complex128)
    find_eigenvalues("linalg.eigvals", a, (values,))
    return values.astype(dtype)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    a = np.asarray(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rest = a.shape[ind:]
    return inv(np.reshape(a, (product(rest), -1))).reshape(rest + a.shape[:ind])


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a = np.asarray(a)
    b = np.asarray(b)
    if axes is not None:
        moved = tuple([k for k in range(a.ndim) if k not in axes])
        a = np.transpose(a, moved + tuple(axes))
    shape = a.shape[b.ndim :]
    size = product(shape)
    if a.size != size**2:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.reshape(solve(np.reshape(a, (size, size)), np.ravel(b)), shape)


def plain_eigvalsh(a: Any, UPLO: str = "L") -> Any:
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    a = np.asarray(a)
    need_square(a)
    dtype = result_dtype(a)
    values = np.empty(a.shape[:-1], np.float64)
    routine = "linalg.eigvalsh_lo" if UPLO in ("L", "l") else "linalg.eigvalsh_up"
    if primitives.gufunc(routine, (a.astype(loop_dtype(dtype)),), (values,)):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    return values.astype(real_dtype(dtype))


def plain_lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a = np.asarray(a)
    b = np.asarray(b)
    is_vector = b.ndim == 1
    if a.ndim != 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if is_vector:
        b = b[:, None]
    if b.ndim != 2:
        raise np.linalg.LinAlgError(f"{b.ndim}-dimensional array given. Array must be two-dimensional")
    m, n = a.shape
    columns = b.shape[1]
    if m != b.shape[0]:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    dtype = common_dtype(a, b)
    at = loop_dtype(dtype)
    if rcond is None:
        rcond = np.finfo(dtype).eps * (m if m > n else n)
    limit = np.empty((), np.float64)
    limit[()] = rcond
    x = np.empty((n, columns), at)
    residuals = np.empty((columns,), np.float64)
    rank = np.empty((), np.int32)
    s = np.empty((m if m < n else n,), np.float64)
    if primitives.gufunc("linalg.lstsq", (a.astype(at), b.astype(at), limit), (x, residuals, rank, s)):
        raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")
    if m == 0:
        x[...] = 0
    solution = x.astype(dtype)
    return (
        solution[:, 0].copy() if is_vector else solution,
        residuals.astype(real_dtype(dtype)) if rank[()] == n and m > n else np.zeros((0,), real_dtype(dtype)),
        rank[()],
        s.astype(real_dtype(dtype)),
    )


def plain_pinv(a: Any, rcond: Any = None, rtol: Any = NoValue) -> Any:
    a = np.asarray(a)
    need_stacked(a)
    if rcond is None:
        rcond = 1e-15 if rtol is NoValue else (np.finfo(result_dtype(a)).eps * (a.shape[-1] if a.shape[-1] > a.shape[-2] else a.shape[-2]) if rtol is None else rtol)
    if a.shape[-2] == 0 or a.shape[-1] == 0:
        return np.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), result_dtype(a))
    u, s, vh = svd(np.conjugate(a) if a.dtype.kind == "c" else a, False)
    is_large = s > np.asarray(rcond)[..., None] * np.max(s, axis=-1, keepdims=True, initial=0)
    np.divide(1, s, out=s, where=is_large)
    s[...] = np.where(is_large, s, s.dtype.type(0))
    axes = tuple(range(a.ndim - 2)) + (a.ndim - 1, a.ndim - 2)
    return np.matmul(primitives.transpose(vh, axes), s[..., None] * primitives.transpose(u, axes))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if hermitian:
        primitives.refuse("`hermitian` of np.linalg.matrix_rank", "leave it out")
    a = np.asarray(A)
    if a.ndim < 2:
        return int(np.any(a != 0))
    s = svd(a, compute_uv=False)
    if tol is None:
        if rtol is None:
            share = np.asarray(np.finfo(s.dtype).eps * (a.shape[-1] if a.shape[-1] > a.shape[-2] else a.shape[-2]))
        else:
            share = np.asarray(rtol)[..., None]
        limit = np.max(s, axis=-1, keepdims=True, initial=0) * share
    else:
        limit = np.asarray(tol)[..., None]
    return np.count_nonzero(s > limit, axis=-1)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    x = np.asarray(x)
    if x.size == 0 and product(x.shape[-2:]) == 0:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p is None or p == 2 or p == -2:
        s = svd(x, compute_uv=False)
        result = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        need_square(x)
        dtype = result_dtype(x)
        inverse = inverse_of(x.astype(loop_dtype(dtype)), True)
        result = (norm(x, p, (-2, -1)) * norm(inverse, p, (-2, -1))).astype(real_dtype(dtype))
    # NaN that does not come from the matrix is of one that has no inverse.
    is_unknown = np.any(np.isnan(x), axis=(-2, -1))
    return np.where(np.isnan(result) & ~is_unknown, result.dtype.type(np.inf), result)[()]


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    a = np.asarray(a)
    need_square(a)
    if n < 0:
        a = inv(a)
        n = -n
    size = a.shape[-1]
    if n == 0:
        return np.zeros(a.shape, a.dtype) + (np.arange(size)[:, None] == np.arange(size)).astype(a.dtype)
    if n == 1:
        return a
    if n == 2:
        return np.matmul(a, a)
    if n == 3:
        return np.matmul(np.matmul(a, a), a)
    square = a.copy()
    while n % 2 == 0:
        square = np.matmul(square, square)
        n = n // 2
    result = square.copy()
    n = n // 2
    while n > 0:
        square = np.matmul(square, square)
        if n % 2 == 1:
            result = np.matmul(result, square)
        n = n // 2
    return result


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        x = x.astype(np.float64)
    if axis is None and (ord is None or (ord in ("fro", "f") and x.ndim == 2) or (ord == 2 and x.ndim == 1)):
        result = np.sqrt(sum_of_squares(x))
        if keepdims:
            return with_axes_kept(result, tuple(range(x.ndim)), x.ndim)
        return result
    axes = known_axes(int(axis) if isinstance(axis, (float, np.floating, np.bool)) else axis, x.ndim, True)
    if len(axes) == 1:
        return norm_of_vectors(x, ord, axes, keepdims)
    if len(axes) == 2:
        return norm_of_matrices(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        x = x.astype(np.float64)
    return norm_of_vectors(x, ord, known_axes(axis, x.ndim, True), keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


def sum_of_squares(x: Any) -> Any:
    flat = np.ravel(x)
    if x.dtype.kind == "c":
        re = primitives.real(flat)
        im = primitives.imaginary(flat)
        return np.dot(re, re) + np.dot(im, im)
    return np.dot(flat, flat)


def norm_of_vectors(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord is None or ord == 2:
        squares = np.square(primitives.real(x)) + np.square(primitives.imaginary(x)) if x.dtype.kind == "c" else np.square(x)
        return np.sqrt(reduction(np.add, squares, axes, None, None, keepdims, NoValue, NoValue))
    sizes = np.absolute(x)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == np.inf:
        return reduction(np.maximum, sizes, axes, None, None, keepdims, 0, NoValue)
    if ord == -np.inf:
        return reduction(np.minimum, sizes, axes, None, None, keepdims, NoValue, NoValue)
    if ord == 0:
        return reduction(np.add, (x != 0).astype(sizes.dtype), axes, None, None, keepdims, NoValue, NoValue)
    if ord == 1:
        return reduction(np.add, sizes, axes, None, None, keepdims, NoValue, NoValue)
    total = reduction(np.add, sizes ** sizes.dtype.type(ord), axes, None, None, keepdims, NoValue, NoValue)
    return total ** total.dtype.type(1 / ord)


def norm_of_matrices(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    row, column = axes
    if ord is None or ord == "fro" or ord == "f":
        return norm_of_vectors(x, None, axes, keepdims)
    others = tuple([axis for axis in range(x.ndim) if axis not in axes])
    y = primitives.transpose(x, others + axes)
    if ord == 2 or ord == -2 or ord == "nuc":
        s = svd(y, compute_uv=False)
        if ord == "nuc":
            result = np.sum(s, axis=-1)
        else:
            result = np.max(s, axis=-1, initial=0) if ord == 2 else np.min(s, axis=-1)
    elif ord == 1 or ord == -1:
        sums = np.sum(np.absolute(y), axis=-2)
        result = np.max(sums, axis=-1, initial=0) if ord == 1 else np.min(sums, axis=-1)
    elif ord == np.inf or ord == -np.inf:
        sums = np.sum(np.absolute(y), axis=-1)
        result = np.max(sums, axis=-1, initial=0) if ord == np.inf else np.min(sums, axis=-1)
    else:
        raise ValueError("Invalid norm order for matrices.")
    return with_axes_kept(result, axes, x.ndim) if keepdims else result


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    factors = [np.asarray(array) for array in arrays]
    if len(factors) < 2:
        raise ValueError("Expecting at least two arrays.")
    for factor in factors[1:-1]:
        if factor.ndim != 2:
            raise np.linalg.LinAlgError(f"{factor.ndim}-dimensional array given. Array must be two-dimensional")
    result = factors[0]
    for factor in factors[1:-1]:
        result = np.dot(result, factor)
    return np.dot(result, factors[-1], out)


from .rules import linalg as rules  # noqa: E402  (whose results are those of this module)


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    return routine(plain_solve, rules.solve_jvp, rules.solve_vjp, (a, b,), ())


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    return inverse_of(a, False)


@implements(np.linalg.det)
def det(a: Any) -> Any:
    return routine(plain_det, rules.det_jvp, rules.det_vjp, (a,), ())


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    return routine(plain_slogdet, rules.slogdet_jvp, rules.slogdet_vjp, (a,), ())


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    return routine(plain_cholesky, rules.cholesky_jvp, rules.cholesky_vjp, (a,), (upper,))


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode == "raw":
        return plain_qr(a, mode)
    return routine(plain_qr, rules.qr_jvp, None, (a,), (mode,))


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        primitives.refuse("`hermitian` of np.linalg.svd", "leave it out")
    return routine(plain_svd, rules.svd_jvp, None, (a,), (full_matrices, compute_uv))


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    return routine(plain_eigh, rules.eigh_jvp, rules.eigh_vjp, (a,), (UPLO,))


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    return routine(plain_eig, rules.eig_jvp, None, (a,), ())


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    return routine(plain_eigvals, rules.eigvals_jvp, None, (a,), ())


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return routine(plain_eigvalsh, rules.eigvalsh_jvp, rules.eigvalsh_vjp, (a,), (UPLO,))


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    return routine(plain_lstsq, rules.lstsq_jvp, None, (a, b,), (rcond,))


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NoValue) -> Any:
    if hermitian:
        primitives.refuse("`hermitian` of np.linalg.pinv", "leave it out")
    return routine(plain_pinv, rules.pinv_jvp, None, (a,), (rcond, rtol))
