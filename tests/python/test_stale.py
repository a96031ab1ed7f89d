"""Whatever a compiled function found outside may be replaced: the next call sees it, and also when it is put back."""

import builtins
import enum
import functools
import importlib
import math
import operator
import sys
import textwrap

import ingot
import numpy as np
import pytest
from ingot._calls.function import Function

# A package of the case's own, `P`: `third` defines, `second` imports from it, `first` from that, `main` has `f(x)`.
THIRD = """
    def g(x): return x + 1
    def h(x): return x + 2
    def _other(x): return x + 50
    def with_default(x, a=3, *, b=4): return x + a * b
    def calls(x): return g(x) * 2
    def make(k):
        def inner(x): return x * k
        return inner
    def variable(start):
        def read(x): return x + start
        def write(v):
            nonlocal start
            start = v
        return read, write
    read, write = variable(5)
    made = make(3)
    lam = lambda x: x + 9
    number = 7
    text = "one"
    pair = (1, 2)
    functions = (g, h)
    table = {"g": g, "n": 4}
    numbers = [1, 2, 3]
    class Box:
        scale = 6
        def method(self, x): return x * self.scale
        @staticmethod
        def still(x): return x + 30
        @classmethod
        def of_class(cls, x): return x * cls.scale
        @property
        def size(self): return 8
        def __init__(self): self.v = 2
        def __add__(self, x): return self.v + x
        class Inner:
            depth = 3
    class Derived(Box):
        def method(self, x): return super().method(x) + 1
    box = Box()
    derived = Derived()
    class Colour(enum.Enum):
        RED = 1
"""
# What `f` returns, and what changes it: statements run with the modules P, third, second, first and main in reach.
CASES = {
    # a function imported from one module to the next, replaced in one of them
    "third.g(x)": ["third.g = third.h", "del third.g; third.g = third.h"],
    "second.g(x)": ["second.g = second.h", "third.g = third.h"],
    "first.g(x)": ["first.g = first.h", "second.g = second.h", "third.g = third.h"],
    "first.second.g(x)": ["second.g = second.h", "first.second = third", "first.second = other"],
    "P.g(x)": ["P.g = third.h", "P.third.g = third.h"],
    "P.third.g(x)": ["P.third = other", "third.g = third.h"],
    "first.calls(x)": ["third.g = third.h", "first.calls = third.h", "first.g = third.h", "second.calls = third.h"],
    "second.through(x)": ["second.g = second.h", "third.g = third.h", "second.through = third.h"],
    "first.through(x)": ["second.g = second.h", "first.through = third.h", "first.g = third.h"],
    "first.compiled(x)": ["second.g = second.h", "first.compiled = third.h", "first.compiled = ingot.jit(third.h)"],
    "main.alias(x)": ["main.alias = third.h", "third.g = third.h"],
    "main.again(x)": ["main.alias = third.h", "main.again = third.h"],
    "third.calls(third.g(x))": ["third.g = third.h", "third.calls = third.h"],
    # its parts
    "third.with_default(x)": [
        "third.with_default.__defaults__ = (9,)",
        "third.with_default.__kwdefaults__ = {'b': 9}",
        "third.with_default.__kwdefaults__['b'] = 9",
        "third.with_default.__code__ = third.flipped.__code__",
    ],
    "third.with_default(x, 1)": ["third.with_default.__kwdefaults__ = {'b': 9}", "third.with_default.__defaults__ = (9,)"],
    "third.compiled_default(x)": [
        "third.compiled_default.__ingot_function__.__defaults__ = (9,)",
        "third.compiled_default.__ingot_function__.__kwdefaults__ = {'b': 9}",
    ],
    "third.g(x) + third.h(x)": ["third.g.__code__ = third._other.__code__", "third.g, third.h = third.h, third.h"],
    "third.mutable(x)": ["third.mutable.__defaults__[0].append(5)", "third.mutable.__defaults__ = ([7],)"],
    "third.with_function(x)": ["third.with_function.__defaults__ = (third.h,)", "third.g = third.h"],
    "third.with_keyword_function(x)": ["third.with_keyword_function.__kwdefaults__ = {'how': third.h}"],
    "third.attributed(x)": ["third.attributed.factor = 9"],
    # closures
    "third.read(x)": ["third.write(11)", "third.read.__closure__[0].cell_contents = 12"],
    "third.made(x)": ["third.made = third.make(4)", "third.made.__closure__[0].cell_contents = 12"],
    "third.make(2)(x)": ["third.make = lambda k: third.h", "third.make.__code__ = third.make_other.__code__"],
    "third.over(x)": ["third.over.__closure__[0].cell_contents = third.h"],
    "third.lam(x)": ["third.lam = lambda x: x + 10", "third.lam.__code__ = (lambda x: x + 10).__code__"],
    "third.decorated(x)": ["third.decorated.__wrapped__ = third.h", "third.decorated.__closure__[0].cell_contents = third.h"],
    "third.part(x)": ["third.part = functools.partial(third.with_default, a=2)", "third.part.keywords['a'] = 2",
                      "third.with_default.__kwdefaults__ = {'b': 1}"],
    # values
    "x + third.number": ["third.number = 8", "third.number = 7.5", "third.number = np.float32(7)", "third.number = True"],
    "x + first.number": ["third.number = 8", "second.number = 8", "first.number = 8"],
    "x + len(third.text)": ["third.text = 'three'", "third.text = (1, 2)"],
    "x + third.pair[1]": ["third.pair = (1, 3)", "third.pair = (1, 2.0)"],
    "third.functions[0](x)": ["third.functions = (third.h, third.g)"],
    "third.table['n'] + x": ["third.table['n'] = 5", "third.table = {'n': 6}"],
    "sum(third.numbers) + x": ["third.numbers.append(4)", "third.numbers = [7]", "third.numbers[0] = 9"],
    "third.array.sum() + x": ["third.array[0] = 9", "third.array = np.ones(7)"],
    "third.Colour.RED.value + x": ["third.Colour.RED._value_ = 5", "third.Colour = third.Colours"],
    # classes
    "third.Box.scale * x": ["third.Box.scale = 7", "third.Box = third.Bigger", "third.Box.scale = 1.5"],
    "third.Derived.scale * x": ["third.Box.scale = 7", "third.Derived.scale = 8"],
    "third.Box.still(x)": ["third.Box.still = staticmethod(third.h)", "third.Box = third.Bigger"],
    "third.Box.of_class(x)": ["third.Box.of_class = third.Bigger.of_class", "third.Box.scale = 9"],
    "third.Derived.of_class(x)": ["third.Box.scale = 9", "third.Derived.scale = 9"],
    "third.Box.Inner.depth * x": ["third.Box.Inner.depth = 4", "third.Box.Inner = third.Bigger"],
    "third.box.method(x)": ["third.Box.scale = 7", "third.box.scale = 7", "third.Box.method = lambda self, x: x + 3",
                            "third.box = third.derived", "third.box.__class__ = third.Derived", "third.box.method = third.h"],
    "third.derived.method(x)": ["third.Box.scale = 7", "third.Box.method = lambda self, x: x + 3",
                                "third.Derived.__bases__ = (third.Bigger,)", "del third.Derived.method"],
    "third.box.size + x": ["third.Box.size = property(lambda self: 9)", "third.Box.size = 5"],
    "third.box + x": ["third.Box.__add__ = lambda self, x: 100", "third.box.v = 4"],
    "third.Box().v + x": ["third.Box.__init__ = third.Bigger.__init__", "third.Box = third.Bigger"],
    "third.Box.method(third.box, x)": ["third.Box.method = lambda self, x: x + 3", "third.Box.scale = 2"],
    # builtins and modules of others
    "abs(x)": ["builtins.abs = third.h", "main.abs = third.h", "third.abs = third.h"],
    "third.absolute(x)": ["third.abs = third.h", "builtins.abs = third.h"],
    "math.floor(x + 0.5)": ["math.floor = third.h", "main.math = other"],
    "float(np.sqrt(x))": ["np.sqrt = third.h", "main.np = math", "main.float = third.h"],
    "np.linalg.norm(np.ones(x))": ["np.linalg.norm = third.size_of", "np.linalg = other"],
    "operator.add(x, 1)": ["operator.add = max"],
    "x + math.pi": ["math.pi = 3"],
    "np.pi + x": ["np.pi = 3"],
    "sum(map(third.g, range(x)))": ["third.g = third.h", "builtins.map = third.no_map"],
    "isinstance(x, third.Box) + x": ["third.Box = int"],
    # what is not there at first
    "third.absent(x)": ["third.absent = third.h"],
    "absent(x)": ["main.absent = third.h", "builtins.absent = third.h"],
    "third.calls_absent(x)": ["third.absent = third.h", "builtins.absent = third.h"],
    "third.Box.absent * x": ["third.Box.absent = 3"],
    "third.box.absent * x": ["third.Box.absent = 3", "third.box.absent = 4"],
    "third.unset(x)": ["third.set_it(3)"],
    "third.needs(x)": ["third.needs.__defaults__ = (3,)"],
    "third.needs_keyword(x)": ["third.needs_keyword.__kwdefaults__ = {'a': 3}"],
    "getattr(third, 'number', 0) + x": ["third.number = 1", "del third.number"],
    "hasattr(third, 'absent') + x": ["third.absent = 1"],
}
# Modules that are read again, with another source or as they were.
RELOADS = {
    "main.alias(x)": ["reload(third, g='x + 71')", "reload(third, g='x + 71'); reload(second); reload(first)"],
    "first.through(x)": [
        "reload(third, g='x + 71')",
        "reload(third, g='x + 71'); reload(second)",
        "reload(third, g='x + 71'); reload(second); reload(first)",
    ],
    "third.calls(x)": ["reload(third, g='x + 71')"],
    "second.calls(x)": ["reload(third, g='x + 71')"],
    "P.g(x)": ["reload(third, g='x + 71')", "reload(third, g='x + 71'); reload(P)"],
    "x + third.number": ["reload(third, number=70)"],
}
MORE = """
import enum, functools, ingot, numpy as np
__all__ = ["g", "h", "calls", "number", "Box"]
{third}
def flipped(x, a=3, *, b=4): return x - a * b
compiled_default = ingot.jit(flipped)
def mutable(x, a=[1, 2]): return x + sum(a)
def with_function(x, how=g): return how(x)
def with_keyword_function(x, *, how=g): return how(x)
def attributed(x): return x * attributed.factor
attributed.factor = 2
def make_other(k):
    def inner(x): return x - k
    return inner
def _over(how):
    def inner(x): return how(x)
    return inner
over = _over(g)
def _decorator(how):
    @functools.wraps(how)
    def inner(x): return how(x) + 1
    return inner
decorated = _decorator(g)
part = functools.partial(with_default, a=5)
array = np.arange(4.0)
class Colours(enum.Enum):
    RED = 3
class Bigger(Box):
    scale = 60
    depth = 5
    def __init__(self): self.v = 20
    def still(x): return x + 300
    @classmethod
    def of_class(cls, x): return x - cls.scale
def absolute(x): return abs(x)
def size_of(a): return float(len(a))
def no_map(*a): return (1, 2)
def calls_absent(x): return absent(x)
def _unset():
    def unset(x): return x + later
    def set_it(v):
        nonlocal later
        later = v
    if False: later = 0
    return unset, set_it
unset, set_it = _unset()
def needs(x, a): return x + a
def needs_keyword(x, *, a): return x + a
"""
OTHERS = {
    "other": "from P.third import h as g, h as floor, size_of as norm\nfrom P.third import h\n",
    "second": "from P.third import *\nfrom P import third\ndef through(x): return g(x) * 3\n",
    "first": "import ingot\nfrom P.second import *\nfrom P.second import through\nfrom P import second\n"
    "@ingot.jit\ndef compiled(x): return second.g(x) + 1\n",
    "main": "import math, operator, functools, numpy as np\nfrom P.first import g as alias\nimport P\n"
    "from P import first, second, third, other\nimport sys\nmain = sys.modules[__name__]\nagain = alias\ndef f(x): return {call}\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes a package of modules whose function `f` returns a call; gives what changes may name."""
    made = []

    def make(call):
        name = f"stale_package_{len(sys.modules)}_{abs(hash(call))}"
        folder = tmp_path / name
        folder.mkdir()
        texts = {"third": MORE.format(third=textwrap.dedent(THIRD)), **OTHERS, "__init__": "from P.third import g\n"}
        for module, text in texts.items():
            text = text.replace("{call}", call)
            text = text.replace("from P", f"from {name}").replace("import P\n", f"import {name} as P\n")
            (folder / f"{module}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        names = {m: importlib.import_module(f"{name}.{m}") for m in ("third", "second", "first", "other", "main")}
        made.append(name)

        def reload(module, **changes):
            file = folder / ("__init__.py" if module.__name__ == name else f"{module.__name__.rpartition('.')[2]}.py")
            text = file.read_text()
            if "g" in changes:
                text = text.replace("def g(x): return x + 1", f"def g(x): return {changes['g']}  # changed")
            text = text.replace("number = 7", f"number = {changes.get('number', 7)}")
            file.write_text(text)
            importlib.reload(module)

        return names | {"P": sys.modules[name], "reload": reload}

    yield make
    for name in [m for m in sys.modules if any(m.split(".")[0] == package for package in made)]:
        del sys.modules[name]


NAMES = ((builtins, "abs"), (builtins, "map"), (builtins, "absent"), (math, "floor"), (math, "pi"), (operator, "add"),
         (np, "sqrt"), (np, "linalg"), (np, "pi"), (np.linalg, "norm"))  # fmt: skip


@pytest.fixture(autouse=True)
def as_before():
    """What cases replace in modules of others is there again when a test ends."""
    kept = [(module, name, vars(module).get(name)) for module, name in NAMES]
    yield
    for module, name, value in kept:
        if value is not None:
            setattr(module, name, value)
        elif hasattr(module, name):
            delattr(module, name)


def told(function, x):
    """The result, or the type and message of what is raised; None where the call is refused."""
    try:
        result = function(x)
    except ingot.UnsupportedError:
        return None
    except Exception as error:
        return type(error), str(error)
    return type(result), result


def pairs(cases):
    return [(call, change) for call, changes in cases.items() for change in changes]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("call", "change"), pairs(CASES), ids=str)
@pytest.mark.parametrize("depth", ["itself", "through another"])
def test_what_is_replaced_outside_is_seen(call, change, depth, package):
    see(call, change, depth, package)


@pytest.mark.parametrize(("call", "change"), pairs(RELOADS), ids=str)
@pytest.mark.parametrize("depth", ["itself", "through another"])
def test_what_is_read_again_is_seen(call, change, depth, package):
    see(call, change, depth, package)


def see(call, change, depth, package):
    """A call under Ingot does what it does in Python, before the change and after it."""
    names = package(call) | {
        "builtins": builtins, "math": math, "operator": operator, "functools": functools, "np": np, "ingot": ingot
    }  # fmt: skip
    f = names["main"].f
    compiled = Function(f)
    if depth != "itself":
        inner = compiled
        plain = f

        def f(x):
            return plain(x)

        @Function
        def compiled(x):
            return inner(x)

    x = 3
    before, expected = told(compiled, x), told(f, x)
    assert before in (expected, None)
    told(compiled, x)
    exec(change, names)
    after, expected_after = told(compiled, x), told(f, x)
    assert after in (expected_after, None), f"{after} for {expected_after}; before {before}"
    if expected is not None:
        assert told(compiled, x) == after


def test_changes_of_bases_are_seen_after_calls_that_held():
    class Base:
        def scaled(self, x):
            return x * 2.0

    class Other:
        def scaled(self, x):
            return x * 7.0

    class Middle(Base):
        pass

    class Leaf(Middle):
        pass

    @ingot.jit
    def apply(instance, x):
        return instance.scaled(x)

    leaf = Leaf()
    assert [apply(leaf, 1.0) for _ in range(3)] == [2.0] * 3
    Base.scaled = lambda self, x: x * 3.0
    assert [apply(leaf, 1.0) for _ in range(3)] == [3.0] * 3
    Middle.scaled = lambda self, x: x * 5.0
    assert [apply(leaf, 1.0) for _ in range(3)] == [5.0] * 3
    del Middle.scaled
    Middle.__bases__ = (Other,)
    assert [apply(leaf, 1.0) for _ in range(3)] == [7.0] * 3


def _enum(value):
    class E(enum.IntEnum):
        A = value

    return E


class Bits(enum.IntFlag):
    A = 1


class KeptBits(enum.Flag, boundary=enum.KEEP):
    A = 1


class Alike(enum.IntEnum):
    A, B = 1, 2

    def __repr__(self):
        return "alike"


class Equal(enum.Enum):
    A, B = 1, 2

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Floats(float, enum.Enum):
    A, B, C = 0.0, -0.0, float("nan")


class Texts(str, enum.Enum):
    A, B = "a", "bb"

    def __repr__(self):
        return "alike"


MEMBERS = {
    "classes of one name": ([_enum(v).A for v in (2, 3, 4)], lambda x, m: (x * m, m.value)),
    "bits without names": ([Bits(b) for b in (16, 32, 64, 1, 0, 17)], lambda x, m: x * m),
    "kept bits without names": ([KeptBits(b) for b in (16, 32, 64, 1, 0, 17)], lambda x, m: x * m.value),
    "one representation": (list(Alike), lambda x, m: x * m),
    "one representation of texts": (list(Texts), lambda x, m: x * len(m)),
    "all equal": (list(Equal), lambda x, m: x * m.value),
    "signs of zero": (list(Floats), lambda x, m: x * m),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_members_of_enums_are_distinguished(name):
    """As arguments, in tuples and dicts, as keys, as static arguments, as globals, and where their class is the argument."""
    members, body = MEMBERS[name]
    forms = {
        "argument": (ingot.jit(body), lambda m: m),
        "static": (ingot.jit(body, static_argnums=1), lambda m: m),
        "tuple": (ingot.jit(lambda x, m: body(x, m[0])), lambda m: (m,)),
        "dict": (ingot.jit(lambda x, m: body(x, m["a"])), lambda m: {"a": m}),
        "key": (ingot.jit(lambda x, m: [body(x, key) for key in m]), lambda m: {m: 1}),
    }
    for _ in range(2):
        for member in members:
            for form, (function, made) in forms.items():
                given = made(member)
                assert repr(function(2.0, given)) == repr(function.__ingot_function__(2.0, given)), (form, member)


def test_a_global_that_becomes_another_member():
    for members, body in MEMBERS.values():
        function = ingot.jit(_with_global(body))
        for member in members:
            function.__ingot_function__.__globals__["MEMBER"] = member
            assert repr(function(2.0)) == repr(body(2.0, member))


def _with_global(body):
    def f(x):
        return body(x, MEMBER)  # noqa: F821

    return f


def test_a_value_that_is_put_into_a_member():
    class E(enum.Enum):
        A = 1

    function = ingot.jit(lambda x, m: x * m.value)
    for value in (1, 2, 3, 1):
        E.A._value_ = value
        assert function(2.0, E.A) == 2.0 * value


def test_classes_that_their_metaclass_calls_equal():
    class Meta(type):
        def __eq__(cls, other):
            return True

        def __hash__(cls):
            return 1

    classes = [Meta("A", (), {"k": value}) for value in (2.0, 3.0, 4.0)]
    for function in (ingot.jit(lambda x, c: x * c.k), ingot.jit(lambda x, c: x * c.k, static_argnums=1)):
        assert [function(2.0, c) for c in classes] == [4.0, 6.0, 8.0]
