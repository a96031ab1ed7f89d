"""A convolution of an image with 5 x 5 weights: four rows of outputs stay in registers, and share what they load."""

import numpy as np

import ingot


def convolution(image, weights, out):
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            total = np.float32(0)
            for j in range(5):
                for i in range(5):
                    total += image[y + j, x + i] * weights[j, i]
            out[y, x] = total


plan = ingot.schedule().unroll("j").unroll("i").unroll("y", 4).vectorize("x").parallel("y_outer")
fast = ingot.jit(convolution, schedule=plan)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    image, weights = rng.random((68, 104), np.float32), rng.random((5, 5), np.float32)
    out, expected = np.empty((64, 100), np.float32), np.empty((64, 100), np.float32)
    fast(image, weights, out)
    convolution(image, weights, expected)
    print(np.array_equal(out, expected))
