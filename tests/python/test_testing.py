"""`ingot.testing`: each assertion holds and fails where it has to, in Python and in compiled functions; docs/guides/test.md."""

import dataclasses
import functools
import os
import re
import subprocess
import sys
import typing
import warnings

import ingot
import numpy as np
import pytest
from ingot import testing


class Pair(typing.NamedTuple):
    left: object
    right: object


@dataclasses.dataclass
class Layer:
    weights: object
    name: str


X, Y, BAD = np.ones((2, 3)), np.arange(3.0), np.array([1.0, np.nan, 3.0])

HOLDS = {
    "names": lambda x, y: testing.assert_shapes("(n,d),(d)", x, y),
    "numbers and any": lambda x, y: testing.assert_shapes("(2, 3), (_)", x, y),
    "leading axes": lambda x, y: testing.assert_shapes("(...,d),(...),()", x, y, 1.5, d=3),
    "one axis": lambda x, y: testing.assert_shapes("(n,)", y, n=3),
    "ranks": lambda x, y: testing.assert_ranks((0, 2), x, 1.5),
    "dtypes": lambda x, y: testing.assert_dtypes(np.floating, x, {"a": y, "b": (1.0,)}),
    "finite": lambda x, y: testing.assert_finite(x, [y, 1]),
    "no NaN": lambda x, y: testing.assert_no_nan(x, [y, np.inf]),
    "equal": lambda x, y: testing.assert_trees_equal(Pair(x, np.nan), Pair(x + 0, np.nan), Pair(x * 1, np.nan)),
    "close": lambda x, y: testing.assert_trees_close({"a": x, "b": y}, {"a": x * (1 + 1e-9), "b": y}),
    "close with atol": lambda x, y: testing.assert_trees_close(1.0, 1.1, atol=0.2),
    "close infinities": lambda x, y: testing.assert_trees_close(np.array([np.inf, np.nan]), np.array([np.inf, np.nan])),
}

FAILS = {
    "argument 1 has the shape (3,), not (n): n is 2": lambda x, y: testing.assert_shapes("(n,d),(n)", x, y),
    "argument 0 has the shape (2, 3), not (n,4)": lambda x, y: testing.assert_shapes("(n,4),(n)", x, y),
    "argument 0 has the shape (2, 3), not (n)": lambda x, y: testing.assert_shapes("(n),(n)", x, y),
    "argument 1 has the shape (), not (...,n)": lambda x, y: testing.assert_shapes("(...),(...,n)", x, 1.5),
    "argument 0 has the shape (2, 3), not (...,d): d is 4": lambda x, y: testing.assert_shapes("(...,d)", x, d=4),
    "argument 1 has 1 axes, not 0 or 2": lambda x, y: testing.assert_ranks((0, 2), x, y),
    "argument 1 is float64, not float32": lambda x, y: testing.assert_dtypes(np.float32, np.float32(1), y),
    "argument 1['c'][0] is int64, not floating": lambda x, y: testing.assert_dtypes(np.floating, x, {"a": y, "c": [1]}),
    "argument 0['a'][1] is nan at [1]; 1 of 3 numbers are not finite": lambda x, y: testing.assert_finite({"a": (x, y * [1, np.nan, 1])}),
    "argument 1.right is nan; 1 of 1 numbers are not numbers": lambda x, y: testing.assert_no_nan(np.inf, Pair(x, np.nan)),
    "argument 1 has another structure than argument 0: (*, *), not Pair(*, *)": lambda x, y: testing.assert_trees_equal(Pair(x, y), (x, y)),
    "argument 2 has another structure than argument 0: {'a': [*]}, not {'a': [*, *]}": lambda x, y: testing.assert_trees_equal(
        {"a": [1, 2]}, {"a": [1, 2]}, {"a": [1]}
    ),
    "argument 1.name is 't', not 's'": lambda x, y: testing.assert_trees_equal(Layer(x, "s"), Layer(x, "t")),
    "argument 1.weights is 2.0 at [0, 0], not 1.0; 6 of 6 numbers differ": lambda x, y: testing.assert_trees_equal(Layer(x, "s"), Layer(x + 1, "s")),
    "argument 1.weights has the shape (1, 3), not (2, 3)": lambda x, y: testing.assert_trees_equal(Layer(x, "s"), Layer(x[:1], "s")),
    "argument 1[1] is float64, not int64": lambda x, y: testing.assert_trees_equal((x, 1), (x, 1.0)),
    "argument 1['b'] is 2.5 at [2], not 2.0; 1 of 3 numbers differ": lambda x, y: testing.assert_trees_close({"b": y}, {"b": y + [0, 0, 0.5]}),
    "argument 1 is 1.5, not 1.0": lambda x, y: testing.assert_trees_close(1.0, 1.5, atol=0.2),
    "argument 1 is 1.00000001, not 1.0": lambda x, y: testing.assert_trees_close(1.0, 1.00000001, rtol=1e-9),
}

