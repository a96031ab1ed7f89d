"""Rows of docs/language.md about transformations made inside functions."""

import ingot
import numpy as np
from support import check, jitted

X = np.arange(6.0)


@ingot.jit
def squared(x):
    return x * x + 1


def test_transformations_inside_functions():
    def square(x):
        return x * x

    check(lambda x: ingot.jit(square)(x) + ingot.jit(cache=False)(square)(x), 2.0)
    check(lambda x: ingot.jit(squared)(x) + ingot.jit(lambda y: y + x)(x), 2.0)
    check(lambda x: ingot.checkpoint(square)(x) + ingot.checkpoint(lambda y: y * x)(y=x), 2.0)
    check(lambda x: ingot.jit(ingot.vmap(ingot.jit(square)))(x), X)
    derived = jitted(lambda x: ingot.grad(ingot.checkpoint(lambda y: square(y) * y))(x))
    assert derived(2.0) == 12.0
    assert ingot.grad(lambda x: ingot.checkpoint(lambda y: y * y * x)(y=x))(2.0) == 12.0
    assert ingot.grad(lambda x: ingot.jit(lambda y: y * y * x)(x))(2.0) == 12.0
    np.testing.assert_array_equal(ingot.vmap(lambda x: ingot.grad(ingot.jit(square))(x))(X), 2 * X)
    np.testing.assert_array_equal(jitted(lambda x: ingot.jacfwd(ingot.checkpoint(lambda y: y * y))(x))(X), np.diag(2 * X))
