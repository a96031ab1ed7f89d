"""Rows of docs/language.md about deques, sets, dicts of other classes and SimpleNamespaces of the caller's: read, changed, returned."""

import functools
import os
import pickle
import random
import subprocess
import sys
import textwrap
from collections import Counter, OrderedDict, defaultdict, deque
from types import SimpleNamespace

import numpy as np
import pytest

import ingot
from support import MODES, check, copied, identities, jitted, outcome, refused


compiled_once = functools.cache(jitted)


def exactly(function, *arguments):
    """As `check`, and the order and types of all elements are the same, and containers of the caller's stay what they are."""
    plain = copied(arguments)
    result, error, _ = outcome(function, plain)
    for mode in MODES:
        call = compiled_once(function, mode)
        for _ in range(2 if mode == "compiled" else 1):
            given = copied(arguments)
            got, raised, _ = outcome(call, given)
            if error is None and raised is not None:
                raise raised
            assert (repr(got), repr(raised), repr(given)) == (repr(result), repr(error), repr(plain)), mode
            assert identities(got, given) == identities(result, plain), mode


def test_namespaces_are_instances():
    def read(s):
        return s.a * 2 + s.b[1], s.name, s.name == "x", isinstance(s, SimpleNamespace), type(s) is SimpleNamespace, s is s

    def changed(s, n):
        s.a += n
        s.b[0] = s.a
        s.new = n * 2.0
        s.new -= 1
        s.other = s.b
        return s

    def counts(s, n):
        for i in range(n):
            s.a += i
        return s.a

    def halfway(s, n):
        s.a = n
        s.b[n] = 7.0
        s.a = -1

    def deleted(s):
        del s.a
        return s.a

    def made(n):
        s = SimpleNamespace(a=n, b=[1, n], inner=SimpleNamespace())
        s.inner.c = s.a + 1.5
        s.a = 3
        return s, s.inner, [SimpleNamespace(k=k) for k in range(2)], {"s": s}

    def cycle(n):
        s = SimpleNamespace(n=n)
        s.me = s
        return s

    space = SimpleNamespace(a=1, b=np.arange(3.0), name="x", unused=...)
    for function, rest in ((read, ()), (changed, (4,)), (counts, (5,)), (halfway, (1,)), (halfway, (9,)), (deleted, ())):
        check(function, space, *rest)
    check(made, 2)
    got = ingot.jit(cycle)(3)
    assert type(got) is SimpleNamespace and got.me is got
    for wrong in (lambda s: s.zzz, lambda s: s + 1, lambda s: s[0], lambda s: len(s), lambda s: s(), lambda s: s.a.b):
        check(wrong, SimpleNamespace(a=1))
    assert jitted(lambda s: s)(space) is space


CONFIGURATION = SimpleNamespace(step=0.5, counts=[1, 2], deep=SimpleNamespace(k=3))


def test_namespaces_outside():
    def scaled(x):
        CONFIGURATION.counts[0] += 1
        return x * CONFIGURATION.step + CONFIGURATION.deep.k

    f = ingot.jit(scaled)
    assert f(2.0) == 4.0 and CONFIGURATION.counts == [2, 2]
    CONFIGURATION.step = 1.5
    assert f(2.0) == 6.0 and CONFIGURATION.counts == [3, 2]
    CONFIGURATION.step = 0.5


class Derived(SimpleNamespace):
    pass


def test_namespaces_that_are_refused():
    refused(lambda s: s == s, SimpleNamespace(a=1), words="comparison")
    refused(lambda s: f"{s}", SimpleNamespace(a=1), words="text of")
    refused(lambda s: vars(s), SimpleNamespace(a=1), words="vars")
    refused(lambda s: s.a, Derived(a=1), words="Derived")


def queue(q, n):
    total = 0
    for i in range(n):
        q.append(i)
        if i % 3 == 2:
            total += q.popleft()
    return total


