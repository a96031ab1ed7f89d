"""`ingot.jit` inside of compiled functions, where everything is compiled."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import ingot._calls.jit as public
from ingot._calls.function import Function

from .. import primitives
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
