"""`ingot.jit` and `ingot.stencil` inside of compiled functions, where everything is compiled."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

import ingot._calls.jit as public
import ingot._transforms.stencils as transforms
from ingot._calls.function import Function

from .. import primitives, stencils
from ..registry import implements


@implements(public.jit)
def jit(
    function: Any = None,
    /,
    signatures: Any = None,
    *,
    fastmath: Any = False,
    static_argnums: Any = None,
    static_argnames: Any = None,
    device: Any = None,
    cache: Any = True,
    tier: Any = "auto",
    nopython: Any = True,
    parallel: Any = True,
    nogil: Any = False,
    boundscheck: Any = None,
    error_model: Any = "python",
    inline: Any = "never",
    forceinline: Any = False,
    locals: Any = None,
) -> Any:
    """What `fastmath` allows need not be done: arithmetic is as in the function around."""
    if signatures is not None or isinstance(function, (str, tuple, list)):
        primitives.refuse("`ingot.jit` with signatures in compiled code", "decorate the function outside, or give it no signatures")
    if static_argnums is not None or static_argnames is not None or device is not None:
        primitives.refuse("`ingot.jit` with static arguments or `device` in compiled code", "decorate the function outside, and call it here")

    def decorate(given: Callable[..., Any]) -> Callable[..., Any]:
        if not isinstance(given, (types.FunctionType, Function)):
            primitives.refuse("`ingot.jit` of what is no function, in compiled code,", "call it as it is")
        return given

    return decorate if function is None else decorate(function)


@implements(transforms.stencil)
def stencil(func_or_mode: Any = "constant", cval: Any = None, neighborhood: Any = None, standard_indexing: Any = ()) -> Any:
    """Of a kernel whose arrays all have relative indices."""
    if neighborhood is None or len(standard_indexing) > 0:
        primitives.refuse(
            "`ingot.stencil` without `neighborhood`, or with `standard_indexing`, in compiled code", "decorate the function outside, and call it here"
        )
    if cval is not None and not isinstance(cval, (bool, int, float, complex, np.number, np.bool)):
        raise ValueError("cval is a number")
    bounds = stencils.bounds_of(neighborhood)
    if isinstance(func_or_mode, str):
        if func_or_mode != "constant":
            raise ValueError("the mode of a stencil is 'constant'")
        return lambda kernel: stencils.made_in_place(kernel, bounds, cval)
    return stencils.made_in_place(func_or_mode, bounds, cval)
