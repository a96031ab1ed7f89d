"""An example of each refusal: a function and arguments. `tools/errors_docs.py` makes docs/errors.md of them."""

import cmath
import collections
import dataclasses
import enum
import functools
import heapq
import itertools
import math
import operator

import ingot
import numpy as np

X = np.arange(4.0)
GRID = np.arange(12.0).reshape(3, 4)
FIXED = X.copy()
FIXED.flags.writeable = False
STEPS = {"a": {1}}
total = 0


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5


class Shown(Point):
    def __repr__(self):
        return "shown"

    def __str__(self):
        return self.x


class Formatted(Point):
    def __format__(self, spec):
        return spec


class Slotted:
    __slots__ = ("x",)


class Hooked:
    x = 1.0

    def __getattribute__(self, name):
        return 1.0


class Missing:
    def __getattr__(self, name):
        return 1.0


class Setting:
    def __setattr__(self, name, value):
        pass


class Counted(type):
    def __call__(cls, *args):
        return type.__call__(cls, *args)


class Made(metaclass=Counted):
    pass


class New:
    def __new__(cls, x):
        return object.__new__(cls)


class Deleted:
    def __del__(self):
        pass


class Descriptor:
    def __get__(self, instance, kind):
        return 1.0

    def __set__(self, instance, value):
        pass


class Described:
    x = Descriptor()


class Cached:
    @functools.cached_property
    def x(self):
        return 1.0


class Own:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Walked:
    def __getitem__(self, i):
        return i


class Iterated:
    def __iter__(self):
        return self

    def __next__(self):
        return 1


class Doubtful:
    def __len__(self):
        return X


class Abstract(__import__("abc").ABC):
    @__import__("abc").abstractmethod
    def f(self):
        pass


class Pair(collections.namedtuple("Pair", "x y")):
    pass


class Odd(collections.namedtuple("Odd", "x y")):
    def __new__(cls, x):
        return super().__new__(cls, x, x)


class Item(collections.namedtuple("Item", "x y")):
    __slots__ = ()

    def __getitem__(self, i):
        return i


class Colour(enum.Enum):
    RED = 1
    GREEN = (1, 2)


@dataclasses.dataclass
class Cell:
    x: float
    y: float = 0.0


P = Point(1.0, 2.0)
GENERATOR = np.random.default_rng(0)


def decorated(x):
    @functools.cache
    def f(y):
        return y

    return f(x)


def yields_to(n):
    for i in range(n):
        yield i


def result_of_kinds(x):
    return x * 2 if x[0] > 0 else None


def read_only_on_one_path(x, y):
    return x if len(x) > 3 else y


def writes_read_only(x, y, n):
    z = x if n > 0 else y
    z[0] = 1.0


def on_some_paths(n):
    p = Cell(1.0)
    if n > 0:
        p.z = 2.0
    return p


def deletes_on_some_paths(n):
    p = Point(1.0, 2.0)
    if n > 0:
        p.z = 2.0
    del p.z


def catches_what(x, kinds):
    try:
        return 1 / x
    except kinds:
        return 0.0


def many(x):
    try:
        s = 0
        s += x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7] + x[8] + x[9]
    except IndexError:
        s = 0
    return s


def in_try(x):
    try:
        for i in ingot.prange(len(x)):
            if x[i] < 0:
                raise ValueError
    except ValueError:
        pass


def opens(x):
    with open("x"):
        return x


def assigns_global(x):
    global total
    total = x


def imports(x):
    import sys

    return x


def defines(x):
    class Inner:
        pass

    return x


def groups(x):
    try:
        return 1 / x
    except* ZeroDivisionError:
        pass


def adds_to_attribute(x):
    x[0].real += 1


def starred(items):
    first, *rest = [i for i in range(int(items[0]))]
    return first


def adds_array(x):
    items = [1.0]
    items += x
    return items


def races(x):
    for i in ingot.prange(1, len(x)):
        x[i] = x[i - 1] + 1


def lost_after(items):
    new = [1.0]
    items.append(new)
    new.append(2.0)


def itself(items):
    items.append(items)


def itself_in(items):
    items[0] = items


def itself_inserted(items):
    items.insert(0, items)


def pops(items, n):
    if n > 0:
        items.pop()
    return len(items)


def keys_on_one_path(d, n):
    if n > 0:
        d["new"] = 1
    return len(d)


def mixed(n):
    items = []
    for i in range(n):
        if i % 2:
            items.append(i)
        else:
            items.append("odd")
    return items


