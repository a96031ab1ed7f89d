"""Random numbers by cuRAND, in the spelling of NumbaPro's `curand`.

    from ingot.cuda import rand

    prng = rand.PRNG(rand.PRNG.XORWOW, seed=7)
    prng.normal(x, mean=0, sigma=1)

A generator fills `ingot.Array`s without gaps, of the device that it was made on. Its draws follow each other in the order of
the calls. The numbers are cuRAND's, not those of `np.random` nor of `ingot.random`. docs/cuda.md has the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _ingot
from .._arrays.array import Array
from .._devices.streams import checked_stream
from ._current import current_device
from ._libraries import FLOATS, in_stream, operands, written

if TYPE_CHECKING:
    from .._devices import Device

_REAL = FLOATS[:2]


class _Generator:
    """What both kinds of generators have."""

    def __init__(self, kind: int | None, stream: Any, default: int) -> None:
        queue = checked_stream(stream)
        self.stream = stream
        self.device: Device = current_device() if queue is None else queue.device
        self._it = _ingot.random_generator(self.device._handle, default if kind is None else kind)

    def _draw(self, function: Any, ary: Array, size: int | None, dtypes: tuple[np.dtype, ...], *parameters: float) -> None:
        queue = operands(ary, dtypes=dtypes, stream=self.stream)
        if ary.device is not self.device:
            raise ValueError(f"an array on {ary.device}, and a generator of {self.device}")
        written(ary)
        if not ary.flags.forc:
            raise ValueError("an array whose elements are not contiguous")
        if size is not None and not 0 <= size <= ary.size:
            raise ValueError(f"{size} numbers for an array of {ary.size}")
        with in_stream(queue):
            function((ary if ary.flags.c_contiguous else ary.T).reshape(ary.size)[:size], *parameters)


class PRNG(_Generator):
    """A generator of pseudorandom numbers by cuRAND.

    Parameters
    ----------
    rndtype : int, optional
        One of the attributes `XORWOW`, `MRG32K3A`, `MTGP32`, `MT19937`, `PHILOX4_32_10`; by default the library's.
    seed, offset : int, optional
        Where the stream of numbers begins; by default the library's.
    stream : Stream, optional
        Where it draws; 0 is the calling thread's stream.

    See Also
    --------
    QRNG : Quasirandom numbers.
    ingot.random : Random numbers of keys, on any device.

    Examples
    --------
    >>> from ingot import cuda
    >>> with ingot.device("emulated"):
    ...     x = cuda.device_array(1000)
    ...     cuda.rand.PRNG(seed=1).uniform(x)
    >>> 0 < x.min() < x.max() <= 1
    np.True_
    """

    TEST = 0
    DEFAULT = 100
    XORWOW = 101
    MRG32K3A = 121
    MTGP32 = 141
    MT19937 = 142
    PHILOX4_32_10 = 161

    def __init__(self, rndtype: int | None = None, seed: int | None = None, offset: int | None = None, stream: Any = 0) -> None:
        super().__init__(rndtype, stream, self.DEFAULT)
        if seed is not None:
            self._it.set_seed(seed)
        if offset is not None:
            self._it.set_offset(offset)

    def uniform(self, ary: Array, size: int | None = None) -> None:
        """Fill an array with uniform numbers in (0, 1].

        Parameters
        ----------
        ary : Array of float32 or float64
            What is written.
        size : int, optional
            Only its first elements.
        """
        self._draw(self._it.uniform, ary, size, _REAL)

    def normal(self, ary: Array, mean: float = 0.0, sigma: float = 1.0, size: int | None = None) -> None:
        """Fill an array with numbers of the normal distribution.

        Parameters
        ----------
        ary : Array of float32 or float64
            What is written.
        mean, sigma : float, default 0.0 and 1.0
            Mean and standard deviation.
        size : int, optional
            Only its first elements.
        """
        self._draw(self._it.normal, ary, size, _REAL, float(mean), float(sigma))

    def lognormal(self, ary: Array, mean: float = 0.0, sigma: float = 1.0, size: int | None = None) -> None:
        """Fill an array with numbers of the lognormal distribution.

        Parameters
        ----------
        ary : Array of float32 or float64
            What is written.
        mean, sigma : float, default 0.0 and 1.0
            Mean and standard deviation of the logarithm.
        size : int, optional
            Only its first elements.
        """
        self._draw(self._it.log_normal, ary, size, _REAL, float(mean), float(sigma))

    def poisson(self, ary: Array, lmbd: float = 1.0, size: int | None = None) -> None:
        """Fill an array with numbers of Poisson's distribution.

        Parameters
        ----------
        ary : Array of uint32
            What is written.
        lmbd : float, default 1.0
            The rate.
        size : int, optional
            Only its first elements.
        """
        self._draw(self._it.poisson, ary, size, (np.dtype("uint32"),), float(lmbd))

    def bits(self, ary: Array, size: int | None = None) -> None:
        """Fill an array with random bits.

        Parameters
        ----------
        ary : Array of uint32
            What is written.
        size : int, optional
            Only its first elements.
        """
        self._draw(self._it.bits, ary, size, (np.dtype("uint32"),))


class QRNG(_Generator):
    """A generator of quasirandom numbers by cuRAND.

    Parameters
    ----------
    rndtype : int, optional
        One of the attributes `SOBOL32`, `SCRAMBLED_SOBOL32`, `SOBOL64`, `SCRAMBLED_SOBOL64`; by default the library's.
    ndim : int, default 1
        The number of dimensions. Arrays have a multiple of it: first all numbers of the first dimension, and so on.
    offset : int, optional
        Where the sequence begins; by default the library's.
    stream : Stream, optional
        Where it draws; 0 is the calling thread's stream.

    See Also
    --------
    PRNG : Pseudorandom numbers.
    """

    DEFAULT = 200
    SOBOL32 = 201
    SCRAMBLED_SOBOL32 = 202
    SOBOL64 = 203
    SCRAMBLED_SOBOL64 = 204

    def __init__(self, rndtype: int | None = None, ndim: int = 1, offset: int | None = None, stream: Any = 0) -> None:
        super().__init__(rndtype, stream, self.DEFAULT)
        self._it.set_dimensions(ndim)
        if offset is not None:
            self._it.set_offset(offset)

    def generate(self, ary: Array, size: int | None = None) -> None:
        """Fill an array with bits.

        Parameters
        ----------
        ary : Array of uint32, or of uint64 for the generators of 64 bits
            What is written.
        size : int, optional
            Only its first elements.
        """
        self._draw(self._it.bits, ary, size, (np.dtype("uint32"), np.dtype("uint64")))

    def uniform(self, ary: Array, size: int | None = None) -> None:
        """Fill an array with uniform numbers in (0, 1].

        Parameters
        ----------
        ary : Array of float32 or float64
            What is written.
        size : int, optional
            Only its first elements.
        """
        self._draw(self._it.uniform, ary, size, _REAL)


__all__ = ["PRNG", "QRNG"]


def __dir__() -> list[str]:
    return sorted(__all__)
