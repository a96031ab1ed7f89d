"""`ingot.jitclass`: classes with types of fields, against what Numba does with them (written here as values) and against the plain class."""

import copy
import os
import pickle
import subprocess
import sys
from dataclasses import KW_ONLY, FrozenInstanceError, InitVar, dataclass
from typing import ClassVar, Optional

import ingot
import numpy as np
import numpy.typing as npt
import pytest
from ingot import float32, float64, int32, types


@ingot.jitclass([("value", int32), ("array", float32[:])])
class Bag:
    def __init__(self, value):
        self.value = value
        self.array = np.zeros(value, dtype=np.float32)

    @property
    def size(self):
        return self.array.size

    @size.setter
    def size(self, n):
        self.array = np.zeros(n, dtype=np.float32)

    def increment(self, by):
        for i in range(self.size):
            self.array[i] += by
        return self

    @staticmethod
    def add(x, y):
        return x + y

    @classmethod
    def of_three(cls):
        return cls(3)

    def each(self):
        yield from self.array

    def __len__(self):
        return self.value

    def __getitem__(self, i):
        return self.array[i]

    def __setitem__(self, i, x):
        self.array[i] = x

    def __contains__(self, x):
        return x == self.value

    def __eq__(self, other):
        return self.value == other.value

    def __lt__(self, other):
        return self.value < other.value

    def __hash__(self):
        return hash(int(self.value))

    def __bool__(self):
        return self.value > 3

    def __float__(self):
        return self.array.sum()

    def __add__(self, other):
        return Bag(self.value + other.value)

    def __neg__(self):
        return -self.value

    def __call__(self, x):
        return x * self.value

    def __repr__(self):
        return f"Bag({self.value})"


def test_methods_properties_and_operators():
    bag = Bag(21)
    assert isinstance(Bag, type) and isinstance(bag, Bag)
    assert bag.size == 21 and bag.increment(3) is bag and bag.array.tolist() == [3.0] * 21
    bag.size = 4
    assert bag.size == 4 and Bag.add(1, 2) == 3 and bag.add(1.5, 2) == 3.5 and Bag.of_three().size == 3
    bag[1] = 2.5
    assert bag[1] == 2.5 and len(bag) == 21 and 21 in bag and 2 not in bag
    assert bag == Bag(21) and Bag(2) < bag and hash(bag) == 21 and bag and not Bag(2) and float(bag) == 2.5
    assert (bag + Bag(1)).value == 22 and -bag == -21 and bag(2) == 42 and repr(bag) == "Bag(21)"
    assert list(bag.each()) == [0, 2.5, 0, 0]


def test_methods_are_compiled():
    bag = Bag(2)
    bag.increment(1.0)
    assert Bag.increment.specialisations and vars(Bag)["size"].fget.specialisations and Bag.add.specialisations is not None
    assert bag.increment.__self__ is bag


@pytest.mark.parametrize(
    "value, expected",
    [(3.7, 3), (-3.7, -3), (True, 1), (2**40 + 5, 5), (-3, -3), (np.int8(-3), -3), (np.float32(5.5), 5), (np.uint64(2**63 + 1), 1), (np.bool(True), 1)],
    ids=str,
)
def test_numbers_are_converted_as_by_an_assignment_to_an_array(value, expected):
    bag = Bag(1)
    bag.value = value
    assert bag.value == expected and type(bag.value) is np.int32

    @ingot.jit
    def assigned(bag, value):
        bag.value = value
        return bag.value

    again = Bag(1)
    found = assigned(again, value)
    assert found == again.value == expected and type(found) is type(again.value) is np.int32


@pytest.mark.parametrize(
    "name, value",
    [
        ("value", "3"),
        ("value", None),
        ("value", 1j),
        ("value", np.zeros(1)),
        ("array", np.zeros(3)),
        ("array", [1.0]),
        ("array", np.zeros((2, 2), np.float32)),
        ("array", None),
    ],
    ids=str,
)
def test_values_of_other_types_are_refused(name, value):
    bag = Bag(2)
    words = f"Bag.{name} takes {'int32' if name == 'value' else 'float32'}"
    with pytest.raises(TypeError, match=words):
        setattr(bag, name, value)

    def assigned(bag, value):
        if name == "value":
            bag.value = value
        else:
            bag.array = value

    with pytest.raises(TypeError, match=words):
        ingot.jit(assigned)(bag, value)
    assert bag.value == 2 and bag.array.shape == (2,)


