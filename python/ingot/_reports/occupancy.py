"""How many blocks a processor of a GPU holds at once, from the limits of its generation."""

from __future__ import annotations

from dataclasses import dataclass

REGISTERS = 65536
"""Of a processor, which has four parts; a warp's are in one of them, in units of `_REGISTER_UNIT`."""
_PARTS = 4
_REGISTER_UNIT = 256


@dataclass(frozen=True)
class Limits:
    """Of a processor: warps, blocks, bytes of shared memory, and the bytes that each block takes besides its own."""

    warps: int
    blocks: int
    shared: int
    reserved: int
    unit: int = 128


_GENERATIONS = {
    75: Limits(32, 16, 64 << 10, 0, 256),
    80: Limits(64, 32, 164 << 10, 1024),
    86: Limits(48, 16, 100 << 10, 1024),
    87: Limits(48, 16, 164 << 10, 1024),
    89: Limits(48, 24, 100 << 10, 1024),
    90: Limits(64, 32, 228 << 10, 1024),
    100: Limits(64, 32, 228 << 10, 1024),
    103: Limits(64, 32, 228 << 10, 1024),
    110: Limits(48, 24, 228 << 10, 1024),
    120: Limits(48, 24, 100 << 10, 1024),
    121: Limits(48, 24, 100 << 10, 1024),
}


def limits_of(capability: int) -> Limits | None:
    """Of a GPU of this compute capability (times ten); None: they are not known."""
    return _GENERATIONS.get(capability)


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def resident_blocks(capability: int, threads: int, registers: int, shared: int) -> int | None:
    """Blocks of so many threads, registers a thread and bytes of shared memory (static and dynamic) that a processor
    holds at once; None: the limits of this generation are not known.
    """
    limits = limits_of(capability)
    if limits is None:
        return None
    warps = -(-threads // 32)
    by_registers = REGISTERS // _PARTS // _up(max(registers, 1) * 32, _REGISTER_UNIT) * _PARTS // warps
    each = _up(shared + limits.reserved, limits.unit)
    by_shared = limits.shared // each if each else limits.blocks
    return min(limits.blocks, limits.warps // warps, by_registers, by_shared)


def occupancy(capability: int, threads: int, blocks: int) -> float | None:
    """The share of a processor's warps that so many blocks are."""
    limits = limits_of(capability)
    return None if limits is None else blocks * -(-threads // 32) / limits.warps
