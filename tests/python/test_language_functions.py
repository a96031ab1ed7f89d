"""Rows of docs/language.md about functions, patterns and strings: each program under Ingot against CPython, in its order."""

import itertools
import math

import numpy as np
import pytest

import ingot
from support import MODES, check, jitted, outcome, refused

X = np.arange(6.0)


@pytest.mark.rotated(3)
def test_match():
    def the_match(x, n):
        match n:
            case 0:
                return x
            case 1 | 2:
                return x * 2
            case _:
                return x * 3

    check(the_match, 2.5, 1)

    def match_str(x, s):
        match s:
            case "a":
                return x
            case "b":
                return -x
        return None

    check(match_str, 2.5, "b")

    def match_seq(t):
        match t:
            case [a, b]:
                return a + b
            case [a, *r]:
                return (a, r)

    check(match_seq, (1, 2, 3))

    def match_guard(n):
        match n:
            case k if k > 3:
                return k
            case int():
                return -1

    check(match_guard, 2)

    def match_none(n):
        match n:
            case None:
                return 1
            case True:
                return 2
            case _ as k:
                return k

    check(match_none, True)

    def match_staged(n, x):
        for i in range(n):
            match i % 3:
                case 0:
                    x[i] = 1
                case 1 if x[0] > 0:
                    x[i] = 2
                case k:
                    x[i] = k * 10
        return x

    check(match_staged, 6, X)


def test_inner_functions():
    def the_lambda(x):
        g = lambda a: a * x
        return g(2)

    check(the_lambda, 2.5)

    def closure(x):

        def g(a):
            return a + x

        x = x + 1
        return g(1)

    check(closure, 2.5)

    def the_nonlocal(x):
        n = 0

        def g():
            nonlocal n
            n += 1

        g()
        g()
        return n

    check(the_nonlocal, 2.5)

    def closure_in_loop(x):

        def g(a):
            return a + x[0]

        s = 0.0
        for i in range(len(x)):
            s += g(x[i])
        return s

    check(closure_in_loop, X)

    def closure_default(x):

        def g(a, b=2, *c, **d):
            return a + b

        return g(1) + g(1, b=3)

    check(closure_default, 2.5)

    def h(g, x):
        return g(x)

    def closure_passed(x):
        return h(lambda a: a + 1, x)

    check(closure_passed, 2.5)

    def late_binding(x):
        fs = [lambda: i for i in range(3)]
        return (fs[0](), fs[2]())

    check(late_binding, 1)

    def late_binding2(x):
        fs = []
        for i in (1, 2, 3):
            fs.append(lambda: i * x)
        return (fs[0](), fs[2]())

    check(late_binding2, 1.5)

    def default_binding(x):
        fs = [lambda i=i: i * x for i in range(3)]
        return (fs[0](), fs[2]())

    check(default_binding, 1.5)

    def nonlocal_branch(x):
        n = 0

        def g(v):
            nonlocal n
            if v > 2:
                n += 1
            return n

        for v in x:
            g(v)
        return n

    check(nonlocal_branch, X)

    def nonlocal_type(x):
        n = 0

        def g(v):
            nonlocal n
            n += v

        for v in x:
            g(v)
        return n

    check(nonlocal_type, X)

    def mk(x):
        n = 0

        def g():
            nonlocal n
            n += x
            return n

        return g

    def closure_counter(x):
        a = mk(x)
        b = mk(2)
        return (a(), a(), b(), a())

    check(closure_counter, 1.5)

    def inner_shadows(x):

        def g(x):
            x += 1
            return x

        return (g(x), x)

    check(inner_shadows, 1.5)

    def closure_args_err(x):

        def g(a):
            return a

        return g()

    check(closure_args_err, 1)

    def closure_args_err2(x):
        g = lambda a, b=1, *, c: a
        return g(1, 2, 3)

    check(closure_args_err2, 1)

    def free_unbound(x):

        def g():
            return y

        if x > 5:
            y = 1
        return g()

    check(free_unbound, 1)

    def free_unbound2(x):

        def g():
            return y

        a = g()
        y = 1
        return a

    check(free_unbound2, 1)


