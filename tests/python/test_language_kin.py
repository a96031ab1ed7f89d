"""Instances of several classes in one list, variable, dict or tree, against CPython: rows of docs/language.md."""

import heapq
import math
from dataclasses import dataclass

import numpy as np
import pytest
from support import check

SIGNED = np.array([1.5, -2.0, 0.25, -0.5, 3.0, -4.0, 0.0, 2.0])


class Shape:
    sides = 0
    scale = 1.0

    def __init__(self, name):
        self.name = name

    def area(self):
        return 0.0

    def twice(self):
        return 2.0 * self.area()

    def grow(self, by):
        self.name += 1
        return self

    @property
    def size(self):
        return self.area() + self.name

    @staticmethod
    def unit():
        return 1

    @classmethod
    def corners(cls):
        return cls.sides


class Circle(Shape):
    scale = 3.0

    def __init__(self, r):
        super().__init__(1)
        self.r = r

    def area(self):
        return math.pi * self.r * self.r

    def grow(self, by):
        self.r += by
        return super().grow(by)


class Square(Shape):
    sides = 4

    def __init__(self, side):
        super().__init__(2)
        self.side = side

    def area(self):
        return self.side * self.side

    def grow(self, by):
        self.side *= by
        super().grow(by)
        return self

    @property
    def size(self):
        return self.side

    @staticmethod
    def unit():
        return 4


class Cube(Square):
    sides = 12

    def area(self):
        return 6 * super().area()


@dataclass
class Point:
    x: float
    y: float = 0.0

    def length(self):
        return math.hypot(self.x, self.y)


@dataclass
class Line:
    ends: tuple[Point, Point]
    kind: int = 7

    def length(self):
        a, b = self.ends
        return math.hypot(a.x - b.x, a.y - b.y)


class Metre:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Metre(self.value + other.value)

    def __eq__(self, other):
        return isinstance(other, Metre) and self.value == other.value

    def __lt__(self, other):
        return self.value < other.value

    def __bool__(self):
        return self.value > 0

    def __len__(self):
        return 3

    def __getitem__(self, k):
        return self.value * k

    def __call__(self, k):
        return self.value + k

    def __neg__(self):
        return Metre(-self.value)

    def __abs__(self):
        return abs(self.value)


class Mile:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Mile(self.value + other.value / 1000)

    def __iadd__(self, other):
        self.value += other.value * 2
        return self

    def __lt__(self, other):
        return self.value * 1000 < other.value

    def __getitem__(self, k):
        return self.value - k

    def __call__(self, k):
        return self.value * k

    def __neg__(self):
        return Metre(self.value)

    def __abs__(self):
        return 1.0


def shapes_of(x):
    shapes = []
    for i in range(len(x)):
        if x[i] > 0:
            shapes.append(Circle(float(x[i])))
        elif x[i] < -1:
            shapes.append(Cube(-float(x[i])))
        else:
            shapes.append(Square(-float(x[i])))
    return shapes


@pytest.mark.rotated(5)
def test_lists_of_several_classes():
    def areas(x):
        total = 0.0
        for s in shapes_of(x):
            total += s.area()
        return total

    def inherited(x):
        total = 0.0
        for s in shapes_of(x):
            total += s.twice() + s.size + s.name
        return total

    def of_classes(x):
        shapes = shapes_of(x)
        count = 0
        scale = 0.0
        for s in shapes:
            count += s.sides + s.unit() + s.corners()
            scale += s.scale
        return count, scale, shapes[-1].sides

    def changed(x):
        shapes = shapes_of(x)
        for s in shapes:
            s.grow(2.0).name += 10
        total = 0.0
        for s in shapes:
            total += s.area() * s.scale + s.name
        return total

    def by_places(x):
        shapes = shapes_of(x)
        last = shapes.pop()
        shapes.insert(1, last)
        shapes[0] = Square(9.0)
        shapes.reverse()
        del shapes[2]
        return [s.area() for s in shapes], len([s for s in shapes if s.area() > 1]), last.area()

    def ordered(x):
        shapes = shapes_of(x)
        shapes.sort(key=lambda s: s.area())
        return [s.area() for s in sorted(shapes, key=lambda s: -s.name)], max(s.area() for s in shapes)

    for n in range(len(SIGNED) + 1):
        check(areas, SIGNED[:n])
        check(inherited, SIGNED[:n])
        check(changed, SIGNED[:n])
    check(of_classes, SIGNED)
    check(by_places, SIGNED)
    check(ordered, SIGNED)


