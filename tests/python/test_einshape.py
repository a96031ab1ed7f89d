"""`ingot.einshape`: formulas give what NumPy's functions give, in Python, compiled, and under grad and vmap; docs/guides/test.md."""

import re

import ingot
import numpy as np
import pytest
from ingot import einshape as E

X = np.arange(24.0).reshape(2, 4, 3)

EQUAL = {
    "split": (lambda x: E.einshape("b(hw)c->bhwc", x, h=2), lambda x: x.reshape(2, 2, 2, 3)),
    "split and transpose": (lambda x: E.einshape("b(hw)c->bchw", x, w=2), lambda x: x.reshape(2, 2, 2, 3).transpose(0, 3, 1, 2)),
    "the rest": (lambda x: E.einshape("b...->...b", x), lambda x: x.transpose(1, 2, 0)),
    "no rest": (lambda x: E.einshape("a...bc->cb...a", x), lambda x: x.T),
    "one": (lambda x: E.einshape("bhc->b1(hc)", x), lambda x: x.reshape(2, 1, 12)),
    "spaces": (lambda x: E.einshape("b h c -> b (h c)", x), lambda x: x.reshape(2, 12)),
    "new axis": (lambda x: E.einshape("bhc->bkhc", x, k=2), lambda x: np.broadcast_to(x[:, None], (2, 2, 4, 3))),
    "merge": (lambda x: E.rearrange(x, "b (h w) c -> (b h) (c w)", h=2), lambda x: x.reshape(4, 2, 3).transpose(0, 2, 1).reshape(4, 6)),
    "merge the rest": (lambda x: E.rearrange(x, "b ... -> b (...)"), lambda x: x.reshape(2, 12)),
    "same": (lambda x: E.rearrange(x, "a b c -> a b c"), lambda x: x),
    "ones": (lambda x: E.rearrange(x, "a b c -> a () b 1 c"), lambda x: x[:, None, :, None]),
    "drop ones": (lambda x: E.rearrange(x[:1, :, None], "1 h () c -> c h"), lambda x: x[0].T),
    "long names": (lambda x: E.rearrange(x, "batch height_1 c -> c batch height_1", batch=2), lambda x: x.transpose(2, 0, 1)),
    "pooling": (lambda x: E.reduce(x, "b (h 2) c -> b h c", "max"), lambda x: x.reshape(2, 2, 2, 3).max(axis=2)),
    "two numbers": (lambda x: E.reduce(x, "(b 2) (h 2) c -> h c", "min"), lambda x: x.reshape(1, 2, 2, 2, 3).min(axis=(0, 1, 3))),
    "mean": (lambda x: E.reduce(x, "b h c -> c b", "mean"), lambda x: x.mean(axis=1).T),
    "sum of all": (lambda x: E.reduce(x, "b h c ->", "sum"), lambda x: x.sum()),
    "product": (lambda x: E.reduce(x, "... c -> c ()", "prod"), lambda x: x.prod(axis=(0, 1))[:, None]),
    "any": (lambda x: E.reduce(x > 3, "b h c -> b", "any"), lambda x: (x > 3).any(axis=(1, 2))),
    "all": (lambda x: E.reduce(x > 3, "b h c -> b", "all"), lambda x: (x > 3).all(axis=(1, 2))),
    "own reduction": (lambda x: E.reduce(x, "b h c -> h", lambda a, axes: np.sum(a * a, axis=axes)), lambda x: (x * x).sum(axis=(0, 2))),
    "repeat": (lambda x: E.repeat(x, "b h c -> b (h 2) c"), lambda x: x.repeat(2, axis=1)),
    "tile": (lambda x: E.repeat(x, "b h c -> b (k h) c", k=2), lambda x: np.tile(x, (1, 2, 1))),
    "a list": (lambda x: E.rearrange([x, x + 1], "n b h c -> b (n h) c"), lambda x: np.concatenate([x, x + 1], axis=1)),
    "a number": (lambda x: E.repeat(2.5, "-> i", i=3), lambda x: np.full(3, 2.5)),
    "nothing": (lambda x: E.rearrange(x[:0], "b (h w) c -> h (b w) c", h=2), lambda x: np.empty((2, 0, 3))),
}

