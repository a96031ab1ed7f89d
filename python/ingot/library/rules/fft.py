"""Rules of numpy.fft. Transforms are linear: the tangent of a transform is the transform of the tangent.

The matrix of a complex transform is symmetric, so that it is its own transpose; points that a transform leaves out
have the cotangent 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import primitives
from ..fft import axes_of, exchanged, lengths_of
from .parts import as_cotangent


def fitted(x: Any, length: Any, axis: int) -> Any:
    """The first points along an axis, with zeros behind them where there are fewer."""
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


def fft_jvp(primals: tuple, tangents: tuple, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    return np.fft.fft(primals[0], n, axis, norm), np.fft.fft(tangents[0], n, axis, norm)


def fft_vjp(primals: tuple, result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    x = primals[0]
    return (as_cotangent(fft_back(cotangent, x.shape[axis], n, axis, norm), x),)


def ifft_jvp(primals: tuple, tangents: tuple, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    return np.fft.ifft(primals[0], n, axis, norm), np.fft.ifft(tangents[0], n, axis, norm)


def ifft_vjp(primals: tuple, result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    x = primals[0]
    return (as_cotangent(ifft_back(cotangent, x.shape[axis], n, axis, norm), x),)


def rfft_jvp(primals: tuple, tangents: tuple, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    return np.fft.rfft(primals[0], n, axis, norm), np.fft.rfft(tangents[0], n, axis, norm)


def rfft_vjp(primals: tuple, result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    x = primals[0]
    return (as_cotangent(rfft_back(cotangent, x.shape[axis], n, axis, norm), x),)


def irfft_jvp(primals: tuple, tangents: tuple, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    return np.fft.irfft(primals[0], n, axis, norm), np.fft.irfft(tangents[0], n, axis, norm)


def irfft_vjp(primals: tuple, result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    x = primals[0]
    return (as_cotangent(irfft_back(cotangent, x.shape[axis], n, axis, norm), x),)


def hfft_jvp(primals: tuple, tangents: tuple, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    return np.fft.hfft(primals[0], n, axis, norm), np.fft.hfft(tangents[0], n, axis, norm)


def hfft_vjp(primals: tuple, result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    x = primals[0]
    return (as_cotangent(np.conjugate(irfft_back(cotangent, x.shape[axis], n, axis, exchanged(norm))), x),)


def ihfft_jvp(primals: tuple, tangents: tuple, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    return np.fft.ihfft(primals[0], n, axis, norm), np.fft.ihfft(tangents[0], n, axis, norm)


def ihfft_vjp(primals: tuple, result: Any, cotangent: Any, n: Any = None, axis: int = -1, norm: Any = None) -> tuple:
    x = primals[0]
    return (as_cotangent(rfft_back(np.conjugate(cotangent), x.shape[axis], n, axis, exchanged(norm)), x),)


def transforms(x: Any, s: Any, axes: Any) -> tuple:
    """The axes of a transform along several, and for each its number of points."""
    along = axes_of(x, s, axes)
    if len({axis % x.ndim for axis in along}) != len(along):
        primitives.refuse("the derivative of a transform twice along an axis", "call it once for each time")
    return along, lengths_of(s, along)


def several_back(c: Any, x: Any, s: Any, axes: Any, norm: Any, is_forward: bool) -> Any:
    """Back through complex transforms along axes, the last of which came first."""
    along, lengths = transforms(x, s, axes)
    for axis, n in zip(along, lengths):
        c = (fft_back if is_forward else ifft_back)(c, x.shape[axis], n, axis, norm)
    return c


def fftn_jvp(primals: tuple, tangents: tuple, s: Any = None, axes: Any = None, norm: Any = None) -> tuple:
    return np.fft.fftn(primals[0], s, axes, norm), np.fft.fftn(tangents[0], s, axes, norm)


def fftn_vjp(primals: tuple, result: Any, cotangent: Any, s: Any = None, axes: Any = None, norm: Any = None) -> tuple:
    x = primals[0]
    return (as_cotangent(several_back(cotangent, x, s, axes, norm, True), x),)


def ifftn_jvp(primals: tuple, tangents: tuple, s: Any = None, axes: Any = None, norm: Any = None) -> tuple:
    return np.fft.ifftn(primals[0], s, axes, norm), np.fft.ifftn(tangents[0], s, axes, norm)


def ifftn_vjp(primals: tuple, result: Any, cotangent: Any, s: Any = None, axes: Any = None, norm: Any = None) -> tuple:
    x = primals[0]
    return (as_cotangent(several_back(cotangent, x, s, axes, norm, False), x),)


def fft2_jvp(primals: tuple, tangents: tuple, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> tuple:
    return fftn_jvp(primals, tangents, s, axes, norm)


def fft2_vjp(primals: tuple, result: Any, cotangent: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> tuple:
    return fftn_vjp(primals, result, cotangent, s, axes, norm)


def ifft2_jvp(primals: tuple, tangents: tuple, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> tuple:
    return ifftn_jvp(primals, tangents, s, axes, norm)


def ifft2_vjp(primals: tuple, result: Any, cotangent: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> tuple:
    return ifftn_vjp(primals, result, cotangent, s, axes, norm)


def rfftn_jvp(primals: tuple, tangents: tuple, s: Any = None, axes: Any = None, norm: Any = None) -> tuple:
    return np.fft.rfftn(primals[0], s, axes, norm), np.fft.rfftn(tangents[0], s, axes, norm)


def rfftn_vjp(primals: tuple, result: Any, cotangent: Any, s: Any = None, axes: Any = None, norm: Any = None) -> tuple:
    x = primals[0]
    along, lengths = transforms(x, s, axes)
    c = cotangent
    for axis, n in zip(along[:-1], lengths[:-1]):
        c = fft_back(c, x.shape[axis], n, axis, norm)
    return (as_cotangent(rfft_back(c, x.shape[along[-1]], lengths[-1], along[-1], norm), x),)


def irfftn_jvp(primals: tuple, tangents: tuple, s: Any = None, axes: Any = None, norm: Any = None) -> tuple:
    return np.fft.irfftn(primals[0], s, axes, norm), np.fft.irfftn(tangents[0], s, axes, norm)


def irfftn_vjp(primals: tuple, result: Any, cotangent: Any, s: Any = None, axes: Any = None, norm: Any = None) -> tuple:
    x = primals[0]
    along, lengths = transforms(x, s, axes)
    c = irfft_back(cotangent, x.shape[along[-1]], lengths[-1], along[-1], norm)
    for axis, n in zip(along[:-1], lengths[:-1]):
        c = ifft_back(c, x.shape[axis], n, axis, norm)
    return (as_cotangent(c, x),)


def rfft2_jvp(primals: tuple, tangents: tuple, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> tuple:
    return rfftn_jvp(primals, tangents, s, axes, norm)


def rfft2_vjp(primals: tuple, result: Any, cotangent: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> tuple:
    return rfftn_vjp(primals, result, cotangent, s, axes, norm)


def irfft2_jvp(primals: tuple, tangents: tuple, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> tuple:
    return irfftn_jvp(primals, tangents, s, axes, norm)


def irfft2_vjp(primals: tuple, result: Any, cotangent: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> tuple:
    return irfftn_vjp(primals, result, cotangent, s, axes, norm)