MISUSED = {
    "'D' is not in '(n,d)'": lambda x: testing.assert_shapes("(n,d)", x, D=3),
    "shapes are spelled as in '(n,3),(n),()', not '(n d)'": lambda x: testing.assert_shapes("(n d)", x),
    "shapes are spelled as in '(n,3),(n),()', not '(²)'": lambda x: testing.assert_shapes("(²)", x),
    "shapes are spelled as in '(n,3),(n),()', not 'n,d'": lambda x: testing.assert_shapes("n,d", x),
    "shapes are spelled as in '(n,3),(n),()', not '(n,...)'": lambda x: testing.assert_shapes("(n,...)", x),
    "1 shapes for 2 arrays: '(n,d)'": lambda x: testing.assert_shapes("(n,d)", x, x),
}


def both(f):
    return [f, ingot.jit(f)]


@pytest.mark.parametrize("name", HOLDS)
def test_what_holds(name):
    for f in both(HOLDS[name]):
        assert f(X, Y) is None


@pytest.mark.parametrize("text", FAILS)
def test_what_fails(text):
    for f in both(FAILS[text]):
        with pytest.raises(AssertionError, match=re.escape(text) + "$"):
            f(X, Y)


@pytest.mark.parametrize("text", MISUSED)
def test_misuse(text):
    for f in both(MISUSED[text]):
        with pytest.raises(ValueError, match=re.escape(text)):
            f(X)


class Box:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return np.array([self.x == other.x, True])


def test_dtypes_are_equal_in_all_that_they_have():
    for dtype, x, text in [
        ("f8", np.zeros(1, ">f8"), "argument 0 is >f8, not float64"),
        ("M8[s]", np.zeros(1, "M8[ns]"), r"datetime64\[ns\], not datetime64\[s\]"),
        ("i4,f8", np.zeros(1, "i4,f4"), "argument 0 is"),
        ("U3", np.zeros(1, "U4"), "argument 0 is str"),
        (np.float32, {}, "argument 0 has no arrays"),
    ]:
        with pytest.raises(AssertionError, match=text):
            testing.assert_dtypes(dtype, x)
    testing.assert_dtypes(np.str_, np.zeros(1, "U4"))
    testing.assert_dtypes(np.datetime64, np.zeros(1, "M8[s]"))
    with pytest.raises(AssertionError, match="argument 1 is >f8, not float64"):
        testing.assert_trees_equal(np.zeros(1), np.zeros(1, ">f8"))
    for wrong in (lambda: testing.assert_dtypes(None, 1.0), lambda: testing.assert_dtypes(np.float32)):
        with pytest.raises(TypeError, match="a dtype and arrays are needed"):
            wrong()


def test_what_cannot_be_read_is_refused():
    for x in (np.array([np.nan], object), Box(np.nan), {np.nan}, (x for x in [np.nan]), np.zeros(1, "i4,f8")):
        for check in (testing.assert_finite, testing.assert_no_nan):
            with pytest.raises(TypeError, match="argument 1 has no numbers that can be read"):
                check(1.0, x)
    for check in (testing.assert_finite, testing.assert_no_nan):
        check(2**70, None, "text", np.zeros(1, "M8[s]"))
        with pytest.raises(AssertionError, match="is NaT at"):
            check(np.array(["NaT"], "M8[s]"))
    for x in ({"a": np.zeros(2)}, None, "text"):
        with pytest.raises(TypeError, match="argument 0 is no array"):
            testing.assert_shapes("()", x)


