"""Lists in lists of unknown length, in attributes of instances and in dicts, against CPython: rows of docs/language.md."""

import heapq

import numpy as np
import pytest

from support import check, refused

EDGES = np.array([[0, 1], [1, 2], [0, 3], [3, 2], [2, 4], [5, 6], [1, 4]])


class Node:
    def __init__(self, key):
        self.key = key
        self.children = []

    def add(self, child):
        self.children.append(child)
        return child


class Interval:
    def __init__(self, middle, half):
        self.middle = middle
        self.half = half
        self.parts = None
        self.count = 0

    def split(self):
        half = self.half / 2
        self.parts = [Interval(self.middle - half, half), Interval(self.middle + half, half)]

    def part(self, x):
        return self.parts[0] if x < self.middle else self.parts[1]


class Box:
    def __init__(self, items=None):
        self.items = items


def neighbours(n, edges):
    adjacent = [[] for _ in range(n)]
    for a, b in edges:
        adjacent[int(a)].append(int(b))
        adjacent[int(b)].append(int(a))
    return adjacent


@pytest.mark.rotated(3)
def test_lists_of_lists():
    def searched(n, edges, start):
        adjacent = neighbours(n, edges)
        distance = [-1] * n
        distance[start] = 0
        queue = [start]
        k = 0
        while k < len(queue):
            u = queue[k]
            k += 1
            for v in adjacent[u]:
                if distance[v] < 0:
                    distance[v] = distance[u] + 1
                    queue.append(v)
        return distance, queue, [len(a) for a in adjacent]

    def triangle(n):
        rows = []
        for i in range(n):
            row = [1]
            for k in range(1, i):
                row.append(rows[-1][k - 1] + rows[-1][k])
            if i > 0:
                row.append(1)
            rows.append(row)
        return rows, sum([len(row) for row in rows])

    def table(n, m):
        rows = [[0.0] * m for _ in range(n)]
        for i in range(n):
            for k in range(m):
                rows[i][k] += i * 10.0 + k
            rows[i][-1] -= 0.5
        return rows, np.array(rows)

    def weighted(n, edges):
        adjacent = [[] for _ in range(n)]
        for a, b in edges:
            adjacent[int(a)].append((int(b), float(a + b) * 0.5))
        best = [1e9] * n
        best[0] = 0.0
        heap = [(0.0, 0)]
        while heap:
            d, u = heapq.heappop(heap)
            if d > best[u]:
                continue
            for v, w in adjacent[u]:
                if d + w < best[v]:
                    best[v] = d + w
                    heapq.heappush(heap, (d + w, v))
        return best, adjacent

    for n in (7, 9):
        check(neighbours, n, EDGES)
        check(searched, n, EDGES, 0)
        check(weighted, n, EDGES)
    for n in (0, 1, 2, 8):
        check(triangle, n)
    for n, m in ((1, 1), (3, 4)):
        check(table, n, m)


@pytest.mark.rotated(3)
def test_identity_of_lists_in_lists():
    def aliased(n):
        row = [0]
        rows = []
        for i in range(n):
            rows.append(row)
            row.append(i)
        same = n > 1 and rows[0] is rows[1]
        return rows, same, row

    def kept(n):
        first = a = [0]
        for k in range(n):
            a = a + [k]
        return first, a, first is a

    def one_of_two(n):
        rows = [[i] for i in range(n)]
        chosen = rows[0] if n > 2 else rows[-1]
        chosen.append(5)
        last = None
        for row in rows:
            if len(row) > 1:
                last = row
        return rows, chosen is rows[0], last is chosen

    def outside(n):
        row = [0] * 3
        rows = []
        for i in range(n):
            rows.append(row)
            row[i % 3] += i
        return rows, row

    def on_one_path(n):
        row = [n]
        rows = [[1]]
        for i in range(n):
            if i % 2:
                rows.append(row)
            row.append(i)
        return rows, len(row)

    def repeated(n):
        rows = [[0, 1]] * n
        if n > 1:
            rows[0][1] = 5
            rows[1].append(7)
        return rows

    def compared(n):
        rows = [[i, i + 1] for i in range(n)]
        other = [[0, 1], [1, 2]]
        return rows == other, [1, 2] in rows, rows[0] == rows[-1], rows.count([0, 1]), not rows[0]

    for n in (0, 1, 3):
        check(aliased, n)
        check(outside, n)
        check(kept, n)
        check(on_one_path, n)
        check(repeated, n)
    for n in (1, 2, 3):
        check(compared, n)
        check(one_of_two, n)


def test_methods_of_lists_in_lists():
    def changed(n):
        rows = [[i, 2 * i, 7 - i] for i in range(n)]
        for row in rows:
            row.append(100)
            row.insert(0, -1)
            row.sort()
            row += [3, 4]
            row.reverse()
            row.extend(row[1:3])
            if row[0] == 4:
                row.remove(3)
        last = rows[0].pop()
        first = rows[0].pop(0)
        rows[-1].clear()
        del rows[0][1]
        return rows, last, first, rows[0].index(100), rows[0].copy(), rows[0] + [1], rows[0][::-1]

    def failing(n, k):
        rows = [[i] for i in range(n)]
        if k == 0:
            return rows[1][1]
        if k == 1:
            rows[1].pop()
            return rows[1].pop()
        if k == 2:
            rows[0][-2] = 3
        return rows[n]

    def iterated(n):
        rows = [[i, i] for i in range(n)]
        total = 0
        for row in rows:
            for i, v in enumerate(row):
                total += i * v
                if len(row) < 4:
                    row.append(v + 1)
        a, b = [[7, 8] for _ in range(n)][0]
        return rows, total, a, b, sum(rows[0]), max(rows[-1]), [v for row in rows for v in row]

    check(changed, 3)
    for k in range(4):
        check(failing, 3, k)
    check(iterated, 4)