def test_deques_are_read():
    def read(q, i):
        return q[0], q[i], q[-1], len(q), list(q), sum(q), max(q), q.maxlen, q.count(2), 3 in q, [*reversed(q)], q.index(q[i]), bool(q)

    for elements in ([2, 3, 5], [1.5, 2.0], range(30), [2.5] * 20, [True, False], [1j, 3 + 0j][:1]):
        for most in (None, 40):
            check(lambda q, i: (q[0], len(q), list(q), q.maxlen), deque(elements, most), 0)
    check(read, deque([2, 3, 5]), 1)
    check(read, deque([2, 3, 5], 3), -2)
    check(read, deque(range(40)), 7)
    check(read, deque([1.5, 3.0]), 1)
    check(read, deque([2]), 4)
    check(lambda q: (q[0][1] + q[1], q[2], len(q)), deque([np.arange(3.0), 2, "word"]))
    check(lambda q: [a + b for a, b in q], deque([(1, 2.0), (3, 4.5)]))
    check(lambda q, p: (q == p, q != p, q is p), deque([1, 2]), deque([1, 2]))


@pytest.mark.rotated(4)
def test_deques_are_changed():
    def methods(q, n):
        q.append(n)
        q.appendleft(n + 1)
        q.rotate(2)
        q.extend([7, 8])
        q.extendleft([5, 6])
        q.reverse()
        del q[1]
        q.insert(2, 99)
        q.remove(7)
        q[0] = -1
        q += [3]
        return q.pop(), q.popleft(), len(q)

    def clears(q):
        q.clear()
        return q

    def refilled(q, x):
        q.clear()
        for v in x:
            q.append(int(v))
        return q

    for start, most in (([], None), ([1, 2, 3, 4], None), (range(20), 25), ([5, 6], 3), (range(20), 3)):
        exactly(queue, deque(start, most), 10)
        exactly(clears, deque(start, most))
        exactly(refilled, deque(start, most), np.array([3, 1]))
    for start, most in (([], None), (range(4), None), (range(20), 25)):
        exactly(methods, deque(start, most), 4)
    for wrong in (lambda q: q.pop() + q.pop(), lambda q: q.remove(77), lambda q: q[3], lambda q: q.insert(0, 1)):
        check(wrong, deque([1], 1))


