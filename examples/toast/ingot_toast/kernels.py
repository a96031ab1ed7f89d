"""The ten kernels of TOAST, as ordinary Python.

A kernel is given dataclasses of arrays and numbers; it writes into their arrays and returns None. It raises IndexError or
ValueError where a row, an interval, an amplitude or a pixel is none of its arrays'. D detectors, S samples, V intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import ingot
import numpy as np


@dataclass(frozen=True)
class Samples:
    """Samples of detectors: those of detector d are the row `rows[d]` of `data`, (rows, S) or (rows, S, numbers)."""

    data: np.ndarray
    rows: np.ndarray  # int32 (D,)


@dataclass(frozen=True)
class Flags:
    """Which samples of detectors are bad: those with `data & mask != 0`."""

    samples: Samples  # uint8 (rows, S)
    mask: int


@dataclass(frozen=True)
class View:
    """The samples that are worked on, `first[v] <= s < last[v]`, and which of them are bad for all detectors."""

    first: np.ndarray  # int64 (V,)
    last: np.ndarray
    flags: np.ndarray | None = None  # uint8 (S,)
    mask: int = 0


@dataclass(frozen=True)
class Detectors:
    """The focal plane: attitudes, leakage and direction of polarisation, and calibration."""

    quats: np.ndarray  # float64 (D, 4): (x, y, z, w), from the boresight
    epsilon: np.ndarray  # float64 (D,)
    gamma: np.ndarray  # float64 (D,), radians
    cal: np.ndarray  # float64 (D,)


@dataclass(frozen=True)
class Grid:
    """HEALPix: 12 nside² pixels, in nested or ring order, in submaps of so many consecutive ones."""

    nside: int
    nest: bool
    n_pix_submap: int


@dataclass(frozen=True)
class Pointing:
    """Which pixels the detectors see, int64, -1 for none, and the weights of what is there, float64."""

    pixels: Samples
    weights: Samples


@dataclass(frozen=True)
class Sky:
    """A map, (submaps that are there, pixels of a submap, numbers); `rows` has the row of each submap, -1 for none."""

    values: np.ndarray
    rows: np.ndarray  # int64 (submaps,)


@dataclass(frozen=True)
class Offsets:
    """One amplitude for each `step_length` samples of each interval, `counts[v]` of them, from `start[d]` on; flagged ones count as 0."""

    step_length: int
    start: np.ndarray  # int64 (D,)
    counts: np.ndarray  # int64 (V,)
    amplitudes: np.ndarray  # float64
    flags: np.ndarray  # uint8


def spans(view, n_samples):
    """Where each interval begins and ends, all within the samples; those without samples end where they begin."""
    first = view.first
    last = np.maximum(first, view.last)
    if np.any((first < last) & ((first < 0) | (last > n_samples))):
        raise IndexError("an interval reaches outside the samples")
    if view.flags is not None:
        check_equal(len(view.flags), n_samples)
    return first, last


def check_rows(samples, n_detectors, n_samples):
    """A row for each detector, of so many samples."""
    if len(samples.rows) != n_detectors:
        raise ValueError("index tables and detectors differ in number")
    if np.any((samples.rows < 0) | (samples.rows >= len(samples.data))):
        raise IndexError("a row is outside its buffer")
    check_equal(samples.data.shape[1], n_samples)


def check_equal(a, b):
    """Lengths that have to agree."""
    if a != b:
        raise ValueError("arrays differ in length")


def is_bad(view, s):
    """Whether a sample is bad for all detectors."""
    return view.flags is not None and view.flags[s] & view.mask != 0


def is_flagged(flags, d, s):
    """Whether a sample of a detector is bad."""
    return flags is not None and flags.samples.data[flags.samples.rows[d], s] & flags.mask != 0


@ingot.jit
def pointing_detector(detectors: Detectors, boresight, view: View, quats: Samples):
    """quats = the boresight's attitude, then the detector's; the detector's alone where samples are bad."""
    n_det, n_samples = len(detectors.quats), quats.data.shape[1]
    first, last = spans(view, n_samples)
    check_rows(quats, n_det, n_samples)
    check_equal(len(boresight), n_samples)
    for v in range(len(first)):
        for d in ingot.prange(n_det):
            px, py, pz, pw = detectors.quats[d]
            row = quats.rows[d]
            for s in range(first[v], last[v]):
                x, y, z, w = boresight[s]
                if is_bad(view, s):
                    x, y, z, w = 0.0, 0.0, 0.0, 1.0
                quats.data[row, s, 0] = w * px + x * pw + y * pz - z * py
                quats.data[row, s, 1] = w * py - x * pz + y * pw + z * px
                quats.data[row, s, 2] = w * pz + x * py - y * px + z * pw
                quats.data[row, s, 3] = w * pw - x * px - y * py - z * pz


