"""The ten kernels as operators."""

from .. import dispatch, kernels
from .maps import BuildNoiseWeighted, NoiseWeight, ScanMap
from .pointing import PixelsHealpix, PointingDetector, StokesWeights
from .templates import OffsetAdd, OffsetLayout, OffsetPrecond, OffsetProject

KERNELS = (
    "pointing_detector",
    "pixels_healpix",
    "stokes_weights_I",
    "stokes_weights_IQU",
    "scan_map",
    "noise_weight",
    "build_noise_weighted",
    "template_offset_add_to_signal",
    "template_offset_project_signal",
    "template_offset_apply_diag_precond",
)
for name in KERNELS:
    dispatch.register(name, "ingot", getattr(kernels, name))

__all__ = [
    "BuildNoiseWeighted",
    "NoiseWeight",
    "OffsetAdd",
    "OffsetLayout",
    "OffsetPrecond",
    "OffsetProject",
    "PixelsHealpix",
    "PointingDetector",
    "ScanMap",
    "StokesWeights",
]
