"""Recursion over instances and lists in pools, against CPython: the rows of docs/language.md on trees and
graphs."""

import math

import numpy as np
import pytest

from support import check


class Tree:
    def __init__(self, key, left=None, right=None):
        self.key = key
        self.left = left
        self.right = right


def inserted(node, key):
    if node is None:
        return Tree(key)
    if key < node.key:
        node.left = inserted(node.left, key)
    else:
        node.right = inserted(node.right, key)
    return node


def summed(node):
    return 0 if node is None else node.key + summed(node.left) + summed(node.right)


def inorder(node, out):
    if node is None:
        return
    inorder(node.left, out)
    out.append(node.key)
    inorder(node.right, out)


def depth(node):
    if node is None:
        return 0
    return 1 + max(depth(node.left), depth(node.right))


def sorted_keys(keys):
    root = None
    for key in keys:
        root = inserted(root, int(key))
    out = []
    inorder(root, out)
    return out, depth(root), summed(root)


def build(lo, hi):
    if lo >= hi:
        return None
    mid = (lo + hi) // 2
    node = Tree(mid)
    node.left = build(lo, mid)
    node.right = build(mid + 1, hi)
    return node


def preorder(node, out):
    if node is None:
        return
    out.append(node.key)
    preorder(node.left, out)
    preorder(node.right, out)


def find(node, key):
    if node is None or node.key == key:
        return node
    return find(node.left, key) if key < node.key else find(node.right, key)


def found(n, k):
    t = build(0, n)
    f = find(t, k)
    if f is not None:
        f.key = 1000
    return summed(t), f is None


def delete(node, key):
    if node is None:
        return None
    if key < node.key:
        node.left = delete(node.left, key)
    elif key > node.key:
        node.right = delete(node.right, key)
    else:
        if node.left is None:
            return node.right
        if node.right is None:
            return node.left
        least = node.right
        while least.left is not None:
            least = least.left
        node.key = least.key
        node.right = delete(node.right, least.key)
    return node


def deleted(n, ks):
    t = build(0, n)
    for k in ks:
        t = delete(t, k)
    out = []
    inorder(t, out)
    return out


def mirrored(node):
    if node is not None:
        node.left, node.right = mirrored(node.right), mirrored(node.left)
    return node


def mirror(n):
    t = build(0, n)
    m = mirrored(t)
    out = []
    inorder(t, out)
    return out, m is t


def iterated(n):
    tree = build(0, n)
    keys = []
    preorder(tree, keys)
    return depth(tree), summed(tree), keys, tree


@pytest.mark.rotated(3)
def test_recursion_over_trees():
    keys = np.random.default_rng(0).integers(0, 50, 60)
    for count in (0, 1, 2, 60):
        check(sorted_keys, keys[:count])
    for n in (0, 1, 7, 30):
        check(iterated, n)
        check(mirror, n)
    for key in (0, 5, 19, 20):
        check(found, 20, key)
    check(deleted, 30, np.array([3, 15, 7, 7, 29, 15]))


class Node:
    __slots__ = ("key", "left", "right", "count")

    def __init__(self, key):
        self.key = key
        self.left = None
        self.right = None
        self.count = 1

    def insert(self, key):
        if key == self.key:
            self.count += 1
        elif key < self.key:
            if self.left is None:
                self.left = Node(key)
            else:
                self.left.insert(key)
        else:
            if self.right is None:
                self.right = Node(key)
            else:
                self.right.insert(key)

    def find(self, key):
        if key == self.key:
            return self
        child = self.left if key < self.key else self.right
        if child is None:
            return None
        return child.find(key)

    def size(self):
        n = self.count
        if self.left is not None:
            n += self.left.size()
        if self.right is not None:
            n += self.right.size()
        return n


def bst_methods(keys):
    root = Node(keys[0])
    for i in range(1, len(keys)):
        root.insert(keys[i])
    found = root.find(keys[-1])
    again = root.find(keys[-1])
    missing = root.find(-1)
    found.count += 100
    return root.size(), found is again, missing is None, again.count


