"""Elementwise work: streams, the quadratic formula, sine, Black-Scholes."""

from __future__ import annotations

import numpy as np

from ingot import prange
from ingot.tour import sources, tasks

from ..workload import ELEMENTARY, CppCall, Workload


def _random(n, count, low=0.0, high=1.0, dtype=np.float64):
    g = np.random.default_rng(20)
    return tuple(g.uniform(low, high, n).astype(dtype) for _ in range(count))


def _quadratic_arguments(small):
    g = np.random.default_rng(20)
    n = 4099 if small else 5_000_000
    return g.uniform(5, 10, n), g.uniform(10, 20, n), g.uniform(-0.1, 0.1, n)


def quadratic_given(a, b, c, out):
    for i in prange(len(a)):
        out[i] = (-b[i] + np.sqrt(b[i]**2 - 4*a[i]*c[i])) / (2*a[i])


QUADRATIC = Workload(
    "quadratic",
    _quadratic_arguments,
    {"array": sources.quadratic_formula, "loop": sources.quadratic_formula_prange},
    **vars(tasks.QUADRATIC),
)

QUADRATIC_GIVEN = Workload(
    "quadratic_given",
    lambda small: (*_quadratic_arguments(small), np.zeros(4099 if small else 5_000_000)),
    {"loop": quadratic_given},
    numpy=lambda a, b, c, out: np.divide(-b + np.sqrt(b**2 - 4 * a * c), 2 * a, out=out),
    jax=lambda jax, a, b, c, out: tasks.QUADRATIC.jax(jax, a, b, c),
    cpp=lambda a, b, c, out: CppCall("quadratic", (a, b, c, out, a.size), out),
    outputs=(3,),
    bytes=lambda a, b, c, out: 4 * a.nbytes,
    flops=lambda a, b, c, out: 9 * a.size,
)


def _triad_past_caches(lhs, x, y, alpha):
    return CppCall("triad_past_caches", (lhs, x, y, alpha, lhs.size), lhs)


def _stream(name, count, scalars):
    def arguments(small):
        return (*_random(4099 if small else 25_000_000, count), *scalars)

    task = tasks.STREAMS[name]
    return Workload(
        f"stream_{name}",
        arguments,
        {"array": task.numpy, "loop": getattr(sources, f"{name}_prange")},
        other_cpp={"past caches": _triad_past_caches} if name == "triad" else {},
        **vars(task),
    )


STREAMS = [_stream("copy", 2, ()), _stream("scale", 2, (3.0,)), _stream("add", 3, ()), _stream("triad", 3, (3.0,))]


def axpy_array(a, x, y, out):
    out[:] = a * x + y


def axpy_loop(a, x, y, out):
    for i in prange(y.shape[0]):
        out[i] = a * x[i] + y[i]


def _axpy(dtype):
    kind = np.dtype(dtype).name
    return Workload(
        f"axpy_{kind}",
        lambda small: (dtype(2.5), *_random(4099 if small else 10_000_000, 3, dtype=dtype)),
        {"array": axpy_array, "loop": axpy_loop},
        jax=lambda jax, a, x, y, out: a * x + y,
        cpp=lambda a, x, y, out: CppCall(f"axpy_{kind}", (a, x, y, out, x.size), out),
        outputs=(3,),
        bytes=lambda a, x, y, out: 3 * x.nbytes,
        flops=lambda a, x, y, out: x.itemsize // 4 * x.size,
        bound=1e-6 if dtype is np.float32 else 1e-12,
    )


SINE = Workload(
    "sine",
    lambda small: _random(4099 if small else 10_000_000, 2),
    {"array": tasks.sine_array, "loop": sources.sine},
    **vars(tasks.SINE),
)


def _where_arguments(small):
    x, y, z = _random(4099 if small else 10_000_000, 3)
    return x > 0.5, y, z


WHERE = Workload("where", _where_arguments, {"array": sources.jax_intro_where}, **vars(tasks.WHERE))


