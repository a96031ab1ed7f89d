"""The ten kernels in NumPy alone: another implementation, for tests."""

import numpy as np


def runs(intervals):
    return [slice(f, l) for f, l in zip(intervals["first"], intervals["last"]) if f < l]


def good(flags, mask, part, n_samples):
    return (flags[part] & mask) == 0 if len(flags) == n_samples else np.ones(part.stop - part.start, bool)


def product(p, q):
    (px, py, pz, pw), (qx, qy, qz, qw) = np.moveaxis(p, -1, 0), q
    return np.stack(
        [pw * qx + px * qw + py * qz - pz * qy, pw * qy - px * qz + py * qw + pz * qx,
         pw * qz + px * qy - py * qx + pz * qw, pw * qw - px * qx - py * qy - pz * qz], -1
    )  # fmt: skip


def pointing_detector(focalplane, boresight, quat_index, quats, intervals, shared_flags, shared_flag_mask):
    for part in runs(intervals):
        is_good = good(shared_flags, shared_flag_mask, part, quats.shape[1])
        attitude = np.where(is_good[:, None], boresight[part], [0.0, 0.0, 0.0, 1.0])
        for d, row in enumerate(quat_index):
            quats[row, part] = product(attitude, focalplane[d])


def spread(x):
    return sum(((x >> bit) & 1) << (2 * bit) for bit in range(30))


def pixel_of(q, nside, nest):
    x, y, z, w = np.moveaxis(q, -1, 0)
    cos, phi = 1 - 2 * (x * x + y * y), np.arctan2(2 * (y * z - w * x) + 0.0, 2 * (w * y + x * z) + 0.0)
    t = phi / (2 * np.pi)
    f = 2 * np.pi * (t - np.trunc(t))
    f = np.where(np.abs(f) < 10 * 2.0**-52, 0.0, f)
    tt = f * (2 / np.pi) + np.where(f < 0, 4.0, 0.0)
    order, belt = nside.bit_length() - 1, np.abs(cos) <= 2 / 3
    t1, t2 = 0.5 * nside + nside * tt, 0.75 * nside * cos
    jp, jm = (t1 - t2).astype(int), (t1 + t2).astype(int)
    n, r = tt.astype(int), nside * np.sqrt(np.maximum(3 * (1 - np.abs(cos)), 0))
    cp, cm = ((tt - n) * r).astype(int), ((1 - (tt - n)) * r).astype(int)
    if not nest:
        ir = nside + 1 + jp - jm
        ip = ((jp + jm - nside + 1 - (ir & 1) + 1) >> 1) % (4 * nside)
        ring = cp + cm + 1
        ic = (tt * ring).astype(int)
        ic -= ic // (4 * ring)
        cap = np.where(cos > 0, 2 * ring * (ring - 1) + ic, 12 * nside**2 - 2 * ring * (ring + 1) + ic)
        return np.where(belt, 2 * nside * (nside - 1) + 4 * nside * (ir - 1) + ip, cap)
    a, b = jp >> order, jm >> order
    face = np.where(a == b, np.where(a == 4, 4, a + 4), np.where(a < b, a, b + 8))
    bx, by = jm & (nside - 1), nside - 1 - (jp & (nside - 1))
    cp, cm = np.minimum(cp, nside - 1), np.minimum(cm, nside - 1)
    north = cos >= 0
    cx, cy = np.where(north, nside - 1 - cm, cp), np.where(north, nside - 1 - cp, cm)
    face = np.where(belt, face, np.where(north, n, n + 8))
    return face * nside**2 + spread(np.where(belt, bx, cx)) + (spread(np.where(belt, by, cy)) << 1)