class Quad:
    def __init__(self, x, y, half):
        self.x = x
        self.y = y
        self.half = half
        self.mass = 0.0
        self.cx = 0.0
        self.cy = 0.0
        self.body = -1
        self.nw = None
        self.ne = None
        self.sw = None
        self.se = None
        self.divided = False

    def divide(self):
        h = self.half / 2
        self.nw = Quad(self.x - h, self.y + h, h)
        self.ne = Quad(self.x + h, self.y + h, h)
        self.sw = Quad(self.x - h, self.y - h, h)
        self.se = Quad(self.x + h, self.y - h, h)
        self.divided = True

    def child(self, px, py):
        if py >= self.y:
            return self.ne if px >= self.x else self.nw
        return self.se if px >= self.x else self.sw

    def insert(self, i, xs, ys, ms):
        if not self.divided and self.body < 0:
            self.body = i
        else:
            if not self.divided:
                self.divide()
                j = self.body
                self.body = -1
                self.child(xs[j], ys[j]).insert(j, xs, ys, ms)
            self.child(xs[i], ys[i]).insert(i, xs, ys, ms)
        total = self.mass + ms[i]
        self.cx = (self.cx * self.mass + xs[i] * ms[i]) / total
        self.cy = (self.cy * self.mass + ys[i] * ms[i]) / total
        self.mass = total

    def force(self, px, py, theta):
        if self.mass == 0.0:
            return 0.0, 0.0
        dx = self.cx - px
        dy = self.cy - py
        d2 = dx * dx + dy * dy + 1e-3
        d = math.sqrt(d2)
        if not self.divided or 2 * self.half / d < theta:
            f = self.mass / (d2 * d)
            return f * dx, f * dy
        fx = 0.0
        fy = 0.0
        for c in (self.nw, self.ne, self.sw, self.se):
            gx, gy = c.force(px, py, theta)
            fx += gx
            fy += gy
        return fx, fy


def barnes_hut(xs, ys, ms):
    root = Quad(0.5, 0.5, 0.5)
    for i in range(len(xs)):
        root.insert(i, xs, ys, ms)
    out = np.zeros((len(xs), 2))
    for i in range(len(xs)):
        fx, fy = root.force(xs[i], ys[i], 0.5)
        out[i, 0] = fx
        out[i, 1] = fy
    return out


def test_recursive_methods_of_instances_in_trees():
    random = np.random.default_rng(0)
    check(bst_methods, random.integers(0, 100, 200))
    check(barnes_hut, random.random(60), random.random(60), random.random(60), bound=1e-15)


def visited(neighbours, place, seen):
    seen[place] = 1
    for other in neighbours[place]:
        if not seen[other]:
            visited(neighbours, other, seen)


def reached(count, ends):
    neighbours = [[] for _ in range(count)]
    for a, b in ends:
        neighbours[a].append(int(b))
    seen = np.zeros(count)
    visited(neighbours, 0, seen)
    return seen


def components(count, ends):
    neighbours = [[] for _ in range(count)]
    for a, b in ends:
        neighbours[a].append(int(b))
        neighbours[b].append(int(a))
    seen = [False] * count
    order = []

    def dfs(v):
        seen[v] = True
        order.append(v)
        for w in neighbours[v]:
            if not seen[w]:
                dfs(w)

    parts = 0
    for v in range(count):
        if not seen[v]:
            dfs(v)
            parts += 1
    return order, parts


def tarjan(count, ends):
    graph = [[] for _ in range(count)]
    for a, b in ends:
        graph[a].append(int(b))
    index = [-1] * count
    low = [0] * count
    on = [False] * count
    stack = []
    components = []
    counter = 0

    def strong(v):
        nonlocal counter
        index[v] = counter
        low[v] = counter
        counter += 1
        stack.append(v)
        on[v] = True
        for w in graph[v]:
            if index[w] == -1:
                strong(w)
                low[v] = min(low[v], low[w])
            elif on[w]:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            component = []
            while True:
                w = stack.pop()
                on[w] = False
                component.append(w)
                if w == v:
                    break
            components.append(component)

    for v in range(count):
        if index[v] == -1:
            strong(v)
    return components


def flood(grid):
    seen = [[False] * grid.shape[1] for _ in range(grid.shape[0])]

    def go(i, j):
        if i < 0 or j < 0 or i >= grid.shape[0] or j >= grid.shape[1] or seen[i][j] or grid[i, j] == 0:
            return 0
        seen[i][j] = True
        return 1 + go(i + 1, j) + go(i - 1, j) + go(i, j + 1) + go(i, j - 1)

    sizes = []
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            n = go(i, j)
            if n:
                sizes.append(n)
    return sizes


def nqueens(n):
    solutions = []

    def place(row, columns):
        if row == n:
            solutions.append(list(columns))
            return
        for c in range(n):
            ok = True
            for r, d in enumerate(columns):
                if d == c or abs(d - c) == row - r:
                    ok = False
                    break
            if ok:
                columns.append(c)
                place(row + 1, columns)
                columns.pop()

    place(0, [])
    return solutions


def permutations(n):
    out = []

    def go(prefix, used):
        if len(prefix) == n:
            out.append(prefix[:])
            return
        for i in range(n):
            if not used[i]:
                used[i] = True
                prefix.append(i)
                go(prefix, used)
                prefix.pop()
                used[i] = False

    go([], [False] * n)
    return out


