"""Dense linear algebra by cuSOLVER, on matrices and batches of them.

    from ingot.cuda import solver

    x = solver.solve(a, b)

The functions are those of `np.linalg` with the same shapes and errors, but for dtypes: `ingot.Array`s are of float32,
float64, complex64 or complex128, and what is computed is computed at that precision. All of them wait. docs/cuda.md has
the rules.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _ingot
from .._arrays.array import Array
from .._errors import DeviceError
from ._libraries import in_stream, operands
from ._memory import device_array, to_device


class SlogdetResult(NamedTuple):
    """Signs, and logarithms of absolute values.

    Parameters
    ----------
    sign, logabsdet : Array
        The fields of the named tuple.
    """

    sign: Array
    logabsdet: Array


class QRResult(NamedTuple):
    """A matrix with orthonormal columns, and an upper triangular one.

    Parameters
    ----------
    Q, R : Array
        The fields of the named tuple.
    """

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """Left singular vectors, singular values, and right singular vectors.

    Parameters
    ----------
    U, S, Vh : Array
        The fields of the named tuple.
    """

    U: Array
    S: Array
    Vh: Array


class EighResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns.

    Parameters
    ----------
    eigenvalues, eigenvectors : Array
        The fields of the named tuple.
    """

    eigenvalues: Array
    eigenvectors: Array


class LstsqResult(NamedTuple):
    """Solutions of least squares.

    Parameters
    ----------
    x, residuals : Array
        Solutions, and sums of squares of the residuals (none where the rank is less than the columns).
    rank : int
        The rank.
    s : Array
        Singular values.
    """

    x: Array
    residuals: Array
    rank: int
    s: Array


def _square(a: Array) -> None:
    _matrices(a)
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def _matrices(a: Array) -> None:
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")


def _real(a: Array) -> np.dtype:
    return np.finfo(a.dtype).dtype


def _call(routine: str, inputs: list[Array], outputs: list[Array], message: str) -> None:
    """Calls a routine, whose outputs are new; LinAlgError with the message where it has failed for a matrix."""
    if any(array.size == 0 for array in (*inputs, *outputs)):
        return
    failed = device_array(1, np.int64)
    if not _ingot.library_routine(routine, [*inputs, *outputs, failed]):
        raise _unavailable(inputs[0])
    if int(failed[0]):
        raise np.linalg.LinAlgError(message)


def _unavailable(a: Array) -> Exception:
    why = _ingot.why_no_library(a._handle, "solver") or _ingot.why_no_library(a._handle, "blas")
    return DeviceError(why or f"{a.device}: cuSOLVER takes no matrices of the shape {a.shape}")


def solve(a: Array, b: Array, stream: Any = 0) -> Array:
    """Solve ``a @ x = b``.

    Parameters
    ----------
    a : Array
        A square matrix, or a batch of them along the first axes.
    b : Array
        A vector if it has one axis, else matrices of the same batch.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Returns
    -------
    Array
        The solution x.

    Raises
    ------
    LinAlgError
        `a` is singular.

    See Also
    --------
    lstsq, inv

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     a, b = cuda.to_device([[2.0, 0.0], [0.0, 4.0]]), cuda.to_device([2.0, 2.0])
    ...     print(cuda.solver.solve(a, b))
    [1.  0.5]
    """
    queue = operands(a, b, stream=stream)
    _square(a)
    core = 1 if b.ndim == 1 else 2
    if b.ndim == 0 or b.shape[b.ndim - core] != a.shape[-1] or (core == 2 and b.shape[:-2] != a.shape[:-2]):
        raise ValueError(f"solve: matrices of shape {a.shape}, and right sides of shape {b.shape}")
    if core == 1 and a.ndim > 2:
        raise ValueError("solve: one vector for a batch of matrices: give it for each of them")
    with in_stream(queue), a.device:
        x = device_array(b.shape, a.dtype)
        _call("linalg.solve1" if core == 1 else "linalg.solve", [a, b], [x], "Singular matrix")
    return x