WRONG = {
    "the left side of 'a b -> a b' has 2 axes, the array has 3": ("a b -> a b", {}),
    "the left side of '... a b c d -> a ...' has 4 axes, the array has 3": ("... a b c d -> a ...", {}),
    "a pattern has two sides with '->' between them, not 'a b c'": ("a b c", {}),
    "'b' and 'c' is on the left side of 'a b c -> a' alone": ("a b c -> a", {}),
    "'d' is on the right side of 'a b c -> a b c d' alone: give its length": ("a b c -> a b c d", {}),
    "'d' is on the right side of 'a b c -> a b c d' alone": ("a b c -> a b c d", {"d": 2}),
    "a name is twice on one side of 'a a c -> a c'": ("a a c -> a c", {}),
    "a name is twice on one side of 'a ... -> ... (... a)'": ("a ... -> ... (... a)", {}),
    "parentheses in 'a (b c -> a b c' are not balanced": ("a (b c -> a b c", {}),
    "parentheses in 'a b) c -> a b c' are not balanced": ("a b) c -> a b c", {}),
    "parentheses in 'a ((b) c) -> a b c' are not balanced": ("a ((b) c) -> a b c", {}),
    "axis 1 has the length 4, which is no multiple of 3: 'a (b d) c -> a b c d'": ("a (b d) c -> a b c d", {"b": 3}),
    "axis 1 has the length 4, which is no multiple of 0: 'a (b d) c -> a b c d'": ("a (b d) c -> a b c d", {"b": 0}),
    "axis 1 has the length 4, not 6: 'a (b d) c -> a b c d'": ("a (b d) c -> a b c d", {"b": 2, "d": 3}),
    "axis 0 has the length 2, not 1: '1 b c -> b c'": ("1 b c -> b c", {}),
    "the lengths of 'b' and 'd' in 'a (b d) c -> a b c d' are not known: give all but one": ("a (b d) c -> a b c d", {}),
    "'q' is not in 'a b c -> a b c'": ("a b c -> a b c", {"q": 2}),
    "'b?' in 'a b? c -> a b c' is no name of an axis": ("a b? c -> a b c", {}),
    "'...' in 'a (... b) c -> a b ...' is an axis of its own on the left side": ("a (... b) c -> a b ...", {}),
    "'...' in 'a b c -> a b c ...' is an axis of its own on the left side": ("a b c -> a b c ...", {}),
}

WRONG_CALLS = {
    "'2' is on the right side of 'a (b 2) c -> a b 2' alone": (ValueError, lambda x: E.reduce(x, "a (b 2) c -> a b 2", "max")),
    "'2' is on the left side of 'a (b 2) c -> a b c 2' alone": (ValueError, lambda x: E.rearrange(x, "a (b 2) c -> a b c 2")),
    "'2' is on the left side of '2 b c -> 2 b c' alone": (ValueError, lambda x: E.repeat(x, "2 b c -> 2 b c")),
    "'>' in 'abc>cab' is no name of an axis": (ValueError, lambda x: E.einshape("abc>cab", x)),
    "'~' in 'a~->~a' is no name of an axis": (ValueError, lambda x: E.einshape("a~->~a", x)),
    "'.0' is not in 'a ... -> ... a'": (ValueError, lambda x: E.rearrange(x, "a ... -> ... a", **{".0": 4})),
    "'b' in 'a (b d) c -> a b d c' has a length, not -1": (ValueError, lambda x: E.rearrange(x, "a (b d) c -> a b d c", b=-1, d=-4)),
    "'²' in 'a b c -> a b c ²' is no name of an axis": (ValueError, lambda x: E.repeat(x, "a b c -> a b c ²")),
    "a reduction over 2 of 3 axes returns an array of 3 axes": (ValueError, lambda x: E.reduce(x, "a b c -> a", lambda x, axes: x)),
    "a pattern is a str, not ndarray": (TypeError, lambda x: E.rearrange("a b c -> c b a", x)),
    "a pattern is a str, not float": (TypeError, lambda x: E.einshape(1.5, "abc->cba")),
}


