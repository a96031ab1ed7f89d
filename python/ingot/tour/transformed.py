"""Programs that ask for derivatives, batches, loops as functions and numbers of keys, with Ingot instead of JAX."""

import numpy as np

from ingot import grad, jvp, lax, pmap, random, value_and_grad, vmap

from .sources import f_body, f_false, f_true, quadratic_formula


def f(x):
    return np.sum(f_true(x) * f_false(x))


def jax_intro_grad(x):
    # computes the derivative of the function f
    df = grad(f)

    # gets a result and its derivative
    y = f(x)
    dx = df(x)
    return y, dx


def sum_of_slopes(x):
    return np.sum(grad(f)(x))


def jax_intro_grad_twice(x):
    return grad(sum_of_slopes)(x)


def sum_of_roots(a, b, c):
    return np.sum(quadratic_formula(a, b, c))


def quadratic_value_and_grad(a, b, c):
    return value_and_grad(sum_of_roots, argnums=(0, 1, 2))(a, b, c)


def quadratic_jvp(a, b, c, da, db, dc):
    return jvp(quadratic_formula, (a, b, c), (da, db, dc))


def jax_intro_vmap(x, y):
    f_vmap_j = vmap(f_body, in_axes=(0,None), out_axes=0)
    f_vmap_ij = vmap(f_vmap_j, in_axes=(0,None), out_axes=0)
    return f_vmap_ij(x, y)


def jax_intro_pmap(x, y):
    f_vmap_j = vmap(f_body, in_axes=(0,None), out_axes=0)
    f_pmap_ij = pmap(f_vmap_j, in_axes=(0,None), out_axes=0)
    return f_pmap_ij(x, y)


def jax_intro_lax_cond(x, is_true):
    y = lax.cond(is_true, f_true, f_false, x)
    return y


def quadratic_scan(a, b, c):
    def step(carry, row):
        a, b, c = row
        return carry, (-b + np.sqrt(b**2 - 4*a*c)) / (2*a)

    return lax.scan(step, 0, (a, b, c))[1]


def quadratic_fori_loop(a, b, c):
    def body(i, out):
        out[i] = (-b[i] + np.sqrt(b[i]**2 - 4*a[i]*c[i])) / (2*a[i])
        return out

    n = a.shape[0]
    return lax.fori_loop(0, n, body, np.empty(n))


def reduce_while_loop(array):
    def more(carried):
        i, sum = carried
        return i < len(array)

    def add_element(carried):
        i, sum = carried
        return i + 1, sum + array[i]

    return lax.while_loop(more, add_element, (0, 0.0))[1]


def jax_intro_key(n):
    key = random.PRNGKey(0)
    x = random.normal(key, shape=(n, n), dtype=np.float32)
    y = np.dot(x, x.T)
    return y


def jax_intro_split(seed, n):
    # initialize PRNG
    key = random.PRNGKey(seed)

    # generates random numbers
    key, subkey = random.split(key)
    x = random.normal(subkey, shape=(n, n))
    return key, x
