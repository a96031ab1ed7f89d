"""A matrix product at the speed of a BLAS, by a schedule: blocks that fit the caches, a panel without gaps, 5 x 32 sums in registers."""

import numpy as np

import ingot


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


plan = (
    ingot.schedule()
    .split("k", 512, "block", "depth")
    .split("i", 200, "rows", "row").split("row", 5, "strip", "sum")
    .split("j", 32, "panel", "lane")
    .reorder("block", "rows", "panel", "strip", "lane", "depth", "sum")
    .cache("b", "panel")
    .vectorize("lane", 32).unroll("sum")
)  # fmt: skip
fast = ingot.jit(product, schedule=plan, fastmath="contract")

if __name__ == "__main__":
    a, b = np.random.default_rng(0).random((2, 768, 768))
    fast(a, b, c := np.zeros((768, 768)))
    print(abs(c - a @ b).max())
