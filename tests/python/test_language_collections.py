"""Rows of docs/language.md about the classes of `collections`: made in compiled code, changed as the call runs, returned."""

import collections
import random
from collections import Counter, OrderedDict, defaultdict, deque

import ingot
import numpy as np
import pytest
from support import check, refused

I = np.array([3, 1, 3, 2, 1, 3])


def test_deques_are_queues_and_stacks():
    def queue(n):
        q = deque()
        for i in range(n):
            q.append(i)
        s = 0
        while q:
            s = s * 3 + q.popleft()
            if len(q) > 2:
                q.pop()
        return s

    def pairs(n):
        q = deque()
        q.append((0, 1.5))
        out = []
        while len(q) > 0:
            k, v = q.popleft()
            out.append(k)
            if k < n:
                q.append((k + 1, v))
                q.appendleft((k + 2, v))
        return out

    def moving_maximum(x, w):
        q = deque()
        out = np.empty(len(x) - w + 1)
        for i in range(len(x)):
            while q and x[q[-1]] <= x[i]:
                q.pop()
            q.append(i)
            if q[0] <= i - w:
                q.popleft()
            if i >= w - 1:
                out[i - w + 1] = x[q[0]]
        return out

    def breadth_first(graph, start):
        seen = np.zeros(len(graph), np.bool_)
        seen[start] = True
        q, out = deque([start]), []
        while q:
            u = q.popleft()
            out.append(u)
            for v in range(len(graph)):
                if graph[u, v] and not seen[v]:
                    seen[v] = True
                    q.append(v)
        return out

    check(queue, 9)
    check(pairs, 4)
    check(moving_maximum, np.random.default_rng(0).random(20), 4)
    check(breadth_first, np.random.default_rng(1).random((12, 12)) < 0.2, 0)


@pytest.mark.rotated(3)
def test_deques_of_a_length():
    def last(n, most):
        q = deque([9], maxlen=most)
        for i in range(n):
            q.append(i * 1.5)
            if i % 3 == 0:
                q.appendleft(-1.0)
        return q, list(q), len(q), q.maxlen

    for most in (3, 1, 0):
        check(lambda n, most=most: last(n, most), 8)
    check(lambda n: deque((1, 2), -n), 1)


@pytest.mark.rotated(4)
def test_methods_of_deques():
    def methods(n):
        q = deque([1, 2, 3])
        q.appendleft(0)
        q.rotate(n)
        q.extend([7, 8])
        q.extendleft([5, 6])
        q.reverse()
        del q[1]
        q.insert(2, 99)
        q.remove(3)
        q[0] = -1
        q += [5]
        return q, [v for v in q], [*reversed(q)], q.count(5), q.index(7), q.copy() == q, q != deque([1]), 99 in q, 98 in q, q[-2], sum(q), max(q)

    def classes(n):
        q = deque([n])
        return isinstance(q, deque), type(q) is deque, isinstance(q, list), bool(q), len(q)

    for n in (2, -1, 5):
        check(methods, n)
    check(classes, 1)
    for wrong in (
        lambda n: deque([n]).index(9),
        lambda n: deque([n])[n],
        lambda n: [(q := deque([n])).pop(), q.pop()],
        lambda n: deque(range(n - 1)).popleft(),
    ):
        check(wrong, 1)


def random_calls(seed):
    """A function of a deque and numbers: what methods are called is drawn from the numbers as the call runs."""

    def run(numbers):
        q = deque()
        out = []
        for k in numbers:
            how = k % 8
            if how < 2:
                q.append(k)
            elif how < 4:
                q.appendleft(k)
            elif how == 4 and q:
                out.append(q.pop())
            elif how == 5 and q:
                out.append(q.popleft())
            elif how == 6:
                q.rotate(k)
            elif how == 7 and len(q) > 1:
                q.extend([k, q[0], q[-1]])
                q.reverse()
        return list(q), out, k in q

    return run, np.array([random.Random(seed).randrange(200) for _ in range(300)])


@pytest.mark.rotated(3)
def test_deques_by_random_calls():
    for seed in range(2):
        run, numbers = random_calls(seed)
        check(run, numbers)


def test_deques_stand_in_instances_and_lists():
    class Queue:
        def __init__(self):
            self.items = deque()

    def instance(n):
        queue = Queue()
        for i in range(n):
            queue.items.append(i)
        return queue.items.popleft() + len(queue.items)

    def lists(n):
        queues = [deque() for _ in range(n)]
        for i in range(3 * n):
            queues[i % n].append(i)
        return [q.popleft() for q in queues]

    check(instance, 4)
    check(lists, 3)
    refused(lambda x: [deque([v]) for v in x], I, words="a collections.deque in a list")


