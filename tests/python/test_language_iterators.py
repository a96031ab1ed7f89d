"""Rows of docs/language.md about iterators, `itertools`, `functools`, `operator` and `math`: each program against CPython."""

import functools
import itertools
import math
import operator

import numpy as np
import pytest

from support import check, raises, refused

X = np.arange(6.0)
I = np.array([3, 1, 4, 1, 5])
WRONG = (1.5, None, "a", (1,))


def each(functions, *arguments):
    for function in functions:
        check(function, *arguments)


def test_map_and_filter():
    def iterates(x):
        s = np.float64(0)
        for v in map(lambda a: a * 2, x):
            s += v
        for v in map(lambda a, b: a - b, x, x[::-1]):
            s = s * 2 + v
        for v in filter(lambda a: a > 2, x):
            s += v
        for i, v in enumerate(map(np.sqrt, filter(None, x))):
            s += i * v
        return s, sum(map(abs, -x)), max(map(lambda v: -v, x)), any(map(lambda v: v > 4, x))

    def known(x):
        texts = list(map(str, (1, 2))), tuple(map(int, "123")), list(filter(None, (0, "a", 2, ()))), list(filter(bool, (0, 1)))
        return texts, list(map(lambda *a: a, (1, 2), "abc", [x, x])), [*map(operator.neg, (x,))], dict(map(lambda k: (k, k * 2), (1, 2)))

    def order(x):
        made = map(lambda v: print("maps", v) or v, (1, 2))
        print("made")
        for v in filter(lambda v: print("tests", v) or v > 1, made):
            print("body", v)

    check(iterates, X)
    check(known, 2.5)
    check(order, 1)
    wrong = (
        lambda x: map(abs),
        lambda x: map(abs, x),
        lambda x: filter(None, x),
        lambda x: filter(None),
        lambda x: list(map(x, (1,))),
        lambda x: map(abs, ())[0],
        lambda x: len(map(abs, ())),
    )
    each(wrong, 2.5)


def test_zip_and_enumerate():
    def strict(a, b, c):
        s = 0
        for x, y, z in zip(a, b, c, strict=True):
            print(x, y, z)
        return list(zip(a, strict=True))

    for a in ((), (1,), (1, 2)):
        for b in ([], [1.5], [1.5, 2.5]):
            for c in ("", "x", "xy"):
                check(strict, a, b, c)

    def arrays(x, y):
        s = np.float64(0)
        for a, b in zip(x, y, strict=True):
            s += a * b
        return s

    for n in range(3):
        check(arrays, X[:n], X[:2])

    def counting(x, n):
        s = k = 0
        for i, v in enumerate(x, n):
            s = i
        for i, v in enumerate(x, start=-5):
            k = i
        return s, k, list(enumerate("ab", n)), list(enumerate("ab", -1))

    for n in (0, 3, -7, 2**62, -(2**63)):
        check(counting, X[:2], n)
    check(lambda n: [i for i in range(n, 2**63 - 1)], 2**63 - 3)
    assert raises(lambda n: list(enumerate("abc", n)), 2**63 - 2)[0] is OverflowError
    each((lambda x: zip(x), lambda x: zip((1,), x, strict=True), lambda x: enumerate(x), lambda x: enumerate()), 2.5)


