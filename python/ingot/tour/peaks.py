"""What the machine reaches at most, measured by kernels that Ingot compiles, and the roofline that follows."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import ingot
from ingot import prange

CHAINS = 12
STEPS = 64
PARTS = 64


def read_all(x):
    return np.sum(x)


def read_parts(x, sums):
    for i in prange(len(sums)):
        sums[i] = np.sum(x[i])


def multiply_add(x, factor, term, iterations, steps):
    """Chains of multiplications and additions that do not wait for each other, from numbers in the first cache."""
    for _ in range(iterations):
        for i in range(len(x)):
            a = x[i]
            b, c, d, e, f, g = a + 1.0, a + 2.0, a + 3.0, a + 4.0, a + 5.0, a + 6.0
            h, j, k, m, n = a + 7.0, a + 8.0, a + 9.0, a + 10.0, a + 11.0
            for _ in range(steps):
                a = a * factor + term
                b = b * factor - term
                c = c * factor + term
                d = d * factor - term
                e = e * factor + term
                f = f * factor - term
                g = g * factor + term
                h = h * factor - term
                j = j * factor + term
                k = k * factor - term
                m = m * factor + term
                n = n * factor - term
            x[i] = (a + b) + (c + d) + (e + f) + (g + h) + (j + k) + (m + n)


def multiply_add_parts(parts, factor, term, iterations, steps):
    for p in prange(len(parts)):
        multiply_add(parts[p], factor, term, iterations, steps)


def _best(call: Callable[[], object], rounds: int) -> float:
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(small: bool) -> dict[str, dict[str, float]]:
    """Bytes read and operations done a second, by one core and by all that `prange` takes."""
    n, iterations, rounds = (100_000, 2, 2) if small else (25_000_000, 200, 6)
    x = np.ones(n // PARTS * PARTS)
    parts, sums = x.reshape(PARTS, -1), np.zeros(PARTS)
    line = np.zeros((8, 512))
    reading, adding = ingot.jit(read_all), ingot.jit(multiply_add)
    reading_parts, adding_parts = ingot.jit(read_parts), ingot.jit(multiply_add_parts)
    work = 2.0 * CHAINS * STEPS * iterations * line[0].size
    seconds = {
        "core": (
            _best(lambda: reading(x), rounds),
            _best(lambda: adding(line[0], 0.999, 3e-4, iterations, STEPS), rounds),
        ),
        "all": (
            _best(lambda: reading_parts(parts, sums), rounds),
            _best(lambda: adding_parts(line, 0.999, 3e-4, iterations, STEPS), rounds) / len(line),
        ),
    }
    rates = {who: {"bytes_per_s": x.nbytes / r, "flops_per_s": work / a} for who, (r, a) in seconds.items()}
    rates["all"] = {name: max(rate, rates["core"][name]) for name, rate in rates["all"].items()}
    return rates


def roof(size: float | None, flops: float | None, peaks: dict[str, float] | None) -> tuple[float, str] | None:
    """The least seconds that peaks allow for bytes and operations, and which of the two it is."""
    if not peaks or not (size or flops):
        return None
    memory = (size or 0) / peaks["bytes_per_s"]
    arithmetic = (flops or 0) / peaks["flops_per_s"]
    return (memory, "memory") if memory >= arithmetic else (arithmetic, "arithmetic")
