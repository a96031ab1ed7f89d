"""Sparse principal components by random directions: `python -m bench.sparse_pca [--rounds N] [--page docs/sparse-pca.md]`.

The program of a talk, in NumPy as it was there and in batches, and `examples/sparse_pca.py`, by the number of variables p, of components d and
of numbers k that are kept. One thread; the processor's time, the least of the rounds. With `--page` the page's table and chart are written.
"""

from __future__ import annotations

import argparse
import os

if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["INGOT_NUM_THREADS"] = "1"

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import ingot

from . import charts

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples"))

import sparse_pca  # noqa: E402

SAMPLES = 1000
AXES = {"p": (300, 1000, 3000, 10_000), "d": (2, 3, 6, 12), "k": (3, 10, 30, 60)}
USUAL = {"p": 1000, "d": 3, "k": 10}
BATCHES = {300: 100, 1000: 50, 3000: 20, 10_000: 8}
"""Directions whose products stay in the cache, by p."""
TITLES = {"p": "variables p", "d": "components d", "k": "numbers kept k"}
NAMES = ("Ingot", "NumPy, in batches", "NumPy, as in the talk")


def as_in_the_talk(components: np.ndarray, rng: np.random.Generator, samples: int, k: int) -> np.ndarray:
    best, found = -np.inf, np.zeros((len(components), 1))
    directions = rng.standard_normal((components.shape[1], samples))
    for i in range(samples):
        c = directions[:, i : i + 1]
        a = components.dot(c / np.linalg.norm(c))
        order = np.argsort(a, axis=0)
        norm = np.linalg.norm(a[order[-k:]])
        if norm > best:
            best, found = norm, np.zeros((len(components), 1))
            found[order[-k:]] = a[order[-k:], :] / norm
    return found[:, 0]


def in_batches(components: np.ndarray, rng: np.random.Generator, samples: int, k: int) -> np.ndarray:
    p, d = components.shape
    best, kept = -np.inf, np.zeros(p)
    for _ in range(samples // BATCHES[p]):
        directions = rng.standard_normal((BATCHES[p], d))
        products = (directions / np.linalg.norm(directions, axis=1)[:, None]) @ components.T
        largest = np.partition(products, p - k, axis=1)[:, p - k :]
        norms = np.sqrt(np.sum(largest * largest, axis=1))
        i = np.argmax(norms)
        if norms[i] > best:
            best, kept = norms[i], products[i] / norms[i]
    found, order = np.zeros(p), np.argsort(kept)[-k:]
    found[order] = kept[order]
    return found


def contestants(p: int, d: int, k: int) -> dict[str, Callable[[], np.ndarray]]:
    components, key = np.random.default_rng(0).random((p, d)), ingot.random.PRNGKey(0)
    return {
        NAMES[0]: lambda: sparse_pca.sparse_pca(components, key, SAMPLES, k, BATCHES[p]),
        NAMES[1]: lambda: in_batches(components, np.random.default_rng(0), SAMPLES, k),
        NAMES[2]: lambda: as_in_the_talk(components, np.random.default_rng(0), SAMPLES, k),
    }


def measure(rounds: int) -> dict[tuple[int, int, int], dict[str, float]]:
    """Microseconds for a direction."""
    found = {}
    for name, values in AXES.items():
        for value in values:
            sizes = {**USUAL, name: value}
            place = (sizes["p"], sizes["d"], sizes["k"])
            if place in found:
                continue
            runs, least = contestants(**sizes), dict.fromkeys(NAMES, np.inf)
            norms = {name: np.sum(np.sort(run() ** 2)[-sizes["k"] :]) for name, run in runs.items()}
            assert all(abs(norm - 1) < 1e-9 for norm in norms.values()), norms
            time.sleep(1.5)  # full code is compiled meanwhile
            for _ in range(rounds):
                for who, run in runs.items():
                    start = time.process_time()
                    run()
                    least[who] = min(least[who], 1e6 * (time.process_time() - start) / SAMPLES)
            found[place] = least
            print(place, {who: round(t, 2) for who, t in least.items()}, flush=True)
    return found


def table(found: dict[tuple[int, int, int], dict[str, float]]) -> str:
    lines = ["| p | d | k | " + " | ".join(NAMES) + " | times as fast |", "|--:|--:|--:|" + "--:|" * (len(NAMES) + 1)]
    for (p, d, k), least in sorted(found.items()):
        times = " | ".join(f"{least[who]:.2f}" for who in NAMES)
        lines.append(f"| {p} | {d} | {k} | {times} | {least[NAMES[2]] / least[NAMES[0]]:.1f} |")
    return "\n".join(lines)


def chart(path: Path, found: dict[tuple[int, int, int], dict[str, float]]) -> None:
    def paint(figure) -> None:
        panels = figure.subplots(1, 3, sharey=True)
        for panel, (name, values) in zip(panels, AXES.items(), strict=True):
            places = [tuple({**USUAL, name: value}.values()) for value in values]
            for who, marker in zip(NAMES, "osD", strict=True):
                panel.plot(values, [found[place][who] for place in places], f"{marker}-", label=who, markersize=4)
            panel.set(xscale="log", yscale="log", xlabel=TITLES[name])
            panel.set_xticks(values, [f"{value:g}" for value in values])
            panel.minorticks_off()
        panels[0].set(ylabel="µs for a direction")
        panels[2].legend(fontsize=8)

    charts.draw(path, (9, 3.2), paint)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    found = measure(asked.rounds)
    if asked.page:
        text = asked.page.read_text()
        asked.page.write_text(re.sub(r"(<!-- times -->\n).*(<!-- end -->)", lambda m: f"{m[1]}{table(found)}\n{m[2]}", text, flags=re.S))
        chart(ROOT / "docs" / "benchmarks" / "sparse-pca", found)


if __name__ == "__main__":
    main()