def pascal(n):
    if n == 0:
        return [[1]]
    rows = pascal(n - 1)
    last = rows[-1]
    row = [1]
    for i in range(len(last) - 1):
        row.append(last[i] + last[i + 1])
    row.append(1)
    rows.append(row)
    return rows


def paths(node, path, out):
    if node is None:
        return
    path = path + [node.key]
    if node.left is None and node.right is None:
        out.append(path)
    paths(node.left, path, out)
    paths(node.right, path, out)


def all_paths(n):
    out = []
    paths(build(0, n), [], out)
    return out


@pytest.mark.rotated(3)
def test_recursion_over_lists_in_lists():
    random = np.random.default_rng(0)
    ends = random.integers(0, 30, (40, 2))
    check(reached, 30, ends)
    check(components, 30, ends)
    check(tarjan, 30, ends)
    check(flood, random.integers(0, 2, (6, 7)))
    check(nqueens, 5)
    check(permutations, 4)
    check(pascal, 6)
    check(all_paths, 20)


class Item:
    def __init__(self, key, tag):
        self.key = key
        self.tag = tag


def merge_sort(items):
    if len(items) <= 1:
        return items
    mid = len(items) // 2
    a = merge_sort(items[:mid])
    b = merge_sort(items[mid:])
    out = []
    i = 0
    j = 0
    while i < len(a) and j < len(b):
        if b[j].key < a[i].key:
            out.append(b[j])
            j += 1
        else:
            out.append(a[i])
            i += 1
    out.extend(a[i:])
    out.extend(b[j:])
    return out


def sort_items(keys):
    items = []
    for i in range(len(keys)):
        items.append(Item(keys[i], i))
    return [item.tag for item in merge_sort(items)]


def quicksort(items):
    if len(items) <= 1:
        return items
    p = items[0]
    return quicksort([v for v in items[1:] if v < p]) + [p] + quicksort([v for v in items[1:] if not v < p])


def qs(x):
    return quicksort([v for v in x])


class KD:
    def __init__(self, point, axis, left, right):
        self.point = point
        self.axis = axis
        self.left = left
        self.right = right


def kd_build(points, level):
    n = len(points)
    if n == 0:
        return None
    axis = level % 2
    points.sort(key=lambda p: p[axis])
    mid = n // 2
    return KD(points[mid], axis, kd_build(points[:mid], level + 1), kd_build(points[mid + 1 :], level + 1))


def kd_nearest(node, target, best):
    if node is None:
        return best
    d = (node.point[0] - target[0]) ** 2 + (node.point[1] - target[1]) ** 2
    if d < best[0]:
        best = (d, node.point)
    diff = target[node.axis] - node.point[node.axis]
    near = node.left if diff < 0 else node.right
    far = node.right if diff < 0 else node.left
    best = kd_nearest(near, target, best)
    if diff * diff < best[0]:
        best = kd_nearest(far, target, best)
    return best


def kd(x, q):
    points = [(x[i, 0], x[i, 1]) for i in range(len(x))]
    root = kd_build(points, 0)
    out = []
    for i in range(len(q)):
        d, p = kd_nearest(root, (q[i, 0], q[i, 1]), (1e300, (0.0, 0.0)))
        out.append(p)
    return out


@pytest.mark.rotated(4)
def test_recursion_divides_lists_of_unknown_length():
    random = np.random.default_rng(0)
    check(sort_items, random.integers(0, 40, 60))
    check(qs, random.random(40))
    check(kd, random.random((60, 2)), random.random((20, 2)))


class Expr:
    def __init__(self, op, value=0.0, a=None, b=None):
        self.op = op
        self.value = value
        self.a = a
        self.b = b

    def eval(self, x):
        if self.op == 0:
            return self.value
        if self.op == 1:
            return x
        if self.op == 2:
            return self.a.eval(x) + self.b.eval(x)
        if self.op == 3:
            return self.a.eval(x) * self.b.eval(x)
        raise ValueError("unknown operator")


def make_expr(depth, k):
    if depth == 0:
        return Expr(k % 2, k * 0.25)
    return Expr(2 + k % 2, 0.0, make_expr(depth - 1, 2 * k), make_expr(depth - 1, 2 * k + 1))


def expression(n, x):
    e = Expr(1)
    for i in range(n):
        e = Expr(2 + i % 2, 0.0, e, Expr(0, i * 0.5))
    return e.eval(x)


def full_expression(x):
    e = make_expr(6, 1)
    return e.eval(x)


def unknown_operator(x):
    e = Expr(2, 0.0, Expr(9), Expr(1))
    for i in range(3):
        e = Expr(3, 0.0, e, Expr(1))
    try:
        return e.eval(x)
    except ValueError:
        return -1.0


class Cell:
    def __init__(self, value, next):
        self.value = value
        self.next = next


