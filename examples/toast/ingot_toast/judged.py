"""The ten kernels with what a judge of them asks for: arrays on a device, its end, and the number of threads.

The device is the one that INGOT_TOAST_DEVICE names (`gpu`, `emulated`, ...), else the software device.
"""

import os

import ingot
import numpy as np
from ingot import set_num_threads

from .kernels import (
    build_noise_weighted,
    noise_weight,
    pixels_healpix,
    pointing_detector,
    scan_map,
    stokes_weights_I,
    stokes_weights_IQU,
    template_offset_add_to_signal,
    template_offset_apply_diag_precond,
    template_offset_project_signal,
)

__all__ = [
    "build_noise_weighted",
    "noise_weight",
    "pixels_healpix",
    "pointing_detector",
    "scan_map",
    "set_num_threads",
    "stokes_weights_I",
    "stokes_weights_IQU",
    "synchronize",
    "template_offset_add_to_signal",
    "template_offset_apply_diag_precond",
    "template_offset_project_signal",
    "to_device",
    "to_host",
]


def device() -> ingot.Device:
    """The device that arrays are placed on."""
    return ingot.device(os.environ.get("INGOT_TOAST_DEVICE", "emulated"))


def to_device(array: np.ndarray) -> "np.ndarray | ingot.Array":
    """A copy of an array on the device; records stay with the host."""
    return array if array.dtype.names else ingot.device_put(array, device())


def to_host(array: "np.ndarray | ingot.Array") -> np.ndarray:
    """A copy of an array with the host."""
    return array.to_host() if isinstance(array, ingot.Array) else array


def synchronize() -> None:
    """Wait for all that the device has been given to do."""
    device().synchronize()
