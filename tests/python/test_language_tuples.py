"""Rows of docs/language.md about namedtuples and Enums: each program under Ingot against CPython, in its order."""

import collections
import enum
import math
import typing

import numpy as np
from support import check, jitted, refused

X = np.arange(6.0)
Point = collections.namedtuple("Point", "x y")
Padded = collections.namedtuple("Padded", "x y z", defaults=(0.0, 7))


class Box(typing.NamedTuple):
    low: float
    high: float
    name: str = "box"

    @property
    def width(self):
        return self.high - self.low

    def scaled(self, factor):
        return Box(self.low * factor, self.high * factor, self.name)

    def __add__(self, other):
        return self._replace(high=self.high + other)


class Named(Point):
    __slots__ = ()

    def norm(self):
        return math.sqrt(self.x * self.x + self.y * self.y)

    def __str__(self):
        return f"<{self.x} {self.y}>"


class Open(Point):
    """A namedtuple whose instances have a dict."""


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3

    @property
    def shade(self):
        return self.value * 10

    def mixed(self, other):
        return self.value + other.value


class Axis(enum.IntEnum):
    X = 0
    Y = 1


class Perm(enum.Flag):
    R = 4
    W = 2


class Planet(enum.Enum):
    EARTH = (5.976e24, 6.37814e6)
    MARS = (6.421e23, 3.3972e6)

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    @property
    def gravity(self):
        return 6.67300e-11 * self.mass / (self.radius * self.radius)


class Mode(str, enum.Enum):
    FAST = "fast"
    SLOW = "slow"


def test_namedtuples():
    def fields(p):
        return p.x + p.y, p[0], p[-1], len(p), p[:1]

    check(fields, Point(1.5, 2))
    check(fields, Named(1.5, np.float32(2)))

    def unpacked(p):
        x, y = p
        total = 0.0
        for part in p:
            total += part
        return x, y, total

    check(unpacked, Point(1, 2.5))

    def made(x, y):
        p = Point(x, y=y)
        return p, Padded(x), [Padded(1, z=y)], {"p": p}

    check(made, 1.5, 2)

    def changed(p, v):
        q = p._replace(y=v)
        return p, q, p._asdict(), Point._make([v, v]), p._fields

    check(changed, Point(1.5, 2), 4)

    def replaced_badly(p):
        return p._replace(z=1)

    check(replaced_badly, Point(1.5, 2))

    def too_few(x):
        return Point(x)

    check(too_few, 1.5)

    def too_many(x):
        return Point._make((x, x, x))

    check(too_many, 1.5)

    def assigned(p):
        p.x = 1

    check(assigned, Point(1.5, 2))

    def missing(p):
        return p.z

    check(missing, Point(1.5, 2))

    def methods(b, v):
        return b.width, b.scaled(v), b + v, b.scaled(2).width, b == b.scaled(1), b.name

    check(methods, Box(1.0, 2.5), 3.0)

    def sub(p):
        return p.norm(), str(p), f"{p}", p == (3.0, 4.0), isinstance(p, Point), isinstance(p, tuple), type(p).__name__

    check(sub, Named(3.0, 4.0))
    check(sub, Named(0.0, 4.0))

    def arrays(p):
        p.x[0] = 5.0
        return Point(p.x, p.y * 2), p.x.sum()

    check(arrays, Point(X, X[:3]))

    def branches(p, c):
        if c > 0:
            p = Point(p.x + 1, p.y)
        else:
            p = Point(p.x, p.y - 1)
        return p

    check(branches, Point(1.5, 2.0), 1)
    check(branches, Point(1.5, 2.0), -1)

    def looped(p, n):
        for i in range(n):
            p = Point(p.y, p.x + i)
        return p

    check(looped, Point(1.0, 2.0), 5)
    check(looped, Point(1.0, 2.0), 0)

    def concatenated(p):
        return p + (1,), p + p, tuple(p), list(p), p * 2

    check(concatenated, Point(1, 2))

    def shown(p):
        print(p, f"{p}", repr(p))
        return str(p)

    check(shown, Point(1, 2.5))

    def nested(d):
        return d["a"].x.y + d["b"][0].x

    check(nested, {"a": Point(Point(1, 2), 3), "b": [Point(4, 5)]})


