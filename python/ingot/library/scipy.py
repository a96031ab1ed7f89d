"""Functions of SciPy's by those of NumPy's, with SciPy's parameters and exceptions; values agree up to rounding.

Parameters that only allow something - `overwrite_a`, `workers` - change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives


def need_points(n: Any) -> None:
    if n is not None and n < 1:
        raise ValueError(f"invalid number of data points ({n}) specified")


def need_no_plan(plan: Any) -> None:
    if plan is not None:
        raise NotImplementedError("Passing a precomputed plan is not yet supported by scipy.fft functions")


def fft_fft(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    need_points(n)
    return np.fft.fft(x, n, axis, norm)


def fft_ifft(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    need_points(n)
    return np.fft.ifft(x, n, axis, norm)


def fft_rfft(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    need_points(n)
    return np.fft.rfft(x, n, axis, norm)


def fft_irfft(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    need_points(n)
    return np.fft.irfft(x, n, axis, norm)


def fft_hfft(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    need_points(n)
    return np.fft.hfft(x, n, axis, norm)


def fft_ihfft(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    need_points(n)
    return np.fft.ihfft(x, n, axis, norm)


def fft_fft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    return np.fft.fft2(x, s, axes, norm)


def fft_ifft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    return np.fft.ifft2(x, s, axes, norm)


def fft_rfft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    return np.fft.rfft2(x, s, axes, norm)


def fft_irfft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    return np.fft.irfft2(x, s, axes, norm)


def fft_fftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    return np.fft.fftn(x, s, axes, norm)


def fft_ifftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    return np.fft.ifftn(x, s, axes, norm)


def fft_rfftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    return np.fft.rfftn(x, s, axes, norm)


def fft_irfftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None) -> Any:
    need_no_plan(plan)
    return np.fft.irfftn(x, s, axes, norm)


def fft_fftfreq(n: Any, d: Any = 1.0) -> Any:
    return np.fft.fftfreq(n, d)


def fft_rfftfreq(n: Any, d: Any = 1.0) -> Any:
    return np.fft.rfftfreq(n, d)


def fft_fftshift(x: Any, axes: Any = None) -> Any:
    return np.fft.fftshift(x, axes)


def fft_ifftshift(x: Any, axes: Any = None) -> Any:
    return np.fft.ifftshift(x, axes)


def integrate_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    return np.trapezoid(y, x, dx, axis)


def integrate_simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: Any = -1) -> Any:
    y = np.asarray(y)
    if y.ndim != 1:
        primitives.refuse("`scipy.integrate.simpson` of an array of several axes", "integrate row by row")
    if x is not None:
        x = np.asarray(x)
        if x.ndim != 1:
            raise ValueError("If given, shape of x must be 1-D or the same as y.")
        if x.shape[0] != y.shape[0]:
            raise ValueError("If given, length of x along axis must be the same as y.")
    n = len(y)
    if n % 2 == 1:
        return simpson_of_odd(y, 0, n - 2, x, dx)
    if n == 2:
        return 0.5 * (dx if x is None else x[-1] - x[-2]) * (y[-1] + y[-2]) + 0.0
    if x is None:
        first = second = np.float64(dx)
    else:
        first, second = np.float64(x[-2] - x[-3]), np.float64(x[-1] - x[-2])
    alpha = quotient_or_0(2 * second**2 + 3 * first * second, 6 * (second + first))
    beta = quotient_or_0(second**2 + 3.0 * first * second, 6 * first)
    eta = quotient_or_0(second**3, 6 * first * (first + second))
    return simpson_of_odd(y, 0, n - 3, x, dx) + (alpha * y[-1] + beta * y[-2] - eta * y[-3])


def quotient_or_0(a: Any, b: Any) -> Any:
    return a / b if b != 0 else np.float64(0.0)


def simpson_of_odd(y: Any, start: Any, stop: Any, x: Any, dx: Any) -> Any:
    """Simpson's rule for pairs of intervals."""
    if x is None:
        return np.sum(y[start:stop:2] + 4.0 * y[start + 1 : stop + 1 : 2] + y[start + 2 : stop + 2 : 2]) * (dx / 3.0)
    h = np.diff(x)
    h0 = h[start:stop:2].astype(np.float64)
    h1 = h[start + 1 : stop + 1 : 2].astype(np.float64)
    both = h0 + h1
    product = h0 * h1
    ratio = np.where(h1 != 0, h0 / np.where(h1 != 0, h1, 1.0), 0.0)
    inverse = np.where(ratio != 0, 1.0 / np.where(ratio != 0, ratio, 1.0), 0.0)
    middle = np.where(product != 0, both / np.where(product != 0, product, 1.0), 0.0)
    parts = y[start:stop:2] * (2.0 - inverse) + y[start + 1 : stop + 1 : 2] * (both * middle) + y[start + 2 : stop + 2 : 2] * (2.0 - ratio)
    return np.sum(both / 6.0 * parts)


