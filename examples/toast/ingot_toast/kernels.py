"""The ten kernels of TOAST, as ordinary Python.

Arrays, index tables, intervals and flags are those of TOAST: rows of `(rows, samples)` are named by an int32 table of
one entry a detector, intervals are records with `first` and `last` (exclusive), and flags whose length is not that of
the samples are none.  A kernel writes into its arguments and returns None; it raises IndexError or ValueError where a
row, an interval, an amplitude or a pixel is none of its arrays'.
"""

import ingot
import numpy as np


def spans(intervals, n_samples):
    """Where each interval begins and ends, all within the samples; those without samples end where they begin."""
    first = intervals["first"]
    last = np.maximum(first, intervals["last"])
    if np.any((first < last) & ((first < 0) | (last > n_samples))):
        raise IndexError("an interval reaches outside the samples")
    return first, last


def has_flags_of(flag_index, det_flags, n_samples):
    """Whether detectors have flags: one column, as of one sample, and no row, -1, stand for none."""
    return det_flags.shape[1] == n_samples and not (det_flags.size == 1 and np.all(flag_index == -1))


def check_rows(table, buffer, n_detectors):
    """A row of the buffer for each detector."""
    if len(table) != n_detectors:
        raise ValueError("index tables and detectors differ in number")
    if np.any((table < 0) | (table >= len(buffer))):
        raise IndexError("a row is outside its buffer")


def check_equal(a, b):
    """Lengths that have to agree."""
    if a != b:
        raise ValueError("arrays differ in length")


@ingot.jit
def pointing_detector(focalplane, boresight, quat_index, quats, intervals, shared_flags, shared_flag_mask):
    n_samples = quats.shape[1]
    first, last = spans(intervals, n_samples)
    check_rows(quat_index, quats, len(focalplane))
    check_equal(len(boresight), n_samples)
    has_flags = len(shared_flags) == n_samples
    for v in range(len(first)):
        for d in ingot.prange(len(quat_index)):
            px, py, pz, pw = focalplane[d]
            row = quat_index[d]
            for s in range(first[v], last[v]):
                x, y, z, w = boresight[s]
                if has_flags and shared_flags[s] & shared_flag_mask != 0:
                    x, y, z, w = 0.0, 0.0, 0.0, 1.0
                quats[row, s, 0] = w * px + x * pw + y * pz - z * py
                quats[row, s, 1] = w * py - x * pz + y * pw + z * px
                quats[row, s, 2] = w * pz + x * py - y * px + z * pw
                quats[row, s, 3] = w * pw - x * px - y * py - z * pz


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
def pixels_healpix(
    quat_index, quats, shared_flags, shared_flag_mask, pixel_index, pixels, intervals, hit_submaps, n_pix_submap, nside, nest
):
    n_samples = pixels.shape[1]
    first, last = spans(intervals, n_samples)
    check_rows(quat_index, quats, len(pixel_index))
    check_rows(pixel_index, pixels, len(quat_index))
    check_equal(quats.shape[1], n_samples)
    order = 0
    while order < 29 and 1 << order < nside:
        order += 1
    if 1 << order != nside or n_pix_submap < 1:
        raise ValueError("nside is no power of two up to 2**29, or submaps have no pixels")
    if (12 * nside * nside - 1) // n_pix_submap >= len(hit_submaps):
        raise IndexError("a submap is outside the hit submaps")
    has_flags = len(shared_flags) == n_samples
    for v in range(len(first)):
        for d in ingot.prange(len(quat_index)):
            quat_row, pixel_row = quat_index[d], pixel_index[d]
            for s in range(first[v], last[v]):
                qx, qy, qz, qw = quats[quat_row, s]
                pixel = np.int64(-1)
                bad = has_flags and shared_flags[s] & shared_flag_mask != 0
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
                pixels[pixel_row, s] = pixel


@ingot.jit
def stokes_weights_I(weight_index, weights, intervals, cal):
    first, last = spans(intervals, weights.shape[1])
    check_rows(weight_index, weights, len(cal))
    for d in range(len(cal)):
        row = weights[weight_index[d]]
        for v in range(len(first)):
            row[first[v] : last[v]] = cal[d]