def test_deques_that_raise_halfway():
    def fails(q, x, n):
        for i in range(n):
            q.append(int(x[i]))
            q.popleft()
        return len(q)

    def caught(q, n):
        q.append(n)
        try:
            q.append(1 // n)
        except ZeroDivisionError:
            q.append(-1)
        q.rotate(1)
        raise ValueError("after all")

    def within(q, n):
        def helper(i):
            q.append(i)
            if i > 3:
                raise KeyError(i)

        for i in range(n):
            helper(i)

    exactly(fails, deque([1, 2]), np.arange(4), 4)
    exactly(fails, deque([1, 2]), np.arange(4), 6)
    exactly(caught, deque([1, 2]), 0)
    exactly(caught, deque([1, 2]), 3)
    exactly(within, deque([1]), 9)


@pytest.mark.rotated(4)
def test_numbers_of_numpy():
    def changed(q, s, c, x):
        for v in x:
            q.append(v)
            s.add(v)
            c[v] += 1
        return q[0], len(s), x[0] in s, c

    for dtype in (np.int64, np.int32):
        x = np.array([3, 1, 3], dtype)
        exactly(changed, deque(x), set(x[:1]), Counter(x), x)
    exactly(lambda q, x: [q.append(x[1]), q[0]], deque(np.arange(40.0)), np.arange(2.0))


def test_numbers_of_other_types():
    def appends(q, x):
        q.append(x[0])
        return q

    refused(appends, deque([1]), np.array([2]), words="another type")
    refused(appends, deque([1]), np.array([2.5]), words="another type")
    exactly(appends, deque(), np.array([2]))
    exactly(lambda q, x: q.append(int(x[0])), deque([1]), np.array([2]))
    refused(lambda d: d.setdefault(3, 1.5), OrderedDict({1: 2}), words="another type")


def test_changes_while_iterating():
    def grows(q):
        for v in q:
            q.append(v)

    def takes(d):
        for k in d:
            d[k + 100] = 1

    check(grows, deque([1, 2]))
    check(grows, deque())
    for kind in (set, frozenset):
        check(lambda s: [v for v in s], kind([1, 5, 2]))

    def adds(s):
        for v in s:
            s.add(v + 1)

    check(adds, {1, 7, 30})


def test_one_object_twice():
    def both(a, b):
        a.append(1)
        b.append(2)
        return a is b, a, len(b)

    def nested(parts):
        parts[0].append(5)
        return parts[1][-1], parts[0] is parts[1], parts

    q = deque([0])
    exactly(both, q, q)
    exactly(both, q, deque([7]))
    exactly(nested, [q, q])
    given = deque([3])
    assert jitted(lambda q: q)(given) is given
    assert jitted(lambda q: (q, [q]))(given)[1][0] is given

    def replaced(q, c):
        if c:
            q = deque([5])
        q.append(1)
        return q

    for c in (0, 1):
        exactly(replaced, deque([0]), c)


WAITING = deque([1, 2])
KNOWN = {"a", "b"}
NUMBERS = {1, 2, 5}


def test_containers_outside():
    def run(n, word):
        WAITING.append(n)
        NUMBERS.discard(n)
        return word in KNOWN, n in NUMBERS, WAITING[0]

    call = ingot.jit(run)
    assert call(5, "a") == (True, False, 1) and list(WAITING) == [1, 2, 5] and NUMBERS == {1, 2}
    WAITING.popleft()
    KNOWN.discard("a")
    assert call(1, "a") == (False, False, 2) and list(WAITING) == [2, 5, 1] and NUMBERS == {2}


class Machine:
    def __init__(self, n):
        self.waiting = deque(range(n))
        self.seen = {7}
        self.counts = Counter()

    def step(self):
        k = self.waiting.popleft()
        self.seen.add(k)
        self.counts[k % 2] += 1
        self.waiting.append(k + 10)
        return k


@pytest.mark.rotated(4)
def test_in_instances_dicts_and_namespaces():
    def run(machine, n):
        t = 0
        for _ in range(n):
            t += machine.step()
        return t

    def parts(d):
        d["q"].append(1)
        d["s"].items.add(9)
        return len(d["q"])

    machines = [Machine(3), Machine(3)]
    assert [run(machines[0], 5), *map(list, (machines[0].waiting, machines[0].seen)), machines[0].counts] == [
        jitted(run)(machines[1], 5), *map(list, (machines[1].waiting, machines[1].seen)), machines[1].counts,
    ]  # fmt: skip
    exactly(parts, {"q": deque([0]), "s": SimpleNamespace(items={1})})


@pytest.mark.rotated(4)
def test_dicts_of_other_classes_are_changed():
    def ordered(d, k):
        d.move_to_end(k)
        d[k + 50] = 3
        d.move_to_end(k + 50, last=False)
        first = d.popitem(last=False)
        last = d.popitem()
        return first, last, list(d.items()), len(d), k in d, d.get(k), type(d) is OrderedDict, isinstance(d, dict)

    def defaults(d, x):
        for v in x:
            d[int(v)] += 1
        d[77]
        return d, len(d), d.get(78), 78 in d, sum(d.values())

    def counts(c, x):
        for v in x:
            c[int(v)] += 1
        c.update([1, 1])
        del c[1000]
        return c.most_common(1), c[5], c.total(), c

    x = np.array([3, 1, 3, 2])
    for entries in ({}, {1: 2}, {k: k * k for k in range(40)}, {3: 4, 2: 0}):
        exactly(defaults, defaultdict(int, entries), x)
        exactly(counts, Counter(entries), x)
        exactly(ordered, OrderedDict(entries), 2)
    exactly(defaults, defaultdict(float, {1: 2.5}), x)
    exactly(defaults, defaultdict(lambda: 5, {3: 1}), x)
    exactly(lambda d: (d["a"], d["b"], d), defaultdict(float, a=1.5))
    exactly(lambda d: [d.pop("a"), d], OrderedDict(a=1, b=2.5))
    exactly(lambda d: d.setdefault("z", 4), OrderedDict(a=1))
    check(lambda d: d[5], OrderedDict({1: 2}))
    check(lambda d: d[5], defaultdict(None, {1: 2}))
    check(lambda d: d.move_to_end(9), OrderedDict({1: 2}))
    check(lambda d: d.popitem(), OrderedDict())
    check(lambda d, e: (d == e, d == {2: 1, 1: 1}), OrderedDict({1: 1, 2: 1}), OrderedDict({2: 1, 1: 1}))

    def stops(d, x):
        for v in x:
            d[v] += 10 // v

    exactly(stops, defaultdict(int), np.array([1, 2, 0, 4]))

    def other(d):
        d.default_factory = None
        return d

    got = defaultdict(int, {1: 2})
    assert jitted(other)(got) is got and got.default_factory is None and got == {1: 2}


def test_lists_by_key():
    def groups(d, x):
        for i, v in enumerate(x):
            d[v].append(i)
        return len(d)

    def added(d):
        d["a"].append(5)
        return d["b"]

    refused(groups, defaultdict(list), np.array([3, 1, 3]), words="of the caller that gets lists")
    exactly(added, defaultdict(list, {"a": [1], "b": [2.5]}))


@pytest.mark.rotated(5)
def test_sets_are_read():
    def read(s, k):
        return k in s, 3 in s, len(s), list(s), sorted(s), sum(s), bool(s), s == {1, 3}, s <= {1, 3, 5, 9, 40}, s.isdisjoint([5])

    def made(s, t):
        return s | t, s & t, s - t, s ^ t, t | {100}, s.union([7]), s < t, list(s.copy())

    for kind in (set, frozenset):
        for elements in ([1, 3], [9, 40, 1, 5, 3], range(0, 3000, 7), [2.5, 1e300, -3.0], []):
            exactly(read, kind(elements), 3)
        exactly(lambda s, w: (w in s, "b" in s, len(s), list(s)), kind(["a", "b", "ccc"]), "ccc")
        exactly(lambda s: (list(s), len(s), None in s), kind([None, 2, "x", (1, 2.5)]))
    exactly(made, {1, 5, 9, 33, 65}, {5, 33, 2})
    exactly(lambda s: type(s) is set and isinstance(s, set) and not isinstance(s, frozenset), {1})
    exactly(lambda s: (isinstance(s, frozenset), s), frozenset([1]))
    refused(lambda s, t: s | t, frozenset([1]), frozenset([2]), words="frozenset")
    for wrong in (lambda s: s[0], lambda s: s + s, lambda s: s.foo, lambda s: s.remove(5), lambda s: s < 3):
        check(wrong, {1, 2})


@pytest.mark.rotated(4)
def test_sets_are_changed():
    def changed(s, n):
        for i in range(n):
            s.add(i * 37 % 101)
        for i in range(0, n, 2):
            s.discard(i * 37 % 101)
        s.update([5, 6])
        s -= {6}
        return len(s), s

    def popped(s):
        return s.pop(), s.pop(), s

    def words(s, n):
        s.add("new")
        s.discard("a")
        if n > 1:
            return 1 // (n - 2)
        return len(s)

    for elements in ([], [1, 3], range(20), [65, 33, 1, 97]):
        exactly(changed, set(elements), 30)
    exactly(popped, {5, 33, 65, 2})
    exactly(words, {"a", "b"}, 1)
    exactly(words, {"a", "b"}, 2)
    exactly(lambda s, x: s.remove(x), {1.5, 2.5}, 2.5)
    exactly(lambda s, x: s.remove(x), {1.5, 2.5}, 7.0)

    def stops(s, x):
        for v in x:
            s.add(v)
            10 // v

    exactly(stops, {9}, np.array([1, 2, 0, 4]))


def test_sets_are_results():
    def grown(n):
        s = set()
        for i in range(n):
            s.add(i * 37 % 101)
        for i in range(0, n, 2):
            s.discard(i * 37 % 101)
        return s, {n, 2 * n}, {1.5, n / 7}

    def known(n):
        return {"a", "bb", "c"}, {3, 1, 2}, set("hello"), frozenset(["x"]), n, {(1, 2), None}

    def twice(n):
        s = {"a"}
        return s, s

    for n in (0, 5, 30, 60):
        exactly(grown, n)
    exactly(known, 1)
    f = jitted(known)
    assert f(1)[0] is not f(1)[0]
    a, b = jitted(twice)(1)
    assert a is b


def random_operations(kind, seed):
    """A list of operations and the container that they begin with."""
    draw = random.Random(seed)
    operations = np.array([[draw.randrange(8), draw.randrange(40)] for _ in range(60)])
    elements = [draw.randrange(40) for _ in range(draw.randrange(30))]
    if kind is deque:
        return deque(elements, draw.choice([None, 5, 50])), operations
    return kind(elements) if kind is set else kind(Counter(elements)) if kind is not defaultdict else defaultdict(int, Counter(elements)), operations


def on_deques(q, operations):
    out = []
    for how, k in operations:
        if how < 2:
            q.append(int(k))
        elif how == 2:
            q.appendleft(int(k))
        elif how == 3:
            out.append(q.pop())
        elif how == 4:
            out.append(q.popleft())
        elif how == 5:
            q.rotate(int(k) - 20)
        elif how == 6 and len(q) > 0:
            q[int(k) % len(q)] = 100
        else:
            out.append(q.index(int(k)))
    return out


def on_sets(s, operations):
    out = []
    for how, k in operations:
        if how < 4:
            s.add(int(k) * 8)
        elif how == 4:
            s.discard(int(k) * 8)
        elif how == 5 and k % 3 == 0:
            out.append(s.pop())
        elif how == 6:
            s.remove(int(k))
        else:
            s.update([int(k), int(k) + 64])
    return out


def on_dicts(d, operations):
    out = []
    for how, k in operations:
        key = int(k)
        if how < 4:
            d[key] = d.get(key, 0) + 1
        elif how == 4:
            out.append(d[key])
        elif how == 5 and key in d:
            out.append(d.pop(key))
        elif how == 6 and len(d) > 0:
            out.append(d.popitem()[0])
        elif key % 11 == 0:
            del d[key]
    return out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind, function", [(deque, on_deques), (set, on_sets), (OrderedDict, on_dicts), (Counter, on_dicts), (defaultdict, on_dicts)])
def test_by_random_operations(kind, function):
    call = ingot.jit(function)
    for seed in range(40):
        container, operations = random_operations(kind, seed)
        (plain, _), (given, _) = copied((container, operations)), copied((container, operations))
        result, error, _ = outcome(function, (plain, operations))
        got, problem, _ = outcome(call, (given, operations))
        assert (repr(got), repr(given)) == (repr(result), repr(plain)), seed
        assert repr(problem) == repr(error), seed
        if isinstance(given, (set, dict)):  # what comes next finds the same table
            for k in range(40):
                (given.add if kind is set else given.setdefault)(k * 5)
                (plain.add if kind is set else plain.setdefault)(k * 5)
            assert repr(given) == repr(plain), seed


def test_one_specialisation_for_all_lengths():
    call = ingot.jit(queue)
    for n in (1, 5, 100, 1000):
        call(deque(range(n)), 3)
    read = ingot.jit(lambda s, k: k in s)
    for n in (1, 5, 100, 1000):
        assert read(set(range(n)), n - 1) and not read(set(range(n)), n)
    assert len(call.specialisations) == 2 and len(read.specialisations) == 1  # arrays of length 1 have one of their own


class Ordered(OrderedDict):
    pass


class Queue(deque):
    pass


class Numbers(set):
    pass


def test_other_contents_are_refused():
    for given, words in (
        (Ordered({1: 2}), "Ordered"),
        (Queue([1]), "Queue"),
        (Numbers([1]), "Numbers"),
        (deque([1, 2.5] * 20), "more than 16"),
        (OrderedDict({str(k): k for k in range(20)}), "more than 16"),
        (OrderedDict({2.5: 1}), "keys"),
        ({"a" * k for k in range(20)}, "more than 16"),
        ({float("nan")}, "NaN"),
        ({frozenset([1])}, "set"),
    ):
        message = refused(lambda q: len(q), given, words=words)
        assert "test_language_collections_of_callers.py" in message
    q = deque()
    q.append(q)
    refused(lambda q: len(q), q, words="holds itself")


def test_host_functions_see_changes():
    q = deque([1])
    seen = []

    @ingot.host(result=None)
    def look():
        seen.append(list(q))

    def run(q):
        q.append(2)
        look()
        q.append(3)
        return len(q)

    assert jitted(run)(q) == 3 and seen == [[1, 2]] and list(q) == [1, 2, 3]

    @ingot.host(result=None)
    def change():
        q.append(9)

    def changed(q):
        change()
        return len(q)

    with pytest.raises(ingot.UnsupportedError, match="deque of the caller"):
        jitted(changed)(q)


@pytest.mark.rotated(4)
def test_in_a_cell_of_a_notebook():
    source = textwrap.dedent(
        """
        import ingot
        from collections import deque, defaultdict
        @ingot.jit
        def f(q, d, s, n):
            for i in range(n):
                q.append(i)
                d[i % 2] += i
                s.add(i)
            return q[0]
        q, d, s = deque(maxlen=3), defaultdict(int), {5}
        r = f(q, d, s, 5)
        """
    )
    scope = {"__name__": "__main__"}
    exec(source, scope)
    assert scope["r"] == 2 and list(scope["q"]) == [2, 3, 4] and scope["d"] == {0: 6, 1: 4} and scope["s"] == {0, 1, 2, 3, 4, 5}


def test_pickled_functions():
    call = pickle.loads(pickle.dumps(ingot.jit(queue)))
    q = deque([1, 2])
    assert call(q, 4) == 1 and list(q) == [2, 0, 1, 2, 3]


PROGRAM = """
import ingot
from collections import OrderedDict, Counter, deque
from types import SimpleNamespace
@ingot.jit
def f(q, d, c, s, w, space, n):
    for i in range(n):
        q.append(i)
        d[i] = i * 0.5
        c[i % 3] += 1
        s.add(i)
    space.total = len(q)
    w.add("z")
    return {"x", "y"}, s, SimpleNamespace(a=n)
q, d, c, s, w, space = deque([7]), OrderedDict({1: 2.5}), Counter([1, 2]), {64}, {"a", "b"}, SimpleNamespace()
r = f(q, d, c, s, w, space, 3)
print(list(q), list(d.items()), list(c.items()), list(s), sorted(w), space, sorted(r[0]), r[1] is s, r[2])
"""


@pytest.mark.rotated(5)
def test_from_the_cache_of_another_process(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    outputs = []
    for disabled in ("1", "0", "0"):
        own = {"INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(tmp_path / "cache"), "INGOT_DISABLE": disabled, "PYTHONHASHSEED": "0"}
        done = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, env={**os.environ, **own}, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] == outputs[2]


def test_recursion_and_closures():
    def walk(q, n):
        if n > 0:
            q.append(n)
            walk(q, n - 1)
            walk(q, n - 2)
        return len(q)

    def closure(q, n):
        def push(v):
            q.append(v)

        for i in range(n):
            push(i)
        return len(q)

    exactly(closure, deque([1]), 4)
    refused(walk, deque([1]), 5, words="passed to a recursive function")


def test_sets_of_constants_are_in_their_order():
    def listed(s):
        return [x for x in s]

    for size in range(12):
        exactly(listed, frozenset(f"element {i}" for i in range(size)))
        exactly(listed, {f"element {i}" for i in range(size)})
    exactly(lambda s: s.pop(), {True})


def test_equal_elements_are_replaced():
    def zero(s):
        s.discard(0.0)
        s.add(-0.0)

    exactly(zero, {0.0})


def test_numbers_whose_types_would_be_lost_are_refused():
    class Own(np.float64):
        pass

    refused(lambda s: 0.1 in s, {np.float32(0.1)})
    refused(lambda q: [x for x in q], deque([1, 2.0]))
    refused(lambda q: q[0] + 1, deque([Own(1.0)]))


def test_attributes_of_dicts_are_refused():
    tagged = Counter({1: 2})
    tagged.tag = 5
    for mode in MODES:
        with pytest.raises(ingot.UnsupportedError, match="attributes of its own"):
            jitted(lambda c: c.tag, mode)(tagged)

    def tag(c):
        c.tag = 7

    refused(tag, Counter({1: 2}))
