"""Functions of `scipy.linalg` by those of np.linalg and loops, with SciPy's parameters and exceptions; values agree up to rounding.

What a parameter only allows - `overwrite_a` - changes nothing. Factors have SciPy's layout, that of LAPACK.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import TypeChangeError
from . import primitives


def need_finite(x: Any, check_finite: Any) -> Any:
    """An array, of finite numbers where that is asked for."""
    x = np.asarray(x)
    if check_finite and x.dtype.kind in "fc" and not np.all(np.isfinite(x)):
        raise ValueError("array must not contain infs or NaNs")
    return x


def need_square(a: Any) -> None:
    if a.ndim < 2:
        raise ValueError(f"Expected at least ndim=2, got a1.ndim={a.ndim}")
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected square matrix, got a1.shape={a.shape}")


def need_general(assume_a: Any, function: str) -> None:
    if not (assume_a is None or assume_a == "general" or assume_a == "gen"):
        primitives.refuse(f"`assume_a` of `scipy.linalg.{function}`", "leave it out: matrices are taken for general ones")


def linalg_inv(a: Any, overwrite_a: Any = False, check_finite: Any = True, *, assume_a: Any = None, lower: Any = False) -> Any:
    need_general(assume_a, "inv")
    a = need_finite(a, check_finite)
    need_square(a)
    if a.ndim > 2:
        primitives.refuse("`scipy.linalg.inv` of a stack of matrices", "use np.linalg.inv")
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        pass
    raise np.linalg.LinAlgError("A singular matrix detected: slice(s) [0] are singular.")


def lapack_dtype(*arrays: Any) -> np.dtype:
    """The dtype at which LAPACK's routines run for arrays."""
    is_complex = is_wide = False
    for x in arrays:
        kind = x.dtype.kind
        is_complex = is_complex or kind == "c"
        is_wide = is_wide or (x.dtype.itemsize == 16 if kind == "c" else x.dtype.itemsize >= (8 if kind == "f" else 4))
    if is_complex:
        return np.dtype(np.complex128 if is_wide else np.complex64)
    return np.dtype(np.float64 if is_wide else np.float32)


def need_one(a: Any, function: str) -> None:
    if a.ndim > 2:
        primitives.refuse(f"`scipy.linalg.{function}` of a stack of matrices", "call it for each of them")


def in_columns(x: Any) -> Any:
    """The same numbers, with their columns in memory one after the other."""
    return np.asfortranarray(x)


def need_same_dtype(a: Any, function: str) -> None:
    """Raises for an array without elements whose dtype SciPy keeps, and no other array's."""
    if a.dtype != lapack_dtype(a):
        raise TypeChangeError(f"scipy.linalg.{function} of an array of {a.dtype} without elements")


def failed_minor(a: Any, lower: Any) -> int:
    """The first leading minor of a matrix that is not positive definite, counted from 1."""
    n = a.shape[0]
    factor = np.zeros((n, n), a.dtype)
    for j in range(n):
        for i in range(j, n):
            total = a[i, j] if lower else np.conj(a[j, i])
            for k in range(j):
                total = total - factor[i, k] * np.conj(factor[j, k])
            if i == j:
                if not total.real > 0:
                    return j + 1
                factor[i, j] = np.sqrt(total.real)
            else:
                factor[i, j] = total / factor[j, j]
    return n


def cholesky_of(a: Any, lower: Any, check_finite: Any, function: str) -> tuple[Any, Any]:
    """The factor, and the matrix as it was factored."""
    a = np.atleast_2d(need_finite(a, check_finite))
    need_one(a, function)
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"Input array is expected to be square but has the shape: {a.shape}.")
    a = a.astype(lapack_dtype(a))
    if a.size == 0:
        return a, a
    try:
        return np.linalg.cholesky(a, upper=not lower), a
    except np.linalg.LinAlgError:
        pass
    raise np.linalg.LinAlgError(f"{failed_minor(a, lower)}-th leading minor of the array is not positive definite")


