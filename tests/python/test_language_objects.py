"""Rows of docs/language.md about instances of classes: each program under Ingot against CPython, in its order."""

import abc
import collections
import collections.abc
import copy
import dataclasses
import datetime
import enum
import linecache
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import ingot
from support import MODES, jitted, outcome

X = np.arange(6.0)


class Particle:
    count = 3
    scale = 2.0

    def __init__(self, x, v, mass=1.0):
        self.x = x
        self.v = v
        self.mass = mass

    def step(self, dt):
        self.x = self.x + self.v * dt
        return self.x

    def energy(self):
        return 0.5 * self.mass * self.v * self.v

    @property
    def momentum(self):
        return self.mass * self.v

    @momentum.setter
    def momentum(self, p):
        self.v = p / self.mass

    @staticmethod
    def doubled(a):
        return a * 2

    @classmethod
    def scaled(cls, a):
        return a * cls.scale

    def __call__(self, k):
        return self.x * k


class Charged(Particle):
    scale = 5.0

    def __init__(self, x, v, q):
        super().__init__(x, v)
        self.q = q

    def energy(self):
        return super().energy() + self.q

    def __eq__(self, other):
        if not isinstance(other, Charged):
            return NotImplemented
        return self.q == other.q

    __hash__ = None


@dataclass
class Vec:
    x: float
    y: float = 0.0

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def dot(self, o):
        return self.x * o.x + self.y * o.y

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return self.x if i == 0 else self.y

    def __setitem__(self, i, v):
        if i == 0:
            self.x = v
        else:
            self.y = v

    def __contains__(self, v):
        return v == self.x or v == self.y

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __iadd__(self, o):
        self.x += o.x
        self.y += o.y
        return self


@dataclass(frozen=True, order=True)
class Fixed:
    a: int
    b: float = 2.0


@dataclass(slots=True)
class Slotted:
    a: float
    n: int = 3


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@dataclass
class World:
    data: np.ndarray
    items: list = field(default_factory=list)
    center: Vec = None
    total: float = field(init=False, default=0.0)
    info: dict = field(default_factory=dict)

    def __post_init__(self):
        self.total = self.total + 1


class Private:
    def __init__(self, x):
        self.__x = x

    def get(self):
        self.__x += 1
        return self.__x


