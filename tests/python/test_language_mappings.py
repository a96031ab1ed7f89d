"""Dicts whose keys are known only when the call runs, against CPython: the rows of docs/language.md on them."""

import numpy as np
import pytest

import ingot
from support import DTYPES, check, jitted, refused

X = np.array([3, 1, 3, 2, 1, 3])
LINES = (X, X[:0], X[::-1], np.array([7]), np.arange(40) * 7 % 23, -np.arange(30))


@pytest.mark.rotated(4)
def test_keys_that_are_not_known():
    def counted(x):
        counts = {}
        for v in x:
            counts[v] = counts.get(v, 0) + 1
        return counts, len(counts)

    def by_membership(x):
        counts = {}
        for v in x:
            if v in counts:
                counts[v] += 1
            else:
                counts[v] = 1
        return counts, not counts, 3 in counts, 99 not in counts

    def by_exception(x):
        counts = dict()
        for v in x:
            try:
                counts[int(v)] += 1
            except KeyError:
                counts[int(v)] = 1
        return counts

    def remembered(n):
        known = {0: 0, 1: 1}
        for i in range(2, n + 1):
            known[i] = known[i - 1] + known[i - 2]
        return known[n]

    for x in LINES:
        for function in (counted, by_membership, by_exception):
            check(function, x)
    for n in (0, 1, 2, 60):
        check(remembered, n)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "float16"])
def test_keys_of_all_dtypes(dtype):
    def places(x):
        found = {}
        for i, v in enumerate(x):
            found[v] = i
        return found, [found[v] for v in x], x[0] in found

    check(places, (np.arange(30) % 7).astype(dtype))
    check(
        places,
        np.array([2.5, -0.0, 0.0, 1e300, -np.inf, np.inf, 0.1, 2.0**60]).astype(dtype) if dtype in ("float32", "float64") else np.arange(3).astype(dtype),
    )


def test_keys_that_are_equal_but_of_other_types():
    def asked(x):
        found = {}
        for v in x:
            found[v * 0.5] = v
        return 1 in found, True in found, 0.5 in found, np.float32(1.5) in found, complex(1, 0) in found

    check(asked, X)


def test_keys_that_are_tuples():
    def table(n):
        found = {}
        for i in range(n):
            for j in range(n):
                found[(i, j)] = i * j
        return found, sum(found.values()), (1, 2) in found, found.get((9, 9), -1)

    for n in (0, 1, 4):
        check(table, n)


@pytest.mark.rotated(4)
def test_mappings_are_iterated():
    def iterated(x):
        found = {}
        for i, v in enumerate(x):
            found[v] = i * 0.5
        pairs = []
        for k, v in found.items():
            pairs.append((k, v))
        for k in found:
            found[k] += 1.0
        return pairs, list(found), sorted(found), [v for v in found.values()], max([0.0] + list(found.values()))

    def while_it_grows(x):
        found = {}
        for v in x:
            found[v] = 1
        for k in found:
            found[k + 100] = 2
        return found

    for x in LINES:
        check(iterated, x)
        check(while_it_grows, x)


@pytest.mark.rotated(5)
def test_methods_of_mappings():
    def taken(x):
        found = {}
        for i, v in enumerate(x):
            found[v] = i
        a = found.pop(x[0])
        b = found.pop(99, -1)
        if 2 in found:
            del found[x[3]]
        c = found.setdefault(x[1] + 1000, 5)
        return found, a, b, c, found.setdefault(x[1] + 1000, 6)

    def last(x):
        found = {}
        for i, v in enumerate(x):
            found[v] = i
        return found.popitem(), found

    def joined(x):
        a, b = {}, {}
        for v in x:
            a[v] = 1
            b[v + 1] = 2
        c = a.copy()
        a.update(b)
        b.clear()
        b[x[0]] = 7
        return a, b, c, {**c, **a}, dict(a)

    def compared(x):
        a = {v: 1 for v in x}
        b = {}
        for v in x:
            b[v] = 1
        c = a == b
        b[x[0]] = 2
        return c, a == b, a != b, a == {}, {} == b

    def missing(x, key):
        found = {}
        for v in x:
            found[v] = 1
        return found[key]

    def none_is_left(x):
        found = {}
        for v in x:
            found[v] = 1
        for v in x:
            found.pop(v, None)
        return found, len(found), found.get(x[0])

    for x in LINES:
        if len(x):
            for function in (taken, last, joined, compared, none_is_left):
                check(function, x)
        check(missing, x, 3)
        check(missing, x, 98)