def test_ints_of_more_than_64_bits_raise():
    with pytest.raises(OverflowError, match=f"Bag.value takes int32, not {2**70}"):
        Bag(1).value = 2**70


def test_messages_have_the_field_and_the_value():
    for name, value, words in (
        ("value", "ab", "Bag.value takes int32, not 'ab'"),
        ("value", None, "Bag.value takes int32, not NoneType"),
        ("value", np.datetime64("2020-01-01"), "Bag.value takes int32, not datetime64"),
        ("value", np.timedelta64(3, "D"), "Bag.value takes int32, not timedelta64"),
        ("array", np.zeros((2, 2)), r"Bag.array takes float32\[:\], not an array of float64 with 2 axes"),
    ):
        with pytest.raises(TypeError, match=words):
            setattr(Bag(1), name, value)


def test_fields_that_are_not_set_are_named():
    @ingot.jitclass([("x", float64[:])])
    class Unset:
        def total(self):
            return self.x.sum()

    for read in (lambda: Unset().x, Unset().total):
        with pytest.raises(AttributeError, match="'Unset' object has no attribute 'x'"):
            read()


@ingot.jitclass(
    [
        ("c", ingot.complex64),
        ("b", ingot.boolean),
        ("u", ingot.uint64),
        ("t", types.UniTuple(float64, 2)),
        ("m", float64[:, ::1]),
        ("f", float64[::1, :]),
        ("o", types.optional(float64)),
        ("s", types.unicode_type),
        ("numbers", types.ListType(float64)),
        ("table", types.DictType(types.unicode_type, float64)),
        ("bag", Bag.class_type.instance_type),
        ("unset", float32),
        ("__hidden", float64),
    ]
)
class Kinds:
    def __init__(self, n):
        self.c = 1
        self.b = 3
        self.u = -1
        self.t = (1, 2.5)
        self.m = np.ones((n, n))
        self.f = np.ones((n, n)).T
        self.o = None
        self.s = "ab"
        self.numbers = [1.0]
        self.table = {"a": 1.0}
        self.bag = Bag(n)
        self.__hidden = n

    def total(self):
        return self.m.sum() + self.bag.size + len(self.s) + self.__hidden + self.t[1] + self.unset

    def push(self, x):
        self.numbers.append(x)
        self.table["a"] += x
        self.o = x
        return len(self.numbers)


def test_fields_of_all_kinds():
    k = Kinds(3)
    assert (k.c, k.b, k.u, k.t, k.s, k.o, k.unset) == (1, True, 2**64 - 1, (1.0, 2.5), "ab", None, 0.0)
    assert [type(x) for x in (k.c, k.b, k.u, k.t[0], k.unset)] == [np.complex64, np.bool, np.uint64, np.float64, np.float32]
    assert k.total() == 9 + 3 + 2 + 3 + 2.5
    assert k.push(2) == 2 and k.numbers == [1.0, 2] and k.table == {"a": 3.0} and k.o == 2.0 and type(k.o) is np.float64
    k.bag.size = 7
    assert k.total() == 9 + 7 + 2 + 3 + 2.5
    k.u = 2**63 + 1
    assert k.u == 2**63 + 1
    wrong = [
        ("m", np.ones((2, 3)).T),
        ("f", np.ones((2, 3))),
        ("t", (1.0,)),
        ("t", [1.0, 2.0]),
        ("s", 3),
        ("bag", 3),
        ("numbers", (1.0,)),
        ("table", []),
        ("o", "x"),
    ]
    for name, value in wrong:
        with pytest.raises(TypeError, match=f"Kinds.{name} takes"):
            setattr(k, name, value)


