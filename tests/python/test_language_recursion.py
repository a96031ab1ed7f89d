"""Functions that call themselves or each other, against CPython: the rows of docs/language.md on recursion."""

import dataclasses
import sys

import numpy as np
import pytest

import ingot
from support import check, in_both_modes, interrupt, jitted, refused, start


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def greatest(a, b):
    return a if b == 0 else greatest(b, a % b)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def hanoi(n, source="A", over="B", to="C"):
    if n == 0:
        return 0
    return hanoi(n - 1, source, to, over) + 1 + hanoi(n - 1, over, source, to=to)


def pair(n):
    if n == 0:
        return 0, 1.5
    a, b = pair(n - 1)
    return a + 1, b * 2


def half(n):
    if n == 0:
        return 0
    return half(n - 1) + 0.5


def first_above(x, limit, k=0):
    if k == len(x):
        return None
    if x[k] > limit:
        return k
    return first_above(x, limit, k + 1)


def printed(n):
    print(n)
    return 0 if n == 0 else printed(n - 1) + 1


def test_recursion_on_numbers():
    for n in (0, 1, 2, 15, 12.0, np.int32(9), np.float32(7)):
        check(fib, n)
    check(ackermann, 2, 3)
    for a, b in ((48, 18), (7, 0), (-12, 8), (12.0, 8)):
        check(greatest, a, b)
    for n in (0, 1, 10, 11):
        check(is_even, n)
        check(is_odd, n)
    check(hanoi, 5)
    check(pair, 4)
    check(lambda n: (fib(10), fib(n), ackermann(1, n)), 5)
    x = np.array([0.5, 2.0, 1.0, 4.0])
    for limit in (0, 1.5, 3, 9):
        check(first_above, x, limit)
    assert in_both_modes(half, 0) == [(0.0, None)] * 2  # an int on one path and a float on another are a float
    check(half, 5)
    check(printed, 3)


def partition(a, low, high):
    pivot = a[(low + high) // 2]
    while low <= high:
        while a[low] < pivot:
            low += 1
        while a[high] > pivot:
            high -= 1
        if low <= high:
            a[low], a[high] = a[high], a[low]
            low += 1
            high -= 1
    return low, high


def quicksort(a):
    if len(a) > 1:
        i, j = partition(a, 0, len(a) - 1)
        quicksort(a[: j + 1])
        quicksort(a[i:])


def quicksort_between(a, low, high):
    if low < high:
        i, j = partition(a, low, high)
        quicksort_between(a, low, high=j)
        quicksort_between(a, i, high)


def flood(grid, i, j, colour):
    if not (0 <= i < grid.shape[0] and 0 <= j < grid.shape[1]) or grid[i, j] != 0:
        return 0
    grid[i, j] = colour
    size = 1
    for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        size += flood(grid, i + di, j + dj, colour)
    return size


def depth_of(left, right, node):
    if node < 0:
        return 0
    return 1 + max(depth_of(left, right, left[node]), depth_of(left, right, right[node]))


def lowered(a, n):
    a -= 1
    a[0] *= 2
    if n > 0:
        lowered(a[1:], n - 1)


def in_parallel(x, n):
    for i in ingot.prange(len(x)):
        x[i] += n
    if n > 0:
        in_parallel(x, n - 1)


def test_recursion_changes_arrays():
    rng = np.random.default_rng(0)
    for x in (rng.random(60), rng.integers(0, 9, 40), rng.random(50)[::-2], np.empty(0), np.ones(1), rng.random(9).astype("f4")):
        check(quicksort, x)
        check(quicksort_between, x, 0, len(x) - 1)
    grid = (rng.random((9, 7)) < 0.4).astype(np.int64)
    check(flood, grid, 4, 3, 2)
    check(flood, np.asfortranarray(grid), 0, 0, 5)
    check(depth_of, np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1]), 0)
    check(lowered, np.arange(5.0), 3)
    check(in_parallel, np.arange(5.0), 3)
    x = np.arange(5.0)
    x.flags.writeable = False
    check(quicksort, x)


