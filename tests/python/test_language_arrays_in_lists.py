"""Arrays in lists of unknown length, in instances and dicts, against CPython and NumPy: rows of docs/language.md."""

import ingot
import numpy as np
import pytest
from support import check, refused


def kept_copies(u, n):
    history = []
    for k in range(n):
        history.append(u.copy())
        u += k
    total = u * 0
    for h in history:
        total += h
    return len(history), sum(h[0] for h in history), history[-1] - history[-2], history[2][1:], total, u


def new_ones(u, n):
    history = [u]
    for _ in range(n):
        u = u + 1
        history.append(u)
    history[0][0] = 5
    return history[-1] + history[0], u, history[n], history[0]


def masks(u, n):
    found = []
    for k in range(n):
        found.append(u > k)
    return found[0] & ~found[n - 1], found[1].sum()


def lengths_that_differ(n):
    rows = []
    for k in range(n):
        rows.append(np.arange(k) * 1.5)
    total = 0.0
    for row in rows:
        total += row.sum()
    return total, [len(row) for row in rows], rows[n - 1][1], rows[0]


def of_comprehension(n):
    rows = [np.full((2, 3), k) for k in range(n)]
    return rows[1] @ rows[-1].T, rows[n - 2].sum(axis=0)


def indexed(n, k):
    rows = [np.zeros(3) for _ in range(n)]
    rows[k][1] = 4.0
    rows[k] += 1
    rows[k] = rows[k] * 2
    return rows[k], rows[k - 1]


@pytest.mark.rotated(3)
def test_lists_of_arrays():
    for dtype in (np.float64, np.int16, np.complex64, np.float16):
        check(kept_copies, np.arange(3).astype(dtype), 4)
    for u in (np.ones((2, 3)), np.ones((3, 2)).T, np.ones(6)[::-2]):
        check(new_ones, u, 3)
    check(masks, np.arange(4), 3)
    for n in (2, 5):
        check(lengths_that_differ, n)
    check(of_comprehension, 4)
    check(indexed, 5, 2)


def one_many_times(u, n):
    history = []
    v = u.copy()
    for k in range(n):
        history.append(v)
        v[0] = k
    first = history[0]
    history[1][1] = 77
    return first, v, first[:2].sum(), history[n - 1]


def rows_of(w, n):
    rows = []
    for k in range(n):
        rows.append(w[k])
        rows[-1][1] = k
    rows[0][0] = 9
    w[1] = -1
    return rows[1].sum(), rows[n - 1]


def columns_of(n):
    w = np.zeros((3, n))
    columns = []
    for k in range(n):
        columns.append(w[::-1, k])
        columns[-1][0] = k
    return w, columns[n - 1]


def in_lists(n):
    rows = []
    for i in range(n):
        rows.append([np.zeros(i + 1)])
        rows[-1].append(np.ones(2))
    rows[1][0][1] = 4
    return len(rows), rows[1][0], rows[n - 1][1].sum()


def changing_places(n):
    rows = []
    for k in range(n):
        rows.append(np.full(2, k))
    a = rows[0]
    for k in range(n - 1):
        rows[k], rows[k + 1] = rows[k + 1], rows[k]
    a[0] = 10
    return rows[n - 1], rows[0], a


def by_methods(n):
    rows = [np.full(3, k * 1.0) for k in range(n)]
    a = rows.pop()
    b = rows.pop(0)
    rows.insert(1, a)
    rows.reverse()
    rows[0] = b
    a[1] = 8
    rows.extend(rows[:2])
    del rows[1]
    return np.array(rows), a, b


def written_argument(x, n):
    parts = []
    for k in range(n):
        parts.append(x[k : k + 2])
    for k in range(n):
        parts[k] *= 2
    return len(parts)


