"""What the oracle holds of the ten kernels, as calls: arguments, which of them are written, and what they hold afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ORACLE = Path(__file__).resolve().parent / "oracle"
RECORD = np.dtype([("start", "f8"), ("stop", "f8"), ("first", "q"), ("last", "q")])
EPS = float(np.finfo(float).eps)
NO_FLAGS, NO_DET_FLAGS, NO_PLATE = np.zeros(1, np.uint8), np.zeros((1, 1), np.uint8), np.zeros(1)


@dataclass
class Case:
    """A chain of calls that write one after the other into the same outputs, and what these hold at the end."""

    kernel: str
    name: str
    calls: list[tuple[Any, ...]]
    outputs: dict[int, np.ndarray]
    tolerance: Any = 0.0  # of |got - wanted| / max(1, |wanted|); 0: the same bits
    on_borders: int = 0  # so many of the first elements are directions on borders of pixels

    def __str__(self) -> str:
        return f"{self.kernel}-{self.name}"


def records(spans: Any, code: str = "q") -> np.recarray:
    """Intervals of samples [first, last) as records; `code` is NumPy's of the two columns."""
    spans = np.asarray(spans, np.int64).reshape(-1, 2)
    made = np.zeros(len(spans), [("start", "f8"), ("stop", "f8"), ("first", code), ("last", code)])
    made["first"], made["last"] = spans[:, 0], spans[:, 1]
    made["start"], made["stop"] = spans[:, 0] / 100.0, spans[:, 1] / 100.0
    return made.view(np.recarray)


def table(*rows: int) -> np.ndarray:
    return np.array(rows, np.int32)


def stored(name: str) -> Any:
    return np.load(ORACLE / f"{name}.npz")


def spans_of(f: Any) -> np.recarray:
    return records(np.stack([f["in_interval_first"], f["in_interval_last"]], 1))


def pointing() -> Iterator[Case]:
    f = stored("pointing_detector")
    for name, mask in (("noflags", 0), ("mask1", 1), ("mask3", 3)):
        wanted = f["out_quats_noflags"].copy()
        if mask:
            rows, samples = f[f"out_{name}_where"].T
            wanted[rows, samples] = f[f"out_{name}_quats"]
        flags = f["in_shared_flags"] if mask else NO_FLAGS
        quats = np.full_like(wanted, f["init_value"])
        call = (f["in_focalplane"], f["in_boresight"], f["in_quat_index"], quats, spans_of(f), flags, mask)
        yield Case("pointing_detector", name, [call], {3: wanted}, 4 * EPS)


def pixels() -> Iterator[Case]:
    f = stored("pixels_healpix")
    view = spans_of(stored("pointing_detector"))
    for key in [name.removeprefix("out_pixels_") for name in f.files if name.startswith("out_pixels_")]:
        nside, order, flags = key.split("_")
        mask = 0 if flags == "noflags" else int(flags.removeprefix("mask"))
        wanted, hits = f[f"out_pixels_{key}"].astype(np.int64), f[f"out_hitsub_{key}"]
        before = np.zeros_like(hits)
        before[-1] = 1
        call = (f["in_quat_index"], f["in_quats"], f["in_shared_flags"] if mask else NO_FLAGS, mask, f["in_pixel_index"],
                np.full_like(wanted, f["init_pixel"]), view, before, int(f["in_n_pix_submap"]), int(nside), order == "nest")  # fmt: skip
        yield Case("pixels_healpix", key, [call], {5: wanted, 7: hits})