def state(value, seen=()):
    """What an argument is, with the attributes of instances, for comparison."""
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(state(v, seen) for v in value)]
    if isinstance(value, dict):
        return {k: state(v, seen) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return (value.dtype, value.tolist())
    slots = [n for c in type(value).__mro__ for n in getattr(c, "__slots__", ()) if hasattr(value, n)]
    if hasattr(value, "__dict__") or slots:
        if type(value).__module__ != __name__ and "<locals>" not in type(value).__qualname__ or isinstance(value, (type, enum.Enum)):
            return repr(value)
        if any(value is s for s in seen):
            return "again"
        held = getattr(value, "__dict__", {})
        return [type(value), {k: state(v, (*seen, value)) for k, v in held.items()},
                {k: state(getattr(value, k), (*seen, value)) for k in slots}]  # fmt: skip
    return (type(value), repr(value))


def same(function, *arguments):
    """`check`, for arguments and results that are instances: by their classes and attributes."""
    plain = copy.deepcopy(arguments)
    result, error, printed = outcome(function, plain)
    for mode in MODES:
        given = copy.deepcopy(arguments)
        got, raised, shown = outcome(jitted(function, mode), given)
        if error is None and raised is not None:
            raise raised
        assert type(raised) is type(error) and str(raised) == str(error), f"{mode}: {raised!r} for {error!r}"
        assert state(got) == state(result), f"{mode}: {state(got)} for {state(result)}"
        assert state(given) == state(plain), f"{mode}: arguments {state(given)} for {state(plain)}"
        assert shown == printed, f"{mode}: printed {shown!r} for {printed!r}"
        for i, a in enumerate(plain):
            if not hasattr(a, "__dict__"):
                continue
            assert (result is a) == (got is given[i]), f"{mode}: the result is another object"
    return result


def test_instances_are_read():
    def attributes(p, n):
        total = 0.0
        for i in range(n):
            total += p.x * i + p.mass
        return total, p.v, p.count, Particle.scale

    same(attributes, Particle(1.5, 2), 4)
    same(attributes, Charged(1.5, 2, 3), 4)

    def methods(p):
        return p.energy(), p.momentum, p.doubled(3), p.scaled(3.5), p(2), Particle.energy(p), type(p).__name__

    same(methods, Particle(1.5, 2.0))
    same(methods, Charged(1.5, 2.0, 3))

    def arrays(w):
        w.data[1] = 7.0
        return w.data, w.data.sum() + w.total, len(w.items), w.items[0], w.center.x, w.info["a"]

    same(arrays, World(X, [1, 2.5], Vec(1.5, 2.5), {"a": 3}))

    def slots(s, t):
        return s.a + t.a + t.n

    same(slots, Slots(1.5), Slotted(2.5))

    def unset(s):
        return s.b

    same(unset, Slots(1.5))

    def missing(p):
        return p.nothing

    same(missing, Particle(1, 2))

    def identity(p, q):
        return p is q, p is not q, p == q, p != q, p is None, p == 1, isinstance(p, Particle), isinstance(p, (Vec, int))

    p = Particle(1, 2)
    same(identity, p, p)
    same(identity, p, Particle(1, 2))
    same(identity, Charged(1, 2, 3), Charged(2, 2, 3))
    same(identity, Charged(1, 2, 3), Vec(1))

    def equal(a, b):
        return a == b, a != b, a < b, a <= b, a > b

    same(equal, Fixed(1, 2.0), Fixed(1, 3.0))
    same(equal, Fixed(1, 2.0), Fixed(1, 2.0))
    same(equal, Vec(1, 2.0), Vec(1, 2.0))
    same(equal, Fixed(1, 2.0), 3)

    def unused(p, x):
        return x + 1

    same(unused, Particle(1, {1, 2}), 2)

    def private(p):
        return p.get() + p.get()

    same(private, Private(3))

    def in_containers(ps, d):
        total = 0.0
        for p in ps:
            total += p.x
        return total + d["a"].x, ps[1].v

    same(in_containers, [Particle(1, 2), Particle(3.5, 4)], {"a": Vec(1.5)})

    def truth(v, p):
        return bool(v), not p, 1 if p else 2, len(v), abs(v), 1.5 in v, v[1]

    same(truth, Vec(1.5, 2.0), Particle(1, 2))


def test_operators_of_instances():
    def arithmetic(a, b, k):
        c = (a + b * k).dot(-a) + (k * b).x
        return c, a + b, 2 * a

    same(arithmetic, Vec(1.5, 2.0), Vec(3, 4), 5)

    def wrong(a):
        return a + Particle(1, 2) if a.x > 100 else a - a

    same(wrong, Vec(1.5, 2.0))

    def not_called(a):
        return a()

    same(not_called, Vec(1.5, 2.0))

    def unhashed(p):
        return p[0]

    same(unhashed, Particle(1, 2))

    def length(p):
        return len(p)

    same(length, Particle(1, 2))

    def negative(p):
        return -p

    same(negative, Particle(1, 2))

    class Mixed:
        def __init__(self, v):
            self.v = v

        def __radd__(self, other):
            return ("radd", other, self.v)

        def __sub__(self, other):
            return NotImplemented

        def __rsub__(self, other):
            return ("rsub", self.v)

        def __bool__(self):
            return self.v > 0

    class Derived(Mixed):
        def __rsub__(self, other):
            return ("derived", self.v)

        def __sub__(self, other):
            return ("sub", self.v)

    def mixed(a, b):
        return 1 + a, a - b, b - a, (1 if a else 2), not a

    same(mixed, Mixed(1.5), Derived(2))
    same(mixed, Mixed(-1.5), Derived(2))

    def itself(a):
        return a - a

    same(itself, Mixed(1))

    def texts(v, f):
        print(v, f)
        return str(v), repr(f), f"{v}"

    same(texts, Vec(1.5, 2.0), Fixed(3))


def test_instances_of_the_caller_are_written():
    def steps(p, n):
        for i in range(n):
            p.step(0.5)
            p.count = i
        p.v = "text"
        return p

    same(steps, Particle(1.5, 2), 4)
    same(steps, Particle(1.5, 2), 0)
    same(steps, Particle(1, 2), 3)

    def new_attributes(p, x):
        p.extra = x
        p.other = [x, 2]
        p.x += 1
        p.momentum = 8.0
        p.mass -= x

    same(new_attributes, Particle(1.5, 2), 4.5)

    def raises(p, n):
        for i in range(n):
            p.x = p.x + i
            if i == 3:
                raise ValueError("three")
        p.v = 0

    same(raises, Particle(1, 2), 6)
    same(raises, Particle(1, 2), 2)

    def shared(p, q, ps):
        p.x = 1
        q.x += 10
        ps[0].v = p.x
        return p.x, p is ps[0]

    p, q = Particle(1, 2), Particle(3, 4)
    same(shared, p, q, [p])
    same(shared, p, p, [p])
    same(shared, p, q, [q])

    def arrays(w):
        w.data = w.data * 2
        w.data += 1
        w.items.append(3)
        w.items += [4]
        w.info["b"] = 5
        w.center.x *= 2
        w.center = Vec(5, 6)
        return w.data.sum()

    same(arrays, World(X, [1], Vec(1.5), {}))

    def item(v):
        v[0] = 5.5
        v[1] += 2
        v += Vec(1, 2)
        return v.x

    same(item, Vec(1.5, 2.0))

    def slots(s):
        s.b = s.a + 1
        s.a = None

    same(slots, Slots(1.5))

    def unknown_slot(s):
        s.c = 1

    same(unknown_slot, Slots(1.5))

    def deleted(p):
        p.x = 5
        del p.x
        p.x = 6
        del p.v

    same(deleted, Particle(1, 2))

    def deleted_missing(s):
        del s.b

    same(deleted_missing, Slots(1))

    def frozen(f):
        f.a = 3

    same(frozen, Fixed(1))

    def branches(p, n):
        if n > 0:
            p.x = 1.5
        else:
            p.v = n
        return p.x

    same(branches, Particle(1, 2), 1)
    same(branches, Particle(1.0, 2), -1)

    def printed(p):
        p.x = 5
        print(p.x)
        p.x = 6.5

    same(printed, Particle(1, 2))

    def moved(p, ps):
        ps[0] = p
        ps.append(p)
        p.x = 7
        return ps

    same(moved, Particle(1, 2), [1])


def test_instances_are_made():
    def made(x, n):
        p = Particle(x, 2)
        for i in range(n):
            p.step(0.25)
            p.mass = p.mass + i
        return p, p.energy()

    same(made, 1.5, 4)
    same(made, 1.0, 0)

    def inherited(x):
        c = Charged(x, 2, q=3)
        return c, c.energy(), [c, c], {"c": c}

    assert (lambda r: r[0] is r[2][0] is r[2][1] is r[3]["c"])(jitted(inherited)(1.5))
    same(inherited, 1.5)

    def fields(x):
        w = World(x, center=Vec(1))
        w.items.append(w.total)
        v = Vec(y=x[1], x=3)
        return w, v, Slotted(1.5), Fixed(4), v + v

    same(fields, X)

    def wrong(x):
        return Vec()

    same(wrong, 1)

    def wrong_names(x):
        return Particle(x, 2, m=3)

    same(wrong_names, 1)

    class Empty:
        pass

    def empty(x):
        e = Empty()
        e.x = x
        e.f = e
        return e

    same(empty, 1.5)
    same(lambda x: Empty(x), 1)

    def nested(x, n):
        p = Particle(Vec(x, 2), [x])
        for i in range(n):
            p.x.x += i
            p.v[0] = p.x.x
        return p

    same(nested, 1.5, 3)

    def in_lists(n):
        ps = [Particle(i, n) for i in range(3)]
        total = 0.0
        for p in ps:
            p.x = p.x * n
            total += p.energy()
        return ps, total

    same(in_lists, 2.5)

    def raising(x):
        try:
            v = Vec(x, 0)
            v.y = 1 / v.y
        except ZeroDivisionError:
            return v.x, v
        return None

    same(raising, 2)

    class Checked:
        def __init__(self, x):
            if x < 0:
                raise ValueError(f"negative: {x}")
            self.x = x

    def checked(x):
        return Checked(x).x

    same(checked, 2.5)
    same(checked, -2)

    class Returns:
        def __init__(self):
            return 5

    same(lambda x: Returns(), 1)

    class Frozen2(Fixed):
        def total(self):
            return self.a + self.b

    def accumulated(x):
        total = Vec(np.float64(0.0), 0.0)
        for i in range(x.shape[0]):
            total = total + Vec(x[i], 1.0) * 2.0
        return total, abs(total)

    same(accumulated, X)
    same(accumulated, X[:0])

    def swapped(n):
        a, b = Vec(1.0, 2.0), Vec(3.0, 4.0)
        k = 0
        while k < n:
            a, b = b, a + b
            k += 1
        return a, b

    same(lambda n: swapped(n), 4)

    def chosen(x):
        v = Vec(1.0, 2.0)
        if x[0] > 0:
            v = Vec(float(x[0]), float(x[1]))
        v.x += 1
        return v

    same(chosen, X)
    same(chosen, X + 1)

    def held(x):
        w = World(x)
        w.center = Vec(0.0, 0.0)
        vs = [Vec(1.0, 2.0), 3]
        for i in range(x.shape[0]):
            w.center = w.center + Vec(1.0, 2.0)
            vs[0] = vs[0] * 2.0
        return w.center, vs[0], vs[1]

    same(held, X)

    def kept(x):
        a = Vec(0.0, 0.0)
        old = Vec(9.0, 9.0)
        b = Vec(0.0, 0.0)
        for i in range(x.shape[0]):
            old = a
            a = Vec(a.x + 1.0, a.y)
            b.x += 1.0
            if x[i] > 2:
                a = b
                b = Vec(0.0, 0.0)
        old.x = 100.0
        b.x += 50.0
        return a, b, old, a is b

    same(kept, X)
    same(kept, X[:2])

    def early(x):
        v = Vec(0.0, 1.0)
        for i in range(x.shape[0]):
            w = Vec(v.x + 1.0, v.y)
            if w.x > 2.5:
                return w
            v = w
        return Vec(-1.0, v.x)

    same(early, X)
    same(early, X[:2])

    def clipped(v, low):
        if v.x < low:
            return Vec(low, v.y)
        return Vec(v.x, 0.0)

    same(lambda x: clipped(Vec(float(x[1]), 2.0), 0.5), X)
    same(lambda x: clipped(Vec(float(x[1]), 2.0), 1.5), X)

    def iterate(x):
        v = Vec(0.0, 0.0)
        for i in range(x.shape[0]):
            if x[i] > 2:
                v = Vec(v.x + float(x[i]), v.y)
            elif x[i] > 1:
                v = v + v
            else:
                v.y += 1
        return v

    same(iterate, X)

    same(lambda x: (Frozen2(x), Frozen2(x).total()), 3)
    assert dataclasses.asdict(jitted(lambda x: Vec(x, 2))(1.5)) == {"x": 1.5, "y": 2}


OUTSIDE = Particle(1.5, 2.0)


def test_instances_from_outside():
    inner = Vec(1.5, 2.5)

    def read(k):
        return OUTSIDE.x * k + inner.dot(inner)

    f = jitted(read)
    assert f(2) == read(2)
    OUTSIDE.x, inner.y = 3.5, 1
    assert f(2) == read(2)
    inner = Vec(5, 6)
    assert f(2) == read(2)

    def write(k):
        OUTSIDE.x += k
        inner.x = k

    jitted(write)(2)
    assert OUTSIDE.x == 5.5 and inner.x == 2
    OUTSIDE.x = 1.5


def test_nothing_of_a_class_is_stale():
    class A:
        k = 1

        def f(self):
            return self.k

        def g(self):
            return 1

    def run(a):
        return a.f() + a.g()

    f = jitted(run)
    a = A()
    assert f(a) == 2
    a.k = 5
    assert f(a) == 6
    a.k = 5.5
    assert f(a) == 6.5
    del a.k
    A.k = 7
    assert f(a) == 8
    A.g = lambda self: 100
    assert f(a) == 107

    class B(A):
        def g(self):
            return self.k * 2

    b = B()
    assert f(b) == 21
    b.__class__ = A
    assert f(b) == 107
    a.g = lambda: 3
    assert f(a) == 10
    del a.g
    A.k = property(lambda self: 9)
    assert f(a) == 109
    assert len(f.specialisations) < 12

    def late(a):
        return a.late

    h = jitted(late)
    with pytest.raises(AttributeError):
        h(a)
    A.late = 5
    assert h(a) == 5


def test_calls_of_one_class_take_one_specialisation():
    def energy(p):
        return p.energy()

    f = jitted(energy)
    for i in range(5):
        assert f(Particle(float(i), float(i))) == 0.5 * i * i
    assert len(f.specialisations) == 1


def test_compiled_methods():
    class Sim:
        def __init__(self, n):
            self.u = np.zeros(n)
            self.t = 0.0

        @ingot.jit
        def run(self, steps):
            for _ in range(steps):
                for i in range(self.u.shape[0]):
                    self.u[i] += i * self.t
                self.t += 0.5
            return self.t

        def twice(self):
            return self.run(1) + self.run(1)

    s = Sim(5)
    assert s.run(3) == 1.5 and s.t == 1.5
    assert s.u.tolist() == [i * 1.5 for i in range(5)]
    assert jitted(lambda s: s.twice())(s) == 4.5 and s.t == 2.5


class Getter:
    def __getattr__(self, name):
        return 1


class Setter:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


class Everything:
    def __getattribute__(self, name):
        return 2


class Meta(type):
    def __call__(cls):
        return 3


class Made(metaclass=Meta):
    pass


class New:
    def __new__(cls):
        return super().__new__(cls)


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self): ...


