"""NumPy's streams of random numbers, bit for bit: the rules of docs/semantics.md on them."""

import copy
import dataclasses
import threading

import numpy as np
import pytest

import ingot
from ingot._routines import draws
from ingot._calls.function import Function
from support import MODES, difference, jitted, outcome

BITS = {
    "PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM, "MT19937": np.random.MT19937, "Philox": np.random.Philox,
    "SFC64": np.random.SFC64,
}  # fmt: skip
SIZES = [None, 0, 1, 5, 130, (), (2, 3), (0, 4)]


def generator(seed=1, bits="PCG64"):
    return np.random.Generator(BITS[bits](seed))


def state_of(stream):
    state = stream.get_state(legacy=False) if isinstance(stream, np.random.RandomState) else stream.bit_generator.state
    return repr({k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in state.items() if k != "state"}) + repr(
        {k: np.asarray(v).tolist() for k, v in state["state"].items()}
    )


def compare(function, stream, *arguments, bound=0.0):
    """What a function of a stream gives, raises and leaves is what Python's is: the states, and mutated arrays, too."""
    expected_stream, expected_arguments = copy.deepcopy((stream, arguments))
    expected, error, _ = outcome(function, (expected_stream, *expected_arguments))
    for mode in MODES:
        own, given = copy.deepcopy((stream, arguments))
        got, got_error, _ = outcome(jitted(function, mode), (own, *given))
        if error is not None or got_error is not None:
            assert (type(got_error), str(got_error)) == (type(error), str(error)), (mode, got_error)
        else:
            assert difference(got, expected, bound) is None, (mode, difference(got, expected, bound))
        assert state_of(own) == state_of(expected_stream), mode
        assert difference(given, expected_arguments) is None, mode


def source(expression, parameters="g"):
    """A function written here, with its source where Ingot finds it."""
    import linecache

    text = f"def f({parameters}):\n    return {expression}\n"
    name = f"<random {len(linecache.cache)} {expression}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["f"]


