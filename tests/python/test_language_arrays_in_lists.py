"""Arrays in lists of unknown length, in instances and dicts, against CPython and NumPy: rows of docs/language.md."""

import numpy as np
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


def test_arrays_in_instances_and_dicts():
    check(bodies, 4)
    check(tree_of_arrays, np.random.default_rng(0).random((9, 2)))
    check(in_dict, np.array([1, 2, 1, 5]))


def returned(u, n):
    history = []
    for k in range(n):
        history.append(u + k)
    return history


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


def bodies_returned(n):
    everyone = []
    for k in range(n):
        everyone.append(Body(k))
    return everyone


def test_arrays_in_lists_that_are_refused():
    refused(returned, np.zeros(2), 3, words="return np.array")
    refused(of_two_ranks, 3, words="axes")
    refused(same_array, 3, words="`is`")
    refused(bodies_returned, 3, words="arrays")