def test_numbers_that_are_assigned_on_some_paths_only():
    @ingot.jitclass([("x", float64), ("n", int32)])
    class Part:
        def __init__(self, x):
            if x > 1:
                self.x = x

        def total(self):
            return self.x + self.n

    assert [Part(k).total() for k in (0, 3)] == [0.0, 3.0] and len(Part.total.specialisations) == 1
    assert ingot.jit(lambda k: Part(k).total())(np.int64(2)) == 2.0

    class More(Part):
        def __init__(self, x):
            self.n = 2
            super().__init__(x)

    assert More(3).total() == 5.0
    with pytest.raises(TypeError, match=r"__init__\(\) takes 2 positional arguments but 3 were given"):
        Part(1, 2)


@ingot.jitclass
class Defaults:
    x: float = 3
    n: int32 = 7.5
    next: "Defaults | None" = None
    name: str = "a"

    def __init__(self, x=0):
        if x:
            self.x = x

    def total(self):
        return self.x + self.n + len(self.name) + (0 if self.next is None else 1)


def test_defaults_of_annotations():
    one = Defaults()
    assert (one.x, one.n, one.next, one.name) == (3.0, 7, None, "a") and type(one.x) is float and type(one.n) is np.int32
    assert one.total() == 11.0 and Defaults(5).total() == 13.0 and len(Defaults.total.specialisations) == 1
    assert ingot.jit(lambda x: Defaults(x).total())(0) == 11.0
    one.next = Defaults()
    assert one.total() == 12.0 and one.next.next is None

    @ingot.jitclass
    class Without:
        x: float = 3.0

        def get(self):
            return self.x

    @ingot.jitclass
    class Derived(Without):
        y: int = 2

        def sum(self):
            return self.x + self.y

    assert Without().get() == 3.0 and Derived().sum() == 5.0 and Derived().get() == 3.0
    with pytest.raises(TypeError, match="Wrong.x takes float, not 's'"):
        ingot.jitclass(type("Wrong", (), {"__annotations__": {"x": float}, "x": "s"}))
    with pytest.raises(TypeError, match="class members are not yet supported: x"):
        ingot.jitclass(type("Member", (), {"x": 3.0}), {"x": float64})


def test_init_leaves_fields_that_have_values():
    @ingot.jitclass([("k", int32), ("x", float64)])
    class Part:
        def __new__(cls, k):
            made = super().__new__(cls)
            made.x = 3
            return made

        def __init__(self, k):
            self.k = k

        def again(self):
            self.__init__(4)

    class Plain(Part):
        pass

    part = Part(1)
    assert part.x == 3.0
    part.x = 5
    part.__init__(9)
    assert (part.x, part.k) == (5.0, 9)
    assert Plain(1).x == 3.0

    @ingot.jitclass([("k", int32), ("x", float64)])
    class Again:
        def __init__(self, k):
            self.k = k

        def again(self):
            self.__init__(4)

    one = Again(1)
    one.x = 5
    one.again()
    assert (one.x, one.k) == (5.0, 4)


def test_names_like_those_of_storage():
    @ingot.jitclass([("x", float64), ("_x_", int32), ("_x", int32)])
    class Part:
        def __init__(self):
            self.x, self._x_, self._x = 1.5, 7, 8

    part = Part()
    assert (part.x, part._x_, part._x) == (1.5, 7, 8)
    for members, spec in (({}, {"x": float64, "_ingot_x": float64}), ({"_ingot_x": lambda self: 1}, {"x": float64})):
        with pytest.raises(TypeError, match="_ingot_x is where the value of x is kept"):
            ingot.jitclass(type("Taken", (), members), spec)


def test_results_of_methods_that_python_wants_to_be_numbers():
    @ingot.jitclass([("k", int32)])
    class Wrong:
        def __len__(self):
            return 2.5

        def __bool__(self):
            return 3

        def __index__(self):
            return 1.9

        def __int__(self):
            return 2.7

    wrong = Wrong()
    for function in (len, int, lambda x: range(9)[x]):
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            function(wrong)
    for function in (bool, ingot.jit(lambda x: 1 if x else 0)):
        with pytest.raises(TypeError, match="__bool__ should return bool, returned int"):
            function(wrong)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        ingot.jit(lambda x: len(x))(wrong)


