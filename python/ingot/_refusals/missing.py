"""Names of Numba's that Ingot does not have, and what to write instead: read when one of them is asked for."""

from __future__ import annotations

import sys

_LISTS = "lists and dicts of Python's are compiled as they are: drop the type"
_OF_INGOT = {
    "cfunc": "use `ingot.jit(f).c_pointer(signature)`",
    "objmode": "call a function of `ingot.host`",
    "typed": _LISTS,
    "experimental": "use `ingot.jitclass`",
    "extending": "use `ingot.implements` to define a function for compiled code",
    "overload": "use `ingot.implements` to define a function for compiled code",
    "generated_jit": "write `isinstance` in the function: it is known when compiling",
    "jit_module": "decorate the functions",
    "literally": "name the argument in `static_argnames`",
    "literal_unroll": "loops over tuples of several types are unrolled: drop it",
    "pndindex": "write `prange` over the first axis",
    "carray": "declare arrays in the signature of `c_pointer`",
    "farray": "declare arrays in the signature of `c_pointer`",
    "threading_layer": "there is one pool of threads: see `ingot.get_num_threads`",
    "set_parallel_chunksize": "chunks are chosen when the loop runs: drop it",
    "get_parallel_chunksize": "chunks are chosen when the loop runs: drop it",
    "config": "see docs/environment.md for the variables of the environment",
    "typeof": "use `.dtype` and `.ndim`",
    "core": "catch `ingot.UnsupportedError` and Python's own exceptions",
    "errors": "catch `ingot.UnsupportedError` and Python's own exceptions",
    "gdb": "set INGOT_DISABLE=1 in the environment: functions run in Python then, where debuggers stop",
}
_OF_CUDA = {
    "as_cuda_array": "use `ingot.from_dlpack`",
    "is_cuda_array": "use `isinstance(x, ingot.Array)`",
    "from_cuda_array_interface": "use `ingot.from_dlpack`",
    "external_stream": "use `cuda.stream()`",
    "per_thread_default_stream": "use `cuda.stream()`",
    "legacy_default_stream": "use `cuda.default_stream()`",
    "profiling": "use `ingot.profile`",
    "profile_start": "use `ingot.profile`",
    "profile_stop": "use `ingot.profile`",
    "compile": "kernels are compiled when they are launched",
    "compile_ptx": "kernels are compiled when they are launched",
    "compile_for_current_device": "kernels are compiled when they are launched",
    "compile_ptx_for_current_device": "kernels are compiled when they are launched",
    "vectorize": "use `ingot.vectorize`, with arrays on the device",
    "guvectorize": "use `ingot.guvectorize`, with arrays on the device",
    "cudadrv": "the driver is Ingot's own: use the functions of `ingot.cuda`",
    "defer_cleanup": "memory is given back by the stream's order: drop it",
    "open_ipc_array": "processes do not share memory of devices",
}


_OF_COOP = {
    "scan": "use `inclusive_scan` or `exclusive_scan`",
    "shuffle": "use `cuda.shfl_sync` in a warp, `coop.block.shuffle` in a block",
    "radix_rank": "use `coop.block.radix_sort_pairs` with the places as values",
    "run_length": "use `coop.block.run_length`",
    "TempStorage": "functions have memory of their own: drop it",
}
_OF_MODULES = {"ingot": _OF_INGOT, "ingot.cuda": _OF_CUDA, "ingot.cuda.coop": _OF_COOP, "ingot.cuda.coop.block": _OF_COOP, "ingot.cuda.coop.warp": _OF_COOP}


def error(module: str, name: str) -> AttributeError:
    """What a module raises for a name that it does not have."""
    instead = _OF_MODULES.get(module, _OF_INGOT).get(name)
    own = "Ingot" if module == "ingot" else module
    hint = f"; {own} has no {name}: {instead}" if instead else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name, obj=sys.modules[module])
