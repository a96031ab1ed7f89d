"""Ingot compiles numerical Python to native code and changes nothing but the speed."""

from . import cuda, lax, random, tree
from ._array import Array, device_put, from_dlpack
from ._batching import all_gather, axis_index, pmap, pmax, pmean, pmin, psum, vmap
from ._derivatives import (
    check_grads,
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
)
from ._devices import (
    Device,
    default_device,
    device,
    devices,
    release_memory,
    reset_memory_peak,
    set_default_device,
    set_memory_limit,
)
from ._errors import DeviceError, InternalError, TypeChangeError, UnsupportedError
from ._export import export
from ._graph import Graph, graph
from ._guvectorize import guvectorize
from ._host import host
from ._jit import disabled as _disabled
from ._jit import jit
from ._lazy import lazy
from ._memory import memory, set_cache_limit
from ._profile import profile
from ._signature import Type
from ._threads import get_num_threads, set_num_threads
from ._vectorize import vectorize
from .library.registry import implements

__version__ = "0.1.0"

bool_ = Type("bool")
int8, int16, int32, int64 = Type("int8"), Type("int16"), Type("int32"), Type("int64")
uint8, uint16, uint32, uint64 = Type("uint8"), Type("uint16"), Type("uint32"), Type("uint64")
float16, float32, float64 = Type("float16"), Type("float32"), Type("float64")
complex64, complex128 = Type("complex64"), Type("complex128")
void = Type("void")


def prange(*bounds: int) -> range:
    """`range`, whose turns may run in parallel in compiled code; refused there where they depend on each other."""
    return range(*bounds)


if _disabled():
    prange = range  # type: ignore[assignment]


__all__ = [
    "Array",
    "Device",
    "DeviceError",
    "Graph",
    "InternalError",
    "TypeChangeError",
    "UnsupportedError",
    "all_gather",
    "axis_index",
    "bool_",
    "check_grads",
    "checkpoint",
    "complex64",
    "complex128",
    "cuda",
    "custom_jvp",
    "custom_vjp",
    "default_device",
    "device",
    "device_put",
    "devices",
    "export",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "get_num_threads",
    "grad",
    "graph",
    "guvectorize",
    "hessian",
    "host",
    "hvp",
    "implements",
    "int8",
    "int16",
    "int32",
    "int64",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "lazy",
    "linearize",
    "memory",
    "pmap",
    "pmax",
    "pmean",
    "pmin",
    "prange",
    "profile",
    "psum",
    "random",
    "release_memory",
    "reset_memory_peak",
    "set_cache_limit",
    "set_default_device",
    "set_memory_limit",
    "set_num_threads",
    "stop_gradient",
    "tree",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "vectorize",
    "vjp",
    "vmap",
    "void",
]