@ingot.jit
def stokes_weights_IQU(quat_index, quats, weight_index, weights, hwp, intervals, epsilon, gamma, cal, IAU):
    n_samples = weights.shape[1]
    first, last = spans(intervals, n_samples)
    check_rows(quat_index, quats, len(cal))
    check_rows(weight_index, weights, len(cal))
    check_equal(quats.shape[1], n_samples)
    check_equal(len(epsilon), len(cal))
    has_plate = len(hwp) == n_samples
    if has_plate:
        check_equal(len(gamma), len(cal))
    turned = 4.0 * hwp
    plate_cos, plate_sin = np.cos(turned), np.sin(turned)
    for v in range(len(first)):
        for d in ingot.prange(len(cal)):
            quat_row, weight_row = quat_index[d], weight_index[d]
            total = cal[d]
            polarised = total * ((1.0 - epsilon[d]) / (1.0 + epsilon[d]))
            handed = -polarised if IAU else polarised
            gamma_cos, gamma_sin = 1.0, 0.0
            if has_plate:
                gamma_cos, gamma_sin = np.cos(4.0 * gamma[d]), np.sin(4.0 * gamma[d])
            for s in range(first[v], last[v]):
                x, y, z, w = quats[quat_row, s]
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
                if has_plate:
                    c = gamma_cos * plate_cos[s] + gamma_sin * plate_sin[s]
                    t = gamma_sin * plate_cos[s] - gamma_cos * plate_sin[s]
                    q, u = q * c + u * t, u * c - q * t
                weights[weight_row, s, 0] = total
                weights[weight_row, s, 1] = polarised * q
                weights[weight_row, s, 2] = handed * u


def by_component(weights):
    return weights if weights.ndim == 3 else weights.reshape(weights.shape[0], weights.shape[1], 1)


def local_row(global2local, submap):
    if submap >= len(global2local) or global2local[submap] < 0:
        raise IndexError("a pixel is in a submap that is not local")
    return global2local[submap]


@ingot.jit
def scan_map(
    global2local, n_pix_submap, mapdata, det_data, data_index, pixels, pixel_index, weights, weight_index, intervals, data_scale,
    should_zero, should_subtract, should_scale
):
    n_samples = det_data.shape[1]
    first, last = spans(intervals, n_samples)
    weights = by_component(weights)
    check_rows(data_index, det_data, len(pixel_index))
    check_rows(pixel_index, pixels, len(weight_index))
    check_rows(weight_index, weights, len(data_index))
    check_equal(pixels.shape[1], n_samples)
    check_equal(weights.shape[1:], (n_samples, mapdata.shape[2]))
    check_equal(mapdata.shape[1], n_pix_submap)
    for v in range(len(first)):
        for d in ingot.prange(len(data_index)):
            row, pixel_row, weight_row = data_index[d], pixel_index[d], weight_index[d]
            for s in range(first[v], last[v]):
                value = 0.0 if should_zero else det_data[row, s]
                pixel = pixels[pixel_row, s]
                submap = pixel // n_pix_submap
                column = pixel - submap * n_pix_submap
                local = local_row(global2local, submap) if pixel >= 0 else np.int64(-1)
                if local >= 0:
                    seen = 0.0
                    for k in range(weights.shape[2]):
                        seen += weights[weight_row, s, k] * mapdata[local, column, k]
                    seen *= data_scale
                    value = value - seen if should_subtract else value * seen if should_scale else value + seen
                det_data[row, s] = value


@ingot.jit
def noise_weight(det_data, data_index, intervals, detector_weights):
    first, last = spans(intervals, det_data.shape[1])
    check_rows(data_index, det_data, len(detector_weights))
    for d in range(len(data_index)):
        row = det_data[data_index[d]]
        for v in range(len(first)):
            row[first[v] : last[v]] *= detector_weights[d]


