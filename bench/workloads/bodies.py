"""All pairs and networks: n-body, pairwise distances, Kuramoto."""

from __future__ import annotations

import numpy as np

from ingot import prange
from ingot.tour import sources, tasks

from ..workload import ELEMENTARY, CppCall, Workload


def _points(small, full):
    return np.random.default_rng(20).random((3, 37 if small else full))


def pairwise_array(p):
    d = p[:, :, None] - p[:, None, :]
    return np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])


def pairwise_loop(p):
    n = p.shape[1]
    out = np.empty((n, n))
    for i in prange(n):
        for j in range(n):
            x = p[0, i] - p[0, j]
            y = p[1, i] - p[1, j]
            z = p[2, i] - p[2, j]
            out[i, j] = np.sqrt(x * x + y * y + z * z)
    return out


def _pairwise_cpp(p):
    n = p.shape[1]
    out = np.empty((n, n))
    return CppCall("pairwise", (p, out, n), out)


PAIRWISE = Workload(
    "pairwise_distances",
    lambda small: (_points(small, 2000),),
    {"array": pairwise_array, "loop": pairwise_loop},
    jax=lambda jax, p: jax.numpy.sqrt(((p[:, :, None] - p[:, None, :]) ** 2).sum(0)),
    cpp=_pairwise_cpp,
    bytes=lambda p: 8 * p.shape[1] ** 2,
    flops=lambda p: 9 * p.shape[1] ** 2,
)


def nbody_array(p, mass):
    x, y, z = p[0], p[1], p[2]
    dx = x[None, :] - x[:, None]
    dy = y[None, :] - y[:, None]
    dz = z[None, :] - z[:, None]
    square = dx * dx + dy * dy + dz * dz + 1e-9
    pull = mass[None, :] / (square * np.sqrt(square))
    return np.sum(pull * dx, axis=1), np.sum(pull * dy, axis=1), np.sum(pull * dz, axis=1)


def nbody_loop(p, mass):
    n = len(mass)
    ax = np.empty(n)
    ay = np.empty(n)
    az = np.empty(n)
    for i in prange(n):
        sx = 0.0
        sy = 0.0
        sz = 0.0
        for j in range(n):
            dx = p[0, j] - p[0, i]
            dy = p[1, j] - p[1, i]
            dz = p[2, j] - p[2, i]
            square = dx * dx + dy * dy + dz * dz + 1e-9
            pull = mass[j] / (square * np.sqrt(square))
            sx += pull * dx
            sy += pull * dy
            sz += pull * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz
    return ax, ay, az


def _nbody_cpp(p, mass):
    out = np.empty_like(p)
    return CppCall("nbody", (p, mass, out, len(mass)), (out[0], out[1], out[2]))


def _nbody_jax(jax, p, mass):
    jnp = jax.numpy
    d = p[:, None, :] - p[:, :, None]
    square = (d * d).sum(0) + 1e-9
    a = ((mass / (square * jnp.sqrt(square))) * d).sum(2)
    return a[0], a[1], a[2]


NBODY = Workload(
    "nbody",
    lambda small: (_points(small, 2000), np.random.default_rng(21).random(37 if small else 2000)),
    {"array": nbody_array, "loop": nbody_loop},
    jax=_nbody_jax,
    cpp=_nbody_cpp,
    bytes=lambda p, mass: 2 * p.nbytes + mass.nbytes,
    flops=lambda p, mass: 19 * len(mass) ** 2,
    bound=1e-10,
)


def kuramoto_all_array(theta, omega, coupling, steps):
    for _ in range(steps):
        pull = np.sum(np.sin(theta[None, :] - theta[:, None]), axis=1)
        theta = theta + 0.01 * (omega + coupling / len(omega) * pull)
    return theta


def kuramoto_all_loop(theta, omega, coupling, steps):
    n = len(omega)
    theta = theta.copy()
    after = np.empty_like(theta)
    for _ in range(steps):
        for i in prange(n):
            pull = 0.0
            for j in range(n):
                pull += np.sin(theta[j] - theta[i])
            after[i] = theta[i] + 0.01 * (omega[i] + coupling / n * pull)
        theta, after = after, theta
    return theta


def _kuramoto_all_arguments(small):
    g = np.random.default_rng(20)
    n = 19 if small else 256
    return g.random(n) * 6.28, g.random(n), 0.5, (3 if small else 200)


def _kuramoto_all_jax(jax, theta, omega, coupling, steps):
    def step(_, theta):
        pull = jax.numpy.sin(theta[None, :] - theta[:, None]).sum(1)
        return theta + 0.01 * (omega + coupling / len(omega) * pull)

    return jax.lax.fori_loop(0, steps, step, theta)


def _kuramoto_all_cpp(theta, omega, coupling, steps):
    two = np.empty((2, len(theta)))
    return CppCall(
        "kuramoto_all", (theta, omega, coupling, two, len(theta), steps), lambda: two[steps % 2]
    )


KURAMOTO_ALL = Workload(
    "kuramoto_all_to_all",
    _kuramoto_all_arguments,
    {"array": kuramoto_all_array, "loop": kuramoto_all_loop},
    jax=_kuramoto_all_jax,
    cpp=_kuramoto_all_cpp,
    flops=lambda theta, omega, coupling, steps: (ELEMENTARY + 2) * theta.size**2 * steps,
    bound=1e-9,
)

def _kuramoto_arguments(small):
    """A network in which nothing arrives without delay."""
    g = np.random.default_rng(20)
    nodes, steps, ntime = (19, 3, 8) if small else (256, 200, 64)
    nnz = nodes * tasks.LINKS
    row = np.arange(0, nnz + 1, tasks.LINKS)
    state = g.random(nodes) * 6.28
    inputs, drift, diffs = np.zeros((3, nodes))
    omega = g.random(nodes) * 0.1
    obsrv = g.random(ntime * nodes * 2) * 6.28
    delays, col, weights = g.integers(1, ntime, nnz), g.integers(0, nodes, nnz), g.random(nnz)
    return steps, nodes, ntime, state, inputs, omega, drift, diffs, obsrv, nnz, delays, row, col, weights, np.array([0.05]), 0


KURAMOTO = Workload(
    "kuramoto_network",
    _kuramoto_arguments,
    {"original": sources.kuramoto_original, "refactored": sources.kuramoto_refactored},
    bound=1e-9,
    **{**vars(tasks.KURAMOTO), "numba": sources.kuramoto_refactored},
)

WORKLOADS = [PAIRWISE, NBODY, KURAMOTO_ALL, KURAMOTO]
