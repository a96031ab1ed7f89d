"""Grids and matrices: Jacobi, Mandelbrot, matrix products."""

from __future__ import annotations

import numpy as np

from ingot import prange
from ingot.tour import sources, tasks

from ..workload import CppCall, Workload


def _jacobi_arguments(small):
    u = np.zeros((20, 33) if small else (2048, 2048))
    u[0, :] = 1.0
    u[:, -1] = 2.0
    return u, (3 if small else 20)


def jacobi_slices(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def jacobi_loops(u, steps):
    rows, columns = u.shape
    u = u.copy()
    v = u.copy()
    for _ in range(steps):
        for i in prange(1, rows - 1):
            for j in range(1, columns - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u, v = v, u
    return u


def _jacobi_jax(jax, u, steps):
    def step(_, u):
        return u.at[1:-1, 1:-1].set(0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]))

    return jax.lax.fori_loop(0, steps, step, u)


def _jacobi_cpp(u, steps):
    two = np.empty((2, *u.shape))
    return CppCall("jacobi", (u, two, *u.shape, steps), lambda: two[steps % 2])


JACOBI = Workload(
    "jacobi",
    _jacobi_arguments,
    {"slices": jacobi_slices, "loops": jacobi_loops},
    numpy=jacobi_slices,
    numba=jacobi_loops,
    jax=_jacobi_jax,
    cpp=_jacobi_cpp,
    bytes=lambda u, steps: 2 * u.nbytes * steps,
    flops=lambda u, steps: 4 * u.size * steps,
)


def mandelbrot_loop(real, imaginary, limit):
    out = np.empty((len(imaginary), len(real)), np.int64)
    for i in prange(len(imaginary)):
        for j in range(len(real)):
            cx = real[j]
            cy = imaginary[i]
            x = 0.0
            y = 0.0
            count = 0
            while count < limit and x * x + y * y < 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                count += 1
            out[i, j] = count
    return out


def _mandelbrot_numpy(real, imaginary, limit):
    cx, cy = (g.ravel() for g in np.meshgrid(real, imaginary))
    out, x, y, there = np.zeros(cx.size, np.int64), np.zeros(cx.size), np.zeros(cx.size), np.arange(cx.size)
    for _ in range(limit):
        keep = x * x + y * y < 4.0
        if not keep.all():
            there, x, y, cx, cy = there[keep], x[keep], y[keep], cx[keep], cy[keep]
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        out[there] += 1
    return out.reshape(len(imaginary), len(real))


def _mandelbrot_jax(jax, real, imaginary, limit):
    jnp = jax.numpy
    shape = (len(imaginary), len(real))
    cx, cy = jnp.broadcast_to(real, shape), jnp.broadcast_to(imaginary[:, None], shape)

    def step(state):
        iteration, x, y, out, inside = state
        out = out + inside
        x, y = jnp.where(inside, x * x - y * y + cx, x), jnp.where(inside, 2.0 * x * y + cy, y)
        return iteration + 1, x, y, out, inside & (x * x + y * y < 4.0)

    zero = jnp.zeros(shape)
    start = (0, zero, zero, jnp.zeros(shape, jnp.int64), jnp.ones(shape, bool))
    return jax.lax.while_loop(lambda s: (s[0] < limit) & s[4].any(), step, start)[3]


def _mandelbrot_arguments(small):
    n = 24 if small else 1024
    return np.linspace(-2.0, 0.5, n + 1), np.linspace(-1.25, 1.25, n), (20 if small else 200)


def _mandelbrot_cpp(real, imaginary, limit):
    out = np.empty((len(imaginary), len(real)), np.int64)
    return CppCall("mandelbrot", (real, imaginary, out, len(imaginary), len(real), limit), out)


MANDELBROT = Workload(
    "mandelbrot",
    _mandelbrot_arguments,
    {"loop": mandelbrot_loop},
    numpy=_mandelbrot_numpy,
    jax=_mandelbrot_jax,
    cpp=_mandelbrot_cpp,
)


def _squares(small, full, dtype=np.float64):
    n = 17 if small else full
    return tuple(np.random.default_rng(20).random((2, n, n)).astype(dtype))


MATMUL = Workload("matmul", lambda small: _squares(small, 512), {"array": sources.matmul}, **vars(tasks.MATMUL))


def matmul_naive(a, b):
    n, m = a.shape
    k = b.shape[1]
    out = np.zeros((n, k))
    for i in prange(n):
        for j in range(k):
            total = 0.0
            for t in range(m):
                total += a[i, t] * b[t, j]
            out[i, j] = total
    return out


MATMUL_NAIVE = Workload("matmul_naive", lambda small: _squares(small, 512), {"loop": matmul_naive}, **vars(tasks.MATMUL))
MATMUL_LOOPS = Workload(
    "matmul_loops_float32",
    lambda small: (*_squares(small, 256, np.float32), np.zeros((17, 17) if small else (256, 256), np.float32)),
    {"loop": sources.square_matrix_mult},
    bound=1e-5,
    **vars(tasks.MATMUL_LOOPS),
)


def _double_loop_arguments(small):
    g = np.random.default_rng(20)
    rows, columns, depth = (5, 7, 41) if small else (200, 300, 40)
    return np.zeros((rows, columns)), g.random((rows, columns, depth)), g.random(depth)


DOUBLE_LOOP = Workload(
    "rows_times_vector",
    _double_loop_arguments,
    {"loop": sources.jax_intro_double_loop},
    **vars(tasks.DOUBLE_LOOP),
)

WORKLOADS = [JACOBI, MANDELBROT, MATMUL, MATMUL_NAIVE, MATMUL_LOOPS, DOUBLE_LOOP]
