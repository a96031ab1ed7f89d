"""C++ contestants: compiled once into a cache folder, called through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .tasks import CppCall

SOURCES = Path(__file__).resolve().parent / "cpp"
COMMON = ["-std=c++20", "-march=native", "-mprefer-vector-width=512", "-fPIC", "-fno-math-errno"]
KINDS = {"strict": ["-O3", "-ffp-contract=off"], "fast": ["-Ofast"]}


def cache_folder() -> Path:
    """Where compiled libraries are kept: the user's own folder for such things."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ingot" / "cpp"


def _compile(kind: str, threads: int, folders: Sequence[Path]) -> Path:
    """The shared library of all sources with the flags of `kind`; compiled unless it is there."""
    linking = [*COMMON, "-fopenmp" if threads > 1 else "-fopenmp-simd"]  # -Ofast would have the process flush denormal numbers
    flags = [*linking, *KINDS[kind]]
    sources = [path for folder in folders for path in sorted(folder.glob("*.cpp"))]
    processor = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("model name", "flags"))]
    key = hashlib.sha256("\n".join([*flags, *linking, *processor[:2]]).encode())
    for path in sources:
        key.update(path.read_bytes())
    library = cache_folder() / f"{kind}-{key.hexdigest()[:24]}.so"
    if library.exists():
        return library
    library.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # a sanitizer is not for the compiler
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:

        def one(source: Path) -> Path:
            target = Path(folder) / f"{source.parent.parent.name}-{source.stem}.o"
            subprocess.run(["g++", *flags, "-c", source, "-o", target], check=True, env=environment)
            return target

        with ThreadPoolExecutor(2) as pool:
            objects = list(pool.map(one, sources))
        made = Path(folder) / "library.so"
        subprocess.run(["g++", *linking, "-shared", *objects, "-o", made, "-lmvec", "-lm"], check=True, env=environment)
        made.replace(library)
    return library


class Library:
    """The C++ functions of some folders under one set of flags."""

    def __init__(self, kind: str, threads: int, folders: Sequence[Path] = (SOURCES,)) -> None:
        self._library = ctypes.CDLL(str(_compile(kind, threads, folders)))

    def bind(self, call: CppCall) -> Callable[[], Any]:
        """A function without arguments that makes the call and gives its result."""
        function = getattr(self._library, call.function)
        function.restype = None
        arguments = [_argument(a) for a in call.arguments]
        result = call.result if callable(call.result) else lambda: call.result
        kept = call.arguments

        def run(_keep: tuple[Any, ...] = kept) -> Any:
            function(*arguments)
            return result()

        return run


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, np.float32):
        return ctypes.c_float(float(value))
    if isinstance(value, (int, np.integer)):
        return ctypes.c_int64(int(value))
    return ctypes.c_double(value)


def compiler() -> str | None:
    return shutil.which("g++")
