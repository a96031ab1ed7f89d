"""Calls are bound by a function's own parameters, whatever its attributes state of them."""

import functools
import inspect
import linecache
import pickle
import random
import types

import ingot
import numpy as np
import pytest
from support import difference

X = np.arange(4.0)


def scaled(a, b=1.0):
    return a * b + 1


def wrapping(function):
    """A decorator that makes functions of one parameter."""

    @functools.wraps(function)
    def wrapper(y):
        return function(y) * 10

    return wrapper


def swapped(function):
    @functools.wraps(function)
    def wrapper(u, v):
        return function(u, v) + 10 * u

    return wrapper


def with_default(function):
    @functools.wraps(function)
    def wrapper(x, scale=3.0, *, shift=0.5):
        return function(x) * scale + shift

    return wrapper


def general(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 100

    return wrapper


@swapped
def order(v, u):
    return v - u


one, defaulted, gathering = wrapping(scaled), with_default(scaled), general(general(scaled))


def outcome(function, args=(), kwargs=None):
    """What a call gives, or the class and message of what it raises."""
    try:
        return function(*args, **(kwargs or {}))
    except Exception as error:
        return type(error), str(error)


def same_calls(plain, compiled, calls):
    """Compares calls, each made anew, and as one of a kind that is known."""
    for args, kwargs in calls:
        expected = outcome(plain, args, kwargs)
        for _ in range(3):
            got = outcome(compiled, args, kwargs)
            assert difference(got, expected) is None, (inspect.getsource(plain), args, kwargs, got, expected)


def test_wrappers_are_bound_by_their_own_parameters():
    same_calls(one, ingot.jit(one), [((2.0,), {}), ((), {"y": 2.0}), ((), {"a": 2.0}), ((1.0, 2.0), {}), ((), {})])
    calls = [((1.0, 2.0), {}), ((), {"u": 1.0, "v": 2.0}), ((), {"v": 2.0, "u": 1.0}), ((1.0,), {"v": 2.0}), ((1.0,), {"u": 2.0})]
    same_calls(order, ingot.jit(order), calls)
    calls = [((1.0,), {}), ((1.0, 2.0), {}), ((1.0,), {"shift": 2.0}), ((), {"x": 1.0, "scale": 2.0}), ((1.0,), {"b": 2.0})]
    same_calls(defaulted, ingot.jit(defaulted), calls)
    calls = [((2.0,), {}), ((2.0, 3.0), {}), ((2.0,), {"b": 3.0}), ((), {"b": 3.0, "a": 1.0})]
    same_calls(gathering, ingot.jit(gathering), calls)
    assert inspect.signature(ingot.jit(one)) == inspect.signature(one) == inspect.signature(scaled)


def test_wrappers_of_marked_functions_are_not_those():
    """functools.wraps copies the marks of what it wraps."""

    class Holder:
        @general
        @ingot.jit
        def method(self, x):
            return x + 1

    @ingot.profile
    def numbers(x):
        yield x
        yield x + 1

    @functools.wraps(numbers)
    def doubled(x):
        for number in numbers(x):
            yield number * 2

    bound, compiled = Holder().method, ingot.jit(scaled)
    around = wrapping(compiled)

    def uses(x):
        return bound(x), sum(doubled(x)), around(x)

    same_calls(uses, ingot.jit(uses), [((2.0,), {})])
    assert ingot.grad(around)(2.0) == 10.0


def lying(function, **attributes):
    """A copy of a function whose attributes state something else."""
    copied = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copied.__kwdefaults__ = function.__kwdefaults__
    for name, value in attributes.items():
        setattr(copied, name, copied if value == "itself" else value)
    return copied


LIES = [
    {"__signature__": inspect.signature(lambda p, q, r=2: 0)},
    {"__signature__": inspect.signature(lambda *, a: 0)},
    {"__signature__": "no signature at all"},
    {"__signature__": lambda: inspect.signature(scaled)},
    {"__text_signature__": "($self, x, /)"},
    {"__wrapped__": "itself"},
    {"__wrapped__": len},
    {"__wrapped__": 3},
    {"__wrapped__": lambda b, a: 0},
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: "".join(lie).strip("_"))
def test_attributes_that_state_something_else(lie):
    f = lying(scaled, **lie)
    calls = [((2.0,), {}), ((2.0, 3.0), {}), ((), {"b": 2.0, "a": 1.0}), ((), {"p": 1.0}), ((), {}), ((1.0, 2.0, 3.0), {})]
    same_calls(scaled, ingot.jit(f), calls)


def test_doors_take_the_own_parameters():
    assert ingot.jit("float64(float64)")(one)(2) == 30.0
    assert ingot.jit(defaulted, static_argnames="scale")(1.0, scale=2) == defaulted(1.0, scale=2)
    assert ingot.jit(defaulted, static_argnums=1)(1.0, 2) == defaulted(1.0, 2)
    with pytest.raises(ValueError, match="invalid argnames {'b'}"):
        ingot.jit(defaulted, static_argnames="b")
    with pytest.raises(ValueError, match="only accepts 1 positional"):
        ingot.jit(one, static_argnums=1)
    np.testing.assert_array_equal(ingot.vectorize(one)(X), one(X))
    np.testing.assert_array_equal(ingot.vectorize(["float64(float64, float64)"])(order)(X, X + 1), order(X, X + 1))
    np.testing.assert_array_equal(ingot.vmap(order)(X, v=X + 1), order(X, X + 1))
    assert ingot.grad(order, argnums="v")(1.0, 2.0) == -1.0 and ingot.grad(order, argnums=("u", "v"))(1.0, v=2.0) == (11.0, -1.0)
    with pytest.raises(ValueError, match="the parameters are y"):
        ingot.grad(one, argnums="a")
    assert ingot.value_and_grad(one)(2.0) == (30.0, 10.0)
    assert ingot.jacfwd(one)(2.0) == ingot.jacrev(one)(2.0) == 10.0 and ingot.hessian(one)(2.0) == 0.0
    assert ingot.jvp(order, (1.0, 2.0), (1.0, 0.0)) == (9.0, 11.0)
    assert ingot.vjp(order, 1.0, 2.0)[1](1.0) == (11.0, -1.0)
    assert ingot.hvp(one, (2.0,), (1.0,)) == (0.0,)
    assert ingot.linearize(one, 2.0)[1](1.0) == 10.0
    assert ingot.grad(ingot.checkpoint(order))(1.0, 2.0) == 11.0

    @wrapping
    def row(x, out):
        out[0] = x[0]

    with pytest.raises(TypeError, match="has 2 arguments, `row` 1"):
        ingot.guvectorize("(float64[:], float64[:])", "(n)->(n)")(row)

    f = ingot.jit(one)
    f.compile(2.0)
    assert "(%y: f64)" in f.explain(2.0)
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level
    assert at_module_level(1.0) == 6.5
    with pytest.raises(TypeError) as error:
        f.compile(2.0, 3.0)
    assert str(error.value) == outcome(one, (2.0, 3.0))[1]


@ingot.jit
@with_default
def at_module_level(a):
    return a * 2


def test_rules_take_arguments_by_position():
    def product(a, b=2.0, c=3.0):
        return a * b * c

    with_rule = ingot.custom_jvp(product)

    @with_rule.defjvp
    def rule(primals, tangents):
        a, b = primals
        return product(a, b), 100.0 * tangents[0]

    reverse = ingot.custom_vjp(product)
    reverse.defvjp(lambda a, b: (product(a, b), b), lambda b, c: (1000.0 * c, 0.0))
    kept = ingot.checkpoint(product)
    for f, slope in ((with_rule, 100.0), (reverse, 1000.0), (kept, 15.0)):
        for g in (lambda x, f=f: f(x, b=5.0), lambda x, f=f: f(b=5.0, a=x)):
            assert g(2.0) == 30.0 and ingot.grad(lambda x, g=g: g(x))(2.0) == slope
        for kwargs in ({"d": 1.0}, {"a": 2.0}):
            for _ in range(2):
                assert outcome(lambda x, f=f, k=kwargs: f(x, **k), (1.0,)) == outcome(product, (1.0,), kwargs)
        assert outcome(f, (1.0,), {"c": 1.0}) == (TypeError, "a function with a rule of its own takes arguments in the order of its parameters, without leaving one out")


def test_kernels_take_the_own_parameters():
    from ingot import cuda

    def fill(out, value=1.0):
        out[cuda.grid(1)] = value

    @functools.wraps(fill)
    def kernel(*others):
        fill(*others)

    wrapped = cuda.jit(kernel)
    assert wrapped._bind((X, 2.0), {}) == (X, 2.0) and wrapped._bind((X,), {}) == (X,)
    f = cuda.jit(lying(fill, __wrapped__=lambda a: 0))
    assert f._bind((X,), {}) == (X, 1.0) and f._bind((), {"value": 3.0, "out": X}) == (X, 3.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'out'"):
        f._bind((), {"value": 3.0})
    with pytest.raises(TypeError, match="given by name alone"):
        cuda.jit(lying(lambda *, x: None, __wrapped__=lambda a: 0))


def test_changes_of_defaults_are_seen():
    f = lying(defaulted, __wrapped__=scaled)
    g = ingot.jit(f)
    assert g(1.0) == g(1.0) == 6.5
    for defaults, keyword_defaults in (((4.0,), {"shift": 0.5}), ((4,), {"shift": 1}), ((1.0, 2.0), {"shift": 1}), (None, {"shift": 1}), ((2.0,), None)):
        f.__defaults__, f.__kwdefaults__ = defaults, keyword_defaults
        same_calls(f, g, [((1.0,), {}), ((), {"scale": 2.0}), ((1.0, 2.0), {}), ((), {}), ((1.0,), {"shift": 2.0})])
    f.__kwdefaults__ = {"shift": 2.0}
    f.__kwdefaults__["shift"] = 3.0
    same_calls(f, g, [((1.0,), {}), ((1.0,), {"scale": 2.0})])


def test_other_code_has_other_parameters():
    f = lying(scaled)
    g = ingot.jit(f)
    assert g(1.0, 2.0) == g(1.0, 2.0) == 3.0
    for other in (lambda x: x + 5, lambda *rest, k=2.0: (rest, k), lambda a, b, /, c, **others: (a, c, others), scaled):
        f.__code__ = other.__code__
        f.__kwdefaults__ = other.__kwdefaults__
        same_calls(f, g, [((1.0,), {}), ((1.0, 2.0), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"b": 2.0}), ((1.0, 2.0), {"c": 1.0, "d": X})])
    h = ingot.jit(f, static_argnums=1)
    assert h(1.0, 2) == 3.0
    f.__code__ = (lambda x: x + 5).__code__
    with pytest.raises(ingot.UnsupportedError, match="whose code has got other parameters"):
        h(1.0)


def test_attributes_of_functions():
    f = lying(with_default(scaled))
    g = ingot.jit(f)
    for name in ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__", "__builtins__", "__name__", "__module__", "__doc__"):
        assert getattr(g, name) == getattr(f, name)
    assert g.__qualname__ == f.__qualname__ and g.__annotations__ == f.__annotations__ and g.__wrapped__ is f
    g.__defaults__ = (7.0,)
    assert f.__defaults__ == (7.0,) and g(1.0) == f(1.0) == 14.5
    del g.__defaults__
    assert f.__defaults__ is None
    with pytest.raises(TypeError) as error:
        g.__defaults__ = 3
    assert str(error.value) == outcome(setattr, (f, "__defaults__", 3))[1]
    with pytest.raises(TypeError, match="missing 1 required"):
        g(1.0)


def test_attributes_that_have_names_of_the_objects_own():
    f = lying(scaled, compile="mine", _call=None, _names=3, tag="kept")
    g = ingot.jit(f)
    g.compile(1.0)
    assert g(1.0) == 2.0 and g.tag == "kept"


def tagged(x):
    """What it does."""
    return x


def keyworded(x, y=2.0, *, z=3):
    return x


tagged.unit, tagged.table = 2.5, X
compiled_tagged = ingot.jit(tagged)


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_attributes_in_compiled_code(mode):
    def names(x):
        f = compiled_tagged
        return tagged.__name__, f.__qualname__, tagged.__module__, f.__doc__, len(tagged.__name__) * x

    def values(x):
        return tagged.unit * x, tagged.table + x, keyworded.__defaults__[0], keyworded.__kwdefaults__["z"], tagged.__defaults__ is None

    def missing(x):
        return tagged.nothing

    for function in (names, values, missing):
        compiled = ingot._calls.function.Function(function, mode=mode)
        same_calls(function, compiled, [((2.0,), {})])
        tagged.unit = 3.5
        same_calls(function, compiled, [((2.0,), {})])
        tagged.unit = 2.5
    for name in ("__code__", "__globals__", "__closure__", "__dict__"):
        f = of_text(f"def f(x):\n    return tagged.{name}\n", tagged=tagged)
        with pytest.raises(ingot.UnsupportedError, match=f"(?s)the attribute `{name}` of a function.*outside of compiled code"):
            ingot.jit(f)(1.0)


class Pair:
    factor = 2.0

    def __init__(self, left, right):
        self.left, self.right = left, right

    def sum(self, x, scale=1.0):
        return (self.left + self.right) * x * scale

    @general
    def decorated(self, x, scale=1.0):
        return self.sum(x, scale)

    @staticmethod
    @general
    def static(x, y=3.0):
        return x + y

    @classmethod
    @general
    def of_class(cls, x, y=3.0):
        return x * y * cls.factor

    __call__ = general(sum)
    part = functools.partialmethod(sum, scale=2.0)

    @functools.lru_cache
    def kept(self, x):
        return x


pair = Pair(1.0, 2.0)
of_pair, by_class = pair.sum, Pair.of_class
static_object = staticmethod(scaled)
tripled, of_array = functools.partial(scaled, b=3.0), functools.partial(np.dot, X)
nested_partial = functools.partial(tripled, 2.0)
kept = functools.cache(scaled)
checked = functools.lru_cache(maxsize=4)(scaled)


def test_methods_and_partial_functions_of_outside():
    def calls(x):
        return pair.decorated(x), pair.decorated(x, scale=2.0), pair.static(x), Pair.static(x, y=1.0), pair.of_class(x), pair(x), pair(x, scale=2.0)

    def bound(x):
        return of_pair(x), of_pair(x, scale=2.0), by_class(x), static_object(x)

    def partials(x):
        return tripled(x), tripled(x, b=2.0), of_array(X + x), nested_partial()

    for function in (calls, bound, partials):
        same_calls(function, ingot.jit(function), [((2.0,), {})])
    f = ingot.jit(bound)
    assert f(2.0) == bound(2.0)
    pair.left = 5.0
    assert f(2.0) == bound(2.0)
    g = ingot.jit(partials)
    assert difference(g(2.0), partials(2.0)) is None
    tripled.keywords["b"] = 4.0
    X[0] = 1.0
    assert difference(g(2.0), partials(2.0)) is None
    tripled.keywords["c"] = 1.0
    same_calls(partials, g, [((2.0,), {})])
    del tripled.keywords["c"]
    X[0] = 0.0
    assert ingot.grad(of_pair)(2.0) == 7.0 and ingot.grad(tripled)(2.0) == 4.0 and ingot.grad(pair)(2.0) == 7.0
    assert ingot.grad(of_pair, argnums="x")(2.0) == 7.0 and ingot.grad(tripled, argnums="a")(2.0) == 4.0
    np.testing.assert_array_equal(ingot.vmap(tripled)(X), tripled(X))


def test_what_keeps_results_is_refused():
    for function, what in (
        (lambda x: kept(x), "`kept`, a function that keeps its results,.*instead: call what it wraps: give its `__wrapped__` a name"),
        (lambda x: checked(x), "a function that keeps its results"),
        (lambda x: pair.kept(x), "`kept`, a method that is a _lru_cache_wrapper,.*instead: write a method that calls"),
        (lambda x: pair.part(x), "`part`, a method that is a partialmethod,"),
    ):
        with pytest.raises(ingot.UnsupportedError, match=f"(?s){what}"):
            ingot.jit(function)(2.0)


@pytest.mark.parametrize("door", [ingot.jit, ingot.vectorize, ingot.guvectorize("(float64[:])", "(n)"), ingot.export("float64(float64)"), ingot.cuda.jit])
def test_what_is_no_function(door):
    for given, advice in (
        (tripled, "not partial: write a function that calls it"),
        (pair.sum, "not method: decorate the function in its class"),
        (pair, "not Pair: decorate the function `__call__` of its class"),
        (kept, "not _lru_cache_wrapper: decorate the function first"),
        (staticmethod(scaled), "not staticmethod: decorate the function first, and make it a staticmethod then"),
        (classmethod(scaled), "not classmethod: decorate the function first"),
        (Pair.__dict__["part"], "not partialmethod: decorate the function first"),
        (Pair, "not type: write a function that makes an instance"),
        (abs, "not builtin_function_or_method: write a function that calls it"),
    ):
        if door is ingot.jit and isinstance(given, (functools.partial, types.MethodType)):
            continue  # which it takes
        with pytest.raises(TypeError, match=f"takes a Python function, {advice}"):
            door(given)


def of_text(text, **names):
    """The function `f` of a text, with source."""
    file = f"<parameters {len(linecache.cache)} {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names["f"]


def random_function(rng):
    """A function that returns the values of its parameters, with wrong attributes and defaults."""
    names = rng.sample(["a", "b", "c", "d", "e", "self", "args", "kwargs"], 6)
    positional_only, both, keyword_only = (rng.choice([0, 0, 1, 2]) for _ in range(3))
    own, parts, seen_default = [], [], False
    for i in range(positional_only + both):
        seen_default = seen_default or rng.random() < 0.3
        own.append(names[i])
        parts.append(f"{names[i]}={rng.choice(['1.5', '2', 'None', 'True'])}" if seen_default else names[i])
        if i + 1 == positional_only:
            parts.append("/")
    has_rest = rng.random() < 0.4
    if has_rest:
        own.append("rest")
        parts.append("*rest")
    elif keyword_only:
        parts.append("*")
    for name in ("k", "l")[:keyword_only]:
        own.append(name)
        parts.append(f"{name}=2.5" if rng.random() < 0.5 else name)
    if rng.random() < 0.4:
        own.append("others")
        parts.append("**others")
    f = of_text(f"def f({', '.join(parts)}):\n    return ({', '.join(own)}{',' * bool(own)})\n")
    for name, value in rng.choice([{}, *LIES]).items():
        setattr(f, name, f if value == "itself" else value)
    return f, own


def random_call(rng, own):
    args = tuple(rng.choice([1.5, 2.5]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4])))
    known = [name for name in own if name not in ("rest", "others")]
    left = known[len(args) :] if rng.random() < 0.8 else known
    names = [name for name in left if rng.random() < 0.6] + [name for name in ("others", "rest", "z", "p") if rng.random() < 0.08]
    rng.shuffle(names)
    return args, {name: rng.choice([1.5, 2.5]) for name in names}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_random_parameters_and_arguments(seed):
    """No list of arguments is bound otherwise than Python binds it, the first time and later."""
    rng = random.Random(seed)
    for _ in range(15):
        f, own = random_function(rng)
        g = ingot.jit(f)
        calls = [random_call(rng, own) for _ in range(8)]
        same_calls(f, g, calls)
        for args, kwargs in rng.sample(calls, 3):
            same_calls(f, g, [(args, kwargs)])
        if rng.random() < 0.5:
            f.__defaults__ = rng.choice([None, (), (2.0,), (2.0, 3.0, 4.0, 5.0)])
            f.__kwdefaults__ = rng.choice([None, {}, {"k": 7.0}, {"l": 8.0, "z": 1.0}])
            same_calls(f, g, calls[:4])