def test_iterators_run_as_python():
    @ingot.jitclass([("n", int32)])
    class Count:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return iter([self.n, 1])

        def __reversed__(self):
            return iter([1, self.n])

        def __next__(self):
            return map(float, [1])

    assert list(Count(3)) == [3, 1] and list(reversed(Count(3))) == [1, 3] and list(next(Count(3))) == [1.0]


@ingot.jitclass
class Point:
    x: float
    y: int
    near: Optional["Point"]
    data: npt.NDArray[np.float32]
    any: np.ndarray
    at: float32[:]
    count: ClassVar[int] = 7

    def __init__(self, x, y=4, near=None):
        self.x = x
        self.y = y
        self.near = near
        self.data = np.zeros(2, np.float32)

    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5


def test_annotations_are_fields():
    point = Point(3)
    assert point.norm() == 5.0 and (type(point.x), type(point.y)) == (float, int) and Point.count == 7
    point.y = 3.9
    assert point.y == 3 and type(point.y) is int and Point(1, y=2.5, near=point).near is point
    for name, value in (("x", "3"), ("x", 1j), ("y", None), ("near", 3), ("data", np.zeros(2)), ("any", 3), ("at", np.zeros(2))):
        with pytest.raises(TypeError, match=f"Point.{name} takes"):
            setattr(point, name, value)
    point.data, point.any, point.at = np.zeros((2, 2), np.float32), np.zeros(3, int), np.zeros(3, np.float32)


def test_instances_in_compiled_functions():
    @ingot.jit
    def work(bag, n):
        for _ in range(n):
            bag.increment(1)
        bag.value = 7.9
        return bag.array.sum() + bag.value + Bag(2).size

    bag = Bag(4)
    assert work(bag, 3) == 12 + 7 + 2 and bag.value == 7 and bag.array.tolist() == [3.0] * 4
    made = ingot.jit(lambda n: [Bag(i) for i in range(n)])(3)
    assert [type(each) for each in made] == [Bag] * 3 and [each.value for each in made] == [0, 1, 2]
    assert ingot.jit(lambda bags: sum([bag.value for bag in bags]))([bag, bag, Bag(2)]) == 16
    assert ingot.jit(lambda a, b: (a + b).value + len(a) + (1 if a < b else 2) + Bag.add(1, 1) + a(2))(Bag(1), Bag(5)) == 6 + 1 + 1 + 2 + 2
    assert ingot.jit(lambda n: Bag(n).increment(2).array)(2).tolist() == [2.0, 2.0]


def test_derivatives_and_batches_of_functions_that_use_them():
    assert ingot.grad(lambda x: Point(x).x ** 2)(3.0) == 6.0
    assert ingot.vmap(lambda x: Point(x).norm())(np.array([0.0, 3.0])).tolist() == [4.0, 5.0]


def test_other_instances_compile_nothing():
    @ingot.jit
    def total(bag):
        return bag.array.sum() + bag.value

    assert [total(Bag(n)) for n in (2, 3, 5)] == [2, 3, 5] and len(total.specialisations) == 1


def test_instances_are_pickled_and_copied():
    bag = Bag(3).increment(2)
    for again in (pickle.loads(pickle.dumps(bag)), copy.deepcopy(bag)):
        assert type(again) is Bag and again == bag and again.array is not bag.array and again.array.tolist() == [2.0] * 3
        again.value = 9.5
        assert again.value == 9 and bag.value == 3
    assert copy.copy(bag).array is bag.array


def test_inheritance():
    class Base:
        factor = 2

        def __init__(self, x):
            self.x = x

        def get(self):
            return self.x * self.k() * self.factor

        def k(self):
            return 2

    @ingot.jitclass([("x", float64)])
    class Derived(Base):
        def __init__(self, x):
            super().__init__(x + 1)

        def k(self):
            return super().k() + 1

    class More(Derived):
        def k(self):
            return 10

    assert Derived(1).get() == 12.0 and type(Derived(1).x) is np.float64 and Derived.get.specialisations
    assert More(1).get() == 40.0 and ingot.jit(lambda d: d.get())(More(1)) == 40.0 and type(More(1).x) is np.float64
    assert "x" not in vars(Base) and not hasattr(Base.get, "specialisations")


