"""What type checkers know of compiled functions: mypy checks it (`test_typing.py`), and pyright (`tools/types`)."""

from typing import Any, assert_type

import numpy as np
from ingot import cuda, lax
from numpy.typing import NDArray

import ingot


@ingot.jit
def norm(x: NDArray[np.float64], p: float = 2.0, *, is_rooted: bool = True) -> float:
    return float((x**p).sum())


@ingot.jit(fastmath=True, tier="full")
def scaled(x: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    return x * by


@ingot.jit("float64(float64)")
def half(x: float) -> float:
    return x / 2


class Line:
    @ingot.jit
    def at(self, x: float) -> tuple[float, int]:
        return x, 1


@ingot.custom_jvp
def soft(x: float) -> float:
    return float(np.log1p(np.exp(x)))


@soft.defjvp
def soft_rule(primals: tuple[float], tangents: tuple[float]) -> tuple[float, float]:
    return soft(primals[0]), tangents[0]


@ingot.custom_vjp
def clipped(x: float) -> float:
    return x


@ingot.vectorize
def add(x: float, y: float) -> float:
    return x + y


@ingot.profile
def counted(n: int) -> str:
    return str(n)


@ingot.export("float64(float64)")
def exported(x: float) -> float:
    return x


@cuda.jit
def kernel(x: NDArray[np.float64]) -> None:
    x[cuda.grid(1)] = 1


def check(x: NDArray[np.float64]) -> None:
    assert_type(norm(x), float)
    assert_type(norm(x, p=3.0, is_rooted=False), float)
    assert_type(scaled(x, 2.0), NDArray[np.float64])
    assert_type(half(3), float)
    assert_type(Line().at(1.0), tuple[float, int])
    assert_type(Line.at(Line(), 1.0), tuple[float, int])
    assert_type(ingot.jit(norm)(x), float)
    assert_type(ingot.jit(lambda value: 2)(x), int)
    assert_type(ingot.grad(norm)(x, p=3.0), Any)
    assert_type(ingot.value_and_grad(norm)(x), tuple[float, Any])
    assert_type(ingot.value_and_grad(norm, argnums=(0, 1))(x, 2.0), tuple[float, Any])
    assert_type(ingot.jacfwd(scaled)(x, 2.0), Any)
    assert_type(ingot.vmap(norm, in_axes=(0, None))(x, 2.0), Any)
    assert_type(ingot.checkpoint(norm)(x), float)
    assert_type(ingot.stop_gradient(1.0), float)
    assert_type(soft(1.0), float)
    assert_type(soft_rule((1.0,), (1.0,)), tuple[float, float])
    assert_type(clipped(1.0), float)
    clipped.defvjp(lambda value: (value, None), lambda kept, c: (c,))
    assert_type(add.nin, int)
    assert_type(counted(1), str)
    assert_type(exported(1.0), float)
    assert_type(norm.compile(x), None)
    assert_type(norm.compile_async(x).result(), None)
    assert_type(str(norm.explain(x)), str)
    assert_type([each.why for each in norm.specialisations], list[str])
    kernel[1, 32](x)
    assert_type(ingot.prange(3), range)
    assert_type(ingot.devices("gpu"), list[ingot.Device])
    assert_type(ingot.memory()["in_use"], int)
    assert_type(ingot.get_num_threads(), int)
    assert_type(ingot.random.PRNGKey(0), NDArray[np.uint32])
    assert_type(lax.fori_loop(0, 3, lambda i, total: total + i, 0), Any)
