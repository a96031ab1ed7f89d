"""The message about a keyword that a function of Ingot's does not take: what it may have meant, or what Ingot has instead."""

from __future__ import annotations

import difflib

_ALWAYS = "{}; leave it out"
_OF_JIT = "it is a keyword of `ingot.jit`: give it there"
_ELSEWHERE = {
    # Numba's
    "nopython": _ALWAYS.format("all code is compiled, or refused"),
    "forceobj": "there is no object mode; `ingot.host` has compiled code call a function in Python",
    "looplift": "there is no object mode; `ingot.host` has compiled code call a function in Python",
    "nogil": _ALWAYS.format("calls that take long let go of the GIL by themselves"),
    "error_model": _ALWAYS.format("division by zero does what it does in Python and in NumPy"),
    "boundscheck": _ALWAYS.format("indices are always checked"),
    "inline": _ALWAYS.format("calls are inlined where that pays"),
    "forceinline": _ALWAYS.format("calls are inlined where that pays"),
    "locals": "variables have the types of their values; convert these, as in `x = np.float32(x)`",
    "debug": "INGOT_DISABLE=1 in the environment has functions run in Python, for debuggers",
    "writable_args": "functions write into their arguments as plain ones do; leave it out",
    "pipeline_class": "there is no such thing in Ingot; leave it out",
    "no_cpython_wrapper": "`python -m ingot build` makes libraries that need no Python; leave it out",
    "no_cfunc_wrapper": "`f.c_pointer` makes pointers for C; leave it out",
    "target_backend": "give `device`, or arrays on a device",
    # JAX's
    "donate_argnums": "memory is used again by itself; leave it out, or write into an argument: `x[:] = ...`",
    "donate_argnames": "memory is used again by itself; leave it out, or write into an argument: `x[:] = ...`",
    "backend": "give `device`, or arrays on a device",
    "in_shardings": "arrays are on one device each: `ingot.device_put` puts them there",
    "out_shardings": "arrays are on one device each: `ingot.device_put` puts them there",
    "keep_unused": _ALWAYS.format("arguments that are not used cost nothing"),
    "abstracted_axes": _ALWAYS.format("arrays of other lengths run the same code"),
    "compiler_options": "`fastmath`, `tier` and docs/environment.md have what can be chosen",
    "static_broadcasted_argnums": "give `in_axes` with None for arguments that all batch elements are given",
    "devices": "batch elements run on the device of the arrays; leave it out",
    "spmd_axis_name": "arrays are on one device each; leave it out",
    "check_vma": _ALWAYS.format("results of `P()` are those of the first position"),
    "check_rep": _ALWAYS.format("results of `P()` are those of the first position"),
    "axis_names": "a mesh has the names of its axes; leave it out",
    "reduce_axes": "sum by `ingot.psum` in the function; leave it out",
    "prevent_cse": _ALWAYS.format("what is to be computed again is"),
    "policy": "nothing is kept but the arguments; leave it out",
    "nondiff_argnames": "give `nondiff_argnums`",
}
"""Keywords of Numba's and JAX's, and what Ingot has instead."""
_KEYWORDS_OF_JIT = ("cache", "device", "fastmath", "parallel", "static_argnums", "static_argnames", "tier")


def hint(name: str, known: tuple[str, ...]) -> str:
    """What was meant by a keyword of a function that takes those that are known."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    if name in _KEYWORDS_OF_JIT:
        return _OF_JIT
    if close := difflib.get_close_matches(name, known, 1):
        return f"did you mean {close[0]!r}?"
    return f"it takes {', '.join(known)}" if known else "it takes none"