def test_leaves_that_compare_as_arrays():
    testing.assert_trees_equal([Box(1)], [Box(1)])
    with pytest.raises(AssertionError, match=r"argument 1\[0\] is"):
        testing.assert_trees_equal([Box(1)], [Box(2)])


def test_arrays_of_devices():
    x = ingot.device_put(X, "emulated")
    testing.assert_shapes("(n,d)", x, d=3)
    testing.assert_dtypes(np.float64, {"x": x})
    testing.assert_finite(x)
    testing.assert_trees_equal([X], [x])
    with pytest.raises(AssertionError, match="argument 1 is 2.0 at"):
        testing.assert_trees_close(X, x + 1)
    with pytest.raises(AssertionError, match="d is 4"):
        ingot.jit(lambda x: testing.assert_shapes("(n,d)", x, d=4))(x)


def test_comparisons_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in both(lambda x, y: testing.assert_trees_close(x, y)):
            with pytest.raises(AssertionError, match="argument 1 is -60000.0, not 60000.0"):
                f(np.float16(60000), np.float16(-60000))
    with pytest.raises(TypeError, match="shapes are a str, not tuple"):
        testing.assert_shapes(("n",), X)


def test_default_tolerances_follow_the_dtype():
    one = np.float32(1)
    testing.assert_trees_close(one, np.float32(1.0003))
    with pytest.raises(AssertionError):
        testing.assert_trees_close(one, np.float32(1.0004))
    with pytest.raises(AssertionError):
        testing.assert_trees_close(1.0, 1.0000001)
    with pytest.raises(AssertionError):
        testing.assert_trees_close(1, 2, rtol=10.0)


def changes_and_raises(x, n):
    x[0] = 7.0
    if n > len(x):
        raise IndexError(f"{n} elements of {len(x)}")
    return {"total": x.sum(), "count": n}