def deep(make, depth=300):
    value = 1.0
    for _ in range(depth):
        value = make(value)
    return value


@pytest.mark.parametrize("make", [lambda v: [v], lambda v: (v,), lambda v: {"a": v}, lambda v: [(v, {"b": 1.0})]], ids=["list", "tuple", "dict", "mixed"])
def test_deep_arguments(make):
    """They work, or are refused in words."""
    for depth in (60, 300, 1000):
        for function in (lambda x: 0, lambda x: x, lambda *x, **k: len(x), lambda x: len(x)):
            f, value = ingot.jit(function), deep(make, depth)
            for _ in range(2):
                try:
                    f(value)
                except (RecursionError, ingot.UnsupportedError):
                    pass


def test_descriptions_are_checked():
    """Comparing arguments with a description that is not theirs fails, and reads nothing beyond."""
    f = ingot.jit(scaled)
    described = f._describe([1.0, 2.0])
    assert described.recognises([2.0, 3.0])
    for values in ([], [1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(RuntimeError, match="by other parameters"):
            described.recognises(values)
        with pytest.raises(ValueError, match="a value for each parameter"):
            f._describe(values)
    for wrong in ((("a",), 1, 0, False, False), (("a", "b"), 1, 0, False, False), (("a", "b", "c"), 2, 0, True, False)):
        with pytest.raises(ValueError, match="not the parameters of the function's code"):
            f._bind_by(scaled.__code__, *wrong)
    assert f(1.0, 2.0) == 3.0


def test_arguments_that_change_while_they_are_recognised():
    """Keys of instances' dicts may run code, which may make the containers around shorter or longer."""
    actions = []

    class Key(str):
        def __hash__(self):
            return hash("value")

        def __eq__(self, other):
            actions.pop()() if actions else None
            return str.__eq__(self, other)

    class Holder:
        def __init__(self):
            self.__dict__[Key("other")] = 0.0
            self.value = 1.0

    f = ingot.jit(lambda items: items[0].value)
    for change in (list.clear, lambda items: items.extend([1.0] * 3), lambda items: items.pop()):
        items = [Holder(), 2.0, 3.0]
        assert f(items) == f(items) == 1.0
        actions.append(lambda: change(items))
        assert outcome(f, (items,)) in (1.0, (IndexError, "list index out of range"))
        actions.clear()
