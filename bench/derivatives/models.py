"""Programs over whole arrays: energies, losses, Jacobians, batches."""

from __future__ import annotations

from typing import Any

import numpy as np

import ingot

from .program import CppCall, Program, gradient


def energy_loop(p, m):
    total = 0.0
    n = p.shape[1]
    for i in range(n):
        for j in range(i + 1, n):
            x = p[0, i] - p[0, j]
            y = p[1, i] - p[1, j]
            z = p[2, i] - p[2, j]
            total -= m[i] * m[j] / np.sqrt(x * x + y * y + z * z + 0.01)
    return total


def energy_prange(p, m):
    total = 0.0
    n = p.shape[1]
    for i in ingot.prange(n):
        own = 0.0
        for j in range(n):
            x = p[0, i] - p[0, j]
            y = p[1, i] - p[1, j]
            z = p[2, i] - p[2, j]
            own += m[j] / np.sqrt(x * x + y * y + z * z + 0.01)
        total -= 0.5 * m[i] * own
    return total


def energy_array(p, m):
    d = p[:, :, None] - p[:, None, :]
    r = np.sqrt(np.sum(d * d, axis=0) + 0.01)
    return -0.5 * np.sum(m[:, None] * m / r)


def _energy(np):
    def f(p, m):
        d = p[:, :, None] - p[:, None, :]
        r = np.sqrt(np.sum(d * d, axis=0) + 0.01)
        return -0.5 * np.sum(m[:, None] * m / r)

    return f


def _cpp_energy(p, m):
    value, slope = np.empty(1), np.empty_like(p)
    return CppCall("energy", (p, m, value, m.size), value), CppCall("energy_gradient", (p, m, slope, m.size), slope)


def _stars(small: bool) -> tuple:
    g = np.random.default_rng(4)
    n = 12 if small else 1000
    return g.normal(size=(3, n)), g.uniform(0.5, 1.5, n) / n


def network_array(w, b, v, c, x, t):
    y = np.tanh(x @ w + b) @ v + c
    return np.mean((y - t) ** 2)


def network_samples(w, b, v, c, x, t):
    total = 0.0
    for i in range(len(x)):
        y = np.tanh(x[i] @ w + b) @ v + c
        total += np.sum((y - t[i]) ** 2)
    return total / t.size


def _network(np):
    def f(w, b, v, c, x, t):
        y = np.dot(np.tanh(np.dot(x, w) + b), v) + c
        return np.mean((y - t) ** 2)

    return f


def _cpp_network(*arguments):
    value, slopes = np.empty(1), tuple(np.empty_like(a) for a in arguments[:4])
    x, t = arguments[4:]
    sizes = (len(x), x.shape[1], arguments[0].shape[1], t.shape[1])
    return (
        CppCall("network", (*arguments, value, *sizes), value),
        CppCall("network_gradient", (*arguments, *slopes, *sizes), slopes),
    )


def _samples(small: bool) -> tuple:
    g = np.random.default_rng(5)
    n, inputs, hidden, outputs = (6, 4, 5, 3) if small else (512, 64, 128, 10)
    w, v = g.normal(size=(inputs, hidden)) / inputs**0.5, g.normal(size=(hidden, outputs)) / hidden**0.5
    return w, g.normal(size=hidden), v, g.normal(size=outputs), g.normal(size=(n, inputs)), g.normal(size=(n, outputs))


def chain_array(x):
    return np.sum(np.sin(x) * np.exp(-x * x))


def chain_loop(x):
    total = 0.0
    for i in range(len(x)):
        total += np.sin(x[i]) * np.exp(-x[i] * x[i])
    return total


def _cpp_chain(x):
    value, slope = np.empty(1), np.empty_like(x)
    return CppCall("chain", (x, value, x.size), value), CppCall("chain_gradient", (x, slope, x.size), slope)


def logistic_array(w, x, y, decay):
    return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.5 * decay * np.dot(w, w)


def logistic_loop(w, x, y, decay):
    total = 0.0
    for i in range(len(x)):
        z = 0.0
        for j in range(len(w)):
            z += x[i, j] * w[j]
        total += np.log1p(np.exp(-y[i] * z))
    square = 0.0
    for j in range(len(w)):
        square += w[j] * w[j]
    return total / len(x) + 0.5 * decay * square


def _logistic(np):
    return lambda w, x, y, decay: np.mean(np.logaddexp(0.0, -y * np.dot(x, w))) + 0.5 * decay * np.dot(w, w)


def _cpp_logistic(w, x, y, decay):
    value, slope = np.empty(1), np.empty_like(w)
    return (
        CppCall("logistic", (w, x, y, decay, value, *x.shape), value),
        CppCall("logistic_gradient", (w, x, y, decay, slope, *x.shape), slope),
    )


def _labelled(small: bool) -> tuple:
    g = np.random.default_rng(6)
    n, features = (20, 4) if small else (10_000, 50)
    x = g.normal(size=(n, features))
    w = g.normal(size=features) / features**0.5
    return 0.5 * w, x, np.where(x @ w + g.normal(size=n) > 0, 1.0, -1.0), 0.01


