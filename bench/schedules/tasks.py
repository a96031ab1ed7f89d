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
from ingot.tour.peers import open_machine
from ingot.tour.tasks import CppCall

from ..contestants import CPP

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


def pointing(small: bool) -> Case:
    example = _example("pointing")
    detectors, samples, nside = (3, 5000, 32) if small else (16, 200_000, 256)
    rng = np.random.default_rng(0)
    height = rng.random(samples) * 1.6 - 0.8
    boresight = np.stack([rng.random(samples) * 6, rng.random(samples), height, np.sqrt(1 - height**2)])
    offsets = np.stack([rng.random(detectors) * 0.2, rng.random(detectors) * 0.1, 1 - rng.random(detectors) * 0.2], 1)
    tod, out = rng.random((detectors, samples)), np.zeros((nside**2, 3))
    return Case(out, _anew(out, _own(example, "pipeline", boresight, offsets, tod, out, nside)))


def product(contracts: bool) -> Callable[[bool], Case]:
    """With contracted sums next to the BLAS; else next to the same nest in C++."""

    def make(small: bool) -> Case:
        example = _example("product")
        n = 70 if small else 768
        a, b = np.random.default_rng(0).random((2, n, n))
        out = np.zeros((n, n))
        options: Any = {"fastmath": "contract"} if contracts else {}
        fast = ingot.jit(example["product"], schedule=example["plan"], **options)
        plain = ingot.jit(example["product"], **options)
        calls: dict[str, Call] = {"ingot": lambda: fast(a, b, out), "unscheduled": lambda: plain(a, b, out)}
        if contracts:
            return Case(out, _anew(out, calls) | {"numpy": lambda: np.matmul(a, b, out=out)}, 1e-12)
        machine = open_machine(1, ("cpp",), CPP)
        if machine.kinds:
            calls["c++"] = machine.library("strict").bind(CppCall("scheduled_product", (a, b, out, n, n, n), None))
        return Case(out, _anew(out, calls), 1e-12)

    return make


def _anew(out: np.ndarray, calls: dict[str, Call]) -> dict[str, Call]:
    """Calls that add to what `out` has, each from 0 on."""

    def call_of(call: Call) -> Call:
        def run() -> None:
            out[...] = 0
            call()

        return run

    return {name: call_of(call) for name, call in calls.items()}


TASKS = (
    Task("blur, float32", blur(np.float32), ("halide", 0.9)),
    Task("blur, uint16", blur(np.uint16), ("halide", 0.9)),
    Task("bilateral_grid", bilateral_grid, ("halide", 0.9)),
    Task("convolution", convolution, ("unscheduled", 1.0)),
    Task("jacobi", jacobi, ("unscheduled", 2.0)),
    Task("product, contracted", product(True), ("numpy", 0.85)),
    Task("product", product(False), ("c++", 0.85)),
    Task("pointing", pointing, ("unscheduled", 1.0)),
)
