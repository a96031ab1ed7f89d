"""Times of a device's work, by events in its stream, with warm-up: the least and the median of many samples."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import ingot
from ingot import cuda

LEAST = 1e-3
"""Seconds of one sample at least: short work is repeated."""


class Clock:
    """Measures on one device. A quick one takes two samples of one call each."""

    def __init__(self, device: Any, quick: bool, samples: int = 20, seconds: float = 1.0) -> None:
        self.device, self.quick = ingot.device(device), quick
        self.samples, self.seconds = (2, 1.0) if quick else (samples, seconds)

    def _once(self, run: Callable[[], Any], repeats: int) -> float:
        start, end = cuda.event(), cuda.event()
        start.record()
        for _ in range(repeats):
            run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3 / repeats

    def measure(self, run: Callable[[], Any]) -> dict[str, Any]:
        """Seconds of one call of `run`, which puts work into the current stream: `min`, `median`, and of how many samples."""
        with self.device:
            begin = time.perf_counter()
            run()
            self.device.synchronize()
            first = self._once(run, 1)
            taken = time.perf_counter() - begin
            repeats = 1 if self.quick else max(1, min(1000, int(LEAST / max(first, 1e-7))))
            times = []
            while len(times) < self.samples and (not times or time.perf_counter() - begin - taken < self.seconds):
                times.append(self._once(run, repeats))
        return {"min": min(times), "median": statistics.median(times), "samples": len(times), "repeats": repeats}

    def host(self, run: Callable[[], Any], calls: int) -> dict[str, Any]:
        """Seconds of the host for one call of `run`, which is not waited for."""
        calls = 5 if self.quick else calls
        times = []
        with self.device:
            for _ in range(self.samples):
                self.device.synchronize()
                start = time.perf_counter()
                for _ in range(calls):
                    run()
                times.append((time.perf_counter() - start) / calls)
                self.device.synchronize()
        return {"min": min(times), "median": statistics.median(times), "samples": len(times), "repeats": calls}
