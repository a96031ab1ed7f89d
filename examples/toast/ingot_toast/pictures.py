"""Pictures of maps, spectra and residuals, where matplotlib is there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .data import Data
from .kernels import Grid, Samples, View, pixels_healpix
from .noise import noise_density, noise_stream, octaves, periodogram

WIDTH = 800  # pixels of a picture of the whole sky


def mollweide(nside: int, width: int = WIDTH) -> np.ndarray:
    """The nested pixel under each point of a picture of the whole sky, int64 (width // 2, width); -1 outside of the ellipse.

    North is up, azimuth 0 in the middle and grows to the left, as astronomers have it.
    """
    y, x = np.meshgrid(np.linspace(1, -1, width // 2), np.linspace(-1, 1, width), indexing="ij")
    inside = x * x + y * y <= 1.0
    theta = np.arcsin(y)
    z = (2 * theta + np.sin(2 * theta)) / np.pi
    azimuth = np.where(inside, -np.pi * x / np.maximum(np.cos(theta), 1e-12), 0.0)
    # The rotation about z by the azimuth, then that of the pole down to z, as quaternions.
    polar = np.arccos(np.clip(z, -1, 1))
    cos_azimuth, sin_azimuth = np.cos(azimuth / 2), np.sin(azimuth / 2)
    cos_polar, sin_polar = np.cos(polar / 2), np.sin(polar / 2)
    quats = np.stack((-sin_azimuth * sin_polar, cos_azimuth * sin_polar, sin_azimuth * cos_polar, cos_azimuth * cos_polar), axis=-1)
    pixels = np.full((1, x.size), -1, np.int64)
    row, view = np.zeros(1, np.int32), View(np.array([0]), np.array([x.size]), (~inside).astype(np.uint8).ravel(), 1)
    grid = Grid(nside, nest=True, n_pix_submap=12 * nside**2)
    pixels_healpix(Samples(quats.reshape(1, -1, 4), row), view, grid, Samples(pixels, row), np.zeros(1, np.uint8))
    return pixels.reshape(x.shape)


def draw(maps: Mapping[str, np.ndarray], data: Data, folder: Path) -> list[Path]:
    """Draws the maps of `maps.npz` into a folder; the files. None without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    from matplotlib import pyplot

    nside = int(np.sqrt(len(maps["hits"]) / 12))
    seen, good = mollweide(nside), maps["rcond"][:, 0] > 0.0
    drawn = [_skies(pyplot, maps, name, seen, good, folder) for name in ("sky", "binned", "destriped")]
    drawn.append(_residuals(pyplot, maps, seen, good, folder))
    drawn.append(_coverage(pyplot, maps, seen, good, folder))
    if data.obs:
        drawn.append(_spectra(pyplot, data, folder))
    return drawn


def _panel(axes: Any, values: np.ndarray, seen: np.ndarray, title: str, unit: str, spread: float | None = None) -> None:
    picture = np.where(seen >= 0, values[seen], np.nan)
    limits = {} if spread is None else {"vmin": -spread, "vmax": spread}
    around = np.linspace(0, 2 * np.pi, 400)
    axes.plot(2 * np.cos(around), np.sin(around), color="0.6", linewidth=0.8)
    image = axes.imshow(picture, cmap="viridis" if spread is None else "RdBu_r", extent=(-2, 2, -1, 1), **limits)
    axes.set_title(title)
    axes.set_axis_off()
    axes.figure.colorbar(image, ax=axes, orientation="horizontal", fraction=0.05, pad=0.02, label=unit)


def _save(pyplot: Any, figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=100, bbox_inches="tight")
    pyplot.close(figure)
    return path


def _spread(values: np.ndarray) -> float:
    """Within which nineteen of twenty values are: pixels seen from few sides would make all others pale."""
    return float(np.percentile(np.abs(values), 95))


def _masked(values: np.ndarray, good: np.ndarray) -> np.ndarray:
    return np.where(good, values, np.nan)


def _skies(pyplot: Any, maps: Mapping[str, np.ndarray], name: str, seen: np.ndarray, good: np.ndarray, folder: Path) -> Path:
    figure, axes = pyplot.subplots(1, 3, figsize=(18, 4))
    for k, component in enumerate("IQU"):
        values = 1e6 * maps[name][:, k]
        shown = values if name == "sky" else _masked(values, good)
        _panel(axes[k], shown, seen, f"{name}, {component}", "µK", _spread(values[good]))
    return _save(pyplot, figure, folder / f"{name}.png")


def _residuals(pyplot: Any, maps: Mapping[str, np.ndarray], seen: np.ndarray, good: np.ndarray, folder: Path) -> Path:
    figure, axes = pyplot.subplots(2, 3, figsize=(18, 8))
    for row, name in enumerate(("binned", "destriped")):
        for k, component in enumerate("IQU"):
            error = 1e6 * (maps[name] - maps["sky"])[:, k]
            error -= np.mean(error[good])
            title = f"{name} - sky, {component}: rms {np.std(error[good]):.1f} µK"
            _panel(axes[row, k], _masked(error, good), seen, title, "µK", _spread(error[good]))
    return _save(pyplot, figure, folder / "residuals.png")


def _coverage(pyplot: Any, maps: Mapping[str, np.ndarray], seen: np.ndarray, good: np.ndarray, folder: Path) -> Path:
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 4))
    hits = maps["hits"][:, 0].astype(float)
    _panel(axes[0], np.where(hits > 0, np.log10(np.maximum(hits, 1)), np.nan), seen, "hits", "log10 of samples")
    _panel(axes[1], _masked(maps["rcond"][:, 0], good), seen, "condition of pixels", "smallest / largest eigenvalue")
    return _save(pyplot, figure, folder / "coverage.png")


def _spectra(pyplot: Any, data: Data, folder: Path) -> Path:
    """The destriped signal of the first detector, and noise as it is simulated, with its density."""
    ob = data.obs[0]
    plane, rate = ob.meta["focalplane"], ob.meta["rate"]
    figure, axes = pyplot.subplots(figsize=(8, 5))
    first = ob.detdata["signal"].data[0]
    key = np.array([0, ob.uid << 32], np.uint64)
    stream = noise_stream(key, ob.meta["whole"].start, len(ob.meta["whole"]), rate, plane.noise)
    for values, label in ((stream, "noise"), (first - np.mean(first), "signal, destriped")):
        frequencies, density = octaves(*periodogram(values, rate))
        axes.loglog(frequencies, density, "o-", label=f"{ob.detectors[0]}, {label}")
    axes.loglog(frequencies, noise_density(frequencies, plane.noise), "k--", label="P(f)")
    axes.set_xlabel("f / Hz")
    axes.set_ylabel("P / K² s")
    axes.legend()
    return _save(pyplot, figure, folder / "spectra.png")
