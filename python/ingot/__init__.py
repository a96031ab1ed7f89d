"""Compile numerical Python to native code: the decorator changes nothing but the speed.

>>> import ingot, numpy as np
>>> @ingot.jit
... def mean_square(x):
...     total = 0.0
...     for value in x:
...         total += value * value
...     return total / len(x)
>>> mean_square(np.array([1.0, 2.0, 3.0]))
np.float64(4.666666666666667)

The first call with arguments of new types compiles. Values, dtypes, writes into arguments and exceptions are
those of Python and NumPy. What Ingot does not compile raises `ingot.UnsupportedError`, with the line, the
reason and what to write instead.

Compile
    jit, njit, vectorize, guvectorize, stencil, jitclass, fuse, prange, implements, host, export, schedule, loop, autotune
Differentiate
    grad, value_and_grad, vjp, jvp, jacrev, jacfwd, hessian, hvp, linearize, checkpoint, stop_gradient,
    custom_jvp, custom_vjp, check_grads
Batch
    vmap, pmap, axis_index, axis_size, psum, pmean, pmax, pmin, all_gather, psum_scatter, all_to_all, ppermute
    shard_map, Mesh, PartitionSpec (P)
Threads, devices, memory
    set_num_threads, devices, device, device_put, Array, graph, lazy, memory, ...
Measure
    profile; the method `explain` of compiled functions
Modules
    cuda (kernels), einshape (reshapes by formulas), lax (control flow), mpi (ranks that fail, ranks that are simulated),
    numpy (NumPy's functions, compiled), optimize (minima, fits, roots), parallel (functions of all elements), random (keys),
    testing (assertions), tree (structures), types (types of signatures)

In a terminal `python -m ingot info` shows what was built and what machine it sees, and
`python -m ingot check FILE` which functions of a file compile. The manual is in `docs/`.
"""

import _thread
import os as _os
import sys as _sys
import time as _time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import cuda, einshape, lax, mpi, numpy, optimize, parallel, random, testing, tree, types
    from ._ahead.export import export
    from ._arrays.array import Array, from_dlpack
    from ._arrays.graph import Graph, graph
    from ._calls.autotuning import Tuning, autotune
    from ._calls.jit import jit, njit
    from ._calls.jitclass import jitclass
    from ._calls.schedules import Schedule, loop, schedule
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
    from ._devices.memory import memory, set_kept_memory_limit
    from ._devices.threads import get_num_threads, set_num_threads
    from ._devices.transfers import device_put
    from ._errors import DeviceError, InternalError, TypeChangeError, UnsupportedError
    from ._host import host
    from ._host.progress import progress
    from ._operations.lazy import lazy
    from ._profile import profile
    from ._transforms.batching import all_gather, all_to_all, axis_index, axis_size, pmap, pmax, pmean, pmin, ppermute, psum, psum_scatter, vmap
    from ._transforms.derivatives import (
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
    from ._transforms.shards import Mesh, P, PartitionSpec, shard_map
    from ._transforms.stencils import stencil
    from ._vectorize.decorators import guvectorize, vectorize
    from .library.registry import implements
    from .parallel import fuse
    from .types import (
        bool_,
        boolean,
        complex64,
        complex128,
        float16,
        float32,
        float64,
        int8,
        int16,
        int32,
        int64,
        intp,
        uint8,
        uint16,
        uint32,
        uint64,
        uintp,
        void,
    )

__version__ = "0.1.0"

_MODULES = {
    "_ahead.export": "export",
    "_arrays.array": "Array from_dlpack",
    "_arrays.graph": "Graph graph",
    "_calls.autotuning": "Tuning autotune",
    "_calls.jit": "jit njit",
    "_calls.jitclass": "jitclass",
    "_calls.schedules": "Schedule loop schedule",
    "_devices": "Device default_device device devices release_memory reset_memory_peak set_default_device set_memory_limit",
    "_devices.memory": "memory set_kept_memory_limit",
    "_devices.threads": "get_num_threads set_num_threads",
    "_devices.transfers": "device_put",
    "_errors": "DeviceError InternalError TypeChangeError UnsupportedError",
    "_host": "host",
    "_host.progress": "progress",
    "_operations.lazy": "lazy",
    "_profile": "profile",
    "_transforms.batching": "all_gather all_to_all axis_index axis_size pmap pmax pmean pmin ppermute psum psum_scatter vmap",
    "_transforms.derivatives": "check_grads checkpoint custom_jvp custom_vjp grad hessian hvp jacfwd jacrev jvp linearize stop_gradient value_and_grad vjp",
    "_transforms.shards": "Mesh P PartitionSpec shard_map",
    "_transforms.stencils": "stencil",
    "_vectorize.decorators": "guvectorize vectorize",
    "library.registry": "implements",
    "parallel": "fuse",
    "types": "bool_ boolean complex64 complex128 float16 float32 float64 int8 int16 int32 int64 intp uint8 uint16 uint32 uint64 uintp void",
}
"""Where names are defined: each module is loaded when a name of it is first asked for."""
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}
_SUBMODULES = ("cuda", "einshape", "lax", "mpi", "numpy", "optimize", "parallel", "random", "testing", "tree", "types")