def special_softmax(x: Any, axis: Any = None) -> Any:
    shifted = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return shifted / np.sum(shifted, axis=axis, keepdims=True)


def special_log_softmax(x: Any, axis: Any = None) -> Any:
    largest = np.max(x, axis=axis, keepdims=True)
    shifted = x - np.where(np.isfinite(largest), largest, 0 * np.ones_like(largest))
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def special_logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: Any = False, return_sign: Any = False) -> Any:
    if return_sign or b is not None:
        primitives.refuse("`b` or `return_sign` of `scipy.special.logsumexp`", "scale the sum by hand")
    a = np.atleast_1d(np.asarray(a))
    if a.dtype.kind == "c":
        primitives.refuse("`scipy.special.logsumexp` of complex numbers", "take the logarithm of a sum")
    if a.dtype.kind != "f":
        a = a.astype(np.float64)
    if a.size == 0:
        return np.sum(a, axis=axis, keepdims=keepdims) - np.inf
    largest = np.max(a, axis=axis, keepdims=True)
    is_largest = a == largest
    count = np.sum(is_largest.astype(a.dtype), axis=axis, keepdims=True)
    rest = np.sum(np.exp(np.where(is_largest, -np.inf, a) - largest), axis=axis, keepdims=True)
    quotient = np.where(rest == 0, rest, rest / count)
    result = np.log1p(quotient) + np.log(count) + largest
    direct = np.log(np.sum(np.exp(a), axis=axis, keepdims=True))
    result = np.where(np.isfinite(result), result, direct).astype(a.dtype)
    if keepdims:
        return result
    return np.squeeze(result, axis=tuple(range(a.ndim)) if axis is None else axis)[()]


def sparse_product(matrix: Any, x: Any) -> Any:
    """A sparse matrix in rows, times a vector or a matrix: sums in the order in which elements are stored, as SciPy's."""
    if matrix._format != "csr" or not isinstance(x, np.ndarray) or x.ndim == 0 or x.ndim > 2:
        primitives.refuse("a product of sparse matrices other than of a CSR matrix and an array of one or two axes", "use `tocsr()` outside")
    rows, columns = matrix._shape
    elements, indices, starts = matrix.data, matrix.indices, matrix.indptr
    if elements.dtype.kind == "b" or x.dtype.kind == "b" or x.dtype == np.float16:
        primitives.refuse("a product of a sparse matrix at bool or float16", "convert with .astype(np.float64)")
    if x.shape[0] != columns:
        if x.ndim == 1 or x.shape[1] == 1:
            raise ValueError(f"matmul: dimension mismatch with signature (n,k={columns}),(k={x.shape[0]},1?)->(n,1?)")
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={columns}),(k={x.shape[0]},m)->(n,m)")
    dtype = np.result_type(elements.dtype, x.dtype)
    if x.ndim == 1:
        result = np.zeros(rows, dtype)
        for i in range(rows):
            total = result[i]
            for k in range(starts[i], starts[i + 1]):
                total = total + primitives.at_dtype(elements[k], dtype) * primitives.at_dtype(x[indices[k]], dtype)
            result[i] = total
        return result
    product = np.zeros((rows, x.shape[1]), dtype)
    for i in range(rows):
        for k in range(starts[i], starts[i + 1]):
            factor = primitives.at_dtype(elements[k], dtype)
            row = x[indices[k]]
            for j in range(x.shape[1]):
                product[i, j] = product[i, j] + factor * primitives.at_dtype(row[j], dtype)
    return product


def sparse_shape(matrix: Any) -> tuple[int, ...]:
    return matrix._shape
