"""The vendor's toolkit, which some tests want; it needs no GPU."""

import ctypes
import os
import shutil

import pytest


def has(library):
    """Whether a library of the toolkit is there."""
    for path in (library, f"/usr/local/cuda/lib64/{library}"):
        try:
            return bool(ctypes.CDLL(path))
        except OSError:
            pass
    return False


def program(name):
    """A program of the toolkit, or None."""
    place = shutil.which(name) or f"/usr/local/cuda/bin/{name}"
    return place if os.path.exists(place) else None


needs_nvrtc = pytest.mark.skipif(not has("libnvrtc.so"), reason="there is no NVRTC")
needs_nvcc = pytest.mark.skipif(program("nvcc") is None or not has("libnvJitLink.so"), reason="there is no nvcc")
needs_nvdisasm = pytest.mark.skipif(program("nvdisasm") is None or not has("libnvJitLink.so"), reason="there is no nvdisasm")
