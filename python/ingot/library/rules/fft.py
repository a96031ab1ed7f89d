"""Rules of numpy.fft. Transforms are linear: the tangent of a transform is the transform of the tangent.

The matrix of a complex transform is symmetric, so that it is its own transpose; points that a transform leaves out
have the cotangent 0. Transforms along several axes, and of Hermitian arrays, are made of those here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .parts import as_cotangent


def exchanged(norm: Any) -> Any:
    """The other direction's factor."""
    if norm is None or norm == "backward":
        return "forward"
    return "backward" if norm == "forward" else norm


def fitted(x: Any, length: Any, axis: int) -> Any:
    """The first points along an axis, with zeros after them where there are fewer."""
    lines = np.swapaxes(x, axis, -1)
    points = np.zeros((*lines.shape[:-1], length), x.dtype)
    taken = min(length, lines.shape[-1])
    points[..., :taken] = lines[..., :taken]
    return np.swapaxes(points, axis, -1)


def half_weights(c: Any, n: Any, axis: int, single: float, double: float) -> Any:
    """For the n // 2 + 1 points of half a spectrum: `single` where a point is its own mirror image, else `double`."""
    places = np.arange(n // 2 + 1)
    is_single = (places == 0) | (2 * places == n)
    weights = np.where(is_single, single, double).astype(np.finfo(c.dtype).dtype)
    return weights.reshape((-1,) + (1,) * (c.ndim - 1 - axis % c.ndim))


def fft_back(c: Any, length: Any, n: Any, axis: int, norm: Any) -> Any:
    """The cotangent of `length` points of which a complex transform made what has the cotangent c."""
    points = np.fft.fft(c, None, axis, norm)
    return points if n is None else fitted(points, length, axis)


def ifft_back(c: Any, length: Any, n: Any, axis: int, norm: Any) -> Any:
    points = np.fft.ifft(c, None, axis, norm)
    return points if n is None else fitted(points, length, axis)


def rfft_back(c: Any, length: Any, n: Any, axis: int, norm: Any) -> Any:
    count = length if n is None else n
    points = np.fft.irfft(np.conjugate(c) * half_weights(c, count, axis, 1.0, 0.5), count, axis, exchanged(norm))
    return points if n is None else fitted(points, length, axis)


def irfft_back(c: Any, length: Any, n: Any, axis: int, norm: Any) -> Any:
    points = np.conjugate(np.fft.rfft(c, None, axis, exchanged(norm))) * half_weights(c, c.shape[axis], axis, 1.0, 2.0)
    return points if n is None else fitted(points, length, axis)


def fft_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], n: Any = None, axis: int = -1, norm: Any = None) -> tuple[Any, ...]:
    return np.fft.fft(primals[0], n, axis, norm), np.fft.fft(tangents[0], n, axis, norm)


def fft_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple[Any, ...]:
    x = primals[0]
    return (as_cotangent(fft_back(cotangent, x.shape[axis], n, axis, norm), x),)


def ifft_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], n: Any = None, axis: int = -1, norm: Any = None) -> tuple[Any, ...]:
    return np.fft.ifft(primals[0], n, axis, norm), np.fft.ifft(tangents[0], n, axis, norm)


def ifft_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple[Any, ...]:
    x = primals[0]
    return (as_cotangent(ifft_back(cotangent, x.shape[axis], n, axis, norm), x),)


def rfft_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], n: Any = None, axis: int = -1, norm: Any = None) -> tuple[Any, ...]:
    return np.fft.rfft(primals[0], n, axis, norm), np.fft.rfft(tangents[0], n, axis, norm)


def rfft_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple[Any, ...]:
    x = primals[0]
    return (as_cotangent(rfft_back(cotangent, x.shape[axis], n, axis, norm), x),)


def irfft_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...], n: Any = None, axis: int = -1, norm: Any = None) -> tuple[Any, ...]:
    return np.fft.irfft(primals[0], n, axis, norm), np.fft.irfft(tangents[0], n, axis, norm)


def irfft_vjp(primals: tuple[Any, ...], result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple[Any, ...]:
    x = primals[0]
    return (as_cotangent(irfft_back(cotangent, x.shape[axis], n, axis, norm), x),)