@pytest.mark.rotated(4)
def test_variables_of_several_classes():
    def either(x):
        shape = Circle(x) if x > 1 else Square(x)
        return shape.area(), shape.name

    def reassigned(x, n):
        shape = Circle(x)
        for i in range(n):
            if i % 3 == 1:
                shape = Square(shape.area())
            elif i % 3 == 2:
                shape = Circle(shape.name + 0.5)
        return shape.area()

    def replaced(x):
        shape = Circle(1.0)
        if x[0] > 0:
            shape = Point(2.0)
        return isinstance(shape, Point)

    check(replaced, SIGNED)

    def or_none(x, n):
        best = None
        for i in range(n):
            shape = Circle(float(x[i])) if x[i] > 0 else Square(-float(x[i]))
            if best is None or shape.area() > best.area():
                best = shape
        if best is None:
            return -1.0
        return best.area()

    def missing(x, n):
        shape = None
        if n > 2:
            shape = Circle(x)
        elif n > 1:
            shape = Square(x)
        return shape.area()

    for x in (0.5, 2.0):
        check(either, x)
        for n in range(5):
            check(reassigned, x, n)
            check(missing, x, n)
    for n in range(len(SIGNED) + 1):
        check(or_none, SIGNED, n)


@pytest.mark.rotated(3)
def test_classes_are_distinguished():
    def by_isinstance(x):
        circles = 0.0
        others = 0.0
        cubes = 0
        for s in shapes_of(x):
            if isinstance(s, Circle):
                circles += s.r
            else:
                others += s.side
            if isinstance(s, Cube) and s.side > 2:
                cubes += 1
            if not isinstance(s, (Circle, Cube)):
                cubes += 100
            assert isinstance(s, Shape) and not isinstance(s, (int, float))
        return circles, others, cubes

    def by_type(x):
        counts = [0, 0, 0, 0]
        shapes = shapes_of(x)
        for s in shapes:
            if type(s) is Circle:
                counts[0] += 1
            elif s.__class__ == Square:
                counts[1] += s.sides
            if type(s) in (Square, Cube):
                counts[2] += 1
            if type(s) is not Shape and type(s) != Point and type(s) is type(shapes[0]):
                counts[3] += 1
        return counts

    def copies(x):
        return [type(s)(2.0).area() + s.__class__.sides for s in shapes_of(x)]

    def matched(x):
        total = 0.0
        for s in shapes_of(x):
            match s:
                case Circle():
                    total += s.r
                case Cube():
                    total -= s.side
                case Shape():
                    total += 100
        return total

    def identical(x):
        shapes = shapes_of(x)
        same = shapes[0] is shapes[0], shapes[0] == shapes[0], shapes[0] is shapes[1], shapes[0] == shapes[1]
        other = shapes[-1]
        return same, other in shapes, shapes.count(other), other is None, other != shapes[0]

    check(by_isinstance, SIGNED)
    check(by_isinstance, SIGNED[:0])
    check(by_type, SIGNED)
    check(copies, SIGNED)
    check(matched, SIGNED)
    check(identical, SIGNED)


@pytest.mark.rotated(3)
def test_attributes_of_some_classes():
    def missing(x, n):
        shapes = shapes_of(x)
        total = 0.0
        for i in range(n):
            total += shapes[i].r
        return total

    def caught(x):
        count = 0
        total = 0.0
        for s in shapes_of(x):
            try:
                total += s.side
            except AttributeError as error:
                count += len(str(error)) if False else 1
        return count, total

    def no_method(x):
        parts = []
        parts.append(Point(x))
        parts.append(Line((Point(x), Point(x, x))))
        for i in range(3):
            parts.append(Point(x + i))
        total = 0.0
        for part in parts:
            total += part.length()
        return total, parts[-2].kind

    def one_name(x):
        several = []
        for i in range(len(x)):
            if x[i] > 0:
                several.append(Metre(float(x[i])))
            elif i % 2:
                several.append(Metre(-1.0))
            else:
                several.append(Mile((i, float(x[i]))))
        total = 0.0
        for s in several:
            if isinstance(s, Mile):
                total += s.value[1] * s.value[0]
            else:
                total += s.value
        return total

    for n in range(4):
        check(missing, SIGNED, n)
    check(caught, SIGNED)
    check(no_method, 2.0)
    check(one_name, SIGNED)


def test_operators_of_several_classes():
    def measures(x):
        all = []
        for i in range(len(x)):
            if x[i] > 0:
                all.append(Metre(float(x[i])))
            else:
                all.append(Mile(-float(x[i])))
        return all

    def added(x):
        all = measures(x)
        total = all[0]
        for m in all:
            total = total + m
        return total.value, isinstance(total, Mile)

    def in_place(x):
        all = measures(x)
        for i in range(1, len(all)):
            all[i] += all[i - 1]
        first = all[0]
        for m in all:
            first += m
        return [m.value for m in all], first.value

    def compared(x):
        all = measures(x)
        count = 0
        for a in all:
            for b in all:
                count += (a < b) + 10 * (a == b) + 100 * (a != b)
            if a:
                count += 1000
            if not a:
                count += 10000
        return count

    def others(x):
        return [(m[2], m(3.0), abs(m), (-m).value) for m in measures(x)]

    def lengths(x, n):
        return len(measures(x)[n])

    check(added, SIGNED)
    check(in_place, SIGNED)
    check(compared, SIGNED)
    check(others, SIGNED)
    check(lengths, SIGNED, 0)
    check(lengths, SIGNED, 1)