def test_dataclasses():
    @ingot.jitclass
    @dataclass
    class Pair:
        a: float
        b: int = 4

        def product(self):
            return self.a * self.b

    assert Pair(2).product() == 8.0 and Pair(1.5, 3.9) == Pair(1.5, 3) and repr(Pair(1)).endswith("Pair(a=1.0, b=4)")


def test_dataclasses_of_all_kinds():
    @ingot.jitclass
    @dataclass(frozen=True)
    class Frozen:
        x: float
        n: int = 4

        def total(self):
            return self.x + self.n

    assert Frozen(2).total() == 6.0 and ingot.jit(lambda x: Frozen(x, 3).total())(2.0) == 5.0
    with pytest.raises(FrozenInstanceError, match="'x'"):
        Frozen(1).x = 3

    @ingot.jitclass
    @dataclass
    class Keywords:
        x: float
        _: KW_ONLY
        y: int = 4
        n: InitVar[int] = 3

        def __post_init__(self, n):
            self.x += n

    assert (Keywords(1, y=2).x, Keywords(1, n=1).x, Keywords(1).y) == (4.0, 2.0, 4) and not isinstance(vars(Keywords)["n"], property)

    @dataclass
    @ingot.jitclass
    class Above:
        x: float
        y: int = 4

    for args in ((), (1,)):
        with pytest.raises(TypeError, match="write `@ingot.jitclass` above `@dataclass`"):
            Above(*args)


def test_a_second_decorator_changes_nothing():
    @ingot.jitclass([("x", float64)])
    class Part:
        def __init__(self):
            self.x = 3

    init = Part.__init__
    assert ingot.jitclass(Part, [("x", float64)]) is Part is ingot.jitclass(Part) and Part.__init__ is init and Part().x == 3.0
    with pytest.raises(TypeError, match="is a jitclass already, with other fields"):
        ingot.jitclass(Part, [("x", int32)])


def test_it_is_the_class_that_was_written():
    class Plain:
        """Its documentation."""

        def __init__(self):
            self.x = 1

    assert ingot.jitclass(Plain, {"x": float64}) is Plain and Plain.__doc__ == "Its documentation."
    assert ingot.jitclass()(type("Empty", (), {})).__name__ == "Empty"
    made = ingot.jitclass(spec=[("x", int32)])(type("Other", (), {"__init__": Plain.__init__.__ingot_function__}))
    assert type(made().x) is np.int32


def test_specifications_that_are_wrong():
    class Plain:
        def get(self):
            return 1

    class Slots:
        __slots__ = ("x",)

    for cls, spec, error, words in (
        (Plain, [("x", 3)], TypeError, "the type of the field Plain.x"),
        (Plain, [(1, float64)], TypeError, "names of fields are strings"),
        (Plain, 3, TypeError, "a list of pairs, or a dict"),
        (Plain, {"get": float64}, NameError, "have the names of methods: get"),
        (Slots, {"x": float64}, TypeError, "has __slots__"),
        (type("L", (list,), {}), {"x": float64}, TypeError, "derives from classes written in Python, not from list"),
    ):
        with pytest.raises(error, match=words):
            ingot.jitclass(cls, spec)
    with pytest.raises(TypeError, match="takes a class, not function"):
        ingot.jitclass([("x", float64)])(lambda: 1)


def test_errors_of_methods_are_at_their_lines():
    @ingot.jitclass([("x", float64)])
    class Faulty:
        def __init__(self, x):
            self.x = x

        def evaluate(self):
            return eval("1")

        def fail(self):
            raise ValueError("no")

    with pytest.raises(TypeError, match=r"test_errors_of_methods_are_at_their_lines.<locals>.Faulty.x|Faulty.x takes float64") as error:
        Faulty("1")
    assert any(entry.name == "__init__" for entry in error.traceback)
    with pytest.raises(ingot.UnsupportedError, match=r'return eval\("1"\)'):
        Faulty(1).evaluate()
    with pytest.raises(ValueError, match="no") as raised:
        Faulty(1).fail()
    assert raised.traceback[-1].name == "fail"