def test_chains_and_slices():
    def chains(x, y):
        s = np.float64(0)
        for v in itertools.chain(x, y, (1.5, 2)):
            s = s * 2 + v
        for v in itertools.chain.from_iterable((x, y)):
            s = s * 2 + v
        return s, list(itertools.chain()), list(itertools.chain("ab", [1], {"k": 1})), sum(itertools.chain(x, y))

    def slices(x, n):
        s = np.float64(0)
        for v in itertools.islice(x, n):
            s = s * 2 + v
        for v in itertools.islice(x, 1, n):
            s = s * 2 + v
        for v in itertools.islice(x, 1, None, 2):
            s = s * 2 + v
        return s

    def known(x):
        parts = list(itertools.islice("abcdefg", 2, 4)), list(itertools.islice("abcdefg", 0, None, 2)), list(itertools.islice("abc", None))
        return parts, list(itertools.islice("abcdefg", 1, 6, 2)), list(itertools.islice("abc", 7)), list(itertools.islice((x, 2), 0))

    def taken(x):
        def g():
            for i in range(5):
                print("yields", i)
                yield i

        for v in itertools.islice(g(), 1, 4, 2):
            print(v)
        for v in itertools.islice(g(), 0):
            print(v)
        for v in itertools.takewhile(lambda v: v < 2, g()):
            print(v)
        for v in itertools.dropwhile(lambda v: v < 2, g()):
            print(v)
        for a, b in itertools.pairwise(g()):
            print(a, b)

    check(chains, X, X[2:4])
    for n in (0, 1, 2, 5, 9):
        check(slices, X, n)
    check(known, 2.5)
    check(taken, 1)
    wrong = (
        lambda x: itertools.islice(x),
        lambda x: itertools.islice("a", -1),
        lambda x: itertools.islice("a", 1, -2),
        lambda x: itertools.islice("a", 0, 1, 0),
        lambda x: itertools.islice(x, 1),
    )
    each(wrong, 2.5)


def test_selections():
    def iterates(x):
        s = np.float64(0)
        for v in itertools.takewhile(lambda v: v < 3, x):
            s += v
        for v in itertools.dropwhile(lambda v: v < 3, x):
            s = s * 2 + v
        for v in itertools.filterfalse(lambda v: v > 3, x):
            s = s * 2 + v
        for v in itertools.filterfalse(None, x):
            s = s + 1
        for v in itertools.compress(x, x > 2):
            s = s * 2 + v
        for a, b in itertools.pairwise(x):
            s += a * b
        for v in itertools.starmap(lambda a, b: a - 2 * b, zip(x, x)):
            s = s * 2 + v
        return s

    def known(x):
        some = list(itertools.compress("abc", (1, 0, 1))), list(itertools.pairwise("abc")), list(itertools.pairwise("a"))
        return some, list(itertools.starmap(pow, ((2, 5), (3, 2)))), list(itertools.takewhile(bool, (3, 0, 1)))

    check(iterates, X)
    check(known, 2.5)


def test_counters():
    def counts(x, n):
        s = np.float64(0)
        for i, v in zip(itertools.count(), x):
            s += i * v
        for i, v in zip(itertools.count(n, 3), x):
            s += i * v
        for v, i in zip(x, itertools.count(1.5)):
            s += i * v
        for i in itertools.count(n):
            if i * i > 50:
                break
            s += i
        for v, k in zip(x, itertools.repeat(2.5)):
            s += v * k
        for v in itertools.repeat(n, 3):
            s = s * 2 + v
        for v in map(pow, x, itertools.repeat(2)):
            s += v
        for v, c in zip(x, itertools.cycle((1, 2, 3))):
            s += v * c
        return s

    def known(x):
        numbers = list(zip(itertools.count(5), "abc")), list(zip("ab", itertools.count(2, -3))), list(itertools.repeat(x, 2)), list(itertools.repeat(x, -1))
        return numbers

    check(counts, X, 2)
    check(known, 2.5)


def test_accumulations():
    def sums(x):
        out = np.zeros(len(x) + 1)
        for i, v in enumerate(itertools.accumulate(x)):
            out[i] = v
        for i, v in enumerate(itertools.accumulate(x, operator.mul, initial=1.5)):
            out[i] += v
        return out, functools.reduce(lambda a, b: a * 2 + b, x), functools.reduce(operator.add, x, 1.5)

    def known(x):
        totals = list(itertools.accumulate((1, x, 3))), list(itertools.accumulate((1, 2, 3), initial=x)), list(itertools.accumulate((3, 1, 2), max))
        return totals, functools.reduce(lambda a, b: a + b, (x, 1, 2)), functools.reduce(operator.mul, (), x), list(itertools.accumulate(()))

    check(sums, X[1:])
    check(known, 2.5)
    each((lambda x: functools.reduce(operator.add, x), lambda x: functools.reduce(operator.add, 3), lambda x: functools.reduce(operator.add, x, 1, 2)), X[:0])
    check(lambda x: functools.reduce(operator.add, ()), 1)