def special_pixels() -> Iterator[Case]:
    f = stored("pixels_healpix_special")
    quats = f["in_quats"][None]
    for key in [name.removeprefix("out_pixels_") for name in f.files if name.startswith("out_pixels_")]:
        nside = int(key.split("_")[0])
        n_submap = 12 * nside**2 if nside <= 2 else min((nside // 16) ** 2, 2**20)
        wanted = f[f"out_pixels_{key}"][None].astype(np.int64)
        call = (table(0), quats, NO_FLAGS, 0, table(0), np.full(wanted.shape, -777), records([[0, quats.shape[1]]]),
                np.zeros(n_submap, np.uint8), 12 * nside**2 // n_submap, nside, key.endswith("nest"))  # fmt: skip
        hits = np.zeros(n_submap, np.uint8)
        hits[wanted[0] // (12 * nside**2 // n_submap)] = 1
        yield Case("pixels_healpix", f"special-{key}", [call], {5: wanted, 7: hits}, on_borders=int(f["in_n_grid"][0]))


def stokes() -> Iterator[Case]:
    view = spans_of(stored("pointing_detector"))
    f = stored("stokes_weights_I")
    wanted = f["out_weights"]
    call = (f["in_weight_index"], np.full_like(wanted, f["init_value"]), view, f["in_cal"])
    yield Case("stokes_weights_I", "plain", [call], {1: wanted})

    f = stored("stokes_weights_IQU")
    quats = stored("pixels_healpix")["in_quats"]
    for name in ("cosmo", "iau", "hwp_cosmo", "hwp_iau"):
        wanted = f["out_weights_" + name.replace("iau", "cosmo")].copy()
        if name.endswith("iau"):
            wanted[..., 2] = f[f"out_weights_{name}_U"]
        plate = f["in_hwp"] if name.startswith("hwp") else NO_PLATE
        call = (f["in_quat_index"], quats, f["in_weight_index"], np.full_like(wanted, f["init_value"]), plate, view,
                f["in_epsilon"], f["in_gamma"], f["in_cal"], name.endswith("iau"))  # fmt: skip
        yield Case("stokes_weights_IQU", name, [call], {3: wanted}, 1e-12)

    directions, f = stored("pixels_healpix_special"), stored("stokes_weights_IQU_special")
    n_grid = int(directions["in_n_grid"][0])
    n = n_grid + 500
    quats = directions["in_quats"][None, :n]
    x, y, z, w = quats[0].T
    sine = np.hypot(2 * (w * y + x * z), 2 * (y * z - w * x))
    wanted = np.ones((1, n, 3))
    wanted[0, :n_grid], wanted[0, n_grid:, 1:] = f["out_weights"], f["out_QU_random"]
    call = (table(0), quats, table(0), np.full((1, n, 3), -9.0), NO_PLATE, records([[0, n]]), np.zeros(1), np.zeros(1), np.ones(1), False)
    tolerance = np.minimum(2.0, 5e-14 / np.maximum(sine, 1e-300))[None, :, None]
    yield Case("stokes_weights_IQU", "special", [call], {3: wanted}, tolerance)


def weights_of() -> np.ndarray:
    weights = stored("stokes_weights_IQU")["out_weights_cosmo"].copy()
    weights[weights == -9.0] = 0.0
    return weights


def scans() -> Iterator[Case]:
    f, view, weights = stored("scan_map"), spans_of(stored("pointing_detector")), weights_of()
    for key in [name.removeprefix("out_") for name in f.files if name.startswith("out_")]:
        kind, mode = key.split("_")
        scale, shown = float(f["in_data_scale"]), weights
        if kind == "nnz1":
            sky, scale = f["in_map_float64"][..., :1].astype(np.float64), 1.0
            shown = np.repeat(f["in_weights_nnz1"][:, None], weights.shape[1], 1)
        else:
            sky = f["in_map_int" if kind.startswith("int") else "in_map_float64"].astype(kind)
        call = (f["in_global2local"], int(f["in_n_pix_submap"]), sky, f["in_tod"], f["in_data_index"], f["in_pixels"].astype(np.int64),
                f["in_pixel_index"], shown, f["in_weight_index"], view, scale, mode == "zero", mode in ("sub", "subwins"),
                mode in ("scale", "subwins"))  # fmt: skip
        yield Case("scan_map", key, [call], {3: f[f"out_{key}"]}, 1e-14)


def noise() -> Iterator[Case]:
    f = stored("noise_weight")
    call = (f["in_det_data"], f["in_data_index"], spans_of(stored("pointing_detector")), f["in_detector_weights"])
    yield Case("noise_weight", "plain", [call], {0: f["out_det_data"]})


def builds() -> Iterator[Case]:
    f, signal, view = stored("build_noise_weighted"), stored("noise_weight")["in_det_data"], spans_of(stored("pointing_detector"))
    scan = stored("scan_map")
    n_local, n_pix = int((scan["in_global2local"] >= 0).sum()), int(scan["in_n_pix_submap"])
    for name, det, shared, nnz in (("noflags", 0, 0, 3), ("det1", 1, 0, 3), ("det255_sh255", 255, 255, 3), ("sh2", 0, 2, 3), ("nnz1", 1, 1, 1)):
        before = np.zeros((n_local, n_pix, nnz))
        if nnz == 3:
            before[0, :5] = 1.25
        wanted = np.zeros(before.size)
        wanted[f[f"out_{name}_index"]] = f[f"out_{name}_value"]
        weights = weights_of() if nnz == 3 else np.repeat(f["in_weights_nnz1"][:, None], signal.shape[1], 1)
        call = (f["in_global2local"], before, f["in_pixel_index"], f["in_pixels"].astype(np.int64), f["in_weight_index"], weights,
                f["in_data_index"], signal, f["in_flag_index"] if det else table(-1, -1, -1),
                f["in_det_flags"] if det else NO_DET_FLAGS, f["in_det_scale"], det, view,
                f["in_shared_flags"] if shared else NO_FLAGS, shared)  # fmt: skip
        yield Case("build_noise_weighted", name, [call], {1: wanted.reshape(before.shape)}, 1e-12)


def templates() -> Iterator[Case]:
    f, signal, view = stored("template_offset"), stored("noise_weight")["in_det_data"], spans_of(stored("pointing_detector"))
    step, counts, amplitudes, flags = int(f["in_step_length"]), f["in_n_amp_views"], f["in_amplitudes"], f["in_amplitude_flags"]
    rows, starts, of_flags = ([int(n) for n in f[k]] for k in ("in_data_index", "in_amp_offsets", "in_flag_index"))
    added = [(step, starts[d], counts, amplitudes, flags, rows[d], signal, view) for d in range(3)]
    yield Case("template_offset_add_to_signal", "all", added, {6: f["out_add_det_data"]})
    before = np.full_like(amplitudes, f["init_project"])
    for name, key in (("flags", "out_project"), ("noflags", "out_project_noflags")):
        calls = [(rows[d], signal, of_flags[d] if name == "flags" else -1, f["in_det_flags"] if name == "flags" else NO_DET_FLAGS,
                  int(f["in_flag_mask"]), step, starts[d], counts, before, flags, view) for d in range(3)]  # fmt: skip
        yield Case("template_offset_project_signal", name, calls, {8: f[key]}, 1e-12)
    call = (f["in_offset_var"], amplitudes, flags, np.full_like(amplitudes, f["init_precond"]))
    yield Case("template_offset_apply_diag_precond", "plain", [call], {3: f["out_precond"]})


def cases() -> list[Case]:
    """All of them."""
    made: list[Case] = []
    for part in (pointing, pixels, special_pixels, stokes, scans, noise, builds, templates):
        made += part()
    return made


def difference(got: np.ndarray, wanted: np.ndarray, before: np.ndarray, tolerance: Any, on_borders: int = 0) -> str:
    """How an output differs from what it should hold, in words; nothing if it does not."""
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{got.shape} in place of {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind in "iu":
        wrong = np.argwhere(got != wanted)
        of_borders = int((wrong[:, -1] < on_borders).sum())
        return f"{len(wrong)} numbers differ, the first at {wrong[0]}" if len(wrong) > of_borders or of_borders > 6 else ""
    if not np.array_equal(np.isnan(got), np.isnan(wanted)):
        return "NaN at other indices"
    with np.errstate(invalid="ignore"):
        error = np.nan_to_num(np.abs(got - wanted) / np.maximum(1.0, np.abs(wanted)), nan=0.0)
    off = np.argwhere((error > tolerance) | ((wanted == before) & (got != wanted)))
    return f"{len(off)} numbers are off, the first at {off[0]}: {got[tuple(off[0])]} for {wanted[tuple(off[0])]}" if len(off) else ""