class TestSame:
    def test_values_mutations_and_exceptions(self):
        x = np.arange(4.0)
        assert testing.assert_same(changes_and_raises, (x, 3)) == {"total": 13.0, "count": 3} and x[0] == 0
        error = testing.assert_same(ingot.jit(changes_and_raises), (x,), {"n": 5}, raises=IndexError)
        assert type(error) is IndexError and str(error) == "5 elements of 4"

    def test_batches(self):
        rows = testing.assert_same(lambda a, b: {"y": a @ b}, (np.arange(12.0).reshape(4, 3), np.arange(3.0)), in_axes=(0, None), grad=True)
        assert [row["y"] for row in rows] == [5.0, 14.0, 23.0, 32.0]
        with pytest.raises(ValueError, match="batches of one length"):
            testing.assert_same(lambda a, b: a + b, (np.ones(3), np.ones(2)), in_axes=0)

    def test_derivatives(self):
        with pytest.raises(AssertionError):
            testing.assert_same(lambda x: x * ingot.stop_gradient(x), (2.0,), grad=True)

    @pytest.mark.parametrize(
        ("in_python", "compiled", "text"),
        [
            (lambda x: 1.0, lambda x: 2.0, "the first compiled call: the result is 2.0, not 1.0"),
            (lambda x: (1.0, 1), lambda x: (1.0, 1.0), "the result[1] is float64, not int64"),
            (lambda x: {"a": x[0]}, lambda x: (x[0],), "the result has another structure than in Python: (*,), not {'a': *}"),
            (lambda x: x.fill(1.0), lambda x: None, "args[0] is 0.0 at [0], not 1.0; 3 of 3 numbers differ"),
            (lambda x: x[5], lambda x: x[0], "raises no exception\nnot IndexError"),
            (lambda x: x.sum(), lambda x: x[int(x[0]) + 7], "raises IndexError"),
        ],
    )
    def test_what_differs(self, in_python, compiled, text, monkeypatch):
        monkeypatch.setattr(testing, "_jit", lambda f: compiled)
        with pytest.raises(AssertionError) as found:
            testing.assert_same(in_python, (np.zeros(3),), raises=IndexError if "IndexError" in text and "not IndexError" in text else ())
        assert text in str(found.value)

    def test_exceptions_have_to_be_asked_for(self):
        with pytest.raises(IndexError, match="5 elements of 4") as found:
            testing.assert_same(changes_and_raises, (np.zeros(4), 5))
        assert "give `raises`" in found.value.__notes__[0]
        with pytest.raises(TypeError):
            testing.assert_same(lambda x: x, (1.0,), {"y": 2.0})
        with pytest.raises(TypeError, match="args is a tuple of arguments, not float"):
            testing.assert_same(lambda x: x, 1.0)
        with pytest.raises(AssertionError, match="no exception is raised, not IndexError or KeyError"):
            testing.assert_same(lambda x: x, (1.0,), raises=(IndexError, KeyError))
        assert type(testing.assert_same(lambda x, i: x[i], (np.zeros(2), 3), raises=IndexError, grad=True)) is IndexError
        assert testing.assert_same(lambda x: x + 1, [1.0]) == 2.0

    def test_functions_are_called_as_they_are(self):
        def inner(x):
            return x * x

        @functools.wraps(inner)
        def twice(x):
            return 2 * x

        assert testing.assert_same(twice, (3.0,)) == 6.0
        assert testing.assert_same(ingot.grad(inner), (3.0,)) == 6.0
        assert testing.assert_same(ingot.vmap(lambda x: x.sum() if x.ndim else x * 10), (np.ones(2),)).tolist() == [10.0, 10.0]
        assert testing.assert_same(ingot.jit(lambda x, n: (x, n), static_argnums=1), (1.0, "text")) == (1.0, "text")

    def test_copies_share_memory_and_have_the_same_strides(self):
        base = np.arange(6.0)
        frozen = np.arange(8.0)[::-2]
        frozen.flags.writeable = False

        def both(x, y, z):
            x[:] = 5.0
            return y.sum() + z.sum()

        assert testing.assert_same(both, (base[:4], base[2:], frozen)) == 35.0 and base[0] == 0
        x, y, z = testing._copied((base[:4], {"y": base[2:]}, frozen))
        assert np.shares_memory(x, y["y"]) and not np.shares_memory(x, base) and not z.flags.writeable and z.strides == frozen.strides
        assert np.array_equal(z, frozen) and np.array_equal(y["y"], base[2:])

    def test_axes_of_structures(self):
        batch = {"a": np.arange(6.0).reshape(2, 3), "b": 1.0}
        assert testing.assert_same(lambda d: d["a"].sum() + d["b"], (batch,), in_axes=({"a": 0, "b": None},)) == [4.0, 13.0]
        for axes, text in ((5, "in_axes is 5 for an array of the shape"), (0, "batches of one length are needed, not of \\[0\\]")):
            with pytest.raises(ValueError, match=text):
                testing.assert_same(lambda x: x.sum(), (np.zeros((0, 3)),), in_axes=axes)
        with pytest.raises(TypeError, match="in_axes has numbers, None"):
            testing.assert_same(lambda x: x.sum(), (np.zeros((2, 3)),), in_axes="x")

    def test_batches_are_checked_as_a_whole(self, monkeypatch):
        def first(x):
            x[0] = 9.0
            return x.sum()

        assert testing.assert_same(first, (np.ones((2, 3)),), in_axes=0) == [11.0, 11.0]
        with pytest.raises(AssertionError):
            testing.assert_same(lambda x: x * ingot.stop_gradient(x) if x > 1 else x, (np.array([0.5, 2.0]),), in_axes=0, grad=True)
        monkeypatch.setattr(testing, "_vmap", lambda f, axes: lambda x: (x.fill(1.0), np.zeros(2))[1])
        monkeypatch.setattr(testing, "_jit", lambda f: f)
        with pytest.raises(AssertionError, match="vmap: args"):
            testing.assert_same(lambda x: 0 * x[0], (np.zeros((2, 3)),), in_axes=0)


