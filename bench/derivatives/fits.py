"""Programs that fit models to data, as ADBench has them, and batches of small problems."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import CppCall, Program, gradient


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm_array(w, u, b, x, t):
    n = len(b) // 4
    h = np.zeros(n)
    c = np.zeros(n)
    loss = 0.0
    for k in range(len(x)):
        z = w @ x[k] + u @ h + b
        c = sigmoid(z[:n]) * c + sigmoid(z[n : 2 * n]) * np.tanh(z[2 * n : 3 * n])
        h = sigmoid(z[3 * n :]) * np.tanh(c)
        loss += np.sum((h - t[k]) ** 2)
    return loss / t.size


def lstm_loop(w, u, b, x, t):
    n = len(b) // 4
    h = np.zeros(n)
    c = np.zeros(n)
    z = np.empty(4 * n)
    loss = 0.0
    for k in range(len(x)):
        for i in range(4 * n):
            s = b[i]
            for j in range(x.shape[1]):
                s += w[i, j] * x[k, j]
            for j in range(n):
                s += u[i, j] * h[j]
            z[i] = s
        for i in range(n):
            c[i] = sigmoid(z[i]) * c[i] + sigmoid(z[n + i]) * np.tanh(z[2 * n + i])
            h[i] = sigmoid(z[3 * n + i]) * np.tanh(c[i])
            loss += (h[i] - t[k, i]) ** 2
    return loss / t.size


def _jax_lstm(jax):
    np = jax.numpy

    def f(w, u, b, x, t):
        n = len(b) // 4

        def step(state, row):
            h, c = state
            now, wanted = row
            z = w @ now + u @ h + b
            c = jax.nn.sigmoid(z[:n]) * c + jax.nn.sigmoid(z[n : 2 * n]) * np.tanh(z[2 * n : 3 * n])
            h = jax.nn.sigmoid(z[3 * n :]) * np.tanh(c)
            return (h, c), np.sum((h - wanted) ** 2)

        _, losses = jax.lax.scan(step, (np.zeros(n), np.zeros(n)), (x, t))
        return np.sum(losses) / t.size

    return f


def _autograd_lstm(np):
    def f(w, u, b, x, t):
        n = len(b) // 4
        h = c = np.zeros(n)
        loss = 0.0
        for k in range(len(x)):
            z = np.dot(w, x[k]) + np.dot(u, h) + b
            c = sigmoid_of(np, z[:n]) * c + sigmoid_of(np, z[n : 2 * n]) * np.tanh(z[2 * n : 3 * n])
            h = sigmoid_of(np, z[3 * n :]) * np.tanh(c)
            loss = loss + np.sum((h - t[k]) ** 2)
        return loss / t.size

    return f


def sigmoid_of(np, x):
    return 1.0 / (1.0 + np.exp(-x))


def _cpp_lstm(w, u, b, x, t):
    value, slopes = np.empty(1), (np.empty_like(w), np.empty_like(u), np.empty_like(b))
    sizes = (*x.shape, t.shape[1])
    return (
        CppCall("lstm", (w, u, b, x, t, value, *sizes), value),
        CppCall("lstm_gradient", (w, u, b, x, t, *slopes, *sizes), slopes),
    )


def _series(small: bool) -> tuple:
    g = np.random.default_rng(21)
    steps, inputs, n = (4, 3, 5) if small else (100, 16, 32)
    w, u = g.normal(size=(4 * n, inputs)) / inputs**0.5, g.normal(size=(4 * n, n)) / n**0.5
    return w, u, 0.1 * g.normal(size=4 * n), g.normal(size=(steps, inputs)), g.uniform(-1.0, 1.0, size=(steps, n))


def mixture_loop(alphas, means, logs, lower, x):
    components, d = means.shape
    terms = np.empty(components)
    total = 0.0
    for i in range(len(x)):
        for k in range(components):
            square = 0.0
            scale = 0.0
            for r in range(d):
                y = np.exp(logs[k, r]) * (x[i, r] - means[k, r])
                for c in range(r):
                    y += lower[k, r, c] * (x[i, c] - means[k, c])
                square += y * y
                scale += logs[k, r]
            terms[k] = alphas[k] + scale - 0.5 * square
        most = terms[0]
        for k in range(1, components):
            most = max(most, terms[k])
        s = 0.0
        for k in range(components):
            s += np.exp(terms[k] - most)
        total += np.log(s) + most
    s = 0.0
    for k in range(components):
        s += np.exp(alphas[k])
    return total - len(x) * np.log(s)


def mixture_array(alphas, means, logs, lower, x):
    q = np.tril(lower, -1) + np.exp(logs)[:, :, None] * np.eye(means.shape[1])
    centred = x[:, None, :] - means
    y = np.sum(q * centred[:, :, None, :], axis=-1)
    terms = alphas + np.sum(logs, axis=1) - 0.5 * np.sum(y * y, axis=-1)
    most = np.max(terms, axis=1)
    inner = np.log(np.sum(np.exp(terms - most[:, None]), axis=1)) + most
    return np.sum(inner) - len(x) * np.log(np.sum(np.exp(alphas)))


def _mixture(np):
    def f(alphas, means, logs, lower, x):
        q = np.tril(lower, -1) + np.exp(logs)[:, :, None] * np.eye(means.shape[1])
        centred = x[:, None, :] - means
        y = np.sum(q * centred[:, :, None, :], axis=-1)
        terms = alphas + np.sum(logs, axis=1) - 0.5 * np.sum(y * y, axis=-1)
        most = np.max(terms, axis=1)
        inner = np.log(np.sum(np.exp(terms - most[:, None]), axis=1)) + most
        return np.sum(inner) - len(x) * np.log(np.sum(np.exp(alphas)))

    return f


def _cpp_mixture(alphas, means, logs, lower, x):
    value, slopes = np.empty(1), tuple(np.empty_like(a) for a in (alphas, means, logs, lower))
    sizes = (len(x), *means.shape)
    return (
        CppCall("mixture", (alphas, means, logs, lower, x, value, *sizes), value),
        CppCall("mixture_gradient", (alphas, means, logs, lower, x, *slopes, *sizes), slopes),
    )


def _points(small: bool) -> tuple:
    g = np.random.default_rng(22)
    n, components, d = (8, 3, 4) if small else (1000, 10, 10)
    lower = g.normal(size=(components, d, d)) / d
    return g.normal(size=components), g.normal(size=(components, d)), 0.3 * g.normal(size=(components, d)), lower, g.normal(size=(n, d))


def seen(camera, x, y, z):
    """Where a camera - rotation, place, focal length, centre, two of distortion - sees a point."""
    a = camera[0]
    b = camera[1]
    c = camera[2]
    x = x - camera[3]
    y = y - camera[4]
    z = z - camera[5]
    square = a * a + b * b + c * c
    angle = np.sqrt(square)
    cosine = np.cos(angle)
    sine = np.sin(angle) / angle
    along = (a * x + b * y + c * z) * (1.0 - cosine) / square
    u = x * cosine + (b * z - c * y) * sine + a * along
    v = y * cosine + (c * x - a * z) * sine + b * along
    w = z * cosine + (a * y - b * x) * sine + c * along
    u = u / w
    v = v / w
    r = u * u + v * v
    scale = camera[6] * (1.0 + camera[9] * r + camera[10] * r * r)
    return u * scale + camera[7], v * scale + camera[8]


def bundle_loop(cameras, points, weights, pairs, features):
    total = 0.0
    for i in range(len(pairs)):
        k = pairs[i, 0]
        p = pairs[i, 1]
        u, v = seen(cameras[k], points[p, 0], points[p, 1], points[p, 2])
        s = weights[i] * (u - features[i, 0])
        t = weights[i] * (v - features[i, 1])
        total += s * s + t * t + (1.0 - weights[i] * weights[i]) ** 2
    return 0.5 * total


def bundle_array(cameras, points, weights, pairs, features):
    p = points[pairs[:, 1]]
    u, v = seen(cameras[pairs[:, 0]].T, p[:, 0], p[:, 1], p[:, 2])
    s = weights * (u - features[:, 0])
    t = weights * (v - features[:, 1])
    return 0.5 * np.sum(s * s + t * t + (1.0 - weights * weights) ** 2)


def _jax_bundle(jax):
    np = jax.numpy

    def seen(camera, x, y, z):
        r = camera[:3]
        x = np.stack((x, y, z)) - camera[3:6]
        square = np.sum(r * r, axis=0)
        angle = np.sqrt(square)
        cosine = np.cos(angle)
        along = np.sum(r * x, axis=0) * (1.0 - cosine) / square
        x = x * cosine + np.cross(r, x, axis=0) * np.sin(angle) / angle + r * along
        x = x[:2] / x[2]
        s = np.sum(x * x, axis=0)
        return x * camera[6] * (1.0 + camera[9] * s + camera[10] * s * s) + camera[7:9]

    def f(cameras, points, weights, pairs, features):
        p = points[pairs[:, 1]]
        at = seen(cameras[pairs[:, 0]].T, p[:, 0], p[:, 1], p[:, 2])
        e = weights * (at - features.T)
        return 0.5 * (np.sum(e * e) + np.sum((1.0 - weights * weights) ** 2))

    return f


def _cpp_bundle(cameras, points, weights, pairs, features):
    value, slopes = np.empty(1), tuple(np.empty_like(a) for a in (cameras, points, weights))
    given = (cameras, points, weights, pairs, features)
    sizes = (len(pairs), len(cameras), len(points))
    return CppCall("bundle", (*given, value, len(pairs)), value), CppCall("bundle_gradient", (*given, *slopes, *sizes), slopes)


def _views(small: bool) -> tuple:
    g = np.random.default_rng(23)
    cameras, points, n = (3, 7, 12) if small else (50, 2000, 20_000)
    camera = np.concatenate(
        (
            g.uniform(0.1, 0.4, size=(cameras, 3)),
            g.normal(size=(cameras, 2)),
            g.uniform(-9.0, -7.0, size=(cameras, 1)),
            g.uniform(0.8, 1.2, size=(cameras, 1)),
            0.1 * g.normal(size=(cameras, 2)),
            0.01 * g.normal(size=(cameras, 2)),
        ),
        axis=1,
    )
    pairs = np.stack((g.integers(0, cameras, n), g.integers(0, points, n)), axis=1)
    return camera, g.normal(size=(points, 3)), g.uniform(0.5, 1.0, n), pairs, 0.2 * g.normal(size=(n, 2))


def sample_array(w, b, v, x, t):
    return np.sum((np.tanh(x @ w + b) @ v - t) ** 2)


def sample_loop(w, b, v, x, t):
    inputs, hidden = w.shape
    outputs = v.shape[1]
    y = np.zeros(outputs)
    for j in range(hidden):
        s = b[j]
        for i in range(inputs):
            s += x[i] * w[i, j]
        h = np.tanh(s)
        for k in range(outputs):
            y[k] += h * v[j, k]
    total = 0.0
    for k in range(outputs):
        total += (y[k] - t[k]) ** 2
    return total


def _sample(np):
    return lambda w, b, v, x, t: np.sum((np.tanh(x @ w + b) @ v - t) ** 2)


def _cpp_sample(w, b, v, x, t):
    n = len(x)
    value, slopes = np.empty(n), tuple(np.empty((n, *a.shape)) for a in (w, b, v))
    sizes = (n, *w.shape, v.shape[1])
    return (
        CppCall("samples", (w, b, v, x, t, value, *sizes), value),
        CppCall("samples_gradient", (w, b, v, x, t, *slopes, *sizes), slopes),
    )


def _layers(small: bool) -> tuple:
    g = np.random.default_rng(24)
    n, inputs, hidden, outputs = (5, 3, 4, 2) if small else (2000, 8, 16, 4)
    w, v = g.normal(size=(inputs, hidden)) / inputs**0.5, g.normal(size=(hidden, outputs)) / hidden**0.5
    return w, g.normal(size=hidden), v, g.normal(size=(n, inputs)), g.normal(size=(n, outputs))


def _by_sample(module: Any, f: Any) -> Any:
    return module.vmap(f, (None, None, None, 0, 0))


def solved(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)


def _solved(np):
    return lambda a, b: np.sum(np.linalg.solve(a, b) ** 2)


def _cpp_solved(a, b):
    value, slopes = np.empty(len(a)), (np.empty_like(a), np.empty_like(b))
    return CppCall("solved", (a, b, value, *b.shape), value), CppCall("solved_gradient", (a, b, *slopes, *b.shape), slopes)


def _systems(small: bool) -> tuple:
    g = np.random.default_rng(25)
    count, n = (5, 3) if small else (2000, 8)
    return g.normal(size=(count, n, n)) + 2.0 * np.eye(n), g.normal(size=(count, n))


FITS = [
    Program(
        name="lstm",
        about="the squared error of an LSTM of 32 numbers over 100 rows of 16, by its weights",
        arguments=_series,
        forms={"array": lstm_array, "loop": lstm_loop},
        jax={"jax": _jax_lstm},
        autograd=_autograd_lstm,
        cpp={"c++": _cpp_lstm},
        derivative=gradient(0, 1, 2),
        by=(0, 1, 2),
    ),
    Program(
        name="mixture",
        about="the likelihood of 1000 points of 10 numbers under 10 Gaussians, by weights, means and factors of their covariances",
        arguments=_points,
        forms={"loop": mixture_loop, "array": mixture_array},
        jax={"jax": lambda jax: _mixture(jax.numpy)},
        cpp={"c++": _cpp_mixture},
        derivative=gradient(0, 1, 2, 3),
        by=(0, 1, 2, 3),
    ),
    Program(
        name="bundle",
        about="the error of 20,000 projections of 2000 points by 50 cameras, by cameras, points and weights",
        arguments=_views,
        forms={"loop": bundle_loop, "array": bundle_array},
        jax={"jax": _jax_bundle},
        cpp={"c++": _cpp_bundle},
        derivative=gradient(0, 1, 2),
        by=(0, 1, 2),
    ),
    Program(
        name="vmap_layer",
        about="the gradients of a network 8, 16, 4 wide for each of 2000 samples, by `vmap(grad(f))`",
        arguments=_layers,
        forms={"array": sample_array, "loop": sample_loop},
        jax={"jax": lambda jax: _sample(jax.numpy)},
        cpp={"c++": _cpp_sample},
        derivative=lambda module, f: _by_sample(module, module.grad(f, (0, 1, 2))),
        value=_by_sample,
        by=(0, 1, 2),
    ),
    Program(
        name="vmap_solve",
        about="the gradients of `sum(solve(a, b) ** 2)` for 2000 systems of 8 numbers, by `vmap(grad(f))`",
        arguments=_systems,
        forms={"array": solved},
        jax={"jax": lambda jax: _solved(jax.numpy)},
        cpp={"c++": _cpp_solved},
        derivative=lambda module, f: module.vmap(module.grad(f, (0, 1))),
        value=lambda module, f: module.vmap(f),
        by=(0, 1),
    ),
]
