"""Whether functions have the same bits on a device, on the software device and on the CPU."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import ingot

UNARY = (
    "negative absolute sign sqrt square reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh "
    "tanh arcsinh arccosh arctanh cbrt floor ceil trunc rint isnan isfinite signbit"
).split()
BINARY = "add subtract multiply divide power maximum minimum hypot arctan2 fmod remainder floor_divide copysign nextafter less equal".split()
INTEGERS = "add subtract multiply floor_divide remainder bitwise_and bitwise_or bitwise_xor left_shift right_shift maximum power".split()


def _floats(n: int, dtype: Any) -> np.ndarray:
    """Ordinary numbers, small and large ones, and what is special."""
    g = np.random.default_rng(5)
    limits = np.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, float(limits.tiny), float(limits.smallest_subnormal), float(limits.max)]
    spread = g.normal(size=n) * 10.0 ** g.integers(-6, 6, n)
    return np.concatenate([np.array(special, dtype), spread.astype(dtype)])


def _ufunc(name: str) -> Callable:
    function = getattr(np, name)
    if name in UNARY:
        return lambda x: function(x)
    return lambda x, y: function(x, y)


def sums(x):
    return x.sum(), x.max(), x.min(), np.mean(x), np.var(x)


def axes(x):
    y = x.reshape(-1, 16)
    return y.sum(axis=0), y.sum(axis=1), y.T.sum(axis=1), y.max(axis=1), np.argmax(y, axis=0)


def scans(x):
    return np.cumsum(x), np.cumprod(x[:20])


def kept(x):
    return x[x > 0], np.nonzero(x > 0)[0], np.where(x > 0, x, -x)


def ordered(x):
    return np.sort(x), np.argsort(x, kind="stable"), np.unique(x)


def turned(x):
    y = x.reshape(8, -1)
    return y.T.copy(), y[::-1, ::2], np.concatenate([y, y * 2], axis=1), np.roll(x, 3)


def stencil(x):
    y = x.copy()
    for _ in range(3):
        y[1:-1] = (y[:-2] + y[1:-1] + y[2:]) / 3
    return y


def products(x):
    y = x[:256].reshape(16, 16)
    return np.outer(x[:9], x[:7]), np.sum(y * y.T)


def counts(x):
    return np.bincount(np.abs(x).astype(np.int64) % 32, minlength=32)


def raising(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total, x[len(x)]


def cases(quick: bool) -> Iterator[tuple[str, Callable, tuple]]:
    """Names, functions and arguments."""
    n = 54 if quick else 20_000
    for name, dtype in itertools.product(UNARY, (np.float32, np.float64)):
        yield f"{name} {np.dtype(dtype).name}", _ufunc(name), (_floats(n, dtype),)
    for name, dtype in itertools.product(BINARY, (np.float32, np.float64)):
        x = _floats(n, dtype)
        yield f"{name} {np.dtype(dtype).name}", _ufunc(name), (x, np.roll(x, 7))
    g = np.random.default_rng(9)
    for name, dtype in itertools.product(INTEGERS, (np.int8, np.uint16, np.int32, np.int64)):
        x = g.integers(-100 if np.dtype(dtype).kind == "i" else 0, 100, n).astype(dtype)
        small = name in ("left_shift", "right_shift", "power")
        y = (np.abs(x) % 7).astype(dtype) if small else np.where(x == 0, 3, x[::-1]).astype(dtype)
        yield f"{name} {np.dtype(dtype).name}", _ufunc(name), (x, y)
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        x = (g.normal(size=64 if quick else 40_000) * 50).astype(dtype)
        for function in (sums, axes, scans, kept, ordered, turned, stencil, products, counts, raising):
            if function is stencil and np.dtype(dtype).kind == "i":
                continue
            yield f"{function.__name__} {np.dtype(dtype).name}", function, (x,)


def _bits(value: Any) -> Any:
    """What two results must have alike: types, dtypes, shapes and bits; a NaN is a NaN."""
    if isinstance(value, ingot.Array):
        value = value.to_host()
    if isinstance(value, (tuple, list)):
        return [_bits(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind in "fc":
            array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
        return type(value).__name__, array.dtype.str, array.shape, array.tobytes()
    if isinstance(value, float):
        return "float", np.float64(value).tobytes() if value == value else "nan"
    return type(value).__name__, value


def _outcome(function: Callable, arguments: tuple) -> tuple[str, Any]:
    """What is given, and its bits; or what is raised, and its message."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "gives", _bits(function(*arguments))
        except Exception as error:
            return type(error).__name__, str(error)


def compare(device: Any, quick: bool) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Each function's name, and what finds where it gives what else than the CPU: on `device` and on the software device."""
    places = list(dict.fromkeys([str(ingot.device(device)), "emulated:0"]))
    for name, function, arguments in cases(quick):
        yield name, lambda function=function, arguments=arguments: _compared(places, function, arguments)


def _compared(places: list[str], function: Callable, arguments: tuple) -> dict[str, Any]:
    compiled = ingot.jit(function)
    expected, plain = (_outcome(f, tuple(map(np.copy, arguments))) for f in (compiled, function))
    different = {}
    if expected[0] != plain[0]:
        different["cpu"] = {"expected": repr(plain)[:200], "got": repr(expected)[:200]}
    for place in places:
        given, wanted = arguments, expected
        if place == "emulated:0" != places[0] and arguments[0].size > 5000:
            given = tuple(a[:4096] for a in arguments)  # what the software device does in time
            wanted = _outcome(compiled, given)
        got = _outcome(compiled, tuple(ingot.device_put(a, place) for a in given))
        if got != wanted:
            different[place] = {"expected": repr(wanted)[:200], "got": repr(got)[:200]}
    return {"places": places, "different": different}