def test_assignment_expressions_and_targets():
    def walrus(x):
        if (y := (x * 2)) > 3:
            return y
        return 0.0

    check(walrus, 2.5)

    def walrus_while(x):
        n = 0
        while (n := (n + 1)) < 5:
            x += n
        return (x, n)

    check(walrus_while, 2.5)

    def starred(x):
        a, *b = (1, x, 3)
        *c, d = [4, 5]
        (e, *g), h = ((1, 2), 3)
        return (a, b, c, d, e, g, h)

    check(starred, 2.5)

    def star_list(x):
        a = [1, x]
        return ([*a, 3], (*a, 4), {**{"a": 1}, "b": 2})

    check(star_list, 2.5)

    def optional_default(x, y=None):
        if y is None:
            y = x
        return y

    check(optional_default, 2.5)

    def g(**k):
        return k["a"]

    def kwargs_call(x):
        d = {"a": x}
        return g(**d)

    check(kwargs_call, 2.5)

    def chained_assign(x):
        a = b = x
        a += 1
        return (a, b)

    check(chained_assign, 2.5)

    def ann(x):
        y: float = x
        z: int
        return y

    check(ann, 2.5)

    def all_given(*a, **k):
        return (a, k)

    def starred_call(x):
        return all_given(*[1, x], *(2,), k=1, **{"z": x})

    check(starred_call, 1.5)


def test_texts():
    def fstring(x):
        print(f"x={x} {x:.3f} {x!r} {int(x):5d}")
        s = f"{x}"
        return s

    check(fstring, 2.5)

    def fstring_static(x):
        k = f"a{1}"
        d = {"a1": x}
        return d[k]

    check(fstring_static, 2.5)

    def str_ops(x):
        s = "a" + "b"
        if s.upper() == "AB":
            return x
        return s.join(["a", "b"])

    check(str_ops, 2.5)

    def str_methods(x):
        return ("a,b".split(","), ",".join(["a", "b"]), "Ab".lower(), "abc".startswith("a"), len("abc"), "a" in "abc")

    check(str_methods, 1)

    def text_returned(x):
        return (f"{x:>8.2f}|{x!r}|{{}}", str(x), "a" + str(int(x)))

    check(text_returned, 2.5)

    def text_np(x):
        return (f"{x} {x[0]} {x.sum():.3e}", str(x[1]))

    check(text_np, X)

    def text_mutate(x):
        s = f"{x}"
        x[0] = 9
        return s

    check(text_mutate, X)

    def text_int_fmt(n):
        return f"{n:05d} {n:x} {n!s:>4}"

    check(text_int_fmt, 42)

    def text_bool_none(b):
        return f"{b} {None} {b!r}"

    check(text_bool_none, True)


def test_functions_as_arguments():
    def applied(f, x, *more):
        return f(x, *more)

    for f in (np.sum, np.sin, np.cumsum, abs, len, lambda x: x + 1, np.linalg.norm):
        check(applied, f, np.arange(4.0), bound=1e-15)
    check(applied, np.roll, np.arange(4.0), 1)
    refused(applied, np.array2string, np.arange(4.0))


def test_functions_of_python():
    def the_isinstance(x):
        if isinstance(x, float):
            return 1
        return 2

    check(the_isinstance, 2.5)

    def isinstance_arr(x):
        return (isinstance(x, np.ndarray), isinstance(x, (int, float)), type(x) is float)

    check(isinstance_arr, X)

    def the_pow(x):
        return (pow(x, 2), pow(2, 3))

    check(the_pow, 2.5)

    def the_reversed(x):
        s = 0
        for i in reversed(range(4)):
            s = s * 10 + i
        for i in reversed((1, 2)):
            s = s * 10 + i
        return s

    check(the_reversed, 2.5)

    def ternary_chain(x):
        return 1 if x > 3 else 2 if x > 2 else 3

    check(ternary_chain, 2.5)

    def math_pi(x):
        return (math.pi * x + math.inf, math.e)

    check(math_pi, 2.5)

    def complex_attr(z):
        return (z.real + z.imag, z.conjugate())

    check(complex_attr, 1 + 2j)

    def float_methods(x):
        return x.is_integer()

    check(float_methods, 2.0)

    def isinstance_none(x, c):
        y = None
        if c:
            y = x
        return (isinstance(y, float), y is None)

    check(isinstance_none, 1.5, True)

    def divmod_floats(x, y):
        return (divmod(x, y), divmod(int(x), int(y)))

    check(divmod_floats, -7.5, 2.0)

    def round_nan(x):
        return round(x)

    check(round_nan, float("nan"))

    def reversed_arr(x):
        s = 0.0
        for v in reversed(x):
            s = s * 0.5 + v
        return s

    check(reversed_arr, X)

    def reversed_range_n(n):
        s = 0
        for i in reversed(range(1, n, 2)):
            s = s * 10 + i
        return s

    check(reversed_range_n, 8)

    def complex_real(z):
        return (z.real, z.imag, z.conjugate())

    check(complex_real, np.complex64(1 + 2j))

    def bool_real(b):
        return (b.real, b.imag)

    check(bool_real, True)

    def np_scalar_real(b):
        return (b.real, b.imag)

    check(np_scalar_real, np.float32(2))