class Cached:
    def __get__(self, instance, owner):
        return 4


class Owner:
    it = Cached()


def refused(function, *arguments, words=""):
    """As support's, without copying the arguments, which would run code of their classes."""
    with pytest.raises(ingot.UnsupportedError) as refusal:
        jitted(function)(*arguments)
    message = str(refusal.value)
    assert "instead:" in message and words in message, message


class Iterated:
    def __init__(self):
        self.n = 2

    def __getitem__(self, i):
        if i == self.n:
            raise IndexError
        return i


def test_classes_that_are_refused():
    refused(lambda a: [x for x in a], Iterated(), words="iterating over a Iterated")
    refused(lambda a: a.x, Getter(), words="`__getattr__`")
    refused(lambda a: a.x, Everything(), words="`__getattribute__`")

    def sets(a):
        a.x = 1

    refused(sets, Setter(), words="`__setattr__`")
    refused(lambda a: Made(), 1, words="`__call__`")
    refused(lambda a: New(), 1, words="`__new__`")
    refused(lambda a: Abstract(), 1, words="abstract")
    refused(lambda a: a.it, Owner(), words="Cached")
    refused(lambda a: str(a), Particle(1, 2), words="text")
    refused(lambda a: X * a, Vec(1, 2), words="'*'")
    refused(lambda a: "%s" % a, Vec(1, 2), words="'%'")
    refused(lambda a: np.sin(a), Vec(1, 2), words="`sin`")
    refused(lambda a: range(a), Vec(1, 2), words="`range`")
    refused(lambda a: list(a), Vec(1, 2), words="`list`")
    refused(lambda a: X[a], Vec(1, 2), words="index")
    refused(lambda a: X[a:], Vec(1, 2), words="bound")
    refused(lambda a: isinstance(a, collections.abc.Sized), Particle(1, 2), words="isinstance")

    def unpacked(a):
        x, y = a

    refused(unpacked, Vec(1, 2), words="iterating")

    def iterated(a):
        for x in a:
            pass

    refused(iterated, Vec(1, 2), words="iterating")

    def stored(a):
        X[0] = a

    refused(stored, Vec(1, 2), words="element")

    def on_one_path(c):
        p = Particle(1, 2)
        if c[0] > 0:
            p.extra = 1
        return p

    refused(on_one_path, X, words="on some paths only")


