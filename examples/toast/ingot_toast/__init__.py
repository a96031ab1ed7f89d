"""Time-ordered data of telescopes, on Ingot: see README.md."""

from .comm import Comm
from .data import Buffer, Data, DetData, Intervals, Observation, PixelDistribution, PixelMap
from .operator import KernelOperator, Operator
from .pipeline import Pipeline

__version__ = "0.1.0"
__all__ = [
    "Buffer",
    "Comm",
    "Data",
    "DetData",
    "Intervals",
    "KernelOperator",
    "Observation",
    "Operator",
    "Pipeline",
    "PixelDistribution",
    "PixelMap",
]
