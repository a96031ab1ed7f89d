"""The ten kernels as operators."""

from .maps import BuildNoiseWeighted, NoiseWeight, ScanMap
from .pointing import PixelsHealpix, PointingDetector, StokesWeights
from .templates import OffsetAdd, OffsetLayout, OffsetPrecond, OffsetProject

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
