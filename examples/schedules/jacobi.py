"""Eight Jacobi sweeps in one pass through memory: each is computed for a tile of the last one, with a margin."""

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
    with ingot.loop("dy", "dx"):
        d = sweep(c)
    with ingot.loop("ey", "ex"):
        e = sweep(d)
    with ingot.loop("fy", "fx"):
        f = sweep(e)
    with ingot.loop("gy", "gx"):
        g = sweep(f)
    with ingot.loop("y", "x"):
        out[:, :] = sweep(g)


plan = ingot.schedule().tile(y=64, x=256)
for name in "gfedcba":
    plan = plan.compute_at(name + "y", "x_outer")
fast = ingot.jit(sweeps, schedule=plan.parallel("y_outer"))

if __name__ == "__main__":
    u = np.random.default_rng(0).random((1040, 1552))
    out, expected = np.empty((1024, 1536)), np.empty((1024, 1536))
    fast(u, out)
    sweeps(u, expected)
    print(np.array_equal(out, expected))
