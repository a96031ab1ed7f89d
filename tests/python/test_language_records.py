"""Lists of instances, instances that refer to each other, and heaps, against CPython: rows of docs/language.md."""

import bisect
import heapq
from dataclasses import dataclass

import numpy as np
import pytest
from support import check, refused

KEYS = np.array([50, 20, 70, 10, 30, 60, 80, 25, 65, 5, 50])


class Particle:
    """Its mass is an int."""

    count = 0

    def __init__(self, x, v, mass=1):
        self.x = x
        self.v = v
        self.mass = mass

    def move(self, dt):
        self.x += self.v * dt
        return self

    @property
    def momentum(self):
        return self.mass * self.v


class Node:
    def __init__(self, key, left=None, right=None):
        self.key = key
        self.left = left
        self.right = right


class Link:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


@dataclass
class Event:
    time: float
    kind: int
    where: tuple[int, int] = (0, 0)


class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __eq__(self, other):
        return isinstance(other, Vector) and self.x == other.x and self.y == other.y

    def __lt__(self, other):
        return self.x * self.x + self.y * self.y < other.x * other.x + other.y * other.y

    def __bool__(self):
        return self.x != 0 or self.y != 0


def made(n):
    ps = []
    for i in range(n):
        ps.append(Particle(i * 0.5, 1.0 - i))
    return ps


def linked(n):
    head = None
    for i in range(n):
        head = Link(i * i, head)
    return head


def tree(keys):
    root = None
    for key in keys:
        new = Node(key)
        if root is None:
            root = new
            continue
        node = root
        while True:
            if key < node.key:
                if node.left is None:
                    node.left = new
                    break
                node = node.left
            else:
                if node.right is None:
                    node.right = new
                    break
                node = node.right
    return root


@pytest.mark.rotated(3)
def test_lists_of_instances():
    def moved(n, dt):
        ps = made(n)
        for p in ps:
            p.x += p.v * dt
        for p in ps:
            p.move(dt).mass += 2
        total = 0.0
        for p in ps:
            total += p.x + p.momentum
        return total, len(ps), ps

    def by_places(n):
        ps = made(n)
        for i in range(len(ps)):
            for j in range(i):
                ps[i].v += ps[j].x
                ps[j].mass -= 1
        ps[-1].x = 100.0
        return ps[0].x, ps[-1].mass, ps

    def comprehended(n):
        ps = [Particle(float(i), -1.0) for i in range(n)]
        far = [p for p in ps if p.x > 2.5]
        return ps, far, sum([p.x for p in far], 0.0), [p.x for p in far]

    def popped(n):
        ps = made(n)
        last = ps.pop()
        first = ps.pop(0)
        ps.insert(1, last)
        ps.append(first)
        del ps[2]
        ps.reverse()
        return ps, last, first.x

    def sorted_by(n):
        ps = made(n)
        ps.sort(key=lambda p: p.v)
        return ps, sorted(ps, key=lambda p: -p.x)[0]

    def filled_with_events(n):
        events = []
        for i in range(n):
            events.append(Event(i * 0.25, i % 3))
            if i % 2:
                events[-1].where = (i, i + 1)
        return events, [e for e in events if e.kind == 1]

    for n in (0, 1, 2, 9, 40):
        check(moved, n, 0.25)
        check(comprehended, n)
        check(filled_with_events, n)
    for n in (1, 2, 12):
        check(by_places, n)
    for n in (4, 20):
        check(popped, n)
        check(sorted_by, n)


def test_identity_of_instances_in_lists():
    def twice(n):
        p = Particle(0.0, 1.0)
        ps = []
        for i in range(n):
            q = Particle(i * 1.0, 2.0)
            ps.append(p)
            ps.append(q)
            q.x += 1.0
            p.x += 0.5
        return ps, p

    def compared(n):
        ps = made(n)
        chosen = ps[0]
        same = 0
        for i, p in enumerate(ps):
            if p is chosen:
                same += 1
                chosen = ps[(i + 3) % n]
        return same, chosen in ps, Particle(0.0, 1.0) in ps, ps.count(ps[-1]), chosen == ps[1], chosen

    def one_of_two(x):
        a = Particle(1.0, 2.0)
        b = Particle(3.0, 4.0)
        c = a if x > 0 else b
        c.x += 10.0
        return a, b, c, c is a, c is not b

    def seen_twice(x):
        v = w = Vector(1.0, 2.0)
        if x > 0:
            v = Vector(x * 1.0, 0.0)
        return v.x + w.x

    def swapped(n):
        a = Particle(1.0, 2.0)
        b = Particle(3.0, 4.0)
        pair = (a, b)
        for i in range(n):
            a, b = b, a
            a.x += i
        return a, b, pair

    def in_two_lists(n):
        left, right = [], []
        for p in made(n):
            if p.x < 2.0:
                left.append(p)
            if p.x > 0.5:
                right.append(p)
        for p in left:
            p.mass = 7
        return [p.mass for p in right], left, right

    for n in (0, 1, 5):
        check(twice, n)
        check(swapped, n)
        check(in_two_lists, n)
    check(compared, 8)
    for x in (1, -1):
        check(one_of_two, x)
        check(seen_twice, x)


