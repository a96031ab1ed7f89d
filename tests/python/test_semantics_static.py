"""Arguments that `ingot.jit(static_argnums=, static_argnames=)` makes constants of."""

import copy
import dataclasses
import enum
import pickle
from fractions import Fraction

import numpy as np
import pytest

import ingot
from support import difference

X = np.arange(6.0).reshape(2, 3)


class Mode(enum.Enum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass(frozen=True)
class Options:
    axis: int
    scale: float = 2.0


def branches(x, how):
    if how == "sum":
        return x.sum()
    if how is None:
        return x
    return x * how


def along(x, axis):
    return np.sum(x, axis)


def shaped(x, shape, dtype=np.float64):
    return np.zeros(shape, dtype) + x


def applied(f, x):
    return f(x)


def of_mode(x, mode):
    return x * 2 if mode is Mode.LOW else x / 2


def of_options(x, options):
    return np.sum(x, options.axis) * options.scale


def unread(x, chosen):
    return x


def characters(x, text):
    total = x
    for character in text:
        total = total * 10 + ord(character)
    return total


CALLS = [
    (branches, 1, [(X, "sum"), (X, None), (X, 2), (X, 2.0), (X, True), (X, np.float32(3)), (X, 10**30)]),
    (along, 1, [(X, 0), (X, -1), (X, None), (X, (0, 1))]),
    (shaped, (1, 2), [(1, (2, 3)), (1, 4), (1.5, (), np.float32), (1, (2,), "int64"), (1, 2, np.dtype("u1")), (1, 2, int)]),
    (applied, 0, [(np.sin, 1.0), (abs, -2), (lambda x: x + 1, 1), (ingot.jit(lambda x: x * 2), 4)]),
    (of_mode, 1, [(1.0, Mode.LOW), (1.0, Mode.HIGH)]),
    (of_options, 1, [(X, Options(0)), (X, Options(1, 3.0)), (X, Options(0))]),
    (unread, 1, [(2.0, frozenset({1, 3})), (2.0, Fraction(1, 2)), (2.0, range(3))]),
    (characters, 1, [(1, "ab"), (2, "é"), (0, "")]),
]


@pytest.fixture
def direct(monkeypatch):
    def second(function, *arguments, **keywords):
        function(*arguments, **keywords)
        with monkeypatch.context() as patch:
            patch.setattr(ingot._calls.function.Function, "_call", lambda self, *given: pytest.fail("called through Python"))
            return function(*arguments, **keywords)

    return second


@pytest.mark.parametrize("function, static, calls", CALLS, ids=[f.__name__ for f, _, _ in CALLS])
def test_static_values_are_constants(function, static, calls, direct):
    compiled = ingot.jit(function, static_argnums=static)
    for _ in range(2):
        for args in calls:
            assert difference(direct(compiled, *args), function(*args)) is None


def test_each_value_has_one_specialisation():
    f = ingot.jit(lambda x, n: x * n, static_argnums=1)
    values = [1, 1.0, True, np.int64(1), np.float32(1), 2, 0.0, -0.0, 1j]
    for _ in range(3):
        for value in values:
            got = f(3, value)
            assert type(got) is type(3 * value) and got == 3 * value and np.signbit(np.real(got)) == np.signbit(np.real(3 * value))
    assert len(f.specialisations) == len(values)
    many = ingot.jit(lambda x, n: x + n, static_argnums=1)
    assert [many(1, n) for n in range(30)] == list(range(1, 31)) and len(many.specialisations) == 30
    g = ingot.jit(unread, static_argnums=1)
    for values in ({1, 3}, {3, 1}, {3.0, 1}, {True, 3}):
        assert g(2.0, frozenset(values)) == 2.0
    assert len(g.specialisations) == 3
    h = ingot.jit(unread, static_argnums=1)
    for _ in range(3):
        assert h(1, range(3)) == 1 and h(1, range(4)) == 1
    assert len(h.specialisations) == 2


def test_static_arguments_are_given_by_position_or_name(direct):
    def f(x, n, *, m=2):
        return np.zeros(n).shape, np.zeros((m,)).shape, x

    for options in ({"static_argnums": (1,), "static_argnames": "m"}, {"static_argnames": ["n", "m"]}, {"static_argnames": {"m", "n"}}):
        g = ingot.jit(**options)(f)
        assert direct(g, 1, 3) == ((3,), (2,), 1)
        assert direct(g, n=4, x=2.0, m=5) == ((4,), (5,), 2.0)
        with pytest.raises(TypeError, match="missing 1 required positional"):
            g(1)
    assert ingot.jit(f, static_argnums=-1)(1, 2) == ((2,), (2,), 1)


def test_static_arguments_that_are_gathered(direct):
    def f(x, *args, **kwargs):
        return np.sum(args[1], axis=args[0]) * x, np.sum(kwargs["a"], axis=kwargs["axis"]), args[2:], kwargs

    g = ingot.jit(f, static_argnums=1, static_argnames="axis")
    for axis in (0, 1, None):
        args, kwargs = (2.0, axis, X, 5), {"a": X, "axis": axis, "b": 7}
        assert difference(direct(g, *args, **kwargs), f(*args, **kwargs)) is None
    g(2.0, 0, X, 5, a=X, axis=0, b=7)
    count = len(g.specialisations)
    g(2.0, 0, X, 6, a=X, axis=0, b=8)
    assert len(g.specialisations) == count
    with pytest.raises(ValueError, match="Non-hashable"):
        g(2.0, [0], X, a=X, axis=0)
    with pytest.raises(ValueError, match="Non-hashable"):
        g(2.0, 0, X, a=X, axis=[0])


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, np.ones(2), (1, [2]), bytearray(b"a")])
def test_values_that_are_not_hashable(value):
    f = ingot.jit(lambda x, n: x, static_argnums=1)
    assert f(1, 2) == f(1, 2) == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="Non-hashable static arguments are not supported"):
            f(1, value)
        with pytest.raises(ValueError, match="Non-hashable static arguments are not supported"):
            f(1, n=value)