def test_functions_that_are_refused():
    def writes_global(x):
        global X
        X = x

    refused(writes_global, 1, words="global")

    def generator(x):
        def g():
            yield x

        return g()

    refused(generator, 1, words="generator")

    refused(lambda x: lambda: x, 1, words="function")
    refused(lambda n: len(f"{n}"), 12, words="length of a text")
    refused(lambda n: list(f"{n}"), 12, words="iterating over a text")
    refused(lambda n: sum(1 for _ in f"{n}"), 12, words="iterating over a text")
    refused(lambda n: f"{n}" * 2, 12, words="'*' of str and int")


def test_keywords_of_functions_of_python():
    def lists(x):
        by = sorted(x, key=lambda v: -v, reverse=True)
        return by, sorted(x, reverse=True), sum(x, start=10), list(enumerate(x, start=3)), list(enumerate(iterable=x, start=1))

    def largest(x):
        return max(x, default=7), min(x, default=7), max(x, key=lambda v: -v), min(x, key=abs), max(*x, 5, key=lambda v: -v), max(x, key=None)

    def of_nothing(x):
        return max([], default=7), min((), default=x), max([], key=abs, default=None)

    def powers(a, b):
        return pow(base=a, exp=b), pow(a, exp=b), pow(a, b, None), pow(2, 10, mod=7), pow(3, -1, 7)

    def complexes(a, b):
        return complex(real=a, imag=b), complex(a, imag=b), complex(imag=b), complex(real=a)

    def printed(a, b):
        print(a, b, sep="-", end="!")
        print(a, sep=None, end=None)
        print(a, b, sep=", ", flush=True)

    def others(a):
        return dict(a=a, b=2), dict({"x": 1}, y=2), dict([("a", 1)], b=3), round(number=a), list(zip([1], [a], strict=True))

    check(lists, [3, 1, 2])
    check(largest, [3, -1, 2])
    check(lambda x: (max(x, default=np.float64(7.0)), min(x, key=lambda v: -v)), X)
    check(lambda x: (max(x, default=np.float64(7.0)), min(x, default=np.float64(1.0))), X[:0])
    check(lambda x: max(x, key=lambda v: (v - 3) ** 2), X)
    check(lambda n: max([i * i % 7 for i in range(n)], key=lambda v: -v), 5)
    check(of_nothing, 1.5)
    check(lambda x: max(x), [])
    check(lambda: max(1, 2, default=3))
    for a, b in ((2, 3), (2.0, 4.0)):
        check(powers, a, b)
        check(complexes, a, b)
        check(printed, a, b)
    check(others, 3)


def test_functions_that_take_no_keywords():
    for function in (
        lambda x: int(x=x),
        lambda x: float(x=x),
        lambda x: bool(x=x),
        lambda x: len(obj=[x]),
        lambda x: abs(x=x),
        lambda x: divmod(x=x, y=1),
        lambda x: list(iterable=[x]),
        lambda x: tuple(iterable=[x]),
        lambda x: range(stop=x),
        lambda x: isinstance(obj=x, cls=int),
        lambda x: sorted(iterable=[x]),
        lambda x: repr(obj=x),
        lambda x: chr(i=x),
    ):
        check(function, 3)


