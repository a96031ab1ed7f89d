"""What is timed: the examples of `examples/schedules`, and the same in Halide, NumPy and Numba.

Each task makes the calls of one program with its arrays, by contestant; each call writes into `out`. Halide's calls are made where it is installed.
"""

from __future__ import annotations

import importlib.util
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ingot

EXAMPLES = Path(__file__).parents[2] / "examples" / "schedules"
Call = Callable[[], Any]


@dataclass
class Case:
    """A program with its arrays: `out` is what each of the calls writes; they may differ by `bound` of its largest element."""

    out: np.ndarray
    calls: dict[str, Call]
    bound: float = 0.0


@dataclass(frozen=True)
class Task:
    """`make(small)` gives a case; `goal` is the least ratio to that peer's time that the schedule is to have."""

    name: str
    make: Callable[[bool], Case]
    goal: tuple[str, float]


def has(peer: str) -> bool:
    return importlib.util.find_spec(peer) is not None


def _example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def _halide(name: str, *arguments: Any) -> dict[str, Call]:
    if not has("halide"):
        return {}
    from . import halide_programs

    return {"halide": getattr(halide_programs, name)(*arguments)}


def _numba(function: Callable[..., Any], *arguments: Any) -> dict[str, Call]:
    if not has("numba"):
        return {}
    import numba

    compiled = numba.njit(function)
    return {"numba": lambda: compiled(*arguments)}


def _own(example: dict[str, Any], name: str, *arguments: Any) -> dict[str, Call]:
    """The example's function under its schedule, and without."""
    plain = ingot.jit(example[name])
    return {"ingot": lambda: example["fast"](*arguments), "unscheduled": lambda: plain(*arguments)}


def blur(dtype: type) -> Callable[[bool], Case]:
    def make(small: bool) -> Case:
        example = _example("blur")
        height, width = (66, 130) if small else (2402, 6402)
        image = (np.random.default_rng(0).random((height, width)) * 20000).astype(dtype)
        out = np.zeros((height - 2, width - 2), dtype)
        calls = _own(example, "blur", image, out) | {"numpy": lambda: example["blur"](image, out)} | _halide("blur", image, out)
        return Case(out, calls, 1e-6 if dtype == np.float32 else 0.0)

    return make


def bilateral_grid(small: bool) -> Case:
    example = _example("bilateral_grid")
    image = np.random.default_rng(0).random((64, 96) if small else (2560, 1536), np.float32)
    out = np.zeros_like(image)
    calls = _own(example, "bilateral_grid", image, out, 10) | _halide("bilateral_grid", image, out, 10)
    return Case(out, calls, 1e-5)


def convolution(small: bool) -> Case:
    example = _example("convolution")
    height, width = (40, 60) if small else (4096, 4096)
    rng = np.random.default_rng(0)
    image, weights, out = rng.random((height + 8, width + 8), np.float32), rng.random(9, np.float32), np.zeros((height, width), np.float32)
    calls = _own(example, "convolution", image, weights, out) | _numba(example["convolution"], image, weights, out)
    return Case(out, calls, 1e-5)


def jacobi(small: bool) -> Case:
    example = _example("jacobi")
    height, width = (80, 90) if small else (6016, 6016)
    u, out = np.random.default_rng(0).random((height, width)), np.zeros((height - 16, width - 16))
    return Case(out, _own(example, "sweeps", u, out) | {"numpy": lambda: example["sweeps"](u, out)})


TASKS = (
    Task("blur, float32", blur(np.float32), ("halide", 0.9)),
    Task("blur, uint16", blur(np.uint16), ("halide", 0.9)),
    Task("bilateral_grid", bilateral_grid, ("halide", 0.9)),
    Task("convolution", convolution, ("unscheduled", 1.0)),
    Task("jacobi", jacobi, ("unscheduled", 2.0)),
)