@pytest.mark.rotated(5)
def test_results_of_several_classes():
    def listed(x):
        return shapes_of(x)

    def shared(x):
        shapes = shapes_of(x)
        shapes.append(shapes[0])
        return shapes, shapes[0], [s for s in shapes if isinstance(s, Square)]

    def chosen(x, n):
        shapes = shapes_of(x)
        best = None
        for i in range(n):
            if best is None or shapes[i].area() > best.area():
                best = shapes[i]
        return best

    def paired(x):
        pairs = []
        for i, s in enumerate(shapes_of(x)):
            pairs.append((i, s, Point(s.area())))
        return pairs

    def in_two_lists(x):
        circles = []
        others = []
        for s in shapes_of(x):
            if isinstance(s, Circle):
                circles.append(s)
            else:
                others.append(s)
        for s in circles:
            s.r += 1
        return circles, others

    def slotted(n):
        parts = []
        for i in range(n):
            if i % 2:
                parts.append(Point(i * 0.5))
            else:
                parts.append(Line((Point(0.5 * i), Point(1.0, 2.0 * i))))
        return parts

    for n in range(len(SIGNED) + 1):
        check(listed, SIGNED[:n])
        check(chosen, SIGNED, n)
        check(paired, SIGNED[:n])
        check(in_two_lists, SIGNED[:n])
        check(slotted, n)
    check(shared, SIGNED)


class Leaf:
    def __init__(self, value):
        self.value = value

    def total(self):
        return self.value

    def depth(self):
        return 1

    def leaves(self, into):
        into.append(self)

    def doubled(self):
        return Leaf(self.value * 2)


class Inner:
    def __init__(self, left, right):
        self.left = left
        self.right = right

    def total(self):
        return self.left.total() + self.right.total()

    def depth(self):
        return 1 + max(self.left.depth(), self.right.depth())

    def leaves(self, into):
        self.left.leaves(into)
        self.right.leaves(into)

    def doubled(self):
        return Inner(self.left.doubled(), self.right.doubled())


