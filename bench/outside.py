"""Calls out of compiled code: nanoseconds a call of a C function, a host function and SciPy's, inside a loop, in Ingot, Python, SciPy and Numba.

    .venv/bin/python -m bench.outside
"""

from __future__ import annotations

import ctypes
import ctypes.util
import time
from collections.abc import Callable
from typing import Any

import ingot
import numpy as np
import scipy.special as special

libm = ctypes.CDLL(ctypes.util.find_library("m"))
cosh = libm.cosh
cosh.argtypes, cosh.restype = [ctypes.c_double], ctypes.c_double
watched = ingot.host(lambda x: x, result=float)
pure = ingot.host(lambda x: x, result=float, pure=True)


def by_ctypes(x: Any) -> float:
    s = 0.0
    for i in range(len(x)):
        s += cosh(x[i])
    return s


def by_host(x: Any) -> float:
    s = 0.0
    for i in range(len(x)):
        s += watched(x[i])
    return s


def by_pure_host(x: Any) -> float:
    s = 0.0
    for i in range(len(x)):
        s += pure(x[i])
    return s


def erf_in_a_loop(x: Any) -> float:
    s = 0.0
    for i in range(len(x)):
        s += special.erf(x[i])
    return s


def jv_in_a_loop(x: Any) -> float:
    s = 0.0
    for i in range(len(x)):
        s += special.jv(1.5, x[i])
    return s


def erf_of_an_array(x: Any) -> Any:
    return special.erf(x)


def jv_of_an_array(x: Any) -> Any:
    return special.jv(1.5, x)


def by_cffi() -> Callable | None:
    try:
        import cffi
    except ImportError:
        return None
    ffi = cffi.FFI()
    ffi.cdef("double cosh(double);")
    function = ffi.dlopen(ctypes.util.find_library("m")).cosh

    def of_cffi(x: Any) -> float:
        s = 0.0
        for i in range(len(x)):
            s += function(x[i])
        return s

    return of_cffi


def time_of(f: Callable, x: Any, rounds: int = 5) -> float:
    """The least time of some calls, in nanoseconds an element."""
    f(x)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        f(x)
        times.append(time.perf_counter() - start)
    return min(times) / len(x) * 1e9


def by_numba(f: Callable) -> Callable | None:
    """The same in Numba, where it takes it: `ctypes` as it is, `scipy.special` by cython_special's pointers, as numba-scipy does it."""
    try:
        import numba
        from numba.extending import get_cython_function_address
    except ImportError:
        return None
    names = {"erf_in_a_loop": ("__pyx_fuse_1erf", 1), "jv_in_a_loop": ("__pyx_fuse_1jv", 2)}
    space = dict(f.__globals__)
    if f.__name__ in names:
        name, count = names[f.__name__]
        address = get_cython_function_address("scipy.special.cython_special", name)
        pointer = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * count, ctypes.c_int)(address)
        call = numba.njit(lambda x: pointer(x, 1)) if count == 1 else numba.njit(lambda n, x: pointer(n, x, 1))
        space["special"] = type("special", (), {"erf": staticmethod(call), "jv": staticmethod(call)})
        source = {"erf_in_a_loop": "call(x[i])", "jv_in_a_loop": "call(1.5, x[i])"}[f.__name__]
        space["call"] = call
        exec(f"def g(x):\n    s = 0.0\n    for i in range(len(x)):\n        s += {source}\n    return s\n", space)
        return numba.njit(space["g"])
    return numba.njit(f) if f is by_ctypes else None


def main() -> None:
    x = np.linspace(0.1, 5, 20_000)
    long = np.linspace(0.1, 5, 1_000_000)
    print(f"{'ns a call':24}{'Ingot':>10}{'Python':>10}{'Numba':>10}")
    for f in (by_ctypes, by_cffi(), by_pure_host, by_host, erf_in_a_loop, jv_in_a_loop, erf_of_an_array, jv_of_an_array):
        if f is None:
            continue
        of_array = f.__name__.endswith("array")
        given = long if of_array or "loop" in f.__name__ or f is by_ctypes else x
        plain = time_of(f, long if of_array else x[:2000])
        numba = by_numba(f)
        of_numba = f"{time_of(numba, given):10.1f}" if numba else f"{'-':>10}"
        print(f"{f.__name__:24}{time_of(ingot.jit(f), given):10.1f}{plain:10.1f}{of_numba}", flush=True)


if __name__ == "__main__":
    main()
