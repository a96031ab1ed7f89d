"""Calls of compiled functions that C makes without Python: they mean what all calls mean, and leave nothing allocated."""

import collections
import copy
import gc
import inspect
import pickle
import sys
import threading
import tracemalloc
import types

import numpy as np
import pytest

import ingot
from ingot._calls.function import Function
from ingot._ingot import Description
from support import DTYPES, SCALARS, difference

SCALE, OFFSET, COUNT = 2.0, 0.5, 3


@pytest.fixture
def direct(monkeypatch):
    """`direct(function, ...)` calls it twice, the second time without Python; the two results."""

    def twice(function, *arguments, **keywords):
        first = function(*arguments, **keywords)
        with monkeypatch.context() as patch:
            patch.setattr(Function, "_call", lambda self, *given: pytest.fail(f"{self} was called through Python"))
            return first, function(*arguments, **keywords)

    return twice


def add_into(x, y, out):
    out[0] = x[0] + y[0]


def add_three(x, y, z):
    return x + y + z


def with_defaults(x, y=2.0, *, scale=SCALE, out=None):
    return x * scale + y


def of_globals(x):
    return x * SCALE + OFFSET * COUNT


def first_of(t):
    return t[0]


def both(x, n):
    return x, x[::-1], x + n, n, (n * 2, [x[1:], {"a": x[0], "n": None}])


def optional(x, n):
    y = None
    if n > 0:
        y = x
    return y


def fails(x, n):
    return x[n]


def axis_sum(x, axis):
    return np.sum(x, axis)


def sliced(x, s):
    return x[s]


def solved(a, b):
    return np.linalg.solve(a, b)


def reversed_copies(x):
    y = x + 1
    return y[::-1]


def parts(x):
    y = x + 1
    return y[1:], y[:2]


def either(c, x, y):
    z = x
    if c:
        z = y
    return z


