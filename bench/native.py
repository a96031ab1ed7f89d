"""The C++ contestants: compiled once into build/bench, called through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .workload import CppCall

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bench" / "cpp"
BUILD = ROOT / "build" / "bench"
COMMON = ["-std=c++20", "-march=native", "-mprefer-vector-width=512", "-fPIC", "-fno-math-errno"]
KINDS = {"strict": ["-O3", "-ffp-contract=off"], "fast": ["-Ofast"]}


def _compile(kind: str, threads: int) -> Path:
    """The shared library of all sources with the flags of `kind`; compiled unless it is there."""
    flags = [*COMMON, *KINDS[kind], "-fopenmp" if threads > 1 else "-fopenmp-simd"]
    sources = sorted(SOURCES.glob("*.cpp"))
    key = hashlib.sha256(" ".join(flags).encode())
    for path in sorted(SOURCES.iterdir()):
        key.update(path.read_bytes())
    folder = BUILD / f"{kind}-{key.hexdigest()[:16]}"
    library = folder / "bench.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # a sanitizer is not for the compiler

    def one(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        subprocess.run(["g++", *flags, "-c", source, "-o", target], check=True, env=environment)
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(one, sources))
    subprocess.run(["g++", *flags, "-shared", *objects, "-o", library, "-lmvec", "-lm"], check=True, env=environment)
    return library


class Library:
    """The functions of bench/cpp under one set of flags."""

    def __init__(self, kind: str, threads: int) -> None:
        self._library = ctypes.CDLL(str(_compile(kind, threads)))

    def bind(self, call: CppCall) -> Callable[[], Any]:
        """A function without arguments that makes the call and gives its result."""
        function = getattr(self._library, call.function)
        function.restype = None
        arguments = [_argument(a) for a in call.arguments]
        result = call.result if callable(call.result) else lambda: call.result
        kept = call.arguments

        def run(_keep: tuple = kept) -> Any:
            function(*arguments)
            return result()

        return run


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, np.float32):
        return ctypes.c_float(value)
    if isinstance(value, (int, np.integer)):
        return ctypes.c_int64(value)
    return ctypes.c_double(value)


def compiler() -> str | None:
    return shutil.which("g++")


def peaks(library: Library, small: bool, now: Callable[[], float]) -> dict[str, float]:
    """Bytes and flops a second that C++ reaches: a triad of arrays beyond the caches, chains of multiply-adds."""
    n = 100_000 if small else 20_000_000
    a, b, c = np.zeros(n), np.ones(n), np.ones(n)
    triads = [library.bind(CppCall(name, (a, b, c, 3.0, n), None)) for name in ("stream_triad", "triad_past_caches")]
    turns = 10_000 if small else 5_000_000
    sums = np.zeros(1)
    flops = library.bind(CppCall("peak_flops", (sums, turns), None))

    def best(function: Callable[[], Any]) -> float:
        times = []
        for _ in range(3 if small else 8):
            start = now()
            function()
            times.append(now() - start)
        return min(times)

    return {"bytes_per_s": 24 * n / min(best(t) for t in triads), "flops_per_s": turns * 256 / best(flops)}