PROGRAM = """
import ingot, numpy as np, pickle
@ingot.jitclass([("x", ingot.int32)])
class Cell:
    def __init__(self, x):
        self.x = x
    def twice(self):
        return self.x * 2
cell = Cell(3.7)
print(cell.twice(), pickle.loads(pickle.dumps(cell)).x, ingot.jit(lambda c: c.twice())(cell))
"""


@pytest.mark.parametrize("disabled, shown", [("", "6 3 6\n"), ("1", "7.4 3.7 7.4\n")])
def test_in_a_process_of_its_own(disabled, shown):
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "INGOT_DISABLE": disabled}, capture_output=True, text=True, check=False)
    assert done.stdout == shown, done.stderr


@ingot.jitclass
class Link:
    value: float
    next: "Link | None" = None

    def __init__(self, value):
        self.value = value


def test_chains_that_a_function_makes():
    @ingot.jit
    def reversed_sums(n):
        first, sums = None, np.zeros(n)
        for k in range(n):
            link = Link(k)
            link.next = first
            first = link
        total, k = 0.0, 0
        while first is not None:
            total += first.value
            sums[k] = total
            first = first.next
            k += 1
        return sums

    for n in (0, 1, 2, 100):
        np.testing.assert_array_equal(reversed_sums(n), np.arange(n)[::-1].cumsum())
    assert len(reversed_sums.specialisations) == 1


def test_loops_over_links_of_given_instances_are_refused():
    @ingot.jit
    def total(link):
        result = 0.0
        while link is not None:
            result += link.value
            link = link.next
        return result

    first = None
    for _ in range(3):
        link = Link(1)
        link.next = first
        first = link
        with pytest.raises(ingot.UnsupportedError, match="keep what is linked in arrays of values and of indices"):
            total(first)
    second = ingot.jit(lambda link: link.next.value)
    assert second(first) == 1 and second(first.next) == 1 and len(second.specialisations) == 2


def test_loops_that_choose_a_given_instance():
    @ingot.jitclass([("value", ingot.float64)])
    class Point:
        def __init__(self, value):
            self.value = value

    def last(a, b, n):
        point = a
        for i in range(n):
            point = b if i % 2 else a
        return point.value

    def first_or_none(a, n):
        point = None
        for _ in range(n):
            point = a
        return 0.0 if point is None else point.value

    for n in (0, 1, 2, 3):
        assert ingot.jit(last)(Point(1.0), Point(2.0), n) == last(Point(1.0), Point(2.0), n)
    for function, arguments in ((first_or_none, (Point(1.0), 3)),):
        with pytest.raises(ingot.UnsupportedError, match="keep the attributes in arrays and choose an index, or make the instances") as refused:
            ingot.jit(function)(*arguments)
        assert "linked" not in str(refused.value)
    assert ingot.jit(lambda a, b, c: (a if c else b).value)(Point(1.0), Point(2.0), True) == 1.0


def test_types_of_numbas_are_taken():
    numba = pytest.importorskip("numba")

    class Plain:
        def __init__(self):
            self.a = np.ones((2, 2))
            self.n = 2.5
            self.s = "x"
            self.o = None
            self.t = (1, 2)

    spec = [
        ("a", numba.float64[:, ::1]),
        ("n", numba.int32),
        ("s", numba.types.unicode_type),
        ("o", numba.optional(numba.float64)),
        ("t", numba.types.UniTuple(numba.int8, 2)),
    ]
    made = ingot.jitclass(Plain, spec)()
    assert (made.n, made.s, made.o, made.t) == (2, "x", None, (1, 2)) and type(made.t[0]) is np.int8
    with pytest.raises(TypeError, match=r"Plain.a takes float64\[:, ::1\]"):
        made.a = np.ones((2, 3)).T
