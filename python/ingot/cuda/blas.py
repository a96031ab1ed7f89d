"""Operations on vectors and matrices by cuBLAS, in the spelling of NumbaPro's `cublas`.

    from ingot import cuda
    from ingot.cuda import blas

    blas.axpy(2.0, x, y)                                # y += 2 * x
    blas.gemm("N", "N", m, n, k, 1.0, a, b, 0.0, c)     # c = a @ b

Arrays are `ingot.Array`s on one device, all of a call of one dtype: float32, float64, complex64 or complex128. Matrices are
what they are for NumPy, in any order: `m`, `n` and `k` are the rows and columns of op(a) @ op(b). The functions are the
methods of a `Blas()`; `Blas(stream)` has its own stream. docs/cuda.md has the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _ingot
from .._arrays.array import Array
from ._libraries import apart, in_stream, lies_like, operands, overlap, written

_OPERATIONS = ("N", "T", "C")


def _vector(x: Array, name: str, is_written: bool = False) -> Array:
    """A vector as the library takes it: with whole elements from one to the next, and not 0."""
    if x.ndim != 1:
        raise ValueError(f"{name} has {x.ndim} axes: a vector is wanted")
    if x.size > 1 and (x.strides[0] == 0 or x.strides[0] % x.itemsize != 0):
        if is_written:
            raise ValueError(f"the elements of {name} share memory, or have a stride that is no multiple of an element")
        return x.copy()
    return x


def _pair(x: Array, y: Array, is_written: bool = False) -> tuple[Array, Array]:
    if x.shape != y.shape:
        raise ValueError(f"vectors of shapes {x.shape} and {y.shape}")
    x, y = _vector(x, "x"), _vector(y, "y", is_written)
    if is_written:
        written(y)
        x = x if lies_like(x, y) else apart(x, y)
    return x, y


def _operation(name: str, x: Array, operation: Any) -> tuple[Array, bool]:
    """op(x), and whether it is conjugate."""
    if operation not in _OPERATIONS:
        raise ValueError(f"{name} is 'N', 'T' or 'C', not {operation!r}")
    if operation == "N":
        return x, False
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return x.transpose(axes), operation == "C"


def _need_shape(name: str, x: Array, shape: tuple[int, ...]) -> None:
    if x.shape != shape:
        raise ValueError(f"{name} has the shape {x.shape}, where {shape} is wanted")


def _target(c: Array, name: str) -> None:
    """Raises where a matrix, or a batch, cannot be written by the library."""
    written(c)
    size, lead = c.itemsize, c.strides[-2:]
    rows, columns = c.shape[-2:]
    is_by_rows = (columns <= 1 or lead[1] == size) and (rows <= 1 or lead[0] >= columns * size)
    is_by_columns = (rows <= 1 or lead[0] == size) and (columns <= 1 or lead[1] >= rows * size)
    is_whole = all(stride % size == 0 and (length <= 1 or stride > 0) for stride, length in zip(c.strides, c.shape, strict=True))
    if c.size > 0 and not ((is_by_rows or is_by_columns) and is_whole):
        raise ValueError(f"neither the rows nor the columns of {name} are contiguous")


class Blas:
    """Operations of cuBLAS in a stream; the functions of this module are methods of ``Blas()``.

    Parameters
    ----------
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Notes
    -----
    Arrays are `ingot.Array` on one device, all of a call of one dtype: float32, float64, complex64 or complex128. Matrices are
    those of NumPy, in any order. What differs raises TypeError or ValueError, an error of the library `ingot.cuda.LibraryError`.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     x, y = cuda.to_device([1.0, 2.0]), cuda.to_device([3.0, 4.0])
    ...     cuda.blas.axpy(10.0, x, y)
    ...     print(y, cuda.blas.dot(x, y))
    [13. 24.] 61.0
    """

    def __init__(self, stream: Any = 0) -> None:
        operands(stream=stream)
        self.stream = stream

    def dot(self, x: Array, y: Array) -> Any:
        """Return the sum of ``x * y``.

        Parameters
        ----------
        x, y : Array
            Vectors of one length and dtype.

        Returns
        -------
        number
            Of their dtype. The call waits for it.

        See Also
        --------
        dotc
        """
        return self._dot(x, y, False)

    def dotc(self, x: Array, y: Array) -> Any:
        """Return the sum of ``conj(x) * y``.

        Parameters
        ----------
        x, y : Array
            Vectors of one length and dtype.

        Returns
        -------
        number
            Of their dtype. The call waits for it.

        See Also
        --------
        dot
        """
        return self._dot(x, y, True)

    def _dot(self, x: Array, y: Array, conjugates: bool) -> Any:
        queue = operands(x, y, stream=self.stream)
        with in_stream(queue):
            first, second = _pair(x, y)
            return _number(_ingot.blas_dot(first, second, conjugates), x.dtype)

    def axpy(self, alpha: Any, x: Array, y: Array) -> None:
        """Compute ``y += alpha * x``.

        Parameters
        ----------
        alpha : number
            The factor.
        x, y : Array
            Vectors of one length and dtype; `y` is written.
        """
        queue = operands(x, y, stream=self.stream)
        with in_stream(queue):
            _ingot.blas_axpy(_scalar(alpha, x.dtype), *_pair(x, y, True))

    def scal(self, alpha: Any, x: Array) -> None:
        """Compute ``x *= alpha``.

        Parameters
        ----------
        alpha : number
            The factor.
        x : Array
            A vector, which is written.
        """
        queue = operands(x, stream=self.stream)
        written(x)
        with in_stream(queue):
            _ingot.blas_scale(_scalar(alpha, x.dtype), _vector(x, "x", True))

    def copy(self, x: Array, y: Array) -> None:
        """Compute ``y[:] = x``.

        Parameters
        ----------
        x, y : Array
            Vectors of one length and dtype; `y` is written.
        """
        queue = operands(x, y, stream=self.stream)
        with in_stream(queue):
            _ingot.blas_copy(*_pair(x, y, True))

    def swap(self, x: Array, y: Array) -> None:
        """Exchange the elements of two vectors.

        Parameters
        ----------
        x, y : Array
            Vectors of one length and dtype that share no memory; both are written.
        """
        queue = operands(x, y, stream=self.stream)
        written(x)
        if overlap(x, y):
            raise ValueError("vectors that share elements cannot be exchanged")
        with in_stream(queue):
            _vector(x, "x", True)
            _ingot.blas_swap(*_pair(x, y, True))

    def nrm2(self, x: Array) -> Any:
        """Return the square root of the sum of ``abs(x)**2``.

        Parameters
        ----------
        x : Array
            A vector.

        Returns
        -------
        float
            The call waits for it.
        """
        return self._reduced(_ingot.blas_norm, x)

    def asum(self, x: Array) -> Any:
        """Return the sum of ``abs(x.real) + abs(x.imag)``.

        Parameters
        ----------
        x : Array
            A vector.

        Returns
        -------
        float
            The call waits for it.
        """
        return self._reduced(_ingot.blas_sizes, x)

    def _reduced(self, function: Any, x: Array) -> Any:
        queue = operands(x, stream=self.stream)
        with in_stream(queue):
            return np.finfo(x.dtype).dtype.type(function(_vector(x, "x")))

    def amax(self, x: Array) -> int:
        """Return the index of the first element of largest ``abs(x.real) + abs(x.imag)``.

        Parameters
        ----------
        x : Array
            A vector.

        Returns
        -------
        int
            Counted from 0. The call waits for it.

        See Also
        --------
        amin
        """
        return self._place(_ingot.blas_largest, x)

    def amin(self, x: Array) -> int:
        """Return the index of the first element of smallest ``abs(x.real) + abs(x.imag)``.

        Parameters
        ----------
        x : Array
            A vector.

        Returns
        -------
        int
            Counted from 0. The call waits for it.

        See Also
        --------
        amax
        """
        return self._place(_ingot.blas_smallest, x)

    def _place(self, function: Any, x: Array) -> int:
        queue = operands(x, stream=self.stream)
        if x.size == 0:
            raise ValueError("a vector without elements has no largest one, and no smallest")
        with in_stream(queue):
            return function(_vector(x, "x"))

    def gemv(self, trans: str, m: int, n: int, alpha: Any, a: Array, x: Array, beta: Any, y: Array) -> None:
        """Compute ``y = alpha * op(a) @ x + beta * y``.

        Parameters
        ----------
        trans : {"N", "T", "C"}
            What op does: nothing, transpose, or transpose and conjugate.
        m, n : int
            Rows and columns of `a`.
        alpha, beta : number
            Factors. Where `beta` is 0, `y` is not read.
        a : Array
            A matrix of shape ``(m, n)``.
        x, y : Array
            Vectors; `y` is written.
        """
        queue = operands(a, x, y, stream=self.stream)
        _need_shape("a", a, (m, n))
        factor, is_conjugate = _operation("trans", a, trans)
        _need_shape("x", x, factor.shape[1:])
        _need_shape("y", y, factor.shape[:1])
        with in_stream(queue):
            self._product(alpha, factor, is_conjugate, x[:, None], False, beta, _vector(y, "y", True)[:, None], "y")

    def ger(self, m: int, n: int, alpha: Any, x: Array, y: Array, a: Array) -> None:
        """Compute ``a += alpha * x[:, None] * y``.

        Parameters
        ----------
        m, n : int
            Rows and columns of `a`.
        alpha : number
            The factor.
        x, y : Array
            Vectors of lengths m and n.
        a : Array
            A matrix of shape ``(m, n)``, which is written.
        """
        queue = operands(x, y, a, stream=self.stream)
        _need_shape("x", x, (m,))
        _need_shape("y", y, (n,))
        _need_shape("a", a, (m, n))
        with in_stream(queue):
            self._product(alpha, x[:, None], False, y[None, :], False, 1, a, "a")

    def gemm(self, transa: str, transb: str, m: int, n: int, k: int, alpha: Any, a: Array, b: Array, beta: Any, c: Array) -> None:
        """Compute ``c = alpha * op(a) @ op(b) + beta * c``.

        Parameters
        ----------
        transa, transb : {"N", "T", "C"}
            What op does with `a` and `b`: nothing, transpose, or transpose and conjugate.
        m, n, k : int
            ``op(a)`` has the shape ``(m, k)``, ``op(b)`` ``(k, n)``.
        alpha, beta : number
            Factors. Where `beta` is 0, `c` is not read.
        a, b : Array
            Matrices of any layout.
        c : Array
            A matrix of shape ``(m, n)`` whose rows or columns are contiguous; it is written.

        See Also
        --------
        gemm_batched
        """
        queue = operands(a, b, c, stream=self.stream)
        for name, x in (("a", a), ("b", b), ("c", c)):
            if x.ndim != 2:
                raise ValueError(f"{name} has {x.ndim} axes: a matrix is wanted")
        self._gemm(transa, transb, (), (m, n, k), alpha, a, b, beta, c, queue)

    def gemm_batched(
        self, transa: str, transb: str, m: int, n: int, k: int, alpha: Any, a: Any, b: Any, beta: Any, c: Any
    ) -> None:
        """Compute what `gemm` computes, for each matrix of a batch.

        Parameters
        ----------
        transa, transb, m, n, k, alpha, beta
            As of `gemm`.
        a, b, c : Array, or sequence of Array
            Arrays of three axes, the first of which is the batch's, or sequences of matrices, of one length.

        See Also
        --------
        gemm
        """
        if all(isinstance(x, Array) for x in (a, b, c)):
            queue = operands(a, b, c, stream=self.stream)
            for name, x in (("a", a), ("b", b), ("c", c)):
                if x.ndim != 3:
                    raise ValueError(f"{name} has {x.ndim} axes: a batch of matrices has three")
            self._gemm(transa, transb, c.shape[:1], (m, n, k), alpha, a, b, beta, c, queue)
            return
        batches: list[Sequence[Array]] = [a, b, c]
        if len({len(batch) for batch in batches}) != 1:
            raise ValueError(f"batches of {len(a)}, {len(b)} and {len(c)} matrices")
        for x, y, z in zip(a, b, c, strict=True):
            self.gemm(transa, transb, m, n, k, alpha, x, y, beta, z)

    def _gemm(
        self, transa: Any, transb: Any, batch: tuple[int, ...], lengths: tuple[int, int, int], alpha: Any,
        a: Array, b: Array, beta: Any, c: Array, queue: Any,
    ) -> None:  # fmt: skip
        m, n, k = lengths
        left, is_left_conjugate = _operation("transa", a, transa)
        right, is_right_conjugate = _operation("transb", b, transb)
        _need_shape("op(a)", left, (*batch, m, k))
        _need_shape("op(b)", right, (*batch, k, n))
        _need_shape("c", c, (*batch, m, n))
        with in_stream(queue):
            self._product(alpha, left, is_left_conjugate, right, is_right_conjugate, beta, c, "c")

    def _product(
        self, alpha: Any, a: Array, conjugates_a: bool, b: Array, conjugates_b: bool, beta: Any, c: Array, name: str
    ) -> None:
        _target(c, name)
        factors = _scalar(alpha, c.dtype), _scalar(beta, c.dtype)
        _ingot.blas_product(factors[0], apart(a, c), conjugates_a, apart(b, c), conjugates_b, factors[1], c)


def _scalar(value: Any, dtype: np.dtype) -> complex:
    """A factor, which a real array has to have real."""
    number = complex(value)
    if dtype.kind == "f" and number.imag != 0:
        raise TypeError(f"a complex factor of arrays of dtype {dtype}")
    return number


def _number(value: complex, dtype: np.dtype) -> Any:
    return dtype.type(value if dtype.kind == "c" else value.real)


_own = Blas()
dot, dotc, axpy, scal, copy, swap = _own.dot, _own.dotc, _own.axpy, _own.scal, _own.copy, _own.swap
nrm2, asum, amax, amin = _own.nrm2, _own.asum, _own.amax, _own.amin
gemv, ger, gemm, gemm_batched = _own.gemv, _own.ger, _own.gemm, _own.gemm_batched

__all__ = [
    "Blas",
    "amax",
    "amin",
    "asum",
    "axpy",
    "copy",
    "dot",
    "dotc",
    "gemm",
    "gemm_batched",
    "gemv",
    "ger",
    "nrm2",
    "scal",
    "swap",
]


def __dir__() -> list[str]:
    return sorted(__all__)