@pytest.mark.rotated(4)
def test_lists_in_instances_and_dicts():
    def tree(n):
        root = Node(0)
        nodes = [root]
        for i in range(1, n):
            nodes.append(nodes[(i - 1) // 3].add(Node(i)))
        depth = 0
        level = [root]
        while level:
            below = []
            for node in level:
                for child in node.children:
                    below.append(child)
            level = below
            depth += 1
        return root, depth

    def grouped(values):
        groups = {}
        for v in values:
            k = int(v) % 3
            if k not in groups:
                groups[k] = []
            groups[k].append(int(v))
        return groups

    def by_default(x):
        found = {}
        for v in x:
            found.setdefault(v, []).append(1)
        return found

    def paths(n):
        pending = [[0]]
        found = []
        while pending:
            path = pending.pop()
            if len(path) == n:
                found.append(path)
                continue
            for k in range(2):
                pending.append(path + [k])
        return found

    def boxes(n):
        result = []
        for i in range(n):
            box = Box()
            if i % 2:
                box.items = [i, i]
            result.append(box)
        count = 0
        for box in result:
            if box.items is not None:
                count += len(box.items)
        return result, count

    def of_none(n):
        result = [Box() for _ in range(n)]
        result[0].items = [1]
        return len(result[1].items)

    def divided(xs):
        root = Interval(0.0, 1.0)
        for x in xs:
            interval = root
            while interval.count > 1 and interval.half > 0.01:
                if interval.parts is None:
                    interval.split()
                    interval.part(x).count += 1
                    interval.part(-x).half *= 1.0
                interval = interval.part(x)
            interval.count += 1
        return root

    check(divided, np.array([0.1, 0.15, -0.3, 0.12, 0.11, -0.9, 0.1]))
    for n in (1, 2, 14):
        check(tree, n)
        check(boxes, n)
    check(grouped, np.arange(11) * 7 % 10)
    check(of_none, 2)
    check(by_default, np.array([0.5, 2.0, 0.5]))
    check(paths, 4)


def test_deeper_lists():
    def nested(n):
        cube = [[[i * k for k in range(i)] for i in range(j)] for j in range(n)]
        cube[-1].append([9])
        return cube, len(cube[-1][-1])

    for n in (1, 4):
        check(nested, n)


def test_iterators_over_rows():
    """Iterators go on where `next` has left them."""

    def in_a_loop(rows):
        s = 0.0
        for row in rows:
            pairs = enumerate(row)
            k, v = next(pairs)
            s = 3 * s + v
            k, v = next(pairs, (7, 2.0))
            s = 3 * s + k * v
            a, b = next(zip(row, rows[1]))
            s = 3 * s + a - b
        return s

    def built(n):
        rows = []
        for i in range(n):
            rows.append([j * i + 0.5 for j in range(i + 1)])
        return rows

    def goes_on(n):
        rows = built(n)
        pairs = enumerate(rows[n - 1])
        first = next(pairs)
        found = []
        for k, v in pairs:
            found.append((10 * k, v))
        return first, found

    def beside_others(n):
        rows = built(n)
        both = zip(rows[n - 1], range(3, 9))
        a, b = next(both)
        s = a * b
        for a, b in both:
            s = 3 * s + a - b
        return s

    check(in_a_loop, [[1.5, 2.5], [3.5, 4.5, 5.5]])
    check(in_a_loop, [[1.5 * i] * (i + 1) for i in range(30)])
    check(goes_on, 5)
    check(beside_others, 5)


def test_lists_in_lists_that_are_refused():
    def of_the_caller(row, n):
        rows = []
        for i in range(n):
            rows.append(row)
        return len(rows)

    refused(of_the_caller, [1, 2], 3)


@pytest.mark.rotated(3)
def test_rows_are_copied_and_sorted_in_comprehensions():
    """A copy of a row is located where its list is made: in the library, once for all rows."""

    def built(n):
        rows = []
        for i in range(n):
            row = []
            for j in range(i):
                row.append((7 * j) % 5)
            rows.append(row)
        return rows

    def copied(n):
        rows = built(n)
        copies = [list(row) for row in rows]
        copies[2].append(9)
        return rows, copies, copies[1] is rows[1]

    def sorts(n):
        rows = built(n)
        return [sorted(row) for row in rows], rows

    def maps(n):
        return list(map(list, built(n)))

    def backwards(n):
        return [sorted(row, reverse=True) for row in built(n)], [row[:] for row in built(n)], [row + [1] for row in built(n)]

    def nested(n):
        rows = [[j * i for j in range(i)] for i in range(n)]
        return [list(row) for row in rows], [len(sorted(row)) for row in rows]

    for function in (copied, sorts, maps, backwards, nested):
        check(function, 5)
    for function in (lambda rows: [list(r) for r in rows], lambda rows: [sorted(r) for r in rows], lambda rows: list(map(list, rows))):
        check(function, [[3, 1, 2], [], [5, 4]])