def test_namedtuples_that_are_refused():
    def used(p):
        return p.x

    p = Open(1, 2)
    check(used, p)
    p.extra = 3
    refused(used, p)

    class Odd(Point):
        __slots__ = ()

        def __getitem__(self, i):
            return 42

    refused(used, Odd(1, 2), words="Odd")

    class Own(Point):
        __slots__ = ()

        def __new__(cls, x):
            return super().__new__(cls, x, x)

    def makes(x):
        return Own(x)

    refused(makes, 1, words="`__new__`")


def test_members_of_an_enum():
    def compared(c, x):
        if c is Color.RED:
            return x + 1, c == Color.RED, c != Color.BLUE, c.value, c.name
        if c == Color.GREEN:
            return x - 1, c is not Color.RED, c == 2, 2 == c, c.shade, c.mixed(Color.BLUE)
        return x, c, [c], {c: x}, Color(3) is c, Color["RED"], len(Color)

    for c in Color:
        check(compared, c, 1.5)

    def numbers(a, axis):
        return a.sum(axis), a[axis], axis + 1, axis * 2.5, axis < 1, axis == 0, Axis.Y, axis.value, -axis, int(axis), float(axis)

    check(numbers, np.arange(6).reshape(2, 3), Axis.Y)
    check(numbers, np.arange(6).reshape(2, 3), Axis.X)

    def with_staged(n):
        return n == Axis.Y, n + Axis.Y, Axis.Y < n, n == Color.RED, n != Color.RED

    check(with_staged, 1)
    check(with_staged, 2)

    def keys(d):
        d[Color.RED] = d[Color.GREEN] + 1
        return d[Color.RED], Color.BLUE in d, {Axis.X: 3}[0], list(d)

    check(keys, {Color.RED: 1.5, Color.GREEN: 2.5})

    def iterated(x):
        total = x
        for c in Color:
            total += c.value
        return total, [c.name for c in Color], tuple(Color)

    check(iterated, 1.5)

    def attributes(p):
        return p.gravity, p.mass, Planet.EARTH.radius, p.value

    check(attributes, Planet.MARS)

    def texts(m):
        return m == "fast", m.value, m is Mode.FAST, Mode("slow"), str(Color.RED), f"{Axis.X}"

    check(texts, Mode.FAST)
    check(texts, Mode.SLOW)

    def flags(p):
        if p & Perm.R:
            return 1
        return Perm.R | Perm.W

    check(flags, Perm.R | Perm.W)
    check(flags, Perm.W)

    def matched(c):
        match c:
            case Color.RED:
                return "red"
            case Color.GREEN | Color.BLUE:
                return "other"

    check(matched, Color.RED)
    check(matched, Color.BLUE)

    def truth(c):
        return bool(c), not c, 1 if c else 2

    check(truth, Axis.X)
    check(truth, Color.RED)

    f = jitted(compared)
    assert f(Color.BLUE, 1.0)[1] is Color.BLUE
    assert len(f.specialisations) == 1
    f(Color.RED, 1.0)
    assert len(f.specialisations) == 2

    def missing(c):
        return Color.PINK

    check(missing, Color.RED)


def test_what_a_walrus_binds_is_the_object():
    def swapped(x, n):
        a, b = [x], [2.0]
        pair = (a, b)
        if (pair := (b, a))[0][0] > n:
            pair[0].append(n)
        else:
            pair = (a, a)
        return a, b, pair

    def turned(n):
        rows, found = ([1], [2]), []
        for _ in range(n):
            if (rows := (rows[1], rows[0]))[0][0] == 2:
                found = rows[0]
        return rows, found

    for n in (1.5, 2.5):
        check(swapped, 1.0, n)
    for n in (3, 4):
        check(turned, n)
