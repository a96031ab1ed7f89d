"""Programs over arrays as users write them, compiled and not: `python -m bench.programs [--only NAME ...] [--small] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ingot

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from samples import equations, images, learning, networks, physics, signals  # noqa: E402

# A program is run at least so often and so long; the least time counts.
ROUNDS, SECONDS = 5, 1.0


@dataclass(frozen=True)
class Program:
    """A program, its arguments (small or not), and how closely its floats are NumPy's (0: the same bits)."""

    function: Callable
    arguments: Callable[[bool], tuple]
    bound: float = 1e-9


def _image(small: bool) -> np.ndarray:
    """Bright discs on a slope, with noise, in bytes."""
    g = np.random.default_rng(3)
    n = 24 if small else 512
    y, x = np.mgrid[0:n, 0:n] / n
    discs = sum(90.0 * (((x - a) ** 2 + (y - b) ** 2) < 0.02) for a, b in ((0.3, 0.3), (0.7, 0.6)))
    return np.clip(40 * x + discs + g.normal(40, 8, (n, n)), 0, 255).astype(np.uint8)


def _points(small: bool, columns: int) -> np.ndarray:
    """Three clouds of points, one after the other."""
    g = np.random.default_rng(4)
    n = 10 if small else 3000
    return np.concatenate([g.normal(c, 0.6 + 0.2 * c, (n, columns)) for c in range(3)])


def _line(small: bool) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(5)
    x = g.uniform(0, 4, 20 if small else 1000)
    return x, 1.5 * x - 0.5 + g.normal(0, 0.3, x.size)


def _bump(small: bool) -> np.ndarray:
    """A smooth hill on a square."""
    x = np.linspace(-1, 1, 16 if small else 256)
    return np.exp(-8 * (x[:, None] ** 2 + (x - 0.2) ** 2))


def _winds(small: bool) -> tuple:
    x = np.linspace(0, 2 * np.pi, len(_bump(small)))
    return _bump(small), np.sin(x)[:, None] + 0 * x, 0.5 * np.cos(x) + 0 * x[:, None]


def _sound(small: bool) -> np.ndarray:
    g = np.random.default_rng(6)
    t = np.arange(600 if small else 200_000) / 8000
    return np.sin(2 * np.pi * 440 * t) + 0.3 * np.sin(2 * np.pi * 1700 * t) + g.normal(0, 0.5, t.size)


def _dialling(small: bool) -> np.ndarray:
    """Tones of keys, and silence between them."""
    t = np.arange(205) / 8000
    keys = [(0, 1), (3, 1), (2, 3)] * (1 if small else 20)
    tones = [np.sin(2 * np.pi * signals.TONES[r] * t) + np.sin(2 * np.pi * signals.TONES[4 + c] * t) for r, c in keys]
    return np.concatenate([part for tone in tones for part in (tone, np.zeros(205))])


def _track(small: bool) -> np.ndarray:
    g = np.random.default_rng(7)
    t = np.arange(12 if small else 2000)[:, None] * 0.1
    return np.hstack([3 * t, np.sin(t)]) + g.normal(0, 0.2, (len(t), 2))


def _links(small: bool) -> np.ndarray:
    g = np.random.default_rng(8)
    n = 12 if small else 600
    links = (g.random((n, n)) < 3 / n).astype(float)
    links[2] = 0
    return links


def _roads(small: bool) -> np.ndarray:
    g = np.random.default_rng(9)
    n = 10 if small else 250
    return np.where(g.random((n, n)) < 4 / n, g.uniform(1, 9, (n, n)), np.inf)


def _stars(small: bool) -> tuple:
    g = np.random.default_rng(10)
    n = 6 if small else 200
    return g.normal(size=(n, 3)), 0.3 * g.normal(size=(n, 3)), g.uniform(0.5, 1.5, n) / n