def layouts(x):
    return [x, np.asfortranarray(x), x[:, ::-1].copy()[:, ::-1], np.repeat(x, 2, -1)[..., ::2]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", EQUAL)
def test_formulas_give_what_numpy_gives(name):
    f, expected = EQUAL[name]
    compiled = ingot.jit(f)
    for x in layouts(X):
        wanted = np.asarray(expected(x))
        for found in (f(x), compiled(x)):
            assert found.dtype == wanted.dtype and found.shape == wanted.shape and np.array_equal(found, wanted)


@pytest.mark.parametrize("name", ["split", "split and transpose", "the rest", "one", "new axis", "merge", "same", "repeat", "tile"])
def test_views_are_those_of_numpy(name):
    f, compiled = EQUAL[name][0], ingot.jit(EQUAL[name][0])
    for x in layouts(X):
        own, other = f(x), compiled(x)
        assert np.shares_memory(own, x) == np.shares_memory(other, x) and own.strides == other.strides
        assert own.flags.writeable == other.flags.writeable == (name != "new axis")
    assert np.shares_memory(f(X), X) == (name not in ("merge", "repeat", "tile"))


@pytest.mark.parametrize("text", WRONG)
def test_wrong_patterns(text):
    pattern, sizes = WRONG[text]
    for f in (lambda x: E.rearrange(x, pattern, **sizes), ingot.jit(lambda x: E.rearrange(x, pattern, **sizes))):
        with pytest.raises(ValueError, match=re.escape(text) + "$"):
            f(X)


@pytest.mark.parametrize("text", WRONG_CALLS)
def test_wrong_calls(text):
    error, f = WRONG_CALLS[text]
    for call in (f, ingot.jit(f)):
        with pytest.raises(error, match=re.escape(text) + "$"):
            call(X)


def test_names_of_parameters_are_names_of_axes():
    for f in (lambda y: E.rearrange(y, "x (y z) c -> y x z c", y=2), lambda y: E.repeat(y, "a b c -> a b c x", x=2)):
        assert np.array_equal(ingot.jit(f)(X), f(X))
    assert E.reduce(X, "(x y) b c -> x", "sum", x=2).shape == (2,)


def test_wrong_reductions():
    for f in (lambda x: E.reduce(x, "a b c -> a", "median"), ingot.jit(lambda x: E.reduce(x, "a b c -> a", "median"))):
        with pytest.raises(ValueError, match="reductions are sum, mean, max"):
            f(X)


def test_lengths_may_be_known_when_a_call_runs():
    f = ingot.jit(lambda x, n: E.rearrange(x, "b (h w) c -> b w h c", h=n))
    for n in (1, 2, 4):
        assert np.array_equal(f(X, n), X.reshape(2, n, 4 // n, 3).transpose(0, 2, 1, 3))
    with pytest.raises(ValueError, match="axis 1 has the length 4, which is no multiple of 3"):
        f(X, 3)


def test_writes_through_views():
    @ingot.jit
    def clear(x):
        E.rearrange(x, "b (h w) c -> b h w c", h=2)[:, 1] = 0.0

    x = X.copy()
    clear(x)
    assert np.array_equal(x, np.where(np.arange(4)[:, None] < 2, X, 0.0))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["split and transpose", "merge", "new axis", "pooling", "mean", "tile"])
def test_derivatives_and_batches(name):
    f = EQUAL[name][0]
    ingot.testing.check_grads(lambda x: np.sin(f(x)), (X,))
    batch = np.stack([X, X[:, ::-1], -X])
    assert np.array_equal(ingot.vmap(f)(batch), np.stack([f(x) for x in batch]))


def test_a_call_is_one_specialisation():
    f = ingot.jit(EQUAL["merge"][0])
    with ingot.testing.limit_specialisations(f, most=1):
        f(X), f(X + 1)
