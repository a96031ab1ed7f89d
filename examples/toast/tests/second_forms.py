"""Each kernel in a second form: arrays where the first is loops, loops where it is arrays. Without the checks of the first."""

from __future__ import annotations

import numpy as np


def good_samples(flags, mask, first, last, n_samples):
    if len(flags) == n_samples:
        return flags[first:last] & mask == 0
    return np.ones(last - first, np.bool_)


def pointing_detector(focalplane, boresight, quat_index, quats, intervals, shared_flags, shared_flag_mask):
    n_samples = quats.shape[1]
    first, last = intervals["first"], np.maximum(intervals["first"], intervals["last"])
    for v in range(len(first)):
        a, b = first[v], last[v]
        good = good_samples(shared_flags, shared_flag_mask, a, b, n_samples)
        x, y = np.where(good, boresight[a:b, 0], 0.0), np.where(good, boresight[a:b, 1], 0.0)
        z, w = np.where(good, boresight[a:b, 2], 0.0), np.where(good, boresight[a:b, 3], 1.0)
        for d in range(len(quat_index)):
            px, py, pz, pw = focalplane[d]
            made = quats[quat_index[d], a:b]
            made[:, 0] = w * px + x * pw + y * pz - z * py
            made[:, 1] = w * py - x * pz + y * pw + z * px
            made[:, 2] = w * pz + x * py - y * px + z * pw
            made[:, 3] = w * pw - x * px - y * py - z * pz


def interleaved(x, y):
    for shift, mask in ((16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F),
                        (2, 0x3333333333333333), (1, 0x5555555555555555)):  # fmt: skip
        x = (x | x << shift) & mask
        y = (y | y << shift) & mask
    return x | y << 1