def _labels(small: bool) -> np.ndarray:
    return np.repeat(np.arange(3), len(_points(small, 1)) // 3)


PROGRAMS: dict[str, Program] = {
    "equalise_histogram": Program(images.equalise_histogram, lambda s: (_image(s),), 0),
    "gaussian_blur": Program(images.gaussian_blur, lambda s: (_image(s).astype(float), 1.5)),
    "find_edges": Program(images.find_edges, lambda s: (_image(s).astype(float), 60.0, 160.0), 0),
    "resize": Program(images.resize, lambda s: (np.stack([_image(s)] * 3, axis=2), *((20, 30) if s else (400, 700))), 0),
    "bright_part": Program(images.bright_part, lambda s: (_image(s), 2)),
    "k_means": Program(learning.k_means, lambda s: (_points(s, 2), 3, 20, 1)),
    "principal_components": Program(learning.principal_components, lambda s: (_points(s, 6), 3), 1e-7),
    "bootstrap_regression": Program(learning.bootstrap_regression, lambda s: (*_line(s), 8 if s else 500, 2)),
    "density_estimate": Program(learning.density_estimate, lambda s: (_line(s)[1], np.linspace(-2, 7, 40 if s else 500))),
    "metropolis": Program(learning.metropolis, lambda s: (*_line(s), *((60, 20) if s else (5000, 1000)), 3), 1e-6),
    "train_classifier": Program(learning.train_classifier, lambda s: (_points(s, 5), _labels(s), 3, 2 if s else 5, 0.1, 4), 1e-6),
    "heat_by_directions": Program(equations.heat_by_directions, lambda s: (_bump(s), 0.1, 0.01, 0.005, 3 if s else 20)),
    "advect": Program(equations.advect, lambda s: (*_winds(s), 0.1, 0.02, 4 if s else 60)),
    "shallow_water": Program(equations.shallow_water, lambda s: (1 + 0.3 * _bump(s), 0.01, 0.02 if s else 0.04)),
    "wave": Program(equations.wave, lambda s: (20, 12) if s else (200, 200)),
    "spectral_poisson": Program(equations.spectral_poisson, lambda s: (_bump(s), 2.0), 1e-7),
    "welch": Program(signals.welch, lambda s: (_sound(s), 8000.0, 64 if s else 1024), 1e-7),
    "filter_and_decimate": Program(signals.filter_and_decimate, lambda s: (_sound(s), 800.0, 8000.0, 4), 1e-7),
    "dialled_keys": Program(signals.dialled_keys, lambda s: (_dialling(s), 8000.0, 205), 0),
    "kalman_track": Program(signals.kalman_track, lambda s: (_track(s), 0.1, 0.5, 0.2)),
    "page_rank": Program(networks.page_rank, lambda s: (_links(s),)),
    "shortest_paths": Program(networks.shortest_paths, lambda s: (_roads(s),), 0),
    "life": Program(networks.life, lambda s: (_image(s) % 3 == 0, 6 if s else 40), 0),
    "spectral_clusters": Program(networks.spectral_clusters, lambda s: (_points(s, 2)[:: 1 if s else 30], 0.8), 1e-7),
    "lattice_boltzmann": Program(physics.lattice_boltzmann, lambda s: (*((24, 12) if s else (200, 80)), 0.1, 0.6, 3 if s else 40), 1e-7),
    "ising": Program(physics.ising, lambda s: (*((8, 2.3, 5) if s else (128, 2.3, 60)), 5)),
    "n_body": Program(physics.n_body, lambda s: (*_stars(s), 0.01, 3 if s else 20)),
    "quantum_packet": Program(physics.quantum_packet, lambda s: (64, 5, 1e-5) if s else (2048, 200, 1e-5), 1e-7),
}


def difference(got: Any, expected: Any, bound: float) -> str | None:
    """None, or in words how results differ: types, shapes, or floats beyond a relative and absolute bound."""
    if isinstance(expected, dict):
        if list(got) != list(expected):
            return f"keys {list(got)} for {list(expected)}"
        got, expected = tuple(got.values()), tuple(expected.values())
    if isinstance(expected, (tuple, list)):
        if type(got) is not type(expected) or len(got) != len(expected):
            return f"{got!r} for {expected!r}"
        return next((d for g, e in zip(got, expected) if (d := difference(g, e, bound))), None)
    g, e = np.asarray(got), np.asarray(expected)
    if type(got) is not type(expected) or g.dtype != e.dtype or g.shape != e.shape:
        return f"{type(got).__name__} {g.dtype}{g.shape} for {type(expected).__name__} {e.dtype}{e.shape}"
    if e.dtype.kind in "fc" and bound:
        scale = np.abs(e[np.isfinite(e)]).max(initial=0.0)
        right = np.allclose(g, e, rtol=bound, atol=bound * scale, equal_nan=True)
    else:
        right = np.array_equal(g, e, equal_nan=e.dtype.kind in "fc")
    return None if right else f"{got!r} for {expected!r}"


def _least(calls: list[Callable], program: Program, small: bool) -> list[float]:
    """Seconds of one call of each, alternately, on arguments of its own."""
    least = [math.inf] * len(calls)
    spent = 0.0
    done = 0
    while done < ROUNDS or (spent < SECONDS and done < 10 * ROUNDS):
        for i, call in enumerate(calls):
            arguments = program.arguments(small)
            start = time.perf_counter()
            call(*arguments)
            took = time.perf_counter() - start
            least[i] = min(least[i], took)
            spent += took
        done += 1
    return least


def measure(program: Program, small: bool = False) -> dict[str, Any]:
    """Seconds of a program and of its compiled form, and of the latter's first call; or what is wrong."""
    compiled = ingot.jit(program.function)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            arguments = program.arguments(True)
            start = time.perf_counter()
            result = compiled(*arguments)
            first = time.perf_counter() - start
            fault = difference(result, program.function(*program.arguments(True)), program.bound)
            if fault is None:
                bound = program.bound and 1e-5
                fault = difference(compiled(*program.arguments(small)), program.function(*program.arguments(small)), bound)
        except Exception as error:
            fault = str(error)
        if fault is not None:
            return {"wrong": fault}
        numpy, own = _least([program.function, compiled], program, small)
    return {"numpy": numpy, "ingot": own, "first": first}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.programs", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs")
    parser.add_argument("--small", action="store_true", help="small arguments")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    options = parser.parse_args()
    table = {}
    print(f"{'':22}{'NumPy, ms':>12}{'Ingot, ms':>12}{'ratio':>9}{'first call, ms':>17}")
    for name, program in PROGRAMS.items():
        if options.only and name not in options.only:
            continue
        found = table[name] = measure(program, options.small)
        if "wrong" in found:
            print(f"{name:22}  {found['wrong']}", flush=True)
            continue
        ratio = found["numpy"] / found["ingot"]
        times = f"{found['numpy'] * 1e3:12.3f}{found['ingot'] * 1e3:12.3f}{ratio:8.2f}x{found['first'] * 1e3:17.0f}"
        print(f"{name:22}{times}", flush=True)
    good = [f for f in table.values() if "wrong" not in f]
    if good:
        ratios = [f["numpy"] / f["ingot"] for f in good]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(
            f"{len(good)} programs: {mean:.2f}x in the geometric mean, {sum(r < 0.95 for r in ratios)} slower than NumPy,"
            f" first call {statistics.median(f['first'] for f in good) * 1e3:.0f} ms in the median"
        )
    if options.json:
        Path(options.json).write_text(json.dumps(table, indent=1) + "\n")
    return len(table) != len(good)


if __name__ == "__main__":
    sys.exit(main())