@pytest.mark.rotated(3)
def test_comprehensions_that_make_mappings():
    def made(x):
        return {v: v * 2 for v in x}, {v: i for i, v in enumerate(x) if v > 1}, {i: i * i for i in range(len(x))}

    for x in LINES:
        check(made, x)


def test_mappings_leave_the_function():
    def printed(x):
        found = {}
        for v in x:
            found[v] = v * 0.5
        print(found, len(found))
        return [found, (found, 1)]

    for x in LINES:
        check(printed, x)


def test_large_mappings():
    def counted(x):
        counts = {}
        for v in x:
            counts[v] = counts.get(v, 0) + 1
        return counts

    x = np.random.default_rng(1).integers(0, 5000, 20_000)
    assert jitted(counted)(x) == counted(x)

    @ingot.jit
    def filled(n):
        total = 0
        for _ in range(3):
            found = {}
            for k in range(n):
                found[k * 3] = k
            total += len(found)
        return total

    assert filled(50_000) == 150_000
    before = ingot.memory()["in_use"]
    assert filled(50_000) == 150_000
    assert ingot.memory()["in_use"] == before


def test_mappings_that_are_refused():
    def of_arrays(x, out):
        found = {}
        for v in x:
            found[v] = np.zeros(3)
        out.append(found)

    refused(of_arrays, X, [], words="outside of the result")


def test_keys_that_are_taken_out_while_a_mapping_is_iterated():
    def replaced(x):
        found = {}
        for v in x:
            found[v] = 1
        for k in found:
            if k == 2:
                del found[k]
        return found

    def of_a_copy(x):
        found = {}
        for v in x:
            found[v] = 1
        for k in list(found):
            if k > 1:
                del found[k]
        return found

    refused(replaced, X, words="while it is iterated over")
    for x in LINES:
        check(of_a_copy, x)


def test_known_dicts_that_get_other_keys_while_they_are_iterated():
    """Python raises RuntimeError where the number of keys has changed: such loops are refused, others are right."""

    def by_keys(n):
        found = {1: 2, 3: 4}
        for k in found:
            found[k + n] = 1
        return found

    def in_one_iteration(n):
        found, seen = {1: 2, 3: 4}, []
        for k in found:
            seen.append(k)
            if k == 3:
                found[n] = 5
        return seen

    def by_values(n):
        found = {1: 2, 3: 4}
        for v in found.values():
            found[v + n] = 7
        return found

    def by_items(n):
        found = {1: 2, 3: 4}
        for k, v in found.items():
            found[k + 0 * n] = v + n
        return found

    def its_own(n):
        found = {1: 2, n: 4}
        for k in found:
            found[k] = found[k] * 2
        return found

    for function in (by_keys, in_one_iteration, by_values, by_items):
        refused(function, 9, words="a dict that may get other keys while it is iterated over")
    check(its_own, 9)
    check(its_own, 1)


def test_large_unsigned_keys():
    def counted(x):
        found = {}
        for v in x:
            found[v] = found.get(v, 0) + 1
        return found, x[0] in found

    check(counted, np.array([2**63, 5, 2**64 - 1, 5, 2**63], np.uint64))


def keys_and(d, other):
    return d.keys() & other


def and_keys(d, other):
    return other & d.keys()


def keys_or(d, other):
    return d.keys() | other


def keys_minus(d, other):
    return d.keys() - other


