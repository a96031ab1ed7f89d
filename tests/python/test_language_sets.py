"""Rows of docs/language.md about sets: each program under Ingot against CPython, in its order."""

from collections import defaultdict

import numpy as np
import pytest

import ingot
from support import check, refused

X = np.arange(6.0)
I = np.array([3, 1, 4, 1, 5])


def test_sets_are_made():
    def made(x):
        empty = set(), frozenset(), len(set()), bool(set()), bool({0})
        mixed = [*{1, "a", 2.5, None, (1, 2)}], list({3, 1, 2}), list({100, 7, -1, 64, 9, 8, 33}), list({1, 1.0, True}), list({1, 2})
        built = list(set("hello")), list(set((5, 3, 9, 33, 65))), list(frozenset([3, 1])), list({*(4, 5), 1, *{9: 1}}), list(set({3: 1, 70: 2}))
        iterated = sum({1, 2, 3}), max({1, 5}), sorted({3, 1, 2}), tuple({v % 3 for v in range(10)}), list(enumerate({5, 6}))
        a, *b = {7, 8, 9}
        return [len(e) if not isinstance(e, (int, bool)) else e for e in empty], mixed, built, iterated, a, b, x

    def loops(x):
        s = np.float64(0)
        for v in {40, 7, 3, 300, 65, 129}:
            s = s * 2 + x[v % 6]
        for v in set(range(100, 120, 3)):
            s = s * 2 + v
        return s

    def same(x):
        s = {1, 2}
        f = frozenset(s)
        return s is s, s is set(s), frozenset(f) is f, isinstance(s, set), isinstance(f, frozenset), isinstance(f, set), type(s) is set

    check(made, 2.5)
    check(loops, X)
    check(same, 1)
    for wrong in (
        lambda x: {[1], 2},
        lambda x: set(3),
        lambda x: {1}[0],
        lambda x: set(1, 2),
        lambda x: {1} + {2},
        lambda x: {1} | [2],
        lambda x: {1} < 3,
        lambda x: {np.zeros(2)},
        lambda x: list(reversed({1, 2})),
        lambda x: reversed(frozenset((1, 2))),
    ):
        check(wrong, 1)


def test_sets_are_searched():
    def searched(x, n):
        found = 0
        for v in x:
            if v in {1, 3, 4.0}:
                found += 1
            if v not in {1.5, n}:
                found += 10
        known = {2, 5, 1}
        for i in range(n):
            found += 100 * (i in known)
        return found, 2 in known, 2.0 in known, "a" in known, (1, 2) in {(1, 2), 3}, n in {n}, n in set((1, 2)), None in {None}

    def one_of(mode, x):
        return x * 2 if mode in {"double", "twice"} else x

    check(searched, X, 3)
    check(searched, I, 4)
    check(searched, X.astype(np.float32), 0)
    check(one_of, "twice", 2.5)
    check(one_of, "once", 2.5)
    for wrong in (lambda x: [x] in {1}, lambda x: x in {1, 2}, lambda x: 1 in {1, x}, lambda x: {} not in set()):
        check(wrong, X)


def test_sets_change():
    def changes(x):
        s = {1, 2, 3}
        t = s
        s.add(70)
        s.add(2)
        s.discard(1)
        s.discard(99)
        s.remove(3)
        u = s.copy()
        u.update((5, 6), {7: 1}, "ab")
        s |= {33, 34}
        s -= {2}
        s ^= {34, 35}
        s &= {33, 35, 70, 71}
        p = u.pop()
        f = frozenset(s)
        f |= {1}
        u.clear()
        return list(s), list(t), s is t, p, list(u), list(f), len(s)

    def combined(x):
        a, b = {1, 2, 3, 40}, frozenset((3, 40, 65))
        sets = a | b, a & b, a - b, a ^ b, b | a, a.union(b, (7,)), a.intersection((1, 3)), a.difference([1], [2]), a.symmetric_difference("a")
        truths = a == b, a != b, a < b, a <= a, a > {1}, a >= b, a.issubset(a | b), a.issuperset((1,)), a.isdisjoint((9,)), {1} == frozenset((1,))
        return [list(s) for s in sets], [type(s) is set for s in sets], truths

    def in_loops(x, n):
        seen = set()
        for k in (3, 1, 3, 2):
            if k in seen:
                continue
            seen.add(k)
        s = np.float64(0)
        for i in range(n):
            inner = {5, 9}
            inner.add(2)
            for k in inner:
                s += k * x[i]
            for k in seen:
                s = s * 0.5 + k
        return s, list(seen)

    check(changes, 1)
    check(combined, 1)
    check(in_loops, X, 4)

    def resized(x):
        s = {1, 2}
        for k in s:
            s.add(k + 10)

    for wrong in (
        resized,
        lambda x: {1}.remove(2),
        lambda x: set().pop(),
        lambda x: {1}.add([1]),
        lambda x: frozenset((1,)).add(2),
        lambda x: {1}.add(),
        lambda x: {1}.union(3),
        lambda x: {1}.nothing,
    ):
        check(wrong, 1)


