"""Four Jacobi sweeps in one pass through memory: each is computed for a tile of the last one, with a margin."""

import numpy as np

import ingot


def sweep(u):
    return (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25


def sweeps(u, out):
    with ingot.loop("ay", "ax"):
        a = sweep(u)
    with ingot.loop("by", "bx"):
        b = sweep(a)
    with ingot.loop("cy", "cx"):
        c = sweep(b)
    with ingot.loop("y", "x"):
        out[:, :] = sweep(c)


plan = ingot.schedule().tile(y=32, x=512).compute_at("cy", "x_outer").compute_at("by", "x_outer").compute_at("ay", "x_outer").parallel("y_outer")
fast = ingot.jit(sweeps, schedule=plan)

if __name__ == "__main__":
    u = np.random.default_rng(0).random((1032, 1544))
    out, expected = np.empty((1024, 1536)), np.empty((1024, 1536))
    fast(u, out)
    sweeps(u, expected)
    print(np.array_equal(out, expected))