def test_powers_and_quotients_of_zero():
    powers = lambda x, y: x**y
    for x, y in (
        (0, -1), (0.0, -1), (0.0, -1.5), (-0.0, -1), (False, -1), (0j, -1), (0j, -1.5), (0j, 1j), (0j, -1j), (0, -1j), (0.0, 1j),
        (0j, 0), (0j, 2), (0j, 0j), (0.0, float("-inf")), (1e308, 2.0), (1e300 + 0j, 2), (1e200j, 3), (2j, -2),
        (np.float64(0), -1), (np.complex128(0), -1), (np.float64(0), -1.0),
    ):  # fmt: skip
        check(powers, x, y)
        check(lambda a, b: pow(a, b), x, y)
    check(lambda: 0**-1)
    check(lambda: 0j**-1)
    for x in (0, 0.0, 0j, True):
        check(lambda a: a**-1, x)
    for operator in (lambda x, y: x / y, lambda x, y: x // y, lambda x, y: x % y, lambda x, y: divmod(x, y)):
        for x, y in ((1, 0), (1.0, 0.0), (1.0, 0), (1, 0.0), (True, False), (1j, 0), (1j, 0j), (1, 0j), (0j, 0j), (7, 2), (-7.5, 2), (np.float64(1), 0)):
            check(operator, x, y)


def plus_one(f):
    def called(x):
        return f(x) + 1

    return called


def test_decorators_of_inner_functions():
    def jitted_ones(x):
        @ingot.jit
        def once(y):
            return y * x

        @ingot.njit(parallel=True, fastmath=True, nogil=True, boundscheck=False, cache=True)
        def fibonacci(n):
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

        twice = ingot.jit(lambda y: once(once(y)))
        return once(2.0), fibonacci(10), twice(3.0)

    check(jitted_ones, 3.0)

    def several(x):
        order = []

        def marked(k):
            order.append(k)

            def decorate(f):
                order.append(-k)
                return f

            return decorate

        @marked(1)
        @plus_one
        @marked(2)
        def g(y):
            return y * x

        @plus_one
        @plus_one
        def h(y, by=order[0]):
            return y + by

        return g(2.0), h(x), order

    check(several, 3.0)

    def replaced(x):
        @lambda f: f(x) + 1
        def number(y):
            return y * 2

        return number

    check(replaced, 3.0)

    def not_callable(x):
        @x
        def g(y):
            return y

        return g(x)

    check(not_callable, 3.0)
    assert ingot.grad(lambda x: jitted_ones(x)[2])(2.0) == 12.0

    def kept(x):
        import functools

        @functools.lru_cache
        def g(y):
            return y

        return g(x)

    refused(kept, 3.0, words="a call of `functools.lru_cache`")


def test_operators_in_place_say_so():
    def changed(statement):
        space = {}
        exec(source := f"def f(a, b):\n    a {statement} b\n    return a\n", space)
        space["f"].__ingot_source__ = source
        return space["f"]

    for statement in ("+=", "-=", "*=", "//=", "**=", "<<=", "|=", "@="):
        for a, b in ((1, "a"), (2.5, None), (1.5, 2.5), ((1, 2), None), ({"a": 1}, 2.0), ([1], 1.5)):
            try:
                changed(statement)(a, b)
            except TypeError:
                check(changed(statement), a, b)


@pytest.mark.rotated(3)
def test_powers_of_complex_numbers_near_overflow():
    def power(z, n):
        return z**n

    for z in (1e200 + 1e200j, 1e300 + 0j, complex("inf+1j"), 1e308 + 1e308j, -1e200j, complex("nan"), 1e-200 + 0j, 0j, 3 - 2j):
        for n in (0, 1, 2, 3, -2, 2.0, 100):
            check(power, z, n)
            known = eval(f"lambda z: z ** {n}")
            known.__ingot_source__ = f"lambda z: z ** {n}"
            check(known, z)


def test_quotients_of_complex_numbers():
    numbers = np.random.default_rng(2).standard_normal((40, 2))
    numbers = [complex(a, b) for a, b in numbers] + [1e300 + 1e-300j, 0j, 2j, complex("inf"), complex("nan+1j"), complex("1+nanj"), -0.0 + 0j]
    compiled = [jitted(lambda x, y: x / y, mode) for mode in MODES]
    for x, y in itertools.product(numbers[::3], numbers):
        expected, error, _ = outcome(lambda x, y: x / y, (x, y))
        for call in compiled:
            got, raised, _ = outcome(call, (x, y))
            assert repr((got, raised)) == repr((expected, error)), (x, y)