def shorter_from_the_back(items, x):
    own = [1, 2, 3]
    for a, b in zip(reversed(own), [1, 2, 3]):
        if a > 1:
            own.pop()
            own.pop()


def not_settling(x, n):
    y = 0
    for i in range(n):
        y = (y,)
    return y


def not_settling_while(x, n):
    y = 0
    i = 0
    while i < n:
        y = (y,)
        i += 1
    return y


def unrolls(x):
    t = (1, 2.0, "a")
    s = 0
    for i in range(30000):
        s += t[i % 2] if i < 2 else 0
    return s


def twice(x):
    e = enumerate(x)
    for _ in e:
        pass
    return [a for _, a in e]


def in_step(x):
    def g(y):
        for v in y:
            yield v

    return [a * b for a, b in zip(g(x), g(x))]


def walks_itself(n):
    def down(n):
        if n > 0:
            yield n
            yield from down(n - 1)

    return sum(down(n))


def nests(x, n):
    if n == 0:
        return 0
    return nests((x,), n - 1)


def outlives(x):
    def make():
        return (v for v in x)

    return sum(make())


def left(x):
    def g():
        try:
            for v in x:
                yield v
        finally:
            x[0] = 1.0

    kept = g()
    for v in kept:
        if v > 1:
            break
    return kept


def catches_all(x):
    def g():
        for v in x:
            try:
                yield v
            except:  # noqa: E722
                pass

    for v in g():
        if v > 1:
            break


def yields_while_closed(x):
    def g():
        try:
            yield x[0]
        finally:
            yield x[1]

    for v in g():
        break


def in_parts(n):
    rows = []
    for i in range(n):
        rows.append([i])
    rows[0][:1] = [2]
    return rows


def sorts_row(n):
    rows = []
    for i in range(n):
        rows.append([i])
    del rows[0][:1]
    return rows


def row_times(n):
    rows = []
    for i in range(n):
        rows.append([i])
    return rows[0] - rows[1]


def row_order(n):
    rows = []
    for i in range(n):
        rows.append([i])
    return rows[0] < rows[1]


def row_method(n):
    rows = []
    for i in range(n):
        rows.append([i])
    return rows[0].__class__


def node_with_array(n):
    nodes = []
    for i in range(n):
        nodes.append(Point(np.zeros(2), i))
    return nodes


def set_in_node(n):
    nodes = []
    for i in range(n):
        nodes.append(Point(0.0, i))
    nodes[0].x = "a"
    return nodes


def recursive_list(n, rows):
    if n == 0:
        return 0
    rows.append([n])
    return recursive_list(n - 1, rows)


def recurses_on_rows(n):
    rows = []
    for i in range(n):
        rows.append([i])

    def down(k):
        if k == 0:
            return len(rows[0])
        return down(k - 1)

    return down(n)


def passes_generator(x, n):
    def down(g, k):
        if k == 0:
            return 0
        return down(g, k - 1)

    return down((v for v in x), n)


def matches_range(n):
    match range(n):
        case [1, *_]:
            return 1
    return 0


def matches_mapping(d):
    match d:
        case {"a": 1}:
            return 1
    return 0


def matches_class(x):
    match x:
        case Point(x=1):
            return 1
    return 0


def matches_parts(p):
    match p:
        case Point(1, 2):
            return 1
    return 0


def matches_names(x):
    match x:
        case (1, a) | (a, 1):
            return a
    return 0


def text_of_kind(x):
    try:
        return 1 / x
    except ZeroDivisionError as e:
        return repr(e)


def no_super(x):
    return super().f


def super_of(x):
    return super(Point, x).f


def calls_instance(x):
    p = Point(x, x)
    return object.__repr__(p)


def deletes_attribute(x):
    del x.shape


def deletes_class_attribute(p):
    del p.__class__


def class_of(p):
    p.__class__ = Shown


def sets_descriptor(p):
    p.x = 1.0


def augmented_star(x):
    items = [1.0]
    items *= x
    return items


class Row(list):
    pass


def deep(n):
    if n == 0:
        raise
    return deep(n - 1)


def list_method(n):
    items = [i for i in range(n)]
    return items.__sizeof__()


host_function = ingot.host(abs, result=float)


def tries_host(x):
    try:
        return host_function(x)
    except ValueError:
        return 0.0