@pytest.mark.rotated(3)
def test_dicts_with_defaults():
    def counts(x):
        d = defaultdict(int)
        for v in x:
            d[v] += 1
        return d, len(d), 3 in d, 77 in d, d.get(77), sum(d.values())

    def groups(x):
        d = defaultdict(list)
        for i, v in enumerate(x):
            d[v].append(i)
        return d, {k: len(v) for k, v in d.items()}

    def sums(x):
        d = defaultdict(float)
        for v in x:
            d[v % 3] += v
        return sorted(d.items()), dict(d), [k for k in d], d.pop(0), d.default_factory is float

    def by_function(x):
        d = defaultdict(lambda: 5)
        for v in x:
            d[v] -= v
        del d[3]
        return d[1], len(d), list(d.keys())

    for function in (counts, groups, sums, by_function):
        check(function, I)
    check(lambda x: defaultdict(None, {1: x})[2], 1)


@pytest.mark.rotated(3)
def test_counters_count():
    def counted(x):
        c = Counter(x)
        return c, c[3], c[77], c.most_common(2), c.most_common(), c.total(), sorted(c.elements()), max(c, key=c.get)

    def changed(x):
        c = Counter()
        for v in x:
            c[v] += 1
        c.update([1, 1, 9])
        c.subtract([3])
        del c[2]
        return c, [k for k, n in c.items() if n > 1]

    check(counted, I)
    check(changed, I)


def test_ordered_dicts():
    def cache(keys, most):
        kept = OrderedDict()
        hits = 0
        for k in keys:
            if k in kept:
                hits += 1
                kept.move_to_end(k)
            else:
                kept[k] = k * 2
                if len(kept) > most:
                    kept.popitem(last=False)
        kept.move_to_end(keys[-1], last=False)
        return hits, kept, list(kept.items())

    check(cache, I, 2)
    check(lambda n: OrderedDict([(n, 1)]).popitem(), 3)


def test_what_changes_while_it_is_iterated():
    def same_length(n):
        q = deque([n])
        t = 0
        for x in q:
            q.popleft()
            q.append(x + 1)
            t += x
        return t

    def at_the_end(n):
        q = deque(range(n))
        for x in q:
            if x == n - 1:
                q.append(5)
        return len(q)

    def sets(n):
        s = set(range(n))
        for x in s:
            s.discard(x)
            s.add(x + 1000)
        return sorted(s)[:3], len(s)

    check(same_length, 3)
    check(at_the_end, 5)
    check(sets, 40)


@pytest.mark.rotated(4)
def test_equality_and_operators():
    def counters(n):
        a, b = Counter([n, n]), Counter([n])
        b[n + 2] = 0
        c = Counter([n])
        return a == b, b == c, b != c, c == {n: 1}, a - b, a + c, Counter([n]) - Counter([n])

    def ordered(n):
        a, b = OrderedDict(), OrderedDict()
        for k in range(n):
            a[k] = 1
            b[n - 1 - k] = 1
        return a == b, a != b, a.popitem(), len(a)

    check(counters, 5)
    check(ordered, 3)
    check(lambda x: Counter({1: -x}), 0.0)
    check(lambda n: n.bit_length(), -(2**63))
    refused(lambda n: deque([n]) + deque([n]), 1, words="of a deque")
    with pytest.raises(ingot.TypeChangeError, match="NaN in a set"):
        ingot.jit(lambda x: {x, x})(np.nan)


def test_an_iterable_that_raises_midway():
    def extended(n):
        def some():
            yield n
            raise ValueError

        q = deque()
        try:
            q.extend(some())
        except ValueError:
            q.append(-1)
        return q

    check(extended, 1)


def test_deques_of_arrays():
    assert ingot.jit(lambda x: collections.deque(x, 2))(I) == collections.deque(I, 2)


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_results_are_new_each_time(mode):
    made = ingot.jit(lambda n: deque(range(n)))
    a, b = made(3), made(3)
    assert a == b == deque([0, 1, 2]) and a is not b and type(a) is deque


class AnyAttribute(type):
    """A metaclass by which a class has whatever is asked for."""

    def __getattr__(cls, name):
        return lambda self: 1


class Made(metaclass=AnyAttribute):
    def __init__(self, n):
        self.n = n


def test_instances_of_other_classes_are_returned_as_they_are():
    made = ingot.jit(lambda n: Made(n))(3)
    assert type(made) is Made and made.n == 3


class Countdown:
    def __init__(self, n):
        self.n = n

    def __reversed__(self):
        for k in range(self.n):
            yield self.n - k


def test_instances_are_reversed_by_their_method():
    check(lambda n: [k for k in reversed(Countdown(n))], 4)
