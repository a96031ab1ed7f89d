"""The ten kernels with the arguments of TOAST's, which are positional, for programs that compare them with others.

Rows of `(rows, samples)` are named by an int32 table of one entry a detector, intervals are records with `first` and `last`
(exclusive), and flags or angles whose length is not that of the samples are none. Arrays may be on a device: the one that
INGOT_TOAST_DEVICE names (`gpu`, `emulated`, ...), else the software device.
"""

import functools
import os
from collections.abc import Callable
from typing import Any

import ingot
import numpy as np
from ingot import set_num_threads

from . import kernels
from .kernels import Detectors, Flags, Grid, Offsets, Pointing, Samples, Sky, View

__all__ = ["set_num_threads", "synchronize", "to_device", "to_host"]


def judged(arguments: Callable[..., tuple[Any, ...]]) -> Callable[..., None]:
    """The kernel of that name, called with what it is given made of TOAST's arguments."""
    name = arguments.__name__

    @functools.wraps(arguments)
    def call(*given: Any) -> None:
        getattr(kernels, name)(*arguments(*given))

    __all__.append(name)
    return call


def view_of(intervals, shared_flags, shared_flag_mask, n_samples):
    flags = shared_flags if shared_flags is not None and len(shared_flags) == n_samples else None
    return View(np.ascontiguousarray(intervals["first"]), np.ascontiguousarray(intervals["last"]), flags, shared_flag_mask)


def flags_of(flag_index, det_flags, mask, n_samples):
    """None for another number of samples; so is one column, as of one sample, and no row, -1."""
    if det_flags.shape[1] != n_samples or (det_flags.size == 1 and (flag_index == -1).all()):
        return None
    return Flags(Samples(det_flags, flag_index), mask)


@judged
def pointing_detector(focalplane, boresight, quat_index, quats, intervals, shared_flags, shared_flag_mask):
    view = view_of(intervals, shared_flags, shared_flag_mask, quats.shape[1])
    none = np.zeros(0)
    return Detectors(focalplane, none, none, none), boresight, view, Samples(quats, quat_index)


@judged
def pixels_healpix(quat_index, quats, shared_flags, shared_flag_mask, pixel_index, pixels, intervals, hit_submaps, n_pix_submap, nside, nest):
    view = view_of(intervals, shared_flags, shared_flag_mask, pixels.shape[1])
    return Samples(quats, quat_index), view, Grid(nside, nest, n_pix_submap), Samples(pixels, pixel_index), hit_submaps


@judged
def stokes_weights_I(weight_index, weights, intervals, cal):
    return Detectors(np.zeros((0, 4)), cal, cal, cal), view_of(intervals, None, 0, weights.shape[1]), Samples(weights, weight_index)


@judged
def stokes_weights_IQU(quat_index, quats, weight_index, weights, hwp, intervals, epsilon, gamma, cal, IAU):
    n_samples = weights.shape[1]
    plate = hwp if len(hwp) == n_samples else None
    detectors, view = Detectors(np.zeros((0, 4)), epsilon, gamma, cal), view_of(intervals, None, 0, n_samples)
    return detectors, Samples(quats, quat_index), plate, view, Samples(weights, weight_index), IAU


@judged
def scan_map(
    global2local, n_pix_submap, mapdata, det_data, data_index, pixels, pixel_index, weights, weight_index, intervals, data_scale,
    should_zero, should_subtract, should_scale,
):  # fmt: skip
    kernels.check_equal(mapdata.shape[1], n_pix_submap)
    pointing, view = Pointing(Samples(pixels, pixel_index), Samples(weights, weight_index)), view_of(intervals, None, 0, det_data.shape[1])
    how = data_scale, should_zero, should_subtract, should_scale
    return Sky(mapdata, global2local), pointing, Samples(det_data, data_index), view, *how


@judged
def noise_weight(det_data, data_index, intervals, detector_weights):
    return Samples(det_data, data_index), view_of(intervals, None, 0, det_data.shape[1]), detector_weights


@judged
def build_noise_weighted(
    global2local, zmap, pixel_index, pixels, weight_index, weights, data_index, det_data, flag_index, det_flags, det_scale,
    det_flag_mask, intervals, shared_flags, shared_flag_mask,
):  # fmt: skip
    kernels.check_equal(len(flag_index), len(det_scale))
    n_samples = det_data.shape[1]
    flags = flags_of(flag_index, det_flags, det_flag_mask, n_samples)
    view = view_of(intervals, shared_flags, shared_flag_mask, n_samples)
    pointing = Pointing(Samples(pixels, pixel_index), Samples(weights, weight_index))
    return Sky(zmap, global2local), pointing, Samples(det_data, data_index), flags, view, det_scale


@judged
def template_offset_add_to_signal(step_length, amp_offset, n_amp_views, amplitudes, amplitude_flags, data_index, det_data, intervals):
    offsets = Offsets(step_length, np.array([amp_offset]), n_amp_views, amplitudes, amplitude_flags)
    return offsets, Samples(det_data, np.array([data_index], np.int32)), view_of(intervals, None, 0, det_data.shape[1])


@judged
def template_offset_project_signal(
    data_index, det_data, flag_index, flag_data, flag_mask, step_length, amp_offset, n_amp_views, amplitudes, amplitude_flags,
    intervals,
):  # fmt: skip
    n_samples = det_data.shape[1]
    table = np.array([flag_index], np.int32)
    flags = flags_of(table, flag_data, flag_mask, n_samples) if flag_index >= 0 else None
    offsets = Offsets(step_length, np.array([amp_offset]), n_amp_views, amplitudes, amplitude_flags)
    return offsets, Samples(det_data, np.array([data_index], np.int32)), flags, view_of(intervals, None, 0, n_samples)


@judged
def template_offset_apply_diag_precond(offset_var, amplitudes_in, amplitude_flags, amplitudes_out):
    return offset_var, amplitudes_in, amplitude_flags, amplitudes_out


def device() -> ingot.Device:
    """The device that arrays are placed on."""
    return ingot.device(os.environ.get("INGOT_TOAST_DEVICE", "emulated"))


def to_device(array: "np.ndarray | ingot.Array") -> "np.ndarray | ingot.Array":
    """A copy of an array on the device; records stay with the host."""
    return array if isinstance(array, ingot.Array) or array.dtype.names else ingot.device_put(array, device())


def to_host(array: "np.ndarray | ingot.Array") -> np.ndarray:
    """A copy of an array with the host."""
    return array.to_host() if isinstance(array, ingot.Array) else array


def synchronize() -> None:
    """Wait for all that the device has been given to do."""
    device().synchronize()