def grown(n, value):
    if n <= 1:
        return Leaf(value)
    return Inner(grown(n // 2, value * 0.5), grown(n - n // 2, value + 1.0))


@pytest.mark.rotated(4)
def test_trees_of_several_classes():
    def totals(n):
        tree = grown(n, 1.0)
        return tree.total(), tree.depth()

    def returned(n):
        return grown(n, 1.0)

    def copied(n):
        tree = grown(n, 1.0)
        return tree, tree.doubled()

    def gathered(n):
        leaves = []
        grown(n, 2.0).leaves(leaves)
        return [leaf.value for leaf in leaves]

    def by_type(node):
        if isinstance(node, Leaf):
            return node.value
        return by_type(node.left) - by_type(node.right)

    def functions(n):
        return by_type(grown(n, 1.0))

    def built(n):
        tree = Leaf(0.0)
        for i in range(1, n):
            tree = Inner(tree, Leaf(float(i))) if i % 3 else Inner(Leaf(-1.0), tree)
        return tree.total(), tree.depth(), tree

    def rightmost(n):
        node = grown(n, 3.0)
        steps = 0
        while isinstance(node, Inner):
            node = node.right
            steps += 1
        return node.value, steps, node

    for n in (1, 2, 3, 7, 20):
        check(totals, n)
        check(returned, n)
        check(copied, n)
        check(gathered, n)
        check(functions, n)
        check(built, n)
        check(rightmost, n)


class Number:
    def __init__(self, value):
        self.value = value

    def evaluate(self, x):
        return self.value

    def derivative(self):
        return Number(0.0)


class Variable:
    def evaluate(self, x):
        return x

    def derivative(self):
        return Number(1.0)


class Operation:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    def evaluate(self, x):
        return self.combine(self.a.evaluate(x), self.b.evaluate(x))


class Sum(Operation):
    def combine(self, a, b):
        return a + b

    def derivative(self):
        return Sum(self.a.derivative(), self.b.derivative())


class Product(Operation):
    def combine(self, a, b):
        return a * b

    def derivative(self):
        return Sum(Product(self.a.derivative(), self.b), Product(self.a, self.b.derivative()))


@pytest.mark.rotated(5)
def test_expressions_of_several_classes():
    def polynomial(n, x):
        term = Number(1.0)
        total = Number(0.5)
        for i in range(n):
            term = Product(term, Variable())
            total = Sum(total, Product(Number(i + 1.0), term))
        return total.evaluate(x), total.derivative().evaluate(x)

    for n in (0, 1, 2, 5):
        check(polynomial, n, 0.5)


class Happening:
    def __init__(self, time):
        self.time = time

    def __lt__(self, other):
        return self.time < other.time

    def happen(self, queue, counts):
        counts[0] += 1


class Arrival(Happening):
    def __init__(self, time, load):
        super().__init__(time)
        self.load = load

    def happen(self, queue, counts):
        super().happen(queue, counts)
        counts[1] += self.load
        heapq.heappush(queue, Departure(self.time + 0.75 * self.load))
        if self.time < 12.0:
            heapq.heappush(queue, Arrival(self.time + 1.25, self.load % 3 + 1))


class Departure(Happening):
    def happen(self, queue, counts):
        counts[2] += 1


class Tick(Happening):
    every = 4.0

    def happen(self, queue, counts):
        counts[3] += len(queue)
        if queue:
            self.time += self.every
            heapq.heappush(queue, self)


@pytest.mark.rotated(4)
def test_queues_of_several_classes():
    def tuples(n):
        queue = []
        for i in range(n):
            if i % 3 == 0:
                heapq.heappush(queue, (i * 7 % 5 + 0.5, i, Arrival(0.0, i)))
            elif i % 3 == 1:
                heapq.heappush(queue, (i * 3 % 7 + 0.25, i, Tick(1.0)))
            else:
                heapq.heappush(queue, (i * 5 % 4 + 0.0, i, Departure(2.0)))
        order = []
        loads = 0
        while queue:
            time, number, event = heapq.heappop(queue)
            order.append(number)
            if isinstance(event, Arrival):
                loads += event.load
            else:
                loads -= 1
        return order, loads

    def simulated(n):
        queue = [Tick(0.5), Arrival(0.0, 1)]
        heapq.heapify(queue)
        counts = [0, 0, 0, 0]
        steps = 0
        while queue and steps < n:
            heapq.heappop(queue).happen(queue, counts)
            steps += 1
        return counts, queue

    for n in (0, 1, 2, 5, 12):
        check(tuples, n)
    for n in (0, 1, 7, 60):
        check(simulated, n)


@pytest.mark.rotated(5)
def test_dicts_of_several_classes():
    def by_number(x):
        shapes = {}
        for i in range(len(x)):
            k = i * 7 % 11
            if x[i] > 0:
                shapes[k] = Circle(float(x[i]))
            else:
                shapes[k] = Square(float(x[i]))
        total = 0.0
        for k, s in shapes.items():
            total += k * s.area()
        if 7 in shapes:
            shapes[7].grow(3.0)
        return total, shapes, shapes.get(7), shapes.get(12)

    for n in range(len(SIGNED) + 1):
        check(by_number, SIGNED[:n])


class Cell:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next

    def worth(self):
        return self.value


class Box(Cell):
    def worth(self):
        return 2 * self.value


@pytest.mark.rotated(3)
def test_links_of_several_classes():
    def linked(n):
        head = None
        for i in range(n):
            head = Cell(i, head) if i % 3 else Box(i + 0, head)
        total = 0
        at = head
        while at is not None:
            total += at.worth()
            if isinstance(at, Box):
                at.value += 1
            at = at.next
        return total, head

    def ends(n):
        first = None
        last = None
        for i in range(n):
            new = Box(i) if i % 2 else Cell(i)
            if last is None:
                first = new
            else:
                last.next = new
            last = new
        if last is None:
            return 0, None
        return last.worth(), first

    for n in range(7):
        check(linked, n)
        check(ends, n)


def test_patterns_of_several_classes():
    def by_class(x):
        total = 0.0
        for s in shapes_of(x):
            match s:
                case Circle(r=r):
                    total += r
                case Cube(side=a, name=2) if a > 3:
                    total += 1000 * a
                case Cube() | Square(side=_):
                    total -= s.side
        return total

    def by_place(n):
        parts = []
        for i in range(n):
            if i % 2:
                parts.append(Point(i * 0.5, float(i)))
            else:
                parts.append(Line((Point(0.5 * i), Point(1.0, 2.0 * i)), i))
        total = 0.0
        for part in parts:
            match part:
                case Point(x, y=1.0):
                    total += 100 * x
                case Point(x, y):
                    total += x * y
                case Line((Point(x), _), kind):
                    total += kind - x
        return total

    check(by_class, SIGNED)
    for n in range(5):
        check(by_place, n)