def keys_xor(d, other):
    return d.keys() ^ other


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", [keys_and, and_keys, keys_or, keys_minus, keys_xor])
@pytest.mark.parametrize("d", [{1: 2, 3: 4, 33: 1, 65: 2}, {i * 7 % 97: i + 0.5 for i in range(40)}], ids=["short", "long"])
def test_keys_are_like_sets(function, d):
    compiled = jitted(lambda d, other: list(function(d, other)))
    others = ({5, 7, 14, 33, 65, 3, 1, 200}, [1, 33, 7], {1, 2, 33, 97}, {1: 1, 7: 2}, (1, 65), d)
    for other in others[:2] if len(d) > 4 else others:
        assert compiled(d, other) == list(function(d, other)), other
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        compiled(d, 3)


@pytest.mark.rotated(5)
def test_items_and_keys_of_two_dicts_are_like_sets():
    def of_the_function(n):
        d, e = {}, {}
        for i in range(n):
            d[i * 3 % 17] = i
            e[i * 2 % 13] = i
        return sorted(d.keys() & e.keys()), sorted(d.keys() | {100}), sorted(d.keys() - e.keys())

    check(of_the_function, 12)
    check(lambda d, e: sorted(d.items() & e.items()), {1: 2, 3: 4, 5: 6}, {1: 2, 3: 3, 5: 6})
    check(lambda d: type(d.keys()) is type({}.keys()), {1: 2})


def test_views_answer_before_others_and_ask_the_dict():
    class Other:
        def __rand__(self, other):
            return 42

        def __or__(self, other):
            return 43

    def changed_meanwhile():
        d = {1: 2, 3: 4}

        def more():
            d[13] = 1
            yield 13

        return list(d.keys() & more()), len(d)

    def in_place():
        d, e, f, g = {1: 2, 3: 4}, {1: 2}, {1: 2}, [1, 2]
        d &= {1: 3}.keys()
        e ^= {1: 3, 5: 5}.keys()
        f -= {1: 3}.keys()
        g |= {1: 3}.keys()
        return d, e, f, sorted(g)

    check(changed_meanwhile)
    check(in_place)
    check(lambda: {1: [2]}.items() & [(1, 5)])
    check(lambda: {1: 2}.items() & [[1, 2]])
    check(lambda: list({1: 0, 2: 0, 3: 0}.items() ^ {9: 1, 17: 5, 1: 0}.items()))
    check(lambda: list({1: 0, 2: 0, 3: 0, 4: 4}.items() ^ {9: 1, 17: 5, 1: 0}.items()))
    check(lambda: Other() | {1: 2}.keys())
    with pytest.raises(TypeError, match="'Other' object is not iterable"):
        jitted(lambda: {1: 2}.keys() & Other())()
    with pytest.raises(TypeError):
        jitted(lambda: np.array([1, 2]) & {1: 2}.keys())()


@pytest.mark.rotated(3)
def test_sets_of_tuples_that_paths_make_are_refused_or_right():
    def common():
        return {(1, 1): 2, (3, 1): 4, (5, 1): 6}.items() & {(0, 1), (3, 1), (2, 2)}

    try:
        result = jitted(common)()
    except ingot.UnsupportedError:
        return
    assert result == common()


def test_nans_in_views():
    nan = float("nan")
    assert jitted(lambda d, x: ((1, x) in d.items(), len(d.items() & [(1, x)])))({1: nan}, nan) == (False, 0)
    for function in (lambda d, x: len(d.keys() | [x]), lambda d, x: len(d.items() - [(1, x)])):
        with pytest.raises(ingot.TypeChangeError, match="a NaN in a set"):
            jitted(function)({1.0: 2.0}, nan)


def test_keys_of_items_have_to_be_hashable():
    for d in ({}, {1: 1}, {"a": 1}):
        check(lambda d: ([1], 1) in d.items(), d)
        check(lambda d: (([1], 2), 1) in d.items(), d)
        check(lambda d: ({}, 1) in d.items(), d)
        check(lambda d: ([1],) in d.items(), d)
    check(lambda d, k: (("a", 1) in d.items(), ("b", k) in d.items(), ("a", k) in d.items()), {"a": 1}, 2)


def test_views_with_what_is_not_known_are_refused():
    refused(lambda d, numbers: d.keys() | numbers, {"a": 1}, {1, 2}, words="an element of a set that is not known when compiling")
    refused(lambda d, frozen: frozen & d.keys(), {1: 2}, frozenset({1, 7}), words="a frozenset that is made of one")
