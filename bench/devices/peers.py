"""The same programs under CuPy, Numba-CUDA, JAX and PyTorch, where they are installed: a program that needs nothing of Ingot.

    python peers.py cupy [--quick] [--bytes N] [--after NAME]

Prints lines as `python -m bench.devices` does: the library's version, or why it is absent, and rows by the names of
`programs.PROGRAMS`, with seconds of a call by the device's events (JAX: of the host's clock, over many calls).
"""

import argparse
import importlib
import json
import statistics
import time

import numpy as np

if __package__:
    from . import programs
else:
    import programs

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


def common(xp):
    """The programs by the names of their functions, in terms of a library with NumPy's names; those that write into `to` are given it."""

    def softmax(x):
        e = xp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def logsumexp(x):
        most = x.max(axis=1)
        return xp.log(xp.exp(x - most[:, None]).sum(axis=1)) + most

    return {
        "quadratic": lambda a, b, c: (-b + xp.sqrt(b**2 - 4 * a * c)) / (2 * a),
        "total": lambda x: x.sum(),
        "largest": lambda x: x.max(),
        "variance": lambda x: x.var(),
        "dot": lambda x, y: xp.dot(x, y),
        "column_sums": lambda x: x.sum(axis=0),
        "row_sums": lambda x: x.sum(axis=1),
        "softmax": softmax,
        "normalise": lambda x: (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True),
        "logsumexp": logsumexp,
        "places": lambda x: xp.argmax(x, 1),
        "row_variances": lambda x: x.var(axis=1),
        "scan": lambda x: xp.cumsum(x, 0),
        "histogram": lambda x, bins: xp.bincount(x, minlength=bins),
        "weighted_histogram": lambda x, w, bins: xp.bincount(x, w, minlength=bins),
        "gathered": lambda to, index, x: x[index],
        "sort": lambda x: xp.sort(x),
        "sorted_rows": lambda x: xp.sort(x, 1),
        "argsort": lambda x: xp.argsort(x),
        "product": lambda a, b: xp.matmul(a, b),
    }


def into_arrays(xp, functions):
    """... of a library whose arrays can be written into."""

    def stored(make):
        def run(to, *others):
            to[:] = make(*others)

        return run

    return {
        **functions,
        "copy": stored(lambda x: x),
        "add": lambda to, x, y: xp.add(x, y, out=to),
        "transposed": stored(lambda x: x.T),
        "chosen": lambda x, least: x[x > least],
        "chosen_indices": lambda x, least: (x > least).nonzero(),
    }


def ranked(xp):
    return {
        "median": lambda x: xp.median(x),
        "percentile": lambda x: xp.percentile(x, 99),
        "quantiles": lambda x: xp.quantile(x, xp.asarray([0.05, 0.25, 0.5, 0.75, 0.95])),
        "row_medians": lambda x: xp.median(x, axis=1),
    }


def cupy_rows(options):
    import cupy

    def timed(function, arguments):
        return by_events(lambda: function(*arguments), cupy.cuda.Event, cupy.cuda.get_elapsed_time, cupy.cuda.Device().synchronize)

    fused = cupy.fuse(lambda a, b, c: (-b + cupy.sqrt(b**2 - 4 * a * c)) / (2 * a))
    axpy = {d: cupy.ElementwiseKernel(f"{d} a, {d} x", f"{d} y", "y = a * x + y", f"axpy_{d}") for d in ("float32", "float64")}
    triad = cupy.ElementwiseKernel("float64 x, float64 y, float64 s", "float64 z", "z = x + s * y", "triad")
    functions = {
        **into_arrays(cupy, common(cupy)),
        **ranked(cupy),
        "quadratic": fused,
        "axpy": lambda y, x, a: axpy[y.dtype.name](a, x, y),
        "triad": lambda z, x, y, s: triad(x, y, s, z),
        "scattered": lambda to, index, x: cupy.add.at(to, index, x),
    }
    return run(options, functions, cupy.asarray, timed, lambda x: x.copy())