def spread(x):
    """The low 32 bits at the even positions of 64."""
    x = (x | x << 16) & 0x0000FFFF0000FFFF
    x = (x | x << 8) & 0x00FF00FF00FF00FF
    x = (x | x << 4) & 0x0F0F0F0F0F0F0F0F
    x = (x | x << 2) & 0x3333333333333333
    return (x | x << 1) & 0x5555555555555555


def nested(face, x, y, order):
    """The number of a pixel in the nested order."""
    return (face << 2 * order) + spread(x) + (spread(y) << 1)


def belt(z, tt, nside, order, nest):
    """The pixel of a direction between the polar caps."""
    t1 = 0.5 * nside + nside * tt
    t2 = 0.75 * nside * z
    jp, jm = np.int64(t1 - t2), np.int64(t1 + t2)
    if nest:
        a, b = jp >> order, jm >> order
        face = (a & 3) + 4 if a == b else a if a < b else b + 8
        pixel = nested(face, jm & (nside - 1), nside - 1 - (jp & (nside - 1)), order)
    else:
        ring = nside + 1 + jp - jm
        ip = ((jp + jm - nside + 2 - (ring & 1)) >> 1) & (4 * nside - 1)
        pixel = 2 * nside * (nside - 1) + 4 * nside * (ring - 1) + ip
    return pixel


def cap(z, tt, nside, order, nest):
    """The pixel of a direction in a polar cap."""
    face = np.int64(tt)
    tp = tt - face
    r = nside * np.sqrt(np.maximum(3.0 * (1.0 - np.abs(z)), 0.0))
    jp, jm = np.int64(tp * r), np.int64((1.0 - tp) * r)
    if nest:
        jp, jm = np.minimum(jp, nside - 1), np.minimum(jm, nside - 1)
        north = z >= 0.0
        x = nside - 1 - jm if north else jp
        y = nside - 1 - jp if north else jm
        pixel = nested(face if north else face + 8, x, y, order)
    else:
        ring = jp + jm + 1
        ip = np.minimum(np.int64(tt * ring), 4 * ring - 1)
        pixel = 2 * ring * (ring - 1) + ip if z > 0.0 else 12 * nside * nside - 2 * ring * (ring + 1) + ip
    return pixel


