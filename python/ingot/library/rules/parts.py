"""What several rules are made of."""

from __future__ import annotations

from typing import Any

import numpy as np


def transposed(x: Any) -> Any:
    """Matrices with rows for columns."""
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """Matrices, transposed and conjugated."""
    return np.conjugate(np.swapaxes(x, -1, -2))


def unit(n: Any, x: Any) -> Any:
    """The unit matrix of n rows, of the dtype of x."""
    return np.eye(n, dtype=x.dtype)


def real_diagonal(x: Any) -> Any:
    """The real part of the diagonals of matrices."""
    return np.real(np.diagonal(x, axis1=-2, axis2=-1))


def scalars(x: Any) -> Any:
    """Numbers, one for each matrix of a stack, as matrices of one element."""
    return np.asarray(x)[..., None, None]


def reciprocal_or_0(x: Any, limit: Any) -> Any:
    """1 / x, and 0 where x is not larger than a limit."""
    is_0 = (np.abs(x) <= limit).astype(x.dtype)
    return (1 - is_0) / (x + is_0)


def as_cotangent(c: Any, x: Any) -> Any:
    """The cotangent c of x: of its dtype, and of its shape where x was broadcast."""
    if c.dtype.kind == "c" and x.dtype.kind != "c":
        c = np.real(c)
    if c.ndim > x.ndim:
        c = np.sum(c, axis=tuple(range(c.ndim - x.ndim)))
    for axis in range(x.ndim):
        if x.shape[axis] == 1:
            c = np.sum(c, axis=axis, keepdims=True)
    return c.astype(x.dtype) if x.dtype.kind in "fc" and c.dtype != x.dtype else c