class TestTwice:
    @testing.with_and_without_jit
    def test_methods_with_parameters(self, jit, tmp_path):
        assert tmp_path.exists() and jit(lambda x: x + 1)(1.5) == 2.5 and jit("float64(float64)")(lambda x: x)(2.0) == 2.0

    def test_which_one_failed(self):
        seen = []

        @testing.with_and_without_jit
        def fails(jit, x):
            seen.append(type(jit(lambda a: a)).__name__)
            assert len(seen) < x

        with pytest.raises(AssertionError) as found:
            fails(2)
        assert seen == ["function", "Function"] and found.value.__notes__[-1] == "(with jit)"
        with pytest.raises(TypeError, match="takes no `jit`"):
            testing.with_and_without_jit(lambda: None)

    def test_jit_is_found_by_its_name(self):
        seen = []

        @testing.with_and_without_jit
        def test(x, jit, *, y=2):
            seen.append((jit(lambda a: a)(x), y))

        test(1.5)
        test(2.5, y=3)
        assert seen == [(1.5, 2)] * 2 + [(2.5, 3)] * 2

    def test_functions_of_decorators_stay(self):
        @functools.wraps(abs)
        def double(x):
            return 2 * x

        found = []
        testing.with_and_without_jit(lambda jit: found.append(jit(double)(-1.5)))()
        assert found == [-3.0, -3.0]

    def test_what_a_call_does_not_run_is_refused(self):
        async def coroutine(jit):
            assert False

        def generator(jit):
            yield 1

        for test in (coroutine, generator):
            with pytest.raises(TypeError, match="is a coroutine or generator"):
                testing.with_and_without_jit(test)


def test_specialisations_are_counted():
    f, g = ingot.jit(lambda x: x + 1), ingot.jit(lambda x: x - 1)
    with testing.limit_specialisations(f, g, most=2):
        f(1.0), f(2.0), g(1)
    with testing.limit_specialisations(f):
        f(3.0)
    with pytest.raises(AssertionError, match=r"2 specialisations more, 1 are allowed:\n  <specialisation \(x: int\): arguments of other types>"):
        with testing.limit_specialisations(f, g, most=1):
            f(1), g(1.0)
    with pytest.raises(TypeError, match="a compiled function has specialisations"):
        with testing.limit_specialisations(abs):
            pass
    with pytest.raises(TypeError, match="no function is given"):
        with testing.limit_specialisations():
            pass
    with testing.limit_specialisations(f, f, most=1):
        f(np.float32(1))


def test_limits_pass_where_nothing_is_compiled():
    code = "import ingot\nf = ingot.jit(lambda x: x)\nwith ingot.testing.limit_specialisations(f): print(f(1))"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "INGOT_DISABLE": "1"}, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


class TestCheckGrads:
    def test_structures_and_several_results(self):
        testing.check_grads(lambda p, x: (np.tanh(p["w"] * x + p["b"]), 2), ({"w": Y, "b": 0.5}, Y + 1))

    @pytest.mark.parametrize("mode", ["fwd", "rev"])
    def test_a_wrong_rule_of_each_mode(self, mode):
        @ingot.custom_vjp
        def only_backwards(x):
            return x * x

        only_backwards.defvjp(lambda x: (x * x, x), lambda x, c: (3 * c * x,))

        @ingot.custom_jvp
        def only_forwards(x):
            return x * x

        only_forwards.defjvp(lambda primals, tangents: (primals[0] ** 2, 3 * primals[0] * tangents[0]))
        f = {"fwd": only_forwards, "rev": only_backwards}[mode]
        with pytest.raises(AssertionError):
            testing.check_grads(f, (1.5,), modes=(mode,))

    @pytest.mark.parametrize(
        ("f", "args", "text"),
        [
            (lambda x: None, (1.0,), "a result of floats"),
            (lambda x: int(x), (1.5,), "a result of floats"),
            (lambda x, n: x**n, (1.5, 3), "arguments are of floats or complex numbers, not of int64: bind it"),
            (lambda: 1.0, (), "there are no arguments of floats"),
        ],
    )
    def test_what_has_no_derivatives_is_refused(self, f, args, text):
        with pytest.raises(TypeError, match=text):
            testing.check_grads(f, args)

    def test_tolerances_and_modes(self):
        testing.check_grads(lambda x: x**3, (1.5,), modes=["rev"], order=2)
        with pytest.raises(AssertionError):
            testing.check_grads(lambda x: np.sin(x), (1.5,), rtol=0.0, atol=0.0)
        for modes in ((), ("fwd", "both")):
            with pytest.raises(ValueError, match="modes are 'fwd' and 'rev'"):
                testing.check_grads(lambda x: x, (1.5,), modes=modes)