SIMPLE = ["random", "standard_normal", "standard_exponential", "normal", "uniform", "exponential"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", SIMPLE)
def test_all_bit_generators(name, bits):
    compare(source(f"g.{name}(), g.{name}(7), g.{name}(), g.integers(10), g.integers(10, size=9), g.{name}(2)"), generator(3, bits))


BLOCKS = (0, 1, 7, 8, 9, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 2**15 + 1, 10**5 + 3)
WHOLE = {
    "random": "g.random(n), g.random(n, dtype=np.float32)",
    "standard_normal": "g.standard_normal(n), g.standard_normal(n, dtype=np.float32)",
    "standard_exponential": "g.standard_exponential(n), g.standard_exponential(n, dtype=np.float32)",
    "inverse": "g.standard_exponential(n, method='inv'), g.standard_exponential(n, dtype=np.float32, method='inv')",
    "with_parameters": "g.normal(1.0, 3.0, n), g.uniform(-1.0, 2.0, n), g.exponential(0.3, n)",
    "arrays_of_parameters": "[g.normal(a, b), g.uniform(a, a + b), g.exponential(b)] if (b := (a := np.arange(n) * 0.1) + 0.5) is not None else []",
    "integers": "g.integers(0, 1000, n), g.integers(0, 6, n, np.int32), g.integers(-5, 2**40 + 3, n), g.integers(-5, 2**62 + 7, n)",
    "all_integers": "g.integers(0, 2**32, n), g.integers(0, 2**32, n, np.uint32), g.integers(-2**63, 2**63 - 1, n, endpoint=True)",
    "many_rejections": "g.integers(0, 2**31 + 1, n), g.integers(0, 2**31 + 1, n, np.uint32), g.integers(-2**62, 2**62 + 1, n)",
    "permutation": "g.permutation(n), g.permutation(np.arange(n) * 0.5)",
    "permuted": "g.permuted(np.arange(2 * n).reshape(2, n), axis=1)",
}


def in_between(stream, times):
    """Draws by NumPy: whole words and halves of words."""
    for _ in range(times):
        stream.random()
        stream.random(dtype=np.float32)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", WHOLE)
def test_whole_arrays_of_any_length(name, bits):
    f = source(WHOLE[name], "g, n")
    compiled = ingot.jit(f)
    one, other = generator(9, bits), generator(9, bits)
    for k, n in enumerate(BLOCKS):
        assert difference(compiled(one, n), f(other, n)) is None, n
        assert state_of(one) == state_of(other), n
        in_between(one, k % 3)
        in_between(other, k % 3)


LEGACY_WHOLE = {
    "random_sample": "g.random_sample(n)",
    "standard_normal": "g.standard_normal(n)",
    "standard_exponential": "g.standard_exponential(n)",
    "with_parameters": "g.normal(1.0, 3.0, n), g.uniform(-1.0, 2.0, n), g.exponential(0.3, n)",
    "arrays_of_parameters": "g.normal(np.arange(n) * 0.1, 2.0), g.uniform(np.zeros(n), 3.0), g.exponential(np.arange(n) * 0.1)",
    "randint": "g.randint(0, 1000, n), g.randint(0, 6, n, np.int32), g.randint(-5, 2**40 + 3, n), g.randint(0, 2**32, n)",
    "permutation": "g.permutation(n), g.permutation(np.arange(n) * 0.5)",
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", LEGACY_WHOLE)
def test_whole_legacy_arrays_of_any_length(name, bits):
    f = source(LEGACY_WHOLE[name], "g, n")
    compiled = ingot.jit(f)
    one, other = (np.random.RandomState(BITS[bits](9)) for _ in range(2))
    for k, n in enumerate(BLOCKS):
        assert difference(compiled(one, n), f(other, n)) is None, n
        assert state_of(one) == state_of(other), n
        for stream in (one, other):
            for _ in range(k % 3):
                stream.standard_normal()
                stream.randint(0, 10, dtype=np.int32)


def test_counters_that_are_exhausted():
    f = source("g.random(40), g.random(3)")
    for counter in ([2**64 - 3, 5, 0, 0], [2**64 - 3, 2**64 - 1, 2**64 - 1, 2**64 - 1], [2**64 - 3, 2**64 - 1, 7, 1]):
        compare(f, np.random.Generator(np.random.Philox(counter=sum(word << 64 * i for i, word in enumerate(counter)), key=5)))


def test_classes_of_bits_that_are_derived():
    class Own(np.random.PCG64):
        pass

    compare(source("g.random(300), g.standard_normal(300)"), np.random.Generator(Own(3)))
    compare(source("g.random(300), g.standard_normal(300)"), generator(3))


@pytest.mark.parametrize("name", SIMPLE)
def test_sizes(name):
    compare(source(", ".join(f"g.{name}(size={size})" for size in [*SIZES, None])), generator())


def test_a_size_that_is_computed():
    compare(source("g.random((n, 3)), g.integers(0, 9, n), g.normal(size=n + 1)", "g, n"), generator(), 4)
    compare(source("g.random(n)", "g, n"), generator(), -1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SIMPLE[:3])
def test_dtypes_and_outputs(name, dtype):
    f = source(f"g.{name}(dtype=np.{dtype.__name__}), g.{name}(3, dtype=np.{dtype.__name__})")
    compare(f, generator())
    into = source(f"g.{name}(out=x, dtype=np.{dtype.__name__}), g.random()", "g, x")
    for x in (np.zeros(5), np.zeros((3, 4)), np.zeros((3, 4), order="F"), np.zeros(8)[::2], np.zeros(0), np.zeros((1, 3))):
        compare(into, generator(), x.astype(dtype, order="K") if x.flags.forc else x)
    compare(into, generator(), np.zeros(3, np.float32 if dtype == np.float64 else np.float64))
    compare(source(f"g.{name}(4, dtype=np.{dtype.__name__}, out=x)", "g, x"), generator(), np.zeros(3, dtype))


def test_an_output_is_returned():
    x = np.zeros(4)
    assert ingot.jit(source("g.random(out=x)", "g, x"))(generator(), x) is x


def test_an_output_that_is_read_only():
    def f(g, x):
        return g.random(out=x)

    x = np.zeros(4)
    x.flags.writeable = False
    for mode in MODES:
        with pytest.raises(ValueError, match="Supplied output array must be contiguous, writable"):
            jitted(f, mode)(generator(), x)


def test_other_dtypes_raise():
    compare(source("g.random(3, dtype=np.int32)"), generator())
    compare(source("g.integers(3, dtype=np.float32)"), generator())


INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("stream", ["generator", "legacy"])
def test_integers(dtype, stream):
    made = generator(5) if stream == "generator" else np.random.RandomState(5)
    call = "integers" if stream == "generator" else "randint"
    limits = np.iinfo(dtype) if dtype != "bool" else np.iinfo(np.uint8)
    low, high = (limits.min, limits.max) if dtype != "bool" else (0, 1)
    of = f"dtype=np.{dtype}"
    calls = [
        f"g.{call}({bounds}, size={size}, {of})"
        for bounds in ["0, 2", "1", f"{low}, {high}", f"{low}, {high + 1}", "0, 1"]
        for size in (None, None, 13, (2, 0))
    ]
    compare(source(", ".join(calls)), made)
    for bounds in [f"{low - 1}, {high}", f"{low}, {high + 2}", "1, 1", "1, 0", "0"]:
        if dtype in ("bool", "int8", "uint32", "int64"):
            compare(source(f"g.{call}({bounds}, size=3, {of})"), made)
    if dtype == "uint64":
        return
    compare(source(f"g.{call}(np.array([0, 0]), np.array([[1], [2]]), {of})"), made)
    compare(source(f"g.{call}(np.array([0, 0, 1]), 2, size=(4, 3), {of})"), made)
    compare(source(f"g.{call}(np.array([0, 2]), 2, {of})"), made)


def test_integers_at_run_time():
    f = source("[g.integers(a, b), g.integers(a, b, 5), g.integers(a, b, endpoint=True), g.integers(b)]", "g, a, b")
    for a, b in ((0, 10), (-5, 5), (-(2**63), 2**63 - 1), (3, 2), (np.int32(1), np.int64(7)), (2.7, 9.2)):
        compare(f, generator(), a, b)
    compare(source("g.integers(0, 1, endpoint=True), g.integers(5, dtype=int), g.integers(2, dtype=bool)"), generator())


PARAMETERS = {
    "normal": [(1.5, 2), (0, 0), (0, -0.0), (0, -1.0), (0, "np.nan"), ("np.nan", 1)],
    "uniform": [(-1, 3), (2, 2), (3, 1), (0, "np.inf"), ("np.nan", 1)],
    "exponential": [(2.5,), (0,), (-1,), ("np.nan",)],
    "beta": [(0.5, 0.5), (2, 3), (0, 1), (1, -1)],
    "standard_gamma": [(0.3,), (1,), (4.5,), (0,), (-1,)],
    "gamma": [(0.3, 2), (5, 0.5), (-1, 1), (1, -1)],
    "f": [(2, 3), (0, 1)],
    "noncentral_f": [(2, 3, 1), (2, 3, -1)],
    "chisquare": [(3,), (0,)],
    "noncentral_chisquare": [(3, 1), (0.5, 2), (3, -1)],
    "standard_cauchy": [()],
    "standard_t": [(3,), (0,)],
    "vonmises": [(0, 1), (1, 0), (0, -1)],
    "pareto": [(2,), (0,)],
    "weibull": [(2,), (0,), (-1,)],
    "power": [(2,), (0,)],
    "laplace": [(1, 2), (0, -1)],
    "gumbel": [(1, 2), (0, -1)],
    "logistic": [(1, 2), (0, -1)],
    "lognormal": [(1, 2), (0, -1)],
    "rayleigh": [(2,), (-1,)],
    "wald": [(1, 2), (0, 1)],
    "triangular": [(0, 1, 2), (2, 1, 3), (0, 3, 2), (1, 1, 1)],
    "poisson": [(0.5,), (30,), (-1,), ("np.nan",), (1e19,)],
    "geometric": [(0.3,), (0.01,), (0,), (1.5,), ("np.nan",)],
    "zipf": [(2,), (1,), ("np.nan",)],
    "logseries": [(0.4,), (1,), (-1,)],
    "binomial": [(10, 0.4), (100, 0.5), (5, 0), (-1, 0.5), (5, 1.5), (5, "np.nan")],
    "hypergeometric": [(5, 3, 4), (100, 50, 30), (5, 3, 9), (-1, 3, 1), (3, -1, 1), (3, 1, -1), (10**9, 1, 1)],
    "negative_binomial": [(5, 0.3), (0, 0.5), (1, 0), ("np.nan", 0.5), (1e19, 0.5)],
}
"""Parameters of the distributions of a Generator, wrong ones among them."""


def compare_distribution(name, made):
    """A method for its parameters above, of a new stream each: numbers, arrays, shapes, errors."""

    def call(parameters, **keywords):
        return f"g.{name}({', '.join([*map(str, parameters), *(f'{k}={v}' for k, v in keywords.items())])})"

    first, *others = PARAMETERS[name]
    calls = [call(first), call(first), call(first, size=3), call(first, size=(2, 0)), call(first, size=())]
    if first:
        calls += [call([f"np.array([[{first[0]}], [{first[0]}]])", *first[1:]], size=(2, 3))]
        calls += [call([f"np.array([{first[0]}, {first[0]}])", *first[1:]])]
    compare(source(", ".join(calls)), made())
    for parameters in others:
        compare(source(call(parameters)), made())
        compare(source(call([f"np.array([{parameters[0]}, {parameters[0]}])", *parameters[1:]])), made())
    if first:
        compare(source(call([f"np.array([{first[0]}, {first[0]}])", *first[1:]], size=3)), made())


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", PARAMETERS)
def test_distributions(name):
    compare_distribution(name, generator)


@pytest.mark.rotated(3)
@pytest.mark.parametrize("made", [generator, lambda: np.random.RandomState(5)], ids=["generator", "legacy"])
def test_distributions_of_vectors(made):
    for p in ([0.2, 0.3, 0.5], [1.0], [0.0, 1.0]):
        compare(source(f"g.multinomial(20, {p}), g.multinomial(20, np.array({p}), 3), g.multinomial(9, {p}, (2, 0)), g.uniform()"), made())
    for wrong in ("5, [0.9, 0.3, 0.1]", "-1, [0.5, 0.5]", "3, [1.5, 0]", "3, []", "3, np.array([0.7, 0.7, 0.1], np.float32)"):
        compare(source(f"g.multinomial({wrong})"), made())
    for alpha in ([1.0, 2.0, 0.5], [0.01, 0.05, 0.0], [0.0, 0.0], [3.0], [0.01, 0.05]):
        compare(source(f"g.dirichlet({alpha}), g.dirichlet(np.array({alpha}), 3), g.dirichlet({alpha}, (2, 2)), g.uniform()"), made())
    compare(source("g.dirichlet([-1.0, 1.0])"), made())


def test_parameters_are_broadcast():
    f = source("g.normal(a, b), g.uniform(a, a + b), g.exponential(b, size=(2, 3))", "g, a, b")
    compare(f, generator(), np.arange(6.0).reshape(2, 3), np.array([1, 2, 3]))
    compare(f, generator(), np.arange(6, dtype=np.int32).reshape(3, 2).T, np.float32(2))


LEGACY = ["random", "random_sample", "standard_normal", "standard_exponential", "normal", "uniform", "exponential", "poisson"]
LEGACY += ["laplace", "gumbel", "logistic"]


COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [None, 4, (2, 3), 0])
def test_normal_vectors(size):
    moments = np.array([1.0, -2.0, 0.0]), COVARIANCE
    for name in ("svd", "eigh", "cholesky"):
        compare(source(f"g.multivariate_normal(m, c, {size}, method={name!r}), g.random()", "g, m, c"), generator(), *moments, bound=1e-12)
    compare(source(f"g.multivariate_normal(m, c, {size}), g.rand()", "g, m, c"), np.random.RandomState(3), *moments, bound=1e-12)
    compare(source("g.multivariate_normal([1, 2], [[1.0, 0.0], [0.0, 2.0]])"), generator(), bound=1e-12)
    for wrong in ("m[None], c", "m, c[0]", "m[:2], c", "m, c - 5, 2, 'raise'", "m, c, 1, 'nonsense'"):
        compare(source(f"g.multivariate_normal({wrong})", "g, m, c"), generator(), *moments, bound=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", LEGACY)
def test_legacy_streams(name):
    stream = np.random.RandomState(4)
    stream.standard_normal()  # leaves the second number of a pair
    compare(source(", ".join(f"g.{name}(size={size})" for size in [None, *SIZES, None])), stream)
    for wrong in PARAMETERS.get(name, [])[1:]:
        compare(source(f"g.{name}({', '.join(map(str, wrong))}), g.standard_normal()"), stream)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", [name for name in PARAMETERS if name not in LEGACY])
def test_legacy_distributions(name):
    compare_distribution(name, lambda: np.random.RandomState(5))


ALGORITHMS = {
    "beta": [(2, 3), (0.5, 0.5), (1e-3, 2e-3), (1e-200, 0.5)],
    "standard_gamma": [(4.5,), (0.3,), (1,), (0,), (np.nan,)],
    "gamma": [(2.0, 1.5), (0.3, 2)],
    "chisquare": [(3,)],
    "noncentral_chisquare": [(3, 1), (0.5, 2), (0.5, 0), (3, np.nan), (0.5, np.nan)],
    "f": [(0.4, 7)],
    "noncentral_f": [(2, 3, 1)],
    "standard_cauchy": [()],
    "standard_t": [(3,)],
    "vonmises": [(3, 50), (1, 0), (2, 1e-6), (-2, 1e7), (0, np.nan)],
    "pareto": [(2,)],
    "weibull": [(0.3,), (0,)],
    "power": [(0.2,)],
    "lognormal": [(1, 2)],
    "rayleigh": [(2,)],
    "wald": [(1, 2), (1e3, 1e-3)],
    "geometric": [(0.3,), (0.5,), (1e-19,)],
    "zipf": [(2,), (1.1,)],
    "logseries": [(0.99,), (0,)],
    "binomial": [(10, 0.4), (10, 0.8), (1000, 0.7), (0, 0.5), (1, 1)],
    "hypergeometric": [(9, 5, 4), (5, 9, 8), (20, 30, 11), (15, 6, 20), (4, 0, 2), (10**9, 10**10, 10**6)],
    "negative_binomial": [(5, 0.3), (0.2, 0.01)],
}
"""Parameters for each way in which the legacy streams draw."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_legacy_algorithms(name):
    names = ["a", "b", "c"][: len(ALGORITHMS[name][0])]
    f = source(f"g.{name}({', '.join([*names, 'size=30'])}), g.{name}({', '.join(names)}), g.randn()", ", ".join(["g", *names]))
    stream = np.random.RandomState(7)
    stream.randn()  # leaves the second number of a pair
    for parameters in ALGORITHMS[name]:
        compare(f, stream, *(float(x) if name not in ("binomial", "hypergeometric") else x for x in parameters))


@pytest.mark.parametrize("call", ["multinomial(5, {})", "dirichlet({})"])
def test_legacy_vectors_of_another_shape(call):
    for given in ("[[0.5, 0.5]]", "np.ones((2, 2))", "np.array(0.5)", "[]", "(0.25, 0.75), 2"):
        compare(source("g." + call.format(given)), np.random.RandomState(3))


def test_random_integers():
    f = source("g.random_integers(6), g.random_integers(-2, 2, 9), g.random_integers(3, size=(2, 2)), g.random_integers(2, 2)")
    compare(f, np.random.RandomState(3))
    compare(source("g.random_integers(3, 1)"), np.random.RandomState(3))


def test_legacy_numbers_have_no_derivative():
    g, k = np.random.RandomState(3), np.array([2.0, 3.0])
    for f in (lambda s: g.gamma(2.0, s), lambda s: g.rayleigh(s * k).sum(), lambda s: g.binomial(3, s) * 1.0):
        with pytest.raises(ingot.UnsupportedError, match="the derivative of a random number with respect to its distribution"):
            ingot.grad(f)(0.5)
    drawn = copy.deepcopy(g).gamma(k[1], k)
    assert ingot.grad(lambda s: (s * g.gamma(k[1], k)).sum())(2.0) == drawn.sum()


def test_legacy_distributions_are_stored():
    """The C functions that they call are found again."""
    f = ingot.jit(source("g.gamma(2.0), g.vonmises(0, 1), g.rayleigh(), g.lognormal()"))
    f(np.random.RandomState(3))
    assert "an object" not in f.specialisations[0].not_stored


def test_rand_and_randn():
    compare(source("g.rand(), g.rand(3), g.rand(2, 2), g.randn(), g.randn(3), g.randn(), g.randn(1, 2)"), np.random.RandomState(1))


def test_pairs_of_normal_numbers():
    """A call that takes one of a pair leaves the other one to NumPy, and the other way round."""
    f = ingot.jit(source("g.randn()"))
    mine, other = np.random.RandomState(9), np.random.RandomState(9)
    got = [f(mine), mine.standard_normal(), f(mine), f(mine), mine.randn()]
    assert got == [other.randn() for _ in range(5)]
    assert state_of(mine) == state_of(other)


def test_legacy_streams_of_other_bits():
    compare(source("g.randn(), g.random(), g.randint(0, 9, 5), g.gamma(2.0, size=5), g.f(2, 3)"), np.random.RandomState(np.random.PCG64(3)))


def globally(function, *arguments):
    np.random.seed(12)
    expected = outcome(function, arguments)[:2]
    state = state_of(np.random.mtrand._rand)
    for mode in MODES:
        np.random.seed(12)
        got = outcome(jitted(function, mode), arguments)[:2]
        assert difference(got[0], expected[0]) is None, (mode, got, expected)
        assert repr(got[1]) == repr(expected[1])
        assert state_of(np.random.mtrand._rand) == state


@pytest.mark.rotated(3)
def test_the_global_stream():
    globally(source("np.random.rand(), np.random.rand(3), np.random.randn(2, 2), np.random.random(2), np.random.random_sample()", ""))
    globally(source("np.random.uniform(1, 2), np.random.normal(0, 3, 3), np.random.standard_normal(3)", ""))
    globally(source("np.random.randint(10), np.random.randint(0, 5, (2, 2)), np.random.exponential(2.0)", ""))
    globally(source("np.random.choice(10, 3), np.random.choice(5), np.random.permutation(6), np.random.poisson(3, 4)", ""))
    globally(source("np.random.normal(0, -1)", ""))
    calls = [f"np.random.{name}({', '.join(map(str, ALGORITHMS[name][0]))})" for name in ALGORITHMS]
    calls += ["np.random.multinomial(9, [0.5, 0.5], 2)", "np.random.dirichlet([1.0, 2.0])", "np.random.gamma(2.0, size=2)"]
    globally(source(", ".join(calls), ""))
    globally(source("np.random.random_integers(5), np.random.random_integers(5, 9, 3)", ""))


def test_seeding():
    def f(n):
        np.random.seed(n)
        a = np.random.rand()
        np.random.seed(n + 1)
        return a, np.random.randn(3), np.random.randn()

    globally(f, 5)
    globally(f, -5)

    def g(stream, n):
        a = stream.randn()
        stream.seed(n)
        return a, stream.randn(), stream.randint(100)

    compare(g, np.random.RandomState(3), 8)


def test_streams_from_outside():
    stream = generator(8)
    captured = generator(8)
    table = {"stream": stream}

    def closure():
        return captured.random(), captured.normal()

    space = {"stream": stream}
    exec("", space)
    f = ingot.jit(closure)
    other = generator(8)
    assert [f(), f()] == [(other.random(), other.normal()), (other.random(), other.normal())]
    captured = generator(9)  # another object under the name
    other = generator(9)
    assert f() == (other.random(), other.normal())
    assert len(f.specialisations) == 1
    del table


GLOBAL = generator(6)


def test_a_global_stream():
    global GLOBAL

    def f(n):
        return GLOBAL.random(n)

    g = ingot.jit(f)
    GLOBAL = generator(6)
    assert (g(3) == generator(6).random(3)).all()
    GLOBAL = generator(7)
    assert (g(3) == generator(7).random(3)).all()


def test_two_streams_and_the_same_twice():
    def f(a, b):
        return a.random(), b.random(), a.integers(100), b.normal(size=2), a is b

    a, b = generator(1), generator(2)
    for pair in ((a, b), (a, a)):
        expected = f(*copy.deepcopy(pair))
        for mode in MODES:
            assert difference(jitted(f, mode)(*copy.deepcopy(pair)), expected) is None
    shared = np.random.PCG64(4)
    one, two = np.random.Generator(shared), np.random.Generator(shared)
    other = np.random.Generator(np.random.PCG64(4))
    assert ingot.jit(f)(one, two)[:2] == (other.random(), other.random())


@dataclasses.dataclass
class Model:
    stream: np.random.Generator
    scale: float

    def step(self):
        return self.stream.normal(0, self.scale)


def test_streams_in_containers_and_instances():
    def f(model, streams, pair, table):
        total = model.step()
        for stream in streams:
            total += stream.random()
        model.scale = total * total
        return total, pair[0].random(2), table["a"].integers(5), model.step(), streams[0]

    def arguments():
        one = generator(1)
        return Model(generator(5), 2.0), [one, generator(2)], (generator(3), 1), {"a": one}

    given = arguments()
    expected = f(*given)
    for mode in MODES:
        own = arguments()
        got = jitted(f, mode)(*own)
        assert difference(got[:-1], expected[:-1]) is None
        assert got[-1] is own[1][0] and own[0].scale == given[0].scale
        assert state_of(own[1][0]) == state_of(given[1][0])


def test_monte_carlo():
    def pi(g, n):
        inside = 0
        for _ in range(n):
            x = g.random()
            y = g.random()
            if x * x + y * y < 1.0:
                inside += 1
        return 4.0 * inside / n

    compare(pi, generator(), 1000)


def test_draws_are_in_the_order_of_the_program():
    def f(g, h, x):
        g.random()  # of no use but to the stream
        for i in range(len(x)):
            if x[i] > 0.5:
                x[i] += g.random() if i % 3 else h.normal()
            elif x[i] > 0.25:
                g.integers(10)
        y = x * 3 + g.random(len(x))
        unused = g.normal(size=4)
        z = g.random(len(x)) * 2 + y
        return y, z, [g.random() for _ in range(3)], g.random() - g.random()

    arguments = generator(1), generator(2), np.linspace(0, 1, 50)
    expected = copy.deepcopy(arguments)
    result = f(*expected)
    for mode in MODES:
        own = copy.deepcopy(arguments)
        assert difference(jitted(f, mode)(*own), result) is None
        assert [state_of(s) for s in own[:2]] == [state_of(s) for s in expected[:2]]


def test_a_second_call_continues():
    f = ingot.jit(source("g.random(3)"))
    mine, other = generator(), generator()
    assert (np.concatenate([f(mine), mine.random(2), f(mine)]) == other.random(8)).all()


@pytest.mark.rotated(3)
def test_shuffles():
    for x in (np.arange(10), np.arange(7.0)[::-1], np.arange(12).reshape(4, 3), np.zeros(0), np.zeros((0, 3)), np.arange(6) > 2):
        compare(source("g.shuffle(x)", "g, x"), generator(), x)
        compare(source("g.shuffle(x)", "g, x"), np.random.RandomState(2), x)
        compare(source("g.permutation(x), g.random()", "g, x"), generator(), x)
        compare(source("g.permutation(x), g.rand()", "g, x"), np.random.RandomState(2), x)
    compare(source("g.shuffle(x, axis=1)", "g, x"), generator(), np.arange(12).reshape(3, 4))
    compare(source("g.permutation(x, axis=1)", "g, x"), generator(), np.arange(12).reshape(3, 4))
    compare(source("g.permutation(10), g.permutation(0)"), generator())
    compare(source("g.permutation(x)", "g, x"), np.random.RandomState(2), np.int32(5))
    compare(source("g.shuffle(x, axis=2)", "g, x"), generator(), np.zeros((2, 2)))
    for axis in (None, 0, 1, -1):
        compare(source(f"g.permuted(x, axis={axis}), g.random()", "g, x"), generator(), np.arange(12).reshape(3, 4))


@pytest.mark.rotated(4)
def test_choices():
    p = np.array([0.1, 0.2, 0.0, 0.4, 0.3])
    for stream in (generator(), np.random.RandomState(1)):
        for size in (None, 0, 4, (2, 2), ()):
            compare(source(f"g.choice(5, {size}), g.choice(a, {size})", "g, a"), stream, np.arange(5) * 1.5)
            compare(source(f"g.choice(5, {size}, p=p)", "g, p"), stream, p)
            compare(source(f"g.choice(5, {size}, replace=False), g.choice(5, {size}, False, p)", "g, p"), stream, p)
        compare(source("g.choice(5, 6, replace=False)"), stream)
        compare(source("g.choice(0)"), stream)
        compare(source("g.choice(a, 3)", "g, a"), stream, np.zeros(0))
        for wrong in (p * 2, -p, p[:3], p * np.nan, p.reshape(1, 5)):
            compare(source("g.choice(5, 2, p=p)", "g, p"), stream, wrong)
    compare(source("g.choice(a, 2, axis=1), g.choice(a, 2, False)", "g, a"), generator(), np.arange(12).reshape(3, 4))
    compare(source("g.choice(20000, 1000, replace=False), g.choice(20000, 300, False, shuffle=False)"), generator())
    compare(source("g.choice(1000, 100, replace=False), g.choice(50, 20, False, shuffle=False)"), generator())


def test_streams_that_are_made():
    def f(seed):
        g = np.random.default_rng(seed)
        h = np.random.default_rng(seed)
        return g.random(), g.normal(size=3), h.integers(0, 100, 4), g.standard_normal(2, dtype=np.float32), h.integers(5, dtype=np.int16)

    def several(n):
        total = 0.0
        for i in range(n):
            total += np.random.default_rng(i).random()
        return total

    def of_many():
        return np.random.default_rng([1, 2, 3]).random(), np.random.default_rng(np.array([1, 2, 3])).random()

    for function, arguments in ((f, (5,)), (f, (np.int32(7),)), (f, (-1,)), (several, (20,)), (of_many, ())):
        expected, error, _ = outcome(function, arguments)
        for mode in MODES:
            got, got_error, _ = outcome(jitted(function, mode), arguments)
            assert difference(got, expected) is None and repr(got_error) == repr(error), (got_error, error)

    def fresh():
        return np.random.default_rng().random()

    assert 0 <= ingot.jit(fresh)() < 1

    def passed(g):
        return np.random.default_rng(g).random(), np.random.default_rng(g) is g

    compare(passed, generator())


def test_bit_generators_take_one_specialisation():
    f = ingot.jit(source("g.random()"))
    for bits in BITS:
        assert f(generator(3, bits)) == generator(3, bits).random()
    assert len(f.specialisations) == 1


def test_iterations_of_a_parallel_loop_do_not_draw():
    def f(g, n):
        x = np.empty(n)
        for i in ingot.prange(n):
            x[i] = g.random()
        return x

    for mode in MODES:
        with pytest.raises(ingot.UnsupportedError, match="a prange loop whose iterations draw random numbers"):
            jitted(f, mode)(generator(), 10)


def test_threads_draw_one_after_the_other():
    def f(g, x):
        for i in range(len(x)):
            x[i] = g.random()

    mine, other = generator(3), generator(3)
    call = ingot.jit(f)
    parts = [np.empty(200_000) for _ in range(2)]
    call(generator(), parts[0][:1])
    threads = [threading.Thread(target=call, args=(mine, part)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = other.random(400_000)
    first, second = parts if parts[0][0] == expected[0] else parts[::-1]
    assert (first == expected[:200_000]).all() and (second == expected[200_000:]).all()
    assert state_of(mine) == state_of(other)


def test_the_lock_is_let_go_when_a_call_raises():
    def f(g, x):
        g.random()
        return x[5]

    g = generator()
    for mode in MODES:
        with pytest.raises(IndexError):
            jitted(f, mode)(g, np.zeros(3))
    done = []
    thread = threading.Thread(target=lambda: done.append(g.random()))
    thread.start()
    thread.join(5)
    assert done


def test_attributes_that_are_not_there():
    def get(g):
        return g.nothing

    def put(g):
        g.x = 3

    for stream in (generator(), np.random.RandomState(1)):
        compare(get, stream)
        compare(put, stream)


class Own(np.random.Generator):
    pass


def test_what_is_refused():
    def leaves():
        return np.random.default_rng(1)

    def bits(g):
        return g.bit_generator

    def spawned(g):
        return g.spawn(2)

    def drawn(g):
        return g.random()

    def several(g):
        return g.multivariate_hypergeometric([3, 4], 2)

    def chosen_by_paths(g, h, n):
        total = 0.0
        for i in range(n):
            total += (g if i % 2 else h).random()
        return total

    with pytest.raises(ingot.UnsupportedError):
        ingot.jit(chosen_by_paths)(generator(1), generator(2), 3)

    def unbound(g):
        return np.random.Generator.random(3)

    def of_another(g):
        return np.random.RandomState.randn(g)

    for function in (unbound, of_another):
        with pytest.raises(ingot.UnsupportedError, match="of what is no"):
            ingot.jit(function)(generator())
    legacy = [(source(f"np.random.{call}", ""), ()) for call in ("get_state()", "set_state(())", "bytes(3)")]
    legacy += [(source("g.tomaxint()"), (np.random.RandomState(1),))]
    others = [(leaves, ()), (bits, (generator(),)), (spawned, (generator(),)), (several, (generator(),))]
    for function, arguments in legacy + others:
        with pytest.raises(ingot.UnsupportedError):
            ingot.jit(function)(*arguments)
    with pytest.raises(ingot.UnsupportedError):
        ingot.jit(drawn)(Own(np.random.PCG64(1)))
    with pytest.raises(ingot.UnsupportedError):
        ingot.jit(drawn)(np.random.Generator.__new__(np.random.Generator))


def test_a_stream_is_not_recorded(tmp_path):
    with pytest.raises(ingot.UnsupportedError, match="draws from a stream"):
        ingot.jit(source("g.random()")).record(generator(), path=tmp_path)


@pytest.fixture
def another_numpy(monkeypatch):
    draws.is_as_known.cache_clear()
    monkeypatch.setattr(np, "__version__", "2.99.0")
    yield monkeypatch
    draws.is_as_known.cache_clear()


def test_another_numpy_that_draws_the_same_is_taken(another_numpy):
    for text in ("g.random()", "g.integers(0, 9, 5)", "g.choice(9, 3)", "np.random.default_rng(3).wald(1.0, 2.0)"):
        f = source(text)
        assert difference(Function(f)(generator()), f(generator())) is None
    np.random.seed(3)
    first = ingot.jit(lambda: np.random.rand(3))()
    np.random.seed(3)
    assert difference(first, np.random.rand(3)) is None


def test_another_numpy_that_draws_otherwise_is_refused(another_numpy):
    another_numpy.setitem(draws.ANSWERS, "Generator.normal", "another")
    with pytest.raises(ingot.UnsupportedError, match=r"`np.random.Generator.normal` of NumPy 2.99.0, which gives other numbers") as error:
        ingot.jit(source("g.normal()"))(generator())
    assert "build Ingot with the NumPy that it is to run with" in str(error.value)
    another_numpy.setitem(draws.ANSWERS, "RandomState.random_sample", "another")
    with pytest.raises(ingot.UnsupportedError, match=r"`np.random.ranf` of NumPy"):
        ingot.jit(lambda: np.random.ranf())()


def test_known_answers_of_random_numbers():
    """Those of `_draws.ANSWERS`, which are made anew with another NumPy: `{q: answer(q) for q in questions()}`."""
    assert {question: draws.answer(question) for question in draws.questions()} == draws.ANSWERS


def test_every_method_that_is_compiled_has_an_answer():
    from ingot.library._index import INDEX

    paths = {path for module, path, _ in INDEX if module == "numpy.random"}
    assert {draws._method_of(path) for path in paths} <= set(draws.ANSWERS)


def test_bounds_of_random_integers_are_lengths():
    def drawn(r):
        a = np.zeros(5)
        return r.integers(0, len(a)), r.integers(0, a.shape[0], 2), r.integers(a.shape[0]), r.choice(np.arange(5), 2), r.choice(a, 2)

    def large(r):
        return r.integers(0, 2**64 - 1, dtype=np.uint64), r.integers(2**63, 2**64, dtype=np.uint64), r.integers(-3, 3)

    for function in (drawn, large):
        for mode in MODES:
            assert difference(jitted(function, mode)(np.random.default_rng(3)), function(np.random.default_rng(3))) is None