def normal_below(d):
    """The normal distribution function, by the polynomial of Abramowitz and Stegun, 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(d))
    tail = 0.3989422804014327 * np.exp(-0.5 * d * d) * (
        k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))))
    return np.where(d > 0.0, 1.0 - tail, tail)


def black_scholes_array(price, strike, years, rate, volatility):
    root = np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root)
    d2 = d1 - volatility * root
    below1 = normal_below(d1)
    below2 = normal_below(d2)
    discount = np.exp(-rate * years)
    call = price * below1 - strike * discount * below2
    put = strike * discount * (1.0 - below2) - price * (1.0 - below1)
    return call, put


def normal_below_one(d):
    k = 1.0 / (1.0 + 0.2316419 * abs(d))
    tail = 0.3989422804014327 * np.exp(-0.5 * d * d) * (
        k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))))
    return 1.0 - tail if d > 0.0 else tail


def black_scholes_loop(price, strike, years, rate, volatility):
    call = np.empty_like(price)
    put = np.empty_like(price)
    for i in prange(len(price)):
        root = np.sqrt(years[i])
        d1 = (np.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (volatility * root)
        d2 = d1 - volatility * root
        below1 = normal_below_one(d1)
        below2 = normal_below_one(d2)
        discount = np.exp(-rate * years[i])
        call[i] = price[i] * below1 - strike[i] * discount * below2
        put[i] = strike[i] * discount * (1.0 - below2) - price[i] * (1.0 - below1)
    return call, put


def _black_scholes_jax(jax, price, strike, years, rate, volatility):
    jnp = jax.numpy

    def below(d):
        k = 1.0 / (1.0 + 0.2316419 * jnp.abs(d))
        p = jnp.polyval(jnp.array([1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530, 0.0]), k)
        tail = 0.3989422804014327 * jnp.exp(-0.5 * d * d) * p
        return jnp.where(d > 0.0, 1.0 - tail, tail)

    root = jnp.sqrt(years)
    d1 = (jnp.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root)
    d2 = d1 - volatility * root
    discounted = strike * jnp.exp(-rate * years)
    return price * below(d1) - discounted * below(d2), discounted * (1.0 - below(d2)) - price * (1.0 - below(d1))


def _black_scholes_arguments(small):
    g = np.random.default_rng(20)
    n = 4099 if small else 5_000_000
    return g.uniform(5, 30, n), g.uniform(1, 100, n), g.uniform(0.25, 10, n), 0.02, 0.3


def _black_scholes_cpp(price, strike, years, rate, volatility):
    call, put = np.empty_like(price), np.empty_like(price)
    return CppCall("black_scholes", (price, strike, years, rate, volatility, call, put, price.size), (call, put))


BLACK_SCHOLES = Workload(
    "black_scholes",
    _black_scholes_arguments,
    {"array": black_scholes_array, "loop": black_scholes_loop},
    jax=_black_scholes_jax,
    cpp=_black_scholes_cpp,
    bytes=lambda price, *rest: 5 * price.nbytes,
    flops=lambda price, *rest: (4 * ELEMENTARY + 50) * price.size,
)

def add_transposed_array(a, b):
    return a + b.T


def add_transposed_loop(a, b):
    n = len(a)
    out = np.empty_like(a)
    for i in prange(n):
        for j in range(n):
            out[i, j] = a[i, j] + b[j, i]
    return out


def _squares(small):
    g = np.random.default_rng(20)
    n = 65 if small else 4000
    return g.random((n, n)), g.random((n, n))


def _add_transposed_cpp(a, b):
    out = np.empty_like(a)
    return CppCall("add_transposed", (a, b, out, len(a)), out)


ADD_TRANSPOSED = Workload(
    "add_transposed",
    _squares,
    {"array": add_transposed_array, "loop": add_transposed_loop},
    jax=lambda jax, a, b: a + b.T,
    cpp=_add_transposed_cpp,
    bytes=lambda a, b: 3 * a.nbytes,
    flops=lambda a, b: a.size,
)

WORKLOADS = [QUADRATIC, QUADRATIC_GIVEN, *STREAMS, _axpy(np.float32), _axpy(np.float64), SINE, WHERE, BLACK_SCHOLES,
             ADD_TRANSPOSED]
