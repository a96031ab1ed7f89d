"""What derivatives are in JAX: how they nest, structures of arguments and results, points without a derivative.

What JAX gives is compiled as one (`jax.jit`): it takes three times as long operation by operation.
"""

import dataclasses
import functools
import os
from collections import namedtuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import ingot
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from caching import run

Point = namedtuple("Point", "x y")


@functools.partial(jax.tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=[])
@dataclasses.dataclass
class Layer:
    w: object
    b: object


@pytest.fixture(autouse=True, scope="module")
def doubles():
    """JAX in float64."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def agree(made, expected):
    """Whether a structure is that of JAX: containers, keys, shapes and values."""
    if isinstance(expected, (tuple, list)):
        assert type(made) is type(expected) and len(made) == len(expected)
        for one, other in zip(made, expected):
            agree(one, other)
    elif isinstance(expected, dict):
        assert type(made) is dict and set(made) == set(expected)
        for key in expected:
            agree(made[key], expected[key])
    elif isinstance(expected, Layer):
        assert type(made) is Layer
        agree((made.w, made.b), (expected.w, expected.b))
    else:
        assert np.shape(made) == np.shape(expected)
        assert isinstance(made, np.ndarray) or np.ndim(expected) == 0
        np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-14)


V, M, S = np.array([0.5, 1.5, -2.0]), np.array([[1.0, 2.0, 0.5], [-1.0, 0.3, 4.0]]), 1.25

# What is called of `ingot` and of `jax`: a function of the namespace's functions, its arguments, argnums.
FUNCTIONS = {
    "a tuple of one": (lambda np: lambda v, s: np.sin(v) * s, (V, S), (0,)),
    "out of order": (lambda np: lambda v, m: m @ (v * v), (V, M), (1, 0)),
    "numbers": (lambda np: lambda a, b, c: a * b * np.sin(c), (S, 2.0, 0.5), (0, 1, 2)),
    "equal shapes": (lambda np: lambda a, b: np.stack([a @ b, a @ a * b[0]]), (V[:2], V[1:]), (0, 1)),
    "several out of several": (lambda np: lambda v, s: {"a": v * s, "b": [s * s, (v @ v,)]}, (V, S), (1, 0)),
    "named tuple": (lambda np: lambda p: Point(p.x * p.y, p.y**3), (Point(V, S),), 0),
    "dict": (lambda np: lambda d: {"u": d["w"] @ d["x"][0], "v": d["x"][1] ** 2}, ({"x": [V, S], "w": M},), 0),
    "dataclass": (lambda np: lambda layer, x: Layer(np.tanh(layer.w @ x + layer.b), layer.b * 2), (Layer(M, S), V), (0, 1)),
    "nested": (lambda np: lambda t: [Layer((t[0].b["k"] * t[1], t[1] ** 2), t[0].w)], ((Layer(V, {"k": S}), 3.0),), 0),
}
KINDS = ("jacfwd", "jacrev", "hessian")


TWICE = ("numbers", "equal shapes", "several out of several", "dataclass")


@pytest.mark.rotated(3)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.sampled(10)
def test_derivatives_nest_as_in_jax(name):
    make, arguments, argnums = FUNCTIONS[name]
    for kind in KINDS if name in TWICE else KINDS[:2]:
        expected = jax.jit(getattr(jax, kind)(make(jnp), argnums))(*arguments)
        agree(getattr(ingot, kind)(make(np), argnums)(*arguments), expected)


@pytest.mark.rotated(5)
def test_derivatives_nest_in_compiled_code():
    def f(v, s):
        return {"a": v * s, "b": [s * s, (v @ v,)]}

    inside = ingot.jit(lambda v, s: (ingot.hessian(f, (1, 0))(v, s), ingot.jacrev(f)(v, s)))
    agree(inside(V, S), (jax.jit(jax.hessian(f, (1, 0)))(V, S), jax.jit(jax.jacrev(f))(V, S)))
    rows = np.stack([V, V + 1])
    for kind in KINDS[:2]:
        mapped = ingot.vmap(getattr(ingot, kind)(f, (0, 1)), (0, None))(rows, S)
        agree(mapped, jax.jit(jax.vmap(getattr(jax, kind)(f, (0, 1)), (0, None)))(rows, S))


def test_derivatives_of_what_does_not_vary():
    for of in (ingot.jacfwd, ingot.jacrev):
        made = of(lambda v: {"n": 3, "i": np.arange(2), "t": "text", "none": None, "y": v * 2})(V)
        assert made["t"] is None and made["none"] is None
        np.testing.assert_array_equal(made["n"], np.zeros(3))
        np.testing.assert_array_equal(made["i"], np.zeros((2, 3)))
        np.testing.assert_array_equal(made["y"], 2 * np.eye(3))
    assert ingot.jacrev(lambda x: (x * x, 2))(3.0) == ingot.jacfwd(lambda x: (x * x, 2))(3.0) == (6.0, 0.0)
    assert ingot.hessian(lambda x: (x * x, 2))(3.0) == (2.0, 0.0)
    assert ingot.jacfwd(lambda v: np.concatenate((v, v)))(np.zeros(0)).shape == (0, 0)
    assert ingot.jacrev(lambda v: (v[:0], v * 2))(V)[0].shape == (0, 3)


def test_numbers_keep_their_types():
    for of in (ingot.jacfwd, ingot.jacrev):
        made = of(lambda x, y: x * y, (0, 1))(2.0, 3.0)
        assert made == (3.0, 2.0) and [type(x) for x in made] == [float, float]
        made = of(lambda x, y: x * y, (0, 1))(np.float32(2), np.float32(3))
        assert made == (3.0, 2.0) and [type(x) for x in made] == [np.float32, np.float32]
    made = ingot.hessian(lambda x, y: x * x * y, (0, 1))(2.0, 3.0)
    assert made == ((6.0, 4.0), (4.0, 0.0)) and type(made[0][1]) is float


def test_hessians_call_the_function_n_times():
    calls = np.zeros(1, np.int64)

    def rosenbrock(x):
        calls[0] += 1
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    x = np.linspace(-1.0, 1.0, 20)
    slopes = ingot.hessian(rosenbrock)(x)
    assert calls[0] == 21
    np.testing.assert_allclose(slopes, ingot.jacfwd(ingot.jacfwd(rosenbrock))(x), rtol=1e-12)
    several = ingot.hessian(lambda a, b, c, d: a * b * c * d + a**2 * d, (0, 1, 2, 3))(1.0, 2.0, 3.0, 4.0)
    assert several[0] == (8.0, 12.0, 8.0, 8.0) and several[3] == (8.0, 3.0, 2.0, 0.0)


@pytest.mark.rotated(4)
def test_derivatives_together_with_something_else():
    def f(v, s):
        return v * v * s, {"norm": v @ v, "s": (s,)}

    for kind in KINDS:
        for argnums in (0, (0, 1)):
            expected = jax.jit(getattr(jax, kind)(f, argnums, has_aux=True))(jnp.asarray(V), S)
            agree(getattr(ingot, kind)(f, argnums, has_aux=True)(V, S), expected)
    value, pull, aux = ingot.vjp(f, V, S, has_aux=True)
    expected, pull_of_jax, aux_of_jax = jax.vjp(f, V, S, has_aux=True)
    agree((value, pull(np.ones(3)), aux), (expected, pull_of_jax(np.ones(3)), aux_of_jax))
    agree(ingot.jvp(f, (V, S), (V, 1.0), has_aux=True), jax.jit(functools.partial(jax.jvp, f, has_aux=True))((V, S), (V, 1.0)))
    value, linear, aux = ingot.linearize(f, V, S, has_aux=True)
    np.testing.assert_allclose(linear(V, 1.0), 2 * V * V * S + V * V)
    assert aux["s"] == (S,)
    for of in (ingot.jacfwd, ingot.jacrev, ingot.hessian):
        with pytest.raises(TypeError, match="a function gives a pair"):
            of(lambda v: v, has_aux=True)(V)


@pytest.mark.rotated(3)
def test_complex_arguments_as_in_jax():
    z = np.array([1 + 2j, 0.5 - 1j])
    for kind in KINDS:
        agree(getattr(ingot, kind)(lambda z: z * z, holomorphic=True)(z), jax.jit(getattr(jax, kind)(lambda z: z * z, holomorphic=True))(z))
        agree(getattr(ingot, kind)(lambda z: z * z, holomorphic=True)(1 + 2j), jax.jit(getattr(jax, kind)(lambda z: z * z, holomorphic=True))(1 + 2j))
        of = getattr(ingot, kind)
        for f, x, message in [
            (lambda z: z * z, z, f"{kind} requires real-valued"),
            (lambda x: x, np.arange(3), f"{kind} requires real- or complex-valued inputs, .* but got int64"),
            (lambda x: x * 2, 3, f"{kind} requires .* but got int64"),
            (lambda x: x * 1j, V, "holomorphic=True requires inputs with complex dtype, but got float64"),
        ]:
            with pytest.raises(TypeError, match=message):
                of(f, holomorphic="inputs" in message and "complex dtype" in message)(x)
    agree(ingot.jacrev(lambda z: np.abs(z) ** 2)(z), jax.jit(jax.jacrev(lambda z: jnp.abs(z) ** 2))(z))


def loss(np):
    def of(layers, x):
        for layer in layers["hidden"]:
            x = np.tanh(layer.w @ x + layer.b)
        return np.sum(x * layers["scale"].x) * layers["scale"].y

    return of


LAYERS = {"hidden": [Layer(M.T @ M, 0.1), Layer(M, np.array([0.2, 0.3]))], "scale": Point(np.array([1.0, -2.0]), 0.5)}


@pytest.mark.rotated(5)
def test_gradients_of_structures():
    slope, tangent = jax.jit(jax.grad(loss(jnp)))(LAYERS, V), jax.jit(functools.partial(jax.jvp, loss(jnp)))((LAYERS, V), (LAYERS, V))
    agree(ingot.grad(loss(np))(LAYERS, V), slope)
    agree(ingot.grad(loss(np), (1, 0))(LAYERS, V), jax.jit(jax.grad(loss(jnp), (1, 0)))(LAYERS, V))
    agree(ingot.value_and_grad(loss(np))(LAYERS, V), jax.jit(jax.value_and_grad(loss(jnp)))(LAYERS, V))
    own = ingot.jit(lambda layers, x: ingot.grad(loss(np))(layers, x))
    agree(own(LAYERS, V), slope)
    product = jax.jit(lambda x, t: jax.jvp(jax.grad(lambda y: loss(jnp)(y, V)), (x,), (t,))[1])(LAYERS, LAYERS)
    agree(ingot.hvp(lambda layers: loss(np)(layers, V), (LAYERS,), (LAYERS,))[0], product)
    agree(ingot.jvp(loss(np), (LAYERS, V), (LAYERS, V)), tangent)
    value, linear = ingot.linearize(loss(np), LAYERS, V)
    agree((value, linear(LAYERS, V)), tangent)
    value, pull = ingot.vjp(loss(np), LAYERS, V)
    agree(pull(2.0), jax.jit(lambda *x: jax.vjp(loss(jnp), *x)[1](2.0))(LAYERS, V))
    several = ingot.vmap(ingot.grad(loss(np)), ({"hidden": None, "scale": Point(None, 0)}, 0))
    many = {**LAYERS, "scale": Point(LAYERS["scale"].x, np.array([0.5, 1.5]))}
    axes = ({"hidden": None, "scale": Point(None, 0)}, 0)
    agree(several(many, np.stack([V, V + 1])), jax.jit(jax.vmap(jax.grad(loss(jnp)), axes))(many, np.stack([V, V + 1])))
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs, .* but got int64"):
        ingot.grad(lambda layer: layer.w * 2.0)(Layer(2.0, 3))
    zeros = ingot.grad(lambda layer: layer.w * 2.0, allow_int=True)(Layer(2.0, 3))
    assert zeros == Layer(2.0, 0.0)


def test_cotangents_are_found_by_their_keys():
    pull = ingot.vjp(lambda d: {"a": d["x"] * 2.0, "b": d["y"] * 3.0}, {"x": 1.0, "y": 1.0})[1]
    assert pull({"b": 1.0, "a": 10.0}) == ({"x": 20.0, "y": 3.0},)
    f = ingot.custom_vjp(lambda d: d["x"] * d["y"])
    f.defvjp(lambda d: (d["x"] * d["y"], d), lambda d, c: ({"y": c * d["x"], "x": c * d["y"]},))
    assert ingot.grad(f)({"x": 2.0, "y": 3.0}) == {"x": 3.0, "y": 2.0}
    for wrong in ({"a": 1.0}, (1.0, 1.0), 1.0, {"a": 1.0, "c": 1.0}):
        with pytest.raises(ValueError, match="structure|dict|keys"):
            pull(wrong)


@pytest.mark.rotated(5)
def test_rules_take_and_give_structures():
    def f(layer, x):
        return {"y": layer.w * x, "n": 3, "p": Point(layer.b, x)}

    by_jvp = ingot.custom_jvp(f)

    @by_jvp.defjvp
    def rule(primals, tangents):
        (layer, x), (dlayer, dx) = primals, tangents
        slope = {"y": 10 * (dlayer.w * x + layer.w * dx), "n": None, "p": Point(dlayer.b, dx)}
        return {"y": layer.w * x, "n": 3, "p": Point(layer.b, x)}, slope

    by_vjp = ingot.custom_vjp(f)
    by_vjp.defvjp(
        lambda layer, x: (f(layer, x), (layer, x)),
        lambda kept, c: (Layer(10 * c["y"] * kept[1], c["p"].x), 10 * c["y"] * kept[0].w + c["p"].y),
    )

    def total(f):
        return lambda layer, x: np.sum(f(layer, x)["y"]) * f(layer, x)["n"] + f(layer, x)["p"].x + np.sum(f(layer, x)["p"].y)

    layer = Layer(V, 2.0)
    for made in (by_jvp, by_vjp):
        agree(ingot.grad(total(made), (0, 1))(layer, V + 1), (Layer(30 * (V + 1), 1.0), 30 * V + 1))
    plain = ingot.grad(total(f), (0, 1))(layer, V + 1)
    kept = ingot.checkpoint(f)
    agree(ingot.grad(total(kept), (0, 1))(layer, V + 1), plain)
    agree(ingot.jvp(kept, (layer, V), (layer, V)), ingot.jvp(f, (layer, V), (layer, V)))
    count_first = ingot.checkpoint(lambda x: (3, x * x))
    assert ingot.grad(lambda x: count_first(x)[1])(2.0) == 4.0
    partly = ingot.custom_vjp(lambda d: d["x"] * d["y"])
    partly.defvjp(lambda d: (d["x"] * d["y"], d), lambda d, c: ({"x": c * d["y"], "y": None},))
    assert ingot.grad(partly)({"x": 2.0, "y": 3.0}) == {"x": 3.0, "y": 0.0}


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, x, scale=1.0):
        return np.sum(np.sin(self.w * x)) * scale

    @classmethod
    def plain(cls, x):
        return np.sum(x * x)

    def __call__(self, x):
        return self.loss(x)


def weighted(w, n, x, scale=1.0):
    return np.sum(np.sin(w * x)) * scale * n


@pytest.mark.rotated(4)
def test_methods_and_partials_are_differentiated():
    model = Model(np.array([1.0, 2.0, 3.0]))
    part = functools.partial(weighted, model.w, 1, scale=1.0)
    slope = model.w * np.cos(model.w * V)
    inside = ingot.jit(lambda x: (ingot.grad(model.loss)(x), ingot.grad(part)(x), ingot.grad(model)(x)))
    for _ in range(2):
        for made in (model.loss, model, part, functools.partial(model.loss), functools.partial(model.loss, scale=1.0)):
            np.testing.assert_allclose(ingot.grad(made)(V), slope)
            np.testing.assert_allclose(ingot.value_and_grad(made)(V)[1], slope)
            np.testing.assert_allclose(ingot.vjp(made, V)[1](1.0)[0], slope)
            np.testing.assert_allclose(ingot.linearize(made, V)[1](V), slope @ V)
            np.testing.assert_allclose(ingot.vmap(made)(np.stack([V, V]))[1], np.sum(np.sin(model.w * V)))
        for made in inside(V):
            np.testing.assert_allclose(made, slope)
        np.testing.assert_allclose(np.diag(ingot.hessian(model.loss)(V)), -(model.w**2) * np.sin(model.w * V))
        model.w[...] = [0.5, 1.5, 2.5]
        slope = model.w * np.cos(model.w * V)
    by_scale = ingot.grad(functools.partial(weighted, np.ones(3), 2), "scale")(V, scale=2.0)
    np.testing.assert_allclose(by_scale, 2 * np.sum(np.sin(V)))
    np.testing.assert_allclose(ingot.grad(Model.plain)(V), 2 * V)
    np.testing.assert_allclose(ingot.grad(model.plain)(V), 2 * V)
    kept = ingot.checkpoint(model.loss)
    np.testing.assert_allclose(ingot.grad(lambda x: kept(x))(V), slope)


@pytest.mark.rotated(3)
def test_pullbacks_are_mapped_and_compiled():
    x = np.array([1.0, 2.0, 3.0])
    value, pull = ingot.vjp(lambda x: x**3, x)
    linear = ingot.linearize(lambda x: x**3, x)[1]
    x[...] = 0.0
    for made in (ingot.vmap(lambda c: pull(c)[0]), ingot.jit(lambda cs: ingot.vmap(pull)(cs)[0]), ingot.vmap(lambda t: linear(t)), ingot.vmap(linear)):
        np.testing.assert_allclose(made(np.eye(3)), np.diag([3.0, 12.0, 27.0]))
    several = ingot.vjp(lambda p: p.x * p.y, Point(V, S))[1]
    agree(ingot.vmap(several)(np.eye(3)), jax.vmap(jax.vjp(lambda p: p.x * p.y, Point(V, S))[1])(np.eye(3)))
    shared = ingot.vjp(lambda a, b: a * b, V, V)[1]
    np.testing.assert_array_equal(shared(np.ones(3))[0], V)
    with pytest.raises(ingot.UnsupportedError, match="arrays that share memory, in compiled code"):
        ingot.vmap(lambda c: shared(c)[0])(np.eye(3))


def test_linearize_stays_at_its_point():
    x = np.array([1.0, 2.0])
    value, linear = ingot.linearize(lambda x: x * x, x)
    x[...] = 0.0
    np.testing.assert_array_equal(linear(np.ones(2)), [2.0, 4.0])

    def doubled(x):
        x *= 2
        return x * x

    x = np.array([1.0, 2.0])
    value, linear = ingot.linearize(doubled, x)
    np.testing.assert_array_equal(linear(np.ones(2)), [8.0, 16.0])
    np.testing.assert_array_equal(linear(np.ones(2)), [8.0, 16.0])


# By kind of argument: functions, and points where some of them have no derivative.
TIES = {
    "a number": (
        lambda np: lambda x: {
            "abs": np.abs(x),
            "builtin": abs(x),
            "fabs": np.fabs(x),
            "sign": np.sign(x),
            "relu": np.maximum(x, 0.0),
            "from below": np.minimum(0.0, x),
            "chosen": np.where(x > 0, x, 0.0),
            "clip": np.clip(x, 0.0, 1.0),
            "sqrt": np.sqrt(x),
            "cbrt": np.cbrt(x),
            "log": np.log(x),
            "powers": [x**1, x**2, x**3, x**0.5, np.power(x, -1.0)],
            "rounded": [np.floor(x), np.ceil(x), np.trunc(x), np.rint(x)],
            "ends": [np.arcsin(x), np.arccosh(x + 1)],
            "sinc": np.sinc(x),
            "finite": np.nan_to_num(x),
        },
        [(0.0,), (-0.0,), (1.0,)],
    ),
    "two numbers": (
        lambda np: lambda x, y: {
            "hypot": np.hypot(x, y),
            "maximum": np.maximum(x, y),
            "minimum": np.minimum(x, y),
            "fmax": np.fmax(x, y),
            "fmin": np.fmin(x, y),
            "clip": [np.clip(x, y, 1.0), np.clip(x, 0.0, y), np.clip(0.0, x, y), np.clip(1.0, x, y)],
            "arctan2": np.arctan2(x, y),
            "remainder": np.remainder(x, y),
            "fmod": np.fmod(x, y),
        },
        [(0.0, 0.0), (-0.0, 0.0), (1.0, 1.0), (6.0, 3.0), (-5.0, 3.0), (6.0, -3.0), (0.0, -2.0), (np.nan, 1.0), (1.0, np.nan)],
    ),
    "a sign": (lambda np: np.copysign, [(0.0, 1.0), (0.0, -1.0), (2.0, -1.0)]),
    "a power": (lambda np: np.power, [(0.0, 1.0), (0.0, 2.0), (0.0, 0.5), (0.0, -1.0), (-2.0, 2.0), (-0.0, 2.0)]),
    "an array": (
        lambda np: lambda x: {
            "max": np.max(x),
            "min": np.min(x),
            "ptp": np.ptp(x),
            "sort": np.sort(x),
            "prod": np.prod(x),
            "cumprod": np.cumprod(x),
            "norm": np.linalg.norm(x),
            "std": np.std(x),
        },
        [(np.array([1.0, 0.0, 1.0, 0.0]),), (np.ones(4),), (np.zeros(4),)],
    ),
}


@pytest.mark.rotated(4)
@pytest.mark.parametrize("name", TIES)
@pytest.mark.sampled(5)
def test_points_without_a_derivative(name):
    make, points = TIES[name]
    every = tuple(range(len(points[0])))
    for of, expected in ((ingot.jacfwd, jax.jacfwd), (ingot.jacrev, jax.jacrev)):
        made, expected = of(make(np), every), jax.jit(expected(make(jnp), every))
        for point in points:
            agree(made(*point), expected(*point))


def test_the_modulus_of_zero():
    for z in (0j, complex(-0.0, -0.0), 3 - 4j):
        agree(ingot.grad(np.abs)(z), jax.grad(jnp.abs)(z))
        agree(ingot.jvp(np.abs, (z,), (1 + 1j,))[1], jax.jvp(jnp.abs, (z,), (1 + 1j,))[1])


MODELS = """
import dataclasses, functools
import ingot, numpy as np