def inv(a: Array, stream: Any = 0) -> Array:
    """Return inverse matrices.

    Parameters
    ----------
    a : Array
        A square matrix, or a batch of them.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Returns
    -------
    Array
        Of the shape of `a`.

    Raises
    ------
    LinAlgError
        A matrix is singular.

    See Also
    --------
    solve
    """
    queue = operands(a, stream=stream)
    _square(a)
    with in_stream(queue), a.device:
        result = device_array(a.shape, a.dtype)
        _call("linalg.inv", [a], [result], "Singular matrix")
    return result


def det(a: Array, stream: Any = 0) -> Array:
    """Return determinants.

    Parameters
    ----------
    a : Array
        A square matrix, or a batch of them.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Returns
    -------
    Array
        Without the last two axes.

    See Also
    --------
    slogdet
    """
    queue = operands(a, stream=stream)
    _square(a)
    with in_stream(queue), a.device:
        result = device_array(a.shape[:-2], a.dtype)
        if a.shape[-1] == 0:
            result[...] = 1
        _call("linalg.det", [a], [result], "")
    return result


def slogdet(a: Array, stream: Any = 0) -> SlogdetResult:
    """Return signs of determinants, and logarithms of their absolute values.

    Parameters
    ----------
    a : Array
        A square matrix, or a batch of them.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Returns
    -------
    SlogdetResult
        Signs of complex matrices are numbers of absolute value 1.

    See Also
    --------
    det
    """
    queue = operands(a, stream=stream)
    _square(a)
    with in_stream(queue), a.device:
        result = SlogdetResult(device_array(a.shape[:-2], a.dtype), device_array(a.shape[:-2], _real(a)))
        if a.shape[-1] == 0:
            result.sign[...], result.logabsdet[...] = 1, 0
        _call("linalg.slogdet", [a], list(result), "")
    return result


def cholesky(a: Array, upper: bool = False, stream: Any = 0) -> Array:
    """Return triangular factors of positive definite matrices.

    Parameters
    ----------
    a : Array
        A Hermitian matrix, or a batch of them, of which one triangle is read.
    upper : bool, default False
        Whether it is the upper one, and factors are upper triangular.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Returns
    -------
    Array
        The factors.

    Raises
    ------
    LinAlgError
        A matrix is not positive definite.
    """
    queue = operands(a, stream=stream)
    _square(a)
    with in_stream(queue), a.device:
        result = device_array(a.shape, a.dtype)
        routine = "linalg.cholesky_up" if upper else "linalg.cholesky_lo"
        _call(routine, [a], [result], "Matrix is not positive definite")
    return result


def qr(a: Array, mode: str = "reduced", stream: Any = 0) -> Any:
    """Return QR factorisations of matrices.

    Parameters
    ----------
    a : Array
        A matrix, or a batch of them.
    mode : {"reduced", "complete", "r"}, default "reduced"
        As of `numpy.linalg.qr`.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Returns
    -------
    QRResult or Array
        Q and R; R alone where the mode is ``"r"``.
    """
    queue = operands(a, stream=stream)
    _matrices(a)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    m, n = a.shape[-2:]
    k = min(m, n)
    columns = m if mode == "complete" else k
    message = "Incorrect argument found while performing QR factorization"
    with in_stream(queue), a.device:
        factored, tau = a.copy(), device_array((*a.shape[:-2], k), a.dtype)
        _call("linalg.qr_r_raw", [factored], [tau], message)
        r = np.triu(factored[..., :columns, :])
        if mode == "r":
            return r
        q = device_array((*a.shape[:-2], m, columns), a.dtype)
        if k == 0:
            q[...] = np.eye(m, columns, dtype=a.dtype)
        _call("linalg.qr_reduced", [factored, tau], [q], message)
    return QRResult(q, r)