def pixels_healpix(
    quat_index, quats, shared_flags, shared_flag_mask, pixel_index, pixels, intervals, hit_submaps, n_pix_submap, nside, nest
):
    for part in runs(intervals):
        is_good = good(shared_flags, shared_flag_mask, part, pixels.shape[1])
        for quat_row, pixel_row in zip(quat_index, pixel_index):
            pixels[pixel_row, part] = np.where(is_good, pixel_of(quats[quat_row, part], nside, nest), -1)
            hit_submaps[pixels[pixel_row, part][is_good] // n_pix_submap] = 1


def stokes_weights_I(weight_index, weights, intervals, cal):
    for part in runs(intervals):
        weights[weight_index, part] = cal[:, None]


def stokes_weights_IQU(quat_index, quats, weight_index, weights, hwp, intervals, epsilon, gamma, cal, IAU):
    eta = (1 - epsilon) / (1 + epsilon)
    for part in runs(intervals):
        for d, (quat_row, row) in enumerate(zip(quat_index, weight_index)):
            x, y, z, w = quats[quat_row, part].T
            look = np.stack([2 * (w * y + x * z), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]) + 0.0
            along = np.stack([1 - 2 * (y * y + z * z), 2 * (w * z + x * y), 2 * (x * z - w * y)])
            a = np.arctan2(look[1], look[0])
            south = np.stack([look[2] * np.cos(a), look[2] * np.sin(a), -np.sqrt(np.maximum(1 - look[2] ** 2, 0))])
            alpha = np.arctan2((look * np.cross(south, along, axis=0)).sum(0), (south * along).sum(0))
            if len(hwp) == weights.shape[1]:
                alpha -= 2 * (gamma[d] - hwp[part])
            sign = -1 if IAU else 1
            stokes = [np.ones(len(a)), eta[d] * np.cos(2 * alpha), sign * eta[d] * np.sin(2 * alpha)]
            weights[row, part] = cal[d] * np.stack(stokes, 1)


def pixel_place(pixels, global2local, n_pix_submap):
    submap = pixels // n_pix_submap
    local = global2local[submap]
    if (local < 0).any():
        raise IndexError("a pixel is in a submap that is not local")
    return local, pixels - submap * n_pix_submap


def scan_map(
    global2local, n_pix_submap, mapdata, det_data, data_index, pixels, pixel_index, weights, weight_index, intervals, data_scale,
    should_zero, should_subtract, should_scale
):  # fmt: skip
    weights = weights.reshape(*weights.shape[:2], -1)
    for part in runs(intervals):
        for row, pixel_row, weight_row in zip(data_index, pixel_index, weight_index):
            data = det_data[row, part]
            if should_zero:
                data[:] = 0
            seen = pixels[pixel_row, part] >= 0
            place = pixel_place(pixels[pixel_row, part][seen], global2local, n_pix_submap)
            value = data_scale * (weights[weight_row, part][seen] * mapdata[place]).sum(1)
            data[seen] = data[seen] - value if should_subtract else data[seen] * value if should_scale else data[seen] + value


def noise_weight(det_data, data_index, intervals, detector_weights):
    for part in runs(intervals):
        for d, row in enumerate(data_index):
            det_data[row, part] *= detector_weights[d]


def build_noise_weighted(
    global2local, zmap, pixel_index, pixels, weight_index, weights, data_index, det_data, flag_index, det_flags, det_scale,
    det_flag_mask, intervals, shared_flags, shared_flag_mask
):  # fmt: skip
    weights, n_samples = weights.reshape(*weights.shape[:2], -1), pixels.shape[1]
    for part in runs(intervals):
        for d in range(len(det_scale)):
            seen = (pixels[pixel_index[d], part] >= 0) & good(shared_flags, shared_flag_mask, part, n_samples)
            if det_flags.shape[1] == n_samples:
                seen &= good(det_flags[flag_index[d]], det_flag_mask, part, n_samples)
            place = pixel_place(pixels[pixel_index[d], part][seen], global2local, zmap.shape[1])
            scaled = det_data[data_index[d], part][seen] * det_scale[d]
            np.add.at(zmap, place, scaled[:, None] * weights[weight_index[d], part][seen])


def steps(intervals, step_length, amp_offset, n_amp_views):
    for part, start in zip(
        (slice(f, l) for f, l in zip(intervals["first"], intervals["last"])), amp_offset + np.cumsum([0, *n_amp_views[:-1]])
    ):
        yield part, start + np.arange(max(part.stop - part.start, 0)) // step_length


def template_offset_add_to_signal(step_length, amp_offset, n_amp_views, amplitudes, amplitude_flags, data_index, det_data, intervals):
    for part, which in steps(intervals, step_length, amp_offset, n_amp_views):
        det_data[data_index, part] += np.where(amplitude_flags[which] == 0, amplitudes[which], 0)


def template_offset_project_signal(
    data_index, det_data, flag_index, flag_data, flag_mask, step_length, amp_offset, n_amp_views, amplitudes, amplitude_flags, intervals
):
    for part, which in steps(intervals, step_length, amp_offset, n_amp_views):
        use = amplitude_flags[which] == 0
        if flag_index >= 0:
            use &= (flag_data[flag_index, part] & flag_mask) == 0
        np.add.at(amplitudes, which[use], det_data[data_index, part][use])


def template_offset_apply_diag_precond(offset_var, amplitudes_in, amplitude_flags, amplitudes_out):
    amplitudes_out[:] = np.where(amplitude_flags == 0, amplitudes_in * offset_var, 0.0)