def test_arrangements():
    def pairs(x, n):
        s = np.float64(0)
        for i, j in itertools.product(range(n), range(3)):
            s = s * 0.5 + i * j
        for a, b in itertools.product(x, repeat=2):
            s = s * 0.5 + a - b
        for i, j in itertools.combinations(range(n), 2):
            s = s * 0.5 + x[i] * j
        for a, b, c in itertools.combinations(x, 3):
            s = s * 0.5 + a * b - c
        for a, b in itertools.combinations_with_replacement(x, 2):
            s = s * 0.5 + a * b
        for i, j in itertools.permutations(range(n), 2):
            s = s * 0.5 + i - 2 * j
        return s

    def known(x):
        two = list(itertools.product("ab", (1, x))), list(itertools.product()), list(itertools.product("ab", repeat=0)), list(itertools.product((), "a"))
        three = (
            list(itertools.combinations("abcd", 2)),
            list(itertools.combinations("ab", 3)),
            list(itertools.permutations("abc")),
            list(itertools.permutations((x, 1), 1)),
        )
        longest = list(itertools.zip_longest("abc", (1,))), list(itertools.zip_longest("a", (1, 2), fillvalue=x)), list(itertools.zip_longest())
        return two, three, longest, list(itertools.combinations_with_replacement("ab", 2)), list(itertools.permutations("ab", 3))

    def snapshot(x):
        s = np.float64(0)
        for a, b in itertools.product(x, x):
            s = s * 0.5 + a - b
            x[0] += 1
        return s

    for n in (0, 1, 2, 5):
        check(pairs, X[:n], n)
    check(known, 2.5)
    check(snapshot, X)
    each(
        (
            lambda x: itertools.combinations("ab", -1),
            lambda x: itertools.permutations("ab", -1),
            lambda x: itertools.product(x),
            lambda x: itertools.product("a", repeat=-1),
        ),
        2.5,
    )


def test_sorting_by_keys():
    def ranks(x):
        l = [(2, "b"), (1, "c"), (3, "a")]
        l.sort(key=lambda p: -p[0])
        by_name = sorted(l, key=lambda p: p[1], reverse=True)
        return l, by_name, sorted([(k, v * x) for k, v in l], key=operator.itemgetter(0))

    check(lambda x: sorted([(2, 1), (1, 5), (1, 2)]), 1)
    check(lambda x: (sorted("bac", key=lambda c: print(c) or {"a": 3, "b": 1, "c": 2}[c]), sorted([x], key=print)), 1)
    check(ranks, 2.5)


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)

    def scaled(self, k):
        return self.x * k + self.y


def test_functions_as_values():
    def partials(x):
        f = functools.partial(lambda a, b, c=3: a * b - c, 2)
        g = functools.partial(f, c=x)
        return f(x), g(4), g(4, c=1), functools.partial(max, 3.5)(x), sum(map(functools.partial(operator.mul, 2), (x, 1)))

    def getters(x, p):
        first = operator.itemgetter(1)
        both = operator.itemgetter(0, -1)
        rows = sorted(((2, "b"), (1, "c"), (3, "a")), key=operator.itemgetter(1))
        return (
            first((1, x)),
            both((1, 2, x)),
            rows,
            operator.attrgetter("x")(p),
            operator.attrgetter("x", "y")(p),
            operator.methodcaller("scaled", 2)(p),
            getattr(p, "y"),
        )

    check(partials, 2.5)
    check(getters, 2.5, Point(1.5, 2))


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge"]
INTEGERS = ["and_", "or_", "xor", "lshift", "rshift"]


