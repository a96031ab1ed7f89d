"""Random numbers in kernels: xoroshiro128+, with the numbers of `numba.cuda.random`.

    states = create_xoroshiro128p_states(blocks * threads, seed=1)

    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_uniform_float32(states, i)

Generators are a uint64 array of shape (n, 2), in memory what Numba's array of records is; `states[i]` is the state of
generator i, which a thread has for itself. The functions may be called in kernels, in compiled functions and, with
arrays of NumPy's, in Python.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .._arrays.array import Array
from .._calls.jit import jit
from ._memory import device_array

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_JUMPS = (np.uint64(0xBEAC0467EBA5FACB), np.uint64(0xD86B048B86AA9922))
_UNIT = np.float64(2.0**-53)
_TWO_PI_32 = np.float32(2 * math.pi)
_TWO_PI_64 = np.float64(2 * math.pi)


@jit
def init_xoroshiro128p_state(states: Any, index: Any, seed: Any) -> None:
    """Set a generator to what SplitMix64 makes of a seed.

    Parameters
    ----------
    states : array of uint64, shape (n, 2)
        The generators.
    index : int
        Which one.
    seed : int
        64 bits.
    """
    z = np.asarray(seed).astype(np.uint64)[()] + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX_A
    z = (z ^ (z >> np.uint64(27))) * _MIX_B
    z = z ^ (z >> np.uint64(31))
    states[index, 0] = z
    states[index, 1] = z


def _rotated(x: Any, k: int) -> Any:
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@jit
def xoroshiro128p_next(states: Any, index: Any) -> Any:
    """Return the next number of a generator.

    Parameters
    ----------
    states : array of uint64, shape (n, 2)
        The generators.
    index : int
        Which one.

    Returns
    -------
    uint64
        64 random bits.
    """
    s0 = states[index, 0]
    s1 = states[index, 1]
    result = s0 + s1
    s1 = s1 ^ s0
    states[index, 0] = _rotated(s0, 55) ^ s1 ^ (s1 << np.uint64(14))
    states[index, 1] = _rotated(s1, 36)
    return result


@jit
def xoroshiro128p_jump(states: Any, index: Any) -> None:
    """Let a generator go on by 2**64 numbers.

    Parameters
    ----------
    states : array of uint64, shape (n, 2)
        The generators.
    index : int
        Which one.
    """
    s0 = np.uint64(0)
    s1 = np.uint64(0)
    for jump in _JUMPS:
        for b in range(64):
            if jump >> np.uint64(b) & np.uint64(1):
                s0 = s0 ^ states[index, 0]
                s1 = s1 ^ states[index, 1]
            xoroshiro128p_next(states, index)
    states[index, 0] = s0
    states[index, 1] = s1


@jit
def xoroshiro128p_uniform_float64(states: Any, index: Any) -> Any:
    """Return the next uniform float64 in [0, 1).

    Parameters
    ----------
    states, index
        As of `xoroshiro128p_next`.

    Returns
    -------
    float64
        Made of one number.
    """
    return (xoroshiro128p_next(states, index) >> np.uint64(11)) * _UNIT


@jit
def xoroshiro128p_uniform_float32(states: Any, index: Any) -> Any:
    """Return the next uniform float32 in [0, 1).

    Parameters
    ----------
    states, index
        As of `xoroshiro128p_next`.

    Returns
    -------
    float32
        Made of one number. It may be rounded to 1, as Numba's may.
    """
    return np.float32(xoroshiro128p_uniform_float64(states, index))


@jit
def xoroshiro128p_normal_float32(states: Any, index: Any) -> Any:
    """Return the next float32 of the normal distribution.

    Parameters
    ----------
    states, index
        As of `xoroshiro128p_next`.

    Returns
    -------
    float32
        Made of two numbers, by the Box-Muller transform.
    """
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return np.sqrt(np.float32(-2) * np.log(u1)) * np.cos(_TWO_PI_32 * u2)


@jit
def xoroshiro128p_normal_float64(states: Any, index: Any) -> Any:
    """Return the next float64 of the normal distribution.

    Parameters
    ----------
    states, index
        As of `xoroshiro128p_next`.

    Returns
    -------
    float64
        By the Box-Muller transform of two uniform float32, as Numba's is.
    """
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return np.sqrt(np.float64(-2) * np.float64(np.log(u1))) * np.cos(_TWO_PI_64 * np.float64(u2))


@jit
def _fill(states: Any, seed: Any, start: int) -> None:
    init_xoroshiro128p_state(states, 0, seed)
    for _ in range(start):
        xoroshiro128p_jump(states, 0)
    for i in range(1, len(states)):
        states[i] = states[i - 1]
        xoroshiro128p_jump(states, i)


def init_xoroshiro128p_states(states: Any, seed: int, subsequence_start: int = 0, stream: Any = 0) -> None:
    """Set generators, so that each begins 2**64 numbers after the one before.

    Parameters
    ----------
    states : array of uint64, shape (n, 2)
        What is written.
    seed : int
        The seed.
    subsequence_start : int, default 0
        The first generator begins so many times 2**64 numbers after the seed's own begin.
    stream : Stream, optional
        Where they are set.
    """
    shape, dtype = states.shape, states.dtype
    if len(shape) != 2 or shape[1] != 2 or dtype != np.uint64:
        raise ValueError(f"generators are an array of uint64 of shape (n, 2), not of {dtype} of shape {shape}")
    start = operator.index(subsequence_start)
    if start < 0:
        raise ValueError(f"a subsequence has a number from 0 on, not {start}")
    made = np.empty(shape, np.uint64)
    if len(made):
        _fill(made, np.uint64(operator.index(seed) % 2**64), start)
    if isinstance(states, Array):
        states.copy_to_device(made, stream)
    else:
        states[...] = made


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> Array:
    """Make generators for kernels, on the current device.

    Parameters
    ----------
    n : int
        How many, such as one for each thread.
    seed : int
        The seed.
    subsequence_start : int, default 0
        As of `init_xoroshiro128p_states`.
    stream : Stream, optional
        Where they are made.

    Returns
    -------
    Array of uint64, shape (n, 2)
        The states of the generators.

    Notes
    -----
    D. Blackman and S. Vigna's xoroshiro128+, with the seeds and numbers of Numba's `cuda.random`.

    Examples
    --------
    >>> from ingot import cuda
    >>> from ingot.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float64
    >>> @cuda.jit
    ... def draw(states, out):
    ...     i = cuda.grid(1)
    ...     out[i] = xoroshiro128p_uniform_float64(states, i)
    >>> out = np.zeros(2)
    >>> with ingot.device("emulated"):
    ...     draw[1, 2](create_xoroshiro128p_states(2, seed=1), out)
    >>> bool((out < 1).all() and out[0] != out[1])
    True
    """
    states = device_array((n, 2), np.uint64, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states


__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_state",
    "init_xoroshiro128p_states",
    "xoroshiro128p_jump",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]


def __dir__() -> list[str]:
    return sorted(__all__)