def linalg_cholesky(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    return in_columns(cholesky_of(a, lower, check_finite, "cholesky")[0])


def linalg_cho_factor(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    factor, a = cholesky_of(a, lower, check_finite, "cho_factor")
    rows, columns = np.arange(a.shape[0])[:, None], np.arange(a.shape[0])
    # The other half is what it was.
    return in_columns(np.where(rows >= columns if lower else rows <= columns, factor, a)), lower


def substitute(t: Any, x: Any, lower: Any, unit: Any) -> None:
    """Solves a triangular system in place, for a matrix of right sides."""
    n = x.shape[0]
    for k in range(n):
        i = k if lower else n - 1 - k
        low, high = (0, i) if lower else (i + 1, n)
        for j in range(low, high):
            x[i] -= t[i, j] * x[j]
        if not unit:
            x[i] /= t[i, i]


def right_sides(b: Any, dtype: np.dtype) -> Any:
    return np.array(b[:, None] if b.ndim == 1 else b, dtype)


def solution(x: Any, b: Any) -> Any:
    return x[:, 0].copy() if b.ndim == 1 else in_columns(x)


def need_few(b: Any, function: str) -> None:
    if b.ndim == 0 or b.ndim > 2:
        primitives.refuse(f"`scipy.linalg.{function}` of other than one vector or matrix of right sides", "call it for each of them")


def linalg_cho_solve(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    c, lower = c_and_lower
    b = need_finite(b, check_finite)
    c = need_finite(c, check_finite)
    need_one(c, "cho_solve")
    need_few(b, "cho_solve")
    if c.ndim != 2 or c.shape[0] != c.shape[1]:
        raise ValueError("The factored matrix c is not square.")
    if c.shape[1] != b.shape[0]:
        raise ValueError(f"incompatible dimensions ({c.shape} and {b.shape})")
    dtype = lapack_dtype(c, b)
    x = right_sides(b, dtype)
    factor = c.astype(dtype)
    other = np.conj(factor.T)
    substitute(factor if lower else other, x, True, False)
    substitute(other if lower else factor, x, False, False)
    return solution(x, b)


def linalg_solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False, check_finite: Any = True
) -> Any:
    a = need_finite(a, check_finite)
    b = need_finite(b, check_finite)
    need_one(a, "solve_triangular")
    need_few(b, "solve_triangular")
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected square matrix")
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"shapes of a {a.shape} and b {b.shape} are incompatible")
    dtype = lapack_dtype(a, b)
    x = right_sides(b, dtype)
    t = a.astype(dtype)
    if not unit_diagonal:
        for i in range(t.shape[0]):
            if t[i, i] == 0 and b.size > 0:
                raise np.linalg.LinAlgError(f"singular matrix: resolution failed at diagonal {i}")
    if trans == 0 or trans == "N":
        substitute(t, x, lower, unit_diagonal)
    elif trans == 1 or trans == "T":
        substitute(t.T, x, not lower, unit_diagonal)
    elif trans == 2 or trans == "C":
        substitute(np.conj(t.T), x, not lower, unit_diagonal)
    else:
        primitives.refuse("`trans` of `scipy.linalg.solve_triangular` other than 0, 1, 2, 'N', 'T' and 'C'", "name one of these")
    return solution(x, b)


def magnitude(x: Any) -> Any:
    """What LAPACK chooses pivots by."""
    return abs(x.real) + abs(x.imag) if isinstance(x, np.complexfloating) else abs(x)


def factor_lu(a: Any, pivots: Any) -> None:
    """The factors in place of a matrix, and by which row each row was replaced."""
    rows, columns = a.shape
    for k in range(min(rows, columns)):
        pivot = k
        for i in range(k + 1, rows):
            if magnitude(a[i, k]) > magnitude(a[pivot, k]):
                pivot = i
        pivots[k] = pivot
        if pivot != k:
            for j in range(columns):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
        if a[k, k] != 0:
            for i in range(k + 1, rows):
                a[i, k] /= a[k, k]
                for j in range(k + 1, columns):
                    a[i, j] -= a[i, k] * a[k, j]


def linalg_lu_factor(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    a = need_finite(a, check_finite)
    need_one(a, "lu_factor")
    if a.ndim != 2:
        primitives.refuse("`scipy.linalg.lu_factor` of what is no matrix", "give it two axes")
    if a.size == 0:
        need_same_dtype(a, "lu_factor")
        return in_columns(a.astype(lapack_dtype(a))), np.arange(0, dtype=np.int32)
    factors = np.array(a, lapack_dtype(a), order="C")
    pivots = np.empty(min(a.shape[0], a.shape[1]), np.int32)
    factor_lu(factors, pivots)
    return in_columns(factors), pivots


def linalg_lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    lu, pivots = lu_and_piv
    b = need_finite(b, check_finite)
    lu = np.asarray(lu)
    need_one(lu, "lu_solve")
    need_few(b, "lu_solve")
    if lu.shape[0] != b.shape[0]:
        raise ValueError(f"Shapes of lu {lu.shape} and b {b.shape} are incompatible")
    dtype = lapack_dtype(lu, b)
    x = right_sides(b, dtype)
    factors = lu.astype(dtype)
    count = len(pivots)
    if trans == 0:
        for k in range(count):
            swap(x, k, int(pivots[k]))
        substitute(factors, x, True, True)
        substitute(factors, x, False, False)
    elif trans == 1 or trans == 2:
        other = factors.T if trans == 1 else np.conj(factors.T)
        substitute(other, x, True, False)
        substitute(other, x, False, True)
        for k in range(count - 1, -1, -1):
            swap(x, k, int(pivots[k]))
    else:
        primitives.refuse("`trans` of `scipy.linalg.lu_solve` other than 0, 1 and 2", "name one of these")
    return solution(x, b)


def swap(x: Any, i: int, j: int) -> None:
    for k in range(x.shape[1]):
        x[i, k], x[j, k] = x[j, k], x[i, k]


def need_matrix(a: Any, function: str, message: str) -> None:
    need_one(a, function)
    if a.ndim != 2:
        raise ValueError(message)


def need_double(a: Any, function: str) -> None:
    """Refuses vectors at single precision, which np.linalg computes at double: their signs may be others."""
    if a.dtype == np.float32 or a.dtype == np.complex64:
        primitives.refuse(f"vectors of `scipy.linalg.{function}` at single precision", f"use np.linalg.{function}, or convert to float64")


def linalg_svd(
    a: Any,
    full_matrices: Any = True,
    compute_uv: Any = True,
    overwrite_a: Any = False,
    check_finite: Any = True,
    lapack_driver: Any = "gesdd",
) -> Any:
    a = need_finite(a, check_finite)
    need_matrix(a, "svd", "expected matrix")
    if lapack_driver != "gesdd":
        primitives.refuse("`lapack_driver` of `scipy.linalg.svd`", "leave it out")
    a = a.astype(lapack_dtype(a))
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    need_double(a, "svd")
    u, s, vh = np.linalg.svd(a, full_matrices=full_matrices)
    return in_columns(u), s, in_columns(vh)


def linalg_svdvals(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    return linalg_svd(a, compute_uv=False, check_finite=check_finite)


def linalg_qr(
    a: Any, overwrite_a: Any = False, lwork: Any = None, mode: Any = "full", pivoting: Any = False, check_finite: Any = True
) -> Any:
    if mode != "full" and mode != "qr" and mode != "r" and mode != "economic" and mode != "raw":
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    a = need_finite(a, check_finite)
    need_matrix(a, "qr", "expected a 2-D array")
    if mode == "raw" or pivoting:
        primitives.refuse("`scipy.linalg.qr` with pivots or in the mode 'raw'", "use np.linalg.qr")
    if a.size == 0:
        need_same_dtype(a, "qr")
    a = a.astype(lapack_dtype(a))
    q, r = np.linalg.qr(a, "reduced" if mode == "economic" else "complete")
    if mode == "r":
        return (r,)
    return in_columns(q), r


def linalg_eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: Any = True,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    type: Any = 1,
    check_finite: Any = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    a = need_eigh(a, b, type, check_finite, subset_by_index, subset_by_value)
    if not (driver is None or driver == "ev" or driver == "evd" or driver == "evr" or driver == "evx"):
        primitives.refuse("this `driver` of `scipy.linalg.eigvalsh`", "leave it out")
    return np.linalg.eigvalsh(a, "L" if lower else "U")


def need_eigh(a: Any, b: Any, type: Any, check_finite: Any, subset_by_index: Any, subset_by_value: Any) -> Any:
    if b is not None or type != 1 or subset_by_index is not None or subset_by_value is not None:
        primitives.refuse("`b`, `type` or a subset in `scipy.linalg.eigh`", "take all of np.linalg.eigh, and choose")
    a = need_finite(a, check_finite)
    need_one(a, "eigh")
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError('expected square "a" matrix')
    return a.astype(lapack_dtype(a))


def linalg_eigh(
    a: Any,
    b: Any = None,
    *,
    lower: Any = True,
    eigvals_only: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    type: Any = 1,
    check_finite: Any = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    if eigvals_only:
        return linalg_eigvalsh(
            a,
            b,
            lower=lower,
            type=type,
            check_finite=check_finite,
            subset_by_index=subset_by_index,
            subset_by_value=subset_by_value,
            driver=driver,
        )
    if not driver == "evd":
        primitives.refuse(
            "`scipy.linalg.eigh` with eigenvectors, whose signs are those of another routine,",
            "use np.linalg.eigh, or pass driver='evd', which is the routine that np.linalg.eigh has",
        )
    a = need_eigh(a, b, type, check_finite, subset_by_index, subset_by_value)
    need_double(a, "eigh")
    w, v = np.linalg.eigh(a, "L" if lower else "U")
    return w, in_columns(v)


def mirrored(a: Any, lower: Any, is_hermitian: bool) -> Any:
    """The symmetric or Hermitian matrix that one half of a matrix is."""
    n = a.shape[0]
    rows, columns = np.arange(n)[:, None], np.arange(n)
    if not is_hermitian or a.dtype.kind != "c":
        return np.where(rows >= columns if lower else rows <= columns, a, a.T)
    whole = np.where(rows > columns if lower else rows < columns, a, np.conj(a.T))
    return np.where(rows == columns, (a.real + 0j).astype(a.dtype), whole)


def structured(a: Any, assume_a: Any, lower: Any) -> Any:
    """The matrix that `solve` takes one for."""
    n = a.shape[0]
    rows, columns = np.arange(n)[:, None], np.arange(n)
    if assume_a is None or assume_a == "general" or assume_a == "gen":
        return a
    if assume_a == "sym" or assume_a == "symmetric":
        return mirrored(a, lower, False)
    if assume_a == "her" or assume_a == "hermitian" or assume_a == "pos" or assume_a == "positive definite":
        return mirrored(a, lower, True)
    zero = np.zeros((), a.dtype)
    if assume_a == "diagonal":
        return np.where(rows == columns, a, zero)
    if assume_a == "tridiagonal":
        return np.where(abs(rows - columns) <= 1, a, zero)
    if assume_a == "upper triangular":
        return np.where(rows <= columns, a, zero)
    if assume_a == "lower triangular":
        return np.where(rows >= columns, a, zero)
    if assume_a == "banded":
        primitives.refuse("`assume_a='banded'` of `scipy.linalg.solve`", "leave it out")
    raise ValueError(f"{assume_a} is not a recognized matrix structure")


def linalg_solve(
    a: Any,
    b: Any,
    lower: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
    assume_a: Any = None,
    transposed: Any = False,
) -> Any:
    a = need_finite(a, check_finite)
    b = need_finite(b, check_finite)
    if a.ndim != 2 or b.ndim == 0 or b.ndim > 2:
        primitives.refuse("`scipy.linalg.solve` of other than one matrix and vectors", "use np.linalg.solve")
    if a.dtype == np.float16 or b.dtype == np.float16:
        dtype = lapack_dtype(a, b)
        a, b = a.astype(dtype), b.astype(dtype)
    need_square(a)
    if transposed and a.dtype.kind == "c":
        raise NotImplementedError("scipy.linalg.solve can currently not solve a^T x = b or a^H x = b for complex matrices.")
    if a.shape[0] != b.shape[0] and a.size != 1:
        columns = b if b.ndim == 2 else b[:, None]
        raise ValueError(f"incompatible shapes: a1.shape={a.shape} and b1.shape={columns.shape}")
    if a.size == 1:
        if a[0, 0] == 0:
            raise np.linalg.LinAlgError("A singular matrix detected.")
        return b / a[0, 0]
    a = structured(a, assume_a, lower)
    try:
        if assume_a == "pos" or assume_a == "positive definite":
            np.linalg.cholesky(a)  # others are singular to it
        return np.linalg.solve(a.T, b) if transposed else np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        pass
    raise np.linalg.LinAlgError("A singular matrix detected: slice(s) [0] are singular.")


def linalg_det(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    a = need_finite(a, check_finite)
    if a.ndim < 2:
        raise ValueError("The input array must be at least two-dimensional.")
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Last 2 dimensions of the array must be square but received shape {a.shape}.")
    return np.linalg.det(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64))


def linalg_norm(a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False, check_finite: Any = True) -> Any:
    a = need_finite(a, check_finite)
    if axis is not None or keepdims or a.ndim > 2 or a.dtype.kind not in "fc":
        return np.linalg.norm(a, ord, axis, keepdims)
    if a.ndim == 2 and (ord == 1 or ord == np.inf):
        primitives.refuse("`scipy.linalg.norm` of a matrix by its columns or rows, whose type depends on its layout,", "use np.linalg.norm")
    if a.ndim == 1 and (ord is None or ord == 2):
        return float(np.linalg.norm(a))
    return np.linalg.norm(a, ord)


def pade(a: Any, squares: Any, degree: int, coefficients: tuple[Any, ...]) -> Any:
    """The diagonal approximant of the exponential of a matrix, of powers of its square."""
    one = np.eye(a.shape[0], dtype=a.dtype)
    odd = coefficients[1] * one
    even = coefficients[0] * one
    for k in range(1, degree // 2 + 1):
        odd = odd + coefficients[2 * k + 1] * squares[k - 1]
        even = even + coefficients[2 * k] * squares[k - 1]
    u = a @ odd
    return np.linalg.solve(even - u, even + u)


B3 = (120.0, 60.0, 12.0, 1.0)
B5 = (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0)
B7 = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
B9 = (17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0, 3960.0, 90.0, 1.0)
B13 = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
       670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)  # fmt: skip


def exponential(a: Any) -> Any:
    """By scaling, a Pade approximant of as low a degree as is exact, and squaring (Higham 2005)."""
    norm = np.max(np.sum(abs(a), axis=0))
    a2 = a @ a
    if norm <= 1.495585217958292e-2:
        return pade(a, (a2,), 3, B3)
    a4 = a2 @ a2
    if norm <= 2.539398330063230e-1:
        return pade(a, (a2, a4), 5, B5)
    a6 = a4 @ a2
    if norm <= 9.504178996162932e-1:
        return pade(a, (a2, a4, a6), 7, B7)
    a8 = a4 @ a4
    if norm <= 2.097847961257068:
        return pade(a, (a2, a4, a6, a8), 9, B9)
    halvings = max(0, int(np.ceil(np.log2(norm / 5.371920351148152)))) if norm < np.inf else 0
    scale = 0.5**halvings
    s2, s4, s6 = a2 * scale**2, a4 * scale**4, a6 * scale**6
    one = np.eye(a.shape[0], dtype=a.dtype)
    odd = s6 @ (B13[13] * s6 + B13[11] * s4 + B13[9] * s2) + B13[7] * s6 + B13[5] * s4 + B13[3] * s2 + B13[1] * one
    even = s6 @ (B13[12] * s6 + B13[10] * s4 + B13[8] * s2) + B13[6] * s6 + B13[4] * s4 + B13[2] * s2 + B13[0] * one
    u = (a * scale) @ odd
    result = np.linalg.solve(even - u, even + u)
    for _ in range(halvings):
        result = result @ result
    return result


def linalg_expm(A: Any) -> Any:
    a = np.asarray(A)
    if a.ndim < 2:
        if a.ndim == 1 and a.size != 1:
            raise np.linalg.LinAlgError("The input array must be at least two-dimensional")
        primitives.refuse("`scipy.linalg.expm` of what is no matrix", "use np.exp")
    need_one(a, "expm")
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if a.dtype.kind not in "fc":
        a = a.astype(np.float64)
    elif a.dtype == np.float16:
        a = a.astype(np.float32)
    dtype = a.dtype
    n = a.shape[0]
    if n < 2:
        return np.exp(a)
    rows, columns = np.arange(n)[:, None], np.arange(n)
    zero = np.zeros((), dtype)
    is_upper = not np.any(np.where(rows > columns, a, zero))
    is_lower = not np.any(np.where(rows < columns, a, zero))
    if is_upper and is_lower:
        return np.diag(np.exp(np.diag(a)))
    result = exponential(a.astype(np.complex128 if dtype.kind == "c" else np.float64)).astype(dtype)
    if is_upper:
        return np.where(rows <= columns, result, zero)
    return np.where(rows >= columns, result, zero) if is_lower else result