def test_wrong_options():
    def f(x, y):
        return x

    for number in (2, -3, (0, 5)):
        with pytest.raises(ValueError, match="only accepts 2 positional arguments"):
            ingot.jit(f, static_argnums=number)
    with pytest.raises(ValueError, match=r"invalid argnames \{'z'\} in static_argnames"):
        ingot.jit(f, static_argnames=("x", "z"))
    for options in ({"static_argnums": "x"}, {"static_argnums": 1.0}, {"static_argnames": 1}, {"static_argnames": (1,)}):
        with pytest.raises(TypeError):
            ingot.jit(f, **options)
    with pytest.raises(ValueError, match="only accepts 1 positional"):
        ingot.jit(lambda x, *, y: x, static_argnums=1)
    with pytest.raises(TypeError, match="static arguments of a function with signatures"):
        ingot.jit("float64(float64)", static_argnums=0)(f)
    assert ingot.jit(f, static_argnums=(), static_argnames=None)(1, [2]) == 1


def test_objects_that_are_equal_are_one_value_and_may_change():
    f = ingot.jit(of_options, static_argnames="options")
    for options in (Options(0), Options(0), Options(1), Options(0, 3.0)):
        assert difference(f(X, options), of_options(X, options)) is None
    assert len(f.specialisations) <= 3

    class Counter:
        def __init__(self):
            self.count = 1

    counter = Counter()
    g = ingot.jit(lambda x, c: np.zeros(c.count) + x, static_argnums=1)
    assert g(1.0, counter).shape == (1,)
    counter.count = 3
    assert g(1.0, counter).shape == (3,)


def test_static_arguments_in_derivatives_batches_and_pickles():
    f = ingot.jit(lambda x, n: x**n, static_argnums=1)
    assert ingot.grad(f)(3.0, 2) == 6.0
    assert ingot.vmap(f, in_axes=(0, None))(np.arange(3.0), 2).tolist() == [0.0, 1.0, 4.0]
    assert ingot.jit(lambda x: f(x, 3))(2.0) == 8.0
    again = copy.deepcopy(f)
    assert again(2.0, 3) == 8.0
    restored = pickle.loads(pickle.dumps(f)) if f.__qualname__ == f.__name__ else f
    assert restored._static == f._static