@pytest.mark.rotated(5)
def test_elements_that_are_not_known():
    def loops(x):
        s = set()
        for v in x:
            s.add(v)
        return len(s), s, 3 in s, 77 in s, [v for v in s], sorted(s), sum(s), max(s), bool(s)

    def seen(n):
        visited = set()
        x, y = 0, 0
        out = []
        for k in range(n):
            x = (x * 5 + k) % 7
            y = (y + x) % 4
            if (x, y) in visited:
                out.append(k)
            visited.add((x, y))
        return out, len(visited), visited

    def on_one_path(x):
        s = {1, 2}
        if x[0] > 0:
            s.add(3)
        return len(s), s

    def taken(x):
        s = set(x.tolist())
        s.discard(3)
        s.discard(77)
        out = []
        while s:
            out.append(s.pop())
        return out

    def comprehended(x):
        s = {v % 3 for v in x if v > 0}
        return s, list(s)

    def constant(x):
        s = set()
        for k in range(1000):
            s.add(k * k % 71)
        return len(s), x in s

    check(loops, I)
    check(constant, 9)
    check(seen, 30)
    check(on_one_path, X)
    check(taken, I)
    check(comprehended, I)
    check(lambda x: len({x[0], x[1]}), X)
    check(lambda x: set(x).remove(99), I)
    check(lambda x: [set().pop(), x], 1)
    check(lambda x: {1, 2}, 1)
    check(lambda x: (frozenset((1, 2)), {*x, 9}), I)


OPERATIONS = [
    lambda a, b: (a | b, a & b),
    lambda a, b: (a - b, a ^ b),
    lambda a, b: (a <= b, a == b, {1, 9} - a),
]


def changed(x, y):
    a, b = set(x), set(y)
    a |= b
    a -= {3}
    a &= set(y)
    a ^= {5, 1}
    return a, b


@pytest.mark.rotated(5)
def test_operators_of_sets_that_are_not_known():
    for operation in OPERATIONS:
        f = ingot.jit(lambda x, y, operation=operation: operation(set(x), set(y)))
        for y in (np.array([1, 5, 9, 2]), I):
            assert f(I, y) == f.__wrapped__(I, y)


def test_results_of_operators_are_equal_sets():
    taken = ingot.jit(lambda x: set(x) - {3, 12})
    assert list(taken(I)) == list(set(I) - {3, 12}) and type(taken(I)) is set and taken(I) is not taken(I)


@pytest.mark.rotated(4)
def test_sets_that_are_not_known_change():
    assert ingot.jit(changed)(I, np.array([1, 5, 9, 2])) == changed(I, np.array([1, 5, 9, 2]))


@pytest.mark.rotated(3)
def test_the_order_of_elements_is_cpythons():
    """Elements come in the order of a table with CPython's rules, with what was taken out and put in again."""

    def changed(numbers, scale):
        a, b = set(), set()
        out = []
        for k in numbers:
            how = k % 8
            v = (k // 8 % 40) * scale
            if how < 4:
                a.add(v)
            elif how == 4:
                a.discard(v)
            elif how == 5 and a:
                out.append(a.pop())
            elif how == 6:
                b |= a
            else:
                a -= b
            for element in a:
                out.append(element)
        return out

    numbers = np.random.default_rng(5).integers(0, 100_000, 250)
    compiled = ingot.jit(changed)
    for scale in (1, -3, 0.75, 1 << 50):
        assert compiled(numbers, scale) == changed(numbers, scale)


@pytest.mark.rotated(5)
def test_sets_in_containers():
    def groups(x):
        d = defaultdict(set)
        for i, v in enumerate(x):
            d[v].add(i)
        return {k: len(v) for k, v in d.items()}

    def rows(n):
        sets = [set() for _ in range(n)]
        for i in range(3 * n):
            sets[i % n].add(i * i % 5)
        return [len(s) for s in sets]

    def queens(n):
        columns, rising, falling = set(), set(), set()

        def place(r):
            if r == n:
                return 1
            count = 0
            for k in range(n):
                if k in columns or r + k in rising or r - k in falling:
                    continue
                columns.add(k)
                rising.add(r + k)
                falling.add(r - k)
                count += place(r + 1)
                columns.remove(k)
                rising.remove(r + k)
                falling.remove(r - k)
            return count

        return place(0)

    check(groups, I)
    check(rows, 3)
    check(queens, 5)


def test_sets_that_are_refused():
    refused(lambda x: {f"{x[0]}"}, X)


def in_other_order(function, order):
    """The function with a set among its constants as a pyc file may give it: equal, its elements in another order."""
    consts = [frozenset(order) if isinstance(c, frozenset) else c for c in function.__code__.co_consts]
    function.__code__ = function.__code__.replace(co_consts=tuple(consts))
    return function


def test_sets_among_constants_have_the_order_of_the_code():
    def iterated(x):
        s = x
        for v in {8, 0, 16, 24}:
            s = s * 3 + v
        return s, [*{8, 0, 16, 24}], x in {8, 0, 16, 24}

    check(iterated, 1.0)
    for order in ([24, 16, 8, 0], [0, 24, 8, 16]):
        assert list(frozenset(order)) == order
        check(in_other_order(iterated, order), 2.0)

    def comprehended(x):
        return {8, 0, 16, 24}, [v * x for v in {24, 16, 8, 0}]

    check(lambda x: comprehended(x)[1], 2.0)