def merge_lists(a, b):
    if a is None:
        return b
    if b is None:
        return a
    if a.value <= b.value:
        a.next = merge_lists(a.next, b)
        return a
    b.next = merge_lists(a, b.next)
    return b


def reverse(c, tail=None):
    if c is None:
        return tail
    return reverse(c.next, Cell(c.value, tail))


def lists(n):
    a = None
    b = None
    for i in range(n, 0, -1):
        if i % 3:
            a = Cell(i, a)
        else:
            b = Cell(i, b)
    c = merge_lists(a, b)
    d = reverse(c)
    out = []
    while d is not None:
        out.append(d.value)
        d = d.next
    return out, c.next.value


def mutate_root(node, n):
    if n == 0:
        return node
    return mutate_root(Cell(n, node), n - 1)


def made(n):
    c = mutate_root(None, n)
    d = mutate_root(c, 2)
    return d.next.next is c, d, c


class Auto:
    def __init__(self, depth):
        self.depth = depth
        self.left = Auto(depth - 1) if depth > 0 else None
        self.right = None
        if depth > 1:
            self.right = Auto(depth - 2)

    def count(self):
        n = 1
        if self.left is not None:
            n += self.left.count()
        if self.right is not None:
            n += self.right.count()
        return n


def auto(d):
    return Auto(d).count()


def test_recursion_makes_instances():
    check(expression, 7, 1.5)
    check(full_expression, 1.5)
    check(lists, 20)
    check(made, 5)
    check(auto, 7)


class Folder:
    def __init__(self, name):
        self.name = name
        self.files = []
        self.folders = []


class File:
    def __init__(self, size):
        self.size = size
        self.seen = 0


def fill(folder, depth):
    for k in range(depth):
        folder.files.append(File(depth * 10 + k))
        sub = Folder(k)
        folder.folders.append(sub)
        fill(sub, depth - 1)


def total(folder):
    n = 0
    for f in folder.files:
        n += size_of(f)
    for sub in folder.folders:
        n += total(sub)
    return n


def size_of(f):
    f.seen += 1
    return f.size


def folders(depth):
    root = Folder(0)
    fill(root, depth)
    return total(root), total(root), root.files[0].seen


def is_even(c):
    return True if c is None else is_odd(c.next)


def is_odd(c):
    return False if c is None else is_even(c.next)


def evens(n):
    c = None
    for i in range(n):
        c = Cell(i, c)
    return is_even(c), is_odd(c)


class Multi:
    def __init__(self, key):
        self.key = key
        self.children = []

    def total(self):
        return self.key + sum(c.total() for c in self.children)

    def deepest(self):
        best = 0
        for c in self.children:
            best = max(best, c.deepest())
        return best + 1


def multi(parents):
    nodes = [Multi(i) for i in range(len(parents))]
    for i in range(1, len(parents)):
        nodes[parents[i]].children.append(nodes[i])
    return nodes[0].total(), nodes[0].deepest()


def groups(keys):
    g = {}

    def go(k):
        if k < len(keys):
            if keys[k] not in g:
                g[keys[k]] = []
            g[keys[k]].append(k)
            go(k + 1)

    go(0)
    return g


@pytest.mark.rotated(4)
def test_recursion_over_several_pools():
    check(folders, 3)
    for n in (0, 1, 5):
        check(evens, n)
    check(multi, np.array([0, 0, 1, 1, 0, 2]))
    check(groups, np.array([1, 2, 1, 3]))


def length(c):
    return 0 if c is None else 1 + length(c.next)


def deep(n):
    c = None
    for i in range(n):
        c = Cell(i, c)
    try:
        return length(c)
    except RecursionError:
        return -1


def fail_at(c, n):
    if c is None:
        raise KeyError(n)
    c.value += 1
    fail_at(c.next, n + 1)


def failing(n):
    c = None
    for i in range(n):
        c = Cell(i, c)
    first = c
    try:
        fail_at(c, 0)
    except KeyError:
        pass
    out = []
    while c is not None:
        out.append(c.value)
        c = c.next
    return out


def caught_inside(c, n):
    if n == 0:
        raise ValueError
    try:
        caught_inside(Cell(n, c), n - 1)
    except ValueError:
        pass
    return c.value


def caught_outside(n):
    def down(c, k):
        if k == 0:
            raise ValueError
        return down(Cell(k, c), k - 1) + c.value

    try:
        return down(Cell(0, None), n)
    except ValueError:
        return caught_inside(Cell(7, None), n + 1)


@pytest.mark.rotated(4)
def test_exceptions_leave_recursion_over_trees():
    check(caught_outside, 2)
    check(unknown_operator, 1.5)
    check(failing, 6)
    check(deep, 50)
    check(deep, 1_000_000)
