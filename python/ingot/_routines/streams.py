"""The streams of random numbers that compiled code draws from: their words, and the locks that are held meanwhile."""

from __future__ import annotations

import contextlib
import ctypes

import numpy as np

from .. import _ingot


def default_stream(seed: np.ndarray, kind: np.int64, length: np.int64) -> np.ndarray:
    """The words of the stream of `np.random.default_rng`, as the routine `settle_pcg64` takes them.

    `kind` is what the seed is: nothing, a number, or numbers.
    """
    generator = np.random.default_rng((None, int(seed[0]) if len(seed) else None, seed)[int(kind)])
    _ingot.know_bits_of(generator)
    bits = generator.bit_generator
    state = bits.state["state"]
    interface = bits.ctypes
    words = np.zeros(length, np.uint64)
    functions = (interface.next_uint64, interface.next_uint32, interface.next_double, interface.next_uint64)
    words[1:5] = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
    low = 2**64 - 1
    words[8:] = [state["state"] & low, state["state"] >> 64, state["inc"] & low, state["inc"] >> 64]
    return words


def holding(locks: list) -> contextlib.AbstractContextManager:
    """What holds locks, in the order in which the base takes them."""
    held = contextlib.ExitStack()
    for lock in sorted(locks, key=id):
        held.enter_context(lock)
    if locks:
        _ingot.holds_streams(1)
        held.callback(_ingot.holds_streams, -1)
    return held
