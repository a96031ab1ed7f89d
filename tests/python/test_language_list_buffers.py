"""Lists whose length is known only when the call runs, against CPython: the rows of docs/language.md on them."""

import collections

import numpy as np
import pytest

import ingot
from support import DTYPES, check, in_both_modes, jitted, refused

X = np.array([0.5, -1.5, 2.0, 0.25, -0.0, 7.0, 0.5])
COUNTS = (0, 1, 2, 9, 40)


def test_lists_that_grow_in_loops():
    def numbers(n):
        result = []
        for i in range(n):
            result.append(i * 2)
        return result, len(result)

    def chosen(x):
        result, places = [], []
        for i, v in enumerate(x):
            if v > 0.3:
                result.append(v)
                places.append(i)
        return result, places, len(places)

    def stack(n):
        left = [n]
        total = 0
        while left:
            v = left.pop()
            total += v
            if v > 1:
                left.append(v // 2)
                left.append(v // 3)
        return total, left

    def primes(n):
        found = []
        for k in range(2, n):
            for p in found:
                if p * p > k:
                    found.append(k)
                    break
                if k % p == 0:
                    break
            else:
                found.append(k)
        return found

    def in_one_of_two(n, x):
        low, high = [], [100.0]
        for i in range(n):
            if x[i % len(x)] < 0.4:
                low.append(i * 1.0)
            else:
                high.append(i * 1.0)
        return low + high

    for n in COUNTS:
        check(numbers, n)
        check(stack, n)
        check(primes, n * 3)
        check(in_one_of_two, n, X)
    check(chosen, X)
    check(chosen, X[:0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_keep_their_dtypes(dtype):
    def elements(x):
        result = []
        for v in x:
            result.append(v)
        return result, np.array(result + [x[0]])

    check(elements, np.arange(5).astype(dtype))


def test_lists_that_replace_each_other():
    def levels(n):
        level, seen = [1], []
        while level:
            following = []
            for v in level:
                seen.append(v)
                for w in (2 * v, 2 * v + 1):
                    if w < n:
                        following.append(w)
            level = following
        return seen

    def swapped(n):
        a, b = [0], [1, 2]
        for k in range(n):
            a, b = b, a
            a.append(k)
        return a, b

    def while_it_is_iterated(x):
        a = [1, 2, 3]
        total = 0
        for v in a:
            if x > v:
                a = [v]
            total += v
        return total, len(a)

    def in_a_branch(x):
        a = [1.0]
        if x > 0:
            a = [2.0, x]
        return a, len(a)

    for n in COUNTS:
        check(levels, n)
        check(swapped, n)
    check(in_a_branch, 0.5)
    check(in_a_branch, -0.5)
    check(while_it_is_iterated, 2)
    check(while_it_is_iterated, 0)


def test_elements_of_all_kinds():
    Point = collections.namedtuple("Point", "x y")

    def tuples(n):
        result = []
        for i in range(n):
            result.append((i, (i * 0.5, i % 2 == 0), None, "a"))
        return result

    def points(n):
        result = [Point(0.5, 1)]
        for i in range(n):
            last = result[-1]
            result.append(Point(last.x * 2, last.y + i))
        return result, result[0].y

    def complex_and_bool(n):
        z, b = [], []
        for i in range(n):
            z.append(complex(i, -i))
            b.append(i > 2)
        return z, b, any(b)

    def nothing(n):
        result = []
        for _ in range(n):
            result.append(None)
        return result, len(result)

    for n in COUNTS:
        check(tuples, n)
        check(points, n)
        check(complex_and_bool, n)
        check(nothing, n)


def test_ints_and_floats_in_one_list_are_floats():
    def mixed(n):
        result = [0]
        for i in range(n):
            result.append(i * 0.5)
        return result

    for got, error in in_both_modes(mixed, 3):
        assert error is None and got == [0.0, 0.0, 0.5, 1.0] and all(type(v) is float for v in got)

    def with_bools(n):
        result = [True]
        for i in range(n):
            result.append(i)
        return result

    for got, error in in_both_modes(with_bools, 2):
        assert error is None and got == [1, 0, 1] and all(type(v) is int for v in got)

    def with_nan(x):
        result = [v for v in x]
        return x[0] in result, result.count(x[0]), x[1] in result

    for got, error in in_both_modes(with_nan, np.array([np.nan, 1.0])):
        assert error is None and got == (False, 0, True)

    def large(n):
        result = [2**53 + n]
        for i in range(n):
            result.append(i * 0.5)
        return result

    for _, error in in_both_modes(large, 1):
        assert isinstance(error, (OverflowError, ingot.TypeChangeError))


@pytest.mark.rotated(4)
def test_indices_into_growing_lists():
    def squares(n):
        result = [0] * n
        for i in range(n):
            result[i] = i * i
        return result, sum(result), len(result)

    def item(n, i):
        result = [k * 1.5 for k in range(n)]
        result[i] = result[i] + 1
        return result, result[i], result[True], result[np.int8(0)]

    def by_float(n):
        return [k for k in range(n)][1.0]

    def slices(n, i):
        result = [k for k in range(n)]
        return result[1:], result[::-1], result[:-2], result[i:n:2], result[i:], result[:]

    def parts_assigned(x, i, j):
        a = [v for v in x]
        a[i:j] = [a[-1], a[0]]
        b = a.copy()
        b[j:i] = x
        del b[i:j]
        del b[:1]
        return a, b

    def deleted(x, i):
        a = [v for v in x]
        del a[i], a[-1]
        return a

    for i, j in ((0, 3), (2, 2), (5, 1), (-3, 100), (0, 100), (-100, 0)):
        check(parts_assigned, X, i, j)
        check(deleted, X, i)
    check(deleted, X, 7)
    for n in COUNTS:
        check(squares, n)
        check(slices, n, 1)
        check(slices, n, -3)
        for i in (0, 1, -1, 8, -9, 9, -10):
            check(item, n, i)
    check(by_float, 3)
    refused(lambda n: (l := [k for k in range(n)], l.__setitem__(0, 1)), 3)


@pytest.mark.rotated(4)
def test_methods_of_growing_lists():
    def inserted(n, i):
        result = [k for k in range(n)]
        result.insert(i, 100)
        result.extend([1, 2])
        result.extend(range(n))
        result.extend(result)
        result += [3]
        return result

    def removed(n, v):
        result = [k % 3 for k in range(n)]
        result.remove(v)
        return result, result.count(0), result.index(2)

    def popped(n, i):
        result = [k for k in range(n)]
        a = result.pop()
        b = result.pop(i)
        result.reverse()
        return a, b, result

    def copied(n):
        result = [k for k in range(n)]
        other = result.copy()
        same = result
        other.append(7)
        same.append(8)
        result.clear()
        result.append(9)
        return result, other, same

    for n in COUNTS:
        check(copied, n)
        for i in (0, 1, -1, 5, -50):
            check(inserted, n, i)
            check(popped, n, i)
        check(removed, n, 1)
        check(removed, n, 5)


@pytest.mark.rotated(3)
def test_operators_of_growing_lists():
    def compared(n, m):
        a = [k for k in range(n)]
        b = [k for k in range(m)]
        return a == b, a != b, a == [0, 1], [] == a, 1 in a, n not in a, not a, bool(b), a is b

    def joined(n):
        a = [k for k in range(n)]
        return a + [1], [1] + a, a + a, a * 2, 2 * a, [1, 2] * n

    for n in COUNTS:
        check(joined, n)
        for m in COUNTS:
            check(compared, n, m)


@pytest.mark.rotated(4)
def test_growing_lists_are_sorted():
    def numbers(n):
        result = [(k * 7) % 5 for k in range(n)]
        other = sorted(result, reverse=True)
        result.sort()
        return result, other, sorted(range(n, 0, -1))

    def by_key(n):
        result = [((k * 7) % 5, k) for k in range(n)]
        result.sort(key=lambda t: -t[0])
        other = sorted(result, key=lambda t: t[0], reverse=True)
        return result, other, sorted(other)

    def three(a, b, c):
        known = [a, b, c]
        known.sort()
        return known, sorted([c, a, b], reverse=True), sorted([a, b], key=lambda v: -v)

    for n in COUNTS:
        check(numbers, n)
        check(by_key, n)
    check(lambda l: (l.sort(), l[0]), [3, 1, 2])
    check(three, 3.5, -1.0, 2.0)
    check(three, 3, 1, 1)


def test_growing_lists_are_iterated():
    def iterated(n):
        a = [k for k in range(n)]
        b = [k * 0.5 for k in a]
        total = 0.0
        for i, (x, y) in enumerate(zip(a, b)):
            a[i] = x + 1
            total += x * y
        return a, total, sum(a), min(b + [9.0]), max(a + [0]), list(reversed(a)), [v for v in reversed(b)]

    def while_it_grows(x):
        a = [v for v in x]
        for v in a:
            if v < 3:
                a.append(v + 5)
        return a

    def while_it_changes(n):
        q = [1]
        for u in q:
            if u < n:
                q.append(u * 2)
            if u == 4:
                q.append(100)
                continue
            if u == 16:
                q.pop()
            if u > 50:
                break
        else:
            q.append(-1)
        return q

    def with_break(n):
        a = [k for k in range(n)]
        for v in a:
            if v == 4:
                break
        else:
            return -1
        return v

    for n in COUNTS:
        check(iterated, n)
        check(with_break, n)
    check(while_it_grows, X)
    check(while_it_changes, 30)


@pytest.mark.rotated(3)
def test_comprehensions_of_unknown_lengths():
    def made(x, n):
        return (
            [v * 2 for v in x],
            [v for v in x if v > 0],
            [i for i in range(n) if i % 3],
            [(i, j) for i in range(n) for j in range(i)],
            [v for v in (1, 2, 3) if v > n],
            list(range(n)),
            list(x),
            list(zip(x, range(n))),
            [v for v in [w + 1 for w in x]],
        )

    for n in COUNTS:
        check(made, X, n)
        check(made, X[::-2], n)


def test_displays_with_stars():
    def made(x, n):
        return [*x, 1.5], [*range(n), n, *range(n)], np.array([0.5, *x[1:], *(2 * v for v in x)]), [1, *(2, "a"), *[n]]

    def ordered(n):
        return [*range(n), print("middle"), *range(print("end") or 2)] if n == 0 else [*range(n), *[n]]

    for n in COUNTS:
        check(made, [float(v) for v in X], n)
        check(ordered, n)
    check(lambda x: np.array([*x, 1.5, 2.5]).sum(), X)


def test_growing_lists_become_arrays():
    def arrays(n):
        a = [k for k in range(n)]
        b = []
        for k in a:
            b.append((k, k * 0.5, True))
        return np.array(a), np.asarray(b), np.array([x + y for x, y, _ in b]), np.sum(np.array(a))

    for n in COUNTS[1:]:
        check(arrays, n)
    for _, error in in_both_modes(arrays, 0):
        assert isinstance(error, ingot.TypeChangeError)


def test_growing_lists_leave_the_function():
    def printed(n):
        a = [k for k in range(n)]
        print(a, len(a))
        return {"a": a, "again": a, "pair": (a, [a])}

    def raised(n):
        a = []
        for k in range(n):
            a.append(k)
            if k > 3:
                raise ValueError(f"too long: {a}")
        return a

    def into_the_callers(n, out):
        a = [k for k in range(n)]
        out.append(a)

    for n in COUNTS:
        check(printed, n)
        check(raised, n)
        check(into_the_callers, n, [1])


def test_growing_lists_in_functions():
    def outer(n):
        found = []

        def visit(k):
            if k % 2 == 0:
                found.append(k)
            return len(found)

        sizes = []
        for k in range(n):
            sizes.append(visit(k))
        return found, sizes

    def caught(n):
        a = []
        try:
            for k in range(n):
                a.append(10 // (3 - k))
        except ZeroDivisionError:
            a.append(-1)
        finally:
            a.append(-2)
        return a

    for n in COUNTS:
        check(outer, n)
        check(caught, n)


def test_growing_lists_are_freed():
    @ingot.jit
    def grow(n):
        size = 0
        for _ in range(3):
            a = []
            for k in range(n):
                a.append(k * 0.5)
            size += len(a)
        return size

    grow(100_000)
    before = ingot.memory()["in_use"]
    for _ in range(5):
        grow(100_000)
    assert ingot.memory()["in_use"] == before


def test_growing_lists_that_are_refused():
    def of_two_kinds(n):
        a = []
        for k in range(n):
            a.append(k)
            a.append("x")
        return a

    def slice_assigned(x):
        a = [v for v in x]
        a[::2] = [1.0]
        return a

    refused(of_two_kinds, 3)
    refused(slice_assigned, X)
    assert jitted(lambda n: [k for k in range(n)])(3) == [0, 1, 2]


def test_numbers_that_lengths_depend_on_become_known_where_that_helps():
    def arrays(n):
        return [np.zeros(k + 1) for k in range(n)]

    def assigned(n):
        a = [k for k in range(n)]
        a[1:] = [7, 8]
        return a, tuple(a)

    for n in COUNTS[:4]:
        check(arrays, n)
        check(assigned, n)


@pytest.mark.rotated(4)
def test_lists_with_nan_are_sorted_as_cpython_does():
    def sorts(x):
        grown = [v for v in x]
        grown.sort(reverse=True)
        return sorted(x), grown, sorted([(v, i) for i, v in enumerate(x)]), sorted(range(len(x)), key=lambda i: x[i])

    nan = np.nan
    for values in ([3.0, nan, 1.0], [2.0, 1.0, nan, 0.0], [5.0, 4.0, nan, 3.0, 2.0, nan, 1.0]):
        check(sorts, np.array(values))
        check(lambda x: sorted(x), values)
    with pytest.raises(ingot.TypeChangeError, match="a NaN among 64 or more"):
        ingot.jit(lambda x: sorted(x))(np.array([nan] * 64))


def test_lists_that_change_while_something_known_is_iterated():
    def popped(n):
        a = [5, 6]
        for _ in a:
            if n > 3:
                a.pop()
        return a

    def emptied(n):
        a = [1, 2, 3]
        while a:
            if n > len(a):
                a.pop()
            else:
                break
        return a

    for n in COUNTS:
        check(popped, n)
        check(emptied, n)


def test_growing_lists_are_unpacked():
    def pair(n):
        x, y = [k for k in range(n)]
        return x, y

    def part(n):
        a = [k for k in range(n)]
        (x, y), z = a[1:3], a[0]
        return x + y + z

    def first(n):
        a = [k for k in range(n)]
        return next(iter(a), -1), next(reversed(a), -2)

    for n in COUNTS:
        check(pair, n)
        check(part, n)
        check(first, n)
    for function in (lambda x: tuple([v for v in x]), lambda x: max(*[v for v in x])):
        refused(function, X, words="length")

    def starred(x):
        a, *b = [v for v in x]
        return a, b

    refused(starred, X, words="starred")


def test_augmented_assignments_to_lists():
    def subtracted(n):
        a = [1, 2]
        a -= n
        return a

    def of_an_array(x):
        a = [1.0, 2.0]
        a += x
        return a

    def while_made(n):
        a = [k for k in range(n)]
        a.extend(len(a) for _ in range(3))
        a += [7]
        return a

    check(subtracted, 3)
    check(of_an_array, X[:2])
    refused(lambda l: l.__imul__(2), [1, 2])
    for n in COUNTS:
        check(while_made, n)