def test_operators_of_instances_in_lists():
    def summed(n):
        vs = [Vector(i, -i) for i in range(n)]
        total = Vector(0, 0)
        for v in vs:
            total = total + v
        return total.x, total.y, bool(total), Vector(1, -1) in vs, vs.count(Vector(2, -2)), min(vs).x, sorted(vs)[-1].x

    def chosen(n):
        found = None
        for i in range(n):
            v = Vector(i - 3, 0)
            if not v:
                found = v
        return found is None, found == Vector(0, 0), found != None, bool(found)  # noqa: E711

    check(summed, 4)
    for n in (0, 2, 4, 9):
        check(chosen, n)


def test_linked_instances():
    def reversed_sum(n):
        head = linked(n)
        previous = None
        while head:
            head.next, previous, head = previous, head, head.next
        total, weight, node = 0, 1, previous
        while node is not None:
            total += weight * node.value
            weight += 1
            node = node.next
        return total, previous

    def inserted(values):
        head = None
        for v in values:
            if head is None or v < head.value:
                head = Link(v, head)
                continue
            node = head
            while node.next is not None and node.next.value < v:
                node = node.next
            node.next = Link(v, node.next)
        return head

    def in_a_ring(n, step):
        first = Link(0)
        last = first
        for i in range(1, n):
            last.next = Link(i)
            last = last.next
        last.next = first
        order = []
        node = last
        while node.next is not node:
            for _ in range(step - 1):
                node = node.next
            order.append(node.next.value)
            node.next = node.next.next
        return order, node.value, node

    for n in (0, 1, 2, 9):
        check(linked, n)
        check(reversed_sum, n)
    check(inserted, KEYS)
    check(in_a_ring, 7, 3)
    check(in_a_ring, 1, 2)


def test_trees_of_instances():
    def in_order(keys):
        stack, out = [], []
        node = tree(keys)
        while stack or node is not None:
            while node is not None:
                stack.append(node)
                node = node.left
            node = stack.pop()
            out.append(node.key)
            node = node.right
        return out

    def found(keys, key):
        node = tree(keys)
        depth = 0
        while node and node.key != key:
            node = node.left if key < node.key else node.right
            depth += 1
        return depth, node is None, node

    def leaves(keys):
        queue = [tree(keys)]
        count = 0
        while queue:
            node = queue.pop(0)
            if node.left is None and node.right is None:
                count += 1
            for child in (node.left, node.right):
                if child is not None:
                    queue.append(child)
        return count

    for n in (1, 2, 11):
        check(tree, KEYS[:n])
        check(in_order, KEYS[:n])
        check(leaves, KEYS[:n])
        check(found, KEYS[:n], 65)
        check(found, KEYS[:n], 7)
    check(tree, KEYS[:0])


def test_attributes_that_are_none_or_missing():
    def with_none(n):
        nodes = []
        for i in range(n):
            node = Link(i)
            if i % 3 == 1:
                node.value = None
            if i > 2:
                node.next = nodes[i - 2]
            nodes.append(node)
        total = 0
        for node in nodes:
            if node.value is not None:
                total += node.value
        return nodes, total

    def set_later(n):
        nodes = []
        for i in range(n):
            nodes.append(Link(i))
            if i % 2 == 0:
                nodes[-1].weight = i * 0.5
        return nodes

    def missing(n, k):
        nodes = set_later(n)
        return nodes[k].weight

    def of_none(n):
        node = linked(n)
        for _ in range(n + 1):
            node = node.next
        return 1

    def set_on_none(n):
        node = linked(n)
        while node is not None:
            node = node.next
        if n > 0:
            node.value = 3
        return 1

    for n in (0, 1, 2, 7):
        check(with_none, n)
        check(set_later, n)
    check(missing, 3, 2)
    check(missing, 3, 1)
    check(missing, 3, 5)
    check(of_none, 0)
    check(of_none, 4)
    check(set_on_none, 3)


