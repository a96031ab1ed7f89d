"""A convolution with weights that are a product of two: along rows first, of which a tile computes each once and keeps it."""

import numpy as np

import ingot


def convolution(image, weights, out):
    rows = np.empty((out.shape[0] + 8, out.shape[1]), np.float32)
    for ry in range(rows.shape[0]):
        for rx in range(rows.shape[1]):
            total = np.float32(0)
            for i in range(9):
                total += image[ry, rx + i] * weights[i]
            rows[ry, rx] = total
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            total = np.float32(0)
            for j in range(9):
                total += rows[y + j, x] * weights[j]
            out[y, x] = total


plan = ingot.schedule().tile(y=128, x=512).compute_at("ry", "y_inner").store_at("ry", "x_outer").unroll("i").unroll("j")
plan = plan.vectorize("rx").vectorize("x_inner").parallel("y_outer")
fast = ingot.jit(convolution, schedule=plan)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    image, weights = rng.random((72, 108), np.float32), rng.random(9, np.float32)
    out, expected = np.empty((64, 100), np.float32), np.empty((64, 100), np.float32)
    fast(image, weights, out)
    convolution(image, weights, expected)
    print(np.array_equal(out, expected))
