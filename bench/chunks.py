"""A program over data that is larger than memory, chunk by chunk under Dask: `python -m bench.chunks [--gigabytes N] [--chunk MIB] [--workers N]`.

Each chunk is made when a worker gets to it, and calibrated, cleaned and summarised as arrays: 8 bytes of an element are written, and
8 are read. What is compared runs by the same graph, and does no more than to write and to read these bytes: NumPy's `fill`, and
BLAS's product of an array with itself.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from collections.abc import Callable
from typing import Any

import dask
import numpy as np

import ingot

Summary = tuple[float, float]
GIVEN = 0.5, -100.0, 60.0
"""The gain, the offset, and what signals are less than."""


def made(level: float, n: int) -> np.ndarray:
    """A chunk of synthetic data: ramps on a level."""
    return (np.arange(n) & 1023) * 0.25 + level


def summary(raw: np.ndarray, gain: float, offset: float, most: float) -> Summary:
    """Of calibrated data without outliers: the sum, and the sum of squares."""
    signal = gain * raw + offset
    clean = np.where(np.abs(signal) < most, signal, 0.0)
    return clean.sum(), (clean * clean).sum()


def moved(buffers: list[np.ndarray], k: int) -> Summary:
    """The bytes of a chunk, written and read, in memory that is used again."""
    chunk = buffers.pop()
    chunk.fill(float(k))
    total = float(chunk @ chunk)
    buffers.append(chunk)
    return total, 0.0


def totals(parts: list[Summary]) -> Summary:
    first, second = (math.fsum(column) for column in zip(*parts))
    return first, second


def run(part: Callable[[int], Any], chunks: int, workers: int) -> tuple[Summary, float]:
    """The sums of what all chunks give, and the seconds that it takes."""
    start = time.perf_counter()
    parts = [part(k) for k in range(chunks)]
    grouped = [dask.delayed(totals)(parts[k : k + 16]) for k in range(0, chunks, 16)]
    (result,) = dask.compute(dask.delayed(totals)(grouped), scheduler="threads", num_workers=workers)
    return result, time.perf_counter() - start


def measure(elements: int, chunk: int, workers: int, rounds: int) -> dict[str, Any]:
    """Both programs over so many elements, interleaved; the least times count."""
    ingot.set_num_threads(1)
    chunks = max(1, elements // chunk)
    make, summarise = ingot.jit(made), ingot.jit(summary)
    for function, arguments in ((make, (0.0, chunk)), (summarise, (np.zeros(chunk), *GIVEN))):
        function.compile(*arguments)
    buffers = [np.zeros(chunk) for _ in range(workers)]

    def compiled(k: int) -> Any:
        return dask.delayed(summarise)(dask.delayed(make)(float(k % 8), chunk), *GIVEN)

    def floor(k: int) -> Any:
        return dask.delayed(lambda k: moved(buffers, k), pure=False)(k)

    times: dict[str, list[float]] = {"compiled": [], "moved": []}
    got: Summary = (0.0, 0.0)
    for _ in range(rounds):
        got, seconds = run(compiled, chunks, workers)
        times["compiled"].append(seconds)
        times["moved"].append(run(floor, chunks, workers)[1])
    wanted = totals([summary(made(float(k % 8), chunk), *GIVEN) for k in {0, chunks - 1}])
    mine = totals([summarise(make(float(k % 8), chunk), *GIVEN) for k in {0, chunks - 1}])
    if not np.allclose(mine, wanted, rtol=1e-12, atol=0.0):
        raise SystemExit(f"the results differ: {mine}, of NumPy {wanted}")
    least, floor_s = min(times["compiled"]), min(times["moved"])
    return {
        "bytes": 8 * chunks * chunk,
        "workers": workers,
        "seconds": least,
        "bytes_per_s": 16 * chunks * chunk / least,
        "speed_of_its_bytes": floor_s / least,
        "most_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "summary": got,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.chunks", description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=50.0, metavar="N", help="of data in all (50)")
    parser.add_argument("--chunk", type=float, default=64.0, metavar="MIB", help="of data in a chunk (64)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="threads that Dask has (2)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds in which each program runs once (3)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    options = parser.parse_args()
    figures = measure(int(options.gigabytes * 1e9 / 8), int(options.chunk * 2**20 / 8), options.workers, options.rounds)
    print(
        f"{figures['bytes'] / 1e9:.1f} GB in {figures['seconds']:.2f} s by {figures['workers']} workers: {figures['bytes_per_s'] / 1e9:.2f} GB/s written and read"
    )
    print(f"{figures['speed_of_its_bytes']:.2f} times the speed of its bytes, at most {figures['most_memory'] / 1e6:.0f} MB of memory")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
