"""Partial differential equations on grids."""

import numpy as np


def solve_tridiagonal(lower, diagonal, upper, right):
    """Thomas' algorithm for many right sides at once, one in each column."""
    n = len(diagonal)
    c = np.zeros(n)
    d = np.zeros_like(right)
    c[0] = upper[0] / diagonal[0]
    d[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        d[i] = (right[i] - lower[i] * d[i - 1]) / pivot
    x = np.zeros_like(right)
    x[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def heat_by_directions(u, alpha, dx, dt, steps):
    """The heat equation in a square, by the method of alternating directions (Peaceman, Rachford)."""
    u = u.copy()
    n = u.shape[0]
    r = alpha * dt / (2 * dx**2)
    lower = np.full(n, -r)
    upper = np.full(n, -r)
    diagonal = np.full(n, 1 + 2 * r)
    lower[0] = upper[0] = lower[-1] = upper[-1] = 0.0
    diagonal[0] = diagonal[-1] = 1.0
    for _ in range(steps):
        right = u.copy()
        right[1:-1, 1:-1] = u[1:-1, 1:-1] + r * (u[1:-1, 2:] - 2 * u[1:-1, 1:-1] + u[1:-1, :-2])
        half = solve_tridiagonal(lower, diagonal, upper, right)
        right = half.copy()
        right[1:-1, 1:-1] = half[1:-1, 1:-1] + r * (half[2:, 1:-1] - 2 * half[1:-1, 1:-1] + half[:-2, 1:-1])
        u = solve_tridiagonal(lower, diagonal, upper, right.T).T
    return u


def advect(q, u, v, dx, dt, steps):
    """A tracer carried by a wind, upwind, on a torus; its mass at each step."""
    q = q.copy()
    mass = np.empty(steps + 1)
    mass[0] = q.sum() * dx * dx
    u_plus, u_minus = np.maximum(u, 0), np.minimum(u, 0)
    v_plus, v_minus = np.maximum(v, 0), np.minimum(v, 0)
    for step in range(1, steps + 1):
        east = u_plus * q + u_minus * np.roll(q, -1, axis=1)
        north = v_plus * q + v_minus * np.roll(q, -1, axis=0)
        q -= dt / dx * (east - np.roll(east, 1, axis=1) + north - np.roll(north, 1, axis=0))
        mass[step] = q.sum() * dx * dx
    return q, mass


def flux(h, hu, hv, g=9.81):
    u = hu / h
    v = hv / h
    pressure = 0.5 * g * h**2
    return np.stack([hu, hu * u + pressure, hu * v]), np.stack([hv, hv * u, hv * v + pressure])


def shallow_water(height, dx, end):
    """The shallow water equations by Lax and Friedrichs with reflecting walls, in steps that the waves allow."""
    state = np.zeros((3,) + height.shape)
    state[0] = height
    t = 0.0
    steps = 0
    while t < end:
        h, hu, hv = state
        speed = np.sqrt(9.81 * h) + np.maximum(np.abs(hu), np.abs(hv)) / h
        dt = min(0.4 * dx / speed.max(), end - t)
        p = np.pad(state, ((0, 0), (1, 1), (1, 1)), mode="edge")
        p[1, :, 0] *= -1
        p[1, :, -1] *= -1
        p[2, 0, :] *= -1
        p[2, -1, :] *= -1
        f, g = flux(p[0], p[1], p[2])
        mean = 0.25 * (p[:, 1:-1, 2:] + p[:, 1:-1, :-2] + p[:, 2:, 1:-1] + p[:, :-2, 1:-1])
        state = mean - dt / (2 * dx) * (f[:, 1:-1, 2:] - f[:, 1:-1, :-2] + g[:, 2:, 1:-1] - g[:, :-2, 1:-1])
        t += dt
        steps += 1
    return state, steps


def wave(n, steps, courant=0.5):
    """A wave in a square with a source in it and a sponge at its walls; the signal at a receiver."""
    x = np.linspace(-1, 1, n)
    xx, yy = np.meshgrid(x, x)
    speed = np.where(yy > 0.2 * np.sin(3 * xx), 1.0, 0.6)
    edge = np.clip(np.maximum(np.abs(xx), np.abs(yy)) - 0.8, 0, None)
    damping = np.exp(-(4 * edge**2))
    before = np.zeros((n, n))
    now = np.zeros((n, n))
    trace = []
    source = (n // 2, n // 3)
    for step in range(steps):
        laplacian = np.zeros_like(now)
        laplacian[1:-1, 1:-1] = (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        )
        after = 2 * now - before + (courant * speed) ** 2 * laplacian
        t = (step - 20) / 6
        after[source] += (1 - 2 * t**2) * np.exp(-(t**2))
        before, now = now * damping, after * damping
        trace.append(now[n // 4, 3 * n // 4])
    return now, np.array(trace)


def spectral_poisson(density, length):
    """The potential and field of a density on a torus, by Fourier's transform."""
    ny, nx = density.shape
    kx = 2 * np.pi * np.fft.fftfreq(nx, d=length / nx)
    ky = 2 * np.pi * np.fft.fftfreq(ny, d=length / ny)
    k2 = kx[None, :] ** 2 + ky[:, None] ** 2
    k2[0, 0] = 1.0
    transformed = np.fft.fft2(density - density.mean())
    transformed /= -k2
    transformed[0, 0] = 0
    potential = np.fft.ifft2(transformed).real
    ex = -np.fft.ifft2(1j * kx[None, :] * transformed).real
    ey = -np.fft.ifft2(1j * ky[:, None] * transformed).real
    energy = 0.5 * np.sum(ex**2 + ey**2) * (length / nx) * (length / ny)
    return potential, ex, ey, energy
