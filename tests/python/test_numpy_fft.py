"""numpy.fft: values, dtypes, axes, lengths, norms."""

import numpy as np
import pytest
from support import check

GENERATOR = np.random.default_rng(0)
LINE = GENERATOR.normal(size=12)
GRID = GENERATOR.normal(size=(4, 6))
INPUTS = {
    "line": LINE,
    "complex": LINE + 1j * LINE[::-1],
    "grid": GRID,
    "fortran": GRID.T,
    "three": GENERATOR.normal(size=(2, 4, 3)),
    "float32": LINE.astype(np.float32),
    "int64": np.arange(7),
    "complex64": GRID.astype(np.complex64),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", INPUTS)
def test_transforms(name):
    x = INPUTS[name]
    bound = 1e-4 if name in ("float32", "complex64") else 1e-11
    check(lambda x: (np.fft.fft(x), np.fft.ifft(x), np.fft.fft(x, 5), np.fft.ifft(x, 20, axis=0, norm="ortho")), x, bound=bound)
    check(lambda x: (np.fft.irfft(x), np.fft.irfft(x, 9, axis=0), np.fft.hfft(x)), x, bound=bound)
    check(lambda x: (np.fft.fftn(x, norm="forward"), np.fft.ifftn(x)), x, bound=bound)
    check(lambda x: (np.fft.fftshift(x), np.fft.ifftshift(x), np.fft.fftshift(x, axes=0)), x)
    if x.dtype.kind != "c":
        check(lambda x: (np.fft.rfft(x), np.fft.rfft(x, 9, axis=0, norm="forward"), np.fft.ihfft(x)), x, bound=bound)
    if x.ndim > 1:
        check(lambda x: (np.fft.fft2(x), np.fft.ifft2(x, (3, 5)), np.fft.irfftn(x)), x, bound=bound)
    if x.ndim > 1 and x.dtype.kind != "c":
        check(lambda x: (np.fft.rfft2(x), np.fft.irfft2(np.fft.rfft2(x)), np.fft.rfftn(x, (4, 4))), x, bound=bound)


def test_frequencies():
    check(lambda n: (np.fft.fftfreq(n), np.fft.fftfreq(n, 0.1), np.fft.rfftfreq(n), np.fft.fftfreq(9)), 8)


def test_what_raises():
    check(lambda x: np.fft.fft(x, 0), LINE)
    check(lambda x: np.fft.fft(x, norm="none"), LINE)
    check(lambda x: np.fft.fft(x, axis=1), LINE)


def test_shifts_along_axes():
    x = np.arange(12.0).reshape(3, 4)
    for function in (np.fft.fftshift, np.fft.ifftshift):
        check(lambda x: (function(x, (0, -1)), function(x, (0, 0)), function(x, [0, -2, 1]), function(x, ()), function(x, np.int64(1))), x)
        check(lambda x: function(x, 2), x)
        check(lambda x: function(x, 0.0), x)
        check(lambda x: function(x, ()), np.array(1.5))


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "int64"])
def test_outputs_of_other_dtypes(dtype):
    x = np.arange(8.0).reshape(2, 4)
    for given in (x, x.astype(np.complex64)):
        check(lambda x, out: np.fft.fft(x, out=out), given, np.zeros((2, 4), dtype), bound=1e-5)
        check(lambda x, out: np.fft.ifft(x, out=(out,)), given, np.zeros((2, 4), dtype), bound=1e-5)
    check(lambda x: np.fft.fft(x, out=[1]), x)
