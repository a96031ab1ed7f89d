"""numpy.fft by NumPy's own inner loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .derivatives import routine
from .reductions import known_axis
from .registry import implements
from .rules import fft as rules
from .shapes import is_known_fortran, output


def factor_of(n: Any, norm: Any, is_forward: bool) -> Any:
    """What a transform of n points is multiplied by."""
    if norm is None or norm == "backward":
        return 1.0 if is_forward else 1.0 / n
    if norm == "ortho":
        return 1.0 / np.sqrt(np.float64(n))
    if norm == "forward":
        return 1.0 / n if is_forward else 1.0
    raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')


def real_dtype(x: Any) -> np.dtype:
    """At what real dtype an array is transformed."""
    if x.dtype == np.float16 or x.dtype == np.float32 or x.dtype == np.complex64:
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def complex_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.complex64) if dtype == np.float32 else np.dtype(np.complex128)


def transformed(routine: str, x: Any, n: Any, axis: Any, factor: Any, given: np.dtype, made: np.dtype, length: Any) -> Any:
    """A transform along an axis: of `n` points, 0 where there are fewer, to `length` points."""
    along = known_axis(axis, x.ndim)
    others = tuple([i for i in range(x.ndim) if i != along])
    lines = primitives.transpose(x, others + (along,))
    batch = lines.shape[:-1]
    if n == lines.shape[-1]:
        points = lines.astype(given)
    else:
        points = np.zeros(batch + (n,), given)
        taken = n if n < lines.shape[-1] else lines.shape[-1]
        points[..., :taken] = lines[..., :taken]
    scale = np.empty((), real_dtype(points))
    scale[()] = factor
    result = np.empty(batch + (length,), made)
    primitives.gufunc(routine, (points, scale), (result,))
    back = list(range(x.ndim - 1))
    back.insert(along, x.ndim - 1)
    result = primitives.transpose(result, tuple(back))
    if is_known_fortran(x):
        return np.copy(result, "F")
    return result if along == x.ndim - 1 else np.copy(result, "C")


def points_of(x: Any, n: Any, axis: Any) -> Any:
    length = x.shape[axis] if n is None else n
    if length < 1:
        raise ValueError(f"Invalid number of FFT data points ({length}) specified.")
    return length


def complex_transform(x: Any, n: Any, axis: Any, norm: Any, is_forward: bool, out: Any) -> Any:
    if out is not None:
        return plain_complex(x, n, axis, norm, is_forward, out)
    if is_forward:
        return routine(plain_fft, rules.fft_jvp, rules.fft_vjp, (x,), (n, axis, norm))
    return routine(plain_ifft, rules.ifft_jvp, rules.ifft_vjp, (x,), (n, axis, norm))


def plain_fft(x: Any, n: Any, axis: Any, norm: Any) -> Any:
    return plain_complex(x, n, axis, norm, True, None)


def plain_ifft(x: Any, n: Any, axis: Any, norm: Any) -> Any:
    return plain_complex(x, n, axis, norm, False, None)


def plain_complex(x: Any, n: Any, axis: Any, norm: Any, is_forward: bool, out: Any) -> Any:
    x = np.asarray(x)
    points = points_of(x, n, axis)
    at = complex_dtype(real_dtype(x))
    factor = factor_of(points, norm, is_forward)
    result = transformed("fft.fft" if is_forward else "fft.ifft", x, points, axis, factor, at, at, points)
    return put(result, out, axis, "fft" if is_forward else "ifft")


@implements(np.fft.fft)
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    return complex_transform(a, n, axis, norm, True, out)


@implements(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    return complex_transform(a, n, axis, norm, False, out)


def put(result: Any, out: Any, axis: Any, name: str) -> Any:
    """What a transform along an axis returns: its result, or the output that it is put into."""
    out = output(out)
    if out is None:
        return result
    if name == "fft" and not np.can_cast(result.dtype, out.dtype, "same_kind"):
        result = result.astype(np.result_type(result.dtype, np.float64))  # the last loop that NumPy tries
    if out.ndim != result.ndim or out.shape[axis] != result.shape[axis]:
        raise ValueError("output array has wrong shape.")
    return primitives.put(out, result, True, name)


def need_real(x: Any, name: str) -> None:
    if x.dtype.kind == "c":
        raise TypeError(
            f"ufunc '{name}' not supported for the input types, and the inputs could not be safely coerced to any "
            "supported types according to the casting rule ''safe''"
        )


def real_transform(x: Any, n: Any, axis: Any, factor: Any, out: Any) -> Any:
    at = real_dtype(x)
    made = complex_dtype(at)
    if n % 2 == 0:
        need_real(x, "rfft_n_even")
        result = put(transformed("fft.rfft_n_even", x, n, axis, factor, at, made, n // 2 + 1), out, axis, "rfft_n_even")
    else:
        need_real(x, "rfft_n_odd")
        result = put(transformed("fft.rfft_n_odd", x, n, axis, factor, at, made, n // 2 + 1), out, axis, "rfft_n_odd")
    return result


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    if out is not None:
        return plain_rfft(a, n, axis, norm, out)
    return routine(plain_rfft, rules.rfft_jvp, rules.rfft_vjp, (a,), (n, axis, norm))


def plain_rfft(a: Any, n: Any, axis: Any, norm: Any, out: Any = None) -> Any:
    x = np.asarray(a)
    points = points_of(x, n, axis)
    return real_transform(x, points, axis, factor_of(points, norm, True), out)


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    if out is not None:
        return plain_irfft(a, n, axis, norm, out)
    return routine(plain_irfft, rules.irfft_jvp, rules.irfft_vjp, (a,), (n, axis, norm))


def plain_irfft(a: Any, n: Any, axis: Any, norm: Any, out: Any = None) -> Any:
    x = np.asarray(a)
    points = 2 * (x.shape[axis] - 1) if n is None else n
    if points < 1:
        raise ValueError(f"Invalid number of FFT data points ({points}) specified.")
    at = real_dtype(x)
    result = transformed("fft.irfft", x, points // 2 + 1, axis, factor_of(points, norm, False), complex_dtype(at), at, points)
    return put(result.astype(np.float16) if x.dtype == np.float16 else result, out, axis, "irfft")


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    x = np.asarray(a)
    points = 2 * (x.shape[axis] - 1) if n is None else n
    return irfft(np.conjugate(x), points, axis, rules.exchanged(norm))  # NumPy leaves the output as it is, too


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    result = rfft(a, n, axis, rules.exchanged(norm), out)
    return np.conjugate(result) if out is None else np.conjugate(result, out=out)


def axes_of(x: Any, s: Any, axes: Any) -> tuple[int, ...]:
    if axes is not None:
        return tuple(axes)
    return tuple(range(x.ndim)) if s is None else tuple(range(-len(s), 0))


def lengths_of(s: Any, axes: tuple[int, ...]) -> tuple[Any, ...]:
    """For each axis its number of points, None: as many as there are."""
    if s is None:
        return (None,) * len(axes)
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return tuple(s)


@implements(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return several(a, s, axes, norm, True, out)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return several(a, s, axes, norm, False, out)


@implements(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return several(a, s, axes, norm, True, out)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return several(a, s, axes, norm, False, None)  # NumPy leaves the output as it is, too


def several(a: Any, s: Any, axes: Any, norm: Any, is_forward: bool, out: Any) -> Any:
    """A transform along axes, the last one first, each of them put into the output."""
    result = np.asarray(a)
    along = axes_of(result, s, axes)
    lengths = lengths_of(s, along)
    for i in range(len(along) - 1, -1, -1):
        result = complex_transform(result, lengths[i], along[i], norm, is_forward, out)
    return result


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    x = np.asarray(a)
    along = axes_of(x, s, axes)
    lengths = lengths_of(s, along)
    result = rfft(x, lengths[-1], along[-1], norm, out)
    for i in range(len(along) - 2, -1, -1):
        result = complex_transform(result, lengths[i], along[i], norm, True, out)
    return result


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return rfftn(a, s, axes, norm, out)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    x = np.asarray(a)
    along = axes_of(x, s, axes)
    lengths = lengths_of(s, along)
    result = x
    for i in range(len(along) - 1):
        result = complex_transform(result, lengths[i], along[i], norm, False, None)
    return irfft(result, lengths[-1], along[-1], norm, out)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return irfftn(a, s, axes, norm)  # NumPy leaves the output as it is, too


@implements(np.fft.fftfreq)
def fftfreq(n: int, d: Any = 1.0, device: Any = None) -> Any:
    places = np.arange(n, device=device)
    return np.where(places < (n - 1) // 2 + 1, places, places - n) * (1.0 / (n * d))


@implements(np.fft.rfftfreq)
def rfftfreq(n: int, d: Any = 1.0, device: Any = None) -> Any:
    return np.arange(0, n // 2 + 1, device=device) * (1.0 / (n * d))


def rolled(x: Any, axes: Any, is_back: bool) -> Any:
    """Half of the points along axes moved from one end to the other."""
    x = np.asarray(x)
    if isinstance(axes, float):
        raise TypeError("'float' object is not iterable")
    chosen = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, (int, np.integer)) else tuple(axes)
    halves = [-(x.shape[axis] // 2) if is_back else x.shape[axis] // 2 for axis in chosen]
    if x.ndim == 0:
        raise ValueError("not enough values to unpack (expected 2, got 0)")
    return np.roll(x, tuple(halves), chosen)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    return rolled(x, axes, False)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    return rolled(x, axes, True)
