"""`ingot.random`: against what JAX draws (`random_answers.py`), in compiled functions, batches, derivatives and threads."""

import ast
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot import random
from random_answers import ANSWERS
from support import MODES, jitted

ROOT = Path(__file__).resolve().parents[2]
KEY = np.array([3, 1415926535], np.uint32)


def tool():
    """tools/random_answers.py, which has the calls and the names in them."""
    spec = importlib.util.spec_from_file_location("random_answers_tool", ROOT / "tools" / "random_answers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = tool()
SPACE = TOOL.names(random)

EXACT = "PRNGKey split fold_in bits uniform randint bernoulli permutation choice categorical rademacher poisson geometric".split()
CLOSE = "normal exponential laplace cauchy truncated_normal gumbel logistic".split()


def calls_of(*functions):
    return [call for call in ANSWERS if call.partition("(")[0] in functions]


def drawn(call):
    """What a call gives, of the dtype and shape that JAX gives, and JAX's values or checksum."""
    dtype, shape, what = ANSWERS[call]
    value = np.asarray(eval(call, SPACE))
    if call.startswith("categorical") and dtype == "int32":
        dtype = "int64"
    assert (value.dtype.name, value.shape) == (dtype, shape)
    return value, what


def ulps(a, b, least=0.0):
    """How far a is from b, in ulp of b or of a least number."""
    return np.max(np.abs(a - b) / np.spacing(np.maximum(np.abs(b), b.dtype.type(least))))


def test_the_answers_are_those_of_the_calls():
    assert list(ANSWERS) == TOOL.CALLS.strip().split("\n")
    assert {call.partition("(")[0] for call in ANSWERS} == set(random.__all__) - {"key"}


@pytest.mark.slow
def test_the_answers_are_those_of_jax(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools" / "random_answers.py", tmp_path / "answers.py"], check=True, timeout=600)
    assert (tmp_path / "answers.py").read_text() == (Path(__file__).parent / "random_answers.py").read_text()


@pytest.mark.rotated(5)
def test_exact_answers():
    for call in calls_of(*EXACT):
        value, what = drawn(call)
        assert TOOL.answer(value)[2] == what, call


@pytest.mark.rotated(4)
def test_close_answers():
    for call in calls_of(*CLOSE):
        value, what = drawn(call)
        expected = np.array(what, value.dtype)
        if value.dtype.kind == "c":
            value, expected = value.view(np.float64), expected.view(np.float64)
        least = 1.0 if call.startswith(("gumbel", "logistic")) else 0.0
        assert ulps(value, expected, least) <= 3, call


@pytest.mark.rotated(5)
def test_families():
    for call in calls_of(*(set(random.__all__) - {*EXACT, *CLOSE})):
        value, what = drawn(call)
        bound = 1e-12 if value.dtype == np.float64 else 3e-6
        np.testing.assert_allclose(value, np.array(what, value.dtype), bound, bound, err_msg=call)


def test_float16():
    for call in [call for call in ANSWERS if "float16" in call]:
        value, what = drawn(call)
        assert TOOL.answer(value)[2] == what
    for name in ("gumbel", "logistic"):
        wide = getattr(random, name)(KEY, (500,), np.float16)
        assert wide.dtype == np.float16 and np.isfinite(wide).all()


def test_bounds_round_once():
    low, high = -3.3, 7.1
    x = random.uniform(KEY, (300,))
    once = [float(Fraction(one) * Fraction(high - low) + Fraction(low)) for one in x]
    bounded = random.uniform(KEY, (300,), minval=low, maxval=high)
    np.testing.assert_array_equal(bounded, once)
    assert (bounded != x * (high - low) + low).any()


def test_keys():
    np.testing.assert_array_equal(random.key(5), [0, 5])
    np.testing.assert_array_equal(random.PRNGKey(2**32 + 5, impl="threefry2x32"), [1, 5])
    assert random.PRNGKey(5).dtype == np.uint32
    first, second = random.split(KEY)
    np.testing.assert_array_equal(random.split(KEY, 9)[:2], [first, second])
    np.testing.assert_array_equal(random.fold_in(KEY, 1), second)
    assert random.split(KEY, 0).shape == (0, 2)


def test_dtypes():
    assert random.uniform(KEY).dtype == random.normal(KEY, (2,)).dtype == random.gamma(KEY, 1.0).dtype == np.float64
    assert random.randint(KEY, (2,), 0, 9).dtype == random.permutation(KEY, 3).dtype == random.choice(KEY, 3).dtype == np.int64
    assert random.bits(KEY).dtype == np.uint64
    assert random.bernoulli(KEY).dtype == np.bool_
    for dtype in (np.float32, "float32", np.dtype("f4")):
        assert random.normal(KEY, (3,), dtype).dtype == random.uniform(KEY, dtype=dtype).dtype == np.float32
    assert random.randint(KEY, (2,), 0, 9, "uint8").dtype == np.uint8
    logits = np.zeros(3)
    assert random.categorical(KEY, logits).dtype == np.int64
    assert random.categorical(KEY, logits, shape=(2,), replace=False).dtype == np.int64


def test_shapes():
    assert type(random.normal(KEY)) is np.float64 and type(random.randint(KEY, (), 0, 5)) is np.int64
    three = random.normal(KEY, (3,))
    for shape in (3, [3], np.int64(3)):
        np.testing.assert_array_equal(random.normal(KEY, shape), three)
    before = len(random.normal.specialisations)
    for n in range(40):
        assert random.normal(KEY, (n + 2,)).shape == (n + 2,)
        assert random.normal(KEY, (n, 0)).shape == (n, 0)
    assert len(random.normal.specialisations) <= before + 2
    np.testing.assert_array_equal(random.uniform(KEY, (2, 3)), random.uniform(KEY, (6,)).reshape(2, 3))


def raises(kind, message, function, *args, **kwargs):
    """Called from Python and in a compiled function."""
    for f in (function, ingot.jit(lambda *args, **kwargs: function(*args, **kwargs))):
        with pytest.raises(kind, match=message):
            f(*args, **kwargs)


@pytest.mark.rotated(3)
def test_errors():
    raises(TypeError, "unexpected PRNG key type <class 'int'>", random.normal, 3)
    raises(TypeError, "expected key_data.dtype = uint32; got dtype=int64", random.split, np.zeros(2, np.int64))
    raises(TypeError, r"expected key_data.shape to end with \(2,\); got shape=\(3,\)", random.bits, np.zeros(3, np.uint32))
    raises(ValueError, r"uniform accepts a single key, but was given a key array of shape \(4,\)", random.uniform, random.split(KEY, 4))
    raises(TypeError, "PRNG key seed must be an integer; got 1.5", random.PRNGKey, 1.5)
    raises(TypeError, "PRNGKey accepts a scalar seed", random.PRNGKey, np.arange(2))
    raises(ValueError, 'unrecognized PRNG implementation "rbg"', random.PRNGKey, 1, impl="rbg")
    raises(OverflowError, "Python integer -1 out of bounds for uint32", random.fold_in, KEY, -1)
    raises(TypeError, "fold_in accepts a scalar", random.fold_in, KEY, np.arange(2))
    raises(ValueError, "negative dimensions are not allowed", random.normal, KEY, (-3,))
    raises(TypeError, "'float' object cannot be interpreted as an integer", random.normal, KEY, (2.5,))
    raises(ValueError, "dtype argument to `uniform` must be a float dtype, got int64", random.uniform, KEY, (), int)
    raises(ValueError, "dtype argument to `bits` must be an unsigned int dtype, got int64", random.bits, KEY, (), np.int64)
    raises(ValueError, "`normal` must be a float or complex dtype, got int32", random.normal, KEY, (), np.int32)
    raises(TypeError, "randint only accepts integer dtypes, got float64", random.randint, KEY, (), 0, 9, float)
    raises(ValueError, r"got result \(3, 2\) for shape argument \(2,\)", random.uniform, KEY, (2,), minval=np.zeros((3, 2)))
    raises(ValueError, "shape mismatch", random.bernoulli, KEY, np.zeros(3), (2,))
    raises(TypeError, "`p` must have a floating dtype, got int64", random.bernoulli, KEY, 1)
    raises(ValueError, "expected 'high' or 'low'", random.bernoulli, KEY, 0.5, None, "none")
    raises(TypeError, "x must be an integer or at least 1-dimensional", random.permutation, KEY, 1.5)
    raises(np.exceptions.AxisError, "axis 3 is out of bounds", random.permutation, KEY, np.eye(2), 3)
    raises(TypeError, "must be a sequence, got 3", random.choice, KEY, 5, 3)
    raises(ValueError, r"larger sample \(size 7\) than population \(size 5\)", random.choice, KEY, 5, (7,), False)
    raises(ValueError, r"p has shape \(3,\) and a.shape\[axis\] is 5", random.choice, KEY, 5, (2,), p=np.ones(3))
    raises(ValueError, "a must be greater than 0", random.choice, KEY, 0, (2,))
    raises(ValueError, r"without replacement \(4\) cannot exceed", random.categorical, KEY, np.zeros(3), shape=(4,), replace=False)
    raises(ValueError, "Must provide valid mode for gumbel got: x", random.gumbel, KEY, mode="x")
    raises(ingot.UnsupportedError, 'the mode "highest" for float32', random.gumbel, KEY, (), np.float32, "highest")
    raises(ValueError, r"cov.shape == \(..., n, n\) for n=2", random.multivariate_normal, KEY, np.zeros(2), np.eye(3))
    with pytest.raises(TypeError, match="unexpected keyword argument 'out_sharding'"):
        random.normal(KEY, out_sharding=None)
    with pytest.raises(AttributeError, match="module 'ingot.random' has no attribute 'orthogonal'"):
        random.orthogonal


def iterate(key, n):
    total = 0.0
    for i in range(n):
        key, sub = random.split(key)
        if random.bernoulli(sub, 0.75):
            total += random.normal(random.fold_in(sub, i)) * random.randint(sub, (), 1, 5)
        else:
            total -= random.uniform(sub, (3,), minval=total).sum()
    return total


@pytest.mark.rotated(4)
def test_in_compiled_functions():
    expected = iterate(KEY, 20)
    for mode in MODES:
        assert jitted(iterate, mode)(KEY, 20) == pytest.approx(expected, rel=1e-12)

    def several(key):
        x = random.normal(key, (4, 3), np.float32)
        order = random.permutation(key, 5)
        return x, order, random.choice(key, x, (2,)), ingot.random.gamma(key, 2.0), random.poisson(key, 20.0, (3,))

    expected = several(KEY)
    for mode in MODES:
        for ours, theirs in zip(jitted(several, mode)(KEY), expected, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.rotated(3)
def test_batches():
    keys = random.split(KEY, 5)
    for draw in (random.normal, lambda k: random.uniform(k, (2, 3)), lambda k: random.permutation(k, 4), lambda k: random.split(k)):
        np.testing.assert_array_equal(ingot.vmap(draw)(keys), [draw(k) for k in keys])
    lows = np.arange(5.0)
    both = ingot.vmap(lambda k, low: random.uniform(k, (2,), minval=low, maxval=9.0))(keys, lows)
    np.testing.assert_array_equal(both, [random.uniform(k, (2,), minval=low, maxval=9.0) for k, low in zip(keys, lows, strict=True)])
    grid = ingot.vmap(ingot.vmap(random.bits))(random.split(KEY, (2, 3)))
    np.testing.assert_array_equal(grid.ravel(), [random.bits(k) for k in random.split(KEY, 6)])


def test_derivatives():
    def spread(scale, low):
        return (scale * random.normal(KEY, (3,)) + random.uniform(KEY, (3,), minval=low, maxval=4.0)).sum()

    _, slope = ingot.jvp(spread, (2.0, 1.0), (1.0, 0.0))
    assert slope == pytest.approx(random.normal(KEY, (3,)).sum(), rel=1e-14)
    _, slope = ingot.jvp(spread, (2.0, 1.0), (0.0, 1.0))
    assert slope == pytest.approx((1 - random.uniform(KEY, (3,))).sum(), rel=1e-14)
    step = 1e-6
    bounded = lambda low: random.truncated_normal(KEY, low, 3.0, (4,))  # noqa: E731
    np.testing.assert_allclose(ingot.jacfwd(bounded)(0.5), (bounded(0.5 + step) - bounded(0.5 - step)) / (2 * step), rtol=1e-6)


def test_threads():
    def shared(key, n):
        x = np.empty(n)
        for i in ingot.prange(n):
            x[i] = random.normal(random.fold_in(key, i))
        return x

    before = ingot.get_num_threads()
    compiled = ingot.jit(shared)
    try:
        results = []
        for threads in (1, 2):
            ingot.set_num_threads(threads)
            results.append((compiled(KEY, 30000), random.normal(KEY, (300000,))))
    finally:
        ingot.set_num_threads(before)
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
    keys = random.split(KEY, 40)
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda k: random.laplace(k, (50,)), keys))
    np.testing.assert_array_equal(at_once, [random.laplace(k, (50,)) for k in keys])


BY_PYTHON = """
import numpy as np, ingot, warnings
warnings.simplefilter("error")
from ingot import random
k = random.PRNGKey(11)
x = [random.split(k), random.fold_in(k, 9), random.bits(k, (3,), np.uint8), random.uniform(k, (2, 3), minval=-2.0, maxval=5.5)]
x += [random.randint(k, (), -3, 200, np.int8), random.bernoulli(k, 0.3, (5,)), random.permutation(k, 7), random.choice(k, 5, (3,))]
x += [random.normal(k), random.normal(k, (3,), np.float32), random.categorical(k, np.zeros((3, 4))), random.poisson(k, 50.0, (2,))]
x += [random.gamma(k, 0.5, (2,)), random.truncated_normal(k, -1.0, 2.0), random.normal.__name__]
print([np.asarray(v).tolist() for v in x])
"""


@pytest.mark.rotated(4)
def test_by_python():
    results = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "INGOT_DISABLE": disabled}
        done = subprocess.run([sys.executable, "-c", BY_PYTHON], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        results.append(ast.literal_eval(done.stdout))
    assert results[0][:8] == results[1][:8] and results[0][-1] == results[1][-1] == "normal"
    for ours, theirs in zip(*results, strict=True):
        assert ours == theirs or np.allclose(ours, theirs, rtol=1e-6)


def test_statistics():
    n = 40000
    moments = {
        "uniform": (0.5, 1 / 12),
        "normal": (0.0, 1.0),
        "exponential": (1.0, 1.0),
        "gumbel": (np.euler_gamma, np.pi**2 / 6),
        "laplace": (0.0, 2.0),
        "logistic": (0.0, np.pi**2 / 3),
        "rademacher": (0.0, 1.0),
    }
    for name, (mean, variance) in moments.items():
        x = getattr(random, name)(KEY, (n,))
        assert abs(x.mean() - mean) < 5 * np.sqrt(variance / n), name
        assert abs(x.var() - variance) < 0.06 * variance, name
    odds = np.bincount(random.choice(KEY, 4, (n,), p=np.array([0.1, 0.2, 0.3, 0.4]))) / n
    np.testing.assert_allclose(odds, [0.1, 0.2, 0.3, 0.4], atol=0.02)
    np.testing.assert_array_equal(np.sort(random.permutation(KEY, 3000)), np.arange(3000))


def test_stub():
    stub = ast.parse((ROOT / "python" / "ingot" / "random.pyi").read_text())
    seen = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert sorted(seen) == random.__all__ == dir(random)
    for name, node in seen.items():
        parameters = inspect.signature(getattr(random, name)).parameters.values()
        given = [*node.args.args, *node.args.kwonlyargs]
        assert [p.name for p in parameters] == [a.arg for a in given], name
        defaults = [ast.literal_eval(d) for d in (*node.args.defaults, *node.args.kw_defaults)]
        assert [p.default for p in parameters if p.default is not p.empty] == defaults, name


def test_each_rule_has_its_test():
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "random.md").read_text())
    defined = re.findall(r"^def (test_\w+)", Path(__file__).read_text(), flags=re.M)
    of_itself = {"test_each_rule_has_its_test", "test_the_answers_are_those_of_the_calls", "test_the_answers_are_those_of_jax"}
    assert sorted(set(named)) == sorted(set(defined) - of_itself)