def torch_rows(options):
    import torch

    def timed(function, arguments):
        def event():
            return torch.cuda.Event(enable_timing=True)

        return by_events(lambda: function(*arguments), event, lambda a, b: a.elapsed_time(b), torch.cuda.synchronize)

    functions = {
        **into_arrays(torch, common(torch)),
        "variance": lambda x: x.var(unbiased=False),
        "softmax": lambda x: torch.nn.functional.softmax(x, dim=1),
        "normalise": lambda x: torch.nn.functional.layer_norm(x, x.shape[1:]),
        "logsumexp": lambda x: torch.logsumexp(x, 1),
        "row_variances": lambda x: x.var(1, unbiased=False),
        "axpy": lambda y, x, a: y.add_(x, alpha=float(a)),
        "triad": lambda z, x, y, s: torch.add(x, y, alpha=s, out=z),
        "median": torch.median,  # the lower one of two
        "row_medians": lambda x: torch.median(x, 1),
        "scattered": lambda to, index, x: to.index_add_(0, index, x),
    }
    return run(options, functions, lambda a: torch.from_numpy(np.ascontiguousarray(a)).cuda(), timed, lambda x: x.clone())


def jax_rows(options):
    import jax

    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        raise RuntimeError(f"runs on {jax.default_backend()}")
    xp = jax.numpy

    def timed(function, arguments):
        static = tuple(i for i, a in enumerate(arguments) if isinstance(a, int))
        compiled = jax.jit(function, static_argnums=static)
        return by_clock(lambda: compiled(*arguments), jax.block_until_ready)

    functions = {
        **common(xp),
        **ranked(xp),
        "add": lambda to, x, y: x + y,
        "triad": lambda to, x, y, s: x + s * y,
        "axpy": lambda y, x, a: y + a * x,
        "histogram": lambda x, bins: xp.bincount(x, length=bins),
        "weighted_histogram": lambda x, w, bins: xp.bincount(x, w, length=bins),
        "scattered": lambda to, index, x: to.at[index].add(x),
    }
    return run(options, functions, xp.asarray, timed, None)


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

    def by_threads(kernel):
        return lambda *arguments: kernel[(arguments[0].size + 255) // 256, 256](*arguments)

    functions = {
        "axpy": by_threads(axpy),
        "triad": by_threads(triad),
        "quadratic": lambda a, b, c: by_threads(quadratic)(cuda.device_array_like(a), a, b, c),
        "total": total,
    }
    return run(options, functions, cuda.to_device, timed, None)


def attempt(make):
    try:
        return make()
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}


def run(options, functions, put, timed, copied):
    """Names of the programs that a library has a function for, and of a copy, if it has one, with what gives their rows."""

    def one(function, program, size):
        arguments = program.arguments(min(size, program.most or size))
        return timed(function, tuple(put(a) if isinstance(a, np.ndarray) else a for a in arguments))

    if copied is not None:
        yield "device copy", lambda: timed(copied, (put(np.zeros(options.bytes // 8)),))
    for program in programs.PROGRAMS:
        function = functions.get(program.function.__name__)
        if function is not None and not program.options:
            yield program.name, lambda function=function, program=program: one(function, program, options.bytes)


PEERS = {"cupy": cupy_rows, "torch": torch_rows, "jax": jax_rows, "numba": numba_rows}


def opened(name, options):
    """The version of a library, or why it is not there, and what it measures."""
    told = {}
    try:
        told["version"] = importlib.import_module(name).__version__
        return told, PEERS[name](options)
    except Exception as error:
        return {**told, "absent": f"{type(error).__name__}: {error}"[:300]}, ()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=PEERS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--bytes", type=int, default=1 << 28)
    parser.add_argument("--after", metavar="NAME")
    options = parser.parse_args()
    if options.quick:
        options.bytes = 1 << 15
    told, cases = opened(options.library, options)
    if options.after is None:
        print(json.dumps(["version", told]), flush=True)
    cases = list(cases)
    names = [name for name, _ in cases]
    for name, make in cases[names.index(options.after) + 1 if options.after in names else 0 :]:
        print(json.dumps([name]), flush=True)
        print(json.dumps([name, attempt(make)]), flush=True)


if __name__ == "__main__":
    main()