class Items(collections.UserList):
    def total(self):
        return sum(self.data)


class Named(collections.UserDict):
    pass


def in_module_of_names(name):
    """A class with special methods, of a module whose name is unrelated."""
    space = {"__name__": name}
    source = "class Sized:\n    def __init__(self, n): self.n = n\n    def __len__(self): return self.n\n    def __getitem__(self, i): return i * self.n\n    def __add__(self, other): return Sized(self.n + other.n)\n    def __repr__(self): return f'Sized({self.n})'\n    def __eq__(self, other): return self.n == other.n\n"
    file = f"<classes of {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), space)
    return space["Sized"]


@pytest.mark.parametrize("mode", MODES)
def test_special_methods_whatever_the_module_is_called(mode):
    def sized(a, b):
        return len(a), bool(a), a[2], len(a + b), a == b, f"{a!r}", not b

    for name in ("namedtuple_here", "collections", "enum", "collections.abc", "builtins_of_mine"):
        kind = in_module_of_names(name)
        for n in (0, 3):
            assert jitted(sized, mode)(kind(n), kind(2)) == sized(kind(n), kind(2)), name

    def lists(x):
        return len(x), bool(x), x[0], x.data[-1], x.total()

    def dicts(x):
        return len(x), bool(x), x["a"], "a" in x, "b" in x

    assert jitted(lists, mode)(Items([1, 2, 3])) == lists(Items([1, 2, 3]))
    assert jitted(lambda x: (len(x), bool(x)), mode)(Items()) == (0, False)
    assert jitted(dicts, mode)(Named({"a": 1})) == dicts(Named({"a": 1}))


