"""Kernels and pipelines of TOAST as ordinary Python, compiled by Ingot."""

__version__ = "0.1.0"
