"""NumPy's elementwise functions, operators and casts on devices: the host's bits, at all dtypes, where something happens."""

import warnings

import ingot
import ingot.numpy
import numpy as np
import pytest
from support import DTYPES

FLOATS = [0.0, -0.0, 1, -1, 0.5, -1.5, 2.5, 3, -7, 10, 100.25, 1e-5, 65504, 65520, 2147483648.0, -2147483649.0, 9.3e18, 1.8e19]
FLOATS += [1e30, -1e30, np.inf, -np.inf, np.nan, 6.1e-5, 5.96e-8, 3e-8, 1e-40, -1e-310, 5e-324, 1.7e308, 1e38, 1.4e-45, 0.1, -128.5]
INTS = [0, 1, -1, 2, -2, 3, 5, 7, -7, 10, 31, 63, 64, 100, -100]


def edges(dtype):
    """Numbers of a dtype at which something happens."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind in "iu":
            info = np.iinfo(dtype)
            ends = np.array([info.min, info.min + 1, info.max, info.max - 1, info.max // 2, info.max // 3], dtype)
            return np.concatenate((np.array(INTS, np.int64).astype(dtype), ends))
        parts = np.array(FLOATS).astype(np.zeros(1, dtype).real.dtype)
        return parts if kind == "f" else (parts[:, None] + 1j * parts[None, ::3]).astype(dtype).ravel()


def pairs(dtype, name):
    x = edges(dtype)
    x = x[:: len(x) // 24 + 1]
    is_power = name.startswith("pow") and np.dtype(dtype).kind == "i"  # of no negative exponents
    a, b = np.meshgrid(x, np.where(x < 0, 4, x).astype(dtype) if is_power else x)
    return a.ravel(), b.ravel()


def takes(function, dtype, count):
    try:
        with np.errstate(all="ignore"):
            function(*[edges(dtype)[:2]] * count)
    except (TypeError, ValueError):
        return False
    return True


UFUNCS = sorted(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc))
UFUNCS = [name for name in UFUNCS if getattr(np, name).nin < 3 and getattr(np, name).signature is None and hasattr(ingot.numpy, name)]


def host_bits(values):
    """Bytes, with all NaNs as one."""
    flat = values.view(values.real.dtype) if values.dtype.kind == "c" else values
    return np.where(np.isnan(flat), np.asarray(np.nan, flat.dtype), flat).tobytes() if flat.dtype.kind == "f" else flat.tobytes()


def check(function, arguments, device):
    here = ingot.jit(function)(*arguments)
    there = ingot.jit(function)(*[ingot.device_put(x, device) for x in arguments])
    for one, other in zip(here, there, strict=True):
        one, other = (x if isinstance(x, tuple) else (x,) for x in (one, other))
        for a, b in zip(one, other, strict=True):
            b = b.to_host()
            assert a.dtype == b.dtype and a.shape == b.shape
            assert host_bits(a) == host_bits(b)


@pytest.mark.sampled(144)
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("device", ["emulated", pytest.param("opencl", marks=pytest.mark.sampled(4, of="opencl"))])
def test_functions(name, device):
    ufunc = getattr(np, name)
    dtypes = [dtype for dtype in DTYPES if takes(ufunc, dtype, ufunc.nin)]
    arguments = [x for dtype in dtypes for x in (pairs(dtype, name) if ufunc.nin == 2 else (edges(dtype),))]
    if ufunc.nin == 1:
        check(lambda *x: [ufunc(one) for one in x], arguments, device)
    else:
        check(lambda *x: [ufunc(x[2 * i], x[2 * i + 1]) for i in range(len(x) // 2)], arguments, device)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("device", ["emulated", pytest.param("opencl", marks=pytest.mark.sampled(4, of="opencl"))])
def test_casts(dtype, device):
    def casts(x):
        return [x.astype(np.bool_), x.astype(np.int8), x.astype(np.uint8), x.astype(np.int16), x.astype(np.uint16), x.astype(np.int32),
                x.astype(np.uint32), x.astype(np.int64), x.astype(np.uint64), x.astype(np.float16), x.astype(np.float32),
                x.astype(np.float64), x.astype(np.complex64), x.astype(np.complex128)]  # fmt: skip

    check(casts, [edges(dtype)], device)
