"""The same programs under CuPy, Numba-CUDA, JAX and PyTorch, where they are installed: a program that needs nothing of Ingot.

    python peers.py [--quick] [--bytes N] > peers.json

Prints a dict by peer: its version, and rows by the names of `programs.PROGRAMS`, with seconds of a call by the
device's events (JAX: of the host's clock, over many calls).
"""

import argparse
import importlib
import json
import statistics
import sys
import time

import numpy as np

SAMPLES = 20


def summary(times, repeats):
    return {"min": min(times), "median": statistics.median(times), "samples": len(times), "repeats": repeats}


def by_events(run, make_event, elapsed, wait):
    """Seconds by a library's events, short work repeated."""

    def once(repeats):
        start, end = make_event(), make_event()
        start.record()
        for _ in range(repeats):
            run()
        end.record()
        end.synchronize()
        return elapsed(start, end) * 1e-3 / repeats

    run()
    wait()
    repeats = max(1, min(1000, int(1e-3 / max(once(1), 1e-7))))
    return summary([once(repeats) for _ in range(SAMPLES)], repeats)


def by_clock(run, wait):
    """Seconds by the host's clock, of calls that are waited for together."""

    def once(repeats):
        start = time.perf_counter()
        for _ in range(repeats):
            result = run()
        wait(result)
        return (time.perf_counter() - start) / repeats

    wait(run())
    repeats = max(1, min(1000, int(20e-3 / max(once(1), 1e-7))))
    return summary([once(repeats) for _ in range(SAMPLES // 2)], repeats)


def numbers(n, dtype, count):
    g = np.random.default_rng(7)
    return [g.random(n // np.dtype(dtype).itemsize).astype(dtype) for _ in range(count)]


def cases(xp, put, n, side, keys, in_place):
    """Name, arguments and function of each program, in terms of a library with NumPy's names."""
    f4, f8 = np.float32, np.float64
    x, y, z = (put(a) for a in numbers(n, f8, 3))
    to = put(np.zeros(n // 8))
    if in_place:
        def copy(to, x):
            to[:] = x

        def add(to, x, y):
            xp.add(x, y, out=to)

        yield "stream copy", copy, (to, x)
        yield "stream add", add, (to, x, y)
    else:
        yield "stream add", lambda x, y: x + y, (x, y)
        yield "stream triad", lambda x, y: x + 3.0 * y, (x, y)
        yield "axpy float64", lambda y, x: y + 2.5 * x, (y, x)
    yield "fused chain (quadratic formula)", lambda a, b, c: (-b + xp.sqrt(b**2 - 4 * a * c)) / (2 * a), (x, y, z)
    for dtype in (f4, f8):
        name = np.dtype(dtype).name
        a, b = (put(v) for v in numbers(n, dtype, 2))
        yield f"sum {name}", lambda x: x.sum(), (a,)
        yield f"maximum {name}", lambda x: x.max(), (a,)
        yield f"dot {name}", lambda x, y: xp.dot(x, y), (a, b)
        for length in (64, 1024, 16384):
            rows = put(numbers(n, dtype, 1)[0][: n // np.dtype(dtype).itemsize // length * length].reshape(-1, length))

            def softmax(x):
                e = xp.exp(x - x.max(axis=1, keepdims=True))
                return e / e.sum(axis=1, keepdims=True)

            if rows.shape[0]:
                yield f"softmax of rows of {length}, {name}", softmax, (rows,)
        for m in side:
            p, q = (put(v) for v in np.random.default_rng(1).random((2, m, m)).astype(dtype))
            yield f"product of {m} x {m} {name}", lambda a, b: xp.matmul(a, b), (p, q)
    whole = put((numbers(n, f8, 1)[0] * 100).astype(np.int64))
    yield "scan int64", lambda x: xp.cumsum(x, 0), (whole,)
    g = np.random.default_rng(3)
    for dtype in ("int32", "int64", "float32", "float64"):
        k = put((g.random(keys) * 2**30).astype(dtype))
        yield f"sort {dtype}", lambda x: xp.sort(x), (k,)


def cupy_rows(options):
    import cupy

    def timed(function, arguments):
        return by_events(lambda: function(*arguments), cupy.cuda.Event, cupy.cuda.get_elapsed_time, cupy.cuda.Device().synchronize)

    rows = run(cases(cupy, cupy.asarray, options.bytes, options.sides, options.keys, True), timed)
    x, y, z = (cupy.asarray(v) for v in numbers(options.bytes, np.float64, 3))
    fused = cupy.fuse(lambda a, b, c: (-b + cupy.sqrt(b**2 - 4 * a * c)) / (2 * a))
    rows["fused chain (quadratic formula)"] = attempt(lambda: timed(fused, (x, y, z)))
    axpy = cupy.ElementwiseKernel("float64 a, float64 x", "float64 y", "y = a * x + y", "axpy")
    rows["axpy float64"] = attempt(lambda: timed(lambda y, x: axpy(2.5, x, y), (y, x)))
    triad = cupy.ElementwiseKernel("float64 x, float64 y, float64 s", "float64 z", "z = x + s * y", "triad")
    rows["stream triad"] = attempt(lambda: timed(lambda z, x, y: triad(x, y, 3.0, z), (z, x, y)))
    rows["device copy"] = attempt(lambda: timed(lambda x: x.copy(), (x,)))
    return rows


def torch_rows(options):
    import torch

    def timed(function, arguments):
        def event():
            return torch.cuda.Event(enable_timing=True)

        return by_events(lambda: function(*arguments), event, lambda a, b: a.elapsed_time(b), torch.cuda.synchronize)

    def put(a):
        return torch.from_numpy(np.ascontiguousarray(a)).cuda()

    class Names:
        """PyTorch's functions by NumPy's names."""

        sqrt, exp, matmul, dot, cumsum, add = torch.sqrt, torch.exp, torch.matmul, torch.dot, torch.cumsum, torch.add

        @staticmethod
        def sort(x):
            return torch.sort(x)[0]

    def found():
        for name, function, arguments in cases(Names, put, options.bytes, options.sides, options.keys, True):
            if name.startswith("softmax"):
                function = torch.nn.functional.softmax
                yield name, lambda x, function=function: function(x, dim=1), arguments
            else:
                yield name, function, arguments

    rows = run(found(), timed)
    x, y, z = (put(v) for v in numbers(options.bytes, np.float64, 3))
    rows["axpy float64"] = attempt(lambda: timed(lambda y, x: y.add_(x, alpha=2.5), (y, x)))
    rows["stream triad"] = attempt(lambda: timed(lambda z, x, y: torch.add(x, y, alpha=3.0, out=z), (z, x, y)))
    rows["device copy"] = attempt(lambda: timed(lambda x: x.clone(), (x,)))
    return rows


def jax_rows(options):
    import jax

    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        raise RuntimeError(f"runs on {jax.default_backend()}")

    def timed(function, arguments):
        compiled = jax.jit(function)
        return by_clock(lambda: compiled(*arguments), jax.block_until_ready)

    return run(cases(jax.numpy, jax.numpy.asarray, options.bytes, options.sides, options.keys, False), timed)


def numba_rows(options):
    from numba import cuda

    if not cuda.is_available():
        raise RuntimeError("sees no GPU")

    @cuda.jit
    def axpy(y, x, a):
        i = cuda.grid(1)
        if i < y.size:
            y[i] += a * x[i]

    @cuda.jit
    def triad(to, x, y, s):
        i = cuda.grid(1)
        if i < to.size:
            to[i] = x[i] + s * y[i]

    @cuda.jit
    def quadratic(to, a, b, c):
        i = cuda.grid(1)
        if i < to.size:
            to[i] = (-b[i] + (b[i] ** 2 - 4 * a[i] * c[i]) ** 0.5) / (2 * a[i])

    @cuda.reduce
    def total(a, b):
        return a + b

    def timed(function, arguments):
        return by_events(lambda: function(*arguments), cuda.event, cuda.event_elapsed_time, cuda.synchronize)

    x, y, z, to = (cuda.to_device(v) for v in [*numbers(options.bytes, np.float64, 3), np.zeros(options.bytes // 8)])
    blocks = (x.size + 255) // 256
    return {
        "axpy float64": attempt(lambda: timed(axpy[blocks, 256], (y, x, 2.5))),
        "stream triad": attempt(lambda: timed(triad[blocks, 256], (to, x, y, 3.0))),
        "fused chain (quadratic formula)": attempt(lambda: timed(quadratic[blocks, 256], (to, x, y, z))),
        "sum float64": attempt(lambda: timed(total, (x,))),
    }


def attempt(make):
    try:
        return make()
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}


def run(found, timed):
    return {name: attempt(lambda function=function, arguments=arguments: timed(function, arguments)) for name, function, arguments in found}


PEERS = {"cupy": cupy_rows, "torch": torch_rows, "jax": jax_rows, "numba": numba_rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--bytes", type=int, default=1 << 28)
    parser.add_argument("--only", nargs="*", choices=PEERS)
    options = parser.parse_args()
    options.sides, options.keys = (512, 1024, 2048), 1 << 24
    if options.quick:
        options.bytes, options.sides, options.keys = 1 << 17, (16, 33), 1 << 10
    found = {}
    for name, rows in PEERS.items():
        if options.only and name not in options.only:
            continue
        try:
            version = importlib.import_module(name).__version__
        except Exception as error:
            found[name] = {"absent": f"{type(error).__name__}: {error}"[:300]}
            continue
        try:
            found[name] = {"version": version, "rows": rows(options)}
        except Exception as error:
            found[name] = {"version": version, "absent": f"{type(error).__name__}: {error}"[:300]}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