EXAMPLES = [
    (races, X.copy()),
    (lambda x: x["a"] if x is None else x[[None, "a"]], X),
    (lambda x, b: x[b, 0], X, True),
    (lambda x: x.__setitem__(0, (1, 2)), X),
    (writes_read_only, X, FIXED, 1),
    (read_only_on_one_path, X, FIXED),
    (lambda x: x.ctypes, X),
    (lambda x: np.zeros(3, like=x), X),
    (lambda n: len(f"{n}"), 1),
    (decorated, 1),
    (lambda a: [a for v in range(len(a)) if a[v] > 0], X),
    (lambda a: np.array([(v, "a") for v in a]), X),
    (lambda a: {v: 1 for v in range(3) if a[v] > 0}, X),
    (mixed, 3),
    (pops, [1, 2], 1),
    (keys_on_one_path, {"a": 1}, 1),
    (itself, [1]),
    (itself_in, [1]),
    (itself_inserted, [1]),
    (lost_after, [1]),
    (in_try, X),
    (left, X),
    (catches_all, X),
    (yields_while_closed, X),
    (deep, 3),
    (catches_what, 1, None),
    (catches_what, 0, 3),
    (opens, 1),
    (lambda x: STEPS, 1),
    (lambda x: GENERATOR.spawn, 1),
    (lambda x, p: x[p:], X, P),
    (lambda x: x[Point(1, 2)], [1, 2]),
    (lambda x: x.real.foo if x is None else x.base, X),
    (lambda p: np.sin(p), P),
    (lambda p: math.sin(p), P),
    (lambda x: open(x), "a"),
    (lambda x: x.tobytes(), X),
    (lambda p, x: x.sum(p), P, X),
    (lambda x, a: a + x, 1.0, np.ones(2, ">f8")),
    (lambda x: ((y := v) for v in x), X),
    (outlives, X),
    (in_step, X),
    (lambda p: iter(p), P),
    (lambda p: [v for v in p], Iterated()),
    (lambda p: next(p), P),
    (twice, X),
    (lambda x: next(g) if (g := enumerate(x)) and [v for v in g] else 0, X),
    (lambda n: [{i} for i in range(n)], 3),
    (list_method, 3),
    (lambda n: sorted([n, 2.5, 1]), 1),
    (lambda n: np.array([(i, (i, i)) for i in range(n)]), 3),
    (lambda n: np.array([i for i in range(n)], "U3"), 3),
    (lambda p: [v for v in p], Walked()),
    (lambda n: [c for c in f"{n}"], 1),
    (unrolls, 1),
    (not_settling, X, 3),
    (not_settling_while, X, 3),
    (lambda x: [a for a, b in zip(x, [1, 2, 3, 4])], X),
    (shorter_from_the_back, [1], X),
    (result_of_kinds, X),
    (lambda n: np.random.default_rng(n), 1),
    (on_some_paths, 1),
    (lambda x: lambda: x, 1),
    (nests, 1, 100),
    (walks_itself, 3),
    (lambda x: getattr(x, "shape", None), X),
    (lambda t: t.index(1, 0), (1, 2)),
    (lambda t: [1.0].index(t), X),
    (lambda t: [1.0].index(1.0, 0, t), 1),
    (lambda t: sorted([1, 2], reverse=t), 1),
    (lambda x: x.item(), np.uint64(1)),
    (lambda x: x.tobytes(), np.float64(1.0)),
    (lambda x: x.astype("M8[s]"), X),
    (lambda x: np.zeros((1,) * 17), X),
    (lambda x: np.zeros(b"a"), X),
    (lambda x: np.zeros(x), np.ones(2, int)),
    (lambda x: np.full(3, "a"), X),
    (lambda x: np.zeros_like("a"), X),
    (lambda x: np.full_like(x, "a"), X),
    (lambda x: np.where(x, "a", x), X),
    (lambda x: np.dot(x, x), np.ones((2, 2, 2))),
    (lambda x: np.copy(x, order="A"), X),
    (lambda x: np.array("a"), X),
    (lambda x: np.copy("a"), X),
    (lambda p: p.x, Described()),
    (lambda p: p.x, Cached()),
    (lambda p: p.x, Hooked()),
    (lambda p: p.y, Missing()),
    (lambda p: Described.x, 1),
    (no_super, 1),
    (super_of, 1),
    (class_of, P),
    (sets_descriptor, Described()),
    (sets_descriptor, Setting()),
    (sets_descriptor, X),
    (deletes_attribute, X),
    (deletes_class_attribute, P),
    (deletes_on_some_paths, 1),
    (lambda x: Made(), 1),
    (lambda x: Row(), 1),
    (lambda x: Abstract(), 1),
    (lambda x: New(x), 1),
    (lambda x: Deleted(), 1),
    (calls_instance, 1),
    (lambda x: Odd(x), 1),
    (lambda p: p[0], Item(1, 2)),
    (lambda p: p._replace(1), Pair(1, 2)),
    (lambda p: p._field_defaults, Pair(1, 2)),
    (lambda p: p.__getnewargs__(), Pair(1, 2)),
    (lambda x: Colour(x, 1), 1),
    (lambda x: Colour((1, 2)), 1),
    (lambda x: [1] * 30000, 1),
    (lambda x: x @ [1.0] * 4, X),
    (lambda x: [x] == [x], X),
    (lambda x: (1, x) is (1, x), 1.0),  # noqa: F632
    (lambda x, p: x in p, 1, P),
    (lambda x: np.sin(x), [1.0]),
    (matches_range, 3),
    (matches_mapping, {"a": 1}),
    (matches_class, P),
    (matches_parts, P),
    (matches_names, (1, 2)),
    (lambda x: type("A", (), {}), 1),
    (lambda x: pow(x, 2, 3), 5),
    (text_of_kind, 0),
    (lambda x: f"{x}", np.array(1.0)),
    (lambda x: str({x}), 1),
    (lambda x: f"{(lambda: 1)}", 1),
    (lambda x: np.array(lambda: 1), 1),
    (lambda x: np.array([None, x]), 1),
    (lambda x: np.array([x], "U3"), 1),
    (node_with_array, 3),
    (set_in_node, 3),
    (recurses_on_rows, 3),
    (passes_generator, X, 3),
    (in_parts, 3),
    (sorts_row, 3),
    (row_times, 3),
    (row_order, 3),
    (row_method, 3),
    (lambda x: {(v for v in x)}, X),
    (lambda x: x + P, np.float64(1.0)),
    (lambda x: x + P, X),
    (lambda x: P < x, X),
    (lambda p: f"{p:>3}", P),
    (lambda p: f"{p:>3}", Formatted(1, 2)),
    (lambda p: str(p), Shown(1, 2)),
    (lambda p: str(p), P),
    (imports, 1),
    (defines, 1),
    (groups, 1),
    (assigns_global, 1),
    (starred, X),
    (lambda p, x: x.__setitem__(0, p), P, X),
    (adds_array, X),
    (augmented_star, X),
    (adds_to_attribute, X),
    (lambda x: np.add(x, 1, casting="unsafe"), X),
    (lambda x: np.add(x, 1, order="F"), X),
    (lambda x: np.quantile(x, 0.5, weights=x), X),
    (lambda x: np.histogram(x, "auto"), X),
    (lambda x, w: np.cov(x, fweights=w), X, np.ones(4, int)),
    (lambda x: np.geomspace(x, 2), 1j),
    (lambda x: np.where(x > 1, None, x), X),
    (lambda x: np.choose([0, 1], x), GRID),
    (lambda x: list(zip(enumerate(x), x, strict=True)), X),
    (lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"), X),
    (lambda x: np.linalg.svd(x, hermitian=True), np.eye(2)),
    (lambda x: np.linalg.pinv(x, hermitian=True), np.eye(2)),
    (lambda x: np.linalg.matrix_rank(x, hermitian=True), np.eye(2)),
    (lambda x: np.interp(x, x, x, period=3.0), X),
    (lambda x: np.unwrap(x, period=4), np.arange(3)),
    (lambda x: np.polyfit(x, x, 1, full=True), X),
    (lambda x: np.einsum(x, [0], [0]), X),
    (lambda g, n: g.binomial(n, 0.5), GENERATOR, np.ones(2, np.uint64)),
    (lambda g, n: g.integers(n, 5), GENERATOR, np.ones(2, np.uint64)),
    (lambda g: g.standard_gamma(1.0, dtype=np.float32), GENERATOR),
    (lambda g, n: g.multinomial(n, [0.5, 0.5]), GENERATOR, np.ones(2, np.int64)),
    (lambda g, a: g.dirichlet(a), GENERATOR, GRID),
    (lambda n: np.random.default_rng("a").random(), 1),
    (lambda g: g.shuffle([1, 2]), GENERATOR),
    (lambda x: np.logical_and.accumulate(x), X),
    (lambda x: np.copy(x, order="K").ravel("K"), np.ones((2, 2, 2)).transpose(1, 2, 0)[::2]),
    (lambda x: x.view(bool), np.ones(2, np.int8)),
    (lambda x: x.setflags(write=False), X),
    (lambda x: x.real.base, X),
    (lambda x: sorted([x, 2.0], key=None, reverse=x > 1), 1.0),
    (lambda a: [v for v in range(len(a)) if a[v] > 0] and {v: a for v in range(len(a)) if a[v] > 0}, X),
    (lambda a: [[a] for v in range(len(a)) if a[v] > 0], X),
    (lambda a: tuple([i for i in range(len(a)) if a[i] > 0]), X),
    (lambda a: {i: i for i in range(len(a)) if a[i] > 0} | {1: 2}, X),
    (lambda a: [i for i in range(len(a)) if a[i] > 0] < [1], X),
    (lambda a: np.array([(i, (i, i)) for i in range(len(a)) if a[i] > 0]), X),
    (lambda a: [i for i in range(len(a)) if a[i] > 0].__sizeof__(), X),
    (lambda a, d: {i: i for i in range(len(a)) if a[i] > 0}.fromkeys([1]), X, 1),
    (lambda x: {Own(): 1}, 1),
    (lambda o: {o: 1}[o], Own()),
    (lambda n, x: [1, "a", x][int(n[0])], X, X),
    (lambda x, n: x.__setitem__(int(n[0]), P), X, X),
    (lambda n: list(map(str, range(int(n[0])))), X),
    (lambda n: {str(k) for k in range(int(n[0]))}, X),
    (lambda n: {str(k): k for k in range(int(n[0]))}, X),
    (lambda n: set(range(int(n[0]))), X),
    (lambda p, x: x[p], P, X),
    (lambda x: x.item, X),
    (lambda x: host_function(x=x), 1.0),
    (lambda x: host_function([x]), 1.0),
    (tries_host, 1.0),
]

# Refusals that have no example here yet.
WITHOUT_EXAMPLE = """
an index that is one bool
assigning a … to part of an array
the keyword `…` of `…`
int() of a …
float() of a …
complex() of a …
math.… with … arguments
a list of elements that are no numbers, of a length that is not known when compiling
using all of a dict whose keys are not known when compiling
using all of a list whose length is not known when compiling
a key whose class has an `__eq__` or `__hash__` of its own
an index that is not known when compiling, into … elements
a `try` around more than 200 places that may raise
the expression `…`
the attribute `…` of a …
an element of a …
`…` of what is no …
the array method `…`
`iter` with two arguments
a list that grows or shrinks while it is walked
a … in a list whose length is not known when compiling
assigning to a slice with a step, of a list whose length is not known when compiling
an array of a list whose elements are no numbers, nor tuples of numbers
an array of this dtype of a list whose length is not known when compiling
a variable that may be unbound or None changes its type
a loop whose variables do not settle on their types
walking a … beside something of unknown length
recursion whose arguments do not settle on their types
a value that must be known when compiling
taking a key out of a dict while it is walked
the index of a …
the keyword `…` when sorting
the method `…` of a dict
np.arange of a …
the attribute `…`, which the instance has on some paths only
an attribute that is None on some paths
the `__init__` of `…`
a call of a …
the `__post_init__` of `…`
a namedtuple with a `…` of its own
np.… of None
the truth of a …
matching what may be None by its type
matching a …
a product of float16 arrays of more than two axes
the type of a …
`isinstance` with what decides by itself
`round` of a … with these arguments
an array of a …
an array of dtype …
an instance that paths disagree about
what stands in a list of a length that is not known when compiling, outside of the result
a recursive function whose arguments hold other containers from call to call
an exception of a recursive function whose arguments differ
a recursive function whose results do not settle on their types
the method `…` of a list that stands in another container
a list after it was put into another container
a set that differs between paths
an element of a set that is a …
the `…` that `dataclass` has made of `…`
a `…` that returns a …
the `__format__` of a …
`async`
the statement `…`
an instance as an index or an element of an array
an assignment to a `…`
an augmented assignment to `…`
an augmented assignment to an item of a …
`del` of an item of a …
the keyword `dtype` of `np.…` with this dtype
a mask that is a …
more than … values of `…`, an argument of `…` whose value decides what is compiled,
the routine `…` outside of compiled code
a seed that is no integer and no sequence of integers
a mask of a reduction in order
squeezing axes of lengths that are not known when compiling
this method of quantiles
""".strip().splitlines()