def fft(x):
    n = len(x)
    if n == 1:
        return x.copy()
    even, odd = fft(x[::2]), fft(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate((even + turned, even - turned))


def filled(a, n):
    if n == 0:
        return a
    a[n] = n
    return filled(a, n - 1)


def middle(a):
    return a if len(a) <= 2 else middle(a[1:-1])


def merged(a):
    if len(a) < 2:
        return a.copy()
    left, right = merged(a[: len(a) // 2]), merged(a[len(a) // 2 :])
    out = np.empty_like(a)
    i = j = 0
    for k in range(len(a)):
        if j == len(right) or (i < len(left) and left[i] <= right[j]):
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
    return out


def swapped(a, b, n):
    return (a, b) if n == 0 else swapped(b, a, n - 1)


def to_power(a, n):
    if n == 0:
        return np.eye(len(a))
    half = to_power(a, n // 2)
    return half @ half if n % 2 == 0 else half @ half @ a


def arrays_and_numbers(n):
    if n == 0:
        return np.zeros((2, 2)), (1, None)
    a, (k, nothing) = arrays_and_numbers(n - 1)
    a[0, 0] += n
    return a, (k + 1, nothing)


def test_recursion_returns_arrays():
    check(merged, np.random.default_rng(2).random(17))
    for n in (2, 3):
        check(swapped, np.arange(3.0), np.ones(2), n)
    check(to_power, np.random.default_rng(3).random((3, 3)), 5, bound=1e-12)
    check(arrays_and_numbers, 3)
    check(fft, np.random.default_rng(1).random(16) + 0.5j, bound=1e-12)
    check(filled, np.zeros(5), 4)  # the very array
    check(middle, np.arange(2.0))
    check(middle, np.arange(7.0))
    check(lambda a: (middle(a), filled(a, 2)), np.arange(6.0))


def simpson(f, a, b, tolerance):
    def area(fa, fm, fb, h):
        return h / 6 * (fa + 4 * fm + fb)

    def refine(a, fa, m, fm, b, fb, whole, tolerance):
        l, r = (a + m) / 2, (m + b) / 2
        fl, fr = f(l), f(r)
        left, right = area(fa, fl, fm, m - a), area(fm, fr, fb, b - m)
        error = left + right - whole
        if abs(error) <= 15 * tolerance:
            return left + right + error / 15
        return refine(a, fa, l, fl, m, fm, left, tolerance / 2) + refine(m, fm, r, fr, b, fb, right, tolerance / 2)

    m = (a + b) / 2
    return refine(a, f(a), m, f(m), b, f(b), area(f(a), f(m), f(b), b - a), tolerance)


def apply(f, x, n):
    return x if n == 0 else apply(f, f(x), n - 1)


def queens(n):
    columns = np.zeros(n, np.int64)

    def place(row):
        if row == n:
            return 1
        found = 0
        for column in range(n):
            for other in range(row):
                if columns[other] == column or abs(columns[other] - column) == row - other:
                    break
            else:
                columns[row] = column
                found += place(row + 1)
        return found

    return place(0)


def counted(n):
    calls = 0

    def go(k):
        nonlocal calls
        calls += 1
        if k > 0:
            go(k - 1)
        if k > 1:
            go(k - 2)

    go(n)
    return calls


def alternating(n):
    def up(k):
        return k if k >= n else down(k + 2) + 1

    def down(k):
        return -k if k <= -n else up(k - 1) * 2

    return up(0)


class Polynomial:
    def __init__(self, coefficients):
        self.coefficients = coefficients
        self.steps = 0

    def at(self, x, k=0):
        self.steps += 1
        if k == len(self.coefficients):
            return 0.0
        return self.coefficients[k] + x * self.at(x, k + 1)


def of_polynomial(c, x):
    polynomial = Polynomial(c)
    return polynomial.at(x), polynomial.steps


def grown_tree(values):
    left, right, value = np.full(20, -1), np.full(20, -1), np.zeros(20)
    size = 0

    def insert(node, v):
        nonlocal size
        if node < 0:
            value[size] = v
            size += 1
            return size - 1
        if v < value[node]:
            left[node] = insert(left[node], v)
        else:
            right[node] = insert(right[node], v)
        return node

    def iterate(node, out):
        if node >= 0:
            iterate(left[node], out)
            out.append(value[node])
            iterate(right[node], out)

    root = -1
    for v in values:
        root = insert(root, v)
    out = []
    iterate(root, out)
    return out


def in_comprehensions(n):
    def generated(k):
        for i in range(k):
            yield fib(i)

    return [fib(i) for i in range(n)], [fib(i) for i in range(6) if fib(i) > 1], sum(generated(n))


def test_recursive_inner_functions_and_methods():
    check(grown_tree, np.random.default_rng(4).random(9))
    check(in_comprehensions, 5)
    check(lambda a, b: simpson(lambda x: np.sin(x * x), a, b, 1e-9), 0.0, 2.0)
    check(lambda x: (apply(abs, x, 3), apply(lambda v: v * v, x, 3)), -1.5)
    check(queens, 6)
    check(counted, 9)
    check(alternating, 4)
    check(of_polynomial, np.array([1.0, 2.0, 0.5]), 3.0)
    check(lambda n: (lambda f: f(f, n))(lambda f, k: 1 if k == 0 else k * f(f, k - 1)), 6)


def collect(n, out):
    if n > 0:
        collect(n - 1, out)
        out.append(n)
        collect(n - 2, out)


def collected(n):
    out = []
    collect(n, out)
    return out


def descending(n, out=None):
    if out is None:
        out = []
    if n > 0:
        out.append(float(n))
        return descending(n - 1, out)
    return out


def permutations(a, k, out):
    if k == len(a):
        number = 0
        for digit in a:
            number = number * 10 + int(digit)
        out.append(number)
        return
    for i in range(k, len(a)):
        a[k], a[i] = a[i], a[k]
        permutations(a, k + 1, out)
        a[k], a[i] = a[i], a[k]


def permuted(n):
    out = []
    permutations(np.arange(1, n + 1), 0, out)
    return out


def countdown(state):
    if state[0] > 0:
        state[0] -= 1
        state[1] += 2.5
        countdown(state)


def remembered(n):
    known = {}

    def f(k):
        if k < 2:
            return k
        if k in known:
            return known[k]
        known[k] = f(k - 1) + f(k - 2)
        return known[k]

    return f(n)


def to_list(n, out):
    if n > 0:
        out.append(n)
        to_list(n - 1, out)


def test_recursion_changes_containers():
    check(collected, 6)
    check(descending, 4)
    check(permuted, 4)
    check(lambda n: countdown([n, 0.0]), 3)
    check(countdown, [3, 0.5])  # the caller's own
    check(to_list, 3, [])
    check(to_list, 3, [1, 2])
    check(remembered, 30)


@dataclasses.dataclass(eq=False)
class Sample:
    """An array and a number."""

    w: np.ndarray
    s: float


def put_number(a, n):
    if n <= 0:
        a["s"] = a["s"] + 7.0
        return 0
    return put_number(a, n - 1)


def put_second(a, n):
    if n <= 0:
        a[1] = a[1] + 7.0
        return 0
    return put_second(a, n - 1)


def put_attribute(a, n):
    if n <= 0:
        a.s = a.s + 7.0
        return 0
    return put_attribute(a, n - 1)


def it(a, n):
    return a if n <= 0 else it(a, n - 1)


def number_of(a, n):
    return a["s"] if n <= 0 else number_of(a, n - 1)


def grow(a, n):
    if n > 0:
        a.append(float(n))
        grow(a, n - 1)


def add_to_first(a, b, n):
    if n <= 0:
        return b
    a["s"] = a["s"] + float(n)
    return add_to_first(b, a, n - 1)


def put_inside(a, n):
    if n <= 0:
        a[0]["s"] = 5.0
        return 0
    return put_inside(a, n - 1)


def sample(s):
    return {"w": np.arange(3.0) + s, "s": s}


def test_recursion_on_several_containers_of_the_caller():
    """Each call changes and returns what it is passed: the caller's containers stay which they are."""

    def both(put):
        def called(p, q, n):
            put(p, n)
            put(q, n)
            return q

        return called

    def alone(p, q, n):
        put_number(p, n)
        if n > 1:
            put_number(q, n)
        return q, number_of(p, n), number_of(q, n)

    def own_beside(p, q, n):
        own = {"w": p["w"] + 1.0, "s": 2.0}
        put_number(p, n)
        put_number(own, n)
        put_number(q, n)
        put_number(own, n)
        own["w"] += 1.0
        return own, q

    def arrays_inside(p, q, n):
        it(p, n)["w"] += 1.0
        it(q, n)["w"] += 5.0
        return it(q, n), it(p, n), it(q, n) is q, it(p, n) is q

    def in_turn(p, q, n):
        return add_to_first(p, q, n), add_to_first(q, p, 2), add_to_first(p, p, n)

    def held(p, q, n):
        first, second = [p], [q]
        put_inside(first, n)
        put_inside(second, n)
        return second, first

    def of_inner_functions(p, q, n):
        def putting(d):
            def put(n):
                if n <= 0:
                    d["s"] = 5.0
                    return 0
                return put(n - 1)

            return put

        putting(p)(n)
        putting(q)(n)
        return q

    for n in (0, 3):
        for function in (both(put_number), alone, own_beside, arrays_inside, in_turn, held, of_inner_functions):
            check(function, sample(1.0), sample(3.0), n)
        check(both(put_second), [1.0, 2.0], [7.0, 3.0], n)
        check(both(put_second), [np.arange(3.0), 2.0], [np.arange(3.0), 3.0], n)
        check(both(put_attribute), Sample(np.arange(3.0), 2.0), Sample(np.arange(3.0), 3.0), n)
        check(both(grow), [1.0, 2.0], [3.0], n)


TABLE = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
SCALE = 2


def scaled(n):
    return 0.0 if n < 0 else SCALE * TABLE[n] + scaled(n - 1)


def fixed(n, factor):
    return 1 if n == 0 else fixed(n - 1, factor) * factor


def of_axis(x, axis, n):
    return x.sum(axis).sum() if n == 0 else of_axis(x, axis, n - 1)


def nested(t):
    total = 0
    for x in t:
        total += nested(x) if isinstance(x, tuple) else x
    return total


def along(x, axis):
    return x.sum() if axis == 0 else along(x.sum(axis), axis - 1)


def test_recursion_that_ends_when_compiling():
    """What is known when compiling may end a recursion there."""
    check(lambda x: (fixed(3, x), fixed(40, x)), 1)
    check(lambda x: fixed(5, x), 1.5)
    check(nested, (1, (2, (3, 4.5)), 5))
    check(along, np.ones((2, 3, 4)), 2)
    check(of_axis, np.ones((2, 3)), 1, 3)


def test_recursion_and_values_outside(monkeypatch):
    global SCALE
    check(scaled, 4)
    f = jitted(scaled)
    assert f(4) == 28.0
    SCALE = 3
    assert f(4) == 42.0  # callees are guarded as others are
    TABLE[0] = 4.0
    assert f(4) == 45.0
    SCALE, TABLE[0] = 2, 3.0
    f = jitted(lambda n: is_even(n))
    assert f(4) is True
    monkeypatch.setattr(sys.modules[__name__], "is_odd", lambda n: n % 2 == 0)
    assert f(4) is False


class Failure(Exception):
    pass


def failing(n, kind):
    if n == 0:
        if kind == 0:
            raise ValueError("none left")
        if kind == 1:
            raise Failure("own", kind)
        if kind == 2:
            return 1 // (n + kind - 2)
        raise KeyError(kind)
    return failing(n - 1, kind) + 1


def caught(n, kind):
    try:
        return failing(n, kind)
    except ValueError as error:
        print(error)
        return -1
    except (ZeroDivisionError, Failure) as error:
        print(error)
        return -2


def handled(n):
    try:
        if n == 0:
            raise ValueError
        return handled(n - 1) + 1
    except ValueError:
        if n < 3:
            raise
        return 100 * n


def with_finally(a, n):
    try:
        a[n] += 1
        if n == 3:
            raise ValueError("three")
        return with_finally(a, n + 1)
    finally:
        a[n] *= 10


def undone(n):
    steps = 0
    done = []

    def go(k):
        nonlocal steps
        steps += 1
        done.append(k)
        if k == 0:
            raise LookupError(steps)
        go(k - 1)

    try:
        go(n)
    except LookupError:
        steps += 100
    return steps, done


class Total:
    def __init__(self):
        self.total = 0.0
        self.steps = []

    def add(self, x, n):
        if n < 0:
            raise ValueError("negative")
        self.total += x
        self.steps.append(n)
        self.add(x * 2, n - 1)


def totalled(x):
    total = Total()
    try:
        total.add(x, 3)
    except ValueError:
        total.total += 1000
    return total.total, total.steps


def handled_inside(n):
    try:
        try:
            if n == 0:
                return 1 // n
            return handled_inside(n - 1)
        except KeyError:
            return -5
    except ZeroDivisionError:
        if n > 2:
            return n
        raise


def failing_and_counting(n):
    total = 0
    for i in range(n):
        try:
            if i == 2:
                raise KeyError(i)
            total += failing_and_counting(i)
        except KeyError:
            total += 10
        finally:
            total += 1
    return total


def in_loop(x):
    failures = 0
    total = 0.0
    for v in x:
        try:
            total += root(v, 3)
        except ValueError:
            failures += 1
    return total, failures


def root(v, n):
    if n == 0:
        return v
    if v < 0:
        raise ValueError("negative")
    return root(v**0.5, n - 1)


def test_exceptions_leave_recursion():
    for kind in range(4):
        check(failing, 3, kind)
        check(caught, 3, kind)
    for n in (0, 2, 3, 5):
        check(handled, n)
    check(with_finally, np.ones(5), 0)
    check(undone, 4)
    check(totalled, 1.5)
    for n in (0, 2, 5):
        check(handled_inside, n)
    check(failing_and_counting, 5)
    check(in_loop, np.array([1.0, -2.0, 16.0, -1.0]))


def test_recursion_in_parallel_loops():
    def f(n):
        x = np.zeros(n, np.int64)
        for i in ingot.prange(n):
            x[i] = fib(i)
        return x

    check(f, 15)


@pytest.mark.alone
def test_recursion_is_interrupted(tmp_path):
    text = """
import ingot
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
f = ingot.jit(fib)
f(3)
print("ready", flush=True)
f(80)
"""
    code, _, error = interrupt(start(tmp_path / "slow.py", text))
    assert code != 0 and "KeyboardInterrupt" in error


def grown(t, n):
    return len(t) if n == 0 else grown(t + (n,), n - 1)


def iterating(g, n):
    return n if n == 0 else iterating(g, n - 1)


def raised_again(n):
    if n == 0:
        raise
    raised_again(n - 1)


def handling(n):
    try:
        raise KeyError(n)
    except KeyError:
        raised_again(n)


def table_by_table(n, table=None):
    if n == 0:
        return len(table)
    return table_by_table(n - 1, {"next": table})


def put(rows, i, row, depth):
    if depth <= 0:
        rows[i] = row
        return 0
    return put(rows, i, row, depth - 1)


def kept_by_what_is_called(n, depth):
    rows = [np.zeros(200) for _ in range(n)]
    for i in range(n):
        put(rows, i, np.full(200, i * 1.0), depth)
    s = 0.0
    for i in range(n):
        s += rows[i][3]
    return s, rows


def test_arrays_that_what_is_called_keeps_live_on():
    for n, depth in ((1, 0), (20, 3)):
        check(kept_by_what_is_called, n, depth)


def halves(n):
    return 1 if n <= 0 else halves(n - 1) * 0.5


def indexed_by_halves(x, n):
    i = halves(n)
    return x[i]


def test_results_that_are_of_another_kind_on_one_path():
    """No IndexError of the float that others are: Python has an element for the int."""
    check(halves, 3)
    refused(indexed_by_halves, np.arange(3.0), 0, words="for one of the kinds of number that `i` comes from")


def in_a_set(n, seen):
    return len(seen) if n <= 0 else in_a_set(n - 1, seen) + (n in seen)


def of_each(n, add):
    return 0 if n <= 0 else add(n) + of_each(n - 1, add)


def sums_and_products(n):
    k, total = 3, [0]

    def add(v):
        total[0] += v
        return v * k

    return of_each(n, add), total


def test_sets_and_closures_are_arguments():
    check(lambda n: in_a_set(n, {1, 2, 5}), 4)
    check(sums_and_products, 4)


def test_recursion_that_is_refused():
    refused(table_by_table, 4, words="recursive function")
    refused(handling, 2, words="recursive function")
    assert "grown" in refused(grown, (), 100)
    refused(lambda n: iterating((i for i in range(n)), n), 3, words="recursive function")