@pytest.mark.parametrize("mode", MODES)
def test_methods_of_namedtuples_are_known_by_what_they_are(mode):
    Pair = collections.namedtuple("Pair", "x y", defaults=(2,))

    class Longer(Pair):
        def __repr__(self):
            return "longer"

        def _replace(self, x):
            return x * 2

    def pairs(a):
        p = Pair(a)
        return p._replace(y=5), p._asdict(), Pair._make((a, 1)), p

    def longer(p):
        return p._replace(3), f"{p}", p.x

    assert jitted(pairs, mode)(1.5) == pairs(1.5)
    assert jitted(longer, mode)(Longer(1, 2)) == longer(Longer(1, 2))


class Bare:
    pass


def test_instances_next_to_arrays_of_strings():
    names = np.array(["a", "b"])
    for function in (lambda p, a: p == a, lambda p, a: a == p, lambda p, a: p != a, lambda p, a: a != p):
        for mode in MODES:
            with pytest.raises(ingot.UnsupportedError, match="an array of dtype <U1"):
                jitted(function, mode)(Bare(), names)


class Hidden:
    def __init__(self, __x):
        self.x = __x

    def moved(self, __by, *__more):
        __y = self.x + __by
        for __i in range(3):
            __y += __i
        return __y, [__k + __by for __k in __more], __scale

    def counted(self, __n):
        for __i in range(__n):
            yield __i * self.x


_Hidden__scale = 2.5


@pytest.mark.parametrize("mode", MODES)
def test_private_names_of_variables(mode):
    def f(p, x):
        return p.moved(x, 1, 2), list(p.counted(3)), Hidden(x).x

    assert jitted(f, mode)(Hidden(1), 4) == f(Hidden(1), 4)


def test_what_has_no_elements_has_none_at_an_instance():
    class Index:
        def __init__(self):
            self.at = 1

    with pytest.raises(TypeError, match="object is not subscriptable"):
        ingot.jit(lambda day: day[Index()])(datetime.date(2020, 1, 1))
