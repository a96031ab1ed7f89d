"""Memory of a block."""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def array(shape: Any, dtype: Any) -> Any:
    """Return an array that all threads of the block share.

    Parameters
    ----------
    shape : int or tuple of int
        Known when compiling. 0: the dynamic shared memory of the block, whose bytes the launch gives
        (``kernel[blocks, threads, stream, bytes]``), along one axis; all such arrays are the same memory.
    dtype : dtype
        Its dtype.

    Returns
    -------
    array
        Its elements are unspecified.

    See Also
    --------
    ingot.cuda.syncthreads : Waits for what others write.

    Examples
    --------
    >>> from ingot import cuda
    >>> @cuda.jit
    ... def reverse(x):
    ...     part = cuda.shared.array(4, np.float64)
    ...     i = cuda.threadIdx.x
    ...     part[i] = x[i]
    ...     cuda.syncthreads()
    ...     x[i] = part[3 - i]
    >>> x = np.arange(4.0)
    >>> with ingot.device("emulated"):
    ...     reverse[1, 4](x)
    >>> x
    array([3., 2., 1., 0.])
    """
    outside("shared.array")


__all__ = ["array"]


def __dir__() -> list[str]:
    return sorted(__all__)