def test_instances_put_somewhere_while_they_are_made():
    class Registered:
        def __init__(self, registry, number):
            self.number = number
            registry.append(self)
            self.place = len(registry)

    class Child:
        def __init__(self, parent, number):
            self.parent = parent
            self.number = number
            self.eldest = None
            if parent is not None and parent.eldest is None:
                parent.eldest = self

    def registered(n):
        registry = []
        for i in range(n):
            Registered(registry, i * i)
        return registry

    def family(n):
        last = None
        for i in range(n):
            last = Child(last, i)
        return last

    check(registered, 5)
    check(family, 4)


def test_dicts_of_instances():
    def counted(keys):
        links = {}
        for key in keys:
            k = int(key) % 7
            if k in links:
                links[k].value += 1
            else:
                links[k] = Link(1)
        return links, [link.value for link in links.values()]

    check(counted, KEYS)


@pytest.mark.rotated(3)
def test_heaps():
    def sorted_by_heap(values):
        heap = []
        for v in values:
            heapq.heappush(heap, v)
        shown = list(heap)
        out = []
        while heap:
            out.append(heapq.heappop(heap))
        return shown, out

    def simulated(n):
        events = [(0.0, 0)]
        log = []
        while events and len(log) < n:
            time, kind = heapq.heappop(events)
            log.append((time, kind))
            heapq.heappush(events, (time + 1.5, kind))
            if kind < 3:
                heapq.heappush(events, (time + 0.7, kind + 1))
        return log, len(events), events

    def of_instances(n):
        heap = []
        for i in range(n):
            heapq.heappush(heap, (float(i * 7 % 5), i, Link(i)))
        out = []
        while heap:
            time, number, link = heapq.heappop(heap)
            out.append((time, number + link.value))
        return out

    def others(values):
        heap = [int(v) for v in values]
        heapq.heapify(heap)
        a = heapq.heappushpop(heap, 4)
        b = heapq.heapreplace(heap, 33)
        return heap, a, b, heapq.nsmallest(3, values), heapq.nlargest(3, values), heapq.nlargest(-1, values)

    def with_key(values):
        return heapq.nsmallest(4, values, key=lambda v: (v - 40) ** 2), heapq.nlargest(4, values, lambda v: v % 20)

    def of_nothing(kind, n):
        heap = []
        for i in range(n):
            heapq.heappush(heap, i)
        if kind == 0:
            return heapq.heappop(heap)
        if kind == 1:
            return heapq.heapreplace(heap, 1)
        return heapq.heappushpop(heap, 1)

    check(sorted_by_heap, KEYS)
    check(sorted_by_heap, KEYS * 0.5)
    check(simulated, 25)
    check(of_instances, 12)
    check(others, KEYS)
    check(with_key, KEYS)
    for kind in range(3):
        check(of_nothing, kind, 0)
        check(of_nothing, kind, 3)


def test_bisection():
    def places(values, x):
        a = sorted(values)
        return (
            bisect.bisect_left(a, x),
            bisect.bisect_right(a, x),
            bisect.bisect(a, x, 2),
            bisect.bisect_left(a, x, 1, 4),
            bisect.bisect(a, x, key=lambda v: v * 0.5),
            bisect.bisect_left(values, x),
            bisect.bisect_left((1, 30, 50), x),
        )

    def inserted(values):
        a = []
        b = []
        for v in values:
            bisect.insort(a, v)
            bisect.insort_left(b, (v % 10, v), key=lambda pair: pair[0])
        return a, b

    def bad(values, low):
        return bisect.bisect(values, 3, low)

    for x in (-1, 30, 50, 99):
        check(places, KEYS, x)
    check(inserted, KEYS)
    check(bad, KEYS, -1)


def test_instances_that_stay_refused():
    class Grid:
        def __init__(self, n):
            self.cells = None
            if n > 1:
                self.cells = np.zeros(n)

    def of_arrays(n):
        grids = []
        for i in range(n):
            grids.append(Grid(i))
        return len(grids)

    def of_the_caller(p, n):
        ps = []
        for i in range(n):
            ps.append(p)
        return len(ps)

    refused(of_arrays, 3, words="attribute `cells`")
    refused(of_the_caller, Particle(1.0, 2.0), 3)
