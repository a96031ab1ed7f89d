"""Products with sparse matrices by cuSPARSE.

    from ingot.cuda import sparse

    a = sparse.csr_matrix(x)     # of NumPy's or SciPy's, or of (data, indices, indptr)
    y = a @ b

Matrices and vectors are of float32, float64, complex64 or complex128, all of a call the same, on one device. docs/cuda.md
has the rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _ingot
from .._arrays.array import Array
from .._devices import Device
from ._libraries import FLOATS, apart, in_stream, operands, written
from ._memory import device_array, to_device

_OPERATIONS = {"N": 0, "T": 1, "C": 2}


class CSRMatrix:
    """A sparse matrix on a device, in compressed rows. It cannot be changed.

    Parameters
    ----------
    data, indices, indptr : Array
        The elements of row i are ``data[indptr[i]:indptr[i + 1]]``, in the columns ``indices[indptr[i]:indptr[i + 1]]``.
    shape : tuple of int
        Rows and columns.

    See Also
    --------
    csr_matrix : What makes it.

    Notes
    -----
    ``a @ x`` multiplies with a vector or a matrix on the device.
    """

    def __init__(self, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
        self.data: Array = data
        self.indices: Array = indices
        self.indptr: Array = indptr
        self.shape: tuple[int, int] = shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def device(self) -> Device:
        """The device that it is on."""
        return self.data.device

    @property
    def nnz(self) -> int:
        """How many elements are stored."""
        return self.data.size

    def __repr__(self) -> str:
        return f"<{self.shape[0]} x {self.shape[1]} sparse matrix of dtype {self.dtype} with {self.nnz} elements on {self.device}>"

    def to_host(self) -> np.ndarray:
        """Return a copy as a dense array of NumPy's.

        Returns
        -------
        numpy.ndarray
            What is stored more than once is added.
        """
        data, indices, indptr = (x.to_host() for x in (self.data, self.indices, self.indptr))
        dense = np.zeros(self.shape, self.dtype)
        np.add.at(dense, (np.repeat(np.arange(self.shape[0]), np.diff(indptr)), indices), data)
        return dense

    def __matmul__(self, other: Any) -> Array:
        """The product with a vector or a matrix on the device, as a new array."""
        if not isinstance(other, Array):
            return NotImplemented
        if other.ndim not in (1, 2):
            raise ValueError(f"the product of a sparse matrix and an array of {other.ndim} axes")
        with other.device:
            result = device_array((self.shape[0], *other.shape[1:]), self.dtype)
        (csrmv if other.ndim == 1 else csrmm)("N", 1, self, other, 0, result)
        return result

    __array_ufunc__ = None


def csr_matrix(matrix: Any, shape: tuple[int, int] | None = None, stream: Any = 0) -> CSRMatrix:
    """Make a sparse matrix on the current device.

    Parameters
    ----------
    matrix : numpy.ndarray, sparse matrix, or tuple
        A dense array of NumPy's, what has `data`, `indices`, `indptr` and `shape`, as SciPy's matrices, or these three.
    shape : tuple of int, optional
        Rows and columns; needed for a tuple.
    stream : Stream, optional
        The matrix is on its device.

    Returns
    -------
    CSRMatrix
        With copies of the arrays.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     a = cuda.sparse.csr_matrix(np.array([[0.0, 2.0], [3.0, 0.0]]))
    ...     print(a.nnz, a @ cuda.to_device([1.0, 10.0]))
    2 [20.  3.]
    """
    if isinstance(matrix, tuple):
        parts: tuple[Any, ...] = matrix
    elif hasattr(matrix, "indptr"):
        parts, shape = (matrix.data, matrix.indices, matrix.indptr), matrix.shape
    else:
        dense = np.asarray(matrix)
        if dense.ndim != 2:
            raise ValueError(f"a sparse matrix of an array of {dense.ndim} axes")
        row, column = np.nonzero(dense)
        parts, shape = (dense[row, column], column, np.searchsorted(row, np.arange(dense.shape[0] + 1))), dense.shape
    if len(parts) != 3 or shape is None:
        raise ValueError("a sparse matrix is made of (data, indices, indptr) and a shape")
    data, indices, indptr = (np.asarray(x.to_host() if isinstance(x, Array) else x) for x in parts)
    rows, columns = map(int, shape)
    if data.dtype not in FLOATS:
        raise TypeError(f"sparse matrices of dtype {data.dtype}: they are of {', '.join(map(str, FLOATS))}")
    _check(data, indices, indptr, (rows, columns))
    kind = np.int32 if max(rows, columns, data.size) < 2**31 else np.int64
    copies = (to_device(np.ascontiguousarray(x), stream) for x in (data, indices.astype(kind), indptr.astype(kind)))
    on_device, places, starts = copies
    return CSRMatrix(on_device, places, starts, (rows, columns))


def _check(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> None:
    """Raises where the parts of a matrix do not go together: the library would read memory that is not its own."""
    if not (data.ndim == indices.ndim == indptr.ndim == 1) or data.size != indices.size or indptr.size != shape[0] + 1:
        raise ValueError(f"data of shape {data.shape}, indices of {indices.shape} and indptr of {indptr.shape} for {shape[0]} rows")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise TypeError("indices and indptr are whole numbers")
    if indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr.astype(np.int64)) < 0).any():
        raise ValueError("indptr does not ascend from 0 to the number of elements")
    if indices.size and (indices.min() < 0 or indices.max() >= shape[1]):
        raise ValueError(f"a column outside of the {shape[1]} that there are")


def _product(trans: str, alpha: Any, a: CSRMatrix, x: Array, beta: Any, y: Array, ndim: int, stream: Any) -> None:
    if not isinstance(a, CSRMatrix):
        raise TypeError(f"a sparse matrix is wanted, not {type(a).__name__}: csr_matrix makes one")
    if trans not in _OPERATIONS:
        raise ValueError(f"trans is 'N', 'T' or 'C', not {trans!r}")
    queue = operands(a.data, x, y, stream=stream)
    rows, columns = a.shape if trans == "N" else a.shape[::-1]
    if x.ndim != ndim or y.ndim != ndim or x.shape[0] != columns or y.shape != (rows, *x.shape[1:]):
        raise ValueError(f"a {rows} x {columns} matrix, x of shape {x.shape} and y of shape {y.shape}")
    written(y)
    if a.dtype.kind == "f" and (complex(alpha).imag or complex(beta).imag):
        raise TypeError(f"a complex factor of arrays of dtype {a.dtype}")
    with in_stream(queue):
        if not y.flags.forc:
            raise ValueError("the elements of y are not contiguous")
        source = apart(x, y)
        source = source if source.flags.forc else source.copy()
        operation = 1 if trans == "C" and a.dtype.kind == "f" else _OPERATIONS[trans]
        _ingot.sparse_product(
            operation, complex(alpha), *a.shape, a.indptr, a.indices, a.data, source, complex(beta), y
        )


def csrmv(trans: str, alpha: Any, a: CSRMatrix, x: Array, beta: Any, y: Array, stream: Any = 0) -> None:
    """Compute ``y = alpha * op(a) @ x + beta * y``.

    Parameters
    ----------
    trans : {"N", "T", "C"}
        What op does: nothing, transpose, or transpose and conjugate.
    alpha, beta : number
        Factors.
    a : CSRMatrix
        The matrix.
    x, y : Array
        Vectors; `y` is written.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    See Also
    --------
    csrmm
    """
    _product(trans, alpha, a, x, beta, y, 1, stream)


def csrmm(trans: str, alpha: Any, a: CSRMatrix, b: Array, beta: Any, c: Array, stream: Any = 0) -> None:
    """Compute ``c = alpha * op(a) @ b + beta * c``.

    Parameters
    ----------
    trans : {"N", "T", "C"}
        What op does: nothing, transpose, or transpose and conjugate.
    alpha, beta : number
        Factors.
    a : CSRMatrix
        The sparse matrix.
    b, c : Array
        Dense matrices in C or Fortran order; `c` is written.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    See Also
    --------
    csrmv
    """
    _product(trans, alpha, a, b, beta, c, 2, stream)


__all__ = ["CSRMatrix", "csr_matrix", "csrmm", "csrmv"]


def __dir__() -> list[str]:
    return sorted(__all__)