def svd(a: Array, full_matrices: bool = True, compute_uv: bool = True, stream: Any = 0) -> Any:
    """Return singular values and singular vectors of matrices.

    Parameters
    ----------
    a : Array
        A matrix, or a batch of them.
    full_matrices : bool, default True
        All singular vectors, or as many as there are values.
    compute_uv : bool, default True
        Whether vectors are computed.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Returns
    -------
    SVDResult or Array
        Values in descending order, and vectors; the values alone without `compute_uv`.
    """
    queue = operands(a, stream=stream)
    _matrices(a)
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    k = min(m, n)
    message = "SVD did not converge"
    with in_stream(queue), a.device:
        s = device_array((*batch, k), _real(a))
        if not compute_uv:
            _call("linalg.svd", [a], [s], message)
            return s
        u = device_array((*batch, m, m if full_matrices else k), a.dtype)
        vh = device_array((*batch, n if full_matrices else k, n), a.dtype)
        if k == 0:
            u[...], vh[...] = np.eye(*u.shape[-2:], dtype=a.dtype), np.eye(*vh.shape[-2:], dtype=a.dtype)
        _call("linalg.svd_f" if full_matrices else "linalg.svd_s", [a], [u, s, vh], message)
    return SVDResult(u, s, vh)


def eigh(a: Array, UPLO: str = "L", stream: Any = 0) -> EighResult:
    """Return eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    a : Array
        A Hermitian matrix, or a batch of them.
    UPLO : {"L", "U"}, default "L"
        The triangle that is read.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Returns
    -------
    EighResult
        Eigenvalues in ascending order.

    See Also
    --------
    eigvalsh
    """
    queue = operands(a, stream=stream)
    routine = "linalg.eigh_lo" if _is_lower(a, UPLO) else "linalg.eigh_up"
    with in_stream(queue), a.device:
        result = EighResult(device_array(a.shape[:-1], _real(a)), device_array(a.shape, a.dtype))
        _call(routine, [a], list(result), "Eigenvalues did not converge")
    return result


def eigvalsh(a: Array, UPLO: str = "L", stream: Any = 0) -> Array:
    """Return eigenvalues of Hermitian matrices.

    Parameters
    ----------
    a, UPLO, stream
        As of `eigh`.

    Returns
    -------
    Array
        In ascending order.

    See Also
    --------
    eigh
    """
    queue = operands(a, stream=stream)
    routine = "linalg.eigvalsh_lo" if _is_lower(a, UPLO) else "linalg.eigvalsh_up"
    with in_stream(queue), a.device:
        values = device_array(a.shape[:-1], _real(a))
        _call(routine, [a], [values], "Eigenvalues did not converge")
    return values


def lstsq(a: Array, b: Array, rcond: float | None = None, stream: Any = 0) -> LstsqResult:
    """Return the shortest x of least ``norm(b - a @ x)``.

    Parameters
    ----------
    a : Array
        A matrix.
    b : Array
        Right sides, with one or two axes.
    rcond : float, optional
        Singular values of at most this times the largest count as 0; by default eps of the dtype times the longer side.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Returns
    -------
    LstsqResult
        Solutions, residuals, rank and singular values.

    See Also
    --------
    solve
    """
    queue = operands(a, b, stream=stream)
    if a.ndim != 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim not in (1, 2):
        raise np.linalg.LinAlgError(f"{b.ndim}-dimensional array given. Array must be two-dimensional")
    (m, n), sides = a.shape, b.shape[1] if b.ndim == 2 else 1
    if b.shape[0] != m:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    with in_stream(queue), a.device:
        x, s = device_array((n, sides), a.dtype), device_array(min(m, n), _real(a))
        residuals, rank = device_array(sides, _real(a)), device_array((), np.int32)
        x[...], rank[...] = 0, 0
        limit = to_device(np.asarray(np.finfo(a.dtype).eps * max(m, n) if rcond is None else rcond, _real(a)))
        right = b[:, None] if b.ndim == 1 else b
        message = "SVD did not converge in Linear Least Squares"
        _call("linalg.lstsq", [a, right, limit], [x, residuals, rank, s], message)
        found = int(rank[()])
        return LstsqResult(x[:, 0] if b.ndim == 1 else x, residuals if found == n and m > n else residuals[:0], found, s)


def _is_lower(a: Array, triangle: str) -> bool:
    if triangle not in ("L", "U", "l", "u"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    _square(a)
    return triangle in ("L", "l")


__all__ = [
    "EighResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "qr",
    "slogdet",
    "solve",
    "svd",
]


def __dir__() -> list[str]:
    return sorted(__all__)
