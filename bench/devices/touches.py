"""A program that launches each kind of kernel once, for tools that watch memory: `python -m bench.devices.touches DEVICE`."""

import sys

import numpy as np

import ingot
from ingot import cuda, float64

from . import bits, programs


@cuda.jit
def reversed_in_blocks(x):
    part = cuda.shared.array(64, float64)
    i = cuda.grid(1)
    part[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    x[i] = part[63 - cuda.threadIdx.x]


def main(name: str) -> int:
    device = ingot.device(name)
    x = ingot.device_put(np.random.default_rng(0).normal(size=1280), device)
    whole = ingot.device_put(np.arange(1280) % 32, device)
    for function in (bits.sums, bits.axes, bits.scans, bits.kept, bits.ordered, bits.turned, bits.stencil, bits.counts):
        ingot.jit(function)(whole if function is bits.counts else x)
    for program in {program.function: program for program in programs.PROGRAMS}.values():
        there = (ingot.device_put(a, device) if isinstance(a, np.ndarray) else a for a in program.arguments(1 << 17))
        ingot.jit(**program.options)(program.function)(*there)
    with device:
        reversed_in_blocks[20, 64](x)
    ingot.jit(programs.product)(x.reshape(40, 32), x.reshape(32, 40))
    device.synchronize()
    print("done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