def pixels_healpix(
    quat_index, quats, shared_flags, shared_flag_mask, pixel_index, pixels, intervals, hit_submaps, n_pix_submap, nside, nest
):
    n_samples = pixels.shape[1]
    first, last = intervals["first"], np.maximum(intervals["first"], intervals["last"])
    order = 0
    while 1 << order < nside:
        order += 1
    for v in range(len(first)):
        a, b = first[v], last[v]
        unflagged = good_samples(shared_flags, shared_flag_mask, a, b, n_samples)
        for d in range(len(quat_index)):
            q = quats[quat_index[d], a:b]
            good = unflagged & np.isfinite(q[:, 0] + q[:, 1] + q[:, 2] + q[:, 3])
            qx, qy = np.where(good, q[:, 0], 0.0), np.where(good, q[:, 1], 0.0)
            qz, qw = np.where(good, q[:, 2], 0.0), np.where(good, q[:, 3], 1.0)
            z = 1.0 - 2.0 * (qx * qx + qy * qy)
            phi = np.arctan2(2.0 * (qy * qz - qw * qx) + 0.0, 2.0 * (qw * qy + qx * qz) + 0.0)
            f = 2.0 * np.pi * (phi / (2.0 * np.pi))
            f = np.where(np.abs(f) < 10 * 2.0**-52, 0.0, f)
            tt = f * (2.0 / np.pi)
            tt = np.where(f < 0.0, tt + 4.0, tt)
            in_belt = np.abs(z) <= 2.0 / 3.0
            t1 = 0.5 * nside + nside * tt
            t2 = 0.75 * nside * np.where(in_belt, z, 0.0)
            belt_p, belt_m = (t1 - t2).astype(np.int64), (t1 + t2).astype(np.int64)
            face = tt.astype(np.int64)
            tp = tt - face
            r = nside * np.sqrt(np.maximum(3.0 * (1.0 - np.abs(z)), 0.0))
            cap_p, cap_m = (tp * r).astype(np.int64), ((1.0 - tp) * r).astype(np.int64)
            if nest:
                m, n = belt_p >> order, belt_m >> order
                belt_face = np.where(m == n, (m & 3) + 4, np.where(m < n, m, n + 8))
                cap_p, cap_m = np.minimum(cap_p, nside - 1), np.minimum(cap_m, nside - 1)
                north = z >= 0
                x = np.where(in_belt, belt_m & nside - 1, np.where(north, nside - 1 - cap_m, cap_p))
                y = np.where(in_belt, nside - 1 - (belt_p & nside - 1), np.where(north, nside - 1 - cap_p, cap_m))
                face = np.where(in_belt, belt_face, np.where(north, face, face + 8))
                pixel = (face << 2 * order) + interleaved(x, y)
            else:
                ring = nside + 1 + belt_p - belt_m
                ip = ((belt_p + belt_m - nside + 2 - (ring & 1)) >> 1) & (4 * nside - 1)
                of_belt = 2 * nside * (nside - 1) + 4 * nside * (ring - 1) + ip
                ring = cap_p + cap_m + 1
                ip = np.minimum((tt * ring).astype(np.int64), 4 * ring - 1)
                of_cap = np.where(z > 0, 2 * ring * (ring - 1) + ip, 12 * nside * nside - 2 * ring * (ring + 1) + ip)
                pixel = np.where(in_belt, of_belt, of_cap)
            pixels[pixel_index[d], a:b] = np.where(good, pixel, -1)
            hit_submaps[pixel[good] // n_pix_submap] = 1


def stokes_weights_I(weight_index, weights, intervals, cal):
    first, last = intervals["first"], intervals["last"]
    for d in range(len(cal)):
        row, own = weight_index[d], cal[d]
        for v in range(len(first)):
            for s in range(first[v], last[v]):
                weights[row, s] = own


def stokes_weights_IQU(quat_index, quats, weight_index, weights, hwp, intervals, epsilon, gamma, cal, IAU):
    first, last = intervals["first"], np.maximum(intervals["first"], intervals["last"])
    for v in range(len(first)):
        a, b = first[v], last[v]
        for d in range(len(cal)):
            q = quats[quat_index[d], a:b]
            x, y, z, w = q[:, 0], q[:, 1], q[:, 2], q[:, 3]
            polarised = cal[d] * ((1.0 - epsilon[d]) / (1.0 + epsilon[d]))
            south, west = w * y - x * z, y * z + w * x
            at_pole = south * south + west * west < 1e-290
            south = np.where(at_pole, (1.0 - 2.0 * (x * x + y * y)) * (1.0 - 2.0 * (y * y + z * z)), south)
            west = np.where(at_pole, 2.0 * (w * z + x * y), west)
            square = np.where(x * x + y * y > 1.0, np.nan, south * south + west * west)
            c, s = (south * south - west * west) / square, 2.0 * south * west / square
            if len(hwp) == weights.shape[1]:
                turned = 4.0 * (gamma[d] - hwp[a:b])
                plate_c, plate_s = np.cos(turned), np.sin(turned)
                c, s = c * plate_c + s * plate_s, s * plate_c - c * plate_s
            made = weights[weight_index[d], a:b]
            made[:, 0] = cal[d]
            made[:, 1] = polarised * c
            made[:, 2] = (-polarised if IAU else polarised) * s


def scan_map(
    global2local, n_pix_submap, mapdata, det_data, data_index, pixels, pixel_index, weights, weight_index, intervals, data_scale,
    should_zero, should_subtract, should_scale,
):  # fmt: skip
    first, last = intervals["first"], np.maximum(intervals["first"], intervals["last"])
    shown = weights.reshape(weights.shape[0], weights.shape[1], mapdata.shape[2])
    for v in range(len(first)):
        a, b = first[v], last[v]
        for d in range(len(data_index)):
            data = det_data[data_index[d], a:b]
            pixel = pixels[pixel_index[d], a:b]
            seen = pixel >= 0
            submap = np.where(seen, pixel // n_pix_submap, 0)
            local = np.where(seen, global2local[submap], 0)
            column = np.where(seen, pixel - submap * n_pix_submap, 0)
            total = np.zeros(b - a)
            for k in range(mapdata.shape[2]):
                total = total + shown[weight_index[d], a:b, k] * mapdata[local, column, k]
            total = data_scale * total
            old = data * 0.0 if should_zero else data * 1.0
            new = old - total if should_subtract else old * total if should_scale else old + total
            data[:] = np.where(seen, new, old)


def noise_weight(det_data, data_index, intervals, detector_weights):
    first, last = intervals["first"], intervals["last"]
    for d in range(len(data_index)):
        row, own = data_index[d], detector_weights[d]
        for v in range(len(first)):
            for s in range(first[v], last[v]):
                det_data[row, s] *= own


def build_noise_weighted(
    global2local, zmap, pixel_index, pixels, weight_index, weights, data_index, det_data, flag_index, det_flags, det_scale,
    det_flag_mask, intervals, shared_flags, shared_flag_mask,
):  # fmt: skip
    n_samples, n_pix = det_data.shape[1], zmap.shape[1]
    first, last = intervals["first"], np.maximum(intervals["first"], intervals["last"])
    shown = weights.reshape(weights.shape[0], weights.shape[1], zmap.shape[2])
    for v in range(len(first)):
        a, b = first[v], last[v]
        unflagged = good_samples(shared_flags, shared_flag_mask, a, b, n_samples)
        for d in range(len(data_index)):
            good = unflagged & (pixels[pixel_index[d], a:b] >= 0)
            if det_flags.shape[1] == n_samples:
                good = good & (det_flags[flag_index[d], a:b] & det_flag_mask == 0)
            at = np.nonzero(good)[0]
            pixel = pixels[pixel_index[d], a:b][at]
            submap = pixel // n_pix
            scaled = det_data[data_index[d], a:b][at] * det_scale[d]
            for k in range(zmap.shape[2]):
                np.add.at(zmap, (global2local[submap], pixel - submap * n_pix, k), scaled * shown[weight_index[d], a:b, k][at])


def template_offset_add_to_signal(step_length, amp_offset, n_amp_views, amplitudes, amplitude_flags, data_index, det_data, intervals):
    first, last = intervals["first"], intervals["last"]
    start = amp_offset
    for v in range(len(first)):
        for s in range(first[v], last[v]):
            a = start + (s - first[v]) // step_length
            if amplitude_flags[a] == 0:
                det_data[data_index, s] += amplitudes[a]
        start += n_amp_views[v]


def template_offset_project_signal(
    data_index, det_data, flag_index, flag_data, flag_mask, step_length, amp_offset, n_amp_views, amplitudes, amplitude_flags, intervals
):
    first, last = intervals["first"], intervals["last"]
    has_flags = flag_index >= 0 and flag_data.shape[1] == det_data.shape[1]
    start = amp_offset
    for v in range(len(first)):
        for s in range(first[v], last[v]):
            a = start + (s - first[v]) // step_length
            if amplitude_flags[a] == 0 and not (has_flags and flag_data[flag_index, s] & flag_mask != 0):
                amplitudes[a] += det_data[data_index, s]
        start += n_amp_views[v]


def template_offset_apply_diag_precond(offset_var, amplitudes_in, amplitude_flags, amplitudes_out):
    amplitudes_out[:] = np.where(amplitude_flags == 0, amplitudes_in * offset_var, 0.0)
