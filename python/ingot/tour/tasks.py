"""The programs of the tour as the other contestants write them, and what each costs at least."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import judges, sources

ELEMENTARY = 16
"""The flops that a call of an elementary function counts in the roofline."""


@dataclass(frozen=True)
class CppCall:
    """A call of a C++ function: arrays go as pointers, ints as int64_t, floats as double, np.float32 as float."""

    function: str
    arguments: tuple
    result: Any
    """What it has written, or a function that gives it."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be done, for each contestant but Ingot.

    `numpy` gives the reference, `numba` is what Numba compiles (by default the function that Ingot compiles), `jax`
    takes the module and the arguments, `cpp` makes the call from the arguments. A function returns its result, or
    returns None and has written the arguments that `outputs` counts.
    """

    numpy: Callable | None = None
    numba: Callable | None = None
    jax: Callable | None = None
    cpp: Callable[..., CppCall] | None = None
    outputs: tuple[int, ...] = ()
    bytes: Callable[..., int] | None = None
    """Bytes that must at least be read and written, from the arguments."""
    flops: Callable[..., float] | None = None
    """Operations on doubles, those on floats counting half."""


def _fresh_cpp(function: str, like: int) -> Callable[..., CppCall]:
    """A call that writes a new array like one of the arguments, given after them, and takes its length."""

    def call(*arguments: Any) -> CppCall:
        out = np.empty_like(arguments[like])
        return CppCall(function, (*arguments, out, out.size), out)

    return call


def _number_cpp(function: str) -> Callable[..., CppCall]:
    """A call that writes one number, and takes the lengths of its argument."""

    def call(x: np.ndarray) -> CppCall:
        out = np.zeros(1)
        return CppCall(function, (x, out, *x.shape), out)

    return call


def _quadratic_jax(jax, a, b, c):
    return (-b + jax.numpy.sqrt(b**2 - 4 * a * c)) / (2 * a)


QUADRATIC = Task(
    numpy=sources.quadratic_formula,
    jax=_quadratic_jax,
    cpp=_fresh_cpp("quadratic", 0),
    bytes=lambda a, b, c: 4 * a.nbytes,
    flops=lambda a, b, c: 9 * a.size,
)


def copy_array(lhs, rhs):
    lhs[:] = rhs


def scale_array(lhs, rhs, alpha):
    lhs[:] = alpha * rhs


def add_array(lhs, rhs1, rhs2):
    lhs[:] = rhs1 + rhs2


def triad_array(lhs, rhs1, rhs2, alpha):
    lhs[:] = rhs1 + alpha * rhs2


def _stream(name: str, arrays: int, flops: int, array: Callable, in_jax: Callable) -> Task:
    return Task(
        numpy=array,
        jax=in_jax,
        cpp=lambda lhs, *rest: CppCall(f"stream_{name}", (lhs, *rest, lhs.size), lhs),
        outputs=(0,),
        bytes=lambda lhs, *rest: arrays * lhs.nbytes,
        flops=lambda lhs, *rest: flops * lhs.size,
    )


STREAMS = {
    "copy": _stream("copy", 2, 0, copy_array, lambda jax, lhs, rhs: jax.numpy.copy(rhs)),
    "scale": _stream("scale", 2, 1, scale_array, lambda jax, lhs, rhs, alpha: alpha * rhs),
    "add": _stream("add", 3, 1, add_array, lambda jax, lhs, rhs1, rhs2: rhs1 + rhs2),
    "triad": _stream("triad", 3, 2, triad_array, lambda jax, lhs, rhs1, rhs2, alpha: rhs1 + alpha * rhs2),
}


def update_array(a, x, y):
    y[:] = a * x + y


def _update_cpp(a: np.floating, x: np.ndarray, y: np.ndarray) -> CppCall:
    return CppCall(f"update_{x.dtype.name}", (a, x, y, x.size), y)


AXPY = Task(
    numpy=update_array,
    jax=lambda jax, a, x, y: a * x + y,
    cpp=_update_cpp,
    outputs=(2,),
    bytes=lambda a, x, y: 3 * x.nbytes,
    flops=lambda a, x, y: x.itemsize // 4 * x.size,
)


def sine_array(lhs, rhs):
    lhs[:] = np.sin(rhs)


SINE = Task(
    numpy=sine_array,
    jax=lambda jax, lhs, rhs: jax.numpy.sin(rhs),
    cpp=lambda lhs, rhs: CppCall("sine", (lhs, rhs, lhs.size), lhs),
    outputs=(0,),
    bytes=lambda lhs, rhs: 2 * lhs.nbytes,
    flops=lambda lhs, rhs: ELEMENTARY * lhs.size,
)

WHERE = Task(
    numpy=sources.jax_intro_where,
    jax=lambda jax, is_true, y_true, y_false: jax.numpy.where(is_true, y_true, y_false),
    cpp=_fresh_cpp("where", 1),
    bytes=lambda is_true, y_true, y_false: 25 * is_true.size,
)

SUM2D = Task(
    numpy=lambda x: float(np.sum(x)),
    jax=lambda jax, x: jax.numpy.sum(x.astype(jax.numpy.float64)),
    cpp=_number_cpp("sum2d"),
    bytes=lambda x: x.nbytes,
    flops=lambda x: x.size,
)
REDUCE = Task(
    numpy=lambda x: float(np.sum(x)),
    jax=lambda jax, x: jax.numpy.sum(x),
    cpp=_number_cpp("reduce_elements"),
    bytes=lambda x: x.nbytes,
    flops=lambda x: x.size,
)
SUM_GREATER = Task(
    numpy=sources.sum_greater_than_three,
    jax=lambda jax, x: jax.numpy.sum(jax.numpy.where(x > 3.0, x, 0.0)),
    cpp=_number_cpp("sum_greater"),
    bytes=lambda x: x.nbytes,
    flops=lambda x: 2 * x.size,
)


def matmul_cpp(a: np.ndarray, b: np.ndarray) -> CppCall:
    out = np.empty_like(a)
    return CppCall("matmul_float64", (a, b, out, len(a)), out)


MATMUL = Task(
    numpy=sources.matmul,
    jax=lambda jax, a, b: a @ b,
    cpp=matmul_cpp,
    bytes=lambda a, b: 3 * a.nbytes,
    flops=lambda a, b: 2 * len(a) ** 3,
)
MATMUL_LOOPS = Task(
    numpy=lambda a, b, c: np.matmul(a, b, out=c),
    jax=lambda jax, a, b, c: a @ b,
    cpp=lambda a, b, c: CppCall("matmul_float32", (a, b, c, len(a)), c),
    outputs=(2,),
    bytes=lambda a, b, c: 3 * a.nbytes,
    flops=lambda a, b, c: len(a) ** 3,
)
DOUBLE_LOOP = Task(
    numpy=lambda result, x, y: np.matmul(x, y, out=result),
    jax=lambda jax, result, x, y: x @ y,
    cpp=lambda result, x, y: CppCall("rows_times_vector", (x, y, result, result.size, len(y)), result),
    outputs=(0,),
    bytes=lambda result, x, y: x.nbytes + result.nbytes,
    flops=lambda result, x, y: 2 * x.size,
)

LINKS = 16
"""Of each node of the network. Nothing arrives without delay, so that all nodes of a step can be taken at once."""


def _kuramoto_numpy(nstep, nnodes, ntime, state, input, param, drift, diffs, obsrv, nnz, delays, row, col, weights, a, first):
    seen = obsrv.reshape(ntime, nnodes, 2)
    turn = 6.283185307179586
    for i_step in range(nstep):
        now = (i_step + first) % ntime
        theirs = seen[now - delays, col, 0].reshape(nnodes, LINKS)
        pull = (weights.reshape(nnodes, LINKS) * np.sin(theirs - seen[now, :, 0][:, None])).sum(1)
        input[:] = a[0] * pull / nnodes
        drift[:] = param + input
        state += 0.1 * drift
        state[:] = np.where(state < 0, state + turn, np.where(state > turn, state - turn, state))
        seen[now, :, 1] = np.sin(state)
        seen[now, :, 0] = state


def _kuramoto_jax(jax, nstep, nnodes, ntime, state, input, param, drift, diffs, obsrv, nnz, delays, row, col, weights, a, first):
    jnp = jax.numpy
    turn = 6.283185307179586

    def step(i_step, carried):
        state, input, drift, seen = carried
        now = (i_step + first) % ntime
        theirs = seen[now - delays, col, 0].reshape(nnodes, LINKS)
        input = a[0] * (weights.reshape(nnodes, LINKS) * jnp.sin(theirs - seen[now, :, 0][:, None])).sum(1) / nnodes
        drift = param + input
        state = state + 0.1 * drift
        state = jnp.where(state < 0, state + turn, jnp.where(state > turn, state - turn, state))
        return state, input, drift, seen.at[now].set(jnp.stack([state, jnp.sin(state)], 1))

    start = state, input, drift, obsrv.reshape(ntime, nnodes, 2)
    state, input, drift, seen = jax.lax.fori_loop(0, nstep, step, start)
    return state, input, drift, jnp.zeros_like(drift), seen.reshape(-1)


def _kuramoto_cpp(nstep, nnodes, ntime, state, input, param, drift, diffs, obsrv, nnz, delays, row, col, weights, a, first):
    coupling = a[0] if a.dtype == np.float32 else float(a[0])
    arguments = (nstep, nnodes, ntime, state, input, param, drift, diffs, obsrv, delays, row, col, weights, coupling, first)
    return CppCall(f"kuramoto_{state.dtype.name}", arguments, (state, input, drift, diffs, obsrv))


def _kuramoto_flops(steps, nodes, ntime, state, input, param, drift, diffs, obsrv, nnz, *rest) -> float:
    return steps * nnz * (ELEMENTARY + 3) * state.itemsize / 8


KURAMOTO = Task(
    numpy=_kuramoto_numpy,
    jax=_kuramoto_jax,
    cpp=_kuramoto_cpp,
    outputs=(3, 4, 6, 7, 8),
    bytes=lambda *arguments: sum(a.nbytes for a in arguments if isinstance(a, np.ndarray)),
    flops=_kuramoto_flops,
)


def _slope_cpp(x: np.ndarray) -> CppCall:
    y, dx = np.zeros(1), np.empty_like(x)
    return CppCall("slope", (x, y, dx, x.size), (y, dx))


def _f(jnp: Any, x: Any) -> Any:
    return jnp.sum(jnp.cos(x) * (x + 1))


def _grad_jax(jax, x):
    f = functools.partial(_f, jax.numpy)
    return f(x), jax.grad(f)(x)


def _grad_twice_jax(jax, x):
    df = jax.grad(functools.partial(_f, jax.numpy))
    return jax.grad(lambda x: jax.numpy.sum(df(x)))(x)


GRAD = Task(
    numba=judges.slope_loop,
    jax=_grad_jax,
    cpp=_slope_cpp,
    bytes=lambda x: 2 * x.nbytes,
    flops=lambda x: (2 * ELEMENTARY + 5) * x.size,
)
GRAD_TWICE = Task(
    numba=judges.slope_twice_loop,
    jax=_grad_twice_jax,
    cpp=_fresh_cpp("slope_twice", 0),
    bytes=lambda x: 2 * x.nbytes,
    flops=lambda x: (2 * ELEMENTARY + 4) * x.size,
)


def _quadratic_gradient_jax(jax, a, b, c):
    return jax.value_and_grad(lambda a, b, c: jax.numpy.sum(_quadratic_jax(jax, a, b, c)), argnums=(0, 1, 2))(a, b, c)


def _quadratic_gradient_cpp(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> CppCall:
    y, gradient = np.zeros(1), tuple(np.empty_like(x) for x in (a, b, c))
    return CppCall("quadratic_gradient", (a, b, c, y, *gradient, a.size), (y, gradient))


def _quadratic_tangent_cpp(a: np.ndarray, *rest: np.ndarray) -> CppCall:
    results = np.empty_like(a), np.empty_like(a)
    return CppCall("quadratic_tangent", (a, *rest, *results, a.size), results)


QUADRATIC_GRADIENT = Task(
    numba=judges.quadratic_gradient_loop,
    jax=_quadratic_gradient_jax,
    cpp=_quadratic_gradient_cpp,
    bytes=lambda a, b, c: 6 * a.nbytes,
    flops=lambda a, b, c: 18 * a.size,
)
QUADRATIC_TANGENT = Task(
    numba=judges.quadratic_tangent_loop,
    jax=lambda jax, a, b, c, da, db, dc: jax.jvp(functools.partial(_quadratic_jax, jax), (a, b, c), (da, db, dc)),
    cpp=_quadratic_tangent_cpp,
    bytes=lambda a, *rest: 8 * a.nbytes,
    flops=lambda a, *rest: 22 * a.size,
)


def _vmap_jax(jax, x, y):
    row = jax.vmap(lambda row, y: jax.numpy.sum(row * y), in_axes=(0, None))
    return jax.vmap(row, in_axes=(0, None))(x, y)


def _vmap_cpp(x: np.ndarray, y: np.ndarray) -> CppCall:
    result = np.empty(x.shape[:2])
    return CppCall("rows_times_vector", (x, y, result, result.size, len(y)), result)


VMAP = Task(
    numba=judges.rows_times_vector_loop,
    jax=_vmap_jax,
    cpp=_vmap_cpp,
    bytes=lambda x, y: x.nbytes,
    flops=lambda x, y: 2 * x.size,
)


def _cond_jax(jax, x, y):
    branches = jax.numpy.cos, lambda x: x + 1
    return [jax.lax.cond(True, *branches, x), jax.lax.cond(False, *branches, y)]


LAX_COND = Task(numba=sources.jax_intro_cond, jax=_cond_jax)


def _scan_jax(jax, a, b, c):
    return jax.lax.scan(lambda carry, row: (carry, _quadratic_jax(jax, *row)), 0, (a, b, c))[1]


def _fori_jax(jax, a, b, c):
    def body(i, out):
        return out.at[i].set(_quadratic_jax(jax, a[i], b[i], c[i]))

    return jax.lax.fori_loop(0, a.shape[0], body, jax.numpy.empty_like(a))


def _while_jax(jax, array):
    start = jax.numpy.int64(0), jax.numpy.float64(0.0)
    return jax.lax.while_loop(lambda s: s[0] < len(array), lambda s: (s[0] + 1, s[1] + array[s[0]]), start)[1]


QUADRATIC_SCAN = dataclasses.replace(QUADRATIC, numba=sources.quadratic_formula_loop, jax=_scan_jax)
QUADRATIC_FORI = dataclasses.replace(QUADRATIC_SCAN, jax=_fori_jax)
REDUCE_WHILE = dataclasses.replace(REDUCE, numba=sources.reduce, jax=_while_jax)


def _key_jax(jax, n):
    x = jax.random.normal(jax.random.PRNGKey(0), shape=(n, n), dtype=jax.numpy.float32)
    return jax.numpy.dot(x, x.T)


def _split_jax(jax, seed, n):
    key, subkey = jax.random.split(jax.random.PRNGKey(seed))
    return key, jax.random.normal(subkey, shape=(n, n))


KEY = Task(jax=_key_jax)
SPLIT = Task(jax=_split_jax)