@ingot.jit
def build_noise_weighted(
    global2local, zmap, pixel_index, pixels, weight_index, weights, data_index, det_data, flag_index, det_flags, det_scale,
    det_flag_mask, intervals, shared_flags, shared_flag_mask
):
    n_samples = det_data.shape[1]
    n_pix_submap = zmap.shape[1]
    first, last = spans(intervals, n_samples)
    weights = by_component(weights)
    check_rows(pixel_index, pixels, len(det_scale))
    check_rows(weight_index, weights, len(det_scale))
    check_rows(data_index, det_data, len(det_scale))
    check_equal(len(flag_index), len(det_scale))
    check_equal(pixels.shape[1], n_samples)
    check_equal(weights.shape[1:], (n_samples, zmap.shape[2]))
    has_shared_flags = len(shared_flags) == n_samples
    has_flags = has_flags_of(flag_index, det_flags, n_samples)
    if has_flags:
        check_rows(flag_index, det_flags, len(det_scale))
    for v in range(len(first)):
        for d in range(len(data_index)):
            row, pixel_row, weight_row, flag_row = data_index[d], pixel_index[d], weight_index[d], flag_index[d]
            scale = det_scale[d]
            for s in range(first[v], last[v]):
                pixel = pixels[pixel_row, s]
                bad = has_flags and det_flags[flag_row, s] & det_flag_mask != 0
                bad_for_all = has_shared_flags and shared_flags[s] & shared_flag_mask != 0
                submap = pixel // n_pix_submap
                column = pixel - submap * n_pix_submap
                good = pixel >= 0 and not bad and not bad_for_all
                local = local_row(global2local, submap) if good else np.int64(-1)
                if local >= 0:
                    scaled = det_data[row, s] * scale
                    for k in range(weights.shape[2]):
                        zmap[local, column, k] += scaled * weights[weight_row, s, k]


def steps(intervals, n_samples, step_length, amp_offset, n_amp_views, n_amplitudes):
    """Where each interval begins and ends, and its first amplitude; all amplitudes of its samples exist."""
    first, last = spans(intervals, n_samples)
    check_equal(len(n_amp_views), len(first))
    if step_length < 1:
        raise ValueError("a step has no samples")
    start = amp_offset + np.cumsum(n_amp_views) - n_amp_views
    end = start + (last - first + step_length - 1) // step_length
    if np.any((start < end) & ((start < 0) | (end > n_amplitudes))):
        raise IndexError("an amplitude index is outside the amplitudes")
    return first, last, start


@ingot.jit
def template_offset_add_to_signal(
    step_length, amp_offset, n_amp_views, amplitudes, amplitude_flags, data_index, det_data, intervals
):
    first, last, start = steps(intervals, det_data.shape[1], step_length, amp_offset, n_amp_views, len(amplitudes))
    check_equal(len(amplitude_flags), len(amplitudes))
    if data_index < 0 or data_index >= len(det_data):
        raise IndexError("a row is outside its buffer")
    data = det_data[data_index]
    for v in range(len(first)):
        a = start[v]
        for begin in range(first[v], last[v], step_length):
            if amplitude_flags[a] == 0:
                data[begin : min(begin + step_length, last[v])] += amplitudes[a]
            a += 1


@ingot.jit
def template_offset_project_signal(
    data_index, det_data, flag_index, flag_data, flag_mask, step_length, amp_offset, n_amp_views, amplitudes, amplitude_flags,
    intervals
):
    n_samples = det_data.shape[1]
    first, last, start = steps(intervals, n_samples, step_length, amp_offset, n_amp_views, len(amplitudes))
    check_equal(len(amplitude_flags), len(amplitudes))
    has_flags = flag_index >= 0 and flag_data.shape[1] == n_samples
    if data_index < 0 or data_index >= len(det_data) or (has_flags and flag_index >= len(flag_data)):
        raise IndexError("a row is outside its buffer")
    for v in range(len(first)):
        a = start[v]
        for begin in range(first[v], last[v], step_length):
            end = min(begin + step_length, last[v])
            if amplitude_flags[a] == 0:
                data = det_data[data_index, begin:end]
                if has_flags:
                    amplitudes[a] += np.sum(np.where(flag_data[flag_index, begin:end] & flag_mask == 0, data, 0.0))
                else:
                    amplitudes[a] += np.sum(data)
            a += 1


@ingot.jit
def template_offset_apply_diag_precond(offset_var, amplitudes_in, amplitude_flags, amplitudes_out):
    check_equal(len(offset_var), len(amplitudes_out))
    check_equal(len(amplitudes_in), len(amplitudes_out))
    check_equal(len(amplitude_flags), len(amplitudes_out))
    for a in range(len(amplitudes_out)):
        amplitudes_out[a] = amplitudes_in[a] * offset_var[a] if amplitude_flags[a] == 0 else 0.0