@ingot.jit
def pixels_healpix(quats: Samples, view: View, grid: Grid, pixels: Samples, hit_submaps):
    """pixels = where detectors look; -1 where samples are bad. hit_submaps[i] = 1 for each submap with a pixel."""
    n_det, n_samples = len(pixels.rows), pixels.data.shape[1]
    first, last = spans(view, n_samples)
    check_rows(quats, n_det, n_samples)
    check_rows(pixels, n_det, n_samples)
    nside, nest, n_pix_submap = grid.nside, grid.nest, grid.n_pix_submap
    order = 0
    while order < 29 and 1 << order < nside:
        order += 1
    if 1 << order != nside or n_pix_submap < 1:
        raise ValueError("nside is no power of two up to 2**29, or submaps have no pixels")
    if (12 * nside * nside - 1) // n_pix_submap >= len(hit_submaps):
        raise IndexError("a submap is outside the hit submaps")
    for v in range(len(first)):
        for d in ingot.prange(n_det):
            quat_row, pixel_row = quats.rows[d], pixels.rows[d]
            for s in range(first[v], last[v]):
                qx, qy, qz, qw = quats.data[quat_row, s]
                pixel = np.int64(-1)
                bad = is_bad(view, s)
                if not bad and np.isfinite(qx + qy + qz + qw):
                    z = 1.0 - 2.0 * (qx * qx + qy * qy)
                    phi = np.arctan2(2.0 * (qy * qz - qw * qx) + 0.0, 2.0 * (qw * qy + qx * qz) + 0.0)
                    f = 2.0 * np.pi * (phi / (2.0 * np.pi))
                    f = 0.0 if np.abs(f) < 10 * 2.0**-52 else f
                    tt = f * (2.0 / np.pi)
                    tt = tt + 4.0 if f < 0.0 else tt
                    if np.abs(z) <= 2.0 / 3.0:
                        pixel = belt(z, tt, nside, order, nest)
                    else:
                        pixel = cap(z, tt, nside, order, nest)
                    hit_submaps[min(max(pixel // n_pix_submap, 0), len(hit_submaps) - 1)] = 1
                pixels.data[pixel_row, s] = pixel


@ingot.jit
def stokes_weights_I(detectors: Detectors, view: View, weights: Samples):
    """weights = the calibration."""
    n_det, n_samples = len(detectors.cal), weights.data.shape[1]
    first, last = spans(view, n_samples)
    check_rows(weights, n_det, n_samples)
    for d in range(n_det):
        row = weights.data[weights.rows[d]]
        for v in range(len(first)):
            row[first[v] : last[v]] = detectors.cal[d]


@ingot.jit
def stokes_weights_IQU(detectors: Detectors, quats: Samples, hwp, view: View, weights: Samples, IAU):
    """weights = what detectors see of I, Q and U, (rows, S, 3), through a wave plate of the angles `hwp`, (S,), where there is one."""
    n_det, n_samples = len(detectors.cal), weights.data.shape[1]
    first, last = spans(view, n_samples)
    check_rows(quats, n_det, n_samples)
    check_rows(weights, n_det, n_samples)
    check_equal(len(detectors.epsilon), n_det)
    if hwp is not None:
        check_equal(len(detectors.gamma), n_det)
        check_equal(len(hwp), n_samples)
        plate_cos, plate_sin = np.cos(4.0 * hwp), np.sin(4.0 * hwp)
    for v in range(len(first)):
        for d in ingot.prange(n_det):
            quat_row, weight_row = quats.rows[d], weights.rows[d]
            total = detectors.cal[d]
            polarised = total * ((1.0 - detectors.epsilon[d]) / (1.0 + detectors.epsilon[d]))
            handed = -polarised if IAU else polarised
            gamma_cos, gamma_sin = 1.0, 0.0
            if hwp is not None:
                gamma_cos, gamma_sin = np.cos(4.0 * detectors.gamma[d]), np.sin(4.0 * detectors.gamma[d])
            for s in range(first[v], last[v]):
                x, y, z, w = quats.data[quat_row, s]
                south = w * y - x * z
                west = y * z + w * x
                square = south * south + west * west
                if square < 1e-290:
                    south = (1.0 - 2.0 * (x * x + y * y)) * (1.0 - 2.0 * (y * y + z * z))
                    west = 2.0 * (w * z + x * y)
                    square = south * south + west * west
                if x * x + y * y > 1.0:  # beyond the pole, by rounding: TOAST has no angle there
                    square = np.nan
                q = (south * south - west * west) / square
                u = 2.0 * south * west / square
                if hwp is not None:
                    c = gamma_cos * plate_cos[s] + gamma_sin * plate_sin[s]
                    t = gamma_sin * plate_cos[s] - gamma_cos * plate_sin[s]
                    q, u = q * c + u * t, u * c - q * t
                weights.data[weight_row, s, 0] = total
                weights.data[weight_row, s, 1] = polarised * q
                weights.data[weight_row, s, 2] = handed * u


def by_component(weights):
    """Weights as (rows, S, numbers)."""
    return weights if weights.ndim == 3 else weights.reshape(weights.shape[0], weights.shape[1], 1)


def local_row(sky, submap):
    """The row of a submap in a map; IndexError if it is not there."""
    if submap >= len(sky.rows) or sky.rows[submap] < 0:
        raise IndexError("a pixel is in a submap that is not local")
    return sky.rows[submap]


@ingot.jit
def scan_map(sky: Sky, pointing: Pointing, signal: Samples, view: View, scale, zero, subtract, multiply):
    """signal = what detectors see of the sky times `scale`, where `zero`; else it is subtracted, multiplied by, or added."""
    n_det, n_samples = len(signal.rows), signal.data.shape[1]
    first, last = spans(view, n_samples)
    pixels, weights, n_pix_submap = pointing.pixels, by_component(pointing.weights.data), sky.values.shape[1]
    check_rows(signal, n_det, n_samples)
    check_rows(pixels, n_det, n_samples)
    check_rows(pointing.weights, n_det, n_samples)
    check_equal(weights.shape[2], sky.values.shape[2])
    for v in range(len(first)):
        for d in ingot.prange(n_det):
            row, pixel_row, weight_row = signal.rows[d], pixels.rows[d], pointing.weights.rows[d]
            for s in range(first[v], last[v]):
                value = 0.0 if zero else signal.data[row, s]
                pixel = pixels.data[pixel_row, s]
                submap = pixel // n_pix_submap
                column = pixel - submap * n_pix_submap
                local = local_row(sky, submap) if pixel >= 0 else np.int64(-1)
                if local >= 0:
                    seen = 0.0
                    for k in range(weights.shape[2]):
                        seen += weights[weight_row, s, k] * sky.values[local, column, k]
                    seen *= scale
                    value = value - seen if subtract else value * seen if multiply else value + seen
                signal.data[row, s] = value


@ingot.jit
def noise_weight(signal: Samples, view: View, noise):
    """signal *= noise, the inverse variance of each detector: float64 (D,)."""
    n_samples = signal.data.shape[1]
    first, last = spans(view, n_samples)
    check_rows(signal, len(noise), n_samples)
    for d in range(len(noise)):
        row = signal.data[signal.rows[d]]
        for v in range(len(first)):
            row[first[v] : last[v]] *= noise[d]


@ingot.jit
def build_noise_weighted(sky: Sky, pointing: Pointing, signal: Samples, flags: Flags | None, view: View, noise):
    """sky += the good samples of the signal times their inverse variance, float64 (D,), by what detectors see of its numbers."""
    n_det, n_samples, n_pix_submap = len(noise), signal.data.shape[1], sky.values.shape[1]
    first, last = spans(view, n_samples)
    pixels, weights = pointing.pixels, by_component(pointing.weights.data)
    check_rows(pixels, n_det, n_samples)
    check_rows(pointing.weights, n_det, n_samples)
    check_rows(signal, n_det, n_samples)
    check_equal(weights.shape[2], sky.values.shape[2])
    if flags is not None:
        check_rows(flags.samples, n_det, n_samples)
    for v in range(len(first)):
        for d in range(n_det):
            row, pixel_row, weight_row = signal.rows[d], pixels.rows[d], pointing.weights.rows[d]
            for s in range(first[v], last[v]):
                pixel = pixels.data[pixel_row, s]
                submap = pixel // n_pix_submap
                column = pixel - submap * n_pix_submap
                good = pixel >= 0 and not is_flagged(flags, d, s) and not is_bad(view, s)
                local = local_row(sky, submap) if good else np.int64(-1)
                if local >= 0:
                    scaled = signal.data[row, s] * noise[d]
                    for k in range(weights.shape[2]):
                        sky.values[local, column, k] += scaled * weights[weight_row, s, k]


def steps(offsets, view, n_samples):
    """Where each interval begins and ends, and its first amplitude, counted from the detector's; all of its samples exist."""
    first, last = spans(view, n_samples)
    check_equal(len(offsets.counts), len(first))
    check_equal(len(offsets.flags), len(offsets.amplitudes))
    if offsets.step_length < 1:
        raise ValueError("a step has no samples")
    begin = np.cumsum(offsets.counts) - offsets.counts
    end = begin + (last - first + offsets.step_length - 1) // offsets.step_length
    for start in offsets.start:
        if np.any((begin < end) & ((start + begin < 0) | (start + end > len(offsets.amplitudes)))):
            raise IndexError("an amplitude index is outside the amplitudes")
    return first, last, begin


@ingot.jit
def template_offset_add_to_signal(offsets: Offsets, signal: Samples, view: View):
    """signal += the amplitude of the step."""
    n_det, n_samples = len(offsets.start), signal.data.shape[1]
    first, last, begin = steps(offsets, view, n_samples)
    check_rows(signal, n_det, n_samples)
    for d in range(n_det):
        row = signal.data[signal.rows[d]]
        for v in range(len(first)):
            a = offsets.start[d] + begin[v]
            for s in range(first[v], last[v], offsets.step_length):
                if offsets.flags[a] == 0:
                    row[s : min(s + offsets.step_length, last[v])] += offsets.amplitudes[a]
                a += 1


@ingot.jit
def template_offset_project_signal(offsets: Offsets, signal: Samples, flags: Flags | None, view: View):
    """amplitudes += the sums of the good samples of their steps."""
    n_det, n_samples = len(offsets.start), signal.data.shape[1]
    first, last, begin = steps(offsets, view, n_samples)
    check_rows(signal, n_det, n_samples)
    if flags is not None:
        check_rows(flags.samples, n_det, n_samples)
    for d in range(n_det):
        row = signal.data[signal.rows[d]]
        for v in range(len(first)):
            a = offsets.start[d] + begin[v]
            for s in range(first[v], last[v], offsets.step_length):
                step = slice(s, min(s + offsets.step_length, last[v]))
                if offsets.flags[a] == 0:
                    if flags is not None:
                        bad = flags.samples.data[flags.samples.rows[d], step] & flags.mask
                        offsets.amplitudes[a] += np.sum(np.where(bad == 0, row[step], 0.0))
                    else:
                        offsets.amplitudes[a] += np.sum(row[step])
                a += 1


@ingot.jit
def template_offset_apply_diag_precond(variance, amplitudes, flags, result):
    """result = amplitudes times their variance, 0 where they are flagged."""
    check_equal(len(variance), len(result))
    check_equal(len(amplitudes), len(result))
    check_equal(len(flags), len(result))
    for a in range(len(result)):
        result[a] = amplitudes[a] * variance[a] if flags[a] == 0 else 0.0