X = np.arange(6.0)
TEN = {name: np.arange(3.0) for name in "abcdefghij"}
CALLS = [
    (add_three, (X, X, X[::-1])),
    (add_three, (1, 2.5, True)),
    (with_defaults, (1.5,)),
    (of_globals, (2.0,)),
    (of_globals, (X,)),
    (first_of, ((X, 1),)),
    (first_of, ([X, 1],)),
    (first_of, ([{"a": X}, X],)),
    (first_of, ("text",)),
    (both, (X, 3)),
    (both, (X.astype(np.float32)[::2], 3)),
    (optional, (1.5, 1)),
    (optional, (1.5, -1)),
    (axis_sum, (X.reshape(2, 3), 1)),
    (sliced, (X, slice(1, -1, 2))),
    (solved, (np.eye(2) * 2, np.ones(2))),
    (reversed_copies, (X,)),
    (parts, (X,)),
    (parts, (X[:0],)),
    (either, (True, X, X + 1)),
    (lambda d: d["a"][0] + d["j"][2], (TEN,)),
    (lambda d: d, (TEN,)),
    *((lambda x: (x, x * x), (s,)) for s in SCALARS),
    *((lambda x: x + x, (np.ones(3, d),)) for d in DTYPES),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_direct_calls_give_what_python_gives(number, direct):
    function, arguments = CALLS[number]
    first, second = direct(ingot.jit(function), *arguments)
    expected = function(*arguments)
    for got in (first, second):
        assert difference(got, expected) is None
        if isinstance(expected, np.ndarray) and isinstance(arguments[0], np.ndarray):
            assert got.flags.writeable == expected.flags.writeable
            assert np.shares_memory(got, arguments[0]) == np.shares_memory(expected, arguments[0])


def test_results_are_the_arguments_themselves_or_views_of_them(direct):
    x, n = np.arange(6.0), 7
    _, (same, back, _, _, (_, (rest, _))) = direct(ingot.jit(both), x, n)
    assert same is x and back.base is x and rest.base is x
    read_only = x.view()
    read_only.flags.writeable = False
    _, part = direct(ingot.jit(sliced), read_only, slice(2))
    assert not part.flags.writeable and part.base is x
    _, chosen = direct(ingot.jit(either), False, x, x + 1)
    assert chosen is x
    _, container = direct(ingot.jit(lambda d: (d, [d])), TEN)
    assert container[0] is TEN and container[1][0] is TEN


def test_keywords_and_defaults(direct):
    f = ingot.jit(with_defaults)
    assert direct(f, 1.0) == (4.0, 4.0)
    assert direct(f, 1.0, y=3.0) == (5.0, 5.0)
    assert direct(f, x=1.0, scale=3.0) == (5.0, 5.0)
    assert direct(f, 1.0, 3.0, out=None, scale=1.0) == (4.0, 4.0)
    for arguments, keywords in (((1.0, 2.0, 3.0), {}), ((1.0,), {"x": 2.0}), ((), {}), ((1.0,), {"z": 1})):
        with pytest.raises(TypeError) as error:
            f(*arguments, **keywords)
        with pytest.raises(TypeError) as expected:
            with_defaults(*arguments, **keywords)
        assert str(error.value) == str(expected.value)

    def g(x, y=1, /, z=2):
        return x + 10 * y + 100 * z

    h = ingot.jit(g)
    assert direct(h, 1) == (211, 211) and direct(h, 1, 2, z=3) == (321, 321)
    g.__defaults__ = (5, 6)
    assert h(1) == 651
    g.__defaults__ = (5.5, 6)
    assert h(1) == 656.0
    g.__defaults__ = (7,)
    assert direct(h, 1, 2) == (721, 721)
    with pytest.raises(TypeError, match="missing 1 required positional"):
        h(1)
    with pytest.raises(TypeError):
        h(1, y=2)


def gathered(x, *args, yy=2, **kwargs):
    return x, args, yy, kwargs


def by_position_only(x, /, *args, **kwargs):
    return x, args, kwargs


class Text(str):
    pass


@pytest.mark.parametrize("f", [gathered, by_position_only, lambda *args: args, lambda **x: x, lambda *x, y=3.5: (x, y)])
def test_arguments_that_are_gathered(f, direct):
    g = ingot.jit(f)
    calls = [
        ((), {}),
        ((1,), {}),
        ((1, 2.5, X), {}),
        ((1, (X, [2, X])), {"yy": 3}),
        ((1,), {"z": X, "yy": 4, "w": 2.5}),
        ((), {"x": 1}),
        ((1,), {"x": 2}),
        ((), {"x": 1, "args": 2, "kwargs": 3}),
        ((1,), {"".join(["y", "y"]): 3, "".join(["z", "z"]): 4}),
    ]
    for args, kwargs in calls:
        try:
            expected = f(*args, **kwargs)
        except TypeError as error:
            for _ in range(2):
                with pytest.raises(TypeError) as raised:
                    g(*args, **kwargs)
                assert str(raised.value) == str(error)
        else:
            for got in direct(g, *args, **kwargs):
                assert difference(got, expected) is None
    if f is gathered:
        assert g(1, **{Text("yy"): 3}) == g(1, yy=3) == g(1, **{Text("yy"): 3}) == (1, (), 3, {})
    args, kwargs = [X, X + 1], {"a": [X]}
    held = sys.getrefcount(args[1]), sys.getrefcount(kwargs["a"])
    ingot.jit(lambda *args, **kwargs: len(args) + len(kwargs))(*args, **kwargs)
    sizes = ingot.jit(lambda *args, **kwargs: len(args) + len(kwargs))
    assert direct(sizes, *args, **kwargs) == (3, 3)
    assert held == (sys.getrefcount(args[1]), sys.getrefcount(kwargs["a"]))


def test_gathered_arguments_that_are_changed():
    @ingot.jit
    def f(*args, **kwargs):
        args[0][0] = 7.0
        kwargs["a"] = args[1]
        return kwargs

    x, given = np.zeros(2), {"a": 1}
    for n in range(3):
        assert f(x, n, **given) == {"a": n} and x[0] == 7.0 and given == {"a": 1}
        x[0] = 0.0


def test_guards_are_looked_at_in_direct_calls():
    module = types.ModuleType("outside")
    module.number = 1.0

    class Holder:
        number = 1.0

    cell = 1.0
    module.holder = Holder

    @ingot.jit
    def f(x):
        return x * module.number + x * Holder.number * 100 + cell

    def callee(x):
        return x + 1

    @ingot.jit
    def g(x):
        return callee(x)

    for number in (1.0, 1.0, 2.0, 2, float("nan"), float("nan"), -0.0, 0.0, True, np.float32(3), np.float32(3), 3.0, 2.0):
        module.number = Holder.number = cell = number
        for _ in range(2):
            assert difference(f(1.5), 1.5 * number + 1.5 * number * 100 + number) is None
    for number in (10**6, 10**6 + 0, 10**7):
        module.number = int(str(number))
        assert f(1.5) == 1.5 * number + 1.5 * 2.0 * 100 + 2.0
    del module.number
    for _ in range(2):
        with pytest.raises(AttributeError):
            f(1.5)
    assert [g(1), g(1)] == [2, 2]
    callee.__code__ = (lambda x: x + 2).__code__
    assert [g(1), g(1)] == [3, 3]
    callee = lambda x: x + 3  # noqa: E731
    assert [g(1), g(1)] == [4, 4]


def test_code_that_guards_run_may_change_the_arguments():
    class Meta(type):
        def __getattribute__(cls, name):
            if name == "factor":
                actions.pop()() if actions else None
            return type.__getattribute__(cls, name)

    class Outside(metaclass=Meta):
        factor = 2.0

    @ingot.jit
    def f(items):
        return items[0] * Outside.factor

    actions = []
    items = [np.arange(3.0)]
    for _ in range(3):
        np.testing.assert_array_equal(f(items), [0, 2, 4])
    actions.append(lambda: items.__setitem__(0, np.arange(4, dtype=np.int8)))
    np.testing.assert_array_equal(f(items), [0, 2, 4, 6])
    actions.append(items.clear)
    with pytest.raises(IndexError):
        f(items)


def may_share(arrays):
    """The alias sets of arrays: the rule, in NumPy's words."""
    sets = []
    for i, array in enumerate(arrays):
        found = {s for s, other in zip(sets, arrays) if np.may_share_memory(array, other)}
        if len(found) > 1:
            return [1] * len(arrays)
        sets.append(min(found, default=i + 1))
    return sets


def test_alias_sets_are_those_of_may_share_memory():
    random = np.random.default_rng(5)
    function = Function(lambda a, b, c, d: None)
    memory = np.zeros(60, np.int32)
    partitions = set()
    for _ in range(3000):
        arrays = []
        for _ in range(4):
            start, stop, step = random.integers(0, 61, 2).tolist() + [int(random.choice([1, 1, 2, 5, -1, -3]))]
            part = memory[start:stop:step] if random.random() < 0.8 else memory.reshape(6, 10)[start % 6 :, start % 10 :: 3]
            arrays.append(part[:, None].T if random.random() < 0.1 else part)
        described = [d.alias_set for d in function._describe(arrays).key]
        assert described == may_share(arrays)
        partitions.add(tuple(described))
    assert len(partitions) >= 14


def test_descriptions():
    x = np.zeros((2, 3), np.float32)
    x.flags.writeable = False
    inner = [1, x]
    values = [x, x.astype(">f4"), (1, True, 1j), {"a": inner, 3: inner, None: 2.0}, slice(1, None, np.int8(1))]
    function = Function(lambda a, b, c, d, e: None)
    described = function._describe(values)
    array = Description(Description.ARRAY, dtype="float32", ndim=2, is_writable=False, alias_set=1, layout="C", ones=0, last=None)
    numbers = {kind: Description(Description.SCALAR, number=kind) for kind in ("int", "bool", "complex", "float", "numpy.int8")}
    inner_list = Description(Description.LIST, (numbers["int"], array))
    assert described.key == (
        array,
        Description(Description.FOREIGN, type=np.ndarray, dtype=np.dtype(">f4"), ndim=2, alias_set=2),
        Description(Description.TUPLE, (numbers["int"], numbers["bool"], numbers["complex"])),
        Description(Description.DICT, (inner_list, Description(Description.SAME, number=1), numbers["float"]), keys=("a", 3, None)),
        Description(Description.SLICE, (numbers["int"], Description(Description.STATIC, object=None), numbers["numpy.int8"])),
    )
    assert described.containers[0] is values[3] and described.containers[1] is inner
    assert [type(leaf) for leaf in described.leaves] == [
        np.ndarray, np.ndarray, int, bool, complex, int, np.ndarray, float, int, np.int8,
    ]  # fmt: skip
    deep = ()
    for _ in range(10**5):
        deep = (deep,)
    with pytest.raises(RecursionError):
        function._describe([deep, 1, 1, 1, 1])
    while deep:
        deep = deep[0]


def test_layouts_of_eager_signatures_decide(direct):
    f = ingot.jit("float64(float64[::1], int64)")(lambda x, i: x[i])
    assert direct(f, X, np.int64(2)) == (2.0, 2.0)
    assert f(X, 2) == 2.0
    with pytest.raises(TypeError, match="no signature"):
        f(X[::2], np.int64(2))
    g = ingot.jit(["float64(float64)", "int64(int64)"])(lambda x: x * 2)
    for value in (2, 2.5, np.int64(3), np.float64(4)):
        results = [g(value) for _ in range(3)]
        assert [type(r) for r in results] == [np.int64 if type(value) is np.int64 else np.float64] * 3
        assert results == [value * 2] * 3


Pair = collections.namedtuple("Pair", "first second")
OtherPair = collections.namedtuple("OtherPair", "first second")


class Thing:
    pass


class SlottedThing:
    __slots__ = ("a", "b", "unseen")


def parts_of_arguments(random, memory, shared, depth=0):
    """An argument of a kind that is recognised, or not."""
    n = int(random.integers(0, 19 if depth < 3 else 9))
    a, b, step = random.integers(0, 13, 2).tolist() + [int(random.choice([1, 2, -1]))]
    if n == 0:
        return memory[a:b:step]
    if n == 1:
        return memory.reshape(4, 3)[a % 4 :, b % 3 :].T if a % 2 else np.ones((a % 3, b % 3), random.choice(["f4", "q", ">i4"]))
    if n == 2:
        return [1, 1.0, True, 1j, np.int64(1), np.float64(1), np.longlong(1), 2**63, np.bool_(1)][a % 9]
    if n == 3:
        return [None, "a", "b", "".join(["a", "b"]), "ab", b"a", len, np.add, np.float32, type(None), ...][a % 11]
    if n == 4:
        read_only = memory[a:b]
        read_only.flags.writeable = False
        return read_only
    if n in (5, 6):
        return memory if n == 5 else memory[:1]
    if n in (7, 8):
        return shared[a % len(shared)]
    inside = [parts_of_arguments(random, memory, shared, depth + 1) for _ in range(int(random.integers(0, 4)))]
    if n in (9, 10):
        return tuple(inside)
    if n in (11, 12):
        return inside
    if n == 13:
        return (Pair if a % 2 else OtherPair)(*(inside + [1, 1])[:2])
    if n == 14:
        return slice(*inside) if inside else slice(a)
    if n in (15, 16):
        thing = (Thing if a % 2 else SlottedThing)()
        for name, value in zip(["b", "a", "unseen"][b % 3 :], inside):
            setattr(thing, name, value)
        return thing
    keys = random.permutation(np.array(["a", "b", "".join(["a", "b"]), 1, 2, None], object))
    return dict(zip(keys, inside))


@pytest.mark.rotated(4)
def test_what_is_recognised_is_what_is_described():
    random = np.random.default_rng(11)
    memory = np.arange(12)
    shared = [[1], {}, {"a": memory}, [memory, [2.0]], [memory[:2], [2.0]], {"b": 1}]
    shared += [Thing(), SlottedThing()]
    function = Function(lambda a, b: None)
    for kind in (Thing, SlottedThing):
        function._describe_attributes(kind, ("a", "b"))
    known = []
    recognised = 0
    for _ in range(2500):
        values = [parts_of_arguments(random, memory, shared) for _ in range(2)]
        try:
            described = function._describe(values)
        except OverflowError:
            assert not any(of.recognises(values) for of in known)
            continue
        has_others = any(word in repr(described.key) for word in ("foreign", "Ellipsis"))
        for of in known[-150:]:
            is_same = of.key == described.key and not has_others
            assert of.recognises(values) == is_same, (of.key, described.key)
            recognised += is_same
        known.append(described)
    assert recognised > 100


def test_many_descriptions():
    @ingot.jit
    def f(x, name):
        if name == "double":
            return x * 2
        return x

    for _ in range(3):
        for i in range(100):
            assert f(i, "double") == 2 * i and f(1.5, f"name {i % 15}") == 1.5
        assert f(np.int8(3), "doub" + "le"[:]) == 6


def test_a_function_is_still_a_function():
    f = ingot.jit(with_defaults)
    assert f.__name__ == "with_defaults" and f.__wrapped__ is with_defaults and f.__doc__ == with_defaults.__doc__
    assert inspect.signature(f) == inspect.signature(with_defaults)
    assert copy.deepcopy(f) is f
    f.note = 3
    assert vars(f)["note"] == 3 and callable(f) and hash(f) == hash(f)
    assert pickle.loads(pickle.dumps(pickled)) is pickled

    class Thing:
        factor = 3.0
        times = ingot.jit(lambda self, x: x * 2)

    assert Thing.times is Thing.__dict__["times"]
    assert isinstance(Thing().times, types.MethodType)
    assert [Thing().times(4.0) for _ in range(3)] == [8.0] * 3

    class Louder(Function):
        def __call__(self, *args):
            return "called", super().__call__(*args)

    loud = Louder(lambda x: x + 1)
    assert loud(1) == loud(1) == ("called", 2)
    with pytest.raises((TypeError, AttributeError)):
        Function.__new__(Function)(1)

    class Patched(Function):
        pass

    patched = Patched(lambda x: x + 1)
    assert patched(1) == patched(1) == 2
    Patched.__call__ = lambda self, x: Function.__call__(self, 10 * x)
    assert patched(1) == patched(1) == 11
    del Patched.__call__
    assert patched(1) == 2


@ingot.jit
def pickled(x):
    return x + 1


@pytest.mark.alone
def test_direct_calls_leave_nothing_allocated():
    compiled = [(ingot.jit(f), f, arguments) for f, arguments in CALLS if f not in (first_of,)]
    failing, x = ingot.jit(fails), np.ones(3)

    def all_calls():
        for function, _, arguments in compiled:
            for _ in range(20):
                function(*arguments)
        for _ in range(20):
            with pytest.raises(IndexError, match="out of bounds"):
                failing(x, 7)

    all_calls()
    all_calls()
    gc.collect()
    objects = [x, *(a for _, _, arguments in compiled for a in arguments if isinstance(a, (np.ndarray, list, dict, tuple)))]
    held = [sys.getrefcount(o) for o in objects]
    used = ingot.memory()["in_use"]
    tracemalloc.start()
    try:
        all_calls()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            all_calls()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()
    assert held == [sys.getrefcount(o) for o in objects]
    assert ingot.memory()["in_use"] == used


def test_functions_are_collected():
    class Marker:
        pass

    def make():
        marker = Marker()
        f = ingot.jit(lambda x: x + 1)
        f.itself, f.marker = f, marker
        assert f(1) == f(1) == 2
        return marker

    from weakref import ref

    gone = ref(make())
    gc.collect()
    assert gone() is None


@pytest.mark.rotated(3)
def test_what_a_container_held_lives_until_the_call_ends():
    @ingot.jit
    def total(items, n):
        s = 0.0
        for _ in range(n):
            for k in range(len(items[0])):
                s = (s + items[0][k]) % 1000.5
        return s

    n = 20_000
    expected = total([np.arange(1000.0)], n)
    for _ in range(3):
        items = [np.arange(1000.0)]
        done = []
        thread = threading.Thread(target=lambda: done.append(total(items, n)))
        thread.start()
        items.clear()
        junk = [np.full(1000, np.nan) for _ in range(50)]
        thread.join()
        del junk
        assert done == [expected] or done == []  # none: the list was empty before the call began


def test_threads_that_describe_different_arguments():
    function = ingot.jit(add_three)
    arguments = [(np.ones(n, d), n, 2.5 if d.startswith("f") else 2) for n in (1, 3) for d in ("int8", "float32", "int64")]
    wrong = []

    def work(start):
        for iteration in range(400):
            a = arguments[(start + iteration) % len(arguments)]
            if difference(function(*a), add_three(*a)) is not None:
                wrong.append(a)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_numbers_that_become_arguments_stay_direct(direct):
    space = {"factor": 1.0}
    function = types.FunctionType((lambda x: x * factor).__code__, space, "scaled")  # noqa: F821
    f = ingot.jit(function)
    for number in (1.0, 2.0, 3.0, 4.0, 5.0):
        space["factor"] = number
        assert f(2.0) == 2.0 * number
    space["factor"] = 6.0
    assert direct(f, 2.0) == (12.0, 12.0)
    assert len(f.specialisations) <= 3
    space["factor"] = np.arange(3.0)
    first, second = direct(f, 2.0)
    np.testing.assert_array_equal(second, [0, 2, 4])
    del space["factor"]
    with pytest.raises(NameError):
        f(2.0)


class Held:
    def __init__(self, x):
        self.x = x


class Key:
    """A key of an instance's dict that is asked whether it is the attribute `x`, and does something then."""

    does = None

    def __hash__(self):
        return hash("x")

    def __eq__(self, other):
        does, Key.does = Key.does, None
        if does is not None:
            does()
        return False


def with_a_key(x):
    held = Held.__new__(Held)
    held.__dict__[Key()] = None
    held.x = x
    return held


def test_calls_amid_the_look_at_arguments():
    """What is known of a function changes while its arguments are compared with it."""
    f = ingot.jit(lambda a: a.x + 1)
    for _ in range(6):
        assert (f(Held(2)), f(with_a_key(1.5))) == (3, 2.5)

    def others():
        for _ in range(3):
            assert f(Held(2)) == 3

    def forget():
        f._demand(0)
        others()

    for does in (others, forget) * 10:
        f(with_a_key(1.5))
        argument = with_a_key(1.5)
        Key.does = does
        assert f(argument) == 2.5
        assert Key.does is None, "the key was not asked"


def test_calls_amid_a_collection():
    f = ingot.jit(lambda a, b, c: a.x + b.x + c.x)
    made = []
    wrong = []

    def call(x):
        made.append([Held(x) for _ in range(3)])
        return f(*made[-1])

    class Last:
        def __del__(self):
            if call(2) != 6:
                wrong.append(2)

    before = gc.get_threshold()
    for _ in range(5):
        call(1.5), call(2)
    try:
        for k in range(300):
            gc.set_threshold(1 + k % 10)
            last = Last()
            last.itself = last
            del last
            if call(1.5) != 4.5:
                wrong.append(1.5)
    finally:
        gc.set_threshold(*before)
    assert not wrong


def test_what_the_look_at_arguments_raises_is_raised():
    f = ingot.jit(lambda a: a.x + 1)
    argument = with_a_key(1.5)
    assert [f(argument) for _ in range(3)] == [2.5] * 3

    def interrupt():
        raise KeyboardInterrupt

    Key.does = interrupt
    with pytest.raises(KeyboardInterrupt):
        f(argument)
    assert f(argument) == 2.5


def test_descriptions_of_other_times_are_not_remembered():
    """What was described before the function had one more argument, which it captures, is none of its arguments now."""
    f = ingot.jit(lambda a: a + 1.0)
    for _ in range(20):
        arguments = f._describe([1.0])
        assert f(1.0) == 2.0
        f._capture({"n": 1}, "n")
        f._remember(arguments, list(f.specialisations))
        assert [f(x) for x in (1.0, 2.0)] == [2.0, 3.0]
