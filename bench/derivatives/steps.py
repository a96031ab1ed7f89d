"""Programs that go step by step: each step needs the one before."""

from __future__ import annotations

from typing import Any

import numpy as np

import ingot

from .program import CppCall, Program, gradient


def recurrence(x):
    y = np.empty(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = x[i] + 0.5 * y[i - 1] / (1.0 + y[i - 1] * y[i - 1])
    return np.sum(y * y)


def _jax_recurrence(jax):
    def step(y, x):
        y = x + 0.5 * y / (1.0 + y * y)
        return y, y

    def f(x):
        _, y = jax.lax.scan(step, 0.0, x)
        return jax.numpy.sum(y * y)

    return f


def _cpp_recurrence(x):
    value, slope = np.empty(1), np.empty_like(x)
    return CppCall("recurrence", (x, value, x.size), value), CppCall("recurrence_gradient", (x, slope, x.size), slope)


def _recurrence(name: str, size: int) -> Program:
    return Program(
        name=name,
        about=f"`y[i] = f(y[i - 1], x[i])` in place, {size:,} times, and the sum of squares",
        arguments=lambda small: (np.random.default_rng(1).normal(size=100 if small else size),),
        forms={"loop": recurrence},
        jax={"jax": _jax_recurrence},
        cpp={"c++": _cpp_recurrence},
        derivative=gradient(0),
    )


def heat_loop(start, k, target, steps):
    u = start.copy()
    v = start.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + k * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    return np.sum((u - target) ** 2)


def heat_slices(start, k, target, steps):
    u = start.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + k * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum((u - target) ** 2)


def _jax_heat(jax):
    def f(start, k, target, steps):
        def step(u, _):
            return u.at[1:-1].add(k * (u[:-2] - 2.0 * u[1:-1] + u[2:])), None

        u, _ = jax.lax.scan(step, start, None, length=steps)
        return jax.numpy.sum((u - target) ** 2)

    return f


def _autograd_heat(np):
    def f(start, k, target, steps):
        u = start
        for _ in range(steps):
            u = np.concatenate((u[:1], u[1:-1] + k * (u[:-2] - 2.0 * u[1:-1] + u[2:]), u[-1:]))
        return np.sum((u - target) ** 2)

    return f


def _cpp_heat(start, k, target, steps):
    value, by_start, by_k = np.empty(1), np.empty_like(start), np.empty(1)
    sizes = (start.size, steps)
    return (
        CppCall("heat", (start, k, target, value, *sizes), value),
        CppCall("heat_gradient", (start, k, target, by_start, by_k, *sizes), (by_start, by_k)),
    )


def _heat_arguments(small: bool) -> tuple:
    n, steps = (20, 5) if small else (2000, 500)
    x = np.linspace(0.0, 1.0, n)
    return np.exp(-50.0 * (x - 0.3) ** 2), 0.4, np.exp(-20.0 * (x - 0.6) ** 2), steps


def field_of(s, p):
    return np.array([p[0] * s[0] - p[1] * s[0] * s[1], p[2] * s[0] * s[1] - p[3] * s[1]])


def runge_kutta_array(s, p, h, steps):
    for _ in range(steps):
        a = field_of(s, p)
        b = field_of(s + 0.5 * h * a, p)
        c = field_of(s + 0.5 * h * b, p)
        d = field_of(s + h * c, p)
        s = s + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    return np.sum(s * s)


def rates(u, v, p):
    return p[0] * u - p[1] * u * v, p[2] * u * v - p[3] * v


def runge_kutta_numbers(s, p, h, steps):
    u = s[0]
    v = s[1]
    for _ in range(steps):
        a, e = rates(u, v, p)
        b, f = rates(u + 0.5 * h * a, v + 0.5 * h * e, p)
        c, g = rates(u + 0.5 * h * b, v + 0.5 * h * f, p)
        d, k = rates(u + h * c, v + h * g, p)
        u = u + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        v = v + h / 6.0 * (e + 2.0 * f + 2.0 * g + k)
    return u * u + v * v


def _jax_runge_kutta(jax):
    def rate(s, p):
        return jax.numpy.array([p[0] * s[0] - p[1] * s[0] * s[1], p[2] * s[0] * s[1] - p[3] * s[1]])

    def f(s, p, h, steps):
        def step(s, _):
            a = rate(s, p)
            b = rate(s + 0.5 * h * a, p)
            c = rate(s + 0.5 * h * b, p)
            d = rate(s + h * c, p)
            return s + h / 6.0 * (a + 2.0 * b + 2.0 * c + d), None

        s, _ = jax.lax.scan(step, s, None, length=steps)
        return jax.numpy.sum(s * s)

    return f


def _cpp_runge_kutta(s, p, h, steps):
    value, by_s, by_p = np.empty(1), np.empty(2), np.empty(4)
    return (
        CppCall("runge_kutta", (s, p, h, value, steps), value),
        CppCall("runge_kutta_gradient", (s, p, h, by_s, by_p, steps), (by_s, by_p)),
    )


def kalman(a, q, r, y):
    m = 0.0
    p = 1.0
    total = 0.0
    for i in range(len(y)):
        m = a * m
        p = a * a * p + q
        s = p + r
        v = y[i] - m
        total += np.log(s) + v * v / s
        gain = p / s
        m = m + gain * v
        p = p * (1.0 - gain)
    return 0.5 * total


def _jax_kalman(jax):
    def f(a, q, r, y):
        def step(state, y):
            m, p, total = state
            m = a * m
            p = a * a * p + q
            s = p + r
            v = y - m
            gain = p / s
            return (m + gain * v, p * (1.0 - gain), total + jax.numpy.log(s) + v * v / s), None

        return 0.5 * jax.lax.scan(step, (0.0, 1.0, 0.0), y)[0][2]

    return f


def _cpp_kalman(a, q, r, y):
    value, slopes = np.empty(1), np.empty(3)
    return (
        CppCall("kalman", (a, q, r, y, value, y.size), value),
        CppCall("kalman_gradient", (a, q, r, y, slopes, y.size), lambda: tuple(slopes)),
    )


def _series(small: bool) -> np.ndarray:
    g = np.random.default_rng(2)
    level = np.empty(50 if small else 100_000)
    last = 0.0
    for i in range(level.size):
        last = level[i] = 0.9 * last + g.normal(0.0, 0.5)
    return level + g.normal(0.0, 0.3, level.size)


def kepler(m, e):
    x = m
    while True:
        step = (x - e * np.sin(x) - m) / (1.0 - e * np.cos(x))
        x -= step
        if abs(step) < 1e-12:
            return x


def kepler_loop(m, e):
    total = 0.0
    for i in range(len(m)):
        x = kepler(m[i], e)
        total += x * x
    return total


def kepler_vmap(m, e):

    x = ingot.vmap(kepler, (0, None))(m, e)
    return np.sum(x * x)


def _jax_kepler(jax):
    def f(m, e):
        def step(x, _):
            return x - (x - e * jax.numpy.sin(x) - m) / (1.0 - e * jax.numpy.cos(x)), None

        x, _ = jax.lax.scan(step, m, None, length=7)
        return jax.numpy.sum(x * x)

    return f


def _jax_kepler_implicit(jax):
    np = jax.numpy

    @jax.custom_vjp
    def solve(m, e):
        def step(state):
            x, _ = state
            step = (x - e * np.sin(x) - m) / (1.0 - e * np.cos(x))
            return x - step, np.max(np.abs(step))

        return jax.lax.while_loop(lambda s: s[1] >= 1e-12, step, (m, np.inf))[0]

    def forward(m, e):
        x = solve(m, e)
        return x, (x, e)

    def backward(kept, cotangent):
        x, e = kept
        by_m = cotangent / (1.0 - e * np.cos(x))
        return by_m, np.sum(by_m * np.sin(x))

    solve.defvjp(forward, backward)
    return lambda m, e: np.sum(solve(m, e) ** 2)


def _cpp_kepler(derivative: str) -> Any:
    def calls(m, e):
        value, by_m, by_e = np.empty(1), np.empty_like(m), np.empty(1)
        return CppCall("kepler", (m, e, value, m.size), value), CppCall(derivative, (m, e, by_m, by_e, m.size), (by_m, by_e))

    return calls


STEPS = [
    _recurrence("recurrence_32k", 1 << 15),
    _recurrence("recurrence_1m", 1 << 20),
    Program(
        name="heat",
        about="the heat equation on a line of 2000 points, 500 steps, by the start and the conductivity",
        arguments=_heat_arguments,
        forms={"loop": heat_loop, "slices": heat_slices},
        jax={"jax": _jax_heat},
        autograd=_autograd_heat,
        cpp={"c++": _cpp_heat},
        derivative=gradient(0, 1),
        by=(0, 1),
    ),
    Program(
        name="runge_kutta",
        about="two species by 10,000 steps of Runge and Kutta's, by the start and four parameters",
        arguments=lambda small: (np.array([1.0, 0.5]), np.array([1.1, 0.4, 0.1, 0.4]), 0.002, 10 if small else 10_000),
        forms={"numbers": runge_kutta_numbers, "array": runge_kutta_array},
        jax={"jax": _jax_runge_kutta},
        cpp={"c++": _cpp_runge_kutta},
        derivative=gradient(0, 1),
        by=(0, 1),
    ),
    Program(
        name="newton",
        about="Kepler's equation for 100,000 numbers, a `while` loop of Newton's each, by the numbers and the eccentricity",
        arguments=lambda small: (np.random.default_rng(3).uniform(0.1, 3.0, 50 if small else 100_000), 0.6),
        forms={"loop": kepler_loop, "vmap": kepler_vmap},
        jax={"jax": _jax_kepler, "jax implicit": _jax_kepler_implicit},
        cpp={"c++": _cpp_kepler("kepler_gradient"), "c++ unrolled": _cpp_kepler("kepler_gradient_unrolled")},
        derivative=gradient(0, 1),
        by=(0, 1),
        notes={
            "jax": "seven steps for all elements: JAX has no gradients of `while_loop`",
            "jax implicit": "the derivative written by hand, by the implicit function theorem",
            "c++": "by the implicit function theorem: nothing of the steps is kept",
            "c++ unrolled": "backwards through the steps, as Ingot does it",
        },
    ),
    Program(
        name="kalman",
        about="the likelihood of a series of 100,000 under a Kalman filter, by its three parameters",
        arguments=lambda small: (0.9, 0.25, 0.09, _series(small)),
        forms={"loop": kalman},
        jax={"jax": _jax_kalman},
        cpp={"c++": _cpp_kalman},
        derivative=gradient(0, 1, 2),
        by=(0, 1, 2),
    ),
]