@pytest.mark.rotated(3)
def test_operators():
    for name in OPERATORS:
        function = getattr(operator, name)
        for a, b in ((7, 2), (7.5, 2), (X, 2.5), (np.float32(3), X.astype(np.float32))):
            check(lambda a, b: function(a, b), a, b)
    for name in INTEGERS:
        function = getattr(operator, name)
        for a, b in ((13, 3), (I, 2), (I, I)):
            check(lambda a, b: function(a, b), a, b)
    for name in ("neg", "pos", "invert", "not_", "truth", "abs", "index"):
        function = getattr(operator, name)
        for a in (3, -4, True, np.int32(5)):
            check(lambda a: function(a), a)
    for name in ("iadd", "isub", "imul", "itruediv", "ipow"):
        function = getattr(operator, name)
        check(lambda a, b: function(a, b), X.copy(), 2.0)
        check(lambda a, b: function(a, b), 3, 2)

    def items(l, a):
        operator.setitem(l, 0, 7.5)
        operator.setitem(a, 1, 2.0)
        operator.delitem(l, 1)
        return operator.getitem(l, 0), operator.getitem(a, 2), operator.contains(l, 3.5), operator.is_(l, l), operator.is_not(l, l), operator.matmul(a, a)

    check(items, [1.0, 2.0, 3.5], X)
    for wrong in WRONG:
        check(lambda x: operator.index(x), wrong)
    each((lambda x: operator.add(x), lambda x: operator.neg(x, x), lambda x: operator.add(x, "a")), 2.5)


def test_integers_of_math():
    def gcds(a, b):
        return (
            math.gcd(a, b),
            math.lcm(a, b),
            math.gcd(),
            math.lcm(),
            math.gcd(a),
            math.lcm(b),
            math.gcd(a, b, 6),
            math.lcm(a, b, 6),
            math.gcd(12, 18),
            math.lcm(4, 6),
        )

    for a in (0, 1, -12, 18, 2**40, True):
        for b in (0, 5, -18, 2**20 * 3):
            check(gcds, a, b)
    check(gcds, np.int32(12), np.uint8(18))

    def chosen(n):
        out = np.zeros((n, n, 2), np.int64)
        for i in range(n):
            for k in range(n):
                out[i, k, 0] = math.comb(i, k)
                out[i, k, 1] = math.perm(i, k)
        return out

    check(chosen, 14)
    for n, k in ((62, 31), (66, 33), (61, 29), (2**40, 1), (10**9, 2), (100, 98), (3, 10**12)):
        check(lambda n, k: math.comb(n, k), n, k)

    def tables(n):
        out = np.zeros((n, 3), np.int64)
        for i in range(n):
            out[i, 0] = math.factorial(i)
            out[i, 1] = math.perm(i)
            out[i, 2] = math.isqrt(i)
        return out

    check(tables, 21)
    for n in (99, 100, 2**31, 2**52 - 1, 2**53 + 1, 2**62, 2**63 - 1, 3037000499**2, 3037000499**2 - 1, np.int16(99)):
        check(lambda n: math.isqrt(n), n)
    for function in (math.factorial, math.perm):
        assert raises(lambda n: function(n), 21) == (OverflowError, "a Python int leaves 64 bits here")
    assert raises(lambda n: math.comb(n, 34), 68)[0] is OverflowError
    for wrong in (-1, *WRONG):
        each((lambda n: math.factorial(n), lambda n: math.isqrt(n), lambda n: math.comb(n, 1), lambda n: math.comb(3, n), lambda n: math.perm(n, 1)), wrong)
    for wrong in WRONG:
        each((lambda n: math.gcd(n), lambda n: math.lcm(3, n)), wrong)


