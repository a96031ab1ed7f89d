"""What the machine reaches at most, by C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.tour.native import Library

from .workload import CppCall


def peaks(library: Library, small: bool, now: Callable[[], float]) -> dict[str, float]:
    """Bytes and flops a second that C++ reaches: a triad of arrays beyond the caches, chains of multiply-adds."""
    n = 100_000 if small else 20_000_000
    a, b, c = np.zeros(n), np.ones(n), np.ones(n)
    triads = [library.bind(CppCall(name, (a, b, c, 3.0, n), None)) for name in ("stream_triad", "triad_past_caches")]
    iterations = 10_000 if small else 5_000_000
    sums = np.zeros(1)
    flops = library.bind(CppCall("peak_flops", (sums, iterations), None))

    def best(function: Callable[[], Any]) -> float:
        times = []
        for _ in range(3 if small else 8):
            start = now()
            function()
            times.append(now() - start)
        return min(times)

    return {"bytes_per_s": 24 * n / min(best(t) for t in triads), "flops_per_s": iterations * 256 / best(flops)}