@pytest.mark.rotated(3)
def test_identity_of_arrays_in_lists():
    check(one_many_times, np.arange(3.0), 4)
    check(rows_of, np.zeros((4, 3)), 4)
    check(rows_of, np.zeros((4, 3), order="F")[:, ::-1], 4)
    check(columns_of, 4)
    check(changing_places, 4)
    check(in_lists, 4)
    check(by_methods, 6)
    check(written_argument, np.arange(6.0), 4)


def joined(u, n, axis):
    history = []
    for k in range(n):
        history.append(u + k)
    return np.array(history), np.stack(history), np.stack(history, axis), np.concatenate(history, axis - 1), np.vstack(history)


def joined_of_lengths(n):
    rows = []
    for k in range(n):
        rows.append(np.arange(k))
    return np.concatenate(rows), np.hstack(rows)


def array_of_lengths(n):
    rows = []
    for k in range(n):
        rows.append(np.ones(2 + k // 2))
    return np.array(rows)


def as_single(n):
    rows = []
    for k in range(n):
        rows.append(np.arange(3) * 0.1 + k)
    return np.array(rows, np.float32), np.asarray(rows).mean(axis=0)


@pytest.mark.rotated(4)
def test_arrays_of_lists_of_arrays():
    for u in (np.arange(3.0), np.ones((2, 3), np.int32), np.ones((2, 3), order="F")):
        check(joined, u, 4, 1)
    check(joined_of_lengths, 4)
    check(array_of_lengths, 2)
    check(array_of_lengths, 5)
    check(as_single, 3, bound=1e-15)


class Body:
    def __init__(self, k):
        self.place = np.zeros(3)
        self.place[0] = k
        self.mass = 1.0 + k

    def drawn_to(self, other):
        self.place += 0.25 * (other.place - self.place) * other.mass


def bodies(n):
    everyone = [Body(k) for k in range(n)]
    for a in everyone:
        for b in everyone:
            if a is not b:
                a.drawn_to(b)
    first = everyone[0].place
    everyone[0].place = everyone[1].place
    everyone[1].place[2] = 3.0
    return np.array([b.place for b in everyone]), everyone[0].place, first


class Leaf:
    def __init__(self, low, high):
        self.middle = (low + high) / 2
        self.left = None
        self.right = None


def halved(points, least):
    node = Leaf(points.min(axis=0), points.max(axis=0))
    if len(points) > least:
        node.left = halved(points[: len(points) // 2], least)
        node.right = halved(points[len(points) // 2 :], least)
    return node


def middles(node, found):
    if node is not None:
        found.append(node.middle)
        middles(node.left, found)
        middles(node.right, found)


def tree_of_arrays(points):
    found = []
    middles(halved(points, 2), found)
    return np.array(found)


def in_dict(keys):
    sums = {}
    for k in keys:
        if k not in sums:
            sums[k] = np.zeros(2)
        sums[k][0] += 1
        sums[k][1] += k
    total = np.zeros(2)
    for k, v in sums.items():
        total += v * k
    return total, sums[keys[0]]


@pytest.mark.rotated(3)
def test_arrays_in_instances_and_dicts():
    check(bodies, 4)
    check(tree_of_arrays, np.random.default_rng(0).random((9, 2)))
    check(in_dict, np.array([1, 2, 1, 5]))


def returned(u, n):
    history = []
    for k in range(n):
        history.append(u + k)
    return history


def tuples_returned(u, n):
    history = []
    for k in range(n):
        history.append((k * 0.5, u[k:], None if k % 2 else k))
    return history, len(history)


def deep_returned(n):
    rows = []
    for i in range(n):
        rows.append([np.arange(i + 1)])
        for k in range(i):
            rows[-1].append(np.full(k, i))
    rows.append(rows[0])
    return {"rows": rows, "last": rows[-1][0]}, rows


def dict_returned(keys):
    sums = {}
    for k in keys:
        if k not in sums:
            sums[k] = np.zeros(2)
        sums[k] += k
    return sums


def bodies_returned(n):
    everyone = []
    for k in range(n):
        everyone.append(Body(k))
    everyone[0].place = everyone[n - 1].place
    return everyone, everyone[0].place


def owners_and_views(u, n):
    history = [u]
    v = u * 2
    for _ in range(n):
        history.append(v)
        history.append(v[1:])
        history.append(u[::-1])
        u = u + 1
        history.append(u)
    v[0] = 9
    history[0][1] = 7
    return history, history[1], v, {"last": history[-1]}


def rows_returned(w, n):
    rows = []
    for k in range(n):
        rows.append(w[k])
    rows[0][0] = 5
    return rows


def of_recursion(u, depth, found):
    found.append(u)
    if depth > 0:
        of_recursion(u[1:], depth - 1, found)
        of_recursion(u * 2, depth - 1, found)
    return found


def recursion_returned(u, depth):
    return of_recursion(u, depth, [])


def until_an_error(u, n):
    history = []
    try:
        for k in range(n):
            history.append(u / (k + 1))
            if history[-1][0] < 0.3:
                raise ValueError(k)
    except ValueError:
        history.append(u)
    if len(history) > 3:
        history.pop()
    return history


def said_and_returned(u, n):
    history = []
    for k in range(n):
        print(k)
        history.append(u[::-1])
        u = u + 1
        history.append(u)
    return history, u


def raised_with_them(u, n):
    history = []
    for k in range(n):
        history.append(u + k)
    return history, history[n]


@pytest.mark.rotated(4)
def test_lists_of_arrays_are_returned():
    for dtype in (bool, np.int8, np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128):
        check(returned, np.arange(3).astype(dtype), 3)
    for u in (np.ones((2, 3)), np.ones((3, 2)).T, np.ones(6)[::-2], np.ones((2, 0)), np.array(2.0)):
        check(returned, u, 2)
    for n in (0, 1, 40):
        check(returned, np.zeros(2), n)
        check(recursion_returned, np.arange(6.0), n % 4)
        check(until_an_error, np.ones(2), n)
        check(said_and_returned, np.arange(3), n)
    check(tuples_returned, np.arange(4.0), 4)
    for n in (1, 5):
        check(deep_returned, n)
    check(dict_returned, np.array([3, 1, 3, 2]))
    check(bodies_returned, 3)
    check(raised_with_them, np.zeros(2), 3)
    for u in (np.arange(6.0), np.arange(-2, 3)):
        check(lambda a: [a for v in a], u)
        check(lambda a: [a for i in range(3) if a[0] > i - 2], u)


def test_identity_of_arrays_in_returned_lists():
    check(owners_and_views, np.arange(4.0), 3)
    for w in (np.zeros((4, 3)), np.zeros((4, 3), order="F")[:, ::-1]):
        check(rows_returned, w, 4)


def test_arrays_of_returned_lists_are_freed():
    functions = [(ingot.jit(f), a) for f, a in ((returned, (np.zeros(9), 3)), (owners_and_views, (np.zeros(4), 3)))]
    for f, arguments in functions:
        f(*arguments)
    before = ingot.memory()["in_use"]
    for _ in range(10_000):
        for f, arguments in functions:
            f(*arguments)
    assert ingot.memory()["in_use"] == before


def of_two_ranks(n):
    rows = []
    for k in range(n):
        rows.append(np.zeros(2))
        rows.append(np.zeros((2, 2)))
    return rows[n]


def same_array(n):
    rows = []
    for _ in range(n):
        rows.append(np.zeros(2))
    return rows[0] is rows[1]


def put_outside(u, n, out):
    history = []
    for k in range(n):
        history.append(u + k)
    out.append(history)


def read_only_in_some(u, n):
    history = [u]
    for k in range(n):
        history.append(u + k)
    return history


def test_arrays_in_lists_that_are_refused():
    refused(of_two_ranks, 3, words="axes")
    refused(same_array, 3, words="`is`")
    refused(put_outside, np.zeros(2), 3, [], words="outside of the result")
    u = np.zeros(2)
    u.flags.writeable = False
    refused(read_only_in_some, u, 3, words="read-only")