@dataclasses.dataclass
class Layer:
    w: object
    b: object

class Model:
    def __init__(self, w): self.w = w
    def loss(self, x): return np.sum(np.sin(self.w * x))

V = np.array([0.5, 1.5, -2.0])
model = Model(V + 1)
part = functools.partial(lambda w, x: np.sum(w * x * x), V)
pull = ingot.vjp(lambda x: x**3, V)[1]
pair = (V, 2.0)

def of_layer(layer): return np.sum(np.tanh(layer.w * layer.b))
def of_dict(d): return {"a": d["x"] * d["y"], "b": (d["y"] ** 2,)}
def of_pair(x): return np.sum(x * pair[0]) * pair[1]

calls = [
    (ingot.grad(of_layer), (Layer(V, 2.0),)),
    (ingot.hessian(of_dict), ({"x": V, "y": 2.0},)),
    (ingot.grad(model.loss), (V,)),
    (ingot.grad(part), (V,)),
    (ingot.vmap(pull), (np.eye(3),)),
    (ingot.grad(of_pair), (V,)),
    (ingot.jit(lambda x: ingot.grad(part)(x) + ingot.grad(model.loss)(x)), (V,)),
]

def results():
    made = [f(*given) for f, given in calls]
    numbers = [np.asarray(leaf).tolist() for one in made for leaf in ingot.tree.leaves(one)]
    return [numbers, [f.specialisations[0].why for f, _ in calls], [f.specialisations[0].not_stored for f, _ in calls]]
"""


@pytest.mark.rotated(4)
def test_derivatives_from_another_process(tmp_path):
    (tmp_path / "models.py").write_text(MODELS)
    show = "import models\nprint(json.dumps(models.results()))"
    made, whys, refused = run(tmp_path / "cache", show, cwd=tmp_path)
    assert set(whys) != {"the cache"} and not any(refused), refused
    again, whys, _ = run(tmp_path / "cache", show, cwd=tmp_path)
    assert again == made and set(whys) == {"the cache"}, whys
