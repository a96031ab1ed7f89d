"""A blur over 3 x 3 pixels in two stages: sums along rows, kept for a strip of 32 rows, each computed once in it."""

import numpy as np

import ingot


def third(x):
    return x // 3 if x.dtype.kind == "u" else x / 3


def blur(image, out):
    with ingot.loop("by", "bx"):
        rows = third(image[:, :-2] + image[:, 1:-1] + image[:, 2:])
    with ingot.loop("y", "x"):
        out[:, :] = third(rows[:-2] + rows[1:-1] + rows[2:])


plan = ingot.schedule().split("y", 32).compute_at("by", "y_inner").store_at("by", "y_outer").vectorize("bx").vectorize("x").parallel("y_outer")
fast = ingot.jit(blur, schedule=plan)

if __name__ == "__main__":
    for dtype in (np.float32, np.uint16):
        image = (np.random.default_rng(0).random((1026, 1538)) * 20000).astype(dtype)
        out, expected = np.empty((1024, 1536), dtype), np.empty((1024, 1536), dtype)
        fast(image, out)
        blur(image, expected)
        print(dtype.__name__, np.array_equal(out, expected))
