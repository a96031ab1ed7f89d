"""Fourier transforms by cuFFT, in the spelling of NumbaPro's `cufft`.

    from ingot.cuda import fft

    fft.fft_inplace(x)
    fft.ifft_inplace(x)     # x.size times what it was

They transform along all axes, of which there are one to three, and scale nothing: what is transformed there and back is
multiplied by the number of elements. Arrays are `ingot.Array`s of complex64 or complex128 without gaps, in C or Fortran
order; with an output one of the two may be real, of float32 or float64, and both are in C order: the complex one has
n // 2 + 1 elements along the last axis then. docs/cuda.md has the rules.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _ingot
from .._arrays.array import Array
from ._libraries import FLOATS, apart, in_stream, lies_like, operands, written
from ._memory import device_array

_COMPLEX = FLOATS[2:]


def _halved(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-1], shape[-1] // 2 + 1)


def _precision(dtype: np.dtype) -> np.dtype:
    return np.finfo(dtype).dtype


def _checked(array: Array, output: Array, axes: int, is_inverse: bool) -> None:
    """Raises where the shapes and dtypes of a transform of the last axes do not go together."""
    if not 1 <= axes <= 3:
        raise ValueError(f"transforms are along one to three axes, not {axes}")
    if _precision(array.dtype) != _precision(output.dtype):
        raise TypeError(f"a transform from {array.dtype} to {output.dtype}")
    is_real, makes_real = array.dtype.kind == "f", output.dtype.kind == "f"
    if is_real and (makes_real or is_inverse):
        raise TypeError(f"{'an inverse' if is_inverse else 'a'} transform from {array.dtype} to {output.dtype}")
    if makes_real and not is_inverse:
        raise TypeError(f"a forward transform to {output.dtype}: it gives complex numbers")
    wanted = _halved(array.shape) if is_real else array.shape
    if (_halved(output.shape) if makes_real else output.shape) != wanted:
        raise ValueError(f"a transform of an array of shape {array.shape} into one of shape {output.shape}")


def _transform(array: Array, output: Array, axes: int, is_inverse: bool, stream: Any) -> None:
    for each in (array, output):
        queue = operands(each, stream=stream)
    operands(array, stream=stream)
    _checked(array, output, axes, is_inverse)
    written(output)
    if array.device is not output.device:
        raise ValueError(f"arrays are on {array.device} and on {output.device}")
    with in_stream(queue):
        source = array if lies_like(array, output) else apart(array, output)
        is_whole = axes == array.ndim and array.dtype == output.dtype
        if is_whole and not source.flags.c_contiguous and source.flags.f_contiguous and output.flags.f_contiguous:
            source, output = source.T, output.T
        if not output.flags.c_contiguous:
            raise ValueError("an output whose elements are not contiguous, in the order of the input")
        if not source.flags.c_contiguous:
            source = source.copy("C")
        _ingot.fft_transform(source, output, axes, is_inverse)


def fft(ary: Array, out: Array, stream: Any = 0) -> None:
    """Compute the Fourier transform of an array into another one.

    Parameters
    ----------
    ary : Array
        Complex or real.
    out : Array
        Complex.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    See Also
    --------
    ifft, FFTPlan
    """
    _transform(ary, out, ary.ndim, False, stream)


def ifft(ary: Array, out: Array, stream: Any = 0) -> None:
    """Compute the inverse Fourier transform of an array into another one, unscaled.

    Parameters
    ----------
    ary : Array
        Complex.
    out : Array
        Complex or real.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    See Also
    --------
    fft, FFTPlan
    """
    _transform(ary, out, ary.ndim, True, stream)


def fft_inplace(ary: Array, stream: Any = 0) -> None:
    """Compute the Fourier transform of a complex array in place.

    Parameters
    ----------
    ary : Array
        Complex.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    See Also
    --------
    ifft_inplace
    """
    _transform_in_place(ary, False, stream)


def ifft_inplace(ary: Array, stream: Any = 0) -> None:
    """Compute the inverse Fourier transform of a complex array in place, unscaled.

    Parameters
    ----------
    ary : Array
        Complex.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    See Also
    --------
    fft_inplace
    """
    _transform_in_place(ary, True, stream)


def _transform_in_place(ary: Array, is_inverse: bool, stream: Any) -> None:
    operands(ary, dtypes=_COMPLEX, stream=stream)
    _transform(ary, ary, ary.ndim, is_inverse, stream)


class FFTPlan:
    """Fourier transforms of one shape by cuFFT, of one array or of a batch.

    Parameters
    ----------
    shape : int or tuple of int
        The lengths of one to three axes, of the real array where one is real.
    itype, otype : dtype
        The dtypes that `forward` takes and returns: real or complex, and complex.
    batch : int, default 1
        The number of arrays; if it is not 1, arrays have a first axis of this length.
    stream : Stream, optional
        The stream; 0 is the calling thread's.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     plan = cuda.fft.FFTPlan(4, np.complex128, np.complex128)
    ...     print(plan.forward(cuda.to_device(np.ones(4, np.complex128))))
    [4.+0.j 0.+0.j 0.+0.j 0.+0.j]
    """

    def __init__(self, shape: Any, itype: Any, otype: Any, batch: int = 1, stream: Any = 0) -> None:
        self.shape: tuple[int, ...] = (shape,) if isinstance(shape, int) else tuple(shape)
        self.itype: np.dtype = np.dtype(itype)
        self.otype: np.dtype = np.dtype(otype)
        self.batch: int = int(batch)
        self.stream: Any = stream
        for dtype in (self.itype, self.otype):
            if dtype not in FLOATS:
                raise TypeError(f"transforms of dtype {dtype}: they are of {', '.join(map(str, FLOATS))}")
        if not 1 <= len(self.shape) <= 3 or min(self.shape) < 1 or self.batch < 1:
            raise ValueError(f"a plan of shape {self.shape} and batch {self.batch}")
        if self.otype.kind != "c" or _precision(self.itype) != _precision(self.otype):
            raise TypeError(f"a plan from {self.itype} to {self.otype}")

    def _lengths(self, is_frequencies: bool) -> tuple[int, ...]:
        lengths = _halved(self.shape) if is_frequencies and self.itype.kind == "f" else self.shape
        return lengths if self.batch == 1 else (self.batch, *lengths)

    def _run(self, ary: Array, out: Array | None, is_inverse: bool) -> Array:
        given, made = (self.otype, self.itype) if is_inverse else (self.itype, self.otype)
        operands(ary, dtypes=(given,), stream=self.stream)
        if ary.shape != self._lengths(is_inverse):
            raise ValueError(f"an array of shape {ary.shape}, where the plan has {self._lengths(is_inverse)}")
        if out is None:
            with ary.device:
                out = device_array(self._lengths(not is_inverse), made, stream=self.stream)
        operands(out, dtypes=(made,), stream=self.stream)
        _transform(ary, out, len(self.shape), is_inverse, self.stream)
        return out

    def forward(self, ary: Array, out: Array | None = None) -> Array:
        """Compute the Fourier transform of an array.

        Parameters
        ----------
        ary : Array
            Of the plan's shape and input dtype.
        out : Array, optional
            What takes the result; by default a new array.

        Returns
        -------
        Array
            The result.
        """
        return self._run(ary, out, False)

    def inverse(self, ary: Array, out: Array | None = None) -> Array:
        """Compute the inverse Fourier transform of an array, unscaled.

        Parameters
        ----------
        ary : Array
            Of the plan's output dtype.
        out : Array, optional
            What takes the result; by default a new array.

        Returns
        -------
        Array
            `FFTPlan.size` times the original array.
        """
        return self._run(ary, out, True)

    @property
    def size(self) -> int:
        """The factor of an array that is transformed there and back."""
        return math.prod(self.shape)


__all__ = ["FFTPlan", "fft", "fft_inplace", "ifft", "ifft_inplace"]


def __dir__() -> list[str]:
    return sorted(__all__)