def test_floats_of_math():
    special = [0.0, -0.0, 1.5, -2.75, 1e300, -1e-310, 5e-324, math.inf, -math.inf, math.nan, 3, True, np.float32(2.5)]

    def close(numbers):
        s = 0
        for x in numbers:
            for y in numbers:
                for c in (math.isclose(x, y), math.isclose(x, y, rel_tol=0.5), math.isclose(x, y, abs_tol=2)):
                    s = (s * 2 + c) % 1000003
        return s

    def scaled(numbers, powers):
        out = np.zeros((len(numbers), len(powers)))
        for i, x in enumerate(numbers):
            for k, n in enumerate(powers):
                try:
                    out[i, k] = math.ldexp(x, int(n))
                except OverflowError:
                    out[i, k] = -7
        return out

    check(close, np.array([*special, 1.0 + 1e-9, 1.0, 1.0 + 1.1e-9, 3.5]))
    check(scaled, np.array(special), np.array([0, 1, -1, 1000, -1000, -1075, 1100, -3000, 10**15, -(10**15)]))
    for x in special:
        check(lambda x: (math.modf(x), math.frexp(x), math.isclose(x, 1.5), math.ldexp(x, -3)), x)
    each(
        (
            lambda x: math.isclose(x, 1.0, rel_tol=-1.0),
            lambda x: math.isclose(x, "a"),
            lambda x: math.ldexp(x, 1.5),
            lambda x: math.modf("a"),
            lambda x: math.ldexp(x),
            lambda x: math.frexp(None),
        ),
        2.5,
    )

    def products(x):
        return math.prod(x), math.prod(x, start=2), math.prod((2, 3.5)), math.prod(()), math.prod(v + 1 for v in x)

    check(products, X[1:])
    check(products, I)


SUMS = [
    [],
    [0.1] * 10,
    [1e100, 1.0, -1e100, 1e-100, 1e50, -1.0, -1e50],
    [2.0**53, -0.5, -(2.0**-54)],
    [2.0**53, 1.0, 2.0**-100],
    [2.0**53 + 10.0, 1.0, 2.0**-100],
    [2.0**53 - 4.0, 0.5, 2.0**-54],
    [1.0 / n for n in range(1, 500)],
    [1e16, 1.0, 1e-16],
    [-0.0],
    [math.inf, 1.0],
    [math.nan, 1.0, math.inf],
    [math.inf, -math.inf],
    [1e308, 1e308],
    [1e308, 1e308, -1e308],
    [5e-324, 1e308, -1e308],
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("numbers", SUMS)
def test_sums_of_math(numbers):
    check(lambda x: math.fsum(x), np.array(numbers))
    if numbers:
        check(lambda x: math.fsum(x), np.random.default_rng(1).normal(size=1000) * 10.0 ** np.random.default_rng(2).integers(-200, 200, 1000))
    if 0 < len(numbers) < 20:
        check(lambda x: math.fsum(x), tuple(numbers))


def test_iterators_that_are_refused():
    check(lambda x: list(map(lambda v: v, x)), X)
    refused(lambda x: [a * b for a, b in zip(map(abs, x), map(abs, x))], X, words="in step")
    refused(lambda x: itertools.tee(x), X)
    refused(lambda x: map(abs, x), X)
    refused(lambda x: list(zip(iter(x), x, strict=True)), (1, 2), words="length of an iterator")
    refused(lambda x: list(itertools.zip_longest(iter(x), x)), (1, 2), words="length of an iterator")
    refused(lambda x: getattr(x, "shape", 1), X, words="default")


def test_ranges_and_iterators_are_unpacked():
    def of_ranges(n):
        a, b = range(2)
        c, *d = range(3)
        e, f = range(n)
        return a, b, c, d, e, f

    def of_iterators(x):
        (a, b), (c, d) = zip(x, x[1:])
        (i, e), (j, f) = enumerate(x[:2])
        return a, b, c, d, e, f, i, j

    def beside_characters(text):
        s = 0
        for k, letter in zip((i * i for i in range(10)), text):
            s += k * ord(letter)
        return s

    def beside_a_set(x):
        s = 0.0
        for v, k in zip(x, {1, 2, 3}):
            s += v * k
        return s

    def beside_a_tuple(x):
        (a, b), (c, d) = zip((1, "a"), x)
        e, f = zip(x, [None, 2, 3])
        return a, b, c, d, e, f

    check(of_ranges, 2)
    check(of_iterators, X[:3])
    for n in (2, 1, 3):
        check(beside_a_tuple, X[:n])
    check(beside_characters, "some text that is longer than what is unrolled, which are sixty-four characters")
    check(of_ranges, 3)
    check(of_iterators, X)
    refused(beside_a_set, X, words="together with something of unknown length")


def test_items_of_what_takes_none_are_not_changed():
    def of_tuple(t):
        t[0] += 1
        return t

    check(of_tuple, (1, 2))