def _wait_for_imports() -> None:
    """Before a fork: waits, for some seconds at most, until no other thread imports a module of Ingot's, which the child could
    never import after it."""
    import importlib._bootstrap as bootstrap  # type: ignore[import-not-found]

    locks, own = getattr(bootstrap, "_module_locks", {}), _thread.get_ident()
    end = _time.monotonic() + 5.0
    while _time.monotonic() < end:
        owners = [getattr(lock(), "owner", None) for name, lock in locks.copy().items() if f"{name}.".startswith("ingot.")]
        if all(owner in (None, own) for owner in owners):
            return
        _time.sleep(0.001)


_os.register_at_fork(before=_wait_for_imports)


if not TYPE_CHECKING:  # a type checker takes any name for one of a module that has this

    def __getattr__(name: str) -> object:
        from importlib import import_module

        import numpy  # noqa: F401, ICN001  # it refuses other interpreters than the first, before anything of Ingot's is in them

        if name in _SUBMODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _PLACES:
            if name.startswith("_"):
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=_sys.modules[__name__])
            from ._refusals.missing import error

            raise error(__name__, name)
        found = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, *(name for name in globals() if name.startswith("__"))})


def prange(*bounds: int) -> range:
    """Return a `range` whose iterations may run in parallel in compiled code.

    Parameters
    ----------
    *bounds : int
        Start, stop and step, as of `range`.

    Returns
    -------
    range
        In Python, and with ``INGOT_DISABLE=1``, a plain `range`.

    Raises
    ------
    UnsupportedError
        When the loop is compiled: its iterations depend on each other.

    See Also
    --------
    set_num_threads : The number of threads.
    jit : `parallel=False` runs `prange` as `range`.

    Notes
    -----
    Sums, products, minima and maxima that all iterations accumulate are reductions: each thread has its own, and they
    are combined at the end. The result is the same for any number of threads.

    Examples
    --------
    >>> @ingot.jit
    ... def total(x):
    ...     s = 0.0
    ...     for i in ingot.prange(len(x)):
    ...         s += x[i]
    ...     return s
    >>> total(np.arange(1000.0))
    np.float64(499500.0)
    """
    return range(*bounds)


def load_ipython_extension(shell: object) -> None:
    """What IPython calls for `%load_ext ingot`: `%%ingot` and `%ingot_explain` are there from now on."""
    from ._command import notebook

    notebook.load(shell)


def unload_ipython_extension(shell: object) -> None:
    """What IPython calls for `%unload_ext ingot`."""
    from ._command import notebook

    notebook.unload(shell)


if any(name.startswith("INGOT_") for name in _os.environ):
    from . import _environment

    _environment.check()
    if _environment.is_disabled():
        prange = range  # type: ignore[assignment]
    if _os.environ.get("INGOT_PROFILE") or _os.environ.get("INGOT_PROFILE_TRACE"):
        from . import _profile  # counts from here on
    if not _environment.value_of("INGOT_OVERLAP"):
        from . import _ingot

        _ingot.overlap_copies(False)


__all__ = [
    "Array",
    "Device",
    "DeviceError",
    "Graph",
    "InternalError",
    "Mesh",
    "P",
    "PartitionSpec",
    "Schedule",
    "Tuning",
    "TypeChangeError",
    "UnsupportedError",
    "all_gather",
    "all_to_all",
    "autotune",
    "axis_index",
    "axis_size",
    "bool_",
    "boolean",
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
    "einshape",
    "export",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "fuse",
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
    "intp",
    "jacfwd",
    "jacrev",
    "jit",
    "jitclass",
    "jvp",
    "lax",
    "lazy",
    "linearize",
    "loop",
    "memory",
    "mpi",
    "njit",
    "optimize",
    "parallel",
    "pmap",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "prange",
    "profile",
    "progress",
    "psum",
    "psum_scatter",
    "random",
    "release_memory",
    "reset_memory_peak",
    "schedule",
    "set_default_device",
    "set_kept_memory_limit",
    "set_memory_limit",
    "set_num_threads",
    "shard_map",
    "stencil",
    "stop_gradient",
    "testing",
    "tree",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintp",
    "value_and_grad",
    "vectorize",
    "vjp",
    "vmap",
    "void",
]