def valley_array(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def valley_loop(x):
    total = 0.0
    for i in range(len(x) - 1):
        a = x[i + 1] - x[i] * x[i]
        b = 1.0 - x[i]
        total += 100.0 * a * a + b * b
    return total


def _valley(np):
    return lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def _cpp_hessian_product(x, v):
    value, out = np.empty(1), np.empty_like(x)
    return CppCall("valley", (x, value, x.size), value), CppCall("valley_hvp", (x, v, out, x.size), out)


def _hessian_product(module: Any, f: Any) -> Any:
    """`f`'s Hessian at x times v, for modules that have it in one call and those that have not."""
    if module is ingot:
        return ingot.jit(lambda x, v: ingot.hvp(f, (x,), (v,))[0])
    if hasattr(module, "jvp"):
        return lambda x, v: module.jvp(module.grad(f), (x,), (v,))[1]
    return lambda x, v: module.make_hvp(f)(x)[0](v)


def layer_array(x, a):
    return np.tanh(a @ x) + x * x


def layer_loop(x, a):
    y = np.empty(len(x))
    for i in range(len(x)):
        s = 0.0
        for j in range(len(x)):
            s += a[i, j] * x[j]
        y[i] = np.tanh(s) + x[i] * x[i]
    return y


def _layer_arguments(small: bool) -> tuple:
    g = np.random.default_rng(7)
    n = 6 if small else 50
    return g.normal(size=n), g.normal(size=(n, n)) / n**0.5


def _layer(np):
    return lambda x, a: np.tanh(np.dot(a, x)) + x * x


def _cpp_layer(x, a):
    value, slope = np.empty_like(x), np.empty_like(a)
    return CppCall("layer", (x, a, value, x.size), value), CppCall("layer_jacobian", (x, a, slope, x.size), slope)


def _jacobian(name: str) -> Program:
    return Program(
        name=name,
        about=f"all derivatives of a function of 50 numbers to 50, by `{name}`",
        arguments=_layer_arguments,
        forms={"loop": layer_loop, "array": layer_array},
        jax={"jax": lambda jax: _layer(jax.numpy)},
        autograd=_layer if name == "jacrev" else None,
        cpp={"c++": _cpp_layer},
        derivative=lambda module, f: getattr(module, name)(f),
    )


def _cpp_lanes(x):
    value, slope = np.empty(len(x)), np.empty_like(x)
    return CppCall("valleys", (x, value, *x.shape), value), CppCall("valleys_gradient", (x, slope, *x.shape), slope)


MODELS = [
    Program(
        name="nbody",
        about="the energy of 1000 bodies, by their positions",
        arguments=_stars,
        forms={"loop": energy_loop, "prange": energy_prange, "array": energy_array},
        jax={"jax": lambda jax: _energy(jax.numpy)},
        autograd=_energy,
        cpp={"c++": _cpp_energy},
        derivative=gradient(0),
    ),
    Program(
        name="mlp",
        about="the squared error of a network of two layers, 64, 128, 10 wide, for 512 samples, by its weights",
        arguments=_samples,
        forms={"array": network_array, "samples": network_samples},
        jax={"jax": lambda jax: _network(jax.numpy)},
        autograd=_network,
        cpp={"c++": _cpp_network},
        derivative=gradient(0, 1, 2, 3),
        by=(0, 1, 2, 3),
    ),
    Program(
        name="chain",
        about="the sum of `sin(x) * exp(-x * x)` of 1,000,000 numbers",
        arguments=lambda small: (np.random.default_rng(9).normal(size=100 if small else 1_000_000),),
        forms={"loop": chain_loop, "array": chain_array},
        jax={"jax": lambda jax: lambda x: jax.numpy.sum(jax.numpy.sin(x) * jax.numpy.exp(-x * x))},
        autograd=lambda np: lambda x: np.sum(np.sin(x) * np.exp(-x * x)),
        cpp={"c++": _cpp_chain},
        derivative=gradient(0),
        notes={"c++": "calls sin, cos and exp of the C library for one number at a time"},
    ),
    Program(
        name="logistic",
        about="the loss of a logistic regression, 10,000 samples of 50 features, by the weights",
        arguments=_labelled,
        forms={"loop": logistic_loop, "array": logistic_array},
        jax={"jax": lambda jax: _logistic(jax.numpy)},
        autograd=_logistic,
        cpp={"c++": _cpp_logistic},
        derivative=gradient(0),
    ),
    Program(
        name="hvp",
        about="the Hessian of Rosenbrock's function of 100,000 numbers, times a vector",
        arguments=lambda small: tuple(np.random.default_rng(10).normal(size=(2, 20 if small else 100_000))),
        forms={"loop": valley_loop, "array": valley_array},
        jax={"jax": lambda jax: _valley(jax.numpy)},
        autograd=_valley,
        cpp={"c++": _cpp_hessian_product},
        derivative=_hessian_product,
        takes=1,
    ),
    _jacobian("jacfwd"),
    _jacobian("jacrev"),
    Program(
        name="vmap_grad",
        about="the gradients of Rosenbrock's function at 10,000 points of 16 numbers, by `vmap(grad(f))`",
        arguments=lambda small: (np.random.default_rng(11).normal(size=(5, 16) if small else (10_000, 16)),),
        forms={"loop": valley_loop, "array": valley_array},
        jax={"jax": lambda jax: _valley(jax.numpy)},
        cpp={"c++": _cpp_lanes},
        derivative=lambda module, f: module.vmap(module.grad(f)),
        value=lambda module, f: module.vmap(f),
    ),
]
